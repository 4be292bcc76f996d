"""Figures and reports from 1 to 500 flows; whether they are beautiful has to be looked at."""

from __future__ import annotations

import re

import longhaul
import pytest
from longhaul import plots
from longhaul.explain import explain
from synthetic import write_result

CASES = {1: {"trace": True}, 3: {"receiver_limited": True}, 50: {"groups": ("reno", "cubic")}, 500: {}}


@pytest.mark.parametrize("flows", CASES)
def test_every_kind_is_drawn(made_up, flows, tmp_path):
    result = made_up(flows, **CASES[flows])
    for kind in plots.kinds_for(result):
        file = plots.save(plots.draw(result, kind), tmp_path / f"{kind}.png", dpi=60)
        assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("flows", CASES)
def test_axes_have_units_and_no_figure_has_too_many_lines(made_up, flows):
    result = made_up(flows, **CASES[flows])
    for kind in ("throughput", "cwnd", "rtt", "utilisation", "queue"):
        figure = plots.draw(result, kind)
        axes = figure.axes[0]
        assert re.search(r"\(.+\)", axes.get_ylabel()), kind
        assert len(axes.lines) <= 24, kind
        assert axes.get_title(loc="left").endswith(result.name)


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_formats_are_reproducible(made_up, tmp_path, ending, start):
    result = made_up(3, receiver_limited=True)
    first, second = (plots.save(plots.draw(result, "cwnd"), tmp_path / f"{i}.{ending}").read_bytes() for i in (1, 2))
    assert first.startswith(start)
    assert first == second


def test_selection_of_flows_and_time(made_up):
    figure = made_up(50, groups=("reno", "cubic")).plot("cwnd", flows=[3, 7], start=20, end=60)
    axes = figure.axes[0]
    assert [line.get_label() for line in axes.lines][:2] == ["cubic-3", "cubic-7"]
    assert axes.get_xlim() == (20, 60)


@pytest.mark.parametrize("flows", CASES)
def test_a_report_needs_nothing_else(made_up, flows, tmp_path):
    html = made_up(flows, **CASES[flows]).report(tmp_path / "r.html").read_text()
    assert not re.search(r"""(src|href|url\()\s*=?\s*["']?(https?:)?//""", html)
    assert "http://" not in html
    assert "https://" not in html
    assert html.count("<img") >= 7
    assert "Why is my flow not faster?" in html
    assert "{{" not in html


def test_a_report_shows_warnings_and_escapes_names(tmp_path):
    write_result(tmp_path / "r", 3, duration=60, receiver_limited=True, name="<script>alert(1)</script>")
    html = longhaul.load(tmp_path / "r").report(tmp_path / "r.html").read_text()
    assert "<script" not in html
    assert "bandwidth-delay product" in html
    assert "Waited for the receiver&#39;s window" in html


def test_the_report_of_a_real_run(command, scenario, tmp_path):
    out = tmp_path / "r"
    outcome = command("run", scenario, "--set", "flow.users.trace=true", "--out", out, "--report", "-q")
    assert outcome.code == 0, outcome.err
    html = (out / "report.html").read_text()
    assert 'alt="timeseq"' in html
    assert "satellite" in html


def test_a_result_without_time_series_still_has_a_report(command, scenario, tmp_path):
    out = tmp_path / "r"
    assert command("run", scenario, "--out", out, "--no-tables", "--report", "-q").code == 0
    assert (out / "report.html").read_text().count("<img") == 2
    assert command("plot", out, "--kind", "cwnd").code == 2


def test_explanations_say_what_helps():
    flow = {
        "limited": {"receiver_window": 0.9, "slow_start": 0.05},
        "metrics": {"goodput_bps": 1e6, "rtt_mean_s": 0.6},
        "predicted": {"window_limit_bps": 873_800.0, "fair_share_bps": 10e6},
    }
    text = explain(flow)
    assert "65.5 kB" in text
    assert "750 kB would fill" in text
    assert "slow start" not in text
