"""`longhaul run`, `list`, `schema`, `verify`, `bench` as a user meets them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from waiting import PATIENCE_S

#: A flow that is over before the warm-up is.
EARLY = """
[[flow]]
name = "early"
from = "hub"
to = "remote"
start = "100 ms"
stop = "1 s"
"""
FILES = {
    "longhaul-files.json",
    "scenario.toml",
    "summary.json",
    "timing.json",
    "flows.parquet",
    "links.parquet",
    "events.parquet",
}


def test_run_writes_a_result_and_prints_its_table(command, scenario, tmp_path):
    outcome = command("run", scenario, "--out", tmp_path / "r")
    assert outcome.code == 0, outcome.err
    assert {file.name for file in (tmp_path / "r").iterdir()} == FILES
    assert "Goodput" in outcome.out
    assert "users[0]" in outcome.out
    assert f"result: {tmp_path / 'r'}" in outcome.out


def test_run_and_explain_show_where_the_time_went(command, scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    outcome = command("run", scenario, "--out", tmp_path / "r")
    (line,) = [line for line in outcome.out.splitlines() if line.startswith("users: 3 flows, ")]
    assert "the median flow: goodput" in line
    told = command("explain", tmp_path / "r", "--each", "--budget", "10 s")
    assert told.code == 0, told.err
    assert told.out.count("; its time: ") == 3
    assert "and 2 more flows" in command("explain", tmp_path / "r", "--each", "--limit", 1, "--budget", "2 s").out
    found = json.loads(command("explain", tmp_path / "r", "--flows", "1", "--json", "--budget", "2 s").out)
    assert [flow["flow"] for flow in found["accounting"]] == [1]
    assert [group["group"] for group in found["groups"]] == ["users"]
    assert command("explain", tmp_path / "nothing").code == 2


def test_a_flow_without_measured_time_has_no_limit(command, scenario, tmp_path):
    scenario.write_text(scenario.read_text() + EARLY)
    outcome = command("run", scenario, "--set", "run.warmup=10 s", "--out", tmp_path / "r")
    assert outcome.code == 0, outcome.err
    row = [line for line in outcome.out.splitlines() if line.startswith(" early")][-1]
    assert row.split()[-1] == "–"
    told = command("explain", tmp_path / "r", "--budget", "2 s").out
    assert "early: it was not active in the measured time" in told


def test_run_json_is_the_summary(command, scenario, tmp_path):
    outcome = command("run", scenario, "--out", tmp_path / "r", "--json")
    assert json.loads(outcome.out) == json.loads((tmp_path / "r" / "summary.json").read_text())


def test_quiet_prints_nothing(command, scenario, tmp_path):
    assert command("run", scenario, "--out", tmp_path / "r", "--quiet") == (0, "", "")


def test_out_has_a_default_name(command, scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("run", scenario, "-q").code == 0
    (made,) = (tmp_path / "results").iterdir()
    assert made.name.startswith("small-")


def test_set_and_seed_change_the_run(command, scenario, tmp_path):
    command("run", scenario, "--out", tmp_path / "r", "--set", "link.satellite.rate=1 Mbit/s", "--seed", "9", "-q")
    summary = json.loads((tmp_path / "r" / "summary.json").read_text())
    assert summary["seed"] == 9
    assert {link["rate_bps"] for link in summary["links"]} == {1e6}


def test_json_scenarios_are_the_same_as_toml(command, scenario, tmp_path):
    import tomllib

    other = tmp_path / "small.json"
    other.write_text(json.dumps(tomllib.loads(scenario.read_text())))
    for file, out in ((scenario, "a"), (other, "b")):
        assert command("run", file, "--out", tmp_path / out, "-q").code == 0
    assert (tmp_path / "a" / "summary.json").read_bytes() == (tmp_path / "b" / "summary.json").read_bytes()


def test_the_same_run_again_is_byte_identical(command, scenario, tmp_path):
    for out in ("a", "b"):
        command("run", scenario, "--out", tmp_path / out, "-q")
    for name in FILES - {"timing.json"}:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_the_same_run_may_take_its_own_place_and_no_other(command, scenario, tmp_path):
    out = tmp_path / "r"
    assert command("run", scenario, "--out", out, "-q").code == 0
    assert command("run", scenario, "--out", out, "-q").code == 0
    refused = command("run", scenario, "--out", out, "--seed", "8", "-q")
    assert refused.code == 2
    assert "--force" in refused.err
    assert json.loads((out / "summary.json").read_text())["seed"] == 7
    assert command("run", scenario, "--out", out, "--seed", "8", "-q", "--force").code == 0
    assert json.loads((out / "summary.json").read_text())["seed"] == 8


def test_a_result_of_the_emulator_is_not_replaced_by_a_simulation_of_the_same_scenario(command, scenario, tmp_path):
    out = tmp_path / "r"
    assert command("run", scenario, "--out", out, "-q").code == 0
    assert command("run", scenario, "--out", out, "-q").code == 0, "the same run may be made again"
    summary = json.loads((out / "summary.json").read_text())
    (out / "summary.json").write_text(json.dumps(summary | {"emulation": {"kernel": "6.18"}}))
    refused = command("run", scenario, "--out", out, "-q")
    assert refused.code == 2
    assert "a result of the emulator" in refused.err
    assert "--force" in refused.err
    assert command("run", scenario, "--out", out, "--force", "-q").code == 0


def test_force_does_not_replace_what_is_not_ours(command, scenario, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "love.txt").write_text("dear")
    outcome = command("run", scenario, "--out", tmp_path / "letters", "--force")
    assert outcome.code == 2
    assert "not a Longhaul result" in outcome.err
    assert (tmp_path / "letters" / "love.txt").read_text() == "dear"


def test_the_same_run_again_makes_its_report_again_and_keeps_what_is_not_ours(command, scenario, tmp_path):
    out = tmp_path / "r"
    assert "report: " in command("run", scenario, "--out", out, "--report").out
    assert command("plot", out, "-k", "limits").code == 0
    (out / "notes.txt").write_text("mine")
    again = command("run", scenario, "--out", out)
    assert f"report: {out / 'report.html'}" in again.out
    assert "<h1>small</h1>" in (out / "report.html").read_text()
    assert (out / "plots" / "limits.png").exists()
    assert command("run", scenario, "--out", out, "--seed", "8", "--force", "-q").code == 0
    assert {file.name for file in out.iterdir()} == FILES | {"notes.txt"}
    assert (out / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("content", ["", '{"run_id": "12', None], ids=["empty", "cut off", "missing"])
def test_a_run_with_a_damaged_summary_can_be_replaced(command, scenario, tmp_path, content):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    (out / "summary.json").unlink() if content is None else (out / "summary.json").write_text(content)
    refused = command("run", scenario, "--out", out)
    assert refused.code == 2
    assert f"a result whose summary.json is {'missing' if content is None else 'damaged'}" in refused.err
    assert "--force" in refused.err
    assert "summary.json" in command("explain", out).err
    assert command("run", scenario, "--out", out, "--force", "-q").code == 0
    assert command("verify", out).code == 0


def test_verify_takes_several_results(command, scenario, tmp_path):
    for seed in (1, 2):
        command("run", scenario, "--seed", seed, "--out", tmp_path / f"r{seed}", "-q")
    both = command("verify", tmp_path / "r1", tmp_path / "r2")
    assert both.code == 0, both.err
    assert "2 of 2 results are byte-identical" in both.out
    missing = command("verify", tmp_path / "r1", tmp_path / "r3")
    assert (missing.code, missing.out) == (2, "")
    assert "r3 does not exist" in missing.err


@pytest.mark.parametrize("form", [["--install-completion", "zsh"], ["--install-completion=zsh"]])
def test_completion_is_installed_for_the_shell_that_is_named(command, tmp_path, monkeypatch, form):
    monkeypatch.setenv("HOME", str(tmp_path))
    outcome = command(*form)
    assert outcome.code == 0, outcome.err
    assert "zsh completion installed" in outcome.out
    assert (tmp_path / ".zfunc" / "_longhaul").exists()
    assert not (tmp_path / ".bashrc").exists()
    assert "_LONGHAUL_COMPLETE=complete_fish" in command("--show-completion", "fish").out


def test_completion_for_a_shell_that_is_not_known_is_refused(command, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    outcome = command("--install-completion", "zhs")
    assert outcome.code == 2
    assert "did you mean 'zsh'?" in outcome.err
    assert command("--install-completion", "zsh", "run").code == 2
    assert not list(tmp_path.iterdir())


def test_verify_finds_a_changed_file(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    assert command("verify", out).code == 0
    table = pl.read_parquet(out / "flows.parquet").with_columns(pl.col("cwnd_bytes") + 1)
    table.write_parquet(out / "flows.parquet")
    outcome = command("verify", out)
    assert outcome.code == 1
    assert "flows.parquet" in outcome.out


def test_list_and_schema(command):
    listed = command("list")
    assert listed.code == 0
    for word in ("cubic", "RFC 9438", "hystart++", "goodput_bps"):
        assert word in listed.out
    assert command("list", "nonsense").code == 2
    sweep = json.loads(command("schema").out)["properties"]["sweep"]
    assert set(sweep["properties"]) == {"replications", "grid", "zip", "points", "list"}
    assert sweep["additionalProperties"] is False
    assert isinstance(json.loads(command("list", "--json").out), dict)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("queues", ["droptail", "First in, first out", "limit"]),
        ("losses", ["gilbert_elliott", "place = wire", "loss_in_good = 0.0"]),
        ("apps", ["cbr", "message = 1 kB", "Writes messages at a constant rate"]),
        ("recovery", ["newreno", "RFC 6582", "Jacobson 1988"]),
        ("pacing", ["window", "gain_ca = 1.2"]),
    ],
)
def test_list_of_one_kind(command, kind, words):
    outcome = command("list", kind)
    assert outcome.code == 0
    for word in words:
        assert word in outcome.out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["sweep", "-h"], ["--version"]])
def test_help_ends_well(command, arguments):
    outcome = command(*arguments)
    assert outcome.code == 0
    assert outcome.out


def test_ctrl_c_ends_a_long_run_at_once_and_leaves_nothing(tmp_path, scenario):
    out = tmp_path / "r"
    code = "from longhaul.cli import main; main()"
    long = ["run", str(scenario), "--set", "run.duration=1000000 s", "--set", "run.sample=1000 s", "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *long], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + PATIENCE_S
    while not list(tmp_path.glob(".r.*.partial")):
        assert time.monotonic() < deadline, "the run did not begin"
        time.sleep(0.05)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert errors.strip() == "longhaul: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == [Path(scenario).name]


@pytest.mark.parametrize(
    ("arguments", "loaded"),
    [
        (["--help"], []),
        (["run", "small.toml", "--out", "r", "--no-tables"], []),
        (["run", "small.toml", "--out", "r"], []),  # the core writes the time series
    ],
)
def test_what_is_slow_to_load_is_loaded_only_when_needed(tmp_path, scenario, arguments, loaded):
    code = (
        "import sys; from longhaul import cli; code = cli.run(sys.argv[1:]);"
        "print([m for m in ('matplotlib', 'polars', 'jinja2', 'numpy') if m in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=tmp_path)
    assert done.stderr.strip() == str(loaded)


def test_the_help_of_bench_names_every_argument_of_bench_py(command):
    script = Path(__file__).resolve().parent.parent / "benches" / "bench.py"
    shown = command("bench", "--help").out
    said = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True).stdout
    for option in set(re.findall(r"--[a-z0-9-]+", said)):
        assert option in shown


@pytest.mark.parametrize(("columns", "width"), [(None, 160), ("72", 72), ("300", 300)])
def test_a_pipe_is_as_wide_as_columns_says_or_wide(monkeypatch, columns, width):
    from longhaul.cli import options

    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    assert options.output().width == width


def test_kinds_of_figures_may_be_a_list(command, scenario, tmp_path):
    command("run", scenario, "--out", tmp_path / "r", "-q")
    outcome = command("plot", tmp_path / "r", "-k", "cwnd,rtt", "-k", "queue")
    assert outcome.code == 0, outcome.err
    assert sorted(file.name for file in (tmp_path / "r" / "plots").iterdir()) == ["cwnd.png", "queue.png", "rtt.png"]
