"""What a run of many flows takes, estimated before it is made: a result of gigabytes is written on request only."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import traced
from .errors import LonghaulError
from .units import counted, quantity, read_quantity

#: Bytes for each flow: of memory while it runs and its summary is made, and of `summary.json`. Measured with 10,000 to 1,000,000
#: transfers.
MEMORY_PER_FLOW = 14_000
SUMMARY_PER_FLOW = 1_650
#: Bytes of a row of the time series, in the file and in memory. Those of flows have one per flow and sample in which it is busy,
#: those of links one per direction and sample.
FLOW_ROW, FLOW_ROW_MEMORY = 30, 290
LINK_ROW, LINK_ROW_MEMORY = 10, 190
#: Bytes of a row of `segments.parquet`, in the file and in memory.
SEGMENT, SEGMENT_MEMORY = 9, 120
#: Bytes of a captured packet in the file, of TCP and of QUIC, and in memory. Measured with 80,000 and 500,000 data packets.
CAPTURED, CAPTURED_OF_QUIC, CAPTURED_MEMORY = 88, 167, 200
#: A result of more bytes is announced, and one of more is made only with `large`; so is a run of more memory.
NOTABLE = 20_000_000
LARGEST = 500_000_000
LARGEST_MEMORY = 4_000_000_000


class TooLarge(LonghaulError):
    """A result would be larger than intended."""


@dataclass(frozen=True)
class Estimate:
    """The expected size of one run, in bytes."""

    flows: int = 0
    memory: int = 0
    summary: int = 0
    series: int = 0
    segments: int = 0
    captured: int = 0

    @property
    def result(self) -> int:
        """Summary, time series, segments of traced flows, and captures."""
        return self.summary + self.series + self.segments + self.captured

    def text(self) -> str:
        """One line for people.

        >>> estimate('[run]\\nduration = "100 s"\\nsample = "1 s"\\n[[flow]]\\ncount = 1000000\\n').text()
        '1,000,000 flows take about 43 GB of memory, and a result of about 4.65 GB (summary.json 1.65 GB, time series 3 GB)'
        """
        parts = f"summary.json {quantity(self.summary, 'B')}, time series {quantity(self.series, 'B')}"
        if self.segments:
            parts += f", segments of traced flows {quantity(self.segments, 'B')}"
        if self.captured:
            parts += f", packets.pcapng {quantity(self.captured, 'B')}"
        return (
            f"{counted(self.flows, 'flow')} {'takes' if self.flows == 1 else 'take'} about {quantity(self.memory, 'B')} of memory, and a result of about"
            f" {quantity(self.result, 'B')} ({parts})"
        )


def estimate(resolved: str, tables: bool = True) -> Estimate:
    """The size of a run of a resolved scenario (TOML); `tables` is whether its time series are written."""
    return estimate_of(tomllib.loads(resolved), tables)


def estimate_of(scenario: Mapping[str, Any], tables: bool = True) -> Estimate:
    """As `estimate`, of a resolved scenario that was read already."""
    flows = sum(traced.members(flow) for flow in scenario.get("flow", []))
    if not tables:
        return Estimate(flows, flows * MEMORY_PER_FLOW, flows * SUMMARY_PER_FLOW)
    duration, sample = (read_quantity(scenario["run"][key]) for key in ("duration", "sample"))
    samples = duration[0] / sample[0] if duration and sample else 0.0
    of_flows = samples * flows
    of_links = samples * 2 * (len(scenario.get("link", [])) + ("dumbbell" in scenario))
    seconds = duration[0] if duration else 0.0
    segments, (of_tcp, of_quic) = traced.rows(scenario, seconds), traced.captured(scenario, seconds)
    rows_memory = of_flows * FLOW_ROW_MEMORY + of_links * LINK_ROW_MEMORY + segments * SEGMENT_MEMORY
    rows_memory += (of_tcp + of_quic) * CAPTURED_MEMORY
    return Estimate(
        flows,
        flows * MEMORY_PER_FLOW + int(rows_memory),
        flows * SUMMARY_PER_FLOW,
        int(of_flows * FLOW_ROW + of_links * LINK_ROW),
        int(segments * SEGMENT),
        int(of_tcp * CAPTURED + of_quic * CAPTURED_OF_QUIC),
    )


def larger(one: Estimate, other: Estimate) -> Estimate:
    """The one of two with the larger result, or with more memory where these are alike."""
    return max(one, other, key=lambda size: (size.result, size.memory))


def check(expected: Estimate, wanted: bool) -> str | None:
    """A remark before a run, if it is large; raises `TooLarge` if it is too large to be made unasked."""
    too_long = expected.result > LARGEST
    if (too_long or expected.memory > LARGEST_MEMORY) and not wanted:
        ways = ["--large makes it all the same"]
        if expected.captured > max(expected.summary, expected.series, expected.segments):
            ways.append("a shorter run.duration, or no capture (--set run.capture=[])")
        elif expected.segments > max(expected.summary, expected.series):
            ways.append("a shorter run.duration, or no trace (--set flow.NAME.trace=false)")
        elif expected.series > expected.summary:
            ways.append("a longer run.sample")
        else:
            ways.append("fewer flows (`count`)")
        if expected.series + expected.segments + expected.captured > expected.summary:
            ways.append("no time series (--no-tables)")
        limit = quantity(LARGEST, "B") if too_long else f"{quantity(LARGEST_MEMORY, 'B')} of memory"
        raise TooLarge(f"{expected.text()}, more than {limit}; {'; '.join(ways)}")
    return f"{expected.text()}" if expected.result > NOTABLE else None
