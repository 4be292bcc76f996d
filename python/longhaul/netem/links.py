"""A line of netem as a direction of a link, by what Linux's `net/sched/sch_netem.c` makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .line import Line, NetemError, parse
from .quantities import PACKET, shown

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


@dataclass
class Direction:
    """One direction of a link as settings of a scenario, and what they do not carry."""

    settings: dict[str, Any]
    notes: list[str] = field(default_factory=list)


#: A full queue that takes longer, in s, is worth a note.
LONG_WAIT_S = 2


def _time(ns: float) -> str:
    """A time as scenarios have it.

    >>> _time(80e6), _time(1500), _time(0)
    ('80 ms', '1.5 us', '0 s')
    """
    return shown(ns, {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}, " ") or "0 s"


def _rate_text(bps: float) -> str:
    return shown(bps, {"Gbit/s": 10**9, "Mbit/s": 10**6, "kbit/s": 10**3, "bit/s": 1}, " ")


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


def _delays(line: Line, made: Direction) -> None:
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


def _reordering(line: Line, made: Direction) -> None:
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


def _room(line: Line, made: Direction, rate: int) -> None:
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
    waiting = max(0, line.limit - wire) * PACKET * 8 / rate
    if waiting >= LONG_WAIT_S:
        made.notes.append(
            f"limit {line.limit}: a full queue of {PACKET} B packets takes {waiting:.2g} s at {_rate_text(rate)}"
        )


def read(text: str, interface_bps: int = 10**9) -> Direction:
    """The direction of a link that a line of netem makes of an interface of this rate, in bit/s.

    `text` is netem's part of the line, or the whole command of tc.

    >>> read("delay 100ms loss 1% rate 10mbit").settings
    {'rate': '10 Mbit/s', 'delay': '100 ms', 'loss': {'kind': 'random', 'probability': 0.01, 'place': 'before_queue'}, 'queue': '916 packets'}

    Raises:
        NetemError: netem does not read the line either; the message has the column.
    """
    line = parse(text)
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
    from ..toml import key, value

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
