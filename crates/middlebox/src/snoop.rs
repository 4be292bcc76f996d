//! Snoop: "Improving TCP/IP Performance over Wireless Networks" (Balakrishnan, Seshan, Amir, Katz 1995). An agent in front of a
//! lossy last hop keeps copies of the data that goes there, sends again from here what is lost there, and keeps the
//! the duplicate ACKs that report it from the sender, which would take them for congestion.
//!
//! **Keeps:** everything. ACKs are the receiver's own and are passed on unchanged, but for SACK blocks that report a hole
//! which is being filled from here. If the agent breaks down, the ends go on as if it had never been there.
//!
//! **Breaks:** nothing that TCP promises. Losses of the last hop reach the sender late or not at all, so that its congestion
//! control does not answer to them: that is the purpose.
//!
//! After [`fail`](Middlebox::fail) it is a plain router.
//!
//! As in the paper: an ACK older than the last is discarded; data that the receiver has acknowledged already is answered by the
//! receiver's last ACK; a duplicate ACK for what is not in the cache is passed on, since the sender must repair that. With
//! SACK all holes are seen at once. Where the cache is full, new data passes without a copy.

use crate::base::{Table, counters};
use crate::cache::{Cache, Copy, LocalRecovery, later, number, position};
use crate::levels::Levels;
use crate::{Base, Body, Direction, Middlebox, Passing, Verdict};
use longhaul_segment::{Ecn, Flags, Segment, SeqNumber};
use longhaul_units::{ConnectionId, Id, Instant};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Data packets of each connection that may be kept.
    pub cache: usize,
    /// Where the lossy hop is.
    pub towards: Direction,
    /// Retransmission over the lossy hop.
    pub recovery: LocalRecovery,
}

impl Settings {
    /// The paper's: the first duplicate ACK reports a loss, since a last hop does not reorder.
    pub fn recovery() -> LocalRecovery {
        LocalRecovery { duplicate_threshold: 1, ..LocalRecovery::default() }
    }
}

counters! {
    struct Counts { suppressed_acks, local_retransmissions, local_timeouts, uncached_packets }
}

/// A snoop agent.
pub struct Snoop<B> {
    settings: Settings,
    connections: Table<Connection<B>>,
    base: Base<B>,
    counts: Counts,
}

struct Connection<B> {
    cache: Cache<B>,
    /// The receiver's last ACK, to be repeated.
    last_ack: Option<Segment>,
    /// The receiver's next sequence number and latest timestamp.
    next: Option<SeqNumber>,
    timestamp: Option<u32>,
}

impl<B: Body> Connection<B> {
    fn new(settings: &Settings) -> Self {
        Connection { cache: Cache::new(settings.recovery), last_ack: None, next: None, timestamp: None }
    }

    /// Copies and their payload; nothing is acknowledged that the receiver has not.
    fn holds(&self) -> [u64; 3] {
        [self.cache.len() as u64, self.cache.payload(), 0]
    }

    /// Data for the lossy hop. An ACK is returned if the receiver has it already.
    fn on_data(
        &mut self,
        now: Instant,
        packet: (&Segment, Ecn, &B),
        settings: &Settings,
        counts: &mut Counts,
    ) -> (Verdict, Option<Segment>) {
        let (segment, ecn, body) = packet;
        let near = if self.cache.highest > 0 { Some(self.cache.highest) } else { None };
        let start = position(segment.seq, near);
        let end = start + u64::from(segment.seq_len());
        if self.cache.acked.is_some_and(|acked| end <= acked) {
            return match self.repeated_ack() {
                Some(ack) => (Verdict::Taken, Some(ack)),
                None => (Verdict::Forward, None),
            };
        }
        let again = start < self.cache.highest;
        if let Some(copy) = self.cache.find(start, end) {
            Cache::note_resent(now, copy, segment);
            return (Verdict::Forward, None);
        }
        self.cache.highest = self.cache.highest.max(end);
        if self.cache.len() < settings.cache && !self.cache.overlaps(start, end) {
            self.cache.insert(now, Copy::new(now, start..end, segment, ecn, body.clone(), again));
        } else {
            counts.uncached_packets += 1;
        }
        (Verdict::Forward, None)
    }

