"""Experiments: the thesis's 1 to 6, its long runs and side experiments, and further ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model import Case, Experiment
from . import practical
from .scenarios import (
    BURSTS,
    FILM,
    FIRST,
    REQUESTS,
    RETRIES,
    Settings,
    bulk,
    dumbbell,
    flows,
    modern_path,
    spaced,
    sttp,
    tcp,
    topology_1,
)
from .tables import APPENDIX_1, APPENDIX_2, CHOSEN, TABLE_4_5, VERSIONS

#: Protocols that experiments 2, 4, 5 and the long runs compare.
COMPARED = ("reno", "vegas", *VERSIONS)

SCALES = {
    "tiny": "short runs of a few points, for continuous integration",
    "quick": "every row of every table with five seeds; experiment 6 with six numbers of nodes for 400 s, pages of today for 200 s",
    "full": "ten seeds; experiment 6 with every number of nodes and five seeds for 900 s, pages of today for 300 s",
    "readings": "the points and times of `quick`, with what the thesis leaves open taken in other ways",
}
#: Experiment 6: multiples of three.
MIXED = tuple(range(3, 100, 3))
#: Section 5.8, S1 and S4: bounds of the round trip ratio.
DEAD_BANDS = (0.01, 0.03, 0.05, 0.10, 0.20)
BOUNDS: Mapping[str, tuple[float, float]] = {
    "5 % both": (0.95, 1.05), "slow to claim": (0.85, 1.05), "slow to yield": (0.95, 1.15), "wide": (0.80, 1.20), "narrow": (0.99, 1.01),
}  # fmt: skip
FIRST_PROTOCOLS = ("reno", "sttp", "sttp half")
#: Readings of the printed scaling factor, and of other open points of the thesis.
READINGS: Mapping[str, Settings] = {
    "R1, timer": {"scaling": "linear"}, "R1, acks": {"scaling": "linear", "bucket": "acks"}, "R2, timer": {}, "R2, acks": {"bucket": "acks"},
    "R3": {"scaling": "literal"}, "tokens scaled": {"scale_tokens": True}, "R2, timer, half": {"timeout_factor": 0.5},
    "R2, acks, half": {"bucket": "acks", "timeout_factor": 0.5},
}  # fmt: skip
#: The thesis's proposals for lost and misleading probes (sections 5.1.2 and 6.3).
STARTS: Mapping[str, Settings] = {
    "strict": {}, "retry": {"retries": RETRIES}, "train": {"retries": RETRIES, "probes": 10},
    "large probes": {"retries": RETRIES, "size": "1000 B"},
}  # fmt: skip


#: Side experiments are with the version whose numbers are nearer to the thesis's.
_HALF: Settings = {"timeout_factor": 0.5}


def _seeds(scale: str) -> int:
    return {"quick": 5, "full": 10}.get(scale, 1)


def _thin(scale: str, values: tuple[Any, ...], tiny: tuple[Any, ...]) -> tuple[Any, ...]:
    return tiny if scale == "tiny" else values


def _experiment_2(count: int, protocol: str | Settings, *, duration: float, discipline: str = "droptail") -> Any:
    built = dumbbell(f"bulk, {count} sources", rate=2e6, queue=128, duration=duration, discipline=discipline)
    return flows(built, [{"name": "bulk", **bulk(protocol, count, interval=2)}])


def functional(scale: str) -> list[Case]:
    """Experiment 1, table 4.4 and figure 4.2."""
    return [
        Case({"protocol": protocol}, topology_1(protocol), _seeds(scale), tables=True, weight=0.1)
        for protocol in FIRST_PROTOCOLS
    ]


#: Other readings of experiment 1: larger packets, a larger buffer, ns-2's window, the bucket that the thesis built first, the factor of
#: its example.
FIRST_READINGS: Mapping[str, str | Settings] = {
    "reno": "reno",
    "sttp R2, timer": sttp(timeout_factor=0.5, window=0),
    "sttp R1, timer": sttp(timeout_factor=0.5, window=0, scaling="linear"),
    "sttp R2, acks": sttp(timeout_factor=0.5, window=0, bucket="acks"),
    "sttp R1, acks": sttp(timeout_factor=0.5, window=0, bucket="acks", scaling="linear"),
}
FIRST_BUFFERS, FIRST_WINDOWS = (64, 128, 200), (0, 20)
#: Bytes with headers: the usual choice, the usual datagram of the time, and the one of which the link carries 128.0 in 10 s, as many
#: as STTP's six sources send in table 4.4 (127.6).
FIRST_PACKETS = (500, 576, 625)


def first(scale: str) -> list[Case]:
    """Experiment 1 with other readings of its open points."""
    return [
        Case(
            {"protocol": name, "packet": packet, "buffer": buffer, "window": window},
            topology_1(protocol, queue=buffer, window=window or None, packet=packet),
            _seeds(scale),
            tables=True,
            weight=0.1,
        )
        for name, protocol in _thin(scale, tuple(FIRST_READINGS.items()), ())
        for packet in FIRST_PACKETS for buffer in FIRST_BUFFERS for window in FIRST_WINDOWS
    ]  # fmt: skip


def transfers(scale: str) -> list[Case]:
    """Experiment 2, appendix table 1, figures 4.4 to 4.6."""
    duration = 60 if scale == "tiny" else 900
    return [
        Case({"protocol": protocol, "n": count}, _experiment_2(count, protocol, duration=duration), _seeds(scale))
        for count in _thin(scale, tuple(APPENDIX_1), (10,)) for protocol in COMPARED
    ]  # fmt: skip


def fairness(scale: str) -> list[Case]:
    """Experiment 3, table 4.5."""
    return [
        Case(
            {"protocol": protocol, "n": count},
            flows(
                dumbbell(f"fairness, {count} {protocol}", rate=128e3, access=128e3, queue=64, duration=200 if scale == "tiny" else 2000),
                [{"count": count, "start": spaced(10, first=1.0), "app": {"kind": "bulk"}, "tcp": tcp(protocol)}],
            ),
            _seeds(scale),
            weight=0.2,
        )
        for protocol, count in _thin(scale, (*TABLE_4_5, *(("vegas", n) for n in (1, 2, 4))), (("reno", 1), ("sttp 5:5", 1)))
    ]  # fmt: skip


def video(scale: str) -> list[Case]:
    """Experiment 4, appendix table 2, figures 4.7 to 4.9."""
    return [
        Case({"protocol": protocol, "n": count}, _of_application("video", FILM, protocol, count, scale), _seeds(scale), weight=0.3)
        for count in _thin(scale, tuple(APPENDIX_2), (10,)) for protocol in COMPARED
    ]  # fmt: skip


def requests(scale: str) -> list[Case]:
    """Experiment 5, figures 4.10 to 4.12."""
    return [
        Case({"protocol": protocol, "n": count}, _of_application("requests", REQUESTS, protocol, count, scale), _seeds(scale), weight=0.3)
        for count in _thin(scale, tuple(APPENDIX_2), (10,)) for protocol in COMPARED
    ]  # fmt: skip


def _of_application(name: str, app: Settings, protocol: str, count: int, scale: str) -> Any:
    built = dumbbell(f"{name}, {count} sources", rate=5e5, queue=64, duration=60 if scale == "tiny" else 900)
    group = {"name": name, "count": count, "start": spaced(2), "app": dict(app), "tcp": tcp(protocol)}
    return flows(built, [group])


def mixed(scale: str) -> list[Case]:
    """Experiment 6, figure 4.13: a third of each protocol, in turns, on 100 Mbit/s."""
    counts = {"tiny": (6,), "quick": (3, 12, 18, 30, 60, 99), "full": MIXED}[scale]
    duration = {"tiny": 30, "quick": 400, "full": 900}[scale]

    def scenario(count: int, version: str) -> Any:
        built = dumbbell(f"mixed, {count} nodes", rate=100e6, queue=64, duration=duration)
        groups = [
            {
                "name": name,
                "count": count // 3,
                "start": spaced(6, first=FIRST + 2 * turn),
                "app": BURSTS,
                "tcp": tcp(protocol),
            }
            for turn, (name, protocol) in enumerate((("reno", "reno"), ("vegas", "vegas"), ("sttp", version)))
        ]
        return flows(built, groups)

    return [
        Case({"n": count, "version": version}, scenario(count, version), 1 if scale == "tiny" else 5, weight=duration / 60)
        for count in counts for version in VERSIONS
    ]  # fmt: skip


def long_runs(scale: str) -> list[Case]:
    """Tables 5.2 and 5.3: 40 sources, one every 5 s, at 0.8 Mbit/s."""
    return [
        Case(
            {"protocol": protocol, "duration": duration},
            flows(dumbbell(f"long run, {duration} s", rate=8e5, queue=64, duration=duration), [{"name": "bulk", **bulk(protocol, 40, interval=5)}]),
            _seeds(scale),
            weight=0.2,
        )
        for duration in _thin(scale, (200, 300), ()) for protocol in ("reno", *VERSIONS)
    ]  # fmt: skip


def queues(scale: str) -> list[Case]:
    """Experiment 2 with routers that serve flows in turn, which packet pairs were made for."""
    return [
        Case(
            {"protocol": protocol, "n": count, "queue": queue},
            _experiment_2(count, protocol, duration=900, discipline=queue),
            _seeds(scale),
        )
        for queue in _thin(scale, ("droptail", "drr", "wfq"), ()) for count in (10, 30, 100) for protocol in ("reno", *VERSIONS, "sttp loss only")
    ]  # fmt: skip


def bands(scale: str) -> list[Case]:
    """S1: dead bands of 1 to 20 %."""
    return _variants(scale, {band: {**_HALF, "rtt_lo": 1 - band, "rtt_hi": 1 + band} for band in DEAD_BANDS}, "band")


def bounds(scale: str) -> list[Case]:
    """S4: bounds that are wide, narrow or uneven: all flows alike."""
    variants = {name: {**_HALF, "rtt_lo": low, "rtt_hi": high} for name, (low, high) in BOUNDS.items()}
    return _variants(scale, variants, "bounds")


def readings(scale: str) -> list[Case]:
    """S2, the negative control R3, and readings of open points of the thesis."""
    return _variants(scale, READINGS, "reading")


def _variants(scale: str, variants: Mapping[Any, Settings], name: str) -> list[Case]:
    return [
        Case({name: label, "n": count}, _experiment_2(count, sttp(**settings), duration=900), _seeds(scale))
        for label, settings in _thin(scale, tuple(variants.items()), ()) for count in (10, 50, 100)
    ]  # fmt: skip


def starts(scale: str) -> list[Case]:
    """S5 and the thesis's future work: starts into a congested path, strict, with retries, with trains, with larger probes."""
    return [
        Case(
            {"start": label, "n": count},
            _experiment_2(count, sttp(probe=probe), duration=900),
            _seeds(scale),
        )
        for label, probe in _thin(scale, tuple(STARTS.items()), ()) for count in (10, 50, 100, 200)
    ]  # fmt: skip


