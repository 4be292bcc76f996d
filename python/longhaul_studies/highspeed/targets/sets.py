"""E2, E5 and E6: sets of N flows, on a clean link, against each other, and at a constant loss rate."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from ...model import Target
from ...results import NotRun, Results, Table
from ...verdict import Judgement, Series, Verdict, band, both, holds, listed, number, place, trend
from ..measures import HSTCP, REGTCP, event_rate, relative_fairness, total_event_rate, total_utilisation, utilisation
from ..scenarios import QUEUES
from .words import bare, ends, places, some, worded

SHORT = {"red": "RED", "droptail": "DT"}
#: A link counts as full from here on, in per cent.
FULL = 95.0


def series(table: Table, kind: str, queue: str, over: str = "n") -> dict[float, float]:
    """Medians of the utilisation of a set of one kind."""
    return table.series(utilisation(kind), over, set=kind, queue=queue)


def rates(table: Table, kind: str, queue: str, over: str = "n") -> dict[float, float]:
    """Medians of the congestion event rate of a set of one kind."""
    return table.series(event_rate(kind), over, set=kind, queue=queue)


def share(table: Table, kind: str, queue: str, over: str = "n") -> dict[float, float]:
    """Medians of the utilisation of one kind in mixed sets."""
    return table.series(utilisation(kind), over, set="mixed", queue=queue)


def fairness(table: Table, queue: str, over: str = "n") -> dict[float, float]:
    """Medians of the relative fairness in mixed sets."""
    return table.series(relative_fairness, over, set="mixed", queue=queue)


def stolen(table: Table, queue: str, over: str = "n") -> dict[float, float]:
    """BS (decision A16): half of REGTCP's utilisation alone, less that in the mixed set; medians subtracted."""
    among_equals, mixed = series(table, REGTCP, queue, over), share(table, REGTCP, queue, over)
    return {x: among_equals[x] / 2 - mixed[x] for x in mixed}


def first_full(values: Series) -> float:
    """The smallest parameter from which on the link is full."""
    return next((x for x, value in values.items() if value >= FULL), math.inf)


# --- E2


def _few_flows(results: Results) -> Judgement:
    table = results["E2"]
    first = {kind: first_full(series(table, kind, "red")) for kind in (HSTCP, REGTCP)}
    return holds(
        {"HSTCP first": first[HSTCP] < first[REGTCP]},
        f"{FULL:.0f} % from {place(first[HSTCP])} HSTCP and {place(first[REGTCP])} REGTCP flows;"
        f" REGTCP {some(series(table, REGTCP, 'red'), '%')}",
    )


def _under_ten(results: Results) -> Judgement:
    standard, high = series(results["E2"], REGTCP, "red"), series(results["E2"], HSTCP, "red")
    checks = {f"{n} flows": standard[n] < 98 and standard[n] < high[n] for n in standard if n < 10}
    return holds(checks, listed({n: standard[n] for n in standard if n < 10}, "%"))


def event_rates(results: Results) -> Judgement:
    """Target E2.3 and claim D3."""
    checks: dict[str, bool] = {}
    ratios: dict[str, dict[float, float]] = {}
    for queue in QUEUES:
        high, standard = (rates(results["E2"], kind, queue) for kind in (HSTCP, REGTCP))
        checks |= {f"{SHORT[queue]} {n}": high[n] > standard[n] for n in high}
        ratios[queue] = {n: high[n] / standard[n] if standard[n] else math.inf for n in high}
    return holds(checks, f"ratio with RED {some(ratios['red'])}; with DT {bare(ratios['droptail'])}")


def _floor(results: Results) -> Judgement:
    values = rates(results["E2"], HSTCP, "red")
    least = min(values, key=lambda n: values[n])
    return holds(
        {"least at the fewest flows": least == min(values), "at least 1e-6": values[least] >= 1e-6},
        f"least {values[least]:.2e}, with {place(least)} flows",
    )


def _drop_tail_rates(results: Results) -> Judgement:
    checks: dict[str, bool] = {}
    text: list[str] = []
    for kind in (HSTCP, REGTCP):
        red, tail = (rates(results["E2"], kind, queue) for queue in QUEUES)
        checks |= {f"{kind.upper()} {n}": tail[n] > red[n] for n in red}
        text.append(f"{kind.upper()} {ends({n: tail[n] / red[n] if red[n] else math.inf for n in red})}")
    return holds(checks, f"DT over RED: {', '.join(text)}")


