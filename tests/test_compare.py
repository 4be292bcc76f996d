"""Two results side by side: `longhaul compare`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Outcome
from longhaul.compare import compare, labels
from longhaul.errors import ResultError
from longhaul.results import load_run
from synthetic import write_result


def _change(directory: Path, change: dict[str, object]) -> None:
    file = directory / "summary.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A result, and another one of the same flows that says it was emulated."""
    for number, name in enumerate(["one", "two"]):
        write_result(tmp_path / name, flows=2, duration=20.0, seed=number)
    _change(
        tmp_path / "two",
        {"emulation": {"kernel": "6.1.0-x", "real_time": True, "invalid": ["it was late"], "metrics": {}}},
    )
    return tmp_path / "one", tmp_path / "two"


def test_every_metric_of_both_is_a_row(pair: tuple[Path, Path]) -> None:
    first, second = (load_run(path) for path in pair)
    rows = {(row.object, row.metric): row for row in compare(first, second)}
    flow = first.summary["flows"][0]
    row = rows[flow["name"], "goodput_bps"]
    assert row.first == flow["metrics"]["goodput_bps"]
    assert row.second == second.summary["flows"][0]["metrics"]["goodput_bps"]
    assert (flow["name"], "completion_time_s") not in rows  # neither has one
    assert (first.summary["links"][0]["name"], "utilisation") in rows
    assert labels(first, second) == ("simulated", "Linux 6.1.0")
    assert labels(first, first) == ("simulated (1)", "simulated (2)")


def test_results_of_other_flows_are_refused(tmp_path: Path) -> None:
    for name, flows in (("one", 2), ("two", 3)):
        write_result(tmp_path / name, flows=flows, duration=20.0)
    with pytest.raises(ResultError, match="not results of one scenario"):
        compare(load_run(tmp_path / "one"), load_run(tmp_path / "two"))


def test_the_command_prints_a_table_and_draws_a_figure(
    pair: tuple[Path, Path], command: Callable[..., Outcome], tmp_path: Path
) -> None:
    done = command("compare", *pair, "--figure", tmp_path / "both.png")
    assert done.code == 0, done.err
    for part in ("Goodput", "Linux 6.1.0", "INVALID: it was late"):
        assert part in done.out
    assert (tmp_path / "both.png").stat().st_size > 10_000
    listed = json.loads(command("compare", *pair, "--json").out)
    assert listed["invalid"] == [[], ["it was late"]]
    assert {"object", "metric", "first", "second", "difference"} == set(listed["rows"][0])


def test_numbers_beside_one_another_have_one_unit(pair: tuple[Path, Path], command: Callable[..., Outcome]) -> None:
    """A hundredth of a packet beside nothing was printed with four digits, and rates in different units."""
    for path, queue, rate in zip(pair, (0.01049, 0.0), (41.3e6, 0.5e6), strict=True):
        summary = json.loads((path / "summary.json").read_text())
        summary["links"][0]["metrics"]["queue_mean_packets"] = queue
        summary["flows"][0]["metrics"]["goodput_bps"] = rate
        (path / "summary.json").write_text(json.dumps(summary))
    out = command("compare", *pair).out
    assert re.search(r"Mean queue +0\.01 packets +0 packets", out), out
    assert re.search(r"Goodput +41\.3 Mbit/s +0\.5 Mbit/s", out), out


def test_results_of_the_simulator_go_by_their_directories_and_differing_settings(
    command: Callable[..., Outcome], scenario: Path, tmp_path: Path
) -> None:
    assert command("run", scenario, "--out", tmp_path / "before", "-q").code == 0
    setting = ("--set", "flow.users.tcp.congestion=reno", "--set", "flow.users.tcp.receive_buffer=32 KiB")
    assert command("run", scenario, *setting, "--out", tmp_path / "after", "-q").code == 0
    shown = command("compare", tmp_path / "before", tmp_path / "after")
    assert shown.code == 0, shown.err
    assert re.search(r"before +after +Difference", shown.out)
    assert re.search(r"flow.users.tcp.congestion.kind +cubic +reno", shown.out)
    assert re.search(r"flow.users.tcp.receive_buffer +unlimited +32", shown.out)
    # The parameters of another kind are no findings of their own.
    assert "congestion.beta" not in shown.out
