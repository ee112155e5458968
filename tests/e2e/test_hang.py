# SPDX-License-Identifier: Apache-2.0
"""What hangs for one user stops nobody else: file servers, name services; and what a daemon takes at its start."""

import functools
import json
import os
import pwd
import signal
import subprocess
import threading

import pytest

import hung_files
import tarn_test
from tarn_test import Refused, as_user, wait_until


@pytest.fixture
def mount(tmp_path):
    """A file system that can hang, with two files."""
    reason = hung_files.why_not()
    if reason:
        pytest.skip(reason)
    try:
        files = hung_files.HungFiles(str(tmp_path / "mount"), ["a.out", "b.out"])
    except OSError as error:
        pytest.skip(str(error))
    yield files
    files.close()


def work_as_another(api):
    """What somebody else does: nothing of it is about the mount."""
    number = api.submit(run="echo fine")
    assert api.wait_end(number)["result"] == "ok"
    assert api.output(number) == "fine\n"
    stays = api.submit(run="sleep 1000")
    api.wait_state(stays, "running")
    api.post("/v1/jobs/%d/cancel" % stays)
    assert api.wait_end(stays)["result"] == "cancelled"
    assert {job["id"] for job in api.jobs()} >= {number, stays}


def follow(api, number, **query):
    """A thread that reads the output; what it got is in its list."""
    got = []

    def read():
        try:
            got.append(api.output(number, **query))
        except Refused as refused:
            got.append(refused)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    return thread, got


def test_an_output_on_a_file_server_that_hangs_delays_no_other_request(daemon, api, mount):
    number = api.submit(run="echo one; while [ ! -e %s/go ]; do sleep 0.05; done; echo two" % daemon.root,
                        output=mount.folder + "/a.out", append=True)
    api.wait_state(number, "running")
    wait_until("the first line is there", lambda: bytes(mount.files[2]) == b"one\n")
    thread, got = follow(tarn_test.Client(daemon.socket, timeout=300), number, follow=1)
    mount.hang()
    wait_until("a read hangs", lambda: mount.held > 0)
    work_as_another(api)
    assert thread.is_alive() and not got
    mount.go_on()
    open(daemon.root + "/go", "w").close()
    assert api.wait_end(number)["result"] == "ok"
    thread.join(tarn_test.PATIENCE_S)
    assert got == ["one\ntwo\n"]


def test_a_request_for_an_output_says_that_its_file_system_does_not_answer(daemon, api, mount):
    number = api.submit(run="echo one", output=mount.folder + "/a.out", append=True)
    assert api.wait_end(number)["result"] == "ok"
    mount.hang()
    readers = [follow(tarn_test.Client(daemon.socket, timeout=300), number) for _ in range(12)]
    wait_until("a read hangs", lambda: mount.held > 0)
    work_as_another(api)
    for thread, got in readers:
        thread.join(tarn_test.PATIENCE_S)
        assert got[0].code == "timeout"
        assert "the file system of %s/a.out has not answered for 10 s" % mount.folder in got[0].message
    assert daemon.terminate() == 0


def test_a_link_to_a_file_server_that_hangs_stops_no_start(daemon, api, mount):
    """A user may put one where the folder of the next job will be."""
    first = api.submit(run="true", outputs=["d"])
    assert api.wait_end(first)["result"] == "failed"
    place = "%s/data/%d" % (daemon.state, os.getuid())
    os.symlink(mount.folder, "%s/%d" % (place, first + 1))
    os.symlink(mount.folder, "%s/%d.checkpoint" % (place, first + 2))
    mount.hang()
    for number, keys in ((first + 1, {"outputs": ["made"]}), (first + 2, {"retry": 1})):
        assert api.submit(run="true", **keys) == number
        ended = api.wait_end(number)
        assert ended["result"] == "failed" and "not a folder" in ended["reason"], ended
    work_as_another(api)


