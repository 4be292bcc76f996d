//! A queue without a transmitter: packets wait until the one at the head is taken. The head counts as being in
//! transmission, so that every discipline works as it does on a link.

use super::{Admission, Discipline, Found, Occupancy, QueueSpec, Report, Verdict};
use crate::{DropCause, Hosts, Packet};
use longhaul_units::{Instant, Rate, Size};
use std::collections::VecDeque;

/// Packets that wait under some discipline.
pub struct HeldQueue<P> {
    discipline: Discipline<P>,
    head: Option<P>,
    /// What waits behind the head (disciplines that decide on arrival).
    waiting: VecDeque<P>,
    behind: Occupancy,
    rate: Rate,
    idle_since: Instant,
    report: Report<P>,
}

impl<P: Packet + Send + 'static> HeldQueue<P> {
    /// An empty queue. The discipline works as for a link of this rate; its random streams follow from seed and name.
    pub fn new(spec: &QueueSpec, rate: Rate, seed: u64, name: &str) -> Self {
        HeldQueue {
            discipline: spec.build(rate, &Hosts::default(), seed, name),
            head: None,
            waiting: VecDeque::new(),
            behind: Occupancy::default(),
            rate,
            idle_since: Instant::ZERO,
            report: Report::default(),
        }
    }

    /// A packet comes in. It, or others, may be dropped: see [`HeldQueue::take_dropped`].
    pub fn enqueue(&mut self, now: Instant, mut packet: P) {
        let len = packet.wire_len();
        let in_service = self.head.as_ref().map_or(0, Packet::wire_len);
        let found = self.found(now, in_service);
        let verdict = match &mut self.discipline {
            Discipline::DropTail(queue) => queue.admit(now, &found, len),
            Discipline::Red(queue) => queue.admit(now, &found, len),
            Discipline::Admission(queue) => queue.admit(now, &found, len),
            Discipline::Queue(queue) => {
                queue.enqueue(now, packet, in_service, &mut self.report);
                if self.head.is_none() {
                    self.head = queue.dequeue(now, &mut self.report).map(|(_, packet)| packet);
                }
                return;
            }
        };
        match verdict {
            Verdict::Accept => {}
            Verdict::Mark if packet.mark_congestion() => self.report.marked += 1,
            Verdict::Mark => return self.report.drop(packet, DropCause::Early),
            Verdict::Drop(cause) => return self.report.drop(packet, cause),
        }
        if self.head.is_none() {
            self.head = Some(packet);
        } else {
            self.behind.add(len);
            self.waiting.push_back(packet);
        }
    }

    /// What a packet finds. When all of it will have left is not known; at the given rate it would be then.
    fn found(&self, now: Instant, in_service: u32) -> Found {
        let system = self.behind.with(in_service);
        let free_at = match system.packets {
            0 => self.idle_since,
            _ => now + self.rate.transmission_time(Size::from_bytes(system.bytes)),
        };
        Found { system, in_service, free_at }
    }

    /// The packet that leaves next.
    pub fn head(&self) -> Option<&P> {
        self.head.as_ref()
    }

    /// The head leaves.
    pub fn dequeue(&mut self, now: Instant) -> Option<P> {
        let packet = self.head.take()?;
        self.head = match &mut self.discipline {
            Discipline::Queue(queue) => queue.dequeue(now, &mut self.report).map(|(_, packet)| packet),
            _ => self.waiting.pop_front().inspect(|next| self.behind.remove(next.wire_len())),
        };
        if self.head.is_none() {
            self.idle_since = now;
        }
        Some(packet)
    }

    /// All that is in the queue.
    pub fn occupancy(&self) -> Occupancy {
        let behind = match &self.discipline {
            Discipline::Queue(queue) => queue.waiting(),
            _ => self.behind,
        };
        behind.with(self.head.as_ref().map_or(0, Packet::wire_len))
    }

    /// Dropped packets with the cause.
    pub fn take_dropped(&mut self) -> std::vec::Drain<'_, (P, DropCause)> {
        self.report.dropped.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::HeadDropSpec;
    use longhaul_units::{Ecn, Limit};

    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Dummy(u32);
    impl Packet for Dummy {
        fn wire_len(&self) -> u32 {
            1000
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn set_ecn(&mut self, _: Ecn) {}
        fn flow(&self) -> u64 {
            0
        }
    }

    fn queue(spec: QueueSpec) -> HeldQueue<Dummy> {
        HeldQueue::new(&spec, Rate::from_bps(100_000_000), 1, "local queue")
    }

    #[test]
    fn droptail_keeps_the_first() {
        let mut queue = queue(QueueSpec::droptail(Limit::Packets(3)));
        (0..5).for_each(|id| queue.enqueue(Instant::ZERO, Dummy(id)));
        let dropped: Vec<u32> = queue.take_dropped().map(|(packet, _)| packet.0).collect();
        assert_eq!(dropped, [3, 4]);
        assert_eq!(queue.occupancy(), Occupancy { packets: 3, bytes: 3000 });
        let left: Vec<u32> =
            std::iter::from_fn(|| queue.dequeue(Instant::ZERO)).map(|packet| packet.0).collect();
        assert_eq!(left, [0, 1, 2]);
        assert_eq!(queue.occupancy(), Occupancy::default());
    }

    #[test]
    fn head_drop_keeps_the_last_behind_the_head() {
        let mut queue = queue(QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(3).into() }));
        (0..5).for_each(|id| queue.enqueue(Instant::ZERO, Dummy(id)));
        let dropped: Vec<u32> = queue.take_dropped().map(|(packet, _)| packet.0).collect();
        assert_eq!(dropped, [1, 2]);
        assert_eq!(queue.head(), Some(&Dummy(0)));
        assert_eq!(queue.occupancy(), Occupancy { packets: 3, bytes: 3000 });
        let left: Vec<u32> =
            std::iter::from_fn(|| queue.dequeue(Instant::ZERO)).map(|packet| packet.0).collect();
        assert_eq!(left, [0, 3, 4]);
    }

    #[test]
    fn a_discipline_without_an_average_queue_has_none() {
        let spec = QueueSpec::HeadDrop(HeadDropSpec { limit: Limit::Packets(3).into() });
        let Discipline::Queue(discipline) =
            spec.build::<Dummy>(Rate::from_bps(1_000_000), &Hosts::default(), 1, "queue")
        else {
            panic!("head drop drops packets that it has accepted");
        };
        assert_eq!(discipline.average(), None);
    }
}
