"""The claims of the study's chapter 7, as far as they exceed a figure's target; the others are with their figure."""

from __future__ import annotations

from collections.abc import Callable

from longhaul.closed_forms import HighSpeed

from ...model import Target
from ...results import NotRun, Results
from ...verdict import Judgement, both, flat, holds, listed, trend
from ..measures import HSTCP, PERTURBATIONS, REGTCP, departures, event_rate, events, total_utilisation, utilisation
from ..scenarios import DURATION, PIPE, QUEUES, RTT, SIMULATED
from . import isolated, sets, streams, stress
from .sets import SHORT
from .words import bare, bounds, ends, short, some, spread, worded


def _slow_growth(results: Results) -> Judgement:
    flow = isolated.trace(isolated.alone(results, REGTCP, "red"))
    row = isolated.alone(results, REGTCP, "red")
    end = float(flow.time[-1])
    growth = flow.slope(max(float(flow.cuts[0]) + 1, end - 100), end) * RTT
    return holds(
        {"one cut": len(flow.cuts) == 1, "no timeout": row["timeouts"] == 0, "1 packet/RTT": 0.9 < growth < 1.05},
        f"{len(flow.cuts)} cut, {row['timeouts']:.0f} timeouts, then {growth:.2f} packets/RTT",
    )


def _growing_increase(_: Results) -> Judgement:
    values = {w: SIMULATED.a(w) for w in (31, 100, 1000, PIPE)}
    return trend(values, rising=True, unit="packets/RTT")


def _least_rate(results: Results) -> Judgement:
    rate = event_rate(HSTCP)(isolated.alone(results, HSTCP, "red"))
    return holds(
        {"at least 1e-6": rate >= 1e-6},
        f"{rate:.2e}; the response function meets the link at {SIMULATED.loss_rate(PIPE):.2e}",
    )


def _perturbations_take_losses(results: Results) -> Judgement:
    table = results["E4"]
    last = max(table.points("p", set=REGTCP, queue="red"))
    rows = table.where(set=REGTCP, queue="red", p=last)
    taken = sum(events(row, PERTURBATIONS) for row in rows)
    standard = sum(events(row, REGTCP) for row in rows)
    return holds(
        {"perturbations take more": taken > standard},
        f"with {last}: {taken / len(rows):,.0f} events of perturbations, {standard / len(rows):,.0f} of REGTCP",
    )


def _react_to_events(results: Results) -> Judgement:
    rates = results["E2"].series(event_rate(HSTCP), "n", set="mixed", queue="red")
    high = {queue: sets.share(results["E2"], HSTCP, queue) for queue in QUEUES}
    judged = both(trend(rates, rising=True), sets.shares_converge(results))
    shares = ", ".join(f"{SHORT[queue]} {ends(values, '%')}" for queue, values in high.items())
    text = f"CER {ends(rates)} (RED); HSTCP's share {shares} ({min(rates)} to {max(rates)} flows)"
    return worded(judged, text)


def _crosspoints(results: Results) -> Judgement:
    return both(sets.cross_red(results), sets.cross_tail(results))


def _hour(results: Results) -> Judgement:
    """The hour's second half against 150 to 300 s, which both queues' figures show."""
    result = results["E7"].where()[0].result()
    ratio = []
    for number in (0, 1):
        flow = isolated.trace_of(result, number)
        ratio.append((flow.mean(150, DURATION), flow.mean(1800, 3600)))
    early, late = ratio[0][0] / ratio[1][0], ratio[0][1] / ratio[1][1]
    return holds(
        {"HSTCP ahead both times": early > 1 and late > 1},
        f"HSTCP/REGTCP {early:.1f} at 150 to 300 s, {late:.1f} in the second half hour",
    )


def _bursts_and_fairness(results: Results) -> Judgement:
    table = results["E4"]
    red, tail = (sets.fairness(table, queue, "p") for queue in QUEUES)
    gap = {p: sets.stolen(table, "droptail", "p")[p] - sets.stolen(table, "red", "p")[p] for p in red}
    judged = [flat(red, 0.35), flat(tail, 0.35), trend(gap, rising=False)]
    text = (
        f"RF RED {bare(red)}, {spread(judged[0])}, DT {bare(tail)}, {spread(judged[1])}; BS gap {some(gap, 'points')}"
    )
    return worded(both(*judged), text)


def _red_lowers_rates(results: Results) -> Judgement:
    table = results["E2"]
    checks: dict[str, bool] = {}
    for kind in (HSTCP, REGTCP):
        rates = {queue: sets.rates(table, kind, queue) for queue in QUEUES}
        use = {queue: sets.series(table, kind, queue) for queue in QUEUES}
        many = [n for n in rates["red"] if n >= 10]
        checks |= {f"CER {n} {kind.upper()}": rates["red"][n] < rates["droptail"][n] for n in rates["red"]}
        checks |= {f"LU {n} {kind.upper()}": abs(use["red"][n] - use["droptail"][n]) < 5 for n in many}
    use = {queue: sets.series(table, HSTCP, queue) for queue in QUEUES}
    every = [value for of_queue in use.values() for value in of_queue.values()]
    return holds(checks, f"HSTCP's LU {bounds(every, '%')}")


