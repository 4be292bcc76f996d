"""Standard output and standard error wherever they end: on a full disk, in a pipe that nobody reads, nowhere.

Each command is a process of its own, as a user's shell starts it: without the settings of Python that a machine may have
(PYTHONUNBUFFERED hides what is lost when the process ends), in several languages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import SMALL, SWEEP
from longhaul import cli
from longhaul.cli import commands

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
LOCALES = [{}, {"LANG": "C.UTF-8"}, {"LC_ALL": "POSIX"}, {"LANG": "de_DE.ISO-8859-1"}, {"PYTHONUNBUFFERED": "1"}]
NO_SPACE = "error: cannot write standard output: No space left on device\n"

#: Commands that print to standard output; `{...}` is replaced by what the fixture `place` has made.
PRINTING = {
    "--help": "--help",
    "--version": "--version",
    "check": "check small.toml sweep.toml",
    "compare": "compare a b",
    "diff": "diff a b",
    "examples": "examples",
    "explain": "explain a",
    "link": "link delay 10ms loss 1%",
    "list": "list metrics",
    "profile": "profile ping.txt --like lte",
    "run": "run small.toml --out r",
    "run --json": "run small.toml --json --out r",
    "schema": "schema",
    "suite": "suite",
    "sweep": "sweep sweep.toml --out s",
    "table": "table a",
    "verify": "verify a",
}


def started(arguments, cwd, settings=LOCALES[1], **streams):
    """The command in a process of its own, with nothing in its environment but what is given."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SYSTEMROOT") if name in os.environ}
    command = [sys.executable, "-m", "longhaul", *arguments]
    return subprocess.run(command, cwd=cwd, env=kept | settings, text=True, **streams)


def test_every_command_that_prints_is_tried():
    names = set(commands.WHERE)
    others = {"advise", "bench", "demo", "design", "draw", "pep-config", "plot", "report", "reproduce", "serve"}
    assert names == {name.split()[0] for name in PRINTING if name[0] != "-"} | others


@pytest.fixture
def place(tmp_path, small_results):
    """A folder with scenarios and with two results, `a` and `b`."""
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    lines = [f"64 bytes from a: icmp_seq={one} ttl=64 time={40 + one % 7} ms" for one in range(1, 61)]
    (tmp_path / "ping.txt").write_text("PING a\n" + "\n".join(lines) + "\n")
    for name in "ab":
        (tmp_path / name).symlink_to(small_results / name)
    return tmp_path


@pytest.fixture(scope="module")
def small_results(tmp_path_factory):
    """Two runs of the small scenario, which differ."""
    folder = tmp_path_factory.mktemp("results")
    (folder / "small.toml").write_text(SMALL)
    for name, seed in (("a", "1"), ("b", "2")):
        assert cli.run(["run", str(folder / "small.toml"), "--seed", seed, "-q", "--out", str(folder / name)]) == 0
    return folder


@needs_full
@pytest.mark.parametrize("name", PRINTING)
def test_a_full_disk_under_standard_output_is_one_line_and_status_2(place, name):
    settings = LOCALES[list(PRINTING).index(name) % len(LOCALES)]
    with FULL.open("w") as full:
        done = started(PRINTING[name].split(), place, settings, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr[-len(NO_SPACE) :]) == (2, NO_SPACE)
    assert done.stderr.count("error") == 1
    assert "Exception" not in done.stderr


@needs_full
@pytest.mark.parametrize("settings", LOCALES, ids=str)
def test_a_full_disk_is_the_same_error_in_every_language(place, settings):
    with FULL.open("w") as full:
        done = started(["run", "small.toml", "--out", "r"], place, settings, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, NO_SPACE)
    assert (place / "r" / "summary.json").exists(), "the result itself has been written"


@needs_full
@pytest.mark.parametrize("arguments", [["run", "small.toml", "--out", "r"], ["sweep", "sweep.toml", "--out", "s"]])
def test_messages_that_cannot_be_written_do_not_end_a_run(place, arguments):
    with FULL.open("w") as full:
        done = started(arguments, place, stdout=subprocess.PIPE, stderr=full)
    assert done.returncode == 0
    assert "Goodput" in done.stdout


@needs_full
def test_an_error_that_cannot_be_written_keeps_its_status(place):
    for wrong, status in ((["run", "none.toml"], 2), (["diff", "a", "b"], 1)):
        with FULL.open("w") as full:
            assert started(wrong, place, stdout=subprocess.PIPE, stderr=full).returncode == status


@needs_full
def test_a_full_disk_under_both_streams_is_status_2(place):
    with FULL.open("w") as full:
        done = started(["run", "small.toml", "--out", "r"], place, {}, stdout=full, stderr=subprocess.STDOUT)
    assert done.returncode == 2


@pytest.mark.parametrize("name", ["--help", "list", "run --json", "sweep"])
def test_a_reader_that_leaves_ends_the_command_silently_as_sigpipe_would(place, name):
    reading, writing = os.pipe()
    os.close(reading)
    settings = LOCALES[list(PRINTING).index(name) % 2]
    with os.fdopen(writing, "w") as nobody:
        done = started([*PRINTING[name].split()], place, settings, stdout=nobody, stderr=subprocess.PIPE)
    assert done.returncode == 141
    assert "rror" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_reader_of_the_messages_that_leaves_does_not_end_a_run(place):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as nobody:
        done = started(["sweep", "sweep.toml", "--out", "s"], place, {}, stdout=subprocess.PIPE, stderr=nobody)
    assert done.returncode == 0
    assert "Goodput" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="a shell of POSIX")
@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_standard_stream_is_no_traceback_and_no_files_place(place, closed):
    line = f'exec "$1" -m longhaul run small.toml --out r {closed}'
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    call = ["sh", "-c", line, "sh", sys.executable]
    done = subprocess.run(call, cwd=place, env=kept, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (place / "r" / "summary.json").read_text().startswith("{")


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_pipe_that_another_program_set_not_to_block_gets_everything(place):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(reading) as answer:
        command = [sys.executable, "-m", "longhaul", "schema"]
        with subprocess.Popen(command, cwd=place, stdout=writing, stderr=subprocess.PIPE, text=True) as process:
            os.close(writing)
            text = answer.read()
            assert (process.wait(), process.stderr.read()) == (0, "")
    assert len(text) > 70_000, "more than a pipe holds"
    assert text.rstrip().endswith("}")
