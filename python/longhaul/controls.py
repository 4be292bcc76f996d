"""Congestion controls as classes in Python: known to the simulator where a scenario has one in place of a name.

A class has `__init__(self, mss, window)` (bytes of payload, the initial window in bytes), the attribute `window` in bytes, and the
methods `on_ack(ack)` and `on_loss(loss)`. After each the simulator reads `window`, and where the object has them `ssthresh` (bytes) and
`pacing_rate` (bit/s, or None). With `delivery_rate = True` an ACK has the rate at which the network delivers.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping
from typing import Any

from . import core
from .errors import ScenarioError
from .values import plain

_METHODS = ("on_ack", "on_loss")


def settings(value: Any, place: str = "") -> Any:
    """Settings as people pass them, as a scenario has them: plain values, classes named. `place` is what an error calls them."""
    return named(plain(value, place))


def named(value: Any) -> Any:
    """The same plain settings with a table in place of each class, which is made known to the simulator.

    >>> class Still:
    ...     def __init__(self, mss, window): self.window = window
    ...     def on_ack(self, ack): pass
    ...     def on_loss(self, loss): pass
    >>> sorted(named({"congestion": Still})["congestion"])
    ['kind', 'name', 'source']
    """
    if isinstance(value, type):
        return _registered(value)
    if isinstance(value, Mapping):
        return {key: named(item) for key, item in value.items()}
    if isinstance(value, list):
        return [named(item) for item in value]
    return value


def _registered(control: type) -> dict[str, str]:
    missing = [name for name in _METHODS if not callable(getattr(control, name, None))]
    if missing:
        raise ScenarioError(
            f"{control.__name__} is no congestion control: it has no {' and no '.join(missing)}; a class has __init__(self, mss, window),"
            " on_ack(self, ack), on_loss(self, loss) and the attribute window in bytes"
        )
    source = digest(control)
    core.register_control(control.__name__, source, control)
    return {"kind": "python", "name": control.__name__, "source": source}


def digest(control: type) -> str:
    """What distinguishes a class from another version of itself: a digest of the source of it and its bases, or of their byte code."""
    parts = []
    for part in control.__mro__[:-1]:
        try:
            parts.append(inspect.getsource(part))
        except (OSError, TypeError):  # made in an interpreter: its code is all there is
            code = [getattr(item, "__code__", None) for item in vars(part).values()]
            parts.extend(f"{one.co_code.hex()}{one.co_consts!r}{one.co_names!r}" for one in code if one is not None)
            parts.append(part.__qualname__)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
