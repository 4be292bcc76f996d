//! Which flow sends next. Classes of flows share the sender ([`Shares`]). Within a class it is deficit round robin (M. Shreedhar and
//! G. Varghese, SIGCOMM 1995) of two kinds: flows that have sent little since they were idle are *young*; they get three turns of four
//! at least while both kinds have something to send, so that a small answer does not wait for transfers.

use crate::shares::{Member, Pick, Portion, Shares};
use longhaul_units::{Duration, Instant};
use std::collections::{BTreeMap, VecDeque};

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
    class: u16,
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

    /// Its class, 0 for flows without one.
    pub fn class(&self) -> u16 {
        self.class
    }
}

/// Flows of a class that have something to send, by stream.
#[derive(Debug, Default)]
struct Class {
    member: Member,
    young: VecDeque<u64>,
    old: VecDeque<u64>,
    /// Turns that old flows have earned, in 1/1024.
    earned: u64,
}

impl Class {
    fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }

    fn next(&mut self) -> Option<u64> {
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
}

/// Flows that have something to send, by class.
#[derive(Debug, Default)]
pub struct Scheduler {
    classes: BTreeMap<u16, Class>,
    shares: Shares,
    waiting: usize,
}

impl Scheduler {
    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Flows that wait.
    pub fn len(&self) -> usize {
        self.waiting
    }

    /// A class gets another portion; without one, it has that of flows without a class unless that was set.
    pub fn set_portion(&mut self, class: u16, portion: Option<Portion>) {
        if portion.is_none() && self.classes.get(&class).is_some_and(|class| class.len() == 0) {
            self.classes.remove(&class);
        } else if portion.is_some() || self.classes.contains_key(&class) {
            let class = self.classes.entry(class).or_default();
            self.shares.set(&mut class.member, portion.unwrap_or_default());
        }
    }

    /// A flow belongs to another class from now on.
    pub fn set_class(&mut self, stream: u64, turn: &mut Turn, class: u16) {
        if turn.class == class {
            return;
        }
        let waits = turn.waits;
        self.remove(stream, turn);
        turn.class = class;
        if waits {
            self.put_back(stream, turn);
        }
    }

    /// True if a flow alone may have several turns in a row.
    pub fn is_unbounded(&self, turn: &Turn) -> bool {
        self.classes.get(&turn.class).is_none_or(|class| class.member.portion.ceiling.is_none())
    }

    /// When one of those that wait may have a turn, if none may now.
    pub fn release(&mut self, now: Instant) -> Option<Instant> {
        match self.shares.pick(now, waiting(&self.classes)) {
            Pick::Until(release) => Some(release),
            Pick::Now(_) | Pick::Nobody => None,
        }
    }

    /// When a class that waits is to be served by its floor.
    pub fn floor_at(&self) -> Option<Instant> {
        Shares::floor_at(waiting(&self.classes).map(|(_, member)| member))
    }

