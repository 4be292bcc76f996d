"""The objectives, for the best transport of each group: QUIC is what the draft is about, the others are compared with it."""

from __future__ import annotations

import math
from collections.abc import Callable

from ..model import Target, classed
from ..results import Results
from ..verdict import Judgement, band, holds
from .grids import transports
from .measures import best, in_seconds, names, typical
from .scenarios import CELLS, PATIENCE, Cell

#: Share of an objective by which it may be missed and count as partly met.
MARGIN = 0.1
#: Names of all transports, by group.
GROUPS: dict[str, tuple[str, ...]] = {}
for _one in transports("full"):
    GROUPS[_one.group] = (*GROUPS.get(_one.group, ()), _one.name)
#: The letter of a group in the names of targets.
LETTERS = {"QUIC": "Q", "TCP": "T", "proxy": "P", "hop": "H"}
_REASONS = {
    "QUIC": "A window of ten packets takes eight round trips to open, and random loss counts as congestion (not for BBR).",
    "TCP": "As QUIC, with a round trip more for the handshake and a window that starts later.",
    "proxy": "A connection over the long hop begins with ten packets too; losses count as congestion.",
}


def number_of(cell: Cell) -> str:
    """`O1` to `O18`."""
    return f"O{CELLS.index(cell) + 1}"


def target_name(cell: Cell, group: str) -> str:
    """As `O3Q`."""
    return number_of(cell) + LETTERS[group]


def _judge(cell: Cell, group: str) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        value, name = best(results, cell, GROUPS[group])
        if math.isinf(value):
            return Judgement("not", f"not there after {PATIENCE * cell.objective:g} s")
        judged = band(value, cell.least, cell.objective, margin=MARGIN * cell.objective, unit="s")
        return Judgement(judged.verdict, f"{in_seconds(value, cell.objective)} s ({name})", judged.tolerance)

    return judge


def _target(cell: Cell, group: str) -> Target:
    text = f"{cell.label}: {cell.megabytes} MB within {cell.objective:g} s, by {_WORDS[group]}"
    return Target(
        target_name(cell, group),
        "section 3",
        text,
        "band",
        _judge(cell, group),
        ("transfers",),
        _REASONS.get(group, ""),
    )


_WORDS = {"QUIC": "QUIC", "TCP": "TCP without a proxy", "proxy": "a proxy of the four older kinds", "hop": "the hop"}


def _shares(results: Results, group: str) -> dict[str, float]:
    """The share of objectives that each transport of a group meets, by its name."""
    return {
        name: sum(typical(results, cell, name) <= cell.objective for cell in CELLS) / len(CELLS)
        for name in names(results)
        if name in GROUPS[group]
    }


def _no_one_meets_all(results: Results) -> Judgement:
    found = {**_shares(results, "TCP"), **_shares(results, "QUIC")}
    top = max(found, key=lambda name: found[name])
    return holds({"none": found[top] < 1}, f"most by {top}: {found[top] * len(CELLS):.0f} of {len(CELLS)}")


def _loss_stops_cubic(results: Results) -> Judgement:
    """The time of 10 MB with 1 % loss over that without."""
    clean, lossy = (
        next(c for c in CELLS if c.name == name and c.megabytes == 10) for name in ("250/3", "250/3, 1 % loss")
    )
    ratios = {
        name: typical(results, lossy, name) / typical(results, clean, name)
        for name in names(results)
        if name in _LOSS_BASED
    }
    text = ", ".join(
        f"{name} {'more than ' if math.isinf(r) else ''}{'10' if math.isinf(r) else f'{r:.1f}'} times"
        for name, r in ratios.items()
    )
    return holds({name: ratio > 3 for name, ratio in ratios.items()}, text)


_LOSS_BASED = ("TCP cubic", "TCP reno", "QUIC cubic", "QUIC reno")
_OURS = ("C1", "C2")
_GROUPS = ("QUIC", "TCP", "proxy", "hop")
TARGETS = classed(
    (
        *(_target(cell, group) for group in _GROUPS for cell in CELLS),
        Target("C1", "ours", "No congestion control from host to host meets all objectives", "ordering", _no_one_meets_all, ("transfers",)),
        Target(
            "C2", "ours", "1 % random loss makes 10 MB take more than three times as long with congestion controls based on loss",
            "ordering", _loss_stops_cubic, ("transfers",),
        ),
    ),
    {
        "number": ", ".join(target_name(cell, "QUIC") for cell in CELLS),
        "ours": ", ".join([*(target_name(cell, group) for group in _GROUPS[1:] for cell in CELLS), *_OURS]),
    },
)  # fmt: skip
