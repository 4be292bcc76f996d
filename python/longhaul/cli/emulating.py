"""`longhaul reproduce STUDY --emulated`: experiments with real packets, compared with the same scenarios simulated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from .. import outputs
from ..errors import LonghaulError
from ..studies import names, writing
from ..studies.asymmetric import emulated as asymmetric
from ..studies.drawing import draw_all
from ..studies.emulation import Bench, RealCase, check_permitted, find_emulator, simulated
from ..studies.judging import judge
from ..studies.results import Results
from ..studies.verdict import Judgement, median
from ..studies.writing import Outcome
from . import options, studying
from .options import messages

#: Emulators at once: each needs little of a processor, since its links are slow.
_JOBS = 4


def reproduce(request: studying.Request) -> None:
    """Runs what is missing, judges, draws, writes, prints."""
    if names.nearest(request.study, list(names.STUDIES), "study") != "asymmetric":
        raise LonghaulError(f"the study {request.study} has no emulated experiments; the study asymmetric has them")
    study = asymmetric.STUDY
    scale = names.nearest(request.scale, list(asymmetric.SCALES), "scale of the emulated study")
    wanted = names.experiments(study, request.figure) if request.figure else None
    cases = [case for case in asymmetric.cases(scale) if wanted is None or case.experiment in wanted]
    if request.list:
        _print_cases(cases)
        return
    out = request.out or Path("results") / study.name
    emulator = Path("unused") if request.no_run else find_emulator(request.emulator)
    bench = Bench(out / "runs", emulator, jobs=request.jobs or _JOBS)
    failures: Mapping[str, str] = {}
    if not request.no_run:
        check_permitted()
        tell = (
            (lambda _: None)
            if request.quiet or request.as_json
            else (lambda text: messages.print(text, style="dim", markup=False))
        )
        failures = bench.run(cases, tell)
    outcomes = [_outcome(simulated(cases, out / "simulated", "simulated")), _outcome(bench.results(cases, "emulated"))]
    _write(outcomes, _how(bench, cases, failures), out / scale)
    for outcome in outcomes:
        writing.write_json(outcome, out / scale / f"targets-{outcome.scale}.json")
    if request.document:
        _write(outcomes, _how(bench, cases, failures), request.document)
    if request.as_json:
        typer.echo(outputs.json_text({one.scale: writing.as_json(one) for one in outcomes}), nl=False)
    elif not request.quiet:
        _print(outcomes)
        for text in _not_run(bench, cases, failures):
            typer.echo(f"not run: {text}")
        typer.echo(f"document: {out / scale / (study.name + '.md')}")


def _outcome(results: Results) -> Outcome:
    study = asymmetric.STUDY
    return Outcome(study, results, judge(study, results), draw_all(study, results))


def _write(outcomes: Sequence[Outcome], how: str, directory: Path) -> None:
    study = asymmetric.STUDY
    emulated = outcomes[-1].results
    sections = {"Conditions": how}
    sections |= {heading: table(emulated) for heading, table in asymmetric.TABLES.items()}
    directory.mkdir(parents=True, exist_ok=True)
    writing.write_markdown(
        outcomes, directory / f"{study.name}.md", directory / study.name, sections=sections, with_costs=False,
        command="longhaul reproduce asymmetric --emulated --document",
    )  # fmt: skip


def _how(bench: Bench, cases: Sequence[RealCase], failures: Mapping[str, str]) -> str:
    """Machine, kernels, lateness of packets, missing runs with their reasons."""
    measured = {case: found for case in cases if (found := bench.measured(case)) is not None}
    missing = _not_run(bench, cases, failures)
    not_run = f" Not run: {'; '.join(missing)}." if missing else ""
    if not measured:
        return f"No runs.{not_run}"
    late = [found["emulation"]["metrics"]["lateness_p99_s"] for found in measured.values()]
    loads = [found["load"] for found in measured.values()]
    invalid = [_named(case) for case, found in measured.items() if found["emulation"]["invalid"]]
    return (
        f"{len(measured)} runs of {len(cases)} with {_kernels(measured)} on {os.cpu_count()} processors, under other load (load average {min(loads):.0f} to"
        f" {max(loads):.0f}). The lateness of 99 % of a run's packets was at most {1000 * median(late):.2f} ms (median of the runs; the worst: {1000 * max(late):.2f} ms)."
        f" Runs are INVALID with more than {bench.max_lateness}: {'; '.join(invalid) or 'none'}.{not_run}"
    )


def _not_run(bench: Bench, cases: Sequence[RealCase], failures: Mapping[str, str]) -> list[str]:
    """Missing runs with their reasons."""
    return [
        f"{_named(case)} ({failures.get(case.identity) or case.missing() or 'not yet'})"
        for case in cases
        if not bench.done(case)
    ]


def _kernels(measured: Mapping[RealCase, Mapping[str, Any]]) -> str:
    """The kernels that made the runs: that of most of them, and the others with theirs."""
    runs: dict[str, list[str]] = {}
    for case, found in measured.items():
        metrics = found["emulation"]["metrics"]
        # A command's run has it among its counts.
        kernel = found["emulation"].get("kernel") or metrics["kernel"]
        runs.setdefault(kernel, []).append(f"{_named(case)}, 99 % at most {1000 * metrics['lateness_p99_s']:.2f} ms")
    first, *others = sorted(runs, key=lambda kernel: -len(runs[kernel]))
    return f"kernel {first}" + "".join(f", and with kernel {kernel} ({'; '.join(runs[kernel])})" for kernel in others)


def _named(case: RealCase) -> str:
    return f"{case.experiment} {', '.join(map(str, case.parameters.values()))}"


def _print_cases(cases: Sequence[RealCase]) -> None:
    table = studying.new_table("Experiment", "Point", "Cannot be run")
    for case in cases:
        point = ", ".join(f"{name} {value}" for name, value in case.parameters.items())
        table.add_row(*(escape(cell) for cell in (case.experiment, point, case.missing() or "")))
    options.output().print(table)


def _print(outcomes: Sequence[Outcome]) -> None:
    table = studying.new_table("Target", "Paper", "Simulated", "Emulated", "Verdict")
    for simulated_, emulated in zip(*(outcome.judged for outcome in outcomes), strict=True):
        target = emulated.target
        reason = f" ({emulated.reason})" if emulated.reason else ""
        cells = (target.id, target.paper, _measured(simulated_.judgement), _measured(emulated.judgement) + reason)
        verdict = f"[{studying.STYLES[emulated.verdict]}]{emulated.verdict}[/]"
        table.add_row(*(escape(cell) for cell in cells), verdict)
    options.output().print(table)
    typer.echo(writing.summary(outcomes[-1].judged))


def _measured(judgement: Judgement) -> str:
    return "-" if judgement.verdict == "not run" else judgement.measured
