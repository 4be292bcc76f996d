"""Why a target is missed, as far as it was found out; shown beside the verdict where there is a miss."""

from __future__ import annotations

REASONS: dict[str, str] = {}
