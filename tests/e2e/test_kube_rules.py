# SPDX-License-Identifier: Apache-2.0
"""What the engine kube takes from other schedulers and queues, and how pods share or avoid GPUs and nodes; on fake nodes."""
import subprocess

import pytest

import kube_cluster
from kube_cluster import check_sound, condition, daemon, pod, space, wait_until  # noqa: F401 (fixtures)
from tarn_test import TARN

pytestmark = kube_cluster.needed(engine=True)
CONFIG = "kube: {devices: exact, schedulers: [kai-scheduler, volcano]}\nqueues: {user-queue: {}, default: {}}\n"
PORT = {"containers": [{"name": "main", "image": "x", "ports": [{"containerPort": 80, "hostPort": 80}]}]}


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=4) as cluster:
        yield cluster


def message(cluster, space, name):
    return condition(cluster.api.pod(name, space)).get("message", "")


def notes(cluster, path):
    return cluster.api.get(path)["metadata"].get("annotations", {})


def events(cluster, space, name):
    """Of a pod, in the order in which they were written: reason and words."""
    found = cluster.api.get(f"/apis/events.k8s.io/v1/namespaces/{space}/events")["items"]
    return [(one["reason"], one.get("note", "")) for one in sorted(found, key=lambda one: one.get("eventTime") or "")
            if one["regarding"]["name"] == name and one.get("reportingController") == "tarn"]


def test_events_say_what_tarn_does_with_a_pod(cluster, daemon, space):
    cluster.api.create(pod("first", scheduler="tarn", gpus=8, nodeSelector={"kubernetes.io/hostname": "gpu-0001"}), space)
    cluster.wait_pods(space, "Running", 1)
    number = daemon.api.jobs()[0]["id"]
    wait_until("its start is told", lambda: events(cluster, space, "first") == [
        ("Scheduled", f"Successfully assigned {space}/first to gpu-0001 (tarn job {number})")])
    cluster.api.create(pod("second", scheduler="tarn", gpus=8, nodeSelector={"kubernetes.io/hostname": "gpu-0001"}), space)
    wait_until("its wait is told", lambda: events(cluster, space, "second"))
    reason, words = events(cluster, space, "second")[0]
    assert reason == "FailedScheduling" and words.startswith("tarn job "), words
    subprocess.run([TARN, "cancel", str(number)], env=daemon.environment(), check=True, capture_output=True)
    cluster.wait_pods(space, "Running", 1)
    wait_until("its stop is told", lambda: ("Stopped", f"tarn stops job {number}") in events(cluster, space, "first"))
    wait_until("its start is told", lambda: [reason for reason, _ in events(cluster, space, "second")] == ["FailedScheduling", "Scheduled"])


def test_events_of_the_same_pod_are_few(cluster, daemon, space):
    """However often the reason changes."""
    cluster.api.create(pod("huge", scheduler="tarn", gpus=8, labels={"tarn.dev/gang": "a"}, annotations={"tarn.dev/gang-size": "9"}), space)
    for number in range(4):
        cluster.api.create(pod(f"p{number}", scheduler="tarn", gpus=8), space)
    cluster.wait_pods(space, "Running", 4)
    cluster.api.create(pod("late", scheduler="tarn", gpus=8, labels={"tarn.dev/queue": "none"}), space)
    wait_until("it says why", lambda: events(cluster, space, "late"))
    for number in range(3):
        cluster.api.create(pod(f"q{number}", scheduler="tarn", gpus=8), space)
        wait_until("it says why", lambda name=f"q{number}": message(cluster, space, name))
    assert len(events(cluster, space, "late")) == 1 and not events(cluster, space, "huge")


