"""What is in the archives of the sources and of a machine: everything that an installation from them needs."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: Of the studies: the page of a study, a program that another one starts, the facts that targets cite.
STUDIES = ["study.html", "second_kernel/guest.py", "asymmetric/page_client.py", "sttp/facts.md", "py.typed"]


@pytest.mark.slow("packs the sources")
def test_the_source_archive_is_complete(tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    done = subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, "each crate states what it is, its licence and where its documents are"
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = ["Cargo.lock", "LICENSE-MIT", "pyproject.toml", "python/README.md", "crates/py/src/lib.rs"]
    needed += ["python/data/data/share/man/man1/longhaul.1", "crates/sim/build/sources.rs"]
    needed += [f"python/longhaul/examples/{path.name}" for path in (ROOT / "examples").glob("*.toml")]
    needed += [f"python/longhaul_studies/{name}" for name in STUDIES]
    assert not [name for name in needed if name not in names]


@pytest.mark.slow("compiles a wheel")
@pytest.mark.alone
def test_a_wheel_has_both_packages_and_names_the_studies(tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    call = [maturin, "build", "--profile", "quick", "--locked", "--out", tmp_path]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        listed = next(name for name in names if name.endswith("dist-info/entry_points.txt"))
        entry_points = wheel.read(listed).decode()
    files = [path for folder in ("longhaul", "longhaul_studies") for path in (ROOT / "python" / folder).rglob("*.py")]
    needed = {path.relative_to(ROOT / "python").as_posix() for path in files}
    needed |= {f"longhaul_studies/{name}" for name in STUDIES}
    assert not needed - names
    assert "[longhaul.studies]\nasymmetric=longhaul_studies.asymmetric.study:STUDY" in entry_points.replace(" ", "")
    assert "[longhaul.designs]" in entry_points


def test_a_copied_example_names_itself_in_its_comments(command, tmp_path):
    assert command("examples", "geo-one-flow", "--to", tmp_path).code == 0
    text = (tmp_path / "geo-one-flow.toml").read_text()
    assert "longhaul run geo-one-flow.toml" in text
    assert "examples/" not in text


def test_the_congestion_control_in_python_is_an_example_that_runs(command, tmp_path):
    assert "my_reno" in command("examples").out
    assert command("examples", "my_reno", "--to", tmp_path).code == 0
    done = subprocess.run([sys.executable, "my_reno.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "MyReno" in done.stdout
    clear = command("run", tmp_path / "my_reno.py")
    assert clear.code == 2
    assert f"run it with `python {tmp_path / 'my_reno.py'}`" in clear.err


def test_every_dependency_has_a_lowest_version_that_can_be_installed():
    script = ROOT / "scripts/lowest-versions"
    lines = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout.splitlines()
    assert {"polars", "matplotlib", "typer", "ray", "maturin"} <= {line.partition("==")[0] for line in lines}
    lowest = runpy.run_path(str(script))["lowest"]
    assert lowest(["maturin>=1.9,<2", "numpy>=1.26"]) == ["maturin==1.9", "numpy==1.26"]
    with pytest.raises(ValueError, match="'numpy' has no lowest version"):
        lowest(["numpy"])
