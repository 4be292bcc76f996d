"""From a scenario to the files of a deployed accelerator (`longhaul-pep`): the link that it crosses, and both nodes' settings."""

from __future__ import annotations

import tomllib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from . import core
from .core import Overrides
from .document import Document
from .errors import ScenarioError
from .units import counted, read_quantity

#: A sender keeps this part of its link's rate, so that the link's queue stays empty.
PACED = 0.997
#: Where the other node's public key belongs.
NO_KEY = "0" * 64
#: Kinds of middleboxes with a node at each end of a long hop.
_TWO_NODES = ("split", "paced")


@dataclass(frozen=True)
class LongHop:
    """What two nodes have between them: rates in bit/s, the round trip in seconds, parts of packets lost."""

    name: str
    terminal: str
    hub: str
    down: float
    up: float
    rtt: float
    loss_down: float
    loss_up: float
    #: Rates at which the two nodes send, bit/s.
    hub_sends: float
    terminal_sends: float
    #: Lines of both files for the other settings that the scenario's hop has.
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Site:
    """What a scenario does not hold: addresses, interfaces and keys."""

    hub_address: str = "198.51.100.10:7714"
    interfaces: tuple[str, ...] = ("eth1",)
    sources: tuple[str, ...] = ("192.168.1.0/24",)
    terminal_key: str = NO_KEY
    hub_key: str = NO_KEY


def long_hop(
    document: Document, overrides: Overrides = (), *, link: str | None = None, terminal: str | None = None
) -> LongHop:
    """The long hop of a scenario: the links between both nodes of its proxy, or `link`, or the link with the longest delay."""
    content = tomllib.loads(core.resolve(document, overrides)[0])
    links = content.get("link", [])
    if not links:
        raise ScenarioError(f"{document.source}: it has no [[link]] that an accelerator could cross")
    ends, path = _ends_and_path(content, link, document.source)
    near = terminal or _terminal(content, ends)
    if near not in ends:
        raise ScenarioError(f"{document.source}: --terminal {near}: the hop is between {ends[0]} and {ends[1]}")
    hub = ends[1] if near == ends[0] else ends[0]
    down = _along(path, hub, document.source)
    up = _along(path, near, document.source)
    box = _hop_between(content, ends)
    long = box.get("long", {})
    sends = {box.get("at"): _number(long.get("forward_rate")), box.get("peer"): _number(long.get("reverse_rate"))}
    return LongHop(
        name=", ".join(each["name"] for each in path),
        terminal=near,
        hub=hub,
        down=down.rate,
        up=up.rate,
        rtt=_number(long.get("initial_rtt")) or down.delay + up.delay,
        loss_down=down.loss,
        loss_up=up.loss,
        hub_sends=sends.get(hub) or PACED * down.rate,
        terminal_sends=sends.get(near) or PACED * up.rate,
        settings=tuple(_settings(long)),
    )


def files(hop: LongHop, site: Site) -> dict[str, str]:
    """The text of `terminal.toml` and `hub.toml`."""
    settings = "".join(f"{line}\n" for line in hop.settings)
    common = f'{settings}key = "/etc/longhaul/pep.key"            # longhaul-pep keygen\ninitial_rtt = "{hop.rtt * 1000:g} ms"\n'
    loss = max(hop.loss_down, hop.loss_up)
    about = (
        f"# From the link {hop.name}: {_mbit(hop.down)} down, {_mbit(hop.up)} up, round trip {hop.rtt * 1000:g} ms"
        + (f", {loss:.3g} of the packets lost" if loss else "")
        + ".\n"
    )
    port = site.hub_address.rpartition(":")[2]
    terminal = (
        f"{about}# The terminal, at {hop.terminal}.\n"
        f'mode = "terminal"\nmetrics = "127.0.0.1:9713"\n\n'
        f'[hop]\nhub = "{site.hub_address}"\nhub_key = "{site.hub_key}"{_to_fill(site.hub_key, "hub")}\n'
        f"{_rates(hop.terminal_sends, hop.up, hop.hub_sends)}{common}\n"
        f"[intercept]\ninterfaces = {_list(site.interfaces)}                    # where the clients are\n"
    )
    any_address = "[::]" if site.hub_address.startswith("[") else "0.0.0.0"
    hub = (
        f"{about}# The hub, at {hop.hub}.\n"
        f'mode = "hub"\nmetrics = "127.0.0.1:9713"\n\n'
        f'[hop]\nlisten = "{any_address}:{port}"\n{_rates(hop.hub_sends, hop.down, hop.terminal_sends)}{common}\n'
        f"[[terminal]]\n"
        f'name = "{hop.terminal}"\nkey = "{site.terminal_key}"{_to_fill(site.terminal_key, "terminal")}\n'
        f"sources = {_list(site.sources)}          # servers see these clients' own addresses\n"
    )
    return {"terminal.toml": terminal, "hub.toml": hub}


@dataclass(frozen=True)
class _Direction:
    rate: float
    delay: float
    loss: float


