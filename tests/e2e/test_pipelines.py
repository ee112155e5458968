# SPDX-License-Identifier: Apache-2.0
"""What stages pass on to each other, and what belongs to a pipeline, through the API."""

import json
import os
import subprocess

import pytest

from tarn_test import TARN, WHY_NOT_AS_OTHERS, IS_ROOT, Refused, as_user, wait_until

NOBODY = 65534


def ends(api, number):
    """Result and reason of each job of a pipeline, by stage, with a list where there are several."""
    return {stage["name"]: [(job["result"], api.job(job["id"])["reason"]) for job in stage["jobs"]]
            for stage in api.wait_group(number)["stages"]}


# Declared outputs


@pytest.mark.parametrize("run, reason", [
    ("true", "output data: empty"),
    ("rmdir $TARN_OUT/data", "output data: missing"),
    ("rmdir $TARN_OUT/data && : > $TARN_OUT/data", "output data: empty"),
    ("echo 1 > $TARN_OUT/data/a; rmdir $TARN_OUT/model", "output model: missing"),
])
def test_an_output_that_is_empty_or_missing_fails_the_stage(api, run, reason):
    outputs = ["data", "model"] if "model" in run else ["data"]
    number = api.submit(name="p", stages={"make": {"run": run, "outputs": outputs},
                                          "use": {"needs": ["make"], "inputs": ["data"], "run": "true"},
                                          "z": {"when": "always", "run": "true"}})
    seen = ends(api, number)
    assert seen["make"] == [("failed", reason)]
    assert seen["use"][0][0] == "cancelled" and seen["z"][0][0] == "ok"
    assert api.job(number)["result"] == "failed"


def test_an_empty_output_uses_a_retry(api):
    number = api.submit(name="p", stages={"make": {"retry": 1, "outputs": ["data"], "run": "test $TARN_ATTEMPT = 1 || echo 1 > $TARN_OUT/data/x"},
                                          "use": {"needs": ["make"], "inputs": ["data"], "run": "cat $TARN_IN/data/x"}})
    assert ends(api, number) == {"make": [("ok", None)], "use": [("ok", None)]}
    make, use = [stage["jobs"][0]["id"] for stage in api.job(number)["stages"]]
    assert api.job(make)["attempt"] == 2 and api.output(use) == "1\n"


def test_the_outputs_of_a_gang_are_complete_when_its_last_member_has_ended(api, tmp_path):
    empty = api.submit(run="test $RANK -lt 2", ranks=2, outputs=["d"])
    assert (api.wait_end(empty)["result"], api.job(empty)["reason"]) == ("failed", "output d: empty")
    assert api.job(empty)["failed_rank"] is None
    waits = "while ! test -e %s/go; do sleep 0.05; done" % tmp_path
    number = api.submit(run="if test $RANK = 0; then %s; echo 1 > $TARN_OUT/d/x; else touch %s/over; fi" % (waits, tmp_path), ranks=2, outputs=["d"])
    wait_until("rank 1 is over", lambda: os.path.exists(tmp_path / "over"))
    (tmp_path / "go").touch()
    assert api.wait_end(number)["result"] == "ok"


def test_each_of_very_many_outputs_is_checked(api):
    names = ["%063d" % number for number in range(256)]
    number = api.submit(run="cd $TARN_OUT && for d in *; do echo 1 > $d/x; done; rm *255/x", outputs=names)
    assert api.wait_end(number)["reason"] == "output %063d: empty" % 255


def test_a_job_whose_output_is_empty_says_so_everywhere(daemon, api):
    number = api.submit(run="true", outputs=["data"], env=daemon.env())
    job = api.wait_end(number)
    assert (job["result"], job["exit_code"], job["reason"]) == ("failed", 0, "output data: empty")
    shown = subprocess.run([TARN, "show", str(number)], env=daemon.environment(), capture_output=True, text=True).stdout
    assert "output data: empty" in shown
    waited = subprocess.run([TARN, "wait", str(number)], env=daemon.environment(), capture_output=True, text=True)
    assert waited.returncode == 1, waited


