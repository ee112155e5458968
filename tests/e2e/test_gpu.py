# SPDX-License-Identifier: Apache-2.0
"""Devices of a stub driver that follows a script: read, counted, fenced, and kept out when they are sick.

The stub is in tests/device/stub: a libnvidia-ml.so.1 that says what a file says, which these tests change meanwhile.
"""

import os
import re
import stat
import subprocess
import time

import pytest

from tarn_test import BUILD, IS_ROOT, Refused, TARN, wait_until

STUB = os.path.join(BUILD, "tests", "device", "nvml", "libnvidia-ml.so.1")
BUS = ["17", "65", "ca", "e3", "2a", "ab"]


def gpu(index, **values):
    """One line of the script: an H100 that is well and idle, unless something else is said."""
    say = dict(memory=81559, used=4, minor=index, use=0, power=70000, power_limit=700000, temp=35, slowdown=90,
               energy=1000, gpm=1, sm_clock=1980, ecc_corrected=0, ecc_uncorrected=0, recovery_action=0)
    say.update(values)
    return 'gpu %d name "NVIDIA H100 80GB HBM3" uuid GPU-%d pci 00000000:%s:00.0 %s' % (
        index, index, BUS[index], " ".join("%s %s" % pair for pair in say.items()))


class Machine:
    def __init__(self, make_daemon, tmp_path):
        self.script = tmp_path / "driver.txt"
        self.root = tmp_path / "root"
        self.tell(gpu(0), gpu(1))
        self.daemon = make_daemon(devices="nvml", environment={
            "TARN_NVML_LIBRARY": STUB, "TARN_NVML_SCRIPT": str(self.script), "TARN_DEVICE_ROOT": str(self.root)})
        self.api = self.daemon.api

    def tell(self, *lines):
        """What the driver says from now on."""
        new = self.script.with_suffix(".new")
        new.write_text("driver 550.54\n" + "\n".join(lines) + "\n")
        os.replace(new, self.script)

    def gpu(self, index):
        return self.api.get("/v1/gpus")["gpus"][index]

    def metrics(self, path="/metrics"):
        status, text = self.api.raw("GET", path)
        assert status == 200
        return text.decode()


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.start()
    return machine


def test_readings_are_there_and_what_can_not_be_had_is_absent(machine):
    machine.tell(gpu(0, use=85, power=612000, temp=64, sm=70.5), gpu(1, use="none", power="none"))
    first = wait_until("the first is busy", lambda: (lambda g: g if (g["reading"] or {}).get("gpu_use") == 0.85 else None)(machine.gpu(0)))
    assert first["reading"]["power"] == 612 and first["reading"]["temperature"] == 64
    wait_until("counters are there", lambda: machine.gpu(0)["reading"].get("sm_active") == 0.705)
    second = machine.gpu(1)["reading"]
    assert "gpu_use" not in second and "power" not in second and "sm_active" not in second
    assert second["memory_total"] == 81559 * 1024 * 1024


def test_a_device_that_falls_off_the_bus_is_drained_until_somebody_looked(machine):
    job = machine.api.submit(command=["sleep", "60"], gpus="1")
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    held = machine.api.job(job)["devices"][0]["index"]
    other = 1 - held
    machine.tell(gpu(0), gpu(1), "gpu %d xid 79" % other)
    sick = wait_until("it is drained", lambda: machine.gpu(other)["sick"])
    assert sick == "XID 79: fell off the bus; reboot needed"
    waiting = machine.api.submit(command=["true"], gpus="1")
    wait_until("it waits", lambda: machine.api.job(waiting)["state"] == "queued")
    words = "%s/%d is faulty (%s)" % (machine.gpu(other)["node"], other, sick)
    why = machine.api.why(waiting)
    assert why["text"].endswith("; gpu " + words) and "unusable  1 of 2: gpu " + words in why["lines"], why
    machine.daemon.kill()
    machine.daemon.start()
    assert machine.gpu(other)["sick"] == sick, "a restart heals nothing"
    assert machine.api.job(waiting)["state"] == "queued"
    machine.api.post("/v1/gpus/GPU-%d/clear" % other)
    wait_until("it runs there", lambda: machine.api.job(waiting)["state"] == "ended")
    assert machine.api.job(waiting)["result"] == "ok"


