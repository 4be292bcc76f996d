"""The entry of the command `longhaul`: what must hold before its modules are imported, which takes a third of a second."""

from __future__ import annotations

import os
import signal
import sys

from . import early


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    open_missing_streams()
    early.end_by_interrupts()
    from . import cli

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


def open_missing_streams() -> None:
    """Opens `/dev/null` for each standard stream that is closed (`longhaul run FILE >&-`).

    Otherwise the first file that is opened takes its number, and what is printed would go into that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
        if getattr(sys, name) is None:
            stream = open(number, "r" if number == 0 else "w", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


if __name__ == "__main__":
    main()
