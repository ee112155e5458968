# SPDX-License-Identifier: Apache-2.0
"""Parts of GPUs in the mode `job` on a real Slurm, which offers them as shards, by MPS, or as GPUs of their own (MIG)."""
import os
import random
import re

import pytest

import slurm_cluster
from tarn_test import Refused, read_file, wait_until

REASON = slurm_cluster.missing_engine()
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")


def started(**keys):
    cluster = slurm_cluster.Cluster(nodes=1, **keys)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def shards():
    yield from started(parts={"shard": 4})


@pytest.fixture(scope="module")
def mps():
    yield from started(parts={"mps": 100})


@pytest.fixture(scope="module")
def instances():
    yield from started(models={"h100": 2, "h100_1g.10gb": 2})


@pytest.fixture
def start(make_daemon):
    daemons = []

    def start(cluster):
        daemon = make_daemon(devices="none")
        slurm_cluster.start_daemon(daemon, cluster, "job")
        daemons.append(daemon)
        return daemon

    yield start
    for daemon in daemons:
        slurm_cluster.end_jobs(daemon, daemon.cluster)


def submit(daemon, run, **keys):
    return daemon.api.submit(run=run, sender_env={"PATH": "/usr/bin:/bin"}, **keys)


def gres_of(daemon, number):
    """What Slurm gave a job of tarn that runs: ("shard:2", the index of the GPU)."""
    instance = read_file(os.path.join(daemon.state, "slurm-instance"))
    slurm = next(key for key, comment in daemon.cluster.jobs().items() if comment.startswith(f"tarn={instance}/{number}."))
    return re.search(r" GRES=([^(]*)\(IDX:([0-9]+)\)", daemon.cluster.run("scontrol", "-d", "show", "job", slurm)).groups()


def gpus_of(daemon, number):
    return [(gpu["index"], round(1000 * gpu["share"])) for gpu in daemon.api.job(number)["devices"]]


def run_until(daemon, *numbers):
    for number in numbers:
        daemon.api.wait_state(number, "running")


def check(daemon, number, gres, milli):
    """The lease is what Slurm gave it."""
    found, index = gres_of(daemon, number)
    assert found == gres
    wait_until("the lease follows", lambda: gpus_of(daemon, number) == [(int(index), milli)])


def test_parts_are_shards_on_the_gpus_that_slurm_chose(start, shards, tmp_path):
    daemon = start(shards)
    wishes = {"0.25": ("shard:1", 250), "0.9": ("gpu:h100:1", 1000), "0.5": ("shard:2", 500), "0.7": ("shard:3", 750)}
    numbers = {wish: submit(daemon, f"echo $CUDA_VISIBLE_DEVICES > {tmp_path}/{wish}; sleep 1000", gpus=wish) for wish in wishes}
    run_until(daemon, *numbers.values())
    for wish, (gres, milli) in wishes.items():
        check(daemon, numbers[wish], gres, milli)
        wait_until("it has said which GPU it sees", lambda: os.path.exists(f"{tmp_path}/{wish}") and read_file(f"{tmp_path}/{wish}").strip())
        assert read_file(f"{tmp_path}/{wish}").strip() == gres_of(daemon, numbers[wish])[1]
    whole = submit(daemon, "sleep 1000", gpus="1")
    run_until(daemon, whole)
    daemon.verify()


def test_no_gpu_has_more_parts_than_slurm_divides_it_into(start, shards):
    daemon = start(shards)
    numbers = [submit(daemon, "sleep 1000", gpus="0.3") for _ in range(9)]  # two shards each
    run_until(daemon, *numbers[:8])
    assert daemon.api.job(numbers[8])["state"] == "queued"
    for number in numbers[:8]:
        check(daemon, number, "shard:2", 500)
    daemon.api.post(f"/v1/jobs/{numbers[3]}/cancel")
    run_until(daemon, numbers[8])
    check(daemon, numbers[8], "shard:2", 500)
    daemon.verify()


