"""Watches over congestion controls in Python while a run is under way: a call that does not come back is ended, and what a signal raises
reaches the caller.

The simulator keeps an exception of a control until it can stop. A loop without end would never let it; and Ctrl-C is no mistake of
the control in which it happens to arrive.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Processor time in s after which one call of a control is ended, and how often that is looked at.
LIMIT_S, _EVERY_S = 10.0, 1.0
#: Signals whose handlers may raise.
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class TooLong(BaseException):
    """Raised in a call that has taken too long; no control catches it by accident."""


@contextmanager
def calls_end(limit_s: float | None = None) -> Iterator[None]:
    """Ends calls that the compiled simulator makes from the caller's frame, in this thread, and that take longer than `limit_s`."""
    below = sys._getframe(2)
    stop = threading.Event()
    limit = LIMIT_S if limit_s is None else limit_s
    thread = threading.get_ident()
    watch = threading.Thread(target=_watch, args=(thread, below, limit, stop), name="watch", daemon=True)
    watch.start()
    try:
        yield
    finally:
        stop.set()
        watch.join()


def _watch(thread: int, below: FrameType, limit: float, stop: threading.Event) -> None:
    clock = _clock_of(thread)
    seen: FrameType | None = None
    since, ended = 0.0, False
    while not stop.wait(min(_EVERY_S, limit / 4)):
        frame = _called_from(below, sys._current_frames().get(thread))
        if frame is None or frame is not seen:
            seen, since = frame, clock()
        elif clock() - since > limit:
            text = f"{frame.f_code.co_name} has not returned after {limit:g} s"
            _raise_in(thread, type("TooLong", (TooLong,), {"__str__": lambda _self, text=text: text}))
            ended = True
    if ended:
        _raise_in(thread, None)


def _clock_of(thread: int) -> Callable[[], float]:
    """The processor time of a thread: a control that waits for its debugger, or a machine that sleeps, takes none. Else the time."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)


def _called_from(below: FrameType, frame: FrameType | None) -> FrameType | None:
    """The call that the simulator makes now from the frame `below`; `None` if it makes none, or one of Longhaul's own."""
    while frame is not None and frame.f_back is not below:
        frame = frame.f_back
    own = frame is None or str(frame.f_globals.get("__name__", "")).startswith("longhaul.")
    return None if own else frame


def _raise_in(thread: int, error: type[BaseException] | None) -> None:
    """Raises an exception in another thread, as soon as that executes Python; `None` takes back one that it has not met yet."""
    import ctypes

    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread), ctypes.py_object(error) if error is not None else None
    )


@contextmanager
def signals_noted(noted: list[BaseException]) -> Iterator[None]:
    """Adds to `noted` what handlers of signals raise meanwhile; it is raised where the signal came, too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    usual = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}

    def note(number: int, frame: FrameType | None) -> Any:
        try:
            return usual[number](number, frame)
        except BaseException as error:
            noted.append(error)
            raise

    for number in usual:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in usual.items():
            if signal.getsignal(number) is note:
                signal.signal(number, handler)