def test_a_program_s_own_fault_drains_nothing(machine):
    machine.tell(gpu(0), gpu(1), "gpu 0 xid 31", "gpu 0 xid 43")
    wait_until("it is counted", lambda: 'xid="31",action="restart_app"} 1' in machine.metrics())
    assert machine.gpu(0)["sick"] is None
    assert [fault["name"] for fault in machine.gpu(0)["faults"]] == ["application"]


@pytest.mark.parametrize("values,fault,words", [
    ({"ecc_uncorrected": 1}, "ecc-uncorrected", "memory errors that could not be corrected"),
    ({"recovery_action": 1}, "recovery-action", "the driver asks for a reset or a reboot"),
])
def test_what_readings_say_drains_a_device(machine, values, fault, words):
    wait_until("it was read", lambda: machine.gpu(0)["reading"])
    machine.tell(gpu(0, **values), gpu(1))
    assert wait_until("it is drained", lambda: machine.gpu(0)["sick"]) == words
    assert fault in [entry["name"] for entry in machine.gpu(0)["faults"]]
    assert machine.gpu(1)["sick"] is None
    if fault == "recovery-action":
        machine.tell(gpu(0), gpu(1))
        wait_until("it is well by itself", lambda: machine.gpu(0)["sick"] is None)


def test_a_lost_device_gives_no_readings_and_comes_back(machine):
    wait_until("it was read", lambda: machine.gpu(1)["reading"])
    machine.tell(gpu(0), gpu(1), "gpu 1 error GPU_IS_LOST")
    assert wait_until("it is lost", lambda: machine.gpu(1)["sick"]) == "fell off the bus; reboot needed"
    assert 'DCGM_FI_DEV_GPU_TEMP{gpu="1"' not in machine.metrics("/metrics/dcgm")
    assert 'DCGM_FI_DEV_GPU_TEMP{gpu="0"' in machine.metrics("/metrics/dcgm")
    machine.tell(gpu(0), gpu(1))
    wait_until("it is back", lambda: machine.gpu(1)["sick"] is None)


def test_a_device_that_hangs_delays_nobody_and_is_drained(machine):
    wait_until("both were read", lambda: machine.gpu(0)["reading"] and machine.gpu(1)["reading"])
    machine.tell(gpu(0), gpu(1), "gpu 1 hang 25")
    ages = []
    end = time.monotonic() + 8
    while time.monotonic() < end:
        ages.append(machine.gpu(0)["age"])
        time.sleep(0.1)
    assert max(ages) < 5, "the other one is read on"
    assert wait_until("it is drained", lambda: machine.gpu(1)["sick"]) == "the driver does not answer"
    assert 'tarn_gpu_power_watts{uuid="GPU-1"' not in machine.metrics() and 'tarn_gpu_power_watts{uuid="GPU-0"' in machine.metrics()
    job = machine.api.submit(command=["true"], gpus="1")
    wait_until("jobs run on the other", lambda: machine.api.job(job)["state"] == "ended")
    wait_until("it is back", lambda: machine.gpu(1)["sick"] is None)


def worker(machine, job):
    """The pid of a job's first process, once it runs."""
    def find():
        text = machine.api.output(job)
        return int(text.split()[0]) if text.strip() else None
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    return wait_until("it said who it is", find)


