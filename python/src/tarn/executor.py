# SPDX-License-Identifier: Apache-2.0
"""Functions as jobs."""

from __future__ import annotations

import concurrent.futures
import os
import pickle
import shutil
import sys
import tempfile
import threading
import time
from multiprocessing import spawn
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from ._calls import EventFollow
from ._run import RemoteTraceback
from .client import PAUSE_S, Client
from .document import JobKeys
from .errors import Error, JobFailed, NotFound
from .values import Job

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    P = ParamSpec("P")

T = TypeVar("T")

_PROGRAM = "import tarn._run; tarn._run.main()"
_PACKAGE_PARENT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class JobFuture(concurrent.futures.Future[T]):
    """The result of a function that runs as job `job_id`.

    It is pending while the job waits, and then running. Only a pending future can be cancelled, as everywhere in
    concurrent.futures; `client.cancel(future.job_id)` stops one that runs."""

    def __init__(self, executor: Executor, job_id: int, folder: str):
        super().__init__()
        self.job_id = job_id
        self._executor = executor
        self._folder = folder

    def cancel(self) -> bool:
        return self._executor._cancel(self, super().cancel)


class Executor(concurrent.futures.Executor):
    """Runs functions as jobs: concurrent.futures.Executor with queues, GPUs and preemption.

        with tarn.Executor(gpus=1, max_duration="1h") as executor:
            losses = list(executor.map(train, [0.1, 0.01]))

    The keywords are the keys of a job file, for each job. Function, arguments and result are pickled to a folder below
    `folder` (default: ~/.cache/tarn), which the job must see under the same path. `dumps` pickles the function
    (cloudpickle.dumps: also lambdas), `python` runs it. A job that ends without a result raises JobFailed."""

    def __init__(self, client: Optional[Client] = None, *, folder: Optional[str] = None, python: str = sys.executable,
                 dumps: Callable[[object], bytes] = pickle.dumps, **keys: Unpack[JobKeys]):
        self._client = client or Client()
        if self._client.place.is_remote and folder is None:
            raise ValueError("folder: expected one that this machine shares with %s" % self._client.place.name)
        base = folder or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tarn")
        os.makedirs(base, exist_ok=True)
        self._owns_client = client is None
        self._folder = tempfile.mkdtemp(prefix="executor-", dir=os.path.abspath(base))
        self._python = python
        self._dumps = dumps
        self._keys: dict[str, Any] = {"name": "function", **keys}
        self._keys["env"] = {**(keys.get("env") or {}), "PYTHONPATH": self._python_path(keys.get("env") or {})}
        self._lock = threading.RLock()  # held while a job is submitted, so that its first event finds the future
        self._futures: dict[int, JobFuture[Any]] = {}
        self._count = 0
        self._is_shut = False
        self._watcher: Optional[threading.Thread] = None

    @staticmethod
    def _python_path(env: Any) -> str:
        """The job imports tarn from where this process has it."""
        given = env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        return _PACKAGE_PARENT + (os.pathsep + given if given else "")

    # ---- submitting ----

    def _store(self, function: Callable[..., Any], args: Any, keys: Any) -> str:
        preparation = spawn.get_preparation_data("tarn")
        preparation.pop("authkey", None)
        call = self._dumps((function, args, keys))
        if b"__main__" not in call:  # the job need not run the caller's script
            preparation.pop("init_main_from_path", None)
            preparation.pop("init_main_from_name", None)
        payload = pickle.dumps(preparation) + call
        self._count += 1
        folder = os.path.join(self._folder, str(self._count))
        os.mkdir(folder)
        with open(os.path.join(folder, "call"), "wb") as file:
            file.write(payload)
        return folder

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> JobFuture[T]:
        """Submit a function call as a job. Returns when the job is durable."""
        with self._lock:
            if self._is_shut:
                raise RuntimeError("cannot schedule new futures after shutdown")
            folder = self._store(fn, args, kwargs)
            job = self._client.submit([self._python, "-c", _PROGRAM, folder], **self._keys)
            future: JobFuture[T] = JobFuture(self, job.id, folder)
            self._futures[job.id] = future
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="tarn.Executor", daemon=True)
                self._watcher.start()
        return future

    def _cancel(self, future: JobFuture[Any], cancel: Callable[[], bool]) -> bool:
        with self._lock:
            if not cancel():
                return False
            if self._futures.pop(future.job_id, None) is None:
                return True  # it was cancelled before
            future.set_running_or_notify_cancel()
        try:
            self._client.cancel(future.job_id)
        except Error:
            pass  # it has ended meanwhile, or the daemon is gone; the future is cancelled anyway
        return True

    # ---- results ----

    def _watch(self) -> None:
        lost: Optional[float] = None  # since when
        while not (self._is_shut and not self._futures):
            follow, is_new = EventFollow(None), True
            try:
                for data in self._client._stream(follow, None):
                    lost = None
                    if is_new:
                        self._look()
                    is_new = False
                    for event in follow.feed(data):
                        self._heard(event.job)
                    if self._is_shut and not self._futures:
                        return
            except Error as failure:
                lost = lost or time.monotonic()
                if time.monotonic() - lost > self._client.reconnect:
                    self._fail(failure)
            except Exception as failure:
                self._fail(failure)
                raise
            time.sleep(PAUSE_S)

    def _look(self) -> None:
        """What happened before the stream began."""
        with self._lock:
            numbers = list(self._futures)
        for number in numbers:
            try:
                self._heard(self._client.get(number))
            except NotFound as failure:
                self._end(number, failure)

    def _heard(self, job: Job) -> None:
        with self._lock:
            future = self._futures.get(job.id)
            if future is None:
                return
            if job.state in ("granted", "running", "stopping") and not future.running():
                future.set_running_or_notify_cancel()
        if job.is_ended:
            self._end(job.id, JobFailed(job))

    def _end(self, number: int, otherwise: Exception) -> None:
        with self._lock:
            future = self._futures.pop(number, None)
            if future is None:
                return
            if not future.running():
                future.set_running_or_notify_cancel()
        try:
            with open(os.path.join(future._folder, "result"), "rb") as file:
                is_ok, value, words = pickle.load(file)
        except FileNotFoundError:
            future.set_exception(otherwise)
        except Exception as failure:
            future.set_exception(failure)
        else:
            if is_ok:
                future.set_result(value)
            else:
                value.__cause__ = RemoteTraceback(words)
                future.set_exception(value)
        shutil.rmtree(future._folder, ignore_errors=True)

    def _fail(self, failure: Exception) -> None:
        with self._lock:
            numbers = list(self._futures)
        for number in numbers:
            self._end(number, failure)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more functions. Without `wait`, jobs go on, and the folder of their results stays."""
        with self._lock:
            self._is_shut = True
            futures = list(self._futures.values())
        if cancel_futures:
            for future in futures:
                future.cancel()
        if not wait:
            return
        concurrent.futures.wait(futures)
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._owns_client:
            self._client.close()
