"""Lines of netem as tc reads them: tc-netem(8), tc(8) for units, iproute2's `tc/q_netem.c`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..errors import LonghaulError

#: Netem's `limit` where a line gives none.
LIMIT = 1000

#: Keywords in the order in which tc compares beginnings of them: the first that fits is meant.
_KEYWORDS = (
    "limit", "latency", "delay", "loss", "drop", "ecn", "reorder", "corrupt", "gap", "duplicate", "distribution", "rate", "slot", "seed",
)  # fmt: skip
_TIMES = {
    **dict.fromkeys(("s", "sec", "secs"), 10**9),
    **dict.fromkeys(("ms", "msec", "msecs"), 10**6),
    **dict.fromkeys(("us", "usec", "usecs"), 10**3),
    **dict.fromkeys(("ns", "nsec", "nsecs"), 1),
}
_RATES = {
    prefix + unit: factor * bits
    for prefix, factor in (
        ("", 1), ("k", 10**3), ("m", 10**6), ("g", 10**9), ("t", 10**12),
        ("ki", 2**10), ("mi", 2**20), ("gi", 2**30), ("ti", 2**40),
    )
    for unit, bits in (("bit", 1), ("bps", 8))
}  # fmt: skip
#: Units of sizes; a number alone is in bytes.
_SIZES = {
    "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30,
    "kbit": 2**7, "mbit": 2**17, "gbit": 2**27,
}  # fmt: skip
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(.*)")


class NetemError(LonghaulError, ValueError):
    """A line that is not netem's."""


@dataclass
class Slot:
    """When slots open: between two times in ns, or by a distribution with mean and jitter; 0 packets or bytes are any number."""

    least: int = 0
    most: int = 0
    distribution: str | None = None
    packets: int = 0
    bytes: int = 0


@dataclass
class Line:
    """The settings of a line, in ns, bit/s and shares."""

    #: What tc reads otherwise than most people write.
    surprises: list[str] = field(default_factory=list)
    limit: int = LIMIT
    delay: int = 0
    jitter: int = 0
    delay_correlation: float = 0.0
    distribution: str | None = None
    loss: dict[str, Any] | None = None
    loss_correlation: float = 0.0
    ecn: bool = False
    corrupt: tuple[float, float] = (0.0, 0.0)
    duplicate: tuple[float, float] = (0.0, 0.0)
    reorder: tuple[float, float] = (0.0, 0.0)
    gap: int = 0
    rate: int | None = None
    packet_overhead: int = 0
    cell: tuple[int, int] | None = None
    slot: Slot | None = None
    seed: int | None = None


