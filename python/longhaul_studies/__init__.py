"""Published studies, run again: `longhaul reproduce STUDY`.

A study is a package that defines `STUDY` (see `model`) and is an entry point `longhaul.studies` of its distribution; the lab
(`longhaul.study`) finds it there. It declares experiments as scenarios, targets from the paper, figures and decisions. Running,
resuming, evaluating, drawing and reporting are here and the same for all. Each package here is one paper's.
"""

from __future__ import annotations

from .campaign import Campaign, plan
from .judging import Judged, judge, read
from .model import READINGS, Case, Claim, Decision, Experiment, Figure, Reading, Study, Target
from .names import find
from .results import NotRun, Results, Row, Table

__all__ = [
    "READINGS", "Campaign", "Case", "Claim", "Decision", "Experiment", "Figure", "Judged", "NotRun", "Reading", "Results", "Row",
    "Study", "Table", "Target", "find", "judge", "plan", "read",
]  # fmt: skip
