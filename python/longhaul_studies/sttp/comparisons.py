"""What several targets, claims and tables need of the same runs: means over seeds, each computed in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..results import Results, Row, Table
from . import measures
from .tables import CHOSEN

TCPS = ("reno", "vegas")
NAMES = {"reno": "Reno", "vegas": "Vegas", "cubic": "CUBIC", "bbr": "BBR"}
#: A difference of less than a thousandth is a tie.
_TIE = 1.001


def mean(table: Table, metric: Callable[[Row], float], **point: object) -> float:
    """The mean of a metric over the seeds of a point."""
    return measures.interval(table.values(metric, **point)).mean


def by_sources(
    results: Results, experiment: str, metric: Callable[[Row], float], user: str = CHOSEN
) -> dict[int, dict[str, float]]:
    """A metric of Reno, Vegas and a version of STTP, by number of sources."""
    table = results[experiment]
    return {
        n: {p: mean(table, metric, protocol=p, n=n) for p in (*TCPS, user)} for n in table.points("n", protocol=user)
    }


def lower(values: Mapping[str, float], rival: str = "") -> float:
    """Of a point's values that of a TCP, or the lower of both TCPs."""
    return values[rival] if rival else min(values[p] for p in TCPS)


def not_above(found: Mapping[int, Mapping[str, float]], rival: str = "", user: str = CHOSEN) -> dict[int, bool]:
    """Whether STTP has no more than a TCP, or than the lower of both, by number of sources."""
    return {n: values[user] <= _TIE * lower(values, rival) for n, values in found.items()}


def savings(found: Mapping[int, Mapping[str, float]], rival: str = "", user: str = CHOSEN) -> dict[int, float]:
    """What STTP has less than a TCP, or than the lower of both, in per cent; left out where the TCP has nothing."""
    return {n: 100 * (1 - values[user] / lower(values, rival)) for n, values in found.items() if lower(values, rival)}


def apart(found: Mapping[int, Mapping[str, float]], user: str = CHOSEN) -> dict[int, float]:
    """How far STTP is from the TCP that it differs most from, in per cent, by number of sources."""
    return {n: max(abs(100 * (values[user] / values[p] - 1)) for p in TCPS) for n, values in found.items()}


def jain_of_sources(results: Results, protocol: str, n: int) -> list[float]:
    """Experiment 3: Jain's index of the packets that the sources sent, as table 4.5 has them, for each seed."""
    return [
        measures.jain_of(measures.monitored(row, "offered_packets"))
        for row in results["fairness"].where(protocol=protocol, n=n)
    ]


def mean_jain(results: Results, protocol: str, n: int) -> float:
    """Experiment 3: the mean over seeds of Jain's index."""
    return measures.interval(jain_of_sources(results, protocol, n)).mean
