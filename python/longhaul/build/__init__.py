"""Typed functions for the tables of a scenario, with completion and checks by mypy before anything runs.

>>> from longhaul import Scenario
>>> from longhaul.build import app, congestion, queue, tcp
>>> s = (
...     Scenario("geo", duration="60 s")
...     .link("satellite", "hub", "remote", rate="50 Mbit/s", delay="250 ms", queue=queue.fq_codel(limit="2000 packets"))
...     .flow("hub", "remote", app=app.bulk(size="10 MB"), tcp=tcp(congestion=congestion.cubic(beta=0.8), ecn=True))
... )
>>> s.to_dict()["flow"][0]["tcp"]
{'congestion': {'kind': 'cubic', 'beta': 0.8}, 'ecn': True}
"""

from . import app, box, congestion, loss, queue, slow_start
from .parts import access, bottleneck, change, direction, outage, quic, reordering, rto, run, tcp, udp
from .section import Section

__all__ = [
    "Section", "access", "app", "bottleneck", "box", "change", "congestion", "direction", "loss", "outage", "queue", "quic",
    "reordering", "rto", "run", "slow_start", "tcp", "udp",
]  # fmt: skip
