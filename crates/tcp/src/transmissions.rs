//! When each byte in flight was last sent, retransmissions included, and what the connection had delivered by then: one
//! record for all that left back to back. Kept only where it is needed: delivery rate samples, loss detection by time.

use longhaul_units::Instant;
use std::collections::VecDeque;

/// A run of bytes that left at the same time. It begins where the run before ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Run {
    pub end: u64,
    pub sent_at: Instant,
    /// Its place in the order of departures, for loss detection by time; else 0.
    pub order: u64,
    /// Sent before: no round trip is measured by it (Karn's rule).
    pub retransmitted: bool,
    pub then: Snapshot,
}

/// The connection's counters when a run left: the packet's state in draft-ietf-ccwg-bbr-04 section 4.1.2.2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Snapshot {
    /// P.first_send_time: start of the send interval.
    pub first_sent_at: Instant,
    /// P.delivered.
    pub delivered: u64,
    /// P.delivered_time.
    pub delivered_at: Instant,
    /// P.lost.
    pub lost: u64,
    /// P.tx_in_flight: bytes in flight, these included.
    pub in_flight: u64,
    /// P.is_app_limited.
    pub app_limited: bool,
}

/// The runs of all that is between SND.UNA and SND.MAX, in the order of the stream.
#[derive(Clone, Debug)]
pub(crate) struct Transmissions {
    /// Start of the first run.
    floor: u64,
    runs: VecDeque<Run>,
    /// Payload of a full segment, where runs are to show where segments end; else 0.
    unit: u64,
}

impl Transmissions {
    pub fn new(floor: u64) -> Self {
        Transmissions { floor, runs: VecDeque::new(), unit: 0 }
    }

    /// From now on a run holds full segments of so much, of which only the last may be shorter.
    pub fn keep_segments(&mut self, unit: u64) {
        self.unit = unit;
    }
    /// Start of the run with this index.
    fn start_of(&self, index: usize) -> u64 {
        if index == 0 { self.floor } else { self.runs[index - 1].end }
    }
    /// The segments that lie in `[start, end)` whole; all of it where runs do not show them.
    pub fn whole_segments(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        if self.unit == 0 {
            return Some((start, end));
        }
        let mut whole = (start.max(self.floor), end);
        let first = self.index_of(whole.0);
        if let Some(run) = self.runs.get(first) {
            let begin = self.start_of(first);
            whole.0 = run.end.min(begin + (whole.0 - begin).next_multiple_of(self.unit));
        }
        let last = self.index_of(end.saturating_sub(1));
        if self.runs.get(last).is_some_and(|run| end < run.end) {
            let begin = self.start_of(last);
            whole.1 = begin + (end - begin) / self.unit * self.unit;
        }
        (whole.0 < whole.1).then_some(whole)
    }

    /// New data up to `run.end` leaves.
    pub fn sent(&mut self, run: Run) {
        let full = self.unit == 0 || self.ends_full();
        match self.runs.back_mut() {
            Some(last)
                if full
                    && last.sent_at == run.sent_at
                    && last.order == run.order
                    && last.then.delivered == run.then.delivered =>
            {
                last.end = run.end;
                last.then.in_flight = run.then.in_flight;
            }
            _ => self.runs.push_back(run),
        }
    }

    /// The last segment is a full one.
    fn ends_full(&self) -> bool {
        let last = self.runs.len().saturating_sub(1);
        self.runs.get(last).is_none_or(|run| (run.end - self.start_of(last)) % self.unit == 0)
    }

    /// Data from `start` to `run.end` leaves again.
    pub fn resent(&mut self, start: u64, run: Run) {
        let start = start.max(self.floor);
        if start >= run.end {
            return;
        }
        let first = self.split_at(start);
        let after = self.split_at(run.end);
        match after - first {
            0 => {}
            1 => self.runs[first] = run,
            _ => {
                self.runs[first] = run;
                self.runs.drain(first + 1..after);
            }
        }
    }

