"""E1, E7, E11, E12: single flows looked at over time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from longhaul.results import Result

from ...model import Target
from ...results import NotRun, Results, Row
from ...verdict import Judgement, band, both, holds, median, number
from ..measures import HSTCP, REGTCP, departures, event_rate, events, utilisation
from ..scenarios import DURATION, PIPE, RTT

_MSS = 1460
_CUTS = ("fast_retransmit", "timeout", "ecn_reduction")
HALF = DURATION / 2


@dataclass(frozen=True)
class Trace:
    """A flow's window over time: seconds, packets; and the times of its cuts."""

    time: np.ndarray
    cwnd: np.ndarray
    cuts: np.ndarray

    def first_reach(self, packets: float, after: float = 0.0) -> float | None:
        """When the window is first so large, after a time."""
        there = np.flatnonzero((self.cwnd >= packets) & (self.time > after))
        return float(self.time[there[0]]) if len(there) else None

    def mean(self, start: float, end: float) -> float:
        """Mean window between two times."""
        return float(self.cwnd[(self.time > start) & (self.time <= end)].mean())

    def slope(self, start: float, end: float) -> float:
        """Growth in packets per second between two times, by least squares."""
        chosen = (self.time > start) & (self.time <= end)
        return float(np.polyfit(self.time[chosen], self.cwnd[chosen], 1)[0])

    def at_first_cut(self) -> tuple[float, float]:
        """Time of the first cut, and the window just before it."""
        if not len(self.cuts):
            return float("nan"), float("nan")
        before = self.cwnd[self.time < self.cuts[0]]
        return float(self.cuts[0]), float(before.max())


def trace(row: Row, flow: int = 0) -> Trace:
    """The window of one of the run's flows."""
    return trace_of(row.result(), flow)


def trace_of(result: Result, flow: int = 0) -> Trace:
    """The window of a flow of this number."""
    import polars as pl

    series = result.flows.filter(pl.col("flow") == flow)
    cuts = result.events.filter((pl.col("flow") == flow) & pl.col("kind").is_in(_CUTS))
    return Trace(
        series["time_s"].to_numpy(), series["cwnd_bytes"].to_numpy() / _MSS, np.sort(cuts["time_s"].to_numpy())
    )


def alone(results: Results, kind: str, queue: str) -> Row:
    """The run of E1 with this flow and queue."""
    return results["E1"].where(set=kind, queue=queue)[0]


# --- E1


def _packets_per_event(results: Results) -> Judgement:
    row = alone(results, HSTCP, "red")
    return number(departures(row, HSTCP) / events(row, HSTCP), 638_000, 0.10, unit="packets")


def _interval(results: Results) -> Judgement:
    cuts = trace(alone(results, HSTCP, "red")).cuts
    cuts = cuts[cuts > HALF]
    return number(float(np.diff(cuts).mean()), 7.73, 0.10, unit="s")


def _event_rate(results: Results) -> Judgement:
    return number(event_rate(HSTCP)(alone(results, HSTCP, "red")), 1.56e-6, 0.10)


def _share(results: Results) -> Judgement:
    row = alone(results, HSTCP, "red")
    share = number(utilisation(HSTCP)(row), 98.9, 0.5, unit="%", relative=False)
    measured = f"{share.measured}, {departures(row, HSTCP) * RTT / HALF:,.0f} packets/RTT"
    return Judgement(share.verdict, measured, share.tolerance)


def _highspeed_full(results: Results) -> Judgement:
    flow = trace(alone(results, HSTCP, "red"))
    first = flow.first_reach(PIPE)
    again = flow.first_reach(PIPE, after=float(flow.cuts[0])) if len(flow.cuts) else None
    if first is None or again is None:
        return Judgement("not", f"largest window {flow.cwnd.max():,.0f} packets")
    return both(band(first, 0, 50, unit="s"), band(again, 0, 50, unit="s after the first cut"))


def time_to_fill(flow: Trace) -> float:
    """When a standard flow reaches the pipe after its first cut: as it was, or as its growth goes on."""
    reached = flow.first_reach(PIPE, after=float(flow.cuts[0])) if len(flow.cuts) else flow.first_reach(PIPE)
    if reached is not None:
        return reached
    end = float(flow.time[-1])
    return end + (PIPE - float(flow.cwnd[-1])) / flow.slope(end - 50, end)


