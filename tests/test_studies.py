"""The framework of studies: verdicts, what is run, what survives an interruption, what a wrong name is answered with."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path

import fake_study
import longhaul
import longhaul_studies as studies
import pytest
from longhaul import study as lab
from longhaul.sweep.records import Records
from longhaul_studies import Case, Claim, NotRun, Results, Row, Study, Target, verdict
from longhaul_studies.judging import held, judge
from self_contained import addresses
from waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def fake(monkeypatch):
    """`longhaul reproduce fake`."""
    entry = EntryPoint("fake", "fake_study:STUDY", lab.STUDIES)
    monkeypatch.setitem(lab.offered(lab.STUDIES), "fake", entry)


@pytest.fixture
def runs_made(monkeypatch):
    """Counts the runs that are made."""
    made: list[object] = []
    with_series, without = longhaul.core.run, longhaul.core.run_seeds

    def run_seeds(document, *arguments, **settings):
        found = without(document, *arguments, **settings)
        made.extend([document.source] * len(found))
        return found

    monkeypatch.setattr(longhaul.core, "run", lambda *a, **k: made.append(a[0].source) or with_series(*a, **k))
    monkeypatch.setattr(longhaul.core, "run_seeds", run_seeds)
    return made


def verdicts(path: Path) -> dict[str, str]:
    """Verdicts by target, as they were written."""
    return {target["id"]: target["verdict"] for target in json.loads(path.read_text())["targets"]}


# --- verdicts


@pytest.mark.parametrize(
    ("value", "expected"), [(100, "reproduced"), (109.9, "reproduced"), (112, "partly"), (80.1, "partly"), (79, "not")]
)
def test_a_number_is_reproduced_within_its_tolerance_and_partly_within_twice_that(value, expected):
    assert verdict.number(value, 100, 0.1).verdict == expected
    assert verdict.number(value, 100, 10, relative=False).verdict == expected


def test_a_value_that_is_no_number_is_not_reproduced():
    assert verdict.number(float("nan"), 1, 0.1).verdict == "not"
    assert verdict.band(float("inf"), 0, 1).verdict == "not"


@pytest.mark.parametrize(("held", "expected"), [(3, "reproduced"), (2, "partly"), (1, "not"), (0, "not")])
def test_an_ordering_is_partly_reproduced_from_two_thirds(held, expected):
    assert verdict.holds({f"check {i}": i < held for i in range(3)}).verdict == expected


def test_an_ordering_names_what_does_not_hold():
    assert "not: b > c" in verdict.holds({"a > b": True, "b > c": False}).measured


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1, 2, 3, 4], "reproduced"), ([1, 3, 2, 4], "reproduced"), ([1, 4, 3, 2], "not"), ([2, 4, 1, 3], "not"), ([4, 3, 2, 1], "not")],
)  # fmt: skip
def test_a_trend_is_judged_by_its_ends_and_its_ranks(values, expected):
    # Rank correlations 1, 0.8, 0.2, 0, -1 (by hand: 1 - 6 sum d^2 / (n (n^2 - 1))).
    assert verdict.trend(dict(enumerate(values)), rising=True).verdict == expected


def test_spearman_by_hand():
    # Ranks 1 2 3 4 5 against 2 1 4 3 5: d^2 = 1+1+1+1+0 = 4, rho = 1 - 24/120 = 0.8.
    assert verdict.spearman([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]) == pytest.approx(0.8)


def test_flat_is_a_small_spread():
    assert verdict.flat({1: 1.0, 2: 1.1}, 0.1).verdict == "reproduced"
    assert verdict.flat({1: 1.0, 2: 1.15}, 0.1).verdict == "partly"
    assert verdict.flat({1: 1.0, 2: 2.0}, 0.1).verdict == "not"


def test_several_judgements_as_one():
    good, bad = verdict.number(1, 1, 0), verdict.number(2, 1, 0.1)
    assert verdict.both(good, good).verdict == "reproduced"
    assert verdict.both(good, bad).verdict == "partly"
    assert verdict.both(bad, bad).verdict == "not"


# --- running


def test_a_study_at_its_small_scale(command, tmp_path, runs_made):
    out = tmp_path / "out"
    outcome = command("reproduce", "fake", "--scale", "tiny", "--out", out)
    assert outcome.code == 0, outcome.err
    assert len(runs_made) == 3
    assert "3 of the paper's targets: 1 reproduced, 1 not reproduced, 1 not run; 1 other target" in outcome.out
    assert outcome.out.rstrip().endswith(
        "refuted: More flows use less, and longer queues are used more. (More flows use more.)"
    )
    assert "since more flows use more" in outcome.out
    assert verdicts(out / "tiny" / "targets.json") == {
        "F0.1": "reproduced", "F1.1": "reproduced", "F1.2": "not", "F2.1": "not run",
    }  # fmt: skip
    assert (out / "tiny" / "figures" / "figure-1.1.png").read_bytes().startswith(b"\x89PNG")
    assert not (out / "tiny" / "figures" / "figure-1.2.png").exists()


def test_the_report_stands_alone_and_the_document_holds_all(command, tmp_path):
    out = tmp_path / "out"
    assert command("reproduce", "fake", "--scale", "quick", "--out", out, "-q").code == 0
    html = (out / "quick" / "report.html").read_text()
    # A namespace is a name: nothing is loaded from it.
    assert not addresses(html)
    assert html.count("<img") == 2
    assert "depends on the conditions" in html
    assert "the paper&#39;s claim" in html
    text = (out / "quick" / "fake.md").read_text()
    for part in (
        "F1.2",
        "more flows use less",
        "since more flows use more",
        "How many?",
        "figures/figure-1.1.png",
        "Nothing.",
    ):
        assert part in text
        if not part.startswith("figures/"):
            assert part in html or part == "Nothing."


def test_scales_share_runs_and_experiments_do(command, tmp_path, runs_made):
    out = tmp_path / "out"
    command("reproduce", "fake", "--scale", "tiny", "--out", out, "-q")
    command("reproduce", "fake", "--scale", "quick", "--out", out, "-q")
    # 4 points x 2 seeds, of which three were there; 2 points x 2 seeds, of which one point is the other experiment's.
    assert len(runs_made) == 3 + 5 + 2
    assert set(verdicts(out / "quick" / "targets.json").values()) == {"reproduced", "not"}


def test_only_what_is_asked_for_is_run(command, tmp_path, runs_made):
    out = tmp_path / "out"
    outcome = command("reproduce", "fake", "--out", out, "--figure", "figure 1.2")
    assert outcome.code == 0, outcome.err
    assert len(runs_made) == 4
    assert verdicts(out / "quick" / "targets.json") == {
        "F0.1": "reproduced", "F1.1": "reproduced", "F1.2": "not run", "F2.1": "reproduced",
    }  # fmt: skip
    assert "F2.1" in outcome.out
    assert "F1.1" not in outcome.out
    command("reproduce", "fake", "--out", out, "--figure", "F1.1,1.2", "-q")
    assert len(runs_made) == 10


def test_a_second_call_runs_nothing(command, tmp_path, runs_made):
    for _ in range(2):
        assert command("reproduce", "fake", "--scale", "tiny", "--out", tmp_path / "out", "-q").code == 0
    assert len(runs_made) == 3


def test_a_point_with_a_seed_missing_has_no_verdict(tmp_path):
    campaign = studies.plan(fake_study.STUDY, "quick", tmp_path / "out")
    campaign.open()
    campaign.run(campaign.missing()[:7], jobs=1)
    results = campaign.results()
    assert results["F1"].median("utilisation", n=3) > 0
    with pytest.raises(NotRun, match="F1 n 4: 1 of 2 runs are missing"):
        results["F1"].median("utilisation", n=4)
    with pytest.raises(NotRun, match="F1 has no point n 5"):
        results["F1"].median("utilisation", n=5)
    assert list(results["F1"].spread("utilisation", "n")) == [1, 2, 3]
    with pytest.raises(NotRun):
        results["F1"].series("utilisation", "n")


def test_shards_make_the_whole(command, tmp_path, runs_made):
    for shard in ("1/2", "2/2"):
        assert command("reproduce", "fake", "--out", tmp_path / "out", "-q", "--shard", shard).code == 0
    assert len(runs_made) == 10
    assert "not run" not in verdicts(tmp_path / "out" / "quick" / "targets.json").values()


def distribution(tmp_path: Path, entry: str = "fake = fake_study:STUDY") -> Path:
    """A folder with what an installer leaves of a distribution that offers a study."""
    metadata = tmp_path / "site" / "fake_study-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: fake-study\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[longhaul.studies]\n{entry}\n")
    return metadata.parent


def listed(path: Path) -> subprocess.CompletedProcess[str]:
    """`longhaul reproduce`, where the folder is among those for packages."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *sys.path])}
    call = [sys.executable, "-m", "longhaul", "reproduce", "--json"]
    return subprocess.run(call, capture_output=True, text=True, env=environment, check=False)


