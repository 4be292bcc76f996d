"""What the JSON files of results have to hold: the one reader of `summary.json`, `manifest.json` and `definitions.json`.

Files may be damaged, of another version, or somebody else's. A file that is read is as typed here, or `ResultError` names it, the key and
what is right. The types are those of `crates/results/src/summary.rs`; keys that are not named here are kept as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NotRequired

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from . import core
from .errors import ResultError, explain_os_error

_CONFIG = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)
#: Numbers by the names of metrics; `None` where one is not defined.
Metrics = dict[str, float | None]
#: Shares or bytes, by what limited the sender.
Shares = dict[str, float]
#: A value of a message is shown if it is at most so long.
_SHOWN = 40


@with_config(_CONFIG)
class Definition(TypedDict):
    """Unit, title and formula of a metric."""

    unit: str
    title: str
    definition: str


@with_config(_CONFIG)
class MonitoredFlow(TypedDict):
    """A flow at the entrance of a link."""

    flow: int
    metrics: Metrics


@with_config(_CONFIG)
class Link(TypedDict):
    """One direction of a link."""

    name: str
    to: str
    rate_bps: float
    delay_s: float
    queue: str
    flows: int
    active_flows: float
    metrics: Metrics
    whole_run: NotRequired[Metrics]
    monitor: NotRequired[list[MonitoredFlow]]


@with_config(_CONFIG)
class Group(TypedDict):
    """One `[[flow]]` table."""

    name: str
    count: int
    metrics: Metrics


@with_config(_CONFIG)
class PathUse(TypedDict):
    """How far a flow's path was in use."""

    sending_s: float
    full: float
    down: float
    open: Shares
    capacity_bytes: float
    unused_bytes: Shares
    unused_until_s: NotRequired[float]


@with_config(_CONFIG)
class Way(TypedDict):
    """One of several ways of a flow."""

    data_path: list[int]
    ack_path: list[int]
    base_rtt_s: float
    share: float


@with_config(_CONFIG)
class Flow(TypedDict):
    """One flow."""

    id: int
    name: str
    group: str
    to: str
    app: str
    variant: str
    congestion: str
    slow_start: str
    mss_bytes: int
    start_s: float
    data_path: list[int]
    ack_path: list[int]
    access_rate_bps: float | None
    base_rtt_s: float
    ways: NotRequired[list[Way]]
    state: str
    metrics: Metrics
    whole_run: NotRequired[Metrics]
    limited: Shares
    path_use: NotRequired[PathUse]
    predicted: Metrics


@with_config(_CONFIG)
class LongHop(TypedDict):
    """One end of a connection over a long hop."""

    connection: int
    to: str
    metrics: Metrics


@with_config(_CONFIG)
class Middlebox(TypedDict):
    """One middlebox."""

    name: str
    kind: str
    at: list[str]
    flows: int
    metrics: Metrics
    long_hop: NotRequired[list[LongHop]]


@with_config(_CONFIG)
class Node(TypedDict):
    """A node."""

    name: str


@with_config(_CONFIG)
class Warned(TypedDict):
    """A warning that qualifies the numbers."""

    code: str
    object: str
    message: str


@with_config(_CONFIG)
class Emulation(TypedDict):
    """How well an emulation was done."""

    kernel: str
    real_time: bool
    invalid: list[str]
    metrics: Metrics


@with_config(_CONFIG)
class Summary(TypedDict):
    """`summary.json` of a run."""

    longhaul: str
    run_id: str
    name: str
    description: str
    seed: int
    duration_s: float
    warmup_s: float
    measured_s: float
    run: Metrics
    links: list[Link]
    groups: list[Group]
    flows: list[Flow]
    middleboxes: NotRequired[list[Middlebox]]
    nodes: list[Node]
    warnings: list[Warned]
    work: dict[str, int]
    emulation: NotRequired[Emulation]
    definitions: dict[str, Definition]


@with_config(_CONFIG)
class FailedRun(TypedDict):
    """A run of a sweep that could not be made."""

    id: str
    cell: int
    parameters: dict[str, Any]
    seed: int
    error: str


@with_config(_CONFIG)
class _AnyManifest(TypedDict):
    """Fields of the manifests of all sweeps."""

    longhaul: str
    kind: str
    name: str
    parameters: list[str]
    replications: int
    seed: int


class Manifest(_AnyManifest):
    """`manifest.json` of a sweep."""

    total: int
    done: int
    failures: list[FailedRun]


@with_config(_CONFIG)
class PlannedRun(TypedDict):
    """A run in the manifest of a sweep of an earlier version, which listed all."""

    id: str
    cell: int
    parameters: dict[str, Any]
    replication: int
    seed: int
    status: str
    error: NotRequired[str]


