#!/usr/bin/env python3
"""The simulator against a real kernel: completion times and counts of the same transfers, simulated and through the emulator.

Each point of a grid (rate, RTT, loss, queue, congestion control, size) is simulated and run by `longhaul-emu run --until-done`;
the tables have the median and 90th percentile of the relative difference by congestion control and by loss, of the completion
time and of what senders and receivers count (retransmissions, recoveries, undone reductions, timeouts, ACKs), and the points
that are furthest off; `--figure` draws all of them. Where chance decides one transfer shows little: such points are run with
several seeds, and medians are compared. What takes longer than a minute, or 40 round trips, is given up on both sides; a point that only
one of them finishes is listed.

`--points` keeps each point as soon as it has been measured: run again with the same file, only what is missing is measured, and
with `--no-run` nothing, so that a change of the simulator can be judged by the kernel's times of before. Wants root.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_points import DISCIPLINES, Measured, Point, compare, compare_arguments, medians, read

ROOT = Path(__file__).resolve().parent.parent

CONTROLS = ("reno", "cubic", "bbr")


@dataclass(frozen=True)
class Grid:
    """All combinations of these: Mbit/s, ms, per cent, bandwidth-delay products, MB, and further fields of `Point`."""

    rates: tuple[int, ...]
    rtts: tuple[int, ...]
    losses: tuple[float, ...]
    queues: tuple[float, ...]
    sizes: tuple[float, ...]
    further: tuple[dict[str, Any], ...] = ({},)

    def points(self, controls: Sequence[str]) -> list[Point]:
        """With these congestion controls."""
        axes = (self.rates, self.rtts, self.losses, self.queues, controls, self.sizes)
        return [Point(*values, **more) for more in self.further for values in itertools.product(*axes)]


#: `lossy`: short paths where Reno's part of CUBIC decides, and many losses. `long`: round trips above the first RTO. `queues`:
#: active queue management. `outages`: of one and four seconds. `early`: what the receiver's first ACKs and reordering decide.
GRIDS: dict[str, tuple[Grid, ...]] = {
    "quick": (Grid((10, 50), (50, 250, 600), (0.0, 0.1), (0.25, 1.0), (1, 10)),),
    "lossy": (Grid((8,), (20, 40, 80), (2.0,), (1.0,), (2, 10)),),
    "long": (
        Grid((20,), (1300, 2000, 3400, 5000, 10000, 20000), (0.0,), (1.0,), (2, 10)),
        Grid((20,), (1300, 2000, 3400, 5000), (0.1,), (1.0,), (2,)),
        Grid((2,), (1300, 2000, 3400, 5000), (0.0,), (0.5,), (4,)),
    ),
    "queues": (Grid((10,), (40, 120, 300), (0.0,), (1.0,), (3, 10), tuple({"discipline": d} for d in DISCIPLINES)),),
    "outages": (Grid((10,), (50, 250, 600), (0.0,), (1.0,), (5,), ({"outage": 1.0}, {"outage": 4.0})),),
    "early": (
        Grid((7, 9, 11), (100,), (0.0,), (1.0,), (4,)),
        Grid((10,), (40,), (5.0,), (1.0,), (2,)),
        Grid((20,), (40,), (0.0,), (1.0,), (8,), ({"reordering": (2.0, 15.0)}, {"reordering": (0.5, 5.0)})),
    ),
    "full": (Grid((10, 50, 100), (50, 250, 600), (0.0, 0.1, 1.0), (0.25, 1.0, 2.0), (1, 10, 50)),),
}


def emulate(emulator: Path, text: str) -> tuple[Measured, bool]:
    """What the kernel did, and whether the run is valid."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scenario.toml"
        file.write_text(text)
        call = [
            str(emulator),
            "run",
            str(file),
            "--out",
            f"{folder}/out",
            "--until-done",
            "--json",
            "--max-lateness",
            "5 ms",
        ]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 3):
            sys.exit(f"error: {done.stderr}")
        return read(json.loads(done.stdout)), done.returncode == 0


def measure(point: Point, emulator: Path) -> tuple[Measured, int]:
    """What the kernel did, with its usual buffers and timers, and how many of the runs were INVALID."""
    runs = [emulate(emulator, point.scenario(seed, point.tcp())) for seed in point.seeds]
    valid = [measured for measured, good in runs if good]
    return medians(valid), len(runs) - len(valid)


def main() -> None:
    """Runs the grid and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--scale", default="quick", help=f"one or several of {', '.join(GRIDS)}  [default: quick]")
    parser.add_argument("--controls", default=",".join(CONTROLS))
    compare_arguments(parser, "kernel-points.jsonl", budget=150, workers=16)
    arguments = parser.parse_args()
    if not arguments.no_run and os.geteuid() != 0:
        sys.exit("error: the emulator wants root")
    controls = arguments.controls.split(",")
    scales = arguments.scale.split(",")
    unknown = [scale for scale in scales if scale not in GRIDS]
    if unknown:
        sys.exit(f"error: unknown scale {unknown[0]}; there are {', '.join(GRIDS)}")
    grid = [point for scale in scales for part in GRIDS[scale] for point in part.points(controls)]
    compare(grid, arguments, lambda point: measure(point, arguments.emulator), controls)


if __name__ == "__main__":
    main()
