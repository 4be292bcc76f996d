"""How long a link takes without queue and transmission, over a run: where a script, a file, satellites or random steps move it.

What a script does is in the events of a run. What a file, a constellation or random steps do is not: packets are sent once more over such a link
alone, so fast that they take no time themselves, and their round trip is the delay. So a figure shows what the simulator has, whatever made it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import core, course, toml
from .document import Document
from .errors import ResultError, RunError, ScenarioError
from .explain import content_of
from .results import Result, load_run
from .units import read_in
from .why.case import setting

Values = NDArray[np.float64]
#: So many packets measure a run, and none follows another sooner than this, in s.
_PACKETS, _LEAST_S = 1500, 0.02
#: Kinds of rows in segments.parquet.
_SENT, _ACK = 0, 2


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
    moving: dict[int, dict[str, Any]] = {}
    scripted = course.links_over_time(result)
    for number, link in enumerate(result.summary["links"]):
        name = str(link["name"])
        source = _source(content, name)
        if source is not None and source not in moving.values():
            moving[number] = source
        steps = scripted[number].delay
        if source is None and not steps.constant:
            times = np.array([*steps.times, length])
            made = Delay(number, times, np.array([*steps.values, steps.values[-1]]), stepped=True)
            if not any(
                np.array_equal(made.times, one.times) and np.array_equal(made.values, one.values) for one in found
            ):
                found.append(made)
    for number, source in moving.items():
        found += _measured(number, source, length, result)
    return [*_of_flows(result, scripted, length), *sorted(found, key=lambda one: one.number)]


def _of_flows(result: Result, links: Sequence[course.Link], length: float) -> list[Delay]:
    """What the ways of flows are long, where they change: of flows that are alike in this the first."""
    found: dict[tuple[Any, ...], Delay] = {}
    for flow in result.summary["flows"]:
        if not flow.get("ways") or not result.has_tables:
            continue
        had = course.ways(result, flow)
        paths = [[links[number].delay for number in way["data_path"]] for _, way in had]
        times = sorted({0.0, *(at for at, _ in had), *(at for path in paths for steps in path for at in steps.times)})
        places = np.searchsorted([at for at, _ in had], times, side="right") - 1
        values = [sum(steps.at(at) for steps in paths[place]) for at, place in zip(times, places, strict=True)]
        key = (tuple(times), tuple(values))
        if len(set(values)) > 1 and key not in found:
            first = flow["data_path"][0] if flow["data_path"] else 0
            found[key] = Delay(
                first, np.array([*times, length]), np.array([*values, values[-1]]), stepped=True, flow=str(flow["name"])
            )
    return list(found.values())


def _source(content: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    """The settings of a direction that move its delay, for a link that has nothing else."""
    if leo := setting(content, name, "leo"):
        return {"leo": {**leo, "handover": "0 s"}}
    trace = setting(content, name, "trace") or {}
    if "delay" not in trace:
        wander = setting(content, name, "wander") or ()
        if not any("delay" in one for one in wander):
            return None
        # What is drawn follows from the seed and the link's name; both directions have the same draws.
        return {"name": name.rsplit(".", 1)[0], "delay": setting(content, name, "delay"), "wander": list(wander)}
    follows = {key: trace[key] for key in ("delay", "repeat", "offset") if key in trace}
    return {"forward": {"trace": follows}, "reverse": {"delay": "0 s"}}


def _measured(number: int, source: Mapping[str, Any], length: float, result: Result) -> list[Delay]:
    """What packets find that are sent once more over a link with these settings alone; nothing if it stands still or cannot be run again."""
    gap = max(length / _PACKETS, _LEAST_S)
    document = Document(
        toml.document(_probe(source, length, gap, int(result.summary["seed"]))),
        "a link of this run",
        folder=result.path,
    )
    with tempfile.TemporaryDirectory(prefix="longhaul-") as place:
        try:
            core.run(document, (), out=Path(place), tables=True)
            frame = load_run(Path(place)).segments
        except (RunError, ScenarioError, ResultError, OSError):  # a file is gone, or has other values than then
            return []
        kind, time, start, end = (frame[name].to_numpy() for name in ("kind", "time_s", "start", "end"))
    sent, acks = kind == _SENT, kind == _ACK
    began, last = time[sent], end[sent]
    order = np.argsort(start[acks], kind="stable")
    acked, came = start[acks][order], time[acks][order]
    places = np.searchsorted(acked, last)
    known = places < len(acked)
    trips = came[places[known]] - began[known]
    # Of a file the way back takes no time; else both ways are alike.
    values = trips if "forward" in source else trips / 2
    moves = len(values) > 1 and float(np.ptp(values)) > 1e-6
    return [Delay(number, began[known], values, stepped=False)] if moves else []


def _probe(source: Mapping[str, Any], length: float, gap: float, seed: int) -> dict[str, Any]:
    """Packets over a link with these settings alone, at a rate at which they take no time."""
    link = {"name": "way", "ends": ["a", "b"], "rate": "1 Tbit/s", **source}
    # Whole segments: less would wait for an ACK (Nagle), and its ACK for more.
    app = {"kind": "messages", "size": "1460 B", "gap": f"{gap:.6g} s"}
    tcp = {"ack_every": 1, "congestion": {"kind": "fixed", "window": "1 MB"}}
    flow = {"name": "flow", "from": "a", "to": "b", "trace": True, "tcp": tcp, "app": app}
    run = {"duration": f"{length:.9g} s", "sample": f"{length:.9g} s", "seed": seed}
    return {"name": "propagation", "run": run, "link": [link], "flow": [flow]}


def is_handover(content: Mapping[str, Any], link: str, break_s: float) -> bool:
    """Whether a break of a link is a handover between satellites, and not an outage: it has the handover's length.

    >>> moving = {"link": [{"name": "l", "leo": {"handover": "50 ms"}}]}
    >>> is_handover(moving, "l.forward", 0.05), is_handover(moving, "l.forward", 15.0), is_handover({"link": []}, "l.forward", 0.05)
    (True, False, False)
    """
    leo = setting(content, link, "leo")
    return bool(leo) and abs(break_s - (read_in(leo.get("handover", "0 s"), "s") or 0.0)) < 1e-6
