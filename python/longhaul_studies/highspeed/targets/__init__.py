"""Targets of the study, by experiment."""

from __future__ import annotations

import re
from dataclasses import replace

from ...model import Target, classed
from . import claims, isolated, sets, streams, stress, theory
from .reasons import REASONS

_ALL = (*theory.TARGETS, *isolated.TARGETS, *sets.TARGETS, *stress.TARGETS, *streams.TARGETS, *claims.TARGETS)


def _order(target: Target) -> tuple[str, list[int], str]:
    """Tables first, then experiments by number, then claims."""
    letter = {"T": "0", "E": "1", "D": "2"}[target.id[0]]
    return letter, [int(part) for part in re.findall(r"\d+", target.id)], target.id


#: Claims of chapter 7 whose comparison is that of a figure's target.
_REPEATED = {
    "D3": "E2.3", "D5": "E3.8", "D6": "E4.2", "D9": "E5.4", "D11": "E3.12", "D17": "E6.5", "D18": "E9.8", "D19": "E9.1", "D20": "E10.2",
    "D24": "E4.6",
}  # fmt: skip
TARGETS = classed(
    [replace(target, reason=REASONS.get(target.id, target.reason)) for target in sorted(_ALL, key=_order)],
    {
        "number": (
            "E1.1a, E1.1b, E2.4, E2.13, E3.2, E3.4a, E3.4b, E3.5, E4.2, E4.9, E5.2, E6.3, E9.7, E9.8, E11.1f, D4, D9"
        )
    },
    _REPEATED,
)
