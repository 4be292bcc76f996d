#!/usr/bin/env python3
"""The hop simulated against the hop with real packets: the rows of the targets in docs/hop.md, one table.

Each row runs in virtual time and as two processes that `longhaul-emu shell` joins by the row's link: UDP through two kernels, with
the losses of the same seed. The table has the medians of both, and the ratio of each run to the simulated run of its seed.
Needs root, `cargo build --release -p longhaul-hop --example targets` and `make emu`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Measured:
    """Values of a row, run by run."""

    name: str
    simulated: list[list[float]] = field(default_factory=list)
    emulated: list[list[float]] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)


def values(command: list[str | Path], limit: float) -> list[float]:
    """The numbers that a command prints, one a line."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit)
    if done.returncode:
        sys.exit(f"error: {' '.join(map(str, command))} failed:\n{done.stderr}")
    return [float(line) for line in done.stdout.split()]


def emulate(options: argparse.Namespace, name: str, seed: int) -> tuple[list[float], list[str]]:
    """One run with real packets: its values, and why the emulator marked it INVALID."""
    with tempfile.TemporaryDirectory() as directory:
        scenario, statistic = Path(directory) / "scenario.toml", Path(directory) / "stats.json"
        text = subprocess.run([options.program, "scenario", name, str(seed)], capture_output=True, text=True, check=True)
        scenario.write_text(text.stdout)
        serve = f"hub={options.program} hub 0.0.0.0:4433 '{name}'"
        clients = f"exec {options.program} terminal $LONGHAUL_HUB:4433 '{name}' {seed}"
        command = [options.emulator, "shell", scenario, "--quiet", "--stats", statistic, "--at", "terminal", "--serve", serve]
        found = values([*command, "--", "sh", "-c", clients], limit=500)
        return found, json.loads(statistic.read_text())["invalid"]


def measure(options: argparse.Namespace, name: str) -> Measured:
    """All seeds of a row. A run that the emulator marks INVALID is made once more."""
    row = Measured(name)
    for seed in range(1, options.seeds + 1):
        row.simulated.append(values([options.program, "simulate", name, str(seed)], limit=500))
        found, invalid = emulate(options, name, seed)
        if invalid:
            found, invalid = emulate(options, name, seed)
        row.emulated.append(found)
        row.invalid += invalid
    return row


def line(row: Measured) -> str:
    """A row of the table."""
    medians = [statistics.median([value for run in runs for value in run]) for runs in (row.simulated, row.emulated)]
    pairs = zip(row.simulated, row.emulated, strict=True)
    ratios = [statistics.median(real) / statistics.median(virtual) for virtual, real in pairs]
    invalid = f"; {len(row.invalid)} INVALID" if row.invalid else ""
    cells = f"{medians[0]:.3f} | {medians[1]:.3f} | {statistics.median(ratios):.3f} | {min(ratios):.3f} to {max(ratios):.3f}"
    return f"| {row.name} | {len(ratios)}{invalid} | {cells} |"


def main() -> None:
    """Runs the rows and prints the table as they end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=ROOT / "target/release/examples/targets")
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", default="", help="only rows whose name contains this")
    parser.add_argument("--without", action="append", default=[], help="no rows whose name contains this; may be repeated")
    parser.add_argument("--minutes", type=float, default=60, help="starts no row after this time")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("error: the emulator needs root")
    for program in (options.program, options.emulator):
        if not program.exists():
            sys.exit(f"error: {program} is missing: build it as the top of this file describes")
    names = subprocess.run([options.program, "rows"], capture_output=True, text=True, check=True).stdout.splitlines()
    names = [name for name in names if options.rows in name and not any(part in name for part in options.without)]
    end = time.monotonic() + 60 * options.minutes
    print("| row | seeds | simulated | emulated | ratio, median | ratios |\n|---|---:|---:|---:|---:|---|", flush=True)
    for number, name in enumerate(names):
        if time.monotonic() > end:
            print(f"no time was left for: {'; '.join(names[number:])}", file=sys.stderr)
            break
        print(line(measure(options, name)), flush=True)


if __name__ == "__main__":
    main()