def swings(scale: str) -> list[Case]:
    """S3: one flow with on/off cross traffic (0.4 of 0.5 Mbit/s, every 20 s), unweighted and weighted."""

    def scenario(w_new: float) -> Any:
        built = dumbbell("cross traffic", rate=5e5, queue=64, duration=400, sample=1)
        cross = {
            "name": "cross", "start": "10 s", "tcp": tcp("reno"),
            "app": {"kind": "on_off", "rate": "400 kbit/s", "message": "960 B", "on": "20 s", "off": "20 s"},
        }  # fmt: skip
        return flows(built, [{"name": "sttp", **bulk(sttp(w_new=w_new), 1, interval=2)}, cross])

    return [
        Case({"w_new": w_new}, scenario(w_new), _seeds(scale), tables=True)
        for w_new in _thin(scale, (1.0, 0.9, 0.5, 0.1), ())
    ]


def restarts(scale: str) -> list[Case]:
    """C1: Reno that goes on with its average window after a timeout, in experiment 2."""
    return [
        Case(
            {"protocol": protocol, "n": count}, _experiment_2(count, protocol, duration=900), _seeds(scale)
        )
        for count in _thin(scale, (10, 50, 100, 200), ()) for protocol in ("reno", "tahoe", "reno average")
    ]  # fmt: skip


