# SPDX-License-Identifier: Apache-2.0
"""What becomes of jobs when their devices are not well: they are saved where possible, and no job gets a device that is not clean."""

import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from tarn_test import Refused, wait_until
from test_gpu import gpu, machine, worker  # noqa: F401 - machine is a fixture


def saver(tmp_path):
    """Saves its work when it is stopped."""
    script = "trap 'echo saved >>%s; exit 3' TERM; while :; do sleep 0.1; done" % (tmp_path / "saved")
    return ["sh", "-c", script]


def running(machine, job):
    return machine.api.wait_state(job, "running")


def index_of(job):
    return job["devices"][0]["index"]


def ask(machine, *words):
    """What the command line says."""
    return subprocess.run([machine.daemon.binary, *words], env=machine.daemon.environment(), text=True, check=True,
                          stdout=subprocess.PIPE, timeout=60).stdout


def test_a_job_on_a_dead_device_saves_its_work_and_goes_on_elsewhere(machine, tmp_path):
    job = machine.api.submit(command=saver(tmp_path), gpus="1", preemptible=True, retry=1)
    held = index_of(running(machine, job))
    machine.tell(gpu(0), gpu(1), "gpu %d xid 79" % held)
    wait_until("it left", lambda: machine.api.job(job)["attempt"] == 2)
    second = running(machine, job)
    assert index_of(second) == 1 - held and second["retries"] == 0
    assert (tmp_path / "saved").read_text() == "saved\n"
    assert second["rescued"]["reason"] == "XID 79: fell off the bus; reboot needed"
    assert second["rescued"]["from"].endswith(":%d" % held) and second["rescued"]["harm"] == "die"
    shown = ask(machine, "show", str(job))
    assert "rescued" in shown and "which cannot be used (XID 79: fell off the bus; reboot needed)" in shown
    machine.daemon.kill()
    machine.daemon.start()
    assert machine.api.job(job)["rescued"] == second["rescued"], "it is in the journal"
    machine.daemon.kill()
    machine.daemon.verify()
    machine.daemon.start()


def test_why_says_what_a_job_left_while_no_other_device_is_free(machine, tmp_path):
    job = machine.api.submit(command=saver(tmp_path), gpus="2", preemptible=True)
    running(machine, job)
    machine.tell(gpu(0), gpu(1), "gpu 1 xid 79")
    machine.api.wait_state(job, "queued")
    assert any("rescued" in line and "XID 79" in line for line in machine.api.why(job)["lines"])
    assert "left gpu" in ask(machine, "why", str(job))
    machine.api.post("/v1/gpus/GPU-1/clear")
    assert running(machine, job)["attempt"] == 2


def test_who_can_not_run_again_is_left_alone_and_who_falls_with_its_device_is_not_charged(machine):
    machine.tell(gpu(0), gpu(1))
    plain = machine.api.submit(command=["sleep", "60"], gpus="1")
    first = running(machine, plain)
    machine.tell(gpu(0), gpu(1), "gpu %d xid 79" % index_of(first))
    wait_until("it is drained", lambda: machine.gpu(index_of(first))["sick"])
    again = machine.api.submit(command=["sh", "-c", "sleep 60"], gpus="1", retry=1)
    second = running(machine, again)
    machine.tell(gpu(0), gpu(1), "gpu 0 xid 79", "gpu 1 xid 79")
    machine.api.wait_state(again, "queued")
    assert machine.api.job(again)["retries"] == 0 and machine.api.job(again)["rescued"]["times"] == 1
    assert index_of(second) != index_of(first)
    assert machine.api.job(plain)["state"] == "running" and machine.api.job(plain)["rescued"] is None


def test_a_program_s_own_fault_is_charged(machine):
    job = machine.api.submit(command=["sh", "-c", "sleep 3; exit 1"], gpus="1", retry=1)
    held = index_of(running(machine, job))
    machine.tell(gpu(0), gpu(1), "gpu %d xid 31" % held)
    machine.api.wait_end(job)
    ended = machine.api.job(job)
    assert ended["retries"] == 1 and ended["attempt"] == 2 and ended["rescued"] is None
    assert machine.gpu(held)["sick"] is None


