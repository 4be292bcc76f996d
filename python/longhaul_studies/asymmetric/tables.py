"""Findings with measured values: tables from the results, with a paragraph on each. Rates in kB/s of 1024 bytes, times in seconds."""

from __future__ import annotations

from functools import partial

from ..model import ResultTable
from ..results import Results, Row
from . import formulas
from .arguments import CONTROLS, LINES, LOSSES
from .formulas import COMPRESSED_HEADER, KB, Line
from .measures import BACK, kilobytes, queue_peak, rate_at_end, time_for


def _queues(results: Results) -> list[list[str]]:
    table, rows = results["queue"], []
    for queue in table.points("queue"):
        cells = [f"{queue}"]
        for header in (40, COMPRESSED_HEADER):
            row = table.where(queue=queue, header=header)[0]
            dropped = row[f"{BACK}.drops_overflow"] / row[f"{BACK}.arrivals"]
            cells += [f"{kilobytes(row):.1f}", f"{100 * dropped:.0f} %"]
        rows.append(cells)
    limits = [formulas.asymmetric_limit(Line(9600, header=header)) / KB for header in (40, COMPRESSED_HEADER)]
    return [["equation 5.6", f"{limits[0]:.1f}", "0 %", f"{limits[1]:.1f}", "0 %"], *rows]


RETURN_QUEUE = ResultTable(
    "The limit by ACKs, and the return queue",
    (
        "Equation 5.6 assumes that each ACK crosses the line. A short return queue drops ACKs, and each one that passes acknowledges the segments of those dropped before it. So the rate rises towards that"
        " of the window, at the price of bursts. A download at 9600 baud over a round trip of 1 s, with a window of 250 kB and plain ACKs, and with 500 kB and header compression; the test bed's queue"
        " had 10 packets. The thesis's own tests do not drop ACKs in the steady state: a window of 32 kB has 11 ACKs, and one of 250 kB is below the limit with compression."
    ),
    ("return queue (packets)", "plain ACKs (kB/s)", "ACKs dropped", "compressed (kB/s)", "ACKs dropped "),
    _queues,
    ("queue",),
)


def _timeouts(results: Results) -> list[list[str]]:
    table, rows = results["policy"], []
    for fade in table.points("fade"):
        cells = [f"{fade:g}"]
        for policy in ("P1", "P2", "P3", "P4"):
            hit = [
                row for row in table.where(policy=policy, fade=fade) if row["timeouts"] + row["fast_retransmits"] > 0
            ]
            cells.append(f"{sum(row['timeouts'] > 0 for row in hit)} of {len(hit)}")
        found = sorted(queue_peak(row) for row in table.where(policy="P3", fade=fade) if row["fast_retransmits"] > 0)
        cells.append(", ".join(f"{peak:.0f}" for peak in found))
        rows.append(cells)
    return rows


TIMEOUTS = ResultTable(
    "Causes of an RTO under P1",
    (
        "Runs with an RTO by the length of the fade, and the largest serial queue under P3, where it may grow. A fade with few lost segments leads to many duplicate ACKs: a hundred full-size ACKs for a"
        " queue of ten. The queue drops the ACK of the repair with them, and the timer expires. A longer fade costs so many segments that fewer duplicates follow, and the repair's ACK passes: it does"
        " less harm. The thesis measured 100 to 155 packets in the long queue; its prediction of 176 lets no ACK leave meanwhile."
    ),
    ("fade (s)", "RTO, P1", "RTO, P2", "RTO, P3", "RTO, P4", "largest queue, P3 (packets)"),
    _timeouts,
    ("policy",),
)


def _compactions(results: Results) -> list[list[str]]:
    table = results["compaction"]
    names = {"exact": "the thesis's", "traditional": "traditional", "VJ": "none, header compression"}
    spacings = {"100": "100 ACKs/s", "even": "even", "immediate": "at once", "none": ""}
    return [
        [
            names[row.parameters["form"]], spacings[row.parameters["spacing"]],
            f"one of {row.parameters['lost']}" if row.parameters["lost"] else "none",
            f"{rate_at_end(row):.0f}", f"{row['timeouts']:.0f}",
        ]
        for row in table.where()
    ]  # fmt: skip


COMPACTION = ResultTable(
    "ACK compaction",
    (
        "Downloads at 9600 baud with a window of 250 kB and a delay of 1 s, by the form of the packets of ACKs and by the spacing of the rebuilt ACKs. Plain ACKs reach 65 kB/s there if none is dropped, and more"
        " behind a short queue (*The limit by ACKs, and the return queue*). ACKs that are spread over the time between packets do not bunch. The loss of a packet of ACKs then costs next to nothing, since ACKs are cumulative."
    ),
    ("form", "spacing", "packets lost", "goodput (kB/s)", "RTOs"),
    _compactions,
    ("compaction",),
)


