# SPDX-License-Identifier: Apache-2.0
"""Before a change: what would change, what it would have been like, who did it, and how to take it back."""

import datetime
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import threading
import time

import pytest

from tarn_test import IS_ROOT, Refused, TARN, TARND, as_user, wait_until

SMALL = {"cpus": 0.01}


class Shell:
    """Commands of tarn against one daemon, with files in its folder."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.environment = dict(daemon.environment(), TARN_SOCKET=daemon.socket, TERM="dumb")

    def file(self, name, text):
        path = os.path.join(self.daemon.root, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    def run(self, *words, status=0, stdin=""):
        done = subprocess.run([TARN, *map(str, words)], text=True, input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120, env=self.environment, cwd=self.daemon.root)
        assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    def json(self, *words):
        done = subprocess.run([TARN, *map(str, words), "--json"], text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, env=self.environment,
                              cwd=self.daemon.root)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)

    def on_terminal(self, *words, says, after="apply? [y/N]"):
        """What is said on a terminal, and the exit status; `says` is typed once it asks."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.daemon.root)
            os.execve(TARN, [TARN, *map(str, words)], self.environment)
        text, has_said, end = "", False, time.monotonic() + 60
        while time.monotonic() < end:
            if not select.select([fd], [], [], 1)[0]:
                continue
            try:
                chunk = os.read(fd, 4096)
            except OSError:
                break
            if not chunk:
                break
            text += chunk.decode("utf-8", "replace")
            if after in text and not has_said:
                os.write(fd, says.encode() + b"\n")
                has_said = True
        os.close(fd)
        return text, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def shell(daemon):
    return Shell(daemon)


def submit(api, run_s, gpus, **keys):
    return api.submit(command=["sleep", str(run_s)], gpus=gpus, **dict(SMALL, **keys))


def limits(api):
    return {queue["name"]: queue["limit"] for queue in api.get("/v1/queues")["queues"]}


# Changes and their log


def test_an_empty_file_is_not_a_configuration(shell, api):
    shell.file("a.yaml", "queues: {research: {limit: 2}}\n")
    shell.run("apply", "-f", "a.yaml", "--yes")
    shell.file("empty.yaml", "# nothing yet\n")
    assert "empty.yaml: it is empty" in shell.run("apply", "-f", "empty.yaml", "--yes", status=1)
    assert limits(api)["research"] == 2
    shell.file("default.yaml", "{}\n")
    shell.run("apply", "-f", "default.yaml", "--yes")
    assert "research" not in limits(api)


def test_in_a_pipe_nothing_is_asked_and_a_dry_run_changes_nothing(shell, api):
    shell.file("a.yaml", "queues: {research: {limit: 2}}\n")
    said = shell.run("apply", "-f", "a.yaml", "--dry-run")
    assert "a.yaml: 1 change" in said and "research" in said and "research" not in limits(api)
    assert shell.json("config", "log") == {"changes": [], "last": 0}
    said = shell.run("apply", "-f", "a.yaml")
    assert "[y/N]" not in said and "applied as change 1" in said
    assert limits(api)["research"] == 2
    assert "nothing changes" in shell.run("apply", "-f", "a.yaml")
    assert shell.json("config", "log")["last"] == 1


def test_on_a_terminal_it_asks_and_no_means_no(shell, api):
    shell.file("a.yaml", "queues: {research: {limit: 2}}\n")
    for answer in ("", "n", "maybe"):
        text, status = shell.on_terminal("apply", "-f", "a.yaml", says=answer)
        assert status == 1 and "nothing was changed" in text, text
        assert text.index("queue research") < text.index("apply? [y/N]")
    assert "research" not in limits(api)
    text, status = shell.on_terminal("apply", "-f", "a.yaml", says="y")
    assert status == 0 and "applied as change 1" in text, text
    text, status = shell.on_terminal("apply", "--undo", "--yes", says="")
    assert status == 0 and "[y/N]" not in text and "applied as change 2" in text, text


def test_the_log_has_the_author_and_what_changed(shell, api, daemon):
    shell.file("a.yaml", "queues: {research: {limit: 2}}\norder: fifo\n")
    shell.file("b.yaml", "queues: {research: {limit: 3}}\norder: fifo\n")
    shell.run("apply", "-f", "a.yaml")
    shell.run("apply", "-f", "b.yaml")
    me = subprocess.run(["id", "-un"], text=True, stdout=subprocess.PIPE, check=True).stdout.strip()
    daemon.kill()
    daemon.start()
    log = shell.json("config", "log")
    assert [change["number"] for change in log["changes"]] == [2, 1] and log["last"] == 2
    assert all(change["user"] == me and change["undone"] is None for change in log["changes"])
    assert log["changes"][0]["text"] == "queue research limit 2 -> 3 gpus"
    assert log["changes"][1]["count"] == 3 and "; setting order default -> fifo" in log["changes"][1]["text"]
    listed = shell.run("config", "log")
    assert me in listed and "limit 2 -> 3 gpus" in listed
    assert "limit: 2" in shell.run("config", "show", "--at", 1)
    assert "limit: 3" in shell.run("config", "show", "--at", 2)
    assert shell.run("config", "show") == shell.run("config", "show", "--at", 2)
    assert "the last one is 2" in shell.run("config", "show", "--at", 3, status=1)
    shell.run("config", "show", "--at", "x", status=1)
    shell.run("config", "log", "--at", 1, status=2)
    assert "change number=2" in shell.run("replay", "--print")
    daemon.verify()


