"""The runs of a sweep that are done: what the logs in its directory `runs` hold, found by the id of the run.

While a sweep runs, each of its processes adds to a log of its own, `records-*.log`; at the end all are folded into `records.log`, which
has the runs in the order of the sweep. So two sweeps with the same runs have the same bytes there, whoever made them in which order.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from .. import staging
from ..errors import OutputError, explain_os_error
from ..files import errors_as_output_error, json_text, sync, write_atomically
from . import log

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

FOLDED = "records.log"
TIMES = "timing.json"
_PATTERN = "records*.log"
_NAME = re.compile(r"records(-[0-9a-f]{16}-[0-9a-f]{8})?\.log")
#: Frames whose texts are kept at hand, beside one for each log: these may have to be read in turn.
_AT_HAND = 32
#: Logs that are folded while they are read are looked for again so many times.
_TRIES = 10


class Record(NamedTuple):
    """A run that is done."""

    run_id: str
    program: str
    scenario: bytes
    summary: bytes
    definitions: bytes
    #: Whether it has a directory, with its time series.
    has_directory: bool

    def content(self) -> dict[str, Any]:
        """Its summary, with the definitions of its metrics."""
        return {**json.loads(self.summary), "definitions": json.loads(self.definitions)}


class _Place(NamedTuple):
    """A frame of runs: its log, where its content stands, and what is true of all its runs."""

    path: Path
    start: int
    length: int
    program: str
    definitions: str
    runs: int


class Records:
    """The runs in the logs of a directory."""

    def __init__(self, runs: Path) -> None:
        """Looks through the logs in `runs`, which need not exist."""
        self.runs = runs
        #: How often all that was read was forgotten.
        self._epoch = 0
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self._epoch += 1
        self._places: list[_Place] = []
        self._frame_of: dict[str, int] = {}
        self._directories: set[str] = set()
        self._definitions: dict[str, bytes] = {}
        #: CPU seconds of the runs of frames, and of each log the frame of runs that was the last.
        self._times: dict[int, array[float]] = {}
        self._last: dict[Path, int] = {}
        #: Of each log its identity on the disk, and the byte up to which it was read.
        self._read: dict[Path, tuple[int, int]] = {}
        self._at_hand: dict[int, dict[str, log.Texts]] = {}
        self._head_at_hand: tuple[int, Sequence[str]] = -1, ()

    def refresh(self) -> None:
        """Takes in what other processes have added since."""
        for _ in range(_TRIES):
            try:
                self._take_in(_logs(self.runs))
                return
            except FileNotFoundError:  # it was folded meanwhile
                self._forget()
        raise OutputError(f"{self.runs}: its logs change again and again; does another process write there?")

    def _take_in(self, logs: list[Path]) -> None:
        stats = {path: path.stat() for path in logs}
        if any(path not in stats or stats[path].st_ino != inode for path, (inode, _) in self._read.items()):
            self._forget()
        for path, stat in stats.items():
            inode, read = self._read.get(path, (stat.st_ino, 0))
            if stat.st_size > read:
                data = log.mapped(path)
                for found in log.frames(data, read):
                    self._add(path, found)
                    read = found.whole[1]
            self._read[path] = inode, read

    def _add(self, path: Path, found: log.Frame) -> None:
        if found.kind == log.DEFINITIONS:
            content = zlib.decompress(found.content)
            self._definitions[log.key_of(content)] = content
        elif found.kind == log.RUNS:
            head = log.head_of(found.content)
            number = len(self._places)
            place = _Place(
                path, found.start, len(found.content), head["program"], head["definitions"], len(head["runs"])
            )
            self._places.append(place)
            self._last[path] = number
            self._frame_of.update(dict.fromkeys(head["runs"], number))
            if self._directories:
                self._directories.difference_update(head["runs"])
            self._directories.update(head.get("directories", ()))
        elif found.kind == log.TIMES and path in self._last:
            self._times[self._last[path]] = array("d", json.loads(bytes(found.content)))

    def __len__(self) -> int:
        return len(self._frame_of)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._frame_of

    def __iter__(self) -> Iterator[str]:
        return iter(self._frame_of)

    def program(self, run_id: str) -> str | None:
        """The digest of the program that made a run; `None` if the run is not there."""
        number = self._frame_of.get(run_id)
        return None if number is None else self._places[number].program

    @property
    def frames(self) -> tuple[int, int]:
        """Which frames are there: it is another value after any change."""
        return self._epoch, len(self._places)

    def programs(self) -> frozenset[str]:
        """The digests of the programs that made any of the runs, or made runs that were made again since."""
        return frozenset(place.program for place in self._places)

    def made_by(self, run_ids: Iterable[str], programs: Set[str]) -> Iterator[bool]:
        """For each id whether the run is there and was made by one of these programs."""
        frames = {number for number, place in enumerate(self._places) if place.program in programs}
        return map(frames.__contains__, map(self._frame_of.get, run_ids))

    @property
    def any_directory(self) -> bool:
        """Whether any run has a directory, with its time series."""
        return bool(self._directories)

    def has_directory(self, run_id: str) -> bool:
        """Whether a run has a directory, with its time series."""
        return run_id in self._directories

    def definitions(self) -> dict[str, Any]:
        """Unit, title and definition of every metric of all runs."""
        found: dict[str, Any] = {}
        for key in dict.fromkeys(place.definitions for place in self._places):
            found |= json.loads(self._definitions[key])
        return found

    def texts(self, run_id: str) -> log.Texts:
        """Scenario and summary of a run that is there."""
        for _ in range(_TRIES):
            found = self._at_hand_or_read(self._frame_of[run_id]).get(run_id)
            if found is not None:
                return found
            self._forget()  # another process has folded the logs
            self.refresh()
        raise OutputError(f"{self.runs}: its logs change again and again; does another process write there?")

    def _at_hand_or_read(self, number: int) -> dict[str, log.Texts]:
        """The runs of a frame, by id; none if the frame is not there any more."""
        if number not in self._at_hand:
            content = self._content(self._places[number])
            if content is None:
                return {}
            while len(self._at_hand) >= _AT_HAND + len(self._read):
                self._at_hand.pop(next(iter(self._at_hand)))
            self._at_hand[number] = {one.run_id: one for one in log.texts_of(memoryview(content))}
        return self._at_hand[number]

    def get(self, run_id: str) -> Record | None:
        """A run; `None` if it is not there."""
        if run_id not in self._frame_of:
            return None
        texts = self.texts(run_id)
        place = self._places[self._frame_of[run_id]]
        definitions = self._definitions[place.definitions]
        return Record(run_id, place.program, texts.scenario, texts.summary, definitions, self.has_directory(run_id))

    def _content(self, place: _Place) -> bytes | None:
        """What is in a frame; `None` if something else stands there now."""
        with errors_as_output_error(place.path):
            try:
                with place.path.open("rb") as file:
                    file.seek(place.start - log.HEAD)
                    return log.content_of(file.read(log.HEAD + place.length))
            except FileNotFoundError:
                return None

    def seconds(self) -> dict[str, float]:
        """CPU seconds of the runs, of those that they are known of."""
        times = self._times_of_frames()
        return {
            run: spent
            for number, spents in times.items()
            for run, spent in zip(self._heads(number), spents, strict=False)
            if self._frame_of.get(run) == number
        }

    def _times_of_frames(self) -> Mapping[int, Sequence[float]]:
        """CPU seconds of the runs of each frame, in their order, of those frames that they are known of."""
        try:
            content = json.loads((self.runs / TIMES).read_text(encoding="utf-8"))
            folded = array("d", content["cpu_s"])
        except (OSError, ValueError, KeyError, TypeError):
            return self._times
        numbers = [number for number, place in enumerate(self._places) if place.path.name == FOLDED]
        if sum(self._places[number].runs for number in numbers) != len(folded):
            return self._times
        found, at = dict(self._times), 0
        for number in numbers:
            found[number] = folded[at : at + self._places[number].runs]
            at += self._places[number].runs
        return found

    def _heads(self, number: int) -> Sequence[str]:
        """Ids of the runs of a frame, in their order; none if the frame is not there any more."""
        if self._head_at_hand[0] != number:
            content = self._content(self._places[number])
            self._head_at_hand = number, () if content is None else log.head_of(memoryview(content))["runs"]
        return self._head_at_hand[1]

    def is_folded(self) -> bool:
        """Whether all runs are in one log, in the order in which they were folded."""
        others = [path for path in self._read if path.name != FOLDED]
        return all(path.stat().st_size == 0 for path in others)

    def fold(self, order: Iterable[str], own: Writer | None) -> None:
        """Puts all runs into one log, those of `order` first; logs that another process writes stay."""
        with _one_at_a_time(self.runs):
            self.refresh()
            if own is not None:
                own.sync()
            if not self.is_folded():
                self._fold(order, own)

    def _fold(self, order: Iterable[str], own: Writer | None) -> None:
        wanted = [run for run in order if run in self._frame_of]
        if len(wanted) < len(self._frame_of):
            wanted += sorted(self._frame_of.keys() - set(wanted))
        target = self.runs / FOLDED
        sources = list(self._read)
        with errors_as_output_error(target):
            folder = staging.make(staging.place_of(self.runs))
            try:
                with (folder / FOLDED).open("xb") as file:
                    for part in self._parts(wanted):
                        file.write(part)
                sync(folder / FOLDED)
                write_atomically(self.runs / TIMES, json_text({"cpu_s": self._seconds_of(wanted)}))
                (folder / FOLDED).replace(target)
                sync(self.runs)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
        for path in sources:
            if path != target and ((own is not None and path == own.path) or not is_written(path)):
                path.unlink(missing_ok=True)
        self._forget()
        self.refresh()

    def _seconds_of(self, runs: Sequence[str]) -> list[float]:
        """CPU seconds of these runs, 0 where they are not known."""
        times = self._times_of_frames()
        found = array("d", bytes(8 * len(runs)))
        # The runs of a frame mostly follow one another, in its order.
        for begin, end, number in _stretches([self._frame_of[run] for run in runs]):
            place = {run: at for at, run in enumerate(self._heads(number))}
            spent = times.get(number, ())
            for at in range(begin, end):
                if (where := place.get(runs[at], len(spent))) < len(spent):
                    found[at] = spent[where]
        return found.tolist()

    def _parts(self, order: Sequence[str]) -> Iterator[bytes]:
        """The frames of a folded log. A frame that holds what it should is taken as it is."""
        defined: set[str] = set()
        for begin in range(0, len(order), log.GROUP):
            group = order[begin : begin + log.GROUP]
            for number in dict.fromkeys(self._frame_of[run] for run in group):
                place = self._places[number]
                if place.definitions not in defined:
                    defined.add(place.definitions)
                    yield log.definitions_frame(self._definitions[place.definitions])
            yield from self._frames_of(group)

    def _frames_of(self, group: Sequence[str]) -> Iterator[bytes]:
        numbers = {self._frame_of[run] for run in group}
        if len(numbers) == 1:
            place = self._places[numbers.pop()]
            content = self._content(place)
            if (
                content is not None
                and place.runs == len(group)
                and log.head_of(memoryview(content))["runs"] == list(group)
            ):
                yield log.frame(log.RUNS, content)
                return

        def alike(run: str) -> tuple[str, str]:
            place = self._places[self._frame_of[run]]
            return place.program, place.definitions

        for (program, definitions), runs in groupby(group, key=alike):
            texts = [self.texts(run) for run in runs]
            directories = [one.run_id for one in texts if self.has_directory(one.run_id)]
            yield log.runs_frame(log.Group(program, self._definitions[definitions], texts, directories))


def _stretches(values: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Where equal values follow one another: begin, end, value."""
    begin = 0
    for value, members in groupby(values):
        end = begin + sum(1 for _ in members)
        yield begin, end, value
        begin = end


