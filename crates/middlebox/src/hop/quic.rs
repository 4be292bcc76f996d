//! The hop's first carrier: datagrams of one QUIC connection, without cryptography but with the sizes of TLS.

use super::tunnel::Tunnel;
use crate::base::counters;
use crate::{Data, Departure, Direction, OwnConnection, Passing, Payload};
use bytes::BytesMut;
use longhaul_hop::{Carrier, Config, ConfigError, Node};
use longhaul_segment::{Ecn, Flags, Segment, TCP_HEADER, UDP_HEADER};
use longhaul_tcp::Stats;
use longhaul_units::{ConnectionId, Instant, Random};
use std::net::SocketAddr;

/// Addresses of the two nodes, which nobody else reads.
pub const ADDRESSES: [&str; 2] = ["192.0.2.1:4433", "192.0.2.2:4433"];

pub(super) fn address(side: usize) -> SocketAddr {
    ADDRESSES[side].parse().expect("a constant")
}

counters! {
    /// What a node has done on the hop.
    struct Counts {
        long_hop_packets,
        hop_lost_packets,
        hop_parity_bytes,
        hop_restored_bytes,
        hop_acks,
        hop_overloads,
    }
}

/// One node's end.
pub(super) struct Quic {
    side: usize,
    number: ConnectionId,
    node: Node,
    datagram: Vec<u8>,
}

impl Quic {
    /// Batches of packets are not for links that carry single ones: they hold one.
    pub fn new(
        side: usize,
        number: ConnectionId,
        config: &Config,
        random: &mut Random,
    ) -> Result<Self, ConfigError> {
        let mut seed = [0; 32];
        seed.chunks_exact_mut(8).for_each(|part| part.copy_from_slice(&random.bits().to_le_bytes()));
        let config = Config { batch: 1, ..config.clone() };
        Ok(Quic { side, number, node: Node::new(config, seed, Instant::ZERO)?, datagram: vec![] })
    }
}

impl<P: Payload> Tunnel<P> for Quic {
    fn carrier(&mut self) -> &mut dyn Carrier {
        &mut self.node
    }

    fn handle_packet(&mut self, now: Instant, packet: &Passing<'_, P>) -> bool {
        let bytes = BytesMut::from(&packet.body.data().to_bytes()[..]);
        self.node.handle_datagram(now, address(1 - self.side), None, *packet.ecn as u8, bytes);
        false
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.node.handle_timeout(now);
    }

    fn poll_timeout(&mut self) -> Option<Instant> {
        self.node.poll_timeout()
    }

    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>> {
        let transmit = self.node.poll_transmit(now, &mut self.datagram)?;
        let len = self.datagram.len() as u32;
        *segment = Segment {
            flags: Flags::NONE,
            payload_len: (len + UDP_HEADER).saturating_sub(TCP_HEADER),
            ..Segment::default()
        };
        let body = P::of(len, || std::mem::take(&mut self.datagram));
        let (direction, ecn) = (Direction::BOTH[self.side], Ecn::from_bits(transmit.ecn));
        Some(Departure { port: 0, connection: self.number, direction, ecn, body })
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let stats = self.node.total_stats();
        let counts = Counts {
            long_hop_packets: stats.sent_packets,
            hop_lost_packets: stats.lost_packets,
            hop_parity_bytes: stats.parity_bytes,
            hop_restored_bytes: stats.restored_bytes,
            hop_acks: stats.acks,
            hop_overloads: stats.overloads,
        };
        counts.list()
    }

    /// The hop as a connection: bytes and packets are those of its datagrams, and its window is what its rate allows in flight. A packet
    /// that was lost counts as sent again, though parities may have restored what was in it.
    fn own_connections(&self) -> Vec<OwnConnection> {
        let of = self.node.total_stats();
        let stats = Stats {
            data_segments_sent: of.sent_packets,
            data_bytes_sent: of.sent_bytes,
            retransmitted_segments: of.lost_packets,
            rtt_samples: of.rtt_samples,
            rtt_sum: of.rtt_sum,
            ..Stats::default()
        };
        vec![OwnConnection {
            index: 0,
            port: 0,
            stats,
            cwnd: of.window,
            ssthresh: u64::MAX,
            flight: of.in_flight,
            unsent: of.queued,
            srtt: of.rtt,
        }]
    }
}
