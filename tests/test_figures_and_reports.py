"""Figures and reports from 1 to 500 flows; whether they are beautiful has to be looked at."""

from __future__ import annotations

import base64
import re

import longhaul
import numpy as np
import pytest
from longhaul import course, plots, propagation, report
from longhaul.plots import decimation, links, margins, style
from longhaul.report import explore, strip
from longhaul.units import quantity
from longhaul_studies import drawing
from longhaul_studies.highspeed import figures as highspeed_figures
from matplotlib.backends.backend_agg import FigureCanvasAgg
from self_contained import addresses
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
    assert not addresses(html)
    assert len(re.findall(r'id="plot-[a-z]', html)) >= 6
    assert len(re.findall(r'class="plot" id="[^"]+" role="img" aria-label="', html)) == html.count('class="plot"')
    assert html.count('class="network ') == 2  # wide, and upright for narrow screens
    assert "Why is my flow not faster?" in html
    assert "{{" not in html


def test_a_report_shows_warnings_and_escapes_names(tmp_path):
    write_result(tmp_path / "r", 3, duration=60, receiver_limited=True, name="<script>alert(1)</script>")
    html = longhaul.load(tmp_path / "r").report(tmp_path / "r.html").read_text()
    assert "alert(1)" in html
    assert re.findall("<script[^>]*>", html) == [
        '<script type="application/json" id="explore-data">',
        "<script>",
        "<script>",
        '<script type="application/json" id="network-data">',
        "<script>",
    ]
    assert "<script>alert" not in html
    assert "bandwidth-delay product" in html
    assert "its time: receiver&#39;s window" in html


def test_the_report_of_a_real_run(command, scenario, tmp_path):
    out = tmp_path / "r"
    outcome = command("run", scenario, "--set", "flow.users.trace=true", "--out", out, "--report", "-q")
    assert outcome.code == 0, outcome.err
    html = (out / "report.html").read_text()
    assert 'id="plot-timeseq0"' in html
    assert "satellite" in html


def test_a_result_without_time_series_still_has_a_report(command, scenario, tmp_path):
    out = tmp_path / "r"
    assert command("run", scenario, "--out", out, "--no-tables", "--report", "-q").code == 0
    html = (out / "report.html").read_text()
    assert "made without time series" in html
    assert "Why is my flow not faster?" in html
    assert 'id="explore-data"' not in html
    assert command("plot", out, "--kind", "cwnd").code == 2


def test_a_report_begins_with_the_waterfall_of_causes(command, tmp_path):
    """By itself where that takes less than 1.4 s, with --explain in any case."""
    file = tmp_path / "s.toml"
    scenario = longhaul.Scenario("window", duration="10 s").link("path", "a", "b", rate="5 Mbit/s", delay="50 ms")
    file.write_text(scenario.flow("a", "b", name="f", tcp={"receive_buffer": "16 kB"}).to_toml())
    assert command("run", file, "--out", tmp_path / "r", "-q").code == 0
    assert command("report", tmp_path / "r", "--explain").code == 0
    html = (tmp_path / "r" / "report.html").read_text()
    begin = html.index("What limits f")
    assert begin < html.index("<figure")
    assert "without the receiver&#39;s window of 16 kB" in html[begin:]
    assert 'class="waterfall"' in html
    assert command("report", tmp_path / "r", "--force", "--no-explain").code == 0
    assert "What limits f" not in (tmp_path / "r" / "report.html").read_text()
    assert command("report", tmp_path / "r", "--force").code == 0
    assert "What limits f" in (tmp_path / "r" / "report.html").read_text()


def test_a_report_says_so_where_causes_would_take_too_long(monkeypatch, tmp_path):
    scenario = longhaul.Scenario("window", duration="10 s").link("path", "a", "b", rate="5 Mbit/s", delay="50 ms")
    result = longhaul.run(scenario.flow("a", "b", name="f", tcp={"receive_buffer": "16 kB"}))
    # What is not complete when the time is over is left out: the strongest cause may not have been tested.
    monkeypatch.setattr("longhaul.explain.AT_ONCE_S", 1e-3)
    html = re.sub("</?code.*?>", "", result.report(tmp_path / "r.html").read_text()).replace("\u00a0", " ")
    assert "What limits f" not in html
    assert (
        "Causes were not tested: that takes more than 1 ms of processor time; longhaul report --explain RESULT does it."
        in html
    )


def test_the_report_of_real_packets_states_why_no_cause_was_tested(tmp_path):
    """It had "that takes more than 5 s" where the run itself was slow, and called its seconds simulated."""
    scenario = longhaul.Scenario("real", duration="10 s").link("path", "a", "b", rate="5 Mbit/s", delay="50 ms")
    result = longhaul.run(scenario.flow("a", "b"))
    result.summary["emulation"] = {"kernel": "6.18"}
    html = result.report(tmp_path / "r.html").read_text().replace("\u00a0", " ")
    assert "10 s with real packets" in html
    assert "Causes were not tested: real packets and real kernels never repeat exactly." in html


