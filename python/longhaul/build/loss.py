"""Loss models: what a link's `loss` is.

Made by scripts/make-settings from the schema of scenarios: not written by hand.
"""

from __future__ import annotations

from typing import Literal

from .section import Section, given


def random(*, probability: float | str, place: Literal["before_queue", "wire"] | None = None) -> Section:
    """Every packet is lost with the same probability, independently.

    * `probability`: Probability of losing a packet.
    * `place`: Where on the link.
    """
    return given({"kind": "random", "probability": probability, "place": place})


def periodic(
    *,
    every: int,
    count: int | None = None,
    first: int | None = None,
    place: Literal["before_queue", "wire"] | None = None,
) -> Section:
    """Every n-th packet is lost, as closed forms suppose it.

    * `every`: Distance between two losses in packets.
    * `count`: Most packets that are lost; without it there is no end.
    * `first`: Number of the first packet that is lost, counted from 1; if not given `every`.
    * `place`: Where on the link.
    """
    return given({"kind": "periodic", "every": every, "count": count, "first": first, "place": place})


def bit_error(*, rate: float | str, place: Literal["before_queue", "wire"] | None = None) -> Section:
    """Bits are flipped independently; a packet with a wrong bit is lost.

    * `rate`: Bit error rate.
    * `place`: Where on the link.
    """
    return given({"kind": "bit_error", "rate": rate, "place": place})


def gilbert_elliott(
    *,
    good_to_bad: float | str,
    bad_to_good: float | str,
    loss_in_bad: float | str | None = None,
    loss_in_good: float | str | None = None,
    place: Literal["before_queue", "wire"] | None = None,
) -> Section:
    """Two states, good and bad; one transition is drawn after each packet.

    * `good_to_bad`: Probability of going from good to bad (p).
    * `bad_to_good`: Probability of going from bad to good (r); the mean burst is 1/r packets.
    * `loss_in_bad`: Probability of losing a packet in the bad state (1 - h).
    * `loss_in_good`: Probability of losing a packet in the good state (1 - k).
    * `place`: Where on the link.
    """
    return given(
        {
            "kind": "gilbert_elliott",
            "good_to_bad": good_to_bad,
            "bad_to_good": bad_to_good,
            "loss_in_bad": loss_in_bad,
            "loss_in_good": loss_in_good,
            "place": place,
        }
    )


def gilbert_elliott_time(
    *,
    good: str,
    bad: str,
    loss_in_bad: float | str | None = None,
    loss_in_good: float | str | None = None,
    place: Literal["before_queue", "wire"] | None = None,
) -> Section:
    """Two states, good and bad, each for a random time.

    * `good`: Mean time in the good state.
    * `bad`: Mean time in the bad state.
    * `loss_in_bad`: Probability of losing a packet in the bad state (1 - h).
    * `loss_in_good`: Probability of losing a packet in the good state (1 - k).
    * `place`: Where on the link.
    """
    return given(
        {
            "kind": "gilbert_elliott_time",
            "good": good,
            "bad": bad,
            "loss_in_bad": loss_in_bad,
            "loss_in_good": loss_in_good,
            "place": place,
        }
    )


def four_states(
    *,
    begin: float | str,
    end: float | str,
    isolated: float | str | None = None,
    pause: float | str | None = None,
    place: Literal["before_queue", "wire"] | None = None,
    resume: float | str | None = None,
) -> Section:
    """Four states: bursts with pauses, and single losses between them, as `loss state` of netem.

    * `begin`: Probability that a burst begins (p13).
    * `end`: Probability that it ends, packet by packet (p31).
    * `isolated`: Probability that a packet is lost outside of bursts (p14); the one behind it is not.
    * `pause`: Probability that it pauses (p32).
    * `place`: Where on the link.
    * `resume`: Probability that it goes on after a pause (p23).
    """
    return given(
        {
            "kind": "four_states",
            "begin": begin,
            "end": end,
            "isolated": isolated,
            "pause": pause,
            "place": place,
            "resume": resume,
        }
    )
