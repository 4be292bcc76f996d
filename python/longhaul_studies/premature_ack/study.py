"""Premature ACKs with a watermark (Okayama, 2005): the throughput over W for every delay and buffer of the paper."""

from __future__ import annotations

from ..model import Study
from .claims import CLAIMS, GAP
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .readings import READINGS
from .targets import TARGETS

STUDY = Study(
    name="premature-ack",
    title="Premature ACKs: when to acknowledge on the destination's behalf",
    source=(
        "Performance Improvement of TCP using PEPs: effect of premature ACK transmission timing on throughput, Okayama University, 2005"
    ),
    about=(
        "A PEP between a fast and a slow network keeps copies of the packets of a connection and acknowledges the oldest W of them to"
        " the source. How does the throughput depend on this watermark, on the delays of both networks and on the PEP's buffer of N"
        " packets? S-Net is the network from the source to the PEP, D-Net that from the PEP to the destination; d_S and d_D "
        "are their one-way delays in ms. A *through packet* is one that finds the buffer full and passes without a copy."
        " In class R-1 a larger W is never worse. In class R-2 the buffer overflows above some W, and the throughput falls."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    claims=CLAIMS,
    leading=("6", "7", "map"),
    readings=READINGS,
    gap=GAP,
    question="How many packets should a proxy acknowledge ahead of the destination?",
)
