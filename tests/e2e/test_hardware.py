# SPDX-License-Identifier: Apache-2.0
"""The folder for machines with GPUs (tools/hardware), tried on stub drivers: its report, its end, what it lacks.

The stubs are in tests/device/stub: libnvidia-ml.so.1 and libcuda.so.1. nvidia-smi and MPS's control program are scripts.
"""

import glob
import json
import os
import re
import shutil
import signal
import stat
import subprocess

import pytest

from tarn_test import BUILD, HERE, IS_ROOT, is_sanitized, make_folder, remove_folder, wait_until
from test_gpu import MPS
from test_probes import make_tree

ROOT = os.path.dirname(os.path.dirname(HERE))
TOOL = os.path.join(ROOT, "tools", "hardware")
UUIDS = ["GPU-00000000-1111-2222-3333-44444444444%d" % i for i in range(2)]
NVIDIA_SMI = """#!/bin/sh
case "$*" in
topo*)
    printf '\\t\\033[4mGPU0\\tGPU1\\tCPU Affinity\\tNUMA Affinity\\033[0m\\n'
    printf 'GPU0\\t X \\tNV18\\t0-1\\t0\\nGPU1\\tNV18\\t X \\t0-1\\t0\\n\\nLegend:\\n\\n  X    = Self\\n' ;;
*uuid*)
    echo "0, %s, NVIDIA H100 80GB HBM3, 81559, 00000000:17:00.0"
    echo "1, %s, NVIDIA H100 80GB HBM3, 81559, 00000000:65:00.0" ;;
*temperature*) for i in 0 1; do echo "$i, 45, 270.00, 4, 30, 1980, 700.00, [N/A]"; done ;;
esac
""" % tuple(UUIDS)

pytestmark = pytest.mark.skipif(is_sanitized(), reason="the folder is for programs without sanitizers")


