# SPDX-License-Identifier: Apache-2.0
"""What hangs on the time and on money: windows, reservations, tariffs, budgets, repeating jobs.

The wall clock is the test's (clock_shift.c): the next minute begins a few seconds after it was set, so that
windows made of minutes are met soon.
"""

import datetime
import getpass
import json
import os
import subprocess
import time

import pytest

from tarn_test import Refused, TARN, wait_until

SMALL = {"cpus": 0.01}
OFTEN = "cron * * * * * for 20s"


@pytest.fixture
def clocked(make_shifted):
    """A daemon whose next minute begins in some seconds: clocked.minute_in(seconds)."""
    daemon = make_shifted()
    daemon.shift = 0
    if os.environ.get("TARN_E2E_HOST"):
        daemon.start()  # the other machine takes its time to come up
        daemon.terminate()

    def set_shift(seconds):
        daemon.shift = int(seconds)
        daemon.set_clock(daemon.shift)

    def minute_in(seconds):
        """Always within a minute from here; the clock jumps, the daemon sees it when it looks."""
        set_shift(60 - int(time.time()) % 60 - seconds)

    daemon.set_shift, daemon.minute_in = set_shift, minute_in
    daemon.wall = lambda: time.time() + daemon.shift
    return daemon


def tarn(daemon, *words, status=0, **more):
    environment = dict(daemon.environment(), TARN_SOCKET=daemon.socket, **more)
    done = subprocess.run([TARN, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                          env=environment)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


def apply(daemon, **config):
    return daemon.api.put("/v1/config", dict({"timezone": "UTC"}, **config))


def submit(api, run_s, gpus=1, **keys):
    return api.submit(command=["sleep", str(run_s)], gpus=gpus, **dict(SMALL, **keys))


def queue(api, name):
    return [found for found in api.get("/v1/queues")["queues"] if found["name"] == name][0]


def test_before_a_window_with_a_smaller_limit_only_those_start_that_end_by_then(clocked):
    clocked.minute_in(8)
    clocked.start()
    api = clocked.api
    apply(clocked, windows={"often": OFTEN}, queues={"research": {"limit": 2, "during": {"often": {"limit": 0}}}})
    assert queue(api, "research")["limit"] == 2
    short = submit(api, 1, queue="research", max_duration="3s")
    long = submit(api, 1, queue="research", max_duration="35s")
    api.wait_state(short, "running", "ended")
    why = api.why(long)
    assert why["kind"] == "window", why
    assert why["window"]["name"] == "often" and not why["window"]["open"]
    assert "may hold at most 0 gpus when often begins" in why["text"], why["text"]
    assert api.wait_end(short)["result"] == "ok"
    wait_until("the window opens", lambda: queue(api, "research")["limit"] == 0)
    why = api.why(long)
    assert why["kind"] == "window" and why["window"]["open"], why
    done = api.wait_end(long)
    assert done["result"] == "ok"
    clocked.terminate()
    assert "all the same" in clocked.verify()


def test_a_long_job_waits_for_a_maintenance_and_a_short_one_does_not(clocked):
    clocked.minute_in(8)
    clocked.start()
    api = clocked.api
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    apply(clocked)
    said = tarn(clocked, "reserve", "service", "--for", "maintenance", "--when", OFTEN, "--nodes", node)
    assert said.startswith("reservation service · "), said
    long = submit(api, 1)
    short = submit(api, 1, max_duration="3s")
    api.wait_state(short, "running", "ended")
    why = api.why(long)
    assert why["kind"] == "reservation" and why["reservation"]["for"] == "maintenance", why
    assert why["text"].startswith("maintenance service begins in "), why["text"]
    assert api.wait_end(short)["result"] == "ok"
    wait_until("it is open", lambda: api.get("/v1/reservations")["reservations"][0]["open"])
    assert api.job(long)["state"] == "queued"
    assert "open until" in tarn(clocked, "reservations")
    tarn(clocked, "reserve", "service", "--for", "maintenance", "--when", OFTEN, "--nodes", node, status=1)
    assert tarn(clocked, "reserve", "--remove", "service") == "removed service\n"
    assert api.wait_end(long)["result"] == "ok"
    clocked.terminate()
    assert "all the same" in clocked.verify()


def test_a_reservation_for_once_goes_away_when_it_is_over(clocked):
    clocked.minute_in(9)
    clocked.start()
    api = clocked.api
    apply(clocked, queues={"teaching": {}, "research": {}})
    now = datetime.datetime.fromtimestamp(clocked.wall(), datetime.timezone.utc)
    times = "%s %s-%s" % (now.strftime("%Y-%m-%d"), now.strftime("%H:%M"),
                          (now + datetime.timedelta(minutes=1)).strftime("%H:%M"))
    tarn(clocked, "reserve", "exam", "--for", "queue:teaching", "--when", times, "--gpus", "3", "--model", "h100")
    mine = submit(api, 30, 3, queue="teaching")
    others = submit(api, 1, 2, queue="research")
    api.wait_state(mine, "running")
    assert api.job(others)["state"] == "queued"
    api.post("/v1/jobs/%s/cancel" % mine)
    api.wait_end(mine)
    assert api.why(others)["kind"] == "reservation"
    assert api.wait_end(others)["result"] == "ok"
    wait_until("it is gone", lambda: api.get("/v1/reservations")["reservations"] == [])


def test_a_reservation_in_the_past_is_refused(clocked):
    clocked.start()
    for times in ("2020-12-24 14:00-15:00", "2020-01-01"):
        tarn(clocked, "reserve", "exam", "--for", "user:ana", "--when", times, "--gpus", "1", status=1)
    with pytest.raises(Refused, match="is over or never occurs"):
        clocked.api.post("/v1/reservations", {"name": "exam", "for": {"user": "ana"}, "gpus": 1,
                                              "when": "2020-12-24 14:00-15:00"})


def test_a_job_waits_for_the_hours_in_which_its_pool_is_large_enough(daemon):
    api = daemon.api
    far = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=5)
    hours = "%02d:00-%02d:00" % (far.hour, (far.hour + 1) % 24)
    pools = {"batch": {"max": 1, "during": {"late": {"max": 2}}}}
    apply(daemon, windows={"late": hours}, pools=pools)
    with pytest.raises(Refused) as caught:
        submit(api, 1, gpus=3, pool="batch")
    assert "pool batch is too small for it" in caught.value.message
    job = submit(api, 1, gpus=2, pool="batch")
    why = api.why(job)
    opens = far.replace(minute=0, second=0, microsecond=0)
    assert why["kind"] == "pool_max" and why["most"] == 1000, why
    assert why["text"] == "pool batch has at most 1 gpus at this hour, fewer than the job needs", why
    assert abs(datetime.datetime.fromisoformat(why["expected_start"].replace("Z", "+00:00")) - opens).total_seconds() < 2, why


