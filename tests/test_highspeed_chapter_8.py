"""What chapter 8 of the HighSpeed TCP study leaves open: its points, and that they differ from the study's in what they name."""

from __future__ import annotations

import tomllib
from pathlib import Path

import longhaul_studies as studies
import pytest
from longhaul_studies.highspeed.scenarios import scenario
from longhaul_studies.highspeed_chapter_8 import measures, points
from longhaul_studies.highspeed_chapter_8.study import STUDY
from longhaul_studies.highspeed_chapter_8.targets import TARGETS


def content(**settings: object) -> dict:  # type: ignore[type-arg]
    """A scenario's own content."""
    return scenario("red", noise=False, start="0 s", **settings).to_dict()  # type: ignore[arg-type]


def test_formulas_of_parameters():
    windows = {name: response.window(1e-4) for name, response in points.RESPONSES.items()}
    # 1.2 / sqrt(p), and HighSpeed TCP's two points: Low_Window 200 is reached at 1.5 / 200^2 = 3.75e-5.
    assert windows["standard"] == pytest.approx(122.5, rel=0.01)
    assert windows["HSTCP, Low_Window 200"] == windows["standard"]
    assert windows["HSTCP"] == pytest.approx(293, rel=0.01)
    assert windows["HSTCP, RFC 3649"] == pytest.approx(260, rel=0.01)
    assert windows["HSTCP, High_Decrease 0.5"] == windows["HSTCP"]
    assert windows["HSTCP, High_P 1e-6"] == pytest.approx(592, rel=0.01)
    assert windows["Scalable"] == pytest.approx(800)
    assert windows["CUBIC"] is None


def test_large_frames_fill_the_same_pipe():
    large = content(regtcp=1, frame=9000)
    assert large["flow"][0]["tcp"]["mss"] == "8960 B"
    # 8333 packets of 1500 bytes; RED's mean packet grows with the frames.
    queue = large["link"][0]["queue"]
    assert (queue["limit"], queue["mean_packet"]) == ("1388 packets", "3000 B")
    assert "mean_packet" not in content(regtcp=1)["link"][0]["queue"]


def test_the_studys_own_scenarios_do_not_change():
    small = content(hstcp=1, regtcp=1, loss=1e-5)
    assert small["link"][0]["forward"] == {"loss": {"kind": "random", "probability": 1e-5, "place": "before_queue"}}
    assert {flow["tcp"]["mss"] for flow in small["flow"]} == {"1460 B"}
    assert "forward" not in content(hstcp=1)["link"][0]


def test_the_rate_falls_and_rises_forward():
    case = STUDY.experiment("transients").cases("quick")[0]
    link = tomllib.loads(case.scenario.to_toml())["link"][0]
    assert link["forward"]["changes"] == [{"at": "100 s", "rate": "500 Mbit/s"}, {"at": "200 s", "rate": "1 Gbit/s"}]
    assert "changes" not in link


def test_a_response_function_stands_in_highspeeds_place_alone():
    case = next(
        one for one in STUDY.experiment("beside").cases("quick") if one.parameters["response"] == "HSTCP, High_P 1e-6"
    )
    flows = {flow["name"]: flow for flow in case.scenario.to_dict()["flow"]}
    assert flows["hstcp"]["tcp"]["congestion"]["high_p"] == 1e-6
    assert (flows["regtcp"]["count"], flows["regtcp"]["tcp"]["congestion"]["kind"]) == (10, "reno")


def test_runs_are_shared_with_the_study_and_among_experiments(tmp_path: Path):
    own = studies.plan(STUDY, "quick", tmp_path)
    study = studies.plan(studies.find("highspeed"), "quick", tmp_path)
    lossy = {run.run_id for run in study.plan.runs if run.parameters.get("loss") == 1e-4}
    one = {
        run.run_id for run in own.plan.runs
        if own.experiments[run.cell] == "alone" and run.parameters["response"] == "HSTCP" and run.parameters["loss"] == 1e-4
    }  # fmt: skip
    assert len(one) == 5
    assert one <= lossy


def test_time_to_fill_goes_on_as_it_grew():
    import numpy as np
    from longhaul_studies.highspeed.targets.isolated import Trace

    time = np.arange(0.0, 300.05, 0.05)
    # 10 packets a second from 4000 at 200 s: 5000 at 300 s, and 333.3 s more to 8333.
    slow = Trace(time, np.where(time < 200, 4000.0, 4000 + 10 * (time - 200)), np.array([]))
    assert measures._to_fill(slow) == pytest.approx(433.3, abs=0.5)
    fast = Trace(time, np.where(time < 200, 4000.0, 4000 + 1000 * (time - 200)), np.array([]))
    assert measures._to_fill(fast) == pytest.approx(4.35, abs=0.06)


@pytest.mark.parametrize(("standard", "verdict"), [(400.0, "reproduced"), (200.0, "reproduced"), (100.0, "not")])
def test_a_slow_recovery_takes_ten_times_as_long(monkeypatch, standard, verdict):
    seconds = {"standard": standard, "HSTCP": 20.0}
    monkeypatch.setattr(measures, "seconds_to_fill", lambda _, name: seconds[name])
    target = next(target for target in TARGETS if target.id == "N10")
    assert target.judge(studies.Results("quick", [])).verdict == verdict


@pytest.mark.slow("ten seconds of processor time")
def test_the_small_scale_runs(tmp_path: Path):
    campaign = studies.plan(STUDY, "tiny", tmp_path)
    campaign.open()
    campaign.run(campaign.missing(), jobs=2)
    results = campaign.results()
    small, large = (measures.of_frames(results, "standard", frame)[1e-3] for frame in points.FRAMES)
    assert 4.5 < large / small < 7.5
    # At 1e-3 all rules are near standard TCP's, except those without a low window.
    windows = {name: measures.windows(results, name)[1e-3] for name in points.RESPONSES}
    assert 0.7 < windows["HSTCP, Low_Window 200"] / windows["standard"] < 1.4
    assert [target.id for target in TARGETS if not target.experiments] == []


def test_the_cause_of_n1_has_the_numbers_of_its_table():
    """The reason's 0.69 is the page's median over its formula, and its parts of a longer run are of the same formula."""
    page = (Path(__file__).parents[1] / "docs/studies/highspeed-chapter-8.md").read_text(encoding="utf-8")
    row = next(line for line in page.splitlines() if line.startswith("| HSTCP, Low_Window 200 |"))
    measured, formula = (float(text.strip(" ()")) for text in row.split("|")[2].split())
    assert formula == pytest.approx(points.RESPONSES["HSTCP, Low_Window 200"].window(1e-5), abs=0.5)
    reason = next(target.reason for target in TARGETS if target.id == "N1")
    assert f"{measured / formula:.2f} of its formula" in reason
    assert all(f"{packets}" in reason for packets in (731, 783, 825))
    assert f"{731 / formula:.2f} to {825 / formula:.2f} of it" in reason
