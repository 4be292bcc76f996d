"""Findings beyond single targets."""

from __future__ import annotations

FINDINGS = {
    "Against real kernels": (
        "Two Linux 6.18 kernels with CUBIC behind the emulator took 5.88, 7.59 and 22.5 s for 2, 10 and 100 MB at 50/10 Mbit/s, with send buffers that did not limit. The"
        " simulation takes 5.88, 7.59 and 22.5 s with such buffers. A test keeps it within 1 %. With the 4 MiB that kernels have by default, 100 MB took 28.2 s (the emulator's"
        " program, a queue of 4 MB, two runs) and 28.8 s simulated (row *TCP cubic, 4 MiB to send*), at 250/3 Mbit/s 28.7: the buffer is the limit there, and not the link."
    ),
    "The start decides short transfers": (
        "The link carries 10 MB in 0.3 to 8.4 s. Ten packets at first, doubled in each round trip, need eight round trips (5.2 s) until they fill 50 Mbit/s. Controls that"
        " open faster meet objectives for 2 and 10 MB at 50/10 and 250/3 Mbit/s: Hybla, which counts with a round trip of 25 ms, and quinn-proto's BBR, which begins with 200 packets."
    ),
    "Random loss decides the rest": (
        "At 1 % loss CUBIC does not end within ten times the objective: no transfer of 10 or 100 MB does, and few of 2 MB. BBR does not take single losses for congestion and ends, later than without loss. What is lost costs a round trip"
        " more at the end of a transfer: an erasure code removes it (paced protocol, coded, 1.0 instead of 2.2 s for 10 MB)."
    ),
    "A proxy at the satellite link has what end hosts lack": (
        "The paced protocol of 1999 stands at the link, holds its rate and its queue, and needs no start: without loss it comes to within 1 % of the ideal, but for 100 MB at 250 Mbit/s (4.6 instead of 4.0 s). It is made for downloads;"
        " its way up is a plain TCP connection. A split with a modern congestion control over the long hop gains the handshake only: the long hop starts with ten packets too,"
        " and has Linux's send buffer of 4 MiB, which limits 100 MB (decision D4)."
    ),
    "The accelerator's hop meets all objectives": (
        "It holds the link's rate from the first packet, and its handshake is over before a transfer begins. So it stays within 4 % of the ideal without loss and at"
        " 1 % loss for 2 and 10 MB; 100 MB at 250 Mbit/s and 1 % take 5.1 s instead of 4.0. Parities spare a round trip at 1 % loss (0.7 s for 2 and 10 MB) and cost"
        " up to 2 % where nothing is lost."
    ),
    "STTP over a split": (
        "STTP measures the link by trains of packets. The split hands a connection over the long hop two segments at a time, which is no train: so it starts from the initial"
        " window and grows by some 3 % in a round trip. From host to host it takes 2.3 to 4.1 s for 2 MB."
    ),
}
