"""Targets from the thesis, by figure, and from its future work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..model import Target
from ..results import Metric, NotRun, Results, Row
from ..verdict import Judgement, band, both, flat, holds, listed, number, trend
from .findings import reason
from .grids import PARETO_FLOWS, QUEUES
from .measures import cwnd, delivery, fairness, per_flow, retransmissions, utilisation

#: Tolerance of the numbers, which are read from means of fluctuating series.
WITHIN = 0.03


def at(
    results: Results, experiment: str, mode: str, queue: str, packets: int, flows: int, metric: Metric = utilisation
) -> float:
    """A metric at a point."""
    return results[experiment].median(metric, mode=mode, queue=queue, packets=packets, flows=flows)


def _number(
    paper: float, mode: str, queue: str, packets: int, flows: int, *, experiment: str = "ftp", metric: Metric = utilisation,
    unit: str = "Mbit/s", within: float = WITHIN,
) -> Callable[[Results], Judgement]:  # fmt: skip
    return lambda results: number(
        at(results, experiment, mode, queue, packets, flows, metric), paper, within, unit=unit
    )


def _any_queue(paper: float, queue: str, flows: int) -> Callable[[Results], Judgement]:
    """With the PEP, at every size of the local queue."""

    def judge(results: Results) -> Judgement:
        values = results["ftp"].series(utilisation, "packets", mode="cubic", queue=queue, flows=flows)
        worst = max(values.values(), key=lambda value: abs(value - paper))
        return Judgement(number(worst, paper, WITHIN).verdict, listed(values, "Mbit/s"))

    return judge


def long_hop(row: Row) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, window in packets and throughput in Mbit/s of the split connection."""
    table = row.result().long_hops
    table = table.filter(table["port"] == 0)
    return table["time_s"].to_numpy(), table["cwnd_bytes"].to_numpy() / 1000, table["throughput_bps"].to_numpy() / 1e6


def _hours(results: Results) -> Row:
    return results["long"].where(mode="sack")[0]


def backs_off(row: Row) -> float:
    """When the window is first cut, slow start's cut apart."""
    time, window, _ = long_hop(row)
    cuts = np.flatnonzero((window[1:] < 0.7 * window[:-1]) & (time[1:] > 100))
    if not len(cuts):
        raise NotRun("the window is not cut in this run")
    return float(time[cuts[0] + 1])


def _back_off(results: Results) -> Judgement:
    return number(backs_off(_hours(results)), 5500, 0.1, unit="s")


def _full_again(results: Results) -> Judgement:
    row = _hours(results)
    time, _, rate = long_hop(row)
    begin = backs_off(row)
    before = float(np.median(rate[(time > begin - 200) & (time < begin - 5)]))
    smooth = np.convolve(rate, np.ones(20) / 20, mode="same")
    again = time[(time > begin + 30) & (smooth >= 0.99 * before)]
    took = float(again[0]) - begin if len(again) else float("inf")
    return holds({"more than 2500 s": took > 2500}, f"{took:.0f} s")


def series_of(row: Row, flow: int) -> np.ndarray:
    """A flow's goodput in each measured second in Mbit/s."""
    table = row.result().flows
    table = table.filter((table["flow"] == flow) & (table["time_s"] > 300))
    return table["goodput_bps"].to_numpy() / 1e6


def _seconds(
    results: Results, mode: str, queue: str, packets: int, flows: int, flow: int, experiment: str
) -> np.ndarray:
    row = results[experiment].where(mode=mode, queue=queue, packets=packets, flows=flows)[0]
    if not (row.path / "flows.parquet").exists():
        raise NotRun(f"no time series of {mode}, {queue} {packets}, {flows} flows")
    return series_of(row, flow)


