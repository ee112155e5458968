# SPDX-License-Identifier: Apache-2.0
"""The engine slurm in the mode `allocation` on a real Slurm (slurm_cluster.py): tarn holds nodes and runs the jobs itself."""
import os
import signal
import subprocess
import time

import pytest

import slurm_cluster
from tarn_test import BUILD, TARN, Refused, read_file, wait_until

MODULE = os.path.join(BUILD, "src", "engine", "tarn-engine-slurm.so")
REASON = slurm_cluster.missing() or (None if os.path.exists(MODULE) else
                                     "the engine slurm is not built: install libslurm-dev, then meson setup --wipe")
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def daemon(make_daemon, cluster):
    daemon = make_daemon(devices="none", options=["--engine", "slurm"], environment={"SLURM_CONF": cluster.conf})
    daemon.cluster = cluster
    environment = daemon.own_environment
    daemon.own_environment = lambda: dict(environment(), SLURM_CONF=cluster.conf)
    daemon.start()
    configure(daemon)
    daemon.kill()
    daemon.start()
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 12)
    wait_until("no node is held", lambda: nodes_up(daemon) == [])
    yield daemon
    slurm_cluster.end_jobs(daemon, cluster)


def configure(daemon, **keys):
    daemon.api.put("/v1/config", {"slurm": {"mode": "allocation", "max": 3, "limit": "1h", **keys}})


def tarn(daemon, *words):
    return subprocess.run([TARN, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                          stdin=subprocess.DEVNULL,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket, **daemon.env()))


def submit(daemon, run, **keys):
    return daemon.api.submit(run=run, sender_env=dict(daemon.env(), PATH="/usr/bin:/bin"), **keys)


def node(daemon, name):
    return next(n for n in daemon.api.get("/v1/nodes")["nodes"] if n["name"] == name)


def nodes_up(daemon):
    return [n["name"] for n in daemon.api.get("/v1/nodes")["nodes"] if n["state"] == "up"]


def allocations(daemon, states="PD,R,CG"):
    """Slurm's number of each allocation of this daemon, with its node."""
    instance = read_file(os.path.join(daemon.state, "slurm-instance"))
    listed = daemon.cluster.run("squeue", "-h", "-t", states, "-o", "%i|%N|%k").splitlines()
    rows = [line.split("|", 2) for line in listed if line.count("|") >= 2]
    return {row[0]: row[1] for row in rows if row[2].startswith(f"tarn={instance} allocation=")}


def test_a_node_is_requested_when_a_job_needs_it(daemon, cluster):
    assert nodes_up(daemon) == [] and not allocations(daemon)
    assert "tarn requests one" in node(daemon, "n1")["reason"]
    number = submit(daemon, "echo $TARN_HOSTS $CUDA_VISIBLE_DEVICES; exit 7", gpus="2")
    job = daemon.api.wait_end(number)
    assert (job["exit_code"], job["attempt"]) == (7, 1)
    (name,) = allocations(daemon).values()
    assert daemon.api.output(number).split() == [name, "0,1"]
    assert nodes_up(daemon) == [name]
    daemon.verify()


def test_parts_of_gpus_share_one(daemon):
    numbers = [submit(daemon, "echo $TARN_HOSTS $CUDA_VISIBLE_DEVICES $TARN_GPU_MILLI; sleep 1000", gpus="0.5")
               for _ in range(2)]
    for number in numbers:
        daemon.api.wait_state(number, "running")
    held = [daemon.api.job(number)["devices"] for number in numbers]
    assert held[0][0]["uuid"] == held[1][0]["uuid"]
    name, index = held[0][0]["uuid"].split("-gpu")
    for number in numbers:
        wait_until("it says so", lambda: daemon.api.output(number).split() == [name, index, "500"])
    assert len(allocations(daemon)) == 1
    daemon.verify()


def test_a_gang_runs_on_two_nodes(daemon):
    number = submit(daemon, "echo $RANK of $WORLD_SIZE on $SLURMD_NODENAME at $MASTER_ADDR has $CUDA_VISIBLE_DEVICES",
                    gpus="3", nodes=2)
    assert daemon.api.wait_end(number)["result"] == "ok"
    words = [daemon.api.output(number, rank=rank).split() for rank in (0, 1)]
    assert [w[:3] for w in words] == [["0", "of", "2"], ["1", "of", "2"]]
    assert words[0][4] != words[1][4] and words[0][6] == words[1][6] == "127.0.0.%d" % (1 + int(words[0][4][1:]))  # NodeAddr
    assert [len(w[8].split(",")) for w in words] == [3, 3]
    assert len(allocations(daemon)) == 2


