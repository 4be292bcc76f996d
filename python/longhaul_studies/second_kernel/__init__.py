"""A second kernel: Debian's User-Mode Linux, as a process of this machine, and commands that run in it.

It has what this machine's kernel may lack, congestion controls above all. Its root is the machine's own file system, which it
cannot write to; its first process is `guest.py`, with which `Guest` speaks over the console. It gets real-time priority, as the
emulator does: what a kernel does late, it would else do late for want of this machine's time.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longhaul.errors import LonghaulError

PROGRAM = "linux.uml"
MODULES = Path("/usr/lib/uml/modules")
#: Memory of the machine, in MB, and how long it may take to start, in s: it takes 2.
MEMORY, START = 192, 60
#: Of util-linux: the scheduling class, and priority 1 in it.
REAL_TIME = ("chrt", "--rr", "1")
#: The environment variable that names the file with more jobs.
JOBS = "LONGHAUL_JOBS"
_FIRST_PROCESS = Path(__file__).with_name("guest.py")


class KernelError(LonghaulError):
    """The second kernel, or what runs in it, does not do what it should."""


def missing(controls: Sequence[str] = ()) -> list[str]:
    """What this machine lacks for it, as sentences; with congestion controls that it is to have."""
    if not sys.platform.startswith("linux"):
        return ["it needs Linux"]
    lacks = []
    if shutil.which(PROGRAM) is None or not MODULES.is_dir():
        lacks.append("Debian's package user-mode-linux is not installed: scripts/install-packages --second-kernel")
    else:
        for name in controls:
            if not any(MODULES.glob(f"*/kernel/net/ipv4/tcp_{name}.ko")):
                lacks.append(f"User-Mode Linux has no congestion control {name!r}")
    for tool in ("ip", REAL_TIME[0]):
        if shutil.which(tool) is None:
            lacks.append(f"the command {tool} is not there (packages iproute2, util-linux)")
    if os.geteuid() != 0:
        lacks.append("it needs root")
    return lacks


class Guest:
    """A running second kernel. A context manager: afterwards nothing of it is left.

    `modules` are loaded, each with its parameters behind it as in `tcp_vegas alpha=1`. `jobs` is a file of Python whose `JOBS` are jobs beside those
    of `guest.py`. `launcher` is a command that becomes the kernel, whose command line it is given.
    """

    def __init__(self, modules: Sequence[str] = (), *, jobs: Path | None = None, launcher: Sequence[str] = ()) -> None:
        self.modules = list(modules)
        self.jobs = jobs
        self.launcher = list(launcher)
        self.folder = Path(tempfile.mkdtemp(prefix="longhaul-uml-"))
        self.release = ""
        self._unread = b""
        self._over = False

    def __enter__(self) -> Guest:
        # Parameters that the kernel does not use are in the environment of its first process.
        environment = [f"{JOBS}={self.jobs}"] if self.jobs else []
        kernel = [
            PROGRAM, f"mem={MEMORY}M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", "quiet",
            f"uml_dir={self.folder}", "umid=kernel", "con=null", "con0=fd:0,fd:1", "ssl=null",
            *environment, f"init={sys.executable}", "--", "-u", str(_FIRST_PROCESS),
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [*REAL_TIME, *self.launcher, *kernel], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )  # fmt: skip
        try:
            self._answer(START)
            self.release = self.do("start", START, modules=self.modules)["kernel"]
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Ends it, whatever it does."""
        if self._over:
            return
        self._over = True
        assert self.process.stdin is not None
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self.process.stdin.close()
            self.process.wait(2)
        with contextlib.suppress(ProcessLookupError):
            # Its processes are one group.
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(
        self, command: Sequence[str], seconds: float, *, writable: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command within so many seconds. It can write to `writable`, a directory of this machine, and else only to what is gone with the kernel."""
        where = None if writable is None else str(writable.resolve())
        done = self.do("run", seconds, command=list(command), writable=where)
        return subprocess.CompletedProcess(list(command), done["status"], done["out"], done["err"])

    def do(self, what: str, seconds: float = 60, **settings: Any) -> dict[str, Any]:
        """Has it do a job, see `guest.py`, within so many seconds.

        Raises `KernelError` if it reports a failure, ends, or takes longer.
        """
        assert self.process.stdin is not None
        # If it has ended, its output has more than that.
        with contextlib.suppress(OSError):
            self.process.stdin.write((json.dumps({"do": what} | settings) + "\n").encode())
            self.process.stdin.flush()
        return self._answer(seconds)

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self.process.stdout is not None
        until, said = time.monotonic() + seconds, []
        while True:
            line, newline, rest = self._unread.partition(b"\n")
            if newline:
                self._unread = rest
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
            self._unread += piece


def with_parameters(module: str, parameters: Mapping[str, object]) -> str:
    """A module in the form that `Guest` takes.

    >>> with_parameters("tcp_vegas", {"alpha": 1, "beta": 3})
    'tcp_vegas alpha=1 beta=3'
    """
    return " ".join([module, *(f"{name}={value}" for name, value in parameters.items())])
