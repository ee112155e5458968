# SPDX-License-Identifier: Apache-2.0
"""What is wrong is listed, and silenced for a while; budgets are told, too, and jobs to their owners."""

import getpass
import json
import subprocess
import time

import pytest

from tarn_test import IS_ROOT, Refused, TARN, as_user, wait_until
from test_alerts import Mailbox, TOLD, Webhook, read_once, told
from test_gpu import Machine, gpu, worker


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.start()
    return machine


@pytest.fixture
def hook():
    hook = Webhook()
    yield hook
    hook.server.shutdown()
    hook.server.server_close()


def script(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    path = folder / "page"
    path.write_text(TOLD % folder)
    path.chmod(0o755)
    return path


def each_of(bodies):
    """What a letter is about, and what more there is in it."""
    return [body for first in bodies for body in [first, *first.get("more", [])]]


def tarn(machine, *words, status=0):
    done = subprocess.run([TARN, "alerts", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=dict(machine.daemon.environment(), TARN_SOCKET=machine.daemon.socket, LC_ALL="C.UTF-8"))
    assert done.returncode == status, done
    return done


def alerts(machine):
    return {(alert["name"], alert["subject"]): alert for alert in machine.api.get("/v1/alerts")["alerts"]}


def test_what_is_silenced_is_listed_not_told_and_stays_so_over_a_crash(machine, hook):
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}})
    assert "no problems" in tarn(machine).stderr
    tarn(machine, "silence", "recovery-action", "--of", "GPU-0", "--for", "2h", "--comment", "we know, ana has it")
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1, recovery_action=1))
    wait_until("the other is told", lambda: hook.got)
    silent = wait_until("it is listed", lambda: alerts(machine).get(("recovery-action", "GPU-0")))
    assert silent["silenced"] and silent["silence"]["comment"] == "we know, ana has it" and silent["told"] is None
    assert silent["silence"]["by"] == getpass.getuser()
    assert not alerts(machine)[("recovery-action", "GPU-1")]["silenced"]
    done = tarn(machine)
    assert "silenced until " in done.stdout and "the driver asks for a reset or a reboot" in done.stdout
    assert "recovery-action of GPU-0 (%s: we know, ana has it)" % getpass.getuser() in done.stderr
    machine.daemon.kill()
    machine.daemon.start()
    wait_until("it is seen again", lambda: alerts(machine).get(("recovery-action", "GPU-0")))
    time.sleep(3)
    assert hook.states() == [("begins", "recovery-action", "GPU-1")]
    assert alerts(machine)[("recovery-action", "GPU-0")]["silenced"]
    tarn(machine, "unsilence", "recovery-action")
    wait_until("now it is told", lambda: len(hook.got) == 2)
    assert hook.states()[1] == ("begins", "recovery-action", "GPU-0")
    assert "nothing of the kind is silenced" in tarn(machine, "unsilence", "--all", status=1).stderr
    machine.tell(gpu(0), gpu(1))
    wait_until("all is over", lambda: alerts(machine) == {})


def test_a_silence_ends_by_itself(machine, hook):
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}})
    read_once(machine)
    reply = machine.api.post("/v1/alerts/silences", {"name": "*", "for": "6s"})
    assert reply["silence"]["subject"] == "*"
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("it is seen", lambda: alerts(machine))
    assert hook.got == []
    wait_until("its time is over", lambda: hook.got)
    assert machine.api.get("/v1/alerts")["silences"] == []
    assert json.loads(tarn(machine, "--json").stdout)["alerts"][0]["told"]
    assert tarn(machine, "-q").stdout == "recovery-action GPU-0\n"


