//! What a node has done in the last minutes and in the last day, in bounded memory: seconds for ten minutes, minutes for a day.
//! Pure: the caller brings a reading each second.

use serde::{Serialize, Serializer};
use std::collections::VecDeque;

/// Seconds that are kept, and minutes.
pub const SECONDS: usize = 600;
/// Minutes that are kept.
pub const MINUTES: usize = 1440;
/// Outages that are kept.
const OUTAGES: usize = 100;
/// Seconds in a day.
const DAY: u64 = 86_400;
/// A node that has just started has no tunnel yet: what is missing in the first seconds is no outage.
const SETTLING: f64 = 5.0;

/// Bytes since the start of the node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// Of connections, from servers to clients.
    pub down: u64,
    /// Of connections, from clients to servers.
    pub up: u64,
    /// What came over the tunnel, with its headers, parities and repeats (UDP payload).
    pub link_down: u64,
    /// What was sent over the tunnel.
    pub link_up: u64,
}

/// What is seen of a node at a time.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Seconds since 1970, for people.
    pub at: u64,
    /// Seconds since the reading before, by a clock that no one sets.
    pub elapsed: f64,
    /// Bytes.
    pub counters: Counters,
    /// Part of packets that this node's sender declared lost without overload.
    pub loss: Option<f64>,
    /// Round trip of the tunnel in ms.
    pub rtt_ms: Option<f64>,
    /// Connections.
    pub flows: usize,
    /// Why the node accelerates nothing, if that is the fault of the tunnel or the network.
    pub trouble: Option<&'static str>,
}

/// Means over a second or a minute.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sample {
    /// End of the time, in seconds since 1970.
    pub at: u64,
    /// Rates in bit/s.
    pub down: f64,
    /// See [`Counters`].
    pub up: f64,
    /// See [`Counters`].
    pub link_down: f64,
    /// See [`Counters`].
    pub link_up: f64,
    /// Part of packets.
    pub loss: Option<f64>,
    /// In ms.
    pub rtt_ms: Option<f64>,
    /// Connections.
    pub flows: f64,
}

/// A row of numbers, in the order of the fields: names would be most of the bytes.
impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let round = |value: f64, unit: f64| (value / unit).round() * unit;
        let fine = |value: f64| (value * 1e5).round() / 1e5;
        (
            self.at,
            round(self.down, 1.0),
            round(self.up, 1.0),
            round(self.link_down, 1.0),
            round(self.link_up, 1.0),
            self.loss.map(fine),
            self.rtt_ms.map(|ms| (ms * 10.0).round() / 10.0),
            (self.flows * 10.0).round() / 10.0,
        )
            .serialize(serializer)
    }
}

/// A time in which new connections were not accelerated.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Outage {
    /// Its begin, in seconds since 1970.
    pub since: u64,
    /// Its duration so far.
    pub seconds: f64,
    /// The newest reason.
    pub why: &'static str,
    /// It is over.
    pub over: bool,
}

/// Bytes of a day.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Volume {
    /// When counting began, in seconds since 1970: midnight (UTC), or the start of the node.
    pub since: u64,
    /// Received: over the tunnel, or of connections where there is none.
    pub down: u64,
    /// Sent.
    pub up: u64,
}

/// Sums for a mean.
#[derive(Default)]
struct Sum {
    seconds: f64,
    down: f64,
    up: f64,
    link_down: f64,
    link_up: f64,
    loss: (f64, f64),
    rtt_ms: (f64, f64),
    flows: f64,
}

impl Sum {
    fn add(&mut self, sample: &Sample, seconds: f64) {
        self.seconds += seconds;
        self.down += sample.down * seconds;
        self.up += sample.up * seconds;
        self.link_down += sample.link_down * seconds;
        self.link_up += sample.link_up * seconds;
        self.flows += sample.flows * seconds;
        for (sum, value) in [(&mut self.loss, sample.loss), (&mut self.rtt_ms, sample.rtt_ms)] {
            if let Some(value) = value {
                *sum = (sum.0 + value * seconds, sum.1 + seconds);
            }
        }
    }

