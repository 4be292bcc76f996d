"""The advice: rows in order, what was not tried, and how near the link's own limit is; as a table, HTML or JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from ..experience import Experience, mean
from ..units import counted, digits_apart, quantity, significant
from .diagnosis import Diagnosis
from .goal import Goal
from .least import Step, Turned
from .limits import Limit
from .race import SAME, Interval, Trial, interval
from .remedy import Remedy

#: Neighbours that lose or gain less are not worth a word.
_NEIGHBOUR = 0.05
#: Numbers that differ by less than this share are shown as equal.
_UNNOTICED = 0.002
#: What gives this share of the best factor stands before it if it is a smaller change.
NEARLY = 0.9


@dataclass(frozen=True)
class Untried:
    """A kind of remedy that was not run, and the reason."""

    title: str
    why: str


@dataclass(frozen=True)
class Row:
    """One remedy: the factor by which QoE improves, and what that costs."""

    remedy: Remedy
    #: Mean and interval of the factor's logarithm.
    gain: Interval
    #: "better", "worse", "nothing", or "uncertain" where the interval has no change in it.
    verdict: str
    #: Geometric means: as it is over all seeds, the same for every row, and with the remedy what its paired ratios make of that.
    before: Mapping[str, Experience]
    after: Mapping[str, Experience]
    groups: Sequence[str]
    #: What others pay, or gain.
    costs: tuple[str, ...]
    #: Why it helps, or why it does nothing.
    why: str

    @classmethod
    def of(
        cls, trial: Trial, base: Trial, remedy: Remedy, gain: Interval, verdict: str, found: Diagnosis, after: Diagnosis
    ) -> Row:
        """A row from a trial; `after` is the diagnosis with the remedy."""
        seed = min(trial.qoe)
        before = _means(list(base.qoe.values()))
        why = next((text for cause, text in found.findings.items() if cause in remedy.aims), "")
        why = why or next(
            (f"for {text}, which was not tested" for cause, text in found.untested.items() if cause in remedy.aims), ""
        )
        return cls(
            remedy,
            gain,
            verdict,
            before,
            _after(trial, base, before),
            tuple(found.groups),
            tuple(_costs(trial, base, found, after, seed)),
            why,
        )

    @property
    def title(self) -> str:
        """The change in words."""
        return self.remedy.title

    @property
    def factor(self) -> str:
        """The factor with its interval, as in "2.1 (1.9 to 2.4)"."""
        mean = math.exp(self.gain.mean)

        def shown(value: float) -> str:
            # Two decimals of a hundredth would be nothing.
            return f"{value:,.0f}" if mean >= 10 else f"{value:.2f}" if value >= 0.1 else significant(value, 2)

        text = shown(mean)
        if math.isfinite(self.gain.low) and self.gain.high - self.gain.low > 0.01:
            text += f" ({shown(math.exp(self.gain.low))} to {shown(math.exp(self.gain.high))})"
        return f"× {text}"

    @property
    def qoe(self) -> str:
        """QoE of each group, before and with it."""
        parts = []
        for name in self.groups:
            old, new = self.before[name], self.after.get(name)
            if new is None:
                continue
            shared = [metric for metric in old.values if metric in new.values]
            if not shared:
                continue
            prefix = f"{name}: " if len(self.groups) > 1 else ""
            # All of a group's numbers, since the factor is their mean.
            what = old.word(shared[0]).partition(",")[0]
            words = [
                old.word(metric) if not number else old.word(metric).removeprefix(f"{what}, ")
                for number, metric in enumerate(shared)
            ]
            pairs = []
            for word, metric in zip(words, shared, strict=True):
                two = [old.values[metric], new.values[metric]]
                # What nobody notices needs no digits that show it.
                differ = abs(two[1] - two[0]) > _UNNOTICED * abs(two[0])
                digits = digits_apart(two, old.unit(metric)) if differ else 3
                pairs.append(f"{word} {old.text(metric, digits)} → {new.text(metric, digits)}")
            parts.append(prefix + ", ".join(pairs))
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: factors, not logarithms."""
        low, high = (math.exp(v) if math.isfinite(v) else None for v in (self.gain.low, self.gain.high))
        return {
            "change": self.title,
            "place": self.remedy.place,
            "verdict": self.verdict,
            "factor": math.exp(self.gain.mean),
            "factor_low": low,
            "factor_high": high,
            "seeds": self.gain.n,
            "before": {name: dict(self.before[name].values) for name in self.groups},
            "after": {name: dict(self.after[name].values) for name in self.groups if name in self.after},
            "costs": list(self.costs),
            "why": self.why,
            "set": self.remedy.set_line,
            "settings": dict(self.remedy.settings),
            "linux": self.remedy.linux,
            "proxy": self.remedy.section,
        }


