"""The errors that Longhaul raises on purpose. Each message is complete: it names its object and states what is right."""

from __future__ import annotations

import os
from pathlib import Path


class LonghaulError(Exception):
    """An error that the user can correct; the command line prints it without a traceback."""


class ScenarioError(LonghaulError, ValueError):
    """A scenario is unreadable or invalid."""


class RunError(LonghaulError, RuntimeError):
    """A run could not be finished."""


class RunCancelled(RunError):
    """A run was stopped on request."""


class ResultError(LonghaulError):
    """A directory is not a result, or is damaged."""


class OutputError(LonghaulError):
    """The output's path is not usable."""


class UnknownName(LonghaulError):
    """A name, as of a study or an experiment, that does not exist."""


class PlotError(LonghaulError):
    """A figure cannot be drawn from this result."""


def printed(path: Path | str) -> str:
    r"""A path as a text that can be written: what is not UTF-8 in its name stands as escapes, whatever Python decodes names with.

    >>> printed(Path("a/b")), printed("caf\udce9.toml")
    ('a/b', 'caf\\xe9.toml')
    """
    try:
        return os.fsencode(path).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # no name of a file
        return ascii(str(path))


def explain_os_error(error: OSError, doing: str, path: Path | str) -> str:
    """One line for an operating system error.

    >>> explain_os_error(OSError(28, "No space left on device"), "write", "/data/run")
    'cannot write /data/run: No space left on device'
    >>> explain_os_error(FileNotFoundError(2, "No such file or directory"), "write", "/proc/run")
    'cannot write /proc/run: nothing can be created in /proc'
    """
    if doing == "write" and isinstance(error, FileNotFoundError):
        place = next((parent for parent in Path(path).parents if parent.is_dir()), Path("."))
        return f"cannot write {printed(path)}: nothing can be created in {printed(place)}"
    if isinstance(error, (FileExistsError, NotADirectoryError)):
        file = next((parent for parent in Path(path).parents if parent.is_file()), None)
        if file is not None:
            return f"cannot {doing} {printed(path)}: {printed(file)} is a file, not a directory"
    return f"cannot {doing} {printed(path)}: {error.strerror or error}"