def test_the_end_of_a_stage_is_reported_once_also_after_a_restart(daemon, api, tmp_path):
    numbers = [api.submit(name="p", env=daemon.env(), stages={
        "make": {"run": "%s; touch %s/ran" % ("echo 1 > $TARN_OUT/d/x" if fills else "true", tmp_path), "outputs": ["d"]},
        "use": {"needs": ["make"], "inputs": ["d"], "run": "cat $TARN_IN/d/x"}}) for fills in (True, False)]
    wait_until("they run", lambda: os.path.exists(tmp_path / "ran"))
    daemon.kill()
    daemon.start()
    assert [api.wait_group(number)["result"] for number in numbers] == ["ok", "failed"]


# Inputs stay as they are


CHANGES = {"append": "echo 2 >> $TARN_IN/data/deep/x", "truncate": ": > $TARN_IN/data/deep/x", "remove": "rm -f $TARN_IN/data/deep/x",
           "add": "echo 3 > $TARN_IN/data/y", "remove all": "rm -rf $TARN_IN/data/deep"}


def chain(change):
    return {"make": {"run": "mkdir $TARN_OUT/data/deep; echo 1 > $TARN_OUT/data/deep/x", "outputs": ["data"]},
            "use": {"needs": ["make"], "inputs": ["data"], "run": "cat $TARN_IN/data/deep/x; (%s) 2>/dev/null || echo refused; true" % change},
            "last": {"needs": ["use"], "inputs": ["data"], "run": "ls $TARN_IN/data; cat $TARN_IN/data/deep/x"}}


def output_of(api, number, name):
    return api.output([stage["jobs"][0]["id"] for stage in api.job(number)["stages"] if stage["name"] == name][0])


@pytest.mark.skipif(bool(WHY_NOT_AS_OTHERS) and IS_ROOT, reason=WHY_NOT_AS_OTHERS)
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_stage_cannot_change_what_it_reads(make_daemon, change):
    daemon = make_daemon(options=["--all-users"]) if IS_ROOT else make_daemon()
    daemon.start()
    call = (lambda function: as_user(NOBODY, function)) if IS_ROOT else (lambda function: function())
    number = call(lambda: daemon.api.submit(name="p", cwd="/", stages=chain(CHANGES[change])))
    assert call(lambda: daemon.api.wait_group(number)["result"]) == "ok"
    assert call(lambda: output_of(daemon.api, number, "use")) == "1\nrefused\n"
    assert call(lambda: output_of(daemon.api, number, "last")) == "deep\n1\n"


@pytest.mark.skipif(not IS_ROOT, reason="modes hold back other users")
@pytest.mark.parametrize("change", list(CHANGES))
def test_a_stage_of_root_that_changes_what_it_reads_fails(api, change):
    number = api.submit(name="p", stages=chain(CHANGES[change]))
    seen = ends(api, number)
    make = api.job(number)["stages"][0]["jobs"][0]["id"]
    assert seen["use"] == [("failed", "input data: changed after job %d wrote it" % make)]
    assert seen["make"] == [("ok", None)] and seen["last"][0][0] == "cancelled"


@pytest.mark.skipif(not IS_ROOT, reason="modes hold back other users")
def test_a_stage_of_root_that_changes_one_combination_fails(api):
    number = api.submit(name="p", stages={
        "make": {"matrix": {"lr": [1, 2]}, "array": "0-1", "run": "echo ${lr} > $TARN_OUT/m/x", "outputs": ["m"]},
        "good": {"needs": ["make"], "inputs": ["m"], "run": "cat $TARN_IN/m/*/*/x"},
        "bad": {"needs": ["good"], "inputs": ["m"], "run": "echo 7 >> $TARN_IN/m/lr=2/1/x"}})
    seen = ends(api, number)
    assert seen["good"] == [("ok", None)]
    assert seen["bad"][0][0] == "failed" and seen["bad"][0][1].startswith("input m/lr=2/1: changed after job "), seen


def test_a_stage_that_runs_again_has_new_outputs_to_fill(api, tmp_path):
    number = api.submit(name="p", stages={
        "make": {"run": "ls $TARN_OUT/data; echo 1 > $TARN_OUT/data/of-$TARN_ATTEMPT", "outputs": ["data"]},
        "use": {"needs": ["make"], "inputs": ["data"], "run": "ls $TARN_IN/data/"}})
    assert api.wait_group(number)["result"] == "ok"
    stages = api.job(number)["stages"]
    assert len(api.post("/v1/jobs/%d/requeue?following=1" % stages[0]["id"])["changed"]) == 2
    assert api.wait_group(number)["result"] == "ok"
    assert output_of(api, number, "use") == "of-1\nof-2\n" and output_of(api, number, "make") == ""


