"""What Longhaul writes where a user's own files are: only its own are ever replaced or removed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import longhaul
import pytest
from longhaul import OutputError, inventory, outputs, staging
from longhaul.files import write_atomically

#: What people keep beside results: hidden files, and names with the endings of results.
MINE = (
    ".gitignore", ".git/HEAD", ".dvc", ".DS_Store", ".~lock.fit.ods#", "notes.json", "wandb-summary.json", "fit.parquet", "paper.toml",
    "mine.pcapng", "README.md", "plots/mine.png", "plots/goodput.svg", "qlog/mine.sqlog", "runs/diary.txt", "manifest.json.bak", "data.dvc",
)  # fmt: skip


def put_mine(folder: Path) -> None:
    for name in MINE:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"my {name}")


def assert_mine_is_there(folder: Path) -> None:
    assert {name: (folder / name).read_text() for name in MINE} == {name: f"my {name}" for name in MINE}


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """A small file system of its own at a folder, as `docker run -v` makes one."""
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", ",".join(("size=20m", *options)), "tmpfs", folder], check=False
        ).returncode
    ):
        pytest.skip("mounting needs root")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize(
    "more", [(), ("--seed", 8, "--force"), ("--no-tables", "--force")], ids=["same", "other", "fewer"]
)
def test_a_run_into_its_folder_again_leaves_the_users_files(command, scenario, tmp_path, more):
    out = tmp_path / "r"
    assert command("run", scenario, "--out", out, "--report", "-q").code == 0
    assert command("plot", out, "-k", "limits").code == 0
    put_mine(out)
    again = command("run", scenario, "--out", out, "-q", *more)
    assert again.code == 0, again.err
    assert_mine_is_there(out)
    assert (out / "plots/limits.png").exists() == ("--seed" not in more), "of another run they would be wrong"
    assert (out / "flows.parquet").exists() == ("--no-tables" not in more)
    assert inventory.faults(out) == []
    assert not list(tmp_path.glob(".*"))
    assert not list(out.glob(".*.partial"))


def test_a_sweep_that_is_made_anew_leaves_the_users_files(command, sweep_file, tmp_path):
    out = tmp_path / "s"
    assert command("sweep", sweep_file, "--out", out, "--tables", "--report", "-q").code == 0
    put_mine(out)
    run = next(one for one in (out / "runs").iterdir() if one.is_dir())
    put_mine(run)
    anew = command("sweep", sweep_file, "--out", out, "--set", "run.duration=21 s", "--force", "-q")
    assert anew.code == 0, anew.err
    assert_mine_is_there(out)
    assert_mine_is_there(run)
    assert not (run / "summary.json").exists()
    assert longhaul.load(out).complete


@pytest.mark.parametrize("name", ["flows.parquet", "scenario.toml", "report.html"])
def test_a_file_of_ours_that_was_changed_is_replaced_by_force_alone(command, scenario, tmp_path, name):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "--report", "-q")
    before = (out / name).read_bytes()
    with (out / name).open("ab") as stream:
        stream.write(b"my remark")
    changed = (out / name).read_bytes()
    refused = command("run", scenario, "--out", out, "-q")
    assert refused.code == 2
    assert (
        refused.err
        == f"error: {out / name} was changed since Longhaul wrote it; --force replaces it, --out chooses another directory\n"
    )
    assert (out / name).read_bytes() == changed
    assert command("run", scenario, "--out", out, "-q", "--force").code == 0
    assert (out / name).read_bytes() == before


def test_a_figure_that_was_changed_stays_with_the_same_run_and_goes_with_another(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    command("plot", out, "-k", "limits")
    (out / "plots/limits.png").write_text("with my arrow")
    assert command("run", scenario, "--out", out, "-q").code == 0
    assert (out / "plots/limits.png").read_text() == "with my arrow"
    assert command("run", scenario, "--out", out, "--seed", 8, "--force", "-q").code == 0
    assert not (out / "plots").exists()


@pytest.mark.parametrize("name", ["flows.parquet", "packets.pcapng", "report.html", "segments.parquet"])
def test_a_file_of_the_users_with_the_name_of_ours_is_in_the_way_before_the_run(
    command, scenario, tmp_path, monkeypatch, name
):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "--no-tables", "-q")
    (out / name).write_text("mine")
    monkeypatch.setattr(longhaul.core, "run", lambda *a, **k: pytest.fail("it was simulated before it was refused"))
    for force in ((), ("--force",)):
        refused = command("run", scenario, "--out", out, "--report", "-q", *force)
        assert refused.code == 2
        assert f"{out / name} is not Longhaul's" in refused.err
    assert (out / name).read_text() == "mine"


@pytest.mark.parametrize(("subcommand", "name"), [("report", "report.html"), ("plot", "plots/limits.png")])
def test_reports_and_figures_of_the_users_are_not_written_over(command, scenario, tmp_path, subcommand, name):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    options = ("-k", "limits") if subcommand == "plot" else ()
    (out / "plots").mkdir()
    (out / name).write_text("mine")
    for force in ((), ("--force",)):
        refused = command(subcommand, out, *options, *force)
        assert refused.code == 2
        assert "is not Longhaul's" in refused.err
    assert (out / name).read_text() == "mine"
    (out / name).unlink()
    assert command(subcommand, out, *options).code == 0
    assert command(subcommand, out, *options).code == 0, "it may be made again"
    (out / name).write_text("ours, and changed")
    refused = command(subcommand, out, *options)
    assert "was changed since Longhaul wrote it; --force replaces it" in refused.err
    assert command(subcommand, out, *options, "--force").code == 0


def test_figures_in_a_folder_of_the_users_leave_those_that_are_there(command, scenario, tmp_path):
    out, figures = tmp_path / "r", tmp_path / "thesis"
    command("run", scenario, "--out", out, "-q")
    figures.mkdir()
    (figures / "limits.png").write_text("mine")
    refused = command("plot", out, "-k", "limits", "--out", figures)
    assert f"{figures / 'limits.png'} is not Longhaul's" in refused.err
    assert (figures / "limits.png").read_text() == "mine"
    for _ in range(2):
        assert command("plot", out, "-k", "throughput", "--out", figures).code == 0


@pytest.mark.parametrize("way", ["command", "python"])
def test_a_mounted_disk_holds_the_result(command, scenario, tmp_path, way):
    out = tmp_path / "mnt"
    out.mkdir()
    with mounted(out):
        (out / "lost+found").mkdir()
        for _ in range(2):
            if way == "command":
                assert command("run", scenario, "--out", out, "-q").code == 0
            else:
                longhaul.run(scenario, out=out)
        assert {one.name for one in out.iterdir()} >= {"lost+found", "summary.json", "flows.parquet"}
        assert not list(out.glob(".*"))
    assert not list(tmp_path.glob(".*"))


def test_a_disk_that_cannot_be_written_is_refused_before_the_run(command, scenario, tmp_path, monkeypatch):
    out = tmp_path / "mnt"
    out.mkdir()
    monkeypatch.setattr(longhaul.core, "run", lambda *a, **k: pytest.fail("it was simulated before it was refused"))
    with mounted(out, "ro"):
        for place in (out, out / "r"):
            refused = command("run", scenario, "--out", place, "-q")
            assert refused.code == 2
            assert refused.err == f"error: cannot write {place}: nothing can be created in {out}\n"


def test_a_link_stays_a_link_and_the_result_is_where_it_points_to(command, scenario, tmp_path):
    scratch, link, dangling = tmp_path / "scratch", tmp_path / "link", tmp_path / "dangling"
    scratch.mkdir()
    link.symlink_to(scratch)
    dangling.symlink_to(tmp_path / "elsewhere" / "r")
    for out, place in ((link, scratch), (link, scratch), (dangling, tmp_path / "elsewhere" / "r")):
        assert command("run", scenario, "--out", out, "-q").code == 0
        assert out.is_symlink()
        assert (place / "summary.json").exists()


def test_the_working_directory_holds_the_result(command, scenario, tmp_path, monkeypatch):
    (tmp_path / "e").mkdir()
    monkeypatch.chdir(tmp_path / "e")
    for _ in range(2):
        outcome = command("run", scenario, "--out", ".", "-q")
        assert outcome.code == 0, outcome.err
    assert Path("summary.json").exists()
    assert Path.cwd() == tmp_path / "e"
    assert command("run", scenario, "--out", "../e/../e", "-q").code == 0


def test_data_that_were_moved_to_another_disk_and_linked_stay_there(command, scenario, tmp_path):
    out, cache = tmp_path / "r", tmp_path / "cache"
    command("run", scenario, "--out", out, "-q")
    cache.mkdir()
    (out / "flows.parquet").rename(cache / "flows.parquet")
    (out / "flows.parquet").symlink_to(cache / "flows.parquet")
    content = (cache / "flows.parquet").read_bytes()
    assert command("verify", out).code == 0
    assert command("run", scenario, "--out", out, "--seed", 8, "--force", "-q").code == 0
    assert (cache / "flows.parquet").read_bytes() == content
    assert not (out / "flows.parquet").is_symlink()


def test_what_comes_into_the_way_during_a_run_does_not_cost_the_result(scenario, tmp_path, monkeypatch):
    out = tmp_path / "r"

    real = longhaul.core.run

    def meanwhile(*arguments: Any, **settings: Any) -> Any:
        out.mkdir()
        (out / "thesis.txt").write_text("mine")
        return real(*arguments, **settings)

    monkeypatch.setattr(longhaul.core, "run", meanwhile)
    with pytest.raises(OutputError, match="the result that was made meanwhile is kept in") as raised:
        longhaul.run(scenario, out=out)
    assert (out / "thesis.txt").read_text() == "mine"
    assert longhaul.load(str(raised.value).rpartition(" in ")[2]).name == "small"


def test_a_list_that_names_files_elsewhere_removes_nothing_there(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    (tmp_path / "thesis.txt").write_text("mine")
    listed = json.loads((out / inventory.FILE).read_text())
    for name in ("../thesis.txt", str(tmp_path / "thesis.txt"), "a/../../thesis.txt"):
        (out / inventory.FILE).write_text(json.dumps(listed | {"files": listed["files"] | {name: {}}}))
        refused = command("run", scenario, "--out", out, "--seed", 8, "--force", "-q")
        assert "not a list of Longhaul's files" in refused.err
    assert (tmp_path / "thesis.txt").read_text() == "mine"


def test_of_an_older_version_s_result_exactly_what_it_wrote_is_replaced(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    (out / inventory.FILE).unlink()
    put_mine(out)
    assert command("run", scenario, "--out", out, "--seed", 8, "--no-tables", "-q", "--force").code == 0
    assert_mine_is_there(out)
    assert not (out / "flows.parquet").exists()
    assert set(inventory.known_files(out)) == {"scenario.toml", "summary.json", "timing.json"}


def test_an_older_version_s_result_whose_summary_is_damaged_is_not_replaced(command, scenario, tmp_path):
    out = tmp_path / "r"
    command("run", scenario, "--out", out, "-q")
    (out / inventory.FILE).unlink()
    (out / "summary.json").write_text("{")
    refused = command("run", scenario, "--out", out, "--force", "-q")
    assert refused.code == 2
    assert "is not Longhaul's" in refused.err


def test_a_run_that_is_killed_at_any_moment_leaves_a_list_that_knows_its_files(scenario, tmp_path, monkeypatch):
    """The files of a result take the place of others one by one; whatever is there in between is known as Longhaul's."""
    out = tmp_path / "r"
    longhaul.run(scenario, out=out)
    real, calls = os.replace, 0

    class Killed(BaseException):
        pass

    for moment in range(1, 10):
        calls = 0

        def until(*arguments: object, moment: int = moment) -> None:
            nonlocal calls
            calls += 1
            if calls == moment:
                raise Killed
            real(*arguments)

        monkeypatch.setattr(os, "replace", until)
        with pytest.raises(Killed):
            longhaul.run(scenario, out=out, seed=8 + moment, force=True)
        monkeypatch.setattr(os, "replace", real)
        with inventory.changing(out) as known:
            inventory.require_free(out, known, known, force=False)
    longhaul.run(scenario, out=out, force=True)
    assert inventory.faults(out) == []


