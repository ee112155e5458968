# SPDX-License-Identifier: Apache-2.0
"""The views of the web page, each with what a person does there, in a real Chromium."""

import pytest

import tarn_test
from test_door import Box
from test_gpu import STUB, gpu
from test_web import HOSTILE
from webpage import Page, box, browser, page  # noqa: F401 (fixtures)


def count(page, selector):
    return page.browser.execute_script("return document.querySelectorAll(arguments[0]).length", selector)


def have_history(box, runs=6):
    """With a few ended runs of a name, jobs of that name have predictions."""
    numbers = [box.daemon.api.submit(command=["true"], gpus=1, name="train", max_duration="10m", env=box.daemon.env())
               for _ in range(runs)]
    for number in numbers:
        box.daemon.api.wait_end(number)


def overlaps(page, selector):
    """The texts of elements that lie over each other."""
    return page.browser.execute_script("""
        const boxes = [...document.querySelectorAll(arguments[0])].map((one) => [one.textContent, one.getBoundingClientRect()]);
        return boxes.flatMap(([a, one], i) => boxes.slice(i + 1).filter(([b, other]) => one.left < other.right - 1 && other.left < one.right - 1 &&
          one.top < other.bottom - 2 && other.top < one.bottom - 2).map(([b]) => [a, b]));""", selector)


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
    assert count(page, ".gantt .bar-text") >= 2 and overlaps(page, ".gantt .bar-text") == []
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
    assert page.text("tr:nth-child(2) td:nth-child(2)") == "failed" and page.text("tr:nth-child(3) td:nth-child(2)") == "cancelled"  # it never ran
    flag.touch()
    page.click("tr:nth-child(2) button")  # train
    page.accept()
    page.wait_for("ok", "h1")
    page.click(".dag a[aria-label^='train']")
    page.wait_for("3 rows", "caption")
    page.go("job/%d" % box.daemon.api.get("/v1/pipelines/%d" % number)["stages"][1]["id"])
    page.wait_for("3 of 3 ended", "dl")
    page.click("dl a[href='#/job/%d']" % number)
    page.wait_for("Pipeline", "h1")
    page.go("job/%d" % number)
    page.wait_for("nightly", "h1")
    page.wait_for("Rerun from here")


def enter(page, selector, value):
    """As a person who types: the page hears each change."""
    page.browser.execute_script(
        "const one = document.querySelector(arguments[0]); one.value = arguments[1]; one.dispatchEvent(new Event('input', {bubbles: true}))",
        selector, value)


def value_of(page, selector):
    return page.browser.execute_script("return document.querySelector(arguments[0]).value", selector)


def test_a_job_is_written_checked_and_submitted(page, box):
    page.go("submit")
    page.wait_for("Valid: job train", "#verdict")
    page.wait_for("h100", "table")  # what each model would mean
    enter(page, "#document", "name: mine\nrun: echo from the page; sleep 1000\ngpus: 99\n")
    page.wait_for("gpus", "#verdict.bad")
    assert page.browser.execute_script("return document.querySelector('button.main').disabled")
    enter(page, ".fields input[placeholder^='1, h100']", "2")
    page.wait_for("Valid: job mine: 1 job", "#verdict")
    assert "gpus: 2\n" in value_of(page, "#document") and "echo from the page" in value_of(page, ".fields textarea")
    enter(page, ".fields textarea", "echo one\necho two; sleep 1000")
    enter(page, ".fields label:nth-child(3) input", HOSTILE)
    page.wait_for("Valid: job", "#verdict")  # any text is a name
    assert count(page, "main img") == 0
    enter(page, ".fields label:nth-child(3) input", "mine-again.1")
    page.wait_for("Valid: job mine-again.1", "#verdict")
    page.wait_for("Expected start")
    page.click("button.main")
    page.wait_for("two", "pre")
    [job] = [job for job in box.daemon.api.jobs() if job["name"] == "mine-again.1"]
    assert job["name"] == "mine-again.1" and job["gpu_count"] == 2
    page.go("submit?like=%d" % job["id"])
    page.wait_for("Valid: job mine-again", "#verdict")
    assert "echo one" in value_of(page, "#document")
    for template in page.browser.execute_script("return [...document.querySelectorAll('optgroup option')].map((one) => one.value)"):
        page.browser.execute_script("const one = document.querySelector('form select'); one.value = arguments[0];"
                                    "one.dispatchEvent(new Event('change'))", template)
        tarn_test.wait_until("it is checked", lambda: "Valid: " in page.text("#verdict") and "mine-again" not in page.text("#verdict"))


