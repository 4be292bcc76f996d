"""Max-min fair shares of links (Bertsekas and Gallager, Data Networks, section 6.5.2), by progressive filling."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Demand:
    """Flows of one path that want the same: how many on average, over which links, and at most which rate each, in bit/s."""

    count: float
    links: tuple[int, ...]
    most: float = math.inf
    #: Their weight in queues that serve by weight.
    weight: float = 1.0


@dataclass(frozen=True)
class Share:
    """The rate of a flow in bit/s, the link that sets it (`None` if it wants no more), and how many flows that link has for it."""

    rate: float
    link: int | None
    among: float


def max_min(demands: Sequence[Demand], rates: Mapping[int, float], by_weight: Collection[int] = ()) -> list[Share]:
    """The max-min fair share of a flow of each demand, for links of these rates; those of `by_weight` serve by weight.

    What a flow cannot use, since it wants less or another link holds it back, is for the others.

    >>> fast, slow, both = Demand(1, (0,)), Demand(1, (1,)), Demand(1, (0, 1))
    >>> [share.rate for share in max_min([fast, slow, both], {0: 10.0, 1: 4.0})]
    [8.0, 2.0, 2.0]
    >>> [share.rate for share in max_min([Demand(1, (0,), 1.0), Demand(2, (0,))], {0: 10.0})]
    [1.0, 4.5]
    >>> [share.rate for share in max_min([Demand(1, (0,)), Demand(1, (0,), weight=9.0)], {0: 10.0}, by_weight={0})]
    [1.0, 9.0]
    """

    def weight(demand: Demand, link: int) -> float:
        return demand.weight if link in by_weight else 1.0

    left, all_on = dict(rates), dict.fromkeys(rates, 0.0)
    for demand in demands:
        for link in demand.links:
            all_on[link] += demand.count
    found: dict[int, Share] = {}
    waiting = set(range(len(demands)))
    while waiting:
        counts: dict[int, float] = {}
        weights: dict[int, float] = {}
        least: dict[int, float] = {}
        for number in waiting:
            demand = demands[number]
            for link in demand.links:
                own = weight(demand, link)
                counts[link] = counts.get(link, 0.0) + demand.count
                weights[link] = weights.get(link, 0.0) + demand.count * own
                least[link] = min(least.get(link, math.inf), own)
        # For a weight of 1. A link with less than one flow on average is had by that flow alone.
        levels = {link: max(0.0, left[link]) / (weights[link] / min(1.0, count)) for link, count in counts.items()}
        narrow = min(levels, key=lambda link: levels[link] * least[link], default=None)

        def level_of(number: int, narrow: int | None = narrow, levels: Mapping[int, float] = levels) -> float:
            # What another link leaves it bounds what the narrowest one would give to a large weight.
            each = (levels[link] * weight(demands[number], link) for link in demands[number].links)
            return math.inf if narrow is None else min(each, default=math.inf)

        content = [number for number in waiting if demands[number].most <= level_of(number)]
        fixed = content or [number for number in waiting if narrow is None or narrow in demands[number].links]
        granted = {number: level_of(number) for number in fixed}
        for number in fixed:
            demand = demands[number]
            among = max(1.0, all_on[narrow]) if narrow is not None else 1.0
            found[number] = Share(demand.most, None, 1.0) if content else Share(granted[number], narrow, among)
            for link in demand.links:
                left[link] -= demand.count * found[number].rate
            waiting.remove(number)
    return [found[number] for number in range(len(demands))]