def test_directories_of_runs_that_were_killed_go_and_those_of_living_ones_stay(command, scenario, tmp_path):
    code = "import os, sys; from pathlib import Path; from longhaul import staging; print(staging.make(Path(sys.argv[1])), flush=True); os.kill(os.getpid(), 9)"
    dead = Path(
        subprocess.run(
            [sys.executable, "-c", code, tmp_path / "one"], capture_output=True, text=True, check=False
        ).stdout.strip()
    )
    living = staging.make(tmp_path / "two")
    elsewhere, old = staging.make(tmp_path / "three"), staging.make(tmp_path / "four")
    for directory in (elsewhere, old):
        note = json.loads((directory / staging.OWNER).read_text())
        (directory / staging.OWNER).write_text(json.dumps(note | {"host": "another", "pid": 1}))
    for path in (old / staging.OWNER, old):
        os.utime(path, (0, 0))
    assert all(one.exists() for one in (dead, living, elsewhere, old))
    assert command("run", scenario, "--out", tmp_path / "r", "-q").code == 0
    assert [one.exists() for one in (dead, living, elsewhere, old)] == [False, True, True, False]


def test_a_process_that_was_killed_before_its_note_leaves_nothing_in_the_way(command, scenario, tmp_path):
    out = tmp_path / "mnt"
    left = out / ".mnt.0123abcd.partial"
    left.mkdir(parents=True)
    assert command("run", scenario, "--out", out, "-q").code == 0
    assert left.exists(), "it may be about to be written"
    os.utime(left, (0, 0))
    assert command("run", scenario, "--out", out, "-q").code == 0
    assert not left.exists()


