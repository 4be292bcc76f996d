"""The inside of congestion control: its table, its figure, and what is said where there is none."""

from __future__ import annotations

import longhaul
import pytest
from longhaul.errors import PlotError, ResultError
from longhaul.plots import draw, kinds_for

SCENARIO = """
name = "inside"
[run]
duration = "10 s"
sample = "100 ms"
inspect = {inspect}
[[link]]
name = "path"
ends = ["a", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "50 packets"
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = {{ congestion = "{congestion}" }}
"""


def run(tmp_path, congestion, inspect="true"):
    file = tmp_path / f"{congestion}-{inspect}.toml"
    file.write_text(SCENARIO.format(congestion=congestion, inspect=inspect))
    return longhaul.run(file, out=tmp_path / f"{congestion}-{inspect}")


def test_each_unit_has_a_panel(tmp_path):
    result = run(tmp_path, "cubic")
    assert set(result.cc["name"].unique()) == {"W_max", "W_est", "K"}
    assert "cc" in kinds_for(result)
    figure = draw(result, "cc")
    labels = [axes.get_ylabel() for axes in figure.axes]
    assert labels == ["bytes (kB)", "time (s)"]
    legend = figure.axes[0].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["W_max", "W_est"]


def test_without_the_setting_the_message_names_it(tmp_path):
    result = run(tmp_path, "cubic", "false")
    assert "cc" not in kinds_for(result)
    with pytest.raises(ResultError, match=r"run\.inspect=true"):
        draw(result, "cc")


def test_a_policy_that_tells_nothing(tmp_path):
    result = run(tmp_path, "reno")
    with pytest.raises((PlotError, ResultError), match="inside"):
        draw(result, "cc")
