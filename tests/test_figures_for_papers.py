"""Figures for papers: what publishers check, what readers need, and ten public reports of plots that failed in papers.

Each of the reports is named at its test; they are of matplotlib and of programs that write LaTeX.
"""

from __future__ import annotations

import importlib.util
import io
import re
import shutil
import subprocess
import sys
import warnings
import zlib
from itertools import pairwise
from types import SimpleNamespace

import longhaul
import numpy as np
import polars as pl
import pytest
from longhaul import latex, plots, tables
from longhaul.errors import PlotError, ResultError
from longhaul.plots import decimation, finished, style
from longhaul.plots.paper import STYLES, Paper, length
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from PIL import Image
from synthetic import write_result

IEEE = Paper.of("ieee", title=False)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A result of two flows, one of them traced."""
    place = tmp_path_factory.mktemp("two")
    write_result(place, 2, trace=True, groups=("cubic", "reno"))
    return longhaul.load(place)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A result of thirty flows of two groups."""
    place = tmp_path_factory.mktemp("many")
    write_result(place, 30, groups=("cubic", "reno"))
    return longhaul.load(place)


def pdf_of(figure):
    """The bytes of a PDF file with its streams inflated, as text."""
    data = plots.figure_bytes(figure, "pdf")
    parts = [data]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        try:
            parts.append(zlib.decompress(stream))
        except zlib.error:
            continue
    return b"\n".join(parts).decode("latin-1")


def lines_figure(count=3, labels=None):
    """A figure with some lines that end on the right, drawn in the form of a paper."""

    def drawing():
        figure, (axes,) = style.new()
        x = np.linspace(0, 10, 200)
        for number in range(count):
            name = labels[number] if labels else f"flow {number}"
            axes.plot(x, np.sin(x + number), color=style.COLOURS[number], linestyle=style.DASHES[number], label=name)
        axes.set_ylabel("value")
        style.time_axis(axes, 0, 10)
        return figure

    return finished(drawing, IEEE)


@pytest.mark.parametrize("kind", ["cwnd", "queue", "limits", "timeseq"])
def test_no_figure_has_fonts_of_type_3(two, kind):
    """IEEE PDF eXpress and ACM's check reject them (numbbo/coco#2112, matplotlib#28521)."""
    text = pdf_of(two.plot(kind, paper=IEEE))
    assert "/Type3" not in text
    assert "/CIDFontType2" in text
    assert "/FontFile2" in text


def test_a_font_of_postscript_outlines_is_not_used(monkeypatch):
    """It is embedded in a form that checks reject: as TrueType, which it is not."""
    from longhaul.plots import paper

    monkeypatch.setattr(paper, "_is_truetype", lambda file: "STIX" in file)
    assert Paper(font="Times").families[0] == "STIXGeneral"
    with pytest.raises(PlotError, match="not installed as TrueType"):
        Paper(font="DejaVu Serif")


@pytest.mark.parametrize("kind", list(plots.KINDS))
@pytest.mark.parametrize("which", ["two", "many"])
def test_the_legend_hides_nothing(request, which, kind):
    """matplotlib's "best" place covers lines, areas and texts (matplotlib#23323, #27414)."""
    result = request.getfixturevalue(which)
    if kind not in plots.kinds_for(result):
        pytest.skip("not in this result")
    figure = result.plot(kind, paper=IEEE)
    for axes in figure.axes:
        legend = axes.get_legend()
        if legend is None:
            continue
        box = legend.get_window_extent(FigureCanvasAgg(figure).get_renderer())
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1
        legend.remove()
        for mark in (*axes.lines, *axes.patches):
            # No place is free of what goes from the bottom to the top.
            mark.set_visible(mark.get_transform().contains_branch_seperately(axes.transData)[1])
        axes.set_axis_off()
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3]
        under = pixels[int(box.y0) + 1 : int(box.y1), int(box.x0) + 1 : int(box.x1)]
        # A title is above the panel, not under its legend.
        assert under.min(initial=255) > 200, f"{kind}: the legend covers what is drawn"


@pytest.mark.parametrize(("width", "height", "points"), [("3.4in", "2in", (244.8, 144.0)), ("86mm", "50mm", (243.78, 141.73)), ("252pt", None, (251.06, 155.66))])  # fmt: skip
def test_the_page_has_the_size_that_was_asked_for(two, width, height, points):
    """A "tight" box changes the width, and LaTeX then scales the text (pnkraemer/tueplots#129, matplotlib#11681)."""
    figure = two.plot("fairness", paper=Paper.of("ieee", width, height))
    box = re.search(r"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+)", pdf_of(figure))
    assert [float(one) for one in box.groups()] == pytest.approx(points, abs=0.02)


