"""Links that share, adapt and change, in drawings, explanations and plots."""

import longhaul
import numpy as np
import pytest
from longhaul import Scenario, course, drawing, examples
from longhaul.document import read
from longhaul.why import why

#: 1 MBd of DVB-S2: 3.300184 Mbit/s at 12 dB (16APSK 5/6), 0.988858 Mbit/s at 2 dB (QPSK 1/2).
FADE = {
    "symbol_rate": 1e6,
    "table": "dvb-s2",
    "margin": 0,
    "hysteresis": 0,
    "reaction": "0 s",
    "signal": [
        {"at": "0 s", "es_n0": 12},
        {"at": "19.95 s", "es_n0": 12},
        {"at": "19.96 s", "es_n0": 2},
    ],
}


def faded(duration: str = "60 s") -> Scenario:
    made = Scenario("acm", duration=duration)
    made = made.link("sky", "hub", "dish", delay="100 ms", forward={"acm": FADE}, reverse={"rate": "10 Mbit/s"})
    return made.flow("hub", "dish", name="download")


def test_a_link_that_adapts_is_drawn_with_its_rate_over_time():
    made = longhaul.run(faded()).draw()
    forward, _ = made.network.links["sky"].ways
    assert "rate follows the signal" in forward.events
    words, values = forward.course
    assert words == "rate follows the signal"
    # A third of the time at the upper rate.
    assert values[5] > 0.95
    assert abs(values[-5] / max(values) - 0.988858 / 3.300184) < 0.05


def test_the_capacity_of_a_link_that_adapts_follows_from_what_it_carried():
    assert course.follows_measurement({"link": [{"name": "l", "acm": FADE}]}, "l.forward")
    assert not course.follows_measurement({"link": [{"name": "l", "acm": FADE}]}, "l.forward", "delay")


def test_a_drawing_has_how_far_a_delay_moves(tmp_path):
    """It had the least delay of what a link follows, which it has for a moment."""
    made = drawing.of_document(read(examples.copy("leo-geometry", tmp_path)))
    (link,) = made.network.links.values()
    assert link.ways[0].longest > 1.1 * link.ways[0].delay
    assert f"{link.ways[0].delays} one way" in made.svg()
    still = drawing.of_document(faded().document()).network.links["sky"]
    assert [way.longest for way in still.ways] == [None, None]


def test_a_link_without_a_usable_signal_has_no_capacity():
    """Its modem goes on sending with the most robust code, and that rate stood for what the link could carry."""
    signal = [
        {"at": f"{at} s", "es_n0": db} for at, db in ((0, 12), (9.95, 12), (9.96, -10), (19.95, -10), (19.96, 12))
    ]
    made = Scenario("acm", duration="30 s")
    made = made.link(
        "sky", "hub", "dish", delay="100 ms", forward={"acm": FADE | {"signal": signal}}, reverse={"rate": "10 Mbit/s"}
    )
    result = longhaul.run(made.flow("hub", "dish", name="download"))
    times = np.arange(1, 31.0)
    found = course.capacity(result, 0, course.links_over_time(result)[0], times, is_measured=True, fades=True)
    assert (found[10:20] == 0).all()
    assert found[5] == pytest.approx(3.300184e6, rel=0.01)
    # A third of the time nothing gets through: two thirds of the rate, of which 1460 of 1500 bytes are payload.
    share = result.summary["flows"][0]["predicted"]["fair_share_bps"]
    assert share == pytest.approx(3.300184e6 * 2 / 3 * 1460 / 1500, rel=0.01)


def test_an_explanation_tries_the_link_at_its_mean_rate():
    """A modem that reacts 2 s late loses a window at each fade: the first cause."""
    signal = [
        {"at": f"{at + step} s", "es_n0": db}
        for at in range(5, 60, 10)
        for step, db in ((0, 12), (0.1, 3), (4, 3), (4.1, 12))
    ]
    acm = {**FADE, "reaction": "2 s", "signal": signal}
    made = Scenario("acm", duration="60 s")
    made = made.link("sky", "hub", "dish", delay="100 ms", forward={"acm": acm}, reverse={"rate": "10 Mbit/s"})
    (group,) = why(made.flow("hub", "dish", name="download").document(), seconds=600.0).groups
    (first, *_) = group.steps
    assert any("whose rate follows its signal" in cause.clause for cause in first.causes)
    assert first.effect.factor > 1.2


