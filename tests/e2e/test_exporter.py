# SPDX-License-Identifier: Apache-2.0
"""The metrics of a machine without the daemon, and the files that tell dcgm-exporter whose GPUs are."""

import json
import os
import re
import signal
import socket
import subprocess

import pytest

from tarn_test import PATIENCE_S, TARN, read_all, wait_until
from test_gpu import Machine, gpu
from test_share import ask, names_of, open_metrics, whole


class Exporter:
    def __init__(self, machine, *options):
        self.environment = machine.daemon.environment()
        with socket.socket() as door:
            door.bind(("127.0.0.1", 0))
            self.port = door.getsockname()[1]
        self.process, self.words = self.start("--listen", str(self.port), "--probe", "nvml", *options)

    def start(self, *options):
        reader, writer = os.pipe()
        process = subprocess.Popen([TARN, "exporter", "--notify-fd", str(writer), *options], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=[writer], env=self.environment)
        os.close(writer)
        return process, read_all(reader, PATIENCE_S).decode().strip()

    def get(self, path="/metrics"):
        status, text = ask(self.port, path)
        assert status == 200
        return text

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        said = self.process.stderr.read().decode()
        self.process.stderr.close()
        assert "ERROR: AddressSanitizer" not in said and "runtime error:" not in said, said
        return code


@pytest.fixture
def machine(make_daemon, tmp_path):
    machine = Machine(make_daemon, tmp_path)
    machine.tell(*whole(0, use=80), *whole(1, use=20))
    return machine


@pytest.fixture
def exporter(machine):
    exporter = Exporter(machine)
    assert exporter.words == "ready", exporter.words
    yield exporter
    if exporter.process.poll() is None:
        exporter.stop()


def of_devices(text):
    """Lines about devices that do not depend on the request: no ages, no holders, no counters."""
    return {line for line in text.splitlines()
            if line.startswith(("tarn_gpu_", "DCGM_", "# HELP tarn_gpu_", "# HELP DCGM_", "# TYPE DCGM_"))
            and not re.match(r"(# HELP )?(tarn_gpu_(given|reading_age|read_seconds|foreign|energy)|DCGM_FI_DEV_TOTAL_ENERGY)", line)}


def test_it_says_what_the_daemon_says_of_devices(machine, exporter):
    machine.port = open_metrics(machine.daemon)
    machine.daemon.start()
    wait_until("both have read", lambda: all('tarn_gpu_gpu_use_ratio{uuid="GPU-1"' in text and "tarn_gpu_pcie_tx" in text
                                             for text in [exporter.get(), ask(machine.port, "/metrics")[1]]))
    ours, daemons = of_devices(exporter.get()), of_devices(ask(machine.port, "/metrics")[1])
    assert len(ours) > 100
    assert ours == daemons
    assert names_of(exporter.get("/metrics/dcgm")) == {name for name in names_of(exporter.get()) if name.startswith("DCGM_")}
    assert "DCGM_FI_DEV_GPU_UTIL_RATIO{" in exporter.get("/metrics/dcgm?names=new")
    text = exporter.get()
    assert "tarn_build_info{" in text
    for absent in ["tarn_job", "tarn_queue", "tarn_plan", "tarn_gpu_given", "tarn_journal", "tarn_alerts", "tarn_gpu_foreign"]:
        assert absent not in text, "who does not know it does not say 0"


