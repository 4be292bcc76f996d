"""Targets of the study, by experiment."""

from __future__ import annotations

import re
from dataclasses import replace

from ...model import Target
from . import claims, isolated, sets, streams, stress, theory
from .reasons import REASONS

_ALL = (*theory.TARGETS, *isolated.TARGETS, *sets.TARGETS, *stress.TARGETS, *streams.TARGETS, *claims.TARGETS)


def _order(target: Target) -> tuple[str, list[int], str]:
    """Tables first, then experiments by number, then claims."""
    letter = {"T": "0", "E": "1", "D": "2"}[target.id[0]]
    return letter, [int(part) for part in re.findall(r"\d+", target.id)], target.id


TARGETS = tuple(replace(target, reason=REASONS.get(target.id, target.reason)) for target in sorted(_ALL, key=_order))
