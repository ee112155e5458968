# SPDX-License-Identifier: Apache-2.0
"""Devices by ResourceClaims (DRA) with the engine kube, on a real control plane and fake nodes. The tests publish the ResourceSlices, as a driver
does; each node also has GPUs of a device plugin."""
import os
import subprocess

import pytest
import yaml

import kube_cluster
from kube_cluster import condition, daemon, job, pod, space, wait_until  # noqa: F401 (fixtures)
from kube.nodes import TAINT
from tarn_test import HERE, TARN

pytestmark = kube_cluster.needed(engine=True)
DRIVER = "gpu.example.com"
API = "/apis/resource.k8s.io/v1"
NODES, EACH = 4, 4  # devices on the first two nodes
MODEL = "LATEST-GPU-MODEL"


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(fake=NODES) as cluster:
        device_class(cluster, DRIVER, f"device.driver == '{DRIVER}'")
        for node in ("gpu-0000", "gpu-0001"):
            publish(cluster, node, [device(number) for number in range(EACH)])
        yield cluster


# ---- objects ----

def device(number, name="gpu", model=MODEL, memory="80Gi", **attributes):
    values = {"index": {"int": number}, "model": {"string": model}, "driverVersion": {"version": "1.2.3"}, **attributes}
    return {"name": f"{name}-{number}", "attributes": values, "capacity": {"memory": {"value": memory}}}


def publish(cluster, node, devices, driver=DRIVER, part=0, count=1, generation=1, **spec):
    where = spec or {"nodeName": node}
    cluster.api.apply([{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": f"{node}-{driver}-{part}"},
                        "spec": {"driver": driver, "pool": {"name": node, "generation": generation, "resourceSliceCount": count},
                                 "devices": devices, **where}}])


def withdraw(cluster, node, driver=DRIVER, part=0):
    cluster.api.delete(f"{API}/resourceslices/{node}-{driver}-{part}")


def device_class(cluster, name, *selectors, **spec):
    cluster.api.apply([{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": name},
                        "spec": {"selectors": [{"cel": {"expression": text}} for text in selectors], **spec}}])


def request(name="gpu", selectors=(), kind=DRIVER, **exactly):
    return {"name": name, "exactly": {"deviceClassName": kind, "selectors": [{"cel": {"expression": text}} for text in selectors], **exactly}}


def template(cluster, space, name, *requests, **devices):
    cluster.api.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
                        "spec": {"spec": {"devices": {"requests": list(requests), **devices}}}}, space)


