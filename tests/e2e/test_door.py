# SPDX-License-Identifier: Apache-2.0
"""The API over HTTPS: who gets in, with which rights, and the command line through it.

Certificates are real, and so are the connections. What an attacker would try is tried: other names of the server, other sites, wrong
secrets, older protocols, connections that send nothing."""

import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import ssl
import subprocess
import time

import pytest

import tarn_test
import terminal

PROXY_SECRET = "a secret of the proxy"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Box:
    """A daemon with a door, and a user elsewhere."""

    def __init__(self, root, *options, scheme="https", **more):
        self.port = free_port()
        self.root = root
        self.daemon = tarn_test.Daemon(root, options=["--listen", "%s%d" % ("http://" if scheme == "http" else "", self.port),
                                                      *options], **more)
        self.daemon.start()
        self.scheme = scheme
        self.url = "%s://localhost:%d" % (scheme, self.port)
        self.home = os.path.join(root, "laptop")
        os.makedirs(self.home, exist_ok=True)

    def fingerprint(self):
        return self.daemon.api.get("/v1/daemon")["listen"]["fingerprint"]

    def token(self, **keys):
        return self.daemon.api.post("/v1/tokens", keys)["token"]

    def ask(self, method, path, token=None, body=None, headers=None, host=None):
        """Status and reply."""
        if self.scheme == "https":
            context = ssl._create_unverified_context()
            connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=30, context=context)
        else:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = dict(headers or {})
        if token:
            headers["Authorization"] = "Bearer " + token
        if host is not None:
            headers["Host"] = host
        try:
            connection.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body), headers)
            reply = connection.getresponse()
            text = reply.read()
            return reply.status, json.loads(text) if text.strip().startswith(b"{") else text
        finally:
            connection.close()

    def tarn(self, *words, status=0, given=None, **environment):
        base = {key: value for key, value in os.environ.items() if not key.startswith(("TARN_", "XDG_", "SLURM_"))}
        done = subprocess.run([tarn_test.TARN, *words], capture_output=True, text=True, cwd=self.home,
                              timeout=tarn_test.PATIENCE_S * 2, env=dict(base, HOME=self.home, **environment),
                              **({"stdin": subprocess.DEVNULL} if given is None else {"input": given}))
        assert status is None or done.returncode == status, (words, done)
        return done

    def stop(self):
        self.daemon.check_words()
        self.daemon.stop()


@pytest.fixture(scope="module")
def box():
    root = tarn_test.make_folder()
    box = Box(root, "--host", "gpu.example.org,pool.example.org")
    yield box
    box.daemon.check_sane()
    box.stop()
    tarn_test.remove_folder(root)


def message(reply):
    return reply["error"]["message"]


def test_without_a_token_nothing_is_shown(box):
    for path in ["/v1/jobs", "/v1/daemon", "/metrics", "/v1/nothing", "/web/nothing.js"]:
        status, reply = box.ask("GET", path)
        assert status == 401 and reply["error"]["code"] == "unauthorized", (path, reply)


@pytest.mark.parametrize("token", ["x", "tarn_", "tarn_1", "tarn_1_", "tarn_1_wrong", "tarn_99_abc", "tarn_-1_a", "tarn_1_" + "a" * 20000])
def test_a_wrong_token_is_refused(box, token):
    box.token(name="one")
    assert box.ask("GET", "/v1/jobs", token)[0] in (401, 431)


def test_a_token_acts_for_its_owner_until_it_is_revoked(box):
    token = box.token(name="laptop", scope="submit")
    number = int(token.split("_")[1])
    status, who = box.ask("GET", "/v1/whoami", token)
    assert status == 200 and who["by"] == "token" and who["token"] == number
    assert who["user"] == pwd.getpwuid(os.geteuid()).pw_name and not who["administrator"]
    status, reply = box.ask("POST", "/v1/jobs", token, {"command": ["true"]})
    assert status == 201, reply
    listed = {entry["id"]: entry for entry in box.daemon.api.get("/v1/tokens")["tokens"]}
    assert listed[number]["used"] and "token" not in listed[number] and "hash" not in listed[number]
    assert box.ask("DELETE", "/v1/tokens/%d" % number, token)[0] == 200
    assert box.ask("GET", "/v1/whoami", token)[0] == 401


