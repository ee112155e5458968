# SPDX-License-Identifier: Apache-2.0
"""dist/kube: the chart and the manifests of tarn, its image, and its rights, on a real cluster with the real helm."""
import filecmp
import os
import subprocess

import pytest
import yaml

import kube_cluster
from kube import nodes, programs
from kube_cluster import namespace, wait_until
from tarn_test import BUILD, HERE, make_folder, remove_folder

ROOT = os.path.realpath(os.path.join(HERE, "..", ".."))
CHART = os.path.join(ROOT, "dist", "kube", "chart")
SPACE = "tarn-system"
pytestmark = [kube_cluster.needed(real=True, engine=True),
              pytest.mark.skipif(not programs.is_built("helm"), reason="helm is not built: tools/kube/build")]


def run(*words, **keys):
    done = subprocess.run(words, text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=600, **keys)
    assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def folder():
    folder = make_folder()
    yield folder
    remove_folder(folder)


@pytest.fixture(scope="module")
def image(folder):
    """Of what is built here, in the folders of an installation."""
    tree, archive = os.path.join(folder, "tree"), os.path.join(folder, "image.tar")
    run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", tree)
    said = run(os.path.join(ROOT, "tools", "kube", "image"), tree, "-o", archive)
    assert "docker.io/library/tarn:0.1.0" in said
    run(os.path.join(ROOT, "tools", "kube", "image"), tree, "-o", archive + ".again")
    assert filecmp.cmp(archive, archive + ".again", shallow=False)
    return archive


@pytest.fixture(scope="module")
def cluster(image):
    with kube_cluster.running(real=2) as cluster:
        for number in range(2):
            nodes.import_image(cluster, number, image)
        cluster.api.namespace(SPACE, **{"pod-security.kubernetes.io/enforce": "restricted"})
        yield cluster


@pytest.fixture(scope="module")
def helm(folder, cluster):
    """Runs helm on this cluster."""
    environment = dict(os.environ, KUBECONFIG=cluster.kubeconfig, HOME=folder)

    def helm(*words):
        return run(programs.path("helm"), "--namespace", SPACE, *words, env=environment)
    return helm


def ready_pod(cluster):
    """The pod of tarn that is ready, or None."""
    for pod in cluster.api.pods(SPACE):
        conditions = {one["type"]: one["status"] for one in pod["status"].get("conditions", [])}
        if conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]:
            return pod
    return None


@pytest.fixture(scope="module")
def installed(cluster, helm):
    helm("install", "tarn", CHART, "--set-json", 'config={"queues": {"research": {"guarantee": 8}}, "kube": {"devices": "exact"}}', "--set", "priorityClassName=")
    cluster.explained(SPACE, "tarn is ready", lambda: ready_pod(cluster))
    yield helm
    helm("uninstall", "tarn", "--wait")
    wait_until("its pods are gone", lambda: not cluster.api.pods(SPACE))
    assert not cluster.api.find("/apis/rbac.authorization.k8s.io/v1/clusterroles/tarn")


def test_helm_has_nothing_to_say_about_the_chart():
    assert "1 chart(s) linted, 0 chart(s) failed" in run(programs.path("helm"), "lint", "--strict", CHART)
    for wrong, words in (("replicas=many", "replicas"), ("metrics.port=80", "minimum"), ("replica=2", "additional properties 'replica'")):
        done = subprocess.run([programs.path("helm"), "template", CHART, "--kube-version", "1.34.0", "--set", wrong], text=True, capture_output=True)
        assert done.returncode != 0 and words in done.stderr, done


def test_the_manifests_are_those_of_the_chart():
    with open(os.path.join(ROOT, "dist", "kube", "manifests", "tarn.yaml")) as file:
        assert file.read() == run(os.path.join(ROOT, "tools", "kube", "manifests"), env=dict(os.environ, HELM=programs.path("helm"))), \
            "tools/kube/manifests > dist/kube/manifests/tarn.yaml"


