"""One comparison for each headline."""

from __future__ import annotations

from .grids import HEADLINES

TARGETS = tuple(one.target for one in HEADLINES)
