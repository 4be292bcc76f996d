"""Transfers by a real kernel beside the simulator's: the points of a grid, their times, the table and the figure of the errors.

What `validate_kernel.py`, `validate_quic.py` and `validate_second_kernel.py` share.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import longhaul

SEEDS = {0.0: (1,), 0.1: (1, 2, 3), 1.0: (1, 2, 3), 2.0: (1, 2, 3, 4, 5)}
#: Longer transfers are given up, on both sides.
LONGEST = 60  # s
#: The simulator's TCP that does what Linux does; to the emulator it says what buffers and timers the kernel is to have.
LINUX = ', variant = "linux"'
#: A packet of TCP over IP as it is on the wire.
PACKET = 1500
MARKERS = "ox^sv<>Pd*"


@dataclass(frozen=True)
class Point:
    """One transfer."""

    rate: int
    rtt: int
    loss: float
    queue: float
    control: str
    size: float
    transport: str = "tcp"

    def tcp(self, settings: str = LINUX) -> str:
        """The `tcp` of its flow, with settings beside the congestion control."""
        return f'congestion = "{self.control}"{settings}'

    def scenario(self, seed: int, tcp: str) -> str:
        """As a scenario whose flow has this `tcp` (or `quic`); the way back is fast and never lossy."""
        packets = max(4, round(self.queue * self.rate * 1e6 * self.rtt / 1e3 / 8 / PACKET))
        loss = f'loss = {{ kind = "random", probability = "{self.loss} %" }}\n' if self.loss else ""
        return (
            f'[run]\nduration = "{LONGEST} s"\nseed = {seed}\nsample = "1 s"\n'
            f'[[link]]\nname = "path"\nends = ["server", "client"]\ndelay = "{self.rtt / 2} ms"\nrate = "{self.rate} Mbit/s"\n'
            f'[link.forward]\nqueue = {{ kind = "droptail", limit = "{packets} packets" }}\n{loss}'
            f'[link.reverse]\nrate = "1 Gbit/s"\n'
            f'[[flow]]\nname = "get"\nfrom = "server"\nto = "client"\napp = {{ kind = "bulk", size = "{self.size} MB" }}\n'
            f'transport = "{self.transport}"\n{self.transport} = {{ {tcp} }}\n'
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


T = TypeVar("T")
#: Measures a point by the kernel: the completion time, `None` if it took too long, and how many of the runs were INVALID.
Measure = Callable[[Point], tuple[float | None, int]]


def simulate(text: str) -> float | None:
    """Completion time in the simulator."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        result = longhaul.run(file.name, tables=False)
    value = result.summary["flows"][0]["metrics"]["completion_time_s"]
    return None if value is None else float(value)


def simulated(point: Point, tcp: str) -> float | None:
    """The simulator's completion time with this `tcp`."""
    return median([simulate(point.scenario(seed, tcp)) for seed in SEEDS[point.loss]])


def measured_before(file: Path) -> dict[Point, tuple[float | None, int]]:
    """The kernel's times in a file of points, one JSON object a line."""
    if not file.exists():
        return {}
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return {Point(**row["point"]): (row["kernel"], row["late"]) for row in rows}


def do_all(work: Callable[[T], None], items: Sequence[T], workers: int) -> None:
    """Does the work on all items, so many at once. If one fails or it is interrupted, what is under way is not waited for."""
    pool = ThreadPoolExecutor(workers)
    try:
        for finished in [pool.submit(work, item) for item in items]:
            finished.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def measure_all(
    points: list[Point],
    rates: dict[Point, float],
    measure: Measure,
    *,
    budget: float,
    workers: int,
    minutes: float,
    file: Path,
) -> None:
    """Measures points and adds them to a file, so many at once that their mean rates in Mbit/s are within `budget` together.

    After so many minutes none is begun any more.
    """
    began, lock = time.monotonic(), threading.Condition()
    done, used = 0, 0.0

    def one(point: Point) -> None:
        nonlocal done, used
        with lock:
            lock.wait_for(lambda: used <= 0 or used + rates[point] <= budget)
            if time.monotonic() - began > 60 * minutes:
                return
            used += rates[point]
        try:
            kernel, late = measure(point)
        finally:
            with lock:
                used -= rates[point]
                lock.notify_all()
        with lock, file.open("a") as out:
            out.write(json.dumps({"point": asdict(point), "kernel": kernel, "late": late}) + "\n")
            done += 1
            left = (time.monotonic() - began) / done * (len(points) - done)
            print(f"\r{done} of {len(points)} points, {left / 60:.0f} min left ", end="", file=sys.stderr, flush=True)

    do_all(one, points, workers)
    print(file=sys.stderr)


