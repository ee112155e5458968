# SPDX-License-Identifier: Apache-2.0
"""The policy for jobs that leave their GPUs idle, in real time, on the stub driver: warned, warned again, then stopped.

The times are seconds where people would say hours. Nothing is asserted of how long something takes, but of its order, and that
no job is stopped sooner than the rules say.
"""

import re
import time

import pytest

from tarn_test import wait_until
from test_gpu import Machine, gpu

# Says when it was asked to save its work, and does.
SAVING = """
trap 'echo saved; exit 0' TERM
echo attempt $TARN_ATTEMPT
while :; do sleep 0.1; done
"""


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.start()
    machine.tell(gpu(0, use=90), gpu(1, use=90))
    return machine


def configure(machine, **idle):
    machine.api.put("/v1/config", {"idle": dict({"warn": "4s", "stop": "12s"}, **idle),
                                   "queues": {"interactive": {"queues": {"notebooks": {}}}}})


def run(machine, **more):
    job = machine.api.submit(**dict({"run": SAVING, "gpus": "1", "cpus": 0}, **more))
    wait_until("it runs", lambda: "attempt 1" in machine.api.output(job))
    return job, machine.api.job(job)["devices"][0]["index"]


def busy(machine, *indices):
    """Those devices work, the others do nothing."""
    machine.tell(*[gpu(i, use=90 if i in indices else 0) for i in range(2)])


def wait_busy(machine, job):
    wait_until("it was seen at work", lambda: ((machine.api.job(job)["gpu_usage"] or {"gpu": None})["gpu"] or {"peak": 0})["peak"] > 0.5)


def warnings(machine, job):
    return (machine.api.job(job)["warned"] or {}).get("idle", 0)


class Watched:
    """What a job was warned of, in order, and when: (count, seconds since it began to idle)."""

    def __init__(self, machine, job):
        self.machine, self.job, self.seen, self.start = machine, job, [], time.monotonic()

    def look(self):
        job = self.machine.api.job(self.job)
        count = (job["warned"] or {}).get("idle", 0)
        if count and (not self.seen or self.seen[-1][0] != count):
            self.seen.append((count, time.monotonic() - self.start))
        return job

    def until(self, what, condition):
        return wait_until(what, lambda: condition(self.look()))


def test_one_that_idles_is_warned_twice_then_saves_its_work_and_waits_again(machine):
    configure(machine, action="requeue")
    idle, index = run(machine)
    other, _ = run(machine)
    wait_busy(machine, idle)
    busy(machine, 1 - index)
    watched = Watched(machine, idle)
    watched.until("it is requeued", lambda job: job["attempt"] == 2 or job["state"] == "queued")
    stopped = time.monotonic() - watched.start
    counts = [count for count, _ in watched.seen]
    assert counts[:2] == [1, 2], "never without both warnings: %r" % watched.seen
    assert watched.seen[0][1] >= 3 and stopped >= 11, "not before its time: %r, %r" % (watched.seen, stopped)
    wait_until("it runs once more", lambda: "attempt 2" in machine.api.output(idle))
    assert "saved" in machine.api.output(idle)
    assert "a job is requeued job=%d reason='idle policy: its GPUs were idle for " % idle in machine.daemon.words()
    assert machine.api.job(other)["attempt"] == 1 and warnings(machine, other) == 0, "who works is left alone"
    assert warnings(machine, idle) <= 1, "a new attempt begins anew"
    machine.daemon.verify()


def test_one_that_idles_is_cancelled_where_that_is_the_rule_and_is_told_why(machine):
    configure(machine, action="cancel")
    idle, index = run(machine)
    wait_busy(machine, idle)
    busy(machine)
    watched = Watched(machine, idle)
    ended = watched.until("it is over", lambda job: job if job["state"] == "ended" else None)
    assert [count for count, _ in watched.seen][:2] == [1, 2] and time.monotonic() - watched.start >= 11
    assert ended["result"] == "cancelled"
    assert ended["cancelled_by"] == "idle policy", ended["cancelled_by"]
    assert re.match(r"its GPUs were idle for 1[2-9]s$", ended["cancel_reason"]), ended["cancel_reason"]
    assert "saved" in machine.api.output(idle)


def test_who_works_in_between_begins_anew(machine):
    configure(machine, action="cancel")
    job, index = run(machine)
    wait_busy(machine, job)
    busy(machine)
    wait_until("it is warned", lambda: warnings(machine, job) == 1)
    busy(machine, index)
    wait_until("the warning is taken back", lambda: machine.api.job(job)["warned"] is None)
    busy(machine)
    watched = Watched(machine, job)
    watched.until("it is over", lambda job: job["state"] == "ended")
    assert [count for count, _ in watched.seen][:2] == [1, 2] and time.monotonic() - watched.start >= 11


def test_who_is_exempt_is_never_warned_nor_those_below(machine):
    configure(machine, action="cancel", exempt=["interactive"])
    exempt, _ = run(machine, queue="notebooks")
    idle, _ = run(machine)
    wait_busy(machine, exempt)
    wait_busy(machine, idle)
    busy(machine)
    wait_until("the other is over", lambda: machine.api.job(idle)["state"] == "ended")
    job = machine.api.job(exempt)
    assert job["state"] == "running" and job["warned"] is None
    assert job["gpu_usage"]["idle_seconds"] >= 10, "it idled as long"


def test_a_dry_run_says_what_it_would_do_and_stops_nobody(machine):
    configure(machine, action="cancel", dry_run=True)
    idle, _ = run(machine)
    wait_busy(machine, idle)
    busy(machine)
    wait_until("it would be stopped", lambda: "an idle job would be stopped job=%d" % idle in machine.daemon.words())
    assert warnings(machine, idle) == 3
    time.sleep(3)
    assert machine.api.job(idle)["state"] == "running" and "saved" not in machine.api.output(idle)
    assert machine.daemon.words().count("an idle job would be stopped") == 1, "once"


def test_a_daemon_that_was_away_stops_nobody_without_both_warnings(machine):
    configure(machine, action="cancel")
    idle, _ = run(machine)
    wait_busy(machine, idle)
    busy(machine)
    wait_until("it is warned", lambda: warnings(machine, idle) == 1)
    machine.daemon.kill()
    time.sleep(15)
    machine.daemon.start()
    watched = Watched(machine, idle)
    assert watched.look()["state"] == "running", "it idled for longer than that, but unobserved"
    watched.until("it is over", lambda job: job["state"] == "ended")
    counts = [count for count, _ in watched.seen]
    assert 2 in counts and counts.index(2) > counts.index(1), "it is warned anew: %r" % watched.seen
    assert time.monotonic() - watched.start >= 6, "unobserved time does not count; what was observed before does"
