"""Planned runs: a run is a point of the sweep under one seed. A million of them take some forty bytes each.

A sequence here makes a `PlannedRun` when it is asked for; it holds ids, or places in another sequence.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, NamedTuple, overload

from .. import core
from ..document import Document


@dataclass(frozen=True, eq=False)
class Point:
    """The common part of the runs of a point: all but the seed."""

    #: Its number.
    cell: int
    parameters: dict[str, Any]
    #: What is run: a document with some of its settings changed.
    document: Document
    overrides: core.Overrides = ()
    #: Whether time series are kept, even if those of other points are not.
    tables: bool = False
    #: How long a run takes relative to others, for the time left; the unit does not matter.
    weight: float = 1.0


class PlannedRun(NamedTuple):
    """One run: a point of the sweep under one seed."""

    run_id: str
    point: Point
    replication: int
    seed: int

    @property
    def cell(self) -> int:
        """The number of its point."""
        return self.point.cell

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of its point."""
        return self.point.parameters

    @property
    def document(self) -> Document:
        """What is run, before `overrides`."""
        return self.point.document

    @property
    def overrides(self) -> tuple[tuple[str, str], ...]:
        """What is changed in the document."""
        return (*self.point.overrides, ("run.seed", str(self.seed)))

    @property
    def tables(self) -> bool:
        """Whether its time series are kept, even if those of others are not."""
        return self.point.tables

    @property
    def weight(self) -> float:
        """How long it takes relative to others."""
        return self.point.weight

    @property
    def about(self) -> dict[str, Any]:
        """What those see who follow it."""
        return {"parameters": self.parameters, "seed": self.seed}


class _Lazy(Sequence[PlannedRun]):
    """A sequence whose slices are `Chosen` from it."""

    def _at(self, place: int) -> PlannedRun:
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> PlannedRun: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PlannedRun]: ...
    def __getitem__(self, index: int | slice) -> PlannedRun | Sequence[PlannedRun]:
        """A run, or some of them."""
        places = range(len(self))
        return Chosen(self, array("I", places[index])) if isinstance(index, slice) else self._at(places[index])


class Replicated(_Lazy):
    """Every point under the same seeds, which follow one another: the runs of a point stand together, in the order of their seeds."""

    def __init__(self, points: Sequence[Point], ids: Sequence[str], first_seed: int, replications: int) -> None:
        """`ids` has for each point the ids of its runs, of one length, one after the other; the seeds begin with `first_seed`."""
        self.points = points
        self.first_seed, self.replications = first_seed, replications
        self._ids = ids
        self._width = len(ids[0]) // replications if ids else 1

    def __len__(self) -> int:
        return len(self.points) * self.replications

    def _at(self, place: int) -> PlannedRun:
        number, k = divmod(place, self.replications)
        run_id = self._ids[number][k * self._width : (k + 1) * self._width]
        return PlannedRun(run_id, self.points[number], k, self.first_seed + k)

    def ids(self) -> Iterator[str]:
        """The ids of all runs."""
        width = self._width
        return (of_point[at : at + width] for of_point in self._ids for at in range(0, len(of_point), width))


class Chosen(_Lazy):
    """Some of the runs of a sequence, by their places in it."""

    def __init__(self, among: Sequence[PlannedRun], places: array[int]) -> None:
        """The runs of `among` at these places."""
        self.among: Sequence[PlannedRun] = among
        self.places = places
        if isinstance(among, Chosen):  # one step to each run, however often some were chosen
            self.among, self.places = among.among, array("I", map(among.places.__getitem__, places))

    def __len__(self) -> int:
        return len(self.places)

    def _at(self, place: int) -> PlannedRun:
        return self.among[self.places[place]]

    def ids(self) -> Iterator[str]:
        """The ids of all runs."""
        return (self.among[place].run_id for place in self.places)


def ids_of(runs: Sequence[PlannedRun]) -> Iterator[str]:
    """The ids of some runs, in their order."""
    return runs.ids() if isinstance(runs, Replicated | Chosen) else (run.run_id for run in runs)


def points_of(runs: Sequence[PlannedRun]) -> Sequence[Point]:
    """The points of some runs, in the order in which they come first; of a choice those of all among which it was made."""
    if isinstance(runs, Chosen):
        return points_of(runs.among)
    if isinstance(runs, Replicated):
        return runs.points
    return list({id(run.point): run.point for run in runs}.values())


def chosen(runs: Sequence[PlannedRun], flags: Iterable[object]) -> Sequence[PlannedRun]:
    """The runs whose flag is true; there is a flag for each run."""
    places = array("I", compress(range(len(runs)), flags))
    return runs if len(places) == len(runs) else Chosen(runs, places)


def unique(runs: Sequence[PlannedRun]) -> Sequence[PlannedRun]:
    """The runs without those that are the same in all that matters as an earlier one."""
    if len(set(ids_of(runs))) == len(runs):
        return runs
    first: dict[str, int] = {}
    for place, run_id in enumerate(ids_of(runs)):
        first.setdefault(run_id, place)
    return Chosen(runs, array("I", first.values()))


def places_of(runs: Sequence[PlannedRun], among: Sequence[PlannedRun]) -> Sequence[int]:
    """The place of each of some runs among all, each of which stands there once."""
    if runs is among:
        return range(len(among))
    if isinstance(runs, Chosen) and runs.among is among:
        return runs.places
    place = {run_id: number for number, run_id in enumerate(ids_of(among))}
    return array("I", (place[run_id] for run_id in ids_of(runs)))


def total_weight(runs: Sequence[PlannedRun]) -> float:
    """The sum of the weights of some runs."""
    if isinstance(runs, Replicated):
        return sum(point.weight for point in runs.points) * runs.replications
    if len({point.weight for point in points_of(runs)}) == 1:
        return len(runs) * points_of(runs)[0].weight
    return sum(run.weight for run in runs)
