"""What limited a flow, by time and by what its path could have carried besides.

A sender that its window keeps from sending while the bottleneck is busy loses nothing: there the link is the limit. So a sender's
limits count for the time in which no link of its path was full, and for the bytes that the path could have carried meanwhile.
`path_use` of a flow in `summary.json` has both; results of real kernels have only the sender's own times, which stand for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

#: How each limit is called in figures and texts; order of stacking.
NAMES = {
    "cwnd": "cwnd",
    "slow_start": "slow start",
    "recovery": "recovery",
    "receiver_window": "receiver's window",
    "application": "application",
    "pacing": "pacing",
    "handshake": "handshake",
    "closed": "closed",
    "send_buffer": "send buffer",
    "timeout": "timeout",
    "down": "link down",
    "link": "link full",
}

#: A link is full in an interval of `run.sample` in which this part of its rate is in use.
FULL = 0.95
#: A flow with this part of its equal share has what it can expect.
SHARE_IS_MET = 0.8
#: Limits that the hosts of a flow set, whatever the network does.
_OF_HOSTS = frozenset({"receiver_window", "send_buffer", "application"})


def is_known(flow: Mapping[str, Any]) -> bool:
    """Whether the links of a flow's path were compared with its sender's limits."""
    return bool(flow.get("path_use"))


def by_time(flow: Mapping[str, Any]) -> dict[str, float]:
    """Shares of a flow's time by what limited it: a full link, a link that was down, and else what limited its sender.

    >>> by_time({"limited": {"cwnd": 0.9, "pacing": 0.1}, "path_use": {"full": 0.7, "down": 0.0, "open": {"cwnd": 0.3}}})
    {'cwnd': 0.3, 'link': 0.7}
    >>> by_time({"limited": {"cwnd": 0.9, "pacing": None}})
    {'cwnd': 0.9, 'pacing': 0.0}
    """
    use, limited = flow.get("path_use"), flow.get("limited") or {}
    # A flow that was not active in the measured time has no limit, whatever its links did.
    if not use or _by_itself(flow) or not any(limited.values()):
        return {name: float(share or 0.0) for name, share in limited.items()}
    shares = {**use["open"], "down": use["down"], "link": use["full"]}
    return {name: float(share) for name, share in shares.items() if share}


def _by_itself(flow: Mapping[str, Any]) -> bool:
    """Whether a flow that got less than its share of a link was held back by its hosts: then other flows fill the link."""
    limited = flow.get("limited") or {}
    main = max(limited, key=lambda name: limited[name] or 0.0, default="")
    goodput, fair = (flow.get("metrics") or {}).get("goodput_bps"), (flow.get("predicted") or {}).get("fair_share_bps")
    return main in _OF_HOSTS and goodput is not None and float(goodput) < SHARE_IS_MET * float(fair or 0.0)


def full(flow: Mapping[str, Any]) -> float:
    """The share of its time in which a full link was its limit; 0 if that is not known."""
    return by_time(flow).get("link", 0.0) if is_known(flow) else 0.0


def unused(flow: Mapping[str, Any]) -> dict[str, float]:
    """What its path could have carried besides in its time, as a share of what it could have carried, by its sender's limits.

    >>> unused({"path_use": {"capacity_bytes": 1000.0, "unused_bytes": {"slow_start": 50.0, "cwnd": 100.0}}})
    {'slow_start': 0.05, 'cwnd': 0.1}
    """
    use = {} if _by_itself(flow) else flow.get("path_use") or {}
    capacity = float(use.get("capacity_bytes") or 0.0)
    return {name: float(size) / capacity for name, size in use.get("unused_bytes", {}).items()} if capacity else {}


def in_its_time(flow: Mapping[str, Any]) -> float | None:
    """The share of what a flow's path could carry in the flow's time that was used, by whoever; `None` if it is not known."""
    use = flow.get("path_use") or {}
    capacity = float(use.get("capacity_bytes") or 0.0)
    return 1.0 - sum(use["unused_bytes"].values()) / capacity if capacity else None


def mean(flows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The path use of flows that are alike: the mean of each number."""
    uses = [flow["path_use"] for flow in flows if flow.get("path_use")]
    if not uses:
        return None
    many = len(uses)

    def of(part: str) -> float:
        return sum(float(use.get(part) or 0.0) for use in uses) / many

    def each(part: str) -> dict[str, float]:
        names = dict.fromkeys(name for use in uses for name in use[part])
        return {name: sum(float(use[part].get(name) or 0.0) for use in uses) / many for name in names}

    found = {part: of(part) for part in ("full", "down", "capacity_bytes")}
    last = [float(use["unused_until_s"]) for use in uses if use.get("unused_until_s") is not None]
    until = {"unused_until_s": max(last)} if last else {}
    return {**found, "open": each("open"), "unused_bytes": each("unused_bytes"), **until}
