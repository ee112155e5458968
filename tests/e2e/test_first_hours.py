# SPDX-License-Identifier: Apache-2.0
"""What people meet with their first jobs."""

import json

import pytest

from test_cli import opened
from test_slurm import Cluster


@pytest.fixture
def cluster():
    with opened(Cluster) as shell:
        yield shell


NAMES = {
    "python -u train.py --lr 1": "train.py",
    "python3.11 -m pkg.train": "pkg.train",
    "python -W ignore train.py": "train.py",
    "python -c pass": "python",
    "python": "python",
    "torchrun --standalone --nproc-per-node 2 train.py": "train.py",
    "python -m torch.distributed.run --nproc_per_node 2 train.py": "train.py",
    "accelerate launch --num_processes 2 --multi_gpu train.py": "train.py",
    "accelerate config": "accelerate",
    "mpirun -np 2 ./solve": "solve",
    "srun -n 2 -l python train.py": "train.py",
    "nice -n 10 python train.py": "train.py",
    "nice -n10 ./x": "x",
    "timeout -k 5 10 ./x": "x",
    "taskset -c 0-3 ./x": "x",
    "numactl --cpunodebind 0 ./x": "x",
    "env A=1 B=2 python3 train.py": "train.py",
    "stdbuf -oL ./x": "x",
    "uv run --frozen train.py": "train.py",
    "uv pip": "uv",
    "conda run -n env python train.py": "train.py",
    "apptainer exec --nv img.sif python train.py": "train.py",
    "sh -c ./x": "sh",
}


@pytest.mark.parametrize("words", sorted(NAMES))
def test_a_job_is_named_after_its_program_and_not_its_launcher(cluster, words):
    reply = json.loads(cluster.run("submit", "--dry-run", "--json", "--", *words.split()).stdout)
    assert reply["submitted"][0]["name"] == NAMES[words]


def test_a_command_that_is_missing_ends_with_127(cluster):
    cluster.run("run", "-q", "-c", "0.1", "--", "no-such-program", status=127)
    cluster.run("run", "-q", "-c", "0.1", "--", "/no/such/program", status=127)
    cluster.file("text", "no program")
    cluster.run("run", "-q", "-c", "0.1", "--", "./text", status=126)


def test_output_into_a_folder_that_is_missing_is_refused_at_once(cluster):
    for option in ("-o", "-e"):
        assert "gone: No such file or directory" in cluster.run("submit", option, "gone/x", "--", "true", status=1).stderr
    assert "gone: No such file or directory" in cluster.slurm("sbatch", "-o", "gone/%j", "--wrap", "true", status=1).stderr
    cluster.run("run", "-q", "-c", "0.1", "-o", "x", "--", "true")


def test_mail_that_cannot_be_sent_is_a_warning(cluster):
    done = cluster.slurm("sbatch", "-c", "0.1", "-W", "--mail-type=END", "--wrap", "true")
    assert "notify: there is no way to tell users" in done.stderr


def test_synthetic_gpus_are_named_at_the_start(cluster):
    assert "the GPUs are synthetic" in cluster.run("run", "-c", "0.1", "--", "true").stderr
    assert "the GPUs are synthetic" not in cluster.run("run", "-c", "0.1", "--", "true").stderr