def _one_flow(results: Results) -> Judgement:
    """Flow 23 of 50, RED, queue 600."""
    pep = _seconds(results, "cubic", "red", 600, 50, 23, "ftp")
    none = _seconds(results, "none", "red", 600, 50, 23, "ftp")
    low, zero = float(np.mean(pep < 1)), (float(np.mean(none < 0.1)), float(np.mean(pep < 0.1)))
    return holds(
        {"rarely under 1 with": low < 0.1, "more often at 0 without": zero[0] > zero[1]},
        f"with the PEP under 1 Mbit/s in {100 * low:.1f} % of the seconds; under 0.1 in {100 * zero[0]:.1f} % without, {100 * zero[1]:.1f} % with",
    )


def _less_even(results: Results) -> Judgement:
    """Flow 23 of 50 with the PEP: DropTail against RED."""
    red, tail = (_seconds(results, "cubic", queue, 600, 50, 23, "ftp") for queue in ("red", "droptail"))
    return both(
        holds(
            {"DropTail less even": tail.std() > red.std()}, f"deviation {tail.std():.2f} against {red.std():.2f} Mbit/s"
        ),
        band(float(tail.max()), 4, 6, margin=1, unit="Mbit/s at most"),
    )


def _pareto_even(results: Results) -> Judgement:
    """Flow 547 of 750, queue 1500."""
    red, tail = (_seconds(results, "cubic", queue, 1500, 750, 547, "pareto") for queue in ("red", "droptail"))
    return holds(
        {"RED's peaks are higher": red.max() > tail.max()}, f"largest {red.max():.2f} and {tail.max():.2f} Mbit/s"
    )


def _flow_mean(mode: str, queue: str, paper: float) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        mean = 1000 * float(_seconds(results, mode, queue, 1500, 750, 547, "pareto").mean())
        return number(mean, paper, 0.25, unit="kbit/s")

    return judge


def _window_ratio(queue: str, paper: float) -> Callable[[Results], Judgement]:
    """Mean over the queues of the ratio of the senders' windows with and without the PEP, 50 flows."""

    def judge(results: Results) -> Judgement:
        table = results["ftp"]
        pep, none = (table.series(cwnd, "packets", mode=mode, queue=queue, flows=50) for mode in ("cubic", "none"))
        ratios = {packets: pep[packets] / none[packets] for packets in pep}
        mean = sum(ratios.values()) / len(ratios)
        verdict = number(mean, paper, 0.5).verdict
        return Judgement(verdict, f"{100 * mean:.1f} %; " + listed({p: 100 * r for p, r in ratios.items()}, "%"))

    return judge


def _window_and_queue(results: Results) -> Judgement:
    table = results["ftp"]
    none = table.series(cwnd, "packets", mode="none", queue="droptail", flows=50)
    red = table.series(cwnd, "packets", mode="cubic", queue="red", flows=50)
    return both(trend(none, rising=True, unit="packets"), flat(red, 0.2, unit="packets with the PEP and RED"))


def _best_number(results: Results) -> Judgement:
    """Without the PEP, DropTail, queue 1000."""
    values = results["ftp"].series(utilisation, "flows", mode="none", queue="droptail", packets=1000)
    best = max(values, key=lambda flows: values[flows])
    checks = {"best from 5 to 50 flows": 5 <= best <= 50, "less with one": values[1] < values[best] - 2}
    if 500 in values:
        checks["less with 500"] = values[500] < values[best]
    return holds(checks, listed(values, "Mbit/s"))


def _largest_queue(results: Results) -> Judgement:
    table = results["ftp"]
    gains: dict[Any, float] = {}
    for queue in ("red", "droptail"):
        pep, none = (
            table.series(utilisation, "flows", mode=mode, queue=queue, packets=3000) for mode in ("cubic", "none")
        )
        gains |= {f"{flows} flows, {queue}": pep[flows] / none[flows] for flows in pep if flows >= 5}
    return holds({name: gain < 1.05 for name, gain in gains.items()}, "PEP over none: " + listed(gains))


def _small_suffices(results: Results) -> Judgement:
    table = results["ftp"]
    places = [
        (queue, flows)
        for queue in ("red", "droptail")
        for flows in table.points("flows", mode="cubic", queue=queue)
        if flows in (5, 25, 50)
    ]
    judgements = [
        flat(table.series(utilisation, "packets", mode="cubic", queue=queue, flows=flows), WITHIN, unit="Mbit/s")
        for queue, flows in places
    ]
    return both(*judgements)


