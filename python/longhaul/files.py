"""Writing files whole: a reader finds the old content or the new one, and so does the disk after a power cut."""

from __future__ import annotations

import json
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import LonghaulError, OutputError, explain_os_error


def write_atomically(file: Path, content: str | bytes) -> None:
    """Writes a file whole: it has its old content or its new one, whatever happens.

    A link is followed, and what is there keeps its permissions. What is no regular file (a terminal, a pipe, /dev/null), or cannot
    be replaced by another file (it is mounted by itself, its folder is read-only), is written to as it is. Raises `OutputError`.
    """
    data = content.encode() if isinstance(content, str) else content
    with errors_as_output_error(file):
        target = Path(os.path.realpath(file))
        try:
            mode = target.stat().st_mode
        except FileNotFoundError:
            mode = None
        if mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            _write_through(target, data)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary = written_beside(target, data, mode)
        except PermissionError:
            if mode is None:
                raise
            _write_through(target, data)
            return
        try:
            os.replace(temporary, target)
        except BaseException as error:
            temporary.unlink(missing_ok=True)
            if mode is None or stat.S_ISDIR(mode) or not isinstance(error, OSError):
                raise
            _write_through(target, data)


def written_beside(target: Path, data: bytes, mode: int | None = None) -> Path:
    """A hidden file in the same folder with the content, on the disk, to be renamed to `target`; `mode` as of an older file there."""
    temporary = target.with_name(f".{short(target.name)}.{secrets.token_hex(4)}")
    try:
        with temporary.open("xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        if mode is not None and stat.S_ISREG(mode):
            temporary.chmod(stat.S_IMODE(mode))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def _write_through(target: Path, data: bytes) -> None:
    with target.open("wb") as stream:
        stream.write(data)


def short(name: str) -> str:
    """The beginning of a name, so that more can be added to it: file systems permit 255 bytes.

    >>> short("r"), len(short("ä" * 200).encode())
    ('r', 200)
    """
    whole = os.fsencode(name)
    return name if len(whole) <= 200 else os.fsdecode(whole[:200].decode(errors="ignore").encode())


def sync(path: Path) -> None:
    """Has the content of a file, or the names in a folder, on the disk before anything that is written later refers to it."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # a folder on Windows
        return
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():  # some file systems cannot do that for a folder
            raise
    finally:
        os.close(handle)


def json_text(content: Any) -> str:
    """JSON as Longhaul writes it into files: indented, in the given order, one line at the end."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


@contextmanager
def errors_as_output_error(path: Path) -> Iterator[None]:
    """Turns operating system errors (disk full, no permission) into one clear line."""
    try:
        yield
    except LonghaulError:
        raise
    except OSError as error:
        raise OutputError(explain_os_error(error, "write", path)) from None