def test_the_rule_can_be_that_nobody_leaves(machine, tmp_path):
    machine.api.put("/v1/config", {"health": {"jobs": "stay"}})
    job = machine.api.submit(command=saver(tmp_path), gpus="1", preemptible=True)
    held = index_of(running(machine, job))
    machine.tell(gpu(0), gpu(1), "gpu %d xid 79" % held)
    wait_until("it is drained", lambda: machine.gpu(held)["sick"])
    waiting = machine.api.submit(command=["true"], gpus="1")
    machine.api.wait_end(waiting)
    assert machine.api.job(job)["state"] == "running"
    machine.api.put("/v1/config", {"health": {"jobs": "able"}})
    wait_until("it leaves", lambda: machine.api.job(job)["attempt"] == 2)


# ---- a device between two jobs ----

def ended(machine, *jobs):
    for job in jobs:
        machine.api.wait_end(job)


def test_the_next_job_waits_until_nothing_of_the_last_is_left_on_its_device(machine):
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    wait_until("one is left", lambda: machine.gpu(1)["sick"])
    first = machine.api.submit(command=["sh", "-c", "echo $$; exec sleep 60"], gpus="1")
    pid = worker(machine, first)
    machine.tell(gpu(0, used=20000), gpu(1, error="GPU_IS_LOST"), "gpu 0 process %d memory 19000" % pid)
    wait_until("it is seen", lambda: machine.gpu(0)["processes"])
    machine.api.post("/v1/jobs/%d/cancel" % first)
    ended(machine, first)
    second = machine.api.submit(command=["true"], gpus="1")
    machine.api.wait_state(second, "granted")
    time.sleep(2)  # it is looked at again and again meanwhile
    assert machine.api.job(second)["state"] == "granted" and machine.gpu(0)["sick"] is None
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    ended(machine, second)
    assert machine.api.job(second)["attempt"] == 1, "nothing was wrong: it only waited"


def test_a_device_on_which_something_was_left_is_drained_in_words_and_the_job_goes_elsewhere(machine):
    first = machine.api.submit(command=["sh", "-c", "echo $$; exec sleep 60"], gpus="1")
    pid = worker(machine, first)
    held = index_of(running(machine, first))
    other = machine.api.submit(command=["sleep", "60"], gpus="1")
    running(machine, other)
    lines = [gpu(held, used=20000), "gpu %d process %d memory 19000" % (held, pid)]
    machine.tell(*sorted([gpu(1 - held)] + lines[:1]), lines[1])
    wait_until("it is seen", lambda: machine.gpu(held)["processes"])
    machine.api.post("/v1/jobs/%d/cancel" % first)
    ended(machine, first)
    second = machine.api.submit(command=["true"], gpus="1")
    sick = wait_until("it is drained", lambda: machine.gpu(held)["sick"])
    assert sick == "process %d (ended) of job %d is still on it" % (pid, first)
    machine.api.wait_state(second, "queued")
    machine.api.post("/v1/jobs/%d/cancel" % other)
    ended(machine, second)
    second = machine.api.job(second)
    assert index_of(second) == 1 - held if second["devices"] else second["result"] == "ok"
    assert second["retries"] == 0 and second["attempt"] == 2
    machine.tell(gpu(0), gpu(1))
    wait_until("it is well by itself", lambda: machine.gpu(held)["sick"] is None)


def test_memory_that_did_not_come_back_drains_the_device(machine):
    wait_until("it was seen without jobs", lambda: machine.gpu(0)["reading"] and machine.gpu(1)["reading"])
    job = machine.api.submit(command=["sleep", "60"], gpus="1")
    held = index_of(running(machine, job))
    machine.tell(*[gpu(i, used=804 if i == held else 4) for i in range(2)])  # less than a driver might need, more than it did
    wait_until("it is read", lambda: machine.gpu(held)["reading"]["memory_used"] == 804 * 1024 * 1024)
    machine.api.post("/v1/jobs/%d/cancel" % job)
    ended(machine, job)
    sick = wait_until("it is drained", lambda: machine.gpu(held)["sick"])
    assert sick == "0.8 GiB are still in use after job %d, and no process has them" % job


def test_who_shares_a_device_is_not_kept_by_what_a_neighbour_has(machine):
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    wait_until("one is left", lambda: machine.gpu(1)["sick"])
    command = ["sh", "-c", "echo $$; exec sleep 60"]
    stays, goes = [machine.api.submit(command=command, gpus="0.5", cpus=0) for _ in range(2)]
    pid = worker(machine, stays)
    worker(machine, goes)
    machine.tell(gpu(0, used=20000), gpu(1, error="GPU_IS_LOST"), "gpu 0 process %d memory 15000" % pid)
    wait_until("it is seen", lambda: machine.gpu(0)["processes"])
    machine.api.post("/v1/jobs/%d/cancel" % goes)
    ended(machine, goes)
    ended(machine, machine.api.submit(command=["true"], gpus="0.5", cpus=0))
    assert machine.api.job(stays)["state"] == "running" and machine.gpu(0)["sick"] is None


