# SPDX-License-Identifier: Apache-2.0
"""Published operators on a cluster for tests: Kubeflow's training-operator, KubeRay, JobSet, Kueue, and the schedulers KAI and Volcano, with the
CRDs and webhooks of their modules.

    operators.start(cluster, "jobset", "kuberay")

Each is a process beside the control plane, with the rights of an administrator; the API server reaches its webhooks by URL.
"""
import base64
import json
import re
import subprocess

import yaml

from . import images, nodes, programs
from .api import Refused
from .waiting import wait_until

# Operators that renew their certificate themselves accept this one: the names are those that they look for.
NAMES = ("training-operator-ca", "training-operator.kubeflow.svc", "jobset-ca", "kueue-ca", "kueue-webhook-service.kueue-system.svc", "localhost")
# They read certificates from a fixed folder of /tmp: each gets a /tmp of its own, with the folder of the cluster in it.
OWN_TMP = """mount --bind "$1" /mnt && mount -t tmpfs tarn /tmp && mkdir -p "$1" /tmp/k8s-webhook-server && mount --move /mnt "$1" &&
ln -s "$1/webhooks" /tmp/k8s-webhook-server/serving-certs && shift && exec "$@" """
WAITS_FOR_MASTER = "docker.io/tarn/waits-for-master:1"  # what the workers of a PyTorchJob do first, with the programs of alpine

KAI_CRDS, VOLCANO_CRDS = "deployments/kai-scheduler/crds", "config/crd/volcano/bases"
KAI_LIMITS = ["--qps=5000", "--burst=10000"]
VOLCANO_LIMITS = ["--kubeconfig={folder}/kubeconfig", "--leader-elect=false", "--kube-api-qps=5000", "--kube-api-burst=10000"]

