# SPDX-License-Identifier: Apache-2.0
"""What people do, on a real Slurm in both modes: arrays, pipelines over nodes, preemption with checkpoints, and a node that is
killed under a gang."""
import signal

import pytest

import slurm_cluster
from tarn_test import wait_until

REASON = slurm_cluster.missing_engine()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
GPUS = slurm_cluster.GPUS
SAVES = """
at=$(cat $TARN_CHECKPOINT/at 2>/dev/null || echo 0)
echo from $at
trap 'echo $at > $TARN_CHECKPOINT/at; exit 99' TERM
while [ $at -lt 6 ] || [ ! -e %s ]; do at=$((at + 1)); sleep 0.2; done
echo done at $at
"""


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(nodes=3)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(params=["job", "allocation"])
def daemon(request, make_daemon, cluster):
    daemon = make_daemon(devices="none")
    slurm_cluster.start_daemon(daemon, cluster, request.param, **({"max": 3} if request.param == "allocation" else {}))
    yield daemon
    daemon.verify()
    slurm_cluster.end_jobs(daemon, cluster)


def submit(daemon, **keys):
    return daemon.api.submit(sender_env=dict(daemon.env(), PATH="/usr/bin:/bin"), **keys)


def test_each_task_of_an_array_runs_once(daemon, tmp_path):
    number = submit(daemon, run=f"echo $TARN_ARRAY_INDEX >> {tmp_path}/ran", gpus="1", array="0-39%8")
    assert daemon.api.wait_group(number, 300)["result"] == "ok"
    ran = (tmp_path / "ran").read_text().split()
    assert sorted(map(int, ran)) == list(range(40))


def test_a_pipeline_passes_its_outputs_from_node_to_node(daemon, cluster):
    number = submit(daemon, name="flow", stages={
        "make": {"run": "echo $TARN_HOSTS; seq 100 > $TARN_OUT/data/numbers", "gpus": str(GPUS), "outputs": ["data"], "where": ["node=n1"]},
        "sum": {"run": "echo $TARN_HOSTS; awk '{s += $1} END {print s}' $TARN_IN/data/numbers > $TARN_OUT/sum/value", "gpus": "1",
                "needs": ["make"], "inputs": ["data"], "outputs": ["sum"], "where": ["node=n2"]},
        "tell": {"run": "echo $TARN_HOSTS; cat $TARN_IN/sum/value", "gpus": "1", "needs": ["sum"], "inputs": ["sum"], "where": ["node=n3"]}})
    group = daemon.api.wait_group(number, 300)
    assert group["result"] == "ok", group
    said = [daemon.api.output(stage["jobs"][0]["id"]).split() for stage in group["stages"]]
    assert said == [["n1"], ["n2"], ["n3", "5050"]]


def test_a_preempted_job_goes_on_from_its_checkpoint(daemon, tmp_path):
    go = tmp_path / "go"
    low = submit(daemon, run=SAVES % go, gpus=str(GPUS), nodes=3, preemptible=True, checkpoint={"grace": "20s"}, name="low")
    daemon.api.wait_state(low, "running")
    wait_until("it has begun", lambda: all("from 0" in daemon.api.output(low, rank=rank) for rank in range(3)))
    high = submit(daemon, run="echo in between", gpus=str(GPUS), priority=100, max_duration="1m", name="high")
    assert daemon.api.wait_end(high, 120)["result"] == "ok"
    go.touch()
    job = daemon.api.wait_end(low, 120)
    assert job["result"] == "ok" and job["attempt"] == 2, job

    def begun():
        return [int(line.split()[1]) for line in daemon.api.output(low).split("\n") if line.startswith("from ")]

    wait_until("both attempts have written", lambda: len(begun()) == 2)
    assert begun()[0] == 0 and begun()[1] > 0, "it went on from where it was"


def test_a_node_killed_under_a_gang(daemon, cluster, tmp_path):
    """The gang starts again on the nodes that are left."""
    number = submit(daemon, run=f"echo x >> {tmp_path}/$RANK; test -e {tmp_path}/again || exec sleep 600", gpus=str(GPUS), nodes=2, retry=1)
    daemon.api.wait_state(number, "running")
    wait_until("both ranks run", lambda: (tmp_path / "0").exists() and (tmp_path / "1").exists())
    (tmp_path / "again").touch()
    name = daemon.api.job(number)["devices"][0]["node"]
    try:
        cluster.processes[name].send_signal(signal.SIGKILL)
        cluster.run("pkill", "-KILL", "-f", f"slurmstepd: .*{name}")
        cluster.end(name)
        cluster.run("scontrol", "update", f"nodename={name}", "state=down", "reason=power failure")
        job = daemon.api.wait_end(number, 300)
        assert job["result"] == "ok" and job["attempt"] == 2, job
        assert name not in {device["node"] for device in job["devices"]}
        assert [len((tmp_path / rank).read_text().split()) for rank in "01"] == [2, 2]
    finally:
        cluster.launch(name, "slurmd", "-D", "-f", cluster.conf, "-N", name)
        cluster.run("scontrol", "update", f"nodename={name}", "state=resume")
        wait_until("it is back", lambda: cluster.run("sinfo", "-h", "-n", name, "-o", "%T").strip() in ("idle", "mixed", "allocated"))