def test_leases_follow_whatever_slurm_chooses(start, shards):
    """Jobs come and go, so that tarn and Slurm choose differently among GPUs that are partly free."""
    daemon = start(shards)
    luck, running = random.Random(1), {}
    for _ in range(25):
        if len(running) > 6 or (running and luck.random() < 0.4):
            number = luck.choice(sorted(running))
            del running[number]
            daemon.api.post(f"/v1/jobs/{number}/cancel")
            daemon.api.wait_end(number)
            continue
        shards_wanted = luck.choice([1, 1, 2, 3])
        if sum(running.values()) >= 4 * (5 - shards_wanted):  # then each GPU may have too few left
            continue
        number = submit(daemon, "sleep 1000", gpus=str(shards_wanted / 4))
        running[number] = shards_wanted
        run_until(daemon, number)
        check(daemon, number, f"shard:{shards_wanted}", shards_wanted * 250)
    for number, wanted in running.items():
        check(daemon, number, f"shard:{wanted}", wanted * 250)
    daemon.verify()


def test_a_gpu_that_others_share_gets_no_part(start, shards):
    daemon = start(shards)
    other = shards.run("sbatch", "--parsable", "--gres=shard:3", "-o", "/dev/null", "--wrap", "sleep 1000").strip()
    wait_until("tarn sees it", lambda: [gpu["sick"] for gpu in daemon.api.get("/v1/gpus")["gpus"] if gpu["sick"]]
               == [f"in use by Slurm job {other}"])
    numbers = [submit(daemon, "sleep 1000", gpus="0.5") for _ in range(7)]
    run_until(daemon, *numbers[:6])
    assert daemon.api.job(numbers[6])["state"] == "queued"
    shards.run("scancel", other)
    run_until(daemon, numbers[6])
    daemon.verify()


def test_parts_are_known_after_a_restart(start, shards):
    daemon = start(shards)
    number = submit(daemon, "sleep 1000", gpus="0.5")
    run_until(daemon, number)
    daemon.kill()
    daemon.start()
    later = submit(daemon, "sleep 1000", gpus="0.5")
    run_until(daemon, later)
    check(daemon, number, "shard:2", 500)
    check(daemon, later, "shard:2", 500)
    daemon.verify()


def test_what_the_shards_do_not_offer_is_refused(start, shards):
    daemon = start(shards)
    for words, keys in (("no node offers gres.mps", {"gpus": "mps=50%"}), ("no GPU has this name", {"gpus": "mig=1g.10gb"}),
                        ("parts of GPUs for a gang", {"gpus": "0.5", "ranks": 2}), ("the memory of such GPUs is not known", {"gpus": "mem=20G"})):
        with pytest.raises(Refused, match=words):
            submit(daemon, "true", **keys)


def test_shares_by_mps_and_parts_are_slurms_mps(start, mps):
    daemon = start(mps)
    share = submit(daemon, "sleep 1000", gpus="mps=30%")
    part = submit(daemon, "sleep 1000", gpus="0.5")
    run_until(daemon, share, part)
    check(daemon, share, "mps:30", 300)
    check(daemon, part, "mps:50", 500)
    whole = submit(daemon, "sleep 1000", gpus="1")
    run_until(daemon, whole)
    assert gpus_of(daemon, whole)[0][0] != gpus_of(daemon, share)[0][0]
    daemon.verify()


def test_mig_instances_are_gpus_of_their_model(start, instances):
    daemon = start(instances)
    instance = submit(daemon, "sleep 1000", gpus="mig=1g.10gb")
    whole = submit(daemon, "sleep 1000", gpus="h100:2")
    run_until(daemon, instance, whole)
    assert gres_of(daemon, instance)[0] == "gpu:h100_1g.10gb:1"
    assert gpus_of(daemon, whole) == [(0, 1000), (1, 1000)]
    both = submit(daemon, "sleep 1000", gpus="mig=1g.10gb:2")
    assert daemon.api.job(both)["state"] == "queued"
    daemon.api.post(f"/v1/jobs/{instance}/cancel")
    run_until(daemon, both)
    assert gpus_of(daemon, both) == [(2, 1000), (3, 1000)]
    with pytest.raises(Refused, match="no node offers gres.shard or gres.mps"):
        submit(daemon, "true", gpus="0.5")
    daemon.verify()
