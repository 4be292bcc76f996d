"""Threads do not survive a fork: the child of a process in which polars has begun its threads waits for them for ever.

So polars is never on the way of a run, and what needs it after such a fork is refused with the way out.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .errors import ResultError

#: Threads of polars ran in the process that is about to fork; they ran in a process that this one was forked from.
_running = False
_lost = False


def check() -> None:
    """Raises `ResultError` in a forked process that has lost the threads of polars."""
    if _lost:
        raise ResultError(
            "this process was forked from one in which polars had begun its threads, which a fork does not copy: polars would wait for"
            ' them for ever. Start it with multiprocessing.get_context("spawn") or "forkserver", or read tables in the parent; `run` and the'
            " summaries of results work here"
        )


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