def _queue_matters_little(results: Results) -> Judgement:
    table = results["E3"]
    lost = [p for p in table.points("loss", queue="droptail") if p >= 1e-4]
    if not lost:
        raise NotRun("E3 has DropTail at 1e-5 only at this scale")
    checks: dict[str, bool] = {}
    text: list[str] = []
    for kind in (HSTCP, REGTCP):
        red, tail = (sets.series(table, kind, queue, "loss") for queue in QUEUES)
        checks |= {f"{kind} at {p:g}": abs(tail[p] / red[p] - 1) < 0.1 for p in lost}
        text.append(f"{kind.upper()} {some({p: tail[p] / red[p] for p in lost})}")
    return holds(checks, f"DT over RED: {'; '.join(text)}")


#: What counts as no change of a utilisation, as a share: HighSpeed TCP may lose so much, and standard TCP has to lose more than that beside it.
_NO_CHANGE = 0.05


def _resists(results: Results) -> Judgement:
    """HighSpeed TCP keeps its share, and standard TCP loses more by what counts as a change: a tenth of a point is none."""
    table = results["E4"]
    use, rates = sets.series(table, HSTCP, "droptail", "p"), sets.rates(table, HSTCP, "droptail", "p")
    standard = sets.series(table, REGTCP, "droptail", "p")
    last = max(use)
    lost = {kind: 1 - of[last] / of[0] for kind, of in ((HSTCP, use), (REGTCP, standard))}
    better = holds({"REGTCP loses more": lost[REGTCP] > lost[HSTCP] + _NO_CHANGE})
    kept = flat(use, _NO_CHANGE), flat(rates, 0.3)
    text = f"HSTCP {bare(use, '%')}, {spread(kept[0])}; CER {spread(kept[1])}; REGTCP {some(standard, '%')}"
    if better.verdict != "reproduced":
        text += "; REGTCP does not lose more"
    return worded(both(*kept, better), text)


def _unfairer(results: Results) -> Judgement:
    checks: dict[str, bool] = {}
    for name, over in (("E2", "n"), ("E4", "p")):
        red, tail = (sets.fairness(results[name], queue, over) for queue in QUEUES)
        checks |= {f"{name} RF at {x:g}": tail[x] > red[x] for x in red}
        bs_red, bs_tail = (sets.stolen(results[name], queue, over) for queue in QUEUES)
        checks |= {f"{name} BS at {x:g}": bs_tail[x] > bs_red[x] for x in bs_red}
    return holds(checks)


def _in_proportion(results: Results) -> Judgement:
    table = results["E9"]
    low = min(table.points("loss", queue="red"))
    alone = table.median(utilisation(REGTCP), competitor="none", queue="red", loss=low)
    taken = {
        n: alone - table.median(utilisation(REGTCP), competitor=str(n), queue="red", loss=low)
        for n in streams.streams_of(table)
    }
    return worded(trend(taken, rising=True), f"{some(taken, 'points')} streams")


def _compatible(_: Results) -> Judgement:
    """More than a standard flow below Low_P, the same above: RFC 3649's set."""
    response = HighSpeed()
    more = {p: response.window(p) / sets_window(p) for p in (1e-2, 1e-3, 1e-4, 1e-6)}
    return holds(
        {"equal at 1e-2": abs(more[1e-2] - 1) < 0.03, "equal at 1e-3": abs(more[1e-3] - 1) < 0.03, "more at 1e-4": more[1e-4] > 2, "more at 1e-6": more[1e-6] > more[1e-4]},
        listed(more),
    )  # fmt: skip


def sets_window(p: float) -> float:
    """Standard TCP's window with the constant of the closed form, sqrt(3/2)."""
    from longhaul.closed_forms import aimd_window

    return aimd_window(1.0, 0.5, p)


def _overshoot(results: Results) -> Judgement:
    lost = isolated.lost_in_slow_start(results, 0)
    timeouts = results["E11"].median("timeouts", max_ssthresh=0)
    return holds(
        {"thousands lost": lost > 1000},
        f"{lost:,} packets lost or marked in one round trip, {timeouts:.0f} timeouts in the second half",
    )


def _marks_in_proportion(results: Results) -> Judgement:
    ratios = {}
    table = results["E2"]
    for n in table.points("n", set="mixed", queue="red"):
        rows = table.where(set="mixed", queue="red", n=n)
        rate = [
            sum(events(row, kind) for row in rows) / sum(departures(row, kind) for row in rows)
            for kind in (HSTCP, REGTCP)
        ]
        if rate[1]:
            ratios[n] = rate[0] / rate[1]
    many = {f"{n}": 0.67 <= ratio <= 1.5 for n, ratio in ratios.items() if n >= 10}
    return holds(many, f"HSTCP's events per packet over REGTCP's: {some(ratios)}")


