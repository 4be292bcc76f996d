"""Reports: one HTML file with everything in it, which opens without a network."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import jinja2

from .. import document, drawing, qoe, tables, usage
from ..errors import LonghaulError
from ..explain import accounting, content_of, explain_at_once, explain_result, group_texts, limit_names, limit_title
from ..outputs import write
from ..results import Result
from ..sweep.result import SweepResult
from ..units import quantity, read_quantity
from ..why import Waterfall, parts, rows
from . import dots, explore, maps, overview, panels, strip

_LARGE_SVG = 350_000
#: Above the bars of limits: these are shares of time, unlike the utilisation of a link, which is a mean of rates.
_LIMITS_NOTE = (
    f"Each bar divides the flow's time. A link is full while more than {quantity(usage.FULL, 'share')} of its rate is in use: a mean"
    " utilisation of 95 % may be a link that is full for 60 % of the time and nearly full for the rest."
)

T = TypeVar("T")
#: Called with the number of figures that are drawn and of all.
Progress = Callable[[int, int], None]


def write_run_report(
    result: Result, path: Path, progress: Progress | None = None, *, force: bool = False, explain_s: float | None = None
) -> Path:
    """Writes the report of one run; `progress(done, total)` counts its figures.

    It begins with the waterfall of causes, tested for at most `explain_s` seconds; without a number, if that takes less than
    1.4 s of processor time. With 0 nothing is tested.
    """
    explained = (
        explain_at_once(result) if explain_s is None else explain_result(result, explain_s) if explain_s else None
    )
    explored = dict(explore.of_run(result))
    for _ in _counted(explored["figures"], progress):
        pass
    flows, every = tables.chosen_flows(result), result.summary["flows"]
    alone = strip.alone(every) if tables.is_selection(result) else []
    scenario = content_of(result)
    network = drawing.of_result(result, scenario)
    over_time = drawing.over_time.of_result(network.network, result)
    texts = _texts_of_groups(every, scenario)
    content = {
        "result": result,
        "summary": result.summary,
        "network": network.inline(),
        "network_style": drawing.svg.style(),
        "network_script": _template("network.js") if over_time else "",
        "network_data": explore.embedded(over_time) if over_time else "",
        "key": tables.key_numbers(result),
        "explored": explored,
        "explorer": explore.explorer(explored),
        "run": tables.run_table(result),
        "links": tables.object_table(result, "links"),
        "middleboxes": tables.middlebox_table(result) if result.summary.get("middleboxes") else None,
        "groups": tables.object_table(result, "groups") if tables.groups_differ_from_flows(result) else None,
        "flows": tables.object_table(result, "flows"),
        "selection": tables.is_selection(result),
        "strips": strip.strips(every, scenario, _titles(result)) if tables.is_selection(result) else [],
        "predictions": tables.predictions(result),
        "limits_note": _LIMITS_NOTE if any(usage.full(flow) for flow in flows) else "",
        "limits": [_limit_row(flow, scenario) for flow in flows if flow not in alone],
        "limits_alone": [_limit_row(flow, scenario) for flow in alone],
        "waterfalls": [_waterfall(one) for one in explained.explanation.groups]
        if explained and explained.explanation
        else [],
        "untested": explained.reason if explained else "",
        "groups_explained": texts[:_GROUPS],
        "groups_left": len([name for names, _ in texts[_GROUPS:] for name in names]),
        "legend": [_legend(name, every, scenario) for name in limit_names(every)],
        "warnings": [tables.warning_text(w) for w in result.warnings],
        "scenario": result.scenario if result.path else "",
        "quantity": quantity,
    }
    return write_page("run.html", path, content, force=force)


#: Curves of a sweep's report, each a metric over a parameter: a further one costs 0.1 s of processor time. `longhaul plot` draws the others.
_CURVES = 8
#: Rows of the table of points that are shown at once; the others are folded.
_ROWS = 60


def write_sweep_report(
    sweep: SweepResult,
    path: Path,
    progress: Progress | None = None,
    wanted: Sequence[str] = (),
    *,
    baseline: Mapping[str, str] | None = None,
    force: bool = False,
) -> Path:
    """Writes the report of a sweep: the answer, the key numbers and the first figure; then points, maps and curves of the main metrics.

    It begins with the metrics in `wanted`, of which those without a value are left out. Differences are to `baseline`, the values of
    parameters by path, or to the first point.
    """
    first_ones = [metric for metric in wanted if metric in sweep.metrics]
    metrics = list(dict.fromkeys([*first_ones, *tables.report_metrics(sweep)]))
    leading = first_ones[:3] or overview.chosen(metrics)
    names = [p for p in sweep.parameters if sweep.cells[p].n_unique() > 1]
    # Over a single number a curve shows every point, over single words a dot plot.
    in_words = len(names) == 1 and any(read_quantity(value) is None for value in sweep.cells[names[0]])
    varying: list[str | None] = [] if in_words else list(names) or [None]
    most = max(4, len(first_ones))
    dotted = metrics if in_words else metrics[:most] if len(names) > 1 else []
    sorted_points = [dots.drawn(sweep, m, f"d{k}") for k, m in enumerate(dotted)]
    curves: list[dict[str, Any]] = []
    over = [(m, p) for m in metrics for p in varying]
    for number, (m, p) in enumerate(_counted(over[:_CURVES], progress)):
        drawn = sweep.plot(m, p)
        found = panels.of_figure(drawn, f"s{number}")
        if found and len(found) == 1:  # the scenario's name stands above
            found[0]["title"] = found[0]["title"].removesuffix(f" – {sweep.name}")
        curves.append({
            "kind": f"{sweep.title(m)} over {p}" if p else sweep.title(m),
            "image": embedded(drawn),
            "panels": found,
            "caption": "",
            "alt": _alt_of(sweep, m, p),
        })  # fmt: skip
    maps_of = [maps.drawn(sweep, m, f"m{k}") for k, m in enumerate(metrics[:most])]
    groups = {
        "maps": [_shown([one]) for one in maps_of if one],
        "points": [_shown(several) for several in sorted_points if several],
        "curves": curves,
    }
    # The first figure is one of the first metric.
    leads = [kind for kind, shown in (("maps", maps_of[:1]), ("points", sorted_points[:1])) if shown and shown[0]]
    order = [*leads, "curves", "points", "maps"]
    first = next((groups[kind].pop(0) for kind in order if groups[kind]), None)
    figures = [*([first] if first else []), *(one for found in groups.values() for one in found)]
    whole = _named_shortly(sweep, tables.cell_table(sweep, metrics, baseline, compared=2))
    network = _network_of(sweep)
    content = {
        "sweep": sweep,
        "network": network.inline() if network else "",
        "network_style": drawing.svg.style() if network else "",
        "varied": ", ".join(names),
        "done": sweep.done,
        "total": sweep.total,
        "table": tables.Table(whole.headings, whole.rows[:_ROWS]),
        "rest": tables.Table(whole.headings, whole.rows[_ROWS:]),
        "same": _same(sweep, metrics),
        "equal_seeds": tables.equal_seeds(sweep, metrics),
        "first": first,
        "groups": groups,
        "curves_left": len(over[_CURVES:]),
        "warnings": _sweep_warnings(sweep),
        "failures": sweep.failures,
        "scenario": (sweep.path / "scenario.toml").read_text(encoding="utf-8"),
        "explorer": explore.explorer(explore.of_panels(one for f in figures for one in f["panels"] or ())),
        "key": overview.key_numbers(sweep, leading),
        "answer": overview.answer(sweep, leading),
    }
    return write_page("sweep.html", path, content, force=force)


def _network_of(sweep: SweepResult) -> drawing.Drawing | None:
    """The network of the sweep's scenario; none if a file that it needs is gone."""
    try:
        return drawing.of_document(document.read(sweep.path / "scenario.toml"))
    except LonghaulError:
        return None