def test_the_scope_is_the_most_that_a_token_may(box):
    read, admin = box.token(scope="read"), box.token(scope="admin")
    submit = box.token(scope="submit")
    assert box.ask("GET", "/v1/jobs", read)[0] == 200
    assert box.ask("POST", "/v1/when", read, {"command": ["true"]})[0] == 200  # a question
    status, reply = box.ask("POST", "/v1/jobs", read, {"command": ["true"]})
    assert status == 403 and message(reply) == "the scope of the token is 'read'; expected 'submit'"
    status, reply = box.ask("POST", "/v1/stop", submit)
    assert status == 403 and message(reply) == "the scope of the token is 'submit'; expected 'admin'"
    assert box.ask("PUT", "/v1/config?dry_run=1", submit, {})[0] in (200, 403)
    status, reply = box.ask("POST", "/v1/tokens", admin, {})
    assert status == 403 and "cannot make another one" in message(reply)
    node = box.daemon.api.get("/v1/nodes")["nodes"][0]["name"]
    assert box.ask("POST", "/v1/nodes/%s/drain" % node, admin)[0] == 200
    assert box.ask("POST", "/v1/nodes/%s/undrain" % node, admin)[0] == 200


def test_a_token_expires(box):
    token = box.token(name="short", expires_in=1)
    tarn_test.wait_until("the token expires", lambda: box.ask("GET", "/v1/whoami", token)[0] == 401)


def test_tokens_survive_a_crash_and_their_secrets_are_nowhere(box):
    token = box.token(name="kept")
    box.daemon.kill()
    box.daemon.start()
    assert box.ask("GET", "/v1/whoami", token)[0] == 200
    secret = token.split("_", 2)[2].encode()
    for base, _, names in os.walk(box.daemon.root):
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path) and not path.startswith(box.home):
                with open(path, "rb") as file:
                    assert secret not in file.read(), path


def test_the_name_of_another_server_is_refused(box):
    token = box.token()
    assert box.ask("GET", "/v1/jobs", token, host="evil.example.com")[0] == 403
    assert box.ask("GET", "/v1/jobs", token, host="localhost.evil.example.com:%d" % box.port)[0] == 403
    assert box.ask("GET", "/v1/jobs", token, host="")[0] == 403
    for name in ["localhost", "127.0.0.1:1", "[::1]:%d" % box.port, "GPU.example.org", "pool.example.org:80"]:
        assert box.ask("GET", "/v1/jobs", token, host=name)[0] == 200, name


def test_a_page_of_another_site_changes_nothing(box):
    token = box.token()
    job = {"command": ["true"]}
    for origin in ["https://evil.example.com", "null", "http://localhost:%d" % box.port, "https://localhost:1"]:
        status, reply = box.ask("POST", "/v1/jobs", body=job, headers={"Origin": origin, "Cookie": "__Host-tarn=" + token},
                                host="localhost:%d" % box.port)
        assert status == 403 and "another site" in message(reply), origin
    status, _ = box.ask("POST", "/v1/jobs", body=job, headers={"Origin": box.url, "Cookie": "__Host-tarn=" + token},
                        host="localhost:%d" % box.port)
    assert status == 201


def test_only_new_protocols_are_spoken(box):
    for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
        context = ssl._create_unverified_context()
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version, context.maximum_version = version, version
        with pytest.raises(OSError):
            with socket.create_connection(("127.0.0.1", box.port), timeout=30) as plain:
                context.wrap_socket(plain)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl._create_unverified_context()
        context.minimum_version, context.maximum_version = version, version
        with socket.create_connection(("127.0.0.1", box.port), timeout=30) as plain:
            assert context.wrap_socket(plain).version().startswith("TLSv1.")


def test_plain_http_and_silence_do_no_harm(box):
    silent = [socket.create_connection(("127.0.0.1", box.port), timeout=30) for _ in range(100)]
    with socket.create_connection(("127.0.0.1", box.port), timeout=30) as plain:
        plain.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try:
            assert b"HTTP/1.1 200" not in plain.recv(4096)
        except ConnectionResetError:
            pass
    assert box.ask("GET", "/v1/jobs", box.token())[0] == 200
    for one in silent:
        one.close()


@pytest.mark.skipif(tarn_test.is_sanitized(), reason="what is freed still counts there")
def test_a_large_body_of_a_stranger_is_not_kept(box):
    before = box.daemon.memory_kib()
    for _ in range(4):
        try:
            assert box.ask("POST", "/v1/jobs", body={"command": ["x" * (20 << 20)]})[0] == 401
        except OSError:
            pass  # the connection was closed early
    assert box.daemon.memory_kib() < before + (30 << 10)


def running(box, *words):
    number = box.daemon.api.submit(command=list(words) or ["sleep", "1000"], env=box.daemon.env())
    box.daemon.api.wait_state(number, "running")
    return number


