"""Lines of tc netem as links: what they mean, where netem surprises, and back again."""

from __future__ import annotations

import math
import random
import tomllib
from pathlib import Path

import longhaul
import numpy as np
import pytest
from longhaul import netem
from longhaul.cli import run
from longhaul.netem import links
from longhaul.netem.correlation import shares

TABLES = [Path(folder) / "pareto.dist" for folder in links.TABLES]


def settings(line: str) -> dict:
    return netem.read(line).settings


def notes(line: str) -> str:
    return "\n".join(netem.read(line).notes)


@pytest.mark.parametrize(
    ("text", "ns"),
    # What `tc qdisc add dev lo root netem delay TEXT` of iproute2 6.1 sends to the kernel, in ticks of 64 ns.
    [("100", 0x61A * 64), ("1.5ms", 0x5B8D * 64), ("10ms", 0x2625A * 64), ("100msecs", 0x17D784 * 64)],
)
def test_times_are_those_that_tc_sends(text: str, ns: int) -> None:
    assert 0 <= netem.time_ns(text) - ns < 64


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    # The same of `netem rate TEXT`: `struct tc_netem_rate` has bytes in a second.
    [
        ("1000000", 0x1E848),
        ("1mbit", 0x1E848),
        ("1mbps", 0xF4240),
        ("1kibit", 0x80),
        ("1Mibps", 0x100000),
        ("1Gbit", 0x7735940),
    ],
)
def test_rates_are_those_that_tc_sends(text: str, bytes_per_second: int) -> None:
    assert netem.rate_bps(text) == 8 * bytes_per_second


def test_the_parts_of_a_line() -> None:
    made = settings("delay 100ms 20ms distribution normal loss 1% corrupt 0.1% duplicate 2% limit 500")
    assert made == {
        "rate": "1 Gbit/s",
        "delay": "20 ms",
        "jitter": {"distribution": {"kind": "normal", "mean": "80 ms", "deviation": "20 ms"}, "overtaking": True},
        "loss": {"kind": "random", "probability": 0.01, "place": "before_queue"},
        "corruption": 0.001,
        "duplication": 0.02,
        "queue": "500 packets",
    }


def test_a_whole_command_and_short_keywords_are_read() -> None:
    whole = "sudo tc qdisc add dev eth0 root handle 1: netem lo 1% del 50ms ra 10mbit"
    assert settings(whole) == settings("loss 1% delay 50ms rate 10mbit")


def test_a_number_alone_is_a_percentage_of_loss() -> None:
    """`loss 0.1` loses one packet in a thousand, not one in ten."""
    assert settings("loss 0.1")["loss"]["probability"] == 0.001


def test_a_number_alone_is_a_delay_in_microseconds() -> None:
    """`delay 100` is no delay that anybody notices."""
    assert settings("delay 100")["delay"] == "100 us"
    assert "microseconds" in notes("delay 100")
    assert "microseconds" not in notes("delay 100ms")


def test_mbps_are_megabytes() -> None:
    assert settings("rate 1mbps")["rate"] == "8 Mbit/s"
    assert "bytes per second" in notes("rate 1mbps")
    assert "bytes per second" not in notes("rate 1mbit")


def test_kibit_is_no_kbit() -> None:
    assert (settings("rate 1kibit")["rate"], settings("rate 1kbit")["rate"]) == ("1.024 kbit/s", "1 kbit/s")


def test_a_jitter_reorders_without_a_rate_and_not_with_one() -> None:
    """`sch_netem.c`: with a rate each packet leaves at the earliest after the one before."""
    assert settings("delay 100ms 20ms")["jitter"]["overtaking"]
    assert "overtake" in notes("delay 100ms 20ms")
    assert settings("delay 100ms 20ms rate 10mbit")["jitter"] == {"distribution": {"kind": "uniform", "most": "40 ms"}}
    assert "crowd at the upper end" in notes("delay 100ms 20ms rate 10mbit")


def test_the_usual_limit_is_too_small_for_a_satellite() -> None:
    """1000 packets of 1500 B in 600 ms are 20 Mbit/s, whatever the rate."""
    assert "20 Mbit/s at most" in notes("delay 600ms")
    assert "20 Mbit/s at most" in notes("delay 600ms rate 50mbit")
    assert "at most and drop" not in notes("delay 600ms rate 50mbit limit 5000")