def test_a_shared_device_is_divided_by_what_each_one_does(machine):
    command = ["sh", "-c", "echo $$; exec sleep 60"]
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    wait_until("one is left", lambda: machine.gpu(1)["sick"])
    jobs = [machine.api.submit(command=command, gpus="0.5") for _ in range(2)]
    pids = [worker(machine, job) for job in jobs]
    machine.tell(gpu(0, use=80, used=30000, power=400000), gpu(1, error="GPU_IS_LOST"),
                 "gpu 0 process %d memory 20000 use 60" % pids[0], "gpu 0 process %d memory 10000 use 20" % pids[1])

    def peaks():
        usages = [machine.api.job(job)["gpu_usage"] for job in jobs]
        if all(usage and usage["gpu"]["peak"] > 0 and usage["watched_seconds"] > 4 for usage in usages):
            return usages
    first, second = wait_until("they were watched", peaks)
    assert first["gpu"]["peak"] == pytest.approx(0.6, abs=0.001) and second["gpu"]["peak"] == pytest.approx(0.2, abs=0.001)
    assert first["memory"]["peak"] == 20000 and second["memory"]["peak"] == 10000
    assert first["power"]["peak"] + second["power"]["peak"] == pytest.approx(400, rel=0.02)
    assert machine.gpu(0)["foreign_memory"] == 0
    for job in jobs:
        machine.api.post("/v1/jobs/%d/cancel" % job)
    wait_until("they ended", lambda: all(machine.api.job(job)["state"] == "ended" for job in jobs))
    kept = wait_until("it is in the history", lambda: machine.api.job(jobs[0])["gpu_usage"])
    assert kept["memory"]["peak"] == 20000
    machine.daemon.kill()
    machine.daemon.start()
    assert machine.api.job(jobs[0])["gpu_usage"]["memory"]["peak"] == 20000


def test_memory_of_processes_that_nobody_started_here_is_not_given_out(machine):
    machine.tell(gpu(0, used=60000), gpu(1, used=60000), "gpu 0 process 1 memory 60000 use 10", "gpu 1 process 1 memory 60000")
    wait_until("it is seen", lambda: machine.gpu(0)["foreign_memory"] == 60000 and machine.gpu(1)["foreign_memory"] == 60000)
    assert "foreign-process" in [fault["name"] for fault in machine.gpu(0)["faults"]]
    large = machine.api.submit(command=["true"], gpus="mem=30G")
    small = machine.api.submit(command=["true"], gpus="mem=10G")
    wait_until("what fits runs", lambda: machine.api.job(small)["state"] == "ended")
    assert machine.api.job(large)["state"] == "queued"
    machine.tell(gpu(0), gpu(1))
    wait_until("it fits again", lambda: machine.api.job(large)["state"] == "ended")


def test_leaked_memory_keeps_a_device_from_being_given_out(machine):
    machine.tell(gpu(0, used=30000), gpu(1))
    # No job may hold it, and the driver has to report no process on it.
    sick = wait_until("it is drained", lambda: machine.gpu(0)["sick"])
    assert sick == "memory is in use, but no process holds it"
    machine.tell(gpu(0), gpu(1))
    wait_until("it is well", lambda: machine.gpu(0)["sick"] is None)


@pytest.mark.skipif(not IS_ROOT, reason="device files are made, and fenced, by root")
def test_a_job_opens_its_own_device_files_and_no_others(machine):
    folder = machine.root / "dev"
    folder.mkdir(parents=True)
    for path in [machine.root.parent, machine.root, folder]:
        path.chmod(0o755)
    for minor in range(2):
        os.mknod(folder / ("nvidia%d" % minor), 0o666 | stat.S_IFCHR, os.makedev(195, minor))
    machine.daemon.kill()
    machine.daemon.start() # files are looked up once
    script = "for i in 0 1; do cat %s/nvidia$i >/dev/null; done; cat /dev/null; exit 0" % folder
    for gpus, refused in [("1", 1), ("2", 0), ("0", 2)]:
        job = machine.api.submit(command=["sh", "-c", script], gpus=gpus)
        wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")
        output = machine.api.output(job)
        if machine.api.get("/v1/daemon")["isolation"]["processes"] != "isolated":
            pytest.skip("no control groups to fence with: " + output[:80])
        assert output.count("Operation not permitted") == refused, output
        assert output.count("No such device") == 2 - refused, output
        if gpus != "0":
            assert machine.api.job(job)["isolation"]["gpu"] == "isolated"


