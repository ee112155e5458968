# SPDX-License-Identifier: Apache-2.0
"""Attacks on the door that are made by hand, byte by byte (doc/security.md)."""

import http.client
import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import time

import pytest

import tarn_test
from test_door import PROXY_SECRET, Box, message
from webpage import box  # noqa: F401 (a fixture)


def say(box, request, source=""):
    """What the server answers to these bytes, until it closes or is silent."""
    link = ssl._create_unverified_context().wrap_socket(socket.create_connection(("127.0.0.1", box.port), timeout=5, source_address=(source, 0)))
    reply = b""
    try:
        link.sendall(request)
        while True:
            chunk = link.recv(65536)
            if not chunk:
                break
            reply += chunk
    except OSError:
        pass
    link.close()
    return reply


def request(box, target, method="GET", headers=(), token=None, source=""):
    lines = ["%s %s HTTP/1.1" % (method, target), "Host: localhost", "Connection: close", "Content-Length: 0", *headers]
    if token:
        lines.append("Authorization: Bearer " + token)
    return say(box, "\r\n".join(lines + ["", ""]).encode("latin-1"), source)


WEAK = ["NULL", "aNULL", "RC4", "3DES", "EXPORT", "DES", "MD5", "kRSA", "AES128-SHA", "ECDHE+SHA1+AES", "ECDHE-RSA-AES128-SHA256"]


@pytest.mark.skipif(not shutil.which("openssl"), reason="not installed: openssl")
@pytest.mark.parametrize("ciphers", WEAK)
def test_weak_ciphers_are_refused(box, ciphers):
    done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % box.port, "-tls1_2", "-cipher", ciphers + ":@SECLEVEL=0"],
                          input="", capture_output=True, text=True, timeout=tarn_test.PATIENCE_S)
    if "no cipher match" in done.stderr:
        pytest.skip("openssl has no such cipher")
    assert "Cipher is (NONE)" in done.stdout, done.stdout


@pytest.mark.skipif(not shutil.which("openssl"), reason="not installed: openssl")
def test_what_is_offered_is_new_and_has_forward_secrecy(box):
    seen = set()
    for version in ("-tls1_2", "-tls1_3"):
        done = subprocess.run(["openssl", "s_client", "-connect", "127.0.0.1:%d" % box.port, version], input="", capture_output=True,
                              text=True, timeout=tarn_test.PATIENCE_S)
        seen.add(re.search(r"Cipher is (\S+)", done.stdout)[1])
        assert "Compression: NONE" in done.stdout or "No ALPN" in done.stdout
        assert "Secure Renegotiation IS NOT supported" not in done.stdout or version == "-tls1_3"
    assert all(re.match(r"ECDHE-.*(GCM|POLY1305)|TLS_", name) for name in seen), seen


@pytest.mark.parametrize("target", [
    "/../../../../etc/passwd", "/web/../../../etc/passwd", "/web/%2e%2e/%2e%2e/etc/passwd", "/web/..%2f..%2fetc%2fpasswd", "//etc/passwd",
    "/web/%00", "/v1/jobs/%00", "/v1/jobs/1%00/output", "/v1/jobs/../tokens", "/v1/jobs/1/..%2ftokens", "/web/\xff\xfe", "/" + "a" * 60000,
    "http://evil.example/v1/jobs", "*",
])
def test_no_path_leads_elsewhere(box, target):
    for token in (None, box.token(scope="read")):
        reply = request(box, target, token=token)
        assert b"root:" not in reply and b'"tokens":' not in reply
        assert not reply or re.match(rb"HTTP/1\.[01] (400|401|403|404|405|414|431) ", reply), reply[:200]


