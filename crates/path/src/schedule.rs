//! A link whose rate and delay follow a script: rain fades, hand-overs, outages. The whole script is known from the
//! start, so the end of a transmission can be computed when it begins, whatever happens in between.

use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::trace::LinkTrace;
use longhaul_units::{Duration, Instant, Probability, Rate, Size};

/// A change of rate, delay or loss at a point in time; it holds until the next one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// When, counted from the start of the run.
    pub at: Duration,
    /// The new rate, if it changes. Zero stops the transmitter.
    pub rate: Option<Rate>,
    /// The new propagation delay, if it changes.
    pub delay: Option<Duration>,
    /// The probability that a packet is lost, if it changes: independently, in the place of the link's own losses.
    pub loss: Option<Probability>,
}

/// What happens to packets during an outage.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutageMode {
    /// The sender does not notice: what is transmitted during the outage is lost (a fade, an unplugged receiver).
    #[default]
    Drop,
    /// The sender notices: the transmitter stops and the queue holds its packets.
    Hold,
}

/// A time during which nothing gets through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outage {
    /// When it begins, counted from the start of the run.
    pub start: Duration,
    /// How long it lasts.
    pub duration: Duration,
    /// Whether packets are lost or held.
    pub mode: OutageMode,
}

impl Outage {
    pub(crate) fn begin(&self) -> Instant {
        Instant::ZERO + self.start
    }
    pub(crate) fn end(&self) -> Instant {
        self.begin() + self.duration
    }
}

/// A value that changes in steps.
#[derive(Clone, Debug)]
struct Steps<T> {
    /// In order of time; the first is at time zero.
    steps: Vec<(Instant, T)>,
    /// The step that was in force at the last look; looks never go back in time by more than a step.
    cursor: usize,
}

impl<T: Copy> Steps<T> {
    fn new(initial: T, mut changes: Vec<(Instant, T)>) -> Self {
        changes.sort_by_key(|(at, _)| *at);
        let mut steps = vec![(Instant::ZERO, initial)];
        steps.extend(changes);
        Steps { steps, cursor: 0 }
    }
    fn index_at(&mut self, now: Instant) -> usize {
        while self.cursor + 1 < self.steps.len() && self.steps[self.cursor + 1].0 <= now {
            self.cursor += 1;
        }
        while self.steps[self.cursor].0 > now {
            self.cursor -= 1;
        }
        self.cursor
    }
    fn from(&self, time: Instant) -> T {
        let next = self.steps.partition_point(|(at, _)| *at <= time);
        self.steps[next.saturating_sub(1)].1
    }
    fn at(&mut self, now: Instant) -> T {
        let index = self.index_at(now);
        self.steps[index].1
    }
}

/// Times between a begin and an end, in order, none of which touch: a time is looked up in the logarithm of their number.
#[derive(Clone, Debug, Default)]
struct Spans(Vec<(Instant, Instant)>);

impl Spans {
    /// What is in any of the outages of a mode.
    fn of(outages: &[Outage], mode: OutageMode) -> Self {
        let mut all: Vec<(Instant, Instant)> =
            outages.iter().filter(|o| o.mode == mode).map(|o| (o.begin(), o.end())).collect();
        all.sort_unstable();
        let mut merged: Vec<(Instant, Instant)> = Vec::with_capacity(all.len());
        for (begin, end) in all {
            match merged.last_mut() {
                Some(last) if begin <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((begin, end)),
            }
        }
        Spans(merged)
    }
    fn contain(&self, time: Instant) -> bool {
        let next = self.0.partition_point(|(begin, _)| *begin <= time);
        next > 0 && time < self.0[next - 1].1
    }
    /// Begins and ends of those that have a part between two times.
    fn edges(&self, from: Instant, to: Instant) -> impl Iterator<Item = Instant> {
        let first = self.0.partition_point(|(_, end)| *end < from);
        self.0[first..]
            .iter()
            .take_while(move |(begin, _)| *begin <= to)
            .flat_map(|(begin, end)| [*begin, *end])
    }
}

/// Rate, delay and outages of one direction of a link over time.
#[derive(Clone, Debug)]
pub struct Schedule {
    rate: Steps<Rate>,
    delay: Steps<Duration>,
    /// `None` as long as the link's own losses hold.
    loss: Steps<Option<Probability>>,
    fades: Spans,
    /// Rate, delay and loss never change, and nothing is held: the common case is one division.
    constant: bool,
    last_size: (u32, Duration),
    /// What stands in the place of rate or delay.
    trace: LinkTrace,
}

