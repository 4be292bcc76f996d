//! Premature ACKs with a watermark: "Performance Improvement of TCP using PEPs: effect of premature ACK transmission
//! timing on throughput" (Okayama, 2005). Between the source's network (S-Net) and the destination's (D-Net) the PEP
//! forwards every data packet, keeps a copy of up to N of them, and acknowledges the oldest W on the destination's behalf.
//!
//! **Keeps:** addresses, ports, sequence numbers and ordering end to end; the destination gets every byte once, since what
//! was acknowledged here is sent again from here until the destination has it; FIN and RST are the ends' own.
//!
//! **Breaks:** an ACK no longer means that data have arrived. What was acknowledged here and not delivered is lost if the PEP
//! breaks down, if the destination resets the connection, or if it can no longer be reached (counted as
//! `lost_acknowledged_bytes`). Losses beyond the PEP no longer reach the source, so its congestion control does not answer
//! to congestion on D-Net. With a window of its own ([`Settings::window`]) the PEP may let the source send more than the
//! destination has room for; what the destination then refuses is sent again from here.
//!
//! After [`fail`](Middlebox::fail) it is a plain router: it forwards all and keeps nothing.
//!
//! Beside the paper's steps, which are for data in order without loss:
//! * A premature ACK never covers a packet that has not been seen here, was not copied, or carries a FIN ([`Guard::Strict`]).
//! * A packet that was acknowledged already is not forwarded again: the PEP repeats its ACK to the source.
//! * Losses on D-Net are repaired from here on three duplicate ACKs, on SACK, on partial ACKs, and on a timeout; duplicate
//!   ACKs for what is repaired here do not reach the source, nor do their SACK blocks.
//! * Data that is forwarded or sent again carries at least the ACK number that its receiver was sent from here: hosts discard
//!   data whose ACK number is older by more than a window (RFC 5961 section 5.2).
//! * A window that opens again is passed on although its ACK acknowledges nothing new.

mod half;
#[cfg(test)]
mod tests;
mod watermark;

use crate::base::{Table, counters};
use crate::cache::{LocalRecovery, position};
use crate::levels::Levels;
use crate::{Base, Body, Direction, Established, Middlebox, Passing, Verdict};
use half::{Half, keep_promise};
use longhaul_segment::{Flags, Segment, SeqNumber};
use longhaul_units::{ConnectionId, Id, Instant};
pub use watermark::Watermark;

/// After so many timeouts in a row without progress the destination is given up (as R2 of RFC 9293 section 3.8.3).
const MAX_TIMEOUTS: u32 = 15;

/// What keeps premature ACKs from covering packets that are not in the buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Guard {
    /// Nothing is acknowledged above a packet of which there is no copy. Step B-3 does not ensure it where fewer than W copies are
    /// left, all below the through packet: data that comes then is acknowledged by step A-1, and the through packet with it.
    #[default]
    Strict,
    /// Step B-3 as it is printed.
    AsPrinted,
}

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// N: copies that each direction of each connection may have in the buffer.
    pub buffer: usize,
    /// W.
    pub watermark: Watermark,
    /// The window that the source is offered, in bytes, where it is larger than the destination's. It cannot be more than
    /// the destination's window scale can express.
    pub window: Option<u64>,
    /// What keeps premature ACKs from covering packets without a copy.
    pub guard: Guard,
    /// Retransmission on D-Net.
    pub recovery: LocalRecovery,
}

impl Settings {
    /// The window field sent to the source for the destination's `field`.
    fn window_field(&self, field: u16, shift: u8) -> u16 {
        let own = self.window.map_or(0, |bytes| (bytes >> shift).min(u64::from(u16::MAX)) as u16);
        field.max(own)
    }
}

counters! {
    struct Counts {
        premature_acks,
        suppressed_acks,
        local_retransmissions,
        local_timeouts,
        through_packets,
        lost_acknowledged_bytes,
    }
}

/// A PEP that acknowledges prematurely.
pub struct PrematureAck<B> {
    settings: Settings,
    established: Established,
    connections: Table<Connection<B>>,
    base: Base<B>,
    counts: Counts,
}

/// Both directions of a connection; each is listed under the way of its data.
struct Connection<B> {
    halves: [Half<B>; 2],
    /// The SYN of each direction's sender.
    offers: [Option<Offer>; 2],
}

/// A SYN as far as it matters here.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Offer {
    isn: SeqNumber,
    window: u16,
    scale: Option<u8>,
}

impl<B: Body> Connection<B> {
    fn new(settings: &Settings) -> Self {
        Connection {
            halves: Direction::BOTH.map(|direction| Half::new(direction, settings)),
            offers: [None; 2],
        }
    }
    fn undelivered(&self) -> u64 {
        self.halves.iter().map(Half::undelivered).sum()
    }
    fn promised(&self) -> [u64; 2] {
        Direction::BOTH.map(|direction| self.halves[direction as usize].promised())
    }
    /// Copies, their payload, and payload acknowledged from here only.
    fn holds(&self) -> [u64; 3] {
        let sum = |value: &dyn Fn(&Half<B>) -> u64| self.halves.iter().map(value).sum();
        [sum(&|half| half.cache.len() as u64), sum(&|half| half.cache.payload()), self.undelivered()]
    }
    /// True if this SYN, or one of the same number, was here before.
    fn is_repeated(&self, direction: Direction, syn: &Segment) -> bool {
        self.offers[direction as usize].is_some_and(|offer| offer.isn == syn.seq)
    }

