//! How many flows each terminal of a hub may have: what it has, and an even share of what is left. A terminal with several carriers has one
//! room for all of them, so that one that changes its carrier keeps it.
//!
//! A terminal may use a bound until it has heard of a lower one, and for as long as its kernel takes in openings that it was granted
//! before. So a bound that was lowered counts on for [`LATE`], and no bound is raised to what is promised to others: with all that
//! terminals may open, there are never more flows than the hub has room for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A round trip of a second, and two in which openings that a kernel has taken in may arrive.
pub(crate) const LATE: Duration = Duration::from_secs(3);

/// What a terminal was promised.
#[derive(Debug, Default)]
struct Promise {
    bound: u32,
    /// A larger bound before, until when it may still be used.
    before: Option<(Instant, u32)>,
}

impl Promise {
    fn most(&self, now: Instant) -> u32 {
        self.before.filter(|(until, _)| now < *until).map_or(self.bound, |(_, bound)| bound.max(self.bound))
    }

    fn lower(&mut self, now: Instant, bound: u32) {
        let most = self.most(now);
        (self.before, self.bound) = (Some((now + LATE, most)), bound);
    }
}

/// All terminals, by what identifies them: their keys.
#[derive(Debug)]
pub(crate) struct Allotment<T> {
    promises: BTreeMap<T, Promise>,
}

impl<T> Default for Allotment<T> {
    fn default() -> Self {
        Allotment { promises: BTreeMap::new() }
    }
}

