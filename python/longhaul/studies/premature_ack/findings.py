"""What was found out beyond single targets."""

from __future__ import annotations

FINDINGS = {
    "What W does": (
        "The throughput rises with W as long as D-Net runs dry: W premature ACKs and the window of 20 packets are what can be under way there."
        " It falls where copies find the buffer full: packets pass without one, no premature ACK may cover them, and the source waits for real"
        " ACKs, one of D-Net's round trips each time. The turning points of figures 4 to 7 come out to a packet, without a parameter that"
        " could be turned (W = 37 instead of 38 in figure 6)."
    ),
    "Step B-3 to the letter promises too much": (
        "As printed, w is W again when fewer than W copies are left, all of them below a through packet: the next packet is acknowledged, and the"
        " through packet with it, which nobody could send again if D-Net lost it. Without loss that is a gain: the curve of figure 10 (N = 30)"
        ' tops out higher than with a PEP that keeps every promise (`guard = "strict"`, crosses in the figures). With N = 50 both are the same up to'
        " the fall."
    ),
    "The automatic watermark": (
        "It begins with N less the source's window, which cannot overflow, and rises while D-Net runs dry by half of what stayed free in a loop"
        " (docs/middleboxes.md). It never overflowed the buffer in its steady state at any point. At nine points in ten it is as good as the best"
        " fixed W; it stays behind where the buffer is small against the window (N = 30, a window of 20) and D-Net is long: there a fixed W"
        " between the safe one and the fall gives more, and the PEP does not dare to try."
    ),
    "Loss on D-Net": (
        "A PEP that acknowledges ahead makes the source send beyond the destination's window of 20 packets. As long as nothing is lost that"
        " is the gain; while a hole waits to be filled the destination discards whatever lies beyond. The PEP sends it again as the window has"
        " room, doubling from round trip to round trip; with SACK it gets 1.5 to 3.6 times the goodput of repair by the source alone. A PEP that"
        " answers only partial ACKs, one packet in a round trip, would fall to 3 % of D-Net's rate."
    ),
}
