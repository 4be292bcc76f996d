"""`longhaul plot`, `longhaul report` and `longhaul draw`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import typer

from .. import confined, document, drawing, inventory, load, outputs, plots, suites, tables
from ..errors import LonghaulError, OutputError, PlotError
from ..explain import content_of
from ..progress import of_report
from ..sweep import SweepResult
from . import options

#: So many other metrics of a sweep are named.
_NAMED = 8
FORCE = typer.Option(False, "--force", help="Replace also what was changed since Longhaul wrote it.")
RESULT = typer.Argument(..., help="Result directory of a run or a sweep.", show_default=False)


def plot(
    result: Path = RESULT,
    kind: list[str] | None = typer.Option(
        None,
        "--kind",
        "-k",
        help=f"Figures: {', '.join(plots.KINDS)}; of a sweep: names of metrics; may be repeated, or a list with commas  [default: all of a run; of a sweep the first metric of its table]",
        show_default=False,
        autocompletion=options.starting_with(lambda: plots.KINDS),
    ),
    everything: bool = typer.Option(False, "--all", help="Of a sweep: a figure for each metric."),
    format: list[str] | None = typer.Option(
        None,
        "--format",
        metavar="png|pdf|svg|pgf",
        help="Formats; may be repeated, or a list with commas. PGF code is for LaTeX, and takes the document's font  [default: png]",
        show_default=False,
        autocompletion=options.starting_with(lambda: plots.FORMATS),
    ),
    png: bool = typer.Option(False, "--png", help="The same as --format png."),
    pdf: bool = typer.Option(False, "--pdf", help="The same as --format pdf."),
    svg: bool = typer.Option(False, "--svg", help="The same as --format svg."),
    style: str | None = typer.Option(
        None,
        "--style",
        metavar="ieee|acm",
        help="For a paper: width of a column, font and size of IEEE's or ACM's class.",
    ),
    width: str | None = typer.Option(
        None, "--width", metavar="3.4in", help="For a paper: the width, in in, cm, mm or TeX's pt (\\the\\columnwidth)."
    ),
    height: str | None = typer.Option(None, "--height", metavar="2in", help="For a paper: the height."),
    font: str | None = typer.Option(
        None, "--font", metavar="Times", help="For a paper: the font; one that looks like it where it is missing."
    ),
    size: float | None = typer.Option(
        None, "--size", metavar="8", help="For a paper: the size of all texts, in points."
    ),
    title: bool | None = typer.Option(
        None,
        "--title/--no-title",
        help="For a paper: with a title, or without, as --style has it; the caption of a paper is one.",
        show_default=False,
    ),
    flows: str | None = typer.Option(
        None, "--flows", metavar="0,3,NAME", help="Only these flows or groups, by number or name."
    ),
    start: float | None = typer.Option(None, "--from", help="Only from this time, in s."),
    end: float | None = typer.Option(None, "--to", help="Only up to this time, in s."),
    over: str | None = typer.Option(None, "--over", help="Of a sweep: the parameter on the x axis."),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Directory for the figures  [default: RESULT/plots]", show_default=False
    ),
    force: bool = FORCE,
    dpi: int = typer.Option(160, "--dpi", min=30, max=1200, help="Resolution of PNG files."),
) -> None:
    """Draw figures of a result."""
    confined.check_tables()
    loaded = load(result)
    wanted_kinds = options.words(kind)
    formats = [options.one_of("--format", name, plots.FORMATS) for name in options.words(format)]
    formats += [name for name, wanted in (("png", png), ("pdf", pdf), ("svg", svg)) if wanted and name not in formats]
    formats = formats or ["png"]
    paper = None
    if any(one is not None for one in (style, width, height, font, size, title)) or "pgf" in formats:
        from ..plots.paper import Paper

        paper = Paper.of(style, width, height, font, size, title)
        if paper.note:
            options.messages.print(f"note: {paper.note}", markup=False)
    if everything and wanted_kinds:
        raise PlotError("--all draws every figure: leave out --kind")
    # Which figures are Longhaul's is listed in the result, or in the folder that is named.
    root, inside = (out, "") if out else (result, "plots/")
    if isinstance(loaded, SweepResult):
        loaded.check()
        draws = partial(loaded.plot, parameter=over, paper=paper)
        kinds = wanted_kinds or _metrics(loaded, everything)
    else:
        view = plots.View(flows=options.flows(flows, loaded.summary["flows"]), start=start, end=end)
        unknown = [name for name in wanted_kinds if name not in plots.KINDS]
        if unknown:
            raise PlotError(f"no figure {unknown[0]!r}; the figures are {', '.join(plots.KINDS)}")
        if not wanted_kinds and not loaded.has_tables:
            held = ",".join(plots.kinds_for(loaded))
            raise PlotError(
                f"{result / 'flows.parquet'} is missing: the run was made without time series, or the file was deleted;"
                f" --kind {held} draws what the summary holds"
            )
        draws = partial(plots.draw, loaded, view=view, paper=paper)
        kinds = wanted_kinds or plots.kinds_for(loaded)
    figures = [(name, draws(name)) for name in kinds]
    for name, figure in figures:
        for ending in formats:
            data = plots.figure_bytes(figure, ending, dpi)
            typer.echo(str(inventory.put(root, f"{inside}{name}.{ending}", data, force=force)))


def _metrics(sweep: SweepResult, everything: bool) -> list[str]:
    """The metrics of a sweep that are drawn if none is chosen: the first of its table, or all of the whole run."""
    whole = [metric for metric in sweep.metrics if "." not in metric]
    if everything:
        return whole
    chosen, *others = tables.first_metrics(sweep)
    more = [metric for metric in dict.fromkeys([*others, *whole]) if metric != chosen]
    if more:
        named = ", ".join(more[:_NAMED]) + (", …" if len(more) > _NAMED else "")
        options.messages.print(
            f"{chosen} is drawn; others by --kind: {named}; all {len(more) + 1}: --all", markup=False
        )
    return [chosen]


def report(
    result: Path = RESULT,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="HTML file  [default: RESULT/report.html]", show_default=False
    ),
    force: bool = FORCE,
    explain: bool | None = typer.Option(
        None,
        "--explain/--no-explain",
        help="Test what limits the flows of a run, for at most 30 s, and begin with that; by default if it takes less than 1.4 s of processor time.",
        show_default=False,
    ),
    baseline: list[str] | None = options.BASELINE,
) -> None:
    """Write one HTML file with the topology, the numbers and the figures; it opens without a network."""
    beside = options.baseline(baseline)
    confined.check_tables()
    loaded = load(result)
    if beside and not isinstance(loaded, SweepResult):
        raise LonghaulError("--baseline is for the points of a sweep; two runs: longhaul compare RESULT RESULT")
    if isinstance(loaded, SweepResult):
        loaded.check()
        if explain:
            raise LonghaulError(
                "--explain: a sweep has no one cause; explain the run of a point: longhaul explain RESULT"
            )
    with of_report(options.messages, True) as drawing:
        place = out or result / "report.html"
        if isinstance(loaded, SweepResult):
            file = loaded.report(place, drawing, baseline=beside, force=force)
        else:
            file = loaded.report(
                place, drawing, force=force, explain_s=None if explain is None else 30.0 if explain else 0.0
            )
    typer.echo(str(file))


def draw(
    what: Path = typer.Argument(
        ..., metavar="FILE|RESULT", help="Scenario file, or the result directory of a run.", show_default=False
    ),
    out: Path | None = typer.Option(
        None,
        "--out",
        "-o",
        help="SVG file  [default: NAME.svg here, of a result RESULT/plots/network.svg]",
        show_default=False,
    ),
    upright: bool = typer.Option(False, "--upright", help="Data go downwards: for narrow columns and screens."),
    set: list[str] | None = options.SET_FIRST,
    force: bool = FORCE,
) -> None:
    """Draw the network as SVG: hosts, links, flows on their way, proxies; of a result also what is in use and what limits."""
    if what.is_dir() or not (what.exists() or what.suffix == ".toml"):
        loaded = load(what)
        if set:
            raise LonghaulError("--set is for scenario files; this result was run already")
        if suites.is_result(what):
            raise LonghaulError(
                f"{what} is of a suite, with a network for each situation; draw that of a run, in {what / 'runs'}"
            )
        # Of a sweep, the scenario that its points have in common.
        made = (
            drawing.of_document(document.read(what / "scenario.toml"))
            if isinstance(loaded, SweepResult)
            else drawing.of_result(loaded, content_of(loaded))
        )
        place = out or (loaded.path or what) / "plots" / "network.svg"
    else:
        made = drawing.of_document(document.read(what), options.settings(set))
        place = out or Path(f"{what.stem}.svg")
    if place.suffix != ".svg":
        raise OutputError(f"{place}: the drawing is SVG; name a file that ends in .svg")
    typer.echo(str(outputs.write(place, made.svg(upright=upright), force=force)))


#: What a table can be of, and how it can be written.
_OF = ("flows", "groups", "links", "run", "points")


def table(
    result: Path = RESULT,
    of: str | None = typer.Option(
        None,
        "--of",
        metavar="|".join(_OF),
        help="What has a row: flows, groups or links of a run, its metrics, or points of a sweep.",
        show_default=False,
    ),
    format: str = typer.Option(
        "markdown", "--format", metavar="|".join(options.TABLES), help="How the table is written; LaTeX needs booktabs."
    ),
    metrics: list[str] | None = typer.Option(
        None,
        "--metric",
        "-m",
        help="Of a sweep: these metrics; may be repeated, or a list with commas.",
        show_default=False,
    ),
) -> None:
    """Print the numbers of a result as a table for papers and notes."""
    options.one_of("--format", format, options.TABLES)
    loaded = load(result)
    if isinstance(loaded, SweepResult):
        loaded.check()
        options.one_of("--of for a sweep", of or "points", ("points",))
        made = tables.cell_table(loaded, options.words(metrics) or tables.report_metrics(loaded))
        names = len(tables.varied(loaded))
    else:
        kind = options.one_of("--of for a run", of or "flows", _OF[:-1])
        made = tables.run_table(loaded) if kind == "run" else tables.object_table(loaded, kind, short=True)
        names = 1
    typer.echo(options.written(made, format, names), nl=False)
