"""The paper's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim

CLAIMS = (
    Claim(
        "With a short D-Net the throughput rises with the watermark W and stays at D-Net's rate: from W = 25 in figure 4.",
        ("P1", "P1b", "P1c"),
    ),
    Claim(
        "With a longer D-Net or a smaller buffer it falls again above some W: 38 in figure 6, 31 in figure 7.",
        ("P3", "P4", "P5", "P6"),
    ),
    Claim("The window of 20 packets limits a long S-Net: 0.8 Mbit/s in figure 5.", ("P2", "P2b")),
    Claim("The fall is more frequent with a shorter S-Net, a longer D-Net, a smaller buffer.", ("P7a", "P7b", "P7c")),
    Claim("Slow start is shorter with a larger W.", ("P8",)),
)
GAP = "the last W before the fall of figure 6 is 37 here and 38 in the paper, whose figures have no numbers; everything else agrees to a packet."
