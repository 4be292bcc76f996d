"""Points that the thesis leaves open or contradicts itself in, with decisions."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("D1", "Which TCP do the end hosts use, and do receivers delay ACKs?", "ns-2's one-way agents: SACK, no handshake, no timestamps, an ACK counts one segment, initial window 2, minimum RTO 1 s. Receivers acknowledge every packet, ns-2's default: the thesis configures delayed ACKs (100 ms) at the sinks of the split nodes only, and they exist only with the PEP."),
    Decision("D2", "When do flows start?", "Uniformly in the first second; the seed draws it. The readings have all starts at once."),
    Decision("D3", "How long is the warm-up?", "300 of 2000 s; with the PEP and CUBIC 100 of 300 s, after which means change by less than a thousandth. At the quick scale 200 of 600 s without the PEP (300 of 2000 s for up to 10 flows), 50 of 150 s with it."),
    Decision("D4", "Which utilisation in Mbit/s can reach 96.2?", "The payload of every packet on the split link: at most 100 x 1000/1040 = 96.15."),
    Decision("D5", "Which queue is RED, and with which settings?", "The PEP's local queue: without the PEP the split link has DropTail with the stated limit (section 4.3, caption of figure 4.6, sample script). Settings as printed: thresholds 62.5 and 187.5 (a mean packet of 500 B), max_p 0.1, w_q 5.33e-6, gentle, no adaptation, no ECN. The local queue has the settings of the split link."),
    Decision("D6", "Credit and timer of the local queue.", "800 x 1040 B and 3 ms, as in the sample script (the tables have 200 and 10 ms). The credit covers admitted bytes that are not sent yet, so that it cannot leak."),
    Decision("D7", "What identifies a flow?", "A field without size (`framing = \"pepid\"`), as in the thesis."),
    Decision("D8", "Which CUBIC does the split connection use?", "Linux's version when ns-2 adopted it: a loss leaves 0.8 of the window (819/1024 in version 2.0, the first in Linux; 717/1024, so 0.7, in version 2.3 of 2008 and in RFC 9438). It corrects its growth for delayed ACKs, which equals counting bytes. Standard slow start."),
    Decision("D9", "What load do Pareto flows offer?", "A packet of 1000 B of payload for each event of 210 B: 158 kbit/s on the wire for each flow instead of 32. Only with this load do 650 flows fill 100 Mbit/s, as in the thesis."),
    Decision("D10", "How can the first back-off occur at 5500 s, if slow start overflows the link's queue at once?", "The loss in slow start is not counted. Growth by half a packet per round trip (delayed ACKs) takes 5500 s from a window near 1000 packets on. Slow start ends there with ns-2's SACK and 50 flows (1032 packets), and in the base at about 2200 (S1a)."),
    Decision("D11", "Flow numbers 23 and 547 of figures 4.3, 4.4, 4.10, 4.11.", "The same numbers, counted from 0."),
)  # fmt: skip
