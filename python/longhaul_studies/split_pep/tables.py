"""The table of readings: what each open point of the set-up changes in a run without the PEP."""

from __future__ import annotations

from ..model import ResultTable
from ..results import Results
from . import related
from .grids import READ_AT
from .measures import utilisation
from .scenarios import READINGS

#: The thesis's payload in Mbit/s (figures 4.2, 4.3, 4.5, 4.6; section 4.8 for the single flow), by flows and queue.
THESIS = {
    (50, 3000): 95.0, (50, 1500): 88.9, (50, 1000): 87.9, (50, 600): 84.0, (5, 3000): 96.2, (5, 1500): 87.8, (5, 1000): 78.4,
    (500, 3000): 93.3, (500, 1500): 85.1, (500, 1000): 81.5,
}  # fmt: skip
#: ns-2.35 with the same settings, durations and start times of the flows (`benches/ns2/dumbbell.tcl`): payload that the link carries in Mbit/s,
#: by the reading with ns-2's order of ties and recovery, and by flows and queue.
NS2 = {
    "ties and SACK as in ns-2": (
        "ns-2.35",
        {(50, 3000): 92.9, (50, 1000): 83.4, (50, 600): 79.5, (5, 1000): 80.2, (500, 1000): 87.3, (1, 3000): 35.5, (1, 1000): 35.5},
    ),
    "both, access 1 Gbit/s": (
        "ns-2.35, access 1 Gbit/s",
        {(50, 3000): 92.7, (50, 1000): 83.2, (50, 600): 79.3, (5, 1000): 82.7, (500, 1000): 84.6, (1, 3000): 90.8, (1, 1000): 49.3},
    ),
}  # fmt: skip
_POINTS = [(flows, packets) for flows, queues in READ_AT.items() for packets in queues]


def _rows(results: Results) -> list[list[str]]:
    table = results["readings"]
    rows = [["the thesis", *(_cell(THESIS.get(point)) for point in _POINTS)]]
    for name in READINGS:
        values = [table.median(utilisation, reading=name, flows=flows, packets=packets) for flows, packets in _POINTS]
        rows.append([name, *(_cell(value) for value in values)])
        if name in NS2:
            title, carried = NS2[name]
            rows.append([title, *(_cell(carried.get(point)) for point in _POINTS)])
    return rows


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


TABLES = (
    ResultTable(
        "Readings of a run without the PEP",
        (
            "Payload on the split link in Mbit/s, by flows / queue in packets. The first reading is the one taken (DropTail with the stated limit, every packet acknowledged, starts within a second,"
            " access links of 100 Mbit/s); each other changes one or two points of it. One seed each; the targets have five. ns-2.35 ran with the"
            " same settings, durations and start times; its rows stand below the readings with its order of simultaneous events and its loss recovery."
        ),
        ("reading", *(f"{flows} / {packets}" for flows, packets in _POINTS)),
        _rows,
        ("readings",),
    ),
    related.TABLE,
)
