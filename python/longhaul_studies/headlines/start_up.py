"""Headlines on the first round trips: windows that offers limit, initial windows, what an ACK counts for, the end of slow start."""

from __future__ import annotations

from typing import Any

from longhaul.scenario import Scenario

from ..verdict import Judgement, band
from .headline import Headline, Runs, more, rates, shown
from .scenarios import GEO_MS, GOODPUT, LINUX, OLD, TIME, USED, asked, download, path

#: Segments of 512 bytes and delayed ACKs, with a window that counts ACKs: hosts of RFC 2414's experiments.
_SMALL: dict[str, Any] = OLD | {"mss": "512 B", "slow_start": {"kind": "standard", "counting": "acks"}}
#: The largest delay of an ACK, in s.
_DELAYED = 0.2


def _initial(sizes: tuple[int, ...], mbps: float, rtt_ms: float, seconds: float) -> dict[str, Scenario]:
    """Downloads of some kB with an initial window of one segment and of four."""
    return {
        f"{segments} segments, {size} kB": asked(
            path("initial window", mbps, rtt_ms, seconds=seconds, queue="1000 packets"), f"{size} kB",
            tcp=_SMALL | {"initial_window": f"{segments} packets"},
        )
        for size in sizes for segments in (1, 4)
    }  # fmt: skip


def _saved(runs: Runs, size: int) -> tuple[float, float]:
    """Seconds that four segments save, and the time with one."""
    one, four = (runs.mean(f"{segments} segments, {size} kB", TIME) for segments in (1, 4))
    return one - four, one


_SIZES = (2, 4, 8, 16, 64, 256)
_FTP = (100, 200, 1000, 5000)


def _savings(runs: Runs) -> dict[int, float]:
    """Seconds that four segments save, by size in kB."""
    return {size: _saved(runs, size)[0] for size in _SIZES}


def _gains(runs: Runs) -> dict[int, float]:
    """How much more throughput four segments give, in per cent, by size in kB."""
    return {size: 100 * (one / (one - saved) - 1) for size in _FTP for saved, one in (_saved(runs, size),)}


def _by_size(values: dict[int, float], unit: str) -> str:
    return ", ".join(f"{value:.3g} {unit} for {size} kB" for size, value in values.items())


def _shorter(runs: Runs) -> list[float]:
    """By how many per cent four segments make 16 kB faster."""
    saved, one = _saved(runs, 16)
    return [100 * saved / one]


def _windowed(connections: int, mbps: float, **tcp: Any) -> Scenario:
    """Connections whose receivers offer 65,535 bytes."""
    tcp = OLD | {"receive_buffer": "65535 B", "window_scaling": False, **tcp}
    return download(path("65,535 bytes", mbps, GEO_MS, seconds=120, warmup=30), tcp, count=connections)


def _growth(name: str, **tcp: Any) -> Scenario:
    """1 MB over a satellite of 10 Mbit/s, in slow start throughout."""
    settings = OLD | {"initial_window": "1 packet", **tcp}
    return asked(path(name, 10, GEO_MS, seconds=60), "1 MB", tcp=settings)


def _acks() -> dict[str, Any]:
    return {"slow_start": {"kind": "standard", "counting": "acks"}}


#: Seconds that count as start-up over a satellite.
START = 15


def ka(name: str, mbps: float, seconds: float, warmup: float = 0, **link: Any) -> Scenario:
    """A household's geostationary link in Ka band at some rate, with the jitter and the wandering rate of its profile, or with other settings."""
    return Scenario(name, duration=f"{seconds:g} s", warmup=f"{warmup:g} s", sample="1 s").link(
        "path", "server", "client", profile="geo-ka", forward={"rate": f"{mbps:g} Mbit/s"}, **link
    )


def _cubic(slow_start: str) -> dict[str, Any]:
    return LINUX | {"congestion": "cubic", "slow_start": slow_start}


_OFF_ON = {"HyStart off": "standard", "HyStart on": "hystart"}


def _trips(runs: Runs, variant: str) -> float:
    """Round trips behind that of the handshake."""
    return (runs.mean(variant, TIME) * 1000 - GEO_MS) / GEO_MS


