//! What the owner of flows needs of whatever carries them.

use crate::types::{Event, FlowId, Ledger, Open, PeerId, PeerStats, Refusal, ResetCode};
use crate::{Node, Pool};
use bytes::Bytes;
use longhaul_units::Instant;

/// Carries the bytes of flows to other nodes: [`Node`] over one QUIC connection, [`Pool`] over several TCP connections. How their
/// packets and bytes come and go is each one's own matter. Numbers of flows and peers are unique
/// over both.
pub trait Carrier {
    /// Opens a flow.
    ///
    /// # Errors
    /// Why not.
    fn open(&mut self, now: Instant, peer: PeerId, open: Open) -> Result<FlowId, Refusal>;
    /// Accepts a flow that the peer has opened; needed where [`Open::confirm`] is set.
    fn accept(&mut self, flow: FlowId);
    /// Refuses a flow that the peer has opened; it is over.
    fn refuse(&mut self, now: Instant, flow: FlowId, reason: ResetCode);
    /// Takes bytes of a flow from the front of `bytes`, without copying, and returns how many; what is left waits for
    /// [`Event::Writable`].
    fn write(&mut self, now: Instant, flow: FlowId, bytes: &mut Bytes) -> usize;
    /// Bytes that [`Carrier::write`] would take.
    fn writable(&self, flow: FlowId) -> usize;
    /// The next bytes of a flow in order, at most `most`; `None` if there are none at present.
    fn read(&mut self, now: Instant, flow: FlowId, most: usize) -> Option<Bytes>;
    /// Copies the next bytes of a flow in order, as many as there are and fit; returns how many.
    fn read_into(&mut self, now: Instant, flow: FlowId, room: &mut [u8]) -> usize;
    /// Ends this node's direction of a flow after what was written.
    fn finish(&mut self, now: Instant, flow: FlowId);
    /// Gives up a flow in both directions.
    fn reset(&mut self, now: Instant, flow: FlowId, code: ResetCode);
    /// Gives up a flow in both directions; the peer's owner reads what was written before it is notified. Then [`Event::Delivered`]
    /// comes.
    fn reset_behind(&mut self, now: Instant, flow: FlowId, code: ResetCode);
    /// Bytes that were written to a flow, and that the peer has not reported as read.
    fn undelivered(&self, flow: FlowId) -> u64;
    /// Closes all connections.
    fn close(&mut self, now: Instant);
    /// The next event.
    fn poll_event(&mut self) -> Option<Event>;
    /// Bytes of all flows since the beginning.
    fn ledger(&self) -> Ledger;
    /// Measurements of the way to a peer.
    fn stats(&self, peer: PeerId) -> Option<PeerStats>;
}

impl Carrier for Node {
    fn open(&mut self, now: Instant, peer: PeerId, open: Open) -> Result<FlowId, Refusal> {
        self.open(now, peer, open)
    }
    fn accept(&mut self, flow: FlowId) {
        self.accept(flow);
    }
    fn refuse(&mut self, now: Instant, flow: FlowId, reason: ResetCode) {
        self.refuse(now, flow, reason);
    }
    fn write(&mut self, now: Instant, flow: FlowId, bytes: &mut Bytes) -> usize {
        self.write(now, flow, bytes)
    }
    fn writable(&self, flow: FlowId) -> usize {
        self.writable(flow)
    }
    fn read(&mut self, now: Instant, flow: FlowId, most: usize) -> Option<Bytes> {
        self.read(now, flow, most)
    }
    fn read_into(&mut self, now: Instant, flow: FlowId, room: &mut [u8]) -> usize {
        self.read_into(now, flow, room)
    }
    fn finish(&mut self, now: Instant, flow: FlowId) {
        self.finish(now, flow);
    }
    fn reset(&mut self, now: Instant, flow: FlowId, code: ResetCode) {
        self.reset(now, flow, code);
    }
    fn reset_behind(&mut self, now: Instant, flow: FlowId, code: ResetCode) {
        self.reset_behind(now, flow, code);
    }
    fn undelivered(&self, flow: FlowId) -> u64 {
        self.undelivered(flow)
    }
    fn close(&mut self, now: Instant) {
        self.close(now);
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.poll_event()
    }
    fn ledger(&self) -> Ledger {
        self.ledger()
    }
    fn stats(&self, peer: PeerId) -> Option<PeerStats> {
        self.stats(peer)
    }
}

impl Carrier for Pool {
    fn open(&mut self, _now: Instant, peer: PeerId, open: Open) -> Result<FlowId, Refusal> {
        self.open(peer, open)
    }
    fn accept(&mut self, flow: FlowId) {
        self.accept(flow);
    }
    fn refuse(&mut self, _now: Instant, flow: FlowId, reason: ResetCode) {
        self.refuse(flow, reason);
    }
    fn write(&mut self, now: Instant, flow: FlowId, bytes: &mut Bytes) -> usize {
        self.write(now, flow, bytes)
    }
    fn writable(&self, flow: FlowId) -> usize {
        self.writable(flow)
    }
    fn read(&mut self, _now: Instant, flow: FlowId, most: usize) -> Option<Bytes> {
        self.read(flow, most)
    }
    fn read_into(&mut self, _now: Instant, flow: FlowId, room: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < room.len() {
            let Some(bytes) = self.read(flow, room.len() - filled) else { break };
            room[filled..filled + bytes.len()].copy_from_slice(&bytes);
            filled += bytes.len();
        }
        filled
    }
    fn finish(&mut self, now: Instant, flow: FlowId) {
        self.finish(now, flow);
    }
    fn reset(&mut self, _now: Instant, flow: FlowId, code: ResetCode) {
        self.reset(flow, code);
    }
    fn reset_behind(&mut self, _now: Instant, flow: FlowId, code: ResetCode) {
        self.reset_behind(flow, code);
    }
    fn undelivered(&self, flow: FlowId) -> u64 {
        self.undelivered(flow)
    }
    fn close(&mut self, _now: Instant) {
        self.close();
    }
    fn poll_event(&mut self) -> Option<Event> {
        self.poll_event()
    }
    fn ledger(&self) -> Ledger {
        self.ledger()
    }
    fn stats(&self, peer: PeerId) -> Option<PeerStats> {
        self.stats(peer)
    }
}
