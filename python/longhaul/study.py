"""What a study is to the lab, and which ones there are. The lab imports none: it finds them as entry points.

A distribution offers a study in the group `longhaul.studies`, by its name: an object with the attributes and the method of `Study`.
It offers a kind of design in the group `longhaul.designs`: a function that takes a `DesignRequest`. Those that come with Longhaul are
in the package `longhaul_studies`; `longhaul_studies.model.Study` is a study made of experiments, targets and figures.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Protocol, cast

from .errors import LonghaulError
from .naming import only

STUDIES, DESIGNS = "longhaul.studies", "longhaul.designs"


@dataclass(frozen=True)
class Request:
    """Options of `longhaul reproduce`: what is to be run, and what is to be written."""

    scale: str = "quick"
    #: Experiments, or figures and targets that need them; all, if there are none.
    figure: list[str] | None = None
    #: Directory of the runs of all scales; `None` is results/NAME.
    out: Path | None = None
    #: Runs at once; `None` is one for each processor.
    jobs: int | None = None
    engine: str = "local"
    #: I/N: only the I-th of N parts.
    shard: str | None = None
    #: Whether contents are listed and nothing is run.
    contents: bool = False
    #: Whether only finished runs are evaluated.
    no_run: bool = False
    #: What is done with results of another build.
    changed: str = "refuse"
    #: Directory of the Markdown document, if one is wanted.
    document: Path | None = None
    #: Whether real packets are sent, and the emulator's program, unless it is to be looked for.
    emulated: bool = False
    emulator: Path | None = None
    as_json: bool = False
    quiet: bool = False


class Study(Protocol):
    """A published study that can be repeated."""

    @property
    def name(self) -> str:
        """Its name in commands and files."""

    @property
    def title(self) -> str:
        """A heading."""

    @property
    def source(self) -> str:
        """The paper: author, title, where and when."""

    @property
    def scales(self) -> Mapping[str, str]:
        """Names of its scales, from the smallest to the largest, with a line about each."""

    def reproduce(self, request: Request) -> None:
        """Makes missing runs, evaluates them, writes figures, report and document, prints; raises `LonghaulError` for a wrong request."""


@dataclass(frozen=True)
class DesignRequest:
    """Options of `longhaul design`: a path, and what is to be printed about designs for it."""

    #: The path in the user's words.
    path: str
    down_bps: float
    up_baud: float
    rtt_s: float
    #: Bytes per second of ACKs that a shared return backbone gives each client.
    backbone: float
    #: Longest acceptable silence after a fade.
    dormancy_s: float
    #: Whether the designs are simulated too.
    run: bool = True
    #: Directory for the scenario of each design, if they are wanted.
    scenarios: Path | None = None
    as_json: bool = False


Design = Callable[[DesignRequest], None]


def names(group: str = STUDIES) -> list[str]:
    """The studies that there are, or the kinds of designs, in alphabetical order."""
    return sorted(offered(group))


def find(name: str) -> Study:
    """The study of this name; raises `UnknownName`, or `LonghaulError` if it cannot be loaded."""
    return cast(Study, _load(STUDIES, name, "study"))


def find_design(kind: str) -> Design:
    """The function for a kind of design; raises as `find`."""
    return cast(Design, _load(DESIGNS, kind, "kind of design"))


@functools.cache
def offered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group, by name.

    In a source tree those of its `pyproject.toml` count too: the metadata of an editable installation are as old as it is.
    """
    found = {entry.name: entry for entry in entry_points(group=group)}
    tree = Path(__file__).resolve().parents[2] / "pyproject.toml"
    if tree.is_file():
        project = tomllib.loads(tree.read_text(encoding="utf-8")).get("project", {})
        if project.get("name") == "longhaul-lab":
            own = project["entry-points"].get(group, {})
            found |= {name: EntryPoint(name, value, group) for name, value in own.items()}
    return found


def _load(group: str, name: str, what: str) -> Any:
    entry = offered(group)[only(name, names(group), what)]
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise LonghaulError(f"the {what} {name} ({entry.value}) cannot be loaded: {error}") from error