#: What the thesis leaves open of the network of experiments 2 and 4, one change at a time: of the bottleneck, of connections, of starts.
NETWORKS: Mapping[str, Mapping[str, Settings]] = {
    "as taken": {},
    "a packet in service beside the buffer": {"built": {"more": 1}},
    "buffer counted in bytes": {"built": {"bytes": True}},
    "ACKs delayed by up to 100 ms, for every second packet": {"tcp": {"delayed_ack": "100 ms", "ack_every": 2}},
    "packets of 1000 bytes and 40 of headers": {"packet": {"packet": 1040}},
    "all start within 0.1 s": {"group": {"start": {"uniform": ["100 ms", "200 ms"]}}},
    "a start every second": {"group": {"start": spaced(1)}},
    "simultaneous events in ns-2's order": {"run": {"ties": "scheduled"}},
}
#: Numbers of sources at which they are compared.
NETWORKS_AT = (20, 50, 100)


def networks(scale: str) -> list[Case]:
    """Experiments 2 and 4 with other readings of packets, buffers, ACKs and starts."""

    def scenario(traffic: str, changes: Mapping[str, Settings], protocol: str, count: int) -> Any:
        rate, queue, app = (2e6, 128, {"kind": "bulk"}) if traffic == "transfers" else (5e5, 64, dict(FILM))
        change = changes.get("built", {})
        limit = queue + change.get("more", 0)
        buffer = f"{limit} kB" if change.get("bytes") else f"{limit} packets"
        built = dumbbell(
            f"{traffic}, {count} sources", rate=rate, queue=queue, duration=900, buffer=buffer, **changes.get("run", {})
        )
        settings = tcp(protocol, **changes.get("packet", {})) | dict(changes.get("tcp", {}))
        group = {"name": traffic, "count": count, "start": spaced(2), "app": app, "tcp": settings}
        return flows(built, [group | dict(changes.get("group", {}))])

    return [
        Case({"network": name, "traffic": traffic, "protocol": protocol, "n": count}, scenario(traffic, changes, protocol, count), _seeds(scale), weight=0.6)
        for name, changes in _thin(scale, tuple(NETWORKS.items()), ()) for traffic in ("transfers", "video")
        for protocol in ("reno", "vegas", CHOSEN) for count in NETWORKS_AT
    ]  # fmt: skip