def _standard_full(results: Results) -> Judgement:
    flow = trace(alone(results, REGTCP, "red"))
    judged = band(time_to_fill(flow), 250, 350, margin=25, unit="s")
    return Judgement(judged.verdict, f"{judged.measured}; {flow.cwnd[-1]:,.0f} packets at 300 s", judged.tolerance)


def _slower(results: Results) -> Judgement:
    slopes = {}
    for kind in (HSTCP, REGTCP):
        flow = trace(alone(results, kind, "red"))
        begin = float(flow.cuts[0]) + 1
        end = float(flow.cuts[1]) if len(flow.cuts) > 1 else float(flow.time[-1])
        slopes[kind] = flow.slope(begin, end)
    return holds(
        {"REGTCP < HSTCP": slopes[REGTCP] < slopes[HSTCP]},
        f"after the first cut REGTCP grows by {slopes[REGTCP]:.1f} packets/s, HSTCP by {slopes[HSTCP]:.0f}",
    )


def _higher_without_red(results: Results) -> Judgement:
    means = {
        (kind, queue): trace(alone(results, kind, queue)).mean(HALF, DURATION)
        for kind in (HSTCP, REGTCP) for queue in ("red", "droptail")
    }  # fmt: skip
    checks = {f"{kind}: DT > RED": means[kind, "droptail"] > means[kind, "red"] for kind in (HSTCP, REGTCP)}
    text = "; ".join(
        f"{kind.upper()} {means[kind, 'red']:,.0f} packets with RED, {means[kind, 'droptail']:,.0f} with DT"
        for kind in (HSTCP, REGTCP)
    )
    return holds(checks, text)


def _underused(results: Results) -> Judgement:
    flow = trace(alone(results, REGTCP, "red"))
    below = float((flow.cwnd < PIPE).mean())
    share = utilisation(REGTCP)(alone(results, REGTCP, "red"))
    return holds(
        {"below the pipe most of the time": below > 0.5, "second half below 98 %": share < 98},
        f"window below 8333 for {below * 100:.0f} % of the run; {share:.1f} % of the link in the second half",
    )


# --- E7


def _hour(results: Results) -> Judgement:
    row = results["E7"].where()[0]
    result = row.result()
    checks: dict[str, bool] = {}
    texts: list[str] = []
    for number_, name in enumerate(("HSTCP", "REGTCP")):
        flow = trace_of(result, number_)
        first = flow.mean(150, 300)
        rest = [flow.mean(300 * i, 300 * (i + 1)) for i in range(1, 12)]
        checks |= {f"{name} at {5 * (i + 1)} min": 0.5 <= mean / first <= 2 for i, mean in enumerate(rest, 1)}
        texts.append(f"{name} {first:,.0f}, later {min(rest):,.0f} to {max(rest):,.0f}")
    return holds(checks, f"packets at 150 to 300 s: {'; '.join(texts)}")


def _wide_band(results: Results) -> Judgement:
    result = results["E7"].where()[0].result()
    widths = []
    for number_ in (0, 1):
        flow = trace_of(result, number_)
        low, high = np.quantile(flow.cwnd[flow.time > 300], [0.05, 0.95])
        widths.append((float(low), float(high)))
    (a, b), (c, d) = widths
    return holds(
        {"HSTCP's band is wider": b - a > d - c},
        f"nine tenths of the time HSTCP {a:,.0f} to {b:,.0f} packets, REGTCP {c:,.0f} to {d:,.0f}",
    )


# --- E11


def start(results: Results, threshold: int) -> Row:
    """The first run with this MAX_SSTHRESH, for the figures."""
    return results["E11"].where(max_ssthresh=threshold)[0]


def first_cut(results: Results, threshold: int) -> tuple[float, float]:
    """Time of the first cut and the window before it: medians over the runs with this MAX_SSTHRESH."""
    cuts = [trace(row).at_first_cut() for row in results["E11"].where(max_ssthresh=threshold)]
    return median([time for time, _ in cuts]), median([cwnd for _, cwnd in cuts])


def lost_in_slow_start(results: Results, threshold: int) -> float:
    """Packets dropped or marked in slow start: the median over the runs with this MAX_SSTHRESH."""
    return median([events_of_slow_start(row) for row in results["E11"].where(max_ssthresh=threshold)])


def delivered(results: Results, threshold: int) -> float:
    """Packets delivered in 100 s: the median over the runs with this MAX_SSTHRESH."""
    return median([float(sequence(row)[1][-1]) for row in results["E11"].where(max_ssthresh=threshold)])


