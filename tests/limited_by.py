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
        ("Fills path (server → client)", "an equal share"),
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
        ("random loss on path",),
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
    Case("keystrokes", ("Nagle's algorithm",), one_link(flow='app = { kind = "keystrokes" }')),
    Case(
        "think time",
        ("the path's delay",),
        one_link(flow='app = { kind = "request", response = "1 kB", think = "2 s" }'),
    ),
    Case("random loss", ("random loss on path (server → client)",), one_link(LINK + '\nforward = { loss = "2 %" }')),
    Case(
        "bursts of loss",
        ("bursts of loss on path (server → client)",),
        one_link(
            LINK + '\nforward = { loss = { kind = "gilbert_elliott", good_to_bad = "0.2 %", bad_to_good = "20 %" } }',
            duration="120 s",
        ),
    ),
    Case(
        "short queue",
        ("the queue at path (server → client), which has room for 8 packets",),
        one_link('rate = "10 Mbit/s"\ndelay = "200 ms"\nqueue = "8 packets"', 'tcp = { congestion = "reno" }', "200 s", "50 s"),
    ),
    Case(
        "return link",
        ("the return link path (client → server) of 9.6 kbit/s", "ACKs fill the queue"),
        one_link('delay = "100 ms"\nforward = { rate = "10 Mbit/s" }\nreverse = { rate = "9600 bit/s" }', duration="120 s"),
    ),
    Case(
        "data on the return link",
        ("the return link path (client → server) of 100 kbit/s", "ACKs wait behind other data"),
        one_link(
            'delay = "100 ms"\nforward = { rate = "10 Mbit/s" }\nreverse = { rate = "100 kbit/s" }',
            more='[[flow]]\nname = "upload"\nfrom = "client"\nto = "server"\n',
            duration="120 s",
            warmup="30 s",
        ),
    ),
    Case(
        "slow start",
        ("slow start, which doubles its window once in a round trip of 500 ms (initial window 10 packets)",),
        one_link('rate = "100 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "bulk", size = "100 kB" }'),
    ),
    Case(
        "handshake",
        ("Limited by the path's delay", "handshake, half a round trip"),
        one_link('rate = "100 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "bulk", size = "2 kB" }'),
    ),
    Case(
        "overshoot",
        ("slow start, which overshot",),
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
        ("500 kbit/s, to which it changed at 5 s",),
        one_link(LINK + '\nchanges = [{ at = "5 s", rate = "500 kbit/s" }]', duration="100 s", warmup="10 s"),
    ),
    Case(
        "rate of nothing",
        ("0 bit/s",),
        one_link(LINK + '\nchanges = [{ at = "10 s", rate = "0 bit/s" }, { at = "50 s", rate = "10 Mbit/s" }]'),
    ),
    Case(
        "loss of everything",
        ("random loss on path (server → client), 100 % of the packets",),
        one_link('rate = "10 Mbit/s"\ndelay = "100 ms"\nforward = { loss = "100 %" }'),
    ),
    Case(
        "loss of every ACK",
        ("random loss on path (client → server), 100 % of the ACKs",),
        one_link('rate = "10 Mbit/s"\ndelay = "100 ms"\nreverse = { loss = "100 %" }'),
    ),
    Case("own slow link", ("Nearly fills its own first link of 1 Mbit/s",), dumbbell('rate = "1 Mbit/s", delay = "2 ms"')),
    Case(
        "drops at its own first link",
        ("the queue of its own first link of 20 Mbit/s",),
        dumbbell('rate = "20 Mbit/s", delay = "50 ms", queue = "5 packets"', 'tcp = { congestion = "reno" }'),
    ),
    Case(
        "receiver's slow link",
        ("Nearly fills its own last link of 1 Mbit/s",),
        dumbbell('rate = "100 Mbit/s", delay = "2 ms", to = { rate = "1 Mbit/s" }'),
    ),
    Case(
        "long hop",
        ("random loss on satellite (hub → terminal)",),
        three_links(SATELLITE + '\nforward = { loss = "1 %" }', more=split('long = { congestion = "reno" }'), duration="120 s"),
    ),
    Case(
        "proxy's window",
        ("the receive buffer of 60 kB on the long hop of pep",),
        three_links(SATELLITE, more=split('buffer = "60 kB"\nlong = { receive_buffer = "60 kB" }')),
    ),
    Case(
        "long hop full",
        ("Fills satellite (hub → terminal)",),
        three_links(
            'rate = "5 Mbit/s"\ndelay = "250 ms"\nqueue = "500 packets"',
            more=split(),
            duration="150 s",
            warmup="50 s",
        ),
    ),
    Case(
        "last hop",
        ("Fills lan (terminal → client)",),
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
        ("other flows: group bully (2 flows), which shares path",),
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
        ("the throttle policer at hub, which lets 2 Mbit/s pass",),
        three_links(
            'rate = "50 Mbit/s"\ndelay = "40 ms"',
            'tcp = { congestion = "reno" }',
            more='[[middlebox]]\nname = "policer"\nkind = "throttle"\nat = "hub"\nrate = "2 Mbit/s"\n'
            'queue = { kind = "droptail", limit = "2 packets" }\n',
        ),
    ),
    Case(
        "reordering",
        ("reordering on path (server → client)",),
        one_link(LINK + '\nreordering = { probability = "2 %", delay = "50 ms" }', 'tcp = { congestion = "reno" }', "120 s"),
    ),
    Case(
        "proxy at one node",
        ("random loss on satellite (hub → terminal)",),
        three_links(
            SATELLITE + '\nforward = { loss = "1 %" }',
            more='[[middlebox]]\nname = "pep"\nkind = "split"\nat = "hub"\nfar = { congestion = "bbr" }\n',
        ),
        ("takes for congestion",),
    ),
    Case(
        "proxy at one node, by the flow's own settings",
        ("random loss on satellite (hub → terminal)",),
        three_links(
            SATELLITE + '\nforward = { loss = "1 %" }',
            'tcp = { congestion = "reno" }',
            more='[[middlebox]]\nname = "pep"\nkind = "split"\nat = "hub"\n',
        ),
    ),
    Case(
        "return link beside a link that is full at times",
        ("the return link satellite (terminal → hub) of 16 kbit/s", "ACKs fill the queue and 5 % of the packets wait 6."),
        three_links(
            'delay = "250 ms"\nforward = { rate = "8 Mbit/s", queue = "400 packets" }\n'
            'reverse = { rate = "16 kbit/s", queue = "200 packets" }',
            duration="120 s",
        ),
        ("larger initial window", "slow start overshot", "534 ms;"),
    ),
    Case(
        "upload on the return link",
        ("the return link satellite (terminal → hub) of 512 kbit/s", "ACKs wait behind other data and 5 % of the packets wait 398 ms"),
        three_links(
            'delay = "20 ms"\nforward = { rate = "20 Mbit/s", queue = "400 packets" }\n'
            'reverse = { rate = "512 kbit/s", queue = "200 packets" }',
            more='[[flow]]\nname = "upload"\nfrom = "client"\nto = "server"\n',
        ),
        ("larger initial window", "by ACKs."),
    ),
    Case(
        "loss of most ACKs",
        ("random loss on path (client → server), 69.2 % of the ACKs",),
        one_link('delay = "50 ms"\nforward = { rate = "10 Mbit/s", queue = "200 packets" }\n'
                 'reverse = { rate = "10 Mbit/s", loss = "60 %" }'),
        ("(0 % of its packets",),
    ),
    Case(
        "rate of a policer",
        ("the throttle policer at hub, which lets 5 Mbit/s pass",),
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
        ("response, 95th percentile 1.66 s", "513 ms", "Nagle's algorithm"),
        three_links('rate = "10 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "keystrokes" }', duration="120 s"),
    ),
    Case(
        "base RTT of answers",
        ("Limited by the path's delay, a round trip of 513 ms", "only a shorter path makes it faster"),
        three_links(
            'rate = "10 Mbit/s"\ndelay = "250 ms"', 'app = { kind = "keystrokes" }\ntcp = { nagle = false }'
        ),
        ("Nagle",),
    ),
    Case(
        "queueing before answers",
        ("queueing at path (server → client), where 5 % of the packets wait 1.19 s",),
        one_link(
            'delay = "25 ms"\nforward = { rate = "10 Mbit/s", queue = "1000 packets" }\nreverse = { rate = "2 Mbit/s" }',
            'app = { kind = "keystrokes" }\ntcp = { nagle = false }',
            more='[[flow]]\nname = "down"\nfrom = "server"\nto = "client"\ncount = 2\n',
        ),
    ),
    Case(
        "window after pauses",
        ("slow start, which doubles", "initial window 10 packets"),
        one_link(flow='app = { kind = "request", response = "100 kB", think = "3 s" }\ntcp = { nagle = false }'),
        ("larger initial window or a longer transfer",),
    ),
    Case(
        "a connection for each object",
        ("slow start, which doubles", "the handshake"),
        three_links(
            'rate = "20 Mbit/s"\ndelay = "290 ms"',
            'app = { kind = "web", objects = 10, think = "2 s", document = "30 kB", object = "15 kB" }\n'
            "tcp = { initial_window = 3 }",
        ),
    ),
    Case(
        "limited slow start",
        ("limited slow start (RFC 3742), which does not double above 100 packets",),
        one_link('rate = "100 Mbit/s"\ndelay = "250 ms"\nqueue = "2000 packets"', 'tcp = { slow_start = "limited" }'),
        ("one doubling",),
    ),
    Case(
        "random loss beside drops",
        ("bursts of loss on path (server → client), 0.13 % of the packets", "Then by the queue at path"),
        one_link(
            'rate = "20 Mbit/s"\ndelay = "40 ms"\nqueue = "40 packets"\n'
            'forward = { loss = { kind = "gilbert_elliott", good_to_bad = "0.04 %", bad_to_good = "20 %" } }',
            'tcp = { congestion = "reno" }',
        ),
    ),
    Case(
        "marks of a queue with a small target",
        ("codel with a target of 1 ms, which marked 2 packets",),
        one_link(
            'rate = "20 Mbit/s"\ndelay = "100 ms"\n'
            'forward = { queue = { kind = "codel", limit = "1000 packets", target = "1 ms", interval = "20 ms" } }',
            'tcp = { congestion = "reno", ecn = true }',
        ),
        ("queue is too short",),
    ),
]  # fmt: skip
