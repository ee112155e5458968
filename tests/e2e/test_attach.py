# SPDX-License-Identifier: Apache-2.0
"""Standard input and terminals of jobs: tarn run, run --pty, exec --pty, attach."""

import fcntl
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

import tarn_test
from tarn_test import TARN, WHY_NOT_AS_OTHERS, read_file, wait_until
from terminal import Terminal
from test_cli import opened


@pytest.fixture
def shell():
    before = os.getcwd()
    with opened() as shell:
        os.chdir(shell.work)  # of programs on terminals
        yield shell
        os.chdir(before)


def start(shell, *words, **keys):
    return subprocess.Popen([TARN, *[str(word) for word in words]], cwd=shell.work, env=shell.environment,
                            **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **keys})


def ended(shell, number):
    return shell.api.wait_end(number)


def is_running(shell, number):
    try:
        return shell.api.get("/v1/jobs/%d" % number)["state"] == "running"
    except (OSError, tarn_test.Refused):
        return False


# ---- standard input ----

def test_run_passes_standard_input_on_to_its_end(shell):
    assert shell.out("run", "-Q", "--", "wc", "-l", stdin="a\nb\n") == "2\n"
    assert shell.out("run", "-Q", "--", "cat", stdin="") == ""
    assert shell.json("run", "--json", "--", "cat", stdin="x")["launch"]["attach"] == "stdin"
    # 64 MiB: more than any pipe holds.
    folder = shell.work
    with open(os.path.join(folder, "big"), "wb") as file:
        for i in range(64):
            file.write(bytes([i]) * (1 << 20))
    with open(os.path.join(folder, "big"), "rb") as file:
        done = start(shell, "run", "-Q", "--", "sh", "-c", "cmp - big && echo same", stdin=file)
        out, err = done.communicate(timeout=tarn_test.PATIENCE_S)
    assert (out, done.returncode) == (b"same\n", 0), err


def test_a_slow_reader_makes_the_writer_wait(shell):
    done = start(shell, "run", "-Q", "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done; wc -c")
    os.set_blocking(done.stdin.fileno(), False)
    wait_until("the job runs", lambda: is_running(shell, 1))
    written, idle = 0, 0
    while idle < 20:  # until nothing has taken any more for a second
        try:
            count = os.write(done.stdin.fileno(), b"x" * 65536)
            written, idle = written + count, 0
        except BlockingIOError:
            idle += 1
            time.sleep(0.05)
        assert written < 64 << 20
    shell.file("go", "")
    os.set_blocking(done.stdin.fileno(), True)
    out, err = done.communicate(timeout=tarn_test.PATIENCE_S)
    assert (int(out), done.returncode) == (written, 0), err


def test_without_input_the_job_reads_an_end_of_file(shell):
    assert shell.out("run", "-Q", "--", "cat") == ""  # </dev/null
    assert shell.out("run", "-Q", "--no-stdin", "--", "wc", "-c", stdin="abc") == "0\n"
    number = int(shell.out("submit", "-q", "--", "sh", "-c", "readlink /proc/self/fd/0", stdin="abc"))
    ended(shell, number)
    assert shell.out("logs", number) == "/dev/null\n"
    # Its own file is stronger, and an array has none.
    shell.file("data", "from a file")
    assert shell.out("run", "-Q", "-i", "data", "--", "cat", stdin="abc") == "from a file"
    shell.run("run", "--array", "0-1", "--", "cat", stdin="abc")


def test_the_first_rank_of_a_gang_reads_it(shell):
    shell.run("run", "-Q", "--ranks", 2, "-o", "out.%t", "--", "sh", "-c", 'wc -c > "got.$TARN_RANK"', stdin="abc")
    with open(os.path.join(shell.work, "got.0")) as first, open(os.path.join(shell.work, "got.1")) as second:
        assert (first.read(), second.read()) == ("3\n", "0\n")


def test_a_client_that_dies_is_an_end_of_file(shell):
    done = start(shell, "run", "--", "sh", "-c", "cat > got; echo over >> got")
    done.stdin.write(b"half")
    done.stdin.flush()
    path = os.path.join(shell.work, "got")
    wait_until("the job has read it", lambda: os.path.exists(path) and os.path.getsize(path) == 4)
    done.kill()
    done.communicate()
    assert ended(shell, 1)["result"] == "ok"
    with open(path) as got:
        assert got.read() == "halfover\n"