def test_bodies_may_be_yaml(box):
    token = box.token(scope="submit")
    yaml = {"Content-Type": "application/yaml"}
    status, reply = box.ask("POST", "/v1/jobs?dry_run=1", token, "name: a\nrun: 'true'\n", headers=yaml)
    assert status == 200 and reply["submitted"][0]["name"] == "a"
    for body, words in (("name: [", "body:"), ("just text", "expected an object"), ("a: &a [x]\nb: *c\n", "body:"), ("", "empty")):
        status, reply = box.ask("POST", "/v1/jobs?dry_run=1", token, body, headers=yaml)
        assert status == 400 and words in reply["error"]["message"], reply


def test_what_if_compares_outcomes(page, box):
    have_history(box)
    running = box.daemon.api.submit(command=["sleep", "1000"], gpus=4, name="train", max_duration="1h", env=box.daemon.env())
    waiting = box.daemon.api.submit(command=["sleep", "1000"], gpus=4, name="next", max_duration="1h", env=box.daemon.env())
    tarn_test.wait_until("it runs", lambda: box.daemon.api.job(running)["state"] == "running")
    page.go("whatif")
    page.wait_for("As in force.", "#config-verdict")
    page.press("Compare")
    page.wait_for("Enter at least one change", ".bad")
    enter(page, "[name=cancel]", str(running))
    page.press("Compare")
    page.wait_for("1 job starts sooner")
    assert count(page, "table a[href='#/job/%d']" % waiting) == 1
    enter(page, "[name=cancel]", "")
    enter(page, "#newjob", "name: new\nrun: 'true'\ngpus: 1\n")
    page.press("Compare")
    page.wait_for("(new)", "table")
    enter(page, "#newjob", "name: new\nrum: 'true'\n")
    page.press("Compare")
    page.wait_for("did you mean 'run'", ".bad")


def test_the_configuration_is_edited_compared_applied_and_undone(page, box):
    api = box.daemon.api
    page.go("whatif")
    page.wait_for("As in force.", "#config-verdict")
    before = value_of(page, "#configuration")
    enter(page, "#configuration", "queues:\n  research:\n    guarante: 2\n")
    page.wait_for("did you mean 'guarantee'", "#config-verdict .bad")
    enter(page, "#configuration", "queues:\n  research:\n    guarantee: 2\n    limit: 4\n")
    page.wait_for("Valid", "#config-verdict")
    page.wait_for("research", "#config-verdict .change")
    page.press("Compare the present queue")
    page.wait_for("The present queue under it")
    page.press("Replay the last days")
    page.wait_for("The last 7d under it")
    page.press("Apply")
    page.accept()
    page.wait_for("applied: change", "#notices")
    tarn_test.wait_until("the old comparison is gone", lambda: "under it" not in page.text())
    assert "research" in [queue["name"] for queue in api.get("/v1/queues")["queues"]]
    page.wait_for("As in force.", "#config-verdict")
    page.press("Undo")
    page.accept()
    page.wait_for("restored", "#notices")
    assert "research" not in [queue["name"] for queue in api.get("/v1/queues")["queues"]]
    tarn_test.wait_until("the editor is as before", lambda: value_of(page, "#configuration") == before)


