# SPDX-License-Identifier: Apache-2.0
"""Jobs of eight pods with a GPU each, which fill all nodes: seconds until all pods run. The Jobs exist before.

Suspended Jobs have no pods yet. Of tarn, the start of the daemon counts, too; Kueue and kube-scheduler run already, have made their Workloads, and
begin when the ClusterQueue is opened. KAI and Volcano do not know suspended Jobs: all pods exist before, and their PodGroups, and the time
begins with the start of the scheduler. It is compared with that of tarn for Jobs whose pods exist before."""
import collections
import time

import kube_cluster
from kube.waiting import wait_until
from kube_cases import PATIENCE_S, Bindings, compare, create_all, kueue, tarn_on

NODES, PODS = 1000, 8000
GANG = 8


def create_jobs(arguments, cluster, space, keys, suspend):
    """keys: of the Job with this name. The watch on their pods, which exist if the Jobs are not suspended."""
    names = [f"j{number}" for number in range(arguments.pods // GANG)]
    create_all(cluster, space, (kube_cluster.job(name, count=GANG, gpus=1, suspend=suspend, **keys(name)) for name in names))
    if not suspend:
        cluster.wait_pods(space, "Pending", len(names) * GANG, PATIENCE_S)
    return Bindings(cluster, space, len(names) * GANG, until="running")


def finish(arguments, cluster, bindings, begin):
    """Seconds until the last pod runs."""
    def progress():
        ran = collections.Counter(name.split("-")[0] for name in list(bindings.running))
        return f"{sum(count == GANG for count in ran.values())} of {arguments.pods // GANG:,} gangs ran"

    compare.await_end(arguments, cluster, lambda: not bindings.is_alive(), progress)
    return max(bindings.wait().values()) - begin


def with_tarn(arguments, cluster, space, _, suspend=True):
    bindings = create_jobs(arguments, cluster, space, lambda _: {"labels": {"tarn.dev/queue": "default"}, "scheduler": "tarn"}, suspend)
    with tarn_on(cluster) as daemon:
        begin = time.monotonic()
        daemon.start()
        return finish(arguments, cluster, bindings, begin)


def with_tarn_and_pods(*given):
    return with_tarn(*given, suspend=False)


def with_kueue(arguments, cluster, space, _):
    kueue.start(cluster, kueue.queues({"all": arguments.nodes * 8}, space, stopPolicy="Hold"))
    bindings = create_jobs(arguments, cluster, space, lambda _: {"labels": {"kueue.x-k8s.io/queue-name": "all"}}, suspend=True)
    wait_until("Kueue has all Workloads", lambda: len(kueue.workloads(cluster, space)) == arguments.pods // GANG, PATIENCE_S)
    begin = time.monotonic()
    cluster.api.patch(f"{kueue.PATH}/clusterqueues/all", {"spec": {"stopPolicy": "None"}})
    return finish(arguments, cluster, bindings, begin)


def with_groups(module, arguments, cluster, space, _):
    module.prepare(cluster, {"all": arguments.nodes * 8})
    create_all(cluster, space, (module.group(f"j{number}", GANG, "all") for number in range(arguments.pods // GANG)))
    bindings = create_jobs(arguments, cluster, space, lambda name: module.member(name, "all"), suspend=False)
    begin = time.monotonic()
    module.start(cluster)
    return finish(arguments, cluster, bindings, begin)


def run(arguments):
    """Rows: what, tarn, target, whether it is reached, others."""
    ways = compare.ways_of({"tarn": with_tarn, "tarn, pods exist": with_tarn_and_pods}, with_kueue, with_groups)
    results = compare.Results(arguments, ways, lambda seconds: f"{seconds:.1f} s")
    suspended, existing, with_workloads, *grouped = ways
    what = f"{arguments.pods // GANG:,} gangs of {GANG} on {arguments.nodes:,} nodes, seconds until all run"
    return [results.row(f"{what}: suspended Jobs", [suspended, with_workloads], lambda others: min(others) / 2),
            results.row(f"{what}: Jobs whose pods exist", [existing, *grouped], lambda others: min(others) / 2)]
