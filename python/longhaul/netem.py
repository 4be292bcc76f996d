"""Lines of `tc netem` as links of scenarios, and back.

Sources: tc-netem(8), tc(8) for units, iproute2's `tc/q_netem.c` and Linux's `net/sched/sch_netem.c` for what they mean. Netem acts
on what leaves one interface, so that a line is one direction of a link.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from .errors import LonghaulError
from .units import read_quantity

#: Where iproute2 keeps its tables of distributions.
TABLES = (
    "/usr/lib/tc",
    "/usr/lib64/tc",
    "/usr/lib/x86_64-linux-gnu/tc",
    "/usr/lib/aarch64-linux-gnu/tc",
    "/usr/share/tc",
)
#: A value of those tables that is one deviation (`NETEM_DIST_SCALE`).
SCALE = 8192
#: Bytes of a full packet, by which packets on the wire are counted.
PACKET = 1500
#: Netem's `limit` where a line gives none.
LIMIT = 1000

#: Keywords in the order in which tc compares beginnings of them: the first that fits is meant.
_KEYWORDS = (
    "limit", "latency", "delay", "loss", "drop", "ecn", "reorder", "corrupt", "gap", "duplicate", "distribution", "rate", "slot",
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
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(.*)")


class NetemError(LonghaulError, ValueError):
    """A line that is not netem's."""


@dataclass
class Direction:
    """One direction of a link as settings of a scenario, and what they do not carry."""

    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@dataclass
class _Line:
    """What a line states, in ns, bit/s and shares."""

    #: What tc reads otherwise than most people write.
    surprises: list[str] = field(default_factory=list)
    limit: int = LIMIT
    delay: int = 0
    jitter: int = 0
    delay_correlation: float = 0.0
    distribution: str | None = None
    loss: dict[str, Any] | None = None
    loss_correlation: float = 0.0
    isolated: float = 0.0
    ecn: bool = False
    corrupt: tuple[float, float] = (0.0, 0.0)
    duplicate: tuple[float, float] = (0.0, 0.0)
    reorder: tuple[float, float] = (0.0, 0.0)
    gap: int = 0
    rate: int | None = None
    packet_overhead: int = 0
    cell: tuple[int, int] | None = None
    slot: str | None = None


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


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError("expected a whole number")
    return int(text)


def _read(text: str) -> _Line:
    words = _Words(text)
    if not words.words:
        raise NetemError("netem: the line is empty; write for instance 'delay 100ms loss 1% rate 10mbit'")
    if words.words[0][0] in ("tc", "sudo", "qdisc") or "netem" in text.split():
        names = [word for word, _ in words.words]
        if "netem" not in names:
            raise NetemError(f"netem: only lines of netem are read, and this one has no netem: {text.strip()!r}")
        words.next = names.index("netem") + 1
    line = _Line()
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


def _limit(words: _Words, line: _Line) -> None:
    line.limit = words.read("a number of packets", _whole)


def _delay(words: _Words, line: _Line) -> None:
    word = words.peek() or ""
    line.delay = words.read("a time", time_ns)
    if word.isdigit() and line.delay:
        line.surprises.append(f"delay {word}: tc's times without a unit are microseconds")
    jitter = words.optional(time_ns)
    if jitter is not None:
        line.jitter = jitter
        line.delay_correlation = words.optional(percent) or 0.0


def _loss(words: _Words, line: _Line) -> None:
    model = words.peek()
    if model in ("state", "gemodel"):
        words.next += 1
        first = words.read("a percentage", percent)
        more = [words.optional(percent) for _ in range(4 if model == "state" else 3)]
        if model == "state":
            # States 1 and 3: received, and lost in a burst; 2 is received within a burst, 4 a loss on its own.
            back = 1.0 - first if more[0] is None else more[0]
            line.loss = {"kind": "gilbert_elliott", "good_to_bad": first, "bad_to_good": back}
            within, isolated = more[1] or 0.0, more[3] or 0.0
            line.isolated = within + isolated
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


def _ecn(_words: _Words, line: _Line) -> None:
    line.ecn = True


