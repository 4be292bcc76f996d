"""Reports: one HTML file with everything in it, which opens without a network."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jinja2

from .. import plots, tables
from ..errors import PlotError
from ..explain import NAMES, content_of, explain, explain_groups, limit_names
from ..outputs import errors_as_output_error, write_atomically
from ..plots.style import COLOURS
from ..results import Result
from ..sweep.result import SweepResult
from ..units import quantity
from .topology import drawing

_CAPTIONS = {
    "throughput": "Payload sent by each flow, retransmissions included. Dashed: closed-form limits.",
    "goodput": "Payload that reached the receiving application in order. Above the link's rate: what waited for a lost packet"
    " counts when that has come again.",
    "cwnd": "What congestion control allows to be in flight. Dashed: what fills the path without any queue.",
    "utilisation": "How much of each shared link's rate was in use; of many samples averages over a few.",
    "queue": "What waited in front of the busiest links, and what was dropped there.",
    "rtt": "Round-trip time as the senders smooth it; what is above the dashed line is queueing.",
    "limits": "What each sender was waiting for, as shares of its time.",
    "fairness": "How the goodput is spread over the flows: the steeper, the fairer.",
    "timeseq": "Every segment of a traced flow. Green: acknowledged; yellow: end of the receiver's window.",
}
_LARGE_SVG = 350_000

T = TypeVar("T")
#: Called with the number of figures that are drawn and of all.
Progress = Callable[[int, int], None]


def write_run_report(result: Result, path: Path, progress: Progress | None = None) -> Path:
    """Writes the report of one run; `progress(done, total)` counts its figures."""
    figures = []
    for kind in _counted(plots.kinds_for(result), progress):
        try:
            figures.append(
                {
                    "kind": kind,
                    "image": embedded(plots.draw(result, kind)),
                    "caption": _CAPTIONS.get(kind, ""),
                }
            )
        except PlotError:
            continue
    flows = tables.chosen_flows(result)
    scenario = content_of(result)
    content = {
        "result": result,
        "summary": result.summary,
        "topology": drawing(result.summary),
        "key": tables.key_numbers(result),
        "figures": figures,
        "run": tables.run_table(result),
        "links": tables.object_table(result, "links"),
        "middleboxes": tables.middlebox_table(result) if result.summary.get("middleboxes") else None,
        "groups": tables.object_table(result, "groups") if tables.groups_differ_from_flows(result) else None,
        "flows": tables.object_table(result, "flows"),
        "selection": tables.is_selection(result),
        "predictions": tables.predictions(result),
        "limits": [_limit_row(flow, result.summary, scenario) for flow in flows],
        "groups_explained": explain_groups(result.summary["flows"], result.summary, scenario)
        if len(result.summary["flows"]) > 1
        else [],
        "legend": [_legend(name) for name in limit_names(flows)],
        "warnings": [tables.warning_text(w) for w in result.warnings],
        "scenario": result.scenario if result.path else "",
        "quantity": quantity,
    }
    return _write("run.html", path, content)


def write_sweep_report(sweep: SweepResult, path: Path, progress: Progress | None = None) -> Path:
    """Writes the report of a sweep: a table of its points, and figures of the main metrics over each parameter."""
    metrics = tables.report_metrics(sweep)
    varying: list[str | None] = [p for p in sweep.parameters if sweep.cells[p].n_unique() > 1] or [None]
    figures = [
        {
            "kind": f"{sweep.title(m)} over {p}" if p else sweep.title(m),
            "image": embedded(sweep.plot(m, p)),
            "caption": "",
        }
        for m, p in _counted([(m, p) for m in metrics for p in varying], progress)
    ]
    content = {
        "sweep": sweep,
        "done": sweep.done,
        "total": sweep.total,
        "table": tables.cell_table(sweep, metrics),
        "equal_seeds": tables.equal_seeds(sweep, metrics),
        "figures": figures,
        "warnings": _sweep_warnings(sweep),
        "failures": sweep.failures,
        "scenario": (sweep.path / "scenario.toml").read_text(encoding="utf-8"),
    }
    return _write("sweep.html", path, content)


def _counted(items: Sequence[T], progress: Progress | None) -> Iterator[T]:
    """The items, one after the other, each announced."""
    for number, item in enumerate(items):
        if progress:
            progress(number, len(items))
        yield item
    if progress:
        progress(len(items), len(items))


def write_study(path: Path, content: dict[str, Any]) -> Path:
    """Writes the report of a reproduced study; what it shows is put together in `studies.writing`."""
    return _write("study.html", path, content)


def embedded(figure: Any) -> str:
    """A figure as a data URI: SVG, or PNG where that would be heavy."""
    svg = plots.figure_bytes(figure, "svg", text=True)
    if len(svg) <= _LARGE_SVG:
        return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
    return "data:image/png;base64," + base64.b64encode(plots.figure_bytes(figure, "png", 130)).decode()


def _write(template: str, path: Path, content: dict[str, Any]) -> Path:
    folder = resources.files(__package__) / "templates"
    names = ("base.html", "macros.html", "run.html", "sweep.html", "study.html")
    loader = jinja2.DictLoader({name: (folder / name).read_text(encoding="utf-8") for name in names})
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    html = environment.get_template(template).render(content)
    with errors_as_output_error(path):
        write_atomically(path, html)
    return path


def _limit_row(flow: dict[str, Any], summary: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    shares = [
        {
            **_legend(name),
            "share": float(flow["limited"][name]),
            "text": quantity(float(flow["limited"][name]), "share", 2),
        }
        for name in limit_names([flow])
    ]
    return {
        "name": flow["name"],
        "goodput": quantity(flow["metrics"].get("goodput_bps"), "bit/s"),
        "shares": shares,
        "text": explain(flow, summary, (), scenario),
    }


def _legend(name: str) -> dict[str, str]:
    number = list(NAMES).index(name) if name in NAMES else len(NAMES) - 1
    return {"name": NAMES.get(name, name), "colour": COLOURS[number % len(COLOURS)]}


def _sweep_warnings(sweep: SweepResult) -> list[tuple[str, int]]:
    """Warnings of the first run of each point, with the number of points that have them."""
    seen: dict[int, str] = {
        run["cell"]: run["id"] for run in reversed(sweep.manifest["runs"]) if run["status"] == "done"
    }
    count: dict[str, int] = {}
    for run_id in seen.values():
        for code in {f"{w['code']}: {w['message']}" for w in sweep.run(run_id).warnings}:
            count[code] = count.get(code, 0) + 1
    return sorted(count.items(), key=lambda item: (-item[1], item[0]))[:20]
