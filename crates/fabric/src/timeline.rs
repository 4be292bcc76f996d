//! The event queue: each component has at most one next event, and the earliest of all wins.
//!
//! A heap of four children a node, in which entries that have been overtaken by a later [`Timeline::set`] stay until they
//! come to the top. An event mostly sets one other: that takes the place of the spent entry at the top, so that an
//! event costs one way down the heap.
//!
//! Ties are common: links of equal rates keep the packets of all flows on one grid of times. A fixed order of components
//! would make the first ones win every time, and a full DropTail queue would then never drop their packets. So a tie is
//! decided by a hash of time and component: the same in every run and whatever the order of calls, and fair to all.
//! [`Ties::Scheduled`] is the order of calls instead, for comparisons with simulators that have it.

use longhaul_scenario::Ties;
use longhaul_units::Instant;

/// Children of a node.
const FAN: usize = 4;

/// Next event of each of a fixed number of components.
pub struct Timeline {
    /// When each component has its next event: an entry of the heap with another time is void. One more component,
    /// the last, never has an event.
    times: Vec<Instant>,
    /// Places `ROOT..end` are the heap, the rest is filled with keys of that component: it is what a heap without events
    /// has at its top. The children of place `p` are family `p - (FAN - 2)`.
    families: Vec<Family>,
    end: usize,
    ties: Ties,
    /// How often an event was set. Around a wrap, after four billion events, a few ties are decided the other way.
    set: u32,
}

/// Four siblings in one cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Family([Key; FAN]);

/// The place of the top: the last of the first family, so that the places of all others' children begin a family.
const ROOT: usize = FAN - 1;

/// Time, rank among ties, and component in one number, in this order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u128);

impl Key {
    #[inline]
    fn new(time: Instant, component: usize) -> Self {
        Key::ranked(time, rank(time, component), component)
    }
    #[inline]
    fn ranked(time: Instant, rank: u32, component: usize) -> Self {
        Key(u128::from(time.as_nanos()) << 64 | u128::from(rank) << 32 | component as u128)
    }
    /// When it is.
    #[inline]
    pub fn time(self) -> Instant {
        Instant::from_nanos((self.0 >> 64) as u64)
    }
    /// Whose it is.
    #[inline]
    pub fn component(self) -> usize {
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
    pub fn new(components: usize, ties: Ties) -> Self {
        let never = Key::new(Instant::FAR_FUTURE, components);
        let times = vec![Instant::FAR_FUTURE; components + 1];
        Timeline { times, families: vec![Family([never; FAN])], end: ROOT, ties, set: 0 }
    }

    /// True if of two components with an event at the same time `component` comes first.
    #[inline]
    pub fn wins(component: usize, other: usize, time: Instant) -> bool {
        Key::new(time, component) < Key::new(time, other)
    }

    /// The earliest event; at [`Instant::FAR_FUTURE`] when there is none.
    #[inline]
    pub fn first(&mut self) -> Key {
        while self.first_is_void() {
            self.remove_first();
        }
        self.key(ROOT)
    }

    /// Sets when `component` has its next event; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub fn set(&mut self, component: usize, time: Instant) {
        let before = std::mem::replace(&mut self.times[component], time);
        if time == before || time == Instant::FAR_FUTURE {
            return;
        }
        let key = self.key_of(time, component);
        if self.first_is_void() {
            self.sink(key);
        } else {
            self.rise(key);
        }
    }

    /// The same for the component of the first event, as [`Timeline::first`] gave it.
    #[inline]
    pub fn set_first(&mut self, component: usize, time: Instant) {
        let before = std::mem::replace(&mut self.times[component], time);
        if time != before && time != Instant::FAR_FUTURE {
            let key = self.key_of(time, component);
            self.sink(key);
        }
    }

    #[inline]
    fn key_of(&mut self, time: Instant, component: usize) -> Key {
        match self.ties {
            Ties::Hash => Key::new(time, component),
            Ties::Scheduled => {
                self.set = self.set.wrapping_add(1);
                Key::ranked(time, self.set, component)
            }
        }
    }

    /// When `component` has its next event.
    #[cfg(test)]
    pub fn get(&self, component: usize) -> Instant {
        self.times[component]
    }

    #[inline]
    fn key(&self, place: usize) -> Key {
        self.families[place / FAN].0[place % FAN]
    }
    #[inline]
    fn put(&mut self, place: usize, key: Key) {
        self.families[place / FAN].0[place % FAN] = key;
    }

