"""Targets from the thesis, by figure, and from its future work."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..model import Target, classed
from ..results import Metric, NotRun, Results, Row
from ..verdict import Judgement, both, flat, holds, listed, number, over_seeds
from . import related
from .findings import reason
from .measures import cwnd, delivery, fairness, per_flow, retransmissions, utilisation
from .scenarios import CEILING, PACKET, PAYLOAD, RATE

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
    """Over the seeds of a point. Without the PEP the queue is the split link's own, DropTail (decision D5)."""
    tested = "droptail" if mode == "none" else queue
    return lambda results: over_seeds(
        results[experiment].values(metric, mode=mode, queue=tested, packets=packets, flows=flows),
        paper,
        within,
        unit=unit,
    )


def _and_against(
    paper: float, point: tuple[str, int, int], other_paper: float, other: tuple[str, int, int]
) -> Callable[[Results], Judgement]:
    """A number of Pareto flows with the PEP, and its difference from another one, within half of it: within 3 % all would be alike."""

    def judge(results: Results) -> Judgement:
        def values(queue: str, packets: int, flows: int) -> list[float]:
            return results["pareto"].values(utilisation, mode="cubic", queue=queue, packets=packets, flows=flows)

        own, others = values(*point), values(*other)
        apart = paper - other_paper
        effect = over_seeds(
            [a - b for a, b in zip(own, others, strict=True)], apart, abs(apart) / 2, unit="Mbit/s", relative=False
        )
        found = both(over_seeds(own, paper, WITHIN, unit="Mbit/s"), effect)
        return Judgement(
            found.verdict, found.measured.replace("; ", f"; against {other[0]} {other[1]}: "), found.tolerance
        )

    return judge


def _any_queue(paper: float, queue: str, flows: int) -> Callable[[Results], Judgement]:
    """With the PEP, at every size of the local queue."""

    def judge(results: Results) -> Judgement:
        values = results["ftp"].series(utilisation, "packets", mode="cubic", queue=queue, flows=flows)
        worst = max(values.values(), key=lambda value: abs(value - paper))
        judged = number(worst, paper, WITHIN)
        return Judgement(judged.verdict, listed(values, "Mbit/s"), judged.tolerance)

    return judge


def long_hop(row: Row) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time, window in packets and throughput in Mbit/s of the split connection."""
    table = row.result().long_hops
    table = table.filter(table["port"] == 0)
    return table["time_s"].to_numpy(), table["cwnd_bytes"].to_numpy() / 1000, table["throughput_bps"].to_numpy() / 1e6


def backs_off(row: Row) -> float:
    """When the window is first cut, slow start's cut apart."""
    time, window, _ = long_hop(row)
    cuts = np.flatnonzero((window[1:] < 0.7 * window[:-1]) & (time[1:] > 100))
    if not len(cuts):
        raise NotRun("the window is not cut in this run")
    return float(time[cuts[0] + 1])


def _back_off(results: Results) -> Judgement:
    return over_seeds([backs_off(row) for row in results["long"].where(mode="sack")], 5500, 0.1, unit="s")


def full_again(row: Row) -> float:
    """Seconds from the first back-off until the throughput before it is reached again; infinite if it is not."""
    time, _, rate = long_hop(row)
    begin = backs_off(row)
    before = float(np.median(rate[(time > begin - 200) & (time < begin - 5)]))
    smooth = np.convolve(rate, np.ones(20) / 20, mode="same")
    again = time[(time > begin + 30) & (smooth >= 0.99 * before)]
    return float(again[0]) - begin if len(again) else math.inf


def _full_again(results: Results) -> Judgement:
    took = sorted(full_again(row) for row in results["long"].where(mode="sack"))
    return holds(
        {"more than 2500 s": took[0] > 2500}, " to ".join(f"{s:.0f}" for s in dict.fromkeys((took[0], took[-1]))) + " s"
    )


def series_of(row: Row, flow: int) -> np.ndarray:
    """A flow's goodput in each measured second in Mbit/s."""
    result = row.result()
    table = result.flows
    table = table.filter((table["flow"] == flow) & (table["time_s"] > float(result.summary["warmup_s"])))
    return table["goodput_bps"].to_numpy() / 1e6


def _seconds(
    results: Results, mode: str, queue: str, packets: int, flows: int, flow: int, experiment: str
) -> np.ndarray:
    """A flow's seconds in all seeds, one after the other."""
    rows = results[experiment].where(mode=mode, queue=queue, packets=packets, flows=flows)
    if not all((row.path / "flows.parquet").exists() for row in rows):
        raise NotRun(f"no time series of {mode}, {queue} {packets}, {flows} flows")
    return np.concatenate([series_of(row, flow) for row in rows])


