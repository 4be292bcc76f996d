"""Targets from the thesis, row by row, with their comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..model import Target, classed, target
from ..results import NotRun, Results, Row, Table
from ..verdict import Judgement, band, both, holds, listed, median, number, over_seeds, row_of
from . import grids, measures, practical
from .comparisons import NAMES, TCPS, apart, by_sources, jain_of_sources, lower, mean_jain, not_above, savings
from .comparisons import mean as _mean
from .measures import dead, dropped, goodput, jain, jain_of, loss, sent
from .reasons import REASONS
from .tables import APPENDIX_1, APPENDIX_2, CHOSEN, LONG_RUNS, PROTOCOLS, TABLE_4_4, TABLE_4_5, Counted

_MB = 1e6
#: Tolerances of a row: bytes sent, share of the printed loss and at least so many points of it, goodput of the long runs.
_SENT, _LOSS, _LEAST_LOSS, _GOODPUT = 0.02, 0.25, 0.1, 0.002
Judge = Callable[[Results], Judgement]


_t = partial(target, reasons=REASONS)


def _brief(checks: Mapping[str, bool], text: str) -> Judgement:
    """Comparisons whose values show which of them fail, so that the text need not name them."""
    judged = holds(checks)
    return Judgement(judged.verdict, f"{text}; {sum(checks.values())} of {len(checks)} comparisons hold")


def _sources(table: Table, least: int = 0, most: int = 1000, **point: Any) -> list[int]:
    """The numbers of sources at this scale from `least` to `most`."""
    found = [n for n in table.points("n", **point) if least <= n <= most]
    if not found:
        raise NotRun(f"{table.experiment} has no such number of sources at this scale")
    return found


def row_judge(experiment: str, counted: Counted, *, passed: bool = False, **point: Any) -> Judge:
    """A row of counts: bytes sent, and the share of them dropped; means over seeds.

    The difference of both is judged with `passed`. Where the link is full it is the link's capacity and cannot fail;
    target E2a judges it once.
    """
    paper_sent, paper_dropped = counted
    paper_loss = 100 * paper_dropped / paper_sent
    allowed = max(_LEAST_LOSS, _LOSS * paper_loss)

    def judge(results: Results) -> Judgement:
        table = results[experiment]

        def megabytes(metric: Callable[[Row], float]) -> list[float]:
            return [value / _MB for value in table.values(metric, **point)]

        parts = [
            over_seeds(megabytes(sent), paper_sent / _MB, _SENT, unit="MB sent"),
            over_seeds(table.values(loss, **point), paper_loss, allowed, unit="% lost", relative=False),
        ]
        if passed:
            difference = (paper_sent - paper_dropped) / _MB
            parts.append(over_seeds(megabytes(goodput), difference, _GOODPUT, unit="MB passed"))
        return row_of(*parts)

    return judge


def _said(counted: Counted) -> str:
    total, drops = counted
    return f"{total / _MB:.3f} MB sent, {drops / _MB:.3f} dropped ({100 * drops / total:.2f} %)"


def _appendix(letter: str, table: Mapping[int, Mapping[str, Counted]], experiment: str, source: str) -> list[Target]:
    return [
        _t(
            f"{letter} {protocol} {count}", source, _said(table[count][protocol]),
            row_judge(experiment, table[count][protocol], protocol=version(protocol), n=count), experiment,
            reason=REASONS.get(f"{letter} {protocol} {count}") or REASONS.get(f"{letter} {protocol}", ""),
        )
        for protocol in PROTOCOLS for count in table
    ]  # fmt: skip


def version(protocol: str) -> str:
    """The protocol of the runs that stand for one of the thesis."""
    return CHOSEN if protocol == "sttp" else protocol


def _long(duration: int, protocol: str) -> Target:
    counted = LONG_RUNS[duration][protocol]
    return _t(
        f"L{duration} {protocol}", "T5.2" if duration == 200 else "T5.3", _said(counted),
        row_judge("long", counted, passed=True, protocol=version(protocol), duration=duration), "long", reason=REASONS.get(f"L {protocol}", ""),
    )  # fmt: skip


def _long_ratio(duration: int, passed_ratio: float, lost_ratio: float) -> Judge:
    """STTP's goodput and loss over Reno's, as the tables have them: within a hundredth, and within a quarter."""

    def judge(results: Results) -> Judgement:
        table = results["long"]
        of = {
            p: [_mean(table, metric, protocol=version(p), duration=duration) for metric in (goodput, loss)]
            for p in ("reno", "sttp")
        }
        passed, lost = (sttp / reno for sttp, reno in zip(of["sttp"], of["reno"], strict=True))
        judged = both(
            number(passed, passed_ratio, 0.01, unit="of Reno's goodput", relative=False),
            number(lost, lost_ratio, 0.25, unit="of its loss"),
        )
        text = f"{judged.measured}; loss {of['sttp'][1]:.2f} against {of['reno'][1]:.2f} %"
        return Judgement(judged.verdict, text, judged.tolerance)

    return judge


# Experiment 1.


def _node(protocol: str, node: int) -> Target:
    """A row of table 4.4 for one protocol: packets sent within 25 %, drops and round trip within half."""
    packets, drops, trip = TABLE_4_4[protocol][node]

    def judge(results: Results) -> Judgement:
        rows = results["functional"].where(protocol=version(protocol))
        found = [measures.nodes(row)[node] for row in rows]
        tx, lost, rtt = (
            median([value[0] for value in column])
            for column in zip(*((item.sent, item.dropped, item.rtt) for item in found), strict=True)
        )
        deviation = median([item.sent[1] for item in found])
        parts = [
            number(tx, packets[0], 0.25, unit="packets"),
            number(lost, drops[0], max(0.5, drops[0] / 2), unit="drops", relative=False),
            number(rtt, trip[0], 0.5, unit="s"),
        ]
        judged = row_of(*parts)
        return Judgement(judged.verdict, f"{judged.measured}; sent varies by {deviation:.3g}", judged.tolerance)

    paper = f"{packets[0]:g} [{packets[1]:g}] packets sent, {drops[0]:g} dropped, RTT {trip[0]:g} [{trip[1]:g}] s"
    return _t(
        f"T4.4 {protocol} {node + 1}", "T4.4", paper, judge, "functional", reason=REASONS.get(f"T4.4 {protocol}", "")
    )


def _sums(results: Results, protocol: str) -> tuple[float, float]:
    """Packets sent and dropped by all six in an interval."""
    found = [measures.nodes(row) for row in results["functional"].where(protocol=version(protocol))]
    return (
        median([sum(node.sent[0] for node in nodes) for nodes in found]),
        median([sum(node.dropped[0] for node in nodes) for nodes in found]),
    )


def _no_drops(results: Results) -> Judgement:
    return band(_sums(results, "sttp")[1], 0, 0, unit="packets dropped in an interval", margin=0.5)


def _reno_loses(results: Results) -> Judgement:
    total, drops = _sums(results, "reno")
    return band(100 * drops / total, 20, 45, unit="%", margin=10)


def _passed(results: Results) -> dict[str, float]:
    return {
        protocol: total - drops
        for protocol in ("reno", "sttp") for total, drops in [_sums(results, protocol)]
    }  # fmt: skip


def _aggregate(results: Results) -> Judgement:
    passed = _passed(results)
    text = f"STTP {passed['sttp']:.1f}, Reno {passed['reno']:.1f} packets in an interval"
    return holds({"STTP passes at least as much": passed["sttp"] >= 0.99 * passed["reno"]}, text)


def passed_in_experiment_1(results: Results) -> tuple[float, dict[str, float], float]:
    """Packets that a single Reno flow loses; packets passed in an interval, by protocol; the share that STTP loses, in per cent."""
    total, drops = _sums(results, "sttp")
    return _lost_by_one(results), _passed(results), 100 * drops / total


def _late_starters(results: Results) -> Judgement:
    spread = {
        p: [measures.nodes(row) for row in results["functional"].where(protocol=version(p))] for p in ("reno", "sttp")
    }
    deviation = {
        (p, node): median([nodes[node].sent[1] for nodes in found])
        for p, found in spread.items() for node in range(6)
    }  # fmt: skip
    checks = {f"node {node + 1}": deviation["sttp", node] < deviation["reno", node] for node in (2, 3, 4, 5)}
    text = ", ".join(f"{deviation['sttp', node]:.1f} against {deviation['reno', node]:.1f}" for node in (2, 3, 4, 5))
    return holds(checks, text)


def _lost_by_one(results: Results) -> float:
    """Packets that Reno loses in the first interval of experiment 1, in which one source sends."""
    links = ["access-0.forward", "middle.forward"]
    rows = results["functional"].where(protocol="reno")
    return median([measures.intervals(row, "dropped_packets", 0, links)[0] for row in rows])


def _single_flow_loses(results: Results) -> Judgement:
    drops = _lost_by_one(results)
    return holds({"some": drops > 0}, f"{drops:.0f} packets dropped in the first 10 s")


def _early_starters(results: Results) -> Judgement:
    found = [measures.nodes(row) for row in results["functional"].where(protocol=CHOSEN)]
    shares = [median([nodes[node].sent[0] for nodes in found]) for node in range(6)]
    ratio = (shares[0] + shares[1]) / 2 / (sum(shares[2:]) / 4)
    return band(ratio, 2.0, 4.0, margin=1.0)


# Experiment 2.


def _between(series: Mapping[Any, float], form: str, unit: str) -> str:
    """The smallest and the largest value of a series."""
    return f"{min(series.values()):{form}} to {max(series.values()):{form}} {unit}"


def _spread_of_goodput(protocol: str) -> Judge:
    def judge(results: Results) -> Judgement:
        series = results["transfers"].series(goodput, "n", protocol=protocol)
        inside = {f"n {n}": 225.0e6 <= value <= 225.15e6 for n, value in series.items()}
        return holds(inside, f"{min(series.values()) / _MB:.3f} to {max(series.values()) / _MB:.3f} MB")

    return judge


def _less(metric: Callable[[Row], float], experiment: str) -> Judge:
    """STTP not above either TCP at each number of sources."""

    def judge(results: Results) -> Judgement:
        found = by_sources(results, experiment, metric)
        checks = {f"n {n}": held for n, held in not_above(found).items()}
        less = {n: value for n, value in savings(found).items() if checks[f"n {n}"]}
        text = f"{_between(less, '.1f', '%')} less than the lower TCP" if less else "nowhere less"
        return holds(checks, text)

    return judge


def _largest_saving(experiment: str, rival: str, paper: float) -> Judge:
    def judge(results: Results) -> Judgement:
        saved = savings(by_sources(results, experiment, sent), rival)
        best = max(saved, key=lambda n: saved[n])
        judged = number(saved[best], paper, 3.0, unit="%", relative=False)
        return Judgement(judged.verdict, f"{judged.measured} at n = {best}", judged.tolerance)

    return judge


def _up_to_20(results: Results) -> Judgement:
    """The largest saving with films, within 2 points: compared with our TCPs' bytes, and with those that the thesis prints.

    Ours send more than the thesis's; the saving must not come from that alone.
    """
    found = by_sources(results, "video", sent)
    ours = max(max(savings(found, rival).values()) for rival in TCPS)
    from_ours = number(ours, 20.0, 2.0, unit="%", relative=False)
    from_printed = number(saving_of_the_thesis(found), 20.0, 2.0, unit="%", relative=False)
    judged = row_of(from_ours, from_printed)
    text = f"{from_ours.measured} less than our TCPs; {from_printed.measured} less than the thesis's"
    return Judgement(judged.verdict, text, judged.tolerance)


def saving_of_the_thesis(found: Mapping[int, Mapping[str, float]]) -> float:
    """What our STTP's films save at most of the bytes that Reno or Vegas send in appendix table 2, in per cent."""
    return max(100 * (1 - values[CHOSEN] / APPENDIX_2[n][p][0]) for n, values in found.items() for p in TCPS)


