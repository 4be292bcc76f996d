"""What the thesis leaves open, and what was decided; the numbers are those of its specification (section 8)."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("1", "The scaling factor is printed wrongly.", "R2 (last / new). R1, the worked example, leaves half of the bottleneck of experiment 2 empty with 50 sources; all readings stand beside each other in experiment `readings`."),
    Decision("7", "What does a timeout do?", "Two versions stand beside each other: sigma and rho times 0.9 (`sttp`, as the specification recommends for fidelity), and times 0.5 (`sttp half`, the safer one), whose numbers are nearer to the thesis's. It was chosen by experiment 2 at 10, 50 and 100 sources; the other rows and experiments are a test of it."),
    Decision("3", "Which weights in experiments 1, 2, 4, 5, 6?", "5:5."),
    Decision("4", "First depth of the bucket?", "What the first rate fills in the round trip of the probe, at least one packet; full at first; dead below one token a second."),
    Decision("6", "Reaction to loss?", "sigma and rho times 0.9, once in a recovery; Reno's retransmission; no slow start, also after a timeout."),
    Decision("8", "Retry of probes?", "None in experiments 1 to 6; five in `starts` and on the path of today. What each addition of the future work brings is measured in `additions`, `contests` and `people`."),
    Decision("9, 10", "Windows, packets, Vegas?", "20 packets of 1000 bytes with headers; alpha 1, beta 3, gamma 1, the mean round trip of a round and an eighth less at the end of slow start, as in ns-2."),
    Decision("11, 12", "Bottlenecks of experiments 4 and 5 and of the long runs?", "0.5 Mbit/s and 0.8 Mbit/s with 64 packets."),
    Decision("13, 14", "Buffers, access links?", "Packets, first in, first out, drop-tail; 10 Mbit/s and 1 ms."),
    Decision("15", "Experiment 1's delays, packets, length?", "10 ms, 64 packets, packets of 500 bytes, 100 s with intervals of 10 s, of which the first is left out; no window limit, since Reno loses with a single flow. Packets count as their source sends them, and drops at its own link too, which is as slow as the one in the middle: REAL counts what each source sends, and with drops in the middle alone Reno would lose 5.5 % instead of 11.8 %. Other buffers, windows and buckets stand beside each other in experiment `first`. A probe is waited for 60 s: echoes take more than 1 s, and no source of the thesis is dead."),
    Decision("19", "Starts?", "Every 2 s (experiments 2, 4, 5, 6), every 5 s (long runs), within 0.1 s (experiment 3), each up to 0.1 s late at random: nothing else is random with bulk transfers, and seeds must differ."),
    Decision("20", "The film and the log of requests cannot be had.", "A synthetic film of 24 frame/s, 0.37 Mbit/s, peak 185 kbit; requests of 200 to 1500 bytes with Pareto gaps of 1 s (shape 1.5). Each write is filled up to whole packets, as in ns-2."),
    Decision("21", "Requests cannot load 100 Mbit/s.", "Experiment 6 has bursts of 10 Mbit/s, half of the time (Pareto, 0.5 s): more than 20 nodes offer more than the link carries."),
    Decision("C1", "The period without ACKs after which the average window is given up?", "The next timeout."),
    Decision("M", "A path of today?", "50 Mbit/s, 600 ms, a queue of 2500 packets; ten readers (a document of 20 kB and about 20 objects of 12 kB, six persistent connections, 10 s to read), ten typists, two files, beside two files of a rival. TCP with RACK; STTP as the specification would deploy it (section 1.11). For the additions the same path has 5 Mbit/s up."),
)  # fmt: skip
