"""`longhaul explain`: the accounting of time, causes where they can be tested, and a plain statement where they cannot."""

import json
import time
from pathlib import Path

import longhaul
import pytest
from longhaul import Scenario, explain, qoe
from longhaul.experience import experiences
from longhaul.explain import accounting, explain_result, limit_title
from longhaul.results import Result
from longhaul.why.case import Case
from longhaul.why.table import interventions

ACCELERATED = """
name = "accelerated"
[run]
duration = "30 s"
[[link]]
name = "internet"
ends = ["server", "hub"]
rate = "1 Gbit/s"
delay = "5 ms"
[[link]]
name = "satellite"
ends = ["hub", "client"]
rate = "50 Mbit/s"
delay = "300 ms"
queue = "3.75 MB"
[[link]]
name = "lan"
ends = ["client", "user"]
rate = "1 Gbit/s"
delay = "500 us"
[[flow]]
name = "f"
from = "server"
to = "user"
start = "3 s"
[[middlebox]]
name = "pep"
kind = "split"
at = "hub"
peer = "client"
long = {{ transport = "hop"{long} }}
"""


def one_link(**flow):
    """A flow of 20 s over 5 Mbit/s."""
    return (
        Scenario("one link", duration="20 s")
        .link("path", "a", "b", rate="5 Mbit/s", delay="50 ms")
        .flow("a", "b", name="f", **flow)
    )


@pytest.mark.slow("15 seconds of processor time each")
@pytest.mark.parametrize(
    ("long", "words"),
    [
        (', credit = "1 MB"', "the credit of 1 MB on the hop of pep"),
        (', memory = "9 MB"', "the memory of 9 MB on the hop of pep"),
        (
            ', forward_rate = "1 Mbit/s"',
            "the rate at which the hop of pep is configured to begin, 1 Mbit/s (forward_rate)",
        ),
    ],
)
def test_what_an_accelerator_has_room_for(long, words):
    result = longhaul.run(Scenario.from_toml(ACCELERATED.format(long=long)), tables=False)
    assert f"Limited by {words}" in result.explain(seconds=600.0)


@pytest.mark.slow("15 seconds of processor time")
def test_a_quic_connection_that_ended_with_an_error():
    """Slow start's overshoot: more gaps in the stream than quinn-proto holds."""
    scenario = (
        Scenario("gaps", duration="20 s")
        .link("path", "a", "b", rate="50 Mbit/s", delay="300 ms", queue="1000 packets")
        .flow("a", "b", name="f", transport="quic")
    )
    text = longhaul.run(scenario, tables=False).explain(seconds=600.0)
    assert "unordered = false" in text.partition("These made no difference")[0]


def test_a_flow_that_stopped_before_the_measured_time():
    scenario = (
        Scenario("stopped", duration="30 s", warmup="10 s")
        .link("path", "a", "b", rate="1 Mbit/s", delay="10 ms", outages=[{"start": "5 s", "duration": "25 s"}])
        .flow("a", "b", name="f", stop="8 s")
    )
    (flow,) = longhaul.run(scenario, tables=False).summary["flows"]
    assert accounting(flow) == "it had stopped before the measured time; only retransmissions and closing were left"


def test_limits_of_sttp_are_called_what_they_are_there():
    def section(name, kind):
        return {"name": name, "tcp": {"congestion": {"kind": kind}}}

    content = {"flow": [section("old", "reno"), section("new", "sttp_practical")]}
    old, new = {"group": "old"}, {"group": "new"}
    assert limit_title("pacing", [new], content) == "STTP's bucket"
    assert limit_title("cwnd", [new], content) == "STTP's peer_window"
    assert limit_title("pacing", [old], content) == "pacing"
    assert limit_title("pacing", [old, new], content) == "pacing, or STTP's bucket"
    assert limit_title("recovery", [new], content) == "recovery"
    assert limit_title("cwnd", [new], {}) == "cwnd"


def test_an_emulated_result_has_the_accounting_and_no_cause():
    result = longhaul.run(one_link(), tables=False)
    emulated = Result({**result.summary, "emulation": {"late_packets": 0}}, None, scenario=result.scenario)
    found = explain_result(emulated)
    assert not found.tested
    assert found.text.startswith("Causes were not tested: real packets and real kernels never repeat exactly.")
    assert "its time: link full" in found.text
    assert "Limited by" not in found.text


def test_a_run_that_took_longer_than_the_budget_has_the_accounting_at_once(tmp_path):
    result = longhaul.run(one_link(count=50), out=tmp_path / "r")
    timing = json.loads((tmp_path / "r" / "timing.json").read_text())
    (tmp_path / "r" / "timing.json").write_text(json.dumps({**timing, "wall_s": 43.0}))
    began = time.monotonic()
    found = explain_result(longhaul.load_run(tmp_path / "r"))
    assert time.monotonic() - began < 5
    assert not found.tested
    assert "the run itself took 43 s" in found.reason
    assert result.name in found.name


def test_json_has_the_waterfall_and_every_flow(command, tmp_path):
    file = tmp_path / "window.toml"
    file.write_text(one_link(tcp={"receive_buffer": "16 kB"}).to_toml())
    of_file = json.loads(command("explain", file, "--json").out)
    assert command("run", file, "--out", tmp_path / "r", "-q").code == 0
    found = json.loads(command("explain", tmp_path / "r", "--json").out)
    assert found["groups"] == of_file["groups"]
    (group,) = found["groups"]
    assert found["tested"]
    assert group["steps"][0]["causes"] == ["receiver's window"]
    assert group["steps"][0]["factor"] == pytest.approx(4.2, rel=0.05)
    assert group["value"] * group["steps"][0]["factor"] == pytest.approx(group["steps"][0]["value"], rel=1e-6)
    assert found["accounting"][0]["time"]["receiver_window"] > 0.9
    table = command("explain", tmp_path / "r")
    assert "without the receiver's window of 16 kB" in table.out
    assert "ideal" in table.out


