"""The thesis's figures: the long run, utilisation over flows and queues, windows, Pareto traffic; flow controls side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from longhaul.plots.style import COLOURS, DASHES
from matplotlib.figure import Figure as Drawing

from ..drawing import MARKERS, line, panels
from ..model import Figure
from ..results import NotRun, Results
from .measures import cwnd, delivery, fairness, utilisation
from .scenarios import PACKET, PAYLOAD
from .targets import long_hop, series_of

_NAMES = {"none": "no PEP", "cubic": "PEP, CUBIC", "sack": "PEP, SACK"}


def _hours(results: Results) -> Drawing:
    drawing, all_axes = panels(2, share_y=False)
    drawn = 0
    for number, (mode, experiment) in enumerate({"sack": "long", "cubic": "long CUBIC"}.items()):
        try:
            time, window, rate = long_hop(results[experiment].where(mode=mode)[0])
        except NotRun:
            continue
        step = 10
        all_axes[0].plot(
            time[::step], window[::step], label=_NAMES[mode], color=COLOURS[number], linestyle=DASHES[number]
        )
        smooth = np.convolve(rate, np.ones(20) / 20, mode="same")
        all_axes[1].plot(
            time[::step], smooth[::step], label=_NAMES[mode], color=COLOURS[number], linestyle=DASHES[number]
        )
        drawn += 1
    if not drawn:
        raise NotRun("long has not been run")
    all_axes[0].set(xlabel="time (s)", ylabel="cwnd of the split connection (packets)")
    all_axes[1].set(xlabel="time (s)", ylabel="throughput (Mbit/s)", ylim=(0, 100))
    all_axes[0].legend()
    return drawing


#: The thesis's payload without the PEP in Mbit/s, by queue in packets and number of flows (figures 4.2, 4.5, 4.6).
PAPER_NONE = {
    3000: {50: 95.0, 500: 93.3, 5: 96.2}, 1500: {50: 88.9, 500: 85.1, 5: 87.8}, 1000: {50: 87.9, 500: 81.5, 5: 78.4}, 600: {50: 84.0},
}  # fmt: skip


def _ftp(results: Results) -> Drawing:
    """Without the PEP at each queue, with the thesis's values as crosses; with it and CUBIC at any queue."""
    whole = results["sweep"].has(traffic="ftp")
    table, also = (results["sweep"], {"traffic": "ftp"}) if whole else (results["ftp"], {})
    drawing, (left, right) = panels(2, share_y=False)
    for number, packets in enumerate(table.points("packets", mode="none", **also)[::-1]):
        line(left, table.spread(utilisation, "flows", mode="none", packets=packets, **also), f"queue {packets}", number)
        paper = PAPER_NONE.get(packets, {})
        left.plot(
            list(paper), list(paper.values()), "x", color=COLOURS[number % len(COLOURS)], markersize=8, markeredgewidth=1.8,
        )  # fmt: skip
    left.plot([], [], "x", color="black", markersize=8, markeredgewidth=1.8, label="the thesis")
    left.set_title("without the PEP")
    for queue, style in (("red", "-"), ("droptail", "--")):
        for number, packets in enumerate(table.points("packets", mode="cubic", queue=queue, **also)[::-1]):
            values = table.spread(utilisation, "flows", mode="cubic", queue=queue, packets=packets, **also)
            right.plot(
                list(values), [float(np.median(runs)) for runs in values.values()], color=COLOURS[number], marker=MARKERS[number],
                linestyle=style, markersize=3.5, label=f"{'RED' if queue == 'red' else 'DropTail'} {packets}",
            )  # fmt: skip
    paper_flows, paper_values = [5, 50, 500], [94.2, 94.2, 94.1]
    right.plot(
        paper_flows, paper_values, "x", color="black", markersize=8, markeredgewidth=1.8, label="the thesis, any queue"
    )
    right.set_title("PEP with CUBIC, by its local queue")
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlabel("number of flows")
    left.legend(loc="lower right", fontsize=6.5)
    low, high = right.get_ylim()
    right.set_ylim(low - 0.45 * (high - low), high)
    right.legend(loc="lower right", fontsize=6.5, ncols=2)
    left.set_ylabel("payload on the split link (Mbit/s)")
    return drawing


