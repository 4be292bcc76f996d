"""The metrics that an application notices: what a video or a call is like, the time that its data took, or their rate without end."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ResultError
from .results import Result

#: Metrics of QoE, by the metric of a group that shows which kind they are; the first one that a group has counts.
_KINDS = {
    "stalls": "videos",
    "call_delay_s": "calls",
    "pages": "pages",
    "responses": "responses",
    "completed_flows": "transfers",
}
#: All kinds, from those whose users notice a delay first to data without an end.
ORDER = ("calls", "videos", "responses", "pages", "transfers", "streams")
#: Metrics of a single flow, by kind. A response time's mean stands in for a median that was not measured.
_OF_FLOWS = {
    "pages": ("page_time_mean_s", "page_time_p95_s"),
    "responses": ("response_time_p50_s", "response_time_p95_s"),
    "transfers": ("completion_time_s",),
    "streams": ("goodput_bps",),
    "videos": ("mos", "stalls", "stall_share"),
    "calls": ("mos", "call_delay_s"),
}
#: Metrics of a group or a run, by kind.
_OF_GROUPS = _OF_FLOWS | {"transfers": ("completion_time_mean_s", "completion_time_p95_s")}
#: What is shown instead where a result lacks a metric.
_INSTEAD = {"response_time_p50_s": "response_time_mean_s"}


def kind(metrics: Iterable[str]) -> str:
    """What the applications of a group are, by the names of its metrics: "videos", "calls", "pages", "responses", "transfers" of
    given size, or "streams" of data, whose rate is all that counts for them.

    >>> kind(["goodput_bps", "responses", "completed_flows"]), kind(["goodput_bps"])
    ('responses', 'streams')
    """
    names = set(metrics)
    return next((kind for name, kind in _KINDS.items() if name in names), "streams")


def of_group(metrics: Iterable[str], kind_of_group: str | None = None) -> list[str]:
    """The metrics of QoE of a group or of a run, of those that it has.

    >>> of_group(["goodput_bps", "completed_flows", "completion_time_mean_s", "completion_time_p95_s"])
    ['completion_time_mean_s', 'completion_time_p95_s']
    >>> of_group(["goodput_bps", "responses", "response_time_mean_s", "response_time_p95_s"])
    ['response_time_mean_s', 'response_time_p95_s']
    """
    names = set(metrics)
    return _present(_OF_GROUPS[kind_of_group or kind(names)], names)


def of_groups(groups: Iterable[Mapping[str, object]]) -> list[str]:
    """The metrics of QoE of any of these groups, each once: from the metrics of each."""
    return list(dict.fromkeys(name for metrics in groups for name in of_group(metrics)))


def of_flow(metrics: Iterable[str], kind_of_group: str) -> list[str]:
    """The metrics of QoE of a flow, of those that it has."""
    return _present(_OF_FLOWS[kind_of_group], set(metrics))


def kinds(result: Result) -> dict[str, str]:
    """What the applications of each group are, by its name."""
    return {str(group["name"]): kind(group["metrics"]) for group in result.summary["groups"]}


def like_demand(result: Result) -> bool:
    """Whether all flows want the same, so that an index of their shares is one of fairness: the same application with the same
    settings. Without the scenario the application counts alone."""
    try:
        sections = tomllib.loads(result.scenario).get("flow", [])
    except (ResultError, tomllib.TOMLDecodeError):
        sections = []
    used = {flow["group"] for flow in result.summary["flows"]}
    wants = [section.get("app") for section in sections if section.get("name") in used]
    if len(wants) < len(used):
        wants = [flow.get("app") for flow in result.summary["flows"]]
    return all(want == wants[0] for want in wants)


def unfinished(result: Result) -> tuple[int, int]:
    """How many transfers of given size were not finished, and how many there were; streams of one transfer are one."""
    of_kind = kinds(result)
    done = sum(
        int(group["metrics"].get("completed_flows") or 0)
        for group in result.summary["groups"]
        if of_kind[str(group["name"])] == "transfers"
    )
    names = {
        re.sub(r"\.stream\[\d+\]$", "", str(flow["name"]))
        for flow in result.summary["flows"]
        if of_kind.get(str(flow["group"])) == "transfers"
    }
    return max(0, len(names) - done), len(names)


def title(metric: str, definitions: Mapping[str, Mapping[str, str]], *, of_flow: bool) -> str:
    """A metric's title. Goodput alone is a flow's, over the time in which it was active; that of a group or a run, over all of the
    measured time, has a name of its own, since a transfer with an end has another number there.

    >>> [title("goodput_bps", {}, of_flow=one) for one in (True, False)], title("loss_rate", {}, of_flow=True)
    (['Goodput', 'Goodput over the run'], 'loss_rate')
    """
    if metric == "goodput_bps":
        return "Goodput" if of_flow else "Goodput over the run"
    return definitions.get(metric, {}).get("title", metric)


#: By what flows of each kind are ordered: the metric that its users notice first.
_NOTICED = {
    "videos": ("mos",),
    "calls": ("mos", "call_delay_s"),
    "pages": ("page_time_p95_s", "page_time_mean_s"),
    "responses": ("response_time_p95_s", "response_time_p50_s", "response_time_mean_s"),
    "transfers": ("completion_time_s",),
    "streams": ("goodput_bps",),
}


def kind_of_flow(flow: Mapping[str, Any]) -> str:
    """What the application of a flow is (see `kind`). A transfer that did not end has no completion time, but a size."""
    metrics = flow.get("metrics") or {}
    return (
        kind(name for name in metrics if name != "completed_flows")
        if metrics.get("completion_time_s") is None
        else "transfers"
    )


def noticed(flow: Mapping[str, Any]) -> tuple[str, float] | None:
    """The metric of a flow that its users notice first, and its value; `None` without any.

    >>> noticed({"metrics": {"goodput_bps": 6e4, "mos": 1.2, "call_delay_s": 3.9}})
    ('mos', 1.2)
    """
    metrics = flow.get("metrics") or {}
    names = (*_NOTICED[kind_of_flow(flow)], "goodput_bps")
    return next(((name, float(metrics[name])) for name in names if metrics.get(name) is not None), None)


def like(flows: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Flows by the kind of their application and, within it, from what its users find worst to the best."""
    found: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        found.setdefault(str(flow.get("app") or kind_of_flow(flow)), []).append(flow)
    return {app: sorted(members, key=_badness) for app, members in found.items()}


