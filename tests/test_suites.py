"""Suites: verdicts, what a command prints and keeps, wrong words, and what failed people who compared congestion controls before."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import longhaul
import polars as pl
import pytest
from longhaul import core, suites
from longhaul.scenario import Scenario, as_document
from longhaul.suites import entries, judging, l4s, measures, page, running, written
from longhaul.suites.judging import Value
from longhaul.suites.model import QUICK, START, WHOLE, Entry, Measure, Scale, Situation, Suite, tcp

GAIN = Measure("goodput", "goodput_bps", "bit/s")
TIME = Measure("time", "completion_time_mean_s", "s", less=True, unfinished=60.0)
HARM = Measure("goodput of reno", "goodput_bps", "bit/s", like="reno", always=True)
LOSS = Measure("loss", "loss_rate", "share", less=True, absolute=True, least=0.001)


def place(*found: Measure) -> Situation:
    return Situation("s", "A place", lambda entry, scale: Scenario("none"), found, "")


def values(*numbers: float, bound: bool = False) -> dict[int, Value]:
    return {seed: Value(number, bound) for seed, number in enumerate(numbers, 1)}


def word(measure: Measure, mine: dict[int, Value], theirs: dict[int, Value]) -> str:
    return judging.compare(place(measure), measure, "mine", "theirs", mine, theirs).word


#: Two situations that take milliseconds, as somebody writes them into a file.
SMALL_SUITE = """
from longhaul.scenario import Scenario
from longhaul.suites.measures import goodput, left_to, loss, queueing, time, together
from longhaul.suites.model import START, Situation, Suite, tcp

def link(length):
    return Scenario("small", duration=length, sample="1 s").link(
        "path", "a", "b", rate="5 Mbit/s", delay="40 ms", queue="1 bdp", loss=0.002)

def alone(entry, scale):
    return link("20 s").flow("a", "b", name="candidate", tcp=tcp(entry), start=START, app={"kind": "bulk", "size": "2 MB"})

def shared(entry, scale):
    made = link(scale.seconds(20)).flow("a", "b", name="candidate", tcp=tcp(entry), start=START)
    return made.flow("a", "b", name="reno", tcp=tcp("reno"), start=START)

