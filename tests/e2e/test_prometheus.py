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


def test_each_fault_gives_its_alert_the_drain_and_the_history(machine, prometheus):
    jobs = start_on_all(machine)
    wait_until("it is read", lambda: prometheus.targets() == {"tarn": ("up", "")})
    wait_until("it evaluates", lambda: prometheus.firing() is not None)
    busy = [gpu(i, use=90, temp=70, power=600000) for i in range(6)]
    machine.tell(*busy)
    wait_until("it was seen busy", lambda: all(machine.gpu(i)["reading"].get("gpu_use") == 0.9 for i in range(6)))
    wait_until("all is well", lambda: prometheus.firing() == set())

    machine.api.post("/v1/jobs/%d/cancel" % jobs[4])
    wait_until("it ended", lambda: machine.api.job(jobs[4])["state"] == "ended")
    ill = [gpu(0, use=0), gpu(1, use=90, ecc_corrected=5000), gpu(2, use=90, temp=80, reasons=0x48), gpu(3, use=90),
           gpu(4, use=0, used=30000), gpu(5, use=90)]
    machine.tell(*ill, "gpu 0 xid 79", "gpu 3 hang 600")
    expected = {("TarnGpuXid", "GPU-0"), ("TarnGpuEccStorm", "GPU-1"), ("TarnGpuThermalThrottling", "GPU-2"), ("TarnGpuHangs", "GPU-3"),
                ("TarnGpuLeakedMemory", "GPU-4")}
    wait_until("each has its alert", lambda: expected <= (prometheus.firing() or set()))
    # Half of all devices are out of use: that is told, too.
    wait_until("and there is no other", lambda: prometheus.firing() == expected | {("TarnGpusUnusable", None)})

    sick = {i: machine.gpu(i)["sick"] for i in range(6)}
    assert sick[0] == "XID 79: fell off the bus; reboot needed" and sick[3] == "the driver does not answer"
    assert sick[4] == "memory is in use, and no process has it"
    assert sick[1] is sick[2] is sick[5] is None, "people are told of these, no more"
    waiting = machine.api.submit(command=["true"], gpus="1", cpus=0)
    assert machine.api.job(waiting)["state"] == "queued"

    for index in [0, 1, 5]:
        machine.api.post("/v1/jobs/%d/cancel" % jobs[index])
        wait_until("it ended", lambda: machine.api.job(jobs[index])["state"] == "ended")
    wait_until("the one that waited ran", lambda: machine.api.job(waiting)["state"] == "ended")
    assert machine.api.job(waiting)["result"] == "ok"
    usage = machine.api.job(jobs[1])["gpu_usage"]
    assert usage["gpu"]["peak"] == 0.9 and usage["watched_seconds"] > 2
    # The device that fell off the bus did nothing for its job from then on; the job's record has that.
    assert machine.api.job(jobs[0])["gpu_usage"]["gpu"]["peak"] == 0.9

    machine.tell(*[gpu(i) for i in range(6)])
    machine.api.post("/v1/gpus/GPU-0/clear")
    for entry in sorted(expected - {("TarnGpuEccStorm", "GPU-1")}):
        wait_until("%s of %s is over" % entry, lambda: entry not in prometheus.firing())


def test_a_daemon_that_is_killed_is_told_and_a_new_one_ends_it(machine, prometheus):
    wait_until("it is read", lambda: (prometheus.targets() or {}).get("tarn") == ("up", ""))
    machine.daemon.kill()
    wait_until("it is told", lambda: prometheus.firing() == {("TarnDown", None)})
    machine.daemon.start()
    wait_until("it is over", lambda: prometheus.firing() == set())
