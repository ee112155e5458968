# SPDX-License-Identifier: Apache-2.0
"""The engine kube reads the exporter on a node: readings, the GPUs that the kubelet chose, faults. The node is a fake one with four GPUs; its
exporter has a stub driver, and what a kubelet would write is written by the test."""
import json
import os
import time

import pytest

import kube_cluster
from exporters import Exporter, free_port
from kube_cluster import pod, space, start_daemon, wait_until  # noqa: F401 (fixture)
from test_gpu import gpu

pytestmark = kube_cluster.needed(engine=True)
GPUS = 4


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=1, gpus=GPUS) as cluster:
        yield cluster


class Kubelet:
    """The checkpoint of its device manager."""

    def __init__(self, path):
        self.path, self.held, self.others = path, {}, {}
        self.write()

    def write(self):
        entries = [{"PodUID": uid, "ContainerName": "main", "ResourceName": "nvidia.com/gpu", "DeviceIDs": {"-1": ids}, "AllocResp": ""}
                   for uid, ids in self.held.items()]
        entries[:0] = [{"PodUID": uid, "ContainerName": "main", "ResourceName": "rdma/hca", "DeviceIDs": {"-1": ids}, "AllocResp": ""}
                       for uid, ids in self.others.items()]
        with open(self.path + ".new", "w") as file:
            json.dump({"Data": {"PodDeviceEntries": entries, "RegisteredDevices": {"nvidia.com/gpu": ["GPU-%d" % i for i in range(GPUS)]}},
                       "Checksum": 1}, file)
        os.replace(self.path + ".new", self.path)

    def give(self, uid, *gpus):
        self.held[uid] = ["GPU-%d" % i for i in gpus]
        self.write()


@pytest.fixture
def world(make_daemon, cluster, tmp_path, request):
    """A daemon that reads the exporter of the node; {"devices": "exact"} as the parameter of a test: with this configuration."""
    daemon, port = make_daemon(devices="none"), free_port()
    (tmp_path / "tarn.yaml").write_text(json.dumps({"kube": dict({"exporter": port}, **getattr(request, "param", {}))}))
    daemon.options += ["--config", str(tmp_path / "tarn.yaml")]
    daemon.kubelet = Kubelet(str(tmp_path / "kubelet_internal_checkpoint"))
    daemon.exporter = Exporter(str(tmp_path / "exporter"), "127.0.0.1", port, GPUS, ["--kubelet", daemon.kubelet.path])
    try:
        start_daemon(daemon, cluster)
        wait_until("all are read", lambda: [g["reading"] is not None for g in gpus(daemon)] == [True] * GPUS)
        yield daemon
        kube_cluster.check_sound(cluster)
    finally:
        daemon.exporter.stop()


def gpus(daemon):
    return sorted(daemon.api.get("/v1/gpus")["gpus"], key=lambda gpu: gpu["index"])


def mine(name, **keys):
    return pod(name, **{"scheduler": "tarn", "fake": True, **keys})


def running(cluster, space, name):
    def look():
        found = cluster.api.pod(name, space)
        return found if found["status"].get("phase") == "Running" else None
    return wait_until(f"{name} runs", look)


def jobs_on(daemon):
    return [[job["name"] for job in gpu["jobs"]] for gpu in gpus(daemon)]


def chosen(cluster, space, name):
    return sorted(cluster.api.pod(name, space)["metadata"]["annotations"].get("tarn.dev/gpus", "").split(","))


