"""Writing TOML: values on one line (for overrides) and whole scenario documents (for the builder)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def value(item: Any) -> str:
    """One TOML value on one line.

    >>> value({"kind": "droptail", "limit": "1000 packets"})
    '{ kind = "droptail", limit = "1000 packets" }'
    >>> value([1, 2.5, True, "a b"])
    '[1, 2.5, true, "a b"]'
    """
    if isinstance(item, bool):
        return "true" if item else "false"
    if isinstance(item, int):
        return str(item)
    if isinstance(item, float):
        if math.isfinite(item):
            return repr(item)
        return "nan" if math.isnan(item) else ("inf" if item > 0 else "-inf")
    if isinstance(item, str):
        return json.dumps(item, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(item, Mapping):
        if not item:
            return "{}"
        return "{ " + ", ".join(f"{key(k)} = {value(v)}" for k, v in item.items()) + " }"
    if isinstance(item, Sequence):
        return "[" + ", ".join(value(part) for part in item) + "]"
    if item is None:
        raise TypeError("None is not allowed in a scenario; leave the key out")
    noun = type(item).__name__
    raise TypeError(f"{'an' if noun[0] in 'aeio' else 'a'} {noun} is not allowed in a scenario")


def key(name: str) -> str:
    """A key, in quotes where it needs them."""
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is not a key of a scenario: a key is a text")
    return name if _BARE_KEY.fullmatch(name) else value(name)


def document(content: Mapping[str, Any]) -> str:
    """A whole scenario: plain keys first, then one `[table]` or `[[table]]` for each section.

    >>> print(document({"name": "x", "run": {"seed": 1}, "link": [{"name": "a"}]}), end="")
    name = "x"
    <BLANKLINE>
    [run]
    seed = 1
    <BLANKLINE>
    [[link]]
    name = "a"
    """
    plain, sections = [], []
    for name, item in content.items():
        if isinstance(item, Mapping):
            sections.append(f"\n[{key(name)}]\n{_entries(item)}")
        elif isinstance(item, list) and item and all(isinstance(part, Mapping) for part in item):
            sections.extend(f"\n[[{key(name)}]]\n{_entries(part)}" for part in item)
        else:
            plain.append(f"{key(name)} = {value(item)}\n")
    return ("".join(plain) + "".join(sections)).lstrip("\n")


def _entries(table: Mapping[str, Any]) -> str:
    return "".join(f"{key(name)} = {value(item)}\n" for name, item in table.items())
