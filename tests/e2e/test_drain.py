# SPDX-License-Identifier: Apache-2.0
"""A drained machine or GPU gets no new jobs; what runs goes on; a restart changes nothing."""

import subprocess

import pytest

import tarn_test
from tarn_test import Refused


def tarn(daemon, *words):
    return subprocess.run([tarn_test.TARN, *words], env=daemon.environment(), capture_output=True, text=True, timeout=60)


def node_of(api):
    return api.get("/v1/nodes")["nodes"][0]


def gpu_of(api, index):
    return next(gpu for gpu in api.get("/v1/gpus")["gpus"] if gpu["index"] == index)


def restart(daemon, is_crash):
    if is_crash:
        daemon.kill()
    else:
        assert daemon.terminate() == 0
    daemon.start()


@pytest.mark.parametrize("is_crash, reason", [(False, "disk to be replaced"), (True, "disk to be replaced"), (False, "engine: fan is loud")])
def test_a_drained_node_keeps_its_jobs_and_gets_no_more(daemon, api, is_crash, reason):
    name = node_of(api)["name"]
    running = api.submit(run="sleep 300", gpus=1, cpus=0)
    api.wait_state(running, "running")
    done = tarn(daemon, "drain", name, "--reason", reason)
    assert done.returncode == 0, done
    assert done.stdout == "node %s is drained · 1 running job continues\n" % name
    late = api.submit(run="true", gpus=1, cpus=0)
    for _ in range(2):
        node = node_of(api)
        assert (node["state"], node["reason"]) == ("drained", reason)
        assert api.job(running)["state"] == "running"
        assert api.job(late)["state"] == "queued"
        assert "; node %s is drained (%s)" % (name, reason) in api.why(late)["text"]
        assert reason in gpu_of(api, 3)["sick"]
        assert "drained" in tarn(daemon, "nodes").stdout and reason in tarn(daemon, "nodes").stdout
        assert reason in tarn(daemon, "why", str(late)).stdout
        restart(daemon, is_crash)
    assert tarn(daemon, "undrain", name).stdout == "node %s is no longer drained\n" % name
    api.wait_end(late)
    assert node_of(api)["state"] == "up" and node_of(api)["reason"] is None
    assert api.job(running)["state"] == "running"
    daemon.terminate()
    assert "differ" not in daemon.verify()


def test_the_only_node_of_two_pools_may_come_back(daemon, api):
    api.put("/v1/config", {"pools": {"batch": {"min": 1}}})
    assert tarn(daemon, "drain", node_of(api)["name"]).returncode == 0
    assert api.why(api.submit(run="true", gpus=3, cpus=0))["kind"] == "unusable"
    assert api.why(api.submit(run="true", gpus=4, pool="batch", cpus=0))["kind"] == "unusable"
    with pytest.raises(Refused) as refused:
        api.submit(run="true", gpus=4, cpus=0)
    assert "pool default is too small" in refused.value.message


def test_a_drained_gpu_keeps_its_jobs_and_gets_no_more(daemon, api):
    name = node_of(api)["name"]
    running = api.submit(run="sleep 300", gpus=4, cpus=0)
    api.wait_state(running, "running")
    done = tarn(daemon, "drain", "%s/2" % name, "--reason", "fan is loud")
    assert done.stdout == "gpu %s/2 is drained · 1 running job continues\n" % name, done
    api.post("/v1/jobs/%d/cancel" % running)
    api.wait_end(running)
    late = api.submit(run="sleep 300", gpus=4, cpus=0)
    for _ in range(2):
        gpu = gpu_of(api, 2)
        assert (gpu["drained"], gpu["sick"]) == ("fan is loud", "fan is loud")
        assert "drained: fan is loud" in tarn(daemon, "gpus").stdout
        assert api.job(late)["state"] == "queued"
        assert "; gpu %s/2 is drained (fan is loud)" % name in api.why(late)["text"]
        assert [gpu_of(api, i)["drained"] for i in (0, 1, 3)] == [None] * 3
        restart(daemon, False)
    api.post("/v1/gpus/%s/undrain" % gpu_of(api, 2)["uuid"])
    api.wait_state(late, "running")
    daemon.terminate()
    assert "differ" not in daemon.verify()


def test_unusable_gpus_are_named_where_a_job_waits(daemon, api):
    name = node_of(api)["name"]
    for i in range(3):
        api.post("/v1/gpus/%d/drain" % i, {"reason": "bad fan"})
    running = api.submit(run="sleep 300", gpus=1, cpus=0)
    api.wait_state(running, "running")
    late = api.submit(run="sleep 300", gpus=1, cpus=0)
    why = api.why(late)
    assert why["text"] == "1 gpu wanted, 0 free; gpus %s/0-2 are drained (bad fan)" % name
    assert "unusable  3 of 4: gpus %s/0-2 are drained (bad fan)" % name in why["lines"]
    api.post("/v1/gpus/1/undrain")
    third = api.submit(run="sleep 300", gpus=1, cpus=0)
    assert "unusable  2 of 4: gpu %s/0 is drained (bad fan); gpu %s/2 is drained (bad fan)" % (name, name) in api.why(third)["lines"]


def test_who_drained_it_is_the_reason_unless_one_is_given(daemon, api):
    reply = api.post("/v1/gpus/1/drain")
    user = api.get("/v1/daemon")["user"]
    assert reply == {"gpu": "1", "drained": True, "reason": "by %s" % user, "jobs": 0}
    assert tarn(daemon, "undrain", "1", "--json").returncode == 0
    assert gpu_of(api, 1)["drained"] is None


def test_what_can_not_be_drained_is_refused(daemon, api):
    name = node_of(api)["name"]
    for path, body, status, words in (
            ("nodes/nowhere/drain", {}, 404, "node nowhere: no such node"),
            ("nodes/%s/undrain" % name, None, 409, "node %s is not drained" % name),
            ("nodes/%s/drain" % name, {"why": "x"}, 400, "unknown key 'why'"),
            ("nodes/%s/drain" % name, {"reason": "a\nb"}, 400, "expected one line"),
            ("gpus/9/drain", {}, 404, "gpu 9: no such device"),
            ("gpus/nowhere/1/drain", {}, 404, "gpu nowhere/1: no such device"),
            ("gpus/1/undrain", {}, 409, "gpu 1 is not drained")):
        with pytest.raises(Refused) as caught:
            api.post("/v1/" + path, body)
        assert caught.value.status == status and words in caught.value.message, (path, caught.value.message)
    assert tarn(daemon, "drain").returncode == 2
    assert "no such device" in tarn(daemon, "drain", "nowhere").stderr


def test_a_signal_reaches_the_job(api, daemon):
    number = api.submit(run="trap 'echo saved; exit 3' USR1; echo up; while :; do sleep 0.05; done", cpus=0.01, sender_env=daemon.env())
    tarn_test.wait_until("it runs", lambda: "up" in api.output(number))
    refused = tarn(daemon, "cancel", "--signal", "NOPE", str(number))
    assert refused.returncode == 1 and "'NOPE'" in refused.stderr
    assert tarn(daemon, "cancel", "--signal", "USR1", "--now", str(number)).returncode == 2
    assert tarn(daemon, "cancel", "--signal", "USR1", str(number)).stdout == f"signalled {number}\n"
    assert api.wait_end(number)["exit_code"] == 3 and "saved" in api.output(number)
    assert "has ended already" in tarn(daemon, "cancel", "--signal", "USR1", str(number)).stderr
