"""Findings beyond single headlines."""

from __future__ import annotations

FINDINGS = {
    "Where the text gives the conditions, the number is mostly there": (
        "Numbers that follow from a formula and its conditions are met within some per cent (H1, H2, H7, H14, H15, H31 to H33). What is missing has a cause that was tried:"
        " whole segments (H1), Nagle's algorithm (H7), fast convergence (H16)."
    ),
    "Jitter decides what HyStart costs": (
        "With the jitter of the profile `geo-ka` (10 ms down, 50 up), HyStart leaves slow start within the first round trips, and CUBIC has a twelfth of what it has without HyStart in the first 15 s."
        " With 10 ms both ways it has a ninth, with 2 ms or none a quarter more than without HyStart (seed 1). Half, as measured over a commercial link (H11), lies between."
        " The proxy's gain depends on it in the same way: nine times with that jitter (H37), and none without (0.85 times)."
    ),
    "A loss of a thousandth decides Starlink": (
        "The profile `starlink` loses packets in one event in some 97 s. Over it CUBIC fills the link as BBR does, and the measured advantage of BBR (H42, H43) is not there. With 0.1 % of random loss in"
        " place of these events BBR has six times what CUBIC has, with 1 % more than twenty times."
    ),
    "Quoted factors": (
        "The factors of PEPsal, I-TCP, snoop and ACK filtering (H26 to H30) are run at the points of the study [split-pep](split-pep.md), from which the quotes are; its document has the other factors and why they differ."
    ),
}
