"""Headlines of papers on satellite transport, 1995 to 2025, each with its own small set of runs."""

from __future__ import annotations

from ..model import Study
from .claims import CLAIMS, GAP
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, HEADLINES, SCALES
from .tables import TABLES
from .targets import TARGETS

STUDY = Study(
    name="headlines",
    title="Headlines of satellite transport",
    source="papers, RFCs and measurements of 1995 to 2025; each row names its own",
    about=(
        f"{len(HEADLINES)} claims from papers on transport over satellites and other long or lossy paths, each in one number, range or ordering, each run with the conditions that its text gives."
        " What a text leaves open is taken, and stands beside the claim (*Conditions*). Only texts that could be read count; often that was the abstract. What was looked for and is missing stands in *Looked for and left out*."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    tables=TABLES,
    claims=CLAIMS,
    leading=("numbers",),
    gap=GAP,
    question="Do the best-known numbers of satellite transport hold?",
)
