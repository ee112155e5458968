# SPDX-License-Identifier: Apache-2.0
"""Devices that are not NVIDIA's, several makers' in one machine, and recordings: listed, read, handed out, replayed.

The machines are the trees of files in tests/device/trees, put below $TARN_DEVICE_ROOT.
"""

import json
import os
import shutil
import subprocess

import pytest

from tarn_test import BUILD, HERE, TARN, Refused, wait_until

STUB = os.path.join(BUILD, "tests", "device", "nvml", "libnvidia-ml.so.1")
TREES = os.path.join(HERE, "..", "device", "trees")
H100 = 'driver 550.54\ngpu 0 name "NVIDIA H100 80GB HBM3" uuid GPU-0 pci 00000000:17:00.0 memory 81559 minor 0\n'


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(content)


def make_tree(root, name):
    """tests/device/tree.h has the format."""
    root, folder = str(root), ""
    with open(os.path.join(TREES, name + ".tree")) as file:
        lines = file.read().splitlines()
    for line in lines:
        if line.startswith("["):
            folder = root + line[1:line.index("]")]
        elif line.startswith("=> "):
            os.makedirs(os.path.dirname(folder), exist_ok=True)
            os.symlink(line[3:], folder)
            os.makedirs(os.path.normpath(os.path.join(os.path.dirname(folder), line[3:])), exist_ok=True)
        elif " = " in line and not line.startswith("#"):
            name, content = line.split(" = ", 1)
            put(os.path.join(folder, name), content.replace("\\n", "\n").replace("\\t", "\t"))
        elif " -> " in line and not line.startswith("#"):
            name, target = line.split(" -> ", 1)
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            os.symlink(target, os.path.join(folder, name))


@pytest.fixture
def make_machine(make_daemon, tmp_path):
    """A daemon on a machine of these trees."""
    def make(*trees, devices="auto", environment=None):
        for tree in trees:
            make_tree(tmp_path, tree)
        errors = tmp_path / "sys/bus/pci/devices/0000:05:00.0/ras/gfx_err_count"
        if errors.exists():
            errors.write_text("ue: 0\nce: 5\n")  # with one that could not be corrected it is allocated to no job
        daemon = make_daemon(devices=devices, environment=dict(
            {"TARN_DEVICE_ROOT": str(tmp_path), "TARN_NVML_LIBRARY": "/nowhere/libnvidia-ml.so.1"}, **environment or {}))
        daemon.start()
        return daemon
    return make


def gpus(daemon):
    return daemon.api.get("/v1/gpus")["gpus"]


def seen_by(daemon, **keys):
    """The variables about devices in a job's environment."""
    job = daemon.api.submit(command=["sh", "-c", "env"], **keys)
    assert daemon.api.wait_end(job)["result"] == "ok"
    lines = dict(line.split("=", 1) for line in daemon.api.output(job).splitlines() if "=" in line)
    return {name: lines[name] for name in ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                           "ZE_AFFINITY_MASK", "TARN_GPUS") if name in lines}


