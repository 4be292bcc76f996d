"""STTP made practical: the thesis's future work (sections 5.1.2 and 6.3), each addition alone and all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.scenario import Scenario

from ..model import Case
from .scenarios import (
    RETRIES,
    Settings,
    dumbbell,
    flows,
    modern_path,
    modern_tcp,
    satellite,
    spaced,
    sttp,
    tcp,
)


@dataclass(frozen=True)
class Addition:
    """Additions to strict STTP: to its probes, to its congestion control, to the connection."""

    probe: Settings
    congestion: Settings
    tcp: Settings


def _added(*, probe: Settings | None = None, tcp: Settings | None = None, **congestion: Any) -> Addition:
    return Addition(probe or {}, congestion, tcp or {})


#: RFC 7323 allows ticks from 1 ms to 1 s; Linux has had microseconds for paths that ask for them since 6.7.
_CLOCK: Settings = {"timestamps": True, "timestamp_tick": "1 us"}
_LEVEL: Settings = {"grow": 0.02, "drain": 0.1}
ADDITIONS: Mapping[str, Addition] = {
    "strict": _added(),
    "retry": _added(probe={"retries": RETRIES}),
    "train": _added(probe={"probes": 10}, train=10),
    "receiver": _added(probe={"side": "receiver"}, tcp=_CLOCK),
    "re-probing": _added(train=10, reprobe="10 s"),
    "level": _added(**_LEVEL),
    "competitive": _added(**_LEVEL, rival="cubic"),
    "all": _added(probe={"probes": 4, "retries": RETRIES, "side": "receiver"}, tcp=_CLOCK, kind="sttp_practical"),
    "all, re-probing": _added(
        probe={"probes": 4, "retries": RETRIES, "side": "receiver"}, tcp=_CLOCK, kind="sttp_practical", reprobe="10 s"
    ),
}


def settings(addition: str, *, window: int) -> Settings:
    """The connection's settings with an addition; `window` in packets, 0 for none. Strict is the version that the thesis's tables fit."""
    added = ADDITIONS[addition]
    if "kind" in added.congestion:
        congestion = {"peer_window": window, **added.congestion}
        return {"congestion": congestion, "slow_start": {"kind": "packet_pair", **added.probe}, **added.tcp}
    return {**sttp(timeout_factor=0.5, window=window, probe=added.probe, **added.congestion), **added.tcp}


#: Of the thesis: rate, sources, packets of buffer.
PATHS: Mapping[str, tuple[float, int, int]] = {
    "64 kbit/s": (64e3, 4, 64), "128 kbit/s": (128e3, 4, 64), "0.5 Mbit/s": (5e5, 10, 64), "0.8 Mbit/s": (8e5, 40, 64), "2 Mbit/s": (2e6, 50, 128),
}  # fmt: skip
#: 50 Mbit/s down, 5 up, 600 ms.
SATELLITE = "50 Mbit/s, 600 ms"
#: Paths and rivals of the contests: Reno at 2 Mbit/s from the thesis, and today's.
CONTESTS = (("2 Mbit/s", "reno"), (SATELLITE, "cubic"), (SATELLITE, "bbr"))
QUEUES = ("droptail", "drr")
#: Protocols that the additions are compared with.
REFERENCES: Mapping[str, tuple[str, ...]] = {"thesis": ("reno",), "today": ("cubic", "bbr")}
_UP = 5e6
#: Seconds; the first third is left out of averages.
_DURATIONS = {"tiny": 30, "quick": 150, "full": 150}


def _seeds(scale: str) -> int:
    return {"tiny": 1, "quick": 5, "full": 10}[scale]


def _users(of: str) -> tuple[str, ...]:
    return (*ADDITIONS, *REFERENCES[of])


def _old_tcp(user: str) -> dict[str, Any]:
    return tcp(settings(user, window=20) if user in ADDITIONS else user)


def today_tcp(user: str) -> dict[str, Any]:
    """A connection of today with an addition to STTP, or with another congestion control."""
    if user not in ADDITIONS:
        return modern_tcp(user)
    return {**modern_tcp("cubic"), **settings(user, window=0)}


def _satellite(name: str, queue: str, duration: int) -> Scenario:
    return satellite(name, duration=duration, up=_UP, queue=queue)


def _thesis_path(name: str, path: str, queue: str, duration: int) -> Scenario:
    rate, _, packets = PATHS[path]
    return dumbbell(name, rate=rate, queue=packets, duration=duration, discipline=queue, warmup=duration // 3)


def _equals(user: str, path: str, queue: str, duration: int) -> Scenario:
    """Flows of one kind: on the thesis's paths as many as there, one every 2 s; on the satellite four, 10 s apart."""
    name = f"{user}, {path}, {queue}"
    if path == SATELLITE:
        group = {"count": 4, "start": spaced(10), "app": {"kind": "bulk"}, "tcp": today_tcp(user)}
        return flows(_satellite(name, queue, duration), [{"name": "own", **group}])
    group = {"count": PATHS[path][1], "start": spaced(2 if PATHS[path][1] < 40 else 1), "app": {"kind": "bulk"}, "tcp": _old_tcp(user)}  # fmt: skip
    return flows(_thesis_path(name, path, queue, duration), [{"name": "own", **group}])


