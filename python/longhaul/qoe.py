"""The metrics that an application notices: what a video or a call is like, the time that its data took, or their rate without end."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping

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
