# SPDX-License-Identifier: Apache-2.0
"""A mixed workload of two teams (tools/bench/workload.py), which arrives in 160 seconds: suspended Jobs whose pods end by
themselves. Each team has half of the GPUs as its quota, may borrow the rest, and takes its own back by preemption: tarn with guarantees and
preemptible jobs; Kueue with a cohort and reclaimWithinCohort, and kube-scheduler filling nodes one after the other. Wasted is the time of
pods that ran and did not succeed. Nobody states how long a job takes."""
import collections
import os
import threading
import time

import kube_cluster
import workload
from kube.waiting import wait_until
from kube_cases import PATIENCE_S, empty_space, kueue, tarn_on

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


def object_of(job, labels, scheduler):
    thing = kube_cluster.job(f"j{job.number}", count=job.nodes, gpus=job.gpus, suspend=True, labels=labels, scheduler=scheduler,
                             annotations={"kube.tarn.dev/run-for": f"{job.run:.3f}s"})
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
        while not self.is_over:
            for event in self.cluster.api.watch(self.path, self.version, timeoutSeconds="30"):
                self.version = event["object"]["metadata"]["resourceVersion"]
                self.see(event["type"], event["object"], time.time())

    def see(self, kind, pod, now):
        phase, name = pod["status"]["phase"], pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        seen = self.pods.setdefault(pod["metadata"]["uid"], [int(name[1:]), None, None, False])
        if phase == "Running" and seen[1] is None:
            seen[1] = now
        if seen[1] and not seen[2] and (phase in ("Succeeded", "Failed") or kind == "DELETED"):
            seen[2], seen[3] = now, phase == "Succeeded"

    def is_done(self, jobs):
        ended = collections.Counter(number for number, _, _, is_right in list(self.pods.values()) if is_right)
        return all(ended[job.number] >= job.nodes for job in jobs)

    def tell(self, jobs):
        """A gang has started when as many pods as it has have run."""
        for job in jobs:
            own = [pod for pod in self.pods.values() if pod[0] == job.number and pod[1]]
            job.start = sorted(pod[1] for pod in own)[job.nodes - 1]
            job.end = max(pod[2] for pod in own if pod[3])
            job.pieces = [(since, until, job.gpus, is_right) for _, since, until, is_right in own if until]


def play(cluster, space, jobs, labels, scheduler=None):
    watcher = Watcher(cluster, space)
    begin = time.time()
    for job in sorted(jobs, key=lambda job: job.at):
        time.sleep(max(0, begin + job.at - time.time()))
        job.submitted = time.time()
        cluster.api.create(object_of(job, labels(job), scheduler), space)
    wait_until("all jobs have ended", lambda: watcher.is_done(jobs), 8 * SECONDS + PATIENCE_S)
    watcher.is_over = True
    watcher.tell(jobs)


def with_tarn(arguments, cluster, space, jobs):
    half = arguments.nodes * workload.GPUS // 2
    config = "queues:\n" + "".join(f"  {team}: {{guarantee: {half}, preemptible: default}}\n" for team in TEAMS)
    with tarn_on(cluster, config=config) as daemon:
        daemon.start()
        wait_until("the nodes are known", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == arguments.nodes)
        play(cluster, space, jobs, lambda job: {"tarn.dev/queue": job.account}, "tarn")


def with_kueue(arguments, cluster, space, jobs):
    half = arguments.nodes * workload.GPUS // 2
    preemption = {"reclaimWithinCohort": "Any", "withinClusterQueue": "Never"}
    path = os.path.join(cluster.folder, "fill-nodes.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(FILL_NODES % cluster.kubeconfig)
    cluster.scheduler_options = [f"--config={path}"]
    with kueue.running(cluster, kueue.queues({team: half for team in TEAMS}, space, preemption=preemption)):
        play(cluster, space, jobs, lambda job: {"kueue.x-k8s.io/queue-name": job.account})
        kueue.clear(cluster, space)


WAYS = {"tarn": with_tarn, "Kueue": with_kueue}


def run(arguments):
    reason = kueue.missing() or workload.missing()
    if reason:
        raise SystemExit(f"tools/bench/kube: {reason}")
    found = {name: [] for name in WAYS}
    with kube_cluster.running(fake=arguments.nodes, scheduler=False) as cluster:
        for repetition in range(arguments.repeat):
            for name, way in WAYS.items():
                jobs = workload.read(arguments.pods, SECONDS, LOAD, arguments.nodes, repetition, arguments.repeat)
                with empty_space(cluster) as space:
                    way(arguments, cluster, space, jobs)
                figures = workload.figures(jobs, arguments.nodes)
                del figures["mean wait of urgent jobs s"]  # none is
                found[name].append(figures)
                print(f"# repetition {repetition + 1}, {name}, load average {os.getloadavg()[0]:.1f}: "
                      + ", ".join(f"{key} {value:.2f}" for key, value in figures.items()), flush=True)
    rows = []
    for metric in found["tarn"][0]:
        own, other = ([one[metric] for one in found[name]] for name in WAYS)
        rows.append((f"two teams, {arguments.pods} jobs of muri trace1 on {arguments.nodes * workload.GPUS} GPUs: {metric}", workload.spell(own),
                     workload.target(metric, other), workload.is_better(metric, own, other), f"Kueue and kube-scheduler {workload.spell(other)}"))
    return rows