def test_packets_on_the_wire_count_against_the_limit() -> None:
    """10 Mbit/s x 120 ms are 100 packets of 1500 B."""
    assert settings("delay 120ms rate 10mbit limit 150")["queue"] == "50 packets"


def test_one_line_is_one_direction() -> None:
    content = tomllib.loads(netem.link_text(netem.read("delay 100ms loss 1%"), None))["link"][0]
    assert (content["forward"]["delay"], content["reverse"]["delay"]) == ("100 ms", "0 s")
    assert "loss" not in content["reverse"]


def test_a_rate_of_one_direction_is_not_that_of_the_other() -> None:
    """A line of 512 kbit/s throttled the ACKs too."""
    content = tomllib.loads(netem.link_text(netem.read("rate 512kbit"), None, interface_bps=10**8))["link"][0]
    assert (content["forward"]["rate"], content["reverse"]["rate"]) == ("512 kbit/s", "100 Mbit/s")


def test_reordered_packets_come_early() -> None:
    """tc-netem(8): 25 % of the packets are sent at once, the others are delayed by 10 ms."""
    made = settings("delay 10ms reorder 25%")
    assert (made["delay"], made["reordering"]) == ("0 s", {"probability": 0.75, "delay": "10 ms"})


def test_a_gap_makes_reordering_rarer() -> None:
    """Four packets are passed over, then one in two goes at once: one in 4 + 2."""
    assert settings("delay 10ms reorder 50% gap 5")["reordering"]["probability"] == pytest.approx(1 - 1 / 6)


def test_delays_are_never_negative() -> None:
    """10 ms with a normal jitter of 10 ms: 16 % would be below zero."""
    made = netem.read("delay 10ms 10ms distribution normal")
    values = made.settings["jitter"]["distribution"]["values"]
    assert (made.settings["delay"], len(values), values[0]) == ("0 s", 101, "0 s")
    assert "16 % of the delays would be negative" in "\n".join(made.notes)


def test_the_last_number_of_gemodel_but_one_is_the_loss_in_the_bad_state() -> None:
    """1-h, of which tc sends h to the kernel."""
    assert settings("loss gemodel 1% 10% 70% 0.1%")["loss"] == {
        "kind": "gilbert_elliott", "good_to_bad": 0.01, "bad_to_good": 0.1, "loss_in_bad": 0.7, "loss_in_good": 0.001,
        "place": "before_queue",
    }  # fmt: skip


def crandom(correlation: float, count: int) -> np.ndarray:
    """Netem's correlated numbers of 32 bits, in whole numbers as the kernel has them."""
    draws = random.Random(1)
    rho = int(correlation * (2**32 - 1)) + 1
    last, found = draws.getrandbits(32), []
    for _ in range(count):
        last = (draws.getrandbits(32) * (2**32 - rho) + last * rho) >> 32
        found.append(last)
    return np.array(found)


@pytest.mark.parametrize("correlation", [0.25, 0.5, 0.75])
def test_correlated_numbers_have_their_closed_form(correlation: float) -> None:
    """Mean 1/2, variance (1 - c) / (1 + c) / 12, autocorrelation c; and the shares that follow, of losses and of losses behind one."""
    numbers = crandom(correlation, 200_000) / 2**32
    assert numbers.mean() == pytest.approx(0.5, abs=0.005)
    assert numbers.var() == pytest.approx((1 - correlation) / (1 + correlation) / 12, rel=0.02)
    assert np.corrcoef(numbers[1:], numbers[:-1])[0, 1] == pytest.approx(correlation, abs=0.01)
    for probability in (0.2, 0.5, 0.9):
        lost = numbers <= probability
        often, again = shares(probability, correlation)
        assert lost.mean() == pytest.approx(often, abs=0.006), probability
        if lost.sum() > 1000:
            assert lost[1:][lost[:-1]].mean() == pytest.approx(again, abs=0.05), probability


def test_a_correlation_makes_losses_rare() -> None:
    """`loss 1% 25%` loses 2.4 packets in a million: all of the last four new numbers must be small."""
    assert shares(0.01, 0.25)[0] == pytest.approx(2.42e-6, rel=0.01)
    made = settings("loss 30% 25%")["loss"]
    share = made["good_to_bad"] / (made["good_to_bad"] + made["bad_to_good"])
    assert (made["kind"], share) == ("gilbert_elliott", pytest.approx(0.2333, abs=0.001))
    assert "0.000242 % of the packets are meant by it and not 1 %" in notes("loss 1% 25%")
    assert settings("duplicate 30% 50%")["duplication"] == pytest.approx(0.1294, abs=0.001)


