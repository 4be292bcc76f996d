"""Experiments and their points at each scale. The full scale is the thesis's campaign: figures 4.1 to 4.12."""

from __future__ import annotations

from typing import Any

from ..model import Case, Experiment
from . import related
from .scenarios import READINGS, case

SCALES = {
    "tiny": "single runs of a minute, for continuous integration: a smoke test",
    "quick": "the points that most numbers of the thesis are for, five seeds; 600 s (2000 s for up to 10 flows), with the PEP 150 s; the run of 10,000 s",
    "full": "2000 s (300 s with the PEP and CUBIC), the run of 10,000 s, and the whole grids with one seed for the figures",
    "readings": "the points and times of `quick`, with what the thesis leaves open taken in other ways",
}

#: Figures 4.8 and 4.12: packets of the queue under test, flows; the PEP's connection; the local queue's disciplines.
QUEUES = (3000, 1500, 1000, 600, 300)
FTP_FLOWS = (1, 2, 3, 4, 5, 10, 25, 50, 100, 250, 500)
PARETO_FLOWS = (500, 650, 750, 1000, 1500)
KINDS = ("red", "droptail")
#: Seeds at each point: they change when the flows start within the first second.
SEEDS = 5

#: Duration and warm-up of a run in seconds.
_TIMES: dict[str, dict[str, Any]] = {
    "tiny": {"duration": 60, "warmup": 20},
    "quick": {"duration": 150, "warmup": 50},
    "full": {"duration": 2000, "warmup": 300},
}
#: Without the PEP: a window of a fiftieth of the pipe halves every 40 s, one of a fifth every 190 s.
_MANY: dict[str, Any] = {"duration": 600, "warmup": 200}
#: With the PEP and CUBIC means of 200 s have intervals of less than a thousandth: longer runs add nothing.
_SHARED: dict[str, Any] = {"duration": 300, "warmup": 100}


def _kinds(mode: str) -> tuple[str, ...]:
    """Disciplines of the queue under test: without the PEP it is the split link's own, which is DropTail (decision D5)."""
    return ("droptail",) if mode == "none" else KINDS


def _times(scale: str, mode: str, flows: int) -> dict[str, Any]:
    if scale == "quick" and mode == "none":
        return _MANY if flows > 10 else _TIMES["full"]
    return _SHARED if scale == "full" and mode == "cubic" else _TIMES[scale]


def ftp(scale: str) -> list[Case]:
    """S2 to S8, figures 4.2 to 4.8: flows that always have data to send."""
    if scale == "tiny":
        points = [("none", "droptail", 3000, 5), ("cubic", "red", 300, 5)]
    else:
        points = [("none", "droptail", packets, flows) for flows in (1, 50) for packets in QUEUES]
        points += [("none", "droptail", packets, flows) for flows in (5, 500) for packets in (3000, 1500, 1000)]
        points += [("none", "droptail", 1000, flows) for flows in (10, 25)]
        points += [("cubic", kind, packets, 50) for kind in KINDS for packets in QUEUES]
        points += [("cubic", "droptail", packets, flows) for flows in (1, 5) for packets in (3000, 300)]
        points += [("cubic", "red", packets, 500) for packets in (3000, 1000)]
        points += [("sack", "red", 600, 50)]
    return [
        case(
            *point, replications=1 if scale == "tiny" else SEEDS,
            tables=scale != "tiny" and point[2:] in ((600, 50), (3000, 500)), **_times(scale, point[0], point[3]),
        )
        for point in points
    ]  # fmt: skip


def pareto(scale: str) -> list[Case]:
    """S9 to S11, figures 4.9 to 4.12: on/off sources."""
    if scale == "tiny":
        return []
    points = [("none", "droptail", packets, 750) for packets in QUEUES]
    points += [("none", "droptail", 600, flows) for flows in (500, 650, 1500)]
    points += [
        ("cubic", queue, packets, 750)
        for queue, packets in (
            ("red", 1500),
            ("red", 3000),
            ("red", 1000),
            ("droptail", 1500),
            ("droptail", 3000),
            ("droptail", 600),
        )
    ]
    points += [("cubic", "red", 600, 500), ("cubic", "droptail", 600, 1500)]
    points += [("cubic", "red", packets, 1500) for packets in (3000, 1500)]
    return [
        case(
            *point, traffic="pareto", replications=SEEDS, tables=point[2:] == (1500, 750),
            **_times(scale, point[0], point[3]),
        )
        for point in points
    ]  # fmt: skip


