"""The same as Python calls."""

from __future__ import annotations

import re
import tomllib

import longhaul
import polars as pl
import pytest
from conftest import SMALL
from longhaul import toml


def test_run_without_a_directory_has_tables_as_long_as_it_lives(scenario):
    result = longhaul.run(scenario, seed=3)
    assert result.summary["seed"] == 3
    assert isinstance(result.flows, pl.DataFrame)
    assert set(result.flows["flow"].unique()) == {0, 1, 2}
    assert result.links.height > 0
    assert {"start", "connected"} <= set(result.events["kind"])
    assert result.table("links").height == 2
    assert "goodput_bps" in result.table().columns


def test_run_into_a_directory_and_load(scenario, tmp_path):
    result = longhaul.run(scenario, out=tmp_path / "r", set={"link.satellite.rate": "1 Mbit/s"})
    again = longhaul.load(tmp_path / "r")
    assert again.summary == result.summary
    assert "1 Mbit/s" in again.scenario


def test_the_builder_makes_what_the_file_says(scenario):
    built = (
        longhaul.Scenario("small", duration="20 s", warmup="2 s", seed=7)
        .link(
            "satellite", "hub", "remote", rate="2 Mbit/s", delay="100 ms", queue="30 packets",
            loss={"kind": "random", "probability": "0.1 %"},
        )
        .flow("hub", "remote", name="users", count=3, start={"uniform": ["0 s", "1 s"]})
    )  # fmt: skip
    short = SMALL.replace('{ kind = "droptail", limit = "30 packets" }', '"30 packets"')
    assert tomllib.loads(built.to_toml()) == tomllib.loads(short)
    assert longhaul.run(built).run_id == longhaul.run(scenario).run_id
    assert longhaul.Scenario.from_file(scenario).resolve() == built.resolve()


def test_builders_do_not_change_each_other():
    one = longhaul.Scenario("x", duration="1 s")
    two = one.link("a", "b", "c", rate="1 Mbit/s", delay="1 ms")
    assert "link" not in one.content
    two.content["link"].clear()
    assert len(two.content["link"]) == 1


def test_a_run_can_be_stopped_by_its_progress_callback(scenario):
    calls = []

    def stop(now, duration, events):
        calls.append((now, duration, events))
        return False

    with pytest.raises(longhaul.RunCancelled):
        longhaul.run(scenario, set={"run.duration": "1000000 s", "run.sample": "1000 s"}, progress=stop)
    assert len(calls) == 1
    assert calls[0][1] == 1e6


def test_an_error_in_the_callback_comes_through(scenario):
    def fail(*_):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        longhaul.run(scenario, set={"run.duration": "1000000 s", "run.sample": "1000 s"}, progress=fail)


@pytest.mark.parametrize(
    ("given", "kind"), [({"name": "x"}, "a dict"), (5, "an int"), (None, "a NoneType"), (b"x", "a bytes")]
)
def test_what_is_no_scenario_is_refused(given, kind, tmp_path):
    for settings in ({}, {"out": tmp_path / "s"}):
        use = longhaul.sweep if settings else longhaul.run
        with pytest.raises(longhaul.ScenarioError, match=f"the path of a scenario file, not {kind} "):
            use(given, **settings)


def test_the_package_shows_its_public_names():
    assert dir(longhaul) == [
        "Advice", "Check", "Comparison", "LonghaulError", "OutputError", "PlotError", "ProgressCallback", "Result", "ResultError",
        "RunCancelled", "RunError", "Scenario", "ScenarioError", "SweepResult", "advise", "catalogue", "compare", "load", "run",
        "schema", "sweep", "verify",
    ]  # fmt: skip


def test_verify_runs_again_and_compares(scenario, tmp_path):
    longhaul.run(scenario, out=tmp_path / "r")
    assert [check.same for check in longhaul.verify(tmp_path / "r")] == [True]
    with (tmp_path / "r" / "summary.json").open("a") as file:
        file.write("\n")
    (check,) = longhaul.verify(str(tmp_path / "r"))
    assert check.different == ("summary.json",)
    with pytest.raises(longhaul.ResultError, match="does not exist"):
        longhaul.verify(tmp_path / "nothing")


