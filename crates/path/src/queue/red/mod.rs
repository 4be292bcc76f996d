//! Random early detection: packets are marked or dropped at random as the average queue grows. Floyd and Jacobson 1993;
//! gentle part: Floyd 2000; adaptation of max_p: Floyd, Gummadi and Shenker 2001; in the form of ns-2.35.

mod buffer;
mod spec;

pub use buffer::RedBuffer;
pub use spec::{Measure, Overflow, RedForm, RedSettings, RedSpec};

use super::{Admission, Discipline, Found, Parameters, Setup, Verdict};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Duration, Instant, Limit, QueueLimit, Rate};

/// RED at work. An arrival costs one multiplication and addition while the average is below the minimum threshold.
#[derive(Clone, Debug)]
pub struct Red {
    average: f64,
    weight: f64,
    /// 1 - weight.
    keep: f64,
    min_threshold: f64,
    max_threshold: f64,
    max_p: f64,
    measure: Measure,
    adaptation: Option<Adaptation>,
    /// The queue was above the minimum threshold, and not empty, at the arrival before.
    above: bool,
    ecn: bool,
    size_dependent: bool,
    wait: bool,
    gentle: bool,
    form: RedForm,
    limit: Limit,
    mark_limit: f64,
    initial_max_p: f64,
    mean_packet: f64,
    /// Packets of the mean size per second, for idle times.
    packet_rate: f64,
    /// ln(1 - weight).
    log_keep: f64,
    /// Packets that arrived since the last mark or drop, and their bytes.
    count: u64,
    count_bytes: u64,
    random: Random,
}

#[derive(Clone, Debug)]
struct Adaptation {
    /// The next one is after this.
    due: Instant,
    interval: Duration,
    alpha: f64,
    beta: f64,
    bottom: f64,
    top: f64,
}

impl Red {
    /// RED on a link of this rate; later changes of the rate do not change its parameters.
    pub fn new(spec: &RedSpec, rate: Rate, random: Random) -> Self {
        let settings = spec.settings(rate);
        let adaptation = Adaptation {
            due: Instant::ZERO + spec.interval,
            interval: spec.interval,
            alpha: spec.alpha.get(),
            beta: spec.beta.get(),
            bottom: settings.bottom,
            top: spec.top.get(),
        };
        Red {
            average: 0.0,
            weight: settings.weight,
            keep: 1.0 - settings.weight,
            min_threshold: settings.min_threshold,
            max_threshold: settings.max_threshold,
            max_p: spec.max_p.get(),
            measure: spec.measure,
            adaptation: spec.adaptive.then_some(adaptation),
            above: false,
            ecn: spec.ecn,
            size_dependent: spec.size_dependent,
            wait: spec.wait,
            gentle: spec.gentle,
            form: spec.form,
            limit: spec.limit.fixed(),
            mark_limit: spec.mark_limit.get(),
            initial_max_p: spec.max_p.get(),
            mean_packet: spec.mean_packet.as_bytes() as f64,
            packet_rate: settings.packet_rate,
            log_keep: libm::log1p(-settings.weight),
            count: 0,
            count_bytes: 0,
            random,
        }
    }

    /// The average queue in packets (of the mean size, if it is measured in bytes), as of the last arrival.
    pub fn average_packets(&self) -> f64 {
        match self.measure {
            Measure::Packets => self.average,
            Measure::Bytes => self.average / self.mean_packet,
        }
    }

    /// max_p as adapted.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// Takes the queue that an arriving packet finds into the average. While the link was idle, small packets are
    /// supposed to have found an empty queue.
    #[inline]
    fn average_in(&mut self, now: Instant, found: &Found, waiting: f64) {
        // An average of zero stays there whatever its age: a return link that only ACKs cross never has another.
        if found.system.packets == 0 && self.average != 0.0 {
            let missed = now.since(found.free_at).as_secs_f64() * self.packet_rate;
            if missed >= 1.0 {
                self.average *= libm::exp(missed.trunc() * self.log_keep);
            }
        }
        self.average = self.average * self.keep + self.weight * waiting;
        if self.adaptation.as_ref().is_some_and(|adaptation| now > adaptation.due) {
            self.adapt(now);
        }
    }

