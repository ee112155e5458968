# SPDX-License-Identifier: Apache-2.0
"""Whoever follows the events knows what the listing shows: every change of every job is an event."""

import random
import threading

import pytest

from tarn_test import PATIENCE_S, Refused, wait_until

KEYS = ("id", "name", "queue", "state", "result", "priority", "attempt", "exit_code", "reason", "cancelled_by", "started", "ended")


def known_of(job):
    return {key: job.get(key) for key in KEYS}


class Follower:
    """What a client knows that reads /v1/events alone."""

    def __init__(self, api):
        self.jobs = {}
        self.api = api
        threading.Thread(target=self.follow, daemon=True).start()
        wait_until("the stream is open", lambda: self.knows(api.submit(run="true", cpus=0.1, name="first")))

    def follow(self):
        try:
            for kind, job in self.api.events("/v1/events", timeout=PATIENCE_S * 4):
                if kind == "job":
                    self.jobs[job["id"]] = known_of(job)
        except OSError:
            pass

    def knows(self, number):
        return number in self.jobs

    def assert_equals_listing(self):
        listed = {}

        def is_equal():
            listed.update({job["id"]: known_of(job) for job in self.api.get("/v1/jobs?all=1&limit=1000")["jobs"]})
            return all(self.jobs.get(number) == job for number, job in listed.items() if number >= min(self.jobs))

        try:
            wait_until("the follower knows the listing", is_equal, patience=10)
        except AssertionError:
            different = {number: (self.jobs.get(number), job) for number, job in listed.items() if self.jobs.get(number) != job}
            raise AssertionError("known and listed: %r" % different)


def chain(api, first, when="ok", **keys):
    return api.submit(run="true", cpus=0.1, depends=[{"on": first, "when": when}], **keys)


def ends_of(api, *numbers):
    return [(api.wait_end(number)["result"], api.job(number)["reason"]) for number in numbers]


def test_a_job_whose_need_fails_ends_with_an_event(api):
    first = api.submit(run="exit 3", cpus=0.1, name="prepare", hold=True)
    second = chain(api, first)
    third = chain(api, second)
    seen = []
    threads = [threading.Thread(target=lambda number=number: seen.extend(api.events("/v1/jobs/%d/events" % number)), daemon=True)
               for number in (second, third)]
    for thread in threads:
        thread.start()
    api.post("/v1/jobs/%d/release" % first)
    for thread in threads:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()  # the stream of a job ends with it
    assert {job["id"] for _, job in seen if job["state"] == "ended"} == {second, third}
    assert ends_of(api, second, third) == [
        ("cancelled", "needs job %d (prepare) to succeed, but that job failed with exit code 3" % first),
        ("cancelled", "needs job %d (true) to succeed, but that job was cancelled" % second)]


@pytest.mark.parametrize("when, run, words", [("ok", "kill -9 $$", "to succeed, but that job was ended by signal 9"),
                                              ("failed", "true", "to fail, but that job succeeded")])
def test_the_reason_names_the_job_and_how_it_ended(api, when, run, words):
    first = api.submit(run=run, cpus=0.1, name="one", hold=True)
    second = chain(api, first, when)
    api.post("/v1/jobs/%d/release" % first)
    assert ends_of(api, second) == [("cancelled", "needs job %d (one) %s" % (first, words))]


def test_a_job_that_gets_free_is_an_event(api):
    follower = Follower(api)
    first = api.submit(run="sleep 60", cpus=0.1, hold=True)
    second = chain(api, first, "any", hold=True)
    third = chain(api, second, "ok")
    api.post("/v1/jobs/%d/cancel" % first)
    api.post("/v1/jobs/%d/release" % second)
    assert ends_of(api, second, third) == [("ok", None), ("ok", None)]
    follower.assert_equals_listing()


@pytest.mark.parametrize("seed", range(6))
def test_what_a_follower_knows_is_the_listing(api, seed):
    chance = random.Random(seed)
    follower = Follower(api)
    numbers = []
    for _ in range(40):
        action = chance.choice(["submit"] * 4 + ["array", "pipeline", "cancel", "hold", "release", "requeue", "priority"])
        some = chance.choice(numbers) if numbers else None
        try:
            if action == "submit" or some is None:
                depends = [{"on": some, "when": chance.choice(["ok", "any", "failed", "started"])}] if some and chance.random() < 0.6 else []
                numbers.append(api.submit(run=chance.choice(["true", "false", "sleep 0.1"]), cpus=0.1, depends=depends,
                                          hold=chance.random() < 0.3, begin=chance.choice(["now", "now+1"])))
            elif action == "array":
                numbers.append(api.submit(run="exit $TARN_ARRAY_INDEX", cpus=0.1, array="0-2", hold=chance.random() < 0.3))
            elif action == "pipeline":
                numbers.append(api.submit(name="p", stages={"a": {"run": chance.choice(["true", "false"]), "cpus": 0.1},
                                                            "b": {"needs": "a", "run": "true", "cpus": 0.1},
                                                            "c": {"when": "always", "run": "true", "cpus": 0.1}}))
            elif action == "priority":
                api.patch("/v1/jobs/%d" % some, {"priority": chance.randrange(-5, 5)})
            else:
                api.post("/v1/jobs/%d/%s" % (some, action))
        except Refused:
            pass  # what is over cannot be held
    for number in numbers:
        try:
            api.post("/v1/jobs/%d/release" % number)
        except Refused:
            pass
    wait_until("everything is over", lambda: not [job for job in api.get("/v1/jobs?all=1&limit=1000")["jobs"] if job["state"] != "ended"])
    follower.assert_equals_listing()
