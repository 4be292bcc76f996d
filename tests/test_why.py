"""Causes proven by intervention, for situations from public reports whose cause is known: each was explained wrongly from averages.

What is right was written down from the reports and from runs with single settings changed, before there was code that finds it.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import longhaul
import pytest
from limited_by import CASES
from longhaul import Scenario, document
from longhaul.experience import experiences
from longhaul.scenario import as_document
from longhaul.why import why
from longhaul.why.waterfall import WORTH
from longhaul.why.words import paragraph, rows

SITUATIONS = Path(__file__).with_name("situations")


@cache
def explained(name):
    """The explanation of a situation's first group, and of the others."""
    return why(document.read(next(SITUATIONS.glob(f"{name}-*.toml"))), seconds=600.0)


@dataclass(frozen=True)
class Known:
    """A situation and its cause."""

    #: The begin of the file's name.
    file: str
    #: The first cause, and words of its clause.
    cause: str
    words: str
    #: The factor by which it is better without it, at least.
    least: float
    #: Words that were in wrong explanations.
    never: tuple[str, ...] = ()


KNOWN = [
    # 10 Mbit/s down and 60 kbit/s up: ACKs fill the return link while the transfer lasts; it was called "no time to grow".
    Known("14c", "full return link", "dsl (home → isp) of 60 kbit/s", 2.0, ("no time to grow",)),
    # Five flows on l1 by a round trip of 640 ms against 25: the culprit crosses l1, and was said to be a flow on l2.
    Known("18b", "unequal shares", "group c1 (4 flows), which shares l1", 1.9, ("fast (1 flow) has 97 %",)),
    # A first timeout of 1 s at a round trip of 5 s.
    Known("12b", "handshake", "rto.initial", 100.0, ("no time to grow",)),
    # Thousands of short outages, which were called random loss.
    Known("01b", "outage", "outages of sat (gw → st)", 5.0, ("random loss",)),
    # Vegas takes the longer path for a queue.
    Known("16", "changing link", "leo (a → b), whose delay changed", 1.4, ("no time to grow", "mean of a rate")),
    # 64 KiB over 600 ms, which the path has from 1 s on: it was warned of 20 ms.
    Known("16b", "receiver's window", "65.5 kB", 11.0),
    # BBR looks for the shortest round trip each 5 s, which is half of one.
    Known("03", "probes of the round trip", "probe_rtt_interval", 2.0, ("no time to grow",)),
    # The transmitter stands still for 30 s; it was a story about rto.max.
    Known("29", "changing link", "rate was 0 bit/s for 30 s, from 10 s to 40 s", 1.6, ("rto.max",)),
    # 65,535 x 2^14 bytes over 200 ms are 42.9 Gbit/s; the receive buffer of 2 GB was named.
    Known("20b", "largest window", "1.07 GB", 2.2),
    # CoDel's target of 5 ms at a round trip of 600 ms.
    Known("30", "short queue", "codel with a target of 5 ms, which marked", 1.3, ("random loss",)),
    # A first timeout of 1 s at a round trip of 20 minutes.
    Known("04", "handshake", "rto.initial", 30.0),
]  # fmt: skip


#: Whole runs of these take a second or more, and there are tens of them.
_SLOW = frozenset({"03", "18b", "20b"})


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(one, marks=pytest.mark.slow("tens of runs of a second")) if one.file in _SLOW else one
        for one in KNOWN
    ],
    ids=lambda known: known.file,
)
def test_the_first_cause_is_the_known_one(known):
    found = explained(known.file)
    first = found.groups[0].steps[0]
    assert [cause.cause for cause in first.causes] == [known.cause]
    assert known.words in first.causes[0].clause
    assert first.effect.factor >= known.least
    for words in known.never:
        assert words not in found.groups[0].causes[0].clause
        assert words not in found.text


@pytest.mark.slow("tens of runs of a second")
def test_what_made_no_difference_is_listed():
    (found,) = explained("14c").groups
    assert {one.cause for one in found.without_effect} >= {"short queue", "receiver's window", "send buffer"}
    long = next(one for one in explained("18b").groups if one.group == "long")
    assert any("group fast" in one.clause for one in long.without_effect)


def test_a_fade_after_the_transfer_is_no_cause():
    """The transfer takes 16.9 s at 94.8 of 100 Mbit/s; the rate falls at 40 s. It was said to fill 38.6 % of 14.2 Mbit/s."""
    found = explained("33")
    (group,) = found.groups
    assert group.steps == []
    assert group.path[0].clause == "the rate of l (a → b), 100 Mbit/s"
    assert group.path[0].effect.factor == pytest.approx(2.0, rel=0.1)
    assert "Fills l (a → b), 100 Mbit/s" in found.text
    assert "38.6" not in found.text


