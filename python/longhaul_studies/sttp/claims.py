"""The thesis's claims, each confirmed or refuted with the numbers of the runs; `sttp half` is the version that its tables fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..model import ResultTable
from ..results import NotRun, Results, Row, Table
from . import measures, practical

#: Verdict and numbers.
Found = tuple[str, str]
RIVAL_NAMES = {"reno": "Reno", "cubic": "CUBIC", "bbr": "BBR"}
_VERSION = "sttp half"
_TCPS = ("reno", "vegas")


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
    if not values:
        raise NotRun("no point of it is run at this scale")
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def _goodput(results: Results) -> Found:
    least, text = [], []
    for experiment, what in (("transfers", "transfers"), ("video", "films")):
        found = _by_sources(results, experiment, measures.goodput)
        off = [100 * (values[_VERSION] / values["reno"] - 1) for values in found.values()]
        least.append(min(off))
        text.append(f"{what}: {_range(off, 3)} % compared with Reno's, for any number of sources")
    return _verdict(value > -1 for value in least), "; ".join(
        text
    ) + "; the link is full in every run, so that this means little"


def _fewer(metric: Callable[[Row], float], what: str) -> Callable[[Results], Found]:
    def found(results: Results) -> Found:
        checks, text = [], []
        for experiment, traffic in (("transfers", "transfers"), ("video", "films")):
            less = {
                (p, n): 100 * (1 - values[_VERSION] / values[p]) if values[p] else 0.0
                for n, values in _by_sources(results, experiment, metric).items() for p in _TCPS
            }  # fmt: skip
            # A difference within a tenth of a per cent is a tie.
            checks += [value > -0.1 for value in less.values()]
            for p, name in zip(_TCPS, ("Reno", "Vegas"), strict=True):
                series = {n: value for (of, n), value in less.items() if of == p}
                most = max(series, key=lambda n: series[n])
                lost = [str(n) for n, value in series.items() if value <= -0.1]
                worse = f", more with {', '.join(lost)}" if lost else ""
                text.append(f"{traffic}: up to {series[most]:.1f} % less than {name} (with {most} sources){worse}")
        return _verdict(checks), f"{what}: " + "; ".join(text)

    return found


def _fairness(results: Results) -> Found:
    few = {
        n: {p: _mean(results["fairness"], measures.jain, protocol=p, n=n) for p in ("reno", "sttp 5:5")} for n in (2, 4)
    }
    many = {n: values for n, values in _by_sources(results, "transfers", measures.jain).items() if n >= 50}
    if not many:
        raise NotRun("no 50 sources at this scale")
    held = [values["sttp 5:5"] >= 0.9 * values["reno"] for values in few.values()]
    held += [values[_VERSION] >= 0.9 * min(values["reno"], values["vegas"]) for values in many.values()]
    text = "; ".join(f"{n} sources: {v['sttp 5:5']:.2f}, Reno {v['reno']:.2f}" for n, v in few.items())
    spread = {p: _range([values[p] for values in many.values()]) for p in (_VERSION, *_TCPS)}
    return _verdict(held), (
        f"Jain's index: {text}; {min(many)} to {max(many)} sources: {spread[_VERSION]}, Reno {spread['reno']}, Vegas {spread['vegas']}"
    )


def _opens(results: Results) -> Found:
    table = results["transfers"]
    found = {
        n: _mean(table, measures.dead, protocol=_VERSION, n=n) for n in table.points("n") if n in (10, 50, 100, 200)
    }
    if not found:
        raise NotRun("none of these numbers of sources at this scale")
    text = ", ".join(f"{value:.1f} of {n}" for n, value in found.items())
    return _verdict(value == 0 for value in found.values()), f"flows that never open: {text}"


def _queue(results: Results) -> Found:
    found = _by_sources(results, "transfers", measures.queue_delay)
    ratios = {n: values[_VERSION] / values["reno"] for n, values in found.items()}
    shown = {n: ratio for n, ratio in ratios.items() if n in (10, 50, 100, 200)}
    text = ", ".join(f"{ratio:.2f} with {n}" for n, ratio in shown.items())
    return _verdict(ratio < 1 for ratio in ratios.values()), f"mean queueing delay over Reno's: {text} sources"


def _starves(results: Results) -> Found:
    """A share below half of an equal one is starving."""
    shares, text = [], []
    try:
        table = results["mixed"]
        for n in [n for n in table.points("n", version=_VERSION) if n >= 60]:
            of = {p: _mean(table, measures.of_group(p), n=n, version=_VERSION) for p in ("reno", "vegas", "sttp")}
            shares.append(of["sttp"] / of["reno"])
        text.append(f"experiment 6, 60 nodes and more: {_range(shares)} of Reno's")
    except NotRun:
        shares = []
    held = [max(shares) < 1] if shares else []
    for path, rival in practical.CONTESTS:
        values = results["contests"].values(measures.share, user="strict", path=path, rival=rival, queue="droptail")
        mean = measures.interval(values).mean
        held.append(mean < 0.25)
        text.append(f"against as many flows of {RIVAL_NAMES[rival]} at {path}: {100 * mean:.0f} % of their total")
    return _verdict(held), "; ".join(text)


def _people(metric: str, what: str) -> Callable[[Results], Found]:
    def found(results: Results) -> Found:
        table, held, text = results["people"], [], []
        for rival in practical.BESIDE:
            values = {u: table.median(metric, user=u, rival=rival) for u in ("strict", "all", "cubic", "bbr")}
            held.append(values["strict"] <= min(values["cubic"], values["bbr"]))
            place = "alone" if rival == "nobody" else f"with {RIVAL_NAMES[rival]}"
            text.append(
                f"{place} {values['strict']:.2f} s, with all additions {values['all']:.2f} s (CUBIC {values['cubic']:.2f} s, BBR {values['bbr']:.2f} s)"
            )
        return _verdict(held), f"95 % of {what} within: " + "; ".join(text)

    return found


#: The claims with their comparisons.
CLAIMS: Sequence[tuple[str, Callable[[Results], Found]]] = (
    ("STTP has TCP's goodput", _goodput),
    ("with fewer transmissions", _fewer(measures.sent, "bytes sent")),
    ("and fewer losses", _fewer(measures.dropped, "bytes dropped")),
    ("It is as fair as TCP", _fairness),
    ("The probe is reliable", _opens),
    ("It keeps queues short", _queue),
    ("It starves in competition with Reno and the like", _starves),
    (
        "It suits interactive use: pages at 50 Mbit/s down, 5 up, 600 ms",
        _people("group.pages.page_time_p95_s", "pages"),
    ),
    ("and keystrokes there", _people("group.keys.response_time_p95_s", "echoes")),
)


def _rows(results: Results) -> list[list[str]]:
    rows = []
    for claim, find in CLAIMS:
        try:
            rows.append([claim, *find(results)])
        except NotRun:
            continue
    if not rows:
        raise NotRun("no claim's runs are done")
    return rows


CLAIMS_TABLE = ResultTable(
    "The claims",
    "A claim is confirmed if every comparison holds, and refuted if none does. Values are means over seeds, and medians of users' times. STTP is the version that fits the appendix's tables"
    " (`sttp half`: last/new, tokens by a timer, 5:5, half the rate after a timeout), strict as in the thesis.",
    ("claim", "verdict", "numbers"),
    _rows,
)
