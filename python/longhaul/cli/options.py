"""Reading of command line options that are more than a word."""

from __future__ import annotations

import difflib
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from .. import tables
from ..errors import LonghaulError
from ..sweep import ENGINES
from ..units import counted

#: Messages and progress; results go to standard output.
messages = Console(stderr=True, highlight=False, soft_wrap=True)


#: Columns of a table that goes to a file or a pipe, whose width is not known.
_WIDE = 160


class _Trimmed:
    """A stream that gets lines without the blanks that fill a table's last column."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Writes the text; what follows the last line break goes through as it is."""
        self._stream.write(re.sub(r"[ \t]+(?=\n)", "", text))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def width_of(stream: TextIO) -> int | None:
    """The width in columns that rich cannot find out: of a stream that is no terminal, where COLUMNS does not state it."""
    return None if stream.isatty() or os.environ.get("COLUMNS", "").isdigit() else _WIDE


def output() -> Console:
    """Standard output: as wide as its terminal or as COLUMNS states, and wide enough for tables where neither is known."""
    if sys.stdout.isatty():
        return Console()
    return Console(width=width_of(sys.stdout), file=cast(TextIO, _Trimmed(sys.stdout)))


def new_table(*headings: str) -> Table:
    """An empty table whose cells may take several lines."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


#: How a table can be written.
TABLES = ("markdown", "latex", "csv")


def written(table: tables.Table, format: str, names: int = 1) -> str:
    """A table in one of the formats; its first `names` columns name the row."""
    return {"markdown": table.to_markdown, "latex": lambda: table.to_latex(names), "csv": table.to_csv}[format]()


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


def starting_with(known: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Completions that a shell offers for an option that takes one of a few words; they are looked up on request.

    >>> starting_with(lambda: ["quick", "full"])("q")
    ['quick']
    """
    return lambda incomplete: [word for word in known() if word.startswith(incomplete)]


def setting_paths(ctx: typer.Context, incomplete: str) -> list[str]:
    """Completions that a shell offers for `--set`: the paths of the settings of the scenario that the command line names."""
    from .. import core
    from ..document import read

    # Where an option still lacks its value, no word is taken for an argument yet.
    given = ctx.params.get("scenario") or ctx.params.get("what") or next(iter(_files(ctx)), None)
    try:
        content = tomllib.loads(core.resolve(read(Path(str(given))))[0]) if given else {}
    except (LonghaulError, OSError):
        # A shell that completes a word has no place for an error.
        return []
    return [path for path in paths_of(content) if path.startswith(incomplete)]


def _files(ctx: typer.Context) -> list[str]:
    """Words that were not taken for anything and are files or directories; a result directory has its scenario inside."""
    words = [Path(word) for word in getattr(ctx, "args", ()) if not word.startswith("-")]
    return [str(path / "scenario.toml" if path.is_dir() else path) for path in words if path.exists()]


def paths_of(content: Mapping[str, Any], before: str = "") -> list[str]:
    """The paths of all settings, each with its equals sign: sections of a list by name, or by number.

    >>> paths_of({"run": {"duration": "1 s"}, "link": [{"name": "l", "rate": "1 Mbit/s"}], "flow": [{"count": 2}]})
    ['run.duration=', 'link.l.rate=', 'flow.0.count=']
    """
    found = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            found += paths_of(value, f"{before}{key}.")
        elif isinstance(value, list) and value and all(isinstance(one, Mapping) for one in value):
            for number, one in enumerate(value):
                found += paths_of(
                    {name: part for name, part in one.items() if name != "name"},
                    f"{before}{key}.{one.get('name', number)}.",
                )
        else:
            found.append(f"{before}{key}=")
    return found


#: Where and how many runs at once, for every command that makes several.
ENGINE = typer.Option(
    "local",
    "--engine",
    metavar="local|ray",
    autocompletion=starting_with(lambda: ENGINES),
    help="Where to run: on this machine, or on the Ray cluster of RAY_ADDRESS.",
)
JOBS = typer.Option(None, "--jobs", "-j", min=1, help="Runs at once  [default: all cores]", show_default=False)