def test_a_study_of_another_distribution_is_found(tmp_path):
    shown = listed(distribution(tmp_path))
    assert shown.returncode == 0, shown.stderr
    names = [found["name"] for found in json.loads(shown.stdout)]
    assert "fake" in names
    assert "highspeed" in names


def test_a_study_that_cannot_be_loaded_is_named(tmp_path):
    shown = listed(distribution(tmp_path, "fake = no_such_module:STUDY"))
    assert shown.returncode == 2
    expected = "error: the study fake (no_such_module:STUDY) cannot be loaded: No module named 'no_such_module'\n"
    assert shown.stderr == expected


def test_the_lab_imports_no_study():
    """The programs of `longhaul` name no module of `longhaul_studies`, and load none until a study is requested."""
    lab = Path(longhaul.__file__).parent
    naming = [
        str(path)
        for path in lab.rglob("*.py")
        if re.search(r"^\s*(from|import) longhaul_studies", path.read_text(), re.M)
    ]
    assert not naming
    code = (
        "import pkgutil, importlib, sys, longhaul\n"
        "for found in pkgutil.walk_packages(longhaul.__path__, 'longhaul.'):\n"
        "    if not found.name.endswith('__main__') and '.examples.' not in found.name: importlib.import_module(found.name)\n"
        "print([name for name in sys.modules if name.startswith('longhaul_studies')])"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_the_installed_distribution_offers_what_the_source_tree_does():
    """`pyproject.toml` is read where there is a source tree: what it lists is what an installation has."""
    tree = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]["entry-points"]
    for group in (lab.STUDIES, lab.DESIGNS):
        for name, value in tree[group].items():
            module, _, attribute = value.partition(":")
            assert hasattr(importlib.import_module(module), attribute), name