#: 8 Mbit/s, from 20 s 2 Mbit/s, nothing from 30 to 35 s, from 40 s again 8 Mbit/s and 300 ms instead of 100 ms.
SCRIPT = [
    "--set",
    'link.satellite.changes=[{at="20 s",rate="2 Mbit/s"},{at="40 s",rate="8 Mbit/s",delay="300 ms"}]',
    "--set",
    'link.satellite.outages=[{start="30 s",duration="5 s"}]',
    "--set",
    "link.satellite.rate=8 Mbit/s",
    "--set",
    "run.duration=60 s",
    "--set",
    "run.warmup=10 s",
]


@pytest.fixture
def scripted(command, scenario, tmp_path):
    """A real run over a link that follows a script."""
    outcome = command("run", scenario, *SCRIPT, "--set", "flow.users.start=0 s", "--out", tmp_path / "r", "-q")
    assert outcome.code == 0, outcome.err
    return longhaul.load(tmp_path / "r")


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def line(axes, word):
    return next(line for line in axes.lines if word in str(line.get_label()))


def test_an_equal_share_follows_changes_and_outages(scripted):
    axes = scripted.plot("throughput").axes[0]
    share = line(axes, "equal share")
    # 1460 of 1500 bytes are payload; three flows.
    third = 1460 / 1500 / 3
    values = [8e6 * third, 2e6 * third, 0.0, 2e6 * third, 8e6 * third]
    assert list(share.get_xdata())[:-1] == [0, 20, 30, 35, 40]
    assert list(share.get_ydata())[:-1] == pytest.approx(values)
    assert share.get_drawstyle() == "steps-post"
    assert "equal share of the link\n= 649 kbit/s to 2.6 Mbit/s" in labels(axes)
    # The summary has its mean over the measured time, 10 to 60 s: 10 s + 20 s at 8 Mbit/s, 10 s + 5 s at 2 Mbit/s.
    mean = (30 * 8e6 + 15 * 2e6) / 50 * third
    assert scripted.summary["flows"][0]["predicted"]["fair_share_bps"] == pytest.approx(mean)


def test_the_rtt_without_queueing_follows_changes_of_delay_and_rate(scripted):
    axes = scripted.plot("rtt").axes[0]
    base = line(axes, "without queueing")
    before = scripted.summary["flows"][0]["base_rtt_s"]
    # 1500 bytes and 40 bytes take four times as long at 2 Mbit/s; then twice 200 ms are added.
    slower = 1540 * 8 * (1 / 2e6 - 1 / 8e6)
    assert list(base.get_xdata())[:-1] == [0, 20, 40]
    assert list(base.get_ydata())[:-1] == pytest.approx([before, before + slower, before + 0.4])


@pytest.mark.parametrize("kind", ["throughput", "goodput", "cwnd", "rtt", "utilisation", "queue"])
def test_outages_and_changes_are_marked(scripted, kind):
    axes = scripted.plot(kind).axes[0]
    for label in ("outage:\nsatellite", "rate changes:\nsatellite", "delay changes:\nsatellite"):
        assert labels(axes).count(label) == 1
    bands = [patch for patch in axes.patches if patch.get_label() == "outage:\nsatellite"]
    assert [(band.get_x(), band.get_x() + band.get_width()) for band in bands] == [(30, 35)]
    assert list(line(axes, "rate changes").get_xdata()) == [20, 20]
    assert list(line(axes, "delay changes").get_xdata()) == [40, 40]


def test_only_what_is_shown_is_marked(scripted):
    axes = scripted.plot("cwnd", start=32, end=38).axes[0]
    assert [label for label in labels(axes) if "satellite" in label] == ["outage:\nsatellite"]


def test_a_run_without_a_script_has_no_marks(command, scenario, tmp_path):
    command("run", scenario, "--out", tmp_path / "r", "-q")
    axes = longhaul.load(tmp_path / "r").plot("cwnd").axes[0]
    assert not [label for label in labels(axes) if "outage" in label or "changes" in label]


def test_many_changes_are_counted_and_are_ticks_at_the_top(command, scenario, tmp_path):
    changes = ",".join(f'{{at="{at} s",delay="{100 + at % 2} ms"}}' for at in range(1, 61))
    long = ["--set", "run.duration=61 s", "--set", f"link.satellite.changes=[{changes}]"]
    assert command("run", scenario, *long, "--out", tmp_path / "r", "-q").code == 0
    axes = longhaul.load(tmp_path / "r").plot("cwnd").axes[0]
    assert len(line(axes, "delay changes").get_xdata()) == 60
    assert "delay changes:\nsatellite\n(60)" in labels(axes)


