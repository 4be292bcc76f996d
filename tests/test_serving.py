"""The local page: lists, reports, states and comparisons, for those with the token alone."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from html import unescape
from urllib.parse import urlsplit

import longhaul
import pytest
from longhaul import live, serving
from longhaul.report import explore
from longhaul.serving import Server, find
from longhaul.sweep import following, local
from test_report_in_browser import browser, opened


@contextmanager
def serving_at(folder):
    """A server over a folder, which ends with the block, whatever fails in it."""
    with Server(folder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def served(tmp_path, scenario):
    """A server over a folder with two runs and a sweep."""
    longhaul.run(scenario, out=tmp_path / "results" / "one")
    longhaul.run(scenario, out=tmp_path / "results" / "deep" / "two", seed=9)
    longhaul.sweep(scenario, tmp_path / "results" / "sweep", grid={"flow.users.count": [1, 2]})
    with serving_at(tmp_path / "results") as server:
        yield server


def get(address, host=None):
    request = urllib.request.Request(address, headers={"Host": host} if host else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def refused(address, status):
    """What an answer with this status says."""
    with pytest.raises(urllib.error.HTTPError) as error:
        get(address)
    assert error.value.code == status
    return error.value.read().decode()


def options(page):
    """What can be compared: names by id."""
    return dict(re.findall(r'<option value="(\w+)"(?: selected)?>([^<]+)<', page))


def test_the_page_lists_reports_and_compares(served):
    page = get(served.address)
    assert all(name in page for name in (">one<", ">deep/two<", ">sweep<"))
    assert "2 of 2 runs" in page
    ids = options(page)
    assert sorted(ids.values()) == ["deep/two", "one", "sweep (sweep)"]
    by_name = {name: one for one, name in ids.items()}
    first, second = by_name["one"], by_name["deep/two"]
    assert "explore-data" in get(f"{served.address}report?id={first}")
    sweeps = by_name["sweep (sweep)"]
    assert "0 of " in get(f"{served.address}compare?a={sweeps}&b={sweeps}")
    assert "compare two of a kind" in refused(f"{served.address}compare?a={first}&b={sweeps}", 422)
    assert "Goodput" in get(f"{served.address}compare?a={first}&b={second}")
    sweep = re.search(r'follow\?id=(\w+)"', page)[1]
    assert "progress" in get(f"{served.address}follow?id={sweep}")
    state = json.loads(get(f"{served.address}state?id={sweep}"))
    assert (state["done"], state["total"], state["complete"]) == (2, 2, True)
    assert "flow.users.count" in state["table"]


def test_two_runs_are_compared_with_settings_and_curves(served):
    """The comparison was a bare table, and both boxes named the same result at first."""
    page = get(served.address)
    ids = options(page)
    chosen = [ids[one] for one in re.findall(r'value="(\w+)" selected', page)]
    assert sorted(chosen) == ["deep/two", "one"]
    first, second = ({name: one for one, name in ids.items()}[name] for name in ("one", "deep/two"))
    compared = get(f"{served.address}compare?a={first}&b={second}")
    assert "Settings that differ" in compared
    assert re.search(r"<td>run.seed</td><td>7</td><td>9</td>", compared)
    explored = json.loads(re.search(r'id="explore-data">(.*?)</script>', compared, re.DOTALL)[1])
    assert [figure["id"] for figure in explored["figures"]] == ["goodput_bps", "cwnd_bytes", "srtt_s"]
    labels = [line["label"] for line in explored["figures"][0]["series"]]
    assert labels == [f"users[{number}], {name}" for name in ("one", "deep/two") for number in range(3)]


def test_runs_of_other_lengths_and_many_flows_have_one_axis(tmp_path, scenario):
    changes = ({}, {"run.duration": "30 s", "run.sample": "500 ms", "flow.users.count": 6})
    results = [longhaul.run(scenario, set=change) for change in changes]
    explored = explore.of_two(*results, ["a", "b"])
    goodput = explored["figures"][0]["series"]
    assert [line["label"] for line in goodput] == [*(f"users[{k}], a" for k in range(3)), "users, mean of 6 flows, b"]
    assert len({line["axis"] for line in goodput}) == 1
    assert len({len(line["data"]) for line in goodput}) == 1
    assert explored["span"] == [0.0, 30.0]


def test_a_study_is_listed_with_its_reports(tmp_path, scenario):
    """Its directory "cannot be read", and was offered for comparison as a sweep."""
    folder = tmp_path / "results"
    longhaul.run(scenario, out=folder / "one")
    longhaul.sweep(scenario, folder / "study" / "tiny", grid={"flow.users.count": [1, 2]})
    (folder / "study" / "manifest.json").write_text('{"longhaul": "0", "kind": "study", "name": "nothing"}')
    (folder / "study" / "tiny" / "report.html").write_text("what came of it")
    with serving_at(folder) as server:
        page = get(server.address)
        study = re.search(
            r'follow\?id=(\w+)">study</a></td><td data-heading="what">study nothing</td><td data-heading="first numbers">tiny: 2 of 2 runs<',
            page,
        )[1]
        assert options(page) == {}  # nothing to compare the run with
        assert "report?id=" in get(f"{server.address}follow?id={study}")
        assert get(f"{server.address}report?id={study}&scale=tiny") == "what came of it"
        assert "no such report" in refused(f"{server.address}report?id={study}&scale=../one", 404)
        refused(f"{server.address}state?id={study}", 404)


def test_a_sweep_shows_the_runs_that_are_under_way(tmp_path, scenario):
    """Of long runs it showed "0 of 10 runs done" alone."""
    folder = tmp_path / "results"
    seen = []
    with serving_at(folder) as server:

        class Slow(live.Recorder):
            def __call__(self, now, duration, delivered):
                super().__call__(now, duration, delivered)
                if now > 1 and not seen:
                    time.sleep(0.6)  # as a slow run
                    super().__call__(now, duration, delivered)
                    found = re.search(r'follow\?id=(\w+)">sweep<', get(server.address))
                    seen.append(json.loads(get(f"{server.address}state?id={found[1]}")))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(following, "Recorder", Slow)
            grid = {"flow.users.count": [1, 2]}
            swept = longhaul.sweep(scenario, folder / "sweep", grid=grid, set={"run.duration": "4000 s"}, jobs=1)
    (state,) = seen
    (run,) = state["running"]
    assert re.match(r"flow.users.count [12], seed 7: [\d,]+ s of 4,000 s simulated", run["text"])
    assert 0 < run["share"] < 1
    assert state["share"] == pytest.approx((state["done"] + run["share"]) / 2)
    assert not state["complete"]
    assert len(run["times"]) == len(run["goodputs"][0]) >= 1
    assert swept.complete
    assert not list(folder.rglob("live.json"))


def test_a_sweep_under_way_has_its_table(tmp_path, scenario, monkeypatch):
    """It was empty until the sweep's end."""
    pacing = sys.modules["longhaul.sweep.execute"]
    monkeypatch.setattr(pacing, "_MANIFEST_S", 0.0)
    monkeypatch.setattr(pacing, "_TABLES_SHARE", 1.0)
    monkeypatch.setattr(local.LocalEngine, "task_s", 0.0)  # a task is one run
    seen = []
    with serving_at(tmp_path / "results") as server:

        def look(progress):
            if 4 <= progress.finished < 8 and not seen:
                found = re.search(r'follow\?id=(\w+)">sweep<', get(server.address))
                seen.append(json.loads(get(f"{server.address}state?id={found[1]}")))

        grid = {"flow.users.count": [1, 2]}
        longhaul.sweep(scenario, tmp_path / "results" / "sweep", grid=grid, replications=4, jobs=1, observer=look)
    (state,) = seen
    assert not state["complete"]
    assert "<th>flow.users.count</th>" in state["table"]
    assert "<td>1</td>" in state["table"]


