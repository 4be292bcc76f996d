"""The nearest known names to an unknown name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from .errors import UnknownName

#: How many names a message proposes.
_MOST = 4


def nearest(given: str, known: Iterable[str]) -> list[str]:
    """The few names that may have been meant: those that end in the given one, else those that are spelled alike.

    >>> nearest("drop_rate", ["drops", "link.a.forward.drop_rate", "link.a.reverse.drop_rate"])
    ['link.a.forward.drop_rate', 'link.a.reverse.drop_rate']
    >>> nearest("link.a.drop_rat", ["goodput_bps", "link.a.forward.drop_rate"])
    ['link.a.forward.drop_rate']
    >>> nearest("goodput", ["goodput_bps", "loss_rate"]), nearest("xyz", ["goodput_bps"])
    (['goodput_bps'], [])
    """
    names = list(dict.fromkeys(known))
    longer = [name for name in names if name.endswith(f".{given}")]
    if longer:
        return longer[:_MOST]
    place, dot, last = given.rpartition(".")
    ends = {name.rpartition(".")[2]: name for name in reversed(names)}
    if near := difflib.get_close_matches(last, ends, 1, 0.75):
        same = [name for name in names if name.rpartition(".")[2] == near[0]]
        return sorted(same, key=lambda name: _unlike(given, name))[: _MOST if dot else 1] if place else same[:_MOST]
    return difflib.get_close_matches(given, names, _MOST, 0.6)


def meant(given: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: what may have been meant, or nothing.

    >>> meant("cwdn", ["cwnd", "rtt"]), meant("x", ["cwnd", "rtt"])
    ('; did you mean cwnd?', '')
    """
    near = nearest(given, known)
    return f"; did you mean {listed(near)}?" if near else ""


def only(
    name: str,
    known: Sequence[str],
    what: str,
    *,
    given: str | None = None,
    shown: Sequence[str] | None = None,
    spelled: Mapping[str, str] | None = None,
) -> str:
    """The name itself if it is known; otherwise an error that lists the known names and suggests the nearest.

    >>> only("quick", ["quick", "full"], "scale")
    'quick'
    """
    if name in known:
        return name
    close = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"; did you mean {(spelled or {}).get(close[0], close[0])!r}?" if close else ""
    raise UnknownName(f"no {what} is called {given or name!r}; there are {', '.join(shown or known)}{hint}")


def listed(names: Sequence[str], last: str = "or") -> str:
    """Names as one reads them out, with the word `last` before the last of several.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b"], "and")
    ('a', 'a, b or c', 'a and b')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _unlike(a: str, b: str) -> float:
    return -difflib.SequenceMatcher(None, a, b).ratio()
