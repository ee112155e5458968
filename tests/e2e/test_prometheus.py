# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus reads a real daemon, under the rules that come along: each scripted fault gives its alert and no other."""

import json
import re
import shutil
import signal
import socket
import subprocess
import urllib.request

import pytest

import test_gpu
from test_gpu import Machine
from test_share import RULES, open_metrics
from tarn_test import wait_until

pytestmark = pytest.mark.skipif(not shutil.which("prometheus"), reason="there is no prometheus")

CONFIG = """
global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
rule_files: [rules.yml]
scrape_configs:
  - job_name: tarn
    static_configs: [{targets: ["127.0.0.1:%d"]}]
"""


def gpu(index, **values):
    """One that says why its clocks are what they are; what a driver can't say at first is not asked for again."""
    return test_gpu.gpu(index, **dict({"reasons": 0}, **values))


class Prometheus:
    """One of our own, for as long as the test runs; what has to hold for minutes has to hold for two seconds."""

    def __init__(self, folder, port):
        folder.mkdir()
        (folder / "prometheus.yml").write_text(CONFIG % port)
        (folder / "rules.yml").write_text(re.sub(r"for: \d+m", "for: 2s", open(RULES).read()))
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            self.address = "127.0.0.1:%d" % door.getsockname()[1]
        self.log = open(folder / "log", "w")
        self.process = subprocess.Popen(
            ["prometheus", "--config.file", str(folder / "prometheus.yml"), "--storage.tsdb.path", str(folder / "data"),
             "--web.listen-address", self.address], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def get(self, path):
        try:
            with urllib.request.urlopen("http://%s/api/v1/%s" % (self.address, path), timeout=10) as reply:
                return json.load(reply)["data"]
        except OSError:
            return None

    def firing(self):
        """{(alert, UUID)}, or None while it does not answer."""
        found = self.get("alerts")
        return None if found is None else {
            (alert["labels"]["alertname"], alert["labels"].get("uuid")) for alert in found["alerts"] if alert["state"] == "firing"}

    def targets(self):
        found = self.get("targets")
        return None if found is None else {
            target["labels"]["job"]: (target["health"], target["lastError"]) for target in found["activeTargets"]}

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(30)
        self.log.close()


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.tell(*[gpu(i) for i in range(6)])
    machine.port = open_metrics(machine.daemon)
    machine.daemon.start()
    return machine


@pytest.fixture
def prometheus(machine, tmp_path):
    prometheus = Prometheus(tmp_path / "prometheus", machine.port)
    yield prometheus
    prometheus.stop()


def start_on_all(machine):
    """A job on each device, by the number of that; each saves nothing and goes on when it is told to end."""
    jobs = [machine.api.submit(command=["sleep", "600"], gpus="1", cpus=0) for _ in range(6)]
    for job in jobs:
        wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    return {machine.api.job(job)["devices"][0]["index"]: job for job in jobs}


def start(machine, prometheus, *busy):
    """All is read, and well, before anything happens."""
    wait_until("it is read", lambda: prometheus.targets() == {"tarn": ("up", "")})
    wait_until("it evaluates", lambda: prometheus.firing() is not None)
    machine.tell(*busy)
    wait_until("it was seen busy", lambda: all(machine.gpu(i)["reading"].get("gpu_use", 0) >= 0.8 for i in range(6)))
    wait_until("all is well", lambda: prometheus.firing() == set())


def end(machine, *jobs):
    for job in jobs:
        if machine.api.job(job)["state"] != "ended":
            machine.api.post("/v1/jobs/%d/cancel" % job)
        wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")


def test_each_fault_gives_its_alert_the_drain_the_history_and_is_over(machine, prometheus):
    jobs = start_on_all(machine)
    busy = [gpu(i, use=90, temp=70, power=600000) for i in range(6)]
    start(machine, prometheus, *busy)
    wait_until("they were watched", lambda: all((machine.api.job(job)["gpu_usage"] or {"watched_seconds": 0})["watched_seconds"] > 2
                                                for job in jobs.values()))
    end(machine, jobs[4])
    ill = [gpu(0, use=0), gpu(1, use=90, ecc_corrected=5000), gpu(2, use=90, temp=80, reasons=0x48, sm_clock=700), gpu(3, use=90),
           gpu(4, use=0, used=30000), gpu(5, use=90)]
    machine.tell(*ill, "gpu 0 xid 79", "gpu 3 hang 600")
    expected = {("TarnGpuXid", "GPU-0"), ("TarnGpuEccStorm", "GPU-1"), ("TarnGpuThermalThrottling", "GPU-2"), ("TarnGpuHangs", "GPU-3"),
                ("TarnGpuLeakedMemory", "GPU-4")}
    wait_until("each has its alert", lambda: expected <= (prometheus.firing() or set()))
    # Half of all devices are out of use: that is told, too.
    wait_until("and there is no other", lambda: prometheus.firing() == expected | {("TarnGpusUnusable", None)})

    # The drain: of those that can't be used, and of no other.
    sick = {i: machine.gpu(i)["sick"] for i in range(6)}
    assert sick[0] == "XID 79: fell off the bus; reboot needed" and sick[3] == "the driver does not answer"
    assert sick[4] == "memory is in use, but no process holds it"
    assert sick[1] is sick[2] is sick[5] is None, "people are told of these, no more"
    assert [fault["name"] for fault in machine.gpu(1)["faults"]] == ["ecc-storm"]
    for index in [1, 2, 5]:
        assert machine.api.job(jobs[index])["state"] == "running", "who runs on those that are well enough runs on"
    waiting = machine.api.submit(command=["sleep", "600"], gpus="1", cpus=0)
    assert machine.api.job(waiting)["state"] == "queued"

    # The history: each job has what its device did while it was there to be read.
    wait_until("the slow clock shows", lambda: machine.api.job(jobs[2])["gpu_usage"]["gpus"][0]["clock"] < 1900)
    end(machine, *[jobs[i] for i in [0, 1, 2, 3, 5]])
    ran = wait_until("the one that waited runs", lambda: machine.api.job(waiting)["devices"])
    assert ran[0]["uuid"] in ("GPU-1", "GPU-2", "GPU-5")
    kept = {i: machine.api.job(job)["gpu_usage"] for i, job in jobs.items()}
    assert all(usage["gpu"]["peak"] == 0.9 and usage["watched_seconds"] > 2 for usage in kept.values())
    assert kept[2]["gpus"][0]["clock"] < 1900 and kept[5]["gpus"][0]["clock"] == 1980
    assert kept[5]["gpu"]["mean"] > 0.6
    past = {i: machine.api.get("/v1/gpus/GPU-%d/history" % i, last="10m", step="1s", keys="gpu_use,temperature")["readings"] for i in range(6)}
    assert 0.9 in past[0]["gpu_use"]["mean"] and past[0]["gpu_use"]["mean"][-1] == 0
    assert 80 in past[2]["temperature"]["most"] and 80 not in past[5]["temperature"]["most"]
    assert past[3]["gpu_use"]["at"][-1] < past[5]["gpu_use"]["at"][-1] - 5, "of the one that hangs nothing is made up"

    # The recovery: by itself, except for faults that an administrator clears.
    end(machine, waiting)
    machine.tell(*[gpu(i) for i in range(6)])
    needs_clearing = {("TarnGpuXid", "GPU-0")}
    wait_until("the others are over", lambda: prometheus.firing() == needs_clearing)
    assert machine.gpu(0)["sick"] == sick[0]
    machine.api.post("/v1/gpus/GPU-0/clear")
    wait_until("all is over", lambda: prometheus.firing() == set())
    again = start_on_all(machine)
    assert sorted(again) == list(range(6)), "each is given again"


def gang(machine):
    """A job of three, and which device its ranks have."""
    job = machine.api.submit(command=["sleep", "600"], gpus="1", ranks=3, cpus=0)
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    return job, [device["index"] for device in sorted(machine.api.job(job)["devices"], key=lambda device: device["rank"])]


def test_a_straggler_gives_its_alert_its_diagnosis_and_is_over(machine, prometheus):
    """Two gangs: in one a member waits for something, in the other one's clock is low."""
    first, idler = gang(machine)
    second, slower = gang(machine)
    start(machine, prometheus, *[gpu(i, use=95) for i in range(6)])
    assert "tarn_job_straggler_ratio{" not in machine.metrics()
    ill = {idler[1]: dict(use=12), slower[2]: dict(sm_clock=900)}
    machine.tell(*[gpu(i, **dict({"use": 95}, **ill.get(i, {}))) for i in range(6)])
    expected = {("TarnGpuStraggler", "GPU-%d" % i) for i in ill}
    wait_until("both are told, and nothing else", lambda: prometheus.firing() == expected, patience=180)
    assert re.search(r'tarn_job_straggler_ratio\{hpc_job="%d",.*uuid="GPU-%d",.*rank="1",of="use"\} 0\.' % (first, idler[1]),
                     machine.metrics())
    assert re.search(r'tarn_job_straggler_ratio\{hpc_job="%d",.*uuid="GPU-%d",.*rank="2",of="clock"\} 0\.' % (second, slower[2]),
                     machine.metrics())
    assert all(machine.gpu(i)["sick"] is None and machine.gpu(i)["faults"] == [] for i in range(6)), "the devices are well"
    assert machine.api.job(first)["state"] == machine.api.job(second)["state"] == "running"

    def noticed(job):
        usage = machine.api.job(job)["gpu_usage"]
        return {entry["name"]: entry["evidence"] for entry in usage["diagnoses"]}.get("straggler") if usage else None
    wait_until("it was watched long enough", lambda: (noticed(first) or "").startswith("rank 1: busy "), patience=180)
    wait_until("it was watched long enough", lambda: (noticed(second) or "").startswith("rank 2: "), patience=180)
    end(machine, first)
    assert noticed(first).startswith("rank 1: busy "), "the history has it"
    assert re.search(r"the others at least [89]\d %$", noticed(first))

    machine.tell(*[gpu(i, use=95) for i in range(6)])
    wait_until("it is over", lambda: prometheus.firing() == set(), patience=180)
    end(machine, second)
    assert {each["rank"]: each["clock"] < 1900 for each in machine.api.job(second)["gpu_usage"]["gpus"]} == {0: False, 1: False, 2: True}
    again, _ = gang(machine)
    assert machine.api.job(again)["state"] == "running", "the devices were not kept from jobs"


def test_a_daemon_that_is_killed_is_told_and_a_new_one_ends_it(machine, prometheus):
    wait_until("it is read", lambda: (prometheus.targets() or {}).get("tarn") == ("up", ""))
    machine.daemon.kill()
    wait_until("it is told", lambda: prometheus.firing() == {("TarnDown", None)})
    machine.daemon.start()
    wait_until("it is over", lambda: prometheus.firing() == set())
