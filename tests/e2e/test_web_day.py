# SPDX-License-Identifier: Apache-2.0
"""A day's work with nothing but a browser, by Playwright in a real Chromium (web_day.mjs).

playwright-core comes from npm, into a folder of the build. $TARN_RECORD keeps the pictures and the trace in that folder."""

import json
import os
import shutil
import subprocess

import pytest

import npm
import tarn_test
from test_web_views import have_history
from webpage import CHROMIUM, box  # noqa: F401 (fixture)

VERSION = "1.49.1"
HERE = os.path.dirname(os.path.abspath(__file__))


def test_a_day_with_a_browser_only(box, tmp_path):
    if not CHROMIUM or not shutil.which("node"):
        pytest.skip("chromium and node are not installed")
    playwright, why = npm.fetch("playwright-core", VERSION)
    if not playwright:
        pytest.skip("playwright-core cannot be had: " + why)
    folder = os.environ.get("TARN_RECORD") or str(tmp_path)
    os.makedirs(folder, exist_ok=True)
    api = box.daemon.api
    api.put("/v1/config", {"prices": {"h100": 360}})
    have_history(box)
    done = subprocess.run(["node", os.path.join(HERE, "web_day.mjs"), playwright, CHROMIUM, box.url, box.token(scope="submit"), folder],
                          capture_output=True, text=True, timeout=15 * tarn_test.PATIENCE_S,
                          env=dict(os.environ, TARN_PATIENCE=str(int(tarn_test.PATIENCE_S))))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    said = json.loads(done.stdout.splitlines()[-1])
    ends = [api.job(said[key]) for key in ("first", "second")]
    assert [job["result"] for job in ends] == ["cancelled", "cancelled"] and ends[0]["cost"] > 0
    assert len([name for name in os.listdir(folder) if name.endswith(".png")]) == said["steps"] >= 9
    assert os.path.getsize(os.path.join(folder, "trace.zip")) > 10000
