# SPDX-License-Identifier: Apache-2.0
"""What jobs, arrays, gangs and pipelines do, from submit to end, through the API."""

import getpass
import json
import os
import re
import socket
import subprocess
import threading
import time

import pytest

from tarn_test import TARN, Refused, as_user, read_file, wait_until, IS_ROOT, PATIENCE_S

NOBODY = 65534


def refused(status, code, words, call, *args, **keys):
    with pytest.raises(Refused) as caught:
        call(*args, **keys)
    assert (caught.value.status, caught.value.code) == (status, code), caught.value
    assert words in caught.value.message, caught.value.message


def pairs(text):
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


# A job


def test_a_job_runs_and_its_end_says_all(api):
    job = api.wait_end(api.submit(command=["sh", "-c", "echo out; exit 3"], gpus=1, name="three"))
    assert (job["result"], job["exit_code"], job["signal"], job["attempt"]) == ("failed", 3, None, 1)
    assert job["name"] == "three" and job["started"] and job["ended"]
    assert job["submitted"] <= job["started"] <= job["ended"]
    assert api.output(job["id"]) == "out\n"
    assert api.get("/v1/gpus")["gpus"][0]["jobs"] == []


def test_a_job_killed_by_a_signal_says_which(api):
    job = api.wait_end(api.submit(run="kill -SEGV $$"))
    assert (job["result"], job["exit_code"], job["signal"]) == ("failed", None, 11)


def test_the_environment_inside_a_job_is_as_described(api, daemon):
    number = api.submit(run="env; echo 1 > $TARN_OUT/made/x", name="look", gpus=2, cpus=2, retry=1, outputs=["made"],
                        env={"MINE": "a=b"}, sender_env={"MINE": "sender", "SENT": "1", "SLURM_JOB_ID": "99",
                                                         "TARN_RANK": "9", "RANK": "9"})
    api.wait_end(number)
    seen = pairs(api.output(number))
    assert seen["MINE"] == "a=b" and seen["SENT"] == "1"
    assert seen["TARN_JOB_ID"] == str(number) and seen["TARN_CPUS"] == "2"
    for name in ("TARN_RANK", "TARN_LOCAL_RANK", "TARN_NODE_RANK"):
        assert seen[name] == "0", name
    for name in ("TARN_WORLD_SIZE", "TARN_NODE_COUNT"):
        assert seen[name] == "1", name
    assert not [name for name in seen if name.startswith(("SLURM_", "RANK", "WORLD_SIZE", "LOCAL_", "MASTER_"))]
    uuids = seen["CUDA_VISIBLE_DEVICES"].split(",")
    known = {gpu["uuid"] for gpu in api.get("/v1/gpus")["gpus"]}
    assert len(uuids) == 2 and set(uuids) <= known
    assert seen["TARN_GPU_COUNT"] == "2" and seen["TARN_ATTEMPT"] == "1" and seen["TARN_QUEUE"] == "default"
    assert seen["TARN_JOB_NAME"] == "look"
    assert os.path.isdir(seen["TARN_OUT"] + "/made") and os.path.isdir(seen["TARN_CHECKPOINT"])
    assert seen["TARN_SOCKET"] == daemon.socket


def test_a_job_without_gpus_sees_none(api):
    number = api.submit(run="echo [$CUDA_VISIBLE_DEVICES]", sender_env={"CUDA_VISIBLE_DEVICES": "0,1"})
    api.wait_end(number)
    assert api.output(number) == "[]\n"


def test_a_job_has_a_session_of_its_own_and_no_open_files(api):
    number = api.submit(command=["python3", "-c",
                                 "import os; print(os.getsid(0) == os.getpid()); print(os.listdir('/proc/self/fd'))"])
    api.wait_end(number)
    assert api.output(number).splitlines() == ["True", "['0', '1', '2', '3']"]  # 3 is the listing's own


def test_a_script_and_its_arguments_are_run(api, daemon):
    number = api.submit(script="#!/bin/sh\necho $0; echo \"$@\"\n", args=["a b", "c"])
    api.wait_end(number)
    lines = api.output(number).splitlines()
    assert lines[1] == "a b c" and lines[0].startswith(daemon.state)


def test_output_error_input_and_cwd_are_where_the_job_wants_them(api, daemon, tmp_path):
    (tmp_path / "in").write_text("from a file")
    number = api.submit(run="cat; echo oops >&2; pwd >&2", cwd=str(tmp_path), name="x", input="in",
                        output="%x-%j.out", error="err/%j")
    job = api.wait_end(number)
    assert job["result"] == "failed" and "err/" in job["reason"], job["reason"]
    (tmp_path / "err").mkdir()
    number = api.submit(run="cat; echo oops >&2; pwd >&2", sender_cwd=str(tmp_path), name="x", input="in",
                        output="%x-%j.out", error="err/%j")
    assert api.wait_end(number)["result"] == "ok"
    assert (tmp_path / ("x-%d.out" % number)).read_text() == "from a file"
    assert (tmp_path / "err" / str(number)).read_text() == "oops\n%s\n" % tmp_path
    assert api.output(number) == "from a file"
    assert api.output(number, stream="error").startswith("oops\n")


def test_isolation_words_are_true(api, daemon):
    number = api.submit(run="sleep 60", memory="64M", cpus=1, gpus=1, env=daemon.env())
    job = api.wait_state(number, "running")
    words = job["isolation"]
    pid = wait_until("it is there", lambda: [p for p in daemon.leftovers() if p])[0]
    groups = read_file("/proc/%d/cgroup" % pid)
    assert set(words) == {"processes", "cpu", "memory", "gpu"}
    if words["processes"] == "isolated":
        assert "/tarn" in groups, groups
    api.post("/v1/jobs/%d/cancel?signal_now=1" % number)
    api.wait_end(number)
    assert words["gpu"] != "isolated"  # made-up GPUs have no device files to fence
    assert api.job(number)["isolation"] == words

    number = api.submit(command=["python3", "-c", "b = bytearray(300 << 20); print(len(b))"], memory="64M")
    job = api.wait_end(number)
    if job["isolation"]["memory"] == "isolated":
        assert job["result"] == "out_of_memory", job
    else:
        assert job["result"] == "ok", job


