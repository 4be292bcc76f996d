"""E8, E9 and E10: one transfer over parallel streams, or over one HSTCP flow, alone and in competition with ten standard flows."""

from __future__ import annotations

import math

from ...model import Target
from ...results import NotRun, Results, Table
from ...verdict import Judgement, both, flat, holds, number, place, trend
from ..measures import HSTCP, REGTCP, STREAMS, flow_fairness, sending_rate, total_event_rate, utilisation
from ..scenarios import PIPE, QUEUES, SIMULATED
from .sets import SHORT
from .theory import standard_window
from .words import bare, bounds, ends, short, some, spread, worded

# --- E8


def group_of(competitor: str) -> str:
    """The group that a competitor's flows are in."""
    return HSTCP if competitor == "hstcp" else STREAMS


def transfer_rate(table: Table, transfer: str, queue: str) -> dict[float, float]:
    """Sending rate in packets per base round trip, over the loss rate."""
    kind = HSTCP if transfer == "hstcp" else REGTCP
    return table.series(sending_rate(kind), "loss", transfer=transfer, queue=queue)


def _follows_theory(results: Results) -> Judgement:
    table = results["E8"]
    checks: dict[str, bool] = {}
    ratios: list[float] = []
    for transfer in table.points("transfer", queue="red"):
        ratio = {}
        for p, rate in transfer_rate(table, transfer, "red").items():
            window = SIMULATED.window(p) if transfer == "hstcp" else int(transfer) * standard_window(p)
            if window < 0.8 * PIPE and p < 1e-2:
                ratio[p] = rate / window
        checks |= {f"{transfer} at {place(p)}": 0.75 <= value <= 1.25 for p, value in ratio.items()}
        ratios += ratio.values()
    return holds(checks, f"measured over theory {bounds(ratios)} at {len(ratios)} points")


def _same_when_full(results: Results) -> Judgement:
    table = results["E8"]
    if 1e-6 not in table.points("loss"):
        raise NotRun("E8 has no point at 1e-6 at this scale")
    rates = {name: transfer_rate(table, name, "red")[1e-6] for name in ("10", "hstcp")}
    judged = flat(rates, 0.05)
    text = f"at 1e-6 {rates['10']:,.0f} packets/RTT with 10 streams, {rates['hstcp']:,.0f} with HSTCP, {spread(judged)}"
    return worded(judged, text)


# --- E9


def long_flows(table: Table, competitor: str, queue: str, over: str) -> dict[float, float]:
    """Utilisation of the ten standard flows with a competitor."""
    return table.series(utilisation(REGTCP), over, competitor=competitor, queue=queue)


def of_competitor(table: Table, competitor: str, queue: str, over: str) -> dict[float, float]:
    """Utilisation of the competitor, all its streams together."""
    return table.series(utilisation(group_of(competitor)), over, competitor=competitor, queue=queue)


def per_flow(table: Table, competitor: str, queue: str, over: str) -> dict[float, float]:
    """FRF of the competitor."""
    return table.series(flow_fairness(group_of(competitor)), over, competitor=competitor, queue=queue)


def competitors(table: Table) -> list[str]:
    """Those at this scale, without "none"."""
    return [name for name in table.points("competitor") if name != "none"]


def streams_of(table: Table) -> list[int]:
    """Numbers of parallel streams at this scale."""
    return sorted(int(name) for name in competitors(table) if name != "hstcp")