impl Schedule {
    /// A schedule that starts with `rate` and `delay`.
    pub fn new(rate: Rate, delay: Duration, changes: &[Change], outages: &[Outage]) -> Self {
        let at = |change: &Change| Instant::ZERO + change.at;
        let nominal =
            Steps::new(rate, changes.iter().filter_map(|c| Some((at(c), c.rate?))).collect::<Vec<_>>());
        let delays = changes.iter().filter_map(|c| Some((at(c), c.delay?))).collect::<Vec<_>>();
        let losses = changes.iter().filter_map(|c| Some((at(c), Some(c.loss?)))).collect::<Vec<_>>();
        let holds = Spans::of(outages, OutageMode::Hold);
        let mut times: Vec<Instant> = nominal.steps.iter().map(|(time, _)| *time).collect();
        times.extend(holds.0.iter().flat_map(|(begin, end)| [*begin, *end]));
        times.sort();
        times.dedup();
        let mut look = nominal.clone();
        let steps: Vec<(Instant, Rate)> = times
            .into_iter()
            .map(|time| (time, if holds.contain(time) { Rate::ZERO } else { look.at(time) }))
            .collect();
        let fades = Spans::of(outages, OutageMode::Drop);
        let constant = steps.len() == 1 && delays.is_empty() && losses.is_empty();
        Schedule {
            rate: Steps { steps, cursor: 0 },
            delay: Steps::new(delay, delays),
            loss: Steps::new(None, losses),
            fades,
            constant,
            last_size: (0, Duration::ZERO),
            trace: LinkTrace::default(),
        }
    }

    /// The same with a measurement in the place of its rate or its delay; outages hold all the same.
    #[must_use]
    pub fn following(mut self, trace: LinkTrace) -> Self {
        self.constant &= trace.rate.is_none() && trace.delay.is_none();
        self.trace = trace;
        self
    }

    /// Becomes another one, in which all that was before is the same. What it follows stays, with what has been used of it.
    pub(crate) fn replace(&mut self, other: Schedule) {
        let trace = std::mem::take(&mut self.trace);
        *self = Schedule { trace, ..other };
    }

    /// No packet is on its way for less, whenever it leaves.
    pub(crate) fn least_delay(&self) -> Duration {
        let scripted = self.delay.steps.iter().map(|(_, delay)| *delay).min().unwrap_or_default();
        self.trace.delay.as_ref().and_then(|delay| delay.values().iter().copied().min()).unwrap_or(scripted)
    }

    /// True if the rate follows a measurement.
    pub(crate) fn has_measured_rate(&self) -> bool {
        self.trace.rate.is_some()
    }

    /// True if rate, delay and loss never change and nothing is held.
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// When a packet of `len` bytes whose transmission begins at `start` has left. Starts never go back in time.
    pub fn transmission_end(&mut self, start: Instant, len: u32) -> Instant {
        if self.constant {
            if self.last_size.0 != len {
                let time = self.rate.steps[0].1.transmission_time(Size::from_bytes(u64::from(len)));
                self.last_size = (len, time);
            }
            return start + self.last_size.1;
        }
        if let Some(rate) = &mut self.trace.rate {
            return rate.transmission_end(start, len);
        }
        let mut bits = u128::from(len) * 8 * 1_000_000_000; // in units of bit/s times ns
        let mut now = start;
        let mut index = self.rate.index_at(now);
        loop {
            let rate = u128::from(self.rate.steps[index].1.as_bps());
            let until = self.rate.steps.get(index + 1).map_or(Instant::FAR_FUTURE, |(time, _)| *time);
            let can_pass = rate * u128::from((until - now).as_nanos());
            if can_pass >= bits && rate > 0 {
                return now + Duration::from_nanos(bits.div_ceil(rate) as u64);
            }
            if until == Instant::FAR_FUTURE {
                return Instant::FAR_FUTURE;
            }
            bits -= can_pass;
            now = until;
            index += 1;
        }
    }

    /// The rate at `now`; zero while the transmitter is stopped.
    pub fn rate_at(&mut self, now: Instant) -> Rate {
        match &self.trace.rate {
            Some(rate) => rate.rate_at(now),
            None => self.rate.at(now),
        }
    }

    /// Propagation delay for a packet that leaves at `now`.
    pub fn delay_at(&mut self, now: Instant) -> Duration {
        if self.constant {
            return self.delay.steps[0].1;
        }
        match &self.trace.delay {
            Some(delay) => delay.at(now),
            None => self.delay.at(now),
        }
    }

    /// The probability that a script gives for the loss of what leaves at `now`, if one does.
    pub fn loss_at(&mut self, now: Instant) -> Option<Probability> {
        if self.loss.steps.len() == 1 { None } else { self.loss.at(now) }
    }

    /// The rate, and the delay, from `time` on, wherever the last look was.
    pub fn from(&self, time: Instant) -> (Rate, Duration) {
        let LinkTrace { rate, delay, .. } = &self.trace;
        let rate = rate.as_ref().map_or_else(|| self.rate.from(time), |rate| rate.rate_at(time));
        (rate, delay.as_ref().map_or_else(|| self.delay.from(time), |delay| delay.at(time)))
    }

