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
from longhaul.report import explore
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
    # A thousandth of the run: the sequence axis follows down to a few segments.
    assert 0 < outcome["deep"] < 1e6


@browser
def test_a_sweep_report_has_no_error_in_the_console(command, tmp_path, scenario):
    assert (
        command(
            "sweep", scenario, "--grid", "flow.users.count=[1, 2]", "-n", 2, "--out", tmp_path / "s", "--report", "-q"
        ).code
        == 0
    )
    document, console = opened(
        tmp_path / "s" / "report.html", "--window-size=400,900", "--blink-settings=preferredColorScheme=0"
    )
    assert console == ""
    assert "button" in document


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