def test_undo_restores_and_is_a_change_itself(shell, api, daemon):
    shell.file("a.yaml", "queues: {research: {limit: 2}}\n")
    shell.file("b.yaml", "queues: {research: {limit: 3}, vision: {weight: 2}}\norder: fifo\n")
    shell.run("apply", "-f", "a.yaml")
    before = shell.run("config", "show")
    shell.run("apply", "-f", "b.yaml")
    after = shell.run("config", "show")
    said = shell.run("apply", "--undo", "--dry-run")
    assert "undo of change 2: 4 changes" in said and "limit 3 -> 2 gpus" in said and shell.run("config", "show") == after
    shell.run("apply", "--undo")
    assert shell.run("config", "show") == before
    newest = shell.json("config", "log")["changes"][0]
    assert (newest["number"], newest["undone"]) == (3, 2)
    shell.run("apply", "--undo")
    assert shell.run("config", "show") == after
    shell.run("apply", "--undo", 1)
    assert limits(api) == {"root": None, "default": None}
    assert "back to before 1: " in shell.run("config", "log")
    assert "no such change" in shell.run("apply", "--undo", 9, status=1)
    shell.run("apply", "--undo", "-f", "a.yaml", status=2)
    shell.run("apply", "--undo", 1, 2, status=2)
    daemon.verify()


def test_without_a_change_there_is_nothing_to_undo(shell):
    assert "nothing has been changed yet" in shell.run("apply", "--undo", status=1)
    assert "nothing has been changed yet" in shell.run("config", "log")


def test_an_undo_that_does_not_fit_any_more_is_refused_with_the_reason(shell, api):
    shell.file("a.yaml", "queues: {research: {}, team: {parent: research}}\n")
    shell.file("none.yaml", "{}\n")
    shell.file("b.yaml", "queues: {team: {}}\n")
    for name in ("a", "none", "b"):
        shell.run("apply", "-f", name + ".yaml")
    held = submit(api, 600, 1, queue="team")
    said = shell.run("apply", "--undo", 2, status=1)
    assert "undo of change 2: queue team: is below root, and cannot be moved below research" in said
    said = shell.run("apply", "--undo", status=1)
    assert "undo of change 3: queue team: job %d is in it" % held in said
    assert shell.json("config", "log")["last"] == 3


def test_who_agreed_to_something_else_is_refused(api):
    api.put("/v1/config", {"order": "fifo"})
    seen = api.put("/v1/config?dry_run=1", {"order": "shortest"})["last"]
    api.put("/v1/config", {"order": "deadline"})
    with pytest.raises(Refused) as caught:
        api.put("/v1/config?seen=%d" % seen, {"order": "shortest"})
    assert caught.value.status == 409 and "(change 2); review it" in caught.value.message
    assert api.get("/v1/config")["order"] == "deadline"


def test_only_the_newest_hundred_changes_are_kept(api, daemon):
    for number in range(105):
        api.put("/v1/config", {"queues": {"a": {"weight": number + 2}}})
    daemon.terminate()
    daemon.start()
    log = api.get("/v1/config/changes")
    assert log["last"] == 105 and [change["number"] for change in log["changes"]] == list(range(105, 5, -1))
    with pytest.raises(Refused) as caught:
        api.post("/v1/config/undo?change=5")
    assert caught.value.status == 404 and "too long ago" in caught.value.message
    api.post("/v1/config/undo?change=6")
    assert api.get("/v1/config")["queues"]["a"]["weight"] == 6
    daemon.verify()


