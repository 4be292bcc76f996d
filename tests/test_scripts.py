"""What happens to links again and again or at random, in drawings and in explanations."""

from __future__ import annotations

import pytest
from longhaul import script
from longhaul.drawing.network import _events


def test_times_that_come_again_are_counted_in_a_drawing() -> None:
    """Six outages of 0.2 s in 90 s."""
    section = {"outages": [{"start": "14 s", "every": "15 s", "duration": "200 ms"}]}
    texts, down = _events(section, 90.0)
    assert texts == ["6 outages, 1.2 s in all"]
    assert down[1] == pytest.approx((29.0, 29.2))


def test_outages_at_random_have_their_share() -> None:
    """Down for 2 of 20 s; the first of them is counted after a mean time up."""
    texts, _ = _events({"outages": [{"up": "18 s", "down": "2 s"}]}, 1000.0)
    assert texts == ["outages at random, 10 % of the time on average"]


def test_changes_keep_their_order() -> None:
    section = {
        "changes": [{"at": "1 s", "every": "2 s", "delay": "1 ms"}, {"at": "2 s", "every": "2 s", "delay": "2 ms"}]
    }
    assert [at for at, _ in script.changes(section, 6.0)] == [1.0, 2.0, 3.0, 4.0, 5.0]
