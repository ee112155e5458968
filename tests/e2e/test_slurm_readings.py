# SPDX-License-Identifier: Apache-2.0
"""The engine slurm reads the exporters on its nodes: readings, faults, and what Slurm is told of them."""
import os
import time

import pytest

import slurm_cluster
from exporters import Exporter, free_port
from tarn_test import read_file, wait_until
from test_gpu import gpu
from test_slurm_engine import REASON, node, submit

pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
GPUS = slurm_cluster.GPUS


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(nodes=2, parts={"shard": 4})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def world(request, make_daemon, cluster, tmp_path):
    """In the mode job, unless a test asks for the other one."""
    mode = getattr(request, "param", "job")
    port = free_port()
    daemon = make_daemon(devices="none")
    daemon.exporters = {}
    try:
        for name in cluster.nodes:
            daemon.exporters[name] = Exporter(str(tmp_path / name), cluster.address(name), port, GPUS)
        slurm_cluster.start_daemon(daemon, cluster, mode, exporter=port, **({"max": 2} if mode == "allocation" else {}))
        wait_until("all are read", lambda: [g["reading"] is not None for g in gpus(daemon)] == [True] * 2 * GPUS)
        yield daemon
        slurm_cluster.end_jobs(daemon, cluster)
    finally:
        for exporter in daemon.exporters.values():
            exporter.stop()
        for name in cluster.nodes:
            cluster.run("scontrol", "update", f"nodename={name}", "state=resume")


def gpus(daemon):
    return daemon.api.get("/v1/gpus")["gpus"]


def find(daemon, name, index):
    return next(g for g in gpus(daemon) if g["node"] == name and g["index"] == index)


def slurm_node(cluster, name):
    return cluster.run("scontrol", "show", "node", name)


def instance(daemon):
    """By which tarn marks what it does in Slurm."""
    return read_file(os.path.join(daemon.state, "slurm-instance")).strip()


@pytest.mark.parametrize("world", ["job", "allocation"], indirect=True)
def test_readings_come_and_jobs_have_their_usage(world):
    for name, use in [("n1", 80), ("n2", 20)]:
        world.exporters[name].tell(use=use, power=500000)
    wait_until("they are told", lambda: {g["node"]: g["reading"]["gpu_use"] for g in gpus(world)} == {"n1": 0.8, "n2": 0.2})
    assert find(world, "n2", 3)["reading"]["power"] == 500
    assert find(world, "n1", 0)["reading"]["memory_total"] == 81559 << 20
    job = submit(world, "sleep 600", gpus="2", where=["node=n1"])
    world.api.wait_state(job, "running")
    usage = wait_until("it is watched", lambda: (lambda u: u if u and u["watched_seconds"] >= 3 else None)(world.api.job(job)["gpu_usage"]))
    assert abs(usage["gpu"]["mean"] - 0.8) < 1e-6, usage
    world.api.post(f"/v1/jobs/{job}/cancel")
    world.api.wait_end(job)


def test_a_fault_drains_the_node_in_slurm_until_it_is_over(world, cluster):
    job = submit(world, "sleep 600", gpus="1", where=["node=n1"])
    world.api.wait_state(job, "running")
    held = world.api.job(job)["devices"][0]["index"]
    other = (held + 1) % GPUS
    world.exporters["n1"].tell("gpu %d xid 79" % other)
    sick = wait_until("it is faulty", lambda: find(world, "n1", other)["sick"])
    assert sick == "XID 79: fell off the bus; reboot needed", sick
    wait_until("Slurm drains it", lambda: "DRAIN" in slurm_node(cluster, "n1"))
    mark = f"tarn={instance(world)}: GPU {other} is faulty"
    assert f"{mark}: XID 79" in slurm_node(cluster, "n1")
    wait_until("the node says so", lambda: node(world, "n1")["state"] == "drained")
    assert node(world, "n1")["reason"] == f"engine: {mark}: {sick}"
    assert world.api.job(job)["state"] == "running", "its own GPU is well"
    assert node(world, "n2")["state"] == "up" and "DRAIN" not in slurm_node(cluster, "n2")
    # Neither a restart nor an exporter that starts again heals it.
    world.kill()
    world.exporters["n1"].stop()
    world.exporters["n1"].tell()
    world.exporters["n1"].start()
    world.start()
    wait_until("all are read", lambda: all(g["reading"] for g in gpus(world)))
    assert find(world, "n1", other)["sick"] == sick and "DRAIN" in slurm_node(cluster, "n1")
    world.api.post(f"/v1/gpus/n1/{other}/clear")
    wait_until("Slurm has it back", lambda: "DRAIN" not in slurm_node(cluster, "n1"))
    wait_until("it is up", lambda: node(world, "n1")["state"] == "up" and not find(world, "n1", other)["sick"])
    assert world.api.job(job)["state"] == "running"
    world.api.post(f"/v1/jobs/{job}/cancel")
    world.api.wait_end(job)


