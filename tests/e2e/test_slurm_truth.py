# SPDX-License-Identifier: Apache-2.0
"""The engine slurm after faults and after changes by an administrator of Slurm: nothing is lost, nothing runs twice."""
import os
import random
import signal
import time

from tarn_test import wait_until
from test_slurm_engine import cluster, daemon, node, pytestmark, slurm_jobs_of, submit  # noqa: F401

ROUNDS = int(os.environ.get("TARN_SLURM_ROUNDS", "12"))
KILLER = "TARN_TEST_KILL_AT"


def slurm_says(cluster, number, *words):
    return all(word in cluster.run("scontrol", "show", "job", number) for word in words)


def the_slurm_job(daemon, number):
    (known,) = wait_until("Slurm has it", lambda: slurm_jobs_of(daemon, number))
    return known


def test_a_gang_with_uneven_nodes(daemon, cluster):
    """Three members with two GPUs each on two nodes with four each, of which one has only two left."""
    cluster.run("scontrol", "update", "nodename=n3", "state=drain", "reason=test")
    cluster.run("sbatch", "-w", "n1", "--gres=gpu:h100:2", "-o", "/dev/null", "--wrap", "sleep 1000")
    try:
        wait_until("tarn sees both", lambda: node(daemon, "n3")["state"] == "drained" and
                   sum(g["occupied"] for g in daemon.api.get("/v1/gpus")["gpus"]) == 2)
        number = submit(daemon, "echo $RANK on $SLURMD_NODENAME has $CUDA_VISIBLE_DEVICES; sleep 3", gpus="2", ranks=3, nodes=2)
        job = daemon.api.wait_end(number)

        assert (job["result"], job["attempt"]) == ("ok", 1), job
        words = [daemon.api.output(number, rank=rank).split() for rank in range(3)]
        assert sorted(w[2] for w in words) == ["n1", "n2", "n2"]
        assert sorted(w[4] for w in words if w[2] == "n2") == ["0,1", "2,3"]
        assert [w[4] for w in words if w[2] == "n1"] == ["2,3"]
        assert len(slurm_jobs_of(daemon, number)) == 1
    finally:
        cluster.run("scontrol", "update", "nodename=n3", "state=resume")
        cluster.run("scancel", "-u", "root")
    daemon.verify()


def test_the_daemon_starts_and_accepts_jobs_without_slurmctld(daemon, cluster):
    running = submit(daemon, "sleep 3; exit 5", gpus="1")
    daemon.api.wait_state(running, "running")
    daemon.kill()
    cluster.stop_controller()
    try:
        daemon.start()
        number = submit(daemon, "exit 6", gpus="1")
        wait_until("why says it", lambda: "Slurm: jobs:" in (daemon.api.why(number)["engine"] or ""))
        assert any("Slurm:" in line for line in daemon.api.why(number)["lines"])
        assert daemon.api.job(running)["state"] == "running"
    finally:
        cluster.start_controller()
    assert daemon.api.wait_end(number)["exit_code"] == 6
    job = daemon.api.wait_end(running)
    assert (job["exit_code"], job["attempt"]) == (5, 1)
    assert len(slurm_jobs_of(daemon, number)) == 1
    daemon.verify()


def test_nothing_starts_before_the_nodes_are_reported(daemon, cluster):
    """They are as they were in the state, without an address: a gang cannot be told where to meet."""
    wait_until("all are up", lambda: all(n["state"] == "up" for n in daemon.api.get("/v1/nodes")["nodes"]))
    daemon.api.post("/v1/nodes/n3/interrupt", {"in": 36000})
    daemon.kill()
    cluster.stop_controller()
    try:
        daemon.start()
        number = submit(daemon, "echo $MASTER_ADDR $SLURMD_NODENAME", gpus="4", nodes=2)
        wait_until("why says it", lambda: "Slurm:" in (daemon.api.why(number)["engine"] or ""))
        assert daemon.api.job(number)["state"] == "queued"
        assert {(n["state"], n["reason"]) for n in daemon.api.get("/v1/nodes")["nodes"]} == {
            ("drained", "engine: not reported since the daemon started")}
    finally:
        cluster.start_controller()
    job = daemon.api.wait_end(number)
    address, name = daemon.api.output(number, rank=0).split()
    assert (job["result"], job["attempt"], address) == ("ok", 1, "127.0.0.%d" % (1 + int(name[1:])))  # NodeAddr
    assert all(n["state"] == "up" for n in daemon.api.get("/v1/nodes")["nodes"])
    assert node(daemon, "n3")["going_at"], "an announced interruption stays announced"
    daemon.verify()


