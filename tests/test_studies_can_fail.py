"""No target of a study can only hold: a measured value twice as large, or half as large, gives another verdict.

Numbers and bands are judged at the paper's value and at twice and half of it, in every study. Orderings and trends are judged on
results drawn at random, with the values of some of the runs doubled or halved until the verdict changes: those on metrics of the split
connection study, whose grids are small enough, and those on time series of every study.
"""

from __future__ import annotations

import dataclasses
import functools
import random
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import longhaul_studies as studies
import polars as pl
import pytest
from drawn_series import Change, DrawnRow, changed_series
from longhaul import study as lab
from longhaul_studies import NotRun, Results, Row, Target, verdict

#: Results that are drawn, and changes that are tried on each.
DRAWS, CHANGES = 25, 60
_BY_HAND = "drawn results hardly ever meet all its comparisons at once: tested by hand below"
_WHOLE_GRIDS = "it compares whole grids of curves, whose classes come from several runs each"
EXCEPTIONS: dict[str, dict[str, str]] = {}
EXCEPTIONS["split-pep"] = dict.fromkeys(("S3e", "S7c", "S8d"), _BY_HAND)
EXCEPTIONS["premature-ack"] = dict.fromkeys(("P7a", "P7b", "P7c", "A1", "A2", "A3", "A4", "A5"), _WHOLE_GRIDS)


class Metrics(dict[str, float | None]):
    """Metrics of a run that does not exist: each is drawn when it is asked for, and is the same from then on."""

    def __init__(self, draw: random.Random, scales: dict[str, tuple[float, float]]) -> None:
        super().__init__()
        self._draw, self._scales = draw, scales

    def get(self, name: str, default: float | None = None) -> float | None:  # type: ignore[override]
        """The value, within the range of its kind."""
        if name not in self:
            low, high = self._scales.setdefault(name, _range(name, self._draw))
            self[name] = low + (high - low) * self._draw.random()
        return self[name]


def _range(name: str, draw: random.Random) -> tuple[float, float]:
    """A plausible range of a metric by its name: narrow or wide by chance, so that shares can be equal or far apart."""
    top = next(
        (
            value
            for part, value in (
                ("utilisation", 1.0), ("jain", 1.0), ("rate", 1.0 if "bps" not in name else 1e8), ("timeouts", 3.0), ("failed", 2.0),
                ("through_packets", 1.0), ("goodput_max", 9.6e5), ("_bps", 9.6e7), ("bytes", 2.5e8), ("packets", 1e6), ("_s", 5.0),
            )
            if part in name
        ),
        1.0,
    )  # fmt: skip
    width = draw.choice((0.02, 0.2, 0.9))
    centre = draw.choice((0.5, 0.9, 0.98)) * top
    if draw.random() < 0.2:
        return 0.0, 0.0
    return centre * (1 - width), centre


@functools.cache
def points(study: str, experiment: str, scale: str) -> list[dict[str, Any]]:
    """The points of an experiment."""
    return [dict(case.parameters) for case in studies.find(study).experiment(experiment).cases(scale)]


def drawn(study: str, scale: str, target: Target, seed: int, path: Path = Path("none")) -> Results:
    """Results of the experiments of a target at a scale, drawn at random: three runs of each point."""
    draw = random.Random(seed)
    shared: dict[str, tuple[float, float]] = {}
    rows = []
    read: set[str] = set()
    opened: set[str] = set()
    for experiment in target.experiments:
        for number, parameters in enumerate(points(study, experiment, scale)):
            scales = shared if draw.random() < 0.7 else {}
            alike = seed if scales is shared else draw.getrandbits(30)
            for run in range(3 if len(points(study, experiment, scale)) < 300 else 1):
                name = f"{experiment} {number} {run}"
                metrics = Metrics(draw, scales)
                rows.append(
                    DrawnRow(experiment, parameters, run + 1, name, path, metrics, read=read, opened=opened, study=study, seed_of_series=draw.getrandbits(30), alike=alike)
                )  # fmt: skip
    return Results(scale, rows)


def changed(results: Results, draw: random.Random) -> Results:
    """The same results with some of the runs' values twice or half as large."""
    factor = draw.choice((0.5, 2.0))
    name, value = _group(results, draw)
    words = draw.choice(
        ("", "", "hstcp", "regtcp", "streams", "bytes", "_s", "dropped", "offered", "drops", "marks", "utilisation")
    )
    change = Change.drawn(draw)
    rows = []
    for row in results.rows:
        metrics = row.metrics
        if row.parameters.get(name) == value and isinstance(metrics, Metrics):
            scaled = Metrics(metrics._draw, metrics._scales)
            scaled.update({key: v * factor if v is not None and words in key else v for key, v in metrics.items()})
            metrics = scaled
        rows.append(changed_series(dataclasses.replace(row, metrics=metrics), change, {name: value} if name else {}))
    return Results(results.scale, rows)