@pytest.mark.slow("half a minute of processor time")
def test_limits_that_hide_one_another_are_found_one_after_the_other():
    """Linux' buffers over 1 Gbit/s and 200 ms: both are named, and 122 Mbit/s become more than 900 without them. Of the send
    buffer's 4 MiB, three quarters are in flight (163 Mbit/s would be all of it)."""
    (group,) = explained("28").groups
    assert {cause.cause for step in group.steps[:2] for cause in step.causes} == {"send buffer", "receiver's window"}
    assert group.steps[-1].value > 900e6
    assert group.value == pytest.approx(122e6, rel=0.02)


@pytest.mark.slow("tens of runs of a second")
def test_a_return_link_that_is_full_while_the_transfer_lasts():
    """BBR over 250/3 Mbit/s: the run goes on long after, so the return link was "in use 1.2 %"."""
    (group,) = explained("02").groups
    assert {"slow start", "full return link"} <= {cause.cause for cause in group.causes[:2]}
    assert group.steps[1].value < 7.0  # what draft-kuhn-quic-4-sat asks for


def test_what_helps_only_together_is_found():
    """Two buffers of one size: neither alone makes a difference."""
    scenario = (
        Scenario("both", duration="60 s")
        .link("path", "a", "b", rate="20 Mbit/s", delay="100 ms", queue="700 packets")
        .flow("a", "b", name="f", tcp={"receive_buffer": "64 kB", "send_buffer": "64 kB", "slow_start": "hystart++"})
    )
    (group,) = why(scenario.document(), seconds=600.0).groups
    assert {cause.cause for cause in group.steps[0].causes} == {"receiver's window", "send buffer"}
    assert group.steps[0].effect.factor > 4
    assert "together with" in longhaul.why.paragraph(group)


