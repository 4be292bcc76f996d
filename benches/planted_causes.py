#!/usr/bin/env python3
"""Plants one cause in each of many random scenarios, and counts how often the explanation names it first.

Usage: .venv/bin/python benches/planted_causes.py [--scenarios N] [--ideal N] [--seed N] [--budget SECONDS] [--only 116,188] [--json FILE]
  --scenarios N   with one planted cause each (500)
  --ideal N       without any: the explanation has to name none (200)
  --only NUMBERS  of those with a planted cause these alone, by their numbers from 1 on; the others are drawn and not run

A cause is planted by its closed form: it costs at least a factor of 1.3, and everything else in the scenario costs less than 1.05
(buffers of eight bandwidth-delay products, queues of two, no loss, a measured time after slow start). What is drawn: rate, round
trip, transport and congestion control, the number of links, a proxy, other flows, and the strength of the cause.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul import toml
from longhaul.document import Document
from longhaul.why import why

#: Seconds of wall-clock time for one explanation.
BUDGET_S = 120.0
MSS, WIRE = 1460, 1500


@dataclass
class Drawn:
    """A scenario whose flow has what its path allows, and the numbers of its path."""

    content: dict[str, Any]
    rate: float
    rtt: float
    quic: bool

    @property
    def pipe(self) -> float:
        """The bandwidth-delay product in bytes of payload."""
        return self.rate * self.rtt / 8 * MSS / WIRE

    @property
    def flow(self) -> dict[str, Any]:
        """The flow that is explained."""
        found: dict[str, Any] = self.content["flow"][0]
        return found

    @property
    def link(self) -> dict[str, Any]:
        """The slowest link."""
        return next(link for link in self.content["link"] if link["name"] == "path")


def draw(dice: random.Random) -> Drawn:
    """A path with one flow at its ideal."""
    rate = dice.choice([2e6, 5e6, 10e6, 20e6])
    delay = dice.uniform(0.01, 0.15)
    links = dice.choice([1, 2, 3])
    nodes = ["server", "hub", "edge", "client"]
    quic = dice.random() < 0.25
    queue = f"{max(20, round(2 * rate * 2 * (delay + 0.004) / 8 / WIRE))} packets"
    ends = {1: ("server", "client"), 2: ("hub", "client"), 3: ("hub", "edge")}[links]
    made: list[dict[str, Any]] = [
        {
            "name": "path",
            "ends": list(ends),
            "rate": f"{rate:.0f} bit/s",
            "delay": f"{delay * 1000:.3f} ms",
            "queue": queue,
        }
    ]
    if links > 1:
        made.append({"name": "lan", "ends": ["server", "hub"], "rate": "1 Gbit/s", "delay": "1 ms"})
    if links > 2:
        made.append({"name": "home", "ends": ["edge", "client"], "rate": "1 Gbit/s", "delay": "1 ms"})
    rtt = 2 * (delay + 0.001 * (links - 1)) + 0.001
    flow: dict[str, Any] = {"name": "f", "from": nodes[0], "to": nodes[-1]}
    if quic:
        flow |= {"transport": "quic", "quic": {"congestion": "cubic", "slow_start": "hystart++", "unordered": True}}
    else:
        variant = dice.choice(["sack", "rack", "linux"])
        flow["tcp"] = {"variant": variant, "congestion": dice.choice(["cubic", "reno"]), "slow_start": "hystart++"}
        if variant == "linux":
            flow["tcp"] |= {"receive_autotuning": {"max": "64 MB"}, "send_buffer": "unlimited"}
    # Long enough for a window that grows by a packet a round trip to fill pipe and queue.
    warmup = 20 + 60 * rtt
    content = {
        "name": "planted",
        "run": {"duration": f"{warmup + 40:.1f} s", "warmup": f"{warmup:.1f} s", "seed": dice.randrange(1, 1000)},
        "link": made,
        "flow": [flow],
    }
    return Drawn(content, rate, rtt, quic)


def _window(drawn: Drawn, dice: random.Random) -> str:
    size = f"{max(2 * MSS, round(drawn.pipe / dice.uniform(1.4, 5))):.0f} B"
    if drawn.quic:
        drawn.flow["quic"]["stream_window"] = size
    elif drawn.flow["tcp"]["variant"] == "linux":
        drawn.flow["tcp"].pop("receive_autotuning")
        drawn.flow["tcp"] |= {"variant": "rack", "receive_buffer": size}
        drawn.flow["tcp"].pop("send_buffer")
    else:
        drawn.flow["tcp"]["receive_buffer"] = size
    return "receiver's window"


def _send_buffer(drawn: Drawn, dice: random.Random) -> str:
    drawn.flow["quic" if drawn.quic else "tcp"]["send_buffer"] = (
        f"{max(2 * MSS, round(drawn.pipe / dice.uniform(1.4, 5))):.0f} B"
    )
    return "send buffer"


def _loss(drawn: Drawn, dice: random.Random) -> str:
    # Mathis et al. 1997: the rate is MSS/RTT times 1.22/sqrt(p); CUBIC (RFC 9438) may be faster by a factor of three or so.
    window = drawn.pipe / MSS
    drawn.link["forward"] = {"loss": f"{min(10.0, 100 * (1.22 * dice.uniform(5, 10) / window) ** 2):.4f} %"}
    drawn.flow["quic" if drawn.quic else "tcp"]["congestion"] = "reno"
    return "loss on the link"


def _return_link(drawn: Drawn, dice: random.Random) -> str:
    # Coetzee 1999, equation 5.6: an ACK of 40 B or more for two segments; QUIC's are longer.
    size = 80 if drawn.quic else 66
    packets = drawn.rate / 8 / WIRE
    drawn.link["reverse"] = {"rate": f"{packets / 2 * size * 8 / dice.uniform(3, 6):.0f} bit/s"}
    return "full return link"


def _outage(drawn: Drawn, dice: random.Random) -> str:
    begin = float(drawn.content["run"]["warmup"].split()[0])
    drawn.link["outages"] = [{"start": f"{begin + 10:.1f} s", "duration": f"{dice.uniform(12, 20):.1f} s"}]
    return "outage"


def _slower(drawn: Drawn, dice: random.Random) -> str:
    begin = float(drawn.content["run"]["warmup"].split()[0])
    drawn.link["changes"] = [
        {"at": f"{begin + dice.uniform(2, 8):.1f} s", "rate": f"{drawn.rate / dice.uniform(3, 8):.0f} bit/s"}
    ]
    return "changing link"


def _tcp(drawn: Drawn, congestion: str) -> None:
    """Makes the flow one of TCP: proxies do not read QUIC, and competitors are of one kind."""
    drawn.quic = False
    for key in ("quic", "transport"):
        drawn.flow.pop(key, None)
    drawn.flow["tcp"] = {"congestion": congestion}


def _throttle(drawn: Drawn, dice: random.Random) -> str:
    _tcp(drawn, "cubic")
    if len(drawn.content["link"]) == 1:
        drawn.content["link"].append({"name": "lan", "ends": ["first", "server"], "rate": "1 Gbit/s", "delay": "1 ms"})
        drawn.flow["from"] = "first"
    at = "server" if drawn.flow["from"] == "first" else "hub"
    rate = drawn.rate / dice.uniform(1.6, 4)
    drawn.content["middlebox"] = [
        {"name": "policer", "kind": "throttle", "at": at, "rate": f"{rate:.0f} bit/s", "burst": "30 kB"}
    ]
    return "policed rate"


def _others(drawn: Drawn, dice: random.Random) -> str:
    other = {
        "name": "bully",
        "from": drawn.flow["from"],
        "to": drawn.flow["to"],
        "count": dice.choice([1, 2]),
        "tcp": {"congestion": {"kind": "reno", "a": 20.0, "b": 0.05}},
    }
    _tcp(drawn, "reno")
    drawn.content["flow"].append(other)
    return "unequal shares"


def _timer(drawn: Drawn, dice: random.Random) -> str:
    _tcp(drawn, "reno")
    delay = dice.uniform(1.5, 4)
    drawn.link["delay"] = f"{delay:.2f} s"
    drawn.link["queue"] = f"{round(4 * drawn.rate * delay / 8 / WIRE)} packets"
    # A first timeout below the round trip leaves a window of one segment, which reno doubles no more: 1 packet more a round trip.
    begin = 30 * 2 * delay
    drawn.content["run"] |= {"duration": f"{begin + 60:.0f} s", "warmup": f"{begin:.0f} s"}
    return "handshake"


def _proxy(drawn: Drawn, dice: random.Random) -> str:
    drawn.content["link"] = [link for link in drawn.content["link"] if link["name"] == "path"]
    drawn.link["ends"] = ["hub", "edge"]
    for name, ends in (("lan", ["server", "hub"]), ("home", ["edge", "client"])):
        drawn.content["link"].append({"name": name, "ends": ends, "rate": "1 Gbit/s", "delay": "1 ms"})
    _tcp(drawn, "cubic")
    size = f"{round(drawn.pipe / dice.uniform(2, 5))} B"
    drawn.content["middlebox"] = [
        {"name": "pep", "kind": "split", "at": "hub", "peer": "edge", "long": {"receive_buffer": size}}
    ]
    return "proxy's buffer"


PLANTS: tuple[Callable[[Drawn, random.Random], str], ...] = (
    _window, _send_buffer, _loss, _return_link, _outage, _slower, _throttle, _others, _timer, _proxy,
)  # fmt: skip


def explained(content: dict[str, Any], budget: float) -> tuple[list[str], bool]:
    """The causes that an explanation names for the first flow, the strongest first; and whether the flow has its ideal as it is.

    With its ideal no cause is planted, whatever was meant: of two competitors one may starve the other, and leave the flow its share.
    """
    (found,) = why(Document(toml.document(content), "planted"), groups=["f"], seconds=budget).groups
    return [cause.cause for cause in found.causes], bool(found.ideal and found.ideal.reached(found.value))


def run(
    scenarios: int, ideal: int, seed: int, budget: float, progress: bool = False, only: frozenset[int] = frozenset()
) -> dict[str, Any]:
    """The counts, and every scenario that was explained by something else; of those with a planted cause `only` these numbers."""
    dice = random.Random(seed)
    right: Counter[str] = Counter()
    all_of: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    in_vain = 0
    for number in range(scenarios):
        drawn = draw(dice)
        cause = PLANTS[number % len(PLANTS)](drawn, dice)
        if only and number + 1 not in only:
            continue
        named, vain = explained(drawn.content, budget)
        if vain and not named:
            in_vain += 1
            if progress:
                print(f"{number + 1}/{scenarios}: {cause} costs the flow nothing", file=sys.stderr, flush=True)
            continue
        all_of[cause] += 1
        if named[:1] == [cause]:
            right[cause] += 1
        else:
            wrong.append({"planted": cause, "named": named, "scenario": toml.document(drawn.content)})
        if progress:
            print(f"{number + 1}/{scenarios}: {cause}: {named}", file=sys.stderr, flush=True)
    none = 0
    for number in range(ideal):
        drawn = draw(dice)
        named, _ = explained(drawn.content, budget)
        none += not named
        if named:
            wrong.append({"planted": None, "named": named, "scenario": toml.document(drawn.content)})
        if progress:
            print(f"ideal {number + 1}/{ideal}: {named}", file=sys.stderr, flush=True)
    return {
        "scenarios": sum(all_of.values()), "first": sum(right.values()), "ideal": ideal, "none": none,
        "in_vain": in_vain,
        "by_cause": {cause: [right[cause], all_of[cause]] for cause in all_of}, "wrong": wrong,
    }  # fmt: skip


def main() -> None:
    """Runs the benchmark and prints its figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenarios", type=int, default=500)
    parser.add_argument("--ideal", type=int, default=200)
    parser.add_argument("--seed", type=int, default=35)
    parser.add_argument("--budget", type=float, default=BUDGET_S)
    parser.add_argument(
        "--only", type=lambda text: frozenset(int(number) for number in text.split(",")), default=frozenset()
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = run(options.scenarios, options.ideal, options.seed, options.budget, True, options.only)
    print(
        f"planted cause named first: {found['first']} of {found['scenarios']}, {found['in_vain']} more cost the flow nothing"
    )
    for cause, (right, total) in found["by_cause"].items():
        print(f"  {cause}: {right} of {total}")
    print(f"no cause at the ideal: {found['none']} of {found['ideal']}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