def test_a_job_waits_for_the_cheap_tariff_and_costs_less(clocked):
    clocked.minute_in(7)
    clocked.start()
    api = clocked.api
    apply(clocked, windows={"often": OFTEN}, tariffs={"often": 0.5}, prices={"h100": 360})
    cheap = submit(api, 2, tariff="cheap", max_duration="10s")
    dear = submit(api, 2, max_duration="10s")
    why = api.why(cheap)
    assert why["kind"] == "tariff" and why["tariff"]["now"] == 1, why
    assert why["text"].startswith("waits for cheaper hours: the tariff is 1 now; starts in "), why["text"]
    dear, cheap = api.wait_end(dear), api.wait_end(cheap)
    # 0.1 a second, 0.05 when it is cheap.
    assert dear["cost"] >= 0.2 and 0.1 <= cheap["cost"] < 0.2, (dear["cost"], cheap["cost"])
    assert dear["cost"] < 0.1 * (dear["run_seconds"] + 2)
    text = tarn(clocked, "show", str(cheap["id"]))
    assert "cost        0.1" in text, text
    assert queue(api, "default")["budget"]["spent"] == pytest.approx(dear["cost"] + cheap["cost"], abs=1e-5)


def test_a_budget_refuses_until_what_runs_has_cost_less(daemon):
    api = daemon.api
    # By limits: what ran says nothing of how long the next one runs.
    apply(daemon, predict=False, prices={"h100": 36}, queues={"research": {"budget": {"amount": 0.5, "per": "year"}}})
    first = submit(api, 2, queue="research", max_duration="30s")  # at most 0.30
    api.wait_state(first, "running")
    second = submit(api, 0, queue="research", max_duration="30s")
    dear = submit(api, 0, 2, queue="research", max_duration="30s")  # 0.60: never in this period
    why = api.why(second)
    assert why["kind"] == "budget", why
    budget = why["budget"]
    assert budget["queue"] == "research" and budget["of"] == "money" and budget["amount"] == 0.5
    assert budget["wanted"] == pytest.approx(0.3, abs=1e-6) and budget["committed"] > 0.2
    assert why["text"].startswith("budget of queue research: 0.0"), why["text"]
    assert "the next period begins in" in why["text"]
    assert api.wait_end(first)["result"] == "ok"
    assert api.wait_end(second)["result"] == "ok"
    why = api.why(dear)
    assert why["kind"] == "budget" and "more than the whole budget: it can never run within it" in why["text"]
    assert why["start"] is None and why["expected_start"] is None and why["sooner"] == [] and "starts " not in str(why["lines"]), why
    assert api.job(dear)["why"]["expected_start"] is None and api.jobs()[-1]["why"]["expected_start"] is None
    when = api.get("/v1/jobs/%d/when" % dear)
    assert "can never run within it" in when["text"] and "open-ended" not in when["text"]
    assert when["start"] is None and when["end"] is None and when["sooner"] == [], when
    spent = queue(api, "research")["budget"]
    assert 0.02 <= spent["spent"] < 0.3 and spent["amount"] == 0.5 and spent["until"] > spent["since"]
    daemon.kill()
    daemon.start()
    assert queue(api, "research")["budget"]["spent"] >= spent["spent"]
    assert api.job(first)["cost"] > 0
    daemon.terminate()
    assert "all the same" in daemon.verify()