def test_texts_have_one_size_and_one_font(two):
    """IEEE asks for 8 pt and more in figures; the smallest text is as large as the others."""
    figure = two.plot("cwnd", paper=Paper(size=8, font="Times", title=False))
    axes = figure.axes[0]
    texts = [axes.xaxis.label, axes.yaxis.label, *axes.get_xticklabels(), *axes.get_legend().get_texts()]
    assert {text.get_fontsize() for text in texts} == {8.0}
    assert {text.get_fontfamily()[0] for text in texts} == {Paper(font="Times").families[0]}


def test_texts_keep_their_font_where_the_file_is_written_later(two):
    figure = two.plot("rtt", paper=IEEE)
    assert "DejaVuSans" not in pdf_of(figure).replace("DejaVuSansDisplay", "")


@pytest.mark.parametrize("character", list("_%#&${}^~\\"))
def test_special_characters_reach_latex_escaped(character):
    """nschloe/tikzplotlib#261 (%), matplotlib#27048 (#): LaTeX stops, or takes the rest of the line for a comment."""
    name = f"a{character}b"
    code = plots.figure_bytes(lines_figure(1, [name]), "pgf").decode()
    assert rf"a\{character}b" in code or r"a\text" in code


def test_pgf_needs_no_latex_to_be_written_and_no_unicode_to_be_read(monkeypatch, two):
    """matplotlib#18826, #13921: pdfLaTeX stops at U+2212, and matplotlib stops where no LaTeX is installed."""
    monkeypatch.setenv("PATH", "")
    figure = lines_figure(1)
    figure.axes[0].set_ylim(-1, 1)
    code = plots.figure_bytes(figure, "pgf")
    assert code.isascii()
    assert rb"\ensuremath{-}1.0" in code
    assert plots.figure_bytes(two.plot("queue", paper=IEEE), "pgf").isascii()


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
@pytest.mark.parametrize("kind", ["cwnd", "queue", "limits", "fairness"])
def test_latex_takes_pgf_code(two, tmp_path, kind):
    (tmp_path / "figure.pgf").write_bytes(plots.figure_bytes(two.plot(kind, paper=IEEE), "pgf"))
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{pgf}\begin{document}\input{figure.pgf}\end{document}"
    )
    found = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True, text=True
    )  # fmt: skip
    assert found.returncode == 0, found.stdout[-2000:]


def test_a_heat_map_in_pgf_is_refused_with_what_to_do(many):
    with pytest.raises(PlotError, match=r"heat map.*pdf, or show fewer flows"):
        plots.figure_bytes(many.plot("cwnd", paper=IEEE), "pgf")


def test_lines_are_told_apart_in_grey(two):
    """matplotlib#303: colours that look alike on a printer without colour."""
    figure = two.plot("cwnd", flows=[0, 1], paper=IEEE)
    lines = [line for line in figure.axes[0].lines if line.get_color() in style.COLOURS]
    looks = {(str(line.get_linestyle()), line.get_marker()) for line in lines}
    assert len(looks) == len(lines) > 1
    for line in lines:
        red, green, blue = to_rgb(line.get_color())
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.75, "too light on white paper"


def test_every_character_has_a_glyph():
    """matplotlib#17841, #9139: the minus sign of a font without one is a box, or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for font in ("Times", "Helvetica", "Computer Modern", "Courier"):
            paper = Paper(font=font)

            def drawing():
                figure, (axes,) = style.new()
                axes.plot([0, 1], [-1, 1], label="−1 → ± × µs ↑ ≥ “x”")
                axes.set_ylabel("−5 to 5 (µs)")
                for axis in (axes.xaxis, axes.yaxis):
                    style.quantity_axis(axis, 1.0, "s", "$a$ time")
                return figure

            plots.figure_bytes(finished(drawing, paper), "pdf")


def test_a_font_that_looks_like_the_missing_one_is_named():
    """btobers/RAGU#4, SMTG-Bham/sumo#146: another font in silence, or a line of a log for each text."""
    paper = Paper(font="Times")
    if paper.families[0] != "Times":
        assert paper.note == f"the font 'Times' is not installed; {paper.families[0]!r}, which looks like it, is used"
    assert Paper(font="DejaVu Serif").note is None


