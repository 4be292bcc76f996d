"""What people notice: stalls of videos, opinions of videos, calls and pages, and advice by them."""

import math

import longhaul
import pytest
from longhaul import Scenario, advise, tables
from longhaul.units import significant


def film(rate, film_rate="1 Mbit/s", duration="200 s"):
    return (
        Scenario("film", duration=duration)
        .link("path", "a", "b", rate=rate, delay="50 ms", queue="50 packets")
        .flow("a", "b", name="film", app={"kind": "video", "rate": film_rate, "peak_frame": "60 kB", "scene_variation": 0.0})
    )  # fmt: skip


def call(delay, **link):
    return (
        Scenario("call", duration="60 s", warmup="5 s")
        .link("path", "a", "b", rate="10 Mbit/s", delay=delay, **link)
        .flow("a", "b", name="call", app={"kind": "cbr", "rate": "64 kbit/s", "message": "160 B", "voice": True},
              tcp={"nagle": False})
    )  # fmt: skip


def qoe(scenario, **settings):
    result = longhaul.run(scenario, set=settings, tables=False)
    return result.summary["groups"][0]["metrics"]


def test_a_film_over_a_link_that_is_too_slow_stands_still_as_long_as_what_is_missing_takes():
    metrics = qoe(film("800 kbit/s"))
    # Shown is what arrived: the rest of the time it stands still.
    shown = metrics["goodput_bps"] * 200 / 1e6 - 2
    watched = 200 - metrics["startup_time_s"]
    assert metrics["stall_share"] == pytest.approx(1 - shown / watched, abs=0.05)
    assert metrics["stall_time_s"] == pytest.approx(metrics["stall_share"] * watched)
    mean = metrics["stall_time_s"] / metrics["stalls"]
    opinion = 3.5 * math.exp(-(0.15 * mean + 0.19) * metrics["stalls"] * 30 / watched) + 1.5
    assert metrics["mos"] == pytest.approx(opinion)
    assert metrics["mos"] < 4


def test_a_film_over_a_fast_link_never_stands_still():
    metrics = qoe(film("10 Mbit/s"))
    assert (metrics["stalls"], metrics["stall_time_s"], metrics["mos"]) == (0, 0, 5)
    # Two seconds of film, a handshake and half a round trip.
    assert metrics["startup_time_s"] == pytest.approx(2.15, abs=0.1)
    longer = qoe(film("10 Mbit/s"), **{"flow.film.app.buffer": "5 s"})
    assert longer["startup_time_s"] - metrics["startup_time_s"] == pytest.approx(3, abs=0.1)


def test_a_call_is_as_good_as_the_e_model_has_it():
    metrics = qoe(call("270 ms"))
    # 20 ms to speak a message, 270 ms and 0.16 ms to send it.
    delay = 1e3 * metrics["call_delay_s"]
    assert delay == pytest.approx(290.2, rel=0.02)
    rating = 93.2 - 0.024 * delay - 0.11 * (delay - 177.3)
    opinion = 1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6
    assert metrics["mos"] == pytest.approx(opinion)
    assert metrics["late_messages"] == 0
    # A lost message holds up those behind it for a round trip and more.
    lossy = qoe(call("70 ms", loss="1 %"))
    assert lossy["mos"] < qoe(call("70 ms"))["mos"] - 0.1


def test_an_opinion_of_pages_falls_with_their_time():
    app = {"kind": "web", "think": "1 s", "objects": 4, "object": "20 kB"}

    def pages(delay):
        scenario = (
            Scenario("web", duration="60 s")
            .link("path", "a", "b", rate="10 Mbit/s", delay=delay)
            .flow("a", "b", app=app)
        )
        return qoe(scenario)

    near, far = pages("5 ms"), pages("300 ms")
    assert far["mos"] == pytest.approx(
        5 - 4 * math.log(far["page_time_mean_s"] / 0.165) / math.log(15 / 0.165), abs=0.1
    )
    assert near["mos"] > 4.5 > 3 > far["mos"]


