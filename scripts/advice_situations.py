"""Twelve situations whose best remedy is known, for the documentation's table and for the tests.

Each has the source of what is known, and words of which at least one has to be in the title of the first row.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Two hosts with a satellite between them; `forward` and `reverse` are the satellite's directions.
_PATH = """
[[link]]
name = "lan"
ends = ["server", "hub"]
rate = "1 Gbit/s"
delay = "5 ms"
[[link]]
name = "satellite"
ends = ["hub", "terminal"]
delay = "{delay}"
forward = {{ {forward} }}
reverse = {{ {reverse} }}
[[link]]
name = "home"
ends = ["terminal", "client"]
rate = "1 Gbit/s"
delay = "1 ms"
"""


@dataclass(frozen=True)
class Situation:
    """A scenario, and which remedy is known to be the best."""

    id: str
    title: str
    known: str
    words: tuple[str, ...]
    scenario: str
    groups: tuple[str, ...] | None = None


def _satellite(
    name: str, duration: str, flows: str, *, delay: str = "270 ms", forward: str = "", reverse: str = "", more: str = ""
) -> str:
    forward = forward or 'rate = "20 Mbit/s", queue = "1000 packets"'
    reverse = reverse or 'rate = "5 Mbit/s", queue = "1000 packets"'
    head = f'name = "{name}"\n[run]\nduration = "{duration}"\nseed = 1\n'
    return head + _PATH.format(delay=delay, forward=forward, reverse=reverse) + more + flows


def _download(extra: str = "", name: str = "download", tcp: str = "") -> str:
    return f'[[flow]]\nname = "{name}"\nfrom = "server"\nto = "client"\n{extra}\ntcp = {{ {tcp} }}\n'


SITUATIONS = [
    Situation(
        "random-loss",
        "random loss of 1 %",
        "a control that does not take loss for congestion: BBR, at the sender or on a proxy's long hop, or an accelerator's hop"
        " (Cardwell et al. 2016; the split connection study)",
        ("BBR", "bbr", "an accelerator"),
        _satellite(
            "random loss",
            "40 s",
            _download(),
            forward='rate = "20 Mbit/s", queue = "1000 packets", loss = "1 %"',
        ),
    ),
    Situation(
        "small-buffer",
        "a queue of a fiftieth of the pipe",
        "a queue of one bandwidth-delay product (Villamizar and Song 1994), or a control that needs none: BBR",
        ("a queue of", "bbr", "BBR"),
        _satellite(
            "small buffer",
            "60 s",
            _download(tcp='congestion = "reno"'),
            delay="100 ms",
            forward='rate = "20 Mbit/s", queue = "7 packets"',
        ),
    ),
    Situation(
        "thin-return",
        "10 Mbit/s down, 9.6 kbit/s back",
        "fewer or shorter ACKs: a short return queue, an ACK filter, header compression (RFC 3449; Coetzee 1999)",
        (
            "a queue of 10 packets at satellite (terminal",
            "a queue for each flow at satellite (terminal",
            "ACK filter",
            "ACK compaction",
            "headers are compressed",
        ),
        _satellite(
            "thin return",
            "120 s",
            _download(tcp='congestion = "reno"'),
            forward='rate = "10 Mbit/s", queue = "1000 packets"',
            reverse='rate = "9600 bit/s", queue = "1000 packets"',
        ),
    ),
    Situation(
        "overshoot",
        "slow start overshoots",
        "slow start that leaves before the queue is full: HyStart++ (RFC 9406), limited slow start (RFC 3742), BBR's startup,"
        " or a proxy's",
        ("hystart++", "limited", "bbr", "BBR", "an accelerator"),
        _satellite(
            "overshoot",
            "90 s",
            _download('app = { kind = "bulk", size = "12 MB" }'),
            forward='rate = "20 Mbit/s", queue = "300 packets"',
        ),
    ),
    Situation(
        "bufferbloat",
        "questions and answers behind downloads",
        "a queue for each flow with control of delay: FQ-CoDel (RFC 8290)",
        ("fq_codel",),
        _satellite(
            "bufferbloat",
            "60 s",
            _download("count = 4", "downloads")
            + '[[flow]]\nname = "conversation"\nfrom = "client"\nto = "server"\n'
            + 'app = { kind = "request", request = "300 B", response = "1 kB", think = "200 ms" }\n',
            delay="20 ms",
            forward='rate = "20 Mbit/s", queue = "1000 packets"',
        ),
        ("conversation",),
    ),
    Situation(
        "short-transfers",
        "100 kB at a round trip of 600 ms",
        "a larger initial window (RFC 6928 section 12 and after), or a proxy that has the window already",
        ("initial window", "a proxy", "an accelerator", "premature ACKs"),
        _satellite(
            "short transfers",
            "60 s",
            _download('count = 10\nstart = { spaced = "5 s" }\napp = { kind = "bulk", size = "100 kB" }'),
        ),
    ),
    Situation(
        "unfair",
        "one RTT of 30 ms, one of 300 ms",
        "a queue for each flow (Demers, Keshav and Shenker 1989), or a window that grows by time and not by round trips: CUBIC"
        " (Ha, Rhee and Xu 2008)",
        ("fq", "cubic"),
        """
