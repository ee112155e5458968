# SPDX-License-Identifier: Apache-2.0
"""Logins with the password of an account of this machine, by PAM: a real account, the real rules of dist/debian/tarn.pam.

Skipped without root, which makes the account and may read the passwords of all."""

import concurrent.futures
import glob
import http.client
import json
import os
import pty
import pwd
import re
import select
import shutil
import ssl
import subprocess
import time

import pytest

import tarn_test
from test_attacks import request, say
from test_door import Box, free_port, message
from webpage import Page, browser  # noqa: F401 (a fixture)

HELPER = os.path.join(tarn_test.BUILD, "src/daemon/login/tarn-login")
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
RULES = "/etc/pam.d/tarn"
PASSWORD = "correct horse \"battery' stäple"
REFUSAL = "login: wrong user or password, or the account may not log in"
WAY = "/v1/login"

pytestmark = [
    pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, for accounts and their passwords"),
    pytest.mark.skipif(not os.path.exists(HELPER), reason="built without libpam"),
    pytest.mark.skipif(not shutil.which("useradd") or not os.path.exists("/etc/pam.d/common-auth"), reason="no useradd, or PAM is not that of Debian"),
]


@pytest.fixture(scope="module")
def rules():
    """The file of the package; an installed one is used as it is."""
    made = not os.path.exists(RULES)
    if made:
        shutil.copy(os.path.join(SOURCE, "dist/debian/tarn.pam"), RULES)
    yield RULES
    if made:
        os.remove(RULES)


class Door(Box):
    """The door of a daemon that another user runs."""

    def __init__(self, port):
        self.port, self.scheme = port, "https"


class Account:
    """A user of this machine; each has no home and no shell."""

    def __init__(self, suffix):
        self.name = "tarn-t%d%s" % (os.getpid(), suffix)
        self.group = self.name + "g"
        self.run("groupadd", self.group)
        self.run("useradd", "--no-create-home", "--home-dir", "/", "--shell", "/usr/sbin/nologin", "--groups", self.group, self.name)
        self.run("chpasswd", given="%s:%s\n" % (self.name, PASSWORD))

    @staticmethod
    def run(*words, given=""):
        subprocess.run(words, input=given, check=True, text=True, stdout=subprocess.DEVNULL)

    def remove(self):
        self.run("userdel", self.name)
        self.run("groupdel", self.group)


@pytest.fixture(scope="module")
def ana(rules):
    ana = Account("a")
    yield ana
    ana.remove()


@pytest.fixture
def eve(rules):
    eve = Account("e")
    yield eve
    eve.remove()


@pytest.fixture(scope="module")
def box(rules):
    root = tarn_test.make_folder()
    os.chmod(root, 0o755)
    box = Box(root, "--all-users", "--login", "pam")
    yield box
    box.daemon.check_sane()
    box.stop()
    tarn_test.remove_folder(root)


@pytest.fixture
def fresh(rules):
    """A daemon whose limits no other test has used up."""
    root = tarn_test.make_folder()
    box = Box(root, "--login", "pam")
    yield box
    box.stop()
    tarn_test.remove_folder(root)


def log_in(box, user, password=PASSWORD, path=WAY, **headers):
    return box.ask("POST", path, body={"user": user, "password": password}, headers={"Content-Type": "application/json", **headers})


def test_the_right_password_becomes_a_token_with_the_rights_of_the_account(box, ana):
    assert box.ask("GET", WAY) == (200, {"password": True})
    status, made = log_in(box, ana.name)
    assert status == 201 and made["kind"] == "token" and made["name"] == "login" and made["user"] == ana.name, made
    status, who = box.ask("GET", "/v1/whoami", made["token"])
    assert status == 200 and who["user"] == ana.name and who["scope"] == "queues" and not who["administrator"]
    listed = [entry for entry in box.ask("GET", "/v1/tokens", made["token"])[1]["tokens"] if entry["id"] == made["id"]]
    assert len(listed) == 1 and listed[0]["expires"] and not listed[0]["expired"]
    assert box.ask("POST", "/v1/stop", made["token"])[0] == 403
    changes = box.daemon.api.get("/v1/audit")["changes"]
    assert any(change["operation"] == "logIn" and change["user"] == ana.name and change["by"] == "password" for change in changes), changes


