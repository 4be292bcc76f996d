"""Checks for automation: expectations with exit codes, JUnit, strictness, differences between results."""

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from conftest import SMALL
from longhaul import expectations
from longhaul.errors import LonghaulError
from longhaul.progress import of_advice, of_sweep
from longhaul.sweep import SweepProgress
from rich.console import Console


def test_what_is_met_and_what_is_not(command, scenario, tmp_path):
    good = [
        "--expect",
        "goodput_bps > 1 Mbit/s",
        "--expect",
        "flow.users.loss_rate < 50 %",
        "--expect",
        "group.users.rtt_mean_s >= 0.2",
    ]
    outcome = command("run", scenario, "--out", tmp_path / "r", *good, "--junit", tmp_path / "j.xml")
    assert outcome.code == 0, outcome.err
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "0")
    bad = command(
        "run",
        scenario,
        "--out",
        tmp_path / "r",
        *good,
        "--expect",
        "goodput_bps > 1 Gbit/s",
        "--junit",
        tmp_path / "j.xml",
    )
    assert bad.code == 1
    assert "1 of 4 expectations failed" in bad.err
    assert "goodput_bps > 1 Gbit/s" in bad.err
    assert "Mbit/s" in bad.err
    suite = ElementTree.parse(tmp_path / "j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("4", "1")
    assert len(suite.findall("testcase/failure")) == 1
    as_json = command("run", scenario, "--out", tmp_path / "r", "--expect", "goodput_bps > 1e9", "--json")
    assert as_json.code == 1
    assert [one["met"] for one in json.loads(as_json.out)["expectations"]] == [False]


def test_quiet_says_nothing_where_all_is_as_expected(command, scenario, tmp_path):
    for name in ("run", "sweep"):
        call = [name, scenario, "--out", tmp_path / name, *(["-n", 2] if name == "sweep" else [])]
        expected = ["--expect", "goodput_bps > 1 Mbit/s"]
        met = command(*call, *expected, "-q")
        assert (met.code, met.out, met.err) == (0, "", "")
        loud = command(*call, *expected, *(["--resume"] if name == "sweep" else []))
        assert "the expectation is met" in loud.err
    failed = command("run", scenario, "--out", tmp_path / "run", "--expect", "goodput_bps > 1 Gbit/s", "-q")
    assert (failed.code, "1 of 1 expectations failed" in failed.err) == (1, True)


def test_what_failed_is_as_wide_as_columns_says(command, scenario, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    text = "goodput_bps > 1 Gbit/s"
    failed = command(
        "run", scenario, "--out", tmp_path / "r", "-q", *["--expect", text, "--expect", f"flow.users[0].{text}"]
    )
    assert failed.code == 1
    assert max(map(len, failed.err.splitlines())) <= 50


def test_advice_without_a_terminal_prints_a_line_every_ten_seconds(monkeypatch, capsys):
    now = 0.0
    monkeypatch.setattr("longhaul.progress.time.monotonic", lambda: now)
    with of_advice(Console(force_terminal=False, width=200), True) as observer:
        for runs in range(1, 26):
            now = runs * 1.0
            observer(runs, "queue of 100 [packets]")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [f"trying remedies: {n} runs after {n} s, queue of 100 [packets]" for n in (10, 20)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goodput", "write a metric, one of"),
        ("goodput_bps > fast", "'fast' is no number"),
        ("goodput_bps > 3 s", "a value in s cannot be compared with it"),
        ("goodptu_bps > 1", "there is no metric 'goodptu_bps'; did you mean"),
        ("count=3: goodput_bps > 1", "a condition is for sweeps"),
    ],
)
def test_expectations_that_make_no_sense(command, scenario, tmp_path, text, message):
    outcome = command("run", scenario, "--out", tmp_path / "r", "--expect", text)
    assert outcome.code == 2
    assert message in outcome.err


def test_expectations_of_the_points_of_a_sweep(command, scenario, tmp_path):
    sweep = ["sweep", scenario, "--grid", "flow.users.count=[1, 3]", "-n", 2, "--out", tmp_path / "s", "-q"]
    outcome = command(*sweep, "--expect", "goodput_bps > 100 kbit/s", "--expect", "users.count=1: jain_index == 1")
    assert outcome.code == 0, outcome.err
    outcome = command(*sweep, "--resume", "--expect", "count=3: goodput_bps > 1 Gbit/s")
    assert outcome.code == 1
    assert "1 of 1 expectations failed" in outcome.err
    assert "flow.users.count 3" in outcome.err
    outcome = command(*sweep, "--resume", "--expect", "rate=3: goodput_bps > 1")
    assert outcome.code == 2
    assert "'rate' is no parameter of the sweep; they are flow.users.count" in outcome.err


def test_warnings_can_be_errors(command, tmp_path):
    file = tmp_path / "w.toml"
    file.write_text(SMALL.replace("count = 3", 'count = 3\ntcp = { receive_buffer = "5 kB" }'))
    assert command("run", file, "--out", tmp_path / "r", "-q").code == 0
    outcome = command("run", file, "--out", tmp_path / "r", "-q", "--strict", "--junit", tmp_path / "j.xml")
    assert outcome.code == 1
    assert "1 warning; --strict makes warnings errors" in outcome.err
    assert int(ElementTree.parse(tmp_path / "j.xml").getroot().get("failures")) >= 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("goodput > 40 Mbit/s", "there is no metric 'goodput'; did you mean goodput_bps"),
        ("group.users.goodputt > 40 Mbit/s", "there is no metric 'goodputt'; did you mean"),
        ("goodput_bps > 40 ms", "goodput_bps is in bit/s; a value in s cannot be compared with it"),
        ("goodput_bps => 40", "write >= instead of =>"),
        ("loss_rate < x", "loss_rate has no unit; 'x' is no number"),
    ],
)
def test_an_expectation_that_cannot_be_read_names_what_is_wrong(text, answer):
    with pytest.raises(LonghaulError, match=re.escape(answer)):
        expectations.read(text)


