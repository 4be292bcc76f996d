"""Results of versions that wrote no list of their files: a summary or a manifest of Longhaul's vouches for fixed names beside it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from .inventory import Entry

#: What a run may write. Their names are taken in its directory.
RUN_FILES = (
    "summary.json", "scenario.toml", "timing.json", "packets.pcapng",
    *(f"{table}.parquet" for table in ("flows", "links", "events", "monitors", "middleboxes", "long_hops", "cc", "segments")),
)  # fmt: skip
#: What a sweep may write, beside its runs.
SWEEP_FILES = ("manifest.json", "scenario.toml", "runs.parquet", "cells.parquet", "definitions.json")


def vouched(directory: Path) -> dict[str, Entry]:
    """The files of a directory without a list that are Longhaul's: none, unless a summary or a manifest is."""
    if (summary := of_ours(directory / "summary.json")) is not None:
        names = [*RUN_FILES, *_logs(directory / "qlog", summary)]
    elif (manifest := of_ours(directory / "manifest.json")) is not None and manifest.get("kind") == "sweep":
        names = list(SWEEP_FILES)
    else:
        return {}
    names += ["report.html"] * is_report(directory / "report.html")
    return {name: Entry() for name in names if (directory / name).is_file()}


def of_ours(file: Path) -> dict[str, Any] | None:
    """What a summary or a manifest of Longhaul's has in it; `None` if it is neither."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and isinstance(content.get("longhaul"), str) else None


def _logs(folder: Path, summary: dict[str, Any]) -> list[str]:
    """Logs of QUIC connections, which are called after the summary's flows."""
    flows = summary.get("flows")
    if not folder.is_dir() or not isinstance(flows, list):
        return []
    flow_names = {str(flow.get("name")) for flow in flows if isinstance(flow, dict)}
    found = []
    for file in folder.iterdir():
        match = re.fullmatch(r"(.+)-(?:client|server)\d*\.sqlog", file.name)
        if match and match[1] in flow_names:
            found.append(f"qlog/{file.name}")
    return found


def is_report(file: Path) -> bool:
    """Whether a file is a report of Longhaul's."""
    try:
        with file.open("rb") as stream:
            head = stream.read(2000)
    except OSError:
        return False
    return b'<meta name="generator" content="Longhaul">' in head or b"Longhaul</title>" in head