def test_topology_is_told(machine):
    machine.daemon.kill()
    machine.tell(gpu(0), gpu(1), gpu(2, numa=0), gpu(3, numa=1), "link 0 1 4", "near 0 2 40", "near 2 3 10", "near 1 2 50")
    machine.daemon.start()
    rows = [entry["links"] for entry in machine.api.get("/v1/topology")["gpus"]]
    assert rows[0][:3] == ["X", "NV4", "NODE"] and rows[2][3] == "PIX" and rows[1][2] == "SYS"
    shown = [line.split() for line in listed(machine, "gpus", "--topology").splitlines()]
    assert shown == [["GPU0", "GPU1", "GPU2", "GPU3", "NUMA"], ["GPU0", "X", "NV4", "NODE", "?", "-"],
                     ["GPU1", "NV4", "X", "SYS", "?", "-"], ["GPU2", "NODE", "SYS", "X", "PIX", "0"],
                     ["GPU3", "?", "?", "PIX", "X", "1"]]
    job = machine.api.submit(command=["sleep", "60"], gpus="2,nvlink")
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    assert sorted(device["index"] for device in machine.api.job(job)["devices"]) == [0, 1]


def test_metrics_are_what_prometheus_reads(machine):
    job = machine.api.submit(command=["sleep", "60"], gpus="1", name="a-b")
    wait_until("it runs", lambda: machine.api.job(job)["state"] == "running")
    machine.tell(gpu(0, use=50), gpu(1, use=50))
    wait_until("it was watched", lambda: "tarn_job_gpu_use_ratio{" in machine.metrics())
    sample = re.compile(r'^[a-zA-Z_:][a-zA-Z0-9_:]*(\{([a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\.)*",?)*\})? -?[0-9.e+-]+$')
    for path in ["/metrics", "/metrics/dcgm"]:
        seen, current = set(), None
        for line in machine.metrics(path).splitlines():
            if line.startswith("# HELP "):
                current = line.split()[2]
                assert current not in seen, "samples of a metric stand together"
                seen.add(current)
            elif not line.startswith("# TYPE "):
                assert sample.match(line), line
                assert line.startswith(current)
    dcgm = machine.metrics("/metrics/dcgm")
    held = machine.api.job(job)["devices"][0]["index"]
    assert re.search(r'DCGM_FI_DEV_GPU_UTIL\{gpu="%d",.*hpc_job="%d",user="[^"]+",queue="default"\} 50' % (held, job), dcgm)
    assert 'Hostname="' in machine.metrics("/metrics/dcgm?hostname=old")
    assert "DCGM_FI_DEV_GPU_UTIL_RATIO{" in machine.metrics("/metrics/dcgm?names=new")
    assert len(set(dcgm.splitlines())) == len(dcgm.splitlines())


def test_only_an_administrator_says_that_a_device_is_well(machine):
    with pytest.raises(Refused) as refused:
        machine.api.post("/v1/gpus/GPU-9/clear")
    assert refused.value.status == 404 and "no such device" in refused.value.message


def test_a_device_that_is_lost_can_not_be_cleared(machine):
    wait_until("it was read", lambda: machine.gpu(1)["reading"])
    machine.tell(gpu(0), gpu(1), "gpu 1 xid 79")
    sick = wait_until("it needs a reboot", lambda: machine.gpu(1)["sick"])
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    wait_until("it is lost", lambda: "lost" in [fault["name"] for fault in machine.gpu(1)["faults"]])
    with pytest.raises(Refused) as refused:
        machine.api.post("/v1/gpus/GPU-1/clear")
    assert "GPU-1: fell off the bus" in refused.value.message
    machine.tell(gpu(0), gpu(1))
    wait_until("it answers again", lambda: "lost" not in [fault["name"] for fault in machine.gpu(1)["faults"]])
    assert machine.gpu(1)["sick"] == sick == "XID 79: fell off the bus; reboot needed", "who is refused changes nothing"


