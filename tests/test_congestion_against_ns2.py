"""Congestion controls in ns-2 and here, at the quick scale of benches/validate_congestion.py. Needs ns-2: scripts/install-packages."""

from __future__ import annotations

import shutil

import pytest
import validate_congestion as congestion

pytestmark = pytest.mark.skipif(
    shutil.which("ns") is None, reason="ns-2 is not installed: run scripts/install-packages"
)


@pytest.mark.parametrize("loss", congestion.QUICK_LOSSES, ids=lambda loss: f"{loss:g}")
@pytest.mark.parametrize("case", congestion.CASES, ids=lambda case: case.name)
def test_both_simulators_respond_alike_to_loss(case: congestion.Case, loss: float) -> None:
    verdict = congestion.compare(case, loss, congestion.QUICK_LOSSES[loss])
    assert verdict.agrees, " ".join(congestion.rows([verdict])[1])
