"""The thesis's main claims, for the top of the document: its own statements; what is derived from its tables is marked so."""

from __future__ import annotations

from collections.abc import Callable

from ..model import Claim
from ..results import Results, Row, Table
from . import grids, measures
from .tables import APPENDIX_1, APPENDIX_2, CHOSEN

_TCPS = ("reno", "vegas")


def _mean(table: Table, metric: Callable[[Row], float], **point: object) -> float:
    return measures.interval(table.values(metric, **point)).mean


def savings(
    results: Results, experiment: str, metric: Callable[[Row], float], least: int, rival: str = ""
) -> dict[int, float]:
    """What STTP has less than a TCP, or than the lower of both, in per cent, by number of sources."""
    table = results[experiment]
    rivals = (rival,) if rival else _TCPS
    return {
        n: 100 * (1 - _mean(table, metric, protocol=CHOSEN, n=n) / min(_mean(table, metric, protocol=p, n=n) for p in rivals))
        for n in table.points("n", protocol=CHOSEN) if n >= least
    }  # fmt: skip


def _fewer(results: Results, experiment: str) -> str:
    reno, vegas = (max(savings(results, experiment, measures.sent, 0, rival).values()) for rival in _TCPS)
    return f"up to {reno:.1f} % fewer bytes than Reno, {vegas:.1f} % fewer than Vegas"


def _drops(results: Results) -> str:
    transfers, films = (
        savings(results, experiment, measures.dropped, least)
        for experiment, least in (("transfers", 30), ("video", 20))
    )
    return (
        f"less than the lower TCP by {min(transfers.values()):.0f} to {max(transfers.values()):.0f} % (transfers),"
        f" {min(films.values()):.0f} to {max(films.values()):.0f} % (films)"
    )  # fmt: skip


def _appendix(results: Results) -> str:
    table = results["transfers"]
    sent, lost = (
        [_mean(table, metric, protocol=CHOSEN, n=n) / 1e6 for n in APPENDIX_1]
        for metric in (measures.sent, measures.dropped)
    )
    return f"{min(sent):.1f} to {max(sent):.1f} MB sent, {min(lost):.1f} to {max(lost):.1f} MB dropped"


def _fair(results: Results) -> str:
    table = results["fairness"]
    index = {p: _mean(table, measures.jain, protocol=p, n=4) for p in ("reno", "sttp 5:5", "sttp 1:9")}
    return f"Jain's index of four sources: {index['sttp 5:5']:.2f} with 5:5, {index['sttp 1:9']:.2f} with 1:9, Reno {index['reno']:.2f}"


def _mixed(results: Results) -> str:
    table = results["mixed"]
    parts = []
    for n in [n for n in table.points("n", version=CHOSEN) if n in (18, 30, 60)]:
        share = [_mean(table, measures.of_group(p), n=n, version=CHOSEN) for p in ("reno", "vegas", "sttp")]
        parts.append(f"{'/'.join(f'{100 * value / sum(share):.0f}' for value in share)} % with {n} nodes")
    return "Reno/Vegas/STTP " + ", ".join(parts)


def _opened(results: Results) -> str:
    dead = {n: _mean(results["transfers"], measures.dead, protocol=CHOSEN, n=n) for n in (10, 20, 50, 100, 200)}
    return "never opened: " + ", ".join(f"{value:.1f} of {n}" for n, value in dead.items())


def _functional(results: Results) -> str:
    """Packets dropped of those sent by all six, as in table 4.4."""
    share = {}
    for protocol in ("reno", CHOSEN):
        rows = [measures.nodes(row) for row in results["functional"].where(protocol=protocol)]
        share[protocol] = (
            100
            * sum(node.dropped[0] for row in rows for node in row)
            / sum(node.sent[0] for row in rows for node in row)
        )
    return f"STTP loses {share[CHOSEN]:.0f} % of its packets, Reno {share['reno']:.0f} %"


def _interactive(results: Results) -> str:
    table = results["modern"]
    parts = []
    for metric, what in (("group.pages.page_time_p95_s", "pages"), ("group.keys.response_time_p95_s", "echoes")):
        times = {
            user: [table.median(metric, protocol=user, rival=rival) for rival in grids.RIVALS]
            for user in ("sttp", "cubic")
        }
        shown = ", ".join(
            f"{name} {min(times[user]):.2g} to {max(times[user]):.2g} s"
            for user, name in (("sttp", "STTP"), ("cubic", "CUBIC"))
        )
        parts.append(f"{what}: {shown}")
    return "95 % of " + "; ".join(parts)


CLAIMS = (
    Claim("Bulk transfers: goodput comparable to Reno's and Vegas's with markedly fewer transmissions.", ("E2b", "E2h"), "Below 30 sources Vegas sends less.", lambda results: _fewer(results, "transfers")),
    Claim("Films: up to 20 % fewer packets, goodput within 1 %.", ("E4f", "E4b", "E4g"), "Our film and Reno's smallest RTO differ from the thesis's.", lambda results: _fewer(results, "video")),
    Claim("Markedly fewer drops than Reno and Vegas.", ("E2c", "E4c"), "With few sources Vegas loses least.", _drops),
    Claim(f"Appendix table 1, STTP: 225.1 to 230.0 MB sent, 0 to 4.9 MB dropped, {min(APPENDIX_1)} to {max(APPENDIX_1)} sources.", tuple(f"A1 sttp {n}" for n in APPENDIX_1), "Bytes sent agree within 2 % up to 170 sources; losses of one or two per cent differ by more than a quarter.", _appendix),
    Claim(f"Appendix table 2, STTP: 56.8 to 58.8 MB sent, 0.5 to 2.5 MB dropped, {min(APPENDIX_2)} to {max(APPENDIX_2)} sources.", tuple(f"A2 sttp {n}" for n in APPENDIX_2), "Most rows hold; with 10, 20 and 100 sources the share lost is off by more than a quarter."),
    Claim("Given time and weights of 5:5 or 1:9, STTP's fairness equals Reno's.", ("T4.5 sttp 5:5 4", "T4.5 sttp 1:9 4", "T4.5 sttp 5:5 2", "T4.5 sttp 1:9 2", "E3b"), "Two flows are; of four some keep more, and from 50 on a few keep most of the link (ours).", _fair),
    Claim("From about 30 to 40 sources on, flows whose probes are lost never open.", ("E2f",), "A flow of 20 is dead in some runs already.", _opened),
    Claim("In competition Reno gets ahead of Vegas and STTP from 15 nodes on.", ("E6b",), "From 60 nodes on; with fewer the link is not full.", _mixed),
    Claim("Experiment 1: STTP drops nothing, Reno loses packets with a single flow too, STTP's goodput is higher.", ("E1a", "E1f", "E1c"), "It depends on buffers and buckets that the thesis does not give: one reading gives both.", _functional),
    Claim("It suits interactive use (the thesis measured neither pages nor keystrokes: ours).", ("M1", "M2"), "Keystrokes yes; pages over 600 ms are slow, since a reduced flow hardly grows.", _interactive),
)  # fmt: skip
GAP = "above 50 sources Reno and Vegas send up to 4 % more here and in ns-2.35 than in the thesis; a smallest RTO of 1 s closes the gap for Reno's transfers, not for films."
