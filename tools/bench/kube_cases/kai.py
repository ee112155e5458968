# SPDX-License-Identifier: Apache-2.0
"""KAI, which tarn is compared with: its scheduler and its binder. Its podgrouper would make a group of each pod of a Job, which is no gang, so the
groups of Jobs are made by hand, and it runs only where there are single pods. What its queue and podgroup controllers do is metrics, its
admission webhook is for parts of GPUs, and its operator starts the rest: they do not run."""
from kube import operators, programs

NAME, SCHEDULER = "KAI", "kai-scheduler"
GROUPER = "kai-podgrouper"
TOP = "top"  # only queues below another one take jobs
UNLIMITED = {"quota": -1, "limit": -1, "overQuotaWeight": 1}


def missing():
    return operators.missing(SCHEDULER, "kai-binder", GROUPER)


def queue(name, quota, parent=None):
    resources = {"cpu": UNLIMITED, "memory": UNLIMITED, "gpu": {**UNLIMITED, "quota": quota}}
    return {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name},
            "spec": {"resources": resources, **({"parentQueue": parent} if parent else {})}}


def prepare(cluster, quotas):
    """Its kinds and queues. Each queue has a quota of GPUs, may use more, and gets its own back by reclaim."""
    operators.install_crds(cluster, SCHEDULER)
    classes = operators.read_all(programs.source(SCHEDULER) / "deployments/kai-scheduler/templates/priorityclasses")
    cluster.api.apply(classes + [queue(TOP, sum(quotas.values()))] + [queue(name, quota, TOP) for name, quota in quotas.items()])


def start(cluster, has_single_pods=False, period="1s"):
    """period: between two rounds of the scheduler; the default is its own."""
    for name in ("kai-binder", *([GROUPER] if has_single_pods else [])):
        operators.launch(cluster, name)
    operators.launch(cluster, SCHEDULER, f"--schedule-period={period}")


def group(name, count, queue_name):
    return {"apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup", "metadata": {"name": name},
            "spec": {"minMember": count, "queue": queue_name, "priorityClassName": "train"}}


def single(queue_name):
    """Keys of a pod without a group."""
    return {"scheduler": SCHEDULER, "labels": {"kai.scheduler/queue": queue_name}}


def member(name, queue_name):
    """Keys of a pod or Job in a group."""
    return {**single(queue_name), "annotations": {"pod-group-name": name}}
