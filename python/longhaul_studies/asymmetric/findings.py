"""Findings beyond single targets: paragraphs of the study's document."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "Causes of an RTO under P1": (
        "A fade with few lost segments leads to many duplicate ACKs: a hundred full-size ACKs for a queue of ten. The queue drops the ACK of the repair with"
        " them, and the timer expires. A fade of 0.3 s and more costs so many segments that few duplicates follow, and the repair's ACK passes: the longer fade does"
        " less harm."
    ),
    "ACK compaction": (
        "At 9600 baud the thesis's own form carries a download of 214 kB/s with a window of 250 kB and a delay of 1 s, the traditional form about the same, and plain ACKs"
        " 65 kB/s. ACKs that are spread over the time between packets do not bunch. The loss of a packet of ACKs then costs next to nothing, since ACKs are cumulative."
    ),
    "Header compression and the ACK queue": (
        "The serial queue of 200 packets has a peak of 148. This is in the range of the thesis's measurements (100 to 155), and below its prediction of 176, which lets no ACK leave meanwhile."
    ),
    "Robust header compression": (
        "The compressor of section 9.3 sends five bytes for every ACK, duplicates too, and cannot lose synchronisation. It has the requested effect. At 9600 baud and a round trip of 1 s a"
        " download with a window of 250 kB runs at 246 kB/s, with no loss and with 3 % of lost frames. Van Jacobson's falls from 246 to 58 kB/s at 0.1 % and 12 kB/s at"
        " 1 %, below the 65 kB/s without any compression (S-23c). After a fade under P3 the queue has a peak of 88 instead of 134 packets, and new data pauses for 1.4 s instead of 5.1 s."
    ),
    "ACK compaction over TCP": (
        "The thesis proposes to carry compacted packets over TCP. On a line without loss that costs 3 %. At 1 % of loss the download falls to 48 kB/s and at 5 % to 5 kB/s,"
        " where datagrams keep 208. ACKs are cumulative: they need no retransmission, but timely arrival."
    ),
    "Vegas and the receiver's window": (
        "Two Vegas flows used to behave like Reno here, since rounds limited by the receiver's window were not evaluated. Brakmo and Peterson count the window as the bytes in flight. With"
        " that rule both flows leave slow start at once and settle at 105 and 115 segments with two ACKs in the queue."
    ),
    "Pages after idle periods": (
        "On a persistent connection, pages of 250 kB that are 10 s apart take 10.0 s with slow start after idle time, 3.1 s with half the window paced over a round trip, and 1.6 s with the whole"
        " window at once. The thesis warns of the last; here its burst meets only the client's own line."
    ),
    "ACK congestion control": (
        "Between the ends (RFC 5690) it has its intended effect where a queue drops ACKs. At 9600 baud and a queue of 10, 9,943 packets are lost without control and 30 with it. The download gains a"
        " quarter, and the echo of the same client's keystrokes takes 0.9 s instead of 26 s among ACKs. A filter at the client's edge, with access to the line, gets a little more."
        " But the ends detect congestion by losses alone. Behind a queue of 200, where ACKs wait 4 s and none is lost, they change nothing; the filter raises 59 kB/s to 329."
    ),
    "The dial-up network": (
        "S-17 and S-22 include more of the dial-up network than the two links of the test bed. In S-17 the ACKs pass a link of 1 Mbit/s behind the line, which other customers' bursts fill for a"
        " part of each second. They leave it in clumps, and the download comes in bursts of 68 segments instead of 6. Vegas interprets the queue of others as its own, ends slow start at 77 of 250 kB and"
        " stays at a tenth of its rate. In S-22 eight clients have lines of their own into one backbone, and share it with the uploads of two others. Under P3 a fade of all eight leaves the backbone quiet for"
        " seven seconds, in which the uploads take it up. Then all eight return within a second."
    ),
    "A SYN-ACK over the serial line": (
        "Here all packets of one flow and direction take the same path. The SYN-ACK is the first packet towards the client, and it is alone. So in S-24 the forward link has rate and delay of"
        " the serial line until the SYN-ACK has left, and those of the satellite from then on. For one connection that is equivalent. It does not cover a line that is busy with other packets"
        " towards the client. The SYN-ACK announces the server's MSS on either path."
    ),
}
