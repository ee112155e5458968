# SPDX-License-Identifier: Apache-2.0
"""Every request that the API describes, with real objects: what is answered is what /v1/openapi.json says.

tarn_test.Client compares each reply with the description (contract.py).
"""

import gzip
import json
import os
import socket
import subprocess
import threading

import pytest

import tarn_test
from tarn_test import IS_ROOT, Refused, as_user, wait_until
from test_gpu import Machine

CONFIG = {"pools": {"shared": {"min": 0}}, "queues": {"research": {"guarantee": 1, "budget": 100}},
          "prices": {"h100": 2.5}, "windows": {"nights": "22:00-06:00"}}


@pytest.fixture(autouse=True)
def compared(monkeypatch):
    monkeypatch.setenv("TARN_CONTRACT", "1")


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.options += ["--all-users"]
    os.chmod(machine.daemon.root, 0o711)
    machine.daemon.start()
    return machine


def ask_about_jobs(api, daemon):
    running = api.submit(run="echo hello; sleep 300", gpus=1, cpus=0, priority=1, env=daemon.env())
    gang = api.submit(run="sleep 300", gpus=1, cpus=0, ranks="1..2", checkpoint={"every": "auto"}, env=daemon.env())
    waiting = api.submit(run="true", gpus=2, cpus=0, queue="research", max_duration="1h", env=daemon.env())
    array = api.submit(run="sleep 300", gpus=1, cpus=0, array="0-3", env=daemon.env())
    pipeline = api.submit(name="digits", stages={"a": {"run": "true", "gpus": 2}, "b": {"run": "true", "needs": ["a"]}})
    ended = api.submit(command=["sh", "-c", "exit 3"], cpus=0)
    repeating = api.submit(run="true", schedule="0 2 * * *")
    api.wait_state(running, "running")
    wait_until("the gang has a device", lambda: api.job(gang)["state"] == "running")
    api.wait_end(ended)
    api.post("/v1/jobs?dry_run=1", [{"run": "true"}, {"run": "true", "array": "0-1"}])
    api.get("/v1/jobs", all=1, since=1000, until=0, limit=3, newest=1)
    assert api.get("/v1/jobs", rows=1, state="queued,failed", after=1)["jobs"]
    api.get("/v1/jobs", queue="research", user="root", name="x", group=array)
    for number in (running, gang, waiting, array, "%d_1" % array, pipeline, ended):
        for path in ("", "/why", "/when"):
            api.get("/v1/jobs/%s%s" % (number, path))
    api.patch("/v1/jobs/%d" % waiting, {"priority": 2, "max_duration": "2h", "begin": "now+1h", "queue": None})
    api.why(waiting)
    api.post("/v1/when", {"run": "true", "gpus": 1, "sender_cwd": "/"})
    api.post("/v1/choose", {"run": "true", "gpus": 1, "sender_cwd": "/"})
    wait_until("it has spoken", lambda: api.output(running) == "hello\n")
    assert api.output(running, offset=1, tail=5, rank=0, stream="output") == "hello\n"
    assert next(api.events("/v1/jobs/%d/events" % running))[0] == "job"
    assert next(api.events("/v1/jobs/%d/events" % array))[0] == "group"
    for verb, number in (("hold", waiting), ("release", waiting), ("hold", array), ("checkpoint", running),
                         ("signal?name=USR2", gang), ("requeue", gang)):
        assert api.post("/v1/jobs/%s/%s" % (number, verb))["changed"]
    status, _ = api.raw("POST", "/v1/jobs/%d/exec?rank=0" % running)
    assert status == 101
    events = api.events("/v1/events")
    changing = threading.Timer(0.2, lambda: api.post("/v1/jobs/%d/cancel?signal_now=1" % array))
    changing.start()  # the stream is silent until something changes
    assert next(events)[0] == "job"
    changing.join()
    events.close()
    assert api.get("/v1/cron")["cron"][0]["id"] == repeating
    api.ask("DELETE", "/v1/cron/%d" % repeating)
    return running


