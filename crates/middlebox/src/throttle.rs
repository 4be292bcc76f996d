//! A throttle for a client: a token bucket over all packets that go its way, and a queue of its own for those that come too early
//! (RFC 2698's and RFC 3290's token bucket; the asymmetric satellite thesis, sections 8.2 and 9.2, has one for each client).
//!
//! A bucket holds at most `burst` bytes and fills at `rate`; a packet leaves when its IP length is there, and takes it. What comes
//! while others wait, waits behind them. Packets the other way pass.
//!
//! **Keeps:** everything; order within the direction. **Breaks:** nothing. What its queue drops is congestion like any other.
//! Duplicate ACKs, window updates and SACK blocks pass unchanged and are counted like other packets.
//!
//! After [`fail`](Middlebox::fail) nothing is held back; what was waiting is lost.

use crate::base::counters;
use crate::levels::Levels;
use crate::waiting::Waiting;
use crate::{Base, Body, Direction, Middlebox, Passing, Verdict};
use longhaul_path::QueueSpec;
use longhaul_path::queue::{Bucket, HeldQueue};
use longhaul_units::{Instant, Rate, Size};

/// Everything that can be set.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// How fast the bucket fills, in IP packets' bytes.
    pub rate: Rate,
    /// Bytes that it holds at most; a longer packet leaves when it is full.
    pub burst: u64,
    /// The discipline of the queue.
    pub queue: QueueSpec,
    /// Which packets are held back.
    pub towards: Direction,
}

counters! {
    struct Counts { delayed_packets, throttle_drops }
}

/// A throttle.
pub struct Throttle<B> {
    settings: Settings,
    bucket: Bucket,
    queue: HeldQueue<Waiting<B>>,
    base: Base<B>,
    counts: Counts,
}

impl<B: Body> Throttle<B> {
    /// With a full bucket at the start. Random streams of the queue follow from seed and name.
    pub fn new(settings: Settings, seed: u64, name: &str) -> Self {
        Throttle {
            settings,
            bucket: Bucket::new(settings.rate, Size::from_bytes(settings.burst)),
            queue: HeldQueue::new(&settings.queue, settings.rate, seed, name),
            base: Base::new(Levels::of_packets()),
            counts: Counts::default(),
        }
    }

    /// Lets go what may leave, and sets the timer for the next.
    fn serve(&mut self, now: Instant) {
        while let Some(len) = self.queue.head().map(|packet| packet.segment.ipv4_len()) {
            let due = self.bucket.due(len);
            if due > now {
                self.base.timers.set(0, Some(due));
                break;
            }
            let Some(packet) = self.queue.dequeue(now) else { break };
            self.bucket.take(now, len);
            let Waiting { connection, direction, ecn, segment, body } = packet;
            self.base.outbox.push(connection, direction, segment, ecn, body);
        }
        self.note_queue(now);
    }

    fn note_queue(&mut self, now: Instant) {
        for (packet, _) in self.queue.take_dropped() {
            self.counts.throttle_drops += 1;
            self.base.events.push_back(packet.dropped());
        }
        let held = self.queue.occupancy();
        if let Some(packets) = &mut self.base.levels.packets {
            packets.set(now, held.packets);
        }
        self.base.levels.bytes.set(now, held.bytes);
    }
}

