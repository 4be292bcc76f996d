"""Temporary directories that belong to the process that made them: a forked child takes nothing away from its parent."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path

from .errors import OutputError, explain_os_error


class Kept:
    """A temporary directory that goes away with this object, or at the end of the process that made it, and with no other process."""

    def __init__(self) -> None:
        """Makes it; raises `OutputError` if there is no place for it."""
        try:
            self.path = Path(tempfile.mkdtemp(prefix="longhaul-"))
        except OSError as error:
            raise OutputError(
                f"a temporary directory for the time series cannot be made ({error.strerror or error}); set TMPDIR to a directory that can be"
                " written, or give the result a directory with out="
            ) from None
        self._end = weakref.finalize(self, _remove, self.path, os.getpid())

    def remove(self) -> None:
        """Removes it now."""
        self._end()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


def files_in(directory: Path) -> dict[str, bytes]:
    """The content of all files of a directory, by their paths within it; none if it does not exist."""
    return {
        str(file.relative_to(directory)): file.read_bytes() for file in sorted(directory.rglob("*")) if file.is_file()
    }


def put_into(directory: Path, files: Mapping[str, bytes]) -> None:
    """Writes such files."""
    for name, content in files.items():
        file = directory / name
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        except OSError as error:
            raise OutputError(explain_os_error(error, "write", file)) from None
