"""Headlines on thin return links."""

from __future__ import annotations

from typing import Any

from longhaul.scenario import Scenario

from ..verdict import Judgement, holds
from .headline import Headline, Runs, shown
from .scenarios import GOODPUT, MBPS, OLD, download, path

#: 10 Mbit/s down over 50 kbit/s up, by 1000 over 40 bytes: RFC 3449's k.
K = 8
_UP, _USED = "link.path.reverse", "link.path.forward.utilisation"


def _thin(acknowledged: int, queue: str) -> Scenario:
    """Packets of 1000 B down and ACKs of 40 B up, with a fixed window of some bandwidth-delay products."""
    tcp: dict[str, Any] = OLD | {
        "mss": "960 B", "ack_every": acknowledged, "delayed_ack": "500 ms", "congestion": {"kind": "fixed", "window": "1 MB"},
    }  # fmt: skip
    built = path(
        "thin return", 10, 100, seconds=120, warmup=40, queue="2000 packets",
        reverse={"rate": "50 kbit/s", "queue": queue},
    )  # fmt: skip
    return download(built, tcp)


def _passed(runs: Runs) -> list[float]:
    """ACKs that came to the return link over those that crossed it."""
    came, crossed = (runs.each("5 packets", f"{_UP}.{what}") for what in ("arrivals", "transmitted_packets"))
    return [a / b for a, b in zip(came, crossed, strict=True)]


def _sparse(every: int) -> Scenario:
    """QUIC with an ACK for so many packets over a geostationary satellite."""
    return path(f"an ACK of {every}", 20, 600, seconds=60, reverse={"rate": "2 Mbit/s", "queue": "100 packets"}).flow(
        "client", "server", name="download", transport="quic", quic={"congestion": "cubic", "unordered": True, "ack_every": every},
        app={"kind": "request", "requests": 1, "request": "300 B", "response": "1 GB"},
    )  # fmt: skip


def _kept(runs: Runs) -> Judgement:
    kept = {every: runs.mean(f"{every}", GOODPUT, MBPS) for every in (2, 10)}
    acks = {every: runs.mean(f"{every}", f"{_UP}.arrivals") for every in (2, 10)}
    text = ", ".join(
        f"an ACK of {every}: {shown(runs.each(f'{every}', GOODPUT, MBPS))} Mbit/s, {acks[every]:,.0f} packets back"
        for every in kept
    )
    return holds(
        {
            "the throughput is kept within 5 %": kept[10] >= 0.95 * kept[2],
            "a third of the packets back": acks[10] < acks[2] / 3,
        },
        text,
    )


HEADLINES = (
    Headline(
        "H31", "Balakrishnan, Padmanabhan, Fairhurst, Sooriyabandara 2002", "RFC 3449, section 3.1",
        "10 Mbit/s down and 50 kbit/s up with packets of 1000 and 40 B have k = 8: with an ACK for each packet an eighth of the link is used",
        "the RFC", {"each": _thin(1, "2000 packets")},
        value=lambda runs: [1 / used for used in runs.each("each", _USED)], number=K, within=0.05, unit="times less than the link",
        assumed="100 ms, deep queues, a fixed window of 1 MB", weight=2,
    ),
    Headline(
        "H32", "Balakrishnan, Padmanabhan, Fairhurst, Sooriyabandara 2002", "RFC 3449, section 3.1",
        "only an ACK for 8 packets or more lets the same path saturate its forward link",
        "the RFC", {"eighth": _thin(K, "2000 packets"), "fourth": _thin(K // 2, "2000 packets")},
        lambda runs: holds(
            {"an ACK of 8 fills it": runs.mean("eighth", _USED) >= 0.98, "an ACK of 4 does not": runs.mean("fourth", _USED) < 0.6},
            f"{100 * runs.mean('eighth', _USED):.1f} % with an ACK of 8, {100 * runs.mean('fourth', _USED):.1f} % with one of 4",
        ),
        kind="ordering", assumed="as H31; a link that is full to 98 % is saturated", weight=2,
    ),
    Headline(
        "H33", "Balakrishnan, Padmanabhan, Fairhurst, Sooriyabandara 2002", "RFC 3449, section 3.1",
        "with a small buffer upstream one of k = 8 ACKs gets through, and the rest are dropped",
        "the RFC", {"5 packets": _thin(1, "5 packets")},
        value=_passed, number=K, within=0.1, unit="ACKs come for one that passes",
        assumed="a buffer of five ACKs; as H31 otherwise", weight=2,
    ),
    Headline(
        "H34", "Custura, Jones, Secchi, Fairhurst 2022", "Reducing the acknowledgement frequency in IETF QUIC, abstract",
        "QUIC's performance over satellites is kept with fewer acknowledgements",
        "the abstract", {f"{every}": _sparse(every) for every in (2, 10)}, _kept, kind="ordering", weight=2,
        assumed="20 and 2 Mbit/s, 600 ms, CUBIC, one packet of 10 acknowledged in place of one of 2, 60 s",
    ),
)  # fmt: skip