    /// Moves max_p so that the average stays within the middle fifth between the thresholds (Floyd, Gummadi, Shenker
    /// 2001, figure 1). What needs no change is looked at again with the next packet.
    #[cold]
    fn adapt(&mut self, now: Instant) {
        let Some(adaptation) = &mut self.adaptation else { return };
        let part = 0.4 * (self.max_threshold - self.min_threshold);
        if self.average < self.min_threshold + part && self.max_p > adaptation.bottom {
            self.max_p *= adaptation.beta;
        } else if self.average > self.max_threshold - part && self.max_p < adaptation.top {
            self.max_p += adaptation.alpha.min(0.25 * self.max_p);
        } else {
            return;
        }
        adaptation.due = now + adaptation.interval;
    }

    /// The probability that goes with the average, before it is spread.
    fn base_probability(&self) -> f64 {
        let probability = if self.average < self.max_threshold {
            let range = self.max_threshold - self.min_threshold;
            self.max_p * (self.average - self.min_threshold) / range
        } else if self.gentle {
            let foot = match self.form {
                RedForm::Floyd => self.max_p,
                RedForm::Ns2 => self.initial_max_p,
            };
            foot + (1.0 - foot) * (self.average - self.max_threshold) / self.max_threshold
        } else {
            1.0
        };
        probability.min(1.0)
    }

    /// Spreads marks: the gap between two is uniform instead of geometric (Floyd and Jacobson 1993, section 7), from 1/p
    /// to 2/p packets with `wait`, else from 1 to 1/p.
    fn spread(&self, base: f64, len: u32) -> f64 {
        let count = match self.size_dependent {
            false => self.count as f64,
            true => (self.count_bytes as f64 / self.mean_packet).trunc(),
        };
        let expected = count * base;
        let probability = match (self.wait, expected) {
            (true, expected) if expected < 1.0 => 0.0,
            (true, expected) if expected < 2.0 => base / (2.0 - expected),
            (false, expected) if expected < 1.0 => base / (1.0 - expected),
            _ => 1.0,
        };
        if self.size_dependent && probability < 1.0 {
            (probability * f64::from(len) / self.mean_packet).min(1.0)
        } else {
            probability
        }
    }

    /// Above the minimum threshold.
    #[inline(never)]
    fn judge(&mut self, len: u32) -> Verdict {
        let end = if self.gentle { 2.0 * self.max_threshold } else { self.max_threshold };
        if self.average >= end {
            self.forget_count();
            return Verdict::Drop(DropCause::Forced);
        }
        if !self.above {
            self.above = true;
            self.count = 1;
            self.count_bytes = u64::from(len);
            return Verdict::Accept;
        }
        let base = self.base_probability();
        let probability = self.spread(base, len);
        if probability == 0.0 || self.random.uniform() >= probability {
            return Verdict::Accept;
        }
        self.forget_count();
        if self.ecn && base < self.mark_limit { Verdict::Mark } else { Verdict::Drop(DropCause::Early) }
    }

    /// Admits a packet that finds the link idle and the average at zero, as on a return link that only ACKs cross: then it stays there,
    /// and no packet is marked. False, and nothing done, where [`Admission::admit`] has more to do.
    #[inline]
    pub(crate) fn admit_to_idle(&mut self, now: Instant, len: u32) -> bool {
        // An adaptation that is due moves max_p down to its bottom then, and is due all the time once it is there.
        let adapts = self.adaptation.as_ref().is_some_and(|own| now > own.due && self.max_p > own.bottom);
        if self.average != 0.0 || adapts {
            return false;
        }
        self.above = false;
        self.count += 1;
        self.count_bytes += u64::from(len);
        true
    }

    fn forget_count(&mut self) {
        self.count = 0;
        self.count_bytes = 0;
    }
}