def test_share_lines_of_several_groups_are_named(command, scenario, tmp_path):
    scenario.write_text(
        scenario.read_text()
        + '\n[[link]]\nname = "slow"\nends = ["remote", "ship"]\nrate = "300 kbit/s"\ndelay = "10 ms"\n'
        + '\n[[flow]]\nname = "ship"\nfrom = "hub"\nto = "ship"\n'
    )
    assert command("run", scenario, "--out", tmp_path / "r", "-q").code == 0
    axes = longhaul.load(tmp_path / "r").plot("throughput").axes[0]
    shares = [label.split("\n")[0] for label in labels(axes) if label.startswith("equal share")]
    assert shares == ["equal share of the link, ship", "equal share of the link, users"]
    one, two = (line(axes, name) for name in shares)
    assert one.get_linestyle() != two.get_linestyle() or one._unscaled_dash_pattern != two._unscaled_dash_pattern


def test_a_group_of_one_flow_has_no_band(command, scenario, tmp_path):
    scenario.write_text(
        scenario.read_text().replace("count = 3", "count = 9")
        + '\n[[flow]]\nname = "one"\nfrom = "hub"\nto = "remote"\n'
    )
    assert command("run", scenario, "--out", tmp_path / "r", "-q").code == 0
    shown = labels(longhaul.load(tmp_path / "r").plot("cwnd").axes[0])
    assert "one: 1 flow" in shown
    assert not [label for label in shown if "of 1 flow" in label]


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_word_of_a_table_is_broken(command, sweep_file, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    metrics = "goodput_bps,utilisation,loss_rate,timeouts,rtt_mean_s,jain_index"
    outcome = command("sweep", sweep_file, "--metrics", metrics, "--out", tmp_path / "s")
    words = set(outcome.out.split())
    assert {"Goodput", "Utilisation", "Loss", "Timeouts", "Mean", "Jain's"} <= words
    assert max(len(line) for line in outcome.out.splitlines() if "result:" not in line) <= width
    assert re.search(r"\d ± [\d.]+ Mbit/s", outcome.out.replace("\u00a0", " "))


@pytest.mark.parametrize(("seeds", "said"), [(1, False), (3, True)])
def test_intervals_are_spoken_of_only_where_there_are_some(command, sweep_file, tmp_path, seeds, said):
    outcome = command("sweep", sweep_file, "-n", seeds, "--report", "--out", tmp_path / "s")
    html = (tmp_path / "s" / "report.html").read_text()
    assert ("Student" in html) == said
    assert ("One run at each point" in html) != said
    assert ("95 % interval" in outcome.out) == said


def test_averages_keep_the_mean_and_stand_at_the_end_of_their_samples():
    time, mean = links._averaged(np.arange(1.0, 401.0), np.arange(400.0))
    assert len(time) == 134
    assert time[:2].tolist() == [3.0, 6.0]
    assert time[-1] == 400.0
    assert mean[:2].tolist() == [1.0, 4.0]
    assert mean[-1] == 399.0
    assert links._averaged(np.arange(150.0), np.ones(150))[0].size == 150


def test_values_of_zero_leave_a_gap_on_a_logarithmic_axis():
    axes = drawing.panels()[1][0]
    drawing.line(axes, {2: [0.0], 10: [1e-6], 40: [1e-5]}, "REGTCP", 0)
    highspeed_figures._axes(axes, "number of flows", "congestion event rate", log_y=True)
    assert np.isnan(axes.lines[1].get_ydata()).tolist() == [True, False, False]
    assert [text.get_text() for text in axes.texts] == ["values of 0 are not shown"]


def test_ticks_of_counts_are_whole_numbers():
    axes = drawing.panels()[1][0]
    drawing.line(axes, {1: [1.0], 3: [2.0]}, "HSTCP", 0)
    highspeed_figures._axes(axes, "number of flows", "y")
    assert all(tick == round(tick) for tick in axes.get_xticks())


def test_categories_of_a_sweep_are_not_joined(command, scenario, tmp_path):
    """A line between algorithms would say that there is something between them; between rates there is."""
    sweep = ["sweep", scenario, "-n", 1, "-q", "--set", "run.duration=5 s"]
    command(*sweep, "--grid", 'flow.users.tcp.congestion=["reno", "cubic"]', "--out", tmp_path / "words")
    command(*sweep, "--grid", 'link.satellite.rate=["1 Mbit/s", "2 Mbit/s"]', "--out", tmp_path / "rates")
    words, rates = (longhaul.load(tmp_path / name).plot("goodput_bps").axes[0].lines[0] for name in ("words", "rates"))
    assert words.get_linestyle() == "None"
    assert rates.get_linestyle() == "-"


def test_means_of_a_sweep_that_span_decades_stand_on_a_log_scale(command, scenario, tmp_path):
    sweep = ["sweep", scenario, "-n", 1, "-q", "--set", "run.duration=5 s"]
    command(*sweep, "--grid", 'link.satellite.rate=["50 kbit/s", "5 Mbit/s"]', "--out", tmp_path / "decades")
    command(*sweep, "--grid", 'link.satellite.rate=["1 Mbit/s", "2 Mbit/s"]', "--out", tmp_path / "near")
    far, near = (longhaul.load(tmp_path / name).plot("goodput_bps").axes[0] for name in ("decades", "near"))
    assert (far.get_yscale(), near.get_yscale()) == ("log", "linear")
    low, high = far.get_ylim()
    assert all(low < value < high for value in far.lines[0].get_ydata())


@pytest.mark.parametrize("flows", CASES)
def test_nothing_is_cut_off_at_the_edge_of_a_figure(made_up, flows):
    result = made_up(flows, **CASES[flows])
    for kind in plots.kinds_for(result):
        figure = plots.draw(result, kind)
        with style.styled():
            drawn = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer())
        width, height = figure.get_size_inches()
        assert 0 <= drawn.x0 <= 0.3, kind
        assert drawn.y0 >= 0, kind
        assert width - 0.5 <= drawn.x1 <= width, kind
        assert drawn.y1 <= height, kind