def test_a_compute_mode_that_a_job_left_is_reset(machine):
    wait_until("it was seen without jobs", lambda: machine.gpu(0)["reading"] and machine.gpu(1)["reading"])
    job = machine.api.submit(command=["sleep", "60"], gpus="2")
    running(machine, job)
    machine.tell(gpu(0, compute_mode=3), gpu(1, compute_mode=3))
    wait_until("it is read", lambda: all(machine.gpu(i)["reading"]["compute_mode"] == 3 for i in range(2)))
    machine.api.post("/v1/jobs/%d/cancel" % job)
    ended(machine, job)
    ended(machine, machine.api.submit(command=["true"], gpus="2"))
    assert [machine.gpu(i)["reading"]["compute_mode"] for i in range(2)] == [0, 0]


def test_a_compute_mode_of_the_administrator_s_is_left_alone(machine):
    machine.tell(gpu(0, compute_mode=3), gpu(1, compute_mode=3))
    wait_until("it is read", lambda: all((machine.gpu(i)["reading"] or {}).get("compute_mode") == 3 for i in range(2)))
    job = machine.api.submit(command=["sleep", "60"], gpus="2")
    running(machine, job)
    machine.tell(gpu(0, compute_mode=3), gpu(1, compute_mode=0))
    wait_until("it is read", lambda: machine.gpu(1)["reading"]["compute_mode"] == 0)
    machine.api.post("/v1/jobs/%d/cancel" % job)
    ended(machine, job)
    ended(machine, machine.api.submit(command=["true"], gpus="2"))
    assert [machine.gpu(i)["reading"]["compute_mode"] for i in range(2)] == [3, 3]


def test_a_compute_mode_that_can_not_be_set_back_keeps_nobody_from_the_device(machine):
    wait_until("it was seen without jobs", lambda: machine.gpu(0)["reading"] and machine.gpu(1)["reading"])
    job = machine.api.submit(command=["sleep", "60"], gpus="2")
    running(machine, job)
    refuse = ["gpu %d fail nvmlDeviceSetComputeMode NO_PERMISSION" % i for i in range(2)]
    machine.tell(gpu(0, compute_mode=3), gpu(1, compute_mode=3), *refuse)
    wait_until("it is read", lambda: all(machine.gpu(i)["reading"]["compute_mode"] == 3 for i in range(2)))
    machine.api.post("/v1/jobs/%d/cancel" % job)
    ended(machine, job)
    ended(machine, machine.api.submit(command=["true"], gpus="2"))
    assert [machine.gpu(i)["sick"] for i in range(2)] == [None, None]
    assert "a compute mode cannot be set back device=GPU-0 job=%d mode=3 before=0" % job in machine.daemon.words()


def test_a_new_daemon_still_sees_what_a_job_left(machine):
    job = machine.api.submit(command=["sleep", "60"], gpus="1")
    held = index_of(running(machine, job))
    machine.api.post("/v1/jobs/%d/cancel" % job)
    ended(machine, job)
    left = play_left(machine, job, "sleep")
    try:
        machine.tell(*[gpu(i, used=4) for i in range(2)], "gpu %d process %d memory 10" % (held, left.pid))
        machine.daemon.kill()
        machine.daemon.start()
        sick = wait_until("it is drained", lambda: machine.gpu(held)["sick"])
        assert sick == "process %d (sleep) of job %d is still on it" % (left.pid, job)
    finally:
        end_left(left)


def test_who_only_says_that_he_is_a_job_s_drains_nothing(machine):
    job = machine.api.submit(command=["true"], gpus="1")
    ended(machine, job)
    member, _ = member_of(machine, job)
    forged = subprocess.Popen(["env", "TARN_MEMBER=" + member, "sleep", "120"], user=65534 if os.geteuid() == 0 else None)
    if os.geteuid() != 0 and not member_of(machine, job)[1]:
        pytest.skip("without root and control groups, who says so is of the daemon's user, and believed")
    try:
        machine.tell(*[gpu(i, used=200) for i in range(2)], "gpu 0 process %d memory 128" % forged.pid)
        wait_until("it is a stranger's", lambda: machine.gpu(0)["foreign_memory"])
        assert machine.gpu(0)["sick"] is None
    finally:
        forged.kill()
        forged.wait()


