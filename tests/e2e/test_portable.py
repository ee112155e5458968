# SPDX-License-Identifier: Apache-2.0
"""The archive and the wheel with programs, in fresh systems; and what works with tarn, installed beside the wheel.

Slow: tools/portable builds libraries the first time, with a compiler from PyPI; debootstrap downloads base systems."""

import os
import re
import subprocess
import tarfile

import pytest

import tarn_test
from fresh_root import ROOT, check_job, need, run

GLIBC = (2, 28)
SYSTEM = re.compile(r"^(linux-vdso\.so\.1|lib(c|m|dl|rt|pthread|resolv)\.so\.\d|ld-linux\S*)$")
PROGRAMS = ["tarn", "tarnd", "src/cli/tls/tarn-tls"]


@pytest.fixture(scope="session")
def portable():
    """The folder of tools/portable."""
    need("meson", "ninja", "dpkg-source", "strip", "objdump", "make")
    if tarn_test.is_sanitized():
        pytest.skip("a sanitized build is not packaged")
    folder = os.path.join(tarn_test.BUILD, "portable")
    done = subprocess.run([os.path.join(ROOT, "tools", "portable"), folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3000)
    if done.returncode != 0 and not os.path.exists(os.path.join(folder, "libraries", "recipe")) and re.search("(zig|fetch).log", done.stdout):
        pytest.skip("the compiler or the libraries cannot be had: " + done.stdout[-500:])
    assert done.returncode == 0, done.stdout
    return folder


@pytest.fixture(scope="session")
def archive(portable, roots):
    return run(os.path.join(ROOT, "tools", "tarball"), tarn_test.BUILD, portable, roots).strip()


@pytest.fixture(scope="session")
def wheel(portable, roots):
    return run(os.path.join(ROOT, "tools", "wheel"), roots, tarn_test.BUILD, portable).strip()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_needs_nothing_but_an_older_glibc(portable, name):
    path = os.path.join(portable, "program", name)
    needed = re.findall(r"NEEDED\s+(\S+)", run("objdump", "-p", path))
    assert needed and all(SYSTEM.match(library) for library in needed), needed
    versions = re.findall(r"\(GLIBC_([0-9.]+)\)", run("objdump", "-T", path))
    assert max(tuple(map(int, version.split("."))) for version in versions) <= GLIBC, versions


def test_the_supervisor_is_static():
    assert "NEEDED" not in run("objdump", "-p", os.path.join(tarn_test.BUILD, "src", "shim", "tarn-shim"))


def test_the_licence_of_each_library_is_in_the_archive(archive):
    with tarfile.open(archive) as file:
        names = {os.path.basename(name) for name in file.getnames()}
    assert {"gnutls28.copyright", "libgmp-dev.copyright", "curl.copyright", "libtinfo6.copyright"} <= names


@pytest.mark.parametrize("system", ["base", "old"])
def test_the_archive_runs_where_no_library_is_installed(request, archive, system):
    root = request.getfixturevalue(system).copy("-archive")
    with tarfile.open(archive) as file:
        file.extractall(os.path.join(root.path, "opt"))
    name = os.path.basename(archive).replace(".tar.xz", "")
    root.run("mv /opt/%s /opt/moved; ln -s /opt/moved/bin/tarn /usr/bin/tarn" % name)
    check_job(root, "tarn")
    said = root.run("tarn run --devices synthetic:h100:2 -- sh -c 'squeue --noheader | wc -l'; tarn down 2>/dev/null; tarn serve --engine kube || true")
    assert re.search("^1$", said, re.M), said
    assert "engine 'kube': expected local or a module: tarn-engine-kube.so: not found" in said


def make_python(root, *packages):
    """A virtual environment with these packages from PyPI, or skip."""
    try:
        root.install("python3-venv")
        root.run("python3 -m venv /opt/python; /opt/python/bin/pip install -q --disable-pip-version-check " + " ".join(packages))
    except AssertionError as failure:
        if "No matching distribution" in str(failure) or "Could not fetch URL" in str(failure):
            pytest.skip("PyPI cannot be reached: " + str(failure)[-300:])
        raise
    return root


@pytest.mark.parametrize("system", ["base", "old"])
def test_the_wheel_brings_the_programs(request, wheel, system):
    root = request.getfixturevalue(system).copy("-wheel")
    make_python(root, "--no-index", *root.put(wheel))
    check_job(root, "/opt/python/bin/tarn")
    said = root.run("export PATH=/opt/python/bin:$PATH TARN_DEVICES=synthetic:h100:2\n"
                    "python -c 'import tarn; client = tarn.Client(); print(client.wait(client.submit(\"true\", gpus=1)).outcome)'; tarn down 2>/dev/null")
    assert said.splitlines()[-1] == "ok", said


def test_uv_installs_it_as_a_tool(base, wheel):
    root = make_python(base.copy("-uv"), "uv")
    [path] = root.put(wheel)
    root.run("/opt/python/bin/uv tool install --no-index --python /usr/bin/python3 " + path)
    check_job(root, "/root/.local/bin/tarn")


# ---- programs of others, beside the wheel ----

SUBMITIT = """
import submitit

def add(left, right):
    return left + right

if __name__ == "__main__":
    executor = submitit.AutoExecutor(folder="runs", cluster="tarn")
    executor.update_parameters(timeout_min=10, gpus_per_node=1)
    print("result", executor.submit(add, 2, 3).result())
"""

HYDRA = """
import hydra

@hydra.main(version_base=None, config_path=None)
def main(config):
    with open("/root/lr." + str(config.lr), "w") as file:
        file.write("ran")

main()
"""

SNAKEFILE = """
rule number:
    output: "number"
    resources: gpu=1
    shell: "echo $TARN_GPU_COUNT > {output}"
"""

MCP = """
import asyncio, json, os
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command="tarn", args=["mcp"], env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        job = {"run": "true", "gpus": 1}
        preview = json.loads((await client.call_tool("submit", job)).content[0].text)
        done = json.loads((await client.call_tool("submit", {**job, "confirm": preview["confirm"]})).content[0].text)
        print("submitted", done["submitted"][0]["id"])

asyncio.run(main())
"""

AIRFLOW = """
import datetime
from airflow.sdk import DAG
from tarn.airflow import TarnOperator

with DAG("days", start_date=datetime.datetime(2026, 1, 1), schedule=None) as dag:
    TarnOperator(task_id="first", command="test $TARN_GPU_COUNT = 1", job={"gpus": 1})

if __name__ == "__main__":
    print({task.task_id: str(task.state) for task in dag.test().get_task_instances()})
"""

# What it is, what is installed, its program, how it is run, what is then said, and the results of tarn's jobs.
ADAPTERS = {
    "submitit": (["submitit==1.5.4"], SUBMITIT, "python program.py", "result 5", ["ok"]),
    "hydra": (["hydra-core==1.3.8", "submitit==1.5.4", "hydra-submitit-launcher==1.2.0"], HYDRA,
              "python program.py -m hydra/launcher=tarn +lr=1,2 hydra.launcher.gpus_per_node=1; echo $(cat lr.1 lr.2)", "ranran", ["ok", "ok"]),
    "snakemake": (["snakemake==9.27.1"], SNAKEFILE,
                  "snakemake -s program.py --executor tarn --jobs 1 --latency-wait 10; echo has $(cat number)", "has 1", ["ok"]),
    "mcp": (["mcp==2.3.0"], MCP, "tarn run -- true; python program.py; tarn wait 2", "submitted 2", ["ok", "ok"]),
    "airflow": (["apache-airflow==3.1.3"], AIRFLOW,
                "export AIRFLOW_HOME=/root/airflow AIRFLOW__CORE__LOAD_EXAMPLES=False AIRFLOW__CORE__DAGS_FOLDER=/root\n"
                "python -m airflow db migrate >/dev/null 2>&1; python program.py", "{'first': 'success'}", ["ok"]),
}


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_is_installed_beside_the_wheel_runs_a_job(base, wheel, name):
    packages, program, command, words, results = ADAPTERS[name]
    root = make_python(base.copy("-" + name), *packages)
    root.run("/opt/python/bin/pip install -q --no-index " + root.put(wheel)[0])
    with open(os.path.join(root.path, "root", "program.py"), "w") as file:
        file.write(program)
    said = root.run("cd /root; export PATH=/opt/python/bin:$PATH TARN_DEVICES=synthetic:h100:2\n" + command + "\n"
                    "tarn ls --all --json | python -c 'import json, sys; print([job[\"result\"] for job in json.load(sys.stdin)[\"jobs\"]])'\n"
                    "tarn down 2>/dev/null")
    assert words in said and said.rstrip().splitlines()[-1] == str(results), said