@pytest.mark.skipif(not IS_ROOT, reason="needs root to act as another user")
def test_who_is_no_administrator_may_look_and_not_change(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    api = daemon.api
    api.put("/v1/config", {"order": "fifo"})
    assert as_user(65534, lambda: api.put("/v1/config?dry_run=1", {"order": "shortest"}))["applied"] is False
    assert as_user(65534, lambda: api.post("/v1/config/undo?dry_run=1"))["undone"] == 1
    assert as_user(65534, lambda: api.get("/v1/config/changes"))["last"] == 1
    for ask in (lambda: api.put("/v1/config", {"order": "shortest"}), lambda: api.post("/v1/config/undo")):
        with pytest.raises(Refused) as caught:
            as_user(65534, ask)
        assert caught.value.status == 403 and "only administrators" in caught.value.message


@pytest.mark.parametrize("path", ["/v1/config?at=x", "/v1/config?at=-1", "/v1/config?at=99999999999999999999"])
def test_numbers_of_changes_are_read_with_care(api, path):
    with pytest.raises(Refused) as caught:
        api.get(path)
    assert caught.value.status == 400 and "at '%s': expected a number from 0" % path.split("=")[1] in caught.value.message


# What if


def clock(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc).timestamp()


def whatif(api, **keys):
    return api.post("/v1/whatif", keys)


def starts(reply, side):
    return {job["label"]: job[side] and job[side]["start"] and clock(job[side]["start"]) for job in reply["jobs"]}


def a_line_of_jobs(api, count=6, gate_s=1.5):
    """One that has the whole machine, and short ones behind it, each with an estimate that is kept."""
    gate = submit(api, gate_s, 4, estimate="%dms" % (gate_s * 1000), max_duration="5m", name="gate")
    api.wait_state(gate, "running")
    numbers = [submit(api, 0.5 + 0.1 * (number % 3), 1 + 2 * (number % 2), estimate="%dms" % (500 + 100 * (number % 3)),
                      max_duration="%ds" % (60 + number), name="n%d" % number) for number in range(count)]
    return gate, numbers


SETTLED = {"order": "fifo", "predict": False}
TOLERANCE_S = 0.9  # starts and ends of real processes, one after another


def tolerance(api, asked):
    """More on a machine that is busy: twice what these jobs took longer than they were asked to (number -> seconds)."""
    ran = {number: clock(api.job(number)["ended"]) - clock(api.job(number)["started"]) for number in asked}
    return TOLERANCE_S + 2 * sum(max(0, ran[number] - seconds) for number, seconds in asked.items())


def test_it_agrees_with_what_then_happens(api):
    api.put("/v1/config", SETTLED)
    _, numbers = a_line_of_jobs(api)
    said = whatif(api, set="order=shortest")
    assert {job["label"] for job in said["jobs"]} == {str(number) for number in numbers}
    foreseen = starts(said, "now")
    order = [n for n in sorted(foreseen, key=lambda n: (foreseen[n], int(n)))]
    real = {str(number): clock(api.wait_end(number)["started"]) for number in numbers}
    near = tolerance(api, {number: 0.5 + 0.1 * (at % 3) for at, number in enumerate(numbers)})
    for number in numbers:
        assert abs(real[str(number)] - foreseen[str(number)]) < near, (number, near, foreseen, real)
    for first, then in zip(order, order[1:]):
        if foreseen[first] + 0.3 < foreseen[then]:
            assert real[first] < real[then], (first, then, foreseen, real)


def test_it_agrees_with_what_happens_once_the_change_is_made(api):
    api.put("/v1/config", dict(SETTLED, queues={"a": {}, "b": {}}))
    gate = submit(api, 1.5, 4, estimate="1500ms", max_duration="1m")
    api.wait_state(gate, "running")
    numbers = [submit(api, 0.6, 2, estimate="600ms", max_duration="1m", queue="ab"[number % 2]) for number in range(6)]
    change = dict(SETTLED, queues={"a": {"limit": 2}, "b": {}})
    document = {"command": ["sleep", "0.3"], "gpus": 4, "estimate": "300ms", "max_duration": "1m", "cpus": 0.01,
                "sender_cwd": "/", "queue": "b"}
    said = whatif(api, config=change, cancel=str(numbers[0]), submit=document)
    assert said["jobs"][0]["now"] is None and said["jobs"][0]["name"] == "sleep"
    foreseen = starts(said, "change")
    assert starts(said, "now")[str(numbers[0])] and not foreseen[str(numbers[0])]
    api.post("/v1/jobs/%d/cancel" % numbers[0])
    api.put("/v1/config", change)
    new = api.submit(document)
    assert said["jobs"][0]["label"] == str(new)
    real = {number: clock(api.wait_end(number)["started"]) for number in numbers[1:] + [new]}
    near = tolerance(api, {number: 0.3 if number == new else 0.6 for number in real})
    for number, start in real.items():
        assert abs(start - foreseen[str(number)]) < near, (number, near, start - foreseen[str(number)], said)


def test_nothing_is_changed_by_asking(api, daemon):
    gate, numbers = a_line_of_jobs(api)
    before = api.get("/v1/config"), len(api.jobs())
    records = daemon.verify()
    whatif(api, set=["order=fifo", "queues.new.limit=1"], add_nodes="2:h100:8", submit={"run": "true", "sender_cwd": "/"},
           cancel=[str(gate)], drain=api.get("/v1/nodes")["nodes"][0]["name"])
    assert (api.get("/v1/config"), len(api.jobs())) == before
    assert "new" not in limits(api) and len(api.get("/v1/nodes")["nodes"]) == 1
    assert api.job(gate)["state"] == "running" and "records" in records
    assert api.get("/v1/config/changes")["last"] == 0
    for number in numbers:
        api.wait_end(number)
    daemon.verify()


def test_more_machines_fewer_machines(api):
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    gate, numbers = a_line_of_jobs(api, gate_s=60)
    wide = submit(api, 1, 4, estimate="1s", max_duration="1m")
    said = whatif(api, add_nodes=["2:h100:4"])
    assert said["sooner"] == len(numbers) + 1 and said["later"] == 0
    assert all(job["change"]["in_seconds"] < 2 for job in said["jobs"])
    queue = said["queues"][0]
    assert queue["queue"] == "default" and queue["wait_mean"]["change"] < queue["wait_mean"]["now"]
    assert queue["wait_p50"]["change"] <= queue["wait_p95"]["change"] and queue["cost"] == {"now": None, "change": None}
    assert clock(queue["drained"]["change"]) < clock(queue["drained"]["now"])
    drained = whatif(api, drain=node)
    assert drained["later"] == len(numbers) + 1 and drained["total"]["never"] == {"now": 0, "change": len(numbers) + 1}
    assert all(job["change"]["start"] is None and job["later_seconds"] is None for job in drained["jobs"])
    gone = whatif(api, remove=[node], add_nodes="1:h100:4")
    assert gone["later"] == 0, gone  # what runs is lost, so that the new one is free at once
    assert api.job(gate)["state"] in ("running", "ended") and api.job(wide)["state"] != "ended"


def test_a_gang_that_goes_on_without_members_may_lose_all_of_them(api):
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    gang = submit(api, 60, 1, ranks="2..4", on_member_loss="go_on", sizes="any")
    api.wait_state(gang, "running")
    submit(api, 1, 1)
    gone = whatif(api, remove=[node], add_nodes="2:h100:4")
    assert gone["total"]["never"]["change"] == 0
    assert api.job(gang)["state"] == "running"


def test_what_preemption_costs_is_told(api):
    low = submit(api, 600, 4, estimate="1h", max_duration="2h", preemptible=True, restart_cost="6m", name="low")
    api.wait_state(low, "running")
    time.sleep(1.2)
    said = whatif(api, submit={"command": ["x"], "gpus": 4, "estimate": "10s", "max_duration": "1m", "cpus": 0.01,
                               "priority": 100, "sender_cwd": "/"})
    assert said["total"]["preemptions"] == {"now": 0, "change": 1}
    assert said["total"]["lost_gpu_hours"]["now"] == 0
    assert abs(said["total"]["lost_gpu_hours"]["change"] - 0.4) < 0.001  # 4 GPUs for 6 minutes
    assert said["jobs"][0]["change"]["in_seconds"] < 1
    assert api.job(low)["state"] == "running"


def test_what_it_costs_is_told_where_there_are_prices(api):
    api.wait_state(submit(api, 600, 4, estimate="30m", max_duration="1h"), "running")
    submit(api, 600, 2, estimate="30m", max_duration="1h")
    said = whatif(api, config={"prices": {"h100": 3}})
    assert said["total"]["cost"]["now"] is None
    assert abs(said["total"]["cost"]["change"] - 3 * (4 * 0.5 + 2 * 0.5)) < 0.1, said["total"]


def test_nodes_that_are_added_are_those_of_scale_and_cost_what_they_cost(api, shell):
    """A node has the CPUs and the price of its type; without a type, of a node like it, or of its GPUs."""
    gate = submit(api, 3600, 4, estimate="1h", max_duration="1h")
    api.wait_state(gate, "running")
    submit(api, 1800, 4, estimate="30m", max_duration="30m")
    assert whatif(api, add_nodes="1:h100:4")["added_nodes"] is None
    api.put("/v1/config", {"prices": {"h100": 3}})
    added = whatif(api, add_nodes="2:h100:4")["added_nodes"]
    assert added["per_hour"] == 24 and abs(added["cost"] - 24) < 0.5, added  # until the first job ends
    types = {"big": {"gpus": 4, "model": "h100", "cpus": 0.5, "memory": "64G", "price": 20, "spot_price": 5, "boot": "0s"}}
    api.put("/v1/config", {"prices": {"h100": 3}, "node_types": types})
    assert whatif(api, add_nodes="1:h100:4")["added_nodes"]["per_hour"] == 20
    assert whatif(api, add_nodes=["1:h100:4:spot", "1:h100:2"])["added_nodes"]["per_hour"] == 11
    assert "the added nodes cost 20.00 per hour, 20." in shell.run("whatif", "--add-nodes", "1:h100:4")
    # What has no room on a node of the type is helped neither there nor here.
    def helped(number):
        wishes = api.get("/v1/scale")["wanted"]
        job, = [job for job in whatif(api, add_nodes="1:h100:4")["jobs"] if job["id"] == number]
        return bool(wishes), job["change"]["in_seconds"] is not None and job["change"]["in_seconds"] < 2

    api.post("/v1/jobs/2/cancel")
    for cpus, is_helped in ((0.4, True), (0.6, False)):
        number = api.submit(command=["sleep", "60"], gpus=4, cpus=cpus, estimate="1m", max_duration="1m")
        assert helped(number) == (is_helped, is_helped), cpus
        api.post("/v1/jobs/%d/cancel" % number)


def test_arrays_and_pipelines_are_submitted_and_cancelled_whole(api):
    api.wait_state(submit(api, 600, 4, estimate="1m", max_duration="1m"), "running")
    array = submit(api, 600, 4, estimate="1m", max_duration="1m", array="0-4")
    said = whatif(api, cancel=str(array) + "_1")
    assert {job["label"] for job in said["jobs"]} == {"%d_%d" % (array, number) for number in range(5)}
    assert said["total"]["cancelled"] == {"now": 0, "change": 1} and said["sooner"] == 3 and said["later"] == 0
    assert [job["label"] for job in said["jobs"] if job["change"]["cancelled"]] == ["%d_1" % array]
    assert whatif(api, cancel=[str(array)])["total"]["cancelled"]["change"] == 5
    stages = {"name": "p", "sender_cwd": "/",
              "stages": {"one": {"run": "true", "gpus": 1, "estimate": "1m", "max_duration": "1m"},
                         "two": {"run": "true", "needs": ["one"], "gpus": 1, "estimate": "1m", "max_duration": "1m"}}}
    said = whatif(api, submit=stages, cancel=[str(array)])
    new = {job["name"]: job["change"]["in_seconds"] for job in said["jobs"] if not job["now"]}
    assert len(new) == 2 and sorted(new.values())[1] - sorted(new.values())[0] > 59.9


def test_the_table_is_bounded_and_says_what_changed(shell, api):
    _, numbers = a_line_of_jobs(api, 12, gate_s=60)
    shell.file("mine.yaml", "name: mine\nrun: sleep 1\ngpus: 4\nestimate: 1s\nmax_duration: 10s\ncpus: 0.01\n")
    shell.file("script.sh", "#!/bin/sh\n#SBATCH --gpus=1\nsleep 1\n")
    said = shell.run("whatif", "--add-nodes", "1:h100:4", "-n", 3)
    assert "12 jobs: 12 start sooner, 0 later; -n N shows more of them" in said and "JOB  NAME" in said
    assert len([line for line in said.splitlines() if " sooner" in line and "root" in line or "s sooner" in line]) == 3
    assert "default" in said and " -> " in said
    said = shell.run("whatif", "--submit", "mine.yaml", "--submit", "script.sh", "--add-nodes", "1:h100:2:spot")
    assert "mine" in said and "script.sh" in said and "14 jobs: " in said and "spot nodes are assumed to stay" in said
    for words in (("whatif",), ("whatif", "--add-nodes"), ("whatif", "word"), ("whatif", "-n", "0", "--set", "order=fifo"),
                  ("whatif", "-n", 3)):
        shell.run(*words, status=2)
    assert len(api.jobs()) == 13


def test_with_nobody_waiting_there_is_nothing_to_tell(shell):
    assert "no job waits" in shell.run("whatif", "--add-nodes", "1:h100:4")


@pytest.mark.parametrize("body, status, words", [
    ({}, 400, "nothing is changed"),
    ([1], 400, "expected a map"),
    ({"add_nodes": ["1:h100"]}, 400, "'1:h100': expected NODES:MODEL:GPUS"),
    ({"add_nodes": ["0:h100:8"]}, 400, "expected NODES:MODEL:GPUS"),
    ({"add_nodes": ["1:h100:65"]}, 400, "expected NODES:MODEL:GPUS"),
    ({"add_nodes": ["1001:h100:8"]}, 400, "expected NODES:MODEL:GPUS"),
    ({"add_nodes": ["1000:h100:64"]}, 400, "more than 10000 gpus"),
    ({"add_nodes": ["1:h100:8:"]}, 400, "expected NODES:MODEL:GPUS"),
    ({"add_nodes": ["1:h100:8:sport"]}, 400, "expected NODES:MODEL:GPUS"),
    ({"add_nodes": ["1:%s:8" % ("h" * 200)]}, 400, "expected NODES:MODEL:GPUS"),
    ({"drain": ["x"] * 65}, 400, "up to 64 strings"),
    ({"drain": [1]}, 400, "expected strings"),
    ({"drain": ["nowhere"]}, 404, "node nowhere: no such node"),
    ({"remove": ["nowhere"]}, 404, "node nowhere: no such node"),
    ({"cancel": ["7"]}, 404, "cancel: job 7: no such job"),
    ({"cancel": ["seven"]}, 404, "cancel: job seven: no such job"),
    ({"set": ["order"]}, 400, "expected KEY=VALUE"),
    ({"set": ["order=none"]}, 400, "'none'"),
    ({"set": ["a" + ".a" * 40 + "=1"]}, 400, "more than 16 keys"),
    ({"set": ["=1"]}, 400, "expected KEY=VALUE"),
    ({"set": ["queues..limit=1"]}, 400, "an empty key"),
    ({"set": ["queue.a.limit=1"]}, 400, "did you mean"),
    ({"config": 7}, 400, "expected a map"),
    ({"submit": [{"run": "true", "gpus": 9, "sender_cwd": "/"}]}, 422, "no node has more than 4"),
    ({"submit": [{"gpus": 1}]}, 400, "run"),
    ({"submit": "x"}, 400, "job documents"),
    ({"submit": [{}] * 101}, 400, "up to 100 job documents"),
    ({"adn_nodes": 1}, 400, "did you mean 'add_nodes'"),
    ({"set": "order=fifo", "shown": -1}, 400, "shown"),
])
def test_a_question_that_makes_no_sense_is_refused_in_words(api, body, status, words):
    with pytest.raises(Refused) as caught:
        api.post("/v1/whatif", body)
    assert caught.value.status == status and words in caught.value.message, caught.value


def test_what_could_never_run_here_may_run_on_other_machines(api):
    document = {"command": ["x"], "gpus": "b200:8", "estimate": "1m", "max_duration": "1m", "sender_cwd": "/"}
    said = whatif(api, submit=document, add_nodes="1:B200:8")
    assert said["jobs"][0]["change"]["in_seconds"] < 1 and said["jobs"][0]["gpus"] == 8


# What goes wrong meanwhile


def children(daemon):
    """The daemon's copies of itself, and theirs."""
    found, parents = [], {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name, errors="replace") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if fields[0] != "Z" and os.path.samefile("/proc/%s/exe" % name, TARND):
                parents[int(name)] = int(fields[1])
        except OSError:
            continue
    for pid in parents:
        at = pid
        while at in parents and at != daemon.process.pid:
            at = parents[at]
        if at == daemon.process.pid and pid != at:
            found.append(pid)
    return found


def is_at_work(pid):
    """A copy blocks all signals until it has made itself one that dies with who made it."""
    try:
        with open("/proc/%d/status" % pid) as file:
            blocked = next(line for line in file if line.startswith("SigBlk:"))
    except OSError:
        return False
    return int(blocked.split()[1], 16) == 0


def ask_and_stop(daemon, ask):
    """A question whose processes are stopped before they are done: the thread that waits, and they."""
    for _ in range(10):
        said = {}

        def run():
            try:
                said["value"] = ask()
            except Exception as failure:
                said["refused"] = failure

        before = children(daemon)
        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive():
            stopped = [pid for pid in children(daemon) if pid not in before and is_at_work(pid)]
            for pid in stopped:
                kill_quietly(pid, signal.SIGSTOP)
            # When all that there are were stopped already, none of them can make another one.
            if stopped and set(stopped) == {pid for pid in children(daemon) if pid not in before}:
                thread.join(1)
                if thread.is_alive():
                    return thread, said, stopped
                for pid in stopped:  # it was done: these are of a forecast, for example
                    kill_quietly(pid, signal.SIGKILL)
        thread.join(60)
    raise AssertionError("it was always done before it could be stopped: %s" % said)


def many_jobs(api):
    """So many that a question about them takes a while."""
    submit(api, 600, 4, estimate="1m", max_duration="1m")
    for first in range(0, 8000, 4000):
        api.submit(*[dict(SMALL, command=["true"], gpus=1 + number % 4, estimate="%ds" % (10 + number % 977),
                          max_duration="1h") for number in range(first, first + 4000)])


def kill_quietly(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def are_gone(pids):
    return all(not os.path.exists("/proc/%d/exe" % pid) or open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0]
               == "Z" for pid in pids)


def test_a_question_that_hangs_is_cut_off_and_the_daemon_goes_on_meanwhile(make_daemon):
    daemon = make_daemon(options=["--study-limit", "8s"])
    daemon.start()
    api = daemon.api
    many_jobs(api)
    thread, said, pids = ask_and_stop(daemon, lambda: whatif(api, set="order=shortest"))
    assert api.get("/v1/jobs?limit=1")["counts"]["queued"] == 8000  # it answers others
    thread.join(60)
    assert said["refused"].status == 504 and "it took longer than 8s, and was ended" in said["refused"].message
    wait_until("nothing of it is left", lambda: are_gone(pids))
    assert "a study took too long" in daemon.words()
    daemon.check_sane()


def test_nothing_is_left_when_the_daemon_is_killed_meanwhile(daemon, api):
    many_jobs(api)
    thread, said, pids = ask_and_stop(daemon, lambda: whatif(api, add_nodes="1:h100:4"))
    daemon.kill()
    wait_until("its copies are gone", lambda: are_gone(pids))
    thread.join(60)
    assert "refused" in said
    daemon.start()
    assert api.get("/v1/jobs?limit=1")["counts"]["queued"] == 8000
    daemon.verify()


def test_nothing_is_left_when_the_daemon_ends_meanwhile(daemon, api):
    many_jobs(api)
    thread, said, pids = ask_and_stop(daemon, lambda: whatif(api, add_nodes="1:h100:4"))
    assert daemon.terminate() == 0
    thread.join(60)
    assert said["refused"].status == 503 and are_gone(pids)


def test_it_ends_with_who_asked(daemon, api):
    many_jobs(api)
    asking = subprocess.Popen([TARN, "whatif", "--add-nodes", "1:h100:4"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env=dict(daemon.environment(), TARN_SOCKET=daemon.socket))
    for pid in wait_until("a copy works on it", lambda: list(filter(is_at_work, children(daemon)))):
        kill_quietly(pid, signal.SIGSTOP)
    asking.kill()
    asking.wait(60)
    wait_until("no process works on it any more", lambda: not children(daemon))
    daemon.check_sane()


def test_too_many_at_a_time_are_refused(daemon, api):
    many_jobs(api)
    api.timeout = 120
    asked = []
    for count in (1, 2):
        thread, said, _ = ask_and_stop(daemon, lambda: whatif(api, add_nodes="1:h100:4"))
        asked.append((thread, said))
        wait_until("it has begun", lambda: len(children(daemon)) >= count)
    with pytest.raises(Refused) as caught:
        whatif(api, add_nodes="1:h100:4")
    assert caught.value.status == 429 and "2 studies are running" in caught.value.message
    for pid in children(daemon):
        kill_quietly(pid, signal.SIGKILL)
    for thread, said in asked:
        thread.join(60)
        assert said["refused"].status == 500 and "ended" in said["refused"].message, said
    daemon.check_sane()


def test_what_takes_too_long_is_answered_as_far_as_it_came(make_daemon):
    daemon = make_daemon(options=["--study-limit", "24s"])
    daemon.start()
    many_jobs(daemon.api)
    said = whatif(daemon.api, add_nodes="1:h100:4", shown=8000)
    assert clock(said["horizon"]) > clock(said["from"]) and said["sooner"] > 0 and said["total"]["never"]["now"] == 0
    assert said["total"]["beyond"]["now"] > 0 and said["total"]["beyond"]["change"] >= 0
    known = [job for job in said["jobs"] if job["now"]["start"]]
    assert 0 < len(known) < 8000 and all(clock(job["now"]["start"]) <= clock(said["horizon"]) + 0.001 for job in known)
    text = Shell(daemon).run("whatif", "--add-nodes", "1:h100:4")
    assert "simulated up to" in text and "NOT REACHED" in text


# The last days once more


def a_past(api, shell):
    """Two queues that had the machine one after the other."""
    shell.file("a.yaml", "queues: {research: {}, vision: {}}\norder: fifo\npredict: false\n")
    shell.run("apply", "-f", "a.yaml")
    numbers = api.submit(*[dict(SMALL, command=["sleep", "0.4"], gpus=2, max_duration="1m", name="n%d" % number,
                                queue=("research", "vision")[number // 4]) for number in range(8)])
    held = submit(api, 600, 1, hold=True, queue="vision")
    api.post("/v1/jobs/%d/cancel" % held)
    for number in numbers:
        api.wait_end(number)
    return numbers


def queues_of(outlook):
    return {queue["queue"]: queue for queue in outlook["queues"]}


def test_a_replay_shows_what_a_limit_would_have_done(shell, api, daemon):
    numbers = a_past(api, shell)
    real = {str(number): clock(api.job(number)["started"]) - clock(api.job(number)["submitted"]) for number in numbers}
    shell.file("b.yaml", "queues: {research: {limit: 2}, vision: {}}\norder: fifo\npredict: false\n")
    said = shell.json("apply", "-f", "b.yaml", "--replay", "7d", "--dry-run")
    assert said["applied"] is False and len(said["changes"]) == 1
    outlook = said["replay"]
    assert outlook["job_count"] == 9 and outlook["moved"] == 0
    near = tolerance(api, {number: 0.4 for number in numbers})
    for job in outlook["jobs"]:
        if job["label"] in real:  # as it was, it is as it has been
            assert abs(job["now"]["wait_seconds"] - real[job["label"]]) < near, (near, job, real)
            assert job["name"].startswith("n") and job["user"]
    queues = queues_of(outlook)
    assert queues["research"]["wait_p95"]["change"] > queues["research"]["wait_p95"]["now"]
    assert queues["vision"]["wait_mean"]["change"] < queues["vision"]["wait_mean"]["now"]
    assert "--report none/x.html: No such file" in shell.run("apply", "-f", "b.yaml", "--replay", "7d", "--report", "none/x.html", status=1)
    text = shell.run("apply", "-f", "b.yaml", "--replay", "7d", "--report", "x.html")
    page = open(os.path.join(daemon.root, "x.html")).read()
    assert "b.yaml, the last 7d under it" in page and re.search(r"<b>research</b>: median wait .*, p95 wait .*\.</p>", page)
    assert page.index("class=answer") < page.index("9 jobs replayed: ") < page.index("<svg")
    assert "last 7d under it (9 jobs replayed in " in text and "research" in text and "applied as change 2" in text
    assert text.index("queue research  limit none -> 2 gpus") < text.index("last 7d under it") < text.index("applied")
    assert limits(api)["research"] == 2
    daemon.verify()


def test_a_replay_under_the_same_configuration_changes_nothing(shell, api):
    a_past(api, shell)
    said = api.post("/v1/rehearsal", {"config": api.get("/v1/config"), "last": "1d"})
    assert said["sooner"] == said["later"] == 0 and said["job_count"] == 9
    assert all(job["later_seconds"] in (0, None) for job in said["jobs"])
    for queue in said["queues"]:
        assert queue["wait_mean"]["now"] == queue["wait_mean"]["change"]
    again = api.post("/v1/rehearsal", {"config": api.get("/v1/config"), "last": "1d"})
    assert again["queues"] == said["queues"] and again["events"] == said["events"]


def test_a_replay_on_a_terminal_comes_before_the_question(shell, api):
    a_past(api, shell)
    shell.file("b.yaml", "queues: {research: {limit: 2}, vision: {}}\norder: fifo\npredict: false\n")
    text, status = shell.on_terminal("apply", "-f", "b.yaml", "--replay", "1d", says="n")
    assert status == 1 and text.index("jobs replayed in") < text.index("apply? [y/N]") and "nothing was changed" in text
    assert limits(api)["research"] is None


def test_a_guarantee_for_a_new_queue_and_one_that_goes(shell, api):
    a_past(api, shell)
    said = api.post("/v1/rehearsal", {"config": {"queues": {"vision": {"guarantee": 4}}, "order": "fifo", "predict": False}})
    queues = queues_of(said)
    assert said["moved"] == 4 and queues["research"]["jobs"] == {"now": 4, "change": 0}
    assert queues["default"]["jobs"] == {"now": 0, "change": 4}
    assert queues["vision"]["wait_mean"]["change"] < queues["vision"]["wait_mean"]["now"]


def test_a_past_with_failures_requeues_needs_and_restarts_is_replayed(shell, api, daemon):
    good = submit(api, 0.3, 1, max_duration="1m")
    bad = api.submit(run="sleep 0.2; exit 3", gpus=1, retry=1, max_duration="1m", **SMALL)
    after_bad = api.submit(run="true", depends=[{"on": bad, "when": "ok"}], **SMALL)
    if_bad = api.submit(run="true", depends=[{"on": bad, "when": "failed"}], **SMALL)
    array = submit(api, 0.1, 1, array="0-3", max_duration="1m")
    cancelled = submit(api, 600, 1)
    api.wait_state(cancelled, "running")
    api.post("/v1/jobs/%d/cancel" % cancelled)
    waiting = submit(api, 600, 4, max_duration="1h")
    for number in (good, bad, after_bad, if_bad, cancelled):
        api.wait_end(number)
    api.wait_group(array)
    daemon.kill()
    daemon.start()
    still = submit(api, 0.1, 4)
    said = api.post("/v1/rehearsal", {"config": {"order": "shortest"}, "shown": 100})
    labels = {job["label"]: job for job in said["jobs"]}
    assert len(labels) == 11 and "%d_2" % array in labels
    assert labels[str(after_bad)]["now"]["start"] is None and labels[str(if_bad)]["now"]["start"]
    assert labels[str(waiting)]["now"]["start"] and labels[str(still)]["now"]["start"]


@pytest.mark.skipif(not IS_ROOT, reason="needs root to act as another user")
def test_everybody_may_ask_what_would_be(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    api = daemon.api
    submit(api, 600, 4, estimate="1m", max_duration="1m")
    submit(api, 600, 4, estimate="1m", max_duration="1m", name="waits")
    said = as_user(65534, lambda: whatif(api, add_nodes="1:h100:4"))
    assert [job["name"] for job in said["jobs"]] == [job["name"] for job in api.jobs()][1:] == ["waits"]
    said = as_user(65534, lambda: api.post("/v1/rehearsal", {"config": {"order": "fifo"}}))
    assert said["job_count"] == 2
    with pytest.raises(Refused) as caught:
        as_user(65534, lambda: whatif(api, submit={"run": "true", "priority": 5, "sender_cwd": "/"}))
    assert caught.value.status == 403


@pytest.mark.parametrize("body, words", [
    ({"config": {"order": "none"}}, "'none'"),
    ({"config": {"queues": {"root": {}}}}, "queue root"),
    ({"config": {}, "last": "0s"}, "expected up to 366 days"),
    ({"config": {}, "last": "367d"}, "expected up to 366 days"),
    ({"config": {}, "last": "soon"}, "last"),
    ({"konfig": {}}, "did you mean 'config'"),
    ({"last": "1d"}, "expected a map of keys, not nothing"),
])
def test_a_replay_that_makes_no_sense_is_refused_in_words(api, body, words):
    with pytest.raises(Refused) as caught:
        api.post("/v1/rehearsal", body)
    assert caught.value.status == 400 and words in caught.value.message, caught.value


def test_days_of_a_replay_are_days_and_wrong_ones_are_refused_also_when_nothing_changes(shell):
    shell.file("same.yaml", "{}\n")
    shell.file("a.yaml", "queues: {research: {limit: 2}}\n")
    for word in ("abc", "0", "-1d"):
        said = shell.run("apply", "-f", "same.yaml", "--dry-run", "--replay=" + word, status=2)
        assert "expected days, like 7d" in said
    assert "last 2d under it" in shell.run("apply", "-f", "a.yaml", "--dry-run", "--replay", "2")


def test_a_word_too_many_names_the_command(shell):
    assert "see tarn queues --help" in shell.run("queues", "nosuch", status=2)


def test_undo_and_replay_are_not_asked_for_at_once(shell):
    shell.run("apply", "--undo", "--replay", "7d", status=2)


def test_a_journal_of_an_older_program_is_verified_and_gone_on_with(make_daemon):
    daemon = make_daemon()
    old = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "store", "old")
    os.makedirs(daemon.state, mode=0o700, exist_ok=True)
    shutil.copy(os.path.join(old, "journal-0.1.db"), os.path.join(daemon.state, "journal.db"))
    assert "255 records, 41 plans" in daemon.verify()
    daemon.start()
    with open(os.path.join(old, "config-0.1.json")) as file:
        expected = json.load(file)
    shown = daemon.api.get("/v1/config")
    assert shown == expected
    assert [list(shown)] + [list(shown["queues"]["research"])] == [list(expected)] + [list(expected["queues"]["research"])]
    daemon.api.post("/v1/jobs", {"command": ["true"], "queue": "a", "cpus": 0.01})
    daemon.stop()
    daemon.verify()
