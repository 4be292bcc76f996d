"""What is measured: windows, rates, what ten standard flows keep, and the time until a link is full again."""

from __future__ import annotations

from collections.abc import Iterable

from ..highspeed.measures import HSTCP, REGTCP, departures, sending_rate, utilisation
from ..highspeed.scenarios import PIPE, RTT
from ..highspeed.targets.isolated import Trace, trace
from ..results import Points, Results, Row
from ..verdict import median
from .points import RESPONSES, RISE, STANDARD


def group(name: str) -> str:
    """The group that a flow of this response function is in."""
    return REGTCP if name == STANDARD else HSTCP


def windows(results: Results, name: str) -> dict[float, float]:
    """Packets in a base round trip by the loss rate, of a flow alone."""
    return results["alone"].series(sending_rate(group(name)), "loss", response=name)


def of_frames(results: Results, name: str, frame: int) -> dict[float, float]:
    """Per cent of the link by the loss rate, with packets of so many bytes."""
    return results["frames"].series(utilisation(group(name)), "loss", response=name, frame=frame)


def kept(results: Results, name: str, p: float) -> float:
    """Per cent of the link that ten standard flows have beside a flow of this response function, or alone ("none")."""
    return results["beside"].median(utilisation(REGTCP), response=name, loss=p)


def over_one(results: Results, name: str, p: float) -> float:
    """What the flow has over what one of the ten has."""
    return results["beside"].median(
        lambda row: departures(row, HSTCP) / (departures(row, REGTCP) / 10), response=name, loss=p
    )


def beside(results: Results, p: float) -> list[str]:
    """The response functions that run beside ten standard flows at this loss rate."""
    return [name for name in results["beside"].points("response", loss=p) if name != "none"]


def seconds_to_fill(results: Results, name: str) -> float:
    """Seconds from the doubled rate until the window holds the pipe; the median of the runs."""
    return median([_to_fill(trace(row)) for row in _changed(results, name)])


def _to_fill(flow: Trace) -> float:
    """Seconds after `RISE`: as it was, or as the growth of the last 50 s goes on."""
    reached = flow.first_reach(PIPE, after=RISE)
    if reached is not None:
        return reached - RISE
    end = float(flow.time[-1])
    return end - RISE + (PIPE - float(flow.cwnd[-1])) / flow.slope(end - 50, end)


def predicted_to_fill(results: Results, name: str) -> float:
    """The same by a(w): RTT / a(w) seconds for each packet from the window at `RISE` to the pipe; the median of the runs."""
    response = RESPONSES[name].highspeed
    assert response is not None
    found = []
    for row in _changed(results, name):
        flow = trace(row)
        window = int(flow.cwnd[flow.time <= RISE][-1])
        found.append(sum(RTT / response.a(float(w)) for w in range(window, PIPE)))
    return median(found)


def window_before(results: Results, name: str) -> float:
    """Packets of the window when the rate doubles."""
    return median([float(flow.cwnd[flow.time <= RISE][-1]) for flow in map(trace, _changed(results, name))])


def _changed(results: Results, name: str) -> Iterable[Row]:
    return results["transients"].where(response=name)


def ratios(over: dict[float, float], under: dict[float, float]) -> dict[float, float]:
    """Values at the loss rates of both."""
    return Points((p, over[p] / under[p]) for p in over if p in under)
