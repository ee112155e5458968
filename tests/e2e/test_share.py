# SPDX-License-Identifier: Apache-2.0
"""The rules and the dashboard that come along ask only for metrics that a daemon gives, over the door for Prometheus."""

import http.client
import json
import os
import re
import shutil
import subprocess

import pytest

from test_gpu import Machine, gpu
from tarn_test import HERE, wait_until

ROOT = os.path.dirname(os.path.dirname(HERE))
RULES = os.path.join(ROOT, "share", "prometheus", "tarn.rules.yml")
DASHBOARD = os.path.join(ROOT, "share", "grafana", "tarn.json")
# What a driver can say, so that each reading has a sample.
ALL = dict(reserved=500, memory_use=10, encoder=1, decoder=1, memory_temp=60, shutdown=95, fan=30, sm_clock_max=1980, memory_clock=2619,
           pstate=0, reasons=4, sm=50, tensor=20, dram=10, engine=60, occupancy=30, pcie_replays=0, gpm_pcie_tx=5, gpm_pcie_rx=5,
           gpm_nvlink_tx=5, gpm_nvlink_rx=5, row_pending=0, row_failed=0, use=50)


def whole(index, **values):
    """The lines of a device that says all of it; a line holds so many words only."""
    values = list(dict(ALL, **values).items())
    return [gpu(index)] + ["gpu %d " % index + " ".join("%s %s" % pair for pair in values[i:i + 12]) for i in range(0, len(values), 12)]


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.tell(*whole(0), *whole(1), "link 0 1 4")
    machine.port = open_metrics(machine.daemon)
    machine.daemon.start()
    return machine


def open_metrics(daemon):
    """A port of this machine where the daemon will give its metrics."""
    import socket
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        port = door.getsockname()[1]
    daemon.options += ["--metrics", str(port)]
    return port


def ask(port, path, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


def names_of(text):
    return set(re.findall(r"^(\w+)[{ ]", text, re.M)) - {""}


def asked_names(expression):
    """The metrics of an expression: its words, without strings, labels and what PromQL has itself."""
    expression = re.sub(r'"[^"]*"', "", expression)
    expression = re.sub(r"\b(on|by|group_left|group_right|ignoring|without)\s*\([^)]*\)", "", expression)
    expression = re.sub(r"\{[^}]*\}|\[[^\]]*\]", "", expression)
    return {word for word in re.findall(r"[a-zA-Z_:][\w:]*", expression) if word.startswith("tarn") or word.startswith("DCGM")}


def rules():
    """(alert or record, expression) of each rule; the file is read as text, so that no YAML library is needed."""
    found, name, lines = [], None, None
    for line in open(RULES):
        start = re.match(r"\s*- (?:alert|record): (\S+)", line)
        if start:
            name = start.group(1)
        elif re.match(r"\s+expr: ", line):
            lines = [line.split("expr:", 1)[1].replace(">-", "").strip()]
            found.append((name, lines))
        elif lines and re.match(r"\s+(for|labels|annotations):|\s*#|\s*- name:|\s*$", line):
            lines = None
        elif lines:
            lines.append(line.strip())
    return [(name, " ".join(lines)) for name, lines in found]


def expressions():
    document = json.load(open(DASHBOARD))
    for panel in document["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for variable in document["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]


@pytest.fixture
def given(machine):
    """The names of all metrics that a daemon gives in a busy life."""
    job = machine.api.submit(command=["sleep", "60"], gpus="1")
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    held = machine.api.job(job)["devices"][0]["index"]
    machine.tell(*whole(0, use=80, power=400000), *whole(1, use=80), "link 0 1 4", "gpu %d xid 31" % (1 - held))
    wait_until("it was watched", lambda: "tarn_job_energy_joules_total" in machine.metrics() and "tarn_gpu_fault{" in machine.metrics())
    return names_of(machine.metrics()) | names_of(machine.metrics("/metrics/dcgm"))


def test_rules_and_dashboard_ask_for_what_there_is(given):
    known = given | {name for name, _ in rules()}
    asked = [("rule " + name, expression) for name, expression in rules()]
    asked += [("panel " + title, expression) for title, expression in expressions()]
    assert len(asked) > 50
    missing = {(where, name) for where, expression in asked for name in asked_names(expression) if name not in known}
    # Money is there once some was spent, a straggler when there is one (test_prometheus.py).
    missing = {entry for entry in missing if entry[1] not in ("tarn_queue_spent_total", "tarn_job_straggler_ratio")}
    assert not missing


def test_the_dashboard_is_what_its_table_says():
    subprocess.run([os.path.join(ROOT, "tools", "dashboard"), "--check"], check=True)


def test_expressions_are_promql(tmp_path):
    if not shutil.which("promtool"):
        pytest.skip("there is no promtool")
    lines = ["groups:", "- name: panels", "  rules:"]
    for i, (_, expression) in enumerate(expressions()):
        if expression.startswith("label_values"):
            continue
        lines += ["  - record: panel:%d" % i, "    expr: %s" % json.dumps(expression)]
    path = tmp_path / "panels.yml"
    path.write_text("\n".join(lines) + "\n")
    done = subprocess.run(["promtool", "check", "rules", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout


def test_the_door_for_metrics_has_nothing_else(machine):
    wait_until("it was read", lambda: "tarn_gpu_power_watts" in ask(machine.port, "/metrics")[1])
    assert "DCGM_FI_DEV_GPU_UTIL" in ask(machine.port, "/metrics/dcgm")[1]
    for method, path in [("GET", "/v1/jobs"), ("GET", "/v1/config"), ("POST", "/v1/jobs"), ("GET", "/"), ("GET", "/metricsx")]:
        assert ask(machine.port, path, method)[0] == 404, path
    assert ask(machine.port, "/metrics", "POST")[0] in (400, 405)


@pytest.mark.parametrize("address", ["", "x", "127.0.0.1:", "127.0.0.1:99999999", "no.such.host.invalid:9835", ":9835"])
def test_an_address_that_is_none_is_told(make_daemon, address):
    daemon = make_daemon()
    daemon.options += ["--metrics", address]
    process, words = daemon.try_start()
    assert words.startswith("metrics: address '%s'" % address), words
    assert process.returncode == 1


def test_an_address_that_is_taken_is_told(machine, make_daemon):
    other = make_daemon()
    other.options += ["--metrics", "127.0.0.1:%d" % machine.port]
    assert "Address already in use" in other.try_start()[1]
