"""Whether a Ray cluster answers at an address, found out in seconds: Ray itself tries for minutes, and then ends the process.

Its heads speak gRPC, so whoever connects and opens HTTP/2 (RFC 9113 section 3.4) gets a SETTINGS frame. A port that is open and
has something else behind it, or a tunnel without an end, does not send one.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time

from ..errors import LonghaulError

#: An address has this time to answer, in seconds: a head may just be starting.
PATIENCE_S = 8.0
#: One attempt, and the pause between two.
_ATTEMPT_S, _PAUSE_S = 3.0, 0.5
#: What a client sends first: its preface, and an empty SETTINGS frame.
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
#: The length of a frame's head, the place of its type in it, and the type of SETTINGS.
_HEAD, _TYPE, _SETTINGS = 9, 3, 4


def reach(address: str | None, patience_s: float = PATIENCE_S) -> None:
    """Returns when a cluster answers at `address` (`host:port`, `ray://host:port`), and at once for a name that Ray looks up itself.

    Raises `LonghaulError` with the address and the reason if none answers within `patience_s`.
    """
    place = _place(address)
    if place is None:
        return
    deadline = time.monotonic() + patience_s
    while (reason := _refusal(place)) is not None:
        if time.monotonic() + _PAUSE_S > deadline or isinstance(reason, socket.gaierror):
            raise LonghaulError(
                f"no Ray cluster answers at RAY_ADDRESS={address} ({_text(reason)}); start one there with `ray start --head`, or use"
                " RAY_ADDRESS=local for this machine's processors"
            )
        time.sleep(_PAUSE_S)


class Watch:
    """Looks now and then whether the head of a cluster is still there."""

    def __init__(self, address: str | None, every_s: float = 5.0, misses: int = 3) -> None:
        """Of the head at `address` (`host:port`): every `every_s`; it is lost after `misses` failed attempts in a row."""
        self.address = address
        self._place = _place(address)
        self._every_s, self._most = every_s, misses
        self._missed = 0
        self._next = time.monotonic() + every_s

    def check(self) -> None:
        """Raises `LonghaulError` if the head is lost; takes no time but every few seconds."""
        now = time.monotonic()
        if self._place is None or now < self._next:
            return
        self._next = now + self._every_s
        reason = _refusal(self._place)
        self._missed = 0 if reason is None else self._missed + 1
        if reason is not None and self._missed >= self._most:
            raise LonghaulError(
                f"the Ray head at {self.address} no longer answers ({_text(reason)}); finished runs are kept: repeat the command with"
                " --resume when there is a cluster again"
            )


def _place(address: str | None) -> tuple[str, int] | None:
    """Host and port; `None` where Ray finds the cluster by other means, or refuses the address itself."""
    match = re.fullmatch(r"(?:ray://)?\[?([^\[\]/]+?)\]?:(\d{1,5})", address or "")
    return (match[1], int(match[2])) if match and 0 < int(match[2]) < 65536 else None


def _refusal(place: tuple[str, int]) -> OSError | None:
    """Why nothing that could be Ray answers there; `None` if something does."""
    try:
        _look_up(place)
        with socket.create_connection(place, _ATTEMPT_S) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "1":  # the first word is TLS's
                return None
            connection.sendall(_PREFACE)
            head = b""
            while len(head) < _HEAD:
                part = connection.recv(_HEAD - len(head))
                if not part:
                    return ConnectionError("what listens there is not Ray")
                head += part
            return None if head[_TYPE] == _SETTINGS else ConnectionError("what listens there is not Ray")
    except (OSError, UnicodeError) as error:
        return error if isinstance(error, OSError) else OSError(str(error))


def _look_up(place: tuple[str, int]) -> None:
    """Raises unless the host has an address, and after a while where no name server answers: a look-up has no limit of its own."""
    errors: list[Exception] = [TimeoutError("no name server answers")]

    def look() -> None:
        try:
            socket.getaddrinfo(*place)
            errors.clear()
        except (OSError, UnicodeError) as error:
            errors[:] = [error]

    looking = threading.Thread(target=look, name="look-up", daemon=True)
    looking.start()
    looking.join(_ATTEMPT_S)
    for error in errors:
        raise error


def _text(reason: OSError) -> str:
    return reason.strerror or str(reason)
