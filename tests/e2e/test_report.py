# SPDX-License-Identifier: Apache-2.0
"""Who used what, and how well: by user, queue, job and model, from the journal and what drivers said."""

import csv
import io
import json
import subprocess

import pytest

from tarn_test import Refused, TARN, wait_until
from test_gpu import Machine, gpu


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.start()
    return machine


def tarn(machine, *words, status=0):
    done = subprocess.run([TARN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=dict(machine.daemon.environment(), TARN_SOCKET=machine.daemon.socket, LC_ALL="C.UTF-8"))
    assert done.returncode == status, done
    return done


def report(machine, **query):
    return machine.api.get("/v1/report", **query)


def run_two(machine):
    """One job that keeps its GPU busy, one that does not; (busy, idle) numbers."""
    machine.api.put("/v1/config", {"prices": {"h100": 360}, "queues": {"research": {}}})
    jobs = [machine.api.submit(command=["sleep", "600"], gpus="1", cpus=0, queue=queue, name=name)
            for queue, name in [("research", "train"), ("default", "bare")]]
    for job in jobs:
        wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    held = [machine.api.job(job)["devices"][0]["index"] for job in jobs]
    machine.tell(gpu(held[0], use=90, power=500000), gpu(held[1], use=0))
    wait_until("they were watched", lambda: all((machine.api.job(job)["gpu_usage"] or {"watched_seconds": 0})["watched_seconds"] > 6
                                                for job in jobs))
    return jobs


@pytest.mark.parametrize("is_crash", [False, True])
def test_what_a_running_job_used_survives_a_restart(machine, is_crash):
    busy, _ = run_two(machine)
    before = machine.api.job(busy)["gpu_usage"]
    machine.daemon.kill() if is_crash else machine.daemon.terminate()
    machine.daemon.start()
    wait_until("it is watched again", lambda: machine.api.job(busy)["gpu_usage"])
    after = machine.api.job(busy)["gpu_usage"]
    assert after["watched_seconds"] > before["watched_seconds"] * 0.75
    assert after["energy_joules"] > before["energy_joules"] * 0.75
    machine.api.post("/v1/jobs/%d/cancel" % busy)
    wait_until("it ended", lambda: machine.api.job(busy)["state"] == "ended")
    wait_until("its use is kept", lambda: row_of(report(machine, by="job"), "label", str(busy))["watched_gpu_hours"])
    assert row_of(report(machine, by="job"), "label", str(busy))["watched_gpu_hours"] * 3600 > before["watched_seconds"] * 0.75


def row_of(said, key, value):
    return next(row for row in said["rows"] if row[key] == value)


def test_who_runs_and_who_ended_is_told_by_queue_user_job_and_model(machine):
    busy, idle = run_two(machine)
    running = report(machine, by="queue")
    assert running["total"]["running"] == 2 and running["total"]["ok"] == 0
    assert row_of(running, "queue", "research")["gpu_use"] > 0.5, "of those that run, too"
    machine.api.post("/v1/jobs/%d/cancel" % idle)
    failed = machine.api.submit(command=["false"], cpus=0, gpus="0")
    for job in [idle, failed]:
        wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")
    wait_until("its use is kept", lambda: report(machine, by="job")["total"]["watched_gpu_hours"] > 12 / 3600)

    said = report(machine, by="queue", last="1h")
    research, default = row_of(said, "queue", "research"), row_of(said, "queue", "default")
    assert research["gpu_use"] > 0.5 and default["gpu_use"] < 0.05
    assert default["idle_gpu_hours"] == pytest.approx(default["watched_gpu_hours"], rel=0.01)
    assert research["idle_gpu_hours"] < research["watched_gpu_hours"] / 2
    assert (research["running"], default["running"]) == (1, 0)
    assert (default["cancelled"], default["failed"], default["ok"]) == (1, 1, 0)
    assert default["cost"] == pytest.approx(machine.api.job(idle)["cost"], rel=0.01)
    assert default["gpu_hours"] == pytest.approx(default["cost"] / 360, rel=0.02)
    total = said["total"]
    for key in ["gpu_hours", "watched_gpu_hours", "idle_gpu_hours", "cost", "energy_joules"]:
        assert total[key] == pytest.approx(research[key] + default[key])
    assert total["gpu_hours"] <= said["capacity_gpu_hours"]

    users = report(machine, by="user")
    assert [row["user"] for row in users["rows"]] == [machine.api.job(busy)["user"]]
    models = report(machine, by="model")
    assert row_of(models, "model", "h100")["gpu_hours"] == pytest.approx(models["total"]["gpu_hours"])
    assert row_of(models, "model", None)["failed"] == 1, "one without GPUs"
    jobs = report(machine, by="job", shown=2)
    assert [row["id"] for row in jobs["rows"]] == [busy, idle] and jobs["row_count"] == 3
    assert jobs["worst"][0]["id"] == idle and jobs["worst"][0]["idle_gpu_hours"] > 0

    machine.daemon.kill()
    machine.daemon.start()
    again = row_of(report(machine, by="queue"), "queue", "default")
    assert again["gpu_hours"] == pytest.approx(default["gpu_hours"], rel=0.01), "the journal has it"
    assert again["idle_gpu_hours"] == pytest.approx(default["idle_gpu_hours"], rel=0.01)


def test_it_fits_a_screen_says_what_is_missing_and_is_csv_too(machine):
    busy, idle = run_two(machine)
    done = tarn(machine, "report", "--last", "1h", "--by", "queue")
    lines = done.stdout.splitlines() + done.stderr.splitlines()
    assert all(len(line) <= 80 for line in lines), lines
    assert done.stdout.split()[:10] == ["QUEUE", "OK", "BAD", "PRE", "GPU-H", "USE", "MEM", "IDLE-H", "KWH", "COST"]
    assert any(line.startswith("total ") for line in done.stdout.splitlines())
    assert "job %d (" % idle in done.stdout and " GPU-hours idle" in done.stdout
    assert "never 0" in done.stderr and "GPU-hours allocated" in done.stderr
    rows = list(csv.DictReader(io.StringIO(tarn(machine, "report", "--by", "job", "--csv").stdout)))
    assert [row["job"] for row in rows] == [str(busy), str(idle)] or [row["job"] for row in rows] == [str(idle), str(busy)]
    named = {row["job"]: row for row in rows}
    assert float(named[str(busy)]["energy_gpu_hours"]) > 0, "of which the energy speaks"
    assert named[str(idle)]["name"] == "bare" and float(named[str(busy)]["gpu_use"]) > 0.4
    assert json.loads(tarn(machine, "report", "--json").stdout)["by"] == "user"


def test_what_nobody_measured_is_not_called_nothing(daemon):
    """Made up devices say nothing of themselves."""
    job = daemon.api.submit(command=["sleep", "1"], gpus="2")
    daemon.api.wait_end(job)
    said = daemon.api.get("/v1/report", by="job")
    row = said["rows"][0]
    assert row["gpu_hours"] >= 2 / 3600 and row["watched_gpu_hours"] == 0 and row["ok"] == 1
    assert [row[key] for key in ["gpu_use", "idle_gpu_hours", "memory_used", "energy_joules", "cost"]] == [None] * 5
    done = subprocess.run([TARN, "report", "--by", "job"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket, LC_ALL="C.UTF-8"))
    assert done.stdout.splitlines()[1].split()[-5:] == ["-"] * 5
    assert "readings for 0% " in done.stderr


def test_one_that_was_stopped_for_others_is_counted_with_all_its_attempts(daemon):
    slow = daemon.api.submit(command=["sleep", "600"], gpus=4, cpus=0, preemptible=True)
    daemon.api.wait_state(slow, "running")
    urgent = daemon.api.submit(command=["sleep", "1"], gpus=4, cpus=0, priority=100)
    daemon.api.wait_end(urgent)
    daemon.api.wait_state(slow, "running")
    row = row_of(daemon.api.get("/v1/report", by="job"), "id", slow)
    assert row["preempted"] == 1 and row["running"] == 1
    assert row["gpu_hours"] > 0
    daemon.verify()


def test_an_empty_stretch_is_an_answer(daemon):
    said = daemon.api.get("/v1/report")
    assert said["rows"] == [] and said["total"]["gpu_hours"] == 0 and said["capacity_gpu_hours"] > 0
    assert said["from"] >= daemon.api.get("/v1/daemon")["started"][:10], "before its first record nothing is known"


@pytest.mark.parametrize("query,words", [
    ({"by": "colour"}, "by 'colour': expected user, queue, job, model or stage"),
    ({"last": "soon"}, "last"),
    ({"last": "0s"}, "expected up to 366 days"),
    ({"last": "400d"}, "expected up to 366 days"),
    ({"shown": "0"}, "shown '0': expected a number from 1"),
    ({"shown": "-1"}, "shown '-1'"),
    ({"lats": "1h"}, "unknown parameter 'lats'; expected last, by, step, kept, shown"),
])
def test_what_makes_no_sense_is_refused(daemon, query, words):
    with pytest.raises(Refused) as refused:
        daemon.api.get("/v1/report", **query)
    assert refused.value.status == 400 and words in refused.value.message
