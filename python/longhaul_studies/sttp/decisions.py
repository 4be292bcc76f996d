"""Points that the thesis leaves open, with decisions."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("1", "The scaling factor is printed wrongly.", "R2 (last / new). R1, the worked example, leaves more than half of the bottleneck of experiment 2 unused with 50 sources (table *Readings of the factor, the bucket and the timeout*)."),
    Decision("7", "What does a timeout do?", "Two versions are compared: sigma and rho times 0.9 (`sttp`, the closest reading), and times 0.5 (`sttp half`, the safer one), whose numbers are nearer to the thesis's. It was chosen by experiment 2 at 10, 50 and 100 sources; the other rows and experiments test the choice."),
    Decision("3", "Which weights in experiments 1, 2, 4, 5, 6?", "5:5."),
    Decision("4", "Initial depth of the bucket?", "The tokens of the initial rate in the round trip of the probe, at least one packet. The bucket begins full. A flow below one token a second is dead."),
    Decision("6", "Reaction to loss?", "sigma and rho times 0.9, once per recovery; Reno's retransmission; no slow start, not even after a timeout."),
    Decision("8", "Retry of probes?", "None in experiments 1 to 6; five in `starts` and on today's path. Experiments `additions`, `contests` and `people` measure the effect of each addition of the thesis's future work."),
    Decision("9, 10", "Windows, packets, Vegas?", "20 packets of 1000 bytes with headers; alpha 1, beta 3, gamma 1, the mean round trip of a round and an eighth less at the end of slow start, as in ns-2."),
    Decision("11, 12", "Bottlenecks of experiments 4 and 5 and of the long runs?", "0.5 Mbit/s and 0.8 Mbit/s with 64 packets."),
    Decision("13, 14", "Buffers, access links?", "Packets, first in, first out, drop-tail; 10 Mbit/s and 1 ms."),
    Decision("15", "Experiment 1's delays, packets, length?", "10 ms, 64 packets, packets of 500 bytes, 100 s with intervals of 10 s, the first of them left out. No window limit for Reno, since it loses packets with a single flow; STTP keeps its 20 packets (a reading has no window for either, and buffers of 200). Packets count when the source sends them, and drops at its own link count too, which is as slow as the bottleneck: REAL counts the packets that each source sends, and with drops at the bottleneck alone Reno would lose about half as much. Experiment `first` compares other buffers, windows and buckets. Its timer is that of RFC 6298."),
    Decision("19", "Starts?", "Every 2 s (experiments 2, 4, 5, 6), every 5 s (long runs), every 10 s from 1 s on (experiment 3, as its totals have it), each delayed at random by up to 0.1 s. With bulk transfers nothing else is random, and seeds must differ."),
    Decision("T", "Which timer has TCP, and which a probe?", "ns-2's of 1999: ticks of 100 ms, integers, one timed segment a round trip (`rto.ticks`), whose RTO stays three ticks above SRTT. A probe has none (600 s here). RFC 6298's formulas and a probe timer of 1 s, which were the base before, are readings."),
    Decision("20", "The film and the log of requests are not available.", "A synthetic film of 24 frame/s, 0.37 Mbit/s, peak 185 kbit; requests of 200 to 1500 bytes with Pareto gaps of 1 s (shape 1.5). Each write is padded to whole packets, as in ns-2."),
    Decision("21", "Requests cannot load 100 Mbit/s.", "Experiment 6 has bursts of 10 Mbit/s, half of the time (Pareto, 0.5 s): more than 20 nodes offer more than the link carries. Its buffer is that of the basic configuration, 64 packets; 128 are a reading."),
    Decision("C1", "After which period without ACKs is the average window discarded?", "At the next timeout."),
    Decision("M", "What is a path of today?", "50 Mbit/s, 600 ms, a queue of 2500 packets. Ten readers (a document of 20 kB and about 20 objects of 12 kB, six persistent connections, 10 s to read), ten typists and two files compete with two files of a rival. TCP uses RACK. STTP has no window limit, retries probes, halves its rate after a timeout and limits the steps of its rate. For the additions the same path has 5 Mbit/s on the return link."),
)  # fmt: skip