def test_a_signal_leaves_the_job_and_ends_its_input(shell):
    done = start(shell, "run", "--", "cat")
    wait_until("the job runs", lambda: is_running(shell, 1))
    done.send_signal(signal.SIGTERM)
    out, err = done.communicate(timeout=tarn_test.PATIENCE_S)
    assert done.returncode == 128 + signal.SIGTERM and b"job 1 continues" in err
    assert ended(shell, 1)["result"] == "ok"


def test_a_job_that_does_not_read_keeps_nobody(shell):
    read, write = os.pipe()  # never written to
    done = start(shell, "run", "-Q", "--", "true", stdin=read)
    out, err = done.communicate(timeout=tarn_test.PATIENCE_S)
    assert done.returncode == 0, err
    os.close(read)
    os.close(write)


def test_after_a_restart_a_file_is_read_again_and_a_pipe_ends_the_job(shell):
    script = 'cat > "got.$TARN_ATTEMPT"; [ "$TARN_ATTEMPT" -gt 1 ]'
    shell.file("data", "all of it")
    with open(os.path.join(shell.work, "data")) as data:
        done = start(shell, "run", "--retry", "1", "--", "sh", "-c", script, stdin=data)
        out, err = done.communicate(timeout=tarn_test.PATIENCE_S)
    assert done.returncode == 0, err
    with open(os.path.join(shell.work, "got.2")) as got:
        assert got.read() == "all of it"
    said = shell.refused(1, "run", "--retry", 1, "--", "sh", "-c", "cat; false", stdin="some")
    assert "its standard input cannot be passed on twice; it is cancelled" in said
    # What was not begun is passed on to the next attempt.
    done = start(shell, "run", "-Q", "--retry", "1", "--", "sh", "-c",
                 "[ $TARN_ATTEMPT -gt 1 ] || exit 1; echo ready > ready; cat")
    wait_until("the second attempt runs", lambda: os.path.exists(os.path.join(shell.work, "ready")))
    out, err = done.communicate(b"late", timeout=tarn_test.PATIENCE_S)
    assert (out, done.returncode) == (b"late", 0), err


# ---- terminals ----

def on_terminal(shell, *words, **keys):
    return Terminal([TARN, *words], shell.environment, **keys)


def bash_on_terminal(shell):
    """In a job, at its prompt."""
    shell.out("up")
    terminal = on_terminal(shell, "run", "--pty", "--gpus", "1", "--", "bash", "--norc")
    terminal.send("PS1='here> '\r")
    terminal.expect("^here>$")
    return terminal


def test_run_pty_is_a_terminal_with_its_size_and_status(shell):
    shell.out("up")
    terminal = on_terminal(shell, "run", "--pty", "--", "sh", "-c",
                           "tty; read line; stty size; read line; stty size; echo got=$line err >&2; exit 5",
                           columns=91, rows=33)
    terminal.expect("/dev/pts")
    terminal.send("\r")
    terminal.expect("33 91")
    assert terminal.expect(r"/dev/pts/\d+") and "Ctrl-] d detaches" in terminal.text()
    terminal.resize(70, 20)
    terminal.send("hello\r")
    terminal.expect("got=hello err")
    terminal.expect("20 70")
    terminal.expect("exit status 5")
    assert terminal.end() == 5
    assert terminal.is_restored()
    assert "got=hello err" in shell.out("logs", 1)


def test_an_interactive_shell_has_job_control(shell):
    terminal = bash_on_terminal(shell)
    terminal.send("sh -c 'echo begun; exec sleep 600'\r")
    terminal.expect("^begun")
    terminal.send("\x03")  # to the program, not to tarn
    terminal.expect("\\^C")
    terminal.send("echo $(( 6 * 7 )) $TERM\r")
    terminal.expect("^42 xterm-256color")
    terminal.send("sh -c 'echo again; exec sleep 600'\r")
    terminal.expect("^again")
    terminal.send("\x1a")
    terminal.expect("Stopped")
    terminal.send("fg\r")
    terminal.expect("here> fg\n.*exec sleep 600")
    # bash prints the command before that gets the terminal.
    terminal.send_until("\x03", "\\^C\nhere>$")
    terminal.send("exit 7\r")
    assert terminal.end() == 7 and terminal.is_restored()


