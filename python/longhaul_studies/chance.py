"""Whether a scenario's results depend on chance, and how many runs a verdict then needs."""

from __future__ import annotations

import re

#: Runs of a point with random numbers that a verdict needs, unless the rule of `seeds` applies to the point.
SEEDS = 5
#: First seeds of a point under that rule, at the scale of readings.
FEWEST = 3
#: What a scenario draws from the seed: distributions, random losses, RED, hosts' jitter.
_DRAWN = re.compile(r"probability|uniform|pareto|exponential|lomax|normal|\"red\"|jitter|send_overhead|gilbert|markov")


def draws(document: object) -> bool:
    """Whether a scenario draws anything at random, so that runs with other seeds differ."""
    return _DRAWN.search(str(document)) is not None
