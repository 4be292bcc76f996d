"""Scenarios that are limited by exactly one thing each, and the words by which the explanation has to name it.

A link of 10 Mbit/s with 100 ms each way joins two hosts, unless a case says otherwise; each case changes one thing that then
limits the flow "f" by far more than everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

LINK = 'rate = "10 Mbit/s"\ndelay = "100 ms"\nqueue = "400 packets"'
BIG = 'congestion = "cubic"'


@dataclass(frozen=True)
class Case:
    """One limit."""

    id: str
    #: Each has to be in the text about flow "f".
    words: tuple[str, ...]
    scenario: str
    #: None of these may be.
    never: tuple[str, ...] = ()


def one_link(link: str = LINK, flow: str = "", duration: str = "60 s", warmup: str = "0 s", more: str = "") -> str:
    """Two hosts and a link, with a flow from one to the other."""
    return (
        f'name = "one limit"\n[run]\nduration = "{duration}"\nwarmup = "{warmup}"\nseed = 1\n[[link]]\nname = "path"\n'
        f'ends = ["server", "client"]\n{link}\n[[flow]]\nname = "f"\nfrom = "server"\nto = "client"\n{flow}\n{more}'
    )


def three_links(
    middle: str,
    flow: str = "",
    *,
    first: str = 'rate = "1 Gbit/s"\ndelay = "5 ms"',
    last: str = 'rate = "1 Gbit/s"\ndelay = "1 ms"',
    more: str = "",
    duration: str = "60 s",
    warmup: str = "0 s",
) -> str:
    """A server, a hub, a terminal and a client in a row: room for proxies at hub and terminal."""
    return (
        f'name = "one limit"\n[run]\nduration = "{duration}"\nwarmup = "{warmup}"\nseed = 1\n'
        f'[[link]]\nname = "internet"\nends = ["server", "hub"]\n{first}\n'
        f'[[link]]\nname = "satellite"\nends = ["hub", "terminal"]\n{middle}\n'
        f'[[link]]\nname = "lan"\nends = ["terminal", "client"]\n{last}\n'
        f'[[flow]]\nname = "f"\nfrom = "server"\nto = "client"\n{flow}\n{more}'
    )


SATELLITE = 'rate = "20 Mbit/s"\ndelay = "250 ms"\nqueue = "1000 packets"'


def split(settings: str = "") -> str:
    """A proxy with both ends of the satellite."""
    return f'[[middlebox]]\nname = "pep"\nkind = "split"\nat = "hub"\npeer = "terminal"\n{settings}\n'


def dumbbell(
    access: str, flow: str = "", bottleneck: str = 'rate = "100 Mbit/s"\ndelay = "40 ms"', more: str = ""
) -> str:
    """Hosts with links of their own."""
    return (
        f'name = "one limit"\n[run]\nduration = "60 s"\nseed = 1\n[dumbbell.bottleneck]\n{bottleneck}\n'
        f'[[flow]]\nname = "f"\naccess = {{ {access} }}\n{flow}\n{more}'
    )


CASES = [
    Case("link", ("Fills path (server → client)",), one_link(duration="120 s", warmup="30 s")),
    Case(
        "share",
        ("path (server → client) is full", "of an equal share"),
        one_link(flow="count = 5", duration="120 s", warmup="30 s"),
    ),
    Case("window", ("receiver's window",), one_link(flow='tcp = { receive_buffer = "32 kB" }')),
    Case(
        "no scaling",
        ("receiver's window", "window scaling"),
        one_link(flow='tcp = { receive_buffer = "1 MB", window_scaling = false }'),
    ),
    Case("slow reader", ("reads",), one_link(flow='tcp = { receive_buffer = "64 kB", reading_rate = "1 Mbit/s" }')),
    Case("send buffer", ("send buffer",), one_link(flow='tcp = { send_buffer = "32 kB" }')),
    Case("fixed window", ("fixed window",), one_link(flow='tcp = { congestion = { kind = "fixed", window = "16 kB" } }')),
    Case(
        "QUIC's stream window",
        ("QUIC's flow control", "stream_window = 32 kB"),
        one_link(flow='transport = "quic"\nquic = { stream_window = "32 kB" }'),
        ("receive_buffer",),
    ),
    Case(
        "QUIC's connection window",
        ("QUIC's flow control", "connection_window = 32 kB"),
        one_link(flow='transport = "quic"\nquic = { connection_window = "32 kB", stream_window = "1 MB" }'),
    ),
    Case(
        "QUIC's send buffer",
        ("QUIC's send buffer",),
        one_link(flow='transport = "quic"\nquic = { send_buffer = "32 kB" }'),
    ),
    Case(
        "STTP's bucket",
        ("tokens of STTP's bucket",),
        one_link(flow='tcp = { congestion = { kind = "sttp", peer_window = 0 } }', link=LINK + '\nforward = { loss = "1 %" }'),
        ("congestion window",),
    ),
    Case(
        "STTP's peer window",
        ("STTP's peer_window",),
        one_link(flow='tcp = { congestion = "sttp" }'),
        ("congestion window",),
    ),
    Case("application's rate", ("application",), one_link(flow='app = { kind = "cbr", rate = "1 Mbit/s" }')),
    Case("keystrokes", ("application",), one_link(flow='app = { kind = "keystrokes" }')),
    Case(
        "think time",
        ("application",),
        one_link(flow='app = { kind = "request", response = "1 kB", think = "2 s" }'),
    ),
    Case("random loss", ("Random loss on path (server → client)",), one_link(LINK + '\nforward = { loss = "2 %" }')),
    Case(
        "bursts of loss",
        ("loss on path (server → client), not congestion",),
        one_link(
            LINK + '\nforward = { loss = { kind = "gilbert_elliott", good_to_bad = "0.2 %", bad_to_good = "20 %" } }',
            duration="120 s",
        ),
    ),
    Case(
        "short queue",
        ("the queue is too short",),
        one_link('rate = "10 Mbit/s"\ndelay = "200 ms"\nqueue = "8 packets"', 'tcp = { congestion = "reno" }', "200 s", "50 s"),
    ),
    Case(
        "return link",
        ("The return link path (client → server) is full", "by ACKs"),
        one_link('delay = "100 ms"\nforward = { rate = "10 Mbit/s" }\nreverse = { rate = "9600 bit/s" }', duration="120 s"),
    ),
    Case(
        "data on the return link",
        ("The return link path (client → server) is full", "other data"),
        one_link(
            'delay = "100 ms"\nforward = { rate = "10 Mbit/s" }\nreverse = { rate = "100 kbit/s" }',
            more='[[flow]]\nname = "upload"\nfrom = "client"\nto = "server"\n',
            duration="120 s",
            warmup="30 s",
        ),
    ),
    Case(
        "slow start",
        ("slow start", "larger initial window"),
        one_link('rate = "100 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "bulk", size = "100 kB" }'),
    ),
    Case(
        "handshake",
        ("handshake",),
        one_link('rate = "100 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "bulk", size = "2 kB" }'),
    ),
    Case(
        "overshoot",
        ("slow start overshot",),
        one_link(
            'rate = "20 Mbit/s"\ndelay = "250 ms"\nqueue = "300 packets"',
            'app = { kind = "bulk", size = "20 MB" }\ntcp = { variant = "newreno", congestion = "reno" }',
            "200 s",
        ),
    ),
    Case(
        "outage",
        ("outage", "path (server → client)", "40 s"),
        one_link(LINK + '\noutages = [{ start = "10 s", duration = "40 s" }]'),
    ),
    Case(
        "outages that hold",
        ("outage", "24 s"),
        one_link(
            LINK
            + '\noutages = [{ start = "5 s", duration = "12 s", mode = "hold" }, { start = "30 s", duration = "12 s", mode = "hold" }]'
        ),
    ),
    Case(
        "lower rate",
        ("500 kbit/s", "changed"),
        one_link(LINK + '\nchanges = [{ at = "5 s", rate = "500 kbit/s" }]', duration="100 s", warmup="10 s"),
    ),
    Case(
        "rate of nothing",
        ("0 bit/s",),
        one_link(LINK + '\nchanges = [{ at = "10 s", rate = "0 bit/s" }, { at = "50 s", rate = "10 Mbit/s" }]'),
    ),
    Case(
        "loss of everything",
        ("Delivered nothing: path (server → client) lost every packet",),
        one_link('rate = "10 Mbit/s"\ndelay = "100 ms"\nforward = { loss = "100 %" }'),
    ),
    Case(
        "loss of every ACK",
        ("Delivered nothing: path (client → server) lost every packet",),
        one_link('rate = "10 Mbit/s"\ndelay = "100 ms"\nreverse = { loss = "100 %" }'),
    ),
    Case("own slow link", ("its own first link", "1 Mbit/s"), dumbbell('rate = "1 Mbit/s", delay = "2 ms"')),
    Case(
        "drops at its own first link",
        ("its own first link", "dropped"),
        dumbbell('rate = "20 Mbit/s", delay = "50 ms", queue = "5 packets"', 'tcp = { congestion = "reno" }'),
    ),
    Case(
        "receiver's slow link",
        ("its own last link", "1 Mbit/s"),
        dumbbell('rate = "100 Mbit/s", delay = "2 ms", to = { rate = "1 Mbit/s" }'),
    ),
    Case(
        "long hop",
        ("long hop of pep", "random loss on satellite (hub → terminal)"),
        three_links(SATELLITE + '\nforward = { loss = "1 %" }', more=split('long = { congestion = "reno" }'), duration="120 s"),
    ),
    Case(
        "proxy's window",
        ("long hop of pep", "receive buffer"),
        three_links(SATELLITE, more=split('buffer = "60 kB"\nlong = { receive_buffer = "60 kB" }')),
    ),
    Case(
        "long hop full",
        ("long hop of pep", "satellite (hub → terminal) is full"),
        three_links(
            'rate = "5 Mbit/s"\ndelay = "250 ms"\nqueue = "500 packets"',
            more=split(),
            duration="150 s",
            warmup="50 s",
        ),
    ),
    Case(
        "last hop",
        ("lan (terminal → client)",),
        three_links(
            SATELLITE, more=split(), last='rate = "1 Mbit/s"\ndelay = "1 ms"', duration="150 s", warmup="50 s"
        ),
    ),
    Case(
        "too many flows",
        ("overloaded",),
        one_link('rate = "1 Mbit/s"\ndelay = "5 ms"\nqueue = "20 packets"', 'count = 100', "60 s", "10 s"),
    ),
    Case(
        "starved by others",
        ("others", "bully"),
        one_link(
            'rate = "10 Mbit/s"\ndelay = "50 ms"\nqueue = "300 packets"',
            'tcp = { congestion = "reno" }',
            "120 s",
            "20 s",
            '[[flow]]\nname = "bully"\nfrom = "server"\nto = "client"\ncount = 2\n'
            'tcp = { congestion = { kind = "reno", a = 20, b = 0.05 } }\n',
        ),
    ),
    Case(
        "policed",
        ("policer", "2 Mbit/s"),
        three_links(
            'rate = "50 Mbit/s"\ndelay = "40 ms"',
            'tcp = { congestion = "reno" }',
            more='[[middlebox]]\nname = "policer"\nkind = "throttle"\nat = "hub"\nrate = "2 Mbit/s"\n'
            'queue = { kind = "droptail", limit = "2 packets" }\n',
        ),
    ),
    Case(
        "reordering",
        ("reorder",),
        one_link(LINK + '\nreordering = { probability = "2 %", delay = "50 ms" }', 'tcp = { congestion = "reno" }', "120 s"),
    ),
    Case(
        "proxy at one node",
        ("path behind pep", "its congestion control (bbr) is the limit"),
        three_links(
            SATELLITE + '\nforward = { loss = "1 %" }',
            more='[[middlebox]]\nname = "pep"\nkind = "split"\nat = "hub"\nfar = { congestion = "bbr" }\n',
        ),
        ("takes for congestion",),
    ),
    Case(
        "proxy at one node, by the flow's own settings",
        ("path behind pep", "its congestion control (reno) takes for congestion"),
        three_links(
            SATELLITE + '\nforward = { loss = "1 %" }',
            'tcp = { congestion = "reno" }',
            more='[[middlebox]]\nname = "pep"\nkind = "split"\nat = "hub"\n',
        ),
    ),
    Case(
        "return link beside a link that is full at times",
        ("The return link satellite (terminal → hub) is full", "by ACKs", "5 % of the packets wait there for 6."),
        three_links(
            'delay = "250 ms"\nforward = { rate = "8 Mbit/s", queue = "400 packets" }\n'
            'reverse = { rate = "16 kbit/s", queue = "200 packets" }',
            duration="120 s",
        ),
        ("larger initial window", "slow start overshot", "534 ms;"),
    ),
    Case(
        "upload on the return link",
        ("The return link satellite (terminal → hub) is full", "other data", "5 % of the packets wait there for 398 ms"),
        three_links(
            'delay = "20 ms"\nforward = { rate = "20 Mbit/s", queue = "400 packets" }\n'
            'reverse = { rate = "512 kbit/s", queue = "200 packets" }',
            more='[[flow]]\nname = "upload"\nfrom = "client"\nto = "server"\n',
        ),
        ("larger initial window", "by ACKs."),
    ),
    Case(
        "loss of most ACKs",
        ("ACKs are lost", "path (client → server) loses 69.2 % of the packets", "none of its packets was lost", "7 times"),
        one_link('delay = "50 ms"\nforward = { rate = "10 Mbit/s", queue = "200 packets" }\n'
                 'reverse = { rate = "10 Mbit/s", loss = "60 %" }'),
        ("(0 % of its packets",),
    ),
    Case(
        "rate of a policer",
        ("policer", "5 Mbit/s", "only a higher rate there would make it faster"),
        three_links(
            'rate = "50 Mbit/s"\ndelay = "40 ms"',
            'tcp = { congestion = "bbr" }',
            more='[[middlebox]]\nname = "policer"\nkind = "throttle"\nat = "hub"\nrate = "5 Mbit/s"\nburst = "20 kB"\n'
            'queue = { kind = "droptail", limit = "1 packets" }\n',
        ),
        ("Pacing", "acing, or"),
    ),
    Case(
        "Nagle's algorithm",
        ("95 % of its responses come within 1.66 s", "base RTT 513 ms", "The largest part is Nagle's algorithm, 69 %", "TCP_NODELAY"),
        three_links('rate = "10 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "keystrokes" }', duration="120 s"),
    ),
    Case(
        "base RTT of answers",
        ("responses come within 51", "base RTT 51", "Nothing makes it shorter but a shorter path"),
        three_links(
            'rate = "10 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "keystrokes" }\ntcp = { nagle = false }'
        ),
        ("Nagle",),
    ),
    Case(
        "queueing before answers",
        ("The largest part is queueing at path (server → client)", "fq_codel"),
        one_link(
            'delay = "25 ms"\nforward = { rate = "10 Mbit/s", queue = "1000 packets" }\nreverse = { rate = "2 Mbit/s" }',
            'app = { kind = "keystrokes" }\ntcp = { nagle = false }',
            more='[[flow]]\nname = "down"\nfrom = "server"\nto = "client"\ncount = 2\n',
        ),
    ),
    Case(
        "window after pauses",
        ("The largest part is slow start", "3 further round trips", "restart_after_idle"),
        one_link(flow='app = { kind = "request", response = "100 kB", think = "3 s" }\ntcp = { nagle = false }'),
        ("larger initial window or a longer transfer",),
    ),
    Case(
        "a connection for each object",
        ("95 % of its pages come within", "handshakes", "The largest part is slow start", "app.persistent"),
        three_links(
            'rate = "20 Mbit/s"\ndelay = "290 ms"',
            'app = { kind = "web", objects = 10, think = "2 s", document = "30 kB", object = "15 kB" }\n'
            "tcp = { initial_window = 3 }",
        ),
    ),
    Case(
        "limited slow start",
        ("limited slow start (RFC 3742) does not double above max_ssthresh = 100 packets", "adds at most 50 packets"),
        one_link('rate = "100 Mbit/s"\ndelay = "250 ms"\nqueue = "2000 packets"', 'tcp = { slow_start = "limited" }'),
        ("one doubling",),
    ),
    Case(
        "random loss beside drops",
        ("About 60 % of its losses are random loss on path (server → client) (0.13 % of the packets)",),
        one_link(
            'rate = "20 Mbit/s"\ndelay = "40 ms"\nqueue = "40 packets"\n'
            'forward = { loss = { kind = "gilbert_elliott", good_to_bad = "0.04 %", bad_to_good = "20 %" } }',
            'tcp = { congestion = "reno" }',
        ),
    ),
    Case(
        "marks of a queue with a small target",
        ("(codel) marks packets (ECN): 2 marks", "Its target of 1 ms and interval of 20 ms are small for a base RTT of 201 ms"),
        one_link(
            'rate = "20 Mbit/s"\ndelay = "100 ms"\n'
            'forward = { queue = { kind = "codel", limit = "1000 packets", target = "1 ms", interval = "20 ms" } }',
            'tcp = { congestion = "reno", ecn = true }',
        ),
        ("queue is too short",),
    ),
]  # fmt: skip
