"""The thesis's figures with its axes (4.2, 4.4 to 4.13), and those that it does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from ..drawing import MARKERS, line, need, panels, try_line
from ..model import Figure
from ..results import NotRun, Results, Row
from . import measures, practical
from .grids import RIVALS
from .tables import APPENDIX_1, APPENDIX_2, CHOSEN, PROTOCOLS, Counted
from .targets import version

_NAMES = {"reno": "Reno", "vegas": "Vegas", "sttp": "STTP, 0.9 after a timeout", "sttp half": "STTP (judged)"}
#: Protocols in the order in which they are drawn: the judged version has the marker of the thesis's STTP.
_DRAWN = ("reno", "vegas", CHOSEN, "sttp")
_MB = 1e6


def _intervals(results: Results) -> Drawing:
    """Figure 4.2: a group of bars for each reporting interval, one for each connection."""
    drawing, axes = panels(3)
    for panel, protocol in zip(axes, ("reno", "sttp", "sttp half"), strict=True):
        row = results["functional"].where(protocol=protocol)[0]
        for flow in range(6):
            counts = measures.sent_by_source(row, flow)
            panel.bar(np.arange(len(counts)) + 1 + 0.13 * (flow - 2.5), counts, 0.13, label=f"source {flow + 1}")
        panel.set_title(_NAMES[protocol])
        panel.set_xlabel("reporting interval of 10 s")
        panel.set_ylabel("packets sent")
    axes[2].legend()
    return drawing


def _try_protocol(axes: Axes, values: Callable[[], dict[int, list[float]]], protocol: str) -> bool:
    """A protocol's line; that of the version that is not judged is thin."""
    drawn = try_line(axes, values, _NAMES[protocol], _DRAWN.index(protocol))
    if drawn and protocol == "sttp":
        axes.get_lines()[-1].set(linewidth=0.6, markersize=2.5, alpha=0.7)
    return drawn


def _paper(axes: Axes, values: dict[int, float], protocol: str) -> None:
    """The thesis's own values: grey, with the marker of the line that they belong to."""
    axes.plot(
        list(values),
        list(values.values()),
        MARKERS[_DRAWN.index(version(protocol))],
        color="grey",
        label=f"{protocol.upper() if protocol == 'sttp' else protocol.title()}, thesis",
        markersize=6,
        markerfacecolor="none",
        zorder=0,
    )


def _over_sources(
    experiment: str, metric: Callable[[Row], float], title: str, paper: Callable[[Counted], float] | None = None
) -> Callable[[Results], Drawing]:
    """Bytes over the number of sources, as figures 4.4 to 4.12; the thesis's own values in grey."""
    table = {"transfers": APPENDIX_1, "video": APPENDIX_2}.get(experiment)

    def draw(results: Results) -> Drawing:
        drawing, (axes,) = panels()

        def megabytes(row: Row) -> float:
            return metric(row) / _MB

        def values(protocol: str) -> Callable[[], dict[int, list[float]]]:
            return lambda: results[experiment].spread(megabytes, "n", protocol=protocol)

        drawn = []
        for protocol in _DRAWN:
            drawn.append(_try_protocol(axes, values(protocol), protocol))
        if table is not None and paper is not None:
            for protocol in PROTOCOLS:
                _paper(axes, {n: paper(row[protocol]) / _MB for n, row in table.items()}, protocol)
        need(drawn)
        axes.set_xlabel("number of sources")
        axes.set_ylabel(f"{title} (MB)")
        axes.legend()
        return drawing

    return draw


def _mixed(results: Results) -> Drawing:
    """Figure 4.13: goodput of each protocol's third."""
    drawing, (axes,) = panels()

    def third(protocol: str) -> Callable[[], dict[int, list[float]]]:
        return lambda: results["mixed"].spread(lambda row: measures.of_group(protocol)(row) / _MB, "n", version=CHOSEN)

    names = ("Reno", "Vegas", "STTP")
    need([try_line(axes, third(protocol), names[number], number) for number, protocol in enumerate(PROTOCOLS)])
    axes.axvline(15, color="grey", linestyle=":", linewidth=1, label="thesis: Reno leads from here on")
    axes.set_xlabel("number of sources")
    axes.set_ylabel("goodput (MB)")
    axes.legend()
    return drawing