def run(daemon, *words, cwd="/"):
    done = subprocess.run([TARN, *words], env=dict(daemon.environment(), TARN_SOCKET=daemon.socket), cwd=cwd, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_amd_devices_are_read_and_handed_out(make_machine):
    daemon = make_machine("mi300x")
    assert daemon.api.get("/v1/daemon")["devices"] == "amd"
    first = wait_until("it was read", lambda: (lambda g: g if g["reading"] else None)(gpus(daemon)[0]))
    assert (first["model"], first["vendor"], first["synthetic"]) == ("mi300x", "amd", False)
    assert first["reading"]["power"] == 612 and first["reading"]["gpu_use"] == 1
    assert [p["pid"] for p in first["processes"]] == [4242] and first["processes"][0]["use"] == 0.5
    assert daemon.api.get("/v1/topology")["gpus"][0]["links"] == ["X", "NV1", "NV1"]
    names = {gpu["index"]: "GPU-" + gpu["uuid"][4:] for gpu in gpus(daemon)}
    seen = seen_by(daemon, gpus="mi300x:2")
    assert seen["ROCR_VISIBLE_DEVICES"].split(",") == [names[int(i)] for i in seen["TARN_GPUS"].split(",")]
    assert "CUDA_VISIBLE_DEVICES" not in seen, "AMD's libraries look at it too"
    assert seen_by(daemon) == {"ROCR_VISIBLE_DEVICES": "", "TARN_GPUS": ""}


def test_a_machine_of_three_makers_is_one_machine(make_machine, tmp_path):
    script = tmp_path / "driver.txt"
    script.write_text(H100)
    daemon = make_machine("rx7900", "pvc-xe", environment={"TARN_NVML_LIBRARY": STUB, "TARN_NVML_SCRIPT": str(script)})
    assert daemon.api.get("/v1/daemon")["devices"] == "nvml+amd+intel"
    assert [(gpu["index"], gpu["model"]) for gpu in gpus(daemon)] == [
        (0, "h100"), (1, "rx7900xtx"), (2, "max1550"), (3, "max1550")]
    wait_until("all were read", lambda: all(gpu["reading"] for gpu in gpus(daemon)))
    for pid in os.listdir(tmp_path / "proc"):  # programs of others that use them
        shutil.rmtree(tmp_path / "proc" / pid)
    wait_until("they are gone", lambda: not any(gpu["foreign_memory"] for gpu in gpus(daemon)))
    none = {"CUDA_VISIBLE_DEVICES": "", "ROCR_VISIBLE_DEVICES": "", "ZE_AFFINITY_MASK": ""}
    assert seen_by(daemon) == dict(none, TARN_GPUS="")
    assert seen_by(daemon, gpus="h100:1") == dict(none, CUDA_VISIBLE_DEVICES="GPU-0", TARN_GPUS="0")
    assert seen_by(daemon, gpus="rx7900xtx:1") == dict(none, ROCR_VISIBLE_DEVICES="0", TARN_GPUS="1")
    assert seen_by(daemon, gpus="max1550:2") == dict(none, ZE_AFFINITY_MASK="0,1", TARN_GPUS="2,3")
    assert seen_by(daemon, gpus="h100:1", env={"HIP_VISIBLE_DEVICES": "5", "ZE_AFFINITY_MASK": "7"}) == dict(
        none, CUDA_VISIBLE_DEVICES="GPU-0", TARN_GPUS="0", HIP_VISIBLE_DEVICES="5", ZE_AFFINITY_MASK="7")


def test_made_up_ones_stand_in_only_where_there_is_nothing(make_machine):
    daemon = make_machine()
    assert daemon.api.get("/v1/daemon")["devices"] == "synthetic:h100:4"
    assert seen_by(daemon)["CUDA_VISIBLE_DEVICES"] == ""


@pytest.mark.parametrize("devices", ["amd", "intel"])
def test_a_maker_that_is_asked_for_must_be_there(make_daemon, tmp_path, devices):
    daemon = make_daemon(devices=devices, environment={"TARN_DEVICE_ROOT": str(tmp_path)})
    process, words = daemon.try_start()
    assert words == "devices %s: there is none in %s/sys/bus/pci/devices" % (devices, tmp_path)


def listing(daemon, *others):
    """What a recording keeps: all that a device is and says, but for what says that it is recorded."""
    kept = ["index", "uuid", "model", "vendor", "memory", "numa", "address", "mig", "sick", "reading"]
    return [{key: gpu[key] for key in kept} for gpu in gpus(daemon)]


def test_a_recording_is_the_same_machine(make_machine, make_daemon, tmp_path):
    daemon = make_machine("mi300x", "arc-a770")
    wait_until("all were read", lambda: all(gpu["reading"] and "power" in gpu["reading"]
                                            for gpu in gpus(daemon) if gpu["index"] in (0, 3)))
    was, topology = listing(daemon), daemon.api.get("/v1/topology")["gpus"]
    path = tmp_path / "machine.json"
    run(daemon, "gpus", "--record", str(path))
    document = json.loads(path.read_text())
    assert document["tarn_recording"] == 1
    assert "4242" not in path.read_text() and "jobs" not in document["gpus"][0], "a recording does not name their users"
    daemon.terminate()

    second = make_daemon(devices="recorded:%s" % path)
    second.start()
    wait_until("all were read", lambda: all(gpu["reading"] for gpu in gpus(second)))
    for now, then in zip(listing(second), was):
        for changing in ("gpu_use", "power", "energy"):  # of Intel: between two readings
            if then["vendor"] == "intel":
                now["reading"].pop(changing, None)
                then["reading"].pop(changing, None)
        assert now == then
    again = second.api.get("/v1/topology")["gpus"]
    assert [row["links"] for row in again] == [row["links"] for row in topology]
    assert [row["island"] for row in again] == [row["island"] for row in topology]
    assert all(gpu["synthetic"] and gpu["recorded"] and gpu["product"].startswith("Recorded ") for gpu in gpus(second))
    text = run(second, "gpus")
    assert "MI300X recorded" in text and "recorded: no real devices" in text
    job = second.api.submit(command=["sh", "-c", "sleep 60"], gpus="mi300x:1")
    wait_until("it runs", lambda: second.api.job(job)["state"] == "running")
    assert second.api.job(job)["synthetic"]
    second.verify()


def test_a_relative_recording_is_found_from_where_it_is_said(make_machine, make_daemon, tmp_path):
    daemon = make_machine("mi250")
    path = tmp_path / "board.json"
    run(daemon, "gpus", "--record", str(path))
    second = make_daemon()
    try:
        run(second, "up", "--devices", "recorded:board.json", cwd=str(tmp_path))
        assert [gpu["model"] for gpu in gpus(second)] == ["mi250"] * 4
    finally:
        run(second, "down", "--kill")


@pytest.mark.parametrize("content,words", [
    ('{"tarn_recording": 2, "gpus": []}', "a recording of version 2; this tarn reads version 1"),
    ('{"gpus": []}', "no recording; expected what `tarn gpus --record FILE` saves"),
    ('{"tarn_recording": 1, "gpus": [{"model": "h100"}]}', "gpus: 0: uuid: expected one"),
])
def test_what_is_no_recording_is_refused(make_daemon, tmp_path, content, words):
    path = tmp_path / "x.json"
    path.write_text(content)
    process, said = make_daemon(devices="recorded:%s" % path).try_start()
    assert said == "recorded devices: %s: %s" % (path, words)


TPUS = {"tpu": {"model": "v5e", "vendor": "google", "count": 4, "memory": "16G",
                "env": {"TPU_VISIBLE_CHIPS": "${indices}", "TPU_CHIPS": "${count} of ${uuids}", "TPU_KIND": "lite"},
                "files": ["/dev/accel${index}"]}}


def chips(daemon, **keys):
    job = daemon.api.submit(command=["sh", "-c", "env"], **keys)
    assert daemon.api.wait_end(job)["result"] == "ok"
    lines = dict(line.split("=", 1) for line in daemon.api.output(job).splitlines() if "=" in line)
    return [lines.get(name) for name in ("TPU_VISIBLE_CHIPS", "TPU_CHIPS", "TPU_KIND", "CUDA_VISIBLE_DEVICES")]


def test_described_devices_are_handed_out_as_they_are_said(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:2")
    daemon.start()
    daemon.api.put("/v1/config", {"devices": TPUS})
    listed = [(gpu["index"], gpu["uuid"], gpu["model"], gpu["vendor"], gpu["memory"], gpu["synthetic"])
              for gpu in gpus(daemon)[2:]]
    assert listed == [(2 + i, "tpu-%d" % i, "v5e", "google", 16384, False) for i in range(4)]
    names = sorted(chips(daemon, gpus="v5e:2")[0].split(","))
    assert len(names) == 2 and set(names) < set("0123")
    visible, text, kind, cuda = chips(daemon, gpus="v5e:4")
    assert sorted(visible.split(",")) == list("0123") and kind == "lite" and cuda == ""
    assert text == "4 of " + ",".join("tpu-" + i for i in visible.split(","))
    assert chips(daemon, gpus="h100:1")[:3] == ["", "", None], "it is told that it has none"
    assert daemon.api.get("/v1/config")["devices"]["tpu"] == dict(TPUS["tpu"], memory=16384)


def test_kinds_of_accelerators_never_mix(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:1")
    daemon.start()
    daemon.api.put("/v1/config", {"devices": {"tpu": {"model": "v5e", "count": 2}, "card": {"model": "u250", "kind": "FPGA"}}})
    assert [gpu["kind"] for gpu in gpus(daemon)] == ["gpu", "tpu", "tpu", "fpga"]
    with pytest.raises(Refused) as refused:
        daemon.api.submit(command=["true"], gpus=2, cpus=0)
    assert "no node has more than 1" in refused.value.message

    def held(**keys):
        job = daemon.api.submit(command=["sleep", "60"], cpus=0, **keys)
        daemon.api.wait_state(job, "running")
        return {device["uuid"] for device in daemon.api.job(job)["devices"]}
    assert len(held(gpus=1)) == 1
    waits = daemon.api.submit(command=["true"], gpus=1, cpus=0)
    assert held(accelerator="fpga") == {"card-0"} and held(accelerator="tpu:2") == {"tpu-0", "tpu-1"}
    assert daemon.api.job(waits)["state"] == "queued", "an idle FPGA is no GPU"
    with pytest.raises(Refused) as refused:
        daemon.api.submit(command=["true"], gpus=1, accelerator="tpu")
    assert "accelerator: 'tpu' and gpus at once" in refused.value.message
    out = run(daemon, "submit", "--accelerator", "tpu:1", "--", "true")
    assert out.startswith("job ") and "waits" in out
    daemon.kill()
    daemon.start()
    assert [gpu["kind"] for gpu in gpus(daemon)] == ["gpu", "tpu", "tpu", "fpga"]
    daemon.verify()


def test_a_request_without_a_model_goes_to_the_cheapest_for_its_speed(make_daemon):
    daemon = make_daemon(devices="synthetic:h100:1,t4:2")
    daemon.start()
    config = {"prices": {"h100": 3.0, "t4": 0.3}, "speeds": {"h100": {"training": 12.5}, "t4": 1}}
    daemon.api.put("/v1/config", config)
    shown = daemon.api.get("/v1/config")
    assert shown["speeds"] == {"h100": {"training": 12.5}, "t4": {"training": 1.0, "inference": 1.0}}
    assert shown["prices"] == config["prices"]
    out = run(daemon, "submit", "--gpus", "1", "--", "sleep", "60")
    assert "t4: lowest price per unit of speed (published speeds)" in out
    small = daemon.api.submit(command=["sleep", "60"], gpus=1, cpus=0)
    large = daemon.api.submit(command=["sleep", "60"], gpus=1, cpus=0, work="training")
    for job, model in ((small, "t4"), (large, "h100")):
        daemon.api.wait_state(job, "running")
        choice = daemon.api.job(job)["model_choice"]
        assert (choice["model"], choice["rule"], choice["runs"]) == (model, "cheapest", 0)
    assert "h100: lowest price per unit of speed" in run(daemon, "show", str(large))
    assert "h100: lowest price per unit of speed" in run(daemon, "why", str(large))
    daemon.kill()
    daemon.start()
    assert daemon.api.get("/v1/config")["speeds"] == shown["speeds"]
    with pytest.raises(Refused) as refused:
        daemon.api.put("/v1/config", {"speeds": {"h100": {"training": 0}}})
    assert "h100: training: expected a speed relative to a T4, 0.001 to 1000" in refused.value.message
    with pytest.raises(Refused) as refused:
        daemon.api.submit(command=["true"], gpus=1, work="mining")
    assert "work" in refused.value.message
    daemon.verify()


def test_choose_compares_the_models_best_first(make_daemon, tmp_path):
    daemon = make_daemon(devices="synthetic:h100:1,t4:1")
    daemon.start()
    daemon.api.put("/v1/config", {"prices": {"h100": 3.0, "t4": 0.3}})
    path = tmp_path / "job.yaml"
    path.write_text("run: sleep 60\ngpus: 1\ncpus: 0\nwork: training\nestimate: 1h\n")
    reply = json.loads(run(daemon, "choose", "-f", str(path), "--json"))
    assert [(one["model"], one["chosen"], one["evidence"]) for one in reply["models"]] == [
        ("h100", True, "published"), ("t4", False, "published")]
    best, other = reply["models"]
    assert best["run_seconds"] == 3600 and abs(best["cost"] - 3.0) < 0.01 and best["wait_seconds"] == 0
    assert other["run_seconds"] > 8 * 3600 and other["cost"] > 3.0, "twelve times slower, ten times cheaper"
    assert (reply["rule"], reply["work"]) == ("cheapest", "training")
    out = run(daemon, "choose", "--gpus", "1")
    lines = out.splitlines()
    assert lines[0].split()[:4] == ["MODEL", "RUN", "WAIT", "COST"] and lines[1].startswith("t4")
    assert "15 GiB, fits" in lines[1] and "published" in lines[1] and "in order of price per unit of speed" in lines[3]
    held = daemon.api.submit(command=["sleep", "60"], gpus="h100:1", cpus=0, max_duration="10m")
    daemon.api.wait_state(held, "running")
    busy = json.loads(run(daemon, "choose", "-f", str(path), "--json"))["models"]
    assert [one["model"] for one in busy] == ["h100", "t4"] and busy[0]["wait_seconds"] != 0 and busy[1]["wait_seconds"] == 0
    big = json.loads(run(daemon, "choose", "--gpus", "24G..:1", "--json"))["models"]
    assert [(one["model"], one["fits"]) for one in big] == [("h100", True), ("t4", False)]
    dry = run(daemon, "submit", "--dry-run", "-f", str(path))
    assert "nothing was submitted" in dry or "would" in dry
    assert "h100" in dry and "EVIDENCE" in dry
    with pytest.raises(Refused) as refused:
        daemon.api.post("/v1/choose", {"command": ["true"], "gpus": "h100:1|t4:1"})
    assert "expected one request for GPUs" in refused.value.message
    jobs = daemon.api.get("/v1/jobs")["jobs"]
    assert [job["id"] for job in jobs] == [held], "nothing was submitted"


LABELLED = {"near": {"model": "v5e", "kind": "gpu", "count": 2, "labels": ["edge", "low-power"]},
            "far": {"model": "v5e", "kind": "gpu", "count": 2, "labels": "edge"}, "other": {"model": "v5e", "kind": "gpu", "count": 1}}


def test_pools_choose_devices_by_their_labels(make_daemon):
    daemon = make_daemon(devices="none")
    daemon.start()
    config = {"devices": LABELLED, "queues": {"research": {}},
              "pools": {"quiet": {"type": "static", "queue": "research", "labels": ["low-power", "edge"]},
                        "outside": {"type": "dynamic", "labels": "edge"}}}
    daemon.api.put("/v1/config", config)
    assert {gpu["uuid"]: gpu["labels"] for gpu in gpus(daemon)} == {
        "near-0": ["edge", "low-power"], "near-1": ["edge", "low-power"], "far-0": ["edge"], "far-1": ["edge"], "other-0": []}
    shown = daemon.api.get("/v1/config")
    assert shown["devices"]["far"]["labels"] == ["edge"] and shown["pools"]["quiet"]["labels"] == ["low-power", "edge"]
    pools = {pool["name"]: pool for pool in daemon.api.get("/v1/pools")["pools"]}
    assert pools["quiet"]["gpus"] == 2 and pools["outside"]["gpus"] == 2 and pools["quiet"]["where"] == ["low-power", "edge"]

    def held(**keys):
        job = daemon.api.submit(command=["sleep", "60"], cpus=0, **keys)
        daemon.api.wait_state(job, "running")
        return {device["uuid"] for device in daemon.api.job(job)["devices"]}
    assert held(gpus=2, pool="outside") == {"far-0", "far-1"}
    assert held(gpus=2, queue="research") == {"near-0", "near-1"}
    refused = daemon.api.submit(command=["true"], gpus=1, cpus=0, pool="outside")
    assert daemon.api.job(refused)["state"] == "queued", "what has not the label is not of the pool"
    daemon.kill()
    daemon.start()
    assert [gpu["labels"] for gpu in gpus(daemon)][0] == ["edge", "low-power"]
    changed = dict(config, devices=dict(LABELLED, other={"model": "v5e", "kind": "gpu", "count": 1, "labels": ["edge"]}))
    daemon.api.put("/v1/config", changed)
    daemon.api.wait_end(refused)
    assert daemon.api.job(refused)["result"] == "ok", "labels that change are seen at once"
    daemon.verify()


def test_described_devices_survive_a_restart_and_go_with_their_description(make_daemon, tmp_path):
    daemon = make_daemon(devices="none")
    daemon.start()
    path = tmp_path / "config.yaml"
    path.write_text('devices:\n  fpga:\n    model: u250\n    count: 2\n')
    assert "device" in run(daemon, "apply", "-f", str(path), "--yes")
    assert [gpu["uuid"] for gpu in gpus(daemon)] == ["fpga-0", "fpga-1"]
    daemon.kill()
    daemon.start()
    assert [(gpu["uuid"], gpu["sick"]) for gpu in gpus(daemon)] == [("fpga-0", None), ("fpga-1", None)]
    assert "u250" in run(daemon, "config", "show")
    run(daemon, "apply", "--undo", "--yes")
    assert gpus(daemon) == [] and daemon.api.get("/v1/nodes")["nodes"][0]["gpus"] == 0
    assert "devices" not in daemon.api.get("/v1/config")
    daemon.api.put("/v1/config", {"devices": {"fpga": {"model": "u250"}}})
    assert [(gpu["uuid"], gpu["sick"]) for gpu in gpus(daemon)] == [("fpga-0", None)]
    job = daemon.api.submit(command=["true"], gpus="u250:1")
    assert daemon.api.wait_end(job)["result"] == "ok"
    daemon.verify()


@pytest.mark.parametrize("change,words", [
    ({"model": None}, "device tpu: expected model, like v5e"),
    ({"count": 65}, "device tpu: count: 65, expected 1 to 64"),
    ({"env": {"1A": "x"}}, "device tpu: 1A: is not a valid name of a variable"),
    ({"env": {"A": "${index}"}},
     "device tpu: A: expected a string, in which ${indices}, ${uuids} and ${count} stand for the devices of a job"),
    ({"env": {"A": "a\nB=c"}},
     "device tpu: A: expected a string, in which ${indices}, ${uuids} and ${count} stand for the devices of a job"),
    ({"env": {"A": "x" * 2000}}, "device tpu: env: longer than 1023 letters in all"),
    ({"files": ["/etc/passwd"]},
     "device tpu: files: expected files below /dev, in which ${index} stands for the number of a device"),
    ({"files": ["/dev/accel"]}, "device tpu: files: expected ${index} in each, because there are several devices"),
    ({"labels": {}}, "device tpu: labels: expected a name or a list of names, like [edge, low-power]"),
    ({"labels": ["l%03d" % i for i in range(99)]}, "device tpu: labels: longer than 255 letters in all"),
    ({"lables": ["a"]}, "device tpu: unknown key 'lables'; did you mean 'labels'"),
])
def test_bad_descriptions_change_nothing(daemon, change, words):
    with pytest.raises(Refused) as refused:
        daemon.api.put("/v1/config", {"devices": {"tpu": dict(TPUS["tpu"], **change)}})
    assert words in refused.value.message
    assert "devices" not in daemon.api.get("/v1/config")
