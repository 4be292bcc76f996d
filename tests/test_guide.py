"""What the guide and the README show is what comes out."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_guide_is_up_to_date() -> None:
    """Renewed with `.venv/bin/python scripts/make-guide`."""
    made = subprocess.run([sys.executable, ROOT / "scripts/make-guide", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_table_of_queues_is_up_to_date() -> None:
    """Renewed with `.venv/bin/python scripts/make-queues`."""
    made = subprocess.run([sys.executable, ROOT / "scripts/make-queues", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr
