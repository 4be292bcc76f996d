"""Jobs of the second kernel for `validate_second_kernel.py`, beside those of `longhaul_studies.second_kernel.guest`, which loads them.

There are two ways between two hosts, each a network namespace: over the devices vec0 and vec1, behind which is the machine
outside; and over three namespaces of this kernel, of which the middle one forwards and netem makes the path. Python's standard library only.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import itertools
import os
import select
import socket
import statistics
import struct
import subprocess
import threading
import time
from typing import Any

# The first process of the second kernel: it stands beside the file that was run there.
from guest import LIBC, call, first_in_line

CLONE_NEWNET = 0x40000000
#: linux/ethtool.h: checksums, scatter-gather, TSO, GSO and GRO.
OFFLOADS = (0x17, 0x19, 0x1F, 0x24, 0x2C)
SIOCETHTOOL = 0x8946
#: What `longhaul-emu run` sets for hosts of the variant "linux" (docs/emulator.md).
SYSCTLS = {
    "tcp_comp_sack_nr": "0",
    "tcp_no_metrics_save": "1",
    "tcp_rmem": "4096 131072 6291456",
    "tcp_wmem": "4096 16384 6653430",
    "tcp_early_retrans": "3",
    "tcp_frto": "2",
    "conf/all/rp_filter": "0",
    "conf/default/rp_filter": "0",
}
INITIAL_WINDOW = 10
#: Sender and receiver of each way: namespace and address.
WAYS = {"bridge": (("ts", "10.1.0.1"), ("tc", "10.1.0.2")), "netem": (("ns", "10.2.0.1"), ("nc", "10.2.1.1"))}
PORT = 5001
#: TCP_INFO: where tcpi_total_retrans is.
RETRANSMITTED = 100
#: asm-generic/socket.h: when the kernel has received it.
SO_TIMESTAMPNS = 35


def enter(namespace: str) -> None:
    """Moves the thread: sockets stay where they were made."""
    with open(f"/run/netns/{namespace}") as file:
        if LIBC.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(f"setns: {os.strerror(ctypes.get_errno())}")


def one_by_one(device: str) -> None:
    """Packets go and come one by one, checksums made and checked by the kernel (in the namespace of the thread)."""
    # Drivers of UML say what they can do when they are up.
    call(f"ip link set {device} gso_max_segs 1 txqueuelen 20000 up")
    with socket.socket() as any_socket:
        for offload in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", offload, 0))
            request = struct.pack("16sP8x", device.encode(), ctypes.addressof(value))
            with contextlib.suppress(OSError):  # the device does not have it
                fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def set_host(namespace: str) -> None:
    """Settings of a host's TCP."""
    enter(namespace)
    call("ip link set lo up")
    for name, value in SYSCTLS.items():
        with open(f"/proc/sys/net/ipv4/{name}", "w") as file:
            file.write(value)


def make_devices() -> None:
    """Two hosts at vec0 and vec1, which know each other's address: nothing but their traffic is on the path."""
    hosts = WAYS["bridge"]
    for number, (namespace, _) in enumerate(hosts):
        call(f"ip netns add {namespace}")
        call(f"ip link set vec{number} address 02:00:00:00:00:0{number}")
        call(f"ip link set vec{number} netns {namespace}")
    for number, (namespace, address) in enumerate(hosts):
        set_host(namespace)
        one_by_one(f"vec{number}")
        call(f"ip address add {address}/32 dev vec{number}")
        call(f"ip route add default dev vec{number} initcwnd {INITIAL_WINDOW}")
        call(f"ip neighbour add {hosts[1 - number][1]} lladdr 02:00:00:00:00:0{1 - number} dev vec{number}")


def make_veths() -> None:
    """Two hosts and two routers between them, by pairs of virtual devices: host ns - router n1 - router n2 - host nc.

    Netem is for routers: what it does to packets of the same kernel's TCP goes back to that (a full queue is no loss to it, and
    it keeps its packets few there).
    """
    (left, address), (right, other) = WAYS["netem"]
    chain = [left, "n1", "n2", right]
    for name in chain:
        call(f"ip netns add {name}")
    for number, (near, far) in enumerate(itertools.pairwise(chain)):
        ends = ((near, "right", far, other, 1), (far, "left", near, address, 2))
        mac = f"02:00:00:00:{number + 1:02}"
        call(f"ip link add right netns {near} address {mac}:01 type veth peer name left address {mac}:02 netns {far}")
        for place, device, _, beyond, end in ends:
            enter(place)
            one_by_one(device)
            if place not in (left, right):
                call(f"ip route add {beyond}/32 dev {device}")
            call(f"ip neighbour add {beyond} lladdr {mac}:0{3 - end} dev {device}")
    for place, own, device in ((left, address, "right"), (right, other, "left")):
        set_host(place)
        call(f"ip address add {own}/32 dev {device}")
        call(f"ip route add default dev {device} initcwnd {INITIAL_WINDOW}")
    for place in chain[1:-1]:
        enter(place)
        with open("/proc/sys/net/ipv4/ip_forward", "w") as file:
            file.write("1")


def do_netem(job: dict[str, Any]) -> dict[str, Any]:
    """Puts a path between the hosts: in the first router the rate and the queue, in the second the delay and the loss.

    One netem for both would have its limit include the packets on the way. Its rate is for packets of IP as the emulator
    has it: 14 bytes less than netem sees (packetoverhead). The reverse direction has a delay only.
    """
    rate, delay, limit, loss = (job[key] for key in ("rate_mbit", "delay_ms", "limit", "loss"))
    random = f" loss random {loss}%" if loss else ""
    for place, device, netem in (
        ("n1", "right", f"limit {limit} rate {rate}mbit -14"),
        ("n2", "right", f"limit 1000000 delay {delay}ms{random}"),
        ("n2", "left", f"limit 1000000 delay {delay}ms"),
    ):
        enter(place)
        # What it was before is not changed but gone: nothing of it remains.
        subprocess.run(["tc", "qdisc", "del", "dev", device, "root"], capture_output=True, check=False)
        call(f"tc qdisc add dev {device} root netem {netem}")
    return {}


def do_ping(job: dict[str, Any]) -> dict[str, Any]:
    """Round trip times in ms of echo requests with 56 bytes, as ping sends them, to the digits that ping leaves out."""
    (namespace, _), (_, address) = WAYS[job["way"]]
    enter(namespace)
    count: int = job["count"]
    rtts: list[float] = []
    sent: dict[int, int] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as icmp:
        icmp.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        icmp.setblocking(False)
        began = time.monotonic()
        while len(rtts) < count:
            now = time.monotonic() - began
            next_one = len(sent) * job["interval"] if len(sent) < count else count * job["interval"] + job["wait"]
            if now >= next_one:
                if len(sent) == count:
                    break  # the rest is lost
                payload = struct.pack("!HH56x", 1, len(sent))
                words = sum(struct.unpack(f"!{len(payload) // 2}H", payload)) + 0x0800
                words = (words & 0xFFFF) + (words >> 16)
                sent[len(sent)] = time.time_ns()
                icmp.sendto(struct.pack("!BBH", 8, 0, ~(words + (words >> 16)) & 0xFFFF) + payload, (address, 0))
                continue
            if not select.select([icmp], [], [], next_one - now)[0]:
                continue
            packet, ancillary, _, _ = icmp.recvmsg(2048, 64)
            kind, _, _, _, number = struct.unpack_from("!BBHHH", packet, 20)
            if kind == 0:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                rtts.append((seconds * 10**9 + nanoseconds - sent[number]) / 1e6)
    return {"rtts_ms": rtts}


class Lateness:
    """How late this kernel wakes a sleeper, while something else is measured."""

    def __init__(self) -> None:
        self.over = False
        self.late: list[float] = []
        self.thread = threading.Thread(target=self._sleep, daemon=True)
        self.thread.start()

    def _sleep(self) -> None:
        first_in_line(0)
        while not self.over:
            before = time.monotonic()
            time.sleep(0.01)
            self.late.append((time.monotonic() - before - 0.01) * 1e3)

    def end(self) -> dict[str, float]:
        """Median, 99th percentile and largest, in ms."""
        self.over = True
        self.thread.join()
        late = sorted(self.late)
        return {
            "late_median_ms": statistics.median(late),
            "late_p99_ms": late[min(len(late) - 1, int(0.99 * len(late)))],
            "late_max_ms": late[-1],
        }


def do_sleep(job: dict[str, Any]) -> dict[str, Any]:
    """How late sleepers are woken while nothing else happens."""
    lateness = Lateness()
    time.sleep(job["duration"])
    return lateness.end()


def do_transfer(job: dict[str, Any]) -> dict[str, Any]:
    """A transfer of given size; its time is from the call that connects to when the receiver has all of it, as in a result."""
    (here, _), (there, address) = WAYS[job["way"]]
    size, limit = job["size"], job["limit"]
    enter(there)
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, PORT))
    listener.listen()
    listener.settimeout(limit)
    enter(here)
    sender = socket.socket()
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, job["control"].encode())
    used = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).split(b"\0")[0].decode()
    info = b""

    def send() -> None:
        nonlocal info
        piece, left = bytes(1 << 17), size
        try:
            sender.connect((address, PORT))
            while left > 0:
                left -= sender.send(piece[: min(left, len(piece))])
        except OSError:
            pass  # given up: the other side says so
        info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)

    lateness = Lateness()
    began = time.monotonic()
    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    received, buffer, taken = 0, bytearray(1 << 18), None
    try:
        receiver, _ = listener.accept()
        with receiver:
            while received < size:
                receiver.settimeout(max(0.01, began + limit - time.monotonic()))
                read = receiver.recv_into(buffer)
                if read == 0:
                    break
                received += read
            if received == size:
                taken = time.monotonic() - began
                # Retransmissions are counted when all is acknowledged.
                thread.join()
                info = sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            else:
                receiver.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except TimeoutError:
        pass
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    with contextlib.suppress(OSError):  # the other end was faster
        sender.shutdown(socket.SHUT_RDWR)
    thread.join()
    sender.close()
    listener.close()
    retransmitted = struct.unpack_from("I", info, RETRANSMITTED)[0] if len(info) > RETRANSMITTED + 4 else None
    return {"time_s": taken, "received": received, "retransmitted": retransmitted, "control": used} | lateness.end()


def do_hosts(_: dict[str, Any]) -> dict[str, Any]:
    """Makes the hosts of both ways."""
    make_devices()
    make_veths()
    return {}


JOBS = {"hosts": do_hosts, "netem": do_netem, "ping": do_ping, "sleep": do_sleep, "transfer": do_transfer}