def events_of_slow_start(row: Row) -> int:
    """Packets dropped or marked up to 5 s after the first cut (decision A23), warm-up or not."""
    import polars as pl

    result = row.result()
    cut = trace_of(result).cuts[0]
    links = result.links.filter((pl.col("link") == 0) & (pl.col("time_s") <= cut + 5))
    return sum(int(links[column].sum()) for column in ("drops_queue", "drops_loss", "marks"))


def _row_of_table(
    threshold: int, time: float, cwnd: float, time_within: float, cwnd_within: float, relative: bool = True
) -> Callable[[Results], Judgement]:
    """Time and window at the first cut against a row of table 6.1."""

    def judge(results: Results) -> Judgement:
        at, window = first_cut(results, threshold)
        return both(
            number(at, time, time_within, unit="s", relative=relative),
            number(window, cwnd, cwnd_within, unit="packets"),
        )

    return judge


def _single_events(results: Results) -> Judgement:
    counts = {threshold: lost_in_slow_start(results, threshold) for threshold in (10, 100)}
    judged = both(*(number(n, 1, 0.5, relative=False) for n in counts.values()))
    return Judgement(judged.verdict, ", ".join(f"{n:g} with {t}" for t, n in counts.items()), judged.tolerance)


def _tens(results: Results) -> Judgement:
    return band(lost_in_slow_start(results, 1000), 20, 120, margin=20)


def _tens_of_thousands(results: Results) -> Judgement:
    return number(lost_in_slow_start(results, 0), 27_274, 0.25, unit="packets")


def sequence(row: Row) -> tuple[np.ndarray, np.ndarray]:
    """Packets delivered over time."""
    import polars as pl

    series = row.result().flows.filter(pl.col("flow") == 0)
    time = series["time_s"].to_numpy()
    return time, np.cumsum(series["goodput_bps"].to_numpy() * np.diff(time, prepend=0.0)) / 8 / _MSS


def _first_but_lossy(results: Results) -> Judgement:
    cut = {t: first_cut(results, t)[0] for t in (0, 10, 100, 1000)}
    sent = {t: delivered(results, t) for t in (0, 10, 100, 1000)}
    lost = {t: lost_in_slow_start(results, t) for t in (0, 100)}
    return holds(
        {
            "first to congestion avoidance": cut[0] == min(cut.values()),
            "most losses": lost[0] > 1000 * lost[100],
            "behind 100 at the end": sent[0] < sent[100],
            "behind 1000 at the end": sent[0] < sent[1000],
        },
        f"million packets in 100 s: {', '.join(f'{sent[t] / 1e6:.2f} with {t}' for t in (0, 10, 100, 1000))}",
    )


def _compromise(results: Results) -> Judgement:
    cut = {t: first_cut(results, t)[0] for t in (0, 10, 100, 1000)}
    return holds(
        {"10 > 100": cut[10] > cut[100], "100 > 1000": cut[100] > cut[1000], "1000 > standard": cut[1000] > cut[0]},
        f"slow start ends after {', '.join(f'{cut[t]:.2f} s with {t}' for t in (10, 100, 1000, 0))}",
    )


# --- E12


def _double_cut(results: Results) -> Judgement:
    cuts, timeouts = {}, {}
    for bug in (True, False):
        row = results["E12"].where(bug=bug)[0]
        flow = trace(row)
        if not len(flow.cuts):
            raise NotRun("E12 has no loss")
        pairs = int((np.diff(flow.cuts) < 1.5).sum())
        cuts[bug] = (pairs, len(flow.cuts), utilisation(HSTCP)(row))
        timeouts[bug] = row[f"group.{HSTCP}.timeouts"]
    (bad, bad_cuts, bad_mean), (good, good_cuts, good_mean) = cuts[True], cuts[False]
    return holds(
        {
            "double cuts with the defect": bad > 0,
            "none without": good == 0,
            "lower utilisation with the defect": bad_mean < good_mean,
        },
        f"{bad} of {bad_cuts} cuts within 1.5 s of the last, {bad_mean:.1f} % used, {timeouts[True]:g} timeouts;"
        f" without {good} of {good_cuts}, {good_mean:.1f} %, {timeouts[False]:g}",
    )


