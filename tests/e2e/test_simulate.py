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


HISTORY = """JobID|JobName|User|Account|Partition|QOS|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|AllocTRES|NNodes
1|big|ana|lab|gpu|normal|1000|1000|4600|3600|120|COMPLETED|billing=8,cpu=8,gres/gpu:h100=6,gres/gpu=6,mem=8G,node=1|1
2|all|ana|lab|gpu|normal|1010|4600|8200|3600|120|COMPLETED|cpu=8,gres/gpu:h100=8,gres/gpu=8,mem=8G,node=1|1
3|small|eve|uni|gpu|normal|1020|8200|8800|600|30|TIMEOUT|cpu=8,gres/gpu:h100=1,gres/gpu=1,mem=8G,node=1|1
4|small|eve|uni|gpu|normal|1020|Unknown|Unknown|0|30|CANCELLED by 7||1
5|small|eve|uni|gpu|normal|1020|8800|Unknown|60|Partition_Limit|RUNNING|gres/gpu=1|1
"""
SIDE_BY_SIDE = """
cluster: {nodes: 1, gpus: 8, model: h100}
workload: {format: sacct, file: history.txt, queues: {column: group}}
config: tarn.yaml
measure: [wait, utilization, jain, preemptions]
variants:
- {name: happened, schedule: recorded}
- {name: tarn}
"""


@pytest.fixture
def history(tmp_path):
    (tmp_path / "history.txt").write_text(HISTORY)
    (tmp_path / "tarn.yaml").write_text("slurm: {partition: gpu}\nqueues:\n  lab: {weight: 2}\n  uni: {submit: [eve]}\n")
    (tmp_path / "x.yaml").write_text(SIDE_BY_SIDE)
    return tmp_path


def simulated(folder, *words):
    return subprocess.run([TARN, "simulate", "x.yaml", *words], cwd=folder, text=True, capture_output=True, timeout=120)


def test_the_history_of_a_slurm_cluster_beside_what_tarn_would_have_done(history):
    result = json.loads(simulated(history, "--json").stdout)
    happened, tarn = (result["variants"][name]["mean"] for name in ("happened", "tarn"))
    assert (result["workload"]["jobs"], result["workload"]["left_out"]) == (3, 2)
    assert happened["wait"]["by_queue"]["uni"]["mean"] == 7180
    assert tarn["wait"]["by_queue"]["uni"]["mean"] == 0  # it fits beside the first
    assert tarn["utilization"] > happened["utilization"]
    assert "preemptions" in tarn and "preemptions" not in happened

    shown = simulated(history).stdout.splitlines()
    assert shown[0].split() == ["METRIC", "happened", "tarn"]
    assert [line for line in shown if "left out" in line] == ["x: lines without a job that ran, left out: 2"]  # once, not per variant
    assert next(line for line in shown if line.startswith("wait of uni, mean")).split()[-4:] == ["7180", "s", "0.00", "s"]
    assert simulated(history, "--report", "page.html").returncode == 0
    assert "happened" in Page(read_file(history / "page.html")).words


def test_a_history_that_does_not_fit_is_refused(history):
    done = simulated(history, "--set", "cluster.gpus=4")
    assert done.returncode == 1
    assert "recorded: jobs held 8 GPUs at once, 0 hours after the first submission, and the cluster has 4; expected" in done.stderr
    (history / "history.txt").write_text(HISTORY.replace("gpu:h100=1", "gpu:v100=1"))
    done = simulated(history)
    assert "recorded: job small ran on v100, and the cluster has h100 only; expected the cluster on which" in done.stderr
    (history / "x.yaml").write_text(SIDE_BY_SIDE.replace(", model: h100", ""))
    assert "job small ran on" not in simulated(history).stderr  # no model is stated
    (history / "x.yaml").write_text(SIDE_BY_SIDE)
    (history / "history.txt").write_text(HISTORY + HISTORY.splitlines()[1] + "\n")
    assert "history.txt:7:1: '1', expected each job once, and line 2 has it" in simulated(history).stderr
    (history / "x.yaml").write_text("cluster: {nodes: 1, gpus: 8}\nworkload: {format: generate, jobs: 5}\nschedule: recorded\n")
    assert "has no start in the file; expected a format with starts, such as sacct or swf" in simulated(history).stderr


def test_a_job_that_no_node_can_hold_is_said(tmp_path):
    line = "%d %d 10 600 %d -1 -1 %d 900 -1 1 3 1 7 1 1 -1 -1\n"
    (tmp_path / "x.swf").write_text(line % (1, 0, 40, 40) + line % (2, 5, 4, 4))
    (tmp_path / "y.yaml").write_text("cluster: {nodes: 2, gpus: 16}\nworkload: {format: swf, file: x.swf}\n")
    said = simulate(tmp_path, "y.yaml").stdout
    assert "y: 1 jobs never started, the first is 'p7': " in said, said
    run = json.loads(simulate(tmp_path, "y.yaml", "--json").stdout)["runs"][0]
    assert run["jobs"]["waiting"] == 1 and run["first_waiting"].startswith("'p7': ")
    (tmp_path / "x.swf").write_text(line % (2, 5, 4, 4))
    assert "never started" not in simulate(tmp_path, "y.yaml").stdout
    assert "left out" not in simulate(tmp_path, "y.yaml").stdout
