"""The study of headlines: its runs and comparisons, and the causes that its document names."""

from __future__ import annotations

from pathlib import Path

import longhaul_studies as studies
import pytest
from longhaul import run
from longhaul.scenario import Scenario
from longhaul_studies import NotRun, Results, Row
from longhaul_studies.headlines import asymmetry, losses, measured, start_up
from longhaul_studies.headlines.figures import FIGURES, NUMBERS
from longhaul_studies.headlines.grids import HEADLINES
from longhaul_studies.headlines.headline import Runs, above
from longhaul_studies.headlines.left_out import LEFT_OUT
from longhaul_studies.headlines.scenarios import GOODPUT, OLD, bdp, download, every, path

OF = {one.id: one for one in HEADLINES}


def results(headline: str, metrics: dict[str, list[float]], metric: str = GOODPUT) -> Results:
    """Runs of a headline's variants, one for each value."""
    rows = [
        Row(headline, {"variant": variant}, seed, f"{variant} {seed}", Path("none"), {metric: value})
        for variant, values in metrics.items() for seed, value in enumerate(values, 1)
    ]  # fmt: skip
    return Results("quick", rows)


def test_there_are_thirty_headlines_and_each_has_its_text_and_its_conditions():
    assert len(HEADLINES) >= 30
    assert [one.id for one in HEADLINES] == [f"H{k}" for k in range(1, len(HEADLINES) + 1)]
    assert not [one.id for one in HEADLINES if not (one.paper and one.where and one.read and one.assumed)]
    assert not [one.id for one in HEADLINES if not (one.runs or one.borrowed)]
    assert not [one.id for one in HEADLINES if (one.value is None) == (one.judge is None)]
    assert all(what and why for what, why in LEFT_OUT)


def test_what_is_drawn_has_five_seeds_and_the_rest_one():
    for one in HEADLINES:
        if not one.borrowed:
            assert {case.replications for case in one.cases("quick")} == {5 if one.drawn else 1}, one.id
        assert one.cases("quick"), one.id


def test_a_number_is_compared_with_its_interval():
    target = OF["H22"].target
    near = results("H22", {"veno": [1.8e6, 1.9e6, 1.85e6, 1.8e6, 1.75e6], "reno": [1e6] * 5})
    far = results("H22", {"veno": [0.5e6] * 5, "reno": [1e6, 1.01e6, 0.99e6, 1e6, 1e6]})
    assert target.judge(near).verdict == "reproduced"
    assert "\u00b1" in target.judge(near).measured
    assert target.judge(far).verdict == "not"
    with pytest.raises(NotRun):
        target.judge(Results("quick", []))


def test_an_ordering_whose_interval_has_zero_does_not_hold():
    assert above([0.5, 0.6, 0.4])
    assert not above([3.0, -2.0, 1.0])
    inside = results("H44", {"off": [90e6, 100e6, 95e6, 99e6, 97e6], "on": [95e6, 92e6, 99e6, 97e6, 96e6]})
    assert OF["H44"].target.judge(inside).verdict == "not"


def test_ratios_are_of_the_same_seeds():
    runs = Runs(results("H42", {"bbr": [6.0, 8.0], "cubic": [2.0, 4.0]}), "H42")
    assert runs.ratios("bbr", "cubic", GOODPUT) == [3.0, 2.0]
    with pytest.raises(NotRun):
        Runs(results("H42", {"bbr": [6.0], "cubic": [0.0]}), "H42").ratios("bbr", "cubic", GOODPUT)


def test_the_figure_has_a_row_for_each_number():
    found = results("H22", {"veno": [1.8e6, 1.9e6], "reno": [1e6, 1e6]})
    drawn = FIGURES[0].draw(found)
    assert len(drawn.axes[0].get_yticklabels()) == len(NUMBERS) >= 20
    with pytest.raises(NotRun):
        FIGURES[0].draw(Results("quick", []))


def test_quoted_factors_are_those_of_split_pep():
    split = {target.id: target for target in studies.find("split-pep").targets}
    points = {"H26": ("R1", 2), "H27": ("R2", 6), "H28": ("R4", 2), "H29": ("R6", 2), "H30": ("R8", 4)}
    for name, (quoted, count) in points.items():
        assert len(OF[name].cases("quick")) == count
        assert split[quoted].reason in OF[name].reason


# Causes that the document names: each was taken away and tried.
def goodput(scenario: Scenario, tmp_path: Path, metric: str = GOODPUT) -> float:
    return run(scenario, out=tmp_path / "r", force=True, tables=False).metrics[metric]


def test_whole_segments_and_delayed_acks_are_what_a_window_of_65535_bytes_lacks(tmp_path):
    assert goodput(OF["H1"].runs["one"], tmp_path) / 8 == pytest.approx(64_240 / 0.5625, rel=0.001)
    assert goodput(OF["H1"].runs["1285"], tmp_path) / 8 == pytest.approx(117_027, rel=0.005)


def test_fast_convergence_is_between_cubic_and_its_formula(tmp_path):
    windows = {
        converges: goodput(
            download(path("cubic", 1000, 100, seconds=300, warmup=60, **every(10_000)), OLD | {"congestion": {"kind": "cubic", "fast_convergence": converges}}),
            tmp_path,
        ) * 0.1 / 8 / 1460
        for converges in (True, False)
    }  # fmt: skip
    assert windows[True] < 0.9 * 187 < 187 < windows[False]


def test_hystart_over_a_satellite_is_a_matter_of_jitter(tmp_path):
    on, off, on_even, off_even = (
        goodput(OF["H11"].runs[name], tmp_path) for name in ("HyStart on", "HyStart off", "HyStart on, no jitter", "HyStart off, no jitter")
    )  # fmt: skip
    assert on < 0.3 * off
    assert on_even > off_even


def test_one_lost_packet_in_a_thousand_decides_starlink(tmp_path):
    factors = [
        goodput(OF["H42"].runs[f"bbr{loss}"], tmp_path) / goodput(OF["H42"].runs[f"cubic{loss}"], tmp_path)
        for loss in ("", ", 0.1 % lost")
    ]  # fmt: skip
    assert factors[0] < 1.2
    assert factors[1] > 3


def test_nagles_algorithm_adds_a_round_trip_to_4_kb(tmp_path):
    once, twice = (goodput(OF["H7"].runs[name], tmp_path, "completion_time_mean_s") for name in ("at once", "Nagle"))
    assert (once, twice) == (pytest.approx(2 * 0.56, rel=0.01), pytest.approx(3 * 0.56, rel=0.01))


def test_values_that_are_alike_stand_with_their_intervals():
    found = results("H45", {"5": [0.99, 0.98], "15": [0.99, 1.0], "50": [1.0, 0.99]}, "utilisation")
    judged = OF["H45"].target.judge(found)
    assert judged.verdict == "reproduced"
    assert judged.measured.count("\u00b1") == 3


def test_a_thin_return_link_divides_the_forward_link_by_k(tmp_path):
    used = goodput(asymmetry._thin(1, "2000 packets"), tmp_path, "goodput_bps") / 10e6
    assert used == pytest.approx(0.96 / asymmetry.K, rel=0.01)


def test_a_queue_is_a_share_of_the_bandwidth_delay_product():
    # 10 Mbit/s and 560 ms are 700 kB.
    assert bdp(10, 560) == "700000 B"
    assert bdp(10, 560, 0.5) == "350000 B"


def test_modules_hold_every_headline_once():
    assert sum(len(one.HEADLINES) for one in (start_up, losses, asymmetry, measured)) == len(HEADLINES) == len(OF)
