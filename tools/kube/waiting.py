# SPDX-License-Identifier: Apache-2.0
"""Waiting for what must come, with a bound against hangs."""
import os
import time

PATIENCE_S = float(os.environ.get("TARN_PATIENCE", "60")) * 3  # a cluster has more to do than a daemon


def wait_until(what, condition, patience=PATIENCE_S, pause=0.1):
    """What the condition returns when it is true."""
    end = time.monotonic() + patience
    while True:
        begin = time.monotonic()
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited {patience:.0f} s in vain until {what}")
        time.sleep(max(pause, time.monotonic() - begin))  # a question that is expensive is not asked all the time
