# SPDX-License-Identifier: Apache-2.0
"""The engine kube on a real Kubernetes (kube_cluster.py): 8 fake nodes with 8 GPUs each, and a real one with containers."""
import subprocess

import pytest

import kube_cluster
from kube.nodes import TAINT, add_fake
from kube_cluster import GPU, check_sound, condition, daemon, gpus_in_use, pod, space, wait_until  # noqa: F401 (fixtures)
from tarn_test import TARN

pytestmark = kube_cluster.needed(real=True, engine=True)
NODES = 9


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=8, real=1) as cluster:
        yield cluster


def create(cluster, space, *pods):
    return [cluster.api.create(one, space) for one in pods]


def mine(name, **keys):
    """A pod of tarn on a fake node, unless told otherwise."""
    return pod(name, **{"scheduler": "tarn", "fake": True, **keys})


def message(cluster, space, name):
    return condition(cluster.api.pod(name, space)).get("message", "")


def wait_words(cluster, space, name, words):
    cluster.explained(space, f"{name} says '{words}'", lambda: words in message(cluster, space, name))


def place_of(cluster, space, name):
    return cluster.api.pod(name, space)["spec"].get("nodeName")


def test_nodes_and_gpus_are_those_of_the_cluster(daemon):
    listed = daemon.api.get("/v1/nodes")["nodes"]
    assert sorted(node["name"] for node in listed) == [f"gpu-{number:04d}" for number in range(8)] + ["real-0"]
    assert {node["state"] for node in listed} == {"up"}
    gpus = daemon.api.get("/v1/gpus")["gpus"]
    assert len(gpus) == NODES * 8 and {gpu["model"] for gpu in gpus} == {"h100"}


def test_pods_share_nodes_but_not_gpus(cluster, daemon, space):
    create(cluster, space, *[mine(f"p{number}", gpus=2, annotations={"kube.tarn.dev/run-for": "500ms"}) for number in range(40)])
    cluster.wait_pods(space, "Succeeded", 40)
    wait_until("tarn has seen their ends", lambda: [job["state"] for job in daemon.api.jobs()] == ["ended"] * 40)
    assert {job["result"] for job in daemon.api.jobs()} == {"ok"} and not any(gpus_in_use(cluster).values())


def test_a_job_in_real_containers(cluster, daemon, space):
    cluster.api.create(kube_cluster.job("count", ["sh", "-c", "echo rank $JOB_COMPLETION_INDEX"], count=3, indexed=True, gpus=2,
                                        scheduler="tarn", fake=False), space)
    kube_cluster.wait_complete(cluster, space, "count")
    told = {cluster.api.logs(one["metadata"]["name"], space).strip() for one in cluster.api.pods(space)}
    assert told == {"rank 0", "rank 1", "rank 2"}
    job, = daemon.api.jobs()
    assert job["members"] == 3 and daemon.api.wait_end(job["id"])["result"] == "ok"


def test_a_failure_in_a_container_is_one_of_the_job(cluster, daemon, space):
    create(cluster, space, mine("bad", command=["sh", "-c", "exit 7"], fake=False, gpus=1))
    wait_until("tarn knows it", lambda: daemon.api.jobs())
    job = daemon.api.wait_end(daemon.api.jobs()[0]["id"])
    assert (job["result"], job["exit_code"]) == ("failed", 7)


def test_a_gang_waits_for_all_its_pods_and_starts_at_once(cluster, daemon, space):
    def member(number):
        return mine(f"g{number}", gpus=8, labels={"tarn.dev/gang": "g"}, annotations={"tarn.dev/gang-size": "3"})

    create(cluster, space, member(0), member(1))
    wait_words(cluster, space, "g0", "waits for all pods of the workload: 2 of 3 exist")
    assert not place_of(cluster, space, "g0") and not place_of(cluster, space, "g1")
    create(cluster, space, member(2))
    cluster.wait_pods(space, "Running", 3)
    assert len({place_of(cluster, space, f"g{number}") for number in range(3)}) == 3
    assert len(daemon.api.jobs()) == 1


