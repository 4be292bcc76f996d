"""The STTP study: its grid, its scenarios, the arithmetic of its measures, and that every target can be judged."""

from __future__ import annotations

import contextlib
from pathlib import Path

import longhaul_studies as studies
import pytest
from longhaul_studies import Results, outcomes
from longhaul_studies.judging import judge
from longhaul_studies.sttp import practical
from longhaul_studies.sttp.claims import CLAIMS_TABLE
from longhaul_studies.sttp.measures import jain_of, nodes, with_interval
from longhaul_studies.sttp.scenarios import bulk, dumbbell, flows, topology_1
from longhaul_studies.sttp.study import STUDY
from longhaul_studies.sttp.tables import APPENDIX_1, APPENDIX_2, TABLE_4_5


def test_the_grid() -> None:
    """Specification, section 5: 60, 30 and 30 runs of experiments 2, 4 and 5, 4 long runs, STTP's in both readings; 12 rows of table 4.5 and
    three of Vegas; five seeds each."""
    plan = studies.plan(STUDY, "quick", Path("unused"))
    planned = [plan.experiments[run.cell] for run in plan.plan.runs]
    counts = {
        name: planned.count(name) // 5 for name in ("transfers", "video", "requests", "long", "fairness", "functional")
    }
    assert counts == {"transfers": 80, "video": 40, "requests": 40, "long": 6, "fairness": 15, "functional": 3}


def test_every_row_of_the_tables_is_a_target() -> None:
    names = {target.id for target in STUDY.targets}
    assert {f"A1 {p} {n}" for n in APPENDIX_1 for p in ("reno", "vegas", "sttp")} <= names
    assert {f"A2 {p} {n}" for n in APPENDIX_2 for p in ("reno", "vegas", "sttp")} <= names
    assert {f"T4.5 {p} {n}" for p, n in TABLE_4_5} <= names
    assert {f"T4.4 {p} {n}" for n in range(1, 7) for p in ("reno", "sttp")} <= names
    assert {"L200 reno", "L200 sttp", "L300 reno", "L300 sttp"} <= names


def test_the_tables_are_the_thesis() -> None:
    """Specification, sections 5.2, 5.4: sums and shares that it derives from them; 5.3: Jain's indices."""
    assert 100 * APPENDIX_1[200]["reno"][1] / APPENDIX_1[200]["reno"][0] == pytest.approx(15.25, abs=0.005)
    assert 100 * APPENDIX_2[100]["sttp"][1] / APPENDIX_2[100]["sttp"][0] == pytest.approx(4.24, abs=0.005)
    assert [len(APPENDIX_1), len(APPENDIX_2)] == [20, 10]
    # Every row of STTP has two probes of 40 bytes for each source beside packets of 1000.
    assert all(row["sttp"][0] % 1000 == 80 * n % 1000 for table in (APPENDIX_1, APPENDIX_2) for n, row in table.items())
    assert jain_of(TABLE_4_5["sttp 9:1", 2][0]) == pytest.approx(0.843, abs=0.0005)
    assert jain_of(TABLE_4_5["sttp 9:1", 4][0]) == pytest.approx(0.850, abs=0.0005)


def test_the_topologies_are_the_thesis() -> None:
    """Specification, sections 2.1 and 3.2: packets of 1000 bytes, windows of 20, 1 ms, 64 kbit/s everywhere in experiment 1."""
    built = flows(
        dumbbell("test", rate=2e6, queue=128, duration=900), [{"name": "bulk", **bulk("reno", 10, interval=2)}]
    )
    text = built.resolve()
    for part in (
        'rate = "2 Mbit/s"', 'rate = "10 Mbit/s"', 'delay = "1 ms"', 'limit = "128 packets"', 'mss = "960 B"', 'receive_buffer = "20 packets"',
        'variant = "reno"', 'delayed_ack = "off"', "established = true", 'spaced = "2 s"', 'first = "100 ms"', 'monitor = ["bottleneck"]',
    ):  # fmt: skip
        assert part in text
    assert topology_1("sttp").resolve().count('rate = "64 kbit/s"') == 8


def test_experiment_1_counts_what_sources_send_and_both_queues_drop(tmp_path: Path) -> None:
    """A source's own link is as slow as the one in the middle: what it drops there was sent, and never reaches the middle."""
    campaign = studies.plan(STUDY, "tiny", tmp_path)
    campaign.open("refuse")
    campaign.run(
        [
            run
            for run in campaign.missing(None, None)
            if run.parameters.get("protocol") == "reno" and run.parameters["experiment"] == "functional"
        ],
        jobs=1,
    )
    row = campaign.results()["functional"].where(protocol="reno")[0]
    links = {link["name"]: link["monitor"] for link in row.result().summary["links"] if "monitor" in link}
    own = [links[f"access-{flow}.forward"][0]["metrics"] for flow in range(6)]
    middle = [flow["metrics"] for flow in links["middle.forward"]]
    counted = nodes(row)
    assert own[1]["dropped_packets"] > middle[1]["dropped_packets"]
    for flow in range(6):
        # Nine of ten intervals.
        assert 9 * counted[flow].sent[0] <= own[flow]["offered_packets"]
        assert 9 * counted[flow].dropped[0] <= own[flow]["dropped_packets"] + middle[flow]["dropped_packets"]


def test_an_addition_is_what_is_added_to_strict_sttp() -> None:
    strict, retry = (practical.settings(name, window=20) for name in ("strict", "retry"))
    assert strict["congestion"] == retry["congestion"]
    assert "retries" not in strict["slow_start"]
    assert retry["slow_start"]["retries"] == 5
    level, competitive = (practical.settings(name, window=0)["congestion"] for name in ("level", "competitive"))
    assert competitive == {**level, "rival": "cubic"}
    assert practical.settings("all", window=0)["congestion"]["kind"] == "sttp_practical"
    points = {
        (case.parameters["user"], case.parameters["path"], case.parameters["queue"])
        for case in practical.additions("quick")
    }
    assert {
        ("strict", path, queue) for path in (*practical.PATHS, practical.SATELLITE) for queue in ("droptail", "drr")
    } <= points


def test_claims_stand_first_and_need_runs() -> None:
    assert STUDY.claims
    assert CLAIMS_TABLE in STUDY.tables
    with pytest.raises(studies.NotRun):
        CLAIMS_TABLE.rows(Results("none", []))


def test_intervals_of_means() -> None:
    # Student's t for 2 degrees of freedom and 95 % is 4.303; 4.303 / sqrt(3) = 2.484.
    assert with_interval([1.0, 2.0, 3.0], unit="s") == "2 ± 2.48 s"


def test_nothing_is_judged_without_runs() -> None:
    assert {item.verdict for item in judge(STUDY, Results("none", []))} == {"not run"}


def test_the_smallest_scale_runs_and_can_be_judged(tmp_path: Path) -> None:
    campaign = studies.plan(STUDY, "tiny", tmp_path)
    campaign.open("refuse")
    campaign.run(campaign.missing(None, None), jobs=1)
    outcome = outcomes.outcome(campaign)
    verdicts = {item.target.id: item.verdict for item in outcome.judged}
    assert "not run" not in (verdicts["E1a"], verdicts["T4.4 reno 1"])
    assert {item.figure.id for item in outcome.drawn if item.png is not None} >= {"4.2", "4.4", "4.8", "4.12", "4.13"}
    for table in STUDY.tables:
        with contextlib.suppress(studies.NotRun):
            assert table.rows(campaign.results())
