# SPDX-License-Identifier: Apache-2.0
"""The calls of the API as values: what is sent, and how the reply is read. Client and AsyncClient carry them out."""

from __future__ import annotations

import codecs
import json
import os
import resource
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Generic, Optional, TypeVar, Union
from urllib.parse import quote, urlencode

from ._http import EventLines, request_of
from ._run import refuse_while_importing
from .document import Command, Document, Duration, JobKeys, Pipeline, job_document, to_json
from .errors import EventsLost, error_of
from .values import Event, Job, JobLike, Submitted, id_of, job_of, submitted_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")


def _query(keys: Mapping[str, Any]) -> str:
    given = {key: int(value) if isinstance(value, bool) else value for key, value in keys.items()
             if value is not None and value is not False}
    return "?" + urlencode(given) if given else ""


def _text(value: str) -> Optional[str]:
    """Variables that are not UTF-8 are left out: JSON cannot hold them."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return None
    return value


def _umask() -> Optional[str]:
    """From the kernel, because to ask for it is to set it, also for other threads."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:
            return next((line.split()[1] for line in file if line.startswith("Umask:")), None)
    except OSError:
        return None


def _limits() -> dict[str, int]:
    names = ("core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "rss", "stack", "as")
    soft = {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))[0] for name in names
            if hasattr(resource, "RLIMIT_" + name.upper())}
    return {name: limit if limit >= 0 else -1 for name, limit in soft.items()}


