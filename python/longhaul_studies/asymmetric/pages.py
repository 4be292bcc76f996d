"""The thesis's architecture for real (section 3.1): a caching proxy at the hub as surrogate sender, and a client behind the asymmetric path.

A page of many objects is served by an origin that is 40 ms away from the hub; squid stands at the hub; the client fetches the page with
curl, and with a browser without a window (chromium), which says itself when all was loaded. With and without the mechanisms:
window, initial window, header compression, ACK compaction, split connections.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from longhaul.scenario import Scenario
from longhaul.stats import estimate

from ..emulation import Behind, RealCase
from ..model import Target
from ..results import NotRun, Results
from ..verdict import Judgement, holds, with_interval
from .formulas import KB

#: The page: its HTML names so many objects of so many bytes each.
OBJECTS, OBJECT_SIZE = 40, 12 * 1024
#: What is at the programs' service in a namespace.
ORIGIN_PORT, PROXY_PORT = 8080, 3128


@dataclass(frozen=True)
class Way:
    """One way to set up the path."""

    #: Window in bytes, initial window in segments.
    window: float
    initial: int
    #: Header compression on the line back; a middlebox at the client's side of it.
    vj: bool = False
    compaction: bool = False
    #: The client asks the proxy, and not the origin.
    proxy: bool = True


#: By name: what is compared. All of them: 10 Mbit/s forward, 28,800 baud and 300 ms back (the thesis's chapter 8 has 600 ms in all).
WAYS: Mapping[str, Way] = {
    "plain TCP, no proxy": Way(32 * KB, 2, proxy=False),
    "plain TCP, proxy": Way(32 * KB, 2),
    "large window, proxy": Way(250 * KB, 10),
    "large window, VJ, proxy": Way(250 * KB, 10, vj=True),
    "large window, ACK compaction, proxy": Way(250 * KB, 10, compaction=True),
}


def _network(name: str, way: Way) -> Scenario:
    serial: dict[str, Any] = {"framing": "slip", "mtu": "1500 B"}
    if way.vj:
        serial["vj"] = {}
    tcp = {
        # Kernels count their own overhead as well: of a receive buffer about half is window.
        "variant": "linux", "congestion": "cubic", "timestamps": False, "mss": "1460 B", "initial_window": f"{way.initial} packets",
        "receive_autotuning": {"initial": f"{round(2 * way.window)} B", "max": f"{round(2 * way.window)} B", "window_share": 0.5}, "spurious_detection": {"eifel": False, "f_rto": True, "dsack": True},
    }  # fmt: skip
    built = (
        Scenario(name, duration="600 s")
        .link("terrestrial", "origin", "hub", rate="100 Mbit/s", delay="20 ms")
        .link("gateway", "hub", "router", rate="100 Mbit/s", delay="0 s")
        .link(
            "satellite", "router", "edge",
            forward={"rate": "10 Mbit/s", "delay": "270 ms", "queue": {"kind": "droptail", "limit": "400 packets"}},
            reverse={"rate": "28800 bit/s", "delay": "330 ms", "serial": serial, "queue": {"kind": "droptail", "limit": "50 packets"}},
        )
        .link("home", "edge", "client", rate="100 Mbit/s", delay="0 s")
        .flow("hub", "client", name="download", tcp=tcp)
        .flow("origin", "client", name="direct", tcp=tcp)
    )  # fmt: skip
    if way.compaction:
        built = built.middlebox("edge", "ack_compaction", peer="router", wait="50 ms")
    return built


def _tool(name: str) -> str:
    return shlex.quote(str(Path(__file__).resolve().parent / name))


def _client(way: Way, browser: bool) -> str:
    """The page's load by curl, all objects over a few connections at once, or by the browser, which writes the time into the page."""
    page = f"http://$LONGHAUL_ORIGIN:{ORIGIN_PORT}/page.html"
    proxy = f"http://$LONGHAUL_HUB:{PROXY_PORT}"
    return f"python3 {_tool('page_client.py')} {'browser' if browser else 'curl'} {page} {proxy if way.proxy else 'direct'}"


