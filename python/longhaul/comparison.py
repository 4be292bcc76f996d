"""Several results side by side, for notebooks: QoE, then links, with the difference from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from . import compare as side_by_side
from . import forked, qoe
from .errors import ResultError
from .results import Result, flat_metrics, load_run, unit_of
from .units import alike
from .values import folder

if TYPE_CHECKING:
    import polars as pl

#: Metrics of the run that follow the QoE.
_OF_RUN = ("utilisation", "jain_index", "loss_rate", "retransmission_rate", "rtt_mean_s")


#: At most so many settings that differ are shown.
_SETTINGS = 20


@dataclass(frozen=True)
class Comparison:
    """Rows are metrics, columns are results; values are in base units. `settings` are those that differ, by path, as texts."""

    names: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[float | None, ...]], ...]
    settings: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def table(self) -> pl.DataFrame:
        """A polars frame with the columns `metric` and one for each result."""
        forked.check()
        import polars as pl

        content: dict[str, list[object]] = {"metric": [metric for metric, _, _ in self.rows]}
        for number, name in enumerate(self.names):
            content[name] = [values[number] for _, _, values in self.rows]
        return pl.DataFrame(content, infer_schema_length=None)

    def _lines(self) -> list[list[str]]:
        lines = []
        for metric, unit, values in self.rows:
            cells = alike(values, unit, 3)
            first = values[0]
            for number, value in enumerate(values[1:], 1):
                if first and value is not None:
                    cells[number] += f" ({100 * (value / first - 1):+.0f} %)"
            lines.append([metric, *cells])
        return lines

    def _settings(self) -> list[list[str]]:
        lines = [[path, *texts] for path, texts in self.settings[:_SETTINGS]]
        more = len(self.settings) - _SETTINGS
        return [*lines, [f"and {more} more", *("" for _ in self.names)]] if more > 0 else lines

    def __str__(self) -> str:
        text = _aligned([["", *self.names], *self._lines()])
        if self.settings:
            text += "\n\nSettings that differ\n" + _aligned([["", *self.names], *self._settings()])
        return text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        text = _html(self.names, self._lines())
        if self.settings:
            text += f"<p>Settings that differ</p>{_html(self.names, self._settings())}"
        return text


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _html(names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in ("", *names))
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def compare(*results: Result | str | Path, names: Sequence[str] | None = None) -> Comparison:
    """Two or more runs side by side: for each group its QoE, then the main metrics of the run.

    Results are `Result` objects or their directories; `names` head the columns (the scenarios' names; where these are the same, the
    directories, and a, b, ... for results that were not written to one). Raises `ResultError` for fewer than two results, or as many names as there are not results.
    """
    loaded = [result if isinstance(result, Result) else load_run(folder(result, "result")) for result in results]
    if len(loaded) < 2:
        raise ResultError("compare takes two results or more")
    if names is not None and len(names) != len(loaded):
        raise ResultError(f"{len(loaded)} results and {len(names)} names; there must be one for each")
    heads = list(names) if names is not None else side_by_side.heads(loaded)
    if len(set(heads)) < len(heads):
        heads = [f"{name} ({number})" for number, name in enumerate(heads, 1)]
    values = [flat_metrics(result.summary) for result in loaded]
    definitions = loaded[0].definitions
    wanted: dict[str, None] = {}
    for result in loaded:
        for group in result.summary["groups"]:
            wanted |= {f"group.{group['name']}.{metric}": None for metric in qoe.of_group(group["metrics"])}
    alike = all(qoe.like_demand(result) for result in loaded)
    wanted |= dict.fromkeys(name for name in _OF_RUN if alike or name != "jain_index")
    rows = []
    for metric in wanted:
        found = tuple(held.get(metric) for held in values)
        if any(value is not None for value in found):
            *place, end = metric.rsplit(".", 1)
            title = qoe.title(end, definitions, of_flow=False)
            label = f"{title} ({place[0].removeprefix('group.')})" if place else title
            rows.append((label, unit_of(end, definitions), found))
    try:
        settings = side_by_side.differing_settings(loaded)
    except ResultError:  # the scenario is not beside the numbers
        settings = []
    return Comparison(tuple(heads), tuple(rows), tuple(settings))
