# SPDX-License-Identifier: Apache-2.0
"""The case that KAI publishes for its own scheduler: single pods fill all GPUs, and then a gang cannot start. Seconds from the creation of the
first pod until the last one is bound, and from the creation of the last pod of the gang until the condition of all its pods says why it waits."""
import statistics
import time

import kube_cluster
from kube.waiting import wait_until
from kube_cases import PATIENCE_S, Bindings, create_all, empty_space, spread, tarn_on

NODES, PODS = 500, 4000
GANG = 8


def call_gang(cluster, space):
    keys = dict(gpus=8, scheduler="tarn", labels={"tarn.dev/gang": "late"}, annotations={"tarn.dev/gang-size": str(GANG)})
    create_all(cluster, space, (kube_cluster.pod(f"late-{number}", **keys) for number in range(GANG)))
    begin = time.monotonic()

    def is_said():
        pods = [cluster.api.pod(f"late-{number}", space) for number in range(GANG)]
        return all("tarn job" in kube_cluster.condition(pod).get("message", "") for pod in pods)

    wait_until("all know why they wait", is_said, PATIENCE_S, pause=0.02)
    return time.monotonic() - begin, kube_cluster.condition(cluster.api.pod("late-0", space))["message"]


def measure(arguments, cluster, space):
    with tarn_on(cluster) as daemon:
        daemon.start()
        wait_until("the nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == arguments.nodes)
        bindings = Bindings(cluster, space, arguments.pods)
        begin = time.monotonic()
        create_all(cluster, space, (kube_cluster.pod(f"p{number}", gpus=1, scheduler="tarn") for number in range(arguments.pods)))
        created = time.monotonic() - begin
        filled = max(bindings.wait().values()) - begin
        called, words = call_gang(cluster, space)
    print(f"all were created after {created:.1f} s, bound after {filled:.1f} s; the gang knows after {called:.2f} s: {words}", flush=True)
    return filled, called


def run(arguments):
    with kube_cluster.running(fake=arguments.nodes, scheduler=False) as cluster:
        found = []
        for _ in range(arguments.repeat):
            with empty_space(cluster) as space:
                found.append(measure(arguments, cluster, space))
    filled, called = zip(*found)
    what = f"{arguments.nodes * 8:,} GPUs"
    return [(f"{what} filled by single pods, s", spread(filled, 1), "<= 40", statistics.median(filled) <= 40, "KAI, as it publishes: 398"),
            (f"{what}: a gang is called unschedulable, s", spread(called, 2), "<= 1", statistics.median(called) <= 1, "KAI, as it publishes: 249")]
