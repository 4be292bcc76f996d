"""Tables show by default quality of experience: time where its data has an end, goodput where it has none."""

from __future__ import annotations

import io
import json

import pytest
from conftest import SMALL
from longhaul import load, qoe, tables
from longhaul.cli.tables import _print
from longhaul.units import quantity
from rich.console import Console

SIZED = SMALL.replace('name = "users"', 'name = "users"\napp = { kind = "bulk", size = "200 kB" }')
ASKING = """
[[flow]]
name = "shell"
from = "hub"
to = "remote"
app = { kind = "keystrokes" }

[[flow]]
name = "reader"
from = "hub"
to = "remote"
app = { kind = "web", think = "1 s", objects = 2, object = "10 kB" }
"""


def _table(text: str, title: str) -> str:
    """The part of the output from a table's title to the next table."""
    return text.split(f"\n{title}")[1].split("\n\n\n")[0]


@pytest.fixture
def written(tmp_path):
    """Writes a scenario, returns its file."""

    def write(text):
        file = tmp_path / "s.toml"
        file.write_text(text)
        return file

    return write


def test_a_run_of_sized_transfers_shows_their_completion_time_and_no_goodput_over_the_run(command, written, tmp_path):
    other = SIZED[SIZED.index("[[flow]]") :].replace('name = "users"', 'name = "others"').replace("200 kB", "100 kB")
    out = command("run", written(SIZED + other), "--out", tmp_path / "r").out
    head, groups = out.split("Links")[0], _table(out, "Groups")
    assert "Mean completion time" in head
    assert "Goodput" not in head
    assert "Mean completion time" in groups
    assert "Goodput" not in groups.split("Flows")[0]
    flows = _table(out, "Flows")
    assert flows.index("Completion time") < flows.index("Goodput")


def test_a_run_without_end_shows_goodput(command, scenario, tmp_path):
    head = command("run", scenario, "--out", tmp_path / "r").out.split("Links")[0]
    assert "Goodput" in head
    assert "ompletion" not in head


def test_goodput_alone_is_a_flow_s_and_that_of_a_run_has_one_name_in_every_command(command, written, tmp_path):
    """A transfer of 4 MB has one rate in its own time and another over the run: a name for each, the same in `run` and `sweep`."""
    text = SIZED.replace("200 kB", "4 MB")
    file = written(text)
    run = command("run", file, "--out", tmp_path / "r").out
    endless = written(text.replace(text[text.index("app") : text.index("\n", text.index("app"))], ""))
    alone = command("run", endless, "--out", tmp_path / "e").out
    shown = command(
        "sweep", endless, "--out", tmp_path / "s", "--grid", "link.satellite.rate=['1 Mbit/s', '2 Mbit/s']"
    ).out
    assert "Goodput" in _table(run, "Flows")
    assert "over the run" not in _table(run, "Flows")
    assert "Goodput over the run" in alone.split("Links")[0]
    assert "Goodput over the" in shown
    # The number of a run is the one that the sweep shows: bits delivered over the whole measured time.
    result = load(tmp_path / "e")
    assert tables.key_numbers(result)[0] == ("Goodput over the run", quantity(result.metrics["goodput_bps"], "bit/s"))


def test_a_run_of_requests_and_pages_shows_their_times(command, written, tmp_path):
    text = SMALL[: SMALL.index("[[flow]]")] + ASKING
    out = command("run", written(text), "--out", tmp_path / "r").out
    head = out.split("Links")[0]
    for title in ("Median response time", "95 % response time", "Mean page time"):
        assert title in head
        assert title in _table(out, "Flows")
    # Of equal pages the 95th percentile is the mean, and stands only where flows differ.
    assert "95 % page time" in _table(out, "Flows")
    assert "95 % page time" not in head
    assert "Goodput" not in head
    assert "Goodput" not in _table(out, "Flows")


def test_transfers_that_did_not_end_are_counted(command, written, tmp_path):
    text = SIZED.replace("200 kB", "900 kB")
    out = command("run", written(text), "--set", "run.duration=6 s", "--out", tmp_path / "r").out
    result = load(tmp_path / "r")
    missing, transfers = qoe.unfinished(result)
    assert (missing > 0, transfers) == (True, 3)
    assert f"Finished                    {3 - missing} of 3 transfers in 6 s" in out
    text = SIZED.replace("[[flow]]", "[[flow]]\nstreams = 2")
    command("run", written(text), "--out", tmp_path / "streams")
    assert qoe.unfinished(load(tmp_path / "streams")) == (0, 3)


def test_a_sweep_of_sized_transfers_shows_completion_times(command, written, tmp_path):
    grid = '\n[sweep]\nreplications = 2\ngrid = { "link.satellite.delay" = ["10 ms", "300 ms"] }\n'
    out = command("sweep", written(SIZED + grid), "--out", tmp_path / "s", "--report").out
    assert "Mean completion time" in out
    assert "Goodput" not in out
    assert "Mean completion time over" in (tmp_path / "s" / "report.html").read_text()
    two = SIZED[SIZED.index("[[flow]]") :].replace('name = "users"', 'name = "others"')
    out = command("sweep", written(SIZED + two + grid), "--out", tmp_path / "s", "--force").out
    assert "Mean completion time (users)" in out
    assert "Mean completion time (others)" in out


def test_seeds_that_change_nothing_are_called_so(command, written, tmp_path):
    fixed = SIZED.replace('{ uniform = ["0 s", "1 s"] }', '"0 s"').replace('"0.1 %"', "0")
    grid = '\n[sweep]\nreplications = 3\ngrid = { "link.satellite.delay" = ["10 ms", "300 ms"] }\n'
    out = command("sweep", written(fixed + grid), "--out", tmp_path / "s", "--report").out
    assert "± 0" not in out
    assert "all 3 seeds gave the same values" in out
    assert "all 3 seeds gave the same values" in (tmp_path / "s" / "report.html").read_text()
    out = command("sweep", written(SIZED + grid), "--out", tmp_path / "s", "--force").out
    assert "gave the same values" not in out
    assert " ± " in out


def test_compare_begins_with_what_the_application_feels(command, written, tmp_path):
    text = SIZED + ASKING
    for seed in (1, 2):
        command("run", written(text), "--seed", seed, "--out", tmp_path / str(seed), "-q")
    rows = json.loads(command("compare", tmp_path / "1", tmp_path / "2", "--json").out)["rows"]
    metrics = {row["object"]: [r["metric"] for r in rows if r["object"] == row["object"]] for row in rows}
    assert metrics["users[0]"][:2] == ["completion_time_s", "goodput_bps"]
    assert metrics["shell"][:2] == ["response_time_p50_s", "response_time_p95_s"]
    assert metrics["reader"][:2] == ["page_time_mean_s", "page_time_p95_s"]
    assert "goodput_bps" not in metrics["shell"] + metrics["reader"]


def test_a_narrow_terminal_wraps_long_settings_and_never_cuts_a_value():
    content = tables.Table(
        [("slow_start", ""), ("loss", ""), ("Goodput", "")],
        [['{ kind = "standard", limit = 2 }', "1 %", "373 ± 151 kbit/s"], ["hystart++", "0 %", "44.4 Mbit/s"]],
    )
    console = Console(width=50, file=io.StringIO(), color_system=None)
    _print(console, content, names=2)
    printed = console.file.getvalue().replace("\u00a0", " ")
    assert all(text in printed for text in ["373 ± 151 kbit/s", "44.4 Mbit/s", "Goodput", "limit = 2"])