def test_a_legend_longer_than_its_panel_makes_room():
    figure, panels = style.new(2)
    for i, axes in enumerate(panels):
        for number in range(20):
            axes.plot([0, 1], [0, number], label=f"panel {i}\nline {number}")
        style.legend_outside(axes)
    margins.place(figure)
    renderer = FigureCanvasAgg(figure).get_renderer()
    upper, lower = (axes.get_legend().get_window_extent(renderer) for axes in panels)
    assert upper.y0 >= lower.y1
    assert lower.y0 >= 0


def test_a_million_segments_are_drawn_as_what_a_picture_shows():
    sent = np.arange(1_000_000)
    time, start = sent * 1e-4, sent * 1460.0
    x, y = decimation.ranges(time, start, start + 1460)
    # A stroke has two ends and a gap.
    assert x.size <= 3 * decimation.COLUMNS
    strokes = y.reshape(-1, 3)
    assert strokes[0, 0] == 0
    assert strokes[-1, 1] == 1_000_000 * 1460
    assert np.nansum(strokes[:, 1] - strokes[:, 0]) == 1_000_000 * 1460, "nothing is missing, nothing is there twice"
    few_x, few_y = decimation.ranges(time[:100], start[:100], start[:100] + 1460)
    assert few_x.size == 300
    assert np.array_equal(few_y.reshape(-1, 3)[:, 0], start[:100])


def test_a_hole_among_a_million_segments_stays_a_hole():
    time = np.linspace(0, 100, 1_000_000)
    start = np.where(np.arange(time.size) % 2, 0.0, 600.0)
    _, y = decimation.ranges(time, start, start + 100.0)
    strokes = y.reshape(-1, 3)[:, :2]
    assert {tuple(stroke) for stroke in strokes} == {(0.0, 100.0), (600.0, 700.0)}
    assert len(strokes) == 2 * decimation.COLUMNS


def test_a_thinned_line_keeps_its_ends_peaks_and_gaps():
    x = np.linspace(0, 1, 1_000_000)
    y = np.sin(50 * x)
    y[123_456], y[654_321], y[500_000:510_000] = 7.0, -7.0, np.nan
    thin_x, thin_y = decimation.line(x, y)
    assert thin_x.size <= 5 * decimation.COLUMNS
    assert (thin_x[0], thin_x[-1]) == (0, 1)
    assert thin_x[np.nanargmax(thin_y)] == x[123_456]
    assert thin_x[np.nanargmin(thin_y)] == x[654_321]
    assert np.isnan(thin_y[(thin_x > x[500_000]) & (thin_x < x[509_999])]).all()
    assert decimation.line(x[:1000], y[:1000])[0].size == 1000


def test_the_figures_of_a_report_are_counted(made_up, tmp_path):
    counted = []
    made_up(3, receiver_limited=True).report(tmp_path / "r.html", lambda done, total: counted.append((done, total)))
    total = counted[-1][1]
    assert total >= 6
    assert counted == [(done, total) for done in range(total + 1)]