def test_a_longer_limit_counts_towards_a_budget_at_once(daemon):
    api = daemon.api
    apply(daemon, predict=False, prices={"h100": 36}, queues={"research": {"budget": {"amount": 0.5, "per": "year"}}})
    first = submit(api, 600, queue="research", max_duration="30s")
    api.wait_state(first, "running")
    second = submit(api, 0, queue="research", max_duration="30s")
    assert 0.1 < api.why(second)["budget"]["committed"] <= 0.3
    api.patch("/v1/jobs/%d" % first, {"max_duration": "1h"})
    wait_until("its hour counts", lambda: api.why(second)["budget"]["committed"] > 35)


def test_gpu_hours_of_a_budget_are_those_of_gpus(daemon):
    api = daemon.api
    apply(daemon, predict=False, devices={"tpu": {"model": "v5e", "count": 2}},
          queues={"research": {"gpu_hours": {"amount": 1, "per": "year"}}})
    chips = api.submit(command=["sleep", "600"], accelerator="tpu:2", queue="research", max_duration="10h", cpus=0)
    api.wait_state(chips, "running")
    first = submit(api, 600, queue="research", max_duration="50m")
    api.wait_state(first, "running")  # 20 hours of TPUs are no GPU-hours
    second = submit(api, 0, queue="research", max_duration="20m")
    budget = api.why(second)["budget"]
    assert budget["of"] == "gpu_hours" and 0.5 < budget["committed"] < 0.9, budget


