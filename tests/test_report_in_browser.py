"""Reports as a browser shows them: hover, zoom, switches, both colour schemes; without a browser these are skipped."""

import base64
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path

import fake_study
import longhaul
import numpy as np
import pytest
from longhaul import Scenario
from longhaul.report import explore, maps, panels, sequence
from longhaul_studies import Figure as StudyFigure
from longhaul_studies import Results, drawing
from longhaul_studies import page as pages
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from synthetic import write_result

BROWSER = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
browser = pytest.mark.skipif(
    BROWSER is None, reason="chromium is not installed (sudo scripts/install-packages --pages)"
)

SVG = "{http://www.w3.org/2000/svg}"

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
    out.tip = [...plot.over.querySelectorAll(".tip > *")].map((one) => one.textContent);
    out.tips = document.querySelectorAll(".tip:not([hidden])").length;
    out.synced = [plot, charts[1].plot].map((one) => one.posToVal(one.cursor.left, "x"));
    mouse(plot.over, "mousedown", box.left + 100, box.top + 50);
    mouse(plot.over, "mousemove", box.left + 200, box.top + 50);
    mouse(document, "mouseup", box.left + 200, box.top + 50);
    setTimeout(() => {
      out.zoomed = charts.map((one) => [one.plot.scales.x.min, one.plot.scales.x.max]);
      document.querySelector("[data-zoom=whole]").click();
      out.whole = report.range();
      out.shown = [...shown.keys()];
      out.legend = [...place.querySelector(".key-lines").children].map((one) => one.textContent);
      place.querySelector(".key-lines button").click();
      out.switched = [[...shown.keys()].length, place.querySelector(".key-lines button").getAttribute("aria-pressed"), charts[1].plot.series.find((one) => one.label === out.legend[0]).show];
      place.querySelector(".key-lines button").click();
      plot.over.focus();
      for (const key of ["End", "ArrowRight", "ArrowRight"]) plot.over.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
      out.spoken = place.querySelector(".readout").getAttribute("aria-live");
      out.silent = [...document.querySelectorAll(".readout[aria-live=polite]")].length;
      plot.over.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
      out.keyed = report.range();
      plot.over.dispatchEvent(new KeyboardEvent("keydown", { key: "0", bubbles: true }));
      out.unzoomed = report.range();
      document.querySelector("[data-do=none]").click();
      out.none = charts[0].plot.series.slice(1).filter((one) => one.show && one.label && !/median|percentile|share|capacity/.test(one.label)).length;
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
      const first = charts[0];
      report.setRange(...report.whole);
      document.querySelector("[data-do=first]").click();
      out.csv = report.csv(first).split("\\n");
      out.picture = report.picture(first).toDataURL("image/png").slice(0, 22);
      out.drawings = charts.map((chart) => report.drawing(chart));
      out.saving = first.place.closest("figure").querySelectorAll(".saving button").length;
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
    assert outcome["synced"][1] == pytest.approx(outcome["synced"][0], rel=0.05)
    # A drag over 100 of the points zooms every figure to the same time, and the button back.
    low, high = outcome["zoomed"][0]
    assert 0 < low < high < 60
    assert all(span == [low, high] for span in outcome["zoomed"])
    assert outcome["whole"] == [0, 60]
    assert len(outcome["shown"]) == (3 if flows == 40 else flows)
    assert outcome["none"] == 0
    # Below a figure stand the names of the flows that it shows.
    names = [flow["name"] for flow in longhaul.load(tmp_path / "r").summary["flows"]]
    assert outcome["legend"] == [names[number] for number in outcome["shown"]]
    # The figure that has the focus reads its values, and no other; plus and 0 zoom.
    assert (outcome["spoken"], outcome["silent"]) == ("polite", 1)
    assert outcome["keyed"] == [15, 45]
    assert outcome["unzoomed"] == [0, 60]
    assert 1 in outcome["filtered"]
    assert len(outcome["filtered"]) < flows
    assert len(outcome["definition"]) > 10
    # What was under two fingers is under them still after they went apart.
    assert outcome["pinched"] == pytest.approx(outcome["touched"], abs=0.2)
    # What a figure shows can be saved: its lines as numbers, and a picture with their names.
    assert outcome["csv"][0].split(",")[:2] == ["time_s", names[outcome["shown"][0]]]
    assert len(outcome["csv"]) > 30
    assert outcome["picture"] == "data:image/png;base64,"
    assert outcome["saving"] == 3
    for text in outcome["drawings"]:
        drawn = ElementTree.fromstring(text)
        assert len([one for one in drawn.iter(f"{SVG}path") if one.get("d")]) > 4
        assert len(list(drawn.iter(f"{SVG}text"))) > 8
        assert "NaN" not in text
    # A tooltip stands in the figure under the pointer alone: the time, then each line with its value.
    assert outcome["tips"] == 1
    assert re.match(r"at [\d.,]+ s$", outcome["tip"][0])
    assert any(re.search(r"bit/s", one) for one in outcome["tip"][1:])
    # A name in the legend switches its flow in all figures, and stays there to switch it on again.
    assert outcome["switched"] == [len(outcome["shown"]) - 1, "false", False]
    # A thousandth of the run: the sequence axis follows down to a few segments.
    assert 0 < outcome["deep"] < 1e6


def test_a_transfer_that_ends_early_is_shown_until_it_ends(tmp_path):
    """Of a run of 120 s with a transfer of 6.4 s a figure showed 120 s, and its line went on at zero."""
    scenario = (
        Scenario("x", duration="120 s", sample="100 ms")
        .link("l", "a", "b", rate="10 Mbit/s", delay="100 ms")
        .flow("a", "b", app={"kind": "bulk", "size": "2 MB"})
    )
    result = longhaul.run(scenario, out=tmp_path / "r")
    explored = explore.of_run(result)
    took = result.summary["flows"][0]["metrics"]["completion_time_s"]
    assert explored["span"] == [0.0, 120.0]
    assert explored["busy"][0] == 0.0
    assert took < explored["busy"][1] < 1.3 * took
    figure = next(figure for figure in explored["figures"] if figure["id"] == "goodput_bps")
    goodput = next(line for line in figure["series"] if "flow" in line)
    values = np.frombuffer(base64.b64decode(goodput["data"]), "<u2")
    assert values[-1] == 65535  # a gap


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
    # The first parameter is a number, the second a name; the first figures are small multiples of the names.
    content = panels_of(out / "report.html")
    curve = next(number for number, panel in enumerate(content) if panel["id"] == "s0-0")
    numbers = tried(out / "report.html", PANEL_ACTS.replace("CHART", str(curve)), "--window-size=400,900")
    assert numbers["live"] > 1
    assert numbers["stills"] == 0
    assert re.match(r"users.count|flow.users.count", numbers["readout"])
    assert re.search(r"reno [\d.]+ .?bit/s \(.* to .*\), 2 seeds.*cubic ", numbers["readout"])
    low, high = numbers["zoomed"]
    assert numbers["whole"][0] < low < high < numbers["whole"][1]
    assert numbers["back"] == numbers["whole"]
    assert numbers["nearer"][1] - numbers["nearer"][0] < numbers["whole"][1] - numbers["whole"][0]
    assert numbers["off"] == ["false", 1]
    assert numbers["names"] == ["congestion reno", "congestion cubic"]
    names = tried(
        out / "report.html", PANEL_ACTS.replace("CHART", str(curve + 1)), "--blink-settings=preferredColorScheme=0"
    )
    assert re.search(r"congestion (reno|cubic): count 1 ", names["readout"])


def panels_of(page: Path) -> list[dict]:
    """The figures of a page, in the order of its charts."""
    text = re.search(r'id="explore-data">(.*?)</script>', page.read_text(), re.DOTALL)[1]
    return json.loads(text)["figures"]


#: Rows of a dot plot, or cells of a map: by pointer, by keyboard, zoomed by a drag downwards, as a table; then the next chart.
ROW_ACTS = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const out = { charts: [] }, { charts } = window.longhaulReport;
  const wait = (act) => new Promise((done) => setTimeout(() => done(act && act()), 40));
  const mouse = (on, kind, x, y) => on.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: x, clientY: y, button: 0, movementX: 1, movementY: 5 }));
  const press = (on, key) => on.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  const span = (plot) => [plot.scales.x.min, plot.scales.x.max, plot.scales.y.min, plot.scales.y.max];
  const one = async ({ plot, place, figure }) => {
    place.scrollIntoView({ block: "center" });
    const { over } = plot, box = over.getBoundingClientRect(), found = { id: figure.id, whole: span(plot) };
    const read = () => place.querySelector(".readout").textContent;
    mouse(over, "mouseenter", box.left + 5, box.top + 5);
    mouse(over, "mousemove", box.left + box.width / 2, box.top + 5);
    await wait();
    found.hover = read();
    over.focus();
    found.focused = document.activeElement === over;
    found.keys = [];
    for (const key of ["ArrowDown", "ArrowUp", "ArrowRight", "ArrowDown", "ArrowUp"]) { press(over, key); await wait(); found.keys.push(read()); }
    press(over, "+");
    await wait();
    found.near = span(plot);
    press(over, "0");
    await wait();
    found.back = span(plot);
    mouse(over, "mousedown", box.left + 30, box.top + 4);
    mouse(over, "mousemove", box.left + 33, box.top + box.height / 2);
    mouse(document, "mouseup", box.left + 33, box.top + box.height / 2);
    await wait();
    found.dragged = span(plot);
    plot.over.dispatchEvent(new MouseEvent("dblclick", { bubbles: true }));
    const values = place.querySelector("details.values");
    values.open = true;
    await wait();
    found.table = [...values.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent));
    const first = place.querySelector(".key-lines button");
    if (first) first.click();
    found.off = plot.series.filter((line) => line.show === false).length;
    found.tall = box.height;
    found.first = box.bottom + window.scrollY;
    out.charts.push(found);
  };
  (async () => {
    for (const chart of charts.slice(FROM, TO)) await one(chart);
    const note = document.createElement("pre");
    note.id = "outcome";
    note.textContent = JSON.stringify(out);
    document.body.append(note);
  })();
}, 100));
</script>
"""


def rows_tried(page: Path, first: int, last: int, *options: str) -> list[dict]:
    """What came of rows and cells, chart by chart."""
    return tried(page, ROW_ACTS.replace("FROM", str(first)).replace("TO", str(last)), *options)["charts"]


@browser
@pytest.mark.parametrize("width", [1400, 500])
def test_a_dot_plot_can_be_explored(command, tmp_path, scenario, width):
    out = tmp_path / "s"
    grid = ("--grid", 'flow.users.tcp.congestion=["reno", "cubic", "bbr"]')
    assert command("sweep", scenario, *grid, "-n", 2, "--out", out, "--report", "-q").code == 0
    (panel, *_), (found, *_) = (
        panels_of(out / "report.html"),
        rows_tried(out / "report.html", 0, 1, f"--window-size={width},900"),
    )
    names = [name for _, name in panel["x"]["names"]]
    assert panel["flipped"]
    assert sorted(names) == ["bbr", "cubic", "reno"]
    means = panel["columns"][1]
    assert means == sorted(means, reverse=True)
    # The pointer in the first row, and the arrow keys from row to row: setting, mean, interval, seeds.
    assert re.match(rf"congestion {names[0]}: Goodput over the run [\d.]+ .*bit/s.*, 2 seeds$", found["hover"]), found[
        "hover"
    ]
    assert found["focused"]
    assert [re.match(r"congestion (\w+):", text)[1] for text in found["keys"]] == [
        names[number] for number in (0, 0, 0, 1, 0)
    ]
    # Of few rows the values are zoomed; a drag downwards takes rows.
    assert found["near"][:2] == found["whole"][:2]
    assert found["near"][3] - found["near"][2] == pytest.approx((found["whole"][3] - found["whole"][2]) / 2)
    assert found["back"] == found["whole"]
    assert found["whole"][0] <= found["dragged"][0] < found["dragged"][1] < found["whole"][1] - 0.5
    assert [row[0] for row in found["table"]] == ["congestion", *names]
    assert all(text.endswith("2 seeds") for _, text in found["table"][1:])


@browser
def test_a_map_of_two_parameters_can_be_explored(command, tmp_path, scenario):
    out = tmp_path / "s"
    grid = (
        "--grid",
        "flow.users.count=[1, 2, 3]",
        "--grid",
        'link.satellite.rate=["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]',
    )
    assert (
        command("sweep", scenario, *grid, "-n", 1, "--set", "run.duration=5 s", "--out", out, "--report", "-q").code
        == 0
    )
    (panel, *_), (found, *_) = panels_of(out / "report.html"), rows_tried(out / "report.html", 0, 1)
    cells = panel["cells"]
    assert [len(row) for row in cells["values"]] == [3, 3, 3]
    cell = r"(?:users\.)?count (\d), rate (\d) Mbit/s: [\d.]+ .?bit/s, 1 seed$"
    # The top row is the largest rate; up and down go through the rows, left and right through the columns.
    assert re.match(cell, found["hover"])[2] == "4", found["hover"]
    assert [re.match(cell, text).groups() for text in found["keys"]] == [
        ("1", "1"), ("1", "2"), ("2", "2"), ("2", "1"), ("2", "2"),
    ]  # fmt: skip
    assert found["near"][1] - found["near"][0] == pytest.approx(1.5)
    assert found["back"] == found["whole"]
    assert found["table"][0][1:] == ["count 1", "count 2", "count 3"]
    assert [row[0] for row in found["table"][1:]] == ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]
    # What is printed: the same as SVG, with the values in it.
    still = re.search(r'<div class="still panels">(.*?)</div>', (out / "report.html").read_text(), re.DOTALL)[1]
    assert still.count("<rect") == 9


@browser
@pytest.mark.parametrize("kind", ["one number", "two numbers", "names", "four parameters"])
def test_the_first_screen_has_the_answer_the_numbers_and_a_figure(command, tmp_path, scenario, kind):
    out = tmp_path / "s"
    grids = {
        "one number": ["flow.users.count=[1, 2]"],
        "two numbers": ["flow.users.count=[1, 2, 3]", 'link.satellite.rate=["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]'],
        "names": ['flow.users.tcp.congestion=["reno", "cubic", "bbr", "vegas"]'],
        "four parameters": [
            "flow.users.count=[1, 2, 3]", 'link.satellite.rate=["1 Mbit/s", "2 Mbit/s"]', 'flow.users.tcp.congestion=["reno", "cubic"]',
            'flow.users.tcp.slow_start=["standard", "limited"]',
        ],
    }  # fmt: skip
    grid = [part for text in grids[kind] for part in ("--grid", text)]
    assert (
        command("sweep", scenario, *grid, "-n", 1, "--set", "run.duration=5 s", "--out", out, "--report", "-q").code
        == 0
    )
    page = (out / "report.html").read_text()
    answer = unescape(re.search(r'<div class="answer">(.*?)</div>', page, re.DOTALL)[1])
    assert re.search(
        r"Goodput over the run: from [\d.]+ .*bit/s with .* to [\d.]+ .*bit/s with ", answer.replace("\u00a0", " ")
    ), answer
    assert page.index('class="key"') < page.index('class="answer"') < page.index("<figure") < page.index("<h2>")
    (found,) = rows_tried(out / "report.html", 0, 1, "--window-size=1400,900")
    assert found["first"] < 900


def test_a_map_shows_the_answer_as_the_table_has_it(command, tmp_path, scenario):
    out = tmp_path / "s"
    grid = (
        "--grid",
        "flow.users.count=[1, 2, 3]",
        "--grid",
        'link.satellite.rate=["4 Mbit/s", "1 Mbit/s", "2 Mbit/s"]',
    )
    assert command("sweep", scenario, *grid, "-n", 1, "--set", "run.duration=5 s", "--out", out, "-q").code == 0
    sweep = longhaul.load(out)
    panel = maps.drawn(sweep, "goodput_bps", "m").panel
    # Quantities stand in the order of their size, whatever the order in the grid.
    assert [name for _, name in panel["y"]["names"]] == ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"]
    for row in sweep.cells.filter(sweep.cells["metric"] == "goodput_bps").iter_rows(named=True):
        column, line = (
            row["flow.users.count"] - 1,
            ["1 Mbit/s", "2 Mbit/s", "4 Mbit/s"].index(row["link.satellite.rate"]),
        )
        assert panel["cells"]["values"][line][column] == pytest.approx(row["mean"], rel=1e-6)
        assert panel["cells"]["runs"][line][column] == 1


def test_a_report_begins_with_the_metrics_that_were_asked_for(command, tmp_path, scenario):
    """The column of `--metrics` was in the table of the terminal alone."""
    out, queue = tmp_path / "s", "link.satellite.forward.queue_delay_p95_s"
    grid = ("--grid", "flow.users.count=[1, 4]", "--metrics", f"{queue},goodput_bps")
    assert command("sweep", scenario, *grid, "-n", 2, "--out", out, "--report", "-q").code == 0
    page = (out / "report.html").read_text()
    assert panels_of(out / "report.html")[0]["y"]["label"].startswith("95 % queueing delay (satellite.forward)")
    found = re.search(r'<div class="answer">(.*?)</div>', page, re.DOTALL)[1].replace("\u00a0", " ")
    answer = re.findall("<p>([^:]*):", found)
    assert answer == ["95 % queueing delay (satellite.forward)", "Goodput over the run"]


def test_the_report_of_one_point_begins_with_its_mean(command, tmp_path, scenario):
    out = tmp_path / "s"
    assert command("sweep", scenario, "-n", 3, "--set", "run.duration=5 s", "--out", out, "--report", "-q").code == 0
    page = (out / "report.html").read_text().replace("\u00a0", " ")
    assert re.search(r'<div class="answer"><p>Goodput over the run: [\d.]+ .*bit/s in 3 runs.</p>', page)


def test_points_without_a_value_are_holes_that_are_named(command, tmp_path, scenario):
    """Transfers that do not finish have no completion time: the report began with another metric, of fewer points."""
    out, size = tmp_path / "s", 'flow.users.app={ kind = "bulk", size = "300 kB" }'
    grid = (
        "--grid",
        'link.satellite.rate=["50 kbit/s", "1 Mbit/s", "2 Mbit/s"]',
        "--grid",
        "flow.users.tcp.timestamps=[true, false]",
    )
    assert command("sweep", scenario, "--set", size, *grid, "-n", 1, "--out", out, "--report", "-q").code == 0
    page = (out / "report.html").read_text().replace("\u00a0", " ")
    answer = re.search(r'<div class="answer">(.*?)</div>', page, re.DOTALL)[1]
    assert re.search(r"Mean completion time: from .* 2 of 6 points have no value", answer), answer
    assert panels_of(out / "report.html")[0]["title"].startswith("Mean completion time")
    assert "<b>6</b><span>points</span>" in page
    # Values of settings are written as in a scenario.
    assert "timestamps true" in answer
    assert "True" not in page
    more = ("--grid", "flow.users.count=[1, 2, 3]")
    assert command("sweep", scenario, "--set", size, *grid[:2], *more, "-n", 1, "--out", tmp_path / "m", "-q").code == 0
    values = maps.drawn(longhaul.load(tmp_path / "m"), "completion_time_mean_s", "m").panel["cells"]["values"]
    assert [[one is None for one in row] for row in values] == [[True, False, False]] * 3


def test_what_a_figure_shows_stands_in_its_text(command, tmp_path, scenario):
    out = tmp_path / "s"
    grid = ("--grid", "flow.users.count=[1, 2]", "--metrics", "goodput_bps")
    assert command("sweep", scenario, *grid, "-n", 2, "--out", out, "--report", "-q").code == 0
    page = (out / "report.html").read_text()
    text = unescape(re.search(r'id="plot-s0-0" role="group" aria-label="([^"]*)"', page)[1])
    assert re.search(r"Goodput over the run \(.bit/s\) over flow.users.count: from [\d.]+ to [\d.]+", text), text


def test_bars_become_panels():
    figure = Figure()
    axes, lying = figure.subplots(1, 2)
    for number, label in enumerate(("alone", "beside Reno")):
        axes.bar(np.arange(3) + 0.3 * number, [1 + number, 2, 3], 0.3, label=label)
    axes.set_xticks(range(3), ["a", "b", "c"])
    lying.barh(range(2), [5, 7], height=0.6)
    lying.set_yticks(range(2), ["short", "long"])
    lying.invert_yaxis()
    first, second = panels.of_figure(figure, "p")
    assert [(one["label"], one["bar"]) for one in first["series"]] == [("alone", 0.3), ("beside Reno", 0.3)]
    assert first["series"][0]["colour"] != first["series"][1]["colour"]
    assert [value for value in first["columns"][2] if value is not None] == [2.0, 2.0, 3.0]
    assert second["flipped"]
    assert not second["upwards"]
    assert second["columns"] == [[0.0, 1.0], [5.0, 7.0]]
    assert [name for _, name in second["x"]["names"]] == ["short", "long"]
    # Bars on bars say something else than their height.
    figure = Figure()
    figure.subplots().bar([1, 2], [3, 4], bottom=[1, 1])
    assert panels.of_figure(figure, "a") is None


def test_a_map_becomes_a_panel():
    figure = Figure()
    axes = figure.subplots()
    axes.imshow([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]], origin="lower", cmap=ListedColormap(["#000000", "#ff0000"]))
    axes.text(2, 0, "12")
    axes.set_xlabel("$d_S$ (ms)")
    (panel,) = panels.of_figure(figure, "p")
    assert panel["cells"]["values"] == [[1.0, None, 3.0], [4.0, 5.0, 6.0]]
    assert panel["cells"]["paints"] == [["#000000", None, "#000000"], ["#ff0000", "#ff0000", "#ff0000"]]
    assert panel["cells"]["written"][0] == ["", "", "12"]
    assert panel["x"]["label"] == "d_S (ms)"
    assert "5 with a value from 1 to 6" in panel["alt"]
    assert json.loads(explore.embedded(panel)) == panel


def test_what_is_filled_stays_as_it_was_drawn():
    figure = Figure()
    figure.subplots().fill_between([1, 2], [3, 4])
    assert panels.of_figure(figure, "a") is None


@browser
@pytest.mark.parametrize("scheme", ["0", "1"])
def test_bars_and_maps_of_studies_can_be_explored(tmp_path, scheme):
    """The page of a study whose figures are bars, lying bars and a map."""
    page = tmp_path / "study.html"
    pages.write(page, study_page())
    charts = rows_tried(page, 0, 3, f"--blink-settings=preferredColorScheme={scheme}")
    assert [one["id"] for one in charts] == ["figure-bars-0", "figure-lying-0", "figure-map-0"]
    bars, lying, cells = charts
    assert re.match(r"protocol STTP: alone 2  ·  beside Reno 3$", bars["keys"][2]), bars["keys"]
    assert bars["off"] == 1
    assert [text.rpartition(" ")[2] for text in lying["keys"]] == ["1", "1", "1", "3", "1"]
    assert re.match(r"RED: ", lying["keys"][0].removeprefix("discipline ")), lying["keys"]
    assert cells["keys"][0] == "10, 0: 1", cells["keys"]
    assert cells["keys"][3] == "20, 0: 12", cells["keys"]
    assert cells["table"][1][2] == "12"
    assert bars["first"] < 900


def study_page() -> dict:
    """What a study's report is made of, with figures of every kind."""
    figures = []
    for name in ("bars", "lying", "map"):
        figure = Figure()
        axes = figure.subplots()
        if name == "bars":
            for number, label in enumerate(("alone", "beside Reno")):
                axes.bar(np.arange(2) + 0.3 * number, [2 + number, 1], 0.3, label=label)
            axes.set_xticks(range(2), ["STTP", "Vegas"])
            axes.set_xlabel("protocol")
        elif name == "lying":
            axes.barh(range(2), [1.0, 3.0])
            axes.set(yticks=range(2), ylabel="discipline", xlabel="payload (Mbit/s)")
            axes.set_yticklabels(["RED", "DropTail"])
            axes.invert_yaxis()
        else:
            axes.imshow([[1.0, 2.0], [3.0, 4.0]], origin="lower", aspect="auto")
            axes.text(1, 0, "12")
            axes.set_xticks(range(2), ["10", "20"])
        shown = tuple(panels.of_figure(figure, f"figure-{name}"))
        kind = StudyFigure(name, name, "", lambda _, drawn=figure: drawn)
        figures.append(drawing.Drawn(kind, b"png", panels=shown))
    counts = {"reproduced": 1, "partly": 0, "not": 1, "not run": 0}
    return {
        "study": fake_study.STUDY, "scale": "tiny", "done": 1, "total": 1, "judged": [], "counts": counts, "by_origin": {}, "origins": {},
        "held": [], "used": 2, "ran": [], "not_run": [], "figures_of": {}, "targets_of": {}, "notes": {one.figure.id: "" for one in figures}, "drawn": figures,
        "tables": [], "images": {one.figure.id: "data:," for one in figures}, "costs": [], "version": "", "program": "", "accepted": (), "read": (),
    }  # fmt: skip


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


