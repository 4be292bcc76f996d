//! How many bytes of a flow may be under way or unread.
//!
//! All flows of a peer share its memory. A flow may have as much as an eighth of what is still free, up to its credit: a
//! dynamic threshold (A. Choudhury and E. Hahne, IEEE/ACM Transactions on Networking 6(2), 1998). So flows that nobody reads
//! never take all of it, however many they are, and a single one is limited by its credit only. [`FLOOR`] bytes are always
//! free for each flow, so that none waits for another.

/// Bytes that a flow may have under way or unread in any case.
pub const FLOOR: u64 = 16 << 10;
/// Credit of a flow before the peer's hello has come.
const EARLY: u64 = 64 << 10;

/// What this node may send to a peer.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    credit: u64,
    memory: u64,
    outstanding: u64,
}

impl Budget {
    /// Before the peer's hello.
    pub fn early() -> Self {
        Budget { credit: EARLY, memory: 8 * EARLY, outstanding: 0 }
    }

    /// The smaller of both nodes' limits.
    pub fn set(&mut self, credit: u64, memory: u64) {
        (self.credit, self.memory) = (credit.max(FLOOR), memory.max(FLOOR));
    }

    #[cfg(test)]
    fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Most bytes that a flow may have outstanding while there is no other.
    pub fn most(&self) -> u64 {
        (self.memory / 8).min(self.credit).max(FLOOR)
    }

    /// Bytes that a flow with so many outstanding may add.
    pub fn room(&self, outstanding: u64) -> u64 {
        let free = self.memory.saturating_sub(self.outstanding);
        let limit = (free / 8).min(self.credit).max(FLOOR);
        limit.saturating_sub(outstanding)
    }

    /// Bytes were added.
    pub fn add(&mut self, bytes: u64) {
        self.outstanding += bytes;
    }

    /// Bytes were read by the peer's owner, or given up.
    pub fn give_back(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.outstanding, "{bytes} bytes of {} come back", self.outstanding);
        self.outstanding = self.outstanding.saturating_sub(bytes);
    }

    /// Room at which a flow that waits is woken up: a part of what it can have at most.
    pub fn worth_waking(&self) -> u64 {
        (self.credit / 8).clamp(1, FLOOR)
    }
}

/// What waits at this node to be sent: bounded in all, so that it follows the link and not the credits.
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    limit: u64,
    waiting: u64,
}

impl Backlog {
    /// So many bytes may wait, and [`FLOOR`] of each flow in any case.
    pub fn new(limit: u64) -> Self {
        Backlog { limit, waiting: 0 }
    }

    /// Bytes that a flow may add, of which `own` wait, while bytes of so many flows do.
    pub fn room(&self, flows: usize, own: u64) -> u64 {
        let free = self.limit.saturating_sub(self.waiting);
        free.min(self.part(flows).saturating_sub(own)).max(FLOOR.saturating_sub(own))
    }

    /// True if a flow that waits for room is worth waking up.
    pub fn has_drained(&self, flows: usize, own: u64) -> bool {
        own <= self.part(flows) / 2
    }

    fn part(&self, flows: usize) -> u64 {
        (self.limit / flows.max(1) as u64).max(FLOOR)
    }

    /// Bytes were queued.
    pub fn add(&mut self, bytes: u64) {
        self.waiting += bytes;
    }

    /// Bytes have left the queue.
    pub fn remove(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.waiting, "{bytes} bytes of {} leave", self.waiting);
        self.waiting = self.waiting.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn budget(credit: u64, memory: u64) -> Budget {
        let mut budget = Budget::early();
        budget.set(credit, memory);
        budget
    }

    #[test]
    fn one_flow_alone_has_its_whole_credit() {
        let mut budget = budget(16 << 20, 144 << 20);
        budget.add((16 << 20) - 1);
        assert_eq!(budget.room((16 << 20) - 1), 1);
    }

    /// Thirty flows that nobody reads, one after the other: the next has more than 800 kB.
    #[test]
    fn flows_that_nobody_reads_leave_room() {
        let mut budget = budget(16 << 20, 256 << 20);
        for _ in 0..30 {
            let room = budget.room(0);
            let taken = (0..).scan(0, |has, _| {
                let more = budget.room(*has).min(1400);
                budget.add(more);
                *has += more;
                (more > 0).then_some(*has)
            });
            assert!(taken.last().unwrap() <= room);
        }
        assert!(budget.outstanding() < 256 << 20);
        assert!(budget.room(0) > 800_000, "{}", budget.room(0));
    }

    /// One flow has all of it; those that come later wait for no other, and all have the same part once what waited has left.
    #[test]
    fn a_backlog_is_bounded_and_everybody_has_some_of_it() {
        let mut backlog = Backlog::new(1 << 20);
        assert_eq!(backlog.room(0, 0), 1 << 20);
        backlog.add(1 << 20);
        assert_eq!((backlog.room(1, 1 << 20), backlog.room(1, 0)), (0, FLOOR));
        backlog.remove(1 << 19);
        assert_eq!((backlog.room(2, 0), backlog.room(4, 0)), (1 << 19, 1 << 18));
        assert!(backlog.has_drained(2, 1 << 18) && !backlog.has_drained(2, (1 << 18) + 1));
    }

    proptest! {
        /// Flows add what they may and give back some of it, in any order: memory is never overrun by more than the floors, and
        /// a flow without bytes outstanding never waits.
        #[test]
        fn no_overrun_and_no_deadlock(
            credit in FLOOR..1 << 22,
            steps in prop::collection::vec((0usize..30, 1u64..200_000, any::<bool>()), 1..400),
        ) {
            let mut budget = budget(credit, 9 * credit);
            let mut flows = [0u64; 30];
            for (flow, bytes, back) in steps {
                if back {
                    let bytes = bytes.min(flows[flow]);
                    budget.give_back(bytes);
                    flows[flow] -= bytes;
                } else {
                    let bytes = bytes.min(budget.room(flows[flow]));
                    budget.add(bytes);
                    flows[flow] += bytes;
                }
                prop_assert_eq!(budget.outstanding(), flows.iter().sum::<u64>());
                prop_assert!(budget.outstanding() <= 9 * credit + 30 * FLOOR);
                prop_assert!(flows.iter().all(|has| *has <= credit.max(FLOOR)));
                prop_assert!(budget.room(0) >= FLOOR);
            }
        }
    }
}
