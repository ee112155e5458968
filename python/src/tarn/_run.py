# SPDX-License-Identifier: Apache-2.0
"""The job's side of Executor: python -m tarn._run FOLDER calls the pickled function and stores what came of it."""

from __future__ import annotations

import os
import pickle
import sys
import traceback
from multiprocessing import spawn


class RemoteTraceback(Exception):
    """The traceback of the job, as the cause of the exception in this process."""

    def __init__(self, text: str):
        self.text = text

    def __str__(self) -> str:
        return "\n" + self.text


def call(folder: str) -> tuple[bool, object, str]:
    """(True, value, "") or (False, exception, traceback)."""
    try:
        with open(os.path.join(folder, "call"), "rb") as file:
            spawn.prepare(pickle.load(file))  # the import path and the main module of the caller
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


def main() -> int:
    folder = sys.argv[1]
    result = call(folder)
    sys.stderr.write(result[2])
    store(folder, result)
    return 0 if result[0] else 1


if __name__ == "__main__":
    sys.exit(main())
