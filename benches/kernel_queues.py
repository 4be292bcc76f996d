"""Queue disciplines of User-Mode Linux: in which order, and when, a train of packets leaves them.

Usage: .venv/bin/python benches/kernel_queues.py [--write]
  --write   write what was seen to crates/path/tests/linux/queues.txt, which a test of crate longhaul-path is held against

A train is written to one end of a veth pair as fast as it goes, and the discipline of that end lets it out slowly; the other end
records what comes, and when. Needs root and Debian's user-mode-linux (scripts/install-packages --second-kernel).
"""

from __future__ import annotations

import argparse
import json
import select
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "crates" / "path" / "tests" / "linux" / "queues.txt"

#: Linux's number, which Python has no name for.
SO_TIMESTAMPNS = 35

#: A flow: source and destination host, DSCP, bytes of each IP packet, how many. They are sent in turns, one packet of each.
Flow = tuple[int, int, int, int, int]

#: The train that passes a second time, once what the first has left behind in its queue has expired.
USED = "cake: signals of a used queue"

#: Name, arguments of `tc qdisc add .. root`, flows. A round trip of 100 s keeps COBALT out, except where it is looked at.
TRAINS: list[tuple[str, str, list[Flow]]] = [
    ("cake: one flow", "cake bandwidth 400kbit besteffort flows rtt 100s overhead 0", [(1, 2, 0, 1000, 30)]),
    (
        "cake: ATM cells",
        "cake bandwidth 400kbit besteffort flows rtt 100s pppoe-llcsnap",
        [(1, 2, 0, 1000, 20), (1, 3, 0, 40, 20)],
    ),
    (
        "cake: unequal packets",
        "cake bandwidth 400kbit besteffort flows rtt 100s overhead 0",
        [(1, 2, 0, 1000, 20), (1, 3, 0, 250, 40)],
    ),
    (
        "cake: hosts",
        "cake bandwidth 400kbit besteffort dual-dsthost rtt 100s overhead 0",
        [(1, 2, 0, 1000, 30), (3, 4, 0, 1000, 15), (5, 4, 0, 1000, 15), (6, 4, 0, 1000, 15)],
    ),
    (
        "cake: triple isolation",
        "cake bandwidth 400kbit besteffort triple-isolate rtt 100s overhead 0",
        [(1, 2, 0, 1000, 30), (1, 4, 0, 1000, 15), (1, 5, 0, 1000, 15), (7, 4, 0, 1000, 15)],
    ),
    (
        "cake: diffserv3",
        "cake bandwidth 400kbit diffserv3 flows rtt 100s overhead 0",
        [(1, 2, 0, 1000, 40), (1, 3, 8, 1000, 40), (1, 4, 46, 1000, 40)],
    ),
    (
        "cake: diffserv4",
        "cake bandwidth 400kbit diffserv4 flows rtt 100s overhead 0",
        [(1, 2, 0, 1000, 40), (1, 3, 8, 1000, 40), (1, 4, 34, 1000, 40), (1, 5, 46, 1000, 40)],
    ),
    ("cake: first signals", "cake bandwidth 400kbit besteffort flows rtt 2s overhead 0", [(1, 2, 0, 1000, 100)]),
    (USED, "cake bandwidth 400kbit besteffort flows rtt 500ms overhead 0", [(1, 2, 0, 1000, 100)]),
    ("tbf", "tbf rate 400kbit burst 10000 limit 200000", [(1, 2, 0, 1000, 40)]),
]