def test_an_unknown_font_is_one_error_with_near_names():
    with pytest.raises(PlotError, match=r"--font 'DejaVu Serf' is not installed.*did you mean DejaVu Serif"):
        Paper(font="DejaVu Serf")
    with pytest.raises(PlotError, match="fc-list"):
        Paper(font="Qwertzuiop")


def _overlap(a, b):
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1


@pytest.mark.parametrize("kind", list(plots.KINDS))
@pytest.mark.parametrize("which", ["two", "many"])
def test_no_text_is_cut_off_or_runs_into_another(request, which, kind):
    """What "tight_layout" leaves: labels beyond the edge of the page, tick labels over each other."""
    result = request.getfixturevalue(which)
    if kind not in plots.kinds_for(result):
        pytest.skip("not in this result")
    figure = result.plot(kind, paper=IEEE)
    renderer = FigureCanvasAgg(figure).get_renderer()
    texts = []
    for axes in (*figure.axes, *(child for one in figure.axes for child in one.child_axes)):
        for axis in (axes.xaxis, axes.yaxis):
            # Those that are drawn; an axis keeps labels beyond its ends too.
            texts += [
                axis.label,
                *(tick.label1 for tick in axis._update_ticks() if axis.get_tick_params().get("labelbottom", True)),
            ]
            texts += [tick.label2 for tick in axis._update_ticks()]
        texts += axes.get_legend().get_texts() if axes.get_legend() else []
    drawn = [text for text in texts if text.get_text() and text.get_visible()]
    shown = [(text.get_text(), text.get_window_extent(renderer)) for text in drawn]
    for name, box in shown:
        assert box.x0 >= -1, f"{kind}: {name!r} is cut off"
        assert box.y0 >= -1, f"{kind}: {name!r} is cut off"
        assert box.x1 <= figure.bbox.x1 + 1, f"{kind}: {name!r} is cut off"
        assert box.y1 <= figure.bbox.y1 + 1, f"{kind}: {name!r} is cut off"
    for number, (name, box) in enumerate(shown):
        for other, second in shown[number + 1 :]:
            assert not _overlap(box, second), f"{kind}: {name!r} runs into {other!r}"


def test_a_figure_without_room_for_its_lines_is_one_error(two):
    with pytest.raises(PlotError, match=r"no room .* larger --height or --width, or a smaller --size"):
        two.plot("cwnd", paper=Paper.of("ieee", height="1in"))


@pytest.mark.parametrize("ending", ["pdf", "svg", "pgf"])
def test_a_million_samples_make_a_small_vector_file(tmp_path, ending):
    """matplotlib#22803: areas of many points are written whole, tens of megabytes that printers do not take."""
    write_result(tmp_path, 2)
    for table in ("flows", "links"):
        frame = pl.read_parquet(tmp_path / f"{table}.parquet")
        key = "flow" if table == "flows" else "link"
        rows = -(-1_000_000 // frame.height)
        long = pl.concat([frame] * rows).sort(key, "time_s", maintain_order=True)
        each = long.height // frame[key].n_unique()
        times = np.tile(np.linspace(0.001, 200.0, each), frame[key].n_unique())
        long.with_columns(time_s=pl.Series(times)).write_parquet(tmp_path / f"{table}.parquet")
    result = longhaul.load(tmp_path)
    for kind in ("cwnd", "queue"):
        size = len(plots.figure_bytes(result.plot(kind, paper=IEEE), ending))
        assert size < {"pdf": 200_000, "svg": 1_000_000, "pgf": 1_500_000}[ending], f"{kind}: {size:,} bytes"


def test_a_thinned_band_keeps_its_edges():
    x = np.linspace(0, 1, 100_000)
    low, high = np.zeros_like(x), np.ones_like(x)
    low[5_000], high[70_000] = -7.0, 9.0
    shown, least, most = decimation.band(x, low, high)
    assert len(shown) <= decimation.COLUMNS
    assert least.min() == -7.0
    assert most.max() == 9.0
    at, largest = decimation.peaks(x, high)
    assert len(at) <= decimation.COLUMNS
    assert largest.max() == 9.0


def test_only_what_is_used_of_a_font_is_embedded(two):
    """matplotlib#11303: a whole font in each figure."""
    assert len(plots.figure_bytes(two.plot("limits", paper=IEEE), "pdf")) < 60_000


@pytest.mark.parametrize("ending", ["pdf", "svg", "pgf"])
def test_the_same_figure_gives_the_same_bytes(two, ending):
    """A date in the file makes each build of a paper another one."""
    first, second = (plots.figure_bytes(two.plot("cwnd", paper=IEEE), ending) for _ in range(2))
    assert first == second
    assert b"CreationDate" not in first


@pytest.mark.parametrize(
    ("text", "inches"), [("3.4in", 3.4), ("86 mm", 86 / 25.4), ("8.6cm", 8.6 / 2.54), ("72.27pt", 1.0), (".5in", 0.5)]
)
def test_lengths(text, inches):
    assert length(text) == pytest.approx(inches)


@pytest.mark.parametrize("text", ["3.4", "in", "3,4in", "-3in", "3 px", "1e3in", "", "3.4IN"])
def test_a_length_that_is_none_is_one_error(text):
    with pytest.raises(PlotError, match=r"--width .*: write a number and in, cm, mm or pt"):
        length(text)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"width": "40in"}, r"--width 40 in: it is from 1 to 20 in \(2.54 to 50.8 cm\)"),
        ({"height": "1mm"}, "--height 0.0393701 in: it is from 0.7 to 20 in"),
        ({"size": 2.0}, "--size 2 pt: it is from 4 to 24 pt"),
        ({"style": "elsevier"}, "--style 'elsevier': the styles are ieee, acm"),
    ],
)
def test_what_is_out_of_range_is_one_error(given, message):
    with pytest.raises(PlotError, match=message):
        Paper.of(**given)