def _pair(name: str) -> Callable[[_Words, _Line], None]:
    def read(words: _Words, line: _Line) -> None:
        setattr(line, name, (words.read("a percentage", percent), words.optional(percent) or 0.0))

    return read


def _gap(words: _Words, line: _Line) -> None:
    line.gap = words.read("a number of packets", _whole)


def _distribution(words: _Words, line: _Line) -> None:
    line.distribution = words.take("a distribution")


def _rate(words: _Words, line: _Line) -> None:
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


def _slot(words: _Words, line: _Line) -> None:
    begin = words.next
    words.take("a time")
    while (word := words.peek()) is not None and not any(
        one.startswith(word) for one in _KEYWORDS if one != "distribution"
    ):
        words.next += 1
    line.slot = " ".join(word for word, _ in words.words[begin : words.next])


_KEYWORD_READERS: dict[str, Callable[[_Words, _Line], None]] = {
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
}


def _time(ns: float) -> str:
    """A time as scenarios have it.

    >>> _time(80e6), _time(1500), _time(0)
    ('80 ms', '1.5 us', '0 s')
    """
    whole = round(ns)
    for name, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)):
        if whole >= scale and (whole * 1000) % scale == 0:
            return f"{whole / scale:.10g} {name}"
    return "0 s"


def _rate_text(bps: float) -> str:
    for name, scale in (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3)):
        if bps >= scale and (round(bps) * 1000) % scale == 0:
            return f"{bps / scale:.10g} {name}"
    return f"{round(bps)} bit/s"


def _share(share: float) -> float:
    return float(f"{share:.9g}")


