# SPDX-License-Identifier: Apache-2.0
"""examples/digits on a real Slurm: as it is in the mode `allocation`, and without parts of GPUs in the mode `job`."""
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


def test_it_runs_unchanged_in_the_mode_allocation(make_daemon, cluster, tmp_path):
    daemon, folder = prepare(make_daemon, cluster, tmp_path, "allocation")
    check(daemon, cluster, run(daemon, folder))


def test_the_mode_job_refuses_its_parts_of_gpus_and_runs_it_with_whole_ones(make_daemon, cluster, tmp_path):
    daemon, folder = prepare(make_daemon, cluster, tmp_path, "job")
    refused = run(daemon, folder)
    assert refused.returncode == 1 and "whole" in refused.stdout and not daemon.api.jobs(), refused.stdout
    text = (folder / "digits.yaml").read_text()
    assert text.count("gpus: 0.5") == 1
    (folder / "digits.yaml").write_text(text.replace("gpus: 0.5", "gpus: 1"))
    check(daemon, cluster, run(daemon, folder))
