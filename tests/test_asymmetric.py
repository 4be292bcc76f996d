"""The closed forms of the asymmetric satellite thesis give its worked values (equations of chapters 5 to 8, its kB being 1024 B)."""

from __future__ import annotations

import json

import pytest
from longhaul import cli
from longhaul_studies.asymmetric import designs, formulas
from longhaul_studies.asymmetric.formulas import KB, Line

#: Table 5.1: speed of the line, limit in kB/s and in Mbit/s of 2^20, plain and with header compression.
TABLE_5_1 = [
    (9_600, 65.2, 0.51, 304.2, 2.38),
    (14_400, 97.8, 0.76, 456.3, 3.56),
    (28_800, 195.5, 1.53, 912.5, 7.13),
    (33_600, 228.1, 1.78, 1064.6, 8.32),
    (64_000, 434.5, 3.39, 2027.8, 15.84),
]
#: Table 7.1: initial window in packets, then seconds for 600 ms and 1000 ms, each with n = 1 and n = 2.
TABLE_7_1 = [(1, 4.5, 9, 7.5, 15), (2, 3.9, 7.8, 6.5, 13), (4, 3.3, 6.6, 5.5, 11)]


@pytest.mark.parametrize(("baud", "plain", "plain_mbps", "compressed", "compressed_mbps"), TABLE_5_1)
def test_table_5_1(baud: int, plain: float, plain_mbps: float, compressed: float, compressed_mbps: float) -> None:
    for header, kilobytes, megabits in ((40, plain, plain_mbps), (7, compressed, compressed_mbps)):
        limit = formulas.asymmetric_limit(Line(baud, header=header)) / KB
        assert limit == pytest.approx(kilobytes, abs=0.06)
        assert limit * 8 / 1024 == pytest.approx(megabits, abs=0.006)


@pytest.mark.parametrize(("initial", "short_1", "short_2", "long_1", "long_2"), TABLE_7_1)
def test_table_7_1(initial: int, short_1: float, short_2: float, long_1: float, long_2: float) -> None:
    def time(rtt: float, n: float) -> float:
        return formulas.slow_start_time(250 * KB, rtt, initial, rounds_per_doubling=n)

    assert [time(0.6, 1), time(0.6, 2), time(1, 1), time(1, 2)] == pytest.approx(
        [short_1, short_2, long_1, long_2], abs=0.1
    )


def test_worked_values_of_chapter_5() -> None:
    assert formulas.window_limit(32 * KB, 0.6) / KB == pytest.approx(53.3, abs=0.05)
    assert formulas.window_limit(65_535, 0.6) == pytest.approx(109_225)
    assert Line(9600).ack_time == pytest.approx(0.04375)
    assert Line(9600, header=84).ack_time == pytest.approx(0.0896, abs=1e-4)
    stamped = Line(9600, header=formulas.HEADER_WITH_TIMESTAMPS)
    limit = formulas.asymmetric_limit(stamped, mss=formulas.MSS_WITH_TIMESTAMPS)
    assert limit / KB == pytest.approx(50.3, abs=0.05)
    assert formulas.header_compression_gain() == pytest.approx(4.7, abs=0.05)
    assert formulas.loss_of_ack_capacity() == pytest.approx(9.4, abs=0.1)
    assert formulas.ack_backbone_load(5600, mss=536) == pytest.approx(209, abs=1)
    assert formulas.ack_backbone_load(304 * KB) == pytest.approx(4264, abs=1)


