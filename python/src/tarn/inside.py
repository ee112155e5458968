# SPDX-License-Identifier: Apache-2.0
"""What a program calls inside a job."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterable
from typing import Optional, Union

from ._calls import REPORT
from .client import Client

_asked_to_stop = False


def job_id() -> Optional[int]:
    """The number of the job that this process belongs to; None outside of jobs."""
    value = os.environ.get("TARN_JOB_ID")
    return int(value) if value else None


def attempt() -> int:
    """1 in the first run of the job, 2 after its first restart; 1 outside of jobs."""
    return int(os.environ.get("TARN_ATTEMPT") or 1)


def checkpoint_folder() -> Optional[pathlib.Path]:
    """The folder for checkpoints, which all attempts of the job share; None if the job has none."""
    value = os.environ.get("TARN_CHECKPOINT")
    return pathlib.Path(value) if value else None


def checkpoint_every() -> Optional[float]:
    """The interval in seconds at which the job should save its work; None if none is set."""
    value = os.environ.get("TARN_CHECKPOINT_EVERY")
    return float(value) if value else None


def checkpoint(path: Union[str, os.PathLike[str], None] = None) -> None:
    """Report that the job has saved its work, to the file or folder `path` if that is given.

    tarn counts lost work from this moment on when it chooses jobs to preempt. The path is only checked: tarn does not keep it.
    Outside of a job nothing is reported."""
    if path is not None and not os.path.exists(path):
        raise FileNotFoundError("checkpoint %s: no such file or folder; report it after saving" % os.fspath(path))
    number = job_id()
    if number is None:
        return
    with Client() as client:
        client.checkpointed(number)


def report(**values: object) -> None:
    """Report values such as loss=0.3, step=100 or samples_per_second=1200; Client.reports() reads them, also while the job runs.

    They are a line of the standard output, with the time, so they are kept as long as the output is. A value is a number, text,
    True, False, None, or what float() takes."""
    line = REPORT + json.dumps({"time": round(time.time(), 3), **values}, default=float)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _on_signal(number: int, frame: object) -> None:
    global _asked_to_stop
    _asked_to_stop = True


def should_stop(signals: Iterable[int] = (signal.SIGTERM,)) -> bool:
    """Whether tarn has asked the job to stop: save the work, then exit before the grace period ends.

    The first call, which must be in the main thread, catches the signals from then on, so that they no longer end the process.
    Name the signal here if the job sets checkpoint: {signal: ...}."""
    for number in signals:
        if signal.getsignal(number) is not _on_signal:
            signal.signal(number, _on_signal)
    return _asked_to_stop