    /// When rate or delay change by a script, in no order.
    pub fn changes(&self) -> impl Iterator<Item = Instant> {
        let rates = self.rate.steps.iter().map(|(time, _)| *time);
        rates.chain(self.delay.steps.iter().map(|(time, _)| *time))
    }

    /// True if what leaves at `now` is lost in a fade.
    pub fn in_fade(&self, now: Instant) -> bool {
        self.fades.contain(now)
    }

    /// The steps of the rate that hold at some time between two times, by their numbers.
    fn steps_between(&self, from: Instant, to: Instant) -> std::ops::Range<usize> {
        let steps = &self.rate.steps;
        let first = steps.partition_point(|(time, _)| *time <= from).saturating_sub(1);
        first..steps.partition_point(|(time, _)| *time <= to).max(first)
    }

    /// What the link could carry between two times, in bits.
    pub fn capacity_bits(&self, from: Instant, to: Instant) -> f64 {
        if let Some(rate) = &self.trace.rate {
            return rate.capacity_bits(from, to);
        }
        let steps = &self.rate.steps;
        let spans = self.steps_between(from, to).map(|index| {
            let (begin, rate) = steps[index];
            let end = steps.get(index + 1).map_or(Instant::FAR_FUTURE, |(time, _)| *time);
            let span = end.min(to).since(begin.max(from));
            rate.as_bps() as f64 * span.as_secs_f64()
        });
        spans.sum()
    }

    /// Mean rate at which packets could get through between two times, in bit/s: nothing does during an outage.
    pub fn mean_rate_bps(&self, from: Instant, to: Instant) -> f64 {
        if self.trace.rate.is_some() && to > from {
            return self.bits_between(self.fades.edges(from, to).collect(), from, to)
                / to.since(from).as_secs_f64();
        }
        let steps = &self.rate.steps;
        if (steps.len() == 1 && self.fades.0.is_empty()) || to <= from {
            return steps[0].1.as_bps() as f64;
        }
        let changes = steps[self.steps_between(from, to)].iter().map(|(time, _)| *time);
        let times = changes.chain(self.fades.edges(from, to)).collect();
        self.bits_between(times, from, to) / to.since(from).as_secs_f64()
    }

    /// What gets through between two times, in bits; `times` has the begins and ends of fades among others.
    fn bits_between(&self, mut times: Vec<Instant>, from: Instant, to: Instant) -> f64 {
        times.extend([from, to]);
        times.retain(|time| (from..=to).contains(time));
        times.sort();
        let spans = times.windows(2).filter(|span| !self.in_fade(span[0]));
        spans.map(|span| self.capacity_bits(span[0], span[1])).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }
    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_constant_rate_takes_size_over_rate() {
        let mut schedule = Schedule::new(Rate::from_bps(8_000_000), ms(250), &[], &[]);
        assert_eq!(schedule.transmission_end(at(10), 1000), at(11));
        assert_eq!(schedule.transmission_end(at(11), 500).as_nanos(), 11_500_000);
        assert_eq!(schedule.delay_at(at(99)), ms(250));
    }

    #[test]
    fn a_transmission_spans_a_change_of_rate() {
        // 1000 bytes at 8 Mbit/s for 0.5 ms (500 bytes), the other 500 at 4 Mbit/s take 1 ms.
        let change = Change {
            at: Duration::from_micros(500),
            rate: Some(Rate::from_bps(4_000_000)),
            delay: None,
            loss: None,
        };
        let mut schedule = Schedule::new(Rate::from_bps(8_000_000), ms(1), &[change], &[]);
        assert_eq!(schedule.transmission_end(at(0), 1000).as_nanos(), 1_500_000);
        assert_eq!(schedule.capacity_bits(at(0), at(1)), 4000.0 + 2000.0);
    }

    #[test]
    fn the_mean_rate_counts_changes_and_outages_of_both_kinds() {
        let change =
            Change { at: ms(10_000), rate: Some(Rate::from_bps(4_000_000)), delay: None, loss: None };
        let outage = |start, mode| Outage { start: ms(start), duration: ms(2_000), mode };
        let outages = [outage(12_000, OutageMode::Drop), outage(16_000, OutageMode::Hold)];
        let schedule = Schedule::new(Rate::from_bps(8_000_000), ms(1), &[change], &outages);
        // 10 s at 8 Mbit/s and 6 of the other 10 s at 4 Mbit/s.
        assert_eq!(schedule.mean_rate_bps(at(0), at(20_000)), (80e6 + 24e6) / 20.0);
        // From 11 to 13 s: one second at 4 Mbit/s.
        assert_eq!(schedule.mean_rate_bps(at(11_000), at(13_000)), 2e6);
        assert_eq!(schedule.mean_rate_bps(at(1_000), at(1_000)), 8e6);
    }

