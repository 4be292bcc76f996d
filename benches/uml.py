"""A second kernel: Debian's User-Mode Linux, as a process of this machine. Its first process is `uml_guest.py`.

It lives in a network namespace without a name, with two TAPs that it knows as eth0 and eth1 and that `longhaul-emu bridge` can
join: all of that is gone as soon as its processes are. It gets real-time priority, as the emulator does: what a kernel does
late, it would else do late for want of this machine's time.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
EMULATOR = ROOT / "target/release/longhaul-emu"
PROGRAM = "linux.uml"
MODULES = Path("/usr/lib/uml/modules")
#: To carry packets and to shape them; congestion controls come to that.
NETWORK = ("veth", "sch_netem")
#: Memory of the machine, in MB, and how long it may take to start, in s: it takes 2.
MEMORY, START = 192, 60
#: The ends of two pairs of virtual devices: its own, and those of the emulator.
INNER, OUTER = ("uml0", "uml1"), ("path0", "path1")
#: For what waits for it, in bytes; linux/if_ether.h: every protocol; asm-generic/socket.h.
BUFFER, EVERYTHING, SO_RCVBUFFORCE = 64 << 20, 0x0003, 33


class KernelError(Exception):
    """The second kernel, or the path to it, does not do what it should."""


def missing(emulator: Path = EMULATOR) -> list[str]:
    """What this machine lacks for it, as sentences."""
    lacks = []
    if shutil.which(PROGRAM) is None or not MODULES.is_dir():
        lacks.append("Debian's package user-mode-linux is not installed: scripts/install-packages --second-kernel")
    for tool in ("ip", "tc", "unshare", "nsenter", "setpriv"):
        if shutil.which(tool) is None:
            lacks.append(f"the command {tool} is not there (packages iproute2, util-linux)")
    if not emulator.is_file():
        lacks.append(f"{emulator} is not there: make emu")
    if os.geteuid() != 0:
        lacks.append("it wants root")
    return lacks


class Guest:
    """A running second kernel. A context manager: afterwards nothing of it is left."""

    def __init__(self, emulator: Path = EMULATOR, controls: tuple[str, ...] = ()) -> None:
        self.emulator = emulator
        self.controls = controls
        self.folder = Path(tempfile.mkdtemp(prefix="longhaul-uml-"))
        self.unread = b""
        self.over = False

    def __enter__(self) -> Guest:
        kernel = [
            PROGRAM, f"mem={MEMORY}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
            f"uml_dir={self.folder}", "umid=kernel", "con=null", "con0=fd:0,fd:1", "ssl=null",
            f"init={HERE / 'uml_guest.py'}",
        ]  # fmt: skip
        command = ["unshare", "--net", sys.executable, str(HERE / "uml.py"), *kernel]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            self._answer(START)
            modules = [*NETWORK, *(f"tcp_{name}" for name in self.controls)]
            self.release = self.do("start", START, modules=modules)["kernel"]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.over:
            return
        self.over = True
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.process.stdin.close()
            self.process.wait(2)
        with contextlib.suppress(ProcessLookupError):
            # Its processes are one group.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def do(self, what: str, seconds: float = 60, **settings: Any) -> dict[str, Any]:
        """Has it do a job, see `uml_guest.py`, within so many seconds.

        Raises `KernelError` if it says that it cannot, if it dies, or if it takes longer.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write((json.dumps({"do": what} | settings) + "\n").encode())
            self.process.stdin.flush()
        except OSError:
            pass  # it has died: what it said is more than that
        return self._answer(seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        until, said = time.monotonic() + seconds, []
        while True:
            line, newline, rest = self.unread.partition(b"\n")
            if newline:
                self.unread = rest
                if line.startswith(b"@@"):
                    answer = json.loads(line[2:])
                    if "error" in answer:
                        raise KernelError(f"the second kernel: {answer['error']}")
                    return dict(answer)
                said.append(line.decode(errors="replace").strip())
                continue
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, until - time.monotonic()))
            piece = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not piece:
                why = "has ended" if ready else f"has not answered for {seconds:.0f} s"
                panic = [text for text in said if "panic" in text or "error" in text.lower()]
                if any("put_fp_registers" in text for text in said):
                    why += " (it cannot restore the registers of processors with AMX)"
                raise KernelError(f"{PROGRAM} {why}: {'; '.join(panic or said[-3:])}")
            self.unread += piece

    def bridge(self, scenario: str) -> Bridge:
        """The path of a scenario between its two devices; the first is the node where the first flow begins."""
        return Bridge(self, scenario)


class Bridge:
    """`longhaul-emu bridge` at the devices of a guest. A context manager; `stats` is there afterwards."""

    def __init__(self, guest: Guest, scenario: str) -> None:
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
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    os.execvp(kernel[0], [*kernel, *devices])


if __name__ == "__main__":
    become(sys.argv[1:])
