//! When parities are sent and what becomes of those that come: the part of a peer around [`crate::coding`].
//!
//! Parities cost capacity and spare a round trip. So they are sent for the beginning of a transfer, where it is not clear how
//! soon it will end, and for its last bytes; and while several flows fill the link, only for those that have sent little.

use crate::coding::{Datagram, Encoder, LinkLoss};
use crate::config::{Coding, Config};
use crate::flow::{Flow, Outgoing, Phase};
use crate::peer::{Context, Peer, State, number};
use crate::types::{FlowId, Piece};
use crate::wire::ParityHead;
use longhaul_units::{Duration, Instant, Rate, Size};
use quinn_proto::{Connection, Dir, StreamId, VarInt};
use std::collections::{BTreeSet, VecDeque};

/// Bytes of a block at most: some thousand packets.
const MOST_BLOCK: u64 = 1_400_000;
/// And at least, where the rate is low.
const LEAST_BLOCK: u64 = 64 << 10;
/// Below this loss there are no parities.
const LEAST_LOSS: f64 = 5e-5;
/// Flows that may have something to send while parities are sent for large transfers.
const FEW: usize = 3;
/// A block that is not full waits for more so long at least.
const PATIENCE: Duration = Duration::from_millis(2);

/// Parities of a peer.
#[derive(Default)]
pub struct Parity {
    waiting: VecDeque<Datagram>,
    flushes: BTreeSet<(Instant, u64)>,
    /// Streams of the peer of which parities, or a reset, came before anything else.
    pub early: BTreeSet<u64>,
    /// Bytes kept of all flows.
    history: u64,
    pub sent_bytes: u64,
    pub restored_bytes: u64,
}

/// What is coded at present.
pub struct Plan {
    on: bool,
    link: LinkLoss,
    rate: Rate,
    /// Bytes of a bandwidth-delay product.
    product: u64,
    payload: u64,
}

impl Plan {
    /// Whether what a flow sends now is coded, while so many others wait.
    pub fn codes(&self, out: &Outgoing, others: usize) -> bool {
        self.on
            && (out.turn.is_young()
                || (others <= FEW && (self.beginning(out) > 0 || self.before_end(out) == Some(0))))
    }

    /// How many bytes of a flow alone are coded as the next one is, or not, and belong to the same block.
    pub fn alike(&self, out: &Outgoing) -> u64 {
        if !self.codes(out, 0) {
            return match out.encoder.length() {
                0 if self.on => self.before_end(out).unwrap_or(u64::MAX),
                0 => u64::MAX,
                _ => 0,
            };
        }
        let coded = match self.before_end(out) {
            Some(0) => u64::MAX,
            _ => self.beginning(out).max(out.turn.young_for()),
        };
        coded.min(self.block().saturating_sub(out.encoder.length()))
    }

    /// Bytes that still belong to the beginning of a transfer.
    fn beginning(&self, out: &Outgoing) -> u64 {
        (3 * self.product).saturating_sub(out.turn.attained())
    }

    /// Bytes before the last ones of a transfer, if its end is in sight.
    fn before_end(&self, out: &Outgoing) -> Option<u64> {
        let last = 2 * self.product + self.product / 2;
        matches!(out.phase, Phase::Ending | Phase::Leaving).then(|| (out.queued + 1).saturating_sub(last))
    }

    fn block(&self) -> u64 {
        (self.product / 4).clamp(LEAST_BLOCK, MOST_BLOCK)
    }
}

impl Parity {
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn next_flush(&self) -> Option<Instant> {
        self.flushes.first().map(|(at, _)| *at)
    }

    /// True if the next datagram waits until all that was handed to quinn-proto has left.
    pub fn waits_for_data(&self) -> bool {
        self.waiting.front().is_some_and(|datagram| datagram.alone)
    }

    /// Hands the next datagram to quinn-proto; its length.
    pub fn send(&mut self, connection: &mut Connection) -> Option<u64> {
        let datagram = self.waiting.pop_front()?.bytes;
        let length = datagram.len() as u64;
        // One that is refused is not missed: the data will be sent again.
        if connection.datagrams().send(datagram, false).is_ok() {
            self.sent_bytes += length;
        }
        Some(length)
    }

    /// A flow has had its turn.
    pub fn after_feed(&mut self, now: Instant, key: u64, out: &mut Outgoing, codes: bool, plan: &Plan) {
        if let Some(at) = out.flush_at.take() {
            self.flushes.remove(&(at, key));
        }
        if out.encoder.length() == 0 {
            return;
        }
        let ends = out.ended && out.queued == 0;
        // What was sent after coding was switched off is not in the block: the stream does not end where the block ends.
        let last = ends && out.encoder.end() == out.fed;
        if !codes || ends || out.encoder.length() >= plan.block() {
            self.close(key, &mut out.encoder, last, plan);
        } else if out.queued == 0 {
            let four = plan.rate.transmission_time(Size::from_bytes(4 * plan.payload));
            let at = now + four.max(PATIENCE);
            out.flush_at = Some(at);
            self.flushes.insert((at, key));
        }
    }

