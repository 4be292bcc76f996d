"""Links that share, adapt and change, in drawings, explanations and plots."""

import longhaul
from longhaul import Scenario, course
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
