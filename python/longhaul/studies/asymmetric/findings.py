"""What was found out beyond single targets: paragraphs of the study's document."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "What decides about an RTO under P1": (
        "A fade that costs few segments leaves many duplicate ACKs behind: a hundred full-size ACKs for a queue of ten. The ACK of the repair is dropped with"
        " them, and the timer expires. A fade of 0.3 s and more costs so many segments that few duplicates follow, and the repair's ACK passes: the longer fade does"
        " less harm."
    ),
    "ACK compaction": (
        "At 9600 baud the thesis's own form carries a download of 214 kB/s with a window of 250 kB and a delay of 1 s, the traditional one about the same, where plain ACKs"
        " allow 65 kB/s. ACKs that are spread over the time between packets do not bunch; the loss of a packet of ACKs then costs next to nothing, since ACKs are cumulative."
    ),
    "Header compression and the ACK queue": (
        "The serial queue of 200 packets peaks at 148, as far as the thesis measured (100 to 155), and below its prediction of 176, which lets no ACK leave meanwhile."
    ),
    "What is not run": (
        "S-17 (ACKs that a dial-up router compresses) and S-22 (many clients after one fade) need more of the dial-up network than the two links of the test bed. S-20 is the"
        " paced protocol's. For S-24, a SYN-ACK over the serial line, packets of one flow and direction would have to take different ways, which they do not here."
    ),
}
