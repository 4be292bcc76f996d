"""Findings beyond single targets."""

from __future__ import annotations

FINDINGS: dict[str, str] = {}