def _single_cut(results: Results) -> Judgement:
    flow = trace(results["E12"].where(bug=False)[0])
    if len(flow.cuts) < 2:
        raise NotRun("E12 has fewer than two losses")
    intervals = np.diff(flow.cuts)
    return holds(
        {"every loss is one cut": bool((intervals > 5).all())},
        f"{len(flow.cuts)} cuts, {intervals.min():.1f} to {intervals.max():.1f} s apart, windows up to {flow.cwnd.max():,.0f} packets",
    )


TARGETS = (
    Target("E1.1a", "section 6.1, figure 6.1", "HSTCP reaches the 8333-packet limit before 50 s", "band", _highspeed_full, ("E1",)),
    Target("E1.1b", "section 6.1, figure 6.1", "REGTCP reaches the 8333-packet limit at about 300 s", "band", _standard_full, ("E1",)),
    Target("E1.2", "section 6.1, figure 6.1", "REGTCP's window grows slower than HSTCP's", "ordering", _slower, ("E1",)),
    Target("E1.3", "section 6.1, figure 6.1", "for both, cwnd is higher under DT than under RED", "ordering", _higher_without_red, ("E1",)),
    Target("E1.4a", "section 7.3.2, figure 6.1a", "1 congestion event in about 638,000 packets", "exact", _packets_per_event, ("E1",)),
    Target("E1.4b", "section 7.3.2, figure 6.1a", "one in about 7.73 s", "exact", _interval, ("E1",)),
    Target("E1.4c", "section 7.3.2, figure 6.1a", "CER 1.56e-6", "exact", _event_rate, ("E1",)),
    Target("E1.4d", "section 7.3.2, figure 6.1a", "8,244 packets/RTT, 98.9 % of 8,333", "exact", _share, ("E1",)),
    Target("E1.5", "section 7.2.1, figure 6.1", "REGTCP leaves the link under-used for a large part of the run", "ordering", _underused, ("E1",)),
    Target("E7.1", "section 6.7, figure 6.26", "over one hour both windows stay at their levels", "ordering", _hour, ("E7",)),
    Target("E7.2", "section 6.7, figure 6.26", "HSTCP's window covers a wide band", "ordering", _wide_band, ("E7",)),
    Target(
        "E11.1a", "table 6.1", "MAX_SSTHRESH 10: 63.75 s, cwnd 9919.98", "exact", _row_of_table(10, 63.75, 9919.98, 0.03, 0.02), ("E11",)
    ),
    Target(
        "E11.1b", "table 6.1", "MAX_SSTHRESH 100: 20.75 s, cwnd 9979.66", "exact", _row_of_table(100, 20.75, 9979.66, 0.03, 0.02), ("E11",)
    ),
    Target(
        "E11.1c", "table 6.1", "MAX_SSTHRESH 1000: 3.55 s, cwnd 12726.20", "exact", _row_of_table(1000, 3.55, 12_726.2, 0.03, 0.02), ("E11",)
    ),
    Target(
        "E11.1d", "table 6.1", "standard slow start: 1.30 s, cwnd 33032.00 (decision A24: within 0.35 s)", "exact",
        _row_of_table(0, 1.30, 33_032.0, 0.35, 0.05, relative=False), ("E11",),
    ),
    Target("E11.1e", "table 6.1", "1 packet lost or marked with MAX_SSTHRESH 10 and 100", "exact", _single_events, ("E11",)),
    Target("E11.1f", "table 6.1", "58 packets lost or marked with MAX_SSTHRESH 1000", "band", _tens, ("E11",)),
    Target("E11.1g", "table 6.1", "27,274 packets lost or marked with standard slow start", "exact", _tens_of_thousands, ("E11",)),
    Target(
        "E11.2", "section 6.11, figures 6.38, 6.39",
        "standard slow start reaches congestion avoidance first, but with massive loss; sequence numbers lag behind", "ordering",
        _first_but_lossy, ("E11",),
    ),
    Target("E11.3", "section 6.11", "10 avoids loss but is very slow (63.75 s); 100 is the compromise", "ordering", _compromise, ("E11",)),
    Target("E12.1", "section 7.3.3, figure 7.2", "with the SACK defect a loss cuts the window twice, and throughput stays low", "ordering", _double_cut, ("E12",)),
    Target("E12.2", "section 7.3.3", "without it every loss causes one cut, at windows of any size", "ordering", _single_cut, ("E12",)),
)  # fmt: skip
