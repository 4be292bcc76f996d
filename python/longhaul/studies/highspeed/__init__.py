"""The HighSpeed TCP study of E. de Souza (LBNL-52549, 2003): HSTCP, standard TCP and parallel streams on a link of 1 Gbit/s and 100 ms."""

from __future__ import annotations

from ..model import Study
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .targets import TARGETS

STUDY = Study(
    name="highspeed",
    title="HighSpeed TCP and its deployment",
    source=(
        "E. de Souza: A Simulation-Based Study of HighSpeed TCP and its Deployment, LBNL-52549,"
        " Lawrence Berkeley National Laboratory, May 2003 (ns-2)"
    ),
    about=(
        "HighSpeed TCP (RFC 3649) against standard TCP and parallel streams over a link of 1 Gbit/s and 100 ms: utilisation, congestion"
        " event rate and fairness, on a clean link, a lossy one, and among bursts, with RED and with DropTail (DT)."
        " REGTCP is standard TCP, HSTCP HighSpeed TCP; LU link utilisation, CER congestion events (drops and marks) per packet, RF the utilisation of all HSTCP flows over that"
        " of all REGTCP flows, FRF that of a competitor over that of one REGTCP flow, BS bandwidth stolen, P the number of perturbations (bursts)."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
)
