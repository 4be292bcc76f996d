"""The STTP thesis of R. J. Wade (Leeds, 2000): a token bucket at the rate of a packet pair, steered by changes of the round trip."""

from __future__ import annotations

from ..model import Study
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .outcomes import TABLES
from .readings import ABOUT, READINGS
from .summary import CLAIMS, GAP
from .targets import TARGETS

STUDY = Study(
    name="sttp",
    title="STTP, a transport protocol for interactive applications",
    source="R. J. Wade: The Design and Simulation of a Transport Protocol for Interactive Network Applications, PhD thesis, University of Leeds, June 2000",
    about=(
        "The Shaped Token Transport Protocol compared with Reno and Vegas: bulk transfers, fairness, films, requests, and all three protocols together, as the thesis"
        " ran them in ns-2 and in REAL, an older simulator. STTP sends by a bucket of tokens: its depth is the largest burst, and its rate is measured by a pair of probes. *Strict* is STTP as the thesis has it;"
        " *retry*, *level*, *competitive* and others are additions of ours (section *The effect of each addition*). Further experiments cover delays, flows that never open, fair queueing, and pages and keystrokes on a satellite path"
        " of today. Bytes are counted at the entrance of the bottleneck, with headers. Goodput is bytes sent less bytes dropped, as the thesis defines it."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    tables=TABLES,
    claims=CLAIMS,
    leading=("4.4", "4.5", "4.13"),
    readings=READINGS,
    readings_about=ABOUT,
    gap=GAP,
    speaker="the thesis",
    question="Does a token bucket at the rate of a packet pair suit interactive use better than TCP?",
)