def test_an_effect_of_chance_is_none():
    """A link that loses a packet in a million, which is in use to the full: randomness plays a part, and no cause is named."""
    scenario = (
        Scenario("noise", duration="60 s", warmup="10 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="20 ms", queue="100 packets", loss="0.0001 %")
        .flow("a", "b", name="f", tcp={"congestion": "cubic"})
    )
    (group,) = why(scenario.document(), seconds=600.0).groups
    assert group.steps == []
    assert group.path[0].cause == "full link"


def test_the_budget_ends_the_tests_and_what_was_not_tested_is_listed():
    found = why(document.read(SITUATIONS / "28-linux-defaults-lfn.toml"), seconds=0.001)
    assert found.groups[0].steps == []
    assert found.groups[0].untested
    assert "Not tested: " in found.text


def _lot(**flow):
    """A parking lot: one flow over three links, each of which another flow shares."""
    scenario = Scenario("lot", duration="40 s", warmup="10 s")
    for number, ends in enumerate(("ab", "bc", "cd"), 1):
        scenario = scenario.link(f"l{number}", *ends, rate="10 Mbit/s", delay="10 ms", queue="50 packets")
    scenario = scenario.link("far", "x", "y", rate="10 Mbit/s", delay="10 ms")
    return scenario.flow("a", "d", name="long", **flow)


def test_several_full_queues_in_a_row_are_named_and_no_flow_that_crosses_none_of_them():
    scenario = _lot().flow("x", "y", name="elsewhere", count=3)
    for number, ends in enumerate(("ab", "bc", "cd"), 1):
        scenario = scenario.flow(*ends, name=f"c{number}")
    found = why(scenario.document(), seconds=600.0, groups=["long"]).groups[0]
    assert found.causes[0].clause.startswith(
        "3 full queues in a row: l1 (a → b), which it shares with c1; l2 (b → c), which it shares with c2; l3 (c → d)"
    )
    assert found.steps[0].effect.factor > 3
    assert "elsewhere" not in longhaul.why.paragraph(found)


def test_links_of_one_rate_in_a_row_are_the_limit_together():
    found = why(_lot().document(), seconds=600.0).groups[0]
    text = longhaul.why.paragraph(found)
    assert found.steps == []
    assert (
        "Limited by 3 bottlenecks in a row: the rate of l1 (a → b), 10 Mbit/s; the rate of l2 (b → c), 10 Mbit/s"
        in text
    )
    assert "equal share" not in text
    assert "These made no difference: the rate of" not in text


def test_a_flow_that_its_application_limits_has_what_it_writes_and_is_measured_by_no_share():
    small = {"kind": "cbr", "rate": "64 kbit/s", "message": "160 B"}
    scenario = _lot(app=small, tcp={"nagle": False}).flow("x", "y", name="elsewhere", count=3)
    found = why(scenario.document(), seconds=600.0, groups=["long"]).groups[0]
    text = longhaul.why.paragraph(found)
    assert "what its application writes" in text
    assert "equal share" not in text
    assert found.steps == []
    assert found.path[0].cause == "application"


def test_the_group_whose_users_complain_is_the_first_and_its_delay_is_named():
    """A call of 64 kbit/s behind two downloads: its opinion and its delay lead, not what its sender waited for."""
    voice = {"kind": "cbr", "rate": "64 kbit/s", "message": "160 B", "voice": True}
    scenario = (
        Scenario("call", duration="20 s", warmup="5 s")
        .link("dsl", "isp", "home", rate="2 Mbit/s", delay="20 ms", queue="500 packets")
        .flow("isp", "home", name="down", count=2)
        .flow("isp", "home", name="call", app=voice, tcp={"nagle": False})
    )
    found = why(scenario.document(), seconds=600.0)
    first = found.groups[0]
    assert first.group == "call"
    assert first.text.startswith("1, a delay of ")
    assert first.causes[0].cause in ("standing queue", "unequal shares")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_explanation_names_the_limit(case):
    """Scenarios that are limited by exactly one thing."""
    found = why(document.parse(case.scenario, case.id), seconds=600.0, groups=["f"])
    first = longhaul.why.paragraph(found.groups[0], found.seeds).partition(" These made no difference")[0]
    for words in case.words:
        assert words in first, first
    for words in case.never:
        assert words not in first, first


def test_a_fixed_so_rcvbuf_is_the_receiver_s_window():
    """lightway#437: 11.22 Mbit/s over 190 ms with SO_RCVBUF, 161 without: rmem_max of 212,992 bytes, doubled, of which 5/8
    are window, and the scale of half of it expresses 262,140 bytes."""
    scenario = (
        Scenario("SO_RCVBUF", duration="25 s", warmup="5 s")
        .link("wan", "a", "b", rate="50 Mbit/s", delay="95 ms", queue="1500 packets")
        .flow("a", "b", name="f", tcp={"variant": "linux", "so_rcvbuf": "212992 B"})
    )
    found = why(scenario.document()).groups[0]
    assert found.causes[0].cause == "receiver's window"
    assert "SO_RCVBUF of 213 kB, which the kernel doubles and does not autotune" in found.steps[0].causes[0].clause
    assert found.value == pytest.approx(262_140 * 8 / 0.19, rel=0.01)


def test_an_answer_is_not_faster_than_the_round_trip_it_is_compared_with():
    """A response of 298 ms stood beside a round trip of 300: that of full segments, which a short question does not fill."""
    scenario = (
        Scenario("thin", duration="60 s")
        .link("modem", "a", "b", rate="64 kbit/s", delay="50 ms", queue="100 packets")
        .flow("a", "b", name="q", app={"kind": "request", "request": "110 B", "response": "200 B", "think": "1 s"})
    )
    found = why(scenario.document()).groups[0]
    # Twice 50 ms, and 150 and 240 bytes at 64 kbit/s.
    assert found.ideal.value == pytest.approx(0.1 + 8 * 390 / 64e3, rel=0.01)
    assert found.value >= 0.999 * found.ideal.value
    assert found.path[0].clause == "the path's delay, a round trip of 149 ms"


def test_timers_beside_round_trips_have_the_digits_that_tell_them_apart():
    """1 s and 1.0004 s were both 1 s."""
    scenario = (
        Scenario("nearly", duration="30 s")
        .link("l", "a", "b", rate="10 Mbit/s", delay="500 ms", queue="1000 packets")
        .flow("a", "b", name="f", app={"kind": "bulk", "size": "1 MB"})
    )
    found = why(scenario.document())
    shown = [
        one for group in found.groups for one in (*group.effects, *group.without_effect) if "rto.initial" in one.clause
    ]
    assert shown
    assert "timeout of 1 s (rto.initial), shorter than the round trip of 1.0" in shown[0].clause
    assert "round trip of 1 s" not in shown[0].clause


@pytest.mark.slow("twenty seconds of processor time")
def test_two_windows_of_quic_that_only_help_together_are_found_where_all_of_it_together_harms():
    """With a first window of the whole path in 0-RTT the connection stood still, so that no pair was tried: "only a shorter path"."""
    scenario = (
        Scenario("windows", duration="10 s", warmup="3 s")
        .link("path", "s", "c", rate="300 Mbit/s", delay="50 ms", queue="2500 packets")
        .flow("s", "c", name="q", transport="quic",
              quic={"congestion": "cubic", "unordered": True, "stream_window": "1 MB", "connection_window": "1 MB"})
    )  # fmt: skip
    (found,) = why(as_document(scenario), seconds=600.0).groups
    # 1 MB over 100 ms are 80 Mbit/s of 300.
    assert [cause.key for cause in found.steps[0].causes] == ["stream_window q", "connection_window q"]
    assert found.steps[0].effect.factor > 3.5


def test_a_remembered_ssthresh_is_no_slow_start_and_advice_forgets_it():
    """Doubling ends at 16 packets, and the window then grows by one in each round trip."""
    scenario = (
        Scenario("metrics", duration="60 s")
        .link("path", "a", "b", rate="50 Mbit/s", delay="100 ms", queue="1000 packets")
        .flow("a", "b", name="f", app={"kind": "bulk", "size": "20 MB"}, tcp={"congestion": "reno", "initial_ssthresh": "16 packets"})
    )  # fmt: skip
    (found,) = why(as_document(scenario), seconds=600.0).groups
    assert found.steps[0].causes[0].cause == "low ssthresh"
    assert found.steps[0].effect.factor > 4
    row = longhaul.advise(scenario, can=["sender"], seconds=None, runs=60).rows[0]
    assert "tcp_no_metrics_save=1" in row.remedy.linux


@pytest.mark.parametrize(
    ("transport", "setting", "title"),
    [
        ({"tcp": {"variant": "linux", "max_retransmissions": 3}}, "max_retransmissions", "15 retransmissions"),
        ({"transport": "quic", "quic": {"idle_timeout": "10 s"}}, "QUIC's idle timeout of 10 s", "QUIC's idle timeout of 300 s"),
    ],
)  # fmt: skip
def test_a_connection_that_has_ended_completes_nothing(transport, setting, title):
    """Its time was extrapolated from the rate that it had, and nothing named its end."""
    scenario = (
        Scenario("outage", duration="120 s")
        .link("path", "a", "b", rate="5 Mbit/s", delay="50 ms", queue="100 packets", outages=[{"start": "10 s", "duration": "30 s"}])
        .flow("a", "b", name="f", app={"kind": "bulk", "size": "20 MB"}, **transport)
    )  # fmt: skip
    explanation = why(as_document(scenario), seconds=600.0)
    (found,) = explanation.groups
    assert found.text == "never, 1 of 1 connections ended before all had come"
    assert found.steps[0].causes[0].cause == "outage"
    assert any(one.cause == "giving up" and setting in one.clause and one.is_cause for one in found.effects)
    best = longhaul.advise(scenario, can=["sender", "receiver"], seconds=None, runs=60).best
    assert best is not None
    assert best.title.startswith(title)


def test_queueing_is_named_in_the_direction_in_which_packets_wait():
    """Keystrokes up wait for their echoes, which stand behind a transfer down; the direction up was named, with its 365 ms."""
    scenario = (
        Scenario("serial", duration="200 s", warmup="40 s")
        .link("tty", "host", "term", rate="9600 bit/s", delay="10 ms", queue="20 packets")
        .flow("term", "host", name="keys", app={"kind": "keystrokes"}, tcp={"nagle": False})
        .flow("host", "term", name="ftp")
    )
    found = next(one for one in why(as_document(scenario), seconds=600.0).groups if one.group == "keys")
    cause = found.steps[0].causes[0]
    assert (cause.cause, "queueing at tty (host → term)" in cause.clause) == ("standing queue", True)


def test_a_size_in_packets_has_the_ideal_of_its_bytes():
    def ideal(size):
        scenario = (
            Scenario("small", duration="20 s")
            .link("path", "a", "b", rate="50 Mbit/s", delay="25 ms")
            .flow("a", "b", name="f", app={"kind": "bulk", "size": size})
        )
        return why(as_document(scenario), seconds=600.0).groups[0].ideal

    assert ideal("10 packets") == ideal("14600 B") is not None


def test_hystart_that_jitter_ends_is_a_cause_with_its_remedy():
    scenario = (
        Scenario("jitter", duration="60 s")
        .link("path", "a", "b", rate="300 Mbit/s", delay="50 ms", queue="3000 packets", forward={"jitter": "30 ms"})
        .flow("a", "b", name="f", app={"kind": "bulk", "size": "50 MB"},
              tcp={"variant": "linux", "congestion": "reno", "slow_start": "hystart", "send_buffer": "unlimited"})
    )  # fmt: skip
    (found,) = why(as_document(scenario), seconds=600.0).groups
    assert any(one.cause == "early exit of slow start" and one.effect.factor > 1.5 for one in found.effects)
    advice = longhaul.advise(scenario, can=["sender"], seconds=None, runs=80)
    assert any("slow start without HyStart" in row.title for row in advice.rows[:4])
    # The mean of the seeds is far from the run as it is: a factor is between the means, and both stand there.
    first = found.steps[0]
    assert " instead of " in rows(found)[1][1]
    assert first.effect.seeds > 1


def _link(scenario, queue="200 packets", **settings):
    return scenario.link("line", "a", "b", rate="5 Mbit/s", delay="20 ms", queue=queue, **settings)


def _call(scenario, **settings):
    voice = {"kind": "cbr", "rate": "64 kbit/s", "message": "160 B", "voice": True}
    return scenario.flow("a", "b", name="call", transport="udp", app=voice, **settings)


def test_a_call_over_udp_waits_in_a_queue_and_not_for_tcp():
    """Behind a download: the queue or the download is the cause, and nothing that only a connection has."""
    scenario = _call(_link(Scenario("call", duration="20 s", warmup="5 s"))).flow("a", "b", name="file")
    first = why(scenario.document(), seconds=600.0, groups=["call"]).groups[0]
    assert first.causes[0].cause in ("standing queue", "unequal shares")
    known = {"standing queue", "unequal shares", "short queue", "full link", "delay"}
    assert {one.cause for one in (*first.causes, *first.effects)} <= known


def test_losses_of_a_call_over_udp_are_those_of_the_link():
    """5 % of loss cost a call a whole point, since nothing is sent again."""
    scenario = _call(_link(Scenario("call", duration="60 s"), loss="5 %"))
    first = why(scenario.document(), seconds=600.0, groups=["call"]).groups[0]
    assert first.causes[0].cause == "loss on the link", first.text


def test_udp_that_takes_a_link_is_named():
    """4.5 of 5 Mbit/s are taken by datagrams that give way to nobody."""
    scenario = _link(Scenario("starved", duration="30 s", warmup="5 s"), queue="50 packets").flow("a", "b", name="file")
    scenario = scenario.flow("a", "b", name="cross", transport="udp", app={"kind": "cbr", "rate": "4500 kbit/s"})
    first = why(scenario.document(), seconds=600.0, groups=["file"]).groups[0]
    assert first.causes[0].cause == "unequal shares", first.text
    assert "group cross" in first.causes[0].clause


def test_a_shaper_is_the_limit_that_it_is():
    """5 of 20 Mbit/s pass the token bucket: a quarter of the link is all of the ideal, and nothing is lost to the bucket."""
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "30 kB", "latency": "100 ms"}
    scenario = Scenario("shaped", duration="30 s", warmup="5 s").link(
        "path", "a", "b", delay="10 ms", forward={"rate": "20 Mbit/s", "queue": shaper}, reverse={"rate": "20 Mbit/s"}
    )
    first = why(scenario.flow("a", "b", name="f").document(), seconds=600.0).groups[0]
    text = paragraph(first)
    assert not first.causes, text
    assert first.path[0].clause == "the rate of tbf at path (a → b), 5 Mbit/s"
    assert "only a faster shaper" in text


