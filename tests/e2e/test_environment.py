# SPDX-License-Identifier: Apache-2.0
"""What the programs of a job see of it: variables, umask, limits, and what Slurm's scripts and commands read of them."""

import os
import re
import resource
import stat
import time

import pytest

from tarn_test import read_file
from test_cli import opened
from test_slurm import SMALL, Cluster

GANG = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture
def cluster():
    with opened(Cluster) as shell:
        yield shell


def seen_by(text):
    return dict(line.split("=", 1) for line in text.splitlines() if re.match(r"[A-Za-z_][A-Za-z0-9_]*=", line))


def run_env(cluster, *options, **environment):
    return seen_by(cluster.run("run", "-q", "-c", "0.1", *options, "--", "env", **environment).stdout)


def misleading(seen):
    return sorted(name for name in seen if name in GANG or name.startswith("SLURM"))


# A job that is no gang


def test_a_single_job_does_not_look_like_a_rank(cluster):
    for options in ((), ("--gpus", "2")):
        seen = run_env(cluster, *options, RANK="7", MASTER_ADDR="elsewhere")
        assert misleading(seen) == [], options
        assert (seen["TARN_RANK"], seen["TARN_WORLD_SIZE"], seen["TARN_NODE_COUNT"]) == ("0", "1", "1")


@pytest.mark.parametrize("name", [*GANG, "CUDA_VISIBLE_DEVICES", "TARN_RANK", "TARN_QUEUE", "SLURM_NTASKS", "HOME", "USER"])
@pytest.mark.parametrize("shape", [(), ("--ranks", "2")])
def test_what_a_job_sets_itself_wins(cluster, name, shape):
    assert run_env(cluster, *shape, "--env", name + "=-1")[name] == "-1"


def test_what_a_role_sets_itself_wins(cluster):
    cluster.file("roles.yaml", "cpus: 0.1\nroles:\n  one: {run: 'echo $RANK $TARN_ROLE', env: {RANK: 41}}\n  two: {run: 'true'}\n")
    assert "41 one" in cluster.out("run", "-q", "-f", "roles.yaml")


# A gang


def test_every_member_of_a_gang_knows_its_rank(cluster):
    cluster.run("run", "-q", "-c", "0.1", "--ranks", "2", "--ntasks-per-node", "2", "--", "sh", "-c", "env > env.$TARN_RANK")
    both = [seen_by(read_file(os.path.join(cluster.work, "env.%d" % rank))) for rank in range(2)]
    for rank, seen in enumerate(both):
        assert [seen[name] for name in GANG[:4]] == [str(rank), "2", str(rank), "2"]
        assert [seen[name] for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_GTIDS")] == [str(rank)] * 3
        assert [seen[name] for name in ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS_PER_NODE",
                                        "SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE")] == ["2"] * 6
        assert seen["SLURM_STEP_NODELIST"] == seen["SLURM_JOB_NODELIST"] == seen["TARN_HOSTS"]
        assert seen["SLURM_NODEID"] == "0" and "SLURM_STEPID" not in seen and "SLURM_STEP_ID" not in seen
    assert both[0]["MASTER_ADDR"] == "127.0.0.1" and both[0]["MASTER_PORT"] == both[1]["MASTER_PORT"]


def test_an_elastic_gang_of_one_member_is_a_gang(cluster):
    seen = run_env(cluster, "--ranks", "1..2", "--gpus", "3")  # four GPUs: one member
    assert [seen[name] for name in GANG[:4]] == ["0", "1", "0", "1"]
    assert seen["MASTER_ADDR"] and int(seen["MASTER_PORT"]) > 0
    assert "SLURM_NTASKS_PER_NODE" not in seen  # not asked for


# Slurm's scripts


def batch_env(cluster, lines, *options, name="job.sh", **environment):
    cluster.file(name, "#!/bin/bash\n" + "".join("#SBATCH %s\n" % line for line in lines) + "env\n")
    job = cluster.slurm("sbatch", "-W", "-Q", "-o", "out", *options, name, **environment)
    assert job.returncode == 0
    return seen_by(read_file(os.path.join(cluster.work, "out")))


ASKED = {
    "-c 2": {"SLURM_CPUS_PER_TASK": "2"},
    "--ntasks=2": {"SLURM_NTASKS": "2", "SLURM_NPROCS": "2"},
    "--ntasks-per-node=2": {"SLURM_NTASKS": "2", "SLURM_NPROCS": "2", "SLURM_NTASKS_PER_NODE": "2"},
    "--gpus=2": {"SLURM_GPUS": "2"},
    "--gpus-per-node=h100:2": {"SLURM_GPUS_PER_NODE": "h100:2"},
    "--gpus-per-task=1": {"SLURM_GPUS_PER_TASK": "1"},
    "--mem=1G": {"SLURM_MEM_PER_NODE": "1024"},
    "--mem-per-cpu=64M": {"SLURM_MEM_PER_CPU": "64"},
    "--export=ALL,A=b": {"SLURM_EXPORT_ENV": "ALL,A=b"},
    "--gres=gpu:1": {},
}
CONDITIONAL = {name for values in ASKED.values() for name in values} | {
    "SLURM_CPUS_PER_GPU", "SLURM_MEM_PER_GPU", "SLURM_GPU_BIND", "SLURM_JOB_DEPENDENCY", "SLURM_RESTART_COUNT", "SLURM_ARRAY_JOB_ID"}