def test_a_panel_without_runs_says_so():
    """It was empty."""

    def draw(_results):
        figure, (first, second) = drawing.panels(2)
        drawing.line(first, {1: [2.0], 2: [3.0]}, "a", 0)
        second.axhline(1.0)
        second.set_title("(b) later")
        return figure

    drawn = drawing.draw(StudyFigure("1", "one", "", draw), Results("tiny", []))
    assert [panel["title"] for panel in drawn.panels] == ["", "(b) later"]
    assert drawn.panels[1]["columns"][1] == [1.0, 1.0]

    def empty(_results):
        figure, (first, second) = drawing.panels(2)
        drawing.line(first, {1: [2.0], 2: [3.0]}, "a", 0)
        second.set_title("(b) later")
        return figure

    drawn = drawing.draw(StudyFigure("1", "one", "", empty), Results("tiny", []))
    assert [panel["title"] for panel in drawn.panels] == ["", "(b) later: not run"]


#: The pointer in one figure: what that and another one with times of its own say.
POINTED = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const { charts } = window.longhaulReport, { plot } = charts[0], box = plot.over.getBoundingClientRect();
  const mouse = (kind) => plot.over.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: box.left + 207, clientY: box.top + 50 }));
  mouse("mouseenter");
  mouse("mousemove");
  const [zoomIn, zoomOut] = ["in", "out"].map((name) => document.querySelector(`[data-zoom=${name}]`).getBoundingClientRect());
  setTimeout(() => {
    const note = document.createElement("pre");
    note.id = "outcome";
    note.textContent = JSON.stringify({ said: charts.map(({ place }) => place.querySelector(".readout").textContent), apart: zoomOut.left - zoomIn.right });
    document.body.append(note);
  }, 50);
}, 100));
</script>
"""


@browser
def test_all_pointers_show_one_time_and_no_unit_twice(tmp_path):
    """ "at 8 s" stood beside "at 7.4 s", and "equal share of the path, 48.7 Mbit/s 48.67 Mbit/s"."""
    scenario = Scenario("r", duration="60 s").link("l", "a", "b", rate="10 Mbit/s", delay="270 ms", queue="300 packets")
    page = longhaul.run(scenario.flow("a", "b", count=2)).report(tmp_path / "report.html")
    found = tried(page, POINTED, "--window-size=1400,1000")
    times = {re.match(r"at ([\d.]+ s)", text)[1] for text in found["said"]}
    assert len(times) == 1, found["said"]
    assert re.search(r"equal share of the path, [\d.]+ Mbit/s$", found["said"][0])
    assert found["apart"] >= 2


@browser
def test_up_to_forty_rows_are_shown_at_once(command, tmp_path, scenario):
    """Six of 24 were hidden, while the axis covered them."""
    out = tmp_path / "s"
    grids = ["flow.users.count=[1, 2, 3]", 'link.satellite.rate=["1 Mbit/s", "2 Mbit/s"]', "run.sample=['1 s', '2 s']",
             'flow.users.tcp.slow_start=["standard", "limited"]']  # fmt: skip
    grid = [part for text in grids for part in ("--grid", text)]
    assert command("sweep", scenario, *grid, "--set", "run.duration=5 s", "--out", out, "--report", "-q").code == 0
    panel = next(one for one in panels_of(out / "report.html") if one.get("flipped"))
    assert len(panel["texts"]) == 24
    assert "first" not in panel


#: Labels beside the axes of a panel and their room.
LABELS = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const note = document.createElement("pre");
  note.id = "outcome";
  note.textContent = JSON.stringify([...document.querySelectorAll(".plot")].map((place) => place.querySelector(".above")?.textContent || ""));
  document.body.append(note);
}, 200));
</script>
"""