@dataclass(frozen=True)
class LeastChange:
    """A remedy at the least numbers that reach the goal, and what the next smaller change came to."""

    row: Row
    turned: tuple[Turned, ...]
    goal: Goal

    @property
    def title(self) -> str:
        """The change in words, with the numbers."""
        title = self.row.title
        return "; ".join(
            [title, *(f"{one.what} of {one.least.text}" for one in self.turned if one.least.text not in title)]
        )

    @property
    def text(self) -> str:
        """What the least numbers reach, and how near the next ones come."""
        return "; ".join(self._of(one) for one in self.turned)

    def _of(self, one: Turned) -> str:
        name = "" if len(self.turned) == 1 else f"{one.what} "
        notes = []
        if one.short.met:
            notes.append(f"{one.short.text} reaches it under {one.short.met} of {counted(one.short.reached.n, 'seed')}")
        if one.least.reached.n > 1 and one.least.reached.low <= self.goal.bound <= one.least.reached.high:
            notes.append("the interval holds the bound, so other seeds may miss it")
        if not one.settled:
            notes.append("the budget ended before a smaller change could be tried")
        means = [step.reached.mean for step in (one.least, one.short) if step.reached.n]
        digits = digits_apart([*means, self.goal.bound], self.goal.unit, 4)
        text = f"{name}{one.least.text}: {self._shown(one.least, digits)}; {one.short.text}: {self._shown(one.short, digits)}"
        return f"{text} ({'; '.join(notes)})" if notes else text

    def _shown(self, step: Step, digits: int = 4) -> str:
        """A step's mean with its interval, as in "4.9 s (4.8 s to 5 s)"."""
        found, unit = step.reached, self.goal.unit
        if not found.n:
            return "–"
        text = quantity(found.mean, unit, digits)
        if math.isfinite(found.low) and found.high - found.low > 0.002 * abs(found.mean):
            text += f" ({quantity(found.low, unit, 4)} to {quantity(found.high, unit, 4)})"
        return text

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        numbers = [
            {
                "what": one.what,
                "least": self._numbers(one.least),
                "next_smaller": self._numbers(one.short),
                "as_it_is": one.now,
                "tried": one.tried,
                "settled": one.settled,
            }
            for one in self.turned
        ]
        return {**self.row.to_dict(), "change": self.title, "numbers": numbers}

    @staticmethod
    def _numbers(step: Step) -> dict[str, Any]:
        low, high = (value if math.isfinite(value) else None for value in (step.reached.low, step.reached.high))
        mean = step.reached.mean if step.reached.n else None
        return {
            "value": step.text,
            "mean": mean,
            "low": low,
            "high": high,
            "seeds": step.reached.n,
            "reached": step.met,
        }


