# SPDX-License-Identifier: Apache-2.0
"""Packages from npm, in a folder of the build."""

import os
import subprocess

from tarn_test import BUILD


def fetch(name, version, inside="package"):
    """The folder of the unpacked package; None, and why, where it cannot be had. The package has no dependencies."""
    folder = os.path.join(BUILD, "npm", "node_modules", name)
    if os.path.exists(os.path.join(folder, "package.json")):
        return folder, ""
    archives = os.path.join(BUILD, "npm")
    os.makedirs(archives, exist_ok=True)
    try:
        done = subprocess.run(["npm", "pack", "--silent", "%s@%s" % (name, version)], cwd=archives, capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            return None, (done.stderr.strip().splitlines() or ["npm failed"])[-1]
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["tar", "-xzf", os.path.join(archives, done.stdout.split()[-1]), "-C", folder, "--strip-components=1", inside],
                       check=True, timeout=120)
    except (OSError, subprocess.SubprocessError) as failure:
        return None, str(failure)
    return folder, ""
