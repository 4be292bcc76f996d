"""Arguments of the thesis without measurements, beyond `grids.argued`, as experiments."""

from __future__ import annotations

from typing import Any

from longhaul import toml
from longhaul.scenario import Scenario

from ..model import Case, Experiment
from .formulas import COMPRESSED_HEADER, KB, MSS, Line, ack_backbone_load, asymmetric_limit, window_limit
from .scenarios import FADE_AT, MEGABYTE, POLICIES, WINDOW, behind_edge, changed, compaction, download, network, tcp

#: What happens to the links, as `network` takes it.
EVENTS: dict[str, dict[str, Any]] = {
    "stall 0.1 s": {"stall": 0.1},
    "stall 0.5 s": {"stall": 0.5},
    "fade 0.1 s": {"fade": 0.1},
}
#: Losses of the line back, and how headers are compressed there. Requests of the far end take the 1 s of the line and 0.25 s back.
LOSSES = (0.0, 0.001, 0.01, 0.03)
ASKING: dict[str, Any] = {"feedback": "1250 ms"}
SCHEMES: dict[str, dict[str, Any]] = {
    "plain": {"vj": None},
    "VJ": {"vj": 0},
    "robust": {"rohc": {}},
    "robust, asking": {"rohc": ASKING},
}
#: S-04: a mail of so many bytes goes out at this time.
MAIL, MAIL_AT = 60_000, 60.0


def _seeds(loss: float) -> int:
    """Runs of a point: random losses need several."""
    return 5 if loss else 1


def robust(scale: str) -> list[Case]:
    """S-23: header compression on a line that loses packets, that stalls, and through a fade of the forward link."""
    if scale == "tiny":
        return []
    cases = [
        Case(
            {"scheme": scheme, "loss": loss, "event": "none"},
            download(network(f"{scheme}, loss {loss:g}", duration=200, warmup=40, queue=200, loss=loss, **settings), window=WINDOW),
            _seeds(loss),
        )
        for scheme, settings in SCHEMES.items() for loss in LOSSES
    ]  # fmt: skip
    for scheme, settings in SCHEMES.items():
        for event, outage in EVENTS.items():
            for policy in ("P1", "P3"):
                queue, min_rto = POLICIES[policy]
                built = network(
                    f"{scheme}, {event}, {policy}", duration=160, warmup=50, queue=queue, **outage, **settings
                )
                cases.append(
                    Case(
                        {"scheme": scheme, "loss": 0.0, "event": f"{event}, {policy}"},
                        download(built, min_rto=min_rto, trace=True),
                        tables=True,
                    )
                )
    return cases


#: Packets of the serial queue under several slow starts at once.
QUEUE_OF_STARTS = 200


def starts(scale: str) -> list[Case]:
    """S-11, S-12, S-13, S-25: several slow starts at once, a window for a longer path, initial windows, plain TCP with many connections."""
    if scale == "tiny":
        return []

    def case(what: str, built: Scenario, **settings: Any) -> Case:
        return Case({"what": what}, download(built, **settings))

    cases = [
        case(f"{count} at once", network(f"{count} slow starts", duration=60, queue=QUEUE_OF_STARTS), count=count)
        for count in (1, 4)
    ]
    cases += [
        case("window for 1 s, path of 0.6 s", network("path of 0.6 s", duration=60, delay=0.6, queue=200)),
        case("window for 1 s, path of 1 s", network("path of 1 s", duration=60, queue=200)),
    ]
    cases += [
        case(f"4 at once, IW {initial}", network(f"4 at once, IW {initial}", duration=60), count=4, initial=initial)
        for initial in (1, 2, 4, 10)
    ]
    for count in (1, 4):
        for fade in (0.0, 0.2):
            built = network(
                f"plain TCP, {count} connections, fade {fade:g} s",
                duration=160, warmup=50, baud=28_800, delay=0.6, vj=None, queue=200, fade=fade,
            )  # fmt: skip
            cases.append(case(f"plain, {count}, fade {fade:g} s", built, window=32 * KB, count=count, variant="sack"))
    return cases


