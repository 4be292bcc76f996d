//! How many new connections the kernel may take in by itself. What it has accepted is served, so it gets no more than there is room for:
//! the table's chain `room` takes in so many openings and no more, and others pass untouched. The daemon grants more as they arrive.

use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An opening that the kernel has taken in arrives within this time, or was none: a client that goes away, a forged address.
const LATE: Duration = Duration::from_secs(2);
/// Granted at the start.
pub(crate) const FIRST: usize = 1024;
/// Granted at a time: half of what a listener lets wait. With what is left of the grant before, its queue of openings is never full then,
/// and there are no SYN cookies.
const MOST: usize = 2048;
/// So many have arrived, or half of a smaller grant: it is time for the next one. On a busy machine, rules take half a second to change,
/// in which thousands of openings come. What is granted while much of a small room may still arrive would be less than the room.
const ENOUGH: usize = MOST / 4;

/// How the kernel's allowance changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Grant {
    /// So many from now on, in the place of what is left of earlier grants.
    Anew(usize),
    /// So many besides what is left.
    More(usize),
}

/// A grant grows by a quarter at least, so that there are few of them.
const GROWTH: usize = 4;

/// What was granted and has not arrived.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    granted: usize,
    arrived: usize,
    /// Of the last grant.
    left: usize,
    /// Of earlier ones, until when each may still arrive.
    late: VecDeque<(Instant, usize)>,
}

impl Room {
    /// After a first grant. `waiting` is the kernel's bound on connections that wait to be accepted (`net.core.somaxconn`).
    pub fn new(granted: usize, waiting: usize) -> Room {
        let most = MOST.min(waiting / 2).max(1);
        Room { most, granted, arrived: 0, left: granted, late: VecDeque::new() }
    }

    /// An opening has arrived; true if enough of what was granted has for the next grant.
    pub fn arrive(&mut self) -> bool {
        self.arrived += 1;
        match self.late.front_mut() {
            Some((_, count)) => {
                *count -= 1;
                if *count == 0 {
                    self.late.pop_front();
                }
            }
            None => self.left = self.left.saturating_sub(1),
        }
        self.is_used_up()
    }

    fn is_used_up(&self) -> bool {
        self.arrived >= self.granted.div_ceil(2).min(ENOUGH)
    }

    /// What is to be granted before the gate opens. While it was shut, nothing of the last grant was taken in; the few that came just
    /// before that are served beyond the bound.
    pub fn open(&mut self, now: Instant, free: usize) -> usize {
        self.left = 0;
        self.late.retain(|(until, _)| now < *until);
        let next = free.saturating_sub(self.possible()).min(self.most);
        self.grant(now, next);
        next
    }

    /// Most that may still arrive.
    fn possible(&self) -> usize {
        self.left + self.late.iter().map(|(_, count)| count).sum::<usize>()
    }

    /// The table was installed anew, with the first grant.
    pub fn start_again(&mut self, now: Instant, granted: usize) {
        self.grant(now, granted);
    }

    /// What is to be granted now, if anything is to change; `free` more connections can be served.
    pub fn next(&mut self, now: Instant, free: usize) -> Option<Grant> {
        self.late.retain(|(until, _)| now < *until);
        let possible = self.possible();
        let next = free.saturating_sub(possible).min(self.most);
        // Proxies take room too. A few more than there may be are served, rather than that some pass for each of theirs.
        let shrinks = possible > free + free / 4 && self.left > 0;
        if shrinks || (next > self.left && self.is_used_up()) {
            self.grant(now, next);
            return Some(Grant::Anew(next));
        }
        // While nothing arrives, what is left may still be taken in, so that a grant in its place would never be larger than half of the room.
        let more = next.min(self.most.saturating_sub(self.left));
        if more == 0 || more * GROWTH < self.left {
            return None;
        }
        self.granted += more;
        self.left += more;
        Some(Grant::More(more))
    }

