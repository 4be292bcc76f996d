"""Expectations of results, for automation: "flow.download.goodput_bps > 40e6", of a run or of every point of a sweep.

A metric is that of the run (`goodput_bps`), of a group, flow, link or middlebox by name (`group.web.page_time_p95_s`,
`flow.download.goodput_bps`, `link.satellite.forward.utilisation`). A value is a number in base units or a quantity ("40 Mbit/s").
For a sweep, the mean over the seeds of a point is compared; "count=3: goodput_bps > 1e6" is about points with this value of a parameter alone.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import core
from .errors import LonghaulError, ResultError
from .naming import meant
from .results import Result, flat_metrics, unit_of
from .units import quantity, read_quantity

if TYPE_CHECKING:
    from .sweep import SweepResult

_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_FORM = re.compile(
    r"(?:(?P<where>[^<>!]*?):\s+)?(?P<metric>[\w.\[\]:\-]+)\s*(?P<sign><=|>=|==|!=|<|>)\s*(?P<value>[^<>=]+)"
)
_EXAMPLE = "as in --expect 'flow.download.goodput_bps > 40e6' or --expect 'count=3: loss_rate < 1 %'"
_UNITS = {"_bps": "bit/s", "_s": "s", "_bytes": "bytes", "_packets": "packets"}


@dataclass(frozen=True)
class Expectation:
    """A bound on one metric; `where` restricts it to points of a sweep by the ends of their parameters' names."""

    text: str
    metric: str
    sign: str
    bound: float
    where: tuple[tuple[str, str], ...] = ()

    def holds(self, value: float | None) -> bool:
        """Whether a value is as expected; one that is missing is not.

        >>> read("goodput_bps > 1 Mbit/s").holds(2e6), read("goodput_bps > 1e6").holds(None)
        (True, False)
        """
        return value is not None and _SIGNS[self.sign](value, self.bound)


@dataclass(frozen=True)
class Outcome:
    """The outcome of an expectation, in a run or at one point of a sweep."""

    expectation: Expectation
    #: The point, as text; empty for a run.
    point: str
    value: float | None
    unit: str

    @property
    def met(self) -> bool:
        """Whether it is as expected."""
        return self.expectation.holds(self.value)

    @property
    def found(self) -> str:
        """The value with its unit."""
        return quantity(self.value, self.unit) if self.value is not None else "no value"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"expect": self.expectation.text, "point": self.point, "value": self.value, "met": self.met}


def read(text: str) -> Expectation:
    """An expectation from its text; raises `LonghaulError` with what is right.

    >>> e = read("users.count=3: loss_rate < 1 %")
    >>> (e.metric, e.sign, e.bound, e.where)
    ('loss_rate', '<', 0.01, (('users.count', '3'),))
    """
    if turned := next((sign for sign in ("=>", "=<") if sign in text), None):
        raise LonghaulError(f"--expect {text!r}: write {turned[::-1]} instead of {turned}")
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise LonghaulError(f"--expect {text!r}: write a metric, one of {' '.join(_SIGNS)}, and a value, {_EXAMPLE}")
    bound = _bound(text, match["value"].strip(), match["metric"])
    where = []
    for part in (match["where"] or "").split(","):
        if not part.strip():
            continue
        key, equals, value = part.partition("=")
        if not equals:
            raise LonghaulError(
                f"--expect {text!r}: {part.strip()!r} is no condition; write PARAMETER=VALUE, {_EXAMPLE}"
            )
        where.append((key.strip(), value.strip()))
    return Expectation(text.strip(), match["metric"], match["sign"], bound, tuple(where))


def _bound(expectation: str, text: str, metric: str) -> float:
    """The bound on a metric as a number in base units; raises `LonghaulError` if it is none, or of another unit."""
    number, factor = (text[:-1], 0.01) if text.endswith("%") else (text, 1.0)
    try:
        return float(number) * factor
    except ValueError:
        found = read_quantity(text)
    name = metric.rsplit(".", 1)[-1]
    unit = next((unit for end, unit in _UNITS.items() if name.endswith(end)), None)
    if found and unit == found[1]:
        return found[0]
    # A name that is no metric is the first thing to put right.
    names = [metric["name"] for metric in core.registry()["metrics"]]
    if name not in names:
        guess = meant(name, names)
        raise LonghaulError(
            f"--expect {expectation!r}: there is no metric {name!r}{guess or '; `longhaul list metrics` lists all'}"
        )
    of = f"is in {unit}" if unit else "has no unit"
    problem = f"a value in {found[1]} cannot be compared with it" if found else f"{text!r} is no number"
    raise LonghaulError(f"--expect {expectation!r}: {name} {of}; {problem}")


