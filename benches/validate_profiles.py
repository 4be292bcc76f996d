#!/usr/bin/env python3
"""The profile `starlink`, and links that follow a trace, beside the measurements that they are from.

    python benches/validate_profiles.py --bandwidth bw_example.txt --delays delay_example.txt --dish LOG.parquet [--figure FILE]

`bw_example.txt` and `delay_example.txt` are LeoCC's (SpaceNetLab/LeoCC, leoreplayer/replayer/example/Cubic, MIT), the dish's log is
FjordLink's of 20 March 2025 (ds-kiel/FjordLink, CC BY 4.0). Prints the table of docs/profiles.md, and of `trace` how far the packets of
each 100 ms are from the file where a queue is always there, and round trips from the delays of the file.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import longhaul
import numpy as np
import polars as pl
from longhaul import core, document, fitting
from numpy.typing import NDArray
from validate_leo import round_trips

Floats = NDArray[np.float64]
#: A dish logs the mean of the last so many seconds, and its slots begin so late in them.
SLOT_S = 15
BIN_S = 0.1
PACKET_BITS = 8 * 1500
#: Hours of the model.
HOURS = 6

PROFILE = """\
[run]
duration = "{seconds} s"

[[link]]
name = "dish"
ends = ["internet", "terminal"]
profile = "starlink"
{more}

[[flow]]
from = "internet"
to = "terminal"
"""

#: A download that keeps the queue full: no slow start's overshoot is lost, and nothing but the trace limits it.
FULL = """\
[run]
duration = "119 s"
sample = "100 ms"

[[link]]
name = "traced"
ends = ["a", "b"]
queue = "100 MB"
delay = "1 ms"
forward.trace.rate = "{file}"
reverse.rate = "1 Gbit/s"

[[flow]]
from = "a"
to = "b"
tcp = {{ mss = "1460 B", receive_buffer = "1 GB", initial_window = 10000 }}
"""


#: Requests of 40 bytes, each after the answer to the one before.
DELAYS = """\
[run]
duration = "100 s"

[[link]]
name = "traced"
ends = ["a", "b"]
rate = "1 Gbit/s"
trace.delay = {{ file = "{file}", every = "10 ms", unit = "ms" }}

