"""Other readings of what the study leaves open about bursts, RED's marks and the background traffic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..changing import Change, of_links, with_changes
from ..model import Case, Reading
from .scenarios import DURATION

#: Targets of runs with bursts: ten flows (E4), and ten with a competitor (E10).
_BURSTS = (
    "E4.1", "E4.2", "E4.3", "E4.4", "E4.5", "E4.6", "E4.7", "E4.8", "E4.9", "E4.10", "E10.1", "E10.2", "E10.3", "E10.4", "E10.5", "E10.6", "E10.7",
    "D7", "D12", "D15",
)  # fmt: skip
#: Those with RED alone.
_MARKED = ("E4.1", "E4.2", "E4.3", "E4.5", "E4.7", "E4.8", "E10.1", "E10.2", "E10.5", "D7")


def _one_segment(content: dict[str, Any]) -> None:
    """Bursts begin with a handshake and one segment."""
    for flow in content["flow"]:
        if flow["name"] == "perturbations":
            flow["tcp"] |= {"initial_window": "1 packets", "established": False}


#: The script's generator (section 2.6): packets of 1460 bytes with their headers, 28 of them, at 3000 kbit/s in bursts. Times of bursts
#: and pauses are an argument of the script; half a second is ns-2's default.
_PARETO = {
    "kind": "on_off", "rate": f"{3_000_000 * 1432 // 1460} bit/s", "message": "1432 B",
    "on": {"pareto": "500 ms", "shape": 1.5}, "off": {"pareto": "500 ms", "shape": 1.5},
}  # fmt: skip


def _over_udp(content: dict[str, Any]) -> None:
    """In place of the bursts over TCP as many on/off sources over UDP, which start in the first fortieth of a run."""
    for flow in content["flow"]:
        if flow["name"] == "perturbations":
            for key in ("duration", "ending", "tcp", "send_overhead"):
                del flow[key]
            flow |= {"transport": "udp", "app": dict(_PARETO), "start": {"uniform": ["0 s", f"{DURATION / 40:g} s"]}}


def _no_web(content: dict[str, Any]) -> None:
    """Of the background traffic the small flows stay."""
    content["flow"] = [flow for flow in content["flow"] if not flow["name"].startswith("web_")]


def _with_bursts(change: Change, queues: tuple[str, ...] = ("red", "droptail")) -> Callable[[Case], Case | None]:
    def changed(case: Case) -> Case | None:
        concerned = case.parameters.get("p", 0) > 0 and case.parameters["queue"] in queues
        return with_changes(case, change) if concerned else None

    return changed


def _udp(case: Case) -> Case | None:
    """Runs with RED: sets of one kind, and ten flows with a HighSpeed flow."""
    of_ten = case.parameters.get("set") in ("hstcp", "regtcp") or case.parameters.get("competitor") == "hstcp"
    return _with_bursts(_over_udp, ("red",))(case) if of_ten else None


def _of_two(case: Case) -> Case | None:
    """One flow of each kind."""
    concerned = case.parameters.get("set") == "mixed" and case.parameters.get("n") == 2
    return with_changes(case, _no_web) if concerned else None


READINGS = (
    Reading(
        "bursts that begin with one segment",
        'A burst begins with a handshake and a window of one segment (`initial_window = "1 packets"`, `established = false`); everything else is the base\'s.',
        "Section 2.1.2 describes standard TCP with an initial window of one segment, and in ns-2 packet 0 may stand for a SYN (`syn_`). The base has two packets and no handshake, so that a burst"
        " doubles its window twice more within its 1.6 s.",
        _BURSTS,
        _with_bursts(_one_segment),
    ),
    Reading(
        "marks up to a full buffer",
        "RED marks packets at any probability (`mark_limit = 1.0`); everything else is the base's.",
        "Section 7.2.3 has RED's probability rise to the buffer and names no end of marks. The base has ns-2's: from a probability of 0.1 on it drops (decision B3).",
        _MARKED,
        _with_bursts(of_links("bottleneck", queue={"mark_limit": 1.0}), ("red",)),
    ),
    Reading(
        "bursts over UDP",
        'In place of bursts over TCP there are as many on/off sources over UDP (`transport = "udp"`): 3 Mbit/s in bursts, bursts and pauses of 0.5 s on the mean, both Pareto with shape 1.5.',
        "The study's script has such a generator (`nrudpflows`, section 2.6), which none of its experiments names. Its mean times are an argument; 0.5 s is ns-2's default.",
        ("E4.1", "E4.2", "E10.2", "E10.5"),
        _udp,
    ),
    Reading(
        "small flows only",
        "The background traffic has its ten small flows each way and no web sessions; points of one flow of each kind.",
        "The study names no number of web sessions (A8).",
        ("E2.12", "E2.13"),
        _of_two,
    ),
)

ABOUT = """
**What moved.** How bursts begin decides how much they harm. With one segment, as section 2.1.2 describes TCP, much of the chapter of bursts is the study's. With RED HighSpeed TCP falls slowly (E4.1), standard
TCP in the mixed set hardly changes (E4.8), parallel streams fall (E10.1), and one HighSpeed flow beside ten gains a little (E10.2, *partly*). With DropTail streams and HighSpeed flow keep their share (E10.3). The fairness
stays with both queues (E4.9). Two claims fare worse. With DropTail standard TCP keeps 99.4 % and more at 70 bursts in three of five runs, and 19.6 and 26.7 % in two: HighSpeed TCP, which keeps it in each, is better in these two alone (D15, *partly*).
And with DropTail as much is stolen from the ten flows at 70 bursts as without (E10.7, *partly*); with RED they have more then beside a competitor than alone.
With marks up to a full buffer the HighSpeed flow beside ten gains at 30 bursts and
loses at 70. Without web sessions in the background one run of five has RF above 35, and above 20 with DropTail (E2.12 and E2.13, *partly*). 70 bursts over UDP take 10.6 % of the link
from standard and HighSpeed TCP alike, and both keep the rest (E4.1, E4.2); the HighSpeed flow beside ten has 37 and 31.1 % with 30 and 70 of them, after 34.9 % without (E10.2). They are not what the study's chapter has. The reading without web sessions has one flow of each kind and five seeds; the others have sets of ten flows.

**Not run** with marks up to a full buffer: sets of ten flows and parallel streams (E4.1, E4.2, E4.3, E4.5, E4.7, E4.8, E10.1, D7). With bursts over UDP E10.5 depends on one of three runs, and has no verdict.
"""