@pytest.mark.parametrize("option", sorted(ASKED))
def test_variables_that_depend_on_an_option_are_set_with_it_alone(cluster, option):
    seen = batch_env(cluster, [option])
    assert {name: seen[name] for name in seen if name in CONDITIONAL} == ASKED[option]
    assert not set(seen) & set(GANG)


def test_a_batch_script_has_what_the_manual_lists(cluster):
    before = int(time.time())
    os.mkdir(os.path.join(cluster.work, "below"))
    seen = batch_env(cluster, ["-J listed", "-c 0.1", "-t 5", "-D below", "--gpus-per-node 2"], "-o", "../out")
    number, after = seen["SLURM_JOB_ID"], int(time.time()) + 1
    assert seen["SLURM_JOBID"] == number and seen["SLURM_JOB_NAME"] == "listed"
    assert (seen["SLURM_JOB_UID"], seen["SLURM_JOB_GID"]) == (str(os.getuid()), str(os.getgid()))
    assert seen["SLURM_SUBMIT_HOST"] == os.uname().nodename and seen["SLURM_CLUSTER_NAME"] == "tarn"
    assert seen["SLURM_SUBMIT_DIR"] == cluster.work  # where sbatch was called, not -D
    assert (seen["SLURM_JOB_ACCOUNT"], seen["SLURM_JOB_PARTITION"]) == ("default", "default")
    assert before <= int(seen["SLURM_JOB_START_TIME"]) <= after
    assert int(seen["SLURM_JOB_END_TIME"]) - int(seen["SLURM_JOB_START_TIME"]) in (300, 301)
    assert (seen["SLURM_TASKS_PER_NODE"], seen["SLURM_NODEID"], seen["SLURM_PROCID"]) == ("1", "0", "0")
    assert (seen["SLURM_JOB_GPUS"], seen["SLURM_GPUS_ON_NODE"]) == ("0,1", "2")


def test_lines_of_sbatch_count_for_tarn_submit_too(cluster):
    cluster.file("with.sh", "#!/bin/bash\n#SBATCH -c 0.1\nenv\n")
    cluster.file("without.sh", "#!/bin/bash\nenv\n")
    assert "SLURM_JOB_ID" in seen_by(cluster.run("run", "-q", "with.sh").stdout)
    assert misleading(seen_by(cluster.run("run", "-q", "-c", "0.1", "without.sh").stdout)) == []


def test_tasks_of_an_array_know_its_indices(cluster):
    cluster.file("array.sh", "#!/bin/bash\n#SBATCH -c 0.1 -a 1-7:3\nenv\n")
    cluster.slurm("sbatch", "-W", "-o", "a.%a", "array.sh")
    for index in (1, 4, 7):
        seen = seen_by(read_file(os.path.join(cluster.work, "a.%d" % index)))
        assert [seen["SLURM_ARRAY_TASK_" + name] for name in ("ID", "MIN", "MAX", "STEP", "COUNT")] == [str(index), "1", "7", "3", "3"]


def test_a_step_has_slurms_variables_also_in_a_job_that_has_none(cluster):
    out = cluster.run("run", "-q", "-c", "2", "--", "sh", "-c", "srun -n2 sh -c 'env > s.$SLURM_PROCID'; srun env").stdout
    both = [seen_by(read_file(os.path.join(cluster.work, "s.%d" % rank))) for rank in range(2)]
    for rank, seen in enumerate(both):
        assert (seen["RANK"], seen["WORLD_SIZE"], seen["SLURM_NTASKS"], seen["SLURM_STEP_NUM_TASKS"]) == (str(rank), "2", "2", "2")
        assert seen["SLURM_JOB_ID"] == seen["TARN_JOB_ID"] and seen["SLURM_STEP_NODELIST"] == seen["TARN_HOSTS"]
        assert "SLURM_CPUS_PER_TASK" not in seen and "SLURM_NTASKS_PER_NODE" not in seen
    assert both[0]["MASTER_PORT"] == both[1]["MASTER_PORT"] != "0"
    one = seen_by(out)  # of one task: no gang
    assert (one["SLURM_NTASKS"], one["SLURM_PROCID"], one["SLURM_STEP_ID"]) == ("1", "0", "0")
    assert not set(one) & set(GANG)


