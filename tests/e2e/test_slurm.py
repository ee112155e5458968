# SPDX-License-Identifier: Apache-2.0
"""Slurm's commands as front ends: what scripts written for Slurm meet here."""

import os
import re
import signal
import subprocess

import pytest

import tarn_test
from tarn_test import BUILD, read_file, wait_until
from test_cli import Shell, opened

SLURM = os.path.join(BUILD, "src", "cli", "slurm")
SMALL = "#SBATCH -c 0.1\n"  # also on a machine with one CPU
os.environ.setdefault("ASAN_OPTIONS", "fast_unwind_on_malloc=0")  # so that leaks.txt finds the library that leaks


class Cluster(Shell):
    """A person who has the front ends on the PATH."""

    def slurm(self, name, *words, status=0, stdin=None, **environment):
        done = subprocess.run([os.path.join(SLURM, name), *[str(word) for word in words]], input=stdin, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=tarn_test.PATIENCE_S, cwd=self.work,
                              env=dict(self.environment, **environment), **({} if stdin else {"stdin": subprocess.DEVNULL}))
        assert status is None or done.returncode == status, (name, words, done.returncode, done.stdout, done.stderr)
        return done

    def batch(self, text, *options, name="job.sh"):
        """The end of a job and what it printed."""
        self.file(name, "#!/bin/bash\n" + text)
        number = self.slurm("sbatch", "--parsable", *options, name).stdout.strip()
        job = self.api.wait_end(number)
        return job, read_file(os.path.join(self.work, "slurm-%s.out" % number))


@pytest.fixture
def cluster():
    with opened(Cluster) as shell:
        yield shell


def test_a_script_runs_once_and_srun_starts_its_tasks(cluster):
    job, text = cluster.batch(SMALL + "#SBATCH --job-name=four --ntasks=4 --gpus-per-task=1 --time=10\n"
                              "echo once $SLURM_NTASKS $SLURM_JOB_NAME $SLURM_NTASKS_PER_NODE\n"
                              "srun sh -c 'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NTASKS $SLURM_NODEID $RANK $WORLD_SIZE'"
                              " | sort\n"
                              "srun sh -c 'echo gpu $CUDA_VISIBLE_DEVICES' | sort -u | wc -l\n"
                              "test \"$SLURM_NODELIST\" = \"$(srun -n1 sh -c 'echo $SLURM_STEP_NODELIST')\" && echo same\n")
    assert job["result"] == "ok" and job["members"] == 1 and job["gpu_count"] == 4
    assert text == "once 4 four\n" + "".join("%d %d 4 0 %d 4\n" % (i, i, i) for i in range(4)) + "4\nsame\n"


def test_each_task_of_an_array_reads_its_own_file(cluster):
    for index in (2, 3):
        cluster.file("in_%d.txt" % index, "words of %d\n" % index)
    cluster.file("read.sh", "#!/bin/sh\n" + SMALL + "#SBATCH -a 2-3 -i in_%a.txt -o out_%a.txt\ncat\n")
    cluster.slurm("sbatch", "--wait", "read.sh")
    assert [read_file(os.path.join(cluster.work, "out_%d.txt" % index)) for index in (2, 3)] == ["words of 2\n", "words of 3\n"]


def test_an_excluded_node_that_is_not_there_is_said(cluster):
    cluster.file("true.sh", "#!/bin/sh\n" + SMALL + "true\n")
    said = cluster.slurm("sbatch", "--wait", "-x", "nosuch,other", "true.sh").stderr
    for name in ("nosuch", "other"):
        assert "where: node %s is excluded, and there is no such node; tarn nodes lists them" % name in said
    assert "node" not in cluster.slurm("sbatch", "--wait", "true.sh").stderr


def test_a_script_from_a_pipe_has_arguments(cluster):
    text = "#!/bin/sh\n" + SMALL + "echo got $1 $SLURM_JOB_NAME\n"
    cluster.slurm("sbatch", "--wait", "-o", "out", "/dev/stdin", "this", stdin=text)
    assert read_file(os.path.join(cluster.work, "out")) == "got this stdin\n"
    assert "not a script" in cluster.slurm("sbatch", "/dev/null", status=1).stderr


def test_tasks_write_to_files_of_their_own(cluster):
    cluster.batch("#SBATCH -n 2 -c 0.1\nsrun true\nsrun -o %J_%2t.txt sh -c 'echo $SLURM_PROCID'\n"
                  "srun -n1 echo A : -n1 echo B 2>refused; echo $? >> refused\n")
    number = cluster.slurm("sacct", "-nP", "-o", "jobid").stdout.strip()
    cluster.run("submit", "--wait", "--ranks", "2", "-c", "0.1", "-o", "gang_%2t.txt", "--", "sh", "-c", "echo $TARN_RANK")
    for rank in range(2):
        assert read_file(os.path.join(cluster.work, "%s.1_0%d.txt" % (number, rank))) == "%d\n" % rank
        assert read_file(os.path.join(cluster.work, "gang_0%d.txt" % rank)) == "%d\n" % rank
    assert read_file(os.path.join(cluster.work, "refused")).endswith(
        "':': several commands of one step are not supported; expected a srun for each, with & and wait\n1\n")


def test_none_is_no_file(cluster):
    cluster.file("none.sh", "#!/bin/sh\n" + SMALL + "#SBATCH --input=none -o none\necho lost; cat > seen; echo $? >> seen\n")
    cluster.slurm("sbatch", "--wait", "none.sh")
    assert read_file(os.path.join(cluster.work, "seen")) == "0\n" and not os.path.exists(os.path.join(cluster.work, "none"))


def test_a_script_with_dos_line_breaks_is_refused(cluster):
    for text in ("#!/bin/bash\r\ntrue\r\n", "#!/bin/bash\ntrue\ncat <<END\r\nEND\n"):
        with open(os.path.join(cluster.work, "dos.sh"), "w", newline="") as file:
            file.write(text)
        assert "dos.sh: batch script contains DOS line breaks" in cluster.slurm("sbatch", "dos.sh", status=1).stderr
        with open(os.path.join(cluster.work, "dos.sh"), newline="") as file:
            assert "batch script contains DOS line breaks" in cluster.slurm("sbatch", stdin=file.read(), status=1).stderr