def _same_goodput(experiment: str) -> Judge:
    """Within 1 % of each TCP's at every number of sources."""

    def judge(results: Results) -> Judgement:
        off = apart(by_sources(results, experiment, goodput))
        worst = max(off, key=lambda n: off[n])
        return holds(
            {f"n {n}": value <= 1 for n, value in off.items()}, f"at most {off[worst]:.2g} % apart, n = {worst}"
        )

    return judge


def _dead(experiment: str, counts: Sequence[int], **point: Any) -> Judge:
    """Flows that never open, from about 30 sources on."""

    def judge(results: Results) -> Judgement:
        table = results[experiment]
        found = {n: _mean(table, dead, n=n, **point) for n in counts}
        checks = {f"n {n}": (value > 0) == (n >= 30) for n, value in found.items()}
        return holds(checks, listed(found, "flows"))

    return judge


def _no_dead(start: str) -> Judge:
    def judge(results: Results) -> Judgement:
        found = results["starts"].series(dead, "n", start=start)
        return holds({f"n {n}": value == 0 for n, value in found.items()}, listed(found, "flows"))

    return judge


def _full_queue(results: Results) -> Judgement:
    """Section 5.2 [D]: from 30 sources on at least 92 packets stand in STTP's queue at the end."""
    table = results["transfers"]
    found = {n: _mean(table, measures.queue_mean, protocol=CHOSEN, n=n) for n in APPENDIX_1 if n >= 30}
    return holds(
        {f"n {n}": value >= 92 for n, value in found.items()}, f"mean queue {_between(found, '.0f', 'packets')}"
    )


