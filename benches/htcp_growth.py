#!/usr/bin/env python3
"""Why Linux's H-TCP is slower than its draft: the growth of the window ACK by ACK under random loss, with three of its details.

In `net/ipv4/tcp_htcp.c` (Linux 6.1, as in the 2.6 of ns-2): Delta counts from the end of loss recovery (`htcp_state`), not from the
loss; what alpha is multiplied by is a whole number (`htcp_alpha_update`); and the window grows by one segment when those
acknowledged before this ACK suffice, which then count no more (`htcp_cong_avoid`): with ACKs for two segments and a large alpha,
up to a half more is wanted. No queue, so that the backoff is one half. Prints how much slower each is than the draft, and all.
"""

from __future__ import annotations

import random
import statistics
from dataclasses import dataclass, replace

#: Jiffies per second, as in Debian's User-Mode Linux.
HZ = 100
BETA = 0.5
DELTA_L = 1.0  # s


@dataclass(frozen=True)
class Details:
    """Which of Linux's details there are."""

    from_the_end: bool = False
    whole: bool = False
    counted: bool = False

    def alpha(self, since: float, rtt: float) -> float:
        """Segments per round trip, so many seconds after the last congestion event."""
        over = max(0.0, since - DELTA_L)
        if not self.whole:
            return max(1.0, 2 * (1 - BETA) * (1 + 10 * over + (over / 2) ** 2) * min(max(rtt / 0.1, 0.1), 2.0))
        jiffies = int(over * HZ)
        factor = 1 + (10 * jiffies + (jiffies // 2) ** 2 // HZ) // HZ
        scale = min(max((HZ << 3) // (10 * round(rtt * HZ)), 1 << 2), 10 << 3)
        return 2 * (1 - BETA) * max((factor << 3) // scale, 1)


def rate(details: Details, rtt: float, loss: float, per_ack: int, packets: int, seed: int) -> float:
    """Segments per second of one flow."""
    chance = random.Random(seed)
    window, counted, alpha = 20.0, 0, 1.0
    now = event = 0.0
    sent = 0
    while sent < packets:
        size = int(window)
        lost = any(chance.random() < loss for _ in range(size))
        for acknowledged in range(per_ack, size + per_ack, per_ack):
            at = now + rtt * acknowledged / size
            if not details.counted:
                window += per_ack * details.alpha(at - event, rtt) / window
            elif counted * alpha >= int(window):
                window, counted, alpha = window + 1, 0, details.alpha(at - event, rtt)
            else:
                counted += per_ack
        sent += size
        now += rtt
        if lost:
            # Recovery takes a round trip, with the smaller window.
            window = max(2.0, window * BETA)
            sent += int(window)
            event = now + (rtt if details.from_the_end else 0.0)
            now += rtt
            alpha, counted = details.alpha(now - event, rtt), 0
    return sent / now


def main() -> None:
    """Prints the table."""
    draft = Details()
    all_of_them = Details(from_the_end=True, whole=True, counted=True)
    print(
        "| RTT, loss, segments per ACK | from the end of recovery | whole factor | ACKs counted | all |\n|---|---|---|---|---|"
    )
    for rtt, loss, per_ack in ((0.1, 1e-3, 1), (0.1, 1e-4, 1), (0.25, 1e-3, 2), (0.25, 1e-2, 2), (0.05, 1e-2, 2)):
        packets = 200_000 if loss > 1e-4 else 1_000_000

        def mean(
            details: Details, rtt: float = rtt, loss: float = loss, per_ack: int = per_ack, packets: int = packets
        ) -> float:
            return statistics.mean(rate(details, rtt, loss, per_ack, packets, seed) for seed in (1, 2, 3))

        cases = [replace(draft, **{name: True}) for name in ("from_the_end", "whole", "counted")] + [all_of_them]
        by_draft = mean(draft)
        shares = " | ".join(f"{by_draft / mean(case):.2f}" for case in cases)
        print(f"| {rtt * 1e3:.0f} ms, {loss:g}, {per_ack} | {shares} |")


if __name__ == "__main__":
    main()
