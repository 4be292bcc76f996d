"""The study's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim
from ..results import Results
from .measures import HSTCP, REGTCP
from .targets.sets import SHORT, fairness, series


def _under_bursts(results: Results) -> str:
    found = {kind: series(results["E4"], kind, "red", "p") for kind in (HSTCP, REGTCP)}
    most = max(found[HSTCP])
    return f"with {most} bursts (RED) HighSpeed TCP uses {found[HSTCP][most]:.0f} % of the link, standard TCP {found[REGTCP][most]:.0f} %"


def _fairer(results: Results) -> str:
    """Of the flows of a mixed set: HighSpeed over standard."""
    found = {queue: fairness(results["E2"], queue) for queue in SHORT}
    least, most = min(found["red"]), max(found["red"])
    text = " and ".join(
        f"{values[least]:.1f} to {values[most]:.1f} with {SHORT[queue]}" for queue, values in found.items()
    )
    return f"HighSpeed over standard, {least} to {most} flows: {text}"


CLAIMS = (
    Claim("Standard TCP cannot fill 1 Gbit/s over 100 ms; one HighSpeed flow uses 98.9 % of it.", ("E1.4d", "E1.5", "E1.1a")),
    Claim("Few HighSpeed flows fill a clean link; fewer than ten standard flows do not.", ("E2.2", "E2.1"), "Six standard flows use 99 % with RED: their cuts come at different times."),
    Claim("On a lossy link HighSpeed TCP has up to twice standard TCP's share, from 1e-6 to 1e-3.", ("E3.4b", "E3.1", "E3.3"), "At 1e-6 standard TCP fills the link too."),
    Claim("Its fairness adapts: one HighSpeed flow equals 6 standard flows with RED, 13 with DropTail.", ("E5.3", "E5.4", "E9.8"), "With DropTail the background traffic decides who loses packets."),
    Claim("Under bursts it keeps the link, standard TCP does not.", ("E4.1", "E4.4"), "Single seeds differ much under bursts.", _under_bursts),
    Claim("Limited slow start avoids 27,274 lost packets at the price of a slower start.", ("E11.1g", "E11.1a", "E11.1b", "E11.1c", "E11.3")),
    Claim("RED lowers loss and improves fairness at equal utilisation; DropTail makes HighSpeed TCP less fair.", ("E2.14", "E2.16", "D13", "D16"), "With few flows the result depends on chance.", _fairer),
)  # fmt: skip
GAP = "with DropTail one HighSpeed flow equals 13 to 19 standard flows with background traffic and more without; the study has 13, and does not give its background traffic."
