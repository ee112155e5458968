# SPDX-License-Identifier: Apache-2.0
"""Objects of tarn.dev that show what tarn knows, on a real control plane with two fake nodes of 8 GPUs."""
import os
import subprocess

import pytest
import yaml

import kube_cluster
from kube import programs
from kube_cluster import daemon, job, pod, space, start_daemon, wait_until  # noqa: F401 (fixtures)
from tarn_test import HERE

pytestmark = kube_cluster.needed(engine=True)
API = "/apis/tarn.dev/v1alpha1"
DEFINITIONS = os.path.join(HERE, "..", "..", "dist", "kube", "chart", "files", "mirrors.yaml")
CONFIG = "queues: {research: {guarantee: 4, limit: 12}, Guest_2: {}}\n"


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=2) as cluster:
        with open(DEFINITIONS) as file:
            cluster.api.apply(list(yaml.safe_load_all(file)))
        wait_until("the API server serves them", lambda: all(kube_cluster.is_served(cluster, f"{API}/{kind}") for kind in ("queues", "workloads")))
        yield cluster


def mine(name, **keys):
    return pod(name, **{"scheduler": "tarn", "fake": True, **keys})


def mirrors(cluster, space):
    """By the title of the workload: all but the unique end of the name."""
    return {one["metadata"]["name"].rsplit("-", 1)[0]: one["status"] for one in cluster.api.get(f"{API}/namespaces/{space}/workloads")["items"]}


def queue(cluster, name):
    found = cluster.api.find(f"{API}/queues/{name}")
    return found["status"] if found else {}


def test_a_workload_is_shown_while_it_waits_and_runs(cluster, daemon, space):
    labels = {"tarn.dev/queue": "research"}
    cluster.api.create(mine("first", gpus=8, labels=labels), space)
    wait_until("it runs", lambda: mirrors(cluster, space).get("first", {}).get("state") == "runs")
    assert {key: mirrors(cluster, space)["first"][key] for key in ("queue", "gpus", "reason", "start")} == {
        "queue": "research", "gpus": "8", "reason": "", "start": ""}
    cluster.api.create(job("second", count=2, gpus=4, scheduler="tarn", fake=True, labels=labels), space)
    wait_until("the second one waits", lambda: mirrors(cluster, space).get("second", {}).get("state") == "waits")
    second = mirrors(cluster, space)["second"]
    assert second["gpus"] == "8" and "at most 12 gpus" in second["reason"] and second["job"] > 0, second
    wait_until("its queue is counted", lambda: (queue(cluster, "research").get("waiting"), queue(cluster, "research").get("running")) == (1, 1))
    shown = queue(cluster, "research")
    assert {key: shown[key] for key in ("guarantee", "limit", "used", "borrowed")} == {
        "guarantee": "4", "limit": "12", "used": "8", "borrowed": "4"}
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/first")
    wait_until("what is over is gone, and the next one runs", lambda: {name: one["state"] for name, one in mirrors(cluster, space).items()}
               == {"second": "runs"})


@pytest.mark.skipif(not programs.is_built("kubectl"), reason="kubectl is not built: tools/kube/build")
def test_kubectl_lists_them(cluster, daemon, space):
    cluster.api.create(mine("lonely", gpus=1), space)
    wait_until("it runs", lambda: mirrors(cluster, space).get("lonely", {}).get("state") == "runs")

    def kubectl(*words):
        return subprocess.run([programs.path("kubectl"), "--kubeconfig", cluster.kubeconfig, *words], text=True, check=True,
                              capture_output=True, timeout=60).stdout
    words = kubectl("get", "twl", "-n", space)
    assert words.split("\n")[0].split() == ["NAME", "JOB", "STATE", "QUEUE", "GPUS", "START", "AGE", "REASON"] and "lonely-" in words, words
    words = kubectl("get", "queues.tarn.dev")
    assert words.split("\n")[0].split() == ["NAME", "GUARANTEE", "LIMIT", "USED", "BORROWED", "WAITING", "RUNNING"], words
    assert any(line.split()[0].startswith("guest-2-") for line in words.split("\n")[1:-1]), words  # Guest_2 is no name of the API


def test_a_queue_that_is_removed_is_not_shown_any_more(cluster, daemon):
    wait_until("it is shown", lambda: queue(cluster, "research"))
    daemon.api.put("/v1/config", {"queues": {"Guest_2": {}}})
    wait_until("it is gone", lambda: not queue(cluster, "research"))


def test_what_a_daemon_left_is_removed_by_the_next(cluster, daemon, space):
    cluster.api.create(mine("goes", gpus=1), space)
    cluster.api.create(mine("stays", gpus=1), space)
    wait_until("both run", lambda: {name: one["state"] for name, one in mirrors(cluster, space).items()} == {"goes": "runs", "stays": "runs"})
    daemon.kill()
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/goes")
    cluster.api.apply([{"apiVersion": "tarn.dev/v1alpha1", "kind": "Queue", "metadata": {"name": "of-before"}},
                       {"apiVersion": "tarn.dev/v1alpha1", "kind": "Workload", "metadata": {"name": "of-before", "namespace": space}}])
    start_daemon(daemon, cluster)
    wait_until("only what there is is shown", lambda: set(mirrors_of_names(cluster, space)) == {"stays"} and not cluster.api.find(f"{API}/queues/of-before"))


def mirrors_of_names(cluster, space):
    return [one["metadata"]["name"].rsplit("-", 1)[0] for one in cluster.api.get(f"{API}/namespaces/{space}/workloads")["items"]]
