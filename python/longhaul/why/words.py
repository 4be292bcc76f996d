"""A waterfall in sentences, as rows of a table, and as plain data."""

from __future__ import annotations

import math
from typing import Any

from ..units import quantity, significant
from .case import SHAPERS
from .engine import Effect
from .waterfall import WORTH, Step, Tried, Waterfall

#: With this share of its ideal a flow nearly has what its path allows.
_NEARLY = 0.85
#: With so much more than its ideal a flow has what was the share of others, or was for them to take.
_BEYOND = 1.05


def paragraph(found: Waterfall, seeds: int = 1) -> str:
    """Limits of a group, by effect; then what made no difference, and how much stays unexplained."""
    return " ".join(part for part in parts(found) if part)


def parts(found: Waterfall) -> tuple[str, str, str]:
    """The same in three parts: the verdict; the causes; what made no difference, and what was not tested."""
    flows = f" ({found.count:,} flows)" if found.count > 1 else ""
    verdict = f"{found.group}{flows}: {found.metric} {found.text}"
    if found.ideal and found.text.startswith("never"):
        verdict += f", ideal {_value(found, found.ideal.value)}: {found.ideal.text}"
    elif found.ideal:
        share = math.exp(-found.ideal.gap(found.value))
        part = f"{quantity(min(1.0, share), 'share', 2)} of" if share < _BEYOND else "better than"
        verdict += f", {part} its ideal ({_value(found, found.ideal.value)}: {found.ideal.text})"
    nearly = _is_nearly_full(found)
    causes = []
    if nearly:
        causes.append(
            f"Nearly fills {found.path[0].clause.removeprefix('the rate of ')}: only a faster {_filled(found.path[0])} makes it much faster."
        )
    for number, (step, outcome) in enumerate(zip(found.steps, _outcomes(found), strict=True)):
        causes.append(
            f"{'Then by' if number else 'The rest is lost to' if nearly else 'Limited by'} {_clauses(step)}: without {'it' if len(step.causes) == 1 else 'all of these'} {outcome} ({_factor(step.effect)})."
        )
    if not nearly and (left := _rest(found).strip()):
        causes.append(left)
    rest = []
    worse = [one for one in found.without_effect if one.effect.factor < 1 / WORTH]
    none = [one for one in found.without_effect if one not in worse]
    for words, some in (("These made no difference", none), ("Without these it is worse", worse)):
        if some:
            rest.append(f"{words}: {'; '.join(one.clause for one in some[:4])}{_more(len(some) - 4)}.")
    if untested := _untested(found):
        rest.append(f"Not tested: {'; '.join(untested[:3])}{_more(len(untested) - 3)}.")
    return f"{verdict}.", " ".join(causes), " ".join(rest)


def _filled(tried: Tried) -> str:
    """What it is whose rate is the limit."""
    return "shaper" if tried.clause.startswith(tuple(f"the rate of {kind} at " for kind in SHAPERS)) else "link"


def _untested(found: Waterfall) -> list[str]:
    """What was not run, each once, without what an earlier step had tested."""
    tested = {one.clause for one in (*found.without_effect, *found.effects)}
    return [clause for clause in dict.fromkeys(found.untested) if clause not in tested]


def _is_nearly_full(found: Waterfall) -> bool:
    """Whether a link is the limit, and the causes are of what is missing to it alone."""
    if not (found.steps and found.path and found.ideal):
        return False
    return found.path[0].cause in ("full link", "own link") and found.ideal.gap(found.value) <= -math.log(_NEARLY)