def ask_about_devices(api):
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    device = wait_until("a device is read", lambda: next((gpu for gpu in api.get("/v1/gpus")["gpus"] if gpu["reading"]), None))
    for name in (device["uuid"], "%s/%d" % (node, device["index"])):
        api.post("/v1/gpus/%s/drain" % name, {"reason": "fan"})
        api.get("/v1/gpus")
        api.post("/v1/gpus/%s/undrain" % name)
        api.post("/v1/gpus/%s/clear" % name)
        api.get("/v1/gpus/%s/history" % name, last="10m", step="1s", keys="gpu_use,power")
    assert api.get("/v1/topology")["gpus"][0]["links"]
    assert api.post("/v1/nodes/%s/interrupt" % node, {"in": "3d"})["going_at"]
    assert api.get("/v1/nodes")["nodes"][0]["going_at"]
    api.post("/v1/nodes/%s/interrupt" % node, {"cancel": True})
    api.post("/v1/nodes/%s/drain" % node)
    api.post("/v1/nodes/%s/undrain" % node)
    api.post("/v1/alerts/silences", {"name": "hot", "for": "2h", "comment": "known"})
    assert api.get("/v1/alerts")["silences"]
    api.ask("DELETE", "/v1/alerts/silences?name=hot&subject=*")
    assert api.get("/v1/overview")["nodes"][0]["gpus"]
    for path in ("/v1/pools", "/v1/queues", "/v1/scale", "/metrics?hostname=old&names=new", "/metrics/dcgm"):
        api.get(path)


def ask_about_plans(api):
    api.post("/v1/reservations", {"name": "course", "for": {"queue": "research"}, "when": "mon 14:00-16:00", "gpus": 1})
    assert api.get("/v1/reservations")["reservations"][0]["by"] == "root" or not IS_ROOT
    api.ask("DELETE", "/v1/reservations?name=course")
    seen = api.put("/v1/config?dry_run=1", dict(CONFIG, order="fifo"))["last"]
    api.put("/v1/config?seen=%d" % seen, dict(CONFIG, order="fifo"))
    assert api.get("/v1/config/changes")["changes"]
    assert api.get("/v1/config", at=seen) == api.get("/v1/config", at=seen)
    api.post("/v1/config/undo?dry_run=1&change=%d" % (seen + 1))
    api.post("/v1/config/undo")
    config = api.get("/v1/config")
    said = api.post("/v1/whatif", {"add_nodes": "1:h100:8", "set": ["order=fifo"], "submit": {"run": "true", "sender_cwd": "/"}})
    assert said["jobs"]
    api.post("/v1/rehearsal", {"config": config, "last": "1d", "shown": 5})
    for by in ("user", "queue", "job", "model", "stage"):
        assert api.get("/v1/report", by=by, last="1d", shown=3)["rows"]
    assert api.get("/v1/report", last="1h", step="10m")["periods"] and api.get("/v1/report", last="1d", step="month")["periods"]
    kept = [api.get("/v1/report", last="1d", step="1h", kept=1) for _ in range(2)]
    assert kept[0] == kept[1] and api.get("/v1/report", last="1d", step="1h")["until"] > kept[0]["until"]
    assert api.get("/v1/forecast", limit=10)["from"]
    assert api.get("/v1/jobs/%d/timeline" % api.get("/v1/jobs", all=1)["jobs"][0]["id"])["events"][0]["what"] == "submit"
    [pipeline] = api.get("/v1/pipelines", limit=1)["pipelines"]
    assert api.get("/v1/pipelines/%d" % pipeline["id"])["stages"]
    api.get("/v1/estimates", last="1d")


