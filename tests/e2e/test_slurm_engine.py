# SPDX-License-Identifier: Apache-2.0
"""The engine slurm on a real Slurm (slurm_cluster.py): three nodes with four GPUs each."""
import os
import subprocess

import pytest

import slurm_cluster
from tarn_test import BUILD, TARN, Refused, read_file, wait_until

MODULE = os.path.join(BUILD, "src", "engine", "tarn-engine-slurm.so")
REASON = slurm_cluster.missing() or (None if os.path.exists(MODULE) else
                                     "the engine slurm is not built: install libslurm-dev, then meson setup --wipe")
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(switches="SwitchName=leaf1 Nodes=n1,n3\nSwitchName=leaf2 Nodes=n2\nSwitchName=spine Switches=leaf[1-2]\n")
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
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 12)
    yield daemon
    for job in daemon.api.jobs() if daemon.is_alive() else []:
        if job["state"] != "ended":
            daemon.api.post(f"/v1/jobs/{job['id']}/cancel")
    cluster.run("scancel", "-u", "root")
    wait_until("Slurm has no job left", lambda: not cluster.run("squeue", "-h", "-u", "root").strip())


def tarn(daemon, *words):
    return subprocess.run([TARN, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120,
                          stdin=subprocess.DEVNULL,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket, **daemon.env()))


def submit(daemon, run, **keys):
    return daemon.api.submit(run=run, sender_env=dict(daemon.env(), PATH="/usr/bin:/bin"), **keys)


def node(daemon, name):
    return next(n for n in daemon.api.get("/v1/nodes")["nodes"] if n["name"] == name)


def slurm_jobs_of(daemon, number):
    """Slurm's number of each job that was ever submitted for an attempt of this job."""
    instance = read_file(os.path.join(daemon.state, "slurm-instance"))
    return [key for key, comment in daemon.cluster.jobs().items() if comment.startswith(f"tarn={instance}/{number}.")]


def test_nodes_and_gpus_are_those_of_the_partition(daemon):
    gpus = daemon.api.get("/v1/gpus")["gpus"]
    assert [(g["node"], g["index"], g["model"]) for g in gpus] == [
        (f"n{n}", i, "h100") for n in (1, 2, 3) for i in range(4)]
    assert all(n["cpus"] == slurm_cluster.CPUS for n in daemon.api.get("/v1/nodes")["nodes"])
    assert [(node(daemon, name)["rack"], node(daemon, name)["block"]) for name in ("n1", "n2", "n3")] == [
        ("leaf1", "spine"), ("leaf2", "spine"), ("leaf1", "spine")], "the switches of the network"
    number = submit(daemon, "echo on $SLURMD_NODENAME", gpus="1", where="zone_b")
    assert daemon.api.wait_end(number)["result"] == "ok"
    assert daemon.api.output(number) == "on n2\n"


def test_a_job_runs_as_one_pinned_slurm_job(daemon, cluster):
    number = submit(daemon, "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES 'a % b'; sleep 2; exit 7", gpus="2", name="train")
    job = daemon.api.wait_state(number, "running")
    held = [d["uuid"] for d in job["devices"]]
    job = daemon.api.wait_end(number)
    assert job["exit_code"] == 7 and job["result"] == "failed" and job["attempt"] == 1
    name, visible, *rest = daemon.api.output(number).split()
    assert held == [f"{name}-gpu{i}" for i in visible.split(",")]
    assert rest == ["a", "%", "b"]
    (known,) = slurm_jobs_of(daemon, number)
    shown = cluster.run("scontrol", "show", "job", known)
    assert "JobName=train" in shown and f"ReqNodeList={name}" in shown and "gpu:h100:2" in shown
    assert f"/{number}.1 queue=default ranks=0@{name}:2" in shown
    daemon.verify()


