# SPDX-License-Identifier: Apache-2.0
"""examples/digits, as it is, on a real Slurm."""
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
    cluster = slurm_cluster.Cluster(nodes=2)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.parametrize("mode", ["allocation"])
def test_the_example_digits_runs_unchanged(make_daemon, cluster, tmp_path, mode):
    daemon = make_daemon(devices="none")
    slurm_cluster.start_daemon(daemon, cluster, mode, {"queues": {"research": {"weight": 2}, "production": {"weight": 1}}},
                               **({"max": 2} if mode == "allocation" else {}))
    folder = tmp_path / "digits"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([TARN, "run", "-f", "digits.yaml"], text=True, cwd=folder, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=600,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket, **daemon.env()))
    assert done.returncode == 0, done.stdout
    jobs = daemon.api.jobs()
    assert {job["result"] for job in jobs if not job.get("tasks")} == {"ok"}, jobs
    daemon.verify()
    slurm_cluster.end_jobs(daemon, cluster)
