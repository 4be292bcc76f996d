"""Reports from other projects' trackers: cause and remedy were written down from the threads before the scenarios were run.

docs/validation.md has the sources as a table.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from longhaul import Scenario, advise
from longhaul.why import why


@dataclass(frozen=True)
class Report:
    """A report: where it stands, what the path is, and what the thread found."""

    source: str
    #: Settings of the link, and of the flow.
    link: dict
    flow: dict
    cause: str
    #: Words of which the first row of the advice has one.
    remedy: tuple[str, ...]
    duration: str = "20 s"


def _bulk(size):
    return {"kind": "bulk", "size": size}


REPORTS = [
    # 1 Gbit/s, 28 ms; a window of 53,248 x 4 bytes; "the sweet spot is around 524288".
    Report("esnet/iperf#481", {"rate": "1 Gbit/s", "delay": "14 ms", "queue": "3000 packets"},
        {"tcp": {"receive_buffer": "212992 B"}}, "receiver's window", ("receive buffer", "streams")),
    # 60 s became 9 s with a window of 3 MB in place of 64 KiB at a round trip of 250 ms.
    Report("paramiko/paramiko#175", {"rate": "50 Mbit/s", "delay": "125 ms", "queue": "2000 packets"},
        {"tcp": {"receive_buffer": "65536 B"}, "app": _bulk("4 MB")}, "receiver's window", ("receive buffer",), "60 s"),
    # 200 ms: 1 MB/s where TCP has 100 MB/s, since 256 KiB may be under way.
    Report("libfuse/sshfs#300", {"rate": "200 Mbit/s", "delay": "100 ms", "queue": "5000 packets"},
        {"tcp": {"receive_buffer": "262144 B"}}, "receiver's window", ("receive buffer",)),
    # 16 ms: 35 Mbit/s down, 450 with the HPN patches' larger window.
    Report("sshnet/SSH.NET#899", {"rate": "500 Mbit/s", "delay": "8 ms", "queue": "2000 packets"},
        {"tcp": {"receive_buffer": "70000 B"}}, "receiver's window", ("receive buffer",)),
    # 100 Mbit/s, 200 ms, 0.2 % of loss: 1.2 Mbit/s; without loss 80 to 100. The other server has BBR.
    Report("cloudflare/quiche#231", {"rate": "100 Mbit/s", "delay": "100 ms", "queue": "2000 packets", "forward": {"loss": "0.2 %"}},
        {"tcp": {"congestion": "cubic"}}, "loss on the link", ("bbr", "BBR")),
    # 10 Mbit/s against 100 kbit/s: ACKs fill the way back; mended by fewer ACKs.
    Report("private-octopus/picoquic#1213", {"forward": {"rate": "10 Mbit/s"}, "reverse": {"rate": "100 kbit/s"}, "delay": "20 ms", "queue": "200 packets"},
        {"tcp": {"congestion": "bbr"}}, "full return link", ("ACK", "compressed")),
]  # fmt: skip


def _scenario(report):
    return (
        Scenario("report", duration=report.duration)
        .link("path", "a", "b", **report.link)
        .flow("a", "b", name="f", **report.flow)
    )


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.source)
def test_the_first_cause_is_that_of_the_thread(report):
    found = why(_scenario(report).document(), seconds=120.0).groups[0]
    assert found.causes[0].cause == report.cause, [one.clause for one in found.causes]


#: Reports whose advice was run: of paramiko#175 the first row is QUIC with parallel streams, which is not the thread's remedy.
ADVISED = [one for one in REPORTS if one.source == "private-octopus/picoquic#1213"]


@pytest.mark.slow("ten seconds of processor time each")
@pytest.mark.parametrize("report", ADVISED, ids=lambda report: report.source)
def test_the_first_row_is_the_remedy_of_the_thread(report):
    found = advise(_scenario(report), seconds=None, runs=40)
    assert any(word in found.best.title for word in report.remedy), found.headline
