# SPDX-License-Identifier: Apache-2.0
"""The Debian packages and the archive, each in a fresh Debian of its own: no library of this machine is there.

Slow: it builds the packages, and debootstrap downloads a base system. $TARN_DEBS names a folder with packages that are built."""

import glob
import json
import os
import re
import shutil
import socket
import subprocess
import tarfile
import urllib.request

import pytest

import tarn_test

ROOT = os.path.abspath(os.path.join(tarn_test.HERE, "..", ".."))
MIRROR = "http://deb.debian.org/debian"
NEEDED = ["debootstrap", "dpkg-buildpackage", "dh", "lintian", "unshare", "strip", "objdump"]


def run(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=900, **more)
    assert done.returncode == 0, (words, done.stdout[-4000:])
    return done.stdout


class Root:
    """A Debian in a folder. What runs there ends with each call, so that nothing is left."""

    def __init__(self, path):
        self.path = path

    def run(self, script):
        words = ('mount -t proc proc "$1/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root '
                 'DEBIAN_FRONTEND=noninteractive chroot "$1" sh -ec "$2"')
        return run("unshare", "-mpf", "--kill-child", "sh", "-c", words, "sh", self.path, script)

    def copy(self, name):
        path = self.path + name
        run("cp", "-a", self.path, path)
        return Root(path)


@pytest.fixture(scope="module")
def base():
    if not tarn_test.IS_ROOT:
        pytest.skip("needs root, for debootstrap")
    absent = [name for name in NEEDED if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if absent:
        pytest.skip("not installed: " + ", ".join(absent))
    if tarn_test.is_sanitized():
        pytest.skip("a sanitized build is not packaged")
    try:
        urllib.request.urlopen(MIRROR + "/dists/bookworm/InRelease", timeout=30).close()
    except OSError as failure:
        pytest.skip("%s cannot be reached: %s" % (MIRROR, failure))
    folder = tarn_test.make_folder()
    os.chmod(folder, 0o755)
    base = Root(os.path.join(folder, "base"))
    run("debootstrap", "--variant=minbase", "bookworm", base.path, MIRROR,
        env=dict(os.environ, PATH=os.environ["PATH"] + ":/usr/sbin:/sbin"))
    if os.path.exists("/etc/resolv.conf"):
        shutil.copy("/etc/resolv.conf", os.path.join(base.path, "etc", "resolv.conf"))
    yield base
    tarn_test.remove_folder(folder)


@pytest.fixture(scope="module")
def debs(base):
    """The packages, which tools/deb has also checked with lintian."""
    folder = os.environ.get("TARN_DEBS") or os.path.join(os.path.dirname(base.path), "debs")
    if not os.environ.get("TARN_DEBS"):
        run(os.path.join(ROOT, "tools", "deb"), folder, env=dict(os.environ, PATH="/usr/lib/ccache:" + os.environ["PATH"]))
    found = {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(folder, "*.deb"))}
    assert sorted(found) == ["tarn", "tarn-node", "tarn-slurm"]
    return found


@pytest.fixture(scope="module")
def installed(base, debs):
    root = base.copy("-installed")
    for name in ("tarn", "tarn-node"):
        shutil.copy(debs[name], os.path.join(root.path, "root"))
    root.run("apt-get -q update; apt-get -q install -y --no-install-recommends /root/*.deb")
    return root


JOB = """
%(tarn)s run --devices synthetic:h100:2 --gpus 1 -- sh -c 'echo gpus $TARN_GPU_COUNT; squeue --noheader | wc -l; exit 3' || echo status $?
%(tarn)s ls --all --json
%(tarn)s down 2>/dev/null
"""


def check_job(said):
    assert re.search(r"^gpus 1\n1$", said, re.M) and re.search("^status 3$", said, re.M), said
    jobs = json.loads(next(line for line in said.splitlines() if line.startswith("{")))["jobs"]
    assert [(job["result"], job["exit_code"]) for job in jobs] == [("failed", 3)]


def test_the_version_is_that_of_the_source():
    version = re.search(r"version: '([0-9.]+)'", tarn_test.read_file(os.path.join(ROOT, "meson.build")))[1]
    assert tarn_test.read_file(os.path.join(ROOT, "dist", "debian", "changelog")).startswith("tarn (%s) " % version)


def test_the_packages_run_a_job(installed):
    check_job(installed.run(JOB % {"tarn": "tarn"}))


def test_no_service_is_enabled_by_the_installation(installed):
    system = os.path.join(installed.path, "lib", "systemd", "system")
    for name, program in (("tarn.service", "/usr/bin/tarn"), ("tarn-exporter.service", "/usr/libexec/tarn/tarnd")):
        words = re.search(r"^ExecStart=(\S+)", tarn_test.read_file(os.path.join(system, name)), re.M)[1]
        assert words == program and os.access(installed.path + program, os.X_OK)
        assert not glob.glob(os.path.join(installed.path, "etc/systemd/system/*.wants", name))


def test_the_node_alone_exports_metrics(base, debs):
    root = base.copy("-node")
    shutil.copy(debs["tarn-node"], os.path.join(root.path, "root"))
    root.run("apt-get -q update; apt-get -q install -y --no-install-recommends /root/*.deb")
    assert not os.path.exists(root.path + "/usr/bin/tarn")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(["unshare", "-mpf", "--kill-child", "sh", "-c",
                                'mount -t proc proc "$1/proc" && exec chroot "$1" /usr/libexec/tarn/tarnd exporter '
                                '--probe synthetic:h100:2 --listen "127.0.0.1:$2"', "sh", root.path, str(port)])
    try:
        def ask():
            try:
                with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=5) as reply:
                    return reply.read().decode()
            except OSError:
                return None

        text = tarn_test.wait_until("the exporter answers", ask)
        assert len(re.findall(r'^tarn_gpu_\w+{uuid=', text, re.M)) >= 2, text[:2000]
    finally:
        process.kill()
        process.wait()


def test_nothing_is_left_after_a_purge(base, debs, installed):
    root = installed.copy("-purged")
    root.run("dpkg --purge tarn tarn-node")
    left = run("find", root.path, "-xdev", "-path", root.path + "/root", "-prune", "-o", "-name", "*tarn*", "-print")
    assert [line for line in left.split() if "/var/lib/tarn" not in line and "/run/tarn" not in line] == []


def test_the_archive_runs_where_no_library_is_installed(base, tmp_path):
    path = run(os.path.join(ROOT, "tools", "tarball"), tarn_test.BUILD, str(tmp_path)).strip()
    root = base.copy("-archive")
    with tarfile.open(path) as archive:
        archive.extractall(os.path.join(root.path, "opt"))
    name = os.path.basename(path).replace(".tar.xz", "")
    root.run("mv /opt/%s /opt/moved; ln -s /opt/moved/bin/tarn /usr/bin/tarn" % name)
    check_job(root.run(JOB % {"tarn": "tarn"}))
    said = root.run("ldd /opt/moved/bin/tarnd | grep -v '/opt/moved/' | sed 's/ (.*//; s/.*=> //'")
    system = {os.path.basename(line.strip()) for line in said.splitlines()}
    assert system <= {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "libresolv.so.2", "ld-linux-x86-64.so.2",
                      "ld-linux-aarch64.so.1"}, system
