"""`longhaul profile`: from a measurement to a link that behaves like it."""

from __future__ import annotations

from pathlib import Path

import typer

from .options import UsageError, messages

#: What dishes call a latency that is the mean of the last 15 s.
_OF_DISH = "pop_ping_latency"
_MEASURED = "FILE, or FILE,column=NAME,scale=0.5,every=1 s with the settings of a measured link."


def profile(
    files: list[str] | None = typer.Argument(
        None,
        metavar="[FILE...]",
        help="Files of irtt or ping (delay and loss), of iperf3 or Mahimahi (rate down).",
        show_default=False,
    ),
    down: str | None = typer.Option(None, "--down", metavar="FILE", help=f"Rate towards the terminal: {_MEASURED}"),
    up: str | None = typer.Option(None, "--up", metavar="FILE", help="Rate from the terminal."),
    delay: str | None = typer.Option(
        None, "--delay", metavar="FILE", help="Delay one way; of a table of round trips with scale=0.5."
    ),
    loss: str | None = typer.Option(None, "--loss", metavar="FILE", help="Loss, of probes there and back."),
    slot: str | None = typer.Option(
        None,
        "--slot",
        metavar="TIME",
        help="The network assigns capacity anew so often, as in --slot '15 s' for Starlink; without it the time follows from the delays.",
    ),
    mean: bool = typer.Option(
        False, "--mean", help=f"Delays are means of the last slot; a dish's {_OF_DISH} is taken so by itself."
    ),
    like: str | None = typer.Option(
        None, "--like", metavar="PROFILE", help="What is not measured comes from this profile (longhaul list profiles)."
    ),
    skip: str | None = typer.Option(
        None, "--skip", metavar="TIME", help="Leave out the begin of each file, a start-up."
    ),
    out: Path | None = typer.Option(
        None, "--out", "-o", metavar="FILE", help="Write the scenario here  [default: print it]", show_default=False
    ),
    figure: Path | None = typer.Option(
        None, "--figure", metavar="FILE", help="Draw model beside measurement, as PNG, PDF or SVG.", show_default=False
    ),
    force: bool = typer.Option(False, "--force", help="Replace files that are there."),
) -> None:
    """Fit a link to a measurement: print or write a scenario with it, and how well it fits.

    A replay of the measurement itself is a link's `trace`; a fit goes on where the measurement ends, differently with each seed.
    """
    from .. import fitting
    from ..errors import LonghaulError

    if not (files or down or up or delay or loss):
        raise UsageError("name a file: longhaul profile ping.txt iperf3.json, or --delay, --down, --up, --loss")
    for place in (out, figure):
        if place and place.exists() and not force:
            raise LonghaulError(f"{place} is there; --force replaces it")
    if figure and figure.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise UsageError(f"--figure {figure}: the name ends in .png, .pdf or .svg")
    slot_s, skip_s = fitting.seconds_of("--slot", slot), fitting.seconds_of("--skip", skip) or 0.0
    measured, sources = fitting.Measured(), [one for one in (down, up, delay, loss) if one]
    for file in files or ():
        sources.append(file)
        kind = fitting.kind_of(file)
        if kind == "rate":
            down = _once(down, file, "the rate down (--up FILE for the other)")
        else:
            delay, loss = _once(delay, file, "the delay"), loss or file
    if delay and _OF_DISH in str(fitting.settings_of(delay).get("column", "")):
        mean, slot_s = True, slot_s or 15.0
    if mean and not slot_s:
        raise UsageError("--mean goes with --slot: delays are means of the last slot")
    if down:
        measured.down = fitting.read(down, "rate", skip_s, slot_s, measured.notes)[0]
    if up:
        measured.up = fitting.read(up, "rate", skip_s, slot_s, measured.notes)[0]
    if delay:
        measured.delay = fitting.read(delay, "delay", skip_s, slot_s, measured.notes)[0]
    if loss:
        measured.losses, measured.mean_loss = fitting.losses(loss)
    if mean:
        measured.notes.append(
            "delays are means of the last slot: jitter within a slot is not seen, and not in the model"
        )
    found = fitting.fit(measured, slot_s, mean, like)
    text = found.text([Path(one.split(",")[0]).name for one in sources])
    if figure:
        fitting.draw(found, figure)
        messages.print(f"figure: {figure}", markup=False)
    if out is None:
        typer.echo(text, nl=False)
        lines = []
    else:
        from ..files import write_atomically

        write_atomically(out, text)
        lines = [line for one in found.scores for line in fitting.lines_of(one)] + found.notes()
    for line in lines:
        messages.print(line, markup=False, highlight=False)
    for line in found.warnings():
        messages.print(line, markup=False, highlight=False, style="bold red")
    if out is None:
        return
    typer.echo(f"{out}: longhaul run {out} --report")
    if found.scores:
        messages.print(found.verdict(), markup=False, highlight=False, style="bold")


def _once(given: str | None, file: str, what: str) -> str:
    if given:
        raise UsageError(f"{given} and {file} both have {what}")
    return file