def test_the_lease_follows_the_kubelet(cluster, world, space):
    """It gives other GPUs than tarn counted, even those that tarn had counted for another pod."""
    for name, count in (("first", 1), ("second", 2)):
        cluster.api.create(mine(name, gpus=count), space)
        running(cluster, space, name)
    taken = {name: [int(i) for i in chosen(cluster, space, name)] for name in ("first", "second")}
    free, = set(range(GPUS)) - set(taken["first"]) - set(taken["second"])
    given = {"first": taken["second"][:1], "second": [*taken["first"], free]}
    uids = {name: cluster.api.pod(name, space)["metadata"]["uid"] for name in given}
    for name in given:
        world.kubelet.give(uids[name], *given[name])
    expected = [[name for name in given if i in given[name]] for i in range(GPUS)]
    wait_until("the leases are as given", lambda: jobs_on(world) == expected)
    wait_until("the annotations, too", lambda: all(chosen(cluster, space, name) == sorted(map(str, given[name])) for name in given))
    # what is used of a GPU counts for the pod that has it
    busy = given["first"][0]
    world.exporter.tell(*(gpu(i, use=90 if i == busy else 10, memory=81559) for i in range(GPUS)))
    job = {job["name"]: job["id"] for g in gpus(world) for job in g["jobs"]}

    def peaks():
        usages = {name: world.api.job(job[name])["gpu_usage"] for name in job}
        if all(usage and usage["watched_seconds"] >= 3 and usage["gpu"]["peak"] for usage in usages.values()):
            return {name: round(usage["gpu"]["peak"], 2) for name, usage in usages.items()}
    assert wait_until("they are watched", peaks) == {"first": 0.9, "second": 0.1}
    # a daemon that starts again knows it from its journal and from the annotations
    world.kill()
    world.start()
    wait_until("the leases are as given", lambda: jobs_on(world) == expected)
    cluster.api.create(mine("third", gpus=1), space)
    running(cluster, space, "third")
    assert not set(chosen(cluster, space, "third")) & {str(i) for name in given for i in given[name]}


@pytest.mark.parametrize("world", [{"devices": "exact"}], indirect=True)
def test_exact_devices_stay_as_tarn_chose_them(cluster, world, space):
    cluster.api.create(mine("exact", gpus=1), space)
    found = running(cluster, space, "exact")
    before = chosen(cluster, space, "exact")
    world.kubelet.give(found["metadata"]["uid"], *(i for i in range(GPUS) if str(i) not in before))
    world.exporter.tell(use=50)
    wait_until("it was read again", lambda: [g["reading"]["gpu_use"] for g in gpus(world)] == [0.5] * GPUS)
    assert chosen(cluster, space, "exact") == before and [i for i, on in enumerate(jobs_on(world)) if on] == [int(before[0])]


def fault_of(cluster):
    node, = cluster.api.get("/api/v1/nodes")["items"]
    taints = [taint for taint in node["spec"].get("taints", []) if taint["key"] == "tarn.dev/gpu-fault"]
    return taints, node["metadata"].get("annotations", {}).get("tarn.dev/gpu-fault"), node


def test_a_node_with_a_faulty_gpu_has_a_taint(cluster, world, space):
    others = [taint["key"] for taint in fault_of(cluster)[2]["spec"].get("taints", [])]
    world.exporter.tell(*(gpu(i, ecc_uncorrected=1 if i == 2 else 0) for i in range(GPUS)))
    wait_until("the node is tainted", lambda: fault_of(cluster)[0])
    taints, reason, node = fault_of(cluster)
    assert [(one["key"], one["effect"]) for one in taints] == [("tarn.dev/gpu-fault", "NoSchedule")] and "GPU 2 is faulty" in reason
    assert [taint["key"] for taint in node["spec"]["taints"]] == [*others, "tarn.dev/gpu-fault"]
    assert len(gpus(world)) == GPUS - 1, "a fake node has no sick GPUs"
    cluster.api.create(mine("waits", gpus=1), space)
    cluster.explained(space, "it says why it waits", lambda: "a taint that it does not tolerate" in str(cluster.api.pod("waits", space)["status"].get("conditions")))
    tolerant = mine("tolerant", gpus=1)
    tolerant["spec"]["tolerations"] = [*tolerant["spec"].get("tolerations", []), {"key": "tarn.dev/gpu-fault", "operator": "Exists"}]
    cluster.api.create(tolerant, space)
    running(cluster, space, "tolerant")
    world.kill()
    world.exporter.tell()
    world.start()
    wait_until("the others are read", lambda: [(g["reading"] or {}).get("ecc_uncorrected") for g in gpus(world)] == [0] * (GPUS - 1))
    assert fault_of(cluster)[0], "the fault is kept"
    world.api.post("/v1/gpus/%s-gpu2/clear" % node["metadata"]["name"])
    wait_until("the taint is gone", lambda: fault_of(cluster)[:2] == ([], None), 90)
    running(cluster, space, "waits")


