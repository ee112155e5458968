# SPDX-License-Identifier: Apache-2.0
"""The cluster that other tests use (kube_cluster.py), with Kubernetes' own scheduler: what runs on it, and that it leaves nothing."""
import os
import signal
import subprocess
import sys
import textwrap

import pytest

import kube_cluster
from kube_cluster import GPU, pod, space, wait_until  # noqa: F401 (fixtures)

pytestmark = kube_cluster.needed(real=True)


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=8, real=2) as cluster:
        yield cluster


def test_its_nodes_have_gpus_and_their_labels(cluster):
    nodes = {node["metadata"]["name"]: node for node in cluster.api.get("/api/v1/nodes")["items"]}
    assert sorted(nodes) == [f"gpu-{number:04d}" for number in range(8)] + ["real-0", "real-1"]
    for node in nodes.values():
        assert node["status"]["allocatable"][GPU] == "8"
        assert node["metadata"]["labels"]["nvidia.com/gpu.product"] == "NVIDIA-H100-80GB-HBM3"
    assert nodes["gpu-0005"]["metadata"]["labels"]["topology.tarn.dev/rack"] == "rack-001"


def test_pods_on_fake_nodes_end_as_they_say(cluster, space):
    for name, annotations in (("good", {"kube.tarn.dev/run-for": "100ms"}), ("stays", {}),
                              ("bad", {"kube.tarn.dev/run-for": "100ms", "kube.tarn.dev/exit-code": "3"})):
        cluster.api.create(pod(name, annotations=annotations, gpus=4, fake=True), space)
    assert cluster.wait_pods(space, "Succeeded", 1)[0]["metadata"]["name"] == "good"
    failed, = cluster.wait_pods(space, "Failed", 1)
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    stays, = cluster.wait_pods(space, "Running", 1)
    assert stays["metadata"]["name"] == "stays" and stays["status"]["podIP"]


def test_a_job_runs_in_real_containers_and_gives_its_output(cluster, space):
    cluster.api.create(kube_cluster.job("count", ["sh", "-c", "echo rank $JOB_COMPLETION_INDEX of 3; cat /proc/1/cmdline"],
                                        count=3, indexed=True, gpus=4, fake=False), space)
    kube_cluster.wait_complete(cluster, space, "count")
    pods = cluster.api.pods(space)
    told = sorted(cluster.api.logs(one["metadata"]["name"], space).split("\n")[0] for one in pods)
    assert told == ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"]
    assert {one["spec"]["nodeName"] for one in pods} <= {"real-0", "real-1"}


def test_pods_of_both_nodes_reach_each_other_and_the_api_by_name(cluster, space):
    """Headless service, CoreDNS, the bridge of pods, and the address of the API server inside of a pod."""
    cluster.api.apply([{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "peers"},
                        "spec": {"clusterIP": "None", "selector": {"app": "peer"}, "publishNotReadyAddresses": True}}], space)
    script = textwrap.dedent("""\
        for try in $(seq_60); do
          exec 3<>/dev/tcp/kubernetes.default.svc.cluster.local/443 && exec 4<>/dev/tcp/10.96.0.1/443 && echo reached && exit 0
          sleep 1
        done; exit 1""").replace("$(seq_60)", " ".join(map(str, range(60))))
    cluster.api.create(pod("client", ["bash", "-c", script], labels={"app": "peer"}, fake=False, subdomain="peers", hostname="client"), space)
    cluster.wait_pods(space, "Succeeded", 1)
    assert cluster.api.logs("client", space).strip().endswith("reached")


def test_the_kubelet_refuses_more_gpus_than_a_node_has(cluster, space):
    """The API server does not: only a scheduler guards them."""
    for number in range(2):
        cluster.api.create(dict(pod(f"p{number}", ["sleep", "600"], gpus=8), spec=dict(
            kube_cluster.spec(["sleep", "600"], gpus=8), schedulerName="none")), space)
        cluster.api.post(f"/api/v1/namespaces/{space}/pods/p{number}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": f"p{number}"},
            "target": {"apiVersion": "v1", "kind": "Node", "name": "real-1"}})
    failed, = cluster.wait_pods(space, "Failed", 1)
    assert failed["status"]["reason"] == f"OutOf{GPU}"


def test_the_api_server_may_be_killed(cluster, space):
    cluster.api.create(pod("before", ["sleep", "600"], fake=False), space)
    cluster.wait_pods(space, "Running", 1)
    cluster.kill("kube-apiserver")
    cluster.launch_api_server()
    cluster.api.create(pod("after", ["sleep", "600"], fake=False), space)
    running = cluster.wait_pods(space, "Running", 2)
    assert all(one["status"]["containerStatuses"][0]["restartCount"] == 0 for one in running)


SECOND = """
import sys
sys.dont_write_bytecode = True
import kube_cluster
cluster = kube_cluster.Cluster(fake=2)
cluster.start()
print(cluster.address, cluster.folder, cluster.group, flush=True)
sys.stdin.read()
"""


def test_a_second_one_runs_beside_it_and_ends_with_its_process(cluster):
    """However that ends: here, it is killed."""
    with subprocess.Popen([sys.executable, "-c", SECOND], cwd=os.path.dirname(__file__), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        address, folder, _ = process.stdout.readline().split()
        assert address != cluster.address
        inside = subprocess.run(["pgrep", "-f", "--", folder + "/"], text=True, capture_output=True).stdout.split()
        assert len(inside) >= 4
        process.send_signal(signal.SIGKILL)
    wait_until("its processes are gone", lambda: not any(os.path.exists(f"/proc/{pid}/exe") for pid in inside))
    subprocess.run(["rm", "-r", folder], check=True)
    assert len(cluster.ready_nodes()) == 10
