"""Sweeps: what is run, what is written, what survives, and that the number of jobs does not matter."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import longhaul
import polars as pl
import pytest
from conftest import SMALL
from longhaul import Scenario, core, staging
from longhaul.document import read
from longhaul.sweep import log, make_plan
from longhaul.sweep.records import Records
from self_contained import addresses
from waiting import PATIENCE_S


def files(root: Path) -> dict[str, bytes]:
    """Every file of a result but what may differ between runs."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "timing.json"
    }


def counted(monkeypatch) -> list:
    """The runs without time series that are made from now on."""
    made = []
    real = longhaul.core.run_seeds

    def run_seeds(*arguments, **settings):
        found = real(*arguments, **settings)
        made.extend(found)
        return found

    monkeypatch.setattr(longhaul.core, "run_seeds", run_seeds)
    return made


def changed_log(out: Path, change) -> None:
    """Writes the log of a finished sweep again, with each run as `change` makes it; those that become `None` are left out."""
    file = out / "runs" / "records.log"
    content = b""
    for frame in log.frames(file.read_bytes()):
        if frame.kind == log.DEFINITIONS:
            definitions = zlib.decompress(frame.content)
            content += log.definitions_frame(definitions)
        elif frame.kind == log.RUNS:
            runs = [kept for run in log.texts_of(frame.content) if (kept := change(run)) is not None]
            content += log.runs_frame(log.Group(log.head_of(frame.content)["program"], definitions, runs))
    file.write_bytes(content)


def ids(out: Path) -> list[str]:
    """Ids of the finished runs."""
    return longhaul.load(out).runs["run_id"].to_list()


def test_jobs_do_not_change_a_byte(command, sweep_file, tmp_path):
    for jobs in (1, 2):
        outcome = command("sweep", sweep_file, "--jobs", jobs, "--tables", "--out", tmp_path / f"jobs{jobs}", "-q")
        assert outcome.code == 0, outcome.err
    one, two = files(tmp_path / "jobs1"), files(tmp_path / "jobs2")
    assert len(one) > 8 * 5
    assert one == two


def test_points_seeds_and_tables(sweep_file, tmp_path):
    result = longhaul.sweep(sweep_file, tmp_path / "s")
    assert result.complete
    assert result.parameters == ["link.satellite.queue.limit", "flow.users.count"]
    assert result.runs["seed"].to_list() == [7, 8] * 4
    assert result.runs["flow.users.count"].to_list() == [1, 1, 3, 3, 1, 1, 3, 3]
    assert result.runs.height == 8
    goodput = result.cells.filter(pl.col("metric") == "goodput_bps")
    assert goodput["n"].to_list() == [2, 2, 2, 2]
    first = result.runs["goodput_bps"].to_list()[:2]
    assert goodput["mean"][0] == pytest.approx(sum(first) / 2)
    # Student's t with 1 degree of freedom: 12.706; half width = t s / sqrt(2), s = |a - b| / sqrt(2)
    assert goodput["ci95_high"][0] - goodput["mean"][0] == pytest.approx(
        12.706 * abs(first[0] - first[1]) / 2, rel=1e-4
    )


@pytest.mark.parametrize(
    "example", sorted((Path(__file__).parent.parent / "examples").glob("*.toml")), ids=lambda path: path.stem
)
def test_seeds_resolved_together_are_those_resolved_alone(example):
    document = read(example)
    text, run_ids = core.resolve_seeds(document, (), range(5, 8))
    alone = [core.resolve(document, [("run.seed", str(seed))]) for seed in range(5, 8)]
    assert (text, run_ids) == (alone[0][0], [run_id for _, run_id in alone])
    assert len(set(run_ids)) == 3