def test_verify_takes_a_sample_of_a_sweep(scenario, tmp_path):
    longhaul.sweep(scenario, out=tmp_path / "s", set={"run.duration": "3 s"}, replications=3)
    assert len(longhaul.verify(tmp_path / "s")) == 3
    assert len(longhaul.verify(tmp_path / "s", sample=2)) == 2


def test_what_a_scenario_can_be_made_of():
    kinds = longhaul.catalogue()
    assert {"congestion", "slow_start", "queues", "losses", "metrics"} <= kinds.keys()
    cubic = next(entry for entry in longhaul.catalogue("congestion") if entry["name"] == "cubic")
    assert "RFC 9438" in cubic["source"]
    with pytest.raises(longhaul.LonghaulError, match=r"no list 'queue'; the lists are .*queues"):
        longhaul.catalogue("queue")
    assert longhaul.schema()["properties"].keys() >= {"run", "link", "flow", "sweep"}


def test_scenario_errors_are_value_errors(tmp_path):
    with pytest.raises(ValueError, match="scenario 'x'"):
        longhaul.run(longhaul.Scenario("x", duration="1 parsec"))


@pytest.mark.parametrize(
    "value",
    [1, -5, 2.5, 1e300, True, "", 'quote " and \\ and \n', "ünï", [1, [2, "x"]], {"a": {"b-c": 1, "d e": [True]}}],
)
def test_toml_values_are_read_back(value):
    assert tomllib.loads(f"v = {toml.value(value)}")["v"] == value


def test_documents_are_read_back():
    content = {
        "name": "x",
        "run": {"seed": 1},
        "link": [{"name": "a", "queue": {"limit": "1"}}, {"name": "b"}],
        "e": [],
    }
    assert tomllib.loads(toml.document(content)) == content


def test_monitors_count_each_flow_at_a_link(tmp_path):
    scenario = (
        longhaul.Scenario("monitored", duration="10 s", monitor=["bottleneck"])
        .dumbbell(
            bottleneck={"rate": "1 Mbit/s", "delay": "10 ms", "queue": {"kind": "droptail", "limit": "10 packets"}}
        )
        .flow(name="bulk", count=3, access={"rate": "10 Mbit/s", "delay": "1 ms"})
    )
    result = longhaul.run(scenario, out=tmp_path / "run")
    table = result.table("monitors").filter(pl.col("link") == "bottleneck.forward")
    assert table["flow"].to_list() == [0, 1, 2]
    assert table["dropped_packets"].sum() > 0
    series = result.monitors.filter(pl.col("link") == 0)
    assert series["offered_bytes"].sum() == table["offered_bytes"].sum()
    links = result.table("links").filter(pl.col("name") == "bottleneck.forward")
    assert links["offered_packets"].item() == table["offered_packets"].sum() == links["arrivals"].item()


def test_a_trace_lies_beside_its_scenario(tmp_path):
    pl.DataFrame({"time_s": [1.0, 1.5, 2.0], "bytes": [400, 500, 600]}).write_parquet(tmp_path / "film.parquet")
    text = longhaul.Scenario("played", duration="10 s").dumbbell(bottleneck={"rate": "1 Mbit/s", "delay": "10 ms"})
    text = text.flow(app={"kind": "trace", "file": "film.parquet", "begin": "first"})
    (tmp_path / "broken.parquet").write_bytes((tmp_path / "film.parquet").read_bytes()[:-20])
    (tmp_path / "scenario.toml").write_text(text.to_toml().replace("film.", "broken."))
    with pytest.raises(longhaul.ScenarioError, match=r"broken.parquet: it cannot be read as a Parquet file: \S"):
        longhaul.run(tmp_path / "scenario.toml")
    (tmp_path / "scenario.toml").write_text(text.to_toml())
    result = longhaul.run(tmp_path / "scenario.toml", out=tmp_path / "run")
    # A record every 0.5 s from 0.5 s on, and what is written last does not arrive: 19 of 20, of which 13 are not the first.
    assert result.metrics["delivered_bytes"] == 7 * 400 + 6 * 500 + 6 * 600


