"""The benchmark of planted causes (benches/planted_causes.py) at a fraction of its size."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benches"))
from planted_causes import PLANTS, run


def test_the_first_cause_is_the_planted_one_and_none_is_named_at_the_ideal():
    """Two of each cause, and four scenarios that have what their path allows."""
    found = run(2 * len(PLANTS), 4, seed=35, budget=120.0)
    assert found["wrong"] == []
    assert (found["first"], found["none"]) == (2 * len(PLANTS), 4)


@pytest.mark.slow("minutes of processor time")
def test_at_a_tenth_of_its_size():
    found = run(50, 20, seed=36, budget=120.0)
    assert found["first"] >= 0.99 * 50 - 1
    assert found["none"] == 20