@pytest.mark.parametrize("bytes", [
    b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /v1/jobs HTTP/1.1\r\n\r\n",
    b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET /v1/jobs HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"GET /v1/jobs HTTP/9.9\r\n\r\n", b"\0" * 1000, b"GET /v1/jobs HTTP/1.1\r\nX: " + b"y" * 100000 + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /v1/jobs/1/exec HTTP/1.1\r\nHost: localhost\r\nUpgrade: tarn-bridge\r\nConnection: Upgrade\r\n\r\n" + b"\x03\0\0\x08\0\0\0\0\0id\0",
])
def test_bytes_that_are_no_honest_request_show_nothing(box, bytes):
    number = box.daemon.api.submit(name="secret-name", command=["true"], env=box.daemon.env())
    box.daemon.api.wait_end(number)
    reply = say(box, bytes)
    assert b"secret-name" not in reply and b" 101 " not in reply and b" 200 " not in reply, reply[:300]


ASK = "GET /v1/whoami HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n"
CHUNKED = "Transfer-Encoding: chunked"


@pytest.mark.parametrize("headers,body", [
    (["Content-Length: 5", CHUNKED], "0\r\n\r\n"), ([CHUNKED, "Content-Length: 5"], "0\r\n\r\n"), (["Content-Length: 0", "Content-Length: 2"], "{}"),
    (["Content-Length: 2, 2"], "{}"), (["Content-Length: +2"], "{}"), (["Content-Length: -2"], "{}"), (["Content-Length: 0x2"], "{}"), (["Content-Length : 2"], "{}"),
    (["Transfer-Encoding: xchunked"], "0\r\n\r\n"), (["Transfer-Encoding: identity", CHUNKED], "0\r\n\r\n"),
    (["Transfer-Encoding: gzip, chunked"], "0\r\n\r\n"), (["Transfer-Encoding:", " chunked"], "0\r\n\r\n"), (["Transfer-Encoding : chunked"], "0\r\n\r\n"),
    (["Host: evil.example"], ""), (["Authorization: Bearer x"], ""), (["Cookie: a=b", "Cookie: c=d"], ""), (["Origin: https://localhost"] * 2, ""),
    (["X: a\nX: b"], ""), (["X: a\rX: b"], ""), (["X: a\0b"], ""), (["X: a", " b"], ""), (["X: a", "\tb"], ""),
    ([CHUNKED], "2\n{}\r\n0\r\n\r\n"), ([CHUNKED], "2\r\n{}\n0\r\n\r\n"), ([CHUNKED], "2\r\n{}\r\n0\n\n"), ([CHUNKED], "2;\nx\r\n{}\r\n0\r\n\r\n"),
    ([CHUNKED], "-2\r\n{}\r\n0\r\n\r\n"), ([CHUNKED], "10000000000000002\r\n{}\r\n0\r\n\r\n"),
])
def test_an_ambiguous_request_ends_the_connection(box, headers, body):
    """A proxy in front may see another end of the request: what follows must not be answered as the next one."""
    token = box.token(scope="read")
    head = ["POST /v1/when HTTP/1.1", "Host: localhost", "Authorization: Bearer " + token, *headers, "", body]
    reply = say(box, ("\r\n".join(head) + ASK % token).encode())
    assert re.match(rb"HTTP/1\.1 4\d\d ", reply) and b'"by":"token"' not in reply, reply
    assert b'"by":"token"' in say(box, (ASK % token).encode())


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_a_limit_of_bytes_is_that_of_the_user_of_a_token():
    root = tarn_test.make_folder()
    os.chmod(root, 0o711)
    box = Box(root, "--all-users")
    api = box.daemon.api
    try:
        api.put("/v1/config", {"journal": {"user_mib": 4}})
        token = tarn_test.as_user(65534, lambda: api.post("/v1/tokens", {"scope": "submit"})["token"])

        def submit(letter, mib):
            text = "#!/bin/sh\n#" + letter * ((1 << 20) - 16)
            return json.dumps([{"script": text[:-3] + "%03d" % number, "sender_cwd": "/"} for number in range(mib)])

        assert box.ask("POST", "/v1/jobs", token, submit("a", 3))[0] == 201
        status, reply = box.ask("POST", "/v1/jobs", token, submit("b", 2))
        assert status == 429 and "expected at most 4 MiB a day" in message(reply), reply
        with pytest.raises(tarn_test.Refused, match="expected at most 4 MiB a day"):
            tarn_test.as_user(65534, lambda: api.post("/v1/jobs", json.loads(submit("c", 2))))
    finally:
        box.stop()
        tarn_test.remove_folder(root)