def _one_flow(results: Results) -> Judgement:
    """Flow 23 of 50, queue 600: the PEP's local queue is RED, the link's DropTail."""
    pep = _seconds(results, "cubic", "red", 600, 50, 23, "ftp")
    none = _seconds(results, "none", "droptail", 600, 50, 23, "ftp")
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
        number(float(tail.max()), 5, 0.2, unit="Mbit/s at most"),
    )


def _minima(results: Results, mode: str, queue: str) -> list[float]:
    """The smallest payload on the split link in a second of each run, in Mbit/s: 500 flows, queue 3000."""
    found = []
    for row in results["ftp"].where(mode=mode, queue=queue, packets=3000, flows=500):
        result = row.result()
        place = next(i for i, link in enumerate(result.summary["links"]) if link["name"] == "split.forward")
        table = result.links.filter(
            (result.links["link"] == place) & (result.links["time_s"] > float(result.summary["warmup_s"]))
        )
        found.append(float(table["throughput_bps"].min()) * PAYLOAD / PACKET / 1e6)  # type: ignore[arg-type]
    return found


def _dips(mode: str, queue: str, paper: float, within: float) -> Callable[[Results], Judgement]:
    return lambda results: over_seeds(
        _minima(results, mode, queue), paper, within, unit="Mbit/s at least in a second", relative=False
    )


def _pareto_even(results: Results) -> Judgement:
    """Flow 547 of 750, queue 1500."""
    red, tail = (_seconds(results, "cubic", queue, 1500, 750, 547, "pareto") for queue in ("red", "droptail"))
    return holds(
        {"RED's peaks are higher": red.max() > tail.max(), "RED is less steady": red.std() > tail.std()},
        f"largest {red.max():.2f} and {tail.max():.2f} Mbit/s, deviation {red.std():.3f} and {tail.std():.3f}",
    )


def _flow_contrast(queue: str, paper: float) -> Callable[[Results], Judgement]:
    """Flow 547's mean with the PEP over that without it: single means follow from the draws of the source."""

    def judge(results: Results) -> Judgement:
        pep = results["pareto"].where(mode="cubic", queue=queue, packets=1500, flows=750)
        none = results["pareto"].where(mode="none", queue="droptail", packets=1500, flows=750)
        ratios = [float(series_of(a, 547).mean() / series_of(b, 547).mean()) for a, b in zip(pep, none, strict=True)]
        return over_seeds(ratios, paper, 0.1, unit="times")

    return judge


#: The queues of figure 4.7.
_OF_FIGURE_4_7 = (1000, 1500, 3000)


def window_ratio(results: Results, queue: str) -> float:
    """Mean over the queues of figure 4.7 of the senders' windows with the PEP over those without it, 50 flows."""
    ratios = _window_ratios(results, queue)
    return sum(ratios.values()) / len(ratios)


def _window_ratios(results: Results, queue: str) -> dict[int, float]:
    return {
        p: at(results, "ftp", "cubic", queue, p, 50, cwnd) / at(results, "ftp", "none", "droptail", p, 50, cwnd)
        for p in _OF_FIGURE_4_7
    }


def _shrinks_to(queue: str, paper: float) -> Callable[[Results], Judgement]:
    """Target S7a, S7b: "about" a share, so within a quarter of it."""

    def judge(results: Results) -> Judgement:
        mean = window_ratio(results, queue)
        judged = number(mean, paper, 0.25)
        each = listed({p: 100 * r for p, r in _window_ratios(results, queue).items()}, "%")
        return Judgement(judged.verdict, f"{100 * mean:.1f} %; {each}", judged.tolerance)

    return judge


def _window_and_queue(results: Results) -> Judgement:
    """A straight line over the queue without the PEP (a window of nothing is not needed: the pipe holds 3250 packets), flat with it and RED."""
    table = results["ftp"]
    none = table.series(cwnd, "packets", mode="none", queue="droptail", flows=50)
    red = table.series(cwnd, "packets", mode="cubic", queue="red", flows=50)
    x, y = np.array(list(none), float), np.array(list(none.values()))
    slope, start = np.polyfit(x, y, 1)
    off = float(np.max(np.abs(y - start - slope * x)) / y.mean())
    rises = float(y[-1] / y[0])
    return both(
        holds(
            {"at least half as much again with the largest queue": rises >= 1.5, "a straight line": off <= 0.1},
            f"{listed(none, 'packets')}, {rises:.1f} times, {100 * off:.0f} % off a line",
        ),
        flat(red, 0.1, unit="packets with the PEP and RED"),
    )


