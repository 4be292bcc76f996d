"""`longhaul design asymmetric`: what to set on a lopsided satellite path, by formula and simulated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from longhaul.cli.options import messages, output
from longhaul.files import json_text, write_atomically
from longhaul.study import DesignRequest
from rich import box
from rich.table import Table

from . import designs
from .formulas import KB


def design(request: DesignRequest) -> None:
    """Prints settings, design by design, with the rate by formula and the simulated rate."""
    path = designs.Path(request.down_bps, request.up_baud, request.rtt_s, request.backbone, request.dormancy_s)
    rows = []
    for chosen in designs.all_designs(path):
        simulated = None
        if request.scenarios is not None:
            _write(request.scenarios / f"design-{chosen.id}.toml", designs.scenario(chosen, path).to_toml())
        if request.run:
            messages.print(f"simulating design {chosen.id}", style="dim")
            simulated = designs.simulated_rate(designs.simulate(chosen, path))
        rows.append((chosen, simulated))
    if request.as_json:
        typer.echo(
            json_text([_as_json(chosen, simulated, designs.gain(chosen, path)) for chosen, simulated in rows]), nl=False
        )
        return
    table = Table(
        title=f"{request.path}; kB are 1024 bytes",
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


def _write(path: Path, text: str) -> None:
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
