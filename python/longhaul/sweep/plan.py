"""What a sweep consists of: its points, its seeds, and the runs that they make."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import controls, core, toml
from ..document import Document
from ..errors import ScenarioError
from ..large import Estimate, estimate_of, larger
from ..values import plain, whole
from .processors import cores
from .runs import PlannedRun, Point, Replicated, ids_of, points_of, unique

#: The most seeds at a point.
_MOST = 1_000_000
_KEYS = ("replications", "grid", "zip", "points", "list")
#: The column that has the names of named points.
NAMED = "point"
#: Points, and ids of runs, that are resolved in one go.
_AT_ONCE, _IDS_AT_ONCE = 200, 200_000


@dataclass(frozen=True)
class Plan:
    """All runs of a sweep, in order: points as they are listed, seeds within a point."""

    name: str
    parameters: tuple[str, ...]
    replications: int
    first_seed: int
    #: Identity of the scenario that the sweep varies, whatever its points and seeds: a grown sweep keeps it.
    base_id: str
    runs: Sequence[PlannedRun]
    #: What the largest run takes, without and with time series.
    largest_sizes: tuple[Estimate, Estimate] = (Estimate(), Estimate())

    def largest(self, tables: bool) -> Estimate:
        """The size of the largest run, with or without its time series."""
        return self.largest_sizes[tables]

    @cached_property
    def cells(self) -> int:
        """Number of points."""
        return len({point.cell for point in points_of(self.runs)})

    @cached_property
    def plan_id(self) -> str:
        """Hash of all runs' identities: two plans with the same id are the same sweep."""
        return hashlib.sha256("\n".join(ids_of(self.runs)).encode()).hexdigest()[:32]

    @cached_property
    def unique(self) -> Sequence[PlannedRun]:
        """The runs without those that are the same in all that matters as an earlier one."""
        return unique(self.runs)

    def shard(self, index: int, count: int) -> Sequence[PlannedRun]:
        """The runs of shard `index` (from 1) of `count`: every `count`-th, each run in exactly one shard."""
        return self.unique[index - 1 :: count]


def make_plan(
    document: Document,
    fixed: core.Overrides = (),
    *,
    grid: Mapping[str, Sequence[Any]] | None = None,
    points: Sequence[Mapping[str, Any]] | None = None,
    replications: int | None = None,
    seed: int | None = None,
) -> Plan:
    """Reads the `[sweep]` table; arguments take the place of its entries. Every run is checked before any is made.

    Replication k has seed `seed + k` at every point, so that points have the same random draws (common random numbers).
    """
    own = grid is None and points is None
    grid, points = plain_axes(grid, points)
    grid, points, replications = _settings(document, grid, points, replications)
    cells = [(cell, cell) for cell in _points(document.source, grid, points)]
    if own and points is None:
        cells = _with_axes(document.source, document.sweep or {}, cells)
    resolved = tomllib.loads(core.resolve(document, fixed)[0])
    first = int(resolved["run"]["seed"]) if seed is None else whole(seed, "seed")
    made: list[Point] = []
    ids: list[str] = []
    largest = Estimate(), Estimate()
    changes = [
        tuple((path, toml.value(controls.named(item))) for path, item in settings.items()) for _, settings in cells
    ]
    for cell, (content, run_ids) in enumerate(_resolved(document, fixed, changes, first, replications)):
        largest = larger(largest[0], estimate_of(content, False)), larger(largest[1], estimate_of(content, True))
        made.append(Point(cell, _labels(cells[cell][0]), document, (*fixed, *changes[cell])))
        ids.append(run_ids)
    names = tuple(dict.fromkeys(path for parameters, _ in cells for path in parameters))
    _, base_id = core.resolve(document, (*fixed, ("run.seed", "0")))
    return Plan(
        str(resolved["name"]), names, replications, first, base_id, Replicated(made, ids, first, replications), largest
    )