def test_a_change_of_loss_alone_is_named():
    """An explanation had "whose  changed once (to a )", a drawing " from 5 s"."""
    made = Scenario("loss", duration="30 s").flow("a", "b", name="f")
    kept = {"rate": "20 Mbit/s", "delay": "20 ms", "queue": "1 bdp"}
    once = made.link("l", "a", "b", changes=[{"at": "5 s", "loss": 0.01}], **kept)
    (first,) = why(once.document()).groups[0].steps[0].causes
    assert first.clause == "l (a → b), whose loss changed once (to a loss of 1 %)"
    assert drawing.of_document(once.document()).network.links["l"].ways[0].events == ["loss 1 % from 5 s"]
    changes = [{"at": "5 s", "loss": 0.01}, {"at": "9 s", "rate": "2 Mbit/s", "loss": 0}, {"at": "13 s", "delay": "200 ms"}]  # fmt: skip
    often = made.link("l", "a", "b", changes=changes, **kept)
    clauses = [one.clause for one in why(often.document()).groups[0].steps[0].causes]
    to = "a rate of 2 Mbit/s, a delay of 200 ms and a loss of 1 %"
    assert f"l (a → b), whose rate, delay and loss changed 3 times (to {to})" in clauses
    events = drawing.of_document(often.document()).network.links["l"].ways[0].events
    assert events == ["3 changes of rate, delay and loss"]


def shared(**terminal: object) -> Scenario:
    """Two terminals on a return carrier of 2 Mbit/s; the first uploads, the second too."""
    made = Scenario("carrier", duration="60 s").carrier("return", rate="2 Mbit/s", delay="600 ms", superframe="40 ms")
    for name in ("ship", "rig"):
        forward = {"carrier": {"name": "return", **(terminal if name == "ship" else {})}}
        made = made.link(name, name, "hub", delay="250 ms", forward=forward, reverse={"rate": "10 Mbit/s"})
        made = made.flow(name, "hub", name=name)
    return made


def test_terminals_of_a_carrier_are_drawn_with_what_they_carried():
    made = longhaul.run(shared()).draw()
    forward, back = made.network.links["ship"].ways
    assert "capacity on request" in forward.events
    assert "capacity on request" not in back.events
    assert forward.course[0] == "capacity on request"


def test_a_terminals_share_counts_the_others_on_its_carrier():
    result = longhaul.run(shared(weight=3), tables=False)
    ship, rig = result.summary["flows"]
    payload = 1460 / 1500
    assert abs(ship["predicted"]["fair_share_bps"] / (1.5e6 * payload) - 1) < 0.02
    assert abs(rig["predicted"]["fair_share_bps"] / (0.5e6 * payload) - 1) < 0.02


def test_an_explanation_names_the_carrier():
    """Questions of 1 kB and their answers wait for assignments: half of them take 612 ms, and 508 ms without requests."""
    made = Scenario("carrier", duration="60 s").carrier("return", rate="2 Mbit/s", delay="600 ms")
    made = made.link(
        "ship", "ship", "hub", delay="250 ms", forward={"carrier": {"name": "return"}}, reverse={"rate": "10 Mbit/s"}
    )
    made = made.flow("ship", "hub", name="queries", app={"kind": "request", "request": "1 kB", "response": "1 kB"})
    (group,) = why(made.document(), seconds=600.0).groups
    (first, *_) = group.steps
    assert any("the carrier return" in cause.clause for cause in first.causes)
    assert first.effect.factor > 1.1


def test_a_link_that_repeats_is_named():
    made = Scenario("arq", duration="30 s").link("sky", "a", "b", rate="10 Mbit/s", delay="50 ms", loss="10 %", arq={})
    made = made.flow("a", "b", name="download")
    assert "losses repeated" in longhaul.run(made).draw().network.links["sky"].ways[0].events
    (group,) = why(made.document(), seconds=600.0).groups
    tried = [cause for step in group.steps for cause in step.causes] + list(group.without_effect)
    assert any("which it repeats itself" in cause.clause for cause in tried)


def test_a_half_duplex_link_is_named():
    made = Scenario("radio", duration="30 s")
    made = made.link("radio", "a", "b", rate="8 Mbit/s", delay="1 ms", half_duplex={"turnaround": "2 ms"})
    made = made.flow("a", "b", name="download")
    assert "half duplex" in longhaul.run(made).draw().network.links["radio"].ways[0].events
    (group,) = why(made.document(), seconds=600.0).groups
    (first, *_) = group.steps
    assert any("one transmitter for both directions" in cause.clause for cause in first.causes)
