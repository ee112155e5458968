# SPDX-License-Identifier: Apache-2.0
import asyncio
import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import unittest
from datetime import timedelta
from unittest import mock

import world
import tarn
import tarn_test
from tarn import _place

ROOT = pathlib.Path(world.HERE).parent.parent


class Submitting(world.DaemonCase):
    def test_a_job_runs_and_ends(self):
        os.environ["TARN_TEST_LEFT_OUT"] = os.environ["PYTHON_TEST_SENT"] = "sent"
        self.addCleanup(os.environ.pop, "PYTHON_TEST_SENT")
        self.addCleanup(os.environ.pop, "TARN_TEST_LEFT_OUT")
        sent = self.submit('echo "$PYTHON_TEST_SENT $TARN_TEST_LEFT_OUT$A"; pwd; exit 3', env={"A": "own"}, name="three")
        self.assertEqual((sent.kind, sent.name, sent.job_ids), ("job", "three", (sent.id,)))
        job = self.client.wait(sent, 60)
        self.assertEqual((job.state, job.result, job.exit_code, job.is_ok), ("ended", "failed", 3, False))
        self.assertEqual(job.outcome, "failed, exit status 3")
        self.assertLessEqual(job.submitted, job.started)
        self.assertEqual(self.client.logs(job), "sent own\n%s\n" % os.getcwd())
        self.assertEqual(self.client.logs(job, tail=1), os.getcwd() + "\n")
        with self.assertRaises(tarn.JobFailed) as caught:
            self.client.wait(job, check=True)
        self.assertEqual(str(caught.exception), "job %d: failed, exit status 3" % job.id)

    def test_a_list_is_a_program_and_its_arguments(self):
        job = self.client.wait(self.submit(["printf", "%s|", "a b", pathlib.Path("/x"), "$HOME"], cwd=pathlib.Path("/")))
        self.assertEqual(self.client.logs(job), "a b|/x|$HOME|")
        self.assertEqual(job["launch"]["cwd"], "/")

    def test_requests_arrive_as_they_were_made(self):
        job = self.client.get(self.submit("sleep 100", gpus="h100:2", cpus=2, max_duration=timedelta(minutes=90), priority=7,
                                          begin="now+1h", comment="ünï"))
        self.assertEqual((job["gpu_count"], job["cpus"], job["priority"], job.state), (2, 2, 7, "waiting"))
        self.assertEqual(job["request"]["max_duration"], 5400)
        self.client.update(job, priority=9)
        self.assertEqual(self.client.get(job)["priority"], 9)
        self.client.cancel(job)
        self.assertEqual(self.client.get(job).result, "cancelled")

    def test_a_job_waits_for_those_it_comes_after(self):
        first = self.submit("exit 1", hold=True)
        second = self.submit("true", after=[first])
        either = self.submit("true", after=[], depends=[{"on": first, "when": "any"}])
        self.assertEqual(self.client.get(second).state, "waiting")
        self.client.release(first)
        self.assertEqual(self.client.wait(either, 60).result, "ok")
        self.assertEqual(self.client.wait(second, 60).result, "cancelled")

    def test_many_are_accepted_or_refused_as_a_whole(self):
        self.assertEqual([one.name for one in self.client.submit_many([{"run": "true", "name": "n%d" % i} for i in range(3)])],
                         ["n0", "n1", "n2"])
        with self.assertRaises(tarn.BadRequest):
            self.client.submit_many([{"run": "true", "name": "n3"}, {"walk": "true"}])
        self.assertEqual([job.name for job in self.client.list(all=True)], ["n0", "n1", "n2"])

    def test_a_check_submits_nothing(self):
        self.assertEqual(len(self.client.check("true", cache=True)), 1)
        self.assertEqual(self.client.check("true", gpus=1), [])
        self.assertTrue(self.client.estimate("true", gpus=1)["now"])
        self.assertEqual(list(self.client.list(all=True)), [])

    def test_pages_follow_each_other(self):
        array = self.submit("true", array="0-2499", hold=True)
        self.assertEqual(array.kind, "array")
        self.assertEqual(len(set(job.label for job in self.client.list(group=array))), 2500)
        page = self.client.page(limit=10)
        self.assertEqual((len(page.jobs), self.client.page(after=page.next, limit=1).jobs[0].label),
                         (10, "%d_10" % array.id))
        self.assertEqual(self.client.cancel("%d_7" % array.id), [page.jobs[7].id])
        self.assertEqual([job.label for job in self.client.list(all=True, state="cancelled")], ["%d_7" % array.id])

    def test_errors_say_what_was_wrong(self):
        for kind, words, call in [
            (tarn.NotFound, "job 99: no such job", lambda: self.client.get(99)),
            (tarn.NotFound, "job 99", lambda: list(self.client.events(99))),
            (tarn.NotFound, "job 99", lambda: self.client.logs(99)),
            (tarn.Never, "gpus", lambda: self.client.submit("true", gpus=64)),
            (tarn.BadRequest, "did you mean 'gpus'", lambda: self.client.submit("true", gpsu=1)),
            (tarn.BadRequest, "stream 'both'", lambda: self.client.logs(self.submit("true"), stream="both")),
        ]:
            with self.assertRaisesRegex(kind, words):
                call()
        job = self.client.wait(self.submit("true"))
        with self.assertRaises(tarn.Conflict) as caught:
            self.client.hold(job)
        self.assertEqual((caught.exception.status, caught.exception.code), (409, "conflict"))
        for wrong in ("7/cancel", "", True, None):
            with self.assertRaisesRegex(ValueError, "expected a number like 7"):
                self.client.get(wrong)
        with self.assertRaisesRegex(TypeError, "expected text, a number"):
            self.client.submit("true", env={"A": object()})

    def test_a_body_that_is_too_large_is_refused_with_a_reason(self):
        with self.assertRaises(tarn.TooLarge):
            self.client.submit("true", comment="x" * (33 << 20))

    def test_the_keys_are_those_of_a_job_file(self):
        text = (ROOT / "src/wire/job/job_keys.def").read_text()
        places = dict(re.findall(r'JOB_KEY\("(\w+)", ([A-Z| ]+),', text))
        own = {"run", "command", "stages", "defaults", "sender_env", "sender_cwd", "sender_umask", "sender_limits", "sender_job", "slurm", "script_path"}
        self.assertEqual(set(tarn.JobKeys.__annotations__), {key for key in places if "J" in places[key]} - own)
        self.assertEqual(set(tarn.StageKeys.__annotations__) - own,
                         {key for key in places if "S" in places[key] or "J" in places[key]} - own - {"needs"})

    def test_both_clients_have_the_calls_of_the_page(self):
        calls = {name for name in dir(tarn.Client) if not name.startswith("_")} - {"close"}
        self.assertEqual(calls, {name for name in dir(tarn.AsyncClient) if not name.startswith("_")} - {"close"})
        rows = re.findall(r"^\| (`.*?) \|", (ROOT / "doc/python.md").read_text(), re.M)
        named = {name for row in rows for name in re.findall(r"`(\w+)", row)}
        self.assertEqual(calls - named, {"checkpointed"})  # tarn.checkpoint() inside a job
        self.assertEqual(named - calls, set())


