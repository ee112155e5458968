# SPDX-License-Identifier: Apache-2.0
"""A gang of PyTorch (DistributedDataParallel, gloo) that trains over two nodes of a real Slurm, in both modes of the engine slurm."""
import subprocess

import pytest

import slurm_cluster

REASON = slurm_cluster.missing_engine()
if not REASON and subprocess.run(["/usr/bin/python3", "-c", "import torch.distributed"], stderr=subprocess.DEVNULL).returncode != 0:
    REASON = "python3-torch is not installed"
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")

# Each rank has data of its own; one model comes of all of it.
DDP = """
import os, torch
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
truth = torch.arange(8.0)
for step in range(200):
    data = torch.randn(32, 8)
    loss = ((model(data).squeeze() - data @ truth) ** 2).mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
found = [torch.zeros(8) for _ in range(dist.get_world_size())]
dist.all_gather(found, model.module.weight.detach().squeeze())
assert all(torch.equal(found[0], other) for other in found), "the ranks have different models"
assert torch.allclose(found[0], truth, atol=0.1), found[0]
print("trained", dist.get_rank(), "of", dist.get_world_size(), "at", os.environ["MASTER_ADDR"], "on", os.environ["SLURMD_NODENAME"])
"""


@pytest.fixture(scope="module")
def cluster():
    cluster = slurm_cluster.Cluster(nodes=2)  # of two kinds, because their features differ
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.parametrize("mode", ["job", "allocation"])
def test_a_gang_of_pytorch_trains_over_two_nodes(make_daemon, cluster, tmp_path, mode):
    daemon = make_daemon(devices="none")
    slurm_cluster.start_daemon(daemon, cluster, mode, **({"max": 2} if mode == "allocation" else {}))
    (tmp_path / "ddp.py").write_text(DDP)
    number = daemon.api.submit(run=f"exec /usr/bin/python3 {tmp_path}/ddp.py", gpus="3", nodes=2,
                               env={"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"},
                               sender_env=dict(daemon.env(), PATH="/usr/bin:/bin"))
    job = daemon.api.wait_end(number, 180)
    said = [daemon.api.output(number, rank=rank) for rank in (0, 1)]
    assert (job["result"], job["attempt"]) == ("ok", 1), said
    names = [words.split()[-1] for words in said]
    address = "127.0.0.%d" % (1 + int(names[0][1:]))  # NodeAddr
    assert said == [f"trained {rank} of 2 at {address} on {names[rank]}\n" for rank in (0, 1)] and names[0] != names[1]
    daemon.verify()
    slurm_cluster.end_jobs(daemon, cluster)