def test_money_shows_cost_and_use(page, box):
    api = box.daemon.api
    api.put("/v1/config", {"prices": {"h100": 3.2}, "queues": {"research": {}}})
    job = api.submit(command=["sleep", "1000"], gpus=2, name="paid", queue="research", env=box.daemon.env())
    tarn_test.wait_until("it costs", lambda: api.job(job)["cost"] > 0)
    number = api.submit(name="nightly", stages={"train": {"run": "true", "gpus": 1}}, env=box.daemon.env())
    api.wait_group(number)
    page.go("money")
    page.wait_for("research", "table")
    page.wait_for("unallocated", "table")
    page.go("money?by=stage&last=366d")
    page.wait_for("train", "table")
    page.wait_for("by month", "caption")
    page.go("money?by=job&last=1d")
    page.click("table a[href='#/job/%d']" % job)
    page.wait_for("Job %d" % job, "h1")
    periods = api.get("/v1/report?last=1h&step=10m")["periods"]
    total = api.get("/v1/report?last=1h")["total"]
    assert sum(one["cost"] for one in periods) == pytest.approx(total["cost"], rel=0.5)
    assert sum(one["starts"] for one in periods) >= 2 and "queues" not in periods[0]
    periods = api.get("/v1/report?last=1h&step=10m&by=queue")["periods"]
    assert {part["queue"] for one in periods for part in one["queues"] if part["gpu_hours"] > 0} >= {"research"}
    page.go("queues")
    page.wait_for("research", "table")
    for step, words in (("1s", "at least 1m"), ("x", "step"), ("-1h", "step")):
        with pytest.raises(tarn_test.Refused, match=words):
            api.get("/v1/report?step=" + step)
    api.post("/v1/jobs/%d/cancel" % job)
    api.wait_end(job)
    api.put("/v1/config", {})


def answer(page, words):
    """What a person enters where the page asks for a line."""
    from selenium.common.exceptions import NoAlertPresentException

    def is_answered():
        try:
            page.browser.switch_to.alert.send_keys(words)
            page.browser.switch_to.alert.accept()
            return True
        except NoAlertPresentException:
            return False
    tarn_test.wait_until("the page asks", is_answered)


def test_an_administrator_drains_revokes_and_reads_the_audit(page, box):
    api = box.daemon.api
    node = api.get("/v1/nodes")["nodes"][0]["name"]
    page.go("admin")
    page.click("[aria-label='Drain node %s']" % node)
    answer(page, "new fan " + HOSTILE)
    page.wait_for("new fan " + HOSTILE, "table")
    assert api.get("/v1/nodes")["nodes"][0]["state"] == "drained" and count(page, "main img") == 0
    page.click("[aria-label='Undrain node %s']" % node)
    tarn_test.wait_until("it is enabled", lambda: api.get("/v1/nodes")["nodes"][0]["state"] == "up")
    page.click("[aria-label='Drain device %s:1']" % node)
    answer(page, "looks odd")
    page.wait_for("looks odd", "table")
    page.click("[aria-label='Undrain device %s:1']" % node)
    token = box.token(name="to be revoked", scope="read")
    number = int(token.split("_")[1])
    page.go("admin/tokens")
    page.click("[aria-label='Revoke token %d']" % number)
    page.accept()
    tarn_test.wait_until("it is revoked", lambda: box.ask("GET", "/v1/jobs", token)[0] == 401)
    page.go("admin/audit?last=1h")
    page.wait_for("drainNode", "table")
    page.wait_for("/v1/tokens/%d" % number, "table")
    assert page.text("table").count("createToken") >= 1


