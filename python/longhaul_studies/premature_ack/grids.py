"""Experiments and their points at each scale. The full scale is the paper's grid: every delay, buffer and watermark."""

from __future__ import annotations

from itertools import product
from typing import Any

from ..model import Case, Experiment
from .scenarios import BUFFERS, D_DELAYS, S_DELAYS, case, several

SCALES = {
    "tiny": "the watermarks around the figures' turning points, for continuous integration",
    "quick": "every watermark of the six figures; a thinned grid of delays and watermarks",
    "full": "the paper's 27,432 runs, and the automatic watermark at each of its 432 points",
    "readings": "the curves of the six figures, with what the paper leaves open taken in other ways",
}

#: Figures 4 to 7, 9, 10: delays of S-Net and D-Net in ms, buffer; by their targets.
CURVES = {
    "P1": (80, 100, 50),
    "P2": (100, 100, 50),
    "P3": (50, 100, 50),
    "P4": (50, 200, 50),
    "P5": (80, 150, 50),
    "P6": (80, 100, 30),
}
_TINY = {
    "P1": (0, 10, 20, 23, 24, 25, 26, 27, 30, 40, 50),
    "P2": (0, 10, 19, 20, 21, 30, 40, 50),
    "P3": (0, 10, 20, 30, 36, 37, 38, 39, 40, 50),
    "P4": (0, 10, 20, 30, 31, 32, 33, 40, 50),
    "P5": (0, 10, 20, 30, 36, 37, 38, 39, 40, 50),
    "P6": (0, 10, 18, 20, 21, 22, 25, 30),
}
_QUICK_S, _QUICK_D, _QUICK_N = (1, 50, 80, 120, 200), (10, 50, 100, 150, 200), (30, 50, 100)
#: Packets of the transfer that measures the start.
START_UP = 100


def curves(scale: str) -> list[Case]:
    """Throughput over W, as in the figures."""
    points = {name: _TINY[name] if scale == "tiny" else range(n + 1) for name, (_, _, n) in CURVES.items()}
    return [case(*CURVES[name], w) for name, watermarks in points.items() for w in watermarks]


def strict(scale: str) -> list[Case]:
    """The same, and a thinned grid, with a PEP that only acknowledges packets that it can retransmit (decision D1)."""
    if scale == "tiny":
        return []
    points = {(*curve, w) for curve in CURVES.values() for w in range(curve[2] + 1)}
    points |= {(d_s, d_d, n, w) for d_s, d_d, n in _points(scale) for w in range(0, n + 1, 5)}
    return [case(*point, guard="strict") for point in sorted(points)]


def _points(scale: str) -> list[tuple[int, int, int]]:
    if scale == "tiny":
        return list(CURVES.values())
    if scale == "quick":
        return list(product(_QUICK_S, _QUICK_D, _QUICK_N))
    return list(product(S_DELAYS, D_DELAYS, BUFFERS))


def grid(scale: str) -> list[Case]:
    """Every combination of delays, buffer and watermark."""
    if scale == "tiny":
        return []
    step = 1 if scale == "full" else 5
    return [case(d_s, d_d, n, w) for d_s, d_d, n in _points(scale) for w in range(0, n + 1, step)]


def automatic(scale: str) -> list[Case]:
    """The automatic watermark at the points of the grid."""
    return [case(*point, "auto", guard="strict") for point in _points(scale)]


def start_up(scale: str) -> list[Case]:
    """The time of the first packets."""
    step = 10 if scale == "tiny" else 5
    return [case(*CURVES["P1"], w, packets=START_UP) for w in range(0, 51, step)]


def windows(scale: str) -> list[Case]:
    """Beyond the paper: a PEP that advertises a larger window than the destination, where 20 packets limit the source."""
    if scale == "tiny":
        return []
    d_s, d_d, _ = CURVES["P2"]
    return [
        Case(
            {"window": window, "w": w},
            case(d_s, d_d, 100, w, guard="strict", pep={"window": f"{window * 960} B"}).scenario,
        )
        for window in (20, 30, 40)
        for w in (*range(0, 101, 10), "auto")
    ]


def losses(scale: str) -> list[Case]:
    """Beyond the paper: loss on D-Net, repaired by the PEP or by the source."""
    if scale == "tiny":
        return []
    found = []
    for loss, (name, w, pep) in product((0.001, 0.003, 0.01, 0.03), _REPAIRS):
        built = case(*CURVES["P1"], w, guard="strict", loss=loss, variant="sack", pep=pep).scenario
        found.append(Case({"loss": loss, "repair": name}, built, replications=5))
    return found


_REPAIRS: tuple[tuple[str, int | str, dict[str, Any]], ...] = (
    ("source", 0, {"recovery": {"enabled": False}}),
    ("PEP", 25, {}),
    ("PEP, automatic W", "auto", {}),
)

#: Figure 5 with S-Net in one part, in two, in three: their delays in ms.
IN_A_ROW = ((100,), (50, 50), (20, 80), (80, 20), (34, 33, 33))


def in_a_row(scale: str) -> list[Case]:
    """Several PEPs along the path of figure 5, whose window of 20 packets over 2 x 100 ms limits the source."""
    _, d_d, n = CURVES["P2"]
    step = 10 if scale == "tiny" else 1
    return [
        Case({"delays": "+".join(map(str, delays)), "peps": len(delays), "w": w}, several(delays, d_d, n, w))
        for delays in IN_A_ROW for w in range(0, n + 1, step)
    ]  # fmt: skip


EXPERIMENTS = (
    Experiment("curves", "Throughput over W, the six figures", "4", curves),
    Experiment("strict", "The same with a strict PEP", "beyond the paper", strict),
    Experiment("grid", "Every delay, buffer and watermark", "4.3", grid),
    Experiment("automatic", "The automatic watermark at the same points", "beyond the paper", automatic),
    Experiment("start", f"Time of the first {START_UP} packets", "4", start_up),
    Experiment("in a row", "Several PEPs along the path of figure 5", "its future work", in_a_row),
    Experiment("windows", "A larger window", "beyond the paper", windows),
    Experiment("loss", "Loss on D-Net", "beyond the paper", losses),
)