@browser
def test_a_label_that_is_longer_than_its_axis_stands_above(command, tmp_path, scenario):
    """It was cut."""
    out = tmp_path / "s"
    assert command("sweep", scenario, "--grid", "flow.users.count=[1, 2]", "--out", out, "-q").code == 0
    file = out / "definitions.json"
    title = "What was measured of everything that was delivered in order"
    held = json.loads(file.read_text())
    file.write_text(json.dumps({name: one | {"title": title} for name, one in held.items()}))
    page = longhaul.load(out).report(tmp_path / "report.html")
    above = tried(page, LABELS, "--window-size=500,900")
    assert any(text.startswith(f"↑ {title}") for text in above), above
    assert "" in above


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
    for limit in (name for name in shown if name.startswith("limit-")):
        assert contrast(shown[limit], shown["paper"]) >= 4.5, limit


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


def unpacked(text: str) -> np.ndarray:
    low, high, steps = text.split(",")
    return float(low) + np.frombuffer(base64.b64decode(steps), "<u4") * (float(high) - float(low)) / 4294967295


@pytest.fixture(scope="module")
def traced():
    """A download over a satellite that overshoots: hundreds of SACK blocks and segments sent again, by kind."""
    scenario = Scenario.from_file(Path(longhaul.__file__).parent / "examples/geo-one-flow.toml")
    return longhaul.run(scenario, set={"run.duration": "20 s"})


