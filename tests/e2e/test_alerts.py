# SPDX-License-Identifier: Apache-2.0
"""What is wrong is told to a command, a webhook and by mail: once when it begins, once when it is over; nothing waits for the delivery."""

import contextlib
import http.server
import json
import os
import re
import socket
import sqlite3
import threading
import time

import pytest

import tarn_test
from tarn_test import Refused, wait_until
from test_gpu import Machine, gpu

TOLD = """#!/bin/sh
{ echo "$1"; cat; echo; } >>%s/told
"""


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.start()
    return machine


class Webhook:
    """Keeps what is posted to it; gives these answers, then 200."""

    def __init__(self, answers=()):
        self.got, self.answers = [], list(answers)
        keeper = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                keeper.got.append((self.path, self.headers["Content-Type"], json.loads(body)))
                self.send_response(keeper.answers.pop(0) if keeper.answers else 200)
                self.end_headers()

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/hook" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def states(self):
        return [(body["state"], body["fault"], body["uuid"]) for _, _, body in self.got]


@pytest.fixture
def webhook():
    made = []

    def make(*answers):
        made.append(Webhook(answers))
        return made[-1]

    yield make
    for one in made:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def command(tmp_path):
    path = tmp_path / "page"
    path.write_text(TOLD % tmp_path)
    path.chmod(0o755)
    return path


def told(command):
    """(sentence, JSON) of each time that the command was run."""
    path = command.parent / "told"
    lines = [line for line in path.read_text().splitlines() if line] if path.exists() else []
    return [(lines[i], json.loads(lines[i + 1])) for i in range(0, len(lines) - 1, 2)]




def read_once(machine):
    wait_until("it was read", lambda: all(machine.gpu(i)["reading"] for i in range(2)))


def counts(machine):
    return {name: int(value) for name, value in re.findall(r'tarn_alerts_total\{result="(\w+)"\} (\d+)', machine.metrics())}


def test_a_fault_is_told_once_when_it_begins_and_once_when_it_is_over(machine, webhook, command):
    hook = webhook()
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url, "command": str(command)}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("it is told", lambda: hook.got and told(command))
    path, kind, body = hook.got[0]
    assert (path, kind) == ("/hook", "application/json")
    assert body["state"] == "begins" and body["fault"] == "recovery-action" and body["severity"] == "critical"
    assert body["uuid"] == "GPU-0" and body["gpu"] == 0 and body["node"]
    assert body["text"] == "tarn: GPU 0 of %s: the driver asks for a reset or a reboot" % body["node"]
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", body["since"])
    assert told(command)[0] == (body["text"], body)
    time.sleep(3)
    assert len(hook.got) == 1, "it goes on, and is not told again"
    machine.tell(gpu(0), gpu(1))
    wait_until("its end is told", lambda: len(hook.got) == 2 and len(told(command)) == 2)
    assert hook.states() == [("begins", "recovery-action", "GPU-0"), ("over", "recovery-action", "GPU-0")]
    assert hook.got[1][2]["text"].startswith("tarn: over: GPU 0 of ")
    wait_until("all are counted", lambda: counts(machine) == {"sent": 4, "failed": 0, "dropped": 0})


def test_an_xid_is_told_with_its_number_and_a_program_s_own_fault_is_not(machine, webhook):
    hook = webhook()
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}})
    read_once(machine)
    machine.tell(gpu(0), gpu(1), "gpu 0 xid 31", "gpu 1 xid 79")
    wait_until("it is told", lambda: hook.got)
    time.sleep(2)
    assert hook.states() == [("begins", "reboot", "GPU-1")]
    assert hook.got[0][2]["words"] == "XID 79: fell off the bus; reboot needed"


def test_what_goes_on_is_told_again(machine, webhook):
    hook = webhook()
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url, "repeat": "3s"}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("it is told three times", lambda: len(hook.got) >= 3)
    assert [state for state, _, _ in hook.states()[:3]] == ["begins", "goes_on", "goes_on"]


def test_silence_keeps_it_back_and_a_silence_that_is_over_does_not(machine, webhook):
    hook = webhook()
    config = {"alerts": {"webhook": hook.url, "silence": [{"fault": "recovery-action", "uuid": "GPU-0", "until": "2099-01-31T08:00"},
                                                           {"uuid": "GPU-1", "until": "2001-01-01"}]}}
    machine.api.put("/v1/config", config)
    shown = machine.api.get("/v1/config")
    shown = shown.get("config", shown)["alerts"]["silence"]
    assert [sorted(entry) for entry in shown] == [["fault", "until", "uuid"], ["until", "uuid"]]
    assert shown[0]["until"] == "2099-01-31T08:00:00"
    shown[0]["until"] += "Z"
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url, "silence": shown}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1, recovery_action=1))
    wait_until("the other is told", lambda: hook.got)
    time.sleep(3)
    assert hook.states() == [("begins", "recovery-action", "GPU-1")]
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}})
    wait_until("silence is over", lambda: len(hook.got) == 2)
    assert hook.states()[1] == ("begins", "recovery-action", "GPU-0")