impl Parameters for RedSpec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn check(&self, rate: Rate) -> Result<(), (&'static str, String)> {
        self.check(rate)
    }
    fn decides_on_arrival(&self) -> bool {
        self.overflow == Overflow::Arriving
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        let red = Red::new(self, setup.rate, setup.random("queue"));
        match self.overflow {
            Overflow::Arriving => Discipline::Red(Box::new(red)),
            victim => {
                Discipline::queue(RedBuffer::new(red, self.limit.fixed(), victim, setup.random("victims")))
            }
        }
    }
}

impl Admission for Red {
    #[inline]
    fn admit(&mut self, now: Instant, found: &Found, len: u32) -> Verdict {
        let waiting = found.waiting();
        let queue = match self.measure {
            Measure::Packets => waiting.packets as f64,
            Measure::Bytes => waiting.bytes as f64,
        };
        self.average_in(now, found, queue);
        self.count += 1;
        self.count_bytes += u64::from(len);
        // ns-2 spares a packet that finds at most one waiting.
        let enough_wait = match self.measure {
            Measure::Packets => waiting.packets > 1,
            Measure::Bytes => waiting.bytes > 1,
        };
        let verdict = if self.average >= self.min_threshold && enough_wait {
            self.judge(len)
        } else {
            self.above = false;
            Verdict::Accept
        };
        if !found.system.has_room(self.limit, len) {
            self.forget_count();
            return Verdict::Drop(DropCause::QueueFull);
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::Occupancy;
    use longhaul_units::{Probability, Size};

    /// 1 Mbit/s and packets of 500 B: C = 250 packets/s; a transmission takes 4 ms.
    const RATE: Rate = Rate::from_bps(1_000_000);

    fn classic() -> RedSpec {
        RedSpec {
            min_threshold: Some(Limit::Packets(5)),
            max_threshold: Some(Limit::Packets(15)),
            queue_weight: Some(0.002),
            max_p: Probability::new(0.02).unwrap(),
            adaptive: false,
            gentle: false,
            ..RedSpec::automatic(Limit::Packets(100))
        }
    }
    fn red(spec: RedSpec) -> Red {
        Red::new(&spec, RATE, Random::stream(1, "red"))
    }
    fn waiting(packets: u64) -> Found {
        let system = Occupancy { packets: packets + 1, bytes: 500 * (packets + 1) };
        Found { system, in_service: 500, free_at: Instant::ZERO }
    }
    fn at(seconds: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(seconds)
    }
    /// A RED whose average stays where it is, so that probabilities can be counted.
    fn frozen(spec: RedSpec, average: f64) -> Red {
        let mut red = red(spec);
        (red.average, red.weight, red.keep, red.above) = (average, 0.0, 1.0, true);
        red
    }
    fn share(red: &mut Red, verdict: Verdict, packets: u32) -> f64 {
        let hits = (0..packets).filter(|_| red.admit(at(0.0), &waiting(10), 500) == verdict).count();
        hits as f64 / f64::from(packets)
    }

    /// Floyd and Jacobson 1993, section 4.1, equation (1) and figure 5's example: starting empty, a burst of L packets
    /// makes the average L + 1 + ((1 - w)^(L+1) - 1) / w; with w = 0.001 and L = 100 about 4.88.
    #[test]
    fn average_after_a_burst() {
        let mut red = red(RedSpec { queue_weight: Some(0.001), ..classic() });
        // The i-th packet of the burst is taken in as a queue of i packets.
        for packets in 1..=100 {
            red.admit(at(0.0), &waiting(packets), 500);
        }
        assert!((red.average - 4.8874).abs() < 0.0001, "{}", red.average);
    }

    /// While the link is idle, the average falls as if small packets had found it empty: here floor(250/s * 0.4 s) = 100 of
    /// them and the one that arrives: 10 * 0.998^101 = 8.169297.
    #[test]
    fn idle_time_counts_as_empty_arrivals() {
        let mut red = red(classic());
        red.average = 10.0;
        let found = Found { system: Occupancy::default(), in_service: 0, free_at: at(1.0) };
        red.admit(at(1.4019), &found, 500);
        assert!((red.average - 8.169_297).abs() < 1e-6, "{}", red.average);
    }

    #[test]
    fn nothing_happens_below_the_minimum_threshold() {
        let mut red = frozen(classic(), 4.999);
        assert_eq!(share(&mut red, Verdict::Accept, 10_000), 1.0);
    }

    /// p_b = max_p (avg - min) / (max - min), at avg = 10 half of max_p = 0.02. Without `wait` gaps are uniform between 1 and
    /// 1/p_b (section 7, method 2): mean 1/(2 p_b) + 1/2 = 50.5 packets. With it they are between 1/p_b and 2/p_b: 150.5.
    #[test]
    fn marks_are_spread() {
        for (wait, mean_gap) in [(false, 50.5), (true, 150.5)] {
            let mut red = frozen(RedSpec { wait, ..classic() }, 10.0);
            let found = share(&mut red, Verdict::Mark, 1_000_000);
            assert!(
                (found * mean_gap - 1.0).abs() < 0.03,
                "wait {wait}: a mark every {} packets",
                1.0 / found
            );
        }
    }

    #[test]
    fn gaps_are_within_their_bounds() {
        for (wait, bounds) in [(false, 1..=100), (true, 100..=200)] {
            let mut red = frozen(RedSpec { wait, ..classic() }, 10.0);
            let mut gap = 0;
            let mut seen = false;
            for _ in 0..100_000 {
                gap += 1;
                if red.admit(at(0.0), &waiting(10), 500) == Verdict::Mark {
                    assert!(!seen || bounds.contains(&gap), "wait {wait}: gap of {gap}");
                    (gap, seen) = (0, true);
                }
            }
        }
    }

    /// Above the maximum threshold nothing gets in; with the gentle part only above twice that.
    #[test]
    fn forced_drops() {
        let forced = Verdict::Drop(DropCause::Forced);
        assert_eq!(share(&mut frozen(classic(), 15.0), forced, 100), 1.0);
        let gentle = RedSpec { gentle: true, ..classic() };
        assert_eq!(share(&mut frozen(gentle, 29.99), forced, 100), 0.0);
        assert_eq!(share(&mut frozen(gentle, 30.0), forced, 100), 1.0);
    }

    /// max_p at max_th, 1 at twice max_th, a line between: with max_p = 0.1 it is 0.55 at 1.5 max_th.
    #[test]
    fn gentle_part() {
        let spec = RedSpec { gentle: true, max_p: Probability::new(0.1).unwrap(), ..classic() };
        for (average, p) in [(5.0, 0.0), (10.0, 0.05), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0)] {
            let found = frozen(spec, average).base_probability();
            assert!((found - p).abs() < 1e-12, "average {average}: {found}");
        }
    }

    /// Once max_p has come down to 0.01, ns-2 jumps at max_th to the initial 0.1, Floyd's gentle part goes on from 0.01.
    #[test]
    fn forms_of_the_gentle_part() {
        for (form, at_max, halfway) in [(RedForm::Floyd, 0.01, 0.505), (RedForm::Ns2, 0.1, 0.55)] {
            let max_p = Probability::new(0.1).unwrap();
            let spec = RedSpec { gentle: true, max_p, form, ..classic() };
            let probability = |average| {
                let mut red = frozen(spec, average);
                red.max_p = 0.01;
                red.base_probability()
            };
            assert!((probability(15.0) - at_max).abs() < 1e-12);
            assert!((probability(22.5) - halfway).abs() < 1e-12);
            assert!((probability(14.999_999) - 0.01).abs() < 1e-6);
        }
    }

    /// RFC 3168 section 7: packets are dropped, not marked, once congestion is severe.
    #[test]
    fn marks_end_at_the_mark_limit() {
        let spec = RedSpec { max_p: Probability::new(0.2).unwrap(), ..classic() };
        for (ecn, average, verdict) in [
            (true, 9.9, Verdict::Mark),                    // base probability 0.098
            (true, 10.1, Verdict::Drop(DropCause::Early)), // 0.102
            (false, 9.9, Verdict::Drop(DropCause::Early)),
        ] {
            let mut red = frozen(RedSpec { ecn, ..spec }, average);
            let verdicts: Vec<Verdict> = (0..1000).map(|_| red.admit(at(0.0), &waiting(10), 500)).collect();
            assert!(verdicts.contains(&verdict));
            assert!(verdicts.iter().all(|other| [verdict, Verdict::Accept].contains(other)));
        }
    }

    /// A full queue drops what arrives, whatever the average, and the count starts anew.
    #[test]
    fn overflow() {
        let mut red = red(classic());
        red.count = 7;
        assert_eq!(red.admit(at(0.0), &waiting(99), 500), Verdict::Drop(DropCause::QueueFull));
        assert_eq!(red.count, 0);
        assert_eq!(red.admit(at(0.0), &waiting(98), 500), Verdict::Accept);
    }

    /// The first packet above the threshold is spared, and so is one that finds at most one waiting.
    #[test]
    fn spared_packets() {
        let certain = RedSpec { wait: false, max_p: Probability::new(1.0).unwrap(), ..classic() };
        let mut red = frozen(certain, 14.999);
        red.above = false;
        assert_eq!(red.admit(at(0.0), &waiting(10), 500), Verdict::Accept);
        assert_eq!(red.admit(at(0.0), &waiting(10), 500), Verdict::Drop(DropCause::Early));
        assert_eq!(red.admit(at(0.0), &waiting(1), 500), Verdict::Accept);
        assert_eq!(red.admit(at(0.0), &waiting(2), 500), Verdict::Accept, "the first above again");
    }

    /// Byte mode: a packet of twice the mean size has twice the probability. At count = 0 and base 0.01 (`wait` off) these are
    /// 0.01 and 0.02; the average is in bytes, the limit too.
    #[test]
    fn byte_mode() {
        let limit = Limit::Bytes(Size::from_bytes(50_000));
        let spec = RedSpec {
            measure: Measure::Bytes,
            size_dependent: true,
            wait: false,
            limit: limit.into(),
            min_threshold: Some(Limit::Packets(5)),
            max_threshold: Some(Limit::Packets(15)),
            ..classic()
        };
        let mut red = red(spec);
        assert_eq!((red.min_threshold, red.max_threshold), (2500.0, 7500.0));
        red.average = 5000.0;
        assert!((red.base_probability() - 0.01).abs() < 1e-12);
        assert!((red.spread(0.01, 500) - 0.01).abs() < 1e-12);
        assert!((red.spread(0.01, 1000) - 0.02).abs() < 1e-12);
        assert_eq!(red.average_packets(), 10.0);
        red.admit(at(0.0), &waiting(10), 500);
        // 0.998 * 5000 + 0.002 * 5000
        assert!((red.average - 5000.0).abs() < 1e-9);
    }

    /// Floyd, Gummadi, Shenker 2001: every 0.5 s, max_p grows by min(0.01, max_p / 4) while the average is above
    /// max_th - 0.4 (max_th - min_th), here 11, and shrinks by a tenth while it is below min_th + 0.4 (..), here 9.
    #[test]
    fn adaptation_of_max_p() {
        let spec = RedSpec { adaptive: true, max_p: Probability::new(0.1).unwrap(), ..classic() };
        let run = |average: f64, seconds: u32, max_p: f64| {
            let mut red = frozen(spec, average);
            red.max_p = max_p;
            // Ten packets a second; the first time after 0.5 s is 0.6 s, then 1.2 s, ...
            (0..=10 * seconds).for_each(|i| {
                red.admit(at(f64::from(i) * 0.1), &waiting(8), 500);
            });
            red.max_p
        };
        assert_eq!(run(10.0, 60, 0.1), 0.1);
        assert!((run(8.9, 1, 0.1) - 0.09).abs() < 1e-12);
        assert!((run(8.9, 2, 0.1) - 0.0729).abs() < 1e-12, "at 0.6, 1.2 and 1.8 s");
        assert!((run(11.1, 1, 0.1) - 0.11).abs() < 1e-12);
        assert!((run(11.1, 1, 0.02) - 0.025).abs() < 1e-12);
        // Down to the first value not above bottom (0.01), up to the first not below top (0.5).
        assert!((run(8.9, 60, 0.0105) - 0.00945).abs() < 1e-12);
        assert!((run(11.1, 60, 0.495) - 0.505).abs() < 1e-12);
    }
}