def _single(results: Results) -> Judgement:
    table = results["ftp"]
    pep, none = (
        table.series(utilisation, "packets", mode=mode, queue="droptail", flows=1) for mode in ("cubic", "none")
    )
    gains = {packets: pep[packets] / none[packets] for packets in pep}
    checks = {f"gain at {packets}": gain > 1.05 for packets, gain in gains.items() if packets < 3000}
    return holds({**checks, "no gain at 3000": gains[3000] < 1.05}, "PEP over none: " + listed(gains))


def _largest_gain(results: Results) -> Judgement:
    gains: dict[Any, float] = {}
    for row in results["ftp"].rows:
        p = row.parameters
        if p["mode"] == "cubic" and row.metrics is not None:
            none = at(results, "ftp", "none", p["queue"], p["packets"], p["flows"])
            gains[p["queue"], p["packets"], p["flows"]] = utilisation(row) / none
    if not gains:
        raise NotRun("ftp has not been run")
    place = max(gains, key=lambda key: gains[key])
    return band(gains[place], 1.5, 5.5, margin=1, unit="times at most, {} {} with {} flows".format(*place))


def _no_sack_gain(results: Results) -> Judgement:
    table = results["ftp"]
    values = {mode: table.series(utilisation, "packets", mode=mode, queue="red", flows=50) for mode in ("sack", "none")}
    return holds(
        {str(packets): values["sack"][packets] < values["none"][packets] for packets in values["sack"]},
        f"with SACK {listed(values['sack'], 'Mbit/s')}",
    )


def _few_pareto(results: Results) -> Judgement:
    checks = {}
    text = {}
    for packets in QUEUES:
        pep, none = (at(results, "pareto", mode, "red", packets, 500) for mode in ("cubic", "none"))
        checks[str(packets)], text[packets] = abs(pep / none - 1) < WITHIN, pep / none
    return holds(checks, "PEP over none: " + listed(text))


def _many_pareto(results: Results) -> Judgement:
    """PEP with a local queue of at most 1500, more than 500 flows."""
    flows = [n for n in PARETO_FLOWS if n > 500]
    values = {n: at(results, "pareto", "cubic", "droptail", 600, n) for n in flows}
    worst = max(values.values(), key=lambda value: abs(value - 95.4))
    return Judgement(number(worst, 95.4, WITHIN).verdict, listed(values, "Mbit/s"))


def _none_pareto(paper: float, packets: int) -> Callable[[Results], Judgement]:
    """Mean over the numbers of flows above 500, RED."""

    def judge(results: Results) -> Judgement:
        values = results["pareto"].series(utilisation, "flows", mode="none", queue="red", packets=packets)
        mean = [value for flows, value in values.items() if flows > 500]
        return number(sum(mean) / len(mean), paper, WITHIN, unit="Mbit/s")

    return judge


def _gain_pareto(results: Results) -> Judgement:
    table = results["pareto"]
    gains: dict[Any, float] = {}
    for queue in ("red", "droptail"):
        pep, none = (
            table.series(utilisation, "packets", mode=mode, queue=queue, flows=750) for mode in ("cubic", "none")
        )
        gains |= {f"{queue} {packets}": pep[packets] / none[packets] for packets in pep}
    return band(max(gains.values()), 1.1, 1.25, margin=0.1, unit="times at most")


def _control(results: Results) -> Judgement:
    """Windows that close, compared with the thesis's local queue."""
    table = results["control"]
    queue, windows = (
        {m.__name__: table.median(m, variant=v) for m in (utilisation, fairness, delivery, retransmissions)}
        for v in ("local queue, timer", "windows")
    )
    return holds(
        {
            "same throughput": windows["utilisation"] > 0.98 * queue["utilisation"], "same fairness": windows["fairness"] > queue["fairness"] - 0.01,
            "fewer retransmissions": windows["retransmissions"] < queue["retransmissions"], "no longer delivery": windows["delivery"] < 1.1 * queue["delivery"],
        },
        "; ".join(
            f"{name}: {v['utilisation']:.1f} Mbit/s, Jain {v['fairness']:.3f}, {v['delivery']:.2f} s to deliver, {100 * v['retransmissions']:.2f} % retransmitted"
            for name, v in (("local queue", queue), ("windows", windows))
        ),
    )  # fmt: skip