def test_an_attempt_that_was_granted_starts_when_the_nodes_are_reported(daemon, cluster):
    """Of two that the last daemon had granted and slurmctld did not answer for, one is cancelled meanwhile."""
    cluster.stop_controller()
    try:
        numbers = [submit(daemon, "echo $MASTER_ADDR $SLURMD_NODENAME", gpus="2", nodes=2) for _ in range(2)]
        for number in numbers:
            daemon.api.wait_state(number, "granted")
        daemon.kill()
        daemon.start()
        daemon.api.post(f"/v1/jobs/{numbers[1]}/cancel")
        assert daemon.api.job(numbers[0])["state"] == "granted"
    finally:
        cluster.start_controller()
    job = daemon.api.wait_end(numbers[0])
    address, name = daemon.api.output(numbers[0], rank=0).split()
    assert (job["result"], job["attempt"], address) == ("ok", 1, "127.0.0.%d" % (1 + int(name[1:])))
    assert daemon.api.wait_end(numbers[1])["result"] == "cancelled"
    assert len(slurm_jobs_of(daemon, numbers[0])) == 1
    daemon.verify()


def test_a_new_daemon_starts_without_slurmctld(make_daemon, cluster):
    cluster.stop_controller()
    fresh = make_daemon(devices="none", options=["--engine", "slurm"], environment={"SLURM_CONF": cluster.conf})
    try:
        fresh.start()
        fresh.check_sane()
    finally:
        cluster.start_controller()
    wait_until("it knows the nodes", lambda: len(fresh.api.get("/v1/gpus")["gpus"]) == 12)
    number = submit(fresh, "exit 3", gpus="1")
    assert fresh.api.wait_end(number)["exit_code"] == 3


def test_killed_at_every_stage_of_a_submission(daemon, cluster, compiled):
    """The daemon dies before, during or after a request to slurmctld, or at any other time after the grant."""
    preload = compiled("slurm_killer.c", "-shared", "-fPIC", "-ldl", "-pthread")
    chance = random.Random(20)
    numbers = []
    environment = daemon.own_environment
    trace = os.path.join(daemon.root, "ran")
    for round in range(ROUNDS):
        stage = ("before", "during", "after", "later")[round % 4]
        delay_us = chance.randrange(1, 3000 if stage == "during" else 40000)
        daemon.kill()
        daemon.own_environment = lambda: dict(environment(), LD_PRELOAD=preload, **{KILLER: f"{stage} {delay_us}"})
        process, words = daemon.try_start()
        # what was granted before is submitted at once, perhaps before it is ready
        assert words == "ready" or process.returncode == -signal.SIGKILL, (words, daemon.words()[-2000:])
        daemon.process = process
        try:
            for _ in range(2):
                numbers.append(submit(daemon, f"echo $TARN_JOB_ID >>{trace}", gpus="1"))
        except OSError:
            pass  # it died before it answered; the job may exist
        process.wait(60)
        daemon.process = None
        daemon.own_environment = environment
        daemon.start()
    jobs = wait_until("all have ended", lambda: [j for j in [daemon.api.jobs()] if all(
        job["state"] == "ended" for job in j)], 300)[0]
    assert {job["id"] for job in jobs} >= set(numbers)
    if any(j["result"] != "ok" for j in jobs):
        print(daemon.words())
    assert [(j["id"], j["result"], j["attempt"], j["reason"]) for j in jobs if j["result"] != "ok" or j["attempt"] != 1] == []
    with open(trace) as file:
        ran = sorted(int(line) for line in file)
    assert ran == sorted(job["id"] for job in jobs), "each ran once"
    assert all(len(slurm_jobs_of(daemon, job["id"])) == 1 for job in jobs)
    daemon.verify()


def write_sacct(daemon, lines):
    """A stand-in for Slurm's accounting, which needs a database server."""
    path = os.path.join(daemon.root, "bin")
    os.makedirs(path, exist_ok=True)
    with open(os.path.join(path, "sacct"), "w") as file:
        file.write("#!/bin/sh\necho \"$@\" >>%s/asked\ncat <<'END'\n%s\nEND\n" % (daemon.root, "\n".join(lines)))
    os.chmod(os.path.join(path, "sacct"), 0o755)
    environment = daemon.own_environment
    daemon.own_environment = lambda: dict(environment(), PATH=path + ":" + os.environ["PATH"])