def test_a_zoom_to_one_round_trip_shows_each_segment_where_it_is(traced):
    """Runs stand for rows at an even pace: counted out, each row is within a thousandth of a round trip of its time."""
    (figure,) = sequence.figures(traced)
    frame = traced.segments.to_numpy()
    parts = {"sent": (0, figure["marks"]["sent"]), "again": (1, figure["marks"]["again"]), "ack": (2, figure["acks"])}
    for name, (kind, part) in parts.items():
        rows = frame[frame[:, 2] == kind][:, [0, 3, 4]]
        first, last = (np.stack([unpacked(part[f"{column}{end}"]) for column in "tse"], axis=1) for end in (0, 1))
        count = np.round(unpacked(part["count"])).astype(int)
        assert count.sum() == len(rows), name
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        share = place / np.repeat(np.maximum(count - 1, 1), count)
        drawn = np.repeat(first, count, axis=0) + np.repeat(last - first, count, axis=0) * share[:, np.newaxis]
        off = np.abs(drawn - rows).max(axis=0)
        assert off[0] < 0.0006 + 1e-6, (name, off)
        assert off[1] < 731, (name, off)
    # A window of two thousand segments is a few runs; the page stays small.
    assert figure["marks"]["sent"]["n"] < 1000
    assert len(json.dumps(figure)) < 800_000


