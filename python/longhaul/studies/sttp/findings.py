"""What was found out beyond single targets: paragraphs of the study's document."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "Which STTP the thesis simulated": (
        "The scaling factor is printed in three forms that exclude each other. Experiment 2 tells them apart: with the worked example's (R1) rates drift down until half of the link is empty with"
        " 50 sources; the printed one (R3) loses 30 %. With last/new (R2) the link is full. What a timeout leaves decides about losses: 0.9 loses up to 14 %, 0.5 gives the appendix's numbers. That"
        " version (`sttp half`: R2, tokens by a timer, 5:5, loss 0.9, timeout 0.5) was chosen by three points of experiment 2. With ten seeds it then gives 17 of the 20 rows of appendix table 1 within 2 % of the bytes sent and 2 points of loss, all ten rows of"
        " appendix table 2, films at another rate and buffer, too, nine of them within 1 % and 1 point, and the bytes sent of the long run of 200 s within 0.3 %. Tokens fed by ACKs with a timeout factor of 0.9 fit table 1 as"
        " well, but not table 2 with ten sources (12 % more sent) nor the long runs (6 and 8 % more)."
    ),
    "Interactive use today": (
        "At 50 Mbit/s both ways and 600 ms (experiment `modern`) STTP's keystrokes are echoed soonest, and pages are slow: 95 % within 54 s, against 22 s (CUBIC) and 17 s (BBR). With 5 Mbit/s up (experiment `people`)"
        " strict STTP's small probes measure the way back, its files take 9 of 50 Mbit/s and leave the link to the pages: 18.5 s. Beside files of CUBIC or BBR what a user feels is the rival's queue."
    ),
    "What each addition brings, and what it does not": (
        "**Retry** opens every flow, on every path, and does nothing else. **Trains** of probes alone make more flows fail, since more probes can be lost; with data they measure the satellite link that small probes do not (72 instead"
        " of 36 % used). **Measuring at the receiver** does the same (63 %), and pages become slower (32 instead of 18.5 s), since files then take 29 instead of 9 Mbit/s; the timestamps"
        " that it needs change nothing by themselves (17.0 s with one seed). **Re-probing** fills the satellite link (91 %) and loses more on the thesis's paths, where each train measures the whole"
        " link however many share it. **Growth and draining by the level** of the round trip (`level`) is what brings most: no losses to speak of, 69 to 192 ms of queue from 0.5 Mbit/s on, where strict STTP has 300 to 800 and Reno 500 to 900,"
        " and Jain's index of 0.90 to 1.00 where nearly all open; beside a rival it gives way to nothing, and pages take 85 s. **Competitive mode** is there for that, and harms among its own kind: with 10 to 50 flows on"
        " thin paths it takes their queue for a rival's, and loses 6 to 8 % as Reno does (8.8 %) instead of 0.2 %. Many flows with a packet each in flight keep a queue that none of them can drain, and CUBIC's"
        " window keeps it full for good: a defect. A cure was tried and not taken: not to count a queue of which a flow has less than a packet, and to give a long contest up at a loss, to see. It"
        " brings the losses of all additions together down to 1 to 8 % first in first out and 0 to 6 % in turn, but `competitive` then gets 4 % beside Reno at 2 Mbit/s and pages become slower still"
        " (50 s with all additions). **All together**: every flow opens, Jain's index is 0.92 to 0.98, losses and queues on thin paths are Reno's, keystrokes are echoed sooner than with CUBIC or BBR"
        " (95 % within 0.87 s alone, 1.3 s beside CUBIC, 1.4 s beside BBR), and pages are slower (95 % within 37 s alone) than with `competitive` (16 s), for two reasons. Both files measure the whole link as they begin, and fill the queue until some of the readers' connections time out, up to twelve times, each of which halves rho; over 600 ms nothing brings it back soon, and connections stay open. And rho may be 1.25 times what was delivered in the last ten round trips, which for a connection that mostly waits is little. Readers that begin 20 s later, when that queue is gone, wait 6.8 s for a page on the mean instead of 9.8 s, and without that bound besides (`rho_max = 0`) 5.7 s; with `competitive` 5.1 and 5.3 s (two to three seeds). Beside a rival and first in, first out, no variant is equal everywhere: with all additions STTP gets 77 % beside Reno at 2 Mbit/s, 34 % beside CUBIC and 30 % beside BBR on the satellite, where CUBIC gets 20 % beside BBR. Strict STTP does not starve beside Reno there (60 %), but on the satellite (7 %). Served in turn, all additions get 46 to 48 %. Numbers of ten seeds (scale `full`) where nothing else is said."
    ),
    "Packet pairs and fair queueing": (
        "With deficit round robin or weighted fair queueing STTP (`sttp half`) is fairer than first in, first out: Jain's index 0.998 (DRR) and 0.996 (WFQ) against 0.61 with 30 sources, 0.87 and 0.93 against 0.57 with 100 (ten seeds). It loses more: 4 to 12 % against 0.2 to 1.9 %. The rule of the round"
        " trip does it (target S5d): a flow's own queue is short, so that its round trips swing beyond the dead band, R2 drifts up with every swing (specification, section 1.5), and nothing but losses brings the rate down again. With losses alone, without that rule, 0.04, 0.56 and 3.1 % are lost with 10, 30 and 100 sources instead of 11, 4.4 and 9.6 % (one seed)."
    ),
}
