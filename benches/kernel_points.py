"""Transfers by a real kernel beside the simulator's: the points of a grid, their times and counts, the table and the figure of the
errors.

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
from typing import Any, TypeVar

import longhaul

SEEDS = {0.0: (1,), 0.1: (1, 2, 3), 1.0: (1, 2, 3), 2.0: (1, 2, 3, 4, 5), 5.0: (1, 2, 3, 4, 5)}
#: Longer transfers are given up, on both sides: so many seconds, and with long round trips so many of them.
LONGEST = 60  # s
ROUND_TRIPS = 40
#: Queues beside DropTail, as a link has them, and their length in packets. Those that decide at random are run with several seeds.
DISCIPLINES = {
    "codel": '{ kind = "codel", limit = "1000 packets" }',
    "fq_codel": '{ kind = "fq_codel", limit = "1000 packets" }',
    "pie": '{ kind = "pie", limit = "1000 packets" }',
    "red": '{ kind = "red", limit = "1000 packets", target_delay = "20 ms", mean_packet = "1500 B" }',
}
RANDOM = ("pie", "red")
#: What is compared beside the completion time: metrics of the flow, and packets on the way of its ACKs.
COUNTS = {
    "retransmitted_packets": "retransmissions",
    "fast_retransmits": "recoveries",
    "reductions_undone": "undos",
    "timeouts": "timeouts",
    "acks": "ACKs",
}
#: Differences of counts are in relation to at least so much: one of three is no error of a third.
FEW = 10
#: What is to hold: median and 90th percentile of the error.
WANTED_TIME, WANTED_COUNT = (0.015, 0.06), (0.10, 0.25)
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
    #: The queue at the bottleneck: "droptail" of `queue` bandwidth-delay products, or one of `DISCIPLINES`.
    discipline: str = "droptail"
    #: The link is silent for so many seconds from 3 s on.
    outage: float = 0.0
    #: Delays some packets: probability in per cent and delay in ms.
    reordering: tuple[float, float] | None = None

    @property
    def longest(self) -> float:
        """Longer transfers are given up, in s."""
        return max(LONGEST, ROUND_TRIPS * self.rtt / 1e3)

    @property
    def seeds(self) -> tuple[int, ...]:
        """Several where chance decides; BBR draws the phases of its gain."""
        chance = self.discipline in RANDOM or self.reordering is not None or self.control == "bbr"
        return SEEDS[0.1] if chance and not self.loss else SEEDS[self.loss]

    @property
    def simulated_seeds(self) -> tuple[int, ...]:
        """More of them where a queue drops at random: what both sides draw for themselves agrees in its distribution only, and
        simulated runs cost little."""
        chance = self.discipline in RANDOM or (self.jitter != "0 s" and not self.loss)
        return tuple(range(1, 16)) if chance else self.seeds

    @property
    def jitter(self) -> str:
        """BBR searches for the least round trip whenever none as small was measured for 10 s, so that microseconds decide how often.
        An emulated path has them, and an exact one has not: simulated runs of BBR get what the emulator's packets are late on the mean."""
        return "0.1 ms" if (self.control, self.transport) == ("bbr", "tcp") else "0 s"

    @property
    def name(self) -> str:
        """In words."""
        queue = f"queue {self.queue} BDP" if self.discipline == "droptail" else self.discipline
        loss = f", loss {self.loss} %" if self.loss else ""
        outage = f", outage {self.outage:g} s" if self.outage else ""
        late = f", {self.reordering[0]:g} % late by {self.reordering[1]:g} ms" if self.reordering else ""
        return f"{self.control}, {self.rate} Mbit/s, {self.rtt} ms{loss}{outage}{late}, {queue}, {self.size:g} MB"

    def tcp(self, settings: str = LINUX) -> str:
        """The `tcp` of its flow, with settings beside the congestion control."""
        return f'congestion = "{self.control}"{settings}'

    def scenario(self, seed: int, tcp: str, jitter: str = "0 s") -> str:
        """As a scenario whose flow has this `tcp` (or `quic`); the way back is fast and never lossy. Packets are late by `jitter` at
        most, and none overtakes another."""
        packets = max(4, round(self.queue * self.rate * 1e6 * self.rtt / 1e3 / 8 / PACKET))
        loss = f'loss = {{ kind = "random", probability = "{self.loss} %" }}\n' if self.loss else ""
        if self.outage:
            loss += f'outages = [{{ start = "3 s", duration = "{self.outage} s" }}]\n'
        if self.reordering:
            probability, late = self.reordering
            loss += f'reordering = {{ probability = "{probability} %", delay = "{late} ms" }}\n'
        queue = DISCIPLINES.get(self.discipline, f'{{ kind = "droptail", limit = "{packets} packets" }}')
        return (
            f'[run]\nduration = "{self.longest:g} s"\nseed = {seed}\nsample = "1 s"\n'
            f'[[link]]\nname = "path"\nends = ["server", "client"]\ndelay = "{self.rtt / 2} ms"\nrate = "{self.rate} Mbit/s"\n'
            f'[link.forward]\nqueue = {queue}\njitter = "{jitter}"\n{loss}'
            f'[link.reverse]\nrate = "1 Gbit/s"\n'
            f'[[flow]]\nname = "get"\nfrom = "server"\nto = "client"\napp = {{ kind = "bulk", size = "{self.size} MB" }}\n'
            f'transport = "{self.transport}"\n{self.transport} = {{ {tcp} }}\n'
        )