def test_the_drain_of_an_administrator_stays(world, cluster):
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=new fans")
    world.exporters["n2"].tell("gpu 0 error GPU_IS_LOST")
    wait_until("it is lost", lambda: find(world, "n2", 0)["sick"] == "fell off the bus; reboot needed")
    world.exporters["n2"].tell()
    wait_until("it is back", lambda: find(world, "n2", 0)["sick"] != "fell off the bus; reboot needed")
    # The requests are in order: when this one has arrived, the earlier ones have.
    world.exporters["n1"].tell("gpu 0 error GPU_IS_LOST")
    wait_until("the other one is drained", lambda: f"tarn={instance(world)}: GPU 0 is faulty: fell off" in slurm_node(cluster, "n1"))
    assert "Reason=new fans" in slurm_node(cluster, "n2") and "DRAIN" in slurm_node(cluster, "n2")
    world.exporters["n1"].tell()
    wait_until("it is over by itself", lambda: "DRAIN" not in slurm_node(cluster, "n1"))


def test_the_drain_of_another_daemon_stays(world, cluster):
    """On one cluster, two daemons see the same fault, but perhaps not at the same time."""
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=tarn=0123456789abcdef: GPU 0 is faulty: test")
    world.exporters["n2"].tell("gpu 0 error GPU_IS_LOST")
    wait_until("it is lost", lambda: find(world, "n2", 0)["sick"] == "fell off the bus; reboot needed")
    world.exporters["n2"].tell()
    wait_until("it is back", lambda: find(world, "n2", 0)["sick"] != "fell off the bus; reboot needed")
    world.exporters["n1"].tell("gpu 0 error GPU_IS_LOST")
    wait_until("the later drain has arrived", lambda: f"tarn={instance(world)}: " in slurm_node(cluster, "n1"))
    assert "Reason=tarn=0123456789abcdef: GPU 0" in slurm_node(cluster, "n2") and "DRAIN" in slurm_node(cluster, "n2")
    wait_until("tarn says whose", lambda: node(world, "n2")["reason"] == "engine: tarn=0123456789abcdef: GPU 0 is faulty: test")
    world.exporters["n1"].tell()
    wait_until("it is over by itself", lambda: "DRAIN" not in slurm_node(cluster, "n1"))


def test_a_gpu_of_another_slurm_job_stays_in_use(world, cluster):
    number = cluster.run("sbatch", "--parsable", "-w", "n2", "--gres=gpu:h100:1", "-o", "/dev/null", "--wrap", "sleep 600").strip()
    taken = wait_until("tarn sees it", lambda: [g for g in gpus(world) if g["occupied"]])
    assert len(taken) == 1 and taken[0]["sick"] == f"in use by Slurm job {number}"
    end = time.monotonic() + 8
    while time.monotonic() < end:
        assert find(world, "n2", taken[0]["index"])["sick"] == f"in use by Slurm job {number}"
        time.sleep(0.2)
    assert "DRAIN" not in slurm_node(cluster, "n2"), "that is no fault"
    cluster.run("scancel", number)
    wait_until("it is free", lambda: not find(world, "n2", taken[0]["index"])["sick"])


def test_without_an_exporter_nothing_is_known_and_jobs_run(world, cluster):
    world.exporters["n2"].stop()
    wait_until("n2 is not known", lambda: [g["reading"] is None for g in gpus(world)] == [False] * GPUS + [True] * GPUS)
    assert not any(g["sick"] for g in gpus(world)) and "DRAIN" not in slurm_node(cluster, "n2")
    job = submit(world, "true", gpus="1", where=["node=n2"])
    assert world.api.wait_end(job)["result"] == "ok"
    world.exporters["n2"].start()
    wait_until("all are read", lambda: all(g["reading"] for g in gpus(world)))
    world.api.put("/v1/config", {"slurm": {"mode": "job", "exporter": 0}})
    wait_until("none is read", lambda: not any(g["reading"] for g in gpus(world)))
    end = time.monotonic() + 12  # longer than a device may be silent
    while time.monotonic() < end:
        assert not any(g["sick"] for g in gpus(world)), "that is no fault"
        time.sleep(0.5)


def test_a_part_by_memory_is_as_much_of_the_gpu(world, cluster):
    wait_until("the memory is known", lambda: {g["memory"] for g in gpus(world)} == {81559})
    job = submit(world, "sleep 600", gpus="mem=30G")
    world.api.wait_state(job, "running")
    shown = cluster.run("scontrol", "show", "jobs")
    assert "TresPerNode=gres:shard:2" in shown, shown
    assert [(d["share"], d["memory"]) for d in world.api.job(job)["devices"]] == [(0.5, 30720)]
    world.kill()
    world.start()
    assert {g["memory"] for g in gpus(world)} == {81559}
    world.verify()
