"""From finished runs to an outcome, and to the files that show it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import overview, readings
from .campaign import Campaign, plan
from .drawing import draw_all, save_all
from .judging import judge, read
from .model import READINGS, Study
from .writing import Outcome, write_html, write_json, write_markdown


def outcome(campaign: Campaign, experiments: Sequence[str] | None = None) -> Outcome:
    """The outcome of the finished runs, with figures of some experiments, or of all."""
    results = campaign.results()
    judged = judge(campaign.study, results)
    if campaign.scale == READINGS:
        return Outcome(campaign.study, results, judged, [], read(campaign.study, results), campaign.store.accepted)
    drawn = draw_all(campaign.study, results, experiments)
    return Outcome(campaign.study, results, judged, drawn, accepted=campaign.store.accepted)


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
    write_markdown([outcome], paths["document"], figures, read=outcome.read)
    return paths


def document(study: Study, out: Path, directory: Path) -> Path:
    """Writes NAME.md and its figures into `directory` from every scale that has runs in `out`.

    With runs of readings alone, a document that is there keeps all but its section of readings.
    """
    found = {}
    for scale in study.scales:
        campaign = plan(study, scale, out)
        if campaign.started:
            # Results of other builds count that were accepted after a check.
            campaign.store.continues(resume=True, join=False, force=False)
            found[scale] = outcome(campaign)
    path = directory / f"{study.name}.md"
    read_so_far = found[READINGS].read if READINGS in found else ()
    outcomes = [item for scale, item in found.items() if scale != READINGS]
    if not outcomes and path.exists():
        readings.put_into(path, study, read_so_far)
        overview.put_readings(study, read_so_far, directory)
        return path
    outcomes = outcomes or list(found.values())
    write_markdown(outcomes, path, directory / study.name, read=read_so_far)
    overview.write_record(outcomes, directory, read_so_far)
    return path
