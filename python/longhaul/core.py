"""The one place that calls the compiled simulator; its errors become Longhaul's own."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from . import outputs, watching
from .document import Document
from .errors import LonghaulError, OutputError, RunCancelled, RunError, ScenarioError

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
    core = _core()
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
    try:
        if _has_controls:
            with watching.signals_noted() as noted, watching.calls_end():
                summary = core.run(*arguments)
        else:
            summary = core.run(*arguments)
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
    if out is not None:
        outputs.add_timing(out, cpu_s=time.thread_time() - began)
    result: dict[str, Any] = json.loads(summary)
    return result


def _wrong(error: Exception, document: Document) -> ScenarioError:
    """What is wrong with a scenario; of one that is built in Python a missing duration with the keyword that gives it."""
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


def register_control(name: str, source: str, control: type) -> None:
    """Makes a class known to scenarios of this process as a congestion control; `source` is a digest of what it is made of."""
    global _has_controls
    _has_controls = True
    _core().register_control(name, source, control)


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files, with the `[sweep]` table."""
    result: dict[str, Any] = json.loads(_core().schema())
    result["properties"] = dict(sorted({**result["properties"], "sweep": SWEEP_SCHEMA}.items()))
    return result


def registry() -> dict[str, Any]:
    """Every algorithm, queue, application and metric with its source and parameters."""
    result: dict[str, Any] = json.loads(_core().registry())
    return result
