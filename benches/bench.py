#!/usr/bin/env python3
"""Runs the same dumbbells in ns-2 and in Longhaul, in alternation, and compares CPU time, memory and what came out.

The scenarios are in scenarios.toml, the ns-2 script is ns2/dumbbell.tcl, what ns-2 does differently is in ns2/README.md.

What is counted: a *data packet* is one that left the bottleneck and was not lost on the way to its receiver, over the whole
run, retransmissions included, in both simulators: it is the work done, not the goodput. CPU time is user plus system time of
the whole process as the kernel accounts it, peak memory its maximum resident set as it reports itself. ns-2 spends much of its time building large
topologies in Tcl, so a second rate leaves the set-up out, on both sides; the ratio to quote is the smaller one.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
OURS = HERE.parent / "target" / "release" / "examples" / "bench_run"
UNITS = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
RESULT_FIELDS = {"data_packets_delivered", "utilisation", "drop_rate", "loss_rate", "measured_retransmissions",
                 "measured_timeouts", "goodput_bps", "setup_cpu_s", "peak_memory_bytes"}  # fmt: skip
INSTALL_NS2 = "ns-2 is not installed: run scripts/install-packages (Debian's package `ns2`). Measuring Longhaul alone."


class BenchError(Exception):
    """Something the user can put right."""


# ------------------------------------------------------------------------------------------------------------- scenarios


def quantity(text: str) -> float:
    """`"100 Mbit/s"` in bit/s, `"250 ms"` in seconds."""
    number, _, unit = text.partition(" ")
    try:
        return float(number) * UNITS[unit]
    except (ValueError, KeyError):
        raise BenchError(f"scenarios.toml: {text!r} is not a number and one of {', '.join(UNITS)}") from None


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One row of scenarios.toml; quantities stay as text, with their units."""

    name: str
    title: str
    flows: int
    rate: str
    delay: str
    queue: int
    discipline: str
    access_rate: str
    access_delay: str
    access_queue: int
    payload: int
    loss: float
    window: int
    initial_window: int
    congestion: str
    max_ssthresh: int
    delayed_ack: str
    send_overhead: str
    ties: str
    variant: str
    min_rto: str
    start: list[str]
    seed: int
    duration: str
    warmup: str
    quick: list[str]

    def starts(self) -> list[float]:
        """When each flow starts, in seconds: the same list for both simulators, to the microsecond."""
        earliest, latest = (quantity(t) for t in self.start)
        draw = random.Random(self.seed)
        return [round(draw.uniform(earliest, latest), 6) for _ in range(self.flows)]


def load_scenarios(quick: bool) -> dict[str, Scenario]:
    with open(HERE / "scenarios.toml", "rb") as file:
        document = tomllib.load(file)
    scenarios = {}
    for name, table in document["scenario"].items():
        fields = {**document["defaults"], **table}
        if quick:
            fields["duration"], fields["warmup"] = fields["quick"]
        try:
            scenarios[name] = Scenario(name=name, **fields)
        except TypeError as error:
            raise BenchError(f"scenarios.toml: [scenario.{name}]: {error}") from None
    return scenarios


# ------------------------------------------------------------------------------------------------------------- measuring


@dataclasses.dataclass
class Run:
    """One run of one simulator."""

    cpu_s: float
    setup_cpu_s: float  # part of cpu_s
    wall_s: float
    peak_memory_bytes: int
    result: dict  # RESULT_FIELDS and whatever else the simulator said

    @property
    def packets_per_cpu_s(self) -> float:
        return self.result["data_packets_delivered"] / self.cpu_s

    @property
    def packets_per_run_cpu_s(self) -> float:
        """The set-up left out."""
        return self.result["data_packets_delivered"] / max(self.cpu_s - self.setup_cpu_s, 1e-3)