def test_faults_are_there_and_are_over(machine, exporter):
    wait_until("it was read", lambda: 'tarn_gpu_power_watts{uuid="GPU-0"' in exporter.get())
    assert 'tarn_gpu_usable{uuid="GPU-0",gpu="0"' in exporter.get()
    machine.tell(gpu(0), gpu(1, error="GPU_IS_LOST"), "gpu 0 xid 79")
    wait_until("both are told", lambda: re.search(r'tarn_gpu_fault\{uuid="GPU-0",.*fault="reboot",.*xid="79"\} 1', exporter.get()) and
               re.search(r'tarn_gpu_fault\{uuid="GPU-1",.*fault="lost"', exporter.get()))
    assert re.search(r'tarn_gpu_usable\{uuid="GPU-0".*\} 0', exporter.get())
    assert 'tarn_gpu_power_watts{uuid="GPU-1"' not in exporter.get()
    assert re.search(r'tarn_gpu_xid_total\{uuid="GPU-0",.*xid="79",.*\} 1', exporter.get())
    machine.tell(gpu(0), gpu(1))
    wait_until("the one is back", lambda: re.search(r'tarn_gpu_usable\{uuid="GPU-1".*\} 1', exporter.get()))
    assert re.search(r'tarn_gpu_usable\{uuid="GPU-0".*\} 0', exporter.get()), "this one has to be looked at"


def test_the_slurm_job_of_a_process_is_told(machine, exporter):
    """Without control groups of Slurm, its environment tells."""
    def process(**variables):
        return subprocess.Popen(["sleep", "600"], env=dict(os.environ, **variables), stdin=subprocess.DEVNULL)

    started = [process(SLURM_JOB_ID="4711", SLURM_STEP_ID="0"), process(SLURM_JOB_ID="4711", SLURM_STEP_ID="0"),
               process(SLURM_JOB_ID="4711"), process(SLURM_JOB_ID="4712"), process()]
    try:
        machine.tell(gpu(0), gpu(1), *("gpu 0 process %d memory %d" % (p.pid, 1000 * (i + 1)) for i, p in enumerate(started[:3])),
                     *("gpu 1 process %d memory 100" % p.pid for p in started[2:]))
        wait_until("all are told", lambda: exporter.get().count("tarn_gpu_slurm_memory_bytes{") == 4)
        told = re.findall(r'tarn_gpu_slurm_memory_bytes\{uuid="(.*?)".*slurm_job="(\d+)",slurm_step="(.*?)"\} (.*)', exporter.get())
        assert {(uuid, job, step): float(value) / 2**20 for uuid, job, step, value in told} == {
            ("GPU-0", "4711", "0"): 3000, ("GPU-0", "4711", "batch"): 3000, ("GPU-1", "4711", "batch"): 100, ("GPU-1", "4712", "batch"): 100}
        use = re.findall(r'DCGM_FI_DEV_GPU_UTIL\{(.*)\}', exporter.get("/metrics/dcgm"))
        assert 'hpc_job="4711"' in use[0] and "hpc_job" not in use[1], "two jobs share the other one"
        gpus = json.loads(exporter.get("/v1/gpus"))["gpus"]
        assert [g["uuid"] for g in gpus] == ["GPU-0", "GPU-1"] and gpus[0]["reading"]["gpu_use"] == 0
        assert {p["pid"]: p["slurm"] for p in gpus[1]["processes"]} == {
            started[2].pid: {"job": 4711, "step": "batch"}, started[3].pid: {"job": 4712, "step": "batch"}, started[4].pid: None}
    finally:
        for one in started:
            one.kill()
            one.wait()
    machine.tell(gpu(0), gpu(1))
    wait_until("nobody is told", lambda: "tarn_gpu_slurm_memory_bytes{" not in exporter.get())


def test_one_that_hangs_delays_nobody_and_not_the_end(machine, exporter):
    wait_until("it was read", lambda: 'tarn_gpu_power_watts{uuid="GPU-1"' in exporter.get())
    machine.tell(gpu(0, use=33), gpu(1), "gpu 1 hang 600")
    wait_until("the other is read on", lambda: re.search(r'tarn_gpu_gpu_use_ratio\{uuid="GPU-0".*\} 0.33', exporter.get()))
    wait_until("it is told", lambda: re.search(r'tarn_gpu_fault\{uuid="GPU-1",.*fault="silent"', exporter.get()))
    assert exporter.stop() == 0


