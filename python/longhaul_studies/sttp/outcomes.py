"""Tables of the document: other readings of experiment 1, and the effect of each addition of the practical STTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..model import ResultTable
from ..results import NotRun, Results, Row, Table
from . import grids, measures, practical
from .claims import CLAIMS_TABLE
from .comparisons import NAMES
from .comparisons import mean as _mean
from .practical import SATELLITE
from .scenarios import MODERN
from .tables import APPENDIX_1, APPENDIX_2, CHOSEN, LONG_RUNS, PROTOCOLS, VERSIONS
from .targets import row_judge, version

Metric = Callable[[Row], float]
#: A metric and how it is written.
Part = tuple[Metric, str]


def _cell(results: Results, experiment: str, parts: Sequence[Part], **point: object) -> str:
    """Means over seeds; a dash where this is not run: each path has its own TCPs."""
    table = results[experiment]
    if not table.has(**point):
        return "–"
    means = [measures.interval(table.values(metric, **point)).mean for metric, _ in parts]
    return ", ".join(form.format(mean) for mean, (_, form) in zip(means, parts, strict=True))


def _of(name: str, factor: float = 1.0) -> Metric:
    return lambda row: factor * row[name]


_LINK = measures.LINK
_USED: Part = (_of(f"{_LINK}.utilisation", 100), "{:.0f} %")
_LOST: Part = (_of(f"{_LINK}.drop_rate", 100), "{:.2g} %")
_DELAY: Part = (_of(f"{_LINK}.queue_delay_mean_s", 1e3), "{:.0f} ms")
_JAIN: Part = (measures.jain, "{:.2f}")


def _never_opened(row: Row) -> float:
    """Connections whose probes failed; of those without probes none."""
    return row.get("failed_starts") or 0.0


_DEAD: Part = (_never_opened, "{:.1f}")
_SHARE: Part = (lambda row: 100 * measures.share(row), "{:.0f} %")


def _users(*, today: bool, thesis: bool) -> list[str]:
    more = (practical.REFERENCES["thesis"] if thesis else ()) + (practical.REFERENCES["today"] if today else ())
    return [*practical.ADDITIONS, *more]


def _alone(queue: str) -> ResultTable:
    paths = (*practical.PATHS, SATELLITE)

    def rows(results: Results) -> list[list[str]]:
        return [
            [user, *(_cell(results, "additions", (_USED, _LOST, _DELAY, _JAIN, _DEAD), user=user, path=path, queue=queue) for path in paths)]
            for user in _users(today=True, thesis=True)
        ]  # fmt: skip

    name = {"droptail": "first in, first out", "drr": "deficit round robin"}[queue]
    counts = ", ".join(f"{count} at {path}" for path, (_, count, _) in practical.PATHS.items())
    return ResultTable(
        f"The effect of each addition without rivals: {name}",
        f"Transfers ({counts}, four at {SATELLITE} with 5 Mbit/s up): utilisation of the bottleneck, packets dropped, mean queueing delay, Jain's index, flows that never open.",
        ("", *paths),
        rows,
        ("additions",),
    )


def _contests() -> ResultTable:
    places = [(path, rival, queue) for path, rival in practical.CONTESTS for queue in practical.QUEUES]

    def rows(results: Results) -> list[list[str]]:
        return [
            [user, *(_cell(results, "contests", (_SHARE, _LOST), user=user, path=path, rival=rival, queue=queue) for path, rival, queue in places)]
            for user in _users(today=True, thesis=True)
        ]  # fmt: skip

    return ResultTable(
        "The effect of each addition in competition with a rival",
        f"As many flows of a rival begin later (five at 2 Mbit/s, one at {SATELLITE}): share of the total of both (50 % is equal); packets dropped.",
        ("", *(f"{NAMES[rival]}, {path}, {queue}" for path, rival, queue in places)),
        rows,
        ("contests",),
    )


def _people() -> ResultTable:
    pages: Sequence[Part] = (
        (_of("group.pages.page_time_mean_s"), "pages {:.1f}"), (_of("group.pages.page_time_p95_s"), "{:.1f} s"), (_of("group.keys.response_time_mean_s"), "keys {:.2f}"),
        (_of("group.keys.response_time_p95_s"), "{:.2f} s"), (_of("group.files.goodput_bps", 1e-6), "files {:.0f} Mbit/s"),
    )  # fmt: skip

    def rows(results: Results) -> list[list[str]]:
        return [
            [user, *(_cell(results, "people", pages, user=user, rival=rival) for rival in practical.BESIDE)]
            for user in _users(today=True, thesis=False)
        ]

    return ResultTable(
        "Page and echo times",
        f"{SATELLITE}, 5 Mbit/s up: pages and echoes of keystrokes, mean and 95 %, together with two files of the same protocol, and with two more of a rival.",
        ("", "no rival", "with CUBIC", "with BBR"),
        rows,
        ("people",),
    )


def _late() -> ResultTable:
    spans = ((85, 130), (150, 195), (195, 240))

    def delay(after: float, until: float) -> Part:
        return lambda row: 8e3 * measures.queue_between(row, after, until) / MODERN["rate"], "{:.0f} ms"

    def rows(results: Results) -> list[list[str]]:
        goodput: Part = (_of("group.own.goodput_bps", 1e-6), "{:.1f} Mbit/s")
        return [
            [user, *(_cell(results, "late", (part,), user=user) for part in (*(delay(*span) for span in spans), goodput))]
            for user in practical.LATE
        ]  # fmt: skip

    return ResultTable(
        "A flow that begins in another's queue",
        "A transfer of CUBIC fills the queue, another flow begins at 40 s, the first ends at 80 s: the queue that stands from then on is the second's own. Mean queue, in time at 50 Mbit/s.",
        ("", *(f"{a} to {b} s" for a, b in spans), "goodput of the second"),
        rows,
        ("late",),
    )


def _first() -> ResultTable:
    def sums(row: Row) -> tuple[float, float, float]:
        """Packets sent, share of them dropped in per cent, and the first two sources' rate over the others'."""
        nodes = measures.nodes(row)
        early = sum(node.sent[0] for node in nodes[:2]) / 2
        rest = sum(node.sent[0] for node in nodes[2:]) / 4
        sent = sum(node.sent[0] for node in nodes)
        return sent, 100 * sum(node.dropped[0] for node in nodes) / sent, early / rest

    def cell(table: Table, **point: object) -> str:
        """Means over seeds; each run's series is read once."""
        if not table.has(**point):
            return "–"
        sent, dropped, ratio = (
            measures.interval(values).mean for values in zip(*map(sums, table.where(**point)), strict=True)
        )
        return f"{sent:.0f} sent, {dropped:.1f} % dropped, ratio {ratio:.1f}"

    points: Mapping[str, tuple[int, int]] = {
        f"{buffer} packets, {'window of 20' if window else 'no window'}": (buffer, window)
        for buffer in grids.FIRST_BUFFERS for window in grids.FIRST_WINDOWS
    }  # fmt: skip

    def rows(results: Results) -> list[list[str]]:
        return [
            [f"{name}, {size} B", *(cell(results["first"], protocol=name, packet=size, buffer=b, window=w) for b, w in points.values())]
            for name in grids.FIRST_READINGS for size in grids.FIRST_PACKETS
        ]  # fmt: skip

    return ResultTable(
        "Experiment 1 with other readings",
        "Packets sent in an interval by all six sources, share of them dropped at either queue, and the first two sources' rate over the others'. Derived from the thesis's table 4.4: Reno 160 and 38 %, ratio 1.7; STTP 128, none, 2.9.",
        ("", *points),
        rows,
        ("first",),
    )


