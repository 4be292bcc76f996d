"""Threads do not survive a fork: the child of a process in which polars has begun its threads waits for them for ever.

So polars is never on the way of a run; a sweep in such a child has its tables written by a process of its own (`call`); and reading
tables there is refused with the way out.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import confined
from .errors import ResultError

#: Threads of polars ran in the process that is about to fork; they ran in a process that this one was forked from.
_running = False
_lost = False


def check() -> None:
    """Raises `ResultError` in a forked process that has lost the threads of polars, and in one that has no memory for them."""
    confined.check_tables()
    if _lost:
        raise ResultError(
            "this process was forked from one in which polars had begun its threads, which a fork does not copy: polars would wait for"
            ' them for ever. Start it with multiprocessing.get_context("spawn") or "forkserver", or read tables in the parent; `run` and the'
            " summaries of results work here"
        )


#: Calls what comes on standard input; an error goes back on standard output, to be raised where the call was made.
_CALL = """
import pickle, sys
path, name, arguments = pickle.load(sys.stdin.buffer)
sys.path[:] = path
from importlib import import_module
try:
    getattr(import_module(name[0]), name[1])(*pickle.loads(arguments))
except BaseException as error:
    sys.stdout.buffer.write(pickle.dumps(error))
"""


def call(function: Callable[..., None], *arguments: Any) -> None:
    """Calls a function of a module that needs polars: here, or in a fresh process where this one has lost polars' threads.

    Raises what the function raises; `ResultError` if the fresh process ends before it has answered.
    """
    if not _lost:
        function(*arguments)
        return
    given = pickle.dumps((sys.path, (function.__module__, function.__qualname__), pickle.dumps(arguments)))
    ended = subprocess.run([sys.executable, "-c", _CALL], input=given, capture_output=True)
    if ended.stdout:
        raise pickle.loads(ended.stdout)
    if ended.returncode != 0:
        why = ended.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit code {ended.returncode}"]
        raise ResultError(f"the process that writes tables for a forked one failed: {why[0]}")


def _look() -> None:
    global _running
    _running = "polars" in sys.modules and _has_threads()


def _has_threads() -> bool:
    """Whether threads of polars run in this process: Linux shows their names."""
    try:
        tasks = list(Path("/proc/self/task").iterdir())
        return any((task / "comm").read_text().startswith("polars") for task in tasks)
    except OSError:
        return False


def _note() -> None:
    global _lost
    _lost = _lost or _running


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look, after_in_child=_note)
