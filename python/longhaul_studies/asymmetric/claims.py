"""The thesis's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim
from ..results import Results
from .measures import kilobytes, rate_at_end


def _stalls(results: Results) -> str:
    rows = results["stall"].where(vj=True)
    expired = sum(row["timeouts"] > 0 for row in rows)
    shown = ", ".join(f"{stall:g}" for stall in results["stall"].points("stall"))
    rates = sorted(kilobytes(row) for row in rows)
    return f"an RTO in {expired} of {len(rows)} runs with stalls of {shown} s; {' to '.join(dict.fromkeys(f'{rate:.0f}' for rate in (rates[0], rates[-1])))} kB/s"


def _compacted(results: Results) -> str:
    rates = sorted(
        rate_at_end(row)
        for row in results["compaction"].rows
        if row.parameters["form"] in ("exact", "traditional") and not row.parameters["lost"]
    )
    return f"{rates[0]:.0f} to {rates[-1]:.0f} kB/s, by the form of the packets and their spacing"


CLAIMS = (
    Claim("A return line of 9600 baud limits a download to 65 kB/s by its ACKs alone, and header compression lifts that to 304.", ("N-03b", "S-03", "N-05")),
    Claim("With a large window and header compression one connection has 254 kB/s over an RTT of 1 s: 7.9 times plain TCP.", ("N-09", "N-10", "N-11", "N-12")),
    Claim("Outages of the return line stop header compression, and end in a timeout.", ("X-06",), here=_stalls),
    Claim("A loss floods the serial queue with duplicate ACKs: 100 to 155 packets.", ("N-14", "S-08")),
    Claim("A short queue with the default RTO (P1) ends in a timeout, a long one with 20 s (P3) does not.", ("X-08", "X-11", "S-10"), "It depends on how the sender repairs losses."),
    Claim("P3 pays with at least 10 s of silence, and still is faster: 100 instead of 170 s for 12 MB.", ("N-16", "N-17", "N-18"), "It depends on the sender: no known recovery gives all of it."),
    Claim("Two Vegas flows keep the serial queue at 15 to 30 packets, two standard ones at 66 to 88.", ("N-20", "N-19"), "Vegas's peak is that of slow start: it depends on when the second flow starts."),
    Claim("ACK compaction carries 100 to 200 kB/s at 9600 baud without header compression.", ("N-23b", "X-15"), "Here it carries more, and losing a packet of ACKs costs little: ACKs are cumulative.", _compacted),
    Claim("Five designs for such paths give 53, 96, 192, 356 and 417 kB/s.", ("X-17 8.1", "X-17 8.2", "X-17 8.3", "X-17 8.4", "X-17 8.5"), "The calculated rates hold to a few per cent; delayed ACKs cost the rest."),
)  # fmt: skip
GAP = (
    "under P3 new data pauses for 4 to 9 s with SACK or FACK, for at least 10 s in the thesis. NewReno pauses for 6 to 30 s and repairs one packet in a round trip,"
    " but has the timeouts under P3 that the thesis did not have."
)