    /// True if the flow's class has a floor.
    pub fn has_floor(&self, turn: &Turn) -> bool {
        self.classes.get(&turn.class).is_some_and(|class| class.member.portion.floor.is_some())
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

    /// The flow whose turn it is; it has to be put back or put to rest. `None` if nothing waits, or only what has reached its ceiling.
    pub fn next(&mut self, now: Instant) -> Option<u64> {
        let Pick::Now(class) = self.shares.pick(now, waiting(&self.classes)) else { return None };
        let stream = self.classes.get_mut(&class)?.next()?;
        self.waiting -= 1;
        Some(stream)
    }

    /// The flow whose turn it is has sent something.
    pub fn sent(&mut self, now: Instant, turn: &mut Turn, bytes: u64) {
        turn.sent(bytes);
        if let Some(class) = self.classes.get_mut(&turn.class) {
            self.shares.charge(now, &mut class.member, bytes);
        }
    }

    /// The flow has more to send.
    pub fn put_back(&mut self, stream: u64, turn: &mut Turn) {
        turn.waits = true;
        let class = self.classes.entry(turn.class).or_default();
        if class.len() == 0 {
            self.shares.wake(&mut class.member);
        }
        if turn.is_young() {
            class.young.push_back(stream)
        } else {
            class.old.push_back(stream)
        }
        self.waiting += 1;
    }

    /// The flow has nothing more to send.
    pub fn rest(&mut self, now: Instant, turn: &mut Turn) {
        (turn.waits, turn.idle_since) = (false, Some(now));
    }

    /// A flow is gone.
    pub fn remove(&mut self, stream: u64, turn: &mut Turn) {
        turn.waits = false;
        let Some(class) = self.classes.get_mut(&turn.class) else { return };
        let before = class.len();
        class.young.retain(|other| *other != stream);
        class.old.retain(|other| *other != stream);
        self.waiting -= before - class.len();
    }
}

fn waiting(classes: &BTreeMap<u16, Class>) -> impl Iterator<Item = (u16, &Member)> {
    classes.iter().filter(|(_, class)| class.len() > 0).map(|(id, class)| (*id, &class.member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_units::Rate;

    /// Serves turns of one packet and returns how often each flow came.
    fn serve(scheduler: &mut Scheduler, turns: &mut [Turn], count: usize) -> Vec<usize> {
        let mut served = vec![0; turns.len()];
        for _ in 0..count {
            let stream = scheduler.next(Instant::ZERO).unwrap();
            let turn = &mut turns[stream as usize];
            scheduler.sent(Instant::ZERO, turn, 1400);
            served[stream as usize] += 1;
            scheduler.put_back(stream, turn);
        }
        served
    }

    #[test]
    fn old_flows_take_turns() {
        let (mut scheduler, mut turns) = (Scheduler::default(), vec![Turn::default(); 5]);
        for (stream, turn) in turns.iter_mut().enumerate() {
            turn.attained = YOUNG;
            scheduler.wake(Instant::ZERO, stream as u64, turn);
        }
        assert_eq!(serve(&mut scheduler, &mut turns, 50), [10; 5]);
    }

    #[test]
    fn a_young_flow_has_three_turns_of_four_and_becomes_old() {
        let (mut scheduler, mut turns) = (Scheduler::default(), vec![Turn::default(); 5]);
        for (stream, turn) in turns.iter_mut().enumerate() {
            turn.attained = if stream == 0 { 0 } else { YOUNG };
            scheduler.wake(Instant::ZERO, stream as u64, turn);
        }
        assert_eq!(serve(&mut scheduler, &mut turns, 40)[0], 30);
        let later = serve(&mut scheduler, &mut turns, 400);
        assert!(later[0] < 120, "{later:?}");
        // After a rest it is young again, not before.
        let turn = &mut turns[0];
        scheduler.remove(0, turn);
        let second = Instant::ZERO + Duration::from_secs(1);
        scheduler.rest(second, turn);
        scheduler.wake(second + Duration::from_millis(249), 0, turn);
        assert!(!turn.is_young());
        scheduler.remove(0, turn);
        scheduler.rest(second, turn);
        scheduler.wake(second + Duration::from_millis(250), 0, turn);
        assert!(turn.is_young());
    }

    #[test]
    fn flows_of_a_class_share_what_the_class_has() {
        let (mut scheduler, mut turns) = (Scheduler::default(), vec![Turn::default(); 5]);
        scheduler.set_portion(7, Some(Portion { weight: 3, ..Portion::default() }));
        for (stream, turn) in turns.iter_mut().enumerate() {
            turn.attained = YOUNG;
            turn.class = if stream == 4 { 7 } else { 0 };
            scheduler.wake(Instant::ZERO, stream as u64, turn);
        }
        let served = serve(&mut scheduler, &mut turns, 160);
        assert!(
            (119..=121).contains(&served[4]) && served[..4].iter().all(|turns| (9..=11).contains(turns)),
            "{served:?}"
        );
        // One that changes its class does so with what waits; the class without flows gets nothing.
        scheduler.set_class(4, &mut turns[4], 0);
        let served = serve(&mut scheduler, &mut turns, 100);
        assert_eq!(served, [20; 5]);
        assert_eq!(scheduler.len(), 5);
    }

    #[test]
    fn what_has_reached_its_ceiling_waits_for_its_time() {
        let (mut scheduler, mut turn) = (Scheduler::default(), Turn { class: 1, ..Turn::default() });
        scheduler
            .set_portion(1, Some(Portion { ceiling: Some(Rate::from_bps(112_000)), ..Portion::default() }));
        let now = Instant::ZERO + Duration::from_secs(1);
        scheduler.wake(now, 0, &mut turn);
        assert_eq!(scheduler.next(now), Some(0));
        // A tenth of a second, less the ten milliseconds that were not used.
        scheduler.sent(now, &mut turn, 1400);
        scheduler.put_back(0, &mut turn);
        assert_eq!((scheduler.next(now), scheduler.is_empty()), (None, false));
        let release = now + Duration::from_millis(90);
        assert_eq!((scheduler.release(now), scheduler.next(release)), (Some(release), Some(0)));
    }
}