def _robust(results: Results) -> list[list[str]]:
    table = results["robust"]
    rows = []
    for scheme in ("plain", "VJ", "robust", "robust, asking"):
        rates = [table.median(kilobytes, scheme=scheme, loss=loss, event="none") for loss in LOSSES]
        rows.append([scheme, *(f"{rate:.0f}" for rate in rates)])
    return rows


ROBUST = ResultTable(
    "Robust header compression",
    (
        "Goodput in kB/s by the share of lost packets on the line, at 9600 baud and a round trip of 1 s, with a window of 250 kB and a queue of 200. The compressor of section 9.3 sends five bytes for every ACK,"
        " duplicates too, and cannot lose synchronisation. It has the requested effect. Van Jacobson's falls below plain ACKs at the smallest loss (S-23c). After a fade under P3 the robust one has a"
        " shorter queue and a shorter silence (S-23b)."
    ),
    ("compression", *(f"{loss:.1%}" for loss in LOSSES)),
    _robust,
    ("robust",),
)


def _carriers(results: Results) -> list[list[str]]:
    table = results["carriers"]
    losses = (0.0, 0.01, 0.05)
    return [
        [over, *(f"{table.median(partial(rate_at_end, span=150), over=over, loss=loss, start='IW 4'):.0f}" for loss in losses)]
        for over in ("datagrams", "TCP")
    ]  # fmt: skip


CARRIERS = ResultTable(
    "ACK compaction over TCP",
    (
        "Goodput in kB/s by the share of lost packets on the line. The thesis proposes to carry compacted packets over TCP. On a line without loss that costs little. On one with losses the download nearly"
        " stops, where datagrams keep their rate. ACKs are cumulative: they need no retransmission, but timely arrival."
    ),
    ("packets of ACKs over", "0 %", "1 %", "5 %"),
    _carriers,
    ("carriers",),
)


def _pages(results: Results) -> list[list[str]]:
    table = results["idleness"]
    names = {
        "slow start": "slow start",
        "half, paced": "half the window, paced over a round trip",
        "all, paced": "the whole window, paced",
        "all at once": "the whole window at once",
    }
    return [
        [name, f"{table.where(after=after)[0]['response_time_mean_s']:.1f}"] for after, name in names.items()
    ]  # fmt: skip


PAGES = ResultTable(
    "Pages after idle periods",
    (
        "Mean time of a page of 250 kB on a persistent connection, 10 s after the one before, by what the sender does after idle time. The thesis warns of the whole window at once; here its burst meets only"
        " the client's own line."
    ),
    ("after idle time", "seconds for a page"),
    _pages,
    ("idleness",),
)


def _echo(row: Row) -> str:
    taken = row.result().summary["flows"][1]["metrics"]["response_time_mean_s"]
    return "never" if taken is None else f"{taken:.1f}"


def _controls(results: Results) -> list[list[str]]:
    rows = []
    for baud, queue in LINES:
        for control in CONTROLS:
            row = results["controls"].where(baud=baud, queue=queue, control=control)[0]
            rows.append(
                [
                    f"{baud:,}, {queue}", control, f"{rate_at_end(row, span=150):.0f}", f"{row[f'{BACK}.drops_queue']:,.0f}", _echo(row),
                ]
            )  # fmt: skip
    return rows


CONTROL = ResultTable(
    "ACK congestion control",
    (
        "Between the ends (RFC 5690) it has its intended effect where a queue drops ACKs: few packets are lost, and the same client's keystrokes are echoed within a second among ACKs. A filter at the client's edge, with"
        " access to the line, does the same. But the ends detect congestion by losses alone. Behind a queue of 200, where ACKs wait and none is lost, they change nothing; the filter does."
    ),
    ("line (baud), queue", "controlled by", "goodput (kB/s)", "packets lost", "echo after (s)"),
    _controls,
    ("controls",),
)


def _ratios(results: Results) -> list[list[str]]:
    return [
        [row.parameters["ratio"], f"{rate_at_end(row, span=80):.0f}", f"{time_for(row, 100 * KB):.1f}"]
        for row in results["suppression"].where()
    ]


RATIOS = ResultTable(
    "ACK ratios",
    (
        "Plain ACKs at 9600 baud behind a queue of 20, which drops some of them: ACK filters with a fixed ratio, one that follows the line (RFC 3449), and control between the ends (RFC 5690). A fixed"
        " ratio starts slowly, since each ACK opens the window."
    ),
    ("ACKs that are sent", "goodput (kB/s)", "100 kB after (s)"),
    _ratios,
    ("suppression",),
)

TABLES = (RETURN_QUEUE, TIMEOUTS, COMPACTION, CARRIERS, ROBUST, PAGES, CONTROL, RATIOS)