@pytest.mark.parametrize("headers, status, words", [
    ({}, 400, "needs the header Upgrade: tarn-bridge"),
    ({"Upgrade": "websocket", "Connection": "Upgrade"}, 400, "needs the header"),
    ({"Upgrade": "tarn-bridge", "Connection": "Upgrade", "Origin": "https://evil.example"}, 403, "another site"),
    ({"Upgrade": "tarn-bridge", "Connection": "Upgrade", "Host": "evil.example"}, 403, "does not name this server"),
])
def test_a_connection_to_a_job_is_for_no_page_of_a_browser(box, headers, status, words):
    number = running(box)
    got, reply = box.ask("POST", "/v1/jobs/%d/exec" % number, box.token(scope="admin"), headers=headers, host=headers.pop("Host", None))
    assert got == status and words in message(reply)
    got, reply = box.ask("POST", "/v1/jobs/%d/exec" % number, box.token(scope="read"),
                         headers={"Upgrade": "tarn-bridge", "Connection": "Upgrade"})
    assert got == 403 and "expected 'submit'" in message(reply)
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


def open_bridge(box, number, token):
    """The connection after the reply."""
    context = ssl._create_unverified_context()
    link = context.wrap_socket(socket.create_connection(("127.0.0.1", box.port), timeout=tarn_test.PATIENCE_S))
    link.sendall(("POST /v1/jobs/%d/exec HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n"
                  "Connection: Upgrade\r\nUpgrade: tarn-bridge\r\n\r\n" % (number, token)).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += link.recv(1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    return link


def frame(kind, data):
    return bytes([kind]) + len(data).to_bytes(3, "big") + data


REQUEST, SIZE = 3, 4


@pytest.mark.parametrize("frames", [
    frame(REQUEST, b""), frame(REQUEST, b"\0\0\0\0no end"), frame(99, b"x"), b"\x00\xff\xff\xff" + b"x" * 100000,
    frame(REQUEST, b"\0\0\0\0\0true\0") * 2, frame(SIZE, b"x"), b"GET / HTTP/1.1\r\n\r\n" * 1000, b"\x05" + b"\xff" * 4096, b"\x03\x00",
])
def test_what_is_no_frame_ends_the_connection_only(box, frames):
    number = running(box)
    link = open_bridge(box, number, box.token())
    try:
        link.sendall(frames)
        if len(frames) < 4:
            link.close()
        while len(frames) >= 4 and link.recv(4096):
            pass
    except OSError:
        pass
    link.close()
    tarn_test.wait_until("no bridge is left", lambda: not bridges(box))
    assert box.daemon.api.job(number)["state"] == "running"
    box.daemon.check_sane()
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


def bridges(box):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, errors="replace") as file, open("/proc/%s/stat" % pid, errors="replace") as stat:
                if "--bridge" in file.read() and int(stat.read().rsplit(")", 1)[1].split()[1]) == box.daemon.process.pid:
                    found.append(int(pid))
        except OSError:
            pass
    return found


def zombies(box):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % pid, errors="replace") as stat:
                state, parent = stat.read().rsplit(")", 1)[1].split()[:2]
            if state == "Z" and int(parent) == box.daemon.process.pid:
                found.append(int(pid))
        except OSError:
            pass
    return found


def test_connections_that_clients_close_leave_no_zombies(box):
    number = running(box)
    token = box.token()
    for _ in range(8):
        open_bridge(box, number, token).close()
    tarn_test.wait_until("no process of a connection is left, not even a zombie", lambda: not bridges(box) and not zombies(box))
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


def test_the_process_of_a_connection_has_no_other_files(box):
    number = running(box)
    links = [open_bridge(box, number, box.token()) for _ in range(2)]
    for pid in tarn_test.wait_until("both are there", lambda: len(bridges(box)) == 2 and bridges(box)):
        tarn_test.wait_until("it has closed the rest", lambda: sorted(map(int, os.listdir("/proc/%d/fd" % pid))) == [0, 1, 2, 3, 4])
    shim = next(iter(tarn_test.shims_of(box.daemon.state).values()))
    late = running(box)
    for name, pid in tarn_test.shims_of(box.daemon.state).items():
        kinds = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
        assert shim and not [kind for kind in kinds if kind.startswith("socket:")
                             and kind in [os.readlink("/proc/%d/fd/3" % other) for other in bridges(box)]], (name, kinds)
    for link in links:
        link.close()
    for one in (number, late):
        box.daemon.api.post("/v1/jobs/%d/cancel" % one)


