"""What `make` needs and does not find is named before anything is compiled: every tool is hidden, one at a time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import conftest
import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed: apt install make")

#: Targets that compile or install something.
TARGETS = (
    "demo test test-all test-rust test-python test-real test-lowest test-fingerprints test-ns2 test-fuzz bench bench-program install emu reference "
    "doc gallery site wheel sdist deb packetdrill validate validate-kernel validate-second-kernel ns2-answers bench-emu"
)  # fmt: skip


@pytest.fixture
def tools(tmp_path):
    """A folder with a link to every program that is on the path: one that is removed from it is not installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for place in os.environ["PATH"].split(os.pathsep):
        if os.path.isdir(place):
            for entry in os.scandir(place):
                if not os.path.lexists(folder / entry.name):
                    (folder / entry.name).symlink_to(entry.path)
    return folder


def make(tools, *arguments):
    """What `make` answers where only these tools are: its status and its lines of errors."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    environment |= {"PATH": str(tools), "LC_ALL": "C"}
    done = subprocess.run(
        [tools / "make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=30
    )
    lines = [line for line in done.stderr.splitlines() if not re.match(r"make(\[\d+\])?: ", line)]
    return done.returncode, lines


def replace(tools, name, script):
    """Another program under this name."""
    (tools / name).unlink(missing_ok=True)
    (tools / name).write_text(f"#!/bin/sh\n{script}\n")
    (tools / name).chmod(0o755)


@pytest.mark.parametrize("target", TARGETS.split())
def test_every_target_names_all_that_is_missing_before_it_compiles(tools, target):
    for name in ("python3", "cargo", "cc", "cargo-deb", "ns", "iperf3"):
        (tools / name).unlink(missing_ok=True)
    status, lines = make(tools, target)
    assert status == 2
    assert all(line.startswith("error: ") for line in lines), lines
    expected = {"validate": ["ns"], "ns2-answers": ["ns"]}
    expected |= {name: ["iperf3"] for name in ("bench-emu", "validate-kernel", "validate-second-kernel")}
    for name in expected.get(target, ["python3", "cargo", "cc"]):
        assert any(line.startswith(f"error: {name} is missing") for line in lines), lines
    assert any("cargo-deb" in line for line in lines) == (target == "deb")


@pytest.mark.parametrize(
    ("check", "hidden", "line"),
    [
        (
            "check-tools",
            "python3",
            "error: python3 is missing; Longhaul needs Python 3.11 or newer; "
            "on Debian and Ubuntu: apt install python3 python3-venv",
        ),
        ("check-tools", "cargo", "error: cargo is missing; Longhaul needs Rust 1.85 or newer, see https://rustup.rs"),
        ("check-tools", "rustc", "error: rustc is missing; Longhaul needs Rust 1.85 or newer, see https://rustup.rs"),
        (
            "check-tools",
            "cc",
            "error: cc is missing, which links Rust's programs; on Debian and Ubuntu: apt install gcc libc6-dev",
        ),
        ("check-ns2", "ns", "error: ns is missing, the program of ns-2; on Debian and Ubuntu: apt install ns2"),
    ],
)
def test_a_missing_tool_is_one_line_with_where_it_comes_from(tools, check, hidden, line):
    (tools / hidden).unlink(missing_ok=True)
    assert make(tools, check) == (2, [line])


@pytest.mark.parametrize(
    ("check", "tool", "script", "line"),
    [
        (
            "check-tools",
            "python3",
            '[ "$1" = --version ] && echo Python 3.10.12; exit 1',
            "error: Python 3.10.12 is too old: Longhaul needs 3.11 or newer (choose one with make PYTHON=python3.12)",
        ),
        (
            "check-tools",
            "python3",
            'case "$2" in *ensurepip*) exit 1;; esac',
            "error: python3 has no venv module; on Debian and Ubuntu: apt install python3-venv",
        ),
        (
            "check-tools",
            "rustc",
            "echo 'rustc 1.84.2 (abc 2025-01-01)'",
            "error: rustc 1.84.2 (abc 2025-01-01) is too old: Longhaul needs Rust 1.85 or newer (rustup update)",
        ),
        (
            "check-tools",
            "rustc",
            "echo 'error: rustup could not choose a version of rustc to run' >&2; exit 1",
            "error: rustc does not run: error: rustup could not choose a version of rustc to run",
        ),
        (
            "check-tools",
            "cc",
            "echo 'ld: cannot find crt1.o' >&2; exit 1",
            "error: cc cannot compile and link a program of C; on Debian and Ubuntu: apt install gcc libc6-dev",
        ),
        (
            "check-lints",
            "cargo",
            '[ "$1" = fmt ]',
            "error: clippy is missing (rustup component add clippy)",
        ),
        (
            "check-lints",
            "cargo",
            '[ "$1" = clippy ]',
            "error: rustfmt is missing (rustup component add rustfmt)",
        ),
    ],
)  # fmt: skip
def test_a_tool_that_does_not_do_is_one_line(tools, check, tool, script, line):
    replace(tools, tool, script)
    assert make(tools, check) == (2, [line])


@pytest.mark.parametrize("version", ["rustc 1.85.0 (abc)", "rustc 1.100.0-nightly (abc)", "rustc 2.0.0"])
def test_newer_compilers_do(tools, version):
    replace(tools, "rustc", f"echo '{version}'")
    assert make(tools, "check-tools") == (0, [])


def skipped(reason):
    """A report of a test that was skipped, as pytest has it."""
    return SimpleNamespace(longrepr=("test_x.py", 7, f"Skipped: {reason}"))


def test_the_summary_has_one_line_for_each_reason_of_skipped_tests():
    lines = []
    stats = {
        "skipped": [skipped("slow: make test-all"), skipped("no browser (install)"), skipped("slow: make test-all")]
    }
    conftest.pytest_terminal_summary(SimpleNamespace(stats=stats, write_line=lines.append))
    assert lines == ["skipped: 1 test: no browser (install)", "skipped: 2 tests: slow: make test-all"]


def test_ignored_tests_in_rust_are_counted_by_reason(tmp_path):
    (tmp_path / "a.rs").write_text('#[test]\n#[ignore = "needs root: make test-all"]\nfn a() {}\n' * 2)
    (tmp_path / "b.rs").write_text('#[ignore = "a minute"]\n#[ignored = "no attribute"]\n')
    done = subprocess.run([ROOT / "scripts/ignored-tests", tmp_path], capture_output=True, text=True)
    assert done.stdout == "skipped: 1 test: a minute\nskipped: 2 tests: needs root: make test-all\n"


def test_every_reason_of_a_skip_names_a_command_or_something_that_nothing_installs():
    done = subprocess.run([ROOT / "scripts/ignored-tests", ROOT / "crates"], capture_output=True, text=True)
    assert len(done.stdout.splitlines()) >= 4
    for line in done.stdout.splitlines():
        assert re.search(r"make test|cargo test", line), line


def units(*arguments: str) -> dict[tuple, str]:
    """What `cargo build --release` would compile: name, features and profile of each, with its kind."""
    call = ["cargo", "build", "--release", "--locked", "--offline", "--unit-graph", "-Zunstable-options", *arguments]
    # The graph is shown by unstable options only.
    environment = os.environ | {"RUSTC_BOOTSTRAP": "1"}
    done = subprocess.run(call, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return {
        (unit["pkg_id"], unit["target"]["name"], unit["mode"], unit["platform"], str(unit["features"]), str(unit["profile"])):
            unit["target"]["kind"][0]
        for unit in json.loads(done.stdout)["units"]
    }  # fmt: skip


def test_packages_compile_nothing_that_a_build_has_not_compiled():
    recipe = (ROOT / "Makefile").read_text()
    found = re.search(
        r"cargo build --profile \$\(DEB_PROFILE\)( --bin \S+ --bin [\w-]+)\) --workspace --locked", recipe
    )
    packed = units("--workspace", *found[1].split())
    assert len(packed) > 100
    assert packed.keys() <= units().keys()
    assert packed.keys() <= units("--workspace").keys()


def test_a_release_build_has_no_programs_of_tests():
    assert {name[1] for name, kind in units().items() if kind == "bin"} == {"longhaul-emu", "longhaul-pep"}


@pytest.mark.parametrize("main", sorted(ROOT.glob("crates/*/tests/main.rs")), ids=lambda main: main.parts[-3])
def test_every_file_of_tests_in_rust_is_run(main):
    """What is neither a module of the crate's program of tests nor a program of its own would never run."""
    cargo = tomllib.loads((main.parent.parent / "Cargo.toml").read_text())
    assert cargo["package"]["autotests"] is False
    alone = {Path(program["path"]).name for program in cargo["test"]}
    modules = {f"{name}.rs" for name in re.findall(r"^mod (\w+);$", main.read_text(), re.MULTILINE)}
    assert {file.name for file in main.parent.glob("*.rs")} <= alone | modules