def _larger_share(results: Results) -> Judgement:
    checks: dict[str, bool] = {}
    of_queue: dict[str, Series] = {}
    for queue in QUEUES:
        high, standard = (share(results["E2"], kind, queue) for kind in (HSTCP, REGTCP))
        checks |= {f"{SHORT[queue]} {n}": high[n] > standard[n] for n in high}
        of_queue[queue] = high
    return holds(checks, f"HSTCP {in_both(of_queue, '%')}")


def shares_converge(results: Results) -> Judgement:
    """Target E2.7 and claim D8."""
    of = {(kind, queue): share(results["E2"], kind, queue) for kind in (HSTCP, REGTCP) for queue in QUEUES}
    judged = both(*(trend(values, rising=kind == REGTCP) for (kind, _), values in of.items()))
    return worded(judged, f"{shares_in_words(results)} ({ends(_itself(of[HSTCP, 'red']))} flows)")


def shares_in_words(results: Results) -> str:
    """The share of both kinds in mixed sets, from the fewest flows to the most."""
    return "; ".join(
        f"{kind.upper()} "
        + ", ".join(f"{SHORT[queue]} {ends(share(results['E2'], kind, queue), '%')}" for queue in QUEUES)
        for kind in (HSTCP, REGTCP)
    )


def _itself(values: Series) -> dict[float, float]:
    return {x: float(x) for x in values}


def _total(results: Results) -> Judgement:
    totals = {queue: results["E2"].series(total_utilisation, "n", set="mixed", queue=queue) for queue in QUEUES}
    checks = {f"{SHORT[queue]} {n}": value >= 95 for queue in QUEUES for n, value in totals[queue].items()}
    return holds(checks, in_both(totals, "%"))


def in_both(of_queue: Mapping[str, Series], unit: str = "") -> str:
    """A series with each queue, in the fewest words."""
    text = ", ".join(f"{SHORT[queue]} {bare(values)}" for queue, values in of_queue.items())
    return f"{text} {unit}".strip() + f" at {places(next(iter(of_queue.values())))}"


def trends(of_queue: Mapping[str, Series], *, rising: bool, unit: str = "") -> Judgement:
    """The same trend with each queue."""
    return worded(both(*(trend(values, rising=rising) for values in of_queue.values())), in_both(of_queue, unit))


def _mixed_rates(results: Results) -> Judgement:
    return trends({q: results["E2"].series(total_event_rate, "n", set="mixed", queue=q) for q in QUEUES}, rising=True)


def _fairness_falls(results: Results) -> Judgement:
    return trends({queue: fairness(results["E2"], queue) for queue in QUEUES}, rising=False)


def _spread(results: Results) -> Judgement:
    checks: dict[str, bool] = {}
    text: list[str] = []
    for queue in QUEUES:
        runs = results["E2"].spread(relative_fairness, "n", set="mixed", queue=queue)
        few, many = runs[min(runs)], runs[max(runs)]
        if len(few) < 3:
            raise NotRun("E2 has one seed for each point at this scale")
        wide, narrow = (max(values) / min(values) for values in (few, many))
        checks[SHORT[queue]] = wide > narrow
        text.append(f"{SHORT[queue]} {wide:.1f} with {min(runs)} flows, {narrow:.2f} with {max(runs)}")
    return holds(checks, f"largest over smallest: {'; '.join(text)}")


def _occurs(values: list[float], bound: float, measured: str) -> Judgement:
    """An extreme: reproduced if at least two runs are above the bound; a single one, which chance may give, is *partly*."""
    above = sum(value > bound for value in values)
    verdict: Verdict = "reproduced" if above >= 2 else "partly" if above else "not"
    return Judgement(verdict, f"{measured}, by one run" if above == 1 else measured, "at least two runs")


def _above_35(results: Results) -> Judgement:
    values = [
        value for queue in QUEUES
        for runs in results["E2"].spread(relative_fairness, "n", set="mixed", queue=queue).values() for value in runs
    ]  # fmt: skip
    if len(values) < 20:
        raise NotRun("E2 has one seed for each point at this scale")
    return _occurs(values, 35, f"largest of {len(values)} runs: {max(values):.1f}")


def _above_20(results: Results) -> Judgement:
    runs = results["E2"].spread(relative_fairness, "n", set="mixed", queue="droptail")
    values = [value for of_n in runs.values() for value in of_n]
    return _occurs(values, 20, f"largest {max(values):.1f}, at the fewest flows {_range(runs[min(runs)])}")


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def _fairer_with_red(results: Results) -> Judgement:
    red, tail = (fairness(results["E2"], queue) for queue in QUEUES)
    return holds({f"{n}": red[n] < tail[n] for n in red}, in_both({"red": red, "droptail": tail}))