def test_a_job_that_ran_out_of_memory_is_tried_again_with_more(api):
    number = api.submit(command=["python3", "-c", "b = bytearray(300 << 20); print(len(b))"], memory="64M", retry={"oom": {"memory": "x8"}})
    job = api.wait_end(number)
    assert job["result"] == "ok" and job["oom_factor"] == 8, job
    assert job["retries"] == (1 if job["isolation"]["memory"] == "isolated" else 0), job


def test_whoever_detaches_ends_with_the_job(api, daemon):
    number = api.submit(run="setsid sh -c 'sleep 100 & exec sleep 200' & sleep 0.1; echo done", env=daemon.env())
    job = api.wait_end(number)
    assert job["result"] == "ok"
    assert daemon.leftovers() == []


# What people do to jobs


def test_cancel_ends_waiting_and_running_jobs(api, daemon):
    running, queued = api.submit({"run": "sleep 60", "gpus": 4, "env": daemon.env()}, {"run": "true", "gpus": 4})
    api.wait_state(running, "running")
    assert api.post("/v1/jobs/%d/cancel" % queued)["changed"] == [queued]
    assert api.job(queued)["result"] == "cancelled" and api.job(queued)["started"] is None
    assert api.post("/v1/jobs/%d/cancel" % running)["changed"] == [running]
    job = api.wait_end(running)
    assert job["result"] == "cancelled" and job["cancelled_by"] and daemon.leftovers() == []
    refused(409, "conflict", "has ended", api.post, "/v1/jobs/%d/cancel" % running)
    refused(404, "not_found", "job 99: no such job", api.post, "/v1/jobs/99/cancel")


def test_held_jobs_wait_for_their_release(api):
    number = api.submit(run="true", hold=True)
    assert api.job(number)["state"] == "held" and api.why(number)["kind"] == "held"
    refused(409, "conflict", "held", api.post, "/v1/jobs/%d/hold" % number)
    api.post("/v1/jobs/%d/release" % number)
    assert api.wait_end(number)["result"] == "ok"


def test_requeue_runs_a_job_once_more(api, tmp_path):
    number = api.submit(run="echo $TARN_ATTEMPT", output=str(tmp_path / "o"))
    api.wait_end(number)
    api.post("/v1/jobs/%d/requeue" % number)
    wait_until("the second attempt has ended", lambda: api.job(number)["attempt"] == 2 and
               api.job(number)["state"] == "ended")
    assert read_file(tmp_path / "o") == "1\n2\n"


def test_requeue_of_a_running_job_starts_it_again(api, daemon):
    number = api.submit(run="echo a$TARN_ATTEMPT; test $TARN_ATTEMPT = 2 || sleep 60", env=daemon.env(), grace="1s")
    api.wait_state(number, "running")
    wait_until("it has begun", lambda: "a1" in api.output(number))
    api.post("/v1/jobs/%d/requeue" % number)
    job = api.wait_end(number)
    assert (job["result"], job["attempt"]) == ("ok", 2)
    assert api.output(number) == "a1\na2\n"


def test_update_changes_priority_queue_and_duration(api):
    api.put("/v1/config", {"queues": {"a": {}, "b": {}}})
    number = api.submit(run="true", hold=True, queue="a")
    api.patch("/v1/jobs/%d" % number, {"priority": "high", "queue": "b", "max_duration": "90m"})
    job = api.job(number)
    assert (job["priority"], job["queue"], job["request"]["max_duration"]) == (100, "b", 5400)
    refused(404, "not_found", "queue c: no such queue", api.patch, "/v1/jobs/%d" % number, {"queue": "c"})
    refused(400, "bad_request", "priority", api.patch, "/v1/jobs/%d" % number, {"priority": 5000})
    refused(400, "bad_request", "max_duration", api.patch, "/v1/jobs/%d" % number, {"max_duration": "soon"})
    refused(400, "bad_request", "nonsense", api.patch, "/v1/jobs/%d" % number, {"nonsense": 1})
    assert api.job(number)["priority"] == 100


def test_max_duration_of_a_running_job_can_be_shortened(api):
    number = api.submit(run="sleep 60", max_duration="1h")
    api.wait_state(number, "running")
    api.patch("/v1/jobs/%d" % number, {"max_duration": 1})
    job = api.wait_end(number)
    assert job["result"] == "timeout" and 0.9 <= job["run_seconds"] < 20


def test_a_job_over_its_time_is_ended_as_timeout(api):
    job = api.wait_end(api.submit(run="sleep 60", max_duration="1s"))
    assert job["result"] == "timeout" and job["run_seconds"] >= 1, job


def test_a_failing_job_is_tried_again_with_its_checkpoint(api):
    number = api.submit(run="echo x >> $TARN_CHECKPOINT/count; test $(wc -l < $TARN_CHECKPOINT/count) -ge 3", retry=5)
    job = api.wait_end(number)
    assert (job["result"], job["attempt"], job["retries"]) == ("ok", 3, 2)


def test_a_job_that_always_fails_ends_after_its_retries(api):
    job = api.wait_end(api.submit(run="exit 9", retry=2))
    assert (job["result"], job["attempt"], job["exit_code"]) == ("failed", 3, 9)


# Waiting


def test_a_job_waits_until_its_begin(api):
    number = api.submit(run="true", begin="now+2s")
    why, begin = api.why(number), api.job(number)["begin"]
    assert why["kind"] == "begin" and api.job(number)["state"] in ("queued", "waiting"), why
    job = api.wait_end(number)
    assert job["started"] > begin
    assert api.job(number)["begin"] == begin


