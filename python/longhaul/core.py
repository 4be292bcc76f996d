"""The one place that calls the compiled simulator; its errors become Longhaul's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .document import Document
from .errors import LonghaulError, RunCancelled, RunError, ScenarioError

#: Called with simulated time in s, duration in s, events so far; `False` stops the run.
ProgressCallback = Callable[[float, float, int], bool | None]
#: Paths in the scenario with TOML text of their new values.
Overrides = Sequence[tuple[str, str]]


def _core() -> ModuleType:
    try:
        from . import _core as module
    except ImportError as error:
        raise LonghaulError(
            f"the compiled simulator is missing ({error}); run `make demo` in the project, or `pip install .`"
        ) from None
    return module


def version() -> str:
    """The simulator's version."""
    return str(_core().version)


def run(
    document: Document,
    overrides: Overrides = (),
    *,
    out: Path | None = None,
    tables: bool = True,
    progress: ProgressCallback | None = None,
) -> dict[str, Any]:
    """Runs a scenario to its end and returns the summary; writes the result files into `out`, if given."""
    core = _core()
    try:
        summary = core.run(document.text, document.source, list(overrides), out, tables, progress)
    except core.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    except core.RunCancelled as error:
        raise RunCancelled(str(error)) from None
    except core.RunError as error:
        raise RunError(str(error)) from None
    result: dict[str, Any] = json.loads(summary)
    return result


def resolve(document: Document, overrides: Overrides = ()) -> tuple[str, str]:
    """The scenario with every default written out, as TOML, and the identity of the run."""
    core = _core()
    try:
        text, run_id = core.resolve(document.text, document.source, list(overrides))
    except core.ScenarioError as error:
        raise ScenarioError(str(error)) from None
    return text, run_id


def schema() -> dict[str, Any]:
    """The JSON Schema of scenario files."""
    result: dict[str, Any] = json.loads(_core().schema())
    return result


def registry() -> dict[str, Any]:
    """Every algorithm, queue, application and metric with its source and parameters."""
    result: dict[str, Any] = json.loads(_core().registry())
    return result