    fn on_syn(&mut self, direction: Direction, segment: &mut Segment, settings: &Settings) {
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        segment.window = settings.window_field(segment.window, 0);
        if self.is_repeated(direction, segment) {
            return;
        }
        self.halves[direction as usize].begin(position(segment.seq, None) + 1);
        let scale = segment.options.window_scale.map(|shift| shift.min(14));
        self.offers[direction as usize] = Some(Offer { isn: segment.seq, window: segment.window, scale });
        let [Some(first), Some(second)] = self.offers else { return };
        for (direction, destination) in [(Direction::Forward, second), (Direction::Reverse, first)] {
            // Windows are scaled if both ends have offered it.
            let shift = first.scale.and(second.scale).and(destination.scale).unwrap_or(0);
            self.halves[direction as usize].set_window(destination.window >> shift, shift);
        }
    }
}

impl<B: Body> PrematureAck<B> {
    /// A PEP. `established` describes connections whose handshake is not seen.
    pub fn new(settings: Settings, established: Established) -> Self {
        PrematureAck {
            settings,
            established,
            connections: Table::default(),
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
        }
    }

    fn connection(&mut self, number: ConnectionId) -> &mut Connection<B> {
        let settings = &self.settings;
        let established = self.established.of(number);
        self.connections.get_or_insert_with(number, || {
            let mut connection = Connection::new(settings);
            if let Some(ends) = established {
                for direction in Direction::BOTH {
                    let destination = ends[direction.opposite() as usize];
                    let half = &mut connection.halves[direction as usize];
                    half.begin(position(ends[direction as usize].first, None));
                    half.set_window(destination.window, destination.shift);
                }
            }
            connection
        })
    }

    /// Forgets a connection; what it had acknowledged is lost.
    fn forget(&mut self, now: Instant, number: ConnectionId) {
        if let Some(connection) = self.connections.take(number) {
            self.counts.lost_acknowledged_bytes += connection.undelivered();
            self.base.levels.shift(now, connection.holds(), [0; 3]);
        }
    }

    fn handle_data_and_ack(&mut self, now: Instant, packet: Passing<'_, B>) -> Verdict {
        let Passing { connection: number, direction, ecn, segment, body } = packet;
        self.connection(number);
        let PrematureAck { connections, settings, counts, base, .. } = self;
        let Some(connection) = connections.get_mut(number) else { return Verdict::Forward };
        let before = connection.holds();
        let promised = connection.promised();
        let mut send = |direction: Direction, mut segment: Segment, ecn, body| {
            keep_promise(&mut segment, promised[direction.opposite() as usize]);
            base.outbox.push(number, direction, segment, ecn, body);
        };
        let mut verdict = Verdict::Forward;
        connection.halves[direction as usize].cache.note_sender(segment);
        if segment.flags.contains(Flags::ACK) {
            let acked = &mut connection.halves[direction.opposite() as usize];
            verdict = acked.on_ack(now, segment, settings, counts, &mut send);
            keep_promise(segment, acked.promised());
        }
        if segment.seq_len() > 0 {
            let data = &mut connection.halves[direction as usize];
            verdict = data.on_data(now, (segment, *ecn, body), settings, counts, &mut send);
        }
        let after = connection.holds();
        for half in [0, 1] {
            base.timers.set(2 * number.index() + half, connection.halves[half].cache.deadline());
        }
        base.levels.shift(now, before, after);
        verdict
    }
}

impl<B: Body> Middlebox<B> for PrematureAck<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if self.base.failed {
            return Verdict::Forward;
        }
        let flags = packet.segment.flags;
        if flags.contains(Flags::RST) {
            self.forget(now, packet.connection);
            return Verdict::Forward;
        }
        if flags.contains(Flags::SYN) {
            let settings = self.settings;
            if !flags.contains(Flags::ACK)
                && !self.connection(packet.connection).is_repeated(packet.direction, packet.segment)
            {
                self.forget(now, packet.connection);
            }
            self.connection(packet.connection).on_syn(packet.direction, packet.segment, &settings);
            return Verdict::Forward;
        }
        self.handle_data_and_ack(now, packet)
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let (number, half) = (ConnectionId::new(owner / 2), owner % 2);
        let PrematureAck { connections, counts, base, .. } = self;
        let Some(connection) = connections.get_mut(number) else { return };
        let promised = connection.promised();
        let mut send = |direction: Direction, mut segment: Segment, ecn, body| {
            keep_promise(&mut segment, promised[direction.opposite() as usize]);
            base.outbox.push(number, direction, segment, ecn, body);
        };
        if connection.halves[half].on_timeout(now, counts, &mut send) {
            base.timers.set(owner, connection.halves[half].cache.deadline());
        } else {
            self.forget(now, number);
        }
    }
    fn lose_all(&mut self, now: Instant) {
        self.connections.ids().for_each(|number| self.forget(now, number));
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.counts.list()
    }
    fn base(&self) -> &Base<B> {
        &self.base
    }
    fn base_mut(&mut self) -> &mut Base<B> {
        &mut self.base
    }
}