    /// The receiver's ACK as it would be now: one with an old sequence number or timestamp would not be accepted (RFC 9293
    /// section 3.10.7.4, RFC 7323 section 5).
    fn repeated_ack(&self) -> Option<Segment> {
        let mut ack = self.last_ack?;
        ack.seq = self.next?;
        ack.ack = number(self.cache.acked?);
        if let (Some(own), Some(latest)) = (&mut ack.options.timestamps, self.timestamp) {
            own.value = latest;
        }
        Some(ack)
    }
    fn note_receiver(&mut self, segment: &Segment) {
        let next = segment.seq + segment.seq_len();
        self.next = self.next.filter(|known| next.before(*known)).or(Some(next));
        if let Some(sent) = segment.options.timestamps {
            self.timestamp = Some(later(self.timestamp, sent.value));
        }
    }

    /// A segment of the receiver's with an ACK.
    fn on_ack(
        &mut self,
        now: Instant,
        segment: &mut Segment,
        settings: &Settings,
        counts: &mut Counts,
    ) -> Verdict {
        self.note_receiver(segment);
        let near = self.cache.acked.or((self.cache.highest > 0).then_some(self.cache.highest));
        let ack = position(segment.ack, near);
        let pure = segment.seq_len() == 0;
        let known = self.cache.acked;
        if known.is_some_and(|acked| ack < acked) {
            return self.suppress_if(pure, counts);
        }
        let mut suppress = false;
        if known == Some(ack) {
            let same_window = self.last_ack.is_some_and(|last| last.window == segment.window);
            let in_flight = self.cache.highest > ack;
            suppress = pure && same_window && in_flight && self.cache.on_duplicate_ack(now);
        } else {
            let echo = segment.options.timestamps.map(|sent| sent.echo);
            let _round_trip = self.cache.acknowledge(now, ack, echo, |_| {});
        }
        if !segment.options.sack.is_empty() {
            self.cache.on_sack(now, &segment.options.sack);
            if pure && settings.recovery.enabled && self.cache.holds_missing() {
                segment.options.sack = Default::default();
            }
        }
        if pure {
            self.last_ack = Some(Segment { flags: Flags::ACK, ..*segment });
        }
        self.suppress_if(suppress, counts)
    }

    fn suppress_if(&self, suppress: bool, counts: &mut Counts) -> Verdict {
        if suppress {
            counts.suppressed_acks += 1;
            return Verdict::Taken;
        }
        Verdict::Forward
    }
}

impl<B: Body> Snoop<B> {
    /// An agent.
    pub fn new(settings: Settings) -> Self {
        Snoop {
            settings,
            connections: Table::default(),
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
        }
    }

    fn connection(&mut self, number: ConnectionId) -> &mut Connection<B> {
        let settings = &self.settings;
        self.connections.get_or_insert_with(number, || Connection::new(settings))
    }

    fn forget(&mut self, now: Instant, number: ConnectionId) {
        if let Some(connection) = self.connections.take(number) {
            self.base.levels.shift(now, connection.holds(), [0; 3]);
        }
    }

    /// Sends what is to be sent again, and sets the timer.
    fn serve(&mut self, now: Instant, number: ConnectionId) {
        let Snoop { connections, base, counts, settings } = self;
        let Some(connection) = connections.get_mut(number) else { return };
        while let Some(copy) = connection.cache.poll_resend(now) {
            counts.local_retransmissions += 1;
            base.outbox.push(number, settings.towards, copy.segment, copy.ecn, copy.body.clone());
        }
        base.timers.set(number.index(), connection.cache.deadline());
    }

    fn on_syn(&mut self, now: Instant, number: ConnectionId, direction: Direction, segment: &Segment) {
        if direction != self.settings.towards {
            return;
        }
        let start = position(segment.seq, None) + 1;
        let known = self.connection(number).cache.first;
        if known != Some(start) {
            self.forget(now, number);
            self.connection(number).cache.begin(start);
        }
    }
}

