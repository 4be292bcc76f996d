"""Writes the outcome of a study as one HTML file, as a Markdown document with figures, and as JSON."""

from __future__ import annotations

import base64
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from longhaul import core
from longhaul.files import json_text, write_atomically
from longhaul.units import counted, quantity

from . import page, readings
from .chance import SEEDS
from .cost import Cost, costs
from .drawing import Drawn, file_name, save_all, scale_and_seeds
from .judging import Held, Judged, Read, by_origin, headline, held, shortened
from .model import ORIGINS, Figure, ResultTable, Study
from .prose import wrapped
from .results import NotRun, Results

_MARKS = {"reproduced": "reproduced", "partly": "*partly*", "not": "**not**", "not run": "not run"}
_VERDICTS = ("reproduced", "partly", "not", "not run")
#: The longest cell of a table in a document.
CELL = 120


@dataclass(frozen=True)
class Outcome:
    """A study at one scale: results, verdicts, figures."""

    study: Study
    results: Results
    judged: Sequence[Judged]
    drawn: Sequence[Drawn]
    #: Other readings beside the base, where this is their scale.
    read: Sequence[Read] = ()
    #: Other builds of the simulator whose results were accepted, with the number of checked runs.
    accepted: Sequence[dict[str, Any]] = ()

    @property
    def scale(self) -> str:
        """The scale."""
        return self.results.scale

    @property
    def costs(self) -> list[Cost]:
        """The cost of each experiment with runs at this scale."""
        found = costs(self.results, [experiment.id for experiment in self.study.experiments])
        return [cost for cost in found if cost.runs]

    @cached_property
    def tables(self) -> list[tuple[ResultTable, list[list[str]]]]:
        """Tables of the study with all their runs done."""
        found = []
        for table in self.study.tables:
            try:
                found.append((table, [list(row) for row in table.rows(self.results)]))
            except NotRun:
                continue
        return found

    @property
    def used(self) -> int:
        """Number of runs that targets have read."""
        return len(self.results.read)

    @cached_property
    def held(self) -> list[Held]:
        """The claims with their verdicts."""
        return held(self.study, self.judged, self.results)

    def note(self, figure: Figure) -> str:
        """Scale and seeds of a figure."""
        text = scale_and_seeds(figure, self.results)
        return f"{text[0].upper()}{text[1:]}." if text else ""

    @property
    def runs(self) -> tuple[int, int]:
        """Number of finished runs and of all runs at this scale; shared runs count once."""
        rows = {row.run_id: row for row in self.results.rows}.values()
        return sum(row.metrics is not None for row in rows), len(rows)


def write_json(outcome: Outcome, path: Path) -> None:
    """Writes targets with verdicts as JSON."""
    write_atomically(path, json_text(as_json(outcome)))


