//! DualPI2, a coupled dual queue (RFC 9332, appendix A): packets of L4S have a queue of their own that is kept short by marks, others
//! have one under PI2. What marks or drops the others also marks L4S, linearly instead of squared, so that flows of both kinds get
//! similar windows.

use super::fifo::Fifo;
use super::{Discipline, Occupancy, Parameters, Queue, Report, Setup};
use crate::settings::{Deserialize, JsonSchema, Serialize};
use crate::{DropCause, Packet, Random};
use longhaul_units::{Duration, Instant, Limit, QueueLimit, Rate, Size};

/// How the two queues share the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheduler {
    /// While both have packets, the classic queue has `classic_share` of the bytes (weighted round robin).
    #[default]
    Weighted,
    /// First in, first out, as if packets of L4S had come `time_shift` earlier.
    TimeShifted,
}

/// Parameters of DualPI2. Defaults are Linux's (`sch_dualpi2`), which implements RFC 9332.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Spec {
    /// Most packets or bytes in the system, of both queues.
    #[serde(default = "ten_thousand_packets")]
    #[schemars(extend("x-exclusiveMinimum" = "0 packets"))]
    pub limit: QueueLimit,
    /// The delay to keep in the classic queue.
    #[serde(default = "fifteen_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub target: Duration,
    /// Tupdate: time between two adjustments of the base probability.
    #[serde(default = "sixteen_ms")]
    #[schemars(extend("x-exclusiveMinimum" = "0 s"))]
    pub update: Duration,
    /// Weight of the delay's distance from `target`, per second.
    #[serde(default = "alpha")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub alpha: f64,
    /// Weight of the delay's growth since the last adjustment, per second.
    #[serde(default = "beta")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
    pub beta: f64,
    /// k: packets of L4S are marked with so many times the base probability, others with its square.
    #[serde(default = "two")]
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 255))]
    pub coupling: f64,
    /// Packets of L4S that have waited longer are marked in any case, but not for the time that one packet of 1500 B takes on the link.
    #[serde(default = "one_ms")]
    pub threshold: Duration,
    /// From `threshold` on, how much longer they wait until all are marked; in between with a probability that rises linearly.
    #[serde(default)]
    pub ramp: Duration,
    /// How the two queues share the link.
    #[serde(default)]
    pub scheduler: Scheduler,
    /// The classic queue's share of the bytes while both have packets; only for `scheduler = "weighted"`.
    #[serde(default = "one_tenth")]
    #[schemars(extend("minimum" = 0, "maximum" = 1))]
    pub classic_share: f64,
    /// How much earlier packets of L4S count as having come; only for `scheduler = "time_shifted"`.
    #[serde(default = "fifty_ms")]
    pub time_shift: Duration,
    /// When marks are not enough, because all packets of L4S are marked, drop packets of both kinds by the classic probability. Without it
    /// the probability rises no further, and the queue grows to its limit.
    #[serde(default = "super::yes")]
    pub drop_on_overload: bool,
}

fn ten_thousand_packets() -> QueueLimit {
    Limit::Packets(10_000).into()
}
fn one_ms() -> Duration {
    Duration::from_millis(1)
}
fn fifteen_ms() -> Duration {
    Duration::from_millis(15)
}
fn sixteen_ms() -> Duration {
    Duration::from_millis(16)
}
fn fifty_ms() -> Duration {
    Duration::from_millis(50)
}
fn alpha() -> f64 {
    0.16
}
fn beta() -> f64 {
    3.2
}
fn two() -> f64 {
    2.0
}
fn one_tenth() -> f64 {
    0.1
}

impl DualPi2Spec {
    /// DualPI2 with all values at their defaults.
    pub fn rfc(limit: impl Into<QueueLimit>) -> Self {
        DualPi2Spec {
            limit: limit.into(),
            target: fifteen_ms(),
            update: sixteen_ms(),
            alpha: alpha(),
            beta: beta(),
            coupling: two(),
            threshold: one_ms(),
            ramp: Duration::ZERO,
            scheduler: Scheduler::Weighted,
            classic_share: one_tenth(),
            time_shift: fifty_ms(),
            drop_on_overload: true,
        }
    }
}

