# SPDX-License-Identifier: Apache-2.0
"""axe-core looks for what keeps people from using the web page: each view, light and dark, small and wide.

It comes from npm, into a folder of the build; $TARN_AXE names a file that is there already. Skipped where it cannot be had.
"""

import os

import pytest

import npm
import tarn_test
from test_web_views import count, enter, have_history
from webpage import box, browser, page  # noqa: F401 (fixtures)

VERSION = "4.10.3"


def find_axe():
    """The script; None, and why, where it cannot be had."""
    named = os.environ.get("TARN_AXE")
    if named:
        return open(named, encoding="utf-8").read(), ""
    folder, why = npm.fetch("axe-core", VERSION)
    return folder and open(os.path.join(folder, "axe.min.js"), encoding="utf-8").read(), why


@pytest.fixture(scope="module")
def axe():
    script, why = find_axe()
    if not script:
        pytest.skip("axe-core cannot be had: " + why)
    return script


def violations(page, axe):
    page.browser.set_script_timeout(60)
    page.browser.execute_script(axe + "; window.axe = axe")
    found = page.browser.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document, {resultTypes: ['violations']}).then((result) => done(result.violations.map((one) =>"
        " [one.id, one.impact, one.help, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 300))])), (e) => done([['failed', 'serious', String(e), []]]))")
    return [one for one in found if one[1] in ("serious", "critical")]


@pytest.mark.parametrize("scheme, width", [("light", 1280), ("dark", 390)])
def test_nothing_serious_is_found(page, box, axe, scheme, width):
    api = box.daemon.api
    have_history(box)
    running = api.submit(command=["sh", "-c", "echo hello; sleep 1000"], gpus=3, name="train", max_duration="1h", env=box.daemon.env())
    tarn_test.wait_until("it runs", lambda: api.job(running)["state"] == "running")
    waiting = api.submit(command=["sleep", "1000"], gpus=2, name="next", max_duration="1h", env=box.daemon.env())
    number = api.submit(name="nightly", env=box.daemon.env(), stages={
        "a": {"run": "true"}, "b": {"needs": ["a"], "run": "false"}, "c": {"needs": ["b"], "run": "true"}})
    api.wait_group(number)
    page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    page.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False})
    try:
        for place, words in (("overview", "GPUs allocated"), ("jobs?all=1", "train"), ("job/%d" % running, "hello"), ("job/%d" % waiting, "Why it waits"),
                             ("pipelines", "nightly"), ("pipelines/%d" % number, "Rerun from here"), ("forecast", "expected to start"),
                             ("submit", "Valid"), ("whatif", "As in force"), ("money", "unallocated"), ("queues", "default"), ("admin", "Nodes"),
                             ("admin/tokens", "session"), ("admin/audit", "submitJobs")):
            page.go(place)
            page.wait_for(words)
            if place == "whatif":
                enter(page, "[name=cancel]", str(running))
                page.press("Compare")
                page.wait_for("Outcome", "h2")
            assert violations(page, axe) == [], place
        assert count(page, "main") == 1
        page.press("Log out", "header")
        page.wait_for("Access token")
        assert violations(page, axe) == [], "login"
    finally:
        page.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