def _versions() -> ResultTable:
    """Which version of the timeout fits: the same rows of the thesis, judged with either."""
    places = (
        ("appendix table 1", APPENDIX_1, "transfers", "n"),
        ("appendix table 2", APPENDIX_2, "video", "n"),
        ("tables 5.2, 5.3", LONG_RUNS, "long", "duration"),
    )
    names = {
        "sttp": "0.9 after a timeout, as after a loss",
        "sttp half": "half after a timeout (judged in the targets)",
    }

    def rows(results: Results) -> list[list[str]]:
        found = []
        for protocol in VERSIONS:
            cells = []
            for _, table, experiment, over in places:
                verdicts = [
                    row_judge(
                        experiment, counted["sttp"], passed=experiment == "long", protocol=protocol, **{over: value}
                    )(results).verdict
                    for value, counted in table.items()
                ]
                cells.append(
                    ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in ("reproduced", "partly", "not"))
                )
            found.append([names[protocol], *cells])
        return found

    return ResultTable(
        "Which version of STTP the thesis ran",
        "How many rows each version reproduces, by the targets' rules. Three points of appendix table 1 chose the version; the other rows test the choice.",
        ("STTP leaves", *(f"{name}, {len(table)} rows" for name, table, _, _ in places)),
        rows,
        ("transfers", "video", "long"),
    )


