"""E3 and E4: sets of ten flows over a lossy link, and among perturbations."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from ...model import Target
from ...results import NotRun, Points, Results
from ...verdict import Judgement, band, both, flat, holds, listed, place, trend
from ..measures import HSTCP, PERTURBATIONS, REGTCP, event_rate, events, noise, total_utilisation, utilisation
from ..scenarios import QUEUES
from .sets import FULL, SHORT, fairness, in_both, rates, series, share, stolen, trends
from .words import bare, ends, every, short, some, spread, worded

# --- E3


def _loses(results: Results) -> Judgement:
    high, standard = (series(results["E3"], kind, "red", "loss") for kind in (HSTCP, REGTCP))
    higher = holds({f"at {place(p)}": high[p] >= 0.99 * standard[p] for p in high})
    judged = both(trend(standard, rising=False), higher)
    return worded(judged, f"REGTCP {some(standard, '%')}; HSTCP {bare(high, '%')}; {higher.measured}")


def _fills(results: Results) -> Judgement:
    high, standard = (series(results["E3"], kind, "red", "loss") for kind in (HSTCP, REGTCP))
    checks = {"REGTCP not full at 1e-5": standard[1e-5] < FULL, "HSTCP full at 1e-5": high[1e-5] >= FULL}
    checks["HSTCP not full at 1e-4"] = high[1e-4] < FULL
    if 1e-6 in standard:
        checks["REGTCP full at 1e-6"] = standard[1e-6] >= FULL
    around = {p: value for p, value in standard.items() if p <= 1e-5}, {p: high[p] for p in (1e-5, 1e-4)}
    return holds(checks, f"REGTCP {some(around[0], '%')}; HSTCP {some(around[1], '%')}")


def _equal_beyond(results: Results) -> Judgement:
    ratio = ratio_over_losses(results)
    checks = {f"better at {place(p)}": ratio[p] > 1.2 for p in ratio if p < 1e-3}
    checks |= {f"equal at {place(p)}": abs(ratio[p] - 1) < 0.25 for p in ratio if p >= 1e-3}
    return holds(checks, f"HSTCP/REGTCP {every(ratio)}")


def ratio_over_losses(results: Results) -> dict[float, float]:
    """HighSpeed TCP's utilisation over standard TCP's, by loss rate."""
    high, standard = (series(results["E3"], kind, "red", "loss") for kind in (HSTCP, REGTCP))
    return Points((p, high[p] / standard[p]) for p in high)


def _under_half(results: Results) -> Judgement:
    table = results["E3"]
    values = {p: table.median(utilisation(REGTCP), set=REGTCP, queue="red", loss=p) for p in (1e-5, 1e-4)}
    return holds({place(p): value < 50 for p, value in values.items()}, listed(values, "%"))


def _double(results: Results) -> Judgement:
    ratio = ratio_over_losses(results)
    return both(*(band(ratio[p], 1.6, 2.5, margin=0.3, unit=f"at {place(p)}") for p in (1e-5, 1e-4)))


def _floors(results: Results) -> Judgement:
    judged = []
    for queue, floor in (("red", 1e-5), ("droptail", 1e-4)):
        values = rates(results["E3"], HSTCP, queue, "loss")
        judged.append(_magnitude(min(values.values()), floor, f"with {SHORT[queue]}"))
    return both(*judged)


def _magnitude(value: float, paper: float, where: str) -> Judgement:
    """The order of magnitude: within a factor of 3.2, partly within 10."""
    ratio = max(value / paper, paper / value)
    return Judgement("reproduced" if ratio <= 3.2 else "partly" if ratio <= 10 else "not", f"{value:.1e} {where}")


def _rises_at_the_limit(results: Results) -> Judgement:
    values = rates(results["E3"], HSTCP, "droptail", "loss")
    if 1e-6 not in values:
        raise NotRun("E3 has no point at 1e-6 at this scale")
    return holds({"1e-6 > 1e-5": values[1e-6] > values[1e-5]}, listed(values))


def _large_rates(results: Results) -> Judgement:
    checks: dict[str, bool] = {}
    text: list[str] = []
    for kind in (HSTCP, REGTCP):
        values = rates(results["E3"], kind, "red", "loss")
        if 1e-2 not in values:
            raise NotRun("E3 has no point at 1e-2 at this scale")
        checks[kind] = values[1e-2] > 5 * values[1e-3]
        text.append(f"{kind.upper()} {short(values[1e-3])} at 1e-3, {short(values[1e-2])} at 0.01")
    return holds(checks, "; ".join(text))


def marks_over_drops(results: Results) -> Judgement:
    """Target E3.8 and claim D5: under RED marks outnumber drops where the link is full."""
    table = results["E3"]
    low = min(table.points("loss", set=HSTCP, queue="red"))
    if low > 1e-6:
        raise NotRun("E3 has no point below 1e-5 at this scale")
    marks = table.median("link.bottleneck.forward.marks", set=HSTCP, queue="red", loss=low)
    drops = table.median(lambda row: row["link.bottleneck.forward.drops_loss"], set=HSTCP, queue="red", loss=low)
    return holds({"marks > losses": marks > drops}, f"at {place(low)} {marks:,.0f} marks, {drops:,.0f} losses")


def _gap(results: Results) -> Judgement:
    gaps = {}
    for queue in QUEUES:
        high, standard = (share(results["E3"], kind, queue, "loss") for kind in (HSTCP, REGTCP))
        if len(high) > 1:
            gaps[queue] = {p: high[p] - standard[p] for p in high}
    return trends(gaps, rising=False, unit="points")


def _full_at(results: Results) -> Judgement:
    totals = results["E3"].series(total_utilisation, "loss", set="mixed", queue="red")
    if min(totals) > 1e-5:
        raise NotRun("E3 has no point at 1e-5 at this scale")
    checks = {f"full at {place(p)}": totals[p] >= 90 for p in totals if p <= 1e-5}
    checks |= {f"not full at {place(p)}": totals[p] < 90 for p in totals if p > 1e-5}
    return holds(checks, listed(totals, "%"))


def _fairness_falls(results: Results) -> Judgement:
    table = results["E3"]
    values = {queue: fairness(table, queue, "loss") for queue in QUEUES}
    return trends({queue: found for queue, found in values.items() if len(found) > 1}, rising=False)


def nothing_stolen(results: Results) -> Judgement:
    """Target E3.12 and claim D11."""
    values = stolen(results["E3"], "red", "loss")
    if min(values) >= 1e-4:
        raise NotRun("E3 has no point below 1e-4 at this scale")
    checks = {f"nothing at {place(p)}": abs(value) < 1 for p, value in values.items() if p >= 1e-4}
    checks |= {f"something at {place(p)}": value > 1 for p, value in values.items() if p < 1e-4}
    return holds(checks, f"BS with RED {every(values, 'points')}")


def _noise(results: Results) -> Judgement:
    table = results["E3"]
    values = {
        p: table.median(noise, set=REGTCP, queue="red", loss=p)
        for p in table.points("loss", set=REGTCP, queue="red")
        if p <= 1e-3
    }
    return holds(
        {place(p): 0 < value < 1 for p, value in values.items()}, f"{listed(values, '%')} of the link, forward"
    )


# --- E4


def _red_falls(results: Results) -> Judgement:
    values = {kind: series(results["E4"], kind, "red", "p") for kind in (HSTCP, REGTCP)}
    last = max(values[HSTCP])
    lost = {kind: values[kind][0] - values[kind][last] for kind in values}
    checks = {
        "HSTCP falls": lost[HSTCP] > 0,
        "HSTCP falls slowly": lost[HSTCP] <= 0.1 * values[HSTCP][0],
        "REGTCP falls": lost[REGTCP] > 0,
        "REGTCP falls more": lost[REGTCP] > lost[HSTCP],
    }
    judged = holds(checks, f"HSTCP {some(values[HSTCP], '%')}; REGTCP {bare(values[REGTCP], '%')}")
    return replace(judged, tolerance="slowly: by a tenth at most")


def small_perturbations(results: Results) -> Judgement:
    """Target E4.2 and claim D6."""
    table = results["E4"]
    last = max(table.points("p", set=REGTCP, queue="red"))
    of_perturbations = table.median(utilisation(PERTURBATIONS), set=REGTCP, queue="red", p=last)
    standard = table.median(utilisation(REGTCP), set=REGTCP, queue="red", p=last)
    return holds(
        {"below 10 %": of_perturbations < 10, "REGTCP lost more than that": 100 - standard > of_perturbations},
        f"with {last}: perturbations {of_perturbations:.1f} %, REGTCP {standard:.1f} %",
    )


def _who_suffers(results: Results) -> Judgement:
    table = results["E4"]
    against = {kind: table.series(utilisation(PERTURBATIONS), "p", set=kind, queue="red") for kind in (HSTCP, REGTCP)}
    checks = {f"{p}": against[HSTCP][p] < against[REGTCP][p] for p in against[HSTCP] if p}
    return holds(checks, f"against HSTCP {some(against[HSTCP], '%')}; against REGTCP {bare(against[REGTCP], '%')}")


def _immune(results: Results) -> Judgement:
    values = series(results["E4"], HSTCP, "droptail", "p")
    judged = flat(values, 0.05)
    return worded(judged, f"{some(values, '%')}; {spread(judged)}")


def _rates_rise(results: Results) -> Judgement:
    of = {kind: rates(results["E4"], kind, "red", "p") for kind in (HSTCP, REGTCP)}
    judged = both(*(trend(values, rising=True) for values in of.values()))
    return worded(judged, f"HSTCP {some(of[HSTCP])}; REGTCP {bare(of[REGTCP])}")


def two_levels(results: Results) -> Judgement:
    """Target E4.6 and claim D24: over DropTail HSTCP's CER hardly depends on P, REGTCP's has two levels."""
    table = results["E4"]
    of_high = rates(table, HSTCP, "droptail", "p")
    constant = flat(of_high, 0.3)
    runs = table.spread(event_rate(REGTCP), "p", set=REGTCP, queue="droptail")
    values = sorted(value for of_p in runs.values() for value in of_p if value > 0)
    if len(values) < 12:
        raise NotRun("E4 has too few runs at this scale for two levels to be seen")
    low, high, gap = _two_groups(values)
    split = holds(
        {"two levels": gap > 2 and high / low > 3},
        f"REGTCP levels {low:.1e} and {high:.1e}, gap between them {gap:.1f} times",
    )
    return worded(both(constant, split), f"HSTCP {some(of_high)}, {spread(constant)}; {split.measured}")


def _two_groups(values: list[float]) -> tuple[float, float, float]:
    """The medians on both sides of the largest relative gap that leaves a tenth of the values on either, and that gap."""
    edge = max(1, len(values) // 10)
    at = max(range(edge, len(values) - edge + 1), key=lambda i: values[i] / values[i - 1])
    below, above = values[:at], values[at:]
    return below[len(below) // 2], above[len(above) // 2], values[at] / values[at - 1]


def _fewer_events(results: Results) -> Judgement:
    table = results["E4"]
    counts = {kind: table.series(partial(events, group=kind), "p", set=kind, queue="red") for kind in (HSTCP, REGTCP)}
    checks = {f"{p}": counts[REGTCP][p] < counts[HSTCP][p] for p in counts[HSTCP]}
    return holds(checks, f"HSTCP {some(counts[HSTCP])}; REGTCP {bare(counts[REGTCP])}")


def _independent(results: Results) -> Judgement:
    table = results["E4"]
    mixed, by_itself = share(table, REGTCP, "red", "p"), series(table, REGTCP, "red", "p")
    last = max(mixed)
    return holds(
        {"its drop is smaller than alone": mixed[0] - mixed[last] < by_itself[0] - by_itself[last],
         "nearly constant": abs(mixed[0] - mixed[last]) < 10},
        f"mixed {some(mixed, '%')}; alone {bare(by_itself, '%')}",
    )  # fmt: skip


def _bursty_fairness(results: Results) -> Judgement:
    red, tail = (fairness(results["E4"], queue, "p") for queue in QUEUES)
    middle = {queue: sorted(values.values())[len(values) // 2] for queue, values in (("red", red), ("droptail", tail))}
    return both(
        band(middle["droptail"], 10, 15, margin=3, unit="with DT"),
        band(middle["red"], 4, 6, margin=1.5, unit="with RED"),
        holds({"RED does not fall with P": red[max(red)] >= 0.9 * red[0]}, in_both({"red": red, "droptail": tail})),
    )


def _bursty_stolen(results: Results) -> Judgement:
    red, tail = (stolen(results["E4"], queue, "p") for queue in QUEUES)
    more = holds({f"DT > RED at {p}": tail[p] > red[p] for p in red})
    judged = both(trend(red, rising=False), trend(tail, rising=False), more)
    return worded(judged, f"points: RED {ends(red)}, DT {ends(tail)}; {more.measured}")


E3, E4 = ("E3",), ("E4",)
TARGETS = (
    Target("E0.4", "section 5.2.2", "background traffic takes less than 1 % of the link", "band", _noise, E3),
    Target("E3.1", "section 6.3, figure 6.8", "REGTCP loses strongly as loss grows; HSTCP is consistently higher", "trend", _loses, E3),
    Target("E3.2", "section 6.3, figure 6.8", "REGTCP cannot fill the link above 1e-6, HSTCP only above 1e-5", "band", _fills, E3),
    Target("E3.3", "section 6.3, figure 6.8", "HSTCP is better from 1e-6 to 1e-3, and equal beyond", "band", _equal_beyond, E3),
    Target("E3.4a", "section 6.3, figure 6.8", "from 1e-5 to 1e-4 REGTCP has less than 50 %", "band", _under_half, E3),
    Target("E3.4b", "section 6.3, figure 6.8", "from 1e-5 to 1e-4 HSTCP has almost twice REGTCP's utilisation", "band", _double, E3),
    Target("E3.5", "section 6.3, figure 6.9", "HSTCP's CER has a floor of 1e-5 with RED and 1e-4 with DT", "band", _floors, E3),
    Target("E3.6", "section 6.3, figure 6.9b", "HSTCP's CER can even rise near the bandwidth limit (DT)", "ordering", _rises_at_the_limit, E3),
    Target("E3.7", "section 6.3, figure 6.9", "CER rises strongly above 1e-3", "band", _large_rates, E3),
    Target("E3.8", "section 6.3, figure 6.9a", "with RED below 1e-5, marks outnumber losses", "band", marks_over_drops, E3),
    Target("E3.9", "section 6.3, figure 6.10", "the gap between HSTCP and REGTCP shrinks with loss", "trend", _gap, E3),
    Target("E3.10", "section 6.3, figure 6.10", "the link is fully used at about 1e-5", "band", _full_at, E3),
    Target("E3.11", "section 6.3, figure 6.11", "RF falls as loss grows", "trend", _fairness_falls, E3),
    Target("E3.12", "section 6.3, figure 6.12", "BS is about zero above 1e-4 and noticeable below", "band", nothing_stolen, E3),
    Target("E4.1", "section 6.4, figure 6.13a", "with RED HSTCP falls slowly with P, REGTCP fast", "ordering", _red_falls, E4),
    Target("E4.2", "section 6.4, figure 6.13a", "perturbations use less than 10 % where REGTCP has dropped around 70 % (decision A19)", "band", small_perturbations, E4),
    Target("E4.3", "section 6.4, figure 6.13", "perturbations get slightly less against HSTCP than against REGTCP", "ordering", _who_suffers, E4),
    Target("E4.4", "section 6.4, figure 6.13b", "with DT HSTCP is almost immune", "ordering", _immune, E4),
    Target("E4.5", "section 6.4, figure 6.14a", "with RED CER rises with P for both", "trend", _rates_rise, E4),
    Target("E4.6", "section 6.4, figure 6.14b", "with DT HSTCP's CER is nearly constant, REGTCP's splits into two levels", "ordering", two_levels, E4),
    Target("E4.7", "section 6.4, figure 6.15", "REGTCP has fewer congestion events than HSTCP", "ordering", _fewer_events, E4),
    Target("E4.8", "section 6.4, figure 6.16", "in the mixed set REGTCP hardly depends on P; its drop is smaller than alone", "ordering", _independent, E4),
    Target("E4.9", "section 6.4, figure 6.17", "RF is 10 to 15 with DT and about 5 with RED, nearly constant", "band", _bursty_fairness, E4),
    Target("E4.10", "section 6.4, figure 6.18", "BS falls with P for both queues; DT above RED", "trend", _bursty_stolen, E4),
)  # fmt: skip
