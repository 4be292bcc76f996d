"""Why a flow is not faster, for paths whose limit is known from what was configured."""

import json
import math
import re
from pathlib import Path

import longhaul
import pytest
from longhaul.explain import explain, limit_title

PATH = """
name = "known limit"
[run]
duration = "{duration}"
warmup = "{warmup}"
seed = 1
[[link]]
name = "path"
ends = ["server", "client"]
{link}
[[flow]]
name = "f"
from = "server"
to = "client"
{flow}
"""


@pytest.fixture
def told(command, tmp_path):
    """Runs a flow over one link and returns what is said of each flow, by its name."""

    def run(link, flow="", duration="60 s", warmup="0 s"):
        file = tmp_path / "path.toml"
        file.write_text(PATH.format(link=link, flow=flow, duration=duration, warmup=warmup))
        outcome = command("run", file, "--out", tmp_path / "r", "--force", "-q")
        assert outcome.code == 0, outcome.err
        explained = json.loads(command("explain", tmp_path / "r", "--limit", 1000, "--json").out)
        return {flow["name"]: flow["text"] for flow in explained}

    return run


def test_one_flow_that_fills_its_link(told):
    text = told('rate = "1 Mbit/s"\ndelay = "10 ms"', duration="5 s")["f"]
    assert text.startswith("Fills path (server → client): 99.")
    assert "of 1 Mbit/s is in use, and only a faster link would make it faster." in text
    # What waits in the queue is no matter of the initial window.
    assert "the rest is queueing" in text
    assert "initial window" not in text


def test_a_flow_in_slow_start_on_an_idle_link(told):
    """A larger initial window is advice for a transfer that ends before the link is full."""
    text = told('rate = "100 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "bulk", size = "100 kB" }')["f"]
    assert "a larger initial window" in text
    assert "Fills" not in text
    assert "is full" not in text


ACCELERATED = """
name = "known limit"
[run]
duration = "30 s"
seed = 1
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
{satellite}
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
app = {app}
[[middlebox]]
name = "pep"
kind = "split"
at = "hub"
peer = "client"
long = {{ transport = "hop"{long} }}
"""


@pytest.fixture
def accelerated(command, tmp_path):
    """Runs a flow through an accelerator over a satellite and returns what is said of it, and its goodput."""

    def run(app, long="", satellite=""):
        file = tmp_path / "path.toml"
        file.write_text(ACCELERATED.format(app=app, long=long, satellite=satellite))
        outcome = command("run", file, "--out", tmp_path / "r", "--force", "-q")
        assert outcome.code == 0, outcome.err
        (flow,) = json.loads((tmp_path / "r" / "summary.json").read_text())["flows"]
        (told,) = json.loads(command("explain", tmp_path / "r", "--json").out)
        return told["text"], flow["metrics"]["goodput_bps"]

    return run


def test_behind_a_proxy_slow_start_takes_the_round_trip_to_the_proxy():
    flow = {
        "limited": {"slow_start": 1.0}, "base_rtt_s": 0.61, "metrics": {"goodput_bps": 1e6, "rtt_mean_s": 0.01},
    }  # fmt: skip
    assert "one doubling each 10 ms" in explain(flow)


def test_a_sender_that_a_proxy_serves_in_milliseconds_is_not_what_takes_the_time(accelerated):
    """10 MB take 1.6 s at 50 Mbit/s; the sender's slow start, 0.1 s of the 2, was named before."""
    text, _ = accelerated('{ kind = "bulk", size = "10 MB" }\ntcp = { established = true }')
    assert "had handed everything to the proxy pep after" in text
    assert "takes 1.6 s for 10 MB: no other transport would be much faster" in text
    assert "slow start" not in text.lower()


@pytest.mark.parametrize("long", [', credit = "1 MB"', ', memory = "9 MB"'])
def test_the_credit_of_an_accelerator(accelerated, long):
    """It is named, and four times as much carries four times as much, which the proxy's buffer (1 MB) does not prevent."""
    text, goodput = accelerated('{ kind = "bulk" }', long)
    assert "Its credit of 1 MB for each flow cannot carry more than 13." in text
    text, more = accelerated('{ kind = "bulk" }', ', credit = "4 MB"')
    assert "credit" not in text
    assert more == pytest.approx(min(4 * goodput, 47e6), rel=0.05)


