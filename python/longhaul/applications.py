"""Facts that explanations, advice and estimates need of the kinds of applications."""

from __future__ import annotations

#: Applications that ask: `from` opens the connection, and the data come from `to`.
ASKING = frozenset({"web", "request"})
