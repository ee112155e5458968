# SPDX-License-Identifier: Apache-2.0
"""The cases of tools/bench/kube, and what they share: pods, what becomes of them, and tarn."""
import concurrent.futures
import contextlib
import http.client
import os
import statistics
import threading
import time

import kube_cluster
import tarn_test
from kube.waiting import wait_until

# Fake nodes do not seem to be lost when the machine is busy.
CALM = {"heartbeat_s": 60, "controller_options": ["--node-monitor-grace-period=600s"]}
PATIENCE_S = 1800  # for 50,000 pods on a slow machine


def create_all(cluster, space, things):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in pool.map(lambda thing: cluster.api.create(thing, space), things):
            pass


def events(cluster, path, version):
    """Of a watch, until the cluster ends. The API server ends one whose client does not keep up: another one goes on."""
    while cluster.first:
        try:
            for event in cluster.api.watch(path, version, timeoutSeconds="30"):
                version = event["object"]["metadata"]["resourceVersion"]
                yield event
        except (OSError, http.client.HTTPException, kube_cluster.Refused):
            time.sleep(0.1)


class Bindings(threading.Thread):
    """When each pod of a namespace got its node, and when it ran: .bound, .running. Until `count` pods have run, or a node."""

    def __init__(self, cluster, space, count, until="bound"):
        super().__init__(daemon=True)
        self.cluster, self.count, self.path = cluster, count, f"/api/v1/namespaces/{space}/pods"
        self.bound, self.running = {}, {}
        self.awaited = getattr(self, until)
        self.version = cluster.api.get(self.path, limit=1)["metadata"]["resourceVersion"]
        self.start()

    def run(self):
        for event in events(self.cluster, self.path, self.version):
            self.see(event["object"])
            if len(self.awaited) >= self.count:
                return

    def see(self, pod):
        name = pod["metadata"]["name"]
        if pod["spec"].get("nodeName"):
            self.bound.setdefault(name, time.monotonic())
        if pod["status"]["phase"] == "Running":
            self.running.setdefault(name, time.monotonic())

    def wait(self):
        self.join(PATIENCE_S)
        assert len(self.awaited) >= self.count, f"{len(self.awaited)} of {self.count} pods"
        return self.awaited

    def rate(self):
        times = self.wait().values()
        return (self.count - 1) / (max(times) - min(times))


@contextlib.contextmanager
def tarn_on(cluster, build_options=(), config=None):
    """A daemon that is not started yet, with credentials of its own if the cluster has some for tarn."""
    folder = tarn_test.make_folder()
    kubeconfig = cluster.kubeconfig
    if "tarn" in cluster.tokens:
        kubeconfig = os.path.join(folder, "kubeconfig")
        cluster.write_kubeconfig(kubeconfig, cluster.tokens["tarn"])
    options = ["--engine", "kube", *build_options]
    if config:
        path = os.path.join(folder, "tarn.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        options += ["--config", path]
    daemon = tarn_test.Daemon(folder, devices="none", options=options, environment={"KUBECONFIG": kubeconfig})
    try:
        yield daemon
    finally:
        daemon.stop()
        tarn_test.remove_folder(folder)


def spread(values, digits=0):
    """Median, least and most."""
    words = [f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values))]
    return words[0] if len(values) == 1 else f"{words[0]} ({words[1]} to {words[2]})"


@contextlib.contextmanager
def empty_space(cluster):
    with kube_cluster.namespace(cluster) as space:
        yield space
    wait_until("no pod is left", lambda: not cluster.api.get("/api/v1/pods", limit=1)["items"], PATIENCE_S)


@contextlib.contextmanager
def fresh_space(arguments):
    """A cluster, and a namespace in it, which end with all that is in them."""
    with kube_cluster.running(fake=arguments.nodes, scheduler=False, **CALM) as cluster:
        cluster.api.namespace("bench")
        wait_until("it has a service account", lambda: cluster.api.find("/api/v1/namespaces/bench/serviceaccounts/default"))
        yield cluster, "bench"
