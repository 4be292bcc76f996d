"""Entries from the words of a command: names, files with settings, classes in Python."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import controls, listing
from ..errors import LonghaulError, explain_os_error, printed
from ..naming import only
from .model import Entry, Suite

#: Of each kind of suite: the list of `longhaul list` that names what it takes, what one is called, and the table of a file.
_KINDS = {"control": ("congestion", "congestion control", "tcp"), "queue": ("queues", "queue", "queue")}


def of_suite(suite: Suite, words: Sequence[str], classes: Sequence[str] = ()) -> tuple[list[Entry], list[Entry]]:
    """The candidates that a command names, and all entries: these and those that the suite puts beside them.

    Without candidates, those are compared with each other.

    Raises `LonghaulError` for a name that is not known, a file that cannot be read, and two candidates of one name.
    """
    if classes and suite.kind == "queue":
        raise LonghaulError(f"--policy: in the suite {suite.name} the candidates are queues; name them by --queue")
    every = (all_of(suite) if word == "all" else [word] for word in words)
    candidates = [named(suite, name) for several in every for name in several] + [of_class(text) for text in classes]
    names = [one.name for one in candidates]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise LonghaulError(f"two candidates are called {twice[0]!r}; a file is called by its name, a class by its own")
    beside = [named(suite, name) for name in suite.beside]
    if not candidates:
        return beside, beside
    known = {one.name: one for one in beside}
    for one in candidates:
        if one.name in known and one.settings != known[one.name].settings:
            raise LonghaulError(
                f"{one.name!r} is what the suite calls one of those beside it; give the candidate another name"
            )
    return candidates, [*candidates, *(one for one in beside if one.name not in names)]


def named(suite: Suite, word: str) -> Entry:
    """A congestion control or queue by its name, or a file in TOML with settings of `tcp` or of `queue`, called by the file's name."""
    kind, called, table = _KINDS[suite.kind]
    if word.endswith(".toml"):
        return _of_file(Path(word), table)
    names = [str(one["name"]) for one in listing.catalogue(kind)]
    only(word, names, called)
    return Entry(word, {"congestion": word} if suite.kind == "control" else {"kind": word})


def _of_file(path: Path, table: str) -> Entry:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LonghaulError(explain_os_error(error, "read the settings", path)) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LonghaulError(f"{printed(path)}: not TOML: {error}") from None
    settings: Any = content.get(table, content)
    if not isinstance(settings, dict) or not settings:
        raise LonghaulError(f"{printed(path)}: it has no settings; write those of {table}, as in [{table}]")
    if set(content) - {table} and table in content:
        other = sorted(set(content) - {table})[0]
        raise LonghaulError(f"{printed(path)}: {other!r} beside [{table}]: a candidate is the table {table} alone")
    return Entry(re.sub(r"[^A-Za-z0-9_-]+", "-", path.stem), settings, printed(path))


def of_class(text: str) -> Entry:
    """A congestion control in Python, as `my_policy.py:Class`; without a class the only one of the file."""
    control = controls.of_file(text)
    return Entry(control.__name__, {"congestion": controls.named(control)})


#: What no suite tries by `all`: a window that ignores congestion, a model, and what needs settings for the path.
_LEFT_OUT = ("fixed", "reno_average", "sttp")


def all_of(suite: Suite) -> list[str]:
    """The names of everything that a suite can try."""
    kind, _, _ = _KINDS[suite.kind]
    return [str(one["name"]) for one in listing.catalogue(kind) if one["name"] not in _LEFT_OUT]
