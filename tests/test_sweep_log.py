"""The log of a sweep: what is whole in it counts, whatever happens to the rest; folding changes nothing but the order."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from longhaul.errors import OutputError
from longhaul.sweep import log, records
from longhaul.sweep.records import Records, Writer

DEFINITIONS = [json.dumps({f"metric{k}": {"unit": "s"}}).encode() for k in range(2)]


def run_id(number: int) -> str:
    """An id that looks like one."""
    return f"{number * 0x9E3779B97F4A7C15 % 2**128:032x}"


def texts(number: int, draw: random.Random) -> log.Texts:
    """A run with texts of different lengths, some of them empty, some with the begin of a frame in them."""
    noise = draw.randbytes(draw.choice((0, 1, 50))) + draw.choice((b"", b"LHLG", b"LHLG\x02"))
    return log.Texts(run_id(number), f"seed = {number}\n".encode() + noise, b'{"run":{}}' * draw.choice((1, 3)))


def written(count: int, draw: random.Random) -> tuple[bytes, list[tuple[int, list[log.Texts]]]]:
    """A log of so many runs in frames, and for each frame of runs where it ends and what is in it."""
    data, frames, number, defined = b"", [], 0, set()
    while number < count:
        size = draw.choice((1, 2, 5))
        definitions = draw.choice(DEFINITIONS)
        group = log.Group("program", definitions, [texts(number + k, draw) for k in range(size)])
        if definitions not in defined:
            defined.add(definitions)
            data += log.definitions_frame(definitions)
        data += log.runs_frame(group)
        frames.append((len(data), list(group.runs)))
        data += log.times_frame([0.5] * size)
        number += size
    return data, frames


def read(data: bytes) -> list[log.Texts]:
    """The runs in a log."""
    return [run for frame in log.frames(data) if frame.kind == log.RUNS for run in log.texts_of(frame.content)]


@pytest.mark.parametrize("seed", range(3))
def test_a_log_cut_at_any_byte_has_the_runs_of_its_whole_frames(seed):
    data, frames = written(12, random.Random(seed))
    for cut in range(len(data) + 1):
        assert read(data[:cut]) == [run for end, runs in frames if end <= cut for run in runs]


@pytest.mark.parametrize("seed", range(3))
def test_a_damaged_byte_costs_the_runs_of_its_frame_only(seed):
    draw = random.Random(seed)
    data, frames = written(12, draw)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1 << draw.randrange(8)
        found = read(bytes(changed))
        kept = [runs for end, runs in frames if all(run in found for run in runs)]
        assert len(frames) - len(kept) <= 1, f"byte {place}"
        assert found == [run for runs in kept for run in runs]


def test_a_run_added_later_takes_the_place_of_an_earlier_one(tmp_path):
    for program in ("old", "new"):
        writer = Writer(tmp_path)
        writer.append(log.Group(program, DEFINITIONS[0], [log.Texts(run_id(1), program.encode(), b"{}")]), [1.0])
        writer.close()
    found = Records(tmp_path).get(run_id(1))
    assert (found.program, found.scenario) == ("new", b"new")


def test_records_see_what_another_process_adds(tmp_path):
    seen = Records(tmp_path)
    assert len(seen) == 0
    writer = Writer(tmp_path)
    for number in range(3):
        writer.append(log.Group("p", DEFINITIONS[0], [texts(number, random.Random(number))]), [1.0])
        seen.refresh()
        assert list(seen) == [run_id(k) for k in range(number + 1)]
    assert json.loads(seen.get(run_id(2)).definitions) == json.loads(DEFINITIONS[0])
    writer.close()


def add(runs: Path, numbers: list[int], size: int) -> None:
    """Adds runs as a process of its own, so many in a frame."""
    writer = Writer(runs)
    for begin in range(0, len(numbers), size):
        part = numbers[begin : begin + size]
        group = log.Group("p", DEFINITIONS[0], [texts(k, random.Random(k)) for k in part])
        writer.append(group, [k / 4 for k in part])
    writer.close()


def content(runs: Path) -> dict[str, bytes]:
    """Every file there."""
    return {file.name: file.read_bytes() for file in sorted(runs.iterdir())}


@pytest.mark.parametrize("size", [1, 7, 64, 500])
@pytest.mark.parametrize("parts", [1, 3])
def test_folded_logs_have_the_same_bytes_whoever_made_the_runs(tmp_path, size, parts):
    numbers = list(range(200))
    order = [run_id(k) for k in numbers]
    places = tmp_path / "a", tmp_path / "b"
    for place in places:
        place.mkdir()
    add(places[0], numbers, log.GROUP)
    Records(places[0]).fold(order, None)
    shuffled = numbers[:]
    random.Random(size).shuffle(shuffled)
    for part in range(parts):
        add(places[1], (shuffled if size == 7 else numbers)[part::parts], size)
    folded = Records(places[1])
    folded.fold(order, None)
    assert content(places[0]) == content(places[1])
    assert set(content(places[0])) == {"records.log", "timing.json"}
    assert list(folded) == order
    assert folded.seconds() == {run_id(k): k / 4 for k in numbers}
    assert folded.texts(order[77]) == texts(77, random.Random(77))


def test_runs_that_are_not_of_the_plan_are_kept(tmp_path):
    add(tmp_path, list(range(10)), 4)
    folded = Records(tmp_path)
    folded.fold([run_id(3), run_id(1)], None)
    assert list(folded)[:2] == [run_id(3), run_id(1)]
    assert set(folded) == {run_id(k) for k in range(10)}


def test_a_log_that_another_process_writes_stays(tmp_path):
    add(tmp_path, [1, 2], 1)
    other = Writer(tmp_path)
    other.append(log.Group("p", DEFINITIONS[0], [texts(3, random.Random(3))]), [1.0])
    folded = Records(tmp_path)
    folded.fold([run_id(k) for k in (1, 2, 3)], None)
    assert other.path.exists()
    assert records.is_written(other.path)
    other.append(log.Group("p", DEFINITIONS[0], [texts(4, random.Random(4))]), [1.0])
    other.close()
    assert not records.is_written(other.path)
    again = Records(tmp_path)
    assert set(again) == {run_id(k) for k in (1, 2, 3, 4)}
    again.fold([run_id(k) for k in (1, 2, 3, 4)], None)
    assert set(content(tmp_path)) == {"records.log", "timing.json"}


def test_a_fold_that_cannot_be_written_loses_nothing(tmp_path, monkeypatch):
    add(tmp_path, list(range(100)), 3)
    before = content(tmp_path)

    def full(_file: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records, "sync", full)
    with pytest.raises(OutputError, match="No space left on device"):
        Records(tmp_path).fold([run_id(k) for k in range(100)], None)
    assert content(tmp_path) == before


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    writer = Writer(tmp_path)
    writer.append(log.Group("p", DEFINITIONS[0], [texts(1, random.Random(1))]), [1.0])
    before = writer.path.read_bytes()
    real, calls = records.os.write, []

    def half(file: int, data: memoryview) -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(file, data[: len(data) // 2])

    monkeypatch.setattr(records.os, "write", half)
    with pytest.raises(OutputError, match="No space left on device"):
        writer.append(log.Group("p", DEFINITIONS[0], [texts(2, random.Random(2))]), [1.0])
    assert writer.path.read_bytes() == before
    monkeypatch.undo()
    writer.append(log.Group("p", DEFINITIONS[0], [texts(3, random.Random(3))]), [1.0])
    writer.close()
    assert list(Records(tmp_path)) == [run_id(1), run_id(3)]


def test_a_missing_or_damaged_file_of_times_takes_no_run_away(tmp_path):
    add(tmp_path, [1, 2], 1)
    folded = Records(tmp_path)
    folded.fold([run_id(1), run_id(2)], None)
    for damage in ("", "[]", '{"cpu_s": 3}'):
        (tmp_path / "timing.json").write_text(damage)
        assert folded.seconds() == {}
        assert list(Records(tmp_path)) == [run_id(1), run_id(2)]
