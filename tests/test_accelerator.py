"""`longhaul pep-config`: what it writes is the scenario's link, and the accelerator accepts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from longhaul import cli

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "satellite-pep.toml"


def _program() -> str | None:
    built = [ROOT / "target" / profile / "longhaul-pep" for profile in ("release", "quick", "debug")]
    return next((str(path) for path in built if path.exists()), shutil.which("longhaul-pep"))


def _read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    terminal, hub = (tomllib.loads((folder / f"{node}.toml").read_text()) for node in ("terminal", "hub"))
    return terminal, hub


def test_the_link_of_the_proxy_becomes_both_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["pep-config", str(EXAMPLE), "--out", str(tmp_path), "--hub", "192.0.2.1:7000"]) == 0
    assert "terminal terminal1, hub hub1" in capsys.readouterr().out
    terminal, hub = _read(tmp_path)
    assert terminal["mode"] == "terminal"
    assert hub["mode"] == "hub"
    assert terminal["hop"]["send_rate"] == "4985000 bit/s", "the rate up, from terminal to hub"
    assert hub["hop"]["send_rate"] == "49850000 bit/s"
    assert terminal["hop"]["initial_rtt"] == hub["hop"]["initial_rtt"] == "520 ms"
    assert terminal["hop"]["receive_rate"] == "49850000 bit/s", "buffers follow the faster direction"
    assert terminal["hop"]["hub"] == "192.0.2.1:7000"
    assert hub["hop"]["listen"] == "0.0.0.0:7000"
    assert "FILL IN" in (tmp_path / "hub.toml").read_text()


def test_the_hop_of_a_scenario_gives_its_settings(tmp_path: Path) -> None:
    scenario = ROOT / "examples" / "accelerated-geo.toml"
    long = '{ transport = "hop", share = "fair", coding = "off", reverse_rate = "8 Mbit/s", credit = "20 MB" }'
    options = ["--set", f"middlebox.accelerator.long={long}"]
    assert cli.run(["pep-config", str(scenario), "--out", str(tmp_path), *options]) == 0
    terminal, hub = _read(tmp_path)
    for node in (terminal, hub):
        assert (node["hop"]["shared"], node["hop"]["coding"], node["hop"]["credit"]) == (True, False, "20 MB")
        assert (node["hop"]["idle_timeout"], node["hop"]["mtu"]) == ("300 s", 1472)
    assert terminal["hop"]["send_rate"] == hub["hop"]["receive_rate"] == "8000000 bit/s"
    assert hub["hop"]["send_rate"] == "49850000 bit/s"


def test_settings_a_link_and_an_end_can_be_chosen(tmp_path: Path) -> None:
    options = ["--link", "satellite-plain", "--terminal", "hub2", "--set", 'link.satellite-plain.delay="100 ms"']
    assert cli.run(["pep-config", str(EXAMPLE), "--out", str(tmp_path), *options]) == 0
    terminal, hub = _read(tmp_path)
    assert terminal["hop"]["send_rate"] == "49850000 bit/s", "the clients are at the other end"
    assert hub["hop"]["initial_rtt"] == "200 ms"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--link", "nowhere"], "there is no link nowhere; there are internet-pep"),
        (["--terminal", "server1"], "the hop is between hub1 and terminal1"),
        (["--hub", "192.0.2.1"], "write an address and a port"),
    ],
)
def test_what_is_wrong_is_named(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["pep-config", str(EXAMPLE), "--out", str(tmp_path), *options]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_files_are_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["pep-config", str(EXAMPLE), "--out", str(tmp_path)]
    assert cli.run(arguments) == 0
    assert cli.run(arguments) == 2
    assert "--force writes over it" in " ".join(capsys.readouterr().err.split())
    assert cli.run([*arguments, "--force"]) == 0


@pytest.mark.skipif(_program() is None, reason="longhaul-pep is not built (cargo build -p longhaul-pep)")
def test_the_accelerator_accepts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = Path(str(_program()))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    fast = ["--set", 'link.satellite-pep.forward.rate="500 Mbit/s"']
    assert cli.run(["pep-config", str(EXAMPLE), "--out", str(tmp_path), "--keys", *fast]) == 0
    for node in ("terminal", "hub"):
        command = [str(program), "check", "--config", str(tmp_path / f"{node}.toml")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    terminal, hub = _read(tmp_path)
    shown = subprocess.run(
        [str(program), "keygen", "--show", str(tmp_path / "hub.key")], capture_output=True, text=True, check=True
    )
    assert terminal["hop"]["hub_key"] == shown.stdout.strip()
    assert hub["terminal"][0]["key"] != terminal["hop"]["hub_key"]