def test_the_rights_by_group_hold(box, ana, eve):
    box.daemon.api.put("/v1/config", {"queues": {"students": {"submit": {"groups": [ana.group]}}}})
    job = {"command": ["true"], "queue": "students", "sender_cwd": "/"}
    tokens = [log_in(box, account.name)[1]["token"] for account in (ana, eve)]
    status, reply = box.ask("POST", "/v1/jobs", tokens[0], job)
    assert status == 201, reply
    box.daemon.api.wait_end(reply["submitted"][0]["id"])
    status, reply = box.ask("POST", "/v1/jobs", tokens[1], job)
    assert status == 403, reply
    box.daemon.api.put("/v1/config", {})


@pytest.mark.parametrize("how", ["wrong", "empty", "no such user", "root", "locked", "expired", "must change"])
def test_what_is_refused_is_refused_alike(fresh, eve, how):
    """The same text and the same time, whether or not the account exists."""
    change = {"locked": ["usermod", "--lock", eve.name], "expired": ["chage", "--expiredate", "2020-01-01", eve.name],
              "must change": ["chage", "--lastday", "0", eve.name]}.get(how)
    if change:
        assert log_in(fresh, eve.name)[0] == 201
        eve.run(*change)
    user = {"no such user": "no-such-user-here", "root": "root"}.get(how, eve.name)
    began = time.monotonic()
    status, reply = log_in(fresh, user, PASSWORD if how not in ("wrong", "empty") else "wrong" if how == "wrong" else " ")
    took = time.monotonic() - began
    assert status == 401 and message(reply) == REFUSAL, reply
    assert took >= 1.9
    assert "login refused user=%s" % ("unknown" if how == "no such user" else user) in fresh.daemon.words()
    assert re.search("reason='[A-Z][a-z]+ .+'", fresh.daemon.words())


@pytest.mark.parametrize("body,status", [
    ({}, 400), ({"user": "a"}, 400), ({"user": "", "password": "x"}, 400), ({"user": "a", "password": ""}, 400),
    ({"user": "a\nb", "password": "x"}, 400), ({"user": "a" * 64, "password": "x"}, 400), ({"user": "a", "password": "x" * 512}, 400),
    ({"user": ["a"], "password": "x"}, 400), ({"user": "a", "password": "x", "uid": 0}, 400), ("[", 400), ({"user": "a\0root", "password": "x"}, 400),
    ({"user": "a", "password": "y" * 9000}, 413),
])
def test_a_wrong_request_reaches_no_password_check(box, body, status):
    got, reply = box.ask("POST", WAY, body=body, headers={"Content-Type": "application/json"})
    assert got == status, reply
    assert "yyyy" not in json.dumps(reply)


@pytest.mark.parametrize("headers,status", [
    ({"Origin": "https://evil.example"}, 403), ({"Origin": "null"}, 403), ({"Content-Type": "text/plain"}, 400),
    ({"Content-Type": "application/x-www-form-urlencoded"}, 400), ({"Sec-Fetch-Site": "cross-site"}, 403), ({"Sec-Fetch-Site": "same-site"}, 403),
])
def test_no_other_site_logs_a_browser_in(box, ana, headers, status):
    """A browser that is logged in as the attacker gives away what its user enters."""
    got, reply = log_in(box, ana.name, path=WAY + "?session=1", **headers)
    assert got == status, reply


def test_a_session_is_new_and_in_the_cookie_only(box, ana):
    planted = "tarn_1_" + "A" * 43
    body = json.dumps({"user": ana.name, "password": PASSWORD})
    head = ["POST /v1/login?session=1 HTTP/1.1", "Host: localhost", "Connection: close", "Content-Type: application/json", "Cookie: __Host-tarn=" + planted,
            "Origin: https://localhost", "Sec-Fetch-Site: same-origin", "Content-Length: %d" % len(body.encode())]
    reply = say(box, "\r\n".join(head + ["", body]).encode())
    cookie = re.search(rb"Set-Cookie: __Host-tarn=([^;]+); (.*)\r\n", reply)
    assert cookie and cookie[1].decode() != planted, reply
    assert set(cookie[2].decode().split("; ")) >= {"HttpOnly", "Secure", "SameSite=Strict", "Path=/"}
    assert cookie[1] not in reply.partition(b"\r\n\r\n")[2]
    mine = "Cookie: __Host-tarn=" + cookie[1].decode()
    assert b" 200 " in request(box, "/v1/whoami", headers=[mine])
    assert b" 401 " in request(box, "/v1/whoami", headers=["Cookie: __Host-tarn=" + planted])
    assert b" 200 " in request(box, "/v1/session", "DELETE", [mine, "Origin: https://localhost"])
    assert b" 401 " in request(box, "/v1/whoami", headers=[mine])


