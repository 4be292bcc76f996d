"""What the script of links did to a path: outages and changes of rate and delay, as `events.parquet` has them.

Draws them into time series, and gives the closed forms that follow them: equal share and base RTT as steps over time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from matplotlib.axes import Axes

from ..results import Result
from ..units import counted
from . import style
from .view import View

#: Bytes of the IP and TCP headers of a data packet without options, and of an ACK.
HEADERS = 40
#: More changes or outages of one kind than this would cover what is drawn.
_MOST = 40
#: More links than this are not named one by one.
_NAMED = 2


@dataclass(frozen=True)
class Steps:
    """A value that changes in steps: from each time (s) on it has the value next to it."""

    times: tuple[float, ...]
    values: tuple[float, ...]

    def at(self, time: float) -> float:
        """The value in force at a time."""
        return next(v for t, v in zip(reversed(self.times), reversed(self.values), strict=True) if t <= time)

    @property
    def constant(self) -> bool:
        """Whether it never changes."""
        return len(set(self.values)) == 1


@dataclass(frozen=True)
class Link:
    """One direction of a link over time."""

    #: In bit/s; 0 in outages.
    rate: Steps
    #: In bit/s; in outages what it was before.
    nominal: Steps
    #: Propagation delay in s.
    delay: Steps


def links_over_time(result: Result) -> list[Link]:
    """Every direction of a link, in the order of the summary."""
    summary = result.summary["links"]
    scripted: dict[int, list[tuple[float, str, float]]] = {}
    if result.has_tables:
        rows = _events(result).select("link", "time_s", "kind", "value").iter_rows()
        for link, time, kind, value in rows:
            scripted.setdefault(link, []).append((time, kind, value))
    return [_link(link, scripted.get(number, [])) for number, link in enumerate(summary)]


def _events(result: Result) -> pl.DataFrame:
    kinds = ("link_rate", "link_delay", "link_down", "link_up")
    return result.events.filter(pl.col("kind").is_in(kinds)).sort("time_s", maintain_order=True)


def _link(summary: dict[str, Any], events: Sequence[tuple[float, str, float]]) -> Link:
    rate, delay, down = float(summary["rate_bps"]), float(summary["delay_s"]), 0
    rates, nominal, delays = [(0.0, rate)], [(0.0, rate)], [(0.0, delay)]
    for time, kind, value in events:
        down += {"link_down": 1, "link_up": -1}.get(kind, 0)
        rate = value if kind == "link_rate" else rate
        delay = value if kind == "link_delay" else delay
        rates.append((time, 0.0 if down else rate))
        nominal.append((time, rate))
        delays.append((time, delay))
    return Link(_steps(rates), _steps(nominal), _steps(delays))


def _steps(pairs: Iterable[tuple[float, float]]) -> Steps:
    """Steps without those that change nothing; of several at one time the last holds."""
    last = dict(pairs)
    kept = [(t, v) for i, (t, v) in enumerate(last.items()) if i == 0 or v != list(last.values())[i - 1]]
    return Steps(tuple(t for t, _ in kept), tuple(v for _, v in kept))


def equal_share(result: Result, links: Sequence[Link], flow: dict[str, Any]) -> Steps | None:
    """An equal share of the path for a flow's payload in bit/s, as in `fair_share_bps`, but at each time."""
    constant = flow.get("predicted", {}).get("fair_share_bps")
    path = flow.get("data_path", [])
    if all(links[number].rate.constant for number in path):
        return Steps((0.0,), (float(constant),)) if constant else None
    shared = [(links[number], float(result.summary["links"][number]["active_flows"])) for number in path]
    payload = flow["mss_bytes"] / (flow["mss_bytes"] + HEADERS)
    access = flow.get("access_rate_bps") or float("inf")
    times = sorted({time for link, _ in shared for time in link.rate.times})
    shares = [min(access, *(link.rate.at(time) / flows for link, flows in shared)) * payload for time in times]
    return _steps(zip(times, shares, strict=True))


def base_rtt(links: Sequence[Link], flow: dict[str, Any]) -> Steps:
    """The round trip of a full segment and its ACK without queues, in s, at each time."""
    base = float(flow["base_rtt_s"])
    crossed = [
        (links[number], size * 8)
        for path, size in (("data_path", flow.get("mss_bytes", 0) + HEADERS), ("ack_path", HEADERS))
        for number in flow.get(path, [])
    ]
    times = sorted({0.0, *(time for link, _ in crossed for time in (*link.delay.times, *link.nominal.times))})
    return _steps((time, base + sum(_slower(link, bits, time) for link, bits in crossed)) for time in times)


def _slower(link: Link, bits: int, time: float) -> float:
    """How much longer a packet takes over a link than at the start of the run, in s; a stopped link takes no part."""
    rate, first = link.nominal.at(time), link.nominal.values[0]
    sending = bits / rate - bits / first if rate and first else 0.0
    return link.delay.at(time) - link.delay.values[0] + sending


def mark(axes: Axes, result: Result, view: View, links: Iterable[int], *, named: bool = True) -> None:
    """Outages of links as grey bands, changes of rate or delay as dotted lines; `named` in the legend, once for each kind."""
    start, end = view.span(result)
    events = _events(result).filter(pl.col("link").is_in(list(links)) & (pl.col("time_s") > 0))
    kinds = (
        ("outage", events.filter(kind="link_down"), _band),
        ("rate changes", events.filter(kind="link_rate"), _line),
        ("delay changes", events.filter(kind="link_delay"), _line),
    )
    for number, (what, rows, draw) in enumerate(kinds):
        ends = pl.when(kind="link_down").then(pl.col("time_s") + pl.col("value")).otherwise(pl.col("time_s"))
        rows = rows.with_columns(end=ends).filter((pl.col("time_s") < end) & (pl.col("end") > start))
        spans = list(rows.select("time_s", "end").unique(maintain_order=True).iter_rows())
        if not spans:
            continue
        label = f"{what}:\n{_names(result, rows)}" if named else None
        if len(spans) > _MOST:
            if named:
                axes.plot([], [], linestyle="", label=f"{label}\n({len(spans):,}, not marked)")
            continue
        for i, span in enumerate(spans):
            draw(axes, span, number, None if i else label)


def _names(result: Result, rows: pl.DataFrame) -> str:
    """The links of some events, without their direction."""
    numbers = rows["link"].unique(maintain_order=True).to_list()
    names = list(dict.fromkeys(str(result.summary["links"][link]["name"]).rsplit(".", 1)[0] for link in numbers))
    return ", ".join(names) if len(names) <= _NAMED else counted(len(names), "link")


def _band(axes: Axes, span: tuple[float, float], _number: int, label: str | None) -> None:
    axes.axvspan(*span, facecolor="#9a9a9a", alpha=0.3, linewidth=0, label=label, zorder=0.5)


def _line(axes: Axes, span: tuple[float, float], number: int, label: str | None) -> None:
    dots: tuple[int, tuple[float, ...]] = ((0, ()), (0, (1, 2)), (0, (3, 2, 1, 2)))[number]
    axes.axvline(span[0], color=style.LIMIT, linewidth=0.9, linestyle=dots, label=label)


def paths(result: Result, flows: Iterable[int]) -> list[int]:
    """The links that the data or the ACKs of some flows cross."""
    wanted = set(flows)
    crossing = (flow for flow in result.summary["flows"] if flow["id"] in wanted)
    return sorted({link for flow in crossing for key in ("data_path", "ack_path") for link in flow.get(key, [])})