def ask_about_access(api):
    assert api.get("/v1/whoami")["by"] == "peer"
    assert api.get("/v1/login") == {"password": False}
    made = api.post("/v1/tokens", {"name": "laptop", "scope": "read", "queues": ["research"], "expires_in": "1h"})
    api.post("/v1/tokens?login=1")
    assert len(api.get("/v1/tokens", all=1)["tokens"]) == 2
    api.ask("DELETE", "/v1/tokens/%d" % made["id"])
    assert api.get("/v1/audit", limit=2, last="1h")["changes"][0]["operation"] == "revokeToken"


def ask_again(api, path):
    """A client that has the reply is told so, and has the new one when it is another."""
    connection = api.connection()
    tags = []
    for known in (None, "", "W/x, %s", "*", '"other"'):
        connection.request("GET", path, headers={} if known is None else {"If-None-Match": known.replace("%s", "".join(tags[:1]))})
        reply = connection.getresponse()
        tags.append(reply.getheader("ETag"))
        text = reply.read()
        is_known = known in ("W/x, %s", "*")
        assert (reply.status, text == b"") == ((304, True) if is_known else (200, False)), (path, known)
    assert len(set(tags)) == 1 and tags[0].startswith('"')
    connection.close()


def ask_packed(api):
    """The overview is shared by many viewers, with gzip for those that take it."""
    connection, replies = api.connection(), []
    for encoding in ("gzip, br", "identity"):
        connection.request("GET", "/v1/overview", headers={"Accept-Encoding": encoding})
        reply = connection.getresponse()
        text = reply.read()
        replies.append((json.loads(gzip.decompress(text) if reply.getheader("Content-Encoding") == "gzip" else text), reply.getheader("Content-Encoding")))
    assert [encoding for _, encoding in replies] == ["gzip", None]
    assert replies[0][0]["nodes"] == replies[1][0]["nodes"]
    connection.close()


def test_every_request_is_answered_as_described(machine):
    api, daemon = machine.api, machine.daemon
    api.put("/v1/config", CONFIG)
    ask_about_jobs(api, daemon)
    ask_about_devices(api)
    ask_about_plans(api)
    ask_about_access(api)
    api.get("/v1/daemon")
    api.get("/v1/openapi.json")
    for path in ("/v1/nodes", "/v1/config", "/v1/openapi.json"):
        ask_again(api, path)
    ask_packed(api)
    api.post("/v1/stop?kill=1")
    contract = tarn_test.contracts[0]
    for _, _, _, operation in contract.routes:
        wanted = {int(status) for status in operation["responses"] if status not in ("304", "default")}
        streams = any("text/event-stream" in reply.get("content", {}) for reply in operation["responses"].values())
        seen = contract.answered.get(operation["operationId"], set())
        is_over_tcp = operation["operationId"] in ("beginSession", "endSession", "logIn")  # test_door.py, test_web.py, test_login.py
        assert wanted <= seen or streams or is_over_tcp, "%s: seen %s, described %s" % (operation["operationId"], seen, wanted)


def fill(path, node):
    return path.format(job=99, cron=99, gpu="nope", node=node, index=77, token=99)


def operations(document):
    return [(method.upper(), path, operation) for path, methods in document["paths"].items()
            for method, operation in methods.items()]


