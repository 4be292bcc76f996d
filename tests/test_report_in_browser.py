"""Reports as a browser shows them: hover, zoom, switches, both colour schemes; without a browser these are skipped."""

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import longhaul
import numpy as np
import pytest
from longhaul.report import explore, panels
from matplotlib.figure import Figure
from synthetic import write_result

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
browser = pytest.mark.skipif(BROWSER is None, reason="no chromium: headless reports cannot be tried")

#: Does what a user does, and writes what came of it into the page.
ACTS = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const out = {}, { charts, shown } = window.longhaulReport, report = window.longhaulReport;
  const mouse = (on, kind, x, y) => on.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: x, clientY: y, button: 0, movementX: 5, movementY: 1 }));
  out.figures = charts.map(({ figure }) => figure.id);
  out.sized = charts.every(({ plot }) => plot.bbox.width > 200);
  const { plot, place } = charts[0], box = plot.over.getBoundingClientRect();
  mouse(plot.over, "mouseenter", box.left + 100, box.top + 50);
  mouse(plot.over, "mousemove", box.left + 100, box.top + 50);
  setTimeout(() => {
    out.readout = place.querySelector(".readout").textContent;
    out.synced = charts[1].plot.cursor.left;
    mouse(plot.over, "mousedown", box.left + 100, box.top + 50);
    mouse(plot.over, "mousemove", box.left + 200, box.top + 50);
    mouse(document, "mouseup", box.left + 200, box.top + 50);
    setTimeout(() => {
      out.zoomed = charts.map((one) => [one.plot.scales.x.min, one.plot.scales.x.max]);
      document.querySelector("[data-zoom=whole]").click();
      out.whole = report.range();
      out.shown = [...shown.keys()];
      document.querySelector("[data-do=none]").click();
      out.none = charts[0].plot.series.slice(1).filter((one) => one.show && one.label && !/median|percentile|share/.test(one.label)).length;
      const filter = document.querySelector("#flow-switches input[type=search]");
      filter.value = charts[0].figure.series.find((line) => line.flow === 1).label;
      filter.dispatchEvent(new Event("input"));
      document.querySelector("[data-do=all]").click();
      out.filtered = [...shown.keys()];
      const term = document.querySelector("button.def");
      term.focus();
      out.definition = document.querySelector(".definition").textContent;
      report.setRange(...report.whole);
      const touch = (kind, ...places) => plot.over.dispatchEvent(new TouchEvent(kind, { bubbles: true, cancelable: true,
        touches: places.map((x, identifier) => new Touch({ identifier, target: plot.over, clientX: box.left + x, clientY: box.top + 60 })) }));
      const under = (x) => report.range()[0] + ((report.range()[1] - report.range()[0]) * x) / plot.over.clientWidth;
      out.touched = [under(100), under(200)];
      touch("touchstart", 100, 200);
      touch("touchmove", 60, 260);
      touch("touchend");
      out.pinched = [under(60), under(260)];
      report.setRange(...report.whole);
      const width = (report.range()[1] - report.range()[0]) / 1000;
      report.setRange(5, 5 + width);
      out.deep = charts.at(-1).plot.scales.y.max - charts.at(-1).plot.scales.y.min;
      const note = document.createElement("pre");
      note.id = "outcome";
      note.textContent = JSON.stringify(out);
      document.body.append(note);
    }, 50);
  }, 50);
}, 100));
</script>
"""


def opened(page: Path, *options: str) -> tuple[str, str]:
    """The page's document after its scripts ran, and what the console had."""
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--virtual-time-budget=4000",
        *options, "--dump-dom", f"file://{page}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if ":CONSOLE" in line)


@browser
@pytest.mark.parametrize("flows", [3, 40])
def test_a_report_can_be_explored(tmp_path, flows):
    write_result(tmp_path / "r", flows=flows, duration=60.0, trace=True)
    page = longhaul.load(tmp_path / "r").report(tmp_path / "report.html")
    tried = tmp_path / "tried.html"
    tried.write_text(page.read_text().replace("</body>", ACTS + "</body>"))
    document, console = opened(tried, "--window-size=1400,1000")
    assert console == ""
    outcome = json.loads(unescape(re.search(r'<pre id="outcome">(.*?)</pre>', document, re.DOTALL)[1]))
    assert outcome["figures"][:3] == ["goodput_bps", "cwnd_bytes", "queue"]
    assert outcome["sized"]
    # The pointer's time and a value with its unit; the other figures' cursors follow.
    assert re.match(r"at [\d.,]+ s  ·  .*bit/s", outcome["readout"])
    assert outcome["synced"] == pytest.approx(100, abs=2)
    # A drag over 100 of the points zooms every figure to the same time, and the button back.
    low, high = outcome["zoomed"][0]
    assert 0 < low < high < 60
    assert all(span == [low, high] for span in outcome["zoomed"])
    assert outcome["whole"] == [0, 60]
    assert len(outcome["shown"]) == (3 if flows == 40 else flows)
    assert outcome["none"] == 0
    assert 1 in outcome["filtered"]
    assert len(outcome["filtered"]) < flows
    assert len(outcome["definition"]) > 10
    # What was under two fingers is under them still after they went apart.
    assert outcome["pinched"] == pytest.approx(outcome["touched"], abs=0.2)
    # A thousandth of the run: the sequence axis follows down to a few segments.
    assert 0 < outcome["deep"] < 1e6


