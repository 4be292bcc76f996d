//! Timers of many connections in one middlebox. A timer mostly moves on with every packet; so an entry that has been
//! overtaken by a later time stays, and its owner, woken too early, sets it again.

use longhaul_units::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When to look after whom.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// The earliest entry of each owner that counts.
    wake: Vec<Instant>,
}

impl Timers {
    /// Sets a timer: `owner` is woken at `due` or before.
    #[inline]
    pub fn set(&mut self, owner: usize, due: Option<Instant>) {
        let Some(due) = due else { return };
        if owner >= self.wake.len() {
            self.wake.resize(owner + 1, Instant::FAR_FUTURE);
        }
        if due < self.wake[owner] {
            self.wake[owner] = due;
            self.heap.push(Reverse((due, owner as u32)));
        }
    }
    /// When the next owner is to be woken.
    #[inline]
    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }
    /// An owner whose time has come.
    pub fn expired(&mut self, now: Instant) -> Option<usize> {
        while let Some(&Reverse((due, owner))) = self.heap.peek() {
            if due > now {
                return None;
            }
            self.heap.pop();
            let owner = owner as usize;
            if self.wake[owner] == due {
                self.wake[owner] = Instant::FAR_FUTURE;
                return Some(owner);
            }
        }
        None
    }
    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Timers::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each owner is woken no later than its timer was set for, and everything set is woken.
        #[test]
        fn nobody_oversleeps(steps in proptest::collection::vec((0usize..5, 0u64..40), 1..200)) {
            let mut timers = Timers::default();
            let mut asked = [u64::MAX; 5];
            let mut now = 0;
            for (owner, ahead) in steps {
                timers.set(owner, Some(Instant::from_nanos(now + ahead)));
                asked[owner] = asked[owner].min(now + ahead);
                now += 1;
                while let Some(woken) = timers.expired(Instant::from_nanos(now)) {
                    asked[woken] = u64::MAX;
                }
                prop_assert!(asked.iter().all(|due| *due > now));
                let least = asked.iter().min().filter(|due| **due < u64::MAX);
                if let Some(due) = least {
                    prop_assert!(timers.next().is_some_and(|next| next.as_nanos() <= *due));
                }
            }
        }
    }
}
