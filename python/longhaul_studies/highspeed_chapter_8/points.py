"""The response functions that are compared, and the points of each experiment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from longhaul.closed_forms import HighSpeed, aimd_window, power_law_window

from ..highspeed.scenarios import HSTCP as STUDYS
from ..highspeed.scenarios import REGTCP, SIMULATED, case
from ..model import Case, Experiment

SCALES = {
    "tiny": "parameters and frames at a loss rate of 1e-3, one seed, for continuous integration",
    "quick": "every point that a target reads; five seeds, or three where an ordering or a trend needs no more",
}
STANDARD = "standard"


@dataclass(frozen=True)
class Response:
    """A response function: the congestion control that has it, and its window in packets by the loss rate if there is a formula."""

    congestion: Mapping[str, Any]
    #: `None` for standard TCP's or another's without a formula.
    highspeed: HighSpeed | None = None

    def window(self, p: float) -> float | None:
        """Packets in flight at a loss rate of `p`, or `None` without a formula."""
        if self.highspeed:
            return self.highspeed.window(p)
        if self.congestion["kind"] == "scalable":
            # Kelly 2003: 0.01 more per ACK, an eighth less per loss.
            return power_law_window(0.08, 1.0, p)
        return aimd_window(1.0, 0.5, p) if self.congestion["kind"] == "reno" else None


def _of(low_window: float = 31.0, high_p: float = 1e-7, high_decrease: float = 0.1, low_p: float = 0.0) -> Response:
    found = HighSpeed(low_window, low_p or 1.5 / low_window**2, SIMULATED.high_window, high_p, high_decrease)
    settings = {
        "low_window": low_window, "low_p": found.low_p, "high_window": found.high_window, "high_p": high_p, "high_decrease": high_decrease,
    }  # fmt: skip
    return Response(dict(STUDYS) | settings, found)


def _other(kind: str) -> Response:
    return Response({"kind": kind})


#: By the names that tables have. The study's set is that of its table 5.3.
RESPONSES: Mapping[str, Response] = {
    STANDARD: Response(REGTCP),
    "HSTCP": Response(STUDYS, SIMULATED),
    "HSTCP, RFC 3649": _of(38.0, low_p=1e-3),
    "HSTCP, Low_Window 200": _of(200.0),
    "HSTCP, High_P 1e-6": _of(high_p=1e-6),
    "HSTCP, High_Decrease 0.5": _of(high_decrease=0.5),
    "Scalable": _other("scalable"),
    "CUBIC": _other("cubic"),
    "BIC": _other("bic"),
    "H-TCP": _other("htcp"),
}
#: Those beside ten standard flows on a full link, and those whose rate changes.
_FULL = ("none", "HSTCP", "HSTCP, Low_Window 200", "HSTCP, High_P 1e-6", "Scalable", "CUBIC")
_CHANGED = (STANDARD, "HSTCP")
LOSSES = (1e-5, 1e-4, 1e-3)
#: Loss rates at which ten standard flows leave room on the link, and fill it.
ROOM, FULL = 1e-4, 1e-6
#: Bytes of a packet; the large ones are those of jumbo frames.
FRAMES = (1500, 9000)
#: Seconds at which the link's rate is halved, and is whole again.
FALL, RISE = 100, 200
_CHANGES = ({"at": f"{FALL} s", "rate": "500 Mbit/s"}, {"at": f"{RISE} s", "rate": "1 Gbit/s"})
#: Three seeds, and five where a verdict depends on one.
_FEW: dict[str, Any] = {"replications": 3, "most": 5}
_FIVE: dict[str, Any] = {"replications": 5}


def _one(name: str) -> dict[str, Any]:
    """One flow with this response function; standard TCP is the study's own."""
    return {"regtcp": 1} if name == STANDARD else {"hstcp": 1, "response": RESPONSES[name].congestion}


def alone(scale: str) -> list[Case]:
    """A single flow over a lossy link, by its response function."""
    if scale == "tiny":
        return [case({"response": name, "loss": 1e-3}, "red", loss=1e-3, **_one(name)) for name in RESPONSES]
    return [
        case({"response": name, "loss": p}, "red", **(_FIVE if p > min(LOSSES) else _FEW), loss=p, **_one(name))
        for name in RESPONSES
        for p in LOSSES
    ]


def frames(scale: str) -> list[Case]:
    """A single flow of standard TCP and of HighSpeed TCP with small and large packets."""
    losses, seeds = ((1e-3,), dict[str, Any]()) if scale == "tiny" else ((FULL, *LOSSES), _FIVE)
    return [
        case({"response": name, "frame": frame, "loss": p}, "red", **seeds, loss=p, frame=frame, **_one(name))
        for name in (STANDARD, "HSTCP") for frame in FRAMES for p in losses
    ]  # fmt: skip


def beside(scale: str) -> list[Case]:
    """A flow beside ten standard ones, where the link has room and where it is full."""
    if scale == "tiny":
        return []
    names = {ROOM: ("none", *(name for name in RESPONSES if name != STANDARD)), FULL: _FULL}
    return [
        case({"response": name, "loss": p}, "red", **_FEW, loss=p, regtcp=10,
             **({} if name == "none" else _one(name)))
        for p, chosen in names.items() for name in chosen
    ]  # fmt: skip


def transients(scale: str) -> list[Case]:
    """A single flow on a link whose rate is halved and doubled again; without background traffic."""
    if scale == "tiny":
        return []
    return [
        case({"response": name}, "red", **_FEW, noise=False, start="0 s", sample="50 ms", tables=True, changes=_CHANGES, **_one(name))
        for name in _CHANGED
    ]  # fmt: skip


EXPERIMENTS = (
    Experiment("alone", "One flow on a lossy link, by its response function", "8", alone),
    Experiment("frames", "Frames of 1500 and of 9000 bytes", "8", frames),
    Experiment("beside", "Beside ten standard flows", "8", beside),
    Experiment("transients", "A rate that is halved and doubled", "8", transients),
)
