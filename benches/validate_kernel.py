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
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import longhaul

ROOT = Path(__file__).resolve().parent.parent

#: By scale: rates in Mbit/s, RTTs in ms, losses in per cent, queues in bandwidth-delay products, sizes in MB.
GRIDS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...], tuple[float, ...], tuple[int, ...]]] = {
    "quick": ((10, 50), (50, 250, 600), (0.0, 0.1), (0.25, 1.0), (1, 10)),
    "full": ((10, 50, 100), (50, 250, 600), (0.0, 0.1, 1.0), (0.25, 1.0, 2.0), (1, 10, 50)),
}
CONTROLS = ("reno", "cubic", "bbr")
SEEDS = {0.0: (1,), 0.1: (1, 2, 3), 1.0: (1, 2, 3)}
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


def simulated(point: Point, tcp: str) -> float | None:
    """The simulator's completion time, whose TCP has the settings `tcp`."""
    return _median([simulate(point.scenario(seed, tcp)) for seed in SEEDS[point.loss]])


def measured_before(file: Path) -> dict[Point, tuple[float | None, int]]:
    """The kernel's times in a file of points, one JSON object a line."""
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {Point(**row["point"]): (row["kernel"], row["late"]) for row in rows}


def measure_all(points: list[Point], rates: dict[Point, float], emulator: Path, budget: float, file: Path) -> None:
    """Measures points and adds them to a file, so many at once that their mean rates in Mbit/s are within `budget` together."""
    began, lock = time.monotonic(), threading.Condition()
    done, used = 0, 0.0

    def one(point: Point) -> None:
        nonlocal done, used
        with lock:
            lock.wait_for(lambda: used <= 0 or used + rates[point] <= budget)
            used += rates[point]
        try:
            kernel, late = measure(point, emulator)
        finally:
            with lock:
                used -= rates[point]
                lock.notify_all()
        with lock, file.open("a") as out:
            out.write(json.dumps({"point": asdict(point), "kernel": kernel, "late": late}) + "\n")
            done += 1
            left = (time.monotonic() - began) / done * (len(points) - done)
            print(f"\r{done} of {len(points)} points, {left / 60:.0f} min left ", end="", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(16) as pool:
        try:
            for finished in [pool.submit(one, point) for point in points]:
                finished.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    print(file=sys.stderr)


def _median(times: list[float | None]) -> float | None:
    finished = [time for time in times if time is not None]
    return statistics.median(finished) if times and len(finished) == len(times) else None


def table(outcomes: list[Outcome]) -> str:
    """Errors by congestion control and loss, and the worst points, as Markdown."""
    lines = ["| | points | median error | 90 % below | within 5 % | mean, signed |", "|---|---|---|---|---|---|"]
    chosen = [("all", outcomes)]
    for control in CONTROLS:
        for loss in sorted({o.point.loss for o in outcomes}):
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


def figure(outcomes: list[Outcome], file: Path) -> None:
    """Simulated over measured times, by congestion control."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7, 4.5), layout="constrained")
    axes = drawn.subplots()
    for control, marker in zip(CONTROLS, "ox^", strict=True):
        part = [o for o in outcomes if o.error is not None and o.point.control == control]
        middle = statistics.median(abs(o.error or 0) for o in part) if part else 0
        axes.plot(
            [o.kernel for o in part], [100 * (o.error or 0) for o in part], marker, markersize=4, fillstyle="none",
            label=f"{control}: {len(part)} points, median error {middle:.1%}",
        )  # fmt: skip
    axes.axhspan(-5, 5, color="0.9", zorder=0)
    axes.set(xscale="log", xlabel="completion time by the kernel in s", ylabel="simulated, more or less in %")
    axes.legend()
    axes.grid(alpha=0.3)
    drawn.savefig(file, dpi=110)


def main() -> None:
    """Runs the grid and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--scale", choices=GRIDS, default="quick")
    parser.add_argument(
        "--budget", type=float, default=150, metavar="MBITS", help="sum of mean rates at once  [default: 150]"
    )
    parser.add_argument("--points", type=Path, default=Path("kernel-points.jsonl"), help="file of the kernel's times")
    parser.add_argument("--no-run", action="store_true", help="measure nothing")
    parser.add_argument("--figure", type=Path, help="draw all points")
    parser.add_argument("--tcp", default=LINUX, help=f"settings of the simulator's TCP  [default: {LINUX}]")
    parser.add_argument("--controls", default=",".join(CONTROLS))
    arguments = parser.parse_args()
    rates, rtts, losses, queues, sizes = GRIDS[arguments.scale]
    controls = arguments.controls.split(",")
    grid = [Point(*values) for values in itertools.product(rates, rtts, losses, queues, controls, sizes)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        times = dict(zip(grid, pool.map(lambda point: simulated(point, arguments.tcp), grid), strict=True))
    known = measured_before(arguments.points)
    short = [point for point in grid if times[point] is not None]
    missing = [point for point in short if point not in known]
    # In any order, so that what an interrupted run has measured is a fair sample.
    random.Random(1).shuffle(missing)
    if missing and not arguments.no_run:
        if os.geteuid() != 0:
            sys.exit("error: the emulator wants root")
        rates = {point: 8.0 * point.size / (times[point] or LONGEST) for point in missing}
        measure_all(missing, rates, arguments.emulator, arguments.budget, arguments.points)
        known = measured_before(arguments.points)
    outcomes = [Outcome(p, known[p][0], times[p], known[p][1]) for p in short if p in known]
    late = sum(o.late for o in outcomes)
    slow = sum(o.kernel is None for o in outcomes)
    print(
        f"{len(grid)} points, {len(grid) - len(short)} of which take the simulator longer than {LONGEST} s; {len(outcomes)} measured, of"
        f" which {slow} took the kernel longer; {late} runs were INVALID and are left out; load {os.getloadavg()[0]:.1f}\n"
    )
    print(table(outcomes))
    if arguments.figure:
        figure(outcomes, arguments.figure)


if __name__ == "__main__":
    main()
