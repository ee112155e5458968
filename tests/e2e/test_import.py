# SPDX-License-Identifier: Apache-2.0
"""tarn import kueue and volcano: files, standard input, and a cluster that kubectl asks. What is made of them: tests/wire."""
import os
import pwd
import subprocess

from tarn_test import HERE, TARN, make_folder, remove_folder

FILES = os.path.join(HERE, "..", "wire", "import")
KUBECTL = """#!/bin/sh
case "$*" in *queues.scheduling.volcano.sh) cat {file};; *) echo "error: no such cluster" >&2; exit 1;; esac
"""


def tarn(*words, status=0, **keys):
    done = subprocess.run([TARN, "import", *words], text=True, capture_output=True, timeout=60, **keys)
    assert done.returncode == status, done
    return done.stdout, done.stderr


def read(name):
    with open(os.path.join(FILES, name)) as file:
        return file.read()


def test_files_and_standard_input(daemon):
    assert tarn("kueue", "kueue.yaml", cwd=FILES) == (read("kueue.tarn.yaml"), read("kueue.report"))
    out, told = tarn("volcano", "-", input=read("volcano.yaml"))
    assert (out, told) == (read("volcano.tarn.yaml"), read("volcano.report").replace("volcano.yaml", "-"))
    two, _ = tarn("volcano", "volcano.yaml", "-", cwd=FILES, input="{kind: Queue, metadata: {name: more}}")
    assert two == out + "  more:\n    weight: 1\n    preemptible: default\n"
    done = subprocess.run([TARN, "apply", "-y", "-f", os.path.join(FILES, "kueue.tarn.yaml")], env=daemon.environment(),
                          text=True, capture_output=True)
    assert done.returncode == 0, done
    assert "vision-user-queue" in {queue["name"] for queue in daemon.api.get("/v1/queues")["queues"]}


def test_a_cluster_is_asked_with_kubectl():
    folder = make_folder()
    try:
        kubectl = os.path.join(folder, "kubectl")
        with open(kubectl, "w") as file:
            file.write(KUBECTL.format(file=os.path.join(FILES, "volcano.yaml")))
        os.chmod(kubectl, 0o755)
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        assert tarn("volcano", env=environment)[0] == read("volcano.tarn.yaml")
        assert "no FILE is given, and the cluster does not answer: kubectl get" in tarn("kueue", env=environment, status=1)[1]
        assert "error: no such cluster" in tarn("kueue", env=environment, status=1)[1]
    finally:
        remove_folder(folder)


def test_wrong_words():
    assert "expected: tarn import slurm, tarn import kueue [FILE...] or tarn import volcano [FILE...]" in tarn("yarn", status=2)[1]
    assert "--conf is for slurm; expected: tarn import kueue [FILE...]" in tarn("kueue", "--conf", "x", status=2)[1]
    assert "/nowhere: No such file" in tarn("kueue", "/nowhere", status=1)[1]
    assert "-:1: ClusterQueue a: weight: \"x\", expected a weight such as 2" in tarn(
        "kueue", "-", status=1, input="{kind: ClusterQueue, metadata: {name: a}, spec: {fairSharing: {weight: x}}}")[1]


def test_a_daemon_applies_a_file_at_each_start(make_daemon):
    daemon = make_daemon(options=["--config", os.path.join(FILES, "volcano.tarn.yaml")])
    daemon.start()
    def changes():
        return [change["number"] for change in daemon.api.get("/v1/config/changes")["changes"]]

    assert "research" in {queue["name"] for queue in daemon.api.get("/v1/queues")["queues"]}
    assert changes() == [1]
    assert daemon.api.get("/v1/config/changes")["changes"][0]["user"] == pwd.getpwuid(os.geteuid()).pw_name
    daemon.terminate()
    daemon.start()
    assert changes() == [1]  # nothing has changed
    daemon.api.put("/v1/config", {"queues": {"other": {}}})
    daemon.kill()
    daemon.start()
    assert changes() == [3, 2, 1]  # the file's again
    assert "research" in {queue["name"] for queue in daemon.api.get("/v1/queues")["queues"]}


def test_a_daemon_does_not_start_with_a_wrong_file(make_daemon):
    daemon = make_daemon()
    path = os.path.join(daemon.root, "wrong.yaml")
    daemon.options += ["--config", path]
    assert "wrong.yaml: No such file" in daemon.try_start()[1]
    with open(path, "w") as file:
        file.write("queues:\n  a: {weigth: 2}\n")
    assert "wrong.yaml:2: queue a: unknown key 'weigth'; did you mean 'weight'?" in daemon.try_start()[1]
