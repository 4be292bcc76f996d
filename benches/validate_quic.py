#!/usr/bin/env python3
"""QUIC simulated against QUIC with real packets: completion times of the same transfers.

Each point of a grid (rate, RTT, loss, congestion control, size) is simulated and run by `longhaul-emu run --until-done`, where
the same endpoints send real packets, with TLS, through UDP sockets of the kernel. The tables are those of `validate_kernel.py`;
`--points` and `--no-run` are as there. Wants root.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from pathlib import Path

from kernel_points import Measured, Point, compare, compare_arguments, medians
from validate_kernel import ROOT, emulate

#: By scale: rates in Mbit/s, RTTs in ms, losses in per cent, sizes in MB. Queues are one bandwidth-delay product long.
GRIDS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...], tuple[float, ...]]] = {
    "tiny": ((20,), (50, 250), (0.0, 0.1), (0.1, 1.0)),
    "quick": ((10, 50), (50, 250, 650), (0.0, 0.1, 1.0), (0.1, 1.0, 10.0)),
    "full": ((10, 20, 50), (50, 250, 650), (0.0, 0.1, 1.0), (0.1, 1.0, 3.0, 10.0)),
}
CONTROLS = ("cubic", "bbr", "quinn_cubic")


def settings(point: Point, _: str = "") -> str:
    """The `quic` of a flow: slow start overshoots the queue, which quinn-proto survives only if data are read as they come."""
    return f'congestion = "{point.control}", unordered = true'


def measure(point: Point, emulator: Path) -> tuple[Measured, int]:
    """What was done with real packets, and how many of the runs were INVALID."""
    runs = [emulate(emulator, point.scenario(seed, settings(point))) for seed in point.seeds]
    valid = [measured for measured, good in runs if good]
    return medians(valid), len(runs) - len(valid)


def main() -> None:
    """Runs the grid and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--scale", choices=GRIDS, default="quick")
    parser.add_argument("--controls", default=",".join(CONTROLS))
    compare_arguments(parser, "quic-points.jsonl", budget=60, workers=8)
    arguments = parser.parse_args()
    if not arguments.no_run and os.geteuid() != 0:
        sys.exit("error: the emulator wants root")
    rates, rtts, losses, sizes = GRIDS[arguments.scale]
    controls = arguments.controls.split(",")
    points = itertools.product(rates, rtts, losses, (1.0,), controls, sizes, ("quic",))
    grid = [Point(*values) for values in points]
    compare(grid, arguments, lambda point: measure(point, arguments.emulator), controls, tcp=settings)


if __name__ == "__main__":
    main()
