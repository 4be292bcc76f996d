"""Max-min fair shares of links (Bertsekas and Gallager, Data Networks, section 6.5.2), by progressive filling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Demand:
    """Flows of one path that want the same: how many on average, over which links, and at most which rate each, in bit/s."""

    count: float
    links: tuple[int, ...]
    most: float = math.inf


@dataclass(frozen=True)
class Share:
    """The rate of a flow in bit/s, the link that sets it (`None` if it wants no more), and how many flows that link has for it."""

    rate: float
    link: int | None
    among: float


def max_min(demands: Sequence[Demand], rates: Mapping[int, float]) -> list[Share]:
    """The max-min fair share of a flow of each demand, for links of these rates.

    What a flow cannot use, since it wants less or another link holds it back, is for the others.

    >>> fast, slow, both = Demand(1, (0,)), Demand(1, (1,)), Demand(1, (0, 1))
    >>> [share.rate for share in max_min([fast, slow, both], {0: 10.0, 1: 4.0})]
    [8.0, 2.0, 2.0]
    >>> [share.rate for share in max_min([Demand(1, (0,), 1.0), Demand(2, (0,))], {0: 10.0})]
    [1.0, 4.5]
    """
    left, all_on = dict(rates), dict.fromkeys(rates, 0.0)
    for demand in demands:
        for link in demand.links:
            all_on[link] += demand.count
    found: dict[int, Share] = {}
    waiting = set(range(len(demands)))
    while waiting:
        counts: dict[int, float] = {}
        for number in waiting:
            for link in demands[number].links:
                counts[link] = counts.get(link, 0.0) + demands[number].count
        # A link with less than one flow on average is had by that flow alone.
        levels = {link: max(0.0, left[link]) / max(1.0, count) for link, count in counts.items()}
        narrow = min(levels, key=lambda link: levels[link], default=None)
        level = levels[narrow] if narrow is not None else math.inf
        content = [number for number in waiting if demands[number].most <= level]
        fixed = content or [number for number in waiting if narrow is None or narrow in demands[number].links]
        for number in fixed:
            demand = demands[number]
            among = max(1.0, all_on[narrow]) if narrow is not None else 1.0
            found[number] = Share(demand.most, None, 1.0) if content else Share(level, narrow, among)
            for link in demand.links:
                left[link] -= demand.count * found[number].rate
            waiting.remove(number)
    return [found[number] for number in range(len(demands))]
