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
        "At 50 Mbit/s and 600 ms, alone, STTP's keystrokes are echoed soonest (95 % within 0.60 s, against 1.26 s with CUBIC and 1.96 s with BBR beside files of their own kind). Pages are slow:"
        " 36 s against 21 s (CUBIC) and 13 s (BBR) for 95 % of them. Beside two files of CUBIC or BBR its files get 22 % and 3 % of the rate, and keystrokes wait in the rivals' queue. What an interactive user"
        " feels is then the rival's queue, not STTP."
    ),
    "Packet pairs and fair queueing": (
        "With deficit round robin or weighted fair queueing STTP is about as fair as Reno (Jain's index 0.996 against 0.71 with 30 sources), and loses more: 4 to 12 % against 0.2 to 1.9 %. The rule of the round"
        " trip does it (target S5d): a flow's own queue is short, so that its round trips swing beyond the dead band, R2 drifts up with every swing (specification, section 1.5), and nothing but losses brings the rate down again."
    ),
}
