"""Findings beyond single targets."""

from __future__ import annotations

FINDINGS = {
    "The effect of W": (
        "The throughput rises with W as long as D-Net runs dry: at most W + 20 packets, which is the window of 20 more than W, are in flight there."
        " It falls where packets find the buffer full. They pass without a copy, no premature ACK may cover them, and the source waits for their"
        " real ACKs, one round trip of D-Net each time. The turning points of figures 4 to 7 agree to a packet"
        " (W = 37 instead of 38 in figure 6). No parameter is fitted; that W = 25 counts as full in figure 4 needs the 16 kbit/s of decision D4. In figure 6 W = 37 has 1.00 Mbit/s, W = 38 has 0.86 and W = 0 has 0.55; in"
        " figure 7 W = 31 has 0.82, W = 32 has 0.66 and W = 0 has 0.32. Six other readings of what the paper leaves open (packets, handshake, ACKs, growth, recovery, guard) have 37 too. With timestamps it is 38:"
        " the place of packets within a second then shifts by 1 %, and the curve falls at 39 but not at 40, so that the last packet is a matter of phases (section *Readings*)."
    ),
    "Step B-3 as printed acknowledges too much": (
        "As printed, w returns to W when fewer than W copies are left, all of them below a through packet. The PEP then acknowledges the next packet,"
        " and the through packet with it. If D-Net lost the through packet, no node could retransmit it. Without loss this is a gain: the curve of"
        ' figure 10 (N = 30) has a higher top than with a PEP that only acknowledges what it holds (`guard = "strict"`, crosses in the figures).'
        " With N = 50 both are the same up to the fall."
    ),
    "The automatic watermark": (
        "It begins with N less the source's window, which cannot overflow. While D-Net runs dry it rises by half of the space that stayed free in a"
        " loop (docs/middleboxes.md). It never overflowed the buffer in its steady state at any point. At nine points in ten it is as good as the best"
        " fixed W. It stays behind where the buffer is small compared with the window (N = 30, a window of 20) and D-Net is long: there a fixed W"
        " between the safe one and the fall gives more, and the PEP does not risk it."
    ),
    "Several PEPs along the path": (
        "The paper names them twice and has no runs. In figure 5 the window of 20 packets over a round trip of 200 ms limits the source to 0.8 Mbit/s, whatever W is. A second PEP within"
        " S-Net makes two loops of it, each shorter, in which the same window carries more: D-Net's 1 Mbit/s is reached from W = 15 on with parts of 50 + 50, 20 + 80 and 80 + 20 ms, and from 10 on"
        " with three PEPs (target A6, experiment `in a row`). The order matters: with 20 + 80 ms the throughput falls to 0.78 Mbit/s from W = 31 on, with 80 + 20 ms it stays."
    ),
    "Loss on D-Net": (
        "A PEP that acknowledges ahead makes the source send beyond the destination's window of 20 packets. Without loss this is the gain."
        " With a hole in the data, the destination discards everything beyond its window. The PEP retransmits it as the window has"
        " room, twice as much each round trip; with SACK it reaches 1.4 times the goodput of repair by the source alone at 0.1 % loss and 3.9 times at 3 %, and 2.0 and 3.2 times with the automatic W (A5). A PEP that"
        " reacts to partial ACKs only, one packet per round trip, would fall to 3 % of D-Net's rate."
    ),
}
