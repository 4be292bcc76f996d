"""The asymmetric study with real packets: what programs print is read right, every scenario is valid, and pings where root may send them."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import longhaul
import pytest
from longhaul.errors import LonghaulError
from longhaul.scenario import Scenario
from longhaul_studies import emulation, second_kernel
from longhaul_studies.asymmetric import emulated, pages
from longhaul_studies.asymmetric.scenarios import MEGABYTE, network
from longhaul_studies.emulation import Bench, RealCase, find_emulator
from longhaul_studies.judging import judge
from longhaul_studies.results import NotRun, Results, Row
from waiting import PATIENCE_S

PING = """PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.

--- 10.0.0.1 ping statistics ---
6 packets transmitted, 6 received, 0% packet loss, time 5006ms
rtt min/avg/max/mdev = 1089.751/1090.014/1090.246/0.158 ms, pipe 2
"""
FLOOD = """1700000000.000000000
PING 10.0.0.1 (10.0.0.1) 12(40) bytes of data.
[1700000001.050000] 20 bytes from 10.0.0.1: icmp_seq=1 ttl=64
[1700000001.100000] 20 bytes from 10.0.0.1: icmp_seq=2 ttl=64
[1700000001.130000] 20 bytes from 10.0.0.1: icmp_seq=3 ttl=64
"""


def test_what_ping_prints_is_read() -> None:
    assert emulated._read_ping(PING) == {"rtt_min_ms": 1089.751, "rtt_mean_ms": 1090.014, "rtt_max_ms": 1090.246}
    found = emulated._read_flood(FLOOD)
    assert (found["answers"], found["steps_of_40_to_50_ms"]) == (3, 0.5)
    assert found["rtt_0_ms"] == pytest.approx(1050, abs=0.01)
    assert (found["step_mean_ms"], found["step_max_ms"]) == pytest.approx((40, 50), abs=0.01)
    with pytest.raises(NotRun):
        emulated._read_ping("100% packet loss")


def test_a_page_that_was_not_loaded_whole_has_no_time() -> None:
    assert pages._read("40 8.125\n") == {"load_s": 8.125}
    with pytest.raises(NotRun):
        pages._read("39 8.125\n")


@pytest.mark.parametrize("scale", ["tiny", "quick", "full"])
def test_every_scenario_is_valid_and_named_once(scale: str) -> None:
    cases = emulated.cases(scale)
    for case in cases:
        case.scenario.resolve()
    names = [(case.experiment, json.dumps(dict(case.parameters)), case.number) for case in cases]
    assert len(set(names)) == len(names) == len({case.identity for case in cases})
    if scale == "quick":
        assert {case.experiment for case in cases} == {experiment.id for experiment in emulated.STUDY.experiments}


def test_points_are_run_five_times() -> None:
    """Kernels have no seeds, so that each run has a number; the simulator makes one of them."""
    cases = emulated.cases("quick")
    runs = Counter((case.experiment, str(case.parameters)) for case in cases)
    assert set(runs.values()) == {5}
    assert {"ping", "flood", "pages", "two"} < {name for name, _ in runs}
    one = [case for case in cases if case.experiment == "rtt" and case.parameters["rtt"] == 0.4]
    assert [case.number for case in one] == [1, 2, 3, 4, 5]
    assert len({case.scenario.to_toml() for case in one}) == 1
    # A campaign that is cut short has each point once.
    assert [case.number for case in cases] == sorted(case.number for case in cases)


def test_a_verdict_over_several_runs_is_that_of_their_mean() -> None:
    def rows(rates: Sequence[float]) -> Results:
        return Results("emulated", [
            Row("rtt", {"rtt": rtt}, number, f"{rtt} {number}", Path(), {"goodput_bps": 8 * 1024 * part * emulated._theory(rtt)}, random=False)
            for rtt in (0.4, 1.0) for number, part in enumerate(rates, 1)
        ])  # fmt: skip

    target = next(one for one in emulated.STUDY.targets if one.id == "X-04")
    # 5 % below on the mean, though one run is 13 % below.
    judged = target.judge(rows([0.99, 0.97, 0.95, 0.97, 0.87]))
    assert (judged.verdict, judged.tolerance) == ("reproduced", "each 0 to 10 % below; 5 runs of each point")
    assert "-5.0 % of theory (means, ± 5.8 at most)" in judged.measured
    assert target.judge(rows([0.85] * 5)).verdict == "not"
    assert target.judge(rows([0.95])).measured.startswith("-5.0 % to -5.0 % of theory; ")


def test_a_claim_about_timeouts_is_one_about_every_run() -> None:
    def rows(timeouts: Sequence[int]) -> Results:
        metrics = [
            {"timeouts": expired, "link.path.reverse.queue_max_packets": 141, "goodput_bps": 8 * 1024 * 200}
            for expired in timeouts
        ]
        return Results("emulated", [
            Row("policy", {"policy": policy}, number, f"{policy} {number}", Path(), found, random=False)
            for policy in ("P1", "P3") for number, found in enumerate(metrics, 1)
        ])  # fmt: skip

    judge_of = {one.id: one.judge for one in emulated.STUDY.targets}
    assert judge_of["X-11"](rows([0, 0, 0])).verdict == "reproduced"
    one_of_three = judge_of["X-11"](rows([0, 1, 0]))
    assert (one_of_three.verdict, one_of_three.measured) == (
        "not",
        "an RTO in 1 of 3 runs, queue of at most 141 packets, 200 kB/s",
    )
    assert judge_of["X-08"](rows([1, 2, 1])).verdict == "reproduced"
    assert judge_of["X-08"](rows([1])).measured == "1 RTO, queue of at most 141 packets, 200 kB/s"
    assert judge_of["X-07"](rows([0, 0])).measured == "141 ± 0 packets"


def test_pings_and_pages_are_judged_by_every_run() -> None:
    def pings(worst: float) -> Results:
        found = [
            {"rtt_min_ms": 1090.0, "rtt_mean_ms": 1090.2, "rtt_max_ms": most, "emulation.lateness_p99_s": 0.0002}
            for most in (1090.5, worst)
        ]
        return Results("emulated", [
            Row("ping", {"bytes": 84}, number, f"ping {number}", Path(), one, random=False) for number, one in enumerate(found, 1)
        ])  # fmt: skip

    def loads(slowest: float) -> Results:
        seconds = {name: (8.0, slowest) if "VJ" in name else (13.0, 13.4) for name in pages.WAYS}
        return Results("emulated", [
            Row("pages", {"path": name, "client": "curl"}, number, f"{name} {number}", Path(), {"load_s": taken}, random=False)
            for name, times in seconds.items() for number, taken in enumerate(times, 1)
        ])  # fmt: skip

    judge_of = {one.id: one.judge for one in emulated.STUDY.targets}
    assert judge_of["X-01"](pings(1091)).measured == "1,090 ± 0 ms"
    assert judge_of["X-03"](pings(1091)).verdict == "reproduced"
    assert judge_of["X-03"](pings(1101)).verdict == "partly"
    assert judge_of["3.1 curl"](loads(8.4)).verdict == "reproduced"
    # Faster on the mean, and not in each run.
    assert judge_of["3.1 curl"](loads(13.1)).verdict == "not"
    assert "| large window, VJ, proxy | 8.2 ± 2.5 s | not run |" in pages.page_table(loads(8.4))


def test_a_congestion_control_that_both_kernels_lack_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulation, "available_congestion_controls", lambda: ["reno"])
    monkeypatch.setattr(second_kernel.shutil, "which", lambda _: None)
    missing = {case.parameters["congestion"]: case.missing() for case in emulated.two_flows("quick")}
    assert missing["reno"] is None
    assert missing["vegas"].startswith("this kernel has no congestion control 'vegas' alpha 1 beta 3 gamma 1, and")
    assert (
        "Debian's package user-mode-linux is not installed: scripts/install-packages --second-kernel"
        in missing["vegas"]
    )


def test_runs_that_were_not_made_are_in_the_document_with_the_reason(
    command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(RealCase, "missing", lambda _: "nothing can be run here")
    outcome = command("reproduce", "asymmetric", "--emulated", "--scale", "tiny", "--no-run", "--out", tmp_path)
    assert outcome.code == 0
    assert "not run: ping 84 (nothing can be run here)" in outcome.out
    text = (tmp_path / "tiny/asymmetric-emulated.md").read_text()
    assert "Not run: ping 84 (nothing can be run here); flood 40 (nothing can be run here); ping 84, run 2 (" in text


def test_a_kernel_with_other_parameters_does_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thesis's Vegas has alpha 1, beta 3, gamma 1; Linux's module 2, 4, 1, if it is not told otherwise."""
    *_, vegas = emulated.two_flows("quick")
    monkeypatch.setattr(emulation, "available_congestion_controls", lambda: ["reno", "vegas"])
    for module, foreign in (
        ({"alpha": "2", "beta": "4", "gamma": "1"}, {"vegas": {"alpha": 1, "beta": 3, "gamma": 1}}),
        ({"alpha": "1", "beta": "3", "gamma": "1"}, {}),
    ):
        monkeypatch.setattr(emulation, "_of_module", lambda _, parameter, module=module: module[parameter])
        assert vegas.foreign() == foreign


