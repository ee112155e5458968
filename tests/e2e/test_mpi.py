# SPDX-License-Identifier: Apache-2.0
"""MPI programs as tasks of srun, and under mpirun. Skipped where Open MPI (libopenmpi-dev, openmpi-bin) is not installed."""

import glob
import os
import shutil
import subprocess

import pytest

from tarn_test import BUILD
from test_cli import opened
from test_slurm import SMALL, Cluster

SERVER = os.path.join(BUILD, "src", "cli", "pmix", "tarn-pmix")

# Arguments: the rank that ends early, and how: "abort", "kill" or "exit", with a number.
PROGRAM = r"""
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char line[64];
    int rank, size, sum, mine;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int length = snprintf(line, sizeof(line), "rank %d of %d sum %d\n", rank, size, sum);
    if (write(1, line, (size_t)length) != length)
        return 1;
    if (argc == 4 && atoi(argv[1]) == rank) {
        if (strcmp(argv[2], "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, atoi(argv[3]));
        if (strcmp(argv[2], "kill") == 0)
            raise(atoi(argv[3]));
        _exit(atoi(argv[3]));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return argc == 2 ? atoi(argv[1]) : 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("mpicc") or not shutil.which("mpirun"):
        pytest.skip("Open MPI is not installed: libopenmpi-dev, openmpi-bin")
    folder = tmp_path_factory.mktemp("mpi")
    (folder / "sum.c").write_text(PROGRAM)
    subprocess.run(["mpicc", "-o", str(folder / "sum"), str(folder / "sum.c")], check=True)
    return str(folder / "sum")


@pytest.fixture
def cluster():
    with opened(Cluster) as shell:
        shell.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1",
                                 OMPI_MCA_mpi_yield_when_idle="1", TMPDIR=shell.work)
        yield shell


def needs_server():
    if not os.path.exists(SERVER):
        pytest.skip("tarn is built without PMIx: libpmix-dev is not installed")


def lines(count):
    return ["rank %d of %d sum %d" % (rank, count, count * (count + 1) // 2) for rank in range(count)]


def ranks(text):
    return sorted(line for line in text.splitlines() if line.startswith("rank"))


def test_tasks_of_srun_find_each_other(cluster, program):
    """By each name of the type, twice at a time in one job, without the environment of srun, and as a job of its own."""
    needs_server()
    _, text = cluster.batch(SMALL + "#SBATCH -n 3\n"
                            "for type in pmix pmix_v3 pmix_v4; do srun --mpi=$type %s; echo $?; done\n"
                            "SLURM_MPI_TYPE=pmix srun -n 2 %s; echo $?\n"
                            "srun --mpi=pmix -n 1 %s; echo $?\n" % (program, program, program))
    assert ranks(text) == sorted(3 * lines(3) + lines(2) + lines(1)) and text.count("\n0\n") == 5, text
    _, text = cluster.batch(SMALL + "#SBATCH -n 2\nsrun --overlap --mpi=pmix %s & srun --overlap --mpi=pmix %s; wait\n" % (program, program))
    assert ranks(text) == sorted(2 * lines(2)), text
    assert ranks(cluster.slurm("srun", "-n", "2", "-c", "0.1", "--mpi=pmix", program).stdout) == lines(2)
    assert glob.glob(os.path.join(cluster.work, "tarn-pmix*")) == []


def test_a_task_that_aborts_ends_its_step(cluster, program):
    needs_server()
    _, text = cluster.batch(SMALL + "#SBATCH -n 3\nsrun --mpi=pmix %s 1 abort 3; echo ended $?\n" % program)
    assert "task 1: called PMIx_Abort with status 3" in text and text.endswith("ended 3\n"), text
    assert "srun: terminating step" in text


def test_a_task_that_is_lost_ends_its_step(cluster, program):
    """The others would wait for it for ever; one that has called MPI_Finalize is waited for by none."""
    needs_server()
    _, text = cluster.batch(SMALL + "#SBATCH -n 3\n"
                            "srun --mpi=pmix %s 2 kill 9; echo ended $?\nsrun --mpi=pmix %s 0 exit 0; echo ended $?\n"
                            "srun --mpi=pmix %s 5; echo ended $?\n" % (program, program, program))
    assert [line for line in text.splitlines() if line.startswith("ended")] == ["ended 137", "ended 1", "ended 5"], text
    assert text.count("terminating step") == 2 and text.count("lost before PMIx_Finalize") == 2


def test_the_server_of_a_step_ends_with_it(cluster, program):
    """Also where srun is killed."""
    needs_server()
    _, text = cluster.batch(SMALL + "#SBATCH -n 2\nsrun --mpi=pmix sh -c 'touch up$SLURM_PROCID; exec sleep 1000' &\n"
                            "until [ -e up0 ] && [ -e up1 ]; do sleep 0.05; done\nls -d tarn-pmix*\nkill -9 $!\n"
                            "while ls -d tarn-pmix* 2>/dev/null; do sleep 0.05; done >/dev/null\necho gone\n")
    assert text.splitlines()[0].startswith("tarn-pmix") and text.splitlines()[-1] == "gone", text


def test_what_is_missing_for_mpi_is_named(cluster):
    os.mkdir(os.path.join(cluster.work, "lib"))
    cluster.file("lib/libpmix.so.2", "")
    why = ("libpmix.so.2 cannot be loaded; expected the library of OpenPMIx: apt-get install libpmix2" if os.path.exists(SERVER)
           else "tarn was built without PMIx; expected libpmix-dev for its build")
    _, text = cluster.batch(SMALL + "#SBATCH -n 2\nexport LD_LIBRARY_PATH=$PWD/lib\nsrun --mpi=pmix true; echo $?\n"
                            "srun -n 1 --mpi=pmix true; echo $?\n")
    assert text == "srun: error: --mpi=pmix: %s, or mpirun -np 2 instead of srun\n1\n0\n" % why


def test_types_of_mpi_that_tarn_has(cluster):
    assert cluster.slurm("srun", "--mpi=list").stdout == ("MPI plugin types are...\n\tnone\n\tpmix\n"
                                                          "specific pmix plugin versions available: pmix_v3,pmix_v4,pmix_v5\n")
    said = cluster.slurm("srun", "-n", "2", "--mpi=pmi2", "true", status=1).stderr
    assert said == "srun: error: --mpi=pmi2: not supported for several tasks; expected none or pmix, or mpirun -np 2 instead of srun\n"


def test_mpirun_starts_its_processes(cluster, program):
    """In a plain job, in a script of Slurm, and in each member of a gang."""
    words = ["mpirun", "-np", "2", program]
    assert ranks(cluster.out("run", "-q", "-c", "0.1", "--", *words)) == lines(2)
    _, text = cluster.batch(SMALL + "#SBATCH -n 2\n%s\n" % " ".join(words))
    assert ranks(text) == lines(2), text
    cluster.out("run", "-q", "--ranks", "2", "-c", "0.1", "-o", "rank-%t", "--", *words)
    for rank in range(2):
        with open(os.path.join(cluster.work, "rank-%d" % rank)) as file:
            assert ranks(file.read()) == lines(2)
