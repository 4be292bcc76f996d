"""Objectives for transports over satellites (draft-kuhn-quic-4-sat-06): TCP, QUIC and proxies over the same six paths."""

from __future__ import annotations

from ..model import Study
from .claims import CLAIMS, GAP
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .tables import TABLES
from .targets import TARGETS

STUDY = Study(
    name="satellite-objectives",
    title="Objectives for transports over a satellite",
    source="N. Kuhn, G. Fairhurst, J. Border, E. Stephan: QUIC for SATCOM, draft-kuhn-quic-4-sat-06, IETF, October 2020",
    about=(
        "How long do 2, 10 and 100 MB take over a geostationary satellite (RTT 650 ms)? The draft states objectives for six links. Here TCP and QUIC from host to host,"
        " with several congestion controls, and proxies at the ends of the satellite link transfer the same data over the same links. The *hop* is the accelerator's own transport between its two nodes (`docs/hop.md`); its *parities* are packets from which lost ones are computed."
        " The verdict *reproduced* stands for an objective that the best transport of a group meets."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    tables=TABLES,
    claims=CLAIMS,
    leading=("objectives", "loss"),
    gap=GAP,
    speaker="the draft",
    question="Which transport meets the objectives for satellite links?",
)