def test_one_user_has_a_limited_number_of_connections(box):
    number = running(box)
    token = box.token()
    links = []
    try:
        refusal = None
        while not refusal and len(links) < 200:
            try:
                links.append(open_bridge(box, number, token))
            except AssertionError as said:
                refusal = str(said)
        assert refusal and " 429 " in refusal or " 409 " in refusal, (len(links), refusal)
        assert box.ask("GET", "/v1/jobs", token)[0] == 200
    finally:
        for link in links:
            link.close()
    tarn_test.wait_until("no bridge is left", lambda: not bridges(box))
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


def test_events_come_over_https(box):
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", box.port, timeout=tarn_test.PATIENCE_S, context=context)
    connection.request("GET", "/v1/events", headers={"Authorization": "Bearer " + box.token(scope="read")})
    reply = connection.getresponse()
    assert reply.status == 200
    number = box.daemon.api.submit(command=["true"])
    seen = b""
    while b"ended" not in seen or b'"%d"' % number not in seen.replace(b"job\":%d" % number, b'"%d"' % number):
        chunk = reply.fp.readline()
        assert chunk, seen
        seen += chunk
    connection.close()


# ---- the command line ----

def log_in(box, **keys):
    box.tarn("login", box.url, "--fingerprint", box.fingerprint(), given=box.token(**keys) + "\n")


def test_an_unknown_certificate_is_not_accepted_by_itself(box):
    done = box.tarn("login", box.url, given=box.token() + "\n", status=1)
    assert box.fingerprint() in done.stderr and "compare the fingerprint" in done.stderr
    done = box.tarn("login", box.url, "--fingerprint", "sha256:" + "0" * 64, given=box.token() + "\n", status=1)
    assert "has the fingerprint " + box.fingerprint() in done.stderr
    assert not os.path.exists(os.path.join(box.home, ".config", "tarn", "credentials"))
    done = box.tarn("ls", TARN_HOST=box.url, TARN_TOKEN=box.token(), status=1)
    assert "NOT trusted" in done.stderr


def test_the_command_line_works_with_a_token(box):
    log_in(box, scope="submit")
    path = os.path.join(box.home, ".config", "tarn", "credentials")
    assert os.stat(path).st_mode & 0o077 == 0
    done = box.tarn("run", "--gpus", "1", "--", "sh", "-c", "echo trained; exit 3", TARN_HOST=box.url, status=3)
    assert done.stdout == "trained\n"
    script = os.path.join(box.home, "train.sh")
    with open(script, "w") as file:
        file.write("#!/bin/sh\n#SBATCH --gpus=1\necho with $1\n")
    number = box.tarn("submit", "-q", "train.sh", "two", TARN_HOST=box.url).stdout.strip()
    box.tarn("wait", number, TARN_HOST=box.url)
    assert box.tarn("logs", number, TARN_HOST=box.url).stdout == "with two\n"
    assert re.search(r"^ *%s +train.sh" % number, box.tarn("ls", "-a", TARN_HOST=box.url).stdout, re.M)
    done = box.tarn("drain", "n1", TARN_HOST=box.url, status=1)
    assert done.stderr == "tarn: the scope of the token is 'submit'; expected 'admin'\n"
    for verb in ("backup", "check", "doctor", "replay", "restore"):
        assert verb + ": not over HTTPS" in box.tarn(verb, TARN_HOST=box.url, status=1).stderr
    assert "the daemon is running" in box.tarn("up", TARN_HOST=box.url).stderr
    assert "expected 'admin'" in box.tarn("down", TARN_HOST=box.url, status=1).stderr


def test_down_stops_the_daemon_over_https(box):
    log_in(box, scope="admin")
    assert "stopped" in box.tarn("down", TARN_HOST=box.url).stderr
    box.daemon.process.wait(tarn_test.PATIENCE_S)
    assert "tarn up starts no daemon over HTTPS" in box.tarn("up", TARN_HOST=box.url, status=1).stderr
    box.daemon.start()
    box.tarn("ls", TARN_HOST=box.url)