def test_a_notebook_shows_results(scenario, tmp_path):
    result = longhaul.run(scenario)
    html = result._repr_html_()
    assert "Goodput" in html
    assert "<script" not in html
    slower = longhaul.run(scenario, set={"link.satellite.rate": "1 Mbit/s"})
    both = longhaul.compare(result, slower, names=["2 Mbit/s", "1 Mbit/s"])
    assert both.table.columns == ["metric", "2 Mbit/s", "1 Mbit/s"]
    first, second = both.table.row(0)[1:]
    assert first > 1.5 * second
    assert "(-" in str(both)
    assert both.settings == (("link.satellite.rate", ("2 Mbit/s", "1 Mbit/s")),)
    assert both._repr_html_().count("<tr>") == len(both.rows) + 1 + len(both.settings) + 1
    with pytest.raises(longhaul.ResultError, match="two results or more"):
        longhaul.compare(result)
    page = result.explore()._repr_html_()
    assert page.startswith("<iframe")
    assert "explore-data" in page
    sweep = longhaul.sweep(scenario, tmp_path / "s", grid={"flow.users.count": [1, 2]}, replications=2)
    assert "flow.users.count" in sweep._repr_html_()
    assert "pre" in longhaul.Scenario.from_file(scenario)._repr_html_()


def test_results_without_a_directory_are_a_and_b(scenario, tmp_path):
    """They went by their temporary directories, and what was different about them could not be seen."""
    set = {"link.satellite.queue.limit": "10 packets"}
    first, second = longhaul.run(scenario), longhaul.run(scenario, set=set)
    both = longhaul.compare(first, second)
    assert both.names == ("a", "b")
    assert dict(both.settings)["link.satellite.queue.limit"] == ("30 packets", "10 packets")
    assert re.search(r"Settings that differ\n +a +b\n.*queue.limit +30 packets +10 packets", str(both))
    kept = longhaul.run(scenario, set=set, out=tmp_path / "short")
    assert longhaul.compare(first, kept).names == ("a", "short")


def test_a_scenario_from_dictionaries_is_that_of_its_file(scenario):
    read = longhaul.Scenario.from_file(scenario)
    again = longhaul.Scenario.from_dict(read.to_dict())
    assert again.resolve() == read.resolve()
    with pytest.raises(longhaul.ScenarioError, match="is a dictionary, not a list"):
        longhaul.Scenario.from_dict([])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"nonsense": 1}, "unknown field `nonsense`"),
        ({"link": 3}, "scenario 'scenario':1:8: "),
        ({}, "the scenario is empty"),
        ({"run": {"duration": None}}, "None is not allowed in a scenario; leave the key out"),
        ({1: 2}, "1 is not a key of a scenario"),
    ],
)
def test_dictionaries_are_checked_at_once(content, message):
    """They were accepted, and a method called on what came of them failed with a TypeError."""
    with pytest.raises(longhaul.ScenarioError, match=re.escape(message)):
        longhaul.Scenario.from_dict(content)


@pytest.mark.parametrize("settings", [{}, {"seed": 3}])
def test_a_missing_duration_is_named_as_the_keyword_that_gives_it(settings):
    scenario = longhaul.Scenario("m", **settings).link("l", "a", "b", rate="1 Mbit/s", delay="1 ms").flow("a", "b")
    with pytest.raises(
        longhaul.ScenarioError, match=r"scenario 'm': there is no duration; .* Scenario\(..., duration="
    ):
        longhaul.run(scenario)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"budget": "soon"}, "budget='soon': write a time or a number of runs"),
        ({"budget": "9 runs", "runs": 3}, "give budget= or runs=, not both"),
        ({"can": ["moon"]}, "can=moon: no such place"),
        ({"can": "sender, moon"}, "can=moon: no such place"),
        ({"goal": "quick"}, "goal='quick': write a metric"),
    ],
)
def test_errors_of_advise_name_its_keywords(scenario, keywords, message):
    """They named options of the command line."""
    with pytest.raises(longhaul.LonghaulError, match=re.escape(message)) as raised:
        longhaul.advise(scenario, **keywords)
    assert "--" not in str(raised.value)


def test_advise_takes_the_budget_of_the_command(scenario):
    assert longhaul.advise(scenario, can="sender", budget="2 runs").runs <= 2
