"""The paper's model (its table 1) as scenarios: source - S-Net - PEP - D-Net - destination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longhaul.scenario import Scenario

from ..model import Case

#: Table 1: delays one way in ms, buffers in packets.
S_DELAYS = (1, 10, 30, 50, 70, 80, 90, 100, 120, 130, 150, 200)
D_DELAYS = (10, 30, 50, 80, 100, 120, 130, 150, 200)
BUFFERS = (30, 50, 70, 100)
#: Bytes of a packet, and of its payload (decision D2).
PACKET, PAYLOAD = 1000, 960
#: Packets of the advertised window.
WINDOW = 20
#: Warm-up and duration of a run in seconds.
WARMUP, DURATION = 30, 60
#: One packet in an interval of a second, in Mbit/s: the smallest difference of two throughputs.
STEP = PACKET * 8 / 1e6


def scenario(
    d_s: int,
    d_d: int,
    n: int,
    w: int | str,
    *,
    guard: str = "as_printed",
    packets: int | None = None,
    loss: float = 0.0,
    variant: str = "newreno",
    pep: dict[str, Any] | None = None,
) -> Scenario:
    """One run; `w` may be `auto`. `packets` limits the transfer; `pep` changes settings of the PEP."""
    built = Scenario(
        f"premature ACKs: S {d_s} ms, D {d_d} ms, N {n}, W {w}",
        duration=f"{DURATION} s", warmup=f"{0 if packets else WARMUP} s", sample="1 s", peak_goodput=True,
    )  # fmt: skip
    lossy = {"forward": {"loss": {"kind": "random", "probability": loss}}} if loss else {}
    return (
        built.link("s-net", "source", "pep", rate="10 Mbit/s", delay=f"{d_s} ms", queue="1000 packets")
        .link("d-net", "pep", "destination", rate="1 Mbit/s", delay=f"{d_d} ms", queue="1000 packets", **lossy)
        .middlebox("pep", "premature_ack", buffer=f"{n} packets", watermark=w, guard=guard, **(pep or {}))
        .flow(
            "source", "destination", app={"kind": "bulk", "size": f"{packets * PAYLOAD} B"} if packets else {"kind": "bulk"},
            tcp=tcp(variant),
        )
    )  # fmt: skip


def several(delays: Sequence[int], d_d: int, n: int, w: int) -> Scenario:
    """S-Net in parts with these delays, and a PEP behind each: all with the same buffer and watermark."""
    nodes = ["source", *(f"pep-{number}" for number in range(1, len(delays) + 1))]
    built = Scenario(
        f"{len(delays)} PEPs: S {'+'.join(map(str, delays))} ms, D {d_d} ms, N {n}, W {w}",
        duration=f"{DURATION} s", warmup=f"{WARMUP} s", sample="1 s", peak_goodput=True,
    )  # fmt: skip
    for number, delay in enumerate(delays):
        name = f"s-net-{number + 1}"
        built = built.link(
            name, nodes[number], nodes[number + 1], rate="10 Mbit/s", delay=f"{delay} ms", queue="1000 packets"
        )
    built = built.link("d-net", nodes[-1], "destination", rate="1 Mbit/s", delay=f"{d_d} ms", queue="1000 packets")
    for node in nodes[1:]:
        built = built.middlebox(
            node, "premature_ack", name=node, buffer=f"{n} packets", watermark=w, guard="as_printed"
        )
    return built.flow("source", "destination", app={"kind": "bulk"}, tcp=tcp("newreno"))


def tcp(variant: str) -> dict[str, Any]:
    """The connection of table 1."""
    return {
        "variant": variant, "congestion": "reno", "mss": f"{PAYLOAD} B", "initial_window": 1,
        "receive_buffer": f"{WINDOW} packets", "delayed_ack": "off", "timestamps": False, "established": True,
    }  # fmt: skip


def case(d_s: int, d_d: int, n: int, w: int | str, **settings: Any) -> Case:
    """A point of a grid."""
    parameters = {"d_s": d_s, "d_d": d_d, "n": n, "w": w}
    return Case(parameters, scenario(d_s, d_d, n, w, **settings))