def test_worked_values_of_chapters_6_and_8() -> None:
    assert formulas.queue_of_duplicates(250 * KB) == 176
    assert formulas.queue_of_all(1.0, 304 * KB) == 214
    longest = Line(9600, header=formulas.LONGEST_HEADER)
    assert formulas.clearing_time(214, longest) == pytest.approx(18.3, abs=0.05)
    # Design 8.3 takes the limit of 28800 baud, 195.5 kB/s; 2.34 s.
    line = Line(28_800, header=formulas.LONGEST_HEADER)
    packets = 0.6 * 195.5 * KB / formulas.MSS
    assert formulas.clearing_time(packets, line) == pytest.approx(2.34, abs=0.01)
    assert formulas.rate_for_backbone_load(5000) == 365_000
    assert formulas.line_for(365_000, Line(1, header=7)) == pytest.approx(11_250)
    rate = formulas.rate_for_clearing_time(5, 0.6, line)
    assert rate == pytest.approx(427_317, abs=1)
    assert formulas.queue_of_all(0.6, rate) == 176
    windows = [formulas.bandwidth_delay_product(rate, 0.6) for rate in (96, 192, 356.4, 417.3)]
    assert windows == pytest.approx([57.6, 115.2, 213.84, 250.38])


def test_a_line_without_a_speed_is_refused() -> None:
    with pytest.raises(ValueError, match="a line has a speed"):
        Line(0)


# --- designs


def test_designs_have_the_thesis_numbers() -> None:
    """Specification, section 11.0: rates, windows, serial speeds, queue and clearing times of chapter 8."""
    path = designs.Path(54e6, 28_800, 0.6)
    throttled, unthrottled = designs.throttled(path, 96 * KB), designs.unthrottled(path, 192 * KB)
    shared, dedicated = designs.shared(designs.Path(54e6, 14_400, 0.6)), designs.dedicated(path)
    assert [
        design.rate / KB for design in (designs.baseline(path), throttled, unthrottled, shared, dedicated)
    ] == pytest.approx([53.3, 96, 192, 356.4, 417.3], abs=0.06)
    assert [design.window / KB for design in (throttled, unthrottled, shared, dedicated)] == pytest.approx(
        [57.6, 115.2, 213.84, 250.38], abs=0.04
    )
    assert [designs.gain(design, path) for design in (throttled, unthrottled, shared, dedicated)] == pytest.approx(
        [1.8, 3.6, 6.7, 7.8], abs=0.05
    )
    assert shared.least_baud == pytest.approx(11_250)
    assert throttled.least_baud is not None
    assert throttled.least_baud <= 28_800
    assert dedicated.clearing == pytest.approx(5)
    assert (dedicated.queue, dedicated.min_rto) == (200, 5)


def test_a_design_is_simulated_as_predicted() -> None:
    path = designs.Path(54e6, 28_800, 0.6)
    for design in (designs.baseline(path), designs.dedicated(path)):
        simulated = designs.simulated_rate(designs.simulate(design, path, duration=100, warmup=60))
        assert simulated == pytest.approx(design.rate, rel=0.03)


def test_the_paced_protocol_has_the_whole_satellite() -> None:
    """1448 of 1500 bytes of 54 Mbit/s are 6363 kB/s, whatever the line; an allotted rate is kept."""
    path = designs.Path(54e6, 9600, 0.6)
    design = designs.paced(path)
    assert design.rate / KB == pytest.approx(6363.3, abs=0.1)
    simulated = designs.simulated_rate(designs.simulate(design, path, duration=10, warmup=4))
    assert simulated == pytest.approx(design.rate, rel=0.005)
    allotted = designs.paced(path, 1e6)
    simulated = designs.simulated_rate(designs.simulate(allotted, path, duration=10, warmup=4))
    assert simulated == pytest.approx(1e6, rel=0.005)


def test_the_command_prints_every_design(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["design", "asymmetric", "--down", "54Mbit/s", "--up", "28800baud", "--rtt", "600ms", "--no-run"]
    assert cli.run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [design["id"] for design in found] == ["8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7"]
    assert found[4]["predicted_bytes_per_s"] == pytest.approx(427_317, abs=1)
    assert cli.run(arguments) == 0
    assert "clearing time (s)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "value"), [("--down", "54"), ("--up", "fast"), ("--rtt", "0 s"), ("--rtt", "600 packets")]
)
def test_the_command_names_what_is_wrong(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = {"--down": "54Mbit/s", "--up": "28800baud", "--rtt": "600ms"} | {option: value}
    assert cli.run(["design", "asymmetric", "--no-run", *(part for pair in given.items() for part in pair)]) == 2
    assert f"{option} '{value}'" in capsys.readouterr().err
