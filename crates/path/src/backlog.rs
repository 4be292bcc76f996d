//! What waits or is being transmitted on a link whose departures are computed on arrival. Packets of one length that leave back
//! to back are one entry, however many: a full queue costs no more memory and no more time than an empty one.

use crate::queue::Occupancy;
use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// Packets of a length that leave at equal intervals.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    /// When the first of them has left.
    next: Instant,
    /// Transmission time of each.
    time: Duration,
    len: u32,
    /// How many; 0 only where the backlog is empty.
    count: u32,
}

/// Packets that have not left yet, in order.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Backlog {
    occupancy: Occupancy,
    first: Run,
    others: VecDeque<Run>,
}

impl Backlog {
    /// How much there is, the packet in transmission included.
    #[inline]
    pub fn occupancy(&self) -> Occupancy {
        self.occupancy
    }

    /// The packet in transmission: when it has left, and its length.
    #[inline]
    pub fn in_transmission(&self) -> Option<(Instant, u32)> {
        (self.first.count > 0).then_some((self.first.next, self.first.len))
    }

    /// A packet of `len` bytes is transmitted in `time` until `departure`, right after those that are there.
    #[inline]
    pub fn push(&mut self, departure: Instant, time: Duration, len: u32) {
        self.occupancy.add(len);
        if self.first.count == 0 {
            self.first = Run { next: departure, time, len, count: 1 };
            return;
        }
        let last = self.others.back_mut().unwrap_or(&mut self.first);
        if last.len == len && last.time == time {
            last.count += 1;
        } else {
            self.others.push_back(Run { next: departure, time, len, count: 1 });
        }
    }

    /// A packet of `len` bytes is transmitted in `time` until `departure`; all before it have left.
    #[inline]
    pub fn begin(&mut self, departure: Instant, time: Duration, len: u32) {
        self.occupancy = Occupancy { packets: 1, bytes: u64::from(len) };
        self.first = Run { next: departure, time, len, count: 1 };
        if !self.others.is_empty() {
            self.others.clear();
        }
    }

    /// How long the packets will still wait from `now` on until their transmissions begin, summed over them, in
    /// nanoseconds.
    pub fn waiting_to_come(&self, now: Instant) -> u128 {
        let of_run = |run: &Run| {
            let to_come = (0..u64::from(run.count)).map(|number| run.next + run.time * number);
            to_come
                .map(|departure| u128::from((departure.since(now).saturating_sub(run.time)).as_nanos()))
                .sum::<u128>()
        };
        of_run(&self.first) + self.others.iter().map(of_run).sum::<u128>()
    }

    /// Forgets all packets: the transmitter is idle.
    #[inline]
    pub fn clear(&mut self) {
        self.occupancy = Occupancy::default();
        self.first.count = 0;
        if !self.others.is_empty() {
            self.others.clear();
        }
    }

    /// Forgets the packets that have left by `now`.
    #[inline]
    pub fn remove_until(&mut self, now: Instant) {
        while self.first.count > 0 && self.first.next <= now {
            self.occupancy.remove(self.first.len);
            self.first.count -= 1;
            self.first.next += self.first.time;
            if self.first.count == 0 {
                self.first = self.others.pop_front().unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_a_list_of_packets(steps in proptest::collection::vec((0u64..40, 1u32..4, 1u64..3), 1..200)) {
            let mut backlog = Backlog::default();
            let mut list: VecDeque<(Instant, u32)> = VecDeque::new();
            let (mut now, mut free_at) = (Instant::ZERO, Instant::ZERO);
            for (pause, len, nanos_per_byte) in steps {
                now += Duration::from_nanos(pause / 10);
                backlog.remove_until(now);
                list.retain(|(departure, _)| *departure > now);
                let time = Duration::from_nanos(u64::from(len) * nanos_per_byte);
                free_at = free_at.max(now) + time;
                backlog.push(free_at, time, len);
                list.push_back((free_at, len));
                prop_assert_eq!(backlog.occupancy().packets, list.len() as u64);
                prop_assert_eq!(backlog.occupancy().bytes, list.iter().map(|(_, len)| u64::from(*len)).sum::<u64>());
                prop_assert_eq!(backlog.in_transmission(), list.front().copied());
            }
        }
    }
}
