"""The site: its front page states what it is for and what to type, its colours can be read, and it has every document."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent
FRONT = (ROOT / "site/index.md").read_text(encoding="utf-8")
STYLE = (ROOT / "site/longhaul.css").read_text(encoding="utf-8")
NAV = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]


def colours(scheme: str) -> dict[str, str]:
    """The colours that the style sets in a scheme, by variable."""
    block = re.search(rf'data-md-color-scheme="{scheme}"\] {{\n(.*?)^}}', STYLE, re.MULTILINE | re.DOTALL)
    assert block
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block[1]))


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1), 0 to 1."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours (WCAG 2.1), 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize(("scheme", "page"), [("default", "#ffffff"), ("slate", "#14191c")])
def test_the_colours_have_the_contrast_of_wcag_aa(scheme: str, page: str) -> None:
    found = colours(scheme)
    assert found.get("md-default-bg-color", "#ffffff") == page
    texts = ("md-typeset-a-color", "md-accent-fg-color", "front-soft", "front-action")
    pairs = {(text, ground): contrast(found[text], ground) for text in texts for ground in (page, found["front-tint"])}
    pairs["header", ""] = contrast(found["md-primary-bg-color"], found["md-primary-fg-color"])
    assert {pair: ratio for pair, ratio in pairs.items() if ratio < 4.5} == {}
    # Code stands on the theme's ground, of which this is the lightest, or the darkest, that it has been.
    code = {"default": "#f5f5f5", "slate": "#2b3337"}[scheme]
    coloured = {
        name: contrast(colour, code) for name, colour in found.items() if re.search("-hl-|fg-color--light", name)
    }
    coloured.pop("md-primary-fg-color--light", None)
    assert {name: ratio for name, ratio in coloured.items() if ratio < 4.5} == {}
    # What is no text: an edge.
    assert contrast(found["front-edge"], page) >= 3


def test_the_front_page_has_three_doors_with_one_command_each() -> None:
    doors = re.split(r'<div class="door" markdown>', FRONT)[1:]
    assert [re.search(r"^## (.*)$", door, re.MULTILINE)[1] for door in doors] == ["Simulate", "Emulate", "Accelerate"]
    assert [door.count("\n$ ") for door in doors] == [1, 1, 1]
    assert "satellites and other long links" in " ".join(FRONT.split())


def test_the_front_page_compares_in_six_rows() -> None:
    pytest.importorskip("mkdocs", reason="`make site` installs it")
    pages = runpy.run_path(str(ROOT / "scripts/site_pages.py"))
    rows = pages["compared"]().splitlines()
    assert len(rows) == 2 + 6
    assert "](peers.md#ns-3)" in rows[0]


def test_the_mark_of_the_site_is_that_of_reports() -> None:
    base = (ROOT / "python/longhaul/report/templates/base.html").read_text(encoding="utf-8")
    icon = re.search(r'rel="icon" href="data:image/svg\+xml,([^"]+)"', base)
    assert icon
    assert unquote(icon[1]) == (ROOT / "site/mark.svg").read_text(encoding="utf-8").strip()


def test_every_document_is_on_the_site() -> None:
    documents = {
        file.relative_to(ROOT / "docs").as_posix()
        for pattern in ("*.md", "reference/*.md", "studies/*.md")
        for file in (ROOT / "docs").glob(pattern)
    }
    assert {name for name in documents if not re.search(rf" {re.escape(name)}$", NAV, re.MULTILINE)} == set()
