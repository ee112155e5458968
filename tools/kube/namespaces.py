# SPDX-License-Identifier: Apache-2.0
"""Namespaces of processes, mounts and network that a cluster runs in, and a pair of addresses between them and the machine.

Whatever was started in them ends with them, and they end with the process that made them, however that ends."""
import contextlib
import hashlib
import os
import pathlib
import signal
import socket
import subprocess
import sys

from .waiting import wait_until

NETWORK = "10.213"  # a /30 of it for each cluster: .1 is the machine, .2 the cluster
SERVICES = "10.96.0.0/16"
API_SERVICE, DNS_SERVICE = "10.96.0.1", "10.96.0.10"  # no kube-proxy: these two are addresses of the cluster's own loopback


def missing():
    """Why there can be none here, or None."""
    if os.geteuid() != 0:
        return "a cluster on one machine needs root"
    tried = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"], capture_output=True, text=True)
    return f"no namespaces here: {tried.stderr.strip()}" if tried.returncode else None


class Namespaces:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.processes = {}
        self.claim = None  # a socket whose name says that the address is in use
        self.first = None  # unshare, whose child is the first process inside
        self.pid = None  # of that child, as the machine has it
        self.link = None
        self.address = None

    # ---- beginning and end ----

    def claim_addresses(self):
        for number in range(64 * 256):
            claim = socket.socket(socket.AF_UNIX)
            try:
                claim.bind(f"\0tarn-kube-{number}")
            except OSError:
                claim.close()
                continue
            self.claim, self.link = claim, f"tarnkube{number}"
            self.address = f"{NETWORK}.{number // 64}.{number % 64 * 4 + 2}"
            return f"{NETWORK}.{number // 64}.{number % 64 * 4 + 1}"
        raise OSError(f"{NETWORK}.0.0/16: all addresses are in use")

    def start(self):
        ours = self.claim_addresses()
        script = str(pathlib.Path(__file__).with_name("inside.py"))
        self.first = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private",
             sys.executable, script, str(self.folder), API_SERVICE, DNS_SERVICE],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if self.first.stdout.readline() != "ready\n":
            raise OSError("the namespaces of the cluster did not start; the reason is above")
        self.pid = self.children(self.first.pid)[0]
        self.connect(ours)

    def connect(self, ours):
        subprocess.run(["ip", "link", "delete", self.link], stderr=subprocess.DEVNULL)  # of a cluster that was killed
        for words in (["link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", str(self.pid)],
                      ["address", "add", f"{ours}/30", "dev", self.link], ["link", "set", self.link, "up"]):
            subprocess.run(["ip", *words], check=True)
        for words in (["address", "add", f"{self.address}/30", "dev", "eth0"], ["link", "set", "eth0", "up"],
                      ["route", "add", "default", "via", ours]):
            self.run("ip", *words, check=True)

    def stop(self):
        if self.first:
            self.first.stdin.close()
            try:
                self.first.wait(30)
            except subprocess.TimeoutExpired:
                self.first.kill()
                self.first.wait()
            self.first.stdout.close()
            self.first = None
        for process in self.processes.values():
            process.wait()
        self.processes.clear()
        if self.claim:
            subprocess.run(["ip", "link", "delete", self.link], stderr=subprocess.DEVNULL)
            self.claim.close()
            self.claim = None

    # ---- processes ----

    @staticmethod
    def children(pid):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]

    def enter(self, *words):
        return ["nsenter", "--target", str(self.pid), "--mount", "--net", "--pid", "--", *words]

    def run(self, *words, **options):
        return subprocess.run(self.enter(*words), stdin=subprocess.DEVNULL, text=True, **options)

    def launch(self, name, *words, environment=None):
        """A process inside; its output is in log/NAME.log."""
        log = self.folder / "log" / f"{name}.log"
        log.parent.mkdir(exist_ok=True)
        with open(log, "ab") as output:
            self.processes[name] = subprocess.Popen(self.enter(*words), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                                    env=dict(os.environ, **(environment or {})), start_new_session=True)

    def pid_of(self, process):
        """Of the program itself, as the machine has it; None: it has ended, or has not begun."""
        with contextlib.suppress(FileNotFoundError, IndexError):
            return self.children(process.pid)[0]
        return None

    def kill(self, name, number=signal.SIGKILL):
        """Wait until it has ended. One that has just been launched may not be there yet."""
        process = self.processes.pop(name)
        pid = wait_until(f"{name} is there", lambda: self.pid_of(process) or process.poll() is not None)
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        process.wait()

    def ended(self):
        return [name for name, process in self.processes.items() if process.poll() is not None]


def remove_groups(name):
    """The control groups of a cluster whose processes are gone."""
    for top in (pathlib.Path("/sys/fs/cgroup"), *pathlib.Path("/sys/fs/cgroup").iterdir()):
        if (top / name).is_dir():
            for folder, _, _ in os.walk(top / name, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)


def group_name(folder):
    return "tarn-kube-" + hashlib.sha256(str(folder).encode()).hexdigest()[:8]