def test_no_cache_keeps_a_reply_and_no_browser_guesses_its_type(box):
    number = box.daemon.api.submit(command=["echo", "<html>"], env=box.daemon.env())
    box.daemon.api.wait_end(number)
    token = box.token(scope="submit")
    for path in ("/v1/jobs", "/v1/jobs/%d" % number, "/v1/jobs/%d/output" % number, "/v1/nothing", "/v1/daemon", "/metrics", "/v1/tokens", "/v1/login"):
        for one in (token, None):
            head = request(box, path, token=one).partition(b"\r\n\r\n")[0]
            assert b"\r\nCache-Control: no-store" in head and b"\r\nX-Content-Type-Options: nosniff" in head, (path, head)
            assert head.count(b"Cache-Control") == 1, (path, head)
    assert b"\r\nCache-Control: no-cache" in request(box, "/")


def test_a_cookie_of_another_name_in_the_domain_is_none(box):
    """A neighbour, evil.example.org, can plant a cookie for example.org, but none with this prefix."""
    token = box.token(scope="submit")
    assert b" 401 " in request(box, "/v1/whoami", headers=["Cookie: tarn=" + token])
    assert b" 200 " in request(box, "/v1/whoami", headers=["Cookie: tarn=tarn_1_x; __Host-tarn=" + token])
    assert re.search(rb"Set-Cookie: __Host-tarn=[^;]+; Path=/; (?!.*Domain)", request(box, "/v1/session", "POST", token=token))


def test_only_the_proxy_itself_names_users():
    root = tarn_test.make_folder()
    secret = os.path.join(root, "secret")
    with open(secret, "w") as file:
        os.chmod(secret, 0o600)
        file.write(PROXY_SECRET)
    name = pwd.getpwuid(os.geteuid()).pw_name
    other = Box(root, "--proxy", "127.0.0.2", "--proxy-secret", secret)
    try:
        good = ["Tarn-Proxy-Secret: " + PROXY_SECRET, "X-Forwarded-User: " + name]
        assert b" 401 " in request(other, "/v1/whoami", headers=good)  # not from its address
        assert b" 401 " in request(other, "/v1/whoami", headers=good + ["X-Forwarded-For: 127.0.0.2", "X-Real-IP: 127.0.0.2", "Forwarded: for=127.0.0.2"])
        assert b'"by":"proxy"' in request(other, "/v1/whoami", headers=good, source="127.0.0.2")
        for more in (["X-Forwarded-User: nobody"], ["Tarn-Proxy-Secret: x"]):  # what a client sent, and the proxy did not remove
            for headers in (good + more, more + good):
                assert b" 401 " in request(other, "/v1/whoami", headers=headers, source="127.0.0.2")
    finally:
        other.stop()
        tarn_test.remove_folder(root)


@pytest.mark.parametrize("host", ["localhost.evil.example", "evil.example#localhost", "localhost@evil.example", "127.0.0.1.evil.example", ""])
def test_a_name_that_was_rebound_is_refused(box, host):
    status, reply = box.ask("GET", "/v1/jobs", box.token(), host=host)
    assert status in (400, 403), (status, reply)


@pytest.mark.parametrize("origin", ["null", "http://localhost", "https://localhost.evil.example", "https://evil.example", "https://localhost:1"])
def test_a_page_of_another_origin_cannot_use_the_cookie(box, origin):
    status, _ = box.ask("POST", "/v1/session", box.token(scope="submit"))
    cookie = {"Cookie": "__Host-tarn=" + box.token(scope="submit"), "Origin": origin}
    assert status == 201
    for method, path in (("POST", "/v1/jobs"), ("DELETE", "/v1/session"), ("PUT", "/v1/config")):
        got, reply = box.ask(method, path, body={"command": ["true"]}, headers=cookie)
        assert got == 403 and "another site" in message(reply), (got, reply)