    fn close(&mut self, key: u64, encoder: &mut Encoder, last: bool, plan: &Plan) {
        if plan.on {
            self.waiting.extend(encoder.close(key, last, plan.link, plan.payload));
        } else {
            encoder.clear();
        }
    }

    /// A piece of a stream has come; returns the new bytes, restored ones included.
    pub fn receive(&mut self, config: &Config, flow: &mut Flow, piece: Piece) -> u64 {
        if config.coding == Coding::Off || flow.into.phase == Phase::Over {
            return flow.into.insert(piece);
        }
        let before = flow.into.decoder.bytes();
        let restored = flow.into.decoder.received(piece.offset, piece.bytes.clone());
        let new = flow.into.insert(piece) + self.insert(flow, restored);
        self.history = self.history + flow.into.decoder.bytes() - before;
        if self.history > config.memory / 8 {
            self.forget(flow);
        }
        new
    }

    fn insert(&mut self, flow: &mut Flow, restored: Vec<Piece>) -> u64 {
        let new = restored.into_iter().map(|piece| flow.into.insert(piece)).sum();
        self.restored_bytes += new;
        new
    }

    /// Drops what is kept of a flow.
    pub fn forget(&mut self, flow: &mut Flow) {
        self.history -= flow.into.decoder.bytes();
        let end = flow.into.reassembly.highest();
        flow.into.decoder.finish_until(end);
        self.history += flow.into.decoder.bytes();
        if let Some(at) = flow.out.flush_at.take() {
            self.flushes.retain(|flush| flush.0 != at || flush.1 != number(flow.stream));
        }
    }
}

impl Peer {
    /// What is to be coded, by what is known of the link.
    pub fn coding_plan(&mut self) -> Plan {
        let payload = self.connection.datagrams().max_size().unwrap_or(0) as u64;
        let core = self.shared.lock();
        let link = LinkLoss { loss: core.controller.random_loss(), burst: core.controller.burst() };
        let rate = core.controller.rate();
        let product = rate.bytes_in(core.controller.base_rtt()).as_bytes();
        let on = self.config.coding == Coding::Adaptive && link.loss >= LEAST_LOSS && payload >= 1000;
        Plan { on, link, rate, product, payload }
    }

    /// Blocks that waited for more get their parities.
    pub fn flush_blocks(&mut self, now: Instant) {
        while let Some((at, key)) = self.parity.flushes.first().copied().filter(|(at, _)| *at <= now) {
            self.parity.flushes.remove(&(at, key));
            let plan = self.coding_plan();
            let Some(flow) = self.flows.get_mut(&key) else { continue };
            flow.out.flush_at = None;
            self.parity.close(key, &mut flow.out.encoder, false, &plan);
            self.dirty = true;
        }
    }

    /// Parities have come.
    pub fn receive_parities(&mut self, context: &mut Context<'_>) {
        while let Some(datagram) = self.connection.datagrams().recv() {
            let Some((head, symbols)) = ParityHead::read(&datagram) else { continue };
            if self.config.coding == Coding::Off || self.state != State::Up || !self.find_or_open(&head) {
                continue;
            }
            let symbols = datagram.slice(datagram.len() - symbols.len()..);
            let Some(flow) = self.flows.get_mut(&head.stream) else { continue };
            let limit = flow.into.reported + self.config.credit.max(4 * crate::FLOOR);
            if flow.into.phase == Phase::Over || head.start + head.length > limit {
                continue;
            }
            let before = flow.into.decoder.bytes();
            let next = flow.into.reassembly.next();
            let restored = flow.into.decoder.parities(head, &symbols, next);
            self.held += self.parity.insert(flow, restored);
            self.parity.history = self.parity.history + flow.into.decoder.bytes() - before;
            if head.last && flow.into.end.is_none() {
                flow.into.end = Some(head.start + head.length);
            }
            self.after_data(head.stream, context);
        }
    }

    /// A flow of the peer may show itself by parities, if the packet that opens it is lost.
    fn find_or_open(&mut self, head: &ParityHead) -> bool {
        self.flows.contains_key(&head.stream) || (head.start == 0 && self.open_early(head.stream))
    }

