# SPDX-License-Identifier: Apache-2.0
"""Pods bound per second: by tarn, by kube-scheduler, and by a client that only binds (kube_bind.c), which is what the API server can do.
One after the other on the same cluster, so often as --repeat says. All pods exist before the scheduler starts, and each has a node's
place: pods of one GPU, nodes of eight. The rate is that between the first and the last binding, as a watch sees them."""
import os
import statistics
import subprocess

import kube_cluster
from kube_cases import Bindings, create_all, empty_space, spread, tarn_on

NODES, PODS = 250, 2000
CONNECTIONS = 32


def with_tarn(arguments, cluster, space):
    bindings = Bindings(cluster, space, arguments.pods)
    with tarn_on(cluster) as daemon:
        daemon.start()
        rate = bindings.rate()
        kube_cluster.check_sound(cluster)
        return rate


def with_kube_scheduler(arguments, cluster, space):
    bindings = Bindings(cluster, space, arguments.pods)
    cluster.launch_scheduler()
    try:
        return bindings.rate()
    finally:
        cluster.kill("kube-scheduler")


def with_client(arguments, cluster, space):
    lines = "".join(f"{space} p{number} gpu-{number % arguments.nodes:04d}\n" for number in range(arguments.pods))
    bindings = Bindings(cluster, space, arguments.pods)
    program = os.path.join(arguments.build, "tools", "bench", "kube_bind")
    subprocess.run([program, cluster.url, cluster.authority, cluster.token, str(CONNECTIONS)], input=lines, text=True, capture_output=True, check=True)
    return bindings.rate()


WAYS = {"tarn": ("tarn", with_tarn), "kube-scheduler": ("default-scheduler", with_kube_scheduler), "only binding": ("none", with_client)}


def measure(arguments, cluster):
    rates = {name: [] for name in WAYS}
    for _ in range(arguments.repeat):
        for name, (scheduler, way) in WAYS.items():
            with empty_space(cluster) as space:
                create_all(cluster, space, (kube_cluster.pod(f"p{number}", gpus=1, scheduler=scheduler) for number in range(arguments.pods)))
                rates[name].append(way(arguments, cluster, space))
            print(f"{name}: {rates[name][-1]:.0f}/s", flush=True)
    return rates


def run(arguments):
    """Rows: what, tarn, target, whether it is reached, others."""
    if arguments.pods > arguments.nodes * 8:
        raise SystemExit(f"tools/bench/kube: --pods {arguments.pods}: expected at most {arguments.nodes * 8}, eight for each node")
    if not os.path.exists(os.path.join(arguments.build, "tools", "bench", "kube_bind")):
        raise SystemExit(f"tools/bench/kube: kube_bind is not built: ninja -C {arguments.build} tools/bench/kube_bind")
    with kube_cluster.running(fake=arguments.nodes, scheduler=False) as cluster:
        rates = measure(arguments, cluster)
    tarn, scheduler, bare = (statistics.median(rates[name]) for name in WAYS)
    what = f"{arguments.pods:,} pods on {arguments.nodes:,} nodes, pods bound per second"
    return [(what, spread(rates["tarn"]), f">= {2 * scheduler:.0f}", tarn >= 2 * scheduler, f"kube-scheduler {spread(rates['kube-scheduler'])}"),
            (what, spread(rates["tarn"]), f">= {0.9 * bare:.0f}", tarn >= 0.9 * bare, f"only binding {spread(rates['only binding'])}")]
