"""What the objectives ask for, in a few sentences."""

from __future__ import annotations

from collections.abc import Iterable

from ..model import Claim
from .scenarios import CELLS, Cell
from .targets import target_name


def _of(group: str, cells: Iterable[Cell]) -> tuple[str, ...]:
    return tuple(target_name(cell, group) for cell in cells)


_SHORT = [cell for cell in CELLS if cell.megabytes < 100 and not cell.path.loss]
_LONG = [cell for cell in CELLS if cell.megabytes == 100 and not cell.path.loss]
_LOSSY = [cell for cell in CELLS if cell.path.loss]
CLAIMS = (
    Claim("QUIC transfers 2 and 10 MB within the objectives where nothing is lost.", _of("QUIC", _SHORT), "It takes a control that opens its window fast: Hybla, or 200 packets at first (quinn_bbr)."),
    Claim("QUIC transfers 100 MB within the objectives where nothing is lost.", _of("QUIC", _LONG), "A cautious start costs seconds; the link's rate leaves few to spare."),
    Claim("QUIC meets the objectives at 1 % random loss.", _of("QUIC", _LOSSY), "Only BBR does not take random loss for congestion, and it starts slowly."),
    Claim("TCP without a proxy meets them (ours).", _of("TCP", CELLS), "A round trip more for the handshake, and ten packets at first."),
    Claim("One of the older proxies meets them (ours).", _of("proxy", CELLS), "Random loss still counts as congestion, or the start is slow."),
    Claim("The accelerator's hop meets all of them (ours).", _of("hop", CELLS), "It sends at the link's rate from the first packet, and parities spare the round trip of a loss."),
)  # fmt: skip
GAP = "none: this is a comparison with objectives, not with a measurement."
