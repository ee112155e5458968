# SPDX-License-Identifier: Apache-2.0
"""Kueue with kube-scheduler, which tarn is compared with."""
import kube_cluster
from kube import operators
from kube.waiting import wait_until

GROUP = "kueue.x-k8s.io/v1beta1"
PATH = f"/apis/{GROUP}"


def missing():
    return operators.missing("kueue")


def queues(quotas, space, **keys):
    """A ClusterQueue for each name with a quota of GPUs, in one cohort, and its LocalQueue. keys: of the ClusterQueues."""
    found = [{"apiVersion": GROUP, "kind": "ResourceFlavor", "metadata": {"name": "default"}}]
    for name, quota in quotas.items():
        flavors = [{"name": "default", "resources": [{"name": kube_cluster.GPU, "nominalQuota": quota}]}]
        found += [{"apiVersion": GROUP, "kind": "ClusterQueue", "metadata": {"name": name},
                   "spec": {"cohort": "all", "namespaceSelector": {}, "resourceGroups": [{"flavors": flavors, "coveredResources": [kube_cluster.GPU]}], **keys}},
                  {"apiVersion": GROUP, "kind": "LocalQueue", "metadata": {"name": name, "namespace": space}, "spec": {"clusterQueue": name}}]
    return found


def start(cluster, objects):
    """It and kube-scheduler."""
    operators.start(cluster, "kueue")
    wait_until("Kueue takes its objects", lambda: apply(cluster, objects))
    cluster.launch_scheduler()


def apply(cluster, things):
    try:
        return cluster.api.apply(things)
    except kube_cluster.Refused as refused:
        if refused.status != 500:  # its webhook does not answer yet
            raise
        return None


def workloads(cluster, space):
    return cluster.api.get(f"{PATH}/namespaces/{space}/workloads")["items"]