def test_a_person_without_rights_sees_their_own_things_only(page, box):
    page.browser.delete_all_cookies()
    page.browser.get("about:blank")
    page.browser.get(box.url)
    page.wait_for("Access token", "main")
    enter(page, "#token", box.token(scope="read"))
    page.press("Log in")
    page.wait_for("Overview", "h1")
    page.go("admin")
    page.wait_for("Devices", "h2")
    assert "Drain" not in page.text("button") and "administrator" not in page.text("#who")
    page.go("submit")
    page.wait_for("the scope of the token is 'read'", "#verdict.bad")
    page.go("whatif")
    page.wait_for("the scope of the token is 'read'", "#config-verdict .bad")
    page.go("admin/audit")
    page.wait_for("Audit", "nav")
    own = box.daemon.api.submit(name="mine", hold=True, env=box.daemon.env(), stages={"only": {"run": "true"}})
    for place, words in (("jobs", "only"), ("pipelines/%d" % own, "Needs"), ("job/%d" % (own + 2), "Submitted")):
        page.go(place)
        page.wait_for(words, "main")
        assert count(page, "main .actions button, main table button, main table input") == 0  # nothing that would be refused
    for place in ("overview", "jobs", "pipelines", "forecast", "money", "queues", "admin/tokens"):
        page.go(place)
        tarn_test.wait_until("%s is shown" % place, lambda: page.text("h1").lower() in place)


def test_a_job_shows_why_it_waits_and_what_would_help(page, box):
    api = box.daemon.api
    have_history(box)
    running = api.submit(command=["sleep", "1000"], gpus=2, name="train", max_duration="1h", env=box.daemon.env())
    tarn_test.wait_until("it runs", lambda: api.job(running)["state"] == "running")
    waiting = api.submit(command=["sleep", "1000"], gpus=4, name="wide", max_duration="1h", env=box.daemon.env())
    page.go("job/%d" % waiting)
    page.wait_for("It would start sooner")
    page.wait_for("--gpus 2", ".sooner")
    page.wait_for("submitted by", ".events")
    assert count(page, "section p a[href='#/job/%d']" % running) == 1  # held by
    page.press("Hold")
    page.wait_for("held", ".events")
    page.press("Release")
    page.wait_for("released", ".events")
    page.click(".sooner a")
    page.wait_for("Valid: job wide", "#verdict")
    assert "gpus: 2\n" in value_of(page, "#document")
    page.go("job/%d" % running)
    page.wait_for("GPUs allocated", ".events")
    page.wait_for("has its GPUs")
    api.post("/v1/jobs/%d/requeue" % running)
    page.wait_for("it is requeued", ".events")
    page.wait_for("attempt 2", ".events")


def test_a_job_shows_its_readings_and_what_to_improve(browser, tmp_path):
    """With the stub of the driver: a job that leaves its GPU idle."""
    import os

    script, root = tmp_path / "driver.txt", tarn_test.make_folder()
    script.write_text("driver 550.54\n%s\n%s\n" % (gpu(0, use=2), gpu(1, use=2)))
    machine = Box(root, devices="nvml", environment={"TARN_NVML_LIBRARY": STUB, "TARN_NVML_SCRIPT": str(script),
                                                     "TARN_DEVICE_ROOT": str(tmp_path / "root")})
    try:
        machine.daemon.api.put("/v1/config", {"prices": {"h100": 360}})
        job = machine.daemon.api.submit(command=["sleep", "600"], gpus="1", cpus=0, name="idle", env=machine.daemon.env())
        tarn_test.wait_until("it was watched", lambda: (machine.daemon.api.job(job)["gpu_usage"] or {"watched_seconds": 0})["watched_seconds"] > 4)
        page = Page(machine, browser)
        page.log_in()
        page.wait_for("2 %", ".tiles")
        page.go("job/%d" % job)
        page.wait_for("Efficiency", "h2")
        page.wait_for("GPU use", "dl")
        page.wait_for("Its GPUs", "h2")
        assert count(page, ".charts path.line") >= 1
        page.wait_for("attempt 1, 1 GPU", ".events")
        assert page.text(".events").splitlines()[1].endswith("attempt 1, 1 GPU")
        assert page.browser.execute_script("""  // no label of a chart is cut off
            return [...document.querySelectorAll('.charts svg')].every((chart) => [...chart.querySelectorAll('text')].every((one) =>
              one.getBoundingClientRect().left >= chart.getBoundingClientRect().left && one.getBoundingClientRect().right <= chart.getBoundingClientRect().right))""")
        page.wait_for("Cost", "dl")
        page.go("money?last=1d&by=job")
        page.wait_for("Idle cost", "table")
        assert count(page, "figure circle") == 1 and page.complaints() == []
    finally:
        browser.get("about:blank")
        os.remove(script)
        machine.daemon.api.post("/v1/jobs/%d/cancel" % job)
        machine.stop()
        tarn_test.remove_folder(root)


