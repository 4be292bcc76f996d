"""The errors that Longhaul raises on purpose: each message stands alone, names its object and says what is right."""

from __future__ import annotations

from pathlib import Path


class LonghaulError(Exception):
    """Something the user can put right; the command line prints it without a traceback."""


class ScenarioError(LonghaulError, ValueError):
    """A scenario cannot be read or does not make sense."""


class RunError(LonghaulError, RuntimeError):
    """A run could not be finished."""


class RunCancelled(RunError):
    """A run was stopped on request."""


class ResultError(LonghaulError):
    """A directory is not a result, or is damaged."""


class OutputError(LonghaulError):
    """The place for the output cannot be used."""


class PlotError(LonghaulError):
    """A figure cannot be drawn from this result."""


def explain_os_error(error: OSError, doing: str, path: Path | str) -> str:
    """One line for an operating system error.

    >>> explain_os_error(OSError(28, "No space left on device"), "write", "/data/run")
    'cannot write /data/run: No space left on device'
    >>> explain_os_error(FileNotFoundError(2, "No such file or directory"), "write", "/proc/run")
    'cannot write /proc/run: nothing can be made in /proc'
    """
    if doing == "write" and isinstance(error, FileNotFoundError):
        place = next((parent for parent in Path(path).parents if parent.is_dir()), Path("."))
        return f"cannot write {path}: nothing can be made in {place}"
    return f"cannot {doing} {path}: {error.strerror or error}"
