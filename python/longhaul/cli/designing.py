"""`longhaul design asymmetric`: what to set on a lopsided satellite path, by formula and simulated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich import box
from rich.table import Table

from ..outputs import json_text
from .options import UsageError, messages, one_of, output

#: What can be designed.
KINDS = ("asymmetric",)


def design(
    kind: str = typer.Argument(..., help="What to design: asymmetric.", show_default=False),
    down: str = typer.Option(..., "--down", metavar="54Mbit/s", help="Rate of the satellite.", show_default=False),
    up: str = typer.Option(..., "--up", metavar="9600baud", help="Speed of the return line.", show_default=False),
    rtt: str = typer.Option(..., "--rtt", metavar="600ms", help="Round trip time without load.", show_default=False),
    backbone: float = typer.Option(
        5000.0, "--backbone", min=1.0, help="Bytes per second of ACKs that a shared return backbone gives each client."
    ),
    dormancy: str = typer.Option(
        "5 s", "--dormancy", help="Longest acceptable silence after a fade on a plant of your own."
    ),
    no_run: bool = typer.Option(False, "--no-run", help="Formulas only; simulate nothing."),
    scenarios: Path | None = typer.Option(
        None, "--scenarios", metavar="DIR", help="Write the scenario of each design into this directory."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """List settings for an asymmetric satellite path, design by design, with the rate by formula and the simulated rate."""
    from .. import designs
    from ..asymmetric import KB

    one_of("the kind of design", kind, KINDS)
    path = designs.Path(
        _read("--down", down, "bit/s"),
        _read("--up", up.replace("baud", " bit/s"), "bit/s"),
        _read("--rtt", rtt, "s"),
        backbone,
        _read("--dormancy", dormancy, "s"),
    )
    rows = []
    for chosen in designs.all_designs(path):
        simulated = None
        if scenarios is not None:
            _write(scenarios / f"design-{chosen.id}.toml", designs.scenario(chosen, path).to_toml())
        if not no_run:
            messages.print(f"simulating design {chosen.id}", style="dim")
            simulated = designs.simulated_rate(designs.simulate(chosen, path))
        rows.append((chosen, simulated))
    if as_json:
        typer.echo(
            json_text([_as_json(chosen, simulated, designs.gain(chosen, path)) for chosen, simulated in rows]), nl=False
        )
        return
    table = Table(
        title=f"{down} down, {up} up, {rtt}; kB are 1024 bytes",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("", no_wrap=True)
    for chosen, _ in rows:
        table.add_column(chosen.id, justify="right", no_wrap=True)
    for label, text in _LINES.items():
        table.add_row(label, *(text(chosen) for chosen, _ in rows))
    table.add_row("simulated (kB/s)", *("-" if rate is None else f"{rate / KB:.1f}" for _, rate in rows))
    table.add_row("gain", *(f"{designs.gain(chosen, path):.1f}" for chosen, _ in rows))
    output().print(table)
    for chosen, _ in rows:
        typer.echo(f"{chosen.id}  {chosen.name}: {chosen.note}")


#: One line of the table for each setting.
_LINES: dict[str, Callable[[Any], str]] = {
    "ACKs on the line": lambda d: (
        "VJ" if d.compression else "batches" if d.compaction else "reports" if d.paced else "plain"
    ),
    "least line (baud)": lambda d: f"{d.least_baud:,.0f}" if d.least_baud else "-",
    "throttle (kB/s)": lambda d: f"{d.throttle / 1024:.1f}" if d.throttle else "-",
    "window (kB)": lambda d: f"{d.window / 1024:.1f}" if d.window else "-",
    "window scaling": lambda d: "on" if d.scaled else "-",
    "congestion": lambda d: d.congestion if d.window else "-",
    "serial queue": lambda d: str(d.queue) if d.window else "-",
    "min RTO (s)": lambda d: f"{d.min_rto:g}" if d.window else "-",
    "clearing time (s)": lambda d: f"{d.clearing:.1f}" if d.clearing else "-",
    "by formula (kB/s)": lambda d: f"{d.rate / 1024:.1f}",
}


def _read(option: str, text: str, unit: str) -> float:
    """A positive quantity."""
    from ..units import read_quantity

    found = read_quantity(text.strip())
    if found is None or found[1] != unit or not found[0] > 0:
        example = {"bit/s": '"54 Mbit/s" or, for a line, "9600 baud"', "s": '"600 ms"'}[unit]
        raise UsageError(f"{option} {text!r}: write a number over 0 with its unit, as in {example}")
    return found[0]


def _write(path: Path, text: str) -> None:
    from ..outputs import write_atomically

    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, text.encode())


def _as_json(chosen: Any, simulated: float | None, gain: float) -> dict[str, Any]:
    return {
        "id": chosen.id,
        "name": chosen.name,
        "compression": chosen.compression,
        "compaction": chosen.compaction,
        "paced": chosen.paced,
        "least_baud": chosen.least_baud,
        "throttle_bytes_per_s": chosen.throttle,
        "window_bytes": chosen.window,
        "window_scaling": chosen.scaled,
        "queue_packets": chosen.queue,
        "min_rto_s": chosen.min_rto,
        "congestion": chosen.congestion,
        "clearing_time_s": chosen.clearing,
        "predicted_bytes_per_s": chosen.rate,
        "simulated_bytes_per_s": simulated,
        "gain": gain,
        "note": chosen.note,
    }