#: The completion time in s ("time"), `None` if it took too long, and counts by their names in `COUNTS`, as far as they are known.
Measured = dict[str, float | None]


@dataclass(frozen=True)
class Outcome:
    """Medians over the seeds."""

    point: Point
    kernel: Measured
    simulated: Measured
    late: int  # runs that the emulator marked INVALID, and that were left out

    @property
    def error(self) -> float | None:
        """(simulated - kernel) / kernel, of the completion time."""
        kernel, simulated = self.kernel.get("time"), self.simulated.get("time")
        return None if kernel is None or simulated is None else (simulated - kernel) / kernel

    def count_error(self, name: str) -> float | None:
        """The same of a count, where there are few in relation to `FEW`."""
        kernel, simulated = self.kernel.get(name), self.simulated.get(name)
        if self.error is None or kernel is None or simulated is None:
            return None
        return (simulated - kernel) / max(kernel, FEW)


T = TypeVar("T")
#: Measures a point by the kernel, and how many of the runs were INVALID.
Measure = Callable[[Point], tuple[Measured, int]]


def read(summary: dict[str, Any]) -> Measured:
    """What is compared of a result, be it of the simulator or of the emulator."""
    flow = summary["flows"][0]["metrics"]
    counts = {name: flow.get(name) for name in COUNTS if name != "acks"}
    # What enters the link from the receiver's end.
    back = [link["metrics"] for link in summary["links"] if link["from"] == "client"]
    return {"time": flow.get("completion_time_s"), **counts, "acks": sum(link["arrivals"] for link in back)}


def simulate(text: str) -> Measured:
    """A run of the simulator."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return read(longhaul.run(file.name, tables=False).summary)


def simulated(point: Point, tcp: str) -> Measured:
    """What the simulator makes of a point with this `tcp`."""
    return medians([simulate(point.scenario(seed, tcp, point.jitter)) for seed in point.simulated_seeds])


@dataclass(frozen=True)
class Before:
    """What kernels did at a point: of each measurement with a valid run the medians over its seeds, and how many runs were INVALID."""

    measurements: list[Measured]
    late: int

    @property
    def kernel(self) -> Measured:
        """Medians over the measurements."""
        return medians(self.measurements)


def measured_before(file: Path) -> dict[Point, Before]:
    """What kernels did, of a file of points: one JSON object a line, several of a point that was measured more than once."""
    if not file.exists():
        return {}
    found: dict[Point, Before] = {}
    for row in map(json.loads, file.read_text().splitlines()):
        kernel = row["kernel"]
        if not isinstance(kernel, dict):
            kernel = {"time": kernel}  # files from before counts were kept
        late = row["point"].get("reordering")
        point = Point(**{**row["point"], "reordering": late and tuple(late)})
        before = found.get(point, Before([], 0))
        # Without a valid run nothing is known, not even that it took too long.
        valid = [kernel] if any(value is not None for value in kernel.values()) or not row["late"] else []
        found[point] = Before(before.measurements + valid, before.late + row["late"])
    return found


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


def median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.median(known) if values and len(known) == len(values) else None


def medians(runs: Sequence[Measured]) -> Measured:
    """Each value's median; `None` if it is unknown of one run."""
    return {name: median([run.get(name) for run in runs]) for name in ("time", *COUNTS)}


def percentile(errors: list[float]) -> float:
    """The 90th."""
    return sorted(errors)[min(len(errors) - 1, int(0.9 * len(errors)))]


