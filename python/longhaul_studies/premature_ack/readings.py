"""Other readings of the paper's model: does figure 6 fall after W = 37, as here, or after 38, as in the paper?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..changing import of_flows, of_middleboxes, with_changes
from ..model import Case, Reading

_CURVES = ("P1", "P1b", "P1c", "P2", "P2b", "P3", "P4", "P4b", "P5", "P6")


def _connection(**settings: Any) -> Callable[[Case], Case]:
    def change(case: Case) -> Case:
        return with_changes(case, of_flows(settings))

    return change


READINGS = (
    Reading("a PEP that can retransmit what it acknowledges", 'Step B-3 with its gap closed (`guard = "strict"`).', "The text demands it; the step as printed does not (decision D1).", _CURVES, lambda case: with_changes(case, of_middleboxes(guard="strict"))),
    Reading("1000 bytes of payload", 'Packets of 1000 bytes without their headers (`mss = "1000 B"`).', 'The paper gives "1000 bytes" and not of what (decision D2).', _CURVES, _connection(mss="1000 B")),
    Reading("a handshake first", "Connections begin with a handshake (`established = false`).", "The paper names NewReno, and not whether connections are opened.", _CURVES, _connection(established=False)),
    Reading("delayed ACKs", 'The destination acknowledges every second packet, or after 200 ms (`delayed_ack = "200 ms"`).', "The paper does not say; RFC 1122 recommends it.", _CURVES, _connection(delayed_ack="200 ms", ack_every=2)),
    Reading("growth by ACKs", 'The window grows with each ACK, whatever it acknowledges (`counting = "acks"`).', "Simulators of the time do.", _CURVES, _connection(congestion={"kind": "reno", "counting": "acks"}, slow_start={"kind": "standard", "counting": "acks"})),
    Reading("Reno", 'Recovery without partial ACKs (`variant = "reno"`).', "Nothing is lost in these runs: it shows that recovery has no part.", _CURVES, _connection(variant="reno")),
    Reading("timestamps", "Segments carry timestamps, 12 of their 960 bytes (`timestamps = true`).", "The paper does not say. It moves the places of packets within a second by 1 %.", _CURVES, _connection(timestamps=True)),
)  # fmt: skip