def frame(flow: Flow, number: int, index: int) -> bytes:
    """An Ethernet frame with a UDP datagram: which flow it is of, and which of its packets."""
    source, destination, dscp, length, _ = flow
    payload = struct.pack("!HH", index, number).ljust(length - 28, b"\0")
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x45,
        dscp << 2,
        length,
        0,
        0,
        64,
        17,
        0,
        bytes([10, 0, 0, source]),
        bytes([10, 0, 1, destination]),
    )
    words = struct.unpack("!10H", header)
    total = sum(words)
    total = (total & 0xFFFF) + (total >> 16)
    header = header[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + header[12:]
    udp = struct.pack("!HHHH", 1000 + index, 2000, length - 20, 0)
    return b"\x02\0\0\0\0\x01" + b"\x02\0\0\0\0\x02" + b"\x08\0" + header + udp + payload


def order(flows: list[Flow]) -> list[tuple[int, int]]:
    """Flow and number of each packet, in the order in which they are sent."""
    longest = max(count for *_, count in flows)
    return [(index, number) for number in range(longest) for index, flow in enumerate(flows) if number < flow[4]]


def in_guest(arguments: str, flows: list[Flow], used: bool) -> dict[str, Any]:
    """Sends a train through a discipline: flow, number and time in ms of each packet that leaves."""

    def call(command: str) -> None:
        done = subprocess.run(command.split(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{command}: {done.stderr.strip()}")

    call("ip link add out type veth peer name in")
    try:
        for end in ("out", "in"):
            call(f"ip link set {end} up")
        call(f"tc qdisc add dev out root {arguments}")
        sending = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sending.bind(("out", 0x0800))
        sending.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 24)
        receiving = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        receiving.bind(("in", 0x0800))
        train = [frame(flows[index], number, index) for index, number in order(flows)]
        # The kernel writes down when a packet comes, whenever it is read.
        receiving.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        if used:
            for one in train:
                sending.send(one)
            while select.select([receiving], [], [], 6.0)[0]:
                receiving.recv(4096)
            # Signals expire when a packet leaves.
            sending.send(train[0])
            time.sleep(0.05)
            receiving.recv(4096)
        begin = time.clock_gettime(time.CLOCK_REALTIME)
        for one in train:
            sending.send(one)
        written = time.clock_gettime(time.CLOCK_REALTIME) - begin
        left = []
        while select.select([receiving], [], [], 2.0)[0]:
            data, [(_, _, stamp)], *_ = receiving.recvmsg(4096, 64)
            seconds, nanoseconds = struct.unpack("qq", stamp)
            at = seconds - begin + nanoseconds / 1e9
            left.append((*struct.unpack("!HH", data[42:46]), round(1000 * at, 1)))
        return {"written_ms": round(1000 * written, 1), "left": left}
    finally:
        call("ip link del out")


def recorded(release: str, found: list[dict[str, Any]]) -> Iterator[str]:
    """The file: what was sent, and flow, number and time in ms of each packet that left."""
    yield f"# Written by benches/kernel_queues.py: User-Mode Linux {release}.\n"
    yield "# tc: name | arguments; flow: source, destination, DSCP, bytes, packets; left: flow.number@ms\n"
    for one in found:
        yield f"tc {one['name']} | {one['tc']}\n"
        for flow in one["flows"]:
            yield f"flow {' '.join(map(str, flow))}\n"
        yield f"left {' '.join(f'{flow}.{number}@{at}' for flow, number, at in one['left'])}\n"


def main() -> int:
    """Records all trains and prints a line of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {RECORDED.relative_to(ROOT)}")
    parser.add_argument("--guest", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.guest is not None:
        name, discipline, flows = TRAINS[arguments.guest]
        print(json.dumps(in_guest(discipline, flows, name == USED)))
        return 0
    from longhaul_studies.second_kernel import Guest, missing

    if lacks := missing():
        sys.exit(f"error: {'; '.join(lacks)}")
    found = []
    with Guest(["veth", "sch_cake", "sch_tbf"]) as guest:
        for number, (name, discipline, flows) in enumerate(TRAINS):
            done = guest.run([sys.executable, "-S", str(Path(__file__).resolve()), "--guest", str(number)], 60)
            if done.returncode != 0:
                sys.exit(f"error: {name}: {done.stderr.strip()}")
            seen = json.loads(done.stdout)
            left = seen["left"]
            found.append({"name": name, "tc": discipline, "flows": flows, "left": left})
            sent = sum(count for *_, count in flows)
            last = left[-1][2] if left else 0.0
            print(
                f"{name}: {len(left)} of {sent} packets, written in {seen['written_ms']} ms, the last after {last} ms"
            )
            print("  " + " ".join(str(flow) for flow, *_ in left[:100]))
        release = guest.release
    if arguments.write:
        RECORDED.write_text("".join(recorded(release, found)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
