"""Slow starts: what `tcp.slow_start` is.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from typing import Literal

from .section import Section, given


def standard(
    *,
    counting: Literal["acks", "bytes"] | None = None,
    limit: int | None = None,
    limit_after_timeout: int | None = None,
) -> Section:
    """Doubles the window each round trip until ssthresh or congestion (RFC 5681, RFC 3465).

    * `counting`: What an ACK counts for: the bytes that it covers, at most `limit` segments, or one segment whatever it covers.
    * `limit`: L of RFC 3465: the most that one ACK may add when counting bytes; 1 as in RFC 5681, 2 the most that RFC 3465 allows, more as some stacks do.
    * `limit_after_timeout`: The same after a timeout, where an ACK may cover what had arrived long before: 1 (RFC 3465 section 2.3).
    """
    return given({"kind": "standard", "counting": counting, "limit": limit, "limit_after_timeout": limit_after_timeout})


def limited(
    *,
    counting: Literal["acks", "bytes"] | None = None,
    form: Literal["ns2", "rfc"] | None = None,
    limit: int | None = None,
    max_ssthresh: str | None = None,
) -> Section:
    """Slow start that adds at most max_ssthresh / 2 per round trip above max_ssthresh (RFC 3742).

    * `counting`: What an ACK counts for: one segment as in RFC 3742, or the bytes that it covers, at most `limit` segments.
    * `form`: Whose rule: the RFC's, or ns-2's, which goes on above ssthresh until the first cut.
    * `limit`: The most that one ACK may count for when counting bytes (L of RFC 3465).
    * `max_ssthresh`: Window from which growth is limited, in packets of one MSS or in bytes; RFC 3742 recommends 100 packets.
    """
    return given({"kind": "limited", "counting": counting, "form": form, "limit": limit, "max_ssthresh": max_ssthresh})


def hystart_pp(
    *,
    css_growth_divisor: int | None = None,
    css_rounds: int | None = None,
    limit: int | None = None,
    max_rtt_thresh: str | None = None,
    min_rtt_divisor: int | None = None,
    min_rtt_thresh: str | None = None,
    n_rtt_sample: int | None = None,
) -> Section:
    """Leaves the first slow start when the round trip time rises, by way of a slower phase (RFC 9406).

    * `css_growth_divisor`: CSS_GROWTH_DIVISOR: by how much CSS is slower than slow start.
    * `css_rounds`: CSS_ROUNDS: rounds after which congestion avoidance follows CSS.
    * `limit`: L: the most that one ACK may add; without effect if the sender paces (RFC 9406: infinite then).
    * `max_rtt_thresh`: MAX_RTT_THRESH: the threshold is never larger.
    * `min_rtt_divisor`: MIN_RTT_DIVISOR: the rise that counts, as a fraction of the last round's least round trip time.
    * `min_rtt_thresh`: MIN_RTT_THRESH: no smaller rise of the round trip time counts.
    * `n_rtt_sample`: N_RTT_SAMPLE: samples that a round must have before it is evaluated.
    """
    return given(
        {
            "kind": "hystart++",
            "css_growth_divisor": css_growth_divisor,
            "css_rounds": css_rounds,
            "limit": limit,
            "max_rtt_thresh": max_rtt_thresh,
            "min_rtt_divisor": min_rtt_divisor,
            "min_rtt_thresh": min_rtt_thresh,
            "n_rtt_sample": n_rtt_sample,
        }
    )


def hystart(
    *,
    ack_delta: str | None = None,
    ack_train: bool | None = None,
    delay: bool | None = None,
    delay_max: str | None = None,
    delay_min: str | None = None,
    host_delay: str | None = None,
    low_window: int | None = None,
    samples: int | None = None,
) -> Section:
    """Leaves slow start upon a long train of ACKs or a rise of the round trip time (Ha and Rhee 2011; Linux 6.1).

    * `ack_delta`: Hystart_ack_delta: ACKs with no larger gaps are a train.
    * `ack_train`: Look at ACK trains.
    * `delay`: Look at the round trip time.
    * `delay_max`: HYSTART_DELAY_MAX: the threshold is never larger.
    * `delay_min`: HYSTART_DELAY_MIN: no smaller rise of the round trip counts.
    * `host_delay`: What the sending host may hold segments back, which an ACK train is allowed beyond the round trip.
    * `low_window`: Hystart_low_window: below this window nothing is looked at.
    * `samples`: HYSTART_MIN_SAMPLES: round trips of a round that are looked at.
    """
    return given(
        {
            "kind": "hystart",
            "ack_delta": ack_delta,
            "ack_train": ack_train,
            "delay": delay,
            "delay_max": delay_max,
            "delay_min": delay_min,
            "host_delay": host_delay,
            "low_window": low_window,
            "samples": samples,
        }
    )


def packet_pair(
    *,
    filter: Literal["least", "mean", "median"] | None = None,
    probes: int | None = None,
    retries: int | None = None,
    side: Literal["receiver", "sender"] | None = None,
    size: str | None = None,
    timeout: str | None = None,
) -> Section:
    """Probes the bottleneck's rate with packets back to back; ssthresh = rate * RTT (Keshav 1991, Hoe 1996).

    * `filter`: Which gap of a train counts: the median, the mean, or the least.
    * `probes`: Probes that leave back to back: 2 for a pair, 10 to 15 for a train.
    * `retries`: How often the probes are sent again. 0 is the strict mode of the thesis: after a lost probe, or with a rate below STTP's rho_fail, the connection is given up.
    * `side`: Where gaps are measured.
    * `size`: Length of each probe on the wire, up to 1000 bytes; one that carries options may be longer.
    * `timeout`: A probe without an echo is lost after so long; doubled with each retry.
    """
    return given(
        {
            "kind": "packet_pair",
            "filter": filter,
            "probes": probes,
            "retries": retries,
            "side": side,
            "size": size,
            "timeout": timeout,
        }
    )


def search(
    *,
    bins: int | None = None,
    drain: bool | None = None,
    extra_bins: int | None = None,
    threshold: float | None = None,
    window: float | None = None,
) -> Section:
    """Leaves slow start when less is delivered than was sent a round trip before, and empties the queue (draft-chung-ccwg-search-09).

    * `bins`: W: into how many bins that is divided; each is looked at when it ends.
    * `drain`: Empties the queue that has built up, down to what was delivered in the last initial round trip, before slow start is over.
    * `extra_bins`: EXTRA_BINS: so many bins more are kept, for round trips that have become longer than the initial one.
    * `threshold`: THRESH: share of what was sent that is missing in what is delivered when slow start ends.
    * `window`: WINDOW_SIZE: over how many initial round trips sent and delivered bytes are counted.
    """
    return given(
        {
            "kind": "search",
            "bins": bins,
            "drain": drain,
            "extra_bins": extra_bins,
            "threshold": threshold,
            "window": window,
        }
    )
