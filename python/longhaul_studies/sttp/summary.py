"""The thesis's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim
from .tables import APPENDIX_1

CLAIMS = (
    Claim("STTP has TCP's goodput with fewer bytes sent: up to 13.9 % less than Reno, 15 % less than Vegas (bulk transfers).", ("E2d", "E2e", "E2b"), "Below 30 sources Vegas sends less; the savings follow from the version and the smallest RTO."),
    Claim("Films: up to 20 % fewer packets (the thesis's own tables give 17.1 and 16.6 %, and 13.9 and 15.0 % for transfers).", ("E4d", "E4e", "E4b"), "Our film and Reno's smallest RTO differ from the thesis's."),
    Claim("It loses far less than TCP.", ("E2c", "E4c"), "With few sources Vegas loses least."),
    Claim("The appendix's rows of STTP, transfers: bytes sent and lost with 10 to 200 sources.", tuple(f"A1 sttp {n}" for n in sorted(APPENDIX_1, key=lambda n: (n != 100, n))), "Bytes sent agree within 2 %; losses of one or two per cent differ by more than a quarter."),
    Claim("It is as fair as TCP once new samples count enough (5:5, four sources).", ("T4.5 sttp 5:5 4", "E3b", "X-jain"), "Two to four flows are; from 50 sources on a few keep most of the link."),
    Claim("Lost probes keep flows from opening, from 30 to 40 sources on.", ("E2f",), "A flow of 20 is dead in some runs already."),
    Claim("In competition with Reno it yields, like Vegas.", ("E6b",), "From 60 nodes on; with fewer the link is not full."),
    Claim("In experiment 1 STTP loses nothing and Reno loses 38 %.", ("E1a", "E1b", "E1c"), "It depends on buffers and buckets that the thesis does not give: one reading gives both."),
    Claim("It suits interactive use.", ("M1", "M2"), "Keystrokes yes; pages over 600 ms are slow, since a reduced flow hardly grows."),
)  # fmt: skip
GAP = "above 50 sources Reno and Vegas send up to 4 % more here and in ns-2.35 than in the thesis; a smallest RTO of 1 s closes the gap for Reno's transfers, not for films."
