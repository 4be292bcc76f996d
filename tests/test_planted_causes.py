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
    assert (found["first"], found["in_vain"], found["none"]) == (2 * len(PLANTS), 0, 4)


def test_a_competitor_that_takes_what_is_not_its_own_is_named_before_the_queue_in_which_it_does():
    """Number 188: without the bully the flow has 163 times its rate; a longer queue gives 38 times, and was named first."""
    found = run(188, 0, seed=35, budget=120.0, only=frozenset({188}))
    assert found["wrong"] == []
    assert found["by_cause"] == {"unequal shares": [1, 1]}


def test_a_cause_that_costs_the_flow_nothing_is_none():
    """Number 208: of two competitors one starves the other, and the flow has 1.19 Mbit/s where its share is 0.65."""
    found = run(208, 0, seed=35, budget=120.0, only=frozenset({208}))
    assert (found["scenarios"], found["in_vain"]) == (0, 1)


@pytest.mark.slow("minutes of processor time")
def test_at_a_tenth_of_its_size():
    found = run(50, 20, seed=36, budget=120.0)
    assert found["first"] >= 0.99 * found["scenarios"] - 1
    assert found["scenarios"] >= 48
    assert found["none"] == 20