def test_a_gang_that_does_not_fit_holds_nothing(cluster, daemon, space):
    create(cluster, space, mine("holder", gpus=8))
    cluster.wait_pods(space, "Running", 1)
    gang = [mine(f"g{number}", gpus=8, labels={"tarn.dev/gang": "g"}, annotations={"tarn.dev/gang-size": "8"}) for number in range(8)]
    create(cluster, space, *gang)
    wait_until("it waits", lambda: [job["state"] for job in daemon.api.jobs()].count("queued") == 1)
    create(cluster, space, mine("small", gpus=1, annotations={"kube.tarn.dev/run-for": "200ms", "tarn.dev/estimate": "1s"}))
    assert not any(place_of(cluster, space, f"g{number}") for number in range(8))
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/holder", grace=0)
    cluster.explained(space, "all of the gang run", lambda: len(
        [one for one in cluster.api.pods(space) if one["metadata"]["name"][0] == "g" and one["status"]["phase"] == "Running"]) == 8)


def test_a_pod_says_how_it_saves_its_work(cluster, daemon, space):
    create(cluster, space, mine("silent", gpus=1), mine("saves", gpus=1, annotations={"tarn.dev/checkpoint": "10m"}),
           mine("when-stopped", gpus=1, annotations={"tarn.dev/checkpoint": "stop"}))
    cluster.wait_pods(space, "Running", 3)
    found = {job["name"]: daemon.api.job(job["id"])["checkpoint"] for job in daemon.api.jobs()}
    assert found["silent"]["never"] and found["silent"]["every"] is None
    assert found["saves"]["every"] == 600 and not found["saves"]["never"]
    assert found["when-stopped"] is None


def test_who_waits_is_told_why(cluster, daemon, space):
    create(cluster, space, mine("huge", gpus=9), *[mine(f"p{number}", gpus=8) for number in range(8)])
    cluster.wait_pods(space, "Running", 8)
    create(cluster, space, mine("next", gpus=8))
    cluster.explained(space, "it says why", lambda: message(cluster, space, "next"))
    seen = condition(cluster.api.pod("next", space))
    assert seen["status"] == "False" and seen["reason"] in ("Unschedulable", "SchedulingGated")
    wait_until("huge says that it cannot run", lambda: message(cluster, space, "huge"))
    number = next(job["id"] for job in daemon.api.jobs() if job["name"] == "next")
    assert daemon.api.why(number)


