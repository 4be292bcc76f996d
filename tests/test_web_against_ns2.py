"""Web sessions in ns-2 and here: the load of so many readers, and how many objects they fetch."""

from __future__ import annotations

import longhaul
import ns2_answers
import pytest

#: In both: pages of 10 objects, exponential with a mean of 10 packets, 10 ms apart, 4 s of thought; RTT 140 ms.
#: In ns-2 a request is a transfer of one packet that takes a round trip, and there is no handshake: here a handshake takes it.
SESSIONS = 20
SECONDS = 1000


def here() -> tuple[float, float]:
    scenario = longhaul.Scenario("web", duration=f"{SECONDS} s", warmup="50 s").dumbbell(
        bottleneck={"rate": "100 Mbit/s", "delay": "50 ms", "queue": {"kind": "droptail", "limit": "10000 packets"}},
        access={"rate": "1 Gbit/s", "delay": "10 ms"},
    )
    web = {
        "kind": "web", "think": {"exponential": "4 s"}, "objects": 10, "spacing": {"exponential": "10 ms"},
        "object": {"exponential": "10 packets"}, "request": "1460 B", "parallel": 10,
    }  # fmt: skip
    tcp = {"variant": "reno", "congestion": "reno", "mss": "1460 B", "initial_window": 2, "delayed_ack": "off"}
    scenario = scenario.flow("right", "left", name="web", count=SESSIONS, app=web, tcp=tcp)
    result = longhaul.run(scenario, tables=False)
    (towards,) = (link for link in result.summary["links"] if link["from"] == "left")
    return towards["metrics"]["throughput_bps"], result.metrics["responses"]


def ns2() -> tuple[float, float]:
    found = ns2_answers.answer("web.tcl", {"sessions": SESSIONS, "duration": SECONDS})
    return found["load_bps"], found["answers"]


def test_the_load_of_web_sessions_is_that_of_ns2() -> None:
    (load, answers), (load_ns2, answers_ns2) = here(), ns2()
    # About 4,200 pages, of 4 s of thought with a standard deviation of 4 s each: 1.4 % for the number of pages, and 0.5 % more for
    # sizes, on either side. Packets of handshakes and ends of connections are here only: 120 B for 10.5 packets of 1500 B.
    assert answers == pytest.approx(answers_ns2, rel=0.06)
    assert load == pytest.approx(load_ns2, rel=0.07)