def test_what_was_too_fast_is_shown_all_the_same(shell):
    shell.out("up")
    for _ in range(5):
        terminal = on_terminal(shell, "run", "--pty", "--", "echo", "quick")
        terminal.expect("^quick")
        assert terminal.end() == 0


def test_one_detaches_and_attaches_again(shell):
    terminal = bash_on_terminal(shell)
    terminal.send("x=kept\r")
    terminal.expect("^here> x=kept\nhere>$")
    terminal.send("\x1dd")
    terminal.expect("job 1 continues; tarn attach 1 returns to it")
    assert terminal.end() == 0 and terminal.is_restored()
    assert is_running(shell, 1)
    again = on_terminal(shell, "attach", "1")
    again.expect("^here>")  # what it showed last
    again.send("echo $x; \x1dx\r")  # the first key alone is for the job
    again.expect("^kept")
    # Another client takes it over.
    other = on_terminal(shell, "attach", "1")
    again.expect("another client took the terminal")
    assert again.end() == 1 and again.is_restored()
    other.expect("^kept")
    for number in (signal.SIGTERM, signal.SIGHUP):
        os.kill(other.pid, number)
        other.expect("job 1 continues")
        assert other.end() == 128 + number and other.is_restored()
        other = on_terminal(shell, "attach", "1")
        other.expect("^kept")
    other.send("exit 3\r")
    assert other.end() == 3 and other.is_restored()
    assert "has ended; tarn logs 1 prints its output" in shell.refused(1, "attach", 1)


def test_one_detaches_from_a_job_that_waits(shell):
    shell.out("up")
    before = shell.out("submit", "-q", "--gpus", 4, "--", "sleep", "1000").strip()
    terminal = on_terminal(shell, "run", "--pty", "--gpus", 1, "--", "bash", "--norc")
    terminal.expect("waits: .*Ctrl-] d")
    terminal.send("\x1dd")
    terminal.expect("job 2 continues; tarn attach 2 returns to it")
    assert terminal.end() == 0 and terminal.is_restored()
    assert shell.api.get("/v1/jobs/2")["state"] == "queued"
    # What is typed before the start is for the job; Ctrl-C still asks.
    again = on_terminal(shell, "attach", "2")
    again.expect("waits: ")
    again.send("\x03")
    again.expect("cancel job 2, or leave it running?")
    again.send("\r")
    again.send("PS1='here> '; x=typed\r")
    shell.out("cancel", before)
    again.expect("^here>$")
    again.send("echo $x; exit 3\r")
    again.expect("^typed")
    assert again.end() == 3 and again.is_restored()


def test_a_client_that_is_killed_leaves_the_terminal_to_the_next(shell):
    terminal = bash_on_terminal(shell)
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()
    again = on_terminal(shell, "attach", "1")
    again.send("exit 0\r")
    assert again.end() == 0


def test_cancel_ends_a_shell_at_once_and_restores_the_terminal(shell):
    terminal = bash_on_terminal(shell)
    shell.out("cancel", 1)
    terminal.expect("cancelled")
    assert terminal.end() != 0 and terminal.is_restored()


def test_a_client_that_takes_nothing_does_not_keep_the_job(shell):
    shell.out("up")
    terminal = on_terminal(shell, "run", "--pty", "--", "sh", "-c",
                           "head -c 3000000 /dev/zero | tr '\\0' x; echo done > through; sleep 600")
    # Our side of the pty is not read.
    wait_until("the job has written all of it", lambda: os.path.exists(os.path.join(shell.work, "through")))
    os.kill(terminal.pid, signal.SIGKILL)
    terminal.end()


