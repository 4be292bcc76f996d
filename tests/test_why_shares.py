"""What a flow could have: its share beside others, what happened before the measured time, what a small budget leaves open."""

import math
import random
from itertools import pairwise

import pytest
from longhaul import Scenario
from longhaul.explain import explain_path
from longhaul.why import why
from longhaul.why.shares import Demand, max_min


def _link(name, **run):
    return Scenario(name, **({"duration": "40 s"} | run))


def _first(scenario, seconds=600.0):
    return why(scenario.document(), seconds=seconds).groups[0]


def test_a_loss_in_the_warm_up_is_a_cause_of_what_is_measured_behind_it():
    """One packet of the first 300 is lost, 6 s are warm-up; it was "its congestion control itself"."""
    loss = {"kind": "periodic", "every": 300, "count": 1}
    found = _first(
        _link("loss", warmup="6 s")
        .link("sat", "a", "b", rate="20 Mbit/s", delay="250 ms", queue="2000 packets", forward={"loss": loss})
        .flow("a", "b", tcp={"variant": "linux", "congestion": "reno", "send_buffer": "unlimited"})
    )
    assert [one.cause for one in found.causes] == ["loss on the link"]
    assert found.steps[0].effect.factor > 4


def test_an_outage_in_the_warm_up_is_a_cause_of_what_is_measured_behind_it():
    outage = {"start": "4 s", "duration": "1 s"}
    found = _first(
        _link("outage", warmup="6 s")
        .link("sat", "a", "b", rate="20 Mbit/s", delay="250 ms", queue="2000 packets", forward={"outages": [outage]})
        .flow("a", "b", tcp={"variant": "linux", "congestion": "reno", "send_buffer": "unlimited"})
    )
    assert [one.cause for one in found.causes] == ["outage"]


def test_transfers_that_share_a_link_while_they_last_are_at_their_ideal():
    """Three files of 1 MB over 2 Mbit/s: 3 MB at 1.947 Mbit/s of payload take 12.3 s, in a run of 40 s."""
    found = _first(
        _link("three files")
        .link("sat", "h", "t", rate="2 Mbit/s", delay="20 ms", queue="100 packets")
        .flow("h", "t", count=3, app={"kind": "bulk", "size": "1 MB"}, access={"rate": "100 Mbit/s", "delay": "1 ms"})
    )
    assert found.ideal is not None
    assert found.ideal.value == pytest.approx(3e6 * 8 / (2e6 * 1460 / 1500), rel=0.02)
    assert not found.causes
    assert found.path[0].cause == "full link"


def test_what_another_application_does_not_write_is_for_the_others():
    """Beside keystrokes an upload has the whole link, not half of it."""
    scenario = (
        _link("upload", warmup="5 s")
        .link("dsl", "home", "isp", rate="1 Mbit/s", delay="10 ms", queue="100 packets")
        .flow("home", "isp", name="upload")
        .flow("home", "isp", name="ssh", app={"kind": "keystrokes"}, tcp={"nagle": False})
    )
    made = why(scenario.document(), seconds=600.0)
    (upload,) = (one for one in made.groups if one.group == "upload")
    assert upload.ideal is not None
    assert upload.ideal.value == pytest.approx(1e6 * 1460 / 1500, rel=0.02)


def test_an_application_that_pauses_is_measured_by_what_it_writes():
    """A camera that writes 2 Mbit/s for a quarter of its time delivers 0.5 Mbit/s: it was "10 % of its ideal"."""
    app = {"kind": "on_off", "rate": "2 Mbit/s", "on": "500 ms", "off": "1500 ms"}
    found = _first(
        _link("camera").link("net", "a", "b", rate="20 Mbit/s", delay="10 ms").flow("a", "b", name="camera", app=app)
    )
    assert found.ideal is not None
    assert (found.ideal.value, found.ideal.text) == (pytest.approx(5e5), "what its application writes")
    assert not found.causes