def test_the_owner_of_a_job_is_told_what_the_administrator_is_not(machine, hook, tmp_path):
    owners = script(tmp_path, "owners")
    box = Mailbox()
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url, "owner_command": str(owners), "owner_mail": "example.org",
                                              "mail_server": box.url}})
    shown = machine.api.get("/v1/config")
    assert shown.get("config", shown)["alerts"]["owner_mail"] == "example.org"
    job = machine.api.submit(command=["sleep", "600"], gpus="2", cpus=0, requeue=False)
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    user = machine.api.job(job)["user"]
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1))
    wait_until("the administrator is told", lambda: hook.got)
    sentence, body = wait_until("the owner is told", lambda: told(owners))[0]
    assert sentence == "tarn: job %d: it runs on a faulty GPU: the driver asks for a reset or a reboot" % job
    assert (body["fault"], body["job"], body["user"], body["severity"]) == ("job-device", job, user, "critical")
    to, lines = wait_until("mail came", lambda: box.mails and box.mails[0])
    box.door.close()
    assert [address.split()[0] for address in to] == ["<%s@example.org>" % user]
    assert "Subject: " + sentence in lines
    assert hook.states() == [("begins", "recovery-action", "GPU-0")], "what is the owner's is not the administrator's"
    assert "job %d of %s" % (job, user) in tarn(machine).stdout


def test_idle_and_memory_warnings_reach_the_owner(machine, tmp_path):
    owners = script(tmp_path, "owners")
    machine.api.put("/v1/config", {"idle": {"warn": "3s"}, "memory_grace": "1h", "alerts": {"owner_command": str(owners)}})
    idle = machine.api.submit(command=["sleep", "600"], gpus="1", cpus=0)
    greedy = machine.api.submit(command=["sh", "-c", "echo $$; exec sleep 600"], gpus="0.5,mem=20G", cpus=0)
    pid = worker(machine, greedy)
    held = machine.api.job(greedy)["devices"][0]["index"]
    machine.tell(gpu(held, used=40000, use=50), gpu(1 - held, use=0), "gpu %d process %d memory 40000 use 50" % (held, pid))
    wait_until("both are told", lambda: {(body["fault"], body["job"], body["state"]) for body in each_of(body for _, body in told(owners))} >=
               {("job-idle", idle, "begins"), ("job-memory", greedy, "begins")})
    machine.tell(gpu(held, used=10000, use=50), gpu(1 - held, use=90), "gpu %d process %d memory 10000 use 50" % (held, pid))
    wait_until("both are over", lambda: {(body["fault"], body["job"]) for body in each_of(body for _, body in told(owners)) if body["state"] == "over"} ==
               {("job-idle", idle), ("job-memory", greedy)})


def test_an_owner_gets_one_letter_about_many_jobs_and_holds_up_no_administrator(machine, hook, tmp_path):
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    owners = script(tmp_path, "owners")
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url, "owner_command": str(owners)}})
    jobs = [machine.api.submit(command=["sleep", "600"], gpus="0.25", cpus=0, requeue=False) for _ in range(8)]
    for job in jobs:
        wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    read_once(machine)
    machine.tell(gpu(0, recovery_action=1), gpu(1, recovery_action=1))
    bodies = wait_until("all are told", lambda: [body for _, body in told(owners)] if len(each_of(body for _, body in told(owners))) == 8 else None)
    assert sorted(body["job"] for body in each_of(bodies)) == jobs
    assert len(bodies) <= 2 and "count" in bodies[0] and " more" in bodies[0]["text"], "one for each look"
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url, "owner_command": str(slow)}})
    machine.tell(gpu(0), gpu(1))
    wait_until("the administrator hears the end of both", lambda: [state for state, _, _ in hook.states()].count("over") == 2)


def test_a_budget_that_is_spent_is_told(machine, hook):
    machine.api.put("/v1/config", {"alerts": {"webhook": hook.url}, "prices": {"h100": 360},
                                   "queues": {"research": {"budget": {"amount": 1, "per": "year", "hard": True}}}})
    job = machine.api.submit(command=["sleep", "600"], gpus="1", cpus=0, queue="research", max_duration="10s")
    wait_until("it is near its end", lambda: ("budget", "queue:research:money") in alerts(machine))
    wait_until("it is told", lambda: hook.got)
    body = hook.got[0][2]
    assert body["fault"] == "budget" and body["subject"] == "queue:research:money" and "uuid" not in body
    assert body["text"].startswith("tarn: queue research has spent ")
    wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")


