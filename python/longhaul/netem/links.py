"""A line of netem as a direction of a link, by what Linux's `net/sched/sch_netem.c` makes of it."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .line import LIMIT, Line, NetemError, parse
from .quantities import ETHERNET, PACKET, shown

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


def _spread(name: str, mean: int, jitter: int, notes: list[str]) -> tuple[int, dict[str, Any]]:
    """The shortest of times that netem draws, in ns, and how much longer they are, as a distribution of a scenario."""
    # What lies below the mean: one deviation of a uniform one, four of a normal one, two thirds of the Pareto table.
    least = {"uniform": 1.0, "normal": 4.0, "pareto": 2 / 3}.get(name)
    if least is not None and mean >= least * jitter:
        if name == "pareto":
            notes.append(
                f"pareto: netem's table ends at {_time(mean + 4 * jitter)}, which 1.1 % of the packets have; here the tail goes on"
            )
        return round(mean - least * jitter), {
            "uniform": {"kind": "uniform", "most": _time(2 * jitter)},
            "normal": {"kind": "normal", "mean": _time(4 * jitter), "deviation": _time(jitter)},
            "pareto": {"kind": "pareto", "mean": _time(2 * jitter / 3)},
        }[name]
    drawn = [max(0, round(mean + jitter * quantile)) for quantile in _quantiles(name)]
    below = sum(mean + jitter * quantile < 0 for quantile in _quantiles(name))
    least_ns = min(drawn)
    values: list[int] = []
    for value in drawn:
        values.append(max(value - least_ns, values[-1] + 1 if values else 0))
    if below:
        notes.append(
            f"{below} % of the delays would be negative; netem sends those packets at once, and so does this link"
        )
    notes.append(f"{name}: 101 values, 1 % of the packets between each two")
    return least_ns, {"kind": "table", "values": [_time(value) for value in values]}


def _delays(line: Line, made: Direction) -> None:
    settings, notes = made.settings, made.notes
    settings["delay"] = _time(line.delay)
    if not line.jitter:
        return
    least, distribution = _spread((line.distribution or "uniform").lower(), line.delay, line.jitter, notes)
    settings["delay"] = _time(least)
    settings["jitter"] = {"distribution": distribution}
    if line.delay_correlation:
        notes.append(
            f"correlation of the delay: netem takes the remainder of its correlated number, and remainders are independent, so that it has "
            f"no effect there (and none here); what the word means is jitter.correlation = {line.delay_correlation:g}"
        )
    if line.rate is not None:
        notes.append(
            "with a rate netem keeps packets in order, each at least as late as the one before, so that its delays crowd at the upper "
            "end; here they keep their distribution"
        )
        return
    if line.slot:
        notes.append(
            "with slots netem releases packets in the order of their delays, here in the order in which they were sent"
        )
        return
    settings["jitter"]["overtaking"] = True
    notes.append("packets overtake one another, as with netem; without `overtaking` they would keep their order")


def _share_of(what: str, probability: float, correlation: float, made: Direction) -> float:
    """How often something happens to packets that was asked for with a correlation."""
    if not correlation or not probability:
        return probability
    found, _ = _correlated(what, probability, correlation, made)
    made.notes.append(f"correlation of {what}: its share is carried, its bursts are not")
    return found


def _correlated(what: str, probability: float, correlation: float, made: Direction) -> tuple[float, float]:
    """The share of packets, and that of packets behind one of them, of netem's correlated numbers."""
    from .correlation import MOST, shares

    if correlation > MOST:
        raise NetemError(
            f"netem: a correlation of {what} above {MOST:.0%} leaves all packets as the first one is; it is not carried"
        )
    found = shares(probability, correlation)
    made.notes.append(
        f"{what} {100 * probability:g}% {100 * correlation:g}%: with this correlation netem's numbers crowd around one half, so that "
        f"{100 * found[0]:.3g} % of the packets are meant by it and not {100 * probability:g} %"
    )
    return found


def _losses(line: Line, made: Direction) -> None:
    if not line.loss:
        return
    loss = dict(line.loss)
    if line.loss_correlation and loss["kind"] == "random":
        often, again = _correlated("loss", loss["probability"], line.loss_correlation, made)
        if 0 < often < 1:
            # Two states with the same share, and the same probability that a loss follows a loss.
            loss = {
                "kind": "gilbert_elliott",
                "good_to_bad": often * (1 - again) / (1 - often),
                "bad_to_good": 1 - again,
            }
        else:
            loss["probability"] = often
    made.settings["loss"] = {
        key: _share(value) if isinstance(value, float) else value for key, value in loss.items()
    } | {"place": "before_queue"}


def _overhead(line: Line, made: Direction) -> None:
    """Bytes that netem's rate counts beside the packet."""
    if not line.rate:
        return
    if not line.packet_overhead and not line.cell:
        made.notes.append(
            f"rate: netem counts the Ethernet header too, so that {PACKET} B take the time of {PACKET + ETHERNET} B"
        )
        return
    whole = ETHERNET + line.packet_overhead
    made.settings["overhead"] = {"bytes": f"{max(0, whole)} B"}
    made.notes.append(
        f"rate: netem counts the Ethernet header too, {ETHERNET} B beside the {line.packet_overhead} B of the line"
    )
    if whole < 0:
        made.notes.append(f"rate: {-whole} B less than the packet has are not carried")
    if line.cell == (48, 5):
        made.settings["overhead"]["cells"] = "atm"
    elif line.cell:
        made.notes.append(
            f"rate: cells of {line.cell[0]} B with {line.cell[1]} B are not carried; those of ATM (48 5) are"
        )


def _slots(line: Line, made: Direction) -> None:
    """Slotted release."""
    slot = line.slot
    if slot is None:
        return
    if slot.distribution:
        least, distribution = _spread(slot.distribution.lower(), slot.least, slot.most, made.notes)
    else:
        least, distribution = slot.least, {"kind": "uniform", "most": _time(slot.most - slot.least)}
    made.settings["slots"] = {"least": _time(least)}
    if slot.distribution or slot.most > slot.least:
        made.settings["slots"]["distribution"] = distribution
    if slot.packets:
        made.settings["slots"]["packets"] = slot.packets
    if slot.bytes:
        made.settings["slots"]["bytes"] = f"{slot.bytes} B"
    if line.limit != LIMIT:
        made.settings["slots"]["limit"] = line.limit
    if line.delay > max(slot.most, slot.least):
        made.notes.append(
            "slot: the delay is longer than a slot; netem draws the next slot again with each packet that comes, here once for the packet "
            "that comes first"
        )


def _reordering(line: Line, made: Direction) -> None:
    probability, correlation = line.reorder
    if not probability:
        return
    if line.slot:
        made.notes.append("reorder together with slots is not carried")
        return
    probability = _share_of("reorder", probability, correlation, made)
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
    _losses(line, made)
    if line.ecn:
        made.notes.append("ecn (marks in the place of random losses) is not carried")
    if corrupt := _share_of("corrupt", *line.corrupt, made):
        made.settings["corruption"] = _share(corrupt)
    if duplicate := _share_of("duplicate", *line.duplicate, made):
        made.settings["duplication"] = _share(duplicate)
        if line.rate:
            made.notes.append("duplicate: netem's copy takes capacity, here it takes none")
    _reordering(line, made)
    _overhead(line, made)
    _slots(line, made)
    if line.seed is not None:
        made.notes.append(f"seed {line.seed}: that of a run is `--seed` of longhaul run, for all links")
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
