"""The asymmetric satellite study: its grid, that every target can be judged, and the exact numbers by simulation."""

from __future__ import annotations

from pathlib import Path

import longhaul_studies as studies
import pytest
from longhaul_studies import Results, outcomes
from longhaul_studies.asymmetric.scenarios import download, network
from longhaul_studies.asymmetric.study import STUDY
from longhaul_studies.judging import judge


def test_the_grid() -> None:
    """Specification, table 5.1: ten limits; table 7.1: twelve times; chapter 8: designs 8.1 to 8.6; section 6.4: four policies."""
    plan = studies.plan(STUDY, "full", Path("unused"))
    planned = [plan.experiments[run.cell] for run in plan.plan.runs]
    counts = {name: planned.count(name) for name in ("limits", "start", "ladder", "policy", "two")}
    assert counts == {"limits": 10, "start": 12, "ladder": 6, "policy": 4 * 5 * 3, "two": 3}


def test_the_test_bed_is_the_thesis() -> None:
    """Specification, section 4.1: 10 Mbit/s, 9600 baud, SLIP, a queue of 10, delay on the return path, MSS 1460, FACK."""
    text = download(network("test", duration=10)).resolve()
    for part in (
        'rate = "10 Mbit/s"', 'rate = "9.6 kbit/s"', 'framing = "slip"', 'limit = "10 packets"', 'delay = "1 s"', 'mss = "1.46 kB"',
        'variant = "fack"', 'receive_buffer = "256 kB"', 'header = "7 B"', "bits_per_byte = 10", "ack_every = 2",
    ):  # fmt: skip
        assert part in text


def test_theory_needs_no_runs() -> None:
    outcomes = {item.target.id: item for item in judge(STUDY, Results("none", []))}
    theory = {name for name, item in outcomes.items() if item.verdict != "not run"}
    assert theory == {target.id for target in STUDY.targets if not target.experiments}
    assert {"N-01", "N-03a", "N-05", "N-22", "N-24", "N-27"} <= theory
    assert all(outcomes[name].verdict == "reproduced" for name in theory)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Verdicts of the smallest scale, which is run."""
    campaign = studies.plan(STUDY, "tiny", tmp_path_factory.mktemp("study"))
    campaign.open("refuse")
    campaign.run(campaign.missing(None, None), jobs=1)
    return {item.target.id: item.verdict for item in outcomes.outcome(campaign).judged}


def test_the_smallest_scale_gives_the_exact_numbers(tiny: dict[str, str]) -> None:
    assert {tiny[name] for name in ("N-02", "N-03b", "X-17 8.1", "X-17 8.4", "X-17 8.5", "X-17 8.7")} == {"reproduced"}
    assert tiny["N-14"] == "not run"
