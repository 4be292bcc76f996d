"""The numbers of a run or a sweep as rows of text with their units, for the terminal and the report."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import latex, qoe
from .explain import content_of, limit_title, main_limit
from .results import Result, unit_of
from .units import alike, counted, difference, plus_minus, quantity, significant
from .why.case import link_name

if TYPE_CHECKING:
    from .sweep.result import SweepResult

#: Metrics of flows in tables after those of QoE, if the run has them, in this order.
_FLOW = (
    "throughput_bps",
    "loss_rate",
    "retransmission_rate",
    "timeouts",
    "rtt_mean_s",
    "one_way_delay_p50_s",
    "one_way_delay_p95_s",
    "jitter_s",
    "reordered_packets",
    "cwnd_mean_bytes",
    "completion_time_mean_s",
    "completion_time_s",
    "response_time_mean_s",
    "response_time_p50_s",
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
#: Metrics of a sweep that people look at after those of QoE, and that the report draws.
_SWEEP = ("utilisation", "loss_rate", "rtt_mean_s", "timeouts")
#: Counts that most links and flows do not have: shown where they are not zero.
_RARE = ("drops_early", "drops_forced", "drops_loss", "mark_rate", "marks", "reordered_packets")
_FEW = 12
#: Kinds of applications of which flows are chosen, of more flows than these.
_KINDS = 6


@dataclass(frozen=True)
class Table:
    """Headings (title, definition) and rows of cells; the first column names the row."""

    headings: list[tuple[str, str]]
    rows: list[list[str]]

    def to_latex(self, names: int = 1) -> str:
        """A `tabular` with rules of booktabs, for papers; the first `names` columns name the row. Units stand in the heads.

        >>> print(Table([("Flow", ""), ("Loss rate", "")], [["a_b", "1 %"]]).to_latex(), end="")
        % \\usepackage{booktabs}
        \\begin{tabular}{lr}
        \\toprule
        Flow & Loss rate (\\%) \\\\
        \\midrule
        a\\_b & 1 \\\\
        \\bottomrule
        \\end{tabular}
        """
        return latex.table([title for title, _ in self.headings], self.rows, names) + "\n"

    def to_markdown(self) -> str:
        """A table as Markdown has it."""
        head = [title for title, _ in self.headings]
        lines = [head, ["---"] + ["---:"] * (len(head) - 1), *self.rows]
        return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)

    def to_csv(self) -> str:
        """Cells separated by commas; units stand in the heads where a column has one."""
        heads, cells = latex.units_in_heads([title for title, _ in self.headings], self.rows)
        file = io.StringIO()
        csv.writer(file, lineterminator="\n").writerows([heads, *cells])
        return file.getvalue()


def run_table(result: Result) -> Table:
    """Every metric of the run."""
    rows = [
        [
            qoe.title(name, result.definitions, of_flow=False),
            show(result, name, value),
            result.definitions.get(name, {}).get("definition", ""),
        ]
        for name, value in result.metrics.items()
        if value is not None
    ]
    return Table([("Metric", ""), ("Value", ""), ("Definition", "")], rows)


#: The fewer metrics that fit on a terminal, in addition to those of QoE.
_SHORT = (
    "loss_rate",
    "timeouts",
    "rtt_mean_s",
    "one_way_delay_p95_s",
    "jitter_s",
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
    first = _felt_by(result, kind, items)
    wanted = _LINK if kind == "links" else _FLOW + (("jain_index",) if kind == "groups" else ())
    rest = tuple(n for n in wanted if n in _SHORT) if short else ("goodput_bps", *wanted)
    names = [
        n
        for n in dict.fromkeys([*first, *rest])
        if any(_is_worth_a_column(n, item["metrics"].get(n)) for item in items)
    ]
    headings = [({"flows": "Flow", "groups": "Group", "links": "Link"}[kind], "")]
    headings += [
        (
            qoe.title(n, result.definitions, of_flow=kind == "flows"),
            result.definitions.get(n, {}).get("definition", ""),
        )
        for n in names
    ]
    if kind == "flows":
        headings.append(("Limited mostly by", "the largest share of its time"))
    rows, content = [], content_of(result) if kind == "flows" else {}
    for item in items:
        row = [_name(item, kind)] + [show(result, n, item["metrics"].get(n)) for n in names]
        if kind == "flows":
            limit, share = main_limit(item)
            row.append(f"{limit_title(limit, [item], content)} ({quantity(share, 'share', 2)})" if limit else "–")
        rows.append(row)
    return Table(headings, rows)


def _without_equal(names: Sequence[str], values: Sequence[Mapping[str, Any]]) -> list[str]:
    """Metrics of QoE without the 95th percentile where that is the mean everywhere: of one transfer, page or response."""
    return [
        name
        for number, name in enumerate(names)
        if not (number and name.endswith("_p95_s"))
        or any(one.get(name) != one.get(names[number - 1]) for one in values)
    ]


def _felt_by(result: Result, kind: str, items: list[dict[str, Any]]) -> list[str]:
    """The columns that a table of flows or groups begins with: their applications' QoE."""
    if kind == "groups":
        first = _without_equal(qoe.of_groups(item["metrics"] for item in items), [item["metrics"] for item in items])
        unfinished = ["completed_flows"] if qoe.unfinished(result)[0] else []
        # Of transfers of which none ended, their rate is all there is.
        return [
            *first,
            *unfinished,
            *(["goodput_bps"] if any(i["metrics"].get("completed_flows") == 0 for i in items) else []),
        ]
    if kind != "flows":
        return []
    kinds = qoe.kinds(result)
    of_kinds = dict.fromkeys((kinds.get(str(item["group"]), "streams"), tuple(item["metrics"])) for item in items)
    first = [name for kind, metrics in of_kinds for name in qoe.of_flow(metrics, kind)]
    # A flow's goodput is over the time of its own transfer.
    return [*first, *(["goodput_bps"] if any(kind == "transfers" for kind, _ in of_kinds) else [])]


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
    """Measured goodput compared with the closed forms."""
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
            ratio = f" ({significant(measured / value, 2)}×)" if value and measured is not None else ""
            row.append(quantity(value, "bit/s") + ratio)
        rows.append(row)
    return Table(headings, rows)


