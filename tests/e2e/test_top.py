# SPDX-License-Identifier: Apache-2.0
"""tarn top on a real terminal: what it shows, what its keys do, and that the terminal is as before afterwards."""

import os
import signal
import subprocess

import pytest

import tarn_test
from terminal import Terminal
from test_gpu import Machine, gpu
from tarn_test import TARN, wait_until

ESCAPE, DOWN, RIGHT = "\x1b", "\x1bOB", "\x1bOC"  # as sent while ncurses has the keypad


class Screen:
    """Starts tarn top on terminals, and closes them."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.open = []

    def environment(self, **more):
        environment = {key: value for key, value in self.daemon.environment().items()
                       if key not in ("NO_COLOR", "COLUMNS", "LINES", "LANG", "LC_CTYPE")}
        return dict(environment, **dict({"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}, **more))

    def top(self, *words, columns=80, rows=24, **environment):
        terminal = Terminal([TARN, "top", "--interval", "0.2", *words], self.environment(**environment), columns, rows)
        self.open.append(terminal)
        return terminal

    def out(self, *words, status=0, **environment):
        done = subprocess.run([TARN, "top", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=tarn_test.PATIENCE_S, env=self.environment(**environment))
        assert done.returncode == status, (done.stdout, done.stderr)
        return done.stdout if status == 0 else done.stderr


@pytest.fixture
def machine(make_daemon, tmp_path):
    """Two GPUs that say how they do; the second hides its power and its use."""
    machine = Machine(make_daemon, tmp_path)
    machine.tell(gpu(0, use=92, used=71000, power=612000, temp=64), gpu(1, use="none", power="none", temp=41))
    machine.daemon.start()
    wait_until("both were read", lambda: machine.gpu(0)["reading"] and machine.gpu(1)["reading"])
    return machine


def closing(screen):
    yield screen
    for terminal in screen.open:
        terminal.close()


@pytest.fixture
def real(machine):
    yield from closing(Screen(machine.daemon))


@pytest.fixture
def screen(daemon):
    yield from closing(Screen(daemon))


def submit(daemon, count, **keys):
    """So many jobs that go on until they are ended; each has its GPU or waits for one."""
    return [daemon.api.submit(command=["sleep", "600"], cpus=0, env=daemon.env(), **keys) for _ in range(count)]


def test_gpus_are_shown_with_what_they_do_and_who_has_them(real):
    job, = submit(real.daemon, 1, gpus="1", name="train")
    real.daemon.api.wait_state(job, "running")
    held = real.daemon.api.job(job)["devices"][0]["index"]
    top = real.top()
    top.expect(r"^[> ]  0  92% ███████░ .* 69/80 GiB █████░ 612/700 W  64°C")
    top.expect(r"^[> ]  1    - -------- .* -  41°C")
    top.expect(r"^[> ]  %d .* %d \w+$" % (held, job))
    top.expect(r"^ +%d train " % job)
    top.expect(r"^  power +612/700 W █+")
    top.expect(r"69/80 GiB .*▇▇")
    assert "0 W " not in top.text().replace("700 W ", ""), "absent is not zero"
    top.send("q")
    assert top.end() == 0 and top.is_restored()
    assert not top.picture.unknown


def test_what_was_read_before_is_there_at_once(real):
    def count():
        return len(real.daemon.api.get("/v1/gpus/GPU-0/history", last="60s", step="1s")["readings"]["gpu_use"]["at"])
    wait_until("there is some", lambda: count() >= 4)
    top = real.top("--interval", "3600")
    top.expect(r"^  use +92% █+░* .*█.*█")
    top.send("q")
    assert top.end() == 0


def test_it_follows_what_changes(screen):
    top = screen.top()
    top.expect(r"0 running · 0 waiting")
    submit(screen.daemon, 3, gpus="2", name="follow")
    top.expect(r"2 running · 1 waiting")
    top.expect(r"^ +3 follow .* 2 gpus wanted, 0 free")
    top.send(" ")
    top.expect("paused")
    screen.daemon.api.post("/v1/jobs/1/cancel")
    screen.daemon.api.wait_end(1)
    assert "2 running" in top.text()
    top.send(" ")
    top.expect(r"2 running · 0 waiting")


def test_a_job_is_ended_only_after_a_yes(screen):
    job, other = submit(screen.daemon, 2, gpus="1", name="mine")
    screen.daemon.api.wait_state(other, "running")
    top = screen.top()
    top.expect(r"^ +%d mine" % other)
    top.send("\t")
    top.expect(r"^> +%d mine" % job)
    top.send(DOWN)
    top.expect(r"^> +%d mine" % other)
    top.send("K")
    top.expect(r"^end job %d \(mine\)\? \[y/N\]" % other)
    top.send("n")
    top.expect(r"^job %d continues" % other)
    assert screen.daemon.api.job(other)["state"] == "running"
    top.send("x")
    top.expect(r"^end job %d" % other)
    top.send("y")
    top.expect(r"^job %d is being ended" % other)
    assert screen.daemon.api.wait_end(other)["result"] == "cancelled"
    top.expect_not(r"^.+ %d mine" % other)
    assert screen.daemon.api.job(job)["state"] == "running"


def test_sort_filter_and_help(screen):
    first, = submit(screen.daemon, 1, gpus="1", name="apple")
    second, = submit(screen.daemon, 1, gpus="3", name="pear")
    screen.daemon.api.wait_state(second, "running")
    top = screen.top()
    top.expect(r"%d apple(.*\n)+ +%d pear" % (first, second))
    top.send("\tss")
    top.expect(r"^jobs by gpus")
    top.expect(r"%d pear(.*\n)+. +%d apple" % (second, first))
    top.send("/appl")
    top.expect(r"^/appl_")
    top.expect_not(r"%d pear" % second)
    top.send("\r")
    top.expect(r"only with 'appl'")
    top.send(ESCAPE)
    top.expect(r"%d pear" % second)
    top.send("?")
    top.expect("any key returns")
    top.send("?")
    top.expect(r"%d pear" % second)


def test_it_follows_the_size_of_the_terminal(screen):
    submit(screen.daemon, 1, gpus="1", name="sized")
    top = screen.top()
    top.expect(r"^ +1 sized")
    for columns, rows in [(132, 40), (60, 12), (40, 8), (10, 3), (80, 24)]:
        top.resize(columns, rows)
        top.expect("^too small" if rows < 6 else r"^tarn (.*\n){%d}." % (rows - 1))
        assert all(len(line) <= columns for line in top.lines())
    top.expect(r"^ +1 sized")
    top.send("q")
    assert top.end() == 0


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "vt100"}, {"TERM": "vt100", "LC_ALL": "C"}])
def test_it_does_without_colours_and_signs(real, environment):
    top = real.top(**environment)
    is_ascii = environment.get("LC_ALL") == "C"
    top.expect(r"^> +0 +92% #######\. " if is_ascii else r"^> +0 +92% ███████░")
    top.expect(r"64 C" if is_ascii else r"64°C")
    assert not any(30 <= style <= 49 for style in top.picture.styles - {39, 49}), top.picture.styles
    if is_ascii:
        assert all(byte < 0x80 for byte in top.bytes)
    top.send("q")
    assert top.end() == 0 and top.is_restored()


def test_many_gpus_are_a_map_of_machines(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:64")
    daemon.start()
    for screen in closing(Screen(daemon)):
        submit(daemon, 1, gpus="2")
        top = screen.top()
        top.expect(r"GPUS BY NODE")
        top.expect(r"^ \S+ --·{62}$")
        top.expect(r"^ gpu 0 ")
        top.send(RIGHT)
        top.expect(r"^ gpu 1 ")
        top.send("g")
        top.expect(r"^>  1 ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(screen, number):
    top = screen.top()
    top.expect("0 running")
    if number == signal.SIGINT:
        top.send("\x03")
    else:
        top.signal(number)
    assert top.end() == 128 + number and top.is_restored()


def test_a_daemon_that_went_is_missed_and_found_again(screen):
    submit(screen.daemon, 1, gpus="1", name="lasting")
    top = screen.top()
    top.expect(r"^ +1 lasting")
    screen.daemon.kill()
    top.expect(r"no answer since \d+ s")
    top.expect(r"^ +1 lasting")
    top.send("j")
    top.expect(r"^>  1 ")
    screen.daemon.start()
    top.expect_not("no answer")
    top.expect(r"^ +1 lasting")
    top.send("q")
    assert top.end() == 0 and top.is_restored()


def test_a_daemon_that_hangs_stops_no_key(screen):
    top = screen.top()
    top.expect("0 running")
    os.kill(screen.daemon.process.pid, signal.SIGSTOP)
    try:
        top.expect(r"no answer since \d+ s")
        top.send("?")
        top.expect("any key returns")
        top.send("qq")
        assert top.end() == 0 and top.is_restored()
    finally:
        os.kill(screen.daemon.process.pid, signal.SIGCONT)


def test_a_pipe_gets_one_plain_picture(real):
    job, = submit(real.daemon, 1, gpus="1", name="train")
    real.daemon.api.wait_state(job, "running")
    for words in [[], ["--once"]]:
        text = real.out(*words)
        assert ESCAPE not in text and "69/80 GiB" in text and "612/700 W" in text
        assert "train" in text and len(text.splitlines()) == 1 + 1 + 2 + 1 + 1 + 1
    assert max(map(len, real.out(COLUMNS="60").splitlines())) <= 60
    assert all(ord(sign) < 0x80 for sign in real.out(LC_ALL="C"))
    assert real.out("-q").split() == [str(job)]
    assert '"gpu_use":0.92' in real.out("--json").replace(" ", "")


def test_pool_and_user_leave_the_others_out(screen):
    submit(screen.daemon, 1, gpus="1", name="seen")
    assert "4 synthetic gpus" in screen.out("--pool", "default")
    assert "seen" not in screen.out("--user", "nobody")


@pytest.mark.parametrize("name,words", [("dumb", "it cannot position the cursor"), ("no-such-terminal", "it is not in the terminfo database")])
def test_a_terminal_that_can_not_be_drawn_on_is_told(screen, name, words):
    top = screen.top(TERM=name)
    assert top.end() == 1
    said = top.bytes.decode()
    assert "terminal '%s': %s" % (name, words) in said and "tarn gpus" in said and ESCAPE not in said


def test_wrong_use_is_told(screen):
    assert "unexpected argument" in screen.out("gpu", status=2)
    for text in ["x", "0", "-1", "nan", "1h", "99999"]:
        assert "--interval" in screen.out("--interval", text, status=2)
    screen.daemon.kill()
    assert "tarn up" in screen.out(status=1)
