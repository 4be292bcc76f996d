"""Ctrl-C while the command's modules are imported, the first thing that the package imports itself."""

from __future__ import annotations

import os
import signal
import sys


def is_command() -> bool:
    """Whether this process is the command `longhaul`, and not a program or a notebook that imports the package."""
    return os.path.splitext(os.path.basename(sys.argv[0] if sys.argv else ""))[0] == "longhaul"


def end_by_interrupts() -> None:
    """Ctrl-C ends the process by the signal's default action: an exception in an import would print a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


if is_command():
    end_by_interrupts()