# What a stage submits


SUBMITS = "%s submit --name child -- sleep 1000 && %s submit -f %%s/file.yaml && touch %%s/sent; sleep 1000" % (TARN, TARN)


def named(api, name):
    return [job for job in api.get("/v1/jobs?all=1")["jobs"] if job["name"] == name]


def test_a_cancelled_pipeline_takes_what_its_stages_submitted(daemon, api, tmp_path):
    (tmp_path / "file.yaml").write_text("stages: {x: {run: sleep 1000}, y: {needs: [x], run: 'true'}, z: {when: always, run: 'true'}}\n")
    number = api.submit(name="outer", env=daemon.env(), cwd=str(tmp_path), stages={
        "a": {"run": "true"}, "b": {"needs": ["a"], "run": SUBMITS % (tmp_path, tmp_path)}})
    other = api.submit(run="sleep 1000", env=daemon.env())
    wait_until("they are submitted", lambda: os.path.exists(tmp_path / "sent"))
    submitter = api.job(number)["stages"][1]["jobs"][0]["id"]
    child, = named(api, "child")
    assert api.job(child["id"])["by_job"] == submitter and api.job(other)["by_job"] is None
    shown = subprocess.run([TARN, "show", str(child["id"])], env=daemon.environment(), capture_output=True, text=True).stdout
    assert "by job %d" % submitter in shown, shown
    daemon.kill()
    daemon.start()
    changed = api.post("/v1/jobs/%d/cancel" % number)["changed"]
    inner, = [group for group in api.get("/v1/pipelines")["pipelines"] if group["id"] != number]
    stages = {stage["name"]: stage["jobs"][0]["id"] for stage in api.job(inner["id"])["stages"]}
    assert sorted(changed) == sorted([submitter, child["id"], stages["x"], stages["y"]])
    ended = api.wait_end(child["id"])
    assert (ended["result"], ended["cancel_reason"]) == ("cancelled", "pipeline %d, which submitted it, was cancelled" % number)
    assert api.wait_group(inner["id"])["result"] == "cancelled" and api.job(stages["z"])["result"] == "ok"
    assert api.job(other)["result"] is None


def test_a_pipeline_that_ended_takes_what_still_runs_of_it(api):
    number = api.submit(name="outer", stages={"a": {"run": "true"}})
    assert api.wait_group(number)["result"] == "ok"
    maker = api.job(number)["stages"][0]["jobs"][0]["id"]
    child = api.submit(run="sleep 1000", sender_job=maker)
    grandchild = api.submit(run="sleep 1000", sender_job=child)
    assert api.post("/v1/jobs/%d/cancel" % number)["changed"] == [child, grandchild]
    assert api.wait_end(grandchild)["result"] == "cancelled"
    with pytest.raises(Refused, match="changes nothing"):
        api.post("/v1/jobs/%d/cancel" % number)


def test_what_shall_outlive_its_pipeline_goes_on(daemon, api, tmp_path):
    (tmp_path / "own.yaml").write_text("name: own\nsender_job: 0\nrun: sleep 1000\n")
    number = api.submit(name="outer", env=daemon.env(), stages={
        "a": {"run": "%s submit -f %s/own.yaml; %s submit --name taken -- sleep 1000; %s submit --cron '0 4 * * *' --name nightly -- true; touch %s/sent; sleep 1000"
                     % (TARN, tmp_path, TARN, TARN, tmp_path)}})
    wait_until("they are submitted", lambda: os.path.exists(tmp_path / "sent"))
    own, taken = named(api, "own")[0]["id"], named(api, "taken")[0]["id"]
    stage = api.job(number)["stages"][0]["jobs"][0]["id"]
    assert sorted(api.post("/v1/jobs/%d/cancel" % number)["changed"]) == sorted([stage, taken])
    assert api.wait_end(taken)["cancel_reason"] == "pipeline %d, which submitted it, was cancelled" % number
    assert api.job(own)["result"] is None and api.job(own)["by_job"] is None