impl<B: Body> Middlebox<B> for Throttle<B> {
    fn handle_packet(&mut self, now: Instant, _port: usize, packet: Passing<'_, B>) -> Verdict {
        if self.base.failed || packet.direction != self.settings.towards {
            return Verdict::Forward;
        }
        let len = packet.segment.ipv4_len();
        if self.queue.head().is_none() && self.bucket.due(len) <= now {
            self.bucket.take(now, len);
            return Verdict::Forward;
        }
        self.counts.delayed_packets += 1;
        self.queue.enqueue(now, Waiting::of(&packet));
        self.serve(now);
        Verdict::Taken
    }
    fn on_timer(&mut self, now: Instant, _owner: usize) {
        self.serve(now);
    }
    fn lose_all(&mut self, now: Instant) {
        while let Some(packet) = self.queue.dequeue(now) {
            self.base.events.push_back(packet.dropped());
        }
        self.note_queue(now);
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
    use longhaul_segment::{Ecn, Segment};
    use longhaul_units::Limit;
    use longhaul_units::{ConnectionId, Duration};

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }
    /// 8 kbit/s: 1000 bytes take a second.
    fn throttle(burst: u64, limit: u64) -> Throttle<()> {
        let settings = Settings {
            rate: Rate::from_bps(8000),
            burst,
            queue: QueueSpec::droptail(Limit::Packets(limit)),
            towards: Direction::Reverse,
        };
        Throttle::new(settings, 1, "throttle")
    }
    /// A packet of 1000 bytes in all.
    fn pass(throttle: &mut Throttle<()>, now: Instant, direction: Direction) -> Verdict {
        let mut segment = Segment { payload_len: 960, ..Segment::default() };
        let packet = Passing {
            connection: ConnectionId(0),
            direction,
            ecn: &mut Ecn::NotEct,
            segment: &mut segment,
            body: &(),
        };
        throttle.handle_packet(now, 0, packet)
    }
    fn leaving(throttle: &mut Throttle<()>, until: u64) -> Vec<u64> {
        let mut times = vec![];
        while let Some(due) = throttle.poll_timeout().filter(|due| *due <= at(until)) {
            throttle.handle_timeout(due);
            while throttle.transmit_into(due, &mut Segment::default()).is_some() {
                times.push(due.as_nanos() / 1_000_000);
            }
        }
        times
    }

    /// A bucket of 3000 bytes lets three packets of 1000 go at once, then one a second.
    #[test]
    fn a_burst_and_then_the_rate() {
        let mut throttle = throttle(3000, 100);
        let verdicts: Vec<bool> =
            (0..6).map(|_| pass(&mut throttle, at(10_000), Direction::Reverse) == Verdict::Forward).collect();
        assert_eq!(verdicts, [true, true, true, false, false, false]);
        assert_eq!(leaving(&mut throttle, 20_000), [11_000, 12_000, 13_000]);
        assert_eq!(throttle.counters(), [("delayed_packets", 3), ("throttle_drops", 0)]);
        // Two seconds later two packets' tokens are there.
        let verdicts: Vec<bool> =
            (0..3).map(|_| pass(&mut throttle, at(15_000), Direction::Reverse) == Verdict::Forward).collect();
        assert_eq!(verdicts, [true, true, false]);
    }

    #[test]
    fn the_queue_drops_and_the_other_way_is_free() {
        let mut throttle = throttle(1000, 2);
        let held =
            (0..5).filter(|_| pass(&mut throttle, at(5000), Direction::Reverse) == Verdict::Taken).count();
        assert_eq!(held, 4);
        assert_eq!(throttle.counters(), [("delayed_packets", 4), ("throttle_drops", 2)]);
        assert_eq!(std::iter::from_fn(|| throttle.poll_event()).count(), 2);
        assert_eq!(pass(&mut throttle, at(5000), Direction::Forward), Verdict::Forward);
        assert_eq!(throttle.levels().packets.unwrap().level(), 2);
        assert_eq!(leaving(&mut throttle, 9000), [6000, 7000]);
        assert_eq!(throttle.levels().packets.unwrap().level(), 0);
    }

    #[test]
    fn what_fails_lets_all_pass() {
        let mut throttle = throttle(1000, 9);
        let held =
            (0..3).filter(|_| pass(&mut throttle, at(5000), Direction::Reverse) == Verdict::Taken).count();
        assert_eq!(held, 2);
        throttle.fail(at(5000));
        assert_eq!(pass(&mut throttle, at(5000), Direction::Reverse), Verdict::Forward);
        assert_eq!(throttle.poll_timeout(), None);
        assert_eq!(std::iter::from_fn(|| throttle.poll_event()).count(), 2);
    }
}
