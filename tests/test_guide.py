"""What the guide and the README show is what comes out."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def check(script: str, *arguments: str) -> None:
    """Runs a script that compares a document with what comes out."""
    command = [sys.executable, ROOT / "scripts" / script, "--check", *arguments]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.slow("40 seconds of processor time")
def test_the_guide_is_up_to_date() -> None:
    """Renewed with `.venv/bin/python scripts/make-guide README.md docs/guide.md`."""
    check("make-guide", "README.md", "docs/guide.md")


@pytest.mark.slow("50 seconds of processor time")
def test_the_four_questions_have_the_present_answers() -> None:
    """Renewed with `.venv/bin/python scripts/make-guide docs/questions.md`."""
    check("make-guide", "docs/questions.md")


def test_the_table_of_queues_is_up_to_date() -> None:
    """Renewed with `.venv/bin/python scripts/make-queues`."""
    check("make-queues")


@pytest.mark.slow("30 seconds of processor time")
def test_the_tasks_of_the_cookbook_have_the_present_answers() -> None:
    """Renewed with `.venv/bin/python scripts/make-guide docs/cookbook.md`."""
    check("make-guide", "docs/cookbook.md")


@pytest.mark.slow("20 seconds of processor time")
def test_the_figures_for_papers_are_drawn_from_the_present_numbers() -> None:
    """Renewed with `.venv/bin/python scripts/make-paper-figures`."""
    check("make-paper-figures")
