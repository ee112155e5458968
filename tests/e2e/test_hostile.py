# SPDX-License-Identifier: Apache-2.0
"""What comes to the door from people who mean no good, or from broken clients.

After each: the daemon answers as always, its memory is bounded, no sanitizer has complained.
"""

import json
import os
import random
import resource
import select
import socket
import time

import pytest

from tarn_test import Refused, is_sanitized, wait_until

MEMORY_KIB_MAX = 120 << 10


@pytest.fixture(autouse=True)
def answers_as_always(daemon):
    yield
    daemon.check_sane()
    number = daemon.api.submit(run="true")
    assert daemon.api.wait_end(number)["result"] == "ok"
    if not is_sanitized():
        wait_until("its memory is as before", lambda: daemon.memory_kib() < MEMORY_KIB_MAX, 20)


def connect(daemon):
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(30)
    stream.connect(daemon.socket)
    return stream


def send(daemon, *parts, finish=True):
    """What comes back for these bytes, until the daemon closes or falls silent."""
    with connect(daemon) as stream:
        try:
            for part in parts:
                stream.sendall(part)
            if finish:
                stream.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        got = b""
        stream.settimeout(1)
        try:
            while True:
                chunk = stream.recv(65536)
                if not chunk:
                    break
                got += chunk
        except OSError:
            pass
        return got


def post(daemon, body, path="/v1/jobs"):
    status, text = daemon.api.raw("POST", path, body)
    return status, json.loads(text)["error"]["message"] if status >= 400 else text.decode()