# crds and webhooks: files of the module. only: which webhooks. secret: "NAMESPACE/NAME" where it looks for its certificate.
TABLE = {
    "training-operator": {
        "crds": "manifests/base/crds", "webhooks": "manifests/base/webhook/manifests.yaml", "port": 9441,
        "configuration": "{0}.training-operator.kubeflow.org", "names": {"Validating": "validator"},
        "secret": "kubeflow/training-operator-webhook-cert",
        "options": ["--webhook-server-port=9441", "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:9541",
                    f"--pytorch-init-container-image={WAITS_FOR_MASTER}"]},
    "jobset": {
        "crds": "config/components/crd/bases", "webhooks": "config/components/webhook/manifests.yaml", "port": 9442,
        "configuration": "jobset-{0}-webhook-configuration", "names": {"Validating": "validating", "Mutating": "mutating"},
        "options": ["--config={folder}/jobset.yaml"],
        "settings": {"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration", "leaderElection": {"leaderElect": False},
                     "internalCertManagement": {"enable": False}, "webhook": {"port": 9442}, "metrics": {"bindAddress": "0"},
                     "health": {"healthProbeBindAddress": "127.0.0.1:9542"}}},
    "kueue": {
        "crds": "config/components/crd/bases", "webhooks": "config/components/webhook/manifests.yaml", "port": 9444, "only": r"-batch-v1-job$|-kueue-x-k8s-io-",
        "secret": "kueue-system/kueue-webhook-server-cert", "configuration": "kueue-{0}-webhook-configuration", "names": {"Validating": "validating", "Mutating": "mutating"},
        "options": ["--config={folder}/kueue.yaml", "--feature-gates=VisibilityOnDemand=false"],
        "settings": {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration", "leaderElection": {"leaderElect": False},
                     "webhook": {"port": 9444}, "metrics": {"bindAddress": "0"},
                     "health": {"healthProbeBindAddress": "127.0.0.1:9544"}, "clientConnection": {"qps": 5000, "burst": 10000},
                     "integrations": {"frameworks": ["batch/job"]}}},
    "kuberay": {
        "crds": "config/crd/bases", "port": None,
        "options": ["--enable-leader-election=false", "--metrics-addr=0", "--health-probe-bind-address=127.0.0.1:9543"]},
    "kai-scheduler": {
        "crds": KAI_CRDS, "port": None,
        "options": [*KAI_LIMITS, "--v=1", "--listen-address=127.0.0.1:9545", "--plugin-server-port=9555", "--update-pod-eviction-condition"]},
    "kai-binder": {
        "crds": KAI_CRDS, "port": None,
        "options": [*KAI_LIMITS, "--max-concurrent-reconciles=64", "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:9546"]},
    "kai-podgrouper": {
        "crds": KAI_CRDS, "port": None,
        "options": [*KAI_LIMITS, "--max-concurrent-reconciles=64", "--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:9547"]},
    "volcano-scheduler": {
        "crds": VOLCANO_CRDS, "port": None, "options": [*VOLCANO_LIMITS, "--scheduler-conf={folder}/volcano-scheduler.yaml"],
        "settings": {"actions": "allocate, reclaim", "tiers": [{"plugins": [
            {"name": "gang", "enableReclaimable": False}, {"name": "predicates"}, {"name": "capacity"},
            {"name": "binpack", "arguments": {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": 5}}]}]}},
    "volcano-controllers": {
        "crds": VOLCANO_CRDS, "port": None,
        "options": [*VOLCANO_LIMITS, "--controllers=+pg-controller,+queue-controller", "--worker-threads-for-podgroup=64"]},
}


def missing(*names):
    """Why they cannot run here, or None."""
    absent = programs.missing(names)
    if absent:
        return f"{', '.join(absent)} not built: tools/kube/build {' '.join(absent)}"
    gone = [name for name in names if not programs.source(name).is_dir()]
    return f"the modules of {', '.join(gone)} are not in Go's cache: tools/kube/build {' '.join(gone)}" if gone else None


def read_all(place):
    files = sorted(place.glob("*.yaml")) if place.is_dir() else [place]
    return [thing for file in files for thing in yaml.safe_load_all(file.read_text()) if thing and thing["kind"] != "Kustomization"]


def make_certificate(cluster):
    """One that has signed itself, for all webhooks."""
    folder = cluster.folder / "webhooks"
    if folder.exists():
        return
    folder.mkdir()
    names = ",".join([f"DNS:{name}" for name in NAMES] + ["IP:127.0.0.1"])
    key, certificate = str(folder / "tls.key"), str(folder / "tls.crt")
    for words in (["genrsa", "-traditional", "-out", key, "2048"],  # the other form of keys is not read
                  ["req", "-x509", "-key", key, "-days", "3650", "-subj", "/CN=tests", "-addext", f"subjectAltName={names}",
                   "-addext", "extendedKeyUsage=serverAuth", "-out", certificate]):
        subprocess.run(["openssl", *words], check=True, stderr=subprocess.DEVNULL)


def install_webhooks(cluster, about, files):
    authority = base64.b64encode((cluster.folder / "webhooks" / "tls.crt").read_bytes()).decode()
    for thing in read_all(files):
        kind = thing["kind"].removesuffix("WebhookConfiguration")
        thing["metadata"] = {"name": about["configuration"].format(about["names"][kind])}
        thing["webhooks"] = [one for one in thing["webhooks"] if re.search(about.get("only", ""), one["clientConfig"]["service"]["path"])]
        for webhook in thing["webhooks"]:
            path = webhook["clientConfig"]["service"]["path"]
            webhook["clientConfig"] = {"url": f"https://127.0.0.1:{about['port']}{path}", "caBundle": authority}
            if webhook["rules"][0]["resources"] == ["pods"]:  # others have pods, too, and before it runs
                webhook["objectSelector"] = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
        cluster.api.apply([thing])


def install_secret(cluster, place):
    namespace, name = place.split("/")
    words = {file: base64.b64encode((cluster.folder / "webhooks" / f"tls.{file[-3:]}").read_bytes()).decode()
             for file in ("ca.crt", "ca.key", "tls.crt", "tls.key")}
    cluster.api.namespace(namespace)
    cluster.api.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": words}], namespace)


def is_served(cluster, crd):
    spec = crd["spec"]
    try:
        cluster.api.describe(f"{spec['group']}/{spec['versions'][0]['name']}", spec["names"]["kind"])
    except (LookupError, Refused):
        return False
    return True


def install_crds(cluster, name):
    crds = read_all(programs.source(name) / TABLE[name]["crds"])
    cluster.api.apply(crds)
    for crd in crds:
        wait_until(f"{crd['metadata']['name']} is served", lambda one=crd: is_served(cluster, one))


def start_one(cluster, name):
    about, module = TABLE[name], programs.source(name)
    install_crds(cluster, name)
    make_certificate(cluster)
    if "secret" in about:
        install_secret(cluster, about["secret"])
    if about["port"]:
        install_webhooks(cluster, about, module / about["webhooks"])
    if WAITS_FOR_MASTER in str(about["options"]):
        import_image(cluster)
    launch(cluster, name)


def launch(cluster, name, *more):
    """Without its CRDs and webhooks. more: options."""
    about = TABLE[name]
    if "settings" in about:
        (cluster.folder / f"{name}.yaml").write_text(json.dumps(about["settings"]))
    options = [option.replace("{folder}", str(cluster.folder)) for option in (*about["options"], *more)]
    cluster.launch(name, "unshare", "--mount", "sh", "-c", OWN_TMP, "sh", str(cluster.folder), programs.path(name), *options,
                   environment={"KUBECONFIG": cluster.kubeconfig})


def import_image(cluster):
    archive = cluster.folder / "waits-for-master.tar"
    files = images.files_of(("sh", "seq", "sleep", "echo", "getent"))
    files["usr/bin/nslookup"] = cluster.folder / "nslookup"
    files["usr/bin/nslookup"].write_text('#!/bin/sh\nexec getent hosts "$1"\n')
    files["usr/bin/nslookup"].chmod(0o755)
    images.archive(archive, [WAITS_FOR_MASTER], files, links={"bin": "usr/bin"})
    for number in range(cluster.real):
        nodes.import_image(cluster, number, archive)


def is_listening(cluster, port):
    cluster.check_alive()
    script = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
    return cluster.run("bash", "-c", script, capture_output=True).returncode == 0


def start(cluster, *names):
    """Start them, and wait until their webhooks answer."""
    for name in names:
        start_one(cluster, name)
    for name in names:
        if TABLE[name]["port"]:
            wait_until(f"{name} answers", lambda one=name: is_listening(cluster, TABLE[one]["port"]))
