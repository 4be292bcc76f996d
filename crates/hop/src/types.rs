//! What goes into a node and comes out of it.

use bytes::Bytes;
use longhaul_units::{Duration, Rate};
use std::net::{IpAddr, SocketAddr};

/// A connection to another node; a new one has a new number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeerId(pub(crate) u64);

/// A flow of a node: a pair of byte streams, one each way. Numbers are never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowId(pub(crate) u64);

/// Numbers of a [`crate::Pool`] begin here, so that no flow or peer of the other carrier has the same.
pub(crate) const POOLED: u64 = 1 << 62;

impl PeerId {
    /// True for one of a [`crate::Pool`].
    pub fn is_pooled(self) -> bool {
        self.0 >= POOLED
    }

    /// Its number, from 0.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl FlowId {
    /// True for one of a [`crate::Pool`].
    pub fn is_pooled(self) -> bool {
        self.0 >= POOLED
    }

    /// Its number, from 0.
    pub fn number(self) -> u64 {
        self.0
    }
}

/// What the opening of a flow carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Open {
    /// Address and port of the client.
    pub source: SocketAddr,
    /// Address and port that it requests; of the same family as the source.
    pub destination: SocketAddr,
    /// Differentiated services code point of the client's packets, 0 to 63.
    pub dscp: u8,
    /// Share of the link against other flows with something to send: a flow of priority p gets 1 + p parts, 0 to 7.
    pub priority: u8,
    /// The opener waits for [`Event::Accepted`] or [`Event::Refused`] before it answers its client. Data may be written before.
    pub confirm: bool,
}

/// Why a flow cannot be opened now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// There is no such peer, or it is not up.
    #[error("the hop is not up")]
    Down,
    /// As many flows are open as either node allows.
    #[error("as many flows are open as the hop allows")]
    TooMany,
    /// A field of [`Open`] is out of its range, or the addresses are of two families.
    #[error("the opening of a flow has an address, DSCP or priority that cannot be")]
    Malformed,
}

/// Why a flow ended before its end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ResetCode {
    /// The connection at its other end was reset.
    Reset,
    /// Nobody listens at the destination.
    ConnectionRefused,
    /// The destination did not answer in time.
    TimedOut,
    /// No route to the destination, or it is not reachable.
    Unreachable,
    /// The peer's rules forbid it.
    Denied,
    /// The peer has no memory, port or descriptor left.
    NoResources,
    /// The node was closed.
    Closing,
    /// The hop was lost.
    HopDown,
    /// The peer does not do what is requested; there may be another way.
    NotOffered,
    /// A code of a later version.
    Other(u32),
}

impl ResetCode {
    pub(crate) fn number(self) -> u32 {
        match self {
            ResetCode::Reset => 0,
            ResetCode::ConnectionRefused => 1,
            ResetCode::TimedOut => 2,
            ResetCode::Unreachable => 3,
            ResetCode::Denied => 4,
            ResetCode::NoResources => 5,
            ResetCode::Closing => 6,
            ResetCode::HopDown => 7,
            ResetCode::NotOffered => 8,
            ResetCode::Other(number) => number,
        }
    }

    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            0 => ResetCode::Reset,
            1 => ResetCode::ConnectionRefused,
            2 => ResetCode::TimedOut,
            3 => ResetCode::Unreachable,
            4 => ResetCode::Denied,
            5 => ResetCode::NoResources,
            6 => ResetCode::Closing,
            7 => ResetCode::HopDown,
            8 => ResetCode::NotOffered,
            other => ResetCode::Other(u32::try_from(other).unwrap_or(u32::MAX)),
        }
    }
}

/// What a node reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// QUIC's handshake is complete: flows can be opened ahead of the peer's hello, which spares a round trip. If the peer then
    /// turns this node away, they are reset.
    Connected {
        /// With whom.
        peer: PeerId,
    },
    /// A peer has shown who it is and which version it has: flows can be opened.
    Up {
        /// Which.
        peer: PeerId,
        /// Its raw public key (Ed25519), without which there is none: of the null session.
        key: Option<[u8; 32]>,
        /// Version of the hop's protocol that both have.
        version: u16,
        /// Its UDP address.
        address: SocketAddr,
    },
    /// A peer is gone. Its flows are reset, each with an event of its own before this one. A terminal tries again by itself.
    Down {
        /// Which.
        peer: PeerId,
        /// Why.
        reason: String,
    },
    /// The peer has opened a flow. Its data can be read at once; [`crate::Node::accept`] or [`crate::Node::refuse`] answers.
    Opened {
        /// Which flow.
        flow: FlowId,
        /// By whom.
        peer: PeerId,
        /// For what.
        open: Open,
    },
    /// The peer has accepted a flow whose opener waits for that.
    Accepted {
        /// Which flow.
        flow: FlowId,
    },
    /// The peer has refused a flow; it is over.
    Refused {
        /// Which flow.
        flow: FlowId,
        /// Why.
        reason: ResetCode,
    },
    /// Data wait to be read; reported once, until a read finds nothing more.
    Readable {
        /// Which flow.
        flow: FlowId,
    },
    /// A flow that took less than it was offered takes data again.
    Writable {
        /// Which flow.
        flow: FlowId,
    },
    /// All bytes of the peer were read, and it has ended its direction cleanly.
    Finished {
        /// Which flow.
        flow: FlowId,
    },
    /// The peer has all bytes and the end of this node's direction, or the reset behind them ([`crate::Node::reset_behind`]).
    Delivered {
        /// Which flow.
        flow: FlowId,
    },
    /// A hub has set other bounds ([`Bounds`]) for this terminal.
    Bounded {
        /// Which hub.
        peer: PeerId,
    },
    /// The flow is over in both directions, and bytes may be missing.
    Reset {
        /// Which flow.
        flow: FlowId,
        /// Why.
        code: ResetCode,
        /// Bytes that this node's owner has written and the peer has not reported as read: all that may be missing there.
        undelivered: u64,
    },
}

