"""How long a link takes without queue and transmission, over a run: where a script, a file or satellites move it.

What a script does is in the events of a run. What a file or a constellation does is not: packets are sent once more over such a link
alone, so fast that they take no time themselves, and their round trip is the delay. So a figure shows what the simulator has, whatever made it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
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


def delays(result: Result) -> list[Delay]:
    """The directions of links whose delay changes in the run, in the order of the summary; a direction that has the delay of the one
    before it, as over satellites, is left out.
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
    return sorted([*found, *_measured(moving, length, result)], key=lambda one: one.number)


def moves(result: Result) -> bool:
    """Whether a link's delay changes in the run."""
    content = content_of(result)
    names = [str(link["name"]) for link in result.summary["links"]]
    if any(_source(content, name) is not None for name in names):
        return True
    return result.has_tables and any(not link.delay.constant for link in course.links_over_time(result))


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


def _measured(moving: Mapping[int, Mapping[str, Any]], length: float, result: Result) -> list[Delay]:
    if not moving:
        return []
    gap = max(length / _PACKETS, _LEAST_S)
    document = Document(
        toml.document(_probe(moving, length, gap, int(result.summary["seed"]))),
        "the links of this run",
        folder=result.path,
    )
    with tempfile.TemporaryDirectory(prefix="longhaul-") as place:
        try:
            core.run(document, (), out=Path(place), tables=True)
            frame = load_run(Path(place)).segments
        except (RunError, ScenarioError, ResultError, OSError):  # a file is gone, or has other values than then
            return []
        flow, kind, time = (frame[name].to_numpy() for name in ("flow", "kind", "time_s"))
        start, end = (frame[name].to_numpy() for name in ("start", "end"))
    found = []
    for place_of, number in enumerate(moving):
        sent, acks = ((flow == place_of) & (kind == wanted) for wanted in (_SENT, _ACK))
        began, last = time[sent], end[sent]
        order = np.argsort(start[acks], kind="stable")
        acked, came = start[acks][order], time[acks][order]
        places = np.searchsorted(acked, last)
        known = places < len(acked)
        trips = came[places[known]] - began[known]
        # Of a file the way back takes no time; else both ways are alike.
        values = trips if "forward" in moving[number] else trips / 2
        if len(values) > 1 and float(np.ptp(values)) > 1e-6:
            found.append(Delay(number, began[known], values, stepped=False))
    return found


def _probe(moving: Mapping[int, Mapping[str, Any]], length: float, gap: float, seed: int) -> dict[str, Any]:
    """Packets over each of these links alone, at a rate at which they take no time."""
    links, flows = [], []
    for number, source in moving.items():
        ends = [f"a{number}", f"b{number}"]
        links.append({"name": f"way{number}", "ends": ends, "rate": "1 Tbit/s", **source})
        # Whole segments: less would wait for an ACK (Nagle), and its ACK for more.
        app = {"kind": "messages", "size": "1460 B", "gap": f"{gap:.6g} s"}
        tcp = {"ack_every": 1, "congestion": {"kind": "fixed", "window": "1 MB"}}
        flows.append({"name": f"flow{number}", "from": ends[0], "to": ends[1], "trace": True, "tcp": tcp, "app": app})
    run = {"duration": f"{length:.9g} s", "sample": f"{length:.9g} s", "seed": seed}
    return {"name": "propagation", "run": run, "link": links, "flow": flows}


def handover_s(content: Mapping[str, Any], link: str) -> float | None:
    """For how long nothing gets through over a link when another satellite takes over, in s; `None` without satellites.

    >>> handover_s({"link": [{"name": "l", "leo": {"handover": "50 ms"}}]}, "l.forward")
    0.05
    """
    leo = setting(content, link, "leo")
    return read_in(leo.get("handover", "0 s"), "s") if leo else None


def is_handover(content: Mapping[str, Any], link: str, break_s: float) -> bool:
    """Whether a break of a link is a handover between satellites, and not an outage: it has the handover's length.

    >>> moving = {"link": [{"name": "l", "leo": {"handover": "50 ms"}}]}
    >>> is_handover(moving, "l.forward", 0.05), is_handover(moving, "l.forward", 15.0), is_handover({"link": []}, "l.forward", 0.05)
    (True, False, False)
    """
    length = handover_s(content, link)
    return length is not None and abs(break_s - length) < 1e-6
