//! When each part of the world has its next event: a heap in which entries that were overtaken stay until they come to the
//! top.

use longhaul_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Next events of a fixed number of components.
pub(crate) struct Agenda {
    /// An entry of the heap with another time is void.
    times: Vec<Instant>,
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
}

impl Agenda {
    pub fn new(components: usize) -> Self {
        Agenda { times: vec![Instant::FAR_FUTURE; components], heap: BinaryHeap::new() }
    }

    /// Sets when `component` has its next event; [`Instant::FAR_FUTURE`] for never.
    pub fn set(&mut self, component: usize, time: Instant) {
        let before = std::mem::replace(&mut self.times[component], time);
        if before != time && time != Instant::FAR_FUTURE {
            self.heap.push(Reverse((time, component)));
        }
    }

    /// The earliest event and its component.
    pub fn first(&mut self) -> Option<(Instant, usize)> {
        while let Some(Reverse((time, component))) = self.heap.peek().copied() {
            if self.times[component] == time {
                return Some((time, component));
            }
            self.heap.pop();
        }
        None
    }

    /// Removes and returns the earliest event if it is due at `now`.
    pub fn take_due(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let (time, component) = self.first().filter(|(time, _)| *time <= now)?;
        self.heap.pop();
        self.times[component] = Instant::FAR_FUTURE;
        Some((time, component))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn events_come_in_order_and_what_was_overtaken_does_not() {
        let mut agenda = Agenda::new(3);
        agenda.set(0, at(30));
        agenda.set(1, at(20));
        agenda.set(2, at(10));
        agenda.set(2, at(40));
        agenda.set(1, Instant::FAR_FUTURE);
        assert_eq!(agenda.first(), Some((at(30), 0)));
        assert_eq!(agenda.take_due(at(29)), None);
        assert_eq!(agenda.take_due(at(30)), Some((at(30), 0)));
        assert_eq!(agenda.take_due(at(99)), Some((at(40), 2)));
        assert_eq!(agenda.first(), None);
    }
}