class Explaining(world.DaemonCase):
    def test_why_and_when(self):
        first = self.submit("sleep 100", gpus=3, max_duration="1h")
        self.until_state(first, "running")
        second = self.submit("sleep 100", gpus=2)
        why = self.client.why(second)
        self.assertEqual((why["kind"], why["wanted"], why["free"], why["held_by"][0]["id"]), ("gpus", 2, 1, first.id))
        self.assertTrue(self.client.when(second)["waits"])
        self.client.cancel(first, now=True)
        self.until_state(second, "running")

    def test_the_machine(self):
        self.assertEqual([gpu["index"] for gpu in self.client.gpus()], [0, 1, 2, 3])
        self.assertEqual(self.client.nodes()[0]["gpus"], 4)
        self.assertIn("default", [queue["name"] for queue in self.client.queues()])
        self.assertIsInstance(self.client.pools(), list)
        self.assertEqual(self.client.daemon()["api"], 1)


class Waiting(world.DaemonCase):
    def test_the_time_for_waiting_may_end(self):
        job = self.submit("sleep 100 & wait")
        with self.assertRaisesRegex(tarn.WaitTimeout, "job %d: has not ended" % job.id):
            self.client.wait(job, 0.3)
        with self.assertRaises(TimeoutError):
            self.client.wait(job, 0)
        self.assertEqual(self.client.send_signal(job, "USR1"), [job.id])
        self.assertEqual((self.client.wait(job).signal, self.client.get(job).outcome), (10, "failed, killed by signal 10"))
        self.client.requeue(job)
        self.until_state(job, "running")

    def test_events_tell_each_state(self):
        job = self.submit("true", hold=True)
        seen = []
        for event in self.client.events(job):
            seen.append(event.job.state)
            if seen == ["held"]:
                self.client.release(job)
        self.assertEqual((seen[0], seen[-1]), ("held", "ended"))

    def test_events_of_all_jobs(self):
        is_heard = threading.Event()

        def keep_submitting():  # the first ones may be sent before the stream has begun
            while not is_heard.wait(0.1):
                self.submit("true", name="heard")

        sender = threading.Thread(target=keep_submitting)
        sender.start()
        try:
            with contextlib.closing(self.client.events()) as events:
                event = next(events)
        finally:
            is_heard.set()
            sender.join()
        self.assertEqual((event.kind, event.job.name), ("job", "heard"))

    def test_output_is_followed_while_it_is_written(self):
        folder = self.daemon.root
        job = self.submit(["sh", "-c", "echo ä; until [ -e %s/go ]; do sleep 0.02; done; echo end" % folder])
        output = self.client.follow(job)
        self.assertEqual(next(output), "ä\n")
        pathlib.Path(folder, "go").touch()
        self.assertEqual("".join(output), "end\n")

    def test_a_daemon_that_restarts_is_waited_for(self):
        job = self.submit(["sh", "-c", "echo one; until [ -e %s/go ]; do sleep 0.02; done; echo two" % self.daemon.root])
        output = self.client.follow(job)
        self.assertEqual(next(output), "one\n")
        results = []
        waiter = threading.Thread(target=lambda: results.append(self.client.wait(job, 60)))
        waiter.start()
        for end in (self.daemon.kill, self.daemon.terminate):
            end()
            self.daemon.start()
        pathlib.Path(self.daemon.root, "go").touch()
        self.assertEqual("".join(output), "two\n")
        waiter.join(60)
        self.assertEqual([one.result for one in results], ["ok"])
        self.assertEqual(self.client.get(job).result, "ok")

    def test_without_a_daemon_streams_end_with_an_error(self):
        client = tarn.Client(self.daemon.socket, reconnect=0)
        self.addCleanup(client.close)
        job = self.submit("sleep 100")
        self.daemon.kill()
        with self.assertRaisesRegex(tarn.NoDaemon, "no daemon is running at .*tarn.sock; tarn up starts one"):
            client.get(job)
        with self.assertRaises(tarn.NoDaemon):
            client.wait(job)
        self.daemon.start()

    def test_threads_share_a_client(self):
        numbers = []
        threads = [threading.Thread(target=lambda: numbers.extend(self.submit("true", hold=True).id for _ in range(20)))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(numbers), list(range(min(numbers), min(numbers) + 160)))