def _seconds_of_the_link(results: Results) -> Drawing:
    """Figure 4.5: the split link's payload over time, 500 flows, queue 3000."""
    drawing, (axes,) = panels()
    for number, (mode, queue, label) in enumerate(
        (("none", "droptail", "no PEP"), ("cubic", "red", "PEP, CUBIC, RED"))
    ):
        result = results["ftp"].where(mode=mode, queue=queue, packets=3000, flows=500)[0].result()
        place = next(i for i, link in enumerate(result.summary["links"]) if link["name"] == "split.forward")
        frame = result.links.filter((result.links["link"] == place) & (result.links["time_s"] > 100))[:200]
        payload = frame["throughput_bps"].to_numpy() * PAYLOAD / PACKET / 1e6
        axes.plot(
            frame["time_s"].to_numpy(),
            payload,
            color=COLOURS[number],
            linestyle=DASHES[number],
            label=label,
            linewidth=1,
        )
    for value, text, style in ((70, "no PEP: dips to 70", ":"), (90, "with the PEP: never under 90", "-.")):
        axes.axhline(value, color="grey", linewidth=0.9, linestyle=style, label=f"the thesis, {text}")
    axes.set(xlabel="time (s)", ylabel="payload on the split link (Mbit/s)", ylim=(60, 100))
    drawing.set_figwidth(drawing.get_figwidth() + 2)
    drawing.legend(loc="outside right upper")
    return drawing


def _windows(results: Results) -> Drawing:
    """Figure 4.7: mean window of 50 senders over the queue, with the thesis's shares of that without the PEP."""
    drawing, (axes,) = panels()
    curves = {
        "no PEP": ("none", "droptail", None),
        "PEP, DropTail": ("cubic", "droptail", 0.30),
        "PEP, RED": ("cubic", "red", 0.03),
    }
    none: dict[float, float] = {}
    for number, (label, (mode, queue, share)) in enumerate(curves.items()):
        values = results["ftp"].spread(cwnd, "packets", mode=mode, queue=queue, flows=50)
        line(axes, values, label, number)
        if share is None:
            none = {packets: float(np.median(runs)) for packets, runs in values.items()}
        else:
            axes.plot(
                list(none), [share * value for value in none.values()], "x:", color=COLOURS[number], linewidth=0.8,
                label=f"the thesis: {100 * share:g} % of no PEP",
            )  # fmt: skip
    axes.set(xlabel="queue (packets)", ylabel="mean cwnd of 50 senders (packets)", yscale="log")
    drawing.set_figwidth(drawing.get_figwidth() + 2)
    drawing.legend(loc="outside right upper")
    return drawing


#: The thesis's payload of Pareto flows in Mbit/s (figures 4.9, 4.12), above 500 flows: without the PEP by queue in packets, and with it.
PAPER_PARETO = {3000: 95.3, 1500: 88.5, 1000: 86.0, 600: 82.0, 300: 80.0}
PAPER_PARETO_PEP = 95.4


def _pareto(results: Results) -> Drawing:
    """Figure 4.12: without the PEP and with it (CUBIC), a line for each number of flows."""
    whole = results["sweep"].has(traffic="pareto")
    table, also = (results["sweep"], {"traffic": "pareto"}) if whole else (results["pareto"], {})
    drawing, (left, right) = panels(2)
    drawn = 0
    for axes, mode in ((left, "none"), (right, "cubic")):
        for number, flows in enumerate(table.points("flows", mode=mode, **also)):
            for queue, style in (("red", "-"), ("droptail", "--")):
                try:
                    values = table.spread(utilisation, "packets", mode=mode, queue=queue, flows=flows, **also)
                except NotRun:
                    continue
                name = f"{flows} flows" if mode == "none" else f"{flows}, {'RED' if queue == 'red' else 'DropTail'}"
                axes.plot(
                    list(values), [float(np.median(runs)) for runs in values.values()], color=COLOURS[number], marker=MARKERS[number],
                    linestyle=style, markersize=3.5, label=name,
                )  # fmt: skip
                drawn += 1
        axes.set_xlabel("queue (packets)")
    if not drawn:
        raise NotRun("pareto has not been run")
    left.plot(
        list(PAPER_PARETO),
        list(PAPER_PARETO.values()),
        "x",
        color="black",
        markersize=8,
        label="the thesis, above 500 flows",
    )
    right.axhline(PAPER_PARETO_PEP, color="grey", linestyle=":", label="the thesis, DropTail")
    left.set(title="without the PEP", ylabel="payload on the split link (Mbit/s)")
    right.set_title("PEP with CUBIC, by its local queue")
    left.legend(fontsize=6.5, loc="center right")
    right.legend(fontsize=6.5, loc="center right", ncols=2)
    return drawing


