"""All numbers over the papers' in one drawing."""

from __future__ import annotations

from longhaul.stats import estimate
from matplotlib.figure import Figure as Drawing

from ..drawing import need, panels
from ..model import Figure
from ..results import NotRun, Results
from .grids import HEADLINES

#: Those that compare one number.
NUMBERS = tuple(one for one in HEADLINES if one.value is not None)
_COLOURS = {"reproduced": "#4c9a5f", "partly": "#d19a2a", "not": "#c44e52"}
_WORDS = {"reproduced": "reproduced", "partly": "partly", "not": "not reproduced"}


def _over_papers(results: Results) -> Drawing:
    """A row for each number: the value here over the paper's with its 95 % interval, and the tolerance behind it."""
    drawing, (axes,) = panels()
    drawing.set_size_inches(7.6, 1.4 + 0.27 * len(NUMBERS))
    drawn, named = [], set()
    for row, one in enumerate(NUMBERS):
        try:
            found = estimate(one.values(results))
            verdict = one.target.judge(results).verdict
        except NotRun:
            continue
        drawn.append(True)
        mean, low, high = (value / one.number for value in (found.mean, found.low, found.high))
        axes.barh(row, 2 * one.within, left=1 - one.within, height=0.6, color="0.88", zorder=0)
        if found.n > 1:
            axes.plot([max(low, 0.02), high], [row, row], color=_COLOURS[verdict], linewidth=1.6)
        axes.plot(
            [mean], [row], "o", color=_COLOURS[verdict], markersize=5, label="" if verdict in named else _WORDS[verdict]
        )
        named.add(verdict)
    need(drawn)
    axes.axvline(1, color="0.35", linewidth=1)
    axes.set_xscale("log")
    ticks = (0.1, 0.2, 0.5, 1, 2, 5)
    axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
    axes.minorticks_off()
    axes.set_yticks(
        range(len(NUMBERS)), [f"{one.id}  {one.paper.split(',')[0].split(' ')[0]} {one.paper[-4:]}" for one in NUMBERS]
    )
    axes.set_ylim(len(NUMBERS) - 0.5, -0.5)
    axes.set(xlabel="value here / the paper's")
    axes.legend(loc="upper left", fontsize=7)
    return drawing


FIGURES = (
    Figure(
        "numbers", "each number here over that of its paper",
        "Grey: the tolerance. Lines: 95 % intervals where something is drawn at random. Headlines that are ranges, orderings or trends are in the table of targets only.",
        _over_papers, tuple(one.id for one in NUMBERS),
    ),
)  # fmt: skip