def test_the_devices_are_those_that_slurm_chose(daemon, cluster):
    """Another job has the first GPUs of a node: tarn sees it, and follows Slurm's choice."""
    cluster.run("sbatch", "-w", "n1", "--gres=gpu:h100:2", "-c", "6", "-o", "/dev/null", "--wrap", "sleep 1000")
    wait_until("tarn sees it", lambda: [g["uuid"] for g in daemon.api.get("/v1/gpus")["gpus"] if g["sick"]] ==
               ["n1-gpu0", "n1-gpu1"])
    assert [g["occupied"] for g in daemon.api.get("/v1/gpus")["gpus"][:4]] == [True, True, False, False]
    listed = tarn(daemon, "gpus").stdout
    assert "in use by Slurm job" in listed and "drained" not in listed
    assert node(daemon, "n1")["cpus"] == slurm_cluster.CPUS - 6
    assert "2 gpus are in use by Slurm job" in tarn(daemon, "nodes").stdout
    whole = submit(daemon, "true", gpus="4", where="node=n1")
    why = daemon.api.why(whole)["text"]
    assert "used by others; 2 gpus of n1 are in use by Slurm job" in why and "n2" not in why, why
    daemon.api.post(f"/v1/jobs/{whole}/cancel")
    number = submit(daemon, "echo $CUDA_VISIBLE_DEVICES; sleep 1000", gpus="2", where="node=n1")
    wait_until("tarn knows them", lambda: [d["uuid"] for d in daemon.api.job(number)["devices"]] ==
               ["n1-gpu2", "n1-gpu3"])
    wait_until("it says them", lambda: daemon.api.output(number) == "2,3\n")
    cluster.run("scancel", "-u", "root")
    daemon.api.wait_end(number)
    wait_until("they are free", lambda: not any(g["sick"] for g in daemon.api.get("/v1/gpus")["gpus"]))


def test_run_shows_the_output_and_the_exit_code(daemon):
    done = tarn(daemon, "run", "--gpus", "1", "--", "sh", "-c", "echo here; exit 3")
    assert (done.returncode, "here\n" in done.stdout) == (3, True), done.stdout


def test_cancel_gives_the_job_its_grace(daemon):
    number = submit(daemon, "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.1; done", gpus="1", grace="60s")
    wait_until("it is ready", lambda: daemon.api.job(number)["state"] == "running" and
               "ready" in daemon.api.output(number))
    daemon.api.post(f"/v1/jobs/{number}/cancel")
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    assert "saved" in daemon.api.output(number)


def test_a_job_that_ignores_the_signal_is_killed(daemon):
    number = submit(daemon, "trap '' TERM; echo ready; while :; do sleep 0.1; done", gpus="1", grace="1s")
    wait_until("it is ready", lambda: daemon.api.job(number)["state"] == "running" and
               "ready" in daemon.api.output(number))
    daemon.api.post(f"/v1/jobs/{number}/cancel")
    assert daemon.api.wait_end(number)["result"] == "cancelled"


def test_scancel_ends_the_job_in_tarn(daemon, cluster):
    number = submit(daemon, "sleep 1000", gpus="1")
    daemon.api.wait_state(number, "running")
    cluster.run("scancel", *slurm_jobs_of(daemon, number))
    job = daemon.api.wait_end(number)
    assert job["result"] == "cancelled" and job["attempt"] == 1
    assert (job["cancelled_by"], job["cancel_reason"]) == ("slurm", "cancelled in Slurm")


def test_a_job_that_a_signal_ends_has_failed(daemon):
    """Slurm calls it a failed launch if the script itself is ended so."""
    for name in ("KILL", "SEGV", "TERM"):
        job = daemon.api.wait_end(submit(daemon, f"kill -{name} $$", gpus="1", cpus=0, retry=0))
        assert job["result"] == "failed" and job["attempt"] == 1 and "launch" not in (job["reason"] or ""), job