def test_a_restart_tells_nothing_twice(machine, webhook):
    hook = webhook()
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("it is told", lambda: hook.got)
    kept = os.path.join(machine.daemon.state, "alerts.db")

    def told():
        with contextlib.closing(sqlite3.connect(f"file:{kept}?mode=ro", uri=True)) as db:
            return [name for name, in db.execute("SELECT name FROM alert WHERE kind = 0")]

    wait_until("it is kept", lambda: told() == ["recovery-action"])
    machine.daemon.kill()
    machine.daemon.start()
    wait_until("it is seen", lambda: machine.gpu(0)["sick"])
    time.sleep(3)
    assert len(hook.got) == 1
    machine.tell(gpu(0), gpu(1))
    wait_until("its end is told", lambda: len(hook.got) == 2)
    assert hook.states()[1] == ("over", "recovery-action", "GPU-0")
    wait_until("that is kept", lambda: told() == [])
    machine.daemon.kill()
    for name in ("alerts.db-wal", "alerts.db-shm"):
        if os.path.exists(os.path.join(machine.daemon.state, name)):
            os.unlink(os.path.join(machine.daemon.state, name))
    with open(kept, "w") as file:
        file.write("this is no database " * 100)
    machine.daemon.start()
    assert "a database is not used, and is kept file=%s" % kept in machine.daemon.words()


def closed_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def test_a_webhook_that_hangs_or_refuses_delays_neither_the_daemon_nor_the_command(machine, command):
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(16) # connections are made, and never answered
        machine.api.put("/v1/config", {"alerts": {"webhook": "http://127.0.0.1:%d/" % door.getsockname()[1], "command": str(command),
                                                  "repeat": "1s"}})
        read_once(machine)
        machine.tell(gpu(0, recovery_action=1), gpu(1))
        wait_until("the command is told", lambda: len(told(command)) >= 3)
        slowest = 0
        for _ in range(50):
            start = time.monotonic()
            machine.api.get("/v1/daemon")
            slowest = max(slowest, time.monotonic() - start)
            time.sleep(0.05)
        assert slowest < 2
        wait_until("the deadline is over", lambda: "an alert was not sent by=webhook" in machine.daemon.words())
        start = time.monotonic()
        assert machine.daemon.terminate() == 0
        assert time.monotonic() - start < 8, "the end does not wait for the webhook"
    machine.daemon.start()
    machine.api.put("/v1/config", {"alerts": {"webhook": "http://127.0.0.1:%d/" % closed_port(), "repeat": "1s"}})
    wait_until("it is refused", lambda: counts(machine)["failed"] > 0)
    assert machine.api.get("/v1/daemon")["api"] == 1


def test_what_fails_is_tried_again(machine, webhook):
    hook = webhook(500, 302)
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("the third try is taken", lambda: counts(machine)["sent"] == 1)
    assert len(hook.got) == 3 and hook.got[0] == hook.got[2]