class Pipelines(world.DaemonCase):
    def test_stages_run_in_their_order(self):
        with tarn.Pipeline("digits", client=self.client, defaults={"retry": 1}, env=self.daemon.env()) as pipeline:
            data = pipeline.stage("prepare", "echo 7 > $TARN_OUT/data/x", outputs=["data"])
            train = pipeline.stage("train", "cat $TARN_IN/data/x; echo ${lr}", after=[data], inputs=["data"],
                                   matrix={"lr": [0.1, 0.01]}, gpus=1)
            pipeline.stage("cleanup", ["true"], after=[train], when="always")
        self.assertEqual((pipeline.submitted.kind, pipeline.submitted.raw["job_count"]), ("pipeline", 4))
        group = self.client.wait(pipeline.submitted, 60, check=True)
        self.assertEqual((group.kind, group.name, group.result), ("pipeline", "digits", "ok"))
        stages = {stage["name"]: stage for stage in group["stages"]}
        for before, after in (("prepare", "train"), ("train", "cleanup")):
            self.assertLessEqual(stages[before]["jobs"][-1]["ended"], stages[after]["jobs"][0]["started"])
        self.assertEqual([self.client.logs(job["id"]) for job in stages["train"]["jobs"]], ["7\n0.1\n", "7\n0.01\n"])
        self.assertEqual(list(self.client.events(pipeline.submitted))[-1].job.result, "ok")

    def test_a_pipeline_that_fails_is_a_failed_group(self):
        pipeline = tarn.Pipeline("broken", env=self.daemon.env())
        first = pipeline.stage("first", "exit 4")
        pipeline.stage("second", "true", after=[first])
        with self.assertRaisesRegex(tarn.JobFailed, "failed"):
            self.client.wait(self.client.submit(pipeline), 60, check=True)

    def test_nothing_is_sent_after_an_exception(self):
        with self.assertRaises(ZeroDivisionError):
            with tarn.Pipeline(client=self.client) as pipeline:
                pipeline.stage("a", "true")
                1 / 0
        with self.assertRaisesRegex(ValueError, "not submitted"):
            pipeline.submitted
        self.assertEqual(list(self.client.list(all=True)), [])
        with self.assertRaisesRegex(ValueError, "stage a: named twice"):
            pipeline.stage("a", "true")
        with self.assertRaisesRegex(ValueError, "stage b: after stage c, which is not of this pipeline"):
            pipeline.stage("b", "true", after=[tarn.Stage("c", {})])


