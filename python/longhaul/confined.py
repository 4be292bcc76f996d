"""The command under `ulimit -v`: libraries that get no memory abort, or fail at whatever they did, so a child process does the work
and this one reports what became of it.

What the child writes as a program goes to standard error as ever. What its libraries write there directly is kept until it has
ended: of an abort for want of memory one message is left.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from typing import IO

from .errors import ResultError

try:
    import resource
except ImportError:  # Windows has none
    resource = None  # type: ignore[assignment]

#: Signals by which a process ends that could not go on, and what libraries write that got no memory or no thread.
_FATAL = {
    getattr(signal, name) for name in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL", "SIGTRAP") if hasattr(signal, name)
}
_SIGNS = ("memory", "alloc", "thread")
#: What tables need in bytes, with few processors: below it polars can wait for ever for threads that it could not begin.
_TABLES = 1_500_000_000
#: With so many bytes, an error is no sign of too little.
_AMPLE = 2_000_000_000
#: Signals that are meant for the work.
_PASSED_ON = ("SIGTERM", "SIGHUP")


def limit() -> int | None:
    """The address space in bytes that this process may have; `None` if there is no limit."""
    if resource is None:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def check_tables() -> None:
    """Raises `ResultError` where the limit leaves no room for tables."""
    allowed = limit()
    if allowed is not None and allowed < _TABLES:
        raise ResultError(explanation(allowed))


def explanation(allowed: int) -> str:
    """A message for where the limit, in bytes, did not suffice."""
    return (
        f"the address space of {allowed / 1e6:,.0f} MB that `ulimit -v` allows does not suffice; allow more with `ulimit -v unlimited`:"
        " a run needs some 400 MB and what it simulates; tables and reports need 1,500 MB, and more with many processors. Most of it is"
        " reserved and not used"
    )


def explanation_of(error: BaseException) -> str | None:
    """As `explanation`, if there is a limit so tight that a library without memory may have raised this."""
    allowed = limit()
    if allowed is None or (allowed > _AMPLE and not isinstance(error, MemoryError)):
        return None
    first = next(iter(str(error).splitlines()), "")
    return f"{explanation(allowed)} ({type(error).__name__}: {first})"


def continue_in_child() -> bool:
    """Returns `True` in a child process that is to do the work, and `False` if there is no limit.

    The process that called it waits for the child, and ends as that ended.
    """
    allowed = limit()
    if allowed is None:
        return False
    with tempfile.TemporaryFile() as kept:
        child = os.fork()
        if child == 0:
            _keep_what_libraries_write(kept)
            return True
        code = _wait(child)
        kept.seek(0)
        text = kept.read()
    if _is_for_want_of_memory(code, text):
        sys.stderr.write(f"error: {explanation(allowed)}\n")
        code = 2
    else:
        sys.stderr.buffer.write(text)
    sys.stderr.flush()
    os._exit(code if code >= 0 else 128 - code)


def _keep_what_libraries_write(kept: IO[bytes]) -> None:
    """Lets Python's own standard error go where it went, under another number, and everything else that is written to it into a file."""
    own = os.dup(2)
    os.dup2(kept.fileno(), 2)
    sys.stderr = open(own, "w", buffering=1, encoding=sys.stderr.encoding, closefd=False)  # noqa: SIM115


def _wait(child: int) -> int:
    """The child's exit code, negative for a signal. Ctrl-C reaches it without this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in _PASSED_ON:
        signal.signal(getattr(signal, name), lambda number, _frame: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _is_for_want_of_memory(code: int, text: bytes) -> bool:
    if code < 0:
        return -code in _FATAL
    return code != 0 and any(sign.encode() in text.lower() for sign in _SIGNS)
