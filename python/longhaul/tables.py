"""The numbers of a run or a sweep as rows of text with their units, for the terminal and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .bottleneck import link_name
from .explain import NAMES, main_limit
from .results import Result, unit_of
from .units import counted, plus_minus, quantity

if TYPE_CHECKING:
    from .sweep.result import SweepResult

#: Metrics of flows in tables, if the run has them, in this order.
_FLOW = (
    "goodput_bps",
    "throughput_bps",
    "loss_rate",
    "retransmission_rate",
    "timeouts",
    "rtt_mean_s",
    "cwnd_mean_bytes",
    "completion_time_s",
    "response_time_mean_s",
    "response_time_p95_s",
    "page_time_mean_s",
    "page_time_p95_s",
)
_LINK = (
    "utilisation",
    "throughput_bps",
    "drop_rate",
    "drops_queue",
    "drops_early",
    "drops_forced",
    "drops_loss",
    "mark_rate",
    "marks",
    "queue_mean_packets",
    "queue_max_packets",
    "queue_delay_mean_s",
    "queue_delay_p95_s",
)
#: Metrics of a sweep that people look at first, and that the report draws.
SWEEP_METRICS = (
    "goodput_bps",
    "utilisation",
    "loss_rate",
    "jain_index",
    "rtt_mean_s",
    "completion_time_mean_s",
    "timeouts",
)
#: Counts that most links do not have: shown where they are not zero.
_RARE = ("drops_early", "drops_forced", "drops_loss", "mark_rate", "marks")
_FEW = 12


@dataclass(frozen=True)
class Table:
    """Headings (title, definition) and rows of cells; the first column names the row."""

    headings: list[tuple[str, str]]
    rows: list[list[str]]


def run_table(result: Result) -> Table:
    """Every metric of the run."""
    rows = [
        [
            result.definitions.get(name, {}).get("title", name),
            show(result, name, value),
            result.definitions.get(name, {}).get("definition", ""),
        ]
        for name, value in result.metrics.items()
        if value is not None
    ]
    return Table([("Metric", ""), ("Value", ""), ("Definition", "")], rows)


#: The fewer metrics that fit on a terminal.
_SHORT = (
    "goodput_bps",
    "loss_rate",
    "timeouts",
    "rtt_mean_s",
    "completion_time_s",
    "response_time_mean_s",
    "page_time_mean_s",
    "jain_index",
    "utilisation",
    "drop_rate",
    "mark_rate",
    "queue_mean_packets",
    "queue_delay_p95_s",
)


def object_table(result: Result, kind: str, short: bool = False) -> Table:
    """Flows, groups or links (those that matter) with their main metrics; of many flows a selection."""
    items = {
        "flows": chosen_flows(result),
        "groups": result.summary["groups"],
        "links": [link for _, link in result.shared_links()][:12],
    }[kind]
    wanted = _LINK if kind == "links" else _FLOW + (("jain_index",) if kind == "groups" else ())
    wanted = tuple(n for n in wanted if n in _SHORT) if short else wanted
    names = [n for n in wanted if any(_is_worth_a_column(n, item["metrics"].get(n)) for item in items)]
    headings = [({"flows": "Flow", "groups": "Group", "links": "Link"}[kind], "")]
    headings += [
        (result.definitions.get(n, {}).get("title", n), result.definitions.get(n, {}).get("definition", ""))
        for n in names
    ]
    if kind == "flows":
        headings.append(("Limited mostly by", "the largest share of its time"))
    rows = []
    for item in items:
        row = [_name(item, kind)] + [show(result, n, item["metrics"].get(n)) for n in names]
        if kind == "flows":
            limit, share = main_limit(item)
            row.append(f"{NAMES.get(limit, limit)} ({quantity(share, 'share', 2)})" if limit else "–")
        rows.append(row)
    return Table(headings, rows)


def _is_worth_a_column(metric: str, value: float | None) -> bool:
    return value is not None and (metric not in _RARE or value > 0)


def middlebox_table(result: Result, short: bool = False) -> Table:
    """Every metric of the middleboxes and of their connections over long hops; `short` leaves out what is zero."""
    rows = []
    for box in result.summary.get("middleboxes", []):
        places = " and ".join(box["at"])
        parts = [(f"{box['name']} ({box['kind']} at {places})", box["metrics"])]
        parts += [
            (f"{box['name']}: {hop['from']} → {hop['to']}, connection {hop['connection']}", hop["metrics"])
            for hop in box.get("long_hop", [])[:_FEW]
        ]
        for name, metrics in parts:
            kept = {k: v for k, v in metrics.items() if v is not None and (v or not short)}
            for number, (metric, value) in enumerate(kept.items()):
                title = result.definitions.get(metric, {}).get("title", metric)
                rows.append([name if number == 0 else "", title, show(result, metric, value)])
    return Table([("Middlebox", ""), ("Metric", ""), ("Value", "")], rows)


def predictions(result: Result) -> Table:
    """Measured goodput beside the closed forms."""
    flows = chosen_flows(result)
    names = list(dict.fromkeys(k for f in flows for k, v in (f.get("predicted") or {}).items() if v is not None))
    headings = [("Flow", ""), ("Measured goodput", "")]
    for n in names:
        definition = result.definitions.get(n, {})
        headings += [(definition.get("title", n), definition.get("definition", ""))]
    rows = []
    for flow in flows:
        measured = flow["metrics"].get("goodput_bps")
        row = [str(flow["name"]), quantity(measured, "bit/s")]
        for n in names:
            value = (flow.get("predicted") or {}).get(n)
            ratio = f" ({measured / value:.2f}×)" if value and measured is not None else ""
            row.append(quantity(value, "bit/s") + ratio)
        rows.append(row)
    return Table(headings, rows)


def key_numbers(result: Result) -> list[tuple[str, str]]:
    """Title and value of the metrics that people look at first."""
    wanted = ("goodput_bps", "utilisation", "jain_index", "loss_rate", "rtt_mean_s", "completion_time_mean_s")
    shown = [n for n in wanted if result.metrics.get(n) is not None]
    if len(result.summary["flows"]) < 2 and "jain_index" in shown:
        shown.remove("jain_index")
    return [
        (result.definitions[n]["title"], quantity(result.metrics[n], unit_of(n, result.definitions))) for n in shown
    ]


def cell_table(sweep: SweepResult, metrics: list[str]) -> Table:
    """One row per point of a sweep: parameters, means and half widths of their intervals."""
    wide = sweep.table(metrics)
    headings = [(p, "") for p in sweep.parameters]
    headings += [(sweep.title(m), sweep.definitions.get(m, {}).get("definition", "")) for m in metrics]
    rows = []
    for row in wide.iter_rows(named=True):
        cells = ["–" if row[p] is None else str(row[p]) for p in sweep.parameters]
        for m in metrics:
            cells.append(plus_minus(row[m], row[f"{m} ±"], sweep.unit(m)))
        rows.append(cells)
    return Table(headings, rows)


def first_metrics(sweep: SweepResult) -> list[str]:
    """What a sweep's table shows unless told: four metrics of the run, or goodput and that of up to four groups."""
    present = [m for m in SWEEP_METRICS if m in sweep.metrics and m != "jain_index"]
    groups = [m for m in sweep.metrics if m.startswith("group.") and m.endswith(".goodput_bps")]
    groups = groups if len(groups) > 1 else []
    return [*present[: 2 if groups else 4], *groups[:4]]


