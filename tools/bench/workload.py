# SPDX-License-Identifier: Apache-2.0
"""A mixed workload from a real trace, compressed so that it can be played on one machine, and what is reported of how a system served it.

The jobs are a slice of ../shared/traces/muri/trace1.csv, another one in each repetition, from the beginning of the trace to its end: GPUs
and order of arrival are the trace's. Arrivals are compressed to so many seconds, and run times so that they need so many times the GPUs of
the cluster. Two thirds of the jobs are of account a, the others of b; one in ten is urgent. Jobs with more GPUs than a node are gangs over
whole nodes."""
import csv
import os
import random
import statistics

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRACE = os.path.join(ROOT, "..", "shared", "traces", "muri", "trace1.csv")
GPUS = 8  # of a node
RUN_MIN_S = 0.5
TAU_S = 1  # of bounded slowdown


class Job:
    def __init__(self, number, at, gpus, run, account, is_urgent):
        self.number, self.at, self.run, self.account, self.is_urgent = number, at, run, account, is_urgent
        self.nodes = max(1, gpus // GPUS)
        self.gpus = min(gpus, GPUS)  # of each node
        self.submitted = self.start = self.end = None  # start: the first one
        self.pieces = []  # (begin, end, GPUs, whether it was of use) of its members

    def width(self):
        return self.nodes * self.gpus


def missing():
    """Why there is no workload, or None."""
    return None if os.path.exists(TRACE) else "no ../shared/traces/muri beside the repository"


def read(count, seconds, load, nodes, repetition, repeat):
    """The jobs of a repetition (from 0); .at: seconds from its begin."""
    with open(TRACE, newline="", encoding="utf-8") as file:
        rows = [(float(row["submit_time"]), int(row["num_gpu"]), float(row["iterations"]) * float(row["iteration_time"]))
                for row in csv.DictReader(file)]
    rows.sort()
    first = (len(rows) - count) * repetition // max(1, repeat - 1)
    rows = rows[first:first + count]
    luck = random.Random(repetition)
    begin, length = rows[0][0], max(1, rows[-1][0] - rows[0][0])
    wanted = load * nodes * GPUS * seconds
    scale = wanted / sum(gpus * run for _, gpus, run in rows)
    for _ in range(30):  # the limits on a run time change the sum
        runs = [min(max(run * scale, RUN_MIN_S), seconds / 2) for _, _, run in rows]
        scale *= wanted / sum(row[1] * run for row, run in zip(rows, runs))
    return [Job(number, (row[0] - begin) / length * seconds, min(row[1], nodes * GPUS), run, "a" if luck.random() < 2 / 3 else "b", luck.random() < 0.1)
            for number, (row, run) in enumerate(zip(rows, runs))]


def unfairness(jobs):
    """How far from half the GPU time of an account is, in percent points, over the time in which both have jobs that wait."""
    pieces = [(*piece[:3], job.account) for job in jobs for piece in job.pieces]
    times = sorted({time for job in jobs for time in (job.submitted, job.start)} | {time for piece in pieces for time in piece[:2]})
    used = {"a": 0.0, "b": 0.0}
    for begin, end in zip(times, times[1:]):
        if {job.account for job in jobs if job.submitted <= begin < job.start} != {"a", "b"}:
            continue
        for piece_begin, piece_end, width, account in pieces:
            if piece_begin <= begin < piece_end:
                used[account] += width * (end - begin)
    total = sum(used.values())
    return abs(used["a"] / total - 0.5) * 100 if total else 0.0


def figures(jobs, nodes):
    """Of jobs that have all ended; name -> number."""
    waits = sorted(job.start - job.submitted for job in jobs)
    slowdowns = [max(1, (job.end - job.submitted) / max(job.run, TAU_S)) for job in jobs]
    length = max(job.end for job in jobs) - min(job.submitted for job in jobs)
    return {
        "mean wait s": statistics.mean(waits),
        "p99 wait s": waits[min(len(waits) - 1, int(0.99 * len(waits)))],
        "mean bounded slowdown": statistics.mean(slowdowns),
        "utilisation %": 100 * sum(job.width() * job.run for job in jobs) / (nodes * GPUS * length),
        "unfairness, points from an equal share": unfairness(jobs),
        "mean wait of urgent jobs s": statistics.mean([job.start - job.submitted for job in jobs if job.is_urgent] or [0]),
        "wasted GPU-seconds": sum((end - begin) * width for job in jobs for begin, end, width, was_of_use in job.pieces if not was_of_use),
    }


def is_better(metric, own, other):
    """Whether the median of one system is at least as good as that of the other."""
    own, other = statistics.median(own), statistics.median(other)
    return own >= other if metric == "utilisation %" else own <= other


def target(metric, other):
    return f"{'>=' if metric == 'utilisation %' else '<='} {statistics.median(other):.2f}"


def spell(values):
    return f"{statistics.median(values):.2f}" + (f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else "")
