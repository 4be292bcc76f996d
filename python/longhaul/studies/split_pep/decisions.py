"""Where the thesis says nothing or contradicts itself, and what was decided."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("D1", "Which TCP is at the ends?", "ns-2's one-way agents: SACK, no handshake, no timestamps, an ACK counts one segment, receivers delay ACKs by 100 ms, initial window 2, minimum RTO 1 s."),
    Decision("D2", "When do flows start?", "Uniformly in the first second."),
    Decision("D3", "How much of the beginning is left out?", "300 of 2000 s; 200 of 600 s at the quick scale."),
    Decision("D4", "What is utilisation in Mbit/s, if 96.2 occurs?", "Payload of every packet on the split link: at most 100 x 1000/1040 = 96.15."),
    Decision("D5", "RED's settings.", "The printed ones: thresholds 62.5 and 187.5 (a mean packet of 500 B), max_p 0.1, w_q 5.33e-6, gentle, no adaptation, no ECN. The local queue's are those of the split link."),
    Decision("D6", "Credit and timer of the local queue.", "800 x 1040 B and 3 ms, as in the sample script (the tables say 200 and 10 ms). The credit is what was let in and not sent yet, so that it cannot leak."),
    Decision("D7", "How are flows told apart?", "By a field that takes no room (`framing = \"pepid\"`), as in the thesis."),
    Decision("D8", "Which CUBIC is on the split connection?", "That of Linux when ns-2 took it over: after a loss 0.8 of the window is left (819/1024 in version 2.0, with which Linux began; 717/1024, so 0.7, in version 2.3 of 2008 and in RFC 9438). It corrects its growth for delayed ACKs, as counting bytes does. Standard slow start."),
    Decision("D9", "What do Pareto flows offer?", "A packet of 1000 B of payload for each event of 210 B: 158 kbit/s on the wire for each flow instead of 32. Only so do 650 flows fill 100 Mbit/s, as the thesis says."),
    Decision("D10", "A first back-off at 5500 s, if slow start overflows the link's queue at once?", "Slow start's loss is not counted: it ends near a window of 1000 packets (500 of the queue), from where half a packet a round trip (delayed ACKs) takes 5500 s."),
    Decision("D11", "Flow numbers 23 and 547 of figures 4.3, 4.4, 4.10, 4.11.", "The same numbers, counted from 0."),
)  # fmt: skip