def test_a_script_that_is_not_utf_8_runs_byte_for_byte(cluster):
    """Such as one whose comments are in Latin-1, or that prints what Windows-1252 has."""
    script = b"#!/bin/bash\n# r\xe9glages \x80\xff \xc3\xa9\n" + SMALL.encode() + b"printf '\xe9\xff\x80\xc2' | od -An -tx1\n"
    with open(os.path.join(cluster.work, "old.sh"), "wb") as file:
        file.write(script)
    for words in (["sbatch", "--parsable", "old.sh"], ["tarn", "submit", "--parsable", "old.sh"]):
        said = cluster.slurm(*words) if words[0] == "sbatch" else cluster.out(*words[1:])
        number = (said.stdout if words[0] == "sbatch" else said).strip()
        assert cluster.api.wait_end(number)["result"] == "ok"
        assert cluster.api.output(number).split() == ["e9", "ff", "80", "c2"]
    kept = subprocess.run([os.path.join(SLURM, "sbatch"), "--parsable"], input=script.replace(b"printf", b"cat \"$0\" #"), cwd=cluster.work,
                          env=cluster.environment, stdout=subprocess.PIPE, check=True).stdout.decode().strip()
    cluster.api.wait_end(kept)
    with open(os.path.join(cluster.work, "slurm-%s.out" % kept), "rb") as file:
        assert file.read() == script.replace(b"printf", b"cat \"$0\" #")