def test_an_interrupted_study_goes_on(command, tmp_path, monkeypatch, runs_made):
    out = tmp_path / "out"
    code = (
        "import fake_study; from longhaul.cli import main;"
        "old = fake_study.scenario;"
        "fake_study.scenario = lambda *a: old(*a).run_settings(duration='4000 s', warmup='2 s'); main()"
    )
    arguments = ["reproduce", "fake", "--out", str(out), "--jobs", "1"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(distribution(tmp_path)), *sys.path])}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )
    deadline = time.monotonic() + PATIENCE_S
    while not len(Records(out / "runs")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "repeat the command to continue" in errors
    assert "Traceback" not in errors
    assert not list((out / "runs").glob(".*.partial"))
    kept = set(Records(out / "runs"))
    assert 1 <= len(kept) < 10
    longer = fake_study.scenario
    monkeypatch.setattr(fake_study, "scenario", lambda *a: longer(*a).run_settings(duration="4000 s", warmup="2 s"))
    assert command(*arguments, "-q").code == 0
    assert len(runs_made) == 10 - len(kept)
    assert kept < set(Records(out / "runs"))


def test_results_of_another_build_are_not_mixed_in(command, tmp_path, monkeypatch, runs_made):
    out = tmp_path / "out"
    command("reproduce", "fake", "--scale", "tiny", "--out", out, "-q")
    monkeypatch.setattr(longhaul.core, "program", lambda: "another build")
    refused = command("reproduce", "fake", "--scale", "tiny", "--out", out)
    assert refused.code == 2
    assert "3 finished runs" in refused.err
    assert "--changed check" in refused.err
    assert command("reproduce", "fake", "--scale", "tiny", "--out", out, "--changed", "check", "-q").code == 0
    assert len(runs_made) == 6
    assert "3 of them were repeated" in (out / "tiny" / "report.html").read_text()
    monkeypatch.setattr(longhaul.core, "program", lambda: "a third build")
    assert command("reproduce", "fake", "--scale", "tiny", "--out", out, "--changed", "rerun", "-q").code == 0
    assert len(runs_made) == 9


def test_no_run_judges_what_is_there(command, tmp_path, runs_made):
    out = tmp_path / "out"
    refused = command("reproduce", "fake", "--out", out, "--no-run")
    assert refused.code == 2
    assert "has no runs of the scale quick" in refused.err
    command("reproduce", "fake", "--out", out, "-q")
    made = len(runs_made)
    (out / "quick" / "report.html").unlink()
    assert command("reproduce", "fake", "--out", out, "--no-run", "-q").code == 0
    assert (out / "quick" / "report.html").exists()
    assert len(runs_made) == made


def test_the_document_shows_all_scales(command, tmp_path):
    out, docs = tmp_path / "out", tmp_path / "docs"
    command("reproduce", "fake", "--scale", "tiny", "--out", out, "-q")
    assert command("reproduce", "fake", "--scale", "quick", "--out", out, "--document", docs, "-q").code == 0
    text = (docs / "fake.md").read_text()
    assert "tiny: measured | verdict | quick: measured | verdict" in text
    # Claims first, then the leading figure, then the counts; the other figures at the end.
    places = [
        text.index(part)
        for part in ("## What was claimed", "fake/figure-1.2.png", "## How many targets", "fake/figure-1.1.png")
    ]
    assert places == sorted(places)
    assert "Scale quick, 2 seeds at each point." in text
    assert max(len(cell) for line in text.splitlines() if line.startswith("|") for cell in line.split("|")) <= 122
    assert (docs / "fake" / "figure-1.2.png").exists()
    assert "](fake/figure-1.2.png)" in text


def test_a_claim_that_holds_under_a_condition_left_open_depends_on_it():
    missed = Target("X1", "section 1", "it gains", "ordering", lambda _: verdict.holds({"gains": False}))
    claims = [Claim("It gains.", ("X1",)), Claim("It gains.", ("X1",), "With one segment it does.", conditional=True)]
    study = dataclasses.replace(fake_study.STUDY, targets=[missed], claims=claims, figures=[], leading=())
    results = Results("tiny", [])
    assert [item.standing for item in held(study, judge(study, results), results)] == ["refuted", "depends"]


def test_headlines_count_the_papers_own_numbers_and_claims(command, tmp_path):
    command("reproduce", "fake", "--scale", "quick", "--out", tmp_path / "out", "-q")
    content = json.loads((tmp_path / "out" / "quick" / "targets.json").read_text())
    assert content["verdicts"] == {"reproduced": 2, "partly": 0, "not": 1, "not run": 0}
    assert content["verdicts_by_origin"]["arithmetic"] == {"reproduced": 1, "partly": 0, "not": 0, "not run": 0}
    assert [target["origin"] for target in content["targets"]] == ["arithmetic", "claim", "claim", "claim"]
    assert [claim["verdict"] for claim in content["claims"]] == ["confirmed", "depends"]
    # F1 with n = 2, F1 with every n, F2 with both limits; n = 2 is a run of either.
    assert content["runs_used"] == 10


def test_every_target_has_a_class_and_arithmetic_needs_no_run():
    for name in lab.names():
        study = studies.find(name)
        for target in study.targets:
            assert (target.origin == "arithmetic") == (not target.experiments), target.id
            assert not target.same_as or target.same_as in {other.id for other in study.targets}, target.id
        assert any(target.counts for target in study.targets)


@pytest.mark.parametrize("name", [name for name in lab.names() if name != "fake"])
def test_the_facts_of_a_paper_have_every_place_that_a_target_cites(name):
    chosen = studies.find(name)
    module = lab.offered(lab.STUDIES)[name].module
    facts = Path(importlib.import_module(module).__file__).with_name("facts.md").read_text()
    cited = {label for target in chosen.targets for label in re.findall(r"[A-Z]?\.?\d+(?:\.\d+)*", target.source)}
    missing = [label for label in cited if not re.search(rf"(?<![\d.]){re.escape(label)}(?!\d)", facts)]
    assert cited
    assert not missing
    assert not [line for line in facts.splitlines() if len(line) > 120 and not line.startswith("|")]


def test_sttps_rows_count_once():
    ids = [target.id for target in studies.find("sttp").targets]
    assert len(ids) == len(set(ids))
    assert not [name for name in ids if "half" in name]


def test_a_verdict_on_random_runs_needs_five_seeds(tmp_path):
    import dataclasses

    strict = dataclasses.replace(fake_study.STUDY, smoke=())
    campaign = studies.plan(strict, "quick", tmp_path / "out")
    campaign.open()
    campaign.run(campaign.missing(), jobs=1)
    results = campaign.results()

    def verdict_on(study: Study, rows: list[studies.Row]) -> studies.Judged:
        return next(item for item in studies.judge(study, studies.Results("quick", rows)) if item.target.id == "F1.1")

    # Nothing in these scenarios is drawn at random.
    assert not any(row.random for row in results.rows)
    assert verdict_on(strict, results.rows).verdict == "reproduced"
    drawn = [dataclasses.replace(row, random=True) for row in results.rows]
    found = verdict_on(strict, drawn)
    assert found.verdict == "not run"
    assert "2 of the 5 seeds" in found.judgement.measured
    steady = [dataclasses.replace(experiment, steady="as if") for experiment in strict.experiments]
    assert verdict_on(dataclasses.replace(strict, experiments=steady), drawn).verdict == "reproduced"


def test_random_runs_are_recognised():
    plan = studies.plan(studies.find("asymmetric"), "quick", Path("unused"))
    rows = plan.results().rows
    assert {row.random for row in rows if row.experiment == "limits"} == {False}
    lossy = [row for row in rows if row.experiment == "robust"]
    assert all(row.random == (row.parameters["loss"] > 0) for row in lossy)


def test_another_result_is_not_written_over(command, tmp_path, sweep_file):
    command("sweep", sweep_file, "--out", tmp_path / "s", "-q")
    outcome = command("reproduce", "fake", "--out", tmp_path / "s")
    assert outcome.code == 2
    assert "contains another result" in outcome.err


# --- names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fake1"], "no study is called 'fake1'; there are asymmetric, fake, headlines, highspeed, highspeed-chapter-8, premature-ack, satellite-objectives, split-pep, sttp; did you mean 'fake'?"),
        (["fake", "--scale", "quik"], "no scale of the study fake is called 'quik'; there are tiny, quick; did you mean 'quick'?"),
        (["fake", "--figure", "F3"], "there are F1, F2, figure 1.1, figure 1.2"),
        (["fake", "--figure", "F11"], "did you mean 'F1.1'?"),
        (["fake", "--changed", "kept"], "--changed 'kept': the values are refuse, check, rerun"),
        (["fake", "--shard", "3/2"], "--shard '3/2'"),
    ],
)  # fmt: skip
def test_wrong_names(command, tmp_path, arguments, message):
    outcome = command("reproduce", *arguments, "--out", tmp_path / "out")
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "out").exists()