def test_autoscalers_see_only_pods_that_another_node_would_help(cluster, daemon, space):
    """They look for the reason Unschedulable, in pods without a scheduling gate."""
    def seen(name):
        found = cluster.api.pod(name, space)
        return [gate["name"] for gate in found["spec"].get("schedulingGates", [])], condition(found).get("reason")

    def gated(name, **keys):
        return pod(name, scheduler="tarn", schedulingGates=[{"name": "tarn.dev/queue"}], **keys)
    kube = {"devices": "exact", "schedulers": ["kai-scheduler", "volcano"]}
    daemon.api.put("/v1/config", {"kube": kube, "queues": {"small": {"limit": 8}}})
    for name, queue in (("s0", "small"), ("d0", "default"), ("d1", "default"), ("d2", "default")):
        cluster.api.create(pod(name, scheduler="tarn", gpus=8, labels={"tarn.dev/queue": queue}), space)
    cluster.wait_pods(space, "Running", 4)
    small = {"tarn.dev/queue": "small"}
    for waiting in (pod("limit", scheduler="tarn", gpus=8, labels=small), pod("room", scheduler="tarn", gpus=8),
                    gated("gated-limit", gpus=8, labels=small), gated("gated-room", gpus=8)):
        cluster.api.create(waiting, space)
    gates = ["tarn.dev/queue"]
    expected = {"limit": ([], "Queued"), "room": ([], "Unschedulable"), "gated-limit": (gates, "SchedulingGated"), "gated-room": (gates, "SchedulingGated")}
    wait_until("they say why", lambda: {name: seen(name) for name in expected} == expected)
    daemon.api.put("/v1/config", {"kube": dict(kube, autoscaler=True), "queues": {"small": {"limit": 8}}})
    expected["gated-room"] = ([], "Unschedulable")
    wait_until("the gate is gone", lambda: {name: seen(name) for name in expected} == expected)
    # room, and a limit that is raised
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/d0")
    wait_until("one of them runs", lambda: "Running" in [cluster.api.pod(name, space)["status"]["phase"] for name in ("room", "gated-room")])
    daemon.api.put("/v1/config", {"kube": dict(kube, autoscaler=True), "queues": {"small": {}}})
    wait_until("now they lack room", lambda: seen("limit") == ([], "Unschedulable") and seen("gated-limit") == ([], "Unschedulable"))
    # room elsewhere, which its node selector excludes
    for name in ("limit", "gated-limit", "room", "gated-room", "d1"):
        cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{name}")
    busy = cluster.api.pod("d2", space)["spec"]["nodeName"]
    cluster.api.create(pod("picky", scheduler="tarn", gpus=8, nodeSelector={"kubernetes.io/hostname": busy}), space)
    wait_until("it lacks room, too", lambda: seen("picky") == ([], "Unschedulable"))


def test_a_suspended_job_waits_without_pods_and_is_resumed(cluster, daemon, space):
    big, small = (kube_cluster.job(name, count=4, gpus=gpus, suspend=True, labels={"tarn.dev/queue": "default"}, scheduler="tarn")
                  for name, gpus in (("big", 8), ("small", 1)))
    cluster.api.create(big, space)
    cluster.wait_pods(space, "Running", 4)
    cluster.api.create(small, space)
    path = f"/apis/batch/v1/namespaces/{space}/jobs/small"
    wait_until("it says why it waits", lambda: "wanted, 0 free" in notes(cluster, path).get("tarn.dev/waits", ""))
    assert cluster.api.get(path)["spec"]["suspend"] and len(cluster.api.pods(space)) == 4
    number = next(job["id"] for job in daemon.api.jobs() if job["name"] == "big")
    subprocess.run([TARN, "cancel", str(number)], env=daemon.environment(), check=True, capture_output=True)
    cluster.explained(space, "the small one runs", lambda: not cluster.api.get(path)["spec"]["suspend"])
    stopped = f"/apis/batch/v1/namespaces/{space}/jobs/big"
    wait_until("the big one is suspended", lambda: cluster.api.get(stopped)["spec"]["suspend"])
    assert "cancelled by" in notes(cluster, stopped)["tarn.dev/stopped"]
    cluster.wait_pods(space, "Running", 4)
    assert "tarn.dev/waits" not in notes(cluster, path)