@pytest.mark.parametrize("is_real", [True, False])
def test_guessing_is_limited_by_user(fresh, eve, is_real):
    """The name counts, whether or not an account has it; and attempts at the same time count at once."""
    user = eve.name if is_real else "no-such-user-here"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        seen = sorted(status for status, _ in pool.map(lambda i: log_in(fresh, user, "guess %d" % i), range(8)))
    assert seen == [401] * 5 + [429] * 3
    status, reply = log_in(fresh, user)
    assert status == 429 and re.search(r"try again in \d+ s", message(reply)), reply
    link = http.client.HTTPSConnection("127.0.0.1", fresh.port, timeout=tarn_test.PATIENCE_S, context=ssl._create_unverified_context())
    link.request("POST", WAY, json.dumps({"user": user, "password": "x"}), {"Content-Type": "application/json"})
    reply = link.getresponse()
    assert "again in %s s" % reply.headers["Retry-After"] in message(json.loads(reply.read()))
    link.close()


def test_guessing_is_limited_by_address_and_success_does_not_count(fresh, eve):
    for _ in range(12):
        assert log_in(fresh, eve.name)[0] == 201
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        seen = sorted(status for status, _ in pool.map(lambda i: log_in(fresh, "user-%d" % i, "spray"), range(12)))
    assert seen == [401] * 10 + [429] * 2
    assert log_in(fresh, eve.name)[0] == 429


def test_a_password_check_delays_nobody(fresh, eve):
    """Refusals wait two seconds each; the loop does not."""
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        waiting = [pool.submit(log_in, fresh, eve.name, "wrong") for _ in range(5)]
        answered = 0
        while not all(one.done() for one in waiting):
            assert fresh.daemon.api.get("/v1/daemon")["pid"]
            answered += 1
        assert answered > 5
        assert [one.result()[0] for one in waiting] == [401] * 5


def test_a_daemon_that_stops_answers_those_who_wait(rules, eve):
    root = tarn_test.make_folder()
    box = Box(root, "--login", "pam")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(log_in, box, eve.name, "wrong")
        time.sleep(0.3)
        box.stop()
        try:
            assert waiting.result()[0] in (401, 503)
        except http.client.RemoteDisconnected:
            pass
    tarn_test.remove_folder(root)