def test_a_report_stays_light(command, scenario, tmp_path):
    """Figures are columns of numbers, decimated, however many segments were traced."""
    out = tmp_path / "r"
    traced = ["--set", "flow.users.trace=true", "--set", "link.satellite.rate=100 Mbit/s"]
    assert command("run", scenario, *traced, "--out", out, "--report", "-q").code == 0
    html = (out / "report.html").read_text()
    data = re.search(r'<script type="application/json" id="explore-data">(.*?)</script>', html, re.DOTALL)[1]
    assert "timeseq1" in data
    assert len(data) < 1_200_000
    assert len(html) - len(data) < 150_000


def test_the_words_for_a_figure_are_of_what_is_drawn():
    """Goodput is drawn as the mean over a round trip, which is far below what one sample has after a repair."""
    scenario = (
        longhaul.Scenario("repairs", duration="30 s", sample="50 ms")
        .link("path", "a", "b", rate="10 Mbit/s", delay="200 ms", queue="100 packets", loss="0.2 %")
        .flow("a", "b", name="f")
    )
    result = longhaul.run(scenario)
    columns = explore.Columns()
    explore._flow_figures(columns, result)
    (figure,) = (one for one in columns.figures if one["id"] == "goodput_bps")
    series = figure["series"][0]
    assert result.flows["goodput_bps"].max() > 1.2 * series["hi"]
    assert f"to {quantity(series['hi'], 'bit/s')}." in figure["alt"]


def test_fifty_flows_are_a_strip_with_a_column_for_each(made_up, tmp_path):
    """They were nine paragraphs."""
    result = made_up(50)
    html = result.report(tmp_path / "r.html").read_text()
    strips = re.findall(r'<svg viewBox="0 0 50 100".*?</svg>', html, re.DOTALL)
    assert len(strips) == 2
    assert strips[0].count("<rect") == 50
    names = re.findall(r'data-def="(users-\d+):', strips[0])
    goodputs = {flow["name"]: flow["metrics"]["goodput_bps"] for flow in result.summary["flows"]}
    assert [goodputs[name] for name in names] == sorted(goodputs.values())
    assert "9 of them in words" in html


def test_five_hundred_flows_are_at_most_125_columns(made_up):
    result = made_up(500)
    (one,) = strip.strips(result.summary["flows"], {}, {})
    assert "A column is the mean of up to 4 flows." in one["text"]
    assert one["values"].count("<rect") == 125
    assert len(one["values"]) + len(one["shares"]) < 60_000


def test_groups_with_the_same_sentence_share_it():
    flow = {"metrics": {"goodput_bps": 1e6}, "limited": {"cwnd": 1.0}, "app": "bulk"}
    flows = [{**flow, "id": number, "name": f"f{number}", "group": f"f{number}"} for number in range(30)]
    ((names, text),) = report._texts_of_groups(flows, {})
    assert len(names) == 30
    assert text.startswith("goodput 1 Mbit/s")


def test_the_capacity_stands_behind_goodput_as_the_script_has_it(scripted):
    figure = next(one for one in explore.of_run(scripted)["figures"] if one["id"] == "goodput_bps")
    capacity = figure["series"][0]
    assert capacity["capacity"]
    assert capacity["label"].startswith("capacity of satellite")
    assert capacity["hi"] > capacity["lo"]


def test_a_rough_line_keeps_its_means():
    """A queue that goes up and down with each sample was a black block."""
    times = np.arange(0.0, 100.0, 0.01)
    values = 50.0 + 50.0 * (np.arange(len(times)) % 2)
    _, (small,) = explore.decimated(times, values[np.newaxis], 1000)
    packed = explore._with_mean(times, values, small, 1000)
    assert (packed["mean"]["lo"], packed["mean"]["hi"]) == (75.0, 75.0)
    smooth = np.linspace(0.0, 1.0, len(times))
    _, (small,) = explore.decimated(times, smooth[np.newaxis], 1000)
    assert "mean" not in explore._with_mean(times, smooth, small, 1000)


def test_every_change_of_many_is_marked_and_counted(command, scenario, tmp_path):
    """Only the first 60 were."""
    changes = ",".join(f'{{at="{at} s",delay="{100 + at % 2} ms"}}' for at in range(1, 81))
    long = ["--set", "run.duration=81 s", "--set", f"link.satellite.changes=[{changes}]"]
    assert command("run", scenario, *long, "--out", tmp_path / "r", "-q").code == 0
    (mark,) = explore.of_run(longhaul.load(tmp_path / "r"))["marks"]
    assert (mark["kind"], mark["label"], len(mark["spans"])) == ("ticks", "delay changes: satellite (80)", 80)


