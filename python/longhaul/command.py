"""The entry of the command `longhaul`: what must hold before its modules are imported, which takes a third of a second."""

from __future__ import annotations

import signal

from . import confined, early, streams


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    streams.prepare()
    if confined.continue_in_child():
        streams.prepare()  # its standard error is another one
    early.end_by_interrupts()
    from . import cli

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
