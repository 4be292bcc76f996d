"""Findings beyond single targets: paragraphs of the study's document."""

from __future__ import annotations

FINDINGS: dict[str, str] = {
    "What the fairness with DropTail needs": (
        "The crossing of 13 standard flows with DropTail (E5.4) needs the background traffic, below 1 % of the link: without it one HighSpeed flow has more than 80 % of the link beside 13"
        " standard flows, here and in ns-2, and the lines cross beyond 19 flows. The amount of that traffic is a choice (A8)."
    ),
}
