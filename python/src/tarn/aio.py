# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio: the calls of Client, to be awaited."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from . import _calls
from ._calls import Call, EventFollow, Follow, LogFollow, value_of
from ._http import Reply, request_of
from ._place import find_place
from .client import BEAT_S, CHUNK, CROWDED_S, PAUSE_S
from .errors import ConnectionLost, Crowded, JobFailed, NoDaemon, Stopping, WaitTimeout, error_of
from .values import Event, Job, JobLike, id_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

T = TypeVar("T")

_CALLS_MAX = 16  # at once, each on its own connection


def _bind(call: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    @functools.wraps(call)
    async def method(self: AsyncClient, /, *args: P.args, **keys: P.kwargs) -> T:
        return await self._do(call(*args, **keys))

    return method


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
        self.reader, self.writer = reader, writer

    async def send(self, request: bytes) -> None:
        try:
            self.writer.write(request)
            await self.writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            pass  # a daemon that refuses a request early reads no more of it; its reply says why

    async def receive(self, limit: Optional[float] = None) -> bytes:
        try:
            return await asyncio.wait_for(self.reader.read(CHUNK), limit)
        except ConnectionResetError:
            return b""

    @property
    def is_usable(self) -> bool:
        return not self.reader.at_eof() and not self.writer.is_closing()

    def close(self) -> None:
        self.writer.close()


class AsyncClient:
    """As Client, for one event loop."""

    def __init__(self, socket: Optional[str] = None, *, host: Optional[str] = None, timeout: float = 60,
                 reconnect: float = 60, program: str = "tarn"):
        self.place = find_place(socket, host, program)
        self.timeout = timeout
        self.reconnect = reconnect
        self._idle: list[_Connection] = []
        self._slots: Optional[asyncio.Semaphore] = None  # made in the loop

    async def close(self) -> None:
        while self._idle:
            connection = self._idle.pop()
            connection.close()
            await connection.writer.wait_closed()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: Optional[type[BaseException]], value: Optional[BaseException],
                        trace: Optional[TracebackType]) -> None:
        await self.close()

    # ---- one call ----

    async def _dial(self) -> _Connection:
        sock = await asyncio.get_running_loop().run_in_executor(None, self.place.dial)
        return _Connection(*await asyncio.open_unix_connection(sock=sock))

    async def _connect(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.close()
        return await self._dial()

    async def _exchange(self, request: bytes) -> tuple[int, bytes]:
        reply, body = Reply(), []
        connection = await self._connect()
        try:
            await connection.send(request)
            while not reply.is_over:
                body.append(reply.feed(await connection.receive()))
        except BaseException:
            connection.close()
            raise
        if reply.is_reusable:
            self._idle.append(connection)
        else:
            connection.close()
        return reply.status, b"".join(body)

    async def _ask(self, request: bytes) -> tuple[int, bytes]:
        if self._slots is None:
            self._slots = asyncio.Semaphore(_CALLS_MAX)
        try:
            async with self._slots:
                return await asyncio.wait_for(self._exchange(request), self.timeout)
        except asyncio.TimeoutError:
            raise ConnectionLost("daemon at %s: no reply within %g s" % (self.place.name, self.timeout)) from None

    async def _repeat(self, call: Call[T], request: bytes) -> T:
        until = time.monotonic() + CROWDED_S
        while True:
            try:
                return call.finish(*await self._ask(request))
            except Crowded:  # the daemon has not looked at it
                if time.monotonic() >= until:
                    raise
            await asyncio.sleep(PAUSE_S)

    async def _do(self, call: Call[T]) -> T:
        request = call.request(self.place.is_remote, self.place.headers)
        try:
            return await self._repeat(call, request)
        except NoDaemon:
            if not call.is_submission:
                raise
        await asyncio.get_running_loop().run_in_executor(None, self.place.start)
        return await self._repeat(call, request)

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

    async def list(self, *, all: bool = False, state: Optional[str] = None, queue: Optional[str] = None,
                   user: Optional[str] = None, name: Optional[str] = None,
                   group: Optional[JobLike] = None) -> AsyncIterator[Job]:
        """All jobs that meet the conditions (see page()), oldest first; page after page is fetched as needed."""
        after: Optional[int] = 0
        while after is not None:
            page = await self.page(all=all, state=state, queue=queue, user=user, name=name, group=group, after=after)
            for job in page.jobs:
                yield job
            after = page.next

    # ---- streams ----

    async def _stream(self, follow: Follow[T], deadline: Optional[float]) -> AsyncGenerator[bytes, None]:
        """The body of a streamed reply, until it ends in order. Raises ConnectionLost if it does not."""
        reply = Reply()
        connection = await self._dial()
        try:
            await connection.send(request_of("GET", follow.path, None, self.place.headers + follow.headers))
            body = b""
            while not reply.is_over:
                limit: Optional[float] = 4 * BEAT_S if follow.beats else None
                if deadline is not None:
                    left = max(0.001, deadline - time.monotonic())
                    limit = left if limit is None else min(limit, left)
                data = reply.feed(await connection.receive(limit))
                body = data if reply.status < 400 else body + data
                if 0 < reply.status < 400:
                    yield data  # empty, too: the daemon is there
        except asyncio.TimeoutError:
            raise ConnectionLost("daemon at %s: nothing came for long" % self.place.name) from None
        finally:
            connection.close()
        if reply.status >= 400:
            raise error_of(reply.status, value_of(body))

    async def _follow(self, follow: Follow[T], deadline: Optional[float] = None) -> AsyncIterator[T]:
        lost: Optional[float] = None  # since when
        while True:
            stream = self._stream(follow, deadline)
            try:
                follow.begin()
                async for data in stream:
                    lost = None
                    for item in follow.feed(data):
                        yield item
                if follow.job is not None and (await self.get(follow.job)).is_ended:
                    return
            except (ConnectionLost, Crowded, NoDaemon, Stopping):
                lost = lost or time.monotonic()
                if time.monotonic() - lost > self.reconnect:
                    raise
            finally:
                await stream.aclose()
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout("job %s: has not ended in the time given" % follow.job)
            await asyncio.sleep(PAUSE_S)

    def events(self, job: Optional[JobLike] = None) -> AsyncIterator[Event]:
        """Changes as they happen; see Client.events()."""
        return self._follow(EventFollow(job))

    def follow(self, job: JobLike, *, stream: str = "output", rank: int = 0) -> AsyncIterator[str]:
        """The output of a job from its beginning, as it is written, until the job has ended."""
        return self._follow(LogFollow(job, stream, rank))

    async def wait(self, job: JobLike, timeout: Optional[float] = None, *, check: bool = False) -> Job:
        """Wait until a job or group has ended, and return it; see Client.wait()."""
        deadline = None if timeout is None else time.monotonic() + timeout
        async for _ in self._follow(EventFollow(job), deadline):
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeout("job %s: has not ended in the time given" % id_of(job))
        ended = await self.get(job)
        if check and not ended.is_ok:
            raise JobFailed(ended)
        return ended