def test_versions_of_the_api_of_admission(helm):
    def version(*words):
        made = yaml.safe_load_all(run(programs.path("helm"), "template", CHART, "--kube-version", "1.34.0", *words))
        return {thing["apiVersion"] for thing in made if thing and thing["kind"].startswith("MutatingAdmissionPolicy")}
    assert version() == {"admissionregistration.k8s.io/v1beta1"}
    assert version("--api-versions", "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy") == {"admissionregistration.k8s.io/v1"}
    assert version("--set", "admission.enabled=false") == set()


def test_only_gpus_that_tarn_chose_are_set(helm):
    """Where the kubelet chooses them, the variable of its device plugin stays."""
    def policy(config):
        made = yaml.safe_load_all(run(programs.path("helm"), "template", CHART, "--kube-version", "1.34.0", "--set-json", "config=" + config))
        return next(str(thing) for thing in made if thing and thing["kind"] == "MutatingAdmissionPolicy")
    assert "NVIDIA_VISIBLE_DEVICES" not in policy("{}") and "NVIDIA_VISIBLE_DEVICES" not in policy('{"kube": {"devices": "counted"}}')
    assert "NVIDIA_VISIBLE_DEVICES" in policy('{"kube": {"devices": "exact"}}')


def test_the_bounds_of_the_service_account(helm):
    """The policy, and the configuration that agrees with it."""
    def rendered(*words):
        made = list(yaml.safe_load_all(run(programs.path("helm"), "template", CHART, "--kube-version", "1.30.0", "--namespace", SPACE, *words)))
        settings, = [yaml.safe_load(thing["data"]["tarn.yaml"]) for thing in made if thing and thing["kind"] == "ConfigMap"]
        return [thing for thing in made if thing and thing["kind"].startswith("ValidatingAdmissionPolicy")], settings.get("kube", {}).get("namespaces")
    made, namespaces = rendered("--set", "serviceAccount.name=scheduler", "--set-json", 'config={"kube": {"schedulers": ["volcano"]}}')
    assert [thing["apiVersion"] for thing in made] == ["admissionregistration.k8s.io/v1"] * 2 and namespaces == "managed"
    assert made[0]["spec"]["matchConditions"][0]["expression"] == f'request.userInfo.username == "system:serviceaccount:{SPACE}:scheduler"'
    assert 'in ["tarn","volcano"]' in str(made[0]) and "kubectl label namespace" in str(made[0])
    made, namespaces = rendered("--set", "guard.namespaces=all")
    assert len(made) == 2 and "kubectl label namespace" not in str(made[0]) and namespaces is None
    made, namespaces = rendered("--set", "guard.enabled=false", "--set-json", 'config={"kube": {"namespaces": "managed"}}')
    assert not made and namespaces == "managed"


def gpus_seen(cluster, space, pod):
    return cluster.api.logs(pod["metadata"]["name"], space).strip()


def test_unchanged_jobs_of_a_managed_namespace_run(cluster, installed):
    """They get tarn as their scheduler, and the GPUs that it chose."""
    with namespace(cluster, managed=True) as space:
        job = kube_cluster.job("digits", ["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES"], count=3, indexed=True, gpus=3)
        cluster.api.create(job, space)
        kube_cluster.wait_complete(cluster, space, "digits")
        pods = cluster.api.pods(space)
        assert {pod["spec"]["schedulerName"] for pod in pods} == {"tarn"}
        for pod in pods:
            chosen = pod["metadata"]["annotations"]["tarn.dev/gpus"]
            assert len(chosen.split(",")) == 3 and gpus_seen(cluster, space, pod) == chosen
        for one, other in ((a, b) for a in pods for b in pods if a is not b and a["spec"]["nodeName"] == b["spec"]["nodeName"]):
            mine, others = (set(pod["metadata"]["annotations"]["tarn.dev/gpus"].split(",")) for pod in (one, other))
            assert not mine & others