def test_commands_in_a_job_work_over_https(box):
    log_in(box, scope="submit")
    number = str(running(box))
    text = "".join("line %d\n" % i for i in range(50000))
    done = box.tarn("exec", number, "--", "sh", "-c", "cat; echo wrong >&2; exit 3", given=text, TARN_HOST=box.url, status=3)
    assert (done.stdout, done.stderr) == (text, "wrong\n")
    box.tarn("exec", number, "--", "sh", "-c", "kill -9 $$", TARN_HOST=box.url, status=137)
    assert "command not found: nope" in box.tarn("exec", number, "--", "nope", TARN_HOST=box.url, status=127).stderr
    assert box.tarn("run", "--", "tr", "a-z", "A-Z", given="through\n", TARN_HOST=box.url).stdout == "THROUGH\n"
    box.daemon.api.post("/v1/jobs/%s/cancel" % number)


def test_a_reader_that_goes_ends_the_command(box):
    log_in(box, scope="submit")
    number = running(box)
    for host in ({"TARN_HOST": box.url}, {"TARN_SOCKET": box.daemon.socket}):
        one = subprocess.Popen([tarn_test.TARN, "exec", str(number), "--", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               env=dict({"PATH": os.environ["PATH"], "HOME": box.home}, **host))
        assert one.stdout.read(2) == b"y\n"
        one.stdout.close()
        assert one.wait(tarn_test.PATIENCE_S) == 128 + signal.SIGPIPE
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


@pytest.mark.parametrize("how", ["revoked", "killed", "stopped"])
def test_a_connection_to_a_job_ends_with(box, how):
    """Its token, its client, its daemon: the command in the job gets HUP."""
    log_in(box, scope="submit", name="for one connection")
    number = running(box)
    words = [tarn_test.TARN, "exec", str(number), "--", "sh", "-c", "trap 'exit 0' HUP; echo $$; while :; do sleep 0.1; done"]
    one = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           env={"PATH": os.environ["PATH"], "HOME": box.home, "TARN_HOST": box.url})
    pid = int(one.stdout.readline())
    if how == "revoked":
        with open(os.path.join(box.home, ".config", "tarn", "credentials")) as file:
            box.daemon.api.ask("DELETE", "/v1/tokens/%s" % file.read().split()[-1].split("_")[1])
    elif how == "killed":
        one.kill()
    else:
        box.daemon.terminate()
        box.daemon.start()
    _, words = one.communicate(timeout=tarn_test.PATIENCE_S)
    assert how == "killed" or (one.returncode == 126 and "the connection to the daemon was lost" in words), (one.returncode, words)
    tarn_test.wait_until("the command is gone", lambda: not os.path.exists("/proc/%d" % pid))
    tarn_test.wait_until("no bridge is left", lambda: not bridges(box))
    assert box.daemon.api.job(number)["state"] == "running"
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


def test_a_terminal_over_https_has_its_size_and_keys(box):
    log_in(box, scope="submit")
    number = running(box)
    environment = {"PATH": os.environ["PATH"], "HOME": box.home, "TARN_HOST": box.url, "TERM": "xterm-256color"}

    def on_terminal(*words):
        return terminal.Terminal([tarn_test.TARN, *words], environment, columns=100, rows=30)

    one = on_terminal("exec", "-t", str(number), "--", "sh", "-c",
                      "tty; echo term=$TERM; stty size; trap 'stty size; exit 5' WINCH; echo ready; while :; do sleep 0.1; done")
    one.expect("^ready")
    assert "/dev/pts/" in one.text() and "term=xterm-256color" in one.text() and "30 100" in one.text()
    one.resize(90, 20)
    one.expect("^20 90")
    assert one.end() == 5 and one.is_restored()
    one = on_terminal("run", "--pty", "--", "sh", "-c", "read line; echo got=$line; trap 'echo interrupted' INT; while :; do sleep 0.1; done")
    one.send_until("hello\r", "^got=hello")
    one.send("\x1dd")
    one.expect("continues; tarn attach")
    assert one.end() == 0 and one.is_restored()
    job = box.daemon.api.jobs(state="running")[-1]["id"]
    first, second = on_terminal("attach", str(job)), None
    first.expect("^got=hello")
    first.send("\x03")
    first.expect("interrupted$")
    second = on_terminal("attach", str(job))
    second.expect("^got=hello")
    first.expect("another client took the terminal")
    assert first.end() == 1
    for id in (number, job):
        box.daemon.api.post("/v1/jobs/%d/cancel" % id)
    second.end()


def test_the_token_is_in_no_command_line(box):
    log_in(box)
    token = open(os.path.join(box.home, ".config", "tarn", "credentials")).read().split()[-1]
    follower = subprocess.Popen([tarn_test.TARN, "run", "--", "sleep", "1000"], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                                env={"PATH": os.environ["PATH"], "HOME": box.home, "TARN_HOST": box.url})
    tarn_test.wait_until("the job runs", lambda: box.daemon.api.jobs(state="running"))
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/cmdline" % pid, errors="replace") as file:
                assert token not in file.read()
        except OSError:
            pass
    for job in box.daemon.api.jobs(state="running"):
        box.daemon.api.post("/v1/jobs/%d/cancel" % job["id"])
    follower.wait(tarn_test.PATIENCE_S)