def test_nothing_else_is_there_and_what_is_wrong_is_told(machine, exporter):
    for method, path in [("POST", "/v1/gpus/GPU-0/clear"), ("GET", "/v1/nodes"), ("GET", "/v1/report"), ("POST", "/v1/jobs"), ("GET", "/")]:
        assert ask(exporter.port, path, method)[0] == 404, path
    process, words = exporter.start("--listen", str(exporter.port), "--probe", "nvml")
    assert words.startswith("listen: ") and "Address already in use" in words and process.wait(PATIENCE_S) == 1
    process.stderr.close()
    for options, expected in [(["--probe", "abacus"], "abacus"), (["--listen", "x"], "listen: address 'x'")]:
        process, words = exporter.start(*(["--listen", "0"] if "--listen" not in options else []), *options)
        assert expected in words and process.wait(PATIENCE_S) == 1
        process.stderr.close()
    process, _ = exporter.start("more")
    assert process.wait(PATIENCE_S) == 2
    process.stderr.close()


# ---- whose GPUs are ----


def files_of(folder):
    found = {}
    for path in folder.iterdir():
        try:
            found[path.name] = path.read_text()
        except FileNotFoundError:
            pass  # a new file that got its name meanwhile
    return found


@pytest.fixture
def mapped(make_daemon, tmp_path):
    folder = tmp_path / "jobs"
    folder.mkdir()
    for name in ["0", "7", "1.3", "README", "x.1"]:
        (folder / name).write_text("999\n")
    machine = Machine(make_daemon, tmp_path)
    machine.folder = folder
    machine.daemon.options += ["--hpc-job-dir", str(folder)]
    machine.daemon.start()
    return machine


def test_a_file_a_gpu_says_whose_it_is_and_goes_with_the_job(mapped):
    others = {"README": "999\n", "x.1": "999\n"}
    wait_until("old ones are gone", lambda: files_of(mapped.folder) == others)
    whole_one = mapped.api.submit(command=["sleep", "600"], gpus="1", cpus=0)
    wait_until("it runs", lambda: mapped.api.job(whole_one)["state"] == "running")
    shares = [mapped.api.submit(command=["sleep", "600"], gpus="0.5", cpus=0) for _ in range(2)]
    for job in shares:
        wait_until("it runs", lambda: mapped.api.job(job)["state"] == "running")
    index = mapped.api.job(whole_one)["devices"][0]["index"]
    expected = dict(others, **{str(index): "%d\n" % whole_one, str(1 - index): "%d\n%d\n" % tuple(shares)})
    wait_until("all is there", lambda: files_of(mapped.folder) == expected)
    mapped.daemon.kill()
    assert files_of(mapped.folder) == expected, "jobs go on"
    (mapped.folder / "5").write_text("999\n")
    mapped.daemon.start()
    wait_until("all is there again", lambda: files_of(mapped.folder) == expected)
    mapped.api.post("/v1/jobs/%d/cancel" % shares[0])
    expected[str(1 - index)] = "%d\n" % shares[1]
    wait_until("one has gone", lambda: files_of(mapped.folder) == expected)
    for job in [whole_one, shares[1]]:
        mapped.api.post("/v1/jobs/%d/cancel" % job)
    wait_until("all have gone", lambda: files_of(mapped.folder) == others)


def test_who_reads_meanwhile_never_sees_half_a_file(mapped):
    """Each file that is seen has whole lines of jobs that there were."""
    ids = set()
    for _ in range(15):
        jobs = [mapped.api.submit(command=["true"], gpus="0.5", cpus=0) for _ in range(4)]
        ids |= {"%d" % job for job in jobs}
        while any(mapped.api.job(job)["state"] != "ended" for job in jobs):
            for name in ["0", "1"]:
                try:
                    text = (mapped.folder / name).read_text()
                except FileNotFoundError:
                    continue
                assert text.endswith("\n") and (set(text.split()) <= ids | {"999"}), text


def test_a_folder_that_is_not_there_is_told(make_daemon, tmp_path):
    daemon = make_daemon()
    daemon.options += ["--hpc-job-dir", str(tmp_path / "none")]
    process, words = daemon.try_start()
    assert words == "hpc-job-dir %s: No such file or directory" % (tmp_path / "none")
    assert process.returncode == 1
