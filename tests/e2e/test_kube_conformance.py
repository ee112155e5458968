# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' own end-to-end tests about the predicates of a scheduler (e2e.test), with tarn as the scheduler of their pods, on two real
nodes. It prints which pass. Those that tarn cannot pass have their reasons in doc/engines/kubernetes.md; TARN_CONFORMANCE=all runs them, too."""
import os
import re
import subprocess
import xml.etree.ElementTree

import pytest
import yaml

import kube_cluster
from kube import images, nodes, programs
from kube_cluster import wait_until
from tarn_test import HERE

REASON = kube_cluster.missing_engine(real=True) or ("e2e.test or agnhost not built: tools/kube/build e2e.test agnhost"
                                                    if programs.missing(["e2e.test", "agnhost"]) else None)
pytestmark = pytest.mark.skipif(REASON is not None, reason=REASON or "")
FOCUS = r"\[sig-scheduling\] SchedulerPredicates"
IS_ALL = os.environ.get("TARN_CONFORMANCE") == "all"
DOCUMENT = os.path.join(HERE, "..", "..", "doc", "engines", "kubernetes.md")


def image_names():
    listed = subprocess.run([programs.path("e2e.test"), "--list-images"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.split()
    return [name for name in listed if re.search(r"/pause:", name)], [name for name in listed if re.search(r"/agnhost:", name)]


def import_images(cluster):
    """Under the names that the tests use."""
    pause, agnhost = image_names()
    archives = [cluster.folder / "e2e-pause.tar", cluster.folder / "e2e-agnhost.tar"]
    images.archive(archives[0], pause, {"pause": str(cluster.folder / "pause")}, entrypoint=["/pause"], command=[])
    images.archive(archives[1], agnhost, {**images.files_of(images.PROGRAMS), "agnhost": programs.path("agnhost")}, links={"bin": "usr/bin"},
                   entrypoint=["/agnhost"], command=["pause"])
    for number in range(cluster.real):
        for archive in archives:
            nodes.import_image(cluster, number, archive)


def install_policy(cluster):
    """All pods of the tests are tarn's, as those of managed namespaces are."""
    with open(os.path.join(HERE, "..", "..", "dist", "kube", "manifests", "tarn.yaml"), encoding="utf-8") as file:
        things = [thing for thing in yaml.safe_load_all(file) if thing["kind"].startswith("MutatingAdmissionPolicy")]
    for thing in things:
        if thing["kind"] == "MutatingAdmissionPolicy":
            thing["spec"]["matchConstraints"]["namespaceSelector"] = {"matchExpressions": [{"key": "e2e-framework", "operator": "Exists"}]}
    cluster.api.apply(things)


@pytest.fixture(scope="module")
def cluster():
    with kube_cluster.running(real=2) as cluster:
        import_images(cluster)
        install_policy(cluster)
        yield cluster


def known():
    """Those that fail, in the table of the document."""
    with open(DOCUMENT, encoding="utf-8") as file:
        return re.findall(r"^\| `((?:validates|verify|when) [^`]*)` \|", file.read(), re.MULTILINE)


def test_predicates(make_daemon, cluster, tmp_path):
    daemon = make_daemon(devices="none")
    kube_cluster.start_daemon(daemon, cluster)
    report = tmp_path / "junit.xml"
    with open(tmp_path / "log", "wb") as log:
        subprocess.run([programs.path("e2e.test"), f"--kubeconfig={cluster.kubeconfig}", "--provider=skeleton", f"--ginkgo.focus={FOCUS}",
                        "--ginkgo.no-color", f"--ginkgo.skip={'no-such-test' if IS_ALL else '|'.join(map(re.escape, known()))}", f"--ginkgo.junit-report={report}", "--allowed-not-ready-nodes=0"],
                       cwd=tmp_path, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False)
    failed, passed = [], []
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name = re.sub(r"^\[It\] |\[[^]]*\] ?|SchedulerPredicates ", "", case.get("name")).strip()
        if case.get("name").startswith("[It]") and case.get("status") in ("passed", "failed", "timedout", "panicked"):
            (passed if case.get("status") == "passed" else failed).append(name)
    print("".join(f"passes  {name}\n" for name in passed) + "".join(f"fails   {name}\n" for name in failed))
    assert passed, (tmp_path / "log").read_text(errors="replace")[-3000:]
    unknown = sorted(set(failed) - set(known()))
    assert not unknown, f"{unknown}\n" + (tmp_path / "log").read_text(errors="replace")[-6000:]
    wait_until("tarn is alive", daemon.is_alive)
