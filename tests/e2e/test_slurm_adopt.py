# SPDX-License-Identifier: Apache-2.0
"""Plain sbatch to a partition that is given to tarn: share/slurm/job_submit.lua holds the jobs, tarn orders and releases them."""
import datetime
import itertools
import os
import re
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
    cluster = slurm_cluster.Cluster(lines="JobSubmitPlugins=lua" if has_lua else "", parts={"shard": 4})
    shutil.copy(LUA, cluster.root)
    os.chmod(cluster.root, 0o755)  # users read its slurm.conf
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
    for user in ("root", "nobody"):
        cluster.run("scancel", "-u", user)
    wait_until("Slurm has no job left", lambda: not cluster.run("squeue", "-h").strip())


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


def test_the_comment_follows_the_estimate(daemon, cluster):
    running = sbatch(cluster, "--gres=gpu:h100:4", "-w", "n1", "-t", "30", "-o", "/dev/null", "--wrap", "sleep 1000")
    adopted(daemon, 1)
    wait_until("it runs", lambda: say(cluster, running, "%T") == "RUNNING")
    waiting = sbatch(cluster, "--gres=gpu:h100:4", "-w", "n1", "-t", "30", "-o", "/dev/null", "--wrap", "true")
    adopted(daemon, 2)

    def expected():
        found = re.search("expected start (20[-0-9T:]+)Z", say(cluster, waiting, "%k"))
        return found and datetime.datetime.fromisoformat(found.group(1))

    before = wait_until("the comment has the expected start", expected)
    cluster.run("scontrol", "update", "jobid=" + running, "timelimit=10:00:00")
    wait_until("it has the new one", lambda: expected() > before + datetime.timedelta(minutes=30), 300)


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
    number = sbatch(cluster, "--array=1-7:2", "-D", cluster.root, "--gres=gpu:h100:2", "--wrap", f"echo $SLURM_ARRAY_TASK_ID | tee -a {out}")
    jobs = adopted(daemon, 4)
    for job in jobs:
        assert daemon.api.wait_end(job["id"])["result"] == "ok"
        path = daemon.api.job(job["id"])["launch"]["output"]
        with open(path) as file:
            assert path == os.path.join(cluster.root, f"slurm-{number}_{file.read().strip()}.out")
    with open(out) as file:
        assert sorted(file.read().split()) == ["1", "3", "5", "7"]
    assert len(jobs) == len(daemon.api.jobs()) == 4, number
    assert "error: " not in daemon.words(), daemon.words()[-3000:]


def test_an_array_with_a_long_list_of_tasks(daemon, cluster):
    tasks = [n * n + 100 for n in range(1, 26)]
    sbatch(cluster, "--array=" + ",".join(map(str, tasks)), "-D", cluster.root, "-o", "long_%a", "--wrap", "true")
    jobs = adopted(daemon, len(tasks))
    assert {daemon.api.wait_end(job["id"])["result"] for job in jobs} == {"ok"} and len(daemon.api.jobs()) == len(tasks)
    assert all(os.path.exists(os.path.join(cluster.root, f"long_{task}")) for task in tasks)


def test_what_tarn_cannot_place_is_refused_in_the_comment(daemon, cluster):
    number = sbatch(cluster, "-C", "zone_a|zone_b", "--gres=gpu:1", "-o", "/dev/null", "--wrap", "true")
    wait_until("it is refused", lambda: say(cluster, number, "%k").startswith("tarn: refused: its constraint 'zone_a|zone_b'"))
    big = sbatch(cluster, "--gres=gpu:h100:4", "-N", "3", "--mem=100", "-c", "16", "-A", "nowhere", "-o", "/dev/null", "--wrap", "true")
    job = adopted(daemon, 1)[0]
    assert job["queue"] == "default"
    daemon.api.wait_end(job["id"])
    assert say(cluster, big, "%T") == "COMPLETED" and daemon.api.jobs()[0]["id"] == job["id"]
    cluster.run("scontrol", "release", number)  # an administrator leaves it to Slurm
    wait_until("it has run", lambda: say(cluster, number, "%T") == "COMPLETED")


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
    odd = [(job["id"], job["result"], job["attempt"], job["reason"]) for job in map(lambda job: daemon.api.job(job["id"]), daemon.api.jobs())
           if job["result"] not in ("ok", "cancelled") or job["attempt"] > 1]
    assert not odd, f"{odd}\n{daemon.words()[-3000:]}"
    ended = sum(job["result"] == "ok" for job in daemon.api.jobs())
    assert ended in (len(ran), len(ran) - (gone in ran)), "the one that was removed may have run a little"
    daemon.verify()


