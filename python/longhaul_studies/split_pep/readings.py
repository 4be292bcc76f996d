"""Other readings of the thesis's runs: what ns-2 does that the base does not, and the access links that the thesis calls settable."""

from __future__ import annotations

from collections.abc import Callable

from ..changing import Change, of_flows, of_middleboxes, of_run, with_changes
from ..model import Case, Reading
from .scenarios import DELAYED, NS2_SACK

#: Targets of runs without the PEP: files, and Pareto sources.
_FILES = ("S2a", "S2b", "S2c", "S3c", "S3d", "S5a", "S5b", "S5c", "S5e", "S6a", "S6b", "S6c", "S8a")
_SOURCES = ("S9a", "S9b", "S9c", "S10d", "S11c", "S11d", "S11e", "S11f", "S11l", "S11m", "S11k")
#: Targets of what the PEP gains.
_GAINS = ("S8b", "S8d", "S8e")
_FAST = {"rate": "1 Gbit/s"}


def _without_pep(*changes: Change) -> Callable[[Case], Case | None]:
    """The changes in runs without the PEP; those with it are the base's."""
    return lambda case: with_changes(case, *changes) if case.parameters["mode"] == "none" else None


def _shared(case: Case) -> Case | None:
    """The shared connection of SACK and 50 flows, with ns-2's recovery at all hosts."""
    if case.parameters["mode"] != "sack":
        return None
    return with_changes(case, of_flows(NS2_SACK, count=50), of_middleboxes(long=NS2_SACK))


_IN_NS2 = (
    "Simultaneous events go by the order in which they were scheduled, and SACK recovers with the pipe of 1996 (Fall and Floyd), in which lost packets stay"
    ' (`run.ties = "scheduled"`, `variant = "sack1"`)'
)
READINGS = (
    Reading(
        "ns-2's order",
        f"{_IN_NS2}. Runs with the PEP are the base's.",
        "The thesis was made with ns-2, whose scheduler keeps events of one time in the order of their scheduling, and whose Sack1 is that of 1996. The base spreads such ties by a hash, which"
        " favours no flow.",
        (*_FILES, *_SOURCES, *_GAINS),
        _without_pep(of_run(ties="scheduled"), of_flows(NS2_SACK)),
    ),
    Reading(
        "ns-2's order, faster access",
        f"{_IN_NS2}, and access links have 1 Gbit/s. Runs with the PEP are the base's.",
        "The thesis calls the rate of the access links settable and names 100 Mbit/s. With the bottleneck's own rate they shape the bursts of slow start, so that a single flow loses in its access"
        " link.",
        (*_FILES, *_SOURCES, *_GAINS),
        _without_pep(of_run(ties="scheduled"), of_flows(NS2_SACK, access=_FAST)),
    ),
    Reading(
        "delayed ACKs, faster access",
        "Receivers acknowledge every second packet, or after 100 ms, and access links have 1 Gbit/s. Runs with the PEP are the base's.",
        "The thesis has sinks that delay ACKs at the split nodes, and does not say which sinks the receivers have.",
        ("S8b", "S8d", "S8e", "S6a", "S6b", "S6c", "S2a", "S2b", "S2c"),
        _without_pep(of_flows(DELAYED, access=_FAST)),
    ),
    Reading(
        "ns-2's SACK on the split link, 50 flows",
        'The shared connection and the hosts recover with the pipe of 1996 (`variant = "sack1"`), and 50 flows share it instead of 10.',
        "It is the SACK that ns-2 has, and 50 flows are those of figures 4.2 to 4.4 and 4.7; the thesis gives no number for figure 4.1. The window at the end of slow start depends on how its losses are"
        " repaired, and the losses on how much the flows offer.",
        ("S1a", "S1b"),
        _shared,
    ),
)

ABOUT = """
**What moved.** Without the PEP the FTP flows and the Pareto sources were run in ns-2's order, with five seeds. The order is most of the difference with Pareto sources: with 750 of them the link carries 94.5, 90.6
and 88.3 Mbit/s over 3000, 1500 and 1000 packets (the thesis 95.3, 89.9 and 87.2; the base 96.2, 95.4 and 94.2), over 600 packets with 750 and 1500 sources 87.4 (82.0; 94.3), over 300 packets 84.2 (80.0; 91.4). Behind access links of 1 Gbit/s it is 94.2, 88.5 and 86.6 Mbit/s, 84.5 and 86.2: the thesis's to 3.1 %, but for 300 packets.
With 50 FTP flows the thesis lies between both
orders: over 1500 packets only ns-2's reproduces it, over 1000 and 600 only the base does. Behind access links of 1 Gbit/s they have less than the thesis (82.5 Mbit/s over 1000, S2c). With 500 flows over 3000 packets only ns-2's does; behind access links of 1 Gbit/s these flows have the thesis's numbers to 3.2 % over each queue (92.8, 87.8 and 84.1 Mbit/s), and its dips (S5e). A single flow behind such an access link gains as the thesis has it, over 300 packets and not over 3000 (S8d), where no number of flows gains (S8b). With access links of either rate 500 flows carry more than 50, and not less as in the thesis (S8a).
With ns-2's SACK at all nodes, and 50 flows on the shared connection, its first back-off (S1a) is the thesis's: 5515 s, after 4373 in the base. Two groups of targets changed. Of S9d to f and S11g to j a level within 3 % hid that an effect is absent: a long RED queue hurts in the thesis
(93.8 and 91.0 Mbit/s against 95.4 and 94.4), and all are alike here. With the contrast of queues, which is a part of them now, all seven are *partly* reproduced; before, they were reproduced.
S7 is over the queues of figure 4.7, run at the scale `quick` (five seeds at each): 24.5 % with DropTail is reproduced, 4.2 % with RED *partly*.

**Not run** in ns-2's order: the gains S8b, S8d, S8e and S11k. With faster access links in that order S8e and S11k were not run, and
with faster access and delayed ACKs all but S8d.
"""
