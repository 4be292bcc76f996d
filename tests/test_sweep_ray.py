"""Sweeps on a Ray cluster (one started here): the same bytes as the local engine, whatever happens to workers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import longhaul
import pytest
from longhaul import live
from longhaul.document import read
from longhaul.sweep import PlannedRun, Point, make_plan, reaching, run_plan
from longhaul.sweep.records import Records
from test_sweep import files
from waiting import PATIENCE_S

pytestmark = pytest.mark.slow("starts a Ray cluster")
ray = pytest.importorskip("ray", reason="Ray is not installed here: pip install -r requirements-ray.lock")


@pytest.fixture(scope="module")
def cluster():
    """Ray on this machine with two CPUs, for all tests of this file."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.pop("RAY_ADDRESS", None)
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield
    ray.shutdown()


def test_ray_writes_the_bytes_that_the_local_engine_writes(cluster, command, sweep_file, tmp_path):
    for engine in ("local", "ray"):
        done = command("sweep", sweep_file, "--engine", engine, "--tables", "--out", tmp_path / engine, "-q")
        assert done.code == 0, done.err
    local, on_ray = files(tmp_path / "local"), files(tmp_path / "ray")
    assert len(local) > 8 * 5
    assert on_ray == local
    assert command("verify", tmp_path / "ray", "--sample", 2).code == 0


def test_resume_makes_on_ray_what_is_missing(cluster, command, sweep_file, tmp_path):
    assert command("sweep", sweep_file, "--shard", "1/2", "--out", tmp_path / "s", "-q").code == 0
    before = set(Records(tmp_path / "s" / "runs"))
    assert len(before) == 4
    made = []
    run_plan(
        read(sweep_file), make_plan(read(sweep_file)), tmp_path / "s", engine="ray", resume=True, observer=made.append
    )
    assert (made[-1].total, made[-1].finished) == (4, 4)
    assert before < set(Records(tmp_path / "s" / "runs"))
    assert longhaul.load(tmp_path / "s").complete


def waits_at_half(seen: Path):
    """What a worker does that stands at half of its first run until `seen` exists, so that somebody can look."""

    def make(order, board):
        import time

        from longhaul.sweep.cluster import Note, make_runs

        deadline = time.monotonic() + 600
        while not seen.exists() and time.monotonic() < deadline:
            board.take.remote(order.runs[0].run_id, Note(5.0, 10.0, 7, [0]))
            time.sleep(0.05)
        return make_runs(order, board)

    return make


def test_progress_counts_runs_and_their_simulated_time(cluster, sweep_file, tmp_path):
    from longhaul.sweep.cluster import RayEngine

    document, looked, seen = read(sweep_file), tmp_path / "looked", []

    def observe(progress):
        seen.append((progress.finished, progress.fraction, len(progress.running), progress.events))
        if progress.fraction > 0:
            looked.touch()

    run_plan(
        document, make_plan(document), tmp_path / "s", engine=RayEngine(make=waits_at_half(looked)), observer=observe
    )
    assert {0, 8} <= {finished for finished, *_ in seen}
    # Two CPUs: a run at its half is a sixteenth of all eight, and what it simulated counts before any has ended.
    first = next(progress for progress in seen if progress[1] > 0)
    assert first[0] == 0
    assert first[1] in (1 / 16, 2 / 16)
    assert first[3] in (7, 14)
    assert seen[-1][:2] == (8, 1.0)
    # One more may be counted whose end is not yet known.
    assert 1 <= max(running for _, _, running, _ in seen) <= 4


def test_a_long_run_on_a_cluster_can_be_followed(cluster, sweep_file, tmp_path):
    """It had no file that `longhaul serve` could have shown."""
    from longhaul.sweep.cluster import RayEngine

    document, looked, seen = read(sweep_file), tmp_path / "looked", []

    def observe(progress):
        for _, state in live.below(tmp_path / "s" / "runs"):
            seen.append(state.now_s)
            looked.touch()

    run_plan(
        document, make_plan(document), tmp_path / "s", engine=RayEngine(make=waits_at_half(looked)), observer=observe
    )
    assert set(seen) == {5.0}
    assert not list((tmp_path / "s").rglob("live.json"))


def test_a_worker_tells_how_far_its_run_is_in_steps_of_a_hundredth(sweep_file, monkeypatch):
    from types import SimpleNamespace

    from longhaul.sweep import cluster as on_ray

    def run_seeds(document, overrides, seeds, progress, budget_s):
        for now in range(10_001):
            progress(0, now, 10_000, 3 * now, [])
        return [longhaul.core.Made(b"", b"{}", b"{}", 30_000, 1.0)]

    told = []
    board = SimpleNamespace(take=SimpleNamespace(remote=lambda run_id, note: told.append((run_id, note))))
    monkeypatch.setattr(on_ray.core, "run_seeds", run_seeds)
    run = PlannedRun("a", Point(0, {}, read(sweep_file)), 0, 1)
    answer = on_ray.make_runs(on_ray.Order((run,), False, longhaul.core.program(), 1.0), board)
    assert answer.batch.events == 30_000
    assert {run_id for run_id, _ in told} == {"a"}
    assert 99 <= len(told) <= 102
    shares = [note.standing.share for _, note in told]
    assert shares[0] == 0
    assert all(0.0099 < later - share < 0.011 for share, later in pairwise(shares))


