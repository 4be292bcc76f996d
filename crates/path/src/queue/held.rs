//! A queue without a transmitter: packets wait until the one at the head is taken. The head counts as being in
//! transmission, so that every discipline works as it does on a link.

use super::{Occupancy, Queue, QueueSpec, Report};
use crate::{DropCause, Hosts, Packet};
use longhaul_units::{Instant, Rate};

/// Packets that wait under some discipline.
pub struct HeldQueue<P> {
    queue: Box<dyn Queue<P>>,
    head: Option<P>,
    report: Report<P>,
}

impl<P: Packet + Send + 'static> HeldQueue<P> {
    /// An empty queue. The discipline works as for a link of this rate; its random streams follow from seed and name.
    pub fn new(spec: &QueueSpec, rate: Rate, seed: u64, name: &str) -> Self {
        HeldQueue {
            queue: spec.build(rate, &Hosts::default(), seed, name).holding(rate),
            head: None,
            report: Report::default(),
        }
    }

    /// A packet comes in. It, or others, may be dropped: see [`HeldQueue::take_dropped`].
    pub fn enqueue(&mut self, now: Instant, packet: P) {
        let in_service = self.head.as_ref().map_or(0, Packet::wire_len);
        self.queue.enqueue(now, packet, in_service, &mut self.report);
        if self.head.is_none() {
            self.head = self.next(now);
        }
    }

    fn next(&mut self, now: Instant) -> Option<P> {
        self.queue.dequeue(now, &mut self.report).map(|(_, packet)| packet)
    }

    /// The packet that leaves next.
    pub fn head(&self) -> Option<&P> {
        self.head.as_ref()
    }

    /// The head leaves.
    pub fn dequeue(&mut self, now: Instant) -> Option<P> {
        let packet = self.head.take()?;
        self.head = self.next(now);
        Some(packet)
    }

    /// All that is in the queue.
    pub fn occupancy(&self) -> Occupancy {
        self.queue.waiting().with(self.head.as_ref().map_or(0, Packet::wire_len))
    }

    /// Dropped packets with the cause.
    pub fn take_dropped(&mut self) -> std::vec::Drain<'_, (P, DropCause)> {
        self.report.dropped.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Discipline, HeadDropSpec};
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