impl Parameters for DualPi2Spec {
    fn limit(&self) -> QueueLimit {
        self.limit
    }
    fn limits_mut(&mut self) -> Vec<&mut QueueLimit> {
        vec![&mut self.limit]
    }
    fn build<P: Packet + Send + 'static>(&self, setup: &Setup<'_>) -> Discipline<P> {
        Discipline::queue(DualPi2::new(self, setup.rate, setup.random("queue")))
    }
}

/// DualPI2 at work.
pub struct DualPi2<P> {
    spec: DualPi2Spec,
    low_latency: Fifo<P>,
    classic: Fifo<P>,
    /// p': it marks L4S times the coupling, and others squared.
    base: f64,
    /// The greater of the queues' delays at the last adjustment.
    delay: Duration,
    next_update: Instant,
    /// What has added up of the probability of a mark, and of a drop, of packets of L4S since the last one.
    marks: f64,
    drops: f64,
    /// Bytes that the classic queue is ahead of its share; the other one's turn where it is positive.
    ahead: f64,
    /// The time that a full packet takes on the link.
    packet_time: Duration,
    random: Random,
}

impl<P: Packet> DualPi2<P> {
    /// Empty queues before a link of this rate.
    pub fn new(spec: &DualPi2Spec, rate: Rate, random: Random) -> Self {
        DualPi2 {
            spec: *spec,
            low_latency: Fifo::default(),
            classic: Fifo::default(),
            base: 0.0,
            delay: Duration::ZERO,
            next_update: Instant::ZERO + spec.update,
            marks: 0.0,
            drops: 0.0,
            ahead: 0.0,
            packet_time: packet_time(rate),
            random,
        }
    }

    /// Makes up for the adjustments that were due by `now`: what waits has not changed since the last call.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            let at = self.next_update;
            let age = |fifo: &Fifo<P>| fifo.oldest().map_or(Duration::ZERO, |came| at.since(came));
            let delay = age(&self.low_latency).max(age(&self.classic));
            let at_rest = self.base == 0.0 && delay.is_zero() && self.delay.is_zero();
            self.adjust(delay);
            self.next_update += self.spec.update;
            if at_rest && self.is_empty() && self.next_update <= now {
                // Nothing changes any more until the next packet.
                let missed = (now - self.next_update).as_nanos() / self.spec.update.as_nanos() + 1;
                self.next_update += self.spec.update * missed;
            }
        }
    }

    /// One adjustment of the base probability.
    fn adjust(&mut self, delay: Duration) {
        let (now, before, target) =
            (delay.as_secs_f64(), self.delay.as_secs_f64(), self.spec.target.as_secs_f64());
        self.base += self.spec.alpha * (now - target) + self.spec.beta * (now - before);
        let most = if self.spec.drop_on_overload { 1.0 } else { (1.0 / self.spec.coupling).min(1.0) };
        self.base = self.base.clamp(0.0, most);
        self.delay = delay;
    }

    fn is_empty(&self) -> bool {
        self.low_latency.is_empty() && self.classic.is_empty()
    }

    /// True if marks are not enough: all packets of L4S would be marked already.
    fn is_overloaded(&self) -> bool {
        self.spec.drop_on_overload && self.spec.coupling * self.base >= 1.0
    }

    /// The probability of a mark by the low latency queue's own delay.
    fn own_probability(&self, delay: Duration) -> f64 {
        let beyond = delay.saturating_sub(self.spec.threshold.max(self.packet_time));
        if beyond.is_zero() {
            0.0
        } else if beyond >= self.spec.ramp {
            1.0
        } else {
            beyond.as_secs_f64() / self.spec.ramp.as_secs_f64()
        }
    }

    /// True if it is the low latency queue's turn.
    fn low_latency_is_next(&self, now: Instant) -> bool {
        let (Some(low), Some(classic)) = (self.low_latency.oldest(), self.classic.oldest()) else {
            return !self.low_latency.is_empty();
        };
        match self.spec.scheduler {
            Scheduler::Weighted => self.ahead >= 0.0,
            Scheduler::TimeShifted => now.since(low) + self.spec.time_shift >= now.since(classic),
        }
    }

    /// Counts what was sent while both queues had packets: neither earns anything while the other one is empty.
    fn count_sent(&mut self, low_latency: bool, len: u32) {
        let (len, share) = (f64::from(len), self.spec.classic_share);
        self.ahead += if low_latency { -share * len } else { (1.0 - share) * len };
    }

    /// Whether a packet of L4S that waited for `delay` is sent, as it is or marked.
    fn pass_low_latency(&mut self, delay: Duration, mut packet: P, report: &mut Report<P>) -> Option<P> {
        if self.is_overloaded() && recurs(&mut self.drops, self.base * self.base) {
            report.drop(packet, DropCause::Early);
            return None;
        }
        let probability = self.own_probability(delay).max((self.spec.coupling * self.base).min(1.0));
        if recurs(&mut self.marks, probability) && packet.mark_congestion() {
            report.marked += 1;
        }
        Some(packet)
    }

    /// The same of another packet. Two draws below the base probability have its square.
    fn pass_classic(&mut self, packet: P, report: &mut Report<P>) -> Option<P> {
        let strikes = self.random.uniform() < self.base && self.random.uniform() < self.base;
        if !strikes {
            return Some(packet);
        }
        if self.is_overloaded() {
            report.drop(packet, DropCause::Early);
            return None;
        }
        report.mark_or_drop(packet)
    }
}