class Writer:
    """A log of this process, locked while it is open, so that others know that it is written."""

    def __init__(self, runs: Path) -> None:
        """A new log in `runs`, under a name that sorts behind those of earlier ones."""
        with errors_as_output_error(runs):
            while True:
                self.path = runs / f"records-{time.time_ns():016x}-{secrets.token_hex(4)}.log"
                self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
                _lock(self._file)
                if _is_at(self.path, self._file):  # nobody took it for a dead process's before it was locked
                    break
                os.close(self._file)
        self._size = 0
        self._defined: set[str] = set()

    def append(self, group: log.Group, seconds: Sequence[float]) -> None:
        """Adds runs; raises `OutputError`, and adds nothing, if the disk is full."""
        self.append_frames(group.key, lambda: group.definitions, log.runs_frame(group) + log.times_frame(seconds))

    def append_frames(self, key: str, definitions: Any, frames: bytes) -> None:
        """Adds frames of runs whose definitions have this key, before them the definitions unless they are there."""
        new = key not in self._defined
        data = memoryview((log.definitions_frame(definitions()) if new else b"") + frames)
        try:
            done = 0
            while done < len(data):
                done += os.write(self._file, data[done:])
        except OSError as error:
            os.ftruncate(self._file, self._size)
            os.lseek(self._file, self._size, os.SEEK_SET)
            raise OutputError(explain_os_error(error, "write", self.path)) from None
        self._size += len(data)
        if new:
            self._defined.add(key)

    def sync(self) -> None:
        """Makes sure that what was added outlives a loss of power."""
        with errors_as_output_error(self.path):
            os.fsync(self._file)

    def close(self) -> None:
        """Lets go of the log, which goes away if nothing was added."""
        if self._file < 0:
            return
        if self._size == 0:
            self.path.unlink(missing_ok=True)
        os.close(self._file)
        self._file = -1