def _unseen(results: Results) -> Drawing:
    """Not in the thesis: queueing delay, Jain's index, flows that never open."""
    drawing, axes = panels(3, share_y=False)
    metrics: list[tuple[Callable[[Row], float], str]] = [
        (lambda row: 1e3 * measures.queue_delay(row), "mean queueing delay (ms)"),
        (measures.jain, "Jain's index"),
        (measures.dead, "flows that never open"),
    ]

    def values(metric: Callable[[Row], float], protocol: str) -> Callable[[], dict[int, list[float]]]:
        return lambda: results["transfers"].spread(metric, "n", protocol=protocol)

    for panel, (metric, title) in zip(axes, metrics, strict=True):
        need([_try_protocol(panel, values(metric, p), p) for p in _DRAWN])
        panel.set_xlabel("number of sources")
        panel.set_ylabel(title)
    axes[0].legend()
    return drawing


def _disciplines(results: Results) -> Drawing:
    drawing, axes = panels(2, share_y=False)
    for panel, metric, title in (
        (axes[0], measures.jain, "Jain's index"),
        (axes[1], measures.loss, "bytes dropped (%)"),
    ):
        for number, queue in enumerate(("droptail", "drr", "wfq")):
            line(panel, results["queues"].spread(metric, "n", protocol="sttp half", queue=queue), queue, number)
        panel.set_xlabel("number of STTP sources")
        panel.set_ylabel(title)
    axes[0].legend()
    return drawing


def _modern(group: str, quantile: str, title: str) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        drawing, (axes,) = panels()
        table = results["modern"]
        users = table.points("protocol")
        width = 0.8 / len(RIVALS)
        drawn = []
        for number, rival in enumerate(RIVALS):
            try:
                values = [table.median(f"group.{group}.{quantile}", protocol=user, rival=rival) for user in users]
            except NotRun:
                drawn.append(False)
                continue
            name = "alone" if rival == "nobody" else f"beside {rival.upper()}"
            axes.bar(np.arange(len(users)) + width * (number - 1), values, width, label=name)
            drawn.append(True)
        need(drawn)
        axes.set_xticks(range(len(users)), [user.replace(" ", "\n") for user in users], fontsize=7)
        axes.set_ylabel(f"{title} (s)")
        axes.legend()
        return drawing

    return draw


def _bars(axes: Axes, names: Sequence[str], groups: Mapping[str, Callable[[str], float]], title: str) -> None:
    """A group of bars for each name, one for each of `groups`; a value that was not run is left out."""
    width = 0.8 / len(groups)
    drawn = []
    for number, (label, value) in enumerate(groups.items()):
        places, heights = [], []
        for place, name in enumerate(names):
            try:
                heights.append(value(name))
            except NotRun:
                continue
            places.append(place + width * (number - (len(groups) - 1) / 2))
        axes.bar(places, heights, width, label=label)
        drawn.append(bool(places))
    need(drawn)
    axes.set_xticks(
        range(len(names)), [name.replace(", ", ",\n") for name in names], fontsize=6.5, rotation=60, ha="right"
    )
    axes.set_ylabel(title)
    # Room for the legend above the bars.
    axes.set_ylim(top=1.3 * axes.get_ylim()[1])
    axes.legend(loc="upper left", ncols=2)


_ADDED = tuple(practical.ADDITIONS)


def _additions(results: Results) -> Drawing:
    """Loss and Jain's index of each addition at 2 Mbit/s, first in first out and in turn, and utilisation on the satellite."""
    drawing, axes = panels(3, share_y=False)
    table = results["additions"]
    parts = (
        (axes[0], "2 Mbit/s", (*_ADDED, "reno"), lambda row: 100 * row[f"{measures.LINK}.drop_rate"], "packets dropped at 2 Mbit/s (%)"),
        (axes[1], "2 Mbit/s", (*_ADDED, "reno"), measures.jain, "Jain's index at 2 Mbit/s"),
        (axes[2], practical.SATELLITE, (*_ADDED, "cubic", "bbr"), lambda row: 100 * row[f"{measures.LINK}.utilisation"], "utilisation at 50 Mbit/s (%)"),
    )  # fmt: skip
    for panel, path, names, metric, title in parts:
        groups = {
            label: lambda user, queue=queue, metric=metric, path=path: table.median(metric, user=user, path=path, queue=queue)
            for queue, label in (("droptail", "first in, first out"), ("drr", "in turn"))
        }  # fmt: skip
        _bars(panel, names, groups, title)
    return drawing