impl<B: Body> Middlebox<B> for Snoop<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if self.base.failed {
            return Verdict::Forward;
        }
        let Passing { connection: number, direction, ecn, segment, body } = packet;
        if segment.flags.contains(Flags::RST) {
            self.forget(now, number);
            return Verdict::Forward;
        }
        if segment.flags.contains(Flags::SYN) {
            self.on_syn(now, number, direction, segment);
            return Verdict::Forward;
        }
        let settings = self.settings;
        let mut counts = self.counts;
        let connection = self.connection(number);
        let before = connection.holds();
        let mut repeat = None;
        let verdict = if direction == settings.towards {
            connection.cache.note_sender(segment);
            if segment.seq_len() == 0 {
                return Verdict::Forward;
            }
            let (verdict, ack) = connection.on_data(now, (segment, *ecn, body), &settings, &mut counts);
            repeat = ack;
            verdict
        } else if segment.flags.contains(Flags::ACK) {
            connection.on_ack(now, segment, &settings, &mut counts)
        } else {
            Verdict::Forward
        };
        let after = connection.holds();
        self.counts = counts;
        if let Some(ack) = repeat {
            self.base.outbox.push(number, settings.towards.opposite(), ack, Ecn::NotEct, B::default());
        }
        self.base.levels.shift(now, before, after);
        self.serve(now, number);
        verdict
    }

    fn on_timer(&mut self, now: Instant, owner: usize) {
        let number = ConnectionId::new(owner);
        let Some(connection) = self.connections.get_mut(number) else { return };
        if connection.cache.on_timeout(now) {
            self.counts.local_timeouts += 1;
        }
        self.serve(now, number);
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

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_segment::SackBlocks;
    use longhaul_units::Duration;

    const SIZE: u32 = 1000;

    struct Bench {
        snoop: Snoop<()>,
        now: Instant,
    }

    impl Bench {
        fn new(cache: usize) -> Self {
            let settings = Settings { cache, towards: Direction::Forward, recovery: Settings::recovery() };
            let mut bench = Bench { snoop: Snoop::new(settings), now: Instant::ZERO };
            let syn = Segment { seq: SeqNumber(SIZE - 1), flags: Flags::SYN, ..Segment::default() };
            assert_eq!(bench.pass(Direction::Forward, syn).0, Verdict::Forward);
            bench
        }
        fn pass(&mut self, direction: Direction, mut segment: Segment) -> (Verdict, Segment) {
            self.now += Duration::from_millis(1);
            let ecn = &mut Ecn::NotEct;
            let passing =
                Passing { connection: ConnectionId(0), direction, ecn, segment: &mut segment, body: &() };
            (self.snoop.handle_packet(self.now, 0, passing), segment)
        }
        /// Packet `number`, which is the bytes from 1000 times that.
        fn data(&mut self, number: u32) -> Verdict {
            let seq = SeqNumber(number * SIZE);
            let segment = Segment { seq, payload_len: SIZE, flags: Flags::ACK, ..Segment::default() };
            self.pass(Direction::Forward, segment).0
        }
        /// An ACK for all packets below `number`.
        fn ack(&mut self, number: u32, sacked: &[(u32, u32)]) -> (Verdict, Segment) {
            let mut segment = Segment {
                ack: SeqNumber(number * SIZE),
                flags: Flags::ACK,
                window: 9000,
                ..Segment::default()
            };
            let mut blocks = SackBlocks::default();
            sacked.iter().for_each(|(a, b)| assert!(blocks.push(SeqNumber(a * SIZE), SeqNumber(b * SIZE))));
            segment.options.sack = blocks;
            self.pass(Direction::Reverse, segment)
        }
        /// Packets sent over the lossy hop, and ACKs sent to the sender, from here.
        fn sent(&mut self) -> (Vec<u32>, Vec<u32>) {
            let (mut data, mut acks) = (vec![], vec![]);
            let mut segment = Segment::default();
            while let Some(departure) = self.snoop.transmit_into(self.now, &mut segment) {
                match departure.direction {
                    Direction::Forward => data.push(segment.seq.0 / SIZE),
                    Direction::Reverse => acks.push(segment.ack.0 / SIZE),
                }
            }
            (data, acks)
        }
    }

    #[test]
    fn the_first_duplicate_ack_is_answered_and_none_passes() {
        let mut bench = Bench::new(20);
        (1..=6).for_each(|number| assert_eq!(bench.data(number), Verdict::Forward));
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward, "an ACK of new data");
        assert_eq!(bench.ack(2, &[]).0, Verdict::Taken);
        assert_eq!(bench.sent(), (vec![2], vec![]));
        assert_eq!(bench.ack(2, &[]).0, Verdict::Taken);
        assert_eq!(bench.ack(2, &[]).0, Verdict::Taken);
        assert_eq!(bench.sent(), (vec![], vec![]), "once");
        assert_eq!(bench.ack(7, &[]).0, Verdict::Forward);
        assert_eq!(bench.snoop.levels().packets.unwrap().level(), 0);
    }

    #[test]
    fn a_duplicate_ack_for_what_is_not_here_passes() {
        let mut bench = Bench::new(1);
        (1..=4).for_each(|number| assert_eq!(bench.data(number), Verdict::Forward));
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward);
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward, "2 found the cache full");
        assert_eq!(bench.sent(), (vec![], vec![]));
    }

    #[test]
    fn sack_blocks_of_a_hole_that_is_here_do_not_pass() {
        let mut bench = Bench::new(20);
        (1..=6).for_each(|number| assert_eq!(bench.data(number), Verdict::Forward));
        let (verdict, segment) = bench.ack(2, &[(3, 4)]);
        assert_eq!(verdict, Verdict::Forward);
        assert!(segment.options.sack.is_empty());
        assert_eq!(bench.sent(), (vec![2], vec![]), "one packet above a hole is enough");
    }

    #[test]
    fn data_that_the_receiver_has_is_answered_with_its_ack() {
        let mut bench = Bench::new(20);
        (1..=3).for_each(|number| assert_eq!(bench.data(number), Verdict::Forward));
        assert_eq!(bench.ack(4, &[]).0, Verdict::Forward);
        assert_eq!(bench.data(2), Verdict::Taken);
        assert_eq!(bench.sent(), (vec![], vec![4]));
        assert_eq!(bench.ack(3, &[]).0, Verdict::Taken, "older than the last");
    }

    #[test]
    fn a_repeated_ack_is_as_new_as_the_receivers_last_segment() {
        let mut bench = Bench::new(20);
        (1..=3).for_each(|number| assert_eq!(bench.data(number), Verdict::Forward));
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward);
        let fin = Segment {
            seq: SeqNumber(500),
            ack: SeqNumber(4 * SIZE),
            flags: Flags::ACK | Flags::FIN,
            ..Segment::default()
        };
        assert_eq!(bench.pass(Direction::Reverse, fin).0, Verdict::Forward);
        assert_eq!(bench.data(3), Verdict::Taken);
        let mut segment = Segment::default();
        assert!(bench.snoop.transmit_into(bench.now, &mut segment).is_some());
        assert_eq!((segment.seq, segment.ack), (SeqNumber(501), SeqNumber(4 * SIZE)));
    }

    #[test]
    fn the_local_timer_repairs_the_last_packet() {
        let mut bench = Bench::new(20);
        assert_eq!(bench.data(1), Verdict::Forward);
        let due = bench.snoop.poll_timeout().unwrap();
        assert_eq!(due, bench.now + Duration::from_secs(1));
        bench.now = due;
        bench.snoop.handle_timeout(due);
        assert_eq!(bench.sent(), (vec![1], vec![]));
    }

    /// With the old one, the receiver would take the packet for an old duplicate (PAWS, RFC 7323 section 5).
    #[test]
    fn what_is_sent_again_has_the_latest_timestamp() {
        let mut bench = Bench::new(20);
        for (number, value) in [(1, 7000), (2, 8000), (3, 9000)] {
            let mut segment =
                Segment { seq: SeqNumber(number * SIZE), payload_len: SIZE, ..Segment::default() };
            segment.options.timestamps = Some(longhaul_segment::Timestamps { value, echo: 1 });
            assert_eq!(bench.pass(Direction::Forward, segment).0, Verdict::Forward);
        }
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward);
        assert_eq!(bench.ack(2, &[]).0, Verdict::Taken);
        let mut segment = Segment::default();
        assert!(bench.snoop.transmit_into(bench.now, &mut segment).is_some());
        assert_eq!(segment.seq, SeqNumber(2 * SIZE));
        assert_eq!(segment.options.timestamps.map(|sent| sent.value), Some(9000));
    }

    #[test]
    fn what_fails_forwards_all() {
        let mut bench = Bench::new(20);
        (1..=3).for_each(|number| assert_eq!(bench.data(number), Verdict::Forward));
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward);
        bench.snoop.fail(bench.now);
        assert_eq!(bench.ack(2, &[]).0, Verdict::Forward);
        assert_eq!(bench.snoop.levels().packets.unwrap().level(), 0);
    }
}
