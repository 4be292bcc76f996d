"""What the tests share: the command line in-process, small scenarios, made-up results."""

from __future__ import annotations

import argparse
import os
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import longhaul
import pytest
from longhaul import cli
from synthetic import write_result

#: Half a second of slow start and a few round trips: enough to lose packets, over in milliseconds.
SMALL = """\
name = "small"

[run]
duration = "20 s"
warmup = "2 s"
seed = 7

[[link]]
name = "satellite"
ends = ["hub", "remote"]
rate = "2 Mbit/s"
delay = "100 ms"
queue = { kind = "droptail", limit = "30 packets" }
loss = { kind = "random", probability = "0.1 %" }

[[flow]]
name = "users"
count = 3
from = "hub"
to = "remote"
start = { uniform = ["0 s", "1 s"] }
"""

SWEEP = (
    SMALL
    + """
[sweep]
replications = 2
grid = { "link.satellite.queue.limit" = ["10 packets", "30 packets"], "flow.users.count" = [1, 3] }
"""
)


class Outcome(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--all` runs what takes long too (`make test-all`), `--long` what takes longest (`make test-long`)."""
    parser.addoption("--all", action="store_true", help="run tests marked slow, which `make test` skips")
    parser.addoption("--long", action="store_true", help="run tests marked long, which `make test-all` skips")
    parser.addoption("--part", type=_part, metavar="K/N", help="run the Kth of N parts of the tests, by their names")


def _part(text: str) -> tuple[int, int]:
    """`K/N` with 1 <= K <= N."""
    first, _, of = text.partition("/")
    if not (first.isdecimal() and of.isdecimal() and 1 <= int(first) <= int(of)):
        raise argparse.ArgumentTypeError(f"a part is K/N with K from 1 to N, as 2/5; not {text!r}")
    return int(first), int(of)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many processes again as processors: a quarter of the tests' time is spent waiting for other programs."""
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return processors + processors // 2


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skips tests marked slow or long, with the command that runs them; leaves one part of all with `--part`."""
    for mark, option, command in (("slow", "--all", "make test-all"), ("long", "--long", "make test-long")):
        if not config.getoption(option):
            for item in items:
                if item.get_closest_marker(mark):
                    item.add_marker(pytest.mark.skip(reason=f"{mark}: {command}"))
    if part := config.getoption("--part"):
        parts = [zlib.crc32(item.nodeid.encode()) % part[1] + 1 for item in items]
        config.hook.pytest_deselected(items=[item for item, at in zip(items, parts, strict=True) if at != part[0]])
        items[:] = [item for item, at in zip(items, parts, strict=True) if at == part[0]]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was skipped, one line for each reason: how many tests, and by the reason's text what installs or runs them."""
    reasons = Counter(_reason(report) for report in terminalreporter.stats.get("skipped", []))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"skipped: {count} {'test' if count == 1 else 'tests'}: {reason}")


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    # (file, line, "Skipped: reason"); a whole module that is skipped at once counts as one.
    text = report.longrepr[2] if isinstance(report.longrepr, (tuple, list)) else str(report.longrepr)
    return text.removeprefix("Skipped: ")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A small scenario's file."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def sweep_file(tmp_path: Path) -> Path:
    """A small scenario with a sweep of 2 x 2 points and 2 seeds."""
    file = tmp_path / "sweep.toml"
    file.write_text(SWEEP)
    return file


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """The command line in this process; whatever it prints is wide enough not to be folded."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Outcome:
        capfd.readouterr()
        code = cli.run([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return call


@pytest.fixture(scope="session")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., longhaul.Result]:
    """Results that were made up, by number of flows; written once."""
    root = tmp_path_factory.mktemp("made-up")

    def make(flows: int, **settings: object) -> longhaul.Result:
        path = root / (f"{flows}-" + "-".join(f"{k}{v}" for k, v in settings.items()).replace(os.sep, "_"))
        if not path.exists():
            write_result(path, flows, **settings)
        result = longhaul.load(path)
        assert isinstance(result, longhaul.Result)
        return result

    return make