def unaffected(results: Results) -> Judgement:
    """Target E9.1 and claim D19."""
    table = results["E9"]
    alone = long_flows(table, "none", "red", "loss")
    checks: dict[str, bool] = {}
    found: dict[float, list[float]] = {p: [] for p in alone}
    for name in competitors(table):
        beside = long_flows(table, name, "red", "loss")
        both_together = {p: beside[p] + of_competitor(table, name, "red", "loss")[p] for p in beside}
        for p in beside:
            if both_together[p] < 80:
                checks[f"{name} at {place(p)}: not less"] = beside[p] > 0.9 * alone[p]
            elif both_together[p] >= 95 and alone[p] + of_competitor(table, name, "red", "loss")[p] > 100:
                checks[f"{name} at {place(p)}: less"] = beside[p] < alone[p]
            found[p].append(beside[p])
    # A full link, and one that losses keep from being full.
    shown = [p for p in alone if p in (1e-6, 1e-4)] or list(alone)[:1]
    text = "; ".join(f"{short(alone[p])} / {bounds(found[p])} % at {place(p)}" for p in shown)
    return holds(checks, f"alone / in competition: {text}")


def _constant_when_full(results: Results) -> Judgement:
    table = results["E9"]
    if "30" not in competitors(table):
        raise NotRun("E9 has no 30 streams at this scale")
    values = {p: long_flows(table, "30", "red", "loss")[p] for p in (1e-6, 1e-5)}
    return flat(values, 0.15, unit="% with 30 streams")


def _takes_more(results: Results) -> Judgement:
    table = results["E9"]
    low = min(table.points("loss", queue="droptail"))
    if low > 1e-6:
        raise NotRun("E9 has no point below 1e-5 at this scale, where ten flows leave bandwidth spare")
    red, tail = (table.median(utilisation(REGTCP), competitor="hstcp", queue=queue, loss=low) for queue in QUEUES)
    return holds(
        {"DT < RED": tail < red},
        f"at {place(low)} the ten flows have {red:.1f} % against HSTCP with RED, {tail:.1f} % with DT",
    )


def _levels(results: Results) -> Judgement:
    table = results["E9"]
    low = min(table.points("loss", queue="red"))
    levels = {
        n: table.median(utilisation(STREAMS), competitor=str(n), queue="red", loss=low) for n in streams_of(table)
    }
    judged = trend(levels, rising=True, unit="% with n")
    if 30 not in levels:
        return judged
    full = {p: of_competitor(table, "30", "red", "loss")[p] for p in (1e-6, 1e-5)}
    kept = flat(full, 0.15)
    text = f"{some(levels, '%')} streams; 30 streams {some(full, '%')}, {spread(kept)}"
    return worded(both(judged, kept), text)


def _badly(results: Results) -> Judgement:
    table = results["E9"]
    if 1e-2 not in table.points("loss", queue="red"):
        raise NotRun("E9 has no point at 1e-2 at this scale")
    values = {name: of_competitor(table, name, "red", "loss")[1e-2] for name in competitors(table)}
    of_streams = bounds(values[str(n)] for n in streams_of(table))
    return holds(
        {name: value < 5 for name, value in values.items()},
        f"{of_streams} % with {_numbers(table)} streams, {short(values['hstcp'])} % with HSTCP",
    )


def _rates_rise(results: Results) -> Judgement:
    table = results["E9"]
    rates = {n: table.series(total_event_rate, "loss", competitor=n, queue="red") for n in table.points("competitor")}
    worst = max(next(iter(rates.values())))
    checks = {name: values[worst] > 5 * values[worst / 10] for name, values in rates.items()}
    return holds(checks, f"10 flows alone {some(rates['none'])}")


def _proportional(results: Results) -> Judgement:
    table = results["E9"]
    checks: dict[str, bool] = {}
    ratios: list[float] = []
    for n in streams_of(table):
        values = {p: value / n for p, value in per_flow(table, str(n), "red", "loss").items() if p <= 1e-4}
        checks |= {f"{n} at {place(p)}": abs(value - 1) < 0.25 for p, value in values.items()}
        ratios += values.values()
    return holds(checks, f"FRF over n {bounds(ratios)} up to 1e-4 ({_numbers(table)} streams)")


def _numbers(table: Table) -> str:
    return ", ".join(map(str, streams_of(table)))


