"""Readings of studies: what is run beside the base, what is compared, and what documents show of it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import fake_study
import longhaul_studies as studies
import pytest
from longhaul import study as lab
from longhaul_studies import Case, Reading, Results, Study, changing, overview, verdict


def with_short_queues(case: Case) -> Case | None:
    """A queue of 5 packets, where there are two flows or more."""
    if case.parameters.get("n", 2) < 2:
        return None
    return changing.with_changes(case, changing.of_links("satellite", queue="5 packets"))


SHORT = Reading(
    "short queues", "Queues of 5 packets.", "The paper has no lengths.", ("F1.1", "F1.2"), with_short_queues
)
#: The same runs, and another measurement: nobody uses the link.
OTHERWISE = Reading(
    "measured otherwise",
    "Nothing counts.",
    "It may.",
    ("F1.1",),
    judges={"F1.1": lambda _: verdict.band(0.0, 0.5, 1.0)},
)
STUDY = dataclasses.replace(
    fake_study.STUDY,
    name="read",
    scales={**fake_study.STUDY.scales, "readings": "other readings"},
    readings=(SHORT, OTHERWISE),
    readings_at="tiny",
)


@pytest.fixture(autouse=True)
def read_study(monkeypatch: pytest.MonkeyPatch) -> None:
    """`longhaul reproduce read`."""
    monkeypatch.setitem(lab.offered(lab.STUDIES), "read", EntryPoint("read", "test_readings:STUDY", lab.STUDIES))


def points(path: Path) -> list[tuple[str, str, object]]:
    """What is planned at the scale of readings: experiment, reading, number of flows."""
    campaign = studies.plan(STUDY, studies.READINGS, path)
    return [
        (campaign.experiments[run.cell], campaign.readings[run.cell], run.parameters.get("n"))
        for run in campaign.plan.runs
    ]


def test_a_reading_is_run_beside_the_base_where_it_changes_something(tmp_path: Path) -> None:
    assert points(tmp_path) == [
        ("F1", "", 1), ("F1", "", 2), ("F1", "", 3), ("F1", "short queues", 2), ("F1", "short queues", 3),
    ]  # fmt: skip


def test_chance_gets_five_seeds(tmp_path: Path) -> None:
    lossy = Reading(
        "loss", "1 % of the packets are lost.", "It may.", ("F1.1",),
        lambda case: changing.with_changes(case, changing.of_links("satellite", loss={"kind": "random", "probability": 0.01})),
    )  # fmt: skip
    campaign = studies.plan(dataclasses.replace(STUDY, readings=(lossy,)), studies.READINGS, tmp_path)
    seeds = [(campaign.readings[run.cell], run.seed) for run in campaign.plan.runs if run.parameters["n"] == 2]
    assert seeds == [("", 1), *(("loss", seed) for seed in range(1, 6))]


def test_both_columns_have_verdicts_of_their_own(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out = tmp_path / "out"
    assert command("reproduce", "read", "--scale", "readings", "--out", out, "-q").code == 0
    content = json.loads((out / "readings" / "targets.json").read_text())
    short, otherwise = content["readings"]
    by_target = {item["id"]: item for item in short["targets"]}
    # The base is reproduced, and five packets of queue use less of the link: the same target, another value.
    assert by_target["F1.1"]["base_verdict"] == "reproduced"
    assert by_target["F1.1"]["measured"] != by_target["F1.1"]["base"]
    # One flow is not read otherwise: the trend over 1, 2, 3 flows has the base's run there.
    assert by_target["F1.2"]["measured"].split(",")[0] == by_target["F1.2"]["base"].split(",")[0]
    assert [(item["base_verdict"], item["verdict"]) for item in otherwise["targets"]] == [("reproduced", "not")]
    page = (out / "readings" / "report.html").read_text()
    assert "<h3>short queues</h3>" in page
    # The headline is the base's.
    assert next(item["verdict"] for item in content["targets"] if item["id"] == "F1.1") == "reproduced"


def test_the_document_names_the_reading_that_reproduces_a_target(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out, docs = tmp_path / "out", tmp_path / "docs"
    command("reproduce", "read", "--scale", "tiny", "--out", out, "-q")
    assert command("reproduce", "read", "--scale", "readings", "--out", out, "--document", docs, "-q").code == 0
    text = (docs / "read.md").read_text()
    section = text.partition("\n## Readings\n")[2].partition("\n## ")[0]
    assert "### Reading: short queues" in section
    assert "| target | the paper | base | verdict | this reading | verdict |" in section
    assert "| measured otherwise | 1 | 1 | 0 | – | F1.1 |" in section
    # Readings are no scale of the table of targets.
    assert "tiny: measured | verdict |" in text
    assert "readings: measured" not in text


def test_readings_alone_leave_the_rest_of_a_document(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    out, docs = tmp_path / "out", tmp_path / "docs"
    command("reproduce", "read", "--scale", "tiny", "--out", out, "--document", docs, "-q")
    before = (docs / "read.md").read_text()
    assert "## Readings" not in before
    for _ in range(2):  # the second time in place of the first
        command("reproduce", "read", "--scale", "readings", "--out", tmp_path / "other", "--document", docs, "-q")
        after = (docs / "read.md").read_text()
        assert after.count("\n## Readings\n") == 1
        start = after.index("\n## Readings\n")
        end = after.index("\n## Targets\n")
        assert after[:start] + after[end:] == before


def test_a_reading_never_moves_a_band(tmp_path: Path) -> None:
    """The comparison is the target's own unless the measurement is the reading."""
    rows = [
        studies.Row("F1", {"n": 2}, 1, str(number), tmp_path, {"utilisation": value}, random=False, reading=reading)
        for number, (value, reading) in enumerate(((0.4, ""), (0.6, "short queues")))
    ]
    (found, _) = studies.read(STUDY, Results(studies.READINGS, rows))
    first = found.compared[0]
    assert (first.base.verdict, first.read.verdict, first.gained) == ("not", "reproduced", True)
    assert first.base.tolerance == first.read.tolerance


