//! When each byte in flight was first sent: one record for all that left back to back, dropped as it is acknowledged.

use longhaul_units::Instant;
use std::collections::VecDeque;

#[derive(Clone, Debug, Default)]
pub(crate) struct SendLog {
    /// End of a run of bytes, and when it was sent. A run begins where the one before ends.
    runs: VecDeque<(u64, Instant)>,
}

/// Departure times of the data that one ACK acknowledges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Departures {
    /// Of its first byte: what the RTO has to cover, delayed ACKs included.
    pub oldest: Instant,
    /// Of its last byte: the path's round trip.
    pub newest: Instant,
}

impl SendLog {
    /// New data up to `end` leaves.
    #[inline(always)]
    pub fn sent(&mut self, end: u64, now: Instant) {
        match self.runs.back_mut() {
            Some(run) if run.1 == now => run.0 = end,
            _ => self.runs.push_back((end, now)),
        }
    }
    /// When the byte at `position`, which is not acknowledged, was sent.
    pub fn departure_of(&self, position: u64) -> Option<Instant> {
        self.runs.iter().find(|run| run.0 > position).map(|run| run.1)
    }
    /// Everything below `una` is acknowledged.
    #[inline]
    pub fn acknowledge(&mut self, una: u64) -> Option<Departures> {
        let &(end, oldest) = self.runs.front()?;
        let newest = if end < una {
            self.newest_below(una, oldest)
        } else {
            if end == una {
                self.runs.pop_front();
            }
            oldest
        };
        Some(Departures { oldest, newest })
    }

    /// When the last byte below `una` was sent, which is not in the first run.
    #[inline(never)]
    fn newest_below(&mut self, una: u64, mut newest: Instant) -> Instant {
        while let Some(&(end, at)) = self.runs.front() {
            newest = at;
            if end > una {
                break;
            }
            self.runs.pop_front();
            if end == una {
                break;
            }
        }
        newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_in_the_middle_of_a_run_leaves_its_rest() {
        let at = Instant::from_nanos;
        let mut log = SendLog::default();
        log.sent(100, at(5));
        log.sent(200, at(5));
        log.sent(300, at(7));
        assert_eq!(log.runs.len(), 2);
        assert_eq!(log.acknowledge(100), Some(Departures { oldest: at(5), newest: at(5) }));
        assert_eq!(log.acknowledge(300), Some(Departures { oldest: at(5), newest: at(7) }));
        assert_eq!(log.acknowledge(300), None);
    }
}
