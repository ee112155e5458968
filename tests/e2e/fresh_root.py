# SPDX-License-Identifier: Apache-2.0
"""A fresh Debian in a folder, made by debootstrap: no library of this machine is there."""

import glob
import json
import os
import re
import shutil
import subprocess
import urllib.request

import pytest

import tarn_test

ROOT = os.path.abspath(os.path.join(tarn_test.HERE, "..", ".."))
MIRROR = "http://deb.debian.org/debian"
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
# How names are looked up and whom to trust is this machine's affair; ca-certificates would overwrite a list in its own place.
OF_THE_MACHINE = {"/etc/resolv.conf": "/etc/resolv.conf", "/etc/ssl/certs/ca-certificates.crt": "/etc/certificates.crt"}


def run(*words, **more):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **{"timeout": 1800, **more})
    assert done.returncode == 0, (words, done.stdout[-4000:])
    return done.stdout


def need(*programs):
    """Skips where one of these is not installed."""
    absent = [name for name in programs if not shutil.which(name, path=PATH)]
    if absent:
        pytest.skip("not installed: " + ", ".join(absent))


class Root:
    """A Debian in a folder. What runs there ends with each call, so that nothing is left."""

    def __init__(self, path):
        self.path = path

    def run(self, script):
        words = ('mount -t proc proc "$1/proc" && exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root '
                 'DEBIAN_FRONTEND=noninteractive %s chroot "$1" sh -ec "$2"')
        words %= "PIP_CERT=/etc/certificates.crt" if os.path.exists(self.path + "/etc/certificates.crt") else ""
        return run("unshare", "-mpf", "--kill-child", "sh", "-c", words, "sh", self.path, script)

    def copy(self, name):
        path = self.path + name
        run("cp", "-a", self.path, path)
        return Root(path)

    def put(self, *paths):
        """Copies files to /root of it; their names there."""
        for path in paths:
            shutil.copy(path, os.path.join(self.path, "root"))
        return ["/root/" + os.path.basename(path) for path in paths]

    def install(self, *packages):
        self.run("apt-get -q update; apt-get -q install -y --no-install-recommends " + " ".join(packages))


def make(folder, release):
    """Debian's release of this name, below the folder."""
    if not tarn_test.IS_ROOT:
        pytest.skip("needs root, for debootstrap")
    need("debootstrap", "unshare")
    if tarn_test.is_sanitized():
        pytest.skip("a sanitized build is not packaged")
    try:
        urllib.request.urlopen("%s/dists/%s/InRelease" % (MIRROR, release), timeout=30).close()
    except OSError as failure:
        pytest.skip("%s of %s cannot be reached: %s" % (release, MIRROR, failure))
    root = Root(os.path.join(folder, release))
    run("debootstrap", "--variant=minbase", release, root.path, MIRROR, env=dict(os.environ, PATH=PATH))
    for path, name in OF_THE_MACHINE.items():
        if os.path.exists(path):
            shutil.copy(path, root.path + name)
    return root


def build_debs(source, folder):
    """The packages of the source in this folder, which tools/deb also checks with lintian: name -> path."""
    need("dpkg-buildpackage", "dh", "lintian")
    run(os.path.join(source, "tools", "deb"), folder, env=dict(os.environ, PATH="/usr/lib/ccache:" + PATH))
    return find_debs(folder)


def find_debs(folder):
    return {os.path.basename(path).split("_")[0]: path for path in glob.glob(os.path.join(folder, "*.deb"))}


JOB = """
%(tarn)s run --devices synthetic:h100:2 --gpus 1 -- sh -c 'echo gpus $TARN_GPU_COUNT; exit 3' || echo status $?
%(tarn)s ls --all --json
%(tarn)s down 2>/dev/null
"""


def check_job(root, tarn):
    """It runs a job there with this tarn."""
    said = root.run(JOB % {"tarn": tarn})
    assert re.search("^gpus 1$", said, re.M) and re.search("^status 3$", said, re.M), said
    jobs = json.loads(next(line for line in said.splitlines() if line.startswith("{")))["jobs"]
    assert [(job["result"], job["exit_code"]) for job in jobs] == [("failed", 3)]
