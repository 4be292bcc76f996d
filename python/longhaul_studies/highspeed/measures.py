"""The study's metrics (its section 5.3) from those of a run. Utilisations in per cent, rates per packet.

"Packets sent" are those that left the bottleneck (decision A15): data packets that reached the receivers' hosts.
"""

from __future__ import annotations

from collections.abc import Callable

from ..results import Row

#: Names of the groups of flows in the scenarios.
HSTCP, REGTCP, STREAMS, PERTURBATIONS = "hstcp", "regtcp", "streams", "perturbations"
#: Beginnings of the names of groups whose data go where those of the long flows go.
NOISE = ("small_forward", "web_forward")
_LINK = "link.bottleneck.forward"


def departures(row: Row, group: str) -> float:
    """APS_p: packets of a group that left the bottleneck."""
    return row[f"group.{group}.received_packets"]


def events(row: Row, group: str) -> float:
    """CE_p: packets of a group that were dropped or marked; a window that loses a hundred counts a hundred."""
    return row[f"group.{group}.congestion_signals"]


def utilisation(group: str) -> Callable[[Row], float]:
    """LU_p: the share of a group's packets in the link's capacity, in per cent; 0 if there is no such group."""
    return lambda row: 100 * (row.get(f"group.{group}.utilisation") or 0.0)


def total_utilisation(row: Row) -> float:
    """LU of everything on the link, in per cent."""
    return 100 * row[f"{_LINK}.utilisation"]


def event_rate(group: str) -> Callable[[Row], float]:
    """CER_p: events over packets (decision A14: of the class, for sets of one kind)."""
    return lambda row: events(row, group) / departures(row, group)


def total_event_rate(row: Row) -> float:
    """GCER: drops and marks over departures, of the whole link."""
    return row[f"{_LINK}.congestion_signal_rate"]


def relative_fairness(row: Row) -> float:
    """RF: LU of all HSTCP flows over that of all REGTCP flows (decision A32: in each run)."""
    return departures(row, HSTCP) / departures(row, REGTCP)


def flow_fairness(competitor: str, flows: int = 10) -> Callable[[Row], float]:
    """FRF: LU of a competitor, all its streams together, over that of one of the REGTCP flows."""
    return lambda row: departures(row, competitor) / (departures(row, REGTCP) / flows)


def sending_rate(group: str) -> Callable[[Row], float]:
    """Response function: packets that leave the bottleneck in a base round trip, all flows of the group together."""
    return lambda row: row[f"group.{group}.packets_per_rtt"]


def noise(row: Row) -> float:
    """Utilisation by all background traffic with data in the forward direction, in per cent."""
    groups = {name.split(".")[1] for name in row.metrics or {} if name.startswith("group.")}
    return sum(utilisation(group)(row) for group in groups if group.startswith(NOISE))
