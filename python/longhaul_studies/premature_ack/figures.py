"""The paper's figures 4 to 7, 9, 10; the map of classes that it describes; the automatic watermark."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure as Drawing

from ..drawing import panels
from ..model import Figure
from ..results import NotRun, Results
from .grids import CURVES
from .measures import curve, curves
from .targets import shares_of_best

_NUMBERS = {"P1": "4", "P2": "5", "P3": "6", "P4": "7", "P5": "9", "P6": "10"}
#: The paper's turning points in packets, with what they are, and its largest throughputs in Mbit/s.
PAPER = {"P1": (25, "full from"), "P3": (38, "falls after"), "P4": (31, "falls after")}
PAPER_TOP = {"P1": 1.0, "P2": 0.8}
_CAPTIONS = {
    "P1": "The throughput rises and stays at D-Net's rate: class R-1. At W = 25 it lacks two packets a second of the full rate, which decision D4 allows.",
    "P2": "The limit is the window of 20 packets per round trip of S-Net (200 ms): 0.8 Mbit/s.",
    "P3": "Above some W the buffer overflows, and the source waits for the real ACKs of through packets: class R-2.",
    "P4": "The same with a longer D-Net, whose BDP exceeds the buffer.",
    "P5": "As figure 4 with a longer D-Net: class R-2.",
    "P6": "As figure 4 with a smaller buffer: class R-2.",
}


def _over_w(name: str) -> Callable[[Results], Drawing]:
    def draw(results: Results) -> Drawing:
        drawing, (axes,) = panels()
        drawn = False
        for experiment, style, label in (("curves", "o-", "as printed"), ("strict", "x", "strict")):
            try:
                values = curve(results, experiment, *CURVES[name]).values
            except NotRun:
                continue
            axes.plot(list(values), list(values.values()), style, markersize=3 if style == "o-" else 4, label=label)
            drawn = True
        if not drawn:
            raise NotRun("the curve has not been run")
        if name in PAPER:
            w, text = PAPER[name]
            axes.axvline(w, color="0.35", linestyle=":", linewidth=1, label=f"the paper: {text} W = {w}")
        if name in PAPER_TOP:
            axes.axhline(
                PAPER_TOP[name],
                color="0.6",
                linestyle="--",
                linewidth=0.8,
                label=f"the paper: {PAPER_TOP[name]:g} Mbit/s",
            )
        axes.set(xlabel="watermark W (packets)", ylabel="throughput (Mbit/s)", ylim=(0, 1.1))
        # Beside the paper's W, not over it.
        axes.legend(loc="lower left" if PAPER.get(name, (0, ""))[0] > 25 else "lower right")
        return drawing

    return draw


def _map(results: Results) -> Drawing:
    """Class by d_S and d_D, a panel for each N; two in a row, so that the numbers can be read."""
    found = curves(results)
    if not found:
        raise NotRun("no curve of the grid is complete")
    sources, sinks, buffers = (sorted({point[i] for point in found}) for i in range(3))
    rows = -(-len(buffers) // 2)
    drawing = Drawing(figsize=(9.0, 3.4 * rows), layout="constrained")
    grid = drawing.subplots(rows, 2, sharey=True, squeeze=False)
    all_axes = list(grid.flat)[: len(buffers)]
    for axes in list(grid.flat)[len(buffers) :]:
        axes.set_axis_off()
    colours = ListedColormap(["#dce6f2", "#c44e52"])
    for axes, n in zip(all_axes, buffers, strict=True):
        cells = [[float(found[s, d, n].falls) if (s, d, n) in found else float("nan") for s in sources] for d in sinks]
        axes.imshow(cells, origin="lower", aspect="auto", cmap=colours, vmin=0, vmax=1)
        axes.set_xticks(range(len(sources)), [str(s) for s in sources], rotation=90)
        axes.set_yticks(range(len(sinks)), [str(d) for d in sinks])
        axes.grid(visible=False)
        axes.set(title=f"N = {n}", xlabel="$d_S$ (ms)")
        for j, d in enumerate(sinks):
            for i, s in enumerate(sources):
                one = found.get((s, d, n))
                if one is not None and one.falls:
                    text = str(one.last_before_fall)
                    axes.text(i, j, text, ha="center", va="center", fontsize=8, color="white")
                elif one is not None and any(one.overflows.values()):
                    axes.text(i, j, "o", ha="center", va="center", fontsize=7, color="0.4")
    for row in grid:
        row[0].set_ylabel("$d_D$ (ms)")
    return drawing


def _automatic(results: Results) -> Drawing:
    """Share of the best fixed W's throughput, in ascending order, over all points."""
    shares = shares_of_best(results)
    found = curves(results, "strict")
    classes = {name: sorted(s for point, s in shares.items() if found[point].name == name) for name in ("R-1", "R-2")}
    half = sorted(
        found[point].values[_nearest(found[point].values, point[2] // 2)] / found[point].top for point in shares
    )
    highest = sorted(found[point].values[max(found[point].values)] / found[point].top for point in shares)
    drawing, (axes,) = panels()
    for values, label in (
        (classes["R-1"], "automatic, class R-1"),
        (classes["R-2"], "automatic, class R-2"),
        (half, "W = N / 2, all"),
        (highest, "W = N, all"),
    ):
        if values:
            axes.plot([(i + 0.5) / len(values) * 100 for i in range(len(values))], values, label=label)
    axes.set(xlabel="points of the grid, in order (%)", ylabel="share of the best fixed W", ylim=(0.4, 1.1))
    axes.legend(loc="lower right")
    return drawing


def _nearest(values: Iterable[int], wanted: int) -> int:
    return min(values, key=lambda w: abs(w - wanted))


def _start(results: Results) -> Drawing:
    values = results["start"].series("completion_time_mean_s", "w")
    drawing, (axes,) = panels()
    axes.plot(list(values), list(values.values()), "o-", markersize=3)
    axes.set(xlabel="watermark W (packets)", ylabel="time of the first 100 packets (s)", ylim=(0, None))
    return drawing


FIGURES = (
    *(
        Figure(
            number, "throughput over W, $d_S$ {}, $d_D$ {}, N {}".format(*CURVES[name]).replace("$", ""), _CAPTIONS[name],
            _over_w(name), ("curves", "strict"),
        )
        for name, number in _NUMBERS.items()
    ),
    Figure("map", "classes by delays and buffer", "Dark: class R-2, with the last W before the fall. o: the buffer overflows too, but costs less than 5 % of the throughput (decision D4), as in the light field within the dark of N = 30 (d_D 130 and 150). The paper describes the map in words (section 4.3).", _map, ("grid",)),
    Figure("start", "time of the first packets over W", "Delays 80 and 100 ms, N 50.", _start, ("start",)),
    Figure("automatic", "the automatic watermark compared with the best fixed one", "Each curve is sorted by its own values. Half the buffer is a plausible choice without measurements.", _automatic, ("automatic", "strict")),
)  # fmt: skip
