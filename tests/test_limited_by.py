"""Explanations checked by construction: scenarios that are limited by exactly one thing, which the text has to name."""

import tomllib

import longhaul
import pytest
from limited_by import CASES
from longhaul import Scenario
from longhaul.explain import explain, explain_groups


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_explanation_names_the_limit(case):
    result = longhaul.run(Scenario.from_toml(case.scenario), tables=False)
    flow = next(flow for flow in result.summary["flows"] if flow["name"] in ("f", "f[0]"))
    text = explain(flow, result.summary, (), tomllib.loads(result.scenario))
    for words in case.words:
        assert words in text, text
    for words in case.never:
        assert words not in text, text


def test_there_are_thirty_and_more():
    assert len({case.id for case in CASES}) == len(CASES) >= 30


def test_like_flows_are_explained_together():
    scenario = (
        Scenario("crowd", duration="60 s", warmup="20 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="50 ms", queue="300 packets")
        .flow("a", "b", name="users", count=49)
        .flow("a", "b", name="thin", tcp={"receive_buffer": "2 kB"})
    )
    result = longhaul.run(scenario, tables=False)
    groups = explain_groups(result.summary["flows"], result.summary, tomllib.loads(result.scenario))
    assert [(group.name, group.count) for group in groups] == [("users", 49), ("thin", 1)]
    assert "flows are alike, with" in groups[0].text
    assert "path (a → b) is full" in groups[0].text
    assert len(groups[0].outliers) < 10
    assert "receiver's window" in groups[1].text
    assert result.explain().startswith("users: ")
    assert "receiver's window" in result.explain("thin")
    with pytest.raises(longhaul.ResultError, match="no flow 'nobody'"):
        result.explain("nobody")


def test_flows_by_name(command, tmp_path, scenario):
    assert command("run", scenario, "--out", tmp_path / "r", "-q").code == 0
    by_group = command("explain", tmp_path / "r", "--flows", "users", "--each")
    assert by_group.code == 0, by_group.err
    assert all(f"users[{number}]" in by_group.out for number in range(3))
    one = command("explain", tmp_path / "r", "--flows", "users[1]")
    assert "users[1]" in one.out
    assert "users[0]" not in one.out
    wrong = command("explain", tmp_path / "r", "--flows", "usres")
    assert wrong.code == 2
    assert "no flow or group 'usres'" in wrong.err
    assert "did you mean 'users" in wrong.err
    assert command("explain", tmp_path / "r", "--flows", "0-99").code == 2
