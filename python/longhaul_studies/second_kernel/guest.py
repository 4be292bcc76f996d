"""What User-Mode Linux runs as its first process, over the machine's own file system: the other half of `Guest`.

Reads jobs from the console, one JSON object a line, and answers each with a line that begins with `@@`. The file that the
environment's LONGHAUL_JOBS names has more of them than this one. When the console is closed it is over, and the machine halts. Python's standard library only;
never run it outside.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import subprocess
import sys
import termios
from collections.abc import Callable
from typing import Any

LIBC = ctypes.CDLL(None, use_errno=True)
#: x86-64's number of the system call.
FINIT_MODULE = 313
POWER_OFF = 0x4321FEDC
EEXIST = 17


def call(command: str) -> None:
    """Runs a command with its arguments."""
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise OSError(f"{command}: {done.stderr.strip()}")


def load(modules: list[str]) -> None:
    """Loads modules, each with its parameters behind it, and before them those that they depend on."""
    folder = f"/usr/lib/uml/modules/{os.uname().release}"
    with open(f"{folder}/modules.dep") as file:
        wants = [line.replace(":", "").split() for line in file]
    paths = {files[0].rsplit("/", 1)[-1].removesuffix(".ko"): files for files in wants}
    for module in modules:
        name, _, parameters = module.partition(" ")
        for path in reversed(paths[name]):
            given = parameters if path == paths[name][0] else ""
            file_descriptor = os.open(f"{folder}/{path}", os.O_RDONLY)
            failed = LIBC.syscall(FINIT_MODULE, file_descriptor, given.encode(), 0) != 0
            os.close(file_descriptor)
            if failed and ctypes.get_errno() != EEXIST:
                raise OSError(f"{path}: {os.strerror(ctypes.get_errno())}")


def first_in_line(thread: int) -> None:
    """A thread goes before all ordinary ones."""
    os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(1))


def interrupts_first() -> None:
    """What is left over of an interrupt goes before programs: packets are not late because of those that read them."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with open(f"/proc/{entry}/comm") as file:
                if file.read().startswith("ksoftirqd"):
                    first_in_line(int(entry))


def do_start(job: dict[str, Any]) -> dict[str, Any]:
    """What comes before all else."""
    load(job["modules"])
    call("ip link set lo up")
    interrupts_first()
    return {"kernel": os.uname().release}


def do_run(job: dict[str, Any]) -> dict[str, Any]:
    """A command; it can write to /run, and to the directory that it is given."""
    writable: str | None = job.get("writable")
    if writable is not None:
        call(f"mount -t hostfs -o {writable} none {writable}")
    try:
        environment = os.environ | {"TMPDIR": "/run", "HOME": "/run"}
        done = subprocess.run(job["command"], capture_output=True, text=True, check=False, cwd="/run", env=environment)
    finally:
        if writable is not None:
            os.sync()
            call(f"umount {writable}")
    return {"status": done.returncode, "out": done.stdout, "err": done.stderr}


JOBS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {"start": do_start, "run": do_run}


def main() -> None:
    """Executes the commands of the console."""
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run")):
        call(f"mount -t {kind} {kind} {where}")
    os.makedirs("/run/netns", exist_ok=True)
    more = os.environ.get("LONGHAUL_JOBS")
    jobs = JOBS | (runpy.run_path(more)["JOBS"] if more else {})
    # What the console is given before somebody listens is lost.
    print('@@{"ready": true}', flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        try:
            answer = jobs[job["do"]](job)
        except (OSError, KeyError, ValueError, subprocess.SubprocessError) as why:
            answer = {"error": f"{type(why).__name__}: {why}"}
        print("@@" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    if os.getpid() != 1:
        sys.exit("error: this is for User-Mode Linux: longhaul_studies.second_kernel starts it there")
    try:
        attributes = termios.tcgetattr(0)
        attributes[3] &= ~(termios.ECHO | termios.ICANON)
        attributes[6][termios.VMIN], attributes[6][termios.VTIME] = 1, 0
        termios.tcsetattr(0, termios.TCSANOW, attributes)
        main()
    except Exception as why:  # the first process of a machine must not end
        print("@@" + json.dumps({"error": f"{type(why).__name__}: {why}"}), flush=True)
    finally:
        os.sync()
        LIBC.reboot(POWER_OFF)