class Visitor:
    """A client of a job's supervisor that keeps to no rules."""

    def __init__(self, shell, number):
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(tarn_test.PATIENCE_S)
            stream.connect(shell.socket)
            stream.send(b"POST /v1/jobs/%d/exec HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n" % number)
            fds, said = [], b""
            while not fds:
                reply, fds, _, _ = socket.recv_fds(stream, 4096, 1)
                said += reply
                assert reply, said
        self.door = socket.socket(fileno=fds[0])
        self.door.settimeout(tarn_test.PATIENCE_S)
        self.input, self.output = os.pipe(), os.pipe()

    def attach(self):
        """The code of the answer, and its words."""
        socket.send_fds(self.door, [b"\0"], [self.input[0], self.output[1], self.output[1]])
        answer = self.door.recv(4096)
        return int.from_bytes(answer[:4], "little"), answer[8:].split(b"\0")[0].decode()

    def close(self):
        self.door.close()
        for fd in self.input + self.output:
            os.close(fd)


def supervisor(shell):
    found, = tarn_test.shims_of(shell.state).values()
    return found


def test_a_client_cannot_make_the_supervisor_wait(shell):
    shell.out("up")
    number = int(shell.out("submit", "-q", "--pty", "--", "sh", "-c", "yes; exit"))
    wait_until("the job runs", lambda: is_running(shell, number))
    visitor = Visitor(shell, number)
    wait_until("it has written much", lambda: len(shell.out("logs", number)) > 20000)
    fcntl.fcntl(visitor.output[1], fcntl.F_SETPIPE_SZ, 4096)
    assert visitor.attach() == (0, "terminal")
    os.set_blocking(visitor.output[1], True)  # a flag of the pipe's end, not of the descriptor
    os.read(visitor.output[0], 4096)
    begin = time.monotonic()
    shell.run("cancel", number)
    assert ended(shell, number)["result"] == "cancelled"
    assert time.monotonic() - begin < tarn_test.PATIENCE_S
    visitor.close()


def test_pipes_are_used_only_as_the_client_may(shell):
    shell.out("up")
    number = int(shell.out("submit", "-q", "--pty", "--", "cat"))
    wait_until("the job runs", lambda: is_running(shell, number))
    visitor = Visitor(shell, number)
    visitor.output = visitor.output[::-1]  # the reading end, where it is to write
    assert visitor.attach()[1] == "not pipes"
    visitor.close()
    shell.run("cancel", number)


def test_descriptors_too_many_are_closed(shell):
    shell.out("up")
    number = int(shell.out("submit", "-q", "--pty", "--", "cat"))
    wait_until("the job runs", lambda: is_running(shell, number))
    folder = "/proc/%d/fd" % supervisor(shell)
    before = len(os.listdir(folder))
    for count in (1, 2, 4, 5, 20):
        visitor = Visitor(shell, number)
        socket.send_fds(visitor.door, [b"\0"], [visitor.input[0]] * count)
        assert visitor.door.recv(4096)
        visitor.close()
    wait_until("they are closed", lambda: len(os.listdir(folder)) == before)
    shell.run("cancel", number)


def test_silent_clients_leave_room_for_others(shell):
    shell.out("up")
    number = int(shell.out("submit", "-q", "--", "sleep", "1000"))
    wait_until("the job runs", lambda: is_running(shell, number))
    visitors = [Visitor(shell, number) for _ in range(9)]
    assert shell.out("exec", number, "--", "echo", "in") == "in\n"
    answer = visitors[0].door.recv(4096)
    assert b"no request came in time" in answer
    for visitor in visitors:
        visitor.close()