def test_a_job_that_is_cancelled_after_a_restart_is_suspended(cluster, daemon, space):
    cluster.api.create(kube_cluster.job("batch", count=2, gpus=1, scheduler="tarn"), space)
    cluster.wait_pods(space, "Running", 2)
    daemon.kill()
    daemon.start()
    wait_until("it is known again", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == 4 and daemon.api.jobs()[0]["state"] == "running")
    subprocess.run([TARN, "cancel", "1"], env=daemon.environment(), check=True, capture_output=True)
    path = f"/apis/batch/v1/namespaces/{space}/jobs/batch"
    wait_until("it is suspended", lambda: cluster.api.get(path)["spec"].get("suspend"))
    assert "cancelled by" in notes(cluster, path)["tarn.dev/stopped"]
    wait_until("no pod is left", lambda: not [one for one in cluster.api.pods(space) if kube_cluster.is_active(one)])
    assert len(daemon.api.jobs()) == 1


def test_a_waiting_pod_may_change_its_workload(cluster, daemon, space):
    cluster.api.create(pod("huge", scheduler="tarn", gpus=8, labels={"tarn.dev/gang": "a"}, annotations={"tarn.dev/gang-size": "9"}), space)
    wait_until("it waits", lambda: "waits for all pods" in message(cluster, space, "huge"))
    cluster.api.patch(f"/api/v1/namespaces/{space}/pods/huge", {"metadata": {"labels": {"tarn.dev/gang": None}}})
    cluster.wait_pods(space, "Running", 1)


def test_a_queue_of_kueue_counts_in_managed_namespaces_only(cluster, daemon, space):
    labels = {"kueue.x-k8s.io/queue-name": "user-queue"}
    cluster.api.create(kube_cluster.job("sample", count=3, suspend=True, labels=labels, scheduler="tarn"), space)
    cluster.api.create(pod("marker", scheduler="tarn", gpus=1), space)
    cluster.wait_pods(space, "Running", 1) # tarn has looked at the Job by then
    assert len(daemon.api.jobs()) == 1
    cluster.api.patch(f"/api/v1/namespaces/{space}", {"metadata": {"labels": {"tarn.dev/managed": "true"}}})
    cluster.wait_pods(space, "Running", 4)


def test_pods_of_other_schedulers_share_a_gpu(cluster, daemon, space):
    for name, notes in (("half", {"gpu-fraction": "0.5"}), ("third", {"gpu-memory": "20000"}), ("ours", {"tarn.dev/share": "0.25"})):
        cluster.api.create(pod(name, scheduler="kai-scheduler" if name != "ours" else "tarn", annotations=notes), space)
    cluster.wait_pods(space, "Running", 3)
    held = {job["name"]: job["gpus"] for job in daemon.api.jobs()}
    assert held == {"half": "0.5", "third": "mem=20000M", "ours": "0.25"}, held
    chosen = cluster.api.pod("half", space)["metadata"]["annotations"]
    assert chosen["tarn.dev/gpus"].isdigit() and chosen["tarn.dev/job"].isdigit()
    cluster.api.create(pod("both", scheduler="tarn", gpus=1, annotations={"tarn.dev/share": "0.5"}), space)
    wait_until("it is refused", lambda: message(cluster, space, "both") == "tarn cannot schedule it: it requests GPUs and a part of one")


def test_host_ports_and_replicas_keep_apart(cluster, daemon, space):
    for number in range(5):
        cluster.api.create(pod(f"port{number}", scheduler="tarn", containers=PORT["containers"]), space)
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for number in range(5):
        cluster.api.create(pod(f"web{number}", scheduler="tarn", labels={"app": "web"}, affinity=apart), space)
    cluster.wait_pods(space, "Running", 8)
    for start in ("port", "web"):
        places = [one["spec"].get("nodeName") for one in cluster.api.pods(space) if one["metadata"]["name"].startswith(start)]
        assert sorted(places, key=str).count(None) == 1 and len(set(places)) == 5, places


def test_a_host_port_of_one_address_leaves_the_others_free(cluster, daemon, space):
    for name, address in (("first", "10.0.0.1"), ("other", "10.0.0.2"), ("again", "10.0.0.1"), ("all", "")):
        ports = [{"containerPort": 80, "hostPort": 81, **({"hostIP": address} if address else {})}]
        cluster.api.create(pod(name, scheduler="tarn", containers=[{"name": "main", "image": "x", "ports": ports}],
                               nodeSelector={"kubernetes.io/hostname": "gpu-0001"}), space)
        wait_until("tarn has looked at it", lambda one=name: message(cluster, space, one) or cluster.api.pod(one, space)["spec"].get("nodeName"))
    assert {one["metadata"]["name"] for one in cluster.wait_pods(space, "Running", 2)} == {"first", "other"}
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/first", grace=0)
    cluster.explained(space, "the port is free again", lambda: cluster.api.pod("again", space)["spec"].get("nodeName"))


