# SPDX-License-Identifier: Apache-2.0
"""Packages from PyPI, in a folder of the build that later runs find again."""

import os
import subprocess
import sys

from tarn_test import BUILD


def install(name, *packages, patience=300):
    """The folder with the programs of these packages; or None, and why they cannot be had."""
    folder = os.path.join(BUILD, name)
    marker = os.path.join(folder, "installed")
    wanted = "\n".join(packages)
    if os.path.exists(marker):
        with open(marker) as file:
            if file.read() == wanted:
                return os.path.join(folder, "bin"), ""
    for command in ([sys.executable, "-m", "venv", folder],
                    [os.path.join(folder, "bin", "pip"), "install", "-q", "--disable-pip-version-check", *packages]):
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=patience)
        except (OSError, subprocess.TimeoutExpired) as failure:
            return None, str(failure)
        if done.returncode != 0:
            said = (done.stdout.strip().splitlines() or ["it does not say why"])[-1]
            return None, "%s: %s" % (os.path.basename(command[0]), said)
    with open(marker, "w") as file:
        file.write(wanted)
    return os.path.join(folder, "bin"), ""
