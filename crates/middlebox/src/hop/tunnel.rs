//! What carries the flows between the two nodes, in packets.

use crate::{Departure, OwnConnection, Passing, Payload};
use longhaul_hop::Carrier;
use longhaul_segment::Segment;
use longhaul_units::Instant;

/// A carrier and its packets. After each input the owner takes what [`Tunnel::transmit_into`] gives until it gives nothing.
pub trait Tunnel<P: Payload>: Send {
    /// Flows and what happens to them.
    fn carrier(&mut self) -> &mut dyn Carrier;
    /// A packet of the other node has come. True if it is answered with a reset: its connection is unknown.
    fn handle_packet(&mut self, now: Instant, packet: &Passing<'_, P>) -> bool;
    /// The time that [`Tunnel::poll_timeout`] returned has come.
    fn handle_timeout(&mut self, now: Instant);
    /// When it next needs [`Tunnel::handle_timeout`].
    fn poll_timeout(&mut self) -> Option<Instant>;
    /// Writes the next packet that is to leave into `segment`, if there is one.
    fn transmit_into(&mut self, now: Instant, segment: &mut Segment) -> Option<Departure<P>>;
    /// Everything that it counts, by the name of the metric.
    fn counters(&self) -> Vec<(&'static str, u64)>;
    /// The connections between the nodes.
    fn own_connections(&self) -> Vec<OwnConnection>;
}