def test_sack_blocks_of_different_holes_are_not_joined(traced):
    """Before, eight rows in a row were drawn as one line, across blocks and across recoveries."""
    (figure,) = sequence.figures(traced)
    part = figure["marks"]["sack"]
    assert np.abs(unpacked(part["s0"]) - unpacked(part["s1"])).max() < 1
    frame = traced.segments.to_numpy()
    starts = {int(start) for start in frame[frame[:, 2] == 3][:, 3]}
    assert {round(start) for start in unpacked(part["s0"])} == starts


@browser
def test_one_round_trip_is_one_click_away(tmp_path, traced):
    page = traced.report(tmp_path / "report.html")
    acts = """<script>window.addEventListener("load", () => setTimeout(() => {
      const report = window.longhaulReport, { plot, place } = report.charts.at(-1), out = {};
      place.querySelector(".panel-tools button").click();
      setTimeout(() => {
        out.range = report.range();
        out.bytes = plot.scales.y.max - plot.scales.y.min;
        const { data } = plot.ctx.getImageData(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
        out.red = 0;
        for (let at = 0; at < data.length; at += 4) out.red += data[at] > 150 && data[at + 1] < 90 && data[at + 2] < 90 && data[at + 3] > 200;
        const note = document.createElement("pre");
        note.id = "outcome";
        note.textContent = JSON.stringify(out);
        document.body.append(note);
      }, 50);
    }, 100));</script>"""
    found = tried(page, acts, "--blink-settings=preferredColorScheme=1")
    # The first segment is sent again at 10.7 s; a round trip is 0.6 s.
    assert found["range"] == pytest.approx([10.55, 11.15], abs=0.01)
    assert 1e6 < found["bytes"] < 3e7
    # What is sent again is drawn so thick that it is seen.
    assert found["red"] > 300


