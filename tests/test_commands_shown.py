"""Every command `longhaul ...` in a document, an example, a message or the table of systems can be given as it stands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import commands_shown
import longhaul_studies as studies
import pytest
import typer
from longhaul import core, document, listing
from longhaul import study as lab
from longhaul.cli import app, options
from longhaul.errors import LonghaulError
from longhaul_studies import names
from longhaul_studies.systems import SYSTEMS

GROUP = typer.main.get_command(app)
EXAMPLES = commands_shown.ROOT / "python/longhaul/examples"


def parsed(command: str) -> Any:
    """The context of a command, or of `longhaul` itself for its own options; raises what the parser raises."""
    given = commands_shown.words(command)
    whole: Any = GROUP
    above = whole.make_context("longhaul", [], resilient_parsing=True)
    if not given or given[0].startswith("-"):
        known = {option for parameter in whole.get_params(above) for option in parameter.opts}
        assert set(given[:1]) <= known, f"{command}: no such option"
        return above
    found = whole.get_command(above, given[0])
    assert found is not None, f"{command}: no such command"
    return found.make_context(given[0], given[1:], parent=above)


def wrong(command: str, *, whole: bool = False) -> str:
    """Why a command cannot be given, or an empty text. A mention may leave arguments out, unless `whole`."""
    try:
        context = parsed(command)
    except AssertionError as problem:
        return str(problem)
    except Exception as problem:  # the parser's own errors have no common public name
        partly = type(problem).__name__ == "MissingParameter" or "requires an argument" in str(problem)
        return "" if partly and not whole else f"{type(problem).__name__}: {problem}"
    try:
        _resolved(context)
    except LonghaulError as problem:
        return str(problem)
    return ""


def _resolved(context: Any) -> None:
    """Settings and names that the parser does not know: of a scenario that is there, and of a study."""
    given = context.params
    scenario = EXAMPLES / str(given.get("scenario") or given.get("what") or "").rpartition("/")[2]
    if scenario.suffix == ".toml" and scenario.is_file():
        core.resolve(document.read(scenario), options.settings(given.get("set")))
    if context.info_name == "list" and given.get("what"):
        listing.catalogue(given["what"])
    if context.info_name == "reproduce" and given.get("study") in studies_by_name():
        study = studies.find(given["study"])
        names.scale(study, given.get("scale") or "quick")
        names.experiments(study, given.get("figure") or [])


def studies_by_name() -> list[str]:
    """The names of all studies."""
    return list(lab.names())


#: Commands whose error is what the document shows.
WRONG_ON_PURPOSE = {
    'longhaul run examples/geo-one-flow.toml --set link.satelite.delay="10 ms"',
    "longhaul run examples/geo-one-flow.toml --set link.satellite.delay=10",
    'longhaul run examples/geo-one-flow.toml --set link.satellite.rate="20 Mbit/s"',
}

PLACES: tuple[Callable[[], Iterator[tuple[str, str]]], ...] = (
    commands_shown.in_documents, commands_shown.in_examples, commands_shown.in_messages,
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_every_command_that_is_shown_can_be_given(place: Callable[[], Iterator[tuple[str, str]]]) -> None:
    shown = [(file, command) for file, command in place() if command not in WRONG_ON_PURPOSE]
    assert len(shown) > 20
    assert not {f"{file}: {command}": problem for file, command in shown if (problem := wrong(command))}


def test_a_command_that_fails_is_found() -> None:
    assert all(wrong(command) for command in WRONG_ON_PURPOSE)
    assert "No such option" in wrong("longhaul plot OUT time-sequence --start 55 --end 80")
    assert "no such command" in wrong("longhaul simulate geo.toml")
    assert "dealy" in wrong("longhaul run examples/geo-one-flow.toml --set link.satellite.dealy=1")
    assert wrong("longhaul reproduce sttp --figure E99")
    assert not wrong("longhaul run geo-one-flow.toml --set run.duration='30 s' | less   # half a minute")


def test_continued_lines_and_wrapped_mentions_are_read() -> None:
    text = "Try\n\n    longhaul sweep a.toml \\\n        -n 3\n\nor `longhaul list\nqueues`, not `long`.\n"
    assert list(commands_shown.of_markdown(text)) == ["longhaul sweep a.toml -n 3", "longhaul list queues"]


def test_the_commands_that_show_systems_are_whole() -> None:
    assert not {
        system.name: problem for system in SYSTEMS if system.command and (problem := wrong(system.command, whole=True))
    }


def test_a_system_has_a_command_or_a_reason() -> None:
    assert not [
        system.name
        for system in SYSTEMS
        if not (system.command if system.state in ("built", "in part") else system.why)
    ]
    assert not [system.name for system in SYSTEMS if system.state == "in part" and not system.why]
    assert {system.document for system in SYSTEMS} <= set(studies_by_name())


def test_a_command_imports_no_other_s_module():
    code = (
        "import sys; from longhaul.cli import run; run(['design', '-h']);"
        "print([name for name in sys.modules if name.startswith('longhaul.cli.') and name.endswith(('ing', 'suites'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['longhaul.cli.designing']"
