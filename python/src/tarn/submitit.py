# SPDX-License-Identifier: Apache-2.0
"""The executor "tarn" of submitit (https://github.com/facebookincubator/submitit), which finds it by itself:

    executor = submitit.AutoExecutor(folder="runs", cluster="tarn")
    executor.update_parameters(gpus_per_node=2, timeout_min=60, tarn_queue="research", tarn_preemptible=True)
    print(executor.submit(train, 0.1).result())

The parameters that all executors share are translated; the others are keys of a job file, after "tarn_". A task of submitit is a
member of a gang, with its own part of the CPUs, memory and GPUs of its node."""

from __future__ import annotations

import logging
import os
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any, Optional, Union

from submitit.core import core, job_environment, utils

from .client import Client
from .document import JobKeys
from .errors import Error, NotFound
from .values import Job

_STATES = {"held": "PENDING", "waiting": "PENDING", "queued": "PENDING", "stopping": "COMPLETING", "ok": "COMPLETED"}
_log = logging.getLogger("submitit")


def _state(job: Job) -> str:
    """In the words of submitit, which knows by them what has not ended."""
    return _STATES.get(job.result or job.state or "", (job.result or "running").upper())


class TarnInfoWatcher(core.InfoWatcher):
    def update(self) -> None:
        self._num_calls += 1
        with Client() as client:
            for job_id in sorted(self._registered - self._finished):
                try:
                    state = _state(client.get(job_id))
                except NotFound:
                    state = "FORGOTTEN"  # it ended long ago
                except Error as failure:
                    _log.warning("job %s: its state is not known: %s", job_id, failure)
                    continue
                self._info_dict[job_id] = {"JobID": job_id, "State": state}
                if self.is_done(job_id, mode="cache"):
                    self._finished.add(job_id)
        self._last_status_check = time.time()

    def get_state(self, job_id: str, mode: str = "standard") -> str:
        return self.get_info(job_id, mode=mode).get("State", "UNKNOWN")


class TarnJob(core.Job[core.R]):
    watcher = TarnInfoWatcher()

    def cancel(self, check: bool = True) -> None:
        try:
            with Client() as client:
                client.cancel(self.job_id)
        except Error:
            if check:
                raise


class TarnJobEnvironment(job_environment.JobEnvironment):
    _env = {"job_id": "TARN_JOB_ID", "num_tasks": "TARN_WORLD_SIZE", "num_nodes": "TARN_NODE_COUNT", "node": "TARN_NODE_RANK",
            "global_rank": "TARN_RANK", "local_rank": "TARN_LOCAL_RANK"}

    @property
    def hostnames(self) -> list[str]:
        return os.environ["TARN_HOSTS"].split(",")

    def _handle_signals(self, paths: utils.JobPaths, submission: utils.DelayedSubmission) -> None:
        """tarn sends SIGTERM before it preempts a job, and itself starts the job again."""
        signal.signal(signal.SIGTERM, job_environment.SignalHandler(self, paths, submission).checkpoint_and_exit)


class TarnExecutor(core.PicklingExecutor):
    """Submits each function call as one job. `python` is the program that runs it, with its arguments."""

    job_class = TarnJob

    def __init__(self, folder: Union[str, Path], max_num_timeout: int = 3, max_pickle_size_gb: float = 1.0,
                 python: Optional[str] = None):
        super().__init__(folder, max_num_timeout, max_pickle_size_gb)
        self._python = [sys.executable] if python is None else shlex.split(python)
        self._throttling = 0

    @classmethod
    def affinity(cls) -> int:
        return 0  # only where it is asked for

    @classmethod
    def _valid_parameters(cls) -> set[str]:
        return set(JobKeys.__annotations__)

    def _num_tasks(self) -> int:
        return int(self.parameters.get("nodes", 1) * self.parameters.get("tasks_per_node", 1))

    def _document(self) -> dict[str, Any]:
        keys = dict(self.parameters)
        nodes, tasks = keys.pop("nodes", 1), keys.pop("tasks_per_node", 1)
        gpus = keys.pop("gpus_per_node", 0)
        if gpus % tasks:
            raise ValueError("gpus_per_node=%d: expected a multiple of tasks_per_node=%d; each task has GPUs of its own" % (gpus, tasks))
        document: dict[str, Any] = {"name": keys.pop("name", "submitit"), "output": str(self.folder / "%j_%t_log.out"), "append": True}
        if not keys.pop("stderr_to_stdout", False):
            document["error"] = str(self.folder / "%j_%t_log.err")
        if gpus:
            document["gpus"] = gpus // tasks
        for name, key, value in (("timeout_min", "max_duration", "%dm"), ("cpus_per_task", "cpus", "%d"), ("mem_gb", "memory", "%gG")):
            if name in keys:
                document[key] = value % (keys.pop(name) / (tasks if name == "mem_gb" else 1))
        if nodes * tasks > 1:
            document.update(ranks=nodes * tasks, nodes=nodes)
        document.update(keys)
        document["env"] = {**(keys.get("env") or {}), "SUBMITIT_EXECUTOR": self.name()}
        return document

    def _submit_command(self, command: str) -> TarnJob[Any]:
        document = self._document()
        is_early = "%j" in str(self.folder) and not document.get("hold")  # its folder has the number of the job
        if is_early:
            document["hold"] = True
        with Client() as client:
            number = client.submit([*self._python, "-u", "-m", "submitit.core._submit", str(self.folder)], **document).id
            job: TarnJob[Any] = TarnJob(self.folder, str(number), range(self._num_tasks()))
            job.paths.folder.mkdir(parents=True, exist_ok=True)
            if is_early:
                client.release(number)
        return job

    # The ways of executors that submit by a command.

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        raise NotImplementedError

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        raise NotImplementedError

    @staticmethod
    def _get_job_id_from_submission_command(string: Union[bytes, str]) -> str:
        raise NotImplementedError