def test_figures_that_are_not_drawn_are_told_in_one_line(command, tmp_path):
    outcome = command("reproduce", "fake", "--scale", "tiny", "--figure", "F2", "--out", tmp_path / "one")
    assert "figure 1.2 is not drawn: F2" in outcome.err
    outcome = command("reproduce", "fake", "--scale", "quick", "--shard", "1/10", "--out", tmp_path / "two")
    lines = [line for line in outcome.err.splitlines() if "not drawn" in line]
    assert lines == ["2 figures not drawn, since their runs are missing: 1.1, 1.2"]


def test_lists(command, tmp_path):
    assert "A study of nothing" in command("reproduce").out
    outcome = command("reproduce", "fake", "--list", "--out", tmp_path / "out")
    assert outcome.code == 0, outcome.err
    assert "10 different runs at scale quick; 4 targets, 2 figures" in outcome.out
    content = json.loads(command("reproduce", "fake", "--list", "--json").out)
    assert [experiment["runs"] for experiment in content["experiments"]] == [8, 4]
    assert not (tmp_path / "out").exists()


def test_a_study_that_contradicts_itself_is_refused():
    def made(**parts: object) -> Study:
        plain = dict.fromkeys(("experiments", "targets", "figures"), ())
        return Study(name="s", title="", source="", about="", scales={}, **{**plain, **parts})  # type: ignore[arg-type]

    target = Target("T", "", "", "exact", lambda _: verdict.number(1, 1, 0), ("E1",))
    with pytest.raises(ValueError, match="T needs the experiments"):
        made(targets=[target])
    with pytest.raises(ValueError, match="stand twice"):
        made(targets=[Target("T", "", "", "exact", target.judge)] * 2)


