"""What the accelerator has to do beside single downloads, over an emulated satellite link, with and without it: a table in Markdown.

Usage: .venv/bin/python benches/pep_acceptance.py [--program target/release/longhaul-pep]
           [--emulator target/release/longhaul-emu] [--repeat 3] [--cells uploads,bursts,...] [--no-control]

Needs root, iproute2 and nftables. Client, terminal, link, hub and server are network namespaces; the link has a round trip of
650 ms and queues of a bandwidth-delay product. A number is the median over the repeats, with the worst of all. A cell in which the
emulator was too late is marked. Exit status 1: a target was missed.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RTT = 0.65
SERVER = ("10.84.3.2", 8000)
REQUEST = 300
#: Bytes of a frame before its packet.
ETHERNET = 14
#: Nothing is waited for longer, in seconds.
PATIENCE = 400.0
Samples = dict[str, list[float]]


@dataclass(frozen=True)
class Cell:
    """One row: rates in Mbit/s, what both directions of the link do, and what the client does (a function of this file)."""

    name: str
    what: str
    down: float = 50.0
    up: float = 10.0
    both: str = ""
    only_down: str = ""
    work: dict[str, Any] = field(default_factory=dict)
    #: Key of a sample, the statistic of it (median, worst, least, p95 or p99) and its bound: at most, or at least for `least`.
    targets: tuple[tuple[str, str, float], ...] = ()
    unit: str = "s"
    control: bool = True
    #: Of the control; the accelerator's is --repeat.
    control_repeats: int = 1
    #: Between a tunnel that is up and the client, in seconds.
    settling: float = 2.0


def random_loss(percent: float) -> str:
    return f', loss = {{ kind = "random", probability = "{percent} %" }}' if percent else ""


BURSTS = ', loss = { kind = "gilbert_elliott", good_to_bad = "0.202 %", bad_to_good = "20 %", loss_in_bad = "100 %" }'
UPLOAD = RTT + 1.05 * 2e6 * 8 / 10e6
DOWNLOAD = RTT + 1.05 * 2e6 * 8 / 50e6

CELLS = [
    *(
        Cell(
            f"uploads {loss} %",
            f"2 MB up, {loss} % (ideal {UPLOAD:.2f} s)",
            both=random_loss(loss),
            work={"kind": "transfers", "up": 2_000_000, "count": 3},
            targets=(("seconds", "median", 1.12 * UPLOAD),),
        )
        for loss in (0, 1)
    ),
    Cell(
        "bursts",
        f"2 MB down, bursts of 5, 1 % (ideal {DOWNLOAD:.2f} s)",
        both=BURSTS,
        work={"kind": "transfers", "down": 2_000_000, "count": 8},
        targets=(("seconds", "median", 1.08 * DOWNLOAD), ("seconds", "p95", 1.7 * DOWNLOAD)),
    ),
    *(
        Cell(
            f"first {loss} %",
            f"the first 2 MB down as soon as a tunnel is up, {loss} % (ideal {DOWNLOAD:.2f} s)",
            both=random_loss(loss),
            work={"kind": "transfers", "down": 2_000_000, "count": 1},
            targets=(("seconds", "median", 1.12 * DOWNLOAD),),
            control=False,
            settling=0.0,
        )
        for loss in (0, 1)
    ),
    Cell(
        "acks",
        "IP bytes up for 100 MB down at 250/3, in percent of them",
        down=250.0,
        up=3.0,
        work={"kind": "transfers", "down": 100_000_000, "count": 1, "acks": True},
        targets=(("acks", "median", 0.3),),
        unit="%",
    ),
    *(
        Cell(
            f"fairness {flows}",
            f"{flows} equal downloads at a time, Jain's index",
            work={"kind": "together", "flows": flows, "down": 100_000_000 // flows},
            targets=(("jain", "least", 0.98),),
            unit="",
        )
        for flows in (10, 50)
    ),
    *(
        Cell(
            f"requests {loss} %",
            f"20 kB beside a download, {loss} %",
            both=random_loss(loss),
            work={"kind": "beside", "seconds": 30, "pause": 0.3},
            targets=(("seconds", "median", RTT + 0.05), ("seconds", "p99", RTT + 0.05)),
        )
        for loss in (0, 1)
    ),
    Cell(
        "many objects",
        "500 x 40 kB at a time, 1 %, the last of them (ideal 4.01 s)",
        both=random_loss(1),
        work={"kind": "together", "flows": 500, "down": 40_000},
        targets=(("last", "median", 1.12 * (RTT + 1.05 * 500 * 40e3 * 8 / 50e6)),),
    ),
    Cell(
        "outage",
        "100 MB with an outage of 60 s: seconds more than the ideal, 77.45 s",
        both="",
        work={"kind": "transfers", "down": 100_000_000, "count": 1, "less": 77.45, "outage": True},
        targets=(("seconds", "median", 5.0),),
    ),
    Cell(
        "falling rate",
        "20 kB beside a download, rate 50 -> 10 Mbit/s",
        only_down=', changes = [{ at = "FALL", rate = "10 Mbit/s" }]',
        work={"kind": "beside", "seconds": 40, "pause": 0.3, "falls": True},
        targets=(("seconds", "median", RTT + 0.2),),
    ),
]


def run(command: str) -> str:
    done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"error: `{command}` failed: {done.stderr.strip()}")
    return done.stdout


class Bed:
    """Client, terminal, sky, hub and server in a row."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.program, self.emulator = options.program.resolve(), options.emulator.resolve()
        self.prefix = f"lhacc{os.getpid()}"
        self.folder = Path(tempfile.mkdtemp(prefix="longhaul-pep-acceptance-"))
        self.nodes: list[subprocess.Popen[bytes]] = []
        for host in "ctkhs":
            run(f"ip netns add {self.name(host)}")
            run(f"ip -n {self.name(host)} link set lo up")
        rows = [("c", "eth", "t", "lan"), ("k", "in0", "t", "sat"), ("k", "in1", "h", "sat"), ("s", "eth", "h", "wan")]
        for near, device, far, other in rows:
            run(f"ip -n {self.name(near)} link add {device} type veth peer name {other} netns {self.name(far)}")
            for host, each in ((near, device), (far, other)):
                run(f"ip -n {self.name(host)} link set {each} gso_max_segs 1")
                run(f"ip -n {self.name(host)} link set {each} txqueuelen 10000 up")
        for host, device, address in [
            ("c", "eth", "10.84.1.2"),
            ("t", "lan", "10.84.1.1"),
            ("t", "sat", "10.84.2.1"),
            ("h", "sat", "10.84.2.2"),
            ("h", "wan", "10.84.3.1"),
            ("s", "eth", "10.84.3.2"),
        ]:
            run(f"ip -n {self.name(host)} address add {address}/24 dev {device}")
        for host, route in [
            ("c", "default via 10.84.1.1"),
            ("t", "default via 10.84.2.2"),
            ("h", "10.84.1.0/24 via 10.84.2.1"),
            ("s", "default via 10.84.3.1"),
        ]:
            run(f"ip -n {self.name(host)} route add {route}")
        for host in "th":
            run(f"ip netns exec {self.name(host)} sysctl -qw net.ipv4.ip_forward=1")

    def name(self, host: str) -> str:
        return f"{self.prefix}-{host}"

    def popen(self, host: str, command: list[str], **more: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["ip", "netns", "exec", self.name(host), *command], **more)

    @contextlib.contextmanager
    def link(self, cell: Cell, only_down: str, both: str) -> Iterator[list[str]]:
        """The emulated link; the list has why its times are not to be believed, once it has ended."""
        doubts: list[str] = []
        half = int(RTT / 2 * 1e6)

        def side(rate: float, more: str) -> str:
            queue = max(15_000, int(rate * 1e6 / 8 * RTT))
            return f'{{ rate = "{rate} Mbit/s", queue = {{ kind = "droptail", limit = "{queue} B" }}{both}{more} }}'

        path = self.folder / "link.toml"
        path.write_text(
            f'[run]\nduration = "24 h"\n[[link]]\nname = "satellite"\nends = ["terminal", "hub"]\ndelay = "{half} us"\n'
            f"forward = {side(cell.up, '')}\nreverse = {side(cell.down, only_down)}\n"
            f'[[flow]]\nfrom = "terminal"\nto = "hub"\n'
        )
        command = [str(self.emulator), "bridge", str(path), "in0", "in1"]
        with (self.folder / "link.log").open("wb") as log:
            emulator = self.popen("k", command, stdout=log, stderr=log)
            time.sleep(0.5)
            if emulator.poll() is not None:
                sys.exit(f"error: the emulator did not start: {(self.folder / 'link.log').read_text()}")
            self.began = time.monotonic() - 0.5
            try:
                yield doubts
            finally:
                emulator.send_signal(2)
                emulator.wait()
        lines = (self.folder / "link.log").read_text().splitlines()
        doubts += [line.split("INVALID: ")[1] for line in lines if "INVALID: " in line]

    @contextlib.contextmanager
    def accelerator(self, cell: Cell) -> Iterator[None]:
        keys = {}
        for host in "th":
            (self.folder / f"{host}.key").unlink(missing_ok=True)
            keys[host] = run(f"{self.program} keygen {self.folder}/{host}.key").strip()

        def hop(rate: float, other: float) -> str:
            paced, back = (f'"{int(each * 997_000)} bit/s"' for each in (rate, other))
            rates = f"send_rate = {paced}\nmost_rate = {paced}\nreceive_rate = {back}\n"
            return f'{rates}initial_rtt = "{int(RTT * 1000)} ms"\n'

        self.start(
            "h",
            f'mode = "hub"\n[hop]\nlisten = "10.84.2.2:7714"\nkey = "{self.folder}/h.key"\n{hop(cell.down, cell.up)}'
            f'[[terminal]]\nname = "t"\nkey = "{keys["t"]}"\nsources = ["10.84.1.0/24"]\n',
        )
        self.start(
            "t",
            f'mode = "terminal"\n[hop]\nhub = "10.84.2.2:7714"\nkey = "{self.folder}/t.key"\nhub_key = "{keys["h"]}"\n'
            f'{hop(cell.up, cell.down)}[intercept]\ninterfaces = ["lan"]\n',
        )
        try:
            for _ in range(300):
                if self.status("t").get("passing") is False:
                    break
                time.sleep(0.1)
            else:
                sys.exit(f"error: the tunnel is not up:\n{(self.folder / 't.log').read_text()}")
            time.sleep(cell.settling)
            yield
            balanced = [self.status(host).get("ledger_balances") for host in "th"]
            if balanced != [True, True]:
                sys.exit(f"error: the ledger does not balance: {balanced}")
        finally:
            for node in self.nodes:
                node.terminate()
            for node in self.nodes:
                node.wait()
            self.nodes = []

    def start(self, host: str, text: str) -> None:
        path = self.folder / f"{host}.toml"
        path.write_text(f'control = "{self.folder}/{host}.sock"\ntimeouts = {{ drain = "1 s" }}\n{text}')
        log = (self.folder / f"{host}.log").open("wb")
        command = [str(self.program), "run", "--config", str(path)]
        self.nodes.append(self.popen(host, command, stderr=log, stdout=subprocess.DEVNULL))

    def status(self, host: str) -> dict[str, Any]:
        command = [str(self.program), "status", "--json", "--config", f"{self.folder}/{host}.toml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {}
        return found

    def sent_up(self) -> int:
        """Bytes of the IP packets that the terminal has sent over the link."""
        (device,) = json.loads(run(f"ip -n {self.name('t')} -s -j link show dev sat"))
        sent = device["stats64"]["tx"]
        return int(sent["bytes"]) - ETHERNET * int(sent["packets"])

    def client(self, work: dict[str, Any]) -> Samples:
        command = [sys.executable, __file__, "--client", json.dumps(work)]
        done = subprocess.run(
            ["ip", "netns", "exec", self.name("c"), *command], stdout=subprocess.PIPE, text=True, check=False
        )
        if done.returncode:
            sys.exit("error: the client has failed")
        found: Samples = json.loads(done.stdout)
        return found

    def close(self) -> None:
        for host in "ctkhs":
            subprocess.run(["ip", "netns", "delete", self.name(host)], check=False)
        shutil.rmtree(self.folder)


def serve() -> None:
    """A request of 300 bytes states how many follow it, and how many the answer has."""

    def one(stream: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            head = exactly(stream, REQUEST)
            up, down = (int(word) for word in head.split())
            exactly(stream, up)
            block = memoryview(bytes(1 << 16))
            while down:
                down -= stream.send(block[: min(down, len(block))])

    listener = socket.create_server(SERVER, backlog=1024)
    print("ready", flush=True)
    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


def exactly(stream: socket.socket, size: int) -> bytes:
    """The next bytes; of more than a request only their number counts."""
    kept, came = b"", 0
    while came < size:
        part = stream.recv(min(1 << 18, size - came))
        if not part:
            raise OSError("the end came early")
        came += len(part)
        kept = kept + part if came <= REQUEST else kept
    return kept


def transfer(up: int = 0, down: int = 1) -> float:
    """Seconds from `connect` to the last byte of the answer; PATIENCE if it fails."""
    begin = time.monotonic()
    try:
        with socket.create_connection(SERVER, timeout=PATIENCE) as stream:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            stream.sendall(f"{up} {down}".ljust(REQUEST).encode() + bytes(up))
            exactly(stream, down)
    except OSError as error:
        print(f"a transfer failed: {error}", file=sys.stderr)
        return PATIENCE
    return time.monotonic() - begin


def work_of(work: dict[str, Any]) -> Samples:
    """What the client does, and what it has measured."""
    match work["kind"]:
        case "transfers":
            sizes = {"up": work.get("up", 0), "down": work.get("down", 1)}
            return {"seconds": [transfer(**sizes) - work.get("less", 0.0) for _ in range(work["count"])]}
        case "together":
            took = [0.0] * work["flows"]

            def one(number: int) -> None:
                took[number] = transfer(down=work["down"])

            threads = [threading.Thread(target=one, args=(number,)) for number in range(work["flows"])]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            rates = [1 / seconds for seconds in took]
            jain = sum(rates) ** 2 / (len(rates) * sum(rate**2 for rate in rates))
            return {"jain": [jain], "last": [max(took)]}
        case "beside":
            # More than the link carries meanwhile; its end is not waited for.
            threading.Thread(target=transfer, kwargs={"down": 2_000_000_000}, daemon=True).start()
            time.sleep(work.get("before", 4.0))
            begin, seconds = time.monotonic(), []
            while time.monotonic() - begin < work["seconds"]:
                seconds.append(transfer(down=20_000))
                time.sleep(work["pause"])
            return {"seconds": seconds}
        case other:
            raise ValueError(other)


def percentile(values: list[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "median": statistics.median,
    "worst": max,
    "least": min,
    "p95": lambda values: percentile(values, 0.95),
    "p99": lambda values: percentile(values, 0.99),
}


def measure(bed: Bed, cell: Cell, accelerated: bool, repeats: int) -> tuple[Samples, list[str]]:
    samples: Samples = {}
    doubts: list[str] = []
    for _ in range(repeats):
        only_down, both = cell.only_down, cell.both
        # From the start of the link: with a tunnel there are some five seconds before the client begins.
        start = 6.0 if accelerated else 1.0
        if cell.work.get("falls"):
            only_down = only_down.replace("FALL", f"{start + 8:.0f} s")
        if cell.work.get("outage"):
            both += f', outages = [{{ start = "{start + 5:.0f} s", duration = "60 s" }}]'
        with contextlib.ExitStack() as stack:
            late = stack.enter_context(bed.link(cell, only_down, both))
            if accelerated:
                stack.enter_context(bed.accelerator(cell))
            wait = bed.began + start - time.monotonic()
            if wait < 0 and (cell.work.get("falls") or cell.work.get("outage")):
                doubts.append("the tunnel was up too late")
            time.sleep(max(0.0, wait))
            before = bed.sent_up()
            found = bed.client(cell.work)
            if cell.work.get("acks"):
                found["acks"] = [100 * (bed.sent_up() - before) / cell.work["down"]]
            for key, values in found.items():
                samples.setdefault(key, []).extend(values)
        doubts += late
    return samples, doubts


def shown(samples: Samples, key: str, unit: str) -> str:
    values = samples[key]
    failed = sum(value > PATIENCE - 100 for value in values)
    spread = f"{min(values):.3f} to {max(values):.3f}" if len(values) > 1 else ""
    text = f"{statistics.median(values):.3f} {unit}".strip() + (f" ({spread})" if spread else "")
    return text + (f", {failed} not in time" if failed else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, default=Path("target/release/longhaul-pep"))
    parser.add_argument("--emulator", type=Path, default=Path("target/release/longhaul-emu"))
    parser.add_argument("--repeat", type=int, default=3)
    names = ", ".join(cell.name for cell in CELLS).replace("%", "%%")
    parser.add_argument("--cells", help=f"comma-separated beginnings of: {names}")
    parser.add_argument("--no-control", action="store_true", help="not without the accelerator")
    parser.add_argument("--client", type=json.loads, help=argparse.SUPPRESS)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        print(json.dumps(work_of(options.client)), flush=True)
        os._exit(0)
    if options.serve:
        serve()
    wanted = tuple(options.cells.split(",")) if options.cells else ("",)
    cells = [cell for cell in CELLS if cell.name.startswith(wanted)]
    if os.geteuid() != 0 or not cells or not (options.program.exists() and options.emulator.exists()):
        sys.exit("error: it needs root, a known cell, and both programs (--program, --emulator)")
    print("| what | without: median (extremes) | with: median (extremes) | target | |\n" + "|---" * 5 + "|", flush=True)
    bed, met = Bed(options), True
    try:
        server = bed.popen("s", [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE)
        assert server.stdout is not None
        server.stdout.readline()
        for cell in cells:
            control: Samples = {}
            doubts: list[str] = []
            if cell.control and not options.no_control:
                control, doubts = measure(bed, cell, False, cell.control_repeats)
            found, late = measure(bed, cell, True, options.repeat)
            key = cell.targets[0][0]
            for _, name, bound in cell.targets:
                value = STATISTICS[name](found[key])
                good = value >= bound if name == "least" else value <= bound
                met &= good
                sign = ">=" if name == "least" else "<="
                verdict = "met" if good else f"missed: {value:.3f}"
                without = shown(control, key, cell.unit) if control else "-"
                row = f"| {cell.what} | {without} | {shown(found, key, cell.unit)} |"
                print(f"{row} {name} {sign} {bound:.3f} | {verdict}{'; late' if doubts or late else ''} |", flush=True)
            for doubt in dict.fromkeys(doubts + late):
                print(f"warning: {cell.name}: {doubt}", file=sys.stderr)
        server.terminate()
    finally:
        bed.close()
    sys.exit(not met)


if __name__ == "__main__":
    main()