def test_a_step_keeps_what_its_script_has_set(cluster):
    _, text = cluster.batch("#SBATCH -n 2 -c 1\nexport MASTER_ADDR=here MASTER_PORT=29500 WORLD_SIZE=16\n"
                            "srun sh -c 'echo $RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR $MASTER_PORT' | sort\n"
                            "srun -n1 sh -c 'echo ${RANK-none} $WORLD_SIZE $MASTER_ADDR'\n")
    assert text == "0 16 2 here 29500\n1 16 2 here 29500\nnone 16 here\n"


def test_a_step_inside_a_step_or_a_gang_has_ranks_of_its_own(cluster):
    inner = "srun --overlap -n2 sh -c 'echo $RANK $WORLD_SIZE $MASTER_ADDR'"
    out = cluster.run("run", "-q", "-c", "2", "--ranks", "1..2", "--", "sh", "-c", "test $TARN_RANK != 0 || " + inner).stdout
    assert sorted(out.splitlines()) == ["0 2 127.0.0.1", "1 2 127.0.0.1"]
    out = cluster.run("run", "-q", "-c", "2", "--", "srun", "-n2", "sh", "-c", "test $RANK != 1 || " + inner).stdout
    assert sorted(out.splitlines()) == ["0 2 127.0.0.1", "1 2 127.0.0.1"]


def test_a_step_has_what_it_asks_for_itself(cluster):
    _, text = cluster.batch("#SBATCH -c 2 -n 1\nsrun -n1 -c1 --ntasks-per-node=1 env | grep -E '^SLURM_(CPUS_PER_TASK|NTASKS_PER_NODE)' | sort\n")
    assert text == "SLURM_CPUS_PER_TASK=1\nSLURM_NTASKS_PER_NODE=1\n"


# Where a script is


def test_a_script_finds_the_files_beside_it(cluster):
    os.mkdir(os.path.join(cluster.work, "kit"))
    cluster.file("kit/lib.sh", "echo sourced\n")
    cluster.file("kit/job.sh", "#!/bin/bash\n" + SMALL +
                 "path=$(scontrol show job $SLURM_JOB_ID | sed -n 's/.*Command=\\([^ ]*\\).*/\\1/p')\n"
                 ". $(dirname $path)/lib.sh; . $(dirname $TARN_SCRIPT)/lib.sh; squeue -h -j $SLURM_JOB_ID -o %o\n")
    path = os.path.join(cluster.work, "kit", "job.sh")
    for given in ("kit/job.sh", "./kit/job.sh", path):
        cluster.slurm("sbatch", "-W", "-o", "out", given, "some", "words")
        assert read_file(os.path.join(cluster.work, "out")) == "sourced\nsourced\n%s some words\n" % path
    number = cluster.api.get("/v1/jobs?all=1")["jobs"][0]["id"]
    assert cluster.api.job(number)["launch"]["script_path"] == path
    assert path in cluster.out("show", number)


# The submitter's umask and limits


@pytest.mark.parametrize("mask", [0o077, 0o002])
def test_a_job_has_the_umask_of_its_submitter(cluster, mask):
    cluster.out("up")  # the daemon has another
    cluster.file("job.sh", "#!/bin/bash\n" + SMALL + "umask; touch made\n")
    before = os.umask(mask)
    try:
        cluster.slurm("sbatch", "-W", "-o", "out", "job.sh")
        cluster.run("run", "-q", "-c", "0.1", "--", "sh", "-c", "umask > plain")
    finally:
        os.umask(before)
    assert read_file(os.path.join(cluster.work, "out")) == "%04o\n" % mask
    for name in ("out", "made", "plain"):
        assert stat.S_IMODE(os.stat(os.path.join(cluster.work, name)).st_mode) == 0o666 & ~mask, name
    assert read_file(os.path.join(cluster.work, "plain")) == "%04o\n" % mask


def test_a_job_has_the_soft_limits_of_its_submitter(cluster):
    cluster.out("up")
    cluster.file("job.sh", "#!/bin/bash\n" + SMALL + "ulimit -Sn; ulimit -Sc; ulimit -Ss\n")
    wanted = {resource.RLIMIT_NOFILE: 300, resource.RLIMIT_CORE: 0, resource.RLIMIT_STACK: 4096 << 10}
    before = {name: resource.getrlimit(name) for name in wanted}
    try:
        for name, soft in wanted.items():
            resource.setrlimit(name, (soft, before[name][1]))
        cluster.slurm("sbatch", "-W", "-o", "out", "job.sh")
    finally:
        for name, both in before.items():
            resource.setrlimit(name, both)
    assert read_file(os.path.join(cluster.work, "out")) == "300\n0\n4096\n"


