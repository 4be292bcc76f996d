"""The paper's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim
from ..results import Results
from .grids import CURVES
from .measures import Curve, curve
from .scenarios import BUFFERS, D_DELAYS, S_DELAYS
from .targets import share_falling


def _curve(results: Results, name: str) -> Curve:
    return curve(results, "curves", *CURVES[name])


def _rises(results: Results) -> str:
    found = _curve(results, "P1")
    first = found.reaches_top
    full = next(w for w, value in found.values.items() if value == found.top)
    return f"{found.values[first]:.2f} Mbit/s from W = {first}, {found.top:g} from {full}, class {found.name}"


def _falls(results: Results) -> str:
    last = [str(_curve(results, name).last_before_fall or "none") for name in ("P3", "P4", "P5", "P6")]
    return f"the last W before the fall is {last[0]} in figure 6, {last[1]} in 7, {last[2]} in 9, {last[3]} in 10"


def _limited(results: Results) -> str:
    found = _curve(results, "P2")
    return f"{found.top:g} Mbit/s, class {found.name}"


def _frequent(results: Results) -> str:
    """Shares of class R-2 at the ends of each parameter."""
    text = []
    for place, (name, values) in enumerate((("d_S", S_DELAYS), ("d_D", D_DELAYS), ("N", BUFFERS))):
        found = share_falling(results, place, values)
        first, last = min(found), max(found)
        text.append(f"{found[first]:.0f} to {found[last]:.0f} % for {name} {first} to {last}")
    return ", ".join(text)


def _start(results: Results) -> str:
    found = results["start"].series("completion_time_mean_s", "w")
    return f"the first 100 packets take {found[min(found)]:.2f} s with W = {min(found)}, {found[max(found)]:.2f} s with {max(found)}"


CLAIMS = (
    Claim("With a short D-Net the throughput rises with the watermark W and stays at D-Net's rate: from W = 25 in figure 4.", ("P1", "P1b", "P1c"), here=_rises),
    Claim("With a longer D-Net or a smaller buffer it falls again above some W: 38 in figure 6, 31 in figure 7.", ("P3", "P4", "P5", "P6"), here=_falls),
    Claim("The window of 20 packets limits a long S-Net: 0.8 Mbit/s in figure 5.", ("P2", "P2b"), here=_limited),
    Claim("The fall is more frequent with a shorter S-Net, a longer D-Net, a smaller buffer.", ("P7a", "P7b", "P7c"), here=_frequent),
    Claim("Slow start is shorter with a larger W.", ("P8",), here=_start),
)  # fmt: skip
GAP = (
    "none above a packet. Figure 6 falls after W = 37 here, with six other readings too, and after 38 in the paper and with timestamps. In figure 4 the full rate begins at W = 25 in the paper. Here W = 25 has 0.98 of 1 Mbit/s,"
    " two packets a second less, which counts as full (decision D4); W = 26 has 1 Mbit/s."
)