SUITE = Suite(
    "small", "Small", "Does it work?", "nobody",
    (
        Situation("alone", "Alone", alone, (time(20), loss()), "A transfer."),
        Situation("shared", "Shared", shared, (left_to("reno", "reno"), together(5e6, ("candidate", "reno")), queueing("path.forward")), "Two."),
    ),
    beside=("cubic", "reno"),
)
"""


@pytest.fixture
def small(tmp_path):
    file = tmp_path / "small_suite.py"
    file.write_text(SMALL_SUITE)
    return file


# Verdicts


@pytest.mark.parametrize(
    ("measure", "mine", "theirs", "expected"),
    [
        (GAIN, values(10, 11, 10), values(5, 5, 6), "better"),
        (GAIN, values(5, 5, 6), values(10, 11, 10), "worse"),
        (TIME, values(10, 11, 10), values(5, 5, 6), "worse"),
        (GAIN, values(10.1, 10.2, 10.1), values(10, 10.1, 10), "same"),
        (GAIN, values(10, 20, 3), values(9, 5, 12), "unclear"),
        (GAIN, values(10), values(5), "unclear"),
        (GAIN, {}, values(5, 5), "unclear"),
        (HARM, values(2, 2.1, 2), values(5, 5, 5.2), "unfair"),
        (HARM, values(7, 7.1, 7), values(5, 5, 5.2), "yields"),
        (LOSS, values(0.0101, 0.0102, 0.0101), values(0.01, 0.01, 0.01), "same"),
        (LOSS, values(0.02, 0.021, 0.02), values(0.01, 0.01, 0.01), "worse"),
        (LOSS, values(0.01, 0.011, 0.01), values(0.0, 0.0, 0.0), "worse"),
    ],
)
def test_a_verdict_needs_an_interval_without_zero_and_a_difference_that_counts(measure, mine, theirs, expected):
    assert word(measure, mine, theirs) == expected


def test_the_means_of_a_skewed_pair_alone_make_no_verdict():
    # The means are 4 to 1, the interval has zero in it: private-octopus/picoquic#1221 gives medians with deviations for that reason.
    assert word(GAIN, values(1, 1, 10), values(1, 1, 1)) == "unclear"


def test_what_is_compared_with_itself_is_no_verdict():
    assert judging.judge([place(GAIN, HARM)], "reno", ["reno"], {}) == []


@pytest.mark.parametrize("order", [("cubic", "bbr3"), ("bbr3", "cubic")])
def test_the_order_of_the_others_changes_no_verdict(order):
    # veg/hyphy#1300: the order of the files changed the statistics.
    held = {
        ("s", "goodput", "mine"): values(9, 9.5, 9),
        ("s", "goodput", "cubic"): values(5, 5, 6),
        ("s", "goodput", "bbr3"): values(9, 9, 9),
    }
    found = judging.judge([place(GAIN)], "mine", order, held)
    assert {one.beside: one.word for one in found} == {"cubic": "better", "bbr3": "unclear"}


# What failed people before


def test_a_run_that_delivered_nothing_has_no_loss_and_no_queue_to_be_praised_for():
    # A bench whose run captured nothing had zero of every problem, which reads as a clean run (Sora-bluesky/x-jimaku#89).
    nothing = {"delivered_bytes": 0.0, "loss_rate": 0.0, "goodput_bps": 0.0, "completion_time_mean_s": None}
    assert judging.value_of(LOSS, place(LOSS), nothing) is None
    assert judging.value_of(measures.goodput(), place(), {"group.candidate.goodput_bps": 0.0}) == Value(0.0)
    assert word(LOSS, {}, values(0.1, 0.1)) == "unclear"


def test_a_missing_value_is_neither_zero_nor_part_of_a_mean():
    # tohojo/flent#120 and #184: means over series with missing data were 10 times too large or too small, the medians were right.
    mine = {1: Value(10.0), 3: Value(10.2)}
    found = judging.compare(place(GAIN), GAIN, "mine", "theirs", mine, values(5, 500, 5.1))
    assert (found.pairs, found.mean, found.other, found.word) == (2, 10.1, 5.05, "better")
    assert judging.value_of(GAIN, place(GAIN), {"delivered_bytes": 1.0, "goodput_bps": math.nan}) is None


def test_a_transfer_without_an_end_is_a_bound_and_no_time():
    # The bound of a lossy satellite was 250 s whatever the sender did, so that a slower one passed (private-octopus/picoquic#1831).
    metrics = {"delivered_bytes": 5.0, "completion_time_mean_s": None}
    assert judging.value_of(TIME, place(TIME), metrics) == Value(60.0, bound=True)
    mine, theirs = values(60, 60, 60, bound=True), values(8, 9, 8)
    assert word(TIME, mine, theirs) == "worse"
    assert word(TIME, theirs, mine) == "better"
    assert word(TIME, mine, mine) == "unclear", "neither ended: nothing is known"


def test_an_index_of_fairness_does_not_hide_who_has_less():
    # Jain's index is the same for one that takes and one that is taken from (Ware et al., HotNets 2019).
    takes, leaves = values(2, 2.1, 2), values(8, 8.1, 8)
    beside_its_own = values(5, 5.1, 5)
    assert [word(HARM, one, beside_its_own) for one in (takes, leaves)] == ["unfair", "yields"]


def test_what_a_standard_flow_loses_is_counted_from_what_it_had_beside_its_own_kind(small, command, tmp_path):
    # NTAP/rfc8312bis#92: the difference between what CUBIC takes from Reno and what Reno leaves unused was under dispute.
    made = made_of(small, ["bbr3"])
    found = [one for one in running.run(made, tmp_path / "r").comparisons["bbr3"] if one.measure == "goodput of reno"]
    assert [one.beside for one in found] == ["reno"]


def test_no_situation_measures_the_receiver_instead_of_the_control():
    # StanfordSNR/pantheon#72: from some 650 Mbit/s on, results were those of the emulator; tohojo/flent#218: a satellite link at half.
    made = running.plan(suites.find("fairness"), *controls("bbr3"), QUICK, only=["fat"])
    run = next(one for one in made.plan.runs if one.parameters == {"situation": "fat/bbr3", "entry": "bbr3"})
    summary = core.run(run.document, (*run.overrides, ("run.duration", '"8 s"'), ("run.warmup", '"2 s"')), tables=False)
    assert all(
        flow["limited"]["receiver_window"] == flow["limited"].get("send_buffer", 0) == 0 for flow in summary["flows"]
    )
    assert summary["run"]["goodput_bps"] > 7e8


def test_a_run_that_fails_ends_the_suite_and_is_in_no_mean(small, command, tmp_path):
    # GoogleCloudPlatform/PerfKitBenchmarker#397: a total was printed although parts had failed.
    bad = tmp_path / "late.py"
    bad.write_text(CLASS.replace("self.window += 0", "self.window += 0 if ack.now < 5 else 1 / 0"))
    code, out, err = command("suite", str(small), "--policy", f"{bad}:Mine", "--out", str(tmp_path / "r"))
    assert (code, out) == (1, "")
    assert "runs failed" in err
    assert "ZeroDivisionError" in err
    assert not (tmp_path / "r" / "suite.json").exists()


# The whole path


def controls(*names: str) -> tuple[list[Entry], list[Entry]]:
    return entries.of_suite(suites.find("fairness"), names)


def made_of(file: Path, words: list[str], seeds: int = 2) -> running.Made:
    suite = suites.find(str(file))
    return running.plan(suite, *entries.of_suite(suite, words), Scale(seeds))


def test_a_suite_prints_at_most_ten_lines_and_keeps_everything(small, command, tmp_path):
    out = tmp_path / "r"
    code, printed, err = command("suite", str(small), "-c", "bbr3", "--seeds", "3", "--out", str(out))
    assert code == 0, err
    lines = printed.splitlines()
    assert lines[0] == "Small: bbr3 beside cubic and reno; 2 situations, 3 seeds each"
    assert len(lines) <= 11, "ten lines, and where the result is"
    assert "of CPU time for 18 runs" in lines[-2]
    assert str(out) in lines[-1]
    content = json.loads((out / "suite.json").read_text())
    assert content["lines"]["bbr3"] == lines[:-1]
    measured = pl.read_parquet(out / "measures.parquet")
    assert measured.shape == pl.read_csv(out / "measures.csv").shape == (len(content["measured"]), 9)
    assert set(pl.read_parquet(out / "verdicts.parquet")["verdict"]) <= {
        "better",
        "worse",
        "same",
        "unclear",
        "unfair",
        "yields",
    }
    sweep = longhaul.load(out)
    assert (sweep.done, sweep.total, sweep.parameters) == (18, 18, ["situation", "entry"])
    text = (out / "report.html").read_text()
    assert "<svg" in text
    assert "src=" not in text, "the page needs nothing else"
    assert '<link rel="stylesheet' not in text
    assert all(line.split(";")[0][:20] in text for line in lines[:1])


def test_a_candidate_may_be_all_that_a_suite_has(small, command, tmp_path):
    """After all runs there was an IndexError: nobody was left to be named beside it."""
    small.write_text(SMALL_SUITE.replace('beside=("cubic", "reno")', 'beside=("reno",)'))
    out = tmp_path / "r"
    code, printed, err = command("suite", str(small), "-c", "reno", "--seeds", "2", "--out", str(out))
    assert code == 0, err
    assert printed.splitlines()[0] == "Small: reno; 2 situations, 2 seeds each"
    assert json.loads((out / "suite.json").read_text())["comparisons"] == []


def test_the_same_command_makes_the_same_bytes_and_makes_nothing_twice(small, command, tmp_path):
    arguments = ("suite", str(small), "-c", "bbr3", "-n", "2")
    for name, jobs in (("a", "1"), ("b", "2")):
        assert command(*arguments, "--jobs", jobs, "--out", str(tmp_path / name)).code == 0
    for name in ("measures.csv", "verdicts.csv", "measures.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    again = command(*arguments, "--out", str(tmp_path / "a"))
    assert "; 0 runs made now)" in again.out
    # Of the next candidate only its own runs are missing.
    other = command("suite", str(small), "-c", "hybla", "-n", "2", "--out", str(tmp_path / "a"))
    assert "; 4 runs made now)" in other.out, other.err


def test_after_a_kill_the_same_command_goes_on_and_finds_the_same(small, command, tmp_path):
    out = tmp_path / "r"
    arguments = ["suite", str(small), "-c", "bbr3", "-n", "20", "-j", "1"]
    process = subprocess.Popen([sys.executable, "-m", "longhaul", *arguments, "-q", "--out", str(out)])
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None and not list(out.glob("runs/records-*.log")):
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    went_on = command(*arguments, "--out", str(out))
    assert went_on.code == 0, went_on.err
    assert command(*arguments, "--out", str(tmp_path / "whole")).code == 0
    assert (out / "measures.csv").read_bytes() == (tmp_path / "whole" / "measures.csv").read_bytes()
    assert (out / "verdicts.csv").read_bytes() == (tmp_path / "whole" / "verdicts.csv").read_bytes()


def test_other_commands_read_the_result_of_a_suite(small, command, tmp_path):
    out = tmp_path / "r"
    assert command("suite", str(small), "-c", "bbr3", "-n", "2", "--out", str(out)).code == 0
    page_before = (out / "report.html").read_text()
    assert command("report", str(out)).code == 0
    assert (out / "report.html").read_text() == page_before, "the page of the suite, not of a sweep"
    assert command("verify", str(out), "--sample", "2").code == 0
    assert command("diff", str(out), str(out)).code == 0
    assert "| shared | bbr3 |" in command("table", str(out)).out
    drawn = command("draw", str(out))
    assert (drawn.code, "draw that of a run" in drawn.err) == (2, True)


CLASS = """
GAIN = 1.0