def _delays(results: Results) -> Judgement:
    """STTP's queueing delay compared with Reno's."""
    table = results["transfers"]
    found = {
        n: tuple(_mean(table, measures.queue_delay, protocol=p, n=n) for p in (CHOSEN, "reno"))
        for n in (10, 50, 100, 200)
    }
    text = ", ".join(f"{1e3 * a:.0f} / {1e3 * b:.0f} ms at {n}" for n, (a, b) in found.items())
    return _brief({f"n {n}": a < b for n, (a, b) in found.items()}, f"STTP / Reno {text}")


def _fair_sharing(results: Results) -> Judgement:
    table = results["transfers"]
    found = {
        n: (_mean(table, jain, protocol=CHOSEN, n=n), min(_mean(table, jain, protocol=p, n=n) for p in TCPS))
        for n in (10, 50, 100, 200)
    }
    checks = {f"n {n}": own >= least for n, (own, least) in found.items()}
    return _brief(
        checks,
        "STTP / lower TCP " + ", ".join(f"{own:.2f} / {least:.2f} at {n}" for n, (own, least) in found.items()),
    )


def _duplicates(results: Results) -> Judgement:
    """How much of the thesis's goodput is bytes that had come before, or are still queued."""
    table = results["transfers"]
    most = {
        p: max(100 * (1 - _mean(table, measures.unique, protocol=p, n=n) / _mean(table, goodput, protocol=p, n=n)) for n in (10, 50, 100, 200))
        for p in grids.COMPARED
    }  # fmt: skip
    text = ", ".join(f"{p} {value:.2g} %" for p, value in most.items())
    return _brief({p: value < 1.0 for p, value in most.items()}, f"not unique: at most {text}")