def test_a_session_is_new_whatever_cookie_came_along(box):
    """Fixation: the value that an attacker has planted is worth nothing."""
    planted = "tarn_1_" + "A" * 43
    link = box.token(scope="submit")
    reply = request(box, "/v1/session", "POST", ["Cookie: __Host-tarn=" + planted], link)
    cookie = re.search(rb"Set-Cookie: __Host-tarn=([^;]+); (.*)\r\n", reply)
    assert cookie and cookie[1].decode() not in (planted, link)
    assert set(cookie[2].decode().split("; ")) >= {"HttpOnly", "Secure", "SameSite=Strict", "Path=/"}
    assert b" 401 " in request(box, "/v1/whoami", headers=["Cookie: __Host-tarn=" + planted])
    mine = "Cookie: __Host-tarn=" + cookie[1].decode()
    assert b" 200 " in request(box, "/v1/whoami", headers=[mine])
    assert b" 200 " in request(box, "/v1/session", "DELETE", [mine, "Origin: https://localhost"])
    assert b" 401 " in request(box, "/v1/whoami", headers=[mine])


def session_of(box, token):
    return "Cookie: __Host-tarn=" + re.search(rb"Set-Cookie: __Host-tarn=([^;]+)", request(box, "/v1/session", "POST", token=token))[1].decode()


def test_a_session_is_no_way_to_keep_a_token_that_ends(box):
    """A stolen token must not become a session that outlives it."""
    token = box.token(scope="submit", expires_in="1h")
    session = session_of(box, token)
    assert b" 403 " in request(box, "/v1/session", "POST", [session])  # no session from a session
    of_token, of_session = [entry["expires"] for entry in box.ask("GET", "/v1/tokens", token)[1]["tokens"]][-2:]
    assert of_session <= of_token
    assert b" 200 " in request(box, "/v1/whoami", headers=[session])
    assert box.ask("DELETE", "/v1/tokens/%s" % token.split("_")[1], token)[0] == 200
    assert b" 401 " in request(box, "/v1/whoami", headers=[session])


# What a token of each scope may do; the rest needs an administrator.
READS = {"estimateDocument", "chooseModel", "askWhatIf", "rehearse", "beginSession", "endSession", "logIn"}


def test_no_route_lets_a_token_do_more_than_its_scope(box):
    """Every route of the API with a token of every scope, of a user with all rights."""
    document = box.daemon.api.get("/v1/openapi.json")
    tokens = {scope: box.token(scope=scope) for scope in ("read", "submit", "queues", "admin")}
    count = 0
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method not in ("get", "post", "put", "patch", "delete") or operation["operationId"] in ("followAll", "stopDaemon", "endSession"):
                continue
            target = re.sub(r"\{(\w+)\}", lambda part: {"gpu": "none", "node": "none", "index": "0"}.get(part[1], "999999"), path)
            for scope, token in tokens.items():
                status, reply = box.ask(method.upper(), target, token, None if method == "get" else {})
                needs = "read" if method == "get" or operation["operationId"] in READS else "submit"
                count += 1
                if scope == "read" and needs == "submit":
                    assert status == 403 and ("the scope of the token is 'read'" in message(reply)), (method, path, reply)
                assert status != 401 and status < 500, (method, path, scope, reply)
                if operation["description"] == "Callers: administrators." and scope != "admin":
                    assert status == 403 and "expected 'admin'" in message(reply), (method, path, scope, reply)
    assert count > 250
    assert box.ask("POST", "/v1/stop", tokens["queues"])[0] == 403
    for scope in ("read", "submit", "queues"):
        assert box.ask("POST", "/v1/tokens", tokens[scope], {})[0] == 403