def _table(name: str) -> list[float]:
    """The quantiles of a distribution in deviations: of iproute2's file of this name."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise NetemError(f"netem: distribution {name!r}: expected a name as in normal, pareto, paretonormal")
    for folder in TABLES:
        path = Path(folder) / f"{name}.dist"
        if path.is_file():
            numbers = [line for line in path.read_text().splitlines() if not line.startswith("#")]
            return [int(number) / SCALE for number in " ".join(numbers).split()]
    raise NetemError(
        f"netem: distribution {name!r}: there is no {name}.dist in {', '.join(TABLES)}; iproute2 brings pareto, normal and paretonormal"
    )


def _quantiles(name: str) -> list[float]:
    """101 quantiles in deviations, 1 % apart."""
    if name == "uniform":
        return [-1 + step / 50 for step in range(101)]
    values = _table(name)
    return [values[round(step * (len(values) - 1) / 100)] for step in range(101)]


def _delays(line: _Line, made: Direction) -> None:
    settings, notes = made.settings, made.notes
    settings["delay"] = _time(line.delay)
    if not line.jitter:
        return
    name = (line.distribution or "uniform").lower()
    delay, jitter = line.delay, line.jitter
    # What lies below the mean: one deviation of a uniform one, four of a normal one, two thirds of the Pareto table.
    least = {"uniform": 1.0, "normal": 4.0, "pareto": 2 / 3}.get(name)
    if least is not None and delay >= least * jitter:
        distribution: dict[str, Any] = {
            "uniform": {"kind": "uniform", "most": _time(2 * jitter)},
            "normal": {"kind": "normal", "mean": _time(4 * jitter), "deviation": _time(jitter)},
            "pareto": {"kind": "pareto", "mean": _time(2 * jitter / 3)},
        }[name]
        settings["delay"] = _time(delay - least * jitter)
        if name == "pareto":
            notes.append(
                f"pareto: netem's table ends at {_time(delay + 4 * jitter)}, which 1.1 % of the packets have; here the tail goes on"
            )
    else:
        drawn = [max(0, round(delay + jitter * quantile)) for quantile in _quantiles(name)]
        below = sum(delay + jitter * quantile < 0 for quantile in _quantiles(name))
        least_ns = min(drawn)
        values: list[int] = []
        for value in drawn:
            values.append(max(value - least_ns, values[-1] + 1 if values else 0))
        distribution = {"kind": "table", "values": [_time(value) for value in values]}
        settings["delay"] = _time(least_ns)
        if below:
            notes.append(
                f"{below} % of the delays would be negative; netem sends those packets at once, and so does this link"
            )
        notes.append(f"{name}: 101 values, 1 % of the packets between each two")
    settings["jitter"] = {"distribution": distribution}
    if line.rate is not None:
        notes.append(
            "with a rate netem keeps packets in order, each at least as late as the one before, so that its delays crowd at the upper "
            "end; here they keep their distribution"
        )
        if line.delay_correlation:
            notes.append("correlation of the delay is not carried: in order, the delay changes with time")
        return
    settings["jitter"]["overtaking"] = True
    if line.delay_correlation:
        settings["jitter"]["correlation"] = _share(line.delay_correlation)
        narrower = math.sqrt((1 - line.delay_correlation) / (1 + line.delay_correlation))
        notes.append(
            f"correlation of the delay: netem's spread shrinks to {100 * narrower:.0f} % of what is asked for, here it stays"
        )
    notes.append("packets overtake one another, as with netem; without `overtaking` they would keep their order")


def _reordering(line: _Line, made: Direction) -> None:
    probability, correlation = line.reorder
    if not probability:
        return
    gap = line.gap or 1
    early = 1 / (gap - 1 + 1 / probability)
    if line.jitter:
        made.notes.append("reorder together with a jitter is not carried: early packets would have the jitter too")
        return
    made.settings["delay"] = "0 s"
    made.settings["reordering"] = {"probability": _share(1 - early), "delay": _time(line.delay)}
    made.notes.append(
        f"reorder: {100 * early:.3g} % of the packets go at once, the others take {_time(line.delay)}: as an extra delay of those"
    )
    if gap > 1:
        made.notes.append(
            f"gap {gap}: the share is carried ({gap - 1} + 1/{probability:g} packets for each early one), the spacing is not"
        )
    if correlation:
        made.notes.append("correlation of reorder is not carried")


def _room(line: _Line, made: Direction, rate: int) -> None:
    """Netem's limit counts the packets on the wire as well, a queue's limit does not."""
    wire = math.ceil(rate * line.delay / 1e9 / 8 / PACKET)
    made.settings["queue"] = f"{max(1, line.limit - wire if wire < line.limit else line.limit)} packets"
    if wire >= line.limit:
        most = line.limit * PACKET * 8 / (line.delay / 1e9)
        made.notes.append(
            f"limit {line.limit} counts packets on the wire, and {_rate_text(rate)} x {_time(line.delay)} are {wire} of {PACKET} B: netem "
            f"would let through {most / 1e6:.3g} Mbit/s at most and drop the rest; this link does not"
        )
    elif wire:
        made.notes.append(
            f"limit {line.limit} counts packets on the wire: {wire} of {PACKET} B at {_rate_text(rate)}, so that "
            f"{line.limit - wire} wait at most"
        )


def read(text: str, interface_bps: int = 10**9) -> Direction:
    """The direction of a link that a line of netem makes of an interface of this rate, in bit/s.

    `text` is netem's part of the line, or the whole command of tc.

    >>> read("delay 100ms loss 1% rate 10mbit").settings
    {'rate': '10 Mbit/s', 'delay': '100 ms', 'loss': {'kind': 'random', 'probability': 0.01, 'place': 'before_queue'}, 'queue': '916 packets'}

    Raises:
        NetemError: netem does not read the line either; the message has the column.
    """
    line = _read(text)
    rate = line.rate or interface_bps
    made = Direction({"rate": _rate_text(rate)}, list(line.surprises))
    if line.rate is None:
        made.notes.append(f"the line has no rate: that of the interface counts, here {_rate_text(rate)} (--rate)")
    _delays(line, made)
    if line.loss:
        made.settings["loss"] = {
            key: _share(value) if isinstance(value, float) else value for key, value in line.loss.items()
        } | {"place": "before_queue"}
    if line.loss_correlation:
        made.notes.append(
            "the correlation of losses is not carried (with one, netem does not lose the share that is asked for); gemodel is"
        )
    if line.isolated:
        made.notes.append("loss state: the states 2 and 4 (p32, p23, p14) are not carried; the burst (p13, p31) is")
    if line.ecn:
        made.notes.append("ecn (marks in the place of random losses) is not carried")
    if line.corrupt[0]:
        made.settings["corruption"] = _share(line.corrupt[0])
    if line.duplicate[0]:
        made.settings["duplication"] = _share(line.duplicate[0])
        if line.rate:
            made.notes.append("duplicate: netem's copy takes capacity, here it takes none")
    for name, (_, correlation) in (("corrupt", line.corrupt), ("duplicate", line.duplicate)):
        if correlation:
            made.notes.append(f"correlation of {name} is not carried")
    _reordering(line, made)
    if line.rate:
        made.notes.append(
            f"rate: netem counts the Ethernet header too, so that {PACKET} B take the time of {PACKET + 14} B"
        )
    if line.packet_overhead or line.cell:
        made.notes.append("rate: overheads of packets and cells are not carried")
    if line.slot:
        made.notes.append(f"slot {line.slot} is not carried")
    _room(line, made, rate)
    return made


def link_text(
    there: Direction,
    back: Direction | None,
    name: str = "netem",
    ends: Sequence[str] = ("a", "b"),
    interface_bps: int = 10**9,
) -> str:
    """The table of a link in TOML, with a comment for each thing that it does not carry.

    Without `back`, the other direction has the rate of the interface, in bit/s.
    """
    from .toml import key, value

    made = [f"[[link]]\nname = {value(name)}\nends = {value(list(ends))}\n"]
    other = back or Direction(
        {"rate": _rate_text(interface_bps), "delay": "0 s"},
        [
            "no line is given for this direction: netem acts on what leaves one interface, so nothing is lost or delayed here, and the rate"
            " is that of the interface (--rate)"
        ],
    )
    for direction, one in (("forward", there), ("reverse", other)):
        lines = [f"# {note}\n" for note in one.notes]
        lines += [f"{key(setting)} = {value(content)}\n" for setting, content in one.settings.items()]
        made.append(f"[link.{direction}]\n" + "".join(lines))
    return "\n".join(made)


def _number(value: object, unit: str) -> float | None:
    found = read_quantity(value)
    return found[0] if found and found[1] == unit else None


def _percent_text(share: object) -> str:
    text = str(share)
    number = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
    return f"{100 * number:.9g}%"


def _time_text(seconds: float) -> str:
    ns = round(seconds * 1e9)
    for name, scale in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns >= scale and ns * 1000 % scale == 0:
            return f"{ns / scale:.10g}{name}"
    return f"{ns}ns" if ns else "0ms"


def _tc_rate(bps: float) -> str:
    for name, scale in (("gbit", 10**9), ("mbit", 10**6), ("kbit", 10**3)):
        if bps >= scale and round(bps) * 1000 % scale == 0:
            return f"{bps / scale:.10g}{name}"
    return f"{round(bps)}bit"


def write(settings: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Netem's line for one direction of a link in its resolved form, and what the line does not carry.

    >>> write({"rate": "10 Mbit/s", "delay": "100 ms", "queue": {"kind": "droptail", "limit": "100 packets"}})
    ('limit 184 delay 100ms rate 10mbit', [])
    """
    notes: list[str] = []
    for key, what in (("leo", "satellites that move"), ("trace", "a measurement")):
        if settings.get(key):
            raise NetemError(
                f"netem: the link {settings.get('name', '')} follows {what} ({key}), and a line of netem has one rate and one delay;"
                " longhaul-emu run plays the scenario"
            )
    rate, delay = _number(settings.get("rate"), "bit/s"), _number(settings.get("delay"), "s") or 0.0
    parts: list[str] = []
    queue = settings.get("queue") or {"kind": "droptail", "limit": "1000 packets"}
    waiting = _number(queue.get("limit"), "packets")
    if queue.get("kind") != "droptail":
        notes.append(
            f"queue {queue.get('kind')}: netem's own is first in, first out; put {queue.get('kind')} on another interface"
        )
    if waiting is None:
        bytes_ = _number(queue.get("limit"), "bytes")
        time_ = _number(queue.get("limit"), "s")
        products = re.fullmatch(r"([\d.]+) ?bdp", str(queue.get("limit")).strip().lower())
        if products:
            time_ = float(products[1]) * 2 * delay
            notes.append(f"limit: {queue.get('limit')} by a round trip of twice this delay, {_time_text(2 * delay)}")
        size = bytes_ if bytes_ is not None else (time_ or 0.0) * (rate or 0) / 8
        waiting = max(1.0, size / PACKET)
        notes.append(f"limit: netem counts packets; {queue.get('limit')} are taken for packets of {PACKET} B")
    jitter = settings.get("jitter")
    words = f"delay {_time_text(delay)}"
    if jitter:
        words = _jitter_words(jitter, delay, notes) or words
    reordering = settings.get("reordering")
    late = 0.0
    if reordering:
        late = _number(reordering.get("delay"), "s") or 0.0
        if delay == 0 and not jitter:
            early = 1 - float(reordering["probability"])
            words = f"delay {_time_text(late)} reorder {_percent_text(early)}"
        else:
            notes.append("reordering is not carried: netem's early packets have no delay at all")
    wire = math.ceil((rate or 0) * (delay + late) / 8 / PACKET)
    parts.append(f"limit {math.ceil(waiting) + wire}")
    if words != "delay 0ms":
        parts.append(words)
    loss = settings.get("loss")
    if loss:
        parts += _loss_words(loss, notes)
    corruption = settings.get("corruption")
    if corruption:
        share = corruption.get("probability") if isinstance(corruption, Mapping) else corruption
        if share is None:
            notes.append("corruption by a bit error rate is not carried: netem damages packets with one probability")
        else:
            parts.append(f"corrupt {_percent_text(share)}")
    if settings.get("duplication"):
        parts.append(f"duplicate {_percent_text(settings['duplication'])}")
    if rate is not None:
        parts.append(f"rate {_tc_rate(rate)}")
    known = {"rate", "delay", "queue", "jitter", "reordering", "loss", "corruption", "duplication", "name", "ends"}
    notes += [f"{name} is not carried" for name, value in settings.items() if name not in known and value]
    return " ".join(parts), notes


