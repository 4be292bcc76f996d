#!/usr/bin/env python3
"""The accelerator's hop beside bulk flows of TCP on one link: what each has of it, over the first minute and over 200 s.

Usage: .venv/bin/python benches/hop_sharing.py [--share fair] [--only "72 ms"] [--instead cubic]

50 Mbit/s with a queue of one bandwidth-delay product. The hop's one flow starts at 30 s, the others in a row before or after it: both
orders, five starts in all. Times count from when all have started. With `--instead`, a flow of that congestion control has the place
of the hop: what such a flow would get.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import longhaul
import polars as pl
from longhaul import Scenario

RATE = 50.0
BEGIN = 30.0
LASTS = 200.0
# When the first of the others starts, in seconds after the hop's flow; each of them starts a second after the one before.
OFFSETS = (-25.0, -11.3, -2.6, 4.7, 17.9)


@dataclass(frozen=True)
class Cell:
    """A path and what else is on it."""

    rtt: float
    others: int
    congestion: str

    @property
    def name(self) -> str:
        """As in the table."""
        flows = "one flow" if self.others == 1 else f"{self.others} flows"
        return f"{self.rtt * 1000:.0f} ms | {flows} of {self.congestion}"


@dataclass(frozen=True)
class Run:
    """One start of a cell."""

    cell: Cell
    offset: float
    share: str
    instead: str
    loss: float

    @property
    def common(self) -> float:
        """From then on all flows have started."""
        return BEGIN + max(0.0, self.offset + self.cell.others - 1)

    def scenario(self) -> Scenario:
        """All flows over one link."""
        cell = self.cell
        queue = int(RATE * 1e6 * cell.rtt / 8)
        more = {"loss": {"kind": "random", "probability": self.loss}} if self.loss else {}
        end = self.common + LASTS
        made = (
            Scenario("sharing", duration=f"{end:g} s", sample="500 ms", seed=int(abs(self.offset) * 10) + 1)
            .link("internet", "server", "hub", rate="1 Gbit/s", delay="5 ms")
            .link("ship", "terminal", "client", rate="1 Gbit/s", delay="1 ms")
            .link(
                "satellite",
                "hub",
                "terminal",
                rate=f"{RATE:g} Mbit/s",
                delay=f"{(cell.rtt - 0.012) / 2:.6f} s",
                queue=f"{queue} B",
                **more,
            )
        )
        if not self.instead:
            long = {"transport": "hop", "share": self.share}
            made = made.middlebox("hub", "split", peer="terminal", flows=["hop"], buffer="64 MB", long=long)
        bulk = {"kind": "bulk"}
        tcp = {"variant": "linux", "congestion": self.instead or "cubic"}
        made = made.flow("server", "client", name="hop", start=f"{BEGIN:g} s", app=bulk, tcp=tcp)
        for other in range(cell.others):
            start = BEGIN + self.offset + other
            tcp = {"variant": "linux", "congestion": cell.congestion}
            made = made.flow("server", "client", name=f"other-{other}", start=f"{start:g} s", app=bulk, tcp=tcp)
        return made

    def parts(self) -> list[float]:
        """The hop's rate as a multiple of an equal part of the link: over the first minute, over all of the time."""
        flows = longhaul.run(self.scenario()).flows
        found = []
        for time in (60.0, LASTS):
            seen = flows.filter((pl.col("time_s") > self.common) & (pl.col("time_s") <= self.common + time))
            rates = dict(seen.group_by("flow").agg(pl.col("goodput_bps").mean()).iter_rows())
            found.append(rates[0] / statistics.fmean(rates.values()))
        return found


def measure(run: Run) -> list[float]:
    """For a process of its own."""
    return run.parts()


def spread(values: Sequence[float]) -> str:
    """Mean and extremes."""
    return f"{statistics.fmean(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main() -> None:
    """Runs all cells and prints a row for each as it ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", choices=("fair", "exclusive"), default="fair")
    parser.add_argument("--only", default="", help="only cells whose name contains this")
    parser.add_argument("--instead", default="", help="a congestion control in place of the hop")
    parser.add_argument("--loss", type=float, default=0.0, help="part of the packets that the link loses")
    parser.add_argument("--jobs", type=int, default=1, help="runs at the same time")
    options = parser.parse_args()
    cells = [Cell(rtt, n, kind) for rtt in (0.612, 0.072) for kind in ("cubic", "bbr3") for n in (1, 4)]
    print("| round trip | beside | first minute | 200 s |\n|---:|---|---|---|", flush=True)
    with ProcessPoolExecutor(options.jobs) as pool:
        for cell in (cell for cell in cells if options.only in cell.name):
            runs = [Run(cell, offset, options.share, options.instead, options.loss) for offset in OFFSETS]
            parts = list(pool.map(measure, runs))
            print(
                f"| {cell.name} | " + " | ".join(spread(part) for part in zip(*parts, strict=True)) + " |", flush=True
            )


if __name__ == "__main__":
    main()