def test_cancel_gives_the_job_its_grace(daemon):
    number = submit(daemon, "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done", gpus="1", grace="60s")
    wait_until("it is ready", lambda: daemon.api.job(number)["state"] == "running" and
               "ready" in daemon.api.output(number))
    daemon.api.post(f"/v1/jobs/{number}/cancel")
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    assert "saved" in daemon.api.output(number)


def test_an_allocation_cancelled_under_work_loses_its_jobs(daemon, cluster):
    again, once = [submit(daemon, "sleep 1000", gpus="1", retry=retry) for retry in (1, 0)]
    for number in (again, once):
        daemon.api.wait_state(number, "running")
    cluster.run("scancel", *allocations(daemon))
    job = daemon.api.wait_end(once)
    assert (job["result"], job["reason"]) == ("lost", "the Slurm allocation of its node was cancelled")
    wait_until("it runs again", lambda: daemon.api.job(again)["attempt"] == 2 and
               daemon.api.job(again)["state"] == "running")
    assert len(allocations(daemon, "R")) == 1
    daemon.verify()


def test_an_idle_node_is_given_back(daemon):
    configure(daemon, idle="2s")
    number = submit(daemon, "true", gpus="1")
    daemon.api.wait_end(number)
    wait_until("it is given back", lambda: not allocations(daemon) and nodes_up(daemon) == [])
    configure(daemon, idle="2s", min=1)
    wait_until("one is kept", lambda: len(nodes_up(daemon)) == 1)
    (kept,) = allocations(daemon, "R")
    time.sleep(5)
    assert list(allocations(daemon)) == [kept]


def test_no_more_nodes_than_allowed(daemon):
    configure(daemon, max=1)
    numbers = [submit(daemon, "sleep 3", gpus="4") for _ in range(2)]
    daemon.api.wait_state(numbers[0], "running")
    assert daemon.api.job(numbers[1])["state"] == "queued"
    wait_until("it has run", lambda: daemon.api.job(numbers[1])["state"] == "ended")
    assert len(allocations(daemon)) == 1


def test_jobs_survive_the_daemon(daemon):
    numbers = [submit(daemon, "echo $$ >> ran; sleep 6; exit 9", gpus="1", name=f"j{i}") for i in range(4)]
    daemon.kill()
    daemon.start()
    for number in numbers:
        daemon.api.wait_state(number, "running", "ended")
    held = allocations(daemon)
    daemon.kill()
    daemon.start()
    for number in numbers:
        job = daemon.api.wait_end(number)
        assert (job["exit_code"], job["attempt"]) == (9, 1)
    assert allocations(daemon) == held
    daemon.verify()


def test_what_ended_without_the_daemon_is_reported(daemon):
    number = submit(daemon, "sleep 2; exit 4", gpus="1")
    daemon.api.wait_state(number, "running")
    daemon.kill()
    time.sleep(4)
    daemon.start()
    assert daemon.api.wait_end(number)["exit_code"] == 4


def test_a_killed_relay_finds_its_jobs(daemon):
    number = submit(daemon, "sleep 5; exit 3", gpus="1")
    daemon.api.wait_state(number, "running")
    relays = subprocess.run(["pgrep", "-f", f"{daemon.state}/slurm/tarn-relay serve"], text=True, stdout=subprocess.PIPE,
                            check=True).stdout.split()
    for pid in relays:
        if "tarn-relay" in os.readlink(f"/proc/{pid}/exe"):
            os.kill(int(pid), signal.SIGKILL)
    job = daemon.api.wait_end(number)
    assert (job["exit_code"], job["attempt"]) == (3, 1)


STAGES = {"submitted": 0, "granted": 0.3, "requested": 0.8, "allocated": 2.5, "started": 4}


