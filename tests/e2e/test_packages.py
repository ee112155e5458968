# SPDX-License-Identifier: Apache-2.0
"""The Debian packages, each in a fresh Debian of its own.

Slow: it builds the packages, and debootstrap downloads a base system. $TARN_DEBS names a folder with packages that are built."""

import glob
import os
import re
import socket
import subprocess
import urllib.request

import pytest

import tarn_test
from fresh_root import ROOT, check_job, run


@pytest.fixture(scope="module")
def installed(base, debs):
    root = base.copy("-installed")
    root.install(*root.put(debs["tarn"], debs["tarn-node"]))
    return root


def test_the_version_is_that_of_the_source():
    version = re.search(r"version: '([0-9.]+)'", tarn_test.read_file(os.path.join(ROOT, "meson.build")))[1]
    assert tarn_test.read_file(os.path.join(ROOT, "dist", "debian", "changelog")).startswith("tarn (%s) " % version)


def test_the_packages_run_a_job(installed):
    check_job(installed, "tarn")
    said = installed.run("tarn run --devices synthetic:h100:2 -- sh -c 'squeue --noheader | wc -l'; tarn down 2>/dev/null")
    assert re.search("^1$", said, re.M), said


def test_no_service_is_enabled_by_the_installation(installed):
    system = os.path.join(installed.path, "lib", "systemd", "system")
    for name, program in (("tarn.service", "/usr/bin/tarn"), ("tarn-exporter.service", "/usr/libexec/tarn/tarnd")):
        words = re.search(r"^ExecStart=(\S+)", tarn_test.read_file(os.path.join(system, name)), re.M)[1]
        assert words == program and os.access(installed.path + program, os.X_OK)
        assert not glob.glob(os.path.join(installed.path, "etc/systemd/system/*.wants", name))


def test_the_node_alone_exports_metrics(base, debs):
    root = base.copy("-node")
    root.install(*root.put(debs["tarn-node"]))
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


def test_a_program_of_others_uses_the_library(base, debs):
    root = base.copy("-library")
    root.install("gcc", "libc6-dev", "pkg-config", *root.put(debs["libtarn0"], debs["libtarn-dev"]))
    said = root.run("cc -std=c17 -Wall -Wextra -Werror /usr/share/doc/libtarn-dev/examples/decide.c $(pkg-config --cflags --libs tarn) -o /root/decide\n"
                    "/root/decide")
    assert said == tarn_test.read_file(os.path.join(ROOT, "examples", "library", "decide.out"))


def test_nothing_is_left_after_a_purge(base, debs, installed):
    root = installed.copy("-purged")
    root.run("dpkg --purge tarn tarn-node")
    left = run("find", root.path, "-xdev", "-path", root.path + "/root", "-prune", "-o", "-name", "*tarn*", "-print")
    assert [line for line in left.split() if "/var/lib/tarn" not in line and "/run/tarn" not in line] == []
