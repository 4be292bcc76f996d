"""How long tests wait."""

#: For what comes at once on a quiet machine, in s: no test fails because a machine is slow.
PATIENCE_S = 600.0
