"""All times beside their objectives, a row for each transport."""

from __future__ import annotations

import math

from ..model import ResultTable
from ..results import Results
from .measures import in_seconds, names, typical
from .scenarios import CELLS, SIZES, Cell

#: Completion of 100 MB in picoquic's own simulation (BBR; with a remembered rate), in seconds, by path.
_PICOQUIC = {"50/10": 18.0, "250/3": 6.3, "250/3, 1 % loss": 8.0, "10/2": 81.0, "10/2 up": 400.0}
_PATHS = list(dict.fromkeys(cell.name for cell in CELLS))


def _rows(results: Results) -> list[list[str]]:
    of = {(cell.name, cell.megabytes): cell for cell in CELLS}
    rows = [
        ["**objective**", *(" / ".join(f"{of[path, size].objective:g}" for size in SIZES) for path in _PATHS)],
        ["ideal", *(" / ".join(_seconds(of[path, size].ideal) for size in SIZES) for path in _PATHS)],
        ["picoquic, BBR", *(f"– / – / {_PICOQUIC[path]:g}" if path in _PICOQUIC else "–" for path in _PATHS)],
    ]
    for name in names(results):
        rows.append([name, *(" / ".join(_cell(results, of[path, size], name) for size in SIZES) for path in _PATHS)])
    return rows


def _cell(results: Results, cell: Cell, name: str) -> str:
    """The median time; in bold if it meets the objective."""
    if not results["transfers"].has(cell=cell.name, size=cell.megabytes, transport=name):
        return "–"
    value = typical(results, cell, name)
    text = in_seconds(value, cell.objective)
    return f"**{text}**" if value <= cell.objective else text


def _seconds(value: float) -> str:
    return (
        "∞"
        if math.isinf(value)
        else f"{value:.2f}"
        if value < 9.95
        else f"{value:.1f}"
        if value < 99.5
        else f"{value:.0f}"
    )


TABLES = (
    ResultTable(
        "Seconds for 2 / 10 / 100 MB",
        (
            "Medians over seeds, from the first packet of the handshake to the last byte. Bold: within the objective. ∞: not there after ten times the objective. Columns: Mbit/s down/up."
            " *Ideal* is one round trip of 650 ms and the data with the 3.6 % of headers that TCP has here (52 of 1500 bytes) at the link's rate. picoquic's numbers are those of its own test programs."
            " The hop is up when its transfers begin, as between deployed nodes."
        ),
        ("transport", *_PATHS),
        _rows,
        ("transfers",),
        first=True,
    ),
)
