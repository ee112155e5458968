# SPDX-License-Identifier: Apache-2.0
"""Before a change: what would change, what it would have been like, who did it, and how to take it back."""

import json
import os
import pty
import select
import subprocess
import time

import pytest

from tarn_test import IS_ROOT, Refused, TARN, as_user, wait_until

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
    assert "undo of change 2: queue team: is below root, and can't be moved below research" in said
    said = shell.run("apply", "--undo", status=1)
    assert "undo of change 3: queue team: job %d is in it" % held in said
    assert shell.json("config", "log")["last"] == 3


def test_who_agreed_to_something_else_is_refused(api):
    api.put("/v1/config", {"order": "fifo"})
    seen = api.put("/v1/config?dry_run=1", {"order": "shortest"})["last"]
    api.put("/v1/config", {"order": "deadline"})
    with pytest.raises(Refused) as caught:
        api.put("/v1/config?seen=%d" % seen, {"order": "shortest"})
    assert caught.value.status == 409 and "changed it meanwhile (change 2)" in caught.value.message
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


@pytest.mark.skipif(not IS_ROOT, reason="needs root to be somebody else")
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
    assert caught.value.status == 400 and "expected the number of a change" in caught.value.message
