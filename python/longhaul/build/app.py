"""Applications: what a flow's `app` is.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .section import Section, given


def bulk(*, size: Mapping[str, Any] | str | None = None) -> Section:
    """Sends as fast as the connection allows.

    * `size`: Bytes to send, then the connection closes; without it the transfer has no end.
    """
    return given({"kind": "bulk", "size": size})


def cbr(*, rate: str, message: str | None = None, voice: Mapping[str, Any] | bool | None = None) -> Section:
    """Writes messages at a constant rate.

    * `rate`: Mean rate of the application's data.
    * `message`: Bytes written at a time.
    * `voice`: The messages are speech: how late each comes is measured, and `mos` estimates a listener's opinion of the call. `true`, or a table with its codec and its playout.
    """
    return given({"kind": "cbr", "rate": rate, "message": message, "voice": voice})


def on_off(
    *, rate: str, on: Mapping[str, Any] | str, off: Mapping[str, Any] | str, message: str | None = None
) -> Section:
    """Bursts at a constant rate with silence between them, beginning with a silence.

    * `rate`: Rate of the application's data within a burst.
    * `on`: Length of a burst.
    * `off`: Length of a silence.
    * `message`: Bytes written at a time.
    """
    return given({"kind": "on_off", "rate": rate, "on": on, "off": off, "message": message})


def web(
    *,
    think: Mapping[str, Any] | str,
    objects: Mapping[str, Any] | int,
    object: Mapping[str, Any] | str,
    document: Mapping[str, Any] | str | None = None,
    pages: int | None = None,
    parallel: int | None = None,
    persistent: bool | None = None,
    request: str | None = None,
    spacing: Mapping[str, Any] | str | None = None,
) -> Section:
    """A person who reads pages: each page is a number of objects, each fetched by the active side from the passive side over a connection; then time to read it.

    * `think`: Time from the end of a page to the beginning of the next.
    * `objects`: Objects on a page, without its document.
    * `object`: Size of an object: `"packets"` are full-sized segments.
    * `document`: The page's text, which lists the objects: they are requested once it has come.
    * `pages`: Number of pages; without it there is no end.
    * `parallel`: Most connections at a time; objects that wait are requested as soon as one is free.
    * `persistent`: Connections stay open and fetch one object after the other (HTTP/1.1); without it each object has its own (HTTP/1.0).
    * `request`: Bytes of a request.
    * `spacing`: Time between the requests for two objects of a page.
    """
    return given(
        {
            "kind": "web",
            "think": think,
            "objects": objects,
            "object": object,
            "document": document,
            "pages": pages,
            "parallel": parallel,
            "persistent": persistent,
            "request": request,
            "spacing": spacing,
        }
    )


def request(
    *, response: str, request: str | None = None, requests: int | None = None, think: str | None = None
) -> Section:
    """The active side sends requests and the passive side answers, one after the other on one connection.

    * `response`: Bytes of an answer.
    * `request`: Bytes of a request.
    * `requests`: Number of requests, then the connection closes; without it there is no end.
    * `think`: Time between an answer's end and the next request.
    """
    return given({"kind": "request", "response": response, "request": request, "requests": requests, "think": think})


def keystrokes(
    *,
    count: int | None = None,
    echo: str | None = None,
    gap: Mapping[str, Any] | str | None = None,
    keystroke: str | None = None,
) -> Section:
    """A person who types: the active side sends keystrokes, whether or not the ones before have been echoed, and the passive side echoes each of them.

    * `count`: Number of keystrokes, then the connection closes; without it there is no end.
    * `echo`: Bytes of an echo.
    * `gap`: Time between two keystrokes; the mean of 238 ms is that of 136 million keystrokes (Dhakal et al., CHI 2018).
    * `keystroke`: Bytes of a keystroke.
    """
    return given({"kind": "keystrokes", "count": count, "echo": echo, "gap": gap, "keystroke": keystroke})


def messages(
    *, gap: Mapping[str, Any] | str, size: Mapping[str, Any] | str, whole_packets: bool | None = None
) -> Section:
    """Writes messages of random sizes at random times: for instance the requests that arrive at a server.

    * `gap`: Time between two messages, and before the first.
    * `size`: Bytes of a message: `"packets"` are full-sized segments.
    * `whole_packets`: Each message is filled up to whole segments, as with ns-2's one-way TCP.
    """
    return given({"kind": "messages", "gap": gap, "size": size, "whole_packets": whole_packets})


def trace(
    *,
    file: str,
    begin: Literal["first", "random"] | None = None,
    digest: str | None = None,
    format: Literal["access_log", "csv", "ns", "parquet"] | None = None,
    whole_packets: bool | None = None,
) -> Section:
    """Plays a trace of gaps and sizes again and again, as ns-2's `Application/Traffic/Trace` does: a film, or the requests that a server has seen.

    * `file`: The trace's file; a relative path begins at the scenario file.
    * `begin`: Where a flow begins.
    * `digest`: The trace's digest, which is written into the resolved scenario: with it, another trace in the file is refused.
    * `format`: Its format; by its name `.csv`, `.parquet`, `.log` and `access_log` (a web server's access log), and ns-2's binary format for all others.
    * `whole_packets`: Each write is filled up to whole segments, as with ns-2's one-way TCP.
    """
    return given(
        {
            "kind": "trace",
            "file": file,
            "begin": begin,
            "digest": digest,
            "format": format,
            "whole_packets": whole_packets,
        }
    )


def video(
    *,
    buffer: str | None = None,
    frame_rate: float | None = None,
    frame_variation: float | None = None,
    pattern: str | None = None,
    peak_frame: str | None = None,
    rate: str | None = None,
    scene: str | None = None,
    scene_variation: float | None = None,
    sizes: Mapping[str, Any] | None = None,
    whole_packets: bool | None = None,
) -> Section:
    """A synthetic film: frames of random sizes at a constant frame rate, from a random frame on.

    * `buffer`: Film that has arrived before the player shows it, at the beginning and after it stood still.
    * `frame_rate`: Frames a second.
    * `frame_variation`: Coefficient of variation of a frame's size within its scene.
    * `pattern`: The group of pictures: letters I, P and B.
    * `peak_frame`: The largest frame.
    * `rate`: Mean rate before frames are cut at the peak, which takes about 1 % with the defaults.
    * `scene`: Mean length of a scene; lengths are exponential, in whole groups of pictures.
    * `scene_variation`: Coefficient of variation of the scenes' levels.
    * `sizes`: Mean sizes of the kinds of frames in proportion to each other; their common factor does not matter.
    * `whole_packets`: Each frame is filled up to whole segments, as with ns-2's one-way TCP.
    """
    return given(
        {
            "kind": "video",
            "buffer": buffer,
            "frame_rate": frame_rate,
            "frame_variation": frame_variation,
            "pattern": pattern,
            "peak_frame": peak_frame,
            "rate": rate,
            "scene": scene,
            "scene_variation": scene_variation,
            "sizes": sizes,
            "whole_packets": whole_packets,
        }
    )