    fn mean(&self, at: u64) -> Sample {
        let of = |(sum, seconds): (f64, f64)| (seconds > 0.0).then(|| sum / seconds);
        Sample {
            at,
            down: self.down / self.seconds,
            up: self.up / self.seconds,
            link_down: self.link_down / self.seconds,
            link_up: self.link_up / self.seconds,
            loss: of(self.loss),
            rtt_ms: of(self.rtt_ms),
            flows: self.flows / self.seconds,
        }
    }
}

/// The history of a node.
#[derive(Default)]
pub struct History {
    seconds: VecDeque<Sample>,
    minutes: VecDeque<Sample>,
    minute: Sum,
    outages: VecDeque<Outage>,
    volume: Volume,
    last: Counters,
    age: f64,
}

/// Samples after a time.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// One for each second.
    pub seconds: Vec<Sample>,
    /// One for each minute.
    pub minutes: Vec<Sample>,
}

impl History {
    /// Takes a reading, the first one a while after the start of the counters. A counter that has become smaller (a tunnel was opened anew) counts as unchanged.
    pub fn add(&mut self, reading: &Reading) {
        let now = reading.counters;
        let last = std::mem::replace(&mut self.last, now);
        let is_first = self.age == 0.0;
        self.age += reading.elapsed;
        let today = reading.at - reading.at % DAY;
        if self.volume.since < today {
            self.volume = Volume { since: if is_first { reading.at } else { today }, down: 0, up: 0 };
        }
        if reading.elapsed <= 0.0 {
            return;
        }
        let grown = |field: fn(&Counters) -> u64| field(&now).saturating_sub(field(&last));
        let (link_down, link_up) = (grown(|of| of.link_down), grown(|of| of.link_up));
        let (down, up) = (grown(|of| of.down), grown(|of| of.up));
        let has_tunnel = now.link_down + now.link_up > 0;
        self.volume.down += if has_tunnel { link_down } else { down };
        self.volume.up += if has_tunnel { link_up } else { up };
        let rate = |bytes: u64| bytes as f64 * 8.0 / reading.elapsed;
        let sample = Sample {
            at: reading.at,
            down: rate(down),
            up: rate(up),
            link_down: rate(link_down),
            link_up: rate(link_up),
            loss: reading.loss,
            rtt_ms: reading.rtt_ms,
            flows: reading.flows as f64,
        };
        keep(&mut self.seconds, sample, SECONDS);
        self.minute.add(&sample, reading.elapsed);
        if self.minute.seconds >= 60.0 {
            keep(&mut self.minutes, self.minute.mean(reading.at), MINUTES);
            self.minute = Sum::default();
        }
        self.watch(reading);
    }

    fn watch(&mut self, reading: &Reading) {
        let open = self.outages.back_mut().filter(|outage| !outage.over);
        match (open, reading.trouble) {
            (Some(outage), Some(why)) => {
                outage.seconds += reading.elapsed;
                outage.why = why;
            }
            (Some(outage), None) => outage.over = true,
            (None, Some(why)) if self.age > SETTLING => {
                let since = reading.at.saturating_sub(reading.elapsed.round() as u64);
                keep(
                    &mut self.outages,
                    Outage { since, seconds: reading.elapsed, why, over: false },
                    OUTAGES,
                );
            }
            (None, _) => {}
        }
        let is_old = |outage: &Outage| {
            outage.over && outage.since as f64 + outage.seconds + (DAY as f64) < reading.at as f64
        };
        while self.outages.front().is_some_and(is_old) {
            self.outages.pop_front();
        }
    }