/// Adds up a probability, and is true whenever a whole has come together: marks at even distances.
fn recurs(sum: &mut f64, probability: f64) -> bool {
    *sum += probability;
    let whole = *sum >= 1.0;
    if whole {
        *sum -= 1.0;
    }
    whole
}

/// What a link of no rate leaves open is taken as nothing.
fn packet_time(rate: Rate) -> Duration {
    if rate == Rate::ZERO {
        return Duration::ZERO;
    }
    rate.transmission_time(Size::from_bytes(1500))
}

impl<P: Packet + Send> Queue<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Instant, packet: P, in_service: u32, report: &mut Report<P>) {
        self.catch_up(now);
        if !self.waiting().with(in_service).has_room(self.spec.limit.fixed(), packet.wire_len()) {
            return report.drop(packet, DropCause::QueueFull);
        }
        let fifo = if packet.ecn().is_l4s() { &mut self.low_latency } else { &mut self.classic };
        fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Instant, report: &mut Report<P>) -> Option<(Instant, P)> {
        self.catch_up(now);
        loop {
            let both = !self.low_latency.is_empty() && !self.classic.is_empty();
            let low_latency = self.low_latency_is_next(now);
            let fifo = if low_latency { &mut self.low_latency } else { &mut self.classic };
            let (came, packet) = fifo.pop()?;
            let sent = if low_latency {
                self.pass_low_latency(now.since(came), packet, report)
            } else {
                self.pass_classic(packet, report)
            };
            let Some(packet) = sent else { continue };
            if both {
                self.count_sent(low_latency, packet.wire_len());
            }
            return Some((came, packet));
        }
    }

    fn waiting(&self) -> Occupancy {
        let (low, classic) = (self.low_latency.occupancy(), self.classic.occupancy());
        Occupancy { packets: low.packets + classic.packets, bytes: low.bytes + classic.bytes }
    }

    fn rate_changed(&mut self, rate: Rate) {
        if rate != Rate::ZERO {
            self.packet_time = packet_time(rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Numbered, at_ms, of_flow};
    use super::*;
    use longhaul_units::Ecn;

    const RATE: Rate = Rate::from_bps(120_000_000);

    fn spec() -> DualPi2Spec {
        DualPi2Spec::rfc(Limit::Packets(10_000))
    }
    fn queue(spec: DualPi2Spec) -> DualPi2<Numbered> {
        DualPi2::new(&spec, RATE, Random::stream(1, "dualpi2"))
    }
    /// A queue whose base probability stays as it is.
    fn steady(spec: DualPi2Spec, base: f64) -> DualPi2<Numbered> {
        DualPi2 { base, next_update: Instant::FAR_FUTURE, ..queue(spec) }
    }
    fn packet(ecn: Ecn, id: u32) -> Numbered {
        Numbered { ecn, ..of_flow(1, id, 1000) }
    }
    /// Of so many packets that pass one after the other without waiting, the shares that are marked and dropped.
    fn struck(queue: &mut DualPi2<Numbered>, ecn: Ecn, count: u32) -> (f64, f64) {
        let mut report = Report::default();
        for id in 0..count {
            queue.enqueue(at_ms(1.0), packet(ecn, id), 0, &mut report);
            queue.dequeue(at_ms(1.0), &mut report);
        }
        let share = |number: usize| number as f64 / f64::from(count);
        (share(report.marked as usize), share(report.dropped.len()))
    }
    fn close(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found}, not {expected}");
    }

    /// Section 2.3 and RFC 9331 section 5.1: ECT(1) and CE belong to L4S.
    #[test]
    fn packets_are_classified_by_ecn() {
        let mut queue = queue(spec());
        for (id, ecn) in [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].into_iter().enumerate() {
            queue.enqueue(at_ms(0.0), packet(ecn, id as u32), 0, &mut Report::default());
        }
        let ids = |fifo: &mut Fifo<Numbered>| -> Vec<u32> {
            std::iter::from_fn(|| fifo.pop()).map(|(_, packet)| packet.id).collect()
        };
        assert_eq!(ids(&mut queue.low_latency), [1, 3]);
        assert_eq!(ids(&mut queue.classic), [0, 2]);
    }

    /// p' += alpha (delay - target) + beta (delay - last delay), with 0.16, 3.2 and 15 ms.
    #[test]
    fn the_base_probability_is_a_pi_controllers() {
        let after = |base: f64, before: u64, delay: u64| {
            let mut queue = queue(spec());
            (queue.base, queue.delay) = (base, Duration::from_millis(before));
            queue.adjust(Duration::from_millis(delay));
            queue.base
        };
        close(after(0.1, 20, 25), 0.1 + 0.16 * 0.010 + 3.2 * 0.005, 1e-12);
        close(after(0.1, 15, 15), 0.1, 1e-12);
        close(after(0.01, 15, 0), 0.0, 0.0);
        close(after(0.9, 0, 1000), 1.0, 0.0);
    }

    /// Adjustments that were due while nothing happened are those of their times: the head of the classic queue, which came at 0, is
    /// 16 and 32 ms old.
    #[test]
    fn adjustments_are_made_up_for() {
        let mut late = queue(spec());
        late.enqueue(at_ms(0.0), packet(Ecn::NotEct, 0), 0, &mut Report::default());
        let mut step = queue(spec());
        late.catch_up(at_ms(40.0));
        [16, 32].into_iter().for_each(|ms| step.adjust(Duration::from_millis(ms)));
        assert_eq!((late.base, late.next_update), (step.base, at_ms(48.0)));
        assert!(late.base > 0.0);
        late.dequeue(at_ms(40.0), &mut Report::default());
        late.catch_up(at_ms(3_600_000.0));
        assert_eq!((late.base, late.next_update), (0.0, at_ms(3_600_016.0)));
    }

    /// Section 2.1: p_CL = k p', p_C = p'^2, so that p_C = (p_CL / k)^2. Marks of L4S come at even distances.
    #[test]
    fn the_coupling_is_linear_and_squared() {
        for (base, coupling) in [(0.1, 2.0), (0.3, 2.0), (0.1, 5.0)] {
            let of = |ecn| struck(&mut steady(DualPi2Spec { coupling, ..spec() }, base), ecn, 100_000);
            let (marked, dropped) = of(Ecn::Ect1);
            close(marked, coupling * base, 2e-5);
            close(dropped, 0.0, 0.0);
            // Four standard deviations.
            let within = 4.0 * (base * base / 1e5).sqrt();
            let (marked, dropped) = of(Ecn::Ect0);
            close(marked, base * base, within);
            close(dropped, 0.0, 0.0);
            let (marked, dropped) = of(Ecn::NotEct);
            close(marked, 0.0, 0.0);
            close(dropped, base * base, within);
        }
    }

    /// The step is 1 ms (Linux's `step_thresh`), the ramp is linear, and neither is below the time of a packet: 1500 B take 0.1 ms at 120 Mbit/s
    /// and 12 ms at 1.
    #[test]
    fn the_low_latency_queue_marks_by_its_own_delay() {
        let us = Duration::from_micros;
        let mut step = queue(spec());
        assert_eq!(
            [0, 999, 1000, 1001, 9000].map(|delay| step.own_probability(us(delay))),
            [0., 0., 0., 1., 1.]
        );
        step.rate_changed(Rate::from_bps(1_000_000));
        assert_eq!([1001, 12_000, 12_001].map(|delay| step.own_probability(us(delay))), [0., 0., 1.]);
        step.rate_changed(Rate::ZERO);
        assert_eq!(step.own_probability(us(12_001)), 1.0, "a transmitter that stands still has no rate");
        let ramp = queue(DualPi2Spec { threshold: us(800), ramp: us(400), ..spec() });
        for (delay, probability) in [(800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (1300, 1.0)] {
            close(ramp.own_probability(us(delay)), probability, 1e-12);
        }
    }

    /// The order in which packets of both kinds leave that all came at 0 (L: 100 and more).
    fn order(spec: DualPi2Spec, count: u32, ms: f64) -> Vec<bool> {
        let mut queue = steady(spec, 0.0);
        let mut report = Report::default();
        for id in 0..count {
            queue.enqueue(at_ms(0.0), packet(Ecn::NotEct, id), 0, &mut report);
            queue.enqueue(at_ms(ms), packet(Ecn::Ect1, 1000 + id), 0, &mut report);
        }
        (0..2 * count)
            .filter_map(|_| queue.dequeue(at_ms(ms), &mut report))
            .map(|(_, p)| p.id >= 1000)
            .collect()
    }

    /// Section 4.1: neither queue starves the other. Of the first 100 packets the classic queue has 10, and the first is one of L4S.
    #[test]
    fn both_queues_share_by_weight() {
        let order_of = order(spec(), 200, 0.0);
        assert!(order_of[0]);
        assert_eq!(order_of[..100].iter().filter(|low| !**low).count(), 10);
        let half = order(DualPi2Spec { classic_share: 0.5, ..spec() }, 200, 0.0);
        assert_eq!(half[..100].iter().filter(|low| !**low).count(), 50);
    }

    /// A queue that was alone has earned nothing and owes nothing when the other one has packets again.
    #[test]
    fn a_queue_alone_earns_nothing() {
        let mut queue = steady(spec(), 0.0);
        struck(&mut queue, Ecn::Ect1, 1000);
        assert_eq!(queue.ahead, 0.0);
        struck(&mut queue, Ecn::NotEct, 1000);
        assert_eq!(queue.ahead, 0.0);
    }

    /// Appendix A: with a shift of 50 ms a classic packet that has waited for 60 ms comes before one of L4S that has just come.
    #[test]
    fn a_time_shift_bounds_the_priority() {
        let shifted = DualPi2Spec { scheduler: Scheduler::TimeShifted, ..spec() };
        assert_eq!(order(shifted, 2, 40.0), [true, true, false, false]);
        assert_eq!(order(shifted, 2, 60.0), [false, false, true, true]);
    }

    /// Section 2.5.1 and appendix A.2: from p' = 1/k on, where all packets of L4S are marked, packets of both kinds are dropped by p'^2,
    /// ECN-capable or not.
    #[test]
    fn overload_drops_what_marks_do_not_slow() {
        for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::NotEct] {
            let (marked, dropped) = struck(&mut steady(spec(), 0.6), ecn, 100_000);
            close(dropped, 0.36, 0.01);
            close(marked, if ecn == Ecn::Ect1 { 1.0 - dropped } else { 0.0 }, 0.0001);
        }
        let mut capped = queue(DualPi2Spec { drop_on_overload: false, ..spec() });
        capped.adjust(Duration::from_secs(10));
        assert_eq!(capped.base, 0.5);
        capped.next_update = Instant::FAR_FUTURE;
        let (marked, dropped) = struck(&mut capped, Ecn::Ect1, 1000);
        assert_eq!((marked, dropped), (1.0, 0.0));
    }

    #[test]
    fn a_full_queue_drops_what_arrives() {
        let mut queue = queue(DualPi2Spec { limit: Limit::Packets(3).into(), ..spec() });
        let mut report = Report::default();
        for id in 0..4 {
            let ecn = if id % 2 == 0 { Ecn::Ect1 } else { Ecn::NotEct };
            queue.enqueue(at_ms(0.0), packet(ecn, id), 1000, &mut report);
        }
        let dropped: Vec<_> = report.dropped.iter().map(|(packet, cause)| (packet.id, *cause)).collect();
        assert_eq!(dropped, [(2, DropCause::QueueFull), (3, DropCause::QueueFull)]);
    }
}
