"""Points that the paper leaves open or contradicts itself in, with decisions."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("D1", "Step A-1 is printed \"w < n\". Step B-3 leaves w = W when fewer than W copies are left, all below a through packet.", "A-1: n < w, as in A-2 and the text. B-3 is reproduced as printed; the experiment `strict` closes the gap (`guard`)."),
    Decision("D2", "Is a packet 1000 bytes with or without headers?", "1000 bytes on the wire. The throughput counts whole packets, so that 1 Mbit/s is D-Net's rate, as in the figures."),
    Decision("D3", "How long is a run, and when is it in its steady state?", "A run takes 60 s; its last 30 s are measured. Intervals begin at whole seconds."),
    Decision("D4", "The throughput has steps of one packet a second (8 kbit/s). When does a curve reach its top, and when does it fall?", "A curve is at its top within two packets a second of its largest value. It has fallen (class R-2) if the buffer overflows and a smaller W gave 5 % more. Smaller differences depend on the position of bursts within the seconds. The paper's figures have no numbers, so that its own reading may be as coarse."),
    Decision("D5", "How large are the routers' queues?", "1000 packets: nothing is dropped."),
    Decision("D6", "Which window do premature ACKs carry, and when does the PEP retransmit a copy?", "The destination's window, 20 packets. The PEP retransmits after an RTO of its own (RFC 6298, at least 200 ms). These runs without loss never need it."),
    Decision("D8", "The text of the example (figure 3) reads \"from 15 to 23\", though its packet 22 has passed without a copy, as 15 has.", "Packets 15 and 22 are not in the buffer, as the figure has it. A test has the example."),
    Decision("D7", "When does the beginning (\"slow start\") end?", "When the first 100 packets have arrived."),
)  # fmt: skip