def stretched(scale: str) -> list[Case]:
    """S-14: slow start that counts bytes, with and without a cap of two segments, where an ACK stands for sixteen."""
    if scale == "tiny":
        return []
    cases = []
    for limit in (1, 2, 1000):
        built = behind_edge(network(f"stretch ACKs, L {limit}", duration=30, vj=None, queue=100))
        built = built.middlebox("client", "ack_filter", every=8, hold="500 ms")
        slow_start = {"kind": "standard", "counting": "bytes", "limit": limit}
        settings = changed(tcp(variant="sack"), slow_start=slow_start)
        cases.append(
            Case(
                {"limit": limit},
                built.flow("origin", "home", name="download", app={"kind": "bulk"}, trace=True, tcp=settings),
                tables=True,
            )
        )
    return cases


def mail(scale: str) -> list[Case]:
    """S-04: a mail goes out over the line that the ACKs of a download take, in packets of 1500 and of 576 bytes."""
    if scale == "tiny":
        return []
    cases = []
    for mss in (0, 1460, 536):
        built = network(
            f"mail in packets of {mss + 40} bytes" if mss else "no mail",
            duration=180,
            warmup=50,
            mtu=mss + 40 if mss else 1500,
        )
        built = download(built, trace=True)
        if mss:
            app = {"kind": "bulk", "size": f"{MAIL} B"}
            settings = changed(tcp(mss=mss, window=32 * KB), congestion={"kind": "reno"})
            built = built.flow("client", "server", name="mail", start=f"{MAIL_AT:g} s", app=app, tcp=settings)
        cases.append(Case({"mss": mss}, built, tables=True))
    return cases


def sharing(scale: str) -> list[Case]:
    """S-16: a standard and a Vegas flow on one line."""
    if scale == "tiny":
        return []
    built = network("Reno and Vegas", duration=400, warmup=100, queue=200)
    for name in ("reno", "vegas"):
        built = download(built, name=name, congestion=name)
    return [Case({"pair": "reno and vegas"}, built)]


def increases(scale: str) -> list[Case]:
    """S-21: after a fade with P1, an additive increase of one segment, and one that is scaled."""
    if scale == "tiny":
        return []
    queue, min_rto = POLICIES["P1"]
    rules: dict[str, Any] = {
        "one segment": {"kind": "reno", "counting": "acks"},
        "scaled with the window": {"kind": "scalable"},
        "scaled with the RTT": {"kind": "hybla"},
    }
    return [
        Case(
            {"rule": name, "fade": fade},
            network(f"{name}, fade {fade:g} s", duration=400, queue=queue, fade=fade, at=37.0).flow(
                "server", "client", name="download", app={"kind": "bulk", "size": f"{12 * MEGABYTE} B"},
                tcp=changed(tcp(min_rto=min_rto), congestion=congestion),
            ),
        )
        for name, congestion in rules.items() for fade in (0.1, 0.3)
    ]  # fmt: skip


def carriers(scale: str) -> list[Case]:
    """S-18, S-19: ACK compaction over datagrams and over TCP, on a line that loses packets; and with a quick start."""
    if scale == "tiny":
        return []
    carrier = {"mss": "536 B", "initial_window": 4, "ack_every": 1, "rto": {"min": "1500 ms", "initial": "3 s"}}
    cases = []
    for over in ("datagrams", "TCP"):
        for loss in (0.0, 0.01, 0.05):
            built = compaction(
                f"compaction over {over}, loss {loss:g}",
                form="exact",
                duration=200,
                loss=loss,
                carrier=carrier if over == "TCP" else None,
            )
            settings = tcp(variant="sack", initial=4, min_rto=1.5)
            cases.append(
                Case(
                    {"over": over, "loss": loss, "start": "IW 4"}, _to_home(built, settings), _seeds(loss), tables=True
                )
            )
    built = compaction("compaction, quick start", form="exact", duration=60)
    quick = changed(
        tcp(variant="sack", initial=10, min_rto=1.5), slow_start={"kind": "standard", "counting": "bytes", "limit": 8}
    )
    cases.append(Case({"over": "datagrams", "loss": 0.0, "start": "IW 10, L 8"}, _to_home(built, quick), tables=True))
    plain = behind_edge(network("header compression, quick start", duration=60))
    cases.append(Case({"over": "VJ", "loss": 0.0, "start": "IW 10, L 8"}, _to_home(plain, quick), tables=True))
    standard = behind_edge(network("header compression, IW 2", duration=60))
    cases.append(
        Case({"over": "VJ", "loss": 0.0, "start": "IW 2"}, _to_home(standard, tcp(variant="sack")), tables=True)
    )
    return cases


