"""What the headlines say together, in a few sentences."""

from __future__ import annotations

from ..model import Claim
from ..results import Results
from .headline import Runs
from .scenarios import GOODPUT, MBPS, TIME, at_loss


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _hystart(results: Results) -> str:
    runs = Runs(results, "H11")
    with_jitter, without = (
        _mean(runs.ratios(f"HyStart on{jitter}", f"HyStart off{jitter}", GOODPUT)) for jitter in ("", ", no jitter")
    )
    return (
        f"with HyStart over without it: {with_jitter:.2f} times with the profile's jitter, {without:.2f} without jitter"
    )


def _hybla(results: Results) -> str:
    runs = Runs(results, "H23")
    hybla, standard = (runs.mean(f"{one}, {at_loss(0.01)}", GOODPUT, MBPS) for one in ("hybla", "standard"))
    return f"600 ms, 1 % of loss: Hybla {hybla:.2f} Mbit/s, standard {standard:.2f}"


def _quic(results: Results) -> str:
    acks, lost = Runs(results, "H34"), Runs(results, "H41")
    rates = [acks.mean(every, GOODPUT, MBPS) for every in ("10", "2")]
    times = [lost.mean(f"bbr, {link}", TIME) for link in ("satloss", "sat")]
    return f"an ACK of 10 packets: {rates[0]:.1f} Mbit/s, of 2: {rates[1]:.1f}; BBR {times[0]:.1f} s with 1 % of loss, {times[1]:.1f} without"


def _starlink(results: Results) -> str:
    runs = Runs(results, "H42")
    factors = [
        _mean(runs.ratios(f"bbr{loss}", f"cubic{loss}", GOODPUT))
        for loss in ("", f", {at_loss(0.001)}", f", {at_loss(0.01)}")
    ]
    return (
        f"BBR over CUBIC: {factors[0]:.2f} times; with 0.1 % of random loss {factors[1]:.1f}, with 1 % {factors[2]:.0f}"
    )


CLAIMS = (
    Claim("Windows and initial windows: what a round trip of a satellite costs follows from arithmetic.", ("H1", "H2", "H3", "H4", "H6", "H7"), "Whole segments and delayed ACKs move the numbers by a few per cent."),
    Claim("Counting bytes, and fewer delayed ACKs, shorten slow start over a satellite.", ("H9", "H10")),
    Claim("HyStart halves start-up over a geostationary link.", ("H11", "H37"), "It depends on the link's jitter: without jitter HyStart costs nothing, with much it costs far more.", _hystart, conditional=True),
    Claim("Response functions: what a loss rate leaves to Reno, HighSpeed TCP and CUBIC.", ("H14", "H15", "H16", "H17"), "CUBIC's formula leaves out fast convergence."),
    Claim("Random loss starves CUBIC, and leaves BBR the link.", ("H19", "H20", "H21"), "How far CUBIC falls depends on what it has without loss."),
    Claim("Hybla and Westwood hold what standard TCP loses with distance or errors.", ("H23", "H24", "H25"), "Without loss both fill the link, and Hybla has nothing to gain.", _hybla),
    Claim("Split connections and helpers at the radio: PEPsal, I-TCP, snoop, ACK filters.", ("H26", "H27", "H28", "H29", "H30"), "The errors of the links are not quoted."),
    Claim("A thin return link limits by k, the ratio of rates over that of packets.", ("H31", "H32", "H33")),
    Claim("QUIC over satellites suffers from loss, and can do with fewer ACKs.", ("H34", "H41"), here=_quic),
    Claim("Over Starlink BBR has several times what CUBIC has.", ("H42", "H43"), "It depends on the loss: over the profile, which has little, both fill the link.", _starlink, conditional=True),
)  # fmt: skip
GAP = "pages by QUIC take as long as by split TCP (H39; the paper has twice as long), and 10 MiB by BBR in quinn-proto over 1 % of loss have 6 of picoquic's 11 Mbit/s (H40). Neither sender is here, and no cause was tried."
