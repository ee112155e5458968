# SPDX-License-Identifier: Apache-2.0
"""Client of tarn: submit jobs and pipelines, follow them, and call functions as jobs.

    import tarn

    with tarn.Client() as client:
        job = client.submit("python train.py", gpus=1, max_duration="2h")
        print(client.wait(job).outcome)
"""

from ._calls import Page
from ._run import RemoteTraceback
from ._version import VERSION as __version__
from .aio import AsyncClient
from .client import Client
from .document import JobKeys, Pipeline, Stage, StageKeys
from .errors import (BadRequest, Conflict, ConnectionLost, Crowded, DiskFull, Error, EventsLost, Forbidden, Internal, JobFailed, Never, NoDaemon,
                     NotFound, Shortage, Stopping, TooLarge, TooMany, Unauthorized, WaitTimeout)
from .executor import Executor, JobFuture
from .inside import attempt, checkpoint, checkpoint_every, checkpoint_folder, job_id, report, should_stop
from .values import Event, Job, JobLike, Submitted

__all__ = [
    "AsyncClient", "BadRequest", "Client", "Conflict", "ConnectionLost", "Crowded", "DiskFull", "Error", "Event", "EventsLost", "Executor",
    "Forbidden", "Internal", "Job", "JobFailed", "JobFuture", "JobKeys", "JobLike", "Never", "NoDaemon", "NotFound", "Page",
    "Pipeline", "RemoteTraceback", "Shortage", "Stage", "StageKeys", "Stopping", "Submitted", "TooLarge", "TooMany", "Unauthorized", "WaitTimeout",
    "__version__", "attempt", "checkpoint", "checkpoint_every", "checkpoint_folder", "job_id", "report", "should_stop",
]
