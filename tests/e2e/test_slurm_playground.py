# SPDX-License-Identifier: Apache-2.0
"""tools/slurm-playground: one command starts the cluster with tarn in front of it, and takes all of it down."""
import os
import signal
import subprocess
import tempfile

import pytest

from tarn_test import BUILD, HERE, kill_quietly, read_file, wait_until
from test_slurm_engine import pytestmark  # noqa: F401

PLAYGROUND = os.path.join(HERE, "..", "..", "tools", "slurm-playground")


def playground(folder, *words, **keys):
    return subprocess.run([PLAYGROUND, *words, "--build", BUILD, "--folder", folder], text=True, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=240, **keys)


def needs(reason, *words):
    """Skip where this command fails."""
    if subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
        pytest.skip(reason)


def needs_open_folders():
    needs("other users may not read the folder of tarn", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
          "sh", "-c", f"test -r {PLAYGROUND} && test -x {BUILD}/tarn")


@pytest.fixture
def folder():
    folder = tempfile.mkdtemp(prefix="sp", dir="/tmp")
    os.chmod(folder, 0o755)
    yield folder
    playground(folder, "stop")
    subprocess.run(["rm", "-r", folder], check=True)


def start(folder, *words):
    """It runs, and a shell of a user may begin."""
    process = subprocess.Popen([PLAYGROUND, "--build", BUILD, "--folder", folder, *words], text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = []
    for line in process.stdout:
        said.append(line)
        if "takes all of it down" in line:
            return process, "".join(said)
    raise AssertionError("".join(said))


def as_nobody(folder, line):
    return subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh", "-c",
                           f"cd /tmp; . {folder}/env; {line}"], text=True, capture_output=True, timeout=120).stdout


def processes_of(folder):
    """Whose command line names the folders of a playground."""
    places = read_file(os.path.join(folder, "places")).split()

    def left():
        lines = subprocess.run(["ps", "-eo", "pid=,args="], text=True, stdout=subprocess.PIPE).stdout.splitlines()
        return [line for line in lines if any(place + "/" in line for place in places)]
    return places, left


def test_a_user_tries_it_and_it_is_taken_down(folder):
    needs_open_folders()
    process, said = start(folder, "--nodes", "2")
    try:
        assert f". {folder}/env " in said and "sbatch " in said and "tarn why ID" in said
        places, left = processes_of(folder)
        hold = "--hold " if "--hold" in said else ""
        assert "Submitted batch job 1" in as_nobody(folder, f"sbatch {hold}-o /dev/null --gres=gpu:4 --wrap 'sleep 4321'")
        assert "job " in as_nobody(folder, "tarn submit --gpus h100:4 --wrap 'sleep 4321'")
        wait_until("both run as this user", lambda: as_nobody(folder, "squeue -h -o '%u %T'").split() ==
                   ["nobody", "RUNNING"] * 2)

        shell = subprocess.Popen(["sh", "-c", f". {folder}/env; while sleep 1; do :; done"], start_new_session=True)

        again = playground(folder)
        assert again.returncode == 1 and "one runs already; tools/slurm-playground stop ends it" in again.stderr
    finally:
        stopped = playground(folder, "stop")
    assert (stopped.returncode, stopped.stdout) == (0, "slurm-playground: stopped\n"), stopped
    assert process.wait(60) == 0
    try:
        assert shell.poll() is None, "the shell of a person goes on"
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()
    assert left() == [] and not any(os.path.exists(place) for place in places)
    assert os.listdir(folder) == ["lock"]
    assert playground(folder, "stop").stdout == "slurm-playground: none runs\n"


def test_what_a_crash_left_is_removed(folder):
    needs_open_folders()
    process, _ = start(folder, "--nodes", "1")
    places, left = processes_of(folder)
    as_nobody(folder, "tarn submit --gpus h100:1 --wrap 'sleep 4321'")
    wait_until("it runs", lambda: as_nobody(folder, "squeue -h -o '%T'").split() == ["RUNNING"])
    kill_quietly(process.pid)
    process.wait(60)
    assert left()
    assert playground(folder, "stop").stdout == "slurm-playground: removed what a playground had left\n"
    assert left() == [] and not any(os.path.exists(place) for place in places)


def test_ctrl_c_while_it_starts(folder):
    process = subprocess.Popen([PLAYGROUND, "--build", BUILD, "--folder", folder], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               text=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    assert "starting" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert "taking it down" in process.stdout.read()
    assert process.wait(120) == 0
    assert os.listdir(folder) == ["lock"]


def test_only_root_may_start_it(folder):
    needs_open_folders()
    done = playground(folder, preexec_fn=lambda: os.setuid(65534))
    assert (done.returncode, done.stdout) == (1, "") and "needs root, because slurmd starts jobs as their users: sudo" in done.stderr


def test_it_says_what_is_missing(folder):
    assert "--nodes 0: expected 1 to 16" in playground(folder, "--nodes", "0").stderr
    done = subprocess.run([PLAYGROUND, "--build", "/nowhere"], text=True, capture_output=True, timeout=60)
    assert "/nowhere/tarn: no such file; expected a build: make, or --build FOLDER" in done.stderr
    needs("a mount namespace needs more rights", "unshare", "-m", "true")
    hidden = subprocess.run(["unshare", "-m", "sh", "-c", f"PATH=$PATH:/usr/sbin; mount --bind /dev/null $(command -v slurmctld) && {PLAYGROUND} --build {BUILD} --folder {folder}"],
                            text=True, capture_output=True, timeout=60)
    assert "slurmctld is not installed\n  Debian's packages: apt-get install munge slurmctld" in hidden.stderr
