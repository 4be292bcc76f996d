"""Headlines of measurements over real satellites: proxies, QUIC, Starlink, queues shared by many, recovery."""

from __future__ import annotations

from typing import Any

from longhaul.scenario import Scenario

from ..results import NotRun, Row
from ..verdict import Judgement, both, holds, number
from .headline import Headline, Runs, alike, more, rates, shown
from .scenarios import GOODPUT, LINUX, MBPS, OLD, TIME, USED, asked, at_loss, bdp, download, lossy, path
from .start_up import START, ka

#: Congestion controls of a paper on proxies; PCC, its fourth, is not here.
_COMPARED = ("cubic", "bbr", "hybla")
#: The rate at which its flows were alike, in Mbit/s.
_STEADY = 70


def _linux(congestion: str, **tcp: Any) -> dict[str, Any]:
    return LINUX | {"congestion": congestion, **tcp}


def _alone(congestion: str, seconds: float, warmup: float) -> Scenario:
    """One flow over a geostationary link with jitter, in slow start with HyStart where Linux has it."""
    tcp = _linux(congestion, **({"slow_start": "hystart"} if congestion == "cubic" else {}))
    return download(ka(congestion, _STEADY, seconds, warmup), tcp)


def _start(proxy: bool) -> Scenario:
    """CUBIC with HyStart; the proxy's connection over the satellite begins with as much as its gateway has room for."""
    built = _between(
        Scenario("proxy" if proxy else "none", duration=f"{START} s", sample="1 s"),
        profile="geo-ka",
        forward={"rate": f"{_STEADY} Mbit/s"},
    )
    return download(_split(built) if proxy else built, _linux("cubic", slow_start="hystart"))


def _between(built: Scenario, **satellite: Any) -> Scenario:
    """The satellite link between a hub, 20 ms from the server, and a terminal beside the client."""
    return (
        built.link("internet", "server", "hub", rate="1 Gbit/s", delay="10 ms")
        .link("path", "hub", "terminal", **satellite)
        .link("lan", "terminal", "client", rate="1 Gbit/s", delay="0 s")
    )


def _split(built: Scenario, **long: Any) -> Scenario:
    """Proxies at both ends of the satellite link; Hybla between them unless something else is given."""
    long = {"variant": "linux", "congestion": "hybla"} | long
    return built.middlebox("hub", "split", peer="terminal", buffer="16 MB", connections="per_flow", long=long)


def _alike(runs: Runs) -> Judgement:
    return alike(runs, {one: one for one in _COMPARED}, GOODPUT, 0.1, MBPS, "Mbit/s")


def _higher_at_start(runs: Runs) -> Judgement:
    return both(
        alike(runs, {one: f"{one}, steady" for one in ("bbr", "cubic")}, GOODPUT, 0.1, MBPS, "Mbit/s"),
        more(runs, GOODPUT, {"BBR has more at the start": ("bbr, start", "cubic, start")}, MBPS, "Mbit/s"),
    )


def reaching(row: Row, share: float, mbps: float) -> float:
    """Seconds until a flow's goodput of an interval first has a share of a rate."""
    flows = row.result().flows
    times = flows.filter(flows["goodput_bps"] >= share * mbps * MBPS)["time_s"].to_list()
    if not times:
        raise NotRun("the rate was never reached")
    return float(min(times))


def _web(**flow: Any) -> Scenario:
    """Ten pages of 2 MB in 40 objects over a geostationary link of 20 Mbit/s."""
    built = _between(
        Scenario("pages", duration="300 s", sample="1 s"), delay="300 ms",
        forward={"rate": "20 Mbit/s", "queue": bdp(20, 600)}, reverse={"rate": "6 Mbit/s", "queue": bdp(6, 600)},
    )  # fmt: skip
    if flow.get("transport") != "quic":
        built = _split(built)
    app = {
        "kind": "web",
        "objects": 40,
        "object": "50 kB",
        "pages": 10,
        "think": "5 s",
        "parallel": 6,
        "persistent": True,
    }
    return built.flow("client", "server", name="pages", app=app, **flow)


_PAGE = "page_time_mean_s"


def _interop(congestion: str, loss: float) -> Scenario:
    """10 MiB by QUIC as the satellite measurements of an interop runner have it: queues of 25 packets both ways."""
    wire = {"loss": {"kind": "random", "probability": loss}} if loss else {}
    built = Scenario(congestion, duration="120 s", sample="1 s").link(
        "path", "server", "client", delay="300 ms", forward={"rate": "20 Mbit/s", "queue": "25 packets", **wire},
        reverse={"rate": "2 Mbit/s", "queue": "25 packets", **wire},
    )  # fmt: skip
    return asked(built, "10485760 B", transport="quic", quic={"congestion": congestion, "unordered": True})


