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
    "ACK congestion control": (
        "Between the ends (RFC 5690) it does what it is for where a queue loses ACKs: at 9600 baud and a queue of 10 nobody's control loses 9,943 packets, the ends 30; the download gains a"
        " quarter, and keystrokes of the same client, which had waited 26 s for their echo among ACKs, wait 0.9 s. A filter at the client's edge, which sees the line, gets a little more."
        " But the ends hear of congestion by losses alone: behind a queue of 200, where ACKs wait 4 s and none is lost, they change nothing, and the filter makes 329 of 59 kB/s."
    ),
    "The dial-up network": (
        "S-17 and S-22 have more of the dial-up network than the two links of the test bed. Behind the line the ACKs of S-17 pass a link of 1 Mbit/s that other customers' bursts fill for a"
        " part of each second: they leave it in clumps, the download in bursts of 68 segments instead of 6, and Vegas, which takes the queue of others for its own, ends slow start at 77 of 250 kB and"
        " stays at a tenth of its rate. In S-22 eight clients have lines of their own into one backbone, which they share with the uploads of two others. Under P3 a fade of all lets the backbone fall quiet for"
        " seven seconds, in which the others take it up; then all come back within a second."
    ),
    "A SYN-ACK over the serial line": (
        "Packets of one flow and direction take one way here. The SYN-ACK is the first packet towards the client, and it is alone; so S-24 is run with a forward link that has rate and delay of"
        " the serial line until the SYN-ACK has left, and those of the satellite from then on. For one connection that is the same; what is not in it is a line that other packets"
        " towards the client keep busy. The MSS that the SYN-ACK announces is the server's, whatever its way."
    ),
}
