"""How fast the emulator is: iperf3 through fast paths, and how late packets were. Wants root, iperf3, and an idle machine.

Usage: bench_emu.py [--emulator PATH] [--seconds N] [--only TEXT]. Prints a table, and JSON with --json.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

#: Name, rate, one-way delay, queue, iperf3's congestion control, goal for the rate in bit/s (of payload).
PATHS = [
    ("500 Mbit/s, 600 ms", "500 Mbit/s", "300 ms", "30000 packets", "bbr", 450e6),
    ("1 Gbit/s, 20 ms", "1 Gbit/s", "10 ms", "5000 packets", "cubic", 900e6),
]
#: A fast link forward, a serial line with few bytes for each ACK back, and a PEP between. What the PEP has acknowledged and what the
#: client's window allows beyond is all that can be on the way: a kernel's window, which is tuned without timestamps, ends at about 1 MB.
CHAIN = """
[run]
duration = "600 s"
[[link]]
name = "terrestrial"
ends = ["server", "pep"]
rate = "1 Gbit/s"
delay = "10 ms"
[[link]]
name = "satellite"
ends = ["pep", "edge"]
delay = "290 ms"
forward = { rate = "50 Mbit/s", queue = { kind = "droptail", limit = "3000 packets" } }
reverse = { rate = "256 kbit/s", serial = { framing = "slip"%s } }
[[link]]
name = "lan"
ends = ["edge", "client"]
rate = "1 Gbit/s"
delay = "0 s"
[[middlebox]]
kind = "premature_ack"
at = "pep"
watermark = "1000 packets"
buffer = "4000 packets"
%s[[flow]]
from = "server"
to = "client"
tcp = { timestamps = false%s }
"""

COMPACTION = '[[middlebox]]\nkind = "ack_compaction"\nat = "edge"\npeer = "pep"\n'
#: A receive buffer for a window of about 3 MB, which with the watermark is a round trip of 50 Mbit/s.
BUFFER = ', receive_autotuning = { initial = "5 MB", max = "5 MB" }'
CHAINS = {
    "asymmetric chain, 50 Mbit/s": CHAIN % (", vj = {}", "", ""),
    "the same, receive buffer of 5 MB": CHAIN % (", vj = {}", "", BUFFER),
    "the same, ACK compaction instead of VJ": CHAIN % ("", COMPACTION, BUFFER),
}


def path(rate: str, delay: str, queue: str) -> str:
    """A scenario of one link."""
    return (
        '[run]\nduration = "600 s"\n[[link]]\nname = "path"\nends = ["server", "client"]\n'
        f'rate = "{rate}"\ndelay = "{delay}"\nqueue = {{ kind = "droptail", limit = "{queue}" }}\n'
        '[[flow]]\nfrom = "server"\nto = "client"\n'
    )


def measure(emulator: Path, scenario: str, congestion: str, seconds: int) -> dict[str, Any]:
    """One transfer of iperf3 from server to client; rate after the first third, and lateness."""
    with tempfile.TemporaryDirectory() as folder:
        file, stats, result = (Path(folder) / name for name in ("scenario.toml", "stats.json", "iperf.json"))
        file.write_text(scenario)
        client = f"iperf3 -c $LONGHAUL_CLIENT -t {seconds} -O {seconds // 3} -C {congestion} -J > {result}"
        retry = f"for i in $(seq 50); do {client} && exit 0; sleep 0.2; done; exit 1"
        call = [str(emulator), "shell", str(file), "--at", "server", "--serve", "client=exec iperf3 -s",
                "--tcp", "scenario", "--stats", str(stats), "--quiet", "--", "sh", "-c", retry]  # fmt: skip
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"error: {shlex.join(call)} failed: {done.stderr[-500:]}")
        end = json.loads(result.read_text())["end"]
        return json.loads(stats.read_text()) | {
            "received_bps": end["sum_received"]["bits_per_second"],
            "retransmits": end["sum_sent"]["retransmits"],
        }


def main() -> None:
    """Measures all paths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--emulator", type=Path, default=ROOT / "target/release/longhaul-emu")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--only", default="", metavar="TEXT", help="paths with this in their name")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("error: the emulator wants root")
    cases = [(name, path(rate, delay, queue), cc, goal) for name, rate, delay, queue, cc, goal in PATHS]
    cases += [(name, chain, "cubic", 40e6) for name, chain in CHAINS.items()]
    cases = [case for case in cases if arguments.only in case[0]]
    load = os.getloadavg()[0]
    results = {}
    for name, scenario, congestion, goal in cases:
        results[name] = measure(arguments.emulator, scenario, congestion, arguments.seconds) | {"goal_bps": goal}
    if arguments.json:
        print(json.dumps({"load_before": load, "results": results}, indent=1))
        return
    print(f"load before: {load:.1f} on {os.cpu_count()} processors")
    heads = ("path", "Mbit/s", "goal", "lateness us: mean", "p99", "p99.9", "max", "lost by devices")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name, found in results.items():
        late = [f"{1e6 * found[f'lateness_{key}_s']:.0f}" for key in ("mean", "p99", "p999", "max")]
        rates = [f"{found['received_bps'] / 1e6:.0f}", f"{found['goal_bps'] / 1e6:.0f}"]
        print("| " + " | ".join([name, *rates, *late, str(found["device_drops"])]) + " |")


if __name__ == "__main__":
    main()