#: The modern path: the users' protocols, and their rivals.
FOREGROUND = ("cubic", "reno", "bbr", "vegas", "sttp")
RIVALS = ("nobody", "cubic", "bbr")


def modern(scale: str) -> list[Case]:
    """50 Mbit/s and 600 ms: pages, keystrokes and transfers of one protocol, together with transfers of CUBIC or BBR."""
    seeds = _seeds(scale)
    points = [(user, rival) for user in FOREGROUND for rival in RIVALS]
    return [
        Case({"protocol": user, "rival": rival}, modern_path(user, rival, duration={"tiny": 30, "quick": 200, "full": 300}[scale]), seeds, weight=3)
        for user, rival in _thin(scale, tuple(points), (("cubic", "cubic"),))
    ]  # fmt: skip


EXPERIMENTS = (
    Experiment("functional", "Experiment 1: six sources, one after the other, at 64 kbit/s", "4.1.1", functional),
    Experiment("first", "Experiment 1 with other readings: buffers, windows, buckets", "4.1.1", first),
    Experiment("transfers", "Experiment 2: bulk transfers at 2 Mbit/s", "4.2.1", transfers),
    Experiment("fairness", "Experiment 3: fairness at 128 kbit/s", "4.2.2", fairness),
    Experiment("video", "Experiment 4: films at 0.5 Mbit/s", "4.2.3", video),
    Experiment("requests", "Experiment 5: requests at 0.5 Mbit/s", "4.2.4", requests),
    Experiment("mixed", "Experiment 6: three protocols at 100 Mbit/s", "4.2.5", mixed),
    Experiment("long", "Long runs at 0.8 Mbit/s", "5.2", long_runs),
    Experiment("queues", "Packet pair and fair queueing", "5.1.2", queues),
    Experiment("bands", "S1: dead bands", "5.2", bands),
    Experiment("bounds", "S4: bounds of the round trip", "5.2.3", bounds),
    Experiment("readings", "S2, R3: variants of bucket and factor", "3.4", readings),
    Experiment("starts", "S5: starts into a congested path, and better ones", "5.1.2", starts),
    Experiment("swings", "S3: cross traffic that comes and goes", "3.4.4", swings),
    Experiment("restarts", "C1: Reno that remembers its window", "2.2", restarts),
    Experiment(
        "networks",
        "Experiments 2 and 4 with other readings: packets, buffers, ACKs, starts",
        "3.2, 4.2.1, 4.2.3",
        networks,
    ),
    Experiment("modern", "Pages and keystrokes at 50 Mbit/s and 600 ms", "-", modern),
    Experiment("additions", "Made practical: each addition among its own kind", "6.3", practical.additions),
    Experiment("contests", "Made practical: each addition in competition with a rival", "6.3", practical.contests),
    Experiment("people", "Made practical: pages and keystrokes", "6.3", practical.people),
    Experiment("late", "Made practical: a flow that begins in another's queue", "6.3", practical.late),
)
