#!/usr/bin/env python3
"""Runs one flow over a path with random loss in ns-2 and in Longhaul, for each congestion control that ns-2 has too, and
compares the goodput: the response function of an algorithm, measured twice.

ns-2's `Agent/TCP/Linux` carries modules of Linux 2.6, most of them by their authors; HighSpeed TCP is ns-2's own agent. What is
known to be different there, and what we therefore set on our side, stands beside each case. The goodput of a run hangs on how many
losses it happened to meet, so what is compared is the goodput at equal event rate: goodput goes with p^-d, and the measured p of
both is known. What remains of chance widens the tolerance. Prints a table; the exit status is 1 if anything is outside it.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import bench
import ns2_answers

RATE, DELAY, QUEUE, PAYLOAD = "10 Gbit/s", "50 ms", 83_333, 1460
WARMUP_SHARE = 0.1  # of the packets measured, and at least WARMUP_PACKETS
WARMUP_PACKETS = 50_000
#: Gives what one of ns-2's scripts prints for some arguments.
Ask = Callable[[str, Mapping[str, object]], dict]


@dataclasses.dataclass(frozen=True)
class Case:
    """An algorithm in both simulators; `ours` as TOML, `exponent` the d of its response function p^-d, about."""

    name: str
    ours: str
    exponent: float
    agent: str = "Linux"
    delayed_ack: bool = False
    tolerance: float = 0.10
    remark: str = ""


CASES = [
    Case("reno", '{ kind = "reno", counting = "acks" }', 0.5),
    Case("highspeed", '{ kind = "highspeed", low_p = 1.0388e-3, first_cut = "half" }', 0.83, agent="HighSpeed",
         remark="ns-2's own agent: Low_P = 1.5 / 38^2"),
    Case("scalable", '{ kind = "scalable", a = 0.02, legacy_window = 0, never_below_reno = true }', 1.0, tolerance=0.25,
         remark="Linux's a; rate halving there goes below ssthresh at first, which costs some of the 7 round trips between losses"),
    Case("bic", '"bic"', 0.8, delayed_ack=True, tolerance=0.25,
         remark="delayed ACKs in both: with one ACK per packet the module takes two for one and grows twice as fast; whole numbers"),
    Case("htcp", '"htcp"', 0.7, tolerance=0.15),
    Case("hybla", '"hybla"', 0.5),
    Case("illinois", '{ kind = "illinois", beta_min = 0.875, beta_max = 0.875 }', 0.5, tolerance=0.25,
         remark="this module keeps beta of the window where it should give it up (a fault put right later): so set here"),
    Case("veno", '"veno"', 0.5),
    Case("compound", '"compound"', 0.8, tolerance=0.15),
    Case("yeah", '"yeah"', 1.0, tolerance=0.15),
]  # fmt: skip
# Packets to measure, by loss rate.
LOSSES = {1e-3: 2_000_000, 1e-4: 5_000_000, 1e-5: 10_000_000, 1e-6: 20_000_000}
QUICK_LOSSES = {1e-3: 500_000, 1e-4: 1_500_000}


@dataclasses.dataclass
class Measured:
    """What one simulator found: bit/s of payload, and congestion events per packet."""

    goodput: float
    events: int
    event_rate: float


@dataclasses.dataclass
class Verdict:
    """Both, side by side."""

    case: Case
    loss: float
    ns2: Measured
    ours: Measured

    @property
    def ratio(self) -> float:
        """Our goodput over ns-2's, as it would be if both had met congestion events equally often."""
        return self.ours.goodput / self.ns2.goodput * (self.ours.event_rate / self.ns2.event_rate) ** self.case.exponent

    @property
    def tolerance(self) -> float:
        """One standard error of the event count, which equal rates do not remove: intervals differ too, not only their mean."""
        return self.case.tolerance + self.case.exponent * math.sqrt(1 / self.ns2.events + 1 / self.ours.events)

    @property
    def agrees(self) -> bool:
        return abs(self.ratio - 1) <= self.tolerance


def fits(case: Case, loss: float) -> bool:
    """Windows that the path cannot hold are no response to loss: Scalable has 0.16 / p; YeAH follows it while no queue builds up."""
    return loss > 1e-6 or case.name not in ("scalable", "yeah")


def measured(goodput: float, events: float, seconds: int) -> Measured:
    packets = goodput * seconds / (8 * PAYLOAD)
    return Measured(goodput, max(int(events), 1), max(events, 1) / packets)


