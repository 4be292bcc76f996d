//! A link that follows a measurement: its rate, delay and loss over time, from files that were read, again and again.
//!
//! A rate is a value in steps, or a list of times at which so many bytes can leave, as in Mahimahi's traces (Netravali et al., USENIX
//! ATC 2015): then what is not used at its time is lost.

use longhaul_units::{Duration, Instant, Rate};
use std::sync::Arc;

/// A quantity in steps that begins again at its end.
#[derive(Clone, PartialEq, Debug)]
pub struct Series<T> {
    /// When each step begins, counted from the begin of the series: the first at zero, rising.
    at: Arc<[Duration]>,
    values: Arc<[T]>,
    /// The length of the series.
    period: Duration,
    /// Where the run begins in it.
    offset: Duration,
}

/// A step that holds at some time.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step<T> {
    /// Its value.
    pub value: T,
    /// When the next one begins.
    pub until: Instant,
}

impl<T: Copy> Series<T> {
    /// Steps in order of time; the first value holds before its time too. `period` is the length of the whole.
    ///
    /// # Panics
    /// Without any step, or with a period that ends before the last one begins.
    pub fn new(steps: &[(Duration, T)], period: Duration, offset: Duration) -> Self {
        assert!(!steps.is_empty() && steps.last().is_some_and(|(at, _)| *at < period));
        let mut at: Vec<Duration> = steps.iter().map(|(at, _)| *at).collect();
        at[0] = Duration::ZERO;
        Series { at: at.into(), values: steps.iter().map(|(_, value)| *value).collect(), period, offset }
    }

    /// How long it is.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// When each step begins, and its value.
    pub fn steps(&self) -> impl Iterator<Item = (Duration, T)> {
        self.at.iter().copied().zip(self.values.iter().copied())
    }

    /// All values.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The time within the series at `now`.
    fn within(&self, now: Instant) -> Duration {
        Duration::from_nanos((now.as_nanos() + self.offset.as_nanos()) % self.period.as_nanos())
    }

    /// The step that holds at `now`.
    pub fn step(&self, now: Instant) -> Step<T> {
        let within = self.within(now);
        let next = self.at.partition_point(|at| *at <= within);
        let end = self.at.get(next).copied().unwrap_or(self.period);
        Step { value: self.values[next - 1], until: now + (end - within) }
    }

    /// The value that holds at `now`.
    pub fn at(&self, now: Instant) -> T {
        self.step(now).value
    }

    /// The mean over time of what `number` makes of the values.
    pub fn mean(&self, number: impl Fn(T) -> f64) -> f64 {
        let ends = self.at[1..].iter().copied().chain([self.period]);
        let spans = self.at.iter().zip(ends).map(|(begin, end)| (end - *begin).as_secs_f64());
        let sum: f64 = self.values.iter().zip(spans).map(|(value, span)| number(*value) * span).sum();
        sum / self.period.as_secs_f64()
    }
}

/// Times at which so many bytes can leave.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// In order, each counted from the begin of the list; several may be at one time.
    at: Arc<[Duration]>,
    /// How many there are before each bin of [`BIN`].
    before_bin: Arc<[u32]>,
    period: Duration,
    offset: Duration,
    /// Bytes of each.
    bytes: u32,
    /// The opportunity that is in use, counted from the begin of the first list, and what is left of it.
    number: u64,
    left: u32,
}

/// The rate of opportunities at a time is the mean over so long.
const BIN: Duration = Duration::from_millis(100);

impl Opportunities {
    /// Bytes of an opportunity in Mahimahi's traces: a packet of the Ethernet's MTU.
    pub const MAHIMAHI: u32 = 1500;

    /// Opportunities in order of time, in a list that is `period` long.
    ///
    /// # Panics
    /// Without any opportunity, or with a period that ends before the last one. A period may end with it, as Mahimahi's does.
    pub fn new(at: Arc<[Duration]>, period: Duration, offset: Duration, bytes: u32) -> Self {
        assert!(at.last().is_some_and(|last| *last <= period) && !period.is_zero());
        let bins = period.as_nanos().div_ceil(BIN.as_nanos()) + 1;
        let begins = (0..=bins).map(|bin| Duration::from_nanos(bin * BIN.as_nanos()));
        let before_bin = begins.map(|begin| at.partition_point(|at| *at < begin) as u32).collect();
        let mut made = Opportunities { at, before_bin, period, offset, bytes, number: 0, left: bytes };
        made.number = made.number_from(Instant::ZERO);
        made
    }

    /// How many come before `now`, counted from the begin of the first list.
    fn number_from(&self, now: Instant) -> u64 {
        let time = now.as_nanos() + self.offset.as_nanos();
        let (cycle, within) = (time / self.period.as_nanos(), time % self.period.as_nanos());
        // Those of this bin alone have to be looked at one by one.
        let bin = (within / BIN.as_nanos()) as usize;
        let (first, last) = (self.before_bin[bin] as usize, self.before_bin[bin + 1] as usize);
        let within = Duration::from_nanos(within);
        let here = self.at[first..last].partition_point(|at| *at < within);
        let mut number = cycle * self.at.len() as u64 + (first + here) as u64;
        // Those at the very end of the list before are of this time too.
        if within.is_zero() {
            let at_end = self.at.iter().rev().take_while(|at| **at == self.period).count() as u64;
            number = number.saturating_sub(at_end);
        }
        number
    }

