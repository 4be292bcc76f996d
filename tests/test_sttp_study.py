"""The STTP study: its grid, its scenarios, the arithmetic of its measures, and that every target can be judged."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from pathlib import Path

import longhaul_studies as studies
import pytest
from longhaul import Scenario, run
from longhaul_studies import Results, Row, outcomes
from longhaul_studies.judging import judge
from longhaul_studies.sttp import grids, practical
from longhaul_studies.sttp.claims import CLAIMS as FOUND_FOR
from longhaul_studies.sttp.claims import CLAIMS_TABLE
from longhaul_studies.sttp.findings import FINDINGS
from longhaul_studies.sttp.measures import LINK, jain_of, nodes, with_interval
from longhaul_studies.sttp.readings import MOVED
from longhaul_studies.sttp.reasons import REASONS
from longhaul_studies.sttp.scenarios import bulk, dumbbell, flows, topology_1
from longhaul_studies.sttp.study import STUDY
from longhaul_studies.sttp.summary import CLAIMS, GAP
from longhaul_studies.sttp.tables import APPENDIX_1, APPENDIX_2, CHOSEN, TABLE_4_5


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


def counted_rows(experiment: str, bytes_by: Mapping[tuple[str, int], tuple[float, float]]) -> list[Row]:
    """Five runs of each protocol and number of sources with these bytes sent and dropped."""
    return [
        Row(experiment, {"protocol": p, "n": n}, seed, f"{experiment} {p} {n} {seed}", Path("none"), {f"{LINK}.offered_bytes": sent, f"{LINK}.dropped_bytes": dropped})
        for (p, n), (sent, dropped) in bytes_by.items() for seed in range(1, 6)
    ]  # fmt: skip


def verdict_of(name: str, rows: list[Row]) -> str:
    return next(target for target in STUDY.targets if target.id == name).judge(Results("quick", rows)).verdict


def test_a_full_link_does_not_rescue_a_row() -> None:
    """Whatever is sent and lost, what passes a full link is its capacity."""
    capacity = 225.09e6
    for loss, verdict in ((0.1525, "reproduced"), (0.1700, "partly"), (0.1981, "not")):
        sent = capacity / (1 - loss)
        rows = counted_rows("transfers", {("reno", 200): (sent, sent - capacity)})
        assert verdict_of("A1 reno 200", rows) == verdict


def test_a_claim_has_one_verdict_with_few_sources_too() -> None:
    """The thesis's own bytes of 10 to 30 transfers, but 1 % more from STTP with 10: Vegas sends less there, and drops less with 20."""
    own = {
        (CHOSEN if p == "sttp" else p, n): (float(sent), float(dropped))
        for n in (10, 20, 30) for p, (sent, dropped) in APPENDIX_1[n].items()
    }  # fmt: skip
    larger = {
        place: (1.01 * sent, dropped) if place == (CHOSEN, 10) else (sent, dropped)
        for place, (sent, dropped) in own.items()
    }
    rows = counted_rows("transfers", larger) + counted_rows("video", dict.fromkeys(own, (1e6, 1e4)))
    assert verdict_of("E2b", rows) == "partly"
    assert verdict_of("E2c", rows) == "partly"
    find = dict(FOUND_FOR)
    found = {
        about: (verdict, text)
        for claim in ("with fewer transmissions", "and fewer losses")
        for about, verdict, text in find[claim](Results("quick", rows))
    }
    assert found["transfers, bytes sent compared with Vegas"] == (
        "partly",
        "up to 1.8 % less (with 30 sources), more with 10",
    )
    assert found["transfers, bytes dropped compared with Vegas"] == (
        "partly",
        "up to 82.1 % less (with 30 sources), more with 20",
    )


def test_a_rival_that_drops_nothing_drops_less() -> None:
    rows = counted_rows("transfers", {("reno", 10): (2e8, 1e6), ("vegas", 10): (2e8, 0.0), (CHOSEN, 10): (2e8, 1e5)})
    assert verdict_of("E2c", rows) == "not"
    rows += counted_rows("video", {("reno", 10): (2e8, 1e6), ("vegas", 10): (2e8, 0.0), (CHOSEN, 10): (2e8, 1e5)})
    drops = next(claim.here for claim in CLAIMS if claim.targets == ("E2c", "E4c"))
    assert drops is not None
    assert drops(Results("quick", rows)) == "transfers nowhere less, more with 10; films nowhere less, more with 10"


#: Numbers with units in the prose that are not measured: of the thesis and its tables, of settings, of ns-2.35.
NOT_MEASURED = {
    "20 %", "13.9 %", "15.0 %", "17.1 %", "16.6 %", "38 %", "45 %", "2 %", "1 %", "1 s", "2 s", "5 s", "10 s", "200 s", "300 s", "42 s", "900 s", "200 ms", "600 ms", "100 ms", "0.1 s", "0.2 s", "2.5 s", "0.2 MB", "260.3 MB", "261.4 MB",
    "0.5 Mbit/s", "2 Mbit/s", "5 Mbit/s", "50 Mbit/s", "64 kbit/s", "128 kbit/s",
}  # fmt: skip


