"""Events of a link by its script, as far as it can be known without drawing random numbers.

A result has the times of its run among its events (`link_rate`, `link_delay`, `link_down`); here are those of a scenario: without
jitter and drift, and outages at random with their mean times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .units import read_in

#: Most times of one table.
MOST = 10_000


def seconds(value: object) -> float:
    """A duration of a scenario in s; 0 if there is none."""
    return read_in(value, "s") or 0.0


def _again(first: float, table: Mapping[str, Any], end: float) -> Iterator[float]:
    every = seconds(table.get("every"))
    for count in range(MOST if every else 1):
        at = first + count * every
        if count and at >= end:
            return
        yield at


def changes(section: Mapping[str, Any], end: float) -> list[tuple[float, Mapping[str, Any]]]:
    """Scripted changes of a direction of a link in a run of `end` seconds, each with its time in s, in order.

    >>> [at for at, _ in changes({"changes": [{"at": "5 s", "every": "15 s", "delay": "40 ms"}, {"at": "9 s"}]}, 40.0)]
    [5.0, 9.0, 20.0, 35.0]
    """
    made = [(at, one) for one in section.get("changes") or () for at in _again(seconds(one.get("at")), one, end)]
    return sorted(made, key=lambda one: one[0])


def outages(section: Mapping[str, Any], end: float) -> list[tuple[float, float, str]]:
    """Outages of a direction of a link in a run of `end` seconds: begin and length in s, and whether packets are lost or held.

    >>> outages({"outages": [{"start": "15 s", "duration": "1 s", "every": "15 s", "mode": "hold"}]}, 40.0)
    [(15.0, 1.0, 'hold'), (30.0, 1.0, 'hold')]
    >>> outages({"outages": [{"up": "20 s", "down": "4 s"}]}, 60.0)
    [(20.0, 4.0, 'drop'), (44.0, 4.0, 'drop')]
    """
    made = []
    for one in section.get("outages") or ():
        first, length, table = seconds(one.get("start")), seconds(one.get("duration")), one
        if one.get("up"):
            up, length = seconds(one["up"]), seconds(one.get("down"))
            first, table = first + up, {"every": f"{up + length} s"}
            if first >= end:
                continue
        made += [(at, length, str(one.get("mode", "drop"))) for at in _again(first, table, end)]
    return sorted(made)


#: Which settings of a table of `wander` move what.
_MOVES = {"rate": ("spread", "factors"), "delay": ("delay",)}


def wandering(tables: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which of rate and delay tables of `wander` move.

    >>> wandering([{"every": "1 s", "spread": 0.2}]), wandering([{"delay": {}}, {"factors": [1, 2]}]), wandering([])
    (['rate'], ['rate', 'delay'], [])
    """
    return [what for what, keys in _MOVES.items() if any(key in one for one in tables for key in keys)]
