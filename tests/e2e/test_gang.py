# SPDX-License-Identifier: Apache-2.0
"""Gangs that live: elastic ones grow and shrink, a lost member heals the gang. Real processes, synthetic GPUs."""

import os
import signal
import subprocess
import sys

import pytest

from tarn_test import Refused, processes_with, wait_until

# Every member says who it is, and when it is asked to stop saves how far it has come.
MEMBER = """
trap 'echo rank $RANK of $WORLD_SIZE saved $n; exit 0' TERM
n=0
echo rank $RANK of $WORLD_SIZE attempt $TARN_ATTEMPT
while [ $n -lt 3000 ]; do n=$((n+1)); sleep 0.05; done
"""

# As torchrun's agents do it: all members meet at MASTER_ADDR:MASTER_PORT, sum up their ranks, and go on from the
# step that rank 0 saved. Without all of WORLD_SIZE no rank passes the barrier.
RENDEZVOUS = r"""
import os, signal, socket, sys, time
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
where = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])) if size > 1 else None
is_asked = []
signal.signal(signal.SIGTERM, lambda *a: is_asked.append(1))
def read(s, n):
    data = b""
    while len(data) < n:
        got = s.recv(n - len(data))
        if not got: raise EOFError
        data += got
    return data
peers, link = [], None
if size > 1 and rank == 0:
    door = socket.socket(); door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    door.bind(where); door.listen(size)
    peers = [door.accept()[0] for _ in range(size - 1)]
elif size > 1:
    while link is None:
        try: link = socket.create_connection(where, 5)
        except OSError: time.sleep(0.05)
def all_reduce(value):
    if size == 1: return value
    if rank == 0:
        total = value + sum(int.from_bytes(read(p, 8), "big") for p in peers)
        for p in peers: p.sendall(total.to_bytes(8, "big"))
        return total
    link.sendall(value.to_bytes(8, "big"))
    return int.from_bytes(read(link, 8), "big")
saved = os.path.join(os.getcwd(), "step")
step = int(open(saved).read()) if os.path.exists(saved) else 0
print("from step", step, "with", size, flush=True)
try:
    while step < STEPS:
        assert all_reduce(1) == size
        step += 1
        if rank == 0:
            with open(saved + ".new", "w") as f: f.write(str(step))
            os.replace(saved + ".new", saved)
        if all_reduce(len(is_asked)): sys.exit(0)
        time.sleep(0.02)
except (EOFError, OSError):
    sys.exit(1)
print("done at", step, flush=True)
"""


