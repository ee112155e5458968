# SPDX-License-Identifier: Apache-2.0
"""tarn's own jobs as pods, in real containers on a real Kubernetes (kube_cluster.py)."""
import json
import os
import shutil
import subprocess

import pytest

import kube_cluster
from kube.images import TOOLS
from kube_cluster import SYSTEM, is_active, mounting, wait_until
from tarn_test import HERE, TARN

pytestmark = kube_cluster.needed(real=True, engine=True)
EXAMPLE = os.path.join(HERE, "..", "..", "examples", "digits")


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(real=1) as cluster:
        yield cluster


def template(folders):
    """A pod template that mounts these folders of the machine at the same paths."""
    container, spec = mounting(folders)
    return json.dumps({"spec": {"containers": [{"image": TOOLS, **container}], **spec}})


@pytest.fixture
def daemon(make_daemon, cluster, tmp_path):
    daemon = make_daemon(devices="none")
    templates = tmp_path / "templates"
    templates.mkdir()
    config = tmp_path / "tarn.yaml"
    config.write_text(f"kube: {{templates: {templates}, devices: exact}}\nqueues: {{research: {{weight: 2}}, production: {{weight: 1}}}}\n")
    os.makedirs(daemon.state, exist_ok=True)
    (templates / "default.yaml").write_text(template([daemon.state, str(tmp_path), *SYSTEM]))
    daemon.options += ["--config", str(config)]
    kube_cluster.start_daemon(daemon, cluster)
    yield daemon
    wait_until("no pod is left", lambda: not cluster.api.pods("default"))


def run(daemon, folder, *words):
    return subprocess.run([TARN, "run", *words], cwd=folder, text=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=600,
                          env=daemon.environment())


def test_a_job_has_its_output_status_and_gpus(daemon, tmp_path):
    done = run(daemon, tmp_path, "--gpus", "2", "--", "sh", "-c", "echo job $TARN_JOB_ID on $(hostname); pwd; exit 3")
    assert done.returncode == 3, done
    first, second = done.stdout.splitlines()
    assert first.startswith("job 1 on tarn-") and second == str(tmp_path)
    assert daemon.api.job(1)["exit_code"] == 3


def test_a_job_has_the_file_mode_mask_of_its_submitter(daemon, tmp_path):
    done = subprocess.run(["sh", "-c", 'umask 027; exec "$@"', "sh", TARN, "run", "--", "sh", "-c", "umask; echo $0", "it's $x"], cwd=tmp_path, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=600, env=daemon.environment())
    assert done.returncode == 0 and done.stdout == "0027\nit's $x\n", done


def test_members_of_a_gang_find_each_other(daemon, cluster, tmp_path):
    done = run(daemon, tmp_path, "--ranks", "2", "--", "sh", "-c", "echo $RANK of $WORLD_SIZE by $MASTER_ADDR")
    assert done.returncode == 0, done
    lines = [daemon.api.output(1, rank=rank) for rank in range(2)]
    assert [line.partition(" by")[0] for line in lines] == ["0 of 2", "1 of 2"]
    master, = {line.rpartition(" ")[2].strip() for line in lines}
    assert master.startswith("r0.tarn-") and master.endswith(".default.svc")
    wait_until("its service is gone", lambda: not [one for one in cluster.api.get("/api/v1/namespaces/default/services")["items"]
                                                   if one["metadata"]["name"].startswith("tarn-")])


def test_a_program_that_does_not_exist_fails_with_its_name(daemon, tmp_path):
    number = daemon.api.submit({"command": ["/no/such/program"], "sender_cwd": str(tmp_path)})
    job = daemon.api.wait_end(number)
    assert job["result"] == "failed" and job["state"] == "ended"


def test_a_job_that_is_cancelled_ends_its_pod(daemon, cluster, tmp_path):
    number = daemon.api.submit({"command": ["sleep", "1000"], "gpus": "1", "grace": "1s", "sender_cwd": str(tmp_path)})
    daemon.api.wait_state(number, "running")
    subprocess.run([TARN, "cancel", str(number)], env=daemon.environment(), check=True, capture_output=True)
    assert daemon.api.wait_end(number)["result"] == "cancelled"
    wait_until("its pod has ended", lambda: not [one for one in cluster.api.pods("default") if is_active(one)])


def test_a_daemon_that_was_killed_goes_on_with_the_output(daemon, tmp_path):
    number = daemon.api.submit({"run": "echo before; while [ ! -e go ]; do sleep 0.1; done; echo after", "sender_cwd": str(tmp_path)})
    daemon.api.wait_state(number, "running")
    wait_until("it has said something", lambda: "before" in daemon.api.output(number))
    daemon.kill()
    (tmp_path / "go").touch()
    daemon.start()
    assert daemon.api.wait_end(number)["result"] == "ok"
    assert daemon.api.output(number) == "before\nafter\n"


def test_without_a_template_a_job_says_what_is_missing(daemon, tmp_path):
    os.unlink(tmp_path / "templates" / "default.yaml")
    number = daemon.api.submit({"command": ["true"], "sender_cwd": str(tmp_path)})
    job = daemon.api.wait_end(number)
    assert job["result"] == "failed" and "pod template" in job["reason"] and "default.yaml" in job["reason"], job


def test_a_job_whose_image_has_no_valid_name_fails_with_the_reason(daemon, tmp_path):
    (tmp_path / "templates" / "default.yaml").write_text("spec: {containers: [{image: 'No Such:Image'}]}")
    number = daemon.api.submit({"command": ["true"], "sender_cwd": str(tmp_path)})
    job = daemon.api.wait_end(number)
    assert job["result"] == "failed" and "InvalidImageName" in job["reason"], job


def test_why_tells_that_an_image_cannot_be_pulled(daemon, tmp_path):
    (tmp_path / "templates" / "default.yaml").write_text("spec: {containers: [{image: 'localhost/no-such:1', imagePullPolicy: IfNotPresent}]}")
    number = daemon.api.submit({"command": ["true"], "sender_cwd": str(tmp_path)})
    wait_until("it says so", lambda: "ImagePull" in (daemon.api.why(number)["engine"] or ""))
    assert daemon.api.job(number)["state"] == "granted"
    subprocess.run([TARN, "cancel", str(number)], env=daemon.environment(), check=True, capture_output=True)
    assert daemon.api.wait_end(number)["result"] == "cancelled"


needs_learning = pytest.mark.skipif(
    subprocess.run(["/usr/bin/python3", "-c", "import numpy, sklearn"], stderr=subprocess.DEVNULL).returncode != 0,
    reason="python3-numpy or python3-sklearn is not installed")


@needs_learning
def test_the_example_digits_runs_unchanged(daemon, tmp_path):
    folder = tmp_path / "digits"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    done = run(daemon, folder, "-f", "digits.yaml")
    assert done.returncode == 0, done
    jobs = daemon.api.jobs()
    assert len(jobs) == 15 and {job["result"] for job in jobs} == {"ok"}, [(job["label"], job["result"]) for job in jobs]
    daemon.verify()