def test_a_correlation_of_the_delay_has_no_effect() -> None:
    """The kernel takes the remainder by twice the jitter, or by the table's 4096 values: evenly spread, and independent."""
    for length in (40_000_000, 4096):
        rest = crandom(0.5, 100_000) % length
        assert abs(np.corrcoef(rest[1:], rest[:-1])[0, 1]) < 0.01
        assert rest.std() / length == pytest.approx(1 / math.sqrt(12), rel=0.01)
    made = settings("delay 100ms 20ms 25%")["jitter"]
    assert "correlation" not in made
    assert "has no effect there" in notes("delay 100ms 20ms 25%")


def test_slots_are_those_of_the_line() -> None:
    # heistp/l4s-tests, l4s.batch: a wireless link that gathers packets.
    assert settings("delay 200us slot 800us 5ms packets 16 limit 10000")["slots"] == {
        "least": "800 us", "distribution": {"kind": "uniform", "most": "4.2 ms"}, "packets": 16, "limit": 10000,
    }  # fmt: skip
    # The kernel's commit 836af83b54e3: 64k are 65536 bytes, and both limits in either order.
    assert settings("delay 200us slot 800us 10ms bytes 64k packets 42")["slots"]["bytes"] == "65536 B"
    assert settings("delay 1ms slot 5ms")["slots"] == {"least": "5 ms"}
    assert settings("delay 1ms slot distribution normal 8ms 1ms")["slots"] == {
        "least": "4 ms", "distribution": {"kind": "normal", "mean": "4 ms", "deviation": "1 ms"},
    }  # fmt: skip
    assert "overtaking" not in settings("delay 10ms 2ms slot 20ms")["jitter"]


def test_four_states_are_those_of_the_line() -> None:
    """p13 p31 p32 p23 p14; what is left out is 1 - p13, 0, 1 and 0 in tc."""
    assert settings("loss state 1% 20% 30% 50% 2%")["loss"] == {
        "kind": "four_states", "begin": 0.01, "end": 0.2, "pause": 0.3, "resume": 0.5, "isolated": 0.02, "place": "before_queue",
    }  # fmt: skip
    assert settings("loss state 1% 20% 30%")["loss"]["resume"] == 1.0
    assert settings("loss state 1%")["loss"]["bad_to_good"] == 0.99


def test_overheads_of_a_rate_are_beside_the_ethernet_header() -> None:
    assert settings("rate 10mbit 24")["overhead"] == {"bytes": "38 B"}
    assert settings("rate 10mbit -14")["overhead"] == {"bytes": "0 B"}
    assert settings("rate 10mbit 18 48 5")["overhead"] == {"bytes": "32 B", "cells": "atm"}
    assert "cells of 100 B with 5 B are not carried" in notes("rate 5kbit 20 100 5")


def test_a_seed_is_that_of_a_run() -> None:
    assert "--seed" in notes("delay 10ms seed 42")


@pytest.mark.parametrize(
    ("report", "line", "wanted"),
    [
        # No loss at a low rate, loss at 600 requests a second: so many packets are on the wire.
        ("iproute2/iproute2 #56", "tc qdisc add dev eth0 parent 1:4 handle 40: netem delay 1000ms 0ms", "let through 12 Mbit/s at most"),
        # 1.1 Gbit/s became 100 Mbit/s by a delay.
        ("tylertreat/comcast #28", "delay 200ms", "let through 60 Mbit/s at most"),
        ("thombashi/tcconfig #170", "delay 300ms rate 100mbit", "let through 40 Mbit/s at most"),
        ("chaosblade-io/chaosblade #1080", "tc qdisc add dev eth1 root netem limit 12500 delay 100ms loss 1%", "4166 wait at most"),
        # The round trip grew without end by a rate alone, and packets came 10 to 20 s late.
        ("thombashi/tcconfig #111", "rate 300kbit delay 0ms loss 0%", "takes 40 s at 300 kbit/s"),
        ("sandia-minimega/minimega #752", "rate 1mbit", "takes 12 s at 1 Mbit/s"),
        ("facebookarchive/augmented-traffic-control #60", "limit 1000 delay 10ms loss 1% rate 2mbit", "takes 6 s at 2 Mbit/s"),
        # Half of it on each of two interfaces: what one line does, it does to one direction.
        ("firezone/firezone #13839", "delay 75ms limit 100000", "6250 of 1500 B at 1 Gbit/s"),
        # Jitter reorders packets, which costs TCP its throughput.
        ("fasterdata.es.net, packet ordering", "delay 50ms 5ms", "packets overtake one another"),
    ],
)  # fmt: skip
def test_what_surprised_others_is_a_note(report: str, line: str, wanted: str) -> None:
    assert wanted in notes(line), (report, notes(line))