def test_the_rate_of_a_shaper_with_a_peak_is_tried_with_its_peak():
    shaper = {"kind": "tbf", "rate": "5 Mbit/s", "burst": "30 kB", "latency": "100 ms", "peakrate": "8 Mbit/s"}
    scenario = Scenario("shaped", duration="20 s", warmup="5 s").link(
        "path", "a", "b", delay="10 ms", forward={"rate": "20 Mbit/s", "queue": shaper}, reverse={"rate": "20 Mbit/s"}
    )
    first = why(scenario.flow("a", "b", name="f").document(), seconds=600.0).groups[0]
    assert [one.cause for one in first.path] == ["full link"], paragraph(first)


def test_what_makes_it_worse_is_not_listed_as_without_a_difference():
    """Over GEO, then by land: with a queue that drops nothing, or without the overshoot, a flow of 20 s has less."""
    scenario = Scenario("backup", duration="20 s")
    for name, delay in (("geo", "250 ms"), ("land", "20 ms")):
        scenario = scenario.link(name, "a", "b", rate="10 Mbit/s", delay=delay, queue="1 bdp")
    scenario = scenario.route("geo").route("land", at="10 s").flow("a", "b", name="f")
    found = why(scenario.document(), seconds=600.0).groups[0]
    none, _, worse = paragraph(found).partition("Without these it is worse:")
    assert any(one.effect.factor < 0.9 for one in found.without_effect)
    for one in found.without_effect:
        assert one.clause in (worse if one.effect.factor < 1 / WORTH else none), one


