#!/usr/bin/env python3
"""Vegas under random loss, in ns-2 and here: goodput of one flow without delayed ACKs, for each of our recoveries.

The table of docs/validation.md. Exits with 1 if the last row is further from ns-2 than ALLOWED.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import bench
import longhaul

HERE = Path(__file__).resolve().parent
LOSSES = (0.01, 0.02)
#: Our settings in the rows of the table: those of ns-2's agent, then with more of what it does.
VEGAS = '{{ kind = "vegas", rtt = "mean", exit = "eighth"{} }}'
KEEPS_MORE = ", left_on_loss = 0.8"
ROWS = {
    '`variant = "newreno"`': ("newreno", ""),
    '`variant = "sack"`': ("sack", ""),
    '`variant = "rack"`': ("rack", ""),
    "`newreno`, `left_on_loss = 0.8`": ("newreno", KEEPS_MORE),
    "`rack`, `left_on_loss = 0.8`": ("rack", KEEPS_MORE),
}
#: Of the last row, relative.
ALLOWED = 0.05
SCENARIO = """\
[run]
duration = "220 s"
warmup = "20 s"
seed = {seed}
sample = "10 s"

[[link]]
name = "path"
ends = ["source", "target"]
rate = "10 Mbit/s"
delay = "50 ms"
queue = "501 packets"
forward = {{ loss = {{ kind = "random", probability = {loss} }} }}

[[flow]]
from = "source"
to = "target"
start = "1 ms"

[flow.tcp]
variant = "{variant}"
congestion = {congestion}
established = true
mss = "1000 B"
initial_window = 2
delayed_ack = "off"
receive_buffer = "1000 packets"
rto = {{ initial = "1 s", min = "1 s", max = "60 s" }}
"""


def by_ns2(loss: float, seed: int) -> float:
    """Goodput of ns-2's Vegas in kbit/s."""
    command = ["ns", str(HERE / "ns2" / "vegas.tcl"), "Vegas", str(loss), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["goodput_kbps"])


def by_us(variant: str, more: str, loss: float, seed: int) -> float:
    """Goodput of ours in kbit/s."""
    text = SCENARIO.format(seed=seed, loss=loss, variant=variant, congestion=VEGAS.format(more))
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        summary = longhaul.run(file.name, tables=False).summary
    return float(summary["flows"][0]["metrics"]["goodput_bps"]) / 1e3


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(1, parser.parse_args().seeds + 1)
    if shutil.which("ns") is None:
        sys.exit("error: ns-2 is not installed (scripts/install-packages)")
    theirs = {loss: statistics.mean(by_ns2(loss, seed) for seed in seeds) for loss in LOSSES}
    rows = [["", *(f"loss {loss:.0%}" for loss in LOSSES)], ["ns-2's Vegas", *(f"{theirs[loss]:.0f}" for loss in LOSSES)]]
    errors: list[float] = []
    for name, (variant, more) in ROWS.items():
        ours = {loss: statistics.mean(by_us(variant, more, loss, seed) for seed in seeds) for loss in LOSSES}
        errors = [ours[loss] / theirs[loss] - 1 for loss in LOSSES]
        rows.append([name, *(f"{ours[loss]:.0f} ({error:+.0%})" for loss, error in zip(LOSSES, errors, strict=True))])
    print(bench.markdown(rows))
    return int(any(abs(error) > ALLOWED for error in errors))


if __name__ == "__main__":
    sys.exit(main())