def of_run(result: Result, wanted: Sequence[Expectation]) -> list[Outcome]:
    """Outcomes of expectations in one run; raises `ResultError` for a metric that it has not."""
    values = all_metrics(result.summary)
    outcomes = []
    for one in wanted:
        if one.where:
            raise LonghaulError(f"--expect {one.text!r}: a run has no points; a condition is for sweeps")
        _known(one, values)
        outcomes.append(
            Outcome(one, "", values[one.metric], unit_of(one.metric.rsplit(".", 1)[-1], result.definitions))
        )
    return outcomes


def of_sweep(sweep: SweepResult, wanted: Sequence[Expectation]) -> list[Outcome]:
    """Outcomes of expectations at the points of a sweep; raises `ResultError` for metrics and points that it has not."""
    import polars as pl

    outcomes = []
    for one in wanted:
        _known(one, sweep.metrics)
        rows = list(sweep.cells.filter(pl.col("metric") == one.metric).iter_rows(named=True))
        paths = [(_parameter(key, sweep.parameters, one), value) for key, value in one.where]
        chosen = [row for row in rows if all(_same(row[path], value) for path, value in paths)]
        if not chosen:
            raise ResultError(f"--expect {one.text!r}: no point of the sweep is like that")
        for row in chosen:
            point = ", ".join(f"{name} {row[name]}" for name in sweep.parameters)
            outcomes.append(Outcome(one, point, row["mean"], sweep.unit(one.metric)))
    return outcomes


def all_metrics(summary: dict[str, Any]) -> dict[str, float | None]:
    """Every metric of a run by name, those of flows too; a group of one flow goes by `flow.NAME` as well."""
    values = flat_metrics(summary)
    for flow in summary["flows"]:
        values |= {f"flow.{flow['name']}.{key}": value for key, value in flow["metrics"].items()}
    for group in summary["groups"]:
        for key, value in group["metrics"].items():
            values.setdefault(f"flow.{group['name']}.{key}", value)
    return values


def _known(one: Expectation, names: Iterable[str]) -> None:
    held = list(names)
    if one.metric not in held:
        hint = meant(one.metric, held) or "; `longhaul list metrics` explains all"
        raise ResultError(f"--expect {one.text!r}: there is no metric {one.metric!r}{hint}")


def _parameter(key: str, paths: Sequence[str], one: Expectation) -> str:
    found = [path for path in paths if path == key or path.endswith(f".{key}")]
    if len(found) != 1:
        raise ResultError(f"--expect {one.text!r}: {key!r} is no parameter of the sweep; they are {', '.join(paths)}")
    return found[0]


def _same(value: object, text: str) -> bool:
    """Whether a parameter's value is that of a condition, as text or as a quantity."""
    if str(value) == text:
        return True
    ours, theirs = read_quantity(value), read_quantity(text)
    return ours is not None and ours == theirs


def junit(outcomes: Sequence[Outcome], suite: str, warnings: Sequence[Mapping[str, str]] = ()) -> str:
    """The outcomes as JUnit XML; with `warnings` as failures, for `--strict`."""
    from xml.sax.saxutils import escape, quoteattr  # it imports an HTTP client

    cases = []
    for outcome in outcomes:
        name = outcome.expectation.text + (f" ({outcome.point})" if outcome.point else "")
        failure = ""
        if not outcome.met:
            failure = f"<failure message={quoteattr(f'found {outcome.found}')}/>"
        cases.append(f"  <testcase classname={quoteattr(suite)} name={quoteattr(name)}>{failure}</testcase>")
    for warning in warnings:
        cases.append(
            f"  <testcase classname={quoteattr(suite)} name={quoteattr('no warning about ' + warning['object'])}>"
            f"<failure>{escape(warning['message'])}</failure></testcase>"
        )
    failed = sum(not outcome.met for outcome in outcomes) + len(warnings)
    head = f'<testsuite name={quoteattr(suite)} tests="{len(cases)}" failures="{failed}">'
    return '<?xml version="1.0" encoding="utf-8"?>\n' + "\n".join([head, *cases, "</testsuite>"]) + "\n"


def write_junit(path: Path, text: str) -> None:
    """Writes the XML, whole or not at all."""
    from .files import write_atomically

    write_atomically(path, text)
