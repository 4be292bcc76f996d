"""The page of a reproduced study: one HTML file, which opens without a network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longhaul.report import explore, write_page
from longhaul.units import counted
from markupsafe import Markup, escape


def write(path: Path, content: dict[str, Any]) -> Path:
    """Writes the report of a reproduced study; what it shows is put together in `writing`."""
    found = [panel for item in content["drawn"] for panel in item.panels]
    images, study = content["images"], content["study"]
    by_name = {item.figure.id: item for item in content["drawn"] if item.figure.id in images}
    leading = next((name for name in (*study.leading, *by_name) if name in by_name), None)
    extra = {
        "explorer": explore.explorer(explore.of_panels(found)),
        "answer": _answer(content["counts"], content["held"], content["scale"]),
        "first": by_name.get(leading) if leading else None,
        "marked": marked,
        # A reason that several targets share stands at the first of them.
        "reason_of": {item.reason: item.target.id for item in reversed(content["ran"]) if item.reason},
    }
    return write_page("study.html", path, content | extra, package=__package__)


def marked(text: str) -> Markup:
    """Text with emphasis and code as Markdown marks them, as HTML.

    >>> marked("see *Why it falls*; a < `b`")
    Markup('see <em>Why it falls</em>; a &lt; <code>b</code>')
    """
    shown = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", str(escape(text)))
    shown = re.sub(r"\*(\w[^*]*\w)\*", r"<em>\1</em>", shown)
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", shown))


def _answer(counts: Mapping[Any, int], held: Sequence[Any], scale: str) -> list[str]:
    """What came of a study: how many of the paper's numbers hold, and which of its claims do."""
    ran = {verdict: number for verdict, number in counts.items() if verdict != "not run"}
    total = sum(ran.values())
    if not total:
        return [f"At the scale {scale} none of the paper's numbers and claims has been tried yet."]
    parts = [
        f"{number} {'not reproduced' if verdict == 'not' else verdict}" for verdict, number in ran.items() if number
    ]
    left = counts.get("not run", 0)
    text = f"{counted(total, 'number or claim', 'numbers and claims')} of the paper tried: {', '.join(parts)}"
    sentences = [text + (f"; {left} not run at the scale {scale}." if left else ".")]
    by_standing: dict[str, list[str]] = {}
    for item in held:
        by_standing.setdefault(item.standing, []).append(item.claim.text.rstrip("."))
    words = {"confirmed": "Confirmed", "refuted": "Refuted", "depends": "Depends on the conditions"}
    for standing, word in words.items():
        if claims := by_standing.get(standing):
            more = f" (and {len(claims) - 1} more below)" if len(claims) > 1 else ""
            sentences.append(f"{word}: {claims[0]}{more}.")
    return sentences