def test_what_slurmctld_has_forgotten_is_asked_of_the_accounting(daemon, cluster):
    numbers = [submit(daemon, "sleep 1", gpus="1", retry=0) for _ in range(3)]
    for number in numbers:
        daemon.api.wait_state(number, "running")
    names = [the_slurm_job(daemon, number) for number in numbers]
    marks = cluster.jobs()
    daemon.kill()
    wait_until("they are over", lambda: not cluster.run("squeue", "-h", "-u", "root").strip())
    cluster.stop_controller()
    cluster.start_controller("-c")  # it knows no job any more
    write_sacct(daemon, [f"{names[0]}|COMPLETED|0:0|2030-01-01T10:00:00|{marks[names[0]]}",
                         f"{names[1]}|FAILED|7:0|2030-01-01T10:00:00|{marks[names[1]]}",
                         "99|RUNNING|0:0|2030-01-01T10:00:00|some | words"])
    daemon.start()
    jobs = [daemon.api.wait_end(number) for number in numbers]
    assert [(j["result"], j["exit_code"]) for j in jobs[:2]] == [("ok", 0), ("failed", 7)]
    assert jobs[2]["result"] == "lost"
    assert "no record of its job" in jobs[2]["reason"]
    with open(os.path.join(daemon.root, "asked")) as file:
        assert "-S 20" in file.read()
    daemon.verify()


def test_without_accounting_it_is_lost_with_the_reason(daemon, cluster):
    number = submit(daemon, "sleep 1000", gpus="1", retry=0)
    known = (daemon.api.wait_state(number, "running"), the_slurm_job(daemon, number))[1]
    daemon.kill()
    cluster.run("scancel", known)
    wait_until("it is over", lambda: not cluster.run("squeue", "-h", "-u", "root").strip())
    cluster.stop_controller()
    cluster.start_controller("-c")
    daemon.start()
    job = daemon.api.wait_end(number)
    assert job["result"] == "lost" and "no record of its job any more (sacct: " in job["reason"]


def test_a_changed_time_limit_is_followed(daemon, cluster):
    number = submit(daemon, "sleep 1000", gpus="1", max_duration="1h", grace="30s")
    daemon.api.wait_state(number, "running")
    known = the_slurm_job(daemon, number)
    assert slurm_says(cluster, known, "TimeLimit=01:02:00")
    cluster.run("scontrol", "update", "jobid=" + known, "timelimit=2:02:00")
    wait_until("tarn follows", lambda: 7100 < daemon.api.job(number)["request"]["max_duration"] <= 7200)
    daemon.kill()
    daemon.start()
    time.sleep(2)
    assert 7100 < daemon.api.job(number)["request"]["max_duration"] <= 7200


def test_held_requeued_and_cancelled_in_slurm(daemon, cluster):
    number = submit(daemon, "sleep 1000", gpus="4", retry=1)
    daemon.api.wait_state(number, "running")
    known = the_slurm_job(daemon, number)
    cluster.run("scontrol", "update", "jobid=" + known, "requeue=1")
    cluster.run("scontrol", "requeue", known)
    job = wait_until("it starts again by tarn's rules",
                     lambda: daemon.api.job(number)["attempt"] == 2 and daemon.api.wait_state(number, "running"))
    assert slurm_says(cluster, known, "JobState=CANCELLED")
    second = max(slurm_jobs_of(daemon, number), key=int)
    cluster.run("scancel", second)
    job = daemon.api.wait_end(number)
    assert job["result"] == "cancelled" and job["cancel_reason"] == "cancelled in Slurm"
    daemon.verify()


def test_why_says_what_slurm_waits_for(daemon, cluster):
    """An association limit, or as here a licence that somebody took, is not in what tarn knows."""
    cluster.run("scontrol", "create", "reservation", "reservationname=soon", "starttime=now+1hour", "duration=60",
                "nodes=n1,n2,n3", "users=daemon")
    try:
        number = submit(daemon, "true", gpus="1", max_duration="8h")
        wait_until("it says so", lambda: "it waits in Slurm's queue, " in (daemon.api.why(number)["engine"] or ""))
        known = the_slurm_job(daemon, number)
        cluster.run("scontrol", "hold", known)
        wait_until("it is held", lambda: "it is held in Slurm, " in (daemon.api.why(number)["engine"] or ""))
        cluster.run("scancel", known)
        job = daemon.api.wait_end(number)
        assert (job["result"], job["attempt"]) == ("cancelled", 1)
    finally:
        cluster.run("scontrol", "delete", "reservationname=soon")
