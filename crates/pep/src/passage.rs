//! Whether openings that the table takes in are answered, and what follows: decided from counters and looks at the kernel's
//! routing, without a clock and without sockets ([`crate::verify`] has both).
//!
//! A look that finds the way broken shuts the gate at once, and one that finds it whole opens it again. A way can be whole as far
//! as the node sees and still lose openings (a firewall). Then openings are taken in and none is answered: the gate shuts, and
//! after a pause, or when another program has changed the rules of nftables, one opening is taken on trial. Its client repeats it
//! a second later if it is lost, and passes untouched then.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Without an answer for so long, an opening is lost: the kernel answers within the same microseconds.
const LOST: Duration = Duration::from_millis(400);
/// The first pause before a trial, and the longest; each trial that fails doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);
/// A gate that was open for so long has been right.
const PROVEN: Duration = Duration::from_secs(60);
/// Rules of others are changed in several steps, and trials need not follow each.
const LEAST_PAUSE: Duration = Duration::from_secs(2);

/// What was seen at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Look {
    /// Table, rules and routes are there, and lead to the listener.
    pub whole: bool,
    /// Openings that were taken in, and those of them that were answered, since the table was installed.
    pub taken: u64,
    pub answered: u64,
    /// Changes with each change of nftables' rules.
    pub generation: u32,
}

/// What becomes of new connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Passage {
    /// They are taken in.
    #[default]
    Open,
    /// One is taken in, to see whether it is answered.
    Trial,
    /// They pass untouched: the way is broken, or the last ones were not answered.
    Shut,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Since when, if it was shut before.
    Open {
        again: Option<Duration>,
    },
    Trial,
    Shut {
        since: Duration,
        broken: bool,
        /// Of the rules after the gate's own change.
        generation: u32,
    },
}

/// Decides what becomes of new connections.
#[derive(Debug)]
pub(crate) struct Judge {
    state: State,
    /// Counters at the last look.
    last: Option<(u64, u64)>,
    /// Since when openings are taken in and none is answered.
    unanswered: Option<Duration>,
    pause: Duration,
}

impl Judge {
    /// The gate is open until a look finds otherwise.
    pub fn new() -> Judge {
        Judge { state: State::Open { again: None }, last: None, unanswered: None, pause: FIRST_PAUSE }
    }

    /// What holds now.
    pub fn passage(&self) -> Passage {
        match self.state {
            State::Open { .. } => Passage::Open,
            State::Trial => Passage::Trial,
            State::Shut { .. } => Passage::Shut,
        }
    }

    /// Takes a look at `now`, a time that never goes back. Returns what holds if that has changed.
    pub fn look(&mut self, now: Duration, look: Look) -> Option<Passage> {
        let before = self.passage();
        let answers = self.count(now, look);
        self.state = match self.state {
            State::Shut { broken: true, .. } if look.whole => State::Open { again: Some(now) },
            State::Shut { since, broken: false, generation } if look.whole => {
                let paused = now.saturating_sub(since);
                let changed = generation != look.generation && paused >= LEAST_PAUSE;
                match changed || paused >= self.pause {
                    true => State::Trial,
                    false => State::Shut { since, broken: false, generation },
                }
            }
            _ if !look.whole => match self.state {
                State::Shut { broken: true, .. } => self.state,
                _ => State::Shut { since: now, broken: true, generation: look.generation },
            },
            State::Trial if answers => State::Open { again: Some(now) },
            State::Open { again } if self.is_lost(now) => {
                let proven = again.is_none_or(|since| now.saturating_sub(since) >= PROVEN);
                self.pause = if proven { FIRST_PAUSE } else { self.doubled() };
                State::Shut { since: now, broken: false, generation: look.generation }
            }
            State::Trial if self.is_lost(now) => {
                self.pause = self.doubled();
                State::Shut { since: now, broken: false, generation: look.generation }
            }
            same => same,
        };
        let after = self.passage();
        if after != before {
            self.unanswered = None;
        }
        (after != before).then_some(after)
    }

    /// What was broken is whole again: openings that were lost before are no evidence.
    pub fn repaired(&mut self) {
        (self.last, self.unanswered) = (None, None);
    }

    /// The gate itself has changed the rules, which has led to this generation.
    pub fn changed_by_gate(&mut self, to: u32) {
        if let State::Shut { generation, .. } = &mut self.state {
            *generation = to;
        }
    }

    /// Brings the counters up to date: true if an opening was answered since the last look.
    fn count(&mut self, now: Duration, look: Look) -> bool {
        // A table that was installed anew counts from zero.
        let (taken, answered) = match self.last {
            Some((taken, answered)) if taken <= look.taken && answered <= look.answered => {
                (look.taken - taken, look.answered - answered)
            }
            _ => (0, 0),
        };
        self.last = Some((look.taken, look.answered));
        let missing = taken.saturating_sub(answered);
        self.unanswered = match (missing, answered) {
            (0, 0) => self.unanswered,
            (_, 0) => self.unanswered.or(Some(now)),
            // The last ones may be the first that are lost.
            (1.., _) if missing * 2 >= taken => Some(now),
            _ => None,
        };
        answered > 0
    }

    fn doubled(&self) -> Duration {
        (self.pause * 2).min(LONGEST_PAUSE)
    }

