"""Remedies that were missing where everybody in the field knows them, and the order in which they stand."""

import ast
import inspect
import math
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import longhaul
import pytest
from longhaul import Scenario, advise, core
from longhaul.advice import _ranked
from longhaul.advice.diagnosis import Diagnosis
from longhaul.advice.race import Trial
from longhaul.advice.remedies import remedies
from longhaul.advice.remedy import Remedy
from longhaul.experience import Experience
from longhaul.scenario import as_document
from longhaul.units import significant
from longhaul.why import table, why


def titles_for(cause, scenario, groups=None):
    """Remedies for a cause by their titles, without a search for causes."""
    content = tomllib.loads(core.resolve(as_document(scenario), ())[0])
    names = groups or [flow["name"] for flow in content["flow"]]
    found = Diagnosis(longhaul.run(scenario, tables=False).summary, content, names, {name: name for name in names})
    return {one.title: one for one in remedies(found) if one.settings and cause in one.aims}


def test_a_buffer_is_for_the_longest_round_trip_of_a_path_that_changes():
    """64 KiB are enough for the first second's 20 ms, and a twelfth of what 600 ms need: the remedy was in no list."""
    scenario = (
        Scenario("grows", duration="20 s", warmup="4 s")
        .link("leo", "a", "b", rate="10 Mbit/s", queue="600 packets", delay="10 ms",
              changes=[{"at": "1 s", "delay": "300 ms"}])
        .flow("a", "b", name="f", tcp={"congestion": "reno", "receive_buffer": "64 KiB"})
    )  # fmt: skip
    found = advise(scenario, can=["receiver"], seconds=None, runs=16)
    assert found.best is not None, found.headline
    assert found.best.title == "receive buffer of 2,048 KiB"
    assert math.exp(found.best.gain.mean) > 8


def test_a_buffer_that_limits_is_raised_although_the_empty_path_needs_less():
    """A thin return link lets ACKs wait: four bandwidth-delay products of the empty path do not fill the real one."""
    scenario = (
        Scenario("thin return", duration="40 s", warmup="10 s")
        .link("path", "a", "b", delay="100 ms", forward={"rate": "10 Mbit/s", "queue": "3000 packets"},
              reverse={"rate": "16 kbit/s", "queue": "60 packets"})
        .flow("a", "b", name="f", tcp={"send_buffer": "1 MiB"})
    )  # fmt: skip
    found = advise(scenario, can=["sender"], seconds=None, runs=40)
    assert "send buffer" in found.findings, found.findings
    tried = [row.title for row in found.rows]
    assert any(title.startswith("send buffer of ") for title in tried), tried