def test_the_password_is_in_no_file_no_log_no_process_and_no_core(box, ana):
    secret = "wrong-but-secret-4711"
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(log_in, box, ana.name, secret)
        while not waiting.done():
            for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
                try:
                    with open(path, "rb") as file:
                        assert secret.encode() not in file.read(), path
                except OSError:
                    pass
    assert waiting.result()[0] == 401
    assert secret not in box.daemon.words() and secret not in json.dumps(box.daemon.api.get("/v1/audit"))
    for base, _, names in os.walk(box.daemon.state):
        for name in names:
            path = os.path.join(base, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    assert secret.encode() not in file.read(), path
    # Not dumpable: the files of the process belong to root, whoever it is.
    assert os.stat("/proc/%d/environ" % box.daemon.process.pid).st_uid == 0


def test_the_unix_socket_needs_no_password(box):
    with pytest.raises(tarn_test.Refused, match="the kernel says who it is"):
        box.daemon.api.post(WAY, {"user": "root", "password": "x"})


def test_without_the_option_no_password_is_taken(rules, ana):
    root = tarn_test.make_folder()
    box = Box(root)
    try:
        assert box.ask("GET", WAY) == (200, {"password": False})
        status, reply = log_in(box, ana.name)
        assert status == 403 and "tarn serve --login pam" in message(reply)
    finally:
        box.stop()
        tarn_test.remove_folder(root)


@pytest.mark.parametrize("options,words", [
    (["--login", "ldap", "--listen", "0:1"], None), (["--login", "pam"], "--login: expected --listen, too"),
    (["--login", "kerberos", "--listen", "http://127.0.0.1:%d"], "--login 'kerberos': expected pam"),
])
def test_a_wrong_setting_is_refused_by_name(options, words):
    root = tarn_test.make_folder()
    daemon = tarn_test.Daemon(root, options=[word % free_port() if "%d" in word else word for word in options])
    _, said = daemon.try_start()
    assert said != "ready" and (words is None or words in said), said
    daemon.stop()
    tarn_test.remove_folder(root)


def test_without_its_rules_pam_is_not_asked(rules):
    """Else PAM would take those of "other"."""
    aside = RULES + ".aside"
    os.rename(RULES, aside)
    root = tarn_test.make_folder()
    try:
        daemon = tarn_test.Daemon(root, options=["--login", "pam", "--listen", str(free_port())])
        _, said = daemon.try_start()
        assert "there is no /etc/pam.d/tarn" in said, said
        daemon.stop()
    finally:
        os.rename(aside, RULES)
        tarn_test.remove_folder(root)


@pytest.mark.skipif(bool(tarn_test.WHY_NOT_AS_OTHERS), reason=tarn_test.WHY_NOT_AS_OTHERS)
def test_without_root_only_the_own_password_is_checked(rules, ana, eve):
    port, root = free_port(), tarn_test.make_folder()
    account = pwd.getpwnam(eve.name)
    os.chown(root, account.pw_uid, account.pw_gid)
    words = [tarn_test.TARN, "serve", "--state", root, "--listen", str(port), "--login", "pam", "--devices", "none"]
    with open(os.path.join(root, "log"), "wb") as log:
        daemon = subprocess.Popen(words, stdout=log, stderr=log, cwd="/", user=account.pw_uid, group=account.pw_gid, extra_groups=[])
    try:
        tarn_test.wait_until("it listens", lambda: "ready" in open(log.name).read())
        box = Door(port)
        status, made = log_in(box, eve.name)
        assert status == 201 and made["scope"] == "admin" and made["user"] == eve.name  # it is the daemon's owner
        status, reply = log_in(box, ana.name)
        assert status == 401 and message(reply) == REFUSAL + "; this daemon does not run as root, and so can check the password of its own user only"
    finally:
        daemon.terminate()
        daemon.wait()
        tarn_test.remove_folder(root)


# ---- the command line ----

def test_tarn_login_with_a_user(box, ana):
    done = box.tarn("login", "--user", ana.name, "--password-stdin", "--fingerprint", box.fingerprint(), box.url, given=PASSWORD + "\n")
    assert "as %s (queues)" % ana.name in done.stdout + done.stderr
    assert ana.name in box.tarn("token", "list", TARN_HOST=box.url).stdout
    assert json.loads(box.tarn("token", "list", "--json", TARN_HOST=box.url).stdout)["tokens"][-1]["name"] == "login"
    refused = box.tarn("login", "--user", ana.name, "--password-stdin", "--fingerprint", box.fingerprint(), box.url, given="wrong\n", status=1)
    assert REFUSAL in refused.stderr
    refused = box.tarn("login", "--user", ana.name, "--fingerprint", box.fingerprint(), box.url, given=PASSWORD + "\n", status=1)
    assert "--password-stdin" in refused.stderr
    assert "--user USER" in box.tarn("login", "--password-stdin", box.url, status=2).stderr
    other = box.tarn("login", "--user", ana.name, "--password-stdin", "--fingerprint", "sha256:" + "0" * 64, box.url, given=PASSWORD + "\n", status=1)
    assert "has the fingerprint" in other.stderr


def test_a_terminal_asks_for_the_password_and_does_not_show_it(box, ana):
    pid, terminal = pty.fork()
    if pid == 0:
        words = [tarn_test.TARN, "login", "--user", ana.name, "--fingerprint", box.fingerprint(), box.url]
        os.execve(words[0], words, {"HOME": box.home, "PATH": os.environ["PATH"]})
    seen = b""
    is_sent = False
    while True:
        if not select.select([terminal], [], [], tarn_test.PATIENCE_S)[0]:
            break
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
        if b"Password of" in seen and not is_sent:
            os.write(terminal, PASSWORD.encode() + b"\n")
            is_sent = True
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, seen
    assert b"logged in" in seen and b"battery" not in seen, seen


# ---- the page ----

def test_the_page_logs_in_with_a_password(box, ana, browser):  # noqa: F811
    page = Page(box, browser)
    browser.delete_all_cookies()
    browser.get(box.url)
    page.wait_for("With your account on the machine of the daemon")
    fill = "document.getElementById('user').value = arguments[0]; document.getElementById('password').value = arguments[1]"
    browser.execute_script(fill, ana.name, "wrong")
    page.press("Log in")
    page.wait_for(REFUSAL, "[role=alert]")
    browser.execute_script(fill, ana.name, PASSWORD)
    page.press("Log in")
    page.wait_for("Overview", "h1")
    assert ana.name in page.text("header")
    cookie = browser.get_cookie("__Host-tarn")
    assert cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "Strict"
    page.press("Log out", "header")
    page.wait_for("With your account on the machine of the daemon")
    assert box.ask("GET", "/v1/jobs", cookie["value"])[0] == 401
    assert page.complaints() == []