def by_control(outcomes: list[Outcome], controls: Sequence[str]) -> list[tuple[str, list[Outcome]]]:
    """All points, and those of each congestion control."""
    return [("all", outcomes), *((control, [o for o in outcomes if o.point.control == control]) for control in controls)]


def count_table(outcomes: list[Outcome], groups: Sequence[tuple[str, list[Outcome]]]) -> str:
    """Errors of the time and of all counts by groups of points: median and 90th percentile, and the points furthest off."""
    names = ["time", *COUNTS]
    titles = ["completion time", *COUNTS.values()]
    lines = ["| | points | " + " | ".join(titles) + " |", "|---|---|" + "---|" * len(titles)]
    for group, part in groups:
        cells = []
        for name in names:
            errors = [o.error if name == "time" else o.count_error(name) for o in part]
            known = [abs(error) for error in errors if error is not None]
            wanted = WANTED_TIME if name == "time" else WANTED_COUNT
            if not known:
                cells.append("-")
                continue
            middle, ninety = statistics.median(known), percentile(known)
            mark = "" if middle <= wanted[0] and ninety <= wanted[1] else " **not**"
            cells.append(f"{middle:.1%}, {ninety:.1%}{mark}")
        if part:
            lines.append(f"| {group} | {len(part)} | " + " | ".join(cells) + " |")
    lines += ["", "| furthest off in counts | " + " | ".join(titles) + " |", "|---|" + "---|" * len(titles)]

    def worst(o: Outcome) -> float:
        return max((abs(o.count_error(name) or 0) for name in COUNTS), default=0)

    for o in sorted(outcomes, key=worst, reverse=True)[:20]:
        pairs = []
        for name in names:
            kernel, ours = o.kernel.get(name), o.simulated.get(name)
            pairs.append("-" if kernel is None or ours is None else f"{kernel:.5g} / {ours:.5g}")
        lines.append(f"| {o.point.name} | " + " | ".join(pairs) + " |")
    return "\n".join(lines)


def table(outcomes: list[Outcome], controls: Sequence[str], by_loss: bool = True) -> str:
    """Errors by congestion control, and by loss if so wished, and the worst points, as Markdown."""
    lines = ["| | points | median error | 90th percentile | within 5 % | mean, signed |", "|---|---|---|---|---|---|"]
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
        lines.append(f"| {o.point.name} | {o.kernel['time']:.2f} s | {o.simulated['time']:.2f} s | {o.error:+.1%} |")
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
            [o.kernel["time"] or 0 for o in part], [100 * (o.error or 0) for o in part], marker, markersize=4, fillstyle="none",
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
    parser.add_argument("--times", type=int, default=1, help="measure each point so often; medians count  [default: 1]")
    parser.add_argument("--figure", type=Path, help="draw all points")
    parser.add_argument(
        "--beside", type=Path, help="file of another measurement: also print how far kernels differ from themselves"
    )
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
    # In any order, so that what an interrupted run has measured is a fair sample; once again only after all others.
    order = random.Random(1).sample(grid, len(grid))
    done = {point: len(known[point].measurements) if point in known else 0 for point in grid}
    missing = [point for times in range(arguments.times) for point in order if done[point] <= times]
    if missing and not arguments.no_run:
        rates = {point: 8.0 * point.size / (times[point]["time"] or point.longest) for point in missing}
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
    outcomes = [
        Outcome(p, known[p].kernel, times[p], known[p].late) for p in grid if p in known and known[p].measurements
    ]
    late = sum(o.late for o in outcomes)
    finished = [(o.kernel["time"] is not None, o.simulated["time"] is not None, o.point.name) for o in outcomes]
    neither = sum(not kernel and not ours for kernel, ours, _ in finished)
    print(
        f"{len(grid)} points, {len(outcomes)} of them measured; {neither} take both too long; {late} runs were INVALID and are"
        f" left out; load {os.getloadavg()[0]:.1f}"
    )
    for kernel, ours, name in finished:
        if kernel != ours:
            print(f"only {'the kernel' if kernel else 'the simulator'} finishes {name}")
    print()
    print(table(outcomes, controls, by_loss))
    print("\n" + count_table(outcomes, by_control(outcomes, controls)))
    if arguments.beside:
        other = measured_before(arguments.beside)
        twice = [
            Outcome(o.point, other[o.point].kernel, o.kernel, 0)
            for o in outcomes
            if o.point in other and other[o.point].measurements
        ]
        print("\nThe kernel beside itself:\n\n" + count_table(twice, by_control(twice, controls)).split("\n\n")[0])
    if arguments.figure:
        figure(outcomes, controls, arguments.figure)