def test_an_application_over_udp_is_its_own_limit():
    scenario = _link(Scenario("idle", duration="20 s"))
    scenario = scenario.flow("a", "b", name="f", transport="udp", app={"kind": "cbr", "rate": "1 Mbit/s"})
    first = why(scenario.document(), seconds=600.0).groups[0]
    assert [one.cause for one in first.path] == ["application"], first.text


def test_messages_of_a_poisson_process_have_what_they_write_for_an_ideal():
    """1,000 bytes each 2 ms on average are 4 Mbit/s, of a link of 20: with twice as many there would be twice as much."""
    scenario = Scenario("poisson", duration="20 s").link("line", "a", "b", rate="20 Mbit/s", delay="20 ms")
    messages = {"kind": "messages", "gap": {"exponential": "2 ms"}, "size": "1000 B"}
    scenario = scenario.flow("a", "b", name="f", transport="udp", app=messages)
    first = why(scenario.document(), seconds=600.0).groups[0]
    assert [one.cause for one in first.path] == ["application"], first.text
    assert first.ideal is not None
    assert (first.ideal.value, first.ideal.text) == (4e6, "what its application writes")


@pytest.mark.parametrize(
    ("wire", "words"),
    [
        ({"loss": {"kind": "random", "probability": "2 %"}}, "random loss on sat (a → b)"),
        ({"corruption": "2 %"}, "damage that the hosts' checksums find in packets from sat (a → b)"),
        (
            {"loss": {"kind": "gilbert_elliott", "good_to_bad": "0.5 %", "bad_to_good": "30 %"}},
            "bursts of loss on sat (a → b)",
        ),
        (
            {"loss": {"kind": "gilbert_elliott_time", "good": "5 s", "bad": "200 ms"}},
            "fades of 200 ms on average, each 5 s, on sat (a → b)",
        ),
    ],
    ids=["random", "damage", "bursts", "fades"],
)  # fmt: skip
def test_what_loses_packets_is_named_by_its_kind(wire, words):
    """Damage and fades were called random loss."""
    scenario = (
        Scenario("wire", duration="60 s")
        .link("sat", "a", "b", rate="20 Mbit/s", delay="100 ms", queue="1000 packets", forward=wire)
        .flow("a", "b", name="f", tcp={"congestion": "reno"})
    )
    first = why(as_document(scenario), seconds=600.0).groups[0].steps[0].causes[0]
    assert first.cause == "loss on the link"
    assert first.clause.startswith(words)


def test_a_paced_proxy_that_is_allotted_a_part_of_the_satellite_is_limited_by_that():
    """The rate that its operator wrote was no cause, and the proxy itself was named."""
    example = document.read(Path(longhaul.__file__).with_name("examples") / "paced-protocol.toml")
    (found, *_) = why(example, [("middlebox.0.rate", '"2 Mbit/s"'), ("run.duration", '"20 s"')], seconds=600.0).groups
    first = found.steps[0].causes[0]
    assert (first.cause, "the rate of 2 Mbit/s" in first.clause) == ("proxy's rate", True)


def test_flows_that_starve_among_many_are_counted():
    scenario = (
        Scenario("many", duration="20 s", warmup="5 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay="50 ms", queue="80 packets")
        .flow("a", "b", name="f", count=9)
    )
    summary = longhaul.run(scenario, tables=False).summary
    rates = [flow["metrics"]["goodput_bps"] for flow in summary["flows"]]
    # Two of them are held back to a hundredth.
    for flow in summary["flows"][:2]:
        flow["metrics"]["goodput_bps"] = sorted(rates)[4] / 100
    (one,) = experiences(summary, {"flow": []}).values()
    assert one.beside == "2 of 9 flows get less than a tenth of the median"