def key_numbers(result: Result) -> list[tuple[str, str]]:
    """Title and value of the metrics that people look at first: those of QoE before all others."""
    first = qoe.of_groups(group["metrics"] for group in result.summary["groups"]) or qoe.of_group(result.metrics)
    first = _without_equal(first, [result.metrics])
    wanted = [*first, "utilisation", "jain_index", "loss_rate", "rtt_mean_s"]
    shown = [n for n in wanted if result.metrics.get(n) is not None]
    if "jain_index" in shown and (len(result.summary["flows"]) < 2 or not qoe.like_demand(result)):
        shown.remove("jain_index")
    numbers = [
        (
            qoe.title(n, result.definitions, of_flow=False),
            (n in first and _from_worst_to_best(result, n))
            or quantity(result.metrics[n], unit_of(n, result.definitions)),
        )
        for n in shown
    ]
    missing, all_of_them = qoe.unfinished(result)
    if missing:
        done = f"{all_of_them - missing:,} of {counted(all_of_them, 'transfer')} in {quantity(result.summary['duration_s'], 's', 4)}"
        numbers.insert(0, ("Finished", done))
    return numbers


#: Sums over groups, which mean something for unlike applications too.
_SUMS = ("goodput_bps", "stalls")


def _from_worst_to_best(result: Result, metric: str) -> str:
    """A metric of the worst and the best of several groups, where a mean would be one of unlike applications; else an empty text."""
    groups = [group for group in result.summary["groups"] if group["metrics"].get(metric) is not None]
    if metric in _SUMS or len(groups) < 2 or qoe.like_demand(result):
        return ""
    ordered = sorted(groups, key=lambda group: float(group["metrics"][metric]), reverse=qoe.smaller_is_better(metric))
    ends = [ordered[0], ordered[-1]]
    texts = alike([float(group["metrics"][metric]) for group in ends], unit_of(metric, result.definitions), 3)
    return " to ".join(f"{text} ({group['name']})" for text, group in zip(texts, ends, strict=True))