def additions(scale: str) -> list[Case]:
    """Each addition alone and all together: transfers of one kind on each path, first in first out and by deficit round robin."""
    points = [
        (user, path, queue)
        for path in (*PATHS, SATELLITE)
        for queue in QUEUES
        for user in _users("today" if path == SATELLITE else "thesis")
    ]
    if scale == "tiny":
        points = [("strict", "128 kbit/s", "droptail"), ("all", "128 kbit/s", "droptail")]
    return [
        Case({"user": user, "path": path, "queue": queue}, _equals(user, path, queue, _DURATIONS[scale]), _seeds(scale), weight=2.0 if path == SATELLITE else 0.1)
        for user, path, queue in points
    ]  # fmt: skip


def _contest(user: str, path: str, rival: str, queue: str, duration: int) -> Scenario:
    """As many flows of a rival, which begin after ours have found their rate."""
    name = f"{user} beside {rival}, {path}, {queue}"
    if path == SATELLITE:
        built = _satellite(name, queue, duration)
        own, others, count, later = today_tcp(user), modern_tcp(rival), 1, 20.0
    else:
        built = _thesis_path(name, path, queue, duration)
        own, others, count, later = _old_tcp(user), tcp(rival), 5, 5.0
    groups = [
        {"name": "own", "count": count, "start": spaced(1), "app": {"kind": "bulk"}, "tcp": own},
        {"name": "rivals", "count": count, "start": spaced(1, first=later), "app": {"kind": "bulk"}, "tcp": others},
    ]
    return flows(built, groups)


def contests(scale: str) -> list[Case]:
    """Each addition in competition with as many flows of a rival."""
    points = [
        (user, path, rival, queue)
        for path, rival in CONTESTS
        for queue in QUEUES
        for user in _users("today" if path == SATELLITE else "thesis")
    ]
    if scale == "tiny":
        points = [("all", "2 Mbit/s", "reno", "droptail")]
    return [
        Case({"user": user, "path": path, "rival": rival, "queue": queue}, _contest(user, path, rival, queue, _DURATIONS[scale]), _seeds(scale), weight=2.0 if path == SATELLITE else 0.1)
        for user, path, rival, queue in points
    ]  # fmt: skip


#: Transfers that compete with pages and keystrokes: of the same protocol, and of a rival.
BESIDE = ("nobody", "cubic", "bbr")


def people(scale: str) -> list[Case]:
    """Readers and typists with each addition, on the satellite with 5 Mbit/s up."""
    users = _users("today")
    points = [(user, rival) for user in users for rival in BESIDE] if scale != "tiny" else [("all", "nobody")]
    return [
        Case(
            {"user": user, "rival": rival},
            modern_path(user, rival, duration=_DURATIONS[scale], own=today_tcp(user), up=_UP),
            _seeds(scale),
            weight=3,
        )
        for user, rival in points
    ]


LATE = ("all", "cubic", "bbr")


def late(scale: str) -> list[Case]:
    """One flow that begins while a transfer of CUBIC fills the queue, which ends 40 s later: whose queue is it then?"""

    def scenario(user: str) -> Scenario:
        groups = [
            {"name": "own", "start": "40 s", "app": {"kind": "bulk"}, "tcp": today_tcp(user)},
            {"name": "rivals", "start": "0 s", "stop": "80 s", "app": {"kind": "bulk"}, "tcp": modern_tcp("cubic")},
        ]
        built = _satellite(f"{user} after cubic", "droptail", 240)
        return flows(built, groups)

    return [Case({"user": user}, scenario(user), _seeds(scale), tables=True, weight=2) for user in LATE if scale != "tiny"]  # fmt: skip