@pytest.mark.parametrize("body,words", [
    ({"for": "2h"}, "name: expected"),
    ({"name": "cold", "for": "2h"}, "'cold' is not known"),
    ({"name": "hot"}, "for: expected a time"),
    ({"name": "hot", "for": "2 years"}, "for"),
    ({"name": "hot", "for": "0s"}, "for: expected a time"),
    ({"name": "hot", "for": "2h", "subject": ""}, "subject"),
    ({"name": "hot", "for": "2h", "comment": "a\nb"}, "comment: the character U+000A at position 2; expected one line"),
    ({"name": "hot", "for": "2h", "coment": "x"}, "did you mean 'comment'"),
])
def test_a_silence_that_makes_no_sense_is_refused(daemon, body, words):
    with pytest.raises(Refused) as refused:
        daemon.api.post("/v1/alerts/silences", body)
    assert refused.value.status == 400 and words in refused.value.message
    assert daemon.api.get("/v1/alerts")["silences"] == []


def test_a_key_of_the_query_that_is_none_ends_no_silence(daemon):
    daemon.api.post("/v1/alerts/silences", {"name": "hot", "for": "2h"})
    with pytest.raises(Refused) as refused:
        daemon.api.ask("DELETE", "/v1/alerts/silences?nmae=foo")
    assert refused.value.status == 400
    assert refused.value.message == "unknown parameter 'nmae'; expected name, subject"
    assert len(daemon.api.get("/v1/alerts")["silences"]) == 1
    assert daemon.api.ask("DELETE", "/v1/alerts/silences?name=hot")["removed"] == 1


@pytest.mark.parametrize("subject", ["GPU-9", "7", "job:", "job:x", "job:0", "job:7_3", "job:-7", "queue:none:money",
                                     "queue:default", "queue:default:cpus", "../../etc", "hot", "node:none", "file:", "file:a/b"])
def test_a_subject_that_is_none_is_refused(daemon, subject):
    with pytest.raises(Refused) as refused:
        daemon.api.post("/v1/alerts/silences", {"name": "*", "for": "2h", "subject": subject})
    assert refused.value.status == 400
    assert "expected the UUID or the number of a GPU, job:7, node:NAME, file:NAME, queue:NAME:money, queue:NAME:USER:gpu_hours or *" in refused.value.message
    assert daemon.api.get("/v1/alerts")["silences"] == []


def test_a_gpu_can_be_called_by_its_number(daemon):
    gpus = {gpu["index"]: gpu["uuid"] for gpu in daemon.api.get("/v1/gpus")["gpus"]}
    for subject, kept in [("0", gpus[0]), (gpus[1], gpus[1]), ("job:7", "job:7"), ("queue:default:money", "queue:default:money")]:
        reply = daemon.api.post("/v1/alerts/silences", {"name": "*", "for": "2h", "subject": subject})
        assert reply["silence"]["subject"] == kept
    assert daemon.api.ask("DELETE", "/v1/alerts/silences?subject=0")["removed"] == 1


def test_wrong_usage_is_told(machine):
    for words in [["mute"], ["silence", "hot"], ["silence", "--for", "2h"], ["silence", "hot", "--all", "--for", "2h"], ["unsilence"]]:
        assert "see tarn alerts --help" in tarn(machine, *words, status=2).stderr


@pytest.mark.skipif(not IS_ROOT, reason="only root can act as another user")
def test_only_administrators_silence(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    with pytest.raises(Refused) as refused:
        as_user(65534, lambda: daemon.api.post("/v1/alerts/silences", {"name": "*", "for": "2h"}))
    assert refused.value.status == 403
    with pytest.raises(Refused) as refused:
        as_user(65534, lambda: daemon.api.ask("DELETE", "/v1/alerts/silences"))
    assert refused.value.status == 403
    assert as_user(65534, lambda: daemon.api.get("/v1/alerts")) == {"alerts": [], "silences": []}
