"""The examples that come with the package: scenario files, and programs in Python."""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from .errors import LonghaulError, OutputError, explain_os_error


@dataclass(frozen=True)
class Example:
    """A scenario of the package, or a program."""

    #: The file's name without its ending.
    name: str
    #: What it shows: the scenario's `name`, or its `description` where the name is the file's; of a program, its first line.
    title: str
    text: str
    #: `.toml` or `.py`.
    ending: str = ".toml"

    @property
    def file(self) -> str:
        """The name of its file."""
        return self.name + self.ending

    def command(self, folder: str | Path = ".") -> str:
        """The command that runs its copy in this folder.

        >>> example("geo-one-flow").command("here")
        'longhaul run here/geo-one-flow.toml --report'
        >>> example("my_reno").command()
        'python my_reno.py'
        """
        file = Path(folder) / self.file
        return f"python {file}" if self.ending == ".py" else f"longhaul run {file} --report"


class UnknownExampleError(LonghaulError):
    """There is no example of this name."""


def examples() -> list[Example]:
    """All examples, by name.

    >>> [example.title for example in examples() if example.name == "geo-one-flow"]
    ['One download over a geostationary satellite']
    >>> [example.name for example in examples() if example.title == example.name]
    []
    """
    folder = resources.files(__package__) / "examples"
    files = sorted(Path(item.name) for item in folder.iterdir() if item.name.endswith((".toml", ".py")))
    return [_read(file.stem, file.suffix, (folder / file.name).read_text(encoding="utf-8")) for file in files]


def names() -> list[str]:
    """The names of all examples, in order.

    >>> "geo-one-flow" in names()
    True
    """
    return [one.name for one in examples()]


def example(name: str) -> Example:
    """The example of this name, with or without its ending and `examples/`.

    Raises `UnknownExampleError`, which names one that begins so, or the nearest.

    >>> example("geo")
    Traceback (most recent call last):
    longhaul.examples.UnknownExampleError: no example 'geo'; did you mean geo-one-flow?
    """
    import difflib

    known = {one.name: one for one in examples()}
    wanted = name.removeprefix("examples/").removesuffix(".toml").removesuffix(".py")
    if wanted in known:
        return known[wanted]
    begun = [one for one in known if one.startswith(wanted)] if wanted else []
    near = begun or difflib.get_close_matches(wanted, known, 1, 0.4)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise UnknownExampleError(f"no example {name!r}; {hint}")


def copy(name: str, folder: str | Path = ".", *, force: bool = False) -> Path:
    """Copies an example into a folder, which is made if it does not exist; returns the new file.

    Raises `UnknownExampleError`, or `OutputError` if the file exists and differs (`force` replaces it) or cannot be written.
    """
    wanted = example(name)
    # Comments name the file as it lies in the repository.
    text = wanted.text.replace(f"examples/{wanted.file}", wanted.file)
    for file, content in _measurements(wanted):
        _write(Path(folder) / file, content, force=force)
    return _write(Path(folder) / wanted.file, text, force=force)


def _measurements(one: Example) -> list[tuple[str, str]]:
    """The files that go with an example, which begin with its name, and what is in them."""
    folder = resources.files(__package__) / "examples"
    names = sorted(
        item.name for item in folder.iterdir() if item.name.startswith(f"{one.name}-") and ".csv" in item.name
    )
    return [(name, (folder / name).read_text(encoding="utf-8")) for name in names]


def _write(target: Path, text: str, *, force: bool) -> Path:
    try:
        if target.exists() and not force and target.read_text(encoding="utf-8") != text:
            raise OutputError(f"{target} exists and differs from the example; --force replaces it")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error if isinstance(error, OSError) else OSError("it is not a text file")
        raise OutputError(explain_os_error(reason, "write", target)) from None
    return target


def _read(name: str, ending: str, text: str) -> Example:
    if ending == ".py":
        return Example(name, (ast.get_docstring(ast.parse(text)) or name).splitlines()[0], text, ending)
    scenario = tomllib.loads(text)
    title = str(scenario.get("name", name))
    if title == name:
        title = str(scenario.get("description", name))
    return Example(name, title, text)
