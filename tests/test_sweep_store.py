"""A sweep's directory: shards that start together, kills, damaged files, results of an earlier version, many runs."""

from __future__ import annotations

import json
import math
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import longhaul
import polars as pl
import pytest
from longhaul import core, outputs
from longhaul.document import read
from longhaul.sweep import Store, frames, make_plan
from longhaul.sweep.records import Records
from test_sweep import counted, files, ids
from waiting import PATIENCE_S

COMMAND = [sys.executable, "-c", "from longhaul.cli import main; main()"]


def made_before(out: Path) -> None:
    """Nothing is there."""


def empty(out: Path) -> None:
    """An empty directory is there."""
    out.mkdir()


def link(out: Path) -> None:
    """A link to an empty directory elsewhere is there."""
    (out.parent / "elsewhere").mkdir()
    out.symlink_to(out.parent / "elsewhere")


@pytest.mark.parametrize("before", [made_before, empty, link])
def test_shards_that_start_together_share_a_new_directory(sweep_file, tmp_path, before):
    document = read(sweep_file)
    plan = make_plan(document)
    for attempt in range(10):
        out = tmp_path / f"{attempt}" / "s"
        out.parent.mkdir()
        before(out)
        barrier, refused = threading.Barrier(8), []

        def shard(out=out, barrier=barrier, refused=refused):
            store = Store(out, plan)
            barrier.wait()
            try:
                store.open(document, resume=False, join=True, force=False)
            except longhaul.LonghaulError as error:
                refused.append(error)
            finally:
                store.close()

        threads = [threading.Thread(target=shard) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert refused == []
        assert out.is_symlink() == (before is link)
        assert not list(out.parent.glob(".*"))
        assert longhaul.load(out).total == 8


def test_shards_of_a_job_array_make_the_whole(command, sweep_file, tmp_path):
    assert command("sweep", sweep_file, "--out", tmp_path / "whole", "-q").code == 0
    arguments = ["sweep", str(sweep_file), "--out", str(tmp_path / "s"), "-j", "1", "-q"]
    shards = [
        subprocess.Popen([*COMMAND, *arguments, "--shard", f"{k}/4"], stderr=subprocess.PIPE, text=True)
        for k in (1, 2, 3, 4)
    ]
    for shard in shards:
        _, errors = shard.communicate(timeout=PATIENCE_S)
        assert shard.returncode == 0, errors
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "--resume", "-q").code == 0
    assert files(tmp_path / "s") == files(tmp_path / "whole")


@pytest.mark.slow("ten seconds of processor time each")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_sweep_that_is_ended_again_and_again_has_the_same_bytes(command, scenario, tmp_path, number):
    out = tmp_path / "s"
    arguments = ["sweep", str(scenario), "-n", "200", "-q", "--jobs", "2"]
    assert command(*arguments, "--out", tmp_path / "whole").code == 0
    draw, done = random.Random(1), 0
    for _ in range(3):
        process = subprocess.Popen([*COMMAND, *arguments, "--out", str(out), "--resume"], stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while len(Records(out / "runs")) <= done and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.1 * draw.random())
        if process.poll() is None:
            process.send_signal(number)
        process.wait(timeout=PATIENCE_S)
        now = len(Records(out / "runs"))
        assert now >= done
        done = now
    assert command(*arguments, "--out", out, "--resume").code == 0
    assert files(out) == files(tmp_path / "whole")
    assert sorted(path.name for path in (out / "runs").iterdir()) == ["records.log", "timing.json"]


def shorter(file: Path) -> None:
    """A file that was cut off."""
    file.write_bytes(file.read_bytes()[:-10])