def test_a_user_has_a_budget_in_a_queue(daemon):
    api, me = daemon.api, getpass.getuser()
    apply(daemon, predict=False, prices={"h100": 36},
          queues={"research": {"users": {"each": {"gpus": 4, "budget": {"amount": 0.5, "per": "year"}},
                                         "someone": {"budget": 1}}}})
    assert api.get("/v1/config")["queues"]["research"]["users"]["someone"] == {"budget": {"amount": 1, "per": "month"}}
    first = submit(api, 2, queue="research", max_duration="30s")  # at most 0.30
    api.wait_state(first, "running")
    second = submit(api, 0, queue="research", max_duration="30s")
    elsewhere = submit(api, 0, max_duration="30s")
    why = api.why(second)
    assert why["kind"] == "budget" and why["budget"]["queue"] == "research" and why["budget"]["user"] == me, why
    assert why["budget"]["amount"] == 0.5 and why["budget"]["committed"] > 0.2
    assert why["text"].startswith(f"budget of user {me} in queue research: 0.0"), why["text"]
    assert api.wait_end(elsewhere)["result"] == "ok"  # of another queue: it does not wait
    assert api.wait_end(first)["result"] == "ok"
    assert api.wait_end(second)["result"] == "ok"
    mine = queue(api, "research")["users"][me]["budget"]
    assert 0.02 <= mine["spent"] < 0.3 and mine["amount"] == 0.5 and mine["until"] > mine["since"]
    assert mine["spent"] == queue(api, "research")["budget"]["spent"]
    assert f'tarn_user_spent_total{{queue="research",user="{me}"}}' in api.raw("GET", "/metrics")[1].decode()
    daemon.kill()
    daemon.start()
    assert queue(api, "research")["users"][me]["budget"]["spent"] >= mine["spent"]
    daemon.terminate()
    assert "all the same" in daemon.verify()
    with pytest.raises(Refused) as refused:
        daemon.start()
        apply(daemon, queues={"research": {"groups": {"root": {"budget": 5}}}})
    assert "groups: root: budget: queues and users have budgets" in refused.value.message


def test_a_repeating_job_is_submitted_once_for_each_time_also_over_a_crash(clocked):
    clocked.minute_in(5)
    clocked.start()
    api = clocked.api
    apply(clocked)
    said = tarn(clocked, "submit", "--cron", "* * * * *", "-q", "--cpus-per-task=1", "--", "sh", "-c", "echo $WORD",
                WORD="kept")
    assert said.split()[0] == "1", said
    listed = tarn(clocked, "cron")
    assert "* * * * *" in listed and " sh " in listed, listed
    wait_until("it has fired", lambda: api.get("/v1/cron")["cron"][0]["count"] == 1)
    clocked.kill()
    clocked.start()
    entry = api.get("/v1/cron")["cron"][0]
    assert entry["count"] == 1 and entry["trouble"] is None
    assert api.wait_end(entry["job"])["result"] == "ok"
    assert api.output(entry["job"]) == "kept\n"
    time.sleep(1)
    assert len(api.jobs()) == 1 and api.get("/v1/cron")["cron"][0]["count"] == 1
    # Five minutes without the daemon count as one.
    clocked.kill()
    clocked.set_shift(clocked.shift + 5 * 60)
    clocked.start()
    wait_until("it has fired again", lambda: api.get("/v1/cron")["cron"][0]["count"] == 2)
    time.sleep(1)
    assert api.get("/v1/cron")["cron"][0]["count"] == 2
    assert tarn(clocked, "cron", "--remove", "1") == "removed 1\n"
    assert api.get("/v1/cron")["cron"] == []
    clocked.terminate()
    assert "all the same" in clocked.verify()


def test_a_repeating_job_that_is_refused_says_why(clocked):
    clocked.minute_in(6)
    clocked.start()
    api = clocked.api
    apply(clocked, queues={"research": {}})
    api.submit(run="true", queue="research", schedule="* * * * *", **SMALL)
    apply(clocked)
    wait_until("it was refused", lambda: api.get("/v1/cron")["cron"][0]["trouble"])
    entry = api.get("/v1/cron")["cron"][0]
    assert entry["trouble"] == "queue research: no such queue" and entry["count"] == 0
    assert "refused: queue research" in tarn(clocked, "cron")


