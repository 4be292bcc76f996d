"""Results and runs across processes: fork, spawn, pickles, another working directory; names of files that are not ASCII or UTF-8."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import longhaul
import pytest
from conftest import SMALL
from waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

#: What a forked child does is in a program of its own: pytest has threads and files that a fork should not copy.
FORKING = """\
import multiprocessing, os, sys
import longhaul

def forked(work):
    def child(pipe):
        try:
            pipe.send(work())
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")
    mine, its = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=child, args=(its,))
    process.start()
    print(mine.recv() if mine.poll(60) else "HANGS", flush=True)
    process.join(5)
    process.kill()

"""


def program(text: str, folder: Path, **variables: str) -> list[str]:
    """The lines that a program prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING + text],
        cwd=folder,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_run_in_a_forked_child_ends_although_the_parent_has_read_tables(scenario):
    text = """
parent = longhaul.run("small.toml")
assert parent.flows.filter(parent.flows["flow"] == 0).height > 0
forked(lambda: longhaul.run("small.toml", seed=2).run_id)
forked(lambda: longhaul.run("small.toml", seed=2, out="r").explain() != "")
print(longhaul.run("small.toml", seed=2).run_id)
print(longhaul.load("r").flows.height > 0)
"""
    in_child, explained, here, tables = program(text, scenario.parent)
    assert in_child == here
    assert (explained, tables) == ("True", "True")


def test_a_sweep_in_a_forked_child_has_its_tables(scenario):
    """It waited for ever for the threads of polars, which the fork had not copied."""
    text = """
parent = longhaul.run("small.toml")
assert parent.flows.height > 0
forked(lambda: longhaul.sweep("small.toml", "swept", grid={"flow.users.count": [1, 2]}, replications=2).done)
forked(lambda: longhaul.sweep("small.toml", "swept", grid={"flow.users.count": [1, 2]}, replications=2).done)
print(longhaul.load("swept").runs.height)
"""
    done, again, rows = program(text, scenario.parent)
    assert (done, rows) == ("4", "4")
    assert again.startswith("OutputError: ")


def test_a_forked_child_that_would_need_polars_threads_is_told_so(scenario):
    text = """
parent = longhaul.run("small.toml")
assert parent.flows.filter(parent.flows["flow"] == 0).height > 0
forked(lambda: parent.links.height)
forked(lambda: parent.table().height)
"""
    for line in program(text, scenario.parent):
        assert line.startswith("ResultError: this process was forked from one in which polars had begun its threads")
        assert "spawn" in line


def test_a_child_of_a_process_that_has_used_no_polars_reads_tables(scenario):
    text = """
parent = longhaul.run("small.toml")
forked(lambda: parent.links.height > 0)
forked(lambda: longhaul.run("small.toml", seed=2).flows.height > 0)
"""
    assert program(text, scenario.parent) == ["True", "True"]


def test_the_way_of_a_run_does_not_import_polars(scenario):
    text = """
longhaul.run("small.toml", out="r")
print([name for name in ("polars", "matplotlib", "ray") if name in sys.modules])
"""
    assert program(text, scenario.parent) == ["[]"]


@pytest.mark.parametrize("end", ["sys.exit(0)", "del parent; os._exit(0)"])
def test_the_end_of_a_forked_child_deletes_nothing_of_the_parents(scenario, end):
    text = f"""
parent = longhaul.run("small.toml")
if os.fork() == 0:
    {end}
os.wait()
print(parent.flows.height > 0, parent.path.exists())
path = parent.path
del parent
print(path.exists())
"""
    assert program(text, scenario.parent) == ["True True", "False"]


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_a_result_from_a_pool_has_its_tables(scenario, method):
    (scenario.parent / "pooled.py").write_text(f"""
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import longhaul

def made(seed):
    return longhaul.run("small.toml", seed=seed)

if __name__ == "__main__":
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context({method!r})) as pool:
        results = list(pool.map(made, [7, 8]))
    print([result.summary["seed"] for result in results])
    print(all(result.flows.height > 0 and result.has_tables for result in results), "small" in results[0].scenario)
    paths = [result.path for result in results]
    print([path.exists() for path in paths])
    results.clear()
    print([path.exists() for path in paths])
""")
    done = subprocess.run(
        [sys.executable, "pooled.py"], cwd=scenario.parent, capture_output=True, text=True, timeout=4 * PATIENCE_S
    )
    assert done.stdout.splitlines() == ["[7, 8]", "True True", "[True, True]", "[False, False]"], done.stderr


def test_a_pickled_result_takes_its_files_along_again_and_again(scenario):
    result = longhaul.run(scenario)
    once = pickle.loads(pickle.dumps(result))
    twice = pickle.loads(pickle.dumps(once))
    untouched = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(result))))
    first = result.path
    flows = result.flows
    del result, once
    assert not first.exists()
    for other in (twice, untouched, copy.deepcopy(twice)):
        assert other.flows.equals(flows)
        assert not other.is_kept
        assert other.explain()


