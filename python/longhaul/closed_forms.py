"""Closed forms from the simulator: the rates that theory predicts for a flow. Windows in segments, `p` losses per segment.

>>> round(power_law_window(1.2, 0.5, 1e-4)), round(HighSpeed().window(1e-4))
(120, 260)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from . import core

if TYPE_CHECKING:
    from ._core import HighSpeedResponse


def power_law_window(c: float, d: float, p: float) -> float:
    """W = C / p^d: response functions as papers simplify them, as 1.2 / sqrt(p) for standard TCP (RFC 3649 section 5)."""
    return float(core.closed_forms().power_law_window(c, d, p))


def aimd_window(a: float, b: float, p: float) -> float:
    """Average window of AIMD: sqrt(a (2 - b) / (2 b p)) (Floyd, Handley, Padhye 2000)."""
    return float(core.closed_forms().aimd_window(a, b, p))


@dataclass(frozen=True)
class HighSpeed:
    """HighSpeed TCP's response function and what follows from it (RFC 3649 section 5, whose parameters are the default)."""

    low_window: float = 38.0
    low_p: float = 1e-3
    high_window: float = 83_000.0
    high_p: float = 1e-7
    high_decrease: float = 0.1

    @cached_property
    def _response(self) -> HighSpeedResponse:
        response: HighSpeedResponse = core.closed_forms().HighSpeedResponse(
            self.low_window, self.low_p, self.high_window, self.high_p, self.high_decrease
        )
        return response

    @property
    def slope(self) -> float:
        """S, the slope of log W over log p: negative."""
        return self._response.slope()

    def window(self, p: float) -> float:
        """W(p): average window at the loss rate `p`; standard TCP's above Low_P."""
        return self._response.window(p)

    def loss_rate(self, w: float) -> float:
        """p(w), the inverse of W(p) above Low_Window."""
        return self._response.loss_rate(w)

    def a(self, w: float) -> float:
        """a(w): segments that the window gains in a round trip."""
        return self._response.a(w)

    def b(self, w: float) -> float:
        """b(w): share of the window that congestion costs."""
        return self._response.b(w)
