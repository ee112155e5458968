# SPDX-License-Identifier: Apache-2.0
"""Capacity that comes and goes: work is saved, and its job goes on elsewhere."""

import os
import subprocess
import sys

import pytest

import tarn_test
from tarn_test import Refused, wait_until

# Counts, and saves how far it has come when it is asked to by SIGUSR1.
SAVING = """
import os, signal, subprocess, sys, time
path = os.environ["TARN_CHECKPOINT"] + "/n"
n = int(open(path).read()) if os.path.exists(path) else 0
def save(number, frame):
    with open(path, "w") as file:
        file.write(str(n))
    subprocess.run([%r, "checkpoint"], check=True)
    os.write(1, b"saved %%d\\n" %% n)  # print() may be interrupted in print()
    sys.exit(3)
signal.signal(signal.SIGUSR1, save)
print("from", n, flush=True)
while True:
    n += 1
    time.sleep(0.02)
""" % tarn_test.TARN


def wait_output(api, number, words):
    wait_until("job %d says %s" % (number, words), lambda: words in api.output(number))


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SAVING)
    tmp_path.chmod(0o755)
    return "%s %s" % (sys.executable, path)


def test_the_signal_reaches_who_catches_it_and_not_its_shell(api, program, tmp_path):
    number = api.submit(run="%s; echo the shell goes on, status $?" % program, preemptible=True, cwd=str(tmp_path),
                        checkpoint={"signal": "USR1", "grace": "50s"})
    wait_output(api, number, "from 0")
    api.post("/v1/jobs/%d/cancel" % number)
    job = api.wait_end(number)
    assert "saved" in api.output(number)
    assert "the shell goes on, status 3" in api.output(number)
    assert job["result"] == "cancelled" and job["exit_code"] == 0  # nothing died of a signal


def test_who_catches_no_signal_gets_the_usual_one(api):
    number = api.submit(run="trap 'echo told to stop; exit 4' TERM; echo ready; while :; do sleep 0.05; done",
                        checkpoint={"signal": "USR1", "grace": "50s"})
    wait_output(api, number, "ready")
    api.post("/v1/jobs/%d/cancel" % number)
    assert api.wait_end(number)["exit_code"] == 4
    assert "told to stop" in api.output(number)


def test_a_job_is_told_how_often_it_should_save(api):
    fixed = api.submit(run="echo every $TARN_CHECKPOINT_EVERY", checkpoint={"every": "10m"})
    automatic = api.submit(run="echo every $TARN_CHECKPOINT_EVERY; sleep 60", checkpoint={"every": "auto", "takes": "30s"})
    plain = api.submit(run="echo every ${TARN_CHECKPOINT_EVERY-never}")
    for number in (fixed, plain):
        api.wait_end(number)
    assert api.output(fixed) == "every 600\n" and api.output(plain) == "every never\n"
    wait_output(api, automatic, "every")
    every = int(api.output(automatic).split()[1])
    assert 12400 < every < 12500  # sqrt(2 * 30 s * 30 days) less a little: the machine has just come
    checkpoint = api.job(automatic)["checkpoint"]
    assert checkpoint["auto"] and int(checkpoint["every"]) == every and checkpoint["takes"] == 30
    assert 0.0045 < checkpoint["expected_waste"] < 0.0052  # sqrt(2 * 30 s / 30 days)


def node_of(api):
    return api.get("/v1/nodes")["nodes"][0]


def test_an_interruption_stops_and_requeues_with_work_saved(daemon, api, program, tmp_path):
    saving = api.submit(run=program, gpus=1, cpus=0, preemptible=True, cwd=str(tmp_path), checkpoint={"signal": "USR1", "grace": "50s"})
    staying = api.submit(run="sleep 60", gpus=1, cpus=0)
    wait_output(api, saving, "from 0")
    api.wait_state(staying, "running")
    name = node_of(api)["name"]
    told = subprocess.run([tarn_test.TARN, "interrupt", name, "--in", "100s"], env=daemon.environment(), capture_output=True, text=True)
    assert told.returncode == 0 and "is taken away at" in told.stdout, told
    api.wait_state(saving, "queued")
    wait_output(api, saving, "saved")
    job = api.job(saving)
    assert job["preemptions"] == 1 and job["retries"] == 0
    assert job["preempted_for"] == {"job": None, "rule": "machine", "text": "its node is taken away"}
    assert job["lost_seconds"] == 0 and job["attained_seconds"] > 0
    assert api.job(staying)["state"] == "running"  # until its machine goes
    late = api.submit(run="true", gpus=1, cpus=0)
    assert "node %s is taken away in" % name in api.why(late)["text"]
    assert node_of(api)["going_at"]
    api.post("/v1/nodes/%s/interrupt" % name, {"cancel": True})
    api.wait_end(late)
    wait_until("it goes on where it was", lambda: any(
        line.startswith("from ") and line != "from 0" for line in api.output(saving).splitlines()))
    assert node_of(api)["going_at"] is None