def arguments_of(case: Case, loss: float, packets: int) -> dict[str, object]:
    """What ns2/congestion.tcl is called with."""
    return {
        "agent": case.agent, "control": case.name, "rate": bench.quantity(RATE), "delay": bench.quantity(DELAY), "queue": QUEUE,
        "payload": PAYLOAD, "loss": loss, "delack": 0.1 if case.delayed_ack else 0,
        "warmup": max(WARMUP_PACKETS, int(WARMUP_SHARE * packets)), "packets": packets,
    }  # fmt: skip


def document(case: Case, loss: float, began: int, ended: int) -> str:
    """The same for `longhaul run`."""
    return f"""\
[run]
duration = "{ended} s"
warmup = "{began} s"
sample = "1 s"

[[link]]
name = "path"
ends = ["left", "right"]
rate = "{RATE}"
delay = "{DELAY}"
queue = {{ kind = "droptail", limit = "{QUEUE} packets" }}
forward = {{ loss = {{ kind = "random", probability = {loss} }} }}

[[flow]]
name = "flow"
from = "left"
to = "right"

[flow.tcp]
mss = "{PAYLOAD} B"
congestion = {case.ours}
slow_start = {{ kind = "standard", counting = "acks" }}
established = true
initial_window = 2
initial_ssthresh = "1000 packets"
delayed_ack = "{"100 ms" if case.delayed_ack else "off"}"
rto = {{ initial = "1 s", min = "1 s", max = "60 s" }}
"""


def run_ours(case: Case, loss: float, began: int, ended: int) -> Measured:
    """The same in this process."""
    import longhaul

    result = longhaul.run(longhaul.Scenario.from_toml(document(case, loss, began, ended)), tables=False)
    metrics = result.summary["flows"][0]["metrics"]
    return measured(metrics["goodput_bps"], metrics["congestion_events"], ended - began)


def compare(case: Case, loss: float, packets: int, ask: Ask = ns2_answers.ask) -> Verdict:
    """Runs one case in both simulators, Longhaul from when to when ns-2 measured; `ask` gives what ns-2's script prints."""
    result = ask("congestion.tcl", arguments_of(case, loss, packets))
    began, ended = int(result["began_s"]), int(result["ended_s"])
    goodput = result["acked_packets"] * PAYLOAD * 8 / (ended - began)
    ns2 = measured(goodput, result["cuts"], ended - began)
    return Verdict(case, loss, ns2, run_ours(case, loss, began, ended))


def rows(verdicts: list[Verdict]) -> list[list[str]]:
    table = [["algorithm", "loss rate", "goodput Mbit/s ns-2 / ours", "events ns-2 / ours", "ratio at equal event rate", "verdict"]]
    for v in verdicts:
        both = (v.ns2, v.ours)
        table.append([
            v.case.name, f"{v.loss:g}", " / ".join(f"{m.goodput / 1e6:.2f}" for m in both),
            " / ".join(str(m.events) for m in both), f"{v.ratio:.2f}",
            "agrees" if v.agrees else f"off by {100 * abs(v.ratio - 1):.0f} %, allowed are {100 * v.tolerance:.0f} %",
        ])  # fmt: skip
    return table


def run_all(cases: list[Case], losses: dict[float, int], told: Callable[[Verdict], None]) -> list[Verdict]:
    verdicts = []
    for case in cases:
        for loss, packets in losses.items():
            if fits(case, loss):
                verdicts.append(compare(case, loss, packets))
                told(verdicts[-1])
    return verdicts


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares the response functions of congestion controls in ns-2 and in Longhaul.")
    parser.add_argument("--quick", action="store_true", help="shorter runs, high loss rates only")
    parser.add_argument("--only", metavar="NAME", nargs="*", help="these algorithms only")
    parser.add_argument("--markdown", metavar="FILE", type=Path, help="write the table")
    options = parser.parse_args()
    if not shutil.which("ns"):
        raise bench.BenchError("ns-2 is not installed: run scripts/install-packages (Debian's package `ns2`)")
    cases = [case for case in CASES if not options.only or case.name in options.only]
    losses = QUICK_LOSSES if options.quick else LOSSES
    verdicts = run_all(cases, losses, lambda v: print(" ".join(rows([v])[1]), file=sys.stderr, flush=True))
    print(bench.plain(rows(verdicts)))
    if options.markdown:
        options.markdown.write_text(bench.markdown(rows(verdicts)) + "\n")
    return 0 if all(v.agrees for v in verdicts) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except bench.BenchError as error:
        print(f"validate_congestion: {error}", file=sys.stderr)
        sys.exit(2)