def test_a_run_has_time_series_where_a_case_wants_them(tmp_path):
    import dataclasses

    study = dataclasses.replace(
        fake_study.STUDY,
        experiments=[
            studies.Experiment("F1", "", "", lambda _: [Case({"n": 2}, fake_study.scenario(2, 30))]),
            studies.Experiment("F2", "", "", lambda _: [Case({"n": 2}, fake_study.scenario(2, 30), tables=True)]),
        ],
        targets=[], figures=[], claims=[], leading=[],
    )  # fmt: skip
    campaign = studies.plan(study, "tiny", tmp_path / "out")
    campaign.open()
    assert len(campaign.missing()) == 1
    campaign.run(campaign.missing(), jobs=1)
    row = campaign.results()["F2"].where(n=2)[0]
    assert row.result().flows["cwnd_bytes"].max() > 0


def _with_further_seeds(value: Callable[[int], float], *, seeds: int = 2, most: int = 4, kind: str = "band") -> Study:
    """One random point with so many seeds and more at most, judged by the median of a value that depends on the seed."""
    import dataclasses

    random = fake_study.scenario(2, 30).flow("hub", "remote", name="late", start={"uniform": ["0 s", "1 s"]})
    return dataclasses.replace(
        fake_study.STUDY,
        experiments=[studies.Experiment("F1", "", "", lambda _: [Case({"n": 2}, random, seeds, most=most)])],
        targets=[
            Target("T", "", "", kind, lambda r: verdict.band(r["F1"].median(lambda row: 0 * row["utilisation"] + value(row.seed), n=2), 0, 0.8), ("F1",))
        ],
        figures=[], claims=[], leading=[], smoke=(),
    )  # fmt: skip