def test_dependencies_on_each_kind_of_end(api):
    gate = api.submit(run="exit 1", hold=True)
    ok, whatever, failed, started, after = api.submit(
        {"run": "true", "depends": [{"on": gate, "when": "ok"}]},
        {"run": "true", "depends": [{"on": gate, "when": "any"}]},
        {"run": "true", "depends": [{"on": gate, "when": "failed"}]},
        {"run": "true", "depends": [{"on": gate, "when": "started"}]},
        {"run": "true", "depends": [gate]})
    for number in (ok, whatever, failed, started, after):
        why = api.why(number)
        assert why["kind"] == "needs" and why["on"] == gate and str(gate) in why["text"]
        assert api.job(number)["state"] == "waiting"
    api.post("/v1/jobs/%d/release" % gate)
    results = {number: api.wait_end(number)["result"] for number in (ok, whatever, failed, started, after)}
    assert results == {ok: "cancelled", whatever: "ok", failed: "ok", started: "ok", after: "cancelled"}
    assert api.job(ok)["reason"]
    refused(404, "not_found", "depends: job 4711: no such job", api.submit, run="true", depends=[4711])


def test_why_names_gpus_and_who_holds_them(api):
    holder = api.submit(run="sleep 60", gpus=3, name="holder", max_duration="1h")
    api.wait_state(holder, "running")
    number = api.submit(run="true", gpus=2)
    why = api.why(number)
    assert (why["kind"], why["wanted"], why["free"]) == ("gpus", 2, 1)
    assert [entry["id"] for entry in why["held_by"]] == [holder]
    assert why["expected_start"] and why["lines"] and len(why["free_devices"]) == 1
    api.post("/v1/jobs/%d/cancel" % holder)
    assert api.wait_end(number)["result"] == "ok"


def test_why_names_the_queue_at_its_limit(api):
    api.put("/v1/config", {"queues": {"small": {"limit": 1}}})
    first, second = api.submit({"run": "sleep 60", "gpus": 1, "queue": "small"},
                               {"run": "true", "gpus": 1, "queue": "small"})
    api.wait_state(first, "running")
    why = api.why(second)
    assert (why["kind"], why["queue"]) == ("quota", "small") and "small" in why["text"]
    refused(422, "never", "small", api.submit, run="true", gpus=2, queue="small")
    api.post("/v1/jobs/%d/cancel" % first)
    assert api.wait_end(second)["result"] == "ok"


def test_why_tells_what_a_reservation_keeps_back(api):
    api.put("/v1/config", {"order": "fifo"})  # by limits, not by what was learned of "true"
    running = api.submit(run="sleep 60", gpus=3, max_duration="1h")
    api.wait_state(running, "running")
    first = api.submit(run="true", gpus=4, max_duration="1h")
    long, short = api.submit({"run": "true", "gpus": 1, "max_duration": "9h"},
                             {"run": "true", "gpus": 1, "max_duration": "30m"})
    assert api.wait_end(short)["result"] == "ok"  # ends before the promise
    why = api.why(long)
    assert why["kind"] == "reserved" and why["on"] == first, why
    assert api.why(first)["promised"] is True
    api.post("/v1/jobs/%d/cancel" % running)
    assert api.wait_end(first)["result"] == "ok" and api.wait_end(long)["result"] == "ok"


def test_what_can_never_run_is_refused_at_once(api):
    for keys, words in (({"gpus": 5}, "5 gpus"), ({"gpus": "a100:1"}, "a100"), ({"cpus": 100000}, "cpus"),
                        ({"memory": "900T"}, "memory"), ({"gpus": "mig=3g.40gb"}, "mig"),
                        ({"gpus": 1, "ranks": 5, "cpus": 0.1}, "5 members"), ({"nodes": 2}, "2 nodes")):
        refused(422, "never", "", api.submit, run="true", **keys)
        with pytest.raises(Refused) as caught:
            api.submit(run="true", **keys)
        assert words in caught.value.message.lower(), (keys, caught.value.message)
    assert api.jobs() == []


def test_a_list_is_accepted_all_or_not_at_all(api):
    refused(422, "never", "document 2", api.submit, {"run": "true"}, {"run": "true", "gpus": 5}, {"run": "true"})
    assert api.jobs() == []
    assert [entry["id"] for entry in api.post("/v1/jobs?dry_run=1", {"run": "true"})["submitted"]] == [None]
    assert api.jobs() == []


def test_a_submission_with_a_key_is_accepted_once(daemon):
    """Also by a daemon that was killed, and that read a snapshot."""
    body = json.dumps([{"run": "true", "sender_cwd": "/"}, {"run": "true", "array": "0-2", "sender_cwd": "/"}])

    def send(key, text=body):
        connection = daemon.api.connection()
        connection.request("POST", "/v1/jobs", text, {"Idempotency-Key": key})
        reply = connection.getresponse()
        said = json.loads(reply.read())
        connection.close()
        return reply.status, reply.getheader("Idempotency-Replayed"), [entry["id"] for entry in said.get("submitted", [])] or said

    assert send("retry-1") == (201, None, [1, 2])
    for _ in range(2):
        assert send("retry-1") == (201, "true", [1, 2])
        daemon.kill()
        daemon.start()
    assert len(daemon.api.jobs()) == 4
    status, _, said = send("retry-1", json.dumps({"run": "false", "sender_cwd": "/"}))
    assert status == 409 and "another submission of yours had it" in said["error"]["message"]
    status, _, said = send("x" * 65)
    assert status == 400 and "Idempotency-Key: key of 65 characters" in said["error"]["message"]
    assert send("retry-2") == (201, None, [6, 7])
    assert daemon.terminate() == 0
    daemon.start()
    assert send("retry-2") == (201, "true", [6, 7])
    daemon.verify()


