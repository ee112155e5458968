# SPDX-License-Identifier: Apache-2.0
"""ProvisioningRequests: tarn asks an autoscaler for the nodes of whole workloads. On a real control plane with fake nodes; the autoscaler is the test."""
import glob
import os
import subprocess
import types

import pytest
import yaml

import kube_cluster
from kube import nodes, programs
from kube_cluster import condition, daemon, job, pod, space, wait_until  # noqa: F401 (fixtures)
from tarn_test import HERE, TARN

pytestmark = kube_cluster.needed(engine=True)
CLASS = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"
CONFIG = f"kube: {{provisioning: {CLASS}, autoscaler: true}}\n"
GROUP = "autoscaling.x-k8s.io"
API = f"/apis/{GROUP}/v1"
KIND = "provisioningrequests"


def definition():
    """The real one where Go has fetched its module, with Kueue for example; else one that accepts the same."""
    cache = subprocess.run(["go", "env", "GOMODCACHE"], text=True, capture_output=True).stdout.strip() if os.path.exists("/usr/bin/go") else ""
    cache = cache or os.path.expanduser("~/go/pkg/mod")
    found = sorted(glob.glob(f"{cache}/k8s.io/autoscaler/cluster-autoscaler/apis@*/config/crd/{GROUP}_{KIND}.yaml"))
    if found:
        with open(found[-1]) as file:
            return yaml.safe_load(file)
    sets = {"type": "array", "minItems": 1, "maxItems": 32, "items": {"type": "object", "required": ["count", "podTemplateRef"], "properties": {
        "count": {"type": "integer", "minimum": 1}, "podTemplateRef": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}}
    spec = {"type": "object", "required": ["podSets", "provisioningClassName"], "properties": {"podSets": sets, "provisioningClassName": {"type": "string"}}}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{KIND}.{GROUP}"}, "spec": {
        "group": GROUP, "scope": "Namespaced", "versions": [version], "names": {"kind": "ProvisioningRequest", "plural": KIND}}}


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=1) as cluster:
        cluster.api.apply([definition()])
        wait_until("the API server serves it", lambda: kube_cluster.is_served(cluster, f"{API}/{KIND}"))
        yield cluster


def mine(name, gated=False, **keys):
    gates = {"schedulingGates": [{"name": "tarn.dev/queue"}]} if gated else {}
    return pod(name, **{"scheduler": "tarn", "gpus": 8, **gates, **keys})


def gang(name, size):
    return {"labels": {"tarn.dev/gang": name}, "annotations": {"tarn.dev/gang-size": str(size)}}


def requests(cluster, space):
    return cluster.api.get(f"{API}/namespaces/{space}/{KIND}")["items"]


def templates(cluster, space):
    return {one["metadata"]["name"]: one for one in cluster.api.get(f"/api/v1/namespaces/{space}/podtemplates")["items"]}


def the_request(cluster, space):
    found = wait_until("there is a request", lambda: requests(cluster, space))
    assert len(found) == 1, found
    return found[0]