def _run_by_the_rule(study: Study, out: Path) -> tuple[studies.Campaign, list[int]]:
    """All first seeds, and further ones until the rule wants no more; the numbers of seeds after each step."""
    campaign = studies.plan(study, "tiny", out)
    campaign.open()
    runs, steps = campaign.missing() or campaign.missing_further(), []
    while runs:
        campaign.run(runs, jobs=1)
        steps.append(len(campaign.results()["F1"].where(n=2)))
        runs = campaign.missing_further()
    return campaign, steps


@pytest.mark.parametrize(
    ("value", "steps"), [(lambda seed: 0.5, [2]), (lambda seed: 2.0 - seed, [2, 4, 5]), (lambda seed: 3.0, [2])]
)
def test_seeds_double_where_the_verdict_depends_on_one(tmp_path, value, steps):
    study = _with_further_seeds(value, most=5)
    campaign = studies.plan(study, "tiny", tmp_path / "out")
    assert len(campaign.plan.runs) == 5
    assert len(campaign.missing()) == 2
    assert campaign.missing_further() == []
    campaign, found = _run_by_the_rule(study, tmp_path / "out")
    assert found == steps
    assert [row.seed for row in campaign.results()["F1"].where(n=2)] == list(range(1, steps[-1] + 1))


def test_three_seeds_decide_an_ordering_but_no_number(tmp_path):
    steady = _with_further_seeds(lambda seed: 0.5, seeds=3, most=6)
    campaign, found = _run_by_the_rule(steady, tmp_path / "out")
    assert found == [3]
    [judged] = studies.judge(steady, campaign.results())
    assert judged.verdict == "reproduced"

    unsteady = _with_further_seeds(lambda seed: [0.5, 0.5, 2.0][seed - 1], seeds=3, most=6)
    [judged] = studies.judge(unsteady, studies.plan(unsteady, "tiny", tmp_path / "out").results())
    assert judged.verdict == "not run"
    assert "depends on one of its seeds" in judged.judgement.measured

    number = _with_further_seeds(lambda seed: 0.5, seeds=3, most=6, kind="exact")
    campaign = studies.plan(number, "tiny", tmp_path / "out")
    assert studies.judge(number, campaign.results())[0].verdict == "not run"
    campaign, found = _run_by_the_rule(number, tmp_path / "out")
    assert found == [6]
    assert studies.judge(number, campaign.results())[0].verdict == "reproduced"


def test_five_seeds_at_the_points_of_a_target_are_enough_though_another_point_has_three():
    """That a value occurs depends on the one run that has it: with five seeds that is the verdict."""

    read: set[str] = set()

    def runs(n: int, values: list[float]) -> list[Row]:
        return [
            Row("F1", {"n": n}, seed, f"{n} {seed}", Path(), {"utilisation": value}, extensible=True, read=read)
            for seed, value in enumerate(values, 1)
        ]

    def occurs(results: Results) -> verdict.Judgement:
        largest = max(results["F1"].values("utilisation", n=2))
        return verdict.holds({"above 1": largest > 1}, f"{largest}")

    study = dataclasses.replace(
        fake_study.STUDY, targets=[Target("T", "", "", "band", occurs, ("F1",))], figures=[], claims=[], leading=[], smoke=()
    )  # fmt: skip
    other = runs(3, [0.5] * 3)
    assert studies.judge(study, Results("read", runs(2, [2.0, *[0.5] * 4]) + other))[0].verdict == "reproduced"
    assert studies.judge(study, Results("read", runs(2, [2.0, 0.5, 0.5]) + other))[0].verdict == "not run"