def test_the_variable_with_the_gpus(cluster, installed):
    """In containers with GPUs that do not have it; in the order and beside the variables that there are."""
    gpu, echo = {"limits": {kube_cluster.GPU: "1"}}, ["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES $A"]
    variable = {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}
    containers = [dict(name="none", env=[]), dict(name="beside", resources=gpu, env=[{"name": "A", "value": "x"}]),
                  dict(name="own", resources=gpu, env=[variable]), dict(name="plain", resources=gpu)]
    with namespace(cluster, managed=True) as space:
        pod = kube_cluster.pod("several")
        pod["spec"]["containers"] = [dict(image=kube_cluster.TOOLS, command=echo, **one) for one in containers]
        cluster.api.create(pod, space)
        made, = cluster.wait_pods(space, "Succeeded", 1)
        chosen = made["metadata"]["annotations"]["tarn.dev/gpus"]
        said = {one["name"]: cluster.api.logs("several", space, container=one["name"]).strip() for one in containers}
        assert said == {"none": "", "beside": f"{chosen} x", "own": "all", "plain": chosen}


def test_a_pod_with_a_part_of_a_gpu_has_the_variable(cluster, installed):
    with namespace(cluster, managed=True) as space:
        pod = kube_cluster.pod("half", ["sh", "-c", "echo $NVIDIA_VISIBLE_DEVICES"])
        pod["metadata"]["annotations"] = {"tarn.dev/share": "0.5"}
        cluster.api.create(pod, space)
        made, = cluster.wait_pods(space, "Succeeded", 1)
        chosen = made["metadata"]["annotations"]["tarn.dev/gpus"]
        assert chosen and gpus_seen(cluster, space, made) == chosen


def test_exporters_on_the_nodes(cluster, helm, installed):
    """In a namespace that lets them use the network of the node; on one node, because both share their network; without a driver, with synthetic GPUs."""
    space = "tarn-exporters"
    cluster.api.namespace(space)
    made = list(yaml.safe_load_all(run(programs.path("helm"), "template", "tarn", CHART, "--kube-version", "1.34.0", "--namespace", space,
                                       "--set", "exporter.enabled=true", "--set", "exporter.port=9983", "--set", "exporter.probe=synthetic:h100:8",
                                       "--set-json", 'exporter.nodeSelector={"kubernetes.io/hostname": "real-0", "nvidia.com/gpu.present": null}', "--set", "exporter.kubelet=/tmp")))
    exporter, = [thing for thing in made if thing and thing["kind"] == "DaemonSet"]
    settings, = [thing for thing in made if thing and thing["kind"] == "ConfigMap"]
    assert yaml.safe_load(settings["data"]["tarn.yaml"]) == {"kube": {"exporter": 9983, "namespaces": "managed"}}
    roles = [rule for thing in made if thing and thing["kind"] == "ClusterRole" for rule in thing["rules"]]
    assert {"apiGroups": [""], "resources": ["nodes"], "verbs": ["patch"]} in roles
    exporter["spec"]["template"]["spec"]["volumes"][0]["hostPath"]["path"] = "/tmp"
    cluster.api.create(exporter, space)
    cluster.wait_pods(space, "Running", 1)

    def are_ready():
        status = cluster.api.get(f"/apis/apps/v1/namespaces/{space}/daemonsets/tarn-exporter")["status"]
        return status.get("numberReady") == status.get("desiredNumberScheduled") == 1
    cluster.explained(space, "they are ready", are_ready)
    pod = cluster.api.pods(space)[0]
    assert "ready version" in cluster.api.logs(pod["metadata"]["name"], space)
    cluster.api.delete(f"/apis/apps/v1/namespaces/{space}/daemonsets/tarn-exporter")