def play_left(machine, job, program):
    """All of a job ends with it; what hangs in a driver is played by a process in its control group, or with its mark."""
    member, group = member_of(machine, job)
    left = subprocess.Popen(["env", "TARN_MEMBER=" + member, program, "120"])
    left.group = group
    if group:
        group.mkdir(parents=True)
        (group / "cgroup.procs").write_text(str(left.pid))
    return left


def end_left(left):
    left.kill()
    left.wait()
    if left.group:
        wait_until("it is out of its group", lambda: (left.group / "cgroup.procs").read_text() == "")
        left.group.rmdir()


def member_of(machine, job):
    """KEY/JOB.ATTEMPT.RANK, the mark of a job's processes, and their control group where there is one; the key is that of the daemon."""
    script = "tr '\\0' '\\n' </proc/self/environ; cat /proc/self/cgroup; echo :; cat /proc/self/mountinfo"
    other = machine.api.submit(command=["sh", "-c", script], gpus="0")
    machine.api.wait_end(other)
    said, mounts = machine.api.output(other).split("\n:\n")
    key = re.search(r"(?:/tarn/|TARN_MEMBER=)([^/]+)/%d\." % other, said).group(1)
    group = re.search(r"^\d+:([^:]*):(/.*/|/)tarn/%s/%d\.1\.0$" % (key, other), said, re.M)
    member = "%s/%d.1.0" % (key, job)
    if not group:
        return member, None
    for line in mounts.splitlines():
        mount, kind = line.split(" - ")
        controllers = kind.split()[-1].split(",") if kind.startswith("cgroup ") else [""] if kind.startswith("cgroup2 ") else []
        if group.group(1).split(",")[0] in controllers:
            root, place = mount.split()[3:5]
            inside = os.path.relpath(group.group(2), root)
            return member, pathlib.Path(place) / inside / "tarn" / member
    return member, None


def test_why_names_the_process_that_has_the_memory(machine):
    stranger = subprocess.Popen(["sleep", "120"])
    try:
        machine.tell(gpu(0, used=60000), gpu(1, used=60000), "gpu 0 process %d memory 61440" % stranger.pid,
                     "gpu 1 process %d memory 60416" % stranger.pid, "gpu 1 process 1 memory 1024")
        wait_until("it is seen", lambda: machine.gpu(0)["foreign_memory"] and machine.gpu(1)["foreign_memory"])
        job = machine.api.submit(command=["true"], gpus="mem=30G")
        machine.api.wait_state(job, "queued")
        node = machine.gpu(0)["node"]
        words = "60 GiB of gpu 0 on %s are used by a process that tarn did not start (pid %d, sleep)" % (node, stranger.pid)
        why = machine.api.why(job)
        assert why["foreign"][0]["text"] == words
        assert why["foreign"][1]["text"].startswith(
            "60 GiB of gpu 1 on %s are used by 2 processes that tarn did not start (pid %d, sleep; pid 1, " % (node, stranger.pid))
        assert words in ask(machine, "why", str(job))
        machine.tell(gpu(0), gpu(1))
        ended(machine, job)
    finally:
        stranger.kill()
        stranger.wait()


def test_any_bytes_as_the_name_of_a_program_leave_the_answers_whole(machine, tmp_path):
    name = bytes(tmp_path) + b"/\xff\x1b[2J"
    shutil.copy("/bin/sleep", name)
    stranger = subprocess.Popen([name, "120"])
    try:
        machine.tell(gpu(0, used=60000), gpu(1, used=60000), "gpu 0 process %d memory 61440" % stranger.pid, "gpu 1 process 1 memory 61440")
        wait_until("it is seen", lambda: machine.gpu(0)["foreign_memory"] and machine.gpu(1)["foreign_memory"])
        job = machine.api.submit(command=["true"], gpus="mem=30G")
        machine.api.wait_state(job, "queued")
        why = machine.api.why(job)
        assert len(why["foreign"]) == 2 and why["foreign"][0]["text"].endswith("(pid %d, ??[2J)" % stranger.pid)
        machine.tell(gpu(0), gpu(1))
        ended(machine, job)
        left = play_left(machine, job, name)
        machine.tell(gpu(0, used=4), gpu(1), "gpu 0 process %d memory 10" % left.pid)
        sick = wait_until("it is drained", lambda: machine.gpu(0)["sick"])
        assert sick == "process %d (??[2J) of job %d is still on it" % (left.pid, job)
        assert len(machine.api.get("/v1/gpus")["gpus"]) == 2
        end_left(left)
    finally:
        stranger.kill()
        stranger.wait()


