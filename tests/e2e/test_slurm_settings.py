# SPDX-License-Identifier: Apache-2.0
"""A wrong partition or account in the configuration, and a slurmctld that does not answer: what jobs do meanwhile, and what tarn says,
also `tarn doctor`."""
import json
import os
import signal
import subprocess

import pytest

import slurm_accounting
import slurm_cluster
from tarn_test import BUILD, PATIENCE_S, TARN, as_user, wait_until

REASON = slurm_cluster.missing_engine() or slurm_accounting.missing()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
NOBODY = 65534


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(nodes=2)
    slurm_accounting.prepare(cluster)
    try:
        cluster.start(lambda: slurm_accounting.start(cluster, "add cluster tarn", "add account lab", "add user nobody account=lab"))
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def daemon(make_daemon, cluster):
    daemon = make_daemon(devices="none", options=["--all-users"])
    slurm_cluster.start_daemon(daemon, cluster, "job")
    yield daemon
    slurm_cluster.end_jobs(daemon, cluster)


def submit(daemon, run, **keys):
    """Of an ordinary user: Slurm lets root use any account."""
    return as_user(NOBODY, lambda: daemon.api.submit(run=run, sender_env={"PATH": "/usr/bin:/bin"}, cwd="/", **{"gpus": "1", "cpus": 0, **keys}))


def engine_says(daemon, number, words):
    wait_until(f"tarn says: {words}", lambda: words in (daemon.api.why(number)["engine"] or ""))


def test_with_a_wrong_account_jobs_wait_until_it_is_corrected(daemon, cluster):
    daemon.api.put("/v1/config", {"slurm": {"account": "lav"}})
    numbers = [submit(daemon, "true") for _ in range(2)]
    for number in numbers:
        engine_says(daemon, number, "account 'lav' (slurm: account) does not exist, or its user may not use it")
    assert {daemon.api.job(number)["state"] for number in numbers} == {"granted"}
    daemon.api.put("/v1/config", {"slurm": {"account": "lab"}})
    for number in numbers:
        job = daemon.api.wait_end(number)
        assert (job["result"], job["attempt"]) == ("ok", 1)
    daemon.verify()


def test_an_account_that_slurm_gets_later_is_used(daemon, cluster):
    daemon.api.put("/v1/config", {"slurm": {"account": "late"}})
    number = submit(daemon, "true")
    engine_says(daemon, number, "account 'late'")
    slurm_accounting.manage(cluster, "add account late", "add user nobody account=late")
    assert daemon.api.wait_end(number)["result"] == "ok"


@pytest.mark.parametrize("wrong, words", [({"account": "lav"}, "account 'lav'"), ({"partition": "gpuu"}, "no partition 'gpuu'")])
def test_what_waits_for_the_configuration_can_be_cancelled(daemon, wrong, words):
    daemon.api.put("/v1/config", {"slurm": wrong})
    number = submit(daemon, "true")  # it is granted, as the nodes are still open
    engine_says(daemon, number, words)
    daemon.api.post(f"/v1/jobs/{number}/cancel")
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    daemon.verify()


def test_a_slurmctld_that_does_not_answer_is_told(daemon, cluster):
    number = submit(daemon, "sleep 1000", gpus="4", where="node=n1")
    daemon.api.wait_state(number, "running")
    waiting = submit(daemon, "true", where="node=n1")
    controller = cluster.processes["slurmctld"]
    os.kill(controller.pid, signal.SIGSTOP)
    try:
        engine_says(daemon, waiting, "slurmctld has not answered for ")
    finally:
        os.kill(controller.pid, signal.SIGCONT)
    wait_until("it answers again", lambda: daemon.api.why(waiting)["engine"] is None)


def test_doctor_looks_at_slurm(daemon, cluster):
    def doctor(status):
        done = subprocess.run([TARN, "doctor", "--json"], text=True, stdout=subprocess.PIPE, timeout=PATIENCE_S,
                              env=dict(cluster.environment(), TARN_SOCKET=daemon.socket, **daemon.env(),
                                       LD_LIBRARY_PATH=os.path.join(BUILD, "src", "engine")))  # no driver of tests
        assert done.returncode == status, done.stdout
        return {line["what"]: (line["grade"], line["text"]) for line in json.loads(done.stdout)}

    daemon.api.put("/v1/config", {"slurm": {"partition": "gpu", "account": "lab"}})
    found = doctor(0)
    assert found["slurmctld"] == ("ok", "Slurm %s, cluster tarn" % cluster.run("sinfo", "--version").split()[1])
    assert found["partition"] == ("ok", "gpu: nodes n[1-2] with gpu:h100:4") and found["account"] == ("ok", "lab")
    assert found["mode"] == ("ok", "job: each attempt is a Slurm job")
    assert found["rights"] == ("ok", "the daemon is root's: each job runs as its user")
    assert found["gres"] == ("ok", "GresTypes is gpu") and "select" not in found
    assert found["node fence"][0] == "note" and "TaskPlugin is task/none" in found["node fence"][1]
    assert daemon.state in found["shared"][1]
    daemon.api.put("/v1/config", {"slurm": {"partition": "gpuu", "account": "lav"}})
    found = doctor(1)
    assert found["partition"] == ("bad", "there is no 'gpuu' (slurm: partition); there are: gpu, short")
    assert found["account"][0] == "bad" and "there is no 'lav'" in found["account"][1]
    cluster.stop_controller()
    try:
        assert doctor(1)["slurmctld"][0] == "bad"
    finally:
        cluster.start_controller()


def test_doctor_names_a_configuration_of_slurm_that_is_not_there(daemon, tmp_path):
    done = subprocess.run([TARN, "doctor"], text=True, stdout=subprocess.PIPE, timeout=PATIENCE_S,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket, SLURM_CONF=str(tmp_path / "none")))
    assert done.returncode == 1 and f"BAD   slurm.conf {tmp_path}/none: cannot be read" in done.stdout, done.stdout
