# SPDX-License-Identifier: Apache-2.0
"""tools/kube-playground: one command starts a cluster, and takes all of it down, however it ends."""
import os
import re
import signal
import subprocess

import pytest

import kube_cluster
from kube import programs
from kube_cluster import wait_until
from tarn_test import BUILD, HERE

PLAYGROUND = os.path.join(HERE, "..", "..", "tools", "kube-playground")
pytestmark = kube_cluster.needed()


@pytest.fixture
def playground():
    """A function that starts one; gives the process, and the folder of the cluster."""
    started = []

    def start(*words):
        process = subprocess.Popen([PLAYGROUND, "--build", BUILD, *words], text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT)
        started.append(process)
        said = ""
        for line in process.stdout:
            said += line
            if "takes all of it down" in line:
                return process, said, re.search(r"KUBECONFIG=(\S+)/kubeconfig", said).group(1)
        raise AssertionError(said)
    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def processes_in(folder):
    return subprocess.run(["pgrep", "-f", "--", folder + "/"], text=True, capture_output=True).stdout.split()


def test_it_runs_until_ctrl_c(playground):
    process, said, folder = playground("--fake", "3", "--real", "0", "--gpus", "4")
    assert "3 fake nodes and 0 real nodes, with 4 GPUs each" in said
    if programs.is_built("kubectl"):
        listed = subprocess.run([programs.path("kubectl"), "--kubeconfig", f"{folder}/kubeconfig", "get", "nodes", "-o", "name"], text=True,
                                capture_output=True, timeout=120)
        assert listed.stdout.split() == ["node/gpu-0000", "node/gpu-0001", "node/gpu-0002"], listed
    assert len(processes_in(folder)) >= 4
    process.send_signal(signal.SIGINT)
    assert process.wait(120) == 0
    assert not os.path.exists(folder) and not processes_in(folder)


def test_what_it_started_ends_with_it_when_it_is_killed(playground):
    process, _, folder = playground("--fake", "1", "--real", "0")
    process.kill()
    process.wait(60)
    wait_until("nothing runs", lambda: not processes_in(folder))
    subprocess.run(["rm", "-r", folder], check=True)


def test_wrong_options_and_missing_programs():
    done = subprocess.run([PLAYGROUND, "--fake", "9999"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 1 and "--fake 9999: expected 0 to 5000" in done.stderr
    done = subprocess.run([PLAYGROUND], text=True, capture_output=True, timeout=60, env=dict(os.environ, TARN_KUBE_CACHE="/nowhere"))
    assert done.returncode == 1 and "kubebox, kwok, kubelet, coredns not built: tools/kube/build" in done.stderr
    builder = os.path.join(HERE, "..", "..", "tools", "kube", "build")
    done = subprocess.run([builder, "kuebox"], text=True, capture_output=True, timeout=60)
    assert done.returncode == 1 and "kuebox: unknown target; expected kubebox" in done.stderr
    done = subprocess.run([builder, "--missing", "kwok"], text=True, capture_output=True, timeout=60, env=dict(os.environ, TARN_KUBE_CACHE="/nowhere"))
    assert (done.returncode, done.stdout) == (1, "kwok\n")
    done = subprocess.run(["/usr/bin/python3", builder, "kwok"], text=True, capture_output=True, timeout=60,
                          env=dict(os.environ, TARN_KUBE_CACHE="/tmp/no-such-cache", PATH="/usr/sbin"))
    assert done.returncode == 1 and "go: not installed; expected Go 1.25 or later" in done.stderr
