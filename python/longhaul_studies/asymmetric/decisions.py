"""Points that the thesis leaves open, with decisions."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("A2", "Framing of 1 or 2 bytes?", "2 everywhere, as in table 5.1. SLIP's escapes are not modelled."),
    Decision(
        "A3",
        "A compressed header has 5 to 7 bytes.",
        "7, with the real compressor and decompressor. Counted byte by byte, an ACK of two segments has 6: our receiver's window is constant, that of Linux 2.2 was not.",
    ),
    Decision(
        "A4",
        "Where is header compression?",
        "Behind the queue: dropped packets do not desynchronise it, and the queue counts packets.",
    ),
    Decision("A5", "Initial window and delayed ACK timer?", "Both 1 and 2 packets for table 5.2, else 2; 200 ms."),
    Decision(
        "A6",
        "Lengths of cable pulls and stalls?",
        "50 to 500 ms at three moments (full scale). The stall loses the packets that leave the line during it: in F6.1 bytes were lost.",
    ),
    Decision(
        "A7",
        "Where in the 12 MB file is the loss?",
        "One fade at a quarter, half and three quarters of the time without loss; the verdict uses medians.",
    ),
    Decision(
        "A8",
        "Chapter 7's queue, RTO and header compression?",
        '200 packets, 200 ms, compression on, 250 kB for each flow. "Almost together" is 0 to 10 s apart; the median over these starts decides on the queue.',
    ),
    Decision("A9", "Where is the delay?", "All of it is on the return path."),
    Decision(
        "A11",
        "FACK of Linux 2.2?",
        "FACK halves the window at once, not over a round trip, as the source of Linux 2.2 does; the pipe controls new data, and retransmissions too. Linux 2.2 sends one for each duplicate ACK at least.",
    ),
    Decision(
        "A12",
        "The throttle's algorithm?",
        "A shaper: a link of R x 1500/1460 with a queue of one window (A13: payload counts).",
    ),
    Decision("A14", "What do the 600 ms include?", "600 ms without load, transmission included."),
    Decision(
        "A21",
        "Windows of 250, 256 and 260 kB.",
        "260,002 bytes, as advertised, for table 5.2; 250 kB in chapters 6 and 7.",
    ),
    Decision(
        "X-..",
        "Experiments that are numbers as well.",
        "X-02 is N-02, X-04 N-08, X-05 N-09 to N-12, X-07 N-13 and N-14, X-12 N-17, X-13 N-19 to N-21. X-03, the accuracy of delays, belongs to the emulator: docs/emulator.md.",
    ),
    Decision(
        "N-28",
        "A modem's own delay, 260 ms for a packet of 26 ms.",
        "Not modelled; it is part of the line's `delay`.",
    ),
    Decision("X-01", "Ping.", "There is no ping; N-01 is by formula. N-02 is the spacing of ACKs that fill the line."),
)
