"""The study's main claims, for the top of the document."""

from __future__ import annotations

from ..model import Claim
from ..results import Results
from .measures import HSTCP, REGTCP, utilisation
from .targets import isolated, streams
from .targets.sets import SHORT, against, crosspoint, fairness, rates, series
from .targets.stress import ratio_over_losses
from .targets.words import every, short, some


def _alone(results: Results) -> str:
    used = {kind: utilisation(kind)(isolated.alone(results, kind, "red")) for kind in (HSTCP, REGTCP)}
    return f"standard TCP uses {used[REGTCP]:.1f} % in the second half, HighSpeed TCP {used[HSTCP]:.1f} %"


def _few_flows(results: Results) -> str:
    high, standard = (series(results["E2"], kind, "red") for kind in (HSTCP, REGTCP))
    few = {n: value for n, value in standard.items() if 2 <= n <= 10}
    return f"2 HighSpeed flows use {high[2]:.1f} %; standard flows {some(few, '%')}"


def _lossy(results: Results) -> str:
    ratio = {p: value for p, value in ratio_over_losses(results).items() if p <= 1e-3}
    return f"times standard TCP's: {every(ratio)}"


def _adapts(results: Results) -> str:
    equal = {SHORT[queue]: crosspoint(against(results, queue)) for queue in SHORT}
    beside = streams.per_flow(results["E9"], "hstcp", "red", "loss")
    flows = ", ".join(f"{short(n)} with {queue}" for queue, n in equal.items())
    return f"{flows}; beside ten flows {beside[1e-3]:.1f} at 1e-3, {beside[1e-5]:.1f} at 1e-5"


def _under_bursts(results: Results) -> str:
    found = {kind: series(results["E4"], kind, "red", "p") for kind in (HSTCP, REGTCP)}
    most = max(found[HSTCP])
    immune = series(results["E4"], HSTCP, "droptail", "p")[most]
    return f"with {most} bursts {found[HSTCP][most]:.0f} % with RED, {immune:.0f} % with DT; standard TCP {found[REGTCP][most]:.0f} %"


def _gains(results: Results) -> str:
    return f"{some(streams.of_competitor(results['E10'], 'hstcp', 'red', 'p'), '%')} bursts"


def _slow_start(results: Results) -> str:
    lost = {threshold: isolated.lost_in_slow_start(results, threshold) for threshold in (0, 100)}
    time = {threshold: isolated.first_cut(results, threshold)[0] for threshold in (0, 100)}
    return f"{lost[0]:,.0f} packets lost without it, {lost[100]:,.0f} with max_ssthresh = 100; slow start ends after {time[0]:.1f} and {time[100]:.1f} s"


def _fairer(results: Results) -> str:
    """Of ten flows: events, fairness and use, with RED and with DropTail."""
    table = results["E2"]
    rate = [rates(table, HSTCP, queue)[10] for queue in SHORT]
    ratio = [fairness(table, queue)[10] for queue in SHORT]
    used = [series(table, HSTCP, queue)[10] for queue in SHORT]
    return (
        f"10 flows, RED and DT: CER {short(rate[0])} and {short(rate[1])}, RF {ratio[0]:.1f} and {ratio[1]:.1f},"
        f" LU {used[0]:.1f} and {used[1]:.1f} %"
    )


CLAIMS = (
    Claim("Standard TCP cannot fill 1 Gbit/s over 100 ms; one HighSpeed flow uses 98.9 % of it.", ("E1.4d", "E1.5", "E1.1a"), here=_alone),
    Claim("Few HighSpeed flows fill a clean link; fewer than ten standard flows do not.", ("E2.2", "E2.1"), "Six standard flows use 99 % with RED: their cuts come at different times.", _few_flows),
    Claim("On a lossy link HighSpeed TCP has up to twice standard TCP's share, from 1e-6 to 1e-3.", ("E3.4b", "E3.1", "E3.3"), "At 1e-6 standard TCP fills the link too.", _lossy),
    Claim("Its fairness adapts: one HighSpeed flow equals 6 standard flows with RED, 13 with DropTail.", ("E5.3", "E5.4", "E9.8"), "At 1e-3 it has more than the study's 1, by its response function.", _adapts),
    Claim("Under bursts it keeps the link, standard TCP does not.", ("E4.1", "E4.4"), "With RED it loses a third at 70 bursts; with bursts of one segment 6 %, and standard TCP three quarters (reading).", _under_bursts),
    Claim("Under bursts and RED one HighSpeed flow even gains: it uses what ten standard flows leave.", ("E10.2",), "How bursts begin: with two packets it loses, less than each of the ten; with one segment it gains a little (*partly*).", _gains, conditional=True),
    Claim("Limited slow start avoids 27,274 lost packets at the price of a slower start.", ("E11.1g", "E11.1a", "E11.1b", "E11.1c", "E11.3"), here=_slow_start),
    Claim("RED lowers loss and improves fairness at equal utilisation; DropTail makes HighSpeed TCP less fair.", ("E2.14", "E2.16", "D13", "D16"), "Exceptions: two standard flows, with a cut or none in a run, and 70 bursts, where as much is stolen with either.", _fairer),
)  # fmt: skip
GAP = (
    "under bursts with RED one HighSpeed flow beside ten standard ones falls from a third to a quarter of the link (figure 6.35, target E10.2), though much of the link is"
    " unused; in the study it gains what the standard flows leave. With bursts that begin with one segment instead of two it has 34.9, 39.4, 36.9, 40.9 and 36.6 % at 0, 10, 30, 50 and 70 bursts."
)
