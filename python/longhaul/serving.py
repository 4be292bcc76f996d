"""A local page of results: lists runs and sweeps below a folder, shows their reports, follows runs and sweeps that are under way,
compares any two.

It listens on the loopback address alone; every address begins with a token that is new each time, and requests whose Host is
another are refused, so that no other page in the browser can reach it. It only reads.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import jinja2

from . import comparison, drawing, live, load, outputs, regression, staging, tables
from .errors import LonghaulError, OutputError, explain_os_error
from .explain import content_of
from .report import explore
from .results import Result, load_run, read_json
from .sweep import SweepResult
from .units import alike, counted, quantity

#: Results are looked for so many folders deep, and the newest of them are listed.
_DEPTH, _MOST = 4, 1000
#: A folder is looked through again after so many seconds.
_FRESH_S = 2.0
#: Rows of a comparison of two sweeps.
_ROWS = 500
#: Runs of a sweep whose curves are drawn while they are under way, and those that are listed.
_CURVES, _RUNNING = 4, 40


class Missing(LonghaulError):
    """There is no such result, or not any more."""


@dataclass(frozen=True)
class Found:
    """A result directory below the folder: a "run", a "sweep", a "study", or a run that is "running"."""

    id: str
    path: Path
    name: str
    kind: str
    changed: float
    #: Where it is, or will be when the run is complete.
    place: Path


def find(folder: Path) -> list[Found]:
    """The results below a folder, the newest first; folders that cannot be read are left out."""
    found: list[Found] = []
    layer = [folder]
    for _ in range(_DEPTH):
        below: list[Path] = []
        for place in layer:
            entry = _result_at(place, folder)
            if entry is not None:
                found.append(entry)
                continue
            if (running := staging.target(place)) and live.read(place):
                found.append(_entry(running, folder, "running", time.time(), place))
                continue
            try:
                below += [
                    one
                    for one in place.iterdir()
                    if one.is_dir() and not one.is_symlink() and (staging.target(one) or not one.name.startswith("."))
                ]
            except OSError:
                continue
        layer = below
    return sorted(found, key=lambda one: (-one.changed, str(one.path)))


def _result_at(place: Path, folder: Path) -> Found | None:
    kind = outputs.kind_of(place)
    if kind is None:
        return None
    files = [place / ("summary.json" if kind == "run" else "manifest.json")]
    if kind == "study":
        files += [scale / "manifest.json" for scale in _scales(place)]
    return _entry(place, folder, kind, max(map(_changed, files)), place)


def _changed(file: Path) -> float:
    """When a file was changed; 0 if it is not there any more."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _scales(place: Path) -> list[Path]:
    """The directories of a study's scales, the newest first."""
    try:
        found = [one for one in place.iterdir() if outputs.kind_of(one) == "sweep"]
    except OSError:
        return []
    return sorted(found, key=lambda one: -_changed(one / "manifest.json"))


def _entry(place: Path, folder: Path, kind: str, changed: float, held: Path) -> Found:
    """A result that is, or will be, at a place below the folder; `held` is where its files are."""
    relative = str(place.relative_to(folder))
    shown = relative if relative != "." else place.resolve().name
    mark = "running " if kind == "running" else ""
    return Found(hashlib.sha256((mark + relative).encode()).hexdigest()[:16], held, shown, kind, changed, place)


