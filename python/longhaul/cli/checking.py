"""Checks for automation: `longhaul check`, `--expect`, `--strict`, `--junit`, and `longhaul diff`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .. import expectations, load
from ..expectations import Expectation, Outcome
from ..files import json_text
from ..results import Result
from ..sweep import SweepResult
from ..units import counted, quantity
from . import options
from .options import UsageError, messages

EXPECT = typer.Option(
    None,
    "--expect",
    metavar="TEXT",
    help="Exit with 1 unless this holds, as in --expect 'flow.download.goodput_bps > 40e6'; may be repeated.",
)
STRICT = typer.Option(False, "--strict", help="Warnings are errors: exit with 1.")
JUNIT = typer.Option(None, "--junit", metavar="FILE", help="Write what was expected as JUnit XML.", show_default=False)


def read(texts: Sequence[str] | None, junit: Path | None, strict: bool) -> list[Expectation]:
    """The expectations, read before anything is run."""
    wanted = [expectations.read(text) for text in texts or ()]
    if junit is not None and not wanted and not strict:
        raise UsageError("--junit needs something that is expected: give --expect, or --strict")
    return wanted


def outcomes_of(result: Result | SweepResult, wanted: Sequence[Expectation]) -> list[Outcome]:
    """Outcomes of the expectations."""
    return (
        expectations.of_sweep(result, wanted)
        if isinstance(result, SweepResult)
        else expectations.of_run(result, wanted)
    )


def settle(
    outcomes: Sequence[Outcome],
    warnings: Sequence[Mapping[str, str]],
    *,
    strict: bool,
    junit: Path | None,
    suite: str,
    quiet: bool = False,
) -> None:
    """Writes the XML, prints what failed, and ends with exit code 1 if anything did; `quiet`: nothing if nothing did."""
    wrong = list(warnings) if strict else []
    if junit is not None:
        expectations.write_junit(junit, expectations.junit(outcomes, suite, wrong))
    failed = [outcome for outcome in outcomes if not outcome.met]
    if failed:
        table = Table(
            title=f"{len(failed)} of {len(outcomes)} expectations failed",
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
        )
        for heading in ("expected", "at", "found"):
            table.add_column(heading, overflow="fold")
        for outcome in failed:
            table.add_row(escape(outcome.expectation.text), escape(outcome.point) or "–", escape(outcome.found))
        Console(stderr=True, width=options.width_of(sys.stderr)).print(table)
    elif outcomes and not quiet:
        messages.print(
            "the expectation is met" if len(outcomes) == 1 else f"all {len(outcomes)} expectations are met", style="dim"
        )
    if wrong:
        messages.print(f"error: {counted(len(wrong), 'warning')}; --strict makes warnings errors:", markup=False)
        for warning in wrong[:10]:
            messages.print(f"  {warning['message']}", markup=False)
    if failed or wrong:
        raise typer.Exit(1)


def check(
    scenarios: list[Path] = typer.Argument(
        ..., metavar="SCENARIO...", help="Scenario files; - is standard input.", show_default=False
    ),
    set: list[str] | None = typer.Option(
        None,
        "--set",
        metavar="PATH=VALUE",
        help='Override a setting, as in --set link.satellite.delay="120 ms".',
        autocompletion=options.setting_paths,
    ),
    strict: bool = typer.Option(False, "--strict", help="Warnings are errors: exit with 1."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
    quiet: bool = typer.Option(False, "--quiet", "-q", help="Print nothing but errors and warnings."),
) -> None:
    """Check scenario files without a run: all errors of each, and what its settings are warned of; exit code 1 if one is wrong."""
    from .. import vetting

    changes = options.settings(set)
    found = [vetting.vet(path, changes) for path in scenarios]
    if as_json:
        typer.echo(json_text({"files": [one.to_dict() for one in found]}), nl=False)
    else:
        for one in found:
            for error in one.errors:
                messages.print(f"error: {error}", markup=False, highlight=False)
            for warning in one.warnings:
                messages.print(f"warning: {one.path}: {warning}", markup=False, highlight=False)
            if not one.errors and not quiet:
                typer.echo(f"{one.path}: {one.verdict}")
    wrong = [one for one in found if one.errors or (strict and one.warnings)]
    if wrong:
        if len(found) > 1 and not as_json and not quiet:
            typer.echo(f"{len(wrong)} of {counted(len(found), 'file')} are wrong")
        raise typer.Exit(1)


def diff(
    first: Path = typer.Argument(..., help="Result directory, for instance of the last release.", show_default=False),
    second: Path = typer.Argument(..., help="Result directory of the same scenario or sweep.", show_default=False),
    tolerance: str = typer.Option("0", "--tolerance", help="Differences up to this share are none, as in 2% or 0.02."),
    metrics: str | None = typer.Option(None, "--metrics", metavar="A,B", help="Only these metrics."),
    limit: int = typer.Option(30, "--limit", min=1, help="At most this many rows."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List every metric that differs between two runs or two sweeps, what matters most first; exit code 1 if there is one."""
    from .. import regression

    share = read_share(tolerance)
    results = load(first), load(second)
    found, compared = regression.changes(*results, share, options.metrics(metrics))
    if as_json:
        rows: list[dict[str, Any]] = [
            {
                "point": one.point,
                "metric": one.metric,
                "first": one.first,
                "second": one.second,
                "relative": one.relative,
            }
            for one in found
        ]
        typer.echo(json_text({"compared": compared, "tolerance": share, "changes": rows}), nl=False)
    elif found:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        points = any(one.point for one in found)
        for heading in (*(["at"] if points else []), "metric", "first", "second", "difference"):
            table.add_column(heading, overflow="fold")
        ordered = regression.once(found, results)
        for one in ordered[:limit]:
            change = "–" if one.relative is None else f"{100 * one.relative:+.2f} %"
            table.add_row(
                *([escape(one.point) or "–"] if points else []),
                one.metric,
                quantity(one.first, one.unit),
                quantity(one.second, one.unit),
                change,
            )
        options.output().print(table)
        text = f"{len(found)} of {counted(compared, 'value')} differ by more than {quantity(share, 'share')}"
        if len(ordered) < len(found):
            text += f"; {len(ordered)} without repetitions (a flow that is alone in its group has the group's values)"
        if len(ordered) > limit:
            text += f"; {limit} are shown (--limit)"
        typer.echo(text)
    else:
        typer.echo(f"no difference beyond {quantity(share, 'share')} in {counted(compared, 'value')}")
    if found:
        raise typer.Exit(1)


def read_share(text: str) -> float:
    """A share as a number or in per cent.

    >>> read_share("2%"), read_share("0.02")
    (0.02, 0.02)
    """
    plain = text.strip()
    try:
        share = float(plain.removesuffix("%")) / (100 if plain.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 10:
        raise UsageError(f"--tolerance {text!r}: write a share, as in 2% or 0.02")
    return share
