"""Links over time: their use and queues, for the slider below a drawing, and the course of rates that follow a measurement or grants."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import core, toml
from ..document import Document
from ..errors import LonghaulError
from ..script import seconds
from .network import ADAPTED, MEASURED, ON_REQUEST, POINTS, SATELLITES, Network

if TYPE_CHECKING:
    import numpy as np

    from ..results import Result

#: So many times at most, and directions of links: those that carry the most of their rate.
_TIMES, _WAYS = 240, 24


def of_result(made: Network, result: Result) -> dict[str, Any] | None:
    """Times in s, and for each direction of a link, by number, shares in 255 parts: of the rate that is in use, and of the queue's
    room (or of its longest) that is filled, means over an interval; `None` without time series.
    """
    if not result.has_tables:
        return None
    import numpy as np
    import polars as pl

    ways = [(link.name, way) for link in made.links.values() for way in link.ways]
    ways = sorted(ways, key=lambda one: -(one[1].use or 0.0))[:_WAYS]
    frame = result.links
    times = frame["time_s"].unique().sort().to_numpy()
    if len(times) < 2 or not ways:
        return None
    edges = np.linspace(0, len(times), min(_TIMES, len(times)) + 1).astype(int)[:-1]
    found: dict[str, Any] = {}
    for name, way in ways:
        # Of directions that are alike, the mean.
        rows = (
            frame.filter(pl.col("link").is_in(way.alike))
            .group_by("time_s")
            .agg(pl.mean("utilisation", "queue_packets"))
            .sort("time_s")
        )
        if len(rows) != len(times):
            continue
        use, queue = (
            rows[column].cast(pl.Float64).fill_null(0.0).to_numpy() for column in ("utilisation", "queue_packets")
        )
        room = way.room or float(queue.max()) or 1.0
        found[str(way.number)] = {
            "name": name, "use": _parts(use, edges), "queue": _parts(queue / room, edges), "down": [list(one) for one in way.outages],
        }  # fmt: skip
    return {"times": [round(float(time), 6) for time in times[edges]], "ways": found} if found else None


def add_delays(made: Network, content: Mapping[str, Any], folder: Path | None) -> None:
    """How far the delays of links move that follow satellites, a measurement or a random course; `content` is the resolved scenario, and
    its files begin at `folder`. Without the files they stay unknown.
    """
    moving = [way for link in made.links.values() for way in link.ways if any(_moves(text) for text in way.events)]
    if not moving:
        return
    length = seconds((content.get("run") or {}).get("duration"))
    times = [length * step / _TIMES for step in range(_TIMES)]
    document = Document(toml.document(dict(content)), "the drawing", folder=folder)
    for way in moving:
        try:
            found = [delay for _, delay in core.course(document, way.number, times)]
        except LonghaulError:
            return
        if min(found) < max(found):
            way.delay, way.longest = min(found), max(found)


def _moves(text: str) -> bool:
    """Whether a delay may move for what stands beside the link."""
    return text in (SATELLITES, MEASURED) or text.endswith(" at random")


def add_courses(made: Network, result: Result, content: Mapping[str, Any]) -> None:
    """Gives directions that follow a measurement or their signal their rate over time, and those with grants what they carried."""
    if not result.has_tables:
        return
    import numpy as np
    import polars as pl

    from .. import course

    scripts = course.links_over_time(result)
    for link in made.links.values():
        for way in link.ways:
            words = next((text for text in way.events if text in (MEASURED, ADAPTED, ON_REQUEST)), "")
            if not words:
                continue
            frame = result.links.filter(pl.col("link") == way.number).sort("time_s")
            times, values = frame["time_s"].to_numpy(), frame["throughput_bps"].to_numpy()
            if words != ON_REQUEST:
                name = str(result.summary["links"][way.number]["name"])
                if not course.follows_measurement(content, name):
                    continue  # its delay or its loss alone is measured
                fades = course.adapts(content, name)
                values = course.capacity(result, way.number, scripts[way.number], times, is_measured=True, fades=fades)
            if len(times) < 2 or not np.nanmax(values, initial=0.0):
                continue
            edges = np.linspace(0, len(times), min(POINTS, len(times)) + 1).astype(int)
            means = np.array([np.nanmean(values[low:high]) for low, high in itertools.pairwise(edges)])
            way.course = (words, [round(float(value), 3) for value in means / np.nanmax(means)])


def _parts(values: np.typing.NDArray[np.float64], edges: np.typing.NDArray[np.int_]) -> list[int]:
    import numpy as np

    means = np.add.reduceat(values, edges) / np.diff(np.append(edges, len(values)))
    return [int(part) for part in np.round(np.clip(means, 0.0, 1.0) * 255)]
