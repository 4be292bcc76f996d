"""Targets from the paper: turning points of the six figures, classes over the grid, the start, and its open questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..model import Target, classed
from ..results import NotRun, Results, Row
from ..verdict import Judgement, both, holds, median, number, trend
from .grids import CURVES
from .measures import SLACK, curve, curves, through, throughput
from .scenarios import BUFFERS, D_DELAYS, S_DELAYS

_NO_RUNS = "no curve of the grid is complete"


def _is(name: str, expected: str) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        found = curve(results, "curves", *CURVES[name])
        return holds({f"class {expected}": found.name == expected}, f"class {found.name}")

    return judge


def _reaches(name: str, paper: int) -> Callable[[Results], Judgement]:
    """The first W with the largest throughput, within the slack of decision D4, to a packet."""

    def judge(results: Results) -> Judgement:
        found = curve(results, "curves", *CURVES[name])
        judged = number(found.reaches_top, paper, 1, unit="packets", relative=False)
        text = f"{judged.measured}: {found.values[found.reaches_top]:.3f} Mbit/s, at most {found.top:.3f}"
        return replace(judged, measured=text)

    return judge


def _last(name: str, paper: int) -> Callable[[Results], Judgement]:
    """The last W before the fall, to a packet."""

    def judge(results: Results) -> Judgement:
        found = curve(results, "curves", *CURVES[name]).last_before_fall
        return (
            Judgement("not", "it never falls")
            if found is None
            else number(found, paper, 1, unit="packets", relative=False)
        )

    return judge


def _top(name: str, paper: float) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        return number(curve(results, "curves", *CURVES[name]).top, paper, 0.02, unit="Mbit/s")

    return judge


def _never_full(results: Results) -> Judgement:
    top = curve(results, "curves", *CURVES["P4"]).top
    return holds({"below 1 Mbit/s": top < 1 - SLACK}, f"at most {top:.3f} Mbit/s")


def share_falling(results: Results, place: int, values: tuple[int, ...]) -> dict[int, float]:
    """Per cent of the curves in class R-2, by d_S (place 0), d_D (1) or N (2)."""
    found = curves(results)
    if not found:
        raise NotRun(_NO_RUNS)
    shares = {}
    for value in values:
        chosen = [one for point, one in found.items() if point[place] == value]
        if chosen:
            shares[value] = 100 * sum(one.falls for one in chosen) / len(chosen)
    return shares


def _over(place: int, values: tuple[int, ...], rising: bool) -> Callable[[Results], Judgement]:
    return lambda results: trend(share_falling(results, place, values), rising=rising, unit="%")


def _start(results: Results) -> Judgement:
    return trend(results["start"].series("completion_time_mean_s", "w"), rising=False, unit="s")


def shares_of_best(results: Results, experiment: str = "strict") -> dict[tuple[int, int, int], float]:
    """Throughput with the automatic watermark over that with the best fixed one, by point."""
    best = curves(results, experiment)
    found = {}
    for row in results["automatic"].rows:
        point = _point(row)
        if point in best and row.metrics is not None:
            found[point] = throughput(row) / best[point].top
    if not found:
        raise NotRun(_NO_RUNS)
    return found


def _automatic(results: Results) -> Judgement:
    shares = list(shares_of_best(results).values())
    close = sum(share >= 0.95 for share in shares) / len(shares)
    text = (
        f"median {median(shares):.3f} of the throughput with the best fixed W (in steps of 5), least {min(shares):.3f}; at least 0.95 at {100 * close:.0f} %"
        f" of {len(shares)} points"
    )
    return holds({"at least 0.95 at 95 % of the points": close >= 0.95}, text)


def _no_trap(results: Results) -> Judgement:
    found = curves(results)
    falling = [row for row in results["automatic"].rows if _point(row) in found and found[_point(row)].falls]
    if not falling:
        raise NotRun("no curve of class R-2 is complete")
    trapped = [row for row in falling if through(row) > 0]
    return holds(
        {"never": not trapped},
        f"of {len(falling)} points in class R-2 the buffer overflows in the steady state at {len(trapped)}",
    )


def _point(row: Row) -> tuple[int, int, int]:
    return row.parameters["d_s"], row.parameters["d_d"], row.parameters["n"]


def _strict(results: Results) -> Judgement:
    checks: dict[str, bool] = {}
    apart: list[str] = []
    for name, point in CURVES.items():
        printed, kept = curve(results, "curves", *point), curve(results, "strict", *point)
        checks[name] = printed.name == kept.name and abs(printed.top - kept.top) <= SLACK
        if not checks[name]:
            apart.append(f"{name} {printed.top:.2f} Mbit/s, strict {kept.top:.2f}")
    return holds(checks, "largest: " + ", ".join([*apart, "others equal" if apart else "equal"]))


def _window(results: Results) -> Judgement:
    table = results["windows"]
    best = {window: max(table.series(throughput, "w", window=window).values()) for window in table.points("window")}
    return both(trend(best, rising=True, unit="Mbit/s"), holds({"above 0.95 with 30": best[30] > 0.95}))


def _loss(results: Results) -> Judgement:
    table = results["loss"]
    checks: dict[str, bool] = {}
    text: list[str] = []
    repairs = table.points("repair")
    for loss in table.points("loss"):
        values = {name: table.median("goodput_bps", loss=loss, repair=name) / 1e6 for name in repairs}
        checks |= {
            f"{name} at {loss:g}": value > values["source"] for name, value in values.items() if name != "source"
        }
        text.append(f"{' / '.join(f'{value:.2f}' for value in values.values())} at {loss:g}")
    shown = text if len(text) <= 2 else [text[0], text[-1]]
    return holds(checks, f"{' / '.join(repairs)}: {'; '.join(shown)} Mbit/s")


def tops_in_a_row(results: Results) -> dict[str, float]:
    """The largest throughput over W by the delays of S-Net's parts, each of which has a PEP behind it."""
    table = results["in a row"]
    return {delays: max(table.series(throughput, "w", delays=delays).values()) for delays in table.points("delays")}