@pytest.fixture(scope="module")
def folder():
    """The folder, made once; its path has a space."""
    if not os.path.exists(os.path.join(BUILD, "tests", "hardware", "tarnd")):
        pytest.skip("no loader is known for this processor")
    place = make_folder()
    os.chmod(place, 0o755)
    path = os.path.join(place, "a folder")
    said = subprocess.run([TOOL, BUILD, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert re.search(r"a folder: \d+\.\d MiB; ", said), said
    yield path
    remove_folder(place)


class Target:
    """A machine with two GPUs, as far as the stubs go."""

    def __init__(self, folder, place):
        self.folder, self.place = folder, place
        for name in ["bin", "tmp", "out", "dev"]:
            os.mkdir(os.path.join(place, name))
            os.chmod(os.path.join(place, name), 0o777)
        self.script = os.path.join(place, "driver.txt")
        self.report = os.path.join(place, "out", "the report.md")
        lines = ["driver 550.54.15"]
        for i, bus in enumerate(["17", "65"]):
            lines.append('gpu %d name "NVIDIA H100 80GB HBM3" uuid %s pci 00000000:%s:00.0 memory 81559 used 4 minor %d use 30 power 270000' % (
                i, UUIDS[i], bus, i))
            lines.append("gpu %d power_limit 700000 temp 45 gpm 1 sm 70 engine 80 sm_clock 1980 ecc_corrected 0 ecc_uncorrected 0 recovery_action 0 compute_mode 0" % i)
        with open(self.script, "w") as file:
            file.write("\n".join(lines + ["link 0 1 18"]) + "\n")
        self.program("nvidia-smi", NVIDIA_SMI)
        self.program("mps", MPS)
        if IS_ROOT:
            for i in range(2):
                path = os.path.join(place, "dev", "nvidia%d" % i)
                os.mknod(path, stat.S_IFCHR, os.makedev(195, i))
                os.chmod(path, 0o666)
        stubs = os.path.join(BUILD, "tests", "device")
        self.driver = {
            "LD_LIBRARY_PATH": os.path.join(stubs, "nvml") + ":" + os.path.join(stubs, "cuda"), "TARN_NVML_SCRIPT": self.script,
            "STUB_CUDA_SCRIPT": self.script, "TARN_DEVICE_ROOT": place, "TARN_MPS_CONTROL": os.path.join(place, "bin", "mps")}
        self.bare = {"PATH": os.path.join(place, "bin") + ":/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": os.path.join(place, "tmp")}

    def program(self, name, text):
        path = os.path.join(self.place, "bin", name)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def start(self, *options, driver=True, **environment):
        environment = dict(self.bare, **(self.driver if driver else {}), **environment)
        return subprocess.Popen([os.path.join(self.folder, "check-hardware"), "--quick", "--out", self.report, *options], env=environment,
                                cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def program_of_check(self, *words):
        """One of its programs alone: its status, and what it said."""
        done = subprocess.run([os.path.join(self.folder, "bin", words[0]), *words[1:]], env=dict(self.bare, **self.driver), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        return done.returncode, done.stdout.strip()

    def tables(self):
        """Facts and checks of the report: name to the other cells."""
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in open(self.report) if line.startswith("| ")]
        return {row[0]: row[1] for row in rows if len(row) == 2}, {row[0]: row[1:] for row in rows if len(row) == 3 and row[0] != "check"}

    def is_clean(self):
        """Nothing of it runs, and its temporary folder is gone."""
        mark = ("CHECK_HARDWARE=" + os.path.join(self.place, "tmp")).encode()
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                if mark in open(path, "rb").read():
                    return False
            except OSError:
                pass
        return os.listdir(os.path.join(self.place, "tmp")) == []


@pytest.fixture
def target(folder):
    place = make_folder()
    os.chmod(place, 0o755)
    yield Target(folder, place)
    remove_folder(place)


def test_the_folder_is_small_and_has_all_that_its_programs_need(folder):
    files = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names]
    assert sum(os.path.getsize(path) for path in files) <= 60 * 2**20
    there = {os.path.basename(path) for path in files}
    for path in files:
        if "/bin/" in path or ".so" in path:
            dynamic = subprocess.run(["readelf", "-d", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
            assert set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)) <= there, path
    assert not [name for name in there if "nvidia" in name or "cuda.so" in name], "the driver's libraries are the target's"


def test_every_check_on_a_stub_has_its_row(target):
    process = target.start()
    said = process.communicate(timeout=500)[0]
    facts, checks = target.tables()
    fences = [checks.pop("fence, control groups v1"), checks.pop("fence, control groups v2")]
    assert "failed" not in [row[0] for row in fences], fences
    assert all(row[0] == "ok" and "refused 1 of 2" in row[1] or len(row[1]) > 10 for row in fences), fences
    impossible = {name: seen for name, (result, seen) in checks.items() if result == "not possible here"}
    assert impossible.pop("MIG instance made and removed") == "not asked for: --allow-mig"
    impossible.pop("PyTorch job", None)
    assert not impossible and {result for result, _ in checks.values()} <= {"ok", "not possible here"}, said
    assert process.returncode == 0
    for name, words in [("GPUs as in nvidia-smi", "2 GPUs, NVIDIA H100 80GB HBM3 (81559 MiB)"), ("topology as in nvidia-smi", "GPU 0: X NV18"),
                        ("readings as in nvidia-smi", "temperature agreed 4 times"), ("GPM readings (Hopper and later)", "busy: engine_active 0.8, sm_active 0.7"),
                        ("CUDA program out of memory", "81559 MiB taken"), ("a job sees its GPU only", UUIDS[0]),
                        ("half GPUs: programs at the same time", "4 programs on 2 GPUs"), ("MPS: two programs at the same time", "4 multiprocessors"),
                        ("MPS: memory limit of a share", "of 4096 MiB: 4096 MiB taken"),
                        ("many jobs, daemon killed, each runs once", "60 jobs in ")]:
        assert words in checks[name][1], (name, checks[name])
    assert facts["driver"] == "550.54.15 (a stub, not hardware)" and facts["machine"] == "2 x NVIDIA H100 80GB HBM3" and facts["CUDA"] == "none"
    assert "| nvmlDeviceGetTemperature |" in open(target.report).read() and "`tarn doctor`:" in open(target.report).read()
    assert set(UUIDS) == {device["uuid"] for device in json.load(open(target.report[:-3] + ".machine.json"))["gpus"]}
    assert target.is_clean()

    page = shutil.copy(os.path.join(ROOT, "doc", "hardware.md"), target.place)
    refused = subprocess.run([TOOL, "--merge", target.report, page], stderr=subprocess.PIPE, text=True)
    assert refused.returncode == 1 and "it was not made on hardware" in refused.stderr
    real = os.path.join(target.place, "real.md")
    with open(real, "w") as file:
        file.write(open(target.report).read().replace(" (a stub, not hardware)", ""))
    for _ in range(2):
        subprocess.run([TOOL, "--merge", real, page], check=True, stdout=subprocess.DEVNULL)
    merged = open(page).read()
    rows = {row.split(" | ")[0].strip("| "): row for row in merged.splitlines() if row.startswith("| ")}
    assert rows["check"].endswith(" | 2 x NVIDIA H100 80GB HBM3 | 2 x NVIDIA H100 80GB HBM3 |") and rows["driver"].endswith(" | 550.54.15 | 550.54.15 |")
    assert rows["MIG instance made and removed"].endswith(" | not possible here | not possible here |") and "not tried" not in merged.split("| check |")[1].split("\n\n")[0]


@pytest.mark.parametrize("glibc,row,number", [("", "daemon lists the GPUs", signal.SIGINT), ("folder", "/metrics over HTTP", signal.SIGINT),
                                              ("", "CUDA program out of memory", signal.SIGTERM)])
def test_an_interrupted_check_leaves_nothing(target, glibc, row, number):
    process = target.start(CHECK_HARDWARE_GLIBC=glibc)
    for line in process.stdout:
        if row in line:
            break
    assert line.startswith("ok"), line
    os.killpg(process.pid, number)
    said = process.communicate(timeout=200)[0]
    assert process.returncode == 130 and "interrupted" in said, said
    wait_until("it is clean", target.is_clean)
    assert os.listdir(os.path.dirname(target.report)) == []


def test_a_machine_without_a_driver_has_no_check_that_is_ok(target):
    if any(glob.glob(folder + "/libnvidia-ml.so*") for folder in ["/usr/lib64", "/usr/lib/x86_64-linux-gnu"]) or glob.glob("/sys/bus/pci/devices/*/drm"):
        pytest.skip("this machine has a driver")
    process = target.start("--allow-mig", driver=False, CHECK_HARDWARE_GLIBC="folder")
    said = process.communicate(timeout=100)[0]
    facts, checks = target.tables()
    assert process.returncode == 3 and {result for result, _ in checks.values()} == {"not possible here"}, said
    assert checks["the driver's library"][1] == "nvidia driver: not installed (no libnvidia-ml.so.1)"
    assert facts["driver"] == "none" and "the glibc of the folder" in facts["programs"]
    assert target.is_clean()


def test_gpus_of_other_makers_get_the_rows_of_the_daemon(target):
    make_tree(target.place, "mi300x")
    process = target.start(driver=False, TARN_DEVICE_ROOT=target.place)
    said = process.communicate(timeout=300)[0]
    facts, checks = target.tables()
    assert process.returncode == 0, said
    assert {name for name, (result, _) in checks.items() if result == "ok"} == {
        "daemon lists the GPUs", "/metrics over HTTP", "many jobs, daemon killed, each runs once", "gpus --record, played again", "nothing is left behind"}
    assert re.fullmatch(r"\d+ x AMD GPU", facts["machine"]) and "(amd)" in checks["daemon lists the GPUs"][1]
    assert checks["fence, control groups v2"][1] == "this check knows NVIDIA's device files only"


def test_a_driver_that_does_not_work_is_a_failure(target):
    with open(target.script, "a") as file:
        file.write("init error DRIVER_NOT_LOADED\n")
    process = target.start()
    process.communicate(timeout=100)
    checks = target.tables()[1]
    assert process.returncode == 1 and checks["the driver's library"] == ["failed", "nvidia driver: the driver is not loaded"]
    assert checks["a job sees its GPU only"][0] == "not possible here"


@pytest.mark.parametrize("old,new,command,words", [
    ("81559, 00000000:65", "40000, 00000000:65", "devices", "GPU 1 memory '81559', nvidia-smi '40000'"),
    (UUIDS[0], "GPU-x", "devices", "GPU 0 uuid '%s', nvidia-smi 'GPU-x'" % UUIDS[0]),
    ("\\tNV18\\t0-1", "\\tNV12\\t0-1", "topology", "GPU 0-1 NV18, nvidia-smi NV12"),
    ("$i, 45,", "$i, 85,", "readings 2", "temperature WRONG, agreed 0 of 4 times, at most 45 and 85"),
])
def test_what_nvidia_smi_says_otherwise_fails(target, old, new, command, words):
    assert old in NVIDIA_SMI
    target.program("nvidia-smi", NVIDIA_SMI.replace(old, new))
    status, said = target.program_of_check("check-driver", *command.split())
    assert status == 1 and words in said, said


def test_without_nvidia_smi_it_says_so(target):
    target.program("nvidia-smi", NVIDIA_SMI.replace("esac", "esac; exit 9"))
    assert target.program_of_check("check-driver", "topology") == (77, "nvidia-smi ended with status 9")
    os.unlink(os.path.join(target.place, "bin", "nvidia-smi"))
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has one")
    for command in ["devices", "topology", "readings 2"]:
        assert target.program_of_check("check-driver", *command.split()) == (77, "there is no nvidia-smi")


def test_a_mig_instance_is_made_and_removed(target):
    assert target.program_of_check("check-driver", "mig", "true")[0] == 77
    with open(target.script, "a") as file:
        file.write("gpu 1 mig 1\n")
    status, said = target.program_of_check("check-driver", "mig", "test ${CUDA_VISIBLE_DEVICES#MIG-} != $CUDA_VISIBLE_DEVICES")
    assert status == 0 and re.match(r"MIG-\S+ with 10194 MiB on GPU 1 made, CUDA in it worked, removed, 0 left", said), said
    status, said = target.program_of_check("check-driver", "mig", "exit 5")
    assert status == 1 and "CUDA in it FAILED, removed, 0 left" in said, said


def test_the_kernels_are_ptx_that_nvidia_s_assembler_takes(target):
    if not shutil.which("ptxas"):
        pytest.skip("there is no ptxas")
    status, ptx = target.program_of_check("check-cuda", "ptx")
    for arch in ["sm_70", "sm_80", "sm_90"]:
        subprocess.run(["ptxas", "-arch=" + arch, "-o", "/dev/null", "-"], input=ptx, text=True, check=True)


def test_programs_of_others_are_left_alone(target):
    with open(target.script, "a") as file:
        file.write("gpu 1 process 1 memory 1000\n")
    assert target.program_of_check("check-driver", "foreign") == (77, "other processes use the GPUs: pid 1 on GPU 1")


@pytest.mark.skipif(not IS_ROOT, reason="only root may become another user")
def test_an_ordinary_user_needs_no_place_that_it_may_write(target):
    environment = dict(target.bare, HOME="/nonexistent")
    done = subprocess.run(["./check-hardware", "--quick"], cwd=target.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=100, user=65534, group=65534, extra_groups=[])
    assert done.returncode in (0, 3) and "as an ordinary user" in done.stdout, done.stdout
    reports = os.listdir(target.bare["TMPDIR"])
    assert len(reports) == 1 and reports[0].startswith("report-") and "an ordinary user" in open(os.path.join(target.bare["TMPDIR"], reports[0])).read()


def test_the_script_alone_is_not_enough():
    done = subprocess.run([os.path.join(ROOT, "tests", "hardware", "check-hardware")], cwd="/", stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2 and "tests/hardware: there is no bin/tarn; make hardware makes the folder" in done.stderr


@pytest.mark.parametrize("options,words", [
    (["--resett"], "option '--resett': expected --out FILE, --quick, --allow-mig or --keep-modes"),
    (["--out"], "--out needs a file"),
    (["--out", "/proc/none/x.md"], "/proc/none/x.md: the report cannot be written there"),
])
def test_options_that_are_none_are_told(folder, options, words):
    done = subprocess.run([os.path.join(folder, "check-hardware"), *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2 and words in done.stderr
