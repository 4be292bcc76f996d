"""Lines of `tc netem` as links of scenarios, and back.

Netem acts on what leaves one interface, so that a line is one direction of a link.
"""

from .line import NetemError, rate_bps, time_ns
from .links import Direction, link_text, read
from .written import write

__all__ = ["Direction", "NetemError", "link_text", "rate_bps", "read", "time_ns", "write"]