def test_the_notice_bounds_the_grace(api):
    number = api.submit(run="trap '' TERM; echo ready; while :; do sleep 0.05; done", preemptible=True, grace="1h")
    wait_output(api, number, "ready")
    api.post("/v1/nodes/%s/interrupt" % node_of(api)["name"], {"in": 1})
    api.wait_state(number, "queued")  # long before its own grace would have been over


def test_a_bad_interruption_is_refused(api):
    name = node_of(api)["name"]
    for path, body, words in (("nowhere", {}, "no such node"), (name, {"inn": 3}, "unknown key 'inn'"),
                              (name, {"in": "soon"}, "in: 'soon'"), (name, {"cancel": True}, "no interruption is announced")):
        with pytest.raises(Refused) as caught:
            api.post("/v1/nodes/%s/interrupt" % path, body)
        assert words in caught.value.message


def test_spot_only_waits_where_there_is_no_spot_machine(api):
    number = api.submit(run="true", gpus=1, preemptible=True, spot="only")
    why = api.why(number)
    assert why["kind"] == "spot" and "spot rule is only" in why["text"]
    assert api.job(number)["spot"] == "only"


def test_only_its_owner_says_that_work_is_saved(daemon, api):
    number = api.submit(run="%s checkpoint && echo said; sleep 60" % tarn_test.TARN, checkpoint={"every": "1h"})
    wait_output(api, number, "said")
    assert api.job(number)["checkpoint"]["last"]
    ended = api.submit(run="true")
    api.wait_end(ended)
    with pytest.raises(Refused) as caught:
        api.post("/v1/jobs/%d/checkpoint" % ended)
    assert caught.value.status == 409 and "has ended" in caught.value.message
    environment = daemon.environment()
    environment.pop("TARN_JOB_ID", None)
    outside = subprocess.run([tarn_test.TARN, "checkpoint"], env=environment, capture_output=True, text=True)
    assert outside.returncode == 2 and "TARN_JOB_ID is not set" in outside.stderr
    shown = subprocess.run([tarn_test.TARN, "show", str(number)], env=environment, capture_output=True, text=True)
    assert "every 1h" in shown.stdout and "· last " in shown.stdout


TYPES = {"h100x8": {"gpus": 8, "model": "h100", "cpus": 128, "memory": "1T", "price": 20, "spot_price": 8, "boot": "0s", "most": 3}}


def test_scale_says_which_machines_are_wanted(daemon, api):
    def scale(*options):
        return subprocess.run([tarn_test.TARN, "scale", *options], env=daemon.environment(), capture_output=True, text=True)

    assert "no node_types" in scale().stderr
    api.put("/v1/config", {"node_types": TYPES})
    assert api.get("/v1/config")["node_types"]["h100x8"]["spot_price"] == 8
    assert api.get("/v1/scale") == {"wanted": [], "may_go": [], "types": 1}
    running = api.submit(run="sleep 600", gpus=4, cpus=0)
    api.wait_state(running, "running")
    waiting = api.submit(run="true", gpus=4, cpus=0)
    borrowing = api.submit(run="true", gpus=2, cpus=0, preemptible=True)
    wanted = {wish["spot"]: wish for wish in api.get("/v1/scale")["wanted"]}
    assert wanted[True]["count"] == 1 and wanted[True]["jobs"] == 1 and wanted[True]["price"] == 8
    assert wanted[True]["first_job"] == borrowing
    assert wanted[False]["count"] == 1 and wanted[False]["first_job"] == waiting and wanted[False]["price"] == 20
    table = scale().stdout
    assert "h100x8" in table and "on demand" in table and "20.00" in table
    why = api.why(waiting)
    assert any("with one more h100x8 (20.00 per hour) it would start now" in line for line in why["lines"])
    added = api.post("/v1/whatif", {"add_nodes": ["1:h100:8"]})
    moved, = [job for job in added["jobs"] if job["id"] == waiting]
    assert added["added_nodes"]["per_hour"] == 20 and moved["change"]["in_seconds"] < 2, (added, why)
    api.post("/v1/jobs/%d/cancel" % running)
    api.wait_end(waiting)
    assert api.get("/v1/scale")["wanted"] == []


def test_bad_node_types_change_nothing(api):
    for types, words in (({"a": {"gpus": 2, "cpus": 1, "memory": "1G"}}, "the model of its gpus"),
                         ({"a": {"cpus": 1}}, "cpus and memory"), ({"a": {"cpus": 1, "memory": "1G", "pric": 1}}, "did you mean 'price'"),
                         ({"a": {"cpus": 1, "memory": "1G", "price": -1}}, "price per hour")):
        with pytest.raises(Refused) as caught:
            api.put("/v1/config", {"node_types": types})
        assert words in caught.value.message and "node type a" in caught.value.message
    assert "node_types" not in api.get("/v1/config")
