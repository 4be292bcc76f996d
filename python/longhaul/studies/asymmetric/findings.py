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
    "Robust header compression": (
        "With five bytes for every ACK, duplicates too, and nothing to lose step over, section 9.3's compressor does what it asks for: at 9600 baud and a round trip of 1 s a"
        " download with a window of 250 kB runs at 246 kB/s whether the line loses none or 3 % of its frames, where Van Jacobson's falls from 246 to 58 kB/s at 0.1 % and 12 kB/s at"
        " 1 %, below the 65 kB/s without any compression (S-23c). After a fade under P3 the queue peaks at 88 instead of 134 packets, and new data pauses for 1.4 s instead of 5.1 s."
    ),
    "ACK compaction over TCP": (
        "The thesis proposes to carry compacted packets over TCP. On a line that loses nothing that costs 3 %; at 1 % of loss the download falls to 48 kB/s and at 5 % to 5 kB/s,"
        " where datagrams keep 208: ACKs are cumulative and need no retransmission, only to arrive soon."
    ),
    "Vegas and the receiver's window": (
        "Two Vegas flows used to behave like Reno here, since rounds that the receiver's window limits were not judged. Brakmo and Peterson take the window for what is in transit; judged"
        " by that, both flows leave slow start at once and settle at 105 and 115 segments with two ACKs in the queue."
    ),
    "Pages after idle periods": (
        "On a persistent connection, pages of 250 kB that are 10 s apart take 10.0 s with slow start after idleness, 3.1 s with half the window paced over a round trip, 1.6 s with the whole"
        " window at once, which is what the thesis warns of: here nothing but the client's own line has to bear it."
    ),
    "What is not run": (
        "S-17 (ACKs that a dial-up router compresses) and S-22 (many clients after one fade) need more of the dial-up network than the two links of the test bed. S-20 is the"
        " paced protocol's. For S-24, a SYN-ACK over the serial line, packets of one flow and direction would have to take different ways, which they do not here."
    ),
}
