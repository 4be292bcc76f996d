"""Directories that results are written into until they are whole: hidden, with a note of which process it is and where the result will be.

A result whose place is free is written beside it and takes the place by a single renaming. Where a directory is already (an older
result, a mounted disk, what a link points to, the working directory), it is written inside, so on the same file system, and its files
are moved one by one: the directory stays the one that it was.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import socket
import sys
import time
from pathlib import Path
from typing import Any

from .files import short

#: The note's name.
OWNER = "owner.json"
#: Where it cannot be known whether the process lives (another machine's), a directory without a change for so long is left behind.
LEFT_S = 24 * 3600.0
#: One without the note, and with nothing in it, was killed between both.
_EMPTY_S = 60.0
_NAME = re.compile(r"\.(?P<place>.+)\.[0-9a-f]{8}\.partial", re.DOTALL)


def place_of(out: Path) -> Path:
    """Where a result for `out` stands: what links point to, without `.` and `..`."""
    return Path(os.path.realpath(out))


def make(place: Path) -> Path:
    """Makes a directory for a result that will be at `place`. Raises `OSError`."""
    inside = place.is_dir()
    parent = place if inside else place.parent
    parent.mkdir(parents=True, exist_ok=True)
    partial = parent / f".{short(place.name)}.{secrets.token_hex(4)}.partial"
    try:
        partial.mkdir()
        note = {"place": "." if inside else place.name, **_this_process()}
        # In ASCII: a name that is not UTF-8 has characters that no encoding takes, and comes back from their escapes.
        (partial / OWNER).write_text(json.dumps(note, indent=1) + "\n", encoding="ascii")
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return partial


def target(directory: Path) -> Path | None:
    """Where the result of a run that writes into a hidden directory will be; `None` if it is no such directory."""
    note = _note(directory)
    if note is None or not isinstance(note.get("place"), str):
        return None
    return directory.parent / str(note["place"])


def is_one(directory: Path) -> bool:
    """Whether this is the directory of a result that is, or was, being written."""
    return _note(directory) is not None or (bool(_NAME.fullmatch(directory.name)) and _holds_a_run_s_files(directory))


def remove_left(parent: Path) -> None:
    """Removes from a folder what processes left behind that were killed; directories of living ones stay."""
    try:
        hidden = [Path(entry) for entry in os.scandir(parent) if _NAME.fullmatch(entry.name)]
    except OSError:
        return
    for directory in hidden:
        if is_left(directory):
            shutil.rmtree(directory, ignore_errors=True)


def is_left(directory: Path) -> bool:
    """Whether a directory was made for a result by a process that is over."""
    note = _note(directory)
    if note is None:
        # By an older version, or killed before the note: nothing but files of a run is in it.
        return _holds_a_run_s_files(directory) and _age_s(directory) > (LEFT_S if os.listdir(directory) else _EMPTY_S)
    now = _this_process()
    if any(note.get(key) != now[key] for key in ("host", "boot", "pid_namespace")):
        return _age_s(directory) > LEFT_S
    pid, started = note.get("pid"), note.get("started")
    return type(pid) is not int or _started(pid) != started


def _note(directory: Path) -> dict[str, Any] | None:
    if not _NAME.fullmatch(directory.name):
        return None
    try:
        content = json.loads((directory / OWNER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and "pid" in content else None


def _holds_a_run_s_files(directory: Path) -> bool:
    """Whether nothing but files of a run is in a directory."""
    from .vouching import RUN_FILES

    try:
        return all(
            entry.name in RUN_FILES or entry.name in ("live.json", "qlog", OWNER) for entry in os.scandir(directory)
        )
    except OSError:
        return False


def _age_s(directory: Path) -> float:
    """Since the last change in it, in s."""
    try:
        changed = max(one.stat().st_mtime for one in (directory, *directory.iterdir()))
    except OSError:
        return 0.0
    return time.time() - changed


def _this_process() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "boot": _boot(), "pid_namespace": _pid_namespace(), "pid": pid, "started": _started(pid)}  # fmt: skip


def _boot() -> str:
    """Which start of the machine this is: process numbers mean nothing after the next one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def _pid_namespace() -> int:
    """Containers on one machine number their processes by themselves."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


def _started(pid: int) -> int | None:
    """When a process began, in ticks since the machine did: numbers of processes are used again. `None` if there is none."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        if sys.platform == "linux" and os.path.exists("/proc/self/stat"):
            return None
    try:
        os.kill(pid, 0)
    except PermissionError:
        return 0
    except OSError:
        return None
    return 0
