"""The page for all studies: a row for each, from what their documents were made of, and what they have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from longhaul.files import json_text, write_atomically
from longhaul.results import read_json
from longhaul.study import names

from . import readings, systems
from .drawing import file_name
from .judging import Read, headline
from .model import Study
from .names import find
from .prose import wrapped
from .writing import Outcome, best_held

_VERDICTS = ("reproduced", "partly", "not", "not run")
_MARKS = {"confirmed": "confirmed", "refuted": "**refuted**", "depends": "*depends*", "not run": "not run"}

#: In a record: how many of the paper's targets only a reading reproduces.
_REACHED = "reached"
#: Counts of the paper's own targets before readings stood beside the base: reproduced, partly, not reproduced, scale; and what changed since.
MOVED: Mapping[str, tuple[tuple[int, int, int, str], str]] = {
    "asymmetric": (
        (44, 8, 9, "full"),
        "Base as before; readings of recovery, fades, jitter, waits and Vegas's round trip reproduce 7 of the 17 missed.",
    ),
    "highspeed": (
        (86, 14, 5, "quick"),
        "E2.2, E4.1 and E10.6 are judged more strictly. Bursts of one segment reproduce four of the 22 missed.",
    ),
    "premature-ack": (
        (14, 0, 0, "full"),
        "Base as before; six of seven readings have its verdicts, and with 1000 bytes of payload P2 is missed.",
    ),
    "split-pep": (
        (23, 14, 20, "full"),
        "Seven targets demand a queue's effect, absent here; S7 has figure 4.7's queues. ns-2's order and fast access links help.",
    ),
    "sttp": (
        (43, 73, 29, "full"),
        "The base has its simulator's timer, starts inferred from the thesis's totals, no timer of probes; all three were ours.",
    ),
}

#: What the verdicts mean.
WORDS = """
A claim is *confirmed* if each of its targets with a verdict is reproduced, *refuted* if none is even partly, and runs under other conditions that the
paper leaves open do not show it either; otherwise it *depends* on conditions, which its document names. A target is *reproduced* within a tolerance stated beforehand, *partly* within twice that (of several comparisons: two
thirds hold), *not reproduced* beyond, and *not run* without its runs or with too few seeds: five at each point, or three where an ordering or a trend is
the same without any one of them. What a paper leaves open is run in other ways too, each beside the reading that is taken, with the same tolerances: the
section *Readings* of a document. Counts are of the reading that is taken.
"""

#: What the studies say together, for a reader of today.
TOGETHER = """
Plain TCP fails on long, fat, lossy or lopsided paths for five reasons, and each idea that the studies run helps with one of them.

* **The window grows too slowly for the pipe.** One packet in a round trip takes minutes to hours to fill a satellite link (split connection,
  figure 4.1) or 1 Gbit/s over 100 ms (HighSpeed TCP). Growth that depends on the window (HighSpeed TCP) or on time (CUBIC) removes that; under 70 bursts
  with RED ten HighSpeed flows have 68 % of the link, and a quarter of it is idle; if bursts begin with one segment they have 93 %, and 4 % is idle (E4.1, E4.3). Short transfers end before any growth helps: a proxy that starts at the link's rate moves 2 MB over a
  satellite in 0.98 s, the best TCP without one in 4.70 (objectives, O1P and O1T).
* **The losses of several flows are synchronised.** Over one DropTail queue many flows lose in the same round trip, so that the queue's length decides
  how much of the link is used. RED spreads the losses (six standard flows use 99 % of the link, HighSpeed TCP), and one shared connection over the long
  hop avoids them. A queue of half a bandwidth-delay product (3000 packets) makes them harmless: 50 flows fill the link (split connection, S2a).
* **The reverse path limits the forward path.** ACKs on a slow return line limit a download to a small multiple of that line. Fewer or smaller ACKs
  (header compression, compaction, ACK congestion control) lift the limit. A burst of duplicate ACKs after a loss fills
  the queue of that line: 137 packets in the median (asymmetric, N-14).
* **The receiver's window or the distance limits the source.** A proxy that acknowledges ahead (premature ACKs) hides the long part of the
  path. Its buffer must hold what it has acknowledged: a watermark that is one too high costs 14 to 20 % of
  the throughput, which stays above that with a watermark of 0 (figures 6, 7).
* **Bulk data fill the queue before interactive data.** A sender that keeps the queue short (STTP) has echoes of keystrokes within 0.60 s, CUBIC within 1.29
  (STTP, M2). The same sender is slow with pages (95 % within 38 s, CUBIC 23, M1), unless the return link has 5 Mbit/s (17 and 18 s); and flows that lose their first probes never open.

Two warnings hold for all studies. Results of single runs depend on chance: on which flow meets a full queue, on one lost probe, on
one seed. And results depend on points that papers do not state: the smallest RTO, delayed ACKs, the queue's discipline, the order of simultaneous events, the amount of background
traffic. Some of the differences to the papers have such a cause, and a reading shows it (*What moved*); the causes of many others are not known.
"""


def record(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """What the overview shows of a study: claims, counts of the largest scale with verdicts, a figure."""
    study = outcomes[0].study
    best = max(outcomes, key=lambda outcome: sum(item.verdict != "not run" for item in outcome.judged))
    drawn = {item.figure.id: item for outcome in outcomes for item in outcome.drawn if item.png is not None}
    figure = next((drawn[name].figure for name in study.leading if name in drawn), None)
    return {
        "study": study.name,
        "title": study.title,
        "question": study.question,
        "scale": best.scale,
        "verdicts": headline(best.judged),
        "claims": [
            {"claim": item.claim.text, "verdict": item.standing, "ours": item.claim.ours}
            for item, _ in best_held(outcomes)
        ],
        "figure": None if figure is None else {"file": f"{study.name}/{file_name(figure)}", "title": figure.title},
    }


def _counted_claims(claims: Sequence[Mapping[str, Any]], *, ours: bool) -> str:
    """How many claims have each verdict: the paper's own, or those that stand beside them."""
    verdicts = [claim["verdict"] for claim in claims if bool(claim.get("ours")) == ours]
    return ", ".join(f"{verdicts.count(v)} {_MARKS[v]}" for v in _MARKS if v in verdicts)