def sweep(scale: str) -> list[Case]:
    """The whole grids of figures 4.8 and 4.12, one seed at each point; no target is judged by them."""
    if scale != "full":
        return []
    return [
        case(mode, kind, packets, flows, traffic=traffic, parameters={"traffic": traffic}, **times)
        for traffic, numbers in (("ftp", FTP_FLOWS), ("pareto", PARETO_FLOWS))
        for mode, times in (("none", _TIMES["full"]), ("cubic", _TIMES["quick"]))
        for kind in _kinds(mode)
        for packets in QUEUES
        for flows in numbers
    ]


def long_run(scale: str) -> list[Case]:
    """S1, figure 4.1: the shared connection with SACK over hours."""
    return [] if scale == "tiny" else [_hours("sack", 1)]


def long_run_of_cubic(scale: str) -> list[Case]:
    """Figure 4.1: the same with CUBIC, for the eye."""
    return [_hours("cubic", 1)] if scale == "full" else []


def _hours(mode: str, seeds: int) -> Case:
    return case(mode, "red", 600, 10, replications=seeds, tables=True, duration=10_000, warmup=300)


#: Numbers of flows and queues of the table of readings: those with numbers in the thesis.
READ_AT: dict[int, tuple[int, ...]] = {50: (3000, 1500, 1000, 600), 5: (1000,), 500: (3000, 1000), 1: (3000, 1000, 300)}


def readings(scale: str) -> list[Case]:
    """What the thesis leaves open about a run without the PEP, one change at a time; one seed."""
    if scale == "tiny":
        return []
    return [
        case("none", "droptail", packets, flows, parameters={"reading": name}, reading=name, **_times("quick", "none", flows))
        for name in READINGS
        for flows, queues in READ_AT.items()
        for packets in queues
    ]  # fmt: skip


#: Beyond the thesis: how the PEP holds senders back, and how many connections cross the long hop.
VARIANTS: dict[str, dict[str, Any]] = {
    "local queue, timer": {},
    "local queue, events": {
        "local_queue": {"queue": {"kind": "droptail", "limit": "600 packets"}, "buffer_start": "832 kB"},
    },
    "windows": {"local_queue": None, "buffer": "100 kB"},
    "windows, header": {"local_queue": None, "buffer": "100 kB", "framing": "header"},
    "windows, 4 connections": {"local_queue": None, "buffer": "100 kB", "connections": 4},
    "windows, one each": {"local_queue": None, "buffer": "100 kB", "connections": "per_flow"},
}


def flow_control(scale: str) -> list[Case]:
    """Beyond the thesis: its local queue compared with windows that close, and connections of the long hop."""
    if scale == "tiny":
        return []
    none = case("none", "droptail", 600, 50, parameters={"variant": "no PEP"}, replications=SEEDS, **_MANY)
    with_pep = [
        case(
            "cubic",
            "droptail",
            600,
            50,
            parameters={"variant": name},
            pep=settings,
            replications=SEEDS,
            **_TIMES["quick"],
        )
        for name, settings in VARIANTS.items()
    ]
    return [none, *with_pep]


EXPERIMENTS = (
    Experiment("ftp", "FTP flows: queues, flows, with and without the PEP", "4.2 to 4.8", ftp),
    Experiment("pareto", "Pareto on/off flows", "4.9 to 4.12", pareto),
    Experiment("sweep", "The whole grids of figures 4.8 and 4.12", "4.8, 4.12", sweep),
    Experiment(
        "long",
        "The shared connection over hours",
        "4.1",
        long_run,
        steady="starts within the first second change nothing after hours: five runs backed off in the same second",
    ),
    Experiment("long CUBIC", "The same with CUBIC", "4.1", long_run_of_cubic),
    Experiment("readings", "Readings of a run without the PEP", "1.3, 4.3", readings),
    Experiment("control", "Flow control of the PEP", "beyond the thesis", flow_control),
    related.EXPERIMENT,
)