def _same(sweep: SweepResult, shown: Sequence[str]) -> str:
    """The metrics that are left out since all points have the same."""
    same = tables.same_everywhere(sweep, tables.usual_metrics(sweep))
    return ", ".join(f"{sweep.title(name)} {value}" for name, value in same.items() if name not in shown)


def _named_shortly(sweep: SweepResult, table: tables.Table) -> tables.Table:
    """The table with the ends of the parameters' paths as headings; the whole paths are their definitions."""
    paths = tables.varied(sweep)
    names = tables.short_paths(paths)
    headings = [(name, path if path != name else "") for name, path in zip(names, paths, strict=True)]
    return tables.Table(headings + table.headings[len(names) :], table.rows)


def _shown(shown: Sequence[dots.Shown]) -> dict[str, Any]:
    """Panels that stand together as a figure of a page."""
    return {"panels": [one.panel for one in shown], "still": [one.still for one in shown], "caption": ""}


def _alt_of(sweep: SweepResult, metric: str, parameter: str | None) -> str:
    """A sweep's figure in words."""
    means = [
        float(value) for value in sweep.cells.filter(sweep.cells["metric"] == metric)["mean"].drop_nulls().to_list()
    ]
    unit = sweep.unit(metric)
    span = f" from {quantity(min(means), unit)} to {quantity(max(means), unit)}" if means else ""
    return f"{sweep.title(metric)}{f' over {parameter}' if parameter else ' of each seed'}:{span}."