def test_pods_that_are_somebody_elses_are_left_alone(cluster, installed):
    with namespace(cluster, managed=True) as space:
        cluster.api.create(kube_cluster.pod("other", scheduler="mine"), space)
        cluster.api.create(kube_cluster.pod("placed", nodeName="real-0"), space)
        daemons = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "each"}, "spec": {
            "selector": {"matchLabels": {"app": "each"}}, "template": {
                "metadata": {"labels": {"app": "each"}}, "spec": dict(kube_cluster.spec(["sleep", "600"]), restartPolicy="Always")}}}
        cluster.api.create(daemons, space)
        cluster.wait_pods(space, "Running", 2)
        assert {pod["metadata"]["name"][:5]: pod["spec"].get("schedulingGates") for pod in cluster.api.pods(space)} == {
            "other": None, "place": None, "each-": None}
        assert cluster.api.pod("other", space)["spec"]["schedulerName"] == "mine"
    with namespace(cluster) as space:
        cluster.api.create(kube_cluster.pod("plain"), space)
        cluster.wait_pods(space, "Succeeded", 1)
        assert cluster.api.pod("plain", space)["spec"]["schedulerName"] == "default-scheduler"


def test_an_upgrade_leaves_running_jobs_alone(cluster, installed):
    with namespace(cluster, managed=True) as space:
        cluster.api.create(kube_cluster.pod("long", ["sleep", "600"], gpus=8), space)
        before, = cluster.wait_pods(space, "Running", 1)
        old = ready_pod(cluster)["metadata"]["name"]
        installed("upgrade", "tarn", CHART, "--set-json", 'config={"queues": {"teaching": {"limit": 4}}, "kube": {"devices": "exact"}}', "--set", "priorityClassName=")
        cluster.explained(SPACE, "the new one is ready", lambda: (ready_pod(cluster) or {"metadata": {"name": old}})["metadata"]["name"] != old)
        for name in ("p0", "p1"):  # one node is free, the other one is held by what runs
            cluster.api.create(kube_cluster.pod(name, ["sleep", "600"], gpus=8), space)
        wait_until("one of them runs", lambda: sorted(kube_cluster.gpus_in_use(cluster).values()) == [8, 8])
        after = cluster.api.pod("long", space)
        assert after["metadata"]["uid"] == before["metadata"]["uid"] and after["status"]["phase"] == "Running"
        assert after["status"]["containerStatuses"][0]["restartCount"] == 0
        assert not cluster.api.pods(space, fieldSelector="status.phase=Failed")


def can(cluster, verb, group, resource, space="default", **more):
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
        "user": f"system:serviceaccount:{SPACE}:tarn", "groups": ["system:serviceaccounts"],
        "resourceAttributes": dict(verb=verb, group=group, resource=resource, namespace=space, **more)}}
    return cluster.api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)["status"]["allowed"]


def test_tarn_may_do_what_it_does_and_no_more(cluster, installed):
    assert can(cluster, "list", "", "pods") and can(cluster, "create", "", "pods", subresource="binding")
    assert can(cluster, "update", "coordination.k8s.io", "leases", "kube-system", name="tarn")
    assert can(cluster, "create", "events.k8s.io", "events") and not can(cluster, "delete", "events.k8s.io", "events")
    assert can(cluster, "patch", "resource.k8s.io", "resourceclaims", subresource="status") and can(cluster, "list", "resource.k8s.io", "resourceslices")
    assert not can(cluster, "create", "resource.k8s.io", "resourceclaims") and not can(cluster, "patch", "resource.k8s.io", "resourceslices")
    for verb, group, resource in (("get", "", "secrets"), ("list", "", "configmaps"), ("create", "", "pods"), ("update", "", "pods"),
                                  ("patch", "", "nodes"), ("delete", "batch", "jobs"), ("create", "rbac.authorization.k8s.io", "clusterroles"),
                                  ("impersonate", "", "users"), ("get", "", "nodes/proxy"), ("create", "", "pods/exec")):
        assert not can(cluster, verb, group, resource), (verb, resource)
    assert not can(cluster, "update", "coordination.k8s.io", "leases", "kube-system", name="kube-scheduler")


def test_its_rights_were_enough(cluster, installed):
    words = cluster.api.logs(ready_pod(cluster)["metadata"]["name"], SPACE)
    assert "the cluster is known" in words, words
    assert "403" not in words and "orbidden" not in words, words
