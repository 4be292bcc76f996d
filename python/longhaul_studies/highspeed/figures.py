"""The study's figures with its axes: medians as lines, runs as points, (a) RED and (b) DropTail side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from longhaul.plots.style import COLOURS, DASHES
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Circle
from matplotlib.ticker import MaxNLocator

from ..drawing import need, panels, try_line
from ..model import Figure
from ..results import Metric, NotRun, Results, Row, Table
from .measures import (
    HSTCP,
    PERTURBATIONS,
    REGTCP,
    event_rate,
    events,
    flow_fairness,
    relative_fairness,
    sending_rate,
    total_event_rate,
    total_utilisation,
    utilisation,
)  # fmt: skip
from .scenarios import PIPE, QUEUES, THEORY
from .targets import isolated, sets, streams, theory

Values = dict[Any, list[float]]
_PANEL = {"red": "(a) RED", "droptail": "(b) DropTail"}
_LU, _CER = "link utilisation (%)", "congestion event rate"
_N, _P, _LOSS = "number of flows", "number of perturbations", "link loss rate"
_ALL = "number of flows (1 HSTCP, others REGTCP)"
#: Inches for a legend next to a single panel.
_LEGEND = 2.0
#: Line numbers, so that a kind of flow looks the same in every figure.
_OF = {HSTCP: 0, REGTCP: 1, "total": 2, PERTURBATIONS: 3, "other": 5}


def _axes(axes: Axes, x: str, y: str | None, *, log_x: bool = False, log_y: bool = False, legend: bool = True) -> None:
    axes.set_xlabel(x)
    if y:
        axes.set_ylabel(y)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        _leave_zeros_out(axes)
        axes.set_yscale("log")
    if x in (_N, _P, _ALL) and not log_x:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if legend and axes.get_legend_handles_labels()[0]:
        axes.legend(handlelength=3)


def _leave_zeros_out(axes: Axes) -> None:
    """Values of 0 have no place on a logarithmic axis: a gap instead of a line that falls off it, and a remark."""
    found = False
    for drawn in axes.lines:
        if drawn.get_transform() != axes.transData:  # a line across the panel
            continue
        y = np.asarray(drawn.get_ydata(), dtype=float)
        found |= bool((y <= 0).any())
        drawn.set_ydata(np.where(y > 0, y, np.nan))
    if found:
        axes.text(0.02, 0.03, "values of 0 are not shown", transform=axes.transAxes, fontsize=7)


def _capacity(axes: Axes) -> None:
    """The window that fills the link and leaves its queue empty."""
    axes.axhline(PIPE, color="gray", linestyle=":", label=f"capacity of the link,\n{PIPE} packets")


#: How a value of the study is drawn where it is a level: dotted, and closer than a curve.
_DOTS = (0, (1, 1.5))


def _crosses(axes: Axes, said: str, *points: tuple[float, float]) -> None:
    """Points that the study prints."""
    x, y = zip(*points, strict=True)
    axes.plot(
        x,
        y,
        "x",
        color="black",
        markersize=8,
        markeredgewidth=2,
        linestyle="none",
        zorder=5,
        label=f"the study: {said}",
    )


def _at(axes: Axes, said: str, x: float, colour: str = "0.25") -> None:
    """A place on the axis that the study prints."""
    axes.axvline(x, color=colour, linestyle=_DOTS, linewidth=1.5, label=f"the study: {said}")


def _level(axes: Axes, said: str, y: float, colour: str = "0.25") -> None:
    """A level that the study prints."""
    axes.axhline(y, color=colour, linestyle=_DOTS, linewidth=1.5, label=f"the study: {said}")


def _level_between(axes: Axes, said: str, x: tuple[float, float], y: float, colour: str = "0.25") -> None:
    """A level that the study prints for a part of the axis."""
    axes.plot(x, [y, y], color=colour, linestyle=_DOTS, linewidth=2.2, label=f"the study: {said}")


#: What marks the study's values in panels, by the kind of queue; drawn after the curves.
Marks = Callable[[Axes, str], None]


def _over_time(figure: Drawing, axes: Axes, y: str) -> Drawing:
    """Axes of a single panel over time; curves fill the panel, so the legend is next to it."""
    _axes(axes, "time (s)", y, legend=False)
    figure.set_figwidth(figure.get_figwidth() + _LEGEND)
    _legend(figure, [axes])
    return figure


def _legend(figure: Drawing, all_axes: Sequence[Axes]) -> None:
    """One legend for all panels, next to them."""
    found: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside right upper", handlelength=3)


def _both_queues(
    plot: Callable[[Axes, str], Sequence[bool]], x: str, y: str, *, log_x: bool = False, log_y: bool = False,
    limits: tuple[float, float] | None = None, queues: Sequence[str] = QUEUES, marks: Marks | None = None,
) -> Drawing:  # fmt: skip
    """Panels (a) RED and (b) DropTail of the same plot."""
    figure, all_axes = panels(len(queues))
    drawn: list[bool] = []
    for number, (axes, queue) in enumerate(zip(all_axes, queues, strict=True)):
        drawn += plot(axes, queue)
        if marks:
            marks(axes, queue)
        if len(queues) > 1:
            axes.set_title(_PANEL[queue])
        if limits:
            axes.set_ylim(*limits)
        _axes(axes, x, None if number else y, log_x=log_x, log_y=log_y, legend=False)
    need(drawn)
    if marks or len(queues) == 1:
        figure.set_figwidth(figure.get_figwidth() + (_LEGEND if len(queues) == 1 else 1))
    _legend(figure, all_axes)
    return figure


def _one_panel(
    curves: Mapping[str, Callable[[], Values]], x: str, y: str, *, log_x: bool = False, log_y: bool = False,
    marks: Callable[[Axes], None] | None = None,
) -> Drawing:  # fmt: skip
    """Curves in one panel, by their label."""
    figure, (axes,) = panels()
    drawn = [try_line(axes, values, label, number) for number, (label, values) in enumerate(curves.items())]
    need(drawn)
    few = len(curves) <= 3 and not marks
    if marks:
        marks(axes)
    _axes(axes, x, y, log_x=log_x, log_y=log_y, legend=few)
    if not few:
        figure.set_figwidth(figure.get_figwidth() + _LEGEND)
        _legend(figure, [axes])
    return figure


def _queues_compared(values: Callable[[str], Values], x: str, y: str, **how: Any) -> Drawing:
    """One panel with a line for RED and one for DropTail."""
    return _one_panel({"RED": lambda: values("red"), "DT": lambda: values("droptail")}, x, y, **how)


# --- E0


def sawtooth(_: Results) -> Drawing:
    """Figure 2.1: AIMD, as a sketch."""
    figure, (axes,) = panels()
    axes.plot([0, 1, 1, 2, 2, 3, 3], [1, 2, 1, 2, 1, 2, 1], color="black")
    axes.set_xticks([])
    axes.set_yticks([1, 2], ["W/2", "W"])
    _axes(axes, "time", "cwnd")
    return figure


def response_functions(_: Results) -> Drawing:
    """Figure 3.1."""
    figure, (axes,) = panels()
    p = np.logspace(-10, -1, 200)
    axes.plot(p, [theory.standard_window(x) for x in p], "--", color="black", label="standard TCP, 1.2/√p")
    axes.plot(p, [THEORY.window(x) for x in p], "-", color="black", label="HighSpeed TCP")
    _capacity(axes)
    _crosses(axes, "meets it at about 1e-6", (1e-6, PIPE))
    _axes(axes, "loss rate p", "window W (packets)", log_x=True, log_y=True)
    return figure


def parameters(_: Results) -> Drawing:
    """Figure 3.2."""
    figure, (axes,) = panels()
    p = np.logspace(-8, -2, 50)
    axes.plot(p, [THEORY.window(x) for x in p], color="black", label=f"slope S = {THEORY.slope:.3f}")
    points = {
        "(Low_P, Low_Window)": (THEORY.low_p, THEORY.low_window),
        "(High_P, High_Window)": (THEORY.high_p, THEORY.high_window),
    }
    for name, (x, y) in points.items():
        axes.plot([x], [y], "o", color="black")
        axes.annotate(name, (x, y), textcoords="offset points", xytext=(6, 4), fontsize=8)
    _axes(axes, "loss rate p", "window W (packets)", log_x=True, log_y=True)
    return figure


def topology(_: Results) -> Drawing:
    """Figure 5.1."""
    figure, (axes,) = panels()
    axes.set_axis_off()
    axes.set_xlim(0, 10)
    axes.set_ylim(0, 6)
    for side, router in ((1, 3.5), (9, 6.5)):
        for i in range(5):
            axes.plot([side, router], [1 + i, 3], color="gray", linewidth=0.8)
            axes.add_patch(Circle((side, 1 + i), 0.22, facecolor="white", edgecolor="black"))
    axes.plot([3.5, 6.5], [3, 3], color="black", linewidth=2.5)
    for x, name in ((3.5, "N1"), (6.5, "N2")):
        axes.add_patch(Circle((x, 3), 0.42, facecolor="white", edgecolor="black", zorder=3))
        axes.text(x, 3, name, ha="center", va="center", zorder=4)
    axes.text(5, 3.3, "1 Gbit/s, 50 ms", ha="center", fontsize=8)
    axes.text(5, 2.4, "buffers: 8333 packets", ha="center", fontsize=8)
    axes.text(0.6, 0.3, "end nodes with small flows and web traffic; long flows are between N1 and N2", fontsize=7.5)
    return figure


def red_probability(_: Results) -> Drawing:
    """Figure 7.1, with the thresholds that are in force here."""
    figure, (axes,) = panels()
    axes.plot([0, 625, 1875, 3750], [0, 0, 0.1, 1], color="black")
    axes.set_xticks([625, 1875, 3750], ["min_th", "max_th", "2 max_th"])
    axes.set_yticks([0, 0.1, 1], ["0", "max_p", "1"])
    _axes(axes, "average queue (packets)", "probability of a mark")
    return figure


# --- over time


def _trace(axes: Axes, row: Row, label: str, number: int, flow: int = 0) -> None:
    found = isolated.trace(row, flow)
    axes.plot(
        found.time,
        found.cwnd,
        color=COLOURS[number],
        linestyle=DASHES[number] if number else "-",
        linewidth=1.0,
        label=label,
    )


def isolated_flows(results: Results) -> Drawing:
    """Figure 6.1."""

    def plot(axes: Axes, queue: str) -> list[bool]:
        drawn = []
        for kind, label in ((HSTCP, "HSTCP"), (REGTCP, "REGTCP")):
            try:
                _trace(axes, isolated.alone(results, kind, queue), label, _OF[kind])
                drawn.append(True)
            except NotRun:
                drawn.append(False)
        _capacity(axes)
        return drawn

    return _both_queues(plot, "time (s)", "cwnd (packets)", marks=_times_to_fill)


def _times_to_fill(axes: Axes, queue: str) -> None:
    # With DropTail a standard flow is not below the limit after 43 s: the study's times are those of RED.
    if queue == "red":
        _at(axes, "HSTCP fills it before 50 s", 50, COLOURS[_OF[HSTCP]])
        _crosses(axes, "REGTCP fills it at about 300 s", (300, PIPE))


def one_hour(results: Results) -> Drawing:
    """Figure 6.26."""
    row = results["E7"].where()[0]
    figure, (axes,) = panels()
    _trace(axes, row, "HSTCP", 0, 0)
    _trace(axes, row, "REGTCP", 1, 1)
    return _over_time(figure, axes, "cwnd (packets)")


def slow_start(results: Results) -> Drawing:
    """Figure 6.38."""
    figure, (axes,) = panels()
    for number, threshold in enumerate((0, 10, 100, 1000)):
        _trace(axes, isolated.start(results, threshold), _threshold(threshold), number)
    _crosses(axes, "table 6.1", (1.30, 33_032.0), (63.75, 9_919.98), (20.75, 9_979.66), (3.55, 12_726.2))
    return _over_time(figure, axes, "cwnd (packets)")


def sequence_numbers(results: Results) -> Drawing:
    """Figure 6.39."""
    figure, (axes,) = panels()
    for number, threshold in enumerate((0, 10, 100, 1000)):
        time, packets = isolated.sequence(isolated.start(results, threshold))
        axes.plot(time, packets, color=COLOURS[number], linestyle=DASHES[number], label=_threshold(threshold))
    return _over_time(figure, axes, "sequence number (packets)")


def _threshold(threshold: int) -> str:
    return f"MAX_SSTHRESH {threshold}" if threshold else "standard slow start"


def sack_defect(results: Results) -> Drawing:
    """Figure 7.2."""
    figure, (axes,) = panels()
    _trace(axes, results["E12"].where(bug=True)[0], "with the defect", 0)
    _trace(axes, results["E12"].where(bug=False)[0], "without", 1)
    _capacity(axes)
    return _over_time(figure, axes, "cwnd (packets)")


# --- sets: E2, E3, E4, E6


def _with_red(mark: Callable[..., None], *said: Any) -> Marks:
    """A mark in the panel of RED alone."""
    return lambda axes, queue: mark(axes, *said) if queue == "red" else None


def _full_from(axes: Axes, _: str) -> None:
    _at(axes, "HSTCP fills it from 6 flows", 6, COLOURS[_OF[HSTCP]])
    _at(axes, "REGTCP from 20 or more", 20, COLOURS[_OF[REGTCP]])


def _knees(axes: Axes, _: str) -> None:
    _at(axes, "knee beyond 6 HSTCP flows", 6, COLOURS[_OF[HSTCP]])
    _at(axes, "knee beyond 30 REGTCP flows", 30, COLOURS[_OF[REGTCP]])


def _floors(axes: Axes, queue: str) -> None:
    level = {"red": 1e-5, "droptail": 1e-4}[queue]
    _level(axes, "HSTCP's floor, 1e-5 with\nRED and 1e-4 with DT", level, COLOURS[_OF[HSTCP]])


def lossy(results: Results) -> Drawing:
    """Figure 6.8."""
    figure = _homogeneous("E3", utilisation, "loss", _LOSS, _LU, limits=(0, 105), **_LOG, **_RED_ONLY)(results)
    axes = figure.axes[0]
    _level_between(axes, "REGTCP below 50 %", (1e-5, 1e-4), 50, COLOURS[_OF[REGTCP]])
    try:
        standard = sets.series(results["E3"], REGTCP, "red", "loss")
        said = "HSTCP almost twice\nREGTCP's (twice what it has here)"
        _crosses(axes, said, *((p, 2 * standard[p]) for p in (1e-5, 1e-4)))
    except NotRun:
        pass
    return _legend_again(figure)


def _legend_again(figure: Drawing) -> Drawing:
    """The legend with what was drawn after it."""
    for legend in list(figure.legends):
        legend.remove()
    _legend(figure, figure.axes)
    return figure


def _homogeneous(
    experiment: str, metric: Callable[[str], Metric], over: str, x: str, y: str, **how: Any
) -> Callable[[Results], Drawing]:
    """A metric of set 1 (HSTCP) and of set 2 (REGTCP)."""

    def draw(results: Results) -> Drawing:
        def plot(axes: Axes, queue: str) -> list[bool]:
            return [
                try_line(
                    axes,
                    partial(results[experiment].spread, metric(kind), over, set=kind, queue=queue),
                    kind.upper(),
                    _OF[kind],
                )
                for kind in (HSTCP, REGTCP)
            ]

        return _both_queues(plot, x, y, **how)

    return draw


def _shares(
    experiment: str, over: str, x: str, *, perturbations: bool = False, **how: Any
) -> Callable[[Results], Drawing]:
    """Utilisation of both kinds and of all in set 3."""
    curves: dict[str, tuple[str, Metric]] = {
        "HSTCP": (HSTCP, utilisation(HSTCP)), "REGTCP": (REGTCP, utilisation(REGTCP)), "total": ("total", total_utilisation),
    }  # fmt: skip
    if perturbations:
        curves["perturbations"] = (PERTURBATIONS, utilisation(PERTURBATIONS))

    def draw(results: Results) -> Drawing:
        def plot(axes: Axes, queue: str) -> list[bool]:
            return [
                try_line(
                    axes,
                    partial(results[experiment].spread, metric, over, set="mixed", queue=queue),
                    label,
                    _OF[kind],
                )
                for label, (kind, metric) in curves.items()
            ]

        return _both_queues(plot, x, _LU, limits=(0, 105), **how)

    return draw


def _extremes(axes: Axes) -> None:
    _level(axes, "runs above 35", 35)
    _level(axes, "with DT above 20", 20, COLOURS[1])


def _with_bursts(axes: Axes) -> None:
    most = max(float(x) for drawn in axes.lines for x in np.asarray(drawn.get_xdata()))
    for level in (10, 15):
        _level_between(axes, "10 to 15 with DT", (0, most), level, COLOURS[1])
    _level_between(axes, "about 5 with RED", (0, most), 5, COLOURS[0])


def _fairness(experiment: str, over: str, x: str, **how: Any) -> Callable[[Results], Drawing]:
    return lambda results: _queues_compared(
        lambda queue: results[experiment].spread(relative_fairness, over, set="mixed", queue=queue),
        x,
        "relative fairness HSTCP/REGTCP",
        **how,
    )


def _stolen(experiment: str, over: str, x: str, **how: Any) -> Callable[[Results], Drawing]:
    def values(table: Table, queue: str) -> Values:
        return {at: [value] for at, value in sets.stolen(table, queue, over).items()}

    return lambda results: _queues_compared(
        lambda queue: values(results[experiment], queue), x, "bandwidth stolen (% points)", **how
    )


def perturbed(results: Results) -> Drawing:
    """Figure 6.13."""

    def plot(axes: Axes, queue: str) -> list[bool]:
        table, drawn = results["E4"], []
        for number, kind in enumerate((HSTCP, REGTCP)):
            drawn.append(
                try_line(
                    axes, partial(table.spread, utilisation(kind), "p", set=kind, queue=queue), kind.upper(), _OF[kind]
                )
            )
            label = f"perturbations with {kind.upper()}"
            drawn.append(
                try_line(
                    axes,
                    partial(table.spread, utilisation(PERTURBATIONS), "p", set=kind, queue=queue),
                    label,
                    3 + number,
                    unfilled=True,
                )
            )
        return drawn

    marks = _with_red(_level, "perturbations below 10 %", 10)
    return _both_queues(plot, _P, _LU, limits=(0, 105), marks=marks)


# --- E5

#: The number of all flows at which one HSTCP flow has as much as the others together: 6 and 13 standard ones, and itself.
CROSSINGS = {"red": 7, "droptail": 14}


def crosspoint(results: Results) -> Drawing:
    """Figure 6.19."""
    curves: dict[str, tuple[str, Metric]] = {
        "1 HSTCP": (HSTCP, utilisation(HSTCP)), "all REGTCP": (REGTCP, utilisation(REGTCP)), "total": ("total", total_utilisation),
    }  # fmt: skip

    def plot(axes: Axes, queue: str) -> list[bool]:
        return [
            try_line(axes, partial(_over_total, results["E5"], metric, queue), label, _OF[kind])
            for label, (kind, metric) in curves.items()
        ]

    def marks(axes: Axes, queue: str) -> None:
        _at(axes, "equal at 7 flows with\nRED, at 14 with DT", CROSSINGS[queue])

    return _both_queues(plot, _ALL, _LU, limits=(0, 105), marks=marks)


def crosspoint_fairness(results: Results) -> Drawing:
    """Figure 6.20."""

    def marks(axes: Axes) -> None:
        axes.axhline(1, color="gray", linewidth=0.8)
        _crosses(axes, "1 at 7 flows with\nRED, at 14 with DT", *((flows, 1) for flows in CROSSINGS.values()))

    return _queues_compared(
        lambda queue: _over_total(results["E5"], relative_fairness, queue), _ALL, "relative fairness HSTCP/all REGTCP", marks=marks,
    )  # fmt: skip


def _over_total(table: Table, metric: Metric, queue: str) -> Values:
    """Over the number of all flows, the one of HSTCP included, as the paper's axis is."""
    return {1 + n: runs for n, runs in table.spread(metric, "n", queue=queue).items()}