def test_a_command_that_hangs_is_ended_with_all_it_started(machine, tmp_path):
    path = tmp_path / "hangs"
    path.write_text("#!/bin/sh\necho $$ >%s/pid\nsleep 600 &\necho $! >>%s/pid\nwait\n" % (tmp_path, tmp_path))
    path.chmod(0o755)
    machine.api.put("/v1/config", {"alerts": {"command": str(path)}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("it was given up", lambda: "not done in time" in machine.daemon.words())
    pids = (tmp_path / "pid").read_text().split()

    def is_gone(pid):
        try:
            return open("/proc/%s/stat" % pid, errors="replace").read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True
    wait_until("they are gone", lambda: all(is_gone(pid) for pid in pids[:2]))


def test_messages_that_nobody_takes_are_counted_and_none_is_dropped(machine):
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen(16)
        machine.api.put("/v1/config", {"alerts": {"webhook": "http://127.0.0.1:%d/" % door.getsockname()[1], "repeat": "1s"}})
        read_once(machine)
        bad = dict(recovery_action=1, row_pending=1, row_failed=1, sram=1)
        machine.daemon.kill()
        more = " ".join("%s %s" % pair for pair in bad.items())
        machine.tell(gpu(0), gpu(1), "gpu 0 " + more, "gpu 1 " + more)
        machine.daemon.start()
        wait_until("one failed", lambda: counts(machine)["failed"] > 0)
        assert counts(machine)["dropped"] == 0, "what there is no room for is told later"
        machine.api.get("/v1/daemon")


class Mailbox(threading.Thread):
    """Takes mail as an SMTP server does, and keeps it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.door = socket.socket()
        self.door.bind(("127.0.0.1", 0))
        self.door.listen(4)
        self.url = "smtp://127.0.0.1:%d" % self.door.getsockname()[1]
        self.mails, self.guests = [], 0
        self.is_open = threading.Event()  # else clients are kept waiting
        self.is_open.set()
        self.start()

    def run(self):
        while True:
            try:
                peer, _ = self.door.accept()
            except OSError:
                return
            self.guests += 1
            self.is_open.wait()
            with contextlib.suppress(OSError), peer, peer.makefile("rw", newline="\r\n") as talk:
                self.take(talk)

    def subjects(self):
        return sorted(line[9:] for _, lines in list(self.mails) for line in lines if line.startswith("Subject: "))

    def take(self, talk):
        say = lambda words: (talk.write(words + "\r\n"), talk.flush())
        to, lines = [], []
        say("220 here")
        for line in talk:
            line = line.rstrip("\r\n")
            if line.startswith("RCPT TO:"):
                to.append(line[8:])
            if line == "DATA":
                say("354 go on")
                for text in talk:
                    if text.rstrip("\r\n") == ".":
                        break
                    lines.append(text.rstrip("\r\n"))
                self.mails.append((to, lines))
            say("221 bye" if line == "QUIT" else "250 ok")
            if line == "QUIT":
                return


def test_mail_is_sent(machine):
    box = Mailbox()
    machine.api.put("/v1/config", {"alerts": {"mail": ["ops@example.org", "ana@example.org"], "mail_server": box.url}})
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    to, lines = wait_until("a mail came", lambda: box.mails and box.mails[0])
    box.door.close()
    assert [address.split()[0] for address in to] == ["<ops@example.org>", "<ana@example.org>"]
    assert any(line.startswith("Subject: tarn: GPU 0 of ") for line in lines)
    assert "To: ops@example.org,ana@example.org" in lines
    assert json.loads(lines[-1])["fault"] == "recovery-action"


def test_a_job_sends_mail_when_it_asks_for_it(machine):
    box = Mailbox()
    for keys, words in (({"mail": "ana@example.org"}, "mail: no mail is sent from here"), ({"notify": "end"}, "notify: there is no way to tell users")):
        reply = machine.api.post("/v1/jobs", dict(run="true", **keys))  # it runs, and the reply says that nobody is told
        assert len(reply["notes"]) == 1 and reply["notes"][0].startswith(words)
        assert machine.api.wait_end(reply["submitted"][0]["id"])["result"] == "ok"
    machine.api.put("/v1/config", {"alerts": {"mail_server": box.url}})
    for wrong in ("ana", "ana@", "a b@c", "ana@example.org,", "x@y\nBcc: z@y", "<a@b>"):
        with pytest.raises(Refused) as refused:
            machine.api.submit(run="true", mail=wrong)
        assert "expected an address like ana@example.org" in refused.value.message
    with pytest.raises(Refused) as refused:
        machine.api.submit(run="true", mail="a@b", notify="end,never")
    assert "'never': expected begin, end, fail or requeue" in refused.value.message

    def subjects():
        return sorted(line[9:] for _, lines in list(box.mails) for line in lines if line.startswith("Subject: "))

    def expect(*patterns):
        wait_until("the mails came: %s" % (patterns,), lambda: len(subjects()) >= len(patterns))
        for pattern, subject in zip(patterns, subjects()):
            assert re.fullmatch(pattern, subject), subjects()
        assert len(subjects()) == len(patterns), subjects()
        box.mails.clear()

    plain = machine.api.submit(run="true")
    quiet = machine.api.submit(run="true", mail="ana@example.org", notify="fail")
    number = machine.api.submit(run="exit 3", name="one", mail="ana@example.org,bo@example.org")
    for job in (plain, quiet, number):
        machine.api.wait_end(job)
    wait_until("a mail came", lambda: box.mails)
    to, lines = box.mails[0]
    assert [address.split()[0] for address in to] == ["<ana@example.org>", "<bo@example.org>"]
    message = json.loads(lines[-1])
    assert (message["event"], message["job"], message["kind"], message["result"]) == ("end", number, "job", "failed")
    expect(r"tarn: job %d one ended: failed \(exit status 3\), ran .*" % number)
    # An array tells once; a restart is told only where it is asked for.
    array = machine.api.submit(run="exit $TARN_ARRAY_INDEX", array="0-5", name="many", mail="ana@example.org", notify="begin,end",
                               cpus=0.01)
    machine.api.wait_group(array)
    expect("tarn: array %d many ended: 5 of 6 jobs did not end well" % array, "tarn: array %d many started" % array)
    again = machine.api.submit(run='[ "$TARN_ATTEMPT" = 2 ]', retry=1, name="two", mail="ana@example.org",
                               notify="begin,fail,requeue")
    assert machine.api.wait_end(again)["result"] == "ok"
    expect("tarn: job %d two restarted, attempt 2" % again, "tarn: job %d two started" % again)
    # One that is cancelled before it starts, after a restart of the daemon.
    held = machine.api.submit(run="true", hold=True, name="held", mail="ana@example.org")
    machine.daemon.stop()
    machine.daemon.start()
    machine.api.post("/v1/jobs/%d/cancel" % held)
    expect("tarn: job %d held ended: cancelled" % held)
    box.door.close()


@pytest.mark.parametrize("silence,words", [
    ({"fault": "hot"}, "expected a list"),
    ([{"fault": "cold"}], "'cold': no such alert"),
    ([{"uuid": "a b"}], "expected the UUID"),
    ([{"until": "soon"}], "expected a date in UTC"),
    ([{"until": "08:00"}], "expected a date in UTC"),
    ([{"untli": "2030-01-01"}], "did you mean 'until'"),
    ([{"uuid": "GPU-%060d" % i} for i in range(20)], "longer than"),
])
def test_a_silence_that_makes_no_sense_changes_nothing(machine, silence, words):
    with pytest.raises(Refused) as refused:
        machine.api.put("/v1/config", {"alerts": {"silence": silence}})
    assert words in refused.value.message


def test_each_message_about_a_job_is_sent_once(machine, tmp_path):
    box = Mailbox()
    machine.api.put("/v1/config", {"alerts": {"mail_server": box.url}})
    asks = {"mail": "ana@example.org", "notify": "begin,end"}
    machine.api.submit(*[dict(run="true", name="j%d" % i, **asks) for i in range(30)])
    wait_until("all mails came", lambda: len(set(box.subjects())) == 60)
    # One that ends while there is no daemon; its mail is the last.
    ends = tmp_path / "end"
    last = machine.api.submit(run="until test -e %s; do sleep 0.05; done" % ends, name="last", **asks)
    machine.api.wait_state(last, "running")
    wait_until("its mail came", lambda: len(set(box.subjects())) == 61)
    shim, = tarn_test.shims_of(machine.daemon.state).values()
    assert machine.daemon.terminate() == 0
    ends.touch()
    wait_until("the job has ended", lambda: not os.path.exists("/proc/%d" % shim))
    machine.daemon.start()
    wait_until("its mail came", lambda: any("last ended: ok" in subject for subject in box.subjects()))
    again = set(box.subjects())
    assert len(again) == 62
    # Only what was under way when the daemon stopped may come twice.
    assert len(box.subjects()) - len(again) <= 1, box.subjects()


@pytest.mark.parametrize("stop", ["kill", "terminate"])
def test_messages_that_a_stop_interrupts_are_sent_after_it(machine, stop):
    box = Mailbox()
    box.is_open.clear()
    machine.api.put("/v1/config", {"alerts": {"mail_server": box.url}})
    asks = {"mail": "ana@example.org", "notify": "begin,end"}
    jobs = machine.api.submit(*[dict(run="exit %d" % i, name="j%d" % i, cpus=0.1, **asks) for i in range(3)],
                              dict(run="true", name="many", array="0-9", cpus=0.1, **asks))
    for job in jobs[:3]:
        machine.api.wait_end(job)
    wait_until("the array has ended", lambda: machine.api.get("/v1/jobs/%d" % jobs[3])["ended"])
    wait_until("a mail is on its way", lambda: box.guests > 0)
    getattr(machine.daemon, stop)()
    assert box.mails == []
    box.is_open.set()
    machine.daemon.start()
    wait_until("all came", lambda: len(set(box.subjects())) == 8)
    said = box.subjects()
    assert len(said) == 8 and sum("ended: failed" in line for line in said) == 2, said
    assert sum("many" in line for line in said) == 2, said


def test_a_full_way_is_said_once(machine):
    box = Mailbox()
    box.is_open.clear()
    machine.api.put("/v1/config", {"alerts": {"mail_server": box.url}})
    machine.api.submit(*[dict(run="true", name="j%d" % i, cpus=0.01, mail="ana@example.org") for i in range(300)])
    wait_until("it is full", lambda: "too many are waiting by=mail" in machine.daemon.words())
    box.is_open.set()
    wait_until("all mails came", lambda: len(set(box.subjects())) == 300)
    assert machine.daemon.words().count("too many are waiting by=mail") < 10
