#!/usr/bin/env python3
"""A hop with `share = "fair"` beside bulk flows of TCP over one link: what part of the link it gets, over many start times.

Usage: .venv/bin/python benches/hop_fair.py [--starts 20] [--round-trip 612] [--others 1] [--congestion cubic] [--queue 1.0]

The others start within the first two seconds. The hop's download starts at evenly spaced times from 5 s on, over a minute, or before
the others (`--first`). Parts are those of 50 Mbit/s of a fair share: 1 is the link's rate divided by the number of flows and hops.
"""

from __future__ import annotations

import argparse
import statistics

import longhaul
import polars as pl
from longhaul import Scenario

RATE = 50e6


def scenario(options: argparse.Namespace, start: float, seed: int) -> Scenario:
    """One hop and the others."""
    rtt = options.round_trip / 1e3
    queue = f"{int(RATE / 8 * rtt * options.queue)} B"
    loss = {"loss": {"kind": "random", "probability": options.loss}} if options.loss else {}
    late = 30 + options.first
    hop_start, others = (5.0 + start, 0.0) if not options.first else (5.0, late + start)
    duration = max(hop_start, others) + options.seconds + 2
    world = (
        Scenario("a hop beside others", duration=f"{duration:.3f} s", sample="1 s", seed=seed)
        .link("internet", "server", "hub", rate="1 Gbit/s", delay="5 ms")
        .link(
            "satellite",
            "hub",
            "terminal",
            delay=f"{options.round_trip / 2 - 6:g} ms",
            forward={"rate": f"{RATE / 1e6:g} Mbit/s", "queue": queue},
            reverse={"rate": "10 Mbit/s", "queue": "750 kB"},
            **loss,
        )
        .link("ship", "terminal", "client", rate="1 Gbit/s", delay="1 ms")
        .middlebox(
            "hub",
            "split",
            peer="terminal",
            flows=["hop"],
            buffer="64 MB",
            long={"transport": "hop", "share": options.share, "forward_rate": f"{options.configured:g} Mbit/s"},
        )
        .flow("server", "client", name="hop", start=f"{hop_start:.3f} s", app={"kind": "bulk"})
    )
    for number in range(options.others):
        world = world.flow(
            "server",
            "client",
            name=f"other-{number}",
            start=f"{others + number * 2 / options.others:.3f} s",
            app={"kind": "bulk"},
            tcp={"variant": "linux", "congestion": options.congestion},
        )
    return world


def parts(options: argparse.Namespace, start: float, seed: int) -> tuple[list[float], longhaul.Result]:
    """The hop's part of the first minute, and of all the time, in which all are there."""
    result = longhaul.run(scenario(options, start, seed))
    series = result.flows.filter(pl.col("flow") == 0)
    begin = (5.0 + start) if not options.first else (30.0 + options.first + start)
    fair = RATE * 0.97 / (1 + options.others)
    means = []
    for end in (60, options.seconds):
        window = series.filter((pl.col("time_s") > begin) & (pl.col("time_s") <= begin + end))
        means.append(float(window["goodput_bps"].mean() or 0.0) / fair)
    return means, result


def main() -> None:
    """Prints a line for each start time, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--round-trip", type=float, default=612, help="in milliseconds, without queues")
    parser.add_argument("--others", type=int, default=1)
    parser.add_argument("--congestion", default="cubic")
    parser.add_argument("--queue", type=float, default=1.0, help="in bandwidth-delay products")
    parser.add_argument("--loss", type=float, default=0.0, help="at random, 0 to 1")
    parser.add_argument("--share", default="fair")
    parser.add_argument("--configured", type=float, default=49.85, help="the hop's rate in Mbit/s")
    parser.add_argument("--seconds", type=int, default=300)
    parser.add_argument("--first", type=float, default=0.0, help="the hop is there first, by so many seconds and 30")
    parser.add_argument("--each", action="store_true", help="a line for each start time")
    options = parser.parse_args()
    found = []
    for number in range(options.starts):
        start = 60 * number / options.starts
        both, _ = parts(options, start, number + 1)
        found.append(both)
        if options.each:
            print(f"start {start:5.1f} s: {both[0]:.2f} {both[1]:.2f}", flush=True)
    name = f"{options.round_trip:g} ms, {options.others} x {options.congestion}, queue {options.queue:g}, loss {options.loss:g}"
    name += ", hop first" if options.first else ""
    cells = []
    for values in zip(*found, strict=True):
        cells.append(f"{statistics.fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})")
    print(f"| {name}, {options.share} | {options.starts} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