def test_what_is_no_script_is_refused_as_slurm_does(cluster):
    for name, content, said in (("nul.sh", b"#!/bin/sh\necho \0\n", "nul.sh: a NUL character in it"),
                                ("empty.sh", b"", "empty.sh: not a script: expected #!"),
                                ("wide.sh", "#!/bin/sh\ntrue\n".encode("utf-16"), "wide.sh: not a script"),
                                ("bom.sh", b"\xef\xbb\xbf#!/bin/sh\ntrue\n", "bom.sh: not a script"),
                                ("bare.sh", b"echo hello\n", "bare.sh: not a script")):
        with open(os.path.join(cluster.work, name), "wb") as file:
            file.write(content)
        assert said in cluster.slurm("sbatch", name, status=1).stderr
    done = subprocess.run([tarn_test.TARN.encode(), b"run", b"--", b"echo", b"caf\xe9"], env=cluster.environment, cwd=cluster.work,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"'caf?': an argument that is not UTF-8" in done.stderr
    said = subprocess.run([tarn_test.TARN, "run", "-q", "--cpus", "0.1", "--", "sh", "-c", "echo ran"], cwd=cluster.work, stdin=subprocess.DEVNULL,
                          env={**{k.encode(): v.encode() for k, v in cluster.environment.items()}, b"OLD": b"caf\xe9"},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert said.stdout == b"ran\n" and b"environment: OLD: not UTF-8, left out" in said.stderr


def test_filtered_jobs_that_ended_meanwhile_are_no_failure(cluster):
    """Cancelling the first ends those that need it."""
    for cancel in (lambda: cluster.out("cancel", "--all"), lambda: cluster.slurm("scancel", "--me").stdout):
        first = cluster.slurm("sbatch", "--parsable", "-H", "-c", "0.1", "--wrap", "true").stdout.strip()
        second = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-d", "afterok:" + first, "--wrap", "true").stdout.strip()
        cancel()
        assert [cluster.api.wait_end(number)["result"] for number in (first, second)] == ["cancelled", "cancelled"]
        cancel()
    assert "ended already" in cluster.refused(1, "cancel", second)


def test_lines_get_labels_whole(cluster):
    _, text = cluster.batch(SMALL + "#SBATCH -n 11\nsrun -l sh -c 'printf \"a\\nb\"'\n")
    assert sorted(text.splitlines()) == sorted("%2d: %s" % (i, word) for i in range(11) for word in "ab")


def test_steps_share_the_gpus_of_their_job(cluster):
    """Each of six steps has one of the two GPUs alone; none is used by two at a time."""
    job, text = cluster.batch(SMALL + "#SBATCH -n 2 --gpus=2\n"
                              "for i in 1 2 3 4 5 6; do srun --exact -n1 --gpus=1 sh -c "
                              "'mkdir $CUDA_VISIBLE_DEVICES && sleep 0.2 && rmdir $CUDA_VISIBLE_DEVICES && echo alone' & done\n"
                              "wait\n"
                              "srun -n2 sh -c 'echo both $CUDA_VISIBLE_DEVICES' | tr -dc ,\n")
    assert job["result"] == "ok" and text.count("alone") == 6 and "File exists" not in text
    assert text.endswith(",,") and "waits for CPUs or GPUs" in text


def test_steps_that_overlap_do_not_wait(cluster):
    job, text = cluster.batch(SMALL + "#SBATCH -n 1\nmkfifo p\n"  # each waits for the other
                              "srun --overlap sh -c 'echo met > p' & srun --overlap sh -c 'cat p'; wait\n")
    assert job["result"] == "ok" and text == "met\n"


def test_the_first_bad_exit_ends_the_others_where_it_is_asked(cluster):
    job, text = cluster.batch(SMALL + "#SBATCH -n 3\nsrun -K sh -c '[ $SLURM_PROCID = 1 ] && exit 7; exec sleep 1000'\necho $?\n"
                              "srun sh -c 'exit $SLURM_PROCID'\necho $?\nsrun sh -c 'kill -9 $$'\necho $?\n")
    assert job["result"] == "ok"
    assert [line for line in text.splitlines() if line.isdigit()] == ["7", "2", "137"]
    assert "task 1: exited with exit code 7" in text and "terminating step" in text


def test_variables_are_options_of_srun(cluster):
    """As srun(1) lists them; the command line wins."""
    _, text = cluster.batch(SMALL + "#SBATCH -n 2\n"
                            "SLURM_LABELIO=1 srun -n 1 echo a\nSLURM_LABELIO=0 srun -n 1 echo b\n"
                            "SLURM_KILL_BAD_EXIT=1 srun sh -c '[ $SLURM_PROCID = 1 ] && exit 7; exec sleep 1000'\necho $?\n"
                            "SLURM_KILL_BAD_EXIT=1 srun -K0 sh -c 'exit $SLURM_PROCID' 2>/dev/null\necho $?\n"
                            "SLURM_STDOUTMODE=f srun -n 1 echo to a file\ncat f\n"
                            "SLURM_EXPORT_ENV=NONE A=1 srun -n 1 sh -c 'echo .$A'\n"
                            "SLURM_EXPORT_ENV=NONE A=1 srun -n 1 --export=ALL sh -c 'echo .$A'\n"
                            "SLURM_EXPORT_ENV=NONE SRUN_EXPORT_ENV=B=2 A=1 srun -n 1 sh -c 'echo .$A.$B'\n"
                            "srun -n 1 --cpu_bind=none echo c\n"
                            "SLURM_WAIT=x srun true\necho $?\n")
    assert [line for line in text.splitlines() if not line.startswith(("srun: error: task", "srun: terminating"))] == [
        "0: a", "b", "7", "1", "to a file", ".", ".1", "..2", "c", "srun: error: SLURM_WAIT: --wait: expected seconds, 0 to 86400", "1"], text
    assert text.count("terminating step") == 1


def test_steps_are_no_jobs_of_listings(cluster):
    job, text = cluster.batch(SMALL + "scontrol show job $SLURM_JOB_ID | grep -c \"BatchHost=$SLURMD_NODENAME\"\n"
                              "sacct -n -j $SLURM_JOB_ID.batch -o MaxRSS; echo $?\nsqueue -h -j $SLURM_JOB_ID.0; echo $?\nsacct -j x; echo $?\n")
    assert text == ("1\nsacct: error: {0}.batch: steps are not listed; expected the job, {0}, whose values include its steps\n1\n"
                    "squeue: error: {0}.0: steps are not listed; expected the job, {0}, whose values include its steps\n1\n"
                    "sacct: error: Invalid job id: x\n1\n".format(job["id"]))


def test_options_of_sacct_that_are_repeated_add_to_their_lists(cluster):
    """As submitit asks for its jobs."""
    numbers = [cluster.slurm("sbatch", "--parsable", "-c", "0.1", "--wrap", words).stdout.strip() for words in ("true", "exit 1", "true")]
    for number in numbers:
        cluster.api.wait_end(number)
    said = cluster.slurm("sacct", "-n", "-P", "-o", "JobID", "-o", "State", "-j", numbers[0], "-j", numbers[1] + ",").stdout
    assert said.split() == [numbers[0] + "|COMPLETED", numbers[1] + "|FAILED"]
    said = cluster.slurm("sacct", "-n", "-P", "-o", "JobID", "-s", "F", "-s", "CD", "-j", ",".join(numbers)).stdout
    assert said.split() == numbers


def test_the_environment_of_a_script_is_that_of_its_steps(cluster):
    """With --export=NONE, too: srun reads SLURM_EXPORT_ENV."""
    _, text = cluster.batch(SMALL + "#SBATCH --export=NONE\nexport A=1\nsrun sh -c 'echo .$A'\nunset SLURM_EXPORT_ENV\nsrun sh -c 'echo .$A'\n")
    assert text == ".\n.1\n"


def test_signals_reach_the_tasks(cluster):
    job, text = cluster.batch(SMALL + "#SBATCH -n 2\n"
                              "srun sh -c 'trap \"echo got; exit 0\" USR1; touch up$SLURM_PROCID; while :; do sleep 0.05; done' &\n"
                              "until [ -e up0 ] && [ -e up1 ]; do sleep 0.05; done\nkill -USR1 $!\nwait $!\necho $?\n")
    assert job["result"] == "ok" and text.count("got\n") == 2 and text.endswith("0\n")


def test_what_a_step_cannot_have_is_refused(cluster):
    _, text = cluster.batch(SMALL + "#SBATCH -n 2 --gpus 1\nsrun -n3 true; echo $?\nsrun --gpus=2 true; echo $?\n"
                            "srun --mpi=pmi2 true; echo $?\nsrun -p other true; echo $?\nsrun; echo $?\n"
                            "srun --cpu-bind=map_cpu:0 true; echo $?\nsrun none-such; echo $?\n")
    for words in ("3 tasks need 3 CPUs, and the job has 2", "2 GPUs, and the job has 1", "--mpi=pmi2: not supported for several tasks; expected none or pmix",
                  "pool: not for a step", "nothing to run", "--cpu-bind: not supported", "none-such: No such file"):
        assert words in text, (words, text)
    assert [line for line in text.splitlines() if line.isdigit()] == ["1"] * 6 + ["127"]


def test_options_of_a_step_that_change_nothing_are_accepted(cluster):
    """Of the job's own node, of MPI for one task, of all memory, and what concerns networks of nodes only."""
    _, text = cluster.batch(SMALL + "#SBATCH -n 2 --gpus 2\nnode=$SLURM_JOB_NODELIST\n"
                            "srun -n1 -w $node --mem=0 -t 5 --mpi=pmix --cpu-bind=none,v --gpu-bind=none --exact --overlap -K -u"
                            " --export=ALL,WORD=yes --bcast=/tmp/x -r 0 -X -T 4 sh -c 'echo $WORD $HOME'; echo $?\n"
                            "srun -n1 --nodelist=$node --export=NONE sh -c 'echo ${LC_ALL-none} $SLURM_JOB_ID $HOME'; echo $?\n"
                            "srun -n2 --gpus-per-task=1 --gpu-bind=per_task:1 true; echo $?\n"
                            "srun -n2 --cpu-bind=v,cores true; echo $?\n")
    home, number = cluster.environment["HOME"], cluster.api.jobs()[-1]["id"]
    assert text.splitlines() == ["yes " + home, "0", "none %d %s" % (number, home), "0", "0",
                                 "srun: --cpu-bind=cores: tasks are not bound to CPUs here", "0"], text


def test_a_step_ends_at_its_time_limit(cluster):
    job, text = cluster.batch(SMALL + "srun -n1 -t 0:01 sleep 1000; echo $?\n")
    assert job["result"] == "ok" and text.endswith("1\n")
    assert "step cancelled: its time limit is 1 s" in text


def test_signals_come_before_the_time_limit(cluster):
    """Ten seconds after the start here: to the script alone with B:, else to the tasks of srun, and never to both."""
    trap = "trap 'echo %s; exit 0' USR1; touch up-%s; while :; do sleep 0.1; done"
    shell, steps = trap % ("shell", "a"), trap % ("task$SLURM_PROCID", "b")
    cluster.file("a.sh", "#!/bin/bash\n" + SMALL + "#SBATCH -t 30 --signal=B:SIGUSR1@1790\n"
                 "srun sh -c 'trap \"echo wrong\" USR1; touch up-t; while :; do sleep 0.1; done' &\n" + shell + "\n")
    cluster.file("b.sh", "#!/bin/bash\n" + SMALL + "#SBATCH -t 30 --signal=10@1790 -n 2\n"
                 "trap 'echo wrong' USR1\nsrun bash -c '" + steps.replace("'", "\"") + "'; echo ended $?\n")
    cluster.file("c.yaml", "run: \"trap 'echo all; exit 0' USR1; while :; do sleep 0.1; done\"\ncpus: 0.1\n"
                 "max_duration: 30m\nwarn: {signal: USR1, before: 1790s}\n")
    numbers = [cluster.slurm("sbatch", "--parsable", name).stdout.strip() for name in ("a.sh", "b.sh")]
    last = cluster.out("submit", "-q", "-f", "c.yaml").strip()
    assert [cluster.api.wait_end(number)["result"] for number in (*numbers, last)] == ["ok"] * 3
    first, second = (read_file(os.path.join(cluster.work, "slurm-%s.out" % number)) for number in numbers)
    assert first == "shell\n"
    assert sorted(second.replace("User defined signal 1\n", "").splitlines()) == ["ended 0", "task0", "task1"], second  # a sleep of the task
    assert cluster.api.output(last) == "all\n"


def test_a_signal_that_cannot_come_is_said(cluster):
    said = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "--signal=B:USR2", "--wrap", "true")
    assert "warn: the job has no time limit, so no signal is sent" in said.stderr
    for value, words in (("USR1@x", "expected seconds behind @"), ("USR1@70000", "0 to 65535"), ("NONE@5", "NONE"),
                         ("R:USR1", "R is not supported")):
        said = cluster.slurm("sbatch", "-t", "10", "--signal=" + value, "--wrap", "true", status=1)
        assert said.stderr.startswith("sbatch: error: --signal: ") and words in said.stderr


def test_scripts_know_their_process_and_their_qos(cluster):
    cluster.file("c.yaml", "queues: {fast: {}}\n")
    cluster.out("up")
    cluster.out("apply", "c.yaml")
    _, text = cluster.batch(SMALL + "test $SLURM_TASK_PID = $$ && echo own $SLURM_JOB_QOS\n"
                            "srun sh -c 'test $SLURM_TASK_PID = $$ && echo task'\n", "--qos=fast")
    assert text == "own fast\ntask\n" and cluster.api.jobs()[-1]["queue"] == "fast"
    _, text = cluster.batch(SMALL + "echo $SLURM_JOB_QOS\n")
    assert text == "normal\n"


def test_of_several_partitions_one_is_selected_and_said(cluster):
    cluster.file("c.yaml", "queues: {short: {longest_duration: 10m}, long: {}}\n")
    cluster.out("up")
    cluster.out("apply", "c.yaml")
    said = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-p", "short,long", "-t", "60", "--wrap", "true")
    assert "pool short,long: the job waits in long" in said.stderr
    assert cluster.api.wait_end(said.stdout.strip())["queue"] == "long"
    said = cluster.slurm("sbatch", "-p", "short,lang", "--wrap", "true", status=1)
    assert "no pool or queue is called 'lang'" in said.stderr


def test_whole_nodes_and_named_nodes(cluster):
    cluster.slurm("srun", "-c", "0.1", "true")
    node = cluster.api.get("/v1/nodes")["nodes"][0]
    said = cluster.slurm("sbatch", "--parsable", "--exclusive", "--mem=0", "-w", node["name"], "--wrap",
                         "echo $SLURM_CPUS_ON_NODE; echo $CUDA_VISIBLE_DEVICES | tr , '\n' | wc -l")
    job = cluster.api.wait_end(said.stdout.strip())
    assert job["gpu_count"] == 4 and float(job["cpus"]) == float(node["cpus"]) and job["memory"] == node["memory"], job
    assert "where" in cluster.slurm("sbatch", "-x", node["name"], "--wrap", "true", status=1).stderr


def test_each_option_of_the_manuals_is_read_or_refused_by_name(cluster):
    """What squeue, sacct, scancel, sinfo and scontrol have and tarn has not."""
    cluster.slurm("srun", "-c", "0.1", "true")
    for command, nothing, refused in (("squeue", ["--noconvert", "-v", "--local", "-P"], ["-S", "i"]),
                                      ("sacct", ["-D", "--noconvert", "-X"], ["--truncate"]),
                                      ("sinfo", ["-e", "--noconvert"], ["-R"]),
                                      ("scontrol", ["-d", "-a", "show", "jobs"], ["-Z"])):
        cluster.slurm(command, *nothing)
        said = cluster.slurm(command, *refused, status=1)
        assert said.stdout == "" and re.match(r"%s: error: (--[a-z-]+: not supported; use |unknown option)" % command, said.stderr)
    assert "--batch: not supported; use --full" in cluster.slurm("scancel", "-b", "1", status=1).stderr
    fields = cluster.slurm("sacct", "--helpformat").stdout.split()
    assert "JobID" in fields and "Elapsed" in fields
    for since in ("noon", "01/01", "01.01.20-08:00", "0101", "010120", "12:00AM", "today", "now-2days", "2020-01-01T10:00pm"):
        cluster.slurm("sacct", "-S", since)
    for since in ("13/01", "yesterday", "0231", "1e9"):
        assert "expected one like" in cluster.slurm("sacct", "-S", since, status=1).stderr
    assert "--begin: '0131': MMDD[YY] is not supported" in cluster.slurm("sbatch", "-b", "0131", "--wrap", "true", status=1).stderr
    number = cluster.slurm("sbatch", "--parsable", "-b", "01/31/35-08:05", "-t", "-1", "--wrap", "true").stdout.strip()
    assert "StartTime=2035-01-31T08:05:00" in cluster.slurm("scontrol", "show", "job", number).stdout
    assert ";true;COMPLETED\n" in cluster.slurm("sacct", "-aP", "--delimiter=;", "-o", "JobID,JobName,State").stdout


def test_output_of_tasks_goes_to_files(cluster):
    cluster.batch(SMALL + "#SBATCH -n 2\nsrun -o out-%t -e err-%t sh -c 'echo o$SLURM_PROCID; echo e$SLURM_PROCID >&2'\n"
                  "srun -n1 -o one sh -c 'echo a; echo b >&2'\n")
    names = {"out-0": "o0\n", "out-1": "o1\n", "err-0": "e0\n", "err-1": "e1\n", "one": "a\nb\n"}
    assert {name: read_file(os.path.join(cluster.work, name)) for name in names} == names


def test_sbatch_says_what_slurms_says(cluster):
    cluster.file("job.sh", "#!/bin/sh\necho $1 $GREETING\n")
    said = cluster.slurm("sbatch", "--export=ALL,GREETING=hello", "job.sh", "you")
    number = re.fullmatch(r"Submitted batch job (\d+)\n", said.stdout)[1]
    assert cluster.api.wait_end(number)["name"] == "job.sh"
    assert read_file(os.path.join(cluster.work, "slurm-%s.out" % number)) == "you hello\n"
    array = cluster.slurm("sbatch", "--parsable", "-a", "3,5", "--wrap",
                          "echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_TASK_MIN $SLURM_ARRAY_TASK_MAX").stdout.strip()
    cluster.api.wait_group(array)
    assert read_file(os.path.join(cluster.work, "slurm-%s_5.out" % array)) == "5 3 5\n"
    after = cluster.slurm("sbatch", "--parsable", "-d", "afterok:" + number, "-W", "--wrap", "exit 3", status=3).stdout
    assert cluster.api.job(after.strip())["result"] == "failed"
    before = len(cluster.api.jobs())
    assert "would start" in cluster.slurm("sbatch", "--test-only", "job.sh").stderr
    assert "beside --wrap" in cluster.slurm("sbatch", "--wrap", "true", "job.sh", status=1).stderr
    assert len(cluster.api.jobs()) == before
    assert cluster.slurm("sbatch", stdin="#!/bin/sh\n#SBATCH -J fed\n").stdout.startswith("Submitted")
    for words in (["-N2", "job.sh"], ["--exclusive=user", "job.sh"], ["--signal=R:USR1@30", "job.sh"],
                  ["-q", "long", "job.sh"], ["-p", "default,none", "job.sh"], ["/bin/true"], ["none.sh"], ["--constraint=intel", "job.sh"]):
        said = cluster.slurm("sbatch", *words, status=1)
        assert said.stdout == "" and said.stderr.startswith("sbatch: error: "), said
    assert len(cluster.api.jobs()) == before + 1


def test_dependencies_on_tasks_of_arrays(cluster):
    """One task, the task of the same index, and all of them."""
    array = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-a", "1-3", "--wrap",
                          "until [ -e go$SLURM_ARRAY_TASK_ID ]; do sleep 0.05; done").stdout.strip()
    one, corresponding, every = (cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-d", words, *more, "--wrap", "true").stdout.strip()
                                 for words, more in (("afterok:%s_2" % array, ()), ("aftercorr:" + array, ("-a", "2-3")),
                                                     ("afterok:%s_*" % array, ())))
    assert "waits for job %s_2 to succeed" % array in cluster.out("why", one)
    cluster.file("go2", "")
    assert cluster.api.wait_end(one)["result"] == cluster.api.wait_end(corresponding + "_2")["result"] == "ok"
    assert cluster.api.job(corresponding + "_3")["state"] == cluster.api.job(every)["state"] == "waiting"
    cluster.file("go3", "")
    assert cluster.api.wait_end(corresponding + "_3")["result"] == "ok"
    assert cluster.api.job(every)["state"] == "waiting"
    cluster.file("go1", "")
    assert cluster.api.wait_end(every)["result"] == "ok"
    assert "it has no task 9" in cluster.slurm("sbatch", "-d", "afterok:%s_9" % array, "--wrap", "true", status=1).stderr