def _one(experiment: str, flows: int, flow: int, packets: int) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        drawing, (axes,) = panels()
        drawn = 0
        for number, (mode, queue) in enumerate((("none", "droptail"), ("cubic", "red"), ("cubic", "droptail"))):
            try:
                row = results[experiment].where(mode=mode, queue=queue, packets=packets, flows=flows)[0]
            except NotRun:
                continue
            if not (row.path / "flows.parquet").exists():
                continue
            values = series_of(row, flow)[:300]
            axes.plot(
                np.arange(len(values)),
                values,
                linewidth=0.9,
                color=COLOURS[number],
                label=f"{_NAMES[mode]}, {queue}",
            )
            drawn += 1
        if not drawn:
            raise NotRun("there are no time series at this scale")
        axes.set(xlabel="time after the warm-up (s)", ylabel="throughput of one flow (Mbit/s)", ylim=(0, None))
        axes.legend()
        return drawing

    return draw


def _control(results: Results) -> Drawing:
    table = results["control"]
    names = table.points("variant")
    drawing, all_axes = panels(3, share_y=False)
    drawing.set_size_inches(9.5, 2.8)
    for axes, metric, title in zip(
        all_axes,
        (utilisation, fairness, delivery),
        ("payload (Mbit/s)", "Jain's index", "delivery time (s)"),
        strict=True,
    ):
        values = [table.median(metric, variant=name) for name in names]
        axes.barh(range(len(names)), values, color=COLOURS[0], height=0.6)
        axes.set(xlabel=title, yticks=range(len(names)))
        axes.set_yticklabels(names if axes is all_axes[0] else [""] * len(names))
        axes.invert_yaxis()
        axes.grid(visible=False, axis="y")
        if metric is fairness:
            axes.set_xlim(0.9, 1)
    return drawing


FIGURES = (
    Figure("4.1", "the split connection over hours", "SACK grows by half a packet per round trip and needs hours to fill the link. CUBIC needs minutes.", _hours, ("long", "long CUBIC"), one_run=True),
    Figure("4.8", "payload on the split link over the number of flows", "Crosses are the thesis's numbers. Without the PEP the payload depends on the queue; with it, 300 packets are as good as 3000. The whole grid has one seed. In its run of 4 flows with RED and 300 packets the long hop had a timeout after 45 of 150 s.", _ftp, ("sweep", "ftp")),
    Figure("4.5", "the split link over time, 500 flows, queue 3000", "The thesis's dips without the PEP do not occur here: the losses of the 500 flows are spread over time (section *Why losses are synchronised*).", _seconds_of_the_link, ("ftp",), one_run=True),
    Figure("4.3", "throughput of flow 23 of 50, queue 600", "An excerpt (figure 4.4 has the PEP with DropTail).", _one("ftp", 50, 23, 600), ("ftp",), one_run=True),
    Figure("4.7", "windows of the senders over the queue", "With the PEP the senders' round trip ends at the proxy, so that their windows are small whatever the queue.", _windows, ("ftp",)),
    Figure("4.10", "throughput of Pareto flow 547 of 750, queue 1500 (and 4.11)", "An excerpt. RED as the local queue gives short high peaks, DropTail a steadier share.", _one("pareto", 750, 547, 1500), ("pareto",), one_run=True),
    Figure("4.12", "Pareto traffic: payload on the split link over the queue", "Without the PEP a shorter queue carries less, as with flows that always have data, but not as little as in the thesis (crosses): see S9 and S11.", _pareto, ("sweep", "pareto")),
    Figure("control", "flow controls of the PEP, 50 FTP flows", "Delivery time: from the sender to the receiver's application, by Little's law.", _control, ("control",)),
)  # fmt: skip
