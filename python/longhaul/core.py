"""The one place that calls the compiled simulator; its errors become Longhaul's own."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from . import outputs, toml, watching
from .document import Document
from .errors import LonghaulError, OutputError, RunCancelled, RunError, ScenarioError

T = TypeVar("T")
#: Called with simulated time in s, duration in s, events so far; `False` stops the run.
ProgressCallback = Callable[[float, float, int], bool | None]
#: Paths in the scenario with TOML text of their new values.
Overrides = Sequence[tuple[str, str]]
#: Whether scenarios of this process can have congestion controls in Python, which are watched over.
_has_controls = False

#: The `[sweep]` table, which `longhaul.sweep.plan` reads and the simulator never sees.
SWEEP_SCHEMA: dict[str, Any] = {
    "description": "What `longhaul sweep` varies: every point of a grid, or of a list, under several seeds.",
    "type": "object",
    "properties": {
        "replications": {
            "description": "Seeds at each point: run.seed, run.seed + 1 and so on.",
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000_000,
            "default": 1,
        },
        "grid": {
            "description": "Values by path of the setting; every combination is a point.",
            "type": "object",
            "propertyNames": {"not": {"const": "run.seed"}},
            "additionalProperties": {"type": "array", "minItems": 1},
            "examples": [{"flow.0.count": [1, 10, 50], "link.satellite.rate": ["10 Mbit/s", "50 Mbit/s"]}],
        },
        "zip": {
            "description": "Settings that change together: lists of one length. A list of such tables is one axis each, beside the grid.",
            "anyOf": [
                {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}},
                {
                    "type": "array",
                    "items": {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}},
                },
            ],
            "examples": [
                {
                    "link.satellite.rate": ["10 Mbit/s", "50 Mbit/s"],
                    "link.satellite.queue.limit": ["400 packets", "2000 packets"],
                }
            ],
        },
        "points": {
            "description": "Points with names, beside the grid: tables of settings; the results have the names in the column `point`.",
            "type": "object",
            "additionalProperties": {"type": "object"},
            "examples": [{"plain": {}, "tuned": {"flow.0.tcp.congestion": "bbr"}}],
        },
        "list": {
            "description": "Points one by one: tables of settings by their paths.",
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "propertyNames": {"not": {"const": "run.seed"}}},
            "examples": [[{"flow.0.count": 1}, {"flow.0.count": 2, "link.satellite.rate": "10 Mbit/s"}]],
        },
    },
    "additionalProperties": False,
    "not": {"required": ["grid", "list"]},
}


def _core() -> ModuleType:
    try:
        from . import _core as module
    except ImportError as error:
        raise LonghaulError(
            f"the compiled simulator is missing ({error}); run `make install` in the project, or `pip install .`"
        ) from None
    return module


def version() -> str:
    """The simulator's version."""
    return str(_core().version)


def program() -> str:
    """A digest of the simulator's sources. It changes with every line that could change a result, independent of the version."""
    return str(_core().program)


def closed_forms() -> Any:
    """The module that has the closed forms; `longhaul.closed_forms` is their face."""
    return _core()


def run(
    document: Document,
    overrides: Overrides = (),
    *,
    out: Path | None = None,
    tables: bool = True,
    progress: ProgressCallback | None = None,
    follow: Callable[[float, float, list[int]], None] | None = None,
) -> dict[str, Any]:
    """Runs a scenario to its end and returns the summary; writes the result files into `out`, if given.

    `follow(sim_time_s, duration_s, delivered)` is called like `progress`, with the bytes that each group of flows has delivered.
    """
    began = time.thread_time()
    noted: list[BaseException] = []

    def told(now: float, duration: float, events: int, delivered: list[int]) -> bool | None:
        if noted:
            raise noted[0]
        if follow:
            follow(now, duration, delivered)
        return progress(now, duration, events) if progress else None

    called = progress or follow or _has_controls
    arguments = document.text, document.source, list(overrides), document.folder, out, tables, told if called else None
    summary = _called(document, noted, _core().run, *arguments)
    if out is not None:
        outputs.add_timing(out, cpu_s=time.thread_time() - began)
    result: dict[str, Any] = json.loads(summary)
    return result


class Made(NamedTuple):
    """A run that was made: resolved scenario (TOML), summary without definitions, and these (JSON)."""

    scenario: bytes
    summary: bytes
    definitions: bytes
    #: Simulated events, and wall-clock seconds.
    events: int
    wall_s: float


def run_seeds(
    document: Document,
    overrides: Overrides,
    seeds: Sequence[int],
    *,
    progress: Callable[[int, float, float, int, list[int]], bool | None] | None = None,
    budget_s: float = math.inf,
) -> list[Made]:
    """Runs a scenario under several seeds, without time series, until all are made or `budget_s` is over; at least one.

    `progress(index, sim_time_s, duration_s, events, delivered)` is called as that of `run`; `index` counts the seeds. If a run fails,
    none is returned, and it is the first: with congestion controls in Python, only that is made.
    """
    noted: list[BaseException] = []

    def told(index: int, now: float, duration: float, events: int, delivered: list[int]) -> bool | None:
        if noted:
            raise noted[0]
        return progress(index, now, duration, events, delivered) if progress else None

    wanted = list(seeds[:1] if _has_controls else seeds)
    arguments = document.text, document.source, list(overrides), wanted, document.folder, told, budget_s
    return [Made(*one) for one in _called(document, noted, _core().run_seeds, *arguments)]


