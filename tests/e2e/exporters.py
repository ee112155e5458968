# SPDX-License-Identifier: Apache-2.0
"""`tarn exporter` on a node of a cluster, with the stub driver that follows a script."""
import os
import signal
import socket
import subprocess

from tarn_test import PATIENCE_S, TARN, read_all
from test_gpu import STUB, gpu


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


class Exporter:
    def __init__(self, folder, address, port, gpus, options=()):
        os.makedirs(folder)
        self.script, self.listen, self.process = os.path.join(folder, "driver"), "%s:%d" % (address, port), None
        self.gpus, self.options = gpus, list(options)
        self.environment = dict(os.environ, TARN_NVML_LIBRARY=STUB, TARN_NVML_SCRIPT=self.script, TARN_DEVICE_ROOT=folder)
        self.tell()
        self.start()

    def tell(self, *lines, **values):
        """What the driver says from now on: of all GPUs, and in lines of its script."""
        with open(self.script + ".new", "w") as file:
            file.write("\n".join(["driver 550.54", *(gpu(i, **values) for i in range(self.gpus)), *lines]) + "\n")
        os.replace(self.script + ".new", self.script)

    def start(self):
        reader, writer = os.pipe()
        self.process = subprocess.Popen([TARN, "exporter", "--listen", self.listen, "--probe", "nvml", "--notify-fd", str(writer), *self.options],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[writer], env=self.environment)
        os.close(writer)
        assert read_all(reader, PATIENCE_S).decode().strip() == "ready"

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(PATIENCE_S) == 0
        self.process = None
