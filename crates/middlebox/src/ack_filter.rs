//! ACK filtering: of the pure ACKs of a connection only every k-th goes on (RFC 3449 section 5.2.1; Coetzee 1999, section 5.3.1, which
//! rejects it). It makes a thin way back last longer at the price of larger bursts forward and a slower slow start.
//!
//! With [`Adapt`], k is not fixed: ACK congestion control at the client's edge, in the spirit of RFC 5690 and of Balakrishnan,
//! Padmanabhan and Katz 1997. The ratio doubles after a round in which the thin line had too much to send, and falls by one after a
//! round in which it had not. What the line has to send is reckoned from its rate and the packets that went there: RFC 5690's
//! signals between the ends (its options, lost or marked ACKs seen by the sender) are not needed, nor modelled.
//!
//! **Keeps:** every ACK with news besides its number is forwarded: duplicates, window updates, SACK blocks, ECN echoes; so
//! does everything that is no pure ACK. An ACK that was left out is sent after a while, unless one with more was forwarded.
//!
//! **Breaks:** the ACK clock: the sender receives one ACK where there were k. RTT samples grow by what ACKs wait.
//!
//! After [`fail`](Middlebox::fail) it is a plain router.

use crate::base::{Table, counters};
use crate::levels::Levels;
use crate::{Base, Body, Direction, Middlebox, Passing, Verdict};
use longhaul_segment::{Ecn, Flags, Segment};
use longhaul_units::{Duration, EndpointId, Id, Instant, Rate, Size};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// k: one of so many pure ACKs goes on; 1 lets all pass.
    pub every: u32,
    /// An ACK that was left out waits so long for one with more information.
    pub hold: Duration,
    /// Congestion control; without it k stays `every`.
    pub adapt: Option<Adapt>,
}

/// How the ratio follows the thin line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adapt {
    /// Rate of the line at 8 bits a byte.
    pub rate: Rate,
    /// Bytes that the line adds to each packet.
    pub framing: u32,
    /// Which way packets go there.
    pub towards: Direction,
    /// More than this to send is congestion.
    pub backlog: Duration,
    /// Length of a round.
    pub interval: Duration,
    /// The largest ratio.
    pub most: u32,
}

/// The ratio in force, and what the line has to send.
#[derive(Clone, Copy, Debug)]
struct Control {
    ratio: u32,
    free_at: Instant,
    /// The most that it had to send in this round.
    worst: Duration,
    round_end: Instant,
}

impl Control {
    /// A packet goes to the line.
    fn sent(&mut self, now: Instant, adapt: &Adapt, len: u32) {
        let time = adapt.rate.transmission_time(Size::from_bytes(u64::from(len + adapt.framing)));
        self.free_at = self.free_at.max(now) + time;
        self.worst = self.worst.max(self.free_at - now);
    }
    /// At the end of a round the ratio changes.
    fn judge(&mut self, now: Instant, settings: &Settings, adapt: &Adapt) {
        if now < self.round_end {
            return;
        }
        self.ratio = if self.worst > adapt.backlog {
            (2 * self.ratio).min(adapt.most)
        } else {
            (self.ratio - 1).max(settings.every)
        };
        self.worst = self.free_at.max(now) - now;
        self.round_end = now + adapt.interval;
    }
}

counters! {
    struct Counts { suppressed_acks, ack_ratio_increases }
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
    flows: Table<Flow, EndpointId>,
    control: Control,
    base: Base<B>,
    counts: Counts,
}

impl<B: Body> AckFilter<B> {
    /// A filter with these settings.
    pub fn new(settings: Settings) -> Self {
        AckFilter {
            settings,
            flows: Table::default(),
            control: Control {
                ratio: settings.every.max(1),
                free_at: Instant::ZERO,
                worst: Duration::ZERO,
                round_end: Instant::ZERO,
            },
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
        }
    }

    /// Congestion control, if there is any, for packets that go to the line.
    fn adapt(&mut self, now: Instant, direction: Direction) {
        let Some(adapt) = self.settings.adapt.filter(|adapt| adapt.towards == direction) else { return };
        let before = self.control.ratio;
        self.control.judge(now, &self.settings, &adapt);
        self.counts.ack_ratio_increases += u64::from(self.control.ratio > before);
    }
    fn note_sent(&mut self, now: Instant, direction: Direction, segment: &Segment) {
        if let Some(adapt) = self.settings.adapt.filter(|adapt| adapt.towards == direction) {
            self.control.sent(now, &adapt, segment.ipv4_len());
        }
    }
}

/// True if an ACK has no information beyond that of one before it, except a larger number.
fn only_advances(segment: &Segment, before: &Segment) -> bool {
    segment.flags == Flags::ACK
        && segment.payload_len == 0
        && segment.options.sack.is_empty()
        && segment.options.ecn_counters.is_none()
        && before.ack.before(segment.ack)
        && segment.window == before.window
        && segment.seq == before.seq
}

