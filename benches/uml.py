"""The second kernel as `validate_second_kernel.py` has it: with two devices at which `longhaul-emu bridge` makes the path.

It lives in a network namespace without a name, where its devices eth0 and eth1 are the ends of pairs of virtual ones: all of
that is gone as soon as its processes are.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from longhaul_studies import second_kernel
from longhaul_studies.second_kernel import Guest, KernelError

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EMULATOR = ROOT / "target/release/longhaul-emu"
#: To carry packets and to shape them; congestion controls come to that.
NETWORK = ("veth", "sch_netem")
#: The ends of two pairs of virtual devices: its own, and those of the emulator.
INNER, OUTER = ("uml0", "uml1"), ("path0", "path1")
#: For what waits for it, in bytes; linux/if_ether.h: every protocol; asm-generic/socket.h.
BUFFER, EVERYTHING, SO_RCVBUFFORCE = 64 << 20, 0x0003, 33


def missing(emulator: Path = EMULATOR) -> list[str]:
    """What this machine lacks for it, as sentences."""
    lacks = second_kernel.missing()
    for tool in ("tc", "unshare", "nsenter", "setpriv"):
        if shutil.which(tool) is None:
            lacks.append(f"the command {tool} is not there (packages iproute2, util-linux)")
    if not emulator.is_file():
        lacks.append(f"{emulator} is not there: make emu")
    return lacks


class Hosts(Guest):
    """A second kernel with the hosts of `uml_jobs.py`."""

    def __init__(self, emulator: Path = EMULATOR, controls: tuple[str, ...] = ()) -> None:
        super().__init__(
            [*NETWORK, *(f"tcp_{name}" for name in controls)],
            jobs=HERE / "uml_jobs.py",
            launcher=("unshare", "--net", sys.executable, str(HERE / "uml.py")),
        )
        self.emulator = emulator

    def __enter__(self) -> Hosts:
        super().__enter__()
        try:
            self.do("hosts")
        except BaseException:
            self.end()
            raise
        return self

    def bridge(self, scenario: str) -> Bridge:
        """The path of a scenario between its two devices; the first is the node where the first flow begins."""
        return Bridge(self, scenario)


class Bridge:
    """`longhaul-emu bridge` at the devices of a kernel. A context manager; `stats` is there afterwards."""

    def __init__(self, guest: Hosts, scenario: str) -> None:
        self.guest = guest
        self.scenario = scenario
        self.stats: dict[str, Any] = {}

    def __enter__(self) -> Bridge:
        file, self.file = self.guest.folder / "scenario.toml", self.guest.folder / "stats.json"
        file.write_text(self.scenario)
        self.file.unlink(missing_ok=True)
        # It does not outlive this process.
        command = ["setpriv", "--pdeathsig", "TERM", "nsenter", f"--net=/proc/{self.guest.process.pid}/ns/net"]
        command += [str(self.guest.emulator), "bridge", str(file), *OUTER, "--stats", str(self.file)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        # It is there when both of its sockets are, beside those of the kernel.
        until = time.monotonic() + 10
        while time.monotonic() < until and self.process.poll() is None:
            if self._sockets() == len(OUTER) + len(INNER):
                return self
            time.sleep(0.01)
        self.process.kill()
        raise KernelError(f"longhaul-emu bridge does not start: {self.process.communicate()[1].strip()}")

    def _sockets(self) -> int:
        """Its packet sockets: those of its namespace, once it is in that."""
        process = Path(f"/proc/{self.process.pid}")
        try:
            if process.joinpath("ns/net").readlink() != Path(f"/proc/{self.guest.process.pid}/ns/net").readlink():
                return 0
            # A line of names comes first.
            return len(process.joinpath("net/packet").read_text().splitlines()) - 1
        except OSError:
            return 0  # it is about to end

    def __exit__(self, *_: object) -> None:
        self.process.send_signal(signal.SIGINT)
        try:
            said = self.process.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            said = self.process.communicate()[1]
        if self.file.exists():
            self.stats = json.loads(self.file.read_text())
        else:
            self.stats = {"error": said.strip()}


def become(kernel: list[str]) -> None:
    """In a namespace of its own: makes the devices, and becomes the second kernel.

    It has packet sockets at them: a TAP tells it that there is a packet a moment before there is one, and it does not look
    again; and its drivers for TAPs and raw sockets leave checksums to the device, where the emulator finds none.
    """
    devices = []
    for number, (inner, outer) in enumerate(zip(INNER, OUTER, strict=True)):
        for command in (
            f"ip link add {inner} type veth peer name {outer}",
            *(f"ip link set {device} addrgenmode none txqueuelen 20000 up" for device in (inner, outer)),
        ):
            subprocess.run(command.split(), check=True)
        packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(EVERYTHING))
        packets.bind((inner, EVERYTHING))
        packets.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
        packets.set_inheritable(True)
        devices.append(f"vec{number}:transport=fd,fd={packets.detach()},depth=128")
    # What is for its first process stands at the end.
    os.execvp(kernel[0], [kernel[0], *devices, *kernel[1:]])


if __name__ == "__main__":
    become(sys.argv[1:])
