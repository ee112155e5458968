# SPDX-License-Identifier: Apache-2.0
"""Programs of others that work with tarn, as they come from PyPI. Skipped where they cannot be had."""

import json
import os
import subprocess

import pytest

import pypi
import tarn_test
from tarn_test import PATIENCE_S, TARN

ROOT = os.path.abspath(os.path.join(tarn_test.HERE, "..", ".."))
PACKAGES = ["mcp==2.3.0", "submitit==1.5.4", "hydra-core==1.3.8", "hydra-submitit-launcher==1.2.0", "snakemake==9.27.1"]


def install(name, *packages):
    """The folder with a Python that has the packages, and that of tarn as its wheel installs it."""
    folder, why = pypi.install(name, *packages)
    if folder is None:
        pytest.skip("the packages cannot be installed: " + why)
    made = tarn_test.make_folder()
    for command in ([os.path.join(ROOT, "tools", "wheel"), made],
                    [os.path.join(folder, "pip"), "install", "-q", "--no-index", "--no-deps", "--force-reinstall", "--find-links", made, "tarn"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        if done.returncode != 0:
            pytest.skip("the wheel cannot be installed: " + done.stdout[-500:])
    tarn_test.remove_folder(made)
    return folder


@pytest.fixture(scope="session")
def programs():
    return install("plugins", *PACKAGES)


class Programs:
    def __init__(self, folder, daemon):
        self.folder = folder
        self.daemon = daemon

    def run(self, source, *words, status=0, **more):
        """A program of this text, which jobs can import; its output, or what it says of a failure that is expected."""
        path = os.path.join(self.daemon.root, "program.py")
        with open(path, "w") as file:
            file.write(source)
        environment = dict(self.daemon.own_environment(), TARN_SOCKET=self.daemon.socket, **self.daemon.env(**more))
        environment["PATH"] = os.path.dirname(TARN) + os.pathsep + environment["PATH"]
        done = subprocess.run([os.path.join(self.folder, "python"), path, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=self.daemon.root, env=environment, timeout=PATIENCE_S * 4)
        assert done.returncode == status, done.stdout[-3000:] + done.stderr[-6000:]
        return done.stderr if status else done.stdout


@pytest.fixture
def run(programs, daemon):
    return Programs(programs, daemon).run


# ---- the Model Context Protocol ----

MCP = """
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command="tarn", args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server), mode=sys.argv[1]) as client:
        tools = (await client.list_tools()).tools
        preview = json.loads((await client.call_tool("submit", {"run": "echo said", "gpus": 1})).content[0].text)
        done = await client.call_tool("submit", {"run": "echo said", "gpus": 1, "confirm": preview["confirm"]})
        wrong = await client.call_tool("job", {"job": "99"})
        print(json.dumps({"version": client.protocol_version, "tools": [tool.name for tool in tools],
                          "submitted": json.loads(done.content[0].text)["submitted"][0]["id"], "is_error": wrong.is_error,
                          "wrong": wrong.content[0].text}))

asyncio.run(main())
"""


@pytest.mark.parametrize("mode, version", [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_client_of_mcp_uses_the_tools(run, api, mode, version):
    said = json.loads(run(MCP, mode))
    assert said["version"] == version
    assert {"jobs", "why", "submit", "cancel"} <= set(said["tools"])
    assert api.get("/v1/jobs/%d" % said["submitted"])["gpus"] == "1"
    assert said["is_error"] and "99" in said["wrong"]


# ---- submitit ----

SUBMITIT = """
import os, sys, time, submitit

def add(left, right):
    print("adding", left, right)
    return left + right

def place():
    env = submitit.JobEnvironment()
    return env.cluster, env.global_rank, env.num_tasks, os.environ["TARN_GPU_COUNT"]

def fail():
    raise ValueError("as expected")

class Counter:
    # Waits until it was stopped once, and goes on with what it had then.
    def __init__(self):
        self.seen = 0

    def __call__(self):
        self.seen += 1
        open("running", "w").close()
        while self.seen < 2:
            time.sleep(0.05)
        return self.seen

    def checkpoint(self):
        return submitit.helpers.DelayedSubmission(self)

if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder=sys.argv[1], cluster="tarn")
    executor.update_parameters(timeout_min=10, cpus_per_task=1, mem_gb=1, tarn_priority=-3)
"""


def test_submitit_runs_functions_as_jobs(run, api):
    said = run(SUBMITIT + """
    job = executor.submit(add, 2, 3)
    print(job.result(), job.job_id, job.stdout().count("adding 2 3"))
    print([job.result() for job in executor.map_array(add, [1, 2, 3], [10, 20, 30])])
""", "runs/%j").splitlines()
    assert said == ["5 1 1", "[11, 22, 33]"]
    job = api.get("/v1/jobs/1")
    assert job["priority"] == -3 and job["request"]["max_duration"] == 600 and job["memory"] == 1024


def test_a_job_of_submitit_with_several_tasks_is_a_gang(run):
    said = run(SUBMITIT + """
    executor.update_parameters(tasks_per_node=2, gpus_per_node=4)
    print(sorted(executor.submit(place).results()))
    executor.update_parameters(gpus_per_node=3)
    try:
        executor.submit(place)
    except ValueError as failure:
        print(failure)
""", "runs").splitlines()
    assert said == ["[('tarn', 0, 2, '2'), ('tarn', 1, 2, '2')]",
                    "gpus_per_node=3: expected a multiple of tasks_per_node=2; each task has GPUs of its own"]


def test_failures_come_back_to_submitit(run):
    said = run(SUBMITIT + """
    try:
        executor.submit(fail).result()
    except submitit.core.utils.FailedJobError as failure:
        print("as expected" in str(failure))
    job = executor.submit(time.sleep, 600)
    job.cancel()
    while not job.done(force_check=True):
        time.sleep(0.05)
    print(job.state)
    try:
        executor.update_parameters(tarn_colour="red")
    except NameError as failure:
        print("Unknown argument 'colour'" in str(failure))
""", "runs").splitlines()
    assert said == ["True", "CANCELLED", "True"]


def test_a_job_of_submitit_that_is_stopped_goes_on_from_its_checkpoint(run):
    said = run(SUBMITIT + """
    import tarn
    job = executor.submit(Counter())
    while not os.path.exists("running"):
        time.sleep(0.05)
    with tarn.Client() as client:
        client.requeue(job.job_id)
    print(job.result())
""", "runs").splitlines()
    assert said == ["2"]


# ---- Hydra ----

HYDRA = """
import hydra, os, submitit

@hydra.main(version_base=None, config_path=None)
def main(config):
    print("lr", config.lr, "job", submitit.JobEnvironment().job_id)
    return float(config.lr)

main()
"""


def test_hydra_launches_its_sweep_as_jobs(run, api):
    run(HYDRA, "-m", "hydra/launcher=tarn", "+lr=0.1,0.01", "hydra.sweep.dir=sweep", "hydra.launcher.gpus_per_node=1",
        "hydra.launcher.priority=-3")
    jobs = [api.get("/v1/jobs/%d" % job["id"]) for job in api.get("/v1/jobs?all=1")["jobs"]]
    assert [(job["name"], job["gpus"], job["priority"], job["result"]) for job in jobs] == [("program", "1", -3, "ok")] * 2


# ---- Snakemake ----

SNAKEFILE = """
rule all:
    input: "sum"

rule number:
    output: "number.{value}"
    resources: mem_mb=512, runtime=30, gpu=1, tarn_priority=-3
    shell: "echo {wildcards.value} > {output}"

rule add:
    input: "number.1", "number.2"
    output: "sum"
    shell: "cat {input} | awk '{{ sum += $1 }} END {{ print sum }}' > {output}"

rule fail:
    output: "never"
    shell: "echo told; false"

rule large:
    output: "large"
    resources: gpu=99
    shell: "touch {output}"
"""


@pytest.fixture
def snakemake(run, daemon):
    with open(os.path.join(daemon.root, "Snakefile"), "w") as file:
        file.write(SNAKEFILE)

    def call(*words, status=0):
        return run("import sys; from snakemake.cli import main; main()", "--executor", "tarn", "--jobs", "4",
                   "--seconds-between-status-checks", "1", *words, status=status)

    return call


def test_snakemake_runs_its_rules_as_jobs(snakemake, daemon, api):
    snakemake("--latency-wait", "10")
    with open(os.path.join(daemon.root, "sum")) as file:
        assert file.read() == "3\n"
    jobs = [api.get("/v1/jobs/%d" % job["id"]) for job in api.get("/v1/jobs?all=1")["jobs"]]
    assert [(job["name"], job["result"], job["cpus"], job["gpus"], job["priority"]) for job in jobs] == [
        ("number", "ok", 1, "1", -3), ("number", "ok", 1, "1", -3), ("add", "ok", 1, "", 0)]
    assert jobs[0]["memory"] == 512 and jobs[0]["request"]["max_duration"] == 1800


def test_a_group_of_snakemake_is_one_job(snakemake, api):
    snakemake("--groups", "number=numbers", "add=numbers", "--latency-wait", "10", "--group-components", "numbers=1")
    [job] = api.get("/v1/jobs?all=1")["jobs"]
    job = api.get("/v1/jobs/%d" % job["id"])
    assert (job["result"], job["cpus"], job["gpus"]) == ("ok", 2, "2")


def test_snakemake_reports_the_failure_of_a_job(programs, snakemake, api):
    assert "refused: " in snakemake("large", status=1)
    assert "job 1 failed, exit status 1; tarn logs 1 shows its output" in snakemake("never", status=1)
    assert api.get("/v1/jobs/1")["result"] == "failed"


# ---- Airflow ----

AIRFLOW = """
import datetime, subprocess, sys, threading, time, tarn
from airflow.exceptions import AirflowException
from airflow.sdk import DAG
from tarn.airflow import TarnOperator

with DAG("days", start_date=datetime.datetime(2026, 1, 1), schedule=None) as dag:
    first = TarnOperator(task_id="first", command="printf 'day {{ params.day }}'; exit {{ params.status }}",
                         job={"gpus": 1, "name": "of-{{ params.day }}"}, params={"day": "monday", "status": 0})
    first >> TarnOperator(task_id="second", command=["sh", "-c", "exit 3"])

if __name__ == "__main__":
    subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, stdout=subprocess.DEVNULL)
    print({task.task_id: str(task.state) for task in dag.test().get_task_instances()})
    operator = TarnOperator(task_id="long", command="sleep 600")
    failures = []

    def execute():
        try:
            operator.execute({})
        except AirflowException as failure:
            failures.append(str(failure))

    thread = threading.Thread(target=execute)
    thread.start()
    with tarn.Client() as client:
        while not any(job.name == "long" and job.state == "running" for job in client.list()):
            time.sleep(0.05)
    operator.on_kill()
    thread.join()
    print(failures)
"""


def test_airflow_runs_a_task_as_a_job(daemon, api):
    folder = install("airflow", "apache-airflow==3.1.3")
    home = os.path.join(daemon.root, "airflow")
    os.makedirs(os.path.join(home, "dags"))
    said = Programs(folder, daemon).run(AIRFLOW, AIRFLOW_HOME=home, AIRFLOW__CORE__LOAD_EXAMPLES="False", AIRFLOW__CORE__DAGS_FOLDER=daemon.root)
    assert "{'first': 'success', 'second': 'failed'}" in said and "day monday" in said
    assert "job 2 failed, exit status 3" in said and "['job 3 cancelled" in said
    jobs = api.get("/v1/jobs?all=1")["jobs"]
    assert [(job["name"], job["gpus"], job["result"]) for job in jobs] == [
        ("of-monday", "1", "ok"), ("second", "", "failed"), ("long", "", "cancelled")]
