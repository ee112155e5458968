# SPDX-License-Identifier: Apache-2.0
"""tarn simulate as people use it: the page that answers a question."""

import html.parser
import json
import os
import re
import subprocess

import pytest

import tarn_test
from tarn_test import TARN, read_file

EXPERIMENT = """
cluster: {nodes: 2, gpus: 8, model: h100, cpus: 128, memory: 1TiB}
workload: {format: generate, jobs: 200, users: 3, load: 0.95, run: {median: 20m, sigma: 1.5, max: 1d}, gpus: {1: 60, 4: 20, 8: 20}}
seeds: 1..3
measure: [wait, jct, utilization, makespan]
variants:
  - {name: fifo, policy: {order: fifo}}
  - {name: "short <first>", policy: {order: shortest}}
"""


class Page(html.parser.HTMLParser):
    """Its words, and the lines of each drawing."""

    def __init__(self, text):
        super().__init__()
        self.words, self.lines, self.open = "", [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "svg":
            self.lines.append([])
        if tag == "polyline":
            self.lines[-1].append(attributes["class"])

    def handle_data(self, data):
        self.words += data


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "x.yaml").write_text(EXPERIMENT)
    return tmp_path


def simulate(folder, *words, status=0):
    done = subprocess.run([TARN, "simulate", *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=10 * tarn_test.PATIENCE_S)
    assert done.returncode == status, (words, done.stdout, done.stderr)
    return done


def seconds_of(words):
    units = {"d": 86400, "h": 3600, "m": 60, "s": 1}
    return sum(float(number) * units[unit] for number, unit in re.findall(r"([\d.]+) ([dhms])\b", words))


def test_the_page_opens_with_the_answer(folder):
    results = json.loads(simulate(folder, "x.yaml", "--report", "x.html", "--json").stdout)
    page = Page(read_file(os.path.join(folder, "x.html")))
    answer = re.search(r"short <first> against fifo: (.*)\.\n", page.words)[1]
    assert page.words.index(answer) < page.words.index("Cluster:") < page.words.index("METRIC")
    before, after = re.search(r"p95 wait (.*?) → (.*?),", answer).groups()
    for words, name in ((before, "fifo"), (after, "short <first>")):
        true = results["variants"][name]["mean"]["wait"]["p95"]
        assert abs(seconds_of(words) - true) <= 0.11 * true + 1, (words, true)
    assert "Cluster: 2 nodes, 16 GPUs (h100). Workload: 200 jobs, generated, submitted within " in page.words
    version = subprocess.check_output([TARN, "version"], text=True).strip()
    assert "3 runs, seeds 1, 2, 3. %s." % version in page.words


def test_variants_and_seeds_share_the_axes(folder):
    simulate(folder, "x.yaml", "--report", "x.html")
    page = Page(read_file(os.path.join(folder, "x.html")))
    drawings = [lines for lines in page.lines if lines]
    assert len(drawings) >= 3 + 2 * 4  # three over time; wait and JCT of all jobs and of three sizes
    for lines in drawings:
        assert sorted(lines) == sorted(["line c0", "line c1"] + 2 * ["line faint c0", "line faint c1"])
    assert "Wait: jobs with 5-8 GPUs" in page.words and "1 h" in page.words
    # The least and the greatest of the runs stand beside the mean.
    assert re.search(r"wait, p95.*? \(.* to .*\)", page.words)


def test_without_variants_it_says_how_it_is(folder):
    (folder / "x.yaml").write_text(EXPERIMENT.split("variants:")[0])
    simulate(folder, "x.yaml", "--report", "x.html", "--set", "seeds=7")
    words = Page(read_file(os.path.join(folder, "x.html"))).words
    assert re.search(r"x: median wait .*, GPUs allocated [\d.]+ %", words) and " against " not in words
    assert "1 run, seed 7. tarn " in words and "→" not in words


def test_a_report_that_cannot_be_written_is_refused_before_the_runs(folder):
    (folder / "x.yaml").write_text(EXPERIMENT.replace("format: generate", "format: swf, file: none.swf"))
    assert "--report none/x.html: No such file" in simulate(folder, "x.yaml", "--report", "none/x.html", status=1).stderr
    assert "none.swf" in simulate(folder, "x.yaml", "--report", "y.html", status=1).stderr
    assert not (folder / "y.html").exists()


def test_a_generated_load_has_all_its_users(folder):
    results = json.loads(simulate(folder, "x.yaml", "--json", "--set", "workload.users=3", "--set", "workload.queues={column: user}").stdout)
    assert sorted(results["mean"]["wait"]["by_queue"]) == ["user00", "user01", "user02"]