name = "unfair mixture"
[run]
duration = "120 s"
warmup = "20 s"
[dumbbell.bottleneck]
rate = "20 Mbit/s"
delay = "10 ms"
queue = "200 packets"
[[flow]]
name = "near"
count = 2
access = { rate = "1 Gbit/s", delay = "2 ms" }
tcp = { congestion = "reno" }
[[flow]]
name = "far"
count = 2
access = { rate = "1 Gbit/s", delay = "70 ms" }
tcp = { congestion = "reno" }
""",
    ),
    Situation(
        "outage",
        "outages of 12 s, as in a handover",
        "short timeouts, since RTO's back-off outlasts the outage (RFC 6298 section 5.5), or a control that keeps its rate",
        ("timeouts of at most", "bbr", "BBR", "a proxy", "an accelerator"),
        _satellite(
            "outage",
            "150 s",
            _download('app = { kind = "bulk", size = "60 MB" }'),
            delay="100 ms",
            forward='rate = "10 Mbit/s", queue = "500 packets",'
            ' outages = [{ start = "20 s", duration = "12 s" }, { start = "60 s", duration = "12 s" }]',
        ),
    ),
    Situation(
        "too-many",
        "200 flows on 10 Mbit/s with a queue of 40 packets",
        "ten packets of queue for each flow (Morris 2000), or a queue for each flow, which an accelerator has too",
        ("a queue of", "fq", "segments of 536", "accelerator", "one connection for all"),
        """
name = "too many flows"
[run]
duration = "60 s"
warmup = "15 s"
[dumbbell.bottleneck]
rate = "10 Mbit/s"
delay = "20 ms"
queue = "40 packets"
[[flow]]
name = "users"
count = 200
start = { uniform = ["0 s", "10 s"] }
access = { rate = "100 Mbit/s", delay = "2 ms" }
tcp = { congestion = "reno" }
""",
    ),
    Situation(
        "fading",
        "fading: bursts of loss, and the rate falls to a fifth",
        "a control that does not take loss for congestion: BBR, at the sender or on a proxy's long hop, or an accelerator's hop; or as many streams as"
        " make up for the losses (Hacker, Athey and Noble 2002)",
        ("bbr", "BBR", "parallel streams", "an accelerator"),
        _satellite(
            "fading",
            "120 s",
            _download(),
            forward='rate = "10 Mbit/s", queue = "500 packets", loss = { kind = "gilbert_elliott", good_to_bad = "0.1 %",'
            ' bad_to_good = "10 %", loss_in_bad = "50 %" },'
            ' changes = [{ at = "50 s", rate = "2 Mbit/s" }, { at = "80 s", rate = "10 Mbit/s" }]',
        ),
    ),
    Situation(
        "policed",
        "a policer at 10 Mbit/s with a bucket of 15 kB",
        "a control with a rate of its own: BBR (Flach et al. 2016), or pacing",
        ("bbr", "BBR", "pacing"),
        _satellite(
            "policed rate",
            "60 s",
            _download(tcp='congestion = "reno"'),
            delay="40 ms",
            forward='rate = "100 Mbit/s", queue = "1000 packets"',
            more='[[middlebox]]\nkind = "throttle"\nname = "policer"\nat = "hub"\nrate = "10 Mbit/s"\nburst = "15 kB"\n'
            'queue = { kind = "droptail", limit = "1 packet" }\n',
        ),
    ),
    Situation(
        "no-scaling",
        "a window of 64 KiB without window scaling",
        "window scaling and a buffer of the bandwidth-delay product (RFC 7323 section 2)",
        ("receive buffer", "window scaling"),
        _satellite(
            "no scaling",
            "60 s",
            _download(tcp='receive_buffer = "64 kB", window_scaling = false'),
        ),
    ),
]
