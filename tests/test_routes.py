"""A change of route: in results, figures, drawings and explanations."""

from __future__ import annotations

import longhaul
import pytest
from longhaul import Scenario, course, drawing, propagation
from longhaul.explain import content_of
from longhaul.report import explore
from longhaul.results import Result
from longhaul.why import why


def two_ways(**route: str) -> Scenario:
    """A satellite for 20 s, then the ground for 20 s."""
    scenario = Scenario("two ways", duration="40 s", sample="500 ms")
    scenario = scenario.link("geo", "a", "b", rate="8 Mbit/s", delay="250 ms", queue="400 packets")
    scenario = scenario.link("land", "a", "b", rate="2 Mbit/s", delay="20 ms", queue="40 packets")
    return scenario.route("geo").route("land", at="20 s", **route).flow("a", "b", name="f")


@pytest.fixture(scope="module")
def result() -> Result:
    return longhaul.run(two_ways())


def test_a_flow_has_the_ways_that_it_had(result):
    (flow,) = result.summary["flows"]
    first, second = flow["ways"]
    assert (first["data_path"], second["data_path"]) == ([0], [2])
    assert (first["share"], second["share"]) == (0.5, 0.5)
    assert flow["base_rtt_s"] == first["base_rtt_s"] == pytest.approx(0.5 + 1540 * 8 / 8e6, abs=1e-9)
    assert second["base_rtt_s"] == pytest.approx(0.04 + 1540 * 8 / 2e6, abs=1e-9)
    # The mean of 8 and 2 Mbit/s, without 40 bytes of headers in 1500.
    assert flow["predicted"]["fair_share_bps"] == pytest.approx(5e6 * 1460 / 1500)
    used = sum(
        link["metrics"]["utilisation"] * rate for link, rate in zip(result.summary["links"], (8, 0, 2, 0), strict=True)
    )
    assert flow["metrics"]["utilisation"] == pytest.approx(used / 5, rel=0.01)
    # With the first way alone it could not be more than half of the time.
    assert 0.7 < flow["path_use"]["full"] <= 1.0


def test_base_round_trip_and_equal_share_follow_the_way(result):
    (flow,) = result.summary["flows"]
    links = course.links_over_time(result)
    rtt, share = course.base_rtt(result, links, flow), course.equal_share(result, links, flow)
    assert rtt.times == (0.0, 20.0)
    assert [rtt.at(10.0), rtt.at(30.0)] == [way["base_rtt_s"] for way in flow["ways"]]
    assert share is not None
    assert share.at(30.0) == pytest.approx(2e6 * 1460 / 1500)
    # What is measured is never below it.
    rows = result.flows.filter((result.flows["time_s"] > 25) & result.flows["srtt_s"].is_not_null())
    assert rows["srtt_s"].min() >= rtt.at(30.0)


def test_the_delay_of_the_way_is_a_figure_and_the_change_is_marked(result):
    (one,) = propagation.delays(result)
    assert (one.times.tolist(), one.values.tolist()) == ([0.0, 20.0, 40.0], [0.25, 0.02, 0.02])
    assert one.name(result) == "f"
    labels = {mark["label"]: mark["spans"] for mark in explore.of_run(result)["marks"]}
    assert labels == {"change of route": [[20.0, 20.0]]}
    for kind in ("propagation", "throughput", "rtt"):
        handles, names = result.plot(kind).axes[0].get_legend_handles_labels()
        assert "change of route" in names, kind
        assert len(handles) == len(names)


def test_the_delay_of_a_way_over_a_link_that_moves_is_not_flat():
    wander = [{"every": "1 s", "delay": {"kind": "uniform", "most": "20 ms"}}]
    scenario = Scenario("two ways", duration="40 s", sample="500 ms")
    scenario = scenario.link("geo", "a", "b", rate="8 Mbit/s", delay="250 ms", wander=wander)
    scenario = scenario.link("land", "a", "b", rate="2 Mbit/s", delay="20 ms")
    scenario = scenario.route("geo").route("land", at="20 s").flow("a", "b", name="f")
    of_flow, of_link = propagation.delays(longhaul.run(scenario))
    assert (of_flow.flow, of_link.flow) == ("f", None)
    before = of_flow.values[of_flow.times < 20]
    assert len(set(before.round(6))) > 15
    assert set(of_flow.values[of_flow.times >= 20].round(6)) == {0.02}


def test_a_drawing_has_each_way_with_its_time(result):
    planned = drawing.of_document(two_ways().document()).network
    assert [(lane.links, lane.text.rpartition("; ")[2]) for lane in planned.lanes] == [
        (["geo"], "until 20 s"),
        (["land"], "from 20 s on"),
    ]
    done = drawing.of_result(result, content_of(result)).network
    assert [(lane.links, lane.text.rpartition("; ")[2]) for lane in done.lanes] == [
        (["geo"], "50 % of the time on this way"),
        (["land"], "50 % of the time on this way"),
    ]


def test_a_drawing_has_the_times_of_a_way_that_comes_back():
    planned = drawing.of_document(two_ways().route("geo", at="30 s").document()).network
    assert [(lane.links, lane.text.rpartition("; ")[2]) for lane in planned.lanes] == [
        (["geo"], "until 20 s, from 30 s on"),
        (["land"], "20 s to 30 s"),
    ]


def test_a_flow_whose_acks_change_their_way_is_drawn_once():
    result = longhaul.run(two_ways(way="reverse"))
    (lane,) = drawing.of_result(result, content_of(result)).network.lanes
    assert (lane.links, lane.text.rpartition("; ")[2]) == (["geo"], "its ACKs change their way")


def test_a_change_of_route_is_a_cause_where_it_costs_something():
    """Back and forth with losses: without, the download has the satellite all the time."""
    scenario = two_ways(in_flight="lost", every="20 s").route("geo", at="25 s", every="20 s", in_flight="lost")
    (found,) = why(scenario.document(), seconds=600.0).groups
    effects = {one.cause: one for one in found.effects}
    assert effects["change of route"].is_cause
    assert "between geo and land" in effects["change of route"].clause
    assert "lose those in flight" in effects["change of route"].clause


def test_a_route_that_is_none_is_one_message():
    with pytest.raises(longhaul.ScenarioError, match="there is no link"):
        two_ways().route("moon").resolve()