def affinity(key, operator, *values):
    term = {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def test_selectors_affinity_and_taints_hold(cluster, daemon, space):
    add_fake(cluster, 1, first=50, taints=[TAINT], gpus=8)
    try:
        wait_until("tarn knows the new node", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == NODES + 1)
        only = {"kubernetes.io/hostname": "gpu-0050"}
        create(cluster, space,
               mine("chosen", gpus=1, nodeSelector={"kubernetes.io/hostname": "gpu-0003"}, fake=None),
               mine("one-of", gpus=1, affinity=affinity("kubernetes.io/hostname", "In", "gpu-0006", "none")),
               mine("not-in", gpus=8, affinity=affinity("topology.tarn.dev/rack", "NotIn", "rack-000")),
               mine("refused", gpus=1, nodeSelector=only, fake=None),
               mine("tolerates", gpus=1, nodeSelector=only, fake=None, tolerations=[{"key": TAINT["key"], "operator": "Exists"}]),
               mine("nowhere", gpus=1, nodeSelector={"no-such": "label"}, fake=None))
        cluster.wait_pods(space, "Running", 4)
        places = {name: place_of(cluster, space, name) for name in ("chosen", "one-of", "tolerates", "refused", "nowhere")}
        assert places == {"chosen": "gpu-0003", "one-of": "gpu-0006", "tolerates": "gpu-0050", "refused": None, "nowhere": None}
        assert place_of(cluster, space, "not-in") in {f"gpu-{number:04d}" for number in range(4, 8)}
        wait_words(cluster, space, "nowhere", "node selector no-such=label, or a taint that it does not tolerate")
        create(cluster, space, mine("full", gpus=8, nodeSelector={"kubernetes.io/hostname": "gpu-0003"}, fake=None))
        number = wait_until("it waits", lambda: [job["id"] for job in daemon.api.jobs() if job["name"] == "full"])[0]
        told = tarn(daemon, "why", str(number))
        assert "node selector kubernetes.io/hostname=gpu-0003" in told and "fits-" not in told, told
        labels = {label for node in daemon.api.get("/v1/nodes")["nodes"] for label in node["labels"]}
        assert not [label for label in labels if "selector" in label or "taint" in label or "fits-" in label], labels
    finally:
        cluster.api.delete("/api/v1/nodes/gpu-0050")
        cluster.end_namespace(space)


def test_what_kube_scheduler_placed_is_not_used(cluster, daemon, space):
    create(cluster, space, *[pod(f"other{number}", gpus=6, fake=True) for number in range(8)])
    cluster.wait_pods(space, "Running", 8)
    create(cluster, space, *[mine(f"p{number}", gpus=2) for number in range(8)], mine("late", gpus=2))
    cluster.wait_pods(space, "Running", 16)
    assert set(gpus_in_use(cluster).values()) == {8}
    assert not place_of(cluster, space, "late")
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/other3", grace=0)
    cluster.wait_pods(space, "Running", 16)


def test_a_guarantee_is_reclaimed_by_eviction(cluster, daemon, space):
    daemon.api.put("/v1/config", {"queues": {"guest": {}, "owner": {"guarantee": 32}}})
    create(cluster, space, *[mine(f"guest{number}", gpus=8, labels={"tarn.dev/queue": "guest"},
                                  annotations={"tarn.dev/preemptible": "true"}) for number in range(8)])
    cluster.wait_pods(space, "Running", 8)
    create(cluster, space, *[mine(f"owner{number}", gpus=8, labels={"tarn.dev/queue": "owner"}) for number in range(4)])
    cluster.explained(space, "four of the owner run", lambda: len(
        [one for one in cluster.api.pods(space) if one["metadata"]["name"].startswith("owner") and one["status"]["phase"] == "Running"]) == 4)
    check_sound(cluster)


def tarn(daemon, *words):
    done = subprocess.run([TARN, *words], env=daemon.environment(), text=True, capture_output=True, timeout=60)
    assert done.returncode == 0, done
    return done.stdout


def test_what_is_cancelled_in_tarn_is_gone_in_kubernetes(cluster, daemon, space):
    create(cluster, space, mine("runs", gpus=1))
    cluster.api.create(kube_cluster.job("batch", count=2, gpus=1, scheduler="tarn", fake=True), space)
    cluster.wait_pods(space, "Running", 3)
    for job in daemon.api.jobs():
        tarn(daemon, "cancel", str(job["id"]))
    wait_until("both have ended", lambda: {job["result"] for job in daemon.api.jobs()} == {"cancelled"})
    wait_until("no pod is left", lambda: not [one for one in cluster.api.pods(space) if kube_cluster.is_active(one)])


def test_what_is_deleted_in_kubernetes_has_ended_in_tarn(cluster, daemon, space):
    create(cluster, space, *[mine(f"p{number}", gpus=8) for number in range(9)])
    cluster.wait_pods(space, "Running", 8)
    for number in range(9):
        cluster.api.delete(f"/api/v1/namespaces/{space}/pods/p{number}", grace=0)
    wait_until("all have ended", lambda: [job["state"] for job in daemon.api.jobs()] == ["ended"] * 9)


def test_a_job_that_is_deleted_in_kubernetes_is_cancelled(cluster, daemon, space):
    cluster.api.create(kube_cluster.job("batch", count=2, gpus=1, scheduler="tarn", fake=True), space)
    cluster.wait_pods(space, "Running", 2)
    cluster.api.delete(f"/apis/batch/v1/namespaces/{space}/jobs/batch", propagationPolicy="Background")
    job = daemon.api.wait_end(daemon.api.jobs()[0]["id"], kube_cluster.PATIENCE_S)
    assert job["result"] == "cancelled" and "its controller was deleted" in job["cancel_reason"], job


def test_a_daemon_that_was_killed_finds_its_pods(cluster, daemon, space):
    create(cluster, space, *[mine(f"p{number}", gpus=8) for number in range(10)])
    before = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in cluster.wait_pods(space, "Running", 8)}
    daemon.kill()
    gone = sorted(before)[:2]
    for name in gone:
        cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{name}", grace=0)
    daemon.start()
    cluster.explained(space, "the other two run", lambda: len(
        [one for one in cluster.api.pods(space) if one["status"]["phase"] == "Running"]) == 8)
    check_sound(cluster)
    after = {one["metadata"]["name"]: one["spec"]["nodeName"] for one in cluster.api.pods(space)}
    assert all(after[name] == before[name] for name in before if name not in gone)
    assert len([job for job in daemon.api.jobs() if job["state"] == "running"]) == 8


