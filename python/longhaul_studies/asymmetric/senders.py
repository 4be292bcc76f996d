"""The table of what depends on the sender's loss recovery: N-16, N-17, N-18, X-08, X-10, X-11 side by side."""

from __future__ import annotations

from ..model import ResultTable
from ..results import NotRun, Results, Row
from ..verdict import median
from .arguments import RECOVERIES
from .measures import completion, repairs_per_round, silence


def _hit(rows: list[Row]) -> list[Row]:
    found = [row for row in rows if row["timeouts"] > 0 or row["fast_retransmits"] > 0]
    if not found:
        raise NotRun("no fade hit a packet")
    return found


def _expired(rows: list[Row]) -> str:
    hit = _hit(rows)
    return f"{sum(row['timeouts'] > 0 for row in hit)} of {len(hit)}"


def _rows(results: Results) -> list[list[str]]:
    table = results["recoveries"]
    rows = [["the thesis (Linux 2.2)", "an RTO", "sometimes", "none", "at least 10", "1", "170 and 100 s"]]
    for sender in RECOVERIES:
        of = {policy: table.where(sender=sender, policy=policy, what="fade") for policy in ("P1", "P2", "P3")}
        dormant = [silence(row) for row in _hit(of["P3"])]
        repaired = [rate for row in of["P3"] if (rate := repairs_per_round(row)) is not None]
        times = {
            p: median([completion(row) for row in table.where(sender=sender, policy=p, what="file")])
            for p in ("P1", "P3")
        }
        rows.append(
            [
                sender, *(_expired(of[policy]) for policy in ("P1", "P2", "P3")), f"{min(dormant):.1f} to {max(dormant):.1f}",
                f"{min(repaired):.1f} to {max(repaired):.1f}" if repaired else "–", f"{times['P1']:.0f} and {times['P3']:.0f} s",
            ]
        )  # fmt: skip
    return rows


TABLE = ResultTable(
    "What depends on the sender",
    (
        "Fades under P1 (queue of 10), P2 (the same with an RTO of 20 s at least) and P3 (queue of 200, RTO of 20 s at least): runs with an RTO of those that lost packets; the longest time without new"
        " data under P3; retransmissions in a round trip under P3; 12 MB under P1 and P3. The test bed's sender was Linux 2.2 with SACK and FACK. Its source (`tcp_input.c` 1.164.2.8 of 23 September"
        " 1999, `tcp_output.c` of 2.2.1) halves cwnd at once, and with SACK retransmits at least one hole for each duplicate ACK; only without SACK it repairs one in a round trip, as NewReno does."
        " So the thesis's one repair in a round trip is not what that source does with SACK. No variant gives all of the thesis's results."
    ),
    (
        "sender",
        "RTO, P1 (X-08)",
        "RTO, P2 (X-10)",
        "RTO, P3 (X-11)",
        "silence, P3, s (N-16)",
        "repairs in a round trip (N-18)",
        "12 MB, P1 and P3 (N-17)",
    ),
    _rows,
    ("recoveries",),
)
