//! How far a flow's path was in use while it could have been, and what limited the flow's sender when it was not.
//!
//! A sender that is kept by its window while the bottleneck is busy loses nothing: the link is the limit then. So the limits of a
//! sender count by what the path could have carried besides while they held. Worlds report the limits and the links' counters at
//! each interval of `run.sample`, through [`PathUse::add`].

use longhaul_tcp::{Limit, LimitedTime};
use longhaul_units::{Count, Duration};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

/// A link that is in use this much in an interval is full.
const FULL: f64 = 0.95;
/// The time by which this part of the unused capacity was lost is reported.
const MOST: f64 = 0.95;
/// Parts of the measured time by which that time is known.
const PARTS: usize = 200;
const LIMITS: usize = Limit::ALL.len();
/// What a timeout costs: waiting for the next one, repairs, and the slow start after it.
const TIMEOUT: &str = "timeout";

/// What one interval's links did.
#[derive(Clone, Copy, Default, Debug)]
pub struct LinkUse {
    /// Bits transmitted.
    pub bits: f64,
    /// Bits that could have been transmitted, outages left out.
    pub capacity: f64,
}

/// One flow's path while measured.
#[derive(Clone, Debug, Default)]
pub struct PathUse {
    /// Seconds until the sender had handed over all it had.
    sending_s: f64,
    /// Seconds in which a link of the path was full.
    full_s: f64,
    /// Seconds in which a link carried nothing: outages, and a rate of nothing.
    down_s: f64,
    /// Other seconds, by limit; the last is that of timeouts.
    open_s: [f64; LIMITS + 1],
    /// Bits that the path could have carried.
    capacity: f64,
    /// Bits that it could have carried besides those that it did, by limit.
    unused: [f64; LIMITS + 1],
    /// The same by time.
    parts: Vec<f32>,
    /// Limits and timeouts of the sender by the last interval.
    before: (LimitedTime, u64),
    /// A timeout has happened, and what it cost is not regained yet.
    after_timeout: bool,
}

impl PathUse {
    /// Begins to measure: these are the sender's limits and timeouts by now.
    pub fn begin(&mut self, limited: LimitedTime, timeouts: u64) {
        *self =
            PathUse { before: (limited, timeouts), after_timeout: self.after_timeout, ..PathUse::default() };
    }

    /// Adds an interval of `span` that ends when `progress` (0 to 1) of the measured time has passed, and a time `over` after the
    /// flow's own end. `links` are those of the path.
    pub fn add(
        &mut self,
        span: Duration,
        over: Duration,
        progress: f64,
        (limited, timeouts): (LimitedTime, u64),
        links: impl Iterator<Item = LinkUse>,
    ) {
        let (new, expired) = (limited.since(self.before.0), timeouts > self.before.1);
        self.before = (limited, timeouts);
        let repairing = !(new.get(Limit::SlowStart) + new.get(Limit::Recovery)).is_zero();
        self.after_timeout = expired || (self.after_timeout && repairing);
        let times = Limit::ALL.map(|limit| {
            let time = new.get(limit);
            if limit == Limit::Closed { time - time.min(over) } else { time }.as_secs_f64()
        });
        let time: f64 = times.iter().sum();
        if time <= 0.0 {
            return;
        }
        let span = span.as_secs_f64();
        // Several connections of one flow are limited at the same time.
        let scale = if time > span { span / time } else { 1.0 };
        let mut least = LinkUse { bits: 0.0, capacity: f64::INFINITY };
        let (mut room, mut full) = (f64::INFINITY, false);
        for link in links {
            if link.capacity < least.capacity {
                least = link;
            }
            room = room.min((link.capacity - link.bits).max(0.0));
            full |= link.capacity > 0.0 && link.bits >= FULL * link.capacity;
        }
        if !least.capacity.is_finite() {
            return;
        }
        let part = time * scale / span;
        self.sending_s += scale * (time - times[Limit::Closed as usize]);
        self.capacity += least.capacity * part;
        if least.capacity <= 0.0 {
            self.down_s += time * scale;
            return;
        }
        if full {
            self.full_s += time * scale;
        }
        for (limit, time) in Limit::ALL.into_iter().zip(times) {
            let costs = matches!(limit, Limit::SlowStart | Limit::Recovery) && self.after_timeout;
            let place = if costs { LIMITS } else { limit as usize };
            let time = time * scale;
            self.unused[place] += room * time / span;
            if !full {
                self.open_s[place] += time;
            }
        }
        self.parts.resize(PARTS, 0.0);
        let place = (progress * PARTS as f64).ceil() as usize;
        self.parts[place.clamp(1, PARTS) - 1] += (room * part) as f32;
    }

    /// The part of the measured time by which most of what was unused had been lost; `None` if nothing was.
    fn most_by(&self) -> Option<f64> {
        let all: f64 = self.parts.iter().map(|bits| f64::from(*bits)).sum();
        let mut sum = 0.0;
        let place = self.parts.iter().position(|bits| {
            sum += f64::from(*bits);
            all > 0.0 && sum >= MOST * all
        })?;
        Some((place + 1) as f64 / PARTS as f64)
    }