def test_a_line_ends_where_its_flow_is_closed():
    """What window and round trip were last was drawn to the end of the run."""
    scenario = longhaul.Scenario("x", duration="40 s", sample="100 ms").link(
        "l", "a", "b", rate="10 Mbit/s", delay="50 ms"
    )
    result = longhaul.run(scenario.flow("a", "b", name="f", duration="10 s", start="5 s"))
    columns = explore.Columns()
    explore._flow_figures(columns, result)
    (figure,) = (one for one in columns.figures if one["id"] == "srtt_s")
    times = np.frombuffer(base64.b64decode(columns.axes[figure["series"][0]["axis"]]), "<f8")
    drawn = times[np.frombuffer(base64.b64decode(figure["series"][0]["data"]), "<u2") != 65535]
    assert 5.0 <= drawn[0] < 5.5
    assert 15.0 <= drawn[-1] < 18.0


def some_flows(counts):
    """Flows of groups with so many members each; goodputs rise."""
    names = [name for name, count in counts.items() for _ in range(count)]
    return [
        {"id": number, "name": f"{name}-{number}", "group": name, "app": "bulk", "limited": {"cwnd": 1.0}, "metrics": {"goodput_bps": 1e6 * (number + 1)}}
        for number, name in enumerate(names)
    ]  # fmt: skip


def test_flows_that_carry_most_are_drawn_among_many():
    """Two downloads with 14 of 19.6 Mbit/s were in no figure."""
    flows = some_flows({"web": 10, "streams": 4, "download": 2, "camera": 1})
    assert {14, 15, 16} <= set(explore.first_flows(flows))


def test_flows_of_a_group_have_its_colour():
    """With and without a proxy could not be told apart."""
    looks = explore.looks(some_flows({"with": 4, "without": 4}))
    assert [look["colour"] for look in looks] == [0] * 4 + [1] * 4
    assert [look["dash"] for look in looks] == [0, 1, 2, 3] * 2
    assert explore.looks(some_flows({"users": 5})) == [{}] * 5
    assert explore.looks(some_flows({"many": 8, "few": 2}))[0] == {
        "colour": 0,
        "dash": 1,
    }  # its median is drawn through


def test_strips_have_colours_of_causes_alone():
    """The colour of a group was that of a cause."""
    strips = strip.strips(some_flows({"web": 10, "download": 4}), {}, {})
    assert [one["title"] for one in strips] == ["10 flows (bulk: web)", "4 flows (bulk: download)"]
    assert not any("var(--c" in one["values"] for one in strips)
    assert len({one["most"] for one in strips}) == 1


def test_a_run_of_datagrams_alone_has_no_figure_of_windows_and_round_trips():
    scenario = longhaul.Scenario("probes", duration="2 s").link("path", "a", "b", rate="2 Mbit/s", delay="20 ms")
    app = {"kind": "cbr", "rate": "64 kbit/s", "message": "160 B"}
    kinds = plots.kinds_for(longhaul.run(scenario.flow("a", "b", name="probe", transport="udp", app=app)))
    assert not {"cwnd", "rtt"} & set(kinds)


def test_datagrams_have_no_line_of_windows_and_calls_begin_with_the_queue():
    """Their names stood below figures without a line of theirs, and the first figure of a call was another flow's round trip."""
    scenario = (
        longhaul.Scenario("call", duration="5 s")
        .link("path", "a", "b", rate="2 Mbit/s", delay="20 ms", queue="50 packets")
        .flow(
            "a",
            "b",
            name="call",
            transport="udp",
            app={"kind": "cbr", "rate": "64 kbit/s", "message": "160 B", "voice": True},
        )
        .flow("a", "b", name="download")
    )
    result = longhaul.run(scenario)
    assert {"cwnd", "rtt"} <= set(plots.kinds_for(result))
    figures = {figure["id"]: figure for figure in explore.of_run(result)["figures"]}
    assert next(iter(figures)) == "queue"
    assert [line["label"] for line in figures["srtt_s"]["series"]] == ["download"]
    assert {"call", "download"} <= {line["label"] for line in figures["goodput_bps"]["series"]}


def test_the_first_figure_of_pages_is_how_long_they_took():
    """It was the queue: what readers of pages wait for was in no figure."""
    page = {"kind": "web", "objects": 2, "object": "20 kB", "think": "1 s"}
    scenario = (
        longhaul.Scenario("readers", duration="30 s")
        .link("l", "a", "b", rate="2 Mbit/s", delay="100 ms", queue="50 packets")
        .flow("b", "a", name="readers", count=3, app=page)
        .flow("a", "b", name="download")
    )
    result = longhaul.run(scenario)
    figure = explore.of_run(result)["figures"][0]
    assert (figure["id"], [one["label"] for one in figure["series"]]) == (
        "pages",
        ["readers: median", "readers: longest"],
    )
    took = result.events.filter(result.events["kind"] == "page")["value"]
    assert len(took) > 10
    assert figure["series"][1]["hi"] == pytest.approx(took.max())
    # The first flow has the first colour, as its group has in the drawing.
    assert {one["colour"] for one in figure["series"]} == {0}


