//! Which of a terminal's hubs takes new connections: the first of the list that answers. Without a clock and without sockets.
//!
//! A hub that gives no answer for some seconds is left for the next one that does. It is taken again once it has answered for much
//! longer, so that a hub which falters does not move connections each time.

use std::time::{Duration, Instant};

/// What is seen of a hub.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// There is no tunnel.
    Down,
    /// There is one, which has given no answer for [`Policy::take_over`].
    Silent,
    /// There is one, and it answers.
    Answers,
}

/// When hubs are changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// A hub without an answer is left after this time.
    pub take_over: Duration,
    /// Another one has answered for so long before it is taken, so that an outage that ends for all changes nothing.
    pub settle: Duration,
    /// An earlier one of the list has answered for so long before it is taken again; `None`: it is not.
    pub fail_back: Option<Duration>,
}

/// The hubs of a list, by their places in it.
#[derive(Debug)]
pub(crate) struct Failover {
    in_use: usize,
    /// Since when each has answered without a pause.
    answers_since: Vec<Option<Instant>>,
    /// Since when the one in use has not.
    ill: Option<Instant>,
    /// Those to which there is to be a tunnel.
    wanted: Vec<bool>,
}

impl Failover {
    /// So many hubs, the first one in use.
    pub fn new(hubs: usize) -> Failover {
        let wanted = (0..hubs).map(|hub| hub == 0).collect();
        Failover { in_use: 0, answers_since: vec![None; hubs], ill: None, wanted }
    }

    /// The one that takes new connections.
    pub fn in_use(&self) -> usize {
        self.in_use
    }

    /// Whether there is to be a tunnel to a hub.
    pub fn is_wanted(&self, hub: usize) -> bool {
        self.wanted[hub]
    }

    /// Takes up what is seen of all hubs now.
    pub fn look(&mut self, now: Instant, seen: &[Seen], policy: Policy) {
        for (since, seen) in self.answers_since.iter_mut().zip(seen) {
            *since = if *seen == Seen::Answers { Some(since.unwrap_or(now)) } else { None };
        }
        self.ill = match seen[self.in_use] {
            Seen::Answers => None,
            Seen::Down => Some(self.ill.unwrap_or(now)),
            // It is called silent after this time only.
            Seen::Silent => {
                Some(self.ill.unwrap_or_else(|| now.checked_sub(policy.take_over).unwrap_or(now)))
            }
        };
        let tried = self.ill.map_or(0, |ill| self.tried(now.duration_since(ill), policy.take_over));
        let others: Vec<usize> = (0..seen.len()).filter(|hub| *hub != self.in_use).take(tried).collect();
        let answers =
            |hub: usize, time| self.answers_since[hub].is_some_and(|since| now.duration_since(since) >= time);
        let next = match (self.ill, policy.fail_back) {
            (Some(_), _) if tried > 0 => (0..seen.len()).find(|hub| answers(*hub, policy.settle)),
            (None, Some(time)) => (0..self.in_use).find(|hub| answers(*hub, time)),
            _ => None,
        };
        if let Some(next) = next {
            (self.in_use, self.ill) = (next, None);
        }
        for (hub, wanted) in self.wanted.iter_mut().enumerate() {
            let comes_back = hub < self.in_use && policy.fail_back.is_some();
            *wanted = hub == self.in_use || comes_back || (next.is_none() && others.contains(&hub));
        }
    }