def _stolen_falls(results: Results) -> Judgement:
    return trends({queue: stolen(results["E2"], queue) for queue in QUEUES}, rising=False, unit="points")


def _more_stolen(results: Results) -> Judgement:
    red, tail = (stolen(results["E2"], queue) for queue in QUEUES)
    first, last = min(red), max(red)
    checks = {f"DT > RED at {n}": tail[n] > red[n] for n in red}
    checks["the gap widens"] = tail[last] - red[last] > tail[first] - red[first]
    return holds(checks, in_both({"red": red, "droptail": tail}, "points"))


# --- E5


def against(results: Results, queue: str) -> dict[float, float]:
    """Fairness of one HSTCP flow against all n standard ones together."""
    return results["E5"].series(relative_fairness, "n", queue=queue)


def crosspoint(fairness_over_n: Series) -> float:
    """The number of standard flows that together get as much as one HSTCP flow: where RF passes 1, on a log scale of RF."""
    points = sorted(fairness_over_n.items())
    for (n, a), (m, b) in itertools.pairwise(points):
        if a >= 1 > b:
            return float(n + (m - n) * math.log(a) / math.log(a / b))
    return math.nan if not points else (math.inf if points[-1][1] >= 1 else -math.inf)


def _crossing(results: Results, queue: str, paper: float, within: float) -> Judgement:
    fairness = against(results, queue)
    found = crosspoint(fairness)
    if math.isfinite(found):
        return number(found, paper, within, unit="flows", relative=False)
    edge, beyond = (max(fairness), "more") if found > 0 else (min(fairness), "fewer")
    if abs(edge - paper) > 2 * within and (edge > paper) == (found > 0):
        return Judgement("not", f"{beyond} than {edge:g} flows")
    raise NotRun(f"{beyond} than {edge:g} flows, which are all that E5 has at this scale")


def cross_red(results: Results) -> Judgement:
    """Target E5.3."""
    return _crossing(results, "red", 6, 1)


def cross_tail(results: Results) -> Judgement:
    """Target E5.4."""
    return _crossing(results, "droptail", 13, 2)


def _backs_off(results: Results) -> Judgement:
    return trends({q: results["E5"].series(utilisation(HSTCP), "n", queue=q) for q in QUEUES}, rising=False, unit="%")


def _all_used(results: Results) -> Judgement:
    totals = {queue: results["E5"].series(total_utilisation, "n", queue=queue) for queue in QUEUES}
    return both(
        *(
            band(min(totals[queue].values()), 97, 100.5, margin=3, unit=f"% at least with {SHORT[queue]}")
            for queue in QUEUES
        )
    )


def _crossings(results: Results) -> Judgement:
    red, tail = (against(results, queue) for queue in QUEUES)
    return holds({f"DT > RED at {n}": tail[n] > red[n] for n in red}, in_both({"red": red, "droptail": tail}))


# --- E6


def _six_fill(results: Results) -> Judgement:
    values = series(results["E6"], HSTCP, "red")
    few = {n: value for n, value in values.items() if n <= 10}
    return holds({"full from 6 flows": first_full(values) == 6}, listed(few, "%"))


def _twenty_fill(results: Results) -> Judgement:
    values = series(results["E6"], REGTCP, "red")
    return holds(
        {"below 90 % up to 19 flows": all(value < 90 for n, value in values.items() if n < 20)},
        listed({n: value for n, value in values.items() if n >= 6}, "%"),
    )


def _knees(results: Results) -> Judgement:
    high, standard = (rates(results["E6"], kind, "red") for kind in (HSTCP, REGTCP))
    beyond = [n for n in high if n > 6]
    checks = {"6 HSTCP flows: the link's loss": high[6] < 1.75e-5}
    checks |= {f"{n:g} HSTCP flows: more": high[n] > 1.75e-5 for n in beyond}
    checks |= {f"{n:g} REGTCP flows: the link's loss": standard[n] < 1.75e-5 for n in standard if n <= 30}
    at = {n: high[n] for n in (6, *beyond[:1])}
    around = {n: standard[n] for n in (*[n for n in standard if n <= 30][-1:], max(standard))}
    return holds(checks, f"HSTCP {some(at)}; REGTCP {some(around)}")


def _shares_at_loss(results: Results) -> Judgement:
    # From where the link is full: before, more flows have more.
    red, tail = ({n: value for n, value in share(results["E6"], HSTCP, queue).items() if n >= 10} for queue in QUEUES)
    falls = trend(red, rising=False)
    kept = holds({"DT constant or rising": tail[max(tail)] >= 0.95 * tail[min(tail)]})
    return worded(both(falls, kept), in_both({"red": red, "droptail": tail}, "%"))


