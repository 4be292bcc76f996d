"""Fairness between groups of flows: metrics over two groups or two runs, with the HighSpeed TCP study's formulas.

Everything takes a `Result`, or a row of a sweep's `runs` as a dictionary, so that it works for one run as for thousands. Link
utilisation is that of a group: bits of its data packets that reached the receivers' hosts over what the bottleneck allows.
E. de Souza: A Simulation-Based Study of HighSpeed TCP and its Deployment, LBNL-52549, 2003, section 5.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .errors import ResultError
from .results import Result, flat_metrics

#: A finished run, or a row of `SweepResult.runs`.
Run = Result | Mapping[str, Any]


def group_metric(run: Run, group: str, metric: str) -> float:
    """One metric of a group; raises `ResultError` if the run has no such group or value.

    >>> group_metric({"group.hstcp.utilisation": 0.7}, "hstcp", "utilisation")
    0.7
    """
    values = flat_metrics(run.summary) if isinstance(run, Result) else run
    value = values.get(f"group.{group}.{metric}")
    if value is None:
        groups = sorted({name.split(".")[1] for name in values if name.startswith("group.")})
        raise ResultError(f"no {metric} of a group {group!r}; the groups are {', '.join(groups) or '(none)'}")
    return float(value)


def relative_fairness(run: Run, group: str, other: str) -> float | None:
    """RF = LU(group) / LU(other): 1 if both groups get the same; `None` if the other group got nothing.

    >>> relative_fairness({"group.hstcp.utilisation": 0.6, "group.regtcp.utilisation": 0.3}, "hstcp", "regtcp")
    2.0
    """
    return _ratio(group_metric(run, group, "utilisation"), group_metric(run, other, "utilisation"))


def per_flow_relative_fairness(run: Run, transfer: str, group: str, flows: int, transfers: int = 1) -> float | None:
    """FRF = (LU(transfer) / transfers) / (LU(group) / flows): what one transfer gets, with all its streams, for each share of a
    flow of the group.

    >>> row = {"group.streams.utilisation": 0.4, "group.regtcp.utilisation": 0.5}
    >>> per_flow_relative_fairness(row, "streams", "regtcp", flows=10)
    8.0
    """
    share = group_metric(run, group, "utilisation") / flows
    return _ratio(group_metric(run, transfer, "utilisation") / transfers, share)


def bandwidth_stolen(
    baseline: Run, competing: Run, group: str, *, baseline_group: str | None = None, part: float = 1.0
) -> float:
    """BS = part x LU(group in the baseline) - LU(group in competition), a share of the link.

    In the baseline the group competes with flows of its own kind. Where these are in the same group (N flows of which N/2 are
    looked at), `part` is their share of it, 1/2.

    >>> baseline, competing = {"group.regtcp.utilisation": 0.98}, {"group.regtcp.utilisation": 0.125}
    >>> bandwidth_stolen(baseline, competing, "regtcp", part=0.5)
    0.365
    """
    alone = group_metric(baseline, baseline_group or group, "utilisation")
    return part * alone - group_metric(competing, group, "utilisation")


def _ratio(numerator: float, denominator: float) -> float | None:
    return numerator / denominator if denominator > 0 else None
