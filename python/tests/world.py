# SPDX-License-Identifier: Apache-2.0
"""A real daemon for the tests of the package. They need no package but the standard library, so that any Python runs them:

    TARN_BUILD=build PYTHON -m unittest discover -s python/tests -t python/tests"""

import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SRC = os.path.join(HERE, "..", "src")
sys.path.insert(0, os.path.abspath(os.environ.get("TARN_PYTHON_SRC") or SRC))
sys.path.insert(0, os.path.abspath(os.path.join(HERE, "..", "..", "tests", "e2e")))
for name in [name for name in os.environ if name.startswith(("TARN_HOST", "TARN_SOCKET", "TARN_STATE", "SLURM_"))]:
    del os.environ[name]

import tarn
import tarn_test


class DaemonCase(unittest.TestCase):
    """Four synthetic GPUs, and a client."""

    def setUp(self):
        self.daemon = self.make_daemon()
        self.daemon.start()
        self.client = tarn.Client(self.daemon.socket, program=tarn_test.TARN)
        self.addCleanup(self.client.close)

    def make_daemon(self, **options):
        daemon = tarn_test.Daemon(tarn_test.make_folder(), **options)
        self.addCleanup(tarn_test.remove_folder, daemon.root)
        self.addCleanup(daemon.check_words)
        self.addCleanup(daemon.stop)
        return daemon

    def submit(self, command, **keys):
        keys["env"] = self.daemon.env(**keys.get("env", {}))
        return self.client.submit(command, **keys)

    def until(self, what, condition):
        return tarn_test.wait_until(what, condition)

    def until_state(self, job, *states):
        self.until("job %s is %s" % (job.id, states), lambda: self.client.get(job).state in states)
