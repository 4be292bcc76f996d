"""Findings beyond single targets: paragraphs of the study's document."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "What the fairness with DropTail needs": (
        "The crossing of 13 standard flows with DropTail (E5.4) needs the background traffic, below 1 % of the link: without it one HighSpeed flow has more than 80 % of the link beside 13"
        " standard flows, here and in ns-2, and the lines cross beyond 19 flows. The amount of that traffic is a choice (A8)."
    ),
    "What six standard flows use": (
        'E2.2 was judged with two standard flows (93.7 %), and reproduced. Six use 99 % with RED, which speaks against the study\'s "fewer than ten": with them one of two comparisons holds. The five runs with six'
        " flows over RED have 99.0 to 99.3 % (build `8178df10ad5dfdfd`)."
    ),
    "What the whole grid costs": (
        "The study's whole grid with one run of each point (`grid`, 660 runs) takes 1.2 hours of one processor, with the seeds that verdicts need (`full`, 1,684 runs, and more by its rule) 3.9: an estimate from the 736"
        " runs of the table *Cost*, by the packets that runs carry. Neither was run. Both are resumable: a run that is finished is kept, and the same command continues after an interruption."
    ),
    "What chapter 8 leaves open": (
        "Other parameters and response functions, frames of 9,000 bytes, friendliness and sudden changes of the rate are run in this network as [a study of their own](highspeed-chapter-8.md). Not run: tests"
        " on real networks. The Pareto bursts over UDP of the study's script (section 2.6), which no reported experiment uses, are a reading (decision B5)."
    ),
}
