# SPDX-License-Identifier: Apache-2.0
"""The command line as people and scripts use it, with and without a daemon."""

import contextlib
import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest

import tarn_test
import terminal as pictures
from tarn_test import TARN, read_file, wait_until


class Shell:
    """A person with a state folder of their own, and no daemon yet."""

    def __init__(self, root):
        self.root = root
        self.state = os.path.join(root, "s")
        self.socket = os.path.join(self.state, "tarn.sock")
        self.api = tarn_test.Client(self.socket)
        self.work = os.path.join(root, "work")
        os.mkdir(self.work)
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("TARN_", "SLURM_", "CUDA_", "XDG_")) and key != "NO_COLOR"}
        self.environment.update(TARN_STATE=self.state, TARN_SHIM=tarn_test.find_shim(), TERM="xterm-256color",
                                TARN_DEVICES="synthetic:h100:4", LC_ALL="C.UTF-8")
        self.far = self.server = None
        if os.environ.get("TARN_E2E_HOST"):
            self.go_far()

    def go_far(self):
        """Commands reach the daemon from another machine. Over HTTPS somebody there has started it."""
        from far import Far, WAY

        self.far = Far(self.root, self.work, dict(self.environment))
        self.there = dict(self.environment)
        del self.environment["TARN_STATE"]
        if WAY == "https":
            self.serve()
        self.environment.update(self.far.environment(self.api))

    def serve(self):
        self.log = os.path.join(self.far.folder, "daemon.log")
        before = read_file(self.log).count("ready version=") if os.path.exists(self.log) else 0
        with open(self.log, "ab") as log:
            self.server = subprocess.Popen([*self.far.serve_words(), TARN, "serve", *self.far.serve_options()], env=self.there,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until("the daemon there listens", lambda: read_file(self.log).count("ready version=") > before)

    def run(self, *words, stdin=None, status=0, **environment):
        if self.server and words[0] == "up" and not os.path.exists(self.socket):
            self.serve()
        done = subprocess.run([TARN, *[str(word) for word in words]], input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=tarn_test.PATIENCE_S, cwd=self.work,
                              env=dict(self.environment, **environment),
                              **({"stdin": subprocess.DEVNULL} if stdin is None else {}))
        assert status is None or done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
        if self.server and words[0] == "down" and "stopped" in done.stderr:
            self.server.wait(tarn_test.PATIENCE_S)  # its port may be closed before its socket is
        return done

    def out(self, *words, **keys):
        return self.run(*words, **keys).stdout

    def refused(self, status, *words, **keys):
        """What it says when it does not want to."""
        done = self.run(*words, status=status, **keys)
        assert done.stderr.startswith("tarn: ") or done.stderr, done
        return done.stderr

    def json(self, *words, **keys):
        return json.loads(self.out(*words, **keys))

    def file(self, name, text):
        with open(os.path.join(self.work, name), "w") as file:
            file.write(text)
        return name

    def terminal(self, *words, columns=100, rows=24, **environment):
        return Terminal(self, words, columns, rows, environment)

    def daemon_pids(self):
        wanted = ("TARN_STATE=%s" % self.state).encode()
        found = []
        for name in os.listdir("/proc"):
            try:
                with open("/proc/%s/environ" % name, "rb") as file:
                    if name.isdigit() and wanted in file.read().split(b"\0") and "dropbear" not in read_file("/proc/%s/comm" % name):
                        found.append(int(name))
            except OSError:
                continue
        return found

    def count_daemons(self):
        """Without their copies, which are of the same words and live for a moment."""
        parents = {}
        for pid in self.daemon_pids():
            try:
                if "serve" in read_file("/proc/%d/cmdline" % pid):
                    parents[pid] = int(re.search(r"^PPid:\s*(\d+)", read_file("/proc/%d/status" % pid), re.M)[1])
            except OSError:
                continue
        return len([pid for pid, parent in parents.items() if parent not in parents])

    def close(self):
        subprocess.run([TARN, "down", "--kill"], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, timeout=60)
        for pid in list(tarn_test.shims_of(self.state).values()) + self.daemon_pids():
            tarn_test.kill_quietly(pid)
        if self.server:
            self.server.wait(tarn_test.PATIENCE_S)
            tarn_test.check_log(self.log)
        if self.far:
            self.far.stop()
        tarn_test.check_log(os.path.join(self.state, "daemon.log"))


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, shell, words, columns, rows, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(shell.work)
            os.execve(TARN, [TARN, *[str(word) for word in words]], dict(shell.environment, **environment))
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.text = ""

    def read(self, patience=0.1):
        chunk = pictures.read_chunk(self.fd, patience)
        self.text += (chunk or b"").decode("utf-8", "replace")
        return chunk is None or len(chunk) > 0

    def expect(self, words):
        end = time.monotonic() + tarn_test.PATIENCE_S
        while not re.search(words, self.text):
            assert time.monotonic() < end and self.read(), "no %r in %r" % (words, self.text)

    def send(self, text):
        os.write(self.fd, text.encode())

    def finish(self):
        """Its exit status, after all that it says."""
        end = time.monotonic() + tarn_test.PATIENCE_S
        while self.read() and time.monotonic() < end:
            pass
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
            time.sleep(0.01)
        os.close(self.fd)
        return os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def opened(kind=Shell):
    """A shell of this kind in a folder of its own."""
    root = tarn_test.make_folder()
    shell = kind(root)
    yield shell
    shell.close()
    tarn_test.remove_folder(root)


@pytest.fixture
def shell():
    with opened() as shell:
        yield shell


def test_tasks_of_an_array_that_wait_alike_are_one_row(shell):
    shell.out("submit", "--gpus", 4, "--array", "0-9", "--", "sleep", "600")
    shell.api.wait_state(2, "running")
    lines = shell.out("ls").splitlines()
    assert [line.split()[0] for line in lines] == ["ID", "1_0", "1_[1-9]"]
    assert "9 tasks" in lines[2]
    assert "10 jobs" in shell.run("ls").stderr
    shell.out("hold", "1_4")
    assert [line.split()[0] for line in shell.out("ls").splitlines()[1:]] == ["1_0", "1_[1-3]", "1_4", "1_[5-9]"]
    # Rows are what -n counts, and where a page goes on.
    first = shell.run("ls", "-n", 2)
    assert [line.split()[0] for line in first.stdout.splitlines()[1:]] == ["1_0", "1_[1-3]"]
    assert "tarn ls --after 5 continues" in first.stderr
    assert [line.split()[0] for line in shell.out("ls", "--after", 5).splitlines()[1:]] == ["1_4", "1_[5-9]"]
    assert [line.split()[0] for line in shell.out("ls", "-a", "-n", 2).splitlines()[1:]] == ["1_4", "1_[5-9]"]
    # One by one where that is asked for, or a program reads it.
    each = ["1_%d" % i for i in range(10)]
    assert [line.split()[0] for line in shell.out("ls", "--tasks").splitlines()[1:]] == each
    assert shell.out("ls", "-q").split() == each
    assert [job["label"] for job in json.loads(shell.out("ls", "--json"))["jobs"]] == each


def test_what_has_ended_is_found_by_result_and_time_and_why_says_how(shell):
    for words in ("exit 0", "exit 3", "kill -9 $$", "sleep 600"):
        shell.out("submit", "--cpus-per-task", 1, "--", "sh", "-c", words)
    for number in (1, 2, 3):
        shell.api.wait_end(number)
    shell.out("cancel", 4)
    shell.api.wait_end(4)

    def listed(*words):
        return shell.out("ls", "-q", *words).split()

    assert listed("--state", "failed") == ["2", "3"]
    assert listed("--state", "cancelled,ok") == ["1", "4"]
    assert listed("--state", "ended") == listed("--since", "1h") == ["1", "2", "3", "4"]
    assert listed("--since", "1h", "--until", "1h") == []
    assert listed("--since", "1h", "--state", "failed") == ["2", "3"]
    assert "expected held, waiting" in shell.refused(1, "ls", "--state", "nothing")
    assert "--since" in shell.refused(2, "ls", "--since", "x")
    assert shell.out("why", 1).startswith("job 1 ended ok · ran ")
    assert shell.out("why", 2).startswith("job 2 failed: exit status 3 · ran ") and "tarn logs 2 --tail 20" in shell.out("why", 2)
    assert "Killed" in shell.out("why", 3)
    assert "cancelled by" in shell.out("why", 4)
    assert shell.out("why", "-q", 2) == "none\n"


def test_why_names_the_jobs_of_an_array_that_failed(shell):
    shell.out("submit", "--cpus-per-task", 0.1, "--array", "0-9", "--", "sh", "-c", "[ $TARN_ARRAY_INDEX != 3 ]")
    shell.run("wait", 1, status=1)
    said = shell.out("why", 1).splitlines()
    assert "10 of 10 jobs have ended" in said[0] and len(said) == 2, said
    assert re.fullmatch(r"  job 1_3 failed: exit status 1 · ran \S+ · tarn logs 1_3", said[1]), said
    shell.out("submit", "--cpus-per-task", 0.1, "--array", "0-6", "--", "sh", "-c", "exit 2")
    shell.run("wait", 12, status=None)
    said = shell.out("why", 12).splitlines()
    assert len(said) == 7 and said[-1] == "  tarn ls -a --group 12 lists more", said


def test_the_output_of_an_array_and_of_a_pipeline_has_prefixes(shell):
    shell.out("submit", "--wait", "--array", "0-2", "--", "sh", "-c", "echo a $TARN_ARRAY_INDEX; echo; printf end")
    assert shell.out("logs", 1) == "".join("[1_%d] a %d\n[1_%d] \n[1_%d] end\n" % (i, i, i, i) for i in range(3))
    assert shell.out("logs", 1, "--tail", 1) == "[1_0] end\n[1_1] end\n[1_2] end\n"
    assert shell.out("logs", "1_1") == "a 1\n\nend"  # of one job: its bytes
    assert "--follow takes one job" in shell.refused(1, "logs", "-f", 1)
    assert "no such job" in shell.refused(1, "logs", 99)
    with open(os.path.join(shell.work, "two.yaml"), "w") as file:
        file.write("stages:\n  make: {run: echo made}\n  use: {needs: make, run: echo used}\n")
    number = int(shell.out("submit", "--parsable", "--wait", "-f", "two.yaml").split()[0])
    lines = shell.out("logs", number).splitlines()
    assert [re.sub(r"\[[0-9]+ ", "[", line) for line in lines] == ["[make] made", "[use] used"]


def test_a_submission_names_the_secrets_that_are_kept(shell):
    if shell.far:
        pytest.skip("the environment of this machine is not sent to another one")

    def said(*options, **env):
        done = subprocess.run([TARN, "submit", *options, "--", "true"], cwd=shell.work, env=dict(shell.environment, **env), capture_output=True, text=True)
        assert done.returncode == 0, done
        return done.stderr

    secrets = {"HF_TOKEN": "a", "AWS_SECRET_ACCESS_KEY": "b", "PGPASSWORD": "c"}
    text = said(TOKENIZERS_PARALLELISM="false", KEYBOARD="de", EMPTY_TOKEN="", **secrets)
    for name in secrets:
        assert text.count(name) == 2 and " -u " + name in text, text
    assert "journal" in text and "--export=NONE" in text and not re.search("PARALLELISM|KEYBOARD|EMPTY", text), text
    assert "journal" not in said("--export=NONE", **secrets)
    assert "HF_TOKEN" not in said()


def test_what_other_users_wrote_cannot_act_on_the_terminal(shell):
    """Paths, arguments and environment may have any bytes: escape sequences, and what turns text around."""
    odd = "a\x1b]0;taken\x07b\u202egpj\u2066c\u200bd\ufeff\u00ad\u3164\U000e0041"
    unseen = set("\x1b\x07\u202e\u2066\u200b\ufeff\u00ad\u3164\U000e0041")
    number = int(shell.out("submit", "--parsable", "-o", os.path.join(shell.work, odd + ".out"), "--", "/bin/true", odd))
    shell.run("wait", number)
    for words in (["show", number], ["why", number], ["ls", "-a"], ["wait", number]):
        done = shell.run(*words, status=None)
        said = done.stdout + done.stderr
        assert not set(said) & unseen, (words, said)
    assert "a?]0;taken?b?gpj?c?d????" in shell.out("show", number)
    shown = shell.out("show", number, "--json")
    assert not set(shown) & unseen, shown
    assert json.loads(shown)["launch"]["command"][1] == odd  # programs get it as it is


def test_names_that_look_the_same_are_refused(shell):
    for name, where in (("train\u200b", "the character U+200B at position 6"), ("\ufefftrain", "the character U+FEFF at position 1"),
                        ("tra\u00adin", "the character U+00AD at position 4"), ("t\U000e0041", "the character U+E0041 at position 2")):
        assert where in shell.refused(1, "submit", "--name", name, "--", "true"), name
        assert where in shell.refused(1, "submit", "--comment", name, "--", "true"), name
        assert where in shell.refused(1, "submit", "-p", name, "--", "true"), name
    assert "train?: no such script" in shell.refused(1, "submit", "train\u200b")
    shell.out("submit", "--name", "می\u200cخواهم ❤\ufe0f", "--", "true")


def test_words_of_other_programs_lead_to_the_command(shell):
    for word, verb in (("status", "ls"), ("list", "ls"), ("kill", "cancel"), ("delete", "cancel"), ("stop", "cancel"), ("restart", "requeue")):
        assert shell.refused(2, word) == "tarn: unknown command '%s'; did you mean '%s'?\n" % (word, verb)


def test_help_is_in_groups_and_each_command_has_two_examples(shell):
    text = shell.out("help")
    titles = [line for line in text.splitlines() if line and line[0] != " "][1:-1]
    assert titles == ["Submit and control jobs", "Show the state, and explain it", "Configure and maintain nodes, pools and queues",
                      "The daemon, and tools"]
    verbs = re.findall(r"^  ([a-z]+) +[a-z]", text, re.M)[1:]
    assert "submit" in verbs and len(verbs) > 40 and len(set(verbs)) == len(verbs)
    for verb in verbs:
        if verb != "simulate":  # it prints its own help
            examples = shell.out("help", verb).split("Examples:\n")[1].splitlines()
            assert len(examples) == 2 and all(line.startswith("  ") and "tarn " in line for line in examples), verb


def test_a_name_that_nothing_has_is_a_failure(shell):
    shell.out("submit", "--parsable", "--gpus", 1, "-J", "here", "--", "sleep", "600")
    assert "here" in shell.out("ls", "--name", "here")
    for words in (("--name", "gone"), ("--user", "nobody-of-that-name"), ("--queue", "none")):
        done = shell.run("ls", *words, status=1)
        assert done.stdout == "" and "no job has that name, user or queue" in done.stderr
        done = shell.run("ls", *words, "--json", status=1)
        assert json.loads(done.stdout)["jobs"] == [] and "no job has that name, user or queue" in done.stderr
    assert json.loads(shell.out("ls", "--state", "held", "--json"))["jobs"] == []
    assert "no jobs" in shell.run("ls", "--state", "held").stderr


def test_a_gang_is_listed_with_the_gpus_of_all_its_members(shell):
    number = shell.out("submit", "--parsable", "--ranks", 2, "--gpus", 2, "--", "sleep", "600").strip()
    shell.api.wait_state(int(number), "running")
    head, line = shell.out("ls").splitlines()
    assert line[head.index("GPUS"):].split()[0] == "4"


def test_a_long_list_comes_whole_and_by_pages(shell):
    shell.out("up", "--devices", "synthetic:h100:1")
    jobs = [{"command": ["true"], "hold": True, "name": "n%d" % i} for i in range(1500)]
    shell.api.post("/v1/jobs", jobs[:1000])
    shell.api.post("/v1/jobs", jobs[1000:])
    whole = shell.api.get("/v1/jobs?limit=10000")
    assert [job["name"] for job in whole["jobs"]] == [job["name"] for job in jobs] and whole["next"] is None
    page = shell.api.get("/v1/jobs?limit=1000")
    assert len(page["jobs"]) == 1000 and page["next"] == 1000 and page["counts"]["held"] == 1500
    assert [job["id"] for job in shell.api.get("/v1/jobs?after=1000")["jobs"]] == list(range(1001, 1501))
    newest = shell.api.get("/v1/jobs?newest=1&limit=3")
    assert [job["id"] for job in newest["jobs"]] == [1498, 1499, 1500] and newest["older"] is True
    assert shell.api.get("/v1/jobs?name=nothing") == dict(whole, jobs=[])
    # The rows of the table are taken out of the reply while it arrives.
    table = shell.run("ls", "-n", 10000)
    assert [line.split()[:2] for line in table.stdout.splitlines()[1:]] == [[str(i + 1), job["name"]] for i, job in enumerate(jobs)]
    assert "1500 jobs" in table.stderr
    assert shell.out("ls", "-q", "-n", 1200).split() == [str(i + 1) for i in range(1200)]
    page = shell.run("ls", "-n", 1200)
    assert len(page.stdout.splitlines()) == 1201 and "--after 1200 continues" in page.stderr


@pytest.fixture
def busy(shell):
    """With a daemon, and a job 1 that has all four GPUs."""
    shell.out("submit", "--parsable", "--gpus", 4, "-J", "hog", "--", "sleep", "600")
    shell.api.wait_state(1, "running")
    return shell


# Without a daemon


def test_the_first_command_of_all_works_with_no_daemon_and_no_configuration(shell):
    done = shell.run("run", "--gpus", 1, "--", "python3", "-c", 'import os; print(os.environ["CUDA_VISIBLE_DEVICES"])')
    assert re.fullmatch(r"GPU-[0-9a-f-]{36}\n", done.stdout), done
    assert "synthetic" in done.stderr and "ended ok" in done.stderr, done.stderr
    again = shell.run("run", "--gpus", 1, "--", "true")
    assert again.stdout == ""
    assert shell.count_daemons() == 1


def test_commands_that_describe_a_job_take_the_options_of_submit(shell):
    for verb in "choose", "when":
        assert "The options of tarn submit describe a job" in shell.out("help", verb)
        words = [line for line in shell.out("completion", "bash").splitlines() if line.strip().startswith(verb + ")")]
        assert words and "--gpus " in words[0], words
    assert "describe a job, which" not in shell.out("help", "submit") + shell.out("help", "ls")
    for verb in "drain", "undrain", "interrupt":
        assert "print the name only" in shell.out("help", verb)


@pytest.mark.skipif(tarn_test.is_sanitized(), reason="it needs more memory than the test allows")
def test_the_end_of_a_long_log_says_why_the_daemon_died(shell):
    os.mkdir(shell.state)
    with open(os.path.join(shell.state, "daemon.log"), "w") as log:
        log.write("x" * 2000000 + "\nan old line\n")
    done = subprocess.run(["prlimit", "--as=%d" % (12 << 20), TARN, "up"], env=shell.environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.returncode == 1 and "daemon.log:\n" in done.stderr, done.stderr
    assert "error while loading shared libraries" in done.stderr and "an old line" not in done.stderr, done.stderr


def test_two_at_once_start_one_daemon(shell):
    both = [subprocess.Popen([TARN, "run", "--", "echo", str(i)], env=shell.environment, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL) for i in range(4)]
    for i, process in enumerate(both):
        out, err = process.communicate(timeout=tarn_test.PATIENCE_S)
        assert (process.returncode, out) == (0, "%d\n" % i), err
    assert shell.count_daemons() == 1


def test_up_and_down(shell):
    shell.run("up")
    shell.run("up")  # there already
    number = shell.out("submit", "--parsable", "--", "sleep", "600").strip()
    shell.api.wait_state(number, "running")
    shell.run("down")
    wait_until("the daemon is gone", lambda: not os.path.exists(shell.socket))
    shell.run("up")
    assert shell.api.job(number)["state"] == "running"
    shell.run("down", "--kill")
    wait_until("all is gone", lambda: not shell.daemon_pids() and not tarn_test.shims_of(shell.state))
    shell.run("up")
    assert shell.api.job(number)["state"] == "ended"


def test_down_that_kills_keeps_the_jobs_that_wait(shell):
    shell.out("up")
    running = shell.out("submit", "-q", "--gpus", 4, "-c", 0.1, "--", "sleep", 600).strip()
    waiting = shell.out("submit", "-q", "--gpus", 4, "-c", 0.1, "--", "true").strip()
    shell.api.wait_state(running, "running")
    assert shell.run("down", "--kill").stderr == "tarn: stopped, with its running jobs; waiting jobs start after tarn up\n"
    shell.out("up")
    assert shell.api.wait_end(waiting)["result"] == "ok"
    assert shell.api.job(running)["state"] == "ended"


def test_down_does_not_wait_for_a_daemon_that_died(shell):
    """One that answers, and is killed before it has removed its socket."""
    os.mkdir(shell.state, 0o700)
    shell.file(os.path.join(shell.state, "lock"), "")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(shell.socket)
        listener.listen()

        def answer_and_die():
            connection = listener.accept()[0]
            listener.close()
            with connection:
                while b"\r\n\r\n" not in connection.recv(65536):
                    pass
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        thread = threading.Thread(target=answer_and_die)
        thread.start()
        assert "stopped" in shell.run("down").stderr
        thread.join()
    assert os.path.exists(shell.socket)


def test_commands_that_need_a_daemon_say_that_there_is_none(shell):
    for words in (("ls",), ("show", "1"), ("cancel", "1"), ("gpus",), ("logs", "1"), ("why", "1")):
        done = shell.run(*words, status=None)
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr
        assert done.returncode == 0 or "daemon" in done.stderr, done.stderr


# run


@pytest.mark.parametrize("command,status", [("exit 0", 0), ("exit 3", 3), ("exit 255", 255), ("kill -TERM $$", 143),
                                            ("kill -KILL $$", 137)])
def test_run_returns_the_status_of_the_job(shell, command, status):
    shell.run("run", "--", "sh", "-c", command, status=status)


def test_run_says_what_can_not_be_run(shell):
    done = shell.run("run", "--", "no-such-command", status=None)
    assert done.returncode != 0 and "command not found: no-such-command" in done.stderr
    done = shell.run("run", "--max-duration", "1", "--", "sleep", "60", status=None)
    assert done.returncode != 0 and "timed out" in done.stderr, done.stderr


def test_what_cannot_run_is_refused_with_its_reason(shell):
    shell.out("up")
    assert "gpus 'mem=900G': the largest gpu has 79.6 GiB" in shell.refused(1, "submit", "--gpus", "mem=900G", "--", "true")
    assert "gpus '900G..:1': the largest gpu has 79.6 GiB" in shell.refused(1, "submit", "--gpus", "1,900G..", "--", "true")
    assert "working directory /nonexistent: No such file" in shell.refused(1, "submit", "-D", "/nonexistent", "--", "true")
    assert "working directory /etc/passwd: Not a directory" in shell.refused(1, "run", "-D", "/etc/passwd", "--", "true")
    later = shell.out("submit", "-q", "--hold", "--", "mkdir", "later").strip()  # what makes the folder
    shell.out("submit", "-D", "later", "-d", "afterok:" + later, "--", "true")
    hint = "'-c' after 'sh': expected -- before the command: tarn exec %s -- sh -c" % later
    assert hint in shell.refused(2, "exec", later, "sh", "-c", "true")


def test_tasks_of_a_job_that_is_no_array_are_refused_at_once(shell):
    shell.out("up")
    job = shell.out("submit", "-q", "--hold", "--", "true").strip()
    array = shell.out("submit", "-q", "--hold", "--array", "0-9", "--", "true").strip()
    for words in (("cancel", job + "_[0-9999]"), ("show", job + "_[1,3]"), ("cancel", array + "_[3]", job + "_[0-999]")):
        assert shell.refused(1, *words) == "tarn: job %s: not an array, it has no tasks\n" % job
    assert shell.refused(1, "cancel", "99_[0-9]") == "tarn: job 99: no such job\n"
    assert shell.out("cancel", array + "_[3,4]") == "cancelled %s_3, %s_4\n" % (array, array)
    assert [shell.api.job(number)["state"] for number in (job, array + "_5")] == ["held", "held"]


def test_names_that_stand_for_nothing_are_refused(shell):
    shell.out("up")
    for words in (["--once"], ["--json"], ["-q"]):
        assert shell.refused(1, "top", "--pool", "nope", *words) == "tarn: pool nope: no such pool\n"
        assert "user nope: no such user" in shell.refused(1, "top", "--user", "nope", *words)
    assert shell.out("top", "--once", "--pool", "default", "--user", "root")  # has no job yet


def test_run_can_be_quiet(shell):
    shell.out("up")
    done = shell.run("run", "-q", "--", "echo", "hi")
    assert done.stdout == "hi\n" and done.stderr == ""
    assert "unknown option '--ids'" in shell.refused(2, "run", "--ids", "--", "true")


def test_run_passes_output_and_environment_and_cwd(shell):
    done = shell.run("run", "--env", "ONE=1", "--", "sh", "-c", "echo out; echo err >&2; pwd; echo $ONE $TWO", TWO="2")
    assert done.stdout.splitlines() == ["out", "err", shell.work, "1 2"], done
    shell.file("noisy.sh", "#!/bin/sh\nfor i in $(seq 20000); do echo line $i; done\n")
    assert shell.out("run", "noisy.sh") == "".join("line %d\n" % i for i in range(1, 20001))


def test_run_without_a_last_newline_and_with_odd_bytes(shell):
    done = subprocess.run([TARN, "run", "--", "printf", r"a\377\000b"], env=shell.environment, cwd=shell.work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    assert done.stdout == b"a\xff\0b" and done.returncode == 0


PIPELINE = """
name: two
stages:
  make:
    run: echo 1 > $TARN_OUT/d/x
    outputs: [d]
    matrix: {a: [1, 2]}
  use:
    needs: [make]
    inputs: [d]
    gpus: 1
    run: cat $TARN_IN/d/*/x
"""


def test_a_pipeline_is_followed_in_plain_lines_and_a_table(shell):
    shell.file("two.yaml", PIPELINE)
    done = shell.run("run", "-f", "two.yaml")
    for words in ("make", "use", "ok"):
        assert words in done.stdout + done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    shell.file("bad.yaml", PIPELINE.replace("cat $TARN", "exit 7 $TARN"))
    done = shell.run("run", "-f", "bad.yaml", status=None)
    assert done.returncode != 0 and "failed" in done.stdout + done.stderr


def test_mistakes_in_files_have_their_place(shell):
    shell.file("x.yaml", PIPELINE.replace("needs:", "need:"))
    words = shell.run("submit", "-f", "x.yaml", status=None)
    assert words.returncode in (1, 2) and "x.yaml:9" in words.stderr and "did you mean 'needs'" in words.stderr
    words = shell.run("submit", "-f", "none.yaml", status=None)
    assert words.returncode in (1, 2) and "none.yaml" in words.stderr
    for text in ("", "- a\n- b\n", "run: [", "\t", "run: &a [*a]\n", "%YAML 9.9\n---\n", "run: true\n---\nrun: false\n"):
        shell.file("y.yaml", text)
        words = shell.run("submit", "-f", "y.yaml", status=None)
        assert words.returncode in (1, 2) and "y.yaml" in words.stderr, (text, words)


# sbatch's ways


def test_a_batch_script_with_sbatch_lines_works_as_people_know_it(shell):
    shell.file("job.sh", "#!/bin/bash\n#SBATCH -J trained\n#SBATCH --gres=gpu:h100:2\n#SBATCH -t 10 -o %x-%j.log\n"
                         "#SBATCH --wckey=x\n\necho $SLURM_JOB_NAME $1\necho $TARN_GPU_COUNT\n")
    done = shell.run("submit", "--parsable", "job.sh", "again")
    number = done.stdout.strip()
    assert re.fullmatch(r"\d+", number) and "--wckey: not supported, ignored" in done.stderr
    job = shell.api.wait_end(number)
    assert job["result"] == "ok" and job["request"]["max_duration"] == 600 and job["gpu_count"] == 2
    assert read_file(os.path.join(shell.work, "trained-%s.log" % number)) == "trained again\n2\n"
    follow = shell.out("submit", "--parsable", "--dependency=afterok:" + number, "--wrap", "echo after").strip()
    assert shell.api.wait_end(follow)["result"] == "ok"
    array = shell.out("submit", "--parsable", "--array=0-3%2", "-o", "a-%a", "--wrap", "echo $TARN_ARRAY_INDEX").strip()
    shell.api.wait_group(array)
    assert [read_file(os.path.join(shell.work, "a-%d" % i)) for i in range(4)] == ["%d\n" % i for i in range(4)]


def test_what_is_not_known_is_named_with_the_nearest(shell):
    assert "--gpus" in shell.refused(2, "run", "--gpu", "1", "--", "true")
    assert "--gpus" in shell.refused(2, "run", "--gpsu", "1", "--", "true")
    assert "submit" in shell.refused(2, "sumbit", "--", "true")
    assert "queues" in shell.refused(2, "queus") and "tarn help" in shell.refused(2, "nothing-like-it")
    shell.refused(2, "run")
    shell.refused(2, "show")
    done = shell.run("run", "--gpus", "h10:1", "--", "true", status=None)
    assert done.returncode == 1 and "h10" in done.stderr
    done = shell.run("run", "--gpus", "5", "--", "true", status=None)
    assert done.returncode == 1 and "5 gpus" in done.stderr, done.stderr
    done = shell.run("run", "--gpus", "one", "--", "true", status=None)
    assert done.returncode in (1, 2) and "one" in done.stderr, done.stderr


# Looking


LISTINGS = [("ls",), ("ls", "-a"), ("gpus",), ("nodes",), ("pools",), ("queues",), ("show", "1"), ("show", "2"),
            ("why", "2"), ("config", "show"), ("version",), ("doctor",)]


@pytest.mark.parametrize("words", LISTINGS, ids=" ".join)
def test_every_listing_has_json_and_no_colour_in_a_pipe(busy, words):
    busy.run("submit", "--gpus", 2, "-J", "wait ing".replace(" ", "-"), "--", "true")
    plain = busy.run(*words, status=None)
    assert plain.returncode in (0, 1) and plain.stdout and "\x1b" not in plain.stdout + plain.stderr
    value = busy.run(*words, "--json", status=None)
    assert isinstance(json.loads(value.stdout), (dict, list)), value


def test_json_of_what_changes_something(busy):
    assert busy.json("submit", "--json", "--", "true")
    number = busy.out("submit", "--parsable", "-H", "--", "true").strip()
    for verb in ("release", "cancel", "requeue"):
        done = busy.run(verb, number, "--json", status=None)
        assert json.loads(done.stdout) is not None, (verb, done)


def test_why_gives_the_reason_of_each_kind(busy):
    busy.file("c.yaml", "queues: {small: {limit: 1}}\n")
    busy.run("apply", "-f", "c.yaml")
    gpus = busy.out("submit", "--parsable", "--gpus", 2, "--", "true").strip()
    assert "job 1" in busy.out("why", gpus) and "gpus" in busy.out("why", gpus)
    plain = busy.out("submit", "--parsable", "-H", "-a", "0-1", "-c", "0.5", "--", "true").strip()
    cpus = busy.api.get("/v1/nodes")["nodes"][0]["cpus"]
    wide = busy.out("submit", "--parsable", "-c", cpus, "--", "true").strip()
    assert re.search(r"  wants +[0-9.]+ cpus?, queue default\n", busy.out("why", wide))
    assert "held; tarn release %s_1\n" % plain in busy.out("show", plain + "_1")
    needs = busy.out("submit", "--parsable", "-d", "afterok:1", "--", "true").strip()
    assert "1" in busy.out("why", needs)
    held = busy.out("submit", "--parsable", "-H", "--", "true").strip()
    assert "release" in busy.out("why", held) or "held" in busy.out("why", held)
    begin = busy.out("submit", "--parsable", "-b", "now+1h", "--", "true").strip()
    assert "begin" in busy.out("why", begin)
    assert "no such job" in busy.refused(1, "why", "99")
    busy.run("cancel", "1")
    busy.api.wait_end(1)
    assert "ended" in busy.out("why", "1")


def test_a_dry_run_says_when_the_job_would_start(busy):
    words = ["submit", "--dry-run", "--gpus", 4, "-c", "0.01"]
    for verb in ("submit", "run"):
        said = busy.run(verb, *words[1:], "--", "true")
        said = said.stdout + said.stderr
        assert "job true can run here; nothing was submitted" in said and "a job like this would start at an unknown time; open-ended: job 1" in said, said
    later = busy.out(*words[:2], "-b", "now+2h", "-c", "0.01", "--", "true")
    assert "start in about 2 h" in later or "start in about 1 h" in later, later
    assert "would be held" in busy.out(*words[:2], "-H", "--", "true")
    assert busy.json(*words, "--json", "--", "true")["when"]["now"] is False
    assert busy.out(*words[:2], "-a", "0-3", "--", "true") == "array true can run here; nothing was submitted\n"
    assert len(busy.api.jobs()) == 1


def test_a_command_line_and_a_script_are_not_both_run(shell):
    shell.file("job.sh", "#!/bin/sh\n")
    for words in (["job.sh"], ["--", "job.sh"]):
        assert "unexpected beside --wrap" in shell.refused(2, "submit", "--wrap", "true", *words)


def test_acting_on_jobs(busy):
    number = busy.out("submit", "--parsable", "--gpus", 1, "--", "true").strip()
    busy.run("hold", number)
    assert busy.api.job(number)["state"] == "held"
    busy.run("update", number, "--priority", "high")
    assert busy.api.job(number)["priority"] == 100
    busy.run("release", number)
    assert "no such job" in busy.refused(1, "cancel", "77")
    busy.run("cancel", "1")
    assert busy.api.wait_end(number)["result"] == "ok"
    assert busy.run("wait", number).returncode == 0
    assert busy.run("wait", "1", status=None).returncode != 0
    array = busy.out("submit", "--parsable", "--array", "0-2", "--", "sleep", "600").strip()
    busy.run("cancel", array + "_1")
    assert busy.api.wait_end(array + "_1")["result"] == "cancelled"
    busy.run("cancel", array)
    busy.api.wait_group(array)


def test_logs_are_printed_and_followed(shell):
    number = shell.out("submit", "--parsable", "--", "sh", "-c", "for i in 1 2 3 4 5; do echo line $i; sleep 0.1; done").strip()
    assert shell.out("logs", "-f", number) == "".join("line %d\n" % i for i in range(1, 6))
    assert shell.out("logs", number).endswith("line 5\n")
    assert "no such job" in shell.refused(1, "logs", "99")


def test_jobs_that_have_not_started_say_so(busy):
    submitted = busy.out("submit", "--array", "0-3", "--gpus", 1, "--", "true")
    assert " 4 tasks · waits: 1 gpu wanted, 0 free" in submitted, submitted
    assert " · starts\n" in busy.out("submit", "--array", "0-1", "--cpus", "0.1", "--", "true")
    waiting = busy.out("submit", "--parsable", "--gpus", 1, "--", "true").strip()
    done = busy.run("logs", waiting)
    assert (done.returncode, done.stdout) == (0, "") and "has not started; tarn why %s" % waiting in done.stderr, done
    assert busy.run("logs", "1").stderr == ""


def test_a_configuration_is_compared_and_applied(busy):
    busy.file("c.yaml", "queues: {research: {weight: 3, limit: 2}}\n")
    before = busy.out("config", "show")
    assert "research" in busy.out("diff", "c.yaml") and busy.out("diff", "-f", "c.yaml") == busy.out("diff", "c.yaml")
    assert "expected one file" in busy.refused(2, "diff", "-f", "c.yaml", "c.yaml")
    assert "research" in busy.out("apply", "-f", "c.yaml", "--dry-run") and busy.out("config", "show") == before
    busy.run("apply", "-f", "c.yaml")
    assert "research" in busy.out("queues")
    busy.file("again.yaml", busy.out("config", "show"))
    busy.run("apply", "-f", "again.yaml")
    busy.file("bad.yaml", "queues: {research: {wieght: 3}}\n")
    done = busy.run("apply", "-f", "bad.yaml", status=None)
    assert done.returncode != 0 and "bad.yaml:1" in done.stderr and "weight" in done.stderr


def test_the_journal_is_replayed(busy):
    assert "all the same" in busy.out("replay", "--verify")
    assert "submit" in busy.out("replay", "--print")


def test_help_and_completion_are_there_for_everything(shell):
    commands = re.findall(r"^  (\w+)  ", shell.out("--help"), re.M)
    assert len(commands) > 20
    for command in commands:
        done = shell.run(command, "--help") if command != "help" else shell.run("help", "run")
        assert done.stdout.strip(), command
    for kind in ("bash", "zsh", "fish"):
        script = shell.out("completion", kind)
        assert all(command in script for command in ("run", "submit", "why"))
        if kind == "bash":
            subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=30)
    shell.refused(2, "completion", "tcsh")


# Pipes and terminals


def test_pipes_that_close_early_are_no_failure_to_speak_of(busy):
    for words in ("ls -a", "replay --print", "gpus", "help run"):
        done = subprocess.run(["sh", "-c", "%s %s | head -c 1" % (TARN, words)], env=busy.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
        assert len(done.stdout) == 1 and "tarn: " not in done.stderr, (words, done)
    # The job does not notice that its output is not read any more.
    done = subprocess.run(["sh", "-c", "%s run -- sh -c 'yes | head -c 2M; echo done >&2' | head -n 2" % TARN],
                          env=busy.environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=60)
    assert done.stdout == "y\ny\n" and ("continues" in done.stderr or "ended ok" in done.stderr), done
    full = subprocess.run(["sh", "-c", "%s ls -a > /dev/full" % TARN], env=busy.environment, stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, timeout=60)
    assert full.returncode != 0 and full.stderr


def test_nothing_is_printed_into_what_has_the_number_of_a_closed_stream(busy, make_daemon):
    for words in ("gpus", "ls", "queues"):
        done = subprocess.run(["sh", "-c", "%s %s >&-" % (TARN, words)], env=busy.environment,
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 1 and "Bad file descriptor" in done.stderr, (words, done)
    script = os.path.join(busy.work, "closed")
    with open(script, "w") as file:
        file.write('#!/bin/sh\nexec %s "$@" <&- >&- 2>&-\n' % TARN)
    os.chmod(script, 0o755)
    daemon = make_daemon(binary=script)
    daemon.start()
    assert [os.readlink("/proc/%d/fd/%d" % (daemon.process.pid, fd)) for fd in range(3)] == ["/dev/null"] * 3


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_listings_never_wrap(busy, columns):
    busy.run("submit", "--gpus", 2, "-J", "a-name-that-is-quite-long-for-a-narrow-terminal", "--", "true")
    for words in (("ls",), ("gpus",), ("queues",), ("nodes",), ("pools",)):
        terminal = busy.terminal(*words, columns=columns)
        assert terminal.finish() == 0
        for line in plain(terminal.text).splitlines()[:-1]:
            assert len(line.rstrip()) <= columns or words == ("gpus",) and columns == 20, (words, columns, line)


def test_colour_only_where_it_is_wanted(busy):
    terminal = busy.terminal("ls", NO_COLOR="1")
    assert terminal.finish() == 0 and not re.search(r"\x1b\[[0-9;]*m", terminal.text), terminal.text
    terminal = busy.terminal("ls", TERM="dumb")
    assert terminal.finish() == 0 and not re.search(r"\x1b\[[0-9;]*m", terminal.text), terminal.text


def test_ctrl_c_without_a_terminal_leaves_the_job_running_and_says_so(shell):
    shell.run("up")
    process = subprocess.Popen([TARN, "run", "--", "sh", "-c", "echo here; sleep 600"], env=shell.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=tarn_test.PATIENCE_S)
    assert process.returncode == 130 and "tarn logs" in err, (process.returncode, err)
    assert shell.api.job(1)["state"] == "running"


def test_a_reason_that_only_comes_nearer_is_said_once(shell):
    shell.out("up")
    process = subprocess.Popen([TARN, "run", "--begin", "now+1h", "--", "true"], env=shell.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = [process.stderr.readline()]
    for priority in (-1, -2): # each is an event, with "begins in" a second less
        time.sleep(1.1)
        shell.out("update", 1, "--priority", priority)
    shell.out("hold", 1)
    lines.append(process.stderr.readline())
    assert "waits: begins in" in lines[0] and "waits: held" in lines[1], lines
    shell.out("cancel", 1)
    process.communicate(timeout=60)


def test_ctrl_c_on_a_terminal_asks(shell):
    shell.run("up")
    terminal = shell.terminal("run", "--", "sh", "-c", "echo here; sleep 600")
    terminal.expect("here")
    terminal.send("\x03")
    terminal.expect(r"(?i)cancel")
    seen = len(terminal.text)
    terminal.send("c\n" if "c]" in terminal.text or "[c" in terminal.text else "y\n")
    status = terminal.finish()
    assert shell.api.wait_end(1)["result"] == "cancelled", (terminal.text[seen:], status)
    assert status != 0


def test_a_second_ctrl_c_leaves_at_once(shell):
    shell.run("up")
    terminal = shell.terminal("run", "--", "sh", "-c", "echo here; sleep 600")
    terminal.expect("here")
    terminal.send("\x03")
    terminal.expect(r"(?i)cancel")
    terminal.send("\x03")
    assert terminal.finish() != 0
    assert shell.api.job(1)["state"] in ("running", "stopping", "ended")


def test_a_pipeline_on_a_terminal_is_drawn_and_ends_with_its_table(shell):
    shell.file("two.yaml", PIPELINE)
    terminal = shell.terminal("run", "-f", "two.yaml", columns=60)
    assert terminal.finish() == 0, terminal.text
    text = plain(terminal.text)
    assert "make" in text and "use" in text and "ok" in text
    assert "\x1b[?25l" not in terminal.text or "\x1b[?25h" in terminal.text  # the cursor is back


def test_numbers_that_are_none_are_named(busy):
    for words in (("show", "x"), ("cancel", "-1"), ("why", "99999999999999999999"), ("show", "1_"), ("logs", "1_x")):
        done = busy.run(*words, status=None)
        assert done.returncode in (1, 2) and done.stderr and done.stdout == "", (words, done)


def test_an_option_that_a_command_has_no_use_for_is_refused(shell):
    for command in ("exporter", "completion"):
        said = shell.out(command, "--help")
        assert "--json" not in said and "--socket" not in said and "--help" in said
        assert "unknown option '--json'" in shell.refused(2, command, "--json")
        assert "unknown option '-q'" in shell.refused(2, command, "-q")
    assert "unknown option '--json'" in shell.refused(2, "serve", "--json")
    assert "--socket" in shell.out("serve", "--help")
    for command, option in (("attach", "--json"), ("logs", "--json"), ("report", "-q"), ("replay", "--socket"), ("version", "-q")):
        assert "unknown option '%s'" % option in shell.refused(2, command, option)
    assert "print the expected start only" in shell.out("when", "--help")


def test_descriptions_of_options_are_quoted_for_fish(shell):
    lines = [line for line in shell.out("completion", "fish").splitlines() if " -l when " in line]
    assert len(lines) == 1 and lines[0].endswith(r"-d 'times: \'mon 14:00-16:00\', \'2030-01-31 08:00-12:00\', or a window'"), lines


def test_prose_wraps_at_words_on_a_terminal_only(shell):
    name = "a-rather-long-name-of-a-job-" * 2
    number = int(shell.out("submit", "-q", "--hold", "-J", name, "--comment", "x", "--", "echo", *["word%d" % i for i in range(30)]))
    plain = shell.out("show", number)
    command = [line for line in plain.splitlines() if line.startswith("  command")][0]
    assert len(command) > 200
    terminal = pictures.Terminal([TARN, "show", str(number)], shell.environment, columns=60, rows=50)
    terminal.end()
    lines = terminal.lines()
    first = [i for i, line in enumerate(lines) if line.startswith("  command")][0]
    assert lines[first].startswith("  command     echo word0 word1") and lines[first + 1].startswith("              word")
    joined = " ".join(line.strip() for line in lines[first:] if line.startswith("              ") or "command" in line)
    assert joined.split() == command.split()
    assert all(len(line) <= 60 for line in lines)
    terminal.close()
    # A word that is longer than the line stays whole.
    terminal = pictures.Terminal([TARN, "show", str(number)], shell.environment, columns=40, rows=70)
    terminal.end()
    assert name in terminal.text().replace("\n", "")
    terminal.close()


def test_a_line_break_in_what_a_user_chose_begins_no_line_of_show(shell):
    number = shell.out("submit", "-q", "--hold", "-o", "out\n  why      broken", "--", "echo", "a\n  state    ended").strip()
    lines = shell.out("show", number).splitlines()
    assert [line.split()[1] for line in lines if line.startswith("  state ")] == ["held"], lines
    assert not any(line.startswith("  why      broken") for line in lines), lines
    assert sum("state    ended" in line or "why      broken" in line for line in lines) == 2, lines


def test_tasks_are_named_as_lists_show_them(shell):
    number = int(shell.out("submit", "-q", "--array", "0-9", "--hold", "--", "true"))
    assert "%d_[0-9]" % number in shell.out("ls")
    shell.out("cancel", "%d_[8-9,2]" % number)
    states = [shell.json("show", "--json", "%d_%d" % (number, index))["state"] for index in range(10)]
    assert [index for index, state in enumerate(states) if state == "ended"] == [2, 8, 9]
    shell.out("release", "%d_[0]" % number)
    assert shell.api.wait_end("%d_0" % number)["result"] == "ok"
    assert len(shell.out("show", "%d_[3-5]" % number).split("wants")) == 4
    shell.out("cancel", "%d_[1,3-7]" % number)
    for words in ("%d_[3-", "%d_[3-5", "%d_[3-5]x"):
        assert "expected the number of a job: 7, 7_3, 7-9 or, in quotes, '7_[1-3,8]'" in shell.refused(
            2, "cancel", words % number)
    assert "'%d_[5-3]': " % number in shell.refused(2, "cancel", "%d_[5-3]" % number)
    assert "more than 10000 jobs at once" in shell.refused(2, "show", "%d_[0-9999]" % number, "8")


def test_an_ended_job_says_on_what_it_ran_and_when(shell):
    number = int(shell.out("submit", "-q", "--gpus", 2, "--", "true"))
    assert shell.api.wait_end(number)["result"] == "ok"
    node = shell.api.get("/v1/nodes")["nodes"][0]["name"]
    said = shell.out("show", number)
    assert re.search(r"^  ran on +%s:0,1$" % re.escape(node), said, re.M), said
    assert all(re.search(r"^  %s +\S+" % word, said, re.M) for word in ("submitted", "started", "ended")), said
    shell.out("down")
    shell.out("up")
    assert shell.json("show", "--json", number)["ran_on"] == node + ":0,1"
    plain = int(shell.out("submit", "-q", "--", "true"))
    shell.api.wait_end(plain)
    assert shell.json("show", "--json", plain)["ran_on"] is None


def test_a_name_that_matches_no_job_is_a_failure(shell):
    shell.out("up")
    for words in (("ls", "--name", "nope"), ("cancel", "--name", "nope"), ("cancel", "--queue", "nope"), ("cancel", "-u", "nope")):
        assert "no " in shell.refused(1, *words) and shell.run(*words, status=1).stdout == ""
    assert "no job to cancel" in shell.run("cancel", "--state", "running").stderr  # there may be none


def test_doctor_looks_at_what_a_newcomer_lacks(shell):
    found = {line["what"]: line for line in shell.json("doctor", "--json", status=None)}
    assert found["clock"]["grade"] in ("ok", "note") and {"machine", "gpus", "processes", "memory", "shim"} <= set(found)


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_doctor_says_what_another_user_lacks(shell):
    found = {line["what"]: line for line in shell.json("doctor", "--json", status=None)}
    done = subprocess.run([TARN, "doctor"], user=65534, group=65534, extra_groups=[], cwd="/", stdout=subprocess.PIPE, text=True,
                          env=dict(shell.environment, HOME=shell.root), timeout=tarn_test.PATIENCE_S)
    assert re.search(r"^note  processes  .*(systemd-run --user --scope -p Delegate=yes tarn up|not mounted|cgroup.kill)", done.stdout, re.M), done
    assert "limits are tracked, not enforced" in done.stdout and "only a daemon of root can deny device files" in done.stdout
    mounts = [line.split(" - ") for line in read_file("/proc/self/mountinfo").splitlines()]
    unified = [mount.split()[4] for mount, kind in mounts if kind.startswith("cgroup2 ")]
    assert ("cgroup v2 is not mounted" in done.stdout) == (not unified)
    assert not unified or "in %s" % unified[-1] in done.stdout
    # Controllers of v1 beside v2: each limit names the version that it belongs to.
    old = [mount.split()[4] for mount, kind in mounts if kind.startswith("cgroup ") and "memory" in kind.split()[2].split(",")]
    assert ("the memory controller belongs to cgroup v1, and you may not write" in done.stdout) == bool(old)
    assert not old or re.fullmatch("limits are (enforced by cgroup v1|tracked, not enforced).*", found["memory"]["text"])
