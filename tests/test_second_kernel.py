"""A ping of User-Mode Linux through the emulator. Wants root and Debian's package user-mode-linux: scripts/install-packages --second-kernel."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

import pytest
import uml

BUILT = [uml.ROOT / "target" / profile / "longhaul-emu" for profile in ("release", "quick", "debug")]
EMULATOR = next((path for path in BUILT if path.is_file()), uml.EMULATOR)
MISSING = uml.missing(EMULATOR)

PATH = """
[run]
duration = "60 s"

[[link]]
name = "path"
ends = ["server", "client"]
delay = "100 ms"
rate = "1 Mbit/s"

[[flow]]
from = "server"
to = "client"
"""


@pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING))
def test_a_second_kernel_s_ping_takes_the_path_s_time() -> None:
    with uml.Guest(EMULATOR) as guest:
        group, folder = guest.process.pid, guest.folder
        with guest.bridge(PATH) as bridge:
            found = guest.do("ping", way="bridge", count=20, interval=0.02, wait=2)
    assert len(found["rtts_ms"]) == 20
    # 200 ms of delay, and 84 bytes at 1 Mbit/s each way: 201.34 ms.
    assert 201.34 <= statistics.median(found["rtts_ms"]) < 206
    assert (bridge.stats["moved_packets"], bridge.stats["dropped_packets"]) == (40, 0)
    # Nothing is left.
    assert not Path(f"/proc/{group}").exists()
    assert not folder.exists()


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(shutil, "which", lambda _: None)
    lacks = uml.missing(Path("/nowhere/longhaul-emu"))
    assert any("user-mode-linux" in text for text in lacks)
    assert any("make emu" in text for text in lacks)
