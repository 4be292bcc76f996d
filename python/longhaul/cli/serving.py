"""`longhaul serve`."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from ..results import require_directory
from .options import messages


def serve(
    folder: Path = typer.Argument(Path("results"), help="Folder with results  [default: results]", show_default=False),
    port: int = typer.Option(
        0, "--port", min=0, max=65535, help="Port of 127.0.0.1  [default: any]", show_default=False
    ),
    show: bool = typer.Option(False, "--open", help="Open the page in the browser."),
) -> None:
    """Serve a page of results on this machine: lists runs and sweeps, follows those under way, compares any two."""
    from ..serving import Server

    require_directory(folder)
    with Server(folder, port) as server:
        typer.echo(server.address)
        messages.print("for this machine alone, with the token in the address; Ctrl-C ends it", style="dim")
        if show and not webbrowser.open(server.address):
            messages.print("no browser was found; open the address yourself", markup=False)
        server.serve_forever(poll_interval=0.2)
