"""How long a link takes without queue and transmission, over a run: where a script, a file, satellites or random steps move it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import core, course, script, toml
from .document import Document
from .errors import LonghaulError
from .explain import content_of
from .results import Result
from .units import read_in
from .why.case import setting

Values = NDArray[np.float64]
#: So many samples of a run, and none sooner than this after another, in s.
_SAMPLES, _LEAST_S = 1500, 0.02


@dataclass(frozen=True)
class Delay:
    """One direction of a link: times in s, the delay in s at each, and whether it holds until the next."""

    number: int
    times: Values
    values: Values
    stepped: bool
    #: Of the data of a flow whose way changes, over all links of its way: `number` is the first of them.
    flow: str | None = None

    def name(self, result: Result) -> str:
        """The flow; or the link, with its ends on a second line."""
        if self.flow is not None:
            return self.flow
        link = result.summary["links"][self.number]
        return f"{str(link['name']).rsplit('.', 1)[0]}\n({link['from']} → {link['to']})"


def delays(result: Result) -> list[Delay]:
    """The directions of links whose delay changes in the run, in the order of the summary; a direction that has the delay of the one
    before it, as over satellites, is left out. Before them the ways of flows that change, those that are alike once.
    """
    content = content_of(result)
    length = float(result.summary["duration_s"])
    found: list[Delay] = []
    sources: list[Any] = []
    moving: dict[int, Delay] = {}
    scripted = course.links_over_time(result)
    samples = np.arange(0.0, length, max(length / _SAMPLES, _LEAST_S))
    for number, link in enumerate(result.summary["links"]):
        name, steps = str(link["name"]), scripted[number].delay
        if (source := _source(content, name)) is not None:
            values = _of_link(result, content, name, samples)
            if values is None or float(np.ptp(values)) <= 1e-6:
                continue
            moving[number] = Delay(number, samples, values, stepped=False)
            if source not in sources:
                sources.append(source)
                found.append(moving[number])
        elif not steps.constant:
            times = np.array([*steps.times, length])
            made = Delay(number, times, np.array([*steps.values, steps.values[-1]]), stepped=True)
            if not any(
                np.array_equal(made.times, one.times) and np.array_equal(made.values, one.values) for one in found
            ):
                found.append(made)
    return [*_of_flows(result, scripted, moving, length), *found]


def _of_flows(result: Result, links: Sequence[course.Link], moving: Mapping[int, Delay], length: float) -> list[Delay]:
    """What the ways of flows are long, where they change: of flows that are alike in this the first."""
    found: dict[tuple[Any, ...], Delay] = {}

    def at(number: int, time: float) -> float:
        of_link = moving.get(number)
        return (
            links[number].delay.at(time) if of_link is None else float(np.interp(time, of_link.times, of_link.values))
        )

    for flow in result.summary["flows"]:
        if not flow.get("ways") or not result.has_tables:
            continue
        had = course.ways(result, flow)
        passed = {number for _, way in had for number in way["data_path"]}
        stepped = not passed & moving.keys()
        times = {0.0, *(begin for begin, _ in had), *(time for number in passed for time in links[number].delay.times)}
        times |= set() if stepped else set(next(iter(moving.values())).times.tolist())
        ordered = sorted(times)
        places = np.searchsorted([begin for begin, _ in had], ordered, side="right") - 1
        values = [
            sum(at(number, time) for number in had[place][1]["data_path"])
            for time, place in zip(ordered, places, strict=True)
        ]
        key = (tuple(ordered), tuple(values))
        if len(set(values)) > 1 and key not in found:
            first = flow["data_path"][0] if flow["data_path"] else 0
            ends = (np.array([*ordered, length]), np.array([*values, values[-1]]))
            found[key] = Delay(first, *ends, stepped=stepped, flow=str(flow["name"]))
    return list(found.values())


def _source(content: Mapping[str, Any], name: str) -> Any:
    """The settings of a direction that move its delay, for a link that has nothing else; `None` without any."""
    if leo := setting(content, name, "leo"):
        return leo
    trace = setting(content, name, "trace") or {}
    if "delay" in trace:
        return {key: trace[key] for key in ("delay", "repeat", "offset") if key in trace}
    wander = setting(content, name, "wander") or ()
    # What is drawn follows from the seed and the link's name; both directions have the same draws.
    return (
        (name.rsplit(".", 1)[0], setting(content, name, "delay"), wander)
        if "delay" in script.wandering(wander)
        else None
    )


def _of_link(result: Result, content: Mapping[str, Any], name: str, times: Values) -> Values | None:
    """The delay in s of a direction at these times, of its link alone; `None` if it cannot be read, as where a file is gone."""
    link, _, side = name.rpartition(".")
    alone: dict[str, Any] = {key: content[key] for key in ("run", "carrier") if key in content}
    alone["run"] = {key: value for key, value in alone["run"].items() if key in ("duration", "seed")}
    own = [one for one in content.get("link", ()) if one["name"] == link]
    ends = dict(zip(("from", "to"), own[0]["ends"], strict=True)) if own else {}
    alone |= {"link": own} if own else {"dumbbell": content["dumbbell"]}
    # A scenario has a flow.
    alone["flow"] = [{"name": "flow", **ends}]
    document = Document(toml.document(alone), "a link of this run", folder=result.path)
    try:
        found = core.course(document, int(side == "reverse"), times.tolist())
    except LonghaulError:
        return None
    return np.array([delay for _, delay in found])


def is_handover(content: Mapping[str, Any], link: str, break_s: float) -> bool:
    """Whether a break of a link is a handover between satellites, and not an outage: it has the handover's length.

    >>> moving = {"link": [{"name": "l", "leo": {"handover": "50 ms"}}]}
    >>> is_handover(moving, "l.forward", 0.05), is_handover(moving, "l.forward", 15.0), is_handover({"link": []}, "l.forward", 0.05)
    (True, False, False)
    """
    leo = setting(content, link, "leo")
    return bool(leo) and abs(break_s - (read_in(leo.get("handover", "0 s"), "s") or 0.0)) < 1e-6
