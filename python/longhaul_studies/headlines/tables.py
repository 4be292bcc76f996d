"""Conditions of each headline beside what was taken, and what is no headline here."""

from __future__ import annotations

from ..model import ResultTable
from ..results import Results
from .grids import HEADLINES
from .left_out import LEFT_OUT


def _conditions(_: Results) -> list[list[str]]:
    return [[one.id, f"{one.paper}, {one.where}", one.read, one.assumed or "–"] for one in HEADLINES]


def _left_out(_: Results) -> list[list[str]]:
    return [list(row) for row in LEFT_OUT]


TABLES = (
    ResultTable(
        "Conditions",
        "*Taken* has what the text that was read leaves open, and what the runs have in its place.",
        ("headline", "where it stands", "what was read", "taken"),
        _conditions,
        words=True,
    ),
    ResultTable(
        "Looked for and left out",
        "Not compared, or not yet.",
        ("what was looked for", "why it is not a row"),
        _left_out,
        words=True,
    ),
)