def test_sweeps_of_other_points_have_nothing_to_compare(tmp_path, scenario):
    """A point of one sweep alone was counted as a difference, in every metric."""
    for name, counts in (("a", [1, 2]), ("b", [2, 3]), ("c", [4])):
        longhaul.sweep(scenario, tmp_path / "results" / name, grid={"flow.users.count": counts})
    with Server(tmp_path / "results") as server:
        found = {one.name: one for one in server.results()}
        shared, apart = (serving._compared_sweeps(found["a"], found[name]) for name in ("b", "c"))
    assert re.search(r"0 of [\d,]+ means differ by more than 2 %. 2 points of one of both alone", shared)
    assert "no point in common. 3 points of one of both alone" in apart


def test_a_single_run_is_followed_until_its_report(tmp_path, scenario):
    folder = tmp_path / "results"
    with serving_at(folder) as server:
        seen = []

        def look(now, _duration, _events):
            # The run waits here, as a slow one would: what is written by then can be read.
            if now > 1 and len(seen) < 2:
                time.sleep(0.6)
                page = get(server.address)
                if found := re.search(r'follow\?id=(\w+)">(\w+)<', page):
                    seen.append((found[1], found[2], json.loads(get(f"{server.address}state?id={found[1]}"))))

        longhaul.run(scenario, set={"run.duration": "2000 s"}, out=folder / "slow", progress=look)
        assert seen
        run_id, name, state = seen[-1]
        assert name == "slow"
        assert 0 < state["done"] < state["total"] == 2000
        assert not state["complete"]
        assert state["groups"] == ["users"]
        assert max(state["goodputs"][0]) > 0
        assert len(state["goodputs"][0]) == len(state["times"])
        ended = json.loads(get(f"{server.address}state?id={run_id}"))
        assert ended["complete"]
        assert "explore-data" in get(f"{server.address}report?id={ended['report']}")
        assert not (folder / "slow" / "live.json").exists()


