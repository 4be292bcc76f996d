"""The thesis's claims by traffic and rival, each with a verdict of its own; `sttp half` is the version that its tables fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..model import ResultTable
from ..results import NotRun, Results, Row, Table
from . import measures, practical

#: What it is about, its verdict, and its numbers: a row of the table.
Found = tuple[str, str, str]
RIVAL_NAMES = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}
_VERSION = "sttp half"
_TCPS = ("reno", "vegas")
_TRAFFIC = (("transfers", "transfers"), ("video", "films"))


def _verdict(held: Iterable[bool]) -> str:
    """Confirmed if everything holds, refuted if nothing does."""
    checks = list(held)
    return "**confirmed**" if all(checks) else "partly" if any(checks) else "**refuted**"


def _mean(table: Table, metric: Callable[[Row], float], **point: object) -> float:
    return measures.interval(table.values(metric, **point)).mean


def _by_sources(results: Results, experiment: str, metric: Callable[[Row], float]) -> dict[int, dict[str, float]]:
    """Means over seeds by number of sources and protocol."""
    table = results[experiment]
    found = {n: {p: _mean(table, metric, protocol=p, n=n) for p in (*_TCPS, _VERSION)} for n in table.points("n")}
    if not found:
        raise NotRun(f"{experiment} is not run at this scale")
    return found


def _range(values: Sequence[float], digits: int = 2) -> str:
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def _goodput(results: Results) -> list[Found]:
    rows = []
    for experiment, what in _TRAFFIC:
        off = [
            100 * (of[_VERSION] / of["reno"] - 1) for of in _by_sources(results, experiment, measures.goodput).values()
        ]
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
            found = _by_sources(results, experiment, metric)
            for p, name in zip(_TCPS, ("Reno", "Vegas"), strict=True):
                less = {
                    n: 100 * (1 - values[_VERSION] / values[p]) if values[p] else 0.0 for n, values in found.items()
                }
                most = max(less, key=lambda n: less[n])
                # A difference within a tenth of a per cent is a tie.
                more = [str(n) for n, value in less.items() if value <= -0.1]
                text = f"up to {less[most]:.1f} % less (with {most} sources)" + (
                    f", more with {', '.join(more)}" if more else ""
                )
                rows.append(
                    (f"{traffic}, {what} compared with {name}", _verdict(value > -0.1 for value in less.values()), text)
                )
        return rows

    return found


def _fairness(results: Results) -> list[Found]:
    rows = []
    for n in (2, 4):
        of = {p: _mean(results["fairness"], measures.jain, protocol=p, n=n) for p in ("reno", "sttp 5:5")}
        rows.append(
            (
                f"{n} sources",
                _verdict([of["sttp 5:5"] >= 0.9 * of["reno"]]),
                f"Jain's index {of['sttp 5:5']:.2f}, Reno {of['reno']:.2f}",
            )
        )
    many = {n: values for n, values in _by_sources(results, "transfers", measures.jain).items() if n >= 50}
    if many:
        spread = {p: _range([values[p] for values in many.values()]) for p in (_VERSION, *_TCPS)}
        held = _verdict(values[_VERSION] >= 0.9 * min(values["reno"], values["vegas"]) for values in many.values())
        rows.append(
            (
                f"{min(many)} to {max(many)} sources",
                held,
                f"Jain's index {spread[_VERSION]}, Reno {spread['reno']}, Vegas {spread['vegas']}",
            )
        )
    return rows


def _opens(results: Results) -> list[Found]:
    table = results["transfers"]
    found = {
        n: _mean(table, measures.dead, protocol=_VERSION, n=n) for n in table.points("n") if n in (10, 50, 100, 200)
    }
    text = ", ".join(f"{value:.1f} of {n}" for n, value in found.items())
    return [("", _verdict(value == 0 for value in found.values()), f"flows that never open: {text}")]


def _queue(results: Results) -> list[Found]:
    found = _by_sources(results, "transfers", measures.queue_delay)
    ratios = {n: values[_VERSION] / values["reno"] for n, values in found.items()}
    shown = {n: ratio for n, ratio in ratios.items() if n in (10, 50, 100, 200)}
    text = ", ".join(f"{ratio:.2f} with {n}" for n, ratio in shown.items())
    return [("", _verdict(ratio < 1 for ratio in ratios.values()), f"mean queueing delay over Reno's: {text} sources")]


def _starves(results: Results) -> list[Found]:
    """A share below half of an equal one is starving."""
    rows = []
    try:
        table = results["mixed"]
        shares = []
        for n in [n for n in table.points("n", version=_VERSION) if n >= 60]:
            of = {p: _mean(table, measures.of_group(p), n=n, version=_VERSION) for p in ("reno", "vegas", "sttp")}
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
                f"as many flows of {RIVAL_NAMES[rival]} at {path}",
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
            place = "alone" if rival == "nobody" else f"with {RIVAL_NAMES[rival]}"
            text = f"{values['strict']:.2f} s, with all additions {values['all']:.2f} s (CUBIC {values['cubic']:.2f} s, BBR {values['bbr']:.2f} s)"
            rows.append(
                (f"95 % of {what}, {place}", _verdict([values["strict"] <= min(values["cubic"], values["bbr"])]), text)
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
    "A row is confirmed if every comparison holds, and refuted if none does. Values are means over seeds, and medians of users' times. STTP is the version that fits the appendix's tables"
    " (`sttp half`: last/new, tokens by a timer, 5:5, half the rate after a timeout), strict as in the thesis.",
    ("claim", "for", "verdict", "numbers"),
    _rows,
)