def test_addresses_with_secrets_in_the_configuration_are_for_administrators(box):
    before = box.daemon.api.get("/v1/config")
    secret = {"alerts": {"webhook": "https://hooks.example/services/T0/SECRET", "mail_server": "smtps://ana:SECRET@mail.example:465",
                         "mail": ["c@d.example"]}}
    box.daemon.api.put("/v1/config", secret)
    try:
        token, admin = box.token(scope="submit"), box.token(scope="admin")
        asks = [("GET", "/v1/config", None), ("GET", "/v1/config/changes", None), ("PUT", "/v1/config?dry_run=1", {}), ("POST", "/v1/config/undo?dry_run=1", None)]
        number = box.daemon.api.get("/v1/config/changes")["last"]
        for method, path, body in asks + [("GET", "/v1/config?at=%d" % number, None)]:
            status, reply = box.ask(method, path, token, body)
            assert status == 200 and "SECRET" not in json.dumps(reply), (path, reply)
            status, reply = box.ask(method, path, admin, body)
            assert status == 200 and "SECRET" in json.dumps(reply), (path, reply)
        seen = box.ask("GET", "/v1/config", token)[1]["alerts"]
        assert seen["webhook"] == "https://hooks.example/..." and seen["mail_server"] == "smtps://mail.example:465"
    finally:
        box.daemon.api.put("/v1/config", before)


def test_a_token_of_few_rights_ends_no_other_one(box):
    weak, strong = box.token(scope="submit"), box.token(scope="admin")
    status, reply = box.ask("DELETE", "/v1/tokens/%s" % strong.split("_")[1], weak)
    assert status == 403 and "more rights" in message(reply), reply
    assert box.ask("DELETE", "/v1/tokens/%s" % weak.split("_")[1], weak)[0] == 200


def test_secrets_are_in_no_log_no_file_and_no_process(box):
    token = box.token(scope="submit")
    request(box, "/v1/session", "POST", token=token)
    box.ask("GET", "/v1/jobs", token + "x")
    box.tarn("exec", "1", "--", "true", status=None, TARN_HOST=box.url, TARN_TOKEN=token, TARN_FINGERPRINT=box.fingerprint())
    secret = token.split("_", 2)[2].encode()  # it may have "_" in it
    assert secret.decode() not in box.daemon.words()
    for base, _, names in os.walk(box.daemon.state):
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    assert secret not in file.read(), path
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as file:
                assert secret not in file.read(), pid
        except OSError:
            pass


def test_names_and_output_cannot_become_markup_or_headers(box):
    """Replies are JSON or plain text, never a type that a browser guesses."""
    number = box.daemon.api.submit(command=["sh", "-c", "echo '<script>alert(1)</script>'"], env=box.daemon.env())
    box.daemon.api.wait_end(number)
    token = box.token(scope="read")
    for path in ("/v1/jobs", "/v1/jobs/%d" % number, "/v1/jobs/%d/output" % number, "/v1/jobs/%3Cscript%3E", "/v1/nothing%0d%0aX: y"):
        head = request(box, path, token=token).partition(b"\r\n\r\n")[0]
        assert re.search(rb"Content-Type: (application/json|text/plain)", head), head
        assert b"\r\nX: y" not in head
    refused = request(box, "/v1/jobs", "POST", ["Content-Type: application/json"], token)
    assert json.loads(refused.partition(b"\r\n\r\n")[2])["error"]["code"] == "forbidden"


@pytest.fixture
def plain():
    """A door without TLS, so that many connections cost little."""
    root = tarn_test.make_folder()
    box = Box(root, scheme="http")
    yield box
    box.daemon.stop()
    tarn_test.remove_folder(root)