def short_paths(paths: Sequence[str], least: int = 2) -> list[str]:
    """The ends of settings' paths by which they can be distinguished: `least` names, or more where it takes more.

    >>> short_paths(["link.a.queue.limit", "link.b.queue.limit", "flow.0.tcp.variant", "run.duration"])
    ['a.queue.limit', 'b.queue.limit', 'tcp.variant', 'run.duration']
    >>> short_paths(["link.a.loss", "link.b.loss", "flow.0.tcp.variant"], 1)
    ['a.loss', 'b.loss', 'variant']
    """
    parts = [path.split(".") for path in paths]
    ends = [
        next(
            (
                end
                for size in range(least, len(mine))
                if [other[-size:] for other in parts].count(end := mine[-size:]) == 1
            ),
            mine,
        )
        for mine in parts
    ]
    return [".".join(end) for end in ends]


def setting_text(value: object, unset: str = "not set") -> str:
    """A swept setting's value as a scenario has it.

    >>> setting_text(True), setting_text("50 Mbit/s"), setting_text(None)
    ('true', '50 Mbit/s', 'not set')
    """
    if value is None:
        return unset
    return str(value).lower() if isinstance(value, bool) else str(value)


def cell_table(
    sweep: SweepResult, metrics: list[str], baseline: Mapping[str, str] | None = None, compared: int = 1
) -> Table:
    """One row per point of a sweep: parameters that vary, means and half widths of their intervals, and the paired differences of
    the first `compared` metrics to a baseline (see `sweep.differences.baseline_of`), where there are several points.

    Where all seeds gave one value there is no interval; see `equal_seeds`.
    """
    from .sweep.differences import baseline_of, differences

    wide = sweep.table(metrics)
    names = varied(sweep)
    base = baseline_of(sweep, baseline) if wide.height > 1 else {}
    beside = {m: found for m in metrics[:compared] if base and (found := differences(sweep, m, base))}
    headings = [(p, "") for p in names]
    for m in metrics:
        definition = sweep.definitions.get(m.rsplit(".", 1)[-1], {}).get("definition", "")
        headings.append((sweep.title(m), definition))
        if m in beside:
            headings.append((f"beside {baseline_name(sweep, baseline)}", _BESIDE))
    rows = []
    for row in wide.iter_rows(named=True):
        cells = [setting_text(row[p], "–") for p in names]
        for m in metrics:
            value, half = row[m], row[f"{m} ±"]
            cells.append(plus_minus(value, None if is_equal(value, half) else half, sweep.unit(m)))
            if m in beside:
                one = beside[m].get(row["cell"])
                cells.append("–" if one is None else difference(one.mean, one.low, one.high, sweep.unit(m)))
        rows.append(cells)
    return Table(headings, rows)


#: What a column of differences shows.
_BESIDE = "Paired difference from the baseline, seed by seed, with its 95 % interval: the points have the same random draws, so that it varies less than the values."


def varied(sweep: SweepResult) -> list[str]:
    """The parameters that differ between points; all, if none does."""
    names = [name for name in sweep.parameters if len(set(map(repr, sweep.cells[name].unique().to_list()))) > 1]
    return names or sweep.parameters


