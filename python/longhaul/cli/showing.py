"""`longhaul plot`, `longhaul report` and `longhaul draw`."""

from __future__ import annotations

from pathlib import Path

import typer

from .. import confined, document, drawing, inventory, load, outputs, plots, tables
from ..errors import LonghaulError, OutputError, PlotError
from ..explain import content_of
from ..plots import look
from ..progress import of_report
from ..sweep import SweepResult
from . import options

FORCE = typer.Option(False, "--force", help="Replace also what was changed since Longhaul wrote it.")
RESULT = typer.Argument(..., help="Result directory of a run or a sweep.", show_default=False)


def plot(
    result: Path = RESULT,
    kind: list[str] | None = typer.Option(
        None,
        "--kind",
        "-k",
        help=f"Figures: {', '.join(plots.KINDS)}; of a sweep: names of metrics, or all; may be repeated, or a list with commas  [default: all of a run; of a sweep the one that its report begins with]",
        show_default=False,
        autocompletion=options.starting_with(lambda: plots.KINDS),
    ),
    png: bool = typer.Option(False, "--png", help="Save as PNG (the default)."),
    pdf: bool = typer.Option(False, "--pdf", help="Save as PDF, for papers."),
    svg: bool = typer.Option(False, "--svg", help="Save as SVG."),
    format: list[str] | None = typer.Option(
        None,
        "--format",
        metavar="FORMAT",
        help=f"Formats: {', '.join(plots.FORMATS)}; may be repeated, or a list with commas.",
        show_default=False,
    ),
    style: str = typer.Option(
        "",
        "--style",
        metavar="ieee|acm",
        help="Column width, font and size of a paper, no title, the legend inside.",
        show_default=False,
    ),
    width: str = typer.Option(
        "",
        "--width",
        metavar="3.4in",
        help="Width of the figure (in, mm, cm, pt); the legend then stands inside.",
        show_default=False,
    ),
    height: str = typer.Option("", "--height", metavar="2in", help="Its height.", show_default=False),
    font: str = typer.Option(
        "", "--font", metavar="NAME", help="A font that is installed, as in --font Times.", show_default=False
    ),
    size: float | None = typer.Option(None, "--size", metavar="POINTS", help="Size of its texts.", show_default=False),
    title: bool | None = typer.Option(
        None, "--title/--no-title", help="With a title, or without; papers have captions.", show_default=False
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
    formats = [name for name, wanted in (("png", png), ("pdf", pdf), ("svg", svg)) if wanted]
    formats = list(dict.fromkeys([*formats, *options.words(format)])) or ["png"]
    if unknown_formats := [name for name in formats if name not in plots.FORMATS]:
        raise PlotError(f"no format {unknown_formats[0]!r}; the formats are {', '.join(plots.FORMATS)}")
    shown = look.look(style, width, height, font, size, title)
    # Which figures are Longhaul's is listed in the result, or in the folder that is named.
    root, inside = (out, "") if out else (result, "plots/")
    if isinstance(loaded, SweepResult):
        loaded.check()
        kinds = list(wanted_kinds or tables.report_metrics(loaded)[:1])
        if kinds == ["all"]:
            kinds = [metric for metric in loaded.metrics if "." not in metric]
        figures = [(name, loaded.plot(name, over, shown)) for name in kinds]
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
        figures = [(name, plots.draw(loaded, name, view, shown)) for name in wanted_kinds or plots.kinds_for(loaded)]
    for name, figure in figures:
        for kind_of_file in formats:
            data = plots.figure_bytes(figure, kind_of_file, dpi, look=shown)
            typer.echo(str(inventory.put(root, f"{inside}{name}.{kind_of_file}", data, force=force)))


def report(
    result: Path = RESULT,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="HTML file  [default: RESULT/report.html]", show_default=False
    ),
    force: bool = FORCE,
    explain: bool | None = typer.Option(
        None,
        "--explain/--no-explain",
        help="Test what limits the flows of a run, for at most 30 s, and begin with that; by default if it takes less than 5 s.",
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
    set: list[str] | None = typer.Option(
        None,
        "--set",
        metavar="PATH=VALUE",
        help="Override a setting of a scenario file first.",
        autocompletion=options.setting_paths,
    ),
    force: bool = FORCE,
) -> None:
    """Draw the network as SVG: hosts, links, flows on their way, proxies; of a result also what is in use and what limits."""
    if what.is_dir() or not (what.exists() or what.suffix == ".toml"):
        loaded = load(what)
        if isinstance(loaded, SweepResult):
            raise LonghaulError(
                f"{what} is a sweep, of many networks; draw its scenario: longhaul draw {what}/scenario.toml"
            )
        if set:
            raise LonghaulError("--set is for scenario files; this result was run already")
        made = drawing.of_summary(loaded.summary, content_of(loaded))
        place = out or (loaded.path or what) / "plots" / "network.svg"
    else:
        made = drawing.of_document(document.read(what), options.settings(set))
        place = out or Path(f"{what.stem}.svg")
    if place.suffix != ".svg":
        raise OutputError(f"{place}: the drawing is SVG; name a file that ends in .svg")
    typer.echo(str(outputs.write(place, made.svg(upright=upright), force=force)))


#: What a table can be of, and how it can be written.
_OF = ("flows", "groups", "links", "run", "points")
_AS = ("markdown", "latex", "csv")


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
        "markdown", "--format", metavar="|".join(_AS), help="How the table is written; LaTeX needs booktabs."
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
    options.one_of("the format", format, _AS)
    loaded = load(result)
    if isinstance(loaded, SweepResult):
        loaded.check()
        options.one_of("--of for a sweep", of or "points", ("points",))
        made = tables.cell_table(loaded, options.words(metrics) or tables.report_metrics(loaded))
    else:
        kind = options.one_of("--of for a run", of or "flows", _OF[:-1])
        made = tables.run_table(loaded) if kind == "run" else tables.object_table(loaded, kind, short=True)
    write = {"markdown": made.to_markdown, "latex": made.to_latex, "csv": made.to_csv}
    typer.echo(write[format](), nl=False)