# --- E8, E9, E10


def response_measured(results: Results) -> Drawing:
    """Figure 6.27."""
    table = results["E8"]
    curves = {
        _competitor(name): partial(
            table.spread, sending_rate(HSTCP if name == "hstcp" else REGTCP), "loss", transfer=name, queue="red"
        )
        for name in table.points("transfer", queue="red")
    }
    figure = _one_panel(curves, _LOSS, "sending rate (packets/RTT)", log_x=True, log_y=True)
    figure.axes[0].axhline(PIPE, color="gray", linewidth=0.8)
    return figure


def response_theory(_: Results) -> Drawing:
    """Figure 6.28."""
    figure, (axes,) = panels()
    p = np.logspace(-8, -2, 100)
    for number, n in enumerate((1, 4, 7, 10)):
        axes.plot(
            p,
            [theory.stream_window(n, x) for x in p],
            color=COLOURS[number],
            linestyle=DASHES[number],
            label=_competitor(str(n)),
        )
    axes.plot(p, [theory.highspeed_window(x) for x in p], color="black", linewidth=2, label="HSTCP")
    axes.axhline(PIPE, color="gray", linewidth=0.8)
    _axes(axes, "loss rate", "sending rate (packets/RTT)", log_x=True, log_y=True)
    return figure


