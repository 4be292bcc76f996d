"""The asymmetric satellite thesis of C. Coetzee (Stellenbosch, 1999): a fast satellite down, a serial line of 9600 baud up."""

from __future__ import annotations

from ..emulation import Emulated
from ..model import Study
from . import comparison, senders
from .claims import CLAIMS, GAP
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .readings import READINGS
from .tables import TABLES
from .targets import TARGETS


def _emulated() -> Emulated:
    from .emulated import EMULATED  # needs this package's targets

    return EMULATED


STUDY = Study(
    name="asymmetric",
    title="Asymmetric satellite TCP",
    source="C. Coetzee: On Optimizing High-Latency Asymmetric Satellite TCP/IP, M.Sc.Eng. thesis, University of Stellenbosch, October 1999",
    about=(
        "TCP over a fast satellite with a return line of 9600 baud: the limit by the ACKs on the return path, the gain of header compression and"
        " its cost after losses, long and short serial queues, Vegas, and designs for such paths. The thesis measured on Linux 2.2; this study"
        " simulates. The *serial queue* is that of the return line, whose speed in baud counts start and stop bits: a byte takes t"
        "en. Policies join its length with the smallest RTO: P1 has 10 packets and 0.2 s, P2 10 and 20 s, P3 200 and 20 s, P4 200 and 0.2 s. kB are 1024 bytes."
    ),
    scales=SCALES,
    experiments=(*EXPERIMENTS, comparison.EXPERIMENT),
    targets=(*TARGETS, *comparison.TARGETS),
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    tables=(senders.TABLE, *TABLES, comparison.TABLE),
    claims=CLAIMS,
    leading=("6.9", "8", "5.1"),
    gap=GAP,
    question="How fast is TCP over a satellite whose return line has 9600 baud?",
    emulated=_emulated,
    readings=READINGS,
    readings_at="full",
)
