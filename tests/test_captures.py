"""Captures of the simulator as other people's programs read them: what is written is what they list."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import longhaul
import pytest

TWO_LINKS = """\
[run]
duration = "2 s"
capture = ["up", "down"]
[[link]]
name = "up"
ends = ["a", "r"]
rate = "10 Mbit/s"
delay = "20 ms"
[[link]]
name = "down"
ends = ["r", "b"]
rate = "5 Mbit/s"
delay = "20 ms"
[[flow]]
name = "reliable"
from = "a"
to = "b"
app = { kind = "bulk", size = "150 kB" }
[[flow]]
name = "datagrams"
from = "a"
to = "b"
transport = "quic"
app = { kind = "bulk", size = "50 kB" }
"""


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """TCP and UDP on two links, both directions of each: four points."""
    out = tmp_path_factory.mktemp("captures") / "result"
    longhaul.run(longhaul.Scenario.from_toml(TWO_LINKS), out=out)
    return out / "packets.pcapng"


def lines(program: str, *arguments: str | Path) -> list[str]:
    """What a program prints; the test is skipped without it, and fails if the program does."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed (scripts/install-packages)")
    done = subprocess.run(
        [program, *arguments], capture_output=True, text=True, check=False, env={**os.environ, "TZ": "UTC"}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def captured(capture: Path) -> int:
    """Packets in the file: its enhanced packet blocks (draft-ietf-opsawg-pcapng, section 4.3)."""
    content, at, packets = capture.read_bytes(), 0, 0
    while at < len(content):
        packets += content[at] == 6
        at += int.from_bytes(content[at + 4 : at + 8], "little")
    return packets


def test_tcpdump_lists_all_packets_of_all_links(capture: Path) -> None:
    """libpcap reads a file of one link type only, and compares its own number of it."""
    listed = lines("tcpdump", "-nttr", capture)
    assert len(listed) == captured(capture) > 400
    assert any("UDP" in line for line in listed)
    assert any("Flags [S]" in line for line in listed)
    # Second 0 of the run is second 0 of 1970.
    assert listed[0].startswith("0.0000")


def test_tshark_knows_the_points_and_finds_nothing_malformed(capture: Path) -> None:
    """Each direction of a link is an interface."""
    points = lines("tshark", "-r", str(capture), "-T", "fields", "-e", "frame.interface_name")
    assert len(points) == captured(capture)
    assert set(points) == {"up.forward", "up.reverse", "down.forward", "down.reverse"}
    assert lines("tshark", "-r", str(capture), "-Y", "_ws.malformed") == []


def test_capinfos_shows_when_times_begin(capture: Path) -> None:
    """The moment is written in the file."""
    shown = "\n".join(lines("capinfos", capture))
    assert "Simulated time: second 0 of the run is 1970-01-01 00:00:00 UTC." in shown
    assert "1970-01-01 00:00:00" in shown


def test_scapy_knows_every_packet(capture: Path) -> None:
    """Layers and times, also of the interfaces behind the first."""
    scapy: Any = pytest.importorskip("scapy.all", reason="scapy is not installed (make install, requirements-dev.lock)")
    packets = scapy.rdpcap(str(capture))
    assert len(packets) == captured(capture)
    assert all(scapy.TCP in packet or scapy.UDP in packet for packet in packets)
    assert 0 <= float(packets[0].time) < float(packets[-1].time) < 2