def test_a_jitter_without_a_distribution_is_uniform() -> None:
    """systemd/systemd #13747 took it as normal, as the manual page has it; the kernel draws evenly where no table is loaded."""
    assert settings("delay 100ms 20ms")["jitter"]["distribution"] == {"kind": "uniform", "most": "40 ms"}


@pytest.mark.skipif(not any(path.is_file() for path in TABLES), reason="iproute2's tables are not installed")
def test_the_pareto_form_is_that_of_the_table() -> None:
    """iproute2's pareto.c: (u^-1/3 - 1.5) x 4/3 deviations, cut off at 4."""
    table = links._table("pareto")
    for step in range(1, 90):
        wanted = ((1 - step / 100) ** (-1 / 3) - 1.5) * 4 / 3
        assert table[round(step * len(table) / 100)] == pytest.approx(wanted, abs=0.02), step
    assert max(table) == pytest.approx(4.0, abs=0.001)


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("", ["empty"]),
        ("tc qdisc add dev eth0 root tbf rate 1mbit burst 32kbit", ["has no netem"]),
        ("delay 100mz", ["column 7", "'100mz'", "units of time"]),
        ("rate 10M", ["column 6", "'10M'", "units of rate"]),
        ("rate 0", ["sends nothing"]),
        ("loss 101%", ["column 6", "0% to 100%"]),
        ("loss", ["the line ends", "a percentage"]),
        ("delay 10ms speed 1mbit", ["column 12", "'speed'", "no such keyword"]),
        ("reorder 25%", ["takes a delay"]),
        ("delay 10ms gap 5", ["probability of reorder"]),
        ("delay 10ms distribution normal", ["takes a delay and a jitter"]),
        ("delay 10ms 1ms distribution none_such", ["none_such.dist"]),
        ("delay 10ms 1ms distribution ../../etc/passwd", ["expected a name"]),
        ("limit many", ["column 7", "whole number"]),
        ("delay 1ms slot 5ms 1ms", ["column 20", "below the shortest"]),
        ("delay 1ms slot 5ms packets", ["the line ends", "a number of packets"]),
        ("delay 1ms slot 5ms bytes 3x", ["units of size"]),
        ("loss 1% 100%", ["above 99%", "not carried"]),
    ],
)
def test_a_line_that_tc_refuses_has_one_clear_message(line: str, parts: list[str]) -> None:
    with pytest.raises(netem.NetemError) as error:
        netem.read(line)
    message = str(error.value)
    assert "\n" not in message
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    "line",
    [
        "limit 184 delay 100ms rate 10mbit",
        "limit 1060 delay 50ms loss 1% rate 14.4mbit",
        "limit 100 loss gemodel 1% 10% 70% 0.1% corrupt 0.1% duplicate 2% rate 1mbit",
        "limit 1000 delay 10ms reorder 25% rate 1mbit",
        "limit 101 delay 1ms loss state 1% 20% 30% 50% 2% rate 10mbit 18 48 5 slot 800us 5ms packets 16 bytes 65536",
        "limit 101 delay 1ms rate 10mbit -14 slot distribution normal 8ms 1ms",
    ],
)
def test_a_line_comes_back(line: str) -> None:
    made = netem.read(line).settings
    back, _ = netem.write({**made, "queue": {"kind": "droptail", "limit": made["queue"]}})
    assert back == line


def scenario(*lines: str) -> str:
    made = netem.link_text(*[netem.read(line) for line in lines], *([None] if len(lines) == 1 else []))
    return f'[run]\nduration = "20 s"\n{made}\n[[flow]]\nfrom = "a"\nto = "b"\n'


