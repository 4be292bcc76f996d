#!/usr/bin/env python3
"""The accelerator's hop over links that are drawn at random: how long a download takes, as a multiple of the ideal.

Usage: .venv/bin/python benches/hop_grid.py [--runs 1000] [--seed 7] [--worst 10]

Drawn for each run: 1 to 316 Mbit/s down and a part of it up (evenly by their logarithms), round trips of 20 ms to 1.2 s, loss of 0 to 5 %,
queues of 0.1 to 2 bandwidth-delay products, jitter, reordering, and whether the configured rate is right, half or twice the link's.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

import longhaul
from longhaul import Scenario


@dataclass(frozen=True)
class Cell:
    """A link, and what is configured: rates in Mbit/s, times in seconds."""

    down: float
    up: float
    rtt: float
    loss: float
    queue: float
    jitter: float
    reordering: float
    configured: float

    @property
    def size(self) -> int:
        """Bytes of twelve seconds, 30 MB at most."""
        return max(200_000, int(min(self.down * 1e6 / 8 * 12, 30e6)))

    @property
    def ideal(self) -> float:
        """One way, and the data with 5 % of headers."""
        return 0.0011 + self.rtt / 2 + 1.05 * self.size * 8 / (self.down * 1e6)

    def scenario(self, seed: int) -> Scenario:
        """A download of one flow over a hop that is up."""
        start = math.ceil(3 * self.rtt + 3)
        more: dict[str, object] = {}
        if self.loss:
            more["loss"] = {"kind": "random", "probability": self.loss}
        if self.jitter:
            more["jitter"] = f"{self.jitter * 1000:g} ms"
        if self.reordering:
            more["reordering"] = {"probability": self.reordering, "delay": f"{self.rtt * 100:.3f} ms"}
        sides = {
            name: {
                "rate": f"{int(rate * 1e6)} bit/s",
                "queue": f"{max(15_000, int(rate * 1e6 * self.rtt / 8 * self.queue))} B",
            }
            for name, rate in (("forward", self.down), ("reverse", self.up))
        }
        hop = {"transport": "hop", "forward_rate": f"{int(self.down * 0.997e6 * self.configured)} bit/s"}
        duration = math.ceil(start + 20 * self.ideal + 30)
        return (
            Scenario("a hop", duration=f"{duration} s", sample="10 s", seed=seed)
            .link("internet", "server", "hub", rate="10 Gbit/s", delay="1 ms")
            .link("satellite", "hub", "terminal", delay=f"{self.rtt / 2:.6f} s", **sides, **more)
            .link("ship", "terminal", "client", rate="10 Gbit/s", delay="100 us")
            .middlebox("hub", "split", peer="terminal", buffer="64 MB", long=hop)
            .flow(
                "server", "client", name="download", start=f"{start} s", app={"kind": "bulk", "size": f"{self.size} B"}
            )
        )


def cells(runs: int, seed: int) -> Iterator[Cell]:
    """The links."""
    draw = random.Random(seed)
    for _ in range(runs):
        down = 10 ** draw.uniform(0, 2.5)
        yield Cell(
            down=down,
            up=max(0.02, down * 10 ** draw.uniform(-1.5, 0)),
            rtt=10 ** draw.uniform(math.log10(0.02), math.log10(1.2)),
            loss=draw.choice([0, 0, 0.001, 0.01, 0.03, 0.05]),
            queue=10 ** draw.uniform(-1, 0.3),
            jitter=draw.choice([0, 0, 0, 0.001, 0.005, 0.02]),
            reordering=draw.choice([0, 0, 0, 0.01, 0.05]),
            configured=draw.choice([1, 1, 1, 0.5, 2]),
        )


def main() -> None:
    """Runs all, and prints quantiles and the worst."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="links")
    parser.add_argument("--seed", type=int, default=7, help="of the links")
    parser.add_argument("--worst", type=int, default=10, help="so many of the slowest are printed")
    options = parser.parse_args()
    ratios: list[tuple[float, int, Cell]] = []
    lost = 0.0
    for number, cell in enumerate(cells(options.runs, options.seed), start=1):
        summary = longhaul.run(cell.scenario(number)).summary
        took = summary["flows"][0]["metrics"].get("completion_time_s")
        lost += summary["middleboxes"][0]["metrics"]["lost_acknowledged_bytes"]
        ratios.append((math.inf if took is None else took / cell.ideal, number, cell))
    ratios.sort(key=lambda one: one[0])
    for name, group in (
        ("all", ratios),
        ("rate right, no reordering", [one for one in ratios if one[2].configured == 1 and not one[2].reordering]),
        ("rate half or twice", [one for one in ratios if one[2].configured != 1]),
        ("5 % overtaken", [one for one in ratios if one[2].reordering == 0.05]),
        ("5 % lost", [one for one in ratios if one[2].loss == 0.05]),
    ):
        if group:
            at = [group[min(len(group) - 1, int(part * len(group)))][0] for part in (0.5, 0.9, 0.99, 1.0)]
            print(f"| {name} | {len(group)} | " + " | ".join(f"{value:.3f}" for value in at) + " |")
    print(f"acknowledged bytes lost: {lost:.0f}")
    for ratio, number, cell in ratios[::-1][: options.worst]:
        print(f"{ratio:.2f}: seed {number}, {cell}")


if __name__ == "__main__":
    main()
