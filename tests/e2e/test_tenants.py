# SPDX-License-Identifier: Apache-2.0
"""Teams on one machine: borrowed GPUs are given back, and each job is told why."""

import getpass
import json
import os
import subprocess

import pytest

from tarn_test import HERE, IS_ROOT, Refused, TARN, WHY_NOT_AS_OTHERS, as_user, wait_until

TEAMS = {"queues": {"research": {"guarantee": 4, "users": {"each": 6}},
                    "vision": {"guarantee": 2, "weight": 2, "limit": 8}}}

# Saves how far it has come when it is asked to stop, and goes on from there.
SAVING = """
trap 'echo $n > saved; echo saved $n; exit 3' TERM
n=$(cat saved 2>/dev/null || echo 0)
echo from $n
while [ $n -lt 1000 ]; do n=$((n+1)); sleep 0.05; done
"""


@pytest.fixture
def teams(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:8")
    daemon.start()
    daemon.api.put("/v1/config", TEAMS)
    return daemon.api


def queue_of(api, name):
    return next(queue for queue in api.get("/v1/queues")["queues"] if queue["name"] == name)


def wait_output(api, number, words):
    wait_until("job %d says %s" % (number, words), lambda: words in api.output(number))


def borrow(api, tmp_path, count, **more):
    numbers = []
    for i in range(count):
        (tmp_path / ("j%d" % i)).mkdir()
        numbers.append(api.submit(run=SAVING, gpus=2, cpus=0, queue="vision", preemptible=True, cwd=str(tmp_path / ("j%d" % i)), **more))
    for number in numbers:
        api.wait_state(number, "running")
        wait_output(api, number, "from 0")
    return numbers


def test_what_is_borrowed_is_given_back_with_its_work_saved(teams, tmp_path):
    numbers = borrow(teams, tmp_path, 4)
    vision = queue_of(teams, "vision")
    assert vision["borrowed"] == 6 and vision["given"] == 8
    assert queue_of(teams, "research")["claim"] == 4
    owed = teams.submit(run="sleep 2", gpus=4, cpus=0, queue="research")
    teams.wait_state(owed, "running")
    stopped = [number for number in numbers if teams.job(number)["state"] == "queued"]
    assert len(stopped) == 2
    for number in stopped:
        job = teams.job(number)
        assert job["preempted_for"]["job"] == owed
        assert job["preempted_for"]["queue"] == "research" and job["preempted_for"]["rule"] == "guarantee"
        assert "saved" in teams.output(number)
    assert queue_of(teams, "vision")["borrowed"] == 2 and queue_of(teams, "research")["claim"] == 0
    teams.wait_state(owed, "ended")
    for number in stopped:  # and they go on where they were
        teams.wait_state(number, "running")
        wait_until("job %d goes on" % number, lambda: any(
            line.startswith("from ") and line != "from 0" for line in teams.output(number).splitlines()))


def test_who_waits_for_its_own_is_told_what_keeps_it(teams, tmp_path):
    fixed = teams.submit(run="sleep 60", gpus=6, cpus=0, queue="vision")
    teams.wait_state(fixed, "running")
    waiting = teams.submit(run="true", gpus=4, cpus=0, queue="research")
    why = teams.get("/v1/jobs/%d/why" % waiting)
    assert why["owed"]["rule"] == "guarantee" and why["owed"]["firm"] == 6 and why["owed"]["queue"] == "vision"
    assert any(line.startswith("owed") and "not preemptible" in line for line in why["lines"])
    assert teams.job(fixed)["state"] == "running"


def test_min_runtime_protects_and_then_no_more(teams, tmp_path):
    config = {"queues": {"research": {"guarantee": 8}, "vision": {"min_runtime": "4s"}}}
    teams.put("/v1/config", config)
    numbers = borrow(teams, tmp_path, 1)
    waiting = teams.submit(run="true", gpus=8, cpus=0, queue="research")
    why = teams.get("/v1/jobs/%d/why" % waiting)
    assert why["owed"]["young"] == 2 and why["owed"]["young_until"]
    assert teams.job(numbers[0])["state"] == "running"
    teams.wait_state(waiting, "ended")
    assert teams.job(numbers[0])["preemptions"] == 1


def test_more_than_a_user_may_ever_hold_is_refused(teams):
    with pytest.raises(Refused) as refused:
        teams.submit(run="true", gpus=7, cpus=0, queue="research")
    assert "a user in queue research never holds more than 6 gpus" in str(refused.value)
    config = dict(TEAMS, queues=dict(TEAMS["queues"], research={"users": {"each": 1, getpass.getuser(): 7}}))
    teams.put("/v1/config", config)  # a limit of one's own stands for the limit of each
    teams.submit(run="true", gpus=7, cpus=0, queue="research", hold=True)


def test_limits_of_users_are_kept_and_named(teams):
    first = teams.submit(run="sleep 60", gpus=5, cpus=0, queue="research")
    teams.wait_state(first, "running")
    second = teams.submit(run="true", gpus=2, cpus=0, queue="research")
    why = teams.get("/v1/jobs/%d/why" % second)
    assert why["kind"] == "user_limit" and "at most 6 gpus" in why["text"]
    teams.post("/v1/jobs/%d/cancel" % first)
    teams.wait_state(second, "ended")


def test_a_bad_quota_changes_nothing(teams):
    before = teams.get("/v1/config")
    for queues in ({"q": {"guarantee": {"h100": 2}, "limit": 1}}, {"q": {"lend": 1}}, {"q": {"groups": {"no-such-group-here": 1}}},
                   {"q": {"limit": {"memory": "much"}}}, {"q": {"above_guarantee": "all"}}):
        with pytest.raises(Refused) as caught:
            teams.put("/v1/config", {"queues": queues})
        assert caught.value.status == 400 and "queue q" in caught.value.message
    assert teams.get("/v1/config") == before


def test_above_a_guarantee_only_what_may_be_stopped(teams):
    teams.put("/v1/config", {"queues": {"course": {"guarantee": 1, "above_guarantee": "preemptible"}}})
    with pytest.raises(Refused) as caught:
        teams.submit(run="true", gpus=2, cpus=0, queue="course")
    assert "not preemptible" in caught.value.message and "at most" not in caught.value.message
    first = teams.submit(run="sleep 60", gpus=2, cpus=0, queue="course", preemptible=True)
    teams.wait_state(first, "running")
    second = teams.submit(run="sleep 60", gpus=1, cpus=0, queue="course")
    teams.wait_state(second, "running")  # its guarantee is not used by the other kind
    third = teams.submit(run="true", gpus=1, cpus=0, queue="course")
    why = teams.get("/v1/jobs/%d/why" % third)
    assert why["kind"] == "quota" and "only preemptible jobs" in why["text"]


def test_the_example_of_four_teams_shows_what_it_changes():
    week = os.path.join(HERE, "..", "..", "examples", "teams", "week.yaml")
    said = subprocess.run([TARN, "simulate", "--json", week], check=True, capture_output=True, text=True).stdout
    means = {name: variant["mean"] for name, variant in json.loads(said)["variants"].items()}
    waits = {name: {queue: wait["mean"] for queue, wait in mean["wait"]["by_queue"].items()} for name, mean in means.items()}
    assert means["before"]["jobs"]["finished"] == means["teams"]["jobs"]["finished"] == 936
    assert waits["teams"]["foundation"] < waits["before"]["foundation"] / 2
    assert waits["teams"]["product"] < waits["before"]["product"] < waits["teams"]["course"]


def test_the_example_keeps_two_a100_for_product(make_daemon):
    example = os.path.join(HERE, "..", "..", "examples", "teams", "teams.yaml")
    daemon = make_daemon(devices="synthetic:h100:4,a100:4")
    daemon.start()
    subprocess.run([TARN, "apply", "-f", example], check=True, env=daemon.environment(), timeout=30)
    jobs = [daemon.api.submit(run="sleep 600", gpus="a100:1", cpus=0, queue="vision", preemptible=True) for _ in range(3)]
    for job in jobs[:2]:
        daemon.api.wait_state(job, "running")
    why = daemon.api.why(jobs[2])
    assert why["state"] == "queued" and "queue product does not lend" in why["text"], why
    for job in jobs:
        daemon.api.post("/v1/jobs/%d/cancel" % job)


def test_a_bad_configuration_in_an_experiment_is_named_with_its_line(tmp_path):
    (tmp_path / "teams.yaml").write_text("queues:\n  a: {guarantee: 2}\n  b: {guarantie: 2}\n")
    (tmp_path / "x.yaml").write_text("cluster: {nodes: 1, gpus: 8}\nworkload: {format: generate, jobs: 3}\nconfig: teams.yaml\n")
    said = subprocess.run([TARN, "simulate", tmp_path / "x.yaml"], capture_output=True, text=True)
    assert said.returncode == 1
    assert "teams.yaml:3: queue b: unknown key 'guarantie'; did you mean 'guarantee'?" in said.stderr


POLICY = {"pools": {}, "queues": {"teaching": {"weight": 1, "preemptible": "default", "default_duration": "1h", "longest_duration": "4h", "gpus_per_job": 2,
                                  "max_priority": 5, "models": ["h100"], "submit": {"users": ["nobody"]}, "administer": {"users": ["ben"], "groups": ["root"]}},
                     "course": {"weight": 1, "max_priority": 9, "parent": "teaching"}}}


def test_a_queue_sets_bounds_and_defaults(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:8")
    daemon.start()
    daemon.api.put("/v1/config", POLICY)
    assert daemon.api.get("/v1/config") == POLICY
    daemon.terminate()
    daemon.start()
    assert daemon.api.get("/v1/config") == POLICY, "after a restart"
    assert queue_of(daemon.api, "course")["policy"] == {
        "preemptible": "default", "max_priority": 9, "default_duration": 3600.0, "longest_duration": 14400.0, "gpus_per_job": 2, "slack_percent": None, "slack_least": None, "oom_factor": None, "oom_most": None,
        "models": ["h100"]}
    number = daemon.api.submit(run="true", queue="course", gpus=1, hold=True)
    job = daemon.api.job(number)
    assert (job["preemptible"], job["request"]["max_duration"]) == (True, 3600)
    refused = subprocess.run([TARN, "submit", "--queue", "course", "--gpus", "3", "--", "true"], text=True, capture_output=True, env=daemon.environment(), timeout=30)
    assert "queue course: 3 gpus: a job has 2 at most" in refused.stderr
    daemon.api.put("/v1/config", {"queues": {"teaching": {}, "course": {"parent": "teaching"}}})
    assert daemon.api.job(number)["state"] == "held", "a configuration leaves jobs alone"
    daemon.stop()
    daemon.verify()


@pytest.mark.skipif(not IS_ROOT, reason="only root can act as other users")
def test_users_have_the_rights_that_a_queue_gives_them(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:8", options=["--all-users"])
    daemon.start()
    api = daemon.api
    api.put("/v1/config", {"queues": {"closed": {"submit": {"users": ["ana"]}}, "open": {"max_priority": 5, "administer": {"users": ["nobody"]}},
                                      "plain": {"max_priority": 5}}})
    job = {"run": "true", "sender_cwd": "/", "hold": True}
    with pytest.raises(Refused, match="queue closed: only users and groups"):
        as_user(65534, lambda: api.post("/v1/jobs", dict(job, queue="closed")))
    with pytest.raises(Refused, match="priority 6: queue plain allows up to 5"):
        as_user(65534, lambda: api.post("/v1/jobs", dict(job, queue="plain", priority=6)))
    as_user(65534, lambda: api.post("/v1/jobs", dict(job, queue="plain", priority=5)))
    mine, other = [api.submit(run="true", hold=True, queue=queue) for queue in ("open", "plain")]
    as_user(65534, lambda: api.patch("/v1/jobs/%d" % mine, {"priority": 100}))
    as_user(65534, lambda: api.post("/v1/jobs/%d/cancel" % mine))
    assert api.job(mine)["priority"] == 100
    with pytest.raises(Refused, match="belongs to another user"):
        as_user(65534, lambda: api.post("/v1/jobs/%d/cancel" % other))


def test_a_configuration_for_other_hardware_is_a_warning(make_daemon, tmp_path):
    daemon = make_daemon(devices="synthetic:h100:2")
    daemon.start()
    path = tmp_path / "other.yaml"
    path.write_text("queues: {a: {guarantee: 3}}\npools: {edge: {model: l4}}\n")
    said = subprocess.run([TARN, "apply", "-f", str(path)], check=True, text=True, capture_output=True, env=daemon.environment(), timeout=30)
    assert "warning: pool edge: no device matches it" in said.stderr
    assert "warning: guarantees: 3 gpus for all queues together, but the cluster has 2" in said.stderr
    assert daemon.api.get("/v1/config")["pools"] == {"edge": {"type": "dynamic", "model": "l4"}}


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_doctor_does_not_judge_a_daemon_of_another_user_by_the_own_rights(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()

    def doctor():
        found = subprocess.run([TARN, "doctor", "--json"], stdout=subprocess.PIPE, timeout=60, cwd="/",
                               env=dict(os.environ, HOME="/nonexistent", TARN_SOCKET=daemon.socket))
        return {line["what"]: line["text"] for line in json.loads(found.stdout)}

    mine, theirs = doctor(), as_user(65534, doctor)
    assert {"processes", "fence", "shim"} <= set(mine) and mine["daemon"] == "listens on " + daemon.socket
    assert not {"processes", "fence", "shim", "disk", "journal"} & set(theirs), theirs
    assert theirs["daemon"].startswith("root runs it for all users, on %s" % daemon.socket), theirs


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_a_dry_run_does_not_tell_which_files_root_can_see(make_daemon, tmp_path):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    secret = tmp_path / "secret"
    secret.mkdir(mode=0o700)
    (secret / "program").write_text("#!/bin/sh\n")
    (secret / "program").chmod(0o755)
    (secret / "data").write_text("")

    def answer(path):
        return daemon.api.ask("PUT", "/v1/config?dry_run=1", {"health": {"before": "%s/%s" % (secret, path)}})["changes"]

    answers = [as_user(65534, lambda path=path: answer(path)) for path in ("program", "data", "missing")]
    assert [said[0].replace(path, "X") for said, path in zip(answers, ("program", "data", "missing"))] == [answers[0][0].replace("program", "X")] * 3
    assert answer("program") == answers[0]
    with pytest.raises(Refused, match="No such file"):
        answer("missing")


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_a_user_has_a_limit_of_bytes_in_the_journal(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    api = daemon.api
    api.put("/v1/config", {"journal": {"user_mib": 4}})

    def submit(letter, mib, **more):
        text = "#!/bin/sh\n#" + letter * ((1 << 20) - 16)
        body = [dict({"script": text[:-3] + "%03d" % number, "sender_cwd": "/"}, **more) for number in range(mib)]
        return api.post("/v1/jobs", body)

    as_user(65534, lambda: submit("a", 3))
    with pytest.raises(Refused, match="have added [0-9]{4} KiB to the journal, and this one has [0-9]{4} KiB; expected at most 4 MiB a day.*; there is room for it in [0-9]"):
        as_user(65534, lambda: submit("b", 2))
    for end in (daemon.kill, daemon.terminate):  # from the records, and from a snapshot
        end()
        daemon.start()
        with pytest.raises(Refused, match="have added [0-9]+ KiB to the journal"):
            as_user(65534, lambda: submit("b", 2))
    with pytest.raises(Refused, match="this one has 61[0-9]{2} KiB.*; make it smaller"):  # a job for each combination
        as_user(1, lambda: submit("c", 1, matrix={"x": [1, 2, 3, 4, 5, 6]}))
    as_user(65534, lambda: api.submit(run="true"))  # small ones go on
    as_user(1, lambda: submit("d", 3))
    submit("e", 5)  # root has no limit
    api.put("/v1/config", {"journal": {"user_mib": 0}})
    as_user(65534, lambda: submit("f", 5))


def spend(request, most):
    """Repeat a request until it is refused for the bytes that it adds to the journal; how often it was accepted."""
    for count in range(most):
        try:
            request(count)
        except Refused as refused:
            assert refused.status == 429 and "KiB to the journal" in refused.message and "expected at most 1 MiB a day" in refused.message, refused
            return count
    raise AssertionError("%d requests are accepted" % most)


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_records_of_jobs_and_changes_count_towards_the_limit_of_bytes(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    api = daemon.api
    api.put("/v1/config", {"journal": {"user_mib": 1}})

    def array(_):
        return api.submit(command=["true"], array="0-999", hold=True)

    number = as_user(65534, lambda: array(0))
    assert as_user(65534, lambda: spend(array, 10)) in (1, 2)
    daemon.kill()
    daemon.start()
    with pytest.raises(Refused, match="KiB to the journal"):  # the same after a start, from the records
        as_user(65534, lambda: array(0))
    as_user(65534, lambda: api.post("/v1/jobs/%d/cancel" % number))  # what ends something is accepted

    number = as_user(1, lambda: api.submit(command=["true"], array="0-499", hold=True))
    as_user(1, lambda: spend(lambda count: api.post("/v1/jobs/%d/%s" % (number, "hold" if count % 2 else "release")), 100))
    with pytest.raises(Refused, match="KiB to the journal"):
        as_user(1, lambda: api.post("/v1/tokens", {"scope": "read"}))
    with pytest.raises(Refused, match="KiB to the journal"):
        as_user(1, lambda: api.patch("/v1/jobs/%d" % number, {"priority": 0}))
    as_user(1, lambda: api.post("/v1/jobs/%d/cancel" % number))
    as_user(2, lambda: api.submit(command=["true"]))  # another user is not affected
    daemon.terminate()
    daemon.start()  # from the snapshot
    with pytest.raises(Refused, match="KiB to the journal"):
        as_user(1, lambda: api.post("/v1/tokens", {"scope": "read"}))
    daemon.verify()


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS), reason=WHY_NOT_AS_OTHERS)
def test_tokens_count_towards_the_limit_of_bytes(make_daemon):
    daemon = make_daemon(options=["--all-users"])
    daemon.start()
    api = daemon.api
    api.put("/v1/config", {"journal": {"user_mib": 1}})

    def token(_):
        made = api.post("/v1/tokens", {"scope": "read", "name": "x" * 60})
        api.ask("DELETE", "/v1/tokens/%d" % made["id"])

    as_user(65534, lambda: api.submit(command=["true"], array="0-2599", hold=True))
    assert 100 < as_user(65534, lambda: spend(token, 5000)) < 1500
    daemon.verify()
