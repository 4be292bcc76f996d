#!/usr/bin/env python3
"""The simulator against a real kernel: completion times of the same transfers, simulated and through the emulator.

Each point of a grid (rate, RTT, loss, queue, congestion control, size) is run by `longhaul-emu run --until-done` and simulated;
the table has the median and 90th percentile of the relative difference by congestion control and by loss, and the points that
are furthest off. `--json` keeps all points, and `--kernel` takes the kernel's times from there, so that they need not be measured
again when only the simulator has changed. With random loss one transfer says little: each point is run with several seeds, and medians are compared.
Wants root. Usage: validate_kernel.py [--emulator PATH] [--jobs N] [--json FILE] [--kernel FILE] [--tcp SETTINGS]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import longhaul

ROOT = Path(__file__).resolve().parent.parent

RATES = (10, 50)  # Mbit/s
RTTS = (50, 250, 600)  # ms
LOSSES = (0.0, 0.1)  # per cent
QUEUES = (0.25, 1.0)  # bandwidth-delay products
CONTROLS = ("reno", "cubic", "bbr")
SIZES = (1, 10)  # MB
SEEDS = {0.0: (1,), 0.1: (1, 2, 3)}
#: Longer transfers are given up, on both sides.
LONGEST = 60  # s
#: The simulator's TCP that does what Linux does; to the emulator it says what buffers and timers the kernel is to have.
LINUX = ', variant = "linux"'
#: A packet of TCP over IP as it is on the wire.
PACKET = 1500


@dataclass(frozen=True)
class Point:
    """One transfer."""

    rate: int
    rtt: int
    loss: float
    queue: float
    control: str
    size: int

    def scenario(self, seed: int, tcp: str) -> str:
        """As a scenario; the way back is fast and never lossy."""
        packets = max(4, round(self.queue * self.rate * 1e6 * self.rtt / 1e3 / 8 / PACKET))
        loss = f'loss = {{ kind = "random", probability = "{self.loss} %" }}\n' if self.loss else ""
        return (
            f'[run]\nduration = "{LONGEST} s"\nseed = {seed}\nsample = "1 s"\n'
            f'[[link]]\nname = "path"\nends = ["server", "client"]\ndelay = "{self.rtt / 2} ms"\nrate = "{self.rate} Mbit/s"\n'
            f'[link.forward]\nqueue = {{ kind = "droptail", limit = "{packets} packets" }}\n{loss}'
            f'[link.reverse]\nrate = "1 Gbit/s"\n'
            f'[[flow]]\nname = "get"\nfrom = "server"\nto = "client"\napp = {{ kind = "bulk", size = "{self.size} MB" }}\n'
            f'tcp = {{ congestion = "{self.control}"{tcp} }}\n'
        )


@dataclass(frozen=True)
class Outcome:
    """Completion times in s (medians over the seeds), or `None` if it took too long."""

    point: Point
    kernel: float | None
    simulated: float | None
    late: int  # runs that the emulator marked INVALID, and that were left out

    @property
    def error(self) -> float | None:
        """(simulated - kernel) / kernel."""
        if self.kernel is None or self.simulated is None:
            return None
        return (self.simulated - self.kernel) / self.kernel


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


def simulate(text: str) -> float | None:
    """Completion time in the simulator."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        result = longhaul.run(file.name, tables=False)
    value = result.summary["flows"][0]["metrics"]["completion_time_s"]
    return None if value is None else float(value)


def measure(point: Point, emulator: Path) -> tuple[float | None, int]:
    """The kernel's completion time, with its usual buffers and timers, and how many of the runs were INVALID."""
    runs = [emulate(emulator, point.scenario(seed, LINUX)) for seed in SEEDS[point.loss]]
    valid = [time for time, good in runs if good]
    return _median(valid), len(runs) - len(valid)


def measured_before(file: Path) -> dict[Point, tuple[float | None, int]]:
    """The same for all points of a file that `--json` has written."""
    rows = json.loads(file.read_text())
    return {Point(**row["point"]): (row["kernel"], row["late"]) for row in rows}


def outcome(point: Point, kernel: tuple[float | None, int], tcp: str) -> Outcome:
    """The kernel's time beside the simulator's, whose TCP has the settings `tcp`."""
    times = [simulate(point.scenario(seed, tcp)) for seed in SEEDS[point.loss]]
    return Outcome(point, kernel[0], _median(times), kernel[1])


def _median(times: list[float | None]) -> float | None:
    finished = [time for time in times if time is not None]
    return statistics.median(finished) if times and len(finished) == len(times) else None


def table(outcomes: list[Outcome]) -> str:
    """Errors by congestion control and loss, and the worst points, as Markdown."""
    lines = ["| | points | median error | 90 % below | within 5 % | mean, signed |", "|---|---|---|---|---|---|"]
    chosen = [("all", outcomes)]
    for control in CONTROLS:
        for loss in LOSSES:
            part = [o for o in outcomes if o.point.control == control and o.point.loss == loss]
            chosen.append((f"{control}, loss {loss} %", part))
    for name, part in chosen:
        errors = sorted(abs(o.error) for o in part if o.error is not None)
        if not errors:
            continue
        signed = statistics.mean(o.error for o in part if o.error is not None)
        ninety = errors[min(len(errors) - 1, int(0.9 * len(errors)))]
        near = sum(error <= 0.05 for error in errors) / len(errors)
        lines.append(
            f"| {name} | {len(errors)} | {statistics.median(errors):.1%} | {ninety:.1%} | {near:.0%} | {signed:+.1%} |"
        )
    lines += ["", "| furthest off | kernel | simulated | error |", "|---|---|---|---|"]
    for o in sorted((o for o in outcomes if o.error is not None), key=lambda o: -abs(o.error or 0))[:12]:
        p = o.point
        what = f"{p.control}, {p.rate} Mbit/s, {p.rtt} ms, loss {p.loss} %, queue {p.queue} BDP, {p.size} MB"
        lines.append(f"| {what} | {o.kernel:.2f} s | {o.simulated:.2f} s | {o.error:+.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Runs the grid and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--jobs", type=int, default=4, help="emulators at once")
    parser.add_argument("--json", type=Path, help="also write all points")
    parser.add_argument("--kernel", type=Path, help="the kernel's times from a file that --json has written")
    parser.add_argument("--tcp", default=LINUX, help=f"settings of the simulator's TCP  [default: {LINUX}]")
    parser.add_argument("--controls", default=",".join(CONTROLS))
    arguments = parser.parse_args()
    controls = tuple(arguments.controls.split(","))
    grid = [Point(*values) for values in itertools.product(RATES, RTTS, LOSSES, QUEUES, controls, SIZES)]
    if arguments.kernel:
        known = measured_before(arguments.kernel)
        kernel = [known[point] for point in grid]
    else:
        if os.geteuid() != 0:
            sys.exit("error: the emulator wants root")
        with ThreadPoolExecutor(arguments.jobs) as pool:
            kernel = list(pool.map(lambda point: measure(point, arguments.emulator), grid))
    outcomes = [outcome(point, times, arguments.tcp) for point, times in zip(grid, kernel, strict=True)]
    if arguments.json:
        rows = [asdict(o) | {"error": o.error} for o in outcomes]
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    late = sum(o.late for o in outcomes)
    print(f"load {os.getloadavg()[0]:.1f}; {late} runs were INVALID and are left out\n")
    print(table(outcomes))


if __name__ == "__main__":
    main()