def _total_stays(results: Results) -> Judgement:
    use = {queue: results["E2"].series(total_utilisation, "n", set=HSTCP, queue=queue) for queue in QUEUES}
    found = {f"{SHORT[q]} {n}": value for q in QUEUES for n, value in use[q].items() if n >= 2}
    return holds({name: value >= 95 for name, value in found.items()}, f"{bounds(found.values(), '%')} from 2 flows on")


def _few_fill(results: Results) -> Judgement:
    increase, filled = _growing_increase(results), _total_stays(results)
    text = f"a(w) {short(SIMULATED.a(31))} packet/RTT at 31, {short(SIMULATED.a(PIPE))} at {PIPE}; {filled.measured}"
    return worded(both(increase, filled), text)


def _claim(
    number: str, section: str, paper: str, judge: Callable[[Results], Judgement], *experiments: str, reason: str = ""
) -> Target:
    return Target(number, f"section {section}", paper, "ordering", judge, experiments, reason)


TARGETS = (
    _claim("D1", "7.2.1", "REGTCP's underuse comes from growth of 1 packet/RTT, not from buffers or losses in slow start", _slow_growth, "E1"),
    _claim("D2", "7.2.1", "a few HSTCP flows fill the pipe, since a(w) grows with w", _few_fill, "E2"),
    _claim("D3", "7.2.1", "HSTCP's CER is higher at equal N, even at 30 and 40", sets.event_rates, "E2"),
    _claim("D4", "7.2.1", "one HSTCP flow's CER cannot fall below about 1e-6 here", _least_rate, "E1"),
    _claim("D5", "7.2.1", "below the knee, congestion at the link's limit dominates; under RED most events are marks", stress.marks_over_drops, "E3"),
    _claim("D6", "7.2.1", "under bursts REGTCP falls because of slow recovery, not because of the share of perturbations (less than 10 %)", stress.small_perturbations, "E4"),
    _claim("D7", "7.2.1", "under bursts REGTCP has few events; perturbations take most", _perturbations_take_losses, "E4"),
    _claim("D8", "7.2.2", "HSTCP's share shrinks with N, since a(w) and b(w) react to the event rate", _react_to_events, "E2"),
    _claim("D9", "7.2.2, 7.2.3", "1 HSTCP flow equals 6 REGTCP flows (RED), 13 (DT)", _crosspoints, "E5"),
    _claim("D10", "7.2.2", "1 HSTCP and 1 REGTCP flow behave over one hour as over 300 s", _hour, "E7"),
    _claim("D11", "7.2.2", "above a loss of 1e-4 HSTCP steals nothing; below it competes directly", stress.nothing_stolen, "E3"),
    _claim("D12", "7.2.2", "bursts hardly change the fairness between HSTCP and REGTCP; BS narrows with P", _bursts_and_fairness, "E4"),
    _claim("D13", "7.2.3", "RED with ECN lowers CER at nearly equal utilisation", _red_lowers_rates, "E2"),
    _claim("D14", "7.2.3", "the queue does not matter on a lossy link unless loss is below 1e-5", _queue_matters_little, "E3"),
    _claim("D15", "7.2.3", "under DT HSTCP resists bursts fully, and better than REGTCP", _resists, "E4"),
    _claim("D16", "7.2.3", "DT increases unfairness everywhere", _unfairer, "E2", "E4"),
    _claim("D17", "7.2.3", "at 1e-5 and DT the shares hardly depend on N, slightly diverging", sets.fairness_at_loss, "E6"),
    _claim("D18", "7.2.4", "FRF of HSTCP adapts: 1 at 1e-3, 5 at 1e-5", streams.adapts, "E9"),
    _claim("D19", "7.2.4", "neither scheme harms others while losses leave spare bandwidth", streams.unaffected, "E9"),
    _claim("D20", "7.2.4", "under RED and bursts HSTCP uses the capacity that REGTCP leaves; parallel streams cannot", streams.improves, "E10"),
    _claim("D21", "7.2.4", "once the link is full parallel streams steal in proportion to n", _in_proportion, "E9"),
    _claim("D22", "7.2.2", "HSTCP is not strictly TCP-compatible: it depends on the event rate", _compatible),
    _claim("D23", "7.2.3", "RED marks each flow roughly in proportion to its share", _marks_in_proportion, "E2"),
    _claim("D24", "7.2.3", "under bursts with DT, synchronisation sends REGTCP to slow start: two levels of CER", stress.two_levels, "E4"),
    _claim("D25", "7.3.1", "doubling on such a path can lose thousands of packets in one RTT", _overshoot, "E11"),
)  # fmt: skip
