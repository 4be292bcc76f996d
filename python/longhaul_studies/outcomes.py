"""From finished runs to an outcome, and to the files that show it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import overview
from .campaign import Campaign, plan
from .drawing import draw_all, save_all
from .judging import judge
from .model import Study
from .writing import Outcome, write_html, write_json, write_markdown


def outcome(campaign: Campaign, experiments: Sequence[str] | None = None) -> Outcome:
    """The outcome of the finished runs, with figures of some experiments, or of all."""
    results = campaign.results()
    judged = judge(campaign.study, results)
    drawn = draw_all(campaign.study, results, experiments)
    return Outcome(campaign.study, results, judged, drawn, campaign.store.accepted)


def write(outcome: Outcome, directory: Path) -> dict[str, Path]:
    """Writes figures, verdicts (`targets.json`), the report (`report.html`) and the document (`NAME.md`) into `directory`."""
    figures = directory / "figures"
    save_all(outcome.drawn, figures)
    paths = {
        "figures": figures,
        "targets": directory / "targets.json",
        "report": directory / "report.html",
        "document": directory / f"{outcome.study.name}.md",
    }
    write_json(outcome, paths["targets"])
    write_html(outcome, paths["report"])
    write_markdown([outcome], paths["document"], figures)
    return paths


def document(study: Study, out: Path, directory: Path) -> Path:
    """Writes NAME.md and its figures into `directory` from every scale that has runs in `out`."""
    outcomes = []
    for scale in study.scales:
        campaign = plan(study, scale, out)
        if campaign.started:
            # Results of other builds count that were accepted after a check.
            campaign.store.continues(resume=True, join=False, force=False)
            outcomes.append(outcome(campaign))
    path = directory / f"{study.name}.md"
    write_markdown(outcomes, path, directory / study.name)
    overview.write_record(outcomes, directory)
    return path
