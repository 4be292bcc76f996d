"""The type that the functions of this package return."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: A table of a scenario: what `Scenario`'s methods, `from_dict` and overrides take.
Section = dict[str, Any]


def given(settings: Mapping[str, Any]) -> Section:
    """The settings that have a value; the others keep their defaults.

    >>> given({"kind": "bulk", "size": None})
    {'kind': 'bulk'}
    """
    return {key: value for key, value in settings.items() if value is not None}