def answer(cluster, request, kind, message, status="True"):
    """What cluster-autoscaler writes."""
    one = {"type": kind, "status": status, "reason": "Test", "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    path = f"{API}/namespaces/{request['metadata']['namespace']}/{KIND}/{request['metadata']['name']}"
    known = [known for known in cluster.api.get(path).get("status", {}).get("conditions", []) if known["type"] != kind]
    cluster.api.patch(f"{path}/status", {"status": {"conditions": [*known, one]}})


def message(cluster, space, name):
    return condition(cluster.api.pod(name, space)).get("message", "")


def cluster_words(cluster, space):
    """Only one pod of a workload has the newest words."""
    return " ".join(condition(one).get("message", "") for one in cluster.api.pods(space))


def seen(cluster, space, name):
    """What an autoscaler looks at."""
    found = cluster.api.pod(name, space)
    return bool(found["spec"].get("schedulingGates")), condition(found).get("reason")


@pytest.fixture
def full(cluster, daemon, space):
    """The only node is full."""
    cluster.api.create(mine("first"), space)
    cluster.wait_pods(space, "Running", 1)


def grow(cluster, count):
    """Fake nodes beside the first one; a test removes them."""
    nodes.add_fake(cluster, count, first=1)


def shrink(cluster, count):
    for number in range(1, 1 + count):
        cluster.api.delete(f"/api/v1/nodes/gpu-{number:04d}")


def test_a_gang_asks_for_its_nodes_at_once_and_runs_on_them(cluster, daemon, full, space):
    for number in range(2):
        cluster.api.create(mine(f"worker{number}", gated=True, **gang("train", 3)), space)
    cluster.api.create(mine("leader", gated=True, gpus=4, **gang("train", 3)), space)
    request = the_request(cluster, space)
    name, spec = request["metadata"]["name"], request["spec"]
    assert spec["provisioningClassName"] == CLASS and sorted(one["count"] for one in spec["podSets"]) == [1, 2], spec
    made = {one["count"]: templates(cluster, space)[one["podTemplateRef"]["name"]]["template"]["spec"] for one in spec["podSets"]}
    assert [made[count]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for count in (1, 2)] == ["4", "8"]
    assert not any("schedulingGates" in one for one in made.values())
    owners = [one["metadata"]["ownerReferences"][0]["kind"] for one in (request, *templates(cluster, space).values())]
    assert owners == ["Pod"] * 3, owners
    wait_until("it says so", lambda: f"; asked for nodes: ProvisioningRequest {name}" in message(cluster, space, "leader"))
    assert seen(cluster, space, "leader") == (True, "SchedulingGated"), "an autoscaler would add nodes for it twice"
    answer(cluster, request, "Accepted", "it will be tried")
    wait_until("it says so", lambda: f"ProvisioningRequest {name}: Accepted: it will be tried" in cluster_words(cluster, space))
    answer(cluster, request, "Provisioned", "here they are")
    grow(cluster, 3)
    try:
        for started in cluster.wait_pods(space, "Running", 4):
            notes = started["metadata"]["annotations"]
            expected = (None, None) if started["metadata"]["name"] == "first" else (name, CLASS)
            assert (notes.get(f"{GROUP}/consume-provisioning-request"), notes.get(f"{GROUP}/provisioning-class-name")) == expected
        wait_until("the request is gone", lambda: not requests(cluster, space) and not templates(cluster, space))
    finally:
        shrink(cluster, 3)


def test_a_suspended_job_asks_too_and_again_after_a_failure(cluster, daemon, full, space):
    cluster.api.create(job("batch", count=2, gpus=8, suspend=True, labels={"tarn.dev/queue": "default"}, scheduler="tarn"), space)
    path = f"/apis/batch/v1/namespaces/{space}/jobs/batch"

    def waits():
        return cluster.api.get(path)["metadata"].get("annotations", {}).get("tarn.dev/waits", "")
    request = the_request(cluster, space)
    assert [one["count"] for one in request["spec"]["podSets"]] == [2] and request["metadata"]["ownerReferences"][0]["kind"] == "Job"
    answer(cluster, request, "Provisioned", "no capacity yet", status="False")
    wait_until("it says so", lambda: "Provisioned: no capacity yet" in waits())
    answer(cluster, request, "Failed", "no such machines")
    wait_until("it says so", lambda: "Failed: no such machines; it will be asked again" in waits())
    again = wait_until("it asks again", lambda: [one for one in requests(cluster, space) if one["metadata"]["uid"] != request["metadata"]["uid"]])[0]
    assert again["spec"] == request["spec"] and len(templates(cluster, space)) == 1
    daemon.kill()
    daemon.start()
    wait_until("it is known again", lambda: "asked for nodes" in waits())
    assert the_request(cluster, space)["metadata"]["uid"] == again["metadata"]["uid"]
    answer(cluster, again, "Provisioned", "here they are")
    grow(cluster, 2)
    try:
        cluster.wait_pods(space, "Running", 3)
    finally:
        shrink(cluster, 2)


def test_a_job_that_no_node_could_hold_asks(cluster, daemon, space):
    """All nodes of the kind that it wants are yet to be made. One that a limit refuses does not ask."""
    kube = {"provisioning": CLASS, "autoscaler": True}
    daemon.api.put("/v1/config", {"kube": kube, "queues": {"small": {"limit": 4}}})
    cluster.api.create(mine("limited", labels={"tarn.dev/queue": "small"}), space)
    wait_until("it is refused", lambda: "tarn refuses it" in message(cluster, space, "limited"))
    assert seen(cluster, space, "limited") == (False, "Queued")
    cluster.api.create(mine("huge", gpus=16), space)
    request = the_request(cluster, space)
    wait_until("it says so", lambda: f"asked for nodes: ProvisioningRequest {request['metadata']['name']}" in message(cluster, space, "huge"))
    assert request["metadata"]["name"].startswith("huge-") and message(cluster, space, "huge").startswith("tarn refuses it: ")
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/huge", grace=0)
    wait_until("Kubernetes or tarn removes it", lambda: not requests(cluster, space))


def test_without_the_setting_autoscalers_see_the_pods(cluster, daemon, full, space):
    cluster.api.create(mine("late", gated=True), space)
    answer(cluster, the_request(cluster, space), "Accepted", "it will be tried")
    number = next(one["id"] for one in daemon.api.jobs() if one["state"] == "queued")

    def why():
        return subprocess.run([TARN, "why", str(number)], env=daemon.environment(), text=True, check=True, capture_output=True).stdout
    wait_until("tarn why says so", lambda: "Kubernetes: asked for nodes: ProvisioningRequest late-" in why() and "Accepted: it will be tried" in why())
    daemon.api.put("/v1/config", {"kube": {"autoscaler": True}})
    wait_until("the gate is gone", lambda: seen(cluster, space, "late") == (False, "Unschedulable"))
    wait_until("the request is gone", lambda: not requests(cluster, space))


def test_requests_are_few_and_in_order(cluster, daemon, full, space):
    for number in range(22):
        cluster.api.create(mine(f"p{number:02}", gpus=8), space)
    wait_until("they ask", lambda: len(requests(cluster, space)) == 20)
    wait_until("the others say so", lambda: sum("waits to ask for nodes: 20 requests are open" in message(cluster, space, f"p{number:02}") for number in range(22)) == 2)
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{requests(cluster, space)[0]['metadata']['ownerReferences'][0]['name']}", grace=0)
    wait_until("another one asks", lambda: sum("asked for nodes" in message(cluster, space, one["metadata"]["name"]) for one in cluster.api.pods(space)) == 20)


def test_a_cluster_without_the_definition_is_told(make_daemon, tmp_path):
    with kube_cluster.running(fake=1) as bare, kube_cluster.namespace(bare) as space:
        (tmp_path / "tarn.yaml").write_text(CONFIG)
        daemon = make_daemon(devices="none")
        daemon.options += ["--config", str(tmp_path / "tarn.yaml")]
        kube_cluster.start_daemon(daemon, bare)
        for name in ("first", "second"):
            bare.api.create(mine(name), space)
        words = f"no nodes are asked for: the cluster does not serve {KIND} of {GROUP}/v1"
        wait_until("it says so", lambda: any(words in message(bare, space, name) for name in ("first", "second")))
        name = next(name for name in ("first", "second") if words in message(bare, space, name))
        assert seen(bare, space, name) == (False, "Unschedulable")


@pytest.mark.skipif(not programs.is_built("helm"), reason="helm is not built: tools/kube/build")
def test_the_rights_of_the_chart_are_enough(cluster, make_daemon, tmp_path, space):
    chart = os.path.join(HERE, "..", "..", "dist", "kube", "chart")

    def rights(*words):
        made = subprocess.run([programs.path("helm"), "template", "tarn", chart, "--kube-version", "1.34.0", "--namespace", space, *words],
                              text=True, check=True, capture_output=True).stdout
        return [thing for thing in yaml.safe_load_all(made) if thing and thing["kind"] in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")]
    assert "podtemplates" not in str(rights())
    made = rights("--set", "mirrors.enabled=false", "--set", f"config.kube.provisioning={CLASS}")
    cluster.api.apply(made)
    try:
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = cluster.api.post(f"/api/v1/namespaces/{space}/serviceaccounts/tarn/token", request)["status"]["token"]
        cluster.write_kubeconfig(tmp_path / "kubeconfig", token)
        (tmp_path / "tarn.yaml").write_text(CONFIG)
        daemon = make_daemon(devices="none")
        daemon.options += ["--config", str(tmp_path / "tarn.yaml")]
        kube_cluster.start_daemon(daemon, types.SimpleNamespace(kubeconfig=str(tmp_path / "kubeconfig"), fake=cluster.fake, real=cluster.real))
        cluster.api.create(mine("huge", gpus=16), space)
        answer(cluster, the_request(cluster, space), "Failed", "no such machines")
        wait_until("tarn removes it", lambda: not requests(cluster, space) and not templates(cluster, space))
    finally:
        cluster.api.remove([thing for thing in made if thing["kind"] != "ServiceAccount"])


# ---- the real autoscaler ----

# The program, version 1.34 with its provider kwok: the Go proxy has no module of it, so that tools/kube/build cannot make it.
AUTOSCALER = os.environ.get("TARN_CLUSTER_AUTOSCALER", "")
needs_autoscaler = pytest.mark.skipif(not os.path.exists(AUTOSCALER), reason="TARN_CLUSTER_AUTOSCALER names no program")


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
            "data": {key: yaml.safe_dump(words) for key, words in data.items()}}


@pytest.fixture
def autoscaled(daemon, cluster, space):
    """cluster-autoscaler makes fake nodes of 8 GPUs; they are gone afterwards."""
    template = nodes.fake_node(9000, labels={"node-group": "more"})
    template["metadata"]["annotations"].update({"cluster-autoscaler.kwok.nodegroup/min-count": "0", "cluster-autoscaler.kwok.nodegroup/max-count": "6",
                                                "cluster-autoscaler.kwok.nodegroup/desired-count": "0"})
    cluster.api.apply([
        config_map("kwok-provider-config", config={"apiVersion": "v1alpha1", "readNodesFrom": "configmap", "nodegroups": {"fromNodeLabelKey": "node-group"},
                                                   "nodes": {"skipTaint": True}, "configmap": {"name": "kwok-provider-templates"}}),
        config_map("kwok-provider-templates", templates={"apiVersion": "v1", "kind": "List", "items": [template]})])
    cluster.launch("cluster-autoscaler", AUTOSCALER, f"--kubeconfig={cluster.kubeconfig}", "--cloud-provider=kwok", "--namespace=default",
                   "--leader-elect=false", "--scan-interval=1s", "--scale-down-enabled=false", "--enable-provisioning-requests",
                   "--kube-api-content-type=application/json", "--address=127.0.0.1:8085",
                   environment={"KUBECONFIG": cluster.kubeconfig, "KWOK_PROVIDER_MODE": "local", "POD_NAMESPACE": "default"})
    yield
    cluster.kill("cluster-autoscaler")
    cluster.delete_pods(space)
    for name in added(cluster):
        cluster.api.delete(f"/api/v1/nodes/{name}")


def added(cluster):
    return [name for name in cluster.ready_nodes() if name.startswith("more-")]


@needs_autoscaler
def test_the_real_autoscaler_adds_nodes_for_pods_that_lack_room(cluster, daemon, autoscaled, space):
    daemon.api.put("/v1/config", {"kube": {"autoscaler": True}, "queues": {"small": {"limit": 8}}})
    small = {"tarn.dev/queue": "small"}
    cluster.api.create(mine("first", labels=small), space)
    cluster.wait_pods(space, "Running", 1)
    for number in range(3):
        cluster.api.create(mine(f"limited{number}", gated=number == 0, labels=small), space)
    for number in range(2):
        cluster.api.create(mine(f"worker{number}", gated=True, **gang("train", 2)), space)
    cluster.wait_pods(space, "Running", 3)
    assert len(added(cluster)) == 2 and [seen(cluster, space, f"limited{number}")[1] for number in range(3)] == ["SchedulingGated", "Queued", "Queued"]


@needs_autoscaler
def test_the_real_autoscaler_provisions_a_suspended_job_at_once(cluster, daemon, autoscaled, full, space):
    cluster.api.create(job("batch", count=3, gpus=8, suspend=True, labels={"tarn.dev/queue": "default"}, scheduler="tarn"), space)
    name = the_request(cluster, space)["metadata"]["name"]
    pods = [one for one in cluster.wait_pods(space, "Running", 4) if one["metadata"]["name"] != "first"]
    assert len(added(cluster)) == 3
    assert [one["metadata"]["annotations"].get(f"{GROUP}/consume-provisioning-request") for one in pods] == [name] * 3
    wait_until("the request is gone", lambda: not requests(cluster, space))
