"""`longhaul reproduce STUDY --emulated`: experiments with real packets, compared with the same scenarios simulated."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from longhaul import study as lab
from longhaul.cli import options
from longhaul.cli.options import messages, new_table
from longhaul.errors import LonghaulError
from longhaul.files import json_text
from longhaul.naming import only
from longhaul.study import Request
from rich.markup import escape

from . import names, writing
from .command import STYLES
from .drawing import draw_all
from .emulation import Bench, Emulated, RealCase, check_permitted, find_emulator, simulated
from .judging import judge
from .model import Study
from .results import EMULATED, Results
from .verdict import Judgement, median
from .writing import Outcome

#: Emulators at once: each needs little of a processor, since its links are slow.
_JOBS = 4


def reproduce(simulated_study: Study, request: Request) -> None:
    """Runs what is missing, judges, draws, writes, prints."""
    if simulated_study.emulated is None:
        raise LonghaulError(
            f"the study {simulated_study.name} has no emulated experiments; the study {_those_with()} has them"
        )
    real = simulated_study.emulated()
    study = real.study
    scale = only(request.scale, list(real.scales), "scale of the emulated study")
    wanted = names.experiments(study, request.figure) if request.figure else None
    cases = [case for case in real.cases(scale) if wanted is None or case.experiment in wanted]
    if request.contents:
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
    outcomes = [
        _outcome(study, simulated(cases, out / "simulated", "simulated")),
        _outcome(study, bench.results(cases, EMULATED)),
    ]
    _write(real, outcomes, _how(bench, cases, failures), out / scale)
    for outcome in outcomes:
        writing.write_json(outcome, out / scale / f"targets-{outcome.scale}.json")
    if request.document:
        _write(real, outcomes, _how(bench, cases, failures), request.document)
    if request.as_json:
        typer.echo(json_text({one.scale: writing.as_json(one) for one in outcomes}), nl=False)
    elif not request.quiet:
        _print(outcomes)
        for text in _not_run(bench, cases, failures):
            typer.echo(f"not run: {text}")
        typer.echo(f"document: {out / scale / (study.name + '.md')}")


def _those_with() -> str:
    """The studies that have emulated experiments."""
    found = [(name, lab.find(name)) for name in lab.names()]
    return ", ".join(name for name, study in found if isinstance(study, Study) and study.emulated)


def _outcome(study: Study, results: Results) -> Outcome:
    return Outcome(study, results, judge(study, results), draw_all(study, results))


def _write(real: Emulated, outcomes: Sequence[Outcome], how: str, directory: Path) -> None:
    study = real.study
    emulated = outcomes[-1].results
    sections = {"Conditions": how}
    sections |= {heading: table(emulated) for heading, table in real.tables.items()}
    directory.mkdir(parents=True, exist_ok=True)
    writing.write_markdown(
        outcomes, directory / f"{study.name}.md", directory / study.name, sections=sections, with_costs=False,
        command=f"longhaul reproduce {study.name.removesuffix('-emulated')} --emulated",
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
        f"{len(measured)} of {len(cases)} runs were made, on {os.cpu_count()} processors under other load (load average {min(loads):.0f} to {max(loads):.0f}): with {_kernels(measured)}."
        f" In the median of the runs 99 % of the packets were at most {1000 * median(late):.2f} ms late, in the worst run {1000 * max(late):.2f} ms."
        f" Runs with more than {bench.max_lateness} are INVALID: {'; '.join(invalid) or 'none'}.{not_run}"
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
        runs.setdefault(kernel, []).append(f"{_named(case)} ({1000 * metrics['lateness_p99_s']:.2f} ms)")
    first, *others = sorted(runs, key=lambda kernel: -len(runs[kernel]))
    return f"kernel {first}" + "".join(f", and with kernel {kernel} {', '.join(runs[kernel])}" for kernel in others)


def _named(case: RealCase) -> str:
    run = f", run {case.number}" if case.number > 1 else ""
    return f"{case.experiment} {', '.join(map(str, case.parameters.values()))}{run}"


def _print_cases(cases: Sequence[RealCase]) -> None:
    table = new_table("Experiment", "Point", "Cannot be run")
    for case in cases:
        point = ", ".join(f"{name} {value}" for name, value in case.parameters.items())
        table.add_row(*(escape(cell) for cell in (case.experiment, point, case.missing() or "")))
    options.output().print(table)


def _print(outcomes: Sequence[Outcome]) -> None:
    table = new_table("Target", "Paper", "Simulated", "Emulated", "Verdict")
    for simulated_, emulated in zip(*(outcome.judged for outcome in outcomes), strict=True):
        target = emulated.target
        reason = f" ({emulated.reason})" if emulated.reason else ""
        cells = (target.id, target.paper, _measured(simulated_.judgement), _measured(emulated.judgement) + reason)
        verdict = f"[{STYLES[emulated.verdict]}]{emulated.verdict}[/]"
        table.add_row(*(escape(cell) for cell in cells), verdict)
    options.output().print(table)
    typer.echo(writing.summary(outcomes[-1].judged))


def _measured(judgement: Judgement) -> str:
    return "-" if judgement.verdict == "not run" else judgement.measured