    #[inline]
    fn first_is_void(&self) -> bool {
        let first = self.key(ROOT);
        self.times[first.component()] != first.time()
    }

    #[cold]
    fn remove_first(&mut self) {
        self.end -= 1;
        let last = self.key(self.end);
        self.put(self.end, Key::new(Instant::FAR_FUTURE, self.times.len() - 1));
        if self.end > ROOT {
            self.sink(last);
        }
    }

    /// Puts `key` in the place of the first entry and moves it down.
    #[inline]
    fn sink(&mut self, key: Key) {
        // The place, as family and which of its members.
        let (mut family, mut member) = (ROOT / FAN, ROOT % FAN);
        let mut below = ROOT - (FAN - 2);
        while let Some(children) = self.families.get(below) {
            let (child, least) = children.least();
            if key < least {
                break;
            }
            self.families[family].0[member] = least;
            (family, member) = (below, child);
            below = FAN * family + member - (FAN - 2);
        }
        self.families[family].0[member] = key;
    }

    /// Adds `key` at the end and moves it up.
    #[inline]
    fn rise(&mut self, key: Key) {
        let mut place = self.end;
        self.end += 1;
        if place / FAN == self.families.len() {
            let never = Key::new(Instant::FAR_FUTURE, self.times.len() - 1);
            self.families.push(Family([never; FAN]));
        }
        while place > ROOT {
            let parent = place / FAN + (FAN - 2);
            let above = self.key(parent);
            if above < key {
                break;
            }
            self.put(place, above);
            place = parent;
        }
        self.put(place, key);
    }
}

impl Family {
    /// The least key and which it is; without a branch that could be mispredicted.
    #[inline]
    fn least(&self) -> (usize, Key) {
        let [a, b, c, d] = self.0;
        let low = if b < a { (1, b) } else { (0, a) };
        let high = if d < c { (3, d) } else { (2, c) };
        if high.1 < low.1 { high } else { low }
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
        assert_eq!(Timeline::new(3, Ties::Hash).first().time(), Instant::FAR_FUTURE);
    }

    #[test]
    fn ties_are_decided_alike_whatever_the_order_of_calls() {
        let first = |order: [usize; 3]| {
            let mut timeline = Timeline::new(5, Ties::Hash);
            order.into_iter().for_each(|component| timeline.set(component, at(7)));
            timeline.first()
        };
        assert_eq!(first([4, 2, 3]).component(), first([3, 4, 2]).component());
        assert_eq!(first([2, 3, 4]).time(), at(7));
    }

    #[test]
    fn ties_may_be_decided_by_the_order_of_calls() {
        let mut timeline = Timeline::new(5, Ties::Scheduled);
        [4, 2, 3].into_iter().for_each(|component| timeline.set(component, at(7)));
        let mut order = vec![];
        for _ in 0..6 {
            let first = timeline.first();
            order.push(first.component());
            timeline.set_first(first.component(), at(first.time().as_nanos() + 10));
        }
        assert_eq!(order, [4, 2, 3, 4, 2, 3], "components keep their order");
    }

    #[test]
    fn ties_favour_nobody() {
        let mut timeline = Timeline::new(10, Ties::Hash);
        let mut wins = [0u32; 10];
        for tick in 0..100_000 {
            (0..10).for_each(|component| timeline.set(component, at(83_200 * tick)));
            wins[timeline.first().component()] += 1;
        }
        assert!(wins.iter().all(|wins| (9_600..10_400).contains(wins)), "each wins a tenth: {wins:?}");
    }

    proptest! {
        #[test]
        fn the_first_is_the_minimum(scheduled: bool, count in 1usize..40, steps in proptest::collection::vec((0usize..40, 0u64..50), 0..200)) {
            let mut timeline = Timeline::new(count, if scheduled { Ties::Scheduled } else { Ties::Hash });
            let mut model = vec![Instant::FAR_FUTURE; count];
            for (component, time) in steps {
                let component = component % count;
                let time = if time > 40 { Instant::FAR_FUTURE } else { at(time) };
                timeline.set(component, time);
                model[component] = time;
                let least = *model.iter().min().unwrap();
                prop_assert_eq!(timeline.first().time(), least);
                if least < Instant::FAR_FUTURE {
                    prop_assert_eq!(model[timeline.first().component()], least);
                }
                prop_assert_eq!(timeline.get(component), time);
            }
        }
    }
}