HEADLINES = (
    Headline(
        "H1", "Allman, Glover, Sanchez 1999", "RFC 2488, section 4.2",
        "a window of 65,535 B over a satellite's round trip of 560 ms carries 117,027 B/s at most",
        "the RFC", {"one": _windowed(1, 10), "1285": _windowed(1, 10, mss="1285 B", ack_every=1)},
        value=lambda runs: runs.each("one", GOODPUT, 8), number=117_027, within=0.02, unit="B/s",
        note=lambda runs: f"{runs.mean('1285', GOODPUT, 8):,.0f} with segments of 1285 B and an ACK for each",
        reason="65,535 B have room for 44 whole segments of 1460 B, which are 64,240 B. Of 1285 B there are 51, without a rest; with these and an ACK for each the number is there.",
        assumed="10 Mbit/s, so that only the window limits",
    ),
    Headline(
        "H2", "Allman, Glover, Sanchez 1999", "RFC 2488, section 4.2",
        "two such connections fill a T1 line of 192,000 B/s over a satellite",
        "the RFC", {"two": _windowed(2, 1.536)},
        lambda runs: band(100 * runs.mean("two", USED), 98, 100, margin=2, unit="%"), kind="band",
        assumed="a queue of one bandwidth-delay product",
    ),
    Headline(
        "H3", "Allman, Floyd, Partridge 2002", "RFC 3390, section 3; RFC 2760, section 3.2.1.1",
        "4,380 B or four segments at first save up to three round trips and a delayed ACK, beside one segment",
        "both RFCs", _initial(_SIZES, 10, GEO_MS, 60),
        value=lambda runs: [max(_savings(runs).values())], number=3 * GEO_MS / 1000 + _DELAYED, within=0.05, unit="s",
        note=lambda runs: _by_size(_savings(runs), "s"),
        reason="With one segment at first a second ACK is delayed. With ACKs that wait for 1 ms at most, which was tried, 64 kB save 1.67 s: three round trips.",
        assumed="10 Mbit/s, 560 ms, segments of 512 B, ACKs delayed by 200 ms at most; the best of 2 to 256 kB",
    ),
    Headline(
        "H4", "Allman 1997", "as cited in RFC 3390, section 8.1",
        "four segments of 512 B at first give up to 30 % more throughput over a satellite, depending on the size",
        "the RFC that cites it", _initial(_FTP, 1.536, GEO_MS, 120),
        value=lambda runs: [max(_gains(runs).values())], number=30, within=0.25, unit="%", note=lambda runs: _by_size(_gains(runs), "%"),
        assumed="a T1 line, 560 ms, files of 100 kB to 5 MB",
        reason="No sizes are given in the text that was read; the gain grows as a file becomes smaller.",
    ),
    Headline(
        "H5", "Allman, Hayes, Ostermann 1998", "as cited in RFC 3390, section 8.2",
        "16 kB to Internet hosts take 25 % less time with four segments of 512 B at first than with one",
        "the RFC that cites it", _initial((16,), 10, 100, 60),
        value=_shorter, number=25, within=0.25, unit="%",
        assumed="10 Mbit/s, 100 ms, time with the handshake",
        reason="The time is that of a client that connects and asks. The text that was read gives neither the round trips nor whether the handshake counts.",
    ),
    Headline(
        "H6", "Allman, Hayes, Ostermann 1998", "as cited in RFC 3390, section 8.1",
        "16 kB over a modem of 28.8 kbit/s take 10 % less time with four segments of 512 B at first than with one",
        "the RFC that cites it", _initial((16,), 0.0288, 200, 120),
        value=_shorter, number=10, within=0.25, unit="%",
        assumed="a round trip of 200 ms without transmission",
        reason="The text that was read gives no round trip.",
    ),
    Headline(
        "H7", "Allman, Floyd, Partridge 2002", "RFC 3390, section 3",
        "transfers of less than 4 kB then take a single round trip",
        "the RFC",
        {
            name: asked(path("4 kB", 10, GEO_MS, seconds=20), "4 kB", tcp=OLD | {"initial_window": "4380 B", "nagle": name == "Nagle"})
            for name in ("at once", "Nagle")
        },
        value=lambda runs: [_trips(runs, "at once")], number=1, within=0.05, unit="round trips",
        note=lambda runs: f"{_trips(runs, 'Nagle'):.2f} with Nagle's algorithm, which holds the last segment back",
        assumed="10 Mbit/s, 560 ms; the round trip of the handshake is taken off, and Nagle's algorithm is off",
    ),
    Headline(
        "H8", "Chu, Dukkipati, Cheng, Mathis 2013", "RFC 6928, section 3",
        "ten segments at first without SACK are faster than three with it",
        "the RFC",
        {
            name: path("page objects", 10, 100, seconds=120, forward={"loss": "1 %"}).flow(
                "client", "server", name="download", count=100, start={"spaced": "1 s"}, tcp=OLD | tcp,
                app={"kind": "request", "requests": 1, "request": "300 B", "response": "35 kB"},
            )
            for name, tcp in (
                ("3, SACK", {"initial_window": "3 packets"}),
                ("10, no SACK", {"initial_window": "10 packets", "variant": "newreno"}),
            )
        },
        lambda runs: more(runs, TIME, {"three with SACK take longer": ("3, SACK", "10, no SACK")}, name="s"),
        kind="ordering", drawn=True,
        assumed="10 Mbit/s, 100 ms, 1 % random loss, a hundred connections with an answer of 35 kB each",
    ),
    Headline(
        "H9", "Allman 1997, 1998", "as cited in RFC 2760, section 3.2.2.2",
        "byte counting opens the window over a satellite in less time than counting ACKs",
        "the RFC that cites it",
        {"ACKs": _growth("ACKs", **_acks()), "bytes": _growth("bytes", slow_start={"kind": "standard", "counting": "bytes", "limit": 2})},
        lambda runs: more(runs, TIME, {"ACKs take longer": ("ACKs", "bytes")}, name="s for 1 MB"),
        kind="ordering",
        assumed="10 Mbit/s, 560 ms, delayed ACKs, 1 MB; at most two segments an ACK",
    ),
    Headline(
        "H10", "Allman 1998", "as cited in RFC 2760, section 3.2.3.2",
        "delaying ACKs only after slow start makes transfers faster than delaying all",
        "the RFC that cites it",
        {"all": _growth("all delayed", **_acks()), "after": _growth("delayed after slow start", quick_acks=10_000, **_acks())},
        lambda runs: more(runs, TIME, {"all delayed take longer": ("all", "after")}, name="s for 1 MB"),
        kind="ordering",
        assumed="10 Mbit/s, 560 ms, 1 MB, which is slow start throughout: each of its segments is acknowledged at once",
    ),
    Headline(
        "H11", "Peters, Zhao, Chung, Claypool 2021", "netdev 0x15, abstract",
        "over a commercial geostationary link CUBIC with HyStart has about half of the throughput without it during start-up",
        "the abstract",
        {name: download(ka(name, 140, START), _cubic(kind)) for name, kind in _OFF_ON.items()}
        | {f"{name}, no jitter": download(ka(name, 140, START, jitter="0 s"), _cubic(kind)) for name, kind in _OFF_ON.items()},
        value=lambda runs: runs.ratios("HyStart on", "HyStart off", GOODPUT), number=0.5, within=0.25, unit="times",
        note=lambda runs: f"{rates(runs, *_OFF_ON)}; without jitter {shown(runs.ratios('HyStart on, no jitter', 'HyStart off, no jitter', GOODPUT))} times",
        drawn=True, weight=3,
        assumed=f"140 Mbit/s with the delay, jitter and queue of the profile geo-ka, no proxy, unlimited buffers; start-up is the first {START} s",
        reason="It is a matter of jitter, which was tried: with that of the profile HyStart leaves slow start at once, without it HyStart gains. The link's jitter is not in the text that was read.",
    ),
    Headline(
        "H12", "Ha, Rhee 2011", "Taming the elephants, abstract",
        "HyStart improves start-up throughput more than 2 to 3 times, with other systems' receivers",
        "the abstract",
        {
            name: download(path(name, 100, 200, seconds=20), OLD | {"variant": variant, "congestion": "cubic", "slow_start": kind})
            for variant in ("newreno", "sack") for name, kind in ((f"off, {variant}", "standard"), (f"on, {variant}", "hystart"))
        },
        lambda runs: _improved(runs),
        kind="band", weight=3,
        assumed="100 Mbit/s, 200 ms, a queue of one bandwidth-delay product, CUBIC, 20 s; NewReno stands for receivers without SACK",
        reason="Those receivers were Windows XP's and FreeBSD's; a receiver without SACK stands for them, and the rates of the paper were not in the text that was read.",
    ),
)  # fmt: skip


def _improved(runs: Runs) -> Judgement:
    """The larger of two factors, with SACK and without."""
    gains = {one: runs.mean(f"on, {one}", GOODPUT) / runs.mean(f"off, {one}", GOODPUT) for one in ("newreno", "sack")}
    judged = band(max(gains.values()), 2, 3, margin=1, unit="times")
    text = rates(runs, "off, newreno", "on, newreno", "off, sack", "on, sack")
    return Judgement(judged.verdict, f"{judged.measured}; {text}", judged.tolerance)
