# SPDX-License-Identifier: Apache-2.0
"""Workloads of published operators (Kubeflow, KubeRay, JobSet) and of Kubernetes itself, with tarn as their scheduler (kube_cluster.py)."""
import subprocess

import pytest

import kube_cluster
from kube import operators
from kube.images import TOOLS
from kube.waiting import PATIENCE_S
from kube_cluster import GPU, SYSTEM, condition, daemon, is_active, mounting, pod, space, spec, wait_until  # noqa: F401 (fixtures)

NEEDED = ("training-operator", "jobset", "kuberay")
REASON = kube_cluster.missing_engine(real=True) or operators.missing(*NEEDED)
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
needs_torch = pytest.mark.skipif(subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed"], stderr=subprocess.DEVNULL).returncode != 0,
                                 reason="python3-torch is not installed")


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=2, real=2) as cluster:
        operators.start(cluster, *NEEDED)
        yield cluster


# ---- gangs ----

def pods_of(cluster, space, label):
    return [one for one in cluster.api.pods(space) if label in one["metadata"].get("labels", {})]


def start_late(cluster, daemon, space, thing, label, count, fake=False):
    """Create a workload while one of the two nodes for it is full: none of its pods starts. Then make room: all start, on both nodes.
    The pods by rank, and the job."""
    cluster.api.create(pod("holder", ["sleep", "1000"], gpus=8, scheduler="tarn", fake=fake), space)
    cluster.wait_pods(space, "Running", 1)
    cluster.api.create(thing, space)
    name = thing["metadata"]["name"]
    cluster.explained(space, "it waits in tarn", lambda: [job for job in daemon.api.jobs() if job["name"] == name and job["state"] == "queued"])
    waiting = pods_of(cluster, space, label)
    assert len(waiting) == count and not any(one["spec"].get("nodeName") for one in waiting)
    wait_until("its pods say why", lambda: all(
        condition(one).get("message", "").startswith("tarn job ") for one in pods_of(cluster, space, label)))
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/holder", grace=0)
    cluster.explained(space, "all are bound", lambda: all(one["spec"].get("nodeName") for one in pods_of(cluster, space, label)))
    bound = sorted(pods_of(cluster, space, label), key=rank_of)
    assert len({one["spec"]["nodeName"] for one in bound}) == 2
    job, = [job for job in daemon.api.jobs() if job["name"] == name]
    assert {one["metadata"]["annotations"]["tarn.dev/job"] for one in bound} == {str(job["id"])}
    assert [rank_of(one) for one in bound] == list(range(count)) and job["members"] == count
    return bound, job


def rank_of(one):
    return int(one["metadata"]["annotations"].get("tarn.dev/attempt", "/0").rpartition("/")[2])


def logs(cluster, space, pods):
    return [cluster.api.logs(one["metadata"]["name"], space).strip().split("\n")[-1] for one in pods]


def has_condition(cluster, path, kind):
    conditions = cluster.api.get(path).get("status", {}).get("conditions", [])
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def container(name, command, gpus, **more):
    return {"name": name, "image": TOOLS, "command": list(command), "resources": {"limits": {GPU: str(gpus)}}, **more}


# Each rank has data of its own; one model comes of all of it.
DDP = """
import os, torch
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
truth = torch.arange(4.0)
for step in range(200):
    data = torch.randn(32, 4)
    loss = ((model(data).squeeze() - data @ truth) ** 2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
found = [torch.zeros(4) for _ in range(dist.get_world_size())]
dist.all_gather(found, model.module.weight.detach().squeeze())
assert all(torch.equal(found[0], other) for other in found), "the ranks have different models"
assert torch.allclose(found[0], truth, atol=0.1), found[0]
print("trained", dist.get_rank(), "of", dist.get_world_size(), "at", os.environ["MASTER_ADDR"])
"""


@needs_torch
def test_a_pytorchjob_of_kubeflow_trains_over_two_nodes(cluster, daemon, space):
    mounts, volumes = mounting(SYSTEM)

    def replicas(count):
        main = container("pytorch", ["/usr/bin/python3", "-c", DDP], 4, env=[{"name": "OMP_NUM_THREADS", "value": "1"}], **mounts)
        return {"replicas": count, "restartPolicy": "Never", "template": {"spec": {
            "schedulerName": "tarn", "nodeSelector": {"type": "real"}, "containers": [main], **volumes}}}

    thing = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": {"name": "ddp"},
             "spec": {"pytorchReplicaSpecs": {"Master": replicas(1), "Worker": replicas(2)}}}
    pods, job = start_late(cluster, daemon, space, thing, "training.kubeflow.org/job-name", 3)
    assert [one["metadata"]["name"] for one in pods] == ["ddp-master-0", "ddp-worker-0", "ddp-worker-1"]
    path = f"/apis/kubeflow.org/v1/namespaces/{space}/pytorchjobs/ddp"
    cluster.explained(space, "it has succeeded", lambda: has_condition(cluster, path, "Succeeded"))
    assert logs(cluster, space, pods) == [f"trained {rank} of 3 at ddp-master-0" for rank in range(3)]
    ended = daemon.api.wait_end(job["id"])
    assert (ended["result"], ended["attempt"], ended["gpus"]) == ("ok", 1, "4")