class EarlierManifest(_AnyManifest):
    """`manifest.json` of a sweep of an earlier version."""

    runs: list[PlannedRun]


def read_summary(file: Path) -> dict[str, Any]:
    """The summary of a run; raises `ResultError`."""
    summary = _read(file, Summary)
    for key, what in _wrong_references(summary):
        raise _damaged(file, f"{key} {what}", summary)
    return summary


def read_manifest(file: Path) -> dict[str, Any]:
    """The manifest of a sweep, one of an earlier version in today's form; raises `ResultError`."""
    data = _data(file)
    content = _content(data)
    earlier = isinstance(content, dict) and "runs" in content
    manifest = _checked(file, data, EarlierManifest if earlier else Manifest)
    if manifest["kind"] != "sweep":
        raise ResultError(f"{file} is not the manifest of a sweep")
    key = "runs" if earlier else "failures"
    for number, run in enumerate(manifest[key]):
        if unknown := run["parameters"].keys() - set(manifest["parameters"]):
            raise _damaged(file, f"{key}[{number}].parameters has {min(unknown)!r}, which was not swept", manifest)
    return _of_today(manifest) if earlier else manifest


def _of_today(manifest: dict[str, Any]) -> dict[str, Any]:
    runs = manifest.pop("runs")
    done = {run["id"] for run in runs if run["status"] == "done"}
    failures = [run for run in runs if "error" in run]
    return {**manifest, "total": len({run["id"] for run in runs}), "done": len(done), "failures": failures}


def read_definitions(file: Path) -> dict[str, Any]:
    """Definitions of a sweep's metrics; raises `ResultError`."""
    return _read(file, dict[str, Definition])


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _read(file: Path, kind: Any) -> dict[str, Any]:
    return _checked(file, _data(file), kind)


def _data(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ResultError(explain_os_error(error, "read", file)) from None


def _checked(file: Path, data: bytes, kind: Any) -> dict[str, Any]:
    try:
        content: dict[str, Any] = _adapter(kind).validate_json(data)
    except ValidationError as error:
        raise _damaged(file, _explained(error), _content(data)) from None
    return content


def _content(data: bytes) -> Any:
    try:
        return _adapter(Any).validate_json(data)
    except ValidationError:
        return None


def _explained(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        return f"not valid JSON ({first['msg'].removeprefix('Invalid JSON: ')})"
    key, given = _key(first["loc"]), repr(first["input"])
    if first["type"] == "missing":
        return f"{key} is missing"
    what = first["msg"].replace("Input should", "has to").removesuffix(".")
    return f"{key or 'the whole'} {what}" + (f", not {given}" if len(given) <= _SHOWN else "")


def _key(parts: tuple[int | str, ...]) -> str:
    """A place in JSON, as in `links[0].metrics.utilisation`.

    >>> _key(("links", 0, "metrics", "utilisation"))
    'links[0].metrics.utilisation'
    """
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts if part != "[key]")
    return text.removeprefix(".")


def _damaged(file: Path, what: str, content: Any) -> ResultError:
    """With the version that wrote the file, if it is another one, or that it is not Longhaul's."""
    if isinstance(content, dict) and file.name != "definitions.json":
        version = content.get("longhaul")
        if not isinstance(version, str):
            return ResultError(f"{file} is not one of Longhaul's: {what}")
        if version != core.version():
            return ResultError(f"{file} is of Longhaul {version}, and this is {core.version()}: {what}")
    return ResultError(f"{file} is damaged: {what}")


def _wrong_references(summary: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Numbers of links and flows, and names of groups, that there are not; and what counts must not be."""
    links, flows = range(len(summary["links"])), range(len(summary["flows"]))
    groups = {group["name"] for group in summary["groups"]}
    if not flows:
        yield "flows", "is empty: a run has a flow at least"
    for key in ("duration_s", "measured_s"):
        if summary[key] <= 0:
            yield key, f"has to be more than 0, not {summary[key]}"
    for number, flow in enumerate(summary["flows"]):
        if flow["id"] != number:
            yield f"flows[{number}].id", f"has to be {number}, not {flow['id']}"
        if flow["group"] not in groups:
            yield f"flows[{number}].group", f"{flow['group']!r} is none of the groups"
        for key in ("data_path", "ack_path"):
            for index in {*flow[key], *(index for way in flow.get("ways", ()) for index in way[key])}:
                if index not in links:
                    yield f"flows[{number}].{key}", f"names link {index}; there are {len(links)}"
    for number, link in enumerate(summary["links"]):
        for monitored in link.get("monitor", ()):
            if monitored["flow"] not in flows:
                yield f"links[{number}].monitor", f"names flow {monitored['flow']}; there are {len(flows)}"