@pytest.mark.parametrize("size", ["200 kB", "2 MB", "20 MB"])
def test_a_hop_that_is_configured_far_too_slow(accelerated, size):
    """The sender's own slow start lasts milliseconds: before, it was named in the place of the configured rate."""
    text, _ = accelerated(f'{{ kind = "bulk", size = "{size}" }}', ', forward_rate = "1 Mbit/s"')
    assert "starts at the configured 1 Mbit/s (forward_rate), 2 % of the 50 Mbit/s of satellite (hub → client)" in text


def test_bbr_between_the_nodes_does_not_take_loss_for_congestion(accelerated):
    loss = 'loss = { kind = "random", probability = "1 %" }'
    text, _ = accelerated('{ kind = "bulk", size = "10 MB" }', ', carrier = "tcp"', loss)
    assert "its congestion control (bbr) is the limit" in text
    assert "takes for congestion" not in text


def test_a_transfer_that_fits_into_the_buffer_waits_for_the_link(accelerated):
    text, _ = accelerated('{ kind = "bulk", size = "2 MB" }')
    assert "satellite (hub → client) takes 320 ms for 2 MB: no other transport would be much faster." in text


RANDOM_LOSS = 'rate = "20 Mbit/s"\ndelay = "50 ms"\nforward = { loss = { kind = "random", probability = "1 %" } }'


def test_random_loss_is_not_congestion(told):
    text = told(RANDOM_LOSS, 'tcp = { congestion = "reno" }', "300 s", "20 s")["f"]
    lost = float(re.search(r"the link loses ([0-9.]+) % of the packets", text)[1])
    assert lost == pytest.approx(1.0, abs=0.2)
    assert text.startswith("Random loss on path (server → client), not congestion")
    assert "no queue on the path dropped one, so longer queues change nothing" in text
    assert "queue is too short" not in text
    # Mathis et al. 1997: MSS/RTT sqrt(3/2)/sqrt(p), an ACK for each segment; the p and RTT that it names itself.
    every, allowed = re.search(r"every ([0-9]+) packets .* Mathis' formula allows ([0-9.]+) Mbit/s", text).groups()
    once, twice = (1460 * 8 / 0.101 * math.sqrt(1.5 / b * int(every)) / 1e6 for b in (1, 2))
    assert float(allowed) in (pytest.approx(once, rel=0.03), pytest.approx(twice, rel=0.03))


def test_losses_in_a_queue_are_congestion(told):
    text = told(
        'rate = "20 Mbit/s"\ndelay = "150 ms"\nforward = { queue = { kind = "droptail", limit = "20 packets" } }',
        'tcp = { congestion = "reno" }',
        "200 s",
        "50 s",
    )["f"]
    assert "Random loss" not in text
    assert "the queue is too short" in text


#: Coetzee 1999, equation 5.6 without framing: 9600 / (8 x 40) ACKs a second, each for 2 x 1460 B: 701 kbit/s.
ASYMMETRIC = 'delay = "300 ms"\nforward = { rate = "10 Mbit/s" }\nreverse = { rate = "9600 bit/s" }'


@pytest.mark.parametrize("buffer", ["250 kB", "4 MB"])
def test_a_return_link_full_of_acks(told, buffer):
    flow = f'tcp = {{ variant = "sack", congestion = "reno", receive_buffer = "{buffer}", delayed_ack = "200 ms" }}'
    text = told(ASYMMETRIC, flow, "120 s", "30 s")["f"]
    assert text.startswith("The return link path (client → server) is full: 100 % of 9.6 kbit/s is in use, by ACKs.")
    assert "lets 30 ACKs of 40 B pass in a second" in text
    assert "a larger window only fills the queue there" in text
    assert "would fill its share" not in text
    if buffer == "250 kB":
        assert "each stands for 2920 B of data: 701 kbit/s." in text


def test_a_return_link_full_of_other_data(told):
    """ACKs behind an upload that fills the return link: no ACK rate can be told from the link's packets."""
    upload = '[[flow]]\nname = "upload"\nfrom = "client"\nto = "server"\ntcp = { receive_buffer = "4 MB" }'
    link = 'delay = "300 ms"\nforward = { rate = "10 Mbit/s" }\nreverse = { rate = "100 kbit/s" }'
    text = told(link, upload, "120 s", "30 s")
    assert "path (client → server) is full" in text["f"]
    assert "by other data than ACKs too" in text["f"]
    assert "ACKs of" not in text["f"]
    assert text["upload"].startswith("Fills path (client → server)")