def measure(command: list[str]) -> tuple[str, float, float]:
    """Runs a command; gives its output, CPU seconds and wall seconds."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        began = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:
            child.kill()
            child.wait()
            raise
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode != 0:
            complaint = (err.read().strip() or out.read().strip())[-2000:]
            raise BenchError(f"{' '.join(command)}\nended with {child.returncode}:\n{complaint}")
        return out.read(), usage.ru_utime + usage.ru_stime, wall


def parsed(output: str, command: list[str]) -> dict:
    try:
        result = json.loads(output)
    except json.JSONDecodeError as error:
        raise BenchError(f"{' '.join(command)}\nprinted no JSON ({error}): {output[:500]!r}") from None
    missing = RESULT_FIELDS - result.keys()
    if missing:
        raise BenchError(f"{' '.join(command)}\nsays nothing of {', '.join(sorted(missing))}")
    return result


def starts_file(scenario: Scenario) -> str:
    """The file in which ns-2 finds when each flow starts."""
    return "".join(f"{t:.6f}\n" for t in scenario.starts())


def ns2_arguments(scenario: Scenario) -> dict[str, object]:
    """What ns2/dumbbell.tcl is called with, but for `starts`."""
    delayed_ack = 0 if scenario.delayed_ack == "off" else quantity(scenario.delayed_ack)
    return {
        "flows": scenario.flows,
        "rate": quantity(scenario.rate),
        "delay": quantity(scenario.delay),
        "queue": scenario.queue,
        "discipline": scenario.discipline,
        "access_rate": quantity(scenario.access_rate),
        "access_delay": quantity(scenario.access_delay),
        "access_queue": scenario.access_queue,
        "payload": scenario.payload,
        "loss": scenario.loss,
        "window": scenario.window,
        "initial_window": scenario.initial_window,
        "congestion": scenario.congestion,
        "max_ssthresh": scenario.max_ssthresh,
        "delack": delayed_ack,
        "overhead": quantity(scenario.send_overhead),
        "min_rto": quantity(scenario.min_rto),
        "duration": quantity(scenario.duration),
        "warmup": quantity(scenario.warmup),
        "seed": scenario.seed,
    }


def run_ns2(scenario: Scenario, directory: Path) -> Run:
    starts = directory / "starts"
    starts.write_text(starts_file(scenario))
    arguments = {**ns2_arguments(scenario), "starts": starts}
    command = ["ns", str(HERE / "ns2" / "dumbbell.tcl"), *(f"{key}={value}" for key, value in arguments.items())]
    output, cpu, wall = measure(command)
    result = parsed(output, command)
    return Run(cpu, result["setup_cpu_s"], wall, result["peak_memory_bytes"], result)


#: What the names in scenarios.toml stand for in a scenario file.
DISCIPLINES = {
    "droptail": '{{ kind = "droptail", limit = "{queue} packets" }}',
    "red": '{{ kind = "red", limit = "{queue} packets", target_delay = "5 ms", bottom = 0.0001, ecn = true, form = "ns2" }}',
    "red_drop": '{{ kind = "red", limit = "{queue} packets", target_delay = "5 ms", bottom = 0.0001, ecn = false, form = "ns2" }}',
}
CONGESTION = {
    "reno": '{ kind = "reno", counting = "acks" }',
    "highspeed": '{ kind = "highspeed", low_window = 31, first_cut = "half", counting = "acks" }',
}


def scenario_document(scenario: Scenario) -> str:
    """The scenario as a file that `longhaul run` reads."""
    queue = DISCIPLINES[scenario.discipline].format(queue=scenario.queue)
    slow_start = '{ kind = "standard", counting = "acks" }'
    if scenario.max_ssthresh:
        slow_start = f'{{ kind = "limited", form = "ns2", max_ssthresh = "{scenario.max_ssthresh} packets" }}'
    ecn = "true" if scenario.discipline == "red" else "false"
    starts = ", ".join(f'"{t:.6f} s"' for t in scenario.starts())
    ties = "" if scenario.ties == "hash" else f'ties = "{scenario.ties}"\n'
    loss = f", forward = {{ loss = {{ kind = \"random\", probability = {scenario.loss} }} }}" if scenario.loss else ""
    return f"""\