def test_a_job_that_is_removed_when_it_would_be_released_is_cancelled(daemon, cluster):
    blockers = [submit(daemon, "sleep 1000", gpus="4") for _ in range(3)]
    for blocker in blockers:
        daemon.api.wait_state(blocker, "running")
    numbers = [sbatch(cluster, "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "sleep 1000") for _ in range(3)]
    jobs = adopted(daemon, 6)[3:]
    daemon.kill()
    cluster.run("scancel", *numbers, *(number for blocker in blockers for number in slurm_jobs_of(daemon, blocker)))
    daemon.start()  # which may start them before it hears of their ends
    for blocker in blockers:
        daemon.api.wait_end(blocker)
    for job in jobs:
        ended = daemon.api.wait_end(job["id"])
        assert (ended["result"], ended["cancel_reason"]) == ("cancelled", "cancelled or released in Slurm"), ended["reason"]


def test_a_job_that_is_released_around_tarn_is_held_again(daemon, cluster):
    blockers = [submit(daemon, "sleep 1000", gpus="4") for _ in range(3)]
    for blocker in blockers:
        daemon.api.wait_state(blocker, "running")
    numbers = [sbatch(cluster, "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "true")]
    numbers += [f"{sbatch(cluster, '--array=1-3%1', '--gres=gpu:h100:4', '-o', '/dev/null', '--wrap', 'true')}_{task}" for task in (1, 3)]
    jobs = adopted(daemon, 5)[3:]
    wait_until("all have a comment", lambda: all(say(cluster, number, "%k").startswith("tarn") for number in numbers))
    cluster.run("scontrol", "release", numbers[0], numbers[1].split("_")[0])
    wait_until("they are held again", lambda: all(say(cluster, number, "%r").startswith("JobHeld") for number in numbers))
    assert all(daemon.api.job(job["id"])["state"] == "queued" for job in jobs)
    daemon.api.post(f"/v1/jobs/{blockers[0]}/cancel")
    for job in adopted(daemon, 7)[3:]:
        ended = daemon.api.wait_end(job["id"])
        assert (ended["result"], ended["attempt"]) == ("ok", 1)


def as_nobody(cluster, *words):
    return subprocess.run(words, env=cluster.environment(), cwd="/", user=65534, group=65534, extra_groups=[], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_users_cannot_release_their_jobs(daemon, cluster):
    """Slurm refuses it of a job that tarn holds, and the plugin of one that has not arrived."""
    hold = [] if cluster.has_lua else ["-H"]
    daemon.terminate()
    number = as_nobody(cluster, "sbatch", *hold, "--parsable", "-D", "/", "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "true").stdout.strip()
    if cluster.has_lua:
        refused = as_nobody(cluster, "scontrol", "release", number)
        assert refused.returncode != 0 and "denied" in refused.stdout, refused.stdout
        assert say(cluster, number, "%T %r") == "PENDING JobHeldUser"
        assert as_nobody(cluster, "scontrol", "update", "jobid=" + number, "timelimit=20").returncode == 0
        moved = as_nobody(cluster, "sbatch", "--parsable", "-p", "short", "--begin=2040-01-02", "-D", "/", "-o", "/dev/null", "--wrap", "true").stdout.strip()
        assert as_nobody(cluster, "scontrol", "update", "jobid=" + moved, "partition=gpu").returncode == 0
        assert say(cluster, moved, "%P %r") == "gpu JobHeldUser"
    daemon.start()
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 12)
    assert daemon.api.wait_end(adopted(daemon, 1)[0]["id"])["result"] == "ok"
    for _ in range(3):
        daemon.api.wait_state(submit(daemon, "sleep 1000", gpus="4"), "running")
    number = as_nobody(cluster, "sbatch", *hold, "--parsable", "-D", "/", "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap", "true").stdout.strip()
    wait_until("it has a comment", lambda: say(cluster, number, "%k").startswith("tarn job"))
    refused = as_nobody(cluster, "scontrol", "release", number)
    assert refused.returncode != 0 and say(cluster, number, "%T %r") == "PENDING JobHeldAdmin", refused.stdout


def test_no_more_tasks_of_an_array_than_its_limit(daemon, cluster, tmp_path):
    """The others leave the GPUs to jobs behind them, also when the daemon was killed."""
    number = sbatch(cluster, "--array=1-6%2", "--gres=gpu:h100:4", "-o", "/dev/null", "--wrap",
                    f"echo + >>{tmp_path}/ran; while [ ! -e {tmp_path}/go ]; do sleep 0.1; done; echo - >>{tmp_path}/ran")
    for job in adopted(daemon, 2):
        daemon.api.wait_state(job["id"], "running")
    words = "tarn: waits for other tasks of its array, of which 2 may run at a time"
    wait_until("the comment says it", lambda: say(cluster, number + "_6", "%k") == words)
    daemon.kill()
    daemon.start()
    behind = sbatch(cluster, "--gres=gpu:h100:4", "-o", "/dev/null", "--comment", "mine", "--wrap", "true")
    wait_until("it has run", lambda: say(cluster, behind, "%T") == "COMPLETED")
    assert len(daemon.api.jobs()) == 3
    (tmp_path / "go").touch()

    wait_until("all have run", lambda: [job["state"] for job in daemon.api.jobs()] == ["ended"] * 7)
    assert {daemon.api.job(job["id"])["result"] for job in daemon.api.jobs()} == {"ok"}
    running = list(itertools.accumulate(1 if line == "+" else -1 for line in (tmp_path / "ran").read_text().split()))
    assert len(running) == 12 and running[-1] == 0 and max(running) == 2


def test_the_comment_says_what_keeps_a_job_from_arriving(daemon, cluster):
    first = sbatch(cluster, "-o", "/dev/null", "--wrap", "sleep 1000")
    daemon.api.wait_state(adopted(daemon, 1)[0]["id"], "running")
    second = sbatch(cluster, "-d", f"afterok:{first}", "-o", "/dev/null", "--wrap", "true")
    tasks = sbatch(cluster, "--array=1-3", "-d", f"afterany:{first}", "-o", "/dev/null", "--comment", "mine", "--wrap", "true")
    later = sbatch(cluster, "--begin=2040-01-02T03:04:05", "-o", "/dev/null", "--wrap", "true")
    wait_until("of a dependency", lambda: say(cluster, second, "%k") == f"tarn: waits for afterok:{first}")
    wait_until("of an array", lambda: say(cluster, tasks, "%i|%k") == f"{tasks}_[1-3]|tarn: waits for afterany:{first}_*"
               or say(cluster, tasks, "%i|%k") == f"{tasks}_[1-3]|tarn: waits for afterany:{first}")
    wait_until("of a time", lambda: say(cluster, later, "%k").startswith("tarn: waits for its begin at 2040-01-0"))
    assert len(daemon.api.jobs()) == 1
    cluster.run("scancel", first)
    for job in adopted(daemon, 4)[1:]:
        assert daemon.api.wait_end(job["id"])["result"] == "ok"
    wait_until("it is never met", lambda: say(cluster, second, "%k") == f"tarn: its dependency can never be met: afterok:{first}")


# In the manner of sbatch(1), srun(1), and Slurm's guides to generic resources, arrays, MPI and multiple cores: options, lines of the
# script, what tarn makes of them, and how many lines they print.
SCRIPTS = {
    "tasks": (["-n4"], ["#SBATCH --time=1", "srun hostname | sort"], {"members": 1, "cpus": 4}, 4),
    "members": ([], ["#SBATCH -N 2", "#SBATCH --ntasks-per-node=2", "#SBATCH --mem-per-cpu=100", "srun -l hostname"],
              {"members": 2, "cpus": 2, "memory": 200}, 4),
    "steps": ([], ["#SBATCH -N1 --gres=gpu:h100:4", "#SBATCH -n2", "srun --gres=gpu:h100:2 -n1 --exact hostname &", "srun --gres=gpu:h100:1 -n1 --exact hostname &", "wait"],
              {"members": 1, "gpus": "h100:4"}, 2),
    "gpus": (["--gpus=2", "--cpus-per-gpu=2", "--mem-per-gpu=100"], ["env | grep ^CUDA_VISIBLE_DEVICES"], {"gpus": "2", "cpus": 4, "memory": 200}, 1),
    "gpus of tasks": (["-N1", "-n2", "--gpus-per-task=h100:1", "-c2"], ["srun hostname"], {"gpus": "h100:2", "cpus": 4}, 2),
    "gpus of nodes": (["-N2", "--gpus-per-node=3"], ["srun hostname"], {"gpus": "3", "members": 2}, 2),
    "shards": (["--gres=shard:2"], ["env | grep ^CUDA_VISIBLE_DEVICES"], {"gpus": "0.5"}, 1),
    "exclusive": (["--exclusive", "-w", "n2"], ["hostname"], {"cpus": slurm_cluster.CPUS}, 1),
    "programs": (["-n3"], ["printf '0 echo a\\n1-2 echo b %%t\\n' > \"/tmp/tarn-multi.$SLURM_JOB_ID\"", "srun --multi-prog \"/tmp/tarn-multi.$SLURM_JOB_ID\" && rm \"/tmp/tarn-multi.$SLURM_JOB_ID\""],
                 {"cpus": 3}, 3),
    "feature": (["-C", "zone_b", "--signal=B:USR1@60", "--requeue", "--mail-type=NONE", "--export=ALL", "--nice=10"], ["echo $SLURMD_NODENAME"], {"members": 1}, 1),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_slurms_manuals_run(daemon, cluster, tmp_path, name):
    options, lines, wanted, count = SCRIPTS[name]
    script, out = tmp_path / "script.sh", tmp_path / "out"
    script.write_text("#!/bin/bash\n" + "\n".join(lines) + "\n")
    number = sbatch(cluster, "-D", str(tmp_path), "-o", str(out), *options, str(script))
    (job,) = adopted(daemon, 1)
    assert {key: job[key] for key in wanted} == wanted
    assert daemon.api.wait_end(job["id"])["result"] == "ok", out.read_text() if out.exists() else ""
    assert len(out.read_text().splitlines()) == count and say(cluster, number, "%T") == "COMPLETED"


def test_the_time_limit_is_slurms_own(daemon, cluster):
    number = sbatch(cluster, "-t", "10", "-o", "/dev/null", "--wrap", "sleep 1000")
    (job,) = adopted(daemon, 1)
    daemon.api.wait_state(job["id"], "running")
    assert daemon.api.job(job["id"])["request"]["max_duration"] == 660
    cluster.run("scontrol", "update", "jobid=" + number, "timelimit=20")
    wait_until("tarn's follows", lambda: daemon.api.job(job["id"])["request"]["max_duration"] == 1260)


def test_arrays_chains_and_later_jobs_arrive_when_slurm_lets_them(daemon, cluster, tmp_path):
    first = sbatch(cluster, "-D", str(tmp_path), "--array=0-5%2", "-o", "%A_%a.out", "--wrap", "echo $SLURM_ARRAY_TASK_ID")
    second = sbatch(cluster, "-D", str(tmp_path), "-d", f"afterok:{first}", "-o", "%x.%j", "-J", "collect", "--wrap", "cat *_*.out")
    third = sbatch(cluster, "-D", str(tmp_path), "--dependency=singleton,afterany:" + second, "--begin=now+2", "-o", "last", "-J", "collect",
                   "--wrap", "echo over")
    never = sbatch(cluster, "-d", f"afternotok:{second}", "-o", "/dev/null", "--wrap", "true")
    last = adopted(daemon, 8)[-1]
    assert daemon.api.wait_end(last["id"])["result"] == "ok"
    assert sorted((tmp_path / f"collect.{second}").read_text().split()) == list("012345")
    assert (tmp_path / "last").read_text() == "over\n" and say(cluster, third, "%T") == "COMPLETED"
    wait_until("it is said of the other", lambda: say(cluster, never, "%k").startswith("tarn: its dependency can never be met: afternotok:"))
    assert len(daemon.api.jobs()) == 8


def test_a_script_from_standard_input_and_commands_without_one(daemon, cluster, tmp_path):
    hold = [] if cluster.has_lua else ["-H"]
    fed = subprocess.run(["sbatch", *hold, "--parsable", "-N1", "-o", str(tmp_path / "fed")], input="#!/bin/sh\nsrun echo fed\n", text=True,
                         stdout=subprocess.PIPE, env=cluster.environment(), check=True)
    assert daemon.api.wait_end(adopted(daemon, 1)[0]["id"])["result"] == "ok" and fed.stdout.strip().isdigit()
    assert (tmp_path / "fed").read_text() == "fed\n"
    for number, words in enumerate((["srun", *hold, "-N2", "--gres=gpu:1"], ["salloc", *hold, "-N1", "--gpus=1", "-Q"])):
        said = cluster.run(*words, "sh", "-c", "echo ran")
        assert said.count("ran\n") == 2 - number, said
        assert daemon.api.wait_end(adopted(daemon, 2 + number)[-1]["id"])["state"] == "ended"


def test_a_heterogeneous_script_is_refused_in_the_comment(daemon, cluster, tmp_path):
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/bash\n#SBATCH -n1 --gres=gpu:1\n#SBATCH hetjob\n#SBATCH -n2\nsrun hostname\n")
    number = sbatch(cluster, "-o", "/dev/null", str(script))
    wait_until("it is refused", lambda: "tarn: refused: it is a heterogeneous job" in say(cluster, number, "%k"))
    assert not daemon.api.jobs()
