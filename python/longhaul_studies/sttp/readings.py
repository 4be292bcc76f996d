"""Other readings of what the thesis leaves open or states twice, beside the ones that are taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..changing import Change, of_flows, of_links, of_run, with_changes
from ..model import Case, Reading
from .scenarios import PLAIN_TIMER, spaced
from .tables import APPENDIX_1, APPENDIX_2, TABLE_4_5
from .targets import restart

_A1 = {p: tuple(f"A1 {p} {n}" for n in APPENDIX_1) for p in ("reno", "vegas", "sttp")}
_A2 = {p: tuple(f"A2 {p} {n}" for n in APPENDIX_2) for p in ("reno", "vegas", "sttp")}
_T45 = tuple(f"T4.5 {p} {n}" for p, n in TABLE_4_5)
_LONG = ("L200 reno", "L200 sttp", "L300 reno", "L300 sttp", "L200 ratio", "L300 ratio")
_FIRST = (*(f"T4.4 {p} {n}" for p in ("reno", "sttp") for n in range(1, 7)), "E1a", "E1b", "E1c", "E1d", "E1e", "E1f")
#: The timer of RFC 6298 in place of ns-2's.
_PLAIN = {**PLAIN_TIMER, "ticks": None, "one_sample_per_round": None}
_MIXED = ("E6a", "E6b", "E6c")


def _where(*changes: Change, **parameters: Any) -> Callable[[Case], Case | None]:
    """The changes at points with these parameters (a value, or several in a tuple); the others are the base's."""

    def change(case: Case) -> Case | None:
        for name, wanted in parameters.items():
            if case.parameters.get(name) not in (wanted if isinstance(wanted, tuple) else (wanted,)):
                return None
        return with_changes(case, *changes)

    return change


def _start(start: Mapping[str, Any]) -> Change:
    """All flows start so."""

    def change(content: dict[str, Any]) -> None:
        for flow in content["flow"]:
            flow["start"] = dict(start)

    return change


def _buffers(packets: int) -> Callable[[Case], Case | None]:
    """Experiment 1 with buffers of so many packets at every link."""

    def change(content: dict[str, Any]) -> None:
        for link in content["link"]:
            link["queue"] = f"{packets} packets"

    return lambda case: with_changes(case, change)


READINGS = (
    Reading(
        "the timer of RFC 6298",
        "RTT samples of every ACK, SRTT and RTTVAR as real numbers, and an RTO of at least 200 ms (`rto.ticks = false`, `rto.one_sample_per_round = false`).",
        "The thesis names no timer. The base has that of the simulator it used: integers in ticks of 100 ms, whose RTO stays three ticks above SRTT.",
        (*_A1["reno"], *_A1["vegas"], *_A2["reno"], *_A2["vegas"], *_LONG, "E2d", "E2e", "E4d", "E4e", "E4f"),
        _where(of_flows({"rto": _PLAIN}), protocol=("reno", "vegas")),
    ),
    Reading(
        "an RTO of at least 1 s",
        'The timer of RFC 6298 with its smallest value (`rto.min = "1 s"`, no ticks).',
        "RFC 2988 has had it since 2000, and later versions of ns-2 may be set to it.",
        (*_A1["reno"], *_A1["vegas"], *_A2["reno"], *_A2["vegas"], "E2d", "E2e", "E4d", "E4e", "E4f"),
        _where(of_flows({"rto": {**_PLAIN, "min": "1 s"}}), protocol=("reno", "vegas")),
    ),
    Reading(
        "simultaneous events in ns-2's order",
        'Events of one time go by the order in which they were scheduled (`run.ties = "scheduled"`).',
        "The thesis was made with ns-2, whose scheduler does so. The base spreads such ties by a hash.",
        (
            *_A1["reno"],
            *_A1["vegas"],
            *_A1["sttp"],
            *_T45,
            *_LONG,
            "E2b",
            "E2c",
            "E2f",
            "E3b",
        ),
        lambda case: with_changes(case, of_run(ties="scheduled")),
    ),
    Reading(
        "a start every 0.2 s",
        "In experiment 2 a source starts every 0.2 s instead of every 2 s.",
        "The thesis gives the starts of experiment 4 (2 s) and of the long runs (5 s), and none for experiment 2.",
        (*_A1["sttp"], *_A1["reno"], *_A1["vegas"], "E2b", "E2c", "E2d", "E2e", "E2f", "E2g"),
        lambda case: with_changes(case, _start(spaced(0.2))),
    ),
    Reading(
        "a first start at 2.5 s",
        "In the long runs the first source starts at 2.5 s instead of 0.1 s.",
        "Every long run of the thesis passes about 0.2 MB less than the link carries, which is 2 to 2.5 s without packets. Its column of durations has a start at 0.1 s.",
        _LONG,
        lambda case: with_changes(case, _start(spaced(5, first=2.5))),
    ),
    Reading(
        "a start every 2 s from 2.5 s on",
        "In the long runs a source starts every 2 s, as in the other experiments, instead of every 5 s; the first at 2.5 s.",
        "The thesis has 5 s for the long runs. With 5 s the last of 40 sources starts at the end of 200 s, and Reno loses 7.0 % over 200 s and 9.1 over 300; in the thesis it loses 11.7 and 10.4.",
        _LONG,
        lambda case: with_changes(case, _start(spaced(2, first=2.5))),
    ),
    Reading(
        "probes given up after 1 s",
        'A probe is waited for 1 s (`probe timeout = "1 s"`), as in practice here.',
        "The thesis suggests a timer for probes and has none: that of 1 s is our own.",
        (*_A1["sttp"], *_A2["sttp"], *(name for name in _T45 if "sttp" in name), "E2f", "E3b"),
        lambda case: (
            with_changes(case, of_flows({"slow_start": {"timeout": "1 s"}}))
            if str(case.parameters.get("protocol", "")).startswith("sttp")
            else None
        ),
    ),
    Reading(
        "starts within 0.1 s",
        "In experiment 3 all sources start within 0.1 s instead of one every 10 s from 1 s on.",
        "The thesis does not give the starts of experiment 3. Its totals do: one source sends 20 packets less than the link carries in 2000 s, and of two sources the first sends 169 more, which"
        " the link carries in 10.6 s.",
        _T45,
        lambda case: with_changes(case, _start({"uniform": ["0 s", "100 ms"]})),
    ),
    Reading(
        "a buffer of 128 packets in experiment 6",
        "The router's buffer is that of experiment 2, 128 packets, instead of 64.",
        "The thesis gives the rates and delays of experiment 6, and no buffer. The base has that of its basic configuration, 64 kB.",
        _MIXED,
        lambda case: with_changes(case, of_links(queue={"limit": "128 packets"}, only="bottleneck")),
    ),
    Reading(
        "experiment 1 with buffers of 200 packets",
        "All buffers have 200 packets instead of 64. Windows are the base's: none for Reno, 20 packets for STTP.",
        "REAL's buffers are not given. Any buffer is filled by Reno without a window, and 200 packets hold what six windows of 20 have in flight.",
        _FIRST,
        _buffers(200),
    ),
    Reading(
        "the average window beside Tahoe",
        "The average window is compared with Tahoe, which begins again with one packet after every loss, instead of Reno.",
        "REAL's TCP is not described; the first it had was Tahoe.",
        ("C1",),
        judges={"C1": restart("tahoe")},
    ),
    Reading(
        "the average window after a fast retransmit too",
        "The average window is taken after a fast retransmit, not only after a timeout (`on_fast_retransmit = true`).",
        'The thesis has it "on loss or timeout restart".',
        ("C1",),
        lambda case: (
            with_changes(case, of_flows({"congestion": {"on_fast_retransmit": True}}))
            if case.parameters["protocol"] == "reno average"
            else None
        ),
    ),
)