@pytest.fixture
def zones(cluster):
    """Two nodes in each of two zones."""
    of = {f"gpu-{number:04d}": "ab"[number // 2] for number in range(4)}
    for name, zone in of.items():
        cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"zone": zone}}})
    yield of
    for name in of:
        cluster.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"zone": None}}})


def chosen(app):
    return {"labelSelector": {"matchLabels": {"app": app}}}


def spread(app, key="zone", **more):
    return {"topologySpreadConstraints": [{"topologyKey": key, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **chosen(app), **more}]}


def affinity(kind, app, key="zone"):
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, **chosen(app)}]}}}


def deployment(name, count, **keys):
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": kube_cluster.spec(scheduler="tarn", restartPolicy="Always", **keys)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
            "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": template}}


def places(cluster, space, app, zones):
    """The zones of its pods, and None for those that wait."""
    of = [zones.get(one["spec"].get("nodeName")) for one in cluster.api.pods(space) if one["metadata"].get("labels", {}).get("app") == app and kube_cluster.is_active(one)]
    return "".join(sorted(zone or "-" for zone in of))


def test_pods_of_a_deployment_are_spread_over_zones(cluster, daemon, space, zones):
    cluster.api.create(deployment("web", 4, **spread("web")), space)
    cluster.explained(space, "two in each zone", lambda: places(cluster, space, "web", zones) == "aabb")
    path = f"/apis/apps/v1/namespaces/{space}/deployments/web"
    cluster.api.patch(path, {"spec": {"replicas": 80}})
    cluster.explained(space, "forty in each zone", lambda: places(cluster, space, "web", zones) == 40 * "a" + 40 * "b")
    jobs = daemon.api.jobs()
    assert len(jobs) == 80 and {job["state"] for job in jobs} <= {"running", "granted"}, jobs
    cluster.api.delete(path, grace=0)


def test_a_zone_that_is_full_stops_the_spread(cluster, daemon, space, zones):
    cluster.api.create(deployment("web", 6, gpus=8, **spread("web")), space)
    cluster.explained(space, "all nodes are full", lambda: places(cluster, space, "web", zones) == "--aabb")
    cluster.api.delete(f"/apis/apps/v1/namespaces/{space}/deployments/web", grace=0)
    cluster.wait_pods(space, "Running", 0)
    cluster.api.create(pod("big", scheduler="tarn", gpus=8, nodeSelector={"kubernetes.io/hostname": "gpu-0003"}), space)
    cluster.wait_pods(space, "Running", 1)
    cluster.api.create(deployment("web", 4, gpus=8, **spread("web", minDomains=3)), space)
    cluster.explained(space, "two of them wait", lambda: places(cluster, space, "web", zones) == "--ab")
    words = "topology spread of app=web over zone (maxSkew 1) excludes"
    cluster.explained(space, "it is said why", lambda: any(words in condition(one).get("message", "") for one in cluster.api.pods(space)))


def test_pods_go_to_the_zone_of_others_and_keep_away(cluster, daemon, space, zones):
    near, apart = affinity("podAffinity", "db"), affinity("podAntiAffinity", "db")
    cluster.api.create(deployment("near", 2, gpus=1, **near), space)
    wait_until("they say why", lambda: [condition(one).get("message", "") for one in cluster.api.pods(space)
                                        if "required podAffinity to app=db in zone" in condition(one).get("message", "")] != [])
    cluster.api.create(pod("db", scheduler="tarn", labels={"app": "db"}, nodeSelector={"kubernetes.io/hostname": "gpu-0002"}), space)
    cluster.explained(space, "they run beside it", lambda: places(cluster, space, "near", zones) == "bb")
    cluster.api.create(deployment("far", 3, gpus=1, **apart), space)
    cluster.explained(space, "they keep away", lambda: places(cluster, space, "far", zones) == "aaa")
    # the rule of those keeps others away, too
    for number in range(3):
        cluster.api.create(pod(f"more{number}", scheduler="tarn", gpus=1, labels={"app": "db"}), space)
    cluster.explained(space, "they run in the other zone", lambda: places(cluster, space, "db", zones) == "bbbb")
    # the first of those that keep together
    cluster.api.create(deployment("herd", 5, gpus=1, **affinity("podAffinity", "herd")), space)
    cluster.explained(space, "they are together", lambda: places(cluster, space, "herd", zones) in ("aaaaa", "bbbbb"))


