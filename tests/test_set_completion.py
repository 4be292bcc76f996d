"""A shell offers the settings of the scenario for `--set`; a result that is given as a scenario is recognized."""

from __future__ import annotations

from types import SimpleNamespace

from longhaul.cli import options


def test_settings_of_the_named_scenario_are_offered(scenario):
    context = SimpleNamespace(params={"scenario": scenario})
    offered = options.setting_paths(context, "link.satellite.")
    assert "link.satellite.rate=" in offered or "link.satellite.forward.rate=" in offered
    assert all(path.startswith("link.satellite.") for path in offered)
    assert "run.duration=" in options.setting_paths(context, "run.d")


def test_without_a_scenario_that_can_be_read_nothing_is_offered(tmp_path):
    assert options.setting_paths(SimpleNamespace(params={}), "") == []
    assert options.setting_paths(SimpleNamespace(params={"scenario": tmp_path / "none.toml"}), "") == []


def test_a_result_given_as_a_scenario_is_told_so(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    outcome = command("run", out)
    assert outcome.code != 0
    assert "it is a result: its scenario is " in outcome.err
    assert "longhaul explain" in outcome.err
