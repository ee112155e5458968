# SPDX-License-Identifier: Apache-2.0
"""Drives the web page in a real browser: Chromium with Selenium. The fixtures skip where they are not installed."""

import os
import shutil
import subprocess

import pytest

import tarn_test
from test_door import Box

try:
    from selenium import webdriver
except ImportError:
    webdriver = None
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")


def open_browser(folder, width=1280, height=900, is_dark=False):
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--ignore-certificate-errors",
                   "--user-data-dir=" + os.path.join(folder, "profile"), "--window-size=%d,%d" % (width, height)):
        options.add_argument(option)
    if is_dark:
        options.add_argument("--force-dark-mode")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


# Later: a question that the page asks would block the script.
CLICK = ("if (!one || one.disabled) return false;"
         "setTimeout(() => one.dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))); return true")


class Page:
    def __init__(self, box, browser):
        self.box = box
        self.browser = browser

    def log_in(self):
        done = subprocess.run([tarn_test.TARN, "web", "--print"], env=self.box.daemon.environment(), capture_output=True, text=True,
                              timeout=tarn_test.PATIENCE_S)
        assert done.returncode == 0, done
        self.browser.get("about:blank")
        self.browser.get(done.stdout.strip())
        self.wait_for("Overview", "h1")

    def go(self, place):
        self.browser.execute_script("location.hash = arguments[0]", "#/" + place)

    def text(self, selector="main"):
        return self.browser.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map((one) => one.innerText ?? one.textContent).join('\\n')", selector)

    def wait_for(self, words, selector="main"):
        tarn_test.wait_until("the page shows %r" % words, lambda: words in self.text(selector))

    def click(self, selector):
        tarn_test.wait_until("%s is there" % selector, lambda: self.browser.execute_script(
            "const one = document.querySelector(arguments[0]);" + CLICK, selector))

    def press(self, words, scope="main"):
        tarn_test.wait_until("the button %s" % words, lambda: self.browser.execute_script(
            "const one = [...document.querySelectorAll(arguments[0] + ' button')].find((b) => b.innerText === arguments[1]);"
            + CLICK, scope, words))

    def accept(self):
        self.answer("accept")

    def answer(self, way, words=""):
        """To a question with these words: "accept" or "dismiss"."""
        from selenium.common.exceptions import NoAlertPresentException

        def is_answered():
            try:
                question = self.browser.switch_to.alert
                assert words in question.text
                getattr(question, way)()
                return True
            except NoAlertPresentException:
                return False

        tarn_test.wait_until("the page asks", is_answered)

    def complaints(self):
        """What the browser logged as wrong, but refusals by the daemon, and requests that it ended itself when another
        suite on this machine made a network interface."""
        return [entry["message"] for entry in self.browser.get_log("browser") if entry["level"] == "SEVERE"
                and "status of 4" not in entry["message"] and "ERR_NETWORK_CHANGED" not in entry["message"]]


@pytest.fixture(scope="module")
def box():
    root = tarn_test.make_folder()
    box = Box(root)
    yield box
    box.daemon.check_sane()
    box.stop()
    tarn_test.remove_folder(root)


@pytest.fixture(scope="module")
def browser(box):
    if not webdriver or not CHROMIUM or not DRIVER:
        pytest.skip("chromium, chromium-driver and python3-selenium are not installed")
    browser = open_browser(box.root)
    yield browser
    browser.quit()


@pytest.fixture
def page(box, browser):
    page = Page(box, browser)
    page.log_in()
    yield page
    complaints = page.complaints()
    assert not complaints, complaints
    assert "[object" not in page.text() and "undefined" not in page.text()
    for job in box.daemon.api.jobs():
        if job["state"] != "ended":
            box.daemon.api.post("/v1/jobs/%d/cancel" % job["id"])