def fairness_theory(_: Results) -> Drawing:
    """Figure 6.29."""
    figure, (axes,) = panels()
    p = np.logspace(-8, -2, 100)
    for number, n in enumerate((1, 4, 7, 10)):
        axes.plot(p, [n] * len(p), color=COLOURS[number], linestyle=DASHES[number], label=_competitor(str(n)))
    ratio = [theory.highspeed_window(x) / theory.standard_window(x) for x in p]
    axes.plot(p, ratio, color="black", linewidth=2, label="HSTCP")
    _crosses(axes, "table 3.3", *((loss, fair) for loss, _, _, fair in theory.TABLE_3_2 if loss >= 1e-8))
    _axes(axes, "loss rate", "fairness to one standard stream", log_x=True, log_y=True)
    return figure


def _beside_ten(
    experiment: str, metric: Callable[[str], Metric], over: str, x: str, y: str, *, baseline: bool = False, **how: Any
) -> Callable[[Results], Drawing]:
    """A metric by competitor of the ten standard flows."""

    def draw(results: Results) -> Drawing:
        table = results[experiment]
        # A competitor looks the same in both panels, of which one may lack some.
        names = [name for name in table.points("competitor") if baseline or name != "none"]

        def plot(axes: Axes, queue: str) -> list[bool]:
            return [
                try_line(
                    axes,
                    partial(table.spread, metric(name), over, competitor=name, queue=queue),
                    _competitor(name),
                    number,
                )
                for number, name in enumerate(names)
                if table.has(competitor=name, queue=queue)
            ]

        return _both_queues(plot, x, y, **how)

    return draw