    /// A flow of the peer that QUIC has not shown; false if it cannot be one.
    pub fn open_early(&mut self, stream: u64) -> bool {
        let Ok(id) = VarInt::from_u64(stream) else { return false };
        let id = StreamId::from(id);
        let fresh = id.dir() == Dir::Bi
            && id.initiator() != self.connection.side()
            && id.index() >= self.accepted
            && id.index() < self.accepted + u64::from(self.config.max_flows)
            && !self.parity.early.contains(&stream);
        if fresh {
            self.parity.early.insert(stream);
            self.flows.insert(stream, Flow::new(FlowId(u64::MAX), id, true, None));
        }
        fresh
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use longhaul_units::Duration;

    fn plan() -> Plan {
        let rate = Rate::from_bps(50_000_000);
        let product = rate.bytes_in(Duration::from_millis(600)).as_bytes();
        Plan { on: true, link: LinkLoss { loss: 0.01, burst: 1.0 }, rate, product, payload: 1400 }
    }

    /// The marks "the stream ends here" of the datagrams that come of a stream whose first 3,000 bytes are coded, and of whose other
    /// `uncoded` bytes, its last ones, nothing is.
    fn ends(uncoded: u64) -> Vec<(u64, bool)> {
        let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0);
        let mut out = Flow::new(FlowId(1), stream, false, None).out;
        let mut parity = Parity::default();
        out.encoder.push(0, Bytes::from(vec![7; 3000]));
        (out.fed, out.phase) = (3000, Phase::Ending);
        out.ended = uncoded == 0;
        parity.after_feed(Instant::ZERO, 0, &mut out, true, &plan());
        if uncoded > 0 {
            (out.fed, out.ended) = (3000 + uncoded, true);
            parity.after_feed(Instant::ZERO, 0, &mut out, false, &plan());
        }
        let heads = parity.waiting.iter().filter_map(|datagram| ParityHead::read(&datagram.bytes));
        heads.map(|(head, _)| (head.start + head.length, head.last)).collect()
    }

    /// Turns in a row are handed over in one piece only where each of them, taken alone, would be coded or not like the first.
    #[test]
    fn turns_that_are_alike_are_decided_alike() {
        let quantum = 1472;
        let product = plan().product;
        let starts = [0, 60 << 10, 3 * product - 4000, 3 * product + 1];
        let queues = [3000, 5 * product / 2 - 5000, 5 * product / 2, 5 * product / 2 + 9000, 4 * product];
        let cases = starts.iter().flat_map(|start| queues.iter().map(move |queue| (*start, *queue)));
        for (on, (attained, queued)) in
            [false, true].into_iter().flat_map(|on| cases.clone().map(move |case| (on, case)))
        {
            for (phase, held) in
                [Phase::Open, Phase::Ending].into_iter().flat_map(|phase| [(phase, 0), (phase, 60_000)])
            {
                let plan = Plan { on, ..plan() };
                let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0);
                let mut out = Flow::new(FlowId(1), stream, false, None).out;
                out.turn.sent(attained);
                (out.queued, out.phase) = (queued, phase);
                if held > 0 {
                    out.encoder.push(0, Bytes::from(vec![7; held]));
                }
                let codes = plan.codes(&out, 0);
                let turns = plan.alike(&out).min(queued).div_ceil(quantum).max(1);
                for turn in 1..turns {
                    let covered = out.encoder.length() + if codes { turn * quantum } else { 0 };
                    assert!(covered < plan.block() || !codes, "a block ends before turn {turn} of {turns}");
                    out.turn.sent(quantum);
                    out.queued -= quantum;
                    let text = format!("{on} {attained} {queued} {phase:?} {held}: turn {turn} of {turns}");
                    assert_eq!(plan.codes(&out, 0), codes, "{text}");
                }
            }
        }
    }

    /// quinn-proto searches all pieces in flight for each packet: a coded transfer at 250 Mbit/s cost it five times the rest.
    #[test]
    fn a_coded_transfer_alone_is_handed_over_by_the_block() {
        let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0);
        let mut out = Flow::new(FlowId(1), stream, false, None).out;
        assert_eq!(plan().alike(&out), plan().block());
        out.encoder.push(0, Bytes::from(vec![7; 1000]));
        assert_eq!(plan().alike(&out), plan().block() - 1000);
        (out.phase, out.queued) = (Phase::Ending, 3000);
        assert_eq!(plan().alike(&out), plan().block() - 1000);
    }

    /// Coding is switched off between two turns of a flow, the second of which is its last: the peer took the end of the block for
    /// the end of the stream, and all behind it was missing.
    #[test]
    fn the_end_of_a_block_is_no_end_of_a_stream_that_goes_on_without_parities() {
        let whole = ends(0);
        assert!(!whole.is_empty() && whole.iter().all(|end| *end == (3000, true)), "{whole:?}");
        let cut = ends(1000);
        assert!(!cut.is_empty() && cut.iter().all(|end| *end == (3000, false)), "{cut:?}");
    }
}