@pytest.fixture
def eight(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:8")
    daemon.start()
    return daemon


def members_now(api, number):
    job = api.job(number)
    return job["elastic"]["now"] if job["state"] == "running" else None


def wait_members(api, number, count):
    wait_until("job %d runs with %d members" % (number, count), lambda: members_now(api, number) == count)


def elastic(api, least, most, **more):
    keys = dict(run=MEMBER, gpus=1, cpus=0, ranks="%d..%d" % (least, most), restart_cost="1s", grace="5s")
    keys.update(more)
    return api.submit(**keys)


def test_a_gang_starts_with_what_fits_and_grows_into_what_is_idle(eight):
    api = eight.api
    first = api.submit(run="sleep 100", gpus=4, cpus=0)
    api.wait_state(first, "running")
    gang = elastic(api, 2, 8, env=eight.env())
    wait_members(api, gang, 4)
    assert api.job(gang)["resized"] is None and len(api.job(gang)["devices"]) == 4
    api.post("/v1/jobs/%d/cancel" % first)
    wait_members(api, gang, 8)
    job = api.job(gang)
    assert job["resized"]["from"] == 4 and job["resized"]["to"] == 8 and job["resized"]["rule"] == "idle"
    assert job["resized"]["text"] == "grew from 4 to 8 (idle GPUs)"
    assert job["attempt"] == 2 and job["preemptions"] == 0 and job["retries"] == 0
    wait_until("all members run", lambda: "of 8 attempt 2" in api.output(gang, rank=7))
    shown = run_tarn(eight, "show", gang)
    assert "8 of 2 to 8 members" in shown and "grew from 4 to 8 (idle GPUs)" in shown
    api.post("/v1/jobs/%d/cancel" % gang)
    api.wait_end(gang)
    assert not eight.leftovers()
    eight.verify()


def test_a_gang_is_shrunk_for_who_waits_and_nobody_is_stopped(eight):
    api = eight.api
    api.put("/v1/config", {"queues": {"vision": {"guarantee": 4}, "research": {}}})
    gang = elastic(api, 2, 8, queue="research")
    wait_members(api, gang, 8)
    waiting = api.submit(run="sleep 2", gpus=4, cpus=0, queue="vision")
    api.wait_state(waiting, "running", "ended")
    wait_members(api, gang, 4)
    job = api.job(gang)
    assert job["resized"]["for"] == waiting and job["resized"]["rule"] == "guarantee"
    assert job["resized"]["text"] == (
        "shrunk from 8 to 4 for job %d of queue vision (is within its guarantee)" % waiting)
    assert job["preemptions"] == 0 and job["preempted_for"] is None
    api.wait_end(waiting)
    wait_members(api, gang, 8)  # and back again, once a restart is worth it
    eight.verify()


def test_a_waiting_gang_names_both_sizes(eight):
    api = eight.api
    api.wait_state(api.submit(run="sleep 100", gpus=8, cpus=0), "running")
    gang = elastic(api, 2, 8)
    why = api.why(gang)
    assert any("2 to 8 members of" in line for line in why["lines"])
    assert api.job(gang)["elastic"] == {"least": 2, "most": 8, "now": None, "lost": 0, "sizes": "powers", "resize": "restart",
                                        "resizes": 0}


def test_one_that_is_never_resized_only_chooses_its_size_at_the_start(eight):
    api = eight.api
    gang = elastic(api, 1, 4, resize="never")
    wait_members(api, gang, 4)
    api.wait_state(api.submit(run="sleep 100", gpus=4, cpus=0), "running")
    waiting = api.submit(run="true", gpus=1, cpus=0)
    assert api.wait_state(waiting, "queued")["why"]["kind"] == "gpus"
    assert members_now(api, gang) == 4


def kill_member(daemon, number, rank):
    """SIGKILL for the process of one member."""
    wanted = ("RANK=%d" % rank).encode()
    for pid in processes_with(daemon.marker):
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                environment = file.read().split(b"\0")
        except OSError:
            continue
        if wanted in environment and b"TARN_JOB_ID=%d" % number in environment:
            os.kill(pid, signal.SIGKILL)


def test_a_killed_member_heals_the_gang_as_a_unit(eight):
    api = eight.api
    gang = api.submit(run=MEMBER, gpus=1, cpus=0, ranks=3, on_member_loss="heal", heals=1, grace="5s", env=eight.env())
    wait_until("it runs", lambda: "attempt 1" in api.output(gang, rank=2))
    kill_member(eight, gang, 1)
    wait_until("it runs again", lambda: "attempt 2" in api.output(gang, rank=2) + api.output(gang, rank=1))
    job = api.wait_state(gang, "running")
    assert job["heals"] == 1 and job["retries"] == 0 and job["attempt"] == 2
    wait_until("rank 1 runs", lambda: "attempt 2" in api.output(gang, rank=1))
    kill_member(eight, gang, 1)  # the second time there is no heal left, and no retry
    assert api.wait_end(gang)["result"] == "failed"
    assert not eight.leftovers()
    eight.verify()


def test_without_heal_a_lost_member_ends_the_gang(eight):
    api = eight.api
    gang = api.submit(run=MEMBER, gpus=1, cpus=0, ranks=2, grace="5s", env=eight.env())
    wait_until("it runs", lambda: "attempt 1" in api.output(gang, rank=1))
    kill_member(eight, gang, 1)
    job = api.wait_end(gang)
    assert job["result"] == "failed" and job["heals"] == 0 and job["attempt"] == 1


def test_an_elastic_gang_goes_on_without_a_lost_member(eight):
    api = eight.api
    gang = api.submit(run=MEMBER, gpus=1, cpus=0, ranks="2..4", on_member_loss="go_on", heals=1, resize="never",
                      grace="5s", env=eight.env())
    wait_until("it runs", lambda: all("attempt 1" in api.output(gang, rank=rank) for rank in range(4)))
    others = [api.submit(run="sleep 300", gpus=count, cpus=0) for count in (4, 1)]
    api.wait_state(others[0], "running")
    assert api.wait_state(others[1], "queued")["why"]["kind"] == "gpus"
    held = {device["rank"]: device["index"] for device in api.job(gang)["devices"]}
    kill_member(eight, gang, 1)
    assert api.wait_state(others[1], "running")["gpu_indices"] == [held[1]]  # while the others go on
    job = api.job(gang)
    assert job["state"] == "running" and job["attempt"] == 1 and job["heals"] == 0 and job["gpu_count"] == 3
    assert job["elastic"]["now"] == 3 and job["elastic"]["lost"] == 1
    assert {device["rank"]: device["index"] for device in job["devices"]} == {
        rank: held[rank] for rank in (0, 2, 3)}
    shown = run_tarn(eight, "show", gang)
    assert "3 of 2 to 4 members, 1 lost" in shown
    eight.kill()  # and a new daemon knows who is left
    eight.start()
    kill_member(eight, gang, 3)
    wait_members(api, gang, 2)
    assert api.job(gang)["attempt"] == 1 and "saved" not in api.output(gang, rank=0) + api.output(gang, rank=2)
    kill_member(eight, gang, 0)  # below its least: it heals
    wait_until("it runs again", lambda: "attempt 2" in api.output(gang, rank=1))
    job = api.wait_state(gang, "running")
    assert job["heals"] == 1 and job["elastic"]["now"] == 2 and job["elastic"]["lost"] == 0
    api.post("/v1/jobs/%d/cancel" % gang)
    api.wait_end(gang)
    eight.verify()


def test_what_is_left_of_a_gang_decides_how_it_ends(eight, tmp_path):
    api = eight.api
    leave, over = tmp_path / "leave", tmp_path / "over"
    gang = api.submit(run="while [ ! -e %s ]; do sleep 0.1; done; [ $RANK = 1 ] && exit 3; "
                          "while [ ! -e %s ]; do sleep 0.1; done" % (leave, over), gpus=1, cpus=0,
                      ranks="1..3", sizes="any", on_member_loss="go_on", resize="never")
    api.wait_state(gang, "running")  # before all have started, a member that leaves fails the start
    leave.touch()
    wait_until("a member is lost", lambda: (api.job(gang)["elastic"] or {}).get("lost") == 1)
    over.touch()
    assert api.wait_end(gang)["result"] == "ok"
    eight.verify()


@pytest.mark.parametrize("way", ["grow", "shrink"])
def test_a_crash_of_the_daemon_in_the_middle_of_a_resize_loses_nothing(eight, way):
    api = eight.api
    # Members that take their time to stop, so that the daemon dies while they do.
    slow = "trap 'sleep 1; exit 0' TERM; echo rank $RANK of $WORLD_SIZE; while :; do sleep 0.05; done"
    blocker = api.submit(run="sleep 300", gpus=4, cpus=0) if way == "grow" else None
    if blocker:
        api.wait_state(blocker, "running")
    gang = elastic(api, 2, 8, run=slow, env=eight.env())
    wait_members(api, gang, 4 if blocker else 8)
    if blocker:
        api.post("/v1/jobs/%d/cancel" % blocker)
    else:
        wait_until("it has run for its restart cost", lambda: api.job(gang)["run_seconds"] > 1.2)
        waiting = api.submit(run="sleep 300", gpus=4, cpus=0)
    wait_until("it stops", lambda: api.job(gang)["state"] == "stopping")
    eight.kill()
    eight.start()
    wait_until("it runs again", lambda: members_now(api, gang) not in (None, 4 if blocker else 8))
    if not blocker:
        api.wait_state(waiting, "running")
    job = api.job(gang)
    assert job["elastic"]["now"] == (8 if blocker else 4) and job["attempt"] == 2 and job["retries"] == 0
    held = [device for other in api.jobs() if other["state"] == "running" for device in other["gpu_indices"]]
    assert len(held) == len(set(held)) == 8
    wait_until("no member of the first attempt is left", lambda: len(
        [pid for pid in eight.leftovers()]) <= 3 * job["elastic"]["now"])
    api.post("/v1/jobs/%d/cancel" % gang)
    api.wait_end(gang)
    assert not eight.leftovers()
    eight.verify()


def test_a_program_that_meets_at_the_master_goes_on_at_every_size(eight, tmp_path):
    api = eight.api
    script = tmp_path / "train.py"
    script.write_text(RENDEZVOUS.replace("STEPS", "300"))
    blocker = api.submit(run="sleep 300", gpus=6, cpus=0)
    api.wait_state(blocker, "running")
    gang = elastic(api, 1, 4, run="exec %s %s" % (sys.executable, script), cwd=str(tmp_path), env=eight.env())
    wait_members(api, gang, 2)
    wait_until("it has come somewhere", lambda: (tmp_path / "step").exists())
    api.post("/v1/jobs/%d/cancel" % blocker)
    wait_members(api, gang, 4)
    job = api.wait_end(gang)
    assert job["result"] == "ok" and job["attempt"] == 2, api.output(gang)
    lines = [line for line in api.output(gang, rank=0).splitlines() if line.startswith(("from", "done"))]
    assert lines[0] == "from step 0 with 2" and lines[-1] == "done at 300"
    assert lines[1].endswith("with 4") and int(lines[1].split()[2]) > 0  # not from the start


# The learner hears from each of its actors who it is, and tells them that it is enough.
LEARNER = r"""
import os, socket
door = socket.socket(); door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
door.bind((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))); door.listen(8)
peers = [door.accept()[0] for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]
words = sorted(peer.makefile().readline().strip() for peer in peers)
print("\n".join(words), flush=True)
print("gpus", os.environ["TARN_GPU_COUNT"], os.environ["TARN_ROLE"], os.environ["TARN_ROLE_RANK"],
      os.environ["TARN_ROLE_SIZE"], os.environ["RANK"], os.environ.get("MODE"), flush=True)
for peer in peers: peer.sendall(b"enough\n")
"""

ACTOR = r"""
import os, socket, time
link = None
while link is None:
    try: link = socket.create_connection((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])), 5)
    except OSError: time.sleep(0.05)
env = os.environ
link.sendall(("%s %s of %s, rank %s of %s, gpus %s, cpus %s, mode %s\n" % (
    env["TARN_ROLE"], env["TARN_ROLE_RANK"], env["TARN_ROLE_SIZE"], env["RANK"], env["WORLD_SIZE"],
    env["TARN_GPU_COUNT"], env["TARN_CPUS"], env["MODE"])).encode())
assert link.makefile().readline() == "enough\n"
"""

RL = """
name: rl
run: exec {python} {folder}/actor.py
env: {{MODE: play}}
roles:
  learner: {{gpus: h100:2, cpus: 0, run: exec {python} {folder}/learner.py, env: {{MODE: learn}}}}
  actor: {{ranks: 3, cpus: 0, memory: 16M}}
"""


def run_tarn(daemon, *arguments):
    done = subprocess.run([os.path.join(os.environ["TARN_BUILD"], "tarn"), *map(str, arguments)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=daemon.environment(), timeout=60)
    return done.stdout


def test_a_learner_and_its_actors_start_together_and_meet(eight, tmp_path):
    api = eight.api
    (tmp_path / "learner.py").write_text(LEARNER)
    (tmp_path / "actor.py").write_text(ACTOR)
    (tmp_path / "rl.yaml").write_text(RL.format(python=sys.executable, folder=tmp_path))
    blocker = api.submit(run="sleep 300", gpus=7, cpus=0)
    api.wait_state(blocker, "running")
    said = run_tarn(eight, "submit", "-f", tmp_path / "rl.yaml")
    gang = max(job["id"] for job in api.jobs())
    assert gang != blocker, said
    job = api.wait_state(gang, "queued")
    assert job["why"]["text"].startswith("role learner: 2 h100 gpus wanted, 1 free"), job["why"]
    assert any("1 learner of" in line and "3 actor of" in line and "all 4 members at once" in line
               for line in api.why(gang)["lines"]), api.why(gang)
    api.post("/v1/jobs/%d/cancel" % blocker)
    job = api.wait_end(gang)
    assert job["result"] == "ok" and job["members"] == 4, api.output(gang)
    assert api.output(gang, rank=0).splitlines() == [
        "actor %d of 3, rank %d of 4, gpus 0, cpus 1, mode play" % (i, i + 1) for i in range(3)] + [
        "gpus 2 learner 0 1 0 learn"]
    eight.verify()


def test_roles_are_shown_and_one_lost_member_heals_all(eight):
    api = eight.api
    gang = api.submit(run=MEMBER, cpus=0, on_member_loss="heal", heals=1, grace="5s", env=eight.env(),
                      roles={"learner": {"gpus": "h100:2"}, "actor": {"ranks": 2, "gpus": 0.5}})
    wait_until("it runs", lambda: all("attempt 1" in api.output(gang, rank=rank) for rank in range(3)))
    job = api.job(gang)
    assert [(role["name"], role["first_rank"], role["ranks"], role["gpus"]) for role in job["roles"]] == [
        ("learner", 0, 1, "h100:2"), ("actor", 1, 2, "0.5")]
    assert len(job["roles"][1]["nodes"]) == 2 and job["gpu_count"] == 3
    assert sorted(device["rank"] for device in job["devices"]) == [0, 0, 1, 2]
    shown = run_tarn(eight, "show", gang)
    assert "learner · rank 0 · h100:2 ·" in shown and "actor · ranks 1 to 2 · 0.5 gpu ·" in shown, shown
    eight.kill()
    eight.start()
    assert api.job(gang)["roles"] == job["roles"]
    kill_member(eight, gang, 2)
    wait_until("all run again", lambda: all("attempt 2" in api.output(gang, rank=rank) for rank in range(3)))
    api.post("/v1/jobs/%d/cancel" % gang)
    api.wait_end(gang)
    assert not eight.leftovers()
    eight.verify()


def test_roles_that_can_never_run_are_refused_by_name(eight):
    with pytest.raises(Refused) as refused:
        eight.api.submit(run="true", roles={"learner": {"gpus": 2}, "actor": {"gpus": 9}})
    assert "role actor: 9 gpus: no node has more than 8" in refused.value.message, refused.value.message
    with pytest.raises(Refused) as refused:
        eight.api.submit(run="true", roles={"learner": {"gpus": 5}, "actor": {"gpus": 4}})
    assert "2 members: each fits, but not all of them at once" in refused.value.message, refused.value.message


def torch_is_there():
    done = subprocess.run(["/usr/bin/python3", "-c", "import torch"], stderr=subprocess.DEVNULL, timeout=120)
    return done.returncode == 0


GLOO = r"""
import os, signal, sys, time, torch, torch.distributed as dist
asked = []
signal.signal(signal.SIGTERM, lambda *a: asked.append(1))
dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
step = torch.load("model.pt")["step"] if os.path.exists("model.pt") else 0
print("from step", step, "with", size, flush=True)
while step < 200:
    one = torch.ones(1); dist.all_reduce(one); assert int(one) == size
    stop = torch.tensor([float(len(asked))]); dist.all_reduce(stop)
    step += 1
    if rank == 0: torch.save({"step": step}, "model.new"); os.replace("model.new", "model.pt")
    if stop.item() > 0: sys.exit(0)
    time.sleep(0.03)
print("done at", step, flush=True)
"""


@pytest.mark.skipif(not os.path.exists("/usr/bin/python3") or not torch_is_there(),
                    reason="no torch for /usr/bin/python3 (python3-torch)")
def test_pytorch_with_gloo_goes_on_at_another_size(eight, tmp_path):
    api = eight.api
    (tmp_path / "train.py").write_text(GLOO)
    blocker = api.submit(run="sleep 300", gpus=6, cpus=0)
    api.wait_state(blocker, "running")
    gang = elastic(api, 2, 4, run="exec /usr/bin/python3 train.py", cwd=str(tmp_path), grace="30s", env=eight.env())
    wait_until("it has come somewhere", lambda: (tmp_path / "model.pt").exists())
    api.post("/v1/jobs/%d/cancel" % blocker)
    wait_members(api, gang, 4)
    assert api.wait_end(gang, patience=120)["result"] == "ok"
    assert "done at 200" in api.output(gang, rank=0)


def test_what_can_not_be_done_yet_is_refused_by_name(eight):
    for keys, words in (({"ranks": "2..4", "resize": "live"}, "resize: live: not supported yet"),
                        ({"ranks": 2, "on_member_loss": "go_on"}, "on_member_loss: go_on: only for a gang with a minimum size"),
                        ({"ranks": "4..2"}, "ranks: '4..2': expected 1 to 4096, or a range like 2..8"),
                        ({"ranks": 2, "heals": 2}, "heals: no effect without on_member_loss: heal")):
        with pytest.raises(Refused) as refused:
            eight.api.submit(run="true", **keys)
        assert words in refused.value.message