def _competitor(name: str) -> str:
    return {"none": "no competitor", "hstcp": "HSTCP", "1": "1 stream"}.get(name, f"{name} streams")


def stolen_from_ten(results: Results) -> Drawing:
    """Figure 6.37."""
    table = results["E10"]

    def plot(axes: Axes, queue: str) -> list[bool]:
        def values(name: str) -> Values:
            return {p: [value] for p, value in streams.stolen(table, name, queue).items()}

        return [
            try_line(axes, partial(values, name), _competitor(name), number)
            for number, name in enumerate(streams.competitors(table))
        ]

    return _both_queues(plot, _P, "bandwidth stolen (% points)")


def _of_ten(_: str) -> Metric:
    return utilisation(REGTCP)


def _of_competitor(name: str) -> Metric:
    return utilisation(streams.group_of(name))


def _per_flow(name: str) -> Metric:
    return flow_fairness(streams.group_of(name))


def _link_rate(_: str) -> Metric:
    return total_event_rate


def _absolute(kind: str) -> Metric:
    return lambda row: events(row, kind)


_RED_ONLY: dict[str, Any] = {"queues": ("red",)}
_LOG = {"log_x": True}
_LOGLOG = {"log_x": True, "log_y": True}
E1, E2, E3, E4, E5, E6, E7, E8, E9, E10, E11, E12 = (((f"E{i}"),) for i in range(1, 13))

