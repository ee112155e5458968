# SPDX-License-Identifier: Apache-2.0
"""Objects of Kubernetes as people write them, with an API server of our own: no cluster is needed."""

import json
import os
import subprocess

import pytest
import yaml

import tarn_test
from fake_kube import FakeKube
from tarn_test import TARN, wait_until

A100 = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.memory": "81920"}
GPU = "nvidia.com/gpu"


@pytest.fixture
def kube(tmp_path):
    kube = FakeKube(str(tmp_path))
    yield kube
    kube.close()


@pytest.fixture
def begin(make_daemon, kube, tmp_path):
    def begin(config="kube: {}\n"):
        daemon = make_daemon(devices="none")
        (tmp_path / "tarn.yaml").write_text(config)
        daemon.extra["KUBECONFIG"] = kube.kubeconfig
        daemon.options += ["--engine", "kube", "--config", str(tmp_path / "tarn.yaml")]
        daemon.start()
        wait_until("the nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == len(kube.objects["/api/v1/nodes"]))
        return daemon

    return begin


def say(daemon, *words):
    return subprocess.run([TARN, *words], stdout=subprocess.PIPE, text=True, check=True, env=daemon.environment(), timeout=tarn_test.PATIENCE_S).stdout


def test_names_and_deadlines_of_pods_are_those_of_kubernetes(kube, begin):
    kube.add_node("n", A100, nvidia_com__gpu="8")
    names = ["x" * 63, "x" * 64, "nightly." + "y" * 245]
    for name in names:
        kube.add_pod(name, {GPU: "1"})
    kube.add_pod("long", {GPU: "1"}, activeDeadlineSeconds=2147483647)
    kube.add_pod("edge", {GPU: "1"}, activeDeadlineSeconds=3650 * 86400, terminationGracePeriodSeconds=604800)
    daemon = begin()
    wait_until("all pods have a node", lambda: all(kube.node_of(name) == "n" for name in [*names, "long", "edge"]))
    assert {job["name"] for job in daemon.api.get("/v1/jobs")["jobs"]} == {*names, "long", "edge"}


def test_an_unknown_queue_is_said_and_waits(kube, begin):
    kube.add_node("n", A100, nvidia_com__gpu="8")
    for name, labels, annotations in (("label", {"kueue.x-k8s.io/queue-name": "reserch"}, {}), ("own", {"tarn.dev/queue": "reserch"}, {}),
                                      ("volcano", {}, {"scheduling.volcano.sh/queue-name": "reserch"}), ("kai", {"kai.scheduler/queue": "reserch"}, {})):
        kube.add_pod(name, {GPU: "1"}, labels, annotations)
    kube.add_pod("good", {GPU: "1"}, {"kueue.x-k8s.io/queue-name": "research"})
    kube.add_pod("none", {GPU: "1"})
    daemon = begin("queues: {research: {limit: {gpus: 1}}}\nkube: {}\n")
    for name in ("label", "own", "volcano", "kai"):
        wait_until("the condition of %s names the queue" % name, lambda: "reserch" in kube.told(name))
        assert kube.node_of(name) is None
        assert "refuses" in kube.told(name)
    wait_until("the others run", lambda: kube.node_of("good") and kube.node_of("none"))
    assert {job["name"]: job["queue"] for job in daemon.api.get("/v1/jobs")["jobs"]} == {"good": "research", "none": "default"}


def test_slices_of_the_strategy_single_are_no_whole_gpus(kube, begin):
    kube.add_node("cut", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-2g.20gb", "nvidia.com/gpu.memory": "20096",
                          "nvidia.com/mig.strategy": "single"}, nvidia_com__gpu="3")
    kube.add_node("cut-shared", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb.me-SHARED", "nvidia.com/gpu.memory": "9728"}, nvidia_com__gpu="3")
    kube.add_node("whole", {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.memory": "81559"}, nvidia_com__gpu="3")
    for i in range(2):
        kube.add_pod("train-%d" % i, {GPU: "3"}, {"tarn.dev/gang": "train"}, {"tarn.dev/gang-size": "2"})
    daemon = begin()
    assert {gpu["node"]: gpu["model"] for gpu in daemon.api.get("/v1/gpus")["gpus"]} == {
        "cut": "mig-2g.20gb", "cut-shared": "mig-1g.10gb.me", "whole": "h100"}
    wait_until("tarn has the gang", lambda: daemon.api.get("/v1/jobs")["jobs"])
    wait_until("the gang waits", lambda: kube.told("train-0"))
    assert daemon.api.get("/v1/jobs")["jobs"][0]["state"] == "queued"
    assert kube.node_of("train-0") is None and kube.node_of("train-1") is None
    for node in ("cut", "cut-shared", "whole"):
        kube.add_pod("on-" + node, {GPU: "2"}, nodeSelector={"kubernetes.io/hostname": node})
    wait_until("pods alone have devices of either kind", lambda: all(kube.node_of("on-" + node) == node for node in ("cut", "cut-shared", "whole")))


def test_labels_of_the_engine_appear_nowhere(kube, begin):
    kube.add_node("n", {**A100, "zone": "a"}, nvidia_com__gpu="2")
    kube.add_pod("here", {GPU: "1"}, nodeSelector={"zone": "a"})
    kube.add_pod("lost", {GPU: "1"}, nodeSelector={"zone": "b"})
    kube.add_pod("apart", {GPU: "1"}, {"app": "x"}, containers=[{"name": "m", "image": "x", "resources": {"limits": {GPU: "1"}},
                                                                 "ports": [{"containerPort": 80, "hostPort": 8080}]}], affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "zone"}]}})
    daemon = begin()
    wait_until("one waits", lambda: "zone=b" in kube.told("lost"))
    wait_until("the others run", lambda: kube.node_of("here") and kube.node_of("apart"))
    kube.add_pod("beside", {GPU: "1"}, {"app": "x"})
    wait_until("it waits", lambda: kube.told("beside"))
    node = daemon.api.get("/v1/nodes")["nodes"][0]
    assert "zone=a" in node["labels"], node
    said = [json.dumps(daemon.api.get(path)) for path in ("/v1/nodes", "/v1/gpus", "/v1/jobs")]
    jobs = daemon.api.get("/v1/jobs")["jobs"]
    said += [json.dumps(daemon.api.get("/v1/jobs/%d%s" % (job["id"], tail))) for job in jobs for tail in ("", "/why", "/when")]
    said += [say(daemon, "nodes"), say(daemon, "ls", "-a"), kube.told("lost"), kube.told("beside")]
    said += [say(daemon, word, str(job["id"])) for job in jobs for word in ("show", "why")]
    for words in said:
        assert "fits-" not in words and "rule-" not in words and "!plugin" not in words and "apart-" not in words, words
        assert "port-8080" not in words and "rules-full" not in words, words
    request = {one["name"]: daemon.api.get("/v1/jobs/%d" % one["id"])["request"] for one in jobs}["apart"]
    assert request["where"] == request["labels"] == request["anti_affinity"] == [], request
    assert "a taint that it does not tolerate" not in say(daemon, "nodes")
    assert "node selector zone=b" in say(daemon, "ls")