class Asyncio(world.DaemonCase):
    def run_with_client(self, function):
        async def run():
            async with tarn.AsyncClient(self.daemon.socket) as client:
                return await function(client)

        return asyncio.run(run())

    def test_jobs_are_submitted_and_awaited_together(self):
        async def go(client):
            jobs = [await client.submit("echo %d; exit %d" % (i, i), env=self.daemon.env()) for i in range(8)]
            ended = await asyncio.gather(*(client.wait(job, 60) for job in jobs))
            logs = await asyncio.gather(*(client.logs(job) for job in jobs))
            return [job.exit_code for job in ended], "".join(logs), [job.id async for job in client.list(all=True)]

        codes, logs, listed = self.run_with_client(go)
        self.assertEqual((codes, logs), (list(range(8)), "".join("%d\n" % i for i in range(8))))
        self.assertEqual(len(listed), 8)

    def test_a_thousand_calls_at_once_share_few_connections(self):
        async def go(client):
            job = await client.submit("true", hold=True)
            return len({one.id for one in await asyncio.gather(*(client.get(job) for _ in range(1000)))}), len(client._idle)

        ids, connections = self.run_with_client(go)
        self.assertEqual(ids, 1)
        self.assertLessEqual(connections, 16)

    def test_a_wait_can_be_cancelled(self):
        async def go(client):
            job = await client.submit("sleep 100", env=self.daemon.env())
            waiter = asyncio.ensure_future(client.wait(job))
            await asyncio.sleep(0.2)
            waiter.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiter
            with self.assertRaises(tarn.WaitTimeout):
                await client.wait(job, 0.2)
            await client.cancel(job, now=True)
            with self.assertRaises(tarn.JobFailed):
                await client.wait(job, 60, check=True)
            with self.assertRaisesRegex(tarn.NotFound, "job 99: no such job"):
                await client.get(99)

        self.run_with_client(go)

    def test_streams(self):
        async def go(client):
            job = await client.submit(["sh", "-c", "echo one; until [ -e %s/go ]; do sleep 0.02; done; echo two"
                                       % self.daemon.root], env=self.daemon.env())
            text, states = "", []
            async for piece in client.follow(job):
                text += piece
                if text == "one\n":
                    self.daemon.kill()
                    self.daemon.start()
                    pathlib.Path(self.daemon.root, "go").touch()
            async for event in client.events(job):
                states.append(event.job.state)
            return text, states

        self.assertEqual(self.run_with_client(go), ("one\ntwo\n", ["ended"]))


