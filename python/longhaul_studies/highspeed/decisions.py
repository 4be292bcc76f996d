"""Points that the study leaves open or contradicts itself in, with decisions."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("A1", "Low_Window is 38 in section 3.3 and 31 in table 5.3.", "31 in simulations, 38 in the theory's tables and figures."),
    Decision("A2", "Low_P of the set with 31 is not stated (\"approximately 0.001\").", "1.5 / 31², which continues a(w) from 1 without a step, as in ns-2."),
    Decision("A3", "The exponent of equation 3.8 is garbled; 3.5 holds only at High_Window.", "1/S; equation 3.7."),
    Decision("A4", "Long flows start in the first tenth (text) or twentieth (script) of the run.", "Uniformly in the first twentieth. E1, E11 and E12, which are evaluated over time, start at 0."),
    Decision("A5", "Are the long flows at end nodes of different delay (text) or at the routers (script)?", "At the routers: base RTT 100 ms for all. The random start and the send overhead of up to 8 µs break phase effects."),
    Decision("A6", "Is a packet 1500 bytes with or without headers?", "1500 bytes on the wire; windows count packets."),
    Decision("A7", "Access links of the web hosts: 100,000 or 10,000 Mbit/s.", "10,000 Mbit/s; it makes no difference."),
    Decision("A8", "The number of web sessions is not given.", "10 each way; all noise together stays below 1 % of the link (checked by a target)."),
    Decision("A9", "RED's thresholds are automatic and not printed.", "min_th 625, max_th 1875, weight 4e-6: ns-2's rules with its mean packet of 500 bytes. No other values agree with table 6.1."),
    Decision("A10", "RED's gentle part ends at the buffer (text) or at twice max_th (slope, script).", "At twice max_th."),
    Decision("A11", "Which packet is dropped when the buffer is full?", "The arriving packet."),
    Decision("A12", "Is there noise in E1, E7, E11?", "None in E1, E11 and E12 (\"without external interference\"), noise in E7."),
    Decision("A13", "Do the two flows of E1 run together?", "They run separately and are drawn together."),
    Decision("A14", "CER over the packets of the class, or of the link?", "Of the class in figures 6.3, 6.9, 6.14, 6.22; of the link in 6.5 and 6.32."),
    Decision("A15", "\"Packets sent\" or departures from the queue?", "Departures, as the script counts."),
    Decision("A16", "What is the reference of bandwidth stolen?", "E2, E3, E4, E6: half of the utilisation that as many REGTCP flows have alone, with subtracted medians. E10, where the competitors are REGTCP themselves: the utilisation of the ten flows without a competitor."),
    Decision("A17", "RF above 35 (6.2) or above 20 (7.2.3)?", "Both: single runs above 35, with DT above 20."),
    Decision("A18", "HSTCP's knee at 6 flows (6.6) or 2 (7.2.1)?", "6: by the response function five flows fill the link at 1e-5."),
    Decision("A19", "\"Dropped around 70 %\": by or to?", "The target tests only that REGTCP falls and that perturbations use less than 10 %; it shows the value."),
    Decision("A20", "How many HSTCP flows are there in the second set of E8?", "One, as in the theory's figures."),
    Decision("A21", "Is the x axis of figure 6.27 the imposed loss rate or the measured event rate?", "The imposed one."),
    Decision("A22", "Standard TCP's constant is 1 in figure 6.28 and 1.2 in table 3.3.", "1 for the curves of parallel streams, 1.2 for fairness; measured rates are compared with 1.2."),
    Decision("A23", "\"Lost in the first half\" of table 6.1 is impossible: the event of the second row is at 63.75 of 100 s.", "Packets dropped or marked up to 5 s after the first cut: all that slow start causes, and none of the later ones."),
    Decision("A24", "The first row of table 6.1 has 33,032 packets after 1.30 s; ACK clocking makes that 1.5 to 1.6 s.", "Within 0.35 s; the times of the other rows within 3 %."),
    Decision("A25", "Does HSTCP's first cut halve the window, or use b(w)?", "It halves the window, as in ns-2."),
    Decision("A26", "Delayed ACKs are not configured.", "Off: every packet is acknowledged."),
    Decision("A27", "Seeds were heuristic.", "Seeds 1 to 10, the same at every point."),
    Decision("A28", "Samples every 0.1 s (text) or 0.05 s (script).", "0.05 s for evaluation of windows, 0.01 s in E11, 0.2 s in E7; medians need none."),
    Decision("A29", "Initial window and minimum RTO are not stated.", "2 packets and 1 s, ns-2's defaults of the time; timer granularity 10 ms."),
    Decision("A30", "The RTT column of table 3.2 is not exact, the heading of 3.1 is wrong.", "Within 5 %; RTTs, not seconds."),
    Decision("A31", "What happens to ACKs?", "They pass the same kind of queue, 40 bytes each, without random loss."),
    Decision("A32", "Median of ratios or ratio of medians?", "The ratio in each run, then the median."),
    Decision("A33", "Do perturbations and noise count in CER?", "In the CER of the link, not in that of a class."),
    Decision("B1", "Do parallel streams start together, or each at its own time?", "Each at its own time in the first twentieth: the script uses the HSTCP flows and switches HSTCP off."),
    Decision("B2", "Small flows (RTT 104 to 296 ms) and web sessions draw their end nodes at random in each run.", "They are drawn once and are the same in all runs. With bursts (E4, E10) single seeds differ much, for any draw."),
)  # fmt: skip