def test_singletons_run_one_after_the_other(cluster):
    for number in range(3):
        cluster.slurm("sbatch", "-c", "0.1", "-J", "alone", "-d", "singleton", "-o", "out", "--open-mode=append", "--wrap",
                      "mkdir held && echo %d && sleep 0.1 && rmdir held" % number)
    last = cluster.slurm("sbatch", "--wait", "-c", "0.1", "-J", "alone", "-d", "singleton", "--wrap", "true")
    assert last.returncode == 0 and read_file(os.path.join(cluster.work, "out")) == "0\n1\n2\n"
    other = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-H", "-J", "alone", "--wrap", "true").stdout.strip()
    cluster.slurm("sbatch", "--wait", "-c", "0.1", "-J", "different", "-d", "singleton", "--wrap", "true")
    waiting = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-J", "alone", "-d", "singleton", "--wrap", "true").stdout.strip()
    assert other in cluster.out("why", waiting)


def test_srun_alone_is_a_job_of_its_own(cluster):
    done = cluster.slurm("srun", "-c", "0.1", "-n", "2", "-l", "--gpus-per-task=1", "sh", "-c",
                         "echo $SLURM_PROCID; exit $SLURM_PROCID", status=1)
    assert sorted(line for line in done.stdout.splitlines() if ": error:" not in line) == ["0: 0", "1: 1"]
    job = cluster.api.jobs()[-1]
    assert job["name"] == "sh" and job["gpu_count"] == 2 and job["exit_code"] == 1
    assert cluster.slurm("srun", "-c", "0.1", "true").stdout == ""


