# SPDX-License-Identifier: Apache-2.0
"""A mixed workload of two teams (tools/bench/workload.py), which arrives in 160 seconds: Jobs whose pods end by themselves. Each
team has half of the GPUs as its quota, may borrow the rest, and takes its own back by preemption. Wasted is the time of pods that ran and did not
succeed. Nobody states how long a job takes.

tarn: suspended Jobs, guarantees, preemptible jobs. Kueue: suspended Jobs, a cohort with reclaimWithinCohort, and kube-scheduler filling nodes one
after the other. KAI and Volcano: Jobs that are not suspended, each with its PodGroup, queues with reclaim, and a round every 100 ms, because with
their default of a second the jobs wait longer."""
import collections
import os
import threading
import time

import kube_cluster
import workload
from kube.waiting import wait_until
from kube_cases import compare, events, kueue, tarn_on

NODES, PODS = 8, 500  # PODS: Jobs
SECONDS, LOAD = 160, 1.0
TEAMS = ("a", "b")
IGNORE_DISRUPTION = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
FILL_NODES = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: "%s", qps: 5000, burst: 10000}
leaderElection: {leaderElect: false}
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: nvidia.com/gpu, weight: 1}]}}
"""


def object_of(job, annotations=None, **keys):
    thing = kube_cluster.job(f"j{job.number}", count=job.nodes, gpus=job.gpus,
                             annotations={"kube.tarn.dev/run-for": f"{job.run:.3f}s", **(annotations or {})}, **keys)
    thing["spec"]["podFailurePolicy"] = IGNORE_DISRUPTION
    return thing


class Watcher(threading.Thread):
    """What becomes of the pods of a namespace: .pods, uid -> [number of its Job, runs since, ended at, whether it succeeded]."""

    def __init__(self, cluster, space):
        super().__init__(daemon=True)
        self.cluster, self.path, self.pods, self.is_over = cluster, f"/api/v1/namespaces/{space}/pods", {}, False
        self.version = cluster.api.get(self.path, limit=1)["metadata"]["resourceVersion"]
        self.start()

    def run(self):
        for event in events(self.cluster, self.path, self.version):
            if self.is_over:
                return
            self.see(event["type"], event["object"], time.time())

    def see(self, kind, pod, now):
        phase, name = pod["status"]["phase"], pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        seen = self.pods.setdefault(pod["metadata"]["uid"], [int(name[1:]), None, None, False])
        if phase == "Running" and seen[1] is None:
            seen[1] = now
        if seen[1] and not seen[2] and (phase in ("Succeeded", "Failed") or kind == "DELETED"):
            seen[2], seen[3] = now, phase == "Succeeded"

    def ended(self, jobs):
        """How many of the jobs."""
        ended = collections.Counter(number for number, _, _, is_right in list(self.pods.values()) if is_right)
        return sum(ended[job.number] >= job.nodes for job in jobs)

    def tell(self, jobs):
        """A gang has started when as many pods as it has have run."""
        for job in jobs:
            own = [pod for pod in self.pods.values() if pod[0] == job.number and pod[1]]
            job.start = sorted(pod[1] for pod in own)[job.nodes - 1]
            job.end = max(pod[2] for pod in own if pod[3])
            job.pieces = [(since, until, job.gpus, is_right) for _, since, until, is_right in own if until]


def play(arguments, cluster, space, repetition, objects):
    """objects: those of a job. What is reported of how they were served."""
    jobs = workload.read(arguments.pods, SECONDS, LOAD, arguments.nodes, repetition, arguments.repeat)
    watcher = Watcher(cluster, space)
    begin = time.time()
    for job in sorted(jobs, key=lambda job: job.at):
        time.sleep(max(0, begin + job.at - time.time()))
        job.submitted = time.time()
        for thing in objects(job):
            cluster.api.create(thing, space)
    compare.await_end(arguments, cluster, lambda: watcher.ended(jobs) == len(jobs), lambda: f"{watcher.ended(jobs)} of {len(jobs)} jobs ended")
    watcher.is_over = True
    watcher.tell(jobs)
    figures = workload.figures(jobs, arguments.nodes)
    del figures["mean wait of urgent jobs s"]  # none is
    return figures


def quotas_of(arguments):
    return {team: arguments.nodes * workload.GPUS // 2 for team in TEAMS}


def with_tarn(arguments, cluster, space, repetition):
    config = "queues:\n" + "".join(f"  {team}: {{guarantee: {quota}, preemptible: default}}\n" for team, quota in quotas_of(arguments).items())
    with tarn_on(cluster, config=config) as daemon:
        daemon.start()
        wait_until("the nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == arguments.nodes)
        return play(arguments, cluster, space, repetition,
                    lambda job: [object_of(job, labels={"tarn.dev/queue": job.account}, suspend=True, scheduler="tarn")])


def with_kueue(arguments, cluster, space, repetition):
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"}
    path = os.path.join(cluster.folder, "fill-nodes.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FILL_NODES % cluster.kubeconfig)
    cluster.scheduler_options = [f"--config={path}"]
    kueue.start(cluster, kueue.queues(quotas_of(arguments), space, preemption=preemption))
    return play(arguments, cluster, space, repetition, lambda job: [object_of(job, labels={"kueue.x-k8s.io/queue-name": job.account}, suspend=True)])


def with_groups(module, arguments, cluster, space, repetition):
    def objects(job):
        name = f"j{job.number}"
        return [module.group(name, job.nodes, job.account), object_of(job, **module.member(name, job.account))]

    module.prepare(cluster, quotas_of(arguments))
    module.start(cluster, period="100ms")
    return play(arguments, cluster, space, repetition, objects)


def run(arguments):
    reason = workload.missing()
    if reason:
        raise SystemExit(f"tools/bench/kube: {reason}")
    ways = compare.ways_of({"tarn": with_tarn}, with_kueue, with_groups)
    results = compare.Results(arguments, ways, lambda figures: ", ".join(f"{key} {value:.2f}" for key, value in figures.items()))
    what = f"two teams, {arguments.pods} jobs of muri trace1 on {arguments.nodes * workload.GPUS} GPUs"
    rows = []
    for metric in next(iter(results.found.values()), [{}])[0]:
        best, sign = (max, ">=") if metric == "utilisation %" else (min, "<=")
        rows.append(results.row(f"{what}: {metric}", list(ways), best, lambda figures, metric=metric: figures[metric], sign, 2))
    return rows
