"""`longhaul --install-completion SHELL` and `--show-completion SHELL`: without the name of a shell, typer takes the current one."""

from __future__ import annotations

import os
import shlex
from collections.abc import MutableMapping, Sequence
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


def join_words(environment: MutableMapping[str, str] = os.environ) -> None:
    """Takes back that bash splits words at "=": "--set=flow.d" comes as three words, of which only the last is completed.

    >>> split = {"_LONGHAUL_COMPLETE": "complete_bash", "COMP_WORDS": "longhaul\\nrun\\n--set\\n=\\nflow.d", "COMP_CWORD": "4"}
    >>> join_words(split)
    >>> split["COMP_WORDS"].split(), split["COMP_CWORD"]
    (['longhaul', 'run', '--set', 'flow.d'], '3')
    """
    if environment.get("_LONGHAUL_COMPLETE") != "complete_bash":
        return
    try:
        words, current = shlex.split(environment["COMP_WORDS"]), int(environment["COMP_CWORD"])
    except (KeyError, ValueError):
        # An open quotation: typer's own parts go on with it.
        return
    kept: list[str] = []
    dropped = 0
    for number, word in enumerate(words):
        if word != "=" or not kept or not kept[-1].startswith("--"):
            kept.append(word)
        elif number < current:
            dropped += 1
        else:
            # What comes behind it is a word of its own, and empty yet.
            kept.append("")
    environment["COMP_WORDS"] = "\n".join(map(shlex.quote, kept))
    environment["COMP_CWORD"] = str(current - dropped)
