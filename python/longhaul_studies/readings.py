"""The section of a study's document in which other readings stand beside the base, each in a column of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longhaul import core
from longhaul.files import write_atomically
from longhaul.units import counted

from .judging import Compared, Read, shortened
from .model import READINGS, Study
from .prose import wrapped
from .verdict import Judgement

HEADING = "## Readings"
#: The longest cell.
_CELL = 120
_MARKS = {"reproduced": "reproduced", "partly": "*partly*", "not": "**not**", "not run": "not run"}


def section(study: Study, found: Sequence[Read]) -> str:
    """The section as Markdown: what moved, which readings reproduce what the base misses, and a table for each; empty without readings."""
    if not found:
        return ""
    lines = [
        f"{HEADING}\n",
        "What the paper leaves open, taken in another way: never a silent choice, and never another tolerance. Base and reading have the same points, where chance plays a part"
        f" with five seeds, or three where an ordering or a trend is the same without any one of them (`longhaul reproduce {study.name} --scale {READINGS}`, version {core.version()}, build `{core.program()}`). *Gained* are targets that only the"
        " reading reproduces, *lost* those that only the base does.\n",
        *([study.readings_about.strip() + "\n"] if study.readings_about else []),
        "| reading | targets | base: reproduced | reading: reproduced | gained | lost |",
        "|---|---:|---:|---:|---|---|",
    ]
    for item in found:
        ran = [one for one in item.compared if one.read.verdict != "not run"]
        held = [sum(side.verdict == "reproduced" for side in sides) for sides in _sides(ran)]
        gained, lost = (_names([one for one in ran if getattr(one, what)]) for what in ("gained", "lost"))
        lines.append(f"| {item.reading.name} | {len(ran)} | {held[0]} | {held[1]} | {gained} | {lost} |")
    lines.append("\n" + _sum(found) + "\n")
    lines += [_of(item) for item in found]
    return "\n".join(lines)


def by_target(found: Sequence[Read]) -> dict[str, list[str]]:
    """The readings that reproduce what the base does not, by target."""
    by_name: dict[str, list[str]] = {}
    for item in found:
        for one in item.compared:
            if one.gained:
                by_name.setdefault(one.target.id, []).append(item.reading.name)
    return by_name


def reached(found: Sequence[Read]) -> tuple[int, int, int]:
    """How many of the paper's own targets readings concern, how many of these the base misses, and how many of those some reading reproduces."""
    own = {one.target.id: one for item in found for one in item.compared if one.target.counts}
    missed = [name for name, one in own.items() if one.base.verdict in ("partly", "not")]
    return len(own), len(missed), sum(name in by_target(found) for name in missed)


def _sum(found: Sequence[Read]) -> str:
    own, missed, gained = reached(found)
    return f"Of {counted(own, 'target')} of the paper that a reading concerns the base misses {missed}; {gained} of these are reproduced by a reading."


def _sides(ran: Sequence[Compared]) -> tuple[list[Judgement], list[Judgement]]:
    return [one.base for one in ran], [one.read for one in ran]


def _names(items: Sequence[Compared]) -> str:
    return shortened(", ".join(one.target.id for one in items), _CELL) if items else "–"


def _of(item: Read) -> str:
    reading = item.reading
    lines = [
        f"### Reading: {reading.name}\n",
        f"{reading.what} *Why:* {reading.why}\n",
        "| target | the paper | base | verdict | this reading | verdict |",
        "|---|---|---|---|---|---|",
    ]
    for one in item.compared:
        cells = [one.target.id, one.target.paper]
        for side in (one.base, one.read):
            cells += ["" if side.verdict == "not run" else side.measured, _MARKS[side.verdict]]
        lines.append(
            "| " + " | ".join(shortened(" ".join(cell.split()), _CELL).replace("|", "\\|") for cell in cells) + " |"
        )
    return "\n".join(lines) + "\n"


def put_into(document: Path, study: Study, found: Sequence[Read]) -> None:
    """Puts the section into a document that is there already, in place of its former one or before the table of targets.

    The rest of the document is of runs of other scales and stays.
    """
    text = document.read_text(encoding="utf-8")
    new = wrapped(section(study, found)).rstrip() + "\n\n"
    begin = text.find(f"\n{HEADING}\n")
    if begin >= 0:
        end = text.find("\n## ", begin + 1)
        text = text[: begin + 1] + new + (text[end + 1 :] if end >= 0 else "")
    else:
        place = text.find("\n## Targets\n")
        place = len(text) if place < 0 else place + 1
        text = text[:place] + new + text[place:]
    write_atomically(document, text.rstrip() + "\n")
