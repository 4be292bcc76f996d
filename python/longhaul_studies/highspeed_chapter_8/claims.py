"""What the document asks in chapter 8, with an answer each."""

from __future__ import annotations

from ..highspeed.targets.words import bounds, short
from ..model import Claim
from ..results import Results
from .measures import beside, kept, of_frames, over_one, ratios, seconds_to_fill, windows
from .points import FRAMES, ROOM, STANDARD


def _parameters(results: Results) -> str:
    high = windows(results, "HSTCP")
    found = {name: windows(results, f"HSTCP, {name}") for name in ("Low_Window 200", "High_P 1e-6")}
    return "; ".join(
        f"{name}: {window[1e-4] / high[1e-4]:.2f} times HSTCP's window at 1e-4" for name, window in found.items()
    )


def _frames(results: Results) -> str:
    ratio = ratios(of_frames(results, STANDARD, FRAMES[1]), of_frames(results, "HSTCP", FRAMES[0]))
    return (
        "standard TCP, 9000 bytes, over HSTCP: "
        + ", ".join(short(value) for value in ratio.values())
        + " at 1e-6 to 1e-3"
    )


def _friendly(results: Results) -> str:
    alone = kept(results, "none", ROOM)
    part = [kept(results, name, ROOM) / alone for name in beside(results, ROOM)]
    return f"ten flows keep {bounds(part)} of their rate; HSTCP has {over_one(results, 'HSTCP', ROOM):.1f} times one's"


def _transients(results: Results) -> str:
    standard, high = (seconds_to_fill(results, name) for name in (STANDARD, "HSTCP"))
    return f"after a doubled rate HSTCP needs {high:.1f} s, standard TCP {standard:.0f} s"


def _others(results: Results) -> str:
    ratio = ratios(windows(results, "Scalable"), windows(results, "HSTCP"))
    return "Scalable TCP over HSTCP: " + ", ".join(short(value) for value in ratio.values()) + " at 1e-5 to 1e-3"


CLAIMS = (
    Claim("While losses leave bandwidth free, no scheme harms others, whatever it takes itself.", ("N6", "N7"), here=_friendly),
    Claim("Standard TCP recovers slowly, HighSpeed TCP by a(w), also after a change of the rate.", ("N10", "N9"), here=_transients),
    Claim("Parameters move the response function as its formula has it (ours).", ("N1", "N2"), "Low_Window 200 at 1e-5 needs longer runs: 0.69 of its formula in 300 s, 0.95 to 1.08 in 1500 s.", _parameters, ours=True),
    Claim("Frames of 9000 bytes do more for standard TCP than HighSpeed TCP, unless losses are rare (ours).", ("N5", "N4"), "Six times at 1e-4; at 1e-5 more, with few losses in a run.", _frames, ours=True),
    Claim("Other response functions take more where losses are few only (ours).", ("N3", "N8"), here=_others, ours=True),
)  # fmt: skip
GAP = (
    "at a loss rate of 1e-5 Low_Window 200 has 0.69 of its formula's window (N1), and packets six times as large carry 7.5 times as much (N4): a run of 300 s has few losses. Over 1500 s the window is the"
    " formula's (N1); frames were not run longer."
)
