"""A budget of `advise` as a text: wall-clock time, or a number of runs."""

from __future__ import annotations

import re

from .errors import LonghaulError
from .units import read_quantity


def read_budget(text: str, name: str = "--budget ") -> tuple[float | None, int | None]:
    """A budget as seconds or as runs; raises `LonghaulError`, whose message calls it `name`.

    >>> read_budget("90 s"), read_budget("200 runs")
    ((90.0, None), (None, 200))
    """
    if isinstance(text, str):
        if match := re.fullmatch(r"\s*(\d+)\s*runs?\s*", text):
            if int(match[1]) > 0:
                return None, int(match[1])
        else:
            read = read_quantity(text.strip())
            if read is not None and read[1] == "s" and read[0] > 0:
                return read[0], None
    raise LonghaulError(f'{name}{text!r}: write a time or a number of runs, as in "60 s", "5 min" or "200 runs"')
