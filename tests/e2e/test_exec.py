# SPDX-License-Identifier: Apache-2.0
"""Commands inside a running job, beside its own: tarn exec."""

import os
import pty
import re
import signal
import subprocess

import pytest

import tarn_test
from tarn_test import IS_ROOT, TARN, Refused, as_user, wait_until
from test_cli import opened


@pytest.fixture
def shell():
    with opened() as shell:
        yield shell


def running(shell, *words):
    number = int(shell.out("submit", "-q", *words))
    shell.api.wait_state(number, "running")
    return number


def test_a_command_runs_with_the_job_s_devices_folder_and_groups(shell):
    number = running(shell, "--gpus", 2, "--", "sh", "-c", "cp /proc/self/cgroup groups; exec sleep 600")
    wait_until("it has said where it is", lambda: os.path.exists(os.path.join(shell.work, "groups")))
    device = shell.out("exec", number, "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
    assert len(device.strip().split(",")) == 2
    assert shell.out("exec", number, "--", "pwd").strip() == os.path.realpath(shell.work)
    assert shell.out("exec", number, "--", "printenv", "TARN_JOB_ID").strip() == str(number)
    with open(os.path.join(shell.work, "groups")) as groups:
        assert shell.out("exec", number, "--", "cat", "/proc/self/cgroup") == groups.read()
    assert "NoNewPrivs:\t1" in shell.out("exec", number, "--", "cat", "/proc/self/status")
    assert shell.out("logs", number) == ""


def test_its_input_output_and_status_are_those_of_the_command(shell):
    number = running(shell, "--", "sleep", "600")
    text = "".join("line %d\n" % i for i in range(50000))
    done = shell.run("exec", number, "--", "sh", "-c", "cat; echo wrong >&2; exit 3", stdin=text, status=3)
    assert (done.stdout, done.stderr) == (text, "wrong\n")
    assert shell.run("exec", number, "--", "sh", "-c", "kill -9 $$", status=137).stdout == ""
    assert "command not found: nope" in shell.refused(127, "exec", number, "--", "nope")
    # Eight at a time, and the ninth is refused until one of them has ended.
    held = [subprocess.Popen([TARN, "exec", str(number), "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             cwd=shell.work, env=shell.environment) for _ in range(8)]
    for one in held:
        one.stdin.write(b"x")
        one.stdin.flush()
        assert one.stdout.read(1) == b"x"
    assert "too many commands at a time" in shell.refused(126, "exec", number, "--", "true")
    for one in held:
        one.stdin.close()
        assert one.wait(tarn_test.PATIENCE_S) == 0
        one.stdout.close()
    shell.out("exec", number, "--", "true")


def test_who_may_not_and_what_does_not_run_is_refused(shell):
    number = running(shell, "--", "sleep", "600")
    waiting = int(shell.out("submit", "-q", "--hold", "--", "true"))
    array = int(shell.out("submit", "-q", "--array", "0-1", "--hold", "--", "true"))
    assert "job %d is held; expected a running job" % waiting in shell.refused(1, "exec", waiting, "--", "true")
    assert "is several jobs" in shell.refused(1, "exec", array, "--", "true")
    assert "job 99: no such job" in shell.refused(1, "exec", 99, "--", "true")
    for verb in ("exec", "attach"):
        words = ["train"] if verb == "attach" else ["train", "--", "true"]
        assert "'train': expected the number of a job" in shell.refused(2, verb, *words)
    assert "no member of rank 1" in shell.refused(1, "exec", number, "-r", 1, "--", "true")
    assert "expected the number of a job and a command" in shell.refused(2, "exec", number)
    if IS_ROOT:
        os.chmod(shell.root, 0o755)
        os.chmod(shell.state, 0o755)
        os.chmod(shell.socket, 0o666)
        with pytest.raises(Refused) as refused:
            as_user(65534, lambda: shell.api.post("/v1/jobs/%d/exec" % number))
        assert refused.value.status == 403


def test_the_end_of_the_job_ends_it_and_so_does_a_client_that_left(shell):
    number = running(shell, "--", "sleep", "600")
    words = [TARN, "exec", str(number), "--", "sh", "-c", "echo $$; exec sleep 600"]
    held = [subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             cwd=shell.work, env=shell.environment) for _ in range(2)]
    pids = [int(one.stdout.readline()) for one in held]
    held[0].kill()
    held[0].communicate()
    wait_until("the command of the client that left is gone", lambda: not os.path.exists("/proc/%d" % pids[0]))
    shell.out("cancel", number)
    out, err = held[1].communicate(timeout=tarn_test.PATIENCE_S)
    assert held[1].returncode == 128 + signal.SIGTERM, err
    assert not os.path.exists("/proc/%d" % pids[1])
    wait_until("its door is gone", lambda: not [name for name in os.listdir(os.path.join(shell.state, "run"))
                                                if name.endswith(".door")])


def test_it_outlives_the_daemon_and_works_with_the_next_one(shell):
    number = running(shell, "--", "sleep", "600")
    held = subprocess.Popen([TARN, "exec", str(number), "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            cwd=shell.work, env=shell.environment)
    held.stdin.write(b"before\n")
    held.stdin.flush()
    assert held.stdout.readline() == b"before\n"
    shell.out("down")
    held.stdin.write(b"between\n")
    held.stdin.flush()
    assert held.stdout.readline() == b"between\n"
    shell.out("up")
    assert shell.out("exec", number, "--", "echo", "again") == "again\n"
    held.stdin.close()
    assert held.wait(tarn_test.PATIENCE_S) == 0
    held.stdout.close()


def test_with_a_terminal_it_is_one_s_own(shell):
    number = running(shell, "--", "sleep", "600")
    assert "standard input is not a terminal" in shell.refused(2, "exec", "-t", number, "--", "tty")
    ours, theirs = pty.openpty()
    done = subprocess.Popen([TARN, "exec", "-t", str(number), "--", "sh", "-c",
                             "tty; echo term=$TERM; stty size; read line; echo got=$line; exit 5"],
                            stdin=theirs, stdout=theirs, stderr=theirs, cwd=shell.work, env=shell.environment)
    os.close(theirs)
    os.write(ours, b"hello\r")
    text = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError: # its last user is gone
            break
        if not part:
            break
        text += part
    os.close(ours)
    assert done.wait(tarn_test.PATIENCE_S) == 5, text
    said = text.decode()
    assert re.search(r"/dev/pts/\d+", said) and "term=xterm-256color" in said and "got=hello" in said, said
