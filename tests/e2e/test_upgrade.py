# SPDX-License-Identifier: Apache-2.0
"""An upgrade of the Debian packages while jobs run and wait, and the way back.

Slow: it builds the packages of the previous version (its tag, or the commit below), and of this one."""

import json
import os
import re
import subprocess

import pytest

from fresh_root import ROOT, build_debs, need, run

PREVIOUS = "47301263"  # before there is a tag


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


@pytest.fixture(scope="module")
def previous_debs(roots):
    need("git")
    previous = git("describe", "--tags", "--abbrev=0") or PREVIOUS
    if git("cat-file", "-t", previous) is None:
        pytest.skip("the history of this clone does not reach the previous version, %s" % previous)
    source = os.path.join(roots, "previous")
    os.mkdir(source)
    run("sh", "-c", 'git -C "$1" archive "$2" | tar -x -C "$3"', "sh", ROOT, previous, source)
    changelog = os.path.join(source, "dist", "debian", "changelog")
    with open(changelog) as file:
        text = file.read()
    with open(changelog, "w") as file:  # also where its number is still that of this one
        file.write(re.sub(r"^tarn \(([0-9.]+)\)", r"tarn (\1~previous)", text, count=1))
    return build_debs(source, os.path.join(roots, "previous-debs"))


@pytest.fixture
def root(base, debs, previous_debs, request):
    root = base.copy("-" + request.node.name)
    for name, found in (("before", previous_debs), ("now", debs)):
        os.mkdir(os.path.join(root.path, "root", name))
        run("cp", found["tarn"], found["tarn-node"], os.path.join(root.path, "root", name))
    root.install("/root/before/*.deb")
    return root


JOBS = """
cd /root
show() { echo "$1 $(tarn ls --all --json)"; }
until_running() { until tarn ls | grep -q running; do sleep 0.1; done; }
export TARN_DEVICES=synthetic:h100:2
tarn submit --job-name first --gpus 2 -- sh -c 'echo began; until [ -e go ]; do sleep 0.1; done; echo ended; exit 3'
tarn submit --job-name second --gpus 1 -- sh -c 'echo second'
until_running
show before
"""

INSTALL = "apt-get -q install -y --no-install-recommends --allow-downgrades ./%s/*.deb >/dev/null 2>&1\nshow installed\n"

# The daemon is that of before until it starts again; the supervisor of the running job always.
FINISH = """
tarn down 2>/dev/null || true
tarn up 2>/dev/null
show again
touch go
tarn wait 1 2 || true
tarn logs 1
tarn run --job-name third --gpus 1 -- true
show after
tarn down 2>/dev/null
"""


def listing(said, word):
    """What `tarn ls` said at this point: name -> (state, result, exit code)."""
    line = next(line for line in said.splitlines() if line.startswith(word + " {"))
    return {job["name"]: (job["state"], job.get("result"), job.get("exit_code")) for job in json.loads(line[len(word):])["jobs"]}


def check(said):
    for word in ("before", "installed", "again"):
        jobs = listing(said, word)
        assert [jobs[name][0] for name in ("first", "second")] == ["running", "queued"], (word, said)
    after = listing(said, "after")
    assert {name: after[name][1:] for name in after} == {"first": ("failed", 3), "second": ("ok", 0), "third": ("ok", 0)}, said
    assert re.findall("^(?:began|ended)$", said, re.M) == ["began", "ended"], said  # started once, and not stopped


def test_jobs_run_and_wait_on_during_an_upgrade(root):
    check(root.run(JOBS + INSTALL % "now" + FINISH))


def test_an_older_daemon_refuses_what_it_does_not_know_and_nothing_is_lost(root):
    """The way back works only if the journal has no later kind of event; after it, the newer packages go on."""
    root.install("/root/now/*.deb")
    said = root.run(JOBS + INSTALL % "before" + "tarn down 2>/dev/null\necho older $(tarn up 2>&1 || true)\n" + INSTALL % "now" + FINISH)
    assert re.search(r"^older tarn: (started|the daemon could not be started: journal: record \d+: event: kind \d+ is not known(: a newer version of tarn wrote it; install that one again)?$)", said, re.M), said
    check(said)