def test_a_day_with_nothing_but_the_browser(page, box):
    """Done when 1: submit, watch, understand a wait, ask what if, cancel, and read the cost."""
    api = box.daemon.api
    api.put("/v1/config", {"prices": {"h100": 360}})
    have_history(box)
    # In the morning: a job is submitted, and watched.
    page.click("#views a[href='#/submit']")
    page.wait_for("Valid", "#verdict")
    enter(page, "#document", "name: train\nrun: |\n  echo epoch one\n  sleep 1000\ngpus: 4\nmax_duration: 1h\n")
    page.wait_for("Valid: job train", "#verdict")
    page.press("Submit")
    page.wait_for("epoch one", "pre")
    first = int(page.browser.current_url.split("/")[-1])
    # A second one does not start. Why?
    page.click("#views a[href='#/submit']")
    page.wait_for("Valid", "#verdict")
    enter(page, "#document", "name: eval\nrun: sleep 1000\ngpus: 2\nmax_duration: 30m\n")
    page.wait_for("Valid: job eval", "#verdict")
    page.wait_for("Expected start")
    page.press("Submit")
    page.wait_for("Why it waits")
    second = int(page.browser.current_url.split("/")[-1])
    assert "held by" in page.text("pre") and count(page, "a[href='#/job/%d']" % first) >= 1
    page.click("#views a[href='#/forecast']")
    page.wait_for("1 running, 1 expected to start")
    # What if the first one were cancelled?
    page.go("job/%d" % second)
    page.click("a[href^='#/whatif?cancel=']")
    page.wait_for("As in force.", "#config-verdict")
    assert value_of(page, "[name=cancel]") == str(first)
    page.press("Compare")
    page.wait_for("1 job starts sooner")
    # So it is cancelled, and the second one starts.
    page.go("jobs")
    page.click("[aria-label='choose job %d']" % first)
    page.press("Cancel")
    page.accept()
    page.go("job/%d" % second)
    page.wait_for("running", "h1")
    page.press("Cancel")
    page.accept()
    page.wait_for("cancelled", "h1")
    # In the evening: what did it cost?
    page.go("money?by=job&last=1d")
    page.click("table a[href='#/job/%d']" % first)
    page.wait_for("cancelled", ".events")
    page.wait_for("Cost", "dl")
    api.put("/v1/config", {})


def test_the_keyboard_is_enough(page, box):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys):
        ActionChains(page.browser).send_keys(*keys).perform()

    def focused():
        return page.browser.execute_script("return document.activeElement.innerText || document.activeElement.getAttribute('aria-label') || ''")

    running = box.daemon.api.submit(command=["sleep", "1000"], gpus=1, name="train", max_duration="1h", env=box.daemon.env())
    page.browser.execute_script("document.activeElement.blur()")
    page.browser.refresh()
    page.wait_for("Overview", "h1")
    page.browser.execute_script("document.body.focus(); document.querySelector('.skip').focus()")
    assert "Skip" in focused()
    for title in ("Overview", "Jobs"):
        press(Keys.TAB)
        assert focused() == title
    press(Keys.ENTER)
    page.wait_for("Jobs", "h1")
    page.wait_for("train", "table")
    for _ in range(20):  # to the job, past filters and buttons
        press(Keys.TAB)
        if focused() == str(running):
            break
    assert focused() == str(running)
    outline = page.browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    press(Keys.ENTER)
    page.wait_for("Job %d" % running, "h1")
    page.go("forecast")
    page.wait_for("1 running", "caption")
    page.browser.execute_script("document.querySelector('.gantt a').focus()")
    press(Keys.ENTER)
    page.wait_for("Job %d" % running, "h1")