def test_a_client_that_comes_back_gets_the_changes_that_it_missed(daemon):
    def follow(last=None):
        connection = daemon.api.connection()
        connection.request("GET", "/v1/events", headers={} if last is None else {"Last-Event-ID": last})
        return connection, connection.getresponse()

    def take(reply, count):
        """Number, kind and job of each event."""
        events, event = [], {}
        while len(events) < count:
            key, _, value = reply.readline().decode().rstrip("\n").partition(": ")
            if key:
                event[key] = value
            elif "data" in event:
                events.append((event["id"], event["event"], json.loads(event["data"]).get("id")))
                event = {}
            else:
                event = {}
        return events

    connection, reply = follow()
    assert reply.readline() == b": welcome\n"
    first = daemon.api.submit(run="true", hold=True)
    (number, kind, job), = take(reply, 1)
    assert (kind, job) == ("job", first)
    connection.close()
    second, third = daemon.api.submit(run="true", hold=True), daemon.api.submit(run="true", hold=True)
    for priority in 1, 2, 3:
        daemon.api.patch("/v1/jobs/%d" % first, {"priority": priority})
    connection, reply = follow(number)
    missed = take(reply, 3)
    assert [entry[1:] for entry in missed] == [("job", second), ("job", third), ("job", first)]  # each once
    connection.close()
    connection, reply = follow(missed[-1][0])
    daemon.api.post("/v1/jobs/%d/cancel" % third)
    assert [entry[1:] for entry in take(reply, 1)] == [("job", third)]  # nothing was missed
    connection.close()
    for wrong in ("", "x", number.replace("-", "0-"), number.split("-")[0] + "-99999"):
        connection, reply = follow(wrong)
        assert take(reply, 1)[0][1:] == ("lost", None)
        connection.close()


# Fractions, gangs, arrays