@dataclass(frozen=True)
class Advice:
    """The answer of `longhaul.advise`."""

    name: str
    groups: Sequence[str]
    #: In order: the first is the advice.
    rows: Sequence[Row]
    untried: Sequence[Untried]
    limits: Sequence[Limit]
    before: Mapping[str, Experience]
    #: What was found, with its evidence.
    findings: Mapping[str, str]
    runs: int
    seeds: int
    #: False if the budget ended before the first row could be distinguished from the next.
    told_apart: bool
    #: So many remedies that fit were not tried, since the budget had ended.
    out_of_budget: int = 0
    #: How long the run of the scenario as it is took.
    first_run_s: float = 0.0
    #: What the printed numbers are of, if that is not the stack that Linux's commands change.
    stack: str = ""
    goal: Goal | None = None
    goal_row: Row | None = None
    goal_met_already: bool = False
    #: Remedies at the least numbers that reach the goal, the smallest effort first.
    least: Sequence[LeastChange] = ()

    @property
    def best(self) -> Row | None:
        """The least change that reaches the goal; without a goal the first row that is better than no change."""
        if self.goal is not None:
            return self.goal_row
        return next(iter(self.better), None)

    @property
    def better(self) -> list[Row]:
        """The rows that help."""
        return [row for row in self.rows if row.verdict == "better"]

    @property
    def larger(self) -> Row | None:
        """The row with the largest factor, if the first is a smaller change that stands before it."""
        best = self.best
        if best is None or self.goal is not None:
            return None
        most = max(self.better, key=lambda row: row.gain.mean)
        return most if most.gain.mean > best.gain.mean + SAME else None

    @property
    def idle(self) -> list[Row]:
        """The rows that do nothing."""
        return [row for row in self.rows if row.verdict == "nothing"]

    @property
    def unsure(self) -> list[Row]:
        """The rows that may help: their effect is not certain with the seeds that they had."""
        return [row for row in self.rows if row.verdict == "uncertain" and row.gain.mean > 0]

    @property
    def worse(self) -> list[Row]:
        """The rows that make things worse; those of few seeds are not certain to."""
        return [
            row for row in self.rows if row.verdict == "worse" or (row.verdict == "uncertain" and row.gain.mean <= 0)
        ]

    @property
    def limit_reached(self) -> bool:
        """Whether every group has the QoE that the link allows, up to a tenth."""
        return bool(self.limits) and all(limit.reached for limit in self.limits)

    @property
    def headline(self) -> str:
        """The answer in one or two sentences."""
        if self.goal is not None:
            return self._of_goal()
        if self.best is None:
            # What happens to a link is no limit of it: without its outages it would carry more.
            if self.limit_reached and not {"outage", "changing link"} & set(self.findings):
                whose = dict.fromkeys(limit.whose for limit in self.limits)
                reached = (
                    f"{' and '.join(whose)} is reached" if len(whose) == 1 else f"{' and '.join(whose)} are reached"
                )
                return f"Nothing will help: {reached}. {self._limits()}"
            return f"{self._none()} {self._limits()}"
        best = self.best
        text = f"Change this: {best.title} ({best.remedy.place}). {best.qoe[:1].upper()}{best.qoe[1:]}, {best.factor}."
        if self.limit_reached:
            text += f" More cannot be had: {self._limits()}"
        if (row := self.larger) is not None:
            little = "little " if row.gain.mean <= best.gain.mean - math.log(NEARLY) else ""
            text += f" A larger change gives {little}more: {row.title} ({row.remedy.place}), {row.factor}."
        if not self.told_apart:
            text += " The budget ended before the best remedies could be distinguished."
        return text

    def _none(self) -> str:
        """Why there is no advice: nothing helps, or the budget was too small to see that."""
        tried, fit = len(self.rows), len(self.rows) + self.out_of_budget
        if not fit:
            return "No remedy fits what was found."
        if not self.out_of_budget and not self.unsure:
            return (
                "The one remedy that fits does not help." if fit == 1 else f"None of the {fit} remedies that fit helps."
            )
        seen = f"{tried} of {counted(fit, 'remedy', 'remedies')} tried" if self.out_of_budget else "all remedies tried"
        first = next((row for row in self.unsure if row.gain.mean > 0), None)
        promise = f" Most promising so far: {first.title}, {first.factor}." if first else ""
        if not tried:
            promise += f" The run of the scenario as it is took {quantity(self.first_run_s, 's', 2)}, and left no time for any."
        return f"No remedy is certain to help yet ({seen}): give a larger budget.{promise}"

    def _of_goal(self) -> str:
        assert self.goal is not None
        if self.goal_met_already:
            return f"The goal {self.goal.text} is reached as it is."
        if self.goal_row is None:
            best = next(iter(self.better), None)
            near = f" The best is {best.title}: {best.qoe}." if best else ""
            return f"Nothing that was tried reaches the goal {self.goal.text}.{near} {self._limits()}".strip()
        row = self.goal_row
        turned = next((one for one in self.least if one.row is row), None)
        title = turned.title if turned else row.title
        qoe = f"{row.qoe[:1].upper()}{row.qoe[1:]}"
        return f"The least change that reaches {self.goal.text}: {title} ({row.remedy.place}). {qoe}."

    def _limits(self) -> str:
        return " ".join(f"{limit.text[:1].upper()}{limit.text[1:]}." for limit in self.limits)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "name": self.name,
            "groups": list(self.groups),
            "headline": self.headline,
            "goal": self.goal.text if self.goal else None,
            "goal_reached": self.goal_met_already or self.goal_row is not None if self.goal else None,
            "best": self.best.to_dict() if self.best else None,
            "larger": self.larger.to_dict() if self.larger else None,
            "least": [one.to_dict() for one in self.least],
            "findings": dict(self.findings),
            "limits": [
                {"group": one.group, "bound": one.bound, "share": one.share, "reached": one.reached, "of": one.of}
                for one in self.limits
            ],
            "rows": [row.to_dict() for row in self.rows],
            "untried": [{"change": one.title, "why": one.why} for one in self.untried],
            "runs": self.runs,
            "seeds": self.seeds,
            "told_apart": self.told_apart,
            "out_of_budget": self.out_of_budget,
            "stack": self.stack,
        }

    def __str__(self) -> str:
        lines = [self.headline]
        for one in self.least:
            lines.append(f"least: {one.title}: {one.text}")
            lines.append(f"   {one.row.remedy.set_line}")
        for number, row in enumerate(self.better, 1):
            lines.append(f"{number}. {row.title}: {row.qoe}, {row.factor}")
            lines.append(f"   {row.remedy.set_line}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        rows = "".join(
            f"<tr><td>{number}</td><td>{escape(row.title)}</td><td>{escape(row.qoe)}</td><td>{escape(row.factor)}</td>"
            f"<td>{escape('; '.join(row.costs))}</td><td><code>{escape(row.remedy.set_line)}</code></td></tr>"
            for number, row in enumerate(self.better, 1)
        )
        head = "<tr><th></th><th>change</th><th>for the application</th><th>factor</th><th>others</th><th>setting</th></tr>"
        return f"<p>{escape(self.headline)}</p><table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _means(seeds: Sequence[Mapping[str, Experience]]) -> dict[str, Experience]:
    """Each group's experience over the seeds in which it has one."""
    names = dict.fromkeys(name for one in seeds for name in one)
    return {name: mean([one[name] for one in seeds if name in one]) for name in names}


