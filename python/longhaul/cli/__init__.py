"""The command `longhaul`: every error is one clear message and an exit code, never a traceback.

Exit codes: 0 done, 1 a check found a difference or runs failed, 2 bad input or output, 128 + n stopped by signal n (130 by
Ctrl-C, 143 by SIGTERM).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import typer
from rich.console import Console

from .. import confined
from ..errors import LonghaulError, RunError, explain_os_error
from . import completion, terminal
from .commands import Commands, plain_usage

app = typer.Typer(
    name="longhaul",
    cls=Commands,
    help="A laboratory for TCP over paths that are long, fat, lossy or lopsided.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(shown: bool) -> None:
    if shown:
        from .. import core

        typer.echo(f"longhaul {core.version()} (build {core.program()})")
        raise typer.Exit


@app.callback()
def _main(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """A laboratory for TCP over paths that are long, fat, lossy or lopsided."""


def command() -> Any:
    """The command line with help screens in which switches take no value."""
    group: Any = typer.main.get_command(app)
    for option in group.params:
        if option.name in ("install_completion", "show_completion") and completion.HINT not in option.help:
            option.help += completion.HINT
    plain_usage(group, "longhaul")
    return group


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and ends the process with its exit code."""
    # Importing and drawing make many objects and no cycles: collecting at every 700 of them takes a tenth of the time.
    gc.set_threshold(50_000)
    with terminal.stopped_by_signals():
        sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Runs the command line and returns its exit code."""
    terminal.print_anything()
    code = _ended(lambda: _perform(arguments))
    # What is still to be written may not fit where the rest did.
    return _ended(sys.stdout.flush) or code


def _perform(arguments: list[str] | None) -> Any:
    if completion.asked(sys.argv[1:] if arguments is None else arguments):
        return 0
    completion.join_words()
    return command()(arguments, standalone_mode=True)


def _ended(doing: Callable[[], Any]) -> int:
    """The exit code with which something ends, after the message of its error."""
    try:
        outcome = doing()
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # whoever read the output has closed it, as `head` does
            return 141
        if end.code == 130:
            return _complain("interrupted", terminal.exit_code(end.__context__))
        return end.code if isinstance(end.code, int) else (0 if end.code is None else 2)
    except RunError as error:
        return _complain(str(error), 1)
    except LonghaulError as error:
        return _complain(str(error), error_code(error))
    except KeyboardInterrupt as error:
        return _complain("interrupted", terminal.exit_code(error))
    except MemoryError as error:
        return _complain(confined.explanation_of(error) or "the memory does not suffice for this", 2)
    except BrokenPipeError:
        return 141
    except OSError as error:
        return _complain(explain_os_error(error, "use", error.filename or "a file"), 2)
    except Exception as error:
        if (confined_by := confined.explanation_of(error)) is not None:
            return _complain(confined_by, 2)
        if not type(error).__module__.startswith("polars"):
            raise
        return _complain(f"a table of the result is damaged: {str(error).splitlines()[0]}", 2)
    return outcome if isinstance(outcome, int) else 0


def error_code(error: LonghaulError) -> int:
    """The exit code that goes with an error."""
    return getattr(error, "exit_code", 2)


def _complain(message: str, code: int) -> int:
    message = terminal.printable(message)
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(f"longhaul: {message}" if code > 128 else f"error: {message}", markup=False)
    return code