    fn grant(&mut self, now: Instant, granted: usize) {
        if self.left > 0 {
            self.late.push_back((now + LATE, self.left));
        }
        (self.granted, self.arrived, self.left) = (granted, 0, granted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_node_grants_nothing_and_room_is_granted_again() {
        let (now, mut room) = (Instant::now(), Room::new(100, 4096));
        assert_eq!((0..100).filter(|_| room.arrive()).count(), 51, "from the half on");
        assert_eq!(room.next(now, 0), None, "nothing is left");
        assert_eq!(room.next(now, 10), Some(Grant::Anew(10)));
        assert_eq!(room.next(now, 10), None);
    }

    /// A bound of 25 that rises to 50 while no connection comes: half of what a full terminal was notified of stayed closed until then.
    #[test]
    fn a_bound_that_rises_is_granted_before_anybody_comes() {
        let (now, mut room) = (Instant::now(), Room::new(25, 4096));
        assert_eq!(room.next(now, 30), None, "a fifth is left for later");
        assert_eq!(room.next(now, 50), Some(Grant::More(25)));
        assert_eq!(room.next(now, 50), None);
        assert_eq!((0..50).filter(|_| room.arrive()).count(), 26, "from the half on");
    }

    #[test]
    fn what_others_take_is_taken_back() {
        let (now, mut room) = (Instant::now(), Room::new(100, 4096));
        assert_eq!(room.next(now, 40), Some(Grant::Anew(0)), "all hundred may be on their way");
        assert_eq!(room.next(now + LATE, 40), Some(Grant::Anew(40)), "they were not");
    }

    #[test]
    fn a_gate_that_opens_has_what_there_is_room_for_now() {
        let (now, mut room) = (Instant::now(), Room::new(100, 4096));
        assert_eq!(room.open(now, 30), 30);
        assert_eq!(room.next(now, 30), None);
    }

    #[test]
    fn a_short_queue_is_never_filled() {
        let (now, mut room) = (Instant::now(), Room::new(10, 128));
        (0..10).for_each(|_| assert!(room.arrive() || room.arrived < 5));
        assert_eq!(room.next(now, 10_000), Some(Grant::Anew(64)));
        assert_eq!(room.next(now, 10_000), None, "nor by more");
    }

    /// Openings at a steady rate while each change of the rules takes 0.6 s, as it does on a busy machine: all are taken in. With grants from
    /// the half on, 416 passed.
    #[test]
    fn grants_that_take_long_let_nobody_pass() {
        let (begin, mut room) = (Instant::now(), Room::new(2048, 4096));
        let (mut tokens, mut passed, mut wanted, mut coming) = (2048, 0, false, None);
        // 2,400 in a second.
        for n in 0..24_000 {
            let now = begin + Duration::from_micros(n * 1_000_000 / 2_400);
            match coming.take_if(|(at, _)| *at <= now) {
                Some((_, Grant::Anew(next))) => tokens = next,
                Some((_, Grant::More(more))) => tokens += more,
                None => {}
            }
            if wanted && coming.is_none() {
                wanted = false;
                coming = room.next(now, 5_000).map(|next| (now + Duration::from_millis(600), next));
            }
            if tokens == 0 {
                passed += 1;
            } else {
                tokens -= 1;
                wanted |= room.arrive();
            }
        }
        assert_eq!(passed, 0);
    }

    /// The kernel of the test: openings that it has taken in arrive late or never.
    #[derive(Default)]
    struct Kernel {
        tokens: usize,
        granted: usize,
        on_their_way: Vec<Instant>,
    }

    impl Kernel {
        fn take(&mut self, grant: Grant) {
            match grant {
                Grant::Anew(next) => (self.tokens, self.granted) = (next, next),
                Grant::More(more) => (self.tokens, self.granted) = (self.tokens + more, self.granted + more),
            }
        }
    }

    /// Whatever comes when, no more than there may be is ever served, and with time there is room for all of it again.
    #[test]
    fn no_more_is_taken_in_than_there_is_room_for() {
        for seed in 1..500u64 {
            // A linear congruential generator, Knuth's.
            let mut state = seed;
            let mut draw = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            let bound = 1 + draw(3000);
            let first = bound.min(FIRST);
            let (mut now, mut alive) = (Instant::now(), 0);
            let (mut room, mut kernel) = (Room::new(first, 4096), Kernel::default());
            (kernel.tokens, kernel.granted) = (first, first);
            for _ in 0..60 {
                now += Duration::from_millis(draw(700) as u64);
                // Later than that, an opening does not arrive.
                kernel.on_their_way.retain(|since| now < *since + LATE);
                let taken = draw(2500).min(kernel.tokens);
                kernel.tokens -= taken;
                kernel.on_their_way.extend(vec![now; taken]);
                for _ in 0..draw(2500).min(kernel.on_their_way.len()) {
                    kernel.on_their_way.pop();
                    room.arrive();
                    alive += 1;
                }
                assert!(alive <= bound, "{seed}: {alive} of {bound}");
                alive -= draw(2500).min(alive);
                if let Some(grant) = room.next(now, bound - alive) {
                    kernel.take(grant);
                }
                let possible = alive + kernel.tokens + kernel.on_their_way.len();
                assert!(possible <= bound, "{seed}: {possible} of {bound}");
            }
            // Some never arrive; the rule gives back a part each second, by which the daemon finds that there is room.
            for _ in 0..300 {
                now += Duration::from_secs(1);
                (0..kernel.granted.div_ceil(64).min(bound)).for_each(|_| _ = room.arrive());
                if let Some(grant) = room.next(now, bound) {
                    kernel.take(grant);
                }
            }
            let granted = kernel.granted;
            assert!(granted * 5 >= bound.min(room.most) * 4, "{seed}: {granted} of {bound}");
        }
    }
}
