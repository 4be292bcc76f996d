"""Chapter 8 of LBNL-52549 (2003): what its author leaves to others, run in the study's own network."""

from __future__ import annotations

from ..model import Study
from .claims import CLAIMS, GAP
from .figures import FIGURES
from .points import EXPERIMENTS, SCALES
from .tables import TABLES
from .targets import TARGETS

STUDY = Study(
    name="highspeed-chapter-8",
    title="HighSpeed TCP: what its chapter 8 leaves open",
    source=(
        "E. de Souza: A Simulation-Based Study of HighSpeed TCP and its Deployment, LBNL-52549,"
        " Lawrence Berkeley National Laboratory, May 2003, chapter 8 (future work)"
    ),
    about=(
        "The [study of HighSpeed TCP](highspeed.md) ends with questions: other parameters and response functions, frames of 9,000 bytes, what friendliness should mean, and sudden changes of the"
        " rate. Here they are run in its network (1 Gbit/s, 100 ms, RED) with settings that the simulator has. The paper has no numbers for them: targets follow from its other chapters, or are ours."
        " HSTCP is HighSpeed TCP with the study's parameters, other names say what differs. Not here: tests on real networks."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    tables=TABLES,
    claims=CLAIMS,
    leading=("functions", "transients"),
    gap=GAP,
    question="Which parameters, response functions and frames suit long fat paths, and what do they take from others?",
)