def test_a_supervisor_without_descriptors_does_not_spin(shell):
    terminal = bash_on_terminal(shell)  # which needs more of them
    shim = supervisor(shell)
    # What poll() itself needs to be allowed; one place more for a guest than descriptors.
    soft, hard = resource.prlimit(shim, resource.RLIMIT_NOFILE, (18, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    visitors = [Visitor(shell, 1) for _ in range(8)]
    wait_until("all are used", lambda: len(os.listdir("/proc/%d/fd" % shim)) == 18)
    before = ticks(shim)
    time.sleep(1)
    assert ticks(shim) - before < 0.2 * os.sysconf("SC_CLK_TCK")
    resource.prlimit(shim, resource.RLIMIT_NOFILE, (soft, hard))
    for visitor in visitors:
        visitor.close()
    assert shell.out("exec", 1, "--", "echo", "in") == "in\n"
    terminal.send("exit\r")
    assert terminal.end() == 0


def ticks(pid):
    """Processor time used so far."""
    user, system = read_file("/proc/%d/stat" % pid).rsplit(")", 1)[1].split()[11:13]
    return int(user) + int(system)


def test_submit_pty_waits_for_attach_and_attach_follows_any_job(shell):
    number = int(shell.out("submit", "-q", "--pty", "--", "sh", "-c", "read line; echo got=$line"))
    shell.api.wait_state(number, "running")
    assert "standard input is not a terminal" in shell.refused(1, "attach", number)
    terminal = on_terminal(shell, "attach", str(number))
    terminal.send("late\r")
    terminal.expect("got=late")
    assert terminal.end() == 0
    # Without a terminal: its output.
    plain = int(shell.out("submit", "-q", "--", "sh", "-c", "echo one; until [ -e go ]; do sleep 0.05; done; exit 4"))
    shell.api.wait_state(plain, "running")
    follower = start(shell, "attach", plain, stdin=subprocess.DEVNULL)
    assert follower.stdout.readline() == b"one\n"
    shell.file("go", "")
    follower.communicate(timeout=tarn_test.PATIENCE_S)
    assert follower.returncode == 4
    # A job that waits for standard input gets that of the client.
    shell.file("job.yaml", "command: [cat]\nattach: stdin\n")
    fed = int(shell.out("submit", "-q", "-f", "job.yaml"))
    shell.api.wait_state(fed, "running")
    assert shell.out("attach", fed, stdin="through attach") == "through attach"


def test_exec_pty_restores_the_terminal_at_a_signal(shell):
    number = int(shell.out("submit", "-q", "--", "sleep", "600"))
    shell.api.wait_state(number, "running")
    terminal = on_terminal(shell, "exec", "--pty", str(number), "--", "bash", "--norc")
    terminal.send("PS1='in> '\r")
    terminal.expect("^in>$")
    terminal.resize(61, 17)
    terminal.send("stty size\r")
    terminal.expect("17 61")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.end() == 128 + signal.SIGTERM and terminal.is_restored()
    assert is_running(shell, number)


def test_what_cannot_have_a_terminal_is_refused(shell):
    assert "--pty: standard input is not a terminal" in shell.refused(2, "run", "--pty", "--", "true")
    assert "--pty: expected one job" in shell.refused(2, "submit", "--pty", "--array", "0-1", "--", "true")
    shell.file("job.yaml", "command: [cat]\nattach: terminal\nerror: x\n")
    assert "a terminal has one output" in shell.refused(1, "submit", "-f", "job.yaml")
    shell.file("job.yaml", "command: [cat]\nattach: tty\n")
    assert "expected none, stdin or terminal" in shell.refused(1, "submit", "-f", "job.yaml")
    assert "expected the number of one job" in shell.refused(2, "attach")
    held = int(shell.out("submit", "-q", "--array", "0-1", "--hold", "--", "true"))
    assert "is several jobs" in shell.refused(1, "attach", held)
    assert "no such job" in shell.refused(1, "attach", 99)


def test_srun_passes_on_input_and_has_a_terminal(shell):
    shell.out("up")
    srun = os.path.join(shell.root, "srun")
    os.symlink(TARN, srun)
    done = subprocess.run([srun, "-c", "0.1", "wc", "-c"], input=b"four", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=shell.environment, timeout=tarn_test.PATIENCE_S)
    assert (done.stdout, done.returncode) == (b"4\n", 0), done
    terminal = Terminal([srun, "--pty", "bash", "--norc"], shell.environment)
    terminal.send("test -t 0 && test -n \"$SLURM_JOB_ID\" && exit 9\r")
    assert terminal.end() == 9 and terminal.is_restored(), terminal.text()
    terminal = Terminal([srun, "-n", "2", "--pty", "true"], shell.environment)
    assert terminal.end() == 1 and "--pty: expected one task" in terminal.text()
    done = subprocess.run([srun, "--pty", "true"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=shell.environment, timeout=tarn_test.PATIENCE_S)
    assert done.returncode == 1 and b"standard input is not a terminal" in done.stderr, done


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_other_users_run_submit_attach_and_exec_as_themselves(shell):
    os.chmod(shell.root, 0o755)
    socket, home = os.path.join(shell.root, "all.sock"), os.path.join(shell.root, "home")
    os.mkdir(home)
    os.chown(home, 65534, 65534)
    environment = dict(shell.environment, TARN_SOCKET=socket, HOME=home)
    daemon = subprocess.Popen([TARN, "serve", "--state", shell.state, "--socket", socket, "--all-users"],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def user(*words, stdin=""):
        return subprocess.run([TARN, *words], input=stdin, user=65534, group=65534, extra_groups=[], cwd=home,
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=tarn_test.PATIENCE_S)

    def user_on_terminal(*words):
        return Terminal(["/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", TARN, *words],
                        environment)

    try:
        wait_until("it listens", lambda: os.path.exists(socket) and user("ls").returncode == 0)
        os.chdir(home)
        assert user("run", "-Q", "--", "sh", "-c", "id -u; cat", stdin="in").stdout == "65534\nin"
        terminal = user_on_terminal("run", "--pty", "--", "sh", "-c",
                                    'id -u; stat -c owner=%u "$(tty)"; echo open > /dev/tty; read x; exit 4')
        terminal.expect("^65534\nowner=65534\nopen$")
        terminal.send("\x1dd")
        assert terminal.end() == 0
        assert user("exec", "2", "--", "id", "-u").stdout == "65534\n"
        again = user_on_terminal("attach", "2")
        again.send("\r")
        assert again.end() == 4
        # Root may enter any job, others only their own.
        root = subprocess.run([TARN, "submit", "-q", "--pty", "--", "sleep", "600"], env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        number = root.stdout.strip()
        wait_until("it runs", lambda: '"running"' in user("show", "--json", number).stdout)
        for words in (("attach", number), ("exec", "-t", number, "--", "id")):
            terminal = user_on_terminal(*words)
            assert terminal.end() == 1 and "belongs to another user" in terminal.text(), terminal.text()
    finally:
        subprocess.run([TARN, "down", "--kill"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        daemon.wait(tarn_test.PATIENCE_S)


# ---- restarts and failures ----

def test_a_failed_gang_says_which_rank_failed_first_and_shows_its_lines(shell):
    script = ('echo "from $TARN_RANK"; [ "$TARN_RANK" = 1 ] || exec sleep 600; '
              'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "line $i"; done; exit 3')
    said = shell.refused(3, "run", "--ranks", 3, "--cpus", "0.1", "--", "sh", "-c", script)
    assert "job 1 failed: rank 1 failed first: exit status 3" in said
    assert "the last lines of rank 1:" in said and "\n  line 3\n" in said and "\n  line 12\n" in said
    assert "line 2\n" not in said and "from 0" not in said
    assert "rank 1 failed first" in shell.out("why", 1) and "rank 1 failed first" in shell.out("show", 1)
    assert shell.json("show", "--json", 1)["failed_rank"] == 1
    said = shell.refused(3, "wait", 1)
    assert "\n  line 12\njob 1 failed: rank 1 failed first: exit status 3" in said


BARS = r"""i=0; while [ $i -le 3000 ]; do printf '\r%d of 3000' $i; i=$((i+1)); done; echo
printf '\033]0;owned\007\033[2J\033[H\033[31mred\033[0m \033[?1049h\302\233m.\n'; printf 'x%.0s' $(seq 5000); echo; exit 7"""


def test_output_that_is_quoted_is_short_and_acts_on_no_terminal(shell):
    """Of ten thousand states of a progress bar the last; neither titles nor other screens; no line of kilobytes."""
    shell.file("bars.sh", "#!/bin/sh\n" + BARS)
    shell.run("run", "-q", "bars.sh", status=7)
    said = shell.refused(7, "wait", 1)
    assert "the last lines:\n  red m.\n  xxxx" in said and " ...\njob 1 failed" in said
    assert "\x1b" not in said and "\r" not in said and len(said) < 1000, said
    said = shell.run("run", "--array", "0-1", "bars.sh", status=1).stderr
    assert "  red m.\n" in said and "\x1b" not in said and len(said) < 3000, said
    shell.file("bar.sh", "#!/bin/sh\n" + BARS.splitlines()[0] + "\nexit 8\n")
    shell.run("run", "-q", "bar.sh", status=8)
    assert "the last lines:\n  3000 of 3000\njob 5 failed" in shell.refused(8, "wait", 5)


def test_logs_on_a_terminal_pass_colors_but_neither_titles_nor_screens(shell):
    shell.file("bars.sh", "#!/bin/sh\n" + BARS)
    shell.run("run", "-q", "bars.sh", status=7)
    terminal = shell.terminal("logs", 1)
    assert terminal.finish() == 0
    assert "\x1b[31mred\x1b[0m" in terminal.text and "3000 of 3000" in terminal.text
    for bad in ("\x1b]", "\x07", "\x1b[2J", "\x1b[H", "\x1b[?", "\x9b", "owned"):
        assert bad not in terminal.text, bad
    raw = shell.out("logs", 1)  # a pipe gets what the job wrote
    assert "\x1b]0;owned\x07\x1b[2J" in raw and raw.count("of 3000") == 3001


def test_the_api_gives_output_as_a_terminal_shows_it(shell):
    shell.file("bars.sh", "#!/bin/sh\n" + BARS)
    shell.run("run", "-q", "bars.sh", status=7)
    assert shell.api.output(1, plain=1) == "red m.\n" + "x" * 5000 + "\n"
    assert shell.api.output(1, plain=1, tail=1) == "x" * 5000 + "\n"
    shell.file("bar.sh", "#!/bin/sh\n" + BARS.splitlines()[0] + "\n")
    shell.run("run", "-q", "bar.sh")
    assert shell.api.output(2, plain=1, tail=10) == "3000 of 3000\n"
    with pytest.raises(tarn_test.Refused, match="plain: not with follow"):
        shell.api.output(2, plain=1, follow=1)


def test_a_failure_shows_the_last_lines_that_were_not_seen(shell):
    # Those of a run were printed already, but not those of a file of its own.
    done = shell.run("run", "--", "sh", "-c", "echo seen; exit 3", status=3)
    assert done.stdout == "seen\n" and "the last lines" not in done.stderr
    said = shell.refused(4, "run", "-e", "err", "--", "sh", "-c", "echo hidden >&2; exit 4")
    assert "the last lines of standard error:\n  hidden\njob 2 failed: exit status 4" in said
    assert "the last lines:\n  seen\njob 1 failed: exit status 3" in shell.refused(3, "wait", 1)
    assert shell.run("wait", "-q", 1, status=3).stderr == ""
    assert shell.run("wait", int(shell.out("submit", "-q", "--", "true"))).stderr == ""
    said = shell.run("run", "--array", "0-1", "--", "sh", "-c", "echo of $TARN_ARRAY_INDEX; exit $TARN_ARRAY_INDEX",
                     status=1).stderr
    assert "  of 1\n" in said and "  of 0\n" not in said


@pytest.mark.parametrize("how", [["run"], ["wait", "1"], ["logs", "-f", "1"]])
def test_restarts_are_announced(shell, how):
    words = ["--retry", 50, "--", "sh", "-c", 'until [ -e "go$TARN_ATTEMPT" ]; do sleep 0.02; done; [ -e last ]']
    if how[0] == "run":
        follower = start(shell, "run", *words, stdin=subprocess.DEVNULL)
    else:
        shell.out("submit", "-q", *words)
        follower = start(shell, *how, stdin=subprocess.DEVNULL)
    said = b""
    os.set_blocking(follower.stderr.fileno(), False)
    for attempt in range(1, 50):  # it may come late, but then sees the next
        wait_until("the attempt runs", lambda: is_running(shell, 1) and shell.api.job(1)["attempt"] == attempt)
        end = time.monotonic() + 1
        while attempt > 1 and b"restarted" not in said and time.monotonic() < end:
            said += follower.stderr.read() or b""
            time.sleep(0.02)
        if b"restarted" in said:
            break
        shell.file("go%d" % attempt, "")
    shell.file("last", "")
    shell.file("go%d" % attempt, "")
    os.set_blocking(follower.stderr.fileno(), True)
    out, err = follower.communicate(timeout=tarn_test.PATIENCE_S)
    assert follower.returncode == 0, err
    assert re.search(rb"job 1.* restarted after a failure \(retry \d+ of 50\).* attempt \d+", said + err), said + err