class Server(ThreadingHTTPServer):
    """The page of one folder; `address` is where to open it."""

    daemon_threads = True

    def __init__(self, folder: Path, port: int = 0) -> None:
        """Listens on 127.0.0.1; port 0 is any that is free. Raises `OutputError` if the port is taken."""
        self.folder = folder
        self.token = secrets.token_urlsafe(18)
        self._lock = Lock()
        self._scanned = (0.0, list[Found]())
        self._reports: dict[tuple[str, float], str] = {}
        self._followed: dict[str, Found] = {}
        try:
            super().__init__(("127.0.0.1", port), _Handler)
        except OSError as error:
            raise OutputError(explain_os_error(error, "use", f"port {port} of 127.0.0.1")) from None

    @property
    def address(self) -> str:
        """The page's address, with the token."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def results(self) -> list[Found]:
        """The results that were found, at most `_FRESH_S` old."""
        with self._lock:
            when, found = self._scanned
            if time.monotonic() - when > _FRESH_S or not found:
                found = find(self.folder)
                self._scanned = (time.monotonic(), found)
            return found

    def known(self, wanted: str) -> Found | None:
        """A result by its id, also of a run that has ended since it was listed."""
        found = self.result(wanted)
        with self._lock:
            if found is not None and found.kind == "running":
                self._followed[wanted] = found
            return found or self._followed.get(wanted)

    def at(self, place: Path) -> Found | None:
        """The result at a place, if one is there now."""
        found = _result_at(place, self.folder)
        if found is not None:
            with self._lock:
                self._scanned = (0.0, [])  # the folder has changed
        return found

    def result(self, wanted: str) -> Found | None:
        """A result by its id: no path comes from a request."""
        return next((one for one in self.results() if one.id == wanted), None)

    def report(self, found: Found) -> str:
        """The report of a result as it is now; kept until the result changes."""
        key = (found.id, found.changed)
        with self._lock:
            if key in self._reports:
                return self._reports[key]
        with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
            loaded, place = load(found.path), Path(folder) / "report.html"
            # Causes are not tested while a page waits.
            file = loaded.report(place) if isinstance(loaded, SweepResult) else loaded.report(place, explain_s=0.0)
            text = file.read_text(encoding="utf-8")
        with self._lock:
            if len(self._reports) > 20:
                self._reports.clear()
            self._reports[key] = text
        return text


def page(title: str, body: str, explored: dict[str, Any] | None = None) -> str:
    """A page with the look of the reports; with `explored`, figures of `report.explore` follow the body."""
    folder = resources.files("longhaul.report") / "templates"
    loader = jinja2.DictLoader({
        **{name: (folder / name).read_text(encoding="utf-8") for name in ("base.html", "macros.html")},
        "page.html": _PAGE,
    })  # fmt: skip
    environment = jinja2.Environment(loader=loader, autoescape=True)
    figures = {"figures": explored["figures"], "explorer": explore.explorer(explored)} if explored else {"figures": []}
    return environment.get_template("page.html").render(title=f"{title} – Longhaul", body=body, **figures)


_PAGE = """{% extends "base.html" %}{% import "macros.html" as draw %}
{% block title %}{{ title }}{% endblock %}
{% block head %}{% if figures %}<style>{{ explorer.uplot_css | safe }}</style>{% endif %}{% endblock %}
{% block body %}{{ body | safe }}{% if figures %}<h2>Over time</h2>{{ draw.zoom() }}{% for f in figures %}{{ draw.plot(f) }}{% endfor %}{% endif %}{% endblock %}
{% block scripts %}{% if figures %}{{ draw.explorer(explorer) }}<script>{{ explorer.script | safe }}</script>{% endif %}{% endblock %}"""


#: What a damaged result is called in the list.
_UNREADABLE = "cannot be read"

#: Names and sentences in the list of results: to the left, in lines.
_LIST_STYLE = """<style>
  h1 { overflow-wrap: anywhere; }
  .results th, .results td { text-align: left; white-space: normal; } .results td:last-child { white-space: nowrap; }
  select, button, .find input { font: inherit; max-width: 100%; color: var(--ink); background: var(--tint); border: 1px solid var(--line); border-radius: 5px; padding: .15rem .6rem; }
  .find { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; position: sticky; top: 0; z-index: 2; background: var(--paper); padding: .5rem 0; } .find input[type=search] { flex: 1 1 14rem; }
  .results th button { border: 0; background: none; padding: 0; font-weight: 600; cursor: pointer; } .results th[aria-sort=ascending] button::after { content: " ▴"; } .results th[aria-sort=descending] button::after { content: " ▾"; }
  .columns { font-size: .85rem; margin: 0 0 .4rem; } .columns summary { font-weight: 400; } .columns label { display: inline-block; margin: .2rem 1rem .2rem 0; } .results [hidden] { display: none; }
  .results tr.group td { font-weight: 600; background: var(--tint); } .results img { display: block; width: 110px; height: 30px; } .results input { width: 1.1rem; height: 1.1rem; }
  form.compare { display: grid; grid-template-columns: auto 1fr; gap: .4rem .8rem; align-items: center; max-width: 44rem; } form.compare select { width: 100%; } form.compare button { justify-self: start; grid-column: 2; }
  @media (max-width: 700px) { table.results td:empty { display: none; } .results td.pick { position: absolute; right: .3rem; top: .1rem; border: 0; } .results tr { position: relative; } .results td:nth-child(2) { font-weight: 600; padding-right: 2.4rem; } .results td:nth-child(2)::before, .results td.pick::before { content: none; } .results tr.group td { display: block; }
    .results td::before { flex: none; max-width: 45%; overflow-wrap: normal; } .results td:not(.pick) { text-align: right; overflow-wrap: anywhere; } .results td:nth-child(2) { text-align: left; } }
