"""Changes of scenarios for other readings: settings of the run, of flows, of links."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from longhaul.scenario import Scenario

from .model import Case

Change = Callable[[dict[str, Any]], None]


def with_changes(case: Case, *changes: Change) -> Case:
    """The case with a scenario whose content the changes have changed, one after the other; it is checked at once."""
    content = case.scenario.to_dict()
    for change in changes:
        change(content)
    return replace(case, scenario=Scenario.from_dict(content))


def of_run(**settings: Any) -> Change:
    """Settings of `[run]`."""

    def change(content: dict[str, Any]) -> None:
        content["run"] = {**content.get("run", {}), **settings}

    return change


def of_flows(tcp: Mapping[str, Any] | None = None, **settings: Any) -> Change:
    """Settings of every flow, and of its connections: of tables (as `congestion`) the keys that are given.

    A key that is given as `None` is left out, for its default.
    """

    def change(content: dict[str, Any]) -> None:
        for flow in content["flow"]:
            flow.update(_merged(flow, settings))
            if tcp:
                flow["tcp"] = _merged(flow.get("tcp", {}), tcp)

    return change


def of_links(only: str, **settings: Any) -> Change:
    """Settings of the link of this name, or of a dumbbell's bottleneck; of tables the keys that are given."""

    def change(content: dict[str, Any]) -> None:
        links = [link for link in content.get("link", []) if link.get("name") == only]
        if only == "bottleneck" and "dumbbell" in content:
            links.append(content["dumbbell"]["bottleneck"])
        for link in links:
            link.update(_merged(link, settings))

    return change


def of_middleboxes(**settings: Any) -> Change:
    """Settings of every middlebox; of tables the keys that are given."""

    def change(content: dict[str, Any]) -> None:
        for box in content.get("middlebox", []):
            box.update(_merged(box, settings))

    return change


def _merged(table: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The table with changes: tables in it get the keys that are given, `None` removes a key."""
    found = dict(table)
    for key, value in changes.items():
        if value is None:
            found.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(found.get(key), Mapping):
            found[key] = _merged(found[key], value)
        else:
            found[key] = value
    return found
