"""What the texts leave open, and rules that hold for all headlines."""

from __future__ import annotations

from ..model import Decision

DECISIONS = (
    Decision("D1", "Which tolerance?", "Set before the runs. 2 to 5 % where a formula stands behind the number, 10 % where the text gives the conditions of a measurement, a quarter where conditions had to be taken, as for the factors that the split connection's thesis quotes. A range (\"2 to 3 times\") is a band."),
    Decision("D2", "What if the text gives no conditions?", "They are taken before the run and stand in the column *taken* of the table *Conditions*; none was changed to meet a number. Changed after a first look were the last segment (D3), the loss of H24 (at 0.1 % the link was full) and Hybla's estimated threshold, which its authors ask for and which makes H24 worse. *Reproduced* and *not* hold for these conditions only."),
    Decision("D3", "Does the last segment of a short answer wait (Nagle's algorithm)?", "No: files of the time ended with a close. H7 has it both ways; with Nagle's algorithm 4 kB take two round trips in place of one."),
    Decision("D4", "What does \"up to\" mean?", "The largest value over what is varied is compared with the number."),
    Decision("D5", "Which seeds?", "Five at the scale quick and twenty at full where something is drawn at random, one otherwise. A ratio is one of runs with the same seed; ± is half of a 95 % interval (Student's t). An ordering holds if the interval of the differences, seed by seed, is above zero."),
    Decision("D6", "What of numbers that only somebody else quotes?", "They are compared like others; the column *where* has \"as cited\" or \"as quoted\". The five of the split connection's thesis are run at that study's points and judged by its rules (R1, R2, R4, R6, R8 there)."),
    Decision("D7", "What stands for a commercial geostationary link?", "The profile `geo-ka`: 560 ms, jitter of 10 ms down and 50 ms up, a rate that wanders by 10 %, half a second of queue. Its jitter and queue are assumptions, and so are the verdicts that depend on them (H11, H35 to H37)."),
)  # fmt: skip
