//! The event queue: each component has at most one next event, and the earliest of all wins.
//!
//! A tournament tree: a leaf for each component, and every inner node holds the winner of its two children. Setting a
//! component's time costs at most log2(n) compares without a branch to mispredict, fewer when the winner above does not
//! change. At equal times the component that was created first wins, whatever the order of calls.

use longhaul_units::Instant;

/// Next event of each of a fixed number of components.
pub(crate) struct Timeline {
    /// Number of leaves, a power of two; the root is node 1, leaf `i` is node `leaves + i`.
    leaves: usize,
    nodes: Vec<Key>,
}

/// A time and a component in one number, ordered by time first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key(u128);

impl Key {
    #[inline]
    fn new(time: Instant, component: usize) -> Self {
        Key(u128::from(time.as_nanos()) << 32 | component as u128)
    }
    #[inline]
    fn time(self) -> Instant {
        Instant::from_nanos((self.0 >> 32) as u64)
    }
    #[inline]
    fn component(self) -> usize {
        self.0 as u32 as usize
    }
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
    fn at_equal_times_the_first_component_wins() {
        let mut timeline = Timeline::new(5);
        for component in [4, 2, 3] {
            timeline.set(component, at(7));
        }
        assert_eq!(timeline.first(), (at(7), 2));
        timeline.set(2, Instant::FAR_FUTURE);
        assert_eq!(timeline.first(), (at(7), 3));
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
                    prop_assert_eq!(timeline.first().1, model.iter().position(|time| *time == least).unwrap());
                }
                prop_assert_eq!(timeline.get(component), time);
            }
        }
    }
}