def settings(given: Sequence[str] | None) -> list[tuple[str, str]]:
    """`--set path=value` as overrides; values are TOML, and texts where they are not.

    >>> settings(["link.satellite.rate=50 Mbit/s", "flow.0.count=3"])
    [('link.satellite.rate', '50 Mbit/s'), ('flow.0.count', '3')]
    """
    pairs = []
    for item in given or ():
        path, equals, value = item.partition("=")
        if not equals or not path.strip():
            raise UsageError(f'--set {item!r}: write a path and a value, as in --set link.satellite.delay="120 ms"')
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


def flows(text: str | None, found: Sequence[dict[str, Any]]) -> list[int] | None:
    """`--flows 0,3,7-9`, names of flows or of groups, as numbers; raises if a result has no such flow.

    >>> flows("0, web, d[1]", [{"id": 0, "name": "c", "group": "c"}, {"id": 1, "name": "web[0]", "group": "web"},
    ...                        {"id": 2, "name": "d[0]", "group": "d"}, {"id": 3, "name": "d[1]", "group": "d"}])
    [0, 1, 3]
    """
    if text is None:
        return None
    chosen: list[int] = []
    ids = {int(flow["id"]) for flow in found}
    for part in (one.strip() for one in text.split(",")):
        match = re.fullmatch(r"(\d+)\s*(?:-\s*(\d+))?", part)
        if match:
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first:
                raise UsageError(f"--flows {text!r}: {part!r} runs backwards; write it as {last}-{first}")
            if missing := [number for number in (first, last) if number not in ids]:
                raise UsageError(
                    f"--flows {text!r}: no flow {missing[0]}; there are {counted(len(ids), 'flow')}, from 0"
                )
            chosen.extend(range(first, last + 1))
            continue
        named = [int(flow["id"]) for flow in found if part in (flow["name"], flow["group"])]
        if not named:
            groups = list(dict.fromkeys(str(flow["group"]) for flow in found))
            near = difflib.get_close_matches(part, [*groups, *(str(flow["name"]) for flow in found)], 1, 0.5)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UsageError(
                f"--flows {text!r}: no flow or group {part!r}; write numbers, ranges and names, as in --flows 0,3,7-9 or"
                f" --flows {groups[0] if groups else 'web'}{hint}"
            )
        chosen.extend(named)
    return list(dict.fromkeys(chosen))


def metrics(text: str | None) -> list[str] | None:
    """`--metrics goodput_bps,group.web.timeouts` as names.

    >>> metrics("goodput_bps, group.web.timeouts")
    ['goodput_bps', 'group.web.timeouts']
    """
    if text is None:
        return None
    chosen = words([text])
    if not chosen:
        raise UsageError(f"--metrics {text!r}: write names of metrics, as in --metrics goodput_bps,loss_rate")
    return chosen


#: Settings of a command that takes a scenario file or a result.
SET_FIRST = typer.Option(
    None,
    "--set",
    metavar="PATH=VALUE",
    help="Override a setting of a scenario file first.",
    autocompletion=setting_paths,
)

#: To which point the others of a sweep are compared.
BASELINE = typer.Option(
    None,
    "--baseline",
    metavar="PATH=VALUE",
    help="Compare the points of a sweep with that of this value, as in --baseline variant=reno; parameters that are not given are the"
    " same in both; may be repeated  [default: the first point]",
    show_default=False,
)


def baseline(given: Sequence[str] | None) -> dict[str, str] | None:
    """`--baseline variant=reno` as values by parameter.

    >>> baseline(['queue.limit="10 packets"', "variant=reno"])
    {'queue.limit': '10 packets', 'variant': 'reno'}
    """
    found = {}
    for text in given or ():
        path, equals, value = text.partition("=")
        if not equals or not path.strip():
            raise UsageError(f"--baseline {text!r}: write PATH=VALUE, as in --baseline variant=reno")
        found[path.strip()] = value.strip().strip("\"'")
    return found or None


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
