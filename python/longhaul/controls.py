"""Congestion controls as classes in Python: known to the simulator where a scenario has one in place of a name.

A class has `__init__(self, mss, window)` (bytes of payload, the initial window in bytes), the attribute `window` in bytes, and the
methods `on_ack(ack)` and `on_loss(loss)`. After each the simulator reads `window`, and where the object has them `ssthresh` (bytes) and
`pacing_rate` (bit/s, or None). With `delivery_rate = True` an ACK has the rate at which the network delivers.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from . import core
from .errors import LonghaulError, ScenarioError, explain_os_error, printed
from .naming import meant
from .values import plain

_METHODS = ("on_ack", "on_loss")
#: Digests of the files that classes were read from, by module: what else a file has can change what a class does.
_FILES: dict[str, str] = {}


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


def of_file(text: str) -> type:
    """The class that `FILE.py:Class` names, or the only congestion control of `FILE.py`; raises `LonghaulError`."""
    name, colon, wanted = text.rpartition(":") if not text.endswith(".py") else (text, "", "")
    if not name.endswith(".py"):
        raise LonghaulError(f"{text!r}: write a file and a class, as in my_policy.py:Class")
    module = module_of(Path(name))
    found = {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and all(callable(getattr(value, one, None)) for one in _METHODS)
    }
    if colon:
        if not isinstance(control := getattr(module, wanted, None), type):
            raise LonghaulError(f"{printed(name)}: it has no class {wanted!r}{meant(wanted, found)}")
        return control
    if len(found) != 1:
        several = f"has {', '.join(found)}" if found else "has no class with on_ack and on_loss"
        raise LonghaulError(
            f"{printed(name)}: it {several}; name one, as in {printed(name)}:{next(iter(found), 'Class')}"
        )
    return next(iter(found.values()))


def module_of(path: Path) -> ModuleType:
    """A file in Python as a module, whose classes know the file that they are from; raises `LonghaulError` with what it raised."""
    name = f"longhaul_file_{hashlib.sha256(str(path.absolute()).encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LonghaulError(explain_os_error(error, "read", path)) from None
    specification = importlib.util.spec_from_file_location(name, path)
    if specification is None or specification.loader is None:
        raise LonghaulError(f"{printed(path)}: not a file in Python; its name must end in .py")
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        line = f", line {trace.tb_lineno}" if trace is not None and not isinstance(error, SyntaxError) else ""
        raise LonghaulError(f"{printed(path)}{line}: {type(error).__name__}: {error}") from None
    _FILES[name] = hashlib.sha256(content).hexdigest()
    return module


def digest(control: type) -> str:
    """A mark that distinguishes a class from another version of itself: a digest of the source of it and its bases, or of their byte code.

    Of a class that `of_file` has read, the whole file counts.
    """
    parts = [
        _FILES[module] for module in dict.fromkeys(part.__module__ for part in control.__mro__) if module in _FILES
    ]
    for part in control.__mro__[:-1]:
        try:
            parts.append(inspect.getsource(part))
        except (OSError, TypeError):  # made in an interpreter: its code is all there is
            code = [getattr(item, "__code__", None) for item in vars(part).values()]
            parts.extend(f"{one.co_code.hex()}{one.co_consts!r}{one.co_names!r}" for one in code if one is not None)
            parts.append(part.__qualname__)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
