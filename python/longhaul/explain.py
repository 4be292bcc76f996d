"""What limits flows: causes that were tested by runs without them (`why`), and the accounting of each flow's time.

The accounting shows when and how long each limit held, from the run alone. It names no cause: what changes the outcome is known
only once it was taken away.
"""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import core, qoe, usage
from .document import Document, read
from .errors import LonghaulError, ResultError
from .experience import unit_of
from .results import Result, load_run
from .units import counted, quantity
from .usage import NAMES
from .why import BUDGET_S, Explanation, why

#: Shares of a flow's time below this are left out of sentences.
_WORTH = 0.02
#: A scenario whose own run takes more of the budget than this is not run again: not even the likeliest causes could be tested.
_MOST_OF_BUDGET = 0.2
#: So many limits are named in a line.
_NAMED = 5


def limit_names(flows: list[dict[str, Any]]) -> list[str]:
    """The limits with a share of time above zero, known ones first."""
    present = dict.fromkeys(key for flow in flows for key, share in usage.by_time(flow).items() if share)
    return [key for key in NAMES if key in present] + [key for key in present if key not in NAMES]


#: STTP has no congestion window and is paced by a bucket: what the two limits are there.
_STTP_NAMES = {"cwnd": "STTP's peer_window", "pacing": "STTP's bucket"}


def _is_sttp(section: Mapping[str, Any]) -> bool:
    control = (section.get("tcp") or {}).get("congestion") or {}
    return str(control.get("kind")).startswith("sttp")


#: Proxies that acknowledge data before the receiver does.
_EARLY = frozenset({"premature_ack", "paced", "split"})


def _acknowledges(group: str, content: Mapping[str, Any]) -> str:
    """The proxy that acknowledges a group's data before the receiver does: its sender has nothing left to send long before its end.

    Only of transfers of given size: other applications pause by themselves.
    """
    section: Mapping[str, Any] = next((one for one in content.get("flow", ()) if one.get("name") == group), {})
    app = section.get("app") or {}
    if app.get("kind") != "bulk" or not app.get("size"):
        return ""
    boxes = (
        one for one in content.get("middlebox", ()) if one["kind"] in _EARLY and group in one.get("flows", [group])
    )
    return next((str(one.get("name") or one["kind"]) for one in boxes), "")


def limit_title(name: str, flows: Sequence[Mapping[str, Any]], content: Mapping[str, Any]) -> str:
    """How a limit of these flows is called; `content` is the resolved scenario."""
    if name == "application" and (early := {_acknowledges(str(flow.get("group")), content) for flow in flows}) != {""}:
        proxies = " or ".join(sorted(early - {""}))
        return f"{'application, or ' if '' in early else ''}all acknowledged early by {proxies}"
    usual, special = NAMES.get(name, name), _STTP_NAMES.get(name, "")
    sttp = {section.get("name") for section in content.get("flow", ()) if special and _is_sttp(section)}
    kinds = {flow.get("group") in sttp for flow in flows}
    if kinds == {True}:
        return special
    return f"{usual}, or {special}" if True in kinds else usual


def main_limit(flow: dict[str, Any]) -> tuple[str, float]:
    """The limit that took most of the flow's time, and its share; an empty name if no time was measured."""
    return _largest(usage.by_time(flow))


def _largest(shares: Mapping[str, float]) -> tuple[str, float]:
    name = max(shares, key=lambda key: shares[key] or 0.0, default="")
    return (name, float(shares[name])) if name and shares[name] else ("", 0.0)


