"""Experiments and their points at each scale. The full scale is the thesis's campaign: figures 4.1 to 4.12, runs of 2000 s."""

from __future__ import annotations

from typing import Any

from ..model import Case, Experiment
from .scenarios import case

SCALES = {
    "tiny": "single runs of a minute, for continuous integration: a smoke test",
    "quick": "a thinned grid, 400 s for runs with the PEP: shapes and orderings",
    "full": "the thesis's grids, 2000 s for each run, and its long run of 10,000 s",
}

#: Figures 4.8 and 4.12: packets of the queue under test, flows; the PEP's connection; disciplines.
QUEUES = (3000, 1500, 1000, 600, 300)
FTP_FLOWS = (1, 2, 3, 4, 5, 10, 25, 50, 100, 250, 500)
PARETO_FLOWS = (500, 750, 1000, 1500)
MODES = ("none", "cubic", "sack")
KINDS = ("red", "droptail")

#: Duration and warm-up of a run in seconds.
_TIMES: dict[str, dict[str, Any]] = {
    "tiny": {"duration": 60, "warmup": 20},
    "quick": {"duration": 400, "warmup": 150},
    "full": {"duration": 2000, "warmup": 300},
}


def ftp(scale: str) -> list[Case]:
    """S2 to S8, figures 4.2 to 4.8: flows that always have data to send."""
    if scale == "tiny":
        points = [("none", "red", 3000, 5), ("cubic", "red", 300, 5)]
    elif scale == "quick":
        # Without the PEP few flows take long to fill the link: as long as at the full scale.
        points = [
            ("none", kind, packets, flows)
            for kind in KINDS
            for packets in (3000, 1000, 300)
            for flows in (1, 5, 25, 50)
        ]
        points += [("cubic", kind, packets, flows) for kind in KINDS for packets in (3000, 300) for flows in (50,)]
        points += [("cubic", "droptail", packets, flows) for packets in (3000, 300) for flows in (1, 5)]
    else:
        points = [
            (mode, kind, packets, flows)
            for mode in MODES
            for kind in KINDS
            for packets in QUEUES
            for flows in FTP_FLOWS
        ]
    return [
        case(
            *point, tables=scale == "full" and point[3] == 50 and point[2] in (3000, 600),
            **_TIMES["full" if scale == "quick" and point[0] == "none" else scale],
        )
        for point in points
    ]  # fmt: skip


def pareto(scale: str) -> list[Case]:
    """S9 to S11, figures 4.9 to 4.12: on/off sources."""
    if scale == "tiny":
        return []
    modes = ("none", "cubic")
    if scale == "quick":
        points = [(mode, kind, packets, 750) for mode in modes for kind in KINDS for packets in (3000, 300)]
        times: dict[str, Any] = {"duration": 200, "warmup": 60}
    else:
        points = [
            (mode, kind, packets, flows)
            for mode in modes
            for kind in KINDS
            for packets in QUEUES
            for flows in PARETO_FLOWS
        ]
        times = _TIMES[scale]
    return [
        case(*point, traffic="pareto", tables=scale == "full" and point[3] == 750 and point[2] == 1500, **times)
        for point in points
    ]


def long_run(scale: str) -> list[Case]:
    """S1, figure 4.1: the shared connection with SACK and with CUBIC over hours."""
    if scale == "tiny":
        return []
    modes = {"quick": ("sack",), "full": ("sack", "cubic")}[scale]
    return [case(mode, "red", 600, 10, tables=True, duration=10_000, warmup=300) for mode in modes]


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
    none = case("none", "droptail", 600, 50, parameters={"variant": "no PEP"}, **_TIMES["quick"])
    with_pep = [
        case("cubic", "droptail", 600, 50, parameters={"variant": name}, pep=settings, **_TIMES["quick"])
        for name, settings in VARIANTS.items()
    ]
    return [none, *with_pep]


EXPERIMENTS = (
    Experiment("ftp", "FTP flows: queues, flows, with and without the PEP", "4.2 to 4.8", ftp),
    Experiment("pareto", "Pareto on/off flows", "4.9 to 4.12", pareto),
    Experiment("long", "The shared connection over hours", "4.1", long_run),
    Experiment("control", "Flow control of the PEP", "beyond the thesis", flow_control),
)
