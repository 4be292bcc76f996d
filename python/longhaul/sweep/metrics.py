"""Metrics requested by name, checked before a sweep starts: a wrong name must not cost an hour."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence

from .. import core
from ..errors import ResultError, ScenarioError
from ..naming import meant
from ..results import flat_metrics
from .plan import Plan
from .runs import Point, points_of

#: What makes a run of a scenario as short as possible. Which metrics it has does not depend on its length.
_SHORT = (("run.duration", '"1 ms"'), ("run.warmup", '"0 s"'), ("run.sample", '"1 ms"'))
#: Points that are tried: those of one sweep mostly have the same metrics.
_MOST_POINTS = 20


def check_metrics(plan: Plan, wanted: Sequence[str]) -> None:
    """Raises `ResultError` if no run of the plan would have one of these metrics.

    A scenario that cannot be shortened (a flow that starts late at a random time, say) is not checked.
    """
    known: dict[str, None] = {}
    for point in points_of(plan.runs)[:_MOST_POINTS]:
        names = _metrics_of(point)
        if names is None:
            return
        known.update(dict.fromkeys(names))
        if all(name in known for name in wanted):
            return
    refuse_unknown(wanted, known)


def refuse_unknown(wanted: Sequence[str], known: Sequence[str] | dict[str, None]) -> None:
    """Raises `ResultError` for the first metric that there is not, with the nearest that there are."""
    for name in wanted:
        if name not in known:
            hint = meant(name, known) or "; `longhaul list metrics` explains all"
            raise ResultError(f"no run of this sweep has the metric {name!r}{hint}")


def _metrics_of(point: Point) -> list[str] | None:
    flows = tomllib.loads(core.resolve(point.document, point.overrides)[0])["flow"]
    at_once = [(f"flow.{number}.start", '"0 s"') for number in range(len(flows))]
    try:
        summary = core.run(point.document, (*point.overrides, *_SHORT, *at_once), tables=False)
    except ScenarioError:
        return None
    return list(flat_metrics(summary))