def _lossier(runs: Runs) -> Judgement:
    """Completion times with loss over those without; a transfer that does not end within the time of the runner took that long."""
    times = {}
    for control in ("cubic", "reno", "bbr"):
        for link in ("sat", "satloss"):
            times[control, link] = [one or 120.0 for one in runs.each(f"{control}, {link}", TIME)]
    means = {key: sum(found) / len(found) for key, found in times.items()}
    text = ", ".join(
        f"{control} {shown(times[control, 'sat'])} and {shown(times[control, 'satloss'])} s"
        for control in ("cubic", "reno", "bbr")
    )
    return holds(
        {
            f"{control} takes longer": means[control, "satloss"] > means[control, "sat"]
            for control in ("cubic", "reno", "bbr")
        },
        text,
    )


def _starlink(congestion: str, slow_start: str = "", seconds: float = 30, loss: float = 0.0) -> Scenario:
    """One flow over the profile of a Starlink dish, with other losses in place of its own if they are given."""
    built = Scenario(congestion, duration=f"{seconds:g} s", sample="1 s").link(
        "path", "server", "client", profile="starlink", **lossy(loss)
    )
    return download(built, _linux(congestion, **({"slow_start": slow_start} if slow_start else {})))


_SOURCES = (5, 15, 50)


def _many(sources: int) -> Scenario:
    """Sources with SACK over a satellite whose queue has half of a bandwidth-delay product."""
    built = path(f"{sources} sources", 50, 550, seconds=200, warmup=80, queue=bdp(50, 550, 0.5))
    return download(built, OLD, count=sources, start={"uniform": ["0 s", "10 s"]})


def _recovery(row: Row) -> float:
    """Seconds from a cut of the window until it is as large as it was, after the only loss."""
    flows = row.result().flows
    times, windows = flows["time_s"].to_list(), flows["cwnd_bytes"].to_list()
    cut = row["first_congestion_event_s"]
    before = max((w for t, w in zip(times, windows, strict=True) if t <= cut), default=0.0)
    after = [t for t, w in zip(times, windows, strict=True) if t > cut + 0.5 and w >= before]
    if not after or not before:
        raise NotRun("the window did not recover in the run")
    return float(after[0]) - cut


def _once(congestion: str, mbps: float) -> Scenario:
    """A flow at a full window of a link that then loses one packet."""
    window = mbps * 0.2 * MBPS / 8
    first = round(30 * mbps * MBPS / 8 / 1500)
    built = path(
        congestion, 4 * mbps, 200, seconds=90, sample="100 ms",
        forward={"loss": {"kind": "periodic", "first": first, "every": first, "count": 1}},
    )  # fmt: skip
    tcp = OLD | {
        "congestion": congestion,
        "initial_ssthresh": f"{round(0.97 * window)} B",
        "initial_window": "10 packets",
    }
    return download(built, tcp)


#: The rate of the emulated link on which a proxy for QUIC was tried, in Mbit/s: not in the text that was read.
_EMULATED = 20


def _proxied(proxy: bool) -> Scenario:
    """250 ms one way; the proxy's connections begin with 100 packets where the hosts' begin with 10."""
    built = _between(
        Scenario("proxy" if proxy else "none", duration="30 s", sample="100 ms"),
        rate=f"{_EMULATED} Mbit/s",
        delay="250 ms",
        queue=bdp(_EMULATED, 500),
    )
    if proxy:
        built = _split(built, congestion="cubic", initial_window="100 packets")
    return download(built, _linux("cubic"))


def _reached(runs: Runs) -> list[list[float]]:
    """When four fifths of the rate are reached, in s: without the proxy, and with it."""
    return [runs.read(one, lambda row: reaching(row, 0.8, _EMULATED)) for one in ("none", "proxy")]


def _recovered(runs: Runs) -> Judgement:
    """The recovery at each rate."""
    return both(*(number(runs.read(f"{mbps} Mbit/s", _recovery)[0], 2.7, 0.1, unit="s") for mbps in (10, 50)))


