"""Experiments: tables 5.1, 5.2 and 7.1, figure 5.1, the losses of chapter 6, two flows of chapter 7, the designs of chapter 8."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhaul.scenario import Scenario

from ..model import Case, Experiment
from . import arguments, designs
from .formulas import COMPRESSED_HEADER, KB, MSS
from .scenarios import (
    ADVERTISED,
    FADE_AT,
    FILE,
    MEGABYTE,
    POLICIES,
    WINDOW,
    behind_edge,
    compaction,
    download,
    download_from_origin,
    filtered,
    network,
)

SCALES = {
    "tiny": "two lines and three designs, for continuous integration",
    "quick": "one fade of each kind",
    "full": "fades of five lengths at three moments",
    "readings": "the points of `full`, with what the thesis leaves open taken in other ways",
}
#: Table 5.1.
BAUDS = (9_600, 14_400, 28_800, 33_600, 64_000)
#: Figure 5.1, in seconds; the thesis's points and some between.
RTTS = (0.2, 0.4, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0)
#: Lengths of cable pulls in seconds, all below a round trip, and when they begin (decision A6).
FADES, MOMENTS = (0.05, 0.1, 0.2, 0.3, 0.5), (0.0, 0.35, 0.7)
#: The same for P2, of which the thesis has that an RTO comes sometimes: whether it does depends on the moment.
MANY_MOMENTS = tuple(step / 10 for step in range(10))
#: Packets of the return queue: from the default of the test bed to one that drops nothing.
QUEUES = (10, 20, 50, 200, 1000)
#: Seconds between the starts of two transfers that begin "almost together" (section 7.1.3).
OFFSETS = tuple(step / 4 for step in range(41))
#: Stalls of the line back, and fades longer than a round trip.
STALLS, LONG_FADES = (0.02, 0.05, 0.1, 0.3, 0.5), (1.5, 2.0, 3.0)
#: Chapter 8 as the thesis fixes it: speed of the line, and the rate where it rounds one of its own.
LADDER: Mapping[str, tuple[int, float | None]] = {
    "8.1": (28_800, None), "8.2": (28_800, 96 * KB), "8.3": (28_800, 192 * KB), "8.4": (14_400, None), "8.5": (28_800, None), "8.6": (9_600, None),
}  # fmt: skip


def _thin(scale: str, values: tuple[Any, ...], quick: tuple[Any, ...], tiny: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    return {"tiny": tiny, "quick": quick, "full": values}[scale]


def limits(scale: str) -> list[Case]:
    """Table 5.1: a download that the line limits. 54 Mbit/s forward, a round trip of 0.2 s, windows of one and a half times the BDP."""

    def case(baud: int, header: int) -> Case:
        rate = 2 * MSS * baud / 10 / (2 + header)
        built = network(
            f"{baud} baud, {header} bytes", duration=80, warmup=30, baud=baud, forward="54 Mbit/s", delay=0.2, queue=1000,
            vj=None if header == 40 else header,
        )  # fmt: skip
        return Case({"baud": baud, "header": header}, download(built, window=1.5 * rate * (0.2 + 0.1), variant="sack"))

    bauds = _thin(scale, BAUDS, BAUDS, (9_600, 28_800))
    return [case(baud, header) for baud in bauds for header in (40, 7)]


def over_rtt(scale: str) -> list[Case]:
    """Figure 5.1: a window of 32 kB, timestamps, no header compression; the round trip is swept."""
    return [
        Case(
            {"rtt": rtt},
            download(
                network(f"RTT {rtt:g} s", duration=120, warmup=30, delay=rtt - 0.0585, vj=None), window=32 * KB, timestamps=True,
                variant="sack",
            ),
        )
        for rtt in _thin(scale, RTTS, RTTS)
    ]  # fmt: skip


def improved(scale: str) -> list[Case]:
    """Table 5.2 and figure 5.2: a file of 14,850,814 bytes, header compression, delay 1000 ms."""
    return [
        Case(
            {"initial": initial},
            download(network(f"improved, IW {initial}", duration=120, warmup=0), size=FILE, window=ADVERTISED, initial=initial, trace=True),
            tables=True,
        )
        for initial in _thin(scale, (1, 2), (1, 2))
    ]  # fmt: skip


def stalls(scale: str) -> list[Case]:
    """Figure 6.1: bytes are lost between compressor and decompressor."""
    return [
        Case(
            {"stall": stall, "vj": vj},
            download(network(f"stall {stall:g} s", duration=160, warmup=50, stall=stall, vj=COMPRESSED_HEADER if vj else None), trace=vj),
            tables=vj,
        )
        for stall in _thin(scale, STALLS, (0.1,)) for vj in (True, False)
    ]  # fmt: skip


def policies(scale: str) -> list[Case]:
    """Figures 6.2 to 6.8: a fade of the forward link, under each policy for queue and least RTO."""
    lengths = _thin(scale, FADES, (0.1, 0.3))
    return [
        Case({"policy": policy, "fade": fade, "moment": moment}, _faded(policy, fade, moment), tables=True)
        for policy in POLICIES for fade in lengths
        for moment in _thin(scale, MANY_MOMENTS if policy == "P2" else MOMENTS, (0.0,))
    ]  # fmt: skip


def _faded(policy: str, fade: float, moment: float, *, size: int | None = None, duration: float = 160.0) -> Scenario:
    queue, min_rto = POLICIES[policy]
    at = FADE_AT + moment if size is None else moment
    built = network(
        f"{policy}, fade {fade:g} s at {at:g} s",
        duration=duration,
        warmup=50 if size is None else 0,
        queue=queue,
        fade=fade,
        at=at,
    )
    return download(built, size=size, min_rto=min_rto, trace=size is None)


def files(scale: str) -> list[Case]:
    """Section 6.4.4: a file of 12 MB with one fade, at a quarter, half and three quarters of its time."""
    lengths, moments = _thin(scale, FADES, (0.1, 0.3)), _thin(scale, (25.0, 25.4, 37.0, 37.4, 50.0, 50.4), (37.0,))
    return [
        Case({"policy": policy, "fade": fade, "at": at}, _faded(policy, fade, at, size=12 * MEGABYTE, duration=400))
        for policy in ("P1", "P3") for fade in lengths for at in moments
    ]  # fmt: skip


def two_flows(scale: str) -> list[Case]:
    """Figures 7.1 and 7.2: 13 and 14 MB, started almost together, standard TCP or Vegas; with Vegas also 8 and 14 MB, since 13 and 14 end together."""
    cases = []
    for congestion, short in _thin(
        scale, (("reno", 13), ("vegas", 13), ("vegas", 8)), (("reno", 13), ("vegas", 13), ("vegas", 8))
    ):
        built = network(f"two flows, {congestion}, {short} MB", duration=300, queue=200)
        for name, size in (("short", short), ("long", 14)):
            built = download(built, name=name, size=size * MEGABYTE, congestion=congestion, trace=name == "long")
        cases.append(Case({"congestion": congestion, "short": short}, built, tables=True))
    return cases


def queues(scale: str) -> list[Case]:
    """Equation 5.6 over the length of the return queue: a window of 250 kB with plain ACKs, and of 500 kB with compressed ones.

    Both windows are larger than the limit times the round trip, so that ACKs wait or are dropped.
    """
    cases = []
    for queue in _thin(scale, QUEUES, (10, 200, 1000)):
        for header, window in ((40, WINDOW), (COMPRESSED_HEADER, 2 * WINDOW)):
            built = network(
                f"queue of {queue}, {header} bytes", duration=200, warmup=80, queue=queue, vj=None if header == 40 else header
            )  # fmt: skip
            cases.append(
                Case({"queue": queue, "header": header}, download(built, window=window, variant="sack", min_rto=1.0))
            )
    return cases


def offsets(scale: str) -> list[Case]:
    """Section 7.1.3: the two transfers of figures 7.1 and 7.2, the second 0 to 10 s after the first."""
    cases = []
    for congestion in ("reno", "vegas"):
        for later in _thin(scale, OFFSETS, OFFSETS[::8]):
            built = network(f"two flows, {congestion}, {later:g} s apart", duration=300, queue=200)
            built = download(built, name="short", size=13 * MEGABYTE, congestion=congestion)
            built = download(built, name="long", size=14 * MEGABYTE, congestion=congestion, start=later)
            cases.append(Case({"congestion": congestion, "later": later}, built))
    return cases


def slow_starts(scale: str) -> list[Case]:
    """Table 7.1: the time until the window is full, where the return link is no bottleneck."""

    def case(rtt: float, initial: int, n: int) -> Case:
        built = network(
            f"slow start, RTT {rtt:g} s, IW {initial}, n {n}", duration=25, sample="20 ms", baud=10_000_000, delay=rtt, forward="100 Mbit/s",
            vj=None,
        )  # fmt: skip
        every = n == 1
        built = download(built, initial=initial, every_segment=every, variant="sack", window=1.2 * WINDOW)
        return Case({"rtt": rtt, "initial": initial, "n": n}, built, tables=True)

    return [
        case(rtt, initial, n) for rtt in _thin(scale, (0.6, 1.0), (0.6, 1.0)) for initial in (1, 2, 4) for n in (1, 2)
    ]


def ladder(scale: str) -> list[Case]:
    """Chapter 8: designs 8.1 to 8.5 with a connection each."""
    cases = []
    for name in _thin(scale, tuple(LADDER), tuple(LADDER), ("8.1", "8.4", "8.5")):
        baud, rate = LADDER[name]
        path = designs.Path(54e6, baud, 0.6)
        cases.append(Case({"design": name}, designs.scenario(designs.DESIGNS[name](path, rate), path)))
    return cases


def argued(scale: str) -> list[Case]:
    """Scenarios that the thesis argues and did not measure."""
    if scale == "tiny":
        return []

    def case(what: str, built: Scenario, **settings: Any) -> Case:
        return Case({"what": what}, download(built, **settings))

    def line(name: str, vj: int | None = None) -> Scenario:
        return network(name, duration=120, warmup=40, delay=0.2, queue=100, vj=vj)

    cases = [
        case("MSS 536", line("MSS 536"), mss=536, window=20 * KB, variant="sack"),
        case("MSS 536, compressed", line("MSS 536, VJ", 7), mss=536, window=60 * KB, variant="sack"),
        case("MSS 256", line("MSS 256"), mss=256, window=10 * KB, variant="sack"),
        case("4 connections", line("4 connections"), count=4, window=20 * KB, variant="sack"),
        case("timestamps", line("timestamps"), timestamps=True, window=40 * KB, variant="sack"),
        case("timestamps, compressed", line("timestamps, VJ", 0), timestamps=True, window=40 * KB, variant="sack"),
        case("each segment acknowledged", line("N = 1"), every_segment=True, window=40 * KB, variant="sack"),
    ]
    for fade in LONG_FADES:
        built = network(f"fade of {fade:g} s", duration=160, warmup=50, queue=200, fade=fade)
        cases.append(case(f"fade {fade:g} s", built))
    return cases


def compactions(scale: str) -> list[Case]:
    """Appendix A: both forms of ACK compaction, with and without loss of the packets that carry ACKs; and header compression."""
    if scale == "tiny":
        return []

    def case(form: str, spacing: Any, lost: int) -> Case:
        built = compaction(f"{form}, {spacing}, {lost}", form=form, spacing=spacing, every_lost=lost)
        settings = {"variant": "sack", "initial": 4, "min_rto": 1.5}
        return Case(
            {"form": form, "spacing": str(spacing), "lost": lost}, download_from_origin(built, **settings), tables=True
        )

    cases = [case(form, spacing, 0) for form in ("exact", "traditional") for spacing in ("even", "immediate", 100)]
    cases += [case(form, "even", 200) for form in ("exact", "traditional")]
    plain = behind_edge(network("header compression", duration=160))
    cases.append(
        Case(
            {"form": "VJ", "spacing": "none", "lost": 0},
            download_from_origin(plain, variant="sack", initial=4),
            tables=True,
        )
    )
    return cases


def filters(scale: str) -> list[Case]:
    """Section 5.3.1 and S-15: ACK suppression."""
    if scale == "tiny":
        return []
    return [
        Case(
            {"every": every},
            download_from_origin(filtered(f"one of {every}", every), variant="sack", window=60 * KB),
            tables=True,
        )
        for every in (1, 2, 4)
    ]


EXPERIMENTS = (
    Experiment("limits", "Asymmetric limits", "table 5.1", limits),
    Experiment("queue", "Limit over the return queue", "eq 5.6", queues),
    Experiment("rtt", "Throughput over the round trip", "5.5.1", over_rtt),
    Experiment("improved", "Improved steady state", "5.5.2", improved),
    Experiment("stall", "Return outage with header compression", "6.2.1", stalls),
    Experiment("policy", "Fades under four policies", "6.4", policies),
    Experiment("file", "12 MB with a fade", "6.4.4", files),
    Experiment("two", "Two flows", "7.1.3", two_flows),
    Experiment("offsets", "Two flows over the second one's start", "7.1.3", offsets),
    Experiment("start", "Slow start", "7.2", slow_starts),
    Experiment("ladder", "Designs", "8", ladder),
    Experiment("compaction", "ACK compaction", "A.1, A.2", compactions),
    Experiment("filter", "ACK suppression", "5.3.1", filters),
    Experiment("argued", "Argued, not measured", "5.2 to 6.3", argued),
    *arguments.EXPERIMENTS,
)