def median(times: list[float | None]) -> float | None:
    finished = [time for time in times if time is not None]
    return statistics.median(finished) if times and len(finished) == len(times) else None


def table(outcomes: list[Outcome], controls: Sequence[str], by_loss: bool = True) -> str:
    """Errors by congestion control, and by loss if so wished, and the worst points, as Markdown."""
    lines = ["| | points | median error | 90 % below | within 5 % | mean, signed |", "|---|---|---|---|---|---|"]
    chosen = [("all", outcomes)]
    losses = sorted({o.point.loss for o in outcomes})
    for control in controls:
        own = [o for o in outcomes if o.point.control == control]
        if by_loss:
            chosen += [(f"{control}, loss {loss} %", [o for o in own if o.point.loss == loss]) for loss in losses]
        else:
            chosen.append((control, own))
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


def figure(outcomes: list[Outcome], controls: Sequence[str], file: Path) -> None:
    """Simulated over measured times, by congestion control."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7, 4.5), layout="constrained")
    axes = drawn.subplots()
    for control, marker in zip(controls, itertools.cycle(MARKERS)):
        part = [o for o in outcomes if o.error is not None and o.point.control == control]
        middle = statistics.median(abs(o.error or 0) for o in part) if part else 0
        axes.plot(
            [o.kernel or 0 for o in part], [100 * (o.error or 0) for o in part], marker, markersize=4, fillstyle="none",
            label=f"{control}: {len(part)} points, median error {middle:.1%}",
        )  # fmt: skip
    axes.axhspan(-5, 5, color="0.9", zorder=0)
    axes.set(xscale="log", xlabel="completion time by the kernel in s", ylabel="simulated, more or less in %")
    axes.legend()
    axes.grid(alpha=0.3)
    drawn.savefig(file, dpi=110)


def common_arguments(parser: argparse.ArgumentParser, points: str, workers: int) -> None:
    """Adds the options of everything that measures by kernels."""
    parser.add_argument("--workers", type=int, default=workers, help=f"most runs at once  [default: {workers}]")
    parser.add_argument(
        "--minutes", type=float, default=600, help="begin nothing after this time; run again to go on  [default: 600]"
    )
    parser.add_argument(
        "--points", type=Path, default=Path(points), help=f"file of what was measured  [default: {points}]"
    )
    parser.add_argument("--no-run", action="store_true", help="measure nothing")


def compare_arguments(parser: argparse.ArgumentParser, points: str, budget: float, workers: int) -> None:
    """Adds the options of `compare`."""
    common_arguments(parser, points, workers)
    parser.add_argument(
        "--budget",
        type=float,
        default=budget,
        metavar="MBITS",
        help=f"sum of mean rates at once  [default: {budget:g}]",
    )
    parser.add_argument("--figure", type=Path, help="draw all points")
    parser.add_argument("--tcp", default=LINUX, help=f"settings of the simulator's TCP  [default: {LINUX}]")


def compare(
    grid: list[Point],
    arguments: argparse.Namespace,
    measure: Measure,
    controls: Sequence[str],
    tcp: Callable[[Point, str], str] = Point.tcp,
    by_loss: bool = True,
) -> None:
    """Simulates all points, has what is missing measured, and prints the table; `arguments` are those of `compare_arguments`.

    `tcp` makes of a point and of settings what the simulator's flow has.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda point: simulated(point, tcp(point, arguments.tcp)), grid)
        times = dict(zip(grid, results, strict=True))
    known = measured_before(arguments.points)
    short = [point for point in grid if times[point] is not None]
    missing = [point for point in short if point not in known]
    # In any order, so that what an interrupted run has measured is a fair sample.
    random.Random(1).shuffle(missing)
    if missing and not arguments.no_run:
        rates = {point: 8.0 * point.size / (times[point] or LONGEST) for point in missing}
        measure_all(
            missing,
            rates,
            measure,
            budget=arguments.budget,
            workers=arguments.workers,
            minutes=arguments.minutes,
            file=arguments.points,
        )
        known = measured_before(arguments.points)
    outcomes = [Outcome(p, known[p][0], times[p], known[p][1]) for p in short if p in known]
    late = sum(o.late for o in outcomes)
    slow = sum(o.kernel is None for o in outcomes)
    print(
        f"{len(grid)} points, {len(grid) - len(short)} of which take the simulator longer than {LONGEST} s; {len(outcomes)} measured, of"
        f" which {slow} took the kernel longer; {late} runs were INVALID and are left out; load {os.getloadavg()[0]:.1f}\n"
    )
    print(table(outcomes, controls, by_loss))
    if arguments.figure:
        figure(outcomes, controls, arguments.figure)
