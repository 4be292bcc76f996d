"""Targets of `arguments`: the thesis's arguments (S-..), and mechanisms that it names and did not run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl
from longhaul.units import counted

from ..model import target
from ..results import Results, Row
from ..verdict import Judgement, band, both, holds, median, number
from . import formulas
from .arguments import CONTROLS, CROSS, LINES, LOSSES, LOST_BEYOND, MAIL_AT, QUEUE_OF_STARTS, SATELLITE, SERIAL_DELAYS
from .formulas import KB, Line
from .measures import (
    BACK,
    completion,
    kilobytes,
    largest_burst,
    queue_peak,
    rate_at_end,
    rate_between,
    silence,
    time_for,
)
from .scenarios import FADE_AT

_ROBUST = ("robust", "robust, asking")


def _rtos(number: float) -> str:
    return counted(round(number), "RTO")


def _robust_row(results: Results, scheme: str, event: str) -> Row:
    return results["robust"].where(scheme=scheme, event=event, loss=0.0)[0]


def _after_stalls(results: Results) -> Judgement:
    checks, text = {}, []
    for stall in ("stall 0.1 s", "stall 0.5 s"):
        rows = {scheme: _robust_row(results, scheme, f"{stall}, P1") for scheme in ("VJ", *_ROBUST)}
        checks[f"{stall}: VJ has an RTO"] = rows["VJ"]["timeouts"] > 0
        for scheme in _ROBUST:
            checks[f"{stall}: {scheme} has none"] = rows[scheme]["timeouts"] == 0
        text.append(f"{stall}: " + ", ".join(f"{name} {_rtos(row['timeouts'])}" for name, row in rows.items()))
    return holds(checks, "; ".join(text))


def _after_fades(results: Results) -> Judgement:
    checks, text = {}, []
    for policy in ("P1", "P3"):
        rows = {scheme: _robust_row(results, scheme, f"fade 0.1 s, {policy}") for scheme in ("VJ", "robust")}
        text.append(
            f"{policy}: " + ", ".join(
                f"{name} {_rtos(row['timeouts'])}, queue {queue_peak(row):.0f}, {silence(row):.1f} s without new data"
                for name, row in rows.items()
            )
        )  # fmt: skip
        checks[f"{policy}: no RTO"] = rows["robust"]["timeouts"] == 0
        checks[f"{policy}: shorter silence"] = silence(rows["robust"]) < silence(rows["VJ"])
    return holds(checks, "; ".join(text))


def _lossy_line(results: Results) -> Judgement:
    table = results["robust"]
    rates = {
        scheme: {loss: table.median(kilobytes, scheme=scheme, loss=loss, event="none") for loss in LOSSES}
        for scheme in ("plain", "VJ", *_ROBUST)
    }
    text = "; ".join(f"{scheme} " + ", ".join(f"{rate:.0f}" for rate in of.values()) for scheme, of in rates.items())
    checks = {
        f"{scheme}, {loss:.1%}": rates[scheme][loss] >= 0.9 * rates[scheme][0.0]
        for scheme in _ROBUST
        for loss in LOSSES[1:]
    }
    checks["VJ falls at 1 %"] = rates["VJ"][0.01] < 0.5 * rates["VJ"][0.0]
    return holds(checks, f"kB/s at losses of {', '.join(f'{loss:.1%}' for loss in LOSSES)}: {text}")


def _start(results: Results, what: str) -> Row:
    return results["starts"].where(what=what)[0]


def _several_starts(results: Results) -> Judgement:
    peaks = {count: queue_peak(_start(results, f"{count} at once")) for count in (1, 4)}
    return holds(
        {"it overflows with four": peaks[4] >= QUEUE_OF_STARTS, "not with one": peaks[1] < QUEUE_OF_STARTS},
        f"{peaks[1]:.0f} packets with one, {peaks[4]:.0f} with four",
    )


def _shorter_path(results: Results) -> Judgement:
    waiting = {
        rtt: _start(results, f"window for 1 s, path of {rtt} s")[f"{BACK}.queue_mean_packets"] for rtt in ("0.6", "1")
    }
    text = f"{waiting['1']:.1f} packets on average at 1 s, {waiting['0.6']:.1f} at 0.6 s"
    return holds({"the queue stands": waiting["0.6"] > 5 * max(waiting["1"], 1)}, text)


def _initial_windows(results: Results) -> Judgement:
    rows = {initial: _start(results, f"4 at once, IW {initial}") for initial in (1, 2, 4, 10)}
    drops = {initial: row[f"{BACK}.drops_overflow"] for initial, row in rows.items()}
    text = "; ".join(
        f"IW {initial}: {drops[initial]:.0f} ACKs dropped, {_rtos(row['timeouts'])}" for initial, row in rows.items()
    )
    return holds(
        {"ACKs are dropped": min(drops.values()) > 0, "RTOs": sum(row["timeouts"] for row in rows.values()) > 0}, text
    )


def _plain(results: Results) -> Judgement:
    rows = {(n, fade): _start(results, f"plain, {n}, fade {fade:g} s") for n in (1, 4) for fade in (0.0, 0.2)}
    peaks = {key: queue_peak(row) for key, row in rows.items()}
    text = "; ".join(
        f"{counted(n, 'connection')}{', fade' if fade else ''}: {peak:.0f}" for (n, fade), peak in peaks.items()
    )
    checks = {"starts": peaks[4, 0.0] > peaks[1, 0.0], "duplicates": peaks[4, 0.2] > peaks[4, 0.0]}
    return holds(checks, f"packets in the queue: {text}")


def _stretched(results: Results) -> Judgement:
    bursts = {
        limit: largest_burst(results["stretched"].where(limit=limit)[0], after=0.0, within=0.02)[0]
        for limit in (1, 2, 1000)
    }
    text = ", ".join(f"L = {limit if limit < 1000 else 'none'}: {burst} segments" for limit, burst in bursts.items())
    return holds({"bursts without the cap": bursts[1000] > 1.5 * bursts[2]}, text)


def _mail(results: Results) -> Judgement:
    rates, text = {}, []
    for mss in (0, 1460, 536):
        row = results["mail"].where(mss=mss)[0]
        rates[mss] = rate_between(row.result(), 0, MAIL_AT + 2, MAIL_AT + 62)
        what = f"packets of {mss + 40} B" if mss else "no mail"
        text.append(f"{what}: {rates[mss]:.0f} kB/s, {_rtos(row['timeouts'])}")
    return holds({"the mail stalls the download": rates[1460] < 0.5 * rates[0]}, "; ".join(text))


def _sharing(results: Results) -> Judgement:
    row = results["sharing"].where()[0]
    flows = {flow["name"]: flow["metrics"]["goodput_bps"] / 8 / KB for flow in row.result().summary["flows"]}
    judged = band(flows["reno"] / flows["vegas"], 1.0, 2.0, margin=0.5)
    return Judgement(
        judged.verdict, f"{flows['reno']:.0f} and {flows['vegas']:.0f} kB/s, ratio {judged.measured}", judged.tolerance
    )


def _scaled(results: Results) -> Judgement:
    table = results["increases"]
    rules = ("one segment", "scaled with the window", "scaled with the RTT")
    times = {(rule, fade): completion(table.where(rule=rule, fade=fade)[0]) for rule in rules for fade in (0.1, 0.3)}
    text = "; ".join(f"{rule}: {times[rule, 0.1]:.0f} and {times[rule, 0.3]:.0f} s" for rule in rules)
    return holds({f"{rule} is faster": times[rule, 0.1] < times["one segment", 0.1] for rule in rules[1:]}, text)


def _carriers(results: Results) -> Judgement:
    table = results["carriers"]
    rates = {
        (over, loss): table.median(partial(rate_at_end, span=150), over=over, loss=loss, start="IW 4")
        for over in ("datagrams", "TCP")
        for loss in (0.0, 0.01, 0.05)
    }
    text = "; ".join(
        f"{over}: " + ", ".join(f"{rates[over, loss]:.0f}" for loss in (0.0, 0.01, 0.05))
        for over in ("datagrams", "TCP")
    )
    checks = {
        "over TCP no ACK is lost": rates["TCP", 0.05] >= 0.9 * rates["TCP", 0.0],
        "the connection costs something": rates["TCP", 0.0] < rates["datagrams", 0.0],
    }
    return holds(checks, f"kB/s at losses of 0, 1, 5 %: {text}")


def _quick(results: Results) -> Judgement:
    table = results["carriers"]
    times = {}
    for over, start in (("VJ", "IW 2"), ("VJ", "IW 10, L 8"), ("datagrams", "IW 10, L 8")):
        times[over, start] = time_for(table.where(over=over, loss=0.0, start=start)[0], 500 * KB)
    names = {"VJ": "VJ", "datagrams": "compaction"}
    text = "; ".join(f"{names[over]}, {start}: {time:.1f} s" for (over, start), time in times.items())
    return holds(
        {"compaction with a quick start is fastest": times["datagrams", "IW 10, L 8"] <= min(times.values())},
        f"500 kB after {text}",
    )


def _size(what: str, paper: float, within: float = 0.03) -> Callable[[Results], Judgement]:
    return lambda results: number(kilobytes(results["sizes"].where(what=what)[0]), paper, within, unit="kB/s")


def _tunnel(results: Results) -> Judgement:
    rate = kilobytes(results["sizes"].where(what="M2, tunnel with compaction")[0])
    return holds({"more than plain ACKs allow": rate > 65.2}, f"{rate:.0f} kB/s")


def _idleness(results: Results) -> Judgement:
    table = results["idleness"]
    times = {
        name: table.where(after=name)[0]["response_time_mean_s"]
        for name in ("slow start", "all at once", "half, paced", "all, paced")
    }
    expired = {name: table.where(after=name)[0]["timeouts"] for name in times}
    text = "; ".join(f"{name}: {time:.1f} s, {_rtos(expired[name])}" for name, time in times.items())
    return holds(
        {
            "pacing is faster than slow start": times["half, paced"] < times["slow start"],
            "and has no RTO": expired["half, paced"] == 0,
        },
        text,
    )


def _suppression(results: Results) -> Judgement:
    table = results["suppression"]
    rows = {
        ratio: table.where(ratio=ratio)[0]
        for ratio in ("none", "one of 4", "one of 16", "adaptive", "between the ends")
    }
    rates = {ratio: rate_at_end(row, span=80) for ratio, row in rows.items()}
    times = {ratio: time_for(row, 100 * KB) for ratio, row in rows.items()}
    text = "; ".join(f"{ratio}: {rates[ratio]:.0f} kB/s, 100 kB after {times[ratio]:.1f} s" for ratio in rows)
    checks = {
        "more than without": rates["adaptive"] > 1.5 * rates["none"],
        "starts sooner than one of 16": times["adaptive"] < times["one of 16"],
    }
    return holds(checks, text)


def _controls(results: Results) -> Judgement:
    """Short queues, which lose ACKs."""
    checks, text = {}, []
    for baud, queue in LINES:
        if queue > 10:
            continue
        rows = {control: results["controls"].where(baud=baud, queue=queue, control=control)[0] for control in CONTROLS}
        rates = {control: rate_at_end(row, span=150) for control, row in rows.items()}
        lost = {control: row[f"{BACK}.drops_queue"] for control, row in rows.items()}
        checks[f"{baud} baud: few ACKs are lost"] = lost["ends"] < 0.05 * lost["nobody"]
        checks[f"{baud} baud: not slower"] = rates["ends"] >= 0.95 * rates["nobody"]
        typing = {control: _echo(row) for control, row in rows.items()}
        checks[f"{baud} baud: keystrokes pass"] = typing["ends"] < 0.5 * typing["nobody"]
        each = (
            f"{c}: {rates[c]:.0f} kB/s, {lost[c]:.0f} packets lost, echo after {_seconds(typing[c])}" for c in CONTROLS
        )
        text.append(f"{baud} baud: " + "; ".join(each))
    return holds(checks, ". ".join(text))


def _echo(row: Row) -> float:
    """Mean time from a keystroke to its echo; infinite if there was none."""
    taken = row.result().summary["flows"][1]["metrics"]["response_time_mean_s"]
    return float("inf") if taken is None else float(taken)


def _seconds(time: float) -> str:
    return "never" if time == float("inf") else f"{time:.1f} s"


def _controls_without_loss(results: Results) -> Judgement:
    """Long queues, which lose none."""
    checks, text = {}, []
    for baud, queue in LINES:
        if queue == 10:
            continue
        rows = {control: results["controls"].where(baud=baud, queue=queue, control=control)[0] for control in CONTROLS}
        rates = {control: rate_at_end(row, span=150) for control, row in rows.items()}
        checks[f"{baud} baud: the ends do nothing"] = rows["ends"]["ack_congestion_events"] == 0
        checks[f"{baud} baud: a filter does"] = rates["filter"] > 1.5 * rates["ends"]
        text.append(f"{baud} baud: " + ", ".join(f"{control} {rates[control]:.0f} kB/s" for control in CONTROLS))
    return holds(checks, "; ".join(text))


def _compressed_acks(results: Results) -> Judgement:
    table = results["compressed"]
    rows = {(c, cross): table.where(congestion=c, cross=cross)[0] for c in ("reno", "vegas") for cross in CROSS}
    bursts = {key: largest_burst(row, after=30.0, within=0.02)[0] for key, row in rows.items()}
    rates = {key: rate_at_end(row, span=80) for key, row in rows.items()}
    text = "; ".join(
        f"{c}, {'beside bursts' if cross != 'none' else 'alone'}: {bursts[c, cross]} segments in 20 ms, {rates[c, cross]:.0f} kB/s"
        for c, cross in rows
    )
    checks = {
        "bursts": bursts["reno", "bursts"] > 3 * bursts["reno", "none"],
        "Vegas suffers more": rates["vegas", "bursts"] / rates["vegas", "none"]
        < rates["reno", "bursts"] / rates["reno", "none"],
    }
    return holds(checks, text)


def _lost_beyond(results: Results) -> Judgement:
    rows = {loss: results["neighbours"].where(what=f"lost {loss:g}") for loss in LOST_BEYOND}
    rates = {loss: median([rate_at_end(row, span=100) for row in of]) for loss, of in rows.items()}
    expired = {loss: median([row["timeouts"] for row in of]) for loss, of in rows.items()}
    text = "; ".join(f"{loss:.1%}: {rates[loss]:.0f} kB/s, {_rtos(expired[loss])}" for loss in rows)
    return holds(
        {f"{loss:.1%}: at most a tenth slower": rates[loss] >= 0.9 * rates[0.0] for loss in LOST_BEYOND[1:]}, text
    )


def _all_fade(results: Results) -> Judgement:
    peaks = {count: queue_peak(results["neighbours"].where(what=f"{count} fade")[0]) for count in (1, 2, 4)}
    predicted = formulas.queue_of_all(1.0, formulas.asymmetric_limit(Line(9600, header=7)))
    text = ", ".join(f"{counted(count, 'connection')}: {peak:.0f} packets" for count, peak in peaks.items())
    return holds({f"{count}: at most {predicted}": peak <= predicted for count, peak in peaks.items()}, text)


def _innocent(results: Results) -> Judgement:
    heard, rates = {}, {}
    for fade in (0.0, 0.1):
        result = results["neighbours"].where(what=f"another's {fade:g}")[0].result()
        acks = result.segments.filter((pl.col("flow") == 0) & (pl.col("kind") == 2))
        heard[fade] = acks.filter(pl.col("time_s").is_between(FADE_AT + 1, FADE_AT + 4)).height
        rates[fade] = rate_between(result, 0, FADE_AT + 1, FADE_AT + 4)
    text = f"in 3 s {heard[0.0]} ACKs and {rates[0.0]:.0f} kB/s; with the other's duplicate ACKs {heard[0.1]} and {rates[0.1]:.0f}"
    return holds({"ACKs are lost or late": heard[0.1] < 0.9 * heard[0.0]}, text)


def _with_timestamps(results: Results) -> Judgement:
    limits, argued = results["limits"], results["argued"]
    return both(
        number(
            limits.median(kilobytes, baud=9600, header=7) / limits.median(kilobytes, baud=9600, header=40), 4.7, 0.01
        ),
        number(
            argued.median(kilobytes, what="timestamps, compressed") / argued.median(kilobytes, what="timestamps"),
            1.0,
            0.01,
        ),
    )


def _repairs(results: Results) -> Judgement:
    """Retransmissions for each round trip of 1 s, from the first to the last, in P3 without an RTO."""
    rates = []
    for row in results["policy"].where(policy="P3"):
        again = row.result().segments.filter(pl.col("kind") == 1)["time_s"].to_list()
        if row["timeouts"] == 0 and len(again) > 1:
            rates.append(len(again) / max(1.0, again[-1] - again[0]))
    return number(median(rates), 1, 0.5, unit="packets in a round trip")


def _jump(row: Row, span: float = 3.0) -> tuple[float, float, float]:
    """Packets that the backbone drops in `span` seconds: on average before the fade, then before and after the time at which that grows most."""
    result = row.result()
    backbone = [link["name"] for link in result.summary["links"]].index("backbone.reverse")
    drops = result.links.filter(pl.col("link") == backbone)

    def between(start: float, end: float) -> float:
        return float(drops.filter((pl.col("time_s") > start) & (pl.col("time_s") <= end))["drops_queue"].sum())

    times = [FADE_AT + span + step / 2 for step in range(40)]
    found = [(between(time - span, time), between(time, time + span)) for time in times]
    return between(FADE_AT - 10, FADE_AT) * span / 10, *max(found, key=lambda pair: pair[1] - pair[0])


def _resumption(results: Results) -> Judgement:
    table = results["resumption"]
    jumps = {(p, f): _jump(table.where(policy=p, fades=f)[0]) for p in ("P1", "P3") for f in ("at once", "in turn")}
    text = "; ".join(
        f"{p}, {f}: {fell:.0f} and {rose:.0f} ({usual:.0f} before the fade)"
        for (p, f), (usual, fell, rose) in jumps.items()
    )
    grows = {key: after - before for key, (_, before, after) in jumps.items()}
    usual, fell, rose = jumps["P3", "at once"]
    checks = {
        "a quiet network, then losses": rose > 5 * fell,
        "a larger step than one client after the other": grows["P3", "at once"] > 1.2 * grows["P3", "in turn"],
        "a larger one than under P1": grows["P3", "at once"] > 1.2 * grows["P1", "at once"],
        "more than before the fade": rose > usual,
    }
    return holds(checks, f"packets dropped in the 3 s before and after resuming: {text}")


def _handshake(results: Results) -> Judgement:
    table = results["handshake"]
    checks, text = {}, []
    for baud in (9_600, 28_800):
        for serial in SERIAL_DELAYS:
            times = {
                way: completion(table.where(baud=baud, serial=serial, way=way)[0]) for way in ("satellite", "serial")
            }
            what = f"{baud} baud, {serial * 1000:.0f} ms"
            sooner = times["serial"] < times["satellite"]
            checks[f"{what}: {'sooner' if serial < SATELLITE else 'later'}"] = sooner == (serial < SATELLITE)
            text.append(f"{what}: {times['satellite']:.2f} s by satellite, {times['serial']:.2f} s by the line")
    return holds(checks, "; ".join(text))


def _backbone(results: Results) -> Judgement:
    row = results["limits"].where(baud=9600, header=7)[0]
    simulated = row[f"{BACK}.transmitted_packets"] / 50.0 * 40
    return number(simulated, 4264, 0.01, unit="B/s")


def _senders(results: Results) -> Judgement:
    rows = [row for row in results["senders"].where() if row["timeouts"] > 0 or row["fast_retransmits"] > 0]
    expired = {
        sender: (sum(row["timeouts"] > 0 for row in rows if row.parameters["sender"] == sender),
                 sum(row.parameters["sender"] == sender for row in rows))
        for sender in ("fack", "sack", "newreno", "reno")
    }  # fmt: skip
    text = ", ".join(f"{sender} {some} of {of}" for sender, (some, of) in expired.items())
    some, of = (sum(pair[which] for pair in expired.values()) for which in (0, 1))
    return holds({"some runs with an RTO": some > 0, "some without": some < of}, f"RTOs: {text}")


#: Most arguments compare two values.
_t = partial(target, kind="ordering")

ARGUED = (
    _t("S-03", "5.3.4", "header compression gains a factor of 4.7, with timestamps nothing", _with_timestamps, "limits", "argued", kind="exact"),
    _t("S-04", "5.2.2", "a mail in packets of 1500 bytes delays the ACKs by 1.6 s per packet", _mail, "mail"),
    _t("S-05", "eq 5.8", "ACKs of a client with compression take 4264 B/s of the backbone", _backbone, "limits", kind="exact"),
    _t("S-06", "6.2.2", "a few ACKs lost in the Internet behind the line: one RTO or none, and no lasting harm", _lost_beyond, "neighbours"),
    _t("S-08", "eq 6.2", "a fade of all connections: a queue of up to 214 packets, for any number of connections", _all_fade, "neighbours"),
    _t("S-09", "6.4.1", "losses of one connection delay another one that shares the line", _innocent, "neighbours"),
    _t("S-11", "7.1.1", "several slow starts at once: the serial queue grows and overflows", _several_starts, "starts"),
    _t("S-12", "7.1.1", "a window for 1 s on a path of 0.6 s: the same with one flow", _shorter_path, "starts"),
    _t("S-13", "7.2", "larger initial windows of several flows strain the queue: RTOs", _initial_windows, "starts", reason="Thousands of ACKs are dropped, but the next ACK replaces them: no timer expires."),
    _t("S-14", "7.2", "byte counting without a cap of two segments: bursts", _stretched, "stretched"),
    _t("S-16", "7.1.3", "Reno takes somewhat more than Vegas on the same line", _sharing, "sharing", kind="band", reason="There are no losses here: Reno stays at its window of 250 kB and keeps the queue full, and Vegas backs off because of that queue."),
    _t("S-17", "2.8.3", "ACKs that queue at the dial-up router leave in clumps: forward bursts, and wrong estimates by Vegas", _compressed_acks, "compressed"),
    _t("S-18", "A.2.2", "compaction over TCP: no sensitivity to loss, at the cost of the connection's own control", _carriers, "carriers", reason="No ACK is lost permanently, but all ACKs wait a second and more for retransmissions, until the download's own timer expires."),
    _t("S-19", "A.1, 8.6", "compaction, a large initial window, aggressive increase: a fast start", _quick, "carriers", reason="ACKs wait 75 ms and more for their packet. With the queue of 10, header compression supports the fast start as well."),
    _t("S-21", "9.5", "a scaled increase uses freed capacity sooner", _scaled, "increases"),
    _t("S-22", "6.4.3", "many dormant connections resume at once after a regional fade (P3): sudden load on the dial-up network", _resumption, "resumption", reason="Each client resumes with half of its window, and its own line spreads its ACKs. The backbone, free for some seconds, is overloaded again at once, but no more than before."),
    _t("S-23a", "9.3", "a header compressor that resynchronises: no RTO after a stall", _after_stalls, "robust"),
    _t("S-23b", "9.3", "a header compressor that resynchronises: no dormancy after a fade", _after_fades, "robust"),
    _t("S-23c", "9.3", "a header compressor that resynchronises: the full rate on a line with losses (not in the thesis)", _lossy_line, "robust"),
    _t("S-24", "3.4.5", "a SYN-ACK over the serial line: sooner if the line's delay is less than the satellite's 270 ms", _handshake, "handshake"),
    _t("S-25", "8.1", "plain TCP, many connections: slow starts and duplicate ACKs fill the queue too", _plain, "starts"),
    _t("M0", "5.4", "MSS announced for the line: 536, 23.9 kB/s", _size("announced 536", 23.9), "sizes", kind="exact"),
    _t("M1", "5.4", "an MTU of 1500 on the line: 65.2 kB/s", _size("M1, MTU 1500", 65.2), "sizes", kind="exact"),
    _t("M2a", "5.4", "a tunnel device with an MTU of 1500 over one of 576: each ACK has 28 bytes more, 39 kB/s by formula",
       _size("M2, tunnel", formulas.compaction_limit(1, Line(9600)) / KB), "sizes", kind="exact"),
    _t("M2b", "5.4, A.2", "a tunnel device combined with ACK compaction", _tunnel, "sizes"),
    _t("M3", "5.4", "an MSS raised by the sender: 65.2 kB/s", _size("M3, M4, raised", 65.2), "sizes", kind="exact"),
    _t("8.10", "7.2.2", "pacing after idle instead of slow start: pages come sooner", _idleness, "idleness"),
    _t("ACC", "5.3.1", "an ACK ratio that adapts to the line (RFC 3449, RFC 5690; not in the thesis)", _suppression, "suppression"),
    _t("ACC-a", "5.3.1", "ACK congestion control at the ends (RFC 5690, not in the thesis): few ACKs lost, no slower download, keystrokes pass", _controls, "controls"),
    _t("ACC-b", "5.3.1", "ACK congestion control at the ends reacts to losses: no effect with a queue of 200 and no loss (RFC 5690, section 4.4)", _controls_without_loss, "controls"),
    _t("N-18", "6.4.3", "P3: one packet is repaired in a round trip", _repairs, "policy", kind="exact", reason="It depends on how the sender repairs losses, and on the fades, whose lengths are ours: the value is the median over them, and single runs have 1.2 to 26.5, of which the least agrees with the thesis (table *What depends on the sender*). After fades of 20 to 50 ms FACK and SACK repair one packet in a round trip, and so does NewReno after any (see *Readings*)."),
    _t("X-10b", "6.4.2", "P2: an RTO in some cases, by the sender's loss recovery", _senders, "senders"),
)  # fmt: skip
