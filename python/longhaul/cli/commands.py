"""The commands of `longhaul`: each is imported when it is called, since all of them take longer than most of them run."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

#: Commands in the order of `longhaul --help`: the module, and the function in it.
WHERE = {
    "demo": "starting.demo",
    "examples": "starting.examples",
    "run": "running.run",
    "sweep": "running.sweep",
    "check": "checking.check",
    "suite": "suites.suite",
    "reproduce": "reproducing.reproduce",
    "design": "designing.design",
    "link": "linking.link",
    "profile": "fitting.profile",
    "pep-config": "deploying.pep_config",
    "plot": "showing.plot",
    "report": "showing.report",
    "draw": "showing.draw",
    "table": "showing.table",
    "serve": "serving.serve",
    "compare": "comparing.compare",
    "diff": "checking.diff",
    "advise": "advising.advise",
    "explain": "inspecting.explain",
    "verify": "inspecting.verify",
    "list": "inspecting.list_",
    "schema": "inspecting.schema",
    "bench": "inspecting.bench",
}
#: Commands that pass arguments on to another program.
_PASSING = ("bench",)


def function_of(name: str) -> Callable[..., Any]:
    """The function of a command. Raises `KeyError` for a name without one."""
    module, function = WHERE[name].split(".")
    found: Callable[..., Any] = getattr(import_module(f".{module}", __package__), function)
    return found


def plain_usage(command: Any, name: str, above: Any = None) -> None:
    """Help screens in which switches take no value and arguments are in capitals."""
    helping = command.get_help_option(command.make_context(name, [], parent=above, resilient_parsing=True))
    for parameter in (*command.params, *filter(None, [helping])):
        if parameter.param_type_name == "argument":
            parameter.metavar = parameter.metavar or str(parameter.name).upper()
        elif parameter.is_flag:
            parameter.metavar = ""


class Commands(typer.core.TyperGroup):
    """All commands by name; one is made when it is asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help screen."""
        return list(WHERE)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of this name, or `None`."""
        if cmd_name in WHERE and cmd_name not in self.commands:
            self.commands[cmd_name] = _made(cmd_name, ctx)
        return self.commands.get(cmd_name)


def _made(name: str, above: Any) -> Any:
    passing = {"allow_extra_args": True, "ignore_unknown_options": True} if name in _PASSING else {}
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
    settings = {"help_option_names": ["-h", "--help"], **passing}
    alone.command(name, context_settings=settings)(function_of(name))
    made = typer.main.get_command(alone)
    plain_usage(made, name, above)
    return made
