"""How many rows `segments.parquet` will have, and packets a capture: from the rates of the paths, the sizes of packets, and what the
applications send."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .applications import ASKING
from .units import read_in

#: Rows for each data packet: the packet, an acknowledgement of every second one, and SACK blocks. Measured 1.6 to 2.1.
ROWS_PER_PACKET = 2.0
#: Packets for each data packet, both ways: itself, and an ACK for every second one.
PACKETS_PER_DATA = 1.5
#: Bytes of the headers that a packet has on the link, beside its payload.
_HEADERS = 40.0
_MSS = 1460.0

Table = Mapping[str, Any]
#: A link in one direction: its number, and whether forward.
Hop = tuple[int, bool]


def rows(scenario: Table, duration_s: float) -> float:
    """Rows that the traced flows of a resolved scenario will write in `duration_s`."""
    if not any(flow.get("trace") for flow in scenario.get("flow", [])):
        return 0.0
    return sum(packets * ROWS_PER_PACKET for flow, _, packets in _loads(scenario, duration_s) if flow.get("trace"))


def captured(scenario: Table, duration_s: float) -> tuple[float, float]:
    """Packets of TCP, and of QUIC, that captures of links (`run.capture`) will have."""
    names, found = scenario.get("run", {}).get("capture", []), [0.0, 0.0]
    if not names:
        return 0.0, 0.0
    links = _links(scenario)
    for flow, path, packets in _loads(scenario, duration_s):
        taps = sum(links[link].get("name", "bottleneck") in names for link, _ in path)
        found[flow.get("transport") == "quic"] += taps * packets * PACKETS_PER_DATA
    return found[0], found[1]


def _loads(scenario: Table, duration_s: float) -> Iterator[tuple[Table, list[Hop], float]]:
    """Each table of flows, its path, and the data packets of its connections in `duration_s`; flows of one link share its rate evenly."""
    flows = scenario.get("flow", [])
    links = _links(scenario)
    paths = [_path(links, *_ends(flow)) for flow in flows]
    users: Counter[Hop] = Counter()
    for flow, path in zip(flows, paths, strict=True):
        users.update(dict.fromkeys(path, members(flow)))
    for flow, path in zip(flows, paths, strict=True):
        shares = [rate / users[hop] for hop in path if (rate := _rate(*_directed(links, hop)))]
        shares += [rate for rate in [_rate(flow.get("access", {}))] if rate]
        yield flow, path, members(flow) * _packets(flow, min(shares, default=0.0), duration_s)


def members(flow: Table) -> int:
    """The connections of a flow's table."""
    return int(flow.get("count", 1)) * int(flow.get("streams", 1))


def _packets(flow: Table, share: float, duration_s: float) -> float:
    """Data packets of one connection that gets `share` (bit/s) of its path, at most what its application sends."""
    app = flow.get("app", {})
    mss = _number(flow.get("tcp", {}).get("mss"), "bytes") or _MSS
    most = [duration_s * share / 8 / (mss + _HEADERS)]
    if rate := _number(app.get("rate"), "bit/s"):
        size = min(mss, _number(app.get("message"), "bytes") or mss)
        most.append(duration_s * rate / 8 / size)
    if size := _number(app.get("size"), "bytes") if app.get("kind") == "bulk" else 0.0:
        most.append(size / int(flow.get("streams", 1)) / mss)
    return min(most)


def _links(scenario: Table) -> Sequence[Table]:
    links = list(scenario.get("link", []))
    if dumbbell := scenario.get("dumbbell"):
        links.append({"ends": ["left", "right"], **dumbbell["bottleneck"]})
    return links


def _ends(flow: Table) -> tuple[str, str]:
    """Where its data comes from and goes to."""
    ends = flow.get("from", "left"), flow.get("to", "right")
    return (ends[1], ends[0]) if flow.get("app", {}).get("kind") in ASKING else ends


def _path(links: Sequence[Table], source: str, target: str) -> list[Hop]:
    """The shortest path; empty if there is none."""
    came: dict[str, tuple[str, Hop]] = {}
    waiting = deque([source])
    while waiting and target not in came:
        node = waiting.popleft()
        for far, hop in _neighbours(links, node):
            if far not in came and far != source:
                came[far] = node, hop
                waiting.append(far)
    path = []
    while target in came:
        target, hop = came[target]
        path.append(hop)
    return path


def _neighbours(links: Sequence[Table], node: str) -> Iterator[tuple[str, Hop]]:
    for number, link in enumerate(links):
        first, second = link["ends"]
        if node == first:
            yield second, (number, True)
        elif node == second:
            yield first, (number, False)


def _directed(links: Sequence[Table], hop: Hop) -> tuple[Table, Table]:
    link = links[hop[0]]
    return link.get("forward" if hop[1] else "reverse", {}), link


def _rate(*tables: Table) -> float:
    """The first rate of these tables, or a later one if it is higher, in bit/s; 0 if there is none."""
    rate = next((found for table in tables if (found := _number(table.get("rate"), "bit/s"))), 0.0)
    changed = [_number(change.get("rate"), "bit/s") for table in tables for change in table.get("changes", [])]
    return max([rate, *changed]) if rate else 0.0


def _number(value: object, unit: str) -> float:
    return read_in(value, unit) or 0.0
