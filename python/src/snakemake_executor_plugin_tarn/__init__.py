# SPDX-License-Identifier: Apache-2.0
"""The executor "tarn" of Snakemake, which finds it by itself: snakemake --executor tarn --jobs 100

Threads and the resources mem_mb, runtime and gpu of a rule are translated; tarn_KEY is a key of a job file."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface
from snakemake_interface_executor_plugins.settings import CommonSettings
from tarn import Client, Error, NotFound

common_settings = CommonSettings(non_local_exec=True, implies_no_shared_fs=False, job_deploy_sources=False,
                                 pass_envvar_declarations_to_cmd=False, auto_deploy_default_storage_provider=False)

_KEYS = {"mem_mb": ("memory", "%dM"), "runtime": ("max_duration", "%dm"), "gpu": ("gpus", "%d")}


class Executor(RemoteExecutor):
    def __post_init__(self) -> None:
        self._client = Client()

    def _keys(self, job: JobExecutorInterface) -> dict[str, Any]:
        keys: dict[str, Any] = {"name": re.sub(r"[^\w.+@-]", "_", job.name, flags=re.ASCII)[:63], "cpus": job.threads}
        for name, value in job.resources.items():
            if name in _KEYS and value:
                key, form = _KEYS[name]
                keys[key] = form % value
            elif name.startswith("tarn_"):
                keys[name[len("tarn_"):]] = value
        return keys

    def run_job(self, job: JobExecutorInterface) -> None:
        try:
            number = self._client.submit(self.format_job_exec(job), **self._keys(job)).id
        except Error as failure:
            self.report_job_error(SubmittedJobInfo(job), msg="refused: %s. " % failure)
        else:
            self.report_job_submission(SubmittedJobInfo(job, external_jobid=str(number)))

    async def check_active_jobs(self, active_jobs: list[SubmittedJobInfo]) -> AsyncIterator[SubmittedJobInfo]:
        for info in active_jobs:
            async with self.status_rate_limiter:
                try:
                    job = self._client.get(info.external_jobid)
                except NotFound as failure:
                    self.report_job_error(info, msg="%s. " % failure)
                    continue
                except Error as failure:  # the daemon may come back
                    self.logger.warning("job %s: its state is not known: %s" % (info.external_jobid, failure))
                    yield info
                    continue
            if not job.is_ended:
                yield info
            elif job.is_ok:
                self.report_job_success(info)
            else:
                self.report_job_error(info, msg="job %s %s; tarn logs %s shows its output. " % (job.label, job.outcome, job.label))

    def cancel_jobs(self, active_jobs: list[SubmittedJobInfo]) -> None:
        for info in active_jobs:
            try:
                self._client.cancel(info.external_jobid)
            except Error as failure:
                self.logger.warning("job %s: not cancelled: %s" % (info.external_jobid, failure))
