"""Why targets are missed, by the target's name or the beginning of it; written from what runs have shown."""

from __future__ import annotations

REASONS: dict[str, str] = {}
