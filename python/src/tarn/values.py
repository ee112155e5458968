# SPDX-License-Identifier: Apache-2.0
"""Values that calls return: jobs, submissions and events."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Optional, Union


def time_of(text: Optional[str]) -> Optional[datetime]:
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


@dataclass(frozen=True)
class Submitted:
    """An accepted job, array, matrix or pipeline.

    `kind` is job, array, stage (a matrix outside a pipeline), pipeline or cron. `job_ids` has at most the first 100 jobs."""

    id: int
    kind: str
    name: str
    job_ids: tuple[int, ...]
    waits: Optional[str]  # why it waits, as far as it is known
    expected_start: Optional[datetime]
    raw: dict[str, Any] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Job:
    """A job, or an array, stage or pipeline, as the daemon described it at one moment.

    `raw` is the whole description (doc/spec/05-api.md); `job["cost"]` reads from it. A group (`kind` is not "job") has no
    state, and its result is `ok` or `failed` when all its jobs have ended."""

    id: int
    label: str  # the displayed number: 7, or 7_3 for a task of an array
    kind: str
    name: str
    user: Optional[str]
    queue: Optional[str]
    state: Optional[str]
    result: Optional[str]
    exit_code: Optional[int]
    signal: Optional[int]
    reason: Optional[str]
    submitted: Optional[datetime]
    started: Optional[datetime]
    ended: Optional[datetime]
    raw: dict[str, Any] = field(repr=False, compare=False)

    def __getitem__(self, key: str) -> Any:
        return self.raw[key]

    @property
    def is_ended(self) -> bool:
        return self.result is not None

    @property
    def is_ok(self) -> bool:
        return self.result == "ok"

    @property
    def outcome(self) -> str:
        """What became of it, in words."""
        if self.result is None:
            return self.state or "not ended yet"
        words = self.result.replace("_", " ")
        if self.signal is not None:
            words += ", killed by signal %s" % self.signal
        elif self.exit_code:
            words += ", exit status %d" % self.exit_code
        return words + (": " + self.reason if self.reason else "")


@dataclass(frozen=True)
class Event:
    """A change. `kind` is job or group; `job` is the state after it."""

    kind: str
    job: Job


JobLike = Union[Job, Submitted, int, str]
"""A job or group: what a call returned, its number, or the label of a task (`7_3`)."""


def id_of(job: JobLike) -> str:
    if isinstance(job, (Job, Submitted)):
        return str(job.id)
    text = str(job)
    if isinstance(job, bool) or not all(part.isascii() and part.isdigit() for part in text.split("_")):
        raise ValueError("job %r: expected a number like 7, or a task like 7_3" % (job,))
    return text


def job_of(raw: dict[str, Any]) -> Job:
    return Job(
        id=raw["id"], label=raw.get("label") or str(raw["id"]), kind=raw.get("kind", "job"), name=raw["name"],
        user=raw.get("user"), queue=raw.get("queue"), state=raw.get("state"), result=raw.get("result"),
        exit_code=raw.get("exit_code"), signal=raw.get("signal"), reason=raw.get("reason"),
        submitted=time_of(raw.get("submitted")), started=time_of(raw.get("started")), ended=time_of(raw.get("ended")),
        raw=raw)


def submitted_of(raw: dict[str, Any]) -> Submitted:
    return Submitted(id=raw["id"], kind=raw["kind"], name=raw.get("name") or "", job_ids=tuple(raw.get("jobs") or ()),
                     waits=raw.get("waits"), expected_start=time_of(raw.get("expected_start")), raw=raw)
