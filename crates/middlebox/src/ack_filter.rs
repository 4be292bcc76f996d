//! ACK filtering: of the pure ACKs of a connection only every k-th goes on (RFC 3449 section 5.2.1; Coetzee 1999, section 5.3.1, which
//! rejects it). It makes a thin way back last longer at the price of larger bursts forward and a slower slow start.
//!
//! **Keeps:** every ACK that says something new besides its number goes on: duplicates, window updates, SACK blocks, ECN echoes; so
//! does everything that is no pure ACK. An ACK that was left out is sent after a while, unless one that says more has gone on.
//!
//! **Breaks:** the ACK clock: the sender sees one ACK where there were k. RTT samples grow by what ACKs wait.
//!
//! After [`fail`](Middlebox::fail) it is a plain router.

use crate::base::{Table, counters};
use crate::levels::Levels;
use crate::{Base, Body, Direction, Middlebox, Passing, Verdict};
use longhaul_segment::{Ecn, Flags, Segment};
use longhaul_units::{Duration, Instant};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// k: one of so many pure ACKs goes on; 1 lets all pass.
    pub every: u32,
    /// An ACK that was left out waits so long for one that says more.
    pub hold: Duration,
}

counters! {
    struct Counts { suppressed_acks }
}

/// One direction of a connection.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// The last pure ACK, passed or not.
    last: Option<Segment>,
    left_out: u32,
    /// The newest ACK that was left out, and until when it waits.
    held: Option<(Segment, Ecn, Instant)>,
}

/// A filter.
pub struct AckFilter<B> {
    settings: Settings,
    flows: Table<Flow>,
    base: Base<B>,
    counts: Counts,
}

impl<B: Body> AckFilter<B> {
    /// A filter with these settings.
    pub fn new(settings: Settings) -> Self {
        AckFilter {
            settings,
            flows: Table::default(),
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
        }
    }

    fn index(packet: &Passing<'_, B>) -> usize {
        2 * packet.connection as usize + packet.direction as usize
    }
}

/// True if an ACK says no more than one before it would, but for a larger number.
fn only_advances(segment: &Segment, before: &Segment) -> bool {
    segment.flags == Flags::ACK
        && segment.payload_len == 0
        && segment.options.sack.is_empty()
        && before.ack.before(segment.ack)
        && segment.window == before.window
        && segment.seq == before.seq
}

impl<B: Body> Middlebox<B> for AckFilter<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if self.base.failed {
            return Verdict::Forward;
        }
        let index = Self::index(&packet);
        let flow = self.flows.get_or_insert_with(index, Flow::default);
        let before = flow.last.replace(*packet.segment);
        let advances = before.is_some_and(|before| only_advances(packet.segment, &before));
        if advances && flow.left_out + 1 < self.settings.every {
            flow.left_out += 1;
            let due = flow.held.map_or(now + self.settings.hold, |(_, _, due)| due);
            self.counts.suppressed_acks += u64::from(flow.held.is_some());
            flow.held = Some((*packet.segment, *packet.ecn, due));
            self.base.timers.set(index, Some(due));
            return Verdict::Taken;
        }
        flow.left_out = 0;
        // An ACK that was left out is told by this one, if this one has a number at all.
        if packet.segment.flags.contains(Flags::ACK) && !packet.segment.flags.contains(Flags::RST) {
            self.counts.suppressed_acks += u64::from(flow.held.take().is_some());
        }
        Verdict::Forward
    }
    fn on_timer(&mut self, now: Instant, index: usize) {
        let Some(flow) = self.flows.get_mut(index) else { return };
        let Some((segment, ecn, due)) = flow.held else { return };
        if due > now {
            return self.base.timers.set(index, Some(due));
        }
        (flow.held, flow.left_out) = (None, 0);
        self.base.outbox.push((index / 2) as u32, Direction::BOTH[index % 2], segment, ecn, B::default());
    }
    fn lose_all(&mut self, _now: Instant) {
        self.flows.clear();
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

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_segment::SeqNumber;

    fn ack(number: u32) -> Segment {
        Segment { ack: SeqNumber(number), window: 100, flags: Flags::ACK, ..Segment::default() }
    }
    fn filter(every: u32) -> AckFilter<()> {
        AckFilter::new(Settings { every, hold: Duration::from_millis(50) })
    }
    fn pass(filter: &mut AckFilter<()>, mut segment: Segment) -> bool {
        let mut ecn = Ecn::NotEct;
        let direction = Direction::Reverse;
        let packet = Passing { connection: 0, direction, ecn: &mut ecn, segment: &mut segment, body: &() };
        filter.handle_packet(Instant::ZERO, 0, packet) == Verdict::Forward
    }

    #[test]
    fn one_of_three_passes() {
        let mut filter = filter(3);
        let passed: Vec<bool> = (0..8).map(|n| pass(&mut filter, ack(1000 * n))).collect();
        assert_eq!(passed, [true, false, false, true, false, false, true, false]);
        assert_eq!(filter.counters(), [("suppressed_acks", 4)], "the last one still waits");
    }

    /// Section 5.3.1: duplicate ACKs are signals.
    #[test]
    fn what_says_more_passes() {
        let mut filter = filter(100);
        let mut sack = ack(3000);
        sack.options.sack.push(SeqNumber(4000), SeqNumber(5000));
        let window = Segment { window: 200, ..ack(3500) };
        let ece = Segment { flags: Flags::ACK | Flags::ECE, window: 200, ..ack(3600) };
        let data = Segment { payload_len: 5, window: 200, ..ack(3700) };
        for (segment, expected) in [
            (ack(1000), true),
            (ack(2000), false),
            (ack(2000), true), // a duplicate
            (sack, true),
            (window, true),
            (ece, true),
            (data, true),
            (Segment { flags: Flags::ACK | Flags::FIN, ..data }, true),
        ] {
            assert_eq!(pass(&mut filter, segment), expected, "{segment:?}");
        }
    }

    #[test]
    fn what_was_left_out_goes_on_in_time() {
        let mut filter = filter(10);
        assert!(pass(&mut filter, ack(1000)));
        assert!(!pass(&mut filter, ack(2000)) && !pass(&mut filter, ack(3000)));
        let due = Instant::ZERO + Duration::from_millis(50);
        assert_eq!(Middlebox::poll_timeout(&filter), Some(due));
        filter.handle_timeout(due);
        let mut segment = Segment::default();
        assert!(filter.transmit_into(due, &mut segment).is_some());
        assert_eq!(segment, ack(3000));
        assert!(filter.transmit_into(due, &mut segment).is_none());
    }
}
