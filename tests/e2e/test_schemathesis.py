# SPDX-License-Identifier: Apache-2.0
"""Schemathesis makes requests from the description of the API, good ones and bad ones, and looks at the replies.

No reply has a status of 5xx, or a status, type or shape that is not described. Skipped where schemathesis cannot be had:
it comes from PyPI, into a folder of the build; $TARN_SCHEMATHESIS names one that is there already.
"""

import os
import re
import socket
import subprocess
import threading

import pytest

import pypi
import tarn_test
from tarn_test import BUILD, wait_until

ENGINE = os.path.join(BUILD, "tests", "engine", "tarn-engine-chooser.so")
VERSION = "schemathesis==4.32.5"
EXAMPLES = os.environ.get("TARN_EXAMPLES", "160")  # of each request
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "unsupported_method"]
# Streams that go on for ever, a connection that is no HTTP, and the end of the daemon. (A followed output is left out
# below: it ends with its job, and no job ends here.)
LEFT_OUT = ["followAll", "followJob", "enterJob", "stopDaemon"]

# Values that exist, or are at least well formed: what is only random is refused before it is looked at.
CONFIG = """
[dictionaries]
jobs = {values = [%s]}
names = {values = ["c1", "GPU-c1-0", "GPU-c1-1", "0", "3", "default", "research", "*", "x"]}
texts = {values = ["true", "sleep 1", "1h", "7d", "now+1h", "2..4", "0-3", "h100:2", "mem=20G", "0.5", "512M", "x1.5", "auto", "0 2 * * *",
                   "running,failed", "gpu_use,power", "USR1", "mon 14:00-16:00", "2:h100:8", "order=fifo", "queues.a.limit=8",
                   "zone in (a,b)", "default", "research", "c1", "job:1", "hot", "maintenance", "/tmp", "7", "7_3", "{{lr}}"]}
numbers = {values = [0, 1, 2, 3, 4, 8, 100]}
[parameters]
"path.job" = {dictionary = "jobs", probability = 0.9}
"path.cron" = {dictionary = "numbers", probability = 0.9}
"query.follow" = 0
"path.gpu" = {dictionary = "names", probability = 0.9}
"path.node" = {dictionary = "names", probability = 0.9}
[generation.dictionaries]
string = {dictionary = "texts", probability = 0.7}
integer = {dictionary = "numbers", probability = 0.5}
number = {dictionary = "numbers", probability = 0.5}
""" % ", ".join('"%d"' % number for number in range(1, 30))


def find_program():
    """Schemathesis; None, and why, where it cannot be had."""
    named = os.environ.get("TARN_SCHEMATHESIS")
    if named:
        return named, ""
    folder, why = pypi.install("schemathesis", VERSION)
    return folder and os.path.join(folder, "schemathesis"), why


class Bridge:
    """A TCP port of this machine that leads to the socket of a daemon."""

    def __init__(self, path):
        self.path = path
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(self.path)
            for source, target in ((client, daemon), (daemon, client)):
                threading.Thread(target=self.copy, args=(source, target), daemon=True).start()

    @staticmethod
    def copy(source, target):
        try:
            while True:
                chunk = source.recv(65536)
                if not chunk:
                    break
                target.sendall(chunk)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            for end in (source, target):
                end.close()

    def close(self):
        self.listener.close()


def test_random_requests_are_answered_as_described(make_daemon):
    program, why = find_program()
    if program is None:
        pytest.skip("schemathesis cannot be installed: " + why)
    daemon = make_daemon(devices="none", options=["--engine", ENGINE])  # nothing that is submitted runs
    daemon.start()
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 4)
    daemon.api.put("/v1/config", {"queues": {"research": {"guarantee": 2}}})
    daemon.api.submit(run="true", gpus=4)
    daemon.api.submit(run="true", gpus=1, array="0-3")
    daemon.api.submit(stages={"a": {"run": "true", "gpus": 1}, "b": {"run": "true", "needs": ["a"]}})
    daemon.api.submit(run="true", schedule="0 2 * * *")
    bridge = Bridge(daemon.socket)
    config = os.path.join(daemon.root, "schemathesis.toml")
    with open(config, "w") as file:
        file.write(CONFIG)
    command = [program, "--config-file", config, "run", "http://127.0.0.1:%d/v1/openapi.json" % bridge.port, "--phases", "examples,coverage,fuzzing",
               "--checks", ",".join(CHECKS), "--max-examples", EXAMPLES, "--request-timeout", "60", "--no-color",
               "--seed", "1", "--continue-on-failure"]
    for name in LEFT_OUT:
        command += ["--exclude-operation-id", name]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3000,
                          cwd=daemon.root, env=dict(os.environ, HYPOTHESIS_STORAGE_DIRECTORY=daemon.root))
    bridge.close()
    assert done.returncode == 0, done.stdout[-20000:]
    cases = int(re.search(r"(\d+) generated, \1 passed", done.stdout).group(1))
    print("%d cases" % cases)
    assert cases >= 20000 or int(EXAMPLES) < 160
    daemon.check_sane()
    daemon.terminate()
    daemon.verify()