def _group(results: Results, draw: random.Random) -> tuple[str, Any]:
    row = draw.choice(results.rows)
    name = draw.choice(list(row.parameters) or [""])
    return name, row.parameters.get(name)


def outcome(judge: Callable[[Results], verdict.Judgement], results: Results) -> str:
    """The verdict, or why there is none."""
    try:
        return judge(results).verdict
    except NotRun:
        return "not run"
    except (ArithmeticError, ValueError, IndexError):
        return "undefined"


@pytest.fixture
def bounds(monkeypatch) -> list[tuple[float, float]]:
    """The numbers and bands that a verdict is made of: each as the smallest and the largest value that is reproduced."""
    found: list[tuple[float, float]] = []

    def number(value, paper, within, *, unit="", relative=True):
        off = within * abs(paper) if relative else within
        found.append((paper - off, paper + off))
        return originals["number"](value, paper, within, unit=unit, relative=relative)

    def over_seeds(values, paper, within, *, unit="", relative=True):
        off = within * abs(paper) if relative else within
        found.append((paper - off, paper + off))
        return originals["over_seeds"](values, paper, within, unit=unit, relative=relative)

    def band(value, low, high, *, margin=0.0, unit=""):
        found.append((low, high))
        return originals["band"](value, low, high, margin=margin, unit=unit)

    for name in lab.names():
        studies.find(name)  # imports its modules
    originals = {name: getattr(verdict, name) for name in ("number", "over_seeds", "band")}
    replaced = {"number": number, "over_seeds": over_seeds, "band": band}
    for name, module in list(sys.modules.items()):
        if name.startswith("longhaul_studies.") and name != verdict.__name__:
            for function, original in originals.items():
                if getattr(module, function, None) is original:
                    monkeypatch.setattr(module, function, replaced[function])
    return found


def narrow(low: float, high: float) -> bool:
    """Whether the middle of a band leaves it when it is doubled or halved: nothing can be twice or half of nothing."""
    middle = (low + high) / 2
    return middle == 0 or 2 * middle > high or middle / 2 < low


def can_change(
    study: str, scale: str, target: Target, bounds: list[tuple[float, float]], path: Path = Path("none")
) -> bool:
    """Whether a factor of two changes the verdict: of a number by its tolerance, of comparisons on drawn results.

    A band from nothing to a value ("before 50 s") is a comparison.
    """
    draw = random.Random(1)
    for seed in range(DRAWS):
        bounds.clear()
        results = drawn(study, scale, target, seed, path)
        if not results.rows:
            return True
        before = outcome(target.judge, results)
        two_sided = [(low, high) for low, high in bounds if low != 0 or high == 0]
        if two_sided and before in ("reproduced", "partly", "not"):
            return all(narrow(low, high) for low, high in two_sided)
        used = Results(scale, [row for row in results.rows if row.run_id in results.read] or results.rows)
        for _ in range(CHANGES):
            after = outcome(target.judge, changed(used, draw))
            if {before, after} <= {"reproduced", "partly", "not"} and before != after:
                return True
    return False


def test_a_factor_of_two_changes_the_verdict(bounds, tmp_path):
    (tmp_path / "flows.parquet").touch()
    study = studies.find("split-pep")
    exceptions = EXCEPTIONS["split-pep"]
    assert set(exceptions) <= {target.id for target in study.targets}
    stuck = [
        target.id
        for target in study.targets
        if target.origin != "arithmetic"
        and target.id not in exceptions
        and not can_change("split-pep", "full", target, bounds, tmp_path)
    ]
    assert not stuck


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of windows that a drawn run does not have
@pytest.mark.parametrize(
    ("name", "scale"),
    [("highspeed", "grid"), ("premature-ack", "tiny"), ("satellite-objectives", "tiny"), ("sttp", "quick")],
)
def test_numbers_and_bands_are_narrower_than_a_factor_of_two(name, scale, bounds):
    study = studies.find(name)
    exceptions = EXCEPTIONS.get(name, {})
    assert set(exceptions) <= {target.id for target in study.targets}
    wide = []
    for target in study.targets:
        if target.origin == "arithmetic" or target.id in exceptions:
            continue
        bounds.clear()
        outcome(target.judge, drawn(name, scale, target, 1))
        if not all(narrow(low, high) for low, high in bounds):
            wide.append((target.id, bounds[:]))
    assert not wide


def opened(results: Results) -> set[str]:
    """The runs whose series a verdict looked at."""
    row = results.rows[0]
    return row.opened or set() if isinstance(row, DrawnRow) else set()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of windows that a drawn run does not have
