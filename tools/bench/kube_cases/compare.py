# SPDX-License-Identifier: Apache-2.0
"""Systems that are compared. Each measurement has a cluster of its own, so that nothing that one leaves behind reaches the next. A system that
is not built is skipped; one that fails, or is not done in time, has the words of that in place of a figure, and is not measured again."""
import collections
import functools
import os
import statistics
import sys
import time
from typing import Callable, NamedTuple

import kube_cluster
from kube_cases import fresh_space, kai, kueue, spread, volcano


class Way(NamedTuple):
    measure: Callable  # arguments, cluster, namespace, repetition
    missing: Callable = lambda: None  # why it cannot be measured


def ways_of(tarn, with_kueue=None, with_groups=None):
    """The ways to measure tarn, by name, and those of the others. with_groups: for those with PodGroups; its first argument is the module."""
    others = {"Kueue and kube-scheduler": Way(with_kueue, kueue.missing)} if with_kueue else {}
    if with_groups:
        others |= {module.NAME: Way(functools.partial(with_groups, module), module.missing) for module in (kai, volcano)}
    return {name: Way(measure) for name, measure in tarn.items()} | others


def await_end(arguments, cluster, is_done, progress, pause=0.1):
    """progress: what is said if it does not end in time."""
    begin = time.monotonic()
    while not is_done():
        cluster.check_alive()
        assert time.monotonic() - begin < arguments.patience, f"did not finish in {arguments.patience} s: {progress()}"
        time.sleep(pause)


class Results:
    """What each way has found in each repetition, or why there is nothing."""

    def __init__(self, arguments, ways, tell):
        """tell: words of what a way has found."""
        self.found, self.failed, self.tell = collections.defaultdict(list), {}, tell
        for name, way in ways.items():
            reason = way.missing()
            if reason:
                self.fail(name, f"skipped: {reason}")
        for repetition in range(arguments.repeat):
            for name in [name for name in ways if name not in self.failed]:
                self.measure(arguments, name, ways[name], repetition)

    def measure(self, arguments, name, way, repetition):
        try:
            with fresh_space(arguments) as (cluster, space):
                figures = way.measure(arguments, cluster, space, repetition)
        except (AssertionError, kube_cluster.Refused, OSError, LookupError) as error:
            self.fail(name, f"{error}" or repr(error))
        else:
            self.found[name].append(figures)
            print(f"# repetition {repetition + 1}, {name}, load average {os.getloadavg()[0]:.1f}: {self.tell(figures)}", flush=True)

    def fail(self, name, words):
        """All of the words are for a person who looks into it, the first line for the table."""
        self.failed[name] = words.splitlines()[0]
        print(f"# {name}: {words}", file=sys.stderr, flush=True)

    def values(self, name, pick):
        return [] if name in self.failed else [pick(one) for one in self.found[name]]

    def row(self, what, names, goal, pick=float, sign="<=", digits=1, notes=()):
        """names: tarn's way and others. goal: a number, or what makes it of the medians of the others; without any there is none."""
        own, *others = [self.values(name, pick) for name in names]
        limits = [statistics.median(values) for values in others if values]
        limit = (goal(limits) if limits else None) if callable(goal) else goal
        words = [f"{name} {spread(values, digits)}" if values else f"{name}: {self.failed[name]}" for name, values in zip(names[1:], others)]
        is_reached = None if limit is None else bool(own) and (statistics.median(own) <= limit if sign == "<=" else statistics.median(own) >= limit)
        return (what, spread(own, digits) if own else self.failed[names[0]], "" if limit is None else f"{sign} {limit:.{digits}f}", is_reached,
                "; ".join([*words, *notes]))

