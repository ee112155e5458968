# SPDX-License-Identifier: Apache-2.0
"""Suspended Jobs of eight pods with a GPU each, which fill all nodes: seconds until all pods run. The Jobs exist before. Of tarn, the start of
the daemon counts, too; Kueue and kube-scheduler run already, have made their Workloads, and begin when the ClusterQueue is opened."""
import contextlib
import statistics
import time

import kube_cluster
from kube import operators
from kube.waiting import wait_until
from kube_cases import PATIENCE_S, Bindings, create_all, empty_space, spread, tarn_on

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


def objects_of_kueue(arguments, space):
    named = {"flavors": [{"name": "default", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": arguments.nodes * 8}]}],
             "coveredResources": ["nvidia.com/gpu"]}
    group = "kueue.x-k8s.io/v1beta1"
    return [{"apiVersion": group, "kind": "ResourceFlavor", "metadata": {"name": "default"}},
            {"apiVersion": group, "kind": "ClusterQueue", "metadata": {"name": "all"},
             "spec": {"namespaceSelector": {}, "stopPolicy": "Hold", "resourceGroups": [named]}},
            {"apiVersion": group, "kind": "LocalQueue", "metadata": {"name": "all", "namespace": space}, "spec": {"clusterQueue": "all"}}]


@contextlib.contextmanager
def kueue(arguments, cluster, space):
    """It and kube-scheduler run, and hold all Jobs. Its webhooks are gone afterwards."""
    operators.start(cluster, "kueue")
    wait_until("Kueue takes its objects", lambda: apply(cluster, objects_of_kueue(arguments, space)))
    cluster.launch_scheduler()
    try:
        yield
    finally:
        for name in ("kueue", "kube-scheduler"):
            cluster.kill(name)
        for kind in ("mutating", "validating"):
            cluster.api.delete(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/kueue-{kind}-webhook-configuration")


def apply(cluster, things):
    try:
        return cluster.api.apply(things)
    except kube_cluster.Refused as refused:
        if refused.status != 500:  # its webhook does not answer yet
            raise
        return None


def with_kueue(arguments, cluster, space):
    group, count = "/apis/kueue.x-k8s.io/v1beta1", arguments.pods // GANG
    with kueue(arguments, cluster, space):
        bindings = create_jobs(arguments, cluster, space, labels={"kueue.x-k8s.io/queue-name": "all"})
        wait_until("Kueue has all Workloads", lambda: len(cluster.api.get(f"{group}/namespaces/{space}/workloads")["items"]) == count, PATIENCE_S)
        begin = time.monotonic()
        cluster.api.patch(f"{group}/clusterqueues/all", {"spec": {"stopPolicy": "None"}})
        seconds = max(bindings.wait().values()) - begin
        cluster.api.delete(f"/apis/batch/v1/namespaces/{space}/jobs", propagationPolicy="Background")
        wait_until("no Workload is left", lambda: not cluster.api.get(f"{group}/namespaces/{space}/workloads")["items"], PATIENCE_S)
        return seconds


WAYS = {"tarn": with_tarn, "Kueue": with_kueue}


def run(arguments):
    reason = operators.missing("kueue")
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
