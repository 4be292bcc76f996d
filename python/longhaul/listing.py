"""Parts that a scenario can be made of, by kind: the registry's algorithms and metrics, everything else from the schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, overload

from . import core
from .errors import LonghaulError

#: Kinds that are listed, and the schema's definitions that hold their alternatives.
_KINDS = {
    "recovery": "Variant",
    "pacing": "Pacing",
    "apps": "AppSpec",
    "middleboxes": "MiddleboxSpec",
    "queues": "QueueSpec",
    "losses": "LossSpec",
    "outages": "OutageMode",
}
#: A source at the end of a description, as in "(RFC 6582)." or "(Jacobson 1988)."
_SOURCE = re.compile(r"(.*\S) \(((?:RFC )?[^()]*\d{4})\)\.?", re.DOTALL)


@overload
def catalogue() -> dict[str, list[dict[str, Any]]]: ...
@overload
def catalogue(kind: str) -> list[dict[str, Any]]: ...
def catalogue(kind: str | None = None) -> dict[str, list[dict[str, Any]]] | list[dict[str, Any]]:
    """Parts that a scenario can be made of, as `longhaul list` shows them: entries by kind, or those of one kind.

    An entry has `name`, `summary`, `parameters` and `source`; a metric the fields that the core gives it. Raises `LonghaulError` if
    there is no such kind.

    >>> [algorithm["name"] for algorithm in catalogue("slow_start")][:2]
    ['standard', 'limited']
    """
    sections = _sections()
    if kind is None:
        return sections
    if kind not in sections:
        raise LonghaulError(f"no list {kind!r}; the lists are {', '.join(sections)}")
    return sections[kind]


def _sections() -> dict[str, list[dict[str, Any]]]:
    registry = core.registry()
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for algorithm in registry.get("algorithms", []):
        by_kind.setdefault(algorithm["role"], []).append(algorithm)
    definitions = core.schema()["$defs"]
    for kind, definition in _KINDS.items():
        if definition in definitions:
            by_kind[kind] = alternatives(definitions[definition])
    by_kind["profiles"] = [profile_entry(one) for one in registry.get("profiles", [])]
    by_kind |= {name: entries for name, entries in registry.items() if name not in ("algorithms", "profiles")}
    return by_kind | {"suites": _suites()}


def _suites() -> list[dict[str, Any]]:
    """The suites of `longhaul suite`; their situations stand as parameters."""
    from . import suites

    found = [suites.find(name) for name in suites.NAMES]
    return [
        {"name": one.name, "summary": one.asks, "parameters": _situations(one), "source": one.source} for one in found
    ]


def _situations(suite: Any) -> list[dict[str, Any]]:
    """The situations of a suite, of those that are the same whatever is tried."""
    fixed = () if callable(suite.situations) else suite.situations
    return [{"name": one.name, "default": None, "description": f"{one.title}: {one.asks}", "unit": ""} for one in fixed]


def profile_entry(profile: dict[str, Any]) -> dict[str, Any]:
    """A profile of a network as an entry like the registry's, with its settings and the sources of its numbers beside them.

    >>> profile = {"name": "x", "summary": "A link", "leaves_out": "rain", "both": {"delay": "9 ms"}, "down": {}, "up": {}, "source": []}
    >>> profile_entry(profile)["parameters"][0]["name"], profile_entry(profile)["summary"]
    ('delay', 'A link; without rain')
    """
    settings: dict[str, Any] = dict(profile["both"])
    settings |= {f"{side}.{key}": value for side in ("down", "up") for key, value in profile[side].items()}
    parameters = [
        {"name": name, "default": value if isinstance(value, str) else json.dumps(value), "description": "", "unit": ""}
        for name, value in settings.items()
        if isinstance(value, str)
    ]
    return {
        "name": profile["name"],
        "summary": f"{profile['summary']}; without {profile['leaves_out']}",
        "parameters": parameters,
        "source": "; ".join(dict.fromkeys(one["from"] for one in profile["source"])),
        "settings": {side: profile[side] for side in ("both", "down", "up")},
        "sources": profile["source"],
    }


def alternatives(definition: dict[str, Any]) -> list[dict[str, Any]]:
    """The alternatives of one of the schema's definitions, as entries like the registry's.

    >>> alternatives({"oneOf": [{"const": "reno", "description": "Fast recovery (RFC 5681)."}]})
    [{'name': 'reno', 'parameters': [], 'summary': 'Fast recovery', 'source': 'RFC 5681'}]
    """
    found: dict[str, dict[str, Any]] = {}
    for name, schema in _named(definition):
        summary, source = _split(schema.get("description", ""))
        parameters = [_parameter(key, value) for key, value in schema.get("properties", {}).items() if key != "kind"]
        entry = found.setdefault(name, {"name": name, "parameters": [], "summary": "", "source": ""})
        entry |= {
            "parameters": entry["parameters"] or parameters,
            "summary": entry["summary"] or summary,
            "source": entry["source"] or source,
        }
    return list(found.values())


def _named(definition: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each alternative with its name: a word, or a table with the word as its `kind`."""
    for schema in definition.get("oneOf") or definition.get("anyOf") or [definition]:
        for word in schema.get("enum", [schema["const"]] if "const" in schema else []):
            yield str(word), schema
        kind = schema.get("properties", {}).get("kind", {})
        if "const" in kind:
            yield str(kind["const"]), schema


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    default = schema.get("default")
    return {
        "name": name,
        "default": default if default is None or isinstance(default, str) else json.dumps(default),
        "description": " ".join(schema.get("description", "").split()),
        "unit": schema.get("x-unit", ""),
    }


def _split(description: str) -> tuple[str, str]:
    text = " ".join(description.split())
    match = _SOURCE.fullmatch(text)
    return (match[1], match[2]) if match else (text, "")
