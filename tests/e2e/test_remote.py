# SPDX-License-Identifier: Apache-2.0
"""tarn on another machine: TARN_HOST=ssh://... with a real ssh and a real server (dropbear) in a network of its own.

The other machine is a pair of namespaces, with a network and a home directory of its own. Its daemon is not started by the test, but
by the first command that needs one."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import tarn_test

ADDRESS, THERE = "10.213.77.1", "10.213.77.2"
PORT = "2222"
NEEDED = ["dropbear", "dropbearkey", "ssh", "ssh-keygen", "ip", "unshare", "nsenter"]


def missing():
    if not tarn_test.IS_ROOT:
        return "needs root, for a network namespace"
    absent = [name for name in NEEDED if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    return "not installed: " + ", ".join(absent) if absent else None


def run(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=tarn_test.PATIENCE_S, **more)


class Machine:
    """The other one."""

    def __init__(self, root):
        self.root = root
        self.home = os.path.join(root, "home")
        self.state = os.path.join(root, "s")
        os.makedirs(os.path.join(self.home, ".ssh"), 0o700)
        self.key = os.path.join(root, "key")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key)
        shutil.copy(self.key + ".pub", os.path.join(self.home, ".ssh", "authorized_keys"))
        run("/usr/bin/dropbearkey", "-t", "ed25519", "-f", os.path.join(root, "host"))
        self.inside = subprocess.Popen(
            ["unshare", "-m", "-n", "sh", "-c",
             'mount --bind "$1" /root && ip link set lo up && echo ready && exec sleep 100000', "sh", self.home],
            stdout=subprocess.PIPE, text=True)
        assert self.inside.stdout.readline() == "ready\n"
        self.link = "tv%d" % (os.getpid() % 100000)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.inside.pid))
        run("ip", "addr", "add", ADDRESS + "/30", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        self.run("ip", "addr", "add", THERE + "/30", "dev", "eth0")
        self.run("ip", "link", "set", "eth0", "up")
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("TARN_", "XDG_", "SLURM_", "CUDA_"))}
        environment.update(TARN_STATE=self.state, TARN_SHIM=tarn_test.find_shim(), HOME="/root",
                           TARN_DEVICES="synthetic:h100:4", ASAN_OPTIONS="verify_asan_link_order=0")
        with open(os.path.join(root, "ssh.log"), "w") as log:
            self.server = subprocess.Popen(
                ["nsenter", "-t", str(self.inside.pid), "-n", "-m", "dropbear", "-F", "-E", "-e", "-s", "-p",
                 THERE + ":" + PORT, "-r", os.path.join(root, "host"), "-P", os.path.join(root, "pid")],
                stdout=log, stderr=log, env=environment)
        tarn_test.wait_until("the server listens", lambda: self.run("ss", "-Hltn").stdout)

    def run(self, *words):
        return run("nsenter", "-t", str(self.inside.pid), "-n", "-m", *words)

    def stop(self):
        subprocess.run([tarn_test.TARN, "down", "--kill"], env=dict(os.environ, TARN_STATE=self.state),
                       capture_output=True, timeout=tarn_test.PATIENCE_S)
        for process in (self.server, self.inside):
            process.kill()
            process.wait()
        subprocess.run(["ip", "link", "del", self.link], capture_output=True)


class Laptop:
    """Commands here, for the daemon there."""

    def __init__(self, root, machine, host=None):
        self.home = os.path.join(root, "laptop")
        os.makedirs(os.path.join(self.home, ".ssh"), 0o700, exist_ok=True)
        options = "-F none -p %s -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("TARN_", "XDG_", "SLURM_"))}
        self.environment.update(HOME=self.home, TARN_SSH="ssh " + options % (PORT, machine.key), ONLY_HERE="laptop",
                                TARN_HOST=host or "ssh://root@%s%s" % (THERE, tarn_test.TARN))

    def tarn(self, *words, status=0, given=None, cwd=None):
        done = subprocess.run([tarn_test.TARN, *words], env=self.environment, capture_output=True, text=True,
                              cwd=cwd or self.home, timeout=tarn_test.PATIENCE_S * 2,
                              **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}))
        assert status is None or done.returncode == status, (words, done)
        return done

    def log_out(self):
        subprocess.run("exec $TARN_SSH -o ControlPath=%s/.ssh/tarn-%%C -O exit root@%s" % (self.home, THERE), shell=True,
                       env=self.environment, capture_output=True)


@pytest.fixture(scope="module")
def machine():
    reason = missing()
    if reason:
        pytest.skip(reason)
    root = tarn_test.make_folder()
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    machine = Machine(root)
    yield machine
    machine.stop()
    tarn_test.remove_folder(root)


@pytest.fixture(scope="module")
def laptop(machine):
    laptop = Laptop(machine.root, machine)
    yield laptop
    laptop.log_out()


def test_a_command_says_that_no_daemon_runs_there(laptop):
    done = laptop.tarn("ls", status=1)
    assert done.stderr == "tarn: no daemon is running there; tarn up starts one\n"


def test_run_starts_a_daemon_there_and_follows_the_job(laptop, machine):
    done = laptop.tarn("run", "--gpus", "1", "--", "sh", "-c", "pwd; echo ${ONLY_HERE:-none}; readlink /proc/self/ns/net; exit 3",
                       status=3)
    assert done.stdout.splitlines() == ["/root", "none", os.readlink("/proc/%d/ns/net" % machine.inside.pid)]
    assert os.path.exists(os.path.join(machine.state, "tarn.sock"))
    assert not os.path.exists(os.path.join(laptop.home, ".local")), "a daemon was started here"


def test_scripts_and_job_files_of_this_machine_run_there(laptop):
    script = os.path.join(laptop.home, "train.sh")
    with open(script, "w") as file:
        file.write("#!/bin/sh\n#SBATCH --gpus=1\necho trained $1\n")
    number = laptop.tarn("submit", "-q", "train.sh", "twice").stdout.strip()
    laptop.tarn("wait", number)
    assert laptop.tarn("logs", number).stdout == "trained twice\n"
    with open(os.path.join(laptop.home, "p.yaml"), "w") as file:
        file.write("name: two\nstages:\n  one: {run: 'echo made'}\n  two: {run: 'echo used', needs: [one]}\n")
    stages = laptop.tarn("run", "-f", "p.yaml").stdout.splitlines()[1:]
    assert [line.split()[0::5] for line in stages] == [["one", "ok"], ["two", "ok"]]


def test_listings_are_the_same_as_there(laptop, machine):
    here = json.loads(laptop.tarn("gpus", "--json").stdout)
    assert len(here["gpus"]) == 4
    for words in (["ls", "-a"], ["queues"], ["nodes"], ["pools"], ["config", "show"], ["report"]):
        there = subprocess.run([tarn_test.TARN, *words], capture_output=True, text=True,
                               env=dict(os.environ, TARN_STATE=machine.state))
        assert laptop.tarn(*words).stdout == there.stdout


def test_exec_attach_and_input_reach_the_job(laptop):
    number = laptop.tarn("submit", "-q", "--", "sleep", "1000").stdout.strip()
    tarn_test.wait_until("the job runs", lambda: json.loads(laptop.tarn("show", number, "--json").stdout)["state"] == "running")
    done = laptop.tarn("exec", number, "--", "sh", "-c", "echo $TARN_JOB_ID 'a b' \"it's\"; cat; exit 5", status=5, given="typed\n")
    assert done.stdout == number + " a b it's\ntyped\n"
    laptop.tarn("cancel", number)
    assert laptop.tarn("run", "--", "tr", "a-z", "A-Z", given="through\n").stdout == "THROUGH\n"


def test_an_interrupt_ends_the_job_there(laptop):
    process = subprocess.Popen([tarn_test.TARN, "run", "--", "sh", "-c", "echo begun; sleep 1000"], env=laptop.environment,
                               cwd=laptop.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    assert process.stdout.readline() == "begun\n"
    os.killpg(process.pid, signal.SIGINT)
    _, words = process.communicate(timeout=tarn_test.PATIENCE_S)
    assert process.returncode != 0 and "Traceback" not in words
    left = json.loads(laptop.tarn("ls", "--json").stdout)["jobs"]
    assert all(job["state"] in ("running", "stopping") for job in left)
    for job in left:
        laptop.tarn("cancel", str(job["id"]), status=None)


def test_down_stops_the_daemon_there(laptop, machine):
    assert "stopped" in laptop.tarn("down", "--kill").stderr
    assert laptop.tarn("ls", status=1).stderr == "tarn: no daemon is running there; tarn up starts one\n"
    laptop.tarn("up")
    assert laptop.tarn("ls").returncode == 0


@pytest.mark.parametrize("name", ["box", "http://box", "ssh://", "ssh://-oProxyCommand=x", "ssh://a@-b", "ssh://box:22x!",
                                  "ssh://box/bin/tarn;reboot", "ssh://$(id)@box"])
def test_a_name_that_is_none_is_refused(laptop, name):
    environment = dict(laptop.environment, TARN_HOST=name)
    for words in (["ls"], ["exec", "1", "--", "true"]):
        done = subprocess.run([tarn_test.TARN, *words], env=environment, capture_output=True, text=True)
        assert done.returncode == 1
        assert re.match(r"tarn: TARN_HOST '.*': expected ssh://\[USER@\]HOST\[:PORT\]", done.stderr), done


def test_a_machine_that_lets_nobody_in(laptop):
    environment = dict(laptop.environment, TARN_HOST="ssh://nobody@%s" % THERE)
    done = subprocess.run([tarn_test.TARN, "ls"], env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "ssh cannot log in to nobody@%s; try: ssh nobody@%s" % (THERE, THERE) in done.stderr


def test_a_socket_option_wins(laptop, machine):
    done = laptop.tarn("ls", "--socket", os.path.join(machine.root, "none"), status=1)
    assert "no daemon is running at" in done.stderr


def test_the_python_package_takes_the_same_way(laptop, machine):
    program = ("import tarn\n"
               "with tarn.Client() as client:\n"
               "    job = client.submit('pwd; echo ${ONLY_HERE:-none}; readlink /proc/self/ns/net; exit 4', gpus=1)\n"
               "    print(client.wait(job).outcome)\n"
               "    print(*client.follow(job), sep='', end='')\n")
    environment = dict(laptop.environment, PYTHONPATH=os.path.join(tarn_test.HERE, "..", "..", "python", "src"))
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=laptop.home,
                          timeout=tarn_test.PATIENCE_S * 2)
    assert done.stdout.splitlines() == ["failed, exit status 4", "/root", "none",
                                        os.readlink("/proc/%d/ns/net" % machine.inside.pid)], done