def _after(trial: Trial, base: Trial, before: Mapping[str, Experience]) -> dict[str, Experience]:
    """What each group has with a remedy: the mean of its paired ratios times what all seeds have without it.

    Rows have different numbers of seeds; so all have one number before, and its ratio to the one after is the factor.
    """
    paired = sorted(trial.qoe.keys() & base.qoe.keys()) or sorted(trial.qoe)
    found = _means([trial.qoe[seed] for seed in paired])
    for name, one in found.items():
        values = dict(one.values)
        for metric in values:
            ratios = [
                math.log(trial.qoe[seed][name].values[metric] / base.qoe[seed][name].values[metric])
                for seed in paired
                if _has(trial, seed, name, metric) and _has(base, seed, name, metric)
            ]
            if ratios and name in before and metric in before[name].values:
                values[metric] = before[name].values[metric] * math.exp(math.fsum(ratios) / len(ratios))
        found[name] = replace(one, values=values)
    return found


def _has(trial: Trial, seed: int, name: str, metric: str) -> bool:
    return name in trial.qoe.get(seed, {}) and metric in trial.qoe[seed][name].values


def _costs(trial: Trial, base: Trial, found: Diagnosis, after: Diagnosis, seed: int) -> list[str]:
    """Costs for others: neighbours' experiences, the queue that they share, data that a proxy would lose with it."""
    costs = []
    for name, old in base.qoe[seed].items():
        new = trial.qoe[seed].get(name)
        if name in found.groups or new is None:
            continue
        gains = [
            trial.qoe[s][name].score - base.qoe[s][name].score
            for s in trial.qoe.keys() & base.qoe.keys()
            if name in trial.qoe[s] and name in base.qoe[s]
        ]
        told = interval(gains)
        if abs(told.mean) >= _NEIGHBOUR and not (told.n > 1 and told.low <= 0 <= told.high):
            costs.append(f"{name}: {old.word()} {old.text()} → {new.text()}")
    old_wait, new_wait = (_wait(one) for one in (found, after))
    if abs(new_wait - old_wait) > max(0.01, 0.2 * old_wait):
        costs.append(f"queueing delay p95 {quantity(old_wait, 's', 3)} → {quantity(new_wait, 's', 3)}")
    old_waste, new_waste = (resent(one.flows) for one in (found, after))
    if new_waste - old_waste > SAME:
        costs.append(f"retransmitted {quantity(old_waste, 'share', 2)} → {quantity(new_waste, 'share', 2)}")
    if trial.remedy and trial.remedy.cost:
        costs.append(trial.remedy.cost)
    if "middlebox" in trial.remedy.settings if trial.remedy else False:
        risk = max(
            (
                float(box["metrics"].get("undelivered_max_bytes") or 0.0)
                for box in trial.summaries[seed].get("middleboxes") or ()
            ),
            default=0.0,
        )
        if risk:
            costs.append(f"{quantity(risk, 'B', 3)} at risk in the proxy")
    return costs


def _wait(found: Diagnosis) -> float:
    return 0.0 if found.bottleneck is None else float(found.bottleneck["metrics"].get("queue_delay_p95_s") or 0.0)


def resent(flows: Sequence[Mapping[str, Any]]) -> float:
    """The share of the packets that flows sent again."""
    sent = math.fsum(float(flow["metrics"].get("sent_packets") or 0.0) for flow in flows)
    again = math.fsum(float(flow["metrics"].get("retransmitted_packets") or 0.0) for flow in flows)
    return again / sent if sent else 0.0