def test_a_huge_body_is_refused(daemon):
    status, words = post(daemon, b'{"run": "true", "comment": "' + b"x" * (33 << 20) + b'"}')
    assert status == 413 and "32 MiB" in words
    # Announced, and not sent.
    got = send(daemon, b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999\r\n\r\n{")
    assert b" 201 " not in got
    got = send(daemon, b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999999\r\n\r\n{")
    assert b" 201 " not in got


def test_bodies_just_below_the_limit_do_not_add_up(daemon):
    body = b'{"run": "true", "comment": "' + b"x" * (30 << 20)
    streams = []
    for _ in range(6):
        stream = connect(daemon)
        stream.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (31 << 20))
        stream.settimeout(1)
        try:
            stream.sendall(body)
        except OSError:
            pass
        streams.append(stream)
    if not is_sanitized():
        assert daemon.memory_kib() < 220 << 10  # 96 MiB of bodies at once
    for stream in streams:
        stream.close()


@pytest.mark.parametrize("opening,closing", [(b"[", b"]"), (b'{"env":', b"}"), (b'{"stages":{"a":', b"}}")])
def test_deep_nesting_is_refused(daemon, opening, closing):
    for depth in (100, 2000, 100000):
        status, words = post(daemon, opening * depth + b"1" + closing * depth)
        assert status == 400 and words


def test_many_values_are_bounded(daemon):
    for body in (b"[" + b"{}," * 2000000 + b"{}]", b'{"run":"true","command":[' + b'"",' * 1000000 + b'""]}',
                 b'{"run":"true","env":{' + b",".join(b'"a%d":""' % i for i in range(200000)) + b"}}",
                 json.dumps([{"run": "true", "array": "0-3999999"}] * 50).encode(),
                 json.dumps({"run": "true", "array": "0-9999", "matrix": {"a": list(range(1000))}}).encode(),
                 json.dumps({"stages": {"s%d" % i: {"run": "true"} for i in range(1000)}}).encode(),
                 json.dumps({"run": "true", "matrix": {"p%d" % i: [1, 2] for i in range(16)}}).encode()):
        status, words = post(daemon, body)
        assert status == 400 and words, (status, body[:80])
    assert daemon.api.jobs() == []


def test_what_is_not_text_is_refused(daemon):
    for body in (b"", b"\xff\xfe", b'{"run": "\xff\xff"}', b'{"run": "a\\u0000b"}', b'{"run": "a\x00b"}', b"\x00" * 100,
                 b'{"run": "\\ud800"}', b'{"run": "true"', b'{"run": "true"} x', b'{"run" "true"}', b"null", b"7",
                 b'"run"', b"[]", b"[1]", b"[[]]", b'{"run": NaN}', b'{"run": 1e999}', b'{"priority": 1e999, "run":"x"}'):
        status, words = post(daemon, body)
        assert status == 400 and words, (status, body)


def test_keys_given_twice_are_refused(daemon):
    for body in (b'{"run": "true", "run": "false"}', b'{"run": "true", "env": {"A": "1", "A": "2"}}'):
        status, words = post(daemon, body)
        assert status == 400 and "uplicate" in words.lower(), words


KEYS = ["name", "run", "command", "script", "args", "queue", "pool", "priority", "hold", "begin", "depends", "gpus",
        "cpus", "memory", "ranks", "nodes", "array", "matrix", "needs", "when", "inputs", "outputs", "retry", "requeue",
        "max_duration", "grace", "env", "export", "cwd", "output", "error", "input", "append", "comment", "stages",
        "defaults", "sender_env", "sender_cwd", "checkpoint", "spot", "preemptible", "cache", "schedule", "deadline",
        "estimate", "restart_cost"]
VALUES = [None, True, False, 0, -1, 1, 0.5, -0.5, 1e300, -1e300, 9223372036854775807, -9223372036854775808, 4294967296,
          "", " ", "x", "-1", "18446744073709551616", "\u0001", "../../etc", "/", "%", "%s%n%99999999d", "a" * 70000,
          "now-1h", "0-", "1:2:3:4:5", "99999999999999999999h", "${x}", "\U0001f4a9" * 100, [], [None], [[]], [{}], [0],
          ["x"] * 100, [""], {}, {"x": None}, {"": ""}, {"x": {"x": {"x": []}}}, {"any_of": [{}], "sharing": 7},
          {"a=b": "c"}, {"x": "y\u0000"[:1]}, {"indices": "0-3", "max_running": -1}, {"every": -1}]


def test_wrong_types_and_values_everywhere_have_a_clear_answer(daemon):
    """Every key with every value, beside a good command: accepted or refused in words, never else."""
    kept = []
    for key in KEYS:
        for value in VALUES:
            document = {"run": "true", "hold": True}
            if key in ("command", "script", "stages"):
                del document["run"]
            document[key] = value
            status, text = daemon.api.raw("POST", "/v1/jobs?dry_run=1", json.dumps(document))
            answer = json.loads(text)
            if status >= 400:
                message = answer["error"]["message"]
                assert status in (400, 404, 422) and 0 < len(message) < 4000, (key, value, message)
            else:
                assert status == 200, (status, key, value)
                kept.append(key)
    assert "comment" in kept and "priority" in kept
    for value in VALUES:
        stages = {"stages": {"a": value, "b": {"run": "true"}}}
        status, _ = daemon.api.raw("POST", "/v1/jobs?dry_run=1", json.dumps(stages))
        assert status == 400, value
        status, text = daemon.api.raw("PATCH", "/v1/jobs/1", json.dumps(value))
        assert status in (400, 404), text


def test_configurations_of_all_kinds_have_a_clear_answer(daemon):
    places = (lambda value: value, lambda value: {"queues": value}, lambda value: {"pools": value},
              lambda value: {"queues": {"a": value}}, lambda value: {"pools": {"a": value}},
              lambda value: {"queues": {"a": {"weight": value}}}, lambda value: {"queues": {"a": {"limit": value}}},
              lambda value: {"queues": {"a": {"guarantee": value}}}, lambda value: {"queues": {"a": {"queues": value}}},
              lambda value: {"pools": {"a": {"gpus": value}}}, lambda value: {"pools": {"a": {"devices": value}}},
              lambda value: {"fair_share": {"half_life": value}}, lambda value: {"backfill": value},
              lambda value: {"placement": value}, lambda value: {"queues": {"a": {"parent": value}}})
    for place in places:
        for value in VALUES:
            status, text = daemon.api.raw("PUT", "/v1/config?dry_run=1", json.dumps(place(value)))
            assert status in (200, 400), (status, text, place(value))
    for config in ({"queues": {"a": {"parent": "b"}, "b": {"parent": "a"}}}, {"queues": {"a": {"parent": "a"}}},
                   {"queues": {"q%d" % i: {} for i in range(3000)}}, {"pools": {"p%d" % i: {} for i in range(3000)}}):
        with pytest.raises(Refused) as caught:
            daemon.api.put("/v1/config", config)
        assert caught.value.status == 400


def test_numbers_of_jobs_that_are_none(daemon):
    daemon.api.submit(run="true", hold=True)
    for number in ("18446744073709551616", "18446744073709551615", "-1", "7_99999999999", "1_", "1_-1", "_1", "0", "00",
                   "0x1", "1e3", "1%20", "1%00", "99999999999999999999999999999999", "1_4294967295", "%2e%2e", ".."):
        for method, rest in (("GET", ""), ("GET", "/why"), ("GET", "/output"), ("GET", "/events"), ("POST", "/cancel"),
                             ("PATCH", "")):
            status, _ = daemon.api.raw(method, "/v1/jobs/%s%s" % (number, rest), '{"priority": 1}')
            assert status in (400, 404, 405), (number, method, rest, status)
    assert daemon.api.job(1)["state"] == "held"


def test_parameters_of_all_kinds(daemon):
    api = daemon.api
    number = api.submit(run="echo x")
    api.wait_end(number)
    big = "99999999999999999999999999"
    for query in ("limit=" + big, "limit=-1", "limit=0", "limit=x", "limit=10001", "after=" + big, "after=-1", "after=x",
                  "state=x", "group=x", "group=-1", "group=" + big):
        status, _ = api.raw("GET", "/v1/jobs?" + query)
        assert status == 400, query
    for query in ("after=18446744073709551615", "user=" + "x" * 1000, "queue=%00", "name=%ff%fe", "state=" + "running," * 1000, "limit=10000",
                  "all=", "nothing=1", "&&&=&", "%", "state="):
        status, text = api.raw("GET", "/v1/jobs?" + query)
        assert status in (200, 400, 404) and json.loads(text), query
    path = "/v1/jobs/%d/output?" % number
    for query in ("offset=-1", "offset=" + big, "tail=" + big, "tail=-1", "rank=1", "rank=" + big, "stream=nothing"):
        assert api.raw("GET", path + query)[0] == 400, query
    assert api.raw("GET", path + "offset=9223372036854775807") == (200, b"")
    assert api.raw("GET", path + "tail=1000000") == (200, b"x\n")


def test_paths_and_methods_that_there_are_not(daemon):
    for path in ("/v1", "/v1/", "/v1/jobs/", "/v2/jobs", "/v1/jobs/1/", "/v1/../../etc/passwd", "/etc/passwd",
                 "/v1/jobs/1/output/../../..", "/v1/%6aobs/x", "//v1/jobs", "/" + "a" * 20000, "/%00", "/\xc3\xa4"):
        for method in ("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE", "BREW", "HEAD"):
            got = send(daemon, ("%s %s HTTP/1.1\r\nHost: x\r\n\r\n" % (method, path)).encode("latin-1"))
            status = int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/1.1 ") else 400
            assert 400 <= status < 500, (method, path, got[:100])
    assert daemon.api.raw("DELETE", "/v1/jobs/1")[0] == 405


def test_what_is_not_http(daemon):
    chance = random.Random(7)
    for parts in ((b"\r\n" * 1000,), (b"GET",), (b"GET /v1/daemon",), (b"GET /v1/daemon HTTP/9.9\r\n\r\n",),
                  (b"GET /v1/daemon HTTP/1.1\r\n" + b"X: y\r\n" * 100000 + b"\r\n",),
                  (b"GET /v1/daemon HTTP/1.1\r\nHost: " + b"x" * 1000000 + b"\r\n\r\n",),
                  (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",),
                  (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}",),
                  (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nx",),
                  (b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nx",),
                  (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",), (b"\x16\x03\x01\x02\x00" + bytes(500),),
                  (chance.randbytes(5000),), (b"GET /v1/daemon HTTP/1.1\r\n\x00\x00: \x00\r\n\r\n",)):
        got = send(daemon, *parts)
        assert b" 201 " not in got and len(got) < 100000


def test_pipelined_garbage_after_a_good_request(daemon):
    good = b"GET /v1/daemon HTTP/1.1\r\nHost: x\r\n\r\n"
    got = send(daemon, good * 50)
    assert got.count(b"HTTP/1.1 200") == 50
    got = send(daemon, good + b"\x00\xff garbage \r\n\r\n" * 100)
    assert got.count(b"HTTP/1.1 200") == 1
    body = b'{"run": "true", "hold": true}'
    request = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    got = send(daemon, request * 20)
    assert got.count(b"HTTP/1.1 201") == 20
    assert len(daemon.api.jobs()) == 20


def test_half_requests_leave_nothing_behind(daemon):
    for _ in range(200):
        with connect(daemon) as stream:
            stream.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 100000)
    for _ in range(200):
        with connect(daemon) as stream:
            stream.sendall(b'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n{"run": "true", "hold": true }\n')
    wait_until("all of the second kind are taken or dropped",
               lambda: len(os.listdir("/proc/%d/fd" % daemon.process.pid)) < 60)
    assert all(job["state"] == "held" for job in daemon.api.jobs())


def test_slow_senders_hold_up_nobody(daemon):
    streams = [connect(daemon) for _ in range(100)]
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n"
    for at in range(len(head) + 10):
        for stream in streams:
            try:
                stream.send((head + b" " * 10)[at:at + 1])
            except OSError:
                pass
        if at % 10 == 0:
            assert daemon.api.get("/v1/daemon")["api"] == 1
    number = daemon.api.submit(run="echo fine")
    assert daemon.api.wait_end(number)["result"] == "ok"
    for stream in streams:
        stream.close()


def test_readers_that_do_not_read_are_let_go(daemon):
    number = daemon.api.submit(run="yes | head -c 50M")
    daemon.api.wait_end(number)
    streams = []
    for path in ("/v1/jobs/%d/output" % number, "/v1/events", "/v1/jobs/%d/output?follow=1" % number) * 10:
        stream = connect(daemon)
        stream.sendall(("GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path).encode())
        streams.append(stream)
    daemon.api.post("/v1/jobs", [{"run": "true", "hold": True}] * 3000)
    daemon.check_sane()
    if not is_sanitized():
        assert daemon.memory_kib() < 250 << 10
    for stream in streams:
        stream.close()


def test_six_hundred_connections(daemon):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1200:
        pytest.skip("needs 1200 open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1200), hard))
    streams = []
    try:
        for _ in range(900):
            stream = socket.socket(socket.AF_UNIX)
            stream.setblocking(False)
            try:
                stream.connect(daemon.socket)
            except BlockingIOError:
                stream.close()
                break
            streams.append(stream)
        time.sleep(0.2)
        daemon.check_words()
        assert daemon.is_alive()
        # Those beyond the limit are closed, not kept.
        closed = [stream for stream in streams if select.select([stream], [], [], 0)[0]]
        assert len(streams) - len(closed) <= 736  # even for the owner
    finally:
        for stream in streams:
            stream.close()

    def answers():
        try:
            return daemon.api.get("/v1/daemon")["api"] == 1
        except OSError:  # the places of those that left are free in a moment
            return False

    wait_until("it answers", answers)


def test_paths_in_names_reach_nothing(api, daemon, tmp_path):
    for name in ("..", ".", "../x", "a/b", "/etc", "a\x00b"[:1] + "/../..", "-x", "", "x" * 64, "a b"):
        for document in ({"run": "true", "outputs": [name]},
                         {"stages": {name: {"run": "true"}}},
                         {"stages": {"a": {"run": "true", "outputs": ["d"]},
                                     "b": {"run": "true", "needs": ["a"], "inputs": [name]}}},
                         {"run": "true", "queue": name}, {"run": "true", "pool": name}):
            status, text = api.raw("POST", "/v1/jobs", json.dumps(document))
            assert status in (400, 404), (document, status, text)
    for name in ("..", ".", "", "  ", "x" * 256, "a\nb", "a\x1b[2J"):  # any other text is the name of a job
        assert api.raw("POST", "/v1/jobs", json.dumps({"run": "true", "name": name}))[0] == 400, name
    number = api.submit(run="echo here", name="../../x", cwd=str(tmp_path), output="%x.out")
    api.wait_state(number, "ended")
    assert os.listdir(tmp_path) == [".._.._x.out"]
    os.unlink(tmp_path / ".._.._x.out")
    number = api.submit(run="echo 1 > $TARN_OUT/d/made", matrix={"p": ["../../../x", "/etc/x", "..", "a b"]}, outputs=["d"],
                        cwd=str(tmp_path), output="%x.out")
    group = api.wait_group(number)
    for job in group["stages"][0]["jobs"]:
        assert job["result"] == "ok", job
    inside = {name for base, folders, files in os.walk(daemon.root) for name in folders + files}
    assert not os.path.exists(os.path.join(daemon.root, "x")) and "etc" not in inside
    assert all("/" not in name and name.endswith(".out") for name in os.listdir(tmp_path))


def test_environment_bombs(api):
    for env in ({"A": "x" * 200000}, {"A%d" % i: "x" * 100000 for i in range(20)}, {"=": "x"}, {"A=B": "x"}, {"": "x"},
                {"A": 1.5e300}, {"A": ["x"]}, {"LONG" * 50000: "x"}):
        status, text = api.raw("POST", "/v1/jobs", json.dumps({"run": "true", "env": env}))
        assert status in (400, 201), text
        if status == 201:
            api.wait_end(json.loads(text)["submitted"][0]["id"])
    number = api.submit(run="true", sender_env={"V%d" % i: "y" * 900 for i in range(1000)})
    assert api.wait_end(number)["result"] == "ok"
    # What a job must not set for others: how its supervisor is loaded.
    number = api.submit(run="env", env={"LD_PRELOAD": "/no/such.so", "BASH_ENV": "/no/such", "PATH": "/usr/bin:/bin"})
    assert api.wait_end(number)["result"] == "ok"


def test_random_bytes_in_good_requests(daemon):
    chance = random.Random(11)
    good = json.dumps({"name": "x", "run": "true", "gpus": "h100:1|mem=3G:2", "matrix": {"a": [1, "b"]}, "hold": True,
                       "env": {"A": "b"}, "array": "0-9:2%3", "begin": "now+1h", "max_duration": "1h30m"}).encode()
    for _ in range(400):
        body = bytearray(good)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(body))
            how = chance.randrange(3)
            if how == 0:
                body[at] = chance.randrange(256)
            elif how == 1:
                del body[at:at + chance.randint(1, 5)]
            else:
                body[at:at] = body[chance.randrange(len(body)):][:10]
        status, text = daemon.api.raw("POST", "/v1/jobs?dry_run=1", bytes(body))
        assert status in (200, 400, 404, 422), (status, bytes(body))
        assert json.loads(text)


def test_errors_that_quote_half_a_character_say_what_is_wrong(daemon):
    for start in ("", "a"):
        with pytest.raises(Refused) as refused:
            daemon.api.submit(run="true", gpus=1, where=start + "é" * 60)
        assert refused.value.message.startswith("where: '" + start) and "expected conditions" in refused.value.message