def _badness(flow: dict[str, Any]) -> tuple[float, float, int]:
    """Small for what is bad: first what has no value of the metric that others have, as a transfer without an end."""
    found = noticed(flow)
    if found is None:
        return 0.0, 0.0, int(flow["id"])
    name, value = found
    rank = 1.0 if kind_of_flow(flow) == "streams" and name == "goodput_bps" else 2.0
    return rank, -value if smaller_is_better(name) else value, int(flow["id"])


#: Ends of metrics of which less is better.
_LESS = (
    "_s", "loss_rate", "drop_rate", "mark_rate", "retransmission_rate", "timeouts", "stalls", "stall_share",
    "queue_mean_packets", "queue_max_packets", "lost_packets", "retransmitted_packets", "congestion_events",
)  # fmt: skip


def smaller_is_better(metric: str) -> bool:
    """Whether less of a metric is better: times, losses, stalls, queues.

    >>> smaller_is_better("group.web.page_time_p95_s"), smaller_is_better("goodput_bps"), smaller_is_better("mos")
    (True, False, False)
    """
    return metric.rpartition(".")[2].endswith(_LESS)


def _present(wanted: Iterable[str], names: set[str]) -> list[str]:
    return [
        name if name in names else _INSTEAD[name] for name in wanted if name in names or _INSTEAD.get(name) in names
    ]