def test_styles_are_the_columns_of_the_classes():
    """IEEEtran: 252 pt; acmart, sigconf: 241.14749 pt."""
    assert STYLES["ieee"].width == pytest.approx(3.487, abs=0.001)
    assert STYLES["acm"].width == pytest.approx(3.337, abs=0.001)
    assert Paper.of("acm", width="5in").width == 5


def test_the_command_writes_what_was_asked_for(command, scenario, tmp_path):
    command("run", scenario, "--out", tmp_path / "r")
    done = command(
        "plot", tmp_path / "r", "-k", "cwnd", "--style", "ieee", "--width", "86mm", "--height", "6cm", "--no-title",
        "--format", "pdf,svg", "--format", "pgf", "--out", tmp_path / "figures",
    )  # fmt: skip
    assert done.code == 0
    assert {file.name for file in (tmp_path / "figures").iterdir() if file.name.startswith("cwnd")} == {
        "cwnd.pdf", "cwnd.svg", "cwnd.pgf",
    }  # fmt: skip
    assert "size" not in done.err.lower()
    bad = command("plot", tmp_path / "r", "--format", "pfd")
    assert (bad.code, bad.err.strip()) == (
        2,
        "error: --format 'pfd': the values are png, pdf, svg, pgf; did you mean 'pgf'?",
    )
    wide = command("plot", tmp_path / "r", "--width", "3.4")
    assert wide.code == 2
    assert wide.err.count("\n") == 1


def test_a_sweep_is_one_figure_that_names_the_others(command, sweep_file, tmp_path):
    command("sweep", sweep_file, "--out", tmp_path / "s")
    one = command("plot", tmp_path / "s", "--out", tmp_path / "one")
    drawn = one.out.split()
    assert len(drawn) == 1
    assert "--kind" in one.err
    assert "--all" in one.err
    named = command("plot", tmp_path / "s", "-k", "loss_rate", "--out", tmp_path / "named")
    assert [line.rsplit("/", 1)[-1] for line in named.out.split()] == ["loss_rate.png"]
    assert not named.err
    every = command("plot", tmp_path / "s", "--all", "--out", tmp_path / "all")
    assert len(every.out.split()) > 5
    both = command("plot", tmp_path / "s", "--all", "-k", "loss_rate")
    assert (both.code, both.err.strip()) == (2, "error: --all draws every figure: leave out --kind")


def test_many_points_of_a_sweep_have_names_that_do_not_overlap(command, scenario, tmp_path):
    rates = ", ".join(f"'{rate} Mbit/s'" for rate in range(1, 13))
    command(
        "sweep",
        scenario,
        "--out",
        tmp_path / "s",
        "--grid",
        f"link.satellite.rate=[{rates}]",
        "--set",
        "run.duration=3 s",
    )
    figure = longhaul.load(tmp_path / "s").plot("goodput_bps", paper=Paper.of("ieee", width="2.2in", title=False))
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].get_xticklabels() if text.get_text()]
    assert not any(_overlap(a, b) for a, b in pairwise(boxes))


def test_a_png_of_a_paper_has_the_size_in_pixels(two):
    data = plots.figure_bytes(two.plot("fairness", paper=Paper(width=3.0, height=2.0)), "png", 100)
    assert Image.open(io.BytesIO(data)).size == (300, 200)


