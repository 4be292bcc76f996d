"""What a remedy is: settings at somebody's machine, what they aim at, and the numbers among them that can be turned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .. import toml
from .diagnosis import Diagnosis, uses_tcp

#: Who can be asked to change something, as `--can` has it.
PLACES = ("sender", "receiver", "router", "proxy")
#: How much of a change each place is: what is equally good is ranked by the sum.
_EFFORT = {"sender": 1, "receiver": 1, "router": 2, "proxy": 4}

#: Families of remedies that replace the protocol, or the number of connections.
_REPLACING = frozenset({"transport", "parallel streams"})


@dataclass(frozen=True)
class Dial:
    """A number that a remedy sets, and the same remedy with any other number."""

    #: What is set, as in "initial window".
    what: str
    #: The number without the remedy; 0 if there is nothing of the kind.
    now: int
    #: The number that the remedy sets.
    tried: int
    #: "packets", "KiB", "ms", or nothing.
    unit: str
    made: Callable[[int], Remedy]

    def text(self, value: int) -> str:
        """A number with its unit.

        >>> dial = Dial("queue", 10, 80, "packets", lambda value: None)
        >>> dial.text(1500), dial.text(1)
        ('1,500 packets', '1 packet')
        """
        unit = self.unit.removesuffix("s") if value == 1 and self.unit == "packets" else self.unit
        return f"{value:,} {unit}".rstrip()


@dataclass(frozen=True)
class Remedy:
    """A change that may help."""

    title: str
    #: Remedies of one family exclude one another: they change the same thing.
    family: str
    #: Whose machine is changed, one of `PLACES` or several with " and ".
    place: str
    #: Settings by path.
    settings: Mapping[str, Any]
    #: Findings, at least one of which it needs.
    aims: frozenset[str]
    #: Commands on Linux, if there are any.
    linux: str = ""
    effort: int = 1
    #: What it takes from those who adopt it, beside what is measured.
    cost: str = ""
    #: Its numbers, each of which can be turned back towards what it is without the remedy.
    dials: tuple[Dial, ...] = field(default=(), compare=False, repr=False)

    @property
    def replaces(self) -> bool:
        """Whether it takes another protocol, or another number of connections: the application has to be written for that.

        >>> quic, both = (Remedy("", family, "sender", {}, frozenset()) for family in ("transport", "ACKs+parallel streams"))
        >>> quic.replaces, both.replaces, Remedy("", "receive buffer", "receiver", {}, frozenset()).replaces
        (True, True, False)
        """
        return not _REPLACING.isdisjoint(self.family.split("+"))

    @property
    def is_setting(self) -> bool:
        """Whether settings of hosts are all that it takes."""
        return not self.replaces and set(self.place.split(" and ")) <= {"sender", "receiver"}

    @property
    def overrides(self) -> list[tuple[str, str]]:
        """The settings as the simulator takes them."""
        return [(path, toml.value(value)) for path, value in self.settings.items()]

    @property
    def set_line(self) -> str:
        """The settings as options of `longhaul run`.

        >>> Remedy("x", "x", "sender", {"flow.a.tcp.ecn": True}, frozenset()).set_line
        '--set flow.a.tcp.ecn=true'
        """
        return " ".join(f"--set {_quoted(f'{path}={_plain(value)}')}" for path, value in self.settings.items())

    @property
    def section(self) -> str:
        """For a proxy the sections that are its configuration, as in a scenario file; else an empty text."""
        boxes = self.settings.get("middlebox")
        return toml.document({"middlebox": boxes}) if boxes and "proxy" in self.place else ""


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else toml.value(value)


def _quoted(text: str) -> str:
    return text if all(char.isalnum() or char in "._=-+[]" for char in text) else "'" + text.replace("'", "'\\''") + "'"


def both(first: Remedy, second: Remedy) -> Remedy | None:
    """Two remedies as one; `None` if they exclude each other."""
    if first.family == second.family or any(_overlap(a, b) for a in first.settings for b in second.settings):
        return None
    places = dict.fromkeys([*first.place.split(" and "), *second.place.split(" and ")])
    return Remedy(
        f"{first.title}; {second.title}",
        f"{first.family}+{second.family}",
        " and ".join(places),
        {**first.settings, **second.settings},
        first.aims | second.aims,
        "\n".join(line for line in (first.linux, second.linux) if line),
        first.effort + second.effort,
        "; ".join(cost for cost in (first.cost, second.cost) if cost),
        tuple(
            replace(dial, made=_beside(dial, other, dial in first.dials))
            for one, other in ((first, second), (second, first))
            for dial in one.dials
        ),
    )


def _beside(dial: Dial, other: Remedy, before: bool) -> Callable[[int], Remedy]:
    """A remedy with any number, together with another one."""

    def made(value: int) -> Remedy:
        own = dial.made(value)
        pair = both(own, other) if before else both(other, own)
        assert pair is not None
        return pair

    return made


def _overlap(path: str, other: str) -> bool:
    """Whether one of two settings is the other one, or is inside it.

    >>> _overlap("flow.a.tcp", "flow.a.tcp.ecn"), _overlap("flow.a.tcp.ecn", "flow.ab.tcp.ecn")
    (True, False)
    """
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


def allowed(remedy: Remedy, can: Iterable[str]) -> bool:
    """Whether only places that can be changed are changed."""
    return set(remedy.place.split(" and ")) <= set(can)


def remedy(
    title: str, family: str, place: str, settings: Mapping[str, Any], aims: Iterable[str], linux: str = ""
) -> Remedy:
    effort = sum(_EFFORT[one] for one in place.split(" and "))
    return Remedy(title, family, place, settings, frozenset(aims), linux, effort)


def each(found: Diagnosis, key: str, value: Any, only: Callable[[Any], bool] | None = None) -> dict[str, Any]:
    """A setting of every group that is to be served."""
    of = key.partition(".")[0]
    known = [section for section in found.sections if of not in ("tcp", "quic") or _transport(section) == of]
    chosen = [section for section in known if only is None or only(section)]
    return {f"flow.{found.keys[section['name']]}.{key}": value for section in chosen}


def _transport(section: Mapping[str, Any]) -> str:
    return "tcp" if uses_tcp(section) else str(section.get("transport", ""))


def tcp(found: Diagnosis, key: str, value: Any) -> dict[str, Any]:
    """A setting of TCP in those groups that have another value."""
    return each(found, f"tcp.{key}", value, lambda section: section["tcp"].get(key) != value)


def lacks(key: str, kind: str) -> Callable[[Any], bool]:
    """Whether a section has another algorithm than this one."""
    return lambda section: bool(section["tcp"][key]["kind"] != kind)


def dialled(what: str, now: int | None, tried: int, unit: str, made: Callable[[int], Remedy]) -> Remedy:
    """The remedy with the number that is tried, and with its dial if a number is there without it (`now`)."""
    if now is None or now == tried:
        return made(tried)
    return replace(made(tried), dials=(Dial(what, now, tried, unit, made),))
