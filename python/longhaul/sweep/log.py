"""The format of a sweep's log: finished runs in frames, each of which is whole or does not count.

A log is a file to which frames are added and in which nothing is changed. A frame is

    4 bytes   "LHLG"
    1 byte    kind
    4 bytes   length of its content, little endian
    4 bytes   CRC-32 (ISO 3309) of kind and content
    content

and its content, by kind:

    1  definitions   of metrics, as JSON, compressed (zlib)
    2  runs          4 bytes: length of the head; head: JSON; then the texts, compressed (zlib)
    3  times         CPU seconds of the runs of the frame before, as JSON: a list

The head of a frame of runs has `program` (digest of the simulator that made them), `definitions` (the first 16 hexadecimal digits of
the SHA-256 of the JSON of definitions that are valid for them, in a frame before), `runs` (their ids), and `sizes`: of each run the
bytes of its resolved scenario (TOML) and of its summary (JSON, without definitions), in which order the texts follow each other.
`directories` are the ids of those runs that have one, with their time series.

What a process leaves that is killed, or whose disk is full, is a torn frame at the end; readers skip it, and whatever else is damaged,
to the next frame that is whole.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

#: Runs that a frame holds at most; frames of a finished sweep hold so many.
GROUP = 64
DEFINITIONS, RUNS, TIMES = 1, 2, 3

_MAGIC = b"LHLG"
_FRAME = struct.Struct("<4sBII")
#: Bytes of a frame before its content.
HEAD = _FRAME.size
_LENGTH = struct.Struct("<I")
#: Bytes of a log that is read through which stay in memory.
_KEPT = 32 << 20
#: Texts of one scenario resemble each other so much that more effort saves little.
_LEVEL = 1


class Texts(NamedTuple):
    """Scenario and summary of a run without time series."""

    run_id: str
    scenario: bytes
    summary: bytes


@dataclass(frozen=True)
class Group:
    """Runs that one program made, whose metrics have the same definitions."""

    program: str
    definitions: bytes
    runs: Sequence[Texts]
    #: Ids of the runs that have a directory, with their time series.
    directories: Sequence[str] = ()

    @property
    def key(self) -> str:
        """The name of its definitions."""
        return key_of(self.definitions)


class Frame(NamedTuple):
    """A whole frame that was found: its kind, and where its content stands in the file."""

    kind: int
    start: int
    content: memoryview

    @property
    def whole(self) -> tuple[int, int]:
        """Begin and end of the frame with its head."""
        return self.start - _FRAME.size, self.start + len(self.content)


def key_of(definitions: bytes) -> str:
    """The name that frames of runs have for their definitions."""
    return hashlib.sha256(definitions).hexdigest()[:16]


def frame(kind: int, content: bytes) -> bytes:
    """A frame as it stands in a log."""
    return _FRAME.pack(_MAGIC, kind, len(content), zlib.crc32(content, kind)) + content


def definitions_frame(definitions: bytes) -> bytes:
    """A frame of definitions (JSON)."""
    return frame(DEFINITIONS, zlib.compress(definitions, 9))


def runs_frame(group: Group) -> bytes:
    """A frame of runs."""
    head: dict[str, Any] = {
        "program": group.program,
        "definitions": group.key,
        "runs": [run.run_id for run in group.runs],
        "sizes": [[len(run.scenario), len(run.summary)] for run in group.runs],
    }
    if group.directories:
        head["directories"] = list(group.directories)
    text = json.dumps(head, separators=(",", ":")).encode()
    texts = b"".join(part for run in group.runs for part in (run.scenario, run.summary))
    return frame(RUNS, _LENGTH.pack(len(text)) + text + zlib.compress(texts, _LEVEL))


def times_frame(seconds: Sequence[float]) -> bytes:
    """A frame of CPU seconds of the runs in the frame before."""
    return frame(TIMES, json.dumps([round(value, 6) for value in seconds]).encode())


def head_of(content: memoryview) -> dict[str, Any]:
    """The head of a frame of runs."""
    (length,) = _LENGTH.unpack_from(content)
    head: dict[str, Any] = json.loads(bytes(content[_LENGTH.size : _LENGTH.size + length]))
    return head


def texts_of(content: memoryview) -> list[Texts]:
    """The runs of a frame of runs."""
    (length,) = _LENGTH.unpack_from(content)
    head = head_of(content)
    texts = zlib.decompress(content[_LENGTH.size + length :])
    found, start = [], 0
    for run_id, (scenario, summary) in zip(head["runs"], head["sizes"], strict=True):
        middle = start + scenario
        found.append(Texts(run_id, texts[start:middle], texts[middle : middle + summary]))
        start = middle + summary
    return found


def frames(data: Any, start: int = 0) -> Iterator[Frame]:
    """The whole frames in a log from a byte on; what is damaged is left out."""
    view = memoryview(data)
    at = kept = start
    while (at := data.find(_MAGIC, at)) >= 0:
        found = _frame_at(view, at)
        if found is None:
            at += 1
            continue
        yield found
        at = found.whole[1]
        if at - kept > _KEPT:
            kept = at
            _release(data, at)
    _release(data, len(view))


def _release(data: Any, end: int) -> None:
    """Lets go of memory in which bytes of a mapped file were read; they can be read again."""
    if isinstance(data, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        data.madvise(mmap.MADV_DONTNEED, 0, end)


def content_of(data: bytes) -> bytes | None:
    """The content of the frame that these bytes are; `None` if they are none."""
    found = _frame_at(memoryview(data), 0) if data.startswith(_MAGIC) else None
    return None if found is None else bytes(found.content)


def _frame_at(view: memoryview, at: int) -> Frame | None:
    begin = at + _FRAME.size
    if begin > len(view):
        return None
    _, kind, length, check = _FRAME.unpack_from(view, at)
    if begin + length > len(view):
        return None
    content = view[begin : begin + length]
    return Frame(kind, begin, content) if zlib.crc32(content, kind) == check else None


def mapped(path: Path) -> Any:
    """The bytes of a log without reading all of them at once."""
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # it is empty
            return b""


def is_one(path: Path) -> bool:
    """Whether a file is a log, by its begin; it may be empty."""
    with path.open("rb") as file:
        begin = file.read(len(_MAGIC))
    return begin in (b"", _MAGIC)