def _to_home(built: Scenario, settings: dict[str, Any]) -> Scenario:
    return built.flow("origin", "home", name="download", app={"kind": "bulk"}, trace=True, tcp=settings)


def sizes(scale: str) -> list[Case]:
    """Section 5.4: an MSS announced for the line (MTU 576) and not for the satellite, and the cures M1 to M4."""
    if scale == "tiny":
        return []
    settings = tcp(variant="sack", window=60 * KB, min_rto=1.5)

    def clamped(name: str, *, raised: bool) -> Scenario:
        built = behind_edge(network(name, duration=120, warmup=40, delay=0.2, queue=100, vj=None, mtu=576))
        built = built.middlebox("client", "mss_clamp", mss="536 B", name="announced")
        return (
            built.middlebox("server", "mss_clamp", mss=f"{MSS} B", name="raised", **{"raise": True})
            if raised
            else built
        )

    cases = {
        "announced 536": clamped("MSS announced for the line", raised=False),
        "M1, MTU 1500": behind_edge(network("MTU 1500", duration=120, warmup=40, delay=0.2, queue=100, vj=None)),
        "M2, tunnel": compaction("tunnel device", form="exact", duration=120, wait=0.0, most=1, delay=0.2, mtu=576, queue=100),
        "M2, tunnel with compaction": compaction("tunnel with compaction", form="exact", duration=120, delay=0.2, mtu=576),
        "M3, M4, raised": clamped("MSS raised", raised=True),
    }  # fmt: skip
    return [Case({"what": what}, _to_home(built, settings)) for what, built in cases.items()]


def idleness(scale: str) -> list[Case]:
    """Sections 7.2 and 7.2.2: pages of 250 kB on one connection, 10 s apart, by what happens after an idle RTO."""
    if scale == "tiny":
        return []
    after: dict[str, dict[str, Any]] = {
        "slow start": {},
        "all at once": {"restart_after_idle": False},
        "half, paced": {"pace_after_idle": 0.5},
        "all, paced": {"pace_after_idle": 1.0},
    }
    app = {"kind": "request", "response": f"{WINDOW} B", "think": "10 s", "requests": 12}
    return [
        Case(
            {"after": name},
            network(f"after idle: {name}", duration=400, warmup=30, queue=20).flow(
                "client", "server", name="pages", app=app, tcp=changed(tcp(variant="sack"), **changes)
            ),
        )
        for name, changes in after.items()
    ]


def suppression(scale: str) -> list[Case]:
    """RFC 3449 and RFC 5690: ACK filters with a fixed ratio and with one that follows the line, plain ACKs at 9600 baud."""
    if scale == "tiny":
        return []
    adapt = {"rate": "7680 bit/s", "backlog": "200 ms", "interval": "1200 ms", "most": 16}
    kinds: dict[str, dict[str, Any] | None] = {
        "none": None, "one of 4": {"every": 4}, "one of 16": {"every": 16}, "adaptive": {"every": 1, "adapt": adapt},
    }  # fmt: skip
    cases = []
    for name, settings in kinds.items():
        built = behind_edge(network(f"ACK ratio: {name}", duration=160, vj=None, queue=20))
        if settings:
            built = built.middlebox("client", "ack_filter", hold="500 ms", **settings)
        cases.append(Case({"ratio": name}, _to_home(built, tcp(variant="sack", min_rto=1.0)), tables=True))
    built = behind_edge(network("ACK ratio: between the ends", duration=160, vj=None, queue=20))
    settings = changed(tcp(variant="sack", min_rto=1.0), ack_congestion_control=True)
    cases.append(Case({"ratio": "between the ends"}, _to_home(built, settings), tables=True))
    return cases


#: How ACKs are kept from filling the line: by nobody, by the ends (RFC 5690), by a filter at the client's edge that follows the line.
CONTROLS = ("nobody", "ends", "filter")
#: ACKs on a line of so many baud, behind a queue of so many packets; a long one loses no ACK.
LINES = ((9_600, 10), (9_600, 200), (28_800, 10), (28_800, 200))