# Experiment 3.


def _shares(protocol: str, count: int) -> Target:
    """A row of table 4.5: packets of the sources from the smallest to the largest, drops, Jain's index."""
    packets, drops = TABLE_4_5[protocol, count]

    def judge(results: Results) -> Judgement:
        rows = results["fairness"].where(protocol=protocol, n=count)
        found = [sorted(measures.monitored(row, "offered_packets")) for row in rows]
        lost = median([sum(measures.monitored(row, "dropped_packets")) for row in rows])
        each = [median([values[source] for values in found]) for source in range(count)]
        parts = [number(lost, sum(drops), max(1.0, sum(drops) / 2), unit="drops", relative=False)]
        # The sum of several sources is the link's capacity, as one source's is (E3a): it would fail with none of them.
        if count == 1:
            parts.append(number(each[0], packets[0], 0.01, unit="packets"))
        else:
            index = jain_of_sources(results, protocol, count)
            parts.append(over_seeds(index, jain_of(packets), 0.05, unit="J", relative=False))
        judged = row_of(*parts)
        each_text = ", ".join(f"{value:.0f}" for value in each)
        return Judgement(judged.verdict, f"{each_text}; {judged.measured}", judged.tolerance)

    paper = f"{', '.join(map(str, packets))} packets, {sum(drops)} dropped" + (
        f", J {jain_of(packets):.3f}" if count > 1 else ""
    )
    return _t(f"T4.5 {protocol} {count}", "T4.5", paper, judge, "fairness", reason=REASONS.get(f"T4.5 {protocol}", ""))


def _used(protocol: str) -> Judge:
    def judge(results: Results) -> Judgement:
        row = results["fairness"].where(protocol=protocol, n=1)[0]
        return band(100 * sum(measures.monitored(row, "offered_packets")) / 32_000, 99.84, 100.2, unit="%", margin=0.1)

    return judge


def _weights(results: Results) -> Judgement:
    index = {w: mean_jain(results, f"sttp {w}", 4) for w in ("9:1", "5:5", "1:9")}
    checks = {"5:5 above 9:1": index["5:5"] > index["9:1"], "1:9 above 9:1": index["1:9"] > index["9:1"]}
    return holds(checks, ", ".join(f"{w}: J {value:.3f}" for w, value in index.items()))


def _vegas(results: Results) -> Judgement:
    index = {n: mean_jain(results, "vegas", n) for n in (1, 2, 4)}
    return holds({f"n {n}": value > 0.9 for n, value in index.items()}, f"J {listed(index)}")


# Experiments 5 and 6.


def _requests(results: Results) -> Judgement:
    """Section 5.5: goodput within 1 %, STTP's loss not above the TCPs'."""
    passed, lost = (by_sources(results, "requests", metric) for metric in (goodput, loss))
    apart = {n: 100 * (max(values.values()) / min(values.values()) - 1) for n, values in passed.items()}
    checks = {f"goodput n {n}": value <= 1 for n, value in apart.items()}
    # A hundredth of a per cent is a tie.
    checks |= {f"loss n {n}": values[CHOSEN] <= lower(values) + 0.01 for n, values in lost.items()}
    return holds(checks, f"goodputs {_between(apart, '.2f', '% apart')}")


def _third(results: Results, count: int, version: str) -> dict[str, float]:
    return {p: _mean(results["mixed"], measures.of_group(p), n=count, version=version) for p in PROTOCOLS}


def _few_nodes(results: Results) -> Judgement:
    table = results["mixed"]
    checks, text = {}, []
    for n in _sources(table, most=12):
        share = _third(results, n, CHOSEN)
        checks[f"n {n}"] = abs(share["vegas"] / share["reno"] - 1) <= 0.1
        text.append(f"{share['vegas'] / share['reno']:.2f} at {n}")
    return holds(checks, "Vegas / Reno " + ", ".join(text))


