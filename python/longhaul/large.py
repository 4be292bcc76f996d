"""What a run of many flows takes, estimated before it is made: a result of gigabytes is written on request only."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from .errors import LonghaulError
from .units import counted, quantity, read_quantity

#: Bytes for each flow: of memory while it runs and its summary is made, and of `summary.json`. Measured with 10,000 to 1,000,000
#: transfers.
MEMORY_PER_FLOW = 14_000
SUMMARY_PER_FLOW = 1_650
#: Bytes of a row of the time series, of which there is one per flow and sample, where a flow is busy.
SERIES_PER_ROW = 30
#: A result of more bytes is announced, and one of more is made only with `large`.
NOTABLE = 20_000_000
LARGEST = 500_000_000


class TooLarge(LonghaulError):
    """A result would be larger than intended."""


@dataclass(frozen=True)
class Estimate:
    """What one run is expected to take, in bytes."""

    flows: int = 0
    memory: int = 0
    summary: int = 0
    series: int = 0

    @property
    def result(self) -> int:
        """Summary and time series."""
        return self.summary + self.series

    def text(self) -> str:
        """One line for people.

        >>> estimate('[run]\\nduration = "100 s"\\nsample = "1 s"\\n[[flow]]\\ncount = 1000000\\n').text()
        '1,000,000 flows take about 14 GB of memory, and a result of about 4.65 GB (summary.json 1.65 GB, time series 3 GB)'
        """
        parts = f"summary.json {quantity(self.summary, 'B')}, time series {quantity(self.series, 'B')}"
        return (
            f"{counted(self.flows, 'flow')} take about {quantity(self.memory, 'B')} of memory, and a result of about"
            f" {quantity(self.result, 'B')} ({parts})"
        )


def estimate(resolved: str, tables: bool = True) -> Estimate:
    """What a run of a resolved scenario (TOML) takes; `tables` is whether its time series are written."""
    scenario = tomllib.loads(resolved)
    flows = sum(int(flow.get("count", 1)) * int(flow.get("streams", 1)) for flow in scenario.get("flow", []))
    duration, sample = (read_quantity(scenario["run"][key]) for key in ("duration", "sample"))
    rows = flows * duration[0] / sample[0] if tables and duration and sample else 0
    return Estimate(flows, flows * MEMORY_PER_FLOW, flows * SUMMARY_PER_FLOW, int(rows * SERIES_PER_ROW))


def check(expected: Estimate, wanted: bool) -> str | None:
    """What to remark before a run, if it is large; raises `TooLarge` if it is too large to be made unasked."""
    if expected.result > LARGEST and not wanted:
        ways = ["--large makes it all the same", "fewer flows (`count`)"]
        if expected.series > expected.summary:
            ways.append("a longer run.sample, or no time series (--no-tables)")
        raise TooLarge(f"{expected.text()}, more than {quantity(LARGEST, 'B')}; {'; '.join(ways)}")
    return f"{expected.text()}" if expected.result > NOTABLE else None