def baseline_name(sweep: SweepResult, baseline: Mapping[str, str] | None) -> str:
    """What a baseline is called at the head of a column: its settings, or the first point's if it is not given."""
    if baseline:
        return ", ".join(f"{name} {value}" if len(baseline) > 1 else value for name, value in baseline.items())
    return point_name(sweep, int(sweep.cells["cell"][0]))


def point_name(sweep: SweepResult, cell: int) -> str:
    """The settings of a point, of those that vary: one stands alone, several have their names."""
    names = varied(sweep)
    row = sweep.cells.filter(sweep.cells["cell"] == cell).row(0, named=True)
    short = short_paths(names, 1)
    return ", ".join(
        f"{word} {setting_text(row[name])}" if len(names) > 1 else setting_text(row[name])
        for word, name in zip(short, names, strict=True)
    )


def best_point(sweep: SweepResult, metric: str) -> str | None:
    """A sentence about the best point by a metric, for times the smallest; `None` if no point is better than the others."""
    from .sweep.differences import best_of

    if (found := best_of(sweep, metric)) is None:
        return None
    word = "smallest" if qoe.smaller_is_better(metric) else "largest"
    text = f"Best, the {word} {_lower(sweep.title(metric))}: {quantity(found.mean, sweep.unit(metric))} with {point_name(sweep, found.cell)}"
    if found.alike:
        text += f"; {counted(found.alike, 'other point')} cannot be distinguished from it (paired differences)"
    return f"{text}."


def _lower(title: str) -> str:
    """A title within a sentence: abbreviations keep their capitals."""
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]


def same_everywhere(sweep: SweepResult, metrics: Sequence[str]) -> dict[str, str]:
    """Of these metrics those that have one value at all of several points, as texts: a column or a figure of them shows nothing."""
    wide = sweep.table(list(metrics))
    if wide.height < 2:
        return {}
    found = {}
    for m in metrics:
        values = wide[m].to_list()
        if all(value is not None for value in values) and max(values) - min(values) <= 1e-9 * abs(max(values)):
            found[m] = quantity(values[0], sweep.unit(m))
    return found


def folded(table: Table, most: int = 40, ends: int = 15) -> tuple[Table, int]:
    """The first and last rows of a long table with a row of dots between them, and how many rows that hides.

    >>> short, hidden = folded(Table([("n", "")], [[str(n)] for n in range(100)]), 40, 2)
    >>> [row[0] for row in short.rows], hidden
    (['0', '1', '…', '98', '99'], 96)
    """
    if len(table.rows) <= most:
        return table, 0
    dots = ["…"] * len(table.headings)
    return Table(table.headings, [*table.rows[:ends], dots, *table.rows[-ends:]]), len(table.rows) - 2 * ends


def equal_seeds(sweep: SweepResult, metrics: list[str]) -> str | None:
    """What to remark where the seeds of a point gave one value and an interval of ± 0 would look like precision."""
    if sweep.manifest["replications"] < 2:
        return None
    pairs = [(row[m], row[f"{m} ±"]) for row in sweep.table(metrics).iter_rows(named=True) for m in metrics]
    pairs = [(value, half) for value, half in pairs if value is not None and half is not None]
    equal = [value for value, half in pairs if is_equal(value, half)]
    seeds = f"all {sweep.manifest['replications']} seeds"
    if pairs and len(equal) == len(pairs):
        why = "nothing random in this scenario affects them (start times, losses, sizes), so more seeds add nothing"
        return f"no ±: {seeds} gave the same values; {why}"
    return f"a value without ± was the same under {seeds}" if any(equal) else None


def is_equal(value: float | None, half: float | None) -> bool:
    """True if the seeds differ by no more than the rounding of their mean."""
    return value is not None and half is not None and half <= 1e-9 * abs(value)


def first_metrics(sweep: SweepResult) -> list[str]:
    """The default columns of a sweep's table: metrics that the applications of up to four groups notice, then metrics of the run."""
    return _telling(sweep, usual_metrics(sweep))


