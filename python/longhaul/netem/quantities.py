"""Common parts of reading and writing lines of netem."""

from __future__ import annotations

from collections.abc import Mapping

#: Bytes of a full packet, by which packets on the wire are counted.
PACKET = 1500
#: Bytes of the Ethernet header, which netem's rate counts.
ETHERNET = 14


def shown(amount: float, units: Mapping[str, int], space: str) -> str:
    """A number in the largest of these units in which it has three decimals at most; an empty text for none at all.

    >>> shown(80e6, {"s": 10**9, "ms": 10**6, "ns": 1}, " "), shown(1501, {"ms": 10**6, "ns": 1}, "")
    ('80 ms', '1501ns')
    """
    whole = round(amount)
    for name, scale in units.items():
        if whole >= scale and whole * 1000 % scale == 0:
            return f"{whole / scale:.10g}{space}{name}"
    return ""
