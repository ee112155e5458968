# SPDX-License-Identifier: Apache-2.0
"""Volcano, which tarn is compared with: its scheduler with the plugins gang, capacity and binpack, and reclaim also of pods of gangs. Its controllers
would make a group of one pod for a Job, which is no gang, so the groups of Jobs are made by hand, and the controllers run only where there
are single pods. Without the action enqueue, all groups are considered at once."""
from kube import operators
import kube_cluster

NAME, SCHEDULER = "Volcano", "volcano-scheduler"
CONTROLLERS = "volcano-controllers"
GROUP = "scheduling.volcano.sh/v1beta1"


def missing():
    return operators.missing(SCHEDULER, CONTROLLERS)


def prepare(cluster, quotas):
    """Its kinds and queues. Each queue deserves so many GPUs, may use more, and gets its own back by reclaim."""
    operators.install_crds(cluster, SCHEDULER)
    cluster.api.apply([{"apiVersion": GROUP, "kind": "Queue", "metadata": {"name": name},
                        "spec": {"weight": 1, "reclaimable": True, "deserved": {kube_cluster.GPU: str(quota)}}} for name, quota in quotas.items()])


def start(cluster, has_single_pods=False, period="1s"):
    """period: between two rounds of the scheduler; the default is its own."""
    if has_single_pods:
        operators.launch(cluster, CONTROLLERS)
    operators.launch(cluster, SCHEDULER, f"--schedule-period={period}")


def group(name, count, queue_name):
    return {"apiVersion": GROUP, "kind": "PodGroup", "metadata": {"name": name}, "spec": {"minMember": count, "queue": queue_name}}


def single(queue_name):
    """Keys of a pod without a group."""
    return {"scheduler": "volcano", "annotations": {"scheduling.volcano.sh/queue-name": queue_name}}


def member(name, _):
    """Keys of a pod or Job in a group."""
    return {"scheduler": "volcano", "annotations": {"scheduling.k8s.io/group-name": name}}
