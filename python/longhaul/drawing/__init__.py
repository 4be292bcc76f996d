"""The network of a scenario or of a result as a drawing: nodes, links, flows on their way, proxies, and what limits.

longhaul draw examples/satellite-pep.toml
"""

from __future__ import annotations

import base64
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import core
from ..document import Document
from ..outputs import write
from . import over_time, svg
from .network import Network, network_of

if TYPE_CHECKING:
    from ..results import Result

__all__ = ["Drawing", "of_document", "of_result", "of_summary", "over_time", "svg"]


@dataclass(frozen=True)
class Drawing:
    """A network that can be drawn: shown by a notebook, or saved as SVG."""

    network: Network

    def svg(self, *, upright: bool = False) -> str:
        """A whole SVG file: data go to the right, or downwards with `upright`, for narrow columns."""
        return svg.drawn(self.network, upright=upright, standalone=True)

    def save(self, path: str | Path, *, upright: bool = False, force: bool = False) -> Path:
        """Writes the SVG file. Raises `OutputError` if another file is there and not `force`."""
        return write(Path(path), self.svg(upright=upright), force=force)

    def inline(self) -> str:
        """Both drawings for a page with the reports' style, which shows the one that fits."""
        return svg.drawn(self.network) + svg.drawn(self.network, upright=True)

    def image(self) -> str:
        """An image element that holds the file: its rules do not reach the page around it."""
        data = base64.b64encode(self.svg().encode()).decode()
        return f'<img alt="{escape(self.network.text)}" src="data:image/svg+xml;base64,{data}" style="max-width:100%">'

    def _repr_html_(self) -> str:
        return self.image()


def of_document(document: Document, changes: core.Overrides = ()) -> Drawing:
    """The drawing of a scenario, without a run; raises `ScenarioError` if something is wrong with it."""
    content = tomllib.loads(core.resolve(document, changes)[0])
    made = Drawing(network_of(content))
    over_time.add_delays(made.network, content, document.folder)
    return made


def of_summary(summary: Mapping[str, Any], content: Mapping[str, Any]) -> Drawing:
    """The drawing of a run: `summary` is its `summary.json`, `content` its resolved scenario (empty if it was not kept)."""
    return Drawing(network_of(content, summary))


def of_result(result: Result, content: Mapping[str, Any]) -> Drawing:
    """The drawing of a run with what only time series have: the course of rates; `content` as in `of_summary`."""
    made = of_summary(result.summary, content)
    over_time.add_courses(made.network, result, content)
    over_time.add_delays(made.network, content, None)
    return made