def _read(said: str) -> Mapping[str, float]:
    """`load_s` is the last word of the client's output; the number of its objects is the word before."""
    words = said.split()
    if len(words) < 2 or float(words[-2]) != OBJECTS:
        raise NotRun(f"the page was not loaded: {said.strip()[-200:]}")
    return {"load_s": float(words[-1])}


def page_cases(scale: str) -> list[RealCase]:
    """The page by curl and by the browser, over each path."""
    if scale == "tiny":
        return []
    cases = []
    for name, way in WAYS.items():
        for browser in (False, True):
            serve = {"origin": f"exec python3 {_tool('page_origin.py')} {ORIGIN_PORT} {OBJECTS} {OBJECT_SIZE}"}
            if way.proxy:
                serve["hub"] = f"exec python3 {_tool('page_proxy.py')} {PROXY_PORT}"
            programs = ("squid",) * way.proxy + (("chromium",) if browser else ("curl",))
            behind = Behind(_client(way, browser), "client", _read, serve, seconds=120, programs=programs)
            client = "chromium" if browser else "curl"
            cases.append(
                RealCase("pages", {"path": name, "client": client}, _network(f"{name}, {client}", way), behind)
            )
    return cases


def _loads(results: Results, name: str, client: str) -> list[float]:
    """Seconds for the page in each run."""
    return [row["load_s"] for row in results["pages"].where(path=name, client=client)]


def _of_ways(results: Results, client: str) -> dict[str, list[float]]:
    """The same by path, the fastest on the mean first."""
    loads = {name: _loads(results, name, client) for name in WAYS}
    return dict(sorted(loads.items(), key=lambda item: estimate(item[1]).mean))


def _seconds(loads: Sequence[float]) -> str:
    of = estimate(loads)
    return f"{with_interval(of.mean, of.high - of.mean) if of.n > 1 else f'{of.mean:.1f}'} s"


def fastest_pages(results: Results) -> str:
    """Seconds for the page with plain TCP, and over the fastest path, by client."""
    found = []
    for client in ("curl", "chromium"):
        means = {name: estimate(loads).mean for name, loads in _of_ways(results, client).items()}
        found.append(f"{client} {means['plain TCP, no proxy']:.1f} s with plain TCP, {min(means.values()):.1f} at best")
    return "; ".join(found)


def _faster(client: str) -> Callable[[Results], Judgement]:
    def judge(results: Results) -> Judgement:
        loads = _of_ways(results, client)
        plain, best = loads["plain TCP, no proxy"], next(iter(loads))
        return holds(
            {
                "the mechanisms are faster": max(loads[best]) < min(plain),
                "the proxy alone is not slower": max(loads["plain TCP, proxy"]) < 1.15 * min(plain),
            },
            f"{_seconds(plain)} with plain TCP, {_seconds(loads[best])} with {best}",
        )

    return judge


def page_targets() -> list[Target]:
    """Targets of the architecture: pages through a proxy."""
    return [
        Target(f"3.1 {client}", "3.1", "a surrogate sender with the mechanisms loads a page faster than TCP from the origin", "ordering", _faster(client), ("pages",))
        for client in ("curl", "chromium")
    ]  # fmt: skip


def page_table(results: Results) -> str:
    """Page-load times, path by path."""
    lines = [
        f"A page of {OBJECTS} objects of {OBJECT_SIZE // 1024} kB; the origin is 40 ms from the hub, the client behind 10 Mbit/s forward, 28,800 baud on the return link and 600 ms.",
        "", "| path | curl | chromium |", "|---|---:|---:|",
    ]  # fmt: skip
    for name in WAYS:
        cells = []
        for client in ("curl", "chromium"):
            try:
                cells.append(_seconds(_loads(results, name, client)))
            except NotRun:
                cells.append("not run")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
