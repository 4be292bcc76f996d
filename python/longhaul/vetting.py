"""Errors of a scenario file, and warnings of its settings, without a run."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import core, large
from .core import Overrides
from .document import Document, read
from .errors import LonghaulError, printed
from .sweep import make_plan
from .units import counted


@dataclass(frozen=True)
class Vetted:
    """A file that was checked."""

    path: str
    #: Everything that is wrong; while settings cannot be read, nothing of what they make together.
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    #: In words, of a file without errors.
    verdict: str = "nothing is wrong"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"file": self.path, "errors": self.errors, "warnings": self.warnings}


#: The line of an error, and whether it names a setting by its path: then all could be read, and all errors are there.
_PLACE = re.compile(r".*?:(\d+):\d+: ([a-z_]+(?:\.[\w-]+)+: )?")
#: So many lines are tried without what cannot be read in them.
_LINES = 50


def _parses(lines: list[str]) -> bool:
    try:
        tomllib.loads("\n".join(lines))
    except tomllib.TOMLDecodeError:
        return False
    return True


def _leave_out(lines: list[str], first: int) -> None:
    """Empties a setting's line, and those that follow of a value over several."""
    several = _parses(lines)
    lines[first] = ""
    for number in range(first + 1, min(first + _LINES, len(lines))):
        if not several or _parses(lines):
            return
        lines[number] = ""


def _errors(document: Document, overrides: Overrides, first: list[str]) -> list[str]:
    """All errors of a document. Where a setting cannot be read, reading ends there: the others are found without its line."""
    found, lines = list(first), document.text.split("\n")

    def in_order() -> list[str]:
        return found if len(found) == len(first) else sorted(found, key=lambda one: int(_PLACE.match(one)[1]))  # type: ignore[index]

    for _ in range(_LINES):
        place = _PLACE.match(found[-1])
        if len(first) > 1 or not place or place[2] or not re.match(r"\s*[\w.\"'-]+\s*=", lines[int(place[1]) - 1]):
            return in_order()
        _leave_out(lines, int(place[1]) - 1)
        more = core.check(replace(document, text="\n".join(lines)), overrides).errors
        # What is missing now, or makes no sense, may be so for want of that line.
        place = _PLACE.match(more[0]) if len(more) == 1 else None
        if not place or place[2] or "missing field" in more[0]:
            break
        found += more
    return in_order()


def vet(path: Path, overrides: Overrides = ()) -> Vetted:
    """Reads and checks a scenario file and, if it has a sweep, each of its points."""
    name = printed(path)
    try:
        document = read(path)
        checked = core.check(document, overrides)
        if checked.errors:
            return Vetted(name, _errors(document, overrides, checked.errors))
        warnings = [f"{about}: {message}" for _, about, message in checked.warnings]
        verdict = Vetted.verdict
        largest = large.estimate(checked.resolved, True)
        if document.sweep is not None:
            plan = make_plan(document, overrides)
            largest = plan.largest(False)
            verdict += f", at each of {counted(plan.cells, 'point')}"
    except LonghaulError as error:
        return Vetted(name, [str(error)])
    try:
        remark = large.check(largest, False)
    except large.TooLarge as error:
        remark = str(error)
    return Vetted(name, [], [*warnings, *([remark] if remark else [])], verdict)
