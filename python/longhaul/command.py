"""The entry of the command `longhaul`: what must hold before its modules are imported, which takes a third of a second."""

from __future__ import annotations

import signal

from . import early, streams


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    streams.prepare()
    early.end_by_interrupts()
    from . import cli

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    cli.main()


if __name__ == "__main__":
    main()