@browser
def test_a_window_above_the_plot_is_not_drawn_into_it(tmp_path, traced):
    """Before, the step to a window of gigabytes was a vertical line at the first ACK."""
    acts = """<script>window.addEventListener("load", () => setTimeout(() => {
      const { plot, place } = window.longhaulReport.charts.at(-1), out = {};
      const probe = document.createElement("canvas").getContext("2d");
      probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--window");
      probe.fillRect(0, 0, 1, 1);
      const wanted = probe.getImageData(0, 0, 1, 1).data;
      const { data } = plot.ctx.getImageData(plot.bbox.left, plot.bbox.top, plot.bbox.width, plot.bbox.height);
      out.window = 0;
      for (let at = 0; at < data.length; at += 4) out.window += [0, 1, 2].every((one) => Math.abs(data[at + one] - wanted[one]) < 24) && data[at + 3] > 200;
      out.keys = [...place.querySelectorAll(".key-lines > *")].map((one) => one.textContent.trim());
      const note = document.createElement("pre");
      note.id = "outcome";
      note.textContent = JSON.stringify(out);
      document.body.append(note);
    }, 100));</script>"""
    drawn = {}
    near = longhaul.run(
        Scenario.from_file(Path(longhaul.__file__).parent / "examples/geo-one-flow.toml"),
        set={"run.duration": "20 s", "flow.download.tcp.receive_buffer": "256 KiB"},
    )
    for name, result in (("far", traced), ("near", near)):
        drawn[name] = tried(result.report(tmp_path / f"{name}.html"), acts, "--blink-settings=preferredColorScheme=1")
    assert drawn["far"]["window"] == 0
    assert drawn["near"]["window"] > 100
    assert drawn["far"]["keys"] == [
        "sent",
        "retransmitted",
        "SACKed",
        "ACK number",
        "end of the window (beyond the plot)",
    ]
    assert drawn["near"]["keys"][-1] == "end of the window"


#: Which boxes are wider than the page, and what is said about each.
WIDE = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const out = [...document.querySelectorAll(".scroll")].map((one) => ({
    wide: one.scrollWidth > one.clientWidth + 2, network: Boolean(one.querySelector(".network")), reached: one.tabIndex === 0,
    hint: one.previousElementSibling?.className === "hint" ? one.previousElementSibling.textContent : "",
  }));
  const note = document.createElement("pre");
  note.id = "outcome";
  note.textContent = JSON.stringify(out);
  document.body.append(note);
}, 200));
</script>
"""


@browser
def test_what_is_wider_than_the_page_says_that_it_scrolls(tmp_path):
    write_result(tmp_path / "r", flows=3, duration=20.0)
    page = longhaul.load(tmp_path / "r").report(tmp_path / "report.html")
    found = tried(page, WIDE, "--window-size=500,900")
    # On a narrow screen the network stands upright, and fits.
    assert [one["wide"] for one in found if one["network"]] == [False]
    found += tried(page, WIDE, "--window-size=720,900")
    assert any(one["wide"] for one in found)
    for one in found:
        assert one["reached"] == one["wide"]
        assert one["hint"] == ("⇆ continues to the right: scroll sideways" if one["wide"] else "")