def test_a_document_with_another_umask_or_limit_is_refused(cluster):
    cluster.out("up")
    for key, value, words in (("sender_umask", "9", "octal"), ("sender_umask", "1000", "octal"), ("sender_limits", {"files": 3}, "nofile"),
                              ("sender_limits", {"nofile": -2}, "unlimited"), ("slurm", {"PATH": "x"}, "SLURM_NTASKS")):
        with pytest.raises(Exception, match=words):
            cluster.api.submit(run="true", **{key: value})


# Variables that Slurm's commands read


def test_sbatch_reads_its_options_from_the_environment(cluster):
    lines = ["-t 60", "-c 0.1", "-J line"]
    seen = batch_env(cluster, lines, SBATCH_TIMELIMIT="5", SBATCH_JOB_NAME="variable", SBATCH_GPUS="2")
    job = cluster.api.job(seen["SLURM_JOB_ID"])
    assert (job["request"]["max_duration"], job["name"], job["gpu_count"]) == (300, "variable", 2)
    seen = batch_env(cluster, lines, "--job-name=given", SBATCH_JOB_NAME="variable")
    assert seen["SLURM_JOB_NAME"] == "given"
    refused = cluster.slurm("sbatch", "job.sh", status=1, SBATCH_HINT="nomultithread")
    assert "SBATCH_HINT: --hint: not supported" in refused.stderr
    refused = cluster.slurm("sbatch", "job.sh", status=1, SBATCH_TIMELIMIT="soon")
    assert "SBATCH_TIMELIMIT: --time" in refused.stderr
    assert seen_by(cluster.run("run", "-q", "-c", "0.1", "--", "env", SBATCH_GPUS="2").stdout)["TARN_GPU_COUNT"] == "0"


@pytest.mark.parametrize("value, is_on", [("", True), ("yes", True), ("1", True), ("0", False), ("no", False)])
def test_a_variable_switches_an_option_on_or_off(cluster, value, is_on):
    cluster.file("job.sh", "#!/bin/bash\n" + SMALL + "true\n")
    number = cluster.slurm("sbatch", "--parsable", "-H", "job.sh").stdout.strip()
    assert cluster.api.job(number)["state"] == "held"
    cluster.slurm("sbatch", "-d", "afterany:" + number, "-o", "out", "job.sh", SBATCH_REQUEUE=value)
    done = cluster.slurm("sbatch", "--parsable", "job.sh", SBATCH_WAIT=value).stdout.strip()
    assert (cluster.api.job(done)["state"] == "ended") or not is_on


def test_listings_read_their_formats_from_the_environment(cluster):
    number = cluster.slurm("sbatch", "--parsable", "-H", "-J", "shown", "-c", "0.1", "--wrap", "true").stdout.strip()
    assert cluster.slurm("squeue", "-h", SQUEUE_FORMAT="%j/%i").stdout == "shown/%s\n" % number
    assert cluster.slurm("squeue", "-h", "-o", "%i", SQUEUE_FORMAT="%j", SQUEUE_FORMAT2="Name").stdout == number + "\n"
    assert cluster.slurm("squeue", "-h", SQUEUE_FORMAT="%j", SQUEUE_STATES="RUNNING").stdout == ""
    assert cluster.slurm("squeue", "-h", SQUEUE_FORMAT="%j", SQUEUE_PARTITION="none").stdout == ""
    assert cluster.slurm("sacct", "-nP", SACCT_FORMAT="JobName").stdout == "shown\n"
    year = time.strftime("%Y")
    assert cluster.slurm("sacct", "-nP", "-o", "Submit", SLURM_TIME_FORMAT="y%Y").stdout == "y%s\n" % year
    assert re.fullmatch(r"\d{10}\n", cluster.slurm("sacct", "-nP", "-o", "Submit", SLURM_TIME_FORMAT="%s").stdout)
    assert re.fullmatch(r"(Ystday )?\d\d:\d\d(:\d\d)?\n", cluster.slurm("sacct", "-nP", "-o", "Submit", SLURM_TIME_FORMAT="relative").stdout)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:]{8}\n", cluster.slurm("sacct", "-nP", "-o", "Submit", SLURM_TIME_FORMAT="standard").stdout)
    assert cluster.slurm("sinfo", "-h", SINFO_FORMAT="is %P").stdout.startswith("is ")


@pytest.mark.parametrize("command", ["squeue", "sacct", "sinfo"])
def test_there_is_one_cluster(cluster, command):
    cluster.out("submit", "-H", "--", "true")
    for name in ("all", "tarn"):
        assert cluster.slurm(command, "--clusters", name).stdout == cluster.slurm(command).stdout
    assert "No cluster 'other' known" in cluster.slurm(command, "-M", "other", status=1).stderr