def adapts(results: Results) -> Judgement:
    """Target E9.8 and claim D18: FRF of one HSTCP flow."""
    values = per_flow(results["E9"], "hstcp", "red", "loss")
    return both(number(values[1e-3], 1, 0.2, unit="at 1e-3"), number(values[1e-5], 5, 0.2, unit="at 1e-5"))


#: How many times RED's range DropTail's has to be: within a tenth both are alike, as in claim D14.
_WIDER = 1.1


def _wide_range(results: Results) -> Judgement:
    table = results["E9"]
    low = min(table.points("loss", queue="droptail"))
    runs = {q: table.values(flow_fairness(HSTCP), competitor="hstcp", queue=q, loss=low) for q in QUEUES}
    if len(runs["red"]) < 3:
        raise NotRun("E9 has one seed for each point at this scale")
    spread = {queue: max(values) / min(values) for queue, values in runs.items()}
    text = "; ".join(f"{SHORT[q]} {min(v):.1f} to {max(v):.1f}" for q, v in runs.items())
    return holds({"DT spreads wider": spread["droptail"] > _WIDER * spread["red"]}, f"at {place(low)} FRF with {text}")


# --- E10


def _streams_fall(results: Results) -> Judgement:
    table = results["E10"]
    judged: list[Judgement] = []
    checks: dict[str, bool] = {}
    text = ""
    for n in streams_of(table):
        red, tail = (of_competitor(table, str(n), queue, "p") for queue in QUEUES)
        judged.append(trend(red, rising=False))
        last = max(red)
        checks[f"n = {n}"] = red[0] - red[last] > tail[0] - tail[last]
        if n == 10:
            text = f"10 streams: RED {ends(red, '%')}, DT {ends(tail, '%')} ({place(min(red))} to {place(last)}); "
    more = holds(checks)
    return worded(both(*judged, more), text + more.measured)


def improves(results: Results) -> Judgement:
    """Target E10.2 and claim D20."""
    values = of_competitor(results["E10"], "hstcp", "red", "p")
    return worded(trend(values, rising=True), some(values, "%"))


def _flat_over_tail(results: Results) -> Judgement:
    table = results["E10"]
    by_n = {n: of_competitor(table, str(n), "droptail", "p") for n in streams_of(table)}
    judged = [flat(values, 0.2) for values in by_n.values()]
    red, tail = (of_competitor(table, "hstcp", queue, "p") for queue in QUEUES)
    kept = flat(tail, 0.25)
    higher = holds({f"DT > RED at {p}": tail[p] > red[p] for p in tail})
    shown = 10 if 10 in by_n else max(by_n)
    text = f"{shown} streams {some(by_n[shown], '%')}, {spread(judged[list(by_n).index(shown)])}"
    return worded(both(*judged, kept, higher), f"{text}; HSTCP {bare(tail, '%')}, {spread(kept)}; {higher.measured}")


def _proportional_under_bursts(results: Results) -> Judgement:
    table = results["E10"]
    checks: dict[str, bool] = {}
    ratios: list[float] = []
    for queue in QUEUES:
        for n in streams_of(table):
            values = {p: value / n for p, value in per_flow(table, str(n), queue, "p").items()}
            checks |= {f"{SHORT[queue]} {n} at {p}": abs(value - 1) < 0.25 for p, value in values.items()}
            ratios += values.values()
    return holds(checks, f"FRF over n {bounds(ratios)} ({_numbers(table)} streams)")


def _fairness_rises(results: Results) -> Judgement:
    values = per_flow(results["E10"], "hstcp", "red", "p")
    return worded(trend(values, rising=True), some(values))


def _scattered(results: Results) -> Judgement:
    table = results["E10"]
    ratio = {}
    for queue in QUEUES:
        runs = table.spread(flow_fairness(HSTCP), "p", competitor="hstcp", queue=queue)
        if min(len(values) for values in runs.values()) < 3:
            raise NotRun("E10 has one seed for each point at this scale")
        ratio[queue] = math.exp(sum(math.log(max(v) / min(v)) for v in runs.values()) / len(runs))
    return holds(
        {"DT scatters more": ratio["droptail"] > _WIDER * ratio["red"]},
        f"largest over smallest of a point's runs, on average: RED {ratio['red']:.2f}, DT {ratio['droptail']:.2f}",
    )