def test_a_jobset_is_one_job_with_the_roles_of_its_parts(cluster, daemon, space):
    def part(name, replicas, parallelism):
        template = {"spec": {"schedulerName": "tarn", "restartPolicy": "Never", "nodeSelector": {"type": "real"}, "containers": [container(
            "main", ["sh", "-c", f"echo {name} $JOB_COMPLETION_INDEX of job $JOB_INDEX"], 4, env=[{"name": "JOB_INDEX", "valueFrom": {
                "fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/job-index']"}}}])]}}
        return {"name": name, "replicas": replicas, "template": {"spec": {"parallelism": parallelism, "completions": parallelism,
                                                                         "backoffLimit": 0, "template": template}}}

    thing = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "set"},
             "spec": {"replicatedJobs": [part("leader", 1, 1), part("worker", 2, 1)]}}
    pods, job = start_late(cluster, daemon, space, thing, "jobset.sigs.k8s.io/jobset-name", 3)
    cluster.explained(space, "it is complete", lambda: has_condition(
        cluster, f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{space}/jobsets/set", "Completed"))
    assert sorted(logs(cluster, space, pods)) == ["leader 0 of job 0", "worker 0 of job 0", "worker 0 of job 1"]
    assert logs(cluster, space, pods)[0].startswith("leader")
    assert daemon.api.wait_end(job["id"])["result"] == "ok"


def test_an_indexed_job_has_its_indexes_as_ranks(cluster, daemon, space):
    thing = kube_cluster.job("indexed", ["sh", "-c", "echo index $JOB_COMPLETION_INDEX"], count=3, indexed=True, gpus=4, scheduler="tarn", fake=False)
    pods, job = start_late(cluster, daemon, space, thing, "batch.kubernetes.io/job-completion-index", 3)
    kube_cluster.wait_complete(cluster, space, "indexed")
    assert logs(cluster, space, pods) == ["index 0", "index 1", "index 2"]
    assert daemon.api.wait_end(job["id"])["result"] == "ok"


def test_a_raycluster_of_kuberay_starts_as_a_gang(cluster, daemon, space):
    def template(name, gpus):
        return {"spec": {"schedulerName": "tarn", "nodeSelector": {"type": "kwok"}, "containers": [container(name, ["x"], gpus)]}}

    thing = {"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ray"}, "spec": {
        "rayVersion": "2.46.0", "headGroupSpec": {"rayStartParams": {}, "template": template("head", 1)},
        "workerGroupSpecs": [{"groupName": "small", "replicas": 3, "minReplicas": 3, "maxReplicas": 3, "rayStartParams": {},
                              "template": template("worker", 4)}]}}
    pods, job = start_late(cluster, daemon, space, thing, "ray.io/cluster", 4, fake=True)
    path = f"/apis/ray.io/v1/namespaces/{space}/rayclusters/ray"
    cluster.explained(space, "it is ready", lambda: cluster.api.get(path)["status"].get("state") == "ready")
    assert [one["metadata"]["labels"]["ray.io/node-type"] for one in pods] == ["head", "worker", "worker", "worker"]
    daemon.api.wait_state(job["id"], "running")
    cluster.api.delete(path)
    wait_until("its pods are gone", lambda: not pods_of(cluster, space, "ray.io/cluster"))
    ended = daemon.api.wait_end(job["id"], PATIENCE_S)
    assert ended["result"] == "cancelled" and "its controller was deleted" in ended["cancel_reason"], ended
    assert len(daemon.api.jobs()) == 2  # with the holder


# ---- pipelines ----

def test_pods_that_a_pipeline_creates_run_in_its_order(cluster, daemon, space, tmp_path):
    """Like Argo and Airflow: a pod is created when those before it have succeeded."""
    mounts, volumes = mounting([str(tmp_path)])
    needs = {"read": [], "left": ["read"], "right": ["read"], "join": ["left", "right"]}

    def step(name):
        words = " ".join(["cat", *(f"{tmp_path}/{other}" for other in needs[name])]) + "; " if needs[name] else ""
        main = container("main", ["sh", "-ec", f"{{ {words}echo {name}; }} > {tmp_path}/{name}"], 1, **mounts)
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                "spec": {**spec(scheduler="tarn", fake=False), "containers": [main], **volumes}}

    created = set()
    while len(created) < len(needs):
        succeeded = {one["metadata"]["name"] for one in cluster.wait_pods(space, "Succeeded", len(created))} if created else set()
        for name in set(needs) - created:
            if set(needs[name]) <= succeeded:
                cluster.api.create(step(name), space)
                created.add(name)
    cluster.wait_pods(space, "Succeeded", len(needs))
    assert (tmp_path / "join").read_text().split() == ["read", "left", "read", "right", "join"]
    wait_until("tarn has seen their ends", lambda: [job["state"] for job in daemon.api.jobs()] == ["ended"] * 4)
    assert {job["result"] for job in daemon.api.jobs()} == {"ok"} and not [one for one in cluster.api.pods(space) if is_active(one)]