def test_results_without_people_have_no_opinions():
    scenario = Scenario("bulk", duration="5 s").link("path", "a", "b", rate="10 Mbit/s", delay="10 ms").flow("a", "b")
    assert not {"mos", "stalls", "call_delay_s"} & qoe(scenario).keys()


def test_advice_for_a_film_and_a_call_is_by_opinion():
    lossy = film("5 Mbit/s", duration="100 s")
    found = advise(lossy, set={"link.path.delay": "300 ms", "link.path.loss": "2 %"}, seconds=None, runs=30)
    assert found.best is not None
    assert "mean opinion score" in found.best.qoe
    assert "bbr" in found.best.title.lower()
    assert found.limits[0].bound == 5
    reached = advise(lossy, goal="film.stall share < 1 %", seconds=None, runs=5)
    assert reached.goal_met_already
    found = advise(
        call("70 ms", loss="1 %"), set={"flow.call.tcp.nagle": True}, goal="mos > 3.5", seconds=None, runs=120
    )
    assert found.goal_row is not None
    assert found.goal_row.after["call"].values["mos"] > 3.5


def test_quic_is_tried_where_it_fits_and_what_it_takes_is_shown():
    found = advise(call("70 ms", loss="1 %"), seconds=None, runs=120)
    rows = [row for row in found.rows if row.remedy.family == "transport"]
    assert rows
    assert all("both applications have to use QUIC over UDP" in row.costs for row in rows)
    settings = rows[0].remedy.settings
    assert settings["flow.call.transport"] == "quic"
    assert longhaul.run(call("70 ms"), set=settings, tables=False).summary["flows"][0]["variant"] == "quic"
    # A slow application over a path without loss, near its receiver.
    slow = Scenario("slow", duration="20 s").link("path", "a", "b", rate="2 Mbit/s", delay="10 ms")
    found = advise(slow.flow("a", "b", app={"kind": "cbr", "rate": "500 kbit/s"}), seconds=None, runs=20)
    assert not any(row.remedy.family == "transport" for row in found.rows)
    assert any(one.title.startswith("QUIC") and "loss on the link" in one.why for one in found.untried)


def two_calls():
    """Upstream a call stands behind a bulk transfer; downstream the other one has the link alone."""
    voice = {"kind": "cbr", "rate": "64 kbit/s", "voice": True}
    return (
        Scenario("calls", duration="20 s")
        .link("dsl", "home", "isp", rate="2 Mbit/s", delay="10 ms", queue="100 packets", reverse={"rate": "10 Mbit/s"})
        .flow("home", "isp", name="bulk")
        .flow("home", "isp", name="up", app={**voice, "message": "160 B"})
        .flow("isp", "home", name="down", app={**voice, "message": "320 B"})
    )


def test_unlike_calls_have_no_common_opinion():
    """Their mean, 2.5, was the opinion of neither."""
    result = longhaul.run(two_calls(), tables=False)
    of = {group["name"]: group["metrics"]["mos"] for group in result.summary["groups"] if "mos" in group["metrics"]}
    assert of["up"] < 2 < 3.5 < of["down"]
    numbers = dict(tables.key_numbers(result))
    assert numbers["Mean opinion score"] == f"{significant(of['up'], 3)} (up) to {significant(of['down'], 3)} (down)"
    assert numbers["Delay of the call"].index("(up)") < numbers["Delay of the call"].index("(down)")
    # What is a sum stays one.
    assert "(" not in numbers["Goodput over the run"]


def test_a_sweep_compares_its_points_by_those_who_wait(tmp_path):
    """The first group of the file, a bulk transfer, was what "best" meant."""
    swept = longhaul.sweep(
        two_calls(), grid={"link.dsl.forward.queue": ["20 packets", "100 packets"]}, replications=1, out=tmp_path / "swept"
    )  # fmt: skip
    assert tables.report_metrics(swept)[0] == "group.up.mos"
