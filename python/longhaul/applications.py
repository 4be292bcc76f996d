"""What explanations, advice and estimates need of the kinds of applications."""

from __future__ import annotations

#: Applications that ask: `from` opens the connection, and the data come from `to`.
ASKING = frozenset({"web", "request"})
#: Data packets whose payload is on average below this share of the MSS are of messages smaller than a segment.
_SMALL = 0.75


def are_small(delivered: float, received: float, mss: float) -> bool:
    """Whether messages are smaller than a segment, by the bytes delivered, the data packets received and the MSS in bytes.

    >>> are_small(40_000, 100, 1460), are_small(146_000, 100, 1460), are_small(0, 0, 1460)
    (True, False, False)
    """
    return 0 < delivered < _SMALL * mss * received