def test_a_rule_that_is_newer_than_a_waiting_pod_counts(cluster, daemon, space, zones):
    for number in range(4):
        cluster.api.create(pod(f"full{number}", scheduler="tarn", gpus=8), space)
    cluster.wait_pods(space, "Running", 4)
    for number in range(2):
        cluster.api.create(pod(f"late{number}", scheduler="tarn", gpus=8, labels={"app": "late"}), space)
    wait_until("they wait", lambda: all(message(cluster, space, f"late{number}") for number in range(2)))
    cluster.api.create(pod("alone", scheduler="tarn", nodeSelector={"zone": "a"}, labels={"app": "alone"}, **affinity("podAntiAffinity", "late")), space)
    cluster.wait_pods(space, "Running", 5)
    for number in range(4):
        cluster.api.delete(f"/api/v1/namespaces/{space}/pods/full{number}", grace=0)
    cluster.explained(space, "they run in the other zone", lambda: places(cluster, space, "late", zones) == "bb")


def test_pods_that_start_together_have_rules(cluster, daemon, space, zones):
    cluster.api.create(pod("db", scheduler="tarn", labels={"app": "db"}, nodeSelector={"zone": "b"}), space)
    cluster.wait_pods(space, "Running", 1)
    for name, rules in (("near", affinity("podAffinity", "db")), ("wide", spread("wide", "kubernetes.io/hostname")),
                        ("close", affinity("podAffinity", "close", "kubernetes.io/hostname")), ("zones", spread("zones"))):
        cluster.api.create(kube_cluster.job(name, count=2, gpus=1, labels={"app": name}, scheduler="tarn", **rules), space)
    cluster.explained(space, "they run", lambda: places(cluster, space, "near", zones) == "bb" and "-" not in places(cluster, space, "wide", zones) + places(cluster, space, "close", zones))
    on = {name: {one["spec"].get("nodeName") for one in cluster.api.pods(space) if one["metadata"].get("labels", {}).get("app") == name} for name in ("wide", "close")}
    assert len(on["wide"]) == 2 and len(on["close"]) == 1, on
    words = "tarn cannot schedule it: its pods start together, and topology spread of app=zones over zone (maxSkew 1) is about themselves"
    wait_until("it is refused", lambda: all(condition(one).get("message", "").startswith(words) for one in cluster.api.pods(space) if one["metadata"].get("labels", {}).get("app") == "zones"))


def test_resources_that_tarn_does_not_know_are_counted(cluster, daemon, space):
    resources = {"limits": {"rdma/hca": "1", "nvidia.com/gpu": "1"}}
    for number in range(3):
        cluster.api.create(pod(f"rdma{number}", scheduler="tarn", containers=[{"name": "main", "image": "x", "resources": resources}]), space)
    wait_until("it says so", lambda: "the request for rdma/hca excludes" in message(cluster, space, "rdma0"))
    status = {"status": {key: {"rdma/hca": "2"} for key in ("capacity", "allocatable")}}
    cluster.api.patch("/api/v1/nodes/gpu-0001/status", status)
    cluster.wait_pods(space, "Running", 2)
    wait_until("it says so", lambda: sum("the request for rdma/hca excludes" in message(cluster, space, f"rdma{number}") for number in range(3)) >= 1)
    assert {one["spec"].get("nodeName") for one in cluster.api.pods(space)} == {"gpu-0001", None}
    running = next(one["metadata"]["name"] for one in cluster.api.pods(space) if one["spec"].get("nodeName"))
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/{running}", grace=0)
    cluster.wait_pods(space, "Running", 2)


def storage_class(name, provisioner, mode):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode}


def local_volume(name, node):
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": {
        "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local", "local": {"path": "/data"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}}


