# SPDX-License-Identifier: Apache-2.0
"""The engine slurm on nodes that Slurm starts and stops: its programs for that play the cloud (slurm_cluster.py)."""
import os

import pytest

import slurm_cluster
import tarn_test
from tarn_test import read_file, wait_until
from test_cloud import SHARE, Cloud
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


@pytest.fixture
def ec2():
    """A cluster whose node n2 is an instance of EC2, by the samples of share/cloud."""
    cluster = slurm_cluster.Cluster(nodes=2, cloud=("n2",))
    cluster.ec2 = Cloud("ec2", programs=("aws",))
    for name, command in (("boot", f"setsid slurmd -D -b -f {cluster.conf} -N ${{1#tarn.}} > /dev/null 2>&1 &"),
                          ("halt", f"kill -KILL $(cat {cluster.root}/${{1#tarn.}}.pid)")):
        cluster.ec2.let(name, "#!/bin/sh\n" + command + "\n")
        os.chmod(cluster.ec2.path("state", name), 0o755)
    for name in ("resume", "suspend"):
        with open(os.path.join(cluster.root, name), "w") as file:
            file.write(f"""#!/bin/sh
export TARN_CLOUD_CONF={cluster.ec2.path("conf")} CLOUD_STATE={cluster.ec2.path("state")} CLOUD_ADDRESS=127.0.0.1
export SLURM_CONF={cluster.conf} PATH={cluster.ec2.path("bin")}:/usr/sbin:/usr/bin:/sbin:/bin
exec {SHARE}/{name} "$@"
""")
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        tarn_test.remove_folder(cluster.ec2.root)


def test_a_node_is_an_instance_while_it_has_jobs(make_daemon, ec2):
    daemon = make_daemon(devices="none", options=["--engine", "slurm"], environment={"SLURM_CONF": ec2.conf})
    daemon.start()
    wait_until("the GPUs of both nodes are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 2 * GPUS)
    # The cloud has nothing: Slurm learns it at once, not after its ResumeTimeout of 10 minutes.
    ec2.ec2.let("no-spot")
    ec2.ec2.let("no-on-demand")
    first = submit(daemon, "echo on $SLURMD_NODENAME", gpus=str(GPUS), where=["node=n2"])
    job = daemon.api.wait_end(first, patience=300)
    assert job["result"] == "lost", job
    assert "no on-demand capacity" in ec2.ec2.log() and ec2.ec2.instances() == {}
    # The deletion ends before another instance is made, for which SuspendTimeout must be long enough.
    wait_until("it was suspended", lambda: "node n2: has no instance" in ec2.ec2.log(), 120)
    # It has some again.
    os.unlink(ec2.ec2.path("state", "no-on-demand"))
    wait_until("it may be used again", lambda: node(daemon, "n2")["state"] == "up", 120)
    second = submit(daemon, "echo on $SLURMD_NODENAME", gpus=str(GPUS), where=["node=n2"])
    job = daemon.api.wait_end(second, patience=300)
    assert job["result"] == "ok" and daemon.api.output(second) == "on n2\n", job
    assert "node n2: created (on-demand)" in ec2.ec2.log()
    wait_until("the idle instance is deleted", lambda: ec2.ec2.instances() == {}, 120)
