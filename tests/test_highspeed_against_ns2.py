"""Cells of the HighSpeed TCP study in ns-2 (benches/ns2/highspeed.tcl) and here. ns-2's answers: benches/ns2_answers.py."""

from __future__ import annotations

from statistics import mean
from typing import Any

import longhaul
import ns2_answers
import pytest
from longhaul_studies.highspeed.measures import REGTCP
from longhaul_studies.highspeed.scenarios import perturbed, scenario
from longhaul_studies.highspeed.targets.isolated import trace_of


def in_ns2(**settings: object) -> dict[str, Any]:
    """What the script prints."""
    return ns2_answers.answer("highspeed.tcl", settings)


@pytest.mark.parametrize(("max_ssthresh", "duration"), [(0, 5), (100, 24), (1000, 5)])
def test_slow_start_ends_at_the_same_time_and_window(max_ssthresh, duration):
    there = in_ns2(max_ssthresh=max_ssthresh, duration=duration, spread=0)
    ours = scenario(
        "red", hstcp=1, max_ssthresh=max_ssthresh, duration=duration, noise=False, start="0 s", sample="10 ms"
    )
    time, cwnd = trace_of(longhaul.run(ours)).at_first_cut()
    # Marks are drawn at random: from seed to seed the time of limited slow start varies by 0.1 s.
    assert time == pytest.approx(there["cut_time"], abs=0.12)
    assert cwnd == pytest.approx(there["cut_cwnd"], rel=0.01)


def test_bursts_cost_standard_flows_as_much():
    """Ten standard flows, and a perturbation every 7 s in the second half; who loses is chance, so three seeds of each."""
    starts, bursts = [0.5 * i for i in range(10)], [30.5 + 7 * i for i in range(4)]
    times = {"starts": ",".join(map(str, starts)), "bursts": ",".join(map(str, bursts))}
    there = [in_ns2(hstcp=0, regtcp=10, duration=60, perturbations=4, seed=seed, **times) for seed in (1, 2, 3)]
    ours = scenario("red", regtcp=10, duration=60, noise=False, start={"at": [f"{time} s" for time in starts]})
    ours = perturbed(ours, {"at": [f"{time} s" for time in bursts]}, len(bursts))
    here = [longhaul.run(ours, tables=False, seed=seed).summary for seed in (1, 2, 3)]
    standard = [next(g["metrics"] for g in summary["groups"] if g["name"] == REGTCP) for summary in here]
    # Over eight seeds: 35.2 % (standard deviation 2.6) in ns-2, 33.2 % (1.7) here.
    assert mean(100 * m["utilisation"] for m in standard) == pytest.approx(
        mean(m["regtcp_lu"] for m in there), rel=0.15
    )
    # Each of the ten is cut by each of the four bursts.
    assert all(38 <= m["regtcp_cuts"] <= 40 for m in there)
    assert all(38 <= m["congestion_events"] <= 40 for m in standard)
    drops = mean(summary["links"][0]["metrics"]["drops_queue"] for summary in here)
    assert drops == pytest.approx(mean(m["drops"] for m in there), rel=0.06)