def test_a_pickled_result_with_a_directory_names_it(scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    packed = pickle.dumps(longhaul.run(scenario, out="r"))
    assert len(packed) < 100_000
    monkeypatch.chdir("/")
    assert pickle.loads(packed).flows.height > 0
    (tmp_path / "r").rename(tmp_path / "moved")
    with pytest.raises(
        longhaul.ResultError, match=r"/r does not exist here: the result was moved or deleted, or is on"
    ):
        _ = pickle.loads(packed).flows


def test_results_are_found_from_another_working_directory(sweep_file, scenario, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    result, swept = longhaul.run("small.toml", out="r"), longhaul.sweep("sweep.toml", "s")
    loaded = longhaul.load("r"), longhaul.load("s")
    built = longhaul.Scenario.from_file("small.toml")
    monkeypatch.chdir("elsewhere")
    assert result.flows.height == loaded[0].flows.height > 0
    assert swept.runs.height == loaded[1].runs.height == 8
    assert loaded[1].run(loaded[1].runs["run_id"][0]).metrics
    assert longhaul.run(built).run_id == result.run_id


def test_a_trace_is_looked_for_beside_the_file_that_was_read(tmp_path, monkeypatch):
    (tmp_path / "flows.csv").write_text("time_s,bytes\n0.5,10000\n1.0,20000\n")
    text = SMALL.replace('start = { uniform = ["0 s", "1 s"] }', 'app = { kind = "trace", file = "flows.csv" }')
    (tmp_path / "traced.toml").write_text(text.replace("count = 3\n", ""))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    read = longhaul.Scenario.from_file("traced.toml")
    (tmp_path / "traced.json").write_text(json.dumps(read.to_dict()))
    monkeypatch.chdir("elsewhere")
    assert longhaul.run(read, tables=False).run_id == longhaul.run("../traced.toml", tables=False).run_id
    assert longhaul.run("../traced.json", tables=False).run_id == longhaul.run(read, tables=False).run_id


#: An environment without UTF-8: the C locale, without what Python does about it.
PLAIN = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    ("name", "variables"),
    [("caf\u00e9".encode(), PLAIN), (b"caf\xe9", {"LC_ALL": "C.UTF-8"})],
    ids=["utf-8 names in ascii", "other names in utf-8"],
)
def test_names_of_any_bytes_are_names_of_files(tmp_path, name, variables):
    folder = os.fsencode(tmp_path) + b"/" + name
    os.mkdir(folder)
    (Path(os.fsdecode(folder)) / "flows.csv").write_text("time_s,bytes\n0.5,10000\n1.0,20000\n")
    text = SMALL.replace('start = { uniform = ["0 s", "1 s"] }', 'app = { kind = "trace", file = "flows.csv" }')
    with open(folder + b"/" + name + b".toml", "w") as file:
        file.write(text.replace("count = 3\n", ""))

    def command(*arguments: bytes) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "longhaul", *arguments],
            env={**os.environ, "COLUMNS": "300", **variables},
            cwd=folder,
            capture_output=True,
            encoding="ascii" if variables is PLAIN else "utf-8",
            errors="backslashreplace",
            check=False,
        )

    for arguments in (
        [b"run", name + b".toml", b"--out", name, b"--report"],
        [b"explain", name],
        [b"sweep", name + b".toml", b"-n", b"2", b"--tables", b"--out", b"s" + name],
    ):
        done = command(*arguments)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
    again = command(b"verify", name)
    if name == b"caf\xe9":  # the resolved scenario is UTF-8, so it cannot name a trace in such a folder
        assert (again.returncode, "Traceback" in again.stderr) == (2, False)
        assert "flows.csv cannot be read" in again.stderr
    else:
        assert again.returncode == 0, again.stderr
    missing = command(b"run", name + b"-.toml")
    assert missing.returncode == 2
    assert "Traceback" not in missing.stderr
    assert "cannot read the scenario" in missing.stderr
    assert len(missing.stderr.splitlines()) == 1


def test_names_of_results_may_be_as_long_as_the_system_allows(scenario, tmp_path):
    name = "r" * 250
    assert longhaul.run(scenario, out=tmp_path / name).flows.height > 0
    assert longhaul.run(scenario, out=tmp_path / name).path.name == name
    assert longhaul.sweep(scenario, tmp_path / ("s" * 250), replications=2).complete
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted([name, "s" * 250, "small.toml"])


def test_a_run_that_fails_leaves_no_temporary_directory(scenario, tmp_path):
    text = """
import pathlib, tempfile
def fail(*_):
    raise KeyError("mine")
try:
    longhaul.run("small.toml", set={"run.duration": "1000000 s", "run.sample": "1000 s"}, progress=fail)
except KeyError as error:
    kept = error
print(list(pathlib.Path(tempfile.gettempdir()).glob("longhaul-*")))
"""
    (tmp_path / "tmp").mkdir()
    assert program(text, scenario.parent, TMPDIR=str(tmp_path / "tmp")) == ["[]"]


def test_a_working_directory_that_was_removed_is_named(scenario, tmp_path):
    text = """
os.mkdir("gone"); os.chdir("gone"); os.rmdir("../gone")
try:
    longhaul.run("../small.toml", out="r")
except longhaul.LonghaulError as error:
    print(error)
"""
    (line,) = program(text, scenario.parent)
    assert "the working directory no longer exists" in line or "cannot read the scenario" in line


def test_no_place_for_temporary_files_is_named(scenario, tmp_path):
    text = """
import tempfile
tempfile.tempdir = "/nowhere"
try:
    longhaul.run("small.toml")
except longhaul.OutputError as error:
    print(error)
"""
    (line,) = program(text, scenario.parent)
    assert line.startswith(
        "a temporary directory for the time series cannot be made (No such file or directory); set TMPDIR"
    )


def test_a_child_ended_by_a_signal_leaves_the_parents_tables(scenario):
    text = """
import signal, time
parent = longhaul.run("small.toml")
child = os.fork()
if child == 0:
    longhaul.run("small.toml", set={"run.duration": "1000000 s", "run.sample": "1000 s"})
time.sleep(0.5)
os.kill(child, signal.SIGTERM)
print(os.waitpid(child, 0)[1] == signal.SIGTERM, parent.flows.height > 0)
"""
    assert program(text, scenario.parent) == ["True True"]
