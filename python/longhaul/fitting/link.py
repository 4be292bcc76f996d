"""The link of a fit, as settings and as a scenario with a download over it, and what that link does over time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import core, document, toml
from ..errors import LonghaulError
from .measured import Floats, Measured, Series
from .processes import fit_delay, fit_losses, fit_rate, handovers, phase_text, plain, time_text

#: Values of a model for each value of the measurement, and at most so many: its distribution is then known better.
LONGER, MOST = 20, 200_000
#: A scenario of a fit: a download over the link.
_SCENARIO = """\
name = "A download over a link like one that was measured"

[run]
duration = "{seconds} s"

[[flow]]
name = "download"
from = "ground"
to = "terminal"
tcp = {{ variant = "linux", congestion = "cubic" }}
"""


def link_of(measured: Measured, slot_s: float | None, averaged: bool, like: str | None) -> dict[str, Any]:
    """The settings of a link from `ground` to `terminal` (forward is down)."""
    model = _profile(like) if like else {"both": {}, "down": {}, "up": {}}
    missing = [name for name, one in (("rate down", measured.down), ("delay", measured.delay)) if one is None]
    if missing and not like:
        raise LonghaulError(
            f"the {' and the '.join(missing)} {'is' if len(missing) == 1 else 'are'} not measured by these files:"
            " give another file (--down, --delay), or --like starlink for what is missing"
        )
    link: dict[str, Any] = {"name": "link", "ends": ["ground", "terminal"]}
    wander: dict[str, list[dict[str, Any]]] = {"both": [], "forward": [], "reverse": []}
    of_profile = list(model["both"].get("wander", ()))
    #: What comes from the profile.
    taken: list[str] = []
    if measured.delay is not None:
        base, tables = fit_delay(measured.delay, slot_s, averaged)
        link["delay"] = f"{plain(1e3 * base, 7)} ms"
        wander["both"] += tables
    else:
        others = {key: model["both"][key] for key in ("delay", "jitter") if key in model["both"]}
        link |= others
        taken += [*others, *(["the delays of wander"] if any("delay" in table for table in of_profile) else [])]
        wander["both"] += [_only(table, "delay") for table in of_profile if "delay" in table]
    for side, series, other in (("forward", measured.down, "down"), ("reverse", measured.up, "up")):
        settings: dict[str, Any] = {}
        if series is not None:
            if slot_s and (broken := handovers(series, slot_s)):
                start, length, series = broken
                settings["outages"] = [
                    {
                        "start": phase_text(start, slot_s),
                        "every": time_text(slot_s),
                        "duration": time_text(length),
                        "mode": "hold",
                    }
                ]
            mean, tables = fit_rate(series)
            settings["rate"] = f"{plain(mean / 1e6, 6)} Mbit/s"
            wander[side] += tables
        elif like:
            settings["rate"] = model[other]["rate"]
            taken.append(f"the rate {other} and how it wanders")
            wander[side] += [_only(table, "rate") for table in of_profile if "spread" in table or "factors" in table]
        elif measured.down is not None:
            settings["rate"] = f"{plain(float(measured.down.values.mean()) / 1e7, 6)} Mbit/s"
            measured.notes.append("the rate up is not measured: a tenth of that down is assumed, and that it stays")
        settings["queue"] = {**model["both"], **model[other]}.get("queue", "100 ms")
        link[side] = settings
    measured.notes.append(
        f"queues are {f'those of the profile {like}' if like else 'assumed'}: {link['forward']['queue']} down, {link['reverse']['queue']} up"
    )
    for side in ("forward", "reverse"):
        # What a direction gives takes the place of the link's list.
        if wander[side]:
            link[side]["wander"] = wander[side] + wander["both"]
    if wander["both"] and not (wander["forward"] and wander["reverse"]):
        link["wander"] = wander["both"]
    loss = fit_losses(measured.losses, measured.mean_loss)
    if loss is not None:
        link["loss"] = loss
    elif measured.losses is None and measured.mean_loss is None:
        others = {key: model["both"][key] for key in ("loss", "outages") if key in model["both"]}
        link |= others
        taken += others
    if taken:
        measured.notes.append(f"not measured, and so of the profile {like}: {', '.join(taken)}")
    return link


def _only(table: Mapping[str, Any], what: str) -> dict[str, Any]:
    """What of a table of `wander` moves the rate, or the delay."""
    others = ("spread", "factors") if what == "delay" else ("delay",)
    return {key: value for key, value in table.items() if key not in others}


def _profile(name: str) -> dict[str, Any]:
    profiles = {one["name"]: one for one in core.registry()["profiles"]}
    if name not in profiles:
        raise LonghaulError(f"--like {name}: the profiles are {', '.join(profiles)}")
    found: dict[str, Any] = profiles[name]
    return found


def scenario_text(link: Mapping[str, Any], seconds: float = 120.0) -> str:
    """A scenario with this link and a download, as TOML."""
    lines = ["[[link]]"]
    for key, value in link.items():
        if key in ("forward", "reverse"):
            continue
        lines.append(f"{key} = {toml.value(value)}")
    for side in ("forward", "reverse"):
        if side in link:
            lines += ["", f"[link.{side}]"] + [f"{key} = {toml.value(value)}" for key, value in link[side].items()]
    head, _, flow = _SCENARIO.format(seconds=plain(seconds, 6)).partition("[[flow]]")
    return head + "\n".join(lines) + "\n\n[[flow]]" + flow


def modelled(link: Mapping[str, Any], side: str, what: str, like: Series) -> Floats:
    """Values of the model, so far apart as those of a measurement and many more of them."""
    many = max(min(LONGER * len(like.values), MOST), len(like.values))
    times = (np.arange(many) + 0.5) * like.step_s
    text = scenario_text(link, seconds=float(times[-1] + like.step_s))
    found = core.course(document.parse(text, "the fit"), 0 if side == "forward" else 1, times.tolist())
    return np.array([one[0 if what == "rate" else 1] for one in found])