    /// The summary's form of it; the measured time begins at `begin_s` and lasts `measured_s`. `None` if nothing was measured.
    pub(crate) fn summary(&self, begin_s: f64, measured_s: f64) -> Option<PathUseSummary> {
        let total = self.full_s + self.down_s + self.open_s.iter().sum::<f64>();
        if total <= 0.0 {
            return None;
        }
        let named = |values: &[f64; LIMITS + 1], over: f64| {
            let names = Limit::ALL.iter().map(|limit| limit.name()).chain([TIMEOUT]);
            let shares = names.zip(values).filter(|(_, value)| **value > 0.0);
            Shares(shares.map(|(name, value)| (name, value / over)).collect())
        };
        Some(PathUseSummary {
            sending_s: self.sending_s,
            full: self.full_s / total,
            down: self.down_s / total,
            open: named(&self.open_s, total),
            capacity_bytes: self.capacity / 8.0,
            unused_bytes: named(&self.unused, 8.0),
            unused_until_s: self.most_by().map(|part| begin_s + part * measured_s),
        })
    }
}

/// How far a flow's path was in use, in numbers.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PathUseSummary {
    /// Seconds until its sender had handed over all it had: to the path, or to a proxy's buffer.
    pub sending_s: f64,
    /// Share of the flow's time in which a link of its path was full: in use 95 % and more in an interval of `run.sample`.
    pub full: f64,
    /// Share of its time in which a link could carry nothing.
    pub down: f64,
    /// Shares of its time in which no link was full, by what limited the sender. With the two above they add up to 1.
    pub open: Shares,
    /// Bytes with headers that the path could have carried in the flow's time, for all that use it.
    pub capacity_bytes: f64,
    /// Bytes that it could have carried besides, by what limited the sender meanwhile.
    pub unused_bytes: Shares,
    /// When 95 % of the unused bytes had been lost, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_until_s: Option<f64>,
}

/// Values by limit; those of zero are left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Shares(pub Vec<(&'static str, f64)>);

impl Serialize for Shares {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(whole: u64) -> Duration {
        Duration::from_secs(whole)
    }
    /// The sender's times by now.
    fn limited(times: &[(Limit, u64)]) -> LimitedTime {
        times.iter().map(|(limit, time)| (*limit, seconds(*time))).collect()
    }
    fn link(bits: f64) -> impl Iterator<Item = LinkUse> {
        // A fast link before the one that counts.
        [LinkUse { bits, capacity: 1e9 }, LinkUse { bits, capacity: 1000.0 }].into_iter()
    }
    fn value(shares: &Shares, name: &str) -> f64 {
        shares.0.iter().find(|(known, _)| *known == name).map_or(0.0, |(_, value)| *value)
    }

    #[test]
    fn a_window_is_no_limit_while_the_link_is_full() {
        let mut path = PathUse::default();
        path.begin(LimitedTime::default(), 0);
        path.add(seconds(1), Duration::ZERO, 0.5, (limited(&[(Limit::Cwnd, 1)]), 0), link(1000.0));
        path.add(seconds(1), Duration::ZERO, 1.0, (limited(&[(Limit::Cwnd, 2)]), 0), link(250.0));
        let summary = path.summary(10.0, 2.0).unwrap();
        assert_eq!((summary.full, value(&summary.open, "cwnd")), (0.5, 0.5));
        assert_eq!(summary.capacity_bytes, 2000.0 / 8.0);
        assert_eq!(value(&summary.unused_bytes, "cwnd"), 750.0 / 8.0);
        assert_eq!(summary.unused_until_s, Some(12.0));
    }

    #[test]
    fn slow_start_after_a_timeout_is_part_of_what_it_costs() {
        let mut path = PathUse::default();
        path.begin(LimitedTime::default(), 0);
        let mut at = |times: &[(Limit, u64)], timeouts| {
            path.add(seconds(1), Duration::ZERO, 0.5, (limited(times), timeouts), link(0.0));
        };
        at(&[(Limit::SlowStart, 1)], 0);
        at(&[(Limit::SlowStart, 1), (Limit::Recovery, 1)], 1);
        at(&[(Limit::SlowStart, 2), (Limit::Recovery, 1)], 1);
        at(&[(Limit::SlowStart, 2), (Limit::Recovery, 1), (Limit::Cwnd, 1)], 1);
        at(&[(Limit::SlowStart, 3), (Limit::Recovery, 1), (Limit::Cwnd, 1)], 1);
        let unused = path.summary(0.0, 5.0).unwrap().unused_bytes;
        let bits = |name| value(&unused, name) * 8.0;
        assert_eq!((bits("slow_start"), bits("timeout"), bits("cwnd")), (2000.0, 2000.0, 1000.0));
    }

    #[test]
    fn the_time_after_a_flow_s_end_is_not_its_own() {
        let mut path = PathUse::default();
        path.begin(LimitedTime::default(), 0);
        let times = limited(&[(Limit::Cwnd, 1), (Limit::Closed, 3)]);
        path.add(seconds(4), seconds(2), 1.0, (times, 0), link(500.0));
        let summary = path.summary(0.0, 4.0).unwrap();
        assert_eq!(summary.sending_s, 1.0);
        assert_eq!((value(&summary.open, "cwnd"), value(&summary.open, "closed")), (0.5, 0.5));
        assert_eq!(summary.capacity_bytes, 500.0 / 8.0);
    }

    #[test]
    fn a_link_that_is_down_limits_whatever_the_sender_does() {
        let mut path = PathUse::default();
        path.begin(LimitedTime::default(), 0);
        let dark = [LinkUse::default()].into_iter();
        path.add(seconds(1), Duration::ZERO, 1.0, (limited(&[(Limit::Recovery, 1)]), 1), dark);
        let summary = path.summary(0.0, 1.0).unwrap();
        assert_eq!((summary.down, summary.open), (1.0, Shares(vec![])));
    }
}
