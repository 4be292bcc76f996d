"""`longhaul --install-completion SHELL` and `--show-completion SHELL`: without the name of a shell, typer takes the current one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
import typer.completion

from .options import UsageError, one_of

SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")
_OPTIONS = ("--install-completion", "--show-completion")
#: What the help screen states beside typer's text.
HINT = f" A name after it chooses another: {', '.join(SHELLS)}."


#: Typer's functions for it, which it uses itself and does not name as its interface.
_TYPER: Any = typer.completion


def asked(arguments: Sequence[str]) -> bool:
    """Does what is asked for a shell by name; whether anything was. Raises `UsageError` for a shell that is not known.

    >>> asked(["--install-completion"]), asked(["run", "a.toml"])
    (False, False)
    """
    option, equals, value = arguments[0].partition("=") if arguments else ("", "", "")
    words = [value, *arguments[1:]] if equals else list(arguments[1:])
    if option not in _OPTIONS or not words or words[0].startswith("-"):
        return False
    shell = one_of(option, words[0], SHELLS)
    if len(words) > 1:
        raise UsageError(f"{option} {shell}: {words[1]!r} is one word too many")
    if option == "--install-completion":
        _, path = _TYPER.install(shell=shell, prog_name="longhaul", complete_var="_LONGHAUL_COMPLETE")
        typer.echo(f"{shell} completion installed in {path}; it works in terminals that are opened from now on")
    else:
        typer.echo(_TYPER.get_completion_script(prog_name="longhaul", complete_var="_LONGHAUL_COMPLETE", shell=shell))
    return True
