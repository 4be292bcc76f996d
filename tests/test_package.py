"""What is in the archive of the sources: everything that an installation from it needs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow("packs the sources")
def test_the_source_archive_is_complete(tmp_path):
    maturin = Path(sys.executable).with_name("maturin")
    done = subprocess.run([maturin, "sdist", "--out", tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = ["Cargo.lock", "LICENSE-MIT", "pyproject.toml", "python/README.md", "crates/py/src/lib.rs"]
    needed += ["python/data/data/share/man/man1/longhaul.1", "crates/sim/build/sources.rs"]
    needed += [f"python/longhaul/examples/{path.name}" for path in (ROOT / "examples").glob("*.toml")]
    assert not [name for name in needed if name not in names]


def test_a_copied_example_names_itself_in_its_comments(command, tmp_path):
    assert command("examples", "geo-one-flow", "--to", tmp_path).code == 0
    text = (tmp_path / "geo-one-flow.toml").read_text()
    assert "longhaul run geo-one-flow.toml" in text
    assert "examples/" not in text