@dataclass
class Explained:
    """What limits the groups of a run, if that could be tested, and the accounting of its flows' time."""

    name: str
    #: The flows that were asked for, of each kind of application the worst first.
    flows: list[dict[str, Any]]
    explanation: Explanation | None = None
    #: Why no cause was tested.
    reason: str = ""
    #: The resolved scenario; an empty one if it was not kept.
    content: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tested(self) -> bool:
        """Whether causes were tested."""
        return self.explanation is not None

    @property
    def others(self) -> list[GroupText]:
        """The accounting of groups for which no cause was tested."""
        tested = {one.group for one in self.explanation.groups} if self.explanation else set()
        return group_texts([flow for flow in self.flows if flow["group"] not in tested], self.content)

    @property
    def text(self) -> str:
        """A paragraph for each group."""
        if self.explanation is not None:
            return "\n".join([self.explanation.text, *(f"{one.name}: {one.text}" for one in self.others)])
        return "\n".join(
            [
                f"Causes were not tested: {self.reason}.",
                *(f"{one.name}: {one.text}" for one in group_texts(self.flows, self.content)),
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        tested = self.explanation.to_dict() if self.explanation else {"groups": []}
        flows = [
            {
                "flow": flow["id"],
                "name": flow["name"],
                "text": accounting(flow, self.content),
                "time": usage.by_time(flow),
            }
            for flow in self.flows
        ]
        return {"name": self.name, "tested": self.tested, "reason": self.reason, **tested, "accounting": flows}


def explain_path(
    what: Path,
    changes: core.Overrides = (),
    seconds: float = BUDGET_S,
    chosen: Callable[[Sequence[dict[str, Any]]], list[int] | None] = lambda _: None,
    observer: Callable[[int, str], None] | None = None,
) -> Explained:
    """What limits the flows of a scenario file, or of the run in a result directory; `chosen` picks numbers of flows (`None`: all)."""
    # What does not exist and is not called like a scenario is a result, whose name may be incomplete.
    if what.is_dir() or not (what.exists() or what.suffix == ".toml"):
        return explain_result(load_run(what), seconds, chosen, observer)
    document = read(what)
    began = time.monotonic()
    summary = core.run(document, changes, tables=False)
    if late := _too_long(time.monotonic() - began, seconds):
        content = tomllib.loads(core.resolve(document, changes)[0])
        return Explained(str(summary["name"]), _chosen(summary, chosen), reason=late, content=content)
    return _explained(document, changes, summary, seconds, chosen, observer)


def explain_result(
    result: Result,
    seconds: float = BUDGET_S,
    chosen: Callable[[Sequence[dict[str, Any]]], list[int] | None] = lambda _: None,
    observer: Callable[[int, str], None] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Explained:
    """What limits the flows of a run, within `seconds` of `clock`; causes are tested if the scenario can be run again."""
    flows = _chosen(result.summary, chosen)
    if reason := _untestable(result, seconds):
        return Explained(result.name, flows, reason=reason, content=content_of(result))
    document = Document(result.scenario, f"the scenario of {result.name}")
    try:
        # A run of another build is no base for runs of this one.
        same = core.resolve(document)[1] == result.run_id
        summary = result.summary if same else core.run(document, tables=False)
    except LonghaulError as error:
        # A trace that is gone, a congestion control in Python that is not registered here.
        return Explained(
            result.name,
            flows,
            reason=f"its scenario cannot be run again ({str(error).splitlines()[0]})",
            content=content_of(result),
        )
    return _explained(document, (), summary, seconds, chosen, observer, clock)


#: A report tests causes by itself if that takes no longer, in s of processor time: a busy machine writes the same report.
AT_ONCE_S = 1.4
#: So many runs as the scenario's own are what a flow's candidates take: more than that time is not begun.
_AT_ONCE_RUNS = 20


def explain_at_once(result: Result) -> Explained:
    """What limits the flows of a run, if all of it can be tested in `AT_ONCE_S`: a report has it without being asked.

    What is not complete by then is left out: the strongest of the causes that were tested may not be the strongest one.
    """
    flows = result.summary["flows"]
    late = (
        f"that takes more than {quantity(AT_ONCE_S, 's')} of processor time; longhaul report --explain RESULT does it"
    )
    took = float(result.timing.get("wall_s") or 0.0) if result.path else 0.0
    if took * _AT_ONCE_RUNS > AT_ONCE_S:
        return Explained(result.name, flows, reason=late, content=content_of(result))
    began = time.process_time()
    found = explain_result(result, AT_ONCE_S, clock=time.process_time)
    if found.explanation is not None and (
        time.process_time() - began >= AT_ONCE_S
        or found.explanation.untested
        or any(group.not_run for group in found.explanation.groups)
    ):
        return Explained(result.name, flows, reason=late, content=content_of(result))
    return found


def _explained(
    document: Document,
    changes: core.Overrides,
    summary: dict[str, Any],
    seconds: float,
    chosen: Callable[[Sequence[dict[str, Any]]], list[int] | None],
    observer: Callable[[int, str], None] | None,
    clock: Callable[[], float] = time.monotonic,
) -> Explained:
    flows = _chosen(summary, chosen)
    groups = list(dict.fromkeys(str(flow["group"]) for flow in flows if main_limit(flow)[0]))
    if not groups:
        return Explained(str(summary["name"]), flows, reason="no flow was active in the measured time")
    content = tomllib.loads(core.resolve(document, changes)[0])
    made = why(document, changes, summary=summary, groups=groups, seconds=seconds, observer=observer, clock=clock)
    return Explained(str(summary["name"]), flows, made, content=content)


def _never(result: Result) -> str:
    """Why the causes of a result cannot be tested whatever the time; an empty text if they can."""
    if result.summary.get("emulation"):
        return "real packets and real kernels never repeat exactly"
    if not content_of(result):
        return "its scenario was not kept, so nothing can be run again"
    return ""


def _untestable(result: Result, seconds: float) -> str:
    """Why the causes of a result cannot be tested within a time; an empty text if they can."""
    if never := _never(result):
        return never
    return _too_long(float(result.timing.get("wall_s") or 0.0) if result.path else 0.0, seconds)


def _too_long(took: float, seconds: float) -> str:
    """Why a scenario whose own run took so long is not run again; an empty text if there is time for it."""
    if took <= _MOST_OF_BUDGET * seconds:
        return ""
    return f"the run itself took {quantity(took, 's', 2)}, and {quantity(seconds, 's')} have no room for the runs without each cause (--budget)"


def _chosen(
    summary: Mapping[str, Any], chosen: Callable[[Sequence[dict[str, Any]]], list[int] | None]
) -> list[dict[str, Any]]:
    """The flows that were asked for, of each kind of application the worst first."""
    flows = summary["flows"]
    if (wanted := chosen(flows)) is not None:
        numbers = frozenset(wanted)
        flows = [flow for flow in flows if flow["id"] in numbers]
    active = worst_first(flows)
    known = {flow["id"] for flow in active}
    return [*active, *(flow for flow in flows if flow["id"] not in known)]


def accounting(flow: Mapping[str, Any], content: Mapping[str, Any] | None = None) -> str:
    """Where a flow's time went, in a line; `content` is the resolved scenario, by which proxies are named.

    >>> flow = {"limited": {"receiver_window": 0.9, "slow_start": 0.1}, "metrics": {"goodput_bps": 1e6, "loss_rate": 0.01}}
    >>> accounting(flow)
    "goodput 1 Mbit/s; its time: receiver's window 90 %, slow start 10 %; 1 % of its packets were lost"
    """
    shares = usage.by_time(flow)
    metrics = flow.get("metrics") or {}
    if not any(shares.values()):
        return "it was not active in the measured time"
    if "goodput_bps" in metrics and metrics["goodput_bps"] is None:
        return "it had stopped before the measured time; only retransmissions and closing were left"
    kind = qoe.kind_of_flow(flow)
    felt = [name for name in qoe.of_flow(metrics, kind) if metrics.get(name) is not None] if kind != "streams" else []
    ordered = sorted(((share, name) for name, share in shares.items() if share >= _WORTH), reverse=True)
    parts = [
        f"{limit_title(name, [flow], content) if content else NAMES.get(name, name)} {quantity(share, 'share', 2)}"
        for share, name in ordered[:_NAMED]
    ]
    text = (
        f"goodput {quantity(metrics.get('goodput_bps'), 'bit/s')}"
        if metrics.get("delivered_bytes") != 0
        else "delivered nothing"
    )
    if felt and kind != "transfers":
        # What its users notice leads; the rate of a call or of requests is that of its application.
        text = ", ".join(f"{_FELT[name]} {quantity(float(metrics[name]), unit_of(name))}" for name in felt)
    text += f"; its time: {', '.join(parts)}"
    lost, timeouts = metrics.get("loss_rate"), int(metrics.get("timeouts") or 0)
    if lost:
        text += f"; {quantity(float(lost), 'share')} of its packets were lost"
    if timeouts:
        text += f"; {counted(timeouts, 'timeout')}"
    return text


#: What QoE of a flow is called in a line.
_FELT = {
    "mos": "mean opinion score",
    "call_delay_s": "delay",
    "stalls": "stalls",
    "stall_share": "share of stalls",
    "page_time_mean_s": "mean page",
    "page_time_p95_s": "95 % of its pages within",
    "response_time_p50_s": "median response",
    "response_time_mean_s": "mean response",
    "response_time_p95_s": "95 % of its responses within",
}


def worst_first(flows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The flows that were active while measured: of each kind of application what its users find worst first."""
    active = [flow for flow in flows if main_limit(flow)[0] and flow["metrics"].get("goodput_bps") is not None]
    return [flow for members in qoe.like(active).values() for flow in members]


@dataclass(frozen=True)
class GroupText:
    """The accounting of a group of flows: that of its median flow, with the range of goodputs."""

    name: str
    count: int
    text: str


def group_texts(flows: Sequence[dict[str, Any]], content: Mapping[str, Any] | None = None) -> list[GroupText]:
    """One line for each group of flows: where the time of its median flow went; `content` as in `accounting`."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for flow in flows:
        groups.setdefault(str(flow["group"]), []).append(flow)
    return [GroupText(name, len(members), _group_text(members, content)) for name, members in groups.items()]


def _group_text(flows: list[dict[str, Any]], content: Mapping[str, Any] | None) -> str:
    active = worst_first(flows)
    if not active:
        return accounting(flows[0], content)
    text = accounting(active[len(active) // 2], content)
    if len(flows) > 1:
        ends = [found for flow in (active[0], active[-1]) if (found := qoe.noticed(flow))]
        felt = _FELT.get(ends[0][0], "") if len({name for name, _ in ends}) == 1 else ""
        if felt:
            worst, best = (quantity(value, unit_of(name)) for name, value in ends)
            span = f"the worst with {felt} {worst}, the best {best}" if worst != best else f"each with {felt} {worst}"
        else:
            # A transfer that did not end has another number than those that did: all have a goodput.
            rates = [float(flow["metrics"]["goodput_bps"]) for flow in active]
            span = " to ".join(quantity(rate, "bit/s") for rate in (min(rates), max(rates)))
        text = f"{counted(len(flows), 'flow')}, {span}; the median flow: {text}"
    idle = len(flows) - len(active)
    return f"{text}; {counted(idle, 'flow')} not active in the measured time" if idle else text


def content_of(result: Result) -> dict[str, Any]:
    """The resolved scenario of a result as dictionaries; an empty one if it was not kept."""
    try:
        return tomllib.loads(result.scenario)
    except (ResultError, tomllib.TOMLDecodeError):
        return {}
