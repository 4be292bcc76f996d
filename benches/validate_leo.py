#!/usr/bin/env python3
"""Round trips over Starlink's first shell, from its geometry, beside those that a dish has logged.

A dish logs the mean of its pings over the last 15 s, once a second (gRPC `pop_ping_latency_ms`), so that within a slot of 15 s the
values go in a straight line to the slot's own. The script finds the slots, fits what scheduling adds in each of them to what the
geometry leaves, runs the model for a day, and compares the distributions: over the whole log, and with a fit of its first half against its
second one. It prints the table of docs/satellites.md and the settings of the link, and draws both with --figure.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import longhaul
import numpy as np
import polars as pl
from longhaul.fitting import bend_levels, distance
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SLOT_S = 15
#: Parts of what scheduling adds that are equally frequent.
PARTS = 10
SCENARIO = """\
[run]
duration = "{seconds} s"
sample = "60 s"

[dumbbell]
bottleneck = {{ rate = "1 Gbit/s", leo = {leo} }}
access = {{ rate = "100 Gbit/s", delay = "0 s" }}

[[flow]]
trace = true
app = {{ kind = "request", request = "40 B", response = "40 B", think = "{think} ms" }}
tcp = {{ delayed_ack = "off" }}
"""


def read(file: Path, column: str) -> tuple[Floats, Floats]:
    """Times in s and latencies in ms of a dish's log."""
    table = pl.read_parquet(file) if ".parquet" in file.name else pl.read_csv(file)
    missing = {"@timestamp", column} - set(table.columns)
    if missing:
        sys.exit(f"{file}: no column {', '.join(sorted(missing))}; there are {', '.join(table.columns)}")
    times = table["@timestamp"].str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z").dt.epoch("ms").to_numpy() / 1000
    return times, table[column].to_numpy().astype(float)


def model(leo: dict[str, Any], seconds: float, think_ms: float) -> tuple[Floats, Floats]:
    """Times in s and round trips in ms of a run."""
    text = SCENARIO.format(seconds=seconds, leo=inline(leo), think=think_ms)
    with tempfile.TemporaryDirectory() as folder:
        longhaul.run(longhaul.Scenario.from_toml(text), out=Path(folder) / "run", large=True)
        times, trips = round_trips(Path(folder) / "run")
    return times, 1e3 * trips


def round_trips(folder: Path) -> tuple[Floats, Floats]:
    """Times of answers and round trips, in s, of requests whose packets were traced."""
    segments = pl.read_parquet(folder / "segments.parquet")
    times, kinds = segments["time_s"].to_numpy(), segments["kind"].to_numpy()
    starts, ends = segments["start"].to_numpy(), segments["end"].to_numpy()
    sent = dict(zip(ends[kinds == 0].tolist(), times[kinds == 0].tolist(), strict=True))
    # The next request acknowledges the answer once more.
    acked = zip(starts[kinds == 2].tolist(), times[kinds == 2].tolist(), strict=True)
    answered = [(sent.pop(start), time) for start, time in acked if start in sent]
    pairs = np.array(answered)
    return pairs[:, 1], pairs[:, 1] - pairs[:, 0]


def inline(value: Any) -> str:
    """A value as TOML, tables in a line."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)


def fit(latency: Floats, geometry: Floats) -> dict[str, Any]:
    """What scheduling adds, one way: what latencies of slots have beyond the geometry, with the geometry's part of the variance taken out."""
    narrower = np.sqrt(max(0.0, 1 - geometry.var() / latency.var()))
    added = latency.mean() - geometry.mean() + narrower * (latency - latency.mean())
    values = np.maximum(np.quantile(added, np.linspace(0, 1, PARTS + 1)), 0.0) / 2
    apart = latency - latency.mean()
    alike = float((apart[:-1] * apart[1:]).mean() / latency.var()) / narrower**2
    return {
        "scheduling": {"kind": "table", "values": [f"{value:.2f} ms" for value in values]},
        "scheduling_correlation": round(min(max(alike, 0.0), 0.99), 2),
    }


def as_logged(times: Floats, trips: Floats) -> Floats:
    """What a dish logs of round trips: each second the mean of the last 15 s."""
    seconds = np.arange(np.ceil(times[0]) + SLOT_S, np.floor(times[-1]))
    sums = np.concatenate([[0.0], np.cumsum(trips)])
    first, last = np.searchsorted(times, seconds - SLOT_S), np.searchsorted(times, seconds)
    return np.asarray((sums[last] - sums[first]) / (last - first))


def draw(file: Path, logged: Floats, modelled: Floats) -> None:
    """The two distributions, and ten minutes of each."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for values, label in ((logged, "dish"), (modelled, "model")):
        left.plot(np.sort(values), np.linspace(0, 1, len(values)), label=label)
        right.plot(np.arange(600) / 60, values[:600], label=label)
    left.set(xlabel="round trip, mean of 15 s (ms)", ylabel="share below")
    right.set(xlabel="time (min)", ylabel="round trip, mean of 15 s (ms)")
    for axes in (left, right):
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path, help="a dish's log: Parquet or CSV, a row each second")
    parser.add_argument("--column", default="dish_status.pop_ping_latency_ms", help="of the latency in ms")
    parser.add_argument("--terminal", nargs=2, type=float, default=(54.324, 10.162), metavar=("LATITUDE", "LONGITUDE"))
    parser.add_argument("--gateway", nargs=2, type=float, default=(52.05, 9.27), metavar=("LATITUDE", "LONGITUDE"))
    parser.add_argument("--hours", type=float, default=24.0, help="of the model; 24 if not given")
    parser.add_argument("--figure", type=Path, help="where to draw both")
    options = parser.parse_args()
    times, logged = read(options.log, options.column)
    phase, of_slots = bend_levels(logged, SLOT_S, times)
    places = {
        name: {"latitude": latitude, "longitude": longitude}
        for name, (latitude, longitude) in (("terminal", options.terminal), ("gateway", options.gateway))
    }
    # A dish's value follows a second after the slot that it ends.
    sky: dict[str, Any] = {**places, "choice": "random", "phase": f"{(phase - 1) % SLOT_S} s"}
    seconds = 3600 * options.hours
    # Once in each slot, without what scheduling adds.
    geometry = model(sky, seconds, 1e3 * SLOT_S)[1]
    halves = np.split(of_slots, [len(of_slots) // 2])
    fitted = {name: fit(values, geometry) for name, values in (("all", of_slots), ("first", halves[0]))}
    modelled = {name: as_logged(*model({**sky, **added}, seconds, 950)) for name, added in fitted.items()}
    first, second = np.split(logged, [len(logged) // 2])
    quantiles = [0, 0.05, 0.5, 0.95, 1]
    print("| ms | least | 5 % | median | 95 % | most |\n|---|---|---|---|---|---|")
    for name, values in (("dish", logged), ("model", modelled["all"]), ("geometry alone", geometry)):
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in np.quantile(values, quantiles)) + " |")
    print("\n| distributions | distance (Kolmogorov, Smirnov) |\n|---|---|")
    print(f"| model, and the log that it is fitted to | {distance(modelled['all'], logged):.3f} |")
    print(f"| model of the first half, and the second half | {distance(modelled['first'], second):.3f} |")
    print(f"| the two halves of the log | {distance(first, second):.3f} |")
    print(f"\nleo = {inline({**sky, **fitted['all']})}")
    if options.figure:
        draw(options.figure, logged, modelled["all"])


if __name__ == "__main__":
    main()
