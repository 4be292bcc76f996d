"""Longhaul: a laboratory for TCP over paths that are long, fat, lossy or lopsided.

>>> import longhaul
>>> scenario = (
...     longhaul.Scenario("geostationary", duration="60 s")
...     .link("satellite", "hub", "remote", rate="10 Mbit/s", delay="250 ms", queue="300 packets")
...     .flow("hub", "remote", tcp={"variant": "sack", "congestion": "cubic"})
... )
>>> result = longhaul.run(scenario)
>>> 6e6 < result.metrics["goodput_bps"] < 10e6
True

`run` simulates a scenario, `sweep` varies it, `advise` tries what would make it better, `compare` shows results side by side, `load` reads what was written before, `verify` runs it again and compares every
byte; `catalogue` lists what a scenario can be made of, `schema` is its JSON Schema.
"""

from __future__ import annotations

from . import early as _early  # noqa: F401 # first: it takes care of Ctrl-C during the other imports

# isort: split
from pathlib import Path

from .advice import Advice, advise
from .comparison import Comparison, compare
from .core import ProgressCallback, schema
from .errors import LonghaulError, OutputError, PlotError, ResultError, RunCancelled, RunError, ScenarioError
from .listing import catalogue
from .outputs import damage_of, kind_of
from .results import Result, load_run, require_directory
from .running import run
from .scenario import Scenario
from .sweep import SweepResult, sweep
from .values import folder as _folder
from .verifying import Check, verify

__all__ = [
    "Advice", "Check", "Comparison", "LonghaulError", "OutputError", "PlotError", "ProgressCallback", "Result", "ResultError", "RunCancelled", "RunError",
    "Scenario", "ScenarioError", "SweepResult", "advise", "catalogue", "compare", "load", "run", "schema", "sweep", "verify",
]  # fmt: skip


def load(directory: str | Path) -> Result | SweepResult:
    """Reads a result directory, of a run or of a sweep; raises `ResultError` if it is neither, or damaged."""
    path = _folder(directory, "directory")
    if not path.exists():  # it may be a run of a sweep
        return load_run(path)
    require_directory(path)
    kind = kind_of(path)
    if kind == "study":
        raise ResultError(f"{path} is a study; name one of its scales, as {path / 'quick'}")
    file = path / ("summary.json" if kind == "run" else "manifest.json")
    if kind is not None and file.exists():
        return SweepResult(path) if kind == "sweep" else load_run(path)
    neither = "not a Longhaul result: it contains neither summary.json (a run) nor manifest.json (a sweep)"
    raise ResultError(f"{path} is {f'a result whose {damage_of(path)}' if kind else neither}")


def __dir__() -> list[str]:
    """The public names, not what they are made of."""
    return sorted(__all__)