def test_fractions_share_one_gpu_and_never_more_than_all_of_it(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:1")
    daemon.start()
    api = daemon.api
    documents = [{"run": "echo $TARN_GPU_MILLI; sleep 60", "gpus": 0.4, "cpus": 0.1} for _ in range(3)]
    a, b, c = api.submit(*documents)
    for number in (a, b):
        api.wait_state(number, "running")
    assert api.why(c)["kind"] == "gpus"
    gpu = api.get("/v1/gpus")["gpus"][0]
    assert abs(gpu["given"] - 0.8) < 1e-6 and {entry["id"] for entry in gpu["jobs"]} == {a, b}
    wait_until("it has said", lambda: api.output(a) == "400\n")
    memory = api.submit(run="sleep 60", gpus="mem=4G", cpus=0.1)
    api.wait_state(memory, "running")
    for number in (a, b, memory):
        api.post("/v1/jobs/%d/cancel" % number)
    api.wait_state(c, "running")
    api.post("/v1/jobs/%d/cancel" % c)
    for number in (a, b, memory, c):
        api.wait_end(number)
    assert api.get("/v1/gpus")["gpus"][0]["given"] == 0


GANG = """
import os, socket
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if rank == 0:
    server = socket.create_server(address)
    got = sorted(int(server.accept()[0].recv(9)) for _ in range(world - 1))
    print("ranks", got, "of", world, flush=True)
else:
    for _ in range(500):
        try:
            socket.create_connection(address).send(b"%d" % rank)
            break
        except OSError:
            __import__("time").sleep(0.02)
    print(os.environ["CUDA_VISIBLE_DEVICES"])
"""


def test_the_members_of_a_gang_find_each_other(api):
    number = api.submit(command=["python3", "-c", GANG], ranks=4, gpus=1, cpus=0.1)
    job = api.wait_end(number)
    assert job["result"] == "ok" and job["members"] == 4 and job["members_ended"] == 4
    assert api.output(number) == "ranks [1, 2, 3] of 4\n"
    seen = {api.output(number, rank=rank).strip() for rank in (1, 2, 3)}
    assert len(seen) == 3
    refused(400, "bad_request", "has no rank 4", api.output, number, rank=4)


def test_a_lost_member_ends_its_gang(api, daemon):
    number = api.submit(run="test $RANK = 1 && exit 5; sleep 60", ranks=3, gpus=1, cpus=0.1, env=daemon.env(), grace="1s")
    job = api.wait_end(number)
    assert job["result"] == "failed" and job["exit_code"] == 5 and daemon.leftovers() == []


def test_an_array_runs_its_tasks_a_few_at_a_time(api, tmp_path):
    number = api.submit(run="echo $TARN_ARRAY_INDEX $TARN_ARRAY_ID; sleep 0.05", array="1-9:2,20%2",
                        output=str(tmp_path / "%A-%a"))
    most = 0
    while not api.job(number)["result"]:
        counts = api.get("/v1/jobs")["counts"]
        most = max(most, counts["running"] + counts["granted"] + counts["stopping"])
    assert most <= 2
    group = api.job(number)
    assert (group["kind"], group["result"], group["job_count"], group["ended_count"]) == ("array", "ok", 6, 6)
    for index in (1, 3, 5, 7, 9, 20):
        assert (tmp_path / ("%d-%d" % (number, index))).read_text() == "%d %d\n" % (index, number)
    assert api.job("%d_20" % number)["label"] == "%d_20" % number
    refused(404, "not_found", "job %d_2: no such task" % number, api.job, "%d_2" % number)


def test_tasks_are_cancelled_one_by_one_or_all(api):
    number = api.submit(run="sleep 60", array="0-5")
    api.post("/v1/jobs/%d_3/cancel" % number)
    assert api.wait_end("%d_3" % number)["result"] == "cancelled"
    changed = api.post("/v1/jobs/%d/cancel" % number)["changed"]
    assert len(changed) == 5
    assert api.wait_group(number)["result"] == "cancelled"
    refused(409, "conflict", "changes nothing", api.post, "/v1/jobs/%d/cancel" % number)


# Pipelines


PIPELINE = {
    "name": "digits",
    "stages": {
        "prepare": {"run": "echo 7 > $TARN_OUT/data/n", "outputs": ["data"]},
        "train": {"needs": ["prepare"], "inputs": ["data"], "outputs": ["model"], "gpus": 1,
                  "matrix": {"lr": [0.1, 0.01], "seed": "1..2"},
                  "run": "echo $(cat $TARN_IN/data/n) ${lr} ${seed} > $TARN_OUT/model/m"},
        "count": {"needs": ["prepare"], "array": "0-2", "outputs": ["part"],
                  "run": "echo $TARN_ARRAY_INDEX > $TARN_OUT/part/p"},
        "report": {"needs": ["train", "count"], "inputs": ["model", "part", "data"],
                   "run": "cd $TARN_IN && cat data/n && grep . model/*/m part/*/p"},
        "cleanup": {"when": "always", "run": "echo cleaned"},
    },
}


def stage_jobs(group):
    return {stage["name"]: stage["jobs"] for stage in group["stages"]}


def test_a_pipeline_passes_directories_from_stage_to_stage(api):
    number = api.submit(PIPELINE)
    group = api.wait_group(number)
    assert (group["kind"], group["name"], group["result"], group["job_count"]) == ("pipeline", "digits", "ok", 10)
    jobs = stage_jobs(group)
    assert [stage["name"] for stage in group["stages"]] == list(PIPELINE["stages"])
    text = api.output(jobs["report"][0]["id"])
    assert sorted(text.splitlines()) == sorted(
        ["7"] + ["model/lr=%s,seed=%d/m:7 %s %d" % (lr, seed, lr, seed) for lr in ("0.1", "0.01") for seed in (1, 2)]
        + ["part/%d/p:%d" % (index, index) for index in range(3)])
    last = max(job["ended"] for name in ("report", "train") for job in jobs[name])
    assert jobs["cleanup"][0]["started"] >= last
    assert jobs["train"][0]["started"] >= jobs["prepare"][0]["ended"]


def test_what_a_failed_attempt_left_does_not_reach_the_next_stage(api):
    number = api.submit(name="twice", stages={
        "make": {"retry": 1, "outputs": ["data"], "run": "touch $TARN_OUT/data/of-$TARN_ATTEMPT $TARN_CHECKPOINT/of-$TARN_ATTEMPT\n"
                 "ls $TARN_OUT.attempts/1/data $TARN_CHECKPOINT; test $TARN_ATTEMPT = 2"},
        "use": {"needs": ["make"], "inputs": ["data"], "run": "ls $TARN_IN/data/"}})
    jobs = stage_jobs(api.wait_group(number))
    assert (jobs["make"][0]["result"], jobs["make"][0]["attempt"]) == ("ok", 2)
    assert api.output(jobs["use"][0]["id"]) == "of-2\n"
    kept = api.output(jobs["make"][0]["id"]).split()
    assert kept.count("of-1") == 3 and kept.count("of-2") == 1, kept  # aside, and twice in the checkpoint


def test_a_restart_tells_its_cause(api, daemon, tmp_path):
    flag = tmp_path / "flag"
    failing = api.submit(run="test -e %s || exit 3" % flag, retry=2, name="failing")
    wait_until("it has run twice", lambda: api.job(failing)["restarted"] == "exit status 3: retry 2 of 2")
    flag.touch()
    job = api.wait_end(failing)
    assert job["restarted"].startswith("exit status 3: retry ") and job["restarted"].endswith(" of 2"), job
    user = getpass.getuser()
    running = api.submit(command=["sleep", "60"], gpus=4)
    api.wait_state(running, "running")
    api.post("/v1/jobs/%d/requeue" % running)
    wait_until("it runs again", lambda: api.job(running)["attempt"] == 2 and api.job(running)["state"] == "running")
    assert api.job(running)["restarted"] == "requeued by %s" % user
    row, = [row for row in api.jobs() if row["id"] == running]
    assert row["restarted"] == "requeued by %s" % user
    daemon.kill()
    daemon.start()
    assert daemon.api.job(running)["restarted"] == "requeued by %s" % user
    shown = subprocess.run([TARN, "show", str(running)], env=dict(daemon.environment(), TARN_SOCKET=daemon.socket), text=True, stdout=subprocess.PIPE).stdout
    assert re.search(r"restarted +requeued by %s" % user, shown), shown
    daemon.api.post("/v1/jobs/%d/cancel" % running)
    daemon.api.wait_end(running)
    low = daemon.api.submit(command=["sleep", "600"], gpus=4, estimate="1h", max_duration="1h", preemptible=True, restart_cost="1s", grace="5s")
    daemon.api.wait_state(low, "running")
    time.sleep(1.5)
    urgent = daemon.api.submit(command=["sleep", "600"], gpus=4, estimate="10s", max_duration="20s", priority="high")
    daemon.api.wait_state(low, "queued")
    restarted = daemon.api.job(low)["restarted"]
    assert restarted.startswith("preempted for job %d: " % urgent), restarted
    assert "restarts  " + restarted in "\n".join(daemon.api.why(low)["lines"])


def test_after_a_failure_only_the_clean_up_runs(api):
    number = api.submit(name="bad", stages={
        "a": {"run": "exit 4"}, "b": {"needs": ["a"], "run": "true"}, "c": {"needs": ["b"], "run": "true"},
        "d": {"needs": ["b"], "when": "always", "run": "echo cleaned"}})
    group = api.wait_group(number)
    results = {name: jobs[0]["result"] for name, jobs in stage_jobs(group).items()}
    assert group["result"] == "failed"
    assert results == {"a": "failed", "b": "cancelled", "c": "cancelled", "d": "ok"}


def test_a_pipeline_is_requeued_from_what_failed(api, tmp_path):
    flag = tmp_path / "flag"
    number = api.submit(name="again", stages={
        "a": {"run": "echo a >> %s/ran" % tmp_path}, "b": {"needs": ["a"], "run": "test -e %s" % flag},
        "c": {"needs": ["b"], "run": "echo c >> %s/ran" % tmp_path}})
    assert api.wait_group(number)["result"] == "failed"
    flag.touch()
    assert len(api.post("/v1/jobs/%d/requeue" % number)["changed"]) == 2
    assert api.wait_group(number)["result"] == "ok"
    assert (tmp_path / "ran").read_text() == "a\nc\n"


def test_a_pipeline_runs_again_from_a_stage(daemon, api, tmp_path):
    number = api.submit(name="again", stages={name: dict({"run": "echo %s >> %s/ran" % (name, tmp_path), "env": daemon.env()}, **more)
                                              for name, more in (("a", {}), ("b", {"needs": ["a"], "array": "0-1"}), ("c", {"needs": ["b"]}),
                                                                 ("x", {"needs": ["a"]}), ("d", {"needs": ["c", "x"]}))})
    assert api.wait_group(number)["result"] == "ok"
    daemon.kill()
    daemon.start()
    stages = {stage["name"]: stage for stage in api.get("/v1/pipelines/%d" % number)["stages"]}
    needs = {name: [need["stage"] for need in stage["needs"]] for name, stage in stages.items()}
    assert needs == {"a": [], "b": [stages["a"]["id"]], "c": [stages["b"]["id"]], "x": [stages["a"]["id"]],
                     "d": [stages["c"]["id"], stages["x"]["id"]]}
    assert [name for name, stage in stages.items() if stage["critical"]][0] == "a" and stages["d"]["critical"]
    ran = open(tmp_path / "ran").read().split()
    assert sorted(ran) == ["a", "b", "b", "c", "d", "x"]
    changed = api.post("/v1/jobs/%d/requeue?following=1" % stages["b"]["id"])["changed"]
    assert len(changed) == 4
    assert api.wait_group(number)["result"] == "ok"
    again = open(tmp_path / "ran").read().split()[len(ran):]
    assert again == ["b", "b", "c", "d"]
    done = subprocess.run([TARN, "requeue", "--following", str(stages["d"]["id"])], env=daemon.environment(), capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("requeued "), done
    assert api.wait_group(number)["result"] == "ok" and open(tmp_path / "ran").read().split()[-1] == "d"
    with pytest.raises(Refused, match="expected a stage"):
        api.post("/v1/jobs/%d/requeue?following=1" % number)
    with pytest.raises(Refused, match="there is none"):
        api.get("/v1/pipelines/%d" % changed[0])
    assert number in [one["id"] for one in api.get("/v1/pipelines")["pipelines"]]


def test_a_pipeline_with_an_active_stage_does_not_run_again_from_there(daemon, api):
    number = api.submit(name="busy", stages={"a": {"run": "true"}, "b": {"needs": ["a"], "run": "sleep 1000"}}, env=daemon.env())
    stages = {stage["name"]: stage["id"] for stage in api.get("/v1/pipelines/%d" % number)["stages"]}
    wait_until("b runs", lambda: api.job(stages["b"] + 1)["state"] == "running")
    with pytest.raises(Refused, match="still active"):
        api.post("/v1/jobs/%d/requeue?following=1" % stages["a"])
    api.post("/v1/jobs/%d/cancel" % number)
    api.wait_group(number)


def test_a_pipeline_is_cancelled_as_a_whole(api):
    number = api.submit(name="long", stages={"a": {"run": "sleep 60"}, "b": {"needs": ["a"], "run": "true"},
                                             "z": {"when": "always", "run": "true"}})
    wait_until("a runs", lambda: stage_jobs(api.job(number))["a"][0]["state"] == "running")
    assert len(api.post("/v1/jobs/%d/cancel" % number)["changed"]) >= 2
    group = api.wait_group(number)
    assert group["result"] == "cancelled" and [stage["result"] for stage in group["stages"]] == ["cancelled", "cancelled", "ok"]
    followed, = [shown for shown in api.get("/v1/pipelines")["pipelines"] if shown["id"] == number]
    assert followed["result"] == "cancelled"


def test_a_cancelled_pipeline_is_cleaned_up(api):
    number = api.submit(name="long", stages={
        "a": {"run": "sleep 600"}, "b": {"needs": ["a"], "run": "true"}, "z": {"when": "always", "run": "echo cleaned"},
        "y": {"needs": ["a"], "when": "always", "run": "sleep 600"}})
    jobs = stage_jobs(api.job(number))
    wait_until("a runs", lambda: api.job(jobs["a"][0]["id"])["state"] == "running")
    changed = api.post("/v1/jobs/%d/cancel" % number)["changed"]
    assert changed == [jobs["a"][0]["id"], jobs["b"][0]["id"]]
    wait_until("y runs", lambda: api.job(jobs["y"][0]["id"])["state"] == "running")
    assert api.post("/v1/jobs/%d/cancel" % number)["changed"][-1:] == [jobs["y"][0]["id"]]  # the second one takes what cleans up
    results = {name: jobs[0]["result"] for name, jobs in stage_jobs(api.wait_group(number)).items()}
    assert results == {"a": "cancelled", "b": "cancelled", "z": "ok", "y": "cancelled"}


def test_a_pipeline_that_waits_is_cleaned_up_when_it_is_cancelled(api):
    number = api.submit(name="held", hold=True, stages={"a": {"run": "true"}})  # nothing to clean up
    assert len(api.post("/v1/jobs/%d/cancel" % number)["changed"]) == 1
    number = api.submit(name="later", stages={"a": {"run": "true", "begin": "now+1h"}, "z": {"when": "always", "run": "true"}})
    assert len(api.post("/v1/jobs/%d/cancel" % number)["changed"]) == 1
    results = {name: jobs[0]["result"] for name, jobs in stage_jobs(api.wait_group(number)).items()}
    assert results == {"a": "cancelled", "z": "ok"}


@pytest.mark.parametrize("fails", (True, False))
def test_a_requeued_pipeline_is_cleaned_up_again_and_at_the_end(api, tmp_path, fails):
    ran = tmp_path / "ran"
    if not fails:
        (tmp_path / "flag").touch()
    number = api.submit(name="again", stages={
        "a": {"run": "echo a >> %s" % ran}, "b": {"needs": ["a"], "run": "echo b >> %s; test -e %s/flag" % (ran, tmp_path)},
        "z": {"when": "always", "run": "echo z >> %s" % ran}})
    assert api.wait_group(number)["result"] == ("failed" if fails else "ok")
    (tmp_path / "flag").touch()
    api.post("/v1/jobs/%d/requeue" % number)
    assert api.wait_group(number)["result"] == "ok"
    assert ran.read_text().split() == ["a", "b", "z"] + (["b", "z"] if fails else ["a", "b", "z"])


def test_mistakes_in_a_pipeline_are_named(api):
    for stages, words in (({"a": {"run": "true", "need": ["b"]}}, "did you mean 'needs'"),
                          ({"a": {"run": "true", "needs": ["b"]}}, "b"),
                          ({"a": {"run": "true", "needs": ["b"]}, "b": {"run": "true", "needs": ["a"]}}, "->"),
                          ({"a": {"run": "true", "inputs": ["x"]}}, "x")):
        with pytest.raises(Refused) as caught:
            api.submit(stages=stages)
        assert caught.value.status == 400 and words in caught.value.message, caught.value.message


# Output and events


def test_output_is_followed_until_the_end(api):
    number = api.submit(run="for i in 1 2 3 4 5; do echo line $i; sleep 0.05; done")
    assert api.output(number, follow=1) == "".join("line %d\n" % i for i in range(1, 6))
    assert api.output(number, tail=2) == "line 4\nline 5\n"
    assert api.output(number, tail=0) == ""
    assert api.output(number, offset=28) == "line 5\n"
    assert api.output(number, offset=10000) == ""
    refused(400, "bad_request", "tail", api.output, number, tail="x")


def test_output_of_a_waiting_job_can_be_followed_from_the_start(api):
    number = api.submit(run="echo now", begin="now+1s")
    assert api.output(number, follow=1) == "now\n"


def test_a_partial_last_line_is_given_too(api):
    number = api.submit(run="printf 'a\\nb'")
    api.wait_end(number)
    assert api.output(number) == "a\nb" and api.output(number, tail=1) == "b"


def test_events_tell_every_state_until_the_end(api):
    number = api.submit(run="sleep 0.1", hold=True)
    seen = []

    def listen():
        for kind, job in api.events("/v1/jobs/%d/events" % number):
            seen.append((kind, job["id"], job["state"]))

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    wait_until("the first event is there", lambda: seen)
    api.post("/v1/jobs/%d/release" % number)
    thread.join(30)
    assert not thread.is_alive()
    states = [state for _, _, state in seen]
    assert states[0] == "held" and states[-1] == "ended" and "running" in states
    assert {(kind, job) for kind, job, _ in seen} == {("job", number)}


def test_events_of_a_group_end_with_its_last_job(api):
    number = api.submit(name="two", stages={"a": {"run": "sleep 0.2"}, "b": {"needs": ["a"], "run": "true"}})
    seen = list(api.events("/v1/jobs/%d/events" % number))
    kinds = {kind for kind, _ in seen}
    assert kinds == {"job", "group"} and seen[-1][0] == "group" and seen[-1][1]["result"] == "ok"
    assert seen[-1][1]["ended_count"] == 2


def test_events_of_a_group_that_is_over_end_with_its_result(api):
    number = api.submit(run="true", array="1-3")
    assert api.wait_group(number)["result"] == "ok"
    seen = list(api.events("/v1/jobs/%d/events" % number))
    assert [kind for kind, _ in seen] == ["group", "job", "job", "job", "group"]
    assert seen[0] == seen[-1] and seen[-1][1]["result"] == "ok"


def test_jobs_of_a_group_that_end_at_once_all_have_an_event(api):
    number = api.submit(run="true", array="1-3", hold=True)
    seen = []

    def follow():
        for event in api.events("/v1/jobs/%d/events" % number):
            seen.append(event)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    wait_until("the current state is there", lambda: len(seen) == 4)
    api.post("/v1/jobs/%d/cancel" % number)
    thread.join(PATIENCE_S)
    assert not thread.is_alive()
    ended = [event["id"] for kind, event in seen if kind == "job" and event["state"] == "ended"]
    assert len(set(ended)) == 3
    assert seen[-1][0] == "group" and (seen[-1][1]["result"], seen[-1][1]["ended_count"]) == ("cancelled", 3)


def test_who_leaves_a_stream_costs_nothing_more(api, daemon):
    number = api.submit(run="sleep 60")
    api.wait_state(number, "running")
    for _ in range(5):
        for path in ("/v1/jobs/%d/events", "/v1/jobs/%d/output?follow=1"):
            stream = api_stream(daemon.socket, path % number)
            stream.close()
    before = cpu_ticks(daemon.process.pid)
    time.sleep(1)
    assert cpu_ticks(daemon.process.pid) - before < 50, "it is busy with those who left"
    daemon.check_sane()
    if int(os.environ.get("TARN_FAULT_ROUNDS", "0")) > 100:
        wait_until("their connections are closed", lambda: sockets_of(daemon.process.pid) <= 2, 40)


def sockets_of(pid):
    folder = "/proc/%d/fd" % pid
    return len([name for name in os.listdir(folder) if os.readlink(folder + "/" + name).startswith("socket:")])


def api_stream(path, target):
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(10)
    stream.connect(path)
    stream.sendall(("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % target).encode())
    stream.recv(100)
    return stream


def cpu_ticks(pid):
    fields = read_file("/proc/%d/stat" % pid).rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


# Configuration


def test_fair_share_and_pools_are_configured_and_told(api):
    config = {"pools": {"keep": {"type": "static", "queue": "prod", "gpus": 2}},
              "queues": {"prod": {"guarantee": 1}, "dev": {"weight": 3, "limit": 2}}}
    assert api.put("/v1/config?dry_run=1", config)["applied"] is False
    assert api.put("/v1/config", config)["applied"] is True
    assert {queue["name"] for queue in api.get("/v1/queues")["queues"]} >= {"prod", "dev", "default"}
    assert "keep" in {pool["name"] for pool in api.get("/v1/pools")["pools"]}
    assert api.put("/v1/config", config)["changes"] == []
    number = api.submit(run="sleep 60", gpus=2, queue="prod", pool="keep")
    api.wait_state(number, "running")
    refused(422, "never", "keep", api.submit, run="true", gpus=1, queue="dev", pool="keep")
    with pytest.raises(Refused) as caught:
        api.put("/v1/config", {"queues": {"prod": {"wieght": 1}}})
    assert caught.value.status == 400 and "weight" in caught.value.message
    api.post("/v1/jobs/%d/cancel" % number)


def test_lists_have_pages_and_filters(api):
    ids = api.submit(*[{"run": "true", "hold": True, "name": "n%d" % (i % 2)} for i in range(25)])
    page = api.get("/v1/jobs", limit=10)
    assert [job["id"] for job in page["jobs"]] == ids[:10] and page["next"] == ids[9]
    page = api.get("/v1/jobs", limit=10, after=ids[19])
    assert [job["id"] for job in page["jobs"]] == ids[20:] and page["next"] is None
    assert len(api.get("/v1/jobs", name="n1")["jobs"]) == 12
    assert api.get("/v1/jobs", state="running,ended")["jobs"] == []
    assert page["counts"]["held"] == 25
    refused(400, "bad_request", "state", api.get, "/v1/jobs", state="sleeping")
    refused(400, "bad_request", "limit", api.get, "/v1/jobs", limit=0)


# Other people


@pytest.fixture
def shared(make_daemon):
    if not IS_ROOT:
        pytest.skip("needs root, to be several users")
    daemon = make_daemon(options=["--all-users"])
    # As `tarn run` of root leaves it, when that starts the daemon.
    os.makedirs(daemon.state, exist_ok=True)
    os.chmod(daemon.state, 0o700)
    daemon.start()
    return daemon


def test_jobs_run_as_who_sent_them(shared):
    api = shared.api
    number = as_user(NOBODY, lambda: api.submit(run="id -u; id -G; echo $HOME $USER; grep NoNewPrivs /proc/self/status",
                                               cwd="/", sender_env={"HOME": "/root", "USER": "root"}))
    job = api.wait_end(number)
    assert job["user"] == "nobody" and job["result"] == "ok", job
    lines = as_user(NOBODY, lambda: api.output(number)).splitlines()
    assert lines[0] == "65534" and "0" not in lines[1].split(), lines
    assert "nobody" in lines[2] and "/root" not in lines[2]
    assert lines[3].split() == ["NoNewPrivs:", "1"]
    assert os.stat(job["launch"]["output"]).st_uid == NOBODY


def test_others_may_look_and_not_touch(shared):
    api = shared.api
    number, array = api.submit({"run": "echo secret; sleep 60"}, {"run": "sleep 60", "array": "0-1"})
    api.wait_state(number, "running")
    seen = as_user(NOBODY, lambda: api.job(number))
    assert seen["state"] == "running" and seen["launch"] is None
    for path in ("cancel", "hold", "requeue"):
        for target in (str(number), str(array), "%d_1" % array):
            refused(403, "forbidden", "belongs to another user", as_user, NOBODY,
                    lambda: api.post("/v1/jobs/%s/%s" % (target, path)))
    refused(403, "forbidden", "belongs to", as_user, NOBODY,
            lambda: api.patch("/v1/jobs/%d" % number, {"priority": 1}))
    refused(403, "forbidden", "only its owner", as_user, NOBODY, lambda: api.output(number))
    refused(403, "forbidden", "administrators", as_user, NOBODY, lambda: api.post("/v1/stop"))
    refused(403, "forbidden", "administrators", as_user, NOBODY, lambda: api.put("/v1/config", {}))
    own = as_user(NOBODY, lambda: api.submit(run="sleep 60", cwd="/"))
    assert api.post("/v1/jobs/%d/cancel" % own)["changed"] == [own]  # root may


def plant(path, target):
    os.symlink(target, path)
    return True


def test_links_in_the_way_reach_nothing_of_others(shared, tmp_path):
    api, state = shared.api, shared.state
    secret = os.path.join(shared.root, "secret")
    with open(secret, "w") as file:
        file.write("for root only")
    os.chmod(secret, 0o600)
    closed = os.path.join(shared.root, "closed")
    os.mkdir(closed, 0o775)
    os.chmod(closed, 0o775)  # also not with the groups of the daemon
    first = as_user(NOBODY, lambda: api.submit(run="true", cwd="/", outputs=["d"]))
    api.wait_end(first)

    log = "%s/logs/%d/%d.out" % (state, NOBODY, first + 1)
    assert as_user(NOBODY, lambda: plant(log, secret))
    assert as_user(NOBODY, lambda: plant("%s.1" % log, secret))
    number = as_user(NOBODY, lambda: api.submit(run="echo gotcha", cwd="/"))
    assert number == first + 1
    job = api.wait_end(number)
    assert job["result"] == "failed" and "output not writable" in job["reason"], job
    assert as_user(NOBODY, lambda: api.output(number)) == "" and read_file(secret) == "for root only"

    log = "%s/logs/%d/%d.out" % (state, NOBODY, first + 2)
    assert as_user(NOBODY, lambda: plant(log, closed + "/made"))
    api.wait_end(as_user(NOBODY, lambda: api.submit(run="echo gotcha", cwd="/")))

    folder = "%s/data/%d/%d" % (state, NOBODY, first + 3)
    assert as_user(NOBODY, lambda: plant(folder, closed))
    number = as_user(NOBODY, lambda: api.submit(run="true", cwd="/", outputs=["made"]))
    assert api.wait_end(number)["result"] == "failed"

    folder = "%s/data/%d/%d.checkpoint" % (state, NOBODY, first + 4)
    assert as_user(NOBODY, lambda: plant(folder, closed + "/made"))
    api.wait_end(as_user(NOBODY, lambda: api.submit(run="true", cwd="/", retry=1)))
    assert os.listdir(closed) == []

    for keys in ({"input": secret}, {"output": closed + "/o"}, {"cwd": "/root/x"}, {"error": secret}):
        number = as_user(NOBODY, lambda: api.submit(**dict({"run": "cat", "cwd": "/"}, **keys)))
        assert api.wait_end(number)["result"] == "failed", keys
    number = as_user(NOBODY, lambda: api.submit(run="true", cwd="/", begin="now+1h", output=secret))
    assert as_user(NOBODY, lambda: api.output(number)) == ""
    assert os.listdir(closed) == [] and read_file(secret) == "for root only"


def test_the_state_folder_is_closed_to_others(shared):
    api = shared.api
    number = api.submit(run="echo secret")
    api.wait_end(number)
    for name in ("journal.db", "run", "logs/0", "logs/0/%d.out" % number, "lock"):
        path = os.path.join(shared.state, name)
        mode = os.stat(path).st_mode
        assert os.stat(path).st_uid == 0
        assert not as_user(NOBODY, lambda: os.access(path, os.R_OK)), (name, oct(mode))
