"""Figures and tables for papers: sizes, fonts, legends, formats, and what a sweep draws."""

from __future__ import annotations

import importlib.util
import re

import longhaul
import pytest
from longhaul import cli, plots, tables
from longhaul.errors import PlotError, ResultError
from longhaul.plots import look, margins
from longhaul.plots.look import Look
from synthetic import write_result


@pytest.fixture
def result(tmp_path):
    write_result(tmp_path / "r", flows=3, duration=60.0)
    return longhaul.load(tmp_path / "r")


def test_a_figure_has_the_size_that_was_asked_for_and_no_title(result):
    figure = result.plot("cwnd", look=look.look(width="86mm", height="5cm", size=7.0, title=False))
    assert figure.get_size_inches() == pytest.approx([86 / 25.4, 5 / 2.54])
    assert [axes.get_title("left") for axes in figure.axes] == [""]
    assert figure.axes[0].xaxis.label.get_fontsize() == 7.0


def test_a_legend_inside_stands_above_the_data_and_takes_no_width(result):
    outside, inside = (result.plot("cwnd", look=one).axes[0] for one in (None, look.look("ieee")))
    legend = inside.get_legend()
    assert [text.get_text() for text in legend.get_texts()]
    assert margins._legend(inside) == (0.0, 0.0)
    assert inside.get_position().x1 > 0.95 > outside.get_position().x1
    largest = max(float(line.get_ydata().max()) for line in inside.lines if len(line.get_ydata()) > 2)
    room = inside.get_ylim()[1] - largest
    assert room > 0.15 * inside.get_ylim()[1]


def test_a_look_of_one_figure_leaves_the_next_as_it_was(result):
    before = plots.figure_bytes(result.plot("cwnd"), "svg")
    assert plots.figure_bytes(result.plot("cwnd", look=look.look("acm")), "svg") != before
    assert plots.figure_bytes(result.plot("cwnd"), "svg") == before


def test_fonts_of_pdf_files_are_embedded_outlines(result):
    data = plots.figure_bytes(result.plot("cwnd", look=look.look("ieee")), "pdf", look=look.look("ieee"))
    assert re.search(rb"/BaseFont /[A-Z]{6}\+", data)
    assert b"/Type3" not in data
    assert b"/FontFile2" in data
    width = re.search(rb"/MediaBox \[ 0 0 ([\d.]+)", data)
    assert float(width[1]) == pytest.approx(252)


def test_many_flows_have_a_panel_each_of_the_styles_height(tmp_path):
    write_result(tmp_path / "r", flows=40, duration=60.0, groups=("reno", "cubic"))
    figure = longhaul.load(tmp_path / "r").plot("goodput", look=look.look("ieee"))
    assert figure.get_figheight() == pytest.approx(2 * 2.1)
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert {"reno: median", "cubic: median"} <= set(names)
    assert not [name for name in names if name.endswith("single flows")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"style": "ieeee"}, "no style 'ieeee'; the styles are ieee, acm; did you mean ieee?"),
        ({"width": "3.4"}, "width '3.4': write a length from 1 in to 30 in"),
        ({"height": "400mm in"}, "height '400mm in': write a length"),
        ({"width": "0.1in"}, "from 1 in to 30 in"),
        ({"width": "1.2.3in"}, "write a length"),
        ({"size": 99.0}, "a size of 99 points: figures have 4 to 30"),
        ({"font": "DejaVu Sand"}, "no font 'DejaVu Sand' is installed here; did you mean DejaVu Sans?"),
    ],
)
def test_what_is_no_look_has_a_message(given, message):
    with pytest.raises(PlotError) as found:
        look.look(**given)
    assert message in str(found.value)


def test_a_font_stands_for_one_that_is_not_installed():
    assert look.look(font="Times").fonts[0] in look._LIKE["times"]
    assert look.look() == Look()


def test_the_command_writes_the_formats_that_were_asked_for(result, tmp_path, capsys):
    path = str(result.path)
    assert (
        cli.run(["plot", path, "-k", "cwnd", "--style", "ieee", "--format", "pdf,svg", "--out", str(tmp_path / "f")])
        == 0
    )
    assert sorted(one.name for one in (tmp_path / "f").glob("cwnd.*")) == ["cwnd.pdf", "cwnd.svg"]
    assert cli.run(["plot", path, "--format", "bmp"]) == 2
    assert "no format 'bmp'; the formats are png, pdf, svg, pgf" in capsys.readouterr().err


def test_tables_are_written_for_papers(result, capsys):
    path = str(result.path)
    assert cli.run(["table", path, "--format", "latex"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("\\begin{tabular}{l")
    assert re.search(r"(?<!\\)[%_#]", text) is None
    assert cli.run(["table", path, "--of", "links"]) == 0
    assert capsys.readouterr().out.startswith("| Link |")
    assert cli.run(["table", path, "--of", "points"]) == 2
    assert "--of for a run 'points'" in capsys.readouterr().err
    made = tables.Table([("a", ""), ("b", "")], [["x,y", "1|2"]])
    assert made.to_csv() == 'a,b\n"x,y",1|2\n'
    assert made.to_markdown().endswith("| x,y | 1\\|2 |\n")


def test_a_sweep_draws_what_was_asked_for(tmp_path, capsys):
    scenario = longhaul.Scenario("x", duration="3 s").link("l", "a", "b", rate="1 Mbit/s", delay="10 ms").flow("a", "b")
    made = longhaul.sweep(scenario.sweep({"link.l.delay": ["10 ms", "20 ms"]}), tmp_path / "s")
    assert cli.run(["plot", str(made.path)]) == 0
    assert len(capsys.readouterr().out.split()) == 1
    assert cli.run(["plot", str(made.path), "--kind", "all"]) == 0
    assert len(capsys.readouterr().out.split()) > 5
    assert cli.run(["table", str(made.path), "--format", "latex", "-m", "goodput_bps"]) == 0
    assert "delay" in capsys.readouterr().out


def test_pandas_is_asked_for_by_name(result):
    if importlib.util.find_spec("pandas") and importlib.util.find_spec("pyarrow"):
        assert len(result.to_pandas()) == 3
        return
    with pytest.raises(ResultError, match="pip install pandas pyarrow"):
        result.to_pandas()
