"""The study of objectives for satellites: its transfers, how the best transport is chosen, times against real kernels."""

from __future__ import annotations

import math
from pathlib import Path

import longhaul_studies as studies
import pytest
from longhaul import run
from longhaul_studies import Results, Row
from longhaul_studies.satellite_objectives.figures import FIGURES
from longhaul_studies.satellite_objectives.grids import transports
from longhaul_studies.satellite_objectives.measures import best, in_seconds, seconds
from longhaul_studies.satellite_objectives.scenarios import CELLS, SEND_BUFFER, scenario, tcp
from longhaul_studies.satellite_objectives.tables import TABLES
from longhaul_studies.satellite_objectives.targets import GROUPS, target_name

OF = {(cell.name, cell.megabytes): cell for cell in CELLS}


def rows(values: dict[str, float | None], cell: str = "50/10", size: int = 2) -> Results:
    """A run of one transfer by each transport."""
    found = [
        Row("transfers", {"cell": cell, "size": size, "transport": name}, 1, name, Path("none"), {"completion_time_mean_s": value})
        for name, value in values.items()
    ]  # fmt: skip
    return Results("quick", found)


def test_objectives_are_the_drafts():
    # draft-kuhn-quic-4-sat-06: three sizes over each of six links.
    assert len(CELLS) == 18
    limits = [
        OF[path, size].objective
        for path, size in (("50/10", 2), ("250/3", 100), ("250/3, 1 % loss", 10), ("10/2", 100), ("10/2 up", 2))
    ]
    assert limits == [3, 8, 6, 85, 10]


def test_the_ideal_is_a_round_trip_and_the_data_at_the_links_rate():
    # 0.65 s + 1500/1448 x 100 MB x 8 / 50 Mbit/s.
    assert OF["50/10", 100].ideal == pytest.approx(17.2246, abs=1e-4)
    assert OF["10/2 up", 2].ideal == pytest.approx(8.9373, abs=1e-4)


def test_the_fastest_transport_of_a_group_decides():
    results = rows({"TCP cubic": 5.0, "TCP bbr3": 4.0, "QUIC cubic": 2.0})
    assert best(results, OF["50/10", 2], GROUPS["TCP"]) == (4.0, "TCP bbr3")
    judged = {target.id: target.judge for target in studies.find("satellite-objectives").targets}
    assert judged[target_name(OF["50/10", 2], "QUIC")](results).verdict == "reproduced"
    assert judged[target_name(OF["50/10", 2], "TCP")](results).verdict == "not"


def test_a_transfer_that_does_not_end_counts_as_infinitely_long():
    results = rows({"TCP cubic": None})
    assert math.isinf(seconds(results.rows[0]))
    judged = {target.id: target.judge for target in studies.find("satellite-objectives").targets}
    found = judged[target_name(OF["50/10", 2], "TCP")](results)
    assert (found.verdict, found.measured) == ("not", "not there after 30 s")


@pytest.mark.parametrize(
    ("value", "objective", "text"), [(20.0284, 20, "20.03"), (19.9996, 20, "20.0"), (420.6505, 420, "421"), (2.26, 3, "2.26"), (3.0004, 3, "3.0004")]
)  # fmt: skip
def test_a_time_is_as_long_in_words_as_tells_its_side_of_the_objective(value, objective, text):
    assert in_seconds(value, objective) == text


def test_figure_loss_shows_runs_that_did_not_end():
    names = ("TCP cubic", "QUIC cubic")
    found = [
        row for cell in ("250/3", "250/3, 1 % loss") for size in (2, 10, 100)
        for row in rows(dict.fromkeys(names, 30.0 if "loss" not in cell else None), cell, size).rows
    ]  # fmt: skip
    drawn = next(figure for figure in FIGURES if figure.id == "loss").draw(Results("quick", found))
    for axes, size in zip(drawn.axes, (2, 10, 100), strict=True):
        by_label = {str(line.get_label()): list(line.get_xdata()) for line in axes.get_lines()}
        lossy = OF["250/3, 1 % loss", size]
        assert by_label["250/3 Mbit/s, 1 % loss"] == []
        assert by_label["250/3 Mbit/s, 1 % loss: stopped, not done"] == pytest.approx(
            [10 * lossy.objective / lossy.ideal] * 2
        )
        assert by_label["250/3 Mbit/s: stopped, not done"] == []
        assert by_label["250/3 Mbit/s, 1 % loss: objective"][0] == pytest.approx(lossy.objective / lossy.ideal)


def test_the_table_marks_what_is_met():
    table = TABLES[0].rows(rows({"TCP cubic": 3.0, "QUIC cubic": 3.01}))
    assert [row[1] for row in table[3:]] == ["**3.00** / – / –", "3.01 / – / –"]


def test_every_congestion_control_is_in_the_full_scale():
    names = {transport.name for transport in transports("full")}
    assert {"TCP reno", "TCP compound", "QUIC yeah", "QUIC quinn_bbr", "paced protocol", "split, STTP"} <= names


# Seconds measured with two Linux 6.18 kernels (CUBIC) behind the emulator, a client that connects, asks with 300 B and reads. Their
# send buffers (`tcp_wmem`) were no limit.
@pytest.mark.parametrize(("size", "kernel"), [(2, 5.88), (10, 7.59), (100, 22.5)])
def test_cubic_takes_as_long_as_the_kernels(tmp_path, size, kernel):
    result = run(scenario(OF["50/10", size], tcp("cubic")), out=tmp_path / "r")
    assert result.metrics["completion_time_mean_s"] == pytest.approx(kernel, rel=0.01)


def test_send_buffers_limit_no_transport_from_host_to_host_but_the_one_that_names_them():
    # Decision D4: otherwise congestion control alone would not decide.
    sized = {one.name: one.flow["tcp"]["send_buffer"] for one in transports("full") if one.group == "TCP"}
    assert {name for name, size in sized.items() if size != "unlimited"} == {SEND_BUFFER.name}
