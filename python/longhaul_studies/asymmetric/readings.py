"""Other readings of what the thesis leaves open: its sender's loss recovery, when fades came, what its clocks and shapers did."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from ..changing import Change, of_flows, of_middleboxes, with_changes
from ..model import Case, Reading
from ..results import Results
from ..verdict import Judgement, median
from .measures import completion, silence_but_strays
from .scenarios import ADVERTISED
from .targets import dormancy, judged_files

#: Targets of fades in the steady state, and of the file of 12 MB.
_FADES = ("N-14", "N-16", "N-17", "N-18", "X-08", "X-10", "X-11")
#: When the fades of the file come instead: the thesis gives no times. About a fifth and a quarter of its 100 s.
_EARLY = {25.0: 16.0, 25.4: 16.4, 37.0: 20.0, 37.4: 20.4, 50.0: 25.0, 50.4: 25.4}
#: Two fades of this length, at these times in s and a part of a round trip later, by the time of the one fade that they replace.
_SHORT, _TWO, _LATER = 0.05, (20.0, 40.0), {at: step / 6 for step, at in enumerate(_EARLY)}
#: Lengths of short fades, by those that they replace.
_SHORTER = {0.05: 20, 0.1: 30, 0.2: 35, 0.3: 40, 0.5: 50}


def _fades(start: Callable[[float], list[float]]) -> Change:
    """The outages of the satellite, in place of the one at a time in s."""

    def change(content: dict[str, Any]) -> None:
        there = content["link"][0]["forward"]
        (outage,) = there["outages"]
        begun = float(str(outage["start"]).removesuffix(" us")) / 1e6
        there["outages"] = [{**outage, "start": f"{round(at * 1000)} ms"} for at in start(begun)]

    return change


def _early(case: Case) -> Case | None:
    at = case.parameters.get("at")
    return with_changes(case, _fades(lambda _: [_EARLY[at]])) if at in _EARLY else None


def _twice(case: Case) -> Case | None:
    later = _LATER.get(case.parameters.get("at", 0.0))
    if case.parameters.get("fade") != _SHORT or later is None:
        return None
    return with_changes(case, _fades(lambda _: [at + later for at in _TWO]))


def _files_twice(results: Results) -> Judgement:
    """Both times of the file with two fades, as medians over their moments."""
    of = {
        policy: [results["file"].where(policy=policy, fade=_SHORT, at=at)[0] for at in _LATER]
        for policy in ("P1", "P3")
    }
    times = {policy: [completion(row) for row in rows] for policy, rows in of.items()}
    faster = sum(late < early for early, late in zip(times["P1"], times["P3"], strict=True))
    expired = ", ".join(f"{policy} {sum(row['timeouts'] for row in rows):.0f} RTOs" for policy, rows in of.items())
    return judged_files({policy: median(taken) for policy, taken in times.items()}, faster, len(_LATER), f"; {expired}")


def _short(case: Case, more: Mapping[str, Any] = MappingProxyType({})) -> Case | None:
    """Fades in the steady state under P3, and those of the file."""
    steady = case.parameters.get("policy") == "P3" and "moment" in case.parameters
    if not (steady or case.parameters.get("at") in _EARLY):
        return None

    def change(content: dict[str, Any]) -> None:
        (outage,) = content["link"][0]["forward"]["outages"]
        outage["duration"] = f"{_SHORTER[case.parameters['fade']]} ms"

    return with_changes(case, change, of_flows({"receive_buffer": f"{ADVERTISED} B", **more}))


def _uneven(milliseconds: int) -> Change:
    """The line delivers so much later at most, in order."""

    def change(content: dict[str, Any]) -> None:
        content["link"][0]["reverse"]["jitter"] = f"{milliseconds} ms"

    return change


def _vegas(case: Case) -> Case | None:
    if case.parameters.get("congestion") != "vegas":
        return None
    return with_changes(case, of_flows({"congestion": {"rtt": "distinguished"}}))


def _isolated_ignored(results: Results) -> Judgement:
    return dormancy(results, silence_but_strays)


_SENDER = (
    "The thesis names Linux 2.2 with SACK and FACK, and describes a sender that repairs one packet in a round trip, sometimes after an RTO. No recovery does all of that at once:"
    " see the table *What depends on the sender*."
)
_LINE = "The test bed's emulator released packets by a clock of 10 ms, which delays them by 10 ms at most, and its headers varied from packet to packet. More than 10 ms is ours: the thesis does not state how much its line varied."

READINGS = (
    Reading(
        "NewReno, one repair in a round trip",
        'Losses are repaired by NewReno, which restarts its timer with every partial ACK (`variant = "newreno"`, `slow_but_steady = true`).',
        f"{_SENDER} RFC 6582 (section 4) has this as its slow-but-steady form.",
        _FADES,
        lambda case: with_changes(case, of_flows({"variant": "newreno", "slow_but_steady": True})),
    ),
    Reading(
        "NewReno",
        'Losses are repaired by NewReno, whose timer runs on from the first partial ACK (`variant = "newreno"`).',
        f"{_SENDER} RFC 6582 specifies this form, the impatient one (section 3.2). Without SACK Linux 2.2 repairs one packet in a round trip too.",
        _FADES,
        lambda case: with_changes(case, of_flows({"variant": "newreno"})),
    ),
    Reading(
        "SACK of 1996",
        'Losses are repaired by SACK with the pipe of 1996 (`variant = "sack1"`).',
        f"{_SENDER} It is the SACK that the literature of the time describes (Fall and Floyd).",
        _FADES,
        lambda case: with_changes(case, of_flows({"variant": "sack1"})),
    ),
    Reading(
        "SACK of RFC 6675, isolated segments ignored",
        'Losses are repaired by SACK of RFC 6675 (`variant = "sack"`); and a pause ends with new segments of which another follows within a round trip of 1 s.',
        f"{_SENDER} The thesis reads its pauses off graphs, in which a single segment between two of them hardly shows.",
        _FADES,
        lambda case: with_changes(case, of_flows({"variant": "sack"})),
        {"N-16": _isolated_ignored},
    ),
    Reading(
        "pauses, isolated segments ignored",
        "A pause ends with new segments of which another follows within a round trip of 1 s. The runs are the base's.",
        "The thesis reads its pauses off graphs, and has them last 'about 10' (6.4.4) and 'at least 10' seconds (6.4.3). A single segment between two pauses hardly shows there.",
        ("N-16",),
        judges={"N-16": _isolated_ignored},
    ),
    Reading(
        "short fades, the window of section 5.5.2",
        "Fades last 20 to 50 ms instead of 50 to 500, the receiver advertises 260,002 bytes; isolated segments are ignored, as above.",
        "The thesis does not give the length of its fades, pulls a cable for some, and gives this window for its improved system.",
        ("N-14", "N-16", "N-17", "N-18"),
        _short,
        {"N-16": _isolated_ignored},
    ),
    Reading(
        "short fades, the window of section 5.5.2, SACK of RFC 6675",
        'As above, and losses are repaired by SACK of RFC 6675 (`variant = "sack"`).',
        "The thesis names SACK beside FACK.",
        ("N-14", "N-16", "N-17", "N-18"),
        lambda case: _short(case, {"variant": "sack"}),
        {"N-16": _isolated_ignored},
    ),
    Reading(
        "fades early in the transfer",
        "The file's fade comes at 16 to 25 s instead of 25 to 50 s.",
        "The thesis gives neither number, nor length, nor times of the losses of its transfers.",
        ("N-17",),
        _early,
    ),
    Reading(
        "two fades in a transfer",
        "The file has two fades of 50 ms, at 20 and 40 s, and at five moments of the round trip behind.",
        "The thesis gives neither number, nor length, nor times of the losses of its transfers, and says losses.",
        ("N-17",),
        _twice,
        {"N-17": _files_twice},
    ),
    *(
        Reading(
            f"{most} ms of jitter on the line",
            f'What the line delivers comes up to {most} ms later, in order (`jitter = "{most} ms"`).',
            _LINE,
            ("N-13",),
            lambda case, most=most: with_changes(case, _uneven(most)),  # type: ignore[misc]
        )
        for most in (10, 20, 50)
    ),
    Reading(
        "compaction with a fixed wait",
        "ACKs gather for 50 ms, without regard to what the line still sends, and leave at 100 a second (`pace = false`).",
        "The thesis has its compactor wait for a fixed 50 to 100 ms, and proposes to wait for the line as something better.",
        ("N-23b", "X-15"),
        lambda case: (
            with_changes(case, of_middleboxes(pace=False, wait="50 ms")) if case.parameters["form"] != "VJ" else None
        ),
    ),
    Reading(
        "Vegas by its distinguished segment",
        'The round trip of a round is that of its first segment (`rtt = "distinguished"`) instead of the least.',
        "Brakmo and Peterson measure so (1995, section III-B). The thesis's Linux Vegas has a filter for the least.",
        ("N-20",),
        _vegas,
    ),
)
