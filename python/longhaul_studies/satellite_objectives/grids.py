"""Transports and transfers at each scale."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Case, Experiment
from .scenarios import CELLS, HOPS, HYSTART, PROXIES, SEND_BUFFER, Transport, case, quic, tcp

SCALES = {
    "tiny": "five transports and the transfers of 2 MB, one seed, for continuous integration",
    "quick": "every transfer; the transports that people use, five seeds where packets are lost at random",
    "full": "every transfer with every congestion control over TCP and QUIC, twenty seeds where packets are lost at random",
}
#: Congestion controls over both TCP and QUIC at the quick scale.
_USED = ("cubic", "bbr3", "hybla")
#: Those without a meaning for a transfer alone are left out: a constant window, and Reno's model.
_EVERY = (
    "reno", "cubic", "highspeed", "scalable", "bic", "htcp", "hybla", "illinois", "veno", "westwood", "vegas", "compound", "yeah", "bbr", "bbr3",
)  # fmt: skip
#: quinn-proto's own.
_QUINN = ("quinn_cubic", "quinn_bbr")
SEEDS = {"tiny": 1, "quick": 5, "full": 20}


def transports(scale: str) -> Sequence[Transport]:
    """What is compared at a scale."""
    if scale == "tiny":
        return (tcp("cubic"), quic("bbr3"), PROXIES[0], PROXIES[5], HOPS[0])
    names = _EVERY if scale == "full" else _USED
    of_tcp = (*(tcp(name) for name in names), HYSTART, SEND_BUFFER)
    return (*of_tcp, *(quic(name) for name in (*names, *_QUINN)), *PROXIES, *HOPS)


def transfers(scale: str) -> list[Case]:
    """Every transfer by every transport."""
    cells = [cell for cell in CELLS if scale != "tiny" or cell.megabytes == 2]
    return [case(cell, transport, SEEDS[scale]) for cell in cells for transport in transports(scale)]


EXPERIMENTS = (Experiment("transfers", "One transfer from the first packet to the last byte", "3", transfers),)