def _shares(results: Results) -> Drawing:
    drawing, axes = panels(2)
    table = results["contests"]
    for panel, queue in zip(axes, practical.QUEUES, strict=True):
        groups = {
            f"{rival}, {path}": lambda user, path=path, rival=rival, queue=queue: 100 * table.median(measures.share, user=user, path=path, rival=rival, queue=queue)
            for path, rival in practical.CONTESTS
        }  # fmt: skip
        _bars(panel, _ADDED, groups, "share beside as many of a rival (%)")
        panel.axhline(50, color="grey", linewidth=0.8, zorder=0)
        panel.set_title({"droptail": "first in, first out", "drr": "in turn"}[queue])
    return drawing


def _felt(group: str, metric: str, title: str) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        drawing, (axes,) = panels()
        table = results["people"]
        names = {"nobody": "no rival", "cubic": "beside CUBIC", "bbr": "beside BBR"}
        groups = {
            names[rival]: lambda user, rival=rival: table.median(f"group.{group}.{metric}", user=user, rival=rival)
            for rival in practical.BESIDE
        }  # fmt: skip
        _bars(axes, (*_ADDED, "cubic", "bbr"), groups, f"{title} (s)")
        return drawing

    return draw


def _sent(counted: Counted) -> float:
    return counted[0]


def _dropped(counted: Counted) -> float:
    return counted[1]


def _passed(counted: Counted) -> float:
    return counted[0] - counted[1]


_GREY = "Grey markers: the thesis's appendix. STTP is judged by the version that halves its rate after a timeout."
_COUNTS: tuple[tuple[Callable[[Row], float], str, Callable[[Counted], float]], ...] = (
    (measures.sent, "transmitted", _sent), (measures.dropped, "lost", _dropped), (measures.goodput, "goodput", _passed),
)  # fmt: skip


def _three(first: int, experiment: str, of: str, caption: str) -> list[Figure]:
    """Transmissions, losses and goodput of one experiment."""
    return [
        Figure(f"4.{first + number}", f"{of}: {title}", caption, _over_sources(experiment, metric, title, paper), (experiment,))
        for number, (metric, title, paper) in enumerate(_COUNTS)
    ]  # fmt: skip


FIGURES = (
    Figure("4.2", "Packets sent in each interval", "The thesis: Reno swings; STTP varies little and steps down as sources join.", _intervals, ("functional",), one_run=True),
    *_three(4, "transfers", "Bulk transfers", f"{_GREY} The thesis says packets; its tables have bytes."),
    *_three(7, "video", "Films", _GREY),
    *_three(10, "requests", "Requests", "The numbers of the thesis's figures are not available."),
    Figure("4.13", "A third of each protocol", "The thesis: Reno leads from 15 nodes on. Scale `quick` has 400 s instead of 900, and starts take up to 198 s.", _mixed, ("mixed",)),
    Figure("A", "Delay, fairness, flows that never open", "Not in the thesis: experiment 2.", _unseen, ("transfers",)),
    Figure("B", "Packet pairs and fair queueing", "Not in the thesis: experiment 2 with routers that serve flows in turn.", _disciplines, ("queues",)),
    Figure("C", "Pages", "50 Mbit/s, 600 ms: the time within which 95 % of pages are complete.", _modern("pages", "page_time_p95_s", "95 % page time"), ("modern",)),
    Figure("D", "Keystrokes", "50 Mbit/s, 600 ms: the time within which 95 % of echoes arrive.", _modern("keys", "response_time_p95_s", "95 % latency"), ("modern",)),
    Figure("E", "The effect of each addition without rivals", "Fifty transfers at 2 Mbit/s, and four at 50 Mbit/s and 600 ms.", _additions, ("additions",)),
    Figure("F", "The effect of each addition in competition with a rival", "50 % is an equal share.", _shares, ("contests",)),
    Figure("G", "Page times", "50 Mbit/s down, 5 up, 600 ms: the time within which 95 % of pages are complete.", _felt("pages", "page_time_p95_s", "95 % page time"), ("people",)),
    Figure("H", "Echo times of keystrokes", "50 Mbit/s down, 5 up, 600 ms: the time within which 95 % of echoes arrive.", _felt("keys", "response_time_p95_s", "95 % latency"), ("people",)),
)  # fmt: skip
