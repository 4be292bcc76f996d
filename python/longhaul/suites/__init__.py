"""Suites: known situations that a congestion control or a queue is held against, beside others, with verdicts.

A suite is a file of this package with the object `SUITE`, or a file of somebody's own: situations, what is measured in each, and from
which difference on a verdict is given (`model`). Running, judging, tables and the page are the same for all.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from .. import inventory
from ..errors import LonghaulError, ResultError, printed
from ..naming import only
from ..results import read_json
from .model import Suite

#: The file that makes a sweep's directory that of a suite.
CONTENT = "suite.json"

#: The suites that come with Longhaul: modules of this package, named as in commands but for the hyphen.
NAMES = ("leo", "ietf-satellite", "tcp-eval", "aqm", "l4s", "fairness")


def find(name: str) -> Suite:
    """The suite of this name, or of this file in Python; raises `LonghaulError`."""
    if name.endswith(".py"):
        return _of_file(Path(name))
    module = importlib.import_module(f".{only(name, NAMES, 'suite').replace('-', '_')}", __name__)
    suite: Suite = module.SUITE
    return suite


def is_result(directory: Path) -> bool:
    """Whether a result directory is one of a suite."""
    return (directory / CONTENT).is_file() and CONTENT in inventory.known_files(directory)


def content_of(directory: Path) -> dict[str, Any]:
    """The findings of a suite, of its result directory; raises `ResultError` if the file is damaged."""
    content = read_json(directory / CONTENT)
    if not isinstance(content, dict) or content.get("kind") != "suite":
        raise ResultError(f"{directory / CONTENT} is damaged; the same `longhaul suite` command makes it again")
    return content


def write_page(directory: Path, place: Path, *, force: bool = False) -> Path:
    """Writes the page of a suite's result to `place`, and returns it."""
    from . import page

    return page.write(content_of(directory), place, force=force)


def _of_file(path: Path) -> Suite:
    from ..controls import module_of

    suite = getattr(module_of(path), "SUITE", None)
    if not isinstance(suite, Suite):
        raise LonghaulError(
            f"{printed(path)}: it has no SUITE, an object of longhaul.suites.model.Suite; `longhaul list suites` names those that there are"
        )
    return suite
