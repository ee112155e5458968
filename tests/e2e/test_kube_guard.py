# SPDX-License-Identifier: Apache-2.0
"""What tarn's service account may do in a cluster, by its rights and the policy that bounds them, as dist/kube/manifests install both."""
import os

import pytest
import yaml

import kube_cluster
from kube.api import JSON_PATCH, Refused
from kube_cluster import condition, job, namespace, pod, wait_until
from tarn_test import HERE

pytestmark = kube_cluster.needed(engine=True)
MANIFESTS = os.path.join(HERE, "..", "..", "dist", "kube", "manifests", "tarn.yaml")
KINDS = ("Namespace", "ServiceAccount", "CustomResourceDefinition", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
         "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
# More rights than the chart grants: those for tarn's own jobs, and for taints of nodes. An administrator may add them, and more by mistake.
MORE = [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "tarn-more"}, "rules": [
            {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["create", "delete"]},
            {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]}]},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "tarn-more"},
         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tarn-more"},
         "subjects": [{"kind": "ServiceAccount", "name": "tarn", "namespace": "tarn-system"}]}]
GATE = {"schedulingGates": [{"name": "tarn.dev/queue"}]}
OUTSIDE = "tarn may act only in namespaces with the label tarn.dev/managed=true"


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=2, scheduler=False) as cluster:
        with open(MANIFESTS, encoding="utf-8") as file:
            cluster.api.apply([one for one in yaml.safe_load_all(file) if one and one["kind"] in KINDS] + MORE)
        yield cluster


@pytest.fixture(scope="module")
def token(cluster):
    path = "/api/v1/namespaces/tarn-system/serviceaccounts/tarn/token"
    made = cluster.api.post(path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}})
    return made["status"]["token"]


@pytest.fixture(scope="module")
def tarn(cluster, token):
    """A client with the rights of the service account; the policy is in force."""
    api = cluster.api_with(token)

    def is_bounded():
        return OUTSIDE in refusal(lambda: api.post("/api/v1/namespaces/default/pods/none/eviction", eviction("none", "default")))
    wait_until("the policy is in force", is_bounded)
    return api


def refusal(request):
    """The words of the API server; "": it was done."""
    try:
        request()
    except Refused as refused:
        return refused.body.decode()
    return ""


def eviction(name, space):
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": space}}


def binding(name, annotations=None, **target):
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name, "annotations": annotations or {}},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "gpu-0000", **target}}


def path_of(space, name=""):
    return f"/api/v1/namespaces/{space}/pods" + (f"/{name}" if name else "")


@pytest.fixture
def spaces(cluster):
    """A namespace of tarn, and one that is not."""
    with namespace(cluster, managed=True) as inside, namespace(cluster) as outside:
        yield inside, outside


# ---- what it needs ----

