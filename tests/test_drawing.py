"""Drawings of networks: what stands on them, what stays apart, their size, and what a page does with them."""

from __future__ import annotations

import itertools
import json
import re
import time
import xml.etree.ElementTree as ElementTree
from html import unescape
from pathlib import Path

import longhaul
import pytest
from longhaul import Scenario, cli, document, drawing
from longhaul.drawing import network, svg
from synthetic import write_result
from test_report_in_browser import browser, opened

EXAMPLES = Path(longhaul.__file__).parent / "examples"
FILES = sorted(EXAMPLES.glob("*.toml"))


def of(scenario: Scenario) -> network.Network:
    return drawing.of_document(scenario.document()).network


def texts(picture: str) -> list[str]:
    """The texts that stand on a drawing."""
    return ["".join(one.itertext()) for one in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def overlapping(made: network.Network, upright: bool) -> list[tuple[str, str]]:
    """Pairs of nodes and links of which one covers a part of the other."""
    sheet = svg._Sheet(made, upright)
    boxes = {
        key: (one.x - one.along / 2, one.x + one.along / 2, one.y - one.above, one.y + one.below)
        for key, one in sheet.layout.items.items()
    }
    return [
        (one, two)
        for (one, a), (two, b) in itertools.combinations(boxes.items(), 2)
        if a[0] < b[1] and b[0] < a[1] and a[2] < b[3] - 1e-6 and b[2] < a[3] - 1e-6
    ]


def star(leaves: int, flows: int = 1) -> Scenario:
    """A hub with terminals, and a group of flows to each."""
    made = Scenario("star", duration="10 s").link("feed", "server", "hub", rate="1 Gbit/s", delay="5 ms")
    for number in range(leaves):
        made = made.link(f"beam-{number}", "hub", f"ship-{number}", rate="20 Mbit/s", delay="270 ms")
        made = made.flow("server", f"ship-{number}", name=f"f{number}", count=flows)
    return made


@pytest.mark.parametrize("upright", [False, True], ids=["wide", "upright"])
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_example_is_drawn_and_nothing_covers_anything(file, upright):
    made = drawing.of_document(document.read(file))
    shown = " ".join(texts(made.svg(upright=upright)))
    for name in [*(node.label for node in made.network.nodes.values()), *made.network.links]:
        assert name in shown
    for lane in made.network.lanes:
        assert lane.title in shown
    assert overlapping(made.network, upright) == []


@pytest.mark.parametrize("name", ["satellite-pep", "mixed-traffic", "rain-fade", "accelerated-geo", "ack-compaction"])
def test_the_way_of_a_flow_is_that_of_the_run(name):
    file = EXAMPLES / f"{name}.toml"
    ran = longhaul.run(file, set={"run.duration": "20 s", "run.warmup": "0 s"})
    planned = drawing.of_document(document.read(file)).network
    assert [(lane.groups, lane.count, lane.nodes, lane.links) for lane in ran.draw().network.lanes] == [
        (lane.groups, lane.count, lane.nodes, lane.links) for lane in planned.lanes
    ]


def test_a_way_is_the_one_of_least_delay_then_fewest_links():
    far = Scenario("x", duration="1 s").link("long", "a", "b", rate="1 Mbit/s", delay="50 ms")
    far = far.link("one", "a", "c", rate="1 Mbit/s", delay="10 ms").link(
        "two", "c", "b", rate="1 Mbit/s", delay="10 ms"
    )
    assert of(far.flow("a", "b")).lanes[0].links == ["one", "two"]
    even = Scenario("x", duration="1 s").link("one", "a", "c", rate="1 Mbit/s", delay="10 ms")
    even = even.link("two", "c", "b", rate="1 Mbit/s", delay="10 ms").link(
        "long", "a", "b", rate="1 Mbit/s", delay="20 ms"
    )
    assert of(even.flow("a", "b")).lanes[0].links == ["long"]


def test_parallel_links_stand_apart_with_texts_of_their_own():
    made = Scenario("two", duration="10 s").link("geo", "hub", "ship", rate="50 Mbit/s", delay="270 ms", loss="1 %")
    made = made.link("leo", "hub", "ship", rate="20 Mbit/s", delay="30 ms").flow("hub", "ship")
    found = of(made)
    assert list(found.links) == ["geo", "leo"]
    assert overlapping(found, False) == overlapping(found, True) == []
    shown = texts(svg.drawn(found, standalone=True))
    assert {"geo 270 ms", "leo 30 ms", "50 Mbit/s, 1000 pkt", "20 Mbit/s, 1000 pkt", "loss 1 %"} <= set(shown)
    assert max(len(text) for text in shown) < 40


def test_proxies_stand_at_their_nodes_and_what_they_carry_is_double():
    found = drawing.of_document(document.read(EXAMPLES / "satellite-pep.toml")).network
    assert found.nodes["hub1"].notes == found.nodes["terminal1"].notes == ["pep (split)"]
    assert found.nodes["hub2"].notes == []
    lanes = {lane.groups[0]: lane.carried for lane in found.lanes}
    assert lanes == {"with-pep": (1, 2), "without": None}
    assert svg.drawn(found).count('class="carried"') == 1


def test_what_happens_on_a_link_is_named():
    found = drawing.of_document(document.read(EXAMPLES / "rain-fade.toml")).network
    assert found.links["bottleneck"].ways[0].events == ["down 70 s to 80 s", "2 changes of rate"]
    assert found.links["bottleneck"].ways[0].outages == [(70.0, 80.0)]
    asked = Scenario("x", duration="10 s").link(
        "l", "a", "b", rate="1 Mbit/s", delay="10 ms", changes=[{"at": "3 s", "rate": "2 Mbit/s"}],
        reverse={"demand": {"delay": "600 ms"}},
    )  # fmt: skip
    forward, back = of(asked.flow("a", "b")).links["l"].ways
    assert forward.events == ["2 Mbit/s from 3 s"]
    assert "capacity on request" in back.events


def test_the_link_that_limits_is_marked():
    made = longhaul.run(EXAMPLES / "geo-one-flow.toml").draw()
    assert made.network.links["satellite"].limits == ["download"]
    assert made.network.links["internet"].limits == []
    shown = texts(made.svg())
    assert "limits download" in shown
    assert "→ 50 Mbit/s, 85 % used, 1000 pkt" in shown
    assert any(text.startswith("goodput 41.3 Mbit/s; link full 80 %") for text in shown)


def test_data_go_to_the_right_and_who_asks_stands_where_the_answers_end():
    sheet = svg._Sheet(drawing.of_document(document.read(EXAMPLES / "sttp-modern.toml")).network, False)
    x = {key: item.x for key, item in sheet.layout.items.items()}
    assert x["\0from bulk"] < x["hub"] < x["link sat"] < x["term"] < x["\0to bulk"]
    assert x["\0to web"] < x["hub"]
    assert x["\0from web"] > x["term"]


def test_a_circle_of_links_is_drawn():
    made = Scenario("ring", duration="1 s")
    for a, b in ("ab", "bc", "cd", "da"):
        made = made.link(a + b, a, b, rate="1 Mbit/s", delay="10 ms")
    found = of(made.flow("a", "c").flow("c", "a", name="back"))
    assert overlapping(found, False) == overlapping(found, True) == []
    assert svg.drawn(found).count('class="link"') == 4


def test_thirty_nodes_and_five_hundred_flows_are_drawn_at_once():
    began = time.process_time()
    # No two terminals are alike.
    varied = Scenario("star", duration="10 s").link("feed", "server", "hub", rate="1 Gbit/s", delay="5 ms")
    for number in range(28):
        varied = varied.link(f"beam-{number}", "hub", f"ship-{number}", rate=f"{20 + number} Mbit/s", delay="270 ms")
        varied = varied.flow("server", f"ship-{number}", name=f"f{number}", count=18)
    found = of(varied)
    whole = drawing.Drawing(found).inline()
    assert time.process_time() - began < 2.0
    assert len(found.nodes) == 30
    assert sum(lane.count for lane in found.lanes) == 504
    assert overlapping(found, False) == overlapping(found, True) == []
    # Six groups have a line of their own; those that go other ways share a colour.
    assert len({svg._colour(number) for number in range(len(found.lanes))}) == network.LANES + 1
    assert len(whole) < 300_000


def test_many_private_groups_share_a_box():
    made = Scenario("many", duration="10 s").dumbbell(bottleneck={"rate": "10 Mbit/s", "delay": "10 ms"})
    for number in range(40):
        made = made.flow(name=f"g{number}", app={"kind": "bulk", "size": f"{number + 1} MB"})
    found = of(made)
    assert len(found.lanes) == network.LANES + 1
    assert found.lanes[-1].title == f"{40 - network.LANES} other groups × {40 - network.LANES}"
    assert sum(node.label == "other hosts" for node in found.nodes.values()) == 2


def test_an_upright_drawing_fits_a_narrow_screen():
    for file in FILES:
        picture = drawing.of_document(document.read(file)).svg(upright=True)
        # Four terminals stand side by side.
        most = 640 if file.name == "rcs2-fleet.toml" else 560
        assert float(re.search(r'width="(\d+)"', picture)[1]) < most, file.name


def test_a_result_without_its_scenario_is_drawn_from_its_summary(tmp_path):
    write_result(tmp_path / "r", flows=3)
    result = longhaul.load(tmp_path / "r")
    assert "bottleneck" in " ".join(texts(result.draw().svg()))
    assert drawing.over_time.of_result(result.draw().network, result) is not None


def test_names_from_a_scenario_cannot_leave_their_text(tmp_path):
    summary = write_result(tmp_path / "r", flows=1)
    summary["flows"][0]["group"] = '"><script>x</script>'
    made = drawing.of_summary(summary, {})
    for picture in (made.svg(), made.inline()):
        assert "<script" not in picture


def test_the_command_draws_files_and_results(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scenario = str(EXAMPLES / "geo-one-flow.toml")
    assert cli.run(["draw", scenario, "--set", 'link.satellite.forward.rate="9 Mbit/s"']) == 0
    assert "→ 9 Mbit/s, 1000 pkt" in texts((tmp_path / "geo-one-flow.svg").read_text())
    assert cli.run(["run", scenario, "--out", "r", "--quiet", "--set", 'run.duration="5 s"']) == 0
    assert cli.run(["draw", "r", "--upright"]) == 0
    assert any("used" in text for text in texts((tmp_path / "r/plots/network.svg").read_text()))
    capsys.readouterr()
    assert cli.run(["draw", scenario, "--out", "x.png"]) == 2
    assert "name a file that ends in .svg" in capsys.readouterr().err
    assert cli.run(["draw", "r", "--set", "a=1"]) == 2
    assert "--set is for scenario files" in capsys.readouterr().err


def test_notebooks_show_it():
    made = Scenario("x", duration="10 s").link("l", "a", "b", rate="1 Mbit/s", delay="10 ms").flow("a", "b")
    assert "data:image/svg+xml;base64," in made._repr_html_()
    # A scenario that is not complete yet has its text alone.
    assert "image/svg" not in Scenario("y")._repr_html_()
    assert "data:image/svg+xml;base64," in longhaul.run(made)._repr_html_()


ACTS = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const out = {}, slider = document.querySelector(".network-time input"), wide = document.querySelector(".network.wide");
  const way = wide.querySelector('[data-use="0"]'), queue = wide.querySelector('[data-queue="0"]');
  const now = () => [Number(way.getAttribute("width")), Number(queue.getAttribute("height"))];
  out.means = now();
  const at = (value) => { slider.value = value; slider.dispatchEvent(new Event("input")); return now(); };
  out.first = at(0);
  out.middle = at(Math.round(slider.max / 2));
  out.text = document.querySelector(".network-time output").textContent;
  document.querySelectorAll(".network-time button")[1].click();
  out.again = now();
  const link = wide.querySelector("g.link");
  link.focus();
  out.note = document.querySelector(".definition").textContent;
  out.shown = [...document.querySelectorAll(".network")].map((one) => getComputedStyle(one).display !== "none");
  const note = document.createElement("pre");
  note.id = "outcome";
  note.textContent = JSON.stringify(out);
  document.body.append(note);
}, 100));
</script>
"""


@browser
@pytest.mark.parametrize(("width", "shown"), [(1400, [True, False]), (500, [False, True])])
def test_a_page_shows_the_network_over_time_and_figures_at_the_pointer(tmp_path, width, shown):
    write_result(tmp_path / "r", flows=3, duration=60.0)
    page = longhaul.load(tmp_path / "r").report(tmp_path / "report.html", explain_s=0.0)
    tried = tmp_path / "tried.html"
    tried.write_text(page.read_text().replace("</body>", ACTS + "</body>"))
    found, console = opened(tried, f"--window-size={width},900")
    assert console == ""
    outcome = json.loads(unescape(re.search(r'<pre id="outcome">(.*?)</pre>', found, re.DOTALL)[1]))
    assert outcome["first"] != outcome["middle"]
    assert outcome["again"] == outcome["means"]
    assert re.match(r"at [\d.]+ s", outcome["text"])
    assert outcome["shown"] == shown
    if shown[0]:
        assert "one way" in outcome["note"]


def test_terminals_that_are_alike_are_one_with_a_count():
    """Thirty terminals made a drawing of thirty rows."""
    found = of(star(30))
    assert list(found.nodes) == ["server", "hub", "ship-0"]
    assert found.nodes["ship-0"].label == "ship × 30"
    assert [link.label for link in found.links.values()] == ["feed", "beam × 30"]
    assert [lane.title for lane in found.lanes] == ["f × 30"]
    assert "alike: ship-0, ship-1" in svg.drawn(found)


def test_a_terminal_with_another_link_or_other_flows_stands_for_itself():
    other = star(8).link("slow", "hub", "far", rate="1 Mbit/s", delay="270 ms").flow("server", "far", name="far")
    found = of(other.flow("ship-3", "server", name="upload"))
    assert {node.label for node in found.nodes.values()} == {"server", "hub", "ship × 7", "ship-3", "far"}


def test_what_hangs_behind_terminals_is_one_too():
    made = Scenario("lans", duration="10 s").link("feed", "server", "hub", rate="1 Gbit/s", delay="5 ms")
    for number in range(5):
        made = made.link(f"beam-{number}", "hub", f"ship-{number}", rate="20 Mbit/s", delay="270 ms")
        made = made.link(f"lan-{number}", f"ship-{number}", f"host-{number}", rate="1 Gbit/s", delay="1 ms")
        made = made.flow("server", f"host-{number}", name=f"f{number}")
    found = of(made)
    assert [node.label for node in found.nodes.values()] == ["server", "hub", "ship × 5", "host × 5"]
    assert found.lanes[0].links == ["feed", "beam-0", "lan-0"]


def test_links_that_are_alike_have_the_range_of_their_use():
    made = longhaul.run(star(4), set={"run.duration": "5 s"}).draw()
    ways = made.network.links["beam-0"].ways
    assert [way.alike for way in ways] == [[2, 4, 6, 8], [3, 5, 7, 9]]
    assert drawing.over_time.of_result(made.network, longhaul.run(star(4), set={"run.duration": "5 s"})) is not None


def test_a_rate_that_changes_has_its_course():
    changes = [{"at": f"{second} s", "rate": f"{1 + second % 2} Mbit/s"} for second in range(1, 9)]
    made = Scenario("x", duration="10 s").link("l", "a", "b", rate="4 Mbit/s", delay="10 ms", changes=changes)
    found = of(made.flow("a", "b"))
    words, values = found.links["l"].ways[0].course
    assert (words, values[0], min(values)) == ("8 changes of rate", 1.0, 0.25)
    assert svg.drawn(found).count('class="course"') == 1


def test_a_measured_rate_has_its_course_in_a_result(tmp_path):
    (tmp_path / "down.txt").write_text("".join(f"{ms}\n" for ms in range(4000) if ms < 2000 or ms % 4 == 0))
    text = (
        'name = "x"\n[run]\nduration = "4 s"\nsample = "50 ms"\n[[link]]\nname = "l"\nends = ["a", "b"]\ndelay = "10 ms"\nqueue = "50 packets"\n'
        '[link.forward.trace]\nrate = "down.txt"\n[link.reverse]\nrate = "1 Mbit/s"\n[[flow]]\nfrom = "a"\nto = "b"\n'
    )
    (tmp_path / "x.toml").write_text(text)
    network = longhaul.run(tmp_path / "x.toml").draw().network
    words, values = network.links["l"].ways[0].course
    assert words == "measured"
    assert values[5] > 0.9
    assert values[-5] == pytest.approx(0.25, abs=0.05)
    assert network.links["l"].ways[1].course is None