@pytest.mark.parametrize("query", ["&".join("a%d=1" % i for i in range(1000)), "&" * 5000, "all=1&" * 64 + "b"])
def test_many_parameters_are_refused_with_words(box, query):
    reply = say(box, ("GET /v1/jobs?%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % query).encode())
    assert reply.startswith(b"HTTP/1.1 414 ") and b"more than 64 parameters in the query" in reply


def connect_slowly(port, count):
    links = []
    for _ in range(count):
        link = socket.create_connection(("127.0.0.1", port), timeout=tarn_test.PATIENCE_S)
        link.send(b"G")
        links.append(link)
    return links


def is_closed(link):
    """Whether the server has ended it; a byte of a head goes out if not."""
    link.setblocking(False)
    try:
        link.send(b"E")
        return link.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def test_slow_strangers_do_not_close_the_door(plain):
    """A byte now and then, from more connections than there are."""
    links = connect_slowly(plain.port, 900)
    try:
        token = plain.token()
        known = [http.client.HTTPConnection("127.0.0.1", plain.port, timeout=tarn_test.PATIENCE_S) for _ in range(40)]
        for one in known:  # they stay
            one.request("GET", "/v1/whoami", headers={"Authorization": "Bearer " + token})
            reply = one.getresponse()
            assert reply.status == 200, reply.read()
            reply.read()
        left = [link for link in links if not is_closed(link)]
        assert len(left) <= 64
        tarn_test.wait_until("each is closed, though it sends", lambda: all([is_closed(link) for link in left]))
    finally:
        for link in links:
            link.close()


def test_a_slow_body_of_a_stranger_has_a_deadline(plain):
    link = socket.create_connection(("127.0.0.1", plain.port), timeout=tarn_test.PATIENCE_S)
    link.send(b"POST /v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 8000\r\n\r\n{")
    tarn_test.wait_until("it is closed, though it sends", lambda: time.sleep(0.5) or is_closed(link))
    link.close()



@pytest.fixture(scope="module")
def shared():
    """A door for users of their own: with tokens, and behind a proxy."""
    root = tarn_test.make_folder()
    secret = os.path.join(root, "secret")
    with open(secret, "w") as file:
        os.chmod(secret, 0o600)
        file.write(PROXY_SECRET + "\n")
    os.chmod(root, 0o755)
    box = Box(root, "--all-users", "--proxy", "127.0.0.1", "--proxy-secret", secret, scheme="http")
    yield box
    box.daemon.stop()
    tarn_test.remove_folder(root)


def identify(box, way, user):
    return ({"Authorization": "Bearer " + box.token(user=user)} if way == "token" else
            {"Tarn-Proxy-Secret": PROXY_SECRET, "X-Forwarded-User": user})


def begin_slowly(box, head):
    """A request whose body never comes, and what is answered at once."""
    link = socket.create_connection(("127.0.0.1", box.port), timeout=tarn_test.PATIENCE_S)
    lines = ["POST /v1/jobs HTTP/1.1", "Host: localhost", "Content-Length: 1000", *("%s: %s" % item for item in head.items())]
    link.sendall(("\r\n".join(lines) + "\r\n\r\n{").encode())
    return link


def answers_of(links):
    """What came on those that the server has answered or closed."""
    said = []
    for link in links:
        link.setblocking(False)
        try:
            said.append(link.recv(65536).decode())
        except BlockingIOError:
            pass
        except OSError:  # closed without a word: it had not sent its token yet
            said.append("")
    return said


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, for users of their own")
@pytest.mark.parametrize("way", ["token", "proxy"])
def test_one_user_does_not_close_the_door_to_others(shared, way):
    head = identify(shared, way, "nobody")
    others = [identify(shared, way, "daemon"), identify(shared, "token", "root"),
              {"Authorization": "Bearer " + shared.token(scope="admin")}]
    links = [begin_slowly(shared, head) for _ in range(900)]
    try:
        for other in others:
            status, reply = shared.ask("GET", "/v1/whoami", headers=other)
            assert status == 200, reply
        status, reply = shared.ask("GET", "/v1/whoami", headers=head)
        assert status == 429 and "this user has 48 open already" in message(reply)
    finally:
        for link in links:
            link.close()
    tarn_test.wait_until("it is served again", lambda: shared.ask("GET", "/v1/whoami", headers=head)[0] == 200)


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, for users of their own")
def test_the_connection_too_many_is_told_why_and_when(shared):
    head = identify(shared, "token", "nobody")
    links = [begin_slowly(shared, head) for _ in range(60)]
    try:
        tarn_test.wait_until("those too many are refused", lambda: refused.extend(filter(None, answers_of(links))) or len(refused) >= 12) \
            if (refused := []) is not None else None
        assert len(refused) == 12, refused
        for said in refused:
            assert said.startswith("HTTP/1.1 429 ") and "Retry-After: 5" in said and "Connection: close" in said, said
    finally:
        for link in links:
            link.close()


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, for users of their own")
def test_one_user_follows_no_more_than_a_part(shared):
    head = identify(shared, "token", "nobody")
    streams = []
    for at in range(17):
        connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=tarn_test.PATIENCE_S)
        connection.request("GET", "/v1/events", headers=head)
        streams.append((connection, connection.getresponse()))
        assert streams[-1][1].status == (200 if at < 16 else 429)
    refused = streams[-1][1]
    assert refused.headers["Retry-After"] == "5" and "the most of one user" in message(json.loads(refused.read()))
    assert shared.ask("GET", "/v1/jobs", headers=head)[0] == 200
    for connection, _ in streams:
        connection.close()


GAMES = 5  # a user without connections in other tests


def run_as_games(box, *words):
    os.chmod(box.daemon.state, 0o711)
    become = ["setpriv", "--reuid=%d" % GAMES, "--regid=%d" % GAMES, "--clear-groups"]
    return subprocess.Popen([*become, tarn_test.TARN, *words], env=box.daemon.env(HOME="/tmp", TARN_SOCKET=box.daemon.socket),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def connect_as_games(box, count, text):
    """Of the socket; each sends the text."""
    links = []
    os.chmod(box.daemon.state, 0o711)
    os.seteuid(GAMES)
    try:
        for _ in range(count):
            links.append(socket.socket(socket.AF_UNIX))
            links[-1].settimeout(tarn_test.PATIENCE_S)
            links[-1].connect(box.daemon.socket)
            links[-1].sendall(text)
    finally:
        os.seteuid(0)
    return links


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_a_command_that_follows_waits_for_a_stream(shared):
    """A user may have 16 streams; a command that gave up would report a job as failed that goes on."""
    job = tarn_test.as_user(GAMES, lambda: shared.daemon.api.submit({"run": "exit 3", "hold": True}))
    links = connect_as_games(shared, 16, b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for link in links:
        assert link.recv(4096).startswith(b"HTTP/1.1 200")
    command = run_as_games(shared, "wait", str(job))
    try:
        assert "16 open already" in command.stderr.readline()
        assert command.poll() is None
        for link in links:
            link.close()
        shared.daemon.api.post(f"/v1/jobs/{job}/release")
        command.communicate(timeout=tarn_test.PATIENCE_S)
        assert command.returncode == 3
    finally:
        command.kill()
        for link in links:
            link.close()


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_a_command_tries_again_when_the_user_has_too_many_connections(shared):
    links = connect_as_games(shared, 48, b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
    with pytest.raises(tarn_test.Refused, match="48 open already") as refused:
        tarn_test.wait_until("all of them count", lambda: tarn_test.as_user(GAMES, lambda: shared.daemon.api.get("/v1/whoami")) is None)
    assert (refused.value.status, refused.value.code) == (429, "too_many_connections")
    command = run_as_games(shared, "submit", "--", "true")
    try:
        assert command.stderr.readline().endswith("; trying again\n")
    finally:
        for link in links:
            link.close()
    assert "job " in command.communicate(timeout=tarn_test.PATIENCE_S)[0] and command.returncode == 0


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, for users of their own")
def test_one_user_does_not_close_the_socket_to_others(shared):
    """The kernel says who connects: root, then nobody, then root."""
    links = []
    os.chmod(shared.daemon.state, 0o755)
    try:
        os.seteuid(65534)
        try:
            for _ in range(900):
                link = socket.socket(socket.AF_UNIX)
                link.setblocking(False)
                links.append(link)
                try:
                    link.connect(shared.daemon.socket)
                    link.send(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
                except BlockingIOError:  # the daemon is busy with those before
                    time.sleep(0.01)
        finally:
            os.seteuid(0)
        assert shared.daemon.api.get("/v1/whoami")["user"] == "root"
        assert tarn_test.as_user(1, lambda: shared.daemon.api.get("/v1/whoami")["user"]) == "daemon"
        with pytest.raises(tarn_test.Refused, match="this user has 48 open already") as refused:
            tarn_test.as_user(65534, lambda: shared.daemon.api.get("/v1/whoami"))
        assert refused.value.status == 429
    finally:
        for link in links:
            link.close()