def claiming(name, of, scheduler="tarn", **keys):
    return pod(name, scheduler=scheduler, resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": of}], **keys)


# ---- what there is ----

def claims(cluster, space=None):
    return cluster.api.get(f"{API}/namespaces/{space}/resourceclaims" if space else f"{API}/resourceclaims")["items"]


def results(claim):
    """(driver, pool, device) of a claim."""
    allocation = claim.get("status", {}).get("allocation") or {}
    return [(one["driver"], one["pool"], one["device"]) for one in allocation.get("devices", {}).get("results", [])]


def held(cluster):
    """All devices that claims have; none twice."""
    found = [one for claim in claims(cluster) for one in results(claim)]
    assert len(found) == len(set(found)), found
    return found


def claim_of(cluster, space, name):
    """The one claim of a pod."""
    status = cluster.api.pod(name, space)["status"]["resourceClaimStatuses"]
    return cluster.api.get(f"{API}/namespaces/{space}/resourceclaims/{status[0]['resourceClaimName']}")


def message(cluster, space, name):
    return condition(cluster.api.pod(name, space)).get("message", "")


def wait_words(cluster, space, name, words):
    cluster.explained(space, f"{name} says '{words}'", lambda: words in message(cluster, space, name))


def dra_gpus(daemon):
    return [gpu for gpu in daemon.api.get("/v1/gpus")["gpus"] if "dra" in gpu["labels"]]


def check_claims(cluster, space, names):
    """Each pod runs where its claim is allocated, and tarn counts the same devices for it."""
    held(cluster)
    for name in names:
        one, claim = cluster.api.pod(name, space), claim_of(cluster, space, name)
        assert one["spec"]["nodeName"] == results(claim)[0][1]
        assert [user["uid"] for user in claim["status"]["reservedFor"]] == [one["metadata"]["uid"]]
        gpus = [f"{place}.{pool}.{driver}" for driver, pool, place in results(claim)]
        assert one["metadata"]["annotations"]["tarn.dev/gpus"].split(",") == gpus
        assert claim["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"][0]["matchFields"][0]["values"] == [results(claim)[0][1]]


def wait_free(cluster):
    wait_until("no claim has a device", lambda: not held(cluster))


# ---- tests ----

def test_devices_of_slices_are_devices_of_their_node(cluster, daemon):
    wait_until("they are known", lambda: len(dra_gpus(daemon)) == 2 * EACH)
    first = dra_gpus(daemon)[0]
    assert (first["node"], first["memory"], first["model"]) == ("gpu-0000", 81920, "latest"), first
    assert len(daemon.api.get("/v1/gpus")["gpus"]) == NODES * 8 + 2 * EACH


def test_pods_get_exact_devices_and_give_them_back(cluster, daemon, space):
    template(cluster, space, "two", request(count=2))
    for number in range(5):
        cluster.api.create(claiming(f"p{number}", "two"), space)
    running = cluster.wait_pods(space, "Running", 4)
    check_claims(cluster, space, [one["metadata"]["name"] for one in running])
    assert len(held(cluster)) == 8
    last = next(one["metadata"]["name"] for one in cluster.api.pods(space) if one["status"]["phase"] == "Pending")
    wait_words(cluster, space, last, "tarn job ")
    ended = running[0]["metadata"]["name"]
    cluster.api.patch(f"/api/v1/namespaces/{space}/pods/{ended}", {"metadata": {"annotations": {"kube.tarn.dev/run-for": "1ms"}}})
    cluster.explained(space, "the last one runs", lambda: cluster.api.pod(last, space)["status"]["phase"] == "Running")
    check_claims(cluster, space, [last])


def test_pods_of_the_device_plugin_do_not_get_them(cluster, daemon, space):
    wait_until("they are known", lambda: len(dra_gpus(daemon)) == 2 * EACH)
    for number in range(NODES + 1):
        cluster.api.create(pod(f"p{number}", scheduler="tarn", gpus=8), space)
    cluster.wait_pods(space, "Running", NODES)
    template(cluster, space, "all", request(count=EACH))
    cluster.api.create(claiming("claiming", "all"), space)
    cluster.explained(space, "it runs", lambda: cluster.api.pod("claiming", space)["status"]["phase"] == "Running")
    assert len([one for one in cluster.api.pods(space) if one["status"]["phase"] == "Pending"]) == 1
    refused = subprocess.run([TARN, "why", str(max(one["id"] for one in daemon.api.jobs() if one["state"] == "queued"))],
                             env=daemon.environment(), capture_output=True, text=True)
    assert refused.returncode == 0, refused


def test_selectors_choose_single_devices(cluster, daemon, space):
    template(cluster, space, "third", request(selectors=[f"device.attributes['{DRIVER}'].index == 2"]))
    template(cluster, space, "large", request(selectors=[f"device.capacity['{DRIVER}'].memory.compareTo(quantity('100Gi')) > 0"]))
    for number in range(3):
        cluster.api.create(claiming(f"p{number}", "third"), space)
    cluster.api.create(claiming("large", "large"), space)
    cluster.wait_pods(space, "Running", 2)
    assert sorted(held(cluster)) == [(DRIVER, "gpu-0000", "gpu-2"), (DRIVER, "gpu-0001", "gpu-2")]
    wait_words(cluster, space, "large", f"tarn cannot schedule it: DeviceClass {DRIVER}: its claim selects no device of any node")
    waiting = next(one["metadata"]["name"] for one in cluster.api.pods(space) if one["status"]["phase"] == "Pending" and one["metadata"]["name"] != "large")
    wait_words(cluster, space, waiting, "tarn job ")
    number = next(one["id"] for one in daemon.api.jobs() if one["state"] == "queued")
    why = subprocess.run([TARN, "why", str(number)], env=daemon.environment(), capture_output=True, text=True, check=True).stdout
    assert "dra-" not in why, why


REFUSED = [
    ({"requests": [request(allocationMode="All")]}, "request gpu: allocationMode other than ExactCount is not supported"),
    ({"requests": [{"name": "gpu", "firstAvailable": [{"name": "a", "deviceClassName": DRIVER}]}]}, "request gpu: firstAvailable is not supported"),
    ({"requests": [request(selectors=["device.driver.matches('gpu[.]{1,2}')"])]}, "is outside of the part of CEL that tarn evaluates"),
    ({"requests": [request(selectors=["device.driver + 'x' == 'y'"])]}, "'+' at character 15 is outside of the part of CEL that tarn evaluates"),
    ({"requests": [request(kind="missing")]}, "DeviceClass missing does not exist"),
    ({"requests": [request("a"), request("b", selectors=["device.driver != ''"])]}, "requests with different classes, selectors or constraints"),
    ({"requests": [request(count=2)], "constraints": [{"matchAttribute": f"{DRIVER}/index"}]},
     f"a device of class {DRIVER}, all with the same {DRIVER}/index excludes gpu-0000, gpu-0001"),
]


def test_what_is_not_supported_is_said(cluster, daemon, space):
    for number, (spec, words) in enumerate(REFUSED):
        template(cluster, space, f"t{number}", *spec["requests"], **{key: value for key, value in spec.items() if key != "requests"})
        cluster.api.create(claiming(f"p{number}", f"t{number}"), space)
    for number, (_, words) in enumerate(REFUSED):
        wait_words(cluster, space, f"p{number}", words)
    assert not held(cluster)


def test_a_gang_gets_devices_together_and_a_cancel_frees_them(cluster, daemon, space):
    template(cluster, space, "two", request(count=2), constraints=[{"matchAttribute": f"{DRIVER}/model"}])
    gang = job("gang", count=4, scheduler="tarn", resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": "two"}])
    cluster.api.create(gang, space)
    running = cluster.wait_pods(space, "Running", 4)
    check_claims(cluster, space, [one["metadata"]["name"] for one in running])
    assert len(daemon.api.jobs()) == 1 and len(held(cluster)) == 8
    subprocess.run([TARN, "cancel", str(daemon.api.jobs()[0]["id"])], env=daemon.environment(), check=True, capture_output=True)
    wait_free(cluster)


def test_a_guarantee_is_reclaimed(cluster, daemon, space):
    """The claims of the evicted pod are freed before those of the other are allocated."""
    daemon.api.put("/v1/config", {"queues": {"guest": {}, "owner": {"guarantee": EACH}}})
    template(cluster, space, "all", request(count=EACH))
    for number in range(2):
        cluster.api.create(claiming(f"guest{number}", "all", labels={"tarn.dev/queue": "guest"}, annotations={"tarn.dev/preemptible": "true"}), space)
    cluster.wait_pods(space, "Running", 2)
    cluster.api.create(claiming("owner", "all", labels={"tarn.dev/queue": "owner"}), space)
    cluster.explained(space, "that of the owner runs", lambda: cluster.api.pod("owner", space)["status"]["phase"] == "Running")
    check_claims(cluster, space, ["owner"])


def test_devices_that_another_scheduler_allocated_are_occupied(cluster, daemon, space):
    template(cluster, space, "one", request())
    for number in range(3):
        cluster.api.create(claiming(f"other{number}", "one", scheduler=None, tolerations=[TAINT]), space)
    cluster.wait_pods(space, "Running", 3)
    wait_until("tarn knows it", lambda: len([gpu for gpu in dra_gpus(daemon) if gpu["occupied"]]) == 3)
    for number in range(6):
        cluster.api.create(claiming(f"ours{number}", "one"), space)
    cluster.wait_pods(space, "Running", 8)
    assert len(held(cluster)) == 8
    cluster.api.delete(f"/api/v1/namespaces/{space}/pods/other0", grace=0)
    cluster.wait_pods(space, "Running", 8)
    held(cluster)


def objects_of(example, space):
    with open(os.path.join(HERE, "kube_manifests", example + ".yaml"), encoding="utf-8") as file:
        for thing in yaml.safe_load_all(file):
            if thing["kind"] == "Namespace":
                continue
            thing["metadata"]["namespace"] = space
            if thing["kind"] == "Pod":
                thing["spec"]["schedulerName"] = "tarn"
            yield thing


@pytest.mark.parametrize("example, pods, devices", [("cel-selector", 1, 1), ("basic-shared-claim-across-pods", 2, 1),
                                                   ("basic-resourceclaim-opaque-config", 1, 2), ("basic-multiple-requests", 1, 2)])
def test_a_published_example_runs(cluster, daemon, space, example, pods, devices):
    cluster.api.apply(list(objects_of("dra-" + example, space)))
    running = cluster.wait_pods(space, "Running", pods)
    assert len({one["spec"]["nodeName"] for one in running}) == 1 and len(held(cluster)) == devices
    if "opaque" in example:
        config = claims(cluster, space)[0]["status"]["allocation"]["devices"]["config"]
        assert [(one["source"], one["requests"]) for one in config] == [("FromClaim", ["ts-gpu"]), ("FromClaim", ["sp-gpu"])]


def test_pods_of_a_gang_that_share_a_claim_are_refused(cluster, daemon, space):
    cluster.api.create({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "shared"},
                        "spec": {"devices": {"requests": [request(count=2)]}}}, space)
    cluster.api.create(job("gang", count=2, scheduler="tarn", resourceClaims=[{"name": "gpus", "resourceClaimName": "shared"}]), space)
    cluster.explained(space, "it says so", lambda: [one for one in cluster.api.pods(space) if "start together and share a ResourceClaim" in
                                                    condition(one).get("message", "")])


def test_a_daemon_that_is_killed_allocates_once(cluster, daemon, space):
    template(cluster, space, "one", request())
    for number in range(12):
        cluster.api.create(claiming(f"p{number}", "one"), space)
    wait_until("a device is allocated", lambda: held(cluster))
    daemon.kill()
    daemon.start()
    running = cluster.wait_pods(space, "Running", 8)
    check_claims(cluster, space, [one["metadata"]["name"] for one in running])
    wait_until("tarn has them", lambda: len([one for one in daemon.api.jobs() if one["state"] == "running"]) == 8)
    assert len(held(cluster)) == 8


def test_an_allocation_whose_pod_was_not_bound_is_taken_back(cluster, daemon, space):
    """As a daemon leaves it that is killed between, and whose journal is lost."""
    daemon.kill()
    template(cluster, space, "one", request())
    cluster.api.create(claiming("left", "one"), space)
    wait_until("it has a claim", lambda: cluster.api.pod("left", space)["status"].get("resourceClaimStatuses"))
    claim, uid = claim_of(cluster, space, "left"), cluster.api.pod("left", space)["metadata"]["uid"]
    path = f"{API}/namespaces/{space}/resourceclaims/{claim['metadata']['name']}"
    cluster.api.patch(path, {"metadata": {"annotations": {"tarn.dev/attempt": "ffffffff/77.1/0"}, "finalizers": ["resource.kubernetes.io/delete-protection"]}})
    on = {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-0000"]}]}]}
    cluster.api.patch(path + "/status", {"status": {
        "allocation": {"devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": "gpu-0000", "device": "gpu-3"}]}, "nodeSelector": on},
        "reservedFor": [{"resource": "pods", "name": "left", "uid": uid}]}})
    daemon.start()
    cluster.wait_pods(space, "Running", 1)
    check_claims(cluster, space, ["left"])


