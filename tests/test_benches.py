"""Programs that measure: what they print of themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

BENCHES = Path(__file__).resolve().parent.parent / "benches"
PROGRAMS = [file.name for file in sorted(BENCHES.glob("*.py")) if "ArgumentParser(" in file.read_text()]


@pytest.mark.parametrize("name", PROGRAMS)
def test_help_is_printed(name):
    """A percent sign in the text of an option ended it once with a traceback."""
    shown = subprocess.run([sys.executable, BENCHES / name, "--help"], capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("usage: ")
