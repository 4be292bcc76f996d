"""What people pass from Python, as the plain values of a scenario: NumPy's numbers, columns of tables, ranges, paths, times.

No library is imported for it: what arrays, columns and their numbers have in common is enough to know them by.
"""

from __future__ import annotations

import enum
import math
import operator
import os
from collections.abc import Iterator, KeysView, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from .errors import LonghaulError, OutputError, ScenarioError, UnknownName
from .naming import only

#: The largest whole number of a scenario file.
_LARGEST = 2**63 - 1


def plain(value: Any, place: str = "") -> Any:
    """The same as bool, int, float, str, list and dict; classes stay, for `controls`. `place` is what an error calls it.

    Times become texts with a unit, paths texts, columns and ranges lists. A number of single precision becomes the shortest one that
    it distinguishes from its neighbours: 0.1, not 0.10000000149.

    >>> plain({"a": range(3), "b": (True, Decimal("0.5")), "c": timedelta(milliseconds=250), "d": Path("x/y.csv")})
    {'a': [0, 1, 2], 'b': [True, 0.5], 'c': '250 ms', 'd': 'x/y.csv'}

    Raises `ScenarioError` for what has no counterpart, a number that is none or infinite, and a text that is not Unicode.
    """
    if isinstance(value, enum.Enum) and not isinstance(value, str | int | float):
        value = value.value
    if isinstance(value, type | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return _text(str.__str__(value), place)
    if isinstance(value, Mapping):
        return {_key(key, place): plain(item, _inside(place, key)) for key, item in value.items()}
    if isinstance(value, list | tuple | range | KeysView | ValuesView):
        return [plain(item, place) for item in value]
    if isinstance(value, timedelta):  # pandas' has nanoseconds besides
        return _time(value // timedelta(microseconds=1) * 1000 + getattr(value, "nanoseconds", 0))
    if _kind(value) == "m" and _dimensions(value) == 0 and value == value:  # NumPy's "not a time" is unlike itself
        return _time(int(value.astype("timedelta64[ns]").astype("int64")))
    if isinstance(value, os.PathLike):
        return _text(os.fsdecode(value), place)
    number = _number(value)
    if number is not None:
        if not math.isfinite(number):
            raise ScenarioError(f"{_at(place)}{number} is no value of a scenario; numbers are finite")
        return number
    items = _items(value)
    if items is not None:
        return plain(items, place)
    raise ScenarioError(f"{_at(place)}{_not_allowed(value)}")


def _number(value: Any) -> float | int | None:
    """A number of Python's, NumPy's or a table's; `None` if it is none."""
    if isinstance(value, float) and not _is_single(value):
        return float(value)
    if isinstance(value, Decimal | Fraction):
        whole = math.isfinite(value) and value == int(value)
        return int(value) if whole else float(value)
    if _is_single(value):
        return float(str(value))
    return float(value) if _kind(value) == "f" and _dimensions(value) == 0 else None  # of more than double precision


def _is_single(value: Any) -> bool:
    return bool(_kind(value) == "f" and _dimensions(value) == 0 and value.dtype.itemsize < 8)


def _kind(value: Any) -> Any:
    """NumPy's letter for the type of an array or a number: f for floating point, b for truth, m for times, M for moments."""
    return getattr(getattr(value, "dtype", None), "kind", None)


def _dimensions(value: Any) -> Any:
    return getattr(value, "ndim", None)


def _items(value: Any) -> Any:
    """What an array, a column of a table or one of its elements holds, one step nearer to plain values; `None` if it is none."""
    if hasattr(value, "columns") or (
        _kind(value) in ("m", "M") and not _dimensions(value)
    ):  # a whole table, no time, a moment
        return None
    if _dimensions(value) and hasattr(value, "dtype") and hasattr(value, "__iter__"):
        return list(value)
    for name in ("tolist", "to_list", "as_py", "item"):
        convert = getattr(value, name, None)
        if callable(convert):
            found = convert()
            return None if type(found) is type(value) else found
    return (
        list(value) if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview) else None
    )


def _time(nanoseconds: int) -> str:
    """A time as a text, in the largest unit that it is a multiple of."""
    units = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
    return next(f"{nanoseconds // size} {unit}" for unit, size in units if nanoseconds % size == 0)


def _text(text: str, place: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(text).decode("utf-8", "backslashreplace") if _is_path(text) else ascii(text)
        raise ScenarioError(f"{_at(place)}{shown!r} is not Unicode; a scenario is a text in UTF-8") from None
    return text


def _is_path(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _key(key: Any, place: str) -> str:
    if isinstance(key, str):
        return _text(str.__str__(key), place)
    raise ScenarioError(f"{_at(place)}{key!r} is not a key of a scenario: a key is a text")


def _inside(place: str, key: Any) -> str:
    return f"{place}.{key}" if place else str(key)


def _at(place: str) -> str:
    return f"{place}: " if place else ""


def _not_allowed(value: Any) -> str:
    if value is None:
        return "None is not allowed in a scenario; leave the key out"
    noun = type(value).__name__
    text = f"{'an' if noun[0].lower() in 'aeio' else 'a'} {noun} is not allowed in a scenario"
    if isinstance(value, AbstractSet):
        return f"{text}: it has no order; write a list"
    if isinstance(value, Iterator):
        return f"{text}; write list(...) around it"
    if hasattr(value, "columns"):
        return f"{text}; take one of its columns"
    if isinstance(value, bytes | bytearray):
        return f"{text}; decode it to a text"
    return text


def whole(value: Any, name: str, least: int = 0, most: int = _LARGEST) -> int:
    """A whole number of Python's or NumPy's between two bounds; raises `LonghaulError` that calls it `name`.

    >>> whole(3, "jobs", 1)
    3
    """
    range_of = f"a whole number from {least}" + ("" if most == _LARGEST else f" to {most}")
    try:
        number = None if isinstance(value, bool) or _kind(value) == "b" else operator.index(value)
    except TypeError:
        number = None
    if number is None or not least <= number <= most:
        raise LonghaulError(f"{name}={value!r}: it is {range_of}")
    return number


def numbers(value: Any, name: str, what: str) -> list[int]:
    """A list of whole numbers; raises `LonghaulError` that calls it `name` and them `what`.

    >>> numbers(range(3), "flows", "numbers of flows")
    [0, 1, 2]
    """
    found = plain(value)
    if not isinstance(found, list) or not all(type(one) is int for one in found):
        raise LonghaulError(f"{name}={value!r}: it is a list of {what}")
    return found


def word(value: Any, name: str, known: Sequence[str]) -> str:
    """A word that is one of a few; raises `LonghaulError` that calls it `name` and has the nearest.

    >>> word("check", "changed", ("refuse", "check"))
    'check'
    """
    if not isinstance(value, str):
        raise LonghaulError(f"{name}={value!r}: the values are {', '.join(known)}")
    try:
        return only(value, known, name)
    except UnknownName as error:
        raise LonghaulError(f"{name}={value!r}: the values are {', '.join(known)}{_hint(error)}") from None


def _hint(error: UnknownName) -> str:
    _, mark, hint = str(error).partition("; did you mean")
    return mark + hint


def folder(value: Any, name: str = "out") -> Path:
    """A path from a text or a path, absolute, so that it stays the same wherever the process goes; raises `OutputError`."""
    if isinstance(value, bytes) or not isinstance(value, str | os.PathLike):
        raise OutputError(f"{name}={value!r}: a path is a text or a pathlib.Path")
    path = Path(os.fsdecode(value))
    if not str(value):
        raise OutputError(f"{name}={value!r}: the path is empty")
    try:
        return path.absolute()
    except OSError:
        raise OutputError(f"{path}: the working directory no longer exists; give an absolute path") from None
