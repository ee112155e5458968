# SPDX-License-Identifier: Apache-2.0
"""The engine slurm on nodes that Slurm starts and stops: its programs for that play the cloud (slurm_cluster.py)."""
import os

import pytest

import slurm_cluster
from tarn_test import read_file, wait_until
from test_slurm_engine import REASON, node, submit

pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
GPUS = slurm_cluster.GPUS


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(nodes=2, cloud=("n2",))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def test_a_node_that_is_off_is_started_for_a_job_and_stopped_after_it(make_daemon, cluster):
    daemon = make_daemon(devices="none", options=["--engine", "slurm"], environment={"SLURM_CONF": cluster.conf})
    daemon.start()
    wait_until("the GPUs of both nodes are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 2 * GPUS)
    cloud = lambda: read_file(os.path.join(cluster.root, "log", "cloud")) if os.path.exists(
        os.path.join(cluster.root, "log", "cloud")) else ""
    assert node(daemon, "n2")["state"] == "up" and cloud() == ""
    # One node is enough: the other one stays off.
    first = submit(daemon, "echo on $SLURMD_NODENAME; sleep 600", gpus=str(GPUS))
    daemon.api.wait_state(first, "running")
    assert cloud() == ""
    second = submit(daemon, "echo on $SLURMD_NODENAME", gpus=str(GPUS))
    wait_until("why says what it waits for", lambda: "its nodes are starting" in str(daemon.api.get(f"/v1/jobs/{second}/why"))
               or daemon.api.job(second)["state"] == "ended")
    job = daemon.api.wait_end(second, patience=300)
    assert job["result"] == "ok" and job["attempt"] == 1, job
    assert daemon.api.output(second) == "on n2\n" and daemon.api.output(first) == "on n1\n"
    assert cloud().split("\n")[0] == "resume n2"
    wait_until("the idle node is off", lambda: "suspend n2" in cloud() and "POWERED_DOWN" in cluster.run(
        "scontrol", "show", "node", "n2"), 120)
    # Also from zero it starts again.
    wait_until("it may be used again", lambda: node(daemon, "n2")["state"] == "up")
    third = submit(daemon, "echo again on $SLURMD_NODENAME", gpus=str(GPUS))
    assert daemon.api.wait_end(third, patience=300)["result"] == "ok" and daemon.api.output(third) == "again on n2\n"
    assert daemon.api.job(first)["state"] == "running"
    daemon.api.post(f"/v1/jobs/{first}/cancel")
    daemon.api.wait_end(first)
    wait_until("Slurm has no job left", lambda: not cluster.run("squeue", "-h", "-u", "root").strip())
