"""Explanations checked by construction: scenarios that are limited by exactly one thing, which the text has to name."""

from pathlib import Path

import longhaul
import pytest
from limited_by import CASES, SATELLITE, one_link, split, three_links
from longhaul import Scenario
from longhaul.explain import accounting, group_texts, main_limit

EXAMPLES = Path(longhaul.__file__).parent / "examples"


@pytest.fixture(scope="module")
def geo():
    """The example whose link is full from 26 s on: what is missing was lost before, in slow start and after its timeout at 15 s."""
    return longhaul.run(EXAMPLES / "geo-one-flow.toml", tables=False)


def test_a_window_that_waits_for_a_full_link_is_no_limit(geo):
    """Before, the window was named, with 72 %, and CUBIC's reductions, which cost 0.4 % of the link."""
    (flow,) = geo.summary["flows"]
    assert main_limit(flow) == ("link", pytest.approx(0.80, abs=0.02))
    assert "its time: link full 80 %" in accounting(flow)


def test_what_is_missing_is_attributed_in_bytes_to_slow_start_and_the_timeout(geo):
    (flow,) = geo.summary["flows"]
    use = flow["path_use"]
    # 50 Mbit/s for 120 s, and what was transmitted of it: 85.1 %.
    assert use["capacity_bytes"] == pytest.approx(750e6, rel=1e-6)
    unused = sum(use["unused_bytes"].values())
    assert unused == pytest.approx(750e6 * (1 - geo.metrics["utilisation"]), rel=1e-3)
    assert use["unused_bytes"]["timeout"] + use["unused_bytes"]["slow_start"] > 0.9 * unused
    assert use["unused_bytes"]["cwnd"] < 0.05 * unused
    assert 20 < use["unused_until_s"] < 30
    assert use["full"] + use["down"] + sum(use["open"].values()) == pytest.approx(1.0)


def test_unused_capacity_is_that_of_the_flow_s_own_time():
    """A transfer of 2 s in a run of 100 s: the link is idle afterwards, which limits nobody."""
    scenario = one_link(flow='app = { kind = "bulk", size = "10 MB" }\nstart = "50 s"', duration="100 s")
    flow = longhaul.run(Scenario.from_toml(scenario), tables=False).summary["flows"][0]
    took = flow["metrics"]["completion_time_s"]
    assert flow["path_use"]["capacity_bytes"] == pytest.approx(10e6 / 8 * took, rel=0.05)


def test_a_flow_that_its_own_window_holds_back_on_a_link_that_others_fill():
    thin = {"limited": {"receiver_window": 1.0}, "path_use": {"full": 1.0, "down": 0.0, "open": {}, "unused_bytes": {}},
            "metrics": {"goodput_bps": 1e5}, "predicted": {"fair_share_bps": 1e6}}  # fmt: skip
    assert main_limit(thin) == ("receiver_window", 1.0)
    assert main_limit({**thin, "metrics": {"goodput_bps": 1e6}}) == ("link", 1.0)


def test_many_flows_share_what_is_missing_and_who_lost_it():
    """Fifty flows that begin together: the shares of time of one explanation for all add up."""
    scenario = (
        Scenario("crowd", duration="60 s")
        .link("path", "a", "b", rate="100 Mbit/s", delay="250 ms", queue="1000 packets")
        .flow("a", "b", name="users", count=50)
    )
    result = longhaul.run(scenario, tables=False)
    for flow in result.summary["flows"]:
        use = flow["path_use"]
        assert use["full"] + use["down"] + sum(use["open"].values()) == pytest.approx(1.0)
        assert sum(use["unused_bytes"].values()) <= use["capacity_bytes"]


def test_behind_a_proxy_the_long_hop_accounts_for_what_is_missing():
    """The sender waits for the proxy all the time: what the satellite could have carried is the long hop's."""
    result = longhaul.run(
        Scenario.from_toml(
            three_links(SATELLITE + '\nforward = { loss = "1 %" }', more=split('long = { congestion = "reno" }'))
        ),
        tables=False,
    )
    (flow,) = result.summary["flows"]
    assert max(flow["path_use"]["unused_bytes"], key=flow["path_use"]["unused_bytes"].get) == "receiver_window"


def test_there_are_thirty_and_more():
    assert len({case.id for case in CASES}) == len(CASES) >= 30


def test_like_flows_have_one_line():
    scenario = (
        Scenario("crowd", duration="60 s", warmup="20 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="50 ms", queue="300 packets")
        .flow("a", "b", name="users", count=49)
        .flow("a", "b", name="thin", tcp={"receive_buffer": "2 kB"})
    )
    result = longhaul.run(scenario, tables=False)
    users, thin = group_texts(result.summary["flows"])
    assert (users.name, users.count) == ("users", 49)
    assert users.text.startswith("49 flows, ")
    assert "the median flow: goodput" in users.text
    assert "receiver's window" in thin.text
    with pytest.raises(longhaul.ResultError, match="no flow 'nobody'"):
        result.explain("nobody")


def test_flows_by_name(command, tmp_path, scenario):
    assert command("run", scenario, "--out", tmp_path / "r", "-q").code == 0
    by_group = command("explain", tmp_path / "r", "--flows", "users", "--each", "--budget", "5 s")
    assert by_group.code == 0, by_group.err
    assert all(f"users[{number}]" in by_group.out for number in range(3))
    one = command("explain", tmp_path / "r", "--flows", "users[1]", "--each", "--budget", "5 s")
    assert "users[1]" in one.out
    assert "users[0]" not in one.out
    wrong = command("explain", tmp_path / "r", "--flows", "usres")
    assert wrong.code == 2
    assert "no flow or group 'usres'" in wrong.err
    assert "did you mean 'users" in wrong.err
    assert command("explain", tmp_path / "r", "--flows", "0-99").code == 2