def _best_number(results: Results) -> Judgement:
    """Without the PEP, queue 1000."""
    values = results["ftp"].series(utilisation, "flows", mode="none", queue="droptail", packets=1000)
    best = max(values, key=lambda flows: values[flows])
    checks = {"best from 10 to 25 flows": 10 <= best <= 25, "less with one": values[1] < values[best] - 2}
    checks |= {f"less with {n}": values[n] < values[best] - 1 for n in values if n >= 50}
    return holds(checks, listed(values, "Mbit/s"))


def _largest_queue(results: Results) -> Judgement:
    table = results["ftp"]
    gains: dict[Any, float] = {}
    for queue in ("red", "droptail"):
        for flows in table.points("flows", mode="cubic", queue=queue, packets=3000):
            pep = at(results, "ftp", "cubic", queue, 3000, flows)
            gains[f"{flows} flows, {queue}"] = pep / at(results, "ftp", "none", "droptail", 3000, flows)
    return holds({name: gain <= 1 + WITHIN for name, gain in gains.items()}, "PEP over none: " + listed(gains))


def _small_suffices(results: Results) -> Judgement:
    table = results["ftp"]
    places = [
        (queue, flows)
        for queue in ("red", "droptail")
        for flows in table.points("flows", mode="cubic", queue=queue)
        if len(table.points("packets", mode="cubic", queue=queue, flows=flows)) > 1
    ]
    judgements = [
        flat(table.series(utilisation, "packets", mode="cubic", queue=queue, flows=flows), WITHIN, unit="Mbit/s")
        for queue, flows in places
    ]
    return both(*judgements)


def _single(results: Results) -> Judgement:
    pep = results["ftp"].series(utilisation, "packets", mode="cubic", queue="droptail", flows=1)
    gains = {p: pep[p] / at(results, "ftp", "none", "droptail", p, 1) for p in pep}
    checks = {f"gain at {packets}": gain > 1.05 for packets, gain in gains.items() if packets < 3000}
    return holds({**checks, "no gain at 3000": gains[3000] < 1.05}, "PEP over none: " + listed(gains))


def _largest_gain(results: Results) -> Judgement:
    gains: dict[Any, float] = {}
    for row in results["ftp"].rows:
        p = row.parameters
        if p["mode"] == "cubic" and results["ftp"].has(mode="none", packets=p["packets"], flows=p["flows"]):
            none = at(results, "ftp", "none", "droptail", p["packets"], p["flows"])
            gains[p["queue"], p["packets"], p["flows"]] = utilisation(row) / none
    if not gains:
        raise NotRun("ftp has not been run")
    place = max(gains, key=lambda key: gains[key])
    return number(gains[place], 5, 0.2, unit="times at most, {} {} with {} flow(s)".format(*place))


def _no_sack_gain(results: Results) -> Judgement:
    sack = results["ftp"].series(utilisation, "packets", mode="sack", queue="red", flows=50)
    none = {p: at(results, "ftp", "none", "droptail", p, 50) for p in sack}
    return holds(
        {str(p): sack[p] < none[p] for p in sack},
        f"with SACK {listed(sack, 'Mbit/s')}; without the PEP {listed(none, 'Mbit/s')}",
    )


def _few_pareto(results: Results) -> Judgement:
    checks = {}
    text = {}
    for packets in results["pareto"].points("packets", mode="cubic", queue="red", flows=500):
        pep, none = (
            at(results, "pareto", mode, queue, packets, 500) for mode, queue in (("cubic", "red"), ("none", "droptail"))
        )
        checks[str(packets)], text[packets] = abs(pep / none - 1) < WITHIN, pep / none
    return holds(checks, "PEP over none: " + listed(text))


def _many_pareto(results: Results) -> Judgement:
    """PEP with a local queue of 600, more than 500 flows."""
    table = results["pareto"]
    flows = [n for n in table.points("flows", mode="cubic", queue="droptail", packets=600) if n >= 750]
    if not flows:
        raise NotRun("pareto has no point of 750 flows and more with the PEP over a queue of 600 at this scale")
    values = {n: at(results, "pareto", "cubic", "droptail", 600, n) for n in flows}
    worst = max(values.values(), key=lambda value: abs(value - 95.4))
    judged = number(worst, 95.4, WITHIN)
    return Judgement(judged.verdict, listed(values, "Mbit/s"), judged.tolerance)