def visible(machine, job):
    wait_until("it said what it sees", lambda: machine.api.output(job).strip())
    return machine.api.output(job).split()[0]


def test_mig_instances_are_made_on_demand_without_touching_neighbours(machine):
    machine.daemon.kill()
    machine.tell(gpu(0, mig=1), gpu(1, error="GPU_IS_LOST"))
    machine.daemon.start()
    script = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; exec sleep 60"]
    large = machine.api.submit(command=script, gpus="mig=3g.40gb", cpus=0)
    small = [machine.api.submit(command=script, gpus="mig=1g.10gb", cpus=0) for _ in range(3)]
    names = [visible(machine, job) for job in [large] + small]
    assert all(name.startswith("MIG-GPU-0-") for name in names) and len(set(names)) == 4
    assert machine.api.job(small[0])["devices"][0]["memory"] == 81559 // 8
    machine.api.post("/v1/jobs/%d/cancel" % small[1])
    wait_until("it ended", lambda: machine.api.job(small[1])["state"] == "ended")
    machine.tell(gpu(0, mig=1), gpu(1, error="GPU_IS_LOST"), "gpu 0 fail nvmlDeviceCreateGpuInstanceWithPlacement INSUFFICIENT_RESOURCES")
    again = machine.api.submit(command=script, gpus="mig=1g.10gb", cpus=0)
    assert visible(machine, again) == names[2], "the instance that is free is used again, not made anew"
    machine.tell(gpu(0, mig=1), gpu(1, error="GPU_IS_LOST"))
    for job in [small[0], small[2], again]:
        machine.api.post("/v1/jobs/%d/cancel" % job)
    other = machine.api.submit(command=script, gpus="mig=2g.20gb", cpus=0)
    assert visible(machine, other) not in names[:1], "an instance that no job holds makes room"
    assert machine.api.job(large)["state"] == "running"


def test_a_device_that_hangs_when_the_daemon_starts_is_an_answer(machine):
    machine.daemon.kill()
    machine.tell(gpu(0), gpu(1), "gpu 1 hang 300")
    process, words = machine.daemon.try_start(90)
    assert words == ("devices: the driver (nvml) has not answered for 30 s; a device may hang "
                     "(--devices none starts without devices)")
    assert process.returncode == 1
    machine.tell(gpu(0), gpu(1))
    machine.daemon.start()
    assert machine.gpu(1)["sick"] is None


def mode_of(machine, index):
    return machine.api.get("/v1/gpus")["gpus"][index]["mig"]


def test_a_pool_gives_its_devices_the_mig_mode_that_it_wants_when_nobody_is_on_them(machine):
    machine.daemon.kill()
    machine.tell(gpu(0, mig=0), gpu(1, mig=0))
    machine.daemon.start()
    holder = machine.api.submit(command=["sleep", "60"], gpus=2, cpus=0)
    wait_until("it runs", lambda: machine.api.job(holder)["state"] == "running")
    machine.api.put("/v1/config", {"pools": {"cut": {"devices": [1], "mig": "on"}}})
    shown = machine.api.get("/v1/gpus")["gpus"][1]
    assert not shown["mig"] and shown["sick"] == "its MIG mode must be turned on first"
    job = machine.api.submit(command=["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; exec sleep 60"], gpus="mig=1g.10gb", cpus=0)
    assert "never" not in machine.api.why(job)["text"]
    machine.api.post("/v1/jobs/%d/cancel" % holder)
    assert visible(machine, job).startswith("MIG-GPU-1-")
    assert [mode_of(machine, i) for i in range(2)] == [False, True]

    # The machine restarts, and forgets its modes: the daemon does not.
    machine.api.post("/v1/jobs/%d/cancel" % job)
    wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")
    machine.daemon.kill()
    machine.tell(gpu(0, mig=0), gpu(1, mig=0))
    machine.daemon.start()
    again = machine.api.submit(command=["sleep", "60"], gpus="mig=1g.10gb", cpus=0)
    wait_until("it runs", lambda: machine.api.job(again)["state"] == "running")
    assert mode_of(machine, 1)

    machine.api.put("/v1/config", {"pools": {"cut": {"devices": [1], "mig": "off"}}})
    machine.api.post("/v1/jobs/%d/cancel" % again)
    both = machine.api.submit(command=["sleep", "60"], gpus=2, cpus=0)
    wait_until("both are whole again", lambda: machine.api.job(both)["state"] == "running")
    assert not mode_of(machine, 1)