def _networks(traffic: str, title: str, table: Mapping[int, Mapping[str, tuple[int, int]]]) -> ResultTable:
    """MB sent and per cent lost, by reading."""
    places = [(p, n) for p in PROTOCOLS for n in grids.NETWORKS_AT]
    parts: Sequence[Part] = ((lambda row: measures.sent(row) / 1e6, "{:.1f}"), (measures.loss, "{:.2f} %"))

    def thesis(protocol: str, n: int) -> str:
        sent, dropped = table[n][protocol]
        return f"{sent / 1e6:.1f}, {100 * dropped / sent:.2f} %"

    def rows(results: Results) -> list[list[str]]:
        if not results["networks"].rows:
            raise NotRun("no readings at this scale")
        return [
            ["the thesis", *(thesis(p, n) for p, n in places)],
            *(
                [name, *(_cell(results, "networks", parts, network=name, traffic=traffic, protocol=CHOSEN if p == "sttp" else p, n=n) for p, n in places)]
                for name in grids.NETWORKS
            ),
        ]  # fmt: skip

    return ResultTable(
        f"Readings of the network: {title}",
        "MB sent and share of them lost, means over seeds; the thesis's shares are derived from its bytes. Each reading changes one point of the first.",
        ("reading", *(f"{p} {n}" for p, n in places)),
        rows,
        ("networks",),
    )


def _rows_of_the_appendix(protocol: str) -> ResultTable:
    """The rows of the appendix for one protocol: transfers and films side by side, the thesis's numbers before ours."""

    def cells(results: Results, experiment: str, counted: tuple[int, int] | None, n: int) -> list[str]:
        table = results[experiment]
        if counted is None or not table.has(protocol=version(protocol), n=n):
            return ["–", "–", "–"]
        sent, dropped = counted
        point: dict[str, Any] = {"protocol": version(protocol), "n": n}
        mb, lost = _mean(table, measures.sent, **point) / 1e6, _mean(table, measures.loss, **point)
        verdict = row_judge(experiment, counted, **point)(results).verdict
        return [f"{sent / 1e6:.1f} / {mb:.1f}", f"{100 * dropped / sent:.2f} / {lost:.2f}", _MARKS[verdict]]

    def rows(results: Results) -> list[list[str]]:
        if not results["transfers"].rows or not results["video"].rows:
            raise NotRun("no rows of the appendix at this scale")
        return [
            [
                str(n),
                *cells(results, "transfers", APPENDIX_1[n][protocol], n),
                *cells(results, "video", APPENDIX_2[n][protocol] if n in APPENDIX_2 else None, n),
            ]
            for n in APPENDIX_1
        ]

    name = NAMES.get(protocol, "STTP")
    return ResultTable(
        f"Appendix tables 1 and 2: {name}",
        "The thesis / here (means over seeds); the thesis's shares are derived from its bytes. The verdicts are those of targets"
        f" A1 {protocol} and A2 {protocol}. Where the link is full, what passes is its capacity, so that bytes sent follow from the share lost.",
        ("sources", "transfers: MB sent", "% lost", "verdict", "films: MB sent", "% lost", "verdict"),
        rows,
        ("transfers", "video"),
    )


_MARKS = {"reproduced": "reproduced", "partly": "*partly*", "not": "**not**"}


def _readings() -> ResultTable:
    """Experiment 2 with each reading of the factor, the bucket and the timeout."""
    at = (10, 50, 100)

    def cell(results: Results, reading: str, n: int) -> str:
        table = results["readings"]
        mb = _mean(table, measures.sent, reading=reading, n=n) / 1e6
        off = 100 * (1e6 * mb / APPENDIX_1[n]["sttp"][0] - 1)
        return f"{mb:.1f} ({off:+.1f} %), {_mean(table, measures.loss, reading=reading, n=n):.2f} %"

    def rows(results: Results) -> list[list[str]]:
        if not results["readings"].rows:
            raise NotRun("no readings at this scale")
        return [[reading, *(cell(results, reading, n) for n in at)] for reading in grids.READINGS]

    return ResultTable(
        "Readings of the factor, the bucket and the timeout",
        "Experiment 2: MB sent (difference from appendix table 1) and share lost. R1 is the thesis's worked example, R2 last/new, R3 the printed formula; tokens from a timer or from ACKs; `half` after a timeout instead of 0.9.",
        ("reading", *(f"{n} sources" for n in at)),
        rows,
        ("readings",),
    )


TABLES = (
    *map(_rows_of_the_appendix, PROTOCOLS),
    CLAIMS_TABLE,
    _versions(),
    _readings(),
    _networks("transfers", "bulk transfers", APPENDIX_1),
    _networks("video", "films", APPENDIX_2),
    _first(),
    *(_alone(queue) for queue in practical.QUEUES),
    _contests(),
    _people(),
    _late(),
)
