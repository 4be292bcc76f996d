"""Output of a suite: ten lines about each candidate, tables of values and comparisons, and all of it as JSON."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import core, inventory, stats
from ..files import json_text
from ..naming import listed
from ..tables import Table
from ..units import counted, plus_minus, quantity, significant
from . import CONTENT
from .judging import Comparison, Value
from .model import Measure, Situation
from .running import Outcome

#: Lines of verdicts between the first line and the last one.
_LINES = 8
#: The words of verdicts in the order of lines.
WORDS = ("better", "mixed", "worse", "unfair", "yields")


def lines(outcome: Outcome, candidate: str) -> list[str]:
    """At most ten lines about a candidate: what was compared, where it is better, worse or unfair and by how much, and the rest."""
    made = outcome.made
    others = [name for name in made.suite.beside if name != candidate]
    seeds = counted(made.plan.replications, "seed")
    beside = f" beside {listed(others, 'and')}" if others else ""
    first = f"{made.suite.title}: {candidate}{beside}; {counted(len(made.situations), 'situation')}, {seeds} each"
    found = verdicts(outcome, candidate)
    shown = _chosen(found)
    rest = len(found) - len(shown)
    every = outcome.comparisons[candidate]
    same = sum(one.word == "same" for one in every)
    unclear = sum(one.word == "unclear" for one in every)
    ends = [
        f"{counted(len(every), 'comparison')}: {same} without a difference that counts, {unclear} unclear",
        *([f"{counted(rest, 'further verdict')} in the tables"] if rest else []),
        f"{quantity(outcome.cpu_s, 's', 2)} of CPU time for {counted(len(made.plan.unique), 'run')}",
    ]
    return [first, *(f"{one.word:<7} {one.text}" for one in shown), "; ".join(ends)]


class Verdict:
    """The comparisons of a candidate in one situation by one measure, as a line."""

    def __init__(self, situation: Situation, measure: Measure, compared: Sequence[Comparison]) -> None:
        """`compared` has a comparison with each of those beside the candidate, or with its like alone."""
        self.situation, self.measure, self.compared = situation, measure, compared
        #: Those with a difference that is certain, the largest first.
        self.certain = sorted(
            (one for one in compared if one.word not in ("same", "unclear")), key=lambda one: -_size(measure, one)
        )
        words = {one.word for one in self.certain}
        self.word = "mixed" if words == {"better", "worse"} else next(iter(words), "")

    @property
    def size(self) -> tuple[bool, float]:
        """By what lines are ordered: whether somebody notices it, then the largest certain difference."""
        return not self.measure.behind, max((_size(self.measure, one) for one in self.certain), default=0.0)

    @property
    def text(self) -> str:
        """In words, the largest difference first."""
        value = next(one.mean for one in self.compared if one.mean is not None)
        number = quantity(value, self.measure.unit)
        if any(one.bounds[0] for one in self.compared):
            number += " or more"
        parts = [_beside(self.measure, one, number == 0) for number, one in enumerate(self.certain)]
        for word, text in (("same", "as"), ("unclear", "no verdict beside")):
            if names := [one.beside for one in self.compared if one.word == word]:
                parts.append(f"{text} {listed(names, 'and')}")
        return f"{self.situation.title}: {self.measure.name} {number}, {', '.join(parts)}"


def _size(measure: Measure, one: Comparison) -> float:
    """How large a difference is: the logarithm of its factor, at most that of 20; that of zero is as large."""
    if measure.absolute and one.difference is not None and not (one.factor and one.factor > 0):
        return min(3.0, abs(one.difference) / measure.least / 10)
    return min(3.0, abs(math.log(one.factor))) if one.factor and one.factor > 0 else 3.0


def _beside(measure: Measure, one: Comparison, whole: bool) -> str:
    """A difference with the name of the other; the first of a line with its interval."""
    if measure.absolute or not one.factor:
        return f"{one.beside} {quantity(one.other, measure.unit)}"
    other = f"what it has beside {one.beside}" if measure.like else one.beside
    ends = one.factors()
    interval = f" ({_factor(ends[0])} to {_factor(ends[1])})" if whole and ends and ends[1] - ends[0] > 1e-3 else ""
    # Of a transfer without an end the time is a bound, so that the factor is one.
    bound = " or less" if one.bounds[1] else " or more" if one.bounds[0] else ""
    return f"× {_factor(one.factor)}{bound} of {other}{interval}"


def _factor(value: float) -> str:
    return significant(value, 2 if abs(value) < 10 else 3) if value > 0 else "0"


def verdicts(outcome: Outcome, candidate: str) -> list[Verdict]:
    """Every line with a verdict about a candidate, the largest difference first.

    Less loss and less queueing of a candidate that carries less is no gain, and stands in the tables alone.
    """
    situations = {one.name: one for one in outcome.made.situations}
    measures = {(one.name, measure.name): measure for one in situations.values() for measure in one.measures}
    carries_less = {
        (one.situation, one.beside)
        for one in outcome.comparisons[candidate]
        if one.word == "worse" and not measures[one.situation, one.measure].behind
    }
    grouped: dict[tuple[str, str], list[Comparison]] = {}
    for one in outcome.comparisons[candidate]:
        bought = measures[one.situation, one.measure].behind and (one.situation, one.beside) in carries_less
        if not (bought and one.word == "better"):
            grouped.setdefault((one.situation, one.measure), []).append(one)
    found = []
    for place, compared in grouped.items():
        verdict = Verdict(situations[place[0]], measures[place], compared)
        if verdict.word:
            found.append(verdict)
    return sorted(found, key=lambda one: one.size, reverse=True)


def _chosen(found: Sequence[Verdict]) -> list[Verdict]:
    """As many lines as there is room for: of each word in turn the largest, then in the order of words."""
    queues = {word: [one for one in found if one.word == word] for word in WORDS}
    chosen: list[Verdict] = []
    # What is bad comes first where there is little room.
    turns = ("worse", "unfair", "better", "mixed", "yields")
    while len(chosen) < _LINES and any(queues.values()):
        for word in turns:
            if queues[word] and len(chosen) < _LINES:
                chosen.append(queues[word].pop(0))
    return sorted(chosen, key=lambda one: WORDS.index(one.word))


def summary_of(values: Mapping[int, Value]) -> dict[str, Any]:
    """Mean with its 95 % interval over the seeds, and whether a transfer did not end in some of them."""
    numbers = [values[seed].number for seed in sorted(values)]
    one = stats.estimate(numbers)
    several = one.n > 1
    return {
        "n": one.n, "mean": one.mean, "low": one.low if several else None, "high": one.high if several else None,
        "unfinished": sum(value.bound for value in values.values()),
    }  # fmt: skip


def rows(outcome: Outcome) -> list[dict[str, Any]]:
    """A row for each situation, measure and entry."""
    found = []
    for situation in outcome.made.situations:
        for measure in situation.measures:
            for entry in outcome.made.entries:
                values = outcome.values.get((situation.name, measure.name, entry.name))
                if values:
                    names = {
                        "situation": situation.name,
                        "measure": measure.name,
                        "entry": entry.name,
                        "unit": measure.unit,
                    }
                    found.append({**names, **summary_of(values)})
    return found


def compared_rows(outcome: Outcome) -> list[dict[str, Any]]:
    """A row for each comparison of a candidate."""
    return [
        {
            "candidate": one.entry, "situation": one.situation, "measure": one.measure, "beside": one.beside, "verdict": one.word,
            "mean": one.mean, "other": one.other, "difference": one.difference, "low": one.low, "high": one.high, "pairs": one.pairs,
        }
        for comparisons in outcome.comparisons.values()
        for one in comparisons
    ]  # fmt: skip


def content(outcome: Outcome) -> dict[str, Any]:
    """All of a suite's outcome, for programs and for the page."""
    made = outcome.made
    return {
        "longhaul": core.version(), "kind": "suite", "name": made.suite.name, "title": made.suite.title, "asks": made.suite.asks,
        "source": made.suite.source, "without": made.suite.without, "matrix": made.suite.matrix, "seeds": made.plan.replications,
        "first_seed": made.plan.first_seed, "runs": len(made.plan.unique), "cpu_s": round(outcome.cpu_s, 2),
        "candidates": [one.name for one in made.candidates], "beside": list(made.suite.beside),
        "entries": {one.name: dict(one.settings) for one in made.entries},
        "situations": [
            {"name": one.name, "title": one.title, "asks": one.asks, "measures": [_about(m) for m in one.measures]}
            for one in made.situations
        ],
        "notes": list(outcome.notes),
        "lines": {one.name: lines(outcome, one.name) for one in made.candidates},
        "measured": rows(outcome),
        "comparisons": compared_rows(outcome),
    }  # fmt: skip