class Mine:
    def __init__(self, mss, window):
        self.mss, self.window = mss, window

    def on_ack(self, ack):
        self.window += 0

    def on_loss(self, loss):
        self.window = max(GAIN * loss.flight_size / 2, 2 * self.mss)
"""


def test_a_class_of_ones_own_is_held_against_the_built_in_ones(small, command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("examples", "my_reno").code == 0
    suite = suites.find(str(small))
    candidates, every = entries.of_suite(suite, [], ["my_reno.py"])
    made = running.plan(suite, candidates, every, Scale(2))
    outcome = running.run(made, tmp_path / "r")
    (name,) = outcome.comparisons
    beside_reno = [one for one in outcome.comparisons[name] if one.beside == "reno"]
    # Not to the byte: Linux counts segments where the class counts bytes.
    assert {one.measure for one in beside_reno} == {
        "time",
        "loss",
        "goodput of reno",
        "goodput of all by the rate",
        "queueing delay, 95 %",
    }
    assert all(abs(one.difference) < 0.15 * one.other for one in beside_reno if one.measure == "goodput of reno")


def test_another_constant_in_the_file_of_a_class_is_another_run(tmp_path):
    file = tmp_path / "mine.py"
    found = []
    for gain in ("1.0", "1.2"):
        file.write_text(CLASS.replace("GAIN = 1.0", f"GAIN = {gain}"))
        found.append(entries.of_class(str(file)).settings["congestion"]["source"])
    assert found[0] != found[1]


def test_settings_of_a_file_are_a_candidate(small, tmp_path):
    (tmp_path / "gentle cubic.toml").write_text('[tcp]\ncongestion = { kind = "cubic", beta = 0.9 }\n')
    candidates, every = entries.of_suite(suites.find(str(small)), [str(tmp_path / "gentle cubic.toml")])
    assert [one.name for one in every] == ["gentle-cubic", "cubic", "reno"]
    assert candidates[0].settings == {"congestion": {"kind": "cubic", "beta": 0.9}}


@pytest.mark.parametrize(
    ("content", "arguments", "expected"),
    [
        ('[tcp]\ninitial_window = "0 packets"\n', ["leo", "-c"], "tcp.initial_window: must be above 0 packets, not 0 packets (in the situation"),
        ('[tcp]\ncongestion = "cubik"\n', ["leo", "-c"], 'unknown congestion control "cubik"'),
        ("[tcp]\npace = 3\n", ["leo", "-c"], "unknown field `pace`"),
        ('[queue]\nkind = "codel"\ntarget = "0 s"\n', ["aqm", "--queue"], "queue.target: must be above 0 s, not 0 s"),
    ],
)  # fmt: skip
def test_an_error_in_a_file_of_settings_names_that_file(content, arguments, expected, command, tmp_path):
    """It named a line of the suite's own scenario, which nobody has written."""
    file = tmp_path / "mine.toml"
    file.write_text(content)
    found = command("suite", *arguments, str(file), "--dry-run")
    assert found.code == 2
    assert found.err.startswith(f"error: {file}: {expected}")
    assert "scenario '" not in found.err


