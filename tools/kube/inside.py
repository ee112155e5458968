#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first process of a cluster's namespaces: it prepares them, and they end with it. Its standard input is held open by
the process that wants the cluster; when that one is gone, so is the cluster.

Usage: inside.py FOLDER ADDRESS..."""
import os
import pathlib
import signal
import subprocess
import sys

# kubelet sets these, and they are those of the whole machine: it gets files instead.
SYSCTLS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
           "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}


def run(*words):
    subprocess.run(words, check=True)


def reap(*_):
    """Processes whose parents have ended are this one's children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def hide_sysctls(folder):
    folder.mkdir()
    for name, value in SYSCTLS.items():
        file = folder / name.replace("/", "_")
        file.write_text(f"{value}\n")
        run("mount", "--bind", str(file), f"/proc/sys/{name}")


def main():
    folder, addresses = pathlib.Path(sys.argv[1]), sys.argv[2:]
    run("ip", "link", "set", "lo", "up")
    for address in addresses:
        run("ip", "address", "add", f"{address}/32", "dev", "lo")
    run("mount", "--make-rshared", "/")
    hide_sysctls(folder / "sysctls")
    signal.signal(signal.SIGCHLD, reap)
    print("ready", flush=True)
    while os.read(0, 4096):
        pass


main()
