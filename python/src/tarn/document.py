# SPDX-License-Identifier: Apache-2.0
"""Job documents (doc/spec/04-jobfile.md): the keys of a job, and pipelines built in Python."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Optional, TypedDict, Union

from .values import Job, JobLike, Submitted, id_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Unpack

    from .client import Client

Command = Union[str, Sequence[Union[str, "os.PathLike[str]"]]]
"""Text for /bin/sh -c, or a program with its arguments."""
Duration = Union[str, int, timedelta]
"""Like 1h30m, or whole seconds."""
Path = Union[str, "os.PathLike[str]"]
Document = Mapping[str, Any]


class JobKeys(TypedDict, total=False):
    """The keys of a job, with the names and meanings that they have in a job file. None counts as absent."""

    name: Optional[str]
    script: Optional[str]
    script_bytes: Optional[str]
    args: Optional[Sequence[str]]
    queue: Optional[str]
    pool: Optional[str]
    qos: Optional[str]
    priority: Union[int, str, None]
    hold: Optional[bool]
    begin: Optional[str]
    depends: Optional[Sequence[Union[JobLike, Mapping[str, Any]]]]
    singleton: Optional[bool]
    gpus: Union[str, float, Mapping[str, Any], None]
    accelerator: Union[str, Mapping[str, Any], None]
    cpus: Optional[float]
    memory: Union[str, int, None]
    exclusive: Optional[bool]
    ranks: Union[int, str, None]
    tasks: Union[int, Mapping[str, Any], None]
    roles: Optional[Mapping[str, Mapping[str, Any]]]
    nodes: Union[int, str, None]
    sizes: Optional[str]
    resize: Optional[str]
    on_member_loss: Optional[str]
    heals: Optional[int]
    array: Union[str, Mapping[str, Any], None]
    matrix: Optional[Mapping[str, Any]]
    outputs: Optional[Sequence[str]]
    retry: Union[int, Mapping[str, Any], None]
    requeue: Optional[bool]
    max_duration: Optional[Duration]
    estimate: Optional[Duration]
    speeds: Union[str, Mapping[str, float], None]
    deadline: Optional[str]
    tariff: Union[str, float, None]
    preemptible: Optional[bool]
    restart_cost: Optional[Duration]
    checkpoint: Optional[Mapping[str, Any]]
    warn: Optional[Mapping[str, Any]]
    work: Optional[str]
    spot: Optional[str]
    where: Optional[Sequence[str]]
    labels: Optional[Sequence[str]]
    anti_affinity: Optional[Sequence[str]]
    grace: Optional[Duration]
    env: Optional[Mapping[str, Any]]
    export: Optional[str]
    cwd: Optional[Path]
    output: Optional[Path]
    error: Optional[Path]
    input: Optional[Path]
    attach: Optional[str]
    append: Optional[bool]
    mail: Optional[str]
    notify: Optional[str]
    comment: Optional[str]
    cache: Optional[bool]
    schedule: Optional[str]


class StageKeys(JobKeys, total=False):
    """The keys that only a stage has, too."""

    when: Optional[str]
    inputs: Optional[Sequence[str]]


class Stage:
    """A stage of a pipeline; `after` of another stage names it."""

    def __init__(self, name: str, document: dict[str, Any]):
        self.name = name
        self.document = document


def _plain(value: Any) -> Any:
    """What json does not know."""
    if isinstance(value, (Job, Submitted)):
        return value.id
    if isinstance(value, timedelta):
        return math.ceil(value.total_seconds())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, range):
        return list(value)
    raise TypeError("%r: expected text, a number, a list, a mapping, a path, a timedelta or a job" % (value,))


def to_json(value: Any) -> bytes:
    return json.dumps(value, default=_plain, allow_nan=False, separators=(",", ":")).encode("utf-8")


def _program(command: Optional[Command]) -> dict[str, Any]:
    if command is None:
        return {}
    return {"run": command} if isinstance(command, str) else {"command": [os.fspath(word) for word in command]}


def job_document(command: Optional[Command], after: Iterable[JobLike], keys: Mapping[str, Any]) -> dict[str, Any]:
    document = {**_program(command), **keys}
    depends = [*(keys.get("depends") or ()), *(int(id_of(job)) for job in after)]
    if depends:
        document["depends"] = depends
    return document


class Pipeline:
    """A pipeline: stages that need each other, sent as one document.

        with tarn.Pipeline("digits", defaults={"retry": 2}) as pipeline:
            data = pipeline.stage("prepare", "./prepare.sh --out $TARN_OUT/data", outputs=["data"])
            pipeline.stage("train", ["python", "train.py"], after=[data], inputs=["data"], gpus=1)
        print(pipeline.submitted.id)

    `with` sends it at the end, unless the block raised an exception; `client.submit(pipeline)` does the same."""

    def __init__(self, name: str = "pipeline", /, *, client: Optional[Client] = None, defaults: Optional[Document] = None,
                 **keys: Unpack[JobKeys]):
        self._head: dict[str, Any] = {"name": name, **keys}
        if defaults:
            self._head["defaults"] = defaults
        self._client = client
        self._stages: dict[str, Stage] = {}
        self._submitted: Optional[Submitted] = None

    def stage(self, name: str, command: Optional[Command] = None, /, *, after: Iterable[Union[Stage, JobLike]] = (),
              **keys: Unpack[StageKeys]) -> Stage:
        """Add a stage. `after`: stages of this pipeline, and jobs submitted earlier, that must have succeeded."""
        if name in self._stages:
            raise ValueError("stage %s: named twice" % name)
        before = list(after)
        needs = [one.name for one in before if isinstance(one, Stage)]
        for need in needs:
            if not any(self._stages.get(need) is one for one in before):
                raise ValueError("stage %s: after stage %s, which is not of this pipeline" % (name, need))
        document = job_document(command, [one for one in before if not isinstance(one, Stage)], keys)
        if needs:
            document["needs"] = needs
        self._stages[name] = Stage(name, document)
        return self._stages[name]

    @property
    def document(self) -> dict[str, Any]:
        """The document that is sent (doc/spec/04-jobfile.md)."""
        return {**self._head, "stages": {name: stage.document for name, stage in self._stages.items()}}

    @property
    def submitted(self) -> Submitted:
        if self._submitted is None:
            raise ValueError("pipeline %s: not submitted yet" % self._head["name"])
        return self._submitted

    def __enter__(self) -> Pipeline:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        from .client import Client

        if kind is None and self._client is not None:
            self._submitted = self._client.submit(self)
        elif kind is None:
            with Client() as client:
                self._submitted = client.submit(self)