def test_what_is_said_of_times_is_kept_and_checked(clocked):
    clocked.minute_in(30)
    clocked.start()
    api = clocked.api
    config = {
        "timezone": "Europe/Berlin",
        "windows": {"nights": "22:00-06:00", "weekend": "fri 20:00 - mon 06:00"},
        "prices": {"h100": 2.5},
        "tariffs": {"nights": 0.6, "peak": {"during": "mon-fri 09:00-17:00", "factor": 1.5}},
        "queues": {"research": {"weight": 1, "guarantee": 1, "during": {"nights": {"limit": {"gpus": 3}}},
                                "gpu_hours": {"amount": 20, "per": "week", "hard": True}}},
        "pools": {"inference": {"type": "dynamic", "min": 1, "max": 2,
                                "during": {"nights": {"min": 0, "max": 1}}}},
        "reservations": {"course": {"for": {"queue": "research"}, "when": "mon 14:00-16:00", "gpus": 2}},
    }
    assert api.put("/v1/config", config)["changes"]
    assert api.get("/v1/config") == config
    assert api.put("/v1/config", config)["changes"] == []
    clocked.kill()
    clocked.start()
    assert api.get("/v1/config") == config
    for key, value, words in (
            ("timezone", "Mars/Phobos", "timezone"),
            ("windows", {"nights": "25:00-06:00"}, "window nights: '25:00-06:00'"),
            ("tariffs", {"nihgts": 1}, "no window 'nihgts'; did you mean 'nights'?"),
            ("reservations", {"r": {"for": "maintenance", "when": "nights", "nodes": ["mars"]}}, "no node 'mars'")):
        with pytest.raises(Refused) as refused:
            api.put("/v1/config", dict(config, **{key: value}))
        assert words in refused.value.message, refused.value.message
    assert api.get("/v1/config") == config
    # A reservation made by command stays, and so must the window and the queue that it names.
    tarn(clocked, "reserve", "mine", "--for", "user:ana", "--when", "weekend", "--gpus", "1")
    assert api.get("/v1/config") == config
    with pytest.raises(Refused) as refused:
        api.put("/v1/config", {})
    assert refused.value.message == "window weekend: reservation mine names it"
    tarn(clocked, "reserve", "course", "--remove", status=1)
    tarn(clocked, "reserve", "mine", "--remove")
    assert api.put("/v1/config", {})["changes"]
    assert api.get("/v1/reservations")["reservations"] == []
    clocked.terminate()
    assert "all the same" in clocked.verify()


def test_a_wall_clock_that_is_set_moves_the_windows(clocked):
    clocked.minute_in(50)
    clocked.start()
    api = clocked.api
    now = datetime.datetime.fromtimestamp(clocked.wall(), datetime.timezone.utc)
    hour = (now.hour + 3) % 24
    times = "%02d:00-%02d:00" % (hour, (hour + 1) % 24)
    apply(clocked, windows={"later": times}, queues={"research": {"during": {"later": {"limit": 1}}}})
    assert queue(api, "research")["limit"] is None
    ahead = (hour - now.hour) % 24 * 3600 - now.minute * 60 - now.second + 600
    clocked.set_shift(clocked.shift + ahead)
    wait_until("the window is open", lambda: queue(api, "research")["limit"] == 1)
    clocked.set_shift(clocked.shift - ahead)
    wait_until("it is not", lambda: queue(api, "research")["limit"] is None)


