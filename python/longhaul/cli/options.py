"""Reading of command line options that are more than a word."""

from __future__ import annotations

import difflib
import os
import re
import sys
import tomllib
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from ..errors import LonghaulError

#: Messages and progress; results go to standard output.
messages = Console(stderr=True, highlight=False, soft_wrap=True)


#: Columns of a table that goes to a file or a pipe, whose width nobody knows.
_WIDE = 160


def output() -> Console:
    """Standard output: as wide as its terminal or COLUMNS says, and wide enough for tables where neither is known."""
    unknown = not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit()
    return Console(width=_WIDE) if unknown else Console()


class UsageError(LonghaulError):
    """An option cannot be understood."""


def one_of(option: str, given: str, known: Sequence[str]) -> str:
    """A word that is one of a few; the message names the nearest.

    >>> one_of("--scale", "quick", ["quick", "full"])
    'quick'
    """
    if given not in known:
        near = difflib.get_close_matches(given, known, 1, 0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{option} {given!r}: the values are {', '.join(known)}{hint}")
    return given


def settings(given: Sequence[str] | None) -> list[tuple[str, str]]:
    """`--set path=value` as overrides; values are TOML, and texts where they are not.

    >>> settings(["link.satellite.rate=50 Mbit/s", "flow.0.count=3"])
    [('link.satellite.rate', '50 Mbit/s'), ('flow.0.count', '3')]
    """
    pairs = []
    for item in given or ():
        path, equals, value = item.partition("=")
        if not equals or not path.strip():
            raise UsageError(f'--set {item!r}: write a path and a value, as in --set link.satellite.rate="50 Mbit/s"')
        pairs.append((path.strip(), value.strip()))
    return pairs


def grid(given: Sequence[str] | None) -> dict[str, list[Any]] | None:
    """`--grid path=[values]` as a grid.

    >>> grid(["flow.0.count=[1, 10]", "link.a.rate=[1 Mbit/s, 2 Mbit/s]"])
    {'flow.0.count': [1, 10], 'link.a.rate': ['1 Mbit/s', '2 Mbit/s']}
    """
    if not given:
        return None
    cells: dict[str, list[Any]] = {}
    for item in given:
        path, equals, text = item.partition("=")
        values = _values(text.strip()) if equals else None
        if not path.strip() or not values:
            raise UsageError(
                f"--grid {item!r}: write a path and a list of values, as in --grid 'flow.0.count=[1, 10, 50]'"
            )
        if path.strip() in cells:
            raise UsageError(f"--grid {item!r}: {path.strip()} is given twice; write all its values in one list")
        cells[path.strip()] = values
    return cells


def _values(text: str) -> list[Any] | None:
    try:
        value = tomllib.loads(f"v = {text}")["v"]
        return value if isinstance(value, list) else None
    except tomllib.TOMLDecodeError:
        pass
    if not (text.startswith("[") and text.endswith("]")):
        return None
    return [part.strip() for part in text[1:-1].split(",") if part.strip()]


def words(given: Sequence[str] | None) -> list[str]:
    """An option that may be repeated, and be a list with commas.

    >>> words(["cwnd,rtt", "queue"])
    ['cwnd', 'rtt', 'queue']
    """
    return [word.strip() for item in given or () for word in item.split(",") if word.strip()]


def numbers(text: str | None) -> list[int] | None:
    """`--flows 0,3,7-9` as numbers.

    >>> numbers("0,3,7-9")
    [0, 3, 7, 8, 9]
    """
    if text is None:
        return None
    chosen: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part)
        if not match or (match[2] and int(match[2]) < int(match[1])) or int(match[2] or 0) > 1_000_000:
            raise UsageError(f"--flows {text!r}: write numbers and ranges, as in --flows 0,3,7-9")
        chosen.extend(range(int(match[1]), int(match[2] or match[1]) + 1))
    return chosen


def metrics(text: str | None) -> list[str] | None:
    """`--metrics goodput_bps,group.web.timeouts` as names.

    >>> metrics("goodput_bps, group.web.timeouts")
    ['goodput_bps', 'group.web.timeouts']
    """
    if text is None:
        return None
    chosen = [name.strip() for name in text.split(",") if name.strip()]
    if not chosen:
        raise UsageError(f"--metrics {text!r}: write names of metrics, as in --metrics goodput_bps,loss_rate")
    return chosen


def shard(text: str | None) -> tuple[int, int] | None:
    """`--shard 3/8` as number and count.

    >>> shard("3/8")
    (3, 8)
    """
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if not match or not 1 <= int(match[1]) <= int(match[2]):
        raise UsageError(f"--shard {text!r}: write which part of how many, from 1/8 to 8/8")
    return int(match[1]), int(match[2])