def _resolved(
    document: Document,
    fixed: core.Overrides,
    changes: Sequence[core.Overrides],
    first: int,
    replications: int,
) -> Iterator[tuple[dict[str, Any], str]]:
    """Each point's scenario with every default written out, and the ids of its runs, one after the other; in all threads."""
    size = max(1, min(_AT_ONCE, _IDS_AT_ONCE // replications))
    parts = [changes[begin : begin + size] for begin in range(0, len(changes), size)]
    seeds = range(first, first + replications)

    def resolve(part: Sequence[core.Overrides]) -> list[tuple[str, str]]:
        try:
            found = core.resolve_points(document, [(*fixed, *point) for point in part], seeds)
            return [(text, "".join(run_ids)) for text, run_ids in found]
        except ScenarioError:
            for point in part:
                try:
                    core.resolve_seeds(document, (*fixed, *point), seeds[:1])
                except ScenarioError as error:
                    raise _blame_the_sweep(error, point) from None
            raise

    if len(parts) == 1:
        found = iter(resolve(parts[0]))
        yield from ((json.loads(text), run_ids) for text, run_ids in found)
        return
    with ThreadPoolExecutor(cores(), thread_name_prefix="plan") as pool:
        for answer in pool.map(resolve, parts):
            yield from ((json.loads(text), run_ids) for text, run_ids in answer)


def plain_axes(grid: Any, points: Any) -> tuple[Any, Any]:
    """A grid and a list of points as people pass them, as a scenario file has them; a value that is no list stays for `_points`."""
    if isinstance(grid, Mapping):
        grid = plain(grid, "grid")
    if points is not None:
        points = plain(points, "points")
    return grid, points


def _labels(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as tables and manifests have them: a class by its name."""
    return {path: value.__name__ if isinstance(value, type) else value for path, value in parameters.items()}


def _blame_the_sweep(error: ScenarioError, point: Sequence[tuple[str, str]]) -> ScenarioError:
    """The same message, about a value of the sweep instead of one given by `--set`."""
    text = str(error)
    for path, value in point:
        text = text.replace(f"--set {path}={value}:", f"sweep, at {path}={value}:", 1)
    return ScenarioError(text)


def _settings(
    document: Document,
    grid: Mapping[str, Sequence[Any]] | None,
    points: Sequence[Mapping[str, Any]] | None,
    replications: int | None,
) -> tuple[Mapping[str, Sequence[Any]], Sequence[Mapping[str, Any]] | None, int]:
    table = document.sweep or {}
    unknown = [key for key in table if key not in _KEYS]
    if unknown:
        raise ScenarioError(f"{document.source}: unknown key sweep.{unknown[0]}; the keys are {', '.join(_KEYS)}")
    if grid is None and points is None:
        grid, points = table.get("grid"), table.get("list")
        if points is not None and (table.get("zip") or table.get("points")):
            raise ScenarioError(f"{document.source}: a sweep's list stands alone, without zip and points")
    if grid is not None and points is not None:
        raise ScenarioError(f"{document.source}: a sweep takes a grid or a list, not both")
    if replications is not None:
        count = whole(replications, "replications", 1, _MOST)
    else:
        count = table.get("replications", 1)
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST:
            raise ScenarioError(f"{document.source}: sweep.replications must be a whole number from 1, not {count!r}")
    if not grid and not points and count == 1 and not table.get("zip") and not table.get("points"):
        raise ScenarioError(
            f"{document.source}: nothing to sweep; give it a [sweep] table, as in\n"
            '    [sweep]\n    replications = 10\n    grid = { "flow.0.count" = [1, 10, 50] }\n'
            "or --grid 'flow.0.count=[1, 10, 50]', or --replications 10"
        )
    return grid or {}, points, count


def _with_axes(
    source: str, table: Mapping[str, Any], cells: list[tuple[dict[str, Any], dict[str, Any]]]
) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The cells of a grid, each with every value of the other axes: zipped settings, and points with names."""
    axes: list[list[tuple[dict[str, Any], dict[str, Any]]]] = []
    zipped = table.get("zip", [])
    for number, axis in enumerate([zipped] if isinstance(zipped, Mapping) else zipped):
        if not isinstance(axis, Mapping) or not axis or not all(isinstance(v, list) and v for v in axis.values()):
            raise ScenarioError(
                f'{source}: sweep.zip is a table of lists of one length, as in {{ "flow.0.count" = [1, 2], "run.duration" = ["60 s", "90 s"] }}'
            )
        lengths = {path: len(values) for path, values in axis.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{path} has {length}" for path, length in lengths.items())
            raise ScenarioError(f"{source}: the lists of sweep.zip[{number}] have different lengths: {shown}")
        values = [dict(zip(axis, part, strict=True)) for part in zip(*axis.values(), strict=True)]
        axes.append([(one, one) for one in values])
    named = table.get("points", {})
    if not isinstance(named, Mapping) or not all(isinstance(one, Mapping) for one in named.values()):
        raise ScenarioError(
            f'{source}: sweep.points is a table of points by name, as in {{ small = {{ "flow.0.count" = 1 }}, plain = {{}} }}'
        )
    if named:
        axes.append([({NAMED: name}, dict(settings)) for name, settings in named.items()])
    for axis_of in axes:
        cells = [(_merged(source, p, q), _merged(source, s, t)) for p, s in cells for q, t in axis_of]
    return cells


def _merged(source: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables; a setting in both would hide one of its values."""
    if twice := sorted(first.keys() & second.keys()):
        raise ScenarioError(f"{source}: {twice[0]} is in two of sweep.grid, sweep.zip and sweep.points")
    if "run.seed" in second:
        raise ScenarioError(f"{source}: `replications` sweeps seeds; run.seed cannot be a parameter")
    return {**first, **second}


def _points(
    source: str, grid: Mapping[str, Sequence[Any]], points: Sequence[Mapping[str, Any]] | None
) -> list[dict[str, Any]]:
    if points is not None:
        if (
            not isinstance(points, list | tuple)
            or not all(isinstance(point, Mapping) for point in points)
            or not points
        ):
            raise ScenarioError(f'{source}: sweep.list must be a list of points, as in [{{ "flow.0.count" = 1 }}]')
        cells = [dict(point) for point in points]
    else:
        if not isinstance(grid, Mapping):
            raise ScenarioError(f'{source}: sweep.grid must be a table, as in {{ "flow.0.count" = [1, 10] }}')
        for path, values in grid.items():
            if not isinstance(values, list | tuple) or not values:
                raise ScenarioError(f"{source}: sweep.grid.{toml.value(path)} is a list of values, not {values!r}")
        cells = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if any("run.seed" in cell for cell in cells):
        raise ScenarioError(f"{source}: `replications` sweeps seeds; run.seed cannot be a parameter")
    seen: set[str] = set()
    for cell in cells:
        key = json.dumps(cell, sort_keys=True, default=str)
        if key in seen:
            raise ScenarioError(f"{source}: the sweep contains the point {toml.value(cell)} twice")
        seen.add(key)
    return cells
