"""Two results of one scenario side by side: the simulator's and the emulator's, or any two others."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import qoe
from .errors import ResultError
from .results import Result

#: What is compared of flows after their applications' QoE, in this order.
FLOW_METRICS = (
    "rtt_mean_s", "rtt_min_s", "cwnd_mean_bytes", "sent_packets", "retransmitted_packets", "lost_packets", "timeouts",
)  # fmt: skip
#: What is compared of links.
LINK_METRICS = ("utilisation", "drops_queue", "drops_loss", "queue_mean_packets", "queue_delay_mean_s")


@dataclass(frozen=True)
class Row:
    """One metric of one flow or link in both results, in base units; `None` where a result does not have it."""

    object: str
    metric: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        """(second - first) / first; `None` if there is nothing to divide by.

        >>> Row("download", "goodput_bps", 10e6, 9e6).difference
        -0.1
        """
        if self.first is None or self.second is None or not self.first:
            return None
        return (self.second - self.first) / self.first


def compare(first: Result, second: Result) -> list[Row]:
    """Every metric that at least one of both results has, flow by flow and link by link.

    Raises `ResultError` if the results are not of the same flows and links.
    """
    rows = []
    kinds = qoe.kinds(first) | qoe.kinds(second)
    for objects in ("flows", "links"):
        ours, theirs = _by_name(first, objects), _by_name(second, objects)
        if ours.keys() != theirs.keys():
            only = sorted(ours.keys() ^ theirs.keys())[0]
            raise ResultError(f"these are not results of one scenario: {objects[:-1]} {only!r} is in one of them only")
        for name, item in ours.items():
            for metric in _of_flow(item, theirs[name], kinds) if objects == "flows" else LINK_METRICS:
                row = Row(name, metric, item["metrics"].get(metric), theirs[name]["metrics"].get(metric))
                if row.first or row.second:
                    rows.append(row)
    return rows


def _of_flow(first: dict[str, Any], second: dict[str, Any], kinds: dict[str, str]) -> list[str]:
    """The compared metrics of a flow: its application's QoE, a transfer's goodput too, then what the network saw of it."""
    kind = kinds.get(str(first["group"]), "streams")
    common = [name for name in first["metrics"] if name in second["metrics"]]
    chosen = qoe.of_flow(common or first["metrics"], kind)
    return [*chosen, *(["goodput_bps"] if kind == "transfers" else []), *FLOW_METRICS]


def label(result: Result) -> str:
    """The name of a result: the kernel that was emulated with, or the simulator."""
    emulation = result.summary.get("emulation")
    return f"Linux {emulation['kernel'].split('-')[0]}" if emulation else "simulated"


def labels(first: Result, second: Result) -> tuple[str, str]:
    """Names of both results that differ: simulator and kernel, or their directories."""
    names = label(first), label(second)
    if names[0] != names[1]:
        return names
    where = directories([first, second])
    return (where[0], where[1]) if where else (f"{names[0]} (1)", f"{names[1]} (2)")


def directories(results: Sequence[Result]) -> list[str]:
    """The shortest ends of the results' paths that differ; an empty list if one has none.

    >>> from pathlib import Path
    >>> directories([Result({}, Path("a/run")), Result({}, Path("b/run"))])
    ['a/run', 'b/run']
    """
    if any(result.path is None for result in results):
        return []
    parts = [result.path.absolute().parts for result in results if result.path is not None]
    for count in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(each[-count:]) for each in parts]
        if len(set(names)) == len(names):
            return names
    return []


def heads(results: Sequence[Result]) -> list[str]:
    """Names of results side by side: the scenarios' names; where these are the same, the directories of those that are kept and
    letters for the others.

    >>> heads([Result({"name": "x"}), Result({"name": "x"})]), heads([Result({"name": "x"}), Result({"name": "y"})])
    (['a', 'b'], ['x', 'y'])
    """
    names = [result.name for result in results]
    if len(set(names)) == len(names):
        return names
    kept = [result for result in results if result.is_kept]
    places = iter(directories(kept) or [f"{result.name} ({number})" for number, result in enumerate(kept, 1)])
    letters = (chr(ord("a") + number) if number < 26 else str(number + 1) for number in range(len(results)))
    return [next(places) if result.is_kept else letter for result, letter in zip(results, letters, strict=True)]


def differing_settings(results: Sequence[Result]) -> list[tuple[str, tuple[str, ...]]]:
    """The settings that are not the same in all results, as paths of `--set`, with the value of each; "–" where there is none."""
    flat = [_flat(tomllib.loads(result.scenario)) if result.path is not None else {} for result in results]
    if not all(flat):
        return []
    paths = dict.fromkeys(path for one in flat for path in one)
    rows = [(path, tuple(one.get(path, "–") for one in flat)) for path in paths]
    found = [(path, values) for path, values in rows if len(set(values)) > 1 and path not in ("name", "description")]
    # Of two kinds of a thing all the settings differ.
    kinds = [path.removesuffix("kind") for path, _ in found if path.endswith(".kind")]
    return [(path, values) for path, values in found if path.endswith(".kind") or not path.startswith(tuple(kinds))]


def _flat(value: Any, path: str = "") -> dict[str, str]:
    """The settings of a scenario by path; items of a list of named tables by their names."""
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list) and value and all(isinstance(one, dict) and "name" in one for one in value):
        items = {str(one["name"]): one for one in value}.items()
    else:
        return {path: value if isinstance(value, str) else json.dumps(value)}
    return {
        name: text
        for key, inner in items
        if not (path and key == "name")
        for name, text in _flat(inner, f"{path}.{key}" if path else key).items()
    }


def invalid(result: Result) -> list[str]:
    """Why an emulated result is not to be believed; empty for those that are, and for simulated ones."""
    return list((result.summary.get("emulation") or {}).get("invalid", []))


def _by_name(result: Result, objects: str) -> dict[str, dict[str, Any]]:
    return {str(item["name"]): item for item in result.summary[objects]}
