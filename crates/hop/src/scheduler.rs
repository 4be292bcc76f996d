//! Which flow sends next: deficit round robin (M. Shreedhar and G. Varghese, SIGCOMM 1995) in two classes. Flows that have sent
//! little since they were idle are *young*; they get three turns of four at least while both classes have something to send, so
//! that a small answer does not wait for transfers.

use longhaul_units::{Duration, Instant};
use std::collections::VecDeque;

/// Bytes up to which a flow is young.
const YOUNG: u64 = 64 << 10;
/// After so long without anything to send a flow is young again.
const REST: Duration = Duration::from_millis(250);

/// A flow's place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    waits: bool,
    attained: u64,
    idle_since: Option<Instant>,
}

impl Turn {
    /// The flow has sent little since it was idle.
    pub fn is_young(&self) -> bool {
        self.attained < YOUNG
    }

    /// Bytes until it is no longer young.
    pub fn young_for(&self) -> u64 {
        YOUNG.saturating_sub(self.attained)
    }

    /// Bytes sent since it was idle.
    pub fn attained(&self) -> u64 {
        self.attained
    }

    /// It has sent something.
    pub fn sent(&mut self, bytes: u64) {
        self.attained += bytes;
    }
}

/// Flows that have something to send, by stream.
#[derive(Debug, Default)]
pub struct Scheduler {
    young: VecDeque<u64>,
    old: VecDeque<u64>,
    /// Turns that old flows have earned, in 1/1024.
    earned: u64,
}

impl Scheduler {
    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }

    /// Flows that wait.
    pub fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    /// A flow that had nothing to send has something.
    pub fn wake(&mut self, now: Instant, stream: u64, turn: &mut Turn) {
        if turn.waits {
            return;
        }
        if turn.idle_since.is_some_and(|since| now.since(since) >= REST) {
            turn.attained = 0;
        }
        self.put_back(stream, turn);
    }

    /// The flow whose turn it is; it has to be put back or put to rest.
    pub fn next(&mut self) -> Option<u64> {
        // No more than a quarter, and no more than as many turns as they are among all.
        let old = self.old.len() as u64;
        self.earned += (1024 * old / self.len().max(1) as u64).min(256);
        let (first, second) = if self.earned >= 1024 {
            self.earned -= 1024;
            (&mut self.old, &mut self.young)
        } else {
            (&mut self.young, &mut self.old)
        };
        first.pop_front().or_else(|| second.pop_front())
    }

    /// The flow has more to send.
    pub fn put_back(&mut self, stream: u64, turn: &mut Turn) {
        turn.waits = true;
        if turn.is_young() { self.young.push_back(stream) } else { self.old.push_back(stream) }
    }

    /// The flow has nothing more to send.
    pub fn rest(&mut self, now: Instant, turn: &mut Turn) {
        (turn.waits, turn.idle_since) = (false, Some(now));
    }

    /// A flow is gone.
    pub fn remove(&mut self, stream: u64) {
        self.young.retain(|other| *other != stream);
        self.old.retain(|other| *other != stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves turns of one packet and returns how often each flow came.
    fn serve(scheduler: &mut Scheduler, turns: &mut [Turn], count: usize) -> Vec<usize> {
        let mut served = vec![0; turns.len()];
        for _ in 0..count {
            let stream = scheduler.next().unwrap();
            let turn = &mut turns[stream as usize];
            turn.sent(1400);
            served[stream as usize] += 1;
            scheduler.put_back(stream, turn);
        }
        served
    }

    #[test]
    fn old_flows_take_turns() {
        let (mut scheduler, mut turns) = (Scheduler::default(), vec![Turn::default(); 5]);
        for (stream, turn) in turns.iter_mut().enumerate() {
            turn.sent(YOUNG);
            scheduler.wake(Instant::ZERO, stream as u64, turn);
        }
        assert_eq!(serve(&mut scheduler, &mut turns, 50), [10; 5]);
    }

    #[test]
    fn a_young_flow_has_three_turns_of_four_and_becomes_old() {
        let (mut scheduler, mut turns) = (Scheduler::default(), vec![Turn::default(); 5]);
        for (stream, turn) in turns.iter_mut().enumerate() {
            turn.sent(if stream == 0 { 0 } else { YOUNG });
            scheduler.wake(Instant::ZERO, stream as u64, turn);
        }
        assert_eq!(serve(&mut scheduler, &mut turns, 40)[0], 30);
        let later = serve(&mut scheduler, &mut turns, 400);
        assert!(later[0] < 120, "{later:?}");
        // After a rest it is young again, not before.
        let turn = &mut turns[0];
        scheduler.remove(0);
        let second = Instant::ZERO + Duration::from_secs(1);
        scheduler.rest(second, turn);
        scheduler.wake(second + Duration::from_millis(249), 0, turn);
        assert!(!turn.is_young());
        scheduler.remove(0);
        scheduler.rest(second, turn);
        scheduler.wake(second + Duration::from_millis(250), 0, turn);
        assert!(turn.is_young());
    }
}