def killed_once(marks: Path, times: int):
    """What a worker does that is killed in its first `times` tries of a run. A closure, since workers do not know this file."""

    def make(order, board):
        import os
        import signal

        from longhaul.sweep.cluster import make_runs

        run = order.runs[0]
        tries = len([name for name in os.listdir(marks) if name.startswith(run.run_id)])
        open(os.path.join(marks, f"{run.run_id}-{tries}"), "w").close()
        if any(one.seed == 7 for one in order.runs) and tries < times:
            os.kill(os.getpid(), signal.SIGKILL)
        return make_runs(order, board)

    return make


@pytest.mark.parametrize("times", [1, 3])
def test_a_run_whose_worker_is_lost_is_tried_again(cluster, sweep_file, tmp_path, times):
    from longhaul.sweep.cluster import RayEngine

    marks = tmp_path / "marks"
    marks.mkdir()
    document = read(sweep_file)
    plan = make_plan(document)
    engine = RayEngine(make=killed_once(marks, times))
    engine.task_s = 0.0  # a task is one run
    seen = []
    if times < 3:
        run_plan(document, plan, tmp_path / "s", engine=engine, observer=lambda p: seen.append(p.again))
        assert seen[-1] == 4
        assert longhaul.load(tmp_path / "s").complete
        return
    with pytest.raises(
        longhaul.LonghaulError, match=r"4 of 8 runs failed, the first with: its worker was lost 3 times"
    ):
        run_plan(document, plan, tmp_path / "s", engine=engine)
    assert longhaul.load(tmp_path / "s").runs["seed"].to_list() == [8] * 4
    run_plan(document, plan, tmp_path / "s", engine="ray", resume=True)
    assert longhaul.load(tmp_path / "s").complete


def test_a_worker_with_another_build_is_refused(cluster, sweep_file, tmp_path, monkeypatch):
    monkeypatch.setattr(longhaul.core, "program", lambda: "newer")
    with pytest.raises(longhaul.LonghaulError, match=r"has another build of Longhaul .*; here newer\)"):
        longhaul.sweep(sweep_file, tmp_path / "s", engine="ray")


def test_a_run_that_fails_is_not_tried_again(cluster, sweep_file, tmp_path):
    from longhaul.sweep.cluster import Answer, RayEngine
    from longhaul.sweep.making import Batch

    def make(order, board):
        failures = {run.run_id: "out of luck" for run in order.runs}
        return Answer(Batch(failures=failures, done=len(order.runs)))

    document, seen = read(sweep_file), []
    with pytest.raises(longhaul.LonghaulError, match="8 of 8 runs failed, the first with: out of luck"):
        run_plan(
            document,
            make_plan(document),
            tmp_path / "s",
            engine=RayEngine(make=make),
            observer=lambda p: seen.append(p.again),
        )
    assert seen[-1] == 0


@pytest.mark.parametrize("silent", [True, False])
def test_an_address_without_a_cluster_is_an_error_in_seconds(silent, monkeypatch):
    """Nothing listens there, or something that never answers."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        if silent:
            listening.listen()
        began = time.monotonic()
        reason = "timed out" if silent else "Connection refused"
        with pytest.raises(
            longhaul.LonghaulError, match=rf"no Ray cluster answers at RAY_ADDRESS={address} \({reason}\)"
        ):
            reaching.reach(address)
        assert 5 < time.monotonic() - began < 15


def test_an_address_that_is_refused_by_its_name_is_named():
    with pytest.raises(longhaul.LonghaulError, match=r"RAY_ADDRESS=head\.invalid:6379 \("):
        reaching.reach("head.invalid:6379")
    for looked_up_by_ray in (None, "local", "auto", "head", "head:0"):
        reaching.reach(looked_up_by_ray)


def test_a_head_that_is_lost_ends_the_sweep():
    """Three failed looks in a row; one alone does not."""
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        watch = reaching.Watch(f"127.0.0.1:{head.getsockname()[1]}", every_s=0.0)
        watch.check()
        watch.check()
        with pytest.raises(longhaul.LonghaulError, match=r"the Ray head at 127.* no longer answers .*--resume"):
            watch.check()


def test_sigterm_stops_ray_with_the_code_of_the_signal(sweep_file, tmp_path):
    arguments = [
        "sweep",
        str(sweep_file),
        "--engine",
        "ray",
        "-q",
        "--set",
        "run.duration=10000 s",
        "--out",
        str(tmp_path / "s"),
    ]
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    process = subprocess.Popen(
        [sys.executable, "-c", "from longhaul.cli import main; main()", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=own | {"RAY_ADDRESS": "local"},
    )
    deadline = time.monotonic() + PATIENCE_S
    while not list((tmp_path / "s").glob("runs/*")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    process.terminate()
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 143, errors
    assert errors.strip().endswith("repeat the command with --resume to continue")
    assert len(errors.splitlines()) == 1


def test_ctrl_c_stops_ray_and_resume_completes(command, sweep_file, tmp_path):
    """With a Ray of the command's own, all processes of its group interrupted, as a terminal does it."""
    arguments = ["sweep", str(sweep_file), "--engine", "ray", "--jobs", "2", "--set", "run.duration=10000 s"]
    arguments += ["--out", str(tmp_path / "s")]
    code = "from longhaul.cli import main; main()"
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=own | {"RAY_ADDRESS": "local"},
    )
    runs = tmp_path / "s" / "runs"
    deadline = time.monotonic() + PATIENCE_S
    while not len(Records(runs)):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert not list(runs.glob(".*.partial"))
    kept = longhaul.load(tmp_path / "s")
    assert 1 <= kept.runs.height < 8
    local = [argument for argument in arguments if argument not in ("--engine", "ray")]
    assert command(*local, "--resume", "-q").code == 0
    assert longhaul.load(tmp_path / "s").complete