def _two_vegas(later: float, **settings: object) -> tuple[float, list[float]]:
    """Two Vegas flows of 13 and 14 MB, the second `later` seconds after the first, simulated: most packets in the serial queue, and when each is done."""
    built = network("two flows", duration=240, queue=200)
    for name, size, start in (("short", 13, 0.0), ("long", 14, later)):
        tcp = emulated.kernel_tcp(congestion="vegas") | settings
        app = {"kind": "bulk", "size": f"{size * MEGABYTE} B"}
        built = built.flow("server", "client", name=name, app=app, tcp=tcp, start=f"{round(start * 1000)} ms")
    summary = longhaul.run(built, tables=False).summary
    queue = summary["links"][1]["metrics"]["queue_max_packets"]
    return queue, [flow["metrics"]["completion_time_s"] for flow in summary["flows"]]


def test_two_vegas_flows_have_the_kernel_s_queue_with_the_kernel_s_slow_start() -> None:
    """X-13c, measured with Linux 6.1: 32 or 33 packets; one flow leaves slow start early: done after 67 to 69 and 141 to 149 s."""
    counting_segments = {"kind": "standard", "limit": 1000}
    queue, done = _two_vegas(0.0, slow_start=counting_segments)
    assert queue == pytest.approx(33, abs=3)
    assert min(done) == pytest.approx(67, rel=0.15)
    assert max(done) == pytest.approx(145, rel=0.15)