def test_measured_numbers_are_in_tables_only() -> None:
    """Prose stays as it is when runs are made again; tables do not."""
    for text in (*FINDINGS.values(), *REASONS.values()):
        found = set(re.findall(r"\d[\d.]* (?:%|[kM]bit/s|MB|m?s)(?!\w)", text))
        assert found <= NOT_MEASURED, text


def sent_off(target: str) -> float:
    """How far bytes sent are from the thesis in the document's table of targets, in per cent."""
    document = (Path(__file__).parents[1] / "docs/studies/sttp.md").read_text()
    document = document.partition("\n## Readings\n")[2]  # the base of the present build
    found = re.search(rf"\| {target} \|.*?MB sent \(([-+][\d.]+) %\)", document)
    assert found
    return float(found.group(1))


def test_numbers_in_claims_are_those_of_the_document() -> None:
    here = {(p, n): abs(sent_off(f"A1 {p} {n}")) for n in (100, 200) for p in ("reno", "vegas")}
    # ns-2.35 with the same settings: `benches/ns2/sttp.tcl`.
    ns2 = 100 * (261.4e6 / APPENDIX_1[100]["vegas"][0] - 1)
    assert [float(number) for number in re.findall(r"\d\.\d", GAP.replace("ns-2.35", ""))] == [
        here["vegas", 100], here["vegas", 200], round(ns2, 1), here["reno", 100], here["reno", 200],
    ]  # fmt: skip
    why = next(claim.why for claim in CLAIMS if claim.text.startswith("Appendix table 1"))
    assert "within 2 % up to 180 sources" in why
    assert [n for n in APPENDIX_1 if abs(sent_off(f"A1 sttp {n}")) > 2] == [190, 200]


def test_the_line_about_a_scale_names_its_lengths() -> None:
    for scale in ("quick", "full"):
        said = re.findall(r"for (\d+) s", STUDY.scales[scale])
        for cases, length in zip((grids.mixed, grids.modern), said, strict=True):
            assert all(f'duration = "{length} s"' in case.scenario.resolve() for case in cases(scale)[:1])


def test_figures_name_the_thesis_and_the_judged_version() -> None:
    own = {(p, n): (2.3e8, 5e6) for p in ("reno", "vegas", "sttp", CHOSEN) for n in (10, 20)}
    figure = next(figure for figure in STUDY.figures if figure.id == "4.4")
    (axes,) = figure.draw(Results("quick", counted_rows("transfers", own))).axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [
        "Reno",
        "Vegas",
        "STTP (judged)",
        "STTP, 0.9 after a timeout",
        "Reno, thesis",
        "Vegas, thesis",
        "STTP, thesis",
    ]
    widths = {line.get_label(): (line.get_linewidth(), line.get_marker()) for line in axes.get_lines()}
    assert widths["STTP, 0.9 after a timeout"][0] < widths["STTP (judged)"][0]
    assert widths["STTP, thesis"][1] == widths["STTP (judged)"][1]


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


def test_what_moved_has_the_sums_of_the_documents_counts() -> None:
    """The base's verdicts, and these with the targets that only a reading reproduces."""
    noted = json.loads((Path(__file__).parents[1] / "docs/studies/sttp/overview.json").read_text())
    counts = noted["verdicts"]
    assert [sum(one[2][n] for one in MOVED) for n in range(3)] == [counts[v] for v in ("reproduced", "partly", "not")]
    assert sum(one[3] for one in MOVED) == counts["reproduced"] + noted["reached"]


def test_the_caption_of_experiment_6_has_its_lengths() -> None:
    caption = next(figure.caption for figure in STUDY.figures if figure.id == "4.13")
    quick, full = re.search(r"has (\d+) s instead of (\d+)", caption).groups()
    for scale, length in (("quick", quick), ("full", full)):
        assert f'duration = "{length} s"' in grids.mixed(scale)[0].scenario.resolve()


def test_the_gain_of_an_average_window_is_that_of_its_baseline() -> None:
    """C1's cause: over Tahoe a flow with random losses gains a fifth by the average window, and as much by Reno."""
    flow = {"congestion": "reno", "variant": "reno"}
    ways = {"reno": flow, "tahoe": {**flow, "variant": "tahoe"}, "average": {**flow, "congestion": "reno_average"}}
    carried = {}
    for name, tcp in ways.items():
        built = (
            Scenario(name, duration="300 s")
            .link("path", "a", "b", rate="10 Mbit/s", delay="100 ms", queue="83 packets", loss=0.001)
            .flow("a", "b", name="bulk", app={"kind": "bulk"}, tcp=tcp)
        )
        carried[name] = sum(
            run(built, seed=seed, tables=False).summary["flows"][0]["metrics"]["delivered_bytes"] for seed in (1, 2, 3)
        )
    assert 1.15 < carried["average"] / carried["tahoe"] < 1.3
    assert 1.15 < carried["reno"] / carried["tahoe"] < 1.3
    assert carried["average"] / carried["reno"] == pytest.approx(1, abs=0.05)
