"""The thesis's measures, from the monitor at the bottleneck, and further ones. Bytes, seconds, shares."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from longhaul.stats import Estimate, estimate

from ..results import Row

LINK = "link.bottleneck.forward"
#: The place of that link in a summary.
_FORWARD = "bottleneck.forward"
#: A flow of which less was delivered than one packet's payload has never opened.
_DEAD = 960


def sent(row: Row) -> float:
    """Bytes that arrived at the bottleneck's queue: first transmissions, retransmissions, probes."""
    return row[f"{LINK}.offered_bytes"]


def dropped(row: Row) -> float:
    """Bytes that it dropped."""
    return row[f"{LINK}.dropped_bytes"]


def goodput(row: Row) -> float:
    """The thesis's goodput: bytes sent less bytes dropped."""
    return sent(row) - dropped(row)


def unique(row: Row) -> float:
    """Bytes delivered in order, with the 40 bytes of headers for each 960: what goodput would be without duplicates."""
    return row["delivered_bytes"] * 1000 / 960


def loss(row: Row) -> float:
    """Bytes dropped over bytes sent, in per cent."""
    return 100 * dropped(row) / sent(row)


def queue_delay(row: Row) -> float:
    """Mean time in the bottleneck's queue."""
    return row[f"{LINK}.queue_delay_mean_s"]


def queue_mean(row: Row) -> float:
    """Packets that waited on average."""
    return row[f"{LINK}.queue_mean_packets"]


def jain(row: Row) -> float:
    """Jain's index over the goodputs of all flows."""
    return row["jain_index"]


def dead(row: Row) -> float:
    """Flows that have never opened."""
    return sum(delivered < _DEAD for delivered in by_flow(row, "delivered_bytes"))


def by_flow(row: Row, metric: str) -> list[float]:
    """A metric of each flow, as its endpoints see it."""
    return [float(flow["metrics"][metric] or 0.0) for flow in row.result().summary["flows"]]


def monitored(row: Row, metric: str, link: str = _FORWARD) -> list[float]:
    """A metric of each flow, as the monitor sees it."""
    found = next(item for item in row.result().summary["links"] if item["name"] == link)
    return [float(flow["metrics"][metric]) for flow in found["monitor"]]


def of_group(name: str) -> Callable[[Row], float]:
    """Bytes delivered to a group's flows."""
    return lambda row: row[f"group.{name}.delivered_bytes"]


def share(row: Row) -> float:
    """Of what our flows and a rival's get, the part that is ours."""
    own, rivals = (row[f"group.{name}.delivered_bytes"] for name in ("own", "rivals"))
    return own / (own + rivals)


def queue_between(row: Row, after: float, until: float) -> float:
    """Mean length of the bottleneck's queue from `after` to `until` (seconds of the run), in bytes."""
    result = row.result()
    place = next(i for i, item in enumerate(result.summary["links"]) if item["name"] == _FORWARD)
    spans = (pl.col("link") == place) & pl.col("time_s").is_between(after, until, closed="right")
    return statistics.fmean(float(value) for value in result.links.filter(spans)["queue_bytes"].to_list())


def jain_of(values: Sequence[float]) -> float:
    """(sum x)^2 / (n sum x^2); the thesis prints it without the n (decision 17)."""
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


@dataclass(frozen=True)
class Node:
    """A row of table 4.4: mean and standard deviation over reporting intervals."""

    sent: tuple[float, float]
    dropped: tuple[float, float]
    rtt: tuple[float, float]


def intervals(row: Row, column: str, flow: int, links: Sequence[str]) -> list[float]:
    """Experiment 1: what monitors at these links counted of a flow in each reporting interval, together."""
    result = row.result()
    places = [i for i, item in enumerate(result.summary["links"]) if item["name"] in links]
    mine = (pl.col("flow") == flow) & pl.col("link").is_in(places)
    counted = result.monitors.filter(mine).group_by("time_s").agg(pl.col(column).cast(pl.Float64).sum()).sort("time_s")
    return [float(value) for value in counted[column].to_list()]


def sent_by_source(row: Row, flow: int) -> list[float]:
    """Experiment 1: packets that a source sent in each interval, those that its own link dropped included."""
    return intervals(row, "offered_packets", flow, [f"access-{flow}.forward"])


def nodes(row: Row) -> list[Node]:
    """Table 4.4: the last nine of ten intervals (its means are ninths); a source that has not begun counts with nothing."""
    frame = row.result().flows
    found = []
    for flow in range(6):
        drops = intervals(row, "dropped_packets", flow, [f"access-{flow}.forward", "middle.forward"])
        trips = [float(t) for t in frame.filter(pl.col("flow") == flow)["srtt_s"].drop_nulls().to_list()]
        found.append(Node(_spread(sent_by_source(row, flow)[1:]), _spread(drops[1:]), _spread(trips[-9:] or [0.0])))
    return found


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def interval(values: Sequence[float]) -> Estimate:
    """Mean and 95 % confidence interval over seeds."""
    return estimate(list(values))


def with_interval(values: Sequence[float], digits: int = 3, unit: str = "") -> str:
    """A mean, and half of its confidence interval where there are several seeds.

    >>> with_interval([1.0, 2.0, 3.0], unit="s")
    '2 ± 2.48 s'
    >>> with_interval([1.5])
    '1.5'
    """
    found = interval(values)
    text = f"{found.mean:.{digits}g}"
    if found.n > 1:
        text += f" ± {found.high - found.mean:.3g}"
    return f"{text} {unit}".strip()


def rates(row: Row, group: str) -> list[float]:
    """The sampled throughputs of a group's flows, in bit/s."""
    result = row.result()
    flows = [flow["id"] for flow in result.summary["flows"] if flow["group"] == group]
    series: list[Any] = result.flows.filter(pl.col("flow").is_in(flows))["throughput_bps"].to_list()
    return [float(value) for value in series]
