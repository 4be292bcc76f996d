"""Changes between two results beyond a tolerance: of two runs every metric, of two sweeps every point's means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .errors import ResultError
from .expectations import all_metrics
from .results import Result, unit_of
from .sweep import SweepResult

#: Metrics in which less than this is no change whatever the tolerance: a packet more or less.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Change:
    """One metric that differs by more than the tolerance; `None` where a result does not have it."""

    point: str
    metric: str
    first: float | None
    second: float | None
    unit: str

    @property
    def relative(self) -> float | None:
        """(second - first) / |first|; `None` if there is nothing to divide by."""
        if self.first is None or self.second is None or not self.first:
            return None
        return (self.second - self.first) / abs(self.first)


def once(found: list[Change], results: tuple[Result | SweepResult, ...]) -> list[Change]:
    """Each finding once, what matters most first: of a flow that is alone in its group, and a group that is alone in its run, the
    same change of the same metric is one finding. QoE comes first, then the others by the size of the change.
    """
    counts = [_alone(result) for result in results if isinstance(result, Result)]
    kept: dict[tuple[str, str, str, str], Change] = {}
    for one in found:
        place, _, metric = one.metric.rpartition(".")
        kind, _, name = place.partition(".")
        for alone in counts[:1]:
            place = alone.get((kind, name), place)
        # Sums over one flow differ from the flow's own number in the last digits.
        first, second = (f"{value:.6g}" if value is not None else "" for value in (one.first, one.second))
        kept.setdefault((f"{one.point}|{place}", metric, first, second), one)
    return sorted(kept.values(), key=lambda one: (_rank(one.metric), -abs(one.relative or math.inf)))


def _alone(result: Result) -> dict[tuple[str, str], str]:
    """Flows and groups that are all there is, with what they stand for: the whole run, or their group."""
    groups = result.summary["groups"]
    whole = len(groups) == 1
    found = {("group", str(group["name"])): "" for group in groups if whole}
    for flow in result.summary["flows"]:
        group = next((one for one in groups if one["name"] == flow["group"]), None)
        if group is not None and group["count"] == 1:
            found["flow", str(flow["name"])] = "" if whole else f"group.{group['name']}"
    # The values of a group go by the name of its flow too.
    for group in groups:
        found.setdefault(("flow", str(group["name"])), "" if whole else f"group.{group['name']}")
    return found


#: What a change is worth: QoE, then how it came about; the rest follows.
_WORTH = (
    "completion_time_mean_s", "completion_time_s", "completion_time_p95_s", "completed_flows", "response_time_p50_s",
    "response_time_p95_s", "page_time_mean_s", "page_time_p95_s", "mos", "stall_share", "goodput_bps", "jain_index", "utilisation",
    "queue_delay_mean_s", "rtt_mean_s", "loss_rate", "drop_rate", "retransmission_rate", "timeouts", "congestion_events",
)  # fmt: skip


def _rank(metric: str) -> tuple[int, int]:
    """The place of a metric in a list: by what it is, then run, groups, flows, links."""
    place, _, name = metric.rpartition(".")
    levels = ("", "group", "flow", "middlebox", "link")
    kind = place.partition(".")[0]
    return (
        _WORTH.index(name) if name in _WORTH else len(_WORTH),
        levels.index(kind) if kind in levels else len(levels),
    )


def differ(first: float | None, second: float | None, tolerance: float) -> bool:
    """Whether two values differ by more than a share of the larger.

    >>> differ(100.0, 101.0, 0.02), differ(100.0, 103.0, 0.02), differ(None, 1.0, 0.5), differ(0.0, 0.0, 0.0)
    (False, True, True, False)
    """
    if first is None or second is None:
        return first is not second
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) != math.isnan(second)
    return abs(second - first) > tolerance * max(abs(first), abs(second)) + _NOTHING


def changes(
    first: Result | SweepResult, second: Result | SweepResult, tolerance: float = 0.0, metrics: list[str] | None = None
) -> tuple[list[Change], int]:
    """The changes, and how many values were compared; raises `ResultError` if one is a run and the other a sweep, or no
    metric is left.
    """
    if isinstance(first, SweepResult) and isinstance(second, SweepResult):
        values = _of_sweep(first), _of_sweep(second)
        definitions = first.definitions | second.definitions
    elif isinstance(first, Result) and isinstance(second, Result):
        values = _of_run(first), _of_run(second)
        definitions = first.definitions | second.definitions
    else:
        raise ResultError("one of both is a run and the other a sweep; compare two of a kind")
    keys = list(dict.fromkeys([*values[0], *values[1]]))
    if metrics is not None:
        keys = [key for key in keys if key[1] in metrics or key[1].rsplit(".", 1)[-1] in metrics]
    if not keys:
        raise ResultError(
            f"neither result has a metric {', '.join(metrics or [])!r}; `longhaul list metrics` explains all"
        )
    found = []
    for point, metric in keys:
        one, other = (held.get((point, metric)) for held in values)
        if differ(one, other, tolerance):
            found.append(Change(point, metric, one, other, unit_of(metric.rsplit(".", 1)[-1], definitions)))
    return found, len(keys)


def _of_run(result: Result) -> dict[tuple[str, str], float | None]:
    return {("", name): value for name, value in all_metrics(result.summary).items()}


def _of_sweep(sweep: SweepResult) -> dict[tuple[str, str], float | None]:
    values: dict[tuple[str, str], float | None] = {}
    row: dict[str, Any]
    for row in sweep.cells.iter_rows(named=True):
        point = ", ".join(f"{name} {row[name]}" for name in sweep.parameters)
        values[point, str(row["metric"])] = row["mean"]
    return values