[[flow]]
from = "a"
to = "b"
trace = true
app = {{ kind = "request", request = "40 B", response = "40 B", think = "5 ms" }}
tcp = {{ delayed_ack = "off" }}
"""


def course(link: int, times: Floats, more: str = "") -> tuple[Floats, Floats]:
    """Rate in Mbit/s and delay in ms of a direction of a link with the profile."""
    text = PROFILE.format(seconds=float(times[-1]) + 1.0, more=more)
    found = np.array(core.course(document.parse(text, "profile"), link, times.tolist()))
    return found[:, 0] / 1e6, 1e3 * found[:, 1]


def quantiles(values: Floats) -> list[str]:
    """Least, 5 %, median, 95 %, most."""
    return [f"{one:.1f}" for one in np.quantile(values, [0, 0.05, 0.5, 0.95, 1])]


def rows(name: str, measured: Floats, modelled: Floats) -> None:
    """Lines of the table."""
    for label, values in ((f"{name}, measured", measured), (f"{name}, profile", modelled)):
        last = f"{fitting.distance(measured, modelled):.3f}" if values is modelled else ""
        print(f"| {' | '.join([label, *quantiles(values), last])} |")


def bandwidth(file: Path) -> Floats:
    """Mbit/s in each 100 ms but for the first and the last."""
    at = np.loadtxt(file)
    bins = np.bincount((at / 1e3 / BIN_S).astype(int))[1:-1]
    return np.asarray(bins * PACKET_BITS / BIN_S / 1e6)


def memory(values: Floats) -> str:
    """Autocorrelation of ranks after 0.1, 1, 5 and 15 s."""
    scores = fitting.normal_scores(values)
    return ", ".join(f"{fitting.autocorrelation(scores, lag):.2f}" for lag in (1, 10, 50, 150))


def of_dish(log: Path) -> tuple[Floats, Floats]:
    """Round trips that a dish logs, and those that it would log over the profile: each the mean of 15 s."""
    logged = pl.read_parquet(log)["dish_status.pop_ping_latency_ms"].to_numpy().astype(float)
    times = np.arange(0, 3600 * HOURS, 0.5)
    there, back = course(0, times)[1], course(1, times)[1]
    # Jitter of 0 to 5 ms each way: its mean.
    trips = np.convolve(there + back + 5.0, np.full(2 * SLOT_S, 0.5 / SLOT_S), "valid")
    return logged, trips[::2]


def packets_of_trace(file: Path) -> None:
    """Of a queue that is never empty: bits in each 100 ms beside those of the file."""
    with tempfile.TemporaryDirectory() as folder:
        longhaul.run(longhaul.Scenario.from_toml(FULL.format(file=file.resolve())), out=Path(folder) / "run")
        links = pl.read_parquet(Path(folder) / "run" / "links.parquet").filter(pl.col("link") == 0)
    at = np.loadtxt(file) / 1e3
    times, sent = links["time_s"].to_numpy(), links["throughput_bps"].to_numpy() * BIN_S
    # What leaves at the end of a bin is of that bin.
    wanted = np.histogram(at, np.concatenate([[times[0] - BIN_S], times]) + 1e-6)[0] * PACKET_BITS
    full = (links["queue_packets"].to_numpy() > 100) & (wanted > 0)
    apart = np.abs(sent - wanted)[full]
    share = apart / wanted[full]
    print(
        f"trace.rate: {full.sum()} bins of 100 ms with a queue at their end; within 0.5 % {np.mean(share <= 0.005):.1%}, within a packet"
        f" {np.mean(apart <= PACKET_BITS * 1.001):.1%}, mean error {share.mean():.2%}, most {share.max():.2%}; the whole"
        f" {sent[full].sum() / wanted[full].sum() - 1:+.4%}"
    )


def delays_of_trace(file: Path) -> None:
    """Round trips over a link whose delay follows the file both ways, beside the file."""
    wanted = np.loadtxt(file) / 1e3
    scenario = longhaul.Scenario.from_toml(DELAYS.format(file=file.resolve()))
    with tempfile.TemporaryDirectory() as folder:
        longhaul.run(scenario, out=Path(folder) / "run", large=True)
        times, trips = round_trips(Path(folder) / "run")
    sent = times - trips
    there = wanted[(sent / 0.01).astype(int) % len(wanted)]
    turned = sent + there
    back = wanted[(turned / 0.01).astype(int) % len(wanted)]
    apart = 1e3 * np.abs(trips - there - back)
    print(
        f"trace.delay: {len(trips)} round trips, within 1 ms of the file {np.mean(apart <= 1.0):.2%}, median error"
        f" {np.median(apart):.3f} ms, most {apart.max():.2f} ms"
    )


def draw(file: Path, trips: tuple[Floats, Floats], rates: tuple[Floats, Floats]) -> None:
    """Both distributions, and two minutes of the rate."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.0), layout="constrained")
    axes = figure.subplots(1, 3)
    for axis, (measured, modelled) in zip(axes, (trips, rates), strict=False):
        for values, label in ((measured, "measured"), (modelled, "profile")):
            axis.plot(np.sort(values), np.linspace(0, 1, len(values)), label=label)
        axis.set(ylabel="share below")
    axes[0].set(xlabel="round trip, mean of 15 s (ms)")
    axes[1].set(xlabel="rate in 100 ms (Mbit/s)")
    for values, label in zip(rates, ("measured", "profile"), strict=True):
        axes[2].plot(np.arange(1198) * BIN_S, values[:1198], label=label, linewidth=0.8)
    axes[2].set(xlabel="time (s)", ylabel="rate in 100 ms (Mbit/s)")
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bandwidth", type=Path, required=True, help="LeoCC's bw_example.txt")
    parser.add_argument("--delays", type=Path, required=True, help="LeoCC's delay_example.txt")
    parser.add_argument("--dish", type=Path, required=True, help="a dish's log, Parquet, a row each second")
    parser.add_argument("--figure", type=Path, help="where to draw both")
    options = parser.parse_args()
    measured = bandwidth(options.bandwidth)
    mean = float(measured.mean())
    times = (np.arange(int(3600 * HOURS / BIN_S)) + 0.5) * BIN_S
    rates = course(0, times, f'forward.rate = "{1e6 * mean:.0f} bit/s"')[0]
    print("| | least | 5 % | median | 95 % | most | distance |\n|---|---|---|---|---|---|---|")
    logged, trips = of_dish(options.dish)
    rows("round trip, mean of 15 s (ms)", logged, trips)
    rows("rate in 100 ms, of this mean (Mbit/s)", measured, rates)
    print(f"autocorrelation after 0.1, 1, 5, 15 s: {memory(measured)}; profile {memory(rates[:100_000])}")
    if options.figure:
        draw(options.figure, (logged, trips), (measured, rates))
    packets_of_trace(options.bandwidth)
    delays_of_trace(options.delays)


if __name__ == "__main__":
    main()