    /// Makes a run begin at `position`; returns its index, or the number of runs if all end there or before.
    fn split_at(&mut self, position: u64) -> usize {
        let index = self.index_of(position);
        let Some(&run) = self.runs.get(index) else { return index };
        let start = if index == 0 { self.floor } else { self.runs[index - 1].end };
        if start >= position {
            return index;
        }
        self.runs.insert(index, Run { end: position, ..run });
        index + 1
    }

    /// Index of the run that holds the byte at `position`.
    fn index_of(&self, position: u64) -> usize {
        match self.runs.front() {
            Some(front) if front.end > position => 0,
            _ => self.runs.partition_point(|run| run.end <= position),
        }
    }

    /// The parts of runs that lie in `[start, end)`, in the order of the stream: their start, their end, the run.
    pub fn within(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, u64, &Run)> {
        let first = self.index_of(start);
        let mut begin = if first == 0 { self.floor } else { self.runs[first - 1].end };
        self.runs.range(first..).map_while(move |run| {
            let part = (begin.max(start), run.end.min(end), run);
            begin = run.end;
            (part.0 < end).then_some(part)
        })
    }

    /// Everything below `una` is acknowledged.
    pub fn acknowledge(&mut self, una: u64) {
        while self.runs.front().is_some_and(|run| run.end <= una) {
            self.runs.pop_front();
        }
        self.floor = self.floor.max(una);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(end: u64, at: u64, retransmitted: bool) -> Run {
        // Counters that differ keep runs apart that leave at the same time.
        let then = Snapshot { delivered: at, ..Snapshot::default() };
        Run { end, sent_at: Instant::from_nanos(at), order: 0, retransmitted, then }
    }
    fn times(log: &Transmissions, start: u64, end: u64) -> Vec<(u64, u64)> {
        log.within(start, end).map(|(_, end, run)| (end, run.sent_at.as_nanos())).collect()
    }

    #[test]
    fn a_retransmission_takes_its_place_in_the_run() {
        let mut log = Transmissions::new(1);
        log.sent(run(11, 5, false));
        log.sent(run(21, 5, false));
        log.sent(run(31, 7, false));
        assert_eq!(times(&log, 1, 31), [(21, 5), (31, 7)]);
        log.resent(6, run(16, 9, true));
        assert_eq!(times(&log, 1, 31), [(6, 5), (16, 9), (21, 5), (31, 7)]);
        assert_eq!(times(&log, 16, 17), [(17, 5)]);
        log.acknowledge(12);
        assert_eq!(times(&log, 12, 31), [(16, 9), (21, 5), (31, 7)]);
        log.resent(12, run(31, 11, true));
        assert_eq!(times(&log, 12, 31), [(31, 11)]);
    }

    proptest! {
        #[test]
        fn equals_a_list_of_bytes(operations in prop::collection::vec((0u8..3, 0u64..60, 1u64..20), 1..60)) {
            let mut log = Transmissions::new(0);
            let (mut bytes, mut una): (Vec<u64>, u64) = (vec![], 0);
            for (time, (operation, start, len)) in operations.into_iter().enumerate() {
                let time = time as u64 / 2;
                match operation {
                    0 => {
                        bytes.extend(std::iter::repeat_n(time, len as usize));
                        log.sent(run(bytes.len() as u64, time, false));
                    }
                    1 => {
                        let start = start.max(una);
                        let end = (start + len).min(bytes.len() as u64);
                        if start < end {
                            bytes[start as usize..end as usize].fill(time);
                            log.resent(start, run(end, time, true));
                        }
                    }
                    _ => {
                        una = una.max(start.min(bytes.len() as u64));
                        log.acknowledge(una);
                    }
                }
                let mut position = una;
                for (start, end, run) in log.within(una, bytes.len() as u64) {
                    prop_assert_eq!(start, position);
                    for byte in start..end {
                        prop_assert_eq!(bytes[byte as usize], run.sent_at.as_nanos());
                    }
                    position = end;
                }
                prop_assert_eq!(position, bytes.len() as u64);
            }
        }
    }
}
