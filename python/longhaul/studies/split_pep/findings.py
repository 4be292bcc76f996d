"""Findings beyond single targets, and the causes of missed targets."""

from __future__ import annotations

_RED = (
    "With the printed thresholds RED keeps the average queue near 63 packets, whatever its limit: 84 to 85 Mbit/s with 50 flows at any limit. The"
    " thesis's numbers without the PEP follow the limit. For a queue of 3000 they are the same with RED and DropTail (1.92 Mbit/s per flow,"
    " as here with DropTail). So the thesis's runs without the PEP hardly used RED as printed."
)
_TAIL = (
    "DropTail without the PEP depends less on the queue here, and in ns-2.35 too: there 500 flows over a queue of 1000 use 99.7 % of the link"
    " (benches/ns2/dumbbell.tcl, 300 s), 50 flows 99.6 %. It is not known what limited the thesis's flows."
)
_FEW = "Few flows recover slowly from the loss that ends slow start, by half a packet per round trip each. So the mean depends on the warm-up, which the thesis does not state."
_CUBIC = (
    "CUBIC's mean follows from its decrease and the link's queue of 500 packets: 92.9 Mbit/s with 0.8, as in Linux of that time, 88.1 with"
    " 0.7 and an ACK counted as one segment."
)
_PARETO = (
    "In ns-2's model and here, data that a source has written and TCP has not sent yet waits. With more than 630 flows all of them soon have data at any time, and this"
    " number of flows fills the link with any queue (95.6 Mbit/s). In the thesis they do not fill it, so that its PEP gains. ns-2.35 agrees with the results here: 750 such sources over DropTail of 1000 packets"
    " use 99.9 % of the link there and 100.0 % here, with 26,000 and 26,700 dropped packets in 200 s (docs/validation.md)."
)

#: Causes of missed targets, by the beginning of their names.
REASONS = {
    "S1a": "From the end of slow start to the first back-off the window grows by half a packet per round trip: by some 5400 packets in the thesis, by 4300 here, where slow start ends at a larger window. The thesis does not give the losses in slow start.",
    "S2a": _RED, "S2b": _RED, "S2c": _RED, "S3c": _RED, "S3d": _RED, "S4d": _TAIL, "S5": f"{_RED} {_TAIL}", "S2d": _CUBIC, "S3a": _CUBIC, "S3b": _CUBIC,
    "S4a": _CUBIC, "S4b": _CUBIC, "S5d": _CUBIC, "S6d": f"{_CUBIC} Five flows over a local queue of 3000 packets reach 88.2: not explained.", "S6": f"{_FEW} {_TAIL}", "S8a": _TAIL, "S8b": _RED,
    "S8d": "The thesis's single flow had no loss before 2000 s with a queue of 3000. Here slow start causes a loss within seconds, and the flow needs more than 2000 s to recover from it.",
    "S9a": _PARETO, "S9b": _PARETO, "S9c": _PARETO, "S10": _PARETO, "S11": _PARETO, "S9": _CUBIC,
    "F1": "With windows each flow has its share of the buffer (100 kB), with a local queue all flows share one: more data waits at the proxy. A smaller buffer shortens the wait.",
}  # fmt: skip


def reason(target: str) -> str:
    """The cause of a missed target, or an empty string if it is not known."""
    names = [name for name in REASONS if target.startswith(name)]
    return REASONS[max(names, key=len)] if names else ""


FINDINGS = {
    "The gain of the PEP": (
        "The PEP gains by its congestion control on the long hop. With CUBIC there the link carries 92.9 Mbit/s, for any number of flows,"
        " local queue and discipline. Without the PEP this takes 25 flows or more. A single flow gets four times as much. With 25 flows and"
        " more over DropTail of 1000 packets the end hosts fill the link themselves (95 Mbit/s), and the PEP costs a little. The senders' windows shrink to"
        " the size for a round trip of 20 ms."
    ),
    "Other flow control": (
        "The thesis's local queue slows senders down by drops. Windows that close as buffers fill achieve the same throughput and fairness"
        " without retransmissions."
    ),
    "Which CUBIC": (
        "The result depends on the version. CUBIC with a decrease to 0.7 and an ACK counted as one segment gives 88.1 Mbit/s (300 s, 50 flows, any"
        " queue): with delayed ACKs the cubic function grows at half its speed. Linux's version of that time, with a decrease to 0.8 and ACKs counted by the bytes they cover,"
        " gives 92.9, close to the thesis's 94.2."
    ),
}