def test_a_signal_to_srun_ends_its_job(cluster):
    cluster.out("up")
    process = subprocess.Popen([os.path.join(SLURM, "srun"), "-c", "0.1", "sleep", "1000"], cwd=cluster.work,
                               env=cluster.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def runs():
        return [job for job in cluster.api.jobs() if job["state"] == "running"]

    number = wait_until("the job runs", runs)[0]["id"]
    process.send_signal(signal.SIGINT)
    assert process.wait(tarn_test.PATIENCE_S) != 0
    assert cluster.api.job(number)["result"] == "cancelled"
    process.communicate()


def test_a_script_with_tasks_is_the_same_for_tarn_submit(cluster):
    cluster.file("job.sh", "#!/bin/bash\n" + SMALL + "#SBATCH -n 2 --gpus 2\necho once; srun echo task\n")
    number = cluster.out("submit", "--parsable", "job.sh").strip()
    job = cluster.api.wait_end(number)
    assert job["members"] == 1 and job["gpu_count"] == 2 and cluster.api.output(number) == "once\ntask\ntask\n"
    plain = cluster.out("submit", "--parsable", "--", "sh", "-c", "srun --exact true; srun echo plain").strip()
    cluster.api.wait_end(plain)
    assert "was not submitted with Slurm's options" in cluster.api.output(plain)
    assert cluster.api.output(plain).endswith("plain\n")


def test_invisible_characters_of_paths_and_arguments_are_shown(cluster):
    odd = "a\u200bb\u202ec\U000e0041"
    number = cluster.out("submit", "--parsable", "-o", os.path.join(cluster.work, odd), "--", "/bin/true", odd).strip()
    cluster.api.wait_end(number)
    for words in (["scontrol", "show", "job", number], ["squeue", "-h", "-t", "all", "-j", number, "-o", "%o|%Z"],
                  ["sacct", "-P", "-j", number, "-o", "JobID,JobName,WorkDir"]):
        said = cluster.slurm(*words, status=None).stdout
        assert said and not set(said) & (set(odd) - set("abc")), (words, said)
    assert "a?b?c?" in cluster.slurm("scontrol", "show", "job", number).stdout


def test_squeue_lists_what_waits_and_runs(cluster):
    first = cluster.slurm("sbatch", "--parsable", "-J", "first", "-c", "0.1", "-t", "2:00:00", "--gpus", "3", "--wrap", "sleep 1000").stdout.strip()
    cluster.api.wait_state(first, "running")
    second = cluster.slurm("sbatch", "--parsable", "-J", "second", "-c", "0.1", "--gpus", "2", "--wrap", "true").stdout.strip()
    array = cluster.slurm("sbatch", "--parsable", "-H", "-a", "1,4", "-c", "0.1", "--wrap", "true").stdout.strip()
    user = cluster.api.job(first)["user"]
    titles, *lines = cluster.slurm("squeue").stdout.splitlines()
    assert titles.split() == ["JOBID", "PARTITION", "NAME", "USER", "ST", "TIME", "NODES", "NODELIST(REASON)"]
    assert [line.split()[0] for line in lines] == [first, second, array + "_1", array + "_4"]
    assert [line.split()[4] for line in lines] == ["R", "PD", "PD", "PD"]
    assert lines[1].endswith("(Resources)") and lines[2].endswith("(JobHeldUser)")
    rows = cluster.slurm("squeue", "-h", "--me", "-o", "%i|%T|%l|%b|%F|%5j|").stdout.splitlines()
    assert rows[0] == first + "|RUNNING|2:00:00|gres/gpu:3|%s|first|" % first
    assert rows[1] == second + "|PENDING|UNLIMITED|gres/gpu:2|%s|secon|" % second
    assert rows[3] == "%s_4|PENDING|UNLIMITED|N/A|%s|wrap |" % (array, array)
    assert cluster.slurm("squeue", "-h", "-j", array, "-o", "%K").stdout == "1\n4\n"
    assert cluster.slurm("squeue", "-h", "-t", "RUNNING", "-u", user, "-O", "JobID:3").stdout == first.rjust(3) + "\n"
    nobody = cluster.slurm("squeue", "-h", "-u", "somebody-else")
    assert nobody.stdout == "" and nobody.stderr == "squeue: error: Invalid user: somebody-else\n"
    for ids, said in (("9999", "slurm_load_jobs error: Invalid job id specified"), ("x", "Invalid job id: x"), ("1,0", "Invalid job id: 0")):
        assert cluster.slurm("squeue", "-j", ids, status=1).stderr == "squeue: error: %s\n" % said
    assert cluster.slurm("squeue", "-h", "-j", "9999," + first, "-o", "%i").stdout == first + "\n"
    assert "JobId=5 ArrayJobId=%s ArrayTaskId=4 JobName=" % array in cluster.slurm("scontrol", "show", "job", array + "_4").stdout
    start = cluster.slurm("squeue", "-h", "--start", "-n", "second").stdout.split()[5]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", start)
    assert "'%X' is not known" in cluster.slurm("squeue", "-o", "%q%X", status=1).stderr
    assert "state 'XX'" in cluster.slurm("squeue", "-t", "XX", status=1).stderr
    # scontrol and scancel on the same
    cluster.slurm("scontrol", "release", array + "_1")
    assert cluster.api.wait_end(array + "_1")["result"] == "ok"
    cluster.slurm("scontrol", "hold", second)
    assert cluster.api.job(second)["state"] == "held"
    cluster.slurm("scancel", "%s_[4]" % array)
    assert cluster.api.wait_end(array + "_4")["result"] == "cancelled"
    assert "--full" in cluster.slurm("scancel", "-s", "USR1", first, status=1).stderr
    cluster.slurm("scancel", "-f", "-s", "USR1", first)
    assert cluster.api.wait_end(first)["signal"] == signal.SIGUSR1
    cluster.slurm("scancel", "-t", "RUNNING", "-n", "second")
    assert cluster.api.job(second)["state"] == "held"
    cluster.slurm("scancel", "-t", "PD", "-n", "second")
    assert cluster.api.wait_end(second)["result"] == "cancelled"
    assert "no such job" in cluster.slurm("scancel", "9999", status=1).stderr
    assert "no job" in cluster.slurm("scancel", status=1).stderr


def test_sacct_and_scontrol_tell_of_jobs_that_ended(cluster):
    good = cluster.slurm("sbatch", "--parsable", "-J", "good", "-c", "0.1", "--gpus", "1", "-t", "10", "--wrap", "true").stdout.strip()
    bad = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "--wrap", "exit 3").stdout.strip()
    cluster.api.wait_end(good)
    cluster.api.wait_end(bad)
    rows = cluster.slurm("sacct", "-nPX", "--format=JobID,JobName,State,ExitCode,AllocTRES").stdout.splitlines()
    assert rows == [good + "|good|COMPLETED|0:0|cpu=1,node=1,gres/gpu=1", bad + "|wrap|FAILED|3:0|cpu=1,node=1"]
    titles, dashes, row = cluster.slurm("sacct", "-j", bad, "--format=jobid%6,state%-10").stdout.splitlines()
    assert titles == " JobID State     " and dashes == "------ ----------" and row == bad.rjust(6) + " FAILED    "
    assert cluster.slurm("sacct", "-nP", "-S", "now-1hour", "-E", "now", "-s", "F", "-o", "jobid").stdout == bad + "\n"
    assert cluster.slurm("sacct", "-nP", "-E", "2020-01-01", "-S", "2019-01-01T00:00").stdout == ""
    never = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-o", "/nonexistent-%j/out", "--wrap", "true").stdout.strip()
    cluster.api.wait_end(never)
    assert cluster.slurm("sacct", "-nP", "-j", never, "-o", "state,exitcode").stdout == "FAILED|1:0\n"
    assert "time 'soon'" in cluster.slurm("sacct", "-S", "soon", status=1).stderr
    assert "'Foo' is not known" in cluster.slurm("sacct", "-o", "Foo", status=1).stderr
    shown = cluster.slurm("scontrol", "show", "job", good).stdout
    for words in ("JobId=%s JobName=good\n" % good, "JobState=COMPLETED", "TimeLimit=00:10:00", "ExitCode=0:0",
                  "WorkDir=%s\n" % cluster.work, "StdOut=%s/slurm-%s.out\n" % (cluster.work, good)):
        assert words in shown, (words, shown)
    assert cluster.slurm("scontrol", "-o", "show", "job=" + good).stdout.count("\n") == 1
    assert cluster.slurm("scontrol", "show", "jobid", "-dd", good).stdout == shown and "NumCPUs=1 NumTasks=1\n" in shown
    many = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "-n", "5", "--wrap", "true").stdout.strip()
    assert "NumTasks=5\n" in cluster.slurm("scontrol", "show", "job", many).stdout
    assert cluster.slurm("scontrol", "show", "job", good, "--oneliner").stdout.count("\n") == 1
    assert "unknown option '-dz'" in cluster.slurm("scontrol", "show", "-dz", "job", good, status=1).stderr
    wide = cluster.slurm("sbatch", "--parsable", "-c", "2", "--wrap", "sleep 1.1").stdout.strip()
    cluster.api.wait_end(wide)
    span, both = (int(word) for word in cluster.slurm("sacct", "-nPj", wide, "-o", "elapsedraw,cputimeraw").stdout.split("|"))
    assert span >= 1 and both == 2 * span
    assert cluster.slurm("sacct", "-nPj", wide, "-o", "jobid,cputime,ntasks,averss,avecpu").stdout == "%s|00:00:%02d|||\n" % (wide, both)
    assert "no such job" in cluster.slurm("scontrol", "show", "job", "9999", status=1).stderr
    assert "tarn update" in cluster.slurm("scontrol", "update", "JobId=1", status=1).stderr
    names = cluster.slurm("scontrol", "show", "hostnames", "a,n[08-10,3],b").stdout
    assert names == "a\nn08\nn09\nn10\nn3\nb\n"
    cluster.slurm("scontrol", "requeue", bad)
    assert cluster.api.wait_end(bad)["attempt"] == 2