</style>"""

#: Search, order, groups, and ticks that choose what is compared.
_LIST_SCRIPT = """<script>
(() => {
  const table = document.querySelector(".results"), body = table.tBodies[0], rows = [...body.rows], search = document.getElementById("search"), grouped = document.getElementById("grouped");
  const text = (row, at) => row.cells[at].dataset.key || row.cells[at].textContent;
  let by = null;
  const show = () => {
    const words = search.value.trim().toLowerCase().split(/\\s+/).filter(Boolean);
    const order = [...rows];
    if (by) order.sort((a, b) => by.sign * text(a, by.at).localeCompare(text(b, by.at), undefined, { numeric: true }));
    if (grouped.checked) order.sort((a, b) => a.dataset.scenario.localeCompare(b.dataset.scenario));
    body.replaceChildren();
    let shown = 0, last = null;
    for (const row of order) {
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      if (!row.hidden) shown += 1;
      if (grouped.checked && !row.hidden && row.dataset.scenario !== last) {
        last = row.dataset.scenario;
        const head = body.insertRow(), cell = head.insertCell();
        head.className = "group";
        cell.colSpan = table.tHead.rows[0].cells.length;
        cell.textContent = last;
      }
      body.append(row);
    }
    document.getElementById("shown").textContent = `${shown} of ${rows.length}`;
  };
  search.addEventListener("input", show);
  grouped.addEventListener("change", show);
  table.tHead.querySelectorAll("button").forEach((button) => button.addEventListener("click", () => {
    const head = button.parentElement, sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    table.tHead.querySelectorAll("th").forEach((one) => one.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    by = { at: head.cellIndex, sign };
    show();
  }));
  // The columns that are shown stand in the address, so that a reload and a bookmark keep them.
  const columns = [...document.querySelectorAll("#columns input")], name = (box) => box.parentElement.textContent.trim();
  const choose = () => {
    for (const box of columns) for (const row of [table.tHead.rows[0], ...rows]) row.cells[box.value].hidden = !box.checked;
  };
  const kept = new URLSearchParams(location.hash.slice(1)).get("columns");
  if (kept !== null) columns.forEach((box) => { box.checked = kept.split(",").includes(name(box)); });
  columns.forEach((box) => box.addEventListener("change", () => {
    history.replaceState(null, "", `#columns=${encodeURIComponent(columns.filter((one) => one.checked).map(name).join(","))}`);
    choose();
  }));
  choose();
  const picked = [], compare = document.getElementById("compare");
  body.addEventListener("change", ({ target }) => {
    if (target.type !== "checkbox") return;
    if (target.checked) picked.push(target); else picked.splice(picked.indexOf(target), 1);
    if (picked.length > 2) picked.shift().checked = false;
    compare.disabled = picked.length !== 2;
    compare.textContent = picked.length === 2 ? "compare the two that are ticked" : "tick two to compare";
  });
  compare.addEventListener("click", () => { location.href = `compare?a=${picked[0].value}&b=${picked[1].value}`; });
  show();
})();
</script>"""


#: Draws the goodput of each group of a run that is under way.
_CURVE = """
<script>%s</script>
<script>
const id = encodeURIComponent(new URLSearchParams(location.search).get("id") || "");
const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const axis = (label) => ({ label, stroke: () => style("--ink"), grid: { stroke: () => style("--line"), width: 1 }, ticks: { stroke: () => style("--line"), width: 1 } });
const curve = (place, height) => {
  let plot = null;
  return (state) => {
    if (state.times.length < 2) return;
    const data = [state.times, ...state.goodputs.map((rates) => rates.map((rate) => rate / 1e6))];
    if (plot) { plot.setData(data); return; }
    plot = new uPlot({
      width: Math.max(260, place.clientWidth), height,
      series: [{ label: "time (s)" }, ...state.groups.map((label, number) => ({ label, stroke: () => style("--c" + (number %% 8)), width: 1.5 }))],
      scales: { x: { time: false }, y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [axis("simulated time (s)"), axis("goodput (Mbit/s)")],
    }, data, place);
  };
};
</script>
"""


#: Asks every two seconds how far a sweep is, and shows its table and the runs that are under way.
_FOLLOW = """
<script>
const shown = new Map();
const show = (runs) => {
  const place = document.getElementById("running"), now = new Set(runs.map((run) => run.id));
  for (const [one, { box }] of shown) if (!now.has(one)) { box.remove(); shown.delete(one); }
  for (const run of runs) {
    if (!shown.has(run.id)) {
      const box = document.createElement("div"), text = document.createElement("p"), bar = document.createElement("progress"), plot = document.createElement("div");
      bar.max = 1;
      bar.style.width = "100%";
      text.style.margin = ".6rem 0 0";
      box.append(text, bar, plot);
      place.append(box);
      shown.set(run.id, { box, text, bar, draw: curve(plot, 220) });
    }
    const { text, bar, draw } = shown.get(run.id);
    text.textContent = run.text;
    bar.value = run.share;
    if (run.times) draw(run);
  }
  document.getElementById("running-head").hidden = !runs.length;
};
const follow = async () => {
  const answer = await fetch("state?id=" + id);
  if (!answer.ok) return;
  const state = await answer.json();
  document.getElementById("bar").value = state.share;
  document.getElementById("state").textContent = state.text;
  document.getElementById("table").innerHTML = state.table;
  show(state.running);
  if (!state.complete) setTimeout(follow, 2000);
};
follow();
</script>
"""


#: Follows a single run: progress and goodput of each group; once it is done, its report.
_FOLLOW_RUN = """
<script>
const draw = curve(document.getElementById("curve"), 300);
const follow = async () => {
  const answer = await fetch("state?id=" + id);
  const state = answer.ok ? await answer.json() : { complete: true };
  if (state.report) { location.replace("report?id=" + state.report); return; }
  if (state.complete) { document.getElementById("state").textContent = "The run has ended without a result."; return; }
  document.getElementById("bar").value = state.done / state.total;
  document.getElementById("state").textContent = state.text;
  draw(state);
  setTimeout(follow, 1000);
};
follow();
</script>
"""


#: Who opens the address without its token is told where it stands.
_NO_TOKEN = "not found: addresses of this page begin with the token that `longhaul serve` printed when it was started"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version = "longhaul"
    sys_version = ""

    def do_GET(self) -> None:
        """Serves one page; everything else is 404."""
        host = self.headers.get("Host", "")
        allowed = {f"127.0.0.1:{self.server.server_port}", f"localhost:{self.server.server_port}"}
        parts = urlsplit(self.path)
        token, _, what = parts.path.lstrip("/").partition("/")
        if host not in allowed:
            self._answer("not found", status=HTTPStatus.NOT_FOUND, kind="text/plain")
            return
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            # The same for every wrong token.
            self._answer(_NO_TOKEN, status=HTTPStatus.NOT_FOUND, kind="text/plain")
            return
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        pages: dict[str, Callable[[dict[str, str]], str]] = {
            "": self._list, "report": self._report, "follow": self._follow, "compare": self._compare,
        }  # fmt: skip
        try:
            if what == "state":
                self._answer(json.dumps(self._state(asked)), kind="application/json")
            elif what == "thumbnail":
                self._answer(thumbnail(self._found(asked)), kind="image/svg+xml")
            elif what in pages:
                self._answer(pages[what](asked))
            else:
                self._answer("not found", status=HTTPStatus.NOT_FOUND, kind="text/plain")
        except LonghaulError as error:
            status = HTTPStatus.NOT_FOUND if isinstance(error, Missing) else HTTPStatus.UNPROCESSABLE_ENTITY
            body = f'<h1>Not possible</h1><p>{escape(str(error))}</p><p><a href="./">back</a></p>'
            self._answer(page("Error", body), status=status)

    def log_message(self, format: str, *_args: object) -> None:
        """Requests are not logged: they hold the token."""

    def _answer(self, text: str, status: HTTPStatus = HTTPStatus.OK, kind: str = "text/html") -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Frame-Options", "DENY")
        self.end_headers()
        self.wfile.write(data)

    def _found(self, asked: dict[str, str], key: str = "id") -> Found:
        found = self.server.result(asked.get(key, ""))
        if found is None:
            raise Missing("there is no such result any more")
        return found

    def _list(self, _asked: dict[str, str]) -> str:
        rows: list[str] = []
        choices: list[Found] = []
        found = self.server.results()
        metrics = {one.id: _metrics(one) for one in found[:_MOST]}
        # Columns that can be switched on: of the metrics in the list those that a result here has.
        held = {name: text for name, text in _COLUMNS.items() if any(name in numbers for numbers in metrics.values())}
        for one in found[:_MOST]:
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.changed))
            what, numbers = _line(one)
            link = "report" if one.kind == "run" else "follow"
            is_choice = one.kind in ("run", "sweep") and what != _UNREADABLE
            tick = (
                f'<input type="checkbox" value="{one.id}" aria-label="compare {escape(one.name)}">' if is_choice else ""
            )
            image = (
                f'<img loading="lazy" src="thumbnail?id={one.id}" alt="">' if one.kind == "run" and is_choice else ""
            )
            scenario = what.rpartition(", ")[0] if one.kind == "run" else what
            rows.append(
                f'<tr data-scenario="{escape(scenario)}"><td class="pick">{tick}</td><td data-heading="result"><a href="{link}?id={one.id}">{escape(one.name)}</a></td>'
                f'<td data-heading="what">{escape(what)}</td><td data-heading="first numbers">{escape(numbers)}</td><td data-heading="goodput">{image}</td>'
                f'<td data-heading="changed" data-key="{one.changed:015.0f}">{when}</td>{_cells(metrics[one.id], held)}</tr>'
            )
            if is_choice:
                choices.append(one)
        usual = ("result", "what", "first numbers", "goodput", "changed")
        titles = [(title, "") for title in usual] + [(title, " hidden") for title in held.values()]
        head = f"<tr><th></th>{''.join(f'<th{off}><button>{title}</button></th>' for title, off in titles)}</tr>"
        switches = "".join(
            f'<label><input type="checkbox" value="{number}"{"" if off else " checked"}> {title}</label>'
            for number, (title, off) in enumerate(titles, 1)
            if title != "result"
        )
        form = ""
        if len(choices) > 1:
            first, second = next(
                (
                    (one, other)
                    for number, one in enumerate(choices)
                    for other in choices[number + 1 :]
                    if other.kind == one.kind
                ),
                (choices[0], choices[1]),
            )
            form = (
                '<h2>Compare two</h2><p class="soft">Two runs, or two sweeps.</p><form action="compare" class="compare">'
                f'<label for="a">first</label><select name="a" id="a">{_options(choices, first)}</select>'
                f'<label for="b">second</label><select name="b" id="b">{_options(choices, second)}</select><button>compare</button></form>'
            )
        body = f"{_LIST_STYLE}<h1>Results in {escape(str(self.server.folder.resolve()))}</h1>"
        if len(found) > _MOST:
            body += f"<p>The newest {_MOST:,} of {len(found):,} results; `longhaul serve` of a folder below shows the others.</p>"
        if rows:
            body += (
                '<div class="find"><input type="search" id="search" placeholder="search" aria-label="Search results"> <span id="shown" class="soft" aria-live="polite"></span>'
                '<label><input type="checkbox" id="grouped"> by scenario</label><button id="compare" disabled>tick two to compare</button></div>'
                f'<details class="columns" id="columns"><summary>columns</summary>{switches}</details>'
            )
            form += _LIST_SCRIPT
        body += (
            f'<div class="scroll"><table class="cards results"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
            if rows
            else "<p>No results yet.</p>"
        )
        return page("Results", body + form)

    def _report(self, asked: dict[str, str]) -> str:
        one = self._found(asked)
        if one.kind != "study":
            return self.server.report(one)
        for scale in _scales(one.path):
            if scale.name == asked.get("scale") and (file := outputs.report_of(scale)).is_file():
                return file.read_text(encoding="utf-8")
        raise Missing("this study has no such report; `longhaul reproduce` writes it when its runs are done")

    def _follow(self, asked: dict[str, str]) -> str:
        one = self._found(asked)
        if one.kind == "run":
            return self.server.report(one)
        if one.kind == "running":
            return _live_page(one)
        if one.kind == "study":
            return _study_page(one)
        body = (
            f"<style>{explore.vendored('uPlot.min.css')}</style>"
            f'<h1>{escape(one.name)}</h1><p><progress id="bar" max="1" value="0" style="width:100%"></progress></p>'
            f'<p id="state" class="soft" aria-live="polite"></p><div class="scroll" id="table"></div>'
            '<h2 id="running-head" hidden>Runs under way, and their goodput so far</h2><div id="running"></div>'
            f'<p><a href="report?id={one.id}">report with figures</a> · <a href="./">all results</a></p>'
            f"{_CURVE % explore.vendored('uPlot.iife.min.js')}{_FOLLOW}"
        )
        return page(one.name, body)

    def _state(self, asked: dict[str, str]) -> dict[str, Any]:
        one = self.server.known(asked.get("id", ""))
        if one is not None and one.kind == "running":
            return self._state_of_run(one)
        one = self._found(asked)
        if one.kind != "sweep":
            raise Missing("this is no sweep")
        sweep = SweepResult(one.path)
        running = [] if sweep.complete else _running(sweep)
        done = sweep.done
        text = f"{done} of {counted(sweep.total, 'run')} done" + (
            f", {len(sweep.failures)} failed" if sweep.failures else ""
        )
        if running:
            text += f", {len(running)} running"
        try:
            if 0 < (held := sweep.finished.height) < done:
                text += f"; the table has {counted(held, 'run')}"
            table = tables.cell_table(sweep, tables.first_metrics(sweep))
            head = "".join(f"<th>{escape(name)}</th>" for name, _ in table.headings)
            rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
            shown = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        except LonghaulError:  # its tables are written every now and then
            shown = ""
        total = max(1, sweep.total)
        return {
            "done": done,
            "total": total,
            "share": min(1.0, (done + sum(float(run["share"]) for run in running)) / total),
            "complete": sweep.complete,
            "text": text,
            "table": shown,
            "running": running[:_RUNNING],
        }

    def _state_of_run(self, one: Found) -> dict[str, Any]:
        state = live.read(one.path)
        if state is None:
            done = self.server.at(one.place)
            return {"complete": True, "report": done.id if done else None}
        text = f"{state.name}: {quantity(state.now_s, 's')} of {quantity(state.duration_s, 's')} simulated"
        return {"done": state.now_s, "total": state.duration_s, "complete": False, "text": text, "groups": state.groups,
                "times": state.times, "goodputs": state.goodputs}  # fmt: skip

    def _compare(self, asked: dict[str, str]) -> str:
        first, second = self._found(asked, "a"), self._found(asked, "b")
        if "sweep" in (first.kind, second.kind):
            return _compared_sweeps(first, second)
        return _compared_runs(first, second)


#: Points of a thumbnail, and its size in pixels.
_POINTS, _WIDE, _HIGH = 60, 110, 30


@lru_cache(maxsize=2000)
def _thumbnail(path: Path, _changed_at: float) -> str:
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDE}" height="{_HIGH}" viewBox="0 0 {_WIDE} {_HIGH}">'
    result = load_run(path)
    if not result.has_tables:
        return begin + "</svg>"
    import numpy as np
    import polars as pl

    rates = result.flows.group_by("time_s").agg(pl.col("goodput_bps").sum()).sort("time_s")["goodput_bps"].to_numpy()
    parts = [part.mean() for part in np.array_split(rates, min(_POINTS, len(rates)))] if len(rates) else []
    top = max(parts, default=0.0) or 1.0
    points = " ".join(
        f"{_WIDE * number / max(1, len(parts) - 1):.1f},{_HIGH - 2 - (_HIGH - 4) * part / top:.1f}"
        for number, part in enumerate(parts)
    )
    return f'{begin}<polyline points="{points}" fill="none" stroke="#2f7fb8" stroke-width="1.5"/></svg>'


def thumbnail(found: Found) -> str:
    """The sum of goodputs of a run over time, as a small SVG; an empty one without time series."""
    return _thumbnail(found.path, found.changed)


def _compared_runs(first: Found, second: Found) -> str:
    """Two runs: their metrics, the settings that differ, and their curves over each other."""
    names = _names(first.name, second.name)
    results = load_run(first.path), load_run(second.path)
    table = comparison.compare(*results, names=names)
    curves = explore.of_two(*results, names)
    body = (
        f'<h1>Compared</h1><div class="scroll">{table._repr_html_()}</div><p class="soft">In parentheses: the difference from the first.'
        f' Reports: <a href="report?id={first.id}">{escape(first.name)}</a>, <a href="report?id={second.id}">{escape(second.name)}</a>.</p>'
        '<p><a href="./">all results</a></p>'
    )
    if not table.settings:
        body += '<p class="soft">No setting differs.</p>'
    drawn = [drawing.of_result(result, content_of(result)).inline() for result in results]
    headings = (
        [f"The network of {name}" for name in names] if drawn[0] != drawn[1] else ["The network, the same in both"]
    )
    body += f"<style>{drawing.svg.style()}</style>"
    for heading, picture in zip(headings, drawn, strict=False):
        body += f'<h2>{escape(heading)}</h2><div class="scroll">{picture}</div>'
    if not curves["figures"]:
        return page("Compared", body + '<p class="soft">Curves need the time series of both runs.</p>')
    return page("Compared", body, curves)


def _running(sweep: SweepResult) -> list[dict[str, Any]]:
    """The runs of a sweep that are under way: what varies, how far each is; of the first its curves."""
    found: list[dict[str, Any]] = []
    for place, state in live.below(sweep.path / "runs"):
        values = [f"{name} {tables.setting_text(value)}" for name, value in state.about.get("parameters", {}).items()]
        at = f"{quantity(state.now_s, 's')} of {quantity(state.duration_s, 's')} simulated"
        called = ", ".join([*values, f"seed {state.about.get('seed')}"])
        one = {
            "id": place.name,
            "text": f"{called}: {at}",
            "share": state.now_s / state.duration_s if state.duration_s else 0.0,
        }
        if len(found) < _CURVES:
            one |= {"groups": state.groups, "times": state.times, "goodputs": state.goodputs}
        found.append(one)
    return found


def _study_page(one: Found) -> str:
    """A study's scales: how far each is, and its report."""
    lines = []
    for scale in _scales(one.path):
        link = f'<a href="report?id={one.id}&amp;scale={quote(scale.name)}">report</a>'
        shown = link if outputs.report_of(scale).is_file() else "no report yet"
        lines.append(f"<li>{escape(_standing(scale))}: {shown}</li>")
    scales = f"<ul>{''.join(lines)}</ul>" if lines else "<p>No runs yet.</p>"
    return page(
        one.name,
        f'<h1>{escape(one.name)}</h1><p>{escape(_line(one)[0])}</p>{scales}<p><a href="./">all results</a></p>',
    )


def _live_page(one: Found) -> str:
    """The page of a run that is under way."""
    body = (
        f"<style>{explore.vendored('uPlot.min.css')}</style>"
        f'<h1>{escape(one.name)}</h1><p><progress id="bar" max="1" value="0" style="width:100%"></progress></p>'
        f'<p id="state" class="soft" aria-live="polite"></p><h2>Goodput so far</h2><div id="curve" class="plot"></div>'
        f'<p><a href="./">all results</a></p>'
        f"{_CURVE % explore.vendored('uPlot.iife.min.js')}{_FOLLOW_RUN}"
    )
    return page(one.name, body)


def _compared_sweeps(first: Found, second: Found) -> str:
    """Differences of more than 2 % between two sweeps, point by point."""
    results = _loaded(first), _loaded(second)
    found, compared = regression.changes(*results, 0.02)
    # A point of one sweep alone is no difference between both.
    changed = [one for one in found if one.first is not None and one.second is not None]
    alone = len(
        {one.point for one in found if one.first is None or one.second is None} - {one.point for one in changed}
    )
    compared -= len(found) - len(changed)
    lines = []
    for one in changed[:_ROWS]:
        values = "".join(f"<td>{escape(text)}</td>" for text in alike((one.first, one.second), one.unit))
        change = "" if one.relative is None else f"{100 * one.relative:+.1f} %"
        title = results[0].title(one.metric) if isinstance(results[0], SweepResult) else one.metric
        lines.append(f"<tr><td>{escape(one.point)}</td><td>{escape(title)}</td>{values}<td>{change}</td></tr>")
    rows = "".join(lines)
    names = _names(first.name, second.name)
    head = "".join(f"<th>{escape(text)}</th>" for text in ("point", "metric", *names, "change"))
    more = f", the first {_ROWS} of them" if len(changed) > _ROWS else ""
    apart = f" {counted(alone, 'point')} of one of both alone." if alone else ""
    if not compared:
        return page(
            "Compared",
            f'<h1>Compared</h1><p>These sweeps have no point in common.{apart}</p><p><a href="./">all results</a></p>',
        )
    body = (
        f"<h1>Compared</h1><p>{len(changed):,} of {compared:,} means differ by more than 2 %{more}.{apart}</p>"
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div><p><a href="./">all results</a></p>'
    )
    return page("Compared", body)


def _loaded(found: Found) -> Result | SweepResult:
    return SweepResult(found.path) if found.kind == "sweep" else load_run(found.path)


def _options(choices: list[Found], chosen: Found) -> str:
    """The choices of a list, with one that is chosen at first."""
    return "".join(
        f'<option value="{one.id}"{" selected" if one is chosen else ""}>'
        f"{escape(f'{one.name} (sweep)' if one.kind == 'sweep' else one.name)}</option>"
        for one in choices
    )


#: Metrics that have a column of their own in the list.
_COLUMNS = {
    "seed": "seed", "duration_s": "duration", "goodput_bps": "total goodput", "mos": "opinion score", "call_delay_s": "call delay",
    "page_time_p95_s": "page, 95 %", "response_time_p95_s": "response, 95 %", "completion_time_mean_s": "completion",
    "loss_rate": "loss", "rtt_mean_s": "mean RTT", "timeouts": "timeouts", "jain_index": "Jain's index", "utilisation": "utilisation",
    "queue_delay_p95_s": "queueing, 95 %", "warnings": "warnings",
}  # fmt: skip


def _metrics(one: Found) -> dict[str, tuple[float, str]]:
    """A run's values in the columns that can be chosen: the number by which it is sorted, and what is shown."""
    if one.kind != "run":
        return {}
    try:
        result = load_run(one.path)
    except LonghaulError:
        return {}
    seed, length, warnings = result.summary["seed"], float(result.summary["duration_s"]), len(result.warnings)
    found = {
        "seed": (float(seed), str(seed)),
        "duration_s": (length, quantity(length, "s")),
        "warnings": (float(warnings), str(warnings)),
    }
    for name, value in result.metrics.items():
        if name in _COLUMNS and value is not None:
            found[name] = (float(value), tables.show(result, name, value))
    return found


def _cells(numbers: dict[str, tuple[float, str]], columns: dict[str, str]) -> str:
    """The cells of a row that are hidden at first; their keys have the same number of digits, so that they sort as numbers."""
    cells = []
    for name, title in columns.items():
        value, text = numbers.get(name, (None, ""))
        key = "" if value is None else f"{value:030.9f}"
        cells.append(f'<td hidden data-heading="{title}" data-key="{key}">{escape(text)}</td>')
    return "".join(cells)


def _names(first: str, second: str) -> list[str]:
    return [first, second] if first != second else [f"{first} (1)", f"{second} (2)"]


def _standing(scale: Path) -> str:
    """How many runs of a study's scale are done."""
    sweep = SweepResult(scale)
    return f"{scale.name}: {sweep.done} of {counted(sweep.total, 'run')}"


def _line(one: Found) -> tuple[str, str]:
    """A result in a line, with its first numbers."""
    try:
        if one.kind == "running":
            state = live.read(one.path)
            return "running", f"{quantity(state.now_s / state.duration_s, 'share', 2)} done" if state else ""
        if one.kind == "study":
            name = str(read_json(one.path / "manifest.json").get("name"))
            return f"study {name}", "; ".join(_standing(scale) for scale in _scales(one.path))
        if one.kind == "sweep":
            sweep = SweepResult(one.path)
            return f"sweep of {sweep.name}", f"{sweep.done} of {counted(sweep.total, 'run')}"
        result = load_run(one.path)
        first = ", ".join(f"{title} {value}" for title, value in tables.key_numbers(result)[:2])
        return f"{result.name}, {quantity(float(result.summary['duration_s']), 's')}", first
    except LonghaulError as error:
        return _UNREADABLE, outputs.damage_of(one.path) or str(error)
