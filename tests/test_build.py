"""Typed functions for tables of a scenario: up to date, accepted by the simulator, and checked by mypy."""

import subprocess
import sys
from pathlib import Path

import longhaul
import pytest
from longhaul import Scenario, ScenarioError, build
from longhaul.build import app, box, congestion, loss, queue, slow_start, tcp

ROOT = Path(__file__).resolve().parent.parent


def test_they_are_those_of_the_schema():
    """Renewed with `.venv/bin/python scripts/make-settings`."""
    made = subprocess.run([sys.executable, ROOT / "scripts/make-settings", "--check"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr


def built() -> Scenario:
    return (
        Scenario("built", **build.run(duration="5 s", seed=3))
        .link(
            "satellite", "hub", "remote", rate="10 Mbit/s", delay="100 ms", queue=queue.red(limit="200 packets"),
            forward=build.direction(loss=loss.random(probability="0.1 %")),
        )
        .link("lan", "server", "hub", rate="100 Mbit/s", delay="1 ms")
        .link("home", "remote", "client", rate="100 Mbit/s", delay="1 ms")
        .flow(
            "server", "client", name="download", app=app.bulk(size="1 MB"),
            tcp=tcp(congestion=congestion.cubic(beta=0.8), slow_start=slow_start.hystart_pp(), rto=build.rto(min="300 ms")),
        )
        .flow("client", "server", name="web", app=app.web(think="1 s", objects=3, object="20 kB"))
        .middlebox(box.split(name="pep", at="hub", peer="remote", buffer="2 MB"))
    )  # fmt: skip


def test_the_simulator_takes_what_they_make():
    result = longhaul.run(built(), tables=False)
    assert result.metrics["completed_flows"] == 1
    assert "beta = 0.8" in built().resolve()
    with pytest.raises(ScenarioError, match="give its kind too"):
        built().middlebox("hub")


def test_every_kind_can_be_made_with_what_it_needs():
    for module in (app, queue, loss, congestion, slow_start, box):
        for name, function in vars(module).items():
            if callable(function) and getattr(function, "__module__", "") == module.__name__ and name != "Section":
                needed = [key for key, default in (function.__kwdefaults__ or {}).items() if default is not None]
                assert needed == []
    assert congestion.sttp(peer_window=0) == {"kind": "sttp", "peer_window": 0}
    assert slow_start.hystart_pp()["kind"] == "hystart++"


def test_dictionaries_come_back_as_they_were():
    scenario = built()
    again = Scenario.from_dict(scenario.to_dict())
    assert again.to_dict() == scenario.to_dict()
    assert again.resolve() == scenario.resolve()
    copied = scenario.to_dict()
    copied["run"]["duration"] = "1 h"
    assert scenario.to_dict()["run"]["duration"] == "5 s"


def test_mypy_finds_wrong_settings(tmp_path):
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "from longhaul.build import app, queue, tcp\n"
        'right = tcp(variant="sack", ecn=True)\n'
        'tcp(ecn="yes")\n'
        'tcp(variant="fast")\n'
        'queue.fq_codel(lenght="100 packets")\n'
        'app.cbr(message="1 kB")\n'
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "--follow-imports", "silent", wrong],
        capture_output=True, text=True, cwd=ROOT / "python", timeout=300,
    )  # fmt: skip
    lines = [line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == ["3", "4", "5", "6"], done.stdout + done.stderr