def test_a_figure_that_is_not_for_a_paper_is_as_before(two):
    figure = two.plot("cwnd")
    assert isinstance(figure, Figure)
    assert figure.get_size_inches()[0] == style.SIZE[0]
    assert "off scale" in " ".join(text.get_text() for text in two.plot("goodput").axes[0].get_legend().get_texts())


def test_tables_are_written_for_papers(command, two, tmp_path):
    path = two.path
    text = command("table", path, "--format", "latex").out
    assert text.startswith("% \\usepackage{booktabs}\n\\begin{tabular}{l")
    body = text.split("\n", 1)[1]
    assert re.search(r"(?<!\\)[%_#]", body) is None
    assert "Mbit/s" in body.split("midrule")[0]
    assert "Mbit/s" not in body.split("midrule")[1]
    assert command("table", path, "--of", "links").out.startswith("| Link |")
    assert command("table", path, "--of", "points").code == 2
    made = tables.Table([("a", ""), ("b", "")], [["x,y", "1|2"]])
    assert made.to_csv() == 'a,b\n"x,y",1|2\n'
    assert made.to_markdown().endswith("| x,y | 1\\|2 |\n")


@pytest.mark.parametrize("text", ["a_b", "50%", "R&D", "#1", "$x", "{y}", "a^b", "c~d", "e\\f"])
def test_names_in_latex_tables_are_escaped(text):
    """pandas-dev/pandas#61296, #53164, #61478: underscores in heads, per cent signs in heads and cells."""
    made = tables.Table([(text, ""), ("95 %_limit", "")], [[text, "12.5 %"]]).to_latex()
    assert r"95 \%\_limit (\%)" in made
    assert made.count(latex.escaped(text)) == 2
    assert latex.escaped(text) != text


def test_values_of_one_column_have_one_unit_in_its_head():
    made = tables.Table([("x", ""), ("Rate", "")], [["a", "1.5 ± 0.2 Mbit/s"], ["b", "800 ± 20 kbit/s"], ["c", "–"]])
    assert made.to_csv() == "x,Rate (Mbit/s)\na,1.5 ± 0.2\nb,0.800 ± 0.020\nc,–\n"
    mixed = tables.Table([("x", ""), ("y", "")], [["a", "1 s"], ["b", "3 packets"]])
    assert mixed.to_csv() == "x,y\na,1 s\nb,3 packets\n"


def test_compare_writes_its_table_for_papers(command, two, tmp_path):
    write_result(tmp_path / "other", 2, seed=2, groups=("cubic", "reno"))
    shown = command("compare", two.path, tmp_path / "other", "--format", "latex")
    assert shown.code == 0
    assert shown.out.startswith("% \\usepackage{booktabs}\n\\begin{tabular}{llrrr}")
    bad = command("compare", two.path, two.path, "--format", "tex")
    assert (bad.code, bad.err.strip()[:21]) == (2, "error: --format 'tex'")


def test_frames_of_pandas(monkeypatch, two, command, sweep_file, tmp_path):
    """With pandas' own constructor where it is installed; its columns are checked in any case."""
    if importlib.util.find_spec("pandas") is None:
        monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=dict))
    frame = two.to_pandas()
    assert list(frame["name"]) == ["cubic-0", "reno-1"]
    command("sweep", sweep_file, "--out", tmp_path / "s")
    swept = longhaul.load(tmp_path / "s")
    assert len(swept.to_pandas()["goodput_bps"]) == swept.runs.height
    assert len(swept.to_pandas("cells")["mean"]) == swept.cells.height
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ResultError, match="pandas is not installed: pip install pandas"):
        two.to_pandas()


def test_completion_times_count_what_was_not_finished(two):
    """One of two transfers is done: the curve ends at 50 %, and the legend has the other."""
    for flow, time in zip(two.summary["flows"], (3.0, None), strict=True):
        flow["group"] = "files"
        flow["metrics"]["completion_time_s"] = time
    figure = two.plot("completion", paper=IEEE)
    (line,) = figure.axes[0].lines
    assert max(line.get_ydata()) == 0.5
    assert "2 transfers, 1 not finished" in figure.axes[0].get_legend().get_texts()[0].get_text().replace("\n", " ")
    for flow in two.summary["flows"]:
        flow["metrics"]["completion_time_s"] = None
    with pytest.raises(PlotError, match="no transfer of these flows was finished"):
        two.plot("completion")