def _none_pareto(paper: float, packets: int) -> Callable[[Results], Judgement]:
    """Mean over the numbers of flows from 750 on and over seeds."""

    def judge(results: Results) -> Judgement:
        table = results["pareto"]
        flows = [n for n in table.points("flows", mode="none", packets=packets) if n >= 750]
        if not flows:
            raise NotRun(f"pareto has no point of 750 flows and more over a queue of {packets} at this scale")
        each = [table.values(utilisation, mode="none", queue="droptail", packets=packets, flows=n) for n in flows]
        return over_seeds(
            [sum(values) / len(values) for values in zip(*each, strict=True)], paper, WITHIN, unit="Mbit/s"
        )

    return judge


def _saturates(results: Results) -> Judgement:
    values = results["pareto"].values(utilisation, mode="none", queue="droptail", packets=600, flows=650)
    return over_seeds(values, CEILING, WITHIN, unit="Mbit/s")


def _gain_pareto(results: Results) -> Judgement:
    table = results["pareto"]
    gains: dict[Any, float] = {}
    for queue in ("red", "droptail"):
        pep = table.series(utilisation, "packets", mode="cubic", queue=queue, flows=750)
        gains |= {
            f"{queue} {p}": pep[p] / at(results, "pareto", "none", "droptail", p, 750)
            for p in pep
            if table.has(mode="none", packets=p, flows=750)
        }
    most = max(gains.values())
    judged = number(most, 1.2, 0.05)
    return replace(judged, measured=f"at most {most:.2f} times ({100 * (most / 1.2 - 1):+.1f} %)")


