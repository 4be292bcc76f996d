"""Queue disciplines: what a link's `queue` is.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from .section import Section, given


def droptail(*, limit: str) -> Section:
    """First in, first out; a packet that finds the queue full is dropped.

    * `limit`: Most packets or bytes in the system.
    """
    return given({"kind": "droptail", "limit": limit})


def head_drop(*, limit: str) -> Section:
    """First in, first out; a packet that finds the queue full pushes out the oldest waiting one.

    * `limit`: Most packets or bytes in the system.
    """
    return given({"kind": "head_drop", "limit": limit})


def red(
    *,
    limit: str,
    adaptive: bool | None = None,
    alpha: float | str | None = None,
    beta: float | str | None = None,
    bottom: float | str | None = None,
    ecn: bool | None = None,
    form: Literal["floyd", "ns2"] | None = None,
    gentle: bool | None = None,
    interval: str | None = None,
    mark_limit: float | str | None = None,
    max_p: float | str | None = None,
    max_threshold: str | None = None,
    mean_packet: str | None = None,
    measure: Literal["bytes", "packets"] | None = None,
    min_threshold: str | None = None,
    overflow: Literal["arriving", "oldest", "random"] | None = None,
    queue_weight: float | None = None,
    size_dependent: bool | None = None,
    target_delay: str | None = None,
    top: float | str | None = None,
    wait: bool | None = None,
) -> Section:
    """Random early detection: as the average queue grows, packets are marked or dropped at random, before the queue is full (Floyd and Jacobson 1993; Floyd, Gummadi and Shenker 2001).

    * `limit`: Most packets or bytes in the system.
    * `adaptive`: Adapt max_p so that the average queue stays in the middle between the thresholds.
    * `alpha`: What is added to max_p when the average queue is too long, but at most max_p / 4.
    * `beta`: What max_p is multiplied by when the average queue is too short.
    * `bottom`: Max_p is not made smaller below this; if not given 0.01, or the inverse of the bandwidth-delay product in packets of 1000 B at 100 ms if that is less.
    * `ecn`: Mark ECN-capable packets instead of dropping them.
    * `form`: Whose form of the gentle part.
    * `gentle`: Above the maximum threshold the probability rises from max_p to 1 at twice that threshold; otherwise it is 1.
    * `interval`: Time between two adaptations of max_p.
    * `mark_limit`: From this probability on ECN-capable packets are dropped too (RFC 3168 section 7).
    * `max_p`: Probability at the maximum threshold; with `adaptive` only at the start.
    * `max_threshold`: Average queue at which the probability has risen to max_p; if not given three times `min_threshold`.
    * `mean_packet`: Mean size of packets: for automatic values, for idle times, and to convert between packets and bytes.
    * `measure`: In what the average queue is measured.
    * `min_threshold`: Average queue from which packets are marked or dropped; if not given half of what drains in `target_delay`, at least 5 packets of the mean size.
    * `overflow`: Which packet goes when one arrives at a full queue.
    * `queue_weight`: Weight of an arriving packet's queue in the moving average; if not given 1 - exp(-1/C), where C is the link's rate in packets of the mean size per second.
    * `size_dependent`: Make a packet's probability proportional to its size (byte mode; RFC 7141 advises against it).
    * `target_delay`: Queueing delay that automatic thresholds aim at.
    * `top`: Max_p is not made larger above this.
    * `wait`: Spread marks and drops: after one, wait 1/p packets before the next becomes possible.
    """
    return given(
        {
            "kind": "red",
            "limit": limit,
            "adaptive": adaptive,
            "alpha": alpha,
            "beta": beta,
            "bottom": bottom,
            "ecn": ecn,
            "form": form,
            "gentle": gentle,
            "interval": interval,
            "mark_limit": mark_limit,
            "max_p": max_p,
            "max_threshold": max_threshold,
            "mean_packet": mean_packet,
            "measure": measure,
            "min_threshold": min_threshold,
            "overflow": overflow,
            "queue_weight": queue_weight,
            "size_dependent": size_dependent,
            "target_delay": target_delay,
            "top": top,
            "wait": wait,
        }
    )


def codel(
    *,
    ce_threshold: str | None = None,
    ecn: bool | None = None,
    interval: str | None = None,
    limit: str | None = None,
    target: str | None = None,
) -> Section:
    """Controlled delay: drops or marks packets as they leave while the queueing delay stands above a target (RFC 8289).

    * `ce_threshold`: ECN-capable packets that have waited longer than this are marked in any case (as in RFC 8290 section 5.2.7, for data centres).
    * `ecn`: Mark ECN-capable packets instead of dropping them.
    * `interval`: How long the delay must stay above `target` before the first packet is dropped: about the largest RTT of the connections that matter.
    * `limit`: Most packets or bytes in the system; RFC 8289 states none, Linux has 1000 packets.
    * `target`: Queueing delay that may stand; RFC 8289 recommends 5 % to 10 % of `interval`.
    """
    return given(
        {
            "kind": "codel",
            "ce_threshold": ce_threshold,
            "ecn": ecn,
            "interval": interval,
            "limit": limit,
            "target": target,
        }
    )


def fq_codel(
    *,
    ce_threshold: str | None = None,
    drop_batch: int | None = None,
    ecn: bool | None = None,
    interval: str | None = None,
    limit: str | None = None,
    quantum: str | None = None,
    queues: int | None = None,
    target: str | None = None,
) -> Section:
    """A queue with CoDel for each flow, served in turn; sparse flows first (RFC 8290).

    * `ce_threshold`: ECN-capable packets that have waited longer than this are marked in any case.
    * `drop_batch`: Most packets that the longest queue loses at a time, but not more than half of it.
    * `ecn`: Mark ECN-capable packets instead of dropping them.
    * `interval`: How long the delay must stay above `target` before the first packet is dropped.
    * `limit`: Most packets or bytes in the system (RFC 8290 section 5.2.3).
    * `quantum`: What a flow may send at each turn.
    * `queues`: Queues over which flows are spread by a hash.
    * `target`: Queueing delay that may stand in a flow's queue.
    """
    return given(
        {
            "kind": "fq_codel",
            "ce_threshold": ce_threshold,
            "drop_batch": drop_batch,
            "ecn": ecn,
            "interval": interval,
            "limit": limit,
            "quantum": quantum,
            "queues": queues,
            "target": target,
        }
    )


def pie(
    *,
    limit: str,
    activation: str | None = None,
    alpha: float | None = None,
    beta: float | None = None,
    cap_adjustment: bool | None = None,
    derandomise: bool | None = None,
    ecn: bool | None = None,
    mark_limit: float | str | None = None,
    max_burst: str | None = None,
    mean_packet: str | None = None,
    target: str | None = None,
    update: str | None = None,
) -> Section:
    """Proportional integral controller enhanced: drops or marks arriving packets with a probability that steers the queueing delay to a target (RFC 8033).

    * `limit`: Most packets or bytes in the system.
    * `activation`: Be inactive until the queue reaches this length, and after it has been empty for long (section 5, optional, which suggests a third of the limit); without it PIE is always active.
    * `alpha`: Weight of the delay's distance from `target`, per second.
    * `beta`: Weight of the delay's growth since the last adjustment, per second.
    * `cap_adjustment`: From a probability of 10 % on, raise it by at most 2 points at a time (section 5, optional).
    * `derandomise`: Keep drops from being too close to each other or too far apart (section 5, optional).
    * `ecn`: Mark ECN-capable packets instead of dropping them.
    * `mark_limit`: MAX_ECNTH: from this probability on ECN-capable packets are dropped too.
    * `max_burst`: MAX_BURST: after a time without delay, nothing is dropped for this long.
    * `mean_packet`: MEAN_PKTSIZE: a queue of at most two such packets is left alone.
    * `target`: QDELAY_REF: the queueing delay to keep.
    * `update`: T_UPDATE: time between two adjustments of the probability.
    """
    return given(
        {
            "kind": "pie",
            "limit": limit,
            "activation": activation,
            "alpha": alpha,
            "beta": beta,
            "cap_adjustment": cap_adjustment,
            "derandomise": derandomise,
            "ecn": ecn,
            "mark_limit": mark_limit,
            "max_burst": max_burst,
            "mean_packet": mean_packet,
            "target": target,
            "update": update,
        }
    )


def fq_pie(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    ecn: bool | None = None,
    limit: str | None = None,
    mark_limit: float | str | None = None,
    max_burst: str | None = None,
    quantum: str | None = None,
    queues: int | None = None,
    target: str | None = None,
    update: str | None = None,
) -> Section:
    """A queue with PIE for each flow, served in turn; sparse flows first (RFC 8033, RFC 8290).

    * `alpha`: Weight of the delay's distance from `target`, per second.
    * `beta`: Weight of the delay's growth since the last adjustment, per second.
    * `ecn`: Mark ECN-capable packets instead of dropping them.
    * `limit`: Most packets or bytes in the system.
    * `mark_limit`: MAX_ECNTH: from this probability on ECN-capable packets are dropped too.
    * `max_burst`: MAX_BURST: after a time without delay, nothing of a flow is dropped for this long.
    * `quantum`: What a flow may send at each turn.
    * `queues`: Queues over which flows are spread by a hash.
    * `target`: QDELAY_REF: the queueing delay to keep in a flow's queue.
    * `update`: T_UPDATE: time between two adjustments of a flow's probability.
    """
    return given(
        {
            "kind": "fq_pie",
            "alpha": alpha,
            "beta": beta,
            "ecn": ecn,
            "limit": limit,
            "mark_limit": mark_limit,
            "max_burst": max_burst,
            "quantum": quantum,
            "queues": queues,
            "target": target,
            "update": update,
        }
    )


def dualpi2(
    *,
    alpha: float | None = None,
    beta: float | None = None,
    classic_share: float | None = None,
    coupling: float | None = None,
    drop_on_overload: bool | None = None,
    limit: str | None = None,
    ramp: str | None = None,
    scheduler: Literal["time_shifted", "weighted"] | None = None,
    target: str | None = None,
    threshold: str | None = None,
    time_shift: str | None = None,
    update: str | None = None,
) -> Section:
    """DualPI2: packets of L4S have a queue of their own, kept to a millisecond by marks, and others one under PI2, coupled so that their flows have similar windows (RFC 9332).

    * `alpha`: Weight of the delay's distance from `target`, per second.
    * `beta`: Weight of the delay's growth since the last adjustment, per second.
    * `classic_share`: The classic queue's share of the bytes while both have packets; only for `scheduler = "weighted"`.
    * `coupling`: K: packets of L4S are marked with so many times the base probability, others with its square.
    * `drop_on_overload`: When marks are not enough, because all packets of L4S are marked, drop packets of both kinds by the classic probability.
    * `limit`: Most packets or bytes in the system, of both queues.
    * `ramp`: From `threshold` on, how much longer they wait until all are marked; in between with a probability that rises linearly.
    * `scheduler`: How the two queues share the link.
    * `target`: The delay to keep in the classic queue.
    * `threshold`: Packets of L4S that have waited longer are marked in any case, but not for the time that one packet of 1500 B takes on the link.
    * `time_shift`: How much earlier packets of L4S count as having come; only for `scheduler = "time_shifted"`.
    * `update`: Tupdate: time between two adjustments of the base probability.
    """
    return given(
        {
            "kind": "dualpi2",
            "alpha": alpha,
            "beta": beta,
            "classic_share": classic_share,
            "coupling": coupling,
            "drop_on_overload": drop_on_overload,
            "limit": limit,
            "ramp": ramp,
            "scheduler": scheduler,
            "target": target,
            "threshold": threshold,
            "time_shift": time_shift,
            "update": update,
        }
    )


def cake(
    *,
    bandwidth: str | None = None,
    diffserv: Literal["besteffort", "diffserv3", "diffserv4", "diffserv8", "precedence"] | None = None,
    isolation: Literal[
        "dsthost", "dual_dsthost", "dual_srchost", "flowblind", "flows", "hosts", "srchost", "triple_isolate"
    ]
    | None = None,
    limit: str | None = None,
    overhead: Mapping[str, Any] | None = None,
    rtt: str | None = None,
) -> Section:
    """CAKE: hosts share equally, and the flows of each; packets go by their DSCP into tins; it has its own rate if it is to (tc-cake(8), Høiland-Jørgensen, Täht and Morton 2018).

    * `bandwidth`: The rate to which it shapes, `overhead` included; without it the link's own rate is the limit, and tins take turns by their shares.
    * `diffserv`: How packets are sorted into tins by their DSCP.
    * `isolation`: Between what bandwidth is shared.
    * `limit`: Most packets or bytes in the system; when it is exceeded, the longest queue loses its oldest packets.
    * `overhead`: Bytes that each packet takes on the line beside itself: they count for the shaper and for the shares of flows.
    * `rtt`: The round trip time of the connections that matter: COBALT's interval; its target is a twentieth.
    """
    return given(
        {
            "kind": "cake",
            "bandwidth": bandwidth,
            "diffserv": diffserv,
            "isolation": isolation,
            "limit": limit,
            "overhead": overhead,
            "rtt": rtt,
        }
    )


def tbf(
    *, rate: str, burst: str, latency: str | None = None, limit: str | None = None, peakrate: str | None = None
) -> Section:
    """Token bucket filter: first in, first out, at a rate below the link's; up to a burst of what was not used may follow at once.

    * `rate`: The rate in the long run, in bytes of packets.
    * `burst`: What may leave at once, at the link's rate; longer packets are dropped.
    * `latency`: How long a packet waits at most: the limit is what `rate` sends in this time, and a burst.
    * `limit`: Most packets or bytes in the system.
    * `peakrate`: The rate of a burst, which is else the link's: a second bucket that holds a packet of 1500 B.
    """
    return given(
        {"kind": "tbf", "rate": rate, "burst": burst, "latency": latency, "limit": limit, "peakrate": peakrate}
    )


def drr(*, limit: str, quantum: str | None = None, queues: int | None = None) -> Section:
    """Deficit round robin: flows take turns, each with the same number of bytes (Shreedhar and Varghese 1995).

    * `limit`: Most packets or bytes in the system.
    * `quantum`: What a flow of weight 1 may send at each turn.
    * `queues`: Spread flows by a hash over so many queues; without it each flow has a queue of its own.
    """
    return given({"kind": "drr", "limit": limit, "quantum": quantum, "queues": queues})


def wfq(*, limit: str, queues: int | None = None) -> Section:
    """Weighted fair queueing, self-clocked (Golestani 1994).

    * `limit`: Most packets or bytes in the system.
    * `queues`: Spread flows by a hash over so many queues; without it each flow has a queue of its own.
    """
    return given({"kind": "wfq", "limit": limit, "queues": queues})