def test_nobody_else_gets_an_answer(served):
    assert served.server_address[0] == "127.0.0.1"
    base = f"http://127.0.0.1:{served.server_port}"
    for address, host in (
        (f"{base}/", None),
        (f"{base}/wrong/", None),
        (f"{base}/wrong/report?id=1", None),
        (served.address, "evil.example"),
        (f"{served.address}../../etc/passwd", None),
        (f"{served.address}nothing", None),
    ):
        with pytest.raises(urllib.error.HTTPError) as error:
            get(address, host)
        assert error.value.code == 404
    assert "no such result" in refused(f"{served.address}report?id=../../etc", 404)


def test_a_token_is_new_each_time(tmp_path):
    with Server(tmp_path) as one, Server(tmp_path) as other:
        assert one.token != other.token
        assert len(one.token) >= 20
    assert find(tmp_path) == []


def test_the_command_prints_the_address_and_ends(tmp_path):
    program = "import sys; from longhaul import cli; cli.main(sys.argv[1:])"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    try:
        address = process.stdout.readline().strip()
        assert urlsplit(address).hostname == "127.0.0.1"
        assert "No results yet" in get(address)
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130


def test_bad_input_of_serve(command, tmp_path):
    outcome = command("serve", tmp_path / "missing")
    assert outcome.code == 2
    assert "does not exist" in outcome.err


def test_the_list_states_how_many_results_it_leaves_out(tmp_path, scenario, monkeypatch):
    longhaul.run(scenario, out=tmp_path / "results" / "0", tables=False)
    for number in range(1, 7):
        shutil.copytree(tmp_path / "results" / "0", tmp_path / "results" / str(number))
    monkeypatch.setattr(serving, "_MOST", 5)
    with serving_at(tmp_path / "results") as server:
        page = get(server.address)
        assert "The newest 5 of 7 results" in page
        assert page.count('href="report?id=') == 5
        monkeypatch.setattr(serving, "_MOST", 7)
        assert "The newest" not in get(server.address)


def test_a_manifest_of_another_program_hides_no_result(tmp_path, scenario):
    folder = tmp_path / "site"
    longhaul.run(scenario, out=folder / "one", tables=False)
    for place in (folder, folder / "one"):
        (place / "manifest.json").write_text('{"name": "my app", "icons": [], "kind": "app"}')
    assert [(one.name, one.kind) for one in serving.find(folder)] == [("one", "run")]
    assert longhaul.load(folder / "one").name == "small"


def test_who_opens_the_address_without_its_token_is_told_where_that_stands(tmp_path):
    with Server(tmp_path, 0) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/", timeout=20)
        assert refused.value.code == 404
        assert "the token that `longhaul serve` printed" in refused.value.read().decode()
        server.shutdown()


#: What a user does with the list: searches, sorts, groups, ticks.
LIST_ACTS = """
<script>
window.addEventListener("load", () => {
  const out = {}, names = () => [...document.querySelectorAll(".results tbody tr:not(.group)")].filter((row) => !row.hidden).map((row) => row.querySelector("a").textContent);
  const search = document.getElementById("search"), compare = document.getElementById("compare");
  const write = (text) => { search.value = text; search.dispatchEvent(new Event("input")); };
  write("deep");
  out.found = names();
  write("");
  const head = document.querySelector(".results th:nth-child(2) button");
  head.click();
  out.rising = names();
  head.click();
  out.falling = names();
  document.getElementById("grouped").click();
  out.groups = document.querySelectorAll(".results tr.group").length;
  const boxes = [...document.querySelectorAll(".results tbody input")];
  out.before = compare.disabled;
  boxes.slice(0, 2).forEach((box) => box.click());
  out.after = compare.disabled;
  boxes[2].click();
  out.ticked = boxes.filter((box) => box.checked).length;
  const note = document.createElement("pre");
  note.id = "outcome";
  note.textContent = JSON.stringify(out);
  document.body.append(note);
});
</script>
"""


@browser
def test_the_list_is_searched_sorted_grouped_and_ticked(served, tmp_path):
    page = tmp_path / "list.html"
    page.write_text(get(served.address).replace("</body>", LIST_ACTS + "</body>"))
    outcome = json.loads(unescape(re.search(r'<pre id="outcome">(.*?)</pre>', opened(page)[0], re.DOTALL)[1]))
    assert outcome["found"] == ["deep/two"]
    assert outcome["rising"] == ["deep/two", "one", "sweep"]
    assert outcome["falling"] == ["sweep", "one", "deep/two"]
    assert outcome["groups"] == 2
    assert (outcome["before"], outcome["after"], outcome["ticked"]) == (True, False, 2)


def test_runs_have_a_thumbnail(served):
    page = get(served.address)
    shown = re.findall(r'src="(thumbnail\?id=\w+)"', page)
    assert len(shown) == 2
    assert "<polyline" in get(f"{served.address}{shown[0]}")
    assert 'rel="icon"' in page
