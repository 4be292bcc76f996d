"""Headlines that were looked for and are not compared, with the reason."""

from __future__ import annotations

#: What was looked for, and why it is no row.
LEFT_OUT: tuple[tuple[str, str], ...] = (
    ("SEARCH's gain over HyStart (draft-chung-ccwg-search), FAST, XCP, TCP-Peach, Copa", "not there yet: the controls and queues were not built when the runs were made"),
    ("LeoCC, SaTCP, ALCS", "not there yet: none of the three is built; no text with a number of ALCS was found"),
    ("Westwood's factor over Reno over a lossy link (Casetti et al. 2001)", "the texts that could be read have no number; H25 takes the abstract's words"),
    ("QUIC-PEP: pages more than 7 s faster in edge cases (arXiv 2205.01554)", "which pages and links the edge cases are was not in the text that was read"),
    ("Resuming with a remembered window over satellites (arXiv 2112.05450)", "the abstract has no number"),
    ("DCTCP and L4S over a satellite", "no satellite paper with a number was found"),
    ("SCPS-TP; TCP over DAMA", "no text with a number and its conditions was found; SCPS-TP is not built"),
    ("Losses every 15 s over Starlink", "texts that were found describe the link, not a transport's number; the profile has the gaps"),
    ("Scalable and HighSpeed TCP over GEO (Giambene, Miorandi 2005)", "the abstract has no number; the paper's tables were not in the text that was read"),
    ("RFC 6928's 10 % of latency", "measured with a search engine's users, whose paths are not given"),
    ("HyStart++'s fewer losses and timeouts (RFC 9406)", "measured in a company's traffic, which is not given"),
    ("YouTube's median round trip with BBR", "as before"),
)  # fmt: skip