def test_sinfo_lists_pools_and_nodes(cluster):
    cluster.out("up")
    node = cluster.api.get("/v1/nodes")["nodes"][0]
    titles, line = cluster.slurm("sinfo").stdout.splitlines()
    assert titles.split() == ["PARTITION", "AVAIL", "TIMELIMIT", "NODES", "STATE", "NODELIST"]
    assert line.split() == ["default*", "up", "infinite", "1", "idle", node["name"]]
    assert cluster.slurm("sinfo", "-h", "-N", "-o", "%N %G %T %R").stdout == node["name"] + " gpu:h100:4 idle default\n"
    assert "NodeName=%s\n" % node["name"] in cluster.slurm("scontrol", "show", "node").stdout
    assert "TotalNodes=1" in cluster.slurm("scontrol", "show", "partition", "default").stdout
    assert "no such pool" in cluster.slurm("scontrol", "show", "partition", "none", status=1).stderr
    for name in os.listdir(SLURM):
        if os.path.islink(os.path.join(SLURM, name)):
            assert cluster.slurm(name, "--version").stdout.startswith("tarn ")
            assert cluster.slurm(name, "--help").stdout.startswith(name + " ")


# The ten scripts of doc/slurm.md: option lines as in public documentation, in own words, with small amounts


def wait_for_array(cluster, number):
    return cluster.api.wait_group(number)["stages"][0]["jobs"]


