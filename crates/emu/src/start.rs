//! The moment at which everything begins: threads that take their time to get ready (priorities, namespaces) wait for each other,
//! and the clock starts when the last of them is. So no packet is sent before somebody moves packets, and time zero is the same
//! for all.

use crate::clock::Clock;
use std::sync::{Condvar, Mutex, PoisonError};

/// A start that a number of threads wait for.
pub struct Start {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Clone, Copy)]
enum State {
    /// So many are not ready yet.
    Waiting(usize),
    Begun(Clock),
    /// One of them will never be ready.
    Cancelled,
}

impl Start {
    /// A start of so many threads.
    pub fn of(threads: usize) -> Self {
        Start { state: Mutex::new(State::Waiting(threads)), changed: Condvar::new() }
    }

    /// The calling thread is ready: waits until all are. Returns the clock, which the last one starts; `None` if the start is
    /// cancelled.
    pub fn ready(&self) -> Option<Clock> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Waiting(left) = *state {
            *state = if left > 1 { State::Waiting(left - 1) } else { State::Begun(Clock::start()) };
            self.changed.notify_all();
        }
        loop {
            match *state {
                State::Begun(clock) => return Some(clock),
                State::Cancelled => return None,
                State::Waiting(_) => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// There will be no start, unless it has been: whoever waits goes on without a clock.
    pub fn cancel(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Waiting(_) = *state {
            *state = State::Cancelled;
            self.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn nobody_begins_before_the_last_is_ready_and_time_is_counted_from_then() {
        let (start, last_is_ready) = (Start::of(3), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let early = || {
                let clock = start.ready().unwrap();
                (last_is_ready.load(Ordering::SeqCst), clock)
            };
            let threads = [scope.spawn(early), scope.spawn(early)];
            std::thread::sleep(std::time::Duration::from_millis(20));
            last_is_ready.store(true, Ordering::SeqCst);
            let clock = start.ready().unwrap();
            for thread in threads {
                let (waited, same) = thread.join().unwrap();
                assert!(waited);
                // Two readings of one clock, one after the other, in this order.
                let (first, second) = (clock.now(), same.now());
                assert!(first <= second && second.since(first) < longhaul_units::Duration::from_secs(60));
            }
        });
    }

    #[test]
    fn a_start_that_cannot_be_lets_everybody_go() {
        let start = Start::of(3);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| start.ready().is_none());
            start.cancel();
            assert!(waiting.join().unwrap());
        });
        assert!(start.ready().is_none());
    }
}
