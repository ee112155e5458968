# SPDX-License-Identifier: Apache-2.0
"""The web page in a real browser: Chromium, driven by Selenium. Skipped where they are not installed."""

import os
import subprocess

import pytest

import tarn_test
from webpage import Page, box, browser, page  # noqa: F401 (fixtures)

VIEWS = {"overview": "Overview", "jobs": "Jobs", "pipelines": "Pipelines", "forecast": "Forecast", "submit": "Submit", "whatif": "What if",
         "money": "Money", "queues": "Queues", "admin": "Admin", "admin/tokens": "Admin", "admin/audit": "Admin"}
HOSTILE = "<img src=x onerror=alert(1)>'\"&"


def test_a_login_works_once(box, browser):
    page = Page(box, browser)
    browser.get(box.url)
    page.wait_for("Log in", "h1")
    done = subprocess.run([tarn_test.TARN, "web", "--print"], env=box.daemon.environment(), capture_output=True, text=True, timeout=60)
    address = done.stdout.strip()
    browser.get("about:blank")
    browser.get(address)
    page.wait_for("Overview", "h1")
    assert "tarn_" not in browser.current_url
    code = address.split("#")[1]
    assert box.ask("POST", "/v1/session", code, {})[0] == 401
    assert box.ask("GET", "/v1/jobs", code)[0] == 401
    cookie = browser.get_cookie("__Host-tarn")
    assert cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "Strict"
    page.press("Log out", "header")
    page.wait_for("Log in", "h1")
    assert box.ask("GET", "/v1/jobs", cookie["value"])[0] == 401
    browser.refresh()
    page.wait_for("Log in", "h1")


def test_a_token_begins_a_session(box, browser):
    page = Page(box, browser)
    browser.delete_all_cookies()
    browser.get(box.url)
    page.wait_for("Access token", "main")
    browser.execute_script("document.getElementById('token').value = 'tarn_1_wrong'")
    page.press("Log in")
    page.wait_for("not valid", "[role=alert]")
    browser.execute_script("document.getElementById('token').value = arguments[0]", box.token(scope="read"))
    page.press("Log in")
    page.wait_for("Overview", "h1")


@pytest.mark.skipif(not tarn_test.IS_ROOT, reason="needs root, whose daemon serves other users")
def test_a_link_changes_the_user_of_a_session_only_if_the_person_agrees(box, browser):
    page = Page(box, browser)
    browser.delete_all_cookies()
    page.log_in()
    link = "%s/#%s" % (box.url, box.token(user="nobody"))
    for answer, user in (("dismiss", "root"), ("accept", "nobody")):
        browser.get("about:blank")
        browser.get(link)
        page.answer(answer, "logs you in as nobody. You are logged in as root")
        page.wait_for(user, "#who")
        assert "tarn_" not in browser.current_url
    browser.get("about:blank")
    browser.get(link)  # the same user: no question
    page.wait_for("nobody", "#who")
    browser.delete_all_cookies()


def test_paths_of_others_have_no_effect_on_the_page(page, box):
    number = box.daemon.api.submit(command=["true"], output=box.root + "/\u202etxt.exe\x1b[31m\u200b\u3164\U000e0041.❤\ufe0fa\u200d")
    box.daemon.api.wait_end(number)
    page.go("job/%d" % number)
    page.wait_for(box.root + "/?txt.exe?[31m???.❤\ufe0fa?")
    assert "\u202e" not in page.text() and "\x1b" not in page.text()


def test_the_overview_shows_devices_and_follows_changes(page, box):
    page.wait_for("0 of 4", ".figures")
    number = box.daemon.api.submit(command=["sleep", "1000"], gpus=2, name="train", env=box.daemon.env())
    page.wait_for("2 of 4", ".figures")
    assert page.text(".tiles").count("train") == 2
    box.daemon.api.post("/v1/jobs/%d/cancel" % number)
    page.wait_for("0 of 4", ".figures")


def test_jobs_are_filtered_explained_and_cancelled(page, box):
    running = box.daemon.api.submit(command=["sleep", "1000"], gpus=4, name="big", max_duration="1h", env=box.daemon.env())
    waiting = box.daemon.api.submit(command=["sleep", "1"], gpus=1, name="small", env=box.daemon.env())
    page.go("jobs")
    page.wait_for("small")
    assert "starts about" in page.text() and "1 gpu wanted, 0 free" in page.text()
    page.go("jobs?name=small")
    tarn_test.wait_until("only one job is listed", lambda: "big" not in page.text("table") and "small" in page.text("table"))
    page.go("job/%d" % waiting)
    page.wait_for("Why it waits")
    assert "held by" in page.text("pre")
    page.press("Hold")
    tarn_test.wait_until("it is held", lambda: box.daemon.api.job(waiting)["state"] == "held")
    page.press("Release")
    page.go("jobs")
    page.click("[aria-label='choose job %d']" % running)
    page.press("Cancel")
    page.accept()
    tarn_test.wait_until("it has ended", lambda: box.daemon.api.job(running)["state"] == "ended")
    page.go("jobs?all=1")
    page.wait_for("cancelled")
    for state in page.browser.execute_script("return [...document.querySelectorAll('#states option')].map((one) => one.value)"):
        assert "jobs" in box.daemon.api.get("/v1/jobs?rows=1&state=" + state)  # each proposal is a filter


