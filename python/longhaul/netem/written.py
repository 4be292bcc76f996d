"""A direction of a link as a line of netem."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..units import read_in, read_limit, read_quantity
from .line import LIMIT, NetemError
from .quantities import ETHERNET, PACKET, shown


def _percent_text(share: object) -> str:
    text = str(share)
    number = float(text.rstrip("% ")) / (100 if text.endswith("%") else 1)
    return f"{100 * number:.9g}%"


def _time_text(seconds: float) -> str:
    return shown(seconds * 1e9, {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}, "") or "0ms"


def _rate_text(bps: float) -> str:
    return shown(bps, {"gbit": 10**9, "mbit": 10**6, "kbit": 10**3, "bit": 1}, "")


def write(settings: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Netem's line for one direction of a link in its resolved form, and what the line does not carry.

    >>> write({"rate": "10 Mbit/s", "delay": "100 ms", "queue": {"kind": "droptail", "limit": "100 packets"}})
    ('limit 184 delay 100ms rate 10mbit', [])
    """
    notes: list[str] = []
    names = {
        "leo": "satellites that move",
        "trace": "a measurement",
        "acm": "its signal",
        "wander": "a random course",
        "carrier": "a carrier that others share",
    }
    for key, what in names.items():
        if settings.get(key):
            raise NetemError(
                f"netem: the link {settings.get('name', '')} follows {what} ({key}), and a line of netem has one rate and one delay;"
                " longhaul-emu run plays the scenario"
            )
    rate, delay = read_in(settings.get("rate"), "bit/s"), read_in(settings.get("delay"), "s") or 0.0
    parts: list[str] = []
    queue = settings.get("queue") or {"kind": "droptail"}
    if queue.get("kind") != "droptail":
        notes.append(
            f"queue {queue.get('kind')}: netem's own is first in, first out; put {queue.get('kind')} on another interface"
        )
    limit = queue.get("limit", f"{LIMIT} packets")
    waiting = max(1.0, (read_limit(limit, PACKET, rate or 0.0, 2 * delay) or 0.0) / PACKET)
    unit = (read_quantity(limit) or (0.0, ""))[1]
    if unit == "bdp":
        notes.append(f"limit: {limit} by a round trip of twice this delay, {_time_text(2 * delay)}")
    if unit != "packets":
        notes.append(f"limit: netem counts packets; {limit} are taken for packets of {PACKET} B")
    jitter = settings.get("jitter")
    words = f"delay {_time_text(delay)}"
    if jitter:
        words = _jitter_words(jitter, delay, notes) or words
    reordering = settings.get("reordering")
    late = 0.0
    if reordering:
        late = read_in(reordering.get("delay"), "s") or 0.0
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
        parts.append(f"rate {_rate_text(rate)}{_overhead_words(settings.get('overhead'), notes)}")
    elif settings.get("overhead"):
        notes.append("not carried: overhead (netem counts it with a rate only)")
    parts += _slot_words(settings.get("slots"), notes)
    known = {
        "rate", "delay", "queue", "jitter", "reordering", "loss", "corruption", "duplication", "overhead", "slots", "name", "ends",
    }  # fmt: skip
    notes += [f"not carried: {name}" for name, value in settings.items() if name not in known and value]
    return " ".join(parts), notes


def _overhead_words(overhead: Any, notes: list[str]) -> str:
    """The words behind a rate: bytes beside those of Ethernet's header, which netem counts by itself, and cells."""
    if not isinstance(overhead, Mapping):
        notes += [f"not carried: overhead {overhead!r}"] if overhead else []
        return ""
    if overhead.get("mpu"):
        notes.append("overhead: a least length (mpu) is not carried")
    cells = overhead.get("cells", "none")
    if cells == "ptm":
        notes.append("overhead: PTM's byte for each 64 is not carried; netem has whole cells")
    words = f" {round((read_quantity(overhead.get('bytes')) or (0.0, ''))[0]) - ETHERNET}"
    return words + (" 48 5" if cells == "atm" else "")


def _slot_words(slots: Any, notes: list[str]) -> list[str]:
    """Slotted release."""
    if not isinstance(slots, Mapping):
        return []
    least = read_in(slots.get("least"), "s") or 0.0
    distribution = slots.get("distribution") or {"kind": "uniform", "most": "0 s"}
    if not isinstance(distribution, Mapping):
        distribution = {"kind": "uniform", "most": distribution}
    times = {key: read_in(distribution.get(key), "s") or 0.0 for key in ("most", "mean", "deviation")}
    match distribution["kind"]:
        case "uniform":
            words = f"slot {_time_text(least)} {_time_text(least + times['most'])}"
        case "normal":
            words = f"slot distribution normal {_time_text(least + times['mean'])} {_time_text(times['deviation'])}"
        case kind:
            notes.append(f"slots with a {kind} distribution are not carried: it takes a table of iproute2's maketable")
            return []
    if slots.get("limit", LIMIT) != LIMIT:
        notes.append("slots: limit is not carried")
    if slots.get("packets"):
        words += f" packets {slots['packets']}"
    if slots.get("bytes"):
        words += f" bytes {round((read_quantity(slots['bytes']) or (0.0, ''))[0])}"
    return [words]


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
        key: read_in(value, "s") or 0.0 for key, value in distribution.items() if key in ("most", "mean", "deviation")
    }
    if table.get("correlation"):
        notes.append(
            "jitter.correlation is not carried: netem's correlation of delays has no effect, since it takes remainders"
        )
    match distribution.get("kind"):
        case "uniform":
            return f"delay {_time_text(delay + number['most'] / 2)} {_time_text(number['most'] / 2)}"
        case "normal":
            mean, deviation = _time_text(delay + number["mean"]), _time_text(number["deviation"])
            return f"delay {mean} {deviation} distribution normal"
        case "pareto" if distribution.get("shape", 3.0) == 3.0:
            mean, spread = _time_text(delay + number["mean"]), _time_text(1.5 * number["mean"])
            return f"delay {mean} {spread} distribution pareto"
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
        case "four_states":
            keys = ("begin", "end", "pause", "resume", "isolated")
            shares = [table.get(key, 1.0 if key == "resume" else 0.0) for key in keys]
            return ["loss state " + " ".join(_percent_text(share) for share in shares)]
        case kind:
            notes.append(f"loss of the kind {kind} is not carried")
            return []
