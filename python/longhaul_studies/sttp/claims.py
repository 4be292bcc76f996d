"""The thesis's claims by traffic and rival, each with a verdict of its own; `sttp half` is the version that its tables fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..model import ResultTable
from ..results import NotRun, Results, Row
from . import measures, practical
from .comparisons import NAMES, TCPS, by_sources, mean_jain, not_above, savings
from .comparisons import mean as _mean
from .tables import CHOSEN

#: What it is about, its verdict, and its numbers: a row of the table.
Found = tuple[str, str, str]
_TRAFFIC = (("transfers", "transfers"), ("video", "films"))


def _verdict(held: Iterable[bool]) -> str:
    """Confirmed if everything holds, refuted if nothing does."""
    checks = list(held)
    return "**confirmed**" if all(checks) else "partly" if any(checks) else "**refuted**"


def _range(values: Sequence[float], digits: int = 2) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def _goodput(results: Results) -> list[Found]:
    rows = []
    for experiment, what in _TRAFFIC:
        off = [100 * (of[CHOSEN] / of["reno"] - 1) for of in by_sources(results, experiment, measures.goodput).values()]
        rows.append(
            (
                what,
                _verdict(value > -1 for value in off),
                f"{_range(off, 3)} % compared with Reno's; the link is full in every run",
            )
        )
    return rows


def _fewer(metric: Callable[[Row], float], what: str) -> Callable[[Results], list[Found]]:
    def found(results: Results) -> list[Found]:
        rows = []
        for experiment, traffic in _TRAFFIC:
            values = by_sources(results, experiment, metric)
            for rival in TCPS:
                less, held = savings(values, rival), not_above(values, rival)
                # A rival that has nothing at any point leaves no shares.
                most = max(less, key=lambda n: less[n], default=0)
                more = ", ".join(str(n) for n, holds in held.items() if not holds)
                text = (f"up to {less[most]:.1f} % less (with {most} sources)" if less else "nowhere less") + (
                    f", more with {more}" if more else ""
                )
                rows.append((f"{traffic}, {what} compared with {NAMES[rival]}", _verdict(held.values()), text))
        return rows

    return found


def _fairness(results: Results) -> list[Found]:
    rows = []
    for n in (2, 4):
        of = {p: mean_jain(results, p, n) for p in ("reno", "sttp 5:5")}
        rows.append(
            (
                f"{n} sources",
                _verdict([of["sttp 5:5"] >= 0.9 * of["reno"]]),
                f"Jain's index {of['sttp 5:5']:.2f}, Reno {of['reno']:.2f}",
            )
        )
    many = {n: values for n, values in by_sources(results, "transfers", measures.jain).items() if n >= 50}
    if many:
        spread = {p: _range([values[p] for values in many.values()]) for p in (CHOSEN, *TCPS)}
        held = _verdict(values[CHOSEN] >= 0.9 * min(values["reno"], values["vegas"]) for values in many.values())
        rows.append(
            (
                f"{min(many)} to {max(many)} sources",
                held,
                f"Jain's index {spread[CHOSEN]}, Reno {spread['reno']}, Vegas {spread['vegas']}",
            )
        )
    return rows


def _opens(results: Results) -> list[Found]:
    table = results["transfers"]
    found = {n: _mean(table, measures.dead, protocol=CHOSEN, n=n) for n in table.points("n") if n in (10, 50, 100, 200)}
    text = ", ".join(f"{value:.1f} of {n}" for n, value in found.items())
    return [("", _verdict(value == 0 for value in found.values()), f"flows that never open: {text}")]


def _queue(results: Results) -> list[Found]:
    found = by_sources(results, "transfers", measures.queue_delay)
    ratios = {n: values[CHOSEN] / values["reno"] for n, values in found.items()}
    shown = {n: ratio for n, ratio in ratios.items() if n in (10, 50, 100, 200)}
    text = ", ".join(f"{ratio:.2f} with {n}" for n, ratio in shown.items())
    return [("", _verdict(ratio < 1 for ratio in ratios.values()), f"mean queueing delay over Reno's: {text} sources")]


def _starves(results: Results) -> list[Found]:
    """A share below half of an equal one is starving."""
    rows = []
    try:
        table = results["mixed"]
        shares = []
        for n in [n for n in table.points("n", version=CHOSEN) if n >= 60]:
            of = {p: _mean(table, measures.of_group(p), n=n, version=CHOSEN) for p in ("reno", "vegas", "sttp")}
            shares.append(of["sttp"] / of["reno"])
        if shares:
            rows.append(
                ("experiment 6, 60 nodes and more", _verdict([max(shares) < 1]), f"{_range(shares)} of Reno's goodput")
            )
    except NotRun:
        pass
    for path, rival in practical.CONTESTS:
        values = results["contests"].values(measures.share, user="strict", path=path, rival=rival, queue="droptail")
        mean = measures.interval(values).mean
        rows.append(
            (
                f"as many flows of {NAMES[rival]} at {path}",
                _verdict([mean < 0.25]),
                f"{100 * mean:.0f} % of the total of both",
            )
        )
    return rows


def _people(metric: str, what: str) -> Callable[[Results], list[Found]]:
    def found(results: Results) -> list[Found]:
        table, rows = results["people"], []
        for rival in practical.BESIDE:
            values = {u: table.median(metric, user=u, rival=rival) for u in ("strict", "all", "cubic", "bbr")}
            place = "alone" if rival == "nobody" else f"with {NAMES[rival]}"
            text = f"{values['strict']:.2f} s, with all additions {values['all']:.2f} s (CUBIC {values['cubic']:.2f} s, BBR {values['bbr']:.2f} s)"
            rows.append(
                (
                    f"95 % of {what}, {place}",
                    _verdict(values["strict"] <= values[tcp] for tcp in ("cubic", "bbr")),
                    text,
                )
            )
        return rows

    return found


#: The claims with their comparisons.
CLAIMS: Sequence[tuple[str, Callable[[Results], list[Found]]]] = (
    ("STTP has TCP's goodput", _goodput),
    ("with fewer transmissions", _fewer(measures.sent, "bytes sent")),
    ("and fewer losses", _fewer(measures.dropped, "bytes dropped")),
    ("It is as fair as TCP", _fairness),
    ("The probe is reliable", _opens),
    ("It keeps queues short", _queue),
    ("It starves in competition with Reno and the like", _starves),
    (
        "It suits interactive use: 50 Mbit/s down, 5 up, 600 ms",
        lambda results: (
            _people("group.pages.page_time_p95_s", "pages")(results)
            + _people("group.keys.response_time_p95_s", "echoes")(results)
        ),
    ),
)


def _rows(results: Results) -> list[list[str]]:
    rows = []
    for claim, find in CLAIMS:
        try:
            found = find(results)
        except NotRun:
            continue
        rows += [[claim if not number else "", *row] for number, row in enumerate(found)]
    if not rows:
        raise NotRun("no claim's runs are done")
    return rows


CLAIMS_TABLE = ResultTable(
    "The claims by traffic and rival",
    "A row is confirmed if every comparison holds (a difference within a tenth of a per cent is a tie), and refuted if none does. Values are means over seeds, and medians over seeds of users' times, which are compared with CUBIC's and with BBR's (*Page and echo times* has means over seeds). STTP is the version"
    " that fits the appendix's tables (`sttp half`: last/new, tokens by a timer, 5:5, half the rate after a timeout), strict as in the thesis.",
    ("claim", "for", "verdict", "numbers"),
    _rows,
)