#: The same for a page of panels: hover, zoom by dragging, by button and back, a line switched off.
PANEL_ACTS = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const out = {}, { charts } = window.longhaulReport;
  const mouse = (on, kind, x, y) => on.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: x, clientY: y, button: 0, movementX: 5, movementY: 1 }));
  const { plot, place } = charts[CHART], box = plot.over.getBoundingClientRect();
  const span = () => [plot.scales.x.min, plot.scales.x.max];
  out.count = charts.length;
  out.live = document.querySelectorAll("figure.live").length;
  out.stills = [...document.querySelectorAll("figure.live .still")].filter((one) => getComputedStyle(one).display !== "none").length;
  out.whole = span();
  mouse(plot.over, "mouseenter", box.left + 100, box.top + 50);
  mouse(plot.over, "mousemove", box.left + 100, box.top + 50);
  setTimeout(() => {
    out.readout = place.querySelector(".readout").textContent;
    mouse(plot.over, "mousedown", box.left + 40, box.top + 50);
    mouse(plot.over, "mousemove", box.left + 140, box.top + 55);
    mouse(document, "mouseup", box.left + 140, box.top + 55);
    setTimeout(() => {
      out.zoomed = span();
      const buttons = [...place.querySelectorAll(".panel-tools button")];
      buttons[2].click();
      setTimeout(() => {
        out.back = span();
        buttons[0].click();
        setTimeout(() => {
          out.nearer = span();
          const first = place.querySelector(".key-lines button");
          first.click();
          out.off = [first.getAttribute("aria-pressed"), plot.series.filter((one) => one.show === false).length];
          out.names = [...place.querySelectorAll(".key-lines button")].map((one) => one.textContent);
          const note = document.createElement("pre");
          note.id = "outcome";
          note.textContent = JSON.stringify(out);
          document.body.append(note);
        }, 50);
      }, 50);
    }, 50);
  }, 50);
}, 100));
</script>
"""


def tried(page: Path, acts: str, *options: str) -> dict:
    """What came of acts in a page, which has no error in its console."""
    copy = page.with_name("tried.html")
    copy.write_text(page.read_text().replace("</body>", acts + "</body>"))
    document, console = opened(copy, *options)
    assert console == ""
    return json.loads(unescape(re.search(r'<pre id="outcome">(.*?)</pre>', document, re.DOTALL)[1]))


@browser
def test_figures_of_a_sweep_can_be_explored(command, tmp_path, scenario):
    out = tmp_path / "s"
    grid = ("--grid", "flow.users.count=[1, 2, 4]", "--grid", 'flow.users.tcp.congestion=["reno", "cubic"]')
    assert command("sweep", scenario, *grid, "-n", 2, "--out", out, "--report", "-q").code == 0
    # The first parameter is a number, the second a name.
    numbers = tried(out / "report.html", PANEL_ACTS.replace("CHART", "0"), "--window-size=400,900")
    assert numbers["live"] == numbers["count"] > 1
    assert numbers["stills"] == 0
    assert re.match(r"users.count|flow.users.count", numbers["readout"])
    assert re.search(r"reno .*cubic ", numbers["readout"])
    low, high = numbers["zoomed"]
    assert numbers["whole"][0] < low < high < numbers["whole"][1]
    assert numbers["back"] == numbers["whole"]
    assert numbers["nearer"][1] - numbers["nearer"][0] < numbers["whole"][1] - numbers["whole"][0]
    assert numbers["off"] == ["false", 1]
    assert numbers["names"] == ["congestion reno", "congestion cubic"]
    names = tried(out / "report.html", PANEL_ACTS.replace("CHART", "1"), "--blink-settings=preferredColorScheme=0")
    assert re.search(r"congestion (reno|cubic): count 1 ", names["readout"])


def test_what_a_figure_shows_stands_in_its_text(command, tmp_path, scenario):
    out = tmp_path / "s"
    grid = ("--grid", "flow.users.count=[1, 2]", "--metrics", "goodput_bps")
    assert command("sweep", scenario, *grid, "-n", 2, "--out", out, "--report", "-q").code == 0
    page = (out / "report.html").read_text()
    text = unescape(re.search(r'id="plot-s0-0" role="group" aria-label="([^"]*)"', page)[1])
    assert re.search(r"Goodput \(.bit/s\) over flow.users.count: from [\d.]+ to [\d.]+", text), text


def test_bars_and_maps_stay_as_they_were_drawn():
    figure = Figure()
    figure.subplots().bar([1, 2], [3, 4])
    assert panels.of_figure(figure, "a") is None
    figure = Figure()
    figure.subplots().imshow(np.eye(3))
    assert panels.of_figure(figure, "a") is None


def test_panels_hold_the_numbers_of_the_figure():
    figure = Figure()
    axes = figure.subplots()
    axes.errorbar([1, 10, 100], [2.0, 4.0, 3.0], yerr=[0.5, 0.5, 1.0], color="#D55E00", label="a")
    axes.plot([10, 10, 1000], [1.0, 7.0, 5.0], ".", color="#0072B2")
    axes.axhline(6, color="#444444", linestyle="--", label="limit")
    axes.set_xscale("log")
    axes.set_xlabel("delay / ms")
    (panel,) = panels.of_figure(figure, "p")
    assert panel["x"]["log"]
    # Ten stands twice: two points of one line are there.
    assert panel["columns"][0].count(10.0) == 2
    first, points, limit = panel["columns"][1:]
    assert [value for value in first if value is not None] == [2.0, 4.0, 3.0]
    assert sorted(value for value in points if value is not None) == [1.0, 5.0, 7.0]
    assert [value for value in limit if value is not None] == [6.0, 6.0]
    assert [ends for ends in panel["intervals"]["0"] if ends] == [[1.5, 2.5], [3.5, 4.5], [2.0, 4.0]]
    assert [one["colour"] for one in panel["series"]] == [1, 0, "soft"]
    assert [one["label"] for one in panel["series"]] == ["a", "", "limit"]
    assert "a from 2 at 1 to 3 at 100, at most 4" in panel["alt"]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    text = colour.lstrip("#")
    text = "".join(2 * char for char in text) if len(text) == 3 else text
    parts = [int(text[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """From 1 to 21."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_the_contrast_of_wcag_aa(scheme):
    """4.5 for text (1.4.3), 3 for lines of figures and signs (1.4.11)."""
    style = (Path(longhaul.__file__).parent / "report/templates/base.html").read_text()
    roots = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    colours = [dict(re.findall(r"--([\w-]+): (#[0-9A-Fa-f]{3,6})", root)) for root in roots]
    shown = colours[0] if scheme == "light" else colours[0] | colours[1]
    missing = colours[0].keys() - colours[1].keys()
    assert not missing, f"one scheme alone has {missing}"
    for text in ("ink", "soft", "link", "good", "half", "bad"):
        for ground in ("paper", "tint"):
            assert contrast(shown[text], shown[ground]) >= 4.5, (text, ground)
    assert contrast(shown["ink"], shown["warn"]) >= 4.5
    assert contrast(shown["ink"], shown["router"]) >= 4.5
    lines = [f"c{number}" for number in range(8)] + ["again", "sack", "ack", "window", "edge"]
    for line in lines:
        assert contrast(shown[line], shown["paper"]) >= 3, line
    # Shares of time have their numbers on them.
    for number in range(8):
        assert contrast(shown[f"c{number}"], shown["paper"]) >= 4.5, number


def test_what_is_inlined_is_the_release_that_was_checked():
    assert explore.vendored("uPlot.iife.min.js").startswith("var uPlot=")
    assert "Permission is hereby granted" in explore.licence()


def test_no_peak_is_lost_by_decimation():
    values = np.zeros((1, 30_000))
    values[0, 12_345], values[0, 20_001] = 9.0, -3.0
    times, rows = explore.decimated(np.arange(30_000) / 10, values, 600)
    assert len(times) <= 602
    assert (rows.max(), rows.min()) == (9.0, -3.0)
    assert times[rows[0].argmax()] == pytest.approx(1234.5, abs=10.0)
    assert (np.diff(times) >= 0).all()


def test_names_cannot_end_the_data():
    text = explore.embedded({"name": "</script><script>alert(1)</script>&"})
    assert "<" not in text
    assert json.loads(text)["name"] == "</script><script>alert(1)</script>&"


def test_five_hundred_flows_stay_small(tmp_path):
    write_result(tmp_path / "r", flows=500, duration=3000.0)
    page = longhaul.load(tmp_path / "r").report(tmp_path / "report.html")
    assert page.stat().st_size < 3_000_000
