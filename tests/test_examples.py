"""Examples of the package and what goes with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from longhaul import document, drawing
from longhaul.cli import run


def test_an_example_brings_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["examples", "trace", "--to", str(tmp_path)]) == 0
    capsys.readouterr()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace-link.csv", "trace.toml"]
    assert drawing.of_document(document.read(tmp_path / "trace.toml"))
    rows = (tmp_path / "trace-link.csv").read_text().splitlines()
    assert (rows[0], len(rows)) == ("time_s,down_mbps,up_mbps,delay_ms", 241)
