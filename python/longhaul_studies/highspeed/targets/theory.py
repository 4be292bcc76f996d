"""E0: the tables and figures of the study's chapter 3 and section 6.8 that need no simulation."""

from __future__ import annotations

from longhaul.closed_forms import aimd_window, power_law_window

from ...model import Target
from ...results import Results
from ...verdict import Judgement, holds, number, place
from ..scenarios import PIPE, SIMULATED, THEORY

#: Table 3.1: throughput in Mbit/s, RTTs between losses, window, loss rate as printed (one digit).
TABLE_3_1 = (
    (1, 5.5, 8.3, 2e-2),
    (10, 55.5, 83.3, 2e-4),
    (100, 555.5, 833.3, 2e-6),
    (1000, 5555.5, 8333.3, 2e-8),
    (10_000, 55_555.5, 83_333.3, 2e-10),
)
#: Tables 3.2 and 3.3: loss rate, window, RTTs between losses, relative fairness.
TABLE_3_2 = (
    (1e-2, 12, 8, 1.0),
    (1e-3, 38, 25, 1.0),
    (1e-4, 263, 38, 2.2),
    (1e-5, 1795, 57, 4.7),
    (1e-6, 12_279, 83, 10.2),
    (1e-7, 83_981, 123, 22.1),
    (1e-8, 574_356, 180, 47.9),
    (1e-9, 3_928_088, 264, 103.5),
    (1e-10, 26_864_653, 388, 223.9),
)


def standard_window(p: float) -> float:
    """Standard TCP's response function as the study prints it: 1.2 / sqrt(p) (sections 3.1, 3.2)."""
    return power_law_window(1.2, 0.5, p)


def highspeed_window(p: float) -> float:
    """HighSpeed TCP's with the constants as printed: 0.12 / p^0.835, standard TCP's where that is more."""
    return max(power_law_window(0.12, 0.835, p), standard_window(p))


def stream_window(n: int, p: float) -> float:
    """Figure 6.28: n parallel streams of 1 / sqrt(p) each (decision A22)."""
    return n * power_law_window(1.0, 0.5, p)


def _loss_rate_of_standard(window: float) -> float:
    """The loss rate at which AIMD has this window: W falls with the root of p."""
    return (aimd_window(1.0, 0.5, 1.0) / window) ** 2


def _table_3_1(_: Results) -> Judgement:
    checks: dict[str, bool] = {}
    for rate, rtts, window, printed in TABLE_3_1:
        w = rate * 1e6 * 0.1 / 12_000
        p = _loss_rate_of_standard(w)
        checks[f"{rate} Mbit/s"] = (
            abs(w - window) < 0.1 and abs(2 * w / 3 - rtts) < 0.1 and float(f"{p:.0e}") == printed
        )
    return holds(checks, "windows, RTTs and loss rates of five rows")


def _windows(_: Results) -> Judgement:
    worst = max((THEORY.window(p) / w - 1 for p, w, _, _ in TABLE_3_2 if p <= 1e-3), key=abs)
    printed = {place(p): abs(highspeed_window(p) - w) <= 1 for p, w, _, _ in TABLE_3_2}
    judged = holds(printed, f"with the printed constants every row; with unrounded ones up to {worst * 100:+.1f} %")
    return judged if abs(worst) <= 0.02 else Judgement("partly", judged.measured)


def _rtts(_: Results) -> Judgement:
    off = {p: 1 / (p * highspeed_window(p)) / rtts - 1 for p, _, rtts, _ in TABLE_3_2}
    worst = max(off.values(), key=abs)
    return holds(
        {place(p): abs(value) <= 0.05 for p, value in off.items()}, f"1/(pW) is off by up to {worst * 100:+.1f} %"
    )


def _fairness(_: Results) -> Judgement:
    ratio = {p: highspeed_window(p) / standard_window(p) for p, *_ in TABLE_3_2}
    checks = {place(p): abs(ratio[p] - printed) < 0.051 for p, _, _, printed in TABLE_3_2}
    return holds(checks, f"{ratio[1e-4]:.1f} at 1e-4, {ratio[1e-7]:.1f} at 1e-7, {ratio[1e-10]:.1f} at 1e-10")