def warning_text(warning: dict[str, str]) -> str:
    """A warning's message, after the object that it is about unless it names that itself.

    >>> warning_text({"object": "web[0]", "message": "web[0]: window of 64 kB"})
    'web[0]: window of 64 kB'
    >>> warning_text({"object": "web[0]", "message": "window of 64 kB"})
    'web[0]: window of 64 kB'
    """
    message, name = warning["message"], warning["object"]
    return message if message.startswith(f"{name}:") else f"{name}: {message}"


def chosen_flows(result: Result) -> list[dict[str, Any]]:
    """All flows if they are few; else the slowest, those around the median, and the fastest."""
    flows: list[dict[str, Any]] = result.summary["flows"]
    if len(flows) <= _FEW:
        return flows
    ordered = sorted(flows, key=lambda flow: (flow["metrics"].get("goodput_bps") or 0.0, flow["id"]))
    middle = len(ordered) // 2
    return ordered[:3] + ordered[middle - 1 : middle + 2] + ordered[-3:]


def groups_differ_from_flows(result: Result) -> bool:
    """Whether a table of groups says more than one of the run or of the flows: several groups, not all of one flow."""
    groups = result.summary["groups"]
    return len(groups) > 1 and any(group["count"] > 1 for group in groups)


def is_selection(result: Result) -> bool:
    """Whether `chosen_flows` leaves some out."""
    return len(result.summary["flows"]) > _FEW


def show(result: Result, metric: str, value: float | None) -> str:
    """A metric's value with its unit."""
    return quantity(value, unit_of(metric, result.definitions))


def _name(item: dict[str, Any], kind: str) -> str:
    if kind == "links":
        return link_name(item)
    return f"{item['name']} ({counted(item['count'], 'flow')})" if kind == "groups" else str(item["name"])