def _red_settings(_: Results) -> Judgement:
    """Table 4.1 by ns-2's automatic configuration with a mean packet of 500 bytes."""
    ptc = RATE / (8 * 500)
    least = max(5.0, 0.005 * ptc / 2)
    weight = 1 - math.exp(-1 / (10 * 3 * (0.25 + 1 / ptc) * ptc))
    return holds(
        {
            "min_thresh": abs(least - 62.5) < 0.05,
            "max_thresh": abs(3 * least - 187.5) < 0.05,
            "w_q": f"{weight:.0e}" == "5e-06",
        },
        f"{least:g}, {3 * least:g}, {weight:.3e}",
    )


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
        _exact(f"S2{letter}", "figure 4.2", f"50 FTP, RED, queue {packets}, no PEP: {paper} Mbit/s", _number(paper, "none", "droptail", packets, 50))
        for letter, packets, paper in (("a", 3000, 95), ("b", 1500, 88.9), ("c", 1000, 87.9))
    ),
    _exact("S2d", "figure 4.2", "50 FTP, PEP with CUBIC and RED: 94.2 Mbit/s at any queue", _any_queue(94.2, "red", 50)),
    *(
        _exact(f"S3{letter}", "figure 4.3", f"50 FTP, queue {packets}, a flow's mean {'with PEP and RED' if mode == 'cubic' else 'without PEP'}: {paper} Mbit/s",
               _number(paper, mode, "red", packets, 50, metric=per_flow))
        for letter, mode, packets, paper in (("a", "cubic", 3000, 1.8), ("b", "cubic", 600, 1.8), ("c", "none", 3000, 1.92), ("d", "none", 600, 1.68))
    ),
    _shape("S3e", "figure 4.3", "flow 23: with the PEP rarely under 1 Mbit/s; without it often at 0", _one_flow),
    *(
        _exact(f"S4{letter}", "figure 4.4", f"as S3, the PEP with DropTail, queue {packets}, {'PEP' if mode == 'cubic' else 'no PEP'}: {paper} Mbit/s",
               _number(paper, mode, "droptail", packets, 50, metric=per_flow))
        for letter, mode, packets, paper in (("a", "cubic", 3000, 1.8), ("b", "cubic", 600, 1.8), ("c", "none", 3000, 1.92), ("d", "none", 600, 1.68))
    ),
    _shape("S4e", "figure 4.4", "flow 23 with the PEP: peaks to 5 Mbit/s, less even than with RED", _less_even),
    *(
        _exact(f"S5{letter}", "figure 4.5", f"500 FTP, queue {packets}, no PEP: {paper} Mbit/s", _number(paper, "none", "red", packets, 500))
        for letter, packets, paper in (("a", 3000, 93.3), ("b", 1500, 85.1), ("c", 1000, 81.5))
    ),
    _exact("S5d", "figure 4.5", "500 FTP, PEP with RED: 94.1 Mbit/s", _any_queue(94.1, "red", 500)),
    _exact("S5e", "figure 4.5", "500 FTP, no PEP: dips to 70 Mbit/s", _dips("none", "droptail", 70, 5)),
    _exact("S5f", "figure 4.5", "500 FTP, PEP with RED: never under about 90 Mbit/s", _dips("cubic", "red", 90, 3)),
    *(
        _exact(f"S6{letter}", "figure 4.6", f"5 FTP, queue {packets}, no PEP: {paper} Mbit/s", _number(paper, "none", "droptail", packets, 5))
        for letter, packets, paper in (("a", 3000, 96.2), ("b", 1500, 87.8), ("c", 1000, 78.4))
    ),
    _exact("S6d", "figure 4.6", "5 FTP, PEP: 94.2 Mbit/s", _any_queue(94.2, "droptail", 5)),
    _exact("S7a", "figure 4.7", "50 FTP, DropTail: senders' cwnd with the PEP about 30 % of that without", _shrinks_to("droptail", 0.30)),
    _exact("S7b", "figure 4.7", "the same with RED: about 3 %", _shrinks_to("red", 0.03)),
    _shape("S7c", "figure 4.7", "cwnd without the PEP rises in proportion to the queue; with RED and the PEP independent of it", _window_and_queue),
    _shape("S8a", "figure 4.8", "without the PEP best at 10 to 25 flows, worse below and above", _best_number),
    _shape("S8b", "figure 4.8", "queue 3000: the PEP gains nothing", _largest_queue),
    _shape("S8c", "figure 4.8", "a local queue of 300 suffices", _small_suffices),
    _shape("S8d", "figure 4.8", "a single flow gains, unless the queue is 3000", _single),
    Target("S8e", "figure 4.8", "gains of a few per cent up to a factor of 5", "band", _largest_gain, _F),
    *(
        _exact(f"S9{letter}", "figure 4.9", f"750 Pareto, queue {packets}, no PEP: {paper} Mbit/s",
               _number(paper, "none", "droptail", packets, 750, experiment="pareto"), _P)
        for letter, packets, paper in (("a", 3000, 95.3), ("b", 1500, 89.9), ("c", 1000, 87.2))
    ),
    *(
        _exact(f"S9{letter}", "figure 4.9", f"750 Pareto, PEP with RED, queue {packets}: {paper} Mbit/s, {paper - other_paper:+.1f} against {other}",
               _and_against(paper, ("red", packets, 750), other_paper, ("red", other, 750)), _P)
        for letter, packets, paper, other, other_paper in (("d", 3000, 93.8, 1500, 95.4), ("e", 1500, 95.4, 3000, 93.8), ("f", 1000, 95.4, 3000, 93.8))
    ),
    _exact("S10a", "figure 4.10", "flow 547 of 750 Pareto, queue 1500: the PEP with DropTail hardly changes its mean (105 over 103 kbit/s)", _flow_contrast("droptail", 105 / 103), _P),
    _exact("S10b", "figure 4.10", "the PEP with RED raises it by half (152 over 103 kbit/s)", _flow_contrast("red", 152 / 103), _P),
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
        _exact(f"S11{letter}", "figure 4.12",
               f"PEP, {queue}, local queue {packets}, {flows} flows: {paper} Mbit/s, {paper - other_paper:+.1f} against {other[0]} {other[1]}",
               _and_against(paper, (queue, packets, flows), other_paper, (*other, flows)), _P)
        for letter, queue, packets, flows, paper, other, other_paper in (
            ("g", "red", 3000, 750, 93.8, ("droptail", 3000), 95.4), ("h", "red", 3000, 1500, 91.0, ("red", 1500), 94.4),
            ("i", "red", 1500, 1500, 94.4, ("red", 3000), 91.0), ("j", "droptail", 3000, 750, 95.4, ("red", 3000), 93.8),
        )
    ),
    _exact("S11l", "section 4.1", "500 Pareto flows make about 80 Mbit/s", _number(80, "none", "droptail", 600, 500, experiment="pareto", within=0.05), _P),
    _exact("S11m", "section 4.1", "about 650 Pareto flows saturate 100 Mbit/s", _saturates, _P),
    Target("T4.1", "table 4.1", "RED's automatic settings: 62.5, 187.5, w_q 0.000005", "exact", _red_settings),
    Target("S11k", "figure 4.12", "gains up to 20 %", "band", _gain_pareto, _P),
    *related.TARGETS,
    _shape("F1", "its future work", "other flow control: windows that close instead of drops (ours: no worse in throughput, fairness and delivery)", _control, ("control",)),
)  # fmt: skip

TARGETS = classed(
    [replace(target, reason=reason(target.id)) for target in _ALL],
    {"number": "S8e, S11k", "claim": "S10a, S10b", "ours": "F1"},
    # Without the PEP there is one queue, so that figure 4.4 shows the flows of figure 4.3.
    {"S4c": "S3c", "S4d": "S3d"},
)