def _about(measure: Measure) -> dict[str, Any]:
    return {"name": measure.name, "unit": measure.unit, "less": measure.less, "like": measure.like, "absolute": measure.absolute,
            "least": measure.least}  # fmt: skip


def table(measured: Sequence[Mapping[str, Any]], situations: Mapping[str, str], entries: Sequence[str]) -> Table:
    """Means with half of their 95 % interval: a row for each situation and measure, a column for each entry."""
    by_place: dict[tuple[str, str], dict[str, str]] = {}
    for row in measured:
        half = None if row["low"] is None else (row["high"] - row["low"]) / 2
        text = plus_minus(row["mean"], half if half and half > 1e-9 * abs(row["mean"]) else None, row["unit"])
        if row["unfinished"]:
            text = (
                f"{text}; {row['unfinished']} of {row['n']} did not end"
                if row["unfinished"] < row["n"]
                else "did not end"
            )
        by_place.setdefault((row["situation"], row["measure"]), {})[row["entry"]] = text
    headings = [("Situation", ""), ("Measure", ""), *((name, "") for name in entries)]
    lines_of: list[list[str]] = []
    before = ""
    for (situation, measure), cells in by_place.items():
        name = situations[situation]
        lines_of.append(["" if name == before else name, measure, *(cells.get(one, "–") for one in entries)])
        before = name
    return Table(headings, lines_of)


def write(out: Path, outcome: Outcome, *, force: bool = False) -> None:
    """Writes measures and comparisons as CSV and Parquet, and all of it as JSON and as a page, into the directory of the runs."""
    import polars as pl

    from . import page

    whole = content(outcome)
    for name, found in (("measures", whole["measured"]), ("verdicts", whole["comparisons"])):
        frame = pl.DataFrame(found, infer_schema_length=None)
        table_file = io.BytesIO()
        frame.write_parquet(table_file)
        inventory.put(out, f"{name}.csv", frame.write_csv(), force=force)
        inventory.put(out, f"{name}.parquet", table_file.getvalue(), force=force)
    inventory.put(out, CONTENT, json_text(whole), force=force)
    page.write(whole, out / "report.html", force=force)