def test_what_is_wrong_is_refused_as_described(machine):
    """Unknown parameters, bodies of the wrong form, objects that do not exist: a message, never a status of 5xx."""
    api = machine.api
    document = api.get("/v1/openapi.json")
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    for method, path, operation in operations(document):
        target = fill(path, node)
        needed = "".join("&%s=nope" % entry["name"] for entry in operation["parameters"]
                         if entry.get("in") == "query" and entry["required"])
        status, text = api.raw(method, target + "?nope=1" + needed)
        assert status == 400 and b"unknown parameter 'nope'" in text, (method, target, text)
        for name in [entry["name"] for entry in operation["parameters"] if entry.get("in") == "query"][:1]:
            status, text = api.raw(method, target + "?" + "&".join(["%s=1" % name] * 2))
            assert status == 400 and b"'%s': more than once" % name.encode() in text, (method, target, text)
        if needed:
            status, text = api.raw(method, target)
            assert status == 400 and b"is missing" in text, (method, target, text)
        for entry in operation["parameters"]:
            if entry.get("in") == "query" and entry["schema"]["type"] == "integer":
                status, text = api.raw(method, "%s?%s=x%s" % (target, entry["name"], needed))
                assert status == 400 and entry["name"].encode() in text, (method, target, text)
        if "{" in path and "{node}/" not in path:
            status, text = api.raw(method, target + needed.replace("&", "?"), "{}" if "requestBody" in operation else None)
            assert status in (400, 404, 409), (method, target, status, text)
        for body in ("{", "[1]", '{"nope": 1}', '"x"', "") if "requestBody" in operation else ():
            if body == "" and not operation["requestBody"]["required"]:
                continue
            status, text = api.raw(method, target, body)
            assert 400 <= status < 500 and status != 405, (method, target, body, text)


@pytest.mark.skipif(not IS_ROOT, reason="needs root, to be another user")
def test_callers_are_those_that_are_described(machine):
    """What only administrators may request is refused to others before anything is read."""
    node = machine.api.get("/v1/nodes")["nodes"][0]["name"]
    closed = [(method, fill(path, node)) for method, path, operation in operations(machine.api.get("/v1/openapi.json"))
              if operation["description"] == "Callers: administrators."]
    assert len(closed) > 10
    for method, target in closed:
        with pytest.raises(Refused) as refused:
            as_user(65534, lambda: machine.api.ask(method, target, {}))
        assert (refused.value.status, refused.value.code) == (403, "forbidden"), (method, target)


def test_other_methods_and_paths_are_refused(machine):
    document = machine.api.get("/v1/openapi.json")
    node = machine.api.get("/v1/nodes")["nodes"][0]["name"]
    for path, methods in document["paths"].items():
        for method in ("GET", "PUT", "POST", "PATCH", "DELETE"):
            if method.lower() in methods:
                continue
            with pytest.raises(Refused) as refused:
                machine.api.ask(method, fill(path, node))
            assert (refused.value.status, refused.value.code) == (405, "bad_method")
    for path in ("/v1", "/v1/", "/v2/jobs", "/v1/jobs/", "/v1/jobs/x", "/v1/cron/1_2", "/v1/jobs/7/nope"):
        with pytest.raises(Refused) as refused:
            machine.api.get(path)
        assert (refused.value.status, refused.value.code) == (404, "not_found")


def receive(connection):
    """A whole message."""
    message = b""
    while True:
        head, end, body = message.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0]):
            return message
        chunk = connection.recv(65536)
        assert chunk, message
        message += chunk


def test_a_submission_whose_reply_is_lost_is_sent_again_and_accepted_once(machine):
    """A socket before the daemon passes the submission on, and closes before the reply, or before the daemon has it."""
    path = os.path.join(machine.daemon.root, "lossy.sock")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(8)

    def pass_on(is_heard, is_answered):
        client, _ = listener.accept()
        request = receive(client)
        if is_heard:
            daemon = socket.socket(socket.AF_UNIX)
            daemon.connect(machine.daemon.socket)
            daemon.sendall(request)
            reply = receive(daemon)
            if is_answered:
                client.sendall(reply)
            daemon.close()
        client.close()
        return request

    command = subprocess.Popen([tarn_test.TARN, "submit", "--", "true"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=dict(machine.daemon.own_environment(), TARN_SOCKET=path))
    requests = [pass_on(True, False), pass_on(False, False), pass_on(True, True)]
    out, words = command.communicate(timeout=tarn_test.PATIENCE_S)
    listener.close()
    assert command.returncode == 0 and "closed the connection without a reply; trying again" in words, (out, words)
    assert len(set(requests)) == 1 and b"Idempotency-Key: " in requests[0]
    assert len(machine.api.jobs()) == 1