def test_a_mig_mode_that_the_driver_refuses_is_told(machine):
    machine.daemon.kill()
    machine.tell(gpu(0, mig=0, mig_reset=1), gpu(1))
    machine.daemon.start()
    machine.api.put("/v1/config", {"pools": {"cut": {"devices": [0], "mig": "on"}}})
    wait_until("it says so", lambda: "the MIG mode cannot be changed device=GPU-0 on=1 reason='mig mode: " in machine.daemon.words())
    assert machine.api.get("/v1/gpus")["gpus"][0]["sick"] == "its MIG mode must be turned on first"


def test_a_mig_instance_that_can_not_be_made_fails_the_job_in_words(machine):
    machine.daemon.kill()
    machine.tell(gpu(0, mig=1), gpu(1, error="GPU_IS_LOST"),
                 "gpu 0 fail nvmlDeviceCreateGpuInstanceWithPlacement INSUFFICIENT_RESOURCES")
    machine.daemon.start()
    job = machine.api.submit(command=["true"], gpus="mig=1g.10gb")
    wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")
    assert machine.api.job(job)["result"] == "failed"
    assert "gpu instance: no room for it" in machine.api.job(job)["reason"]


MPS = """#!/bin/sh
# A control daemon that only keeps books.
dir=$CUDA_MPS_PIPE_DIRECTORY
if [ "$1" = -d ]; then
    [ -e "$dir/broken" ] && exit 1
    setsid sh -c 'echo $$ >"$0/nvidia-cuda-mps-control.pid"; sleep 600 & echo $! >"$0/server"; wait' "$dir" </dev/null >/dev/null 2>&1 &
    while [ ! -s "$dir/server" ]; do sleep 0.01; done
    echo "start $CUDA_VISIBLE_DEVICES" >>"$dir/log"; touch "$dir/control"; exit 0
fi
read words
echo "$words" >>"$dir/log"
if [ "$words" = quit ] && [ -e "$dir/control" ]; then
    kill $(cat "$dir/server") # its parent waits for it, and ends then
    rm -f "$dir/control" "$dir/server" "$dir/nvidia-cuda-mps-control.pid"
fi
[ -e "$dir/control" ]
"""


def test_shares_are_served_by_mps_where_it_is_installed(make_daemon, tmp_path):
    control = tmp_path / "mps-control"
    control.write_text(MPS)
    control.chmod(0o755)
    machine = Machine(make_daemon, tmp_path)
    machine.daemon.extra["TARN_MPS_CONTROL"] = str(control)
    machine.daemon.start()
    script = ["sh", "-c", "echo $CUDA_VISIBLE_DEVICES $CUDA_MPS_PIPE_DIRECTORY $CUDA_MPS_ACTIVE_THREAD_PERCENTAGE "
                          "$CUDA_MPS_PINNED_DEVICE_MEM_LIMIT; exec sleep 60"]
    jobs = [machine.api.submit(command=script, gpus="mps=25%,mem=10G", cpus=0) for _ in range(2)]
    for job in jobs:
        visible(machine, job)
    words = machine.api.output(jobs[0]).split()
    folder = os.path.join(machine.daemon.state, "mps", words[0])
    assert words == [words[0], folder, "25", "0=10240M"]
    log = open(os.path.join(folder, "log")).read()
    assert log.count("start " + words[0]) == 1, "one server for both"
    whole = machine.api.submit(command=["sh", "-c", "echo x$CUDA_MPS_PIPE_DIRECTORY"], gpus="1", cpus=0)
    wait_until("it ended", lambda: machine.api.job(whole)["state"] == "ended")
    assert machine.api.output(whole) == "x\n"
    machine.api.post("/v1/jobs/%d/cancel" % jobs[0])
    wait_until("it ended", lambda: machine.api.job(jobs[0])["state"] == "ended")
    assert os.path.exists(os.path.join(folder, "control"))
    machine.api.post("/v1/jobs/%d/cancel" % jobs[1])
    wait_until("the server ended with its last client", lambda: not os.path.exists(os.path.join(folder, "control")))
    open(os.path.join(folder, "broken"), "w").close()
    job = machine.api.submit(command=["true"], gpus="mps=25%", cpus=0)
    wait_until("it ended", lambda: machine.api.job(job)["state"] == "ended")
    assert "its server for" in machine.api.job(job)["reason"]