class _Words:
    """The words of a line, with the column of each for messages."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [(match.group(), match.start() + 1) for match in re.finditer(r"\S+", text)]
        self.next = 0

    def peek(self) -> str | None:
        return self.words[self.next][0] if self.next < len(self.words) else None

    def take(self, what: str) -> str:
        word = self.peek()
        if word is None:
            raise NetemError(f"netem: the line ends where {what} is expected: {self.text!r}")
        self.next += 1
        return word

    def wrong(self, message: str) -> NetemError:
        """An error at the word that was taken last."""
        word, column = self.words[max(0, self.next - 1)]
        return NetemError(f"netem: column {column}, {word!r}: {message}")

    def read(self, what: str, reader: Callable[[str], Any]) -> Any:
        word = self.take(what)
        try:
            return reader(word)
        except ValueError as error:
            hint = ""
            if what in ("a percentage", "a value") and "," in word:
                hint = "; write a point, as in 0.5%"
            raise self.wrong(
                f"{error}{hint}" if what == "a value" else f"{error}; {what} is expected here{hint}"
            ) from None

    def optional(self, reader: Callable[[str], Any]) -> Any:
        """The next word as a value if it is one, else `None`: as tc does, what begins with a digit is one."""
        word = self.peek()
        return self.read("a value", reader) if word is not None and (word[0].isdigit() or word[0] == ".") else None


def _split(text: str) -> tuple[Fraction, str]:
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError("expected a number")
    return Fraction(match[1].rstrip(".")), match[2]


def time_ns(text: str) -> int:
    """A time of tc in ns; a number alone is in microseconds.

    >>> time_ns("100ms"), time_ns("100"), time_ns("1.5s")
    (100000000, 100000, 1500000000)
    """
    number, unit = _split(text)
    if unit and unit.lower() not in _TIMES:
        raise ValueError(f"{unit!r} is not one of tc's units of time (s, ms, us, ns; none: us)")
    return round(number * _TIMES[unit.lower() or "us"])


def rate_bps(text: str) -> int:
    """A rate of tc in bit/s: `bit` are bits, `bps` are bytes, and a number alone is in bits.

    >>> rate_bps("1mbit"), rate_bps("1mbps"), rate_bps("1Mibit"), rate_bps("9600")
    (1000000, 8000000, 1048576, 9600)
    """
    number, unit = _split(text)
    if unit and unit.lower() not in _RATES:
        raise ValueError(
            f"{unit!r} is not one of tc's units of rate (kbit, mbit, gbit; kbps, mbps in bytes; none: bit)"
        )
    return round(number * _RATES[unit.lower() or "bit"])


def percent(text: str) -> float:
    """A percentage of tc as a share; the sign may be left out.

    >>> percent("0.1%"), percent("0.1"), percent("100%")
    (0.001, 0.001, 1.0)
    """
    number, sign = _split(text)
    if sign not in ("", "%") or number > 100:
        raise ValueError("expected a percentage from 0% to 100%")
    return float(number / 100)


def size_bytes(text: str) -> int:
    """A size of tc in bytes; its k is 1024.

    >>> size_bytes("64k"), size_bytes("1500"), size_bytes("1mbit")
    (65536, 1500, 131072)
    """
    number, unit = _split(text)
    if unit and unit.lower() not in _SIZES:
        raise ValueError(f"{unit!r} is not one of tc's units of size (b, k, m, g, kbit; none: b)")
    return round(number * _SIZES[unit.lower() or "b"])


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError("expected a whole number")
    return int(text)


def parse(text: str) -> Line:
    """The settings of a line: of netem's part of it, or the whole command of tc.

    Raises:
        NetemError: tc does not read the line either; the message has the column.
    """
    words = _Words(text)
    if not words.words:
        raise NetemError("netem: the line is empty; write for instance 'delay 100ms loss 1% rate 10mbit'")
    if words.words[0][0] in ("tc", "sudo", "qdisc") or "netem" in text.split():
        names = [word for word, _ in words.words]
        if "netem" not in names:
            raise NetemError(f"netem: only lines of netem are read, and this one has no netem: {text.strip()!r}")
        words.next = names.index("netem") + 1
    line = Line()
    given: set[str] = set()
    while words.peek() is not None:
        word = words.take("a keyword")
        keyword = next((one for one in _KEYWORDS if one.startswith(word)), None)
        if keyword is None:
            unit = word.lower() in _TIMES or word.lower() in _RATES or word == "%"
            hint = "; a unit follows its number without a space, as in 100ms" if unit else ""
            raise words.wrong(f"netem has no such keyword; it has {', '.join(_KEYWORDS)}{hint}")
        given.add({"latency": "delay", "drop": "loss"}.get(keyword, keyword))
        _KEYWORD_READERS[keyword](words, line)
    if line.reorder[0] and not line.delay:
        raise NetemError("netem: reorder sends packets without the delay of the others, so it takes a delay")
    if line.gap and not line.reorder[0]:
        raise NetemError("netem: gap takes the probability of reorder, as in 'delay 10ms reorder 25% gap 5'")
    if line.distribution and not line.jitter:
        raise NetemError(
            "netem: a distribution takes a delay and a jitter, as in 'delay 100ms 20ms distribution normal'"
        )
    return line


def _limit(words: _Words, line: Line) -> None:
    line.limit = words.read("a number of packets", _whole)
    if not line.limit:
        raise NetemError("netem: limit 0 lets no packet through; write 1 or more, or leave it out for 1000")


def _delay(words: _Words, line: Line) -> None:
    word = words.peek() or ""
    line.delay = words.read("a time", time_ns)
    if word.isdigit() and line.delay:
        line.surprises.append(f"delay {word}: tc's times without a unit are microseconds")
    jitter = words.optional(time_ns)
    if jitter is not None:
        line.jitter = jitter
        line.delay_correlation = words.optional(percent) or 0.0


def _loss(words: _Words, line: Line) -> None:
    model = words.peek()
    if model in ("state", "gemodel"):
        words.next += 1
        first = words.read("a percentage", percent)
        more = [words.optional(percent) for _ in range(4 if model == "state" else 3)]
        if model == "state":
            # States 1 and 3: received, and lost in a burst; 2 is received within a burst, 4 a loss on its own.
            back, pause, resume, isolated = (
                value if given is None else given
                for given, value in zip(more, (1.0 - first, 0.0, 1.0, 0.0), strict=True)
            )
            if pause or isolated:
                line.loss = {
                    "kind": "four_states", "begin": first, "end": back, "pause": pause, "resume": resume, "isolated": isolated,
                }  # fmt: skip
            else:
                line.loss = {"kind": "gilbert_elliott", "good_to_bad": first, "bad_to_good": back}
        else:
            back = 1.0 - first if more[0] is None else more[0]
            line.loss = {"kind": "gilbert_elliott", "good_to_bad": first, "bad_to_good": back}
            for key, share in (("loss_in_bad", more[1]), ("loss_in_good", more[2])):
                if share is not None:
                    line.loss[key] = share
        return
    if model == "random":
        words.next += 1
    line.loss = {"kind": "random", "probability": words.read("a percentage", percent)}
    line.loss_correlation = words.optional(percent) or 0.0


def _ecn(_words: _Words, line: Line) -> None:
    line.ecn = True


def _pair(name: str) -> Callable[[_Words, Line], None]:
    def read(words: _Words, line: Line) -> None:
        setattr(line, name, (words.read("a percentage", percent), words.optional(percent) or 0.0))

    return read


def _gap(words: _Words, line: Line) -> None:
    line.gap = words.read("a number of packets", _whole)


def _distribution(words: _Words, line: Line) -> None:
    line.distribution = words.take("a distribution")


def _rate(words: _Words, line: Line) -> None:
    word = words.peek() or ""
    line.rate = words.read("a rate", rate_bps)
    if word.lower().endswith("bps"):
        line.surprises.append(f"rate {word}: tc's bps are bytes per second, its bit are bits")
    if not line.rate:
        raise words.wrong("a rate of 0 sends nothing")
    following = words.peek()
    if following is not None and following.lstrip("-").isdigit():
        words.next += 1
        line.packet_overhead = int(following)
        cell = words.optional(_whole)
        if cell:
            line.cell = (cell, words.optional(_whole) or 0)


def _slot(words: _Words, line: Line) -> None:
    slot = Slot()
    if words.peek() == "distribution":
        words.next += 1
        slot.distribution = words.take("a distribution")
        slot.least, slot.most = words.read("a time", time_ns), words.read("a time", time_ns)
    else:
        slot.least = words.read("a time", time_ns)
        most = words.optional(time_ns)
        slot.most = slot.least if most is None else most
        if slot.most < slot.least:
            raise words.wrong("the longest time of a slot must not be below the shortest one")
    while (word := words.peek()) is not None and word in ("packets", "bytes"):
        words.next += 1
        if word == "packets":
            slot.packets = words.read("a number of packets", _whole)
        else:
            slot.bytes = words.read("a size", size_bytes)
    line.slot = slot


def _seed(words: _Words, line: Line) -> None:
    line.seed = words.read("a number", _whole)


_KEYWORD_READERS: dict[str, Callable[[_Words, Line], None]] = {
    "limit": _limit,
    "latency": _delay,
    "delay": _delay,
    "loss": _loss,
    "drop": _loss,
    "ecn": _ecn,
    "reorder": _pair("reorder"),
    "corrupt": _pair("corrupt"),
    "gap": _gap,
    "duplicate": _pair("duplicate"),
    "distribution": _distribution,
    "rate": _rate,
    "slot": _slot,
    "seed": _seed,
}