def test_what_a_job_outside_of_a_pipeline_submits_goes_on(daemon, api):
    number = api.submit(run="trap '' TERM; sleep 1000 & wait; sleep 1000", grace="1000s", env=daemon.env())
    api.wait_state(number, "running")
    child = api.submit(run="sleep 1000", sender_job=number)
    assert api.post("/v1/jobs/%d/cancel" % number)["changed"] == [number]
    late = api.submit(run="sleep 1000", sender_job=number)  # in a trap of its signal, for example
    api.post("/v1/jobs/%d/cancel?signal_now=1" % number)
    for job in (child, late):
        assert api.job(job)["result"] is None and api.job(job)["by_job"] == number


def stage_of(api, number):
    return api.job(number)["stages"][0]["jobs"][0]["id"]


def test_a_job_can_only_be_submitted_by_a_job_of_its_user_that_goes_on(make_daemon):
    daemon = make_daemon(options=["--all-users"]) if IS_ROOT else make_daemon()
    daemon.start()
    api = daemon.api
    with pytest.raises(Refused, match="sender_job: job 4711: no such job"):
        api.submit(run="true", sender_job=4711)
    with pytest.raises(Refused, match="sender_job"):
        api.submit(run="true", sender_job="x")
    pipeline = api.submit(name="outer", env=daemon.env(), stages={"a": {"run": "trap '' TERM; sleep 1000 & wait; sleep 1000", "grace": "1000s"}})
    number = stage_of(api, pipeline)
    api.wait_state(number, "running")
    if IS_ROOT:
        with pytest.raises(Refused, match="sender_job: job %d: belongs to another user" % number):
            as_user(NOBODY, lambda: api.submit(run="true", cwd="/", sender_job=number))
    api.post("/v1/jobs/%d/cancel" % pipeline)
    with pytest.raises(Refused, match="sender_job: job %d is cancelled" % number):
        api.submit(run="true", sender_job=number)
    api.post("/v1/jobs/%d/cancel?signal_now=1" % number)


def test_a_list_to_cancel_may_name_what_goes_along(daemon, api):
    number = api.submit(name="outer", env=daemon.env(), stages={"a": {"run": "sleep 1000"}})
    stage = stage_of(api, number)
    child = api.submit(run="true", hold=True, sender_job=stage)
    done = subprocess.run([TARN, "cancel", str(number), str(child)], env=daemon.environment(), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and str(child) in done.stdout, done
    done = subprocess.run([TARN, "cancel", str(child)], env=daemon.environment(), capture_output=True, text=True)
    assert done.returncode == 1 and "has ended already" in done.stderr, done


# Jobs that never ran


def test_jobs_that_never_ran_are_cancelled_in_every_view(daemon, api, tmp_path):
    number = api.submit(name="p", stages={
        "a": {"run": "exit 3"}, "b": {"needs": ["a"], "run": "true"}, "c": {"needs": ["b"], "array": "0-1", "run": "true"},
        "d": {"needs": ["c"], "matrix": {"x": [1, 2]}, "run": "true"}}, env=daemon.env())
    seen = ends(api, number)
    assert [result for name in "abcd" for result, _ in seen[name]] == ["failed"] + ["cancelled"] * 5
    stages = {stage["name"]: stage for stage in api.get("/v1/pipelines/%d" % number)["stages"]}
    assert [stages[name]["result"] for name in "abcd"] == ["failed"] + ["cancelled"] * 3
    os.symlink(TARN, tmp_path / "sacct")
    for command, words in (([TARN, "ls", "-a"], ["failed", "cancelled"]), ([TARN, "show", str(number)], ["failed", "cancelled"]),
                           ([str(tmp_path / "sacct"), "-X", "-n", "-o", "state"], ["FAILED", "CANCELLED"])):
        text = subprocess.run(command, env=daemon.environment(), capture_output=True, text=True).stdout.split("\n", 1 if "show" in command else 0)[-1]
        assert [text.split().count(word) for word in words] == [1, 5], (command, text)
    rows = json.loads(subprocess.run([TARN, "report", "--json"], env=daemon.environment(), capture_output=True, text=True).stdout)["rows"]
    assert [(row["ok"], row["failed"]) for row in rows] == [(0, 1)], rows
