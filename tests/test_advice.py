"""What to change: the right remedy for situations whose best one is known, and an honest answer where none helps."""

import io
import json
import math
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import longhaul
import pytest
from longhaul import Scenario, advise, core
from longhaul.advice import _ranked
from longhaul.advice.diagnosis import Diagnosis
from longhaul.advice.race import Race, Trial, interval
from longhaul.advice.remedies import remedies
from longhaul.advice.remedy import Remedy
from longhaul.cli.advising import _print
from longhaul.experience import Experience
from longhaul.scenario import as_document
from rich.console import Console

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from advice_situations import SITUATIONS  # noqa: E402

#: So few runs that a test takes seconds; the documentation's table has the default budget.
QUICK = 70


#: Situations whose search takes more than ten seconds of processor time.
SLOW = {"no-scaling", "too-many", "random-loss", "bufferbloat", "small-buffer", "fading", "unfair"}
CASES = [
    pytest.param(one, id=one.id, marks=[pytest.mark.slow("ten seconds of processor time")] if one.id in SLOW else [])
    for one in SITUATIONS
]


@pytest.mark.parametrize("situation", CASES)
def test_the_best_remedy_of_known_situations(situation):
    found = advise(Scenario.from_toml(situation.scenario), groups=situation.groups, seconds=None, runs=QUICK)
    assert found.best is not None, found.headline
    # The first row: of those that give nine tenths of the best the smallest change.
    assert any(word in found.best.title for word in situation.words), str(found)
    # What it names can be set, and gives what it promises.
    settings = dict(found.best.remedy.settings)
    before = longhaul.run(Scenario.from_toml(situation.scenario), tables=False)
    after = longhaul.run(Scenario.from_toml(situation.scenario), set=settings, tables=False)
    assert before.run_id != after.run_id
    if situation.id in ("too-many", "unfair"):
        assert after.metrics["jain_index"] > before.metrics["jain_index"] + 0.05
    elif "goodput" in found.best.qoe:
        assert after.metrics["goodput_bps"] > 1.02 * before.metrics["goodput_bps"]


def full(rate="2 Mbit/s", queue="20 packets", **tcp):
    return (
        Scenario("full", duration="30 s", warmup="5 s")
        .link("path", "a", "b", rate=rate, delay="10 ms", queue=queue)
        .flow("a", "b", tcp=tcp)
    )


def test_nothing_helps_where_the_link_is_the_limit():
    found = advise(full(), seconds=None, runs=30)
    assert found.best is None
    assert found.limit_reached
    assert found.headline.startswith("Nothing will help: the link's own limit is reached.")
    # 2 Mbit/s x 1460 / 1500.
    assert found.limits[0].bound == pytest.approx(2e6 * 1460 / 1500, rel=0.01)


def test_small_packets_of_another_group_are_no_bound():
    """A call of 64 kbit/s with small packets beside it lowered the bound of a download by a sixth, below what it had."""
    scenario = full(rate="10 Mbit/s").flow(
        "a", "b", name="call", transport="udp", app={"kind": "cbr", "rate": "64 kbit/s", "message": "160 B"}
    )
    bounds = {one.group: one.bound for one in advise(scenario, seconds=None, runs=12).limits}
    assert bounds["flow"] == pytest.approx(1e7 * 1460 / 1500, rel=0.01)


