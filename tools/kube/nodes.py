# SPDX-License-Identifier: Apache-2.0
"""The nodes of a cluster for tests: fake ones, which kwok plays, and real ones, a containerd and a kubelet each."""
import concurrent.futures
import json
import pathlib
import subprocess

from . import images, programs
from .api import JSON_PATCH
from .namespaces import DNS_SERVICE
from .waiting import wait_until

STAGES = pathlib.Path(__file__).with_name("stages.yaml")
PODS = "10.88.0.0/16"
NODES_PER_RACK, NODES_PER_ZONE = 4, 16
TAINT = {"key": "kwok.x-k8s.io/node", "value": "fake", "effect": "NoSchedule"}

# The labels that NVIDIA's GPU feature discovery sets, by model.
MODELS = {
    "h100": {"product": "NVIDIA-H100-80GB-HBM3", "memory": "81559", "family": "hopper", "compute.major": "9", "compute.minor": "0"},
    "a100": {"product": "NVIDIA-A100-SXM4-80GB", "memory": "81920", "family": "ampere", "compute.major": "8", "compute.minor": "0"},
    "l40s": {"product": "NVIDIA-L40S", "memory": "46068", "family": "ada-lovelace", "compute.major": "8", "compute.minor": "9"},
}


def gpu_labels(model, count):
    labels = {f"nvidia.com/gpu.{key}": value for key, value in MODELS[model].items()}
    return dict(labels, **{"nvidia.com/gpu.present": "true", "nvidia.com/gpu.count": str(count), "nvidia.com/gpu.replicas": "1",
                           "nvidia.com/gpu.machine": "tarn-tests", "nvidia.com/mig.capable": "false" if model == "l40s" else "true",
                           "nvidia.com/mig.strategy": "single", "nvidia.com/gpu.sharing-strategy": "none",
                           "nvidia.com/cuda.driver-version.full": "570.86.15", "nvidia.com/cuda.runtime-version.full": "12.8"})


# ---- fake nodes ----

def start_kwok(cluster):
    cluster.launch("kwok", programs.path("kwok"), f"--kubeconfig={cluster.kubeconfig}", f"--config={STAGES}", "--manage-all-nodes=false",
                   "--manage-nodes-with-annotation-selector=kwok.x-k8s.io/node=fake", "--cidr=10.244.0.0/16", "--node-ip=127.0.0.1",
                   f"--node-lease-duration-seconds={4 * cluster.heartbeat_s}", "--server-address=127.0.0.1:10247")


def restart_kwok(cluster):
    """After it was killed. Until the leases of its nodes have ended, it would think that another one plays them."""
    cluster.api.delete("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases")
    start_kwok(cluster)


def fake_node(number, gpus=8, model="h100", prefix="gpu-", labels=None, capacity=None, taints=()):
    """The object of a fake node."""
    name = f"{prefix}{number:04d}"
    has = {"cpu": "192", "memory": "2Ti", "pods": "250", "ephemeral-storage": "10Ti", **({"nvidia.com/gpu": str(gpus)} if gpus else {})}
    has.update(capacity or {})
    known = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "type": "kwok",
             "topology.kubernetes.io/zone": f"zone-{number // NODES_PER_ZONE:02d}",
             "topology.tarn.dev/rack": f"rack-{number // NODES_PER_RACK:03d}", **(gpu_labels(model, gpus) if gpus else {})}
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": dict(known, **(labels or {})), "annotations": {"kwok.x-k8s.io/node": "fake"}},
            "spec": {"taints": list(taints)}, "status": {"capacity": has, "allocatable": has}}


def add_fake(cluster, count, first=0, **keys):
    """More fake nodes; keys are those of fake_node()."""
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: cluster.api.post("/api/v1/nodes", fake_node(number, **dict({"gpus": cluster.gpus}, **keys))),
                      range(first, first + count)))


# ---- real nodes ----

def containerd_settings(cluster, home):
    return f"""version = 2
root = "{home}/containerd"
state = "{home}/state"
[grpc]
  address = "{home}/containerd.sock"
[ttrpc]
  address = "{home}/containerd.sock.ttrpc"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{images.PAUSE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{cluster.folder}/cni"
"""