def test_an_mps_server_of_tarn_is_not_foreign(make_daemon, tmp_path):
    control = tmp_path / "mps-control"
    control.write_text(MPS)
    control.chmod(0o755)
    machine = Machine(make_daemon, tmp_path)
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    machine.daemon.extra["TARN_MPS_CONTROL"] = str(control)
    machine.daemon.start()
    first = machine.api.submit(command=["sleep", "60"], gpus="mps=25%", cpus=0)
    wait_until("it runs", lambda: machine.api.job(first)["state"] == "running")
    server = int(open(os.path.join(machine.daemon.state, "mps", "GPU-0", "server")).read())
    lines = [gpu(0, used=1004), gpu(1, error="GPU_IS_LOST"), "gpu 0 process %d memory 500" % server]
    machine.tell(*lines)
    wait_until("it is read", lambda: (machine.gpu(0)["reading"] or {}).get("memory_used") == 1004 << 20)
    assert machine.gpu(0)["foreign_memory"] == 0 and machine.gpu(0)["faults"] == []
    second = machine.api.submit(command=["sleep", "60"], gpus="mps=25%", cpus=0)
    wait_until("it runs", lambda: machine.api.job(second)["state"] == "running")
    machine.tell(*lines, "gpu 0 process %d memory 400" % os.getpid())
    wait_until("another process is foreign", lambda: machine.gpu(0)["foreign_memory"] == 400)


def test_who_takes_more_memory_than_given_is_warned_then_ended_and_never_the_neighbour(machine):
    machine.api.put("/v1/config", {"memory_grace": "3s"})
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"))
    wait_until("one is left", lambda: machine.gpu(1)["sick"])
    command = ["sh", "-c", "echo $$; exec sleep 60"]
    jobs = [machine.api.submit(command=command, gpus="0.5,mem=20G", cpus=0) for _ in range(2)]
    pids = [worker(machine, job) for job in jobs]
    machine.tell(gpu(0, used=50000), gpu(1, error="GPU_IS_LOST"),
                 "gpu 0 process %d memory 30000 use 10" % pids[0], "gpu 0 process %d memory 20000 use 90" % pids[1])
    wait_until("it is warned", lambda: (machine.api.job(jobs[0])["warned"] or {}).get("memory") == 1)
    wait_until("it is ended", lambda: machine.api.job(jobs[0])["state"] == "ended")
    ended = machine.api.job(jobs[0])
    assert ended["result"] == "out_of_memory"
    assert (ended["cancelled_by"], ended["cancel_reason"]) == ("gpu memory", "29.3 GiB used, 20 GiB allocated")
    assert machine.api.job(jobs[1])["state"] == "running" and machine.api.job(jobs[1])["warned"] is None