def test_codel_has_the_interval_of_the_path():
    scenario = (
        Scenario("CoDel", duration="40 s", warmup="10 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="300 ms", queue={"kind": "codel", "limit": "2000 packets"})
        .flow("a", "b", name="f", tcp={"ecn": True})
    )
    found = advise(scenario, can=["router"], seconds=None, runs=30)
    assert found.best is not None, found.headline
    assert found.best.title.startswith("codel with an interval of 1"), found.headline
    settings = found.best.remedy.settings["link.path.forward.queue"]
    assert settings["kind"] == "codel"
    assert "tc qdisc change dev DEVICE root codel limit 2000 interval " in found.best.remedy.linux
    assert math.exp(found.best.gain.mean) > 1.1


@pytest.mark.parametrize(
    ("queue", "keys"),
    [
        ({"kind": "codel", "limit": "500 packets"}, {"interval", "target"}),
        ({"kind": "fq_codel", "limit": "500 packets"}, {"interval", "target"}),
        ({"kind": "pie", "limit": "500 packets"}, {"target"}),
        ({"kind": "red", "limit": "500 packets"}, {"target_delay"}),
    ],
)
def test_every_queue_that_aims_at_a_delay_has_its_times_tried(queue, keys):
    scenario = (
        Scenario("aims", duration="30 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="300 ms", queue=queue)
        .flow("a", "b", name="f", tcp={"initial_window": 200})
    )
    made = [
        one for title, one in titles_for("short queue", scenario).items() if title.startswith(queue["kind"] + " with a")
    ]
    assert made
    for one in made:
        (table,) = one.settings.values()
        assert keys <= set(table)
        # What the simulator takes.
        core.resolve(as_document(scenario), one.overrides)


def test_a_row_of_full_queues_is_changed_as_one():
    """Three full queues, each shared with another flow: fq_codel at one of them leaves the two others."""
    scenario = Scenario("parking lot", duration="20 s", warmup="5 s")
    for number in range(3):
        scenario = scenario.link(
            f"l{number}", f"n{number}", f"n{number + 1}", rate="5 Mbit/s", delay="10 ms", queue="30 packets"
        )
    access = {"rate": "1 Gbit/s", "delay": "1 ms"}
    scenario = scenario.flow("n0", "n3", name="long", access=access)
    for number in range(3):
        scenario = scenario.flow(f"n{number}", f"n{number + 1}", name=f"c{number}", access=access)
    found = advise(scenario, groups=["long"], can=["router"], seconds=None, runs=40)
    assert found.best is not None, found.headline
    assert found.best.title == "fq_codel at l0 (n0 → n1), l1 (n1 → n2) and l2 (n2 → n3)", found.headline
    assert len(found.best.remedy.settings) == 3
    assert found.best.after["long"].values["goodput_bps"] > 1.8e6


def test_a_clamp_has_its_value_raised():
    scenario = (
        Scenario("clamp", duration="10 s")
        .link("wan", "a", "r", rate="10 Mbit/s", delay="10 ms", queue="200 packets")
        .link("lan", "r", "b", rate="1 Gbit/s", delay="1 ms")
        .middlebox("r", "mss_clamp", name="clamp", mss="128 B")
        .flow("a", "b", name="f")
    )
    found = advise(scenario, seconds=None, runs=30)
    assert found.best is not None, found.headline
    assert found.best.title == "an MSS of 1,460 bytes at clamp (r)"
    assert found.best.remedy.settings == {"middlebox.clamp.mss": "1460 B"}
    assert "TCPMSS --set-mss 1460" in found.best.remedy.linux


def test_a_receiver_s_first_window_is_tcp_rmem_s_second_number():
    """300 kB over 200 ms: 64 KiB of window take two round trips more than a window that has room for all of it."""
    scenario = (
        Scenario("short", duration="20 s")
        .link("wan", "client", "server", rate="50 Mbit/s", delay="100 ms")
        .flow("server", "client", name="f", app={"kind": "bulk", "size": "300 kB"},
              tcp={"variant": "linux", "initial_window": 200})
    )  # fmt: skip
    (one,) = titles_for("receiver's first window", scenario).values()
    assert one.settings == {"flow.f.tcp.receive_autotuning.initial": "1024 KiB"}
    assert 'net.ipv4.tcp_rmem="4096 1048576 33554432"' in one.linux
    assert "initrwnd " in one.linux
    took = [
        longhaul.run(scenario, set=values, tables=False).metrics["completion_time_mean_s"]
        for values in ({}, dict(one.settings))
    ]
    assert took[1] < 0.8 * took[0]


def _trial(title, place, effort, aims, resent, gain):
    made = Trial(Remedy(title, title, place, {title: 1}, frozenset(aims), effort=effort))
    for seed in range(3):
        made.qoe[seed] = {"f": Experience("f", "streams", {"goodput_bps": math.exp(gain)})}
        metrics = {"sent_packets": 1000.0, "retransmitted_packets": 1000.0 * resent}
        made.summaries[seed] = {"flows": [{"group": "f", "metrics": metrics}]}
    return made


def test_of_equal_changes_that_for_the_proven_cause_stands_first_then_that_which_retransmits_least():
    base = Trial(None, {seed: {"f": Experience("f", "streams", {"goodput_bps": 1.0})} for seed in range(3)})
    hybla = _trial("hybla", "sender", 1, {"loss on the link", "slow start"}, 0.26, math.log(12.0))
    bbr = _trial("bbr", "sender", 1, {"loss on the link", "slow start"}, 0.067, math.log(11.0))
    other = _trial("westwood", "sender", 1, {"short queue"}, 0.0, math.log(11.5))
    ranked = [one.remedy.title for one in _ranked(base, [hybla, other, bbr], ["f"], {"loss on the link"})]
    assert ranked == ["bbr", "hybla", "westwood"]
    # What is much better stands first all the same.
    best = _trial("best", "sender", 1, {"short queue"}, 0.3, math.log(20.0))
    assert _ranked(base, [hybla, bbr, best], ["f"], {"loss on the link"})[0] is best


def test_what_is_no_better_than_a_part_of_it_is_no_row():
    """fq_codel on both directions of a link stood beside fq_codel on the one that is full, with the same numbers."""
    base = Trial(None, {seed: {"f": Experience("f", "streams", {"goodput_bps": 1.0})} for seed in range(3)})
    one = _trial("one direction", "router", 2, {"standing queue"}, 0.0, math.log(4.0))
    both = _trial("both directions", "router", 3, {"standing queue"}, 0.0, math.log(4.001))
    both.remedy = replace(both.remedy, settings={**one.remedy.settings, "more": 1})
    assert _ranked(base, [both, one], ["f"]) == [one]
    better = _trial("both directions", "router", 3, {"standing queue"}, 0.0, math.log(6.0))
    better.remedy = both.remedy
    assert _ranked(base, [better, one], ["f"]) == [better, one]


def test_an_uncommon_congestion_control_is_the_larger_change():
    """Of two that give the same, people take BBR and not Hybla, and a queue that keeps delays short before Vegas."""
    scenario = (
        Scenario("loss", duration="20 s")
        .link("sat", "a", "b", rate="10 Mbit/s", delay="300 ms", queue="400 packets", forward={"loss": "1 %"})
        .flow("a", "b", name="f")
    )
    effort = {title: one.effort for title, one in titles_for("loss on the link", scenario).items()}
    assert effort["congestion control bbr"] < effort["congestion control hybla"]
    effort = {title: one.effort for title, one in titles_for("standing queue", scenario).items()}
    assert effort["fq_codel at sat (a → b)"] <= effort["congestion control vegas"]


def test_one_direction_stands_before_both_that_give_the_same():
    scenario = (
        Scenario("bloat", duration="15 s", warmup="3 s")
        .link("dsl", "home", "isp", delay="10 ms", forward={"rate": "1 Mbit/s", "queue": "300 packets"},
              reverse={"rate": "16 Mbit/s", "queue": "300 packets"})
        .flow("home", "isp", name="upload")
        .flow("isp", "home", name="news", tcp={"receive_buffer": "8 kB"})
        .flow("home", "isp", name="ssh", app={"kind": "keystrokes"}, tcp={"nagle": False})
    )  # fmt: skip
    found = advise(scenario, groups=["ssh"], can=["router"], seconds=None, runs=40)
    assert found.best is not None, found.headline
    assert " at dsl (home → isp)" in found.best.title, found.headline
    both = {one.title: one for one in titles_for("standing queue", scenario, ["ssh"]).values()}
    assert both["fq_codel on both directions of dsl"].effort > both["fq_codel at dsl (home → isp)"].effort


@pytest.mark.parametrize("goal", ["goodput > 20 Mbit/s", "copy.goodput > 20 Mbit/s"])
def test_the_goodput_of_a_goal_is_that_of_a_transfer_while_it_is_active(goal):
    """20 MB in 2.8 of 30 s are 57 Mbit/s; over the run they were 5.3, and nothing reached the goal."""
    scenario = (
        Scenario("sized", duration="30 s")
        .link("wan", "a", "b", rate="50 Mbit/s", delay="75 ms", queue="1000 packets")
        .flow("a", "b", name="copy", app={"kind": "bulk", "size": "10 MB"}, tcp={"receive_buffer": "64 KiB"})
    )
    found = advise(scenario, goal=goal, can=["receiver"], seconds=None, runs=40)
    assert found.goal_row is not None, found.headline
    result = longhaul.run(scenario, set=dict(found.goal_row.remedy.settings), tables=False)
    assert result.summary["flows"][0]["metrics"]["goodput_bps"] > 20e6
    assert result.metrics["goodput_bps"] < 5e6
    # The least number is one: a tenth less misses it.
    value = int(found.goal_row.remedy.settings["flow.copy.tcp.receive_buffer"].removesuffix(" KiB"))
    less = longhaul.run(scenario, set={"flow.copy.tcp.receive_buffer": f"{value * 9 // 10} KiB"}, tables=False)
    assert less.summary["flows"][0]["metrics"]["goodput_bps"] < 20e6


def test_a_cause_has_the_factor_that_explain_prints():
    """Other flows had 66 in one and 37 in the other, which stopped at the ideal without a word."""
    scenario = (
        Scenario("starved", duration="20 s", warmup="4 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms", queue="60 packets")
        .flow("a", "b", name="f", tcp={"congestion": "reno"})
        .flow("a", "b", name="bully", count=8, tcp={"congestion": "scalable"})
    )
    explained = why(as_document(scenario), seconds=60.0).groups
    step = next(one for one in explained if one.group == "f").steps[0]
    found = advise(scenario, groups=["f"], can=["router"], seconds=None, runs=120)
    text = found.findings[step.causes[0].cause]
    assert text == f"{step.causes[0].clause}: without it × {significant(step.effect.factor, 3)}"


def test_numbers_have_the_digits_that_users_notice():
    found = advise(
        Scenario("thin", duration="10 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms")
        .flow("a", "b", name="f", tcp={"receive_buffer": "32 kB"}),
        can=["receiver"], seconds=None, runs=12,
    )  # fmt: skip
    row = found.rows[0]
    huge = replace(row, gain=replace(row.gain, mean=math.log(17925.0), low=math.log(17925.0), high=math.log(17925.0)))
    assert huge.factor == "× 17,925"
    score = {"f": Experience("f", "calls", {"mos": 4.31452})}
    same = replace(row, before=score, after={"f": Experience("f", "calls", {"mos": 4.31453})})
    assert same.qoe.endswith("4.31 → 4.31")
    other = replace(row, before=score, after={"f": Experience("f", "calls", {"mos": 4.34})})
    assert other.qoe.endswith("4.31 → 4.34")
    # One seed that is a fifth of what it was is no promise.
    worse = replace(row, verdict="uncertain", gain=replace(row.gain, mean=math.log(0.2), low=-math.inf, high=math.inf))
    assert replace(found, rows=[worse]).unsure == []
    assert replace(found, rows=[worse]).worse == [worse]


def test_every_remedy_is_for_causes_that_the_table_has():
    """A remedy for a word that no intervention has would never be tried."""
    scenario = (
        Scenario("everything", duration="5 s")
        .link("lan", "server", "hub", rate="100 Mbit/s", delay="1 ms")
        .link("path", "hub", "edge", rate="5 Mbit/s", delay="200 ms", queue={"kind": "codel", "limit": "30 packets"},
              reverse={"rate": "20 kbit/s", "queue": "50 packets"})
        .link("home", "edge", "client", rate="100 Mbit/s", delay="1 ms")
        .middlebox("edge", "mss_clamp", name="clamp", mss="600 B")
        .flow("server", "client", name="f",
              tcp={"variant": "linux", "so_rcvbuf": "64 kB", "so_sndbuf": "64 kB", "window_scaling": False})
        .flow("client", "server", name="pages", app={"kind": "web", "think": "1 s", "objects": 3, "object": "20 kB"}, tcp={"receive_buffer": "16 kB", "variant": "newreno"})
        .flow("server", "client", name="q", transport="quic", quic={"congestion": "bbr3", "stream_window": "64 kB"})
    )  # fmt: skip
    content = tomllib.loads(core.resolve(as_document(scenario), ())[0])
    names = [flow["name"] for flow in content["flow"]]
    found = Diagnosis(longhaul.run(scenario, tables=False).summary, content, names, {name: name for name in names})
    source = Path(inspect.getsourcefile(table)).read_text()
    made = remedies(found)
    assert len(made) > 40
    for one in made:
        assert one.aims, one.title
        for cause in one.aims:
            assert f'"{cause}"' in source, f"{one.title}: {cause}"
        # What it sets is what the scenario takes; headers of QUIC cannot be compressed, and proxies exclude one another.
        if one.settings and one.family != "header compression" and one.place != "proxy":
            core.resolve(as_document(scenario), one.overrides)


def test_every_cause_but_the_path_and_the_application_has_a_remedy():
    """A waterfall that names what nobody can change would end there."""
    calls = [
        node for node in ast.walk(ast.parse(Path(inspect.getsourcefile(table)).read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Intervention"
    ]  # fmt: skip
    causes = {call.args[1].value for call in calls if isinstance(call.args[1], ast.Constant)}
    assert len(causes) > 30
    package = Path(inspect.getsourcefile(remedies)).parent
    texts = "".join(file.read_text() for file in package.glob("*.py"))
    nobodys = {"half duplex", "full link", "own link", "delay", "application", "congestion control", "change of route"}
    assert {cause for cause in causes if f'"{cause}"' not in texts} <= nobodys


@pytest.mark.parametrize(
    ("tcp", "cause", "title"),
    [
        ({"congestion": {"kind": "fixed", "window": "20 packets"}}, "fixed window", "congestion control bbr"),
        ({"max_pacing_rate": "2 Mbit/s"}, "pacing rate", "a largest pacing rate of 10 Mbit/s, the link's"),
        (
            {"reading_rate": "2 Mbit/s", "receive_buffer": "64 kB"},
            "slow reader",
            "an application that reads 10 Mbit/s, as fast as the link",
        ),
    ],
)
def test_a_limit_that_a_host_sets_itself_is_lifted_first(tcp: dict[str, Any], cause: str, title: str):
    scenario = (
        Scenario("own limit", duration="20 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms")
        .flow("a", "b", name="f", tcp=tcp)
    )
    found = longhaul.advise(scenario, seconds=None, runs=40)
    assert next(iter(found.findings)) == cause
    first = found.rows[0]
    assert title in first.title.split("; "), first.title
    assert first.gain.mean > math.log(3.5)


def test_a_terminal_that_waits_for_grants_is_assigned_capacity_without_a_request():
    scenario = (
        Scenario("grants", duration="20 s")
        .link("sat", "a", "b", rate="10 Mbit/s", delay="300 ms", reverse={"rate": "1 Mbit/s", "demand": {"delay": "600 ms"}})
        .flow("a", "b", name="f", tcp={"receive_buffer": "2 MB"})
    )  # fmt: skip
    made = titles_for("grants", scenario)
    assert list(made) == [
        "a quarter of sat (b → a) assigned without a request",
        "all of sat (b → a) assigned without a request",
    ]
    row = longhaul.advise(scenario, can=["router"], seconds=None, runs=40).rows[0]
    assert row.title in made
    assert "of the carrier is this terminal's" in row.costs[-1]


def test_both_directions_of_a_link_with_one_queue_setting_are_changed_where_it_is_written():
    """A queue of the whole link cannot stand beside one of each direction: the remedy was left out without a word."""
    scenario = (
        Scenario("one setting", duration="10 s")
        .link("dsl", "home", "isp", delay="10 ms", rate="2 Mbit/s", queue="100 packets")
        .flow("home", "isp", name="up")
        .flow("isp", "home", name="down")
    )
    made = titles_for("standing queue", scenario)["fq_codel on both directions of dsl"]
    assert list(made.settings) == ["link.dsl.queue"]
    core.resolve(as_document(scenario), made.overrides)


def _disciplines_of(*flows: dict[str, Any], queue: str = "droptail", nodes: int = 1) -> set[str]:
    """Disciplines that are tried at a full link from `server` to the router of so many clients."""
    scenario = Scenario("shared", duration="20 s", warmup="4 s").link(
        "access", "server", "home", rate="10 Mbit/s", delay="20 ms", queue={"kind": queue, "limit": "300 packets"}
    )
    for number in range(nodes):
        scenario = scenario.link(f"lan{number}", "home", f"pc{number}", rate="1 Gbit/s", delay="1 ms")
    for number, flow in enumerate(flows):
        scenario = scenario.flow("server", flow.pop("to", "pc0"), name=f"f{number}", **flow)
    made = titles_for("standing queue", scenario) | titles_for("unequal shares", scenario)
    return {title.split(" at ")[0] for title in made if " at access (server" in title}


def test_a_dual_queue_is_tried_only_for_flows_of_l4s():
    plain = {"tcp": {"congestion": "cubic"}}
    assert "dualpi2" not in _disciplines_of(plain, {"tcp": {"congestion": "dctcp", "ecn": "accurate"}})
    assert "dualpi2" in _disciplines_of(plain, {"tcp": {"congestion": "prague", "ecn": "accurate"}})


def test_fq_pie_is_tried_where_there_is_pie():
    flow = {"tcp": {"congestion": "cubic"}}
    assert "fq_pie" not in _disciplines_of(flow)
    assert {"fq_pie", "fq_codel"} <= _disciplines_of(flow, queue="pie")


def test_cake_is_tried_for_code_points_and_for_crowded_hosts():
    """Without them it is FQ-CoDel by another name: a run that cannot show anything else."""
    assert "cake" not in _disciplines_of({"to": "pc0"}, {"to": "pc1"}, nodes=2)
    assert "cake" in _disciplines_of({"to": "pc0"}, {"to": "pc1", "dscp": "ef"}, nodes=2)
    assert "cake" in _disciplines_of({"to": "pc0"}, {"to": "pc1", "count": 5}, nodes=2)


def test_cake_shares_by_host_where_one_has_more_flows():
    """One download of a client beside nine of another: a tenth by flow, a half by host."""
    scenario = (
        Scenario("flat", duration="20 s", warmup="4 s")
        .link("access", "server", "home", rate="20 Mbit/s", delay="10 ms", queue="200 packets")
        .link("lan0", "home", "pc0", rate="1 Gbit/s", delay="1 ms")
        .link("lan1", "home", "pc1", rate="1 Gbit/s", delay="1 ms")
        .flow("server", "pc0", name="one", app={"kind": "bulk"})
        .flow("server", "pc1", name="nine", count=9, app={"kind": "bulk"})
    )
    cake = {"kind": "cake", "isolation": "dual_dsthost"}
    by_host = longhaul.run(scenario, set={"link.access.queue": cake}, tables=False).summary
    by_flow = longhaul.run(scenario, set={"link.access.queue": {"kind": "fq_codel"}}, tables=False).summary
    share = [
        next(group["metrics"]["goodput_bps"] for group in one["groups"] if group["name"] == "one") / 20e6
        for one in (by_flow, by_host)
    ]
    assert share[0] < 0.13, share
    assert share[1] > 0.4, share
