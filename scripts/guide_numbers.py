"""The measured numbers in the guide's text: each sentence with blanks, and what belongs there, from the results that
the guide's commands leave behind. scripts/make-guide fills them in, and complains of a sentence that it cannot find.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import longhaul
import polars as pl
from longhaul.units import significant


@dataclass(frozen=True)
class Sentence:
    """A piece of text with `{}` for each number, and the function that computes these."""

    text: str
    numbers: Callable[[], Sequence[str]]

    def pattern(self) -> re.Pattern[str]:
        """Finds the sentence, wherever its lines are broken."""
        words = [re.escape(word).replace(r"\{\}", r"([\d.,]*\d)") for word in self.text.split()]
        return re.compile(r"\s+".join(words))


def run(name: str) -> Any:
    """A result of the guide's commands."""
    return longhaul.load(f"results/{name}")


def beginning() -> list[str]:
    """Slow start over the geostationary link: the largest cwnd, what it lost, and when the timer fired."""
    result = run("geo")
    early = result.events.filter(pl.col("time_s") < 20)
    timeout = early.filter(kind="timeout")["time_s"][0]
    lost = early.filter(kind="drop").height
    return [f"{result.flows['cwnd_bytes'].max() / 1e6:.1f}", str(lost), f"{timeout:.0f}"]


def mathis() -> list[str]:
    """Mathis' formula for the two flows at 1 % loss, and the share of time in recovery."""
    flows = run("loss").summary["flows"]
    rates = [f"{flow['predicted']['mathis_bps'] / 1e6:.2f}" for flow in flows]
    return [*rates, f"{max(flow['limited']['recovery'] for flow in flows) * 100:.0f}"]


def variants() -> list[str]:
    """By how much one seed says that SACK is better than NewReno, and by how much ten do."""
    sack, newreno = (flow["metrics"]["goodput_bps"] for flow in run("loss").summary["flows"])
    paired = run("variants").paired("group.sack.goodput_bps", "flow.sack.tcp.variant", "sack")
    row = paired.filter(pl.col("flow.sack.tcp.variant") == "newreno").row(0, named=True)
    half = (row["ci95_high"] - row["ci95_low"]) / 2
    return [f"{(sack - newreno) / 1e6:.2f}", f"{-row['mean'] / 1e6:.3f}", f"{half / 1e6:.3f}"]


def slowest_and_fastest() -> list[str]:
    """Of fifty flows."""
    rates = sorted(flow["metrics"]["goodput_bps"] for flow in run("fifty").summary["flows"])
    return [significant(rates[0] / 1e6), significant(rates[-1] / 1e6)]


def fade() -> list[str]:
    """Goodput of all flows before the fade and in it, and how long the last flow waits after the outage."""
    flows = run("rain").flows

    def goodput(begin: float, end: float) -> float:
        """Mean of the sum over flows of the samples that end after `begin` and up to `end`, in Mbit/s."""
        part = flows.filter((pl.col("time_s") > begin) & (pl.col("time_s") <= end))
        return part["goodput_bps"].sum() / part["time_s"].n_unique() / 1e6

    sending = flows.filter((pl.col("time_s") > 80) & (pl.col("throughput_bps") > 0))
    last = sending.group_by("flow").agg(pl.col("time_s").min())["time_s"].max() - 0.5
    return [f"{goodput(40, 60):.1f}", f"{goodput(62, 70):.1f}", f"{goodput(80, 85):.1f}", f"{last:g}", f"{last - 80:g}"]


def two_ways() -> list[str]:
    """How long the file takes over one link and over the other."""
    near, far = (
        longhaul.run("ship.toml", set=change, tables=False).summary["flows"][0]["metrics"]["completion_time_s"]
        for change in ({}, {"link.leo.delay": "300 ms"})
    )
    return [significant(near), significant(far)]


SENTENCES = [
    Sentence("cwnd reaches {} MB and {} packets are lost within the first 20 s", lambda: beginning()[:2]),
    Sentence("only the timer at {} s helps", lambda: beginning()[2:]),
    Sentence("gives {} and {} Mbit/s at the measured RTT", lambda: mathis()[:2]),
    Sentence("the time in recovery ({} %)", lambda: mathis()[2:]),
    Sentence(
        "SACK is better by {} Mbit/s with this seed, but one seed proves nothing. Over ten seeds (lesson 9) the"
        " difference is {} ± {} Mbit/s.",
        variants,
    ),
    Sentence("The slowest flow has {}, the fastest {} Mbit/s.", slowest_and_fastest),
    Sentence("{} Mbit/s before; from 62 to 70 s {} of 10 Mbit/s", lambda: fade()[:2]),
    Sentence("**from 80 to 85 s {} Mbit/s**", lambda: fade()[2:3]),
    Sentence("waits until {} s, {} s after the link is back", lambda: fade()[3:]),
    Sentence("The file takes {} s over `leo`.", lambda: two_ways()[:1]),
    Sentence("and it takes {} s.", lambda: two_ways()[1:]),
]


def current(text: str) -> tuple[str, list[str]]:
    """The guide's text with its numbers as they are now, and a complaint for each sentence that is not in it."""
    complaints = []
    for sentence in SENTENCES:
        found = sentence.pattern().search(text)
        if found is None:
            complaints.append(f"this sentence of scripts/guide_numbers.py is not there: {sentence.text}")
            continue
        for group, number in reversed(list(enumerate(sentence.numbers(), 1))):
            text = text[: found.start(group)] + number + text[found.end(group) :]
    return text, complaints