def test_a_run_of_a_sweep_is_the_run_alone(command, sweep_file, scenario, tmp_path):
    command("sweep", sweep_file, "--out", tmp_path / "s", "-q")
    command("run", scenario, "--out", tmp_path / "r", "-q")
    alone = json.loads((tmp_path / "r" / "summary.json").read_text())
    in_sweep = longhaul.load(tmp_path / "s" / "runs" / alone["run_id"])
    assert in_sweep.summary == alone
    assert list(in_sweep.summary) == list(alone)
    assert in_sweep.scenario == (tmp_path / "r" / "scenario.toml").read_text()
    assert longhaul.load(tmp_path / "s").run(alone["run_id"]).explain() == longhaul.load(tmp_path / "r").explain()


def test_resume_runs_only_what_is_missing(command, sweep_file, tmp_path, monkeypatch):
    command("sweep", sweep_file, "--out", tmp_path / "s", "-q")
    whole = files(tmp_path / "s")
    third = ids(tmp_path / "s")[2]
    changed_log(tmp_path / "s", lambda run: None if run.run_id == third else run)
    made = counted(monkeypatch)
    refused = command("sweep", sweep_file, "--out", tmp_path / "s", "-q")
    assert (refused.code, made) == (2, [])
    assert "--resume" in refused.err
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "-q", "--resume").code == 0
    assert len(made) == 1
    assert files(tmp_path / "s") == whole


def test_resume_refuses_a_changed_scenario(command, sweep_file, tmp_path):
    command("sweep", sweep_file, "--out", tmp_path / "s", "-q")
    refused = command("sweep", sweep_file, "--set", "run.duration=21 s", "--out", tmp_path / "s", "--resume")
    assert refused.code == 2
    assert "another sweep" in refused.err