def test_the_api_server_may_be_away(cluster, daemon, space):
    create(cluster, space, *[mine(f"p{number}", gpus=8) for number in range(9)])
    running = {one["metadata"]["uid"] for one in cluster.wait_pods(space, "Running", 8)}
    cluster.kill("kube-apiserver")
    waiting = str(next(job["id"] for job in daemon.api.jobs() if job["state"] != "running"))
    wait_until("tarn says so", lambda: "Kubernetes: the API server does not answer" in tarn(daemon, "why", waiting))
    cluster.launch_api_server()
    first = next(one for one in cluster.api.pods(space) if one["metadata"]["uid"] in running)
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{first['metadata']['name']}", grace=0)
    cluster.explained(space, "eight run again", lambda: len(
        [one for one in cluster.api.pods(space) if one["status"]["phase"] == "Running"]) == 8)
    assert len({one["metadata"]["uid"] for one in cluster.api.pods(space)} & running) == 7
    wait_until("it does not say so any more", lambda: "does not answer" not in tarn(daemon, "why", waiting))


def test_a_node_that_is_cordoned_or_gone(cluster, daemon, space):
    create(cluster, space, mine("stays", gpus=8, nodeSelector={"kubernetes.io/hostname": "gpu-0002"}, fake=None))
    cluster.wait_pods(space, "Running", 1)
    cluster.api.patch("/api/v1/nodes/gpu-0002", {"spec": {"unschedulable": True}})
    try:
        create(cluster, space, *[mine(f"p{number}", gpus=4) for number in range(15)])
        cluster.wait_pods(space, "Running", 15)
        cluster.api.delete(f"/api/v1/namespaces/{space}/pods/stays", grace=0)
        wait_until("its GPUs are free", lambda: "gpu-0002" not in gpus_in_use(cluster))
        create(cluster, space, *[mine(f"q{number}", gpus=4) for number in range(2)])
        assert len(cluster.wait_pods(space, "Running", 14)) == 14
        assert "gpu-0002" not in gpus_in_use(cluster)
    finally:
        cluster.api.patch("/api/v1/nodes/gpu-0002", {"spec": {"unschedulable": None}})
    cluster.wait_pods(space, "Running", 16)


def test_allocatable_of_a_node_may_shrink(cluster, daemon, space):
    path = "/api/v1/nodes/gpu-0007/status"
    cluster.api.patch(path, {"status": {"allocatable": {GPU: "2"}}})
    try:
        create(cluster, space, *[mine(f"p{number}", gpus=2) for number in range(32)])
        cluster.wait_pods(space, "Running", 29)
        check_sound(cluster)
    finally:
        cluster.api.patch(path, {"status": {"allocatable": {GPU: "8"}}})
    cluster.wait_pods(space, "Running", 32)


def test_a_pod_gets_devices_of_the_resource_that_it_requests(cluster, daemon, space):
    """Each of these device plugins offers GPUs: tarn counts GPUs, and must not mix them up."""
    add_fake(cluster, 1, first=90, gpus=0, capacity={"amd.com/gpu": "8"})
    add_fake(cluster, 1, first=91, gpus=0, capacity={"gpu.intel.com/xe": "8"})
    try:
        wait_until("tarn knows the nodes", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) >= NODES + 2)
        one = {"amd": "amd.com/gpu", "intel": "gpu.intel.com/xe"}
        for number in range(3):
            for vendor, resource in one.items():
                asked = mine(f"{vendor}-{number}")
                asked["spec"]["containers"][0]["resources"] = {"limits": {resource: "4"}}
                create(cluster, space, asked)
        create(cluster, space, *[mine(f"nvidia-{number}", gpus=8) for number in range(9)])
        cluster.wait_pods(space, "Running", 12)  # two of each, and 8 of the nodes have GPUs of NVIDIA
        placed = {}
        for each in cluster.api.get(f"/api/v1/namespaces/{space}/pods")["items"]:
            placed.setdefault(each["metadata"]["name"].split("-")[0], set()).add(each["spec"].get("nodeName"))
        assert placed["amd"] == {"gpu-0090", None} and placed["intel"] == {"gpu-0091", None}
        assert not placed["nvidia"] & {"gpu-0090", "gpu-0091"} and None in placed["nvidia"]
    finally:
        for number in (90, 91):
            cluster.api.delete(f"/api/v1/nodes/gpu-{number:04d}")
