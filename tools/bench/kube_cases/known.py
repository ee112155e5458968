# SPDX-License-Identifier: Apache-2.0
"""What a large cluster costs: memory, start, processor time while nothing happens, and requests to the API server. Of ten pods on each node,
eight have a GPU each and one is not tarn's; one waits. The daemon binds them, and is started again when all run. The fake nodes renew
their leases, of which tarn sees nothing."""
import os
import time

import kube_cluster
from kube_cases import CALM, PATIENCE_S, Bindings, create_all, empty_space, tarn_on
from kube.waiting import wait_until

NODES, PODS = 5000, 50000
QUIET_S = 90  # tarn reports all of its nodes every 45 seconds
TICKS = os.sysconf("SC_CLK_TCK")


def pods_of(arguments):
    """Those of others run on their node, as those of a DaemonSet do."""
    for number in range(arguments.nodes):
        one = kube_cluster.pod(f"other-{number}", scheduler="none")
        one["spec"]["nodeName"] = f"gpu-{number:04d}"
        yield one
    for number in range(arguments.pods - arguments.nodes):
        yield kube_cluster.pod(f"p{number}", gpus=1, scheduler="tarn")


def used_s(process):
    """Processor time of a process, and of its children that have ended."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        words = file.read().rsplit(")", 1)[1].split()
    return sum(map(int, words[11:13])) / TICKS, sum(map(int, words[13:15])) / TICKS


def memory_mb(process, key="VmRSS"):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return next(int(line.split()[1]) / 1000 for line in file if line.startswith(key + ":"))


def load_percent(process, seconds):
    """Of a core: the daemon, and its children (estimates)."""
    begin, before = time.monotonic(), used_s(process)
    time.sleep(seconds)
    passed, after = time.monotonic() - begin, used_s(process)
    return tuple(100 * (new - old) / passed for new, old in zip(after, before))


def start_again(cluster, space, daemon):
    """Seconds until all is known, and until a pod that waits is bound."""
    begin = time.monotonic()
    known = daemon.words().count("the cluster is known")
    cluster.api.create(kube_cluster.pod("late", scheduler="tarn"), space)
    daemon.start()
    wait_until("the cluster is known", lambda: daemon.words().count("the cluster is known") > known, PATIENCE_S)
    seconds = time.monotonic() - begin
    wait_until("a pod is bound", lambda: cluster.api.pod("late", space)["spec"].get("nodeName"), PATIENCE_S)
    return seconds, time.monotonic() - begin


def settle(daemon):
    """Until it is as busy as it was a while ago: conditions and estimates of the waiting pods are written in the first minutes."""
    before = 1000.0
    for _ in range(20):
        now = sum(load_percent(daemon.process, 20))
        if now > 0.8 * before:
            return
        before = now


def words_of(requests):
    kinds = sorted(((count, f"{verb} {what}") for (verb, what), count in requests.items()), reverse=True)
    return ", ".join(f"{count:,} {words}" for count, words in kinds if count > 1 or words.startswith("list"))


def merged(requests):
    """Without the status of the replies."""
    return {key: sum(count for (verb, what, _), count in requests.items() if (verb, what) == key) for key in {key[:2] for key in requests}}


def measure(arguments, cluster, space, daemon):
    count = arguments.pods - 2 * arguments.nodes
    begin = time.monotonic()
    create_all(cluster, space, pods_of(arguments))
    print(f"{arguments.pods} pods were created in {time.monotonic() - begin:.0f} s", flush=True)
    bindings = Bindings(cluster, space, count, until="running")
    daemon.start()
    bindings.wait()
    print(f"{count} pods were bound at {count / (max(bindings.bound.values()) - min(bindings.bound.values())):.0f}/s", flush=True)
    requests = merged(cluster.requests("tarn"))
    daemon.terminate()
    start_s, bound_s = start_again(cluster, space, daemon)
    print(f"all is known after {start_s:.1f} s, a pod is bound after {bound_s:.1f} s", flush=True)
    settle(daemon)
    own, others = load_percent(daemon.process, arguments.seconds or QUIET_S)
    print(f"quiet: {own:.1f} % of a core, children {others:.1f} %; {memory_mb(daemon.process):.0f} MB, at most {memory_mb(daemon.process, 'VmHWM'):.0f}", flush=True)
    if arguments.hold:
        input(f"the daemon is process {daemon.process.pid}; end with the key Enter")
    return requests, count, start_s, bound_s, own, others, memory_mb(daemon.process, "VmHWM")


def run(arguments):
    with kube_cluster.running(fake=arguments.nodes, scheduler=False, users=("tarn",), **CALM) as cluster:
        with empty_space(cluster) as space, tarn_on(cluster) as daemon:
            requests, count, start_s, bound_s, own, others, memory = measure(arguments, cluster, space, daemon)
    what = f"{arguments.nodes:,} nodes with {arguments.pods:,} pods: "
    lists = sum(number for (verb, _), number in requests.items() if verb == "list")
    changes = count + arguments.nodes  # pods that were bound, and pods that wait
    writes = sum(number for (verb, about), number in requests.items() if verb in ("create", "patch", "update", "delete") and about not in ("leases", "events"))
    return [(what + "most memory in MB", f"{memory:.0f}", "<= 500", memory <= 500, ""),
            (what + "start in s, until all is known", f"{start_s:.1f}", "<= 30", start_s <= 30, f"until a new pod is bound: {bound_s:.1f}"),
            (what + "% of a core while nothing happens", f"{own:.1f}", "<= 10", own <= 10, f"estimates, in processes of their own: {others:.1f}"),
            (what + "lists at the start, in pages of 1,000", str(lists), "", None, words_of({key: number for key, number in requests.items() if key[0] == "list"})),
            (what + "writes for each change (a pod is bound, or waits), without Events", f"{writes / changes:.2f}", "<= 1", writes <= changes, words_of(requests))]
