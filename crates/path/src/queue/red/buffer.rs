//! RED whose full queue pushes out a packet that waits already: the oldest, or any one (Floyd and Jacobson 1993, section
//! 9; ns-2's `drop_front_` and `drop_rand_`). It holds its packets itself, since departures are not known on arrival.

use super::{Overflow, Red};
use crate::queue::fifo::Fifo;
use crate::queue::{Admission, Found, Occupancy, Queue, Report, Verdict};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Instant, Limit};

/// A queue governed by [`Red`].
pub struct RedBuffer<P> {
    red: Red,
    limit: Limit,
    overflow: Overflow,
    waiting: Fifo<P>,
    idle_since: Instant,
    random: Random,
}

impl<P: Packet> RedBuffer<P> {
    /// An empty queue; `random` chooses victims.
    pub fn new(red: Red, limit: Limit, overflow: Overflow, random: Random) -> Self {
        RedBuffer { red, limit, overflow, waiting: Fifo::default(), idle_since: Instant::ZERO, random }
    }

    /// Pushes out packets until the arriving one has room, or it itself.
    fn make_room(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        while !self.waiting.occupancy().with(in_service).has_room(self.limit, packet.wire_len()) {
            let victim = match self.overflow {
                Overflow::Arriving => self.waiting.len(),
                Overflow::Oldest => 0,
                Overflow::Random => self.random.up_to(self.waiting.len() as u64) as usize,
            };
            let Some((_, victim)) = self.waiting.remove(victim) else {
                report.drop(packet, DropCause::QueueFull);
                return;
            };
            report.drop(victim, DropCause::QueueFull);
        }
        self.waiting.push(now, packet);
    }
}

impl<P: Packet + Send> Queue<P> for RedBuffer<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        let system = self.waiting.occupancy().with(in_service);
        let found = Found { system, in_service, free_at: self.idle_since };
        match self.red.admit(now, &found, packet.wire_len()) {
            Verdict::Accept => self.waiting.push(now, packet),
            Verdict::Mark => {
                if let Some(packet) = report.mark_or_drop(packet) {
                    self.waiting.push(now, packet);
                }
            }
            Verdict::Drop(DropCause::QueueFull) => self.make_room(now, packet, in_service, report),
            Verdict::Drop(cause) => report.drop(packet, cause),
        }
    }

    fn dequeue(&mut self, now: Instant, _report: &mut Report<P>) -> Option<(Instant, P)> {
        let next = self.waiting.pop();
        if next.is_none() {
            self.idle_since = now;
        }
        next
    }

    fn waiting(&self) -> Occupancy {
        self.waiting.occupancy()
    }

    fn average(&self) -> Option<f64> {
        Some(self.red.average_packets())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::RedSpec;
    use crate::queue::testing::packet;
    use longhaul_units::{Probability, Rate};

    /// A queue of three, packet 0 in transmission; the fourth finds no room. Thresholds are out of the way.
    fn pushed_out(overflow: Overflow, seed: u64) -> u32 {
        let limit = Limit::Packets(3);
        let spec = RedSpec { overflow, min_threshold: Some(Limit::Packets(50)), ..RedSpec::automatic(limit) };
        let red = Red::new(&spec, Rate::from_bps(1_000_000), Random::stream(seed, "red"));
        let mut buffer = RedBuffer::new(red, limit, overflow, Random::stream(seed, "victims"));
        let mut report = Report::default();
        (1..=3).for_each(|id| buffer.enqueue(Instant::ZERO, packet(id, 500, false), 500, &mut report));
        assert_eq!(buffer.waiting().packets, 2);
        let [(victim, DropCause::QueueFull)] = &report.dropped[..] else { panic!("one goes") };
        victim.id
    }

    #[test]
    fn victims() {
        assert_eq!(pushed_out(Overflow::Arriving, 1), 3);
        assert_eq!(pushed_out(Overflow::Oldest, 1), 1);
        let mut hits = [0; 4];
        (0..3000).for_each(|seed| hits[pushed_out(Overflow::Random, seed) as usize] += 1);
        // A third each, within four standard deviations (26).
        assert!(hits[1..].iter().all(|count: &i32| (count - 1000).abs() < 104), "{hits:?}");
    }

    /// A packet that cannot carry a mark is dropped early instead.
    #[test]
    fn without_ecn_a_mark_is_a_drop() {
        let limit = Limit::Packets(50);
        let spec = RedSpec {
            min_threshold: Some(Limit::Packets(2)),
            max_threshold: Some(Limit::Packets(40)),
            queue_weight: Some(1.0),
            max_p: Probability::new(0.1).unwrap(),
            ..RedSpec::automatic(limit)
        };
        let red = Red::new(&spec, Rate::from_bps(1_000_000), Random::stream(1, "red"));
        let mut buffer = RedBuffer::new(red, limit, Overflow::Oldest, Random::stream(1, "victims"));
        let mut report = Report::default();
        (0..200).for_each(|id| buffer.enqueue(Instant::ZERO, packet(id, 500, false), 500, &mut report));
        assert!(report.dropped.iter().any(|(_, cause)| *cause == DropCause::Early));
        assert_eq!(report.marked, 0);
    }
}