def controls(scale: str) -> list[Case]:
    """ACK congestion control on lines with short and long queues: Reno without header compression, with keystrokes of the same client."""
    if scale == "tiny":
        return []
    cases = []
    for baud, queue in LINES:
        for control in CONTROLS:
            built = behind_edge(
                network(
                    f"{control}, {baud} baud, queue of {queue}", duration=200, warmup=40, baud=baud, delay=0.6, queue=queue, vj=None
                )
            )  # fmt: skip
            if control == "filter":
                adapt = {"rate": f"{baud * 8 // 10} bit/s", "backlog": "200 ms", "interval": "1200 ms", "most": 64}
                built = built.middlebox("client", "ack_filter", hold="500 ms", every=1, adapt=adapt)
            settings = changed(
                tcp(variant="sack", min_rto=1.0), ack_congestion_control=True if control == "ends" else None
            )
            built = _to_home(built, settings)
            app = {"kind": "keystrokes", "gap": "1 s"}
            built = built.flow("home", "origin", name="typing", app=app, tcp=tcp(variant="sack", min_rto=1.0))
            cases.append(Case({"baud": baud, "queue": queue, "control": control}, built, tables=True))
    return cases


#: S-17: rate of the dial-up router's link in bit/s, and what else crosses it.
ROUTER_RATE = 1_000_000
CROSS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "bursts": {"kind": "on_off", "rate": "4 Mbit/s", "on": "200 ms", "off": "1 s"},
}


def compressed_acks(scale: str) -> list[Case]:
    """S-17: behind the line the ACKs wait at the dial-up router, in the queue of a link that other customers' bursts share."""
    if scale == "tiny":
        return []
    cases = []
    for congestion in ("reno", "vegas"):
        for cross, app in CROSS.items():
            built = network(f"dial-up router, {congestion}, {cross}", duration=120, queue=200)
            router = {
                "rate": f"{ROUTER_RATE} bit/s",
                "delay": "0 s",
                "queue": {"kind": "droptail", "limit": "100 packets"},
            }
            built = built.link("isp", "origin", "server", forward={"rate": "1 Gbit/s", "delay": "0 s"}, reverse=router)
            built = built.link("customers", "others", "server", rate="100 Mbit/s", delay="0 s")
            settings = tcp(variant="sack", congestion=congestion)
            built = built.flow("origin", "client", name="download", app={"kind": "bulk"}, trace=True, tcp=settings)
            if app:
                settings = changed(tcp(variant="sack", initial=10), congestion={"kind": "reno"})
                built = built.flow("others", "origin", name="mail", app=app, tcp=settings)
            cases.append(Case({"congestion": congestion, "cross": cross}, built, tables=True))
    return cases


#: S-06: shares of ACKs that the Internet between the line and the server loses.
LOST_BEYOND = (0.0, 0.001, 0.005)


def neighbours(scale: str) -> list[Case]:
    """S-06: ACKs lost behind the line. S-08: a fade hits one, two or four connections. S-09: it hits one of two that come from different servers."""
    if scale == "tiny":
        return []
    cases = []
    for loss in LOST_BEYOND:
        built = network(f"{loss:g} of ACKs lost behind the line", duration=160, warmup=50)
        there, back = {"rate": "1 Gbit/s", "delay": "0 s"}, {"rate": "1 Gbit/s", "delay": "0 s"}
        lossy: dict[str, Any] = {**back, "loss": {"kind": "random", "probability": loss}} if loss else back
        built = built.link("net", "origin", "server", forward=there, reverse=lossy)
        built = built.flow("origin", "client", name="download", app={"kind": "bulk"}, trace=True, tcp=tcp())
        cases.append(Case({"what": f"lost {loss:g}"}, built, _seeds(loss), tables=True))
    for count in (1, 2, 4):
        built = network(f"a fade of {count} connections", duration=120, warmup=50, queue=500, fade=0.3)
        together = asymmetric_limit(
            Line(9600, header=COMPRESSED_HEADER)
        )  # in the round trip of 1 s: more would queue anyway (eq 5.4)
        built = download(built, count=count, min_rto=20.0, window=together / count)
        cases.append(Case({"what": f"{count} fade"}, built, tables=True))
    for fade in (0.0, 0.1):
        built = network(f"another's fade of {fade:g} s", duration=120, warmup=50)
        for name in ("near", "far"):
            forward: dict[str, Any] = {"rate": "1 Gbit/s", "delay": "0 s"}
            if fade and name == "far":
                forward["outages"] = [{"start": f"{FADE_AT:g} s", "duration": f"{round(fade * 1000)} ms"}]
            built = built.link(
                name, f"server-{name}", "server", forward=forward, reverse={"rate": "1 Gbit/s", "delay": "0 s"}
            )
            settings = tcp(window=WINDOW / 2)
            built = built.flow(f"server-{name}", "client", name=name, app={"kind": "bulk"}, trace=True, tcp=settings)
        cases.append(Case({"what": f"another's {fade:g}"}, built, tables=True))
    return cases