def test_script_1_of_slurms_manual(cluster):
    job, text = cluster.batch("#SBATCH --time=1\nsrun hostname |sort\n", "-c", "0.1", "-n2")
    assert job["result"] == "ok" and text == 2 * (os.uname().nodename + "\n") and job["request"]["max_duration"] == 60


def test_script_2_array_and_what_follows_it(cluster):
    cluster.file("t.job", "#! /bin/bash\n#SBATCH --job-name=array-test\n#SBATCH --time=00:01:00\n#SBATCH --gres=gpu:2\n"
                          "#SBATCH --cpus-per-task=0.1\necho ${SLURM_ARRAY_TASK_ID:-alone} of ${SLURM_ARRAY_TASK_COUNT:-one}\n")
    cluster.file("all.sh", "job_id=$(sbatch --parsable --array=1-6%2 t.job)\nafter=$(sbatch --parsable --dependency=afterok:$job_id t.job)\n"
                           "squeue -u $(id -un)\necho $job_id $after\n")
    done = subprocess.run(["sh", "all.sh"], cwd=cluster.work, env=dict(cluster.environment, PATH=SLURM + ":" + os.environ["PATH"]),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, timeout=tarn_test.PATIENCE_S, check=True)
    array, after = done.stdout.split()[-2:]
    assert "JOBID" in done.stdout and all(job["result"] == "ok" for job in wait_for_array(cluster, array))
    assert cluster.api.wait_end(after)["result"] == "ok"
    for index in range(1, 7):
        assert read_file(os.path.join(cluster.work, "slurm-%s_%d.out" % (array, index))) == "%d of 6\n" % index
    assert read_file(os.path.join(cluster.work, "slurm-%s.out" % after)) == "alone of one\n"


