"""`longhaul pep-config`: from a scenario to the files of a deployed accelerator."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import typer

from ..errors import OutputError
from . import options
from .options import UsageError

#: The accelerator's program, which makes keys.
PROGRAM = "longhaul-pep"


def pep_config(
    scenario: Path = typer.Argument(..., help="Scenario file (TOML).", show_default=False),
    out: Path = typer.Option(..., "--out", metavar="DIR", help="Directory for terminal.toml and hub.toml."),
    link: str | None = typer.Option(
        None, "--link", metavar="NAME", help="The link to cross; by default that of the proxy, or the longest."
    ),
    terminal: str | None = typer.Option(
        None, "--terminal", metavar="NODE", help="The end with the clients; by default where the flows end."
    ),
    hub: str = typer.Option("198.51.100.10:7714", "--hub", metavar="ADDRESS:PORT", help="UDP address of the hub."),
    interface: list[str] = typer.Option(["eth1"], "--interface", metavar="NAME", help="Where the clients are."),
    source: list[str] = typer.Option(
        ["192.168.1.0/24"], "--source", metavar="NETWORK", help="Networks of the clients."
    ),
    keys: bool = typer.Option(False, "--keys", help=f"Make both key pairs in DIR (needs {PROGRAM})."),
    set_: list[str] | None = typer.Option(
        None, "--set", metavar="PATH=VALUE", help="Change a setting of the scenario."
    ),
    force: bool = typer.Option(False, "--force", help="Write over files that exist."),
) -> None:
    """Write the settings of both nodes of an accelerator (longhaul-pep) from the satellite link of a scenario."""
    from ..accelerator import NO_KEY, Site, files, long_hop
    from ..files import write_atomically
    from ..scenario import as_document

    host, colon, port = hub.rpartition(":")
    if not colon or not port.isdigit() or not host:
        raise UsageError(f'--hub {hub}: write an address and a port, as in "198.51.100.10:7714"')
    hop = long_hop(as_document(scenario), options.settings(set_), link=link, terminal=terminal)
    made = [out / name for name in ("terminal.toml", "hub.toml", *(("terminal.key", "hub.key") if keys else ()))]
    if (there := [path for path in made if path.exists()]) and (not force or keys):
        raise OutputError(f"{there[0]} exists" + ("; --force writes over it" if not keys else ""))
    out.mkdir(parents=True, exist_ok=True)
    own = {name: _make_key(out / f"{name}.key") if keys else NO_KEY for name in ("terminal", "hub")}
    site = Site(hub, tuple(interface), tuple(source), terminal_key=own["terminal"], hub_key=own["hub"])
    for name, text in files(hop, site).items():
        write_atomically(out / name, text.encode())
    typer.echo(
        f"{hop.name}: {hop.down / 1e6:g} Mbit/s down, {hop.up / 1e6:g} Mbit/s up, round trip {hop.rtt * 1000:g} ms; "
        f"terminal {hop.terminal}, hub {hop.hub}"
    )
    typer.echo(f"{out / 'terminal.toml'} and {out / 'hub.toml'}: each becomes /etc/longhaul/pep.toml of its node")
    if keys:
        typer.echo("terminal.key and hub.key: each becomes /etc/longhaul/pep.key of its node (mode 600)")
    else:
        typer.echo(f"keys are to be filled in: `{PROGRAM} keygen` at each node prints what the other one needs")


def _make_key(path: Path) -> str:
    if shutil.which(PROGRAM) is None:
        raise UsageError(f"--keys needs {PROGRAM}, which is not installed here; without it, keys are filled in later")
    done = subprocess.run([PROGRAM, "keygen", str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OutputError(done.stderr.strip().removeprefix("error: "))
    return done.stdout.strip()