def checkers(daemon):
    """Processes that check the outputs of a job of this daemon."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = tarn_test.read_file("/proc/%s/cmdline" % pid).split("\0")
            if len(words) > 1 and words[1] == "--check-outputs" and "TARN_OUT=%s/" % daemon.state in tarn_test.read_file("/proc/%s/environ" % pid):
                found.add(int(pid))
        except OSError:
            continue
    return found


def test_a_check_of_outputs_that_is_killed_is_made_once_more(daemon, api, mount):
    """For example, because the machine ran out of memory: the outputs are no worse for it."""
    number = api.submit(run="cd $TARN_OUT; echo 1 > %s/a.out; rmdir d; ln -s %s/a.out d; touch %s/ready; while [ ! -e %s/go ]; do sleep 0.05; done"
                        % (mount.folder, mount.folder, daemon.root, daemon.root), outputs=["d"])
    wait_until("its work is done", lambda: os.path.exists(daemon.root + "/ready"))
    mount.hang()
    open(daemon.root + "/go", "w").close()
    wait_until("its outputs are checked", lambda: mount.held > 0 and checkers(daemon))
    for pid in checkers(daemon):
        os.kill(pid, signal.SIGKILL)  # it ends when the file system has answered
    assert api.job(number)["state"] == "running"
    mount.go_on()
    assert api.wait_end(number)["result"] == "ok"


def with_more(environment, **more):
    return dict(environment(), **more)


def hang_names(daemon, compiled, tmp_path):
    """A function that makes the name services of the daemon hang, or not."""
    path = tmp_path / "names"
    daemon.own_environment = functools.partial(with_more, daemon.own_environment, LD_PRELOAD=compiled("hang.c", "-shared", "-fPIC"),
                                               HANG_NAMES=str(path))

    def switch(hangs):
        if hangs:
            path.write_text("")
        else:
            path.unlink()

    return switch


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_name_services_that_hang_stop_no_user_who_is_known(make_daemon, compiled, tmp_path):
    daemon = make_daemon(options=["--all-users"])
    switch = hang_names(daemon, compiled, tmp_path)
    daemon.start()
    api, known, unknown = daemon.api, pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("daemon").pw_uid
    assert as_user(known, lambda: api.get("/v1/whoami")["user"]) == "nobody"
    for uid in (known, 0):
        as_user(uid, lambda: work_as_another(api))
    switch(True)
    with pytest.raises(Refused) as refused:
        as_user(unknown, lambda: api.get("/v1/whoami"))
    assert (refused.value.status, refused.value.code) == (504, "timeout")
    assert "the user database of this machine does not answer for '%d'" % unknown in refused.value.message
    work_as_another(api)
    as_user(known, lambda: work_as_another(api))
    switch(False)
    assert wait_until("the name is known", lambda: name_of(api, unknown)) == "daemon"
    assert daemon.terminate() == 0


def name_of(api, uid):
    try:
        return as_user(uid, lambda: api.get("/v1/whoami")["user"])
    except Refused:
        return None


def test_a_daemon_needs_no_further_thread_after_its_start(make_daemon, compiled, tmp_path):
    path = tmp_path / "threads"
    daemon = make_daemon()
    daemon.own_environment = functools.partial(with_more, daemon.own_environment, LD_PRELOAD=compiled("hang.c", "-shared", "-fPIC"),
                                               HANG_THREADS=str(path))
    daemon.start()
    path.write_text("")
    work_as_another(daemon.api)
    assert daemon.terminate() == 0


def test_a_daemon_that_cannot_create_its_threads_says_so_and_does_not_start(make_daemon, compiled, tmp_path):
    path = tmp_path / "threads"
    path.write_text("")
    daemon = make_daemon(devices="none")
    daemon.own_environment = functools.partial(with_more, daemon.own_environment, LD_PRELOAD=compiled("hang.c", "-shared", "-fPIC"),
                                               HANG_THREADS=str(path))
    words = daemon.try_start()[1]
    assert words.startswith("threads: 0 of 8 can be created: resource temporarily unavailable")
    assert "ulimit -u" in words and "TasksMax" in words


def test_a_daemon_with_too_few_descriptors_says_so_and_does_not_start(make_daemon, tmp_path):
    program = tmp_path / "tarn"
    program.write_text("#!/bin/sh\nulimit -n 200\nexec %s \"$@\"\n" % tarn_test.TARN)
    program.chmod(0o755)
    words = make_daemon(devices="none", binary=str(program)).try_start()[1]
    assert words.startswith("descriptors: the hard limit is 200, expected at least 1280 (ulimit -Hn, LimitNOFILE=")


def socket_count(pid):
    links = ("/proc/%d/fd/%s" % (pid, name) for name in os.listdir("/proc/%d/fd" % pid))
    return sum(os.readlink(link).startswith("socket:") for link in links if os.path.lexists(link))


def test_commands_give_up_on_a_daemon_that_does_not_answer_and_those_that_follow_go_on(daemon, api):
    number = api.submit(run="while [ ! -e %s/go ]; do sleep 0.05; done; exit 3" % daemon.root)
    api.wait_state(number, "running")
    environment = daemon.own_environment()
    waits = subprocess.Popen([tarn_test.TARN, "wait", str(number)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_until("it has asked", lambda: socket_count(waits.pid) > 0)
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        listed = subprocess.run([tarn_test.TARN, "ls"], env=dict(environment, TARN_TIMEOUT="1"), capture_output=True, text=True, timeout=60)
        submitted = subprocess.run([tarn_test.TARN, "submit", "true"], env=dict(environment, TARN_TIMEOUT="1"), capture_output=True, text=True, timeout=60)
        said = waits.stderr.readline()
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    assert listed.returncode == 1 and listed.stdout == ""
    assert "no answer in time; it may be stopped" in listed.stderr
    assert submitted.returncode == 1 and "no answer in time" in submitted.stderr and "may have been accepted: see tarn ls" in submitted.stderr
    assert "has not answered for" in said and "still waiting" in said
    open(daemon.root + "/go", "w").close()
    assert waits.wait(tarn_test.PATIENCE_S) == 3
    wrong = subprocess.run([tarn_test.TARN, "ls"], env=dict(environment, TARN_TIMEOUT="soon"), capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 1 and "TARN_TIMEOUT 'soon': expected 1 to 86400 seconds" in wrong.stderr


def commands_of(daemon, *lists, **environment):
    return {words: subprocess.Popen([tarn_test.TARN, *words], env=dict(daemon.own_environment(), **environment), stdin=subprocess.DEVNULL,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for words in lists}


def test_logs_and_exec_give_up_on_a_daemon_that_does_not_answer(daemon, api):
    number = api.submit(run="echo said; exec sleep 1000")
    api.wait_state(number, "running")
    done = api.submit(run="echo done")
    api.wait_end(done)
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        one, other = str(number), str(done)
        commands = commands_of(daemon, ("logs", one), ("logs", "-n", "5", other), ("logs", "-q", one), ("exec", one, "true"), ("attach", one),
                               TARN_TIMEOUT="1")
        for words, command in commands.items():
            out, err = command.communicate(timeout=tarn_test.PATIENCE_S)
            assert "no answer in time; it may be stopped" in err and out == "" and command.returncode in (1, 126), (words, out, err)
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    api.post("/v1/jobs/%d/cancel" % number)


def test_commands_that_follow_say_that_the_daemon_does_not_answer(daemon, api):
    number = api.submit(run="while [ ! -e %s/go ]; do sleep 0.05; done; echo fine" % daemon.root)
    api.wait_state(number, "running")
    one = str(number)
    commands = commands_of(daemon, ("logs", "-f", one), ("logs", "-f", "-q", one), ("wait", one), ("wait", "-q", one))
    for command in commands.values():
        wait_until("it has asked", lambda: socket_count(command.pid) > (0 if "wait" in command.args else 1))
    wait_until("the daemon has heard them", lambda: socket_count(daemon.process.pid) >= 6)
    daemon.process.send_signal(signal.SIGSTOP)
    try:
        doctor = subprocess.run([tarn_test.TARN, "doctor", "--json"], env=daemon.own_environment(), capture_output=True, text=True, timeout=120)
        said = {words: command.stderr.readline() for words, command in commands.items()}
    finally:
        daemon.process.send_signal(signal.SIGCONT)
    for words, line in said.items():
        assert "has not answered for" in line and "still waiting" in line, (words, line)
    found = {line["what"]: line for line in json.loads(doctor.stdout)}
    assert doctor.returncode == 1 and found["daemon"]["grade"] == "bad" and "no answer in time" in found["daemon"]["text"], found["daemon"]
    open(daemon.root + "/go", "w").close()
    for words, command in commands.items():
        out, err = command.communicate(timeout=tarn_test.PATIENCE_S)
        assert command.returncode == 0 and ("fine" in out or "logs" not in words), (words, out, err)