FIGURES = (
    Figure("2.1", "Additive increase, multiplicative decrease", "A sketch: the window gains one packet in each round trip and is halved at a loss.", sawtooth),
    Figure("3.1", "Response functions", "HighSpeed TCP leaves standard TCP's line at a loss rate of 1e-3 and meets the link's capacity at about 1e-6.", response_functions),
    Figure("3.2", "Parameters of HighSpeed TCP", "Two points on a log-log scale define the response function.", parameters),
    Figure("5.1", "Topology", "A dumbbell; RTT 100 ms for the long flows.", topology),
    Figure("6.1", "cwnd of one flow alone", "The study: HSTCP reaches the limit before 50 s, REGTCP at about 300 s (marked with RED); windows are larger with DT.", isolated_flows, E1, one_run=True),
    Figure("6.2", "Utilisation of sets of one kind", "The study: HSTCP fills the link with few flows, REGTCP needs many.", _homogeneous("E2", utilisation, "n", _N, _LU, limits=(0, 105), marks=_with_red(_at, "not full with fewer\nthan 10 REGTCP flows", 10, COLOURS[_OF[REGTCP]]), **_RED_ONLY), E2),
    Figure("6.3", "Congestion event rate of sets of one kind", "The study: HSTCP's is clearly higher, and DT's higher than RED's.", _homogeneous("E2", event_rate, "n", _N, _CER, log_y=True, marks=_with_red(_level, "HSTCP never below 1e-6", 1e-6, COLOURS[_OF[HSTCP]])), E2),
    Figure("6.4", "Utilisation in mixed sets", "The study: HSTCP's share falls with N, REGTCP's rises, the total stays.", _shares("E2", "n", _N), E2),
    Figure("6.5", "Congestion event rate in mixed sets", "The study: it rises with N.", lambda r: _queues_compared(lambda q: r["E2"].spread(total_event_rate, "n", set="mixed", queue=q), _N, _CER, log_y=True), E2),
    Figure("6.6", "Relative fairness in mixed sets", "The study: it falls with N; widely spread at small N, larger with DT.", _fairness("E2", "n", _N, marks=_extremes), E2),
    Figure("6.7", "Bandwidth stolen", "The study: it falls with N; larger with DT.", _stolen("E2", "n", _N), E2),
    Figure("6.8", "Utilisation over a lossy link", "The study: REGTCP loses strongly; HSTCP has about double between 1e-5 and 1e-4; no difference beyond 1e-3.", lossy, E3),
    Figure("6.9", "Congestion event rate over a lossy link", "The study: HSTCP's has a floor of about 1e-5 with RED and 1e-4 with DT.", _homogeneous("E3", event_rate, "loss", _LOSS, _CER, marks=_floors, **_LOGLOG), E3),
    Figure("6.10", "Utilisation of mixed sets over a lossy link", "The study: the gap shrinks as loss grows.", _shares("E3", "loss", _LOSS, **_LOG), E3),
    Figure("6.11", "Relative fairness over a lossy link", "The study: it falls as loss grows.", _fairness("E3", "loss", _LOSS, **_LOG), E3),
    Figure("6.12", "Bandwidth stolen over a lossy link", "The study: about zero above 1e-4.", _stolen("E3", "loss", _LOSS, marks=lambda axes: _at(axes, "nothing above 1e-4", 1e-4), **_LOG), E3),
    Figure("6.13", "Utilisation under perturbations", "The study: with RED HSTCP falls slowly and REGTCP fast; with DT HSTCP is almost immune.", perturbed, E4),
    Figure("6.14", "Congestion event rate under perturbations", "The study: with RED it rises; with DT HSTCP's is nearly constant and REGTCP's has two levels.", _homogeneous("E4", event_rate, "p", _P, _CER, log_y=True), E4),
    Figure("6.15", "Congestion events (drops and marks)", "The study: REGTCP has fewer than HSTCP.", _homogeneous("E4", _absolute, "p", _P, "congestion events", **_RED_ONLY), E4),
    Figure("6.16", "Utilisation of mixed sets under perturbations", "The study: REGTCP is low and hardly depends on P.", _shares("E4", "p", _P, perturbations=True), E4),
    Figure("6.17", "Relative fairness under perturbations", "The study: 10 to 15 with DT, about 5 with RED.", _fairness("E4", "p", _P, marks=_with_bursts), E4),
    Figure("6.18", "Bandwidth stolen under perturbations", "The study: it falls with P; larger with DT.", _stolen("E4", "p", _P), E4),
    Figure("6.19", "One HSTCP flow against many REGTCP flows", "The study: the lines cross at 7 flows with RED and at 14 with DT.", crosspoint, E5),
    Figure("6.20", "Relative fairness of one HSTCP flow to all REGTCP flows", "The study: it passes 1 at the crossings.", crosspoint_fairness, E5),
    Figure("6.21", "Utilisation at a loss rate of 1e-5", "The study: HSTCP needs 6 flows for the whole link, REGTCP 20 or more.", _homogeneous("E6", utilisation, "n", _N, _LU, limits=(0, 105), marks=_full_from, **_RED_ONLY), E6),
    Figure("6.22", "Congestion event rate at a loss rate of 1e-5", "The study: its knee is at the full link.", _homogeneous("E6", event_rate, "n", _N, _CER, log_y=True, marks=_knees), E6),
    Figure("6.23", "Utilisation of mixed sets at a loss rate of 1e-5", "The study: HSTCP falls with N under RED, and is constant or slightly rising under DT.", _shares("E6", "n", _N), E6),
    Figure("6.24", "Relative fairness at a loss rate of 1e-5", "The study: it rises with N under DT and falls under RED.", _fairness("E6", "n", _N), E6),
    Figure("6.25", "Bandwidth stolen at a loss rate of 1e-5", "The study: it rises with N under DT and falls under RED.", _stolen("E6", "n", _N), E6),
    Figure("6.26", "cwnd of one flow of each kind for an hour", "The study: both stay at their levels.", one_hour, E7, one_run=True),
    Figure("6.27", "Response functions, simulated (RED)", "The study: they follow figure 6.28 up to the link's capacity.", response_measured, E8),
    Figure("6.28", "Response functions, theory", "At very low loss one HSTCP flow beats parallel streams.", response_theory),
    Figure("6.29", "Fairness to one standard stream, theory", "n streams have n times its rate; HSTCP's advantage grows as loss falls.", fairness_theory),
    Figure("6.30", "Utilisation of ten REGTCP flows with a competitor, lossy link", "The study: unaffected until the link is full.", _beside_ten("E9", _of_ten, "loss", _LOSS, _LU, baseline=True, **_LOG), E9),
    Figure("6.31", "Utilisation of the competitor, lossy link", "The study: constant once the link is full, at a level set by n.", _beside_ten("E9", _of_competitor, "loss", _LOSS, _LU, **_LOG), E9),
    Figure("6.32", "Congestion event rate, lossy link", "The study: it rises strongly at high loss.", _beside_ten("E9", _link_rate, "loss", _LOSS, _CER, baseline=True, **_LOGLOG), E9),
    Figure("6.33", "Fairness of the competitor to one REGTCP flow, lossy link", "The study: n for n streams; HSTCP's is about 1 at 1e-3 and 5 at 1e-5.", _beside_ten("E9", _per_flow, "loss", _LOSS, "fairness to one flow", marks=_with_red(_crosses, "HSTCP about 1 at\n1e-3, 5 at 1e-5", (1e-3, 1), (1e-5, 5)), **_LOGLOG), E9),
    Figure("6.34", "Utilisation of ten REGTCP flows with a competitor, perturbations", "The study: it falls with P.", _beside_ten("E10", _of_ten, "p", _P, _LU, baseline=True), E10),
    Figure("6.35", "Utilisation of the competitor, perturbations", "The study: with RED parallel streams fall with P and HSTCP improves; with DT both are nearly constant.", _beside_ten("E10", _of_competitor, "p", _P, _LU), E10),
    Figure("6.36", "Fairness of the competitor to one REGTCP flow, perturbations", "The study: nearly constant for streams; HSTCP's rises with RED and is scattered with DT.", _beside_ten("E10", _per_flow, "p", _P, "fairness to one flow", log_y=True), E10),
    Figure("6.37", "Bandwidth stolen from ten REGTCP flows", "The study: it falls with P for every scheme.", stolen_from_ten, E10),
    Figure("6.38", "cwnd by MAX_SSTHRESH", "The study: 10 takes over a minute, 100 is the compromise. Crosses: the end of slow start in table 6.1.", slow_start, E11, one_run=True),
    Figure("6.39", "Sequence number by MAX_SSTHRESH", "The study: the losses of standard slow start delay progress.", sequence_numbers, E11, one_run=True),
    Figure("7.1", "RED's probability", "Gentle: from max_p to 1 between max_th and twice that.", red_probability),
    Figure("7.2", "The SACK defect at large windows", "The study: every loss cuts the window twice.", sack_defect, E12, one_run=True),
)  # fmt: skip
