# SPDX-License-Identifier: Apache-2.0
"""Errors: one class for each error code of the API (doc/spec/05-api.md), and those of the client itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from .values import Job


class Error(Exception):
    """A failed call. `code` is that of the API, `status` the HTTP status; None if the daemon did not reply."""

    code: Optional[str] = None
    status: Optional[int] = None


class BadRequest(Error):
    """The request is wrong; nothing has changed."""

    code = "bad_request"


class Unauthorized(Error):
    """No token, or one that is wrong, revoked or expired."""

    code = "unauthorized"


class Forbidden(Error):
    """The user has no right to do this."""

    code = "forbidden"


class NotFound(Error):
    """There is no such job, queue or path."""

    code = "not_found"


class Conflict(Error):
    """The state of the job does not permit the request."""

    code = "conflict"


class TooLarge(Error):
    """The request is larger than the daemon accepts."""

    code = "too_large"


class Never(Error):
    """The job could never run here; the message says why."""

    code = "never"


class TooMany(Error):
    """A limit of one user, or of all users together, is reached."""

    code = "too_many"


class Crowded(Error):
    """More connections are open than one user, or all users together, may have. Calls are repeated for some seconds."""

    code = "too_many_connections"


class Internal(Error):
    """The daemon failed; the request is not at fault."""

    code = "internal"


class Stopping(Error):
    """The daemon is stopping."""

    code = "stopping"


class Shortage(Error):
    """The machine lacks processes, descriptors or memory for now; the same request may succeed later."""

    code = "shortage"


class DiskFull(Error):
    """The journal cannot be written; running jobs continue."""

    code = "disk_full"


class NoDaemon(Error):
    """No daemon is running at this socket or on this machine."""

    code = "no_daemon"


class ConnectionLost(Error):
    """The connection ended before the reply did."""


class EventsLost(Error):
    """Changes of jobs were missed while there was no connection; list the jobs, then follow the events again."""


class WaitTimeout(Error, TimeoutError):
    """The time given for waiting is over; the job goes on."""


class JobFailed(Error):
    """The job ended with another result than `ok`."""

    def __init__(self, job: Job, message: Optional[str] = None):
        super().__init__(message or "job %s: %s" % (job.label, job.outcome))
        self.job = job


_CLASSES: dict[Optional[str], type[Error]] = {kind.code: kind for kind in (
    BadRequest, Unauthorized, Forbidden, NotFound, Conflict, TooLarge, Never, TooMany, Crowded, Internal, Stopping,
    Shortage, DiskFull, NoDaemon)}


def error_of(status: int, body: Any) -> Error:
    """The error that the body of a reply describes."""
    told = body.get("error") if isinstance(body, dict) else None
    told = told if isinstance(told, dict) else {}
    code = told.get("code")
    kind = _CLASSES.get(code, Error)
    error = kind(told.get("message") or "the daemon refused, with HTTP status %d" % status)
    error.code, error.status = code, status
    return error
