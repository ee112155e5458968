# SPDX-License-Identifier: Apache-2.0
"""The views of the web page, each with what a person does there, in a real Chromium."""

import pytest

import tarn_test
from webpage import box, browser, page  # noqa: F401 (fixtures)


def count(page, selector):
    return page.browser.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def have_history(box, runs=6):
    """With a few ended runs of a name, jobs of that name have predictions."""
    numbers = [box.daemon.api.submit(command=["true"], gpus=1, name="train", max_duration="10m", env=box.daemon.env())
               for _ in range(runs)]
    for number in numbers:
        box.daemon.api.wait_end(number)


def test_the_forecast_draws_what_runs_and_what_is_next(page, box):
    have_history(box)
    running = box.daemon.api.submit(command=["sleep", "1000"], gpus=3, name="train", max_duration="1h", env=box.daemon.env())
    tarn_test.wait_until("it runs", lambda: box.daemon.api.job(running)["state"] == "running")
    waiting = box.daemon.api.submit(command=["sleep", "1000"], gpus=2, name="next", max_duration="1h", env=box.daemon.env())

    def planned():
        jobs = {job["id"]: job for job in box.daemon.api.get("/v1/forecast")["jobs"]}
        return jobs.get(waiting, {}).get("planned") and jobs
    tarn_test.wait_until("the start is planned", planned)
    jobs = planned()
    assert jobs[running]["start"] is None and len(jobs[running]["devices"][0]["indices"]) == 3
    assert len(jobs[waiting]["devices"][0]["indices"]) == 2 and jobs[waiting]["start"]["low"] <= jobs[waiting]["start"]["high"]
    page.go("forecast")
    page.wait_for("1 running, 1 expected to start")
    page.wait_for("(planned)", "table")
    assert count(page, ".gantt a[href='#/job/%d'] rect" % running) >= 1
    assert count(page, ".gantt a[href='#/job/%d'] rect[fill='url(#in-plan)']" % waiting) >= 1
    page.go("forecast?hours=6")
    page.wait_for("6 hours")
    page.click("table a[href='#/job/%d']" % waiting)
    page.wait_for("Why it waits")


def test_the_forecast_shows_reservations(page, box):
    box.daemon.api.post("/v1/reservations", {"name": "service", "for": "maintenance", "gpus": 1, "when": "00:00-23:59"})
    page.go("forecast?hours=168")
    page.wait_for("service", ".gantt")
    assert count(page, ".gantt .reservation .span") >= 6
    box.daemon.api.ask("DELETE", "/v1/reservations?name=service")


def test_a_pipeline_is_drawn_and_runs_again_from_a_stage(page, box, tmp_path):
    flag = tmp_path / "ready"
    number = box.daemon.api.submit(name="nightly", env=box.daemon.env(), stages={
        "prepare": {"run": "true"}, "train": {"needs": ["prepare"], "array": "0-2", "run": "test -e %s" % flag},
        "report": {"needs": ["train"], "run": "true"}, "lint": {"needs": ["prepare"], "run": "true"}})
    box.daemon.api.wait_group(number)
    page.go("pipelines")
    page.click("a[href='#/pipelines/%d']" % number)
    page.wait_for("failed", "h1")
    assert count(page, ".dag a") == 4 and count(page, ".dag path.edge") == 3
    page.wait_for("prepare →", "dl")
    page.wait_for("3 failed", "table")
    flag.touch()
    page.click("tr:nth-child(2) button")  # train
    page.accept()
    page.wait_for("ok", "h1")
    page.click(".dag a[aria-label^='train']")
    page.wait_for("3 rows", "caption")
    page.go("job/%d" % number)
    page.wait_for("nightly", "h1")
    page.wait_for("Rerun from here")