@pytest.mark.parametrize("stage", STAGES)
def test_nothing_is_lost_or_run_twice_if_the_daemon_is_killed(daemon, tmp_path, stage):
    ran = tmp_path / "ran"
    numbers = [submit(daemon, f"echo {i} >> {ran}; sleep 3; exit 9", gpus="1") for i in range(6)]
    time.sleep(STAGES[stage])  # where the stage usually is; nothing depends on it
    daemon.kill()
    daemon.start()
    for number in numbers:
        job = daemon.api.wait_end(number)
        assert (job["exit_code"], job["attempt"]) == (9, 1)
    assert sorted(ran.read_text().split()) == [str(i) for i in range(6)]
    assert len(allocations(daemon)) <= 3
    daemon.verify()


def test_slurmctld_may_stop_meanwhile(daemon, cluster):
    first = submit(daemon, "sleep 1000", gpus="1")
    daemon.api.wait_state(first, "running")
    cluster.stop_controller()
    try:
        second = submit(daemon, "exit 6", gpus="1")
        assert daemon.api.wait_end(second)["exit_code"] == 6  # the node is held: it needs no Slurm
        daemon.kill()
        daemon.start()
        daemon.check_sane()
    finally:
        cluster.start_controller()
    third = submit(daemon, "exit 5", gpus="1")
    assert daemon.api.wait_end(third)["exit_code"] == 5
    assert daemon.api.job(first)["state"] == "running" and daemon.api.job(first)["attempt"] == 1


def test_the_least_number_of_nodes_may_be_of_several_kinds(daemon):
    configure(daemon, min=3)  # two have the feature zone_a, one has zone_b
    wait_until("all are held", lambda: nodes_up(daemon) == ["n1", "n2", "n3"])
    assert len(allocations(daemon)) == 3


def test_a_drained_node_is_given_back_and_not_requested(daemon):
    configure(daemon, idle="1s")
    first = submit(daemon, "sleep 1000", gpus="1")
    daemon.api.wait_state(first, "running")
    (name,) = nodes_up(daemon)
    daemon.api.post(f"/v1/nodes/{name}/drain", {"reason": "new disk"})
    others = [submit(daemon, "sleep 1000", gpus="4") for _ in range(3)]
    wait_until("two of them run", lambda: [daemon.api.job(number)["state"] for number in others] == ["running"] * 2 + ["queued"])
    daemon.api.post(f"/v1/jobs/{first}/cancel")
    wait_until("it is given back", lambda: name not in allocations(daemon).values() and len(allocations(daemon)) == 2)
    assert node(daemon, name)["state"] == "drained" and daemon.api.job(others[2])["state"] == "queued"
    assert sorted(nodes_up(daemon) + [name]) == ["n1", "n2", "n3"]


def test_shares_by_mps_are_refused(daemon):
    with pytest.raises(Refused, match="MPS"):
        submit(daemon, "true", gpus="mps=50%")


def test_an_allocation_is_renewed(daemon):
    configure(daemon, limit="2m", renew="100s", min=1)  # at most a quarter of the limit: after 90 s
    wait_until("it is there", lambda: len(nodes_up(daemon)) == 1)
    (first,) = allocations(daemon)
    number = submit(daemon, "sleep 1000", gpus="1", retry=1)
    daemon.api.wait_state(number, "running")
    wait_until("it has a successor", lambda: len(allocations(daemon)) == 2 or first not in allocations(daemon), 180)
    wait_until("it runs there", lambda: daemon.api.job(number)["attempt"] == 2 and
               daemon.api.job(number)["state"] == "running", 180)
    assert first not in allocations(daemon, "R")


def test_a_job_outlives_the_change_of_the_mode(make_daemon, cluster):
    """The state has the nodes up, as the mode job left them; in the mode allocation none is held yet."""
    daemon = make_daemon(devices="none")
    slurm_cluster.start_daemon(daemon, cluster, "job")
    daemon.api.put("/v1/config", {"slurm": {"mode": "allocation", "max": 1}})
    daemon.terminate()
    cluster.stop_controller()
    try:
        daemon.start()
        number = submit(daemon, "true", gpus="1", retry=0)
        wait_until("why says it", lambda: "Slurm:" in (daemon.api.why(number)["engine"] or ""))
        assert daemon.api.job(number)["state"] == "queued"
    finally:
        cluster.start_controller()
    job = daemon.api.wait_end(number)
    assert (job["result"], job["attempt"]) == ("ok", 1), job
    daemon.verify()
    slurm_cluster.end_jobs(daemon, cluster)
