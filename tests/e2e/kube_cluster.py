# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes on this machine for tests: tools/kube/cluster.py, which says how to use it, and tarn in front of it.

    import kube_cluster
    pytestmark = kube_cluster.needed()              # or needed(real=True), needed(engine=True)

    @pytest.fixture(scope="module")
    def cluster():
        with kube_cluster.running(fake=16, real=1) as cluster:
            yield cluster

cluster.api is a client of the API server (tools/kube/api.py). `make check-kube` builds the programs; without them tests skip.
"""
import contextlib
import itertools
import os
import sys

import pytest

from tarn_test import BUILD, HERE, PATIENCE_S  # noqa: F401 (for tests)

sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))

from kube.api import Refused  # noqa: E402
from kube.cluster import Cluster, missing  # noqa: E402
from kube.images import TOOLS  # noqa: E402
from kube.waiting import wait_until  # noqa: E402

MODULE = os.path.join(BUILD, "src", "engine", "tarn-engine-kube.so")
GPU = "nvidia.com/gpu"
# The programs and libraries of this machine: an image with them would be large.
SYSTEM = ("/usr", "/lib", "/lib64", "/etc/alternatives", "/etc/ssl")
numbers = itertools.count(1)


def missing_engine(real=False):
    """Why tarn cannot use a cluster here, or None."""
    if not os.path.exists(MODULE):
        return "the engine kube is not built"
    return missing(real)


def needed(real=False, engine=False):
    """A mark for tests: skip with the reason where there can be no such cluster."""
    reason = missing_engine(real) if engine else missing(real)
    return pytest.mark.skipif(reason is not None, reason=reason or "")


@contextlib.contextmanager
def running(**options):
    """A cluster; options are those of Cluster(). A failure shows the ends of its logs."""
    cluster = Cluster(**options)
    try:
        try:
            cluster.start()
        except AssertionError as error:
            raise AssertionError(f"{error}\n{cluster.words(*cluster.processes)}") from None
        yield cluster
    finally:
        cluster.stop()


@contextlib.contextmanager
def namespace(cluster, managed=False):
    """A namespace of its own; all pods in it are gone afterwards. managed: by tarn, if the policy is installed."""
    name = f"test-{next(numbers)}"
    cluster.api.namespace(name, **({"tarn.dev/managed": "true"} if managed else {}))
    wait_until("it has a service account", lambda: cluster.api.find(f"/api/v1/namespaces/{name}/serviceaccounts/default"))
    try:
        yield name
    finally:
        cluster.end_namespace(name)


def is_served(cluster, path):
    """Whether the API server serves this list of a definition that is new to it."""
    try:
        return cluster.api.find(path)
    except Refused as refused:  # "storage is (re)initializing"
        assert refused.status == 429, refused
        return False


def start_daemon(daemon, cluster, nodes=None):
    """Start a daemon on this cluster; it knows its nodes then."""
    daemon.extra["KUBECONFIG"] = cluster.kubeconfig
    daemon.options += ["--engine", "kube"]
    daemon.start()
    nodes = cluster.fake + cluster.real if nodes is None else nodes
    wait_until(f"{nodes} nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == nodes)


# ---- fixtures: a suite imports those that it wants, and has a fixture `cluster` ----

@pytest.fixture
def space(cluster, request):
    """A namespace; with IS_MANAGED of the suite, tarn manages it."""
    with namespace(cluster, managed=getattr(request.module, "IS_MANAGED", False)) as name:
        yield name


@pytest.fixture
def daemon(make_daemon, cluster, tmp_path, request):
    """It runs, with the configuration CONFIG of the suite, and leaves the cluster sound."""
    daemon = make_daemon(devices="none")
    config = getattr(request.module, "CONFIG", None)
    if config:
        (tmp_path / "tarn.yaml").write_text(config)
        daemon.options += ["--config", str(tmp_path / "tarn.yaml")]
    start_daemon(daemon, cluster)
    yield daemon
    check_sound(cluster)


# ---- objects ----

def spec(command=("true",), gpus=0, scheduler=None, fake=None, **more):
    """Of a pod with one container."""
    resources = {"limits": {GPU: str(gpus)}} if gpus else {}
    words = {"containers": [{"name": "main", "image": TOOLS, "command": list(command), "resources": resources}],
             "restartPolicy": "Never", "terminationGracePeriodSeconds": 1, **more}
    if scheduler:
        words["schedulerName"] = scheduler
    if fake is not None:
        words["nodeSelector"] = {"type": "kwok" if fake else "real"}
    return words


def pod(name, command=("true",), annotations=None, labels=None, **keys):
    """keys: those of spec()."""
    meta = {"name": name, "labels": labels or {}, "annotations": annotations or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec(command, **keys)}


def job(name, command=("true",), count=1, indexed=False, annotations=None, labels=None, suspend=False, **keys):
    """A Job of so many pods at once; keys: those of spec()."""
    template = {"metadata": {"labels": labels or {}, "annotations": annotations or {}}, "spec": spec(command, **keys)}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "labels": labels or {}, "annotations": annotations or {}},
            "spec": {"completions": count, "parallelism": count, "completionMode": "Indexed" if indexed else "NonIndexed",
                     "backoffLimit": 0, "suspend": suspend, "template": template}}


def mounting(folders):
    """What a container, and its pod, have to mount folders of this machine at the same paths."""
    folders = [folder for folder in folders if os.path.exists(folder)]
    mounts = [{"name": f"v{number}", "mountPath": folder} for number, folder in enumerate(folders)]
    volumes = [{"name": f"v{number}", "hostPath": {"path": os.path.realpath(folder)}} for number, folder in enumerate(folders)]
    return {"volumeMounts": mounts}, {"volumes": volumes}


def is_complete(cluster, namespace, name):
    """Whether a Job has succeeded; one that failed is an error."""
    conditions = cluster.api.get(f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}")["status"].get("conditions", [])
    true = {one["type"]: one for one in conditions if one["status"] == "True"}
    assert "Failed" not in true, true
    return "Complete" in true


def wait_complete(cluster, namespace, name):
    cluster.explained(namespace, f"job {name} is complete", lambda: is_complete(cluster, namespace, name))


def gpus_in_use(cluster):
    """GPUs by node that pods hold which have not ended, as the API server has them."""
    held = {}
    for one in cluster.api.pods():
        if one["spec"].get("nodeName") and one["status"]["phase"] not in ("Succeeded", "Failed"):
            count = sum(int(part["resources"].get("limits", {}).get(GPU, 0)) for part in one["spec"]["containers"])
            held[one["spec"]["nodeName"]] = held.get(one["spec"]["nodeName"], 0) + count
    return held


def is_active(one):
    return one["status"]["phase"] not in ("Succeeded", "Failed")


def check_sound(cluster):
    """No GPU is given twice, and no node more than it has. All pods of tarn that hold GPUs say which."""
    held = {}
    for one in cluster.api.pods():
        chosen = one["metadata"].get("annotations", {}).get("tarn.dev/gpus")
        if one["spec"].get("nodeName") and is_active(one) and chosen:
            for gpu in chosen.split(","):
                place = one["spec"]["nodeName"], gpu
                assert place not in held, f"{place} is given to {held[place]} and {one['metadata']['name']}"
                held[place] = one["metadata"]["name"]
    for name, count in gpus_in_use(cluster).items():
        has = int(cluster.api.get(f"/api/v1/nodes/{name}")["status"]["allocatable"].get(GPU, 0))
        assert count <= has, f"{name}: {count} GPUs in use, it has {has}"


def condition(one, kind="PodScheduled"):
    return next((part for part in one["status"].get("conditions", []) if part["type"] == kind), {})