@pytest.mark.parametrize(("name", "scale"), [("highspeed", "grid"), ("split-pep", "quick"), ("sttp", "quick")])
def test_a_factor_of_two_in_the_series_changes_the_verdict(name, scale, bounds, tmp_path):
    (tmp_path / "flows.parquet").touch()
    exceptions = EXCEPTIONS.get(name, {})
    targets = [
        target for target in studies.find(name).targets if target.id not in exceptions and target.origin != "arithmetic"
    ]
    looked_at = []
    for target in targets:
        results = drawn(name, scale, target, 1, tmp_path)
        outcome(target.judge, results)
        if results.rows and opened(results):
            looked_at.append(target)
    assert len(looked_at) >= 8
    assert not [target.id for target in looked_at if not can_change(name, scale, target, bounds, tmp_path)]


def by_hand(name: str, metric: str, values: dict[tuple[str, str, int, int], float]) -> str:
    """The verdict on a target of the split connection study, from values by mode, queue, packets and flows."""
    study = studies.find("split-pep")
    rows = [
        Row("ftp", dict(zip(("mode", "queue", "packets", "flows"), point, strict=True)), seed, str(point), Path("none"), {metric: value})
        for point, value in values.items() for seed in range(1, 6)
    ]  # fmt: skip
    return next(target for target in study.targets if target.id == name).judge(Results("quick", rows)).verdict


def test_the_windows_over_the_queue_can_fail():
    metric = "group.flows.cwnd_mean_bytes"
    straight = {("none", "droptail", p, 50): 1000 * (3250 + p) / 50 for p in (300, 600, 3000)}
    with_pep = {("cubic", "red", p, 50): 4000.0 for p in (300, 600, 3000)}
    assert by_hand("S7c", metric, straight | with_pep) == "reproduced"
    assert by_hand("S7c", metric, straight | with_pep | {("cubic", "red", 300, 50): 8000.0}) != "reproduced"
    assert by_hand("S7c", metric, straight | with_pep | {("none", "droptail", 300, 50): 142_000.0}) != "reproduced"


def test_the_single_flow_can_fail():
    metric = "link.split.forward.throughput_bps"
    values = {
        ("cubic", "droptail", 3000, 1): 9.6e7, ("cubic", "droptail", 300, 1): 9.6e7,
        ("none", "droptail", 3000, 1): 9.5e7, ("none", "droptail", 300, 1): 4.5e7,
    }  # fmt: skip
    assert by_hand("S8d", metric, values) == "reproduced"
    for point in values:
        for factor in (0.5, 2.0):
            changed_too = by_hand("S8d", metric, values | {point: factor * values[point]})
            if (point[0] == "none") == (factor == 0.5) and point[2] == 3000:
                assert changed_too != "reproduced", (point, factor)


def seconds_of_a_flow(tmp_path: Path, with_pep: list[float], without: list[float]) -> str:
    """The verdict on S3e from the flow's goodput in Mbit/s in each second, with the PEP and without it."""
    (tmp_path / "flows.parquet").touch()

    class Run(Row):
        def result(self) -> Any:
            values = with_pep if self.parameters["mode"] == "cubic" else without
            time = [float(i + 1) for i in range(len(values))]
            flows = pl.DataFrame({"flow": [23] * len(values), "time_s": time, "goodput_bps": [1e6 * v for v in values]})
            return SimpleNamespace(flows=flows, summary={"warmup_s": 0.0})

    rows = [
        Run("ftp", {"mode": mode, "queue": queue, "packets": 600, "flows": 50}, seed, mode, tmp_path, {})
        for mode, queue in (("cubic", "red"), ("none", "droptail")) for seed in range(1, 6)
    ]  # fmt: skip
    target = next(target for target in studies.find("split-pep").targets if target.id == "S3e")
    return target.judge(Results("quick", rows)).verdict


def test_the_seconds_of_one_flow_can_fail(tmp_path):
    with_pep, without = [1.8] * 100, [0.06] * 5 + [1.8] * 95
    assert seconds_of_a_flow(tmp_path, with_pep, without) == "reproduced"
    assert seconds_of_a_flow(tmp_path, [value / 2 for value in with_pep], without) != "reproduced"
    assert seconds_of_a_flow(tmp_path, with_pep, [2 * value for value in without]) != "reproduced"


def test_numbers_and_bands_of_the_asymmetric_study_are_narrower_than_a_factor_of_two(tmp_path, bounds):
    """It is run: its targets look at time series, and its runs are short."""
    study = studies.find("asymmetric")
    campaign = studies.plan(study, "quick", tmp_path)
    campaign.open()
    campaign.run(campaign.missing(), jobs=2)
    results = campaign.results()
    wide = []
    for target in study.targets:
        bounds.clear()
        target.judge(results)
        if target.origin != "arithmetic" and not all(narrow(low, high) for low, high in bounds):
            wide.append((target.id, bounds[:]))
    assert not wide