def test_a_proxy_carries_all_settings_of_the_candidate():
    """It had the congestion control alone, so that Hybla lacked its pacing."""
    entry = Entry("whole", {"congestion": "hybla", "pacing": "window", "slow_start": "packet_pair"})
    situation = next(one for one in suites.find("ietf-satellite").situations if one.name == "proxy-10MB")
    (box,) = situation.make(entry, QUICK).content["middlebox"]
    assert box["long"] == {"variant": "linux", **entry.settings}


@pytest.mark.parametrize(
    ("suite", "candidate", "situation", "measure", "beside", "expected"),
    [
        ("ietf-satellite", "bbr", "loss-10MB", "time", "cubic", "better"),
        ("tcp-eval", "bbr", "impact", "goodput of reno", "reno", "unfair"),
        ("aqm", "red", "friendly", "queueing delay, 95 %", "droptail", "better"),
        ("tcp-eval", "vegas", "impact", "goodput of reno", "reno", "yields"),
        ("l4s", "prague", "6-codel", "goodput of cubic", "cubic", "unfair"),
        ("l4s", "prague", "3-dualpi2-20", "queueing delay, 95 %", "cubic", "better"),
        ("l4s", "prague", "3-dualpi2-20-bursts", "link in use", "cubic", "worse"),
    ],
)
def test_what_is_known_of_the_built_in_ones_comes_out(tmp_path, suite, candidate, situation, measure, beside, expected):
    chosen = suites.find(suite)
    made = running.plan(chosen, *entries.of_suite(chosen, [candidate]), QUICK, only=[situation])
    found = running.run(made, tmp_path / "r").comparisons[candidate]
    assert [one.word for one in found if (one.measure, one.beside) == (measure, beside)] == [expected]


