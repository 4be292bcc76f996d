"""Where the paper contradicts itself or says nothing, and what was decided."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("D1", "Step A-1 is printed \"w < n\"; step B-3 leaves w = W when fewer than W copies are left, all below a through packet.", "A-1: n < w, as A-2 and the text have it. B-3 as printed in the reproduction; the experiment `strict` closes the gap (`guard`)."),
    Decision("D2", "Is a packet 1000 bytes with or without headers?", "1000 bytes on the wire; the throughput counts whole packets, so that 1 Mbit/s is D-Net's rate, as in the figures."),
    Decision("D3", "How long is a run, and what is its steady state?", "60 s, of which the last 30 are looked at; intervals begin at whole seconds."),
    Decision("D4", "What is a fall, and where is the top of a curve, in a throughput that comes in steps of one packet a second (8 kbit/s)?", "A curve is at its top within two packets a second of its largest value; it has fallen (class R-2) where the buffer overflows and a smaller W gave 5 % more. Other differences come and go with where bursts lie in the seconds. The paper prints figures without numbers beside them, so that it may have read them as coarsely."),
    Decision("D5", "How large are the routers' queues?", "1000 packets: nothing is dropped."),
    Decision("D6", "Do premature ACKs carry the destination's window, and when does the PEP send a copy again?", "The destination's, 20 packets. After a retransmission timeout of its own (RFC 6298, at least 200 ms), which nothing in these runs without loss waits for."),
    Decision("D7", "When is the beginning (\"slow start\") over?", "When the first 100 packets have arrived."),
)  # fmt: skip
