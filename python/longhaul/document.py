"""A scenario's text, as read from a file or built in Python, apart from its `[sweep]` table, which is Python's."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import toml
from .errors import ScenarioError, explain_os_error, printed

#: The largest scenario file, in bytes.
LARGEST = 16_000_000

_TABLE_HEADER = re.compile(r"\s*\[\[?\s*([^\[\],=#]+?)\s*\]\]?\s*(#.*)?")


@dataclass(frozen=True)
class Document:
    """The TOML text that the simulator reads, and the name that errors call it by."""

    text: str
    source: str
    #: The content of `[sweep]`, if there is one.
    sweep: dict[str, Any] | None = None
    #: Whether it was built in Python.
    built: bool = False
    #: Where relative paths in it begin, as an absolute path; the working directory of a run, if it came from no file.
    folder: Path | None = None


def read(path: Path) -> Document:
    """Reads a scenario file, or standard input if the path is `-`; `.json` is JSON, everything else is TOML."""
    if str(path) == "-":
        return _parsed(sys.stdin.buffer.read(LARGEST + 1), Path("standard input"))
    try:
        data = _content(path)
    except (OSError, ValueError) as error:  # a ValueError is a path with a NUL in it
        failure = error if isinstance(error, OSError) else OSError(str(error))
        message = explain_os_error(failure, "read the scenario", path)
        hint = _meant(path) if isinstance(error, FileNotFoundError) else _of_result(path)
        raise ScenarioError(message + hint) from None
    return replace(_parsed(data, path), folder=_absolute(path).parent)


def _of_result(path: Path) -> str:
    """The remedy for a result that was given as a scenario."""
    if not (path / "scenario.toml").is_file():
        return ""
    return f"; it is a result: its scenario is {printed(path / 'scenario.toml')}, and `longhaul explain {printed(path)}` and `longhaul report` read the result"


def _absolute(path: Path) -> Path:
    try:
        return path.absolute()
    except OSError:  # the working directory was removed, and yet the file could be read
        return path


def _parsed(data: bytes, path: Path) -> Document:
    """The document in the bytes of a file."""
    name = printed(path)
    if len(data) > LARGEST:
        raise ScenarioError(f"{name}: larger than {LARGEST // 1_000_000} MB, which is too large for a scenario")
    if b"\0" in data:
        raise ScenarioError(f"{name}: not a text file (byte {data.index(0)} is NUL); a scenario is TOML in UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(f"{name}: not a text file in UTF-8 (byte {error.start} cannot be read)") from None
    text = text.replace("\r\n", "\n")
    if path.suffix == ".py":
        raise ScenarioError(f"{path}: a program in Python, not a scenario; run it with `python {path}`")
    return parse_json(text, name) if path.suffix == ".json" else parse(text, name)


def _meant(path: Path) -> str:
    """For a file that does not exist: which one may be meant."""
    from . import examples

    written_out = path.with_name(f"{path.name}.toml")
    if written_out.exists():
        return f"; did you mean {written_out}?"
    if path.stem in examples.names():
        return f"; `longhaul examples {path.stem}` copies the example of this name"
    return ""


def _content(path: Path) -> bytes:
    """The content of a file, at most one byte more than a scenario may have: a device has no end."""
    # Opening a named pipe waits for a writer, for ever if none comes.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(descriptor, "rb") as stream:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a directory, not a scenario file")
        os.set_blocking(descriptor, True)
        data = stream.read(LARGEST + 1)
        if not data and stat.S_ISFIFO(mode):
            raise OSError(errno.EIO, "it is a pipe without a writer")
        return data


def parse(text: str, source: str) -> Document:
    """Splits the `[sweep]` table off. A text that cannot be parsed is left whole: the simulator reports the error."""
    try:
        content = tomllib.loads(text)
    except (ValueError, RecursionError):  # not TOML, a number of more digits than Python reads, or nested too deeply
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
        content = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ScenarioError(f"{source}: not a scenario: it is nested too deeply") from None
    except ValueError as error:
        raise ScenarioError(f"{source}: not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise ScenarioError(f"{source}: a scenario is a JSON object, with the keys run, link, flow and so on")
    sweep = content.pop("sweep", None)
    try:
        written = toml.document(content)
        written.encode()
        # Messages show lines of what was written, not of the file.
        return Document(written, f"{source}, as TOML", None if sweep is None else _checked(sweep, source))
    except RecursionError:
        raise ScenarioError(f"{source}: not a scenario: it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ScenarioError(f"{source}: a text contains half of a surrogate pair, which is no character") from None
    except TypeError:
        raise ScenarioError(f"{source}: null is not allowed in a scenario; omit the key") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")


def _checked(sweep: Any, source: str) -> dict[str, Any]:
    if not isinstance(sweep, dict):
        raise ScenarioError(f"{source}: sweep is a table with the keys replications, grid, zip, points and list")
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
    except (ValueError, RecursionError):
        pass
    return toml.document(content)
