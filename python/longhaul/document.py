"""A scenario's text, as read from a file or built in Python, apart from its `[sweep]` table, which is Python's."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import toml
from .errors import ScenarioError, explain_os_error

_TABLE_HEADER = re.compile(r"\s*\[\[?\s*([^\[\],=#]+?)\s*\]\]?\s*(#.*)?")


@dataclass(frozen=True)
class Document:
    """The TOML text that the simulator reads, and the name that errors call it by."""

    text: str
    source: str
    #: The content of `[sweep]`, if there is one.
    sweep: dict[str, Any] | None = None


def read(path: Path) -> Document:
    """Reads a scenario file; `.json` is JSON, everything else is TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{path}: not a text file in UTF-8 (byte {error.start} cannot be read)") from None
    except OSError as error:
        raise ScenarioError(explain_os_error(error, "read the scenario", path)) from None
    return parse_json(text, str(path)) if path.suffix == ".json" else parse(text, str(path))


def parse(text: str, source: str) -> Document:
    """Splits the `[sweep]` table off. A text that cannot be parsed is left whole: the simulator says what is wrong."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return Document(text, source)
    if not content:
        what = "the file has only comments" if text.strip() else "the file is empty"
        raise ScenarioError(f"{source}: {what}; a scenario has at least [run], a [[link]] and a [[flow]]")
    if "sweep" not in content:
        return Document(text, source)
    sweep = content.pop("sweep")
    return Document(_without_sweep(text, content), source, _checked(sweep, source))


def parse_json(text: str, source: str) -> Document:
    """A scenario in JSON, which has the same structure."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ScenarioError(f"{source}: not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ScenarioError(f"{source}: a scenario is a JSON object, with the keys run, link, flow and so on")
    sweep = content.pop("sweep", None)
    try:
        return Document(toml.document(content), source, None if sweep is None else _checked(sweep, source))
    except TypeError:
        raise ScenarioError(f"{source}: null has no meaning in a scenario; leave the key out") from None


def _checked(sweep: Any, source: str) -> dict[str, Any]:
    if not isinstance(sweep, dict):
        raise ScenarioError(f"{source}: sweep is a table with the keys replications, grid and list")
    return sweep


def _without_sweep(text: str, content: dict[str, Any]) -> str:
    """Blanks the lines of `[sweep]`, so that line numbers in messages stay those of the file."""
    kept, inside = [], False
    for line in text.splitlines():
        if header := _TABLE_HEADER.fullmatch(line):
            inside = header[1].split(".")[0].strip(" \"'") == "sweep"
        kept.append("" if inside else line)
    blanked = "\n".join(kept) + "\n"
    try:
        if tomllib.loads(blanked) == content:
            return blanked
    except tomllib.TOMLDecodeError:
        pass
    return toml.document(content)