def as_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as a JSON object."""
    done, total = outcome.runs
    return {
        "longhaul": core.version(),
        "program": core.program(),
        "study": outcome.study.name,
        "scale": outcome.scale,
        "runs_done": done,
        "runs": total,
        "runs_used": outcome.used,
        "verdicts": headline(outcome.judged),
        "verdicts_by_origin": by_origin(outcome.judged),
        "claims": [
            {"claim": item.claim.text, "verdict": item.standing, "measured": item.measured, "why": item.claim.why, "targets": list(item.claim.targets)}
            for item in outcome.held
        ],
        "readings": [
            {
                "reading": item.reading.name, "what": item.reading.what, "why": item.reading.why,
                "targets": [
                    {
                        "id": one.target.id, "paper": one.target.paper,
                        "base": one.base.measured, "base_verdict": one.base.verdict, "measured": one.read.measured, "verdict": one.read.verdict,
                    }
                    for one in item.compared
                ],
            }
            for item in outcome.read
        ],
        "targets": [
            {
                "id": item.target.id, "source": item.target.source, "kind": item.target.kind, "origin": item.target.origin,
                "same_as": item.target.same_as or None, "paper": item.target.paper,
                "measured": item.judgement.measured, "tolerance": item.judgement.tolerance, "verdict": item.verdict, "reason": item.reason,
            }
            for item in outcome.judged
        ],
    }  # fmt: skip


def write_html(outcome: Outcome, path: Path) -> None:
    """Writes the report, a single self-contained file."""
    images = {
        item.figure.id: "data:image/png;base64," + base64.b64encode(item.png).decode()
        for item in outcome.drawn
        if item.png is not None
    }
    done, total = outcome.runs
    figures_of = _figures_of(outcome)
    page.write(
        path,
        {
            "study": outcome.study,
            "scale": outcome.scale,
            "done": done,
            "total": total,
            "judged": outcome.judged,
            "counts": headline(outcome.judged),
            "by_origin": {
                ORIGINS[origin]: found for origin, found in by_origin(outcome.judged).items() if any(found.values())
            },
            "origins": ORIGINS,
            "held": outcome.held,
            "read": outcome.read,
            "used": outcome.used,
            "ran": [item for item in outcome.judged if item.verdict != "not run"],
            "not_run": [item for item in outcome.judged if item.verdict == "not run"],
            "figures_of": figures_of,
            "targets_of": _targets_of(outcome, figures_of),
            "notes": {item.figure.id: outcome.note(item.figure) for item in outcome.drawn},
            "drawn": outcome.drawn,
            "tables": outcome.tables,
            "images": images,
            "costs": [(cost, *_times(cost)) for cost in outcome.costs],
            "version": core.version(),
            "program": core.program(),
            "accepted": outcome.accepted,
        },
    )


def write_markdown(
    outcomes: Sequence[Outcome],
    path: Path,
    figures: Path,
    *,
    command: str | None = None,
    sections: Mapping[str, str] | None = None,
    with_costs: bool = True,
    read: Sequence[Read] = (),
) -> None:
    """Writes the document: verdicts of all scales side by side, each figure from the last scale that has it, and readings beside the base.

    `command` runs the study, if not its own command; `sections` are further paragraphs, by heading.
    """
    study = outcomes[0].study
    images = {item.figure.id: (item, outcome) for outcome in outcomes for item in outcome.drawn if item.png is not None}
    save_all([item for item, _ in images.values()], figures)
    folder = figures.relative_to(path.parent).as_posix()
    leading = [name for name in study.leading if name in images]
    rest = [name for name in images if name not in leading]
    own = f"longhaul reproduce {study.name}"
    counting = f"{command or f'{own} --scale {outcomes[-1].scale}'} --no-run --json"
    parts = [
        f"<!-- Generated by `{command or own} --document`: change the study's code, not this file. -->\n# {study.title}\n",
        f"{study.about.strip()}\n\nPaper: {study.source}\n",
        _claims(outcomes),
        *(_figure(*images[name], folder) for name in leading),
        _standing(outcomes, counting),
        _reasons(outcomes, readings.by_target(read)),
        readings.section(study, read),
        *_tables(outcomes, first=True),
        "## Targets\n\n" + _rules() + _targets(outcomes),
        _values(outcomes),
        *_tables(outcomes, first=False),
        *(f"## {heading}\n\n{text.strip()}\n" for heading, text in {**study.findings, **(sections or {})}.items()),
        "## Open points of the paper\n\n" + _decisions(study) if study.decisions else "",
        _cost_table(outcomes) if with_costs else "",
        "## Further figures\n\n" + "\n".join(_figure(*images[name], folder) for name in rest) if rest else "",
    ]
    write_atomically(path, wrapped("\n".join(part.rstrip() + "\n" for part in parts if part)))


def _figures_of(outcome: Outcome) -> dict[str, list[str]]:
    """The drawn figures that show each target: those of its experiments that its source names, or the first one of just these experiments."""
    drawn = [item.figure for item in outcome.drawn if item.png is not None]
    found = {}
    for item in outcome.judged:
        wanted = set(item.target.experiments)
        named = [
            figure.id
            for figure in drawn
            if wanted & set(figure.experiments) and re.search(rf"\b{re.escape(figure.id)}\b", item.target.source)
        ]
        of_the_same = [figure.id for figure in drawn if wanted and wanted == set(figure.experiments)]
        found[item.target.id] = named or of_the_same[:1]
    return found


def _targets_of(outcome: Outcome, figures_of: Mapping[str, Sequence[str]]) -> dict[str, list[Judged]]:
    """The targets with a verdict that a figure shows, by figure."""
    found: dict[str, list[Judged]] = {}
    for item in outcome.judged:
        for name in figures_of[item.target.id] if item.verdict != "not run" else ():
            found.setdefault(name, []).append(item)
    return found


def best_held(outcomes: Sequence[Outcome]) -> list[tuple[Held, str]]:
    """The claims, each from the largest scale that has most of its targets, with that scale."""
    found = []
    for row in zip(*(outcome.held for outcome in outcomes), strict=True):
        ran = [sum(item.verdict != "not run" for item in one.judged) for one in row]
        best = max(range(len(row)), key=lambda i: (ran[i], i))
        found.append((row[best], outcomes[best].scale))
    return found


def _claims(outcomes: Sequence[Outcome]) -> str:
    if not outcomes[0].study.claims:
        return ""
    lines = [
        "## What was claimed, and what held\n",
        f"| {outcomes[0].study.speaker}'s claim | verdict | here | why |",
        "|---|---|---|---|",
    ]
    for item, _ in best_held(outcomes):
        why = "" if item.standing == "confirmed" else item.claim.why
        mark = {"confirmed": "confirmed", "refuted": "**refuted**", "depends": "*depends*", "not run": "not run"}[
            item.standing
        ]
        lines.append("| " + " | ".join(_cell(text) for text in (item.claim.text, mark, item.measured, why)) + " |")
    if outcomes[0].study.gap:
        lines.append(f"\nThe largest gap: {outcomes[0].study.gap}")
    return "\n".join(lines) + "\n"


def _standing(outcomes: Sequence[Outcome], command: str) -> str:
    lines = [
        "## How many targets hold\n",
        "The paper's own numbers and claims; a comparison that the paper states twice counts once. The other targets stand apart.\n",
        "| scale | what | runs used | targets | reproduced | partly | not | not run |",
        "|---|---|---:|---|---:|---:|---:|---:|",
    ]
    for outcome in outcomes:
        own = headline(outcome.judged)
        what = outcome.study.scales[outcome.scale]
        lines.append(_counted_row((f"`{outcome.scale}`", what, f"{outcome.used:,}", "**the paper's own**"), own))
        for origin, found in by_origin(outcome.judged).items():
            if sum(found.values()):
                lines.append(_counted_row(("", "", "", ORIGINS[origin]), found))
    repeated = sum(bool(item.target.same_as) for item in outcomes[0].judged)
    text = f"{counted(repeated, 'target')} more repeat another's comparison and are not counted. " if repeated else ""
    program = f"Made by version {core.version()} of Longhaul, build `{core.program()}`."
    printed = f"`{command}` prints these counts from the runs' results."
    return "\n".join(lines) + f"\n\n{text}{printed} {program}\n"


def _counted_row(cells: Sequence[str], found: Mapping[Any, int]) -> str:
    return "| " + " | ".join([*cells, *(str(found[verdict]) for verdict in _VERDICTS)]) + " |"


def _rules() -> str:
    lines = [
        "| a target that is | is *reproduced* | is *partly* reproduced |",
        "|---|---|---|",
        "| a number | within its tolerance | within twice the tolerance |",
        "| a number over seeds | if the mean is, or the paper's value is in the mean's 95 % interval | if the mean is; at best, where half the interval exceeds twice the tolerance |",
        "| a band | inside the band | outside by at most a stated margin |",
        "| a row of numbers | if all numbers are | if at least half of them are |",
        "| an ordering | if every comparison holds | if two thirds hold |",
        "| a trend | if the ends differ in the stated direction and the rank correlation is at least 0.7 | at least 0.3 |",
    ]
    return (
        "\n".join(lines)
        + f"\n\nA target without runs at a scale has no verdict there, nor has one of random runs with fewer than {SEEDS} seeds."
        " Where a scale adds seeds by a rule, three are enough for an ordering or a trend that no single seed decides.\n\n"
    )


def _targets(outcomes: Sequence[Outcome]) -> str:
    """The table of targets: values that are too long for a cell are in the section of values."""
    scales = " | ".join(f"{outcome.scale}: measured | verdict" for outcome in outcomes)
    lines = [f"| target | source | whose | the paper | {scales} |", "|---|---|---|---|" + "---|---|" * len(outcomes)]
    for row in zip(*(outcome.judged for outcome in outcomes), strict=True):
        target = row[0].target
        whose = f"as {target.same_as}" if target.same_as else _WHOSE[target.origin]
        cells = [target.id, target.source, whose, shortened(target.paper, CELL)]
        for item in row:
            measured = "" if item.verdict == "not run" else shortened(item.judgement.measured, CELL)
            tolerance = item.judgement.tolerance
            allowed = f" ({tolerance})" if measured and tolerance and len(tolerance) <= CELL - 16 else ""
            cells += [measured, _MARKS[item.verdict] + allowed]
        lines.append("| " + " | ".join(_cell(text) for text in cells) + " |")
    return "\n".join(lines) + "\n"


#: Whose a target is, in a narrow column.
_WHOSE = {"number": "number", "claim": "claim", "arithmetic": "arithmetic", "derived": "derived", "ours": "ours"}


def _values(outcomes: Sequence[Outcome]) -> str:
    """Texts that the table of targets has shortened, as small tables: values from the largest scale with a verdict."""
    long: dict[str, str] = {}
    for item in outcomes[0].judged:
        if len(item.target.paper) > CELL:
            long[f"{item.target.id}, the paper"] = item.target.paper
    for outcome in outcomes:
        for item in outcome.judged:
            if item.verdict != "not run" and len(item.judgement.measured) > CELL:
                long[item.target.id] = item.judgement.measured
    if not long:
        return ""
    lines = ["## Values in full\n", "| target | values |", "|---|---|"]
    for name, text in long.items():
        for number, part in enumerate(pieces(text, CELL)):
            lines.append(f"| {name if not number else ''} | {_cell(part)} |")
    return "\n".join(lines) + "\n"


def pieces(text: str, width: int) -> list[str]:
    """A long text of values in lines of at most `width` characters, broken where a new value begins.

    >>> pieces("a 1, b 2; c 3, d 4, e 5", 12)
    ['a 1, b 2', 'c 3, d 4', 'e 5']
    """
    found: list[str] = []
    for part in text.split("; "):
        line = ""
        for word in part.split(", "):
            if line and len(line) + 2 + len(word) > width:
                found.append(line)
                line = word
            else:
                line = f"{line}, {word}" if line else word
        found += textwrap.wrap(line, width) if len(line) > width else [line]
    return found


def _tables(outcomes: Sequence[Outcome], *, first: bool) -> list[str]:
    """With `first` the tables for the top, one per scale; otherwise the others, from the largest scale that has them."""
    found = {
        (table.title, outcome.scale if first else ""): (table, rows, outcome.scale)
        for outcome in outcomes
        for table, rows in outcome.tables
    }
    parts = []
    for table, rows, scale in found.values():
        if table.first != first:
            continue
        lines = ["| " + " | ".join(_cell(name) for name in table.columns) + " |"]
        lines.append("|---|" + ("---|" if first or table.words else "---:|") * (len(table.columns) - 1))
        lines += ["| " + " | ".join(_cell(cell) for cell in part) + " |" for row in rows for part in _lines_of(row)]
        caption = f"{table.caption} Scale `{scale}`." if len(outcomes) > 1 else table.caption
        title = f"{table.title}, {scale} scale" if first and len(outcomes) > 1 else table.title
        parts.append(f"## {title}\n\n{caption}\n\n" + "\n".join(lines) + "\n")
    return parts


def _lines_of(row: Sequence[str]) -> list[list[str]]:
    """A row whose long cells go on in rows below it."""
    parts = [pieces(cell, CELL) if len(cell) > CELL else [cell] for cell in row]
    return [[part[i] if i < len(part) else "" for part in parts] for i in range(max(map(len, parts)))]


def _reasons(outcomes: Sequence[Outcome], reproduced_by: Mapping[str, Sequence[str]]) -> str:
    missed: dict[str, Judged] = {}
    # The last scale that has run a target decides.
    for outcome in outcomes:
        for item in outcome.judged:
            if item.verdict != "not run":
                missed.pop(item.target.id, None)
            if item.reason:
                missed[item.target.id] = item
    if not missed:
        return ""
    by_reason: dict[str, list[str]] = {}
    for name, item in missed.items():
        by_reason.setdefault(item.reason, []).append(name)
    everything = [target.id for target in outcomes[0].study.targets]
    lines = []
    for reason, names in by_reason.items():
        by_reading: dict[str, list[str]] = {}
        for name in names:
            for reading in reproduced_by.get(name, ()):
                by_reading.setdefault(reading, []).append(name)
        said = "; ".join(f"*{reading}* ({together(gained, everything)})" for reading, gained in by_reading.items())
        more = f" Reproduced by the reading {said}." if said else ""
        lines.append(f"* **{together(names, everything)}**: {reason}{more}")
    return "## Missed targets and their causes\n\n" + "\n".join(lines) + "\n"


def together(names: Sequence[str], everything: Sequence[str]) -> str:
    """Names of targets in a row: what several begin with stands once, and three and more that follow each other in `everything` are a range.

    >>> together(["A 1", "A 5", "A 6", "A 7", "E2"], ["A 1", "A 4", "A 5", "A 6", "A 7", "E1", "E2"])
    'A 1, 5 to 7, E2'
    """
    place = {name: number for number, name in enumerate(everything)}
    runs: list[list[str]] = []
    for name in names:
        last = runs[-1][-1] if runs else ""
        follows = bool(_beginning(name)) and _beginning(name) == _beginning(last) and place[name] == place[last] + 1
        if follows:
            runs[-1].append(name)
        else:
            runs.append([name])
    found: list[str] = []
    last = ""
    for run in runs:
        ends = [
            name.rpartition(" ")[2] if number or (_beginning(name) == last and last) else name
            for number, name in enumerate(run)
        ]
        found.append(f"{ends[0]} to {ends[-1]}" if len(run) > 2 else ", ".join(ends))
        last = _beginning(run[-1])
    return ", ".join(found)


def _beginning(name: str) -> str:
    return name.rpartition(" ")[0]


def _cost_table(outcomes: Sequence[Outcome]) -> str:
    lines = [
        "## Cost\n\nCPU time. The cost of missing runs is estimated from the finished ones. "
        "A run that several experiments share counts once.\n",
        "| scale | experiment | runs | done | CPU time | estimate for all runs |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for outcome in outcomes:
        for cost in outcome.costs:
            times = " | ".join(_times(cost))
            lines.append(f"| `{outcome.scale}` | {cost.experiment} | {cost.runs} | {cost.done} | {times} |")
        wholes = [cost.whole for cost in outcome.costs if cost.whole is not None]
        spent = sum(cost.seconds for cost in outcome.costs)
        done, total = outcome.runs
        lines.append(f"| `{outcome.scale}` | all | {total} | {done} | {hours(spent)} | {hours(sum(wholes))} |")
    return "\n".join(lines) + "\n"


def _times(cost: Cost) -> tuple[str, str]:
    return hours(cost.seconds), "–" if cost.whole is None else hours(cost.whole)


def hours(seconds: float) -> str:
    """A readable duration; `seconds` in s.

    >>> hours(42), hours(600), hours(90000)
    ('42 s', '10 min', '25 h')
    """
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{quantity(seconds / unit, '', 2)} {name}"
    return quantity(seconds, "s", 2)


def _decisions(study: Study) -> str:
    lines = [f"* **{d.id}**: {d.question} *Decision:* {d.decision}" for d in study.decisions]
    return "\n".join(lines) + "\n"


def _figure(item: Drawn, outcome: Outcome, folder: str) -> str:
    figure = item.figure
    name = f"Figure {figure.id}: {figure.title}"
    return f"### {name}\n\n![{name}]({folder}/{file_name(figure)})\n\n{figure.caption} {outcome.note(figure)}\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def summary(judged: Sequence[Judged]) -> str:
    """The counts of verdicts on the paper's own numbers and claims in one line, and the number of other targets.

    >>> summary([])
    "0 of the paper's targets"
    """
    found = headline(judged)
    own = sum(found.values())
    said = [
        f"{number} {verdict if verdict != 'not' else 'not reproduced'}" for verdict, number in found.items() if number
    ]
    others = len(judged) - own
    text = f"{own} of the paper's targets" + (f": {', '.join(said)}" if said else "")
    return text + (f"; {counted(others, 'other target')}" if others else "")


def conclusion(held: Sequence[Held]) -> list[str]:
    """The verdicts on the paper's claims, one in a line; those that were not run at last."""
    return [
        f"{item.verdict}: {item.claim.text}"
        + (f" ({item.claim.why})" if item.claim.why and item.standing in ("refuted", "depends") else "")
        for item in sorted(held, key=lambda item: item.standing == "not run")
    ]
