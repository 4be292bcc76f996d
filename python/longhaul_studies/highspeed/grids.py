"""Experiments E1 to E12 and their points at each scale. The full scale is the study's grid (its chapter 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from ..model import Case, Experiment
from .scenarios import QUEUES, case

Grid = Callable[[str], list[Case]]

SCALES = {
    "tiny": "single flows, slow starts and lossy links, for continuous integration: the exact numbers",
    "quick": "the points that targets need, five seeds for each: every verdict",
    "grid": "the study's whole grid, one seed for each point: whole figures, no verdicts",
    "full": "the study's grid: five seeds for the points of quick, three for the others, up to ten where a verdict depends on one",
    "readings": "the points of `quick` of the experiments with bursts and of two flows, with what the study leaves open taken in other ways",
}

#: Sections 6.2 and 6.6: number of flows of sets 1 and 2; set 3 has half of each and begins with 2.
FLOWS = (1, 2, 6, 10, 20, 30, 40)
#: Sections 6.3, 6.8, 6.9.
LOSSES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
#: Sections 6.4, 6.10.
PERTURBATIONS = (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70)
#: Section 6.5: standard flows against one HSTCP flow.
OPPONENTS = (1, 3, 5, 7, 11, 15, 19)
#: Sections 6.8, 6.9, 6.10: parallel streams.
STREAMS_ALONE, STREAMS_LOSSY, STREAMS_BURSTY = (1, 4, 7, 10), (1, 4, 7, 10, 20, 30), (1, 4, 7, 10, 20)
#: Section 6.6.
CONSTANT_LOSS = 1e-5
#: Section 6.11; 0 is standard slow start.
MAX_SSTHRESH = (0, 10, 100, 1000)

#: Scales with every point of the study's grid.
_WHOLE = ("grid", "full")
#: First seeds of points of the full scale between those of the quick one.
BETWEEN = 3
_QUICK_PERTURBATIONS = (0, 30, 70)


def _seeds(scale: str, least: int = 1) -> dict[str, Any]:
    """Five seeds where verdicts are wanted, and up to ten at the full scale where one depends on a single seed; `grid` is for figures."""
    seeds = {"replications": 5 if scale in ("quick", "full") else least}
    return seeds | ({"most": 10} if scale == "full" else {})


def _fewer_between(grid: Grid) -> Grid:
    """At the full scale, points that `quick` lacks begin with `BETWEEN` seeds: they are between points that have five."""

    @wraps(grid)
    def cases(scale: str) -> list[Case]:
        found = grid(scale)
        if scale != "full":
            return found
        known = [case.parameters for case in grid("quick")]
        return [
            case if case.parameters in known else replace(case, replications=min(case.replications, BETWEEN))
            for case in found
        ]

    return cases


def _sets(flows: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Chapter 5.4: set 1 is HSTCP alone, set 2 REGTCP alone, set 3 half of each."""
    yield "hstcp", {"hstcp": flows}
    yield "regtcp", {"regtcp": flows}
    if flows > 1:
        yield "mixed", {"hstcp": flows // 2, "regtcp": flows // 2}


def isolated(scale: str) -> list[Case]:
    """E1, section 6.1: one flow with nothing else, over each queue (decisions A12, A13)."""
    kinds = (
        [("hstcp", "red")] if scale == "tiny" else [(kind, queue) for kind in ("hstcp", "regtcp") for queue in QUEUES]
    )
    return [
        case(
            {"set": kind},
            queue,
            **_seeds(scale),
            noise=False,
            start="0 s",
            sample="50 ms",
            tables=True,
            **_one(kind),
        )
        for kind, queue in kinds
    ]


def _one(kind: str) -> dict[str, Any]:
    return {kind: 1}


@_fewer_between
def ideal(scale: str) -> list[Case]:
    """E2, section 6.2: sets of N flows."""
    flows = {"tiny": (), "quick": (2, 6, 10, 40)}.get(scale, FLOWS)
    return [
        case({"set": name, "n": n}, queue, **_seeds(scale), **counts)
        for queue in QUEUES for n in flows for name, counts in _sets(n)
    ]  # fmt: skip


def lossy(scale: str) -> list[Case]:
    """E3, section 6.3: sets of 10 flows over a link that loses packets."""
    losses = (1e-4, 1e-3) if scale == "tiny" else LOSSES
    queues = ("red",) if scale == "tiny" else QUEUES
    return [
        case({"set": name, "loss": loss}, queue, **_seeds(scale), loss=loss, **counts)
        for queue in queues for loss in losses for name, counts in _sets(10)
    ]  # fmt: skip


@_fewer_between
def bursty(scale: str) -> list[Case]:
    """E4, section 6.4: sets of 10 flows with perturbations."""
    bursts = {"tiny": (), "quick": _QUICK_PERTURBATIONS}.get(scale, PERTURBATIONS)
    return [
        case({"set": name, "p": p}, queue, **_seeds(scale), perturbations=p, **counts)
        for queue in QUEUES for p in bursts for name, counts in _sets(10)
    ]  # fmt: skip


@_fewer_between
def one_against_many(scale: str) -> list[Case]:
    """E5, section 6.5: one HSTCP flow against n standard ones."""
    opponents = {"tiny": (), "quick": (3, 7, 15, 19)}.get(scale, OPPONENTS)
    return [
        case({"n": n}, queue, **_seeds(scale), hstcp=1, regtcp=n) for queue in QUEUES for n in opponents
    ]  # fmt: skip


@_fewer_between
def constant_loss(scale: str) -> list[Case]:
    """E6, section 6.6: sets of N flows at a loss rate of 1e-5."""
    flows = {"tiny": (), "quick": (2, 6, 10, 20, 40)}.get(scale, FLOWS)
    return [
        case({"set": name, "n": n}, queue, **_seeds(scale), loss=CONSTANT_LOSS, **counts)
        for queue in QUEUES for n in flows for name, counts in _sets(n)
    ]  # fmt: skip


def long_term(scale: str) -> list[Case]:
    """E7, section 6.7: one flow of each kind for an hour (decision A12: with noise)."""
    if scale == "tiny":
        return []
    return [case({}, "red", **_seeds(scale), hstcp=1, regtcp=1, duration=3600, sample="200 ms", tables=True)]


@_fewer_between
def streams_alone(scale: str) -> list[Case]:
    """E8, section 6.8: a transfer over n parallel streams, or over one HSTCP flow (decision A20), on a lossy link."""
    losses = (1e-4, 1e-3) if scale == "tiny" else LOSSES
    numbers = STREAMS_ALONE if scale in _WHOLE else (1, 10)
    queues = QUEUES if scale in _WHOLE else ("red",)
    kinds: list[tuple[str, dict[str, Any]]] = [(str(n), {"regtcp": n}) for n in numbers] + [("hstcp", {"hstcp": 1})]
    return [
        case({"transfer": name, "loss": loss}, queue, **_seeds(scale, 5), loss=loss, **counts)
        for queue in queues for name, counts in kinds for loss in losses
    ]  # fmt: skip


@_fewer_between
def streams_lossy(scale: str) -> list[Case]:
    """E9, section 6.9: n parallel streams, or one HSTCP flow, in competition with 10 standard flows, on a lossy link."""
    losses = () if scale == "tiny" else LOSSES
    numbers = STREAMS_LOSSY if scale in _WHOLE else (4, 10, 30)
    return [
        case({"competitor": name, "loss": loss}, queue, **_seeds(scale), loss=loss, regtcp=10, **counts)
        for queue in QUEUES for name, counts in _competitors(numbers) for loss in losses
        if not (scale == "quick" and queue == "droptail" and (loss > 1e-5 or name in ("4", "30")))
    ]  # fmt: skip


@_fewer_between
def streams_bursty(scale: str) -> list[Case]:
    """E10, section 6.10: n parallel streams, or one HSTCP flow, in competition with 10 standard flows, with perturbations."""
    bursts = {"tiny": (), "quick": _QUICK_PERTURBATIONS}.get(scale, PERTURBATIONS)
    numbers = STREAMS_BURSTY if scale in _WHOLE else (10,)
    return [
        case({"competitor": name, "p": p}, queue, **_seeds(scale), perturbations=p, regtcp=10, **counts)
        for queue in QUEUES for name, counts in _competitors(numbers) for p in bursts
    ]  # fmt: skip


def _competitors(numbers: Sequence[int]) -> list[tuple[str, dict[str, Any]]]:
    return [("none", {}), *((str(n), {"streams": n}) for n in numbers), ("hstcp", {"hstcp": 1})]


def slow_start(scale: str) -> list[Case]:
    """E11, section 6.11: the beginning of one HSTCP flow, by the threshold of limited slow start."""
    return [
        case(
            {"max_ssthresh": threshold}, "red", **_seeds(scale), hstcp=1, max_ssthresh=threshold, duration=100, noise=False, start="0 s",
            sample="10 ms", tables=True,
        )
        for threshold in MAX_SSTHRESH
    ]  # fmt: skip


def sack_bug(scale: str) -> list[Case]:
    """E12, section 7.3.3: the defect in ns-2's SACK before 2.1b9a, and the same run without it."""
    if scale == "tiny":
        return []
    return [
        case({"bug": bug}, "droptail", hstcp=1, noise=False, start="0 s", sample="50 ms", tables=True, sack_bug=bug)
        for bug in (True, False)
    ]


EXPERIMENTS = (
    Experiment("E1", "One flow alone", "6.1", isolated),
    Experiment("E2", "Ideal condition: N flows", "6.2", ideal),
    Experiment("E3", "Lossy link", "6.3", lossy),
    Experiment("E4", "Bursty traffic", "6.4", bursty),
    Experiment("E5", "One HSTCP flow against many", "6.5", one_against_many),
    Experiment("E6", "Constant link loss of 1e-5", "6.6", constant_loss),
    Experiment("E7", "One hour", "6.7", long_term),
    Experiment("E8", "Parallel streams alone: response function", "6.8", streams_alone),
    Experiment("E9", "Parallel streams on a lossy link", "6.9", streams_lossy),
    Experiment("E10", "Parallel streams under bursty traffic", "6.10", streams_bursty),
    Experiment("E11", "Slow start", "6.11", slow_start),
    Experiment("E12", "SACK defect at large windows", "7.3.3", sack_bug, steady="one flow over DropTail without noise"),
)