def test_a_pool_counts_when_it_is_complete(cluster, daemon):
    known = len(dra_gpus(daemon))
    publish(cluster, "gpu-0002", [device(0)], part=0, count=2)
    publish(cluster, "gpu-0003", [device(0)], nodeSelector={"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]})
    publish(cluster, "gpu-0003", [device(0)], driver="gpu.nvidia.com")
    publish(cluster, "gpu-0003", [device(0, "port")], driver="nic.example.com")
    wait_until("the device of another kind is known", lambda: [gpu for gpu in daemon.api.get("/v1/gpus")["gpus"] if gpu["vendor"] == "example" and gpu["node"] == "gpu-0003"])
    assert not [gpu for gpu in dra_gpus(daemon) if gpu["node"] == "gpu-0002"]
    publish(cluster, "gpu-0002", [device(1)], part=1, count=2)
    wait_until("both are known", lambda: len([gpu for gpu in dra_gpus(daemon) if gpu["node"] == "gpu-0002"]) == 2)
    assert [gpu["node"] for gpu in dra_gpus(daemon)].count("gpu-0003") == 1 and len(dra_gpus(daemon)) >= known
    for part in range(2):
        withdraw(cluster, "gpu-0002", part=part)
    for driver in (DRIVER, "gpu.nvidia.com", "nic.example.com"):
        withdraw(cluster, "gpu-0003", driver)


# ---- jobs that were submitted to tarn ----

@pytest.fixture
def own(make_daemon, cluster, space, tmp_path):
    """A daemon whose own jobs are pods of the namespace."""
    daemon = make_daemon(devices="none")
    (tmp_path / "default.yaml").write_text(yaml.safe_dump({"spec": {"containers": [{"image": "train:1"}], "tolerations": [{"operator": "Exists"}]}}))
    (tmp_path / "tarn.yaml").write_text(yaml.safe_dump({"kube": {"templates": str(tmp_path), "namespace": space, "devices": "exact"}}))
    daemon.options += ["--config", str(tmp_path / "tarn.yaml")]
    kube_cluster.start_daemon(daemon, cluster)
    wait_until("the devices are known", lambda: len(dra_gpus(daemon)) == 2 * EACH)
    yield daemon
    kube_cluster.check_sound(cluster)


def submit(daemon, folder, gpus, **keys):
    return daemon.api.submit({"command": ["train"], "gpus": str(gpus), "where": ["dra"], "sender_cwd": str(folder), **keys})


def templates(cluster, space):
    return [one["metadata"]["name"] for one in cluster.api.get(f"{API}/namespaces/{space}/resourceclaimtemplates")["items"]]


def test_a_job_of_tarn_gets_its_devices_by_a_claim(cluster, own, space, tmp_path):
    number = submit(own, tmp_path, 3, ranks=2)
    own.api.wait_state(number, "running")
    pods = cluster.wait_pods(space, "Running", 2)
    names = [one["metadata"]["name"] for one in pods]
    check_claims(cluster, space, names)
    assert sorted(one["spec"]["nodeName"] for one in pods) == ["gpu-0000", "gpu-0001"] and len(held(cluster)) == 6
    assert sorted(templates(cluster, space)) == sorted(names)
    used = [gpu["uuid"] for gpu in dra_gpus(own) if gpu["jobs"]]
    assert sorted(used) == sorted(one for pod in pods for one in pod["metadata"]["annotations"]["tarn.dev/gpus"].split(","))
    own.kill()
    own.start()
    for name in names:
        cluster.api.patch(f"/api/v1/namespaces/{space}/pods/{name}", {"metadata": {"annotations": {"kube.tarn.dev/run-for": "1ms"}}})
    assert own.api.wait_end(number)["result"] == "ok"
    wait_until("nothing of it is left", lambda: not templates(cluster, space) and not held(cluster) and not cluster.api.pods(space))


def test_jobs_of_tarn_are_allocated_once_by_a_daemon_that_is_killed(cluster, own, space, tmp_path):
    numbers = [submit(own, tmp_path, 1, name=f"j{number}") for number in range(10)]
    wait_until("a device is allocated", lambda: held(cluster))
    own.kill()
    own.start()
    running = cluster.wait_pods(space, "Running", 8)
    check_claims(cluster, space, [one["metadata"]["name"] for one in running])
    wait_until("tarn has them", lambda: [one["state"] for one in own.api.jobs()].count("running") == 8)
    for number in numbers:
        own.api.post(f"/v1/jobs/{number}/cancel")
    for number in numbers:
        assert own.api.wait_end(number)["result"] == "cancelled"
    wait_free(cluster)
    wait_until("no template is left", lambda: not templates(cluster, space))


def test_a_job_of_tarn_whose_claims_do_not_come_can_be_cancelled(cluster, own, space, tmp_path):
    """The template has a claim that nobody makes."""
    spec = {"containers": [{"image": "train:1"}], "tolerations": [{"operator": "Exists"}], "resourceClaims": [{"name": "nic", "resourceClaimName": "missing"}]}
    (tmp_path / "default.yaml").write_text(yaml.safe_dump({"spec": spec}))
    number = submit(own, tmp_path, 1)
    wait_until("it says what is missing", lambda: "ResourceClaim" in (own.api.get(f"/v1/jobs/{number}/why")["engine"] or ""))
    own.api.post(f"/v1/jobs/{number}/cancel")
    assert own.api.wait_end(number)["result"] == "cancelled"
    wait_until("nothing of it is left", lambda: not templates(cluster, space) and not cluster.api.pods(space))


def test_a_job_of_tarn_whose_devices_have_no_class_fails(cluster, own, space, tmp_path):
    publish(cluster, "gpu-0003", [device(0)], driver="gpu.odd.example.com")
    try:
        wait_until("it is known", lambda: len(dra_gpus(own)) == 2 * EACH + 1)
        number = submit(own, tmp_path, 1, where=["dra", "node=gpu-0003"])
        job = own.api.wait_end(number)
        assert job["result"] == "failed" and "no DeviceClass selects" in str(job), job
    finally:
        withdraw(cluster, "gpu-0003", "gpu.odd.example.com")