def _in_a_row(results: Results) -> Judgement:
    tops = tops_in_a_row(results)
    one = next(delays for delays in tops if "+" not in delays)
    checks = {f"more with {delays}": top > tops[one] + SLACK for delays, top in tops.items() if delays != one}
    checks |= {f"D-Net's rate with {delays}": top >= 1 - SLACK for delays, top in tops.items() if delays != one}
    return holds(checks, "largest: " + ", ".join(f"{top:.2f} ({delays} ms)" for delays, top in tops.items()))


_C, _GRID = ("curves",), ("grid",)
_ALL = (
    Target("P1", "figure 4", "d_S 80, d_D 100, N 50: the full 1 Mbit/s from W = 25 (decision D4: within 16 kbit/s)", "exact", _reaches("P1", 25), _C),
    Target("P1b", "figure 4", "the full 1 Mbit/s", "exact", _top("P1", 1.0), _C),
    Target("P1c", "figure 4", "class R-1: never falls", "ordering", _is("P1", "R-1"), _C),
    Target("P2", "figure 5", "d_S 100, d_D 100, N 50: saturates at about 0.8 Mbit/s", "exact", _top("P2", 0.8), _C),
    Target("P2b", "figure 5", "class R-1", "ordering", _is("P2", "R-1"), _C),
    Target("P3", "figure 6", "d_S 50, d_D 100, N 50: rises up to W = 38, falls from 39", "exact", _last("P3", 38), _C),
    Target("P4", "figure 7", "d_S 50, d_D 200, N 50: rises up to W = 31, falls from 32", "exact", _last("P4", 31), _C),
    Target("P4b", "figure 7", "never reaches 1 Mbit/s", "ordering", _never_full, _C),
    Target("P5", "figure 9", "d_S 80, d_D 150, N 50: class R-2", "ordering", _is("P5", "R-2"), _C),
    Target("P6", "figure 10", "d_S 80, d_D 100, N 30: class R-2", "ordering", _is("P6", "R-2"), _C),
    Target("P7a", "section 4.3", "class R-2 is more frequent with a smaller d_S", "trend", _over(0, S_DELAYS, rising=False), _GRID),
    Target("P7b", "section 4.3", "class R-2 is more frequent with a larger d_D", "trend", _over(1, D_DELAYS, rising=True), _GRID),
    Target("P7c", "section 4.3", "class R-2 is more frequent with a smaller N", "trend", _over(2, BUFFERS, rising=False), _GRID),
    Target("P8", "section 4", "slow start is shorter with a larger W", "trend", _start, ("start",)),
    Target(
        "A1", "its open question", "An automatic watermark comes close to the best fixed one (ours: 95 % of it at 95 % of the points)",
        "band", _automatic, ("automatic", "strict"),
        "It never lets the buffer overflow. Where the buffer is small compared with the window (N = 30, a window of 20), the best fixed W"
        " is above the safe value.",
    ),
    Target(
        "A2", "its open question", "An automatic watermark never overflows the buffer in class R-2", "ordering", _no_trap, ("automatic", "grid"),
    ),
    Target("A3", "beyond the paper", "A PEP that only acknowledges packets that it can retransmit has the same classes and largest throughputs", "ordering", _strict, ("curves", "strict"), "With N = 30 the PEP as printed gains by ACKs for packets that it could not retransmit."),
    Target("A4", "its future work", "Where the window of 20 limits S-Net (figure 5), a larger window advertised by the PEP helps", "trend", _window, ("windows",)),
    Target("A6", "its future work", "Several PEPs along the path: parts of S-Net limit the source less than the whole (figure 5), up to D-Net's rate", "ordering", _in_a_row, ("in a row",)),
    Target("A5", "its future work", "With loss on D-Net, repair by the PEP gives a higher goodput than repair by the source", "ordering", _loss, ("loss",)),
)  # fmt: skip


TARGETS = classed(_ALL, {"ours": "A1, A2, A3, A4, A5, A6"})