def claim(name, of_class, **more):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": of_class, "resources": {"requests": {"storage": "1Gi"}}, **more}}


def with_claim(name):
    return pod(name, scheduler="tarn", gpus=1, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": name}}])


def test_pods_run_where_their_volumes_are(cluster, daemon, space):
    things = [storage_class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer"),
              storage_class("late", "example.com/none", "WaitForFirstConsumer"), local_volume(space, "gpu-0002")]
    cluster.api.apply(things)
    try:
        cluster.api.apply([claim("bound", "local", volumeName=space), claim("waits", "local"), claim("late", "late")], space)
        for name in ("bound", "waits", "late", "absent"):
            cluster.api.create(with_claim(name), space)
        cluster.wait_pods(space, "Running", 2)
        assert cluster.api.pod("bound", space)["spec"]["nodeName"] == "gpu-0002"
        late = cluster.api.get(f"/api/v1/namespaces/{space}/persistentvolumeclaims/late")
        assert late["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == cluster.api.pod("late", space)["spec"]["nodeName"]
        wait_until("it says why", lambda: "storage class local has no provisioner" in message(cluster, space, "waits"))
        wait_until("it says why", lambda: "PersistentVolumeClaim absent does not exist" in message(cluster, space, "absent"))
        cluster.api.apply([claim("absent", "late")], space)
        cluster.wait_pods(space, "Running", 3)
    finally:
        cluster.end_namespace(space)
        cluster.api.remove(things)


def test_a_kubeconfig_that_does_not_exist_can_be_corrected(cluster, make_daemon, tmp_path):
    """In the configuration that the state directory keeps."""
    daemon = make_daemon(devices="none")
    daemon.extra["KUBECONFIG"] = ""
    daemon.options += ["--engine", "kube", "--config", str(tmp_path / "tarn.yaml")]
    (tmp_path / "tarn.yaml").write_text(f"kube: {{kubeconfig: {tmp_path}/none}}\n")
    daemon.start()
    number = daemon.api.submit({"command": ["true"], "sender_cwd": "/tmp"})
    reason = f"Kubernetes: kubeconfig: {tmp_path}/none: No such file or directory; correct it and start tarn again"
    wait_until("it says why", lambda: daemon.api.why(number)["engine"] == reason)
    del daemon.options[-2:]  # the daemon keeps the configuration
    daemon.terminate()
    daemon.start()
    (tmp_path / "better.yaml").write_text(f"kube: {{kubeconfig: {cluster.kubeconfig}}}\n")
    done = subprocess.run([TARN, "apply", "-f", str(tmp_path / "better.yaml")], env=daemon.environment(), text=True, capture_output=True)
    assert done.returncode == 0 and "kube kubeconfig: it takes effect when the daemon starts again" in done.stderr, done
    daemon.terminate()
    daemon.start()
    wait_until("it knows the nodes", lambda: len(daemon.api.get("/v1/nodes")["nodes"]) == 4)


def test_a_second_daemon_stands_by_and_takes_over(cluster, daemon, make_daemon, space):
    cluster.api.create(pod("first", scheduler="tarn", gpus=8), space)
    cluster.wait_pods(space, "Running", 1)
    second = make_daemon(devices="none")
    second.extra["KUBECONFIG"] = cluster.kubeconfig
    second.options += ["--engine", "kube"]
    second.start()
    number = second.api.submit({"command": ["true"], "sender_cwd": "/tmp"})

    def words():
        return subprocess.run([TARN, "why", str(number)], env=second.environment(), text=True, capture_output=True, timeout=60).stdout

    wait_until("it says why", lambda: "no node is known yet: Kubernetes: another daemon is in charge of the cluster" in words())
    assert "can never run" not in words()
    assert not second.api.get("/v1/nodes")["nodes"]
    daemon.terminate() # it gives up the lease
    wait_until("the second one is in charge", lambda: len(second.api.get("/v1/nodes")["nodes"]) == 4)
    for number in range(4):
        cluster.api.create(pod(f"later{number}", scheduler="tarn", gpus=8), space)
    cluster.wait_pods(space, "Running", 4)
    check_sound(cluster)
    assert cluster.api.pod("first", space)["status"]["phase"] == "Running"
