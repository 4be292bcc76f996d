"""Statistics against printed tables."""

from __future__ import annotations

import math

import pytest
from longhaul.stats import estimate, jain_index, t_quantile

# NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, upper critical values of Student's t
NIST_975 = {
    1: 12.706,
    2: 4.303,
    3: 3.182,
    4: 2.776,
    5: 2.571,
    9: 2.262,
    10: 2.228,
    19: 2.093,
    30: 2.042,
    60: 2.000,
    100: 1.984,
}
NIST_95 = {1: 6.314, 2: 2.920, 5: 2.015, 10: 1.812, 30: 1.697}


@pytest.mark.parametrize(("df", "value"), NIST_975.items())
def test_t_975(df, value):
    assert t_quantile(0.975, df) == pytest.approx(value, abs=5.1e-4)


@pytest.mark.parametrize(("df", "value"), NIST_95.items())
def test_t_95(df, value):
    assert t_quantile(0.95, df) == pytest.approx(value, abs=5.1e-4)


def test_estimate():
    e = estimate([4.0, 1.0, 3.0, 2.0])
    assert (e.n, e.mean, e.median, e.minimum, e.maximum) == (4, 2.5, 2.5, 1.0, 4.0)
    assert e.stdev == pytest.approx(1.2909944)
    assert e.high - e.mean == pytest.approx(3.182 * 1.2909944 / 2, rel=2e-4)


def test_one_value_has_no_interval():
    e = estimate([3.0])
    assert e.mean == e.median == 3.0
    assert math.isnan(e.low)
    assert math.isnan(e.high)


def test_no_value():
    with pytest.raises(ValueError, match="at least one"):
        estimate([])


def test_jain_of_one_hog():
    assert jain_index([9.0, 0.0, 0.0]) == pytest.approx(1 / 3)
    assert math.isnan(jain_index([]))
