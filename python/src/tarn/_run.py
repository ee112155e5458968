# SPDX-License-Identifier: Apache-2.0
"""The job's side of Executor: main() calls the pickled function and stores what came of it."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from multiprocessing import spawn

is_importing_main = False


def refuse_while_importing() -> None:
    """A script that submits jobs when it is imported would do so in each of its jobs, without end."""
    if is_importing_main:
        raise RuntimeError("the script submits jobs while a job of it imports its functions; "
                           "expected that only its part below if __name__ == '__main__': submits them")


class RemoteTraceback(Exception):
    """The traceback of the job, as the cause of the exception in this process."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


def call(folder: str) -> tuple[bool, object, str]:
    """(True, value, "") or (False, exception, traceback)."""
    global is_importing_main
    try:
        with open(os.path.join(folder, "call"), "rb") as file:
            preparation, is_importing_main = pickle.load(file), True
            spawn.prepare(preparation)  # the import path and, if needed, the main module of the caller
            is_importing_main = False
            function, args, keys = pickle.loads(file.read())
        return True, function(*args, **keys), ""
    except Exception as failure:
        return False, failure, traceback.format_exc()


def store(folder: str, result: tuple[bool, object, str]) -> None:
    try:
        data = pickle.dumps(result)
        if not result[0]:
            pickle.loads(data)  # some exceptions can be stored, but not be read again
    except Exception as failure:
        words = result[2] or traceback.format_exc()
        told = repr(result[1]) if not result[0] else "the result cannot be pickled: %s" % failure
        data = pickle.dumps((False, RuntimeError(told), words))
    with open(os.path.join(folder, "result.new"), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(file.name, os.path.join(folder, "result"))


def main() -> None:
    folder = sys.argv[1]
    result = call(folder)
    sys.stderr.write(result[2])
    store(folder, result)
    sys.exit(0 if result[0] else 1)