def stolen(table: Table, competitor: str, queue: str) -> dict[float, float]:
    """BS in E10 (decision A16): utilisation of the ten flows without a competitor, less that with it."""
    alone, beside = (long_flows(table, name, queue, "p") for name in ("none", competitor))
    return {p: alone[p] - beside[p] for p in beside}


def _stolen_falls(results: Results) -> Judgement:
    table = results["E10"]
    by = {(queue, name): stolen(table, name, queue) for queue in QUEUES for name in competitors(table)}
    text = "; ".join(
        f"{SHORT[queue]} "
        + ", ".join(f"{word} {ends(by[queue, name])}" for name, word in (("10", "10 streams"), ("hstcp", "HSTCP")))
        for queue in QUEUES
    )
    return worded(both(*(trend(values, rising=False) for values in by.values())), f"{text} points")


E8, E9, E10 = ("E8",), ("E9",), ("E10",)
TARGETS = (
    Target("E8.1", "section 6.8, figure 6.27", "the simulated response functions follow the theory up to the link's capacity", "ordering", _follows_theory, E8),
    Target("E8.2", "section 6.8, figure 6.27", "once the link is full the schemes do not differ in throughput", "ordering", _same_when_full, E8),
    Target("E9.1", "section 6.9, figure 6.30", "the 10 flows are unaffected by a competitor until the link is full, reduced afterwards", "ordering", unaffected, E9),
    Target("E9.2", "section 6.9, figure 6.30", "once the link is full, their utilisation no longer depends on the loss rate", "ordering", _constant_when_full, E9),
    Target("E9.3", "section 6.9, figure 6.30", "with DT, HSTCP takes more from the 10 flows", "ordering", _takes_more, E9),
    Target("E9.4", "section 6.9, figure 6.31", "the competitor's utilisation is constant once the link is full, at a level set by n", "ordering", _levels, E9),
    Target("E9.5", "section 6.9, figure 6.31", "above 1e-3 all schemes perform very badly", "band", _badly, E9),
    Target("E9.6", "section 6.9, figure 6.32", "CER rises strongly at high loss", "ordering", _rates_rise, E9),
    Target("E9.7", "section 6.9, figure 6.33", "FRF of parallel streams is nearly constant (n), and changes only above 1e-4", "band", _proportional, E9),
    Target("E9.8", "section 6.9, figure 6.33a", "HSTCP's FRF is about 1 at 1e-3 and about 5 at 1e-5 (RED)", "band", adapts, E9),
    Target("E9.9", "section 6.9, figure 6.33b", "with DT HSTCP's FRF has a wide range", "ordering", _wide_range, E9),
    Target("E10.1", "section 6.10, figure 6.35", "with RED parallel streams fall with P, more clearly than with DT", "ordering", _streams_fall, E10),
    Target("E10.2", "section 6.10, figure 6.35a", "with RED HSTCP even improves with P", "trend", improves, E10),
    Target("E10.3", "section 6.10, figure 6.35b", "with DT parallel streams and HSTCP are nearly constant, HSTCP much higher than with RED", "ordering", _flat_over_tail, E10),
    Target("E10.4", "section 6.10, figure 6.36", "FRF of parallel streams is nearly constant in P and proportional to n", "ordering", _proportional_under_bursts, E10),
    Target("E10.5", "section 6.10, figure 6.36a", "with RED HSTCP's FRF rises with P", "trend", _fairness_rises, E10),
    Target("E10.6", "section 6.10, figure 6.36b", "with DT HSTCP's FRF is scattered over a wide range", "ordering", _scattered, E10),
    Target("E10.7", "section 6.10, figure 6.37", "BS falls with P for every scheme and both queues", "trend", _stolen_falls, E10),
)  # fmt: skip
