# SPDX-License-Identifier: Apache-2.0
"""tarn import slurm: from files, and from a real Slurm (slurm_cluster.py), into a daemon."""
import os
import subprocess

import pytest

import slurm_accounting
import slurm_cluster
from tarn_test import TARN, wait_until
from test_slurm_engine import pytestmark, tarn  # noqa: F401

ACCOUNTS = """Cluster - 'tarn':Fairshare=1:QOS='normal'
Parent - 'root'
User - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1
Account - 'uni':Description='uni':Organization='uni':Fairshare=3:GrpTRES=gres/gpu=8
Account - 'guests':Description='guests':Organization='uni':Fairshare=1:MaxWallDurationPerJob=60:GrpJobs=5
Parent - 'uni'
Account - 'lab':Description='lab':Organization='uni':Fairshare=2:GrpTRES=gres/gpu:h100=6
Parent - 'lab'
User - 'root':Fairshare=1
Parent - 'guests'
User - 'nobody':Fairshare=1
"""


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(lines="TopologyPlugin=topology/tree\nPriorityType=priority/multifactor\n"
                                          "PriorityWeightAge=7\nPriorityDecayHalfLife=2-0\n")
    with open(os.path.join(cluster.root, "topology.conf"), "w") as file:
        file.write("SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\nSwitchName=top Switches=s[1-2]\n")
    with open(os.path.join(cluster.root, "accounts"), "w") as file:
        file.write(ACCOUNTS)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def accounted():
    """A cluster with slurmdbd: the teams lang and vision of science."""
    missing = slurm_accounting.missing()
    if missing:
        pytest.skip(missing)
    cluster = slurm_cluster.Cluster(nodes=1)
    slurm_accounting.prepare(cluster)
    try:
        cluster.start(lambda: slurm_accounting.start(
            cluster, "add cluster tarn", "add account science fairshare=3", "add account lang parent=science",
            "add account vision parent=science", "add user nobody account=vision"))
        slurm_accounting.manage(cluster, "modify account vision set GrpTRES=gres/gpu=4",
                                "modify qos normal set MaxTRESPerUser=gres/gpu=6")
        yield cluster
    finally:
        cluster.stop()