def in_wall_time(clocked, seconds):
    return datetime.datetime.fromtimestamp(clocked.wall() + seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")


def about(clocked, text):
    """Seconds from now on the wall clock."""
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - clocked.wall()


@pytest.mark.parametrize("is_up", (True, False), ids=("running", "down"))
def test_times_of_jobs_stay_at_the_wall_clock_when_it_is_set(clocked, is_up):
    clocked.minute_in(50)
    clocked.start()
    api = clocked.api
    begin, late, deadline = (in_wall_time(clocked, 3600 * hours) for hours in (1, 5, 8))
    soon, later = (api.submit(run="true", begin=at, deadline=deadline, estimate="1m", **SMALL) for at in (begin, late))
    free = api.submit(run="true", **SMALL)
    api.wait_end(free)

    def step(seconds):
        if not is_up:
            clocked.kill()
        clocked.set_shift(clocked.shift + seconds)
        if not is_up:
            clocked.start()

    step(-7200)
    wait_until("it is moved", lambda: about(clocked, api.job(soon)["begin"]) > 9000)
    assert abs(about(clocked, api.job(soon)["begin"]) - 3 * 3600) < 60
    assert abs(about(clocked, api.job(soon)["deadline"]) - 10 * 3600) < 60
    step(3 * 3600 + 60)
    assert api.wait_end(soon)["result"] == "ok"
    assert api.job(later)["state"] in ("queued", "waiting", "held") and abs(about(clocked, api.job(later)["begin"]) - 4 * 3600) < 200
    step(86400)
    assert api.wait_end(later)["result"] == "ok"
    clocked.terminate()
    assert "all the same" in clocked.verify()


def test_a_repeating_job_that_a_step_passes_over_is_submitted_once_and_not_repeated(clocked):
    clocked.minute_in(50)
    clocked.start()
    api = clocked.api
    minute = datetime.datetime.fromtimestamp(clocked.wall() + 1800, datetime.timezone.utc)
    api.submit(run="true", schedule="%d %d * * *" % (minute.minute, minute.hour), **SMALL)
    entry = lambda: api.get("/v1/cron")["cron"][0]
    assert entry()["count"] == 0
    clocked.set_shift(clocked.shift + 3600)
    wait_until("it is submitted", lambda: entry()["count"] == 1)
    clocked.set_shift(clocked.shift - 3600)
    wait_until("its next time is tomorrow", lambda: about(clocked, entry()["next"]) > 86400)
    clocked.set_shift(clocked.shift + 3600)
    wait_until("the clock was noticed", lambda: about(clocked, entry()["next"]) < 86400)
    time.sleep(1)
    assert entry()["count"] == 1


def test_the_simulator_reads_the_same_words(tmp_path):
    """At night one of the two GPUs is for all queues: what came in the evening waits for the morning."""
    def waits(**more):
        experiment = tmp_path / "e.yaml"
        experiment.write_text(json.dumps(dict({
            "name": "nights", "cluster": {"nodes": 1, "gpus": 2, "cpus": 64, "memory": "64G"},
            "workload": {"format": "generate", "seed": 1, "jobs": 40, "every": "6m", "gpus": {"1": 1},
                         "run": {"median": "10m", "sigma": 0}, "estimates": "oracle"},
            "timezone": "Europe/Berlin", "starts": "2026-03-28T20:00", "measure": ["wait"]}, **more)))
        done = subprocess.run([TARN, "simulate", "--json", str(experiment)], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    free = waits()
    night = {"windows": {"nights": "22:00-06:00"}, "queues": {"default": {"during": {"nights": {"limit": 0}}}}}
    text = json.dumps(waits(**night))
    assert text != json.dumps(free)
    longest = max_wait(waits(**night))
    # From 22:00 to 06:00 it is seven hours that night: clocks are put forward.
    assert 6.5 * 3600 < longest < 7.6 * 3600, longest


def max_wait(report):
    """The longest of all waits, wherever the report has them."""
    found = []

    def look(value, inside):
        if isinstance(value, dict):
            for key, inner in value.items():
                look(inner, inside or key == "wait")
        elif isinstance(value, list):
            for inner in value:
                look(inner, inside)
        elif inside and isinstance(value, (int, float)):
            found.append(value)

    look(report, False)
    return max(found)