def usual_metrics(sweep: SweepResult) -> list[str]:
    """The same with those that are the same at every point."""
    first = _felt_in(sweep)
    others = [m for m in _SWEEP if m in sweep.metrics]
    return [*first, *others[: max(1, 4 - len(first))]]


def _telling(sweep: SweepResult, metrics: list[str]) -> list[str]:
    """Metrics without those that are the same at every point; the first, if all are."""
    same = same_everywhere(sweep, metrics)
    return [m for m in metrics if m not in same] or metrics[:1]


def report_metrics(sweep: SweepResult) -> list[str]:
    """What the report of a sweep shows and draws."""
    return _telling(sweep, [*_felt_in(sweep), *(m for m in _SWEEP if m in sweep.metrics)])


def _felt_in(sweep: SweepResult) -> list[str]:
    """Metrics of QoE of a sweep: of the run, if there is one group, else of up to four groups, those that wait for answers first."""
    groups: dict[str, list[str]] = {}
    for metric in sweep.metrics:
        if metric.startswith("group."):
            name, end = metric.removeprefix("group.").rsplit(".", 1)
            groups.setdefault(name, []).append(end)
    if len(groups) < 2:
        first = qoe.of_group(m for m in sweep.metrics if "." not in m)
        first = _without_equal(first, list(sweep.values(*first).iter_rows(named=True)))
        return list(dict.fromkeys([*first, *_of_unfinished(sweep)]))
    each = 2 if len(groups) < 3 else 1
    # Whoever waits notices a change before a bulk transfer does: the first metric is the one by which points are compared.
    ordered = sorted(groups.items(), key=lambda one: qoe.ORDER.index(qoe.kind(one[1])))
    chosen = [f"group.{name}.{m}" for name, ends in ordered[:4] for m in qoe.of_group(ends)[:each]]
    return [*chosen, *_of_unfinished(sweep)]


def _of_unfinished(sweep: SweepResult) -> list[str]:
    """What a table shows in addition to completion times where not every run finished the same number of transfers."""
    if "completed_flows" not in sweep.metrics:
        return []
    done = sweep.values("completed_flows")["completed_flows"].drop_nulls()
    if (done == 0).any():
        return ["completed_flows", "goodput_bps"]
    return ["completed_flows"] if done.n_unique() > 1 else []


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
    """All flows if they are few; else, of each kind of application, those that its users find worst, those around the median, and the
    best."""
    flows: list[dict[str, Any]] = result.summary["flows"]
    if len(flows) <= _FEW:
        return flows
    like = list(qoe.like(flows).values())
    each = max(1, 3 // len(like))
    chosen: list[dict[str, Any]] = []
    for ordered in like[:_KINDS]:
        middle = len(ordered) // 2
        picked = (
            *ordered[:each], *ordered[max(0, middle - each // 2) : middle + (each + 1) // 2], *ordered[-each:],
        )  # fmt: skip
        chosen += list({flow["id"]: flow for flow in picked}.values())
    return chosen


def groups_differ_from_flows(result: Result) -> bool:
    """Whether a table of groups adds something to those of the run and of the flows: several groups, not all of one flow."""
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


#: Counts of a flow's whole run, in words.
_COUNTS = {"lost_packets": "lost packet", "retransmitted_packets": "retransmission", "timeouts": "timeout"}


def whole_run_text(result: Result) -> str:
    """What all flows have counted from the start of the run on, where a part of it is not measured; empty where all is."""
    whole = [flow["whole_run"] for flow in result.summary["flows"] if flow.get("whole_run")]
    if not whole:
        return ""
    sums = {name: sum(int(counts.get(name) or 0) for counts in whole) for name in _COUNTS}
    parts = ", ".join(counted(sums[name], word) for name, word in _COUNTS.items())
    warmup = quantity(result.summary["warmup_s"], "s")
    return f"The tables leave out the warm-up of {warmup}. The whole run has {parts}."