def _many_nodes(version: str) -> Judge:
    def judge(results: Results) -> Judgement:
        checks, text = {}, []
        for n in _sources(results["mixed"], least=15):
            share = _third(results, n, version)
            checks[f"Reno leads, n {n}"] = share["reno"] > max(share["vegas"], share["sttp"])
            checks[f"others alike, n {n}"] = 0.5 <= share["sttp"] / share["vegas"] <= 2.0
            total = sum(share.values())
            text.append(f"{'/'.join(f'{100 * share[p] / total:.0f}' for p in PROTOCOLS)} % at {n}")
        return _brief(checks, f"Reno/Vegas/STTP {text[0]}, {text[len(text) // 2]}, {text[-1]}")

    return judge


def _mixed_loss(results: Results) -> Judgement:
    series = results["mixed"].series(loss, "n", version="sttp half")
    return holds({f"n {n}": value < 1 for n, value in series.items()}, listed(series, "%"))


# Side experiments.


def _per_variant(
    experiment: str, over: str, metric: Callable[[Row], float], n: int
) -> Callable[[Results], dict[Any, float]]:
    return lambda results: {
        value: _mean(results[experiment], metric, **{over: value, "n": n}) for value in results[experiment].points(over)
    }


def _bands(results: Results) -> Judgement:
    found = _per_variant("bands", "band", loss, 50)(results)
    text = "lost " + ", ".join(f"{found[width]:.2f} % with {100 * width:g} %" for width in found)
    best = min(found, key=lambda width: found[width])
    return holds({"5 % among the better": found[0.05] <= 1.2 * found[best] + 0.1}, text)


def _buckets(results: Results) -> Judgement:
    table = results["readings"]
    parts = []
    for n in (10, 50, 100):
        a, b = (_mean(table, loss, reading=reading, n=n) for reading in ("R2, acks, half", "R2, timer, half"))
        ga, gb = (_mean(table, goodput, reading=reading, n=n) for reading in ("R2, acks, half", "R2, timer, half"))
        parts.append((n, a, b, ga / gb))
    checks = {f"n {n}": abs(a - b) <= 1 and abs(ratio - 1) <= 0.01 for n, a, b, ratio in parts}
    text = "lost with ACKs / timer " + ", ".join(f"{a:.2f} / {b:.2f} % at {n}" for n, a, b, _ in parts)
    return _brief(checks, text)


def _control(results: Results) -> Judgement:
    table = results["readings"]
    found = {
        n: (_mean(table, loss, reading="R3", n=n), _mean(table, loss, reading="R2, timer", n=n)) for n in (10, 50, 100)
    }
    text = "lost with R3 / R2 " + ", ".join(f"{a:.1f} / {b:.1f} % at {n}" for n, (a, b) in found.items())
    return holds({f"n {n}": a > 2 * b + 1 for n, (a, b) in found.items()}, text)


def _ratio_reading(results: Results) -> Judgement:
    """Decision 1: R1, unless it leaves the bottleneck of experiment 2 unfilled."""
    table = results["readings"]
    filled = {n: 100 * _mean(table, goodput, reading="R1, timer", n=n) / 225e6 for n in (10, 50, 100)}
    return holds({"R1 fills the link": min(filled.values()) >= 99.9}, f"{listed(filled, '%')} of 225 MB")


def _which_reading(results: Results) -> Judgement:
    """Every reading's sent bytes compared with the appendix's, at 10, 50 and 100 sources."""
    table = results["readings"]
    off = {
        reading: max(
            abs(100 * (_mean(table, sent, reading=reading, n=n) / APPENDIX_1[n]["sttp"][0] - 1)) for n in (10, 50, 100)
        )
        for reading in table.points("reading")
    }
    near = {reading: value for reading, value in off.items() if value <= 2}
    text = "; ".join(f"{reading}: at most {value:.1f} % off" for reading, value in (near or off).items())
    return holds({"one is within 2 %": bool(near)}, text)


def _swings(results: Results) -> Judgement:
    """Standard deviation of STTP's rate over its mean, by the weight of the new sample."""
    table = results["swings"]

    def variation(row: Row) -> float:
        rates = measures.rates(row, "sttp")[20:]
        mean = sum(rates) / len(rates)
        return float((sum((rate - mean) ** 2 for rate in rates) / len(rates)) ** 0.5 / mean)

    found = {w: table.median(variation, w_new=w) for w in table.points("w_new")}
    checks = {"unweighted varies more than 5:5": found[1.0] > found[0.5], "more than 9:1": found[1.0] > found[0.1]}
    return holds(checks, listed(found))


def _bounds(results: Results) -> Judgement:
    index = _per_variant("bounds", "bounds", jain, 50)(results)
    text = "J " + ", ".join(f"{value:.2f} with {name}" for name, value in index.items())
    return holds({"wide is less fair": index["wide"] < index["5 % both"]}, text)


