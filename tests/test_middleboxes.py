"""Middleboxes in Python: building them, their numbers in tables, time series and reports."""

from __future__ import annotations

import longhaul
import pytest
from longhaul import Scenario


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """Two transfers over a split connection, and a proxy that breaks down in the middle."""
    return (
        Scenario("split", duration="20 s", sample="1 s")
        .link("satellite", "hub", "terminal", rate="10 Mbit/s", delay="250 ms", queue="300 packets")
        .flow("hub", "terminal", count=2, access={"rate": "100 Mbit/s", "delay": "5 ms"})
        .middlebox("hub", "split", name="pep", peer="terminal", long={"congestion": "cubic"}, fail_at="15 s")
    )


def test_a_middlebox_has_a_table_and_time_series(scenario, tmp_path):
    result = longhaul.run(scenario, out=tmp_path / "run")
    (row,) = result.table("middleboxes").to_dicts()
    assert (row["name"], row["kind"]) == ("pep", "split")
    # What the proxy held when it broke down is lost: one way's bandwidth-delay product at least.
    assert 312_500 < row["lost_acknowledged_bytes"] <= row["undelivered_max_bytes"]
    levels = result.middleboxes
    assert levels.filter(levels["time_s"] == 14)["undelivered_bytes"].item() > 312_500
    assert levels.filter(levels["time_s"] == 16)["undelivered_bytes"].item() == 0
    hops = result.long_hops
    assert set(hops["port"]) == {0}
    assert hops["throughput_bps"].max() > 5e6


def test_reports_and_tables_show_middleboxes(scenario, tmp_path, command):
    path = tmp_path / "split.toml"
    path.write_text(scenario.to_toml())
    outcome = command("run", path, "--out", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    for part in ("Middleboxes", "pep (split at"):
        assert part in outcome.out
    outcome = command("report", tmp_path / "run")
    assert outcome.code == 0, outcome.err
    assert "Acknowledged and lost" in (tmp_path / "run" / "report.html").read_text()


def test_the_example_runs(command, tmp_path):
    short = ("--set", 'run.duration="5 s"')
    outcome = command("run", "examples/satellite-pep.toml", *short, "--out", tmp_path / "run", "-q")
    assert outcome.code == 0, outcome.err
