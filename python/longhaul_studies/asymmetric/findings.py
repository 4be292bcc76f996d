"""Findings beyond single targets: paragraphs of the study's document. Measured values are in targets and tables (`tables`)."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "Vegas and the receiver's window": (
        "Two Vegas flows used to behave like Reno here, since rounds limited by the receiver's window were not evaluated. Brakmo and Peterson count the window as the bytes in flight. With"
        " that rule flows leave slow start before they reach the receiver's window, unless both start at about the same time (N-20)."
    ),
    "The dial-up network": (
        "S-17 and S-22 include more of the dial-up network than the two links of the test bed. In S-17 the ACKs pass a link of 1 Mbit/s behind the line, which other customers' bursts fill for a"
        " part of each second. They leave it in clumps, and the download comes in bursts. Vegas interprets the queue of others as its own, ends slow start early and stays at a fraction of its rate."
        " In S-22 eight clients have lines of their own into one backbone, and share it with the uploads of two others. Under P3 a fade of all eight leaves the backbone quiet for"
        " some seconds, in which the uploads take it up. Then all eight return within a second."
    ),
    "A SYN-ACK over the serial line": (
        "Here all packets of one flow and direction take the same path. The SYN-ACK is the first packet towards the client, and it is alone. So in S-24 the forward link has rate and delay of"
        " the serial line until the SYN-ACK has left, and those of the satellite from then on. For one connection that is equivalent. It does not cover a line that is busy with other packets"
        " towards the client. The SYN-ACK announces the server's MSS on either path."
    ),
}