def _ends_and_path(
    content: dict[str, Any], wanted: str | None, source: str
) -> tuple[tuple[str, str], list[dict[str, Any]]]:
    links = content["link"]
    if wanted is not None:
        found = [each for each in links if each["name"] == wanted]
        if not found:
            names = ", ".join(each["name"] for each in links)
            raise ScenarioError(f"{source}: there is no link {wanted}; there are {names}")
        return tuple(found[0]["ends"]), found
    nodes = [box for box in content.get("middlebox", []) if box["kind"] in _TWO_NODES and "peer" in box]
    if len(nodes) > 1:
        names = ", ".join(box["name"] for box in nodes)
        raise ScenarioError(
            f"{source}: {counted(len(nodes), 'proxy')} at two nodes ({names}): choose a link with --link"
        )
    if nodes:
        at, peer = nodes[0]["at"], nodes[0]["peer"]
        return (at, peer), _path(links, at, peer)
    longest = max(links, key=lambda each: _delay(each, "forward") + _delay(each, "reverse"))
    return tuple(longest["ends"]), [longest]


def _hop_between(content: dict[str, Any], ends: tuple[str, str]) -> dict[str, Any]:
    """The split whose long hop is the accelerator's transport between these nodes; empty if there is none."""
    box: dict[str, Any]
    for box in content.get("middlebox", []):
        is_hop = box.get("long", {}).get("transport") == "hop"
        if is_hop and {box["at"], box["peer"]} == set(ends):
            return box
    return {}


def _settings(long: dict[str, Any]) -> Iterator[str]:
    """Settings of a scenario's hop as `longhaul-pep` has them."""
    if long.get("carrier") == "tcp":
        yield 'carrier = "tcp"'
    if long.get("share") == "fair":
        yield "shared = true"
    if long.get("coding") == "off":
        yield "coding = false"
    if mtu := _number(long.get("mtu")):
        yield f"mtu = {int(mtu)}"
    yield from (f'{key} = "{long[key]}"' for key in ("keep_alive", "idle_timeout", "credit", "memory") if key in long)


def _path(links: list[dict[str, Any]], start: str, goal: str) -> list[dict[str, Any]]:
    """The links of the shortest way."""
    ways: dict[str, list[dict[str, Any]]] = {start: []}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for each in links:
            for there in each["ends"]:
                if here in each["ends"] and there not in ways:
                    ways[there] = [*ways[here], each]
                    waiting.append(there)
    return ways[goal]


def _terminal(content: dict[str, Any], ends: tuple[str, str]) -> str:
    """The end where the clients are: the one nearer to where the first flow ends."""
    for flow in content.get("flow", []):
        ways = [
            len(_path(content["link"], end, flow["to"])) if end != flow["to"] else 0
            for end in ends
            if _is_reached(content["link"], end, flow["to"])
        ]
        if len(ways) == 2:
            return ends[0] if ways[0] < ways[1] else ends[1]
    return ends[1]


def _is_reached(links: list[dict[str, Any]], start: str, goal: str) -> bool:
    try:
        _path(links, start, goal)
    except KeyError:
        return False
    return True


def _setting(link: dict[str, Any], direction: str, name: str) -> Any:
    return link.get(direction, {}).get(name, link.get(name))


def _delay(link: dict[str, Any], direction: str) -> float:
    return _number(_setting(link, direction, "delay")) or 0.0


def _number(text: Any) -> float | None:
    found = read_quantity(text)
    return None if found is None else found[0]


def _along(path: list[dict[str, Any]], start: str, source: str) -> _Direction:
    """Rate, delay and loss of the links of a path (in either order) from the node where it begins."""
    kept, rate, delay = 1.0, float("inf"), 0.0
    left, here = list(path), start
    while left:
        link = next(each for each in left if here in each["ends"])
        left.remove(link)
        direction = "forward" if link["ends"][0] == here else "reverse"
        own = _number(_setting(link, direction, "rate"))
        if own is None:
            raise ScenarioError(
                f"{source}: link {link['name']} has no constant rate from {here}; give it one with --set, as in "
                f'--set link.{link["name"]}.{direction}.rate="50 Mbit/s"'
            )
        loss = _setting(link, direction, "loss") or {}
        rate, delay = min(rate, own), delay + _delay(link, direction)
        kept *= 1.0 - float(loss.get("probability", 0.0) if loss.get("kind") == "random" else 0.0)
        here = link["ends"][1] if link["ends"][0] == here else link["ends"][0]
    return _Direction(rate, delay, 1.0 - kept)


def _rates(own: float, link: float, other: float) -> str:
    return (
        f'send_rate = "{int(own)} bit/s"             # of the link\'s {_mbit(link)}\n'
        f'most_rate = "{int(own)} bit/s"\n'
        f'receive_rate = "{int(other)} bit/s"          # of the other node; buffers follow the faster one\n'
    )


def _mbit(rate: float) -> str:
    return f"{rate / 1e6:g} Mbit/s"


def _list(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _to_fill(key: str, node: str) -> str:
    return f"   # FILL IN: what `longhaul-pep keygen` prints at the {node}" if key == NO_KEY else ""