@pytest.mark.parametrize("name", suites.NAMES)
def test_every_run_of_every_suite_can_be_made(name):
    suite = suites.find(name)
    candidates, every = entries.of_suite(suite, ["codel" if suite.kind == "queue" else "hybla"])
    for scale in (QUICK, WHOLE):
        made = running.plan(suite, candidates, every, scale)
        assert all(one.asks and len(one.title) <= 60 and one.measures for one in made.situations)
        assert all(point.document.text for point in made.plan.runs.points)


@pytest.mark.slow("ten seconds of processor time")
@pytest.mark.parametrize("name", ["leo", "ietf-satellite", "tcp-eval", "aqm", "l4s"])
def test_every_measure_of_every_suite_has_a_value(name):
    suite = suites.find(name)
    one = "droptail" if suite.kind == "queue" else "cubic"
    entry = entries.named(suite, one)
    for situation in suite.of([entries.named(suite, other) for other in suite.beside], QUICK):
        if situation.weight > 3:
            continue
        document = as_document(situation.make(entry, Scale(1, 0.5)))
        metrics = longhaul.results.flat_metrics(core.run(document, (), tables=False))
        for measure in situation.measures:
            assert judging.value_of(measure, situation, metrics) is not None, (situation.name, measure.name)


def test_starts_differ_from_seed_to_seed_in_every_situation():
    for name in suites.NAMES:
        suite = suites.find(name)
        every = [entries.named(suite, other) for other in suite.beside]
        for situation in suite.of(every, QUICK):
            made = situation.make(every[0], QUICK)
            assert any(isinstance(flow.get("start"), dict) for flow in made.content["flow"]), (name, situation.name)
    assert START["uniform"][0] != START["uniform"][1]