    /// When an opportunity comes.
    fn time_of(&self, number: u64) -> Instant {
        let (cycle, place) = (number / self.at.len() as u64, number % self.at.len() as u64);
        let nanos = cycle * self.period.as_nanos() + self.at[place as usize].as_nanos();
        Instant::from_nanos(nanos.saturating_sub(self.offset.as_nanos()))
    }

    /// When a packet of `len` bytes that waits from `start` on has left: it takes what is left of the present opportunity, and the
    /// next ones. Starts never go back in time.
    pub fn transmission_end(&mut self, start: Instant, len: u32) -> Instant {
        if self.time_of(self.number) < start {
            (self.number, self.left) = (self.number_from(start), self.bytes);
        }
        let mut bytes = len;
        loop {
            if self.left == 0 {
                (self.number, self.left) = (self.number + 1, self.bytes);
            }
            let taken = self.left.min(bytes);
            self.left -= taken;
            bytes -= taken;
            if bytes == 0 {
                return self.time_of(self.number);
            }
        }
    }

    /// What can leave from a time on until before another one, in bits.
    pub fn capacity_bits(&self, from: Instant, to: Instant) -> f64 {
        let many = self.number_from(to.max(from)) - self.number_from(from);
        many as f64 * f64::from(self.bytes) * 8.0
    }

    /// The mean rate over the tenth of a second around `now`.
    pub fn rate_at(&self, now: Instant) -> Rate {
        let begin = Instant::from_nanos(now.as_nanos() / BIN.as_nanos() * BIN.as_nanos());
        Rate::from_bps((self.capacity_bits(begin, begin + BIN) / BIN.as_secs_f64()) as u64)
    }

    /// The mean rate of the whole list.
    pub fn mean_rate(&self) -> Rate {
        let bits = self.at.len() as f64 * f64::from(self.bytes) * 8.0;
        Rate::from_bps((bits / self.period.as_secs_f64()) as u64)
    }
}

/// How the rate of a link is given.
#[derive(Clone, Debug)]
pub enum TracedRate {
    /// In steps, of which one at least is not zero.
    Steps(Series<Rate>),
    /// As times at which so many bytes can leave.
    Opportunities(Opportunities),
}

impl TracedRate {
    /// When a packet of `len` bytes whose transmission begins at `start` has left. Starts never go back in time.
    pub fn transmission_end(&mut self, start: Instant, len: u32) -> Instant {
        let steps = match self {
            TracedRate::Opportunities(list) => return list.transmission_end(start, len),
            TracedRate::Steps(steps) => steps,
        };
        let mut bits = u128::from(len) * 8 * 1_000_000_000; // in units of bit/s times ns
        let mut now = start;
        loop {
            let step = steps.step(now);
            let rate = u128::from(step.value.as_bps());
            let can_pass = rate * u128::from((step.until - now).as_nanos());
            if can_pass >= bits && rate > 0 {
                return now + Duration::from_nanos(bits.div_ceil(rate) as u64);
            }
            bits -= can_pass;
            now = step.until;
        }
    }

    /// The rate at `now`; of opportunities the mean over the tenth of a second around it.
    pub fn rate_at(&self, now: Instant) -> Rate {
        match self {
            TracedRate::Steps(steps) => steps.at(now),
            TracedRate::Opportunities(list) => list.rate_at(now),
        }
    }

    /// What can leave between two times, in bits.
    pub fn capacity_bits(&self, from: Instant, to: Instant) -> f64 {
        let steps = match self {
            TracedRate::Opportunities(list) => return list.capacity_bits(from, to),
            TracedRate::Steps(steps) => steps,
        };
        let (mut bits, mut now) = (0.0, from);
        // Whole rounds have their mean.
        let rounds = to.max(from).since(from).as_nanos() / steps.period().as_nanos();
        if rounds > 1 {
            let span = Duration::from_nanos((rounds - 1) * steps.period().as_nanos());
            bits += steps.mean(|rate| rate.as_bps() as f64) * span.as_secs_f64();
            now += span;
        }
        while now < to {
            let step = steps.step(now);
            let until = step.until.min(to);
            bits += step.value.as_bps() as f64 * (until - now).as_secs_f64();
            now = until;
        }
        bits
    }

    /// The mean rate of the whole trace.
    pub fn mean(&self) -> Rate {
        match self {
            TracedRate::Steps(steps) => Rate::from_bps(steps.mean(|rate| rate.as_bps() as f64) as u64),
            TracedRate::Opportunities(list) => list.mean_rate(),
        }
    }
}

