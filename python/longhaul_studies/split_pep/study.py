"""A split connection PEP (Innsbruck, 2009): the gain of many flows from a shared CUBIC or SACK connection over a satellite link."""

from __future__ import annotations

from ..model import Study
from .claims import CLAIMS, GAP
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .readings import ABOUT, READINGS
from .tables import TABLES
from .targets import TARGETS

STUDY = Study(
    name="split-pep",
    title="A split connection PEP over a satellite link",
    source="A split connection PEP in ns-2, University of Innsbruck, 2009 (ns-2)",
    about=(
        "Many flows cross a link of 100 Mbit/s and 250 ms one way: end to end with SACK TCP, or through two proxies at the ends of the link"
        " that share one connection among all flows. What is the utilisation, how fair is it, and how large must the queue be?"
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    tables=TABLES,
    claims=CLAIMS,
    leading=("4.8", "4.5", "4.1"),
    readings=READINGS,
    readings_about=ABOUT,
    gap=GAP,
    question="What does a shared connection over the satellite hop gain?",
)
