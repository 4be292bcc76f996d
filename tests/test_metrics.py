"""Fairness metrics of real runs."""

from __future__ import annotations

import longhaul
import pytest
from longhaul import metrics


def mix(first: int, second: int) -> longhaul.Result:
    scenario = longhaul.Scenario("mix", duration="40 s", warmup="10 s").dumbbell(
        bottleneck={"rate": "20 Mbit/s", "delay": "10 ms", "queue": {"kind": "droptail", "limit": "60 packets"}}
    )
    scenario = scenario.flow(name="a", count=first, streams=2, tcp={"congestion": "reno"})
    return longhaul.run(scenario.flow(name="b", count=second, tcp={"congestion": "reno"}))


def test_four_streams_of_two_transfers_get_twice_what_two_flows_get():
    result = mix(2, 2)
    fairness = metrics.relative_fairness(result, "a", "b")
    assert fairness is not None
    assert 1.5 < fairness < 2.7
    per_flow = metrics.per_flow_relative_fairness(result, "a", "b", flows=2, transfers=2)
    assert per_flow == pytest.approx(fairness)
    both = [metrics.group_metric(result, group, "utilisation") for group in ("a", "b")]
    assert sum(both) == pytest.approx(result.metrics["utilisation"], rel=0.005)
    assert fairness == pytest.approx(both[0] / both[1])


def test_flows_with_more_rivals_are_robbed():
    few, many = mix(1, 2), mix(3, 2)
    stolen = metrics.bandwidth_stolen(few, many, "b")
    assert 0.1 < stolen < 0.4
    assert metrics.bandwidth_stolen(few, few, "b") == 0


def test_a_missing_group_is_named():
    with pytest.raises(longhaul.ResultError, match="no utilisation of a group 'c'; the groups are a, b"):
        metrics.group_metric(mix(1, 1), "c", "utilisation")