def _sender(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the daemon needs to know of this process, as from the command line."""
    sender: dict[str, Any] = {"sender_cwd": os.getcwd(), "sender_limits": _limits()}
    umask = _umask()
    if umask:
        sender["sender_umask"] = umask
    job = os.environ.get("TARN_JOB_ID", "") if "TARN_SOCKET" in os.environ else ""
    if job.isdigit():
        sender["sender_job"] = int(job)
    if document.get("export") != "none":
        sender["sender_env"] = {key: value for key, value in os.environ.items()
                                if not key.startswith(("TARN_", "SLURM_")) and _text(key) and _text(value) is not None}
    return {**sender, **document}


@dataclass(frozen=True)
class Call(Generic[T]):
    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    is_submission: bool = False  # starts a daemon if none runs
    is_text: bool = False

    def request(self, is_remote: bool, headers: str) -> bytes:
        body = self.body
        if self.is_submission:
            refuse_while_importing()
        if self.is_submission and not is_remote:
            body = [_sender(one) for one in body] if isinstance(body, list) else _sender(body)
        return request_of(self.method, self.path, None if body is None else to_json(body), headers)

    def finish(self, status: int, body: bytes) -> T:
        if status >= 400 or not self.is_text:
            value = value_of(body)
            if status >= 400:
                raise error_of(status, value)
            return self.read(value)
        return self.read(body)


def value_of(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None


def _same(value: Any) -> Any:
    return value


def _list(key: str) -> Callable[[Any], list[dict[str, Any]]]:
    def read(value: Any) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = value[key]
        return items

    return read


def _numbers(value: Any) -> list[int]:
    numbers: list[int] = value["changed"]
    return numbers


# ---- submitting ----

Work = Union[Command, Document, Pipeline]


def _document(work: Optional[Work], after: Iterable[JobLike], keys: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(work, Pipeline):
        work = work.document
    if not isinstance(work, Mapping):
        return job_document(work, after, keys)
    return {**job_document(None, after, {**work, **keys})}


def submit(work: Optional[Work] = None, /, *, after: Iterable[JobLike] = (), **keys: Unpack[JobKeys]) -> Call[Submitted]:
    """Submit a job: text for the shell, a list of a program and its arguments, a document, or a Pipeline.

    The keywords are the keys of a job file: gpus=1, queue="research", max_duration="2h". `after` are jobs that must have
    succeeded before. Returns when the job is durable. Starts a daemon if none runs."""
    return Call("POST", "/v1/jobs", lambda value: submitted_of(value["submitted"][0]), _document(work, after, keys), True)


def submit_many(documents: Iterable[Union[Document, Pipeline]]) -> Call[list[Submitted]]:
    """Submit up to 10,000 documents, which are accepted or refused as a whole."""
    body = [_document(one, (), {}) for one in documents]
    return Call("POST", "/v1/jobs", lambda value: [submitted_of(one) for one in value["submitted"]], body, True)


def check(work: Optional[Work] = None, /, *, after: Iterable[JobLike] = (), **keys: Unpack[JobKeys]) -> Call[list[str]]:
    """Check a job as submit() does, without submitting it. Returns notes about keys that have no effect."""
    return Call("POST", "/v1/jobs?dry_run=1", lambda value: list(value.get("notes") or ()),
                _document(work, after, keys), True)


def estimate(work: Optional[Work] = None, /, *, after: Iterable[JobLike] = (),
             **keys: Unpack[JobKeys]) -> Call[dict[str, Any]]:
    """Estimate the start of a job without submitting it."""
    return Call("POST", "/v1/when", _same, _document(work, after, keys), True)


# ---- jobs ----

def get(job: JobLike) -> Call[Job]:
    """A job or group as it is now."""
    return Call("GET", "/v1/jobs/" + id_of(job), job_of)


@dataclass(frozen=True)
class Page:
    jobs: list[Job]
    next: Optional[int]  # `after` of the next page; None at the end


def page(*, all: bool = False, state: Union[str, Iterable[str], None] = None, queue: Optional[str] = None,
         user: Optional[str] = None, name: Optional[str] = None, group: Optional[JobLike] = None,
         since: Optional[float] = None, until: Optional[float] = None, limit: Optional[int] = None,
         after: Optional[int] = None, newest: bool = False) -> Call[Page]:
    """One page of jobs, newest last.

    `all` includes ended jobs. `state`: states, or results (`failed`). `since` and `until`, in seconds ago, exclude jobs
    that ended before, or were submitted after. `limit` is 1 to 10,000 (default 1,000); `newest`: the last ones."""
    states = state if state is None or isinstance(state, str) else ",".join(state)
    keys = {"all": all, "state": states, "queue": queue, "user": user, "name": name, "since": since, "until": until,
            "group": None if group is None else id_of(group), "limit": limit, "after": after, "newest": newest}
    return Call("GET", "/v1/jobs" + _query(keys),
                lambda value: Page([job_of(one) for one in value["jobs"]], value["next"]))


def why(job: JobLike) -> Call[dict[str, Any]]:
    """Why a job does not run: `kind`, `text`, `held_by`, `sooner` and more (doc/spec/05-api.md)."""
    return Call("GET", "/v1/jobs/%s/why" % id_of(job), _same)


def when(job: JobLike) -> Call[dict[str, Any]]:
    """When a job starts and ends: `start`, `end`, `text`, and changes that make it `sooner`."""
    return Call("GET", "/v1/jobs/%s/when" % id_of(job), _same)


def logs(job: JobLike, *, stream: str = "output", rank: int = 0, tail: Optional[int] = None) -> Call[str]:
    """The output of a job so far, or its last `tail` lines. `stream`: output or error."""
    return Call("GET", "/v1/jobs/%s/output" % id_of(job) + _query({"stream": stream, "rank": rank, "tail": tail}),
                lambda body: body.decode("utf-8", "replace"), is_text=True)


REPORT = "tarn.report "  # stands before the values of tarn.report() in the output


def _reports(body: bytes) -> list[dict[str, Any]]:
    """What is not complete, or was written by something else, is none. A progress bar may stand before it in its line."""
    found = []
    for line in body.decode("utf-8", "replace").splitlines():
        try:
            value = json.loads(line.partition(REPORT)[2])
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def reports(job: JobLike, *, rank: int = 0) -> Call[list[dict[str, Any]]]:
    """What the job has reported so far by tarn.report(), each with its `time` in seconds since 1970."""
    return Call("GET", "/v1/jobs/%s/output" % id_of(job) + _query({"rank": rank}), _reports, is_text=True)


def _action(job: JobLike, verb: str, **keys: Any) -> Call[list[int]]:
    return Call("POST", "/v1/jobs/%s/%s" % (id_of(job), verb) + _query(keys), _numbers)


def cancel(job: JobLike, *, now: bool = False) -> Call[list[int]]:
    """Cancel a job, a task or a whole group; `now` skips the grace period. Returns the jobs that changed."""
    return _action(job, "cancel", signal_now=now)


def hold(job: JobLike) -> Call[list[int]]:
    """Hold a job that has not started. Returns the jobs that changed."""
    return _action(job, "hold")


def release(job: JobLike) -> Call[list[int]]:
    """Release a held job. Returns the jobs that changed."""
    return _action(job, "release")


def requeue(job: JobLike) -> Call[list[int]]:
    """Run a job again; of a group, those that did not end well. Returns the jobs that changed."""
    return _action(job, "requeue")


def send_signal(job: JobLike, name: str) -> Call[list[int]]:
    """Send a signal by which a program saves its work (`USR1`) to all processes of a running job.

    Returns the jobs that got it."""
    return _action(job, "signal", name=name)


def checkpointed(job: JobLike) -> Call[list[int]]:
    """Report that a running job has saved its work; inside a job, tarn.checkpoint() does it."""
    return _action(job, "checkpoint")


def update(job: JobLike, *, priority: Union[int, str, None] = None, queue: Optional[str] = None,
           max_duration: Optional[Duration] = None, begin: Optional[str] = None) -> Call[None]:
    """Change a submitted job."""
    given = {"priority": priority, "queue": queue, "max_duration": max_duration, "begin": begin}
    return Call("PATCH", "/v1/jobs/" + id_of(job), lambda value: None,
                {key: value for key, value in given.items() if value is not None})


# ---- the machine ----

def gpus() -> Call[list[dict[str, Any]]]:
    """GPUs with their readings and jobs."""
    return Call("GET", "/v1/gpus", _list("gpus"))


def nodes() -> Call[list[dict[str, Any]]]:
    """Nodes with what of them is allocated."""
    return Call("GET", "/v1/nodes", _list("nodes"))


def queues() -> Call[list[dict[str, Any]]]:
    """Queues with their shares and limits, a parent before its children."""
    return Call("GET", "/v1/queues", _list("queues"))


def pools() -> Call[list[dict[str, Any]]]:
    """Pools."""
    return Call("GET", "/v1/pools", _list("pools"))


def daemon() -> Call[dict[str, Any]]:
    """The daemon: `version`, `engine`, `devices`, `isolation` and more."""
    return Call("GET", "/v1/daemon", _same)


# ---- streams ----

class Follow(Generic[T]):
    """A stream of replies. `path` continues where the last connection ended."""

    job: Optional[str] = None  # the stream ends when it has ended; None: it never ends
    beats = True  # whether the daemon writes at least every 15 seconds
    path = ""
    headers = ""  # more than those of each request

    def begin(self) -> None:
        """A new connection."""

    def feed(self, data: bytes) -> list[T]:
        raise NotImplementedError


class EventFollow(Follow[Event]):
    """Each new connection begins with the current state of the job, or with what changed since the last event."""

    def __init__(self, job: Optional[JobLike]):
        self.job = None if job is None else id_of(job)
        self.path = "/v1/events" if job is None else "/v1/jobs/%s/events" % self.job
        self._lines = EventLines()

    def begin(self) -> None:
        last = self._lines.last_id
        self._lines = EventLines()
        self._lines.last_id = last
        self.headers = "Last-Event-ID: %s\r\n" % last if last and self.job is None else ""

    def feed(self, data: bytes) -> list[Event]:
        events = []
        for kind, raw in self._lines.feed(data):
            if kind == "lost":
                raise EventsLost("the daemon no longer knows what changed since the connection was lost")
            events.append(Event(kind, job_of(raw)))
        return events


class LogFollow(Follow[str]):
    beats = False

    def __init__(self, job: JobLike, stream: str, rank: int):
        self.job = id_of(job)
        self._keys = {"follow": 1, "stream": stream, "rank": rank}
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    @property
    def path(self) -> str:  # type: ignore[override]
        return "/v1/jobs/%s/output" % quote(self.job or "") + _query({**self._keys, "offset": self._offset})

    def feed(self, data: bytes) -> list[str]:
        self._offset += len(data)
        text = self._decoder.decode(data)
        return [text] if text else []