def imported(cluster, *words, status=0):
    done = subprocess.run([TARN, "import", "slurm", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          stdin=subprocess.DEVNULL, env=cluster.environment(), timeout=60)
    assert done.returncode == status, done
    return done.stdout, done.stderr


def yaml_queues(config):
    """The lines of each queue."""
    queues, lines = {}, []
    for line in config.split("queues:\n", 1)[1].splitlines():
        if line.startswith("   "):
            lines.append(line.strip())
        else:
            lines = queues[line.strip(" :")] = []
    return queues


def test_files_become_a_configuration_in_force(cluster, make_daemon):
    out, report = (os.path.join(cluster.root, name) for name in ("tarn.yaml", "report"))
    accounts = os.path.join(cluster.root, "accounts")
    assert imported(cluster, "-c", cluster.conf, "--accounts", accounts, "-o", out, "--report", report) == ("", "")
    with open(report) as file:
        told = file.read()
    assert f"{accounts}:5: GrpJobs=5: tarn limits resources" in told
    assert "PriorityWeightAge=7: tarn has no weights" in told

    daemon = make_daemon(devices="none", options=["--engine", "slurm"], environment={"SLURM_CONF": cluster.conf})
    daemon.start()
    wait_until("all devices are known", lambda: len(daemon.api.get("/v1/gpus")["gpus"]) == 12)
    done = tarn(daemon, "apply", "-y", "-f", out)
    assert done.returncode == 0 and "warning" not in done.stdout, done.stdout

    config = daemon.api.get("/v1/config")
    assert config["slurm"] == {"partition": "gpu"}
    assert config["fair_share"] == {"half_life": "2d"}
    assert list(config["pools"]) == ["short"]
    queues = {queue["name"]: queue for queue in daemon.api.get("/v1/queues")["queues"]}
    assert (queues["uni"]["weight"], queues["lab"]["parent"], queues["lab"]["weight"]) == (3, "uni", 2)
    nodes = {node["name"]: node for node in daemon.api.get("/v1/nodes")["nodes"]}
    assert [(nodes[n]["rack"], nodes[n]["block"]) for n in ("n1", "n2", "n3")] == [("s1", "top"), ("s1", "top"), ("s2", "top")]

    number = daemon.api.submit(run="echo on $SLURMD_NODENAME", gpus="h100:1", queue="lab", pool="short",
                               sender_env=dict(daemon.env(), PATH="/usr/bin:/bin"))
    assert daemon.api.wait_end(number)["result"] == "ok"
    assert daemon.api.output(number) == "on n1\n"


def test_the_running_slurm_is_asked(cluster):
    out, told = imported(cluster)
    assert "slurm: {partition: gpu}\n" in out
    assert "  short: {nodes: [n1]}\n" in out
    assert "half_life: 2880m" in out
    assert "rack" not in out  # the engine reads it
    topology = os.path.join(cluster.root, "topology.conf")
    assert "n3: {rack: s2, block: top}" in imported(cluster, "--topology", topology)[0]
    assert "scontrol: PriorityWeightAge=7: " in told
    assert "scontrol: partition short: MaxTime=00:10:00: a pool has no time limit" in told
    assert "sacctmgr -P show assoc " in told and "no queues are made of accounts" in told  # there is no slurmdbd
    assert "slurm: {partition: short}\n" in imported(cluster, "--partition", "short")[0]
    assert "longest_duration: 10m" in imported(cluster, "--partition", "short")[0]


def test_the_tree_of_accounts_is_that_of_slurmdbd(accounted):
    out, told = imported(accounted)
    queues = yaml_queues(out)
    assert "nobody" not in told, "it inherits its QOS"
    assert queues["science"] == ["weight: 3"]
    assert queues["lang"] == ["parent: science", "weight: 1", "users:", "each: {gpus: 6}"]
    assert queues["vision"] == ["parent: science", "weight: 1", "limit: {gpus: 4}", "submit: [nobody]", "users:", "each: {gpus: 6}"]


def test_files_of_sacctmgr_give_the_same_queues(accounted):
    dump, qos = (os.path.join(accounted.root, name) for name in ("dump", "qos"))
    accounted.run("sacctmgr", "dump", "tarn", f"file={dump}")
    with open(qos, "w") as file:
        file.write(accounted.run("sacctmgr", "-P", "show", "qos"))
    files = imported(accounted, "-c", accounted.conf, "--accounts", dump, "--qos", qos)[0]
    assert yaml_queues(files) == yaml_queues(imported(accounted)[0])
    without = imported(accounted, "-c", accounted.conf, "--accounts", dump)[1]
    assert without.count("normal: the limits of this QOS are not known: see `--qos`") == 1


def test_a_table_without_parents_is_refused(accounted):
    table = os.path.join(accounted.root, "assoc")
    with open(table, "w") as file:
        file.write(accounted.run("sacctmgr", "-P", "show", "assoc"))
    out, told = imported(accounted, "-c", accounted.conf, "--accounts", table, status=1)
    assert out == ""
    begin, command = told.rstrip().split("this prints: ")
    assert begin == f"tarn: {table}:1: no column 'ParentName', expected what "
    with open(table, "w") as file:
        file.write(accounted.run(*command.split()))
    assert yaml_queues(imported(accounted, "-c", accounted.conf, "--accounts", table)[0])["lang"][0] == "parent: science"


def test_wrong_input_is_refused_with_its_place(cluster):
    bad = os.path.join(cluster.root, "bad")
    with open(bad, "w") as file:
        file.write("Parent - 'root'\nAccount - 'lab':Fairshare\n")
    out, told = imported(cluster, "-c", cluster.conf, "--accounts", bad, status=1)
    assert (out, told) == ("", f"tarn: {bad}:2: 'Fairshare': expected KEY=VALUE\n")
    out, told = imported(cluster, "-c", cluster.conf, "--partition", "huge", status=1)
    assert told == f"tarn: {cluster.conf}: there is no partition 'huge'; there are gpu, short\n"
    assert "/nowhere: No such file" in imported(cluster, "-c", "/nowhere", status=1)[1]
    imported(cluster, "and", "more", status=2)


def test_without_slurm_it_says_so():
    done = subprocess.run([TARN, "import", "slurm"], text=True, capture_output=True, timeout=60,
                          env=dict(os.environ, PATH="/nowhere"))
    assert done.returncode == 1
    assert done.stderr.startswith("tarn: no --conf FILE, and Slurm does not answer: scontrol show config: ")
