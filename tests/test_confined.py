"""The command under `ulimit -v`, as batch systems set it: it works, or leaves one message and no abort."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import longhaul
import pytest
from conftest import SMALL
from longhaul import confined

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not limit the address space")


def command(arguments, megabytes, **options):
    """The command with so much address space, its standard error read."""
    limit = megabytes * 1_000_000
    limited = f"import resource, os, sys; resource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit})); os.execv(sys.executable, sys.argv[1:])"
    line = [sys.executable, "-c", limited, sys.executable, "-m", "longhaul", *arguments]
    return subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True, **options)


def ended(process):
    _, messages = process.communicate(timeout=120)
    return process.returncode, messages


@pytest.fixture
def place(tmp_path):
    (tmp_path / "small.toml").write_text(SMALL)
    longhaul.run(tmp_path / "small.toml", out=tmp_path / "a")
    return tmp_path


@pytest.mark.parametrize("megabytes", [60, 100, 200])
@pytest.mark.parametrize(
    "arguments", [("run", "small.toml", "--out", "r"), ("report", "a", "--out", "a.html"), ("plot", "a", "--out", "f")]
)
def test_too_little_is_one_message(place, arguments, megabytes):
    """Libraries aborted (134), or failed with what they do without memory, after pages of text."""
    code, messages = ended(command(arguments, megabytes, cwd=place))
    if code == 0:  # some machines need less
        return
    assert code == 2
    assert messages.startswith(
        f"error: the address space of {megabytes} MB that `ulimit -v` allows does not suffice; allow more with"
    )
    assert messages.count("\n") == 1


def test_a_sweep_that_cannot_have_its_tables_is_refused_before_its_runs(place):
    code, messages = ended(
        command(["sweep", "small.toml", "--grid", "flow.users.count=[1, 2]", "--out", "s"], 900, cwd=place)
    )
    assert code == 2
    assert "`ulimit -v`" in messages
    assert not (place / "s").exists()


def test_with_enough_it_is_as_without_a_limit(place):
    code, messages = ended(command(["run", "small.toml", "--out", "r"], 8_000, cwd=place))
    assert (code, messages) == (0, "")
    code, messages = ended(command(["run", "small.toml", "--out", "r", "--set", "run.nothing=1"], 8_000, cwd=place))
    assert code == 2
    assert "nothing" in messages


def used(session):
    """Seconds of a processor that a session has used, with the children that do the work: on a busy machine, a second may not
    suffice to start."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_end_the_work(place, number, code):
    process = command(
        [
            "run",
            "small.toml",
            "--set",
            "run.duration='100000000 s'",
            "--set",
            "run.sample='1000 s'",
            "--out",
            "r",
            "--no-tables",
        ],
        8_000,
        cwd=place,
    )
    begun = time.monotonic()
    while used(process.pid) < 1.5 and time.monotonic() < begun + 60:
        time.sleep(0.05)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
    assert ended(process)[0] == code
    assert not (place / "r").exists()


def test_a_bug_is_not_called_a_lack_of_memory(monkeypatch):
    monkeypatch.setattr(confined, "limit", lambda: 16_000_000_000)
    assert confined.explanation_of(NameError("x")) is None
    assert "16,000 MB" in confined.explanation_of(MemoryError())
    monkeypatch.setattr(confined, "limit", lambda: None)
    assert confined.explanation_of(MemoryError()) is None
