"""Congestion controls in ns-2 (benches/ns2_answers.py) and here, at the quick scale of benches/validate_congestion.py."""

from __future__ import annotations

import ns2_answers
import pytest
import validate_congestion as congestion


@pytest.mark.parametrize("loss", congestion.QUICK_LOSSES, ids=lambda loss: f"{loss:g}")
@pytest.mark.parametrize("case", congestion.CASES, ids=lambda case: case.name)
def test_both_simulators_respond_alike_to_loss(case: congestion.Case, loss: float) -> None:
    verdict = congestion.compare(case, loss, congestion.QUICK_LOSSES[loss], ns2_answers.answer)
    assert verdict.agrees, " ".join(congestion.rows([verdict])[1])
