# SPDX-License-Identifier: Apache-2.0
"""The case that KAI publishes for its own scheduler: single pods fill all GPUs, and then a gang cannot start. Seconds from the creation of the
first pod until the last one is bound, and from the creation of the last pod of the gang until the condition of all its pods says why it waits.
KAI and Volcano make the PodGroups of the single pods themselves; that of the gang exists before its pods."""
import time

import kube_cluster
from kube.waiting import wait_until
from kube_cases import Bindings, compare, create_all, tarn_on

NODES, PODS = 500, 4000
GANG = 8


def call_gang(arguments, cluster, space, keys, words):
    """words: in what is said."""
    create_all(cluster, space, (kube_cluster.pod(f"late-{number}", gpus=8, **keys) for number in range(GANG)))
    begin = time.monotonic()

    def said():
        conditions = [kube_cluster.condition(cluster.api.pod(f"late-{number}", space)) for number in range(GANG)]
        return sum(words in f"{one.get('reason')} {one.get('message')}" for one in conditions)

    compare.await_end(arguments, cluster, lambda: said() == GANG, lambda: f"{said()} of {GANG} pods of the gang know why they wait", pause=0.02)
    seconds = time.monotonic() - begin
    print(f"# the gang knows: {kube_cluster.condition(cluster.api.pod('late-0', space))['message']}", flush=True)
    return seconds


def measure(arguments, cluster, space, single, gang, words):
    """Keys of single pods, and of those of the gang."""
    bindings = Bindings(cluster, space, arguments.pods)
    begin = time.monotonic()
    create_all(cluster, space, (kube_cluster.pod(f"p{number}", gpus=1, **single) for number in range(arguments.pods)))
    compare.await_end(arguments, cluster, lambda: not bindings.is_alive(), lambda: f"{len(bindings.bound):,} of {arguments.pods:,} pods were bound")
    filled = max(bindings.wait().values()) - begin
    return filled, call_gang(arguments, cluster, space, gang, words)


def with_tarn(arguments, cluster, space, _):
    with tarn_on(cluster) as daemon:
        daemon.start()
        wait_until("the nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == arguments.nodes)
        gang = {"scheduler": "tarn", "labels": {"tarn.dev/gang": "late"}, "annotations": {"tarn.dev/gang-size": str(GANG)}}
        return measure(arguments, cluster, space, {"scheduler": "tarn"}, gang, "tarn job")


def with_groups(module, arguments, cluster, space, _):
    module.prepare(cluster, {"all": arguments.nodes * 8})
    module.start(cluster, has_single_pods=True)
    cluster.api.create(module.group("late", GANG, "all"), space)
    return measure(arguments, cluster, space, module.single("all"), module.member("late", "all"), "Unschedulable")


def run(arguments):
    ways = compare.ways_of({"tarn": with_tarn}, with_groups=with_groups)
    results = compare.Results(arguments, ways, lambda found: f"filled after {found[0]:.1f} s, the gang knows after {found[1]:.2f} s")
    what = f"{arguments.nodes * 8:,} GPUs"
    return [results.row(f"{what} filled by single pods, s", list(ways), 40, lambda found: found[0], notes=["KAI, as it publishes: 398"]),
            results.row(f"{what}: a gang is called unschedulable, s", list(ways), 1, lambda found: found[1], digits=2, notes=["KAI, as it publishes: 249"])]