    /// Each look walked through all steps and all outages, so that 40,000 changes took half a minute.
    #[test]
    fn looks_at_a_part_of_a_long_script_are_those_at_all_of_it() {
        let mut random = crate::Random::stream(7, "script");
        let mut draw = |below: u64| (random.uniform() * below as f64) as u64;
        for _ in 0..200 {
            let mut changes = vec![];
            for _ in 0..draw(12) {
                let rate = (draw(4) > 0).then(|| Rate::from_bps(1_000 * draw(9)));
                changes.push(Change { at: ms(draw(40)), rate, delay: None, loss: None });
            }
            let mut outages = vec![];
            for _ in 0..draw(6) {
                let mode = if draw(2) == 0 { OutageMode::Drop } else { OutageMode::Hold };
                outages.push(Outage { start: ms(draw(40)), duration: ms(1 + draw(9)), mode });
            }
            let mut schedule = Schedule::new(Rate::from_bps(5_000), ms(1), &changes, &outages);
            // By definition: millisecond by millisecond, since nothing changes within one.
            let (first, span) = (draw(45), draw(20));
            let lost = |t| {
                outages.iter().any(|o| o.mode == OutageMode::Drop && o.begin() <= at(t) && at(t) < o.end())
            };
            let (mut offered, mut through) = (0.0, 0.0);
            for t in first..first + span {
                let bits = schedule.rate_at(at(t)).as_bps() as f64 * 1e-3;
                offered += bits;
                through += if lost(t) { 0.0 } else { bits };
                assert_eq!(schedule.in_fade(at(t)), lost(t));
            }
            let (from, to) = (at(first), at(first + span));
            let near = |one: f64, other: f64| (one - other).abs() <= 1e-9 * (1.0 + other.abs());
            assert!(near(schedule.capacity_bits(from, to), offered));
            if span > 0 {
                assert!(near(schedule.mean_rate_bps(from, to), through / (span as f64 * 1e-3)));
            }
        }
    }

    #[test]
    fn a_held_transmitter_goes_on_after_the_outage() {
        let outage = Outage { start: Duration::from_micros(500), duration: ms(10), mode: OutageMode::Hold };
        let mut schedule = Schedule::new(Rate::from_bps(8_000_000), ms(1), &[], &[outage]);
        assert_eq!(schedule.transmission_end(at(0), 1000), at(11));
        assert!(!schedule.in_fade(at(5)));
    }

    #[test]
    fn a_rate_of_zero_for_ever_never_ends() {
        let change = Change { at: ms(1), rate: Some(Rate::ZERO), delay: None, loss: None };
        let mut schedule = Schedule::new(Rate::from_bps(8_000), ms(1), &[change], &[]);
        assert_eq!(schedule.transmission_end(at(0), 1000), Instant::FAR_FUTURE);
    }

    #[test]
    fn a_fade_loses_what_leaves_in_it() {
        let outage = Outage { start: ms(5), duration: ms(2), mode: OutageMode::Drop };
        let schedule = Schedule::new(Rate::from_bps(8_000), ms(1), &[], &[outage]);
        let lost: Vec<bool> = [4, 5, 6, 7].map(|t| schedule.in_fade(at(t))).to_vec();
        assert_eq!(lost, [false, true, true, false]);
    }

    #[test]
    fn what_holds_from_a_time_on_is_known_without_a_look() {
        let changes = [
            Change { at: ms(5), rate: None, delay: Some(ms(40)), loss: None },
            Change { at: ms(9), rate: Some(Rate::from_bps(4_000)), delay: None, loss: None },
        ];
        let schedule = Schedule::new(Rate::from_bps(8_000), ms(20), &changes, &[]);
        let found = [4, 5, 8, 9, 99].map(|t| schedule.from(at(t)));
        let (fast, slow) = (Rate::from_bps(8_000), Rate::from_bps(4_000));
        assert_eq!(found, [(fast, ms(20)), (fast, ms(40)), (fast, ms(40)), (slow, ms(40)), (slow, ms(40))]);
        let mut times: Vec<Instant> = schedule.changes().collect();
        times.sort();
        times.dedup();
        assert_eq!(times, [0, 5, 9].map(at));
    }

    #[test]
    fn a_hand_over_changes_the_delay() {
        let change = Change { at: ms(5), rate: None, delay: Some(ms(40)), loss: None };
        let mut schedule = Schedule::new(Rate::from_bps(8_000), ms(20), &[change], &[]);
        assert_eq!(schedule.delay_at(at(4)), ms(20));
        assert_eq!(schedule.delay_at(at(5)), ms(40));
    }
}