def test_a_link_that_was_read_runs_as_the_line_has_it(tmp_path: Path) -> None:
    """A round trip of 100 ms and one packet in a hundred lost."""
    file = tmp_path / "line.toml"
    file.write_text(scenario("delay 80ms loss 1% rate 10mbit", "delay 20ms"))
    result = longhaul.run(file)
    link = next(one for one in result.summary["links"] if one["name"] == "netem.forward")
    assert result.summary["flows"][0]["base_rtt_s"] == pytest.approx(0.1, abs=0.002)
    assert link["metrics"]["drops_loss"] / link["metrics"]["arrivals"] == pytest.approx(0.01, rel=0.3)


def test_slots_carry_what_is_in_one_and_no_more(tmp_path: Path) -> None:
    """16 packets of 1500 B in 2.9 ms on average (0.8 to 5 ms) are 66.2 Mbit/s, of which datagrams have 1472 in 1500 bytes."""
    file = tmp_path / "slots.toml"
    text = scenario("delay 200us slot 800us 5ms packets 16 rate 200mbit limit 2000", "delay 1ms")
    file.write_text(text + 'transport = "udp"\napp = { kind = "cbr", message = "1472 B", rate = "100 Mbit/s" }\n')
    goodput = longhaul.run(file).metrics["goodput_bps"]
    assert goodput == pytest.approx(16 * 1472 * 8 / 2.9e-3, rel=0.02)


def test_both_ways_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["link", "delay 100ms 20ms distribution normal loss 1% rate 10mbit", "delay 5ms", "--link", "sat"]) == 0
    text = capsys.readouterr().out
    content = tomllib.loads(text)["link"][0]
    assert (content["name"], content["reverse"]["delay"]) == ("sat", "5 ms")
    assert any(line.startswith("# ") for line in text.splitlines())
    file = tmp_path / "scenario.toml"
    file.write_text(f'[run]\nduration = "1 s"\n{text}\n[[flow]]\nfrom = "a"\nto = "b"\n')
    assert run(["link", str(file)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("tc ")]
    assert len(lines) == 2
    assert "loss 1%" in lines[0]
    assert "delay 5ms" in lines[1]


def test_a_line_without_quotes_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["link", "delay", "100ms", "loss", "1%"]) == 0
    content = tomllib.loads(capsys.readouterr().out)["link"][0]
    assert (content["forward"]["delay"], content["reverse"]["delay"]) == ("100 ms", "0 s")
    assert run(["link", "delay 1ms", "delay 2ms", "delay 3ms"]) == 2
    assert "two directions" in capsys.readouterr().err


def test_a_limit_in_bandwidth_delay_products_is_no_fixed_number() -> None:
    """20 Mbit/s x 120 ms are 200 packets of 1500 B, and 100 are on the wire."""
    queue = {"kind": "droptail", "limit": "1 bdp"}
    text, carried = netem.write({"rate": "20 Mbit/s", "delay": "60 ms", "queue": queue})
    assert text == "limit 300 delay 60ms rate 20mbit"
    assert any("twice this delay, 120ms" in note for note in carried)


@pytest.mark.parametrize("follows", ["leo", "trace", "acm", "carrier"])
def test_a_link_that_moves_is_no_line(follows: str) -> None:
    """A line with `limit 0`, which drops every packet, was printed for a measured link."""
    with pytest.raises(netem.NetemError, match="longhaul-emu run plays the scenario"):
        netem.write({"name": "sky", "rate": "10 Mbit/s", follows: {"rate": "file"}})


def test_a_wrong_line_ends_with_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["link", "delay 10 parsecs"]) == 2
    assert "column 10" in capsys.readouterr().err


@pytest.mark.parametrize("line", ["limit 0", "delay 10ms limit 0"])
def test_a_limit_of_no_packet_is_refused(line: str) -> None:
    with pytest.raises(netem.NetemError, match="lets no packet through"):
        netem.read(line)


def test_what_an_overhead_and_slots_lose_is_noted() -> None:
    _, notes = netem.write({"delay": "10 ms", "overhead": {"bytes": "20 B"}, "slots": {"least": "1 ms", "limit": 50}})
    assert "not carried: overhead" in " ".join(notes)
    assert "slots: limit is not carried" in notes
