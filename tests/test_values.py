"""Values as people have them in Python: NumPy's numbers, columns of tables, ranges, paths; and keywords that make no sense."""

from __future__ import annotations

import json
from collections import deque
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import longhaul
import numpy as np
import polars as pl
import pytest
from longhaul.document import read
from longhaul.sweep import make_plan
from longhaul.values import plain


class Load(Enum):
    HALF = 0.5


class Column:
    """What pandas and pyarrow have: elements that are NumPy's, and a list of them."""

    def __init__(self, *values):
        self.values = values

    def tolist(self):
        return list(self.values)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (np.int64(3), 3),
        (np.uint8(3), 3),
        (np.bool_(True), True),
        (np.float64(0.25), 0.25),
        (np.float32(0.1), 0.1),
        (np.float16(0.1), 0.1),
        (np.longdouble(0.25), 0.25),
        (np.str_("cubic"), "cubic"),
        (np.array(3), 3),
        (np.arange(1, 4), [1, 2, 3]),
        (np.linspace(0, 0.1, 3), [0.0, 0.05, 0.1]),
        (np.array([0.1, 0.2], dtype="float32"), [0.1, 0.2]),
        (np.array([True, False]), [True, False]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.timedelta64(250, "ms"), "250 ms"),
        (np.array([1, 2], dtype="timedelta64[s]"), ["1 s", "2 s"]),
        (pl.Series([1, 2]), [1, 2]),
        (pl.Series([0.5], dtype=pl.Float32), [0.5]),
        (pl.Series(["1 s"]), ["1 s"]),
        (Column(np.int64(1), np.float64(0.5)), [1, 0.5]),
        (range(1, 4), [1, 2, 3]),
        ((1, (2, 3)), [1, [2, 3]]),
        (deque([1]), [1]),
        ({"a": 1}.keys(), ["a"]),
        (Decimal("0.01"), 0.01),
        (Decimal(50), 50),
        (Fraction(1, 4), 0.25),
        (timedelta(milliseconds=250), "250 ms"),
        (timedelta(microseconds=7), "7 us"),
        (timedelta(hours=1), "3600 s"),
        (Path("traces/a.csv"), "traces/a.csv"),
        (Load.HALF, 0.5),
    ],
)
def test_what_people_have_at_hand_are_values(given, meant):
    found = plain(given)
    assert found == meant
    assert json.loads(json.dumps(found)) == meant  # a number of NumPy's is none for JSON
    assert type(found) is type(meant)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (float("nan"), "set.link.l.loss: nan is no value of a scenario; numbers are finite"),
        (np.float64("inf"), "set.link.l.loss: inf is no value"),
        (np.float32("nan"), "set.link.l.loss: nan is no value"),
        (Decimal("NaN"), "set.link.l.loss: nan is no value"),
        (pl.Series([0.1, None]), "set.link.l.loss: None is not allowed in a scenario; leave the key out"),
        (np.array([0.1, np.nan]), "set.link.l.loss: nan is no value"),
        (np.timedelta64("NaT"), "set.link.l.loss: a timedelta64 is not allowed"),
        (np.datetime64("2026-01-01"), "set.link.l.loss: a datetime64 is not allowed"),
        (date(2026, 1, 1), "set.link.l.loss: a date is not allowed in a scenario"),
        (1j, "set.link.l.loss: a complex is not allowed in a scenario"),
        (b"cubic", "set.link.l.loss: a bytes is not allowed in a scenario; decode it to a text"),
        ({1, 2}, "set.link.l.loss: a set is not allowed in a scenario: it has no order; write a list"),
        ((n for n in (1, 2)), "set.link.l.loss: a generator is not allowed in a scenario; write list(...) around it"),
        (pl.DataFrame({"a": [1]}), "a DataFrame is not allowed in a scenario; take one of its columns"),
        (SimpleNamespace(), "set.link.l.loss: a SimpleNamespace is not allowed in a scenario"),
        ({1: 2}, "set.link.l.loss: 1 is not a key of a scenario: a key is a text"),
        ("caf\udce9", "is not Unicode; a scenario is a text in UTF-8"),
    ],
)
def test_what_is_no_value_is_refused_with_its_key(scenario, given, message):
    with pytest.raises(longhaul.ScenarioError) as refused:
        longhaul.run(scenario, set={"link.l.loss": given})
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_grid_takes_arrays_ranges_and_columns(scenario, tmp_path):
    grid = {"link.satellite.loss": np.linspace(0, 0.1, 3), "flow.users.count": range(1, 3)}
    swept = longhaul.sweep(scenario, tmp_path / "s", grid=grid, jobs=np.int64(2), replications=np.int64(1))
    assert swept.cells["link.satellite.loss"].unique().sort().to_list() == [0.0, 0.05, 0.1]
    assert swept.cells["flow.users.count"].dtype == pl.Int64
    again = longhaul.sweep(
        scenario,
        tmp_path / "s",
        grid={"link.satellite.loss": [0.0, 0.05, 0.1], "flow.users.count": pl.Series([1, 2])},
        resume=True,
    )
    assert again.manifest["plan_id"] == swept.manifest["plan_id"]


