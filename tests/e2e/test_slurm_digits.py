# SPDX-License-Identifier: Apache-2.0
"""examples/digits, unchanged, on a real Slurm that divides each GPU into four shards: in the modes `allocation` and `job`."""
import os
import shutil
import subprocess

import pytest

import slurm_cluster
from tarn_test import HERE, TARN

EXAMPLE = os.path.join(HERE, "..", "..", "examples", "digits")
REASON = slurm_cluster.missing_engine()
if not REASON and subprocess.run(["/usr/bin/python3", "-c", "import numpy, sklearn"], stderr=subprocess.DEVNULL).returncode != 0:
    REASON = "python3-numpy or python3-sklearn is not installed"
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(nodes=2, parts={"shard": 4})
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def prepare(make_daemon, cluster, tmp_path, mode):
    daemon = make_daemon(devices="none")
    slurm_cluster.start_daemon(daemon, cluster, mode, {"queues": {"research": {"weight": 2}, "production": {"weight": 1}}},
                               **({"max": 2} if mode == "allocation" else {}))
    folder = tmp_path / "digits"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return daemon, folder


def run(daemon, folder):
    return subprocess.run([TARN, "run", "-f", "digits.yaml"], text=True, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=600,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket, **daemon.env()))


def check(daemon, cluster, done):
    assert done.returncode == 0, done.stdout
    jobs = daemon.api.jobs()
    assert len(jobs) == 15 and {job["result"] for job in jobs} == {"ok"}, [(job["label"], job["result"]) for job in jobs]
    daemon.verify()
    slurm_cluster.end_jobs(daemon, cluster)


@pytest.mark.parametrize("mode", ["allocation", "job"])
def test_it_runs_unchanged(make_daemon, cluster, tmp_path, mode):
    daemon, folder = prepare(make_daemon, cluster, tmp_path, mode)
    check(daemon, cluster, run(daemon, folder))
