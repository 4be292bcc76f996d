"""docs/reference/ says what the program says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_reference_is_up_to_date() -> None:
    made = subprocess.run([sys.executable, ROOT / "scripts/make-reference", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
