"""The HighSpeed TCP study of E. de Souza (LBNL-52549, 2003): HSTCP, standard TCP and parallel streams on a link of 1 Gbit/s and 100 ms."""

from __future__ import annotations

from ..model import Study
from .claims import CLAIMS, GAP
from .decisions import DECISIONS
from .figures import FIGURES
from .findings import FINDINGS
from .grids import EXPERIMENTS, SCALES
from .readings import ABOUT, READINGS
from .targets import TARGETS

STUDY = Study(
    name="highspeed",
    title="HighSpeed TCP and its deployment",
    source=(
        "E. de Souza: A Simulation-Based Study of HighSpeed TCP and its Deployment, LBNL-52549,"
        " Lawrence Berkeley National Laboratory, May 2003 (ns-2)"
    ),
    about=(
        "HighSpeed TCP (RFC 3649) compared with standard TCP and parallel streams over a link of 1 Gbit/s and 100 ms: utilisation, congestion"
        " event rate and fairness, on a clean link, on a lossy link, and under bursts, with RED and with DropTail (DT)."
        " REGTCP is standard TCP, HSTCP is HighSpeed TCP. LU is link utilisation. CER is the number of congestion events (drops and marks) per packet."
        " RF is the utilisation of all HSTCP flows over that of all REGTCP flows. FRF is the utilisation of a competitor over that of one REGTCP flow."
        " BS is bandwidth stolen. P is the number of perturbations (bursts)."
    ),
    scales=SCALES,
    experiments=EXPERIMENTS,
    targets=TARGETS,
    figures=FIGURES,
    decisions=DECISIONS,
    findings=FINDINGS,
    claims=CLAIMS,
    readings=READINGS,
    readings_about=ABOUT,
    leading=("6.1", "6.8", "6.19"),
    gap=GAP,
    question="Does HighSpeed TCP fill 1 Gbit/s over 100 ms, and what does it take from others?",
)