def _rest(found: Waterfall) -> str:
    """What the path itself sets, and what no intervention explains."""
    at_ideal = found.ideal is not None and found.ideal.reached(found.steps[-1].value if found.steps else found.value)
    if not found.path:
        return "" if at_ideal or found.steps else _unexplained(found)
    first = found.path[0]
    if first.cause == "application":
        text = f"{'What is left is' if found.steps else 'Limited by'} {first.clause}: with more to send it would be faster ({_factor(first.effect)})."
    elif first.cause == "delay":
        text = f"{'What is left is' if found.steps else 'Limited by'} {first.clause}: with half of that {_factor(first.effect)}; only a shorter path makes it faster."
    else:
        several = " in a row: " in first.clause
        verb = (
            "Then it is limited by"
            if several and found.steps
            else "Limited by"
            if several
            else "Then it fills"
            if found.steps
            else "Fills"
            if at_ideal
            else "Limited by"
        )
        text = f"{verb} {first.clause.removeprefix('the rate of ') if 'ill' in verb else first.clause}: with twice the rate {_factor(first.effect)}, and only a faster {_filled(first)} makes it faster."
    return f" {text}{'' if at_ideal else _unexplained(found)}"


def _unexplained(found: Waterfall) -> str:
    share = found.unexplained
    if share is None or share < 0.1:
        return ""
    if share == 1.0 and found.not_run:
        return " What limits it is not known: the budget ended before all was tested."
    if share == 1.0 and found.path:
        return " What else keeps it from its ideal is not known: nothing else that was taken away made it faster."
    if share == 1.0:
        return " What keeps it from its ideal is not known: nothing that was taken away made it faster."
    return f" {quantity(share, 'share', 2)} of the way to the ideal is not explained."


def _outcomes(found: Waterfall) -> list[str]:
    """Outcomes of each step. Of several seeds these are means: where the run as it is is far from that, both are named."""
    before = [found.value, *(step.value for step in found.steps)]
    return [
        f"{step.after} instead of {step.before} on average"
        if step.effect.seeds > 1 and abs(math.log(step.start / last)) > math.log(WORTH)
        else step.after
        for step, last in zip(found.steps, before, strict=False)
    ]


def _clauses(step: Step) -> str:
    return " together with ".join(cause.clause for cause in step.causes)


def _more(number: int) -> str:
    return f"; and {number} more" if number > 0 else ""


def _factor(effect: Effect) -> str:
    """A factor, with its interval if several seeds were run.

    >>> _factor(Effect(2.25, 2.25, 2.25, 1)), _factor(Effect(2.0, 1.8, 2.2, 3))
    ('× 2.25', '× 2 (1.8 to 2.2)')
    """
    text = f"× {significant(effect.factor, 3)}"
    low, high = significant(effect.low, 2), significant(effect.high, 2)
    return text if effect.seeds < 2 or low == high else f"{text} ({low} to {high})"


def _value(found: Waterfall, value: float) -> str:
    return quantity(value, found.unit)


def rows(found: Waterfall) -> list[tuple[str, str, str]]:
    """The waterfall as a table: what was taken away, the value then, and the factor."""
    made = [("as it is", found.text, "")]
    made += [
        (f"without {_clauses(step)}", outcome, _factor(step.effect))
        for step, outcome in zip(found.steps, _outcomes(found), strict=True)
    ]
    if found.ideal:
        made.append((f"ideal: {found.ideal.text}", _value(found, found.ideal.value), ""))
    return made


def to_dict(found: Waterfall) -> dict[str, Any]:
    """A waterfall as plain data; values in s, bit/s or opinions."""
    return {
        "group": found.group,
        "flows": found.count,
        "text": paragraph(found),
        "metric": found.metric,
        "unit": found.unit,
        "value": found.value,
        "ideal": {"value": found.ideal.value, "text": found.ideal.text} if found.ideal else None,
        "steps": [
            {
                "causes": [cause.cause for cause in step.causes],
                "without": [cause.clause for cause in step.causes],
                "value": step.value,
                **_numbers(step.effect),
            }
            for step in found.steps
        ],
        "path": [_tried(one) for one in found.path],
        "without_effect": [_tried(one) for one in found.without_effect],
        "untested": _untested(found),
        "unexplained": found.unexplained,
    }


def _tried(one: Tried) -> dict[str, Any]:
    return {"cause": one.cause, "what": one.clause, **_numbers(one.effect)}


def _numbers(effect: Effect) -> dict[str, Any]:
    return {"factor": effect.factor, "low": effect.low, "high": effect.high, "seeds": effect.seeds}
