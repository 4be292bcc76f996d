"""The thesis's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim
from ..results import Results
from .measures import utilisation


def _longest(results: Results) -> str:
    table = results["ftp"]
    gains = {
        n: table.median(utilisation, mode="cubic", queue="droptail", packets=3000, flows=n) / table.median(utilisation, mode="none", packets=3000, flows=n)
        for n in (1, 5, 50)
    }  # fmt: skip
    return (
        "with the PEP over without it: "
        + ", ".join(f"{gain:.2f} times with {n}" for n, gain in gains.items())
        + " flows"
    )


CLAIMS = (
    Claim(
        "Without the PEP the use of the link depends on the queue: 95, 88.9, 87.9 Mbit/s with 3000, 1500, 1000 packets, 50 flows.",
        ("S2b", "S2a", "S2c", "S3c", "S3d"), "How many windows fall at once depends on the order of simultaneous packets.",
    ),
    Claim("500 flows fare worse: 93.3, 85.1, 81.5 Mbit/s.", ("S5c", "S5a", "S5b"), "Packets on one grid of times spread the losses; with access links of 1 Gbit/s here too (84.1 over 1000)."),
    Claim("With the PEP and CUBIC 94.2 Mbit/s, whatever the queue: a local queue of 300 suffices.", ("S2d", "S8c", "S6d"), "It follows from CUBIC's decrease."),
    Claim("A PEP with SACK on the long hop gains nothing: it needs hours to fill the link.", ("S1b", "S1a", "S1c"), "It holds; when it first backs off depends on how slow start ended."),
    Claim("With a queue of 3000 the PEP gains nothing either.", ("S8b",), "A single flow gains: its access link, as fast as the split link, drops first.", _longest),
    Claim("Few flows gain most, up to a factor of 5.", ("S8e", "S8d"), "With access links of 1 Gbit/s a single flow behaves as printed."),
    Claim("The PEP's local RED queue shrinks the senders' windows to 3 % and shares evenly.", ("S7b", "S3e", "S7a"), "The ratio depends on the local queue; why single seconds of a flow vary more here is not explained."),
    Claim(
        "750 Pareto sources leave the link idle without the PEP (87 to 95 Mbit/s), and fill it with the PEP.", ("S9b", "S9c", "S9e", "S9f"),
        "Such sources always have data waiting: here and in ns-2.35 they fill the link without a PEP.",
    ),
)  # fmt: skip
GAP = (
    "750 Pareto sources without the PEP fill the link here and in ns-2.35 with any queue; the thesis has 80 to 95 Mbit/s by the queue. It is not known what limited"
    " its sources."
)
