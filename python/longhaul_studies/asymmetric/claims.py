"""The thesis's main claims, for the top of the document, with the values of each claim's own quantities in its order."""

from __future__ import annotations

from ..model import Claim
from ..results import Results, Row
from ..verdict import median
from .formulas import KB
from .measures import completion, kilobytes, queue_peak, rate_at_end, repairs_per_round, steady_rate
from .scenarios import FILE
from .targets import LADDER, dormancies, peaks


def _limits(results: Results) -> str:
    plain, compressed = (results["limits"].median(kilobytes, baud=9600, header=header) for header in (40, 7))
    return f"{plain:.1f} and {compressed:.0f} kB/s with a queue that drops no ACK"


def _improved(results: Results) -> str:
    rows = results["improved"].where()
    rate = median([steady_rate(row) for row in rows])
    whole = median([FILE / KB / completion(row) for row in rows])
    return f"{rate:.0f} kB/s, {rate / 32:.2f} times 32 kB/s; {whole:.0f} kB/s with slow start"


def _stalls(results: Results) -> str:
    rows = results["stall"].where(vj=True)
    expired = sum(row["timeouts"] > 0 for row in rows)
    shown = ", ".join(f"{stall:g}" for stall in results["stall"].points("stall"))
    rates = sorted(kilobytes(row) for row in rows)
    return f"an RTO in {expired} of {len(rows)} runs with stalls of {shown} s; {' to '.join(dict.fromkeys(f'{rate:.0f}' for rate in (rates[0], rates[-1])))} kB/s in all"


def _queue_after_loss(results: Results) -> str:
    found = peaks(results)
    return f"{found[0]:.0f} to {found[-1]:.0f} packets, median {median(found):.0f}"


def _expired(rows: list[Row]) -> str:
    hit = [row for row in rows if row["timeouts"] + row["fast_retransmits"] > 0]
    return f"{sum(row['timeouts'] > 0 for row in hit)} of {len(hit)}"


def _policies(results: Results) -> str:
    table = results["policy"]
    p1, p3 = (_expired(table.where(policy=policy)) for policy in ("P1", "P3"))
    sack = _expired(results["recoveries"].where(sender="sack", policy="P1", what="fade"))
    newreno = _expired(results["recoveries"].where(sender="newreno", policy="P3", what="fade"))
    return f"RTO under P1: FACK {p1}, SACK {sack}; under P3: FACK {p3}, NewReno {newreno}"


def _price(results: Results) -> str:
    silent = dormancies(results)
    hit = [row for row in results["file"].where(policy="P3") if row["fast_retransmits"] > 0]
    points = [{name: row.parameters[name] for name in ("fade", "at")} for row in hit]
    p3, p1 = (
        median([completion(results["file"].where(policy=policy, **point)[0]) for point in points])
        for policy in ("P3", "P1")
    )
    rates = [rate for row in results["policy"].where(policy="P3") if (rate := repairs_per_round(row)) is not None]
    return f"{median(silent):.1f} s of silence; {p3:.0f} instead of {p1:.0f} s; {median(rates):.1f} repairs in a round trip"


def _two(results: Results) -> str:
    vegas, reno = (median(results["offsets"].values(queue_peak, congestion=name)) for name in ("vegas", "reno"))
    return f"{vegas:.0f} and {reno:.0f} packets, medians over the second flow's start"


def _compacted(results: Results) -> str:
    rates = sorted(
        rate_at_end(row)
        for row in results["compaction"].where()
        if row.parameters["form"] in ("exact", "traditional") and not row.parameters["lost"]
    )
    return f"{rates[0]:.0f} to {rates[-1]:.0f} kB/s, by the form of the packets and their spacing"


def _five(results: Results) -> str:
    *first, last = (f"{results['ladder'].median(kilobytes, design=name):.0f}" for name in LADDER)
    return f"{', '.join(first)} and {last} kB/s"


CLAIMS = (
    Claim("If each ACK crosses it, a return line of 9600 baud limits a download to 65 kB/s, with header compression to 304.", ("N-03b", "S-03", "N-05"), here=_limits),
    Claim("With a large window and header compression one connection has 254 kB/s over an RTT of 1 s: 7.9 times plain TCP.", ("N-09", "N-10", "N-11", "N-12"), here=_improved),
    Claim("Outages of the return line stop header compression, and end in a timeout.", ("X-06",), here=_stalls),
    Claim("A loss floods the serial queue with duplicate ACKs: 100 to 155 packets.", ("N-14", "S-08"), "Fades of 0.3 s and more lose so many segments that fewer duplicates follow.", _queue_after_loss),
    Claim("A short queue with the default RTO (P1) ends in a timeout, a long one with 20 s (P3) does not.", ("X-08", "X-11", "S-10"), "It depends on how the sender repairs losses, and on the length of the fade.", _policies),
    Claim("P3 pays with at least 10 s of silence, and still is faster: 100 instead of 170 s for 12 MB.", ("N-16", "N-17", "N-18"), "Readings reproduce N-17 and N-18; no median without a timeout is 10 s: FACK's is 9.6 s after short fades (*about 10*).", _price),
    Claim("Two Vegas flows keep the serial queue at 15 to 30 packets, two standard ones at 66 to 88.", ("N-20", "N-19"), "Vegas's peak is that of slow start: it depends on the round trip that counts, and on when the second flow starts.", _two),
    Claim("ACK compaction carries 100 to 200 kB/s at 9600 baud without header compression.", ("N-23b", "X-15"), "It carries more, unless ACKs gather for a fixed time; a lost packet of ACKs costs little, since ACKs are cumulative.", _compacted),
    Claim("Five designs for such paths give 53, 96, 192, 356 and 417 kB/s.", ("X-17 8.1", "X-17 8.2", "X-17 8.3", "X-17 8.4", "X-17 8.5"), "The calculated rates hold to a few per cent; whole segments and delayed ACKs cost the rest.", _five),
)  # fmt: skip
GAP = (
    "what the thesis describes for P3: one packet repaired in a round trip, at least 10 s (typically about 10) without new data, and no timeout. After our fades of 50 to 500 ms new data pauses for 4 to 9 s"
    " with SACK or FACK, which repair three packets in a round trip. After fades of 20 to 50 ms, which the thesis does not exclude, both come near it: new data pauses for 9.3 to 9.8 s, they repair one packet, and no timer"
    " expires. NewReno pauses for 6 to 30 s and repairs one packet; it has a timeout under P1 always and under P2 sometimes, as in the thesis, but under P3 too. In its slow-but-steady form it has none under P3, and none under P2 either."
)