def changed(file: Path) -> None:
    """A file with another byte, of the same size."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


DAMAGE = {"empty": lambda file: file.write_bytes(b""), "cut off": shorter, "another byte": changed, "gone": os.unlink}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("name", ["flows.parquet", "summary.json", "scenario.toml"])
def test_a_run_whose_files_are_damaged_is_made_again(command, sweep_file, tmp_path, damage, name):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--tables", "--out", out, "-q")
    whole = files(out)
    run = ids(out)[3]
    damage(out / "runs" / run / name)
    if name == "flows.parquet":
        verified = command("verify", out)
        assert verified.code == 1
        assert run in verified.out + verified.err
    again = command("sweep", sweep_file, "--out", out, "--resume")
    assert again.code == 0, again.err
    assert "nothing was missing" not in again.out
    assert files(out) == whole


def test_series_that_are_wanted_later_are_made(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    assert "nothing was missing" in command("sweep", sweep_file, "--out", out, "--resume").out
    assert command("sweep", sweep_file, "--tables", "--out", out, "--resume", "-q").code == 0
    assert command("sweep", sweep_file, "--tables", "--out", tmp_path / "fresh", "-q").code == 0
    assert files(out) == files(tmp_path / "fresh")


@pytest.mark.parametrize("content", [None, "", "[]"])
def test_times_that_are_missing_are_not_another_build(command, sweep_file, tmp_path, content):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--tables", "--out", out, "-q")
    for file in out.rglob("timing.json"):
        file.unlink() if content is None else file.write_text(content)
    again = command("sweep", sweep_file, "--tables", "--out", out, "--resume")
    assert again.code == 0, again.err
    assert "nothing was missing: 8 of 8 runs are here" in again.out


def earlier_version(plan, out: Path, runs: int) -> None:
    """A sweep as versions wrote it that had a directory for each run, of which so many are done."""
    rows = []
    for place, run in enumerate(plan.runs):
        done = place < runs
        if done:
            core.run(run.document, run.overrides, out=out / "runs" / run.run_id, tables=False)
        rows.append(
            {
                "id": run.run_id, "cell": run.cell, "parameters": run.parameters, "replication": run.replication,
                "seed": run.seed, "status": "done" if done else "pending",
            }
        )  # fmt: skip
    manifest = {
        "longhaul": core.version(), "program": core.program(), "accepted": [], "kind": "sweep", "name": plan.name,
        "plan_id": plan.plan_id, "base_id": plan.base_id, "parameters": list(plan.parameters),
        "replications": plan.replications, "seed": plan.first_seed, "runs": rows,
    }  # fmt: skip
    (out / "manifest.json").write_text(json.dumps(manifest))


def test_a_sweep_of_an_earlier_version_is_read_and_goes_on(command, sweep_file, tmp_path, monkeypatch):
    out, plan = tmp_path / "s", make_plan(read(sweep_file))
    earlier_version(plan, out, 5)
    (out / "runs" / plan.runs[1].run_id / "timing.json").unlink()
    old = longhaul.load(out)
    assert (old.done, old.total, old.complete) == (5, 8, False)
    assert old.run(plan.runs[0].run_id).summary["seed"] == 7
    made = counted(monkeypatch)
    again = command("sweep", sweep_file, "--out", out, "--resume")
    assert again.code == 0, again.err
    assert len(made) == 3
    command("sweep", sweep_file, "--out", tmp_path / "fresh", "-q")
    assert longhaul.load(out).runs.equals(longhaul.load(tmp_path / "fresh").runs)
    assert longhaul.load(out).cells.equals(longhaul.load(tmp_path / "fresh").cells)
    assert command("verify", out).code == 0


def test_tables_made_in_parts_are_those_made_at_once(sweep_file, tmp_path, monkeypatch):
    whole = longhaul.sweep(sweep_file, tmp_path / "whole", replications=5)
    monkeypatch.setattr(frames, "_ROWS", 7)
    parts = longhaul.sweep(sweep_file, tmp_path / "parts", replications=5)
    assert parts.runs.equals(whole.runs)
    assert parts.cells.equals(whole.cells)


def test_estimates_are_exact_sums():
    draw = random.Random(3)
    for _ in range(200):
        count = draw.randrange(1, 30)
        values = [draw.uniform(-1, 1) * 10.0 ** draw.randrange(-12, 12) for _ in range(count)]
        found = longhaul.stats.estimate(values)
        ordered = sorted(values)
        mean = math.fsum(values) / count
        assert (found.n, found.mean, found.minimum, found.maximum) == (count, mean, ordered[0], ordered[-1])
        if count > 1:
            deviation = math.sqrt(math.fsum((v - mean) * (v - mean) for v in ordered) / (count - 1))
            assert found.stdev == deviation
    assert longhaul.stats.estimate([1e16, 1.0, -1e16]).mean == 1.0 / 3


def test_a_short_run_leaves_no_directory_and_two_kilobytes(command, scenario, tmp_path):
    out = tmp_path / "s"
    assert command("sweep", scenario, "-n", 400, "--set", "run.duration=5 s", "--out", out, "-q").code == 0
    assert sorted(path.name for path in (out / "runs").iterdir()) == ["records.log", "timing.json"]
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    # Tables and definitions of metrics, which do not grow with the runs, are in it.
    assert size < 400 * 2000 + 100_000


def test_a_dry_run_predicts_what_a_sweep_takes(command, scenario, tmp_path):
    arguments = ["sweep", scenario, "-n", 600, "--set", "run.duration=30 s", "--jobs", 1]
    told = json.loads(command(*arguments, "--dry-run", "--json").out)
    spent = time.process_time()
    assert command(*arguments, "--out", tmp_path / "s", "-q").code == 0
    spent = time.process_time() - spent
    assert 0.4 < spent / told["cpu_s"] < 2.5, (spent, told)


def test_a_full_disk_ends_a_sweep_with_one_line_and_resume_completes(command, sweep_file, tmp_path, monkeypatch):
    from longhaul.sweep import records

    real, calls = os.write, []

    def full(file, data):
        calls.append(1)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")
        return real(file, data)

    monkeypatch.setattr(records.os, "write", full)
    failed = command("sweep", sweep_file, "--jobs", 1, "--out", tmp_path / "s", "-q")
    assert failed.code in (1, 2)
    assert "No space left on device" in failed.err
    monkeypatch.undo()
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "--resume", "-q").code == 0
    assert command("sweep", sweep_file, "--out", tmp_path / "fresh", "-q").code == 0
    assert files(tmp_path / "s") == files(tmp_path / "fresh")


@pytest.mark.parametrize(
    "reason",
    ["File out of specification: underlying IO error: No space left on device (os error 28)", "transport error"],
)
def test_a_full_disk_under_a_table_is_no_damaged_table(command, sweep_file, tmp_path, monkeypatch, reason):
    def full(*_, **__):
        raise pl.exceptions.ComputeError(f"parquet: {reason}")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    failed = command("sweep", sweep_file, "--out", tmp_path / "s", "-q")
    assert failed.code == 2
    assert failed.err.startswith("error: cannot write ")
    assert failed.err.endswith("runs.parquet: No space left on device\n")
    monkeypatch.undo()
    assert command("sweep", sweep_file, "--out", tmp_path / "s", "--resume", "-q").code == 0


def test_a_run_of_a_sweep_is_shown_by_its_name(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    command("sweep", sweep_file, "--out", out, "-q")
    run = out / "runs" / ids(out)[0]
    assert command("explain", run).code == 0
    assert command("report", run, "--out", tmp_path / "r.html").code in (0, 2)
    other = command("explain", out / "runs" / "0123456789abcdef")
    assert other.code == 2
    assert "does not exist" in other.err
    assert outputs.report_of(out) == out / "report.html"
    shutil.rmtree(out / "runs")
    assert command("explain", run).code == 2


def test_the_tables_have_the_columns_of_runs(sweep_file, tmp_path):
    result = longhaul.sweep(sweep_file, tmp_path / "s")
    assert result.finished.columns == ["run_id", "cell"]
    assert len(result.first_of_points()) == 4
    assert result.runs.schema["goodput_bps"] == pl.Float64
    assert result.cells.schema["n"] == pl.UInt32


def test_a_run_of_a_sweep_goes_to_another_process_with_its_scenario(sweep_file, tmp_path):
    swept = longhaul.sweep(sweep_file, tmp_path / "s")
    run = swept.run(swept.runs["run_id"][0])
    again = pickle.loads(pickle.dumps(run))
    assert not run.path.exists()
    assert (again.summary, again.scenario, again.path) == (run.summary, run.scenario, run.path)