def test_many_flows_share_a_full_link(told):
    flow = 'count = 500\nstart = { uniform = ["0 s", "5 s"] }\ntcp = { congestion = "reno" }'
    text = told('rate = "100 Mbit/s"\ndelay = "250 ms"', flow, "80 s", "40 s")
    assert len(text) == 500
    for one in text.values():
        assert "The link path (server → client) is full" in one
        # 100 Mbit/s x 1460 / 1500 / 500.
        assert "of an equal share of the link (195 kbit/s, 1/500)" in one
        assert "grows back too slowly" not in one


def test_a_flow_on_a_link_too_slow_for_its_handshake(told):
    text = told('rate = "1 bit/s"\ndelay = "10 ms"', duration="50 s")["f"]
    assert text.startswith("Delivered nothing: it waited for the handshake 100 % of the measured time")
    # 1500 B x 8 / 1 bit/s.
    assert "A segment of 1500 B takes 12,000 s on path (server → client), whose rate is 1 bit/s." in text
    assert "short transfer" not in text


def test_a_flow_that_stopped_before_the_measured_time(told):
    """An outage keeps it repeating what it had left: that is no loss rate of the measured time."""
    link = 'rate = "1 Mbit/s"\ndelay = "10 ms"\noutages = [{ start = "5 s", duration = "25 s" }]'
    text = told(link, 'stop = "8 s"', "30 s", "10 s")["f"]
    assert text == "It had stopped before the measured time; only retransmissions and closing were left."


def _flow_and_run(loss, drops_queue, part):
    """A flow with this loss rate and part of its share over a link that loses 1 % of 10,000 packets on the wire."""
    metrics = {"transmitted_packets": 10_000, "drops_loss": 100, "drops_queue": drops_queue, "utilisation": 0.6}
    link = {"name": "l.forward", "from": "a", "to": "b", "rate_bps": 1e6, "active_flows": 2.0, "metrics": metrics}
    flow = {
        "limited": {"cwnd": 1.0}, "data_path": [0], "ack_path": [],
        "metrics": {"goodput_bps": part * 1e6, "loss_rate": loss, "congestion_event_rate": loss},
        "predicted": {"fair_share_bps": 1e6},
    }  # fmt: skip
    return flow, {"links": [link], "flows": [flow]}


def test_random_loss_is_blamed_only_for_most_of_the_losses():
    assert "Random loss on l (a → b)" in explain(*_flow_and_run(0.01, 0, 0.2))
    assert "longer queues change nothing" not in explain(*_flow_and_run(0.011, 10, 0.2))
    assert "Random loss" not in explain(*_flow_and_run(0.05, 400, 0.2))
    assert "Random loss" not in explain(*_flow_and_run(0.01, 0, 0.95))


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


def test_a_quic_connection_that_ended_with_an_error_is_explained_by_that(told):
    """Slow start's overshoot: more gaps in the stream than quinn-proto holds."""
    link = 'rate = "50 Mbit/s"\ndelay = "300 ms"\nqueue = "1000 packets"'
    text = told(link, 'transport = "quic"', duration="20 s")["f"]
    assert text.startswith("The QUIC connection ended early: too many gaps in a stream;")
    assert "unordered = true" in text
    assert "initial window" not in text


def test_only_the_flow_that_ended_is_explained_by_its_end(told):
    """Of several flows of a group those that ended have the reason, with the number of them in the warning, and the others have theirs."""
    link = 'rate = "50 Mbit/s"\ndelay = "300 ms"\nqueue = "1000 packets"'
    # The first fills the queue; the second begins when the run is nearly over.
    flow = 'transport = "quic"\ncount = 2\nstart = { spaced = "19 s" }'
    texts = told(link, flow, duration="20 s")
    assert texts["f[0]"].startswith("The QUIC connection ended early: too many gaps in a stream;")
    assert "ended early" not in texts["f[1]"]


def test_a_link_that_is_full_part_of_the_time_has_both_measures(tmp_path):
    """Its mean utilisation and the bar of limits differ, so the text states what each is."""
    result = longhaul.run(Path(longhaul.__file__).parent / "examples/dumbbell-50-flows.toml", out=tmp_path / "r")
    assert (
        "is full: 95.5 % of 100 Mbit/s on average, and more than 95 % in 63 % of its time. The flow got"
        in result.explain()
    )
    page = result.report(tmp_path / "report.html").read_text()
    assert "Each bar divides the flow&#39;s time. A link is full while more than 95 % of its rate is in use" in page
    assert ", maximum" in page
    assert ">reset</button>" in page
