# SPDX-License-Identifier: Apache-2.0
"""Examples that Kueue, Volcano, KAI, Kubeflow and KubeRay publish (kube_manifests/), unchanged but for their namespace, with tarn as the
scheduler: on fake nodes, where no image is needed."""
import os

import pytest
import yaml

import kube_cluster
from kube import operators
from kube_cluster import daemon, space, wait_until  # noqa: F401 (fixtures)
from tarn_test import HERE

NEEDED = ("training-operator", "jobset", "kuberay")
REASON = kube_cluster.missing_engine() or operators.missing(*NEEDED)
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
NODES = 4
IS_MANAGED = True
CONFIG = "kube: {devices: exact, schedulers: [kai-scheduler, volcano]}\nqueues: {user-queue: {}, default-queue: {}, test: {}, default: {}}\n"

# The example, the members of its jobs in tarn, and their queue; and what of its object says that it runs.
EXAMPLES = [
    ("kueue-job", [3], "user-queue", None),
    ("kueue-jobset", [2], "user-queue", None),
    ("kueue-pod-group", [2], "user-queue", None),
    ("volcano-deployment", [1], "test", "Available"),
    ("kai-job", [2], "default-queue", None),
    ("kai-pytorchjob", [3], "default-queue", "Running"),
    ("kai-fraction", [1], "default-queue", "Ready"),
    ("kubeflow-pytorchjob", [2], None, "Running"),
    ("kuberay-cluster", [2], None, "HeadPodReady"),
]


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=NODES) as cluster:
        manifests = os.path.join(HERE, "..", "..", "dist", "kube", "manifests", "tarn.yaml")
        with open(manifests, encoding="utf-8") as file:
            cluster.api.apply([thing for thing in yaml.safe_load_all(file) if thing["kind"].startswith("MutatingAdmissionPolicy")])
        operators.start(cluster, *NEEDED)
        yield cluster


def objects_of(example, space):
    with open(os.path.join(HERE, "kube_manifests", example + ".yaml"), encoding="utf-8") as file:
        for thing in yaml.safe_load_all(file):
            thing["metadata"]["namespace"] = space
            yield thing


def end_pods(cluster, space):
    """As their programs would: kwok ends them."""
    for one in cluster.api.pods(space):
        path = f"/api/v1/namespaces/{space}/pods/{one['metadata']['name']}"
        cluster.api.patch(path, {"metadata": {"annotations": {"kube.tarn.dev/run-for": "1ms"}}})


def conditions(cluster, thing):
    status = cluster.api.get(cluster.api.path_of(thing)).get("status", {})
    return {one["type"] for one in status.get("conditions", []) if one["status"] == "True"}


@pytest.mark.parametrize("example,members,queue,runs", EXAMPLES, ids=[one[0] for one in EXAMPLES])
def test_an_example_runs_unchanged(cluster, daemon, space, example, members, queue, runs):
    made = [cluster.api.create(thing) for thing in objects_of(example, space)]
    count = sum(members)
    pods = cluster.wait_pods(space, "Running", count)
    jobs = daemon.api.jobs()
    assert [job["members"] for job in jobs] == members and {job["queue"] for job in jobs} == {queue or "default"}
    assert {one["metadata"]["annotations"]["tarn.dev/job"] for one in pods} == {str(job["id"]) for job in jobs}
    if runs:
        cluster.explained(space, f"it is {runs}", lambda: runs in conditions(cluster, made[0]))
    if made[0]["kind"] in ("Deployment", "RayCluster"):  # they have no end
        return
    end_pods(cluster, space)
    ends = [daemon.api.wait_end(job["id"]) for job in jobs]
    assert {job["result"] for job in ends} == {"ok"}
    if made[0]["kind"] != "Pod":
        cluster.explained(space, "it is complete", lambda: conditions(cluster, made[0]) & {"Complete", "Completed", "Succeeded"})
    assert len(daemon.api.jobs()) == len(members)