_CASES = ("cubic", "bbr")
#: Random losses that were tried in place of the profile's.
_LOSSES = (0.001, 0.01)
HEADLINES = (
    Headline(
        "H35", "Claypool, Chung, Claypool 2021", "Measurements comparing TCP CUBIC and TCP BBR over a satellite network, abstract",
        "over a commercial satellite BBR and CUBIC have similar steady rates, and BBR has a higher one during start-up",
        "the abstract",
        {f"{one}, start": _alone(one, START, 0) for one in _CASES} | {f"{one}, steady": _alone(one, 120, 60) for one in _CASES},
        _higher_at_start, kind="ordering", drawn=True, weight=4,
        assumed=f"{_STEADY} Mbit/s with the delay, jitter and queue of the profile geo-ka; start-up is the first {START} s, steady the second minute; similar is within 10 %",
    ),
    Headline(
        "H36", "Porter et al.", "The effects of a performance enhancing proxy on TCP congestion control over a satellite network, abstract",
        "without a proxy CUBIC, BBR, Hybla and PCC have similar steady rates, about 70 Mbit/s",
        "the abstract", {one: _alone(one, 120, 60) for one in _COMPARED}, _alike, kind="trend", drawn=True, weight=4,
        assumed=f"{_STEADY} Mbit/s with the profile geo-ka, the second minute; PCC is not here; similar is within 10 %",
    ),
    Headline(
        "H37", "Porter et al.", "The effects of a performance enhancing proxy on TCP congestion control over a satellite network, abstract",
        "a proxy triples CUBIC's throughput during start-up",
        "the abstract", {"none": _start(proxy=False), "proxy": _start(proxy=True)},
        value=lambda runs: runs.ratios("proxy", "none", GOODPUT), number=3, within=0.25, unit="times", drawn=True, weight=3,
        note=lambda runs: rates(runs, "none", "proxy"),
        assumed=f"as H36, with HyStart at the server; split connections with Hybla over the satellite; the first {START} s",
        reason="It is a matter of jitter, as in H11: without it, which was tried, the proxy has 0.85 times as much. What the proxy sends over the satellite and the length of start-up were not in the text that was read.",
    ),
    Headline(
        "H38", "Kosek, Cech, Bajpai, Ott 2022", "arXiv 2205.01554, abstract",
        "with a proxy for QUIC the slow start threshold is reached up to 2 s sooner",
        "the abstract, and the configuration of the published testbed", {"none": _proxied(proxy=False), "proxy": _proxied(proxy=True)},
        value=lambda runs: [none - proxy for none, proxy in zip(*_reached(runs), strict=True)], number=2, within=0.25, unit="s",
        note=lambda runs: f"after {_reached(runs)[1][0]:.1f} in place of {_reached(runs)[0][0]:.1f} s", series=True,
        assumed=f"250 ms one way and windows of 10 and 100 packets as in the testbed's examples; {_EMULATED} Mbit/s; TCP in place of QUIC, which cannot be split here; four fifths of the rate stand for the threshold",
        reason="A split of QUIC is missing here, and the rate of the link was not in the text that was read.",
    ),
    Headline(
        "H39", "Thomas, Dubois, Kuhn, Lochin 2019", "Google QUIC performance over a public SATCOM access, abstract",
        "pages take twice as long by QUIC as by split TCP",
        "the abstract",
        {"QUIC": _web(transport="quic", quic={"congestion": "cubic"}), "split TCP": _web(tcp=_linux("cubic"))},
        value=lambda runs: runs.ratios("QUIC", "split TCP", _PAGE), number=2, within=0.25, unit="times", weight=3,
        note=lambda runs: ", ".join(f"{one} {runs.mean(one, _PAGE):.2f} s" for one in ("QUIC", "split TCP")),
        assumed="20 and 6 Mbit/s, 620 ms, pages of 40 objects of 50 kB, six connections of TCP with a handshake each; IETF QUIC with CUBIC; Hybla between the proxies",
        reason="Google's QUIC of 2018, its congestion control and the pages were not in the text that was read.",
    ),
    Headline(
        "H40", "Endres, Deutschmann, Hielscher, German 2022", "arXiv 2202.08228, time-offset plot of picoquic with picoquic",
        "10 MiB take slightly more than 7 s by picoquic over a satellite link: 11 Mbit/s, half of the link",
        "the paper's source, and the published runner's conditions", {"bbr": _interop("bbr", 0.01)},
        value=lambda runs: [8 * 10.485760 / (one or 120.0) for one in runs.each("bbr", TIME)], number=11, within=0.1, unit="Mbit/s", drawn=True,
        assumed="the link with 1 % of loss, beside whose figure the sentence stands: 20 and 2 Mbit/s, 600 ms, queues of 25 packets, loss both ways; BBR in quinn-proto for picoquic",
        reason="The sender is another one: picoquic is not here.",
    ),
    Headline(
        "H41", "Endres, Deutschmann, Hielscher, German 2022", "arXiv 2202.08228, abstract",
        "QUIC's goodput over geostationary links is especially poor with packet loss",
        "the abstract, and the published runner's conditions",
        {f"{control}, {link}": _interop(control, loss) for control in ("cubic", "reno", "bbr") for link, loss in (("sat", 0.0), ("satloss", 0.01))},
        _lossier, kind="ordering", drawn=True,
        assumed="conditions as H40; CUBIC, Reno and BBR in quinn-proto stand for a dozen implementations",
    ),
    Headline(
        "H42", "wirelessmoves 2023", "blog.wirelessmoves.com, Starlink, part 4",
        "over Starlink BBR has well above 120 Mbit/s in 30 s where CUBIC has 20: six times",
        "the page", {one: _starlink(one) for one in _CASES} | {f"{one}, {at_loss(loss)}": _starlink(one, loss=loss) for one in _CASES for loss in _LOSSES},
        value=lambda runs: runs.ratios("bbr", "cubic", GOODPUT), number=6, within=0.25, unit="times", drawn=True, weight=3,
        note=lambda runs: rates(runs, "bbr", "cubic") + "".join(f"; with {100 * loss:g} % of random loss {shown(runs.ratios(f'bbr, {at_loss(loss)}', f'cubic, {at_loss(loss)}', GOODPUT))} times" for loss in _LOSSES),
        assumed="the profile starlink (105 Mbit/s down, its gaps and losses); factors are compared, not rates",
        reason="The profile loses packets in one event a minute and a half. With random loss in its place, which was tried, the factor is as large and larger.",
    ),
    Headline(
        "H43", "Karlstad University 2025", "TCP congestion control performance over Starlink, ANRW 2025, abstract",
        "over Starlink BBR, versions 1 and 3, has more than CUBIC with a single flow",
        "the abstract", {one: _starlink(one, seconds=60) for one in ("bbr", "bbr3", "cubic")},
        lambda runs: more(runs, GOODPUT, {"BBR 1 has more": ("bbr", "cubic"), "BBR 3 has more": ("bbr3", "cubic")}, MBPS, "Mbit/s"),
        kind="ordering", drawn=True, weight=4, assumed="the profile starlink, 60 s",
        reason="As H42: the profile loses little, and each control fills the link.",
    ),
    Headline(
        "H44", "Karlstad University 2025", "TCP congestion control performance over Starlink, ANRW 2025, abstract",
        "over Starlink CUBIC's slow start is better without HyStart",
        "the abstract", {name: _starlink("cubic", kind, seconds=5) for name, kind in (("off", "standard"), ("on", "hystart"))},
        lambda runs: more(runs, GOODPUT, {"without it there is more": ("off", "on")}, MBPS, "Mbit/s"),
        kind="ordering", drawn=True, assumed="the profile starlink, the first 5 s",
        reason="What differs is within the intervals.",
    ),
    Headline(
        "H45", "Goyal, Jain et al. 1997", "ATM Forum 97-0616, abstract",
        "with buffers of half a round trip or more SACK scales with the number of sources over a satellite",
        "the abstract", {f"{n}": _many(n) for n in _SOURCES},
        lambda runs: alike(runs, {f"{n} sources": f"{n}" for n in _SOURCES}, USED, 0.05, 0.01, "%"), kind="trend", drawn=True, weight=5,
        assumed="50 Mbit/s, 550 ms, DropTail of packets in place of ATM cells, 5, 15 and 50 sources; scales is within 5 %",
    ),
    Headline(
        "H46", "Kelly 2003", "Scalable TCP, as in docs/validation.md, section 1",
        "Scalable TCP has its window back 2.7 s after a loss at 200 ms, whatever the rate",
        "this project's list of vectors, and a page that has \"less than 15 s\"",
        {f"{mbps} Mbit/s": _once("scalable", mbps) for mbps in (10, 50)}, _recovered, series=True, weight=3,
        assumed="10 and 50 Mbit/s, from the cut of the window until it is as large as it was",
        reason="The first round trip is the recovery, in which the window does not grow: 2.7 and 0.2 s are 2.9.",
    ),
)  # fmt: skip
