#!/usr/bin/env python3
"""Runs the same scenarios in ns-2 and in Longhaul and compares what the network did: utilisation, drops, fairness.

Both sides are set up from scenarios.toml; here stands what differs from the benchmark, and how close the two must be. Phase
effects are broken by a random sending overhead where a DropTail queue decides: without it the outcome depends on the order of
events that happen at the same nanosecond (docs/validation.md). Cases with "ties" have no such overhead, and ns-2's order. Prints a table; the exit status is 1
if anything is outside its tolerance.
"""

from __future__ import annotations

import argparse
import dataclasses
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import bench

# Utilisation: absolute, in points of per cent. Goodput: relative, where random losses limit it and utilisation says little.
# Drops: ratio either way, where there are enough of them to tell.
UTILISATION_POINTS = 2.0
GOODPUT_SHARE = 0.10
DROP_FACTOR = 1.5
ENOUGH_DROPS = 200


@dataclasses.dataclass(frozen=True)
class Case:
    """A scenario of the benchmark with other settings; `quick` has other durations for a short look."""

    name: str
    scenario: str
    about: str
    settings: dict[str, object]
    quick: dict[str, object]


#: One flow's window fits into queue and path only in part: what recovery leaves of ssthresh and cwnd decides minutes.
OVERSHOOT = {"access_rate": "1 Gbit/s", "variant": "sack1", "ties": "scheduled", "duration": "400 s", "warmup": "50 s"}

CASES = [
    Case("a", "a", "50 SACK flows, 100 Mbit/s, 250 ms, DropTail 1000",
         {"send_overhead": "1 ms", "duration": "600 s", "warmup": "300 s"}, {"duration": "200 s", "warmup": "100 s"}),
    Case("a, delayed ACKs", "a", "the same, every second segment acknowledged",
         {"send_overhead": "1 ms", "delayed_ack": "100 ms", "duration": "600 s", "warmup": "300 s"},
         {"duration": "200 s", "warmup": "100 s"}),
    Case("b1", "b1", "1 flow", {"duration": "2000 s", "warmup": "1000 s"}, {"duration": "600 s", "warmup": "300 s"}),
    Case("b500", "b500", "500 flows",
         {"send_overhead": "1 ms", "duration": "400 s", "warmup": "200 s"}, {"duration": "120 s", "warmup": "60 s"}),
    Case("a, ties", "a", "a without the delay before transmissions: simultaneous events as they were scheduled",
         {"ties": "scheduled", "duration": "600 s", "warmup": "200 s"}, {"duration": "300 s", "warmup": "100 s"}),
    Case("b500, ties", "b500", "b500 without it", {"ties": "scheduled", "duration": "400 s", "warmup": "200 s"},
         {"duration": "120 s", "warmup": "60 s"}),
    Case("1 flow, sack1", "b1", "1 flow behind 1 Gbit/s, half a window lost in slow start; ns-2's loss recovery",
         OVERSHOOT, {"duration": "200 s", "warmup": "50 s"}),
    Case("2 flows, sack1", "b1", "2 flows, the same", {**OVERSHOOT, "flows": 2}, {"duration": "200 s", "warmup": "50 s"}),
    Case("3 flows, sack1", "b1", "3 flows, the same", {**OVERSHOOT, "flows": 3}, {"duration": "200 s", "warmup": "50 s"}),
    Case("lossy", "lossy", "10 flows, 50 Mbit/s, 1 % random loss", {"duration": "3000 s"}, {"duration": "1500 s"}),
    Case("lossy01", "lossy01", "10 flows, 50 Mbit/s, 0.1 % random loss",
         {"duration": "3000 s", "warmup": "200 s"}, {"duration": "1000 s", "warmup": "200 s"}),
    Case("red", "a", "10 SACK flows, 50 Mbit/s, 50 ms, adaptive RED that drops",
         {"flows": 10, "rate": "50 Mbit/s", "delay": "50 ms", "queue": 100, "discipline": "red_drop", "duration": "220 s",
          "warmup": "20 s"}, {"duration": "60 s", "warmup": "20 s"}),
    Case("e20", "e20", "1 flow, RTT 20 ms, a queue of one bandwidth-delay product", {}, {"duration": "60 s", "warmup": "20 s"}),
]  # fmt: skip


@dataclasses.dataclass
class Verdict:
    """What both simulators found, and what is not close enough."""

    case: Case
    scenario: bench.Scenario
    ns2: dict
    ours: dict
    misses: list[str]