_F, _P, _L = ("ftp",), ("pareto",), ("long",)


def _exact(
    name: str, figure: str, text: str, judge: Callable[[Results], Judgement], experiments: tuple[str, ...] = _F
) -> Target:
    return Target(name, figure, text, "exact", judge, experiments)


def _shape(
    name: str, figure: str, text: str, judge: Callable[[Results], Judgement], experiments: tuple[str, ...] = _F
) -> Target:
    return Target(name, figure, text, "ordering", judge, experiments)


_ALL = (
    _exact("S1a", "figure 4.1", "SACK on the split link: first back-off at about 5500 s", _back_off, _L),
    _exact("S1b", "figure 4.1", "then more than 2500 s until full utilisation", _full_again, _L),
    _shape("S1c", "figure 4.1", "no gain from a PEP with SACK", _no_sack_gain),
    *(
        _exact(f"S2{letter}", "figure 4.2", f"50 FTP, RED, queue {packets}, no PEP: {paper} Mbit/s", _number(paper, "none", "red", packets, 50))
        for letter, packets, paper in (("a", 3000, 95), ("b", 1500, 88.9), ("c", 1000, 87.9))
    ),
    _exact("S2d", "figure 4.2", "50 FTP, RED, PEP with CUBIC: 94.2 Mbit/s at any queue", _any_queue(94.2, "red", 50)),
    *(
        _exact(f"S3{letter}", "figure 4.3", f"50 FTP, RED, queue {packets}, a flow's mean {'with the PEP' if mode == 'cubic' else 'without'}: {paper} Mbit/s",
               _number(paper, mode, "red", packets, 50, metric=per_flow))
        for letter, mode, packets, paper in (("a", "cubic", 3000, 1.8), ("b", "cubic", 600, 1.8), ("c", "none", 3000, 1.92), ("d", "none", 600, 1.68))
    ),
    _shape("S3e", "figure 4.3", "flow 23: with the PEP rarely under 1 Mbit/s; without it often at 0", _one_flow),
    *(
        _exact(f"S4{letter}", "figure 4.4", f"as S3 with DropTail, queue {packets}, {'PEP' if mode == 'cubic' else 'no PEP'}: {paper} Mbit/s",
               _number(paper, mode, "droptail", packets, 50, metric=per_flow))
        for letter, mode, packets, paper in (("a", "cubic", 3000, 1.8), ("b", "cubic", 600, 1.8), ("c", "none", 3000, 1.92), ("d", "none", 600, 1.68))
    ),
    _shape("S4e", "figure 4.4", "flow 23 with the PEP: peaks to 5 Mbit/s, less even than with RED", _less_even),
    *(
        _exact(f"S5{letter}", "figure 4.5", f"500 FTP, RED, queue {packets}, no PEP: {paper} Mbit/s", _number(paper, "none", "red", packets, 500))
        for letter, packets, paper in (("a", 3000, 93.3), ("b", 1500, 85.1), ("c", 1000, 81.5))
    ),
    _exact("S5d", "figure 4.5", "500 FTP, RED, PEP: 94.1 Mbit/s", _any_queue(94.1, "red", 500)),
    *(
        _exact(f"S6{letter}", "figure 4.6", f"5 FTP, DropTail, queue {packets}, no PEP: {paper} Mbit/s", _number(paper, "none", "droptail", packets, 5))
        for letter, packets, paper in (("a", 3000, 96.2), ("b", 1500, 87.8), ("c", 1000, 78.4))
    ),
    _exact("S6d", "figure 4.6", "5 FTP, PEP: 94.2 Mbit/s", _any_queue(94.2, "droptail", 5)),
    _exact("S7a", "figure 4.7", "50 FTP, DropTail: senders' cwnd with the PEP about 30 % of that without", _window_ratio("droptail", 0.30)),
    _exact("S7b", "figure 4.7", "the same with RED: about 3 %", _window_ratio("red", 0.03)),
    _shape("S7c", "figure 4.7", "cwnd without the PEP proportional to the queue; with RED and the PEP independent of it", _window_and_queue),
    _shape("S8a", "figure 4.8", "without the PEP best at 10 to 25 flows, worse below and above", _best_number),
    _shape("S8b", "figure 4.8", "queue 3000: the PEP gains nothing", _largest_queue),
    _shape("S8c", "figure 4.8", "a local queue of 300 suffices", _small_suffices),
    _shape("S8d", "figure 4.8", "a single flow gains, unless the queue is 3000", _single),
    Target("S8e", "figure 4.8", "gains of a few per cent up to a factor of 5", "band", _largest_gain, _F),
    *(
        _exact(f"S9{letter}", "figure 4.9", f"750 Pareto, RED, queue {packets}, {'PEP' if mode == 'cubic' else 'no PEP'}: {paper} Mbit/s",
               _number(paper, mode, "red", packets, 750, experiment="pareto"), _P)
        for letter, mode, packets, paper in (
            ("a", "none", 3000, 95.3), ("b", "none", 1500, 89.9), ("c", "none", 1000, 87.2), ("d", "cubic", 3000, 93.8), ("e", "cubic", 1500, 95.4),
            ("f", "cubic", 1000, 95.4),
        )
    ),
    *(
        _exact(f"S10{letter}", "figure 4.10", f"flow 547 of 750 Pareto, queue 1500, {text}: {paper} kbit/s", _flow_mean(mode, queue, paper), _P)
        for letter, mode, queue, paper, text in (("a", "none", "droptail", 103, "no PEP"), ("b", "cubic", "droptail", 105, "DropTail"), ("c", "cubic", "red", 152, "RED"))
    ),
    *(
        _exact(f"S10{letter}", "figure 4.10", f"all 750 Pareto flows, queue 1500, {text}: {paper} kbit/s",
               _number(paper / 1000, mode, "red", 1500, 750, experiment="pareto", metric=per_flow), _P)
        for letter, mode, paper, text in (("d", "none", 119, "no PEP"), ("e", "cubic", 120, "PEP"))
    ),
    _shape("S10f", "figure 4.11", "RED gives short high peaks, DropTail a steadier share", _pareto_even, _P),
    _shape("S11a", "figure 4.12", "500 Pareto flows: no effect", _few_pareto, _P),
    _exact("S11b", "figure 4.12", "above: PEP 95.4 Mbit/s for any number of flows", _many_pareto, _P),
    *(
        _exact(f"S11{letter}", "figure 4.12", f"no PEP, queue {packets}: {paper} Mbit/s", _none_pareto(paper, packets), _P)
        for letter, packets, paper in (("c", 1500, 88.5), ("d", 1000, 86.0), ("e", 600, 82.0), ("f", 300, 80.0))
    ),
    *(
        _exact(f"S11{letter}", "figure 4.12", f"PEP, {queue}, local queue {packets}, {flows} flows: {paper} Mbit/s",
               _number(paper, "cubic", queue, packets, flows, experiment="pareto"), _P)
        for letter, queue, packets, flows, paper in (
            ("g", "red", 3000, 750, 93.8), ("h", "red", 3000, 1500, 91.0), ("i", "red", 1500, 1500, 94.4), ("j", "droptail", 3000, 750, 95.4),
        )
    ),
    Target("S11k", "figure 4.12", "gains up to 20 %", "band", _gain_pareto, _P),
    _shape("F1", "its future work", "Other flow control: windows that close instead of a queue that drops (ours: same throughput, same fairness, fewer retransmissions, no longer delivery)", _control, ("control",)),
)  # fmt: skip

TARGETS = tuple(replace(target, reason=reason(target.id)) for target in _ALL)