def kubelet_settings(cluster, home, number):
    return json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": "0.0.0.0", "port": 10250 + number,
        "readOnlyPort": 0, "healthzPort": 0, "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"}, "containerRuntimeEndpoint": f"unix://{home}/containerd.sock",
        "cgroupDriver": "cgroupfs", "cgroupRoot": f"/{cluster.group}/{number}", "failSwapOn": False, "failCgroupV1": False,
        "resolvConf": "", "clusterDNS": [DNS_SERVICE], "clusterDomain": "cluster.local", "podLogsDir": f"{home}/logs",
        "localStorageCapacityIsolation": False, "evictionHard": {"memory.available": "100Mi"}, "imageGCHighThresholdPercent": 100,
        "maxPods": 110, "syncFrequency": "10s", "nodeStatusUpdateFrequency": "4s", "nodeLeaseDurationSeconds": 12})


def pod_network(cluster):
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [
        {"type": "bridge", "bridge": "pods0", "isGateway": True, "ipMasq": False, "hairpinMode": True,
         "ipam": {"type": "host-local", "dataDir": f"{cluster.folder}/addresses", "ranges": [[{"subnet": PODS}]],
                  "routes": [{"dst": "0.0.0.0/0"}]}}]})


def make_groups(group, number):
    """The control groups of a kubelet. With version 1 there is a tree for each controller, and cpuset needs its processors
    before a process may enter."""
    top = pathlib.Path("/sys/fs/cgroup")
    trees = [top] if (top / "cgroup.controllers").exists() else [one for one in top.iterdir() if one.name != "unified"]
    for tree in trees:
        for place in (tree / group, tree / group / str(number)):
            place.mkdir(exist_ok=True)
            for name in ("cpuset.cpus", "cpuset.mems") if tree.name == "cpuset" else ():
                (place / name).write_text((tree / name).read_text())


def start_containerd(cluster, home, number):
    (home / "containerd.toml").write_text(containerd_settings(cluster, home))
    cluster.launch(f"containerd-{number}", "containerd", "--config", str(home / "containerd.toml"))
    socket = home / "containerd.sock"
    wait_until("containerd answers", lambda: not cluster.run("ctr", "--address", str(socket), "version", capture_output=True).returncode)


def import_image(cluster, number, archive):
    socket = cluster.folder / f"real-{number}" / "containerd.sock"
    cluster.run("ctr", "--address", str(socket), "--namespace", "k8s.io", "images", "import", str(archive), check=True,
                stdout=subprocess.DEVNULL)


def launch_kubelet(cluster, number):
    home = cluster.folder / f"real-{number}"
    cluster.launch(f"kubelet-{number}", programs.path("kubelet"), f"--config={home}/kubelet.json", f"--kubeconfig={cluster.kubeconfig}",
                   f"--root-dir={home}/kubelet", f"--cert-dir={home}/pki", f"--node-ip={cluster.address}",
                   f"--hostname-override=real-{number}", "--v=2")


def start_real(cluster, count):
    (cluster.folder / "cni").mkdir()
    (cluster.folder / "cni" / "10-pods.conflist").write_text(pod_network(cluster))
    start_dns(cluster)
    for number in range(count):
        home = cluster.folder / f"real-{number}"
        home.mkdir()
        make_groups(cluster.group, number)
        start_containerd(cluster, home, number)
        for archive in images.basic(cluster.folder):
            import_image(cluster, number, archive)
        (home / "kubelet.json").write_text(kubelet_settings(cluster, home, number))
        launch_kubelet(cluster, number)
    for number in range(count):
        advertise(cluster, f"real-{number}", cluster.gpus)


def start_dns(cluster):
    file = cluster.folder / "Corefile"
    file.write_text(f".:53 {{\n  bind {DNS_SERVICE}\n  errors\n  kubernetes cluster.local {{\n    kubeconfig {cluster.kubeconfig} tests\n  }}\n}}\n")
    cluster.launch("coredns", programs.path("coredns"), "-conf", str(file))


def advertise(cluster, name, gpus, model="h100"):
    """GPUs of a real node, without a driver: the kubelet counts them. Their labels, too."""
    wait_until(f"node {name} is registered", lambda: cluster.api.find(f"/api/v1/nodes/{name}"))
    words = [{"op": "add", "path": f"/status/{part}/nvidia.com~1gpu", "value": str(gpus)} for part in ("capacity", "allocatable")]
    cluster.api.patch(f"/api/v1/nodes/{name}/status", words, JSON_PATCH)
    cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"type": "real", **gpu_labels(model, gpus)}}})
