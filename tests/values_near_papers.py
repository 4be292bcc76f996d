"""Values that meet a target's comparisons, for targets whose comparisons values drawn at random hardly ever meet all at once.

A run's metrics follow from its parameters; each run then varies by a few thousandths. `tests/test_studies_can_fail.py` doubles and
halves them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from longhaul_studies.highspeed.scenarios import PIPE, SIMULATED
from longhaul_studies.highspeed_chapter_8.points import RESPONSES
from longhaul_studies.sttp.tables import APPENDIX_1, APPENDIX_2

#: Metrics of a run by their names, from its experiment's parameters.
Near = Callable[[Mapping[str, Any]], dict[str, float]]
_HIGH, _STANDARD, _STREAMS, _LINK = "group.hstcp.", "group.regtcp.", "group.streams.", "link.bottleneck.forward."
NEAR: dict[str, dict[str, Near]] = {
    "highspeed": {},
    "highspeed-chapter-8": {},
    "sttp": {},
    "split-pep": {},
    "headlines": {},
}


def _events(high: float, standard: float) -> dict[str, float]:
    """Packets received, and events among them."""
    return {
        f"{_HIGH}congestion_signals": high, f"{_STANDARD}congestion_signals": standard, f"{_HIGH}received_packets": 1e6,
        f"{_STANDARD}received_packets": 1e6,
    }  # fmt: skip


def _used(share: float) -> dict[str, float]:
    return dict.fromkeys((f"{_HIGH}utilisation", f"{_STANDARD}utilisation", f"{_STREAMS}utilisation"), share)


def _per_flow(p: Mapping[str, Any]) -> dict[str, float]:
    """A competitor of n streams has n times what each of the ten flows has."""
    n = int(p["competitor"]) if str(p["competitor"]).isdigit() else 1
    return {
        f"{_STREAMS}received_packets": 1e5 * n,
        f"{_HIGH}received_packets": 1e5,
        f"{_STANDARD}received_packets": 1e6,
    }


def _response(p: Mapping[str, Any]) -> dict[str, float]:
    loss, transfer = p["loss"], p["transfer"]
    window = SIMULATED.window(loss) if transfer == "hstcp" else int(transfer) * 1.2 / loss**0.5
    return dict.fromkeys((f"{_HIGH}packets_per_rtt", f"{_STANDARD}packets_per_rtt"), min(window, PIPE))


NEAR["highspeed"] |= {
    "E0.4": lambda _: {"group.small_forward.utilisation": 0.004, "group.web_forward.utilisation": 0.003},
    "E2.3": lambda _: _events(1500, 1000),
    "E2.11": lambda p: _events(1, 1) | {"spread": 0.3 if p["n"] < 10 else 0.15},
    "E2.12": lambda p: _events(1, 1) | {f"{_STANDARD}received_packets": 1e6 / (50 if p["n"] < 4 else 3)},
    "E3.7": lambda p: _events(8000 if p["loss"] == 1e-2 else 1000, 8000 if p["loss"] == 1e-2 else 1000),
    "E4.4": lambda _: _used(0.97),
    "E4.5": lambda p: _events(1000 + 10 * p["p"], 1000 + 10 * p["p"]),
    "E8.1": _response,
    "E9.5": lambda _: _used(0.03),
    "E9.6": lambda p: {f"{_LINK}congestion_signal_rate": p["loss"] ** 0.9},
    "E9.7": _per_flow,
    "E9.9": lambda p: _per_flow(p) | {"spread": 0.3 if p["queue"] == "droptail" else 0.15},
    "E10.4": _per_flow,
    "E10.6": lambda p: _per_flow(p) | {"spread": 0.3 if p["queue"] == "droptail" else 0.15},
    "D3": lambda _: _events(1500, 1000),
    "D13": lambda p: _used(0.97) | _events(*((1000, 1000) if p["queue"] == "red" else (1500, 1500))),
    "D23": lambda _: _events(1000, 1000),
}


def _alone(p: Mapping[str, Any]) -> dict[str, float]:
    window = min(RESPONSES[p["response"]].window(p["loss"]) or 100.0, PIPE)
    return dict.fromkeys((f"{_HIGH}packets_per_rtt", f"{_STANDARD}packets_per_rtt"), window)


NEAR["highspeed-chapter-8"] |= {"N1": _alone, "N3": _alone}


def _bytes(sent: float, dropped: float = 0.0, **more: float) -> dict[str, float]:
    return {f"{_LINK}offered_bytes": sent, f"{_LINK}dropped_bytes": dropped, "spread": 0.0, **more}


def _rows(p: Mapping[str, Any]) -> dict[str, float]:
    table = APPENDIX_1 if p["traffic"] == "transfers" else APPENDIX_2
    return _bytes(table[p["n"]][p["protocol"]][0])


_FULL: Near = lambda _: _bytes(225.08e6)  # noqa: E731
NEAR["sttp"] |= {
    "E2a reno": _FULL, "E2a vegas": _FULL, "E2a sttp": _FULL, "E2h": _FULL, "E4g": _FULL, "S2": _FULL,
    "E2g": lambda _: {f"{_LINK}queue_mean_packets": 100.0},
    "X-unique": lambda _: _bytes(225.08e6, delivered_bytes=0.995 * 0.96 * 225.08e6),
    **dict.fromkeys(("RTO transfers reno", "RTO transfers vegas", "RTO video reno", "RTO video vegas"), _rows),
    "E6c": lambda _: _bytes(1e9, 7e6),
}  # fmt: skip


def _windows(p: Mapping[str, Any]) -> dict[str, float]:
    """Without the PEP a window in proportion to pipe and queue, with it one that the local queue does not change."""
    return {"group.flows.cwnd_mean_bytes": 4000.0 if p["mode"] != "none" else 1000 * (3250 + p["packets"]) / p["flows"]}


def _single_flow(p: Mapping[str, Any]) -> dict[str, float]:
    short = p["mode"] == "none" and p["packets"] < 3000
    return {"link.split.forward.throughput_bps": 4.5e7 if short else 9.6e7}


NEAR["split-pep"] |= {"S7c": _windows, "S8d": _single_flow}


NEAR["headlines"] |= {"H17": lambda _: {"goodput_bps": 2.5e6}, "H21": lambda _: {"goodput_bps": 0.8e6}}