def test_points_take_them_too(scenario):
    plan = make_plan(read(scenario), points=[{"flow.users.count": np.int64(2)}, {"flow.users.count": Decimal(3)}])
    assert [run.parameters["flow.users.count"] for run in plan.runs] == [2, 3]
    for grid, message in [
        ({"link.satellite.loss": [0.1, np.nan]}, "grid.link.satellite.loss: nan is no value"),
        ({"link.satellite.loss": 0.1}, "is a list of values, not 0.1"),
        ({"link.satellite.loss": np.array([])}, r"is a list of values, not \[\]"),
        (["link.satellite.loss"], "sweep.grid must be a table"),
    ]:
        with pytest.raises(longhaul.ScenarioError, match=message):
            make_plan(read(scenario), grid=grid)


def test_the_builder_takes_them_and_keeps_plain_ones():
    built = (
        longhaul.Scenario("x", duration=timedelta(seconds=9), seed=np.int64(3))
        .link("l", "a", "b", rate="1 Mbit/s", delay=timedelta(milliseconds=20), loss=np.float32(0.1))
        .flow("a", "b", name="f", count=np.int32(2))
        .sweep({"link.l.loss": np.linspace(0, 0.1, 3)}, replications=np.int64(2))
    )
    content = json.loads(json.dumps(built.to_dict()))
    assert content["run"] == {"duration": "9 s", "seed": 3}
    assert content["link"][0]["loss"] == 0.1
    assert content["sweep"] == {"grid": {"link.l.loss": [0.0, 0.05, 0.1]}, "replications": 2}
    assert longhaul.Scenario.from_dict(content).resolve() == built.resolve()
    with pytest.raises(longhaul.ScenarioError, match=r"link\.l\.loss: nan is no value"):
        built.link("l", "a", "b", loss=np.nan)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"changed": "foo"}, "changed='foo': the values are refuse, check, rerun"),
        ({"changed": "chek"}, "did you mean 'check'?"),
        ({"changed": None}, "changed=None: the values are"),
        ({"engine": "dask"}, "engine='dask': the values are local, ray"),
        ({"jobs": -1}, "jobs=-1: it is a whole number from 1"),
        ({"jobs": 0}, "jobs=0: it is a whole number from 1"),
        ({"jobs": 1.5}, "jobs=1.5: it is a whole number from 1"),
        ({"jobs": "2"}, "jobs='2': it is a whole number from 1"),
        ({"jobs": True}, "jobs=True: it is a whole number from 1"),
        ({"seed": -1}, "seed=-1: it is a whole number from 0"),
        ({"seed": 2**63}, f"seed={2**63}: it is a whole number from 0"),
        ({"replications": 0}, "replications=0: it is a whole number from 1"),
        ({"replications": np.float64(2)}, f"replications={np.float64(2)!r}: it is a whole number from 1"),
        ({"set": ["run.seed=1"]}, "it is a dictionary"),
        ({"out": b"s"}, "out=b's': a path is a text or a pathlib.Path"),
        ({"out": ""}, "out='': the path is empty"),
    ],
)
def test_keywords_of_a_sweep_that_make_no_sense_are_named(sweep_file, tmp_path, keywords, message):
    with pytest.raises(longhaul.LonghaulError) as refused:
        longhaul.sweep(sweep_file, **{"out": tmp_path / "s", **keywords})
    assert message in str(refused.value)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda file, _: longhaul.run(file, seed=-1), "seed=-1: it is a whole number from 0"),
        (lambda file, _: longhaul.run(file, seed=np.float64(1)), f"seed={np.float64(1)!r}: it is a whole number"),
        (lambda file, _: longhaul.run(file, out=5), "out=5: a path is a text"),
        (lambda file, _: longhaul.advise(file, jobs=-1), "jobs=-1: it is a whole number from 1"),
        (lambda file, _: longhaul.advise(file, runs=0), "runs=0: it is a whole number from 1"),
        (lambda file, _: longhaul.advise(file, seconds=-1), "seconds=-1: it is a time in s above 0"),
        (lambda file, _: longhaul.advise(file, engine="foo"), "engine='foo': the values are local, ray"),
        (lambda _, result: longhaul.verify(result, sample=-1), "sample=-1: it is a whole number from 1"),
        (lambda _, result: longhaul.compare(result, 5), "result=5: a path is a text"),
        (lambda _, result: longhaul.load(None), "directory=None: a path is a text"),
        (lambda _, result: longhaul.load(result).plot(flows=0), "flows=0: it is a list of numbers of flows"),
        (lambda _, result: longhaul.load(result).plot(flows=["x"]), "flows=['x']: it is a list of numbers of flows"),
    ],
)
def test_keywords_of_other_calls_are_named_too(scenario, tmp_path, call, message):
    longhaul.run(scenario, out=tmp_path / "r")
    with pytest.raises(longhaul.LonghaulError) as refused:
        call(scenario, tmp_path / "r")
    assert message in str(refused.value)