def _logs(runs: Path) -> list[Path]:
    """The logs in a directory: the folded one, then the others by age."""
    return sorted(runs.glob(_PATTERN), key=lambda path: (path.name != FOLDED, path.name))


def is_written(path: Path) -> bool:
    """Whether a living process has this log open to write."""
    if fcntl is None:
        return False
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(file)
    return False


def _lock(file: int) -> None:
    """Locks a file where the file system can: at once, but for a moment in which another process looks whether it is locked."""
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            return


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


@contextmanager
def _one_at_a_time(directory: Path) -> Iterator[None]:
    """Keeps other processes out as long as the block lasts, where directories can be locked."""
    with errors_as_output_error(directory):
        file = os.open(directory, os.O_RDONLY) if fcntl is not None else -1
    try:
        if fcntl is not None:
            with suppress(OSError):  # NFS locks only what can be written
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        if file >= 0:
            os.close(file)


def remove_logs(runs: Path) -> None:
    """Removes the logs in a sweep's directory of runs, and the times of their runs."""
    logs = [path for path in _logs(runs) if _NAME.fullmatch(path.name) and path.is_file() and log.is_one(path)]
    with errors_as_output_error(runs):
        for path in logs:
            path.unlink(missing_ok=True)
        if logs:
            (runs / TIMES).unlink(missing_ok=True)


_looked_at: dict[Path, Records] = {}


def recorded(directory: Path) -> Record | None:
    """The run whose directory this would be, if it is held by a log beside it; `None` if none is."""
    runs = directory.parent.absolute()
    if not _logs(runs):
        return None
    if runs not in _looked_at:
        _looked_at.clear()
        _looked_at[runs] = Records(runs)
    records = _looked_at[runs]
    records.refresh()
    return records.get(directory.name)
