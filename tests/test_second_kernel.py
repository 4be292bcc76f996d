"""A ping of User-Mode Linux through the emulator. Wants root and Debian's package user-mode-linux: scripts/install-packages --second-kernel."""

from __future__ import annotations

import shutil
import statistics
import threading
from pathlib import Path

import pytest
import uml
from longhaul_studies import second_kernel

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


@pytest.mark.slow("boots a second kernel")
@pytest.mark.alone
@pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING))
def test_a_second_kernel_s_ping_takes_the_path_s_time() -> None:
    with uml.Hosts(EMULATOR) as guest:
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


@pytest.mark.slow("boots a second kernel")
@pytest.mark.alone
@pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING))
def test_a_command_of_the_second_kernel_has_its_modules_and_one_place_to_write(tmp_path: Path) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    place.mkdir()
    vegas = second_kernel.with_parameters("tcp_vegas", {"alpha": 1, "beta": 3})
    script = f"cat /sys/module/tcp_vegas/parameters/alpha /sys/module/tcp_vegas/parameters/beta; uname -r; echo done > {place}/file; echo > {other}; exit 7"
    with second_kernel.Guest([vegas]) as guest:
        done = guest.run(["sh", "-c", script], 20, writable=place)
        # What is written to is the machine's only while a command needs it.
        assert guest.run(["touch", f"{place}/late"], 20).returncode != 0
        group = guest.process.pid
    assert (done.returncode, done.stdout.split()) == (7, ["1", "3", guest.release])
    assert "Read-only file system" in done.stderr
    assert [file.name for file in tmp_path.rglob("*")] == ["place", "file"]
    assert (place / "file").read_text() == "done\n"
    assert not Path(f"/proc/{group}").exists()


@pytest.mark.slow("boots a second kernel")
@pytest.mark.alone
@pytest.mark.skipif(bool(MISSING), reason="; ".join(MISSING))
def test_a_second_kernel_can_be_ended_while_it_works() -> None:
    with second_kernel.Guest() as guest:
        threading.Timer(0.5, guest.end).start()
        with pytest.raises(second_kernel.KernelError, match="has ended"):
            guest.run(["sleep", "60"], 90)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(shutil, "which", lambda _: None)
    lacks = uml.missing(Path("/nowhere/longhaul-emu"))
    assert any("user-mode-linux" in text for text in lacks)
    assert any("make emu" in text for text in lacks)