# ---- the administrator's commands ----

def script(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return str(path)


def test_commands_run_before_and_after_each_job_and_know_their_device(machine, tmp_path):
    log = tmp_path / "log"
    slow = "[ $TARN_CHECK = after ] || sleep 2\n"  # the job waits for it
    command = script(tmp_path / "check", slow + "echo $TARN_CHECK $TARN_JOB_ID $TARN_GPU_INDEX $TARN_GPU_UUID $TARN_GPU_VENDOR >>%s\n" % log)
    machine.api.put("/v1/config", {"health": {"before": command, "after": command + " twice", "timeout": "5s"}})
    job = machine.api.submit(command=["sh", "-c", "cp %s %s" % (log, tmp_path / "seen")], gpus="2")
    ended(machine, job)
    assert sorted((tmp_path / "seen").read_text().splitlines()) == ["before %d %d GPU-%d nvidia" % (job, i, i) for i in range(2)]
    wait_until("both are looked at after it", lambda: log.read_text().count("after") == 2)
    assert "after %d 1 GPU-1 nvidia" % job in log.read_text().splitlines()
    ended(machine, machine.api.submit(command=["true"], gpus="0"))
    assert len(log.read_text().splitlines()) == 4, "not for jobs without devices"
    shown = machine.api.get("/v1/config")
    assert shown.get("config", shown)["health"] == {"before": command, "after": command + " twice", "timeout": "5s"}


def test_a_device_that_is_not_well_before_a_job_is_drained_and_the_job_goes_elsewhere(machine, tmp_path):
    command = script(tmp_path / "check", "echo all sorts; [ $TARN_GPU_INDEX != 0 ] || { echo 'link 3 is slow'; exit 7; }\n")
    machine.api.put("/v1/config", {"health": {"before": command}})
    jobs = [machine.api.submit(command=["sleep", "1"], gpus="1") for _ in range(2)]
    ended(machine, *jobs)
    assert machine.gpu(0)["sick"] == "its health check failed: exit 7: link 3 is slow"
    assert [machine.api.job(job)["result"] for job in jobs] == ["ok", "ok"]
    assert sorted(machine.api.job(job)["attempt"] for job in jobs) == [1, 2]
    assert all(machine.api.job(job)["retries"] == 0 for job in jobs)
    machine.daemon.kill()
    machine.daemon.start()
    assert machine.gpu(0)["sick"] == "its health check failed: exit 7: link 3 is slow"
    machine.api.put("/v1/config", {})
    machine.api.post("/v1/gpus/GPU-0/clear")
    wait_until("it is given out again", lambda: machine.gpu(0)["sick"] is None)


@pytest.mark.parametrize("text,words", [
    ("echo first; echo 'bandwidth 3 GB/s, expected 20'; exit 1\n", "exit 1: bandwidth 3 GB/s, expected 20"),
    ("kill -9 $$\n", "exit 137: Killed"),
    ("echo begun; sleep 60 & sleep 60\n", "not done in time: begun"),
])
def test_a_device_that_is_not_well_after_a_job_is_drained_with_the_reason(machine, tmp_path, text, words):
    command = script(tmp_path / "check", text)
    machine.api.put("/v1/config", {"health": {"after": command, "timeout": "2s"}})
    job = machine.api.submit(command=["true"], gpus="2")
    ended(machine, job)
    for index in range(2):
        sick = wait_until("it is drained", lambda: machine.gpu(index)["sick"])
        assert sick.startswith("its health check failed: ") and sick.endswith(words)
    assert machine.api.job(job)["result"] == "ok"


def test_a_command_that_can_not_be_run_says_nothing_of_the_device(machine, tmp_path):
    command = script(tmp_path / "check", "exit 0\n")
    machine.api.put("/v1/config", {"health": {"before": command, "after": command}})
    os.unlink(command)
    job = machine.api.submit(command=["true"], gpus="2")
    ended(machine, job)
    assert machine.api.job(job)["result"] == "ok" and machine.api.job(job)["attempt"] == 1
    wait_until("it is told of both", lambda: machine.daemon.words().count("a health command cannot be run device=GPU-") == 4)
    assert "reason='exit 127: " in machine.daemon.words()
    assert [machine.gpu(index)["sick"] for index in range(2)] == [None, None]
    machine.api.put("/v1/config", {"health": {"before": command, "after": command}, "affinity": "any"})  # that is no news


@pytest.mark.parametrize("config,words", [
    ({"health": {"before": "/usr/sbin/chek-gpu --fast"}}, "health: before: /usr/sbin/chek-gpu: No such file or directory"),
    ({"health": {"after": "/etc/passwd; true"}}, "health: after: /etc/passwd: not a program that the daemon may run"),
    ({"health": {"after": "/etc"}}, "health: after: /etc: not a program"),
    ({"health": {"before": "check"}}, "expected an absolute path"),
    ({"health": {"timeout": "10s"}}, "no effect without a command"),
    ({"health": {"after": "/bin/true", "timeout": "2h"}}, "expected 1s to 1h"),
    ({"health": {"jobs": "some"}}, "jobs"),
    ({"health": {"befor": "/bin/true"}}, "did you mean 'before'"),
])
def test_rules_of_health_that_make_no_sense_change_nothing(machine, config, words):
    with pytest.raises(Refused) as refused:
        machine.api.put("/v1/config", config)
    assert words in refused.value.message


# ---- near to the device ----

WHERE = ["sh", "-c", "grep Cpus_allowed_list /proc/self/status; head -1 /proc/self/numa_maps; sleep 1"]


def two_nodes(machine, *lists):
    """A machine whose memory nodes have these CPUs; GPU i is at node i."""
    for node, cpus in enumerate(lists):
        folder = machine.root / "sys" / "devices" / "system" / "node" / ("node%d" % node)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cpulist").write_text(cpus + "\n")
    machine.daemon.kill()
    machine.tell(gpu(0, numa=0), gpu(1, numa=1))
    machine.daemon.start()


def where(machine, **keys):
    """The CPUs that a job may run on, and its memory policy; which GPUs it had."""
    job = machine.api.submit(command=WHERE, **keys)
    devices = running(machine, job)["devices"]
    machine.api.wait_end(job)
    lines = machine.api.output(job).splitlines()
    return lines[0].split()[1], lines[1].split()[1], [device["index"] for device in devices]


@pytest.mark.skipif(os.sched_getaffinity(0) != {0, 1}, reason="plays a machine with two memory nodes on CPUs 0 and 1")
def test_a_job_runs_near_to_its_device(machine):
    two_nodes(machine, "0", "1")
    cpus, policy, devices = where(machine, gpus="1", cpus=1)
    assert (cpus, policy, devices) == ("0", "prefer:0", [0])
    other = machine.api.submit(command=["sleep", "60"], gpus="1", cpus=0.5)
    assert index_of(running(machine, other)) == 0
    cpus, policy, devices = where(machine, gpus="1", cpus=1)
    assert (cpus, devices) == ("1", [1])  # the kernel here has no memory node 1: it stays with the default
    machine.api.post("/v1/jobs/%d/cancel" % other)
    ended(machine, other)
    assert where(machine, gpus="2", cpus=2)[:2] == ("0-1", "default"), "near to both of its GPUs"
    assert where(machine, gpus="1", cpus=2)[0] == "0-1", "where the CPUs do not suffice it runs anywhere"
    assert where(machine, gpus="0", cpus=1)[0] == "0-1"
    machine.api.put("/v1/config", {"affinity": "any"})
    assert where(machine, gpus="1", cpus=1)[:2] == ("0-1", "default")


@pytest.mark.skipif(os.sched_getaffinity(0) != {0, 1}, reason="plays a machine with two memory nodes on CPUs 0 and 1")
def test_those_at_one_device_do_not_crowd_each_other(machine):
    two_nodes(machine, "0", "1")
    first = machine.api.submit(command=["sleep", "60"], gpus="mem=10G", cpus=1)
    held = index_of(running(machine, first))
    cpus, _, devices = where(machine, gpus="mem=10G", cpus=0.5)
    assert devices != [held] or cpus == "0-1", "the CPUs there are given already"


def test_without_a_topology_a_job_runs_anywhere(machine):
    every = ",".join(map(str, sorted(os.sched_getaffinity(0))))
    assert where(machine, gpus="1", cpus=1)[0] in (every, "%s-%s" % (every[0], every[-1]))