def test_a_gang_over_two_nodes_is_one_slurm_job(daemon, cluster):
    number = submit(daemon, "echo $RANK of $WORLD_SIZE on $SLURMD_NODENAME at $MASTER_ADDR has $CUDA_VISIBLE_DEVICES",
                    gpus="3", nodes=2)
    assert daemon.api.wait_end(number)["result"] == "ok"
    words = [daemon.api.output(number, rank=rank).split() for rank in (0, 1)]
    assert [w[:3] for w in words] == [["0", "of", "2"], ["1", "of", "2"]]
    assert words[0][4] != words[1][4] and words[0][6] == words[1][6] == "127.0.0.%d" % (1 + int(words[0][4][1:]))  # NodeAddr
    assert [len(w[8].split(",")) for w in words] == [3, 3]
    assert len(slurm_jobs_of(daemon, number)) == 1


def test_ranks_of_one_node_run_at_the_same_time(daemon):
    number = submit(daemon, "touch m.$RANK; until [ -e m.0 ] && [ -e m.1 ]; do sleep 0.1; done; echo $CUDA_VISIBLE_DEVICES",
                    gpus="2", ranks=2, cwd=daemon.root)
    assert daemon.api.wait_end(number)["result"] == "ok"
    assert sorted(daemon.api.output(number, rank=rank) for rank in (0, 1)) == ["0,1\n", "2,3\n"]


def test_the_first_rank_that_fails_ends_the_gang(daemon):
    number = submit(daemon, "[ $RANK = 1 ] && exit 5; sleep 1000", gpus="4", nodes=2)
    assert daemon.api.wait_end(number)["exit_code"] == 5


def test_a_node_that_slurm_takes_down_loses_its_jobs(daemon, cluster):
    number = submit(daemon, "sleep 1000", gpus="4", retry=1)
    (lost,) = {d["node"] for d in daemon.api.wait_state(number, "running")["devices"]}
    cluster.run("scontrol", "update", "nodename=" + lost, "state=down", "reason=broken fan")
    try:
        wait_until("the node is down", lambda: node(daemon, lost)["state"] == "down")
        assert node(daemon, lost)["reason"] == "Slurm: broken fan"
        wait_until("it runs elsewhere", lambda: daemon.api.job(number)["attempt"] == 2 and
                   daemon.api.job(number)["state"] == "running")
        assert lost not in {d["node"] for d in daemon.api.job(number)["devices"]}
    finally:
        cluster.run("scontrol", "update", "nodename=" + lost, "state=resume")
    wait_until("the node is up", lambda: node(daemon, lost)["state"] == "up")


def test_a_drain_in_slurm_is_one_in_tarn_while_it_lasts(daemon, cluster):
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=new disk")
    try:
        wait_until("it is drained", lambda: node(daemon, "n2")["state"] == "drained")
        assert "new disk" in node(daemon, "n2")["reason"]
    finally:
        cluster.run("scontrol", "update", "nodename=n2", "state=resume")
    wait_until("it is up", lambda: node(daemon, "n2")["state"] == "up")


def test_jobs_survive_the_daemon_and_are_never_submitted_twice(daemon, cluster):
    numbers = [submit(daemon, "sleep 4; exit 9", gpus="2") for _ in range(6)]
    daemon.kill()  # somewhere between the grant and Slurm's answer
    daemon.start()
    for number in numbers[:3]:
        daemon.api.wait_state(number, "running", "ended")
    daemon.kill()
    daemon.start()
    for number in numbers:
        job = daemon.api.wait_end(number)
        assert (job["exit_code"], job["attempt"]) == (9, 1)
        assert len(slurm_jobs_of(daemon, number)) == 1
    daemon.verify()


def test_what_ended_without_the_daemon_is_reported(daemon):
    number = submit(daemon, "sleep 1; exit 4", gpus="1")
    daemon.api.wait_state(number, "running")
    daemon.kill()
    subprocess.run(["sleep", "3"], check=True)
    daemon.start()
    assert daemon.api.wait_end(number)["exit_code"] == 4