def test_readings_that_name_nothing_are_refused() -> None:
    unknown = dataclasses.replace(SHORT, targets=("F9",))
    with pytest.raises(ValueError, match="'short queues' names unknown targets"):
        dataclasses.replace(STUDY, readings=(unknown,))
    with pytest.raises(ValueError, match="two readings have one name"):
        dataclasses.replace(STUDY, readings=(SHORT, SHORT))
    with pytest.raises(ValueError, match="has a scale 'readings' if, and only if"):
        dataclasses.replace(STUDY, readings=())


@pytest.mark.parametrize("name", [name for name in lab.names() if studies.find(name).readings])
def test_each_reading_changes_runs_or_measurements(name: str) -> None:
    """And is planned: every changed scenario is checked."""
    study = studies.find(name)
    planned = {reading for _, reading, _ in study.cases(studies.READINGS)}
    for reading in study.readings:
        assert reading.name in planned or reading.judges, reading.name
        assert reading.what
        assert reading.why


def test_three_seeds_come_first_and_five_where_one_decides(tmp_path: Path) -> None:
    """An ordering that no seed decides has three; one that a seed decides, and a number, get five, of base and reading."""

    def study(name: str, kind: str, value: Callable[[int], float]) -> Study:
        random = changing.of_flows(start={"uniform": ["0 s", "1 s"]})
        reading = Reading(
            name, "Starts at random.", "It may.", ("F1.1",), lambda case: changing.with_changes(case, random)
        )
        target = dataclasses.replace(
            STUDY.targets[1],
            kind=kind,
            judge=lambda r: verdict.band(
                r["F1"].median(lambda row: 0 * row["utilisation"] + value(row.seed), n=2), 0, 0.8
            ),
        )
        targets = [target if one.id == target.id else one for one in STUDY.targets]
        return dataclasses.replace(STUDY, readings=(reading,), targets=targets)

    def made(name: str, kind: str, value: Callable[[int], float]) -> int:
        campaign = studies.plan(study(name, kind, value), studies.READINGS, tmp_path / name)
        campaign.open()
        while runs := campaign.missing() or campaign.missing_further():
            campaign.run(runs, jobs=1)
        return len(campaign.results().of(name)["F1"].where(n=2))

    assert made("steady", "band", lambda _: 0.5) == 3
    assert made("number", "exact", lambda _: 0.5) == 5
    # Medians of three are 0.9, and without the second one 0.7; of the others 0.7, and at most 0.8 without one.
    assert made("one decides", "band", lambda seed: 0.9 if seed > 1 else 0.5) == 5
    assert made("none decides", "band", lambda seed: [0.5, 0.9, 0.7][seed - 1]) == 3


def test_a_steady_experiment_has_one_run_of_a_reading(tmp_path: Path) -> None:
    lossy = changing.of_links("satellite", loss={"kind": "random", "probability": 0.01})
    reading = Reading("loss", "1 % is lost.", "It may.", ("F1.1",), lambda case: changing.with_changes(case, lossy))
    steady = [dataclasses.replace(one, steady="it hardly matters") for one in STUDY.experiments]
    study = dataclasses.replace(STUDY, readings=(reading,), experiments=steady)
    campaign = studies.plan(study, studies.READINGS, tmp_path)
    assert [run.seed for run in campaign.plan.runs if campaign.readings[run.cell]] == [1, 1, 1]


def test_the_page_of_all_studies_has_what_moved(command, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    """Counts before and now, and how many targets only a reading reproduces; a document of readings alone keeps the counts."""
    out, docs = tmp_path / "out", tmp_path / "docs"
    command("reproduce", "read", "--scale", "tiny", "--out", out, "--document", docs, "-q")
    assert "reached" not in json.loads((docs / "read" / "overview.json").read_text())
    before = json.loads((docs / "read" / "overview.json").read_text())
    command("reproduce", "read", "--scale", "readings", "--out", tmp_path / "other", "--document", docs, "-q")
    after = json.loads((docs / "read" / "overview.json").read_text())
    assert after == {**before, "reached": 0}
    (docs / "premature-ack").mkdir()
    verdicts = {"reproduced": 13, "partly": 1, "not": 0, "not run": 0}
    (docs / "premature-ack" / "overview.json").write_text(
        json.dumps({**after, "title": "Premature ACKs", "scale": "full", "verdicts": verdicts, "reached": 7})
    )
    page = overview.write_page(docs).read_text()
    assert "| Premature ACKs | 14 / 0 / 0 (`full`) | 13 / 1 / 0 (`full`) | 7 |" in page