@pytest.mark.parametrize("config,words", [
    ({"idle": {"stop": "1h"}}, "a job is not stopped without a warning"),
    ({"idle": {"warn": 30}}, "expected at least a minute, or seconds with their unit, like 30s"),
    ({"idle": {"warn": "0.5s"}}, "expected"),
    ({"idle": {"warn": "5s", "stop": "9s"}}, "with warn below a minute, at least twice warn"),
    ({"idle": {"warn": "10m", "stop": "10m"}}, "expected at least a minute more than warn"),
    ({"idle": {"wran": "10m"}}, "did you mean 'warn'"),
    ({"alerts": {"command": "page"}}, "expected an absolute path"),
    ({"alerts": {"owner_command": "page"}}, "expected an absolute path"),
    ({"alerts": {"owner_mail": "ana@example.org"}}, "expected the domain of the addresses"),
    ({"alerts": {"webhook": "ftp://x"}}, "expected http:// or https://"),
])
def test_rules_that_make_no_sense_change_nothing(machine, config, words):
    with pytest.raises(Refused) as refused:
        machine.api.put("/v1/config", config)
    assert words in refused.value.message


def test_rules_are_kept_and_shown(machine):
    config = {"idle": {"warn": "30m", "stop": "2h", "action": "requeue", "dry_run": True, "exempt": ["interactive", "ana"]},
              "memory_grace": "90s", "alerts": {"command": "/bin/true", "mail": ["a@b.c"], "repeat": "1h"}}
    machine.api.put("/v1/config", config)
    machine.daemon.kill()
    machine.daemon.start()
    shown = machine.api.get("/v1/config")
    shown = shown.get("config", shown)
    assert shown["idle"]["exempt"] == ["interactive", "ana"] and shown["idle"]["action"] == "requeue"
    assert shown["alerts"] == {"command": "/bin/true", "mail": ["a@b.c"], "repeat": "1h"}


def listed(machine, *words):
    done = subprocess.run([TARN, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=dict(machine.daemon.environment(), TARN_SOCKET=machine.daemon.socket, LC_ALL="C.UTF-8"))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_a_job_is_warned_of_is_said_where_it_is_listed(machine):
    machine.api.put("/v1/config", {"idle": {"warn": "2s"}, "memory_grace": "1h"})
    idle = machine.api.submit(command=["sleep", "600"], gpus="1", cpus=0, max_duration="40s")
    wait_until("it runs", lambda: machine.api.job(idle)["state"] == "running")
    assert machine.api.job(idle)["warnings"] == []
    greedy = machine.api.submit(command=["sh", "-c", "echo $$; exec sleep 600"], gpus="0.5,mem=20G", cpus=0)
    pid, index = worker(machine, greedy), machine.api.job(idle)["devices"][0]["index"]
    machine.tell(gpu(index, use=0), gpu(1 - index, used=60000, use=50),
                 "gpu %d process %d memory 40000 use 50" % (1 - index, pid), "gpu %d process 1 memory 12288" % (1 - index))

    def names(job):
        return {warning["name"] for warning in machine.api.job(job)["warnings"]}
    wait_until("all is there", lambda: names(idle) >= {"idle"} and names(greedy) == {"memory", "foreign-memory"})
    lines = {line.split()[0]: line for line in listed(machine, "ls").splitlines()[1:]}
    assert "its gpus are idle, warned" in lines[str(idle)]
    assert "more gpu memory than allocated, warned" in lines[str(greedy)]
    assert "foreign processes hold 12 GiB on its gpu" in lines[str(greedy)]
    shown = listed(machine, "show", str(greedy))
    assert re.search(r"^  warning     more gpu memory than allocated, warned$", shown, re.M), shown
    wait_until("its limit is near", lambda: "limit" in names(idle))
    assert re.search(r"its time limit is in \d", listed(machine, "ls"))
    machine.tell(gpu(index, use=90), gpu(1 - index, use=50, used=10000), "gpu %d process %d memory 10000 use 50" % (1 - index, pid))
    wait_until("it is over", lambda: names(greedy) == set())


def test_the_history_says_to_the_second_when_it_was(machine):
    def times():
        return machine.api.get("/v1/gpus/GPU-0/history", last="60s", step="1s", keys="power")["readings"]["power"]["at"]
    at = wait_until("there are some", lambda: (lambda at: at if len(at) >= 3 else None)(times()))
    assert at == sorted(set(at)) and abs(at[-1] - time.time()) < 60
