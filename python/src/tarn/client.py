# SPDX-License-Identifier: Apache-2.0
"""The client for programs without asyncio."""

from __future__ import annotations

import functools
import select
import socket
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Callable, Optional, TypeVar

from . import _calls
from ._calls import Call, EventFollow, Follow, LogFollow, value_of
from ._http import Reply, request_of
from ._place import find_place
from .errors import ConnectionLost, Crowded, JobFailed, NoDaemon, Stopping, WaitTimeout, error_of
from .values import Event, Job, JobLike, id_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")

BEAT_S = 15  # the daemon writes to a stream of events at least so often
PAUSE_S = 0.2
CROWDED_S = 10.0  # calls are repeated for so long while too many connections are open
CHUNK = 64 * 1024


def _bind(call: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    @functools.wraps(call)
    def method(self: Client, /, *args: P.args, **keys: P.kwargs) -> T:
        return self._do(call(*args, **keys))

    return method


def _is_usable(sock: socket.socket) -> bool:
    """The daemon closes connections that are idle for long."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return not poll.poll(0)


class Client:
    """A connection to the daemon, which threads may share.

    `socket` is its socket, `host` another machine (ssh://[USER@]HOST[:PORT][/PATH]); by default those of TARN_SOCKET and
    TARN_HOST, else the socket that the command line finds. `timeout` bounds each call in seconds. `reconnect` bounds how long
    a stream or wait() survives a daemon that restarts. `program` is the command that starts a daemon."""

    def __init__(self, socket: Optional[str] = None, *, host: Optional[str] = None, timeout: float = 60,
                 reconnect: float = 60, program: str = "tarn"):
        self.place = find_place(socket, host, program)
        self.timeout = timeout
        self.reconnect = reconnect
        self._idle: list[socket_type] = []

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # ---- one call ----

    def _connect(self) -> socket_type:
        while self._idle:
            try:
                sock = self._idle.pop()
            except IndexError:  # another thread took it
                break
            if _is_usable(sock):
                return sock
            sock.close()
        return self.place.dial()

    def _send(self, sock: socket_type, request: bytes) -> None:
        sock.settimeout(self.timeout)
        try:
            sock.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            pass  # a daemon that refuses a request early reads no more of it; its reply says why
        except socket.timeout:
            raise self._late() from None

    def _receive(self, sock: socket_type) -> bytes:
        try:
            return sock.recv(CHUNK)
        except ConnectionResetError:
            return b""

    def _late(self) -> ConnectionLost:
        return ConnectionLost("daemon at %s: no reply within %g s" % (self.place.name, self.timeout))

    def _exchange(self, request: bytes) -> tuple[int, bytes]:
        reply, body = Reply(), []
        sock = self._connect()
        try:
            self._send(sock, request)
            while not reply.is_over:
                body.append(reply.feed(self._receive(sock)))
        except socket.timeout:
            sock.close()
            raise self._late() from None
        except BaseException:
            sock.close()
            raise
        if reply.is_reusable:
            self._idle.append(sock)
        else:
            sock.close()
        return reply.status, b"".join(body)

    def _ask(self, call: Call[T], request: bytes) -> T:
        until = time.monotonic() + CROWDED_S
        while True:
            try:
                return call.finish(*self._exchange(request))
            except Crowded:  # the daemon has not looked at it
                if time.monotonic() >= until:
                    raise
            time.sleep(PAUSE_S)

    def _do(self, call: Call[T]) -> T:
        request = call.request(self.place.is_remote, self.place.headers)
        try:
            return self._ask(call, request)
        except NoDaemon:
            if not call.is_submission:
                raise
        self.place.start()
        return self._ask(call, request)

    submit = _bind(_calls.submit)
    submit_many = _bind(_calls.submit_many)
    check = _bind(_calls.check)
    estimate = _bind(_calls.estimate)
    get = _bind(_calls.get)
    page = _bind(_calls.page)
    why = _bind(_calls.why)
    when = _bind(_calls.when)
    logs = _bind(_calls.logs)
    reports = _bind(_calls.reports)
    cancel = _bind(_calls.cancel)
    hold = _bind(_calls.hold)
    release = _bind(_calls.release)
    requeue = _bind(_calls.requeue)
    send_signal = _bind(_calls.send_signal)
    checkpointed = _bind(_calls.checkpointed)
    update = _bind(_calls.update)
    gpus = _bind(_calls.gpus)
    nodes = _bind(_calls.nodes)
    queues = _bind(_calls.queues)
    pools = _bind(_calls.pools)
    daemon = _bind(_calls.daemon)

    def list(self, *, all: bool = False, state: Optional[str] = None, queue: Optional[str] = None,
             user: Optional[str] = None, name: Optional[str] = None, group: Optional[JobLike] = None) -> Iterator[Job]:
        """All jobs that meet the conditions (see page()), oldest first; page after page is fetched as needed."""
        after: Optional[int] = 0
        while after is not None:
            page = self.page(all=all, state=state, queue=queue, user=user, name=name, group=group, after=after)
            yield from page.jobs
            after = page.next

    # ---- streams ----

    def _stream(self, follow: Follow[T], deadline: Optional[float]) -> Iterator[bytes]:
        """The body of a streamed reply, until it ends in order. Raises ConnectionLost if it does not."""
        reply = Reply()
        sock = self.place.dial()
        try:
            self._send(sock, request_of("GET", follow.path, None, self.place.headers + follow.headers))
            body = b""
            while not reply.is_over:
                limit: Optional[float] = 4 * BEAT_S if follow.beats else None
                if deadline is not None:
                    left = max(0.001, deadline - time.monotonic())
                    limit = left if limit is None else min(limit, left)
                sock.settimeout(limit)
                data = reply.feed(self._receive(sock))
                body = data if reply.status < 400 else body + data
                if 0 < reply.status < 400:
                    yield data  # empty, too: the daemon is there
        except socket.timeout:
            raise ConnectionLost("daemon at %s: nothing came for long" % self.place.name) from None
        finally:
            sock.close()
        if reply.status >= 400:
            raise error_of(reply.status, value_of(body))

    def _follow(self, follow: Follow[T], deadline: Optional[float] = None) -> Iterator[T]:
        lost: Optional[float] = None  # since when
        while True:
            try:
                follow.begin()
                for data in self._stream(follow, deadline):
                    lost = None
                    yield from follow.feed(data)
                if follow.job is not None and self.get(follow.job).is_ended:
                    return
            except (ConnectionLost, Crowded, NoDaemon, Stopping):
                lost = lost or time.monotonic()
                if time.monotonic() - lost > self.reconnect:
                    raise
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout("job %s: has not ended in the time given" % follow.job)
            time.sleep(PAUSE_S)

    def events(self, job: Optional[JobLike] = None) -> Iterator[Event]:
        """Changes as they happen: of a job or group until it has ended, first its current state; else of all jobs.

        The iterator reconnects to a daemon that restarts. The events of a job then begin with its current state again; those of
        all jobs continue with what has changed. Raises EventsLost if the daemon does not know that any more."""
        return self._follow(EventFollow(job))

    def follow(self, job: JobLike, *, stream: str = "output", rank: int = 0) -> Iterator[str]:
        """The output of a job from its beginning, as it is written, until the job has ended."""
        return self._follow(LogFollow(job, stream, rank))

    def wait(self, job: JobLike, timeout: Optional[float] = None, *, check: bool = False) -> Job:
        """Wait until a job or group has ended, and return it.

        Raises WaitTimeout after `timeout` seconds; with `check`, JobFailed if the result is not ok."""
        deadline = None if timeout is None else time.monotonic() + timeout
        for _ in self._follow(EventFollow(job), deadline):
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout("job %s: has not ended in the time given" % id_of(job))
        ended = self.get(job)
        if check and not ended.is_ok:
            raise JobFailed(ended)
        return ended


socket_type = socket.socket