def _jitter_words(jitter: Any, delay: float, notes: list[str]) -> str | None:
    table = jitter if isinstance(jitter, Mapping) else {"distribution": jitter}
    distribution = table.get("distribution")
    if not isinstance(distribution, Mapping):
        distribution = {"kind": "uniform", "most": distribution}
    if table.get("overtaking"):
        notes.append("jitter: with a rate netem keeps packets in order; for overtaking, put rate on a netem of its own")
    else:
        notes.append("jitter: netem's packets wait for those before them, so that its delays crowd at the upper end")
    number = {
        key: _number(value, "s") or 0.0 for key, value in distribution.items() if key in ("most", "mean", "deviation")
    }
    correlation = f" {_percent_text(table['correlation'])}" if table.get("correlation") else ""
    match distribution.get("kind"):
        case "uniform":
            return f"delay {_time_text(delay + number['most'] / 2)} {_time_text(number['most'] / 2)}{correlation}"
        case "normal":
            mean, deviation = _time_text(delay + number["mean"]), _time_text(number["deviation"])
            return f"delay {mean} {deviation}{correlation} distribution normal"
        case "pareto" if distribution.get("shape", 3.0) == 3.0:
            mean, spread = _time_text(delay + number["mean"]), _time_text(1.5 * number["mean"])
            return f"delay {mean} {spread}{correlation} distribution pareto"
        case kind:
            notes.append(f"jitter with a {kind} distribution is not carried: it takes a table of iproute2's maketable")
            return None


def _loss_words(loss: Any, notes: list[str]) -> list[str]:
    table = loss if isinstance(loss, Mapping) else {"kind": "random", "probability": loss}
    if table.get("place", "wire") == "wire":
        notes.append("loss: netem loses packets before its rate, so that a lost one takes no capacity")
    match table["kind"]:
        case "random":
            return [f"loss {_percent_text(table['probability'])}"]
        case "gilbert_elliott":
            shares = [
                table["good_to_bad"],
                table["bad_to_good"],
                table.get("loss_in_bad", 1.0),
                table.get("loss_in_good", 0.0),
            ]
            return ["loss gemodel " + " ".join(_percent_text(share) for share in shares)]
        case kind:
            notes.append(f"loss of the kind {kind} is not carried")
            return []
