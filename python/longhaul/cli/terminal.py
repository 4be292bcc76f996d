"""The surroundings of a command: characters that a terminal lacks, and signals that end the process."""

from __future__ import annotations

import codecs
import io
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: What stands for characters that Longhaul prints where the terminal's encoding lacks them.
_PLAIN = {
    "±": "+-", "–": "-", "−": "-", "→": "->", "×": "x", "µ": "u", "μ": "u", "∞": "inf", "…": "...", "─": "-", "│": "|",
    "·": "*", "≤": "<=", "≥": ">=", "²": "^2", "\u00a0": " ", "“": '"', "”": '"', "’": "'",
}  # fmt: skip


class Stopped(KeyboardInterrupt):
    """A signal ended the process: cleanup is the same as after Ctrl-C."""

    #: The number of the signal that came, for what catches it and raises another interruption in its place, as Ray does.
    came: int | None = None

    def __init__(self, number: int) -> None:
        """By the signal of this number."""
        super().__init__()
        self.number = number


def exit_code(interrupt: BaseException | None) -> int:
    """The exit code after an interruption: 128 and the signal's number.

    >>> exit_code(KeyboardInterrupt()), exit_code(Stopped(15))
    (130, 143)
    """
    while interrupt is not None:
        if isinstance(interrupt, Stopped):
            return 128 + interrupt.number
        interrupt = interrupt.__context__
    return 128 + (Stopped.came or signal.SIGINT)


@contextmanager
def stopped_by_signals() -> Iterator[None]:
    """SIGTERM and a terminal that goes away end the process as Ctrl-C does, unless they are ignored (`nohup`).

    None of them interrupts an import: a compiled module whose initialization fails may end the interpreter with a crash.
    """
    usual: dict[str, Any] = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}
    taken = {getattr(signal, name): handler for name, handler in usual.items() if hasattr(signal, name)}
    taken = {number: handler for number, handler in taken.items() if signal.getsignal(number) == handler}
    Stopped.came = None
    for number in taken:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)


#: How long a signal waits before it looks again whether an import is over, in seconds.
_IMPORT_PAUSE = 0.02


def _stop(number: int, frame: FrameType | None) -> None:
    if hasattr(signal, "setitimer") and _is_importing(frame):
        signal.signal(signal.SIGALRM, lambda _, later: _stop(number, later))
        signal.setitimer(signal.ITIMER_REAL, _IMPORT_PAUSE)
        return
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    Stopped.came = number
    signal.signal(number, signal.SIG_IGN)  # once is enough, and must not disturb the tidying up
    raise Stopped(number)


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def print_anything() -> None:
    """What the encoding of standard output or standard error lacks is written in other characters, and raises nothing."""
    codecs.register_error("longhaul", _replace)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="longhaul")


def printable(text: str) -> str:
    """A text without characters that steer a terminal or turn what follows around: these are written as escapes.

    >>> printable("a\\x1b[31m b\\u202e\\n")
    'a\\\\u001b[31m b\\\\u202e\\n'
    """
    return "".join(char if char in "\n\u00a0" or char.isprintable() else _escaped(char) for char in text)


def _replace(error: UnicodeError) -> tuple[str, int]:
    """Plain characters for those that are known, else an escape as in JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(_PLAIN.get(char) or _escaped(char) for char in error.object[error.start : error.end]), error.end


def _escaped(char: str) -> str:
    """`\\uXXXX`, for characters beyond the 16-bit plane twice.

    >>> print(_escaped("é"), _escaped("\U0001f600"))
    \\u00e9 \\ud83d\\ude00
    """
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
