"""`longhaul link`: from a line of `tc netem` to the link of a scenario, and back."""

from __future__ import annotations

from pathlib import Path

import typer

from . import options
from .options import UsageError, messages


def link(
    lines: list[str] = typer.Argument(
        ...,
        metavar="LINE [BACK]",
        help="A line of tc netem, as in 'delay 100ms 20ms loss 1% rate 10mbit', and one of the other direction; or a scenario file.",
        show_default=False,
    ),
    rate: str = typer.Option(
        "1 Gbit/s", "--rate", metavar="RATE", help="Rate of the interface, where a line has none."
    ),
    name: str | None = typer.Option(
        None, "--link", metavar="NAME", help="The link's name; of a scenario file, the link that is printed alone."
    ),
    set_: list[str] | None = typer.Option(
        None, "--set", metavar="PATH=VALUE", help="Change a setting of the scenario."
    ),
) -> None:
    """Print the link that a line of tc netem describes, or netem's lines for the links of a scenario.

    What a line or a link does not carry stands beside it as a comment.
    """
    from .. import netem
    from ..units import read_quantity

    path = Path(lines[0])
    if path.suffix == ".toml" or path.is_file():
        if len(lines) > 1:
            raise UsageError("with a scenario file there is no second line")
        _print_lines(path, name, options.settings(set_))
        return
    if set_:
        raise UsageError("--set changes a setting of a scenario file, and a line of netem is given")
    speed = read_quantity(rate)
    if not speed or speed[1] != "bit/s" or not speed[0]:
        raise UsageError(f'--rate {rate}: write a rate, as in "1 Gbit/s"')
    # Without quotes, the shell has made words of one line.
    if len(lines) > 1 and not any(" " in one.strip() for one in lines):
        lines = [" ".join(lines)]
    if len(lines) > 2:
        raise UsageError("there are two directions: quote each line, as in 'delay 100ms' 'delay 20ms'")
    interface = round(speed[0])
    there, *back = [netem.read(text, interface) for text in lines]
    typer.echo(netem.link_text(there, back[0] if back else None, name or "netem", interface_bps=interface), nl=False)


def _print_lines(path: Path, name: str | None, overrides: list[tuple[str, str]]) -> None:
    import tomllib

    from .. import core, netem
    from ..scenario import as_document

    content = tomllib.loads(core.resolve(as_document(path), overrides)[0])
    links = list(content.get("link", ()))
    if "dumbbell" in content:
        links.insert(0, {"name": "bottleneck", "ends": ["left", "right"], **content["dumbbell"]["bottleneck"]})
    chosen = [one for one in links if name in (None, one["name"])]
    if not chosen:
        raise UsageError(f"--link {name}: {path} has {', '.join(str(one['name']) for one in links)}")
    for one in chosen:
        common = {key: value for key, value in one.items() if key not in ("forward", "reverse")}
        for direction, ends in (("forward", one["ends"]), ("reverse", one["ends"][::-1])):
            text, notes = netem.write({**common, **one.get(direction, {})})
            for note in notes:
                typer.echo(f"# {note}")
            typer.echo(f"tc qdisc replace dev DEVICE root netem {text}  # {one['name']}, from {ends[0]} to {ends[1]}")
    messages.print(
        "netem acts on what leaves DEVICE: each line goes to the interface at the beginning of its direction",
        style="dim",
    )
