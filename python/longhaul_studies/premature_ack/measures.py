"""Throughput in Mbit/s, and properties of its curve over W: where it reaches its top, where it falls (decision D4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..results import Results, Row
from .scenarios import PACKET, PAYLOAD, STEP

#: Differences up to this many Mbit/s are ignored.
SLACK = 2 * STEP
#: A curve has fallen where it is below this share of the throughput with a smaller W.
FALL = 0.95


def throughput(row: Row) -> float:
    """The largest number of bits that arrived in a second, headers included, in Mbit/s."""
    return row["goodput_max_bps"] * PACKET / PAYLOAD / 1e6


def through(row: Row) -> float:
    """Packets that found the buffer full and passed without a copy."""
    return row["middlebox.premature_ack.through_packets"]


@dataclass(frozen=True)
class Curve:
    """Throughput in Mbit/s by W, and whether the buffer overflowed."""

    values: Mapping[int, float]
    overflows: Mapping[int, bool]

    @property
    def top(self) -> float:
        """The largest throughput."""
        return max(self.values.values())

    @property
    def last_before_fall(self) -> int | None:
        """The last W before the throughput falls below that of a smaller W, with an overflow; `None` if it never does."""
        best, previous = 0.0, 0
        for w, value in self.values.items():
            if self.overflows[w] and value < FALL * best:
                return previous
            best, previous = max(best, value), w
        return None

    @property
    def falls(self) -> bool:
        """Class R-2."""
        return self.last_before_fall is not None

    @property
    def name(self) -> str:
        """The class."""
        return "R-2" if self.falls else "R-1"

    @property
    def reaches_top(self) -> int:
        """The first W with the largest throughput, within the slack."""
        return next(w for w, value in self.values.items() if value >= self.top - SLACK - 1e-9)


def curve(results: Results, experiment: str, d_s: int, d_d: int, n: int) -> Curve:
    """The curve at a point; `NotRun` if a run of it is missing."""
    table = results[experiment]
    values = table.series(throughput, "w", d_s=d_s, d_d=d_d, n=n)
    lost = table.series(through, "w", d_s=d_s, d_d=d_d, n=n)
    return Curve(values, {w: packets > 0 for w, packets in lost.items()})


def curves(results: Results, experiment: str = "grid") -> dict[tuple[int, int, int], Curve]:
    """All complete curves of an experiment."""
    found: dict[tuple[int, int, int], list[Row]] = {}
    for row in results[experiment].rows:
        found.setdefault((row.parameters["d_s"], row.parameters["d_d"], row.parameters["n"]), []).append(row)
    return {
        point: Curve(
            {row.parameters["w"]: throughput(row) for row in rows},
            {row.parameters["w"]: through(row) > 0 for row in rows},
        )
        for point, rows in found.items()
        if all(row.metrics is not None for row in rows)
    }
