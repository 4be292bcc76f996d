"""Result directories in exactly the form the simulator writes, with made-up but plausible content.

An additive-increase, multiplicative-decrease fluid model fills the tables; nothing here is a result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

RATE = 100e6
BASE_RTT = 0.52
QUEUE = 1000
PACKET = 1040

DEFINITIONS: dict[str, dict[str, str]] = {
    name: {"unit": unit, "title": title, "definition": f"{title}, averaged after the warm-up."}
    for name, unit, title in [
        ("goodput_bps", "bit/s", "Goodput"),
        ("throughput_bps", "bit/s", "Throughput"),
        ("jain_index", "", "Jain's fairness index"),
        ("drop_rate", "", "Drop rate"),
        ("utilisation", "", "Utilisation"),
        ("sent_packets", "packets", "Packets sent"),
        ("retransmitted_packets", "packets", "Retransmissions"),
        ("loss_rate", "", "Loss rate"),
        ("timeouts", "", "Timeouts"),
        ("rtt_mean_s", "s", "Mean RTT"),
        ("cwnd_mean_bytes", "B", "Mean cwnd"),
        ("completion_time_s", "s", "Completion time"),
        ("queue_mean_packets", "packets", "Mean queue"),
        ("queue_delay_p95_s", "s", "Queueing delay, 95th percentile"),
        ("drops_queue", "packets", "Drops by the queue"),
    ]
}


def write_result(
    out: Path,
    flows: int = 3,
    duration: float = 200.0,
    seed: int = 1,
    *,
    run_id: str | None = None,
    name: str | None = None,
    tables: bool = True,
    trace: bool = False,
    receiver_limited: bool = False,
    groups: tuple[str, ...] = ("users",),
) -> dict[str, Any]:
    """Writes a made-up result directory and returns its summary."""
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    times = np.arange(1.0, duration + 1)
    cwnd, ssthresh, retransmits = _windows(rng, flows, len(times))
    if receiver_limited:
        cwnd = np.minimum(cwnd, 65535.0 * 1.3)
    pipe = RATE * BASE_RTT / 8
    total = cwnd.sum(axis=0)
    queue_bytes = np.clip(total - pipe, 0, QUEUE * PACKET)
    rtt = BASE_RTT + queue_bytes * 8 / RATE
    sent = np.minimum(cwnd, 65535.0) if receiver_limited else cwnd
    scale = np.minimum(1.0, RATE / (sent.sum(axis=0) * 8 / rtt))
    throughput = sent * 8 / rtt * scale
    goodput = throughput * 0.96
    limited = _limits(rng, flows, receiver_limited)
    summary = _summary(name or f"{flows} made-up flows", flows, duration, seed, groups, limited)
    summary["run_id"] = run_id or f"{seed:016x}"
    goodputs = goodput.mean(axis=1)
    for i, flow in enumerate(summary["flows"]):
        flow["metrics"] = {
            "goodput_bps": float(goodputs[i]),
            "throughput_bps": float(throughput[i].mean()),
            "sent_packets": int(throughput[i].sum() / 8 / PACKET),
            "retransmitted_packets": int(retransmits[i].sum()),
            "loss_rate": float(rng.uniform(0.0005, 0.003)),
            "timeouts": int(rng.integers(0, 3)),
            "rtt_mean_s": float(rtt.mean()),
            "cwnd_mean_bytes": float(cwnd[i].mean()),
            "completion_time_s": None,
        }
    utilisation = np.clip(throughput.sum(axis=0) / RATE, 0, 1)
    drops = rng.poisson(np.where(queue_bytes >= QUEUE * PACKET * 0.98, 8.0, 0.02))
    summary["links"][0]["metrics"] = {
        "utilisation": float(utilisation.mean()),
        "throughput_bps": float(throughput.sum(axis=0).mean()),
        "queue_mean_packets": float(queue_bytes.mean() / PACKET),
        "queue_delay_p95_s": float(np.quantile(queue_bytes, 0.95) * 8 / RATE),
        "drops_queue": int(drops.sum()),
        "drop_rate": 0.001,
    }
    summary["links"][1]["metrics"] = dict.fromkeys(summary["links"][0]["metrics"], 0.02)
    summary["run"] = {
        "goodput_bps": float(goodputs.sum()),
        "utilisation": float(utilisation.mean()),
        "jain_index": float(goodputs.sum() ** 2 / (flows * (goodputs**2).sum())),
        "drop_rate": 0.001 + 0.0001 * seed,
    }
    for group in summary["groups"]:
        group["metrics"] = {"goodput_bps": float(goodputs.sum()), "jain_index": summary["run"]["jain_index"]}
    (out / "summary.json").write_text(json.dumps(summary))
    (out / "scenario.toml").write_text(f'name = "{summary["name"]}"\n[run]\nduration = "{duration} s"\nseed = {seed}\n')
    (out / "timing.json").write_text(json.dumps({"wall_s": 1.5, "cpu_s": 1.4, "packets_per_cpu_s": 1.6e6}))
    if tables:
        _write_tables(out, times, cwnd, ssthresh, rtt, throughput, goodput, retransmits, queue_bytes, drops)
        if trace:
            _segments(duration).write_parquet(out / "segments.parquet")
    return summary


def _windows(rng: np.random.Generator, flows: int, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pipe = RATE * BASE_RTT / 8
    cwnd = np.zeros((flows, steps))
    ssthresh = np.full((flows, steps), np.nan)
    retransmits = np.zeros((flows, steps), dtype=np.int64)
    now = np.full(flows, 2000.0)
    threshold = np.full(flows, np.inf)
    for step in range(steps):
        now = np.where(now < threshold, now * 2.2, now + 1500 * 2 + rng.normal(0, 400, flows))
        if now.sum() > pipe + QUEUE * PACKET:
            hit = rng.random(flows) < 0.5
            hit[np.argmax(now)] = True
            threshold[hit] = now[hit] / 2
            now[hit] = threshold[hit]
            retransmits[hit, step] = rng.poisson(5, hit.sum())
        cwnd[:, step], ssthresh[:, step] = now, np.where(np.isfinite(threshold), threshold, np.nan)
    return cwnd, ssthresh, retransmits


def _limits(rng: np.random.Generator, flows: int, receiver: bool) -> list[dict[str, float]]:
    shares = []
    for _ in range(flows):
        main = rng.uniform(0.6, 0.9)
        rest = rng.dirichlet([4, 2, 1, 1]) * (1 - main)
        share = dict.fromkeys(
            (
                "slow_start",
                "cwnd",
                "receiver_window",
                "application",
                "pacing",
                "recovery",
                "handshake",
                "closed",
            ),
            0.0,
        )
        share["receiver_window" if receiver else "cwnd"] = main
        share["slow_start"], share["recovery"], share["handshake"], share["application"] = map(float, rest)
        shares.append({key: float(value) for key, value in share.items()})
    return shares


def _summary(
    name: str,
    flows: int,
    duration: float,
    seed: int,
    groups: tuple[str, ...],
    limited: list[dict[str, float]],
) -> dict[str, Any]:
    hosts = [(f"s{i}", f"r{i}") for i in range(flows)]
    links = [
        _link("bottleneck.forward", "left", "right", RATE, 0.25, flows),
        _link("bottleneck.reverse", "right", "left", RATE, 0.25, 1),
    ]
    return {
        "longhaul": "0.1.0",
        "run_id": "",
        "name": name,
        "description": "Made up for tests.",
        "seed": seed,
        "duration_s": duration,
        "warmup_s": duration / 4,
        "measured_s": duration * 0.75,
        "run": {},
        "links": links,
        "flows": [
            {
                "id": i,
                "name": f"{groups[i % len(groups)]}-{i}",
                "group": groups[i % len(groups)],
                "from": s,
                "to": r,
                "app": "bulk",
                "variant": "sack",
                "congestion": "cubic",
                "slow_start": "standard",
                "mss_bytes": 1000,
                "start_s": 0.0,
                "data_path": [0],
                "ack_path": [1],
                "access_rate_bps": None,
                "base_rtt_s": BASE_RTT,
                "state": "Established",
                "metrics": {},
                "limited": limited[i],
                "predicted": {
                    "window_limit_bps": 65535 * 8 / BASE_RTT if limited[i]["receiver_window"] else 2e8,
                    "mathis_bps": 1.2 * RATE / flows,
                    "fair_share_bps": RATE / flows,
                },
            }
            for i, (s, r) in enumerate(hosts)
        ],
        "groups": [
            {"name": group, "count": len(range(k, flows, len(groups))), "metrics": {}} for k, group in enumerate(groups)
        ],
        "nodes": [{"name": "left"}, {"name": "right"}],
        "warnings": [
            {
                "code": "receive_buffer",
                "object": "flow users-0",
                "message": "the receive buffer (64 KiB) is under the bandwidth-delay product (6.5 MB): at most 1.01 Mbit/s",
            }
        ]
        if limited[0]["receiver_window"]
        else [],
        "work": {"data_packets_delivered": 65432},
        "definitions": DEFINITIONS,
    }


def _link(name: str, a: str, b: str, rate: float, delay: float, active: int) -> dict[str, Any]:
    return {
        "name": name, "from": a, "to": b, "rate_bps": rate, "delay_s": delay,
        "queue": f"droptail {QUEUE} packets", "flows": 2, "active_flows": float(active),
        "metrics": {"utilisation": 0.01, "throughput_bps": 1e6, "queue_mean_packets": 0.0, "queue_delay_p95_s": 0.0,
                    "drops_queue": 0, "drop_rate": 0.0},
    }  # fmt: skip


def _write_tables(out, times, cwnd, ssthresh, rtt, throughput, goodput, retransmits, queue_bytes, drops) -> None:
    flows, steps = cwnd.shape
    column = lambda array: np.asarray(array).T.reshape(-1)  # noqa: E731
    rtts = np.broadcast_to(rtt, (flows, steps))
    pl.DataFrame(
        {
            "time_s": np.repeat(times, flows),
            "flow": np.tile(np.arange(flows, dtype=np.uint32), steps),
            "cwnd_bytes": column(cwnd),
            "ssthresh_bytes": pl.Series(column(ssthresh)).fill_nan(None),
            "flight_bytes": column(cwnd * 0.97),
            "srtt_s": column(rtts),
            "rto_s": column(np.maximum(1.0, rtts * 1.5)),
            "throughput_bps": column(throughput),
            "goodput_bps": column(goodput),
            "retransmits": column(retransmits).astype(np.uint64),
            "peer_window_bytes": np.full(flows * steps, 8e6),
        }
    ).write_parquet(out / "flows.parquet")
    frames = []
    for link in range(2):
        factor = 1.0 if link == 0 else 0.03
        frames.append(
            pl.DataFrame(
                {
                    "time_s": times,
                    "link": np.full(steps, link, dtype=np.uint32),
                    "queue_packets": queue_bytes / PACKET * (link == 0),
                    "queue_bytes": queue_bytes * (link == 0),
                    "queue_max_packets": np.minimum(QUEUE, queue_bytes / PACKET * 1.1 + 5) * (link == 0),
                    "utilisation": np.clip(throughput.sum(axis=0) / RATE, 0, 1) * factor,
                    "throughput_bps": throughput.sum(axis=0) * factor,
                    "arrivals": (throughput.sum(axis=0) / 8 / PACKET).astype(np.uint64),
                    "drops_queue": (drops * (link == 0)).astype(np.uint64),
                    "queue_average_packets": np.full(steps, np.nan),
                    "drops_loss": np.zeros(steps, dtype=np.uint64),
                    "marks": np.zeros(steps, dtype=np.uint64),
                }
            )
        )
    pl.concat(frames).write_parquet(out / "links.parquet")
    pl.DataFrame(
        {
            "time_s": [0.0, 20.0, 30.0, 40.0, 60.0],
            "kind": ["start", "link_down", "link_up", "link_rate", "link_delay"],
            "flow": pl.Series([0, -1, -1, -1, -1], dtype=pl.Int32),
            "link": pl.Series([-1, 0, 0, 0, 0], dtype=pl.Int32),
            "value": [0.0, 10.0, 0.0, 50e6, 0.1],
        }
    ).write_parquet(out / "events.parquet")


def _segments(duration: float) -> pl.DataFrame:
    """A sender in slow start that loses two segments, and recovers with SACK."""
    rows: list[dict[str, Any]] = []
    add = lambda **row: rows.append({"flow": 0, **row})  # noqa: E731
    una, nxt, window, time, lost = 0, 0, 2, 0.6, {20, 23}
    while time < min(duration, 12):
        burst = list(range(nxt, una + window))
        for k, segment in enumerate(burst):
            add(time_s=time + k * 0.008, kind=0, start=segment * 1000, end=segment * 1000 + 1000)
        nxt = max(nxt, una + window)
        hole = min((s for s in lost if una <= s < nxt), default=None)
        for k, segment in enumerate(burst):
            back = time + 0.52 + k * 0.008
            if hole is not None and segment >= hole:
                add(time_s=back, kind=2, start=hole * 1000, end=hole * 1000 + 65535)
                if segment not in lost:
                    add(time_s=back, kind=3, start=(hole + 1) * 1000, end=(segment + 1) * 1000)
            else:
                add(time_s=back, kind=2, start=(segment + 1) * 1000, end=(segment + 1) * 1000 + 65535)
        if hole is not None:
            una, window = hole, max(4, window // 2)
            for k, s in enumerate(sorted(lost)):
                add(time_s=time + 0.56 + k * 0.3, kind=1, start=s * 1000, end=s * 1000 + 1000)
            lost = set()
            una = nxt
            add(time_s=time + 1.2, kind=2, start=una * 1000, end=una * 1000 + 65535)
            time += 1.25
        else:
            una, window, time = nxt, window * 2, time + 0.56
        window = min(window, 60)
    schema = {
        "time_s": pl.Float64, "flow": pl.UInt32, "kind": pl.UInt8,
        "start": pl.UInt64, "end": pl.UInt64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema).sort("time_s", maintain_order=True)