impl<B: Body> Middlebox<B> for AckFilter<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if self.base.failed {
            return Verdict::Forward;
        }
        let end = packet.connection.end(packet.direction.sender());
        self.adapt(now, packet.direction);
        let ratio = self.control.ratio;
        let flow = self.flows.get_or_insert_with(end, Flow::default);
        let before = flow.last.replace(*packet.segment);
        let advances = before.is_some_and(|before| only_advances(packet.segment, &before));
        if advances && flow.left_out + 1 < ratio {
            flow.left_out += 1;
            let due = flow.held.map_or(now + self.settings.hold, |(_, _, due)| due);
            self.counts.suppressed_acks += u64::from(flow.held.is_some());
            flow.held = Some((*packet.segment, *packet.ecn, due));
            self.base.timers.set(end.index(), Some(due));
            return Verdict::Taken;
        }
        flow.left_out = 0;
        // An ACK that was left out is covered by this one, if this one has a number at all.
        if packet.segment.flags.contains(Flags::ACK) && !packet.segment.flags.contains(Flags::RST) {
            self.counts.suppressed_acks += u64::from(flow.held.take().is_some());
        }
        self.note_sent(now, packet.direction, packet.segment);
        Verdict::Forward
    }
    fn on_timer(&mut self, now: Instant, owner: usize) {
        let end = EndpointId::new(owner);
        let Some(flow) = self.flows.get_mut(end) else { return };
        let Some((segment, ecn, due)) = flow.held else { return };
        if due > now {
            return self.base.timers.set(end.index(), Some(due));
        }
        (flow.held, flow.left_out) = (None, 0);
        let direction = Direction::BOTH[end.side() as usize];
        self.note_sent(now, direction, &segment);
        self.base.outbox.push(end.connection(), direction, segment, ecn, B::default());
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
    use longhaul_segment::{EcnCounters, EcnOrder, SeqNumber};
    use longhaul_units::ConnectionId;

    fn ack(number: u32) -> Segment {
        Segment { ack: SeqNumber(number), window: 100, flags: Flags::ACK, ..Segment::default() }
    }
    fn filter(every: u32) -> AckFilter<()> {
        AckFilter::new(Settings { every, hold: Duration::from_millis(50), adapt: None })
    }
    fn pass(filter: &mut AckFilter<()>, mut segment: Segment) -> bool {
        let mut ecn = Ecn::NotEct;
        let direction = Direction::Reverse;
        let packet = Passing {
            connection: ConnectionId(0),
            direction,
            ecn: &mut ecn,
            segment: &mut segment,
            body: &(),
        };
        filter.handle_packet(Instant::ZERO, 0, packet) == Verdict::Forward
    }

    #[test]
    fn one_of_three_passes() {
        let mut filter = filter(3);
        let passed: Vec<bool> = (0..8).map(|n| pass(&mut filter, ack(1000 * n))).collect();
        assert_eq!(passed, [true, false, false, true, false, false, true, false]);
        assert_eq!(filter.counters()[0], ("suppressed_acks", 4), "the last one still waits");
    }

    /// Section 5.3.1: duplicate ACKs are signals.
    #[test]
    fn what_says_more_passes() {
        let mut filter = filter(100);
        let mut sack = ack(3000);
        sack.options.sack.push(SeqNumber(4000), SeqNumber(5000));
        let window = Segment { window: 200, ..ack(3500) };
        let ece = Segment { flags: Flags::ACK | Flags::ECE, window: 200, ..ack(3600) };
        let mut counters = Segment { window: 200, ..ack(3620) };
        counters.options.ecn_counters = Some(EcnCounters::new(EcnOrder::Ect0First, &[1, 0, 1]));
        let data = Segment { payload_len: 5, window: 200, ..ack(3700) };
        for (segment, expected) in [
            (ack(1000), true),
            (ack(2000), false),
            (ack(2000), true), // a duplicate
            (sack, true),
            (window, true),
            (ece, true),
            // AccECN's ACE field (RFC 9768), and its option, where the field happens to be zero.
            (Segment { flags: Flags::ACK | Flags::AE, window: 200, ..ack(3610) }, true),
            (counters, true),
            (data, true),
            (Segment { flags: Flags::ACK | Flags::FIN, ..data }, true),
        ] {
            assert_eq!(pass(&mut filter, segment), expected, "{segment:?}");
        }
    }

    /// RFC 5690 doubles the ratio for congestion and takes one off where there is none. A line of 8 kbit/s sends 40 bytes in 40 ms; an
    /// ACK each 10 ms is too much, one each 100 ms is not.
    #[test]
    fn the_ratio_follows_the_line() {
        let adapt = Adapt {
            rate: Rate::from_bps(8000),
            framing: 0,
            towards: Direction::Reverse,
            backlog: Duration::from_millis(100),
            interval: Duration::from_secs(1),
            most: 16,
        };
        let hold = Duration::from_secs(5);
        let mut filter: AckFilter<()> = AckFilter::new(Settings { every: 1, hold, adapt: Some(adapt) });
        let mut number = 0;
        let mut second = |filter: &mut AckFilter<()>, second: u64, every_ms: u64| {
            for millis in (0..1000).step_by(every_ms as usize) {
                number += 1000;
                let mut segment = ack(number);
                let direction = Direction::Reverse;
                let packet = Passing {
                    connection: ConnectionId(0),
                    direction,
                    ecn: &mut Ecn::NotEct,
                    segment: &mut segment,
                    body: &(),
                };
                let now = Instant::ZERO + Duration::from_millis(1000 * second + millis);
                let _ = filter.handle_packet(now, 0, packet);
            }
            filter.control.ratio
        };
        // The first round ends with the first packet, in which nothing was sent.
        assert_eq!((0..4).map(|n| second(&mut filter, n, 10)).collect::<Vec<_>>(), [1, 2, 4, 8]);
        // One of eight each 80 ms: the line keeps up, once it has sent what waited.
        let calm: Vec<u32> = (4..40).map(|n| second(&mut filter, n, 100)).collect();
        assert_eq!(*calm.last().unwrap(), 1, "{calm:?}");
        assert_eq!(filter.counters()[1], ("ack_ratio_increases", 3 + u64::from(calm[0] == 16)));
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