def test_script_3_a_chain_whose_numbers_are_cut_from_the_reply(cluster):
    cluster.file("one.sbatch", "#!/bin/bash\n#SBATCH --time=00:30:00\n#SBATCH --nodes=1\n#SBATCH --ntasks-per-node=2\n"
                               "#SBATCH -c 0.1\n#SBATCH --job-name=\"myjob\"\n#SBATCH --output=myjob.o%j\nsrun echo $SLURM_JOB_NAME\n")
    first = cluster.slurm("sbatch", "one.sbatch").stdout.split(" ")[3].strip()
    second = cluster.slurm("sbatch", "--dependency=afterany:" + first, "one.sbatch").stdout.split(" ")[3].strip()
    assert cluster.api.wait_end(second)["result"] == "ok"
    assert cluster.api.job(second)["started"] >= cluster.api.job(first)["ended"]
    assert read_file(os.path.join(cluster.work, "myjob.o" + second)) == "myjob\nmyjob\n"


def test_script_4_engines_with_files_and_memory(cluster):
    os.mkdir(os.path.join(cluster.work, "logs"))
    cluster.file("e.sbatch", "#! /bin/bash -l\n#\n# Standard output and error:\n#SBATCH -o ./logs/e.log\n#SBATCH -e ./logs/e-err.log\n"
                             "#SBATCH -D ./\n#SBATCH -J engines\n##SBATCH --array=0\n#SBATCH --gres=gpu:1 # number of GPUs\n"
                             "#SBATCH --ntasks=3\n#SBATCH --cpus-per-task=0.1 # cores\n#SBATCH --mem=100MB\n#SBATCH --time=120:10:00\n"
                             "srun sh -c 'echo engine; echo $SLURM_PROCID >&2'\n")
    number = cluster.slurm("sbatch", "--parsable", "e.sbatch").stdout.strip()
    job = cluster.api.wait_end(number)
    assert job["result"] == "ok" and job["memory"] == 100 and job["gpu_count"] == 1
    assert job["request"]["max_duration"] == (120 * 60 + 10) * 60
    assert read_file(os.path.join(cluster.work, "logs/e.log")) == "engine\n" * 3
    assert sorted(read_file(os.path.join(cluster.work, "logs/e-err.log")).split()) == ["0", "1", "2"]


def test_script_5_workers_with_a_gpu_each(cluster):
    cluster.file("w.sh", "#!/bin/bash\n#SBATCH --time 2-00:00\n#SBATCH --job-name max24hrs\n#SBATCH --array 0-1%1\n#SBATCH --error e-%a\n"
                         "#SBATCH --output o-%a\n#SBATCH --gres=gpu:4\n#SBATCH -c 1\n#SBATCH --mem-per-cpu 100\n"
                         "for i in $(seq 1 4); do\n"
                         "srun --ntasks 1 --cpus-per-task 1 --gres=gpu:1 --exclusive sh -c 'echo $SLURM_ARRAY_TASK_ID $CUDA_VISIBLE_DEVICES' &\n"
                         "done\nwait\n")
    array = cluster.slurm("sbatch", "--parsable", "w.sh").stdout.strip()
    assert [job["result"] for job in wait_for_array(cluster, array)] == ["ok", "ok"]
    for index in range(2):
        lines = read_file(os.path.join(cluster.work, "o-%d" % index)).splitlines()
        assert len(lines) == 4 and all(re.fullmatch(r"%d GPU-[^,]+" % index, line) for line in lines), lines


def test_script_6_a_folder_of_results(cluster):
    cluster.file("s.sh", "#!/bin/bash -l\n################ Part-1 ################\n## Working dir\n#SBATCH -D %s\n#SBATCH --export=ALL\n"
                         "#SBATCH -o job-%%j.output\n#SBATCH -e job-%%j.error\n#SBATCH -J serial-test\n#SBATCH --time=00:05:00\n"
                         "#SBATCH --mem=100\n################ Part-2 ################\n"
                         "RESULTS_DIR=\"$(pwd)/${SLURM_JOB_NAME}-outputs/${SLURM_JOB_ID}\"\nmkdir -p \"$RESULTS_DIR\"\n"
                         "echo $GREETING > \"$RESULTS_DIR/out\"\n" % cluster.work)
    number = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "s.sh", GREETING="hello").stdout.strip()
    assert cluster.api.wait_end(number)["result"] == "ok"
    assert read_file(os.path.join(cluster.work, "serial-test-outputs", number, "out")) == "hello\n"


def test_script_7_is_fed_to_sbatch(cluster):
    first = cluster.slurm("sbatch", "--parsable", "-c", "0.1", "--wrap", "true").stdout.strip()
    said = cluster.slurm("sbatch", stdin="#!/bin/sh\n#SBATCH --array               3-4\n#SBATCH --cpus-per-task       0.1\n"
                         "#SBATCH --dependency          after:%s,afterok:%s\n#SBATCH --ignore-pbs\n#SBATCH --job-name            name\n"
                         "#SBATCH --output              %%A_%%a.out\n#SBATCH --time                1-02:03:04\n"
                         "echo demo $SLURM_ARRAY_TASK_ID\n" % (first, first))
    array = said.stdout.split()[-1]
    assert [job["name"] for job in wait_for_array(cluster, array)] == ["name", "name"]
    assert read_file(os.path.join(cluster.work, array + "_3.out")) == "demo 3\n"


@pytest.mark.parametrize("lines, name", [
    ("--ntasks=1\n--mem=32G\n-p gpu\n--mail-type=END,TIME_LIMIT_80\n--tmp=8G", "--tmp"),
    ("--nodes=2\n--ntasks-per-node=4\n--gpus-per-node=4", "--nodes"),
    ("--ntasks-per-node=4\n--gpus-per-node=4\n--signal=B:SIGSTOP@120", "--signal"),
    ("--ntasks=4\n--gres=gpu:4\n--gres-flags=enforce-binding", "--gres-flags"),
    ("--ntasks=1\n--gres=gpu:1\n--hint=nomultithread\n--array=0-99", "--hint"),
])
def test_scripts_8_and_9_are_refused_by_name(cluster, lines, name):
    cluster.file("x.sh", "#!/bin/bash\n" + "".join("#SBATCH %s\n" % line for line in lines.splitlines()) + "srun true\n")
    said = cluster.slurm("sbatch", "x.sh", status=1)
    assert re.match(r"sbatch: error: x\.sh:\d+: %s\b" % name, said.stderr) and said.stdout == "", said.stderr
