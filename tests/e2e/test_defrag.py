# SPDX-License-Identifier: Apache-2.0
"""A job goes on elsewhere so that another one finds room. Real processes, synthetic GPUs."""

import os
import subprocess

import pytest

from tarn_test import Refused, wait_until

CONFIG = {"queues": {"research": {}, "vision": {}}, "defrag": {"hours": 2}}

# Saves how far it has come when it is asked to stop, and goes on from there.
WORK = """
trap 'echo $n > saved; echo stopped at $n; exit 0' TERM
n=$(cat saved 2>/dev/null || echo 0)
echo attempt $TARN_ATTEMPT from $n
while [ $n -lt 3000 ]; do n=$((n+1)); sleep 0.05; done
"""


@pytest.fixture
def two(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:2")
    daemon.start()
    return daemon


def parts(api, **more):
    """Two GPUs, of each of which the larger part is free."""
    keys = dict(run=WORK, gpus=0.4, cpus=0, queue="research", preemptible=True, restart_cost="1s", grace="5s",
                estimate="2h")
    keys.update(more)
    jobs = []
    for _ in range(2):
        jobs.append(api.submit(**keys))
        api.wait_state(jobs[-1], "running")
        filler = api.submit(run="sleep 600", gpus=0.5, cpus=0, queue="research")
        api.wait_state(filler, "running")
        jobs.append(filler)
    for filler in jobs[1::2]:
        api.post("/v1/jobs/%d/cancel" % filler)
        api.wait_state(filler, "ended")
    return jobs[0::2]


def show(daemon, *words):
    return subprocess.run([os.path.join(os.environ["TARN_BUILD"], "tarn"), *words], text=True,
                          stdout=subprocess.PIPE, env=daemon.environment(), timeout=30).stdout


def test_a_job_moves_and_goes_on_where_it_was(two, tmp_path):
    api = two.api
    api.put("/v1/config", CONFIG)
    assert api.get("/v1/config")["defrag"] == {"hours": 2}
    jobs = parts(api, cwd=str(tmp_path))
    whole = api.submit(run="sleep 600", gpus=1, cpus=0, queue="vision")
    api.wait_state(whole, "running", patience=30)
    wait_until("both run", lambda: all(api.job(n)["state"] == "running" for n in jobs))
    moved = [api.job(n) for n in jobs if api.job(n)["moved"]]
    assert len(moved) == 1
    job = moved[0]
    assert job["moved"]["for"] == whole and job["moved"]["from"] != job["moved"]["to"]
    assert job["moved"]["text"].startswith("moved for job %d of queue vision (from " % whole)
    assert job["attempt"] == 2 and job["preemptions"] == 0 and job["retries"] == 0
    wait_until("it goes on", lambda: "attempt 2 from " in api.output(job["id"]))
    assert "moved for job %d" % whole in show(two, "show", str(job["id"]))
    assert "moved for job %d" % whole in show(two, "ls")
    assert "hours: 2" in show(two, "config", "show")
    for n in jobs + [whole]:
        api.post("/v1/jobs/%d/cancel" % n)


def test_a_budget_that_is_too_small_is_named(two, tmp_path):
    api = two.api
    api.put("/v1/config", {**CONFIG, "defrag": {"hours": 0.01}})
    jobs = parts(api, cwd=str(tmp_path), restart_cost="10m")
    whole = api.submit(run="sleep 600", gpus=1, cpus=0, queue="vision")
    why = api.get("/v1/jobs/%d/why" % whole)
    assert why["moves"]["answer"] == "later"  # no job has run for its restart cost
    assert all(api.job(n)["moved"] is None for n in jobs)
    for n in jobs + [whole]:
        api.post("/v1/jobs/%d/cancel" % n)


def test_unless_it_is_configured_nobody_moves(two, tmp_path):
    api = two.api
    api.put("/v1/config", {"queues": CONFIG["queues"]})
    assert "defrag" not in api.get("/v1/config")
    jobs = parts(api, cwd=str(tmp_path))
    whole = api.submit(run="sleep 600", gpus=1, cpus=0, queue="vision")
    assert api.get("/v1/jobs/%d/why" % whole)["moves"] is None
    assert api.job(whole)["state"] == "queued" and all(api.job(n)["moved"] is None for n in jobs)
    for wrong in ({"hours": -1}, {"days": 1}, "much"):
        with pytest.raises(Refused, match="defrag"):
            api.put("/v1/config", {**CONFIG, "defrag": wrong})
