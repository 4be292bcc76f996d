#!/usr/bin/env python3
"""The simulator against a real kernel: completion times of the same transfers, simulated and through the emulator.

Each point of a grid (rate, RTT, loss, queue, congestion control, size) is simulated and run by `longhaul-emu run --until-done`;
the table has the median and 90th percentile of the relative difference by congestion control and by loss, and the points that
are furthest off; `--figure` draws all of them. With random loss one transfer says little: such points are run with several
seeds, and medians are compared. What takes the simulator longer than a minute is not run by the kernel.

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
from pathlib import Path

from kernel_points import SEEDS, Point, compare, compare_arguments, median

ROOT = Path(__file__).resolve().parent.parent

#: By scale: rates in Mbit/s, RTTs in ms, losses in per cent, queues in bandwidth-delay products, sizes in MB.
#: `lossy`: short paths where Reno's part of CUBIC decides, and many losses.
GRIDS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...], tuple[float, ...], tuple[int, ...]]] = {
    "quick": ((10, 50), (50, 250, 600), (0.0, 0.1), (0.25, 1.0), (1, 10)),
    "lossy": ((8,), (20, 40, 80), (2.0,), (1.0,), (2, 10)),
    "full": ((10, 50, 100), (50, 250, 600), (0.0, 0.1, 1.0), (0.25, 1.0, 2.0), (1, 10, 50)),
}
CONTROLS = ("reno", "cubic", "bbr")


def emulate(emulator: Path, text: str) -> tuple[float | None, bool]:
    """Completion time by the kernel, and whether the run is valid."""
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
        summary = json.loads(done.stdout)
        return summary["flows"][0]["metrics"]["completion_time_s"], done.returncode == 0


def measure(point: Point, emulator: Path) -> tuple[float | None, int]:
    """The kernel's completion time, with its usual buffers and timers, and how many of the runs were INVALID."""
    runs = [emulate(emulator, point.scenario(seed, point.tcp())) for seed in SEEDS[point.loss]]
    valid = [time for time, good in runs if good]
    return median(valid), len(runs) - len(valid)


def main() -> None:
    """Runs the grid and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--scale", choices=GRIDS, default="quick")
    parser.add_argument("--controls", default=",".join(CONTROLS))
    compare_arguments(parser, "kernel-points.jsonl", budget=150, workers=16)
    arguments = parser.parse_args()
    if not arguments.no_run and os.geteuid() != 0:
        sys.exit("error: the emulator wants root")
    rates, rtts, losses, queues, sizes = GRIDS[arguments.scale]
    controls = arguments.controls.split(",")
    grid = [Point(*values) for values in itertools.product(rates, rtts, losses, queues, controls, sizes)]
    compare(grid, arguments, lambda point: measure(point, arguments.emulator), controls)


if __name__ == "__main__":
    main()