impl<T: Copy + Ord> Allotment<T> {
    /// The bound of each terminal, at least 1, with `flows` in all; `carriers` has each carrier's terminal and the flows that are on it now.
    pub fn divide(&mut self, now: Instant, flows: usize, carriers: &[(T, u32)]) -> BTreeMap<T, u32> {
        let mut present: BTreeMap<T, u32> = BTreeMap::new();
        for (terminal, own) in carriers {
            let flows = present.entry(*terminal).or_default();
            *flows = flows.saturating_add(*own);
        }
        self.promises.retain(|terminal, _| present.contains_key(terminal));
        let flows = u32::try_from(flows).unwrap_or(u32::MAX);
        let used = present.values().fold(0u32, |sum, own| sum.saturating_add(*own));
        let share = flows.saturating_sub(used) / u32::try_from(present.len().max(1)).unwrap_or(u32::MAX);
        let mut wanted = vec![];
        for (terminal, own) in &present {
            let target = own.saturating_add(share).max(1);
            let promise = self.promises.entry(*terminal).or_default();
            if target < promise.bound {
                promise.lower(now, target);
            } else if target > promise.most(now) {
                wanted.push((*terminal, target));
            } else {
                // It was promised that, and may use it still.
                promise.bound = target;
            }
        }
        let promised = |all: &BTreeMap<T, Promise>| {
            all.values().fold(0u32, |sum, one| sum.saturating_add(one.most(now)))
        };
        let mut free = flows.saturating_sub(promised(&self.promises));
        // Those with the least first, so that one that has just come is not the last.
        wanted.sort_by_key(|(terminal, _)| self.promises.get(terminal).map_or(0, |promise| promise.bound));
        let mut left = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        for (terminal, target) in wanted {
            let Some(promise) = self.promises.get_mut(&terminal) else { continue };
            let most = promise.most(now);
            promise.bound = target.min(most.saturating_add(free / left.max(1))).max(1);
            free = free.saturating_sub(promise.bound.saturating_sub(most));
            left -= 1;
        }
        self.promises.iter().map(|(terminal, promise)| (*terminal, promise.bound)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounds with 100 flows in all, in the order of the terminals.
    fn bounds(all: &mut Allotment<u64>, now: Instant, carriers: &[(u64, u32)]) -> Vec<(u64, u32)> {
        all.divide(now, 100, carriers).into_iter().collect()
    }

    #[test]
    fn what_is_left_is_divided_evenly_and_one_alone_has_all() {
        let (now, mut all) = (Instant::now(), Allotment::default());
        assert_eq!(bounds(&mut all, now, &[(1, 0)]), [(1, 100)]);
        assert_eq!(bounds(&mut all, now, &[(1, 40)]), [(1, 100)]);
        // A second one waits until the first can have heard that it may open fewer.
        assert_eq!(bounds(&mut all, now, &[(1, 40), (2, 0)]), [(1, 70), (2, 1)]);
        assert_eq!(bounds(&mut all, now + LATE, &[(1, 40), (2, 0)]), [(1, 70), (2, 30)]);
        assert_eq!(bounds(&mut all, now + LATE, &[(1, 70), (2, 30)]), [(1, 70), (2, 30)], "it is full");
        // There is room again, and both have it at once as far as nobody else was promised it.
        let found = bounds(&mut all, now + 2 * LATE, &[(1, 10), (2, 30)]);
        assert_eq!(found, [(1, 40), (2, 30)], "promised to the first for a while");
        assert_eq!(bounds(&mut all, now + 3 * LATE, &[(1, 10), (2, 30)]), [(1, 40), (2, 60)]);
        // A terminal that is gone leaves what it was promised.
        assert_eq!(bounds(&mut all, now + 3 * LATE, &[(2, 30)]), [(2, 100)]);
    }

    /// The second carrier of a terminal came with a room of 1, so that all new connections passed whenever it changed.
    #[test]
    fn a_terminal_has_one_room_for_all_its_carriers() {
        let (now, mut all) = (Instant::now(), Allotment::default());
        assert_eq!(bounds(&mut all, now, &[(1, 40)]), [(1, 100)]);
        assert_eq!(bounds(&mut all, now, &[(1, 40), (1, 0)]), [(1, 100)], "as it was");
        assert_eq!(bounds(&mut all, now, &[(1, 0), (1, 30)]), [(1, 100)], "and when the first one ends");
        assert_eq!(bounds(&mut all, now, &[(1, 30)]), [(1, 100)]);
        // Beside another terminal, it counts once.
        assert_eq!(bounds(&mut all, now, &[(1, 20), (2, 0), (1, 20)]), [(1, 70), (2, 1)]);
        assert_eq!(bounds(&mut all, now + LATE, &[(1, 20), (2, 0), (1, 20)]), [(1, 70), (2, 30)]);
    }

    /// Terminals open and close at random, and hear of their bounds late: there are never more flows than there is room for.
    #[test]
    fn no_more_is_promised_than_there_is_room_for() {
        for seed in 1..300u64 {
            // A linear congruential generator, Knuth's.
            let mut state = seed;
            let mut draw = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            let (flows, count) = (20 + draw(3000), 1 + draw(8));
            let (mut now, mut all) = (Instant::now(), Allotment::default());
            let mut own = vec![0u32; count];
            // What each has heard, and what is on its way: it arrives within LATE.
            let mut heard = vec![0u32; count];
            let mut on_their_way: Vec<(Instant, usize, u32)> = vec![];
            for _ in 0..200 {
                now += Duration::from_millis(draw(500) as u64);
                let arrived: Vec<_> = on_their_way.iter().copied().filter(|(at, ..)| *at <= now).collect();
                on_their_way.retain(|(at, ..)| *at > now);
                arrived.iter().for_each(|(_, terminal, bound)| heard[*terminal] = *bound);
                for terminal in 0..count {
                    if draw(2) == 0 {
                        let room = heard[terminal].saturating_sub(own[terminal]) as usize;
                        own[terminal] += draw(room + 1) as u32;
                    } else {
                        own[terminal] -= draw(own[terminal] as usize + 1) as u32;
                    }
                }
                let total: u32 = own.iter().sum();
                // Each has one at least.
                assert!(total as usize <= flows + count, "{seed}: {total} of {flows}");
                let present: Vec<(u64, u32)> =
                    own.iter().enumerate().map(|(at, own)| (at as u64, *own)).collect();
                for (terminal, bound) in all.divide(now, flows, &present) {
                    on_their_way.push((now + Duration::from_millis(800), terminal as usize, bound));
                }
            }
        }
    }
}
