"""Building scenarios in Python: the same document as a scenario file, one method per section."""

from __future__ import annotations

import copy
import os
import tomllib
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import controls, core, document, toml
from .document import Document
from .errors import LonghaulError, ScenarioError
from .values import whole

if TYPE_CHECKING:
    from .drawing import Drawing


class Scenario:
    """A network, its traffic, and what to measure.

    Every method returns a new scenario and leaves the old one as it was. Names and values are those of scenario files
    (see `longhaul schema`); quantities are texts with units. What is built is checked by `resolve` and `run`, what comes
    from dictionaries at once; `longhaul.build` has typed functions for tables, with completion.

    >>> s = (
    ...     Scenario("geostationary", duration="100 s", seed=1)
    ...     .link("satellite", "hub", "remote", rate="10 Mbit/s", delay="250 ms", queue="300 packets")
    ...     .flow("hub", "remote", tcp={"variant": "sack", "congestion": "cubic"})
    ... )
    >>> print(s.to_toml())
    name = "geostationary"
    <BLANKLINE>
    [run]
    duration = "100 s"
    seed = 1
    <BLANKLINE>
    [[link]]
    name = "satellite"
    ends = ["hub", "remote"]
    rate = "10 Mbit/s"
    delay = "250 ms"
    queue = "300 packets"
    <BLANKLINE>
    [[flow]]
    from = "hub"
    to = "remote"
    tcp = { variant = "sack", congestion = "cubic" }
    <BLANKLINE>
    """

    def __init__(self, name: str, description: str | None = None, **run: Any) -> None:
        """A scenario without network and traffic; keywords go to `[run]`: `duration`, `warmup`, `seed`, `sample`."""
        given = _given({"name": name, "description": description})
        self._content: dict[str, Any] = controls.settings({**given, "run": run} if run else given)
        self._document: Document | None = None

    @classmethod
    def from_file(cls, path: str | Path) -> Scenario:
        """Reads a scenario file (TOML, or JSON if it ends in `.json`)."""
        return cls.from_document(document.read(Path(path)))

    @classmethod
    def from_toml(cls, text: str, source: str = "scenario") -> Scenario:
        """Reads a scenario from TOML text; `source` is what error messages call it."""
        return cls.from_document(document.parse(text, source))

    @classmethod
    def from_document(cls, read: Document) -> Scenario:
        """A scenario from a document that was read."""
        scenario = cls.__new__(cls)
        scenario._document = read
        try:
            scenario._content = tomllib.loads(read.text)
        except tomllib.TOMLDecodeError:
            core.resolve(read)  # raises, with the place of the mistake
            raise
        if read.sweep is not None:
            scenario._content["sweep"] = read.sweep
        return scenario

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Scenario:
        """A scenario from nested dictionaries, as `to_dict` returns them and as JSON files have them; it is checked at once.

        Raises `ScenarioError`, as for a file.

        >>> link = {"name": "path", "ends": ["a", "b"], "rate": "10 Mbit/s", "delay": "50 ms"}
        >>> Scenario.from_dict({"name": "x", "run": {"duration": "1 s"}, "link": [link], "flow": [{"from": "a", "to": "b"}]})
        <Scenario 'x': 1 link(s), 1 flow section(s)>
        """
        if not isinstance(content, Mapping):
            raise ScenarioError(f"a scenario's content is a dictionary, not {_article(type(content).__name__)}")
        scenario = cls.__new__(cls)
        scenario._document = None
        scenario._content = controls.settings(content)
        core.resolve(scenario.document())
        return scenario

    def to_dict(self) -> dict[str, Any]:
        """The document as nested dictionaries (a copy): what `from_dict` takes."""
        return self.content

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self._content.get("name", "scenario"))

    @property
    def content(self) -> dict[str, Any]:
        """The document as nested dictionaries (a copy)."""
        return copy.deepcopy(self._content)

    def run_settings(self, **settings: Any) -> Scenario:
        """Sets keys of `[run]`: `duration`, `warmup`, `seed`, `sample`."""
        return self._with("run", {**self._content.get("run", {}), **settings})

    def node(self, name: str, **settings: Any) -> Scenario:
        """Declares a node; links and flows declare theirs by naming them."""
        return self._append("node", {"name": name, **settings})

    def link(
        self,
        name: str,
        a: str,
        b: str,
        *,
        rate: str | None = None,
        delay: str | None = None,
        queue: str | Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> Scenario:
        """A duplex link between nodes `a` and `b`. As in scenario files, a queue given as text is the limit of a DropTail queue, and
        a loss given as text or number the probability of random loss.

        Further settings: `loss`, `outages`, `changes`, and `forward`, `reverse` for what differs between directions.
        """
        known = {"rate": rate, "delay": delay, "queue": queue}
        return self._append("link", {"name": name, "ends": [a, b], **_given(known), **settings})

    def route(self, *via: str, at: str | None = None, **settings: Any) -> Scenario:
        """Links, in their order, that packets take between the ends of these from `at` on, or from the start.

        Further settings: `every`, `jitter`, `drift`, `flows`, `way`, `in_flight`.
        """
        return self._append("route", {"via": list(via), **_given({"at": at}), **settings})

    def carrier(self, name: str, *, rate: str, delay: str, **settings: Any) -> Scenario:
        """A carrier that links share, each with `carrier={"name": name}` in place of a rate. Further settings: `superframe`, `free`,
        `contention`."""
        return self._append("carrier", {"name": name, "rate": rate, "delay": delay, **settings})

    def dumbbell(
        self, *, bottleneck: Mapping[str, Any], access: Mapping[str, Any] | None = None, **settings: Any
    ) -> Scenario:
        """The dumbbell: one bottleneck link, and a pair of hosts with access links of their own for each flow."""
        return self._with("dumbbell", {**_given({"bottleneck": bottleneck, "access": access}), **settings})

    def flow(
        self,
        source: str | None = None,
        destination: str | None = None,
        *,
        count: int | None = None,
        **settings: Any,
    ) -> Scenario:
        """One or `count` flows. Further settings: `name`, `access`, `start`, `app`, `transport`, `tcp`, `quic`, `udp`, `trace`."""
        known = {"from": source, "to": destination, "count": count}
        return self._append("flow", {**_given(known), **settings})

    def middlebox(
        self, at: str | Mapping[str, Any], kind: str | None = None, *, name: str | None = None, **settings: Any
    ) -> Scenario:
        """A middlebox at a node, of a kind that `longhaul.build.box` has a function for.

        Further settings: `flows`, `fail_at`, and those of its kind. A whole table, as the functions of `longhaul.build.box` make it,
        may stand in place of node and kind. Raises `ScenarioError` for a node without a kind.
        """
        if isinstance(at, Mapping):
            return self._append("middlebox", {**at, **_given({"name": name}), **settings})
        if kind is None:
            raise ScenarioError(f'middlebox({at!r}): give its kind too, as in middlebox({at!r}, "split")')
        return self._append("middlebox", {**_given({"name": name}), "at": at, "kind": kind, **settings})

    def sweep(
        self,
        grid: Mapping[str, Sequence[Any]] | None = None,
        *,
        points: Sequence[Mapping[str, Any]] | Mapping[str, Mapping[str, Any]] | None = None,
        zip: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
        replications: int = 1,
    ) -> Scenario:
        """What `longhaul.sweep` varies: a grid (every combination), settings that change together (`zip`), points by name (a mapping),
        or nothing but a list of points; and seeds for each.
        """
        named = points if isinstance(points, Mapping) else None
        listed = None if isinstance(points, Mapping) else points
        content = {"grid": grid, "zip": zip, "points": named, "list": listed, "replications": replications}
        return self._with("sweep", _given(content))

    def to_toml(self) -> str:
        """The scenario file."""
        return toml.document(self._content)

    def document(self) -> Document:
        """The text for the simulator, without the sweep."""
        if self._document is not None:
            return self._document
        content = dict(self._content)
        sweep = content.pop("sweep", None)
        source = f"scenario {self.name!r}"
        try:
            return Document(toml.document(content), source, sweep, built=True)
        except TypeError as error:  # None, or an object
            raise ScenarioError(f"{source}: {error}") from None

    def resolve(self) -> str:
        """The scenario with every default written out; raises `ScenarioError` if something is wrong with it."""
        return core.resolve(self.document())[0]

    def draw(self) -> Drawing:
        """The network with its flows on their way; a notebook shows it, `save` writes SVG. Raises `ScenarioError` as `resolve` does."""
        from . import drawing

        return drawing.of_document(self.document())

    def _repr_html_(self) -> str:
        """The network and the scenario file, in a notebook; a scenario that is not complete has no drawing yet."""
        try:
            drawn = self.draw().image()
        except LonghaulError:
            drawn = ""
        return f"{drawn}<details><summary>{escape(repr(self))}</summary><pre>{escape(self.to_toml())}</pre></details>"

    def __repr__(self) -> str:
        links, flows = len(self._content.get("link", [])), len(self._content.get("flow", []))
        return f"<Scenario {self.name!r}: {links} link(s), {flows} flow section(s)>"

    def _with(self, section: str, value: Any) -> Scenario:
        return self._replaced(section, controls.settings(value, section))

    def _append(self, section: str, entry: Mapping[str, Any]) -> Scenario:
        name = entry.get("name")
        entry = controls.settings(entry, f"{section}.{name}" if isinstance(name, str) else section)
        return self._replaced(section, [*self._content.get(section, []), entry])

    def _replaced(self, section: str, value: Any) -> Scenario:
        """A scenario that shares all other sections with this one: no content is ever changed in place."""
        changed = self.__class__.__new__(self.__class__)
        changed._content = {**self._content, section: value}
        changed._document = None
        return changed


def _given(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if value is not None}


def as_document(scenario: Scenario | Document | str | Path) -> Document:
    """A scenario, or the path of its file, as the document to run; raises `ScenarioError` for anything else."""
    if isinstance(scenario, Scenario):
        return scenario.document()
    if isinstance(scenario, Document):
        return scenario
    if isinstance(scenario, str | os.PathLike):
        return document.read(Path(scenario))
    raise ScenarioError(
        f"a scenario is a longhaul.Scenario or the path of a scenario file, not {_article(type(scenario).__name__)}"
        " (Scenario.from_toml reads a text)"
    )


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeio' else 'a'} {noun}"


def overrides(settings: Mapping[str, Any] | None = None, seed: int | None = None) -> list[tuple[str, str]]:
    """Settings to override as the simulator takes them: a path and the text of a TOML value.

    >>> overrides({"link.satellite.rate": "50 Mbit/s"}, seed=3)
    [('link.satellite.rate', '"50 Mbit/s"'), ('run.seed', '3')]
    """
    if settings is not None and not isinstance(settings, Mapping):
        raise ScenarioError(f'set={settings!r}: it is a dictionary, as in {{"link.satellite.rate": "50 Mbit/s"}}')
    given = controls.settings(settings or {}, "set")
    pairs = [(path, toml.value(item)) for path, item in given.items()]
    if seed is not None:
        pairs.append(("run.seed", str(whole(seed, "seed"))))
    return pairs