def _called(document: Document, noted: list[BaseException], call: Callable[..., T], *arguments: Any) -> T:
    """What the simulator returns; its errors become Longhaul's. `noted` takes up what a signal raises while a control is called."""
    core = _core()
    try:
        if _has_controls:
            with watching.signals_noted(noted), watching.calls_end():
                return call(*arguments)
        return call(*arguments)
    except core.ScenarioError as error:
        raise _wrong(error, document) from None
    except watching.TooLong as error:  # the call came back when its end was near
        raise RunError(f"congestion control: {error}") from None
    except core.RunCancelled as error:
        raise RunCancelled(str(error)) from None
    except core.WriteError as error:
        raise OutputError(_without_number(error)) from None
    except core.RunError as error:
        if noted:  # a signal came while a control was called
            raise noted[0] from None
        raise RunError(_without_number(error).replace(": TooLong: ", ": ", 1)) from None


def _wrong(error: Exception, document: Document) -> ScenarioError:
    """The error of a scenario; of one that is built in Python a missing duration with the keyword that gives it."""
    text = _without_number(error)
    if document.built and re.search("missing field `(run|duration)`", text):
        text = f'{document.source}: there is no duration; give one, as in Scenario(..., duration="100 s")'
    return ScenarioError(text)


def _without_number(error: Exception) -> str:
    """The system's message about a file, without its error number."""
    return re.sub(r" \(os error \d+\)", "", str(error))


def resolve(document: Document, overrides: Overrides = ()) -> tuple[str, str]:
    """The scenario with every default written out, as TOML, and the identity of the run."""
    core = _core()
    try:
        text, run_id = core.resolve(document.text, document.source, list(overrides), document.folder)
    except core.ScenarioError as error:
        raise _wrong(error, document) from None
    return text, run_id


class Checked(NamedTuple):
    """A scenario that was checked and not run."""

    #: Everything that is wrong, as far as it could be read.
    errors: list[str]
    #: The scenario with every default written out; empty if something is wrong.
    resolved: str
    #: What its settings are warned of: code, object and message.
    warnings: list[tuple[str, str, str]]


def check(document: Document, overrides: Overrides = ()) -> Checked:
    """Reads a scenario and runs nothing."""
    core = _core()
    errors, resolved, warnings = core.check(document.text, document.source, list(overrides), document.folder)
    return Checked([str(_wrong(ValueError(error), document)) for error in errors], resolved, warnings)


def resolve_seeds(document: Document, overrides: Overrides, seeds: Sequence[int]) -> tuple[str, list[str]]:
    """The scenario as TOML under the first seed, and the identity of the run under each: read and checked once."""
    core = _core()
    try:
        text, run_ids = core.resolve_seeds(
            document.text, document.source, list(overrides), list(seeds), document.folder
        )
    except core.ScenarioError as error:
        raise _wrong(error, document) from None
    return text, run_ids


def resolve_points(
    document: Document, points: Sequence[Overrides], seeds: Sequence[int]
) -> list[tuple[str, list[str]]]:
    """For each point the scenario under the first seed as JSON, every default written out, and the identity of the run under each."""
    core = _core()
    try:
        found: list[tuple[str, list[str]]] = core.resolve_points(
            document.text, document.source, [list(point) for point in points], list(seeds), document.folder
        )
    except core.ScenarioError as error:
        raise _wrong(error, document) from None
    return found


def flat_columns(summaries: Sequence[bytes]) -> list[tuple[str, bytes]]:
    """The metrics of summaries (JSON) under flat names, a column for each: 64-bit floats, NaN where there is none."""
    columns: list[tuple[str, bytes]] = _core().flat_columns(list(summaries))
    return columns


def estimates(values: bytes, lengths: Sequence[int]) -> list[bytes]:
    """Of consecutive groups of values (64-bit floats) columns with count, mean, median, standard deviation, minimum and maximum."""
    columns: list[bytes] = _core().estimates(values, list(lengths))
    return columns


def register_control(name: str, source: str, control: type) -> None:
    """Makes a class known to scenarios of this process as a congestion control; `source` is a digest of what it is made of."""
    global _has_controls
    _has_controls = True
    _core().register_control(name, source, control)


def read_measurement(settings: dict[str, Any], quantity: str) -> tuple[list[tuple[float, float]], float]:
    """Times in s and values (bit/s, s, shares) of a measured `rate`, `delay` or `loss`, and the length in s."""
    core = _core()
    try:
        rows, period = core.read_measurement(toml.document(settings), quantity)
    except core.ScenarioError as error:
        raise LonghaulError(_without_number(error)) from None
    return list(rows), float(period)


def read_outcomes(settings: dict[str, Any]) -> list[tuple[float, bool]] | None:
    """Each probe of a file of `irtt` or `ping`: time in s, and whether it was lost; `None` of files of other programs."""
    core = _core()
    try:
        found: list[tuple[float, bool]] | None = core.read_outcomes(toml.document(settings))
    except core.ScenarioError as error:
        raise LonghaulError(_without_number(error)) from None
    return found


def course(document: Document, link: int, times: list[float]) -> list[tuple[float, float]]:
    """Rate in bit/s and delay in s of a direction of a link at times in s; `link` counts directions, two for each link."""
    core = _core()
    try:
        found: list[tuple[float, float]] = core.course(document.text, document.source, link, times, document.folder)
    except core.ScenarioError as error:
        raise _wrong(error, document) from None
    return found


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, with the `[sweep]` table."""
    result: dict[str, Any] = json.loads(_core().schema())
    result["properties"] = dict(sorted({**result["properties"], "sweep": SWEEP_SCHEMA}.items()))
    return result


def registry() -> dict[str, Any]:
    """Every algorithm, queue, application and metric with its source and parameters."""
    result: dict[str, Any] = json.loads(_core().registry())
    return result