def test_the_daemon_works_within_its_bounds(cluster, token, tarn, make_daemon, tmp_path, spaces):
    """Gates, bindings, reasons, suspended Jobs, and pods that are stopped or deleted."""
    daemon = make_daemon(devices="none")
    cluster.write_kubeconfig(str(tmp_path / "kubeconfig"), token)
    (tmp_path / "tarn.yaml").write_text("kube: {namespaces: managed}\nqueues: {default: {}}\n")
    daemon.extra["KUBECONFIG"] = str(tmp_path / "kubeconfig")
    daemon.options += ["--engine", "kube", "--config", str(tmp_path / "tarn.yaml")]
    daemon.start()
    wait_until("the nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == 2)
    inside, outside = spaces
    for space in spaces:
        cluster.api.create(pod("plain", scheduler="tarn", gpus=8, **GATE), space)
    cluster.wait_pods(inside, "Running", 1)
    wait_until("it says why", lambda: f"namespace {outside} does not have the label" in condition(cluster.api.pod("plain", outside)).get("message", ""))
    cluster.api.create(job("later", count=2, gpus=4, suspend=True, labels={"tarn.dev/queue": "default"}, scheduler="tarn"), inside)
    cluster.wait_pods(inside, "Running", 3)
    cluster.api.create(pod("waits", scheduler="tarn", gpus=8, **GATE), inside)
    wait_until("it says why", lambda: condition(cluster.api.pod("waits", inside)).get("message"))
    numbers = {one["name"]: one["id"] for one in daemon.api.jobs()}
    daemon.api.post(f"/v1/jobs/{numbers['later']}/cancel")
    wait_until("the Job is suspended", lambda: cluster.api.get(f"/apis/batch/v1/namespaces/{inside}/jobs/later")["spec"]["suspend"])
    wait_until("the next one runs", lambda: cluster.api.pod("waits", inside)["status"]["phase"] == "Running")
    daemon.api.post(f"/v1/jobs/{numbers['plain']}/cancel")
    wait_until("its pod is gone", lambda: [one["metadata"]["name"] for one in cluster.api.pods(inside) if kube_cluster.is_active(one)] == ["waits"])
    assert not [line for line in daemon.words().splitlines() if "denied" in line or "orbidden" in line], daemon.words()


def test_what_it_needs_passes(cluster, tarn, spaces):
    inside, _ = spaces
    for name in ("one", "two"):
        cluster.api.create(pod(name, scheduler="tarn", **GATE), inside)
    tarn.patch(path_of(inside, "one"), [{"op": "remove", "path": "/spec/schedulingGates"}], JSON_PATCH)
    tarn.patch(path_of(inside, "one"), {"metadata": {"annotations": {"tarn.dev/checked": "1"}}})
    notes = {"tarn.dev/gpus": "0", "autoscaling.x-k8s.io/consume-provisioning-request": "x"}
    tarn.post(path_of(inside, "one/binding"), binding("one", notes))
    waits = {"type": "PodScheduled", "status": "False", "reason": "Queued", "message": "it waits"}
    tarn.patch(path_of(inside, "two/status"), {"status": {"conditions": [waits]}}, "application/strategic-merge-patch+json")
    tarn.post(path_of(inside, "one/eviction"), eviction("one", inside))
    tarn.delete(path_of(inside, "two"))
    own = pod("own", scheduler="tarn", nodeName="gpu-0000", volumes=[{"name": "state", "nfs": {"server": "nas", "path": "/tarn"}}])
    tarn.create(own, inside)
    tarn.delete(path_of(inside, "own"))


def test_devices_of_a_claim(cluster, tarn, spaces):
    inside, _ = spaces
    protection, status = "resource.kubernetes.io/delete-protection", {"driver": "gpu.example.com", "pool": "p", "device": "d0"}
    cluster.api.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "gpu"}, "spec": {
        "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}}, inside)
    path = f"/apis/resource.k8s.io/v1/namespaces/{inside}/resourceclaims/gpu"
    tarn.patch(path, {"metadata": {"finalizers": [protection], "annotations": {"tarn.dev/attempt": "x/1.1/0"}}})
    chosen = {"allocation": {"devices": {"results": [{"request": "gpu", **status}]}}, "reservedFor": [{"resource": "pods", "name": "one", "uid": "u"}]}
    tarn.patch(path + "/status", {"status": chosen})
    cluster.api.patch(path + "/status", {"status": {"devices": [status]}})
    assert "metadata.finalizers of resourceclaims" in refusal(lambda: tarn.patch(path, {"metadata": {"finalizers": [protection, "example.com/x"]}}))
    assert "metadata.labels of resourceclaims" in refusal(lambda: tarn.patch(path, {"metadata": {"labels": {"a": "b"}}}))
    tarn.patch(path + "/status", {"status": {"allocation": None, "reservedFor": None}})
    assert not cluster.api.get(path).get("status", {}).get("devices")


@pytest.fixture(scope="module")
def operators_kinds(cluster):
    """Of operators; what their definitions say of fields does not matter here."""
    kinds = [("kubeflow.org", "v1", "PyTorchJob"), ("jobset.x-k8s.io", "v1alpha2", "JobSet"), ("ray.io", "v1", "RayCluster")]
    for group, version, kind in kinds:
        schema = {"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
        plural = kind.lower() + "s"
        cluster.api.apply([{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"}, "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": kind, "plural": plural},
            "versions": [{"name": version, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}])
        wait_until("it is served", lambda at=f"/apis/{group}/{version}/{plural}": kube_cluster.is_served(cluster, at))
    return {kind: f"{group}/{version}" for group, version, kind in kinds}


@pytest.mark.parametrize("kind,where", [("PyTorchJob", "runPolicy"), ("JobSet", None), ("RayCluster", None)])
def test_workloads_of_operators_are_only_suspended(cluster, tarn, spaces, operators_kinds, kind, where):
    policy = {"suspend": True, "other": {"limit": 1}}
    spec = {"replicas": [{"image": "x"}], **({where: policy} if where else policy)}
    made = cluster.api.create({"apiVersion": operators_kinds[kind], "kind": kind, "metadata": {"name": "train"}, "spec": spec}, spaces[0])
    path = cluster.api.path_of(made)

    def change(**fields):
        return {"metadata": {"annotations": {"tarn.dev/stopped": "x"}}, "spec": {where: fields} if where else fields}
    tarn.patch(path, change(suspend=False))
    prefix = f"spec.{where}." if where else "spec."
    assert f"tarn may not change {prefix}other of" in refusal(lambda: tarn.patch(path, change(suspend=True, other={"limit": 2})))
    assert f"tarn may not change {prefix}more of" in refusal(lambda: tarn.patch(path, change(more=1)))
    assert "tarn may not change spec.replicas of" in refusal(lambda: tarn.patch(path, {"spec": {"replicas": [{"image": "evil"}]}}))
    assert cluster.api.get(path)["spec"] == {**spec, **({where: {**policy, "suspend": False}} if where else {"suspend": False})}


def test_a_faulty_gpu_of_a_node(cluster, tarn):
    path = "/api/v1/nodes/gpu-0001"
    cluster.api.patch(path, {"spec": {"taints": [{"key": "others", "effect": "NoSchedule"}]}})
    kept = cluster.api.get(path)["spec"]["taints"]
    mine = {"key": "tarn.dev/gpu-fault", "value": "t", "effect": "NoSchedule"}
    note = {"metadata": {"annotations": {"tarn.dev/gpu-fault": "XID 79"}}}
    tarn.patch(path, {**note, "spec": {"taints": [mine, *kept]}})
    assert "a taint other than" in refusal(lambda: tarn.patch(path, {"spec": {"taints": [mine]}}))
    assert "spec.unschedulable of nodes" in refusal(lambda: tarn.patch(path, {"spec": {"unschedulable": True}}))
    assert "metadata.labels of nodes" in refusal(lambda: tarn.patch(path, {"metadata": {"labels": {"x": "y"}}}))
    tarn.patch(path, {"metadata": {"annotations": {"tarn.dev/gpu-fault": None}}, "spec": {"taints": kept}})
    assert cluster.api.get(path)["spec"]["taints"] == kept


# ---- what its rights alone would let it do ----

def test_nothing_outside_of_the_namespaces_of_tarn(cluster, tarn, spaces):
    _, outside = spaces
    cluster.api.create(pod("one", scheduler="tarn"), outside)
    cluster.api.create(job("batch", suspend=True), outside)
    name = path_of(outside, "one")
    for request in (lambda: tarn.post(name + "/binding", binding("one")), lambda: tarn.post(name + "/eviction", eviction("one", outside)),
                    lambda: tarn.patch(name, {"metadata": {"annotations": {"tarn.dev/checked": "1"}}}), lambda: tarn.delete(name),
                    lambda: tarn.create(pod("own", scheduler="tarn"), outside),
                    lambda: tarn.patch(f"/apis/batch/v1/namespaces/{outside}/jobs/batch", {"spec": {"suspend": False}})):
        words = refusal(request)
        assert OUTSIDE in words and f"kubectl label namespace {outside}" in words, words
    waits = {"type": "PodScheduled", "status": "False", "reason": "Queued", "message": "it waits"}
    tarn.patch(name + "/status", {"status": {"conditions": [waits]}}, "application/strategic-merge-patch+json")


def test_pods_of_others_are_left_alone(cluster, tarn, spaces):
    inside, _ = spaces
    cluster.api.create(pod("other", scheduler="default-scheduler"), inside)
    name = path_of(inside, "other")
    for request in (lambda: tarn.delete(name), lambda: tarn.patch(name, {"metadata": {"annotations": {"tarn.dev/checked": "1"}}}),
                    lambda: tarn.patch(name + "/status", {"metadata": {"annotations": {"tarn.dev/waits": "x"}}}), lambda: tarn.create(pod("own"), inside)):
        words = refusal(request)
        assert "tarn may not touch pods of other schedulers" in words, words


def test_only_the_fields_that_it_needs(cluster, tarn, spaces):
    inside, _ = spaces
    cluster.api.create(pod("one", scheduler="tarn", **GATE), inside)
    cluster.api.create(job("batch", suspend=True, scheduler="tarn"), inside)
    one, batch = path_of(inside, "one"), f"/apis/batch/v1/namespaces/{inside}/jobs/batch"
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    cluster.api.create(claim, inside)
    data = f"/api/v1/namespaces/{inside}/persistentvolumeclaims/data"
    tarn.patch(data, {"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "gpu-0000"}}})
    tarn.patch(batch, {"metadata": {"annotations": {"tarn.dev/waits": "for room"}}, "spec": {"suspend": True}})
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "evil"}]
    template = [{"op": "add", "path": "/spec/template/spec/nodeSelector", "value": {"x": "y"}}]
    changes = ((one, image, "spec.containers of pods"), (one, {"metadata": {"labels": {"app": "x"}}}, "metadata.labels of pods"),
               (one, {"metadata": {"finalizers": ["example.com/x"]}}, "metadata.finalizers of pods"),
               (one, {"metadata": {"annotations": {"app": "x"}}}, "only annotations that start with tarn.dev/"),
               (one + "/status", {"status": {"phase": "Succeeded"}}, "status.phase of pods/status"),
               (one + "/status", {"metadata": {"annotations": {"app": "x"}}}, "only annotations that start with tarn.dev/"),
               (one + "/status", [{"op": "add", "path": "/status/conditions/-", "value": {"type": "Ready", "status": "True"}}], "a condition other than PodScheduled"),
               (batch, template, "spec.template of jobs"), (batch, {"spec": {"parallelism": 9}}, "spec.parallelism of jobs"),
               (data, {"metadata": {"annotations": {"x": "y"}}}, "only annotations that start with tarn.dev/"),
               (data, {"metadata": {"finalizers": None}}, "metadata.finalizers of persistentvolumeclaims"))
    for path, change, words in changes:
        said = refusal(lambda: tarn.patch(path, change, JSON_PATCH if isinstance(change, list) else "application/merge-patch+json"))
        assert words in said, (path, change, said)
    assert "only annotations that start with" in refusal(lambda: tarn.post(one + "/binding", binding("one", {"app": "x"})))


def test_its_own_pods_have_nothing_of_the_host(cluster, tarn, spaces):
    inside, _ = spaces
    folder = {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}

    def secured(**context):
        made = pod("own", scheduler="tarn")
        made["spec"]["containers"][0]["securityContext"] = context
        return made
    first = pod("own", scheduler="tarn", initContainers=[{"name": "i", "image": "x", "securityContext": {"privileged": True}}])
    for bad in (pod("own", scheduler="tarn", hostNetwork=True), pod("own", scheduler="tarn", hostPID=True), pod("own", scheduler="tarn", hostIPC=True),
                pod("own", scheduler="tarn", **folder), secured(privileged=True), secured(capabilities={"add": ["SYS_ADMIN"]}), first):
        assert "tarn may not create pods with namespaces or folders of the host" in refusal(lambda: tarn.create(bad, inside)), bad
    tarn.create(secured(privileged=False, capabilities={"drop": ["ALL"]}), inside)


def test_events_of_others(cluster, tarn, spaces):
    def event(name, controller):
        return {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name}, "eventTime": "2026-01-01T00:00:00.000000Z",
                "reportingController": controller, "reportingInstance": "x", "type": "Normal", "reason": "Scheduled", "action": "Binding", "note": "x",
                "regarding": {"apiVersion": "v1", "kind": "Pod", "namespace": spaces[0], "name": "one"}}
    tarn.create(event("mine", "tarn"), spaces[0])
    assert "tarn may not write events of others" in refusal(lambda: tarn.create(event("theirs", "kubelet"), spaces[0]))


def test_others_are_not_bounded(cluster, spaces):
    _, outside = spaces
    cluster.api.create(pod("one", hostNetwork=True), outside)
    cluster.api.patch(path_of(outside, "one"), {"metadata": {"labels": {"app": "x"}}})
    cluster.api.post(path_of(outside, "one/binding"), binding("one", {"app": "x"}))


def test_the_api_server_understands_the_policy(cluster, tarn):
    """It checks the types of the expressions for each kind of object, and writes what is wrong."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/tarn"
    wait_until("they are checked", lambda: cluster.api.get(path).get("status", {}).get("observedGeneration"))
    assert not cluster.api.get(path)["status"].get("typeChecking", {}).get("expressionWarnings")
