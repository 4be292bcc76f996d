"""Standard output and standard error of the command, wherever they end: nowhere, on a full disk, in a pipe that nobody reads.

What cannot be written to standard output is an error. What cannot be written to standard error is dropped: progress and
messages are no reason to lose a run, and an error keeps its exit code.
"""

from __future__ import annotations

import io
import os
import select
import sys

from .errors import OutputError


def prepare() -> None:
    """Makes the standard streams ones that can be written at any time, and that the interpreter's end finds in order."""
    _open_missing()
    for name, kind in (("stdout", _Output), ("stderr", _Messages)):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
            setattr(sys, name, _over(kind(stream.fileno(), "w", closefd=False), stream))


def _open_missing() -> None:
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


class _Standard(io.FileIO):
    """The bytes of a standard stream. After the first that cannot be written, all are dropped: the cause is reported once."""

    #: Whether something could not be written.
    lost = False

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Writes some of the bytes; the number of those that are done with."""
        if not self.lost:
            try:
                while (written := super().write(data)) is None:
                    # Another program that has the same pipe or terminal has set it not to block.
                    select.select([], [self], [])
                return written
            except OSError as error:
                self.lost = True
                self.failed(error)
        return memoryview(data).nbytes

    def failed(self, error: OSError) -> None:
        """The end of a command after a failure."""


class _Messages(_Standard):
    """Standard error."""


class _Output(_Standard):
    """Standard output."""

    def failed(self, error: OSError) -> None:
        """An error of the command, but for a closed pipe, which ends it silently."""
        if isinstance(error, BrokenPipeError):
            raise error
        raise OutputError(f"cannot write standard output: {error.strerror or error}") from error


def _over(raw: io.FileIO, stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """A text stream like the given one, over these bytes."""
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