def test_differences_between_results(command, scenario, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert command("run", scenario, "--seed", seed, "--out", tmp_path / name, "-q").code == 0
    same = command("diff", tmp_path / "a", tmp_path / "b")
    assert same.code == 0
    assert "no difference beyond 0 %" in same.out
    other = command("diff", tmp_path / "a", tmp_path / "c", "--metrics", "goodput_bps", "--json")
    assert other.code == 1
    content = json.loads(other.out)
    assert content["changes"]
    assert all(one["metric"].endswith("goodput_bps") for one in content["changes"])
    # A tolerance above the largest difference.
    largest = max(abs(one["relative"]) for one in content["changes"])
    loose = command(
        "diff", tmp_path / "a", tmp_path / "c", "--metrics", "goodput_bps", "--tolerance", f"{100 * largest + 1}%"
    )
    assert loose.code == 0
    assert command("diff", tmp_path / "a", tmp_path / "c", "--tolerance", "much").code == 2


def test_a_difference_is_listed_once_and_what_matters_first(command, tmp_path):
    scenario = tmp_path / "one.toml"
    scenario.write_text(
        'name = "one"\n[run]\nduration = "20 s"\nseed = 1\n[[link]]\nname = "path"\nends = ["a", "b"]\nrate = "10 Mbit/s"\n'
        'delay = "50 ms"\n[[flow]]\nname = "f"\nfrom = "a"\nto = "b"\n'
    )
    for name, rate in (("a", "10 Mbit/s"), ("b", "5 Mbit/s")):
        setting = f"link.path.rate={rate}"
        assert command("run", scenario, "--set", setting, "--out", tmp_path / name, "-q").code == 0
    out = command("diff", tmp_path / "a", tmp_path / "b", "--limit", 1000).out
    metrics = [line.split()[0] for line in out.splitlines() if " Mbit/s" in line or " B " in line]
    # Of the only flow of the only group every number is that of the run.
    assert metrics[0] == "goodput_bps"
    assert not {"group.f.goodput_bps", "flow.f.goodput_bps"} & set(metrics)
    assert not re.search(r"(group|flow)\.f\.(sent_packets|rtt_mean_s) ", out)
    assert re.search(r"\d+ of \d+ values differ by more than 0 %; \d+ without repetitions \(a flow that is alone", out)
    # JSON has every name that a script may look up.
    names = [
        one["metric"] for one in json.loads(command("diff", tmp_path / "a", tmp_path / "b", "--json").out)["changes"]
    ]
    assert {"goodput_bps", "flow.f.goodput_bps"} <= set(names)


def test_progress_in_a_log(monkeypatch, capsys):
    clock = iter([0.0, 5.0, 11.0, 12.0])
    monkeypatch.setattr("longhaul.progress.time.monotonic", lambda: next(clock))
    with of_sweep(Console(stderr=True), True, "sweeping") as (observe, _):
        progress = SweepProgress(4, 2.0, finished=1, done_weight=1.0)
        for _ in range(3):
            observe(progress)
    assert capsys.readouterr().err.strip() == "sweeping: 1 of 4 runs, about 11 s left"


def test_a_bound_with_a_unit():
    assert expectations.read("link.a.forward.queue_delay_p95_s < 20 ms").bound == 0.02


def test_release_notes_whose_reader_leaves_end_without_a_traceback():
    script = Path(__file__).parent.parent / "scripts" / "release-notes"
    with subprocess.Popen([sys.executable, script, "0.1.0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