def test_the_number_of_a_dead_process_that_another_one_has_now_is_not_taken_for_life(tmp_path):
    directory = staging.make(tmp_path / "one")
    assert not staging.is_left(directory)
    note = json.loads((directory / staging.OWNER).read_text())
    (directory / staging.OWNER).write_text(json.dumps(note | {"started": note["started"] - 1}))
    assert staging.is_left(directory)


def test_a_name_as_long_as_the_file_system_permits(command, scenario, tmp_path):
    out = tmp_path / ("r" * 255)
    for _ in range(2):
        outcome = command("run", scenario, "--out", out, "--report", "-q")
        assert outcome.code == 0, outcome.err


def special(tmp_path: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    yield "/dev/null", lambda: stat_of("/dev/null")
    yield str(tmp_path / "link"), lambda: os.readlink(tmp_path / "link")


def stat_of(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_mode, found.st_rdev


def test_what_is_no_regular_file_is_written_to_and_not_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    for path, look in special(tmp_path):
        before = look()
        write_atomically(Path(path), "new")
        assert look() == before
    assert (tmp_path / "target").read_text() == "new"


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    file = tmp_path / "report.html"
    file.write_text("old")
    file.chmod(0o640)
    write_atomically(file, "new")
    assert file.stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_mounted_by_itself_is_written(command, scenario, tmp_path):
    """As `docker run -v $PWD/report.html:/out/report.html`: it can be written, and not replaced."""
    out, file, source = tmp_path / "r", tmp_path / "page.html", tmp_path / "source.html"
    command("run", scenario, "--out", out, "-q")
    source.touch()
    file.touch()
    if os.geteuid() != 0 or subprocess.run(["mount", "--bind", source, file], check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        outcome = command("report", out, "--out", file)
        assert outcome.code == 0, outcome.err
    finally:
        subprocess.run(["umount", file], check=True)
    assert "<h1>small</h1>" in source.read_text()


def test_many_processes_list_their_files_in_one_directory(tmp_path):
    code = "import sys; from pathlib import Path; from longhaul import inventory\nfor n in range(20): inventory.put(Path(sys.argv[1]), f'{sys.argv[2]}-{n}', 'x')"
    processes = [subprocess.Popen([sys.executable, "-c", code, tmp_path, str(k)]) for k in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert len(inventory.known_files(tmp_path)) == 80
    assert inventory.faults(tmp_path) == []


def test_clear_removes_what_is_listed_and_the_empty_folders(tmp_path):
    inventory.put(tmp_path, "plots/one.png", "x")
    inventory.put(tmp_path, "report.html", "x")
    (tmp_path / "notes.txt").write_text("mine")
    outputs.clear(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]
    shutil.rmtree(tmp_path)
