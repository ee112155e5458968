# SPDX-License-Identifier: Apache-2.0
"""What becomes of jobs when their devices are not well: they are saved where they can be, and nobody gets a dirty one."""

import subprocess

import pytest

from tarn_test import wait_until
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
    assert "rescued" in shown and "which is sick (XID 79: fell off the bus; reboot needed)" in shown
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