def test_run_prints_the_accounting_and_points_to_explain(command, tmp_path):
    file = tmp_path / "window.toml"
    file.write_text(one_link().to_toml())
    out = command("run", file, "--out", tmp_path / "r").out
    assert "f: goodput" in out
    assert f"longhaul explain {tmp_path / 'r'}" in out.replace("\n", "")


def test_a_budget_is_a_time(command, tmp_path):
    file = tmp_path / "x.toml"
    file.write_text(one_link().to_toml())
    wrong = command("explain", file, "--budget", "20 runs")
    assert wrong.code == 2
    assert "write a time" in wrong.err


def test_every_example_of_one_run_is_explained():
    """No example's first group is without a sentence that names a limit."""
    result = longhaul.run(Path(longhaul.__file__).parent / "examples/geo-one-flow.toml", tables=False)
    text = result.explain(seconds=600.0)
    assert "satellite (hub → terminal)" in text


def test_twenty_thousand_flows_are_read_in_seconds(command, scenario, tmp_path):
    """What an explanation does beside its runs: sentences, shares and interventions. It took longer than the run."""
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    result = longhaul.load(out)
    summary = dict(result.summary)
    flows = summary["flows"]
    summary["flows"] = [{**flows[number % len(flows)], "id": number} for number in range(20_000)]
    content = explain.content_of(result)
    began = time.process_time()
    texts = explain.group_texts(summary["flows"])
    case = Case(content, summary, str(flows[0]["group"]))
    found = interventions(case)
    experiences(summary, content)
    assert time.process_time() - began < 5.0
    assert found
    assert "20,000 flows" in texts[0].text


def test_what_users_notice_leads_the_accounting():
    """A call of which 95 % of the time its sender had nothing to send: that is no complaint, its delay is."""
    flow = {
        "id": 0, "app": "cbr", "limited": {"application": 0.95, "cwnd": 0.05},
        "metrics": {"goodput_bps": 6e4, "mos": 1.0, "call_delay_s": 3.9},
    }  # fmt: skip
    assert explain.accounting(flow).startswith("mean opinion score 1, delay 3.9 s; its time: application 95 %")
    calls = [{**flow, "id": n, "metrics": {**flow["metrics"], "mos": mos}} for n, mos in enumerate((4.0, 1.0, 3.0))]
    assert [one["id"] for one in explain.worst_first(calls)] == [1, 2, 0]


def test_like_applications_are_compared_with_like_ones():
    """The slowest page is not the flow with the least goodput, which is a call."""
    page = {"app": "web", "metrics": {"pages": 3, "page_time_mean_s": 2.0, "page_time_p95_s": 4.0, "goodput_bps": 1e5}}
    worse = {"app": "web", "metrics": {**page["metrics"], "page_time_p95_s": 9.0, "goodput_bps": 9e5}}
    call = {"app": "cbr", "metrics": {"mos": 4.2, "call_delay_s": 0.1, "goodput_bps": 6e4}}
    flows = [{**one, "id": number} for number, one in enumerate((page, call, worse))]
    assert {app: [one["id"] for one in members] for app, members in qoe.like(flows).items()} == {
        "web": [2, 0], "cbr": [1],
    }  # fmt: skip


def test_what_a_proxy_acknowledged_early_is_no_limit_of_the_application():
    """Behind premature ACKs a sender has nothing left to send long before the receiver has all."""
    scenario = (
        Scenario("early", duration="60 s")
        .link("lan", "server", "hub", rate="1 Gbit/s", delay="1 ms")
        .link(
            "satellite",
            "hub",
            "client",
            rate="50 Mbit/s",
            delay="250 ms",
            queue="5000 packets",
            forward={"loss": "1 %"},
        )
        .flow("server", "client", name="f", app={"kind": "bulk", "size": "1 MB"})
        .middlebox("hub", "premature_ack", name="pep", buffer="4000 packets")
    )
    result = longhaul.run(scenario)
    (flow,) = result.summary["flows"]
    assert explain.main_limit(flow)[0] == "application"
    text = explain.accounting(flow, explain.content_of(result))
    assert "all acknowledged early by pep" in text
    assert "application" not in text
    assert explain.limit_title("application", [{"group": "other"}], explain.content_of(result)) == "application"


def test_a_range_of_goodputs_goes_from_the_least_to_the_greatest():
    """Of pages some of which never came, it was "139 kbit/s to 59.2 kbit/s"."""
    flow = {"app": "web", "group": "web", "limited": {"application": 1.0}}
    metrics = [
        {"pages": 3, "goodput_bps": 139e3, "page_time_mean_s": 9.0, "page_time_p95_s": 14.3},
        {"pages": 0, "goodput_bps": 59e3, "page_time_mean_s": None, "page_time_p95_s": None},
    ]
    flows = [{**flow, "id": number, "name": f"web[{number}]", "metrics": one} for number, one in enumerate(metrics)]
    (found,) = explain.group_texts(flows)
    assert found.text.startswith("2 flows, 59 kbit/s to 139 kbit/s;")
    flows[1]["metrics"] |= {"page_time_mean_s": 1.0, "page_time_p95_s": 2.0}
    (found,) = explain.group_texts(flows)
    assert found.text.startswith("2 flows, the worst with 95 % of its pages within 14.3 s, the best 2 s;")
