# SPDX-License-Identifier: Apache-2.0
"""The suites of the command line against a daemon on another machine: with $TARN_E2E_HOST, "https" or "ssh", each daemon of a test
runs in network and mount namespaces of its own, where a folder of the test is the home directory, and every command reaches it from here
over a link between the two. The tests themselves still see its files and its Unix socket.

What depends on the machine of the daemon by its nature is in NOT_FAR, with the reason."""

import atexit
import itertools
import json
import os
import shutil
import subprocess

import tarn_test

WAY = os.environ.get("TARN_E2E_HOST", "")
NEEDED = ["ip", "unshare", "nsenter"] + (["dropbear", "dropbearkey", "ssh", "ssh-keygen"] if WAY == "ssh" else [])
SSH_OPTIONS = "-F none -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
links = itertools.count()


def missing():
    if not tarn_test.IS_ROOT:
        return "needs root, for a network namespace"
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    absent = [name for name in NEEDED if not shutil.which(name, path=path)]
    return "not installed: " + ", ".join(absent) if absent else None


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=tarn_test.PATIENCE_S, **more)


def command_environment():
    return {key: value for key, value in os.environ.items() if not key.startswith(("TARN_", "XDG_", "SLURM_", "CUDA_"))}


class Machine:
    """The other one: a network of its own with a link to here, and this home directory of root."""

    def __init__(self, home, folder):
        os.environ["PATH"] += ":/usr/sbin:/sbin" if "/usr/sbin" not in os.environ["PATH"] else ""
        passwd = os.path.join(folder, "passwd")
        with open("/etc/passwd") as ours, open(passwd, "w") as theirs:
            for line in ours:
                fields = line.split(":")
                theirs.write(":".join(fields[:5] + [home] + fields[6:]) if fields[0] == "root" else line)
        self.inside = subprocess.Popen(
            ["unshare", "-m", "-n", "sh", "-c",
             'mount --bind "$1" /etc/passwd && ip link set lo up && echo ready && exec sleep 100000', "sh", passwd],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        assert self.inside.stdout.readline() == "ready\n"
        number = (os.getpid() * 64 + next(links)) % (1 << 14)
        self.link = "tv%d" % number
        self.here, self.there = ["10.213.%d.%d" % (number >> 6, (number & 63) * 4 + end) for end in (1, 2)]
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.inside.pid))
        run("ip", "addr", "add", self.here + "/30", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        self.run("ip", "addr", "add", self.there + "/30", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        atexit.register(self.stop)

    def words(self):
        """Before a command: it runs there."""
        return ["nsenter", "-t", str(self.inside.pid), "-n", "-m"]

    def run(self, *words):
        return run(*self.words(), *words)

    def stop(self):
        if self.inside:
            self.inside.kill()
            self.inside.wait()
            self.inside = None
            subprocess.run(["ip", "link", "del", self.link], capture_output=True)


class Login:
    """An ssh server there, and a key for it."""

    def __init__(self, machine, home, folder, environment):
        self.machine = machine
        self.folder = folder
        self.key = os.path.join(folder, "key")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        run("dropbearkey", "-t", "ed25519", "-f", os.path.join(folder, "host"))
        os.mkdir(os.path.join(home, ".ssh"), 0o700)
        shutil.copy(self.key + ".pub", os.path.join(home, ".ssh", "authorized_keys"))
        with open(os.path.join(folder, "ssh.log"), "w") as log:
            self.server = subprocess.Popen(
                [*machine.words(), "dropbear", "-F", "-E", "-e", "-s", "-p", machine.there + ":22", "-r", os.path.join(folder, "host"),
                 "-P", os.path.join(folder, "pid")], stdout=log, stderr=log, env=environment)
        tarn_test.wait_until("the ssh server listens", lambda: machine.run("ss", "-Hltn").stdout)
        atexit.register(self.stop)

    def environment(self):
        return {"TARN_HOST": "ssh://root@%s%s" % (self.machine.there, tarn_test.TARN), "XDG_RUNTIME_DIR": self.folder,
                "TARN_SSH": "ssh " + SSH_OPTIONS % self.key}

    def stop(self):
        if self.server:
            self.server.kill()
            self.server.wait()
            self.server = None
            subprocess.run("exec $TARN_SSH -o ControlPath=%s/tarn/tarn-%%C -O exit root@%s" % (self.folder, self.machine.there), shell=True,
                           env=dict(os.environ, **self.environment()), capture_output=True)


class Far:
    """How the commands of a test reach its daemon. home: what the home directory there shows."""

    def __init__(self, root, home, environment):
        self.folder = os.path.join(root, "far")
        os.makedirs(self.folder, 0o700, exist_ok=True)
        self.machine = Machine(home, self.folder)
        self.login = Login(self.machine, home, self.folder, environment) if WAY == "ssh" else None
        self.token = None

    def serve_words(self):
        return self.machine.words()

    def serve_options(self):
        return ["--listen", self.machine.there + ":9443"] if WAY == "https" else []

    def environment(self, api):
        """Of commands here. The token is made when it is needed first: the daemon runs then."""
        if self.login:
            return self.login.environment()
        if not self.token:
            self.token = json.loads(api.exchange("POST", "/v1/tokens", '{"name": "laptop", "scope": "admin"}')[2])["token"]
            self.fingerprint = json.loads(api.exchange("GET", "/v1/daemon")[2])["listen"]["fingerprint"]
        return {"TARN_HOST": "https://%s:9443" % self.machine.there, "TARN_TOKEN": self.token, "TARN_FINGERPRINT": self.fingerprint}

    def stop(self):
        if self.login:
            self.login.stop()
        self.machine.stop()


LOCAL = "the command reads or changes files of the daemon's machine, and says that it does not run over HTTPS"
STARTS = "it tests how a command starts a daemon, which none does over HTTPS"
OWN = "the environment and the folders of this machine do not reach a job on another one"
USERS = "it starts a daemon of its own, for users of this machine"
BRIEF = "from afar, a job that is over before its first event has come is only named"
LIMIT = "it limits or changes a process of this machine, and the daemon starts on another one"
TELLS = "the daemon tells a server on the loopback of this machine"
ENDS = "a connection from another machine ends with the daemon"
# test -> why it needs the machine of the daemon; the second table only over HTTPS
NOT_FAR = {
    "test_exec.py::test_it_outlives_the_daemon_and_works_with_the_next_one": ENDS,
    "test_attach.py::test_other_users_run_submit_attach_and_exec_as_themselves": USERS,
    "test_cli.py::test_the_first_command_of_all_works_with_no_daemon_and_no_configuration": BRIEF,
    "test_cli.py::test_the_end_of_a_long_log_says_why_the_daemon_died": LIMIT,
    "test_cli.py::test_doctor_looks_at_what_a_newcomer_lacks": LIMIT,
    "test_cli.py::test_doctor_says_what_another_user_lacks": LIMIT,
    "test_silences.py::test_what_is_silenced_is_listed_not_told_and_stays_so_over_a_crash": TELLS,
    "test_silences.py::test_a_silence_ends_by_itself": TELLS,
    "test_silences.py::test_the_owner_of_a_job_is_told_what_the_administrator_is_not": TELLS,
    "test_silences.py::test_an_owner_gets_one_letter_about_many_jobs_and_holds_up_no_administrator": TELLS,
    "test_silences.py::test_a_budget_that_is_spent_is_told": TELLS,
    "test_cli.py::test_what_cannot_run_is_refused_with_its_reason": OWN,
    "test_cli.py::test_run_passes_output_and_environment_and_cwd": OWN,
    "test_time.py::test_a_repeating_job_is_submitted_once_for_each_time_also_over_a_crash": OWN,
}
NOT_BY_HTTPS = {
    "test_top.py::test_wrong_use_is_told": STARTS,
    "test_cli.py::test_down_does_not_wait_for_a_daemon_that_died": STARTS,
    "test_cli.py::test_commands_that_need_a_daemon_say_that_there_is_none": STARTS,
    "test_cli.py::test_every_listing_has_json_and_no_colour_in_a_pipe[doctor]": LOCAL,
    "test_cli.py::test_the_journal_is_replayed": LOCAL,
    "test_change.py::test_the_log_has_the_author_and_what_changed": LOCAL,
    "test_cli.py::test_pipes_that_close_early_are_no_failure_to_speak_of": LOCAL,
    "test_cli.py::test_an_option_that_a_command_has_no_use_for_is_refused": LOCAL,
}


def reason_of(item):
    """Why a test does not run; None: it does."""
    name = item.nodeid.rpartition("/")[2]
    tables = [NOT_FAR] + ([NOT_BY_HTTPS] if WAY == "https" else [])
    found = [table.get(name) or table.get(name.partition("[")[0]) for table in tables]
    return missing() or next(filter(None, found), None)
