#!/usr/bin/env python3
"""The emulator against netem, and the simulator's congestion controls against Linux's, by a second kernel: Debian's User-Mode Linux.

    validate_second_kernel.py netem        pings and transfers over netem, between network namespaces of the second kernel, and
                                           through `longhaul-emu bridge` between two of its devices, over the same paths
    validate_second_kernel.py congestion   transfers with the congestion controls that it has and this machine's kernel may lack,
                                           through the emulator, beside the simulator's

The kernel is at both ends in both, in one process (`uml.py`). A run is INVALID if 1 % of its packets were late by more than
5 ms at the emulator, if devices lost packets, or if the second kernel woke 1 % of its sleepers later than that; it is repeated
twice at most. What is measured is kept in `--points` at once: run again with the same file, only what is missing is measured.
Wants root; says what is missing.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import queue
import signal
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import uml
from kernel_points import (
    LINUX,
    LONGEST,
    PACKET,
    Measured,
    Point,
    common_arguments,
    compare,
    compare_arguments,
    do_all,
    median,
    medians,
)

#: By scale: rates in Mbit/s, RTTs in ms, losses in per cent, sizes in MB; the queue is one bandwidth-delay product.
GRIDS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...], tuple[int, ...]]] = {
    "quick": ((10,), (50, 250), (0.0, 0.1), (2,)),
    "full": ((10, 20), (50, 250, 600), (0.0, 0.1, 1.0), (2, 10)),
}
CONTROLS = ("hybla", "htcp", "highspeed", "vegas", "westwood", "scalable", "bic", "illinois", "veno", "yeah")
#: What Linux 6.1 has other than the papers, from its sources (net/ipv4/tcp_*.c), as far as the simulator has it too.
IN_LINUX = {
    "hybla": 'counting = "acks"',
    "highspeed": 'counting = "acks"',
    "vegas": 'alpha = 2, beta = 4, rtt = "least", growth = "every_rtt", exit = "actual_rate", left_on_loss = 0.5',
    "westwood": 'filter = 0.875, filter_stages = 2, decides = "after_recovery"',
    "scalable": "legacy_window = 0, never_below_reno = true",
}
#: By scale: one-way delays in ms, rates in Mbit/s, losses in per cent.
PATHS: dict[str, tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]] = {
    "quick": ((10, 250), (10,), (0.0, 1.0)),
    "full": ((10, 50, 250, 500), (1, 10, 50), (0.0, 1.0)),
}
#: Bytes of a transfer by the rate of a path without loss.
SIZES = {1: 1_000_000, 10: 5_000_000, 50: 20_000_000}
#: With loss by the one-way delay: as many as Reno brings over in half a minute or so, 20 s of the rate at most.
LOSSY_SIZES = {10: 10_000_000, 50: 4_000_000, 250: 1_000_000, 500: 500_000}
RUNS, LOSSY_RUNS = 3, 5
#: Reno: others decide by round trip times, so that a tenth of a millisecond may change all that follows.
CONTROL = "reno"
#: Bytes of an echo request on the path: IP, ICMP, 56 bytes.
ECHO = 84
PINGS = {"count": 200, "interval": 0.01, "wait": 2}
#: What makes a run INVALID, in ms.
MOST_LATE = 5.0
ATTEMPTS = 3


class Guests:
    """Second kernels that lie idle; each is lent to one thread at a time, and another takes the place of one that has died."""

    def __init__(self, emulator: Path, count: int, controls: tuple[str, ...]) -> None:
        self.emulator = emulator
        self.controls = controls
        self.count = count
        self.stack = contextlib.ExitStack()
        self.idle: queue.SimpleQueue[uml.Hosts | None] = queue.SimpleQueue()

    def __enter__(self) -> Guests:
        for _ in range(self.count):
            self.idle.put(None)
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    @contextlib.contextmanager
    def lend(self) -> Iterator[uml.Hosts]:
        """A kernel for the time being."""
        guest = self.idle.get()
        try:
            if guest is None:
                guest = self.stack.enter_context(uml.Hosts(self.emulator, self.controls))
            yield guest
        except BaseException:
            # Whatever state it is in, nobody gets it again.
            if guest is not None:
                guest.end()
            guest = None
            raise
        finally:
            self.idle.put(guest)


@dataclass(frozen=True)
class Run:
    """A transfer: its time in s, `None` if it took too long; retransmissions; and why it is INVALID, if it is."""

    time: float | None
    retransmitted: int
    invalid: str


def over_bridge(guest: uml.Hosts, scenario: str, size: int, control: str, limit: float) -> Run:
    """A transfer through the emulator."""
    with guest.bridge(scenario) as bridge:
        done = guest.do("transfer", limit + 30, way="bridge", size=size, control=control, limit=limit)
    if "error" in bridge.stats:
        raise uml.KernelError(f"longhaul-emu bridge: {bridge.stats['error']}")
    late = bridge.stats["lateness_p99_s"] * 1e3
    why = [f"1 % of the packets were later than {late:.1f} ms"] if late > MOST_LATE else []
    if bridge.stats["device_drops"]:
        why.append(f"devices lost {bridge.stats['device_drops']} packets")
    return _run(done, control, why)


def _run(done: dict[str, Any], control: str, why: list[str]) -> Run:
    if done["control"] != control:
        raise uml.KernelError(f"the second kernel uses {done['control']}, not {control}")
    if done["late_p99_ms"] > MOST_LATE:
        why.append(f"the second kernel was late by {done['late_p99_ms']:.1f} ms")
    return Run(done["time_s"], done["retransmitted"] or 0, "; ".join(why))


def measure(guests: Guests, point: Point) -> tuple[Measured, int]:
    """What the second kernel did at a point of the comparison with the simulator, and how many of the runs were INVALID."""
    runs: list[Measured] = []
    late = 0
    for seed in point.seeds:
        for _ in range(ATTEMPTS):
            with guests.lend() as guest:
                run = over_bridge(guest, point.scenario(seed, point.tcp()), point.size * 10**6, point.control, LONGEST)
            if not run.invalid:
                runs.append({"time": run.time, "retransmitted_packets": run.retransmitted})
                break
            late += 1
    return medians(runs), late


@dataclass(frozen=True)
class Cell:
    """A path: one-way delay in ms, rate in Mbit/s, loss in per cent; `way` is how it is made."""

    delay: int
    rate: int
    loss: float
    way: str

    @property
    def limit(self) -> int:
        """The queue in packets: one bandwidth-delay product, the packet in transmission included."""
        return max(4, round(self.rate * 1e6 * 2 * self.delay / 1e3 / 8 / PACKET))

    @property
    def size(self) -> int:
        """Bytes of a transfer."""
        return min(LOSSY_SIZES[self.delay], self.rate * 2_500_000) if self.loss else SIZES[self.rate]

    @property
    def least_rtt(self) -> float:
        """The round trip time of a ping over an ideal path, in ms."""
        return 2 * self.delay + ECHO * 8 / (self.rate * 1e3)

    def scenario(self, seed: int) -> str:
        """As a scenario for the emulator."""
        loss = f'loss = {{ kind = "random", probability = "{self.loss} %" }}\n' if self.loss else ""
        return (
            f'[run]\nduration = "1000 s"\nseed = {seed}\n'
            f'[[link]]\nname = "path"\nends = ["server", "client"]\ndelay = "{self.delay} ms"\nrate = "1 Gbit/s"\n'
            f'[link.forward]\nrate = "{self.rate} Mbit/s"\n'
            f'queue = {{ kind = "droptail", limit = "{self.limit} packets" }}\n{loss}'
            f'[[flow]]\nfrom = "server"\nto = "client"\ntcp = {{ congestion = "{CONTROL}" {LINUX} }}\n'
        )


def explore(guests: Guests, cell: Cell) -> dict[str, Any]:
    """Pings and transfers over a path."""
    runs: list[Run] = []
    late = 0
    patience = 20 + 8 * cell.size / (cell.rate * 1e6) * 3 + (0.3 * cell.delay if cell.loss else 0.04 * cell.delay)
    with guests.lend() as guest:
        for number in range(LOSSY_RUNS if cell.loss else RUNS):
            for _ in range(ATTEMPTS):
                if cell.way == "netem":
                    guest.do("netem", rate_mbit=cell.rate, delay_ms=cell.delay, limit=cell.limit, loss=cell.loss)
                    done = guest.do(
                        "transfer", patience + 30, way="netem", size=cell.size, control=CONTROL, limit=patience
                    )
                    run = _run(done, CONTROL, [])
                else:
                    run = over_bridge(guest, cell.scenario(number + 1), cell.size, CONTROL, patience)
                if not run.invalid:
                    runs.append(run)
                    break
                late += 1
        if cell.way == "netem":
            guest.do("netem", rate_mbit=cell.rate, delay_ms=cell.delay, limit=cell.limit, loss=cell.loss)
            echoes = guest.do("ping", way="netem", **PINGS)
        else:
            with guest.bridge(cell.scenario(1)):
                echoes = guest.do("ping", way="bridge", **PINGS)
    return {
        "rtts_ms": sorted(echoes["rtts_ms"]),
        "times_s": [run.time for run in runs],
        "retransmitted": [run.retransmitted for run in runs],
        "late": late,
    }


def limits(guests: Guests) -> str:
    """What the second kernel can carry at all, and how late it is, as a sentence."""
    with guests.lend() as guest:
        sleep = guest.do("sleep", duration=5)
        bare = guest.do("transfer", way="netem", size=200_000_000, control=CONTROL, limit=30)
        fast = Cell(1, 1000, 0.0, "bridge").scenario(1)
        with guest.bridge(fast) as bridge:
            over = guest.do("transfer", way="bridge", size=50_000_000, control=CONTROL, limit=30)
            echoes = guest.do("ping", way="bridge", **PINGS)
        release = guest.release
    rate = {name: 8e-6 * done["received"] / (done["time_s"] or 30) for name, done in (("bare", bare), ("over", over))}
    return (
        f"Linux {release} in User-Mode Linux: sleepers are woken {sleep['late_median_ms']:.2f} ms late (median; 99 %"
        f" {sleep['late_p99_ms']:.2f} ms, at most {sleep['late_max_ms']:.2f} ms); {rate['bare']:.0f} Mbit/s over three pairs of virtual"
        f" devices without netem, {rate['over']:.0f} Mbit/s over its two devices and the emulator at 1 Gbit/s and a delay of 1 ms each way,"
        f" where a ping takes {statistics.median(echoes['rtts_ms']):.2f} ms and the emulator's 99th percentile of lateness was"
        f" {bridge.stats['lateness_p99_s'] * 1e3:.2f} ms; load {os.getloadavg()[0]:.1f}"
    )


def read_cells(file: Path) -> dict[Cell, dict[str, Any]]:
    """What was measured before."""
    lines = file.read_text().splitlines() if file.exists() else []
    return {Cell(**row["cell"]): row["measured"] for row in map(json.loads, lines)}


def _shown(cell: Cell, times: list[float | None]) -> str:
    """The median, and where chance decides the least and the greatest."""
    finished = [time for time in times if time is not None]
    if len(finished) < len(times) or not times:
        return "-"
    text = f"{statistics.median(finished):.2f} s"
    return f"{text} ({min(finished):.1f} to {max(finished):.1f})" if cell.loss else text


def netem_table(known: dict[Cell, dict[str, Any]], cells: list[Cell]) -> str:
    """Netem and the emulator side by side, as Markdown."""
    lines = [
        "| delay, rate, loss | RTT above the ideal path's, ms: netem median, 99 % | emulator | pings answered | transfer: netem | emulator |"
        " difference | retransmitted: netem | emulator |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    differences = []

    def above(cell: Cell, rtts: list[float]) -> str:
        if not rtts:
            return "-"
        last = rtts[min(len(rtts) - 1, int(0.99 * len(rtts)))]
        return f"{statistics.median(rtts) - cell.least_rtt:.2f}, {last - cell.least_rtt:.2f}"

    for cell in cells:
        other = Cell(cell.delay, cell.rate, cell.loss, "bridge")
        if cell.way != "netem" or cell not in known or other not in known:
            continue
        by_netem, by_bridge = known[cell], known[other]
        times = [median(found["times_s"]) for found in (by_netem, by_bridge)]
        difference = "-"
        if times[0] is not None and times[1] is not None:
            differences.append((cell.loss, abs(times[1] / times[0] - 1)))
            difference = f"{times[1] / times[0] - 1:+.1%}"
        shown = [_shown(cell, found["times_s"]) for found in (by_netem, by_bridge)]
        resent = [
            f"{statistics.mean(found['retransmitted']):.0f}" if found["retransmitted"] else "-"
            for found in (by_netem, by_bridge)
        ]
        answered = [len(found["rtts_ms"]) for found in (by_netem, by_bridge)]
        lines.append(
            f"| {cell.delay} ms, {cell.rate} Mbit/s, {cell.loss:g} % | {above(cell, by_netem['rtts_ms'])} | {above(cell, by_bridge['rtts_ms'])}"
            f" | {answered[0]}, {answered[1]} | {shown[0]} | {shown[1]} | {difference} | {resent[0]} | {resent[1]} |"
        )
    for loss in sorted({loss for loss, _ in differences}):
        part = [difference for own, difference in differences if own == loss]
        lines.append(f"\nLoss {loss:g} %: median difference {statistics.median(part):.1%}, largest {max(part):.1%}.")
    late = sum(known[cell]["late"] for cell in cells if cell in known)
    lines.append(f"\n{late} runs were INVALID and repeated.")
    return "\n".join(lines)


def run_netem(arguments: argparse.Namespace) -> None:
    """The emulator against netem."""
    delays, rates, losses = PATHS[arguments.scale]
    cells = [Cell(*values) for values in itertools.product(delays, rates, losses, ("netem", "bridge"))]
    known = read_cells(arguments.points)
    missing = [cell for cell in cells if cell not in known]
    if missing and not arguments.no_run:
        with Guests(arguments.emulator, arguments.workers, ()) as guests:
            print(limits(guests) + "\n")
            explore_all(missing, guests, arguments)
        known = read_cells(arguments.points)
    print(netem_table(known, cells))


def explore_all(missing: list[Cell], guests: Guests, arguments: argparse.Namespace) -> None:
    """Measures paths and adds them to the file, for so many minutes at most."""
    began, lock, done = time.monotonic(), threading.Lock(), 0

    def one(cell: Cell) -> None:
        nonlocal done
        if time.monotonic() - began > 60 * arguments.minutes:
            return
        measured = explore(guests, cell)
        with lock, arguments.points.open("a") as out:
            out.write(json.dumps({"cell": asdict(cell), "measured": measured}) + "\n")
            done += 1
            print(f"\r{done} of {len(missing)} paths ", end="", file=sys.stderr, flush=True)

    do_all(one, missing, arguments.workers)
    print(file=sys.stderr)


def as_in_linux(point: Point, settings: str) -> str:
    """The simulator's `tcp` of a point: the congestion control with Linux's parameters."""
    if point.control not in IN_LINUX:
        return point.tcp(settings)
    # Linux's Hybla begins with rho segments, whatever the initial window of others: RTT / 25 ms.
    initial = f", initial_window = {max(1, point.rtt // 25)}" if point.control == "hybla" else ""
    return f'congestion = {{ kind = "{point.control}", {IN_LINUX[point.control]} }}{settings}{initial}'


def run_congestion(arguments: argparse.Namespace) -> None:
    """The simulator's congestion controls against the second kernel's."""
    rates, rtts, losses, sizes = GRIDS[arguments.scale]
    controls = arguments.controls.split(",")
    grid = [Point(rate, rtt, loss, 1.0, control, size)
            for rate, rtt, loss, control, size in itertools.product(rates, rtts, losses, controls, sizes)]  # fmt: skip
    with Guests(arguments.emulator, arguments.workers, tuple(controls)) as guests:
        compare(grid, arguments, lambda point: measure(guests, point), controls, tcp=as_in_linux, by_loss=False)


def main() -> None:
    """Runs one of the two comparisons and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emulator", type=Path, default=uml.EMULATOR)
    commands = parser.add_subparsers(required=True)
    for name, run in (("netem", run_netem), ("congestion", run_congestion)):
        command = commands.add_parser(name)
        command.add_argument("--scale", choices=GRIDS, default="quick")
        points = f"second-kernel-{name}.jsonl"
        if name == "netem":
            common_arguments(command, points, workers=4)
        else:
            command.add_argument("--controls", default=",".join(CONTROLS))
            compare_arguments(command, points, budget=100, workers=6)
        command.set_defaults(run=run)
    arguments = parser.parse_args()
    lacks = [] if arguments.no_run else uml.missing(arguments.emulator)
    if lacks:
        sys.exit("".join(f"error: {text}\n" for text in lacks).rstrip())
    # Also where a shell has it ignored, for what it runs in the background.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        arguments.run(arguments)
    except uml.KernelError as why:
        sys.exit(f"error: {why}")
    except KeyboardInterrupt:
        sys.exit("interrupted; what was measured is kept")


if __name__ == "__main__":
    main()