/// What a hub grants a terminal; nodes of earlier releases are not bound by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Flows that the terminal should have open at a time over all carriers, 1 and more: [`PeerStats::max_flows`] follows it. The hub
    /// may refuse others.
    pub flows: Option<u32>,
    /// The terminal never sends faster.
    pub rate: Option<Rate>,
}

/// One or several UDP datagrams to send. Their payload fills the buffer given to [`crate::Node::poll_transmit`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// Where to.
    pub to: SocketAddr,
    /// Source address, if it matters.
    pub from: Option<IpAddr>,
    /// Bytes of payload of all datagrams.
    pub len: usize,
    /// Bytes of each datagram but the last, if there are several (UDP_SEGMENT).
    pub segment_size: Option<usize>,
    /// ECN field of the IP header: 0, or 2 for ECT(0).
    pub ecn: u8,
}

/// Bytes of all flows of a node, each direction as this node counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Ledger {
    /// Taken by [`crate::Node::write`].
    pub written: u64,
    /// Of these, the peer's owner has read.
    pub delivered: u64,
    /// Of these, neither read nor given up: with this node, on the way, or with the peer.
    pub held: u64,
    /// Of these, given up: the owner was notified by a reset.
    pub lost: u64,
    /// Given out by [`crate::Node::read`].
    pub read: u64,
    /// Received and not yet read.
    pub unread: u64,
    /// Received and thrown away because the flow was reset.
    pub discarded: u64,
}

impl std::ops::Add for Ledger {
    type Output = Ledger;

    fn add(self, other: Ledger) -> Ledger {
        Ledger {
            written: self.written + other.written,
            delivered: self.delivered + other.delivered,
            held: self.held + other.held,
            lost: self.lost + other.lost,
            read: self.read + other.read,
            unread: self.unread + other.unread,
            discarded: self.discarded + other.discarded,
        }
    }
}

/// Measurements of the hop to one peer.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct PeerStats {
    /// Round trip of the newest acknowledged packet.
    pub rtt: Duration,
    /// Round trip without queues.
    pub base_rtt: Duration,
    /// Rate of the sender.
    pub rate: Rate,
    /// Share of packets lost without overload, 0 to 1.
    pub loss: f64,
    /// Mean number of packets lost in a row.
    pub burst: f64,
    /// Bytes that wait in this node.
    pub queued: u64,
    /// Bytes received in order that the owner has not read.
    pub readable: u64,
    /// Time since the beginning in which more was there to be sent than the path took, that is, than the rate controller let leave
    /// below its bound. What waits for credit, for the ceiling of its class or of its node, or for other peers does not count.
    pub waited: Duration,
    /// The same of the peer, a hub, as it has reported it; zero for one of an earlier release.
    pub peer_waited: Duration,
    /// Bytes of packets in flight.
    pub in_flight: u64,
    /// Most bytes that the rate allows in flight.
    pub window: u64,
    /// Most bytes of one flow that may be under way or unread: the smaller of both nodes' credits.
    pub credit: u64,
    /// Sum of the round trips of all ACKs, and how many there were.
    pub rtt_sum: Duration,
    /// See [`PeerStats::rtt_sum`].
    pub rtt_samples: u64,
    /// UDP datagrams sent, and their payload in bytes.
    pub sent_packets: u64,
    /// See [`PeerStats::sent_packets`].
    pub sent_bytes: u64,
    /// UDP datagrams received.
    pub received_packets: u64,
    /// See [`PeerStats::received_packets`].
    pub received_bytes: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// Bytes of parities sent.
    pub parity_bytes: u64,
    /// Bytes that parities received have restored.
    pub restored_bytes: u64,
    /// ACK frames sent.
    pub acks: u64,
    /// Flows open.
    pub flows: u32,
    /// Flows that there may be at a time: the smaller bound of both nodes.
    pub max_flows: u32,
    /// Flows over all carriers that the peer, a hub, permits this terminal, if it has sent [`Bounds`].
    pub bound: Option<u32>,
    /// Rate that the peer, a hub, has set for this terminal in both directions, if it has ([`Bounds`]); over QUIC.
    pub bound_rate: Option<Rate>,
    /// Times that the rate was cut for overload.
    pub overloads: u64,
    /// Where it is now, over QUIC: a peer may move (RFC 9000, section 9).
    pub address: Option<SocketAddr>,
    /// UDP payload of a full packet in bytes: less than [`crate::Config::mtu`] where larger ones do not arrive, 0 over TCP.
    pub mtu: u16,
}

impl PeerStats {
    /// The same with the counters of an earlier peer added.
    #[must_use]
    pub(crate) fn after(self, past: &PeerStats) -> PeerStats {
        PeerStats {
            rtt_sum: self.rtt_sum + past.rtt_sum,
            rtt_samples: self.rtt_samples + past.rtt_samples,
            sent_packets: self.sent_packets + past.sent_packets,
            sent_bytes: self.sent_bytes + past.sent_bytes,
            received_packets: self.received_packets + past.received_packets,
            received_bytes: self.received_bytes + past.received_bytes,
            lost_packets: self.lost_packets + past.lost_packets,
            parity_bytes: self.parity_bytes + past.parity_bytes,
            restored_bytes: self.restored_bytes + past.restored_bytes,
            acks: self.acks + past.acks,
            overloads: self.overloads + past.overloads,
            ..self
        }
    }
}

/// A chunk of a stream, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub offset: u64,
    pub bytes: Bytes,
}