def test_pods_of_namespaces_without_the_label_wait_where_only_managed_ones_count(kube, begin):
    """`kube: {namespaces: managed}`, as the chart sets it where its policy lets tarn act in those alone."""
    kube.add_node("n", A100, nvidia_com__gpu="4")
    kube.add_pod("plain", {GPU: "1"})
    daemon = begin("kube: {namespaces: managed}\n")
    wait_until("it says why", lambda: "namespace default does not have the label tarn.dev/managed=true" in kube.told("plain"))
    assert kube.node_of("plain") is None and not daemon.api.get("/v1/jobs")["jobs"]
    kube.put("/api/v1/namespaces", "", {"metadata": {"name": "default", "labels": {"tarn.dev/managed": "false"}}})
    kube.add_pod("again", {GPU: "1"})
    wait_until("another value is no consent", lambda: "namespace default does not have" in kube.told("again"))
    kube.put("/api/v1/namespaces", "", {"metadata": {"name": "default", "labels": {"tarn.dev/managed": "true"}}})
    wait_until("they run", lambda: kube.node_of("plain") == "n" and kube.node_of("again") == "n")
    assert "namespaces: managed" in say(daemon, "config", "show")


def test_a_suspended_job_of_a_namespace_without_the_label_is_left_alone(kube, begin):
    kube.add_node("n", A100, nvidia_com__gpu="4")
    template = {"metadata": {}, "spec": {"schedulerName": "tarn", "containers": [{"name": "m", "image": "x", "resources": {"limits": {GPU: "1"}}}]}}
    kube.put("/apis/batch/v1/jobs", "default", {
        "metadata": {"name": "later", "labels": {"tarn.dev/queue": "default"}}, "spec": {"suspend": True, "parallelism": 1, "completions": 1, "template": template}})
    kube.add_pod("plain", {GPU: "1"})
    daemon = begin("kube: {namespaces: managed}\n")
    wait_until("tarn has looked", lambda: kube.told("plain"))
    found = kube.get("/apis/batch/v1/jobs", "later")
    assert found["spec"]["suspend"] and "annotations" not in found["metadata"] and not daemon.api.get("/v1/jobs")["jobs"]
    kube.put("/api/v1/namespaces", "", {"metadata": {"name": "default", "labels": {"tarn.dev/managed": "true"}}})
    wait_until("tarn starts it", lambda: not kube.get("/apis/batch/v1/jobs", "later")["spec"]["suspend"])


def test_the_policy_of_the_manifests_bounds_each_right_to_write():
    """But those on objects that are tarn's own: of tarn.dev, and the Lease."""
    with open(os.path.join(tarn_test.HERE, "..", "..", "dist", "kube", "manifests", "tarn.yaml"), encoding="utf-8") as file:
        made = [thing for thing in yaml.safe_load_all(file) if thing]
    rights = [rule for thing in made if thing["kind"] == "ClusterRole" for rule in thing["rules"]]
    policy, = [thing["spec"] for thing in made if thing["kind"] == "ValidatingAdmissionPolicy"]
    bound, = [thing["spec"] for thing in made if thing["kind"] == "ValidatingAdmissionPolicyBinding"]
    assert bound == {"policyName": "tarn", "validationActions": ["Deny"]} and policy["failurePolicy"] == "Fail"
    rules = policy["matchConstraints"]["resourceRules"]
    assert all(set(rule["operations"]) == {"CREATE", "UPDATE", "DELETE"} for rule in rules)
    written = {(group, resource) for rule in rights if set(rule["verbs"]) - {"get", "list", "watch"} for group in rule["apiGroups"] for resource in rule["resources"]}
    assert ("", "pods/binding") in written and ("resource.k8s.io", "resourceclaims/status") in written

    def is_bounded(group, resource):
        wild = "*/status" if resource.endswith("/status") else "*"
        return any(group in rule["apiGroups"] and {resource, wild} & set(rule["resources"]) for rule in rules)
    assert {one for one in written if not is_bounded(*one)} == {("tarn.dev", "queues"), ("tarn.dev", "workloads")}