def test_credentials_that_others_can_read_are_not_used(box):
    log_in(box)
    path = os.path.join(box.home, ".config", "tarn", "credentials")
    os.chmod(path, 0o644)
    assert "others can read" in box.tarn("ls", TARN_HOST=box.url, status=1).stderr
    os.chmod(path, 0o600)
    box.tarn("ls", TARN_HOST=box.url)


def test_logout_revokes_the_token(box):
    log_in(box, name="to be revoked")
    token = open(os.path.join(box.home, ".config", "tarn", "credentials")).read().split()[-1]
    box.tarn("logout", box.url)
    assert box.ask("GET", "/v1/whoami", token)[0] == 401
    assert "tarn login" in box.tarn("ls", TARN_HOST=box.url, status=1).stderr


@pytest.mark.parametrize("host", ["https://", "https://-x", "https://a b", "https://box:x", "https://box:", "ftp://box", "box",
                                  "https://box;id", "https://[::1", "https://$(id)"])
def test_a_wrong_url_is_refused(box, host):
    done = box.tarn("ls", TARN_HOST=host, TARN_TOKEN="tarn_1_x", status=1)
    assert "expected" in done.stderr


def test_a_server_with_another_certificate_is_noticed(box):
    log_in(box)
    fingerprint = box.fingerprint()
    for name in ("tls.pem", "tls.key"):
        shutil.copy(os.path.join(box.daemon.state, name), os.path.join(box.root, name))
    other = tarn_test.make_folder()
    try:
        stranger = Box(other)
        for name in ("tls.key", "tls.pem"):
            shutil.copy(os.path.join(stranger.daemon.state, name), os.path.join(box.daemon.state, name))
        stranger.stop()
        done = box.tarn("ls", TARN_HOST=box.url, status=1)
        assert "has changed" in done.stderr and fingerprint not in done.stderr
        for name in ("tls.key", "tls.pem"):  # read again without a restart
            shutil.copy(os.path.join(box.root, name), os.path.join(box.daemon.state, name))
        box.tarn("ls", TARN_HOST=box.url)
        with open(os.path.join(box.daemon.state, "tls.pem"), "w") as file:
            file.write("nonsense")
        box.tarn("ls", TARN_HOST=box.url)  # with the former one
        assert "the former certificate stays in use" in box.daemon.words()
    finally:
        for name in ("tls.key", "tls.pem"):
            shutil.copy(os.path.join(box.root, name), os.path.join(box.daemon.state, name))
        tarn_test.remove_folder(other)


# ---- streams ----

def open_stream(box, path, token):
    connection = http.client.HTTPSConnection("127.0.0.1", box.port, timeout=tarn_test.PATIENCE_S, context=ssl._create_unverified_context())
    connection.request("GET", path, headers={"Authorization": "Bearer " + token})
    reply = connection.getresponse()
    assert reply.status == 200
    return connection, reply


@pytest.mark.parametrize("how", ["revoked", "expired"])
def test_an_open_stream_ends_with_its_token(box, how):
    number = box.daemon.api.submit(command=["sh", "-c", "while :; do echo line; sleep 0.1; done"], env=box.daemon.env())
    tarn_test.wait_until("it runs", lambda: box.daemon.api.job(number)["state"] == "running")
    token, other = box.token(scope="read", **({"expires_in": 3} if how == "expired" else {})), box.token(scope="read")
    paths = ["/v1/events", "/v1/jobs/%d/events" % number, "/v1/jobs/%d/output?follow=1" % number]
    streams = [open_stream(box, path, token) for path in paths]
    stays, reply = open_stream(box, paths[2], other)
    if how == "revoked":
        box.daemon.api.ask("DELETE", "/v1/tokens/%s" % token.split("_")[1])
    for connection, stream in streams:
        stream.read()  # comes back: the stream ends
        connection.close()
    assert box.daemon.api.job(number)["state"] == "running" and reply.readline() == b"line\n"
    stays.close()
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)


# ---- the audit ----

