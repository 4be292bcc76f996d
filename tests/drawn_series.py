"""Time series of runs that do not exist, drawn at random, with any column or any flow's values twice or half as large.

Windows are saw teeth whose times of growth and of cuts are drawn, rates follow them, and counters are drawn by themselves.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from longhaul_studies import Row

#: Seconds of a run, and the packets of a full path, of the experiments that differ from the others.
_SECONDS = {"E7": 3600.0, "long": 10_000.0, "E11": 100.0}
_PACKETS = {"highspeed": 12_000.0, "split-pep": 4_000.0, "sttp": 20.0}
_SAMPLES, _WARMUP, _MSS = 400, 20.0, 1460
#: Most flows whose series are drawn; of many flows only the one that a target looks at is.
_FLOWS = 6
#: Bytes that a flow delivers in a run if it opens: half of them count as never opened.
_OPEN = 1500.0
_CUTS = ("fast_retransmit", "timeout", "ecn_reduction")


@dataclasses.dataclass(frozen=True)
class Change:
    """A factor on the values of a column in a part of the run, of one flow or of all."""

    column: str
    factor: float
    flow: int | None
    first: float
    last: float

    @classmethod
    def drawn(cls, draw: random.Random) -> Change:
        """Any of the changes that a factor of two makes."""
        column = draw.choice(
            (
                "cwnd_bytes",
                "goodput_bps",
                "throughput_bps",
                "srtt_s",
                "counted",
                "dropped",
                "time_s",
                "delivered_bytes",
                "queue_bytes",
            )
        )
        part = draw.choice(((0.0, 1.0), (0.0, 1.0), (0.0, 0.5), (0.5, 1.0)))
        return cls(column, draw.choice((0.5, 2.0)), draw.choice((None, None, 0, 1)), *part)


class Series:
    """What a target reads of a run's result: its frames, and the parts of the summary that name flows and links."""

    def __init__(self, study: str, row: Row, seed: int, like: random.Random, changes: tuple[Change, ...]) -> None:
        """`like` holds what the runs of a drawing have in common."""
        self._row, self._changes = row, changes
        self._draw = np.random.default_rng(seed)
        self._seconds = _SECONDS.get(row.experiment, 300.0)
        self._top = _PACKETS.get(study, 100.0) * like.uniform(0.3, 1.6)
        self._even = like.choice((0.0, 0.02, 0.3, 1.0))
        self._lost = like.choice((0.0, 0.02, 0.1, 0.4))
        self._rate = like.choice((0.5e6, 1.5e6, 5e6, 1e8))
        self._cuts = like.choice((0, 1, 1, 2, 3, 5))
        self._time = np.linspace(self._seconds / _SAMPLES, self._seconds, _SAMPLES)

    @cached_property
    def _numbers(self) -> list[int]:
        count = int(self._row.parameters.get("n", self._row.parameters.get("flows", _FLOWS)))
        return list(range(count)) if count <= _FLOWS else [*range(_FLOWS - 2), count * 23 // 50, 547 * count // 750]

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Flows and links by name."""
        count = int(self._row.parameters.get("n", _FLOWS))
        dead = self._draw.random(count) < self._lost
        flows = [
            {
                "id": i,
                "group": "sttp",
                "metrics": {"delivered_bytes": self._scaled("delivered_bytes", _OPEN / 2.5 if dead[i] else _OPEN, i)},
            }
            for i in range(count)
        ]
        monitor = [
            {
                "metrics": {
                    "offered_packets": self._scaled("counted", self._spread(16_000.0 / count), i),
                    "dropped_packets": self._scaled("dropped", self._lost * 50, i),
                }
            }
            for i in range(count)
        ]
        names = (
            "bottleneck.forward",
            "split.forward",
            "middle.forward",
            *(f"access-{i}.forward" for i in range(_FLOWS)),
        )
        links = [{"name": name, "monitor": monitor} for name in names]
        return {"flows": flows, "links": links, "warmup_s": _WARMUP}

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Windows, rates and round trips of the flows that are looked at."""
        return pl.concat([self._flow(i) for i in self._numbers])

    @cached_property
    def events(self) -> pl.DataFrame:
        """Each flow's cuts."""
        rows = [
            (float(at), kind, i) for i in self._numbers for at, kind in zip(self._teeth(i), _CUTS * 2, strict=False)
        ]
        return pl.DataFrame(rows, schema={"time_s": pl.Float64, "kind": pl.String, "flow": pl.Int64}, orient="row")

    @cached_property
    def links(self) -> pl.DataFrame:
        """Queues, drops and rates of the first two links."""
        frames = []
        for link in (0, 1):
            frames.append(
                pl.DataFrame(
                    {
                        "time_s": self._time, "link": [link] * _SAMPLES, "throughput_bps": self._column("throughput_bps", 9e7 * self._noise()),
                        "queue_bytes": self._column("queue_bytes", 1e5 * self._noise()),
                        "drops_queue": self._column("dropped", 100 * self._lost * self._noise()),
                        "drops_loss": np.zeros(_SAMPLES), "marks": np.zeros(_SAMPLES),
                    }
                )
            )  # fmt: skip
        return pl.concat(frames)

    @cached_property
    def monitors(self) -> pl.DataFrame:
        """Packets of six flows at each link in ten intervals."""
        frames = []
        for link in range(2, 3 + _FLOWS):
            for flow in range(_FLOWS):
                if link not in (2, 3 + flow):
                    continue
                sent = self._scaled("counted", self._spread(22.0), flow) * (
                    1 + self._even * self._draw.standard_normal(10)
                )
                lost = self._scaled("dropped", self._lost * 12, flow) * np.ones(10)
                frames.append(
                    pl.DataFrame({"time_s": np.arange(10.0), "link": [link] * 10, "flow": [flow] * 10, "offered_packets": sent, "dropped_packets": lost})
                )  # fmt: skip
        return pl.concat(frames)

    @cached_property
    def long_hops(self) -> pl.DataFrame:
        """The window and the rate of the split connection."""
        window = self._window(0)
        rate = np.minimum(window / 3250, 1) * 1e8
        return pl.DataFrame(
            {
                "time_s": self._time, "port": [0] * _SAMPLES, "cwnd_bytes": self._column("cwnd_bytes", window * 1000),
                "throughput_bps": self._column("throughput_bps", rate),
            }
        )  # fmt: skip

    def _flow(self, number: int) -> pl.DataFrame:
        window = self._window(number)
        rate = self._rate * window / window.max() * self._noise()
        return pl.DataFrame(
            {
                "time_s": self._time, "flow": [number] * _SAMPLES, "cwnd_bytes": self._column("cwnd_bytes", window * _MSS, number),
                "goodput_bps": self._column("goodput_bps", rate, number), "throughput_bps": self._column("throughput_bps", rate, number),
                "srtt_s": self._column("srtt_s", 2 * self._noise(), number),
            }
        )  # fmt: skip

    def _teeth(self, flow: int) -> np.ndarray:
        """When the flow's window is cut."""
        draw = np.random.default_rng([flow, int(self._top)])
        gaps = self._seconds / 8 * draw.uniform(0.08, 1.0, self._cuts)
        return np.minimum(self._scaled("time_s", np.cumsum(gaps), flow), self._seconds)

    def _window(self, flow: int) -> np.ndarray:
        """Growth to the top until the first cut, and from half of it again after each."""
        edges = [0.0, *self._teeth(flow), self._seconds]
        window = np.empty(_SAMPLES)
        for start, end in itertools.pairwise(edges):
            within = (self._time > start) & (self._time <= end)
            share = (self._time[within] - start) / max(end - start, 1e-9)
            window[within] = self._top * (share if start == 0 else 0.5 + 0.5 * share)
        return np.maximum(window, 1.0)

    def _noise(self) -> np.ndarray:
        return np.maximum(1 + self._even * self._draw.standard_normal(_SAMPLES), 0.0)

    def _spread(self, value: float) -> float:
        return value * float(1 + self._even * self._draw.uniform(-1, 1))

    def _scaled(self, name: str, value: Any, flow: int | None = None) -> Any:
        for change in self._changes:
            if change.column == name and change.flow in (None, flow):
                value = value * change.factor
        return value

    def _column(self, name: str, values: np.ndarray, flow: int | None = None) -> np.ndarray:
        for change in self._changes:
            if change.column == name and change.flow in (None, flow):
                part = (self._time > change.first * self._seconds) & (self._time <= change.last * self._seconds)
                values = np.where(part, values * change.factor, values)
        return values


@dataclasses.dataclass(frozen=True)
class DrawnRow(Row):
    """A run whose result is drawn when it is asked for."""

    study: str = ""
    seed_of_series: int = 0
    #: Seed of what the runs of a drawing, or of a point, have in common.
    alike: int = 0
    changes: tuple[Change, ...] = ()
    #: Ids of the runs whose series were asked for; shared by all rows.
    opened: set[str] | None = dataclasses.field(default=None, compare=False, repr=False)

    def result(self) -> Any:
        """The drawn series."""
        self._note()
        if self.opened is not None:
            self.opened.add(self.run_id)
        return Series(self.study, self, self.seed_of_series, random.Random(self.alike), self.changes)


def changed_series(row: DrawnRow, change: Change) -> DrawnRow:
    """The run with a change."""
    return dataclasses.replace(row, changes=(*row.changes, change))