    /// The samples after `since`, in seconds since 1970.
    pub fn after(&self, since: u64) -> Part {
        let of = |all: &VecDeque<Sample>| all.iter().filter(|one| one.at > since).copied().collect();
        Part { seconds: of(&self.seconds), minutes: of(&self.minutes) }
    }

    /// Outages of the last day, oldest first.
    pub fn outages(&self) -> Vec<Outage> {
        self.outages.iter().cloned().collect()
    }

    /// Bytes of today.
    pub fn volume(&self) -> Volume {
        self.volume
    }
}

fn keep<T>(all: &mut VecDeque<T>, one: T, most: usize) {
    if all.len() >= most {
        all.pop_front();
    }
    all.push_back(one);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Eleven seconds before midnight.
    const START: u64 = 863_988;

    /// One second after the other, with 1000 bytes down in each after the start.
    fn seconds(history: &mut History, from: u64, count: u64, trouble: Option<&'static str>) {
        for at in from..from + count {
            let age = at.saturating_sub(START);
            let counters = Counters {
                down: age * 1000,
                link_down: age * 1100,
                link_up: age * 10,
                ..Counters::default()
            };
            let loss = Some(0.01);
            history.add(&Reading {
                at,
                elapsed: 1.0,
                counters,
                loss,
                flows: 3,
                trouble,
                ..Reading::default()
            });
        }
    }

    #[test]
    fn seconds_and_minutes_are_kept_as_long_as_there_is_room() {
        let mut history = History::default();
        seconds(&mut history, 1_000_000, 100_000, None);
        let all = history.after(0);
        assert_eq!((all.seconds.len(), all.minutes.len()), (600, 1440));
        let last = all.minutes.last().unwrap();
        assert_eq!((last.down, last.link_down, last.flows), (8000.0, 8800.0, 3.0));
        assert!((last.loss.unwrap() - 0.01).abs() < 1e-12 && last.rtt_ms.is_none());
        assert_eq!(all.minutes[1].at - all.minutes[0].at, 60);
        assert_eq!(history.after(1_099_997).seconds.len(), 2);
        let row = serde_json::to_string(&history.after(1_099_998).seconds).unwrap();
        assert_eq!(row, "[[1099999,8000.0,0.0,8800.0,80.0,0.01,null,3.0]]");
    }

    #[test]
    fn an_outage_has_its_duration_and_its_newest_reason() {
        let mut history = History::default();
        seconds(&mut history, 1000, 4, Some("the tunnel is down"));
        seconds(&mut history, 1004, 10, None);
        assert_eq!(history.outages(), [], "the start is none");
        seconds(&mut history, 1014, 3, Some("silent"));
        seconds(&mut history, 1017, 2, Some("down"));
        assert_eq!(history.outages(), [Outage { since: 1013, seconds: 5.0, why: "down", over: false }]);
        seconds(&mut history, 1019, 1, None);
        assert!(history.outages()[0].over);
        for part in 0..300 {
            seconds(&mut history, 2000 + part * 2, 1, Some("down"));
            seconds(&mut history, 2001 + part * 2, 1, None);
        }
        assert_eq!(history.outages().len(), 100);
        seconds(&mut history, 2600 + 2 * 86_400, 1, None);
        assert_eq!(history.outages(), [], "those of the last day");
    }

    #[test]
    fn volume_is_that_of_the_tunnel_and_begins_anew_each_day() {
        let mut history = History::default();
        seconds(&mut history, START + 1, 11, None);
        assert_eq!(history.volume(), Volume { since: 863_989, down: 12_100, up: 110 });
        seconds(&mut history, 10 * 86_400, 5, None);
        assert_eq!(history.volume(), Volume { since: 864_000, down: 5500, up: 50 });
        // A tunnel that was opened anew counts from zero.
        let counters = Counters { link_down: 7, ..Counters::default() };
        history.add(&Reading { at: 864_005, elapsed: 1.0, counters, ..Reading::default() });
        assert_eq!(history.volume().down, 5500);
    }
}