def fairness_at_loss(results: Results) -> Judgement:
    """Target E6.5 and claim D17."""
    return _apart({queue: fairness(results["E6"], queue) for queue in QUEUES})


def _stolen_at_loss(results: Results) -> Judgement:
    return _apart({queue: stolen(results["E6"], queue) for queue in QUEUES}, "points")


def _apart(of_queue: Mapping[str, Series], unit: str = "") -> Judgement:
    """What rises with DropTail and falls with RED."""
    judged = both(*(trend(values, rising=queue == "droptail") for queue, values in of_queue.items()))
    return worded(judged, in_both(of_queue, unit))


E2, E5, E6 = ("E2",), ("E5",), ("E6",)
TARGETS = (
    Target("E2.1", "section 6.2, figure 6.2", "HSTCP fills the link with few flows; REGTCP needs many", "ordering", _few_flows, E2),
    Target("E2.2", "section 7.2.1, figure 6.2", "with fewer than 10 flows REGTCP does not use the full bandwidth", "band", _under_ten, E2),
    Target("E2.3", "section 6.2, figure 6.3", "HSTCP's CER is clearly above REGTCP's, also at 30 and 40 flows", "ordering", event_rates, E2),
    Target("E2.4", "section 6.2, figure 6.3a", "HSTCP's CER is never below 1e-6 (RED, one flow)", "band", _floor, E2),
    Target("E2.5", "section 6.2, figure 6.3", "CER is higher with DT than with RED", "ordering", _drop_tail_rates, E2),
    Target("E2.6", "section 6.2, figure 6.4", "HSTCP's share is above REGTCP's with both queues", "ordering", _larger_share, E2),
    Target("E2.7", "section 6.2, figure 6.4", "HSTCP's share falls with N, REGTCP's rises", "trend", shares_converge, E2),
    Target("E2.8", "section 6.2, figure 6.4", "the total stays at a high level", "ordering", _total, E2),
    Target("E2.9", "section 6.2, figure 6.5", "CER of mixed sets rises with N", "trend", _mixed_rates, E2),
    Target("E2.10", "section 6.2, figure 6.6", "RF falls with N", "trend", _fairness_falls, E2),
    Target("E2.11", "section 6.2, figure 6.6", "RF spreads widely at small N", "ordering", _spread, E2),
    Target("E2.12", "section 6.2, figure 6.6", "RF above 35 occurs", "exact", _above_35, E2),
    Target("E2.13", "section 7.2.3, figure 6.6", "with DT, RF above 20, highly variable", "band", _above_20, E2),
    Target("E2.14", "section 6.2, figure 6.6", "RF is smaller with RED than with DT", "ordering", _fairer_with_red, E2),
    Target("E2.15", "section 6.2, figure 6.7", "BS falls with N", "trend", _stolen_falls, E2),
    Target("E2.16", "section 6.2, figure 6.7", "BS is larger with DT, and the gap widens with N", "ordering", _more_stolen, E2),
    Target("E5.1", "section 6.5, figure 6.19", "HSTCP's share backs off as REGTCP flows are added", "trend", _backs_off, E5),
    Target("E5.2", "section 6.5, figure 6.19", "the total is near 100 %", "band", _all_used, E5),
    Target("E5.3", "section 6.5, figure 6.19a", "with RED 1 HSTCP flow equals 6 REGTCP flows", "exact", cross_red, E5),
    Target("E5.4", "section 6.5, figure 6.19b", "with DT 1 HSTCP flow equals 13 REGTCP flows", "exact", cross_tail, E5),
    Target("E5.5", "section 6.5, figure 6.20", "RF is larger with DT than with RED", "ordering", _crossings, E5),
    Target("E6.1", "section 6.6, figure 6.21", "at 1e-5, 6 HSTCP flows fill the link", "exact", _six_fill, E6),
    Target("E6.2", "section 6.6, figure 6.21", "at 1e-5, REGTCP needs 20 flows or more", "exact", _twenty_fill, E6),
    Target("E6.3", "section 6.6, figure 6.22", "CER's knee is beyond 30 REGTCP flows and 6 HSTCP flows (decision A18)", "band", _knees, E6),
    Target("E6.4", "section 6.6, figure 6.23", "HSTCP's share falls with N under RED, and is constant or slightly rising under DT", "trend", _shares_at_loss, E6),
    Target("E6.5", "section 6.6, figure 6.24", "RF rises with N under DT and falls under RED", "trend", fairness_at_loss, E6),
    Target("E6.6", "section 6.6, figure 6.25", "BS rises with N under DT and falls under RED", "trend", _stolen_at_loss, E6),
)  # fmt: skip
