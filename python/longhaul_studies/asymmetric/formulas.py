"""Limits of TCP over a fast forward link and a thin, serial return link, as the asymmetric satellite thesis derives them.

Source: C. Coetzee, On Optimizing High-Latency Asymmetric Satellite TCP/IP, Stellenbosch 1999; equation numbers are its own.
Sizes in bytes, times in seconds, rates of data in bytes per second, speeds of lines in baud. `KB` is the thesis's kB, 1024 B.

>>> round(asymmetric_limit(Line(9600)) / KB, 1), round(asymmetric_limit(Line(9600, header=7)) / KB, 1)
(65.2, 304.2)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

#: The thesis's kB; its kB/s is 1024 bytes per second.
KB = 1024.0
#: IPv4 and TCP header without options; with timestamps; with all the options that TCP can have.
HEADER, HEADER_WITH_TIMESTAMPS, LONGEST_HEADER = 40, 52, 80
#: What the thesis takes for a header after Van Jacobson compression, the worst of 5 to 7 bytes (section 5.3.2).
COMPRESSED_HEADER = 7
#: Forward segments: an MTU of 1500 bytes, less headers, less the timestamps option.
MSS, MSS_WITH_TIMESTAMPS = 1460, 1448
#: In-order segments that one delayed ACK answers (section 5.2.1).
SEGMENTS_PER_ACK = 2


@dataclass(frozen=True)
class Line:
    """A serial return line and the ACKs on it. `baud` is its speed, start and stop bits included.

    `bits_per_byte` is D (10 for 8N1), `framing` spf (2 for SLIP), `efficiency` eta (over 1 where modems compress), `header` the
    bytes of a pure ACK on the line: iph + tcph, or what compression leaves of them.
    """

    baud: float
    header: int = HEADER
    framing: int = 2
    bits_per_byte: int = 10
    efficiency: float = 1.0

    def __post_init__(self) -> None:
        """Refuses what is no line."""
        if min(self.baud, self.header, self.bits_per_byte, self.efficiency) <= 0 or self.framing < 0:
            raise ValueError(f"a line has a speed, a header, bits to a byte and an efficiency over 0: {self}")

    @property
    def bytes_per_s(self) -> float:
        """ctp = eta baud / D: bytes that the line carries in a second."""
        return self.efficiency * self.baud / self.bits_per_byte

    @property
    def ack_time(self) -> float:
        """Att = D (spf + iph + tcph) / (eta baud), equation 5.5: transmission time of a pure ACK.

        >>> round(Line(9600).ack_time * 1000, 2)
        43.75
        """
        return (self.framing + self.header) / self.bytes_per_s

    def with_header(self, header: int) -> Line:
        """The same line, where ACKs have another length."""
        return replace(self, header=header)


def window_limit(window: float, rtt: float) -> float:
    """T = recvwin / RTT, equation 5.1: one connection, whatever the links.

    >>> round(window_limit(32 * KB, 0.6) / KB, 1)
    53.3
    """
    return window / rtt


def bandwidth_delay_product(rate: float, rtt: float) -> float:
    """Bwdp = RTT x T_max, equation 5.3: the window for a rate that can be had, the asymmetric limit or a throttle.

    A larger one fills the serial queue (equation 5.4).
    """
    return rate * rtt


def asymmetric_limit(line: Line, mss: int = MSS, segments_per_ack: float = SEGMENTS_PER_ACK) -> float:
    """TP = N MSS / att, equation 5.6: the sum of all downloads whose ACKs share the line."""
    return segments_per_ack * mss / line.ack_time


def line_for(rate: float, line: Line, mss: int = MSS, segments_per_ack: float = SEGMENTS_PER_ACK) -> float:
    """Equation 5.6 solved for the speed of the line in baud that a download of this rate needs at least.

    >>> round(line_for(365_000, Line(1, header=7)))
    11250
    """
    return rate / asymmetric_limit(replace(line, baud=1.0), mss, segments_per_ack)


def header_compression_gain(header: int = HEADER, compressed: int = COMPRESSED_HEADER, framing: int = 2) -> float:
    """(spf + iph + tcph) / (spf + 7), equation 5.7: how much faster pure ACKs pass.

    >>> round(header_compression_gain(), 3)
    4.667
    """
    return (framing + header) / (framing + compressed)


def loss_of_ack_capacity(segments_per_ack: float = SEGMENTS_PER_ACK, framing: int = 2) -> float:
    """Drop of the return capacity as segments arrive out of order: an ACK each, and none of them compressed (section 6.4.1).

    >>> round(loss_of_ack_capacity(), 2)
    9.33
    """
    return segments_per_ack * header_compression_gain(framing=framing)


def ack_backbone_load(
    rate: float, mss: int = MSS, segments_per_ack: float = SEGMENTS_PER_ACK, header: int = HEADER
) -> float:
    """ACK_bw = (iph + tcph) T / (N MSS), equation 5.8: what ACKs take beyond the line, where none is compressed."""
    return header * rate / (segments_per_ack * mss)


def rate_for_backbone_load(
    load: float, mss: int = MSS, segments_per_ack: float = SEGMENTS_PER_ACK, header: int = HEADER
) -> float:
    """Equation 5.8 solved for the rate (section 8.4).

    >>> rate_for_backbone_load(5000)
    365000.0
    """
    return load * segments_per_ack * mss / header


def queue_of_duplicates(window: float, mss: int = MSS) -> int:
    """qlen_max = recvwin / MSS, equation 6.1, rounded up: packets in the serial queue after a loss, one connection.

    >>> queue_of_duplicates(250 * KB)
    176
    """
    return math.ceil(window / mss)


def queue_of_all(rtt: float, rate: float, mss: int = MSS) -> int:
    """qlen_max = RTT T_limit / MSS, equation 6.2, rounded up: all connections of a client lose at once.

    >>> queue_of_all(1.0, 304 * KB), queue_of_all(0.6, 417.3 * KB)
    (214, 176)
    """
    return math.ceil(rtt * rate / mss)


def clearing_time(packets: float, line: Line) -> float:
    """Qtime, equation 6.3: how long the line needs for so many packets with headers of this length.

    >>> round(clearing_time(214, Line(9600, header=LONGEST_HEADER)), 1)
    18.3
    """
    return packets * line.ack_time


def rate_for_clearing_time(time: float, rtt: float, line: Line, mss: int = MSS) -> float:
    """Equation 6.3 solved for the rate, without rounding packets (section 8.5).

    >>> round(rate_for_clearing_time(5, 0.6, Line(28800, header=LONGEST_HEADER)))
    427317
    """
    return time * mss / (rtt * line.ack_time)


def slow_start_time(
    window: float, rtt: float, initial: float, mss: int = MSS, rounds_per_doubling: float = 1.0
) -> float:
    """t = n RTT log2(W_F / W_I), equation 7.1. `initial` in packets; n is 1 with an ACK for every segment, 2 with delayed ACKs.

    >>> round(slow_start_time(250 * KB, 0.6, 2), 1)
    3.9
    """
    return rounds_per_doubling * rtt * max(0.0, math.log2(window / mss / initial))


def compaction_limit(
    acks: int,
    line: Line,
    record: int = 2,
    mss: int = MSS,
    segments_per_ack: float = SEGMENTS_PER_ACK,
    carrier: int = 28,
) -> float:
    """Download that the line allows where ACKs cross in batches of so many: one in full, a record of 2 or 4 bytes for each other.

    The thesis gives the lengths (its appendix A.2); `carrier` is the tunnel's header, 28 bytes for UDP over IPv4.

    >>> [round(compaction_limit(k, Line(9600)) / KB) for k in (1, 5, 10, 20)]
    [39, 175, 311, 507]
    """
    length = line.framing + carrier + HEADER + record * (acks - 1)
    return acks * segments_per_ack * mss / (length / line.bytes_per_s)
