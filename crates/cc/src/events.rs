//! What the connection reports to a policy.

use crate::Bytes;
use longhaul_units::{Duration, Instant, Rate};

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Time of arrival.
    pub now: Instant,
    /// Bytes newly acknowledged, cumulatively or by SACK.
    pub acked: Bytes,
    /// Round trip measured from this ACK, if one could be (Karn's rule).
    pub rtt: Option<Duration>,
    /// Smoothed round trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Smallest round trip seen.
    pub min_rtt: Duration,
    /// Bytes in flight after this ACK.
    pub in_flight: Bytes,
    /// Bytes in flight before this ACK.
    pub prior_in_flight: Bytes,
    /// Pacing lets the next segment leave then; `now` if it may leave at once.
    pub next_departure: Instant,
    /// Round trips completed since the connection began.
    pub round: u64,
    /// True for the first ACK of a round.
    pub round_start: bool,
    /// How fast the network delivers, if [`crate::CongestionControl::needs_delivery_rate`] requires it and this ACK shows it.
    pub delivery: Option<Delivery>,
    /// All bytes delivered so far.
    pub delivered: Bytes,
    /// All bytes so far that met congestion and were marked, as far as the peer's ECN feedback shows: exact with AccECN's option (RFC
    /// 9768) and with the echo of RFC 8257; with that of RFC 3168 all that was acknowledged while it lasted.
    pub marked: Bytes,
    /// Segments that the peer acknowledges with one ACK by agreement (the ACK Ratio of RFC 5690); 1 without.
    pub ack_ratio: u32,
    /// The sender had nothing to send, or the receiver's window was full, when the acknowledged data was sent:
    /// the window was not the limit, so it should not grow (RFC 9293, RFC 7661).
    pub app_limited: bool,
    /// Of those, the receiver's window was the limit, so that what was in flight filled it: no reason to grow, but as good a
    /// measure of delay as a full window.
    pub receiver_limited: bool,
    /// Loss recovery is under way: most policies hold their window then.
    pub in_recovery: bool,
}

/// What an ACK shows of the rate at which the network delivers: the sample `rs` of draft-ietf-ccwg-bbr-04 section 4.1.1. It
/// belongs to the most recently sent of the data that the ACK delivers.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// rs.delivery_rate; `None` if the interval was shorter than the smallest round trip and therefore shows nothing.
    pub rate: Option<Rate>,
    /// Its round trip, unless it was a retransmission. Also measured in loss recovery, where [`Ack::rtt`] is rare.
    pub rtt: Option<Duration>,
    /// rs.delivered: bytes delivered between its departure and this ACK.
    pub delivered: Bytes,
    /// rs.prior_delivered: bytes delivered in all before its departure.
    pub prior_delivered: Bytes,
    /// rs.is_app_limited: the application had left the window unused when it departed; the rate may be less than the path's.
    pub app_limited: bool,
    /// rs.newly_lost: bytes found lost by this ACK.
    pub newly_lost: Bytes,
    /// rs.lost: bytes found lost between its departure and this ACK.
    pub lost: Bytes,
    /// rs.tx_in_flight: bytes in flight right after its departure.
    pub in_flight_when_sent: Bytes,
}

/// Data found lost that had left together: the packet P of draft-ietf-ccwg-bbr-06 section 5.5.10.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Time of detection.
    pub now: Instant,
    /// Where in the stream it begins.
    pub start: Bytes,
    /// Its length.
    pub bytes: Bytes,
    /// Bytes lost since its departure, itself included.
    pub lost: Bytes,
    /// P.tx_in_flight: bytes in flight right after its departure.
    pub in_flight_when_sent: Bytes,
    /// P.is_app_limited: the application had left the window unused when it departed.
    pub app_limited: bool,
    /// All bytes delivered so far.
    pub delivered: Bytes,
}

/// Kinds of congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionKind {
    /// Loss found by duplicate ACKs or SACK.
    Loss,
    /// ECN echo (RFC 3168 section 6.1.2).
    EcnEcho,
    /// Retransmission timeout.
    Timeout,
    /// The last reduction turns out to have been for nothing: restore the window.
    Spurious,
}

/// A congestion event.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Time of detection.
    pub now: Instant,
    /// What was seen.
    pub kind: CongestionKind,
    /// FlightSize: bytes sent and not cumulatively acknowledged (RFC 5681 section 2).
    pub flight_size: Bytes,
}

/// A segment that left.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Time of departure.
    pub now: Instant,
    /// Payload bytes.
    pub bytes: Bytes,
    /// Bytes in flight, this segment included.
    pub in_flight: Bytes,
    /// True if it was sent before.
    pub retransmission: bool,
}
