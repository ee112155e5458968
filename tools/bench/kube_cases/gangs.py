# SPDX-License-Identifier: Apache-2.0
"""Suspended Jobs of eight pods with a GPU each, which fill all nodes: seconds until all pods run. The Jobs exist before. Of tarn, the start of
the daemon counts, too; Kueue and kube-scheduler run already, have made their Workloads, and begin when the ClusterQueue is opened."""
import statistics
import time

import kube_cluster
from kube.waiting import wait_until
from kube_cases import PATIENCE_S, Bindings, create_all, empty_space, kueue, spread, tarn_on

NODES, PODS = 1000, 8000
GANG = 8


def create_jobs(arguments, cluster, space, **keys):
    create_all(cluster, space, (kube_cluster.job(f"j{number}", count=GANG, gpus=1, suspend=True, **keys) for number in range(arguments.pods // GANG)))
    return Bindings(cluster, space, arguments.pods, until="running")


def with_tarn(arguments, cluster, space):
    bindings = create_jobs(arguments, cluster, space, labels={"tarn.dev/queue": "default"}, scheduler="tarn")
    with tarn_on(cluster) as daemon:
        begin = time.monotonic()
        daemon.start()
        return max(bindings.wait().values()) - begin


def with_kueue(arguments, cluster, space):
    count = arguments.pods // GANG
    with kueue.running(cluster, kueue.queues({"all": arguments.nodes * 8}, space, stopPolicy="Hold")):
        bindings = create_jobs(arguments, cluster, space, labels={"kueue.x-k8s.io/queue-name": "all"})
        wait_until("Kueue has all Workloads", lambda: len(kueue.workloads(cluster, space)) == count, PATIENCE_S)
        begin = time.monotonic()
        cluster.api.patch(f"{kueue.PATH}/clusterqueues/all", {"spec": {"stopPolicy": "None"}})
        seconds = max(bindings.wait().values()) - begin
        kueue.clear(cluster, space)
        return seconds


WAYS = {"tarn": with_tarn, "Kueue": with_kueue}


def run(arguments):
    reason = kueue.missing()
    if reason:
        raise SystemExit(f"tools/bench/kube: {reason}")
    seconds = {name: [] for name in WAYS}
    with kube_cluster.running(fake=arguments.nodes, scheduler=False) as cluster:
        for _ in range(arguments.repeat):
            for name, way in WAYS.items():
                with empty_space(cluster) as space:
                    seconds[name].append(way(arguments, cluster, space))
                print(f"{name}: {seconds[name][-1]:.1f} s", flush=True)
    tarn, other = (statistics.median(seconds[name]) for name in WAYS)
    return [(f"{arguments.pods // GANG:,} gangs of {GANG} on {arguments.nodes:,} nodes, seconds until all run", spread(seconds["tarn"], 1), f"<= {other / 2:.1f}",
             tarn <= other / 2, f"Kueue and kube-scheduler {spread(seconds['Kueue'], 1)}")]
