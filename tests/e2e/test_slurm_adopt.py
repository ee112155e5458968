# SPDX-License-Identifier: Apache-2.0
"""Plain sbatch to a partition that is given to tarn: share/slurm/job_submit.lua holds the jobs, tarn orders and releases them."""
import os
import shutil
import subprocess

import pytest

import slurm_cluster
from tarn_test import HERE, wait_until
from test_slurm_engine import pytestmark, slurm_jobs_of, submit  # noqa: F401

LUA = os.path.join(HERE, "..", "..", "share", "slurm", "job_submit.lua")


@pytest.fixture(scope="module")
def cluster():
    has_lua = slurm_cluster.has_lua()
    cluster = slurm_cluster.Cluster(lines="JobSubmitPlugins=lua" if has_lua else "")
    shutil.copy(LUA, cluster.root)
    cluster.has_lua = has_lua
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def daemon(make_daemon, cluster):
    daemon = make_daemon(devices="none", options=["--engine", "slurm"], environment={"SLURM_CONF": cluster.conf})
    daemon.cluster = cluster
    daemon.start()
    daemon.api.put("/v1/config", {"slurm": {"partition": "gpu", "adopt": True}, "queues": {"default": {}, "lab": {}}})
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 12)
    yield daemon
    if daemon.is_alive():
        for job in daemon.api.jobs():
            if job["state"] != "ended":
                daemon.api.post(f"/v1/jobs/{job['id']}/cancel")
    cluster.run("scancel", "-u", "root")
    wait_until("Slurm has no job left", lambda: not cluster.run("squeue", "-h", "-u", "root").strip())


def sbatch(cluster, *words):
    hold = [] if cluster.has_lua else ["-H"]
    return cluster.run("sbatch", "--parsable", *hold, *words).strip()


def say(cluster, number, what):
    return cluster.run("squeue", "-h", "-t", "all", "-j", number, "-o", what).strip()


def adopted(daemon, count):
    return wait_until(f"{count} jobs have arrived", lambda: [j for j in [daemon.api.jobs()] if len(j) >= count])[0]


def test_a_script_runs_where_and_when_tarn_says(daemon, cluster):
    out = os.path.join(cluster.root, "out")
    number = sbatch(cluster, "-J", "train", "-N", "2", "--gres=gpu:h100:3", "-t", "10", "-A", "lab", "--comment", "mine", "-o", out,
                    "--wrap", "srun sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'; sleep 2")
    (job,) = adopted(daemon, 1)
    assert (job["name"], job["user"], job["queue"], job["gpus"]) == ("train", "root", "lab", "h100:3")
    running = daemon.api.wait_state(job["id"], "running")
    nodes = sorted({d["node"] for d in running["devices"]})
    shown = cluster.run("scontrol", "show", "job", number)
    ways = (f"{nodes[0]},{nodes[1]}", f"n[{nodes[0][1]}-{nodes[1][1]}]", f"n[{nodes[0][1]},{nodes[1][1]}]")
    assert any(f" ReqNodeList={way} " in shown for way in ways) and any(f" NodeList={way}\n" in shown for way in ways)
    ended = daemon.api.wait_end(job["id"])
    assert (ended["result"], ended["attempt"]) == ("ok", 1)
    with open(out) as file:
        assert sorted(line.split()[0] for line in file) == nodes
    assert slurm_jobs_of(daemon, job["id"]) == [number]
    daemon.verify()


def test_the_comment_has_the_reason_and_the_expected_start(daemon, cluster):
    first = [sbatch(cluster, "--gres=gpu:h100:4", "-t", "30", "-o", "/dev/null", "--wrap", "sleep 1000") for _ in range(3)]
    adopted(daemon, 3)
    wait_until("they run", lambda: all(say(cluster, n, "%T") == "RUNNING" for n in first))
    waiting = sbatch(cluster, "--gres=gpu:h100:2", "-t", "30", "-o", "/dev/null", "--wrap", "true")
    job = adopted(daemon, 4)[-1]
    wait_until("the comment says why", lambda: say(cluster, waiting, "%k").startswith(f"tarn job {job['id']}: 2 h100 gpus wanted, 0 free; "
                                                                                   "expected start 20"))
    assert say(cluster, waiting, "%T %r").startswith("PENDING JobHeld")
    cluster.run("scancel", first[1])
    wait_until("it has run", lambda: daemon.api.job(job["id"])["state"] == "ended")
    assert daemon.api.job(job["id"])["result"] == "ok"


