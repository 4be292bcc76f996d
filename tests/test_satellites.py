"""Links over moving satellites: what a run shows of them, and what is named as a cause."""

from __future__ import annotations

from pathlib import Path

import longhaul
import numpy as np
import polars as pl
from longhaul import document, drawing
from longhaul.scenario import as_document
from longhaul.why import why

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

LEO = {
    "terminal": {"latitude": 54.3, "longitude": 10.2},
    "gateway": {"latitude": 51.1, "longitude": 8.4},
    "choice": "random",
    "phase": "12 s",
}


def over_satellites(**leo):
    """A few packets a second over satellites in low orbit."""
    link = {"name": "sky", "ends": ["gateway", "dish"], "rate": "50 Mbit/s", "leo": {**LEO, **leo}}
    app = {"kind": "request", "request": "40 B", "response": "40 B", "think": "100 ms"}
    flow = {"name": "ping", "from": "gateway", "to": "dish", "app": app, "tcp": {"delayed_ack": "off"}}
    return {"run": {"duration": "60 s", "sample": "100 ms"}, "link": [link], "flow": [flow]}


def round_trips(content, folder):
    """Smoothed round trips in ms, at times in s."""
    longhaul.run(longhaul.Scenario.from_dict(content), out=folder)
    frame = pl.read_parquet(folder / "flows.parquet").filter(pl.col("srtt_s") > 0)
    return frame["time_s"].to_numpy(), 1e3 * frame["srtt_s"].to_numpy()


def test_the_round_trip_goes_up_and_down_and_settles_within_each_slot(tmp_path):
    times, trips = round_trips(over_satellites(), tmp_path / "run")
    # Twice the way up and down: 7.3 ms at the zenith, 15 ms at an elevation of 25 degrees, and a packet's time.
    assert 7.3 < trips.min() < trips.max() < 15.5
    # Each slot has a value of its own at its end.
    ends = [trips[np.searchsorted(times, end - 0.5)] for end in (12, 27, 42, 57)]
    assert np.ptp(ends) > 1.0


def test_the_sky_is_the_same_for_every_seed_and_another_at_another_time(tmp_path):
    content = over_satellites()
    first = round_trips(content, tmp_path / "first")[1]
    content["run"]["seed"] = 2
    assert np.array_equal(first, round_trips(content, tmp_path / "seed")[1])
    assert not np.array_equal(first, round_trips(over_satellites(begin="1 h"), tmp_path / "begin")[1])


def test_handovers_lose_packets_or_hold_them():
    def drops(mode):
        content = over_satellites(handover="300 ms", handover_mode=mode)
        summary = longhaul.run(longhaul.Scenario.from_dict(content)).summary
        return sum(link["metrics"]["drops_loss"] for link in summary["links"])

    assert drops("drop") > 0 == drops("hold")


def test_handovers_and_the_movement_are_causes():
    content = over_satellites(handover="900 ms", slot="4 s")
    content["flow"][0] = {
        "name": "download", "from": "gateway", "to": "dish",
        "tcp": {"variant": "newreno", "congestion": "reno"},
    }  # fmt: skip
    text = why(as_document(longhaul.Scenario.from_dict(content)), seconds=60.0).text
    assert (
        "Limited by handovers between the satellites of sky (gateway → dish), 900 ms each, in which packets are lost"
        in text
    )


def test_a_drawing_names_the_satellites():
    drawn = drawing.of_document(document.read(EXAMPLES / "leo-geometry.toml"))
    assert "moving satellites" in drawn.network.links["bottleneck"].ways[0].events
