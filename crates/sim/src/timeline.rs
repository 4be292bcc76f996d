//! The event queue: each component has at most one next event, and the earliest of all wins.
//!
//! A tournament tree: a leaf for each component, and every inner node holds the winner of its two children. Setting a
//! component's time costs at most log2(n) compares without a branch to mispredict, fewer when the winner above does not
//! change.
//!
//! Ties are common: links of equal rates keep the packets of all flows on one grid of times. A fixed order of components
//! would make the first ones win every time, and a full DropTail queue would then never drop their packets. So a tie is
//! decided by a hash of time and component: the same in every run and whatever the order of calls, and fair to all.

use longhaul_units::Instant;

/// Next event of each of a fixed number of components.
pub(crate) struct Timeline {
    /// Number of leaves, a power of two; the root is node 1, leaf `i` is node `leaves + i`.
    leaves: usize,
    nodes: Vec<Key>,
}

/// Time, rank among ties, and component in one number, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    #[inline]
    fn new(time: Instant, component: usize) -> Self {
        Key(u128::from(time.as_nanos()) << 64 | u128::from(rank(time, component)) << 32 | component as u128)
    }
    #[inline]
    fn time(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
    #[inline]
    fn component(self) -> usize {
        self.0 as u32 as usize
    }
}

/// The order of components that tie: a hash whose order for any two components is as good as a coin at each time.
#[inline]
fn rank(time: Instant, component: usize) -> u32 {
    // Two rounds of multiply and xor-shift with odd constants (the golden ratio's, and one of SplitMix64's).
    let mut mixed = time.as_nanos() ^ (component as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^= mixed >> 32;
    (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

impl Timeline {
    /// A timeline without events.
    pub fn new(components: usize) -> Self {
        let leaves = components.next_power_of_two().max(2);
        let mut nodes = vec![Key::new(Instant::FAR_FUTURE, 0); 2 * leaves];
        for (component, node) in nodes[leaves..].iter_mut().enumerate() {
            *node = Key::new(Instant::FAR_FUTURE, component);
        }
        for node in (1..leaves).rev() {
            nodes[node] = nodes[2 * node];
        }
        Timeline { leaves, nodes }
    }

    /// The earliest event and its component.
    #[inline]
    pub fn first(&self) -> (Instant, usize) {
        (self.nodes[1].time(), self.nodes[1].component())
    }

    /// Sets when `component` has its next event; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub fn set(&mut self, component: usize, time: Instant) {
        // The winner so far stays in a register: only the loads of the siblings, which do not depend on it, touch memory.
        let mut winner = Key::new(time, component);
        let mut node = self.leaves + component;
        while self.nodes[node] != winner {
            self.nodes[node] = winner;
            winner = winner.min(self.nodes[node ^ 1]);
            node >>= 1;
            if node == 0 {
                return;
            }
        }
    }

    /// When `component` has its next event.
    #[inline]
    pub fn get(&self, component: usize) -> Instant {
        self.nodes[self.leaves + component].time()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn without_events_the_first_is_never() {
        assert_eq!(Timeline::new(3).first().0, Instant::FAR_FUTURE);
    }

    #[test]
    fn ties_are_decided_alike_whatever_the_order_of_calls() {
        let first = |order: [usize; 3]| {
            let mut timeline = Timeline::new(5);
            order.into_iter().for_each(|component| timeline.set(component, at(7)));
            timeline.first()
        };
        assert_eq!(first([4, 2, 3]), first([3, 4, 2]));
        assert_eq!(first([2, 3, 4]).0, at(7));
    }

    #[test]
    fn ties_favour_nobody() {
        let mut timeline = Timeline::new(10);
        let mut wins = [0u32; 10];
        for tick in 0..100_000 {
            (0..10).for_each(|component| timeline.set(component, at(83_200 * tick)));
            wins[timeline.first().1] += 1;
        }
        assert!(wins.iter().all(|wins| (9_600..10_400).contains(wins)), "each wins a tenth: {wins:?}");
    }

    proptest! {
        #[test]
        fn the_first_is_the_minimum(count in 1usize..40, steps in proptest::collection::vec((0usize..40, 0u64..50), 0..200)) {
            let mut timeline = Timeline::new(count);
            let mut model = vec![Instant::FAR_FUTURE; count];
            for (component, time) in steps {
                let component = component % count;
                let time = if time > 40 { Instant::FAR_FUTURE } else { at(time) };
                timeline.set(component, time);
                model[component] = time;
                let least = *model.iter().min().unwrap();
                prop_assert_eq!(timeline.first().0, least);
                if least < Instant::FAR_FUTURE {
                    prop_assert_eq!(model[timeline.first().1], least);
                }
                prop_assert_eq!(timeline.get(component), time);
            }
        }
    }
}