def everything(root: Path) -> dict[str, bytes]:
    """Every file of a result."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("changed", ["refuse", "check"])
@pytest.mark.parametrize("more", [(), ("-n", 1), ("-n", 3)], ids=["same", "fewer seeds", "more seeds"])
def test_a_refusal_changes_no_byte(command, sweep_file, tmp_path, other_build, changed, more):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    if changed == "check":
        changed_log(out, lambda run: run._replace(summary=run.summary.replace(b'"seed"', b'"seed" ')))
    before = everything(out)
    other_build()
    refused = command("sweep", sweep_file, *more, "--out", out, "-q", "--resume", "--changed", changed)
    assert refused.code == 2
    assert "build" in refused.err
    assert everything(out) == before
    if changed == "refuse":
        assert command("verify", out, "--sample", 1).code == 0


def test_resume_removes_what_a_killed_process_left_and_nothing_of_a_living_one(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    whole = files(out)
    run = out / "runs" / ids(out)[0]
    code = "import os, sys; from pathlib import Path; from longhaul import staging; print(staging.make(Path(sys.argv[1])), flush=True); os.kill(os.getpid(), 9)"
    killed = subprocess.run(
        [sys.executable, "-c", code, run.with_name("0" * 32)], capture_output=True, text=True, check=False
    )
    left, mine = Path(killed.stdout.strip()), out / "runs" / ".mine.0123abcd.partial"
    mine.mkdir()
    (mine / "thesis.txt").write_text("dear")
    living = staging.make(run.with_name("1" * 32))
    assert left.exists()
    assert command("sweep", sweep_file, "--out", out, "-q", "--resume", "--shard", "1/2").code == 0
    assert not left.exists()
    assert living.exists()
    assert (mine / "thesis.txt").read_text() == "dear"
    shutil.rmtree(living)
    shutil.rmtree(mine)
    assert files(out) == whole


DAMAGE = {
    "cut off": lambda file: file.write_text(file.read_text()[:100]),
    "empty": lambda file: file.write_text(""),
    "missing": lambda file: file.unlink(),
    "not ours": lambda file: file.write_text('{"icons": []}'),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_manifest_is_made_anew_from_the_runs(command, sweep_file, tmp_path, damage, monkeypatch):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    whole = files(out)
    damage(out / "manifest.json")
    refused = command("sweep", sweep_file, "--out", out)
    assert refused.code == 2
    assert "contains a sweep whose manifest.json is" in refused.err
    assert "8 finished runs of this sweep can be found without it: continue with --resume" in refused.err
    other = command("sweep", sweep_file, "--set", "run.duration=21 s", "--out", out, "--resume")
    assert other.code == 2
    assert "manifest.json is" in other.err
    assert "it has no finished run of this sweep" in other.err
    made = counted(monkeypatch)
    assert command("sweep", sweep_file, "--out", out, "--resume", "-q").code == 0
    assert made == []
    assert files(out) == whole


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_sweep_with_a_damaged_manifest_can_be_replaced(command, sweep_file, tmp_path, damage):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    damage(out / "manifest.json")
    (out / "notes.txt").write_text("mine")
    assert command("sweep", sweep_file, "--set", "run.duration=21 s", "--out", out, "--force", "-q").code == 0
    assert longhaul.load(out).complete
    assert longhaul.load(out).done == 8
    assert (out / "notes.txt").read_text() == "mine"


def test_a_manifest_that_is_not_ours_stays(command, sweep_file, tmp_path):
    out = tmp_path / "app"
    (out / "runs").mkdir(parents=True)
    (out / "runs" / "diary.txt").write_text("dear")
    (out / "manifest.json").write_text('{"icons": [')
    for option in ("--force", "--resume"):
        refused = command("sweep", sweep_file, "--out", out, option)
        assert refused.code == 2
        assert "not empty and not a Longhaul result" in refused.err
    assert (out / "runs" / "diary.txt").read_text() == "dear"


@pytest.mark.parametrize("name", ["runs.parquet", "cells.parquet", "definitions.json"])
@pytest.mark.parametrize("subcommand", ["report", "plot"])
def test_damaged_tables_of_a_sweep_are_noticed(command, sweep_file, tmp_path, name, subcommand):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    data = (out / name).read_bytes()
    (out / name).write_bytes(data[: len(data) // 2])
    refused = command(subcommand, out)
    assert (refused.code, refused.out) == (2, "")
    assert f"{name} is damaged" in refused.err
    assert "--resume rebuilds it" in refused.err
    assert command("sweep", sweep_file, "--out", out, "--resume", "-q").code == 0
    assert (out / name).read_bytes() == data


def test_tables_older_than_the_manifest_are_noticed(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "--shard", "1/2", "-q")
    old = (out / "runs.parquet").read_bytes()
    command("sweep", sweep_file, "--out", out, "--resume", "-q")
    (out / "runs.parquet").write_bytes(old)
    refused = command("report", out)
    assert refused.code == 2
    assert "holds 4 of 8 finished runs" in refused.err


def test_a_report_that_is_there_follows_the_sweep(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "--shard", "1/2", "--report", "-q")
    assert "4 of 8 runs done" in (out / "report.html").read_text()
    told = command("sweep", sweep_file, "--out", out, "--resume")
    assert f"report: {out / 'report.html'}" in told.out
    assert "8 of 8 runs done" in (out / "report.html").read_text()


def test_a_sweep_that_has_grown_goes_on(command, sweep_file, tmp_path, monkeypatch):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    refused = command("sweep", sweep_file, "-n", 3, "--out", out)
    assert refused.code == 2
    assert "with other points or seeds; continue with --resume" in refused.err
    planned = command("sweep", sweep_file, "-n", 3, "--out", out, "--resume", "--dry-run")
    assert "4 points × 3 seeds = 12 runs, 4 missing" in planned.out
    made = counted(monkeypatch)
    outcome = command("sweep", sweep_file, "-n", 3, "--out", out, "--resume")
    assert (outcome.code, len(made)) == (0, 4), outcome.err
    assert "12 of 12 runs are here" in outcome.out
    grid = ["--grid", 'link.satellite.queue.limit=["10 packets", "30 packets"]', "--grid", "flow.users.count=[1, 2, 3]"]
    assert command("sweep", sweep_file, "-n", 3, *grid, "--out", out, "--resume", "-q").code == 0
    assert len(made) == 4 + 6
    assert command("sweep", sweep_file, "-n", 3, *grid, "--out", tmp_path / "fresh", "-q").code == 0
    assert files(out) == files(tmp_path / "fresh")
    assert "nothing was missing" in command("sweep", sweep_file, "-n", 3, *grid, "--out", out, "--resume").out


def test_a_shard_says_what_is_missing(command, sweep_file, tmp_path):
    outcome = command("sweep", sweep_file, "--out", tmp_path / "s", "--shard", "1/2")
    assert "4 of 8 runs are here, 4 missing" in outcome.out
    again = command("sweep", sweep_file, "--out", tmp_path / "s", "--shard", "1/2")
    assert "nothing was missing in this shard: 4 of 8 runs are here, 4 missing" in again.out


def test_shards_share_a_directory_and_make_the_whole(command, sweep_file, tmp_path):
    command("sweep", sweep_file, "--out", tmp_path / "whole", "-q")
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "-q", "--shard", "1/3").code == 0
    part = longhaul.load(tmp_path / "s")
    assert not part.complete
    assert part.runs.height == 3
    for shard in ("2/3", "3/3"):
        assert command("sweep", sweep_file, "--out", tmp_path / "s", "-q", "--shard", shard).code == 0
    assert files(tmp_path / "s") == files(tmp_path / "whole")


def test_dry_run_counts_and_writes_nothing(command, sweep_file, tmp_path):
    outcome = command("sweep", sweep_file, "--dry-run", "--out", tmp_path / "s")
    assert outcome.code == 0
    assert "4 points × 2 seeds = 8 runs" in outcome.out
    assert not (tmp_path / "s").exists()
    assert json.loads(command("sweep", sweep_file, "--dry-run", "--json", "--shard", "1/2").out)["runs"] == 4


def test_every_run_is_in_exactly_one_shard(sweep_file):
    plan = make_plan(read(sweep_file))
    shards = [run.run_id for k in (1, 2, 3) for run in plan.shard(k, 3)]
    assert sorted(shards) == sorted(run.run_id for run in plan.runs)


def test_paired_differences_use_the_same_seeds(sweep_file, tmp_path):
    result = longhaul.sweep(sweep_file, tmp_path / "s")
    table = result.paired("goodput_bps", "link.satellite.queue.limit", "10 packets")
    assert table["pairs"].to_list() == [2, 2]
    runs = result.runs.filter(pl.col("flow.users.count") == 3)["goodput_bps"].to_list()
    assert table.filter(pl.col("flow.users.count") == 3)["mean"][0] == pytest.approx(
        (runs[2] - runs[0] + runs[3] - runs[1]) / 2
    )


def test_a_failed_run_is_named_and_the_others_are_kept(sweep_file, tmp_path, monkeypatch):
    real = longhaul.core.run_seeds

    def sometimes(document, overrides, seeds, **settings):
        if 8 in seeds[:1]:
            raise longhaul.RunError("out of luck")
        return real(document, overrides, seeds[:1], **settings)

    monkeypatch.setattr(longhaul.core, "run_seeds", sometimes)
    with pytest.raises(longhaul.LonghaulError, match="4 of 8 runs failed, the first with: out of luck"):
        longhaul.sweep(sweep_file, tmp_path / "s")
    result = longhaul.load(tmp_path / "s")
    assert result.runs["seed"].to_list() == [7] * 4
    assert set(result.failures.values()) == {"out of luck"}


def test_ctrl_c_keeps_finished_runs_and_resume_completes(command, sweep_file, tmp_path):
    arguments = ["sweep", str(sweep_file), "--set", "run.duration=5000 s", "--out", str(tmp_path / "s"), "--jobs", "1"]
    code = "from longhaul.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    runs = tmp_path / "s" / "runs"
    deadline = time.monotonic() + PATIENCE_S
    while not len(Records(runs)):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert not list(runs.glob(".*"))
    kept = longhaul.load(tmp_path / "s")
    assert 1 <= kept.runs.height < 8
    assert command(*arguments, "--resume", "-q").code == 0
    assert longhaul.load(tmp_path / "s").complete


def test_without_ray_the_message_says_what_to_install(command, sweep_file, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = command("sweep", sweep_file, "--engine", "ray", "--out", tmp_path / "s")
    assert outcome.code == 2
    assert "pip install 'longhaul-lab[ray]'" in outcome.err
    assert not (tmp_path / "s").exists()


def test_an_engine_that_there_is_not(command, sweep_file, tmp_path):
    outcome = command("sweep", sweep_file, "--engine", "slurm", "--out", tmp_path / "s")
    assert outcome.code == 2
    assert "--engine 'slurm': the values are local, ray" in outcome.err


def test_a_list_of_points(scenario, tmp_path):
    points = [{"flow.users.count": 1}, {"flow.users.count": 2, "run.duration": "10 s"}]
    result = longhaul.sweep(scenario, tmp_path / "s", points=points)
    assert result.runs["run.duration"].to_list() == [None, "10 s"]
    assert result.table(["goodput_bps"]).height == 2


@pytest.mark.parametrize(("runs", "ticks"), [(5, range(5, 6)), (60, range(2, 15)), (400, range(2, 15))])
def test_many_runs_of_one_point_have_few_ticks_and_marks(command, scenario, tmp_path, runs, ticks):
    from longhaul.plots import sweep

    assert command("sweep", scenario, "-n", runs, "--out", tmp_path / "s", "-q").code == 0
    axes = sweep._one_point(longhaul.load(tmp_path / "s"), "goodput_bps").axes[0]
    assert len(axes.get_xticks()) in ticks
    assert sum(len(line.get_xdata()) for line in axes.lines) + len(axes.patches) <= 310


def test_sweep_figures_and_report(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    assert command("sweep", sweep_file, "--out", out, "-q", "--report").code == 0
    html = (out / "report.html").read_text()
    head = html.replace("https://", "http://").split("<style>")[0]
    # The icon names a namespace, which loads nothing.
    assert not addresses(head)
    assert html.count("<img") >= 4
    outcome = command("plot", out, "--kind", "goodput_bps", "--over", "flow.users.count", "--pdf")
    assert outcome.code == 0, outcome.err
    assert (out / "plots" / "goodput_bps.pdf").read_bytes().startswith(b"%PDF")


def test_the_table_shows_groups_or_the_metrics_asked_for(command, sweep_file, tmp_path):
    other = '\n[[flow]]\nname = "web"\nfrom = "hub"\nto = "remote"\n\n[sweep]'
    sweep_file.write_text(sweep_file.read_text().replace("\n[sweep]", other))
    outcome = command("sweep", sweep_file, "--out", tmp_path / "s")
    assert outcome.code == 0, outcome.err
    assert "Goodput over the" in outcome.out
    assert "run (users)" in outcome.out
    assert "run (web)" in outcome.out
    chosen = ["--metrics", "group.web.loss_rate,timeouts"]
    outcome = command("sweep", sweep_file, "--out", tmp_path / "s", "--resume", *chosen)
    assert "Loss rate (web)" in outcome.out
    assert "Goodput" not in outcome.out
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "--resume", "--metrics", "nonsense").code == 2


@pytest.fixture
def other_build(monkeypatch):
    """Makes the runs that follow appear to come from another build of the simulator."""
    return lambda: monkeypatch.setattr(longhaul.core, "program", lambda: "another build")


def test_runs_of_another_build_are_refused(command, sweep_file, tmp_path, other_build):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    other_build()
    outcome = command("sweep", sweep_file, "--out", out, "-q", "--resume")
    assert outcome.code == 2
    assert "8 finished runs" in outcome.err
    assert "made by another build of the simulator" in outcome.err
    assert "--changed check" in outcome.err


def test_runs_of_another_build_are_made_again(command, sweep_file, tmp_path, other_build, monkeypatch):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    other_build()
    made = counted(monkeypatch)
    command("sweep", sweep_file, "--out", out, "-q", "--resume", "--changed", "rerun")
    assert len(made) == 8


def test_runs_of_another_build_are_kept_if_a_sample_is_the_same(
    command, sweep_file, tmp_path, other_build, monkeypatch
):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    other_build()
    made = counted(monkeypatch)
    outcome = command("sweep", sweep_file, "--out", out, "--resume", "--changed", "check")
    assert outcome.code == 0, outcome.err
    assert len(made) == 5
    assert "8 of 8 runs are here" in outcome.out
    assert json.loads((out / "manifest.json").read_text())["accepted"][0]["checked"] == 5
    assert command("sweep", sweep_file, "--out", out, "--resume", "-q").code == 0


def test_runs_of_another_build_with_other_bytes_are_refused(command, sweep_file, tmp_path, other_build):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    changed_log(out, lambda run: run._replace(summary=run.summary.replace(b'"seed"', b'"seed" ')))
    other_build()
    outcome = command("sweep", sweep_file, "--out", out, "--resume", "--changed", "check")
    assert outcome.code == 2
    assert "differs with this one" in outcome.err


def test_changed_takes_one_of_three_words(command, sweep_file, tmp_path):
    outcome = command("sweep", sweep_file, "--out", tmp_path / "s", "--changed", "rerum")
    assert outcome.code == 2
    assert "did you mean 'rerun'?" in outcome.err


def test_zipped_settings_and_named_points_inside_a_grid(tmp_path):
    scenario = Scenario.from_toml(SMALL).sweep(
        {"run.sample": ["1 s", "2 s"]},
        zip={"flow.users.count": [1, 2], "link.satellite.queue.limit": ["10 packets", "20 packets"]},
        points={"plain": {}, "tuned": {"flow.users.tcp.congestion": "bbr"}},
        replications=2,
    )
    done = longhaul.sweep(scenario, tmp_path / "s")
    assert done.parameters == ["run.sample", "flow.users.count", "link.satellite.queue.limit", "point"]
    assert done.total == 2 * 2 * 2 * 2
    pairs = set(done.runs.select("flow.users.count", "link.satellite.queue.limit").iter_rows())
    assert pairs == {(1, "10 packets"), (2, "20 packets")}
    tuned = done.runs.filter(done.runs["point"] == "tuned")["run_id"][0]
    assert "bbr" in done.run(tuned).scenario
    # The file says the same.
    again = Scenario.from_toml(scenario.to_toml())
    assert again.to_dict()["sweep"] == scenario.to_dict()["sweep"]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        (
            {"zip": {"flow.0.count": [1, 2], "run.duration": ["1 s"]}},
            "have different lengths: flow.0.count has 2, run.duration has 1",
        ),
        ({"zip": {"flow.0.count": 3}}, "sweep.zip is a table of lists of one length"),
        ({"points": {"a": 3}}, "sweep.points is a table of points by name"),
        ({"grid": {"flow.0.count": [1]}, "zip": {"flow.0.count": [1, 2]}}, "flow.0.count is in two of"),
        ({"list": [{"flow.0.count": 1}], "points": {"a": {}}}, "a sweep's list stands alone"),
    ],
)
def test_axes_that_make_no_sense(tmp_path, sweep, message):
    scenario = Scenario.from_dict({**Scenario.from_toml(SMALL).to_dict(), "sweep": sweep})
    with pytest.raises(longhaul.ScenarioError, match=re.escape(message)):
        longhaul.sweep(scenario, tmp_path / "s")
