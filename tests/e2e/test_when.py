# SPDX-License-Identifier: Apache-2.0
"""When a waiting job will start: the estimate and its range, and what would make it start sooner."""

import datetime
import getpass
import json
import os
import re
import random
import resource
import subprocess
import time

import pytest

from tarn_test import IS_ROOT, Refused, TARN, UnixConnection, as_user, wait_until

# Little of the CPUs, so that GPUs are what is waited for on any machine.
SMALL = {"cpus": 0.01}


def submit(api, run_s, gpus, **keys):
    return api.submit(command=["sleep", str(run_s)], gpus=gpus, **dict(SMALL, **keys))


def clock(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").timestamp()


def when(api, number):
    return api.get("/v1/jobs/%s/when" % number)


def foretold(ask, is_right):
    """The answer. Where a forecast takes more processor time than is allowed for now, the first answers are by a simpler estimate."""
    answers = []

    def is_there():
        answers[:] = [ask()]
        return is_right(answers[0])

    try:
        wait_until("the forecast says it", is_there)
    except AssertionError:
        raise AssertionError(answers[0])
    return answers[0]


def sooner(api, number, kind):
    found = [advice for advice in when(api, number)["sooner"] if advice["kind"] == kind]
    return found[0] if found else None


def tarn(daemon, *words, status=0):
    done = subprocess.run([TARN, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          env=dict(daemon.environment(), TARN_SOCKET=daemon.socket))
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


# Estimates


def test_the_estimate_is_the_first_end_that_makes_room_and_it_starts_then(api):
    first = submit(api, 4, 2, estimate="4s", max_duration="1m")
    second = submit(api, 20, 2, estimate="20s", max_duration="1m")
    api.wait_state(first, "running")
    api.wait_state(second, "running")
    third = submit(api, 0, 2, max_duration="1m")
    api.wait_state(third, "queued")
    said = when(api, third)
    assert said["waits"] and not said["start"]["open"]
    due = clock(api.job(first)["started"]) + 4
    assert abs(clock(said["start"]["expected"]) - due) < 1, said
    assert clock(said["start"]["low"]) <= clock(said["start"]["expected"]) <= clock(said["start"]["high"])
    assert said["start"]["low_seconds"] < said["start"]["high_seconds"] < 60
    done = api.wait_end(third)
    assert clock(done["started"]) - due > -1
    assert clock(done["started"]) >= clock(api.job(first)["ended"]) - 0.01
    assert api.job(second)["state"] == "running" or clock(api.job(second)["ended"]) > clock(done["started"])


def test_by_limits_alone_is_later_than_by_estimates(api):
    submit(api, 60, 4, estimate="10s", max_duration="10m")
    start = when(api, submit(api, 0, 4))["start"]
    assert start["in_seconds"] < 11
    wait = clock(start["limits_only"]) - time.time()
    assert 500 < wait < 601


def test_those_in_front_count(api):
    submit(api, 60, 4, estimate="1m", max_duration="1m")
    for _ in range(3):
        last = submit(api, 60, 4, estimate="1m", max_duration="1m")
    assert 170 < when(api, last)["start"]["in_seconds"] < 181


def test_behind_somebody_without_a_limit_the_end_is_open(api, daemon):
    holder = submit(api, 60, 4)
    waiting = submit(api, 0, 1)
    said = when(api, waiting)
    assert said["start"]["open"] and said["start"]["expected"] is None and said["start"]["high"] is None
    assert "open-ended: job %d " % holder in said["text"]
    assert "open-ended" in tarn(daemon, "when", str(waiting))


def test_held_running_and_ended_jobs_have_no_estimate(api):
    running = submit(api, 60, 1)
    ended = submit(api, 0, 1)
    held = submit(api, 0, 1, hold=True)
    api.wait_state(running, "running")
    api.wait_end(ended)
    for number, words in ((running, "has started"), (ended, "has ended"), (held, "is held")):
        said = when(api, number)
        assert not said["waits"] and said["start"] is None and words in said["text"]
    with pytest.raises(Refused) as caught:
        when(api, 99)
    assert caught.value.status == 404


def test_a_begin_time_is_waited_for(api):
    said = when(api, submit(api, 0, 1, begin="now+1h"))
    assert 3590 < said["start"]["in_seconds"] <= 3601


def test_a_begin_time_that_comes_too_early_is_not_the_expected_start(api, daemon):
    endless = submit(api, 600, 4)
    api.wait_state(endless, "running")
    early = submit(api, 0, 4, begin="now+1h", max_duration="1m")
    assert api.job(early)["why"]["kind"] == "begin"
    assert api.job(early)["why"]["expected_start"] is None and when(api, early)["start"]["expected"] is None
    row, = [row for row in api.jobs() if row["id"] == early]
    assert row["why"]["expected_start"] is None, row
    said = tarn(daemon, "why", str(early))
    assert "because   begins in" in said and "has no time limit" in said, said


@pytest.mark.parametrize("predict", [False, True])
def test_why_has_the_start_and_the_job_whose_reservation_is_in_the_way(api, daemon, predict):
    api.put("/v1/config", {"order": "fifo", "predict": predict})
    running = submit(api, 60, 2, max_duration="1m", grace="5s")
    api.wait_state(running, "running")
    wide = submit(api, 0, 4, max_duration="1m")
    late = submit(api, 0, 2, max_duration="1h")
    wait_until("the last is behind the reservation", lambda: api.why(late)["kind"] == "reserved")
    assert api.why(late)["on"] == wide
    why = api.why(wide)
    assert why["promised"] and 0 < why["start"]["in_seconds"] < 61
    # Its limit, its grace period, and 10 s until the devices are free.
    assert clock(why["start"]["high"]) <= clock(why["start"]["guaranteed"]) <= time.time() + 61 + 5 + 10 and "promised within" in when(api, wide)["text"]
    lines = "\n".join(why["lines"])
    assert "starts    in about" in lines and "first in line" in lines and "promised" in lines
    assert "8 of 10 times" in tarn(daemon, "why", str(late))


def test_each_queue_has_a_first_in_line(api):
    api.put("/v1/config", {"queues": {"a": {}, "b": {}}, "backfill": {"depth": 4}})
    running = submit(api, 60, 4, max_duration="1h")
    api.wait_state(running, "running")
    first = submit(api, 0, 4, max_duration="1h", queue="a")
    assert "first in line: " in "\n".join(api.why(first)["lines"])
    other = submit(api, 0, 4, max_duration="1h", queue="b")
    assert "first in line of queue a: " in "\n".join(api.why(first)["lines"])
    assert "first in line of queue b: " in "\n".join(api.why(other)["lines"])


def test_an_end_is_no_more_certain_than_the_start(api):
    for _ in range(6):
        api.wait_end(submit(api, 0.1, 4, max_duration="1m"))
    running = submit(api, 60, 4, max_duration="1h")
    api.wait_state(running, "running")
    waiting = [submit(api, 0, 4, max_duration="1m") for _ in range(3)]
    for job in waiting:
        said = when(api, job)
        start, end = said["start"], said["end"]
        width = clock(end["high"]) - clock(end["low"])
        assert width >= clock(start["high"]) - clock(start["low"]) - 0.01, said


def test_no_end_is_before_its_start_where_others_may_pass_the_job(api):
    running = submit(api, 600, 3, estimate="45m", max_duration="1h")
    api.wait_state(running, "running")
    waiting = [submit(api, 0, 2, max_duration="30m"), submit(api, 0, 4, max_duration="10m")]
    for job in waiting:
        said = when(api, job)
        for bound in ("low", "expected", "high"):
            assert clock(said["start"][bound]) <= clock(said["end"][bound]), (bound, said)
        assert clock(said["end"]["high"]) <= clock(said["start"]["high"]) + 30 * 60, said


def test_why_says_how_long_others_may_pass_a_job(api):
    running = submit(api, 60, 4, max_duration="1h")
    wait_until("it runs", lambda: api.job(running)["state"] == "running")
    waiting = submit(api, 0, 4, max_duration="1h")
    why = api.why(waiting)
    assert re.search(r"protected +other jobs may pass it for (1h59m|2h00m) at most$", "\n".join(why["lines"]), re.M), why["lines"]


def test_what_is_protected_and_what_is_expected_are_one_belief(api):
    """A job that others pass is expected later than its order of age; one that waits beyond its protected start is told so."""
    api.put("/v1/config", {"queues": {"default": {"slack_least": "1m"}}})
    running = submit(api, 7200, 4, estimate="2h", max_duration="2h")
    api.wait_state(running, "running")
    jobs = [submit(api, 7200, 4, estimate="2h", max_duration="10h") for _ in range(2)]
    jobs += [submit(api, 600, 4, estimate="10m", max_duration="10m") for _ in range(4)]
    passed = 0
    for job in jobs:
        why = api.why(job)
        line, = [line for line in why["lines"] if line.startswith("protected")]
        times = [int(hours) * 3600 + int(minutes) * 60 for hours, minutes in re.findall(r"(\d+)h(\d+)m", line)]
        expected = why["start"]["in_seconds"]
        assert ("; then it is next, and starts when there is room" in line) == (expected > times[0] + 60), (line, why["start"])
        assert len(times) == 1 or times[1] < expected, (line, why["start"])
        passed += len(times) > 1
    assert passed > 0, "no job is passed"


def submit_long_and_short(daemon):
    """Long jobs, and an hour later short ones: with a slack of an hour, the long ones soon go first again."""
    for _ in range(20):
        last = submit(daemon.api, 10800, 4, estimate="3h", max_duration="3h")
    daemon.set_clock(3600, 3600)
    for _ in range(30):
        submit(daemon.api, 600, 4, estimate="10m", max_duration="10m")
    return last


def test_the_slack_is_chosen_by_looking_ahead(make_shifted):
    """The choice is an event, `why` says it with its figures, a replay repeats it, and a restart keeps it."""
    daemon = make_shifted()
    daemon.start()
    last = submit_long_and_short(daemon)
    said = r"slack +1d00h, chosen .* ago by a look ahead: with it, \d+ waiting jobs .* waited .* on average and .* at most, else "

    def is_said():
        return re.search(said, "\n".join(daemon.api.why(last)["lines"]))

    wait_until("the slack of a day is chosen", is_said)
    daemon.kill()
    daemon.start()
    assert is_said(), daemon.api.why(last)["lines"]
    daemon.api.put("/v1/config", {"look_ahead": False})
    assert not is_said(), daemon.api.why(last)["lines"]
    daemon.kill()
    daemon.verify()
    daemon.start()


def test_a_queue_keeps_its_own_slack(make_shifted):
    daemon = make_shifted()
    daemon.start()
    daemon.api.put("/v1/config", {"queues": {"default": {"slack_least": "2h"}}})
    last = submit_long_and_short(daemon)
    lines = daemon.api.why(last)["lines"]
    assert any(line.startswith("protected") for line in lines), lines
    assert not any(line.startswith("slack") for line in lines), lines


def test_why_says_how_long_others_may_run_instead_of_a_preemptible_job(api):
    running = submit(api, 60, 4, max_duration="1h", estimate="1h", preemptible=True)
    wait_until("it runs", lambda: api.job(running)["state"] == "running")
    waiting = submit(api, 0, 4, max_duration="1h", estimate="1h", preemptible=True)
    why = api.why(waiting)
    assert re.search(r"protected +other jobs may run instead of it for (10h59m|11h00m) at most", "\n".join(why["lines"])), why["lines"]


# What would make it start sooner


def test_fewer_gpus_are_advised_and_start_at_once(api, daemon):
    submit(api, 60, 1, max_duration="10m")
    waiting = submit(api, 0, 4, max_duration="1m")
    api.wait_state(waiting, "queued")
    advice = sooner(api, waiting, "gpus")
    assert advice["now"] and advice["change"] == "--gpus 3", advice
    assert "with --gpus 3 it would start now" in tarn(daemon, "when", str(waiting))
    tarn(daemon, "run", "--cpus", "0.01", "--max-duration", "1m", *advice["change"].split(), "--", "true")
    assert api.job(waiting)["state"] == "queued"


def test_a_limit_that_ends_before_the_reservation_is_advised_and_starts_at_once(api, daemon):
    api.put("/v1/config", {"order": "fifo", "predict": False})
    submit(api, 60, 2, max_duration="1m")
    submit(api, 0, 4, max_duration="1m")
    waiting = submit(api, 0, 2, max_duration="1h")
    wait_until("it is behind the reservation", lambda: api.why(waiting)["kind"] == "reserved")
    advice = sooner(api, waiting, "limit")
    seconds = int(advice["change"].split()[1].rstrip("s"))
    assert advice["now"] and 40 < seconds < 60
    tarn(daemon, "run", "--gpus", "2", "--cpus", "0.01", *advice["change"].split(), "--", "true")
    assert api.job(waiting)["state"] == "queued"


def test_another_queue_with_room_is_advised_and_starts_at_once(api, daemon):
    api.put("/v1/config", {"queues": {"small": {"limit": 1}, "large": {"limit": 4}}})
    submit(api, 60, 1, queue="small", max_duration="10m")
    waiting = submit(api, 0, 1, queue="small", max_duration="1m")
    wait_until("its queue is full", lambda: api.why(waiting)["kind"] == "quota")
    advice = sooner(api, waiting, "queue")
    assert advice["now"], advice
    tarn(daemon, "run", "--gpus", "1", "--cpus", "0.01", "--max-duration", "1m", *advice["change"].split(), "--", "true")
    assert api.job(waiting)["state"] == "queued"


@pytest.mark.skipif(not IS_ROOT, reason="another user can only be had by root")
def test_a_queue_is_advised_only_to_those_who_may_submit_to_it(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    api = daemon.api
    for users in (["ana"], ["nobody"]):
        api.put("/v1/config", {"queues": {"small": {"limit": 1}, "default": {"submit": {"users": ["ana"]}}, "large": {"limit": 4, "submit": {"users": users}}}})
        running, waiting = [as_user(65534, lambda: submit(api, 600, 1, queue="small", max_duration="10m")) for _ in range(2)]
        wait_until("its queue is full", lambda: api.why(waiting)["kind"] == "quota")
        assert bool(sooner(api, waiting, "queue")) == (users == ["nobody"]), (users, when(api, waiting)["sooner"])
        for job in (waiting, running):
            api.post("/v1/jobs/%d/cancel" % job)
        api.wait_end(running)


def test_nothing_is_advised_where_nothing_helps(api):
    submit(api, 60, 4, max_duration="10m")
    waiting = submit(api, 0, 1, max_duration="1m")
    api.wait_state(waiting, "queued")
    assert when(api, waiting)["sooner"] == []


def test_no_queue_is_advised_before_the_tariff_lets_it_start(api):
    api.put("/v1/config", {"timezone": "UTC", "prices": {"h100": 36}, "tariffs": {"cheap": 0.5}, "queues": {"other": {}},
                           "windows": {"cheap": in_utc(7200) + "-" + in_utc(10800)}})
    waiting = submit(api, 60, 1, tariff="cheap", max_duration="1h")
    wait_until("it waits for the tariff", lambda: api.why(waiting)["kind"] == "tariff")
    said = when(api, waiting)
    assert said["sooner"] == [] and said["start"]["low_seconds"] > 7000, said


def test_gpus_are_advised_that_the_next_window_allows(api, daemon):
    api.put("/v1/config", {"timezone": "UTC", "windows": {"day": in_utc(3600) + "-" + in_utc(36000)},
                           "queues": {"research": {"limit": 4, "during": {"day": {"limit": 2}}}}})
    waiting = submit(api, 60, 4, queue="research", max_duration="2h")
    wait_until("it waits for the window", lambda: api.why(waiting)["kind"] == "window")
    advice = sooner(api, waiting, "gpus")
    assert advice["now"] and advice["change"] == "--gpus 2", advice
    for kind in [advice["kind"] for advice in when(api, waiting)["sooner"]]:
        change = sooner(api, waiting, kind)["change"].split()
        options = {"--gpus": "4", "--max-duration": "2h", change[0]: change[1]}
        words = [word for pair in options.items() for word in pair]
        assert json.loads(tarn(daemon, "when", "--json", "--queue", "research", "--cpus", "0.01", *words))["now"], change


def test_a_job_too_long_for_what_repeats_never_starts_and_is_told_so(api, daemon):
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    tarn(daemon, "reserve", "nightly", "--for", "maintenance", "--nodes", node, "--when", in_utc(1800) + "-" + in_utc(5400))
    for keys, words in (({}, "the job, which has no time limit,"), ({"max_duration": "23h30m"}, "with its time limit of 23h30m,")):
        waiting = submit(api, 60, 1, **keys)
        wait_until("it waits for the maintenance", lambda: api.why(waiting)["kind"] == "reservation")
        why, said = api.why(waiting), when(api, waiting)
        assert "it repeats, and the job, " in why["text"] and words in why["text"] and "never starts" in why["text"], why
        assert why["expected_start"] is None and why["start"] is None, why
        assert not said["waits"] and said["start"] is None and "can never start" in said["text"], said
        row, = [row for row in api.jobs() if row["id"] == waiting]
        assert row["why"]["expected_start"] is None and "never starts" in tarn(daemon, "ls"), row
        advice = sooner(api, waiting, "limit")
        seconds = int(advice["change"].split()[1].rstrip("s"))
        assert advice["now"] and 1600 < seconds < 1800, advice
        api.post("/v1/jobs/%d/cancel" % waiting)
    # Nor does one that also lacks room now.
    short = submit(api, 60, 4, max_duration="10m")
    api.wait_state(short, "running")
    wide = submit(api, 60, 4)
    assert "never starts" in api.why(wide)["text"] and when(api, wide)["start"] is None
    fits = submit(api, 60, 4, max_duration="22h")
    start = when(api, fits)["start"]
    assert 5200 < start["low_seconds"] < start["high_seconds"] + 1 < 12000, start
    said = tarn(daemon, "when", "--gpus", "1", "--cpus", "0.01")
    assert "it repeats" in said and "never starts" in said, said


# Without a job


def test_when_would_a_job_start_that_nobody_submitted(api, daemon):
    assert "would start now" in tarn(daemon, "when", "--gpus", "4", "--cpus", "0.01", "--time", "2h")
    submit(api, 60, 1, max_duration="5m")
    submit(api, 60, 1, max_duration="10m")
    said = json.loads(tarn(daemon, "when", "--json", "--gpus", "3", "--cpus", "0.01"))
    start = said["start"]
    assert not said["now"] and 0 < start["in_seconds"] <= start["high_seconds"] < 601, start
    said = json.loads(tarn(daemon, "when", "--json", "--gpus", "2", "--cpus", "0.01"))
    assert said["now"]
    assert "no node has more than 4" in tarn(daemon, "when", "--gpus", "5", status=1)
    assert "expected one job" in tarn(daemon, "when", "--gpus", "1", "--array", "0-3", status=1)
    submit(api, 60, 4, max_duration="1h")
    api.wait_state(submit(api, 60, 4, max_duration="1h"), "queued")
    behind = json.loads(tarn(daemon, "when", "--json", "--gpus", "4", "--cpus", "0.01", "--time", "1h"))
    waiting = json.loads(tarn(daemon, "when", "--json", str(api.jobs()[-1]["id"])))
    assert behind["start"]["in_seconds"] > waiting["start"]["in_seconds"], (behind, waiting)
    assert behind["end"]["expected"] > behind["start"]["expected"]
    assert len(api.jobs()) == 4
    tarn(daemon, "when", status=2)
    assert "no such script" in tarn(daemon, "when", "--gpus", "1", "extra", status=1)


def test_choose_says_where_its_wait_comes_from(api, daemon):
    assert "tarn when" not in tarn(daemon, "choose", "--gpus", "1")
    api.wait_state(submit(api, 600, 4, max_duration="1h"), "running")
    said = tarn(daemon, "choose", "--gpus", "1")
    assert "tarn when forecasts the start" in said, said


def test_when_would_the_job_of_a_file_start(api, daemon, tmp_path):
    big, script, stages = tmp_path / "big.yaml", tmp_path / "train.sh", tmp_path / "stages.yaml"
    big.write_text("gpus: 5\nmax_duration: 1h\ncommand: [train]\n")
    assert "no node has more than 4" in tarn(daemon, "when", "-f", str(big), status=1)
    big.write_text("gpus: 4\ncpus: 0.01\nmax_duration: 90m\ncommand: [train]\n")
    said = json.loads(tarn(daemon, "when", "--json", "-f", str(big)))
    assert said["now"] and said["end"]["limits_only"] > said["start"]["expected"]
    script.write_text("#!/bin/sh\n#SBATCH --gpus=5\ntrue\n")
    assert "no node has more than 4" in tarn(daemon, "when", "--cpus", "0.01", str(script), status=1)
    assert "would start now" in tarn(daemon, "when", "--cpus", "0.01", "--", "train", "--lr", "0.1")
    assert "No such file" in tarn(daemon, "when", "-f", str(tmp_path / "absent.yaml"), status=1)
    stages.write_text("stages:\n  a: {command: [train]}\n")
    assert "expected one job" in tarn(daemon, "when", "-f", str(stages), status=1)
    big.write_text("gpus: 4\ncommand: [train]\nmax_duratoin: 1h\n")
    assert "big.yaml:3" in tarn(daemon, "when", "-f", str(big), status=1)


def test_many_may_ask_when_at_once(api, daemon):
    tarn(daemon, "when", "--gpus", "1")  # over ssh: they share its connection, as a server takes few new ones at a time
    submit(api, 60, 4, max_duration="5m")
    asking = [subprocess.Popen([TARN, "when", "--gpus", "1", "--json"], env=dict(daemon.environment(), TARN_SOCKET=daemon.socket),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(8)]
    for process in asking:
        said, words = process.communicate(timeout=120)
        assert process.returncode == 0 and not json.loads(said)["now"], words


# The options


def test_options_are_kept_and_shown(api, daemon):
    tarn(daemon, "submit", "--hold", "--estimate", "2h", "--max-duration", "3h", "--deadline", "+6h", "--preemptible",
         "--restart-cost", "30s", "--", "true")
    job = api.job(1)
    assert (job["estimate"], job["preemptible"], job["restart_cost"], job["preemptions"]) == (7200, True, 30, 0)
    assert abs(clock(job["deadline"]) - clock(job["submitted"]) - 6 * 3600) < 2
    shown = tarn(daemon, "show", "1")
    for words in ("estimate    2h00m", "deadline", "preemptible yes · a restart costs 30s"):
        assert words in shown, shown
    daemon.kill()
    daemon.start()
    again = daemon.api.job(1)
    assert [again[key] for key in ("estimate", "deadline", "preemptible")] == \
        [job[key] for key in ("estimate", "deadline", "preemptible")]


@pytest.mark.parametrize("keys, words", [
    ({"estimate": "3h", "max_duration": "2h"}, "estimate: 3h00m, but max_duration ends it after 2h00m"),
    ({"estimate": 0}, "estimate: expected a run time of more than 0s"),
    ({"deadline": "2020-01-01"}, "deadline '2020-01-01': it has passed"),
    ({"deadline": "now"}, "deadline: 'now': expected a time in the future"),
    ({"deadline": "+18:00"}, "deadline: '+18:00': not a time"),
    ({"deadline": "soon"}, "deadline: 'soon': not a time"),
    ({"deadline": "+1h", "estimate": "2h"}, "deadline in 1h00m: too early for an estimate of 2h00m"),
    ({"deadline": "+1h", "begin": "now+2h"}, "deadline in 1h00m: before its begin time, in 2h00m"),
    ({"restart_cost": "2d"}, "restart_cost: longer than a day"),
    ({"preemptible": "perhaps"}, "preemptible"),
])
def test_options_that_make_no_sense_are_refused_in_words(api, keys, words):
    with pytest.raises(Refused) as caught:
        api.submit(run="true", **keys)
    assert caught.value.status == 400 and words in caught.value.message, caught.value.message


def test_a_job_that_is_stopped_for_others_says_so_and_goes_on_later(api, daemon):
    first = submit(api, 600, 4, estimate="1h", max_duration="1h", preemptible=True, restart_cost="1s", grace="5s")
    api.wait_state(first, "running")
    time.sleep(1.5)
    urgent = submit(api, 2, 4, estimate="2s", max_duration="10s", priority="high")
    api.wait_state(urgent, "running")
    job = api.wait_state(first, "queued")
    assert job["preemptions"] == 1 and job["attained_seconds"] >= 1.4 and job["preemptible"]
    assert "preempted once after" in tarn(daemon, "ls")
    assert "preempted 1 time," in tarn(daemon, "show", str(first))
    assert when(api, first)["start"]["in_seconds"] < 11
    api.wait_end(urgent)
    job = api.wait_state(first, "running")
    assert (job["attempt"], job["preemptions"]) == (2, 1)


# Live and simulated


INSTANT_S = 0.1  # those that start within it may change places


def trace():
    """59 jobs as (gpus, run in seconds, limit in seconds). No two limits are the same, and no two fit beside each other on
    4 GPUs: who is next is then the brain's choice alone, and not a matter of the milliseconds that a busy machine adds."""
    rng = random.Random(1)
    return [(rng.choice((3, 3, 4)), (50 + 10 * rng.randrange(0, 25)) / 1000,
             60 * (1 + rng.randrange(9)) + number) for number in range(59)]


def test_a_trace_starts_in_the_same_order_live_and_in_the_simulator(make_daemon):
    daemon = make_daemon()
    daemon.start()
    api = daemon.api
    api.put("/v1/config", {"predict": False})  # what is learned from runs differs with a millisecond
    # Until all have come, one job has the machine: the order is then the brain's alone.
    gate = submit(api, 2, 4, name="gate", max_duration="1m")
    api.wait_state(gate, "running")
    numbers = api.submit(*[dict(SMALL, command=["sleep", "%.2f" % run], name="n%02d" % number, gpus=gpus,
                                max_duration="%ds" % limit) for number, (gpus, run, limit) in enumerate(trace())])
    for number in numbers:
        assert api.wait_end(number)["result"] == "ok"
    live = {job["name"]: clock(job["started"]) for job in api.jobs()}
    assert len(live) == 60
    daemon.verify()
    environment = daemon.environment()
    daemon.terminate()

    experiment = os.path.join(daemon.root, "same.yaml")
    with open(experiment, "w") as file:
        file.write("cluster: {nodes: 1, gpus: 4, model: h100, cpus: 64}\n"
                   "workload: {format: journal, file: %s}\npolicy: {order: default, predict: false}\n"
                   "measure: [starts]\n" % daemon.state)
    done = subprocess.run([TARN, "simulate", experiment, "--json"], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    starts = {job["name"]: job["start"] for job in json.loads(done.stdout)["runs"][0]["starts"]}
    assert set(starts) == set(live)
    for first in live:
        for then in live:
            if live[first] + INSTANT_S < live[then]:
                assert starts[first] <= starts[then] + INSTANT_S, (first, then, live[first], live[then],
                                                                   starts[first], starts[then])


def test_no_start_is_expected_before_the_begin_time(api):
    api.wait_end(submit(api, 0, 1))
    later = submit(api, 1, 1, begin="now+2h")
    start = when(api, later)["start"]
    assert 7000 < start["low_seconds"] <= 7200 and clock(start["low"]) <= clock(start["expected"]) <= clock(start["high"]), start


def test_what_can_never_start_has_no_estimate(api, daemon):
    api.put("/v1/config", {"queues": {"research": {}}})
    api.wait_state(submit(api, 60, 4, max_duration="1m"), "running")
    spot = api.submit(run="true", gpus="1", spot="only", max_duration="1m", env=daemon.env())
    wide = api.submit(run="true", gpus="3", queue="research", max_duration="1m", env=daemon.env())
    api.put("/v1/config", {"queues": {"research": {"users": {getpass.getuser(): 2}}}})
    wait_until("both were looked at", lambda: api.why(spot)["kind"] == "spot" and api.why(wide)["kind"] == "never_quota")
    for number in (spot, wide):
        said = when(api, number)
        assert not said["waits"] and said["start"] is None, said
        assert "can never start" in said["text"]
    assert "can never run" in tarn(daemon, "ls")


# What the scheduler will do is known


def test_a_job_that_waits_for_others_has_an_estimate(api, daemon):
    first = submit(api, 600, 1, estimate="10m", max_duration="10m")
    after = submit(api, 600, 1, depends=[{"on": first, "when": "ok"}], estimate="5m", max_duration="5m")
    said = when(api, after)
    assert said["waits"] and 590 < said["start"]["in_seconds"] < 601, said
    assert 880 < clock(said["end"]["expected"]) - time.time() < 901
    assert "it ends in about 15 min" in tarn(daemon, "when", str(after))
    why, (row,) = api.why(after), [row for row in api.jobs() if row["id"] == after]
    for start in (why["start"]["expected"], why["expected_start"], row["why"]["expected_start"], api.job(after)["why"]["expected_start"]):
        assert abs(clock(start) - clock(said["start"]["expected"])) < 1, (why, row)
    lines = "\n".join(why["lines"])
    assert "because   waits for job %d to succeed" % first in lines and "starts    in about 10 min" in lines, lines
    assert "about " in tarn(daemon, "ls").split("waits for job")[1]


def test_the_end_of_a_pipeline_is_known(api, daemon):
    submitted = api.post("/v1/jobs", [{"name": "chain", "sender_cwd": "/", "stages": {
        "one": dict(SMALL, command=["sleep", "600"], gpus=4, estimate="10m", max_duration="10m"),
        "two": dict(SMALL, command=["sleep", "600"], gpus=4, estimate="20m", max_duration="20m", needs=["one"])}}])
    number = submitted["submitted"][0]["id"]
    foretold(lambda: when(api, number), lambda said: said["end"]["expected"] and 1770 < clock(said["end"]["expected"]) - time.time() < 1801)
    foretold(lambda: tarn(daemon, "when", str(number)), lambda said: re.search("ends in about (29|30) min", said))
    foretold(lambda: "\n".join(api.why(number)["lines"]), lambda lines: re.search(r"two: waits for stage one to succeed; starts in about \d+ min", lines))


def test_what_is_taken_back_is_in_the_estimate(api):
    api.put("/v1/config", {"queues": {"lender": {"guarantee": 4}, "borrower": {"guarantee": 0, "min_runtime": "5m"}}})
    long = submit(api, 7200, 4, queue="borrower", preemptible=True, estimate="2h", max_duration="2h", grace="1s")
    api.wait_state(long, "running")
    waiting = submit(api, 60, 4, queue="lender", max_duration="1m")
    said = when(api, waiting)
    assert 0 < said["start"]["in_seconds"] <= 301, said


def test_the_runs_of_a_repeating_job_are_in_the_estimate(api, daemon):
    due = int(time.time()) // 60 * 60 + 60 * 30
    running = submit(api, 7200, 4, estimate="2h", max_duration="2h", preemptible=False)
    api.wait_state(running, "running")
    # It is due before the running job ends, waits in front, and runs for 3 hours.
    api.submit(command=["sleep", "60"], gpus=4, estimate="3h", max_duration="3h", priority="high", schedule=time.strftime("%M %H * * *", time.gmtime(due)),
               **SMALL)
    waiting = submit(api, 60, 4, max_duration="1m")
    foretold(lambda: when(api, waiting)["start"], lambda start: 3.5 * 3600 < start["in_seconds"] < 7 * 3600)
    foretold(lambda: json.loads(tarn(daemon, "when", "--json", "--gpus", "4", "--cpus", "0.01", "--time", "1m"))["start"],
             lambda start: start["in_seconds"] > 3.5 * 3600)
    assert len(api.jobs()) == 2  # nothing was submitted
    # Every minute, without an end: the forecast ends all the same.
    api.submit(command=["true"], gpus=1, max_duration="1m", schedule="* * * * *", **SMALL)
    assert when(api, waiting)["start"]["in_seconds"] > 3.5 * 3600


def test_estimates_that_were_shown_are_reported_with_what_came_of_them(api, daemon):
    submit(api, 1, 4, estimate="1s", max_duration="1m")
    waiting = [submit(api, 0.2, 4, estimate="1s", max_duration="1m") for _ in range(3)]
    for number in waiting:
        assert when(api, number)["waits"]
    dropped = submit(api, 0.2, 4, max_duration="1m", hold=False)
    when(api, dropped)
    api.post("/v1/jobs/%d/cancel" % dropped)
    for number in waiting:
        api.wait_end(number)
    total = api.get("/v1/estimates")["total"]
    assert total["ranged"] + total["exact"] >= 3 and total["dropped"] == 1 and total["open"] == 0, total
    daemon.kill()  # what was shown is kept
    daemon.start()
    again = daemon.api.get("/v1/estimates?last=1h")
    assert again["total"] == total and again["queues"][0]["name"] == "default"
    shown = tarn(daemon, "report", "--estimates")
    assert "WITHIN" in shown and "queue default" in shown and "RIGHT: the share" in shown and "BROKEN: " in shown
    tarn(daemon, "report", "--estimates", "--by", "user", status=2)
    with pytest.raises(Refused) as caught:
        daemon.api.get("/v1/estimates?last=soon")
    assert "expected up to 366 days" in caught.value.message


def in_utc(seconds, form="%H:%M"):
    return time.strftime(form, time.gmtime(time.time() + seconds))


def test_a_window_that_opens_is_the_start_of_what_waits_for_it(api):
    opens = int(time.time()) // 60 * 60 + 120
    api.put("/v1/config", {"timezone": "UTC", "windows": {"open": in_utc(opens - time.time() + 1) + "-" + in_utc(7200)},
                           "queues": {"nightly": {"limit": 0, "during": {"open": {"limit": 4}}}}})
    waiting = submit(api, 60, 1, queue="nightly", max_duration="10m")
    wait_until("it waits for the window", lambda: api.why(waiting)["kind"] in ("window", "quota", "never_quota"))
    said = when(api, waiting)
    assert said["waits"] and abs(clock(said["start"]["expected"]) - opens) < 3, said


def test_ranges_end_where_the_calendar_lets_no_job_start(api, daemon):
    """What runs ends at an unknown time around two windows: no end of a range is within one, or too close before one."""
    from_s, until_s, limit = 600, 3600, 300
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    tarn(daemon, "reserve", "service", "--for", "maintenance", "--nodes", node, "--when", in_utc(from_s) + "-" + in_utc(until_s))
    reserved = api.get("/v1/reservations")["reservations"][0]
    begins, ends = clock(reserved["from"]), clock(reserved["until"])
    api.wait_state(submit(api, 600, 4, max_duration="8m"), "running")
    waiting = [submit(api, 60, 4, estimate=limit, max_duration=limit) for _ in range(6)]
    starts = [when(api, job)["start"] for job in waiting]
    for start in starts:
        for bound in ("low", "expected", "high"):
            at = clock(start[bound])
            assert not begins - limit + 1 < at < ends - 1, (bound, start, reserved)
    assert clock(starts[-1]["high"]) > ends, starts


def test_a_job_that_waits_for_a_maintenance_starts_after_it(api, daemon):
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    day = 10 * 86400
    tarn(daemon, "reserve", "service", "--for", "maintenance", "--nodes", node, "--when",
         in_utc(day, "%Y-%m-%d 10:00-12:00"), status=0)
    waiting = submit(api, 60, 1, max_duration="12d")
    wait_until("it waits for the maintenance", lambda: api.why(waiting)["kind"] == "reservation")
    reserved = api.get("/v1/reservations")["reservations"][0]
    # Nothing else is in its way. An estimate of the list schedule, before the first forecast, has a range.
    wait_until("a forecast has been made", lambda: when(api, waiting)["start"]["low"] == when(api, waiting)["start"]["high"])
    said = when(api, waiting)
    assert clock(said["start"]["expected"]) >= clock(reserved["until"]) - 1, (said, reserved)
    api.post("/v1/jobs/%d/cancel" % waiting)
    short = submit(api, 60, 2, max_duration="1h")
    api.wait_state(short, "running")
    wide = submit(api, 60, 4, max_duration="12d")
    wait_until("the maintenance is in its way", lambda: "kept      maintenance service ends then" in "\n".join(api.why(wide)["lines"]))


def test_a_budget_is_waited_for_until_its_next_period(api):
    api.put("/v1/config", {"timezone": "UTC", "queues": {"metered": {"gpu_hours": {"amount": 0.001, "per": "hour", "hard": True}}}})
    api.wait_end(submit(api, 2, 1, queue="metered", max_duration="3s"))
    waiting = submit(api, 2, 1, queue="metered", max_duration="3s")
    wait_until("the budget is spent", lambda: api.why(waiting)["kind"] == "budget")
    said = when(api, waiting)
    left = 3600 - time.time() % 3600
    assert said["waits"] and abs(said["start"]["in_seconds"] - left) < 5, (said, left)


def test_little_history_makes_a_wide_range_and_no_promise(api, daemon):
    for _ in range(2):
        api.wait_end(submit(api, 0.2, 4, max_duration="2h", name="short"))
    submit(api, 600, 4, max_duration="2h", name="long")
    waiting = submit(api, 1, 4, max_duration="1m")
    said = when(api, waiting)["start"]
    assert said["high_seconds"] > 3600 and said["in_seconds"] > 30, said
    assert "promised" not in tarn(daemon, "why", str(waiting))


def test_a_late_job_moves_those_behind_it(api):
    submit(api, 600, 4, estimate="2s", max_duration="2h")
    waiting = submit(api, 1, 4, max_duration="1m")
    assert when(api, waiting)["start"]["in_seconds"] < 5
    time.sleep(3)
    for _ in range(5):
        said = when(api, waiting)["start"]
        assert said["in_seconds"] > 1, said
        time.sleep(0.5)


def test_an_answer_comes_once_where_no_forecast_can_be_made(api, daemon):
    api.wait_state(submit(api, 600, 4, max_duration="1h"), "running")
    waiting = submit(api, 1, 4, max_duration="1m")
    connection = UnixConnection(daemon.socket, 30)
    process = daemon.process.pid
    limits = resource.prlimit(process, resource.RLIMIT_NOFILE)

    def ask():
        connection.request("GET", "/v1/jobs/%d/when" % waiting)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())["start"]["expected"]

    assert ask()[0] == 200
    time.sleep(1.1)  # then the forecast is no longer fresh
    resource.prlimit(process, resource.RLIMIT_NOFILE, (3, limits[1]))  # no new descriptors
    status, expected = ask()
    assert status == 200 and expected
    assert "a forecast could not be started" in daemon.words()
    resource.prlimit(process, resource.RLIMIT_NOFILE, limits)
    assert ask()[0] == 200
    connection.close()
