"""Pages of studies have the prose of the source that makes them: what changes in one changes in both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from longhaul_studies.asymmetric import emulated
from longhaul_studies.model import Study
from longhaul_studies.names import find

PAGES = Path(__file__).parents[1] / "docs/studies"
STUDIES = {path.parent.name for path in PAGES.glob("*/overview.json")}


def study_of(name: str) -> Study:
    return emulated.STUDY if name == emulated.STUDY.name else find(name)


def flat(text: str) -> str:
    """In one line, so that it does not depend on where lines are broken."""
    return " ".join(text.split())


def missing(study: Study, page: str) -> list[str]:
    """What the source has and its page lacks: the study's words, findings, decisions, captions, and causes of what the page lists as missed."""
    whole = flat(page)
    wanted = {"about": study.about, "gap": study.gap}
    wanted |= {heading: f"## {heading} {text}" for heading, text in study.findings.items()}
    wanted |= {one.id: f"{one.question} *Decision:* {one.decision}" for one in study.decisions}
    wanted |= {one.id: one.caption for one in study.figures}
    wanted |= {one.title: one.caption for one in study.tables}
    # A claim that is confirmed has no cause beside it.
    rows = {claim.text: next((line for line in page.splitlines() if claim.text in line), "") for claim in study.claims}
    wanted |= {claim.text: claim.text for claim in study.claims}
    wanted |= {f"why: {claim.text}": claim.why for claim in study.claims if "| confirmed |" not in rows[claim.text]}
    section = page.partition("\n## Missed targets and their causes\n")[2].partition("\n## ")[0]
    listed = flat(" ".join(re.findall(r"^\* \*\*([^*]+)\*\*:", section, flags=re.MULTILINE))).replace(",", " ").split()
    wanted |= {one.id: one.reason for one in study.targets if one.id in listed}
    return [name for name, text in wanted.items() if flat(text) not in whole]


@pytest.mark.parametrize("name", sorted({*STUDIES, emulated.STUDY.name}))
def test_a_page_has_the_prose_of_its_source(name: str) -> None:
    assert missing(study_of(name), (PAGES / f"{name}.md").read_text(encoding="utf-8")) == []


def test_a_cause_that_has_changed_in_the_source_alone_is_found() -> None:
    study = study_of("highspeed")
    page = (PAGES / "highspeed.md").read_text(encoding="utf-8")
    why = next(claim.why for claim in study.claims if claim.targets == ("E10.2",))
    found = missing(study, page.replace(why, "unexplained."))
    assert found == ["why: Under bursts and RED one HighSpeed flow even gains: it uses what ten standard flows leave."]