#: S-22: clients of one dial-up network, each with a line of its own.
CLIENTS = 8


def resumptions(scale: str) -> list[Case]:
    """S-22: a fade of 0.3 s hits the downloads of all clients at once, or those of one client after the other, under P1 and P3.

    Their ACKs share the backbone of the dial-up network, which has what all clients need with header compression and a tenth more, with the
    uploads of two other customers.
    """
    if scale == "tiny":
        return []
    cases = []
    load = CLIENTS * ack_backbone_load(window_limit(WINDOW, 1.0))
    for policy in ("P1", "P3"):
        for fades in ("at once", "in turn"):
            cases.append(Case({"policy": policy, "fades": fades}, _region(policy, fades, load), tables=True))
    return cases


def _region(policy: str, fades: str, load: float) -> Scenario:
    queue, min_rto = POLICIES[policy]
    built = Scenario(f"{CLIENTS} clients, {policy}, fades {fades}", duration="160 s", warmup="50 s", sample="250 ms")
    back = {
        "rate": f"{round(load * 8 * 1.1)} bit/s",
        "delay": "0 s",
        "queue": {"kind": "droptail", "limit": "100 packets"},
    }
    built = built.link("backbone", "server", "pop", forward={"rate": "1 Gbit/s", "delay": "0 s"}, reverse=back)
    for client in range(CLIENTS):
        at = FADE_AT + (4.0 * client if fades == "in turn" else 0.0)
        line = network("line", duration=1, queue=queue, fade=0.3, at=at).content["link"][0]
        # Not all at the same nanosecond of their round trips.
        there, back_ = dict(line["forward"], delay=f"{client * 7} ms"), dict(line["reverse"])
        built = built.link(f"line-{client}", "pop", f"client-{client}", forward=there, reverse=back_)
        built = built.flow(
            "server", f"client-{client}", name=f"download-{client}", app={"kind": "bulk"}, start=f"{client * 300} ms", trace=True,
            tcp=tcp(min_rto=min_rto),
        )  # fmt: skip
    built = built.link("customers", "others", "pop", rate="10 Mbit/s", delay="20 ms")
    uploads = {"congestion": "reno", "receive_buffer": "64 KiB"}
    return built.flow("others", "server", name="customers", count=2, app={"kind": "bulk"}, tcp=uploads)


#: S-24: one-way delay of the serial path in seconds; the satellite's is 0.27 s.
SERIAL_DELAYS, SATELLITE = (0.13, 0.33), 0.27


def handshakes(scale: str) -> list[Case]:
    """S-24: the SYN-ACK of a download comes by satellite, or over the serial line.

    All packets of a flow and direction take one way here. The SYN-ACK is the first that goes to the client, and alone: what it meets is
    what the forward link is when it leaves. So that link begins with rate and delay of the serial line, and becomes the satellite's once
    SYN and SYN-ACK, of 54 bytes with framing, have been sent.
    """
    if scale == "tiny":
        return []
    cases = []
    for baud in (9_600, 28_800):
        for serial in SERIAL_DELAYS:
            for way in ("satellite", "serial"):
                built = network(
                    f"SYN-ACK by {way}, {baud} baud, {serial:g} s", duration=20, sample="20 ms", baud=baud, delay=serial,
                    forward="54 Mbit/s", vj=None,
                )  # fmt: skip
                content = built.content
                there = content["link"][0]["forward"]
                there["delay"] = f"{round(SATELLITE * 1000)} ms"
                if way == "serial":
                    gone = 2 * 54 * 10 / baud + serial + 0.02
                    there["changes"] = [
                        {"at": f"{round(gone * 1000)} ms", "rate": there["rate"], "delay": there["delay"]}
                    ]
                    there["rate"], there["delay"] = f"{baud * 8 // 10} bit/s", f"{round(serial * 1000)} ms"
                app = {"kind": "request", "response": "10 kB", "requests": 1}
                settings = tcp(variant="sack", min_rto=1.0)
                built = Scenario.from_toml(toml.document(content)).flow(
                    "client", "server", name="page", app=app, trace=True, tcp=settings
                )
                cases.append(Case({"baud": baud, "serial": serial, "way": way}, built, tables=True))
    return cases