def _counted(items: Sequence[T], progress: Progress | None) -> Iterator[T]:
    """The items, one after the other, each announced."""
    for number, item in enumerate(items):
        if progress:
            progress(number, len(items))
        yield item
    if progress:
        progress(len(items), len(items))


def embedded(figure: Any) -> str:
    """A figure as a data URI: SVG, or PNG where that would be heavy."""
    from .. import plots  # matplotlib takes longer to load than a report of a run to write

    svg = plots.figure_bytes(figure, "svg", text=True)
    if len(svg) <= _LARGE_SVG:
        return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
    return "data:image/png;base64," + base64.b64encode(plots.figure_bytes(figure, "png", 130)).decode()


def unbroken(text: str) -> str:
    """A text in which no line ends between a number and its unit, or a sign of multiplication and its number.

    >>> unbroken("98 % of 10 Mbit/s (× 1.1), 3 of 50 flows").count("\\u00a0")
    3
    """
    return re.sub(r"(?<=×) (?=\d)|(?<=\d) (?=(?:%|[kMGTµmn]?(?:bit/s|B|s)|packets?)(?:\W|$))", "\u00a0", text)


def write_page(
    template: str, path: Path, content: dict[str, Any], *, package: str | None = None, force: bool = False
) -> Path:
    """Writes a page from a template of this package, or of another one, which may extend `base.html` and import `macros.html`."""
    folder = resources.files(__package__) / "templates"
    found = {name: folder / name for name in ("base.html", "macros.html")}
    found[template] = resources.files(package) / template if package else folder / template
    loader = jinja2.DictLoader({name: file.read_text(encoding="utf-8") for name, file in found.items()})
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["unbroken"] = unbroken
    html = environment.get_template(template).render(content)
    return write(path, html, force=force)


def _template(name: str) -> str:
    return (resources.files(__package__) / "templates" / name).read_text(encoding="utf-8")


#: So many sentences on groups stand in the answer; the flows of the others are in the strip below.
_GROUPS = 6


def _texts_of_groups(flows: list[dict[str, Any]], scenario: dict[str, Any]) -> list[tuple[list[str], str]]:
    """Where the time of each group went, with the names of all of which the same is to be written; what most have comes first, if they
    are many."""
    alike: dict[str, list[str]] = {}
    for one in group_texts(flows, scenario):
        alike.setdefault(one.text, []).append(one.name)
    texts = [(names, text) for text, names in alike.items()]
    return texts if len(texts) <= _GROUPS else sorted(texts, key=lambda item: -len(item[0]))


def _titles(result: Result) -> dict[str, str]:
    return {name: qoe.title(name, result.definitions, of_flow=True) for name in result.definitions}


def _limit_row(flow: dict[str, Any], scenario: dict[str, Any]) -> dict[str, Any]:
    shares = [
        {
            **_legend(name, [flow], scenario),
            "share": share,
            "text": quantity(share, "share", 2),
        }
        for name, share in usage.by_time(flow).items()
        if share
    ]
    return {
        "name": flow["name"],
        "goodput": quantity(flow["metrics"].get("goodput_bps"), "bit/s"),
        "shares": shares,
        "text": accounting(flow, scenario),
    }


def _waterfall(found: Waterfall) -> dict[str, Any]:
    """A group's waterfall: a bar for the value as it is, one after each step, and the ideal's."""
    values = [found.value, *(step.value for step in found.steps)]
    values += [found.ideal.value] if found.ideal else []
    most = max(values)
    bars = [
        {"what": what, "value": value, "factor": factor, "width": 100 * number / most if most > 0 else 0.0}
        for (what, value, factor), number in zip(rows(found), values, strict=True)
    ]
    verdict, cause, rest = parts(found)
    return {
        "group": found.group,
        "metric": found.metric,
        "verdict": verdict,
        "cause": cause,
        "rest": rest,
        "bars": bars,
    }


def _legend(name: str, flows: list[dict[str, Any]], scenario: dict[str, Any]) -> dict[str, str]:
    return {"name": limit_title(name, flows, scenario), "colour": f"var(--limit-{name.replace('_', '-')}, var(--c7))"}


def _sweep_warnings(sweep: SweepResult) -> list[tuple[str, int]]:
    """Warnings of the first run of each point, with the number of points that have them."""
    count: dict[str, int] = {}
    for run_id in sweep.first_of_points():
        for code in {f"{w['code']}: {w['message']}" for w in sweep.run(run_id).warnings}:
            count[code] = count.get(code, 0) + 1
    return sorted(count.items(), key=lambda item: (-item[1], item[0]))[:20]