Verdicts = tuple[int, int, int]
#: Groups of the thesis's targets: verdicts (reproduced, partly, not) before and now, how many some reading or the base reproduces, and why.
MOVED: tuple[tuple[str, Verdicts, Verdicts, int, str], ...] = (
    ("App. T1, Reno", (3, 6, 11), (19, 1, 0), 19, "ns-2's timer: the RTO stays three ticks above SRTT"),
    ("App. T1, Vegas", (7, 13, 0), (12, 8, 0), 18, "the timer; with starts every 0.2 s six rows more"),
    ("App. T1, STTP", (1, 16, 3), (2, 16, 2), 13, "its small losses depend on the starts, which the thesis does not give"),
    ("App. T2, Reno", (3, 7, 0), (4, 6, 0), 4, "open: from 50 sources on more is sent, with any timer"),
    ("App. T2, Vegas", (3, 7, 0), (3, 7, 0), 3, "open, as Reno"),
    ("App. T2, STTP", (7, 3, 0), (7, 3, 0), 8, "probes"),
    ("T4.4, T4.5, T5.2, T5.3 and claims", (19, 21, 15), (19, 21, 15), 23, "E1d and E6b gain (timer of probes, buffer); S5a, E6a lose"),
)  # fmt: skip


def _moved() -> str:
    """The rows of the table, and their sums."""

    def row(what: str, before: Verdicts, now: Verdicts, some: int, why: str) -> str:
        slashed = [" / ".join(map(str, counts)) for counts in (before, now)]
        return f"| {what} | {sum(now)} | {slashed[0]} | {slashed[1]} | {some} | {why} |"

    def total(which: int) -> Verdicts:
        first, second, third = (sum(counts) for counts in zip(*(one[which] for one in MOVED), strict=True))
        return first, second, third

    last = row("all of the thesis", total(1), total(2), sum(one[3] for one in MOVED), "")
    return "\n".join([*(row(*one) for one in MOVED), last])


ABOUT = f"""
**What moved.** Before, the base had RFC 6298's timer, probes that were given up after 1 s, starts within 0.1 s in experiment 3 and 128 packets in
experiment 6: choices of ours, now readings. The thesis, its simulator and its own totals give others (decisions T, 19, 21).

| targets of the thesis | number | before: reproduced / partly / not | base now | with some reading reproduced | why |
|---|---:|---|---|---:|---|
{_moved()}

"Before" is the scale `full` with ten seeds, "now" the scale `quick` with five.
"""
