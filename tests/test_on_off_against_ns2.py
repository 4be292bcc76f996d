"""Pareto and exponential on/off sources over TCP in ns-2 and here: the load that they offer, and a link that they fill."""

from __future__ import annotations

from typing import Any

import longhaul
import ns2_answers
import pytest

#: In both: writes of 210 B at 64 kbit/s while a source is on, each of which TCP sends as a packet of 1000 B of payload.
WRITE_SECONDS = 210 * 8 / 64e3
SECONDS, WARMUP = 120, 20


def here(flows: int, rate: str, kind: str) -> float:
    period: dict[str, Any] = {"pareto": "500 ms", "shape": 1.5} if kind == "pareto" else {"exponential": "500 ms"}
    scenario = (
        longhaul.Scenario("on and off", duration=f"{SECONDS} s", warmup=f"{WARMUP} s")
        .link("bottleneck", "left", "right", rate=rate, delay="50 ms", queue={"kind": "droptail", "limit": "300 packets"})
        .flow(
            "left", "right", name="sources", count=flows, access={"rate": "100 Mbit/s", "delay": "5 ms"},
            app={"kind": "on_off", "rate": f"{8000 / WRITE_SECONDS:.0f} bit/s", "message": "1000 B", "on": period, "off": period},
            tcp={
                "variant": "sack", "congestion": {"kind": "reno", "counting": "acks"}, "mss": "1000 B", "initial_window": 2,
                "slow_start": {"kind": "standard", "counting": "acks"}, "receive_buffer": "unlimited", "delayed_ack": "100 ms",
                "timestamps": False, "established": True, "rto": {"min": "1 s"},
            },
        )
    )  # fmt: skip
    result = longhaul.run(scenario, tables=False)
    (towards,) = (link for link in result.summary["links"] if link["name"] == "bottleneck.forward")
    return towards["metrics"]["utilisation"]


def ns2(flows: int, rate: float, kind: str) -> float:
    arguments = {
        "flows": flows, "rate": rate, "delay": 0.05, "queue": 300, "delack": 0.1, "traffic": kind, "duration": SECONDS,
        "warmup": WARMUP,
    }  # fmt: skip
    utilisation: float = ns2_answers.answer("dumbbell.tcl", arguments)["utilisation"]
    return utilisation


@pytest.mark.parametrize("kind", ["exponential", "pareto"])
def test_sources_offer_the_load_that_they_offer_in_ns2(kind: str) -> None:
    # A source is on half of the time: 19.05 packets of 1040 B a second, 7.9 Mbit/s for 50 sources.
    ours, theirs = here(50, "20 Mbit/s", kind), ns2(50, 20e6, kind)
    expected = 50 * 0.5 / WRITE_SECONDS * 8 * 1040 / 20e6
    # Pareto periods of shape 1.5 have no variance: means of 100 s and 50 sources scatter by 5 % or so.
    within = 0.05 if kind == "exponential" else 0.15
    assert ours == pytest.approx(expected, rel=within)
    assert ours == pytest.approx(theirs, rel=within)


def test_sources_fill_a_link_that_they_fill_in_ns2() -> None:
    # 50 sources offer 7.9 Mbit/s: 1.32 times the rate. What was written and not sent waits in both, and keeps the link busy.
    ours, theirs = here(50, "6 Mbit/s", "pareto"), ns2(50, 6e6, "pareto")
    assert theirs > 0.95
    assert ours == pytest.approx(theirs, abs=0.02)