    /// How many others are tried: one more each time that the last one has had as long as the hub in use.
    fn tried(&self, ill: Duration, take_over: Duration) -> usize {
        let rounds = ill.as_nanos() / take_over.as_nanos().max(1);
        usize::try_from(rounds).unwrap_or(usize::MAX).min(self.wanted.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Seen::{Answers, Down, Silent};

    const POLICY: Policy = Policy {
        take_over: Duration::from_secs(5),
        settle: Duration::from_secs(1),
        fail_back: Some(Duration::from_secs(60)),
    };

    /// A list of hubs, looked at twice a second.
    struct Fleet {
        failover: Failover,
        now: Instant,
        policy: Policy,
    }

    impl Fleet {
        fn new(hubs: usize, policy: Policy) -> Fleet {
            Fleet { failover: Failover::new(hubs), now: Instant::now(), policy }
        }

        /// For so many seconds this is seen; returns which hub is in use then.
        fn see(&mut self, seconds: f64, seen: &[Seen]) -> usize {
            let end = self.now + Duration::from_secs_f64(seconds);
            while self.now < end {
                self.failover.look(self.now, seen, self.policy);
                self.now += Duration::from_millis(500);
            }
            self.failover.in_use()
        }

        fn wanted(&self) -> Vec<usize> {
            (0..self.failover.wanted.len()).filter(|hub| self.failover.is_wanted(*hub)).collect()
        }
    }

    #[test]
    fn a_silent_hub_is_left_for_one_that_answers_and_taken_again_after_its_time() {
        let mut fleet = Fleet::new(2, POLICY);
        assert_eq!(fleet.see(100.0, &[Answers, Down]), 0);
        assert_eq!(fleet.wanted(), [0], "the second costs nothing meanwhile");
        assert_eq!(fleet.see(0.5, &[Silent, Down]), 0);
        assert_eq!(fleet.wanted(), [0, 1]);
        assert_eq!(fleet.see(1.0, &[Silent, Answers]), 0, "it has not answered for long");
        assert_eq!(fleet.see(0.5, &[Silent, Answers]), 1);
        assert_eq!(fleet.see(600.0, &[Down, Answers]), 1);
        assert_eq!(fleet.wanted(), [0, 1], "whether the first is back is looked for");
        assert_eq!(fleet.see(59.0, &[Answers, Answers]), 1);
        assert_eq!(fleet.see(2.0, &[Answers, Answers]), 0);
        assert_eq!(fleet.wanted(), [0]);
    }

    #[test]
    fn a_hub_that_falters_is_not_taken_again() {
        let mut fleet = Fleet::new(2, POLICY);
        fleet.see(6.0, &[Down, Down]);
        assert_eq!(fleet.see(2.0, &[Down, Answers]), 1);
        for _ in 0..10 {
            assert_eq!(fleet.see(50.0, &[Answers, Answers]), 1);
            assert_eq!(fleet.see(1.0, &[Silent, Answers]), 1);
        }
    }

    #[test]
    fn an_outage_that_ends_for_all_hubs_changes_nothing() {
        let mut fleet = Fleet::new(2, POLICY);
        fleet.see(10.0, &[Answers, Down]);
        assert_eq!(fleet.see(30.0, &[Silent, Down]), 0);
        assert_eq!(fleet.see(0.5, &[Silent, Answers]), 0);
        assert_eq!(fleet.see(60.0, &[Answers, Answers]), 0);
        assert_eq!(fleet.wanted(), [0]);
    }

    #[test]
    fn the_whole_list_is_tried_one_after_the_other() {
        let mut fleet = Fleet::new(3, POLICY);
        fleet.see(5.0, &[Down, Down, Down]);
        assert_eq!(fleet.wanted(), [0], "the first has its time");
        fleet.see(5.0, &[Down, Down, Down]);
        assert_eq!(fleet.wanted(), [0, 1]);
        fleet.see(5.0, &[Down, Down, Down]);
        assert_eq!(fleet.wanted(), [0, 1, 2]);
        assert_eq!(fleet.see(2.0, &[Down, Down, Answers]), 2);
        // A better one is taken in its turn.
        assert_eq!(fleet.see(61.0, &[Down, Answers, Answers]), 1);
        // And at once if there is no other.
        fleet.see(1.0, &[Answers, Silent, Down]);
        assert_eq!(fleet.see(1.0, &[Answers, Silent, Down]), 0);
    }

    #[test]
    fn without_fail_back_the_hub_in_use_stays() {
        let mut fleet = Fleet::new(2, Policy { fail_back: None, ..POLICY });
        fleet.see(6.0, &[Down, Down]);
        assert_eq!(fleet.see(2.0, &[Down, Answers]), 1);
        assert_eq!(fleet.see(1000.0, &[Answers, Answers]), 1);
        assert_eq!(fleet.wanted(), [1]);
        fleet.see(2.0, &[Answers, Silent]);
        assert_eq!(fleet.see(2.0, &[Answers, Silent]), 0, "unless it is silent");
    }
}