def restart(rival: str) -> Judge:
    """C1: goodput (unique bytes) with the average window compared with Reno's, or with another TCP's."""

    def judge(results: Results) -> Judgement:
        table = results["restarts"]
        gain = {
            n: 100 * (_mean(table, measures.unique, protocol="reno average", n=n) / _mean(table, measures.unique, protocol=rival, n=n) - 1)
            for n in table.points("n")
        }  # fmt: skip
        return _brief(
            {"never worse": min(gain.values()) > -0.5, "at least 20 % somewhere": max(gain.values()) >= 20},
            f"goodput {listed(gain, '%')}",
        )

    return judge


def _queues(results: Results) -> Judgement:
    """Fair queueing and packet pairs: fairness of STTP by discipline."""
    table = results["queues"]
    text, checks = [], {}
    for n in (30, 100):
        index = {q: _mean(table, jain, protocol=CHOSEN, n=n, queue=q) for q in ("droptail", "drr", "wfq")}
        text.append(f"{' / '.join(f'{value:.2f}' for value in index.values())} at {n}")
        checks[f"fairer, n {n}"] = min(index["drr"], index["wfq"]) > index["droptail"]
    return holds(checks, "J droptail / drr / wfq " + ", ".join(text))


def _without_gradient(results: Results) -> Judgement:
    """Losses where flows are served in turn, with the rule of the round trip and with losses alone."""
    table = results["queues"]
    found = {
        n: tuple(_mean(table, loss, protocol=p, n=n, queue="drr") for p in ("sttp half", "sttp loss only"))
        for n in (10, 30, 100)
    }
    text = "lost with / without " + ", ".join(f"{a:.2f} / {b:.2f} % at {n}" for n, (a, b) in found.items())
    return holds({f"n {n}": b < a for n, (a, b) in found.items()}, text)


# A path of today.


def _modern(metric: str, group: str) -> Judge:
    """STTP's times are no longer than CUBIC's in the same place, with each rival."""

    def judge(results: Results) -> Judgement:
        table = results["modern"]
        checks, text = {}, []
        for rival in grids.RIVALS:
            values = {
                user: table.median(f"group.{group}.{metric}", protocol=user, rival=rival) for user in ("sttp", "cubic")
            }
            checks[_place(rival)] = values["sttp"] <= values["cubic"]
            text.append(f"{values['sttp']:.2f} / {values['cubic']:.2f} s {_place(rival)}")
        return holds(checks, "STTP / CUBIC " + ", ".join(text))

    return judge


def _place(rival: str) -> str:
    return "alone" if rival == "nobody" else f"with {NAMES[rival]}"


def _starved(user: str, least: float) -> Judge:
    """Share of `user` in the transfers' rate, in competition with as many of a rival."""

    def judge(results: Results) -> Judgement:
        table = results["modern"]
        share = {}
        for rival in ("cubic", "bbr"):
            own, other = (
                table.median(f"group.{group}.goodput_bps", protocol=user, rival=rival) for group in ("files", "rivals")
            )
            share[rival] = 100 * own / (own + other)
        return holds({f"with {r}": s >= least for r, s in share.items()}, listed(share, "%"))

    return judge


# Made practical.


def _made_practical(user: str) -> Judge:
    """The link used, nothing of TCP's losses, nobody dead, on each path first in first out."""

    def judge(results: Results) -> Judgement:
        table = results["additions"]
        checks: dict[str, bool] = {}
        found: dict[str, tuple[float, float, float]] = {}
        for path in table.points("path", user=user):
            point = {"user": user, "path": path, "queue": "droptail"}
            used = _mean(table, lambda row: 100 * row[f"{measures.LINK}.utilisation"], **point)
            index, unopened = _mean(table, jain, **point), _mean(table, lambda row: row["failed_starts"], **point)
            checks |= {f"used, {path}": used >= 90, f"fair, {path}": index >= 0.9, f"open, {path}": unopened == 0}
            found[path] = used, index, unopened
        least_used, least_fair = (min(values[i] for values in found.values()) for i in (0, 1))
        most_dead = max(values[2] for values in found.values())
        text = f"used at least {least_used:.0f} %, J {least_fair:.2f}, up to {most_dead:.1f} dead"
        return _brief(checks, text)

    return judge


def _neither_starves_nor_overruns(user: str) -> Judge:
    def judge(results: Results) -> Judgement:
        table = results["contests"]
        shares = {
            NAMES[rival]: 100 * _mean(table, measures.share, user=user, path=path, rival=rival, queue="droptail")
            for path, rival in practical.CONTESTS
        }  # fmt: skip
        text = ", ".join(f"{value:.1f} % with {name}" for name, value in shares.items())
        return holds({name: 25 <= value <= 75 for name, value in shares.items()}, text)

    return judge


def _felt(metric: str) -> Judge:
    """With all additions 95 % of times not above the shorter of CUBIC's and BBR's in the same place."""

    def judge(results: Results) -> Judgement:
        table = results["people"]
        checks: dict[str, bool] = {}
        text = []
        for rival in practical.BESIDE:
            values = {user: table.median(metric, user=user, rival=rival) for user in ("all", "cubic", "bbr")}
            checks[_place(rival)] = values["all"] <= min(values["cubic"], values["bbr"])
            text.append(f"{' / '.join(f'{value:.2f}' for value in values.values())} s {_place(rival)}")
        return holds(checks, "all / CUBIC / BBR " + ", ".join(text))

    return judge