def test_outages_are_no_limit_of_a_link():
    """At nine tenths of its rate "the link's own limit is reached" stood above a cause that cost the tenth."""
    outages = [{"start": f"{begin} s", "duration": "300 ms"} for begin in range(6, 30, 5)]
    scenario = (
        Scenario("torn", duration="30 s", warmup="5 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="10 ms", queue="100 packets", outages=outages)
        .flow("a", "b", tcp={"variant": "newreno", "congestion": "reno"})
    )
    found = advise(scenario, seconds=None, runs=30)
    assert "outage" in found.findings
    assert "Nothing will help" not in found.headline


def test_a_budget_is_kept_and_its_end_is_named():
    scenario = full(rate="10 Mbit/s", receive_buffer="8 kB")
    # A quarter of the runs is for causes: the second run of the scenario as it is looks for chance.
    for runs, tried_then in ((1, 0), (3, 1)):
        found = advise(scenario, seconds=None, runs=runs)
        assert found.runs == runs
        assert found.best is None
        tried, fit = len(found.rows), len(found.rows) + found.out_of_budget
        assert tried == tried_then < fit
        assert f"({tried} of {fit} remedies tried): give a larger budget" in found.headline
        # A single seed shows what is promising, not what is certain.
        assert ("Most promising so far: " in found.headline) == bool(found.rows)
    # One run more makes the best row certain before any other remedy is tried.
    found = advise(scenario, seconds=None, runs=4)
    assert (found.runs, len(found.rows), found.best.verdict) == (4, 1, "better")


def test_a_run_that_is_under_way_when_the_time_is_over_is_ended():
    """A download of 1 Gbit/s had a run finished for 25 s behind the end of its 60."""
    scenario = (
        Scenario("long", duration="100000 s").link("path", "a", "b", rate="1 Gbit/s", delay="5 ms").flow("a", "b")
    )
    document = as_document(scenario)
    content = tomllib.loads(core.resolve(document, ())[0])
    race = Race(document, (), content, seconds=0.5)
    trial = Trial(None)
    race.run([(trial, 0)])
    assert (race.made, trial.qoe, trial.failure, race.over) == (0, {}, None, True)


def test_only_what_can_be_changed_is():
    scenario = full(rate="10 Mbit/s", receive_buffer="8 kB")
    found = advise(scenario, can=["router"], seconds=None, runs=30)
    assert all(row.remedy.place == "router" for row in found.rows)
    assert found.best is None
    assert any("the receiver cannot be changed" in one.why for one in found.untried)
    found = advise(scenario, can=["receiver"], seconds=None, runs=30)
    assert found.best is not None
    assert found.best.remedy.family == "receive buffer"
    assert "net.ipv4.tcp_rmem" in found.best.remedy.linux


def test_the_least_change_that_reaches_a_goal():
    scenario = (
        Scenario("short", duration="20 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="250 ms")
        .flow("a", "b", app={"kind": "bulk", "size": "60 kB"})
    )
    found = advise(scenario, goal="completion < 1.5 s", seconds=None, runs=60)
    assert found.goal_row is not None
    assert found.goal_row.remedy.effort == 1
    assert found.goal_row.after["flow"].values["completion_time_mean_s"] < 1.5
    assert found.goal_row.before["flow"].values["completion_time_mean_s"] > 1.5
    # A round trip for the handshake, half of one for data: no change of TCP reaches 0.7 s.
    found = advise(scenario, goal="completion < 0.7 s", seconds=None, runs=60)
    assert found.goal_row is None
    assert "Nothing that was tried reaches the goal" in found.headline
    assert advise(scenario, goal="completion < 1 h", runs=20).goal_met_already


def one_link(**link):
    settings = {"rate": "10 Mbit/s", "delay": "100 ms", "queue": "1000 packets"} | link
    return Scenario("least", duration="40 s", warmup="10 s").link("path", "a", "b", **settings)


@pytest.mark.parametrize("buffer", ["receive_buffer", "send_buffer"])
def test_the_least_buffer_is_goodput_times_round_trip(buffer):
    scenario = one_link().flow("a", "b", tcp={buffer: "32 KiB"})
    found = advise(scenario, goal="goodput > 6 Mbit/s", can=["sender", "receiver"], seconds=None, runs=120)
    least = next(one for one in found.least if buffer.replace("_", " ") in one.title)
    value = int(least.row.remedy.settings[f"flow.0.tcp.{buffer}"].removesuffix(" KiB"))
    # Two delays of 100 ms, and 1500 bytes at 10 Mbit/s.
    assert value * 1024 == pytest.approx(6e6 / 8 * (0.2 + 0.0012), rel=0.02)
    (number,) = least.turned
    assert number.settled
    # Without randomness two equal runs stand for every seed.
    assert number.least.met == number.least.reached.n >= 5
    assert number.least.reached.low > 6e6 > number.short.reached.high
    # One KiB less than 150 of them: the next number that was tried is within 2 %.
    assert 0 < value - number.short.value <= 2
    assert least.text == f"{value} KiB: 6.002 Mbit/s; {number.short.text}: 5.923 Mbit/s"


def test_the_least_queue_holds_a_burst_whole():
    scenario = (
        Scenario("burst", duration="20 s")
        .link("lan", "server", "hub", rate="1 Gbit/s", delay="1 ms")
        .link("satellite", "hub", "client", rate="10 Mbit/s", delay="250 ms", queue="20 packets")
        .flow("server", "client", name="burst", app={"kind": "bulk", "size": "73 kB"},
              tcp={"initial_window": "50 packets", "established": True})
    )  # fmt: skip
    goal = "link.satellite.forward.drops_queue < 1"
    found = advise(scenario, goal=goal, can=["router"], seconds=None, runs=100)
    assert found.goal_row is not None
    # 50 segments and the end of the stream, before the link has sent the first: its 1.2 ms are more than 51 times 12 us.
    assert found.goal_row.title == "a queue of 51 packets at satellite (hub → client)"
    assert found.least[0].turned[0].short.reached.mean == 1
    assert found.headline.startswith(f"The least change that reaches {goal}: a queue of 51 packets")


def test_of_two_numbers_each_is_the_least():
    scenario = (
        Scenario("two", duration="40 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="250 ms")
        .flow("a", "b", app={"kind": "bulk", "size": "900 kB"}, tcp={"receive_buffer": "64 KiB"})
    )
    found = advise(scenario, goal="completion < 3 s", can=["sender", "receiver"], seconds=None, runs=200)
    two = next(one for one in found.least if len(one.turned) == 2)
    assert [one.what for one in two.turned] == ["receive buffer", "initial window"]
    settings = dict(two.row.remedy.settings)
    assert longhaul.run(scenario, set=settings, tables=False).metrics["completion_time_mean_s"] < 3
    for path, one in zip(settings, two.turned, strict=True):
        smaller = settings | {path: one.short.text}
        assert longhaul.run(scenario, set=smaller, tables=False).metrics["completion_time_mean_s"] > 3
    assert "receive buffer" in two.text
    assert "initial window" in two.text


def test_the_least_number_is_that_of_every_seed():
    scenario = (
        Scenario("transfers", duration="60 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="150 ms", queue="200 packets", loss="0.2 %")
        .flow("a", "b", name="t", count=20, start={"uniform": ["0 s", "30 s"]}, app={"kind": "bulk", "size": "300 kB"})
    )
    found = advise(scenario, goal="completion < 1.5 s", can=["sender"], seconds=None, runs=100)
    least = next(one for one in found.least if "initial window" in one.title)
    (number,) = least.turned
    assert number.least.met == 5
    assert number.short.met < 5
    for seed in range(1, 6):
        result = longhaul.run(scenario, set=dict(least.row.remedy.settings), seed=seed, tables=False)
        assert result.metrics["completion_time_mean_s"] < 1.5
    assert least.to_dict()["numbers"][0]["least"]["seeds"] == 5


def test_a_search_that_the_budget_ends_is_not_settled():
    scenario = one_link().flow("a", "b", tcp={"receive_buffer": "32 KiB"})
    found = advise(scenario, goal="goodput > 6 Mbit/s", can=["receiver"], seconds=None, runs=16)
    assert found.goal_row is not None
    assert not found.least[0].turned[0].settled
    assert "the budget ended" in found.least[0].text
    # What was found by then reaches the goal all the same.
    assert longhaul.run(scenario, set=dict(found.goal_row.remedy.settings), tables=False).metrics["goodput_bps"] > 6e6


def test_a_larger_number_is_never_lowered():
    scenario = one_link().flow("a", "b", tcp={"receive_buffer": "8 MiB", "initial_window": "100 packets"})
    content = tomllib.loads(core.resolve(as_document(scenario), ())[0])
    found = Diagnosis(longhaul.run(scenario, tables=False).summary, content, ["flow"], {"flow": "0"})
    titles = [remedy.title for remedy in remedies(found) if remedy.settings]
    assert not any("receive buffer" in title or "initial window" in title for title in titles)


def test_neighbours_pay_and_are_shown():
    scenario = (
        Scenario("two", duration="60 s", warmup="10 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="40 ms", queue="60 packets", loss="0.2 %")
        .flow("a", "b", name="mine", tcp={"congestion": "reno"})
        .flow("a", "b", name="theirs", tcp={"congestion": "reno"})
    )
    found = advise(scenario, groups=["mine"], can=["sender"], seconds=None, runs=60)
    assert found.best is not None
    assert set(found.best.remedy.settings) <= {
        f"flow.mine.{key}" for key in ("tcp.congestion", "streams", "tcp.variant", "tcp.rate_reduction")
    }
    assert any(cost.startswith("theirs: goodput") for row in found.better for cost in row.costs)


def test_unfinished_transfers_count_with_the_time_they_would_take():
    scenario = (
        Scenario("late", duration="10 s")
        .link("path", "a", "b", rate="1 Mbit/s", delay="10 ms")
        .flow("a", "b", app={"kind": "bulk", "size": "10 MB"})
    )
    found = advise(scenario, can=["sender"], seconds=None, runs=10)
    # 10 MB at 0.973 Mbit/s.
    assert found.before["flow"].values["completion_time_mean_s"] == pytest.approx(82, rel=0.05)
    assert found.before["flow"].unfinished == (1, 1)


def test_flows_of_quic_get_what_is_not_tcps():
    example = Scenario.from_toml(longhaul_example("quic-geo"))
    found = advise(example, seconds=None, runs=6)
    assert not any("tcp" in path for row in found.rows for path in row.remedy.settings if path.startswith("flow.quic-"))


def longhaul_example(name):
    return (ROOT / "examples" / f"{name}.toml").read_text()


def test_an_interval_of_few_values():
    assert interval([0.5]).low == -float("inf")
    found = interval([1.0, 2.0, 3.0])
    # t(0.975, 2) = 4.303; 4.303 / sqrt(3) = 2.484.
    assert (round(found.low, 3), round(found.high, 3)) == (-0.484, 4.484)


def test_the_command_prints_settings_that_can_be_pasted(command, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(full(rate="10 Mbit/s", receive_buffer="8 kB").to_toml())
    outcome = command("advise", file, "--can", "receiver", "--budget", "20 runs")
    assert outcome.code == 0, outcome.err
    assert "Change this: receive buffer of" in outcome.out
    assert "sysctl -w net.ipv4.tcp_window_scaling=1" in outcome.out
    line = next(text for text in outcome.out.splitlines() if "--set" in text)
    path, _, value = line.split("--set ")[1].strip("'").partition("=")
    again = command("run", file, "--set", f"{path}={value}", "--out", tmp_path / "r", "--json")
    assert again.code == 0, again.err
    assert json.loads(again.out)["run"]["goodput_bps"] > 5e6
    # A result is as good as its scenario; the resolved one names every flow.
    outcome = command("advise", tmp_path / "r", "--budget", "20 runs", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["limits"][0]["reached"]
    outcome = command("run", file, "--advise", "--out", tmp_path / "r2", "-q")
    assert outcome.code == 0
    assert "Change this" in outcome.out


def test_no_word_is_broken_at_eighty_columns(scenario):
    """ "(longhaul-pep)" was, and every line of the table ended somewhere else."""
    found = advise(scenario, can=["sender", "receiver", "proxy"], seconds=None, runs=12)
    row = found.rows[0]
    remedy = replace(row.remedy, title="a proxy at hub (longhaul-pep) with an incomparably long name")
    rows = [replace(row, remedy=remedy, verdict="better", costs=("queueing delay p95 240 ms → 136 ms",))]
    printed = io.StringIO()
    _print(Console(file=printed, width=80), replace(found, rows=rows), show_all=True)
    table = printed.getvalue().partition("Change  ")[2].partition("\n\n")[0]
    assert "incomparably" in table
    assert all(word in table.split() for word in remedy.title.split())
    assert max(map(len, table.splitlines())) <= 80
    assert "cost: queueing delay p95 240 ms → 136 ms" in printed.getvalue()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--can", "sender,moon"], "--can moon: no such place; choose from sender, receiver, router, proxy"),
        (["--goal", "quick"], "write a metric, < or >, and a value"),
        (["--goal", "completion < 5 parsecs"], "is no value with a unit"),
        (["--goal", "completion < 5 Mbit/s"], "the value needs a unit of s"),
        (["--goal", "complete_time_mean_s < 5 s"], "there is no metric 'complete_time_mean_s' in this scenario's results"),
        (["--groups", "nobody"], "no group 'nobody'; the groups are"),
        (["--budget", "soon"], "write a time or a number of runs"),
        (["--budget", "0 runs"], "write a time or a number of runs"),
    ],
)  # fmt: skip
def test_bad_input_of_advise(command, scenario, arguments, message):
    outcome = command("advise", scenario, *arguments)
    assert outcome.code == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


def test_the_command_prints_the_least_numbers(command, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(one_link().flow("a", "b", name="f", tcp={"receive_buffer": "32 KiB"}).to_toml())
    arguments = ("advise", file, "--can", "receiver", "--goal", "goodput > 6 Mbit/s", "--budget", "100 runs")
    outcome = command(*arguments)
    assert outcome.code == 0, outcome.err
    shown = outcome.out.partition("Least numbers that reach goodput > 6 Mbit/s")[2]
    assert "149 KiB: 6.002 Mbit/s; 148 KiB: 5.923 Mbit/s" in shown
    assert "--set 'flow.f.tcp.receive_buffer=149 KiB'" in shown
    assert "net.ipv4.tcp_rmem=" in shown
    found = json.loads(command(*arguments, "--json").out)["least"][0]
    assert found["settings"] == {"flow.f.tcp.receive_buffer": "149 KiB"}
    assert found["numbers"][0]["as_it_is"] == "32 KiB"


def test_a_goal_that_is_not_reached_is_exit_code_1(command, scenario):
    outcome = command("advise", scenario, "--goal", "goodput > 1 Gbit/s", "--budget", "10 runs")
    assert outcome.code == 1
    assert "Nothing that was tried reaches the goal" in outcome.out


def test_two_limits_of_which_each_hides_the_other_are_found_as_a_pair():
    """With either buffer larger the other one is the limit at once: alone neither gains anything."""
    scenario = one_link().flow("a", "b", name="f", tcp={"receive_buffer": "32 KiB", "send_buffer": "32 KiB"})
    found = advise(scenario, can=["sender", "receiver"], seconds=None, runs=80)
    assert found.best is not None
    families = set(found.best.remedy.family.split("+"))
    assert families == {"receive buffer", "send buffer"}
    # 32 KiB in a round trip of 0.2 s are 1.3 Mbit/s, of 10.
    assert math.exp(found.best.gain.mean) > 5
    singles = [row for row in found.rows if row.remedy.family in families]
    assert all(row.verdict == "nothing" for row in singles)


def test_a_goal_beyond_the_numbers_that_are_tried():
    """A window of 64 packets at most is tried: a first flight of 300 kB takes more."""
    scenario = (
        Scenario("far", duration="20 s")
        .link("path", "a", "b", rate="1 Gbit/s", delay="250 ms", queue="5000 packets")
        .flow("a", "b", name="f", app={"kind": "bulk", "size": "300 kB"}, tcp={"established": True})
    )
    found = advise(scenario, goal="completion < 0.4 s", can=["sender"], seconds=None, runs=150)
    least = next(one for one in found.least if "initial window" in one.title)
    # 300 kB are 206 segments, which have to leave before the first ACK.
    assert least.row.remedy.settings == {"flow.f.tcp.initial_window": "206 packets"}
    assert found.headline.startswith("The least change that reaches completion < 0.4 s: initial window of 206 packets")


def test_reordering_is_found_and_mended():
    """Each packet that is late by 20 ms is passed by up to 33 at 20 Mbit/s, and taken for lost after three."""
    scenario = (
        Scenario("reordering", duration="30 s")
        .link(
            "path", "a", "b", rate="20 Mbit/s", delay="50 ms", queue="400 packets",
            forward={"reordering": {"probability": 0.02, "delay": "20 ms"}},
        )
        .flow("a", "b", name="f")
    )  # fmt: skip
    found = advise(scenario, can=["sender"], seconds=None, runs=60)
    assert found.findings["reordering"].startswith("reordering on path (a → b): without it × ")
    helps = {row.title: math.exp(row.gain.mean) for row in found.better}
    assert helps["a loss is what 100 later packets pass (duplicate_threshold)"] > 8
    assert helps["congestion control bbr"] > 8
    assert helps["RACK and tail loss probes"] > 8
    assert found.best.remedy.place == "sender"


def test_lost_acks_are_no_small_messages():
    scenario = (
        Scenario("acks", duration="60 s")
        .link("path", "a", "b", delay="50 ms", rate="10 Mbit/s", queue="200 packets", reverse={"loss": "60 %"})
        .flow("a", "b", name="f")
    )
    advice = advise(scenario, can=["sender", "receiver"], seconds=None, runs=60)
    assert advice.findings["loss of ACKs"].startswith("random loss on path (b → a), 69.2 % of the ACKs: without it × ")
    assert "small messages" not in advice.findings
    assert any("bbr" in row.title or "streams" in row.title for row in advice.better)


def test_an_outage_of_both_directions_is_one_and_no_loss_of_the_link():
    outages = [{"start": "5 s", "duration": "5 s"}, {"start": "20 s", "duration": "5 s"}]
    scenario = (
        Scenario("outages", duration="40 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="30 ms", queue="200 packets", outages=outages)
        .flow("a", "b", name="f")
    )
    found = advise(scenario, seconds=None, runs=80)
    assert found.findings["outage"].startswith("2 outages of path (a → b), 10 s in all")
    assert "loss on the link" not in found.findings


def test_the_rate_of_a_throttle_is_a_limit():
    scenario = (
        Scenario("policed", duration="40 s", warmup="5 s")
        .link("lan", "server", "hub", rate="1 Gbit/s", delay="5 ms")
        .link("path", "hub", "client", rate="50 Mbit/s", delay="50 ms")
        .middlebox("hub", "throttle", name="pol", rate="5 Mbit/s", burst="20 kB",
                   queue={"kind": "droptail", "limit": "1 packets"})
        .flow("server", "client", name="f", tcp={"congestion": "bbr", "variant": "rack"})
    )  # fmt: skip
    found = advise(scenario, can=["router"], seconds=None, runs=20)
    assert found.headline.startswith("Nothing will help: the throttle's rate is reached.")
    assert "the throttle pol at hub, 5 Mbit/s allows at most 4.87 Mbit/s" in found.headline
    assert found.to_dict()["limits"][0]["of"] == "throttle"


def test_an_application_with_a_rate_of_its_own_is_the_limit():
    scenario = (
        Scenario("steady", duration="30 s", warmup="5 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="100 ms")
        .flow("a", "b", name="f", app={"kind": "cbr", "rate": "1 Mbit/s"})
    )
    found = advise(scenario, seconds=None, runs=20)
    assert found.headline.startswith("Nothing will help: the application's own rate is reached.")
    assert "the application, which sends 1 Mbit/s, allows at most 1 Mbit/s" in found.headline
    assert "pauses" not in found.findings


def test_connections_that_persist_and_a_window_that_is_kept_help_together():
    scenario = (
        Scenario("pages", duration="60 s")
        .link("path", "user", "server", rate="20 Mbit/s", delay="290 ms", queue="1000 packets")
        .flow("user", "server", name="f", tcp={"initial_window": 3},
              app={"kind": "web", "objects": 10, "think": "2 s", "document": "30 kB", "object": "15 kB"})
    )  # fmt: skip
    found = advise(scenario, can=["sender"], seconds=None, runs=60)
    assert "pauses" not in found.findings
    rows = {row.title: row for row in found.rows}
    pair = next(row for title, row in rows.items() if "persistent" in title and "kept" in title)
    assert math.exp(pair.gain.mean) > 1.25
    for title in ("objects share persistent connections", "the window is kept in pauses"):
        assert rows[title].verdict == "nothing"


def test_the_factor_is_the_ratio_of_the_values_shown():
    scenario = full(rate="10 Mbit/s", queue="20 packets", congestion="reno").flow("a", "b", name="other", start="1 s")
    found = advise(scenario, groups=["flow"], can=["sender"], seconds=None, runs=40)
    assert found.rows
    for row in found.rows:
        old, new = (side["flow"].values["goodput_bps"] for side in (row.before, row.after))
        assert new / old == pytest.approx(math.exp(row.gain.mean), rel=1e-9)


def test_a_larger_change_that_gives_little_more_is_named_behind_the_smaller_one():
    scenario = (
        Scenario("lossy", duration="30 s")
        .link("lan", "server", "hub", rate="1 Gbit/s", delay="5 ms")
        .link("path", "hub", "client", rate="20 Mbit/s", delay="250 ms", queue="1000 packets", forward={"loss": "1 %"})
        .flow("server", "client", name="f", tcp={"congestion": "reno"})
    )
    found = advise(scenario, can=["sender", "proxy"], seconds=None, runs=60)
    rows = {row.title: row for row in found.better}
    proxy, host = rows["a proxy at hub, BBR from there on"], rows["congestion control bbr"]
    assert (proxy.remedy.effort, host.remedy.effort) == (4, 1)
    found = replace(found, rows=[host, proxy])
    more = replace(proxy, gain=replace(proxy.gain, mean=host.gain.mean + math.log(1.08)))
    found = replace(found, rows=[host, more])
    assert found.best is host
    assert found.larger is more
    assert "A larger change gives little more: a proxy at hub, BBR from there on (proxy), × " in found.headline
    assert replace(found, rows=[more, host]).larger is None


def test_what_linux_commands_are_of(command, tmp_path):
    """The numbers of another stack than Linux's are named so, and a command that needs a folder has it."""
    file = tmp_path / "s.toml"
    lossy = one_link(rate="10 Mbit/s", loss="1 %")
    file.write_text(lossy.flow("a", "b", name="f").to_toml())
    arguments = ("advise", file, "--can", "sender", "--budget", "30 runs")
    shown = command(*arguments).out
    assert shown.count("The numbers hold for tcp.variant = sack, the commands are for Linux") == 1
    assert "--set flow.f.tcp.variant=linux" in shown
    assert "The numbers hold for" not in command(*arguments, "--set", "flow.f.tcp.variant=linux").out


def undiagnosed(scenario):
    """What remedies are made for, without causes."""
    content = tomllib.loads(core.resolve(as_document(scenario), ())[0])
    return Diagnosis(longhaul.run(scenario, tables=False).summary, content, ["f"], {"f": "f"})


def test_a_proxy_s_buffer_is_half_a_bandwidth_delay_product_and_its_files_have_a_folder():
    scenario = (
        Scenario("proxy", duration="30 s")
        .link("lan", "server", "hub", rate="1 Gbit/s", delay="5 ms")
        .link("path", "hub", "edge", rate="20 Mbit/s", delay="250 ms", queue="1000 packets", forward={"loss": "1 %"})
        .link("home", "edge", "client", rate="1 Gbit/s", delay="1 ms")
        .flow("server", "client", name="f")
    )
    made = [one for one in remedies(undiagnosed(scenario)) if one.family == "proxy" and "buffer" in str(one.settings)]
    # Half of 20 Mbit/s times 513 ms, in packets of 1500 bytes with 1460 of payload.
    sizes = {box["buffer"] for one in made for box in one.settings["middlebox"] if box["kind"] == "split"}
    assert sizes == {"610 KiB"}
    assert any("longhaul pep-config SCENARIO --out DIR;" in one.linux for one in made)


def test_a_budget_without_room_for_a_remedy_says_so():
    found = advise(full(rate="10 Mbit/s", receive_buffer="8 kB"), seconds=None, runs=1)
    assert "give a larger budget. The run of the scenario as it is took " in found.headline


def test_all_shows_the_section_of_each_proxy(command, tmp_path):
    scenario = Scenario("lossy", duration="20 s", warmup="2 s")
    scenario = scenario.link("lan", "server", "hub", rate="1 Gbit/s", delay="10 ms", queue="1000 packets")
    scenario = scenario.link("path", "hub", "client", rate="10 Mbit/s", delay="100 ms", queue="200 packets", loss="1 %")
    file = tmp_path / "lossy.toml"
    file.write_text(as_document(scenario.flow("server", "client")).text)
    outcome = command("advise", file, "--can", "proxy", "--budget", "60 runs", "--all")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count(", as a scenario has it:") >= 2
    assert outcome.out.count("[[middlebox]]") == outcome.out.count(", as a scenario has it:")


def _trial(title, effort, *gains):
    """A trial whose group has e to the power of the gains, beside a scenario as it is that has 1 bit/s."""
    trial = Trial(Remedy(title, title, "sender", {title: 1}, frozenset(), effort=effort))
    for seed, one in enumerate(gains):
        trial.qoe[seed] = {"f": Experience("f", "streams", {"goodput_bps": math.exp(one)})}
    return trial


def test_the_smaller_of_two_changes_that_give_nearly_the_same_stands_first():
    """A buffer gives 20 times, an accelerator at two sites 22 times: the remedy that everybody knows is the answer."""
    base = Trial(None, {seed: {"f": Experience("f", "streams", {"goodput_bps": 1.0})} for seed in range(3)})
    buffer = _trial("buffer", 1, *[math.log(20.0)] * 3)
    box = _trial("box", 4, *[math.log(22.0)] * 3)
    half = _trial("half", 1, *[math.log(10.0)] * 3)
    ranked = [one.remedy.title for one in _ranked(base, [half, box, buffer], ["f"])]
    assert ranked == ["buffer", "box", "half"]


def test_a_pair_has_no_part_that_makes_it_worse_alone():
    base = Trial(None, {seed: {"f": Experience("f", "streams", {"goodput_bps": 1.0})} for seed in range(3)})
    good, bad = _trial("good", 1, 0.5, 0.5, 0.5), _trial("nagle", 1, -0.2, -0.2, -0.2)
    pair = _trial("good; nagle", 2, 0.9, 0.9, 0.9)
    assert [one.remedy.title for one in _ranked(base, [good, bad, pair], ["f"])] == ["good", "nagle"]
    fine = _trial("nagle", 1, 0.01, 0.01, 0.01)
    assert _ranked(base, [good, fine, pair], ["f"])[0].remedy.title == "good; nagle"


def test_queues_are_tried_on_both_directions_of_a_link(capsys):
    """Calls beside uploads and downloads over DSL: a queue of one direction alone leaves one of the calls at 1."""
    calls = {"app": {"kind": "cbr", "rate": "64 kbit/s", "message": "160 B", "voice": True}, "tcp": {"nagle": False}}
    scenario = (
        Scenario("dsl", duration="20 s", warmup="5 s")
        .link(
            "dsl", "home", "isp", delay="20 ms", forward={"rate": "1 Mbit/s", "queue": "300 packets"},
            reverse={"rate": "6 Mbit/s", "queue": "1500 packets"},
        )
        .flow("home", "isp", name="call-up", **calls)
        .flow("isp", "home", name="call-down", **calls)
        .flow("home", "isp", name="up")
        .flow("isp", "home", name="down", count=2)
    )  # fmt: skip
    found = advise(scenario, groups=["call-up", "call-down"], can=["router"], seconds=None, runs=50)
    assert found.best.title == "fq_codel on both directions of dsl"
    assert all(found.best.before[name].values["mos"] < 1.5 for name in ("call-up", "call-down"))
    assert all(found.best.after[name].values["mos"] > 4.0 for name in ("call-up", "call-down"))
    _print(Console(file=io.StringIO(), width=160), found, False)
    assert "Ranked by the factor" in capsys.readouterr().out


def test_completions_of_transfers_that_did_not_end_are_marked():
    scenario = (
        Scenario("long", duration="5 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms", queue="1000 packets")
        .flow("a", "b", name="f", app={"kind": "bulk", "size": "50 MB"}, tcp={"receive_buffer": "32 kB"})
    )
    found = advise(scenario, can=["receiver"], seconds=None, runs=20)
    assert "(extrapolated)" in found.best.qoe
    assert (
        "extrapolated"
        not in advise(scenario, set={"flow.f.app.size": "1 MB"}, can=["receiver"], seconds=None, runs=20).best.qoe
    )


#: Linux' maxima of both buffers at a fortieth of their size, over a path that is as much too long for them as 1 Gbit/s and 200 ms.
BOTH_BUFFERS = (
    Scenario("both buffers", duration="20 s")
    .link("wan", "a", "b", rate="25 Mbit/s", delay="100 ms", queue="1000 packets")
    .flow(
        "a", "b", name="f", tcp={"variant": "linux", "receive_autotuning": {"max": "200 kB"}, "send_buffer": "105 kB"}
    )
)


def test_what_the_waterfall_proved_together_is_tried_first_and_made_certain():
    """With room for ten of twenty remedies the pair of both buffers is a row that is certain; it came after all of them."""
    found = advise(BOTH_BUFFERS, seconds=None, runs=40)
    assert found.best is not None, found.headline
    assert set(found.best.remedy.settings) == {"flow.f.tcp.receive_autotuning.max", "flow.f.tcp.send_buffer"}
    assert found.best.verdict == "better"
    assert found.out_of_budget
    assert "tcp_rmem" in found.best.remedy.linux
    assert "tcp_wmem" in found.best.remedy.linux


@pytest.mark.alone
@pytest.mark.slow("the default budget, a minute")
def test_the_maxima_of_both_buffers_are_the_first_row_for_linux_defaults_over_a_long_fat_path():
    """163 Mbit/s of 1 Gbit/s at 200 ms; each buffer alone gives 1.07 times that or nothing, both 5 times and more."""
    found = advise(Path(__file__).with_name("situations") / "28-linux-defaults-lfn.toml")
    assert found.best is not None, found.headline
    assert set(found.best.remedy.settings) == {"flow.f.tcp.receive_autotuning.max", "flow.f.tcp.send_buffer"}
    assert found.best.verdict == "better"
    assert math.exp(found.best.gain.mean) > 5.0
    assert found.best.after["f"].values["goodput_bps"] > 850e6


def test_a_fixed_so_rcvbuf_is_left_to_the_kernel_or_raised():
    scenario = (
        Scenario("iperf -w", duration="25 s", warmup="5 s")
        .link("wan", "a", "b", rate="20 Mbit/s", delay="100 ms", queue="600 packets")
        .flow("a", "b", name="f", tcp={"variant": "linux", "so_rcvbuf": "64 kB", "so_sndbuf": "1 MB"})
    )
    found = advise(scenario, can=["receiver"], seconds=None, runs=40)
    rows = {row.title: row for row in found.better}
    left, raised = (
        rows["a receive buffer that the kernel autotunes, in place of a fixed SO_RCVBUF"],
        rows["SO_RCVBUF of 820 KiB"],
    )
    # A bound of the kernel and a number in the application are the larger change.
    assert found.best is left
    assert left.remedy.settings["flow.f.tcp.so_rcvbuf"] == "off"
    # 5/8 of twice the argument are window.
    assert raised.remedy.settings == {"flow.f.tcp.so_rcvbuf": "820 KiB"}
    assert "setsockopt(socket, SOL_SOCKET, SO_RCVBUF, 839680)" in raised.remedy.linux
    # A first window of 64,000 bytes needs no window scale: 65,535 bytes over 200 ms at most; Linux 6.18 has 2.55 Mbit/s.
    assert found.best.before["f"].values["goodput_bps"] == pytest.approx(2.55e6, rel=0.01)


def test_all_rows_have_one_baseline():
    """Rows with more seeds had other numbers before: 901 s and 620 s in one table."""
    scenario = (
        Scenario("lossy", duration="30 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms", queue="200 packets", forward={"loss": "1 %"})
        .flow("a", "b", name="f", tcp={"congestion": "reno"})
    )
    found = advise(scenario, can=["sender"], seconds=None, runs=50)
    assert len({row.gain.n for row in found.rows}) > 1
    assert len({row.before["f"].values["goodput_bps"] for row in found.rows}) == 1
    for row in found.rows:
        old, new = (side["f"].values["goodput_bps"] for side in (row.before, row.after))
        assert new / old == pytest.approx(math.exp(row.gain.mean), rel=1e-9)


def _better_by(title, family, place, factor):
    made = Trial(Remedy(title, family, place, {title: 1}, frozenset(), effort=1 if place == "receiver" else 2))
    made.qoe = {seed: {"f": Experience("f", "streams", {"goodput_bps": 1e6 * factor})} for seed in range(2)}
    return made


def test_a_setting_of_hosts_stands_before_another_protocol_that_gives_little_more():
    base = Trial(None)
    base.qoe = {seed: {"f": Experience("f", "streams", {"goodput_bps": 1e6})} for seed in range(2)}
    quic = _better_by("QUIC", "transport", "sender and receiver", 10.0)
    for factor, first in ((7.0, "a larger window"), (5.5, "QUIC")):
        window = _better_by("a larger window", "receive buffer", "receiver", factor)
        ranked = _ranked(base, [quic, window], ["f"])
        # Three quarters of the logarithm of 10 are 5.62 times.
        assert ranked[0].remedy.title == first
    # A proxy is no setting of hosts.
    proxy = _better_by("a proxy", "proxy", "proxy", 7.0)
    assert _ranked(base, [quic, proxy], ["f"])[0].remedy.title == "QUIC"


def test_a_small_factor_has_the_digits_that_show_it():
    row = advise(full(rate="10 Mbit/s", receive_buffer="8 kB"), can=["receiver"], seconds=None, runs=20).rows[0]
    worse = replace(row, gain=replace(row.gain, mean=math.log(0.0021), low=math.log(0.002), high=math.log(0.0022)))
    assert worse.factor == "× 0.0021 (0.002 to 0.0022)"


def test_a_call_over_udp_beside_a_download_is_advised_fq_codel():
    """Behind 300 packets at 2 Mbit/s a call waits for more than a second; in a queue of its own it does not."""
    voice = {"kind": "cbr", "rate": "64 kbit/s", "message": "160 B", "voice": True}
    scenario = (
        Scenario("dsl", duration="20 s", warmup="5 s")
        .link("dsl", "isp", "home", rate="2 Mbit/s", delay="20 ms", queue="300 packets")
        .flow("isp", "home", name="call", transport="udp", app=voice)
        .flow("isp", "home", name="down")
    )
    found = advise(scenario, groups=["call"], can=["router"], seconds=None, runs=40)
    assert "fq_codel" in found.best.title
    assert found.best.before["call"].values["mos"] < 2.0
    assert found.best.after["call"].values["mos"] > 4.0


def test_a_shaper_is_not_replaced():
    """What it lets through is somebody's decision: a FIFO in its place has four times as much."""
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "30 kB", "latency": "100 ms"}
    scenario = Scenario("shaped", duration="20 s", warmup="5 s").link(
        "path",
        "isp",
        "home",
        delay="10 ms",
        forward={"rate": "20 Mbit/s", "queue": shaper},
        reverse={"rate": "20 Mbit/s"},
    )
    found = advise(scenario.flow("isp", "home", name="f"), seconds=None, runs=40)
    assert not any("queue" in remedy for row in found.rows for remedy in [row.title]), found.rows
    assert found.best is None or found.best.gain.mean < 0.1, found.best
