"""Times of the accelerator over an emulated satellite link, held against their targets: a table in Markdown.

Usage: .venv/bin/python benches/pep_targets.py [--program target/release/longhaul-pep] [--repeat 10] [--cells 50/10,10/2]
           [--minutes 8] [--control]

Needs root, iproute2 and nftables. Prints for each cell the median, the slowest, and the ratio of the median to the ideal (a
round trip of 650 ms and the bytes with 5 % of headers at the link's rate). Cells that --minutes leaves no time for are named.
Exit status 1: a target was missed.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """Downloads over one link. `most` is the largest ratio to the ideal; rates in Mbit/s, loss in percent."""

    down: str
    up: str
    loss: str
    sizes: str
    most: float
    #: Of the median, besides the ratio.
    seconds: float = math.inf
    #: Fewer than --repeat, for what takes minutes.
    repeats: int = 1000

    @property
    def name(self) -> str:
        return f"{self.down}/{self.up}"


CELLS = [
    Cell("50", "10", "0", "2 MB,10 MB", 1.08),
    Cell("50", "10", "1", "2 MB,10 MB", 1.12),
    Cell("250", "3", "0", "2 MB,10 MB,100 MB", 1.08),
    Cell("50", "0.5", "0", "2 MB", 1.08),
    Cell("50", "10", "0.1", "2 MB,10 MB", 1.12),
    Cell("50", "10", "2", "2 MB,10 MB", 1.15),
    Cell("50", "10", "5", "2 MB,10 MB", 1.25),
    Cell("10", "2", "0", "2 MB,10 MB", 1.02),
    Cell("50", "10", "1", "100 MB", 1.10),
    Cell("250", "3", "1", "100 MB", 1.10),
    Cell("10", "2", "0", "100 MB", 1.02, seconds=85.0, repeats=3),
]


def measure(options: argparse.Namespace, cell: Cell) -> bool:
    """Prints the rows of a cell; whether all are within their target."""
    command = [options.program, "demo", "--json", "--no-page", "--patience", "120 s"]
    command += ["--repeat", str(min(options.repeat, cell.repeats))]
    command += ["--down", f"{cell.down} Mbit/s", "--up", f"{cell.up} Mbit/s", "--loss", cell.loss, "--size", cell.sizes]
    if not options.control:
        command.append("--no-control")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)} failed")
    answer = json.loads(done.stdout)
    for doubt in answer["doubts"]:
        print(f"warning: {cell.name}: the emulator was late, {doubt}", file=sys.stderr)
    met, target = True, f"{cell.most:.2f}" + (f", {cell.seconds:.0f} s" if cell.seconds < math.inf else "")
    for sample in answer["samples"]:
        ended = [seconds for seconds in sample["seconds"] if seconds is not None]
        failed = len(sample["seconds"]) - len(ended)
        how = "with" if sample["accelerated"] else "without"
        row = f"| {cell.name} | {cell.loss} % | {sample['what']} | {how} | {len(sample['seconds'])} | {sample['ideal']:.2f} |"
        if not ended:
            print(f"{row} - | - | - | {target} | not in time |", flush=True)
            met &= not sample["accelerated"]
            continue
        ratio = statistics.median(ended) / sample["ideal"]
        good = ratio <= cell.most and statistics.median(ended) <= cell.seconds and not failed
        verdict = ("met" if good else "missed") if sample["accelerated"] else ""
        verdict += f", {failed} of {len(sample['seconds'])} not in time" if failed else ""
        row += f" {statistics.median(ended):.2f} | {max(ended):.2f} | {ratio:.3f} | {target} | {verdict} |"
        print(row, flush=True)
        met &= good or not sample["accelerated"]
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/longhaul-pep")
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--cells", help="links as down/up, comma-separated; all if not given")
    parser.add_argument("--minutes", type=float, default=60.0, help="no cell begins later than this")
    parser.add_argument("--control", action="store_true", help="also without the accelerator")
    options = parser.parse_args()
    wanted = options.cells.split(",") if options.cells else [cell.name for cell in CELLS]
    if unknown := set(wanted) - {cell.name for cell in CELLS}:
        parser.error(
            f"no such cell: {', '.join(sorted(unknown))}; there are {', '.join(sorted({c.name for c in CELLS}))}"
        )
    print(
        "| link | loss | size | accelerator | runs | ideal s | median s | slowest s | ratio | target | |\n"
        + "|---" * 11
        + "|"
    )
    met, begin = True, time.monotonic()
    for cell in CELLS:
        if cell.name not in wanted:
            continue
        if time.monotonic() - begin > options.minutes * 60:
            print(f"not measured for lack of time: {cell.name}, {cell.loss} %, {cell.sizes}", file=sys.stderr)
            continue
        met &= measure(options, cell)
    sys.exit(not met)


if __name__ == "__main__":
    main()