def test_each_change_is_in_the_audit(box):
    api, me = box.daemon.api, pwd.getpwuid(os.geteuid()).pw_name
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    token = box.token(name="auditor", scope="submit")
    number = int(token.split("_")[1])
    assert box.ask("POST", "/v1/jobs", token, {"command": ["true"]})[0] == 201
    assert box.ask("POST", "/v1/jobs?dry_run=1", token, {"command": ["true"]})[0] == 200
    assert box.ask("POST", "/v1/nodes/%s/drain" % node, token)[0] == 403
    api.post("/v1/nodes/%s/drain" % node)
    api.post("/v1/nodes/%s/undrain" % node)
    api.put("/v1/config?dry_run=1", {"queues": {"x": {}}})
    box.daemon.kill()
    box.daemon.start()
    changes = api.get("/v1/audit?last=1h")["changes"]
    undrained, drained, submitted, created = changes[:4]
    assert (undrained["operation"], undrained["path"]) == ("undrainNode", "/v1/nodes/%s/undrain" % node)
    assert (drained["user"], drained["by"], drained["token"]) == (me, "peer", None)
    assert (submitted["operation"], submitted["by"], submitted["token"]) == ("submitJobs", "token", number)
    assert created["operation"] == "createToken"
    two = api.get("/v1/audit?limit=2")
    assert two["changes"] == changes[:2] and two["older"]
    assert api.get("/v1/audit?user=nobody")["changes"] == []
    log_in(box, scope="admin")
    done = box.tarn("audit", "-n", "5", TARN_HOST=box.url)
    assert re.search(r"token %d +submitJobs +/v1/jobs$" % number, done.stdout, re.M), done.stdout
    status, reply = box.ask("GET", "/v1/audit?user=someone", box.token(scope="read"))
    assert status == 403 and "only administrators" in message(reply)
    status, reply = box.ask("GET", "/v1/audit?last=1h", box.token(scope="read"))
    assert status == 200 and {one["user"] for one in reply["changes"]} == {me}
    with pytest.raises(tarn_test.Refused, match="up to 366 days"):
        api.get("/v1/audit?last=999d")


# ---- doors that must not open, and the trusted proxy ----

@pytest.mark.parametrize("options, words", [
    (["--listen", "http://0.0.0.0:0"], "expected HOST:PORT"),
    (["--listen", "http://*:39443"], "without TLS only an address of this machine itself"),
    (["--listen", "39443", "--tls-cert", "/nowhere.pem"], "expected both --tls-cert and --tls-key"),
    (["--listen", "39443", "--tls-cert", "/nowhere.pem", "--tls-key", "/nowhere.key"], "/nowhere.pem"),
    (["--listen", "39443", "--proxy", "127.0.0.1"], "--proxy-secret"),
    (["--listen", "39443", "--proxy", "box"], "expected an IP address"),
])
def test_a_wrong_door_does_not_open(options, words):
    root = tarn_test.make_folder()
    daemon = tarn_test.Daemon(root, options=options)
    try:
        _, answer = daemon.try_start()
        assert words in answer, answer
    finally:
        daemon.stop()
        tarn_test.remove_folder(root)


def test_the_options_of_the_proxy_do_not_depend_on_their_order():
    root = tarn_test.make_folder()
    words = [tarn_test.TARN, "serve", "--devices", "none", "--listen", "http://39443", "--proxy", "127.0.0.1", "--state", root]
    try:
        done = subprocess.run(words, text=True, capture_output=True, timeout=60)
        assert done.returncode == 1 and "--proxy-secret" in done.stderr, done
    finally:
        tarn_test.remove_folder(root)


