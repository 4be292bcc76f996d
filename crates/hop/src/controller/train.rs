//! Trains: now and then, packets leave faster for a moment. Whether they wait at the link shows if it has more to give.

use super::history::History;
use super::loss::LossMeter;
use longhaul_units::{Duration, Instant, Rate, Size};

/// A train takes that long, and its packets leave faster by the gain in percent.
const LENGTH: Duration = Duration::from_millis(100);
const GAIN: u64 = 25;
/// A train has so many packets at least.
const LEAST: u64 = 12;
/// One that leaves faster still is as much shorter, so that it leaves the same queue; it has so many packets at least, for which the
/// peer sends two ACKs.
const LEAST_FAST: u64 = 128;
/// Between two trains that have found nothing.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// Where a train is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// None; the next leaves then, if there is enough to send.
    Next(Instant),
    /// It leaves since then.
    Leaving(Instant),
    /// It left at that time, and its ACKs are waited for.
    Left(Instant),
}

/// The sender at present.
#[derive(Clone, Copy, Debug)]
pub struct Sender {
    pub rate: Rate,
    /// Bytes of a full packet with headers.
    pub packet: u64,
    pub rtt: Duration,
    pub base_rtt: Duration,
}

impl Sender {
    /// Time of some packets at the rate, and `least` at least.
    pub fn packets(&self, count: u64, least: Duration) -> Duration {
        self.rate
            .transmission_time(Size::from_bytes(count * self.packet))
            .min(Duration::from_secs(2))
            .max(least)
    }

    /// The length of a train with the usual gain.
    fn length(&self) -> Duration {
        self.packets(LEAST, LENGTH)
    }

    fn by(&self, percent: u64) -> Rate {
        Rate::from_bps(self.rate.as_bps() * percent / 100)
    }
}

/// Trains of a sender.
#[derive(Clone, Debug)]
pub struct Trains {
    place: Place,
    pause: Duration,
    /// How much faster the train's packets leave, in percent.
    gain: u64,
    /// The rate before an overload, until it is known whether the link carries it again.
    before: Option<Rate>,
}

impl Default for Trains {
    fn default() -> Self {
        Trains { place: Place::Next(Instant::ZERO), pause: Duration::ZERO, gain: GAIN, before: None }
    }
}

impl Trains {
    /// The rate at which packets leave at this moment.
    pub fn pace(&mut self, now: Instant, sender: Sender) -> Rate {
        match self.place {
            Place::Leaving(since) if now < since + self.length(sender) => sender.by(100 + self.gain),
            // As many packets fewer afterwards: a link that has no more is left with no queue.
            Place::Leaving(since) if now < since + self.length(sender) + sender.length() => {
                sender.by(100 - GAIN)
            }
            Place::Leaving(since) => {
                self.place = Place::Left(since);
                sender.rate
            }
            _ => sender.rate,
        }
    }

    /// No train before this time.
    pub fn wait_until(&mut self, next: Instant) {
        self.place = Place::Next(next);
    }

    /// Nothing was left to send: what was leaving is no train.
    pub fn interrupt(&mut self, next: Instant) {
        if let Place::Leaving(_) = self.place {
            self.place = Place::Next(next);
        }
    }

    /// The rate is cut for an overload; until `next` there is no train.
    pub fn overload(&mut self, rate: Rate, next: Instant) {
        self.before = self.before.max(Some(rate));
        self.wait_until(next);
    }

    /// It is time for a train.
    pub fn is_due(&self, now: Instant) -> bool {
        matches!(self.place, Place::Next(at) if at <= now)
    }

    /// A train leaves from now on.
    pub fn begin(&mut self, now: Instant, sender: Sender) {
        self.gain = self.next_gain(sender);
        self.place = Place::Leaving(now);
    }

    /// A train's length.
    fn length(&self, sender: Sender) -> Duration {
        let time = sender.length();
        if self.gain == GAIN { time } else { Duration::from_nanos(time.as_nanos() * GAIN / self.gain) }
    }

    /// The gain of the next train: back to the rate before an overload at once, as far as its packets suffice for ACKs in time.
    fn next_gain(&self, sender: Sender) -> u64 {
        let Some(before) = self.before else { return GAIN };
        let back = (before.as_bps() * 100 / sender.rate.as_bps().max(1)).saturating_sub(100);
        // A train of gain g takes LENGTH * GAIN / g and has 1 + g times the packets that leave in that time.
        let more = sender.rate.bytes_in(sender.length()).as_bytes() / sender.packet * GAIN / 100;
        let most = match LEAST_FAST.saturating_sub(more) {
            0 => u64::MAX,
            missing => more * 100 / missing,
        };
        back.min(most).max(GAIN)
    }

    /// What the last train has shown, if its ACKs have come up to a packet that left at `newest`: the rate that the link carries, if
    /// that is more than the present one.
    pub fn look(
        &mut self,
        now: Instant,
        newest: Instant,
        sender: Sender,
        history: &History,
        loss: &LossMeter,
    ) -> Option<Rate> {
        let Place::Left(since) = self.place else { return None };
        let end = since + self.length(sender);
        if newest <= end {
            if now.since(since) > sender.rtt + sender.rtt + self.length(sender) {
                self.place = Place::Next(now);
            }
            return None;
        }
        let shown = history.train_rate((since, end), sender.rate, self.gain, sender.length());
        let lossy = loss.is_from_gain(history.lost_share(since), self.gain as f64 / 100.0);
        let risen = shown.filter(|rate| !lossy && rate.as_bps() * 100 > sender.rate.as_bps() * 104);
        // A train that has shown less than it was to show has shown what there is.
        let passed = risen.filter(|rate| *rate >= sender.by(100 + self.gain));
        self.before = self.before.filter(|before| passed.is_some_and(|rate| rate < *before));
        self.pause = match risen {
            Some(_) => Duration::ZERO,
            None => {
                let least = sender.base_rtt + sender.base_rtt;
                (self.pause + self.pause).max(least).min(LONGEST_PAUSE.max(least))
            }
        };
        self.place = Place::Next(now + self.pause);
        risen
    }
}