def _crossing(_: Results) -> Judgement:
    theory, simulated = THEORY.loss_rate(PIPE), SIMULATED.loss_rate(PIPE)
    return Judgement(
        "reproduced" if 1e-6 / 2 <= theory <= 2e-6 and 1e-6 / 2 <= simulated <= 2e-6 else "not",
        f"{theory:.2e} with Low_Window 38, {simulated:.2e} with 31",
    )


def _ten_gigabit(_: Results) -> Judgement:
    events = 1 / _loss_rate_of_standard(83_333.3)
    hours = events / (10e9 / 12_000) / 3600
    return Judgement(
        "reproduced" if abs(events / 5e9 - 1) < 0.1 and abs(hours / (5 / 3) - 1) < 0.1 else "partly",
        f"one in {events:.2e} packets, {hours * 60:.0f} min",
    )


def _example(_: Results) -> Judgement:
    return number(highspeed_window(1e-4) / standard_window(1e-4), 2.2, 0.02)


def crossing(n: int, c: float = 1.0) -> float:
    """Loss rate below which one HSTCP flow sends more than n streams of c / sqrt(p): where 0.12 / p^0.835 = n c / p^0.5."""
    low, high = 1e-12, 1e-2
    for _ in range(200):
        middle = (low * high) ** 0.5
        if power_law_window(0.12, 0.835, middle) > n * power_law_window(c, 0.5, middle):
            low = middle
        else:
            high = middle
    return low


def _order(_: Results) -> Judgement:
    low = {f"HSTCP > {n} streams at 1e-7": highspeed_window(1e-7) > stream_window(n, 1e-7) for n in (1, 4, 7, 10)}
    high = {"HSTCP = 1 REGTCP at 1e-2": abs(highspeed_window(1e-2) / standard_window(1e-2) - 1) < 0.01}
    text = ", ".join(f"n = {n} at {crossing(n):.1e}" for n in (4, 7, 10))
    return holds(low | high, f"HSTCP passes {text}")


def _steeper(_: Results) -> Judgement:
    return holds(
        {"slope of HSTCP < -0.5": THEORY.slope < -0.5}, f"slope {THEORY.slope:.3f} against -0.5 of parallel streams"
    )


def _streams(_: Results) -> Judgement:
    checks = {
        f"n = {n} at {place(p)}": abs(stream_window(n, p) / stream_window(1, p) - n) < 1e-9
        for n in (1, 4, 7, 10) for p in (1e-2, 1e-4, 1e-6)
    }  # fmt: skip
    return holds(checks)


TARGETS = (
    Target("T3.1", "table 3.1", "standard TCP at 1 Mbit/s to 10 Gbit/s: window, RTTs between losses, loss rate", "exact", _table_3_1),
    Target("T3.2", "table 3.2", "HSTCP's windows at loss rates 1e-2 to 1e-10: 12, 38, 263, 1795 and on to 26,864,653", "exact", _windows),
    Target(
        "T3.2b", "table 3.2", "RTTs between losses: 8, 25, 38, 57, 83, 123, 180, 264, 388 (decision A30: within 5 %)", "band", _rtts
    ),
    Target("T3.3", "table 3.3", "fairness of HSTCP to standard TCP: 1.0, 1.0, 2.2, 4.7, 10.2, 22.1, 47.9, 103.5, 223.9", "exact", _fairness),
    Target("E0.1", "section 7.2.1, figure 3.1", "HSTCP's response function meets the link's 8333 packets at about 1e-6", "band", _crossing),
    Target(
        "E0.2", "sections 2.2, 3.1", "10 Gbit/s at 100 ms take one event in 5,000,000,000 packets, 1 h 40 min", "exact", _ten_gigabit
    ),
    Target("E0.3", "section 3.4", "at 1e-4 an HSTCP flow gets 2.2 times a standard flow's throughput", "exact", _example),
    Target(
        "E8.3", "section 6.8, figure 6.28", "at very low loss one HSTCP flow beats parallel streams; at high loss it equals one REGTCP flow",
        "ordering", _order,
    ),
    Target(
        "E8.4", "section 6.8, figure 6.28", "HSTCP's slope is steeper: its share falls more when events become more frequent",
        "ordering", _steeper,
    ),
    Target("E8.5", "section 6.8, figure 6.29", "n parallel streams get n times the rate of one, at any loss rate", "exact", _streams),
    Target("E8.6", "section 6.8, figure 6.29", "HSTCP's fairness rises as loss falls, as in table 3.3", "exact", _fairness),
)  # fmt: skip