def write_record(outcomes: Sequence[Outcome], directory: Path, read: Sequence[Read] = ()) -> None:
    """Writes NAME/overview.json beside the study's figures, and the page for all studies."""
    study = outcomes[0].study
    found = record(outcomes)
    if former := _record(study, directory).get(_REACHED):
        found[_REACHED] = former
    write_atomically(_file(study, directory), json_text(found))
    put_readings(study, read, directory)


def put_readings(study: Study, read: Sequence[Read], directory: Path) -> None:
    """Notes how many targets only a reading reproduces, if readings were run, and writes the page for all studies."""
    found = _record(study, directory)
    if found and read:
        found[_REACHED] = readings.reached(read)[2]
        write_atomically(_file(study, directory), json_text(found))
    write_page(directory)


def _file(study: Study, directory: Path) -> Path:
    return directory / study.name / "overview.json"


def _record(study: Study, directory: Path) -> dict[str, Any]:
    """What is noted of the study so far; nothing before its first document."""
    file = _file(study, directory)
    return dict(read_json(file)) if file.exists() else {}


def _moved(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Counts before and now, of the papers' own targets."""
    rows = [
        "The columns *before* and *now* count the papers' own targets that are reproduced / partly / not reproduced. *Before* is the state before readings were run. *By a reading*: how many of those that are missed a reading"
        " reproduces. Where the scales differ, the points may differ, and the seeds do: STTP has ten seeds at `full` and five at `quick`.\n",
        "| study | before | now | by a reading | what moved, and why |",
        "|---|---|---|---:|---|",
    ]
    for name, (before, why) in MOVED.items():
        if (found := records.get(name)) is not None:
            *counts, scale = before
            now = [found["verdicts"][v] for v in ("reproduced", "partly", "not")]
            rows.append(
                f"| {found['title']} | {_slashed(counts)} (`{scale}`) | {_slashed(now)} (`{found['scale']}`) | {found.get(_REACHED, '–')} | {why} |"
            )
    return "\n".join(rows)


def _slashed(counts: Sequence[int]) -> str:
    return " / ".join(map(str, counts))


def write_page(directory: Path) -> Path:
    """Writes README.md from the records in the directory; studies without one are named."""
    records: dict[str, Mapping[str, Any]] = {}
    for name in names():
        file = directory / name / "overview.json"
        if file.exists():
            records[name] = read_json(file)
    rows = [
        "| study | question | its main claim | verdict | all its claims | the paper's own targets |",
        "|---|---|---|---|---|---|",
    ]
    figures: list[str] = []
    gaps: list[str] = []
    for name in names():
        found = records.get(name)
        study = find(name)
        if found is None:
            page = f"[{study.title}]({name}.md)" if (directory / f"{name}.md").exists() else study.title
            rows.append(f"| {page} | {study.question} | not run yet | | | |")
            continue
        counts = ", ".join(
            f"{found['verdicts'][v]} {v if v != 'not' else 'not reproduced'}" for v in _VERDICTS if found["verdicts"][v]
        )
        first = found["claims"][0]
        claims = _counted_claims(found["claims"], ours=False)
        if of_ours := _counted_claims(found["claims"], ours=True):
            claims += f"; of ours {of_ours}"
        rows.append(
            f"| [{found['title']}]({name}.md) | {found['question']} | {first['claim']} | {_MARKS[first['verdict']]} | {claims} | {counts} (scale `{found['scale']}`) |"
        )
        if study.gap:
            gaps.append(f"* **{study.title}**: {study.gap}")
        if found["figure"]:
            title = f"{found['title']}: {found['figure']['title']}"
            figures.append(f"![{title}]({found['figure']['file']})\n\n*{title}.*\n")
    claims_lines = ["| study | claim | verdict |", "|---|---|---|"]
    for found in records.values():
        for number, claim in enumerate(found["claims"]):
            claims_lines.append(
                f"| {found['title'] if not number else ''} | {claim['claim']} | {_MARKS[claim['verdict']]} |"
            )
    text = (
        "<!-- Generated by `longhaul reproduce STUDY --document`: change the studies' code, not this file. -->\n# Studies, repeated\n\n"
        "Each row is a published study, run again. One compares transports with the objectives of an Internet draft, and one runs what a study leaves open. Counts are of the paper's own numbers and claims;"
        " `longhaul reproduce STUDY --scale SCALE --no-run --json` prints them. [What they mean for an operator](operators.md).\n\n"
        + "\n".join(rows) + "\n\nThe asymmetric study also ran with [real packets](asymmetric-emulated.md), with verdicts of its own.\n\n" + WORDS.strip()
        + "\n\n## What they show together\n" + TOGETHER
        + "\n## The claims\n\n" + "\n".join(claims_lines)
        + "\n\n## The largest gaps\n\n" + "\n".join(gaps)
        + "\n\n## What moved\n\n" + _moved(records)
        + "\n\n## A figure of each\n\n" + "\n".join(figures)
        + "\n## Every system that the documents name\n\nAlso those of their related and future work. " + systems.counted() + "\n\n" + systems.table() + "\n"
    )  # fmt: skip
    path = directory / "README.md"
    write_atomically(path, wrapped(text))
    return path
