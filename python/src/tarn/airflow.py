# SPDX-License-Identifier: Apache-2.0
"""An operator for Airflow (https://airflow.apache.org), version 3: each run of the task is a job.

    TarnOperator(task_id="train", command="python train.py --day {{ ds }}", job={"gpus": "h100:2", "queue": "research"})"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from airflow.exceptions import AirflowException
from airflow.sdk import BaseOperator

from .client import Client
from .errors import Error


class TarnOperator(BaseOperator):
    """`command` is text for /bin/sh, or a program and its arguments; `job` has keys of a job file. Both are templates.

    The output of the job is in the log of the task, and its number is the result. A task that is stopped cancels its job."""

    template_fields: Sequence[str] = ("command", "job")

    def __init__(self, *, command: Union[str, Sequence[str]], job: Optional[Mapping[str, Any]] = None, **keys: Any):
        super().__init__(**keys)
        self.command = command
        self.job = dict(job or {})
        self._number: Optional[int] = None

    def execute(self, context: Any) -> int:
        with Client() as client:
            number = self._number = client.submit(self.command, **{"name": self.task_id[:63], **self.job}).id
            self.log.info("job %d: submitted", number)
            rest = ""
            for text in client.follow(number):
                *lines, rest = (rest + text).split("\n")
                for line in lines:
                    self.log.info("%s", line)
            if rest:
                self.log.info("%s", rest)
            job = client.wait(number)
        if not job.is_ok:
            raise AirflowException("job %s %s" % (job.label, job.outcome))
        return number

    def on_kill(self) -> None:
        if self._number is not None:
            try:
                with Client() as client:
                    client.cancel(self._number)
            except Error as failure:
                self.log.warning("job %d: not cancelled: %s", self._number, failure)
