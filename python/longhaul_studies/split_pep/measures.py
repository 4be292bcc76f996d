"""The thesis's metrics from those of a run: payload over the split link, throughput and window of a flow."""

from __future__ import annotations

from ..results import Row
from .scenarios import PACKET, PAYLOAD

_LINK = "link.split.forward"


def utilisation(row: Row) -> float:
    """Payload over the split link in Mbit/s, every packet counted (at most 96.15)."""
    return row[f"{_LINK}.throughput_bps"] * PAYLOAD / PACKET / 1e6


def per_flow(row: Row) -> float:
    """Mean throughput of a flow at its receiver in Mbit/s."""
    flows: int = row.parameters["flows"]
    return row["group.flows.goodput_bps"] / flows / 1e6


def cwnd(row: Row) -> float:
    """Mean window of the senders in packets."""
    return row["group.flows.cwnd_mean_bytes"] / PAYLOAD


def fairness(row: Row) -> float:
    """Jain's index of the flows' throughputs."""
    return row["group.flows.jain_index"]


def retransmissions(row: Row) -> float:
    """Retransmissions of the senders per packet sent."""
    return row["group.flows.retransmission_rate"]


def delivery(row: Row) -> float:
    """Delivery time of a byte in seconds: bytes in flight or held, over the throughput (Little's law).

    With the PEP: bytes that it has acknowledged and not delivered, and a sender's round trip to it. Without: half a round trip.
    """
    held = row.get("middlebox.pep.undelivered_mean_bytes")
    rate = row["group.flows.goodput_bps"] / 8
    own = row["group.flows.rtt_mean_s"] / 2
    return own if held is None else own + held / rate