/// What a link follows: each may be absent.
#[derive(Clone, Debug, Default)]
pub struct LinkTrace {
    /// Its rate.
    pub rate: Option<TracedRate>,
    /// Its propagation delay.
    pub delay: Option<Series<Duration>>,
    /// The probability that a packet is lost which leaves at that time.
    pub loss: Option<Series<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }
    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }
    fn list(at: &[u64], offset: u64) -> Opportunities {
        let times: Vec<Duration> = at.iter().map(|at| ms(*at)).collect();
        Opportunities::new(times.into(), ms(*at.last().unwrap()), ms(offset), 1500)
    }

    /// Mahimahi's `mm-link`: what is not used at its time is lost, a list begins again with its last time as zero.
    #[test]
    fn a_packet_leaves_with_an_opportunity_and_what_is_not_used_is_lost() {
        let mut link = list(&[2, 2, 5, 10], 0);
        // Two packets of full length leave at once with the two opportunities of 2 ms.
        assert_eq!(link.transmission_end(at(0), 1500), at(2));
        assert_eq!(link.transmission_end(at(2), 1500), at(2));
        // One that comes at 3 ms has the next; the one of 10 ms passes unused.
        assert_eq!(link.transmission_end(at(3), 1500), at(5));
        assert_eq!(link.transmission_end(at(11), 1500), at(12));
        // The second of 12 ms has passed at 13.
        assert_eq!(link.transmission_end(at(13), 1500), at(15));
    }

    #[test]
    fn small_packets_share_an_opportunity_and_long_ones_take_several() {
        let mut link = list(&[2, 5, 10], 0);
        for _ in 0..37 {
            assert_eq!(link.transmission_end(at(0), 40), at(2));
        }
        // 20 bytes are left of the first: the packet ends with the second, whose rest is for the next at that time.
        assert_eq!(link.transmission_end(at(2), 40), at(5));
        assert_eq!(link.transmission_end(at(5), 1480), at(5));
        assert_eq!(link.transmission_end(at(5), 3000), at(12));
    }

    #[test]
    fn an_opportunity_at_the_end_of_a_list_is_there_once() {
        let link = list(&[0, 4, 10], 0);
        // 0, 4, 10 and 10 (the next list's 0), 14, 20 and 20 ...
        assert_eq!(link.capacity_bits(at(0), at(10)), 2.0 * 12_000.0);
        assert_eq!(link.capacity_bits(at(0), at(11)), 4.0 * 12_000.0);
        assert_eq!(link.capacity_bits(at(10), at(20)), 3.0 * 12_000.0);
        let mut link = list(&[0, 4, 10], 0);
        let left: Vec<Instant> = (0..6).map(|_| link.transmission_end(at(5), 1500)).collect();
        assert_eq!(left, [10, 10, 14, 20, 20, 24].map(at));
        // It waits from the very end on.
        assert_eq!(list(&[0, 4, 10], 0).transmission_end(at(10), 3000), at(10));
    }

    #[test]
    fn a_run_may_begin_anywhere_in_a_list() {
        let mut link = list(&[2, 5, 10], 4);
        assert_eq!(link.transmission_end(at(0), 1500), at(1));
        assert_eq!(link.transmission_end(at(1), 1500), at(6));
        assert_eq!(link.transmission_end(at(6), 1500), at(8));
    }

    #[test]
    fn capacity_is_what_a_queue_that_is_never_empty_sends() {
        let mut random = crate::Random::stream(11, "opportunities");
        for _ in 0..50 {
            let mut times: Vec<u64> = (0..200).map(|_| (random.uniform() * 300.0) as u64).collect();
            times.sort_unstable();
            times.push(301);
            let offset = (random.uniform() * 400.0) as u64;
            let mut link = list(&times, offset);
            let (mut now, mut sent) = (at(0), 0.0);
            loop {
                now = link.transmission_end(now, 1500);
                if now >= at(1000) {
                    break;
                }
                sent += 12_000.0;
            }
            assert_eq!(link.capacity_bits(at(0), at(1000)), sent, "offset {offset}");
        }
    }

    #[test]
    fn steps_begin_again_at_their_end() {
        let rates = [
            (ms(0), Rate::from_bps(8_000_000)),
            (ms(10), Rate::from_bps(0)),
            (ms(15), Rate::from_bps(4_000_000)),
        ];
        let mut rate = TracedRate::Steps(Series::new(&rates, ms(20), Duration::ZERO));
        // 1000 bytes a millisecond, nothing from 10 to 15 ms, then 500 a millisecond.
        assert_eq!(rate.transmission_end(at(0), 1000), at(1));
        assert_eq!(rate.transmission_end(at(9), 2000), at(17));
        assert_eq!(rate.transmission_end(at(19), 1500), at(21));
        assert_eq!(rate.capacity_bits(at(0), at(20)), 80_000.0 + 20_000.0);
        assert_eq!(rate.capacity_bits(at(5), at(105)), 500_000.0);
        assert_eq!(rate.mean(), Rate::from_bps(5_000_000));
        let delay = Series::new(&[(ms(0), ms(20)), (ms(5), ms(40))], ms(10), ms(3));
        let found = [0, 1, 2, 6, 7, 12].map(|t| delay.at(at(t)).as_nanos() / 1_000_000);
        assert_eq!(found, [20, 20, 40, 40, 20, 40]);
    }
}