#: P2 with senders of other kinds than FACK (X-10).
SENDERS = ("fack", "sack", "newreno", "reno")


def senders(scale: str) -> list[Case]:
    """X-10: policy P2, a short queue and an RTO of 20 s at least, by how the sender repairs losses."""
    if scale == "tiny":
        return []
    return [
        Case({"sender": sender, "fade": fade}, _repaired("P2", sender, fade)) for sender in SENDERS for fade in _fades(scale)
    ]  # fmt: skip


#: Senders of the table of recoveries, with settings of their own: which of them, or what else, Linux of 1999 was is not known.
RECOVERIES: dict[str, dict[str, Any]] = {
    "fack": {"variant": "fack"},
    "sack": {"variant": "sack"},
    "sack1": {"variant": "sack1"},
    "newreno": {"variant": "newreno"},
    "newreno, slow but steady": {"variant": "newreno", "slow_but_steady": True},
    "reno": {"variant": "reno"},
}


def _fades(scale: str) -> tuple[float, ...]:
    return (0.05, 0.1, 0.2, 0.3, 0.5) if scale == "full" else (0.1, 0.3)


def _repaired(policy: str, sender: str, fade: float, *, size: int | None = None) -> Scenario:
    queue, min_rto = POLICIES[policy]
    whole = size is not None
    built = network(
        f"{policy}, {sender}, fade {fade:g} s", duration=400 if whole else 160, warmup=0 if whole else 50, queue=queue, fade=fade,
        at=37.0 if whole else FADE_AT,
    )  # fmt: skip
    return download(built, size=size, min_rto=min_rto, trace=not whole, **RECOVERIES[sender])


def recoveries(scale: str) -> list[Case]:
    """N-16 to N-18, X-08, X-10, X-11 by sender: fades under P1, P2 and P3, and the file of 12 MB under P1 and P3."""
    if scale == "tiny":
        return []
    points = [(sender, fade) for sender in RECOVERIES for fade in _fades(scale)]
    faded = [
        Case({"sender": sender, "policy": policy, "fade": fade, "what": "fade"}, _repaired(policy, sender, fade), tables=True)
        for sender, fade in points for policy in ("P1", "P2", "P3")
    ]  # fmt: skip
    files = [
        Case({"sender": sender, "policy": policy, "fade": fade, "what": "file"}, _repaired(policy, sender, fade, size=12 * MEGABYTE))
        for sender, fade in points for policy in ("P1", "P3")
    ]  # fmt: skip
    return [*faded, *files]


EXPERIMENTS = (
    Experiment("robust", "Robust header compression", "9.3", robust),
    Experiment("starts", "Several slow starts", "7.1.1", starts),
    Experiment("stretched", "Byte counting and stretch ACKs", "7.2", stretched),
    Experiment("mail", "Mail beside a download", "5.2.2, 6.4", mail),
    Experiment("sharing", "Reno and Vegas", "7.1.3", sharing),
    Experiment("increases", "Scaled increase", "9.5", increases),
    Experiment("carriers", "ACK compaction over TCP", "A.2.2", carriers),
    Experiment("sizes", "MSS of the wrong interface", "5.4", sizes),
    Experiment("idleness", "Pages after idle periods", "7.2.2", idleness),
    Experiment("suppression", "ACK ratios", "5.3.1", suppression),
    Experiment("senders", "P2 by sender", "6.4.2", senders),
    Experiment("recoveries", "Fades by the sender's loss recovery", "6.4", recoveries),
    Experiment("controls", "ACK congestion control", "5.3.1", controls),
    Experiment("compressed", "ACKs behind bursts of others", "2.8.3", compressed_acks),
    Experiment("neighbours", "Losses beyond the line, and of others", "6.2.2, 6.4.1", neighbours),
    Experiment("resumption", "Clients after a fade of a region", "6.4.3", resumptions),
    Experiment("handshake", "SYN-ACK over the line", "3.4.5", handshakes),
)