[run]
duration = "{scenario.duration}"
warmup = "{scenario.warmup}"
seed = {scenario.seed}
sample = "1 s"
{ties}
[dumbbell]
bottleneck = {{ rate = "{scenario.rate}", delay = "{scenario.delay}", queue = {queue}{loss} }}
access = {{ rate = "{scenario.access_rate}", delay = "{scenario.access_delay}", queue = {{ kind = "droptail", limit = "{scenario.access_queue} packets" }} }}

[[flow]]
count = {scenario.flows}
start = {{ at = [{starts}] }}
send_overhead = "{scenario.send_overhead}"
app = {{ kind = "bulk" }}

[flow.tcp]
variant = "{scenario.variant}"
congestion = {CONGESTION[scenario.congestion]}
slow_start = {slow_start}
ecn = {ecn}
established = true
mss = "{scenario.payload} B"
initial_window = {scenario.initial_window}
delayed_ack = "{scenario.delayed_ack}"
rto = {{ initial = "1 s", min = "{scenario.min_rto}", max = "60 s" }}
"""


def run_ours(scenario: Scenario, directory: Path, program: str) -> Run:
    """`PROGRAM FILE` prints one JSON object with RESULT_FIELDS; the simulator alone, without Python around it."""
    file = directory / "scenario.toml"
    file.write_text(scenario_document(scenario))
    command = [program, str(file)]
    output, cpu, wall = measure(command)
    result = parsed(output, command)
    return Run(cpu, result["setup_cpu_s"], wall, result["peak_memory_bytes"], result)


# ---------------------------------------------------------------------------------------------------------------- report


@dataclasses.dataclass
class Comparison:
    """All runs of one scenario. `ns2[i]` and `ours[i]` ran one after the other."""

    scenario: Scenario
    ns2: list[Run] = dataclasses.field(default_factory=list)
    ours: list[Run] = dataclasses.field(default_factory=list)

    def ratios(self, value) -> list[float]:
        return [value(ours) / value(ns2) for ours, ns2 in zip(self.ours, self.ns2)]


def spread(values: list[float], form: str, scale: float = 1.0) -> str:
    """The median, and between brackets the least and the greatest."""
    if not values:
        return "-"
    scaled = sorted(v / scale for v in values)
    middle = format(statistics.median(scaled), form)
    return middle if len(scaled) == 1 else f"{middle} ({format(scaled[0], form)} to {format(scaled[-1], form)})"


def middle(values: list[float], form: str, scale: float = 1.0) -> str:
    return format(statistics.median(values) / scale, form) if values else "-"


def speed_table(comparisons: list[Comparison]) -> list[list[str]]:
    rows = [
        ["scenario", "ns-2 CPU s", "ours CPU s", "ns-2 kpkt/s", "ours kpkt/s", "ratio",
         "ns-2 kpkt/s, no set-up", "ours kpkt/s, no set-up", "ratio, no set-up", "ns-2 MB", "ours MB", "memory ratio"]
    ]  # fmt: skip
    for c in comparisons:
        row = [c.scenario.name]
        row += [middle([r.cpu_s for r in runs], ".2f") for runs in (c.ns2, c.ours)]
        for value in (lambda r: r.packets_per_cpu_s, lambda r: r.packets_per_run_cpu_s):
            row += [spread([value(r) for r in runs], ".0f", 1e3) for runs in (c.ns2, c.ours)]
            row.append(spread(c.ratios(value), ".1f"))
        row += [middle([r.peak_memory_bytes for r in runs], ".0f", 1e6) for runs in (c.ns2, c.ours)]
        row.append(middle(c.ratios(lambda r: r.peak_memory_bytes), ".2f"))
        rows.append(row)
    return rows


def outcome_table(comparisons: list[Comparison]) -> list[list[str]]:
    """What the simulated network did: the runs of one simulator are all alike, so the first is shown."""
    rows = [["scenario", "simulator", "delivered packets", "utilisation %", "queue drops %", "loss %", "retransmitted",
             "timeouts", "Jain's index"]]  # fmt: skip
    for c in comparisons:
        for name, runs in (("ns-2", c.ns2), ("ours", c.ours)):
            if runs:
                result = runs[0].result
                rows.append([
                    c.scenario.name, name, f"{result['data_packets_delivered']:,}", f"{100 * result['utilisation']:.2f}",
                    f"{100 * result['drop_rate']:.4f}", f"{100 * result['loss_rate']:.4f}",
                    f"{result['measured_retransmissions']:,.0f}", f"{result['measured_timeouts']:,.0f}", f"{jain(result['goodput_bps']):.3f}",
                ])  # fmt: skip
    return rows


def jain(values: list[float]) -> float:
    """Jain's index, (sum x)^2 / (n sum x^2): 1 when all are equal, 1/n when one has everything."""
    squares = sum(v * v for v in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else 0.0


def scaling_lines(comparisons: list[Comparison]) -> list[str]:
    """The two questions that need two scenarios."""
    by_name = {c.scenario.name: c for c in comparisons}
    lines = []
    for question, of, to, wanted in (
        ("packets per CPU-second of (d) over (a)", "d", "a", "at least 0.5"),
        ("CPU time per packet of (e600) over (e20)", "e20", "e600", "at most 2"),
    ):
        for name in ("ns2", "ours"):
            over, under = (getattr(by_name[s], name) if s in by_name else [] for s in (of, to))
            if over and under:
                value = statistics.median(r.packets_per_run_cpu_s for r in over) / statistics.median(
                    r.packets_per_run_cpu_s for r in under
                )
                lines.append(f"{question}, set-up left out, {'ns-2' if name == 'ns2' else 'ours'}: {value:.2f} (goal: {wanted})")
    return lines


def plain(rows: list[list[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(row, widths)).rstrip() for row in rows)


def markdown(rows: list[list[str]]) -> str:
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def machine() -> dict:
    """What the numbers depend on."""
    model = platform.processor()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return {"processor": model, "cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version()}


def first_line(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
        return (done.stdout.splitlines() or [None])[0] if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired):
        return None


def as_json(comparisons: list[Comparison], versions: dict) -> dict:
    def runs(all_runs: list[Run]) -> list[dict]:
        return [{**dataclasses.asdict(r), "packets_per_cpu_s": r.packets_per_cpu_s,
                 "packets_per_run_cpu_s": r.packets_per_run_cpu_s} for r in all_runs]  # fmt: skip

    return {
        "machine": machine(),
        "versions": versions,
        "scenarios": {
            c.scenario.name: {"parameters": dataclasses.asdict(c.scenario), "ns2": runs(c.ns2), "ours": runs(c.ours)}
            for c in comparisons
        },
    }


# ------------------------------------------------------------------------------------------------------------------ main


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compares Longhaul with ns-2 on the same dumbbells.")
    parser.add_argument("--pairs", type=int, default=None, help="runs of each simulator per scenario (default 5; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="short durations, one pair: does it work?")
    parser.add_argument("--only", metavar="A,B", help="only these scenarios")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    parser.add_argument("--ours", metavar="PROGRAM", default=str(OURS), help="the simulator (default: %(default)s)")
    sides = parser.add_mutually_exclusive_group()
    sides.add_argument("--ours-only", action="store_true", help="leave ns-2 out")
    sides.add_argument("--ns2-only", action="store_true", help="leave Longhaul out")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write every run's numbers")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the tables")
    return parser.parse_args()


def chosen(scenarios: dict[str, Scenario], only: str | None) -> list[Scenario]:
    if only is None:
        return list(scenarios.values())
    names = [name.strip() for name in only.split(",")]
    for name in names:
        if name not in scenarios:
            raise BenchError(f"no scenario {name!r}; there are {', '.join(scenarios)}")
    return [scenarios[name] for name in names]


def main() -> int:
    options = arguments()
    scenarios = load_scenarios(options.quick)
    if options.list:
        for s in scenarios.values():
            print(f"{s.name:8} {s.title}, {s.duration}")
        return 0
    todo = chosen(scenarios, options.only)
    pairs = options.pairs if options.pairs is not None else (1 if options.quick else 5)
    if pairs < 1:
        raise BenchError("--pairs must be at least 1")

    simulators = {}
    if not options.ours_only:
        if shutil.which("ns"):
            simulators["ns2"] = run_ns2
        elif options.ns2_only:
            raise BenchError("ns-2 is not installed: run scripts/install-packages (Debian's package `ns2`)")
        else:
            print(INSTALL_NS2, file=sys.stderr)
    if not options.ns2_only:
        if not shutil.which(options.ours):
            raise BenchError(f"no program {options.ours}: build it with `make bench-program`, "
                             "name it with --ours, or measure ns-2 alone with --ns2-only")  # fmt: skip
        simulators["ours"] = lambda scenario, directory: run_ours(scenario, directory, options.ours)

    comparisons = [Comparison(s) for s in todo]
    interrupted = False
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as scratch:
        total, count, began = pairs * len(todo) * len(simulators), 0, time.monotonic()
        try:
            for pair in range(pairs):
                # Every scenario once before any a second time, and who goes first changes: a machine that slows down
                # or speeds up meanwhile favours neither.
                order = list(simulators.items())[:: 1 if pair % 2 == 0 else -1]
                for comparison in comparisons:
                    finished = {}
                    for name, run in order:
                        count += 1
                        print(f"[{count}/{total}, {time.monotonic() - began:.0f} s] pair {pair + 1}/{pairs}, "
                              f"{comparison.scenario.name}, {'ns-2' if name == 'ns2' else name}", end=" ", file=sys.stderr, flush=True)  # fmt: skip
                        done = finished[name] = run(comparison.scenario, Path(scratch))
                        print(f"{done.cpu_s:.2f} CPU-s, {done.packets_per_cpu_s / 1e3:.0f} kpkt/s, "
                              f"{done.peak_memory_bytes / 1e6:.0f} MB", file=sys.stderr, flush=True)  # fmt: skip
                    for name, done in finished.items():
                        getattr(comparison, name).append(done)
        except KeyboardInterrupt:
            print("\ninterrupted: what follows is from the pairs that were finished", file=sys.stderr)
            interrupted = True

    measured = [c for c in comparisons if c.ns2 or c.ours]
    if measured:
        report(measured, options)
    return 130 if interrupted else 0


def report(measured: list[Comparison], options: argparse.Namespace) -> None:
    speed, outcome, scaling = speed_table(measured), outcome_table(measured), scaling_lines(measured)
    print(plain(speed), plain(outcome), "\n".join(scaling), sep="\n\n")
    versions = {
        "ns-2": first_line(["dpkg-query", "-W", "-f", "${Version}\n", "ns2"]) if any(c.ns2 for c in measured) else None,
        "commit": first_line(["git", "-C", str(HERE), "describe", "--always", "--dirty"]),
    }
    if options.json:
        options.json.write_text(json.dumps(as_json(measured, versions), indent=1) + "\n")
    if options.markdown:
        titles = "\n".join(f"* **{c.scenario.name}**: {c.scenario.title}, {c.scenario.duration}" for c in measured)
        about = "\n".join(f"* {key}: {value}" for key, value in {**machine(), **versions}.items() if value)
        options.markdown.write_text("\n\n".join([about, titles, markdown(speed), markdown(outcome), *scaling]) + "\n")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
