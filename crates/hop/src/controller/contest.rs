//! A queue that others keep. Where the queue stays although this sender has drained its own part of it, lower rates do not empty it, they
//! give the link away. The sender then takes what it is delivered at most, probing for more, as BBR does (N. Cardwell et al., ACM Queue
//! 14(5), 2016), until the queue is gone. On a link that belongs to others too a window decides instead (`rival`); when the contest begins
//! and ends is decided here for both.

use crate::config::Share;
use longhaul_units::{Duration, Instant, Rate};
use std::collections::VecDeque;

/// Overloads in a row without an empty queue between them that make a contest. With a window, each does: it begins by letting out this
/// sender's part of the queue, and is over soon if there are no others.
const fn overloads(share: Share) -> u32 {
    match share {
        Share::Exclusive => 2,
        Share::Fair => 1,
    }
}
/// Round trips of which the best delivery counts.
const MEMORY: usize = 10;
/// The rate of each round trip in percent of that: more is tried, what that has put into the queue is let out, and the rest cruises.
const GAINS: [u64; 8] = [125, 75, 100, 100, 100, 100, 100, 100];

#[derive(Clone, Debug, Default)]
pub struct Contest {
    overloads: u32,
    /// The best part that was delivered in them.
    part: Rate,
    /// Delivery of the last round trips, the newest last; empty without a contest.
    delivered: VecDeque<Rate>,
    began: Instant,
    round: usize,
    /// The queue was not empty then.
    waited: Instant,
}

impl Contest {
    /// Whether there is one.
    pub fn is_on(&self) -> bool {
        !self.delivered.is_empty()
    }

    /// The queue is empty.
    pub fn queue_is_empty(&mut self) {
        (self.overloads, self.part) = (0, Rate::ZERO);
    }

    /// An overload, in which `delivered` was this sender's part; true if a contest begins.
    pub fn overload(&mut self, now: Instant, delivered: Rate, share: Share) -> bool {
        self.overloads += 1;
        self.part = self.part.max(delivered);
        if self.overloads < overloads(share) {
            return false;
        }
        *self = Contest { delivered: [self.part].into(), began: now, waited: now, ..Contest::default() };
        true
    }

    /// During a contest: the queue's waiting time is `waits` now. The rate to go on with, if a round trip is over; `delivered` is
    /// what was delivered in it, `None` if that shows nothing. The contest ends when the queue has been empty for two round trips.
    pub fn round(
        &mut self,
        now: Instant,
        rtt: Duration,
        waits: bool,
        delivered: Option<Rate>,
    ) -> Option<Rate> {
        if waits {
            self.waited = now;
        }
        if now.since(self.waited) > rtt + rtt {
            let best = self.best();
            *self = Contest::default();
            return Some(best);
        }
        if now.since(self.began) < rtt {
            return None;
        }
        (self.began, self.round) = (now, self.round + 1);
        if let Some(delivered) = delivered {
            self.delivered.push_back(delivered);
            if self.delivered.len() > MEMORY {
                self.delivered.pop_front();
            }
        }
        Some(Rate::from_bps(self.best().as_bps() * GAINS[self.round % GAINS.len()] / 100))
    }

    fn best(&self) -> Rate {
        self.delivered.iter().copied().max().unwrap_or(Rate::ZERO)
    }
}