def test_the_output_of_a_job_is_followed(page, box):
    number = box.daemon.api.submit(command=["sh", "-c", "seq 200; echo first; sleep 2; echo second; sleep 1000"], env=box.daemon.env())
    page.go("job/%d" % number)
    page.wait_for("first", "pre")
    page.wait_for("second", "pre")
    page.browser.execute_script("document.querySelector('pre').scrollTop = 70; document.querySelector('h1').dataset.old = 'yes'")
    box.daemon.api.submit(command=["true"], env=box.daemon.env())
    tarn_test.wait_until("the view is drawn again", lambda: page.browser.execute_script("return !document.querySelector('h1').dataset.old"))
    assert page.browser.execute_script("return document.querySelector('pre').scrollTop") == 70


def test_output_is_shown_as_a_terminal_does(page, box):
    """Of a progress bar its last state; colors and titles are left out, also where they come in parts."""
    number = box.daemon.api.submit(command=["sh", "-c", r"""i=0; while [ $i -le 2000 ]; do printf '\rstep %d' $i; i=$((i+1)); done; echo
        printf '\033[1;31mred\033[0m \033]0;title\007'; printf '\033['; sleep 1; printf '2Kplain\n'; sleep 1000"""], env=box.daemon.env())
    page.go("job/%d" % number)
    page.wait_for("plain", "pre")
    text = page.browser.execute_script("return document.querySelector('pre').textContent")
    assert text == "step 2000\n    plain\n", text


def test_what_is_drawn_again_keeps_focus_and_scroll(page, box):
    number = box.daemon.api.submit(command=["sleep", "1000"], gpus=1, name="b" * 60, env=box.daemon.env())
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    page.go("jobs")
    page.wait_for("running", "table")
    box_of = "document.querySelector(\"[aria-label='choose job %d']\")" % number
    page.browser.execute_script("%s.focus(); document.querySelector('.scroll').scrollLeft = 50; document.querySelector('h1').dataset.old = 'yes'" % box_of)
    box.daemon.api.submit(command=["true"], env=box.daemon.env())
    tarn_test.wait_until("the view is drawn again", lambda: page.browser.execute_script("return !document.querySelector('h1').dataset.old"))
    assert page.browser.execute_script("return document.activeElement === %s" % box_of)
    assert page.browser.execute_script("return document.querySelector('.scroll').scrollLeft") == 50
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_hostile_names_and_output_stay_text(page, box):
    number = box.daemon.api.submit(command=["sh", "-c", "echo \"$1\"; sleep 1000", "x", HOSTILE], name="hostile",
                                   env=box.daemon.env())
    page.go("job/%d" % number)
    page.wait_for(HOSTILE, "pre")
    assert page.browser.execute_script("return document.querySelectorAll('main img').length") == 0
    page.wait_for(HOSTILE, "dl")
    page.go("jobs?name=" + "%3Cimg%20src%3Dx%3E")
    page.wait_for("Jobs", "h1")
    assert page.browser.execute_script("return document.querySelectorAll('main img').length") == 0


def test_queues_are_shown(page):
    page.go("queues")
    page.wait_for("\u00a0\u00a0\u00a0default", "table")  # below root


def test_nothing_is_loaded_from_elsewhere(page, box):
    for place, title in VIEWS.items():
        page.go(place)
        page.wait_for(title, "h1")
    names = page.browser.execute_script("return performance.getEntriesByType('resource').map((one) => one.name)")
    assert names and all(name.startswith(box.url) for name in names), names


@pytest.mark.parametrize("width", [390, 1280, 2560])
def test_it_fits_the_window(page, box, width):
    number = box.daemon.api.submit(command=["sleep", "1000"], gpus=1, name="a-job-with-a-long-name-" * 2, env=box.daemon.env())
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                 {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    for place, title in VIEWS.items():
        page.go(place)
        page.wait_for(title, "h1")
        assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width, place
        assert "[object" not in page.text() and "undefined" not in page.text()
    page.go("job/%d" % number)
    page.wait_for("sleep 1000", "dl")
    assert page.browser.execute_script("return document.documentElement.scrollWidth") <= width
    page.go("jobs")
    page.wait_for("a-job-with", "table")
    if width >= 1280:  # no name pushes the reason out of sight
        assert page.browser.execute_script("const one = document.querySelector('.scroll'); return one.scrollWidth <= one.clientWidth")
    assert page.browser.execute_script("const one = document.querySelector('#views [aria-current]').getBoundingClientRect(); return one.right <= innerWidth")
    page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_daemon_that_comes_back_is_found_again(page, box):
    page.wait_for("live", "#connection")
    box.daemon.kill()
    page.wait_for("not connected", "#connection")
    colours = "return ['#connection', '#who'].map((one) => getComputedStyle(document.querySelector(one)).color)"
    assert len(set(page.browser.execute_script(colours))) == 2
    page.go("money")
    page.wait_for("The daemon cannot be reached")
    page.go("overview")
    box.daemon.start()
    page.wait_for("live", "#connection")
    page.wait_for("Overview", "h1")
    page.browser.get_log("browser")  # the lost connections


def test_a_page_is_small(box):
    total = 0
    for name in sorted(os.listdir(os.path.join(tarn_test.HERE, "..", "..", "src", "web", "page"))):
        status, body = box.ask("GET", "/" if name == "index.html" else "/web/" + name)
        assert status == 200
        total += len(body)
    assert total < 250 << 10


def test_foreign_frames_and_scripts_are_forbidden(box):
    import http.client
    import ssl

    connection = http.client.HTTPSConnection("127.0.0.1", box.port, timeout=30, context=ssl._create_unverified_context())
    connection.request("GET", "/")
    reply = connection.getresponse()
    policy = reply.getheader("Content-Security-Policy")
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy
    assert reply.getheader("X-Content-Type-Options") == "nosniff"
    reply.read()
    connection.request("GET", "/", headers={"If-None-Match": reply.getheader("ETag")})
    assert connection.getresponse().status == 304