def taint_by_hand(cluster, value):
    """As a daemon with this name would have left it."""
    node = fault_of(cluster)[2]
    taints = [taint for taint in node["spec"].get("taints", []) if taint["key"] != "tarn.dev/gpu-fault"]
    taints += [{"key": "tarn.dev/gpu-fault", "value": value, "effect": "NoSchedule"}] if value else []
    cluster.api.patch("/api/v1/nodes/" + node["metadata"]["name"], {"spec": {"taints": taints}})


def test_a_daemon_removes_only_taints_of_its_own(cluster, world):
    """Others may know faults that it does not. What it could not remove itself, it removes when it starts again."""
    world.exporter.tell(*(gpu(i, ecc_uncorrected=1 if i == 0 else 0) for i in range(GPUS)))
    own = wait_until("the node is tainted", lambda: fault_of(cluster)[0])[0]["value"]
    world.exporter.tell()
    wait_until("it was read again", lambda: all((g["reading"] or {}).get("ecc_uncorrected") == 0 for g in gpus(world)))
    world.api.post("/v1/gpus/%s-gpu0/clear" % fault_of(cluster)[2]["metadata"]["name"])
    wait_until("the taint is gone", lambda: not fault_of(cluster)[0], 90)
    world.terminate()
    taint_by_hand(cluster, own)
    world.start()
    wait_until("it removes what it left", lambda: not fault_of(cluster)[0])
    world.terminate()
    taint_by_hand(cluster, "another")
    try:
        world.start()
        wait_until("it says what stays", lambda: "the taint of another daemon" in world.words())
        assert [taint["value"] for taint in fault_of(cluster)[0]] == ["another"]
    finally:
        taint_by_hand(cluster, None)


def test_an_exporter_with_other_gpus_is_not_believed(cluster, world, space):
    """With fewer of them, its numbers are not those of the node."""
    def fewer(count, use):
        world.exporter.stop()
        world.exporter.gpus = count
        world.exporter.tell(use=use)
        world.exporter.start()
    fewer(GPUS - 1, 70)
    wait_until("nothing is known", lambda: [g["reading"] for g in gpus(world)] == [None] * GPUS)
    time.sleep(12)  # longer than a GPU may be silent
    assert [g["reading"] for g in gpus(world)] == [None] * GPUS and [g["sick"] for g in gpus(world)] == [None] * GPUS
    assert not fault_of(cluster)[0]
    fewer(GPUS, 30)
    wait_until("all are read", lambda: [(g["reading"] or {}).get("gpu_use") for g in gpus(world)] == [0.3] * GPUS)


def test_a_pod_that_is_made_anew_gets_other_gpus(cluster, world, space):
    """The Job replaces it; its lease follows the kubelet again. What others plugins number is not counted."""
    body = kube_cluster.job("again", count=1, gpus=1, scheduler="tarn", fake=True)
    body["spec"]["backoffLimit"] = 3
    cluster.api.create(body, space)

    def only_pod(but=None):
        found = [pod for pod in cluster.api.pods(space) if pod["metadata"]["uid"] != but and pod["status"].get("phase") == "Running"]
        return found[0] if found else None
    first = wait_until("it runs", only_pod)
    world.kubelet.give(first["metadata"]["uid"], 3)
    wait_until("the lease follows", lambda: [i for i, on in enumerate(jobs_on(world)) if on] == [3])
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{first['metadata']['name']}")
    second = wait_until("another pod runs", lambda: only_pod(first["metadata"]["uid"]))
    del world.kubelet.held[first["metadata"]["uid"]]
    world.kubelet.others = {second["metadata"]["uid"]: ["1"]}
    world.kubelet.give(second["metadata"]["uid"], 2)
    wait_until("the lease follows again", lambda: [i for i, on in enumerate(jobs_on(world)) if on] == [2])
