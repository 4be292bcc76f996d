"""Planned runs as sequences: they are what a list of runs would be, and take a sixth of its memory."""

from __future__ import annotations

import pickle
import random
import tracemalloc

import pytest
from longhaul.document import read
from longhaul.sweep import PlannedRun, Point, make_plan, records, unique
from longhaul.sweep.log import Group, Texts
from longhaul.sweep.runs import Replicated, chosen, ids_of, places_of, points_of, total_weight


def runs_of(points: int, replications: int, same: bool = False) -> Replicated:
    """Points with ids of four characters each; with `same`, all have those of the first."""
    made = [Point(cell, {"x": cell}, None, weight=1.0 + cell) for cell in range(points)]
    ids = ["".join(f"{0 if same else cell:02x}{k:02x}" for k in range(replications)) for cell in range(points)]
    return Replicated(made, ids, 7, replications)


def as_list(runs: Replicated) -> list[PlannedRun]:
    """The same runs, each made."""
    return [
        PlannedRun(f"{cell:02x}{k:02x}", point, k, 7 + k)
        for cell, point in enumerate(runs.points)
        for k in range(runs.replications)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_sequences_of_runs_are_what_lists_of_them_would_be(seed):
    draw = random.Random(seed)
    runs = runs_of(draw.randint(1, 6), draw.randint(1, 9))
    whole = as_list(runs)
    assert len(runs) == len(whole)
    assert [runs[i] for i in range(-len(whole), len(whole))] == [whole[i] for i in range(-len(whole), len(whole))]
    for _ in range(3):  # a choice of a choice is one too
        flags = [draw.random() < 0.6 for _ in whole]
        runs, whole = chosen(runs, flags), [run for run, flag in zip(whole, flags, strict=True) if flag]
        assert list(runs) == whole
        assert list(ids_of(runs)) == [run.run_id for run in whole]
        part = slice(draw.randint(-3, 3), None, draw.randint(1, 3))
        assert list(runs[part]) == whole[part]
        assert {point.cell for point in points_of(runs)} >= {run.cell for run in whole}
        assert total_weight(runs) == pytest.approx(sum(run.weight for run in whole))
    assert [run.run_id for run in pickle.loads(pickle.dumps(runs))] == [run.run_id for run in whole]


def test_an_index_out_of_range_ends_a_sequence():
    for runs in (runs_of(2, 3), chosen(runs_of(2, 3), [1, 0, 1, 0, 0, 0])):
        for index in (len(runs), -len(runs) - 1):
            with pytest.raises(IndexError):
                runs[index]


def test_runs_that_are_the_same_count_once():
    runs = runs_of(3, 4, same=True)
    assert list(unique(runs)) == list(runs)[:4]
    assert len(unique(runs_of(3, 4))) == 12


def test_places_are_those_among_all():
    runs = runs_of(3, 4)
    some = chosen(runs, [place % 3 == 0 for place in range(12)])
    assert list(places_of(some, runs)) == list(places_of(list(some), runs)) == [0, 3, 6, 9]
    assert list(places_of(runs, runs)) == list(range(12))


def test_a_planned_run_takes_less_than_fifty_bytes(sweep_file):
    document = read(sweep_file)
    make_plan(document)  # what is loaded once
    tracemalloc.start()
    try:
        plan = make_plan(document, replications=20_000)
        count, held = len(plan.unique), tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 50 * count


def test_a_run_in_the_log_takes_less_than_250_bytes_of_memory(tmp_path):
    writer = records.Writer(tmp_path)
    for begin in range(0, 32_000, 64):
        texts = [Texts(f"{number:032x}", b"scenario" * 100, b"summary" * 100) for number in range(begin, begin + 64)]
        writer.append(Group("program", b"{}", texts), [0.001] * 64)
    writer.close()
    tracemalloc.start()
    try:
        found = records.Records(tmp_path)
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        found.fold([f"{number:032x}" for number in reversed(range(32_000))], None)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(found) == 32_000
    assert held < 250 * 32_000
    assert most < 650 * 32_000 + 5e6
    assert found.seconds() == {f"{number:032x}": 0.001 for number in range(32_000)}