def test_cancelled_on_either_side(daemon, cluster):
    blockers = [submit(daemon, "sleep 1000", gpus="4") for _ in range(3)]
    for blocker in blockers:
        daemon.api.wait_state(blocker, "running")
    numbers = [sbatch(cluster, "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "sleep 1000") for _ in range(2)]
    jobs = adopted(daemon, 5)[3:]
    wait_until("both have a comment", lambda: all(say(cluster, n, "%k").startswith("tarn job") for n in numbers))
    of = {say(cluster, n, "%k").split(":")[0].split()[-1]: n for n in numbers}
    first, second = (str(job["id"]) for job in jobs)
    cluster.run("scancel", of[first])
    assert daemon.api.wait_end(first)["result"] == "cancelled"
    daemon.api.post(f"/v1/jobs/{second}/cancel")
    wait_until("Slurm has cancelled it", lambda: say(cluster, of[second], "%T") == "CANCELLED")
    running = sbatch(cluster, "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "sleep 1000")
    third = adopted(daemon, 6)[-1]["id"]
    daemon.api.post(f"/v1/jobs/{blockers[0]}/cancel")
    daemon.api.wait_state(third, "running")
    daemon.api.post(f"/v1/jobs/{third}/cancel")
    assert daemon.api.wait_end(third)["result"] == "cancelled"
    wait_until("Slurm has ended it", lambda: say(cluster, running, "%T") in ("CANCELLED", "FAILED"))


def test_tasks_of_an_array_are_jobs(daemon, cluster):
    out = os.path.join(cluster.root, "array")
    number = sbatch(cluster, "--array=1-7:2", "--gres=gpu:h100:2", "-o", "/dev/null", "--wrap", f"echo $SLURM_ARRAY_TASK_ID >>{out}")
    jobs = adopted(daemon, 4)
    for job in jobs:
        assert daemon.api.wait_end(job["id"])["result"] == "ok"
    with open(out) as file:
        assert sorted(file.read().split()) == ["1", "3", "5", "7"]
    assert len(jobs) == len(daemon.api.jobs()) == 4, number


def test_what_tarn_cannot_place_is_refused_in_the_comment(daemon, cluster):
    number = sbatch(cluster, "-C", "zone_a|zone_b", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "true")
    wait_until("it is refused", lambda: say(cluster, number, "%k").startswith("tarn: refused: its constraint 'zone_a|zone_b'"))
    big = sbatch(cluster, "--gres=gpu:h100:4", "-N", "3", "--mem=100", "-c", "16", "-A", "nowhere", "-o", "/dev/null", "--wrap", "true")
    job = adopted(daemon, 1)[0]
    assert job["queue"] == "default"
    daemon.api.wait_end(job["id"])
    assert say(cluster, big, "%T") == "COMPLETED" and daemon.api.jobs()[0]["id"] == job["id"]


def test_found_again_after_a_crash(daemon, cluster):
    """Killed while jobs arrive, wait, are released and run: each runs once."""
    out = os.path.join(cluster.root, "ran")
    numbers = []
    for round in range(8):
        numbers += [sbatch(cluster, "--gres=gpu:h100:2", "-o", "/dev/null", "--wrap", f"echo $SLURM_JOB_ID >>{out}; sleep 1")
                    for _ in range(2)]
        if round % 2:
            wait_until("something has arrived", lambda: len(daemon.api.jobs()) > round)
        daemon.kill()
        if round == 5:  # one is removed while nobody looks
            cluster.run("scancel", numbers[-1])
        daemon.start()
    gone = numbers[11]
    wait_until("all are over", lambda: not cluster.run("squeue", "-h", "-u", "root").strip(), 180)
    wait_until("tarn agrees", lambda: all(job["state"] == "ended" for job in daemon.api.jobs()))
    with open(out) as file:
        ran = file.read().split()
    assert sorted(set(numbers) - {gone}, key=int) == sorted((n for n in ran if n != gone), key=int)
    assert all(job["result"] in ("ok", "cancelled") and job["attempt"] <= 1 for job in daemon.api.jobs())
    assert sum(job["result"] == "ok" for job in daemon.api.jobs()) == len(ran)
    daemon.verify()


def test_a_released_job_is_not_tarns_any_more(daemon, cluster):
    blockers = [submit(daemon, "sleep 1000", gpus="4") for _ in range(3)]
    for blocker in blockers:
        daemon.api.wait_state(blocker, "running")
    number = sbatch(cluster, "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "sleep 1000")
    job = adopted(daemon, 4)[-1]
    cluster.run("scontrol", "release", number)
    ended = daemon.api.wait_end(job["id"])
    assert (ended["result"], ended["cancel_reason"]) == ("cancelled", "cancelled or released in Slurm")
    assert say(cluster, number, "%T") == "PENDING"