def test_the_report_of_a_sweep_has_eight_curves_at_most(command, scenario, tmp_path):
    """Twenty took 2.4 s of a processor and more: a metric over each of four parameters."""
    out = tmp_path / "s"
    grids = [
        "flow.users.count=[1, 2]",
        'link.satellite.rate=["1 Mbit/s", "2 Mbit/s"]',
        'link.satellite.delay=["10 ms", "50 ms"]',
    ]
    options = [part for grid in grids for part in ("--grid", grid)]
    assert command("sweep", scenario, *options, "--set", "run.duration=5 s", "--out", out, "--report", "-q").code == 0
    page = (out / "report.html").read_text()
    drawn = page.count('<img class="still"')
    left = re.search(r"(\d+) more: <code>longhaul plot s --kind METRIC --over PARAMETER</code>", page)
    assert drawn == 8
    # Each metric has a curve over each of the three parameters.
    assert (drawn + int(left[1])) % 3 == 0


def test_few_flows_of_a_kind_are_no_strip():
    """One flow was a strip of one column, whose worst, median and best it was."""
    flows = [
        {
            "id": n, "name": f"f{n}", "group": "one" if n == 9 else "many", "app": "bulk" if n < 9 else "on_off",
            "metrics": {"goodput_bps": 1e6 * (n + 1)}, "limited": {"cwnd": 1.0}, "predicted": {},
        }
        for n in range(10)
    ]  # fmt: skip
    drawn = strip.strips(flows, {}, {})
    assert [one["title"].partition(" ")[0] for one in drawn] == ["9"]
    assert [flow["name"] for flow in strip.alone(flows)] == ["f9"]


def test_the_capacity_begins_with_the_run():
    """It began with the end of the first mean."""
    scenario = (
        longhaul.Scenario("one", duration="20 s", sample="500 ms")
        .link("path", "a", "b", rate="10 Mbit/s", delay="300 ms", queue="500 packets")
        .flow("a", "b", name="f")
    )
    content = explore.of_run(longhaul.run(scenario))
    goodput = next(figure for figure in content["figures"] if figure["id"] == "goodput_bps")
    capacity = next(line for line in goodput["series"] if line.get("capacity"))
    times = np.frombuffer(base64.b64decode(content["axes"][capacity["axis"]]), "<f8")
    assert times[0] == 0
    assert np.frombuffer(base64.b64decode(capacity["data"]), "<u2")[0] != 65535


def moving(settings, length="30 s"):
    """A download over a link with these settings."""
    scenario = longhaul.Scenario("moves", duration=length, sample="100 ms").link(
        "l", "a", "b", rate="10 Mbit/s", **settings
    )
    return longhaul.run(scenario.flow("a", "b", name="f"))


LOW_ORBIT = {
    "leo": {
        "terminal": {"latitude": 54.3, "longitude": 10.2},
        "gateway": {"latitude": 51.1, "longitude": 8.4},
        "phase": "7 s",
        "choice": "random",
        "handover": "60 ms",
    }
}


def test_breaks_between_satellites_are_called_handovers_and_others_outages():
    """Both were called outages."""
    result = moving(LOW_ORBIT | {"outages": [{"start": "12 s", "duration": "1 s"}]})
    names = {mark["label"]: len(mark["spans"]) for mark in explore.of_run(result)["marks"]}
    assert names == {"handovers: l (2)": 2, "outage: l": 1}
    shown = labels(result.plot("cwnd").axes[0])
    assert "handover:\nl" in shown
    assert "outage:\nl" in shown


def test_the_delay_of_moving_satellites_is_a_figure():
    result = moving(LOW_ORBIT)
    (one,) = propagation.delays(result)
    assert one.values.min() == pytest.approx(result.summary["links"][0]["delay_s"], abs=2e-5)
    assert result.flows["srtt_s"].drop_nulls().min() > 2 * one.values.min() - 1e-4
    # It jumps at the two handovers and nowhere else.
    jumps = one.times[1:][np.abs(np.diff(one.values)) > 1e-5]
    assert jumps == pytest.approx([7.0, 22.0], abs=0.05)
    assert "propagation" in [figure["id"] for figure in explore.of_run(result)["figures"]]
    assert line(result.plot("propagation").axes[0], "l\n").get_ydata().min() == one.values.min()


def test_the_delay_of_a_file_is_a_figure_of_each_direction(tmp_path):
    (tmp_path / "d.csv").write_text("time_s,delay_ms\n0,20\n10,45\n20,30\n")
    follows = {"delay": {"file": str(tmp_path / "d.csv"), "column": "delay_ms"}}
    (one,) = propagation.delays(moving({"forward": {"trace": follows}, "reverse": {"delay": "5 ms"}}))
    assert one.number == 0
    for at, value in ((5.0, 0.020), (15.0, 0.045), (25.0, 0.030)):
        assert one.values[np.searchsorted(one.times, at)] == pytest.approx(value, abs=1e-6)