def test_the_queue_of_two_vegas_flows_depends_on_when_the_second_begins() -> None:
    """X-13c as it is simulated: both windows reach the receiver's (68.7 packets in the queue), or the thesis's 15 to 30 packets."""
    assert _two_vegas(0.0)[0] == pytest.approx(68.7, abs=3)
    assert 15 <= _two_vegas(4.0)[0] <= 30


def test_another_study_is_refused(command, tmp_path: Path) -> None:
    outcome = command("reproduce", "split-pep", "--emulated", "--out", tmp_path)
    assert outcome.code != 0
    assert "asymmetric has" in outcome.err


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed (sudo scripts/install-packages)")
def test_the_page_has_all_its_objects() -> None:
    folder = Path(pages.__file__).parent
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    origin = subprocess.Popen([sys.executable, str(folder / "page_origin.py"), str(port), "5", "3000"])
    try:
        call = [sys.executable, str(folder / "page_client.py"), "curl", f"http://127.0.0.1:{port}/page.html", "direct"]
        done = subprocess.run(call, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    finally:
        origin.kill()
        origin.wait()
    objects, seconds = done.stdout.split()
    assert objects == "5"
    assert float(seconds) > 0


def test_a_single_run_of_what_draws_nothing_has_a_verdict(tmp_path: Path) -> None:
    """Real packets have no seeds: what is not drawn at random is not run five times."""
    bench = Bench(tmp_path, Path("unused"))
    cases = [case for case in emulated.cases("quick") if case.experiment == "ping"]
    measured = {"metrics": {"rtt_mean_ms": 1090.0}, "emulation": {"metrics": {}, "invalid": []}, "load": 0.1}
    for case in cases:
        bench.path(case).mkdir(parents=True)
        (bench.path(case) / "measured.json").write_text(json.dumps(measured))
    results = bench.results(cases, "emulated")
    assert [row.random for row in results["ping"].rows] == [False] * len(cases)
    first = tuple(target for target in emulated.STUDY.targets if target.id == "X-01")
    assert [item.verdict for item in judge(replace(emulated.STUDY, targets=first, claims=()), results)] == [
        "reproduced"
    ]


def test_a_verdict_states_on_how_many_runs_it_rests(tmp_path: Path) -> None:
    """Each point has five, since single ones came out otherwise."""
    bench = Bench(tmp_path, Path("unused"))
    cases = [case for case in emulated.cases("quick") if case.experiment == "two"]
    for case in cases:
        bench.path(case).mkdir(parents=True)
        measured = {
            "metrics": {"link.path.reverse.queue_max_packets": 34.0},
            "emulation": {"metrics": {}, "invalid": []},
        }
        (bench.path(case) / "measured.json").write_text(json.dumps(measured))
    wanted = {name: next(one for one in emulated.STUDY.targets if one.id == name) for name in ("X-13a", "X-13c")}
    results = bench.results(cases, "emulated")
    vegas, standard = wanted["X-13c"].judge(results), wanted["X-13a"].judge(results)
    assert (vegas.verdict, standard.verdict) == ("partly", "not")
    assert vegas.tolerance == "15 to 30 packets; 5 runs of each point"
    assert standard.tolerance == "66 to 88 packets; 5 runs of each point"
    assert standard.measured == "34 ± 0 packets"
    assert wanted["X-13c"].judge(bench.results(cases, "simulated")).tolerance == "15 to 30 packets"


def _emulator() -> Path:
    # The tests in Rust have built one.
    tested = Path(__file__).parent.parent / "target/debug/longhaul-emu"
    try:
        emulation.check_permitted()
        return tested if tested.exists() else find_emulator()
    except LonghaulError as error:
        pytest.skip(str(error))


@pytest.mark.slow("sends real packets")
@pytest.mark.alone
def test_pings_take_what_the_thesis_says(tmp_path: Path) -> None:
    """Section 4.4: 1000 ms and 89 ms for 84 bytes; a step of 43 ms for each of 40 bytes. However busy the machine is, never less."""
    emulator = _emulator()
    if shutil.which("ping") is None or not os.path.exists("/dev/net/tun"):
        pytest.skip("ping or /dev/net/tun is missing (sudo scripts/install-packages)")
    cases = emulated.cases("tiny")
    bench = Bench(tmp_path, emulator, jobs=2)
    assert bench.run(cases, lambda _: None) == {}
    results = bench.results(cases, "emulated")
    assert results["ping"].where()[0]["rtt_min_ms"] >= 1089.5
    flood = results["flood"].where()[0]
    assert flood["answers"] == emulated.FLOOD
    # Answers may be late each by itself; the last one comes after all transmissions of the line: 40 x 43.75 ms and 1 s.
    assert flood[f"rtt_{emulated.FLOOD - 1}_ms"] >= 2740
    verdicts = {item.target.id: item.verdict for item in judge(emulated.STUDY, results)}
    assert verdicts["X-13a"] == "not run"
    assert {verdicts[name] for name in ("X-01", "X-02", "X-03")} <= {"reproduced", "partly", "not"}
    before = (bench.path(cases[0]) / "measured.json").stat().st_mtime_ns
    assert bench.run(cases, lambda _: None) == {}
    assert (bench.path(cases[0]) / "measured.json").stat().st_mtime_ns == before, "what is done is not done again"


def test_what_cannot_be_run_says_why(tmp_path: Path) -> None:
    case = RealCase("ping", {}, emulated.cases("tiny")[0].scenario, None)
    failing = tmp_path / "emulator"
    failing.write_text("#!/bin/sh\necho 'error: no such thing' >&2\nexit 2\n")
    failing.chmod(0o755)
    failures = Bench(tmp_path / "runs", failing).run([case], lambda _: None)
    assert failures == {case.identity: "error: no such thing"}


@pytest.mark.slow("boots a second kernel")
@pytest.mark.alone
def test_flows_that_this_kernel_cannot_play_are_played_in_the_second_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    emulator = _emulator()
    lacks = second_kernel.missing(["vegas"])
    if lacks:
        pytest.skip("; ".join(lacks))
    # Whatever this machine has.
    monkeypatch.setattr(emulation, "available_congestion_controls", lambda: ["reno"])
    built = Scenario("short", duration="20 s").link("path", "server", "client", rate="4 Mbit/s", delay="20 ms")
    tcp = emulated.kernel_tcp(congestion="vegas")
    case = RealCase(
        "two", {"congestion": "vegas"}, built.flow("server", "client", app={"kind": "bulk", "size": "1 MB"}, tcp=tcp)
    )
    # 1 MB and the headers of its packets take 2.05 s at 4 Mbit/s; lateness is not what is looked at.
    bench = Bench(tmp_path, emulator, max_lateness="1 s")
    assert bench.run([case], lambda _: None) == {}
    row = bench.results([case], "emulated")["two"].where()[0]
    assert row.result().summary["flows"][0]["metrics"]["delivered_bytes"] == 1_000_000
    assert 2.05 <= row.result().summary["flows"][0]["metrics"]["completion_time_s"] < 10
    # The kernel is named as the emulator saw it.
    kernels = {path.name for path in second_kernel.MODULES.iterdir()}
    assert bench.measured(case)["emulation"]["kernel"] in kernels
    assert not list(tmp_path.glob(".*")), "nothing half done is left"