_ALL = (
    # Experiment 1.
    *(_node(protocol, node) for protocol in ("reno", "sttp") for node in range(6)),
    _t("E1a", "4.1.1", "STTP: no drops", _no_drops, "functional", kind="band"),
    _t("E1b", "T4.4", "derived from the table's sums: Reno loses 38 % (20 to 45 %)", _reno_loses, "functional", kind="band"),
    _t("E1c", "4.1.1", "STTP's goodput is higher (derived from table 4.4: 127.6 against 99.0 packets an interval)", _aggregate, "functional", kind="ordering"),
    _t("E1d", "4.1.1", "late starters vary less with STTP", _late_starters, "functional", kind="ordering"),
    _t("E1e", "T4.4", "derived from the table's means: the first two sources have 2.9 times the others' rate (2 to 4 times)", _early_starters, "functional", kind="band"),
    _t("E1f", "4.1.1", "Reno loses packets with a single flow too", _single_flow_loses, "functional", kind="ordering"),
    # Experiment 2.
    *_appendix("A1", APPENDIX_1, "transfers", "App. T1"),
    *(
        _t(f"E2a {protocol}", "App. T1", "goodput 225.0 to 225.15 MB in every row (225 MB are the link's)", _spread_of_goodput(version(protocol)), "transfers", kind="band")
        for protocol in PROTOCOLS
    ),
    _t("E2b", "4.2.1", "STTP sends less than either TCP in all cases", _less(sent, "transfers"), "transfers", kind="ordering"),
    _t("E2c", "4.2.1", "STTP drops less than either TCP in all cases", _less(dropped, "transfers"), "transfers", kind="ordering"),
    _t("E2d", "App. T1", "derived from the table: STTP sends up to 13.9 % less than Reno (the text: up to 20 %)", _largest_saving("transfers", "reno", 13.9), "transfers"),
    _t("E2e", "App. T1", "derived from the table: STTP sends up to 15.0 % less than Vegas (the text: up to 20 %)", _largest_saving("transfers", "vegas", 14.96), "transfers"),
    _t("E2f", "5.1.2", "lost probes: flows that never open from 30 or 40 sources on", _dead("transfers", (10, 20, 50, 100, 150, 200), protocol=CHOSEN), "transfers", kind="ordering"),
    _t("E2g", "App. T1", "STTP's queue is full at the end, from 30 sources on: 92 packets", _full_queue, "transfers", kind="band"),
    _t("E2h", "4.2.1", "goodput comparable to Reno's and Vegas's (within 1 %)", _same_goodput("transfers"), "transfers", kind="band"),
    _t("X-delay", "-", "STTP keeps queues short: delays below Reno's", _delays, "transfers", kind="ordering"),
    _t("X-jain", "-", "STTP is as fair as TCP: Jain's index of all flows not below the less fair TCP's", _fair_sharing, "transfers", kind="ordering"),
    _t("X-unique", "4", "goodput counts duplicates and the queue: less than 1 % of it", _duplicates, "transfers", kind="band"),
    # Experiment 3.
    *(_shares(protocol, count) for protocol, count in TABLE_4_5),
    *(_t(f"E3a {w}", "4.2.2", "one source uses the link: at least 99.84 % of 32,000 packets", _used(f"sttp {w}"), "fairness", kind="band") for w in ("9:1", "5:5", "1:9")),
    _t("E3b", "4.2.2", "more weight on new samples is fairer (four sources)", _weights, "fairness", kind="ordering"),
    _t("E3c", "-", "Vegas is fair (the thesis gives no data)", _vegas, "fairness", kind="ordering"),
    # Experiment 4.
    *_appendix("A2", APPENDIX_2, "video", "App. T2"),
    _t("E4b", "4.2.3", "STTP sends less than either TCP in all cases", _less(sent, "video"), "video", kind="ordering"),
    _t("E4c", "4.2.3", "STTP drops less than either TCP in all cases", _less(dropped, "video"), "video", kind="ordering"),
    _t("E4d", "App. T2", "derived from the table: STTP sends up to 17.1 % less than Reno (the text: up to 20 %)", _largest_saving("video", "reno", 17.1), "video"),
    _t("E4e", "App. T2", "derived from the table: STTP sends up to 16.6 % less than Vegas (the text: up to 20 %)", _largest_saving("video", "vegas", 16.55), "video"),
    _t("E4f", "4.2.3", "STTP sends up to 20 % fewer packets (derived from the thesis's own table: 17.1 %)", _up_to_20, "video"),
    _t("E4g", "4.2.3", "goodput within 1 % of Reno's and Vegas's", _same_goodput("video"), "video", kind="band"),
    # Experiments 5 and 6.
    _t("E5", "4.2.4", "requests: goodput within 1 %, STTP loses no more than the TCPs", _requests, "requests", kind="ordering"),
    _t("E6a", "4.2.5", "up to 12 nodes Reno and Vegas get the same", _few_nodes, "mixed", kind="band"),
    _t("E6b", "4.2.5", "from 15 nodes on Reno gets most; Vegas and STTP are alike", _many_nodes(CHOSEN), "mixed", kind="ordering"),
    _t("E6c", "4.2.5", "less than 1 % is lost", _mixed_loss, "mixed", kind="band"),
    # Long runs.
    *(_long(duration, protocol) for duration in LONG_RUNS for protocol in ("reno", "sttp")),
    _t("L200 ratio", "T5.2", "goodput 0.998 of Reno's, 58 % of its share of losses", _long_ratio(200, 0.998, 0.579), "long", kind="band"),
    _t("L300 ratio", "T5.3", "goodput 0.999 of Reno's, 13 % of its share of losses", _long_ratio(300, 0.999, 0.133), "long", kind="band"),
    # Side experiments.
    _t("S1", "5.2", "a dead band of 5 % is best of 1 to 20 %", _bands, "bands", kind="ordering"),
    _t("S2", "3.4.3", "both implementations of the bucket perform alike", _buckets, "readings", kind="ordering"),
    _t("S3", "3.4.4", "without weights the rate swings; weights smooth it", _swings, "swings", kind="ordering"),
    _t("S4", "5.2.3", "wide bounds make flows stubborn and unfair", _bounds, "bounds", kind="ordering"),
    _t("S5a", "5.1.2", "strict starts: flows that never open", _dead("starts", (10, 50, 100, 200), start="strict"), "starts", kind="ordering"),
    _t("S5b", "5.1.2", "with retries all open (suggested)", _no_dead("retry"), "starts", kind="ordering"),
    _t("S5c", "5.1.2", "fair queueing suits packet pairs: fairer than FIFO", _queues, "queues", kind="ordering"),
    _t("S5d", "1.5", "with DRR STTP loses more than Reno, since R2 drifts up with each swing of the round trip: less without that rule", _without_gradient, "queues", kind="ordering"),
    _t("R1", "3.4.4", "R1, the worked example, fills the bottleneck (decision 1)", _ratio_reading, "readings", kind="ordering"),
    _t("R", "App. T1", "one reading sends what STTP sends in the appendix with 10, 50 and 100 sources, within 2 %", _which_reading, "readings", kind="band"),
    _t("R3", "3.4.4", "the formula as printed, a negative control: rates always rise", _control, "readings", kind="ordering"),
    _t("C1", "2.2", "Reno with a remembered window: typically 20 to 30 % better, up to 46 %, never worse", restart("reno"), "restarts", kind="band"),
    # A path of today.
    _t("M1", "-", "claim: STTP suits interactive use. Pages: 95 % not above CUBIC's", _modern("page_time_p95_s", "pages"), "modern", kind="ordering"),
    _t("M2", "-", "keystrokes: 95 % not above CUBIC's", _modern("response_time_p95_s", "keys"), "modern", kind="ordering"),
    _t("M3", "4.2.5", "STTP starves in competition with loss-based rivals: its transfers keep at least 30 %", _starved("sttp", 30), "modern", kind="band"),
    # Made practical.
    *(_t(f"P1 {user}", "6.3", "practical: on every path, first in first out, 90 % of the link used, Jain's index 0.9, no flow dead", _made_practical(user), "additions", kind="ordering") for user in ("strict", "level", "all")),
    *(_t(f"P2 {user}", "6.3", "competitive: neither starves nor overruns, 25 to 75 % in competition with as many flows of a rival", _neither_starves_nor_overruns(user), "contests", kind="band") for user in ("strict", "level", "competitive", "all")),
    _t("P3", "6.3", "pages with all additions: 95 % not above CUBIC's and BBR's", _felt("group.pages.page_time_p95_s"), "people", kind="ordering"),
    _t("P4", "6.3", "keystrokes with all additions: 95 % not above CUBIC's and BBR's", _felt("group.keys.response_time_p95_s"), "people", kind="ordering"),
)  # fmt: skip


TARGETS = classed(
    _ALL,
    {
        "number": "E6c, C1",
        "claim": "E4f",
        "derived": "E1b, E1e, E2a reno, E2a vegas, E2a sttp, E2d, E2e, E2g, E4d, E4e, L200 ratio, L300 ratio, R",
        "ours": (
            "X-delay, X-jain, X-unique, E3c, S5b, S5d, R1, R3, M1, M2, M3,"
            " P1 strict, P1 level, P1 all, P2 strict, P2 level, P2 competitive, P2 all, P3, P4"
        ),
    },
)  # fmt: skip
