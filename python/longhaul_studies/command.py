"""The work of `longhaul reproduce` on a study of this package's form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer
from longhaul.cli import options
from longhaul.cli.options import messages, new_table
from longhaul.cli.terminal import exit_code
from longhaul.errors import LonghaulError
from longhaul.files import json_text
from longhaul.progress import of_sweep
from longhaul.study import Request
from longhaul.sweep import ENGINES, POLICIES, PlannedRun
from longhaul.units import counted
from rich.markup import escape

from . import names, outcomes, writing
from .campaign import Campaign, plan
from .drawing import Drawn
from .judging import Judged
from .model import Study
from .writing import Outcome

STYLES = {"reproduced": "green", "partly": "yellow", "not": "bold red", "not run": "dim"}


def reproduce(study: Study, request: Request) -> None:
    """Makes missing runs, evaluates, draws, writes, prints."""
    scale = names.scale(study, request.scale)
    wanted = names.experiments(study, request.figure) if request.figure else None
    options.one_of("--changed", request.changed, POLICIES)
    options.one_of("--engine", request.engine, ENGINES)
    part = options.shard(request.shard)
    out = request.out or Path("results") / study.name
    campaign = plan(study, scale, out)
    if request.contents:
        _print_contents(study, campaign, wanted, request.as_json)
        return
    if request.no_run and not campaign.started:
        raise LonghaulError(
            f"{out} has no runs of the scale {scale}; leave --no-run out, or name the directory with --out"
        )
    campaign.open(request.changed)
    if not request.no_run:
        _run(campaign, campaign.missing(wanted, part), request)
        while not part and (further := campaign.missing_further(wanted)):
            _run(campaign, further, request)
    outcome = outcomes.outcome(campaign)
    paths = outcomes.write(outcome, out / scale)
    if request.document:
        paths["document"] = outcomes.document(study, out, request.document)
    if request.as_json:
        typer.echo(json_text(writing.as_json(outcome)), nl=False)
    elif not request.quiet:
        _print_outcome(outcome, wanted)
        typer.echo(f"figures:  {paths['figures']}")
        typer.echo(f"report:   {paths['report']}")
        typer.echo(f"document: {paths['document']}\n")
        _print_conclusion(outcome)


def _run(campaign: Campaign, missing: Sequence[PlannedRun], request: Request) -> None:
    try:
        with of_sweep(messages, not (request.quiet or request.as_json), "reproducing") as (observer, _):
            campaign.run(missing, jobs=request.jobs, engine=request.engine, observer=observer)
    except KeyboardInterrupt as interrupt:
        error = LonghaulError(
            f"interrupted; finished runs are kept in {campaign.store.runs}; repeat the command to continue"
        )
        error.exit_code = exit_code(interrupt)  # type: ignore[attr-defined]
        raise error from None


def _print_outcome(outcome: Outcome, wanted: Sequence[str] | None) -> None:
    done, total = outcome.runs
    console = options.output()
    if outcome.read:
        _print_readings(outcome, wanted)
        return
    judged = [item for item in outcome.judged if _concerns(item, wanted)]
    title = f"{outcome.study.title}: scale {outcome.scale}, {done:,} of {counted(total, 'run')} done"
    console.print(title, style="bold", highlight=False)
    table = new_table("Target", "Source", "Paper", "Measured", "Verdict")
    for item in judged:
        if item.verdict == "not run":
            continue
        target = item.target
        text = f"{item.judgement.measured} ({item.reason})" if item.reason else item.judgement.measured
        verdict = f"[{STYLES[item.verdict]}]{item.verdict}[/]"
        table.add_row(*(escape(cell) for cell in (target.id, target.source, target.paper, text)), verdict)
    console.print(table)
    not_run = [item.target.id for item in judged if item.verdict == "not run"]
    if not_run:
        typer.echo(f"not run at this scale: {', '.join(not_run)}\n")
    typer.echo(writing.summary(judged))
    undrawn = [drawn for drawn in outcome.drawn if drawn.png is None]
    _print_undrawn([drawn for drawn in undrawn if wanted is None or set(drawn.figure.experiments) & set(wanted)])


def _print_readings(outcome: Outcome, wanted: Sequence[str] | None) -> None:
    """Each reading beside the base."""
    console = options.output()
    done, total = outcome.runs
    title = f"{outcome.study.title}: other readings, {done:,} of {counted(total, 'run')} done"
    console.print(title, style="bold", highlight=False)
    for item in outcome.read:
        table = new_table("Target", "Paper", "Base", "Verdict", item.reading.name, "Verdict")
        for one in item.compared:
            if wanted is None or set(one.target.experiments) & set(wanted):
                cells = []
                for side in (one.base, one.read):
                    cells += [escape(side.measured), f"[{STYLES[side.verdict]}]{side.verdict}[/]"]
                table.add_row(escape(one.target.id), escape(one.target.paper), *cells)
        console.print(table)


def _print_conclusion(outcome: Outcome) -> None:
    """What held of the paper: the last lines."""
    for line in writing.conclusion(outcome.held):
        typer.echo(line)


def _print_undrawn(undrawn: Sequence[Drawn]) -> None:
    """Which figures are not drawn: of one why, of more in one line."""
    if len(undrawn) == 1:
        text = f"figure {undrawn[0].figure.id} is not drawn: {undrawn[0].missing}"
    else:
        ids = ", ".join(drawn.figure.id for drawn in undrawn)
        text = f"{counted(len(undrawn), 'figure')} not drawn, since their runs are missing: {ids}"
    if undrawn:
        messages.print(text, style="dim", markup=False)


def _concerns(item: Judged, wanted: Sequence[str] | None) -> bool:
    return wanted is None or bool(set(item.target.experiments) & set(wanted))


def _print_contents(study: Study, campaign: Campaign, wanted: Sequence[str] | None, as_json: bool) -> None:
    runs = {
        experiment.id: len(
            {
                run.run_id
                for run in campaign.plan.runs
                if campaign.experiments[run.cell] == experiment.id and run.run_id not in campaign.further
            }
        )
        for experiment in study.experiments
    }
    shown = [experiment for experiment in study.experiments if wanted is None or experiment.id in wanted]
    if as_json:
        content = {
            "study": study.name, "scale": campaign.scale,
            "experiments": [{"id": e.id, "title": e.title, "section": e.section, "runs": runs[e.id]} for e in shown],
            "figures": [{"id": f.id, "title": f.title, "experiments": list(f.experiments)} for f in study.figures],
            "targets": [
                {
                    "id": t.id, "source": t.source, "paper": t.paper, "kind": t.kind, "origin": t.origin,
                    "experiments": list(t.experiments),
                }
                for t in study.targets
            ],
        }  # fmt: skip
        typer.echo(json_text(content), nl=False)
        return
    console = options.output()
    console.print(study.title, style="bold", highlight=False)
    for name, text in study.scales.items():
        typer.echo(f"  {name:6} {text}")
    table = new_table("Experiment", "Title", "Section", "Runs", "Figures", "Targets")
    for experiment in shown:
        figures = [figure.id for figure in study.figures if experiment.id in figure.experiments]
        targets = sum(experiment.id in target.experiments for target in study.targets)
        row = (
            experiment.id,
            experiment.title,
            experiment.section,
            str(runs[experiment.id]),
            ", ".join(figures),
            str(targets),
        )
        table.add_row(*(escape(cell) for cell in row))
    console.print(table)
    unlike = len({run.run_id for run in campaign.plan.runs} - campaign.further)
    more = f" and up to {counted(len(campaign.further), 'further seed')} where a verdict depends on one" * bool(
        campaign.further
    )
    typer.echo(
        f"{counted(unlike, 'different run')}{more} at scale {campaign.scale}; {counted(len(study.targets), 'target')},"
        f" {counted(len(study.figures), 'figure')}"
    )