def test_tarn_accepts_jobs_while_slurmctld_is_down(daemon, cluster):
    cluster.stop_controller()
    try:
        number = submit(daemon, "exit 6", gpus="1")
        daemon.check_sane()
    finally:
        cluster.start_controller()
    assert daemon.api.wait_end(number)["exit_code"] == 6
    assert len(slurm_jobs_of(daemon, number)) == 1


def test_a_reserved_node_gets_no_job_until_the_reservation_ends(daemon, cluster):
    cluster.run("scontrol", "create", "reservation", "reservationname=service", "starttime=now", "duration=60",
                "nodes=n3", "users=daemon")
    try:
        wait_until("it is closed", lambda: node(daemon, "n3")["state"] == "drained")
        assert node(daemon, "n3")["reason"] == "engine: Slurm: reserved"
    finally:
        cluster.run("scontrol", "delete", "reservationname=service")
    wait_until("it is up", lambda: node(daemon, "n3")["state"] == "up")


def test_the_limits_of_the_partition_are_told(daemon, cluster):
    daemon.api.put("/v1/config", {"slurm": {"partition": "short"}})
    wait_until("only its node is used", lambda: [n["name"] for n in daemon.api.get("/v1/nodes")["nodes"]
                                                 if n["state"] == "up"] == ["n1"])
    number = submit(daemon, "true", gpus="1", max_duration="1h")
    job = daemon.api.wait_end(number)
    assert (job["result"], job["attempt"]) == ("failed", 1)
    assert "time limit" in job["reason"]
    cluster.run("scontrol", "update", "partitionname=short", "state=down")
    try:
        wait_until("it is closed", lambda: node(daemon, "n1")["state"] == "drained")
        assert "the partition is not up" in node(daemon, "n1")["reason"]
    finally:
        cluster.run("scontrol", "update", "partitionname=short", "state=up")
    wait_until("it is open", lambda: node(daemon, "n1")["state"] == "up")


def test_parts_of_gpus_are_refused(daemon):
    with pytest.raises(Refused, match="whole GPUs only"):
        submit(daemon, "true", gpus="0.5")
    with pytest.raises(Refused, match="gangs of a fixed size only"):
        submit(daemon, "true", gpus="1", ranks="1..3")


def test_only_nodes_of_the_configured_partition_are_used(daemon):
    daemon.api.put("/v1/config", {"slurm": {"partition": "short"}})
    wait_until("only its node is used", lambda: [n["name"] for n in daemon.api.get("/v1/nodes")["nodes"]
                                                 if n["state"] == "up"] == ["n1"])
    number = submit(daemon, "sleep 1000", gpus="1", max_duration="2m")
    daemon.api.wait_state(number, "running")
    shown = daemon.cluster.run("scontrol", "show", "job", *slurm_jobs_of(daemon, number))
    assert "Partition=short" in shown and "TimeLimit=00:04:00" in shown


def test_a_wrong_partition_fails_no_job(daemon):
    before = submit(daemon, "sleep 1000", gpus="1", cpus=0)
    daemon.api.wait_state(before, "running")
    daemon.api.put("/v1/config", {"slurm": {"partition": "gpuu"}})
    numbers = [submit(daemon, "true", gpus="1", cpus=0) for _ in range(4)]
    wait_until("the nodes are closed", lambda: all(node["state"] == "drained" and "no partition 'gpuu'" in node["reason"]
                                                   for node in daemon.api.get("/v1/nodes")["nodes"]))
    assert {daemon.api.job(number)["state"] for number in numbers} <= {"granted", "queued"}
    assert "no partition 'gpuu'" in str(daemon.api.why(numbers[0]))
    assert daemon.api.job(before)["state"] == "running"
    daemon.api.put("/v1/config", {})
    assert {daemon.api.wait_end(number)["result"] for number in numbers} == {"ok"}
    daemon.api.post(f"/v1/jobs/{before}/cancel")
    assert daemon.api.wait_end(before)["result"] == "cancelled"
