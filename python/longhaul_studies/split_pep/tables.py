"""The table of readings: what each open point of the set-up changes in a run without the PEP."""

from __future__ import annotations

from ..model import ResultTable
from ..results import Results
from .grids import READ_AT
from .measures import utilisation
from .scenarios import READINGS

#: The thesis's payload in Mbit/s (figures 4.2, 4.3, 4.5, 4.6; section 4.8 for the single flow), by flows and queue.
THESIS = {
    (50, 3000): 95.0, (50, 1500): 88.9, (50, 1000): 87.9, (50, 600): 84.0, (5, 3000): 96.2, (5, 1500): 87.8, (5, 1000): 78.4,
    (500, 3000): 93.3, (500, 1500): 85.1, (500, 1000): 81.5,
}  # fmt: skip
#: ns-2.35 with the same settings (`benches/ns2/dumbbell.tcl`, 400 s, the first 150 left out, one set of starts): payload of what arrives
#: at the link's queue, in Mbit/s; what it carries is less by its drops, 0.1 with 50 flows and less than 1 with 500.
NS2 = {
    (50, 3000): 92.3, (50, 1500): 86.1, (50, 1000): 82.1, (50, 600): 79.8, (500, 3000): 94.9, (500, 1500): 89.5, (500, 1000): 88.1,
}  # fmt: skip
_POINTS = [(flows, packets) for flows, queues in READ_AT.items() for packets in queues]


def _rows(results: Results) -> list[list[str]]:
    table = results["readings"]
    rows = [
        ["the thesis", *(_cell(THESIS.get(point)) for point in _POINTS)],
        ["ns-2.35, arrivals", *(_cell(NS2.get(point)) for point in _POINTS)],
    ]
    for name in READINGS:
        values = [table.median(utilisation, reading=name, flows=flows, packets=packets) for flows, packets in _POINTS]
        rows.append([name, *(_cell(value) for value in values)])
    return rows


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


TABLES = (
    ResultTable(
        "Readings of a run without the PEP",
        (
            "Payload on the split link in Mbit/s, by flows / queue in packets. The first reading is the one taken (DropTail with the stated limit, every packet acknowledged, starts within a second,"
            " access links of 100 Mbit/s); each other changes one or two points of it. One seed each; the targets have five. The row of ns-2 has"
            " arrivals at the queue (400 s): less than 1 Mbit/s of them is dropped."
        ),
        ("reading", *(f"{flows} / {packets}" for flows, packets in _POINTS)),
        _rows,
        ("readings",),
    ),
)