    fn is_lost(&self, now: Duration) -> bool {
        self.unanswered.is_some_and(|since| now.saturating_sub(since) >= LOST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A judge with a clock that goes on by half a second for each look.
    struct Watched {
        judge: Judge,
        now: Duration,
        look: Look,
    }

    const STEP: Duration = Duration::from_millis(500);

    impl Watched {
        fn new() -> Watched {
            let look = Look { whole: true, taken: 0, answered: 0, generation: 1 };
            let mut watched = Watched { judge: Judge::new(), now: Duration::ZERO, look };
            watched.after(0, 0);
            watched
        }

        /// The next look, with so many more openings taken in and answered.
        fn after(&mut self, taken: u64, answered: u64) -> Option<Passage> {
            self.look.taken += taken;
            self.look.answered += answered;
            self.now += STEP;
            self.judge.look(self.now, self.look)
        }

        /// Looks without openings until something changes, and the time until then.
        fn until_change(&mut self) -> (Option<Passage>, Duration) {
            let begin = self.now;
            for _ in 0..5000 {
                if let Some(passage) = self.after(0, 0) {
                    return (Some(passage), self.now - begin);
                }
            }
            (None, self.now - begin)
        }
    }

    #[test]
    fn openings_without_answers_shut_the_gate_within_a_second() {
        let mut watched = Watched::new();
        assert_eq!(watched.after(1, 0), None, "the answer may be under way");
        assert_eq!(watched.after(0, 0), Some(Passage::Shut));
    }

    #[test]
    fn answers_keep_it_open() {
        let mut watched = Watched::new();
        for _ in 0..100 {
            assert_eq!(watched.after(7, 5), None, "some clients' firewalls do not shut out all");
            assert_eq!(watched.after(0, 0), None);
        }
    }

    #[test]
    fn a_broken_way_shuts_at_once_and_a_whole_one_opens() {
        let mut watched = Watched::new();
        watched.look.whole = false;
        assert_eq!(watched.after(0, 0), Some(Passage::Shut));
        assert_eq!(watched.until_change().0, None);
        watched.look.whole = true;
        assert_eq!(watched.after(0, 0), Some(Passage::Open));
    }

    #[test]
    fn trials_come_after_pauses_that_double() {
        let mut watched = Watched::new();
        watched.after(1, 0);
        watched.after(0, 0);
        let mut pauses = vec![];
        for _ in 0..8 {
            let (passage, pause) = watched.until_change();
            assert_eq!(passage, Some(Passage::Trial));
            pauses.push(pause.as_secs());
            assert_eq!(watched.until_change().0, None, "a trial waits for an opening");
            watched.after(1, 0);
            assert_eq!(watched.after(0, 0), Some(Passage::Shut));
        }
        assert_eq!(pauses, [10, 20, 40, 80, 160, 320, 600, 600]);
        watched.until_change();
        assert_eq!(watched.after(1, 1), Some(Passage::Open));
    }

    #[test]
    fn a_change_of_the_rules_brings_the_trial_at_once() {
        let mut watched = Watched::new();
        watched.after(1, 0);
        watched.after(0, 0);
        watched.look.generation += 1;
        watched.judge.changed_by_gate(watched.look.generation);
        assert_eq!(watched.after(0, 0), None);
        watched.look.generation += 1;
        let (passage, time) = watched.until_change();
        assert_eq!((passage, time <= LEAST_PAUSE), (Some(Passage::Trial), true));
    }

    /// Two openings within one look, and then none: the second one shows that the way is lost.
    #[test]
    fn an_opening_right_after_an_answered_one_counts() {
        let mut watched = Watched::new();
        assert_eq!(watched.after(2, 1), None);
        assert_eq!(watched.after(0, 0), Some(Passage::Shut));
        let mut watched = Watched::new();
        assert_eq!(watched.after(2, 1), None);
        assert_eq!(watched.after(1, 2), None, "its answer was under way");
        assert_eq!(watched.after(0, 0), None);
    }

    #[test]
    fn what_was_lost_before_a_repair_is_no_evidence() {
        let mut watched = Watched::new();
        assert_eq!(watched.after(1, 0), None);
        watched.judge.repaired();
        assert_eq!(watched.after(1, 0), None);
        assert_eq!(watched.after(0, 0), None);
        assert_eq!(watched.after(1, 0), None);
        assert_eq!(watched.after(0, 0), Some(Passage::Shut), "what is lost after it is");
    }

    /// Faults that come and go must not make the gate flap: pauses go on growing until it has stayed open for a minute.
    #[test]
    fn a_gate_that_fails_again_soon_pauses_longer() {
        let mut watched = Watched::new();
        watched.after(1, 0);
        watched.after(0, 0);
        watched.until_change();
        watched.after(1, 0);
        watched.after(0, 0);
        watched.until_change();
        assert_eq!(watched.after(1, 1), Some(Passage::Open));
        watched.after(1, 0);
        assert_eq!(watched.after(0, 0), Some(Passage::Shut));
        assert_eq!(watched.until_change().1.as_secs(), 40, "doubled once more");
        watched.after(1, 1);
        for _ in 0..120 {
            watched.after(1, 1);
        }
        watched.after(1, 0);
        watched.after(0, 0);
        assert_eq!(watched.until_change().1.as_secs(), 10);
    }

    #[test]
    fn a_table_that_was_installed_anew_is_no_evidence() {
        let mut watched = Watched::new();
        watched.after(100, 100);
        watched.look.taken = 0;
        watched.look.answered = 0;
        assert_eq!(watched.after(0, 0), None);
        assert_eq!(watched.after(3, 3), None);
        assert_eq!(watched.until_change().0, None);
    }
}
