"""All designs of chapter 8 on one path, the custom paced protocol among them: throughput, time to the first byte, short transfers, rain.

The thesis calculated designs 8.1 to 8.5 and outlined 8.6 and 8.7; it measured none (X-17, S-20).
"""

from __future__ import annotations

from typing import Any

import polars as pl
from longhaul.scenario import Scenario

from ..model import Case, Experiment, ResultTable, Target
from ..results import Results, Row
from ..verdict import Judgement, holds, number
from . import designs
from .formulas import KB
from .measures import kilobytes, rate_between

#: The thesis's lowest common denominator, and the line of most of its examples.
BAUDS = (9_600, 28_800)
#: Answers in bytes; the first byte is an answer of one byte.
ANSWERS = (1, 10_000, 100_000)
#: Rain from 60 to 70 s takes 54 Mbit/s to 5.4; from 63 to 66 s nothing arrives.
RAIN, CLEAR, DARK = 60.0, 70.0, (63.0, 3.0)


def path(baud: int) -> designs.Path:
    """54 Mbit/s, 600 ms."""
    return designs.Path(54e6, baud, 0.6)


def cases(scale: str) -> list[Case]:
    """Each design: a download without end, short answers on new connections, a download through rain."""
    names = ("8.1", "8.7") if scale == "tiny" else tuple(designs.DESIGNS)
    bauds = BAUDS[1:] if scale == "tiny" else BAUDS
    found = [case for baud in bauds for name in names for case in _of_design(name, baud)]
    return found if scale == "tiny" else [*found, *(_rain(name) for name in names)]


def _design(name: str, baud: int) -> designs.Design:
    return designs.DESIGNS[name](path(baud), None)


def _of_design(name: str, baud: int) -> list[Case]:
    design = _design(name, baud)
    steady = Case({"design": name, "baud": baud, "what": "download"}, designs.scenario(design, path(baud)))
    return [steady, *(_answer(name, baud, size) for size in ANSWERS)]


def _answer(name: str, baud: int, size: int) -> Case:
    """A request of 300 bytes on a new connection: the time from its SYN to the last byte of the answer."""
    design = _design(name, baud)
    built = Scenario(f"answer of {size} bytes, design {name}", duration="60 s", warmup="0 s")
    server, client, built = designs.network(built, design, path(baud))
    app = {"kind": "request", "request": "300 B", "response": f"{size} B", "requests": 1}
    built = built.flow(client, server, name="answer", app=app, tcp=designs.tcp(design))
    return Case({"design": name, "baud": baud, "what": size}, built)


def _rain(name: str) -> Case:
    baud = BAUDS[-1]
    design = _design(name, baud)
    built = Scenario(f"rain, design {name}", duration="120 s", warmup="40 s", sample="250 ms")
    server, client, built = designs.network(
        built, design, path(baud),
        changes=[{"at": f"{RAIN:g} s", "rate": "5.4 Mbit/s"}, {"at": f"{CLEAR:g} s", "rate": "54 Mbit/s"}],
        outages=[{"start": f"{DARK[0]:g} s", "duration": f"{DARK[1]:g} s"}],
    )  # fmt: skip
    built = built.flow(server, client, name="download", tcp=designs.tcp(design))
    return Case({"design": name, "baud": baud, "what": "rain"}, built, tables=True)


EXPERIMENT = Experiment("designs", "All designs on one path", "8", cases)


def rain_cost(row: Row) -> tuple[float, float]:
    """Seconds of the rate before that the rain cost, and the time after it until that rate, less 10 %, is there for 2 s."""
    result = row.result()
    before = rate_between(result, 0, RAIN - 15, RAIN - 0.1)
    frame = result.flows.filter((pl.col("flow") == 0) & (pl.col("time_s") > RAIN)).sort("time_s")
    times = frame["time_s"].to_list()
    rates = [rate / 8 / KB for rate in frame["goodput_bps"].to_list()]
    lost = sum(1 - rate / before for rate in rates) * 0.25
    for place, time in enumerate(times):
        if time - 0.25 >= CLEAR and sum(rates[place : place + 8]) / 8 >= 0.9 * before:
            return lost, time - 0.25 - CLEAR
    return lost, float("inf")


def _rows(results: Results) -> list[list[str]]:
    table, rows = results["designs"], []
    for baud in table.points("baud"):
        for name in designs.DESIGNS:
            where: dict[str, Any] = {"design": name, "baud": baud}
            if not table.has(**where):
                continue
            cells = [f"{name} {_design(name, baud).name}", f"{baud:,}", f"{_design(name, baud).rate / KB:,.1f}"]
            cells.append(f"{table.median(kilobytes, **where, what='download'):,.1f}")
            cells += [f"{table.median('response_time_mean_s', **where, what=size):.2f}" for size in ANSWERS]
            if table.has(**where, what="rain"):
                lost, back = rain_cost(table.where(**where, what="rain")[0])
                cells += [f"{lost:.1f}", "not within 50 s" if back == float("inf") else f"{back:.1f}"]
            else:
                cells += ["", ""]
            rows.append(cells)
    return rows


TABLE = ResultTable(
    "Every design on one path",
    (
        "54 Mbit/s down, RTT 600 ms, one connection, each design with the settings that `longhaul design asymmetric` gives it. Answers: to a request of 300 bytes on a new"
        " connection, from its SYN to the last byte. Rain: 54 Mbit/s become 5.4 for 10 s, with an outage of 3 s. The columns have its cost in seconds of the rate before, up to 50 s after"
        " the rain, and the time after it until 90 % of the rate were back. Designs below 5.4 Mbit/s (659 kB/s) only notice the outage, 3 s at least; 8.6 and 8.7 lose at least 8.3 and"
        " 9.3 s to the rain itself. At 9,600 baud 8.6 carries more than its formula, for a reason that is not known. The control connection of the paced protocol exists beforehand. kB are 1024 bytes."
    ),
    ("design", "line (baud)", "by formula (kB/s)", "measured (kB/s)", "first byte (s)", "10 kB (s)", "100 kB (s)", "rain: outage cost (s)", "back after (s)"),
    _rows,
    ("designs",),
)  # fmt: skip


def _capacity(results: Results) -> Judgement:
    wanted = _design("8.7", BAUDS[-1]).rate / KB
    return number(results["designs"].median(kilobytes, design="8.7", what="download"), wanted, 0.02, unit="kB/s")


def _fade(results: Results) -> Judgement:
    costs = {name: rain_cost(results["designs"].where(design=name, what="rain")[0]) for name in designs.DESIGNS}
    lost, back = costs["8.7"]
    checks = {
        "the rate is back within 2 RTT": back <= 1.5,
        "less is lost than the rain took and two rounds": lost <= 3 + 7 * 0.9 + 2,
    }
    return holds(checks, f"{lost:.1f} s of the rate lost, back {back:.1f} s after the rain")


TARGETS = (
    Target("X-17 8.7", "8.7", "the custom protocol is limited by forward capacity only", "exact", _capacity, ("designs",), stated="claim"),
    Target("S-20", "8.7", "the custom protocol under a fade: new data stops, then the full rate at once", "ordering", _fade, ("designs",)),
)  # fmt: skip