@pytest.mark.parametrize(
    ("settings", "ecn"),
    [
        ({"congestion": "prague"}, "accurate"),
        ({"congestion": {"kind": "dctcp"}}, "accurate"),
        ({"congestion": {"kind": "python", "code": ""}}, "accurate"),
        ({"congestion": "cubic"}, True),
        ({"congestion": "prague", "ecn": False}, False),
    ],
)
def test_a_sender_of_l4s_has_the_feedback_that_it_counts(settings, ecn):
    # With marks reported once in a round trip Prague takes each for a loss, and the suite would compare two kinds of Reno.
    assert l4s.sender(Entry("one", settings))["ecn"] == ecn


def test_a_matrix_has_a_cell_for_each_pair():
    text = page.matrix("A path", {(a, b): 1.0 if a == b else 0.3 for a in ("cubic", "reno") for b in ("cubic", "reno")})
    assert text.count("<rect") == 4
    assert "cubic beside reno: × 0.3" in text


def test_both_cells_of_a_pair_are_one_run():
    made = running.plan(suites.find("fairness"), *controls(), Scale(1), only=["lan"])
    assert len(made.plan.runs) == 36
    assert len(made.plan.unique) == 21


# Wrong words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leos"], "did you mean"),
        (["leo", "-c", "cubik"], "cubic"),
        (["leo", "-c", "bbr,bbr"], "two candidates are called 'bbr'"),
        (["leo", "--queue", "codel"], "--queue: the candidates of the suite leo are named by --congestion"),
        (["aqm", "-c", "cubic"], "--congestion: the candidates of the suite aqm are named by --queue"),
        (["aqm", "--policy", "x.py:X"], "the candidates are queues"),
        (["leo", "--policy", "nowhere.py:X"], "cannot read nowhere.py"),
        (["leo", "--policy", "mine.txt:X"], "my_policy.py:Class"),
        (["leo", "--policy", "mine.py:Mime"], "did you mean Mine?"),
        (["leo", "--policy", "broken.py"], "broken.py, line 2: ZeroDivisionError"),
        (["leo", "--policy", "two.py"], "it has A, B; name one"),
        (["leo", "--policy", "empty.py"], "no class with on_ack and on_loss"),
        (["leo", "--policy", "mine.py:Mine", "--engine", "ray"], "not on a Ray cluster"),
        (["leo", "-c", "none.toml"], "cannot read the settings none.toml"),
        (["leo", "-c", "bad.toml"], "not TOML"),
        (["leo", "-c", "other.toml"], "'run' beside [tcp]"),
        (["leo", "-c", "wrong.toml"], "wrong.toml: unknown field `congestoin`"),
        (["leo", "-c", "hybla", "--only", "moon"], "has no such situation; they are profile, orbits"),
        (["leo", "-c", "hybla", "--changed", "often"], "--changed 'often'"),
        (["empty.py"], "it has no SUITE"),
    ],
)
def test_wrong_words_are_one_clear_message(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(CLASS)
    Path("broken.py").write_text("x = 1\ny = x / 0\n")
    Path("empty.py").write_text("")
    two = "".join(CLASS.replace("Mine", name) for name in "AB")
    Path("two.py").write_text(two)
    Path("bad.toml").write_text("[tcp\n")
    Path("other.toml").write_text('[tcp]\ncongestion = "cubic"\n[run]\nseed = 3\n')
    Path("wrong.toml").write_text('[tcp]\ncongestoin = "cubic"\n')
    code, out, err = command("suite", *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err
    assert not os.path.exists("results"), "nothing is written"


def test_a_class_with_a_mistake_is_found_before_all_runs_are_made(small, command, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(CLASS.replace("self.window += 0", "self.widow += 1"))
    code, out, err = command("suite", str(small), "--policy", f"{file}:Mine", "--out", str(tmp_path / "r"))
    assert (code, out) == (2, "")
    assert "AttributeError" in err
    assert not (tmp_path / "r").exists()


def test_lines_name_the_largest_difference_first_and_the_rest_by_number():
    situation = place(GAIN, LOSS)
    suite = Suite("x", "X", "?", "nobody", (situation,), beside=("cubic", "bbr3"))
    every = [Entry(name, {}) for name in ("mine", "cubic", "bbr3")]
    made = running.Made(
        suite,
        every[:1],
        every,
        (situation,),
        running.plan(suites.find("leo"), *controls("hybla"), Scale(3), only=["orbits"]).plan,
    )
    held = {
        ("s", "goodput", "mine"): values(9e6, 9.1e6, 9e6), ("s", "goodput", "cubic"): values(3e6, 3e6, 3.1e6),
        ("s", "goodput", "bbr3"): values(6e6, 6e6, 6.1e6), ("s", "loss", "mine"): values(0.02, 0.02, 0.02),
        ("s", "loss", "cubic"): values(0.02, 0.02, 0.02), ("s", "loss", "bbr3"): values(0.01, 0.01, 0.01),
    }  # fmt: skip
    outcome = running.Outcome(made, held, {"mine": judging.judge([situation], "mine", suite.beside, held)}, 1.5, 0)
    lines = written.lines(outcome, "mine")
    assert lines[1].startswith("better  A place: goodput 9.03 Mbit/s, × 3 of cubic (2.9 to 3.1), × 1.5 of bbr3")
    assert lines[2] == "worse   A place: loss 2 %, bbr3 1 %, as cubic"
    assert lines[-1].startswith("4 comparisons: 1 without a difference that counts, 0 unclear; 1.5 s of CPU time for")


def test_a_short_queue_of_one_that_carries_less_is_not_praised():
    situation = place(GAIN, Measure("loss", "loss_rate", "share", less=True, absolute=True, least=0.001, behind=True))
    suite = Suite("x", "X", "?", "nobody", (situation,), beside=("cubic", "bbr3"))
    every = [Entry(name, {}) for name in ("mine", "cubic", "bbr3")]
    plan = running.plan(suites.find("leo"), *controls("hybla"), Scale(3), only=["orbits"]).plan
    held = {
        ("s", "goodput", "mine"): values(1e6, 1.1e6, 1e6), ("s", "goodput", "cubic"): values(1e6, 1.1e6, 1e6),
        ("s", "goodput", "bbr3"): values(9e6, 9e6, 9.1e6), ("s", "loss", "mine"): values(0.01, 0.01, 0.01),
        ("s", "loss", "cubic"): values(0.02, 0.02, 0.02), ("s", "loss", "bbr3"): values(0.04, 0.04, 0.04),
    }  # fmt: skip
    compared = {"mine": judging.judge([situation], "mine", suite.beside, held)}
    found = written.verdicts(
        running.Outcome(running.Made(suite, every[:1], every, (situation,), plan), held, compared, 1.0, 0), "mine"
    )
    assert [(one.word, one.measure.name, [other.beside for other in one.compared]) for one in found] == [
        ("worse", "goodput", ["cubic", "bbr3"]),
        ("better", "loss", ["cubic"]),
    ]


def tcp_is_the_same_for_all() -> dict[str, object]:
    return {key: value for key, value in tcp("reno").items() if key != "congestion"}


def test_candidates_and_others_differ_in_the_control_alone():
    entry = entries.named(suites.find("leo"), "bbr3")
    assert {key: value for key, value in tcp(entry).items() if key != "congestion"} == tcp_is_the_same_for_all()