def test_the_delay_of_a_script_is_a_figure_of_steps():
    (one,) = propagation.delays(moving({"delay": "20 ms", "changes": [{"at": "10 s", "delay": "50 ms"}]}))
    assert one.stepped
    assert (one.times.tolist(), one.values.tolist()) == ([0.0, 10.0, 30.0], [0.02, 0.05, 0.05])


def test_the_delay_that_wanders_is_that_of_the_run():
    """It is drawn from the seed and the link's name, so the packets that measure it have both."""
    wander = [{"every": "10 s", "delay": {"kind": "uniform", "most": "20 ms"}}, {"every": "1 s", "spread": 0.2}]
    scenario = longhaul.Scenario("wanders", duration="40 s", seed=7, sample="100 ms")
    scenario = scenario.link("l", "a", "b", rate="50 Mbit/s", delay="10 ms", wander=wander)
    app = {"kind": "messages", "size": "1460 B", "gap": "50 ms"}
    result = longhaul.run(scenario.flow("a", "b", name="f", app=app, tcp={"ack_every": 1}))
    (one,) = propagation.delays(result)
    for end in (10.0, 20.0, 30.0, 40.0):
        delay = np.median(one.values[(one.times > end - 9) & (one.times < end - 0.2)])
        rows = result.flows.filter((result.flows["time_s"] > end - 2) & (result.flows["time_s"] < end - 0.2))
        assert rows["srtt_s"].mean() == pytest.approx(2 * delay, abs=5e-4)


def test_directions_that_move_differently_have_a_figure(command, tmp_path):
    """Both were one probe with two links of one name, which is refused: the figure was promised and then missing."""
    scenario = longhaul.Scenario("moves", duration="30 s").link("l", "a", "b", profile="starlink", reverse={"delay": "9 ms"})  # fmt: skip
    file = tmp_path / "s.toml"
    file.write_text(scenario.flow("a", "b", name="f").to_toml())
    assert command("run", file, "--out", tmp_path / "r", "-q").code == 0
    there, back = propagation.delays(longhaul.load(tmp_path / "r"))
    assert (there.number, back.number) == (0, 1)
    # The profile has 7.2 ms and what each slot adds; both directions have the same draws.
    assert back.values - there.values == pytest.approx(1.8e-3, abs=1e-6)
    assert command("plot", tmp_path / "r").code == 0
    assert (tmp_path / "r" / "plots" / "propagation.png").exists()


def test_a_file_that_is_gone_costs_only_its_own_link(tmp_path):
    """It took the delays of all others with it."""
    (tmp_path / "d.csv").write_text("time_s,delay_ms\n0,20\n10,45\n20,30\n")
    follows = {"delay": {"file": str(tmp_path / "d.csv"), "column": "delay_ms"}}
    scenario = longhaul.Scenario("moves", duration="30 s").link("l", "a", "b", rate="10 Mbit/s", **LOW_ORBIT)
    scenario = scenario.link("m", "b", "c", rate="10 Mbit/s", forward={"trace": follows}, reverse={"delay": "5 ms"})
    result = longhaul.run(scenario.flow("a", "c", name="f"))
    assert [one.number for one in propagation.delays(result)] == [0, 2]
    (tmp_path / "d.csv").unlink()
    assert [one.number for one in propagation.delays(result)] == [0]


def test_a_link_that_stands_still_has_no_figure_of_its_delay(command, scenario, tmp_path):
    command("run", scenario, "--out", tmp_path / "r", "-q")
    result = longhaul.load(tmp_path / "r")
    assert propagation.delays(result) == []
    assert "propagation" not in plots.kinds_for(result)
    with pytest.raises(longhaul.PlotError, match="no link of 'small' has a delay that changes"):
        result.plot("propagation")


def test_hundreds_of_outages_are_a_strip_and_no_block():
    """Hundreds of ticks at the top were a black block, and the capacity behind a line a comb."""
    result = moving({"delay": "20 ms", "outages": [{"start": "1 s", "duration": "20 ms", "every": "100 ms"}]})
    (mark,) = explore.of_run(result)["marks"]
    assert (mark["kind"], mark["label"]) == ("strip", "outages: l (290)")
    assert len(mark["spans"]) == len(mark["depths"]) <= 100
    assert max(mark["depths"]) == 1.0
    strip = [patch for patch in result.plot("cwnd").axes[0].patches if patch.get_height() < 0.05]
    assert len(strip) <= 100
    steps = course.links_over_time(result)[0]
    carried = course.capacity(result, 0, steps, np.arange(1.0, 30.0), is_measured=False)
    assert carried[1:] == pytest.approx(8e6)
