"""`longhaul design KIND`: its options. What a kind of design is, and prints, is up to the package that offers it."""

from __future__ import annotations

from pathlib import Path

import typer

from .options import UsageError, one_of


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
    from ..study import DESIGNS, DesignRequest, find_design, names

    one_of("the kind of design", kind, names(DESIGNS))
    request = DesignRequest(
        f"{down} down, {up} up, {rtt}",
        _read("--down", down, "bit/s"),
        _read("--up", up.replace("baud", " bit/s"), "bit/s"),
        _read("--rtt", rtt, "s"),
        backbone,
        _read("--dormancy", dormancy, "s"),
        run=not no_run,
        scenarios=scenarios,
        as_json=as_json,
    )
    find_design(kind)(request)


def _read(option: str, text: str, unit: str) -> float:
    """A positive quantity."""
    from ..units import read_quantity

    found = read_quantity(text.strip())
    if found is None or found[1] != unit or not found[0] > 0:
        example = {"bit/s": '"54 Mbit/s" or, for a line, "9600 baud"', "s": '"600 ms"'}[unit]
        raise UsageError(f"{option} {text!r}: write a number over 0 with its unit, as in {example}")
    return found[0]