def test_a_trusted_proxy_names_the_user():
    root = tarn_test.make_folder()
    secret = os.path.join(root, "secret")
    with open(secret, "w") as file:
        os.chmod(secret, 0o600)
        file.write(PROXY_SECRET + "\n")
    proxied = Box(root, "--proxy", "127.0.0.1", "--proxy-secret", secret, "--proxy-header", "X-User", scheme="http")
    try:
        name = pwd.getpwuid(os.geteuid()).pw_name
        good = {"Tarn-Proxy-Secret": PROXY_SECRET, "X-User": name}
        status, who = proxied.ask("GET", "/v1/whoami", headers=good)
        assert status == 200 and who["user"] == name and who["by"] == "proxy"
        assert proxied.ask("GET", "/v1/whoami", headers=dict(good, **{"Tarn-Proxy-Secret": "wrong secret of it"}))[0] == 401
        assert proxied.ask("GET", "/v1/whoami", headers=dict(good, **{"X-User": "nobody-of-that-name"}))[0] == 403
        assert proxied.ask("GET", "/v1/whoami", headers={"X-User": name})[0] == 401
        assert proxied.ask("GET", "/v1/whoami", headers={"X-Forwarded-User": name, "Tarn-Proxy-Secret": PROXY_SECRET})[0] == 403
    finally:
        proxied.stop()
        tarn_test.remove_folder(root)


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_a_daemon_that_is_not_root_serves_no_other_users():
    """Their jobs would run as its own user."""
    root = tarn_test.make_folder()
    secret, start = os.path.join(root, "secret"), os.path.join(root, "start")
    with open(secret, "w") as file:
        os.chmod(secret, 0o600)
        file.write(PROXY_SECRET + "\n")
    with open(start, "w") as file:
        file.write('#!/bin/sh\nexec setpriv --reuid=65534 --regid=65534 --clear-groups "%s" "$@"\n' % tarn_test.TARN)
    os.chmod(start, 0o755)
    for path in (root, secret):
        os.chown(path, 65534, 65534)
    box = Box(root, "--proxy", "127.0.0.1", "--proxy-secret", secret, scheme="http", binary=start)
    try:
        name = pwd.getpwuid(65534).pw_name
        head = {"Tarn-Proxy-Secret": PROXY_SECRET, "X-Forwarded-User": name}
        assert box.ask("GET", "/v1/whoami", headers=head)[0] == 200
        status, reply = box.ask("POST", "/v1/jobs", headers=dict(head, **{"X-Forwarded-User": "daemon"}),
                                body={"command": ["id"], "sender_cwd": "/"})
        assert status == 403 and "only %s may use it" % name in message(reply)
        for path in ("/v1/whoami", "/v1/jobs"):
            status, reply = box.ask("GET", path, headers=dict(head, **{"X-Forwarded-User": "root"}))
            assert status == 403 and "only %s may use it" % name in message(reply)
        for other in ("daemon", "root"):
            with pytest.raises(tarn_test.Refused, match="token of %s: .*only %s may use it" % (other, name)) as refused:
                box.token(user=other)
            assert refused.value.status == 403
        for without_name in (lambda: box.token(), lambda: box.daemon.api.post("/v1/tokens?login=1"),
                             lambda: box.daemon.api.submit(command=["id"])):
            with pytest.raises(tarn_test.Refused, match="only %s may use it" % name):
                without_name()
        assert box.daemon.api.get("/v1/whoami")["user"] == "root"  # over the socket, as itself
        assert box.ask("GET", "/v1/whoami", box.token(user=name))[1]["user"] == name
        os.chmod(root, 0o755)
        os.chmod(box.daemon.state, 0o755)
        os.chmod(box.daemon.socket, 0o666)
        with pytest.raises(tarn_test.Refused, match="only %s may use it" % name):
            tarn_test.as_user(2, lambda: box.daemon.api.submit(command=["id"]))
    finally:
        box.stop()
        tarn_test.remove_folder(root)


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, for tokens of other users")
def test_a_token_of_another_user_has_only_the_rights_of_that_user():
    root = tarn_test.make_folder()
    os.chmod(root, 0o755)
    box = Box(root, "--all-users")
    try:
        status, reply = box.ask("GET", "/v1/whoami", box.token(user="nobody", scope="submit"))
        assert status == 200 and reply["user"] == "nobody" and not reply["administrator"]
        mine = box.daemon.api.submit(command=["sleep", "1000"], env=box.daemon.env())
        token = box.token(user="nobody", scope="submit")
        assert box.ask("POST", "/v1/jobs/%d/cancel" % mine, token)[0] == 403
        assert box.ask("GET", "/v1/jobs/%d/output" % mine, token)[0] == 403
        assert box.ask("GET", "/v1/tokens?all=1", token)[0] == 403
        with pytest.raises(tarn_test.Refused, match="no user"):
            box.token(user="nobody-of-that-name")
        box.daemon.api.post("/v1/jobs/%d/cancel" % mine)
        # The same key is another submission of another user.
        job = {"command": ["true"], "sender_cwd": "/", "hold": True}
        made = [box.ask("POST", "/v1/jobs", one, job, {"Idempotency-Key": "same"})[1]["submitted"][0]["id"]
                for one in (box.token(scope="submit"), token, token)]
        assert made[0] != made[1] == made[2]
        assert [box.daemon.api.job(number)["user"] for number in made[1:]] == ["nobody"] * 2
        for number in made[:2]:
            box.daemon.api.post("/v1/jobs/%d/cancel" % number)
    finally:
        box.stop()
        tarn_test.remove_folder(root)
