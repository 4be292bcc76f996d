"""Use and queues of links over time, for the slider below a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .network import Network

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
        rows = frame.filter(pl.col("link") == way.number).sort("time_s")
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


def _parts(values: np.typing.NDArray[np.float64], edges: np.typing.NDArray[np.int_]) -> list[int]:
    import numpy as np

    means = np.add.reduceat(values, edges) / np.diff(np.append(edges, len(values)))
    return [int(part) for part in np.round(np.clip(means, 0.0, 1.0) * 255)]