def test_the_receiver_s_first_window_is_a_cause_of_its_own():
    """A buffer of 131 kB at first, of which half is window, over a round trip of 400 ms: its largest size is never met."""
    found = _first(
        _link("short")
        .link("net", "a", "b", rate="1 Gbit/s", delay="200 ms")
        .flow(
            "a", "b", app={"kind": "bulk", "size": "2 MB"}, tcp={"variant": "linux", "initial_window": "1000 packets"}
        )
    )
    assert "receiver's first window" in [one.cause for one in found.causes]


def test_a_budget_that_ends_before_the_first_test_names_nothing():
    scenario = _link("budget", duration="10 s").link("net", "a", "b", rate="10 Mbit/s", delay="50 ms").flow(
        "a", "b", tcp={"receive_buffer": "20 kB"}
    )  # fmt: skip
    text = why(scenario.document(), seconds=0.0).text
    assert "What limits it is not known: the budget ended before all was tested." in text
    assert "nothing that was taken away made it faster" not in text


def test_a_scenario_that_takes_longer_than_the_budget_is_run_once(tmp_path):
    path = tmp_path / "long.toml"
    scenario = _link("long", duration="200 s").link("net", "a", "b", rate="100 Mbit/s", delay="5 ms").flow("a", "b")
    path.write_text(scenario.document().text, encoding="utf-8")
    found = explain_path(path, seconds=0.01)
    assert not found.tested
    assert "the run itself took" in found.reason


@pytest.mark.parametrize("seed", range(200))
def test_no_link_carries_more_than_its_rate_and_nobody_could_have_more(seed):
    """Max-min: each flow has what it wants, or meets a full link on which no other has more."""
    drawn = random.Random(seed)
    rates = [drawn.uniform(0.5, 100) for _ in range(4)]
    demands = [
        Demand(
            drawn.uniform(1, 20), tuple(sorted(drawn.sample(range(4), drawn.randint(1, 4)))), drawn.uniform(0.01, 50)
        )
        for _ in range(drawn.randint(1, 8))
    ]
    shares = max_min(demands, dict(enumerate(rates)))
    loads = {link: sum(one.count * share.rate for one, share in zip(demands, shares, strict=True) if link in one.links) for link in range(4)}  # fmt: skip
    assert all(load <= rates[link] * (1 + 1e-9) for link, load in loads.items())
    for one, share in zip(demands, shares, strict=True):
        if share.link is None:
            assert share.rate == one.most
            continue
        beside = [other.rate for link, other in ((two.links, three) for two, three in zip(demands, shares, strict=True)) if share.link in link]  # fmt: skip
        assert share.rate >= max(beside) * (1 - 1e-9)
        assert math.isclose(loads[share.link], rates[share.link], rel_tol=1e-6)


def test_shares_of_a_parking_lot():
    """A flow over n links of one rate, and one across each: all have half."""
    long, *across = max_min(
        [Demand(1, (0, 1, 2)), *(Demand(1, (link,)) for link in range(3))], dict.fromkeys(range(3), 10.0)
    )
    assert [long.rate, *(one.rate for one in across)] == [5.0] * 4
    assert all(one.among == other.among for one, other in pairwise(across))


def test_a_queue_that_serves_by_weight_gives_shares_by_weight():
    """A flow of weight 1 beside one of weight 9 had "21 % of its ideal, an equal share", and nothing was wrong with it."""
    scenario = (
        Scenario("wfq", duration="20 s", warmup="5 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="20 ms", forward={"queue": {"kind": "wfq", "limit": "200 packets"}})
        .flow("a", "b", name="low", tcp={"variant": "linux"})
        .flow("a", "b", name="high", weight=9, tcp={"variant": "linux"})
    )  # fmt: skip
    low, high = sorted(why(scenario.document(), seconds=600.0).groups, key=lambda one: one.ideal.value)
    assert (low.group, high.group) == ("low", "high")
    assert low.ideal.value == pytest.approx(0.973e6, rel=0.01)
    assert high.ideal.value == pytest.approx(9 * low.ideal.value)
    assert low.ideal.text == "its share of the slowest link by weight"
    assert low.ideal.reached(low.value)
    assert high.ideal.reached(high.value)
