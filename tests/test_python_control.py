"""Congestion controls in Python: as good as Rust's to the byte, fast enough, and clear about what is wrong with them."""

import runpy
import signal
import time
from pathlib import Path

import longhaul
import pytest
from longhaul import Scenario, watching

MyReno = runpy.run_path(str(Path(__file__).resolve().parent.parent / "examples" / "my_reno.py"))["MyReno"]


def path(duration="60 s", **link):
    settings = {"rate": "20 Mbit/s", "delay": "50 ms", "queue": "60 packets", "loss": "0.05 %"} | link
    return Scenario("control", duration=duration).link("path", "a", "b", **settings)


@pytest.mark.parametrize(
    ("link", "flow"),
    [
        ({}, {}),
        ({"queue": "10 packets", "loss": "2 %"}, {}),
        ({"outages": [{"start": "10 s", "duration": "8 s"}]}, {}),
        ({}, {"app": {"kind": "request", "response": "200 kB", "think": "3 s"}}),
        ({}, {"count": 3}),
    ],
)  # fmt: skip
def test_reno_in_python_is_reno_to_the_byte(link, flow):
    summaries = []
    for control in (MyReno, "reno"):
        result = longhaul.run(path(**link).flow("a", "b", tcp={"congestion": control, "variant": "sack"}, **flow))
        summaries.append((result.summary["run"], [one["metrics"] for one in result.summary["flows"]], result.flows))
    assert summaries[0][0] == summaries[1][0]
    assert summaries[0][1] == summaries[1][1]
    assert summaries[0][2].equals(summaries[1][2])


def test_fifty_thousand_packets_a_second():
    scenario = path("60 s", rate="100 Mbit/s", queue="1000 packets", loss="0 %").flow(
        "a", "b", tcp={"congestion": MyReno}
    )
    began = time.process_time()
    result = longhaul.run(scenario, tables=False)
    took = time.process_time() - began
    assert result.summary["work"]["data_packets_delivered"] / took > 50_000


class Paced:
    """Sends at what the network delivers, and a little more."""

    delivery_rate = True

    def __init__(self, mss, window):
        self.window, self.pacing_rate = 100 * mss, 1e6

    def on_ack(self, ack):
        if ack.delivery_rate:
            self.pacing_rate = min(20e6, 1.2 * ack.delivery_rate)
        self.window = max(self.window, 2 * int(self.pacing_rate * ack.min_rtt / 8))

    def on_loss(self, loss):
        pass


def test_a_rate_of_its_own():
    result = longhaul.run(path(loss="1 %").flow("a", "b", tcp={"congestion": Paced}), tables=False)
    assert result.metrics["goodput_bps"] > 10e6
    assert result.summary["flows"][0]["limited"]["pacing"] > 0.3


class Broken:
    def __init__(self, mss, window):
        self.window = window

    def on_ack(self, ack):
        self.window = self.window / (ack.acked - ack.acked)

    def on_loss(self, loss):
        pass


class Vanishing(Broken):
    def on_ack(self, ack):
        self.window = float("nan")


class Textual(Broken):
    def on_ack(self, ack):
        self.window = "10 packets"


class Unfinished(Broken):
    def __init__(self, mss, window):
        self.size = window


@pytest.mark.parametrize(
    ("control", "message"),
    [
        (Broken, r"congestion control Broken: ZeroDivisionError: .*test_python_control.py, line \d+, in on_ack"),
        (
            Vanishing,
            r"congestion control Vanishing: its window is NaN; it is in bytes, 1 or more "
            r"\(after on_ack, .*test_python_control.py, line \d+\)",
        ),
        (Unfinished, r"congestion control Unfinished: AttributeError: .*'window' \(after __init__, .*, line \d+\)"),
        (
            Textual,
            r"congestion control Textual: its window is '10 packets'; it is in bytes, 1 or more \(after on_ack, ",
        ),
    ],
)
def test_what_misbehaves_is_named_with_its_line(control, message):
    with pytest.raises(longhaul.RunError, match=message):
        longhaul.run(path().flow("a", "b", tcp={"congestion": control}), tables=False)


class Endless(Broken):
    def on_ack(self, ack):
        while True:
            try:
                self.wait()
            except Exception:
                continue

    def wait(self):
        pass


def test_a_call_without_end_is_ended(monkeypatch):
    """It hung for ever."""
    monkeypatch.setattr(watching, "LIMIT_S", 0.3)
    scenario = path().flow("a", "b", tcp={"congestion": Endless})
    message = r"congestion control Endless: on_ack has not returned after 0.3 s \(.*test_python_control.py, line \d+, in \w+\)"
    with pytest.raises(longhaul.RunError, match=message):
        longhaul.run(scenario, tables=False)
    # What it has left behind disturbs no other run.
    longhaul.run(path("5 s").flow("a", "b", tcp={"congestion": MyReno}), tables=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_a_control_is_no_error_of_the_run(number):
    """`except LonghaulError` caught Ctrl-C."""

    class Slow(Broken):
        def on_ack(self, ack):
            if ack.now > 1:
                signal.raise_signal(number)

    def handler(_number, _frame):
        raise KeyboardInterrupt("stop")

    before = signal.signal(number, handler)
    try:
        with pytest.raises(KeyboardInterrupt, match="stop"):
            longhaul.run(path().flow("a", "b", tcp={"congestion": Slow}), tables=False)
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)


def test_what_is_no_control_is_refused():
    class Nothing:
        pass

    with pytest.raises(
        longhaul.ScenarioError, match="Nothing is no congestion control: it has no on_ack and no on_loss"
    ):
        path().flow("a", "b", tcp={"congestion": Nothing})


def test_another_source_is_another_run(tmp_path):
    scenario = path("5 s").flow("a", "b", name="f")
    ids = [
        longhaul.run(scenario, set={"flow.f.tcp.congestion": one}, tables=False).run_id
        for one in (Paced, MyReno, "reno")
    ]
    assert len(set(ids)) == 3
    swept = longhaul.sweep(
        scenario,
        tmp_path / "s",
        points=[{"flow.f.tcp.congestion": MyReno}, {"flow.f.tcp.congestion": "reno"}],
        replications=2,
    )
    first, second = swept.table(["goodput_bps"])["goodput_bps"]
    assert first == second
    text = (
        scenario.run_settings(seed=2)
        .to_toml()
        .replace('name = "f"', 'name = "f"\ntcp = { congestion = { kind = "python", name = "X" } }')
    )
    with pytest.raises(longhaul.ScenarioError, match='there is no congestion control "X" in this process'):
        longhaul.run(Scenario.from_toml(text))