def drops_per_cent(result: dict, scenario: bench.Scenario) -> float:
    return 100 * (result["loss_rate"] if scenario.loss else result["drop_rate"])


def mean_goodput(result: dict) -> float:
    return sum(result["goodput_bps"]) / len(result["goodput_bps"])


def judge(case: Case, scenario: bench.Scenario, ns2: dict, ours: dict) -> Verdict:
    misses = []
    points = 100 * abs(ours["utilisation"] - ns2["utilisation"])
    if points > UTILISATION_POINTS:
        misses.append(f"utilisation is {points:.1f} points apart")
    share = abs(mean_goodput(ours) / mean_goodput(ns2) - 1)
    if scenario.loss and share > GOODPUT_SHARE:
        misses.append(f"goodput is {100 * share:.0f} % apart")
    seconds = bench.quantity(scenario.duration) - bench.quantity(scenario.warmup)
    packets = ns2["utilisation"] * bench.quantity(scenario.rate) * seconds / (8 * (scenario.payload + 40))
    drops = [drops_per_cent(result, scenario) for result in (ns2, ours)]
    if min(drops) / 100 * packets >= ENOUGH_DROPS and max(drops) > DROP_FACTOR * min(drops):
        misses.append(f"drops differ by a factor of {max(drops) / min(drops):.2f}")
    return Verdict(case, scenario, ns2, ours, misses)


def run_ns2(scenario: bench.Scenario, directory: Path) -> dict:
    return bench.run_ns2(scenario, directory).result


def compare(
    case: Case,
    quick: bool,
    run_ours: Callable[[bench.Scenario, Path], dict],
    run_theirs: Callable[[bench.Scenario, Path], dict] = run_ns2,
) -> Verdict:
    """Runs one case in both simulators; `run_ours` gives what bench.RESULT_FIELDS names, `run_theirs` what ns-2 finds."""
    base = bench.load_scenarios(quick=False)[case.scenario]
    scenario = dataclasses.replace(base, **{**case.settings, **(case.quick if quick else {})})
    with tempfile.TemporaryDirectory(prefix="longhaul-validate-") as scratch:
        directory = Path(scratch)
        return judge(case, scenario, run_theirs(scenario, directory), run_ours(scenario, directory))


def rows(verdicts: list[Verdict]) -> list[list[str]]:
    table = [["case", "what", "measured", "utilisation % ns-2 / ours", "drops % ns-2 / ours", "goodput per flow kbit/s ns-2 / ours",
              "Jain's index ns-2 / ours", "timeouts ns-2 / ours", "verdict"]]  # fmt: skip
    for v in verdicts:
        both = (v.ns2, v.ours)
        table.append([
            v.case.name, v.case.about, f"{v.scenario.warmup} to {v.scenario.duration}",
            " / ".join(f"{100 * r['utilisation']:.2f}" for r in both),
            " / ".join(f"{drops_per_cent(r, v.scenario):.4f}" for r in both),
            " / ".join(f"{mean_goodput(r) / 1e3:.1f}" for r in both),
            " / ".join(f"{bench.jain(r['goodput_bps']):.3f}" for r in both),
            " / ".join(f"{r['measured_timeouts']:.0f}" for r in both),
            "; ".join(v.misses) or "agrees",
        ])  # fmt: skip
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares what ns-2 and Longhaul say of the same networks.")
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--ours", metavar="PROGRAM", default=str(bench.OURS), help="the simulator (default: %(default)s)")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the table")
    options = parser.parse_args()
    if not shutil.which("ns"):
        raise bench.BenchError("ns-2 is not installed: run scripts/install-packages (Debian's package `ns2`)")
    if not shutil.which(options.ours):
        raise bench.BenchError(f"no program {options.ours}: build it with `make bench-program`")
    verdicts = []
    for case in CASES:
        print(f"{case.name} ...", file=sys.stderr, flush=True)
        verdicts.append(compare(case, options.quick, lambda s, d: bench.run_ours(s, d, options.ours).result))
    print(bench.plain(rows(verdicts)))
    if options.markdown:
        options.markdown.write_text(bench.markdown(rows(verdicts)) + "\n")
    return 1 if any(v.misses for v in verdicts) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except bench.BenchError as error:
        print(f"validate: {error}", file=sys.stderr)
        sys.exit(2)