class Places(world.DaemonCase):
    def test_the_socket_is_that_of_the_command_line(self):
        ours = {"XDG_RUNTIME_DIR": "/run/user/7", "XDG_STATE_HOME": "/st", "HOME": "/home/a"}
        for uid, environment, path in [
            (7, {"TARN_SOCKET": "/a/b"}, "/a/b"), (7, {"TARN_SOCKET": "b"}, os.path.abspath("b")),
            (7, {"TARN_STATE": "/s"}, "/s/tarn.sock"), (7, {}, "/run/user/7/tarn/tarn.sock"),
            (7, {"XDG_RUNTIME_DIR": ""}, "/st/tarn/tarn.sock"),
            (7, {"XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": "x"}, "/home/a/.local/state/tarn/tarn.sock"),
            (0, {}, "/run/tarn/tarn.sock"),
        ]:
            with mock.patch.dict(os.environ, {**ours, **environment}, clear=True), \
                    mock.patch.object(os, "geteuid", lambda uid=uid: uid), \
                    mock.patch.object(_place, "is_listening", lambda path: False):
                self.assertEqual(_place.find_socket(), path)

    def test_the_first_job_starts_a_daemon(self):
        other = self.make_daemon()
        environment = {**other.environment(), "TARN_DEVICES": "synthetic:h100:2"}
        program = ("import sys, tarn\nclient = tarn.Client(program=sys.argv[1])\n"
                   "try: client.get(1)\nexcept tarn.NoDaemon: print('none')\n"
                   "print(client.wait(client.submit('true', gpus=2)).result)")
        done = subprocess.run([sys.executable, "-c", program, tarn_test.TARN], text=True, stdout=subprocess.PIPE,
                              env={**environment, "PYTHONPATH": os.path.dirname(os.path.dirname(tarn.__file__))}, timeout=120)
        self.addCleanup(subprocess.run, [tarn_test.TARN, "down", "--kill"], env=environment, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)
        self.assertEqual(done.stdout, "none\nok\n")
        with self.assertRaisesRegex(tarn.NoDaemon, "no-such-tarn cannot be started"):
            tarn.Client("/tmp/no/socket", program="no-such-tarn").submit("true")

    def test_another_machine_is_reached_over_https(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        daemon = self.make_daemon(options=["--listen", str(port)])
        daemon.start()
        url = "https://localhost:%d" % port
        environment = {"TARN_TOKEN": daemon.api.post("/v1/tokens", {"name": "python"})["token"],
                       "TARN_FINGERPRINT": daemon.api.get("/v1/daemon")["listen"]["fingerprint"],
                       "XDG_CONFIG_HOME": daemon.root}
        with mock.patch.dict(os.environ, environment):
            with tarn.Client(host=url + "/") as client:
                job = client.submit("echo far; head -c 300000 /dev/zero | tr '\\0' x", env=daemon.env())
                self.assertEqual(client.wait(job, 60).outcome, "ok")
                self.assertEqual(len(client.logs(job)), 300004)

            async def ask():
                async with tarn.AsyncClient(host=url) as client:
                    return [one.id async for one in client.list(all=True)], await client.wait(job, 60)

            numbers, ended = asyncio.run(ask())
            self.assertEqual((numbers, ended.id), ([job.id], job.id))
            with mock.patch.dict(os.environ, {"TARN_TOKEN": "tarn_1_wrong"}), tarn.Client(host=url) as client:
                self.assertRaises(tarn.Unauthorized, client.gpus)
            with mock.patch.dict(os.environ, {"TARN_FINGERPRINT": "sha256:00"}), tarn.Client(host=url) as client:
                self.assertRaisesRegex(tarn.Error, "has changed", client.gpus)
            with mock.patch.dict(os.environ, {"TARN_FINGERPRINT": ""}), tarn.Client(host=url) as client:
                self.assertRaisesRegex(tarn.Error, "CERTIFICATE_VERIFY_FAILED", client.gpus)
            with mock.patch.dict(os.environ, {"TARN_TOKEN": ""}):
                self.assertRaisesRegex(tarn.Unauthorized, "tarn login", tarn.Client, host=url)
        for host in ("https://", "https://-x", "https://a b", "https://box:x"):
            self.assertRaisesRegex(ValueError, "expected https://", tarn.Client, host=host)

    def test_a_restart_loses_no_event_in_silence(self):
        with tarn.Client(self.daemon.socket, program=tarn_test.TARN) as client:
            events = client.events()
            first = self.submit("sleep 1000", gpus=1)
            self.assertEqual(next(events).job.id, first.id)
            self.daemon.terminate()
            self.daemon.start()
            self.assertRaises(tarn.EventsLost, list, events)

    def test_another_machine_is_reached_through_ssh(self):
        """The program in TARN_SSH gets the words that ssh would get, and runs the command here."""
        fake = os.path.join(self.daemon.root, "ssh")
        with open(fake, "w") as file:
            file.write('#!/bin/sh\necho "$*" >> %s.log\nshift $(($# - $(echo "$*" | sed "s/.*ana@box //" | wc -w)))\n'
                       'unset TARN_HOST; TARN_SOCKET=%s exec "$@"\n' % (fake, self.daemon.socket))
        os.chmod(fake, 0o755)
        environment = {"TARN_SSH": fake + " -F none", "TARN_HOST": "ssh://ana@box:2222" + tarn_test.TARN,
                       "XDG_RUNTIME_DIR": self.daemon.root}
        with mock.patch.dict(os.environ, environment), tarn.Client() as client:
            job = client.wait(client.submit("pwd", env=self.daemon.env()), 60)
            self.assertEqual(client.logs(job), os.path.expanduser("~") + "\n")  # the working directory is not sent
            self.assertEqual(list(client.follow(job)), [os.path.expanduser("~") + "\n"])
            with self.assertRaisesRegex(ValueError, "folder: expected one that this machine shares with ssh://ana@box"):
                tarn.Executor(client)
        words = tarn_test.read_file(fake + ".log").splitlines()[0]
        self.assertEqual(words, "-F none -T -o ControlMaster=auto -o ControlPersist=600 -o ControlPath=%s/tarn/tarn-%%C"
                         " -p 2222 ana@box %s proxy" % (self.daemon.root, tarn_test.TARN))

    def test_names_of_machines_are_checked(self):
        for host in ("box", "http://box", "ssh://", "ssh://-oProxyCommand=x", "ssh://a@-b", "ssh://box:2;2", "ssh://box/a b"):
            with self.assertRaisesRegex(ValueError, "expected ssh://"):
                tarn.Client(host=host)
        with self.assertRaisesRegex(ValueError, "expected one of them"):
            tarn.Client("/s", host="ssh://box")


class Inside(world.DaemonCase):
    def run_program(self, text, **keys):
        path = os.path.join(self.daemon.root, "program.py")
        with open(path, "w") as file:
            file.write(text)
        return self.submit([sys.executable, path], env={"PYTHONPATH": os.path.dirname(os.path.dirname(tarn.__file__))}, **keys)

    def test_a_job_reports_values(self):
        job = self.run_program("""
import fractions, tarn
print("tarn.report none")
print("tarn.report [1]")
print(" 10%", end="")
tarn.report(step=1, loss=0.5, phase="warm up")
tarn.report(step=2, loss=fractions.Fraction(1, 4), samples_per_second=float("nan"))
try:
    tarn.report(loss=object())
except TypeError:
    print("refused", end="")
""")
        self.assertEqual(self.client.wait(job, 60).result, "ok")
        first, second = self.client.reports(job)
        self.assertEqual({key: first[key] for key in ("step", "loss", "phase")}, {"step": 1, "loss": 0.5, "phase": "warm up"})
        self.assertEqual((second["step"], second["loss"]), (2, 0.25))
        self.assertNotEqual(second["samples_per_second"], second["samples_per_second"])  # not a number
        self.assertLessEqual(self.client.get(job).submitted.timestamp(), first["time"])
        self.assertTrue(self.client.logs(job).endswith("refused"))

    def test_a_job_saves_its_work_and_stops(self):
        job = self.run_program("""
import time, tarn
folder = tarn.checkpoint_folder()
print(tarn.job_id(), tarn.attempt(), tarn.checkpoint_every(), (folder / "state").exists(), flush=True)
if tarn.attempt() == 1:
    assert not tarn.should_stop()
    (folder / "state").write_text("7")
    tarn.checkpoint(folder / "state")
    print("saved", flush=True)
    while not tarn.should_stop():
        time.sleep(0.02)
    print("stopped in order", flush=True)
""", checkpoint={"every": "10m"}, preemptible=True)
        self.until("the work is saved", lambda: "saved\n" in self.client.logs(job))
        self.assertIsNotNone(self.client.get(job)["checkpoint"]["last"])
        self.client.requeue(job)
        self.assertEqual(self.client.wait(job, 60).result, "ok")
        self.assertEqual(self.client.logs(job),
                         "%d 1 600.0 False\nsaved\nstopped in order\n%d 2 600.0 True\n" % (job.id, job.id))

    def test_outside_of_a_job_there_is_nothing_to_report(self):
        self.assertIsNone(tarn.job_id())
        self.assertIsNone(tarn.checkpoint_folder())
        self.assertIsNone(tarn.checkpoint_every())
        tarn.checkpoint()
        with self.assertRaisesRegex(FileNotFoundError, "checkpoint /no/such: no such file"):
            tarn.checkpoint("/no/such")


if __name__ == "__main__":
    unittest.main()
